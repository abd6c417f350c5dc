"""torch.while_loop: a function again and again, as long as another says so."""

import torchlite as torch
from torchlite.utils import _pytree as pytree

from .._core import absent as _absent


def _goes_on(cond_fn, values):
    pred = cond_fn(*values)
    if isinstance(pred, bool) or (isinstance(pred, torch.Tensor) and pred.dim() == 0 and pred.dtype == torch.bool):
        return bool(pred)
    raise RuntimeError(f"cond_fn must return a boolean scalar tensor or a boolean but got {pred}")


def while_loop(cond_fn, body_fn, carried_inputs):
    """carried_inputs = body_fn(*carried_inputs) while cond_fn(*carried_inputs); their number and nesting stay."""
    leaves = pytree.tree_leaves(carried_inputs)
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("Expect cond_fn and body_fn to be callable.")
    if not all(isinstance(t, (torch.Tensor, int)) for t in leaves):
        raise AssertionError(
            f"{leaves} can only be of {(torch.Tensor, int, torch.SymInt)} but got {tuple(type(t) for t in leaves)}"
        )
    if not isinstance(carried_inputs, (tuple, list)):
        raise RuntimeError(f"carried_inputs must be a tuple or list but got {type(carried_inputs)}")
    if not _goes_on(cond_fn, carried_inputs):
        return pytree.tree_map(lambda t: t.clone() if isinstance(t, torch.Tensor) else t, carried_inputs)
    values = carried_inputs
    while True:
        found = body_fn(*values)
        alone = isinstance(found, torch.Tensor)
        if alone:
            found = (found,)
        if len(found) != len(carried_inputs):
            raise AssertionError(
                "body_fn should return the same number of elements as carried_inputs, "
                f"got {len(found)} vs {len(carried_inputs)}"
            )
        values = found
        if not _goes_on(cond_fn, values):
            return values[0] if alone else values


__getattr__ = _absent.of(__name__)
