"""FakeTensorMode and FakeTensor: a tensor that says it is on a device, and whose ops run on the meta device."""

from __future__ import annotations

import weakref
from typing import Any

import torchlite as torch
from torchlite.utils import _pytree as pytree
from torchlite.utils._python_dispatch import TorchDispatchMode

from .. import _C
from ..autograd._node import as_leaf
from .._core import dispatch_modes as _modes, tensor_str as _tensor_str, wrappers as _wrappers
from .._core.errors import no_numpy_of_subclass

aten = torch.ops.aten
_CONSTANT_NUMEL_LIMIT = 1  # numbers of at most so many elements are kept, for item()
# what a call needs numbers for: the size of its result, or the result itself
_DYNAMIC = frozenset(
    "nonzero masked_select unique_consecutive unique_dim _unique _unique2 bincount repeat_interleave argwhere".split()
)


class UnsupportedFakeTensorException(RuntimeError):
    """A tensor that has no fake."""

    def __init__(self, reason: str) -> None:
        self.reason = reason


class UnsupportedOperatorException(RuntimeError):
    """An operator without anything that says the shape of its result."""

    def __init__(self, func: Any) -> None:
        self.func = func


class DynamicOutputShapeException(RuntimeError):
    """The shape of the result depends on numbers."""

    def __init__(self, func: Any) -> None:
        self.func = func

    def __str__(self) -> str:
        return str(self.func)


class DataDependentOutputException(RuntimeError):
    """The result depends on numbers."""

    def __init__(self, func: Any) -> None:
        self.func = func

    def __str__(self) -> str:
        return str(self.func)


class FakeTensorDeviceMismatchError(RuntimeError):
    """Tensors of two devices in one call."""


class FakeTensor(torch.Tensor):
    """A tensor without numbers. `device` is where it would be; ops run on the tensor of the meta device in it."""

    fake_mode: FakeTensorMode
    constant: Any
    _elem: Any

    @staticmethod
    def __new__(
        cls: Any,
        fake_mode: Any,
        elem: Any,
        device: Any,
        constant: Any = None,
        real_tensor: Any = None,
        storage: Any = None,
    ) -> Any:
        device = torch.device(device)
        if device.type not in ("cpu", "webgpu", "meta"):
            raise NotImplementedError("FakeTensor: torchlite has no device %s; use cpu, webgpu or meta" % device)
        t = _wrappers.make(
            cls, elem.shape, elem.stride(), elem.storage_offset(), None, elem.dtype, None, device,
            requires_grad=elem.requires_grad, storage_size=elem.untyped_storage().nbytes(), storage=storage,
        )  # fmt: skip
        t.fake_mode, t.constant, t._elem = fake_mode, constant, elem.detach()
        return t

    @property
    def fake_device(self) -> Any:
        return self.device

    @staticmethod
    def from_tensor(t: Any, fake_mode: Any) -> Any:
        return fake_mode.from_tensor(t)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        fake = next(a for a in pytree.tree_leaves((args, kwargs)) if isinstance(a, FakeTensor))
        return fake.fake_mode.dispatch(func, types, args, kwargs)

    def __repr__(self, *, tensor_contents: Any = None) -> Any:  # type: ignore[override]
        return _tensor_str._str(self, tensor_contents="...")

    __torch_function__ = _C._disabled_torch_function_impl

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            made: Any = as_leaf(self.detach().clone(), self.requires_grad)
            if getattr(self, "_is_param", False):
                made._is_param = True
            memo[id(self)] = made
        return memo[id(self)]

    def numpy(self, *, force: bool = False) -> Any:
        raise no_numpy_of_subclass()

    def tolist(self) -> Any:
        if self.dim() == 0:
            return self.item()
        return [x.tolist() for x in self]


def _shown(x: Any) -> str:
    """A tensor in the text of an error: its size beside what it holds."""
    if isinstance(x, torch.Tensor) and not isinstance(x, FakeTensor):
        contents = "[...]" if x.dim() else _tensor_str._tensor_str(x.detach(), 0)
        return "tensor(%s, size=%s)" % (contents, tuple(x.shape))
    return repr(x)


