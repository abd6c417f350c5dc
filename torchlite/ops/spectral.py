"""Short-time Fourier transforms and the windows that go with them."""

import math

import torchlite as torch

from .._core.errors import not_implemented
from .. import _C
from .._core.dispatch_modes import all_examples
from ._declare import op
from .fft import fft_c2c, fft_c2r, fft_r2c


def _pad_window(window, n_fft):
    left = (n_fft - window.shape[0]) // 2
    return (
        torch.constant_pad_nd(window, [left, n_fft - window.shape[0] - left], 0) if window.shape[0] < n_fft else window
    )


def _shown(window):
    return "None" if window is None else f"torch.{window.dtype._scalar_type}Tensor{{{list(window.shape)}}}"


def _flag(v):
    return "None" if v is None else str(int(v))


@op(
    "stft.center(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, "
    "bool center=True, str pad_mode='reflect', bool normalized=False, bool? onesided=None, "
    "bool? return_complex=None, bool? align_to_window=None) -> Tensor",
    tags="own",
    samples=lambda t: [
        (t(20), 8, {"return_complex": True}),
        (t(2, 20), 6, 3, 5, t(5), False, {"normalized": True, "return_complex": True}),
        (t(2, 20), 6, None, None, None, True, "constant", {"onesided": False, "return_complex": True}),
    ],
)
def stft(
    self, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided, return_complex, align_to_window
):
    """Fourier transforms of windows of a signal (or a batch of signals), `hop_length` apart: (..., frequencies,
    frames)."""
    if window is None:
        _C.warn_once(
            "A window was not provided. A rectangular window will be applied,which is known to cause spectral "
            "leakage. Other windows such as torch.hann_window or torch.hamming_window are recommended to reduce "
            "spectral leakage.To suppress this warning and use a rectangular window, "
            "explicitly set `window=torch.ones(n_fft, device=<device>)`."
        )
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    x = self
    if center:
        x = torch.nn.functional.pad(
            x.reshape((1,) * (3 - x.dim()) + tuple(x.shape)), (n_fft // 2, n_fft // 2), pad_mode
        )
        x = x.reshape(tuple(x.shape[3 - self.dim() :])) if self.dim() < 3 else x
    hop = n_fft // 4 if hop_length is None else hop_length
    win = n_fft if win_length is None else win_length

    def fail(text):
        shape = list(x.shape[x.dim() - self.dim() :])
        raise RuntimeError(
            f"stft(torch.{x.dtype._scalar_type}Tensor{shape}, n_fft={n_fft}, hop_length={hop}, win_length={win}, "
            f"window={_shown(window)}, normalized={int(normalized)}, onesided={_flag(onesided)}, "
            f"return_complex={_flag(return_complex)}, align_to_window={_flag(align_to_window)}) : expected {text}"
        )

    complex_in = x.is_complex() or (window is not None and window.is_complex())
    if not return_complex:
        if return_complex is None and not complex_in:
            raise RuntimeError(
                "stft requires the return_complex parameter be given for real inputs, and will further require that "
                "return_complex=True in a future PyTorch release."
            )
        if return_complex is not None:
            import warnings

            warnings.warn(
                "stft with return_complex=False is deprecated. In a future pytorch release, "
                "stft will return complex tensors for all inputs, and return_complex=False will raise an error.\n"
                "Note: you can still call torch.view_as_real on the complex output to "
                "recover the old return format.",
                UserWarning,
                stacklevel=3,
            )
    if not (x.is_floating_point() or x.is_complex()):
        fail("a tensor of floating point or complex values")
    if x.dim() not in (1, 2):
        fail("a 1D or 2D tensor")
    x = x.unsqueeze(0) if self.dim() == 1 else x
    length = x.shape[1]
    if not 0 < n_fft <= length:
        fail(f"0 < n_fft < {length}, but got n_fft={n_fft}")
    if hop <= 0:
        fail(f"hop_length > 0, but got hop_length={hop}")
    if not 0 < win <= n_fft:
        fail(f"0 < win_length <= n_fft, but got win_length={win}")
    if window is not None and (window.dim() != 1 or window.shape[0] != win):
        fail(f"a 1D window tensor of size equal to win_length={win}, but got window with size {list(window.shape)}")
    if onesided and complex_in:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if window is None and win < n_fft:
        window = torch.ones(win, dtype=x.dtype, device=x.device)
    if not center and align_to_window:
        side = (n_fft - win) // 2
        x = torch.constant_pad_nd(x, [side, side + (n_fft - win) % 2], 0)
    frames = x.unfold(1, n_fft, hop)
    if window is not None:
        frames = frames * _pad_window(window, n_fft)
    if frames.dtype in (torch.float16, torch.bfloat16):
        raise RuntimeError(f"Unsupported dtype {frames.dtype._scalar_type}")
    mode = 1 if normalized else 0
    if complex_in:
        y = fft_c2c(frames, (2,), mode, True)
    else:
        y = fft_r2c(frames, (2,), mode, True if onesided is None else onesided)
    y = y.transpose(1, 2)
    y = y.squeeze(0) if self.dim() == 1 else y
    if not _C.differentiated(y):
        y = y.detach()  # no view of the transform, for who detaches it in place
    return y if return_complex or (return_complex is None and complex_in) else torch.view_as_real(y)


@op(
    "istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, "
    "bool center=True, bool normalized=False, bool? onesided=None, int? length=None, "
    "bool return_complex=False) -> Tensor",
    samples=lambda t: [
        (t(5, 6, dtype="complex64" if t.dtype is torch.float32 else "complex128"), 8),
        (
            t(2, 4, 5, dtype="complex64" if t.dtype is torch.float32 else "complex128"),
            6,
            2,
            6,
            None,
            False,
            True,
            {"length": 9},
        ),
    ],
)
def istft(self, n_fft, hop_length, win_length, window, center, normalized, onesided, length, return_complex):
    """The signal whose stft is `self`, in the least squares sense; `length` cuts it or fills it up with zeros."""
    if window is None:
        _C.warn_once(
            "A window was not provided. A rectangular window will be applied.Please provide the same window used "
            "by stft to make the inversion lossless.To suppress this warning and use a rectangular window, "
            "explicitly set `window=torch.ones(n_fft, device=<device>)`."
        )
    if not self.is_complex():
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )
    hop = n_fft // 4 if hop_length is None else hop_length
    win = n_fft if win_length is None else win_length
    intro = (
        f"istft(CPU{self.dtype._scalar_type}Type{list(self.shape)}, n_fft={n_fft}, hop_length={hop}, "
        f"win_length={win}, window={_shown(window)}, center={int(center)}, normalized={int(normalized)}, "
        f"onesided={_flag(onesided)}, length={'None' if length is None else length}, "
        f"return_complex={int(return_complex)}) "
    )

    def fail(text):
        raise RuntimeError(intro + ": " + text)

    if self.numel() == 0:
        fail("input tensor cannot be empty.")
    if self.dim() not in (2, 3):
        fail(f"expected a tensor with 3 or 4 dimensions, but got {self.dim() + 1}")
    size, n_frames = self.shape[-2:]
    half = n_fft // 2 + 1
    one = size != n_fft if onesided is None else onesided
    if size != (half if one else n_fft):
        fail(
            "expected the frequency dimension (3rd to the last) of the input tensor to match "
            f"n_fft{' / 2 + 1' if one else ''} when onesided={'True' if one else 'False'}, but got {size}"
        )
    if not 0 < hop <= win:
        fail("expected 0 < hop_length <= win_length")
    if not 0 < win <= n_fft:
        fail("expected 0 < win_length <= n_fft")
    if window is not None and (window.dim() != 1 or window.shape[0] != win):
        fail("Invalid window shape. window has to be 1D and length of `win_length`")
    if window is None:
        window = torch.ones(
            win, dtype=torch.float64 if self.dtype is torch.complex128 else torch.float32, device=self.device
        )
    elif window.is_complex() and not return_complex:
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    if return_complex and one:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    window = _pad_window(window, n_fft)
    x = self.resolve_conj()
    x = torch.view_as_real(x.unsqueeze(0) if self.dim() == 2 else x)  # whose gradient is contiguous
    x = torch.view_as_complex(x.transpose(1, 2))
    mode = 1 if normalized else 2
    if return_complex:
        x = fft_c2c(x, (2,), mode, False)
    else:
        x = fft_c2r(x if one else x.narrow(2, 0, half), (2,), mode, n_fft)
    full = n_fft + hop * (n_frames - 1)
    back = torch.ops.functions.unfold_backward
    y = back(x * window, (x.shape[0], full), 1, n_fft, hop)
    weight = back((window * window).expand(1, n_frames, n_fft), (1, full), 1, n_fft, hop)
    start = n_fft // 2 if center else 0
    if length is not None:
        end = start + length
    elif center:
        end = full - n_fft // 2
    else:
        end = full
    y, weight = y[:, start:end], weight[:, start:end]
    if weight.numel() and not weight.is_meta and bool(all_examples(weight).abs().min() <= 1e-11):
        raise RuntimeError(intro + "window overlap add min: 1\n[ CPUBoolType{} ]")
    y = y / weight
    y = y.squeeze(0) if self.dim() == 2 else y
    if end > full:
        import warnings

        warnings.warn(
            "The length of signal is shorter than the length parameter. Result is being padded with zeros in the "
            "tail. Please check your center and hop_length settings.",
            UserWarning,
            stacklevel=3,
        )
        y = torch.constant_pad_nd(y, [0, end - full], 0)
    return y


