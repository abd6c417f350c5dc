"""torch.func.functionalize: a function without writes. Ops in place become ops that return, and views are made anew.

A FunctionalTensor is a wrapper of a value. Those that share memory share a `_Base`, and each knows by which views it
comes from there. A write computes a new value, puts it into a new value of the base by the inverse of each view, and
counts the base's generation up: a view of another generation makes its value anew before it is read.
"""

from __future__ import annotations

import functools
from typing import Any

import torchlite as torch

from .. import _C, _ops
from .._core import dispatch_modes as _modes, wrappers as _wrappers
from .._core.errors import no_numpy_of_subclass
from ..autograd import Function
from ..utils._python_dispatch import TorchDispatchMode
from ..utils._pytree import tree_leaves, tree_map

aten = torch.ops.aten
# ops in place that change how a tensor shows its memory: the view that does the same
_GEOMETRY = {"transpose_", "t_", "squeeze_", "unsqueeze_", "as_strided_", "swapdims_", "swapaxes_"}


class _Base:
    """The memory of some tensors: its value, and how often it was written."""

    def __init__(self, value: Any) -> None:
        self.value, self.generation = value, 0
        self.strides = value.stride()

    def laid_out(self) -> Any:
        """The value with the strides that the tensor had first, for as_strided."""
        if self.value.stride() == self.strides:
            return self.value
        blank = aten.empty_strided.default(list(self.value.shape), list(self.strides), dtype=self.value.dtype)
        return aten.copy.default(blank, self.value)


class FunctionalTensor(torch.Tensor):
    """A tensor of a function that functionalize runs."""

    _elem: Any
    _root: _Base
    _chain: tuple[Any, ...]  # pairs of functions, base -> view and (base, new view) -> new base
    _seen: int
    _mode: Any

    __torch_function__ = _C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        t = next(a for a in tree_leaves((args, kwargs)) if isinstance(a, FunctionalTensor))
        return t._mode.__torch_dispatch__(func, types, args, kwargs)

    def __repr__(self, *, tensor_contents: Any = None) -> Any:  # type: ignore[override]
        return "FunctionalTensor(%r)" % synced(self)

    def tolist(self) -> Any:
        return synced(self).tolist()

    def numpy(self, *, force: bool = False) -> Any:
        raise no_numpy_of_subclass()


def _make(elem: Any, mode: Any, base: Any = None, chain: Any = (), storage: Any = None) -> Any:
    t = _wrappers.make(
        FunctionalTensor, elem.shape, elem.stride(), elem.storage_offset(), dtype=elem.dtype, device=elem.device,
        storage=storage,
    )  # fmt: skip
    t._elem, t._root, t._chain, t._seen, t._mode = elem, base or _Base(elem), chain, 0, mode
    return t


def synced(t: Any) -> Any:
    """The value of a tensor now."""
    if t._seen != t._root.generation:
        value = t._root.value
        for forward, _ in t._chain:
            value = forward(value)
        t._elem, t._seen = value, t._root.generation
    return t._elem


def _write(t: Any, value: Any) -> None:
    """Makes a value that of a tensor, and of all that share its memory."""
    bases = [t._root.value]
    for forward, _ in t._chain[:-1]:
        bases.append(forward(bases[-1]))
    new = value
    for (_, inverse), base in zip(reversed(t._chain), reversed(bases)):
        new = inverse(base, new)
    t._root.value = new
    t._root.generation += 1
    if not t._chain:
        t._elem, t._seen = value, t._root.generation
    synced(t)
    if t._elem.shape != t.shape:
        _reshape(t)
    t._bump_version()


def _reshape(t: Any) -> None:
    """Gives the wrapper the shape that its value has now."""
    e = t._elem
    like = _wrappers.make(FunctionalTensor, e.shape, e.stride(), dtype=e.dtype, device=e.device)
    with _modes.DisableTorchDispatch():
        t.data = like
    t._root.strides = t._root.value.stride()


# ---- views -----------------------------------------------------------------------------------------------------------
def _flat_view(mode: Any, new: Any, shape: Any) -> Any:
    view = mode.viewing(aten.view.default)
    try:
        return view(new, list(shape))
    except RuntimeError:  # strides that no view fits
        return view(aten.clone.default(new, memory_format=torch.contiguous_format), list(shape))


def _unsqueezed(mode: Any, new: Any, shape: Any, dims: Any) -> Any:
    rank = len(shape)
    if dims is None:
        dims = range(rank)
    elif isinstance(dims, int):
        dims = [dims]
    for d in sorted(d % rank for d in dims):
        if shape[d] == 1:
            new = mode.viewing(aten.unsqueeze.default)(new, d)
    return new


