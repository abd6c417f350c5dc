"""Settings and public names under the names that they have in torch._C."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_ROOT = __name__.partition(".")[0]

# public names of torch that are in torch._C too
PUBLIC = frozenset(
    """autocast_decrement_nesting autocast_increment_nesting clear_autocast_cache device dtype finfo fork
    get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype get_num_interop_threads get_num_threads iinfo
    is_anomaly_check_nan_enabled is_anomaly_enabled is_autocast_cache_enabled is_autocast_cpu_enabled
    is_autocast_enabled layout memory_format OutOfMemoryError qscheme set_autocast_cache_enabled set_autocast_cpu_dtype
    set_autocast_cpu_enabled set_autocast_dtype set_autocast_enabled set_autocast_gpu_dtype set_flush_denormal
    set_num_interop_threads set_num_threads Tag""".split()
)
# name in torch._C -> module and name here
SAME = {
    "_TensorBase": ("_C", "TensorBase"),
    "_ImperativeEngine": ("autograd.graph", "Engine"),
    "_InferenceMode": ("autograd", "inference_mode"),
    "_EnableTorchFunction": ("_core.function_switches", "EnableTorchFunction"),
    "_len_torch_function_stack": ("overrides", "_len_torch_function_stack"),
    "_get_function_stack_at": ("overrides", "_get_function_stack_at"),
    "_push_on_torch_function_stack": ("overrides", "_push_on_torch_function_stack"),
    "_pop_torch_function_stack": ("overrides", "_pop_torch_function_stack"),
    "_is_multithreading_enabled": ("autograd", "is_multithreading_enabled"),
    "_set_multithreading_enabled": ("autograd", "set_multithreading_enabled"),
    "_is_view_replay_enabled": ("autograd", "is_view_replay_enabled"),
    "_set_view_replay_enabled": ("autograd", "_force_original_view_tracking"),
    "_set_grad_enabled": ("autograd", "set_grad_enabled"),
    "_set_default_tensor_type": ("functional", "set_default_tensor_type"),
    "_get_float32_matmul_precision": ("functional", "get_float32_matmul_precision"),
    "_set_float32_matmul_precision": ("functional", "set_float32_matmul_precision"),
    "_get_deterministic_algorithms": ("functional", "are_deterministic_algorithms_enabled"),
    "_get_deterministic_algorithms_warn_only": ("functional", "is_deterministic_algorithms_warn_only_enabled"),
    "_set_deterministic_algorithms": ("functional", "use_deterministic_algorithms"),
    "_get_warnAlways": ("functional", "is_warn_always_enabled"),
    "_set_warnAlways": ("functional", "set_warn_always"),
    "_increment_version": ("autograd.graph", "increment_version"),
    "_group_tensors_by_device_and_dtype": ("utils._foreach_utils", "_group_tensors_by_device_and_dtype"),
    "_to_dlpack": ("utils.dlpack", "to_dlpack"),
    "_from_dlpack": ("utils.dlpack", "from_dlpack"),
    "parse_schema": ("_core.c_names", "_parse_schema"),
    "_infer_size": ("_core.c_switches", "infer_size"),
    "_get_cpu_capability": ("backends", "cpu.get_cpu_capability"),
    "_get_cpu_allow_fp16_reduced_precision_reduction": ("_core.c_switches", "no"),
    "_set_cpu_allow_fp16_reduced_precision_reduction": ("_core.c_switches", "set_fp16_reduction"),
    "_is_xnnpack_enabled": ("_core.c_switches", "no"),
}
# what follows _get_ and _set_ in torch._C -> module and attribute that holds the setting
FIELDS = {
    "deterministic_fill_uninitialized_memory": ("utils.deterministic", "fill_uninitialized_memory"),
    "mkldnn_enabled": ("backends.mkldnn", "enabled"),
    "mkldnn_deterministic": ("backends.mkldnn", "deterministic"),
    "onednn_allow_tf32": ("backends.mkldnn", "allow_tf32"),
    "cudnn_enabled": ("backends.cudnn", "enabled"),
    "cudnn_benchmark": ("backends.cudnn", "benchmark"),
    "cudnn_deterministic": ("backends.cudnn", "deterministic"),
    "cudnn_allow_tf32": ("backends.cudnn", "allow_tf32"),
    "nnpack_enabled": ("backends.nnpack", "enabled"),
    "cublas_allow_tf32": ("backends.cuda", "matmul.allow_tf32"),
    "cublas_allow_fp16_reduced_precision_reduction": (
        "backends.cuda",
        "matmul.allow_fp16_reduced_precision_reduction",
    ),
    "cublas_allow_bf16_reduced_precision_reduction": (
        "backends.cuda",
        "matmul.allow_bf16_reduced_precision_reduction",
    ),
}
# the kernels of scaled dot product attention: _set_sdp_use_NAME, _get_NAME_sdp_enabled
ATTENTION = frozenset(["flash", "mem_efficient", "math", "cudnn"])


def no() -> bool:
    """False: this build has no such part."""
    return False


def set_fp16_reduction(value: bool) -> None:
    """Sums of float16 are kept in float32."""
    if value:
        raise RuntimeError("Float16 arithmetic is not supported by the CPU!")


def infer_size(a: Any, b: Any) -> Any:
    """The shape to which two shapes are broadcast."""
    import torchlite as torch

    for i, size in enumerate((a, b), 1):
        if not isinstance(size, torch.Size):
            raise RuntimeError("expected a torch.Size as argument %d" % i)
    return (torch.empty(a, device="meta") + torch.empty(b, device="meta")).shape


def _walk(module: str, path: str) -> Any:
    value: Any = import_module("%s.%s" % (_ROOT, module))
    for part in path.split("."):
        value = getattr(value, part)
    return value


def _holder(module: str, path: str) -> tuple[Any, str]:
    """The object that has the attribute at the end of a path."""
    inner, _, name = path.rpartition(".")
    return (_walk(module, inner) if inner else import_module("%s.%s" % (_ROOT, module))), name


def _getter(module: str, path: str) -> Any:
    def get() -> Any:
        return _walk(module, path)

    return get


def _setter(module: str, path: str) -> Any:
    def put(value: Any) -> None:
        holder, name = _holder(module, path)
        setattr(holder, name, value)

    return put


def find(name: str) -> Any:
    """What torch._C has under a name, or None."""
    if name in PUBLIC:
        return getattr(import_module(_ROOT), name)
    if name in SAME:
        return _walk(*SAME[name])
    for start, make in (("_get_", _getter), ("_set_", _setter)):
        if name.startswith(start) and name[5:] in FIELDS:
            made = make(*FIELDS[name[5:]])
            made.__name__ = made.__qualname__ = name
            return made
    if name.startswith("_set_sdp_use_") and name[13:] in ATTENTION:
        return _walk("backends.cuda", "enable_%s_sdp" % name[13:])
    if name.startswith("_get_") and name.endswith("_sdp_enabled") and name[5:-12] in ATTENTION:
        return _walk("backends.cuda", "%s_sdp_enabled" % name[5:-12])
    return None
