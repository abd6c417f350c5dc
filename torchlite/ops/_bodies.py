"""The longer bodies, and what bodies share. Loaded when the first of them runs: with kernels none does."""

import math

import torchlite as torch
from torchlite._C import suggests_channels_last as last_format

from .indexing import index_put


# ---- joining ---------------------------------------------------------------------------------------------------------
def roll(self, shifts, dims):
    shifts, dims = ((v,) if isinstance(v, int) else v for v in (shifts, dims))
    x = self if len(dims) else self.reshape(-1)
    for s, d in zip(shifts, dims or (0,)):
        x = x.index_select(d, (torch.arange(x.size(d), device=x.device) - s) % max(x.size(d), 1))
    return x if len(dims) else x.reshape(self.shape)


def repeat(self, repeats):
    shape = (1,) * (len(repeats) - self.dim()) + tuple(self.shape)
    x = self.reshape([n for s in shape for n in (1, s)]).expand([n for pair in zip(repeats, shape) for n in pair])
    return x.clone(memory_format=torch.contiguous_format).reshape([r * s for r, s in zip(repeats, shape)])


def diag_embed(self, offset, dim1, dim2):
    shape, n = list(self.shape[:-1]), self.shape[-1] + abs(offset)
    for d in sorted((dim1 % (self.dim() + 1), dim2 % (self.dim() + 1))):
        shape.insert(d, n)
    out = self.new_zeros(shape)
    out.diagonal(offset, dim1, dim2).copy_(self)
    return out


# ---- indexing --------------------------------------------------------------------------------------------------------
def into_zeros(g, shape, put, dim, index):
    """Zeros of `shape` that the op `put` (scatter_add, index_add) puts g into, in their own memory where nobody follows
    the ops."""
    zeros = g.new_zeros(shape)
    plain = type(g) is type(index) is torch.Tensor and not torch.is_grad_enabled()
    return getattr(zeros, put + "_" if plain else put)(dim, index, g)


def put_along(x, dim, index, src):
    """x with src[i][j] at x[index[i][j]][j] (for dim 0)."""
    if not x.dim() or not index.dim():
        return put_along(x.reshape(-1), 0, index.reshape(-1), src.reshape(-1)).reshape(x.shape)
    n, at = index.dim(), []
    for d, size in enumerate(index.shape):
        line = torch.arange(size, device=x.device)
        at.append(index.long() if d == dim % n else line.reshape((size,) + (1,) * (n - 1 - d)))
        src = src.narrow(d, 0, size) if src.dim() else src
    return index_put(x.contiguous(), at, src)


# ---- matmul ----------------------------------------------------------------------------------------------------------
def matmul(self, other):
    a = self if self.dim() > 1 else self.unsqueeze(0)
    b = other if other.dim() > 1 else other.unsqueeze(1)
    batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (t.expand(batch + t.shape[-2:]).reshape((math.prod(batch),) + t.shape[-2:]) for t in (a, b))
    y = a.bmm(b).reshape(batch + (a.shape[1], b.shape[2]))
    y = y if other.dim() > 1 else y.squeeze(-1)
    if self.dim() > 1:
        return y
    return y.squeeze(-1 if other.dim() == 1 else -2)


