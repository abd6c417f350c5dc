"""Wrappers of modules that keep activations on the CPU, or compute them again in the backward pass."""

from __future__ import annotations

import abc
import enum
from functools import partial
from typing import Any

import torchlite as torch

_NAME = "_checkpoint_wrapped_module"
_PREFIX = _NAME + "."


class CheckpointImpl(enum.Enum):
    REENTRANT = enum.auto()
    NO_REENTRANT = enum.auto()


class ActivationWrapper(torch.nn.Module, abc.ABC):
    """A module around another one, whose names and state_dict are the other one's."""

    def __init__(self, mod: Any) -> None:
        super().__init__()
        self._checkpoint_wrapped_module = mod
        self._register_state_dict_hook(self._post_state_dict_hook)
        self.register_load_state_dict_pre_hook(self._pre_load_state_dict_hook)

    @abc.abstractmethod
    def forward(self, *args: Any, **kwargs: Any) -> Any: ...

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self._modules[_NAME], name)

    def __getitem__(self, key: Any) -> Any:
        return self._checkpoint_wrapped_module[key]

    def named_parameters(self, *args: Any, **kwargs: Any) -> Any:
        for name, p in super().named_parameters(*args, **kwargs):
            yield name.replace(_PREFIX, ""), p

    @staticmethod
    def _post_state_dict_hook(module: Any, state_dict: Any, prefix: str, *args: Any) -> Any:
        for key in [k for k in state_dict if k.startswith(prefix + _PREFIX)]:
            state_dict[prefix + key[len(prefix + _PREFIX) :]] = state_dict.pop(key)
        return state_dict

    @staticmethod
    def _pre_load_state_dict_hook(module: Any, state_dict: Any, prefix: str, *args: Any) -> None:
        for key in [k for k in state_dict if k.startswith(prefix)]:
            state_dict[prefix + _PREFIX + key[len(prefix) :]] = state_dict.pop(key)


class OffloadWrapper(ActivationWrapper):
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        with torch.autograd.graph.save_on_cpu(pin_memory=True):
            return self._checkpoint_wrapped_module(*args, **kwargs)


class CheckpointWrapper(ActivationWrapper):
    def __init__(
        self,
        mod: Any,
        checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
        checkpoint_fn: Any = None,
        **checkpoint_fn_kwargs: Any,
    ) -> None:
        super().__init__(mod)
        self.checkpoint_impl = checkpoint_impl
        if checkpoint_fn is None:
            from torchlite.utils.checkpoint import checkpoint as checkpoint_fn

            checkpoint_fn_kwargs["use_reentrant"] = checkpoint_impl is CheckpointImpl.REENTRANT
        self.checkpoint_fn = partial(checkpoint_fn, **checkpoint_fn_kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        if self.checkpoint_impl is not CheckpointImpl.REENTRANT or not kwargs:
            return self.checkpoint_fn(self._checkpoint_wrapped_module, *args, **kwargs)
        # the reentrant kind takes no keywords
        names, values = tuple(kwargs), tuple(kwargs.values())

        def run(*flat: Any) -> Any:
            given = dict(zip(names, flat[len(args) :]))
            return self._checkpoint_wrapped_module(*flat[: len(args)], **given)

        return self.checkpoint_fn(run, *args, *values)


def offload_wrapper(module: Any) -> Any:
    """The module with what autograd saves of it on the CPU."""
    return OffloadWrapper(module)


def checkpoint_wrapper(
    module: Any,
    checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
    checkpoint_fn: Any = None,
    **checkpoint_fn_kwargs: Any,
) -> Any:
    """The module with its activations computed again in the backward pass."""
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def apply_activation_checkpointing(
    model: Any,
    checkpoint_wrapper_fn: Any = checkpoint_wrapper,
    check_fn: Any = lambda _: True,
    auto_wrap_policy: Any = None,
) -> None:
    """Wraps the modules inside `model` that check_fn takes, the inner ones first."""
    if auto_wrap_policy is not None:
        raise NotImplementedError("apply_activation_checkpointing: auto_wrap_policy needs FSDP; give check_fn")
    for parent in [m for m in model.modules() if not isinstance(m, ActivationWrapper)]:
        for name, child in list(parent.named_children()):
            if check_fn(child) and not isinstance(child, ActivationWrapper):
                setattr(parent, name, checkpoint_wrapper_fn(child))
