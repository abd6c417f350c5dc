"""torch._C._functorch: what packages ask it. The tensors of vmap are wrapped (`_functorch.batched`), those of grad are
not: they carry their history themselves."""

from __future__ import annotations

import enum
from types import ModuleType
from typing import Any

from . import dispatch_modes as _modes


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


_answer("is_functionaltensor", "is_gradtrackingtensor", "is_legacy_batchedtensor", value=False)
_answer("peek_interpreter_stack", "get_interpreter_stack", value=None)


def is_batchedtensor(tensor: Any) -> bool:
    """Whether a tensor stands for the examples of a vmap."""
    return _modes.is_mapped(tensor)


def is_functorch_wrapped_tensor(tensor: Any) -> bool:
    """The same: no other transform wraps tensors here."""
    return _modes.is_mapped(tensor)


def is_dead_tensor_wrapper(tensor: Any) -> bool:
    """Whether the vmap of a tensor has ended."""
    return _modes.is_mapped(tensor) and not tensor._level.active


def maybe_get_bdim(tensor: Any) -> int:
    """Which dim of get_unwrapped(tensor) has the examples; -1 where none has."""
    return 0 if _modes.is_mapped(tensor) and tensor._batched else -1


def maybe_get_level(tensor: Any) -> int:
    """The number of a tensor's vmap: 1 for the outermost; -1 without one."""
    return tensor._level.depth if _modes.is_mapped(tensor) else -1


def maybe_current_level() -> int | None:
    """The number of the innermost running vmap."""
    return get_dynamic_layer_stack_depth() or None


def get_dynamic_layer_stack_depth() -> int:
    """How many vmaps are running."""
    if not _modes.batching:
        return 0
    from .._functorch import batched

    return len(batched.running())


def _add_batch_dim(tensor: Any, batch_dim: int, level: int) -> Any:
    from .._functorch import vmap

    return vmap._add_batch_dim(tensor, batch_dim, level)


def _remove_batch_dim(tensor: Any, level: int, batch_size: int, out_dim: int) -> Any:
    from .._functorch import vmap

    return vmap._remove_batch_dim(tensor, level, batch_size, out_dim)


def _is_vmap_fallback_enabled() -> bool:
    """Whether an op that vmap has no rule for runs once per example, rather than being an error."""
    return _modes.by_example[0]


def _set_vmap_fallback_enabled(enabled: bool) -> None:
    """Lets it, or does not."""
    _modes.by_example[0] = enabled


class TransformType(enum.Enum):
    """The kinds of interpreters, as rules for higher-order operators are registered by them."""

    Torch, Vmap, Grad, Jvp, Functionalize = range(5)


class RandomnessType(enum.Enum):
    """What vmap's option `randomness` says."""

    Error, Same, Different = range(3)


def get_unwrapped(tensor: Any) -> Any:
    """The tensor of all examples that one of vmap stands for."""
    if not _modes.is_mapped(tensor):
        raise RuntimeError("No wrappers present!")
    if tensor.requires_grad and tensor._batched:  # with its history, which is the wrapper's
        from .._functorch.batched import leave

        return leave(tensor, tensor._level)
    return tensor._value


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


for _thing in (
    TransformType,
    RandomnessType,
    get_unwrapped,
    unwrap_if_dead,
    reshape_dim_into,
    reshape_dim_outof,
    is_batchedtensor,
    is_functorch_wrapped_tensor,
    is_dead_tensor_wrapper,
    maybe_get_bdim,
    maybe_get_level,
    maybe_current_level,
    get_dynamic_layer_stack_depth,
    _add_batch_dim,
    _remove_batch_dim,
    _is_vmap_fallback_enabled,
    _set_vmap_fallback_enabled,
):
    _thing.__module__ = space.__name__
    setattr(space, _thing.__name__, _thing)
