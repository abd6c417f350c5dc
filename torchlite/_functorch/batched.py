"""The tensors inside vmap: each stands for one tensor per example, and holds them all in one.

A BatchedTensor is a wrapper (decision 21) that shows the shape of one example. Its `_value` has the examples as dim 0.
Autograd records ops on the wrappers as on other tensors. What comes from outside and requires a gradient enters by an
autograd.Function, so that its gradient leaves as it came: `Enter` for what vmap maps over, `Lift` for what a function
closes over. The gradient of the latter is the sum over the examples.
"""

from __future__ import annotations

import threading
from typing import Any

import torchlite as torch

from .. import _C
from .._core import dispatch_modes as _modes, wrappers as _wrappers
from ..autograd import Function


class Level:
    """One call of vmap.

    `order` says which of two levels is the inner one, whose wrapper is around the other's. While both run that is the
    one that began later. One that has ended is met again in a backward pass. It is inside of all that end after it: it
    was called by them, or they go back through what it recorded."""

    __slots__ = ("active", "depth", "order", "place", "randomness", "size")

    def __init__(self, size: int, randomness: str) -> None:
        self.size, self.randomness, self.active = size, randomness, True
        levels = running()
        self.depth: int = levels[-1].depth + 1 if levels else 1
        self.order = (0, self.depth)

    # An interrupt comes after a call: what is begun is ended by statements that call nothing.
    def __enter__(self) -> Level:
        self.place = len(running())
        try:
            running().append(self)
            _modes.refresh()
        except BaseException:
            del _running.levels[self.place :]
            raise
        return self

    def __exit__(self, *exc: Any) -> None:
        self.active = False
        _ended[0] += 1
        self.order = (1, -_ended[0])
        del _running.levels[self.place :]
        _modes.refresh()


_ended = [0]  # how many levels have


class _Running(threading.local):
    def __init__(self) -> None:
        self.levels: list[Level] = []


_running = _Running()


def running() -> list[Level]:
    """The running levels of this thread, the innermost last."""
    return _running.levels


def minds_draws() -> bool:
    """Whether the innermost running level asks for each op that draws random numbers."""
    levels = running()
    return bool(levels) and levels[-1].randomness != "same"


class without:
    """Context in which a level is not one of the running ones: its examples are a dim like others."""

    def __init__(self, level: Level) -> None:
        self.level = level

    def __enter__(self) -> None:
        self.held = self.level in running()
        if self.held:
            running().remove(self.level)
            _modes.refresh()

    def __exit__(self, *exc: Any) -> None:
        if self.held:
            running().append(self.level)
            running().sort(key=lambda level: level.depth)
            _modes.refresh()


class Refused(RuntimeError):
    """What vmap does not do. Where a body asks for it, its op runs once per example."""


Refused.__name__ = Refused.__qualname__ = "RuntimeError"  # as PyTorch's
Refused.__module__ = "builtins"


class BatchedTensor(torch.Tensor):
    """One tensor per example of a level. Not `_batched`: the same one for all, which `_value` is then."""

    _value: Any
    _level: Level
    _batched: bool
    _entered = False  # whether it has the memory of an input whose history does not know what is written to it

    __torch_function__ = _C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        from . import rules

        return rules.by_name(func, args, kwargs or {})

    def __repr__(self, *, tensor_contents: Any = None) -> Any:  # type: ignore[override]
        where = 0 if self._batched else None
        text = repr(self._value).replace("\n", "\n    ").replace("\n    \n", "\n\n")
        return "BatchedTensor(lvl=%d, bdim=%s, value=\n    %s\n)" % (self._level.depth, where, text)

    def is_contiguous(self, memory_format: Any = torch.contiguous_format) -> bool:
        if memory_format is not torch.contiguous_format:
            raise RuntimeError(
                "NYI: querying is_contiguous inside of vmap for memory_format other than torch.contiguous_format"
            )
        return super().is_contiguous()

    def __format__(self, spec: str) -> str:
        return object.__format__(self, spec)

    @property
    def data(self) -> Any:
        return self.detach()

    @data.setter
    def data(self, new: Any) -> None:
        if not belongs(new, self._level) or new._batched is not self._batched:
            raise RuntimeError(
                "vmap: the data of a tensor inside vmap can only be that of another one of the same vmap"
            )
        _C.TensorBase.data.__set__(self, new)  # type: ignore[attr-defined]
        self._value = new._value

    def resize_(self, *sizes: Any, memory_format: Any = None) -> Any:
        raise RuntimeError("vmap: resize_() of a tensor inside vmap is not possible, for want of memory of its own")

    def set_(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("vmap: set_() of a tensor inside vmap is not possible, for want of memory of its own")

    def __bool__(self) -> bool:
        raise Refused(NO_FLOW)

    is_nonzero = __bool__

    def _is_all_true(self) -> Any:
        """Of all examples, by which distributions check what they are given."""
        return self._value._is_all_true()

    def _is_any_true(self) -> Any:
        return self._value._is_any_true()

    def item(self) -> Any:
        raise Refused(NO_ITEM)

    def numpy(self, *args: Any, **kwargs: Any) -> Any:
        raise Refused("Cannot access data pointer of Tensor that doesn't have storage")

    __array__ = tolist = numpy

    def storage(self) -> Any:
        raise NotImplementedError("Cannot access storage of BatchedTensorImpl")

    untyped_storage = storage


BatchedTensor.__name__ = BatchedTensor.__qualname__ = "Tensor"  # as PyTorch shows them
BatchedTensor.__module__ = "torch"

NO_ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, "
    "please try to rewrite what you're doing with other operations. If error is occurring somewhere inside PyTorch "
    "internals, please file a bug report."
)
NO_FLOW = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that "
    "yet, please file an issue at https://github.com/pytorch/pytorch/issues ."
)


