"""Fourier transforms, short-time transforms and windows against PyTorch."""

import pytest

torch = pytest.importorskip("torch")
import torchlite as tl
from against_torch import check, fails_alike, same

TOL = (1e-5, 1e-5)
# powers of two, products of small primes, primes of one butterfly, and lengths of a convolution
SIZES = [
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    9,
    12,
    16,
    30,
    31,
    37,
    64,
    74,
    97,
    100,
    121,
    128,
    143,
    222,
    961,
    101,
    194,
    202,
    291,
    1009,
    1024,
    2018,
]


def call(name, *args, **kwargs):
    return lambda lib, x: getattr(lib.fft, name)(x, *args, **kwargs)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_lengths(n, dtype):
    torch.manual_seed(n)
    x, z = (
        torch.randn(2, n, dtype=dtype),
        torch.randn(2, n, dtype=torch.complex64 if dtype is torch.float32 else torch.complex128),
    )
    tol = (1e-5, 1e-5 * n**0.5) if dtype is torch.float32 else (1e-10, 1e-12 * n)
    for name in ("fft", "ifft"):
        check(call(name), z, tol=tol)
        check(call(name), x, tol=tol)
        check(call(name, dim=0, n=3), z, tol=tol)
    for name in ("rfft", "ihfft"):
        check(call(name), x, tol=tol)
    for name in ("irfft", "hfft"):
        for size in (n, 2 * n, 2 * n - 1):
            check(call(name, size), z, tol=tol)
            check(call(name, size), x, tol=tol)


def error(lib, x, want):
    got = lib.fft.fft(lib.from_numpy(x.numpy()))
    return (torch.tensor(got.tolist(), dtype=torch.complex128) - want).abs().max()


@pytest.mark.parametrize("n", [31, 97, 210, 1001, 4096, 5040, 9409])
def test_precision(n):
    """Lengths of small primes: as near to the sums in double as PyTorch's."""
    x = torch.randn(n, dtype=torch.complex64)
    want = torch.fft.fft(x.to(torch.complex128))
    assert error(tl, x, want) < 2.5 * error(torch, x, want)


def test_precision_of_a_large_prime():
    """Rounded once from sums in double."""
    x = torch.randn(10007, dtype=torch.complex64)
    assert error(tl, x, torch.fft.fft(x.to(torch.complex128))) < 4e-5


@pytest.mark.parametrize("rows", [1, 2, 3, 9, 33])
@pytest.mark.parametrize("n", [1, 2, 4, 8, 12, 15, 20, 64, 270])
def test_lines_by_twos(n, rows):
    """Numbers of 32 bits go two lines at a time, with one left over, or alone."""
    z = torch.randn(rows, n, dtype=torch.complex64)
    for name in ("fft", "ifft"):
        check(call(name), z, tol=(1e-5, 5e-5))
        check(call(name, dim=0), z, tol=(1e-5, 5e-5))
    check(call("rfft"), z.real.contiguous(), tol=(1e-5, 5e-5))
    check(call("irfft", 2 * n - 2 or 1), z, tol=(1e-5, 5e-5))


def test_more_lengths_than_are_kept():
    for n in [8, 16, 24, 32, 40, 48, 8, 16, 37, 37, 48, 40000, 40000]:
        for dtype in (torch.complex64, torch.complex128):
            x = torch.randn(n, dtype=dtype)
            same(tl.fft.fft(tl.from_numpy(x.numpy())), torch.fft.fft(x), (1e-5, 1e-3))


@pytest.mark.parametrize("norm", [None, "backward", "forward", "ortho"])
@pytest.mark.parametrize("kind", ["", "i", "r", "ir", "h", "ih"])
def test_arguments(kind, norm):
    real = kind in ("r", "ih")
    x = torch.randn(3, 4, 5, dtype=torch.float64 if real else torch.complex128)
    for args in [(), (7,), (2,), (6, 0), (5, 1), (None, -2)]:
        check(call(kind + "fft", *args, norm=norm), x, second=True)
    for args in [(), ((2, 6),), ((3, -1), (2, 0)), (None, (0, 1)), (None, (-1,))]:
        check(call(kind + "fft2", *args, norm=norm), x, second=True)
        check(call(kind + "fftn", *args, norm=norm), x, second=True)
    check(call(kind + "fftn", (2, 5, 3), norm=norm), x)
    check(call(kind + "fftn", norm=norm), x.transpose(0, 2))


