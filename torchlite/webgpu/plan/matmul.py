"""Products of vectors, matrices and batches of matrices.

Operands are read through their strides, so transposed, sliced and broadcast ones are not copied;
alpha, beta and what is added are part of the kernel.
Floats are summed in float32, integers exactly modulo the type's width.
"""

from __future__ import annotations


from typing import Any

import torchlite as torch

from ... import _C
from ..devices import check_devices
from ..fallback import cpu_error
from ..registry import planner
from ..tensors import DTYPES, FLOATS, contiguous, empty
from ..lazy.stream import core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..._types import Overload, Tensor


_INTEGERS = DTYPES - FLOATS - {torch.bool}


def _refuse(ov: Overload, args: tuple[Any, ...]) -> Any:
    """For arguments that a planner does not take: the CPU's error where they are wrong, else the op's body."""
    if any([isinstance(a, _C.TensorBase) and a.dtype.is_complex for a in args]):
        check_devices(args)
        return NotImplemented
    return cpu_error(ov, args)


def multiply(
    a: Tensor, b: Tensor, bt: bool = False, added: Tensor | None = None, alpha: Any = 1, beta: Any = 1
) -> Tensor:
    """alpha * a [*, m, k] times b [*, k, n], + beta * added where it is given, which broadcasts to the result.
    Operands of one dim lose it; bt: b is [*, n, k]. NotImplemented: the dtypes are not one of floats (or of integers,
    with nothing added), the shapes do not fit, or one of the tensors is not on webgpu."""
    r = core.multiply(a, b, bt, added, alpha, beta)
    return multiply(*_copied(a, b), bt, added, alpha, beta) if r is None else r


