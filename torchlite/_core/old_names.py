"""Names of Tensor from Python 2 and from the time of Variables; programs that override all of Tensor know them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .tensor import Tensor


def _operator(name: str, new: str) -> Callable[..., Any]:
    def method(self: Tensor, other: Any) -> Any:
        return getattr(self, new)(other)

    method.__name__, method.__qualname__ = name, "Tensor." + name
    return method


def _rdiv(self: Tensor, other: Any) -> Any:
    return other / self


def _long(self: Tensor) -> int:
    return int(self)


def _nonzero(self: Tensor) -> bool:
    return bool(self)


def _clear(self: Tensor) -> None:
    """Nothing of a tensor is kept that pickle cannot save."""


def _volatile(self: Tensor) -> bool:
    import warnings

    warnings.warn("volatile was removed (Variable.volatile is always False)", stacklevel=2)
    return False


def _cuda_array(self: Tensor) -> Any:
    if not self.is_cuda:
        raise AttributeError(
            "Can't get __cuda_array_interface__ on non-CUDA tensor type: %s "
            "If CUDA data is required use tensor.cuda() to copy tensor to device memory." % self.type()
        )
    raise AttributeError("__cuda_array_interface__: the GPU of a page has no addresses")


def _grad_fn(self: Tensor) -> Any:
    return self.grad_fn


def _accumulate_hooks(self: Any) -> Any:
    return getattr(self._meta, "post_hooks", None)


def _fix_weakref(self: Tensor) -> None:
    """A tensor has one object as long as it lives: no reference to it needs repair."""


def _lazy_clone(self: Tensor) -> Any:
    import torchlite as torch

    return torch._lazy_clone(self)


def _solve(self: Tensor, other: Any) -> Any:
    from . import removed

    return removed.solve(self, other)


def _lstsq(self: Tensor, other: Any) -> Any:
    from . import removed

    return removed.lstsq(self, other)


def _eig(self: Tensor, eigenvectors: bool = False) -> Any:
    from . import removed

    return removed.eig(self, eigenvectors)


def _symeig(self: Tensor, eigenvectors: bool = False) -> Any:
    from . import removed

    return removed.symeig(self, eigenvectors)


_METHODS = {
    "_fix_weakref": _fix_weakref,
    "_lazy_clone": _lazy_clone,
    "solve": _solve,
    "lstsq": _lstsq,
    "eig": _eig,
    "symeig": _symeig,
    "__div__": _operator("__div__", "__truediv__"),
    "__idiv__": _operator("__idiv__", "__itruediv__"),
    "__rdiv__": _rdiv,
    "__long__": _long,
    "__nonzero__": _nonzero,
    "_clear_non_serializable_cached_data": _clear,
}
_FIELDS = {
    "volatile": _volatile,
    "__cuda_array_interface__": _cuda_array,
    "_grad_fn": _grad_fn,
    "_post_accumulate_grad_hooks": _accumulate_hooks,
}


def install(tensor: type) -> None:
    """Puts them into Tensor's class."""
    for name, method in _METHODS.items():
        method.__name__, method.__qualname__ = name, "Tensor." + name
        setattr(tensor, name, method)
    for name, get in _FIELDS.items():
        get.__name__ = name
        setattr(tensor, name, property(get))
