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
from ..lazy.stream import family, float_word, fresh, geometry, launch, product, ready

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..._types import Buffer, DType, Overload, Tensor


_ONE = float_word(1.0)
_INTEGERS = DTYPES - FLOATS - {torch.bool}
_plan = family("matmul", "a", "b", "out", "bias")
SMALL_M = 32  # fewer rows than this do not fill a tile


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
    Operands of one dim lose it; bt: b is [*, n, k]. Shapes and types are checked by the caller;
    integers have nothing added."""
    pa, sa, ta, ao, dtype, dense, numel = geometry(a)
    pb, sb, tb, bo, _, _, _ = geometry(b)
    nb = len(sb)
    if nb != 2:
        if nb > 2 or len(sa) > 2:
            return _batched(a, b, bt, added, alpha, beta)
        k, n, bn, bk = sb[0], 1, 0, tb[0]
    elif bt:
        n, k = sb
        bn, bk = tb
    else:
        k, n = sb
        bk, bn = tb
    if len(sa) == 2:
        m = sa[0]
        am, ak = ta
        shape: tuple[int, ...] = (m, n) if nb == 2 else (m,)
    elif len(sa) == 1:
        m, am, ak = 1, 0, ta[0]
        shape = (n,) if nb == 2 else ()
    elif dense and k:
        m, am, ak = numel // k, k, 1
        shape = (*sa[:-1], n)
    else:
        return _batched(a, b, bt, added, alpha, beta)
    if not (m and n):
        return fresh(shape, dtype)[0]
    if added is None:
        return _later(
            _plan(dtype, dtype, dtype),
            (pa, pb),
            (
                m,
                n,
                k,
                1,
                1,
                ao,
                am,
                ak,
                0,
                0,
                bo,
                bk,
                bn,
                0,
                0,
                0,
                n,
                1,
                0,
                0,
                _ONE if alpha == 1 else float_word(alpha),
            ),
            shape,
            dtype,
        )
    pe, se, te, eo, _, _, _ = geometry(added)
    em = en = 0
    if nb == 2:
        if se and se[-1] != 1:
            en = te[-1]
        if len(se) == 2 and se[0] != 1:
            em = te[0]
    elif se and se[0] != 1:
        em = te[0]
    return product(
        _plan(dtype, dtype, dtype, dtype),
        (pa, pb, pe),
        (
            m,
            n,
            k,
            1,
            1,
            ao,
            am,
            ak,
            0,
            0,
            bo,
            bk,
            bn,
            0,
            0,
            0,
            n,
            1,
            0,
            0,
            eo,
            em,
            en,
            0,
            0,
            _ONE if alpha == 1 else float_word(alpha),
            _ONE if beta == 1 else float_word(beta),
        ),
        shape,
        dtype,
        2,
    )


def _later(
    plan: int, buffers: tuple[Buffer, ...], words: tuple[int, ...], shape: tuple[int, ...], dtype: DType
) -> Tensor:
    """The product, lazy where an epilogue can follow it in its kernel."""
    if dtype in FLOATS:
        return product(plan, buffers, words, shape, dtype, 2)
    r, handle = fresh(shape, dtype)
    launch(plan, (*[ready(b) for b in buffers], handle), words)
    return r


def _batched(a: Tensor, b: Tensor, bt: bool, added: Tensor | None, alpha: int, beta: int) -> Tensor:
    """multiply() of more than two matrices."""
    pa, sa, ta, ao, dtype, _, _ = geometry(a)
    pb, sb, tb, bo, _, _, _ = geometry(b)
    na, nb = len(sa), len(sb)
    k, ak = sa[-1], ta[-1]
    m, am = (1, 0) if na == 1 else (sa[-2], ta[-2])
    if nb == 1:
        n, bn, bk = 1, 0, tb[0]
    elif bt:
        n, bn, bk = sb[-2], tb[-2], tb[-1]
    else:
        n, bn, bk = sb[-1], tb[-1], tb[-2]
    lead, dims = _batch(sa, ta, sb, tb)
    shape = lead + (() if na == 1 else (m,)) + (() if nb == 1 else (n,))
    numel = m * n
    for s in lead:
        numel *= s
    if not numel:
        return fresh(shape, dtype)[0]
    em = en = eo = 0
    es = [0] * len(shape)
    if added is not None:
        pe, se, te, eo, _, _, _ = geometry(added)
        own = [0 if s == 1 else t for s, t in zip(se, te)]
        es[len(es) - len(own) :] = own
        if nb > 1:
            en = es.pop()
        if na > 1:
            em = es.pop()
    dims = [(s, x, y, es[i]) for s, x, y, i in dims]
    # rows that follow one another at one distance, times one matrix, are one tall product
    while dims and dims[-1][2] == 0 and (m == 1 or dims[-1][1] == m * am and dims[-1][3] == m * em):
        s, x, _, z = dims.pop()
        if m == 1:
            am, em = x, z
        m *= s
    sizes, keep = _C.coalesce([d[0] for d in dims], [[d[i] for d in dims] for i in (1, 2, 3)])
    dims = [(size, *dims[d][1:]) for size, d in zip(sizes, keep)]
    if len(dims) > 2 or dims and m < SMALL_M and all(d[2] == 0 for d in dims):
        denser = _denser(a, b, lead, dims)
        if denser is not None:
            return multiply(*denser, bt, added, alpha, beta)
    batches = inner = 1
    ab0 = ab1 = bb0 = bb1 = eb0 = eb1 = 0
    if dims:
        inner, ab1, bb1, eb1 = dims[-1]
        batches = inner
        if len(dims) == 2:
            outer, ab0, bb0, eb0 = dims[0]
            batches = outer * inner
    words = [m, n, k, batches, inner, ao, am, ak, ab0, ab1, bo, bk, bn, bb0, bb1, 0, n, 1, inner * m * n, m * n]
    buffers: tuple[Any, ...] = (pa, pb)
    if added is not None:
        buffers = (pa, pb, pe)
        words += (eo, em, en, eb0, eb1)
    words.append(float_word(alpha))
    if added is not None:
        words.append(float_word(beta))
    return _later(_plan(dtype, dtype, dtype, None if added is None else dtype), buffers, tuple(words), shape, dtype)


def _batch(
    sa: tuple[int, ...], ta: tuple[int, ...], sb: tuple[int, ...], tb: tuple[int, ...]
) -> tuple[tuple[int, ...], list[Any]]:
    """The broadcast batch sizes, and of each that is not 1: (size, stride in a, stride in b, its place)."""
    x, y = sa[:-2], sb[:-2]
    count = max(len(x), len(y))
    lx, ly = count - len(x), count - len(y)
    lead, dims = [], []
    for d in range(count):
        p = x[d - lx] if d >= lx else 1
        q = y[d - ly] if d >= ly else 1
        s = q if p == 1 else p
        lead.append(s)
        if s != 1:
            dims.append((s, 0 if p == 1 else ta[d - lx], 0 if q == 1 else tb[d - ly], d))
    return tuple(lead), dims


def _denser(a: Any, b: Any, lead: Any, dims: Any) -> tuple[Any, Any] | None:
    """Operands, copied if their batch dims cannot be joined to two; None if copying does not help."""
    if not a.is_contiguous():
        return contiguous(a), b
    if len(dims) <= 2:
        return None
    if not b.is_contiguous():
        return a, contiguous(b)
    for i, t in enumerate((a, b)):
        if t.dim() > 1:
            full = lead + tuple(t.shape[-2:])
            if tuple(t.shape) != full:
                t = contiguous(t.expand(full))
                return (t, b) if i == 0 else (a, t)
    return None


def _complex(a: Tensor, b: Tensor, bt: bool = False, conjugated: bool = False) -> Tensor:
    """A complex product by the real ones of its parts, which are strided views; conjugated: of a's conjugate."""
    a, b = torch.view_as_real(a.detach()), torch.view_as_real(b.detach())
    ar, ai, br, bi = a.select(-1, 0), a.select(-1, 1), b.select(-1, 0), b.select(-1, 1)
    add, sub = (torch.sub, torch.add) if conjugated else (torch.add, torch.sub)
    re = sub(multiply(ar, br, bt), multiply(ai, bi, bt))
    r = empty(re.shape, torch.complex64)
    parts = torch.view_as_real(r)
    _C.copy(parts.select(-1, 0), re, False)
    _C.copy(parts.select(-1, 1), add(multiply(ar, bi, bt), multiply(ai, br, bt)), False)
    return r


