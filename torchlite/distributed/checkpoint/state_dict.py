"""State dicts of models and optimizers by parameters' names. In a world of one process nothing is sharded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torchlite as torch

from ..._core import absent as _absent

__all__ = [
    "StateDictOptions",
    "get_model_state_dict",
    "get_optimizer_state_dict",
    "get_state_dict",
    "set_model_state_dict",
    "set_optimizer_state_dict",
    "set_state_dict",
]


@dataclass
class StateDictOptions:
    """What the functions below take into account; without shards, full_state_dict and the broadcast change nothing."""

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def _moved(value: Any, options: StateDictOptions | None) -> Any:
    return value.cpu() if options and options.cpu_offload and isinstance(value, torch.Tensor) else value


def _frozen(model: Any, options: StateDictOptions | None) -> set[str]:
    if not (options and options.ignore_frozen_params):
        return set()
    return {name for name, p in model.named_parameters(remove_duplicate=False) if not p.requires_grad}


def get_model_state_dict(model: Any, *, submodules: Any = None, options: StateDictOptions | None = None) -> Any:
    """The model's state dict."""
    if submodules:
        raise _absent.error("torch.distributed.checkpoint.state_dict.get_model_state_dict(submodules=...)")
    left_out = _frozen(model, options)
    return {name: _moved(value, options) for name, value in model.state_dict().items() if name not in left_out}


def set_model_state_dict(model: Any, model_state_dict: Any, *, options: StateDictOptions | None = None) -> Any:
    """Loads a state dict into the model; gives the missing and unexpected keys."""
    return model.load_state_dict(model_state_dict, strict=options is None or options.strict)


def _names(model: Any, optimizer: Any) -> list[str]:
    """The names of an optimizer's parameters, in the order of its state dict."""
    by_id = {id(p): name for name, p in model.named_parameters()}
    return [by_id[id(p)] for group in optimizer.param_groups for p in group["params"]]


def _only(optimizers: Any, options: StateDictOptions | None) -> Any:
    if options and options.flatten_optimizer_state_dict:
        raise _absent.error("torch.distributed.checkpoint.state_dict: flatten_optimizer_state_dict")
    found = [optimizers] if isinstance(optimizers, torch.optim.Optimizer) else list(optimizers)
    if len(found) != 1:
        raise _absent.error("torch.distributed.checkpoint.state_dict: several optimizers at once")
    return found[0]


def get_optimizer_state_dict(
    model: Any, optimizers: Any, *, submodules: Any = None, options: StateDictOptions | None = None
) -> Any:
    """The optimizer's state dict, with the names of parameters in place of their numbers."""
    if submodules:
        raise _absent.error("torch.distributed.checkpoint.state_dict.get_optimizer_state_dict(submodules=...)")
    optimizer = _only(optimizers, options)
    names, state = _names(model, optimizer), optimizer.state_dict()
    return {
        "state": {
            names[i]: {key: _moved(value, options) for key, value in values.items()}
            for i, values in state["state"].items()
        },
        "param_groups": [{**g, "params": [names[i] for i in g["params"]]} for g in state["param_groups"]],
    }


def set_optimizer_state_dict(
    model: Any, optimizers: Any, optim_state_dict: Any, *, options: StateDictOptions | None = None
) -> None:
    """Loads such a state dict."""
    optimizer = _only(optimizers, options)
    number = {name: i for i, name in enumerate(_names(model, optimizer))}
    optimizer.load_state_dict(
        {
            "state": {number[name]: values for name, values in optim_state_dict["state"].items()},
            "param_groups": [
                {**g, "params": [number[name] for name in g["params"]]} for g in optim_state_dict["param_groups"]
            ],
        }
    )


def get_state_dict(
    model: Any, optimizers: Any, *, submodules: Any = None, options: StateDictOptions | None = None
) -> Any:
    """The state dicts of the model and of its optimizer."""
    return (
        get_model_state_dict(model, submodules=submodules, options=options),
        get_optimizer_state_dict(model, optimizers, submodules=submodules, options=options),
    )


def set_state_dict(
    model: Any,
    optimizers: Any,
    *,
    model_state_dict: Any,
    optim_state_dict: Any,
    options: StateDictOptions | None = None,
) -> Any:
    """Loads both."""
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return set_model_state_dict(model, model_state_dict, options=options)


__getattr__ = _absent.of(__name__)
