"""Commands, buffers and pending element-wise expressions, and the checks of indices that only the GPU sees."""