# ---- padding ---------------------------------------------------------------------------------------------------------
def constant_pad_nd(self, pad, value):
    if not any(pad):
        return self.clone()
    shape, fit = list(self.shape), []
    for i in range(len(pad) // 2):
        d, low = self.dim() - 1 - i, pad[2 * i]
        shape[d] += low + pad[2 * i + 1]
        fit.append((d, max(low, 0), max(-low, 0), min(self.shape[d] + min(low, 0), shape[d] - max(low, 0))))
    out = inside = self.new_full(shape, value)
    for d, to, start, size in fit:
        inside, self = inside.narrow(d, to, max(size, 0)), self.narrow(d, min(start, self.size(d)), max(size, 0))
    inside.copy_(self)
    return out


def mirrored(at, n, low, high):
    return n - 1 - (n - 1 - at.abs()).abs()


def held(at, n, low, high):
    return at.clamp(0, n - 1)


def wrapped(at, n, low, high):
    """Negative padding crops first."""
    start = max(-low, 0)
    return (at - start) % (n - start + min(high, 0)) + start


def sources(shape, padding, source, device):
    """(dim, where its elements come from) for each padded dim."""
    for i in range(len(padding) // 2):
        d, low, high = len(shape) - 1 - i, padding[2 * i], padding[2 * i + 1]
        yield d, source(torch.arange(-low, shape[d] + high, device=device), shape[d], low, high)


def padded(x, padding, source):
    for d, at in sources(x.shape, padding, source, x.device):
        x = x.index_select(d, at)
    return x


def summed(g, padding, size, last, source):
    for d, at in sources(size, padding, source, g.device):
        g = into_zeros(g, (*g.shape[:d], size[d], *g.shape[d + 1 :]), "index_add", d, at)
    return in_format(g, last)


# ---- pooling ---------------------------------------------------------------------------------------------------------
def windows(x, n, kernel, stride, padding, dilation, ceil_mode, fill):
    """The windows over the last n dims, each as the last dim of the result, with `fill` outside of x."""
    lead = x.dim() - n
    for i, (k, s, p, d) in enumerate(zip(kernel, stride, padding, dilation)):
        size, span = x.size(lead + i), d * (k - 1) + 1
        count = (size + 2 * p - span + (s - 1 if ceil_mode else 0)) // s + 1
        if ceil_mode and (count - 1) * s >= size + p:
            count -= 1
        pad = [0, 0] * (x.dim() - 1 - lead - i) + [p, (count - 1) * s + span - size - p]
        x = torch.constant_pad_nd(x, pad, fill).unfold(lead + i, span, s)[..., ::d]
    return x.flatten(-n)


def parts(x, n, size, fill):
    """As windows for adaptive pooling: window i of n starts at i * inputs // n and ends before the next one's start,
    rounded up."""
    lead = x.dim() - n
    for d, m in enumerate(size, lead):
        have = x.size(d)
        i, k = torch.arange(m, device=x.device).unsqueeze(1), have // max(m, 1) + 2
        low, at = i * have // max(m, 1), torch.arange(k, device=x.device)
        at, inside = low + at, low + at < -(-(i + 1) * have // max(m, 1))
        x = x.index_select(d, at.clamp(max=have - 1).reshape(-1)).unflatten(d, (m, k)).movedim(d + 1, -1)
        x = torch.where(inside.reshape((m,) + (1,) * (x.dim() - d - 2) + (k,)), x, fill)
    return x.flatten(-n)


def plane(size, n):
    """The position of each element of the last n dims."""
    return torch.arange(math.prod(size[-n:])).reshape(tuple(size[-n:]))


def largest(x, n, windows, volumes=False):
    """Maxima and their positions: the first ones, but the last NaN."""
    places = windows(plane(x.shape, n).to(x.device), -1)
    w = windows(x, float("-inf") if x.is_floating_point() else torch.iinfo(x.dtype).min)
    top, k = w.amax(-1, True), w.shape[-1]
    tap = torch.arange(k, device=x.device)
    first = torch.where((w == top) & (places >= 0), tap, k).amin(-1, True)
    nan = torch.where(w != w, tap, -1).amax(-1, True)
    at = places.expand(w.shape).gather(-1, torch.where(nan < 0, first, nan))
    return tuple(as_asked(t.squeeze(-1), x, n, volumes) for t in (top, at))


def window_sizes(x, y, kernel, stride, padding, with_padding):
    """How many elements each average of y is over."""
    sizes, n = torch.ones((), dtype=torch.int64, device=x.device), len(kernel)
    for k, s, p, size, m in zip(kernel, stride, padding, x.shape[-n:], y.shape[-n:]):
        low = torch.arange(m, device=x.device) * s - p
        high = (low + k).clamp(max=size + p)
        sizes = sizes.unsqueeze(-1) * (high - low if with_padding else high.clamp(max=size) - low.clamp(min=0))
    return sizes


def quotient(total, by):
    if not total.numel():  # contiguous, which a broadcast of nothing need not be
        return total
    return total / by if total.is_floating_point() else torch.div(total, by, rounding_mode="trunc").to(total.dtype)


def collected(g, places, size, last):
    """Zeros of `size` to which g is added at all the places of its windows; -1 is none."""
    g = g.unsqueeze(-1).expand(g.shape + places.shape[-1:]).flatten(1 - places.dim() - 1)
    lead, plane = tuple(size[: g.dim() - 1]), math.prod(size[g.dim() - 1 :])
    at = places.to(g.device).reshape(-1) + 1
    out = g.new_zeros((*lead, plane + 1)).index_add(-1, at, g)[..., 1:]
    return in_format(out.clone(memory_format=torch.contiguous_format).reshape(size), last)


def in_format(x, last):
    if not last:
        return x
    return x.contiguous(memory_format=torch.channels_last if x.dim() == 4 else torch.channels_last_3d)


def as_asked(y, x, n, volumes=False):
    """y in the memory format of x: for images, and for volumes where they are meant too."""
    if volumes and x.dim() == 4:
        last = not x.is_contiguous() and x.permute(1, 2, 3, 0).is_contiguous()
        return y.permute(1, 2, 3, 0).contiguous().permute(3, 0, 1, 2) if last else y
    return in_format(y, (n == 2 or volumes) and x.dim() == n + 2 and last_format(x))


# ---- reduction -------------------------------------------------------------------------------------------------------
def first(x, extreme, dim):
    """The first place along `dim` of its extreme, or of NaN; the dim stays."""
    n, at = x.size(dim), torch.arange(x.size(dim), device=x.device)
    at = at.reshape((n,) + (1,) * (x.dim() - 1 - dim % x.dim()))
    return torch.where((x == extreme(x, dim, True)) | (x != x), at, n).amin(dim, True)


def extreme(x, extreme, dim, keepdim):
    if not x.dim():
        return x.clone(), torch.zeros_like(x, dtype=torch.int64)
    at = first(x, extreme, dim)
    values = x.gather(dim, at)
    return (values, at) if keepdim else (values.squeeze(dim), at.squeeze(dim))


def position(x, extreme, dim, keepdim):
    if dim is None or not x.dim():
        return first(x.reshape(-1), extreme, 0).reshape((1,) * x.dim() if keepdim else ())
    at = first(x, extreme, dim)
    return at if keepdim else at.squeeze(dim)


# ---- sorting ---------------------------------------------------------------------------------------------------------
def runs(x, dim, shape, inverse, counts):
    """Slices along `dim` that differ from the one before, with the inverse, in `shape`, and the counts if asked for."""
    n, rows = x.size(dim), x.movedim(dim, 0)
    new = (rows[1:] != rows[:-1]).reshape(max(n - 1, 0), x.numel() // max(n, 1)).any(1)
    new = torch.cat([torch.ones((min(n, 1),), dtype=torch.bool, device=x.device), new])
    at = new.cumsum(0) - 1
    values = x.index_select(dim, torch.ops.functions.nonzero(new).reshape(-1))
    return values, at.reshape(shape) if inverse else at[:0], torch.bincount(at) if counts else at[:0]


def unique(self, sorted, return_inverse, return_counts):
    x, at = torch.sort(self.reshape(-1))
    values, places, counts = runs(x, 0, (x.numel(),), True, return_counts)
    return values, places.scatter(0, at, places).reshape(self.shape) if return_inverse else places[:0], counts


def histc(self, bins, min, max):
    if self.is_meta:
        return self.new_empty((bins,))
    x = self.reshape(-1).to(torch.promote_types(self.dtype, torch.float32))
    low, high = torch.tensor([min, max], dtype=x.dtype, device=x.device).unbind()
    if min == max and x.numel():
        low, high = x.amin(), x.amax()
    if low == high:
        low, high = low - 1, high + 1
    x = x[(x >= low) & (x <= high)]
    at = ((x - low) * bins / (high - low)).long().clamp(0, bins - 1)
    return torch.bincount(at, minlength=bins).to(self.dtype)


def bincount(self, weights, minlength):
    if not self.numel():
        return torch.zeros((minlength,), dtype=torch.int64, device=self.device)
    bins = max(minlength, int(self.max()) + 1)
    w = torch.ones_like(self, dtype=torch.int64) if weights is None else weights
    w = w if w.dtype in (torch.int64, torch.float32) and (weights is None or w.is_floating_point()) else w.double()
    return w.new_zeros((bins,)).scatter_add(0, self.long(), w)


# ---- statistics ------------------------------------------------------------------------------------------------------
def middle(x, dim, keepdim, skip):
    """The lower middle along `dim` and its position; of NaN the first, where they are not to be skipped or are all."""
    n, nans = x.size(dim) if x.dim() else 1, (x != x).sum(dim, True)
    values, at = torch.sort(x, dim=dim, stable=True)
    rank = torch.where(nans == n, 0, (n - nans - 1) // 2) if skip else torch.where(nans > 0, n - nans, (n - 1) // 2)
    values, at = values.gather(dim, rank), at.gather(dim, rank)
    return (values, at) if keepdim else (values.squeeze(dim), at.squeeze(dim))


def middle_of_all(x, skip):
    if not x.numel():
        return x.new_full((), math.nan if x.is_floating_point() else 0)
    return middle(x.reshape(-1), 0, False, skip)[0]