def _product(ov: Overload, args: tuple[Any, ...], a: Tensor, b: Tensor, bt: bool = False) -> Tensor:
    dtype = a.dtype
    if dtype is b.dtype and (dtype in FLOATS or dtype in _INTEGERS):
        return multiply(a, b, bt)
    if dtype is b.dtype and dtype is torch.complex64:
        return _complex(a, b, bt)
    return _refuse(ov, args)


def _off_gpu(a: Tensor, b: Tensor) -> bool:
    return a.is_cpu or b.is_cpu


@planner("mm")
def _mm(ov: Overload, args: tuple[Any, ...]) -> Tensor:
    a, b = args
    if a.dim() != 2 or b.dim() != 2 or a.shape[1] != b.shape[0] or _off_gpu(a, b):
        return _refuse(ov, args)
    return _product(ov, args, a, b)


@planner("bmm")
def _bmm(ov: Overload, args: tuple[Any, ...]) -> Tensor:
    a, b = args
    if a.dim() != 3 or b.dim() != 3 or a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1] or _off_gpu(a, b):
        return _refuse(ov, args)
    return _product(ov, args, a, b)


@planner("mv")
def _mv(ov: Overload, args: tuple[Any, ...]) -> Tensor:
    a, b = args
    if a.dim() != 2 or b.dim() != 1 or a.shape[1] != b.shape[0] or _off_gpu(a, b):
        return _refuse(ov, args)
    return _product(ov, args, a, b)


