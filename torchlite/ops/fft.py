"""torch.fft. Three private ops hold the kernels and the gradients; the public ones prepare sizes, dims and norms."""

import math

import torchlite as torch

from .. import _C
from .._core.errors import negative_dimension
from ._declare import op
from ._out import FOUND, Out, of_kind


# ---- primitives ------------------------------------------------------------------------------------------------------
def _scale(x, sizes, normalization):
    n = math.prod(sizes)
    if normalization == 0:
        return x
    return x / (math.sqrt(n) if normalization == 1 else n)


def _dft(x, dim, forward):
    """One dim by the matrix of its transform."""
    n = x.shape[dim]
    k = torch.arange(n, device=x.device)
    angle = (k.unsqueeze(1) * k % n).to(torch.float64) * ((-2 if forward else 2) * math.pi / n)
    return (x.movedim(dim, -1) @ torch.complex(angle.cos(), angle.sin()).to(x.dtype)).movedim(-1, dim)


@op(
    "_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor",
    kernel="_fft_c2c",
    variants="function",
    node="FftC2CBackward0",
    grad={"self": lambda c, g: fft_c2c(g, c.dim, c.normalization, not c.forward)},
    samples=lambda t: [
        (t(3, 4, dtype="complex128"), (1,), 0, True),
        (t(3, 5, 2, dtype="complex128"), (1, 0), 1, False),
    ],
)
def fft_c2c(self, dim, normalization, forward):
    """The transform of complex numbers over `dim`; normalization: 0 none, 1 by the root of the size, 2 by the size."""
    x = self
    for d in dim:
        x = _dft(x, d, forward)
    return _scale(x, [self.shape[d] for d in dim], normalization)


def _r2c_grad(g, shape, dim, normalization, onesided):
    if onesided:
        last = dim[-1]
        g = _resized(g, (last,), (shape[last],))
    return torch.real(fft_c2c(g, dim, normalization, False))


