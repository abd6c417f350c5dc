"""PyTorch's path of `torchlite._core.tensor_str`: packages set print options here."""

import sys

from ._core import tensor_str

sys.modules[__name__] = tensor_str
