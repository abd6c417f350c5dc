"""torch.autograd.Function and the operators of torch.library inside vmap: by a rule of their own, by their code on the
wrappers, or once per example."""

from __future__ import annotations

from typing import Any, NamedTuple

import torchlite as torch

from .. import _C
from ..utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten
from . import batched
from .batched import Level, belongs, enter, leave, without

_MORE = " For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"


class VmapInfo(NamedTuple):
    """The argument `info` of a `vmap` staticmethod: the number of examples, and vmap's option `randomness`."""

    batch_size: int
    randomness: str


VmapInfo.__module__ = "torch._functorch.autograd_function"


def lifted(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments, where those that require a gradient have the levels of all."""
    if not torch.is_grad_enabled():
        return args
    by_id = batched.lifted([a for a in args if isinstance(a, _C.TensorBase)])
    return tuple(by_id.get(id(a), a) for a in args)


def apply(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any], level: Level) -> Any:
    """The outputs of cls.apply(*args) by its `vmap`; NotImplemented where its forward is to run on the wrappers."""
    own = cls.vmap is not torch.autograd.Function.vmap
    if cls.generate_vmap_rule:
        if own:
            raise RuntimeError(
                "You tried to vmap over %s, but it has both generate_vmap_rule=True and an overridden vmap "
                "staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid "
                "ambiguity.%s" % (cls.__name__, _MORE)
            )
        return NotImplemented
    if kwargs:
        raise NotImplementedError("NYI: vmap of a torch.autograd.Function with kwarg-only Tensor args")
    if not own:
        raise RuntimeError(
            "You tried to vmap over %s, but it does not have vmap support. Please override and implement the vmap "
            "staticmethod or set generate_vmap_rule=True.%s" % (cls.__name__, _MORE)
        )
    dims = [0 if belongs(a, level) and a._batched else None for a in args]
    values = [_value(a, level, d) for a, d in zip(args, dims)]
    if all(d is None for d in dims):
        return cls.apply(*values)
    with without(level):
        out = cls.vmap(VmapInfo(level.size, level.randomness), tuple(dims), *values)
    if not isinstance(out, tuple) or len(out) != 2:
        got = "%d returns" % len(out) if isinstance(out, tuple) else "a %s" % type(out)
        raise RuntimeError(
            "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure "
            "compatible with the output. Got %s instead" % got
        )
    return _wrapped(out[0], out[1], level)


def _value(a: Any, level: Level, dim: Any) -> Any:
    if not belongs(a, level):
        return a
    return leave(a, level) if dim == 0 else leave(a, level)[0]


def _wrapped(out: Any, out_dims: Any, level: Level) -> Any:
    flat, spec = tree_flatten(out)
    dims = _broadcast_to_and_flatten(out_dims, spec)
    if dims is None:
        raise RuntimeError(
            "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. Expected "
            "out_dims=%s to be compatible with the structure of `output`. out_dims has structure %s but output has "
            "structure %s.%s" % (out_dims, tree_flatten(out_dims)[1], spec, _MORE)
        )
    return tree_unflatten([t if d is None else enter(t, d, level) for t, d in zip(flat, dims)], spec)


# ---- higher-order operators ------------------------------------------------------------------------------------------
class VmapInterpreter:
    """What the rule of a HigherOrderOperator gets about the running vmap."""

    def __init__(self, level: Level) -> None:
        self._level = level

    def level(self) -> int:
        return self._level.depth

    def batch_size(self) -> int:
        return self._level.size

    def randomness(self) -> str:
        return self._level.randomness

    def lower(self) -> Any:
        """A context without this vmap."""
        return without(self._level)


def higher_order(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """op(*args, **kwargs) by its rule for vmap; NotImplemented where no vmap has a say."""
    level = batched.innermost(tree_flatten((args, kwargs))[0])
    if level is None:
        return NotImplemented
    if "Vmap" not in op.functorch_table:
        raise RuntimeError("%s has no rule for vmap: op.py_impl(torch._C._functorch.TransformType.Vmap)" % op.name())
    return op.functorch_table["Vmap"](VmapInterpreter(level), *args, **kwargs)


# ---- operators of torch.library --------------------------------------------------------------------------------------
def operator(call: Any, rule: Any, args: tuple[Any, ...], kwargs: dict[str, Any], level: Level) -> Any:
    """call(*args, **kwargs): by the rule of register_vmap, or once per example."""
    names = list(kwargs)
    flat, spec = tree_flatten(lifted((*args, *kwargs.values())))
    dims = [0 if belongs(a, level) and a._batched else None for a in flat]
    values = [_value(a, level, d) for a, d in zip(flat, dims)]

    def unflat(leaves: list[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        given = tree_unflatten(leaves, spec)
        return tuple(given[: len(args)]), dict(zip(names, given[len(args) :]))

    with without(level):
        if rule is not None:
            positional, named = unflat(values)
            in_dims = unflat(dims)[0]
            out, out_dims = rule(VmapInfo(level.size, level.randomness), in_dims, *positional, **named)
            return _wrapped(out, out_dims, level)
        parts = [v.unbind(0) if d == 0 else [v] * level.size for v, d in zip(values, dims)]
        results = []
        for example in zip(*parts):
            positional, named = unflat(list(example))
            results.append(tree_flatten(call(*positional, **named)))
    columns = zip(*(leaves for leaves, _ in results))
    return tree_unflatten([enter(torch.stack(column), 0, level) for column in columns], results[0][1])
