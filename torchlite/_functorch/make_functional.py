"""Modules as functions of their parameters and buffers: functorch's names, which torch.func.functional_call replaced.

The function holds a copy of the module whose tensors are on the meta device, and puts the given ones in for each call.
"""

from __future__ import annotations

import copy
from typing import Any

import torchlite as torch
from torchlite import nn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = [
    "FunctionalModule",
    "FunctionalModuleWithBuffers",
    "combine_state_for_ensemble",
    "make_functional",
    "make_functional_with_buffers",
]


def _put(module: nn.Module, path: str, value: Any) -> Any:
    """Puts a tensor in the place of a parameter or buffer, and returns the one that was there."""
    head, _, name = path.rpartition(".")
    owner: Any = module.get_submodule(head)
    old = getattr(owner, name)
    if name in owner._buffers and not isinstance(value, nn.Parameter):
        owner._buffers[name] = value
    else:
        delattr(owner, name)
        setattr(owner, name, value)
    return old


def _extract(module: nn.Module, named: Any, wrapped: Any) -> tuple[Any, Any, dict[str, list[str]]]:
    """(tensors, their names, all names of each by its first), with tensors without numbers left in the module."""
    names: dict[str, list[str]] = {}
    tensors: dict[int, tuple[str, Any, Any]] = {}
    for path, t in list(named(remove_duplicate=False)):
        if id(t) not in tensors:
            tensors[id(t)] = path, t, wrapped(torch.empty_like(t, device="meta"))
            names[path] = []
        first, _, blank = tensors[id(t)]
        names[first].append(path)
        _put(module, path, blank)
    return tuple(t for _, t, _ in tensors.values()), tuple(names), names


def extract_weights(mod: nn.Module) -> tuple[Any, Any, dict[str, list[str]]]:
    """The parameters of a module, which loses them."""
    return _extract(mod, mod.named_parameters, nn.Parameter)


def extract_buffers(mod: nn.Module) -> tuple[Any, Any, dict[str, list[str]]]:
    """The buffers of a module, which loses them."""
    return _extract(mod, mod.named_buffers, lambda t: t)


def load_weights(mod: nn.Module, names: Sequence[str], params: Sequence[Any], as_params: bool = False) -> None:
    """Puts tensors, which may have a history, in the places of parameters."""
    for name, p in zip(names, params):
        _put(mod, name, nn.Parameter(p) if as_params else p)


def load_buffers(mod: nn.Module, names: Sequence[str], buffers: Sequence[Any], as_params: bool = False) -> None:
    """The same of buffers."""
    load_weights(mod, names, buffers)


def load_state(
    model: nn.Module, weights: Any, weight_names: Any, buffers: Any = (), buffer_names: Any = ()
) -> nn.Module:
    """The model with these parameters and buffers in it."""
    for what, names, values in (("weight", weight_names, weights), ("buffer", buffer_names, buffers)):
        if len(names) != len(values):
            raise AssertionError(f"len({what}_names)={len(names)} != len({what}s)={len(values)}")
        load_weights(model, names, values)
    return model


def _swap(module: nn.Module, names: dict[str, list[str]], values: Iterable[Any]) -> list[Any]:
    return [[_put(module, path, value) for path in paths][0] for paths, value in zip(names.values(), values)]


class _Stateless(nn.Module):
    """A module without numbers of its own; calls get them first."""

    stateless_model: nn.Module

    def _with(self, names: dict[str, list[str]], values: Any, args: Any, kwargs: Any) -> Any:
        old = _swap(self.stateless_model, names, values)
        try:
            return self.stateless_model(*args, **kwargs)
        finally:
            _swap(self.stateless_model, names, old)


class FunctionalModuleWithBuffers(_Stateless):
    """What make_functional_with_buffers makes: called with (params, buffers, *args)."""

    def __init__(
        self,
        stateless_model: nn.Module,
        param_names: Any,
        buffer_names: Any,
        param_names_map: dict[str, list[str]],
        buffer_names_map: dict[str, list[str]],
    ) -> None:
        super().__init__()
        self.stateless_model, self.param_names, self.buffer_names = stateless_model, param_names, buffer_names
        self.all_names_map = {**param_names_map, **buffer_names_map}

    def forward(self, params: Any, buffers: Any, *args: Any, **kwargs: Any) -> Any:
        return self._with(self.all_names_map, (*params, *buffers), args, kwargs)


class FunctionalModule(_Stateless):
    """What make_functional makes: called with (params, *args)."""

    def __init__(self, stateless_model: nn.Module, param_names: Any, names_map: dict[str, list[str]]) -> None:
        super().__init__()
        self.stateless_model, self.param_names, self.names_map = stateless_model, param_names, names_map

    def forward(self, params: Any, *args: Any, **kwargs: Any) -> Any:
        return self._with(self.names_map, params, args, kwargs)


