"""`torch.Tensor`: what is Python about it.
Fields and operators are native (TensorBase), ops come from torchlite.ops."""

from __future__ import annotations


from .. import _C, autograd as _autograd
from . import array_methods as _array_methods, device as _device, old_names as _old_names, resizing as _resizing
from . import sparse_methods as _sparse_methods, view_replay as _view_replay
from .errors import not_floating
from ..autograd import _grad_dtype
from ..autograd._node import eager, meta
from ..autograd._node import tangents as _tangents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, SupportsIndex
    from .._types import Device, Layout, MemoryFormat


class _TensorMeta(type):
    """Classes show PyTorch's paths; their `__module__` stays where pickle finds them."""

    def __init__(cls, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        made: Any = cls
        if made.__module__.partition(".")[0] == "torchlite":
            return
        default: Any = Tensor.__torch_function__
        plain = getattr(made.__torch_function__, "__func__", None) is default.__func__
        if plain and not hasattr(made.__torch_dispatch__, "_tl_plain"):
            made.__torch_function__ = _C._disabled_torch_function_impl  # as in PyTorch: one of the two is enough
        if not hasattr(made.__torch_function__, "_tl_plain"):
            from . import override

            override.install()

    def __repr__(cls) -> Any:
        module = cls.__module__
        if module.partition(".")[0] != "torchlite":
            return type.__repr__(cls)
        return "<class 'torch%s.%s'>" % (module[9:], cls.__qualname__)

    def __dir__(cls) -> Any:
        from ..ops import load_all

        load_all()
        return type.__dir__(cls)


class Tensor(_C.TensorBase, metaclass=_TensorMeta):
    """An n-dimensional array of one dtype on one device. Made by `torch.tensor` and friends."""

    __module__ = "torchlite"

    def __new__(cls, *args: Any, device: Any = None) -> Any:
        if device is not None:
            from .legacy_types import check_device

            check_device(args, device)
        if len(args) == 1 and isinstance(args[0], _C.TensorBase) and cls is not Tensor:
            return _instance(cls, args[0])
        from .legacy_types import legacy_new

        t = legacy_new(args, _C.get_default_dtype(), True)
        return t if cls is Tensor else _instance(cls, t)

    __torch_dispatch__: Callable[..., Any]  # set below

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if not all(issubclass(cls, t) for t in types):
            return NotImplemented
        from . import override

        return override.default(cls, func, args, kwargs or {})

    @staticmethod
    def _make_subclass(cls: type, data: Tensor, require_grad: bool = False, **kwargs: Any) -> Tensor:
        if not isinstance(data, _C.TensorBase):
            raise TypeError(
                "_make_subclass(): argument 'data' (position 2) must be Tensor, not %s" % type(data).__name__
            )
        with _C.GradMode(False, None, 2):  # nobody is asked about a tensor that is being made
            if type(data) is Tensor:
                from . import dispatch_modes

                with dispatch_modes.DisableTorchDispatch() if dispatch_modes.stack else _C.GradMode(False):
                    data = data.detach()
            t: Tensor = _instance(cls, data)
        if require_grad:
            with _C.GradMode(None, None, 2):
                t.requires_grad = True
        return t

    @staticmethod
    def _make_wrapper_subclass(cls: type, size: Any, *args: Any, **kwargs: Any) -> Any:
        """A tensor of a class with a `__torch_dispatch__`, without memory of its own; see `_core/wrappers.py`."""
        from . import wrappers

        return wrappers.make(cls, size, *args, **kwargs)

    def as_subclass(self, cls: type) -> Any:
        source: Any = self
        if self._leaf_flag and _C.is_grad_enabled():  # a history of its own, back to the leaf
            import torchlite

            source = torchlite.ops.functions.alias(self)
        t: Tensor = _instance(cls, source)
        t._raw_grad_fn, t._output_nr, t._leaf_flag = source.grad_fn, source.output_nr, source._leaf_flag
        return t

    # ---- autograd ----------------------------------------------------------------------------------------------------

    def backward(
        self,
        gradient: Any = None,
        retain_graph: Any = None,
        create_graph: bool = False,
        inputs: list[Tensor] | None = None,
    ) -> None:
        """Gradients of this tensor with respect to graph leaves, added to their `.grad`."""
        _autograd.backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Sets `requires_grad` in place and returns the tensor."""
        if requires_grad is not True and requires_grad is not False:
            raise TypeError(
                "requires_grad_(): argument 'requires_grad' (position 1) must be bool, not %s"
                % type(requires_grad).__name__
            )
        _outside_transforms(
            "requires_grad_()", "Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* APIs)"
        )
        if requires_grad and self.is_leaf and not (self.dtype.is_floating_point or self.dtype.is_complex):
            raise not_floating()
        self.requires_grad = requires_grad
        return self

    def detach_(self) -> Any:
        """Takes the tensor out of the graph that made it."""
        if self._base is not None:
            raise RuntimeError(
                "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) "
                "for training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, "
                "and hence detach_() cannot be called on these gradients. To fix this error, "
                "please refer to the Optimizer.zero_grad() function in torch/optim/optimizer.py as the solution."
            )
        if self._raw_grad_fn is not None:
            meta(self).detached = _C.last_node()
        self._raw_grad_fn, self._leaf_flag = None, False
        _tangents.pop(id(self), None)
        return self

    def retain_grad(self) -> None:
        """Keeps `.grad` of a non-leaf after backward."""
        node = self.grad_fn
        if node is None:
            if not self.requires_grad:
                raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
            return
        _outside_transforms("retain_grad()", "Tensor.retain_grad()")
        import weakref

        if node.retain is None:
            node.retain = {}
        node.retain[self.output_nr] = weakref.ref(self)
        self._retains = True

    def register_hook(self, hook: Any) -> Any:
        """Calls hook(grad) when the gradient of this tensor is computed; a returned tensor replaces it."""
        from ..utils.hooks import RemovableHandle

        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        node = self.grad_fn
        if node is None:
            m = meta(self)
            if m.hooks is None:
                m.hooks = {}
            handle = RemovableHandle(m.hooks)
            m.hooks[handle.id] = hook
            return handle
        if node.pre_hooks is None:
            node.pre_hooks = {}
        handle = RemovableHandle(node.pre_hooks)
        node.pre_hooks[handle.id] = (self.output_nr, hook)
        return handle

    def register_post_accumulate_grad_hook(self, hook: Any) -> Any:
        """Calls hook(tensor) after the gradient was added to `.grad` of this leaf."""
        from ..utils.hooks import RemovableHandle

        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if self.grad_fn is not None:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        m = meta(self)
        if m.post_hooks is None:
            m.post_hooks = {}
        eager[0] = True
        handle = RemovableHandle(m.post_hooks)
        m.post_hooks[handle.id] = hook
        return handle

    @property
    def _backward_hooks(self) -> Any:
        m = self._meta
        return m.hooks if m is not None else None

    @_backward_hooks.setter
    def _backward_hooks(self, hooks: Any) -> None:
        if hooks:
            meta(self).hooks = hooks

    def _is_view(self) -> bool:
        return self._base is not None

    def is_inference(self) -> bool:
        """True for tensors made under inference_mode."""
        return self._inference

    # ---- Python protocols --------------------------------------------------------------------------------------------

    def __repr__(self, *, tensor_contents: Any = None) -> Any:
        from .tensor_str import _str

        return _str(self, tensor_contents=tensor_contents)

    def __format__(self, spec: Any) -> str:
        if self.dim() == 0 and not self.is_meta and type(self) is Tensor:
            return self.item().__format__(spec)
        return object.__format__(self, spec)

    def __iter__(self) -> Any:
        if self.dim() == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __reversed__(self) -> Any:
        return self if self.dim() == 0 else self.flip(0)

    def __contains__(self, element: Any) -> bool:
        if isinstance(element, (Tensor, int, float, complex)) or _C.is_number(element):
            return bool((self == element).any().item())
        raise RuntimeError(
            "Tensor.__contains__ only supports Tensor or scalar, but you passed in a %s." % type(element)
        )

    def __complex__(self) -> complex:
        if self.numel() == 1 and not self.is_complex():
            return complex(float(self))
        return complex(self.item())

    grad_dtype = property(_grad_dtype.get, _grad_dtype.set_)

    def __dir__(self) -> list[str]:
        return sorted((set(dir(type(self))) | set(self.__dict__)) - {"__cuda_array_interface__"})

    def __deepcopy__(self, memo: dict[Any, Any]) -> Tensor:
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the "
                "moment.  If you were attempting to deepcopy a module, this may be because of a "
                "torch.nn.utils.weight_norm usage, see https://github.com/pytorch/pytorch/pull/103001"
            )
        if id(self) in memo:
            return memo[id(self)]
        import copy

        if type(self) is not Tensor:
            from . import wrappers

            if self.is_meta or self.data_ptr() == 0:
                return wrappers.deep_copy(self, memo)
            wrappers.check_new_empty(self)
        storage = copy.deepcopy(self.untyped_storage(), memo)  # what shares memory here shares it there
        t = _C.tensor_from_storage(storage, self.dtype, self.storage_offset(), self.shape, self.stride())
        if self.is_conj():
            t = t.conj_physical()
        if self.is_neg():
            t = t.neg()
        if type(self) is not Tensor:
            t = _C.TensorBase.__new__(type(self), t)
        t._leaf_flag = self._leaf_flag
        memo[id(self)] = t
        if self.grad is not None:
            t.grad = copy.deepcopy(self.grad, memo)
        if self.__dict__:
            t.__dict__.update(copy.deepcopy(self.__dict__, memo))
        if type(self) is not Tensor:
            import copyreg

            for name in copyreg._slotnames(type(self)):  # type: ignore[attr-defined]
                if hasattr(self, name) and not hasattr(t, name):
                    setattr(t, name, copy.deepcopy(getattr(self, name), memo))
        return t

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        from .._utils import _reduce_tensor

        return _reduce_tensor(self, protocol)

    def __setstate__(self, state: Any) -> None:
        raise RuntimeError("legacy tensor state is not supported")

    __array_priority__ = 1000
    numpy, __array__, __array_wrap__ = _array_methods.numpy, _array_methods.__array__, _array_methods.__array_wrap__
    __dlpack__, __dlpack_device__ = _array_methods.__dlpack__, _array_methods.__dlpack_device__

    # ---- storage -----------------------------------------------------------------------------------------------------

    def untyped_storage(self) -> Any:
        """The bytes behind the tensor."""
        from .. import storage  # gives them their methods  # noqa: F401

        return self._storage

    def storage(self) -> Any:
        """The typed storage behind the tensor."""
        from ..storage import _warn_typed_storage_removal

        _warn_typed_storage_removal()
        return self._typed_storage()

    def _typed_storage(self) -> Any:
        from ..storage import TypedStorage

        return TypedStorage(wrap_storage=self._storage, dtype=self.dtype, _internal=True)

    def storage_type(self) -> Any:
        from ..storage import LEGACY_CLASSES, _PICKLE_NAMES, _warn_typed_storage_removal

        _warn_typed_storage_removal()
        return LEGACY_CLASSES[_PICKLE_NAMES[self.dtype]]

    def is_shared(self) -> bool:
        return self.untyped_storage().is_shared()

    def share_memory_(self) -> Any:
        """Moves the storage into memory that processes forked from here share; a page has none."""
        self.untyped_storage().share_memory_()
        return self

    # which tensor of the core it is; torch.utils.swap_tensors changes it
    _cdata = property(lambda self: self.__dict__.get("_swapped_cdata") or id(self))

    _view_func, _view_func_unsafe = _view_replay.checked, _view_replay.forward
    _rev_view_func_unsafe = _view_replay.backward

    set_, resize_, resize_as_ = _resizing.set_, _resizing.resize_, _resizing.resize_as_
    resize, resize_as, dim_order = _resizing.resize, _resizing.resize_as, _resizing.dim_order

    def is_pinned(self, device: Device | str | int | None = None) -> bool:
        return False

    def _is_zerotensor(self) -> bool:
        """Every tensor has memory here, zeros too."""
        return False

    def _is_all_true(self) -> Tensor:
        return self.all()

    def _is_any_true(self) -> Tensor:
        return self.any()

    def pin_memory(self, device: Device | str | int | None = None) -> Any:
        """No pinned memory in a page: the tensor itself."""
        return self

    # ---- devices and dtypes ------------------------------------------------------------------------------------------

    def type(self, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
        """The legacy type's name, or a copy of another dtype."""
        from .legacy_types import type_name, type_to_dtype

        if dtype is None:
            return type_name(self)
        return self.to(type_to_dtype(dtype))

    def cpu(self, memory_format: MemoryFormat = _device.preserve_format) -> Tensor:
        return self.to("cpu", memory_format=memory_format)

    async def cpu_async(self) -> Tensor:
        """As `cpu()`, for code that may await: the page goes on while the GPU finishes."""
        if self.is_cpu:
            return self
        from ..webgpu.tensors import host_copy_async

        return await host_copy_async(self.resolve_conj().resolve_neg())

    async def item_async(self) -> float:
        """As `item()`, for code that may await."""
        return (await self.cpu_async()).item()

    async def tolist_async(self) -> Any:
        """As `tolist()`, for code that may await."""
        return (await self.cpu_async()).tolist()

    def cuda(
        self,
        device: Device | str | int | None = None,
        non_blocking: bool = False,
        memory_format: Any = _device.preserve_format,
    ) -> Any:
        return self.to("cuda" if device is None else device, memory_format=memory_format)

    @property
    def is_cuda(self) -> bool:
        return self.device.type == "webgpu" and _device.cuda_is_webgpu()

    def is_nonzero(self) -> Any:
        """Whether the only element is not zero."""
        return bool(self)

    def is_same_size(self, other: Any) -> bool:
        return self.shape == other.shape

    def is_set_to(self, tensor: Tensor) -> Any:
        """Same storage, offset, shape and strides."""
        return (
            self._storage is tensor._storage
            and self.storage_offset() == tensor.storage_offset()
            and self.shape == tensor.shape
            and self.stride() == tensor.stride()
            and self.is_conj() == tensor.is_conj()
            and self.is_neg() == tensor.is_neg()
        )

    def index(self, positions: Any, dims: Any) -> Any:
        raise NotImplementedError("Tensor.index: torchlite has no first-class dimensions; index with x[...]")

    name = property(lambda self: None)

    def is_distributed(self) -> bool:
        return False

    @property
    def layout(self) -> Layout:
        return _device.strided

    @property
    def real(self) -> Tensor:
        import torchlite as torch

        return torch.real(self)

    @real.setter
    def real(self, value: Any) -> None:
        self.real.copy_(value if isinstance(value, Tensor) else self.real.new_tensor(value))

    @property
    def imag(self) -> Tensor:
        import torchlite as torch

        return torch.imag(self)

    @imag.setter
    def imag(self, value: Any) -> None:
        self.imag.copy_(value if isinstance(value, Tensor) else self.imag.new_tensor(value))

    @property
    def T(self) -> Tensor:
        n = self.dim()
        if n == 0:
            _C.warn_once("Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases.")
        elif n != 2:
            _C.warn_once(
                "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it "
                "will throw an error in a future release. Consider `x.mT` to transpose batches of matrices or "
                "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor."
            )
        return self.permute((1, 0) if n == 2 else tuple(range(n - 1, -1, -1)))

    @property
    def mT(self) -> Tensor:
        if self.dim() == 0:
            _C.warn_once("Tensor.mT is deprecated on 0-D tensors. This function is the identity in these cases.")
            return self.view(())
        if self.dim() == 1:
            raise RuntimeError("tensor.mT is only supported on matrices or batches of matrices. Got 1-D tensor.")
        return self.transpose(-2, -1)

    @property
    def H(self) -> Tensor:
        if self.dim() not in (0, 2):
            raise RuntimeError(
                "tensor.H is only supported on matrices (2-D tensors). Got %d-D tensor.%s"
                % (self.dim(), " For batches of matrices, consider using tensor.mH" if self.dim() > 2 else "")
            )
        if self.dim() == 0:
            _C.warn_once("Tensor.H is deprecated on 0-D tensors. Consider using x.conj().")
            return self.conj()
        return self.mT.conj()

    @property
    def mH(self) -> Tensor:
        if self.dim() == 0:
            _C.warn_once("Tensor.mH is deprecated on 0-D tensors. Consider using x.conj().")
            return self.conj()
        if self.dim() == 1:
            raise RuntimeError("tensor.mH is only supported on matrices or batches of matrices. Got 1-D tensor.")
        return self.mT.conj()

    def new_tensor(
        self,
        data: Any,
        *,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        layout: Any = None,
        pin_memory: bool = False,
    ) -> Tensor:
        """A tensor from data, of this tensor's dtype and device."""
        from .from_data import new, place

        t = new(data, self.dtype if dtype is None else dtype, "tensor.new_tensor")
        return place(t, self.device if device is None else device, requires_grad)

    def new(self, *args: Any, **kwargs: Any) -> Any:
        """Old constructor of a tensor of the same dtype."""
        from .legacy_types import legacy_new

        return legacy_new(args, self.dtype)

    def apply_(self, callable: Any) -> Any:
        """Calls a Python function on each element, in place."""
        flat = self.reshape(-1).tolist()
        import torchlite as torch

        return self.copy_(
            torch.tensor([callable(v) for v in flat], dtype=self.dtype, device=self.device).reshape(self.shape)
        )

    def map_(self, other: Any, callable: Any) -> Any:
        """self = callable(self, other), element by element."""
        import torchlite as torch

        a, b = self.reshape(-1).tolist(), other.expand_as(self).reshape(-1).tolist()
        return self.copy_(torch.tensor([callable(x, y) for x, y in zip(a, b)], dtype=self.dtype).reshape(self.shape))

    def module_load(self, other: Any, assign: bool = False) -> Any:
        """What load_state_dict puts in this tensor's place."""
        return other.detach() if assign else self.copy_(other).detach()


def _plain_torch_function(
    func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
) -> Any:
    return NotImplemented


_plain_torch_function._tl_plain = True  # type: ignore[attr-defined]
_C._disabled_torch_function_impl = staticmethod(_plain_torch_function)
_C._disabled_torch_dispatch_impl = Tensor.__torch_dispatch__ = staticmethod(_plain_torch_function)


def _outside_transforms(name: str, what: str) -> None:
    """An error inside a function that vmap or a transform of torch.func calls."""
    from . import c_functorch

    if _C.func_level() or c_functorch.get_dynamic_layer_stack_depth():
        raise RuntimeError(
            "You are attempting to call %s inside of a function being transformed by a functorch transform. This is "
            "unsupported, please attempt to use the functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or "
            "call %s outside of a function being transformed instead." % (what, name)
        )


def _instance(cls: type, source: Any) -> Any:
    """A tensor of a subclass over the memory of another; ops ask the class where it has a `__torch_dispatch__`."""
    t: Any = _C.TensorBase.__new__(cls, source)
    if getattr(cls, "__torch_dispatch__", _plain_torch_function) is not _plain_torch_function:
        from . import dispatch_modes

        dispatch_modes.note(t)
    return t


def plain(t: Tensor) -> Tensor:
    """The memory of a tensor without gradient, as a Tensor whatever its class, which is not asked; where the class has
    a `__torch_dispatch__`, which alone knows the numbers, `t.detach()`."""
    if type(t) is Tensor or getattr(type(t), "__torch_dispatch__", _plain_torch_function) is not _plain_torch_function:
        return t.detach()
    return _C.TensorBase.__new__(Tensor, t)


def _torch_function(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Called by the core where a class or a mode is to be asked instead of a function."""
    from . import override

    return override.torch_function(function, args, kwargs)


def _torch_operator(name: str, op: Any, *operands: Any) -> Any:
    from . import override

    return override.operator(name, op, *operands)


_sparse_methods.install(Tensor)
_old_names.install(Tensor)
_C.register("Tensor", Tensor)
_C.register("torch_function", _torch_function)
_C.register("torch_operator", _torch_operator)


from .._utils import _rebuild_from_type_v2  # noqa: F401  (pickles name it here)
