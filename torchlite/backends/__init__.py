"""torch.backends: switches of PyTorch's own backends, none of which exist here."""

from types import SimpleNamespace


class _Backend(SimpleNamespace):
    def __init__(self, name, **flags):
        super().__init__(**flags)
        self.__name__ = "torch.backends." + name

    def is_available(self):
        return False

    is_built = is_available

    def flags(self, *args, **kwargs):
        import contextlib
        return contextlib.nullcontext()


cudnn = _Backend("cudnn", enabled=False, benchmark=False, deterministic=True, allow_tf32=False, version=lambda: None, benchmark_limit=10)
mps = _Backend("mps")
mkl = _Backend("mkl")
mkldnn = _Backend("mkldnn", enabled=False)
openmp = _Backend("openmp")
opt_einsum = _Backend("opt_einsum", enabled=False, strategy=None)
xeon = _Backend("xeon")
cpu = SimpleNamespace(get_cpu_capability=lambda: "DEFAULT")
cuda = _Backend("cuda", matmul=SimpleNamespace(allow_tf32=False, allow_fp16_reduced_precision_reduction=False,
                                               allow_bf16_reduced_precision_reduction=False),
                enable_flash_sdp=lambda enabled: None, enable_mem_efficient_sdp=lambda enabled: None, enable_math_sdp=lambda enabled: None,
                enable_cudnn_sdp=lambda enabled: None, flash_sdp_enabled=lambda: False, math_sdp_enabled=lambda: True,
                mem_efficient_sdp_enabled=lambda: False)