@pytest.mark.parametrize("dim", [0, 1, 2, 3])
def test_strides(dim):
    """Results lie in memory as PyTorch's do, whatever the input's strides."""
    for x in (
        torch.randn(2, 3, 4, 5),
        torch.randn(2, 3, 4, 5).transpose(0, 3),
        torch.randn(4, 6, 8, 10)[::2, ::2, ::2, ::2],
    ):
        for name in ("fft", "rfft", "irfft", "hfft", "ihfft"):
            want, got = getattr(torch.fft, name)(x, dim=dim), getattr(tl.fft, name)(tl.from_numpy(x.numpy()), dim=dim)
            same(got, want, TOL)
            assert got.stride() == want.stride()
        want, got = (
            torch.fft.fftn(x, dim=(dim, (dim + 1) % 4)),
            tl.fft.fftn(tl.from_numpy(x.numpy()), dim=(dim, (dim + 1) % 4)),
        )
        same(got, want, TOL)
        assert got.stride() == want.stride()


def test_other_inputs():
    for dtype in (torch.bool, torch.uint8, torch.int64):
        x = torch.arange(12).reshape(3, 4).to(dtype)
        for name in ("fft", "rfft", "irfft", "hfft", "fftn", "rfft2", "irfftn"):
            check(call(name), x, tol=TOL)
    assert tl.fft.fft(tl.zeros(0, 4)).shape == (0, 4)
    assert tl._fft_c2c(tl.zeros(3, 0, dtype=tl.complex64), [0, 1], 0, True).shape == (3, 0)  # no last dim to halve
    check(lambda lib, x: lib.fft.fft(x, out=lib.empty(0, dtype=lib.complex128)), torch.randn(4), grad=False, tol=TOL)


def test_helpers():
    for shape in ((5,), (4, 3), (2, 3, 4)):
        x = torch.randn(shape)
        for name in ("fftshift", "ifftshift"):
            check(call(name), x)
            check(call(name, -1), x)
    for n in (0, 1, 4, 5):
        for d in (1.0, 0.25):
            same(tl.fft.fftfreq(n, d), torch.fft.fftfreq(n, d))
            same(tl.fft.rfftfreq(n, d, dtype=tl.float64), torch.fft.rfftfreq(n, d, dtype=torch.float64))


@pytest.mark.parametrize(
    "name, args, kwargs",
    [
        ("fft", (0,), {}),
        ("fft", (), {"dim": 5}),
        ("fft", (), {"norm": "bad"}),
        ("rfft", (-1,), {}),
        ("irfft", (0,), {}),
        ("fft2", ((2,),), {}),
        ("fft2", (), {"dim": (0, 0)}),
        ("fft2", (), {"dim": (0, 3)}),
        ("fftn", ((2, 3, 4),), {}),
        ("fftn", ((0, 3),), {}),
        ("fftn", ((-2, 3),), {}),
        ("fftn", ((2, 3), (0,)), {}),
        ("rfftn", (), {"dim": ()}),
        ("irfftn", (), {"dim": ()}),
        ("hfftn", (), {"dim": ()}),
        ("ihfftn", (), {"dim": ()}),
        ("fftshift", (3,), {}),
        ("fft", (2.5,), {}),
    ],
)
def test_errors(name, args, kwargs):
    fails_alike(call(name, *args, **kwargs), torch.randn(3, 4))


def test_type_errors():
    z = torch.randn(3, 4, dtype=torch.complex64)
    for name in ("rfft", "ihfft", "rfftn", "ihfftn", "rfft2", "ihfft2"):
        fails_alike(call(name), z)
    for name in ("fft", "rfft", "irfft", "fftn"):
        fails_alike(call(name), torch.randn(3, 4).half())
    fails_alike(call("fft"), torch.randn(()))
    fails_alike(call("fft"), torch.randn(0))
    fails_alike(lambda lib: lib.fft.fftfreq(4, dtype=lib.int64))


