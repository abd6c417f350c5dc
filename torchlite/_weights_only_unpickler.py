"""PyTorch's path of `torchlite._files.unpickler`: packages import it from here."""

import sys

from ._files import unpickler

sys.modules[__name__] = unpickler
