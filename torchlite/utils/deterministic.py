"""torch.utils.deterministic: whether `empty` and its like are filled under torch.use_deterministic_algorithms(True)."""

import sys
from types import ModuleType

from torchlite import _C
from torchlite._core.settings import deterministic


class _Module(ModuleType):
    @property
    def fill_uninitialized_memory(self):
        """Floats are filled with NaN, integers with their largest value, bools with True."""
        return deterministic["fill"]

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode):
        if not isinstance(mode, bool):
            raise RuntimeError("expected a bool, but got %s" % type(mode).__name__)
        deterministic["fill"] = mode
        _C.set_fill_empty(mode and deterministic["mode"])


sys.modules[__name__].__class__ = _Module
