"""Tensor's methods that are about layouts; torch.sparse has the bodies of most, and is imported when one is called."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

NAMES = """_coalesced_ _dimI _dimV _indices _nnz _sparse_mask_projection _to_dense _to_sparse _values ccol_indices
    coalesce col_indices crow_indices dense_dim indices is_coalesced resize_as_sparse_ row_indices smm sparse_dim
    sparse_mask sparse_resize_ sparse_resize_and_clear_ sspaddmm to_dense to_sparse to_sparse_bsc to_sparse_bsr
    to_sparse_coo to_sparse_csc to_sparse_csr values""".split()


def _later(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        from ..sparse import _methods

        return getattr(_methods, name)(self, *args, **kwargs)

    method.__name__, method.__qualname__ = name, "Tensor." + name
    return method


def to_mkldnn(self: Any, dtype: Any = None) -> Any:
    """A copy in the layout torch._mkldnn."""
    from .mkldnn import to_mkldnn

    return to_mkldnn(self, dtype)


def install(tensor: Any) -> None:
    """Puts the methods into Tensor's class."""
    tensor.to_mkldnn = to_mkldnn
    for name in NAMES:
        setattr(tensor, name, _later(name))
