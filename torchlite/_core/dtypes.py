"""Data types: `torch.dtype` and its instances, `torch.finfo`, `torch.iinfo`.

The objects are singletons, so `is` compares them; `_code` is the number the native core uses (order of TL_DTYPES).
Names and sizes come from the core, which has the only table of them.
"""

from __future__ import annotations


from .. import _C
from .errors import not_implemented

TYPE_CHECKING = False
if TYPE_CHECKING:
    from builtins import bool as Bool, int as Int
    from typing import Any
    from .._types import DType


class dtype:
    """The type of a tensor's elements, for example `torch.float32`."""

    __slots__ = (
        "name",
        "_code",
        "itemsize",
        "is_floating_point",
        "is_complex",
        "_signed",
        "abbr",
        "_scalar_type",
        "_cpp_type",
        "__weakref__",
    )
    __module__ = "torchlite"
    if TYPE_CHECKING:
        name: str
        itemsize: Int
        is_floating_point: Bool
        is_complex: Bool
        _signed: Bool | str
        abbr: str
        _code: Int
        _scalar_type: str
        _cpp_type: str

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("cannot create 'torch.dtype' instances")

    def __repr__(self) -> Any:
        return "torch." + self.name

    def __reduce__(self) -> str:
        return self.name  # pickled as the global torch.<name>

    @property
    def is_signed(self) -> Bool:
        """Whether it has negative values."""
        if isinstance(self._signed, str):
            raise RuntimeError(self._signed)
        return self._signed

    def to_real(self) -> DType:
        """The dtype of one component: float32 for complex64; real dtypes are returned unchanged."""
        if self.is_complex:
            return {"complex32": float16, "complex64": float32}.get(self.name, float64)
        return self

    def to_complex(self) -> Any:
        """The complex dtype that holds this floating dtype."""
        if self.is_complex:
            return self
        if self in (float16, bfloat16, float32, float64):
            return {"float16": complex32, "float64": complex128}.get(self.name, complex64)
        raise RuntimeError("Unknown Complex ScalarType for " + self._scalar_type)


def _make(code: Int, kind: str, signed: Bool, abbr: str) -> DType:
    d = object.__new__(dtype)
    d.name, d._scalar_type, d._cpp_type, d.itemsize = _C.dtype_table[code]
    d._code, d._signed, d.abbr = code, signed, abbr
    d.is_floating_point, d.is_complex = kind == "f", kind == "c"
    return d


def _name_only(name: str, scalar_type: str, signed: Bool | str, abbr: str = "", itemsize: Int = 1) -> DType:
    """A dtype of PyTorch that no tensor has here."""
    d = object.__new__(dtype)
    d.name, d._scalar_type, d._cpp_type, d.itemsize = name, scalar_type, scalar_type, itemsize
    d._code, d._signed, d.abbr = -1, signed, abbr or name
    d.is_floating_point = d.is_complex = False
    return d


if TYPE_CHECKING:  # said here for modules that are checked before this one
    bool: DType
    uint8: DType
    int8: DType
    int16: DType
    short: DType
    int32: DType
    int: DType
    int64: DType
    long: DType
    float16: DType
    half: DType
    bfloat16: DType
    float32: DType
    float: DType
    float64: DType
    double: DType
    complex64: DType
    cfloat: DType
    complex128: DType
    cdouble: DType
    complex32: DType
    chalf: DType
    uint16: DType
    uint32: DType
    uint64: DType
    float8_e4m3fn: DType
    float8_e5m2: DType
    float8_e4m3fnuz: DType
    float8_e5m2fnuz: DType
    float8_e8m0fnu: DType
    float4_e2m1fn_x2: DType

bool = _make(0, "b", False, "b8")
uint8 = _make(1, "u", False, "u8")
int8 = _make(2, "i", True, "i8")
int16 = short = _make(3, "i", True, "i16")
int32 = int = _make(4, "i", True, "i32")
int64 = long = _make(5, "i", True, "i64")
float16 = half = _make(6, "f", True, "f16")
bfloat16 = _make(7, "f", True, "bf16")
float32 = float = _make(8, "f", True, "f32")
float64 = double = _make(9, "f", True, "f64")
complex64 = cfloat = _make(10, "c", True, "c64")
complex128 = cdouble = _make(11, "c", True, "c128")

# limited, as in PyTorch: _core/limited.py
complex32 = chalf = _make(12, "c", True, "c32")
uint16 = _make(13, "u", False, "u16")
uint32 = _make(14, "u", False, "u32")
uint64 = _make(15, "u", False, "u64")
float8_e4m3fn = _make(16, "f", True, "f8e4m3fn")
float8_e5m2 = _make(17, "f", True, "f8e5m2")
float8_e4m3fnuz = _make(18, "f", True, "f8e4m3fnuz")
float8_e5m2fnuz = _make(19, "f", True, "f8e5m2fnuz")
float8_e8m0fnu = _make(20, "f", False, "f8e8m0fnu")
float4_e2m1fn_x2 = _make(21, "f", True, "f4e2m1fnx2")

