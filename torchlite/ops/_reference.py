"""What kernels compute, step by step: definitions of "reference" ops, for tests, torch.self_test and readers. No other
call runs them."""

import builtins
import math
from typing import Any

import torchlite as torch

from ._bodies import in_format, last_format, put_along, runs


# ---- one element after the other along a dim -------------------------------------------------------------------------
def _folded(x, dims, keepdim, step):
    """step(step(first slice, second slice), third slice) and so on, over each of the dims."""
    if not x.dim():
        return x.clone()
    for d in sorted({d % x.dim() for d in dims or range(x.dim())}, reverse=True):
        r, *others = x.unbind(d)
        r = r.clone()
        for part in others:
            r = step(r, part)
        x = r.unsqueeze(d) if keepdim else r
    return x


def _dims(dim):
    return (dim,) if isinstance(dim, int) else dim


def _accumulated(x, dtype):
    if dtype is None:
        dtype = x.dtype if x.is_floating_point() or x.is_complex() else torch.int64
    return x.to(dtype)


def _empty_slice(x, dims, keepdim, value):
    """The result of a reduction over no elements."""
    dims = {d % x.dim() for d in dims} if dims else set(range(x.dim()))
    shape = [1 if d in dims else n for d, n in enumerate(x.shape) if keepdim or d not in dims]
    return torch.full(shape, value, dtype=x.dtype, device=x.device)


def sum(self, dim, keepdim, dtype):
    x, dims = _accumulated(self, dtype), _dims(dim)
    if not x.numel():
        return _empty_slice(x, dims, keepdim, 0)
    return _folded(x, dims, keepdim, torch.add)


def prod(self, dim, keepdim, dtype):
    x, dims = _accumulated(self, dtype), _dims(dim)
    if not x.numel():
        return _empty_slice(x, dims, keepdim, 1)
    return _folded(x, dims, keepdim, torch.mul)


def amax(self, dim, keepdim):
    if not self.numel():
        return _empty_slice(self, _dims(dim), keepdim, 0)
    return _folded(self, _dims(dim), keepdim, lambda r, x: torch.where((x > r) | (x != x), x, r))


def _scanned(x, dim, step):
    """The running results of step along `dim`; step takes and returns tuples."""
    if not x.dim():
        return step(None, x, 0)
    if not x.numel():
        return x.clone(), torch.zeros(x.shape, dtype=torch.int64, device=x.device)
    states, state = [], None
    for i, part in enumerate(x.unbind(dim)):
        state = step(state, part, i)
        states.append(state)
    return tuple(torch.stack(parts, dim) for parts in zip(*states))


def cumsum(self, dim, dtype):
    x = _accumulated(self, dtype)
    return _scanned(x, dim, lambda r, part, i: (part.clone() if r is None else r[0] + part,))[0]


def cumprod(self, dim, dtype):
    x = _accumulated(self, dtype)
    return _scanned(x, dim, lambda r, part, i: (part.clone() if r is None else r[0] * part,))[0]


def _running(self, dim, better):
    def step(state, part, i):
        if state is None:
            return part.clone(), torch.zeros_like(part, dtype=torch.int64)
        taken = better(part, state[0]) | (part != part)
        return torch.where(taken, part, state[0]), torch.where(taken, i, state[1])

    return _scanned(self, dim, step)


def cummax(self, dim):
    return _running(self, dim, torch.ge)


def cummin(self, dim):
    return _running(self, dim, torch.le)


# ---- order -----------------------------------------------------------------------------------------------------------
def _before(x, y):
    """x < y where NaN is the largest."""
    return (x < y) | ((x == x) & (y != y))


