"""Random ops inside vmap, by its option `randomness`."""

from __future__ import annotations

from typing import Any

import torchlite as torch

from .. import _C
from . import batched
from .batched import Level, enter, make, without
from .rules import Call, NoRule, tensors

_ERROR = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
    "randomness flags on vmap or perform the randomness operation out of vmap"
)
_UNMAPPED = (
    "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same randomness. "
    "If this is necessary for your usage, please file an issue with functorch."
)
_SAME = (
    "Vmap does not currently support same randomness with a batched tensor input. Please file an issue with functorch"
)
_SHAPES = frozenset("rand_like randn_like randint_like _dropout_noise _rrelu_noise".split())  # only the shape counts
_MIXED = frozenset("dropout alpha_dropout feature_dropout feature_alpha_dropout rrelu rrelu_".split())
_known: dict[Any, int] = {}


def draws(ov: Any) -> int:
    """Whether an op draws random numbers: 2 by a kernel of its own, 1 by the ops of its body, 0 not at all."""
    if ov not in _known:
        name = ov.spec.name
        if name in _SHAPES or "Generator?" in ov.schema and name not in _MIXED:
            _known[ov] = 2 if name in _SHAPES or ov.spec.kernel is not None or ov.spec.body is None else 1
        else:
            _known[ov] = int(name in _MIXED)
    return _known[ov]


def unmapped(ov: Any, args: tuple[Any, ...]) -> Any:
    """A call without a tensor of the innermost level, while that asks for other numbers for each example."""
    if not draws(ov):
        return NotImplemented
    level = batched.running()[-1]
    if level.randomness == "same":
        return NotImplemented
    if level.randomness == "error":
        if draws(ov) == 2:
            raise RuntimeError(_ERROR)
        return NotImplemented
    if ov.inplace or "(a!) self" in ov.schema:
        raise RuntimeError(_UNMAPPED)
    if tensors(args):
        call = Call(ov, args, level)
        return call.run(*call.each(lambda t: enter(t.expand(level.size, *t.shape).contiguous(), 0, level)))
    with _C.GradMode(False):
        return _different(ov, args, level)


def _different(ov: Any, args: tuple[Any, ...], level: Level) -> Any:
    call = Call(ov, args, level)
    with without(level):  # what is drawn below counts for the levels around
        if ov.spec.name == "randperm":
            return make(torch.stack([call.run() for _ in range(level.size)]), level)
        if call.has("size"):
            return make(call.run(size=(level.size, *call["size"])), level)
        raise NoRule(call.name)


def check(call: Call) -> None:
    """Raises where `randomness` does not allow a random op with tensors of the level."""
    if call.level.randomness == "error" and draws(call.ov) == 2:
        raise RuntimeError(_ERROR)
    if call.level.randomness == "same" and call.ov.spec.name not in _SHAPES | _MIXED and draws(call.ov) == 1:
        if any(call.is_batched(t) for t in tensors(call.args)):
            raise RuntimeError(_SAME)


def run(call: Call) -> Any:
    """A random op with a kernel, with a tensor of the level."""
    ov, level = call.ov, call.level
    check(call)
    in_place = ov.inplace or "(a!) self" in ov.schema
    target = call.args[0]
    if in_place and not call.is_batched(target):
        raise RuntimeError(
            "vmap: aten::%s(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args "
            "that has more elements than `self`. This happened due to `other` being vmapped over but `self` not being "
            "vmapped over." % call.name
        )
    with without(level):
        return _run(call, in_place, target)


def _run(call: Call, in_place: bool, target: Any) -> Any:
    same = call.level.randomness == "same"
    if in_place:
        if not same:
            call.run(*call.each(lambda t: call.ranked(t, target.dim())))
        elif len(tensors(call.args)) == 1:
            target._value.copy_(call.run(torch.empty_like(target._value[0]), *call.args[1:]))
        else:
            raise RuntimeError(_SAME)
        return target
    name = call.ov.spec.name
    if same:
        if name in _SHAPES:
            one = call.run(*call.each(lambda t: call.value(t)[0] if call.is_batched(t) else call.value(t)))
            return make(one, call.level, False)
        raise RuntimeError(_SAME)
    if name == "multinomial" and target.dim() == 2:
        return make(call.run(call.full(target).flatten(0, 1), *call.args[1:]).unflatten(0, (call.size, -1)), call.level)
    rank = max(t.dim() for t in tensors(call.args))
    return make(
        call.run(*call.each(lambda t: call.ranked(t, rank) if call.is_batched(t) else call.full(t))), call.level
    )