# ---- windows ---------------------------------------------------------------------------------------------------------
_FACTORY = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"


def _window(name, length, periodic, dtype, layout, device, formula):
    kind = dtype._cpp_type if dtype else "float (default)"
    options = (
        f"got: TensorOptions(dtype={kind}, device={'cpu' if device is None else device}, layout=%s, "
        "requires_grad=false (default), pinned_memory=false, memory_format=(nullopt))"
    )
    if layout not in (None, torch.strided):
        raise RuntimeError(f"{name} is not implemented for sparse types, " + options % "Sparse")
    if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError(f"{name} expects floating point dtypes, " + options % "Strided (default)")
    if length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={length}")
    if dtype is not None and dtype.is_complex and length > 1:
        raise not_implemented("arange_cpu", dtype)
    if length < 2:
        return torch.ones(length, dtype=dtype, device=device)
    n = length + 1 if periodic else length
    return formula(torch.arange(n, dtype=dtype or torch.get_default_dtype(), device=device), n).narrow(0, 0, length)


def _cosine(x, n, alpha, beta):
    return (x * (math.pi * 2 / (n - 1))).cos() * -beta + alpha


def _triangle(x, n):
    x = x * (2.0 / (n - 1))
    first = ((n - 1) >> 1) + 1
    x[first:] = x[first:] * -1 + 2
    return x