def sort(self, dim, descending):
    """Each element goes to the place of its rank: how many come before it."""
    if not self.dim():
        return self.clone(), torch.zeros_like(self, dtype=torch.int64)
    x, n = self.movedim(dim, -1).contiguous(), self.size(dim)
    mine, other = x.unsqueeze(-1), x.unsqueeze(-2)
    first = _before(mine, other) if descending else _before(other, mine)
    same = ~_before(mine, other) & ~_before(other, mine)
    at = torch.arange(n, device=x.device)
    rank = (first | (same & (at < at.unsqueeze(-1)))).sum(-1)
    values = put_along(torch.empty_like(x), -1, rank, x)
    places = put_along(torch.empty_like(rank), -1, rank, at.expand(x.shape))
    return tuple(_in_layout(t.movedim(-1, dim), self) for t in (values, places))


def _in_layout(r, x):
    return torch.empty_like(x, dtype=r.dtype).copy_(r)


def kthvalue(self, k, dim, keepdim):
    if not self.dim():
        return self.clone(), torch.zeros_like(self, dtype=torch.int64)
    values, places = torch.sort(self, dim=dim, stable=True)
    values, places = (t.narrow(dim, k - 1, 1).clone(memory_format=torch.contiguous_format) for t in (values, places))
    return (values, places) if keepdim else (values.squeeze(dim), places.squeeze(dim))


def topk(self, k, dim, largest, sorted):
    if not self.dim():
        return self.clone(), torch.zeros_like(self, dtype=torch.int64)
    found = torch.sort(self, dim=dim, descending=largest, stable=True)
    return tuple(t.narrow(dim, 0, k).clone(memory_format=torch.contiguous_format) for t in found)


def mode(self, dim, keepdim):
    """The smallest of the most frequent values, where it appears last."""
    if not self.dim():
        return self.clone(), torch.zeros_like(self, dtype=torch.int64)
    x, n = self.movedim(dim, -1).contiguous(), self.size(dim)
    count = (x.unsqueeze(-1) == x.unsqueeze(-2)).sum(-1)
    most = count == count.amax(-1, True)
    values, order = torch.sort(x)
    first = torch.where(most.gather(-1, order), torch.arange(n, device=x.device), n).amin(-1, True)
    value = values.gather(-1, first)
    place = torch.where(x == value, torch.arange(n, device=x.device), -1).amax(-1, True)
    value, place = value.movedim(-1, dim), place.movedim(-1, dim)
    return (value, place) if keepdim else (value.squeeze(dim), place.squeeze(dim))


def searchsorted(sorted_sequence, self, out_int32, right, side, sorter):
    line = sorted_sequence if sorter is None else sorted_sequence.gather(-1, sorter)
    x = self if isinstance(self, torch.Tensor) else torch.full((), self, device=line.device)
    line = line.unsqueeze(-2) if line.dim() > 1 else line
    dtype = torch.promote_types(line.dtype, x.dtype)
    line, v = line.to(dtype), x.unsqueeze(-1).to(dtype)
    passed = ~(line > v) if right or side == "right" else ~(line >= v)
    return passed.sum(-1).to(torch.int32 if out_int32 else torch.int64)


def unique_dim(self, dim, sorted, return_inverse, return_counts):
    """Rows are sorted by their last element first, so that the first decides."""
    rows = self.movedim(dim, 0).reshape(self.size(dim), -1)
    order = torch.arange(rows.size(0), device=self.device)
    for column in reversed(range(rows.size(1))):
        order = order.index_select(0, torch.sort(rows[:, column].index_select(0, order), stable=True)[1])
    x = self.movedim(dim, 0).index_select(0, order)
    values, places, counts = runs(x, 0, order.shape, True, True)
    inverse = places.scatter(0, order, places)
    return values.movedim(0, dim), inverse if return_inverse else places[:0], counts if return_counts else counts[:0]


def nonzero(self):
    """The place of an element among the results is how many are before it."""
    mask = (self != 0).reshape(-1)
    n, count = mask.numel(), int(mask.sum())
    at = torch.where(mask, mask.cumsum(0) - 1, count)
    line = torch.arange(n, device=self.device)
    flat = put_along(torch.zeros((count + 1,), dtype=torch.int64, device=self.device), 0, at, line)[:count]
    columns, below = [], n
    for size in self.shape:
        below //= max(size, 1)
        columns.append(torch.div(flat, max(below, 1), rounding_mode="floor") % max(size, 1))
    found = torch.stack(columns, 0) if columns else flat.new_zeros((0, count))
    return found.t()


