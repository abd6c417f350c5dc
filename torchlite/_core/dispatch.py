"""Where an op runs when its tensors are not all on the CPU, out= variants, and `explain`."""

from __future__ import annotations


import functools

from .. import _C
from . import device as _device, dispatch_modes as _modes, out as _out
from .errors import output_shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any
    from types import ModuleType
    from .._types import Device, MemoryFormat, Overload, Tensor


def _tensors(args: tuple[Any, ...]) -> Iterator[Any]:
    for a in args:
        if isinstance(a, _C.TensorBase):
            yield a
        elif isinstance(a, (list, tuple)):
            yield from (x for x in a if isinstance(x, _C.TensorBase))


@functools.cache
def _webgpu_bridge() -> ModuleType:
    from ..webgpu.transport import bridge

    return bridge


def unavailable(device: Device) -> Any:
    """Why a device cannot be used, as an exception; None where it can."""
    if device.type in ("cpu", "meta"):
        return None
    if device.type == "cuda":
        return AssertionError("Torch not compiled with CUDA enabled")
    if device.type == "webgpu":
        try:
            _webgpu_bridge().require()
        except RuntimeError as error:
            return error
        if device.index:
            return RuntimeError("device webgpu:%d does not exist; a page has one GPU, webgpu:0" % device.index)
        return None
    return NotImplementedError("device %s is not supported by torchlite; available devices: cpu, webgpu, meta" % device)


_TENSORS, _DEVICE, _LAYOUT = (0, 1), 9, 11  # kinds of parameters in native/src/core/op.h


@functools.cache
def _places(ov: Any) -> tuple[tuple[int, ...], tuple[int, ...], bool]:
    """The positions of an overload's device and layout arguments, and whether it takes tensors."""
    kinds = [p[3] for p in ov.params]
    devices = tuple(i for i, kind in enumerate(kinds) if kind == _DEVICE)
    layouts = tuple(i for i, kind in enumerate(kinds) if kind == _LAYOUT)
    return devices, layouts, any(kind in _TENSORS for kind in kinds)


def dispatch_other(ov: Any, args: Any) -> Any:
    """Handles the device and layout arguments of a call.

    Returns None if the op runs on the CPU; the arguments to run it with if on another device, with the device of
    torch.set_default_device filled in; the result itself, a tensor, if the layout is a sparse one."""
    off_cpu = False
    devices, layouts, like = _places(ov)  # like: without a device argument, the result is on that of the tensors
    for i in layouts:
        a = args[i]
        if isinstance(a, _device.layout) and a is not _device.strided:
            return _of_layout(a)(ov, args)
    for i in devices:
        a = args[i]
        if a is None and like:
            continue
        device: Any = _device.device(a) if a is not None else _device.default()
        _device.require_available(device)
        if device.type != "cpu":
            off_cpu = True
        if device.type == "meta":
            device = _device.device("meta")  # an index means nothing there
        if device is not a and (a is not None or device.type != "cpu"):
            args = (*args[:i], device, *args[i + 1 :])
    if not off_cpu:
        for t in _tensors(args):
            if not t.is_cpu:
                return args
    return args if off_cpu else None


def _of_layout(layout: Any) -> Any:
    """Who makes new tensors of a layout that the core does not have."""
    if layout is _device._mkldnn:
        from .mkldnn import factory as made
    else:
        from ..sparse._build import factory as made
    return made


def no_meta(name: str) -> NotImplementedError:
    """PyTorch's error for an op whose result depends on numbers, for tensors that have none."""
    return NotImplementedError(
        "aten::%s: attempted to run this operator with Meta tensors, but there was no fake impl or Meta kernel "
        "registered: its result depends on the numbers, which tensors on the meta device do not have" % name
    )


def _refuse_meta(ov: Any, args: Any) -> Any:
    raise no_meta(ov.spec.name)


def move(t: Tensor, device: Device, dtype: Any, memory_format: MemoryFormat | None = None) -> Tensor:
    """A copy of t on another device (and of another dtype), recorded."""
    _device.require_available(device)
    return _ops().functions._to_dtype(t, dtype=dtype, device=device, memory_format=memory_format)


def _ops() -> ModuleType:
    import torchlite

    return torchlite.ops


