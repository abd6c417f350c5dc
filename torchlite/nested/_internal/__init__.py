"""Names of torch.nested._internal that programs ask for."""
