"""A planner for each family of kernel rows: it names the kernels, their parameters and buffers."""