def resolve(t: Tensor) -> Tensor:
    """A copy of a view of conjugates or negatives on another device than the CPU."""
    raw = _C.alias(t)
    raw._conj_bit = raw._neg_bit = False
    with _C.GradMode(False):
        if t.is_conj():
            raw = raw.conj_physical()
        return raw.neg() if t.is_neg() else raw


def _load_device(hook: str, *args: Any) -> Any:
    """The first call of a hook: loads the device, which puts its own in the place of all of them."""
    from ..webgpu import run as _run

    _run.register()
    return _run.HOOKS[hook](*args)


for _name in ("device_alloc", "device_resize", "device_copy", "device_fill", "device_run", "host_copy"):
    _C.register(_name, functools.partial(_load_device, _name))


def _overlap(a: Any, b: Any) -> Any:
    """Whether two tensors, of which PyTorch looks at dense ones only, have memory in common."""
    if a is b:
        return a.numel() > 0
    if not (a.numel() and b.numel() and a.is_contiguous() and b.is_contiguous()):
        return False
    if a.device is not b.device or any(t.is_conj() or t.is_neg() for t in (a, b)):  # the latter are copied first
        return False
    if a.untyped_storage()._cdata != b.untyped_storage()._cdata:  # on meta all addresses are 0
        return False
    x, y = (t.storage_offset() * t.element_size() for t in (a, b))
    return x < y + b.numel() * b.element_size() and y < x + a.numel() * a.element_size()


def _shared_memory() -> RuntimeError:
    return RuntimeError(
        "unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
        "single memory location. Please clone() the tensor before performing the operation."
    )


def call_out(ov: Any, args: tuple[Any, ...], out: Any) -> Any:
    """op(..., out=out): computes, then resizes and copies, with PyTorch's checks."""
    spec = ov.spec
    if _C.forward_ad(None):
        from ..autograd import forward_ad

        forward_ad.refuse_out(ov, args)
    name, tags = spec.name, spec.out.tags
    several = isinstance(out, (list, tuple))
    outs = tuple(out) if several else (out,)
    one = ov.schema.endswith("-> Tensor")
    if several and one or not all(isinstance(o, _C.TensorBase) for o in outs):
        raise TypeError("%s(): argument 'out' must be Tensor, not %s" % (name, type(out).__name__))
    if (_modes.stack or _modes.used[0]) and _modes.ask_out(ov, args, outs):
        return out
    ins = tuple(_tensors(args))
    recorded = _C.is_grad_enabled()
    copied = False
    if recorded and "late" not in tags:
        copied = _out.check_gradients(ov, args, ins, outs)
    kernel = _C.kernels.get(ov.kernel)
    if "ordered" in tags or kernel is not None and kernel.in_place and "loose" not in tags:
        for o in outs:
            # PyTorch gives out its shape first, which makes another memory of it; the element-wise ones look before
            if "pointwise" in spec.tags or o.shape == getattr(args[0], "shape", None) or 0 not in o.stride():
                _C.check_overlap(o, *ins)
    if "whole" in tags:
        for o in outs:
            _C.check_overlap(o)
    if "apart" in tags and any(_overlap(o, t) for o in outs for t in ins):
        raise _shared_memory()
    if name == "randn" and not outs[0].is_contiguous() and tuple(args[0]) == outs[0].shape and outs[0].is_cpu:
        return outs[0].normal_(generator=args[1])  # draws in another order than for a tensor without gaps
    return finish_out(ov, args, out, _C.call_overload(ov, _out.arguments(ov, args, outs)), copied, 3)