# ---- joining and indexing --------------------------------------------------------------------------------------------
def cat(tensors, dim):
    dtype = tensors[0].dtype
    for t in tensors[1:]:
        dtype = torch.result_type(torch.empty((1,), dtype=dtype), torch.empty((1,), dtype=t.dtype))
    tensors = [t for t in tensors if t.dim() != 1 or t.numel()] or tensors[:1]
    d, start = dim % tensors[0].dim(), 0
    shape = list(tensors[0].shape)
    shape[d] = builtins.sum(t.size(d) for t in tensors)
    out = torch.empty(shape, dtype=dtype, device=tensors[0].device)
    out = in_format(out, all(last_format(t) for t in tensors))
    for t in tensors:
        out.narrow(d, start, t.size(d)).copy_(t)
        start += t.size(d)
    return out


def gather(self, dim, index):
    """Elements by the index along `dim` and their own place along the other dims."""
    if not self.dim() or not index.dim():
        return gather(self.reshape(-1), 0, index.reshape(-1)).reshape(index.shape)
    at, n = [], index.dim()
    for d, size in enumerate(index.shape):
        line = torch.arange(size, device=self.device)
        at.append(index.long() if d == dim % n else line.reshape((size,) + (1,) * (n - 1 - d)))
    return self[tuple(at)]


REDUCED: dict[str, Any] = {
    "sum": torch.add,
    "mean": torch.add,
    "prod": torch.mul,
    "amax": torch.maximum,
    "amin": torch.minimum,
}


def scatter_reduce(self, dim, index, src, reduce, include_self):
    """Slice by slice of `src`: within one no two elements meet."""
    if not self.dim() or not index.dim():
        flat = scatter_reduce(self.reshape(-1), 0, index.reshape(-1), src.reshape(-1), reduce, include_self)
        return flat.reshape(self.shape)
    r, count = self.clone(), torch.full_like(self, int(include_self), dtype=torch.int64)
    for i in range(index.size(dim)):
        at = index.narrow(dim, i, 1)
        for d, size in enumerate(at.shape):
            src = src.narrow(d, 0, size) if d != dim % self.dim() else src
        part, seen = src.narrow(dim, i, 1), count.gather(dim, at)
        value = REDUCED[reduce](r.gather(dim, at), part)
        r = put_along(r, dim, at, torch.where(seen > 0, value, part))
        count = put_along(count, dim, at, seen + 1)
    if reduce != "mean":
        return r
    count = count.clamp(min=1)
    if r.is_floating_point() or r.is_complex():
        return r / count
    return torch.div(r, count, rounding_mode="floor").to(r.dtype)


def bmm(self, mat2):
    return (self.unsqueeze(-1) * mat2.unsqueeze(-3)).sum(-2).to(self.dtype)


# ---- creation and views ----------------------------------------------------------------------------------------------
def full(size, value, dtype, device):
    if dtype is None:
        kinds = {bool: torch.bool, int: torch.int64, complex: torch.complex64}
        dtype = kinds.get(type(value), torch.get_default_dtype())
    return torch.empty(size, dtype=dtype, device=device).fill_(value)


def arange_step(start, end, step, dtype, device):
    if dtype is None:
        whole = all(isinstance(v, int) for v in (start, end, step))
        dtype = torch.int64 if whole else torch.get_default_dtype()
    n = max(math.ceil((end - start) / step), 0)
    at = torch.full((n,), 1, dtype=torch.int64, device=device).cumsum(0) - 1
    return ((at if dtype is torch.int64 else at.double()) * step + start).to(dtype)


