"""Ops that copy elements: clone, contiguous, to and the dtype methods, copy_."""

import torchlite as torch

from .. import _C
from .._core import device as _device, dispatch as _dispatch, dispatch_modes as _modes
from .._core.dtypes import CONVERSIONS
from .._core.errors import output_shape
from ._declare import op


def _channels_last_strides(shape, memory_format):
    """Strides of the format `memory_format`, channels_last or channels_last_3d."""
    n = len(shape)
    want = 4 if memory_format is _device.channels_last else 5
    if n != want:
        raise RuntimeError("required rank %d tensor to use %s format" % (want, str(memory_format).partition(".")[2]))
    return _C.channels_last_strides(shape)


def _fresh(t, dtype, memory_format, device=None):
    """An uninitialised tensor like t in a memory format, on its device or another one."""
    if memory_format is None or memory_format is _device.preserve_format:
        return _C.empty_like(t, dtype) if device is None else _C.empty_like(t, dtype, device._code)
    code = (t.device if device is None else device)._code
    if memory_format is _device.contiguous_format:
        return _C.empty_on(code, tuple(t.shape), None, dtype)
    return _C.empty_on(code, tuple(t.shape), _channels_last_strides(t.shape, memory_format), dtype)


@op(
    "clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
    grad={"self": lambda c, g: g},
    samples=lambda t: [(t(2, 3),), (t(3, 2).t(),)],
)
def clone(self, memory_format):
    """A copy of `self`, in its memory layout unless `memory_format` says otherwise."""
    return _C.copy(_fresh(self, self.dtype, memory_format), self, False)


@op(
    "contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) -> Tensor(a)",
    variants="method",
    samples=lambda t: [(t(3, 2).t(),)],
)
def contiguous(self, memory_format):
    """`self` when it lies densely in memory order already, else a copy that does."""
    if self.is_contiguous(memory_format):
        return self
    if memory_format is _device.preserve_format:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    return self.clone(memory_format=memory_format)


@op(
    "_to_dtype(Tensor self, *, ScalarType? dtype=None, Device? device=None, "
    "MemoryFormat? memory_format=None) -> Tensor",
    variants="function",
    module="aten",
    node="ToCopyBackward0",
    grad={
        "self": lambda c, g: (g.real if g.is_complex() and not c.self_dtype.is_complex else g).to(
            c.self_device, c.self_dtype
        )
    },
)
def _to_dtype(self, dtype, device, memory_format):
    """A copy of another dtype, on another device."""
    if not isinstance(dtype, torch.dtype):
        dtype = self.dtype if dtype is None else _C.empty((), dtype).dtype  # a Python type, such as int
    return _C.copy(_fresh(self, dtype, memory_format, None if device is None else torch.device(device)), self, False)


def _to(self, dtype=None, device=None, copy=False, memory_format=None):
    if device is not None:
        device = torch.device(device)
        if device.type != self.device.type:
            from .._core.dispatch import move

            return move(self, device, dtype, memory_format)
    if dtype is not None and not isinstance(dtype, torch.dtype):
        dtype = {float: torch.float64, int: torch.int64, bool: torch.bool, complex: torch.complex128}[dtype]
    same = dtype is None or dtype is self.dtype
    if (
        same
        and not copy
        and (
            memory_format is None
            or memory_format is _device.preserve_format
            or memory_format is _device.suggested_format(self)
        )
    ):
        return self
    if same:
        return self.clone(memory_format=memory_format)
    if self.dtype.is_complex and not dtype.is_complex and dtype is not torch.bool:
        _C.warn_once("Casting complex values to real discards the imaginary part", 3)
    return _to_dtype(self, dtype=dtype, memory_format=memory_format)


@op(
    "to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None, bool non_blocking=False, bool copy=False, "
    "MemoryFormat? memory_format=None) -> Tensor(a)",
    variants="method",
)
def to_options(self, dtype, layout, device, pin_memory, non_blocking, copy, memory_format):
    """`self` in another dtype or on another device; `self` itself when it is already there and copy is False."""
    return _to(self, dtype, device, copy, memory_format)


@op(
    "to.device(Tensor(a) self, Device? device, ScalarType? dtype=None, bool non_blocking=False, bool copy=False, "
    "MemoryFormat? memory_format=None) -> Tensor(a)",
    variants="method",
)
def to_device(self, device, dtype, non_blocking, copy, memory_format):
    """`self` on a device."""
    return _to(self, dtype, device, copy, memory_format)


@op(
    "to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, "
    "MemoryFormat? memory_format=None) -> Tensor(a)",
    variants="method",
    samples=lambda t: [(t(2, 3), torch.float64)],
)
def to_dtype(self, dtype, non_blocking, copy, memory_format):
    """`self` in another dtype."""
    return _to(self, dtype, None, copy, memory_format)


@op(
    "to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, "
    "MemoryFormat? memory_format=None) -> Tensor(a)",
    variants="method",
)
def to_other(self, other, non_blocking, copy, memory_format):
    """`self` in the dtype and on the device of `other`."""
    return _to(self, other.dtype, other.device, copy, memory_format)


def _dtype_method(name, dtype):
    def body(self, memory_format):
        if self.dtype is dtype or self.dtype.is_complex:
            return _to(self, dtype, None, False, memory_format)
        return _to_dtype(self, dtype=dtype, memory_format=memory_format)

    body.__doc__ = "`self` as %s." % dtype.name
    op("%s(Tensor(a) self, *, MemoryFormat? memory_format=None) -> Tensor(a)" % name, variants="method", tags="python")(
        body
    )


for _n, _d in CONVERSIONS.items():
    _dtype_method(_n, _d)


