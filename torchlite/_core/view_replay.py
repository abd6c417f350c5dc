"""A view's op applied to another base: Tensor._view_func and its inverse."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _fits(like: Any, other: Any) -> bool:
    return other.dtype == like.dtype and other.is_conj() == like.is_conj() and other.is_neg() == like.is_neg()


def _base_of(view: Any) -> Any:
    if view._base is None:
        raise RuntimeError("_view_func: the tensor is no view")
    return view._base


def checked(view: Any, new_base: Any) -> Any:
    """Tensor._view_func: None where the new base is not like the old one in size, strides and dtype."""
    old = _base_of(view)
    same = new_base.shape == old.shape and new_base.stride() == old.stride() and _fits(old, new_base)
    return forward(view, new_base) if same else None


def forward(view: Any, base: Any) -> Any:
    """Tensor._view_func_unsafe: the view of `base` that `view` is of its own base, which is like it."""
    old = _base_of(view)
    if not _fits(old, base):
        raise RuntimeError("_view_func: the new base has another dtype, or conjugates where the old one has none")
    offset = view.storage_offset() * view.itemsize // old.itemsize - old.storage_offset() + base.storage_offset()
    if view.dtype == old.dtype and view.is_conj() == old.is_conj() and view.is_neg() == old.is_neg():
        return base.as_strided(view.shape, view.stride(), offset)
    if old.is_complex() and not view.is_complex():  # real and imaginary parts
        import torchlite as torch

        at = view.storage_offset() - 2 * old.storage_offset() + 2 * base.storage_offset()
        return torch.view_as_real(base).as_strided(view.shape, view.stride(), at)
    if view.dtype == old.dtype:
        made = base.as_strided(view.shape, view.stride(), offset)
        return made.conj() if view.is_conj() != old.is_conj() else made._neg_view()
    raise RuntimeError("_view_func: a view of another dtype is not replayed by torchlite; make it with view(dtype)")


def backward(view: Any, new_view: Any) -> Any:
    """Tensor._rev_view_func_unsafe: what the base of `view` is, as a view of `new_view`, which is over such memory."""
    old = _base_of(view)
    if (
        not _fits(view, new_view)
        or view.dtype != old.dtype
        or view.is_conj() != old.is_conj()
        or view.is_neg() != old.is_neg()
    ):
        raise RuntimeError("_rev_view_func: a view of another dtype has no inverse in torchlite")
    return new_view.as_strided(old.shape, old.stride(), old.storage_offset())
