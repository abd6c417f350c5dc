"""The CPU in the device's place: its errors, its numbers, and ops that it runs, which is never silent."""

from __future__ import annotations

import os

import torchlite as torch

from .. import _C
from .._core.archive import FOLDER
from .devices import check_devices
from .tensors import copy_in, device_copy, host_copy_as, upload, upload_as

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any
    from .._types import Overload, Tensor
else:
    Tensor = _C.TensorBase

fallbacks: dict[str, int] = {}  # op -> how often the CPU ran it
on_fallback: list[Callable[[str], None]] = []  # functions called at each fallback, with the op's name
strict = os.environ.get("TORCHLITE_WEBGPU_STRICT", "") not in ("", "0")


# ---- its errors ------------------------------------------------------------------------------------------------------
def stand_in(a: Any, whole: bool = False) -> Any:
    """A CPU tensor of zeros with a's shape and dtype, of one element's memory; `whole`: of all that it can be written
    to. CPU tensors, and what is no tensor, stay."""
    if isinstance(a, Tensor):
        if a.is_cpu:
            return a
        if whole or not a.numel():
            return _C.fill(_C.empty(tuple(a.shape), a.dtype), 0)
        return _C.fill(_C.empty((1,) * a.dim(), a.dtype), 0).expand(a.shape)
    if isinstance(a, (list, tuple)) and any([isinstance(t, Tensor) for t in a]):
        return type(a)([stand_in(t) for t in a])
    return a


def _ask(ov: Any, args: Any) -> Any:
    """What the CPU's kernel makes of stand-ins for the arguments: for its error, its shape or its dtype."""
    with _C.GradMode(False):
        if ov.inplace:
            return _C.call_inplace_below_autograd(ov, tuple([stand_in(a, not i) for i, a in enumerate(args)]))
        return _C.call_below_autograd(ov, tuple([stand_in(a) for a in args]))


def cpu_error(ov: Any, args: Any, mixed: bool = False) -> Any:
    """The CPU kernel's error for arguments that a planner does not take; NotImplemented where it has none.
    `mixed`: CPU tensors may be among them."""
    if not mixed:
        check_devices(args)
    _ask(ov, args)
    return NotImplemented


def cpu_result(ov: Any, args: Any, mixed: bool = False) -> Any:
    """As cpu_error, but the CPU runs what it has no error for: for ops whose bodies may be the op itself again."""
    cpu_error(ov, args, mixed)
    return NotImplemented if ov.body is None else on_cpu(ov, args)


def ask_core(ov: Any, args: Any) -> Any:
    """As cpu_error, but the CPU's result where no element was read for it."""
    some = any([isinstance(a, Tensor) and a.numel() > 0 for a in args])
    r = _ask(ov, args)
    if r is NotImplemented or some and any([x.numel() for x in (r if isinstance(r, tuple) else (r,))]):
        return NotImplemented
    return tuple([upload(x) for x in r]) if isinstance(r, tuple) else upload(r)


def without_elements(ov: Any, args: Any) -> Any:
    """The result for tensors without elements, which the CPU knows."""
    return up(_ask(ov, args))


# ---- its numbers -----------------------------------------------------------------------------------------------------
# rows that make numbers on the CPU by definition, so that a seed gives PyTorch's numbers: nothing is read back
MADE_ON_CPU = frozenset(
    """rand randn randint randint_low randperm arange arange_start arange_step linspace logspace eye eye_m tril_indices
triu_indices""".split()
)
RANDOM_IN_PLACE = frozenset(
    "normal_ uniform_ exponential_ cauchy_ geometric_ log_normal_ random_ random_from random_to bernoulli_".split()
)
LIKE_ONLY = frozenset(("dropout_noise",))  # random tensors like their first argument, whose elements do not count
# arguments that the CPU kernel changes beside its result
_CHANGED = {"batch_norm": (3, 4), "native_batch_norm": (3, 4)}


def _without_device(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(
        [None if isinstance(a, torch.device) or type(a) is str and a.startswith("webgpu") else a for a in args]
    )


def made_on_cpu(ov: Overload, args: tuple[Any, ...]) -> Any:
    return up(_C.call_below_autograd(ov, _without_device(args)))


def random_in_place(ov: Overload, args: tuple[Any, ...]) -> Any:
    self = args[0]
    if any([isinstance(a, Tensor) for a in args[1:]]):
        return NotImplemented
    copy_in(self, _C.call_inplace_below_autograd(ov, (_unfilled(self), *args[1:])))
    return self


def like_only(ov: Overload, args: tuple[Any, ...]) -> Tensor:
    return upload_as(_C.call_below_autograd(ov, (_unfilled(args[0]), *args[1:])))


def _unfilled(t: Tensor) -> Tensor:
    """On the CPU, with t's strides: numbers are drawn in the order of memory."""
    return (
        _C.empty(tuple(t.shape), t.dtype)
        if t.is_contiguous()
        else _C.empty_strided(tuple(t.shape), t.stride(), t.dtype)
    )


# ---- ops that it runs ------------------------------------------------------------------------------------------------
def on_cpu(ov: Any, args: Any) -> Any:
    """Runs the CPU's kernel on copies and brings the results back: said once for each op, an error in strict mode."""
    name = ov.spec.name
    check_devices(args)
    note(name)
    moved = tuple([down(a) for a in args])
    if ov.inplace:
        _C.call_inplace_below_autograd(ov, moved)
        device_copy(args[0], moved[0])
        return args[0]
    r = _C.call_below_autograd(ov, moved)
    for i in _CHANGED.get(ov.kernel, ()):
        if isinstance(args[i], Tensor) and not args[i].is_cpu:
            device_copy(args[i], moved[i])
    return up(r)


def note(name: str) -> None:
    """Says that the CPU runs an op in the device's place: a warning the first time, an error in strict mode."""
    for fn in on_fallback:
        fn(name)
    if strict:
        raise NotImplementedError(
            "The operator 'aten::%s' is not currently implemented for the webgpu device, "
            "and TORCHLITE_WEBGPU_STRICT is set. Move its arguments to the CPU with .cpu()" % name
        )
    if name not in fallbacks:
        warn(
            "The operator 'aten::%s' is not currently supported on the webgpu device and runs on the CPU: "
            "its arguments are read back and "
            'its results uploaded. torch.explain(%r, device="webgpu") tells more.' % (name, name)
        )
    fallbacks[name] = fallbacks.get(name, 0) + 1


def warn(text: str) -> None:
    """A warning that points at the user's line."""
    import sys
    import warnings

    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and os.path.abspath(frame.f_code.co_filename).startswith(FOLDER + os.sep):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, UserWarning, stacklevel=level)


def down(a: Any) -> Any:
    if isinstance(a, Tensor):
        return host_copy_as(a) if not a.is_cpu else a
    if isinstance(a, (list, tuple)) and any(isinstance(x, Tensor) for x in a):
        return type(a)([down(x) for x in a])
    return a


def up(r: Any) -> Tensor | tuple[Tensor | None, ...] | None:
    if isinstance(r, Tensor):
        return upload_as(r) if r.is_cpu else r
    if type(r) in (list, tuple):
        return type(r)([up(x) for x in r])
    return r
