"""A function that carries a value along a dim."""

import torchlite as torch
from torchlite.utils import _pytree as pytree

from .._core import absent as _absent


def along(leaves, dim, kind):
    """The dim, counted from the front, if all tensors have elements in it."""
    n = leaves[0].dim()
    if not -n <= dim < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    dim %= n
    if any(x.dim() <= dim or x.shape[dim] == 0 for x in leaves):
        raise kind("All xs leaves must at least have 'dim' number of dimensions and scan dimension > 0")
    return dim


def scan(combine_fn, init, xs, *, dim=0, reverse=False):
    """(carry, y) = combine_fn(carry, x) for each slice x; the last carry, and all y stacked along the dim."""
    carried, (leaves, spec) = pytree.tree_leaves(init), pytree.tree_flatten(xs)
    if not leaves:
        return init, []
    if not callable(combine_fn):
        raise RuntimeError(f"Combine_fn must be a callable, but got {combine_fn}")
    if not isinstance(dim, int):
        raise RuntimeError("Dim must be an int, but got " + str(type(dim)))
    if not isinstance(reverse, bool):
        raise RuntimeError("Reverse must be a bool, but got " + str(type(reverse)))
    if not carried:
        raise RuntimeError("scan() operator requires init leaves.")
    for what, tensors in (("init", carried), ("xs", leaves)):
        for x in tensors:
            if not isinstance(x, torch.Tensor):
                raise RuntimeError(f"All {what} leaves must be a Tensor but got {x}")
    dim = along(leaves, dim, RuntimeError)
    carry = init
    outputs: list[object] = []
    for i in range(leaves[0].shape[dim]):
        at = -1 - i if reverse else i
        found = combine_fn(carry, pytree.tree_unflatten([x.select(dim, at) for x in leaves], spec))
        if not isinstance(found, (tuple, list)) or len(found) != 2:
            raise RuntimeError(f"scan() operator requires combine_fn to return a carry and an output, but got {found}")
        carry, y = found
        for old, new in zip(carried, pytree.tree_leaves(carry)):
            if old.shape != new.shape or old.dtype != new.dtype:
                raise RuntimeError(
                    "scan() operator requires a carry of the same sizes and dtype as init, but got "
                    f"{tuple(new.shape)} of {new.dtype} for {tuple(old.shape)} of {old.dtype}"
                )
        outputs.insert(0, y) if reverse else outputs.append(y)
    return carry, pytree.tree_map(lambda *ys: torch.stack(ys, dim if dim <= ys[0].dim() else 0), *outputs)


__getattr__ = _absent.of(__name__)
