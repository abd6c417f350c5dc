"""What functions do with nested tensors of layout jagged: on the values in all dims but two."""

from __future__ import annotations

import functools
from typing import Any

import torchlite as torch

from . import _tensor as _t
from ._ops import JAGGED, name_of, op, pointwise, repacked, sizes_in

_op = functools.partial(op, JAGGED)


def _inner(x: Any, dim: int, name: str, ragged: bool = False) -> int:
    """The dim of the values that is `dim` of the nested tensor."""
    d = _t.wrap_dim(dim, x.dim())
    if d == x._ragged_idx and not ragged:
        raise RuntimeError("%s(): not supported for NestedTensor on ragged dim" % name)
    if d == 0:
        raise RuntimeError("%s(): not supported for NestedTensor on dim=0" % name)
    return d - 1


def _moved(x: Any, values: Any, ragged: int) -> Any:
    return _t.jagged(values, x._offsets, x._lengths, ragged, x._metadata_cache)


def _plain(x: Any, name: str, schema: str) -> None:
    if x._lengths is not None or x._ragged_idx != 1:
        raise ValueError(
            "NestedTensor %s(%s): expected self to be a contiguous jagged layout NestedTensor" % (name, schema)
        )


@_op("transpose", "swapaxes", "swapdims")
def _transpose(func: Any, x: Any, dim0: int, dim1: int) -> Any:
    a, b = _t.wrap_dim(dim0, x.dim()), _t.wrap_dim(dim1, x.dim())
    if 0 in (a, b):
        raise ValueError("Transpose is not supported on the batch dimension for jagged NT")
    ragged = {a: b, b: a}.get(x._ragged_idx, x._ragged_idx)
    return _moved(x, x._values.transpose(a - 1, b - 1), ragged)


@_op("mT")
def _mt(func: Any, x: Any) -> Any:
    return _transpose(func, x, -1, -2)


@_op("permute")
def _permute(func: Any, x: Any, *dims: Any, **kwargs: Any) -> Any:
    dims = sizes_in(dims, kwargs)
    if len(dims) != x.dim():
        raise ValueError(
            "permute(): number of dimensions in the tensor input (%d) does not match the length of the desired "
            "ordering of dimensions (%d)." % (x.dim(), len(dims))
        )
    order = [_t.wrap_dim(d, x.dim()) for d in dims]
    if len(set(order)) != len(order):
        raise ValueError("permute(): duplicate dims are not allowed.")
    if x._lengths is not None:
        raise ValueError("permute(): not supported on jagged layout nested tensor with holes")
    if order[0] != 0:
        raise ValueError("Permute is not supported on the batch dimension for jagged NT")
    return _moved(x, x._values.permute([d - 1 for d in order[1:]]), order.index(x._ragged_idx))


@_op("unsqueeze")
def _unsqueeze(func: Any, x: Any, dim: int) -> Any:
    d = _t.wrap_dim(dim, x.dim() + 1)
    if d == 0:
        raise RuntimeError("unsqueeze(): not supported for NestedTensor on dim=0")
    return _moved(x, x._values.unsqueeze(d - 1), x._ragged_idx + (d <= x._ragged_idx))


@_op("squeeze")
def _squeeze(func: Any, x: Any, dim: Any) -> Any:
    d = _inner(x, dim, "squeeze")
    if x._values.shape[d] != 1:
        return x
    return _moved(x, x._values.squeeze(d), x._ragged_idx - (d + 1 < x._ragged_idx))


@_op("select")
def _select(func: Any, x: Any, dim: int, index: int) -> Any:
    d = _t.wrap_dim(dim, x.dim())
    if d == 0:
        return x._part_at(index)
    if x._lengths is not None:
        raise ValueError("select(): not yet supported on dim != 0 for non-contiguous nested tensor with holes")
    at = _inner(x, dim, "select")
    return _moved(x, x._values.select(at, index), x._ragged_idx - (d < x._ragged_idx))


