"""Passes for the ops of torch.ops.aten."""
