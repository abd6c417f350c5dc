"""torch._library: parts of torch.library by the modules that PyTorch has them in."""
