"""Old home of autocast and GradScaler for the CPU."""

from ..amp import old_names

autocast, GradScaler = old_names("cpu")
