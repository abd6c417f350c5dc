"""Window functions: torch.signal.windows. Symmetric by default; sym=False gives windows that repeat with period M."""

import math

import torchlite as torch

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]


def _check(name, M, dtype, layout):
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout is not torch.strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    if dtype not in (torch.float32, torch.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")


def _window(name, M, dtype, layout, device, requires_grad, values, check=None):
    """values(line), where line(start, end) makes the points. As in PyTorch, it is these that require a gradient."""
    dtype = torch.get_default_dtype() if dtype is None else dtype
    _check(name, M, dtype, layout)
    if check:
        check()
    if M == 0:
        return torch.empty((0,), dtype=dtype, device=device, requires_grad=requires_grad)
    return values(
        lambda start, end, n=M: torch.linspace(start, end, n, dtype=dtype, device=device, requires_grad=requires_grad)
    )


def _one(line):
    """The window of one point."""
    return line(1, 1, 1)


def exponential(
    M, *, center=None, tau=1.0, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False
):
    """exp(-|n - center| / tau)."""

    def check():
        if tau <= 0:
            raise ValueError(f"Tau must be positive, got: {tau} instead.")
        if sym and center is not None:
            raise ValueError("Center must be None for symmetric windows")

    def values(line):
        middle = center
        if middle is None:
            middle = (M if not sym and M > 1 else M - 1) / 2.0
        return torch.exp(-torch.abs(line(-middle * (1 / tau), (-middle + (M - 1)) * (1 / tau))))

    return _window("exponential", M, dtype, layout, device, requires_grad, values, check)


def cosine(M, *, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    """sin(pi (n + 0.5) / M)."""

    def values(line):
        step = math.pi / (M + 1 if not sym and M > 1 else M)
        return torch.sin(line(0.5 * step, (0.5 + (M - 1)) * step))

    return _window("cosine", M, dtype, layout, device, requires_grad, values)


def gaussian(M, *, std=1.0, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    """exp(-(n - center)^2 / (2 std^2))."""

    def check():
        if std <= 0:
            raise ValueError(f"Standard deviation must be positive, got: {std} instead.")

    def values(line):
        start = -(M if not sym and M > 1 else M - 1) / 2.0
        k = 1 / (std * math.sqrt(2))
        return torch.exp(-(line(start * k, (start + (M - 1)) * k) ** 2))

    return _window("gaussian", M, dtype, layout, device, requires_grad, values, check)


def kaiser(M, *, beta=12.0, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    """I0(beta sqrt(1 - r^2)) / I0(beta) for r from -1 to 1."""

    def check():
        if beta < 0:
            raise ValueError(f"beta must be non-negative, got: {beta} instead.")

    def values(line):
        if M == 1:
            return _one(line)
        b = torch.tensor(beta, dtype=dtype, device=device)
        step = 2.0 * beta / (M if not sym else M - 1)
        x = line(-beta, -beta + (M - 1) * step).clamp(-beta, beta)
        return torch.i0(torch.sqrt(b * b - torch.pow(x, 2))) / torch.i0(b)

    return _window("kaiser", M, dtype, layout, device, requires_grad, values, check)


def bartlett(M, *, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    """A triangle: 1 - |2 n / (M - 1) - 1|."""

    def values(line):
        if M == 1:
            return _one(line)
        step = 2 / (M if not sym else M - 1)
        return 1 - torch.abs(line(-1, -1 + (M - 1) * step))

    return _window("bartlett", M, dtype, layout, device, requires_grad, values)


def general_cosine(M, *, a, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    """A sum of cosines with the coefficients `a` and alternating signs."""
    dtype = torch.get_default_dtype() if dtype is None else dtype
    _check("general_cosine", M, dtype, layout)
    if not isinstance(a, (list, tuple)):
        if M > 1:
            raise TypeError("Coefficients must be a list/tuple")
    elif not a and M > 1:
        raise ValueError("Coefficients cannot be empty")

    def values(line):
        if M == 1:
            return _one(line)
        step = 2 * math.pi / (M if not sym else M - 1)
        k = line(0, (M - 1) * step)
        i = torch.arange(len(a), dtype=dtype, device=device)
        signed = torch.tensor([(-1) ** n * v for n, v in enumerate(a)], dtype=dtype, device=device)
        return (signed.unsqueeze(-1) * torch.cos(i.unsqueeze(-1) * k)).sum(0)

    return _window("general_cosine", M, dtype, layout, device, requires_grad, values)


def general_hamming(M, *, alpha=0.54, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    """alpha - (1 - alpha) cos(2 pi n / (M - 1))."""
    return general_cosine(
        M, a=[alpha, 1.0 - alpha], sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def hamming(M, *, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    """0.54 - 0.46 cos(2 pi n / (M - 1))."""
    return general_hamming(M, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def hann(M, *, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    """0.5 - 0.5 cos(2 pi n / (M - 1))."""
    return general_hamming(
        M, alpha=0.5, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def blackman(M, *, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    """0.42 - 0.5 cos(2 pi n / (M - 1)) + 0.08 cos(4 pi n / (M - 1))."""
    _check("blackman", M, torch.get_default_dtype() if dtype is None else dtype, layout)
    return general_cosine(
        M, a=[0.42, 0.5, 0.08], sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def nuttall(M, *, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    """Nuttall's minimum four-term window."""
    return general_cosine(
        M,
        a=[0.3635819, 0.4891775, 0.1365995, 0.0106411],
        sym=sym,
        dtype=dtype,
        layout=layout,
        device=device,
        requires_grad=requires_grad,
    )
