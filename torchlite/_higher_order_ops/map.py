"""A function of each slice along the first dim, and its results stacked."""

import torchlite as torch
from torchlite.utils import _pytree as pytree

from .._core import absent as _absent


def map(f, xs, *args):
    """The results of f(slice, *args), stacked."""
    leaves, spec = pytree.tree_flatten(xs)
    if not all(isinstance(t, torch.Tensor) for t in leaves):
        raise RuntimeError(f"Mapped xs can only consist of tensors. Got xs {leaves}.")
    shapes = [x.shape for x in leaves]
    count = shapes[0][0]
    if count == 0:
        raise RuntimeError("Leading dimensions of mapped xs cannot be 0.")
    if any(shape[0] != count for shape in shapes):
        raise RuntimeError(f"Leading dimensions of mapped xs must be consistent. Got shapes {shapes}.")
    results = [f(pytree.tree_unflatten([x[i] for x in leaves], spec), *args) for i in range(count)]
    return pytree.tree_map(lambda *ys: torch.stack(ys), *results)


__getattr__ = _absent.of(__name__)
