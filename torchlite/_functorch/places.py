"""Rules of ops that index: with one index tensor along a dim, and with a list of them, as x[i, :, j] does."""

from __future__ import annotations

from typing import Any

import torchlite as torch

from .. import _C
from .batched import Refused
from .rules import Call, NoRule, rule, through_body
from .shapes import wrap


# ---- one index along a dim -------------------------------------------------------------------------------------------
def _along(call: Call) -> tuple[Any, int, Any]:
    """(self with the examples in front, the dim there, index): a number counts as a vector of one."""
    t, dim, index = call.args[:3]
    value = call.full(t)
    if t.dim() == 0:
        value = value.unsqueeze(1)
    index_value = call.value(index)
    if index.dim() == 0:
        index_value = index_value.unsqueeze(-1)
    return value, wrap(dim, t.dim()) + 1, index_value


def _spread(index: Any, like: Any, dim: int) -> Any:
    """(size, n) indices for every place of `like`, whose dim `dim` they index."""
    shape = list(like.shape)
    shape[dim] = index.shape[1]
    ones = [index.shape[0], *(1,) * (like.dim() - 1)]
    ones[dim] = index.shape[1]
    return index.reshape(ones).expand(shape)


def _back(call: Call, result: Any) -> Any:
    return result.squeeze(1) if call.args[0].dim() == 0 and result.dim() == 2 else result


@rule("index_select")
def _index_select(call: Call) -> Any:
    value, dim, index = _along(call)
    if not call.is_batched(call.args[2]):
        return _back(call, call.run(value, dim, index))
    return _back(call, value.gather(dim, _spread(index.long(), value, dim)))


def _source(call: Call, value: Any, dim: int) -> Any:
    source = call.args[3]
    made = call.full(source)
    if source.dim() == 0:
        made = made.unsqueeze(1)
    return made.reshape(call.size, *made.shape[1:]) if made.dim() == value.dim() else made


@rule("index_add index_copy")
def _index_into(call: Call) -> Any:
    value, dim, index = _along(call)
    source = _source(call, value, dim)
    if not call.is_batched(call.args[2]):
        return _back(call, call.run(value, dim, index, source, *call.args[4:]))
    places = _spread(index.long(), value, dim)
    if call.ov.spec.name == "index_copy":
        done = value.scatter_ if call.ov.inplace else value.scatter
        return _back(call, done(dim, places, source))
    alpha = call["alpha"]
    done = value.scatter_add_ if call.ov.inplace else value.scatter_add
    return _back(call, done(dim, places, source if alpha == 1 else source * alpha))


@rule("index_fill.int_Scalar index_fill.int_Tensor")
def _index_fill(call: Call) -> Any:
    value, dim, index = _along(call)
    fill = call.args[3]
    index = torch.where(index < 0, index + value.shape[dim], index)
    by_number = not isinstance(fill, _C.TensorBase)
    if not by_number and call.is_batched(fill):
        ones = (call.size, *(1,) * (value.dim() - 1))
        places = _spread(index if call.is_batched(call.args[2]) else index.expand(call.size, -1), value, dim)
        numbers = fill._value.reshape(ones).to(value.dtype).expand(places.shape)
        return _back(call, (value.scatter_ if call.ov.inplace else value.scatter)(dim, places, numbers))
    if not call.is_batched(call.args[2]):
        return _back(call, call.run(value, dim, index, call.value(fill) if not by_number else fill))
    number = fill if by_number else call.value(fill).item()
    places = _spread(index.long(), value, dim)
    return _back(call, (value.scatter_ if call.ov.inplace else value.scatter)(dim, places, number))


@rule("index_reduce")
def _index_reduce(call: Call) -> Any:
    value, dim, index = _along(call)
    source = _source(call, value, dim)
    if not call.is_batched(call.args[2]):
        return _back(call, call.run(value, dim, index, source, *call.args[4:]))
    done = value.scatter_reduce_ if call.ov.inplace else value.scatter_reduce
    places, include = _spread(index.long(), value, dim), call["include_self"]
    return _back(call, done(dim, places, source, call["reduce"], include_self=include))


@rule("masked_scatter")
def _masked_scatter(call: Call) -> Any:
    t, mask, source = call.args
    rank = max(t.dim(), mask.dim())
    value, where = torch.broadcast_tensors(call.ranked(t, rank), call.ranked(mask, rank))
    value, where = (x if x.dim() > rank else x.expand(call.size, *x.shape) for x in (value, where))
    flat = where.reshape(call.size, -1)
    given = call.full(source).reshape(call.size, -1)
    at = flat.cumsum(1) - 1
    if at.numel() and int(at[:, -1].max()) >= given.shape[1]:
        raise RuntimeError("Number of elements of source < number of ones in mask")
    taken = given.gather(1, at.clamp(min=0)) if given.numel() else flat
    return torch.where(where, taken.reshape(value.shape), value)


@rule("put")
def _put(call: Call) -> Any:
    t, index, source, accumulate = call.args
    value = call.full(t)
    flat, count = value.reshape(call.size, -1), max(t.numel(), 1)
    at = call.full(index).reshape(call.size, -1) % count
    given = call.full(source).reshape(call.size, -1)
    made = flat.scatter_add(1, at, given) if accumulate else flat.scatter(1, at, given)
    return made.reshape(value.shape)


