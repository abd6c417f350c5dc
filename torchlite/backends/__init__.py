"""torch.backends: switches of PyTorch's own backends, none of which exist here.
They are remembered, and change nothing."""

import contextlib
import enum
import sys
from types import ModuleType, SimpleNamespace


class _Backend(ModuleType):
    """A module torch.backends.<name>, whose attributes are its switches."""

    def __init__(self, name, switches=(), **fields):
        super().__init__(__name__ + "." + name)
        self.__dict__.update(switches, **fields)
        self.__dict__["_switches"] = tuple(dict(switches))
        self.__dict__["__path__"] = []
        sys.modules[self.__name__] = self

    def __getattr__(self, name):
        from .._core import absent

        return absent.of(self.__name__)(name)

    def is_available(self):
        return False

    is_built = is_available

    def set_flags(self, *values, **named):
        """Sets switches, by PyTorch's order or by name (`_enabled` is `enabled`); returns the old values."""
        old = tuple(getattr(self, n) for n in self._switches)
        for name, value in {
            **dict(zip(self._switches, values)),
            **{n.removeprefix("_"): v for n, v in named.items()},
        }.items():
            if name in self._switches and value is not None:
                setattr(self, name, value)
        return old

    @contextlib.contextmanager
    def flags(self, *values, **named):
        """set_flags for a block or, as a decorator, for a function."""
        old = self.set_flags(*values, **named)
        try:
            yield
        finally:
            for name, value in zip(self._switches, old):
                setattr(self, name, value)

    @contextlib.contextmanager
    def verbose(self, level):
        """Does nothing: there is no library whose calls could be printed."""
        yield self


cudnn = _Backend(
    "cudnn",
    {
        "enabled": True,
        "benchmark": False,
        "benchmark_limit": 10,
        "deterministic": False,
        "allow_tf32": True,
        "fp32_precision": "none",
    },
    version=lambda: None,
    is_acceptable=lambda tensor: False,
)
fp32_precision = "none"  # float32 is computed as float32, whatever it is set to
mps = _Backend("mps")
mkl = _Backend("mkl", VERBOSE_OFF=0, VERBOSE_ON=1)
mkldnn = _Backend(
    "mkldnn",
    {"enabled": True, "deterministic": False, "allow_tf32": True, "fp32_precision": "none"},
    is_available=lambda: True,
    VERBOSE_OFF=0,
    VERBOSE_ON=1,
)
openmp = _Backend("openmp")
opt_einsum = _Backend("opt_einsum", {"enabled": False, "strategy": None}, get_opt_einsum=lambda: None)
nnpack = _Backend("nnpack", {"enabled": False})
quantized = _Backend("quantized", engine="none", supported_engines=["none"])
xnnpack = _Backend("xnnpack", enabled=False)
xeon = _Backend("xeon")
# packages ask it whether uint8 images are resized in integers: here they are, as PyTorch does it with AVX2
cpu = _Backend("cpu", get_cpu_capability=lambda: "AVX2")
_fastpath = [True]
mha = _Backend(
    "mha", get_fastpath_enabled=lambda: _fastpath[0], set_fastpath_enabled=lambda value: _fastpath.__setitem__(0, value)
)


_sdp = dict.fromkeys(("flash", "mem_efficient", "math", "cudnn"), True)  # attention has one implementation here


def _sdp_switches():
    """The functions that ask for and set these."""

    def pair(name):
        def enabled():
            return _sdp[name]

        def enable(enabled):
            _sdp[name] = bool(enabled)

        return {name + "_sdp_enabled": enabled, "enable_%s_sdp" % name: enable}

    return {name: fn for kernel in _sdp for name, fn in pair(kernel).items()}


@contextlib.contextmanager
def _sdp_kernel(enable_flash=True, enable_math=True, enable_mem_efficient=True, enable_cudnn=True):
    import warnings

    warnings.warn(
        "`torch.backends.cuda.sdp_kernel()` is deprecated. In the future, this context manager will be removed. "
        "Please see `torch.nn.attention.sdpa_kernel()` for the new context manager, with updated signature.",
        FutureWarning,
        stacklevel=3,
    )
    before = dict(_sdp)
    _sdp.update(flash=enable_flash, mem_efficient=enable_mem_efficient, math=enable_math, cudnn=enable_cudnn)
    try:
        yield {}
    finally:
        _sdp.update(before)


class _BlasBackend(enum.Enum):
    """PyTorch's libraries for matrix products on CUDA."""

    Default, Cublas, Cublaslt, Ck = range(4)


class _LinalgBackend(enum.Enum):
    """PyTorch's libraries for linear algebra on CUDA."""

    Default, Cusolver, Magma = range(3)


_NOT_BUILT = {
    _BlasBackend.Cublaslt: "cuBLASLt",
    _LinalgBackend.Cusolver: "cuSOLVER",
    _LinalgBackend.Magma: "MAGMA",
}
_preferred = {"blas": _BlasBackend.Cublas, "linalg": _LinalgBackend.Default}


def _preferred_library(name, kind, words):
    """A function that asks for or sets a library, which is kept."""

    def preferred(backend=None):
        if isinstance(backend, str):
            if backend not in words:
                raise RuntimeError("Unknown input value. Choose from: %s." % ", ".join(words))
            backend = words[backend]
        if isinstance(backend, kind):
            if backend in _NOT_BUILT:
                raise RuntimeError(
                    "Cannot set preferred backend to %s if PyTorch has not been compiled with %s."
                    % (2 * (_NOT_BUILT[backend],))
                )
            _preferred[name] = backend
        elif backend is not None:
            raise RuntimeError("Unknown input value type.")
        return _preferred[name]

    preferred.__name__ = preferred.__qualname__ = "preferred_%s_library" % name
    return preferred


cuda = _Backend(
    "cuda",
    preferred_blas_library=_preferred_library(
        "blas",
        _BlasBackend,
        {
            "default": _BlasBackend.Default,
            "cublas": _BlasBackend.Cublas,
            "hipblas": _BlasBackend.Cublas,
            "cublaslt": _BlasBackend.Cublaslt,
            "hipblaslt": _BlasBackend.Cublaslt,
            "ck": _BlasBackend.Ck,
        },
    ),
    preferred_linalg_library=_preferred_library(
        "linalg",
        _LinalgBackend,
        {"default": _LinalgBackend.Default, "cusolver": _LinalgBackend.Cusolver, "magma": _LinalgBackend.Magma},
    ),
    matmul=SimpleNamespace(
        allow_tf32=False, allow_fp16_reduced_precision_reduction=False, allow_bf16_reduced_precision_reduction=False
    ),
    **_sdp_switches(),
    sdp_kernel=_sdp_kernel,
)


def flags_frozen():
    """Whether the switches are closed to changes."""
    return False