class FakeTensorMode(TorchDispatchMode):
    """Inside, functions make fake tensors. `from_tensor` makes one of a real tensor.

    allow_non_fake_inputs: real tensors beside fake ones become fake by themselves; else they are an AssertionError."""

    def __init__(
        self,
        *,
        allow_fallback_kernels: bool = True,
        allow_non_fake_inputs: bool = False,
        shape_env: Any = None,
        static_shapes: bool | None = None,
        export: bool = False,
    ) -> None:
        super().__init__()
        self.allow_fallback_kernels, self.allow_non_fake_inputs = allow_fallback_kernels, allow_non_fake_inputs
        self.shape_env, self.static_shapes, self.export = shape_env, True, export
        self._made: dict[int, tuple[Any, Any]] = {}

    def from_tensor(self, tensor: Any, *, static_shapes: Any = None, source: Any = None, **_: Any) -> Any:
        """The fake of a real tensor: the same one each time. A fake tensor of this mode is its own."""
        if self.shape_env is not None and not static_shapes:
            raise NotImplementedError("FakeTensorMode: torchlite has no symbolic sizes; ask for static_shapes=True")
        if isinstance(tensor, FakeTensor):
            self._check_mode(tensor)
            return tensor
        key = id(tensor)
        if key in self._made and self._made[key][0]() is tensor:
            return self._made[key][1]
        if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
            raise UnsupportedFakeTensorException("%s: a tensor of another class" % type(tensor).__name__)
        with self._outside():
            elem = torch.empty(0, dtype=tensor.dtype, device="meta")
            extent = torch.empty(tensor.untyped_storage().nbytes(), dtype=torch.uint8, device="meta")
            elem.set_(extent.untyped_storage(), tensor.storage_offset(), tensor.shape, tensor.stride())
            if tensor.is_conj() or tensor.is_neg():
                elem._conj_bit, elem._neg_bit = tensor.is_conj(), tensor.is_neg()
            fake = FakeTensor(self, as_leaf(elem, tensor.requires_grad), tensor.device)
        if isinstance(tensor, torch.nn.Parameter):
            fake._is_param = True
        if tensor.grad is not None:
            fake.grad = self.from_tensor(tensor.grad)
        made = self._made
        made[key] = weakref.ref(tensor, lambda _: made.pop(key, None)), fake
        return fake

    def fake_tensor_converter(self) -> Any:
        return self

    def _outside(self) -> Any:
        return torch.utils._python_dispatch._disable_current_modes()

    def _check_mode(self, x: Any) -> None:
        if x.fake_mode is not self:
            raise AssertionError("Mixing fake modes NYI x.fake_mode=%r vs self=%r" % (x.fake_mode, self))

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self.dispatch(func, types, args, kwargs)

    def dispatch(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """What a call gives, on the meta device."""
        with self._outside():
            return self._dispatch(func, args, kwargs or {})

    def _dispatch(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        flat, spec = pytree.tree_flatten((args, kwargs))
        if func in (aten.lift_fresh.default, aten.lift_fresh_copy.default) and not isinstance(args[0], FakeTensor):
            fake = self.from_tensor(args[0])
            if args[0].numel() <= _CONSTANT_NUMEL_LIMIT:
                fake.constant = args[0]
            return fake
        for i, a in enumerate(flat):
            if isinstance(a, FakeTensor):
                self._check_mode(a)
            elif isinstance(a, torch.Tensor):
                if not self.allow_non_fake_inputs:
                    shown = [_shown(x) for x in args] + ["%s=%s" % (k, _shown(v)) for k, v in kwargs.items()]
                    raise AssertionError(
                        "Please convert all Tensors to FakeTensors first or instantiate FakeTensorMode with "
                        "'allow_non_fake_inputs'. Found in %s(%s)" % (func, ", ".join(shown))
                    )
                flat[i] = self.from_tensor(a)
        fakes = [a for a in flat if isinstance(a, FakeTensor)]
        known = self._by_constants(func, flat, spec, fakes)
        if func is aten._local_scalar_dense.default:
            if fakes[0].constant is None:
                raise DataDependentOutputException(func)
            return fakes[0].constant.item()
        device = self._device(func, kwargs, fakes)
        metas = [a._elem if isinstance(a, FakeTensor) else a for a in flat]
        meta_args, meta_kwargs = pytree.tree_unflatten(metas, spec)
        if any(a.name == "device" for a in func._schema.arguments) and (kwargs.get("device") or not fakes):
            meta_kwargs["device"] = torch.device("meta")
        try:
            result = func(*meta_args, **meta_kwargs)
        except (NotImplementedError, RuntimeError) as error:
            raise self._reason(func, error) from None
        for a in fakes:  # what changed its own sizes and strides
            if a._elem.shape != a.shape or a._elem.stride() != a.stride():
                like = _wrappers.make(FakeTensor, a._elem.shape, a._elem.stride(), dtype=a.dtype, device=a.device)
                with _modes.DisableTorchDispatch():
                    a.set_(like)
        own = {id(a._elem): a for a in fakes}
        shared = {id(a._elem._storage): a._storage for a in fakes}

        def wrapped(r: Any) -> Any:
            if not isinstance(r, torch.Tensor):
                return r
            if id(r) in own:
                return own[id(r)]
            made = FakeTensor(self, r, device, storage=shared.get(id(r._storage)))
            shared[id(r._storage)] = made._storage
            return made

        made = pytree.tree_map(wrapped, result)
        if func._schema.is_mutable and known is None:
            for a in fakes:
                a.constant = None
        elif isinstance(made, FakeTensor) and not func._schema.is_mutable:
            made.constant = known
        return made

    def _by_constants(self, func: Any, flat: list[Any], spec: Any, fakes: list[Any]) -> Any:
        """The result where all tensors are known numbers; what is written to stays known."""
        if not fakes or any(a.constant is None for a in fakes):
            return None
        args, kwargs = pytree.tree_unflatten([a.constant if isinstance(a, FakeTensor) else a for a in flat], spec)
        result = func(*args, **kwargs)
        small = isinstance(result, torch.Tensor) and result.numel() <= _CONSTANT_NUMEL_LIMIT
        return result if small else None

    @staticmethod
    def _device(func: Any, kwargs: dict[str, Any], fakes: list[Any]) -> Any:
        """Where the result is: the device that is named, else that of the tensors; numbers without dims join others."""
        if kwargs.get("device") is not None:
            return torch.device(kwargs["device"])
        if not fakes:
            return torch.get_default_device()
        sized = [a for a in fakes if a.dim() or a.device.type != "cpu"] or fakes
        for a in sized:
            if a.device != sized[0].device and func._schema.name != "aten::copy_":
                raise FakeTensorDeviceMismatchError(
                    "Expected all tensors to be on the same device, but found at least two devices, %s and %s!"
                    % (sized[0].device, a.device)
                )
        return sized[0].device

    @staticmethod
    def _reason(func: Any, error: Exception) -> Exception:
        text = str(error)
        if func._defined_in_python and "no fake impl or Meta kernel" in text:
            return UnsupportedOperatorException(func)
        if "Meta tensors" in text or "how many elements a mask selects" in text:
            name = func._schema.name.rpartition(":")[2]
            if name == "index":
                return DynamicOutputShapeException(aten.nonzero.default)
            return (DynamicOutputShapeException if name in _DYNAMIC else DataDependentOutputException)(func)
        if "cannot be called on meta tensors" in text or "Cannot copy out of meta tensor" in text:
            name = func._schema.name.rpartition(":")[2]
            return (DynamicOutputShapeException if name in _DYNAMIC else DataDependentOutputException)(func)
        return error


def is_fake(x: Any) -> bool:
    """Whether x is a fake tensor."""
    return isinstance(x, FakeTensor)


def maybe_get_fake_mode(x: Any) -> FakeTensorMode | None:
    """The mode of a fake tensor, else None."""
    return x.fake_mode if isinstance(x, FakeTensor) else None


def unset_fake_temporarily() -> Any:
    """A context in which no mode is on."""
    return torch.utils._python_dispatch._disable_current_modes()