@rule("take")
def _take(call: Call) -> Any:
    t, index = call.args
    places = call.value(index)
    if not call.is_batched(t):
        return call.run(call.value(t), places)
    flat = t._value.reshape(call.size, -1)
    if not call.is_batched(index):
        return flat.index_select(1, places.reshape(-1) % max(t.numel(), 1)).reshape(call.size, *index.shape)
    return flat.gather(1, places.reshape(call.size, -1) % max(t.numel(), 1)).reshape(places.shape)


# ---- a list of indices -----------------------------------------------------------------------------------------------
def _indices(call: Call) -> list[Any]:
    """The indices as integers: a mask that is the same for all examples is the places where it is true."""
    found: list[Any] = []
    for i in call["indices"]:
        if i is not None and i.dtype in (torch.bool, torch.uint8):
            if call.is_batched(i):
                raise Refused(
                    "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch "
                    "over indexing with a boolean mask."
                )
            found += call.value(i).nonzero().unbind(1) if i.dim() else [i]
        else:
            found.append(i)
    return found


class _Plan:
    """Indices of the value: with the numbers of the examples in front where an index differs between examples."""

    def __init__(self, call: Call, mapped: bool) -> None:
        given = _indices(call)
        used = [d for d, i in enumerate(given) if i is not None]
        self.first = used[0] if used else 0
        self.together = bool(used) and used[-1] - used[0] + 1 == len(used)
        self.rank = max((given[d].dim() for d in used), default=0)  # dims of what is indexed together, per example
        self.mapped = mapped  # whether the tensor indexed has the examples as dim 0
        values = [None if i is None else call.ranked(i, self.rank) for i in given]
        self.varies = any(i is not None and call.is_batched(i) for i in given)
        if self.varies and mapped:
            examples = torch.arange(call.size, device=call.args[0].device).reshape(-1, *(1,) * self.rank)
            self.indices = [examples, *values]
        else:
            self.indices = [None, *values] if mapped else values
        self.rest = call.args[0].dim() - len(used)  # dims that are not indexed

    def unindexed_first(self) -> int:
        """How many of the dims that are not indexed come before those that are, in an example's result."""
        return self.first if self.together else 0

    def to_front(self, result: Any) -> Any:
        """The result with the examples as dim 0, and an example's dims in their order."""
        if self.varies and self.mapped:  # (examples, indexed..., rest...), or with the examples in their place
            lead = self.unindexed_first()
            if not lead:
                return result
            order = [0, *range(1 + self.rank, 1 + self.rank + lead), *range(1, 1 + self.rank)]
            return result.permute(*order, *range(len(order), result.dim()))
        if self.varies:
            return result.movedim(self.first if self.together else 0, 0)
        return result if self.together else result.movedim(self.rank, 0)

    def from_front(self, values: Any) -> Any:
        """The other way round: what is written, as the value's index takes it."""
        if self.varies:
            lead = self.unindexed_first()
            if not lead:
                return values
            order = [0, *range(1 + lead, 1 + lead + self.rank), *range(1, 1 + lead)]
            return values.permute(*order, *range(len(order), values.dim()))
        return values if self.together else values.movedim(0, self.rank)


@rule("index.Tensor")
def _index(call: Call) -> Any:
    plan = _Plan(call, call.is_batched(call.args[0]))
    if not plan.varies and not plan.mapped:
        raise NoRule(call.name)
    return plan.to_front(call.run(call.value(call.args[0]), tuple(plan.indices)))


@rule("index_put")
def _index_put(call: Call) -> Any:
    t, values = call.args[0], call["values"]
    if not call["indices"] or all(i is None for i in call["indices"]):
        raise NoRule(call.name)
    target = call.full(t)
    plan = _Plan(call, True)
    given = call.value(values)
    rank = plan.rank + plan.rest
    if values.dim() > rank:
        extra = values.dim() - rank
        given = given.reshape(*given.shape[: given.dim() - values.dim()], *values.shape[extra:])
    shape = given.shape[1:] if call.is_batched(values) else given.shape
    front = (call.size,) if call.is_batched(values) else (1,)
    given = plan.from_front(given.reshape(*front, *(1,) * (rank - len(shape)), *shape))
    return call.run(target, tuple(plan.indices), given, *call.args[3:])


@rule("embedding")
def _embedding(call: Call) -> Any:
    if not call.has("indices"):  # the public function
        return through_body(call)
    weight, indices = call.args[:2]
    if call.is_batched(weight):
        rows = weight.shape[0]
        offsets = torch.arange(call.size, device=weight.device).reshape(-1, *(1,) * indices.dim()) * rows
        flat = weight._value.reshape(-1, *weight.shape[1:])
        return torch.embedding(flat, call.value(indices) + offsets)
    return call.run(call.value(weight), call.value(indices), *call.args[2:])


@rule("embedding_dense_backward")
def _embedding_backward(call: Call) -> Any:
    grad, indices, rows, padding = call.args[:4]
    if call["scale_grad_by_freq"]:
        raise NoRule(call.name)
    places = call.full(indices)
    rank = indices.dim()
    places = places + torch.arange(call.size, device=places.device).reshape(-1, *(1,) * rank) * rows
    flat = torch.embedding_dense_backward(call.full(grad), places, call.size * rows, -1, False)
    result = flat.reshape(call.size, rows, -1)
    if padding >= 0:
        result[:, padding] = 0
    return result
