"""What an op does with BatchedTensors: the order in which a rule is looked for, and what rules are written with.

A rule gets a `Call` and returns values with the examples as dim 0. Where an op has none, its body runs on the wrappers;
where that does not work either, the op runs once per example.
"""

from __future__ import annotations

from typing import Any

import torchlite as torch

from .. import _C
from .._core import dispatch_modes as _modes
from . import batched
from .batched import Level, Refused, belongs, enter, leave, make

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class NoRule(Refused):
    """A rule, or a body that runs on wrappers, cannot do this call. It runs once per example then."""


class Unmapped:
    """A rule's result that is the same for all examples."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Call:
    """A call with tensors of a level."""

    __slots__ = ("args", "level", "name", "ov", "size")

    def __init__(self, ov: Any, args: tuple[Any, ...], level: Level) -> None:
        self.ov, self.args, self.level, self.size = ov, args, level, level.size
        self.name = ov.schema.partition("(")[0]

    def __getitem__(self, name: str) -> Any:
        """An argument by its name."""
        return self.args[self.at(name)]

    def at(self, name: str) -> int:
        return next(i for i, p in enumerate(self.ov.params) if p[0] == name)

    def has(self, name: str) -> bool:
        return any(p[0] == name for p in self.ov.params)

    def is_batched(self, t: Any) -> bool:
        return belongs(t, self.level) and t._batched

    def value(self, t: Any) -> Any:
        """The value of a tensor: with the examples as dim 0 if it is batched."""
        return t._value if belongs(t, self.level) else t

    def full(self, t: Any) -> Any:
        """The value with the examples as dim 0, expanded if it is the same for all."""
        value = self.value(t)
        return value if self.is_batched(t) else value.expand(self.size, *value.shape)

    def ranked(self, t: Any, rank: int) -> Any:
        """The value as one of `rank` dims per example, with dims of size 1 in front."""
        value = self.value(t)
        if not self.is_batched(t) or t.dim() >= rank:
            return value
        return value.reshape(self.size, *(1,) * (rank - t.dim()), *t.shape)

    def run(self, *args: Any, **changed: Any) -> Any:
        """The same op with other arguments, all of them or those named."""
        values = list(args or self.args)
        for name, value in changed.items():
            values[self.at(name)] = value
        return _C.call_overload(self.ov, tuple(values))

    def each(self, fn: Callable[[Any], Any]) -> tuple[Any, ...]:
        """The arguments with fn(tensor) in place of tensors, also of those in lists."""

        def one(a: Any) -> Any:
            if isinstance(a, _C.TensorBase):
                return fn(a)
            if isinstance(a, (tuple, list)):
                return tuple(fn(x) if isinstance(x, _C.TensorBase) else x for x in a)
            return a

        return tuple(map(one, self.args))


RULES: dict[str, Callable[[Call], Any]] = {}


def rule(names: str) -> Callable[[Callable[[Call], Any]], Callable[[Call], Any]]:
    """Decorator: the rule of these overloads, or of all overloads of these ops."""

    def register(fn: Callable[[Call], Any]) -> Callable[[Call], Any]:
        RULES.update(dict.fromkeys(names.split(), fn))
        return fn

    return register


def tensors(args: Any) -> list[Any]:
    """The tensors among arguments and in their lists."""
    found = []
    for a in args:
        if isinstance(a, _C.TensorBase):
            found.append(a)
        elif isinstance(a, (tuple, list)):
            found += [x for x in a if isinstance(x, _C.TensorBase)]
    return found


# ---- how a call comes here -------------------------------------------------------------------------------------------
def above(ov: Any, args: tuple[Any, ...], level: Level) -> Any:
    """Above autograd: what requires a gradient and is not of the level is lifted to it."""
    from . import drawing

    call = Call(ov, args, level)
    if drawing.draws(ov):
        drawing.check(call)
    written = args[0] if ov.inplace or "(a!)" in ov.schema else None
    by_id = batched.lifted(tensors(args), written) if torch.is_grad_enabled() else {}
    if by_id:
        return _C.call_overload(ov, call.each(lambda t: by_id.get(id(t), t)))
    spec = ov.spec
    if (
        torch.is_grad_enabled()
        and ov.body is not None
        and spec.grad is None
        and spec.differentiable
        and written is None
    ):
        if any(_C.requires_grad(t) for t in tensors(args)):
            try:
                return ov.body(*args)
            except Refused as refused:
                return by_example(call, refused)
    return NotImplemented


def by_name(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The same for an operator of torch.ops."""
    from .. import _ops

    entry = func._entry
    if callable(entry):
        return func.decompose(*args, **kwargs)
    if entry.outs:
        raise RuntimeError(
            "Batching rule not implemented for %s; the fallback path doesn't work on out= or view ops." % func._name
        )
    values, wrong = _ops._mismatch(func._schema, func._name, args, kwargs)
    if wrong is not None:
        raise RuntimeError(wrong)
    named = {a.name: v for a, v in zip(func._schema.arguments, values) if v is not _ops._DEFAULT}
    ov = entry.overload
    bound = tuple([named[p[0]] if p[0] in named else p[2] for p in ov.params])
    result = run(ov, bound, batched.innermost(bound))
    return list(result) if isinstance(result, tuple) and entry.schema.endswith("[]") else result


