"""`torch.device`, `torch.Size`, and the singletons of layout, memory format and quantisation scheme."""

from __future__ import annotations


import os
import sys

from torchlite import _C
from torchlite._C import Size  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Self
    from .._types import Device, Layout, MemoryFormat, Tensor


# PyTorch's device types in its order; only those in _CODES can hold tensors here
_TYPES = (
    "cpu",
    "cuda",
    "ipu",
    "xpu",
    "mkldnn",
    "opengl",
    "opencl",
    "ideep",
    "hip",
    "ve",
    "fpga",
    "maia",
    "xla",
    "lazy",
    "vulkan",
    "mps",
    "meta",
    "hpu",
    "mtia",
    "webgpu",
    "privateuseone",
)
_CODES = {"cpu": 0, "webgpu": 1, "meta": 2}

# (type, index) -> device: devices are singletons, so `is` compares them
_instances: dict[tuple[str, int | None], Device] = {}
_context: list[Device] = []  # devices entered by `with torch.device(...)`, innermost last
_default = None  # torch.set_default_device


_cuda = [os.environ.get("TORCHLITE_CUDA") == "webgpu"]  # whether "cuda" names the page's GPU


def cuda_is_webgpu() -> Any:
    return _cuda[0]


def use_webgpu_as_cuda(on: Any) -> None:
    _cuda[0] = bool(on)
    for key in [key for key in _instances if key[0] == "cuda"]:
        del _instances[key]


def _parse(text: str) -> tuple[str, int | None]:
    if not text:
        raise RuntimeError("Device string must not be empty")
    type_, colon, index = text.partition(":")
    if not type_.replace("_", "a").isalpha() or not type_.isascii():
        raise RuntimeError(f"Invalid device string: '{text}'")
    if type_ not in _TYPES:
        raise RuntimeError(f"Expected one of {', '.join(_TYPES)} device type at start of device string: {type_}")
    if type_ == "cuda" and _cuda[0]:
        type_ = "webgpu"
    if not colon:
        return type_, None
    if not (index.isascii() and index.isdigit()) or len(index) > 1 and index[0] == "0":
        raise RuntimeError(f"Invalid device string: '{text}'")
    return type_, _checked_index(int(index))


def _checked_index(index: int) -> int:
    if index < 0:
        raise RuntimeError("Device index must not be negative")
    if index > 127:
        raise RuntimeError(f"Device index {index} is too large")
    return index


def _accelerator(index: int) -> tuple[str, int]:
    index = _checked_index(index)
    webgpu = sys.modules.get("torchlite.webgpu")
    if webgpu is None or not webgpu.is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return "webgpu", index


def _bad_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    for name in kwargs:
        if name not in ("device", "type", "index"):
            return TypeError(f"device() got an unexpected keyword argument '{name}'")
    shown = [type(a).__name__ for a in args] + [f"{k}={type(v).__name__}" for k, v in kwargs.items()]
    why = (
        f"\n      didn't match because some of the arguments have invalid types: (!{shown[0]}!)"
        if len(shown) == 1
        else ""
    )
    return TypeError(
        f"device() received an invalid combination of arguments - got ({', '.join(shown)}), but expected one "
        f"of:\n * (torch.device device){why}\n * (str type, int index = -1)\n"
    )


