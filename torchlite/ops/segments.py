"""Reductions of segments: runs of elements along one dim, given by their lengths or their bounds."""

from __future__ import annotations

import math

import torchlite as torch
from ._declare import op
from ._out import Out

_STARTS = {"max": -math.inf, "min": math.inf, "sum": 0, "prod": 1, "mean": 0}
_STARTS |= {"amax": -math.inf, "amin": math.inf}
_BY = {"max": "amax", "min": "amin", "amax": "amax", "amin": "amin", "sum": "sum", "prod": "prod", "mean": "sum"}


def _segments(data, lengths, offsets, axis):
    """data as (rows, elements, rest), each element's segment (rows, elements), and the lengths (rows, segments)."""
    if offsets is not None:
        lengths = offsets.diff(dim=axis)
    rows = math.prod(data.shape[:axis])
    lengths = lengths.reshape(rows, lengths.shape[axis])
    flat = data.reshape(rows, data.shape[axis], math.prod(data.shape[axis + 1 :]))
    places = torch.arange(data.shape[axis], dtype=lengths.dtype, device=data.device).expand(rows, -1).contiguous()
    ids = torch.searchsorted(lengths.cumsum(1).to(lengths.dtype), places, right=True)
    # with `unsafe`, elements after the last segment count for none
    count = data.shape[axis]
    if not data.is_meta:
        count = min(count, int(lengths.sum(1).min())) if rows and lengths.shape[1] else 0
    return flat[:, :count], ids[:, :count], lengths


def _check(data, reduce, lengths, indices, offsets, axis, unsafe):
    data.size(axis)  # its error where there is no such dim
    axis %= max(data.dim(), 1)
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    if reduce not in _BY:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    for name, t in (("lengths", lengths), ("offsets", offsets)):
        if t is None:
            continue
        if t.dtype not in (torch.int32, torch.int64):
            raise RuntimeError(f"{name} dtype must be int32 or int64, but got {t.dtype}")
        if t.dim() == 0 or t.dim() - 1 != axis:
            where = "be the last dimension of %s" % name
            raise RuntimeError(f"segment_reduce(): Expected axis to {where} but got {axis}.")
        if t.shape[:-1] != data.shape[:axis]:
            raise RuntimeError(
                f"segment_reduce(): Expected the dims of data and {name} before the axis to be the same, "
                f"but got {list(data.shape)} and {list(t.shape)}"
            )
    if data.is_meta:
        return axis
    if lengths is not None and offsets is None and not unsafe:
        if lengths.numel() and bool((lengths < 0).any()):
            raise RuntimeError("lengths contains negative value!")
        if lengths.numel() and not bool((lengths.sum(-1) == data.shape[axis]).all()):
            raise RuntimeError(
                "segment_reduce(): Expected all rows of lengths along axis "
                "to sum to data.size(lengths.dim()-1) when !unsafe."
            )
    if offsets is not None:
        inner = offsets.shape[-1] == 0 or bool(((offsets >= 0) & (offsets <= data.shape[axis])).all())
        if (
            not inner
            or bool((offsets.diff(dim=-1) < 0).any())
            or (offsets.numel() and bool((offsets[..., 0] != 0).any()))
        ):
            raise RuntimeError(
                f"segment_reduce(): offsets must rise from 0 and stay within data.size({axis}) = {data.shape[axis]}"
            )
    elif unsafe and bool((lengths < 0).any() | (lengths.sum(-1) > data.shape[axis]).any()):
        raise RuntimeError(f"segment_reduce(): lengths must not reach beyond data.size({axis}) = {data.shape[axis]}")
    return axis


@op(
    "segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, Tensor? offsets=None, "
    "int axis=0, bool unsafe=False, Scalar? initial=None) -> Tensor",
    variants="function",
    tags="own",
    out=Out(),
    grad={
        "data": lambda c, g: torch.ops.aten._segment_reduce_backward(
            g, c.result, c.data, c.reduce, lengths=c.lengths, offsets=c.offsets, axis=c.axis, initial=c.initial
        )
    },
    samples=lambda t: (
        [(t(5, 2), r, {"lengths": torch.tensor([2, 1, 2])}) for r in ("max", "min", "sum", "prod")]
        + [(t(2, 3), "mean", {"offsets": torch.tensor([[0, 1, 3], [0, 2, 3]]), "axis": 1, "initial": 1})]
    ),
)
def segment_reduce(data, reduce, lengths=None, indices=None, offsets=None, axis=0, unsafe=False, initial=None):
    """Reduces runs of elements along `axis`: "max" ("amax"), "min" ("amin"), "sum", "prod" or "mean" of each.

    data (*, L, **); lengths (*, S), which sum to L, or offsets (*, S + 1) from 0 on; the result is (*, S, **). An empty
    segment gives `initial`, or without one -inf, inf, 0, 1 and NaN.
    """
    axis = _check(data, reduce, lengths, indices, offsets, axis, unsafe)
    flat, ids, lengths = _segments(data, lengths, offsets, axis)
    segments = lengths.shape[1]
    start = _STARTS[reduce] if initial is None else initial
    out = flat.new_full((flat.shape[0], segments, flat.shape[2]), start)
    out = out.scatter_reduce(1, ids.unsqueeze(2).expand(flat.shape), flat, _BY[reduce])
    if reduce == "mean":
        n = lengths.unsqueeze(2).to(data.dtype)
        out = torch.where(n > 0, out / n, math.nan if initial is None else initial)
    return out.reshape(*data.shape[:axis], segments, *data.shape[axis + 1 :])


