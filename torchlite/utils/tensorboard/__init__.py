"""torch.utils.tensorboard: event files for TensorBoard, written without its package."""

from ._events import FileWriter
from .writer import SummaryWriter

__all__ = ["FileWriter", "SummaryWriter"]