def _copied(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """One of two operands copied, so that the product has fewer batch dims."""
    if not a.is_contiguous():
        return contiguous(a), b
    if not b.is_contiguous():
        return a, contiguous(b)
    lead = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    if a.shape[:-2] != lead:
        return contiguous(a.expand(*lead, *a.shape[-2:])), b
    return a, contiguous(b.expand(*lead, *b.shape[-2:]))


def _complex(a: Tensor, b: Tensor, bt: bool = False, conjugated: bool = False) -> Any:
    """A complex product by the real ones of its parts, which are strided views; conjugated: of a's conjugate.
    NotImplemented as of multiply()."""
    a, b = torch.view_as_real(a.detach()), torch.view_as_real(b.detach())
    ar, ai, br, bi = a.select(-1, 0), a.select(-1, 1), b.select(-1, 0), b.select(-1, 1)
    add, sub = (torch.sub, torch.add) if conjugated else (torch.add, torch.sub)
    re = multiply(ar, br, bt)
    if re is NotImplemented:
        return re
    re = sub(re, multiply(ai, bi, bt))
    r = empty(re.shape, torch.complex64)
    parts = torch.view_as_real(r)
    _C.copy(parts.select(-1, 0), re, False)
    _C.copy(parts.select(-1, 1), add(multiply(ar, bi, bt), multiply(ai, br, bt)), False)
    return r


def _product(
    ov: Overload, args: tuple[Any, ...], a: Tensor, b: Tensor, bt: bool = False, conjugated: bool = False
) -> Any:
    if a.dtype is b.dtype is torch.complex64:
        r = _complex(a, b, bt, conjugated)
    else:
        r = multiply(a, b, bt)
    return _refuse(ov, args) if r is NotImplemented else r


@planner("mm")
def _mm(ov: Overload, args: tuple[Any, ...]) -> Tensor:
    a, b = args
    if a.dim() != 2 or b.dim() != 2:
        return _refuse(ov, args)
    return _product(ov, args, a, b)


@planner("bmm")
def _bmm(ov: Overload, args: tuple[Any, ...]) -> Tensor:
    a, b = args
    if a.dim() != 3 or b.dim() != 3 or a.shape[0] != b.shape[0]:
        return _refuse(ov, args)
    return _product(ov, args, a, b)


@planner("mv")
def _mv(ov: Overload, args: tuple[Any, ...]) -> Tensor:
    a, b = args
    if a.dim() != 2 or b.dim() != 1:
        return _refuse(ov, args)
    return _product(ov, args, a, b)


@planner("dot", "vdot")
def _dot(ov: Overload, args: tuple[Any, ...]) -> Tensor:
    a, b = args
    if a.dim() != 1 or b.dim() != 1:
        return _refuse(ov, args)
    return _product(ov, args, a, b, False, ov.kernel == "vdot")


@planner("matmul")
def _matmul(ov: Overload, args: tuple[Any, ...]) -> Tensor:
    return _product(ov, args, *args)


@planner("linear")
def _linear(ov: Overload, args: tuple[Any, ...]) -> Tensor:
    x, w, bias = args
    wd = w.dim()
    if not 0 < wd < 3:
        return _refuse(ov, args)
    if bias is None:
        return _product(ov, args, x, w, wd == 2)
    r: Any = NotImplemented
    if wd == 2 and bias.dim() == 1 and bias.shape[0] == w.shape[0]:
        r = multiply(x, w, True, bias)
    return _linear_rare(ov, args) if r is NotImplemented else r


def _linear_rare(ov: Overload, args: tuple[Any, ...]) -> Tensor:
    """Integers, complex numbers, and a bias that is broadcast to the matrix of all rows, as PyTorch adds it."""
    x, w, bias = args
    if (
        w.dim() != 2
        or bias.dtype is not x.dtype
        or w.dtype is not x.dtype
        or bias.is_cpu
        or not _fits(bias, (x.numel() // max(x.shape[-1], 1), w.shape[0]))
    ):
        return _refuse(ov, args)
    r = _product(ov, args, x, w, True)
    if r is NotImplemented:
        return r
    if r.numel():
        return (r.reshape(-1, w.shape[0]) + bias.detach()).reshape(r.shape)
    return r


def _fits(t: Tensor, shape: tuple[int, ...]) -> bool:
    """Whether a tensor broadcasts to a shape."""
    own = t.shape
    if own == shape:
        return True
    if len(own) > len(shape):
        return False
    return all(n == 1 or n == m for n, m in zip(reversed(own), reversed(shape)))


def _sum(ov: Overload, args: tuple[Any, ...], shape: tuple[int, ...]) -> Tensor:
    """beta * args[0] + alpha * (args[1] @ args[2])"""
    self, a, b, beta, alpha = args
    dtype = a.dtype
    off_gpu = self.is_cpu or a.is_cpu or b.is_cpu
    if b.dtype is not dtype or self.dtype is not dtype or off_gpu or not _fits(self, shape):
        return _refuse(ov, args)
    if dtype in FLOATS:
        if not isinstance(alpha, (int, float)) or not isinstance(beta, (int, float)):
            return _refuse(ov, args)
        # beta == 0 ignores self, NaN included
        return multiply(a, b, False, None, alpha) if beta == 0 else multiply(a, b, False, self, alpha, beta)
    if dtype in _INTEGERS and isinstance(alpha, int) and isinstance(beta, int):
        r = multiply(a, b)
    elif dtype is torch.complex64:
        r = _complex(a, b)
    else:
        return _refuse(ov, args)
    if alpha != 1:
        r = r * alpha
    return r if beta == 0 else r + self.detach() * beta


@planner("addmm")
def _addmm(ov: Overload, args: tuple[Any, ...]) -> Tensor:
    _, a, b, _, _ = args
    if a.dim() != 2 or b.dim() != 2 or a.shape[1] != b.shape[0]:
        return _refuse(ov, args)
    return _sum(ov, args, (a.shape[0], b.shape[1]))


@planner("addmv")
def _addmv(ov: Overload, args: tuple[Any, ...]) -> Tensor:
    self, a, b, _, _ = args
    if a.dim() != 2 or b.dim() != 1 or a.shape[1] != b.shape[0] or self.dim() > 1:
        return _refuse(ov, args)
    return _sum(ov, args, (a.shape[0],))


@planner("baddbmm")
def _baddbmm(ov: Overload, args: tuple[Any, ...]) -> Tensor:
    _, a, b, _, _ = args
    if a.dim() != 3 or b.dim() != 3 or a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        return _refuse(ov, args)
    return _sum(ov, args, (a.shape[0], a.shape[1], b.shape[2]))
