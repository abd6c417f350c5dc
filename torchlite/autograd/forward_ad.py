"""Forward-mode differentiation: dual tensors, which carry a tangent along.

While a dual level is open, the core hands every call of an op to `run` first (native/src/core/op.c). A view's tangent
is the same view of the tangent; an op that is written with other ops runs them; any other op's is J t, which is the
derivative of the function v -> J^T v that backward knows, in the direction of t. So no op needs a second formula.
"""

from __future__ import annotations

import weakref
from collections import namedtuple

import torchlite as torch

from .. import _C
from .._core.errors import other_tangent_size
from ..utils._contextlib import _DecoratorContextManager
from . import _node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .._types import Overload, Tensor

__all__ = ["UnpackedDualTensor", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual", "dual_level"]

_current_level = -1
_enabled = True
# id -> (reference, tangent) of each tensor that was asked for one at this level; None: it has none, whatever its base
_tangents: dict[int, tuple[Any, Tensor | None]] = _node.tangents
_NO_FORMULA = (
    "Trying to use forward AD with %s that does not support it because it has not been implemented yet.\nTangents are "
    "derivatives of gradients here, and its gradient has none: %s"
)


UnpackedDualTensor = namedtuple("UnpackedDualTensor", ("primal", "tangent"), module="torch.autograd.forward_ad")
UnpackedDualTensor.__doc__ = "What unpack_dual gives: the values, and the tangent or None."


def _look() -> None:
    """Lets the core ask, or no more."""
    _C.forward_ad(_current_level >= 0 and _enabled)


def enter_dual_level() -> int:
    """Opens the level at which tensors can have tangents; returns its number. There is only one, as in PyTorch."""
    global _current_level
    if _current_level >= 0:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    _current_level = 0
    _C.register("forward", run)
    _C.register("has_tangent", _has_tangent)
    _look()
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Closes the level; all tangents are gone."""
    global _current_level
    if level is not None and level != _current_level:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    if _current_level < 0:
        raise RuntimeError("Dual level must be a positive number.")
    _current_level = -1
    _tangents.clear()
    _look()


class dual_level(_DecoratorContextManager):
    """Context in which make_dual gives tensors tangents and ops carry them along."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exc: Any) -> None:
        exit_dual_level()


def _is_fwd_grad_enabled() -> bool:
    return _enabled


def _switch(on: bool) -> None:
    global _enabled
    _enabled = bool(on)
    _look()


class _set_fwd_grad_enabled(_DecoratorContextManager):
    """Context in which ops carry tangents along, or do not."""

    def __init__(self, mode: bool) -> None:
        self.prev = _enabled
        _switch(mode)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: Any) -> None:
        _switch(self.prev)


def _off() -> Any:
    """Context of calls that the core does not hand to `run`."""
    return _C.GradMode(None, None, -1, False)


def _on() -> Any:
    return _C.GradMode(None, None, -1, True)


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A view of `tensor` with this tangent, of its shape: the direction in which derivatives are taken.

    The tangent is kept as it is where it lies in memory as `tensor` does, else as a copy."""
    if (_current_level if level is None else level) < 0:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    for name, t in (("primal", tensor), ("tangent", tangent)):
        if not _continuous(t):
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {t.dtype}")
    if tensor.shape != tangent.shape:
        raise other_tangent_size(tensor, tangent)
    if tangent_of(tensor) is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not "
            "supported."
        )
    with _off():
        out = torch.ops.functions.alias(tensor)
        if tangent.stride() != tensor.stride():
            tangent = tangent.new_empty_strided(tensor.shape, tensor.stride()).copy_(tangent)
    _set(out, tangent)
    return out


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The values of `tensor`, as a view without a tangent, and its tangent or None."""
    if (_current_level if level is None else level) < 0:
        return UnpackedDualTensor(tensor, None)
    tangent = tangent_of(tensor)
    with _off():
        primal = torch.ops.functions.alias(tensor)
    _set(primal, None)
    return UnpackedDualTensor(primal, tangent)


