"""MaskedTensor: core.py has the class, the other modules what functions and operators do with it."""

from . import _ops_refs, binary, core, creation, passthrough, reductions, unary
from .binary import _apply_native_binary, _is_native_binary
from .core import MaskedTensor, is_masked_tensor
from .passthrough import _apply_pass_through_fn, _is_pass_through_fn
from .reductions import _apply_reduction, _is_reduction
from .unary import _apply_native_unary, _is_native_unary
