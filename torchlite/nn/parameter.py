"""Parameters, buffers and their lazy (shape not yet known) forms."""

import torchlite as torch
from torchlite._core.tensor import _TensorMeta

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    _Base = torch.Tensor  # what the mixin becomes a part of
else:
    _Base = object


class _ParameterMeta(_TensorMeta):
    def __instancecheck__(self, instance):
        # a tensor subclass may pose as a parameter by carrying `_is_param`
        if super().__instancecheck__(instance):
            return True
        return self is Parameter and isinstance(instance, torch.Tensor) and getattr(instance, "_is_param", False)


class Parameter(torch.Tensor, metaclass=_ParameterMeta):
    """A tensor that a `Module` lists among its parameters when it is assigned as an attribute.

    Args: data (Tensor), requires_grad (bool, default True).
    """

    # results of operations on parameters are plain tensors
    __torch_function__: "Any" = getattr(torch._C, "_disabled_torch_function_impl", None)

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            data = torch.empty(0)
        if type(data) is torch.Tensor or type(data) is Parameter:
            return torch.Tensor._make_subclass(cls, data, requires_grad)
        t = data.detach().requires_grad_(requires_grad)
        if type(t) is not type(data):
            raise RuntimeError(
                f"Creating a Parameter from an instance of type {type(data).__name__} requires that detach() "
                f"returns an instance of the same type, but return type {type(t).__name__} was found instead. "
                "To use the type as a Parameter, please correct the detach() semantics defined by its "
                "__torch_dispatch__() implementation."
            )
        t._is_param = True
        return t

    def __deepcopy__(self, memo):
        if id(self) in memo:
            return memo[id(self)]
        result = type(self)(self.data.clone(), self.requires_grad)
        memo[id(self)] = result
        return result

    def __repr__(self):  # type: ignore[override]  # as in PyTorch
        return "Parameter containing:\n" + super().__repr__()

    def __reduce_ex__(self, proto):
        from torchlite._utils import _reduce_parameter

        return _reduce_parameter(self, proto)


class _BufferMeta(_TensorMeta):
    def __instancecheck__(self, instance):
        if self is Buffer:
            return isinstance(instance, torch.Tensor) and getattr(instance, "_is_buffer", False)
        return super().__instancecheck__(instance)


class Buffer(torch.Tensor, metaclass=_BufferMeta):
    """A tensor that a `Module` registers as a buffer when it is assigned as an attribute.

    Args: data (Tensor), persistent (bool): whether it is part of the module's state_dict.
    """

    def __new__(cls, data=None, *, persistent=True):
        if data is None:
            data = torch.empty(0)
        t = data.detach().requires_grad_(data.requires_grad)
        t.persistent = persistent
        t._is_buffer = True
        return t


# what an uninitialized parameter may be asked for
_CONVERSIONS = frozenset("char cpu cuda double float half int long short to".split())
_ALLOWED = _CONVERSIONS.union(
    "__hash__ _has_compatible_shallow_copy_type _to_dtype copy_ get_device is_complex is_floating_point size".split()
)


class UninitializedTensorMixin(_Base):
    """A tensor whose shape is not known yet; `materialize` gives it one."""

    cls_to_become: type

    _allowed = (
        "dtype",
        "device",
        "is_cuda",
        "is_meta",
        "layout",
        "requires_grad",
        "grad",
        "grad_fn",
        "is_leaf",
        "data",
        "cls_to_become",
    )

    def materialize(self, shape, device=None, dtype=None):
        """Allocates memory of the given shape; the object becomes an ordinary parameter or buffer."""
        if device is None:
            device = self.data.device
        if dtype is None:
            dtype = self.data.dtype
        self.data = torch.empty(shape, device=device, dtype=dtype)
        self.__class__ = self.cls_to_become

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        # the properties of tensors are asked for by the method-wrappers of their descriptors
        name = getattr(func, "__name__", "")
        if name in _ALLOWED or type(func).__name__ == "method-wrapper":
            off: Any = torch._C.DisableTorchFunctionSubclass()
            with off:
                if name not in _CONVERSIONS:
                    return func(*args, **(kwargs or {}))
                old = args[0].data
                new = func(old, *args[1:], **(kwargs or {}))
                if new is old:
                    return args[0]
                # a buffer that moved to a device or a dtype still waits for its shape
                return new if issubclass(cls, Parameter) else new.as_subclass(cls)
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {func}. This error happens when you are using a "
            f"`LazyModule` or explicitly manipulating `torch.nn.parameter.{cls.__name__}` objects. When using "
            "LazyModules Call `forward` with a dummy batch to initialize the parameters before calling torch functions"
        )

    @property
    def shape(self):
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. "
            "Call `forward` to initialize the parameters before accessing their attributes."
        )

    def size(self, *a):
        return self.shape

    def numel(self):
        return self.shape

    def share_memory_(self):
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the "
            "parameters before calling `module.share_memory()`."
        )

    def __repr__(self):  # type: ignore[override]  # as in PyTorch
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, proto):
        return type(self), (self.requires_grad,) if isinstance(self, Parameter) else ()


def is_lazy(param):
    """Whether `param` still waits for its shape."""
    return isinstance(param, UninitializedTensorMixin)


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter of unknown shape. Args: requires_grad, device, dtype."""

    cls_to_become = Parameter

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        return torch.Tensor._make_subclass(cls, torch.empty(0, device=device, dtype=dtype), requires_grad)

    def __deepcopy__(self, memo):
        if id(self) in memo:
            return memo[id(self)]
        result = type(self)(self.requires_grad, self.data.device, self.data.dtype)
        memo[id(self)] = result
        return result


class UninitializedBuffer(UninitializedTensorMixin, torch.Tensor):
    """A buffer of unknown shape. Args: requires_grad, device, dtype, persistent."""

    cls_to_become = torch.Tensor

    def __new__(cls, requires_grad=False, device=None, dtype=None, persistent=True):
        t = torch.Tensor._make_subclass(cls, torch.empty(0, device=device, dtype=dtype), requires_grad)
        t.persistent = persistent  # type: ignore[attr-defined]
        t._is_buffer = True  # type: ignore[attr-defined]
        return t