# ---- tangents of tensors ---------------------------------------------------------------------------------------------
def _continuous(t: Tensor) -> bool:
    return t.dtype.is_floating_point or t.dtype.is_complex


def _set(t: Tensor, tangent: Tensor | None) -> None:
    key = id(t)

    def gone(reference: Any) -> None:
        if key in _tangents and _tangents[key][0] is reference:
            del _tangents[key]

    _tangents[key] = weakref.ref(t, gone), tangent


def tangent_of(t: Tensor) -> Tensor | None:
    """The tangent of t, or of a view of what has one."""
    found = _tangents.get(id(t))
    if found is not None:
        return found[1]
    base = t._base
    whole = None if base is None else _tangents.get(id(base), (None, None))[1]
    if base is None or whole is None or not _continuous(t):
        return None
    part = _part(whole, base, t)
    _set(t, part)
    return part


class _Place:
    """Where a view lies in its base, in the fields of the nodes that know such a place."""


def _has_tangent(t: Tensor) -> bool:
    return tangent_of(t) is not None


def _part(whole: Tensor, base: Tensor, view: Tensor) -> Tensor:
    """The view of base's tangent that `view` is of base."""
    from ._inplace import _relate, _window, with_signs

    place: Any = _Place()
    with _off():
        _relate(place, base, view)
        return with_signs(_window(whole, place.view, place.parts), place.signs)


def _new_tangent(t: Tensor, like: Tensor) -> Tensor:
    """Zeros of the kind of `like` as a tangent of t and, where t is a view, of all of its base."""
    base = t._base
    if base is None or id(t) in _tangents or id(base) in _tangents or not _continuous(base):
        base = t
    zeros = like.new_empty_strided(base.shape, base.stride(), dtype=base.dtype).zero_()
    _set(base, zeros)
    if base is not t:
        zeros = _part(zeros, base, t)
        _set(t, zeros)
    return zeros


# ---- calls -----------------------------------------------------------------------------------------------------------
def _is_tensor(x: Any) -> bool:
    return isinstance(x, _C.TensorBase)


def _tensors(args: tuple[Any, ...]) -> Iterator[Tensor]:
    for a in args:
        if _is_tensor(a):
            yield a
        elif isinstance(a, (list, tuple)):
            yield from filter(_is_tensor, a)


def _replaced(args: tuple[Any, ...], by: dict[int, Tensor]) -> tuple[Any, ...]:
    """The arguments with each tensor replaced whose id is in `by`."""
    return tuple([[by.get(id(x), x) for x in a] if type(a) in (list, tuple) else by.get(id(a), a) for a in args])


def run(ov: Overload, args: tuple[Any, ...]) -> Any:
    """A call of an op while a level is open: its result, with tangents where an argument has one."""
    spec = ov.spec
    with _off():
        found = {id(t): t for t in _tensors(args) if tangent_of(t) is not None}
        if not found:
            return _C.call_overload(ov, args)
        if ov.inplace or "(a!) self" in ov.schema:
            return _run_inplace(ov, args, found)
        if spec.view:
            return _run_view(ov, args)
        if not spec.differentiable:
            out = _C.call_overload(ov, args)
            for t in _tensors((out,)):
                if t._base is not None:  # detach
                    _set(t, None)
                elif (
                    "Generator" in ov.schema and _continuous(t) and not spec.name.endswith("_like")
                ):  # what is drawn does not change with the parameters
                    _set(t, torch.zeros_like(t))
            return out
        if spec.grad is None and ov.body is not None:
            with _on():
                return ov.body(*args)
        return _run_derived(ov, args, found)


def _run_view(ov: Overload, args: tuple[Any, ...]) -> Any:
    out = _C.call_overload(ov, args)
    along = {id(t): x for t in _tensors(args) if (x := tangent_of(t)) is not None}
    if ov.spec.name == "view_as_real":  # refuses conjugates, which a tangent may be where its tensor is none
        along = {key: x.resolve_conj() for key, x in along.items()}
    tangents = _C.call_overload(ov, _replaced(args, along))
    for t, tangent in zip(_tensors((out,)), _tensors((tangents,))):
        _set(t, tangent)
    return out