@_op("slice")
def _slice(func: Any, x: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    d = _inner(x, dim, "slice")
    return x._with(x._values[(*(slice(None),) * d, slice(start, end, step))])


@_op("__getitem__")
def _getitem(func: Any, x: Any, key: Any) -> Any:
    keys = list(key) if isinstance(key, tuple) else [key]
    if any(isinstance(k, (torch.Tensor, list)) for k in keys):
        raise NotImplementedError(
            "aten.index.Tensor: torchlite has no rule for it and the layout torch.jagged; index those of x.unbind()"
        )
    if Ellipsis in keys:
        at = keys.index(Ellipsis)
        missing = x.dim() - sum(k is not None and k is not Ellipsis for k in keys)
        keys[at : at + 1] = [Ellipsis] * missing  # a dim as it is
    d = 0
    for n, k in enumerate(keys):
        if k is Ellipsis:
            d += 1
        elif k is None:
            x = _unsqueeze(func, x, d)
            d += 1
        elif isinstance(k, slice):
            x = _slice(func, x, d, k.start, k.stop, 1 if k.step is None else k.step)
            d += 1
        elif d == 0:
            found = _select(func, x, 0, k)
            return found[tuple(keys[n + 1 :])] if keys[n + 1 :] else found
        else:
            x = _select(func, x, d, k)
    return x


@_op("narrow")
def _narrow(func: Any, x: Any, dim: int, start: int, length: int) -> Any:
    _plain(x, "narrow", "self: jt, dim: any, start: any, length: any")
    return x._with(x._values.narrow(_inner(x, dim, "narrow"), start, length))


@_op("chunk")
def _chunk(func: Any, x: Any, chunks: int, dim: int = 0) -> Any:
    _plain(x, "chunk", "self: jt, chunks: any, dim: any?")
    d = _t.wrap_dim(dim, x.dim())
    if d != 0:
        return tuple(x._with(v) for v in x._values.chunk(chunks, _inner(x, dim, "chunk")))
    parts, made = x._parts(), []
    size = -(-len(parts) // chunks)
    for i in range(0, len(parts), size):
        made.append(_t.joined(parts[i : i + size], ragged=x._ragged_idx))
    return tuple(made)


@_op("split", "split_with_sizes")
def _split(func: Any, x: Any, split_size: Any, dim: int = 0) -> Any:
    name = "split_with_sizes" if isinstance(split_size, (list, tuple)) else "split"
    _plain(x, name, "self: jt, split_size: any, dim: any?")
    return tuple(x._with(v) for v in x._values.split(split_size, _inner(x, dim, name)))


@_op("view", "reshape", "_unsafe_view", "view_as", "reshape_as")
def _view(func: Any, x: Any, *size: Any, **kwargs: Any) -> Any:
    name = name_of(func)
    size = sizes_in(size, kwargs)
    if len(size) == 1 and isinstance(size[0], torch.Tensor):  # view_as, reshape_as
        size = tuple(size[0].shape)
    own = tuple(x.shape)
    if size == own:
        return x._with(x._values) if name != "reshape" else x
    r = x._ragged_idx
    if r != 1 and name != "reshape" or x._lengths is not None:
        raise RuntimeError(
            "view(): does not support ragged_idx != 1 except when inp._size == size. inp._size is (%s) and size is "
            "(%s)." % (own, size)
        )
    if len(size) < r + 1 or any(s not in (-1, o) for s, o in zip(size[: r + 1], own[: r + 1])):
        raise RuntimeError("view(): cannot view shape %s as %s" % (own, list(size)))
    inner = list(size[1:])
    inner[r - 1] = x._values.shape[r - 1]
    # further -1 keep the size of the same place
    for d in range(len(inner)):
        if inner[d] == -1 and len(inner) == x._values.dim():
            inner[d] = x._values.shape[d]
    values = x._values.view(inner) if name != "reshape" else x._values.reshape(inner)
    return _moved(x, values, r)


@_op("flatten")
def _flatten(func: Any, x: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    a, b = _t.wrap_dim(start_dim, x.dim()), _t.wrap_dim(end_dim, x.dim())
    if a == b:
        return x
    if a == 0:
        raise RuntimeError("flatten(): not supported for NestedTensor on dim=0")
    if a <= x._ragged_idx <= b:
        raise RuntimeError("flatten(): not supported for NestedTensor on ragged dim")
    return _moved(x, x._values.flatten(a - 1, b - 1), x._ragged_idx - (b - a if b < x._ragged_idx else 0))


@_op("unflatten")
def _unflatten(func: Any, x: Any, dim: int, sizes: Any) -> Any:
    d = _inner(x, dim, "unflatten")
    more = len(sizes) - 1 if d + 1 < x._ragged_idx else 0
    return _moved(x, x._values.unflatten(d, sizes), x._ragged_idx + more)


@_op("expand", "broadcast_to")
def _expand(func: Any, x: Any, *size: Any, **kwargs: Any) -> Any:
    size = sizes_in(size, kwargs)
    r = x._ragged_idx
    own = tuple(x.shape)
    if len(size) < len(own) or any(s not in (-1, o) for s, o in zip(size[: r + 1], own[: r + 1])):
        raise RuntimeError("expand(): cannot expand shape %s -> %s" % (own, list(size)))
    inner = [-1 if d == r - 1 else n for d, n in enumerate(size[1:])]
    return x._with(x._values.expand(inner))


@_op("expand_as")
def _expand_as(func: Any, t: Any, x: Any) -> Any:
    return pointwise(torch.add, "add", (torch.zeros_like(x), t), {})


@_op("cat")
def _cat(func: Any, tensors: Any, dim: int = 0) -> Any:
    nested = [t for t in tensors if isinstance(t, _t.NestedTensor)]
    first = nested[0]
    d = _inner(first, dim, "cat")
    values = [t._values if isinstance(t, _t.NestedTensor) else _expand_as(func, t, first)._values for t in tensors]
    return first._with(torch.cat(values, d))


@_op("stack")
def _stack(func: Any, tensors: Any, dim: int = 0) -> Any:
    if not all(isinstance(t, _t.NestedTensor) for t in tensors):
        raise RuntimeError("stack(): expected all nested tensors inputs")
    first = tensors[0]
    if len({t.dim() for t in tensors}) > 1:
        raise RuntimeError("stack(): expected all nested tensors to have the same dim")
    if any(t.shape[: t._ragged_idx + 1] != first.shape[: first._ragged_idx + 1] for t in tensors):
        raise RuntimeError("stack(): expected all nested tensors to have the same nested structure")
    d = _t.wrap_dim(dim, first.dim() + 1)
    if d == 0:
        raise RuntimeError("stack(): not supported for NestedTensor on dim=0")
    return _moved(first, torch.stack([t._values for t in tensors], d - 1), first._ragged_idx + (d <= first._ragged_idx))


# ---- reductions ------------------------------------------------------------------------------------------------------
_REDUCTIONS = "sum mean prod amax amin any all max min argmax argmin".split()


def _whole(x: Any) -> Any:
    """The values without holes."""
    if x._lengths is None:
        return x._values
    return torch.cat(x._parts(), x._ragged_idx - 1)


@_op(*_REDUCTIONS)
def _reduce(func: Any, x: Any, dim: Any = None, keepdim: bool = False, **kwargs: Any) -> Any:
    name = name_of(func)
    if isinstance(dim, torch.Tensor):  # max(x, y)
        return pointwise(func, name, (x, dim), kwargs)
    if dim is None or isinstance(dim, (list, tuple)) and not dim and name in ("sum", "mean", "amax", "amin"):
        return func(_whole(x), **kwargs)
    dims = [_t.wrap_dim(d, x.dim()) for d in (dim if isinstance(dim, (list, tuple)) else [dim])]
    batch, ragged = 0 in dims, x._ragged_idx in dims
    others = sorted(d for d in set(dims) if d not in (0, x._ragged_idx))
    if ragged and x._lengths is not None:
        raise RuntimeError(
            "%s(): reducing across the ragged dimension is not supported for non-contiguous nested tensors with holes"
            % name
        )
    if batch and not ragged:
        raise RuntimeError(
            "%s(): reducing along the batch dimension but not the ragged dimension is not supported for nested tensors"
            % name
        )
    if ragged and others and not batch:
        raise RuntimeError(
            "%s(): reducing along a ragged and non-batch dimension is not supported for nested tensors" % name
        )
    several = isinstance(dim, (list, tuple))
    if ragged and not batch:
        d = x._ragged_idx - 1
        if name == "mean" and not (x.is_floating_point() or x.is_complex()):  # PyTorch divides the sums
            kwargs = {"dtype": torch.get_default_dtype(), **kwargs}
        parts = [func(p, [d] if several else d, keepdim, **kwargs) for p in x._parts()]
        if isinstance(parts[0], tuple):
            return type(parts[0])([torch.stack(list(column)) for column in zip(*parts)])
        return torch.stack(parts)
    inner = sorted({d - 1 for d in others} | ({x._ragged_idx - 1} if ragged else set()))
    made = func(x._values, inner if several else inner[0], keepdim, **kwargs)

    def result(values: Any) -> Any:
        if ragged:
            return values.unsqueeze(0) if keepdim else values
        before = 0 if keepdim else sum(d < x._ragged_idx for d in others)
        return _moved(x, values, x._ragged_idx - before)

    return type(made)([result(m) for m in made]) if isinstance(made, tuple) else result(made)


@_op("masked_select")
def _masked_select(func: Any, x: Any, mask: Any) -> Any:
    if x.dim() != 2:
        raise RuntimeError("masked_select only support 2-D selections currently")
    masks: Any = mask
    if not isinstance(mask, _t.NestedTensor) or x.shape != masks.shape:
        raise RuntimeError("Mask with shape %s is not compatible with input's shape %s" % (mask.shape, x.shape))
    parts = [p.masked_select(m) for p, m in zip(x._parts(), masks._parts())]
    return _t.joined(parts, ragged=1)


@_op("index_put_", "index_put", "__setitem__")
def _index_put(func: Any, x: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """With indices up to the ragged dim, those of the values; each must lie in its part."""
    name = name_of(func)
    if name == "__setitem__":
        indices = list(indices) if isinstance(indices, tuple) else [indices]
    if len(indices) > x.dim():
        raise AssertionError("Too many indices: got %d but tensor has %d dimensions" % (len(indices), x.dim()))
    if len(indices) < x._ragged_idx + 1:
        if not x.is_contiguous():
            raise RuntimeError(
                "index_put(): If ragged dimension is not part of indices, this only works on contiguous NJTs"
            )
        made: Any = x if name != "index_put" else torch.clone(x)
        rows = made._parts()
        for i in torch.as_tensor(indices[0]).reshape(-1).tolist():
            rows[i].copy_(values) if not accumulate else rows[i].add_(values)
        return made
    bounds = x._bounds()
    begins = torch.tensor([b for b, _ in bounds], device=x.device)
    lengths = torch.tensor([n for _, n in bounds], device=x.device)
    batch, position = indices[0], indices[x._ragged_idx]
    if bool((position >= lengths[batch]).any()) or bool((position < 0).any()):
        raise RuntimeError("Some indices in the ragged dimension are out of bounds!")
    inner = [*indices[1 : x._ragged_idx], position + begins[batch], *indices[x._ragged_idx + 1 :]]
    if name == "index_put":
        return x._with(x._values.index_put(inner, values, accumulate))
    x._values.index_put_(inner, values, accumulate)
    return x


@_op("to_dense")
def _to_dense(func: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    raise RuntimeError("to_dense does not support layout Jagged")


@_op("_nested_get_offsets", "_nested_get_lengths", "_nested_get_ragged_idx")
def _field(func: Any, x: Any) -> Any:
    return getattr(x, name_of(func).removeprefix("_nested_get"))


@_op("conv1d", "convolution")
def _conv(func: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    parts = [func(p.unsqueeze(0), *args, **kwargs).squeeze(0) for p in x._parts()]
    return repacked(x, parts, x._ragged_idx)
