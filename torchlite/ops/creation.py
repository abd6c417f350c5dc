"""Factories: tensors from sizes and values. dtype, device and the other options are PyTorch's."""

import math

import torchlite as torch

from .._core.errors import not_implemented
from ._declare import op, reference
from ._out import Out
from .copying import _channels_last_strides

_OPT = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
_LIKE = _OPT + ", MemoryFormat? memory_format=None"


def _formatted(size, dtype, device, memory_format):
    """An empty tensor in one of the channels_last formats."""
    if memory_format is torch.preserve_format:
        raise RuntimeError("unsupported memory format Preserve")
    return torch.empty_strided(size, _channels_last_strides(size, memory_format), dtype=dtype, device=device)


def _default(dtype):
    return torch.get_default_dtype() if dtype is None else dtype


# ---- from a size -----------------------------------------------------------------------------------------------------
@op(
    f"empty.memory_format(SymInt[] size, *, {_LIKE}) -> Tensor",
    kernel="empty",
    variants="function",
    out=Out(tags="factory"),
    grad=None,
    differentiable=False,
)
def empty(size, dtype, layout, device, pin_memory, memory_format, requires_grad=False):
    """A tensor with whatever the memory holds."""
    return _formatted(size, dtype, device, memory_format)


@op(
    f"zeros(SymInt[] size, *, {_OPT}) -> Tensor",
    kernel="zeros",
    variants="function",
    out=Out(tags="factory repeats"),
    grad=None,
    differentiable=False,
)
def zeros(size, dtype, layout, device, pin_memory, requires_grad=False):
    """A tensor of zeros."""
    return torch.full(size, 0, dtype=_default(dtype), device=device)


@op(
    f"ones(SymInt[] size, *, {_OPT}) -> Tensor",
    kernel="ones",
    variants="function",
    out=Out(tags="factory repeats"),
    grad=None,
    differentiable=False,
)
def ones(size, dtype, layout, device, pin_memory, requires_grad=False):
    """A tensor of ones."""
    return torch.full(size, 1, dtype=_default(dtype), device=device)


@op(
    f"full(SymInt[] size, Scalar fill_value, *, {_OPT}) -> Tensor",
    kernel="full",
    variants="function",
    out=Out(tags="factory repeats"),
    grad=None,
    differentiable=False,
    tags="reference",
)
def full(size, fill_value, dtype, layout, device, pin_memory, requires_grad=False):
    """A tensor filled with `fill_value`, whose type gives the dtype if none is named."""
    return reference.full(size, fill_value, dtype, device)


@op(
    f"empty_strided(SymInt[] size, SymInt[] stride, *, {_OPT}) -> Tensor",
    variants="function",
    grad=None,
    differentiable=False,
)
def empty_strided(size, stride, dtype, layout, device, pin_memory, requires_grad=False):
    """An uninitialised tensor with the given strides."""
    if len(size) != len(stride):
        raise RuntimeError(f"mismatch in length of strides and shape: {len(stride)} vs {len(size)}")
    if any(s < 0 for s in stride):
        raise RuntimeError(
            "as_strided: Negative strides are not supported at the moment, got strides: " + str(list(stride))
        )
    span = 0 if 0 in size else 1 + sum((n - 1) * s for n, s in zip(size, stride))
    if span * (dtype or torch.get_default_dtype()).itemsize >= 1 << 63:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
    return torch.empty((span,), dtype=dtype, device=device).as_strided(size, stride).detach()  # a view of nothing


@op(
    f"empty_permuted(SymInt[] size, int[] physical_layout, *, {_OPT}) -> Tensor",
    variants="function",
    grad=None,
    differentiable=False,
)
def empty_permuted(size, physical_layout, dtype, layout, device, pin_memory, requires_grad=False):
    """An uninitialised dense tensor whose dims lie in memory in the order `physical_layout`, outermost first."""
    if len(physical_layout) != len(size):
        raise RuntimeError(
            f"Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = "
            f"{len(size)} is not equal to len(physical_layout) = {len(physical_layout)}"
        )
    for i, d in enumerate(physical_layout):
        if not 0 <= d < len(size):
            raise RuntimeError(
                f"Dimension out of range (expected to be between 0 and {len(size) - 1}, but got {d} at index {i}).  "
                "NB: negative dims not currently supported; file an issue if you want it."
            )
        if d in physical_layout[:i]:
            raise RuntimeError("Duplicate dim not allowed")
    return torch.empty_strided(size, torch._C.dense_strides(size, physical_layout), dtype=dtype, device=device)