def _fresh(t: Tensor, taped: bool) -> Tensor:
    """t as an input of its own: a gradient stops there; taped: it goes on into t's history in second derivatives."""
    if taped and t.requires_grad:
        return torch.ops.functions.alias(t)
    return _node.as_leaf(t.detach())


def keep_tangent(t: Tensor, same: Tensor, copied: bool = False) -> None:
    """Gives an alias of t the tangent of t; a copy has one of its own, which a change of t in place leaves as it is."""
    tangent = tangent_of(t)
    if tangent is not None:
        with _off():
            _set(same, tangent.clone() if copied else tangent)


def _save(node: Any, outs: list[Tensor]) -> None:
    """Lets what a node saved of its results have their tangents, for backward."""
    saved = {t.output_nr: t for t in outs}
    rec = getattr(node, "rec", None)
    if rec is None or not rec.results:
        return
    for (_, nr, _), item in zip(rec.results, node.kept[len(rec.saved) :]):
        if item is not None and _is_tensor(item[0]) and nr in saved:
            keep_tangent(saved[nr], item[0])


def _run_derived(ov: Overload, args: tuple[Any, ...], found: dict[int, Tensor]) -> Any:
    taped = _C.is_grad_enabled()
    with torch.enable_grad():
        inputs = {key: _fresh(t, taped) for key, t in found.items()}
        out = _C.call_overload(ov, _replaced(args, inputs))
        outs = [t for t in _tensors((out,)) if _continuous(t)]
        keep = taped and any(t.requires_grad for t in _tensors(args))
        tangents = _push(ov, outs, [(inputs[key], tangent_of(t)) for key, t in found.items()], taped, keep)
    for key, t in found.items() if keep else ():  # what the node saved has the tangent in backward, too
        _set(inputs[key], tangent_of(t))
    for t, tangent in zip(outs, tangents):
        if not keep and t.requires_grad:
            t._raw_grad_fn, t._output_nr = None, 0
        if tangent is not None:
            _set(t, tangent)
    if keep and any(t.grad_fn is not None for t in outs):
        _save(next(t.grad_fn for t in outs if t.grad_fn is not None), outs)
    return out


def _push(
    ov: Overload, outs: list[Tensor], pairs: list[tuple[Tensor, Any]], taped: bool, keep: bool
) -> list[Tensor | None]:
    """J t of each output, from v -> J^T v, which is linear in v: any v will do, and ones are far from special cases.

    taped: gradients are recorded; keep: an argument has one. J depends on it, and so does the tangent."""
    made = [t for t in outs if t.requires_grad]
    vs = [_node.as_leaf(torch.ones_like(t).detach()) for t in made]
    taped = keep or taped and any(x.requires_grad for _, x in pairs)
    pushed: Any = [None] * len(made)
    try:
        if made:
            with _node.Transposing():
                back = torch.autograd.grad(made, [p for p, _ in pairs], vs, create_graph=True, allow_unused=True)
            rows = [(g, x) for g, (_, x) in zip(back, pairs) if g is not None and g.requires_grad]
            if rows:
                along = [x.to(g.dtype) if g.dtype is not x.dtype else x for g, x in rows]
                pushed = torch.autograd.grad(
                    [g for g, _ in rows], vs, along, retain_graph=True, create_graph=taped, allow_unused=True
                )
    except (NotImplementedError, RuntimeError) as e:
        if "not implemented" not in str(e):
            raise
        raise NotImplementedError(_NO_FORMULA % (ov.spec.name, e)) from e
    given = [x.untyped_storage() for _, x in pairs if not x._dispatches]
    by_output = {id(t): _own(t, p, given) for t, p in zip(made, pushed)}
    return [by_output.get(id(t)) for t in outs]


def _own(out: Tensor, tangent: Tensor | None, given: list[Any]) -> Tensor:
    """A tangent laid out as its tensor, for views of both, with memory of its own, for changes in place."""
    if tangent is None:
        return torch.zeros_like(out).detach()
    if tangent.stride() == out.stride() and not tangent._dispatches:
        storage = tangent.untyped_storage()
        if not any(storage is s for s in given):
            return tangent
    return tangent.new_empty_strided(out.shape, out.stride()).copy_(tangent)