@op(
    "_segment_reduce_backward(Tensor grad, Tensor output, Tensor data, str reduce, *, Tensor? lengths=None, "
    "Tensor? offsets=None, int axis=0, Scalar? initial=None) -> Tensor",
    variants="function",
    module="aten",
)
def _segment_reduce_backward(grad, output, data, reduce, lengths=None, offsets=None, axis=0, initial=None):
    """The gradient of segment_reduce: for "max" and "min", elements that are equal to the result share it."""
    axis = _check(data, reduce, lengths, None, offsets, axis, True)
    flat, ids, lengths = _segments(data, lengths, offsets, axis)
    at = ids.unsqueeze(2).expand(flat.shape)
    shape = (flat.shape[0], lengths.shape[1], flat.shape[2])
    g, out = grad.reshape(shape).gather(1, at), output.reshape(shape).gather(1, at)
    if reduce == "mean":
        g = g / lengths.to(data.dtype).gather(1, ids).unsqueeze(2)
    elif reduce == "prod":
        zero, nan = flat == 0, flat.isnan()
        plain = torch.where(zero | nan, 1.0, flat)
        base = (
            flat.new_full(shape, 1 if initial is None else initial).scatter_reduce(1, at, plain, "prod").gather(1, at)
        )
        zeros, nans = (flat.new_zeros(shape).scatter_add(1, at, m.to(flat.dtype)).gather(1, at) for m in (zero, nan))
        others = torch.where(zeros > zero.to(flat.dtype), base * 0.0, base)
        others = torch.where(nans > nan.to(flat.dtype), math.nan, others)
        g = g * torch.where(zero | nan, others, out / plain)
    elif reduce != "sum":
        equal = ((flat == out) | flat.isnan()).to(flat.dtype)
        count = flat.new_zeros(shape).scatter_add(1, at, equal).gather(1, at)
        g = torch.where(equal > 0, g / count, 0.0)
    rest = data.shape[axis] - flat.shape[1]
    if rest:  # elements of no segment
        g = torch.cat([g, g.new_zeros(g.shape[0], rest, g.shape[2])], 1)
    return g.reshape(data.shape)


_segment_reduce = segment_reduce  # torch._segment_reduce, PyTorch's older name


# ---- rows of a sparse matrix: one index an element, or the bounds of each row's elements -----------------------------
@op(
    "_convert_indices_from_coo_to_csr(Tensor self, int size, *, bool out_int32=False) -> Tensor",
    variants="function",
    out=True,
    differentiable=False,
    samples=lambda t: [(torch.tensor([0, 0, 2, 3]), 5), (torch.tensor([1, 1]), 2, {"out_int32": True})],
)
def _convert_indices_from_coo_to_csr(self, size, out_int32=False):
    """Where the elements of each of `size` rows begin among sorted row indices; the last bound is their number."""
    if self.dim() > 1:
        raise RuntimeError("Input is supposed to be a vector, but got %d dimensional tensor." % self.dim())
    if self.is_floating_point() or self.is_complex() or self.dtype is torch.bool:
        text = "\"convert_indices_from_coo_to_csr_cpu\" not implemented for '%s'"
        raise NotImplementedError(text % self.dtype._scalar_type)
    rows = torch.arange(size + 1, dtype=self.dtype, device=self.device)
    return torch.searchsorted(self, rows, out_int32=out_int32)


@op(
    "_convert_indices_from_csr_to_coo(Tensor crow_indices, Tensor col_indices, *, bool out_int32=False, "
    "bool transpose=False) -> Tensor",
    variants="function",
    out=True,
    differentiable=False,
    samples=lambda t: [
        (torch.tensor([0, 2, 2, 3, 4]), torch.tensor([1, 2, 0, 3])),
        (torch.tensor([0, 2, 3]), torch.tensor([1, 2, 0]), {"out_int32": True, "transpose": True}),
        (torch.tensor([[0, 1, 2], [0, 0, 2]]), torch.tensor([[1, 2], [0, 3]])),
    ],
)
def _convert_indices_from_csr_to_coo(crow_indices, col_indices, out_int32=False, transpose=False):
    """Row and column of each element, (2, elements), from the rows' bounds; of a batch its index stands before them."""
    batch = crow_indices.shape[:-1]
    bounds, columns = (t.reshape(batch.numel(), t.shape[-1]) for t in (crow_indices, col_indices))
    dtype = torch.int32 if out_int32 else torch.int64
    places = torch.arange(columns.shape[1], dtype=bounds.dtype, device=bounds.device).expand(columns.shape)
    rows = torch.searchsorted(bounds[:, 1:].contiguous(), places.contiguous(), right=True)
    pair = [columns, rows] if transpose else [rows, columns]
    whole = torch.stack([part.reshape(-1).to(dtype) for part in pair])
    if not batch:
        return whole
    each = (torch.arange(n, dtype=dtype, device=rows.device) for n in batch)
    index = torch.stack([part.reshape(-1) for part in torch.meshgrid(*each, indexing="ij")])
    return torch.cat([index.repeat_interleave(columns.shape[1], 1), whole])