@op(
    "_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor",
    kernel="_fft_r2c",
    variants="function",
    node="FftR2CBackward0",
    tags="keeps",
    grad={"self": lambda c, g: _r2c_grad(g, c.self_shape, c.dim, c.normalization, c.onesided)},
    samples=lambda t: [(t(3, 4), (1,), 0, True), (t(3, 5, 2), (2, 1), 1, True), (t(3, 5), (0, 1), 2, False)],
)
def fft_r2c(self, dim, normalization, onesided):
    """The forward transform of real numbers; onesided: without the half of the last dim that mirrors the rest."""
    x = fft_c2c(torch.complex(self, torch.zeros_like(self)), dim, normalization, True)
    return x.narrow(dim[-1], 0, x.shape[dim[-1]] // 2 + 1) if onesided else x


def _c2r_grad(g, dim, normalization, last_dim_size):
    g = fft_r2c(g, dim, normalization, True)
    h = g.shape[dim[-1]]
    # those with a mirror image count twice
    weight = [1.0] + [2.0] * (last_dim_size - h) + [1.0] * (h - 1 - (last_dim_size - h))
    shape = [1] * g.dim()
    shape[dim[-1]] = h
    return g * torch.tensor(weight, dtype=torch.float32, device=g.device).reshape(shape)


@op(
    "_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor",
    kernel="_fft_c2r",
    variants="function",
    node="FftC2RBackward0",
    grad={"self": lambda c, g: _c2r_grad(g, c.dim, c.normalization, c.last_dim_size)},
    samples=lambda t: [(t(3, 3, dtype="complex128"), (1,), 0, 4), (t(3, 3, dtype="complex128"), (0, 1), 2, 5)],
)
def fft_c2r(self, dim, normalization, last_dim_size):
    """The backward transform of the half that fft_r2c leaves; the last dim has `last_dim_size` real numbers."""
    last = dim[-1]
    x = self
    for d in dim[:-1]:
        x = _dft(x, d, False)
    h, mirrored = last_dim_size // 2 + 1, (last_dim_size - 1) // 2
    x = x.narrow(last, 0, h)
    ends = torch.ones(h, dtype=torch.bool, device=x.device)
    ends[1 : mirrored + 1] = False
    shape = [1] * x.dim()
    shape[last] = h
    # numbers that mirror themselves are real
    x = torch.complex(torch.real(x), torch.imag(x).masked_fill(ends.reshape(shape), 0))
    x = torch.cat([x, x.narrow(last, 1, mirrored).flip(last).conj()], last)
    return _scale(torch.real(_dft(x, last, False)), [self.shape[d] for d in dim[:-1]] + [last_dim_size], normalization)


# ---- arguments -------------------------------------------------------------------------------------------------------
def _promoted(x, complex_too=False):
    if x.dtype.is_floating_point and x.dtype not in (torch.float32, torch.float64):
        raise RuntimeError(f"Unsupported dtype {x.dtype._scalar_type}")
    if x.dtype is torch.complex32:
        raise RuntimeError("MKL FFT doesn't support tensors of type: Half")
    if not (x.is_floating_point() or x.is_complex()):
        x = x.to(torch.get_default_dtype())
    if complex_too and not x.is_complex():
        x = x.to(torch.complex128 if x.dtype is torch.float64 else torch.complex64)
    return x


def _norm(norm, forward):
    if norm is None or norm == "backward":
        return 0 if forward else 2
    if norm == "forward":
        return 2 if forward else 0
    if norm == "ortho":
        return 1
    raise RuntimeError(f'Invalid normalization mode: "{norm}"')


def _wrap(dim, ndim):
    if not ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return _C.wrap_dim(dim, ndim)


def _points(n):
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")
    return n


def _resized(x, dims, sizes):
    """x cut off or filled up with zeros at the end of each dim."""
    pad = [0] * (2 * x.dim())
    for d, n in zip(dims, sizes):
        if x.shape[d] > n:
            x = x.narrow(d, 0, n)
        else:
            pad[2 * (x.dim() - 1 - d) + 1] = n - x.shape[d]
    return torch.constant_pad_nd(x, pad, 0) if any(pad) else x


def _dims(x, s, dim):
    """Wrapped dims, and the size of each."""
    n = x.dim()
    dims = None
    if dim is not None:
        dims = [_wrap(d, n) for d in dim]
        if len(set(dims)) != len(dims):
            raise RuntimeError("FFT dims must be unique")
    if s is None:
        dims = list(range(n)) if dims is None else dims
        return dims, [x.shape[d] for d in dims]
    if dims is not None and len(dims) != len(s):
        raise RuntimeError("When given, dim and shape arguments must have the same length")
    if len(s) > n:
        raise RuntimeError(f"Got shape with {len(s)} values but input tensor only has {n} dimensions.")
    dims = list(range(n - len(s), n)) if dims is None else dims
    return dims, [x.shape[d] if v == -1 else v for v, d in zip(s, dims)]


def _real_only(name, x):
    if x.is_complex():
        raise RuntimeError(
            f"{name} expects a real{'-valued' if name == 'rfftn' else ''} input tensor, but got {x.dtype._scalar_type}"
        )


def _some(name, dims):
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")


# ---- one dim ---------------------------------------------------------------------------------------------------------
def _one(x, n, dim, norm, forward):
    x = _promoted(x)
    d = _wrap(dim, x.dim())
    x = _resized(x, (d,), (_points(x.shape[d] if n is None else n),))
    if x.is_complex():
        return fft_c2c(x, (d,), _norm(norm, forward), forward)
    y = fft_r2c(x, (d,), _norm(norm, forward), False)
    return y if forward else y.conj()


def _one_r2c(name, x, n, dim, norm, forward):
    _real_only(name, x)
    x = _promoted(x)
    d = _wrap(dim, x.dim())
    y = fft_r2c(_resized(x, (d,), (_points(x.shape[d] if n is None else n),)), (d,), _norm(norm, forward), True)
    return y if forward else y.conj()


def _one_c2r(x, n, dim, norm, forward):
    x = _promoted(x, True)
    d = _wrap(dim, x.dim())
    n = _points(2 * (x.shape[d] - 1) if n is None else n)
    x = _resized(x, (d,), (n // 2 + 1,))
    return fft_c2r(x.conj() if forward else x, (d,), _norm(norm, forward), n)


_TOL = {"float32": (1e-5, 1e-5)}


def _transform(name):
    """The transform that PyTorch makes one of; it makes inverses of real numbers of rfft, and conjugates those."""
    if name in ("fft", "ifft", "ihfft"):
        real = "_fft_r2c" if name == "fft" else "aten::conj_physical"
        return lambda x, *_: "_fft_c2c" if x.is_complex() else real
    if name.startswith("rfft"):
        return "_fft_r2c"
    return "_fft_c2r" if name.startswith(("irfft", "hfft")) else "_fft_c2c"


def _fft_dtype(name):
    kind = of_kind("fftn" if name in ("ifftn", "ifft2") else name.replace("2", "n"))
    if name not in ("ifft", "ihfft"):
        return kind
    return lambda args, result, out, i: kind(args, result, out, i) or (None if args[0].is_complex() else FOUND)


def _fft(name, schema, samples):
    return op(
        f"fft_{name}(Tensor self, {schema}, str? norm=None) -> Tensor",
        module="fft",
        out=Out(_fft_dtype(name), "late plain" if name != "ihfft" else "late", by=_transform(name)),
        samples=samples,
        tol=_TOL,
    )


_1D, _2D, _ND = (
    "SymInt? n=None, int dim=-1",
    "SymInt[1]? s=None, int[1] dim=[-2, -1]",
    "SymInt[1]? s=None, int[1]? dim=None",
)


def _samples_1d(t):
    return [(t(3, 4),), (t(5), 7), (t(6, 2), 4, 0, "ortho"), (t(3, 37), None, 1, "forward")]


def _samples_2d(t):
    return [(t(3, 4),), (t(2, 3, 5), (2, 4), (0, 2), "ortho")]


def _samples_nd(t):
    return [(t(3, 4),), (t(2, 3, 4), None, (0, 2), "forward"), (t(2, 3, 4), (3, 5))]


@_fft("fft", _1D, _samples_1d)
def fft(self, n, dim, norm):
    """The discrete Fourier transform along `dim`, which is first cut or filled up with zeros to `n`."""
    return _one(self, n, dim, norm, True)


@_fft("ifft", _1D, _samples_1d)
def ifft(self, n, dim, norm):
    """The inverse of fft."""
    return _one(self, n, dim, norm, False)


@_fft("rfft", _1D, _samples_1d)
def rfft(self, n, dim, norm):
    """fft of real numbers without the half of the result that mirrors the rest: n // 2 + 1 numbers."""
    return _one_r2c("rfft", self, n, dim, norm, True)


@_fft("irfft", _1D, _samples_1d)
def irfft(self, n, dim, norm):
    """The inverse of rfft: `n` real numbers (by default an even number of them)."""
    return _one_c2r(self, n, dim, norm, False)


@_fft("hfft", _1D, _samples_1d)
def hfft(self, n, dim, norm):
    """fft of a signal that is the mirror image of itself, given by its first half: `n` real numbers."""
    return _one_c2r(self, n, dim, norm, True)


@_fft("ihfft", _1D, _samples_1d)
def ihfft(self, n, dim, norm):
    """The inverse of hfft, from real numbers to n // 2 + 1 complex ones."""
    return _one_r2c("ihfft", self, n, dim, norm, False)


# ---- several dims ----------------------------------------------------------------------------------------------------
def _many(x, s, dim, norm, forward):
    x = _promoted(x, True)
    dims, sizes = _dims(x, s, dim)
    return fft_c2c(_resized(x, dims, [_points(n) for n in sizes]), tuple(dims), _norm(norm, forward), forward)


def _rfftn(x, s, dim, norm):
    _real_only("rfftn", x)
    x = _promoted(x)
    dims, sizes = _dims(x, s, dim)
    _some("rfftn", dims)
    return fft_r2c(_resized(x, dims, [_points(n) for n in sizes]), tuple(dims), _norm(norm, True), True)


def _c2r_dims(name, x, s, dim):
    """x resized, its dims, and the number of real numbers along the last."""
    dims, sizes = _dims(x, s, dim)
    _some(name, dims)
    for v in sizes:
        _points(v)
    n = _points(2 * (x.shape[dims[-1]] - 1) if s is None or s[-1] == -1 else s[-1])
    sizes[-1] = n // 2 + 1
    return _resized(x, dims, sizes), tuple(dims), n


def _irfftn(x, s, dim, norm):
    x, dims, n = _c2r_dims("irfftn", _promoted(x, True), s, dim)
    return fft_c2r(x, dims, _norm(norm, False), n)


def _hfftn(x, s, dim, norm):
    x, dims, n = _c2r_dims("hfftn", _promoted(x, True), s, dim)
    mode = _norm(norm, True)
    if len(dims) > 1:
        x = fft_c2c(x, dims[:-1], mode, True)
    return fft_c2r(x.conj(), dims[-1:], mode, n)


def _ihfftn(x, s, dim, norm):
    if x.is_complex():
        raise RuntimeError(f"Only supports floating-point dtypes, but found: {x.dtype._scalar_type}")
    x = _promoted(x)
    dims, sizes = _dims(x, s, dim)
    _some("ihfftn", dims)
    mode = _norm(norm, False)
    x = fft_r2c(_resized(x, dims, [_points(n) for n in sizes]), tuple(dims[-1:]), mode, True).conj()
    return fft_c2c(x, tuple(dims[:-1]), mode, False) if len(dims) > 1 else x


@_fft("fftn", _ND, _samples_nd)
def fftn(self, s, dim, norm):
    """fft over several dims (all by default), each first brought to its size in `s`."""
    return _many(self, s, dim, norm, True)


@_fft("ifftn", _ND, _samples_nd)
def ifftn(self, s, dim, norm):
    """The inverse of fftn."""
    return _many(self, s, dim, norm, False)


@_fft("rfftn", _ND, _samples_nd)
def rfftn(self, s, dim, norm):
    """fftn of real numbers, with half of the last dim."""
    return _rfftn(self, s, dim, norm)


@_fft("irfftn", _ND, _samples_nd)
def irfftn(self, s, dim, norm):
    """The inverse of rfftn."""
    return _irfftn(self, s, dim, norm)


@_fft("hfftn", _ND, _samples_nd)
def hfftn(self, s, dim, norm):
    """hfft over several dims: fft over all but the last, hfft over that."""
    return _hfftn(self, s, dim, norm)


@_fft("ihfftn", _ND, _samples_nd)
def ihfftn(self, s, dim, norm):
    """The inverse of hfftn."""
    return _ihfftn(self, s, dim, norm)


@_fft("fft2", _2D, _samples_2d)
def fft2(self, s, dim, norm):
    """fftn over the last two dims."""
    return _many(self, s, dim, norm, True)


@_fft("ifft2", _2D, _samples_2d)
def ifft2(self, s, dim, norm):
    """The inverse of fft2."""
    return _many(self, s, dim, norm, False)


@_fft("rfft2", _2D, _samples_2d)
def rfft2(self, s, dim, norm):
    """rfftn over the last two dims."""
    return _rfftn(self, s, dim, norm)


@_fft("irfft2", _2D, _samples_2d)
def irfft2(self, s, dim, norm):
    """The inverse of rfft2."""
    return _irfftn(self, s, dim, norm)


@_fft("hfft2", _2D, _samples_2d)
def hfft2(self, s, dim, norm):
    """hfftn over the last two dims."""
    return _hfftn(self, s, dim, norm)


@_fft("ihfft2", _2D, _samples_2d)
def ihfft2(self, s, dim, norm):
    """The inverse of hfft2."""
    return _ihfftn(self, s, dim, norm)


# ---- helpers ---------------------------------------------------------------------------------------------------------
def _shift(x, dim, more):
    dims = list(range(x.dim())) if dim is None else [_wrap(d, x.dim()) for d in dim]
    return torch.roll(x, [(x.shape[d] + more) // 2 for d in dims], dims)


@op("fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor", module="fft", samples=lambda t: [(t(3, 4),), (t(3, 5), 1)])
def fftshift(self, dim):
    """Moves the frequency 0 from the first place to the middle of each dim."""
    return _shift(self, dim, 0)


@op(
    "fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor", module="fft", samples=lambda t: [(t(3, 4),), (t(3, 5), 1)]
)
def ifftshift(self, dim):
    """The inverse of fftshift."""
    return _shift(self, dim, 1)


_FACTORY = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"


def _freq(name, n, length, d, dtype, device):
    dtype = dtype or torch.get_default_dtype()
    if not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError(f"{name} requires a floating point or complex dtype")
    if length < 0:
        raise negative_dimension(length, [length])
    k = torch.arange(length, dtype=dtype, device=device)
    if name == "fftfreq":
        k[(n + 1) // 2 :] -= n
    return k * (1.0 / (n * d) if n * d else math.inf)


@op(
    f"fft_fftfreq(int n, float d=1.0, *, {_FACTORY}) -> Tensor",
    module="fft",
    out=Out(tags="counts factory flat"),
    grad=None,
    differentiable=False,
    samples=lambda t: [(5,), (4, 0.5)],
)
def fftfreq(n, d, dtype, layout, device, pin_memory, requires_grad=False):
    """The frequencies of fft's results for `n` points a distance `d` apart."""
    return _freq("fftfreq", n, n, d, dtype, device)


@op(
    f"fft_rfftfreq(int n, float d=1.0, *, {_FACTORY}) -> Tensor",
    module="fft",
    out=Out(tags="counts factory flat"),
    grad=None,
    differentiable=False,
    samples=lambda t: [(5,), (4, 0.5)],
)
def rfftfreq(n, d, dtype, layout, device, pin_memory, requires_grad=False):
    """The frequencies of rfft's results for `n` points a distance `d` apart."""
    return _freq("rfftfreq", n, int(n / 2) + 1, d, dtype, device)
