"""Sorting and what follows from it: topk, kthvalue, medians, modes, distinct values; searches and histograms.

Sorts are stable. Only results of a size that depends on the data wait for the GPU, to read that size.
"""

from __future__ import annotations


from typing import Any

import torchlite as torch

from ... import _C
from .reduce import dims_of, own
from ..devices import check_devices
from ..fallback import ask_core
from ..registry import planner
from ..tensors import DTYPES, FLOATS, contiguous, empty, laid_back, laid_like
from ..lazy.stream import family, launch, ready

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..._types import Overload, Tensor


geometry = _C.geometry
int64, int32, boolean = torch.int64, torch.int32, torch.bool
_sort_plan = family("sort", "dtype", "descending")
_search_plan = family("search", "dtype", "values", "compute", "right", "out")


# ---- sorted rows -----------------------------------------------------------------------------------------------------
def _dim(t: Tensor, dim: int) -> int | None:
    """A dim, wrapped; None where the core has to say what is wrong."""
    dims = dims_of(-1 if dim is None else dim, t.dim())
    if dims is None:
        return None
    if dims:
        return dims[0]
    return 0


def ordered(t: Tensor, dim: int, k: int, descending: bool) -> tuple[Tensor, Tensor]:
    """The first k elements along `dim` of the sorted t, and their positions."""
    nd = t.dim()
    last = not nd or dim == nd - 1
    x = contiguous(t if last else t.detach().movedim(dim, -1))
    buffer, shape, _, offset, dtype, _, numel = geometry(x)
    number = _sort_plan(dtype, bool(descending))
    n = shape[-1] if nd else 1
    where = (*shape[:-1], k) if nd else ()
    values, index = empty(where, dtype), empty(where, int64)
    places = geometry(index)[0]
    launch(number, [ready(buffer), ready(geometry(values)[0]), ready(places)], [numel // n, n, k, offset, 0, 0])
    places.bounds = (0, n - 1)
    if not last:
        values, index = own(values.movedim(-1, dim)), own(index.movedim(-1, dim))
        geometry(index)[0].bounds = (0, n - 1)
    return values, index


@planner("sort", "argsort", "sort_stable", "argsort_stable")
def _sort(ov: Any, args: tuple[Any, ...]) -> Tensor | tuple[Tensor, Tensor]:
    t, dim, descending = args[0], args[-2], args[-1]
    at = _dim(t, dim)
    if at is None or not t.numel() or t.dtype not in DTYPES:
        return ask_core(ov, args)
    t, order, back = laid_like(t)
    values, index = ordered(t, order.index(at) if order else 0, t.shape[order.index(at)] if order else 1, descending)
    values, index = laid_back(values, back), laid_back(index, back)
    return index if ov.kernel.startswith("arg") else (values, index)


@planner("topk")
def _topk(ov: Overload, args: tuple[Any, ...]) -> tuple[Tensor, Tensor]:
    t, k, dim, largest, _ = args
    at = _dim(t, dim)
    if (
        at is None
        or not t.numel()
        or t.dtype not in DTYPES
        or t.dtype is boolean
        or not 0 <= k <= (t.shape[at] if t.dim() else 1)
    ):
        return ask_core(ov, args)
    if k == 0 and t.dim():
        shape = list(t.shape)
        shape[at] = 0
        return empty(shape, t.dtype), empty(shape, int64)
    return ordered(t, at, k, largest)


# ---- one of each row -------------------------------------------------------------------------------------------------
def _rows(t: Tensor, dim: int) -> Tensor:
    """t with `dim` as the last one, at least one."""
    t = t.detach()
    return t.movedim(dim, -1) if t.dim() else t.reshape(1)


def _placed(values: Tensor, index: Tensor, t: Tensor, dim: int, keepdim: bool) -> tuple[Tensor, Tensor]:
    """Results of rows, [..., 1], as those of t along dim."""
    if not t.dim():
        return own(values.reshape(())), own(index.reshape(()))
    if keepdim:
        return own(values.movedim(-1, dim)), own(index.movedim(-1, dim))
    return own(values.squeeze(-1)), own(index.squeeze(-1))


def _at(values: Any, index: Any, place: Any) -> tuple[Any, Any]:
    """The elements of sorted rows at a place of each row (int64, [..., 1])."""
    geometry(place)[0].bounds = (0, values.shape[-1] - 1)
    return values.gather(-1, place), index.gather(-1, place)


@planner("kthvalue")
def _kthvalue(ov: Overload, args: tuple[Any, ...]) -> tuple[Tensor, Tensor]:
    t, k, dim, keepdim = args
    at = _dim(t, dim)
    if (
        at is None
        or not t.numel()
        or t.dtype not in DTYPES
        or t.dtype is boolean
        or not 1 <= k <= (t.shape[at] if t.dim() else 1)
    ):
        return ask_core(ov, args)
    values, index = ordered(_rows(t, at), max(t.dim() - 1, 0), k, False)
    return _placed(values[..., k - 1 :], index[..., k - 1 :], t, at, keepdim)


def _median(t: Any, ignore_nan: bool) -> tuple[Any, Any]:
    """Medians of the rows of t and their positions, [..., 1]: of the two in the middle the lower.
    NaN, which sorts last, is the median of a row that has it."""
    n = t.shape[-1]
    values, index = ordered(t, t.dim() - 1, n, False)
    if t.dtype not in FLOATS:
        middle = (n - 1) // 2
        return values[..., middle : middle + 1], index[..., middle : middle + 1]
    numbers = n - t.isnan().sum(-1, True)
    if ignore_nan:
        place = ((numbers - 1) // 2).clamp(min=0)
    else:
        place = torch.where(numbers == n, (n - 1) // 2, numbers)
    return _at(values, index, place)


@planner("median_dim", "nanmedian_dim")
def _median_dim(ov: Overload, args: tuple[Any, ...]) -> tuple[Tensor, Tensor]:
    t, dim, keepdim = args
    at = _dim(t, dim)
    if at is None or not t.numel() or t.dtype not in DTYPES or t.dtype is boolean:
        return ask_core(ov, args)
    return _placed(*_median(_rows(t, at), ov.kernel == "nanmedian_dim"), t, at, keepdim)


@planner("median", "nanmedian")
def _median_all(ov: Overload, args: tuple[Any, ...]) -> Tensor:
    t = args[0]
    if not t.numel() or t.dtype not in DTYPES or t.dtype is boolean:
        return ask_core(ov, args)
    return own(_median(t.detach().reshape(-1), ov.kernel == "nanmedian")[0].reshape(()))


def _starts(values: Tensor) -> Tensor:
    """Where runs of equal elements begin along the last dim."""
    first = torch.ones((*values.shape[:-1], 1), dtype=boolean, device=values.device)
    return torch.cat([first, values[..., 1:] != values[..., :-1]], -1)


@planner("mode")
def _mode(ov: Overload, args: tuple[Any, ...]) -> tuple[Tensor, Tensor]:
    """The run that is longest first; of the positions of its elements the last,
    where the CPU's depends on its way of sorting.
    NaN sort last and equal nothing; on the CPU a NaN in a short row may stand between equal elements, as in PyTorch."""
    t, dim, keepdim = args
    at = _dim(t, dim)
    if at is None or not t.numel() or t.dtype not in DTYPES:
        return ask_core(ov, args)
    rows = _rows(t, at)
    n = rows.shape[-1]
    values, index = ordered(rows, rows.dim() - 1, n, False)
    here = torch.arange(n, device=t.device)
    begin = torch.where(_starts(values), here, 0).cummax(-1)[0]
    return _placed(*_at(values, index, (here - begin).argmax(-1, True)), t, at, keepdim)


# ---- distinct values -------------------------------------------------------------------------------------------------
def _none() -> Tensor:
    return empty((0,), int64)


def _runs(starts: Tensor, source: Tensor | None, inverse: bool, counts: bool, shape: tuple[int, ...]) -> Any:
    """(places where runs begin, the inverse or nothing, the counts or nothing) for flags of n elements in an order:
    element i of the order comes from source[i] (None: from i)."""
    n = starts.numel()
    places = starts.nonzero().reshape(-1)
    where, sizes = _none(), _none()
    if inverse:
        rank = starts.cumsum(0) - 1
        ranks = rank if source is None else empty((n,), int64).scatter_(0, source, rank)
        where = own(ranks.reshape(shape))
    if counts:
        ends = torch.cat([places[1:], torch.full((1,), n, device=places.device)])
        sizes = ends - places
    return places, where, sizes


def _flat(t: Any, order: bool, inverse: bool, counts: bool) -> Any:
    x = contiguous(t.detach()).reshape(-1)
    values, source = ordered(x, 0, x.numel(), False) if order else (x, None)
    starts = _starts(values)
    _, inverse, counts = _runs(starts, source, inverse, counts, tuple(t.shape))
    return values.masked_select(starts), inverse, counts


@planner("_unique2")
def _unique2(ov: Overload, args: tuple[Any, ...]) -> tuple[Tensor, Tensor, Tensor]:
    t, _, inverse, counts = args
    if not t.numel() or t.dtype not in DTYPES:
        return ask_core(ov, args)
    return _flat(t, True, bool(inverse), bool(counts))


_COLUMNS = 64  # slices are sorted by one element after the other, from the last: as many sorts


@planner("unique_dim", "unique_consecutive")
def _unique_dim(ov: Overload, args: tuple[Any, ...]) -> Any:
    consecutive = ov.kernel == "unique_consecutive"
    t = args[0]
    inverse, counts, dim = args[1:] if consecutive else (args[3], args[4], args[1])
    if not t.numel() or t.dtype not in DTYPES:
        return ask_core(ov, args)
    if dim is None:
        return _flat(t, False, bool(inverse), bool(counts))
    at = _dim(t, dim)
    if at is None or not t.dim():
        return ask_core(ov, args)
    x = t.detach().movedim(at, 0)
    n = x.shape[0]
    rows = contiguous(x).reshape(n, -1)
    source = None
    if not consecutive:
        if rows.shape[1] > _COLUMNS:
            return NotImplemented
        source = torch.arange(n, device=t.device)
        for k in range(rows.shape[1] - 1, -1, -1):
            source = source[ordered(rows[:, k][source], 0, n, False)[1]]
            geometry(source)[0].bounds = (0, n - 1)
        rows = rows[source]
    first = torch.ones((1,), dtype=boolean, device=t.device)
    starts = torch.cat([first, (rows[1:] != rows[:-1]).any(1)])
    places, inverse, counts = _runs(starts, source, bool(inverse), bool(counts), (n,))
    values = rows.index_select(0, places).reshape(places.numel(), *x.shape[1:])
    return own(values.movedim(0, at)), inverse, counts


# ---- searches and histograms -----------------------------------------------------------------------------------------
_SIDES = {None: None, "left": False, "right": True}


@planner("searchsorted", "bucketize")
def _searchsorted(ov: Overload, args: tuple[Any, ...]) -> Any:
    if ov.kernel == "bucketize":
        v, rows, narrow, right = args
        side = sorter = None
    else:
        rows, v, narrow, right, side, sorter = args
    if not isinstance(v, _C.TensorBase):
        # a number does not widen floats
        floats = rows.dtype.is_floating_point
        if isinstance(v, complex):
            return NotImplemented
        if floats:
            dtype = rows.dtype
        elif isinstance(v, float):
            dtype = torch.get_default_dtype()
        else:
            dtype = int64
        v = _C.fill(_C.empty((), dtype), v).to(rows.device)
    if v.is_cpu or rows.is_cpu:
        raise RuntimeError(
            "torch.searchsorted(): boundaries and input value tensors should have same device type, "
            "but got boundaries tensor device type %s and input value tensor device type %s"
            % (rows.device.type, v.device.type)
        )
    if sorter is not None and sorter.is_cpu:
        raise RuntimeError(
            "torch.searchsorted(): sorter and boundary tensors should have same device type, "
            "but got sorter tensor device type cpu and input value tensor device type webgpu"
        )
    common = torch.promote_types(rows.dtype, v.dtype)
    nd, m = rows.dim(), rows.shape[-1] if rows.dim() else 0
    fits = nd == 1 or ov.kernel != "bucketize" and nd > 1 and v.dim() == nd and rows.shape[:-1] == v.shape[:-1]
    if (
        not fits
        or not v.numel()
        or common not in DTYPES
        or common is boolean
        or side not in _SIDES
        or side == "left"
        and right
        or sorter is not None
        and (sorter.shape != rows.shape or sorter.dtype is not int64)
    ):
        return ask_core(ov, args)
    if sorter is not None:
        rows = rows.detach().gather(-1, sorter)
    rows, v = contiguous(rows.detach()), contiguous(v.detach())
    r = empty(tuple(v.shape), int32 if narrow else int64)
    right = bool(right or _SIDES[side])
    number = _search_plan(rows.dtype, v.dtype, common, right, r.dtype)
    places = geometry(r)[0]
    launch(
        number,
        [ready(geometry(rows)[0]), ready(geometry(v)[0]), ready(places)],
        [
            v.numel(),
            v.numel() if nd == 1 else v.shape[-1],
            m,
            0 if nd == 1 else m,
            rows.storage_offset(),
            v.storage_offset(),
            0,
        ],
    )
    places.bounds = (0, m)
    return r


def _counted(places: Tensor, bins: int) -> Tensor:
    """How often each place from 0 to bins - 1 appears."""
    ones = torch.ones((1,), dtype=int64, device=places.device).expand(places.shape)
    return torch.zeros((bins,), dtype=int64, device=places.device).scatter_add_(0, places, ones)


@planner("bincount")
def _bincount(ov: Overload, args: tuple[Any, ...]) -> Tensor:
    t, weights, least = args
    check_devices(args)
    if (
        t.dtype.is_floating_point
        or t.dtype not in DTYPES
        or t.dtype is boolean
        or t.dim() != 1
        or not t.numel()
        or least < 0
        or weights is not None
        and (weights.dim() != 1 or weights.numel() != t.numel())
    ):
        return ask_core(ov, args)
    if weights is not None and weights.dtype is not torch.float32:
        return empty((), torch.float64) if weights.dtype in DTYPES else NotImplemented
    low, high = torch.stack(list(t.detach().aminmax())).tolist()
    if low < 0:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    bins = max(high + 1, least)
    places = contiguous(t.detach().to(int64))
    geometry(places)[0].bounds = (low, high)
    if weights is None:
        return _counted(places, bins)
    return torch.zeros((bins,), dtype=torch.float32, device=t.device).scatter_add_(0, places, weights.detach())


@planner("histc")
def _histc(ov: Overload, args: tuple[Any, ...]) -> Tensor:
    t, bins, low, high = args
    if t.dtype not in FLOATS or not t.numel() or bins <= 0:
        return ask_core(ov, args)
    x = t.detach().reshape(-1)
    if x.dtype is not torch.float32:
        x = x.float()
    low, high = _C.fill(_C.empty((), torch.float32), low).item(), _C.fill(_C.empty((), torch.float32), high).item()
    if low == high:
        low, high = torch.stack(list(x.aminmax())).tolist()
    if not (abs(low) < float("inf") and abs(high) < float("inf")):
        raise RuntimeError("torch.histc: range of [%g, %g] is not finite" % (low, high))
    if low == high:
        low, high = low - 1, high + 1
    if low > high:
        raise RuntimeError("torch.histc: max must be larger than min")
    place = ((x - low) * bins / (high - low)).to(int64).clamp(max=bins - 1)
    place = torch.where((x >= low) & (x <= high), place, bins)
    geometry(place)[0].bounds = (0, bins)
    return own(_counted(place, bins + 1)[:bins].to(t.dtype))