def _blackman(x, n):
    x = x * (math.pi / (n - 1))
    return (x * 4).cos() * 0.08 - (x * 2).cos() * 0.5 + 0.42


def _kaiser(x, n, beta):
    if not (x.is_cpu or x.is_meta):
        return _kaiser(x.cpu(), n, beta).to(x.device)  # computed in float64
    wide = x.double() if x.dtype is not torch.float64 else x
    half = (n - 1) / 2.0
    r = (wide - half) / half
    top = torch.i0((1 - r * r).clamp(min=0).sqrt() * abs(beta))
    return (top / torch.i0(torch.tensor(float(beta), dtype=torch.float64, device=x.device))).to(x.dtype)


def _declare(name, doc, formula, **extra):
    """name(window_length), (..., periodic) and with the further arguments of the window, one overload for each."""
    full, more = f"{name}_window", list(extra.items())
    for n in range(-1, len(more) + 1):
        given = ("bool periodic, " if n >= 0 else "") + "".join(f"float {k}, " for k, _ in more[: max(n, 0)])
        tail = ".periodic" + "".join("_" + k for k, _ in more[:n]) if n >= 0 else ""
        if name == "kaiser" and n == 1:
            tail = ".beta"

        def body(window_length, *rest, n=n):
            given = list(rest[: n + 1])
            periodic = given[0] if given else True
            values = given[1:] + [v for _, v in more[max(n, 0) :]]
            dtype, layout, device = rest[n + 1 : n + 4]
            return _window(
                full, window_length, periodic, dtype, layout, device, lambda x, size: formula(x, size, *values)
            )

        body.__doc__ = doc
        body.__name__ = full
        op(
            f"{full}{tail}(int window_length, {given}*, {_FACTORY}) -> Tensor",
            variants="function",
            grad=None,
            differentiable=False,
            tags="own",
            tol={"float64": (1e-6, 1e-6)},
            samples=lambda t, n=n: [(m,) + ((False, 0.4, 0.3)[: n + 1]) for m in (0, 1, 6, 7)],
        )(body)


_declare(
    "hann",
    "A Hann window: sin(pi k / N) squared; N is window_length for a periodic window, else window_length - 1.",
    lambda x, n: _cosine(x, n, 0.5, 0.5),
)
_declare("hamming", "A Hamming window: alpha - beta cos(2 pi k / N).", _cosine, alpha=0.54, beta=0.46)
_declare("blackman", "A Blackman window: 0.42 - 0.5 cos(2 pi k / N) + 0.08 cos(4 pi k / N).", _blackman)
_declare("bartlett", "A Bartlett window: a triangle of height 1.", _triangle)
_declare("kaiser", "A Kaiser window: I0(beta sqrt(1 - r^2)) / I0(beta) for r from -1 to 1.", _kaiser, beta=12.0)
