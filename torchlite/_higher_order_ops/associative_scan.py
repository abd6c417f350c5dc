"""All prefixes of an associative operation, in a logarithmic number of steps."""

import torchlite as torch
from torchlite.utils import _pytree as pytree

from .._core import absent as _absent
from .scan import along


def associative_scan(combine_fn, xs, dim, reverse=False, combine_mode="pointwise"):
    """The prefixes of xs under combine_fn along a dim. It is called on many slices at once, through vmap; each step
    halves the number of elements."""
    leaves, spec = pytree.tree_flatten(xs)
    dim = along(leaves, dim, ValueError) if leaves else dim
    if not callable(combine_fn):
        raise ValueError(f"Combine_fn must be a callable, but got {combine_fn}")
    if not isinstance(reverse, bool):
        raise RuntimeError("Reverse must be a bool, but got " + str(type(reverse)))
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}")
    if combine_mode == "pointwise":
        raise ValueError("For combine_mode='pointwise', all input tensors need to be on CUDA or XPU")
    if not leaves:
        raise ValueError("Expected at least 1 xs leaf")
    if any(not isinstance(x, torch.Tensor) for x in leaves):
        raise ValueError("xs leaves must be a Tensor")
    if any(x.is_sparse for x in leaves):
        raise ValueError("xs leaves must dense Tensors, consider using `to_dense()`")
    each = torch.vmap(combine_fn)

    def combine(a, b):
        return pytree.tree_leaves(each(pytree.tree_unflatten(a, spec), pytree.tree_unflatten(b, spec)))

    def prefixes(elems):
        """Of pairs first; these are every second of the prefixes, and one step more gives the others."""
        n = elems[0].shape[0]
        if n < 2:
            return elems
        odd = prefixes(combine([e[: n - n % 2 : 2] for e in elems], [e[1::2] for e in elems]))
        others = (
            combine([o[: (n - 1) // 2] for o in odd], [e[2::2] for e in elems]) if n > 2 else [e[:0] for e in elems]
        )
        results = []
        for e, o, b in zip(elems, others, odd):
            a = torch.cat([e[:1], o])
            pairs = torch.stack([a[: n // 2], b], 1).flatten(0, 1)
            results.append(torch.cat([pairs, a[-1:]]) if n % 2 else pairs)
        return results

    moved = [x.movedim(dim, 0).flip(0) if reverse else x.movedim(dim, 0) for x in leaves]
    found = [x.flip(0) if reverse else x for x in prefixes(moved)]
    return pytree.tree_unflatten([x.movedim(0, dim) for x in found], spec)


__getattr__ = _absent.of(__name__)