@op(f"scalar_tensor(Scalar s, *, {_OPT}) -> Tensor", variants="function", grad=None, differentiable=False)
def scalar_tensor(s, dtype, layout, device, pin_memory, requires_grad=False):
    """A 0-dim tensor of the default dtype, unless another one is given."""
    dtype = torch.get_default_dtype() if dtype is None else dtype
    if dtype in (torch.float16, torch.bfloat16):  # a number beyond their range is infinite
        return torch.full((), s, dtype=torch.float64, device="cpu").to(dtype).to(device)
    return torch.full((), s, dtype=dtype, device=device)


# ---- like another tensor ---------------------------------------------------------------------------------------------
@op(
    f"empty_like(Tensor self, *, {_LIKE}) -> Tensor",
    kernel="empty_like",
    variants="function",
    grad=None,
    differentiable=False,
)
def empty_like(self, dtype, layout, device, pin_memory, memory_format, requires_grad=False):
    """An uninitialised tensor of self's shape, dtype, device and layout, unless others are given."""
    if memory_format is not None and memory_format not in (torch.preserve_format, torch.contiguous_format):
        return _formatted(tuple(self.shape), dtype or self.dtype, device or self.device, memory_format)
    return torch.empty(self.shape, dtype=dtype or self.dtype, device=device or self.device)


@op(
    f"zeros_like(Tensor self, *, {_LIKE}) -> Tensor",
    kernel="zeros_like",
    variants="function",
    grad=None,
    differentiable=False,
)
def zeros_like(self, dtype, layout, device, pin_memory, memory_format, requires_grad=False):
    """Zeros in self's shape, dtype, device and layout, unless others are given."""
    return torch.empty_like(self, dtype=dtype, device=device, memory_format=memory_format).zero_()


@op(
    f"ones_like(Tensor self, *, {_LIKE}) -> Tensor",
    kernel="ones_like",
    variants="function",
    grad=None,
    differentiable=False,
)
def ones_like(self, dtype, layout, device, pin_memory, memory_format, requires_grad=False):
    """Ones in self's shape, dtype, device and layout, unless others are given."""
    return torch.empty_like(self, dtype=dtype, device=device, memory_format=memory_format).fill_(1)


@op(
    f"full_like(Tensor self, Scalar fill_value, *, {_LIKE}) -> Tensor",
    kernel="full_like",
    variants="function",
    grad=None,
    differentiable=False,
)
def full_like(self, fill_value, dtype, layout, device, pin_memory, memory_format, requires_grad=False):
    """`fill_value` in self's shape, dtype, device and layout, unless others are given."""
    return torch.empty_like(self, dtype=dtype, device=device, memory_format=memory_format).fill_(fill_value)


@op(
    f"new_empty(Tensor self, SymInt[] size, *, {_OPT}) -> Tensor",
    kernel="new_empty",
    variants="method",
    grad=None,
    differentiable=False,
)
def new_empty(self, size, dtype, layout, device, pin_memory, requires_grad=False):
    """An uninitialised tensor of the given size with self's dtype and device, unless others are given."""
    return torch.empty(size, dtype=dtype or self.dtype, device=device or self.device)


@op(
    f"new_zeros(Tensor self, SymInt[] size, *, {_OPT}) -> Tensor",
    kernel="new_zeros",
    variants="method",
    grad=None,
    differentiable=False,
)
def new_zeros(self, size, dtype, layout, device, pin_memory, requires_grad=False):
    """Zeros of the given size with self's dtype and device, unless others are given."""
    return torch.zeros(size, dtype=dtype or self.dtype, device=device or self.device)


@op(
    f"new_ones(Tensor self, SymInt[] size, *, {_OPT}) -> Tensor",
    kernel="new_ones",
    variants="method",
    grad=None,
    differentiable=False,
)
def new_ones(self, size, dtype, layout, device, pin_memory, requires_grad=False):
    """Ones of the given size with self's dtype and device, unless others are given."""
    return torch.ones(size, dtype=dtype or self.dtype, device=device or self.device)


@op(
    f"new_full(Tensor self, SymInt[] size, Scalar fill_value, *, {_OPT}) -> Tensor",
    kernel="new_full",
    variants="method",
    grad=None,
    differentiable=False,
)
def new_full(self, size, fill_value, dtype, layout, device, pin_memory, requires_grad=False):
    """`fill_value` in the given size with self's dtype and device, unless others are given."""
    return torch.full(size, fill_value, dtype=dtype or self.dtype, device=device or self.device)


@op(
    f"new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, *, {_OPT}) -> Tensor",
    variants="method",
    grad=None,
    differentiable=False,
)
def new_empty_strided(self, size, stride, dtype, layout, device, pin_memory, requires_grad=False):
    """An uninitialised tensor with the given strides and self's dtype and device, unless others are given."""
    return torch.empty_strided(size, stride, dtype=dtype or self.dtype, device=device or self.device)