def run(ov: Any, args: tuple[Any, ...], level: Any) -> Any:
    """Below autograd: the result of a call with tensors of `level`, the innermost among them."""
    with _C.GradMode(False):
        call = Call(ov, args, level)
        try:
            return _run(call)
        except NoRule as refused:
            return by_example(call, refused)


def _run(call: Call) -> Any:
    from . import drawing

    ov = call.ov
    name = ov.spec.name
    if not any(call.is_batched(t) for t in tensors(call.args)) and name != "detach":
        result = _C.call_overload(ov, call.each(call.value))
        return call.args[0] if ov.inplace else wrapped(call, Unmapped(result))
    if drawing.draws(ov) == 2:
        return drawing.run(call)
    found = RULES.get(call.name) or RULES.get(name)
    if found is None and "pointwise" in ov.spec.tags.split():
        found = pointwise
    if ov.inplace or "(a!) self" in ov.schema:
        return _in_place(call, found)
    if found is not None:
        return wrapped(call, found(call))
    if ov.body is None:
        raise NoRule(call.name)
    try:
        return ov.body(*call.args)
    except Refused as refused:
        raise NoRule(call.name) from refused


def wrapped(call: Call, result: Any) -> Any:
    """A rule's result as tensors of the level."""
    if isinstance(result, Unmapped):
        value = result.value
        if isinstance(value, (tuple, list)):
            return type(value)(wrapped(call, Unmapped(v)) for v in value)
        return make(value, call.level, False) if isinstance(value, _C.TensorBase) else value
    if isinstance(result, (tuple, list)):
        return tuple(wrapped(call, r) for r in result)
    return make(result, call.level) if isinstance(result, _C.TensorBase) else result


def _in_place(call: Call, found: Any) -> Any:
    target = call.args[0]
    if not call.is_batched(target):
        raise Refused(
            "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` in "
            "extra_args that has more elements than `self`. This happened due to `other` being vmapped over but `self` "
            "not being vmapped over in a vmap. Please try to use out-of-place operators instead of inplace arithmetic. "
            "If said operator is being called inside the PyTorch framework, please file a bug report instead."
        )
    if getattr(target if target._base is None else target._base, "_entered", False):
        raise RuntimeError(
            "vmap: aten::%s would write to an input of the mapped function that requires a gradient, whose history "
            "would not know of it. Clone the input first." % call.name
        )
    if call.name in _GEOMETRY:
        return call.ov.body(*call.args)
    outer = _C.func_level()
    try:
        _C.func_level(0)  # whether a transform lets its function write was asked of the wrapper
        _write(call, found, target._value)
    finally:
        _C.func_level(outer)
    return target


def _write(call: Call, found: Any, value: Any) -> None:
    """The op on the values of all examples."""
    version = value._version
    if found is None:
        functional = _functional(call.ov)
        if not call.ov.inplace or functional is call.ov:  # in place only
            raise NoRule(call.name)
        value.copy_(call.full(run(functional, call.args, call.level)))
        return
    result = found(call)
    if isinstance(result, _C.TensorBase) and result is not value and value._version == version:
        value.copy_(result)