def view_as_real(self):
    return self.unsqueeze(-1).view(torch.float64 if self.dtype is torch.complex128 else torch.float32)


def view_as_complex(self):
    return self.view(torch.complex128 if self.dtype is torch.float64 else torch.complex64).squeeze(-1)


# ---- matrices --------------------------------------------------------------------------------------------------------
def by_columns(x):
    return x.mT.clone(memory_format=torch.contiguous_format).mT


def solved_triangle(A, B, upper, unitriangular):
    """Substitution, row by row."""
    n = A.size(-1)
    rows = [B[..., i : i + 1, :] for i in range(n)]
    for i in reversed(range(n)) if upper else range(n):
        for j in range(i + 1, n) if upper else range(i):
            rows[i] = rows[i] - A[..., i : i + 1, j : j + 1] * rows[j]
        if not unitriangular:
            rows[i] = rows[i] / A[..., i : i + 1, i : i + 1]
    return by_columns(torch.cat(rows, -2) if rows else B)


def cholesky(A):
    """Column by column; info is the first that has no positive square on the diagonal."""
    n, batch = A.size(-1), A.shape[:-2]
    L, info = torch.zeros_like(A), torch.zeros(batch, dtype=torch.int32, device=A.device)
    for j in range(n):
        column = A[..., j:, j] - (L[..., j:, :j] * L[..., j : j + 1, :j].conj()).sum(-1)
        square = column[..., 0].real
        info = torch.where((info == 0) & ~(square > 0), j + 1, info).int()
        L[..., j:, j] = column / torch.sqrt(square).unsqueeze(-1)
        L[..., j, j] = torch.sqrt(square)
    return by_columns(L), info


def householder(A, tau):
    """The reflections I - tau v v^H, from the last one, on the first columns of the identity."""
    m, n = A.shape[-2:]
    Q = torch.eye(m, n, dtype=A.dtype, device=A.device).expand(A.shape).clone()
    for i in reversed(range(tau.size(-1))):
        v = A[..., i].clone()
        v[..., :i], v[..., i] = 0, 1
        along = (v.conj().unsqueeze(-1) * Q).sum(-2, True)
        Q = Q - tau[..., i, None, None] * v.unsqueeze(-1) * along
    return by_columns(Q)


# ---- random numbers --------------------------------------------------------------------------------------------------
def draws(self, generator, dtype=torch.float64):
    return torch.empty_like(self, dtype=dtype).uniform_(0, 1, generator=generator)


def bernoulli_(self, p, generator):
    single = isinstance(p, torch.Tensor) and p.dtype is not torch.float64
    return self.copy_(draws(self, generator, torch.float32 if single else torch.float64) < p)


def exponential_(self, lambd, generator):
    return self.copy_(torch.log1p(-draws(self, generator)) * (-1 / lambd))


def geometric_(self, p, generator):
    return self.copy_(torch.ceil(torch.log(draws(self, generator)) / math.log1p(-p)))


def cauchy_(self, median, sigma, generator):
    return self.copy_(median + sigma * torch.tan(math.pi * (draws(self, generator) - 0.5)))


def randperm(n, generator, dtype, device):
    """Each place in turn changes its number with one from there on."""
    order = list(range(n))
    for i in range(n - 1):
        at = i + int(torch.empty((), dtype=torch.int64, device="cpu").random_(0, n - i, generator=generator))
        order[i], order[at] = order[at], order[i]
    return torch.tensor(order, dtype=torch.int64 if dtype is None else dtype, device=device)


def rrelu_noise(self, lower, upper, generator):
    """A draw for each element that is not positive, in order."""
    drawn = self <= 0
    u = torch.empty((int(drawn.sum()),), dtype=torch.float64, device="cpu").uniform_(0, 1, generator=generator)
    noise = torch.full(self.shape, 1.0, dtype=torch.float64, device="cpu")
    return noise.masked_scatter(drawn, lower + (upper - lower) * u).to(self.dtype)