# ---- sequences -------------------------------------------------------------------------------------------------------
@op(
    f"arange(Scalar end, *, {_OPT}) -> Tensor",
    kernel="arange",
    variants="function",
    out=Out(tags="counts factory flat"),
    grad=None,
    differentiable=False,
)
def arange(end, dtype, layout, device, pin_memory, requires_grad=False):
    """0, 1, ... below `end`."""
    return torch.arange(0, end, 1, dtype=dtype, device=device)


@op(
    f"arange.start(Scalar start, Scalar end, *, {_OPT}) -> Tensor",
    kernel="arange_start",
    variants="function",
    out=Out(tags="counts factory flat"),
    grad=None,
    differentiable=False,
)
def arange_start(start, end, dtype, layout, device, pin_memory, requires_grad=False):
    """start, start + 1, ... below `end`."""
    return torch.arange(start, end, 1, dtype=dtype, device=device)


@op(
    f"arange.start_step(Scalar start, Scalar end, Scalar step=1, *, {_OPT}) -> Tensor",
    kernel="arange_step",
    variants="function",
    out=Out(tags="counts factory flat"),
    grad=None,
    differentiable=False,
    tags="reference",
)
def arange_start_step(start, end, step, dtype, layout, device, pin_memory, requires_grad=False):
    """start, start + step, ... before `end`; integers give int64, else the default dtype."""
    return reference.arange_step(start, end, step, dtype, device)


@op(
    f"range.step(Scalar start, Scalar end, Scalar step=1, *, {_OPT}) -> Tensor",
    variants="function",
    out=Out(tags="factory flat"),
    grad=None,
    differentiable=False,
)
def range(start, end, step, dtype, layout, device, pin_memory, requires_grad=False):
    """start, start + step, ... up to and with `end`."""
    import warnings

    warnings.warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent "
        "with Python's range builtin. Instead, use torch.arange, which produces values in [start, end).",
        stacklevel=2,
    )
    if not (step < 0 or step > 0):  # NaN, too
        raise RuntimeError("step must be nonzero")
    if (step > 0 and end < start) or (step < 0 and end > start):
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    n = int((end - start) / step) + 1
    steps = torch.arange(n, dtype=torch.float64, device=device) * step + start
    return steps.to(torch.get_default_dtype() if dtype is None else dtype)


def _number(v, name):
    if isinstance(v, torch.Tensor):
        if v.dim():
            raise RuntimeError(
                "linspace only supports 0-dimensional start and end tensors, "
                f"but got {name} with {v.dim()} dimension(s)."
            )
        return torch.zeros((), dtype=v.dtype, device="cpu").item() if v.is_meta else v.item()
    return v


def _complex_dtype(start, end, dtype):
    if dtype is not None:
        return dtype
    wide = torch.get_default_dtype() == torch.float64
    return torch.complex128 if wide else torch.complex64


def _overloads(name, extra=""):
    return [
        f"{name}{tag}({a} start, {b} end, int steps, {extra}*, {_OPT}) -> Tensor"
        for tag, a, b in (
            ("", "Scalar", "Scalar"),
            (".Tensor_Tensor", "Tensor", "Tensor"),
            (".Tensor_Scalar", "Tensor", "Scalar"),
            (".Scalar_Tensor", "Scalar", "Tensor"),
        )
    ]


@op(
    _overloads("linspace")[0],
    kernel="linspace",
    variants="function",
    out=Out(tags="factory flat"),
    grad=None,
    differentiable=False,
)
def linspace(start, end, steps, dtype, layout, device, pin_memory, requires_grad=False):
    """`steps` evenly spaced values from `start` to `end`, both included."""
    dtype = _complex_dtype(start, end, dtype)
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    if not dtype.is_complex:
        raise RuntimeError(_unsafe("linspace", dtype))
    if dtype is torch.complex64 and any(
        3.4028234663852886e38 < abs(v) < math.inf for z in (start, end) for v in (complex(z).real, complex(z).imag)
    ):
        raise RuntimeError("value cannot be converted to type c10::complex<float> without overflow")
    re = torch.linspace(complex(start).real, complex(end).real, steps, dtype=dtype.to_real(), device=device)
    im = torch.linspace(complex(start).imag, complex(end).imag, steps, dtype=dtype.to_real(), device=device)
    return torch.complex(re, im)


def _unsafe(name, dtype):
    kind = "double" if torch.get_default_dtype() is torch.float64 else "float"
    return (
        f"torch.{name}(): inferred dtype c10::complex<{kind}> can't be safely cast to passed dtype {dtype._scalar_type}"
    )