_GEOMETRY = frozenset("squeeze_ squeeze_.dim squeeze_.dims unsqueeze_ transpose_ t_ as_strided_".split())


def _functional(ov: Any) -> Any:
    return next(o for o in ov.spec.overloads if o.schema == ov.schema)


# ---- ops that work on each element by itself -------------------------------------------------------------------------
def pointwise(call: Call) -> Any:
    """Shapes are broadcast, so each value has as many dims per example as the one with most."""
    given = tensors(call.args)
    rank = max(t.dim() for t in given)
    sized = [t for t in given if t.dim()]

    def lined_up(t: Any) -> Any:
        value = call.ranked(t, rank)
        if rank == 0 and not call.is_batched(t):
            return value.unsqueeze(0)
        if t.dim() == 0 and sized and call.is_batched(t) and t.dtype is not sized[0].dtype:
            return _demoted(value, sized)
        return value

    return call.run(*call.each(lined_up))


def _demoted(value: Any, sized: list[Any]) -> Any:
    """A number per example, in the dtype that a tensor without dims counts as beside tensors with dims."""
    dtype = sized[0].dtype
    for t in sized[1:]:
        dtype = torch.promote_types(dtype, t.dtype)
    if value.dtype is torch.bool or dtype is torch.bool:
        return value
    kinds = [(d.is_floating_point + 2 * d.is_complex) for d in (value.dtype, dtype)]
    return value.to(dtype) if kinds[0] <= kinds[1] else value


def through_body(call: Call) -> Any:
    """By the ops of the body, with the wrappers."""
    result = call.ov.body(*call.args)
    results = result if isinstance(result, tuple) else (result,)
    values = [call.full(r) if isinstance(r, _C.TensorBase) else r for r in results]
    return tuple(values) if isinstance(result, tuple) else values[0]


# ---- once per example ------------------------------------------------------------------------------------------------
_DYNAMIC = frozenset(
    """nonzero nonzero_numpy masked_select unique_dim _unique2 _unique_consecutive repeat_interleave.Tensor
    argwhere""".split()
)


@rule("nonzero_static")
def _of_equal_size(call: Call) -> Any:
    """Its body has sizes that differ by example, its result has not."""
    raise NoRule(call.name)


def by_example(call: Call, refused: Refused) -> Any:
    """The op on one example after the other; what it cannot do is PyTorch's error."""
    if call.name in _DYNAMIC:
        raise RuntimeError(
            "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over "
            "aten::%s. Please file an issue at https://github.com/pytorch/pytorch/issues if you need this feature."
            % call.name
        )
    if not _modes.by_example[0]:
        raise RuntimeError(
            "Batching rule not implemented for aten::%s; we tried to fall back to a for-loop but the vmap fallback is "
            "disabled" % call.name
        )
    if not call.size:
        raise RuntimeError("vmap: %s has no rule for a mapped dimension of size 0" % call.name)
    if not call.ov.inplace and not isinstance(call.args[0], _C.TensorBase) and not tensors(call.args):
        raise refused
    if (call.ov.inplace or "(a!)" in call.ov.schema) and not call.is_batched(call.args[0]):
        raise refused  # all examples would write to one tensor
    parts = {id(t): leave(t, call.level).unbind(0) for t in tensors(call.args) if belongs(t, call.level)}
    with batched.without(call.level):
        results = [
            _C.call_overload(call.ov, call.each(lambda t: parts[id(t)][i] if id(t) in parts else t))
            for i in range(call.size)
        ]
    if call.ov.inplace or "(a!) self" in call.ov.schema:
        return call.args[0]
    if isinstance(results[0], (tuple, list)):
        return tuple(enter(torch.stack(column), 0, call.level) for column in zip(*results))
    if not isinstance(results[0], _C.TensorBase):
        raise Refused(batched.NO_ITEM)
    return enter(torch.stack(results), 0, call.level)