_GEOMETRY = frozenset(("transpose", "t", "squeeze", "unsqueeze", "as_strided"))


def _run_inplace(ov: Overload, args: tuple[Any, ...], found: dict[int, Tensor]) -> Any:
    spec, self = ov.spec, args[0]
    if spec.name.rstrip("_") in _GEOMETRY:
        out = _C.call_overload(ov, args)
        tangent = torch.ops.functions.alias(tangent_of(self))
        _C.call_overload(ov, (tangent, *args[1:]))
        _set(self, tangent)
        return out
    pushed: Tensor | None = None
    if spec.differentiable and _continuous(self):
        taped = _C.is_grad_enabled()
        state = torch.get_rng_state() if "Generator" in ov.schema else None
        with torch.enable_grad():
            inputs = {key: _fresh(t, taped) for key, t in found.items()}
            before = inputs.get(id(self))
            written = (self.detach() if before is None else before).clone()
            rest = _replaced(args[1:], inputs)
            # what an op reads besides, where it is `self` again, is the value before the change
            _C.call_overload(ov, (written, *rest))
            keep = taped and any(t.requires_grad for t in _tensors(args))
            along = {key: tangent_of(t) for key, t in found.items()}
            old = along.get(id(self))
            if old is not None and (keep or taped and any(x is not None and x.requires_grad for x in along.values())):
                along[id(self)] = old.clone()  # what the new tangent's history needs of the old one, which is changed
            pushed = _push(ov, [written], [(inputs[key], x) for key, x in along.items()], taped, keep)[0]
        if state is not None:
            torch.set_rng_state(state)
    out = _C.call_overload(ov, args)
    tangent = tangent_of(self)
    if tangent is None and pushed is not None:
        tangent = _new_tangent(self, pushed)
    if tangent is None:
        return out
    if pushed is None:
        tangent.zero_()
    elif pushed._dispatches and not tangent._dispatches:  # one tangent so far, now one for each example of a vmap
        if self._base is not None:
            raise NotImplementedError(
                "vmap: a view has a tangent that is not mapped, and cannot get one that is; write to a clone() of it"
            )
        _set(self, pushed)
    else:
        tangent.copy_(pushed)
    made = self.grad_fn if self._base is None else getattr(self._base.grad_fn, "inner", None)
    if made is not None:
        _save(made, [self])
    return out


def push_function(cls: Any, ctx: Any, args: tuple[Any, ...], outs: list[Any]) -> None:
    """Tangents of the outputs of a custom Function, by its `jvp`, where one of the arguments has one."""
    tangents = [tangent_of(a) if _is_tensor(a) else None for a in args]
    if all(t is None for t in tangents):
        return
    with _off():
        if ctx.materialize:
            tangents = [
                torch.zeros_like(a) if t is None and _is_tensor(a) and _continuous(a) else t
                for a, t in zip(args, tangents)
            ]
        ctx.saved_for_forward = ctx.saved_for_forward or ()
        given = cls.jvp(ctx, *tangents)
    pushed = given if isinstance(given, tuple) else (given,)
    if len(pushed) != len(outs):
        raise RuntimeError(
            "Function's jvp returned an invalid number of forward gradients (expected %d but got %d)"
            % (len(outs), len(pushed))
        )
    for t, tangent in zip(outs, pushed):
        if tangent is not None and not _is_tensor(tangent):
            raise RuntimeError("expected Variable or None (got %s)" % type(tangent).__name__)
        if _is_tensor(t) and _continuous(t):
            _set(t, tangent)


def refuse_out(ov: Overload, args: tuple[Any, ...]) -> None:
    """PyTorch's error where out= would lose the tangent of an argument."""
    if any(tangent_of(t) is not None for t in _tensors(args)):
        raise NotImplementedError(
            "Trying to use forward AD with %s_out that does not support it because it is an out= function"
            % ov.spec.name
        )


from .._core import absent as _absent

__getattr__ = _absent.of(__name__)
