"""torch._custom_op: operators of one's own, by the functions that torch.library replaced."""