def _inverse(mode: Any, func: Any, args: Any, index: int) -> Any:
    """(base, new view) -> new base, for a call of a view's op, or for the `index`th of its results."""
    name, rest = func.overloadpacket.__name__, args[1:]
    again = mode.viewing(func)
    if name in ("view", "_unsafe_view", "_reshape_alias", "reshape") and func._overloadname != "dtype":
        return lambda base, new: _flat_view(mode, new, base.shape)
    if name in ("alias", "detach", "lift_fresh"):
        return lambda base, new: new
    if name in ("transpose", "t", "swapaxes", "swapdims", "_conj", "_neg_view"):
        return lambda base, new: again(new, *rest)
    if name == "permute":
        back = sorted(range(len(rest[0])), key=lambda i: rest[0][i] % len(rest[0]))
        return lambda base, new: again(new, back)
    if name == "unsqueeze":
        return lambda base, new: mode.viewing(aten.squeeze.dim)(new, rest[0])
    if name == "squeeze":
        return lambda base, new: _unsqueezed(mode, new, base.shape, rest[0] if rest else None)
    if name in ("select", "diagonal", "slice"):
        scatter = getattr(aten, name + "_scatter").default
        return lambda base, new: scatter(base, new, *rest)
    if name == "as_strided":
        return lambda base, new: aten.as_strided_scatter.default(base, new, *rest)
    if name == "unbind":
        return lambda base, new: aten.select_scatter.default(base, new, rest[0] if rest else 0, index)
    if name in ("split", "split_with_sizes"):
        dim = rest[1] if len(rest) > 1 else 0

        def scattered(base: Any, new: Any) -> Any:
            sizes = rest[0] if isinstance(rest[0], (list, tuple)) else [rest[0]] * (index + 1)
            start = sum(sizes[:index])
            return aten.slice_scatter.default(base, new, dim, start, start + new.shape[dim])

        return scattered
    if name in ("view_as_real", "view_as_complex"):
        other = aten.view_as_complex if name == "view_as_real" else aten.view_as_real
        return lambda base, new: mode.viewing(other.default)(new)
    if name == "view":
        return lambda base, new: again(new, base.dtype)

    def refuse(base: Any, new: Any) -> Any:
        raise NotImplementedError(
            "functionalize: a write to what %s made is not implemented in torchlite; write to a clone() of it" % func
        )

    return refuse


# ---- the mode --------------------------------------------------------------------------------------------------------
class FunctionalTensorMode(TorchDispatchMode):
    """Runs ops on the values of FunctionalTensors, without writes. Views are made by view ops or by their copies."""

    sees_all = True

    def __init__(self, views: bool = True) -> None:
        super().__init__()
        self.views = views

    def viewing(self, func: Any) -> Any:
        """What makes a view: its op, or the op that copies."""
        if self.views:
            return func
        return _overload(func.overloadpacket.__name__ + "_copy", func._overloadname) or func

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = func.overloadpacket.__name__
        first = args[0] if args else None
        if name in _GEOMETRY and isinstance(first, FunctionalTensor):
            view = _overload(name[:-1], func._overloadname) or _overload(name[:-1], "int")
            made = self._view(view, args, kwargs)
            first._elem, first._chain, first._seen = made._elem, made._chain, made._seen
            with _modes.DisableTorchDispatch():
                first.data = made
            return first
        if func._schema.is_mutable:
            return self._written(func, args, kwargs)
        if isinstance(first, FunctionalTensor) and func.is_view:
            return self._view(func, args, kwargs)
        values = tree_map(self._value, (args, kwargs))
        return tree_map(self._wrap, func(*values[0], **values[1]))

    def unnamed(self, fn: Any, args: Any) -> Any:
        """The result of an op without writes and views that no operator of PyTorch stands for."""
        return tree_map(self._wrap, fn(*tree_map(self._value, args)))

    def _value(self, a: Any) -> Any:
        return synced(a) if isinstance(a, FunctionalTensor) else a

    def _wrap(self, r: Any) -> Any:
        return _make(r, self) if isinstance(r, torch.Tensor) and not isinstance(r, FunctionalTensor) else r

    def _view(self, func: Any, args: Any, kwargs: Any) -> Any:
        t, rest = args[0], args[1:]
        make = self.viewing(func)
        if func.overloadpacket.__name__ == "as_strided" and t._chain:
            value, chain = t._root.laid_out(), ()  # its offset counts from the beginning of the memory
        else:
            value, chain = synced(t), t._chain
        result = make(value, *rest, **kwargs)
        several = isinstance(result, (tuple, list))

        def link(i: int) -> Any:
            def forward(base: Any) -> Any:
                out = make(base, *rest, **kwargs)
                return out[i] if several else out

            return forward, _inverse(self, func, args, i)

        made = [
            _make(r, self, t._root, (*chain, link(i)), t._storage if self.views else None)
            for i, r in enumerate(result if several else [result])
        ]
        return type(result)(made) if several else made[0]

    def _written(self, func: Any, args: Any, kwargs: Any) -> Any:
        """An op that writes: what it would write is computed, and becomes the value of what it writes to."""
        schema = func._schema
        given = {a.name: v for a, v in zip(schema.arguments, args)} | kwargs
        names = [a.name for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write]
        targets = [t for n in names for t in tree_leaves(given.get(n)) if isinstance(t, torch.Tensor)]
        if not all(isinstance(t, FunctionalTensor) for t in targets):
            if any(isinstance(a, FunctionalTensor) for a in tree_leaves((args, kwargs))):
                raise RuntimeError(
                    "mutating a non-functional tensor with a functional tensor is not allowed. Please ensure that all "
                    "of your inputs are wrapped inside of a functionalize() call."
                )
            return func(*args, **kwargs)
        plain = _without_writes(func)
        if plain is None:  # on copies
            copies = {id(t): aten.clone.default(synced(t)) for t in targets}
            values = tree_map(lambda a: copies[id(a)] if id(a) in copies else self._value(a), (args, kwargs))
            result = func(*values[0], **values[1])
            new = [copies[id(t)] for t in targets]
        else:
            outs = getattr(func._entry, "outs", ())
            values = tree_map(self._value, (args, {k: v for k, v in kwargs.items() if k not in outs}))
            result = plain(*values[0], **values[1])
            new = list(result) if isinstance(result, (tuple, list)) else [result]
            for i, (t, value) in enumerate(zip(targets, new)):
                if value.dtype != t.dtype:
                    new[i] = aten._to_copy.default(value, dtype=t.dtype)
                if value.shape != t.shape and plain is not aten.resize.default and func._entry.inplace:
                    new[i] = self.viewing(aten.expand.default)(new[i], list(t.shape))
        for t, value in zip(targets, new):
            _write(t, value)
        by_id = {id(v): t for v, t in zip(new, targets)}
        if plain is not None:
            return targets[0] if len(targets) == 1 else tuple(targets)
        return tree_map(lambda r: by_id[id(r)] if id(r) in by_id else self._wrap(r), result)