@planner("dot", "vdot")
def _dot(ov: Overload, args: tuple[Any, ...]) -> Tensor:
    a, b = args
    if a.dim() != 1 or b.dim() != 1 or a.shape[0] != b.shape[0] or _off_gpu(a, b):
        return _refuse(ov, args)
    if ov.kernel == "vdot" and a.dtype is torch.complex64 and b.dtype is torch.complex64:
        return _complex(a, b, False, True)
    return _product(ov, args, a, b)


@planner("matmul")
def _matmul(ov: Overload, args: tuple[Any, ...]) -> Tensor:
    a, b = args
    na, nb = a.dim(), b.dim()
    if not na or not nb or a.shape[-1] != b.shape[-2 if nb > 1 else 0] or _off_gpu(a, b):
        return _refuse(ov, args)
    if na > 2 and nb > 2:
        for p, q in zip(reversed(a.shape[:-2]), reversed(b.shape[:-2])):
            if p != q and p != 1 and q != 1:
                return _refuse(ov, args)
    return _product(ov, args, a, b)


@planner("linear")
def _linear(ov: Overload, args: tuple[Any, ...]) -> Tensor:
    x, w, bias = args
    nd, wd = x.dim(), w.dim()
    if not nd or not 0 < wd < 3 or x.shape[-1] != w.shape[-1] or _off_gpu(x, w):
        return _refuse(ov, args)
    if bias is None:
        return _product(ov, args, x, w, wd == 2)
    dtype = x.dtype
    if (
        wd != 2
        or bias.dtype is not dtype
        or w.dtype is not dtype
        or bias.is_cpu
        or dtype not in FLOATS
        or bias.dim() != 1
        or bias.shape[0] != w.shape[0]
    ):
        return _linear_rare(ov, args)
    return multiply(x, w, True, bias)


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
    if b.dtype is not dtype or self.dtype is not dtype or self.is_cpu or _off_gpu(a, b) or not _fits(self, shape):
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