STFT = [
    {},
    {"hop_length": 3},
    {"win_length": 6},
    {"center": False},
    {"pad_mode": "constant"},
    {"normalized": True},
    {"onesided": False},
    {"center": False, "align_to_window": True, "win_length": 6},
    {"center": False, "align_to_window": False, "win_length": 6},
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("options", STFT, ids=str)
def test_stft(options):
    for shape in ((20,), (2, 21)):
        x = torch.randn(shape, dtype=torch.float64)
        w = torch.rand(options.get("win_length", 8), dtype=torch.float64)
        check(lambda lib, a: lib.stft(a, 8, return_complex=True, **options), x)
        check(lambda lib, a, b: lib.stft(a, 8, window=b, return_complex=True, **options), x, w)
        check(lambda lib, a, b: a.stft(8, window=b, return_complex=False, **options), x, w)
        check(lambda lib, a: lib.stft(a, 8, **options), x.to(torch.complex128))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"hop_length": 3},
        {"win_length": 6},
        {"normalized": True},
        {"length": 9},
        {"length": 60},
        {"center": False, "window": None},
    ],
    ids=str,
)
def test_istft(options):
    for shape in ((5, 7), (2, 5, 7)):
        z = torch.randn(shape, dtype=torch.complex128)
        if "window" not in options:
            w = 0.5 + torch.rand(options.get("win_length", 8), dtype=torch.float64)
            check(lambda lib, a, b: lib.istft(a, 8, window=b, **options), z, w)
        check(lambda lib, a: a.istft(8, **options), z)
        full = torch.randn(*shape[:-2], 8, 7, dtype=torch.complex128)
        check(lambda lib, a: lib.istft(a, 8, onesided=False, return_complex=True, **options), full)
        check(lambda lib, a: lib.istft(a, 8, onesided=False, **options), full)


def test_round_trip():
    x = tl.randn(2, 400)
    w = tl.hann_window(64)
    back = tl.istft(tl.stft(x, 64, 16, window=w, return_complex=True), 64, 16, window=w, length=400)
    assert tl.allclose(back, x, atol=1e-5)


def test_stft_errors():
    x = torch.randn(20)
    for args, kwargs in (
        ((8,), {}),
        ((0,), {"center": False, "return_complex": True}),
        ((30,), {"center": False, "return_complex": True}),
        ((8, 0), {"return_complex": True}),
        ((8, 2, 9), {"return_complex": True}),
        ((8,), {"return_complex": True, "align_to_window": True}),
    ):
        fails_alike(lambda lib, a, p=args, k=kwargs: lib.stft(a, *p, **k), x)
    fails_alike(lambda lib, a: lib.stft(a, 8, return_complex=True), x.long())
    fails_alike(lambda lib, a: lib.stft(a, 8, window=a[:4], return_complex=True), x)
    z = torch.randn(5, 6, dtype=torch.complex64)
    for args in ((8, 9), (8, 0), (8, 2, 9), (9,)):
        fails_alike(lambda lib, a, p=args: lib.istft(a, *p), z[:4] if args == (9,) else z)
    fails_alike(lambda lib, a: lib.istft(a, 8, window=a.real[:4, 0]), z)
    fails_alike(lambda lib, a: lib.istft(a, 8), x)
    fails_alike(lambda lib, a: lib.istft(a, 8, window=lib.zeros(8)), z)


@pytest.mark.parametrize("name", ["hann", "hamming", "blackman", "bartlett", "kaiser"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_windows(name, dtype):
    fn = name + "_window"
    more = {"hamming": (0.4, 0.3), "kaiser": (5.0,)}.get(name, ())
    for n in (0, 1, 2, 5, 16, 33):
        for args in ((n,), (n, True), (n, False), *((n, False) + more[: i + 1] for i in range(len(more)))):
            tol = (1e-5, 1e-6) if dtype != "float16" else (2e-2, 2e-3)
            same(
                getattr(tl, fn)(*args, dtype=getattr(tl, dtype)),
                getattr(torch, fn)(*args, dtype=getattr(torch, dtype)),
                tol,
            )
    fails_alike(lambda lib: getattr(lib, fn)(-1))
    fails_alike(lambda lib: getattr(lib, fn)(4, dtype=lib.int64))


SIGNAL = {
    "bartlett": {},
    "blackman": {},
    "cosine": {},
    "exponential": {"tau": 2.0},
    "gaussian": {"std": 0.7},
    "general_cosine": {"a": [0.4, 0.3, 0.2]},
    "general_hamming": {"alpha": 0.6},
    "hamming": {},
    "hann": {},
    "kaiser": {"beta": 4.0},
    "nuttall": {},
}


@pytest.mark.parametrize("name", list(SIGNAL))
def test_signal_windows(name):
    for n in (0, 1, 2, 5, 16):
        for sym in (True, False):
            for dtype in ("float32", "float64"):
                run = [
                    getattr(lib.signal.windows, name)(n, sym=sym, dtype=getattr(lib, dtype), **SIGNAL[name])
                    for lib in (tl, torch)
                ]
                same(*run, (1e-5, 1e-6) if dtype == "float32" else (1e-9, 1e-10))
    assert getattr(tl.signal.windows, name)(4, requires_grad=True, **SIGNAL[name]).requires_grad
    fails_alike(lambda lib: getattr(lib.signal.windows, name)(-1, **SIGNAL[name]))
    fails_alike(lambda lib: getattr(lib.signal.windows, name)(4, dtype=lib.int64, **SIGNAL[name]))
