"""torch.sparse: products, sums and softmax of sparse tensors, and the switch of checks.

Tensors of the layouts COO, CSR, CSC, BSR and BSC hold their indices and values (_tensor.py); what ops do with them is
in tables by the operator's name (_ops.py, _compressed.py). An op that has no entry is PyTorch's error.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

__all__ = [
    "addmm",
    "as_sparse_gradcheck",
    "check_sparse_tensor_invariants",
    "log_softmax",
    "mm",
    "sampled_addmm",
    "softmax",
    "spdiags",
    "sum",
]

_MAKERS = frozenset(
    """_sparse_coo_tensor_unsafe _validate_sparse_bsc_tensor_args _validate_sparse_bsr_tensor_args
    _validate_sparse_compressed_tensor_args _validate_sparse_coo_tensor_args _validate_sparse_csc_tensor_args
    _validate_sparse_csr_tensor_args sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor sparse_coo_tensor
    sparse_csc_tensor sparse_csr_tensor spdiags""".split()
)


class check_sparse_tensor_invariants:
    """The switch for checks of new sparse tensors: enable(), disable(), a context, or a decorator."""

    _enabled = False

    @staticmethod
    def is_enabled() -> bool:
        return check_sparse_tensor_invariants._enabled

    @staticmethod
    def enable() -> None:
        check_sparse_tensor_invariants._enabled = True

    @staticmethod
    def disable() -> None:
        check_sparse_tensor_invariants._enabled = False

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self.saved_state: bool | None = None

    def __enter__(self) -> None:
        if self.saved_state is not None:
            raise RuntimeError(
                "This context manager instance is already activated. Use a different context manager instance for "
                "context nesting."
            )
        self.saved_state = self.is_enabled()
        check_sparse_tensor_invariants._enabled = self.state

    def __exit__(self, *error: object) -> None:
        check_sparse_tensor_invariants._enabled = bool(self.saved_state)
        self.saved_state = None

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.state):
                return function(*args, **kwargs)

        return checked


def mm(mat1: Any, mat2: Any, reduce: str | None = None) -> Any:
    """(n, m) @ (m, p), at least one of them sparse. Dense where one is dense, sparse where both are sparse. The
    gradient of a sparse matrix is sparse, at its own indices. reduce: "sum", "mean", "amax" or "amin" of the products
    that fall on an element, for CSR @ dense."""
    if not _sparse(mat1, mat2):
        return _root.mm(mat1, mat2)
    if reduce is not None:
        from ._reduced import mm_reduce

        return mm_reduce(mat1, mat2, reduce)
    if mat1.dim() != 2 or mat2.dim() != 2 or not (mat1.requires_grad or mat2.requires_grad):
        return _root.mm(mat1, mat2)
    from ._autograd import Product

    # a compressed factor as COO: its gradient comes back through the conversion
    plain = [t if t.is_sparse or t.layout is strided else t.to_sparse() for t in (mat1, mat2)]
    return Product.apply(*plain)


def addmm(mat: Any, mat1: Any, mat2: Any, *, beta: Any = 1.0, alpha: Any = 1.0) -> Any:
    """beta * mat + alpha * (mat1 @ mat2), as torch.addmm; the gradient of a sparse mat1 is sparse."""
    if not _sparse(mat, mat1, mat2):
        return _root.addmm(mat, mat1, mat2, beta=beta, alpha=alpha)
    from ._products import whole_factors

    product = mm(mat1, mat2)
    beta, alpha = whole_factors(product, beta, alpha)
    product = product if alpha == 1 else product * alpha
    return mat * beta + product if beta else product


def sum(input: Any, dim: Any = None, dtype: Any = None) -> Any:
    """The sum of a COO tensor: of all its values a number; over `dim` sparse, while a sparse dim is left."""
    from ._sums import Sum

    if input.layout is strided:
        raise RuntimeError("torch.sparse.sum(): expected a sparse tensor, but got one of layout torch.strided")
    if not input.is_sparse:
        return input.sum(dtype=dtype) if dim is None else input.sum(dim, dtype=dtype)
    if dim is None:
        dim = range(input.dim())
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    return Sum.apply(input if dtype is None else input.to(dtype), dims)


def _soft(input: Any, dim: int, dtype: Any, log: bool) -> Any:
    from ._methods import _need
    from ._sums import Softmax

    _need("_sparse_log_softmax" if log else "_sparse_softmax", input)
    return Softmax.apply(input if dtype is None else input.to(dtype), dim, log)


def softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """exp(x) / sum(exp(x)) along `dim` over the values that are there: what is not there counts as -inf."""
    return _soft(input, dim, dtype, False)


def log_softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """The logarithm of torch.sparse.softmax."""
    return _soft(input, dim, dtype, True)


def sampled_addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1.0, alpha: Any = 1.0, out: Any = None) -> Any:
    """beta * input + alpha * (mat1 @ mat2) at the indices of the CSR matrix `input` (n, m); mat1 (n, k), mat2 (k, m).
    Gradients flow to all three."""
    from ._sums import sampled

    if input.layout is not sparse_csr:
        raise RuntimeError("Expected self to have sparse csr layout, got layout %s" % input.layout)
    return sampled(input, mat1, mat2, beta, alpha)


def smm(input: Any, mat: Any) -> Any:
    """sparse @ dense as a sparse tensor of all elements that a row of `input` reaches."""
    if not input.is_sparse:
        raise RuntimeError("tensor.sspaddmm(...) can only be called on sparse tensors")
    return mm(input, mat).to_sparse()


def hspmm(mat1: Any, mat2: Any, *, out: Any = None) -> Any:
    """sparse @ dense as a hybrid COO tensor: its sparse dim are the rows."""
    return mm(mat1, mat2).to_sparse(1)


def sspaddmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Any:
    """beta * input + alpha * (mat1 @ mat2) with sparse input and mat1; sparse."""
    if not (input.is_sparse and mat1.is_sparse):
        raise RuntimeError("tensor.sspaddmm(...) can only be called on sparse tensors")
    return input * beta + mm(mat1, mat2).to_sparse() * alpha


def saddmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Any:
    """torch.sspaddmm under an older name."""
    return sspaddmm(input, mat1, mat2, beta=beta, alpha=alpha, out=out)


def dsmm(mat1: Any, mat2: Any) -> Any:
    """torch.sparse.mm under an older name."""
    return mm(mat1, mat2)


def spmm(mat1: Any, mat2: Any) -> Any:
    """torch.sparse.mm under an older name."""
    return mm(mat1, mat2)


def as_sparse_gradcheck(gradcheck: Callable[..., Any]) -> Callable[..., Any]:
    """A gradcheck that takes functions with sparse arguments and results: it differentiates by their values."""
    from ._gradcheck import wrap

    return wrap(gradcheck)


def _sparse(*tensors: Any) -> bool:
    return any(t.layout is not strided for t in tensors)


import torchlite as _root

from .._core import absent as _absent
from .._core.device import sparse_csr, strided

_absent_names = _absent.of(__name__)
for _name in ("addmm", "dsmm", "hspmm", "log_softmax", "mm", "saddmm", "smm", "softmax", "spmm", "sspaddmm", "sum"):
    _fn = globals()[_name]
    globals()[_name] = _fn if type(_fn) is _root._C.Function else _root._C.Function(_fn)


def __getattr__(name: str) -> Any:
    if name in _MAKERS:
        from . import _build

        return getattr(_build, name)
    if name.endswith("Tensor") and name[0].isupper():
        from . import _build

        if name in _build.LEGACY:
            made = globals()[name] = _build.legacy(name)
            return made
    return _absent_names(name)
