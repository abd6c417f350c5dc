"""torch.cond: one of two functions, by the value of a tensor."""

import torchlite as torch
from torchlite.utils import _pytree as pytree

from .._core import absent as _absent, dispatch_modes as _modes


def cond(pred, true_fn, false_fn, operands=()):
    """true_fn(*operands) if pred, else false_fn(*operands).
    Where pred differs between the examples of a vmap, both run, and each example has its own."""
    if isinstance(pred, (bool, int, float)):
        return true_fn(*operands) if pred else false_fn(*operands)
    if not isinstance(pred, torch.Tensor):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    if not isinstance(operands, (tuple, list)) or pytree.tree_any(lambda t: not isinstance(t, torch.Tensor), operands):
        raise RuntimeError(
            "Expect operands to be a tuple of possibly nested dict/list/tuple that only "
            f"consists of tensor leaves, but got {operands}."
        )
    if _modes.is_mapped(pred):
        one, other = true_fn(*operands), false_fn(*operands)
        return pytree.tree_map(lambda a, b: torch.where(pred.reshape(()) != 0, a, b), one, other)
    return true_fn(*operands) if pred else false_fn(*operands)


__getattr__ = _absent.of(__name__)