def make(value: Any, level: Level, batched: bool = True) -> Any:
    """The wrapper of a value that has no history of its own."""
    shape, strides = value.shape, value.stride()
    if batched:
        shape, strides = shape[1:], strides[1:]
    t = _wrappers.make(BatchedTensor, shape, strides, value.storage_offset(), dtype=value.dtype, device=value.device)
    t._value, t._level, t._batched = value, level, batched
    return t


def innermost(values: Any) -> Level | None:
    """The innermost level that the arguments of a call belong to."""
    found: Any = None
    at: Any
    for v in values:
        if type(v) is BatchedTensor:
            at = v._level
        elif type(v) in (tuple, list):
            at = innermost(v)
        else:
            continue
        if at is not None and (found is None or at.order > found.order):
            found = at
    return found


def belongs(t: Any, level: Level) -> bool:
    """Whether a tensor is one of the level's."""
    return type(t) is BatchedTensor and t._level is level


# ---- in and out, with gradients --------------------------------------------------------------------------------------
def enter(x: Any, dim: int, level: Level) -> Any:
    """The examples of `x` along `dim`, as one tensor of the level."""
    if _C.requires_grad(x) and torch.is_grad_enabled():
        entered = Enter.apply(x.movedim(dim, 0), level)
        entered._entered = True
        return entered
    return make(x.movedim(dim, 0), level)


def leave(t: Any, level: Level) -> Any:
    """The tensor of all examples, (size, *shape)."""
    if not belongs(t, level):
        return t.expand(level.size, *t.shape)
    return Exit.apply(t, level) if _recorded(t) else _whole(t, level)


def _whole(t: Any, level: Level) -> Any:
    return t._value if t._batched else t._value.expand(level.size, *t._value.shape)


def levels_of(t: Any) -> list[Level]:
    """The levels of a tensor, the innermost first."""
    found = []
    while type(t) is BatchedTensor:
        found.append(t._level)
        t = t._value
    return found


def lifted(tensors: list[Any], fixed: Any = None) -> dict[int, Any]:
    """For those tensors of a call that require a gradient and lack a level that another one has: id -> the tensor with
    all levels. So each gradient comes back with the levels that its tensor has. `fixed`: one that stays as it is."""
    found: dict[int, Any] = {}
    chains = [levels_of(t) for t in tensors]
    union = {level for chain in chains for level in chain}
    for t, chain in zip(tensors, chains):
        if len(chain) < len(union) and t is not fixed and _C.requires_grad(t):
            found[id(t)] = Lift.apply(t, tuple(union.difference(chain)))
    return found


def _with_levels(t: Any, missing: list[Level]) -> Any:
    """The value with more wrappers, each where its level belongs; missing: the innermost last."""
    if not missing:
        return t
    if type(t) is BatchedTensor and t._level.order > missing[-1].order:
        return make(_with_levels(t._value, missing), t._level, t._batched)
    return make(_with_levels(t, missing[:-1]), missing[-1], False)


def _summed(t: Any, level: Level) -> Any:
    """The sum over the examples of a level, of which t need not be the innermost."""
    if belongs(t, level) or type(t) is not BatchedTensor:
        return leave(t, level).sum(0)
    own = t._level
    return enter(_summed(leave(t, own), level), 0, own)


def _recorded(t: Any) -> bool:
    return _C.requires_grad(t) and torch.is_grad_enabled()


class Enter(Function):
    """(size, *shape) -> one tensor per example."""

    crosses_levels = True

    @staticmethod
    def forward(x: Any, level: Level) -> Any:
        return make(_C.alias(x), level)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.level = inputs[1]

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return leave(grad, ctx.level), None


class Exit(Function):
    """One tensor per example -> (size, *shape)."""

    crosses_levels = True

    @staticmethod
    def forward(t: Any, level: Level) -> Any:
        return _C.alias(_whole(t, level))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.level = inputs[1]

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return (Enter.apply(grad, ctx.level) if _recorded(grad) else make(grad, ctx.level)), None


class Lift(Function):
    """A tensor from outside of some levels. Once a level has ended, the gradient is the sum over its examples. Before,
    a gradient is asked for by the mapped function itself, and is that of each example."""

    crosses_levels = True

    @staticmethod
    def forward(t: Any, missing: tuple[Level, ...]) -> Any:
        return _with_levels(_C.alias(t), sorted(missing, key=lambda level: level.order))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.missing = inputs[1]

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        for level in ctx.missing:
            if not level.active:
                grad = _summed(grad, level)
        return grad, None


_modes.batching, _modes.minds_draws = True, minds_draws