class device:
    """Where a tensor lives: `torch.device("cpu")`, `torch.device("webgpu", 0)`, `torch.device("meta")`.

    As a context manager it becomes the device of tensors that factory functions make inside the block."""

    __slots__ = ("type", "index", "_code", "__weakref__")
    __module__ = "torchlite"
    if TYPE_CHECKING:
        type: str
        index: int | None
        _code: int

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        try:
            if len(args) == 1 and not kwargs:
                spec, index = args[0], None
            else:
                spec, index = cls._bind(args, kwargs)
            if spec.__class__ is device:
                return spec
            if isinstance(spec, str):
                key = _parse(spec) if (spec, None) not in _instances else (spec, None)
                if index is not None:
                    if not isinstance(index, int):
                        raise TypeError(
                            "device(): argument 'index' (position 2) must be int, not " + type(index).__name__
                        )
                    if key[1] is not None:
                        raise RuntimeError(
                            "type (string) must not include an index because index was passed explicitly: " + spec
                        )
                    key = key[0], _checked_index(int(index))
            elif isinstance(spec, int) and not isinstance(spec, bool) and index is None:
                key = _accelerator(spec)
            else:
                raise LookupError
        except LookupError:
            raise _bad_arguments(args, kwargs) from None
        self = _instances.get(key)
        if self is None:
            self = _instances[key] = object.__new__(cls)
            for name, value in zip(("type", "index", "_code"), (*key, _CODES.get(key[0], -1))):
                object.__setattr__(self, name, value)
        return self

    @staticmethod
    def _bind(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not args and set(kwargs) == {"device"}:
            return kwargs["device"], None
        names = ("type", "index")
        given = dict(zip(names, args))
        if len(args) > 2 or any(k not in names or k in given for k in kwargs):
            raise LookupError
        given.update(kwargs)
        if not isinstance(given.get("type"), str):
            raise LookupError
        return given["type"], given.get("index")

    def __setattr__(self, name: str, value: Any) -> Any:
        raise AttributeError(f"attribute '{name}' of 'torch.device' objects is not writable")

    def __repr__(self) -> Any:
        if self.index is None:
            return f"device(type='{self.type}')"
        return f"device(type='{self.type}', index={self.index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __reduce__(self) -> Any:
        return device, (self.type,) if self.index is None else (self.type, self.index)

    def __enter__(self) -> Any:
        require_available(self)
        _context.append(self)
        default_changed()
        return self

    def __exit__(self, *exc: Any) -> Any:
        _context.pop()
        default_changed()


def require_available(device_: Device) -> None:
    """An error for a device that cannot hold tensors here."""
    if device_.type != "cpu":
        from torchlite._core.dispatch import unavailable

        error = unavailable(device_)
        if error is not None:
            raise error


def default() -> Device:
    """The device of new tensors where none is named."""
    return _context[-1] if _context else _default or cpu


def default_changed() -> None:
    """Tells the core whether it has to ask."""
    _C.set_default_off_cpu(default().type != "cpu")


cpu = device("cpu")


class _Singleton:
    __slots__ = ("name", "_code", "__weakref__")
    name: str
    _code: int
    __module__ = "torchlite"

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"cannot create 'torch.{cls.__name__}' instances")

    @classmethod
    def _family(cls, *names: str) -> list[Self]:
        made = []
        for code, name in enumerate(names):
            one = object.__new__(cls)
            one.name, one._code = name, code
            made.append(one)
        return made

    def __repr__(self) -> Any:
        return "torch." + self.name

    def __reduce__(self) -> str | tuple[Callable[[str], Any], tuple[str]]:
        return self.name


class layout(_Singleton):
    """How a tensor's elements are laid out; every tensor here is `torch.strided`."""

    __slots__ = ()
    __module__ = "torchlite"

    def __reduce__(self) -> tuple[Callable[[str], Layout], tuple[str]]:
        from torchlite.serialization import _get_layout

        return _get_layout, (str(self),)


class memory_format(_Singleton):
    """The order of dimensions in memory: contiguous_format, preserve_format, channels_last, channels_last_3d."""

    __slots__ = ()
    __module__ = "torchlite"


class qscheme(_Singleton):
    """Names of quantisation schemes (kept so that code mentioning them imports)."""

    __slots__ = ()
    __module__ = "torchlite"


if TYPE_CHECKING:  # said here for modules that are checked before this one
    strided: Layout
    LAYOUTS: list[Layout]
    contiguous_format: MemoryFormat
    preserve_format: MemoryFormat

strided, sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc, _mkldnn, jagged = LAYOUTS = layout._family(
    "strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "_mkldnn", "jagged"
)
contiguous_format, preserve_format, channels_last, channels_last_3d = memory_format._family(
    "contiguous_format", "preserve_format", "channels_last", "channels_last_3d"
)
(
    per_tensor_affine,
    per_channel_affine,
    per_tensor_symmetric,
    per_channel_symmetric,
    per_channel_affine_float_qparams,
) = QSCHEMES = qscheme._family(
    "per_tensor_affine",
    "per_channel_affine",
    "per_tensor_symmetric",
    "per_channel_symmetric",
    "per_channel_affine_float_qparams",
)


def suggested_format(t: Tensor) -> MemoryFormat:
    """The memory format that results computed from t shall have: a channels_last one or contiguous_format."""
    if not _C.suggests_channels_last(t):
        return contiguous_format
    if t.dim() == 4:
        return channels_last
    return channels_last_3d
