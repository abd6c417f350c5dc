"""The part of `Module` that moves and casts: `to` and its relatives."""

from __future__ import annotations

import torchlite as torch
from torchlite import __future__ as _future
from torchlite.nn.parameter import Parameter
from ._members import _Members

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any
    from ..._types import DType, Device, Tensor


class _Conversion(_Members):
    """Changes all parameters and buffers of a `Module`."""

    def _apply(self, fn: Callable[..., Any], recurse: bool = True) -> Any:
        if recurse:
            for module in self.children():
                module._apply(fn)
        overwrite = _future.get_overwrite_module_params_on_conversion()
        for key, param in self._parameters.items():
            if param is None:
                continue
            grad = param.grad
            with torch.no_grad():
                new = fn(param)
            if _future.get_swap_module_params_on_conversion():
                self._swap(key, param, new, grad, fn)
                continue
            replaced = overwrite or new.is_meta is not param.is_meta  # meta memory cannot become other memory
            if replaced:
                param = Parameter(new, param.requires_grad)
                self._parameters[key] = param
            elif new is not param:
                param.data = new
            if grad is not None:
                with torch.no_grad():
                    new_grad = fn(grad)
                new_grad.requires_grad_(grad.requires_grad)
                if replaced or new_grad is not grad:
                    param.grad = None
                    param.grad = new_grad
        for key, buf in self._buffers.items():
            if buf is not None:
                self._buffers[key] = fn(buf)
        return self

    def _swap(self, key: str, param: Any, new: Any, grad: Any, fn: Callable[..., Any]) -> None:
        """The parameter, and its gradient, change places with what `fn` made of them."""
        name = "%s.%s" % (type(self).__name__, key)
        try:
            param.grad = None
            torch.utils.swap_tensors(param, Parameter(new, requires_grad=param.requires_grad))
        except Exception as e:
            param.grad = grad
            raise RuntimeError(f"_apply(): Couldn't swap {name}") from e
        if grad is None:
            return
        with torch.no_grad():
            new_grad = fn(grad)
        new_grad.requires_grad_(grad.requires_grad)
        try:
            torch.utils.swap_tensors(grad, new_grad)
        except Exception as e:
            raise RuntimeError(f"_apply(): Couldn't swap {name}.grad") from e
        param.grad = grad

    def apply(self, fn: Callable[..., Any]) -> Any:
        """Calls `fn` on every submodule (children first) and on self."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def cuda(self, device: Device | str | int | None = None) -> Any:
        """Moves parameters and buffers to the "cuda" device."""
        return self._apply(lambda t: t.cuda(device))

    def ipu(self, device: Device | str | int | None = None) -> Any:
        return self._apply(lambda t: t.ipu(device))

    def xpu(self, device: Device | str | int | None = None) -> Any:
        return self._apply(lambda t: t.xpu(device))

    def mtia(self, device: Device | str | int | None = None) -> Any:
        return self._apply(lambda t: t.mtia(device))

    def cpu(self) -> Any:
        """Moves parameters and buffers to the CPU."""
        return self._apply(lambda t: t.cpu())

    def type(self, dst_type: Any) -> Any:
        """Casts parameters and buffers to `dst_type`."""
        return self._apply(lambda t: t.type(dst_type))

    def float(self) -> Any:
        """Casts floating point parameters and buffers to float32."""
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def double(self) -> Any:
        """Casts floating point parameters and buffers to float64."""
        return self._apply(lambda t: t.double() if t.is_floating_point() else t)

    def half(self) -> Any:
        """Casts floating point parameters and buffers to float16."""
        return self._apply(lambda t: t.half() if t.is_floating_point() else t)

    def bfloat16(self) -> Any:
        """Casts floating point parameters and buffers to bfloat16."""
        return self._apply(lambda t: t.bfloat16() if t.is_floating_point() else t)

    def to_empty(self, *, device: Device | str | int | None, recurse: bool = True) -> Any:
        """Moves to `device` without copying the values."""
        return self._apply(lambda t: torch.empty_like(t, device=device), recurse=recurse)

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Moves and/or casts parameters and buffers: `to(device)`, `to(dtype)`, `to(tensor)`, `to(memory_format=)`.

        Only floating point and complex tensors change dtype.
        """
        device, dtype, non_blocking, memory_format = _parse_to(*args, **kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )

        def convert(t: Tensor) -> Tensor:
            d = dtype if t.is_floating_point() or t.is_complex() else None
            if t.is_meta and device is not None and device.type != "meta":
                raise NotImplementedError(
                    "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of "
                    "torch.nn.Module.to() when moving module from meta to a different device."
                )
            if memory_format is not None and t.dim() in (4, 5):
                return t.to(device, d, non_blocking, memory_format=memory_format)
            return t.to(device, d, non_blocking)

        return self._apply(convert)


def _parse_to(
    *args: Any,
    device: Any = None,
    dtype: Any = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Any = None,
) -> tuple[Device | None, DType | None, bool, None]:
    # (device, dtype, non_blocking, copy), (dtype, non_blocking, copy) or (tensor, non_blocking, copy)
    if args:
        first, rest = args[0], args[1:]
        if isinstance(first, torch.dtype):
            dtype = first
        elif isinstance(first, torch.Tensor):
            device, dtype = first.device, first.dtype
        else:
            device = first
            if rest and (rest[0] is None or isinstance(rest[0], torch.dtype)):
                dtype, rest = rest[0], rest[1:]
        if rest:
            non_blocking = rest[0]
    if device is not None and not isinstance(device, torch.device):
        device = torch.device(device)
    return device, dtype, non_blocking, memory_format