DTYPES = (
    *(bool, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64, complex64, complex128, complex32),
    *(uint16, uint32, uint64, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz, float8_e8m0fnu),
    float4_e2m1fn_x2,
)
KERNEL_DTYPES: tuple[DType, ...] = DTYPES[:12]  # those that kernels know; the others are limited
# the methods that convert to a dtype: x.float(), storage.float()
CONVERSIONS: dict[str, DType] = dict(
    **dict(float=float32, double=float64, half=float16, bfloat16=bfloat16, long=int64, int=int32, short=int16),
    **dict(char=int8, byte=uint8, bool=bool, chalf=complex32, cfloat=complex64, cdouble=complex128),
)
_QUANTIZED = "isSignedType not supported for quantized types"
_BITS = "Bits types are undefined"
NAMES_ONLY = (
    *(_name_only(n, "Q" + n[1:].replace("int", "Int").replace("u", "U"), _QUANTIZED) for n in ("qint8", "quint8")),
    _name_only("qint32", "QInt32", _QUANTIZED, itemsize=4),
    *(_name_only(n, n.replace("quint", "QUInt"), _QUANTIZED) for n in ("quint4x2", "quint2x4")),
    *(
        _name_only(n, n.capitalize(), _BITS, a)
        for n, a in (("bits1x8", "b1x8"), ("bits2x4", "b2x4"), ("bits4x2", "b4x2"), ("bits8", "b8x1"))
    ),
    _name_only("bits16", "Bits16", _BITS, "b16x1", 2),
    *(_name_only("int%d" % n, "Int%d" % n, True) for n in range(1, 8)),
    *(_name_only("uint%d" % n, "UInt%d" % n, False) for n in range(1, 8)),
)
# every public name of a dtype
NAMES = {d.name: d for d in DTYPES}
NAMES.update((n, d) for n, d in CONVERSIONS.items() if n not in ("char", "byte"))
NAMES.update((d.name, d) for d in NAMES_ONLY)
NAMES["bit"] = NAMES["uint1"]
globals().update((d.name, d) for d in NAMES_ONLY)

# (bits, eps, max, smallest normal, decimal resolution)
_FLOATS = {
    "float16": (16, 2.0**-10, 65504.0, 2.0**-14, 1e-3),
    "bfloat16": (16, 2.0**-7, (2 - 2.0**-7) * 2.0**127, 2.0**-126, 1e-2),
    "float32": (32, 2.0**-23, (2 - 2.0**-23) * 2.0**127, 2.0**-126, 1e-6),
    "float8_e4m3fn": (8, 2.0**-3, 448.0, 2.0**-6, 1.0),
    "float8_e5m2": (8, 2.0**-2, 57344.0, 2.0**-14, 1.0),
    "float8_e4m3fnuz": (8, 2.0**-3, 240.0, 2.0**-7, 1.0),
    "float8_e5m2fnuz": (8, 2.0**-3, 57344.0, 2.0**-15, 1.0),
    "float8_e8m0fnu": (8, 1.0, 2.0**127, 2.0**-127, 1.0),
    "float64": (64, 2.0**-52, (2 - 2.0**-52) * 2.0**1023, 2.0**-1022, 1e-15),
}


def _type_argument(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], default: Any) -> DType:
    if kwargs and "type" not in kwargs or not args and not kwargs and default is None:
        raise TypeError(f'{name}() missing 1 required positional arguments: "type"')
    if len(args) + len(kwargs) > 1:
        raise TypeError(f"{name}() takes 1 positional argument but {len(args) + len(kwargs)} were given")
    type_ = args[0] if args else kwargs.get("type", default)
    if not isinstance(type_, dtype):
        raise TypeError(f"{name}(): argument 'type' (position 1) must be torch.dtype, not {type_.__class__.__name__}")
    return type_


class _info:
    __slots__ = ("_fields",)
    __module__ = "torchlite"

    def __getattr__(self, name: str) -> Any:
        if name == "_fields":  # not made yet
            raise AttributeError(name)
        try:
            return self._fields[name]
        except KeyError:
            raise AttributeError(f"'torch.{type(self).__name__}' object has no attribute '{name}'") from None

    def __eq__(self, other: Any) -> Bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._fields == other._fields

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"cannot pickle 'torch.{type(self).__name__}' object")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._fields]

    def __repr__(self) -> Any:
        names = [n for n in self._fields if n not in ("bits", "dtype")]
        values = ", ".join(f"{n}={self._fields[n]:g}" for n in names)
        return f"{type(self).__name__}({values}, dtype={self.dtype})"


class finfo(_info):
    """Limits of a floating point dtype (of the component for a complex one): bits, eps, max, min, smallest_normal
    (also as tiny) and resolution. Without an argument: of the default dtype."""

    __slots__ = ()
    __module__ = "torchlite"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        default = None
        if not args and not kwargs:
            import torchlite

            default = torchlite.get_default_dtype() if hasattr(torchlite, "get_default_dtype") else float32
        type_ = _type_argument("finfo", args, kwargs, default)
        if not (type_.is_floating_point or type_.is_complex):
            raise TypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'"
            )
        real = type_.to_real()
        if real.name not in _FLOATS:
            raise TypeError("torch.finfo() has no limits of torch.%s" % real.name)
        bits, eps, largest, smallest, resolution = _FLOATS[real.name]
        self._fields = {
            "resolution": resolution,
            "min": -largest if real.is_signed else smallest,
            "max": largest,
            "eps": eps,
            "smallest_normal": smallest,
            "tiny": smallest,
            "bits": bits,
            "dtype": real.name,
        }


class iinfo(_info):
    """Limits of an integer dtype: bits, max and min."""

    __slots__ = ()
    __module__ = "torchlite"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        type_ = _type_argument("iinfo", args, kwargs, None)
        if (
            type_.is_floating_point
            or type_.is_complex
            or type_.name.startswith(("bits", "int", "uint"))
            and type_._code < 0
        ):
            raise TypeError("torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
        if type_.name.startswith("q"):
            raise not_implemented("dtype", type_)
        if type_ is bool:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        bits = 8 * type_.itemsize
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if type_.is_signed else (0, (1 << bits) - 1)
        self._fields = {"min": low, "max": high, "bits": bits, "dtype": type_.name}