def _overload(name: str, form: str) -> Any:
    """An overload of an ATen operator that torchlite has, or None."""
    return getattr(getattr(aten, name), form) if form in _ops._entries(name) else None


def _without_writes(func: Any) -> Any:
    """The overload that returns what another writes, or None."""
    entry, name = func._entry, func.overloadpacket.__name__
    if name == "resize_":
        return aten.resize.default
    if callable(entry):
        return None
    if not (entry.outs or entry.inplace):
        return _overload(name[:-1], func._overloadname) if name[-1] == "_" else None
    plain = next((ov for ov in entry.overload.spec.overloads if ov.schema == entry.overload.schema), None)
    return None if plain is None else _modes._overload(plain, "")


# ---- in and out ------------------------------------------------------------------------------------------------------
class _Enter(Function):
    """A tensor as one of functionalize, with its history."""

    crosses_levels = True

    @staticmethod
    def forward(x: Any, mode: Any) -> Any:
        return _make(_C.alias(x), mode)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.mode = inputs[1]

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return _leave(grad), None


class _Leave(Function):
    """The other way round."""

    crosses_levels = True

    @staticmethod
    def forward(t: Any) -> Any:
        return _C.alias(synced(t))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.mode = inputs[0]._mode

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return _enter(grad, ctx.mode)


def _recorded(t: Any) -> bool:
    return _C.requires_grad(t) and torch.is_grad_enabled()


def _enter(x: Any, mode: Any) -> Any:
    if _recorded(x):
        return _Enter.apply(x, mode)
    return _make(x.detach() if x.requires_grad else x, mode)


def _leave(t: Any) -> Any:
    if not isinstance(t, FunctionalTensor):
        return t
    return _Leave.apply(t) if _recorded(t) else synced(t)


def functionalize(func: Any, *, remove: str = "mutations") -> Any:
    """See torch.func.functionalize."""
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            "functionalize(f, remove='mutations'): received invalid argument for remove=%s. Valid options are:\n     "
            "remove='mutations': all inplace and out= operators will be removed from the program, and replaced with "
            "their out-of-place equivalents.\n     remove='mutations_and_views': In addition to the above, all "
            "aliasing operators {view} will be replaced with their non-aliasing counterparts, {view}_copy.\n" % remove
        )
    views = remove == "mutations"

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        mode = FunctionalTensorMode(views)
        entered: list[tuple[Any, Any]] = []

        def enter(x: Any) -> Any:
            if not isinstance(x, torch.Tensor):
                return x
            entered.append((x, _enter(x, mode)))
            return entered[-1][1]

        given, named = tree_map(enter, (args, kwargs))
        with mode:
            out = func(*given, **named)
        for x, t in entered:  # so that the caller sees what was written to an input
            value = _leave(t)
            if t._root.generation:
                if value.shape != x.shape:
                    x.resize_(value.shape)
                x.copy_(value)
        return tree_map(_leave, out)

    return wrapped
