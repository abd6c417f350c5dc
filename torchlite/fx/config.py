"""Switches of torch.fx, as PyTorch has them; nothing here reads the progress ones."""

disable_progress = True
verbose_progress = False
do_not_emit_stack_traces = False  # of nodes, in print_readable