@op(*_overloads("linspace")[1:], variants="function", out=Out(tags="factory flat"), grad=None, differentiable=False)
def linspace_of_tensors(start, end, steps, dtype, layout, device, pin_memory, requires_grad=False):
    """`steps` evenly spaced values from `start` to `end`, both included."""
    return torch.linspace(_number(start, "start"), _number(end, "end"), steps, dtype=dtype, device=device)


@op(
    _overloads("logspace", "float base=10.0, ")[0],
    kernel="logspace",
    variants="function",
    out=Out(tags="factory flat"),
    grad=None,
    differentiable=False,
)
def logspace(start, end, steps, base, dtype, layout, device, pin_memory, requires_grad=False):
    """`steps` powers of `base`, with evenly spaced exponents from `start` to `end`."""
    dtype = _complex_dtype(start, end, dtype)
    if not dtype.is_complex:
        raise RuntimeError(_unsafe("logspace", dtype))
    return torch.pow(base, torch.linspace(start, end, steps, dtype=dtype, device=device))


@op(
    *_overloads("logspace", "float base=10.0, ")[1:],
    variants="function",
    out=Out(tags="factory flat"),
    grad=None,
    differentiable=False,
)
def logspace_of_tensors(start, end, steps, base, dtype, layout, device, pin_memory, requires_grad=False):
    """`steps` powers of `base`, with evenly spaced exponents from `start` to `end`."""
    for v, name in ((start, "start"), (end, "end")):
        if isinstance(v, torch.Tensor) and v.dim():
            raise RuntimeError(
                "logspace only supports 0-dimensional start and end tensors, "
                f"but got {name} with {v.dim()} dimension(s)."
            )
    return torch.logspace(_number(start, "start"), _number(end, "end"), steps, base, dtype=dtype, device=device)


@op(
    f"eye(SymInt n, *, {_OPT}) -> Tensor",
    kernel="eye",
    variants="function",
    out=Out(tags="factory"),
    grad=None,
    differentiable=False,
)
def eye(n, dtype, layout, device, pin_memory, requires_grad=False):
    """The n x n matrix with ones on the diagonal."""
    return torch.eye(n, n, dtype=dtype, device=device)


@op(
    f"eye.m(SymInt n, SymInt m, *, {_OPT}) -> Tensor",
    kernel="eye_m",
    variants="function",
    out=Out(tags="factory"),
    grad=None,
    differentiable=False,
)
def eye_m(n, m, dtype, layout, device, pin_memory, requires_grad=False):
    """The n x m matrix with ones on the diagonal."""
    rows, columns = torch.arange(n, device=device), torch.arange(m, device=device)
    return (rows.unsqueeze(1) == columns).to(_default(dtype))


_INDICES = (
    "int row, int col, int offset=0, *, ScalarType? dtype=long, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None"
)


@op(
    "_tri_indices_lower(int row, int col, int offset) -> Tensor",
    kernel="tril_indices",
    module="aten",
    variants="function",
    grad=None,
    differentiable=False,
)
def _lower(row, col, offset):
    """(2, n) int64 positions of the lower triangle."""
    return torch.stack(torch.ops.functions.nonzero_numpy(torch.ones((row, col), dtype=torch.bool).tril(offset)))


@op(
    "_tri_indices_upper(int row, int col, int offset) -> Tensor",
    kernel="triu_indices",
    module="aten",
    variants="function",
    grad=None,
    differentiable=False,
)
def _upper(row, col, offset):
    """(2, n) int64 positions of the upper triangle."""
    return torch.stack(torch.ops.functions.nonzero_numpy(torch.ones((row, col), dtype=torch.bool).triu(offset)))


def _indices(t, name, dtype, device):
    if dtype not in (None, torch.int32, torch.int64):
        raise not_implemented(name, dtype)
    if dtype == torch.int32:
        t = t.to(dtype)
    return t if device is None else t.to(device)


@op(f"tril_indices({_INDICES}) -> Tensor", variants="function", grad=None, differentiable=False)
def tril_indices(row, col, offset, dtype, layout, device, pin_memory, requires_grad=False):
    """Rows and columns (2, n) of the lower triangle of a row x col matrix."""
    return _indices(_lower(row, col, offset), "tril_indices", dtype, device)


@op(f"triu_indices({_INDICES}) -> Tensor", variants="function", grad=None, differentiable=False)
def triu_indices(row, col, offset, dtype, layout, device, pin_memory, requires_grad=False):
    """Rows and columns (2, n) of the upper triangle of a row x col matrix."""
    return _indices(_upper(row, col, offset), "triu_indices", dtype, device)