@op("type_as(Tensor self, Tensor other) -> Tensor", variants="method", samples=lambda t: [(t(2), t(3))])
def type_as(self, other):
    """`self` in the dtype of `other`."""
    return _to(self, other.dtype, other.device)


@op(
    "copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)",
    "copy_.Scalar(Tensor(a!) self, Scalar src, bool non_blocking=False) -> Tensor(a!)",
    variants="method",
    tags="python",
)
def copy_(self, src, non_blocking):
    """Copies the elements of `src`, broadcast and cast, into `self`."""
    if _C.is_grad_enabled() and _C.requires_grad(self):
        from ..autograd._inplace import check_inplace

        check_inplace(self)
    if not isinstance(src, torch.Tensor):
        _C.check_overlap(self)  # fill_ would write to an expanded tensor
        return self.fill_(src)
    if self is not src and not self._dispatches:
        _C.check_overlap(self, src)
    if src.dim() > self.dim():
        raise output_shape(self.shape, torch.broadcast_shapes(self.shape, src.shape))
    _warn_of_complex(self, src)
    if (
        _C.is_grad_enabled()
        and (_C.requires_grad(self) or _C.requires_grad(src))
        and (self.dtype.is_floating_point or self.dtype.is_complex)
    ):
        from ..autograd._inplace import copy_in

        return copy_in(self, src)
    if self._dispatches or src._dispatches:
        return _modes.write(self, "copy_", "default", src)
    return _C.copy(self, src)


def _warn_of_complex(dst, src):
    if src.dtype.is_complex and not dst.dtype.is_complex and dst.dtype is not torch.bool:
        _C.warn_once("Casting complex values to real discards the imaginary part")


def _fill(t, value, name="FillBackward2"):
    """t[...] = value below autograd, with the history that follows from it."""
    recording = _C.is_grad_enabled() and _C.requires_grad(t)
    if recording:
        from ..autograd import _inplace

        _inplace.check_inplace(t)
    if not (t._dispatches or recording and _modes.stack):
        _C.fill(t, value)
    elif name == "ZeroBackward0":
        _modes.write(t, "zero_", "default")
    else:
        _modes.write(t, "fill_", "Scalar", value)
    if recording:
        _inplace.set_history(t, _inplace.cut([t], name, True))
    return t


@op("fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)")
def fill_tensor_(self, value):
    """Sets every element to the 0-dim tensor `value`, cast as copy_ casts it."""
    if value.dim() != 0:
        raise RuntimeError(
            "fill_ only supports 0-dimension value tensor but got tensor with %d dimensions." % value.dim()
        )
    recording = _C.is_grad_enabled() and (_C.requires_grad(self) or _C.requires_grad(value))
    if recording:
        from ..autograd import _inplace

        _inplace.check_inplace(self)
    if self.device != value.device:
        if recording and _C.requires_grad(value):
            return _inplace.copy_in(self, value, True)
        return _fill(self, value.item())
    _C.check_overlap(self)
    _warn_of_complex(self, value)
    if recording and _C.requires_grad(value) and (self.dtype.is_floating_point or self.dtype.is_complex):
        return _inplace.copy_in(self, value, True)
    if self._dispatches or value._dispatches or recording and _modes.stack:
        _modes.write(self, "fill_", "Tensor", value)
    else:
        _C.copy(self, value)
    if recording and _C.requires_grad(self):
        _inplace.set_history(self, _inplace.cut([self], "FillBackward2", True))
    return self


@op("fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)")
def fill_(self, value):
    """Sets every element to `value`."""
    return _fill(self, value)


@op("zero_(Tensor(a!) self) -> Tensor(a!)")
def zero_(self):
    """Sets every element to zero."""
    return _fill(self, 0, name="ZeroBackward0")


def _fill_diagonal_grad(c, g):
    """Laid out as self."""
    whole = g.new_empty_strided(c.self_shape, c.self_strides)
    return whole.copy_(g).fill_diagonal_(0, c.wrap)


@op(
    "fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> Tensor(a!)",
    kernel="fill_diagonal_",
    tags="expanded",
    variants="method",
    grad={"self": _fill_diagonal_grad},
    samples=lambda t: [(t(4, 3), 2.5), (t(7, 2), -1, True), (t(3, 5).t(), 2.5, True), (t(3, 3, 3), 0), (t(0, 2), 1)],
)
def fill_diagonal_(self, fill_value, wrap):
    """Sets the elements with equal indices to `fill_value`;
    with `wrap`, a matrix of more rows than columns gets another diagonal below each that ends,
    one row left out between them."""
    if self.dim() < 2:
        raise RuntimeError("dimensions must larger than 1")
    if self.dim() > 2 and len({*self.shape}) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    rows = self.shape[0]
    for row in range(0, rows, (self.shape[1] if wrap and self.dim() == 2 else rows) + 1):
        part = self[row:]
        part.as_strided((min(part.shape),), (sum(part.stride()),), part.storage_offset()).fill_(fill_value)
    return self


@op(
    "fill.Tensor(Tensor self, Tensor value) -> Tensor",
    "fill.Scalar(Tensor self, Scalar value) -> Tensor",
    variants="function",
)
def fill(self, value):
    """A tensor like `self` with `value` in every element."""
    return self.clone().fill_(value)


@op("equal(Tensor self, Tensor other) -> bool", differentiable=False)
def equal(self, other):
    """True when both have the same shape and elements."""
    if self.shape != other.shape:
        return False
    if self.is_meta:
        raise _dispatch.no_meta("equal")
    return self.numel() == 0 or bool((self == other).all())