def finish_out(ov: Any, args: tuple[Any, ...], out: Any, result: Any, copied: bool = False, stacklevel: int = 2) -> Any:
    """The rest of a call with out=, whose result is known. The core itself writes a result that out has room for, where
    the declaration asks for nothing else (F_PLAIN_OUT)."""
    spec, tags = ov.spec, ov.spec.out.tags
    name, ins, recorded = spec.name, tuple(_tensors(args)), _C.is_grad_enabled()
    outs = tuple(out) if isinstance(out, (list, tuple)) else (out,)
    results = result if isinstance(result, tuple) else (result,)
    for o, r in zip(outs, results):
        if o.is_meta != r.is_meta and (ins or r.dim()):  # torch.mul(2.0, 3.0) is a number wherever it is written
            raise RuntimeError(
                "Attempting to copy from device %s to device %s, but cross-device copies are not allowed!"
                % (r.device, o.device)
            )
    if len(results) != len(outs):
        raise TypeError("%s(): expected a tuple of %d elements for out, got %d" % (name, len(results), len(outs)))
    if any(r.dtype is not o.dtype for r, o in zip(results, outs)):
        _out.check(ov, args, results, outs)
    if recorded and "late" in tags:
        copied = _out.check_gradients(ov, args, ins, outs)
    for r, o in zip(results, outs):
        if "factory" in tags or "silent" in tags:
            _out.make(tags, r, o)
            continue
        if r.shape == o.shape:
            _C.check_overlap(o)
        else:
            if "pointwise" in spec.tags and any(o is t for t in ins):  # as in place, where nothing grows
                raise output_shape(o.shape, r.shape)
            if "apart" in tags and any(o is t for t in ins):  # an input without elements, which has some now
                raise _shared_memory()
            if o.numel():
                import warnings

                warnings.warn(
                    "An output with one or more elements was resized since it had shape %s, "
                    "which does not match the required output shape %s. This behavior is deprecated, "
                    "and in a future PyTorch release outputs will not be resized unless they have zero elements. "
                    "You can explicitly reuse an out tensor t by resizing it, inplace, "
                    "to zero elements with t.resize_(0)." % (list(o.shape), list(r.shape)),
                    UserWarning,
                    stacklevel=stacklevel,
                )
            _C.resize(o, tuple(r.shape))  # where resize_ refuses what requires grad, an op under no_grad does not
            if o.stride() != r.stride() and "plain" not in tags:
                _C.lay_out(o, r)
        if copied and (r.requires_grad or o.requires_grad):
            o.copy_(r)  # the result has the op's history
        else:
            (_C.copy if any(r is t for t in ins) else _C.copy_result)(o, r, "uncounted" not in tags)
            if "twice" in tags:
                o._bump_version()
            if recorded and spec.grad == {} and o.is_floating_point() and any(t.requires_grad for t in ins):
                from ..autograd._inplace import refuse

                refuse(o, "aten::" + name, *ins)  # as in place
    if ov.schema.endswith("[]"):  # PyTorch's schema is "... out) -> ()"
        return None
    if len(outs) == 1:
        return out
    from .. import return_types

    return getattr(return_types, name + "_out", tuple)(outs)


def _how(ov: Overload, device: Device | str | int | None) -> Any:
    """Which way an overload goes on a device."""
    if device == "cpu":
        if ov.kernel:
            return "kernel " + ov.kernel
        if ov.body is not None:
            return "body over other ops"
        return "not available"
    if ov.kernel is None:
        return "body over other ops"
    if ov.spec.view or ov.kernel in _C.kernels and _C.kernels[ov.kernel].geometry:
        return "a view"
    from ..webgpu.fallback import MADE_ON_CPU
    from ..webgpu.run import PLANNERS, ROWS

    if ov.kernel in ROWS:
        return "element-wise, fused with its neighbours"
    if ov.kernel in MADE_ON_CPU:
        return "made on the CPU and uploaded"
    if ov.kernel in PLANNERS:
        return "kernels (%s)" % ov.kernel
    return "body over other ops" if ov.body is not None else "on the CPU: arguments are read back, results uploaded"


def explain(op: Any, device: str = "cpu") -> Any:
    """How an op (by name) runs on a device ("cpu" or "webgpu"): the kernel of each overload, its body,
    or the CPU in its place.
    Types that a device's kernels lack go on as the next of these ways."""
    from .. import ops

    device = _device.device(device).type
    ops.load_all()
    lines = []
    for spec in ops.specs:
        if spec.name == op or op in spec.alias:
            for ov in spec.overloads:
                how = _how(ov, device)
                if spec.grad is not None:
                    gradient = "declared"
                else:
                    gradient = "through the body" if spec.differentiable else "none"
                lines.append("%s\n    on %s: %s; gradient: %s" % (ov.schema, device, how, gradient))
    if not lines:
        raise ValueError("no op named %r" % op)
    return "\n".join(lines)


def limited(ov: Any, args: tuple[Any, ...]) -> Any:
    """An op whose arguments have a limited dtype."""
    from . import limited as _limited

    _C.register("limited", _limited.run)
    return _limited.run(ov, args)


_C.register("limited", limited)
_C.register("dispatch_other", dispatch_other)
_C.register("no_meta", _refuse_meta)
_C.register("resolve", resolve)
_C.register("call_out", call_out)
_C.register("finish_out", finish_out)
