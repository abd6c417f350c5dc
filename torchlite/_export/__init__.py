"""torch._export: only what tensor subclasses ask for."""
