"""torch._C._functorch: what packages ask it. torch.func calls functions with plain tensors, so no tensor is wrapped."""

from __future__ import annotations

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


def get_unwrapped(tensor: Any) -> Any:
    """PyTorch's error: there is nothing around a tensor."""
    raise RuntimeError("No wrappers present!")


def unwrap_if_dead(tensor: Any) -> Any:
    """The tensor itself."""
    return tensor


space.get_unwrapped, space.unwrap_if_dead = get_unwrapped, unwrap_if_dead  # type: ignore[attr-defined]
