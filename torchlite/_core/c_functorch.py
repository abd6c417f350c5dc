"""torch._C._functorch: what packages ask it. torch.func calls functions with plain tensors, so no tensor is wrapped."""

from __future__ import annotations

import enum
from types import ModuleType
from typing import Any


class Functorch(ModuleType):
    """The namespace; what needs PyTorch's stack of interpreters is not in it."""


space = Functorch("torch._C._functorch")


def _answer(*names: str, value: Any) -> None:
    for name in names:

        def answer(*args: Any) -> Any:
            return value

        answer.__name__ = answer.__qualname__ = name
        answer.__module__ = space.__name__
        setattr(space, name, answer)


_answer(
    "is_batchedtensor",
    "is_functionaltensor",
    "is_functorch_wrapped_tensor",
    "is_gradtrackingtensor",
    "is_legacy_batchedtensor",
    "is_dead_tensor_wrapper",
    value=False,
)
_answer("maybe_get_bdim", "maybe_get_level", value=-1)
_answer("maybe_current_level", "peek_interpreter_stack", "get_interpreter_stack", value=None)
_answer("get_dynamic_layer_stack_depth", value=0)


class TransformType(enum.Enum):
    """The kinds of interpreters, as rules for higher-order operators are registered by them."""

    Torch, Vmap, Grad, Jvp, Functionalize = range(5)


class RandomnessType(enum.Enum):
    """What vmap's option `randomness` says."""

    Error, Same, Different = range(3)


def get_unwrapped(tensor: Any) -> Any:
    """PyTorch's error: there is nothing around a tensor."""
    raise RuntimeError("No wrappers present!")


def unwrap_if_dead(tensor: Any) -> Any:
    """The tensor itself."""
    return tensor


def reshape_dim_into(source: int, to: int, tensor: Any) -> Any:
    """The dim `source` moved before the dim `to` of what is left, and both as one."""
    shape = [n for d, n in enumerate(tensor.shape) if d != source % tensor.dim()]
    to %= len(shape)
    shape[to] *= tensor.shape[source]
    return tensor.movedim(source, to).reshape(shape)


def reshape_dim_outof(source: int, size: int, tensor: Any) -> Any:
    """The dim `source` as two, of which the first has the size given."""
    source %= tensor.dim()
    shape = [*tensor.shape]
    shape[source : source + 1] = [size, shape[source] // size]
    return tensor.reshape(shape)


for _thing in (TransformType, RandomnessType, get_unwrapped, unwrap_if_dead, reshape_dim_into, reshape_dim_outof):
    _thing.__module__ = space.__name__
    setattr(space, _thing.__name__, _thing)