def _no_buffers(model: nn.Module, name: str) -> None:
    if next(model.buffers(), None) is not None:
        other = name.replace("make_functional", "make_functional_with_buffers")
        raise RuntimeError(f"{name}(model): `model` has buffers. Please use {other}(model) instead.")


def make_functional_with_buffers(model: nn.Module, disable_autograd_tracking: bool = False) -> tuple[Any, Any, Any]:
    """(function of (params, buffers, *args), params, buffers) of a copy of the module."""
    model = copy.deepcopy(model)
    params, names, names_map = extract_weights(model)
    buffers, buffer_names, buffer_map = extract_buffers(model)
    if disable_autograd_tracking:
        params = tuple(p.requires_grad_(False) for p in params)
    return FunctionalModuleWithBuffers(model, names, buffer_names, names_map, buffer_map), params, buffers


def make_functional(model: nn.Module, disable_autograd_tracking: bool = False) -> tuple[Any, Any]:
    """(function of (params, *args), params) of a copy of a module that has no buffers."""
    _no_buffers(model, "make_functional")
    made, params, _ = make_functional_with_buffers(model, disable_autograd_tracking)
    return FunctionalModule(made.stateless_model, made.param_names, made.all_names_map), params


def transpose_stack(tuples: Any) -> Any:
    """Tuples of one kind stacked element by element, without their history."""
    return tuple(torch.stack(shards).detach() for shards in zip(*tuples))


def combine_state_for_ensemble(models: Any) -> tuple[Any, Any, Any]:
    """(function of one model, stacked params, stacked buffers): vmap of the function runs all models."""
    name = "combine_state_for_ensemble: Expected "
    if not models:
        raise RuntimeError(name + "at least one model, got 0.")
    if len({bool(m.training) for m in models}) > 1:
        raise RuntimeError(name + "all models to have the same training/eval mode.")
    if len(set(map(type, models))) > 1:
        raise RuntimeError(name + "all models to be of the same class.")
    functions, params, buffers = zip(*map(make_functional_with_buffers, models))
    return functions[0], transpose_stack(params), transpose_stack(buffers)


# ---- older than these ------------------------------------------------------------------------------------------------
def make_functional_with_buffers_deprecated_v1(model: nn.Module) -> tuple[Any, ...]:
    """(weights, buffers, function of (weights, buffers, args), weight names, buffer names); the model is emptied."""
    weights, names, _ = extract_weights(model)
    buffers, buffer_names, _ = extract_buffers(model)

    def fun(weights: Any, buffers: Any, data: Any) -> Any:
        return load_state(copy.deepcopy(model), weights, names, buffers, buffer_names)(*data)

    return weights, buffers, fun, names, buffer_names


def make_functional_deprecated_v1(model: nn.Module) -> tuple[Any, ...]:
    """(weights, function of (weights, args), weight names); the model is emptied."""
    _no_buffers(model, "make_functional_deprecated_v1")
    weights, _, fun, names, _ = make_functional_with_buffers_deprecated_v1(model)
    return weights, lambda weights, data: fun(weights, (), data), names


def _init(make: Any, states: int, model_class: Any, ensemble_shape: Any, device: Any) -> Callable[..., Any]:
    """A function that makes models and returns what `make` gives, with the first `states` results stacked."""

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if len(ensemble_shape) >= 2:
            raise ValueError("NYI: ensemble_shape with more than 1 element")
        if not ensemble_shape:
            return make_functional_deprecated_v1(model_class(*args, **kwargs).to(device))
        if ensemble_shape[0] <= 0:
            raise ValueError(f"num_models {ensemble_shape[0]} should be > 0")
        models = [model_class(*args, **kwargs).to(device) for _ in range(ensemble_shape[0])]
        rest = make(model_class(*args, **kwargs))[states:]
        return (*map(transpose_stack, zip(*(make(m)[:states] for m in models))), *rest)

    return wrapped


def functional_init(model_class: Any, ensemble_shape: Any = (), device: Any = "cpu") -> Callable[..., Any]:
    """A function of the class's arguments that returns (weights, function, names), of a model or of many."""
    return _init(make_functional_deprecated_v1, 1, model_class, ensemble_shape, device)


def functional_init_with_buffers(model_class: Any, ensemble_shape: Any = (), device: Any = "cpu") -> Callable[..., Any]:
    """The same with buffers."""
    return _init(make_functional_with_buffers_deprecated_v1, 2, model_class, ensemble_shape, device)
