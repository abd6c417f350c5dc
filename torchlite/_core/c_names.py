"""Functions that packages call in torch._C."""

from __future__ import annotations

import enum
import warnings
from typing import Any

from .. import _C
from .c_autograd import (  # noqa: F401
    _WeakTensorRef,
    _add_cached_tensor,
    _current_autograd_node,
    _current_graph_task_execution_order,
    _get_obj_in_tls,
    _is_cached_tensor,
    _is_key_in_tls,
    _remove_cached_tensor,
    _remove_obj_from_tls,
    _set_cached_tensors_enabled,
    _stash_obj_in_tls,
    _will_engine_execute_node,
)
from . import dispatch_keys
from .dispatch_modes import DisableTorchDispatch as _DisableTorchDispatch  # noqa: F401
from .dispatch_keys import DispatchKeySet  # noqa: F401
from .dispatch_keys import ExcludeDispatchKeyGuard as _ExcludeDispatchKeyGuard  # noqa: F401
from .future import collect_all as _collect_all  # noqa: F401


def _add_docstr(obj: Any, doc: str) -> Any:
    """The object: what is made of C has a docstring of its own here."""
    return obj


def _log_api_usage_once(event: str) -> None:
    """Nothing is logged."""


def _get_privateuse1_backend_name() -> str:
    """The name of the device type that is left for backends of other makers."""
    return "privateuseone"


def _get_tracing_state() -> Any:
    """The trace of torch.jit that runs, or None."""
    from .. import jit

    return jit._tracing[-1] if jit._tracing else None


def _is_tracing() -> bool:
    return _get_tracing_state() is not None


def _is_fwd_grad_enabled() -> bool:
    """Whether ops carry tangents along in an open dual level."""
    from ..autograd import forward_ad

    return forward_ad._is_fwd_grad_enabled()


def _set_fwd_grad_enabled(mode: bool) -> None:
    """Lets ops carry tangents along, or not."""
    from ..autograd import forward_ad

    forward_ad._switch(mode)


def _are_functorch_transforms_active() -> bool:
    """Whether a vmap is running; the other transforms need nothing of their own."""
    from .c_functorch import get_dynamic_layer_stack_depth

    return get_dynamic_layer_stack_depth() > 0


def _jit_set_profiling_executor(value: bool) -> bool:
    """The old value; there is no executor."""
    return False


_jit_set_profiling_mode = _jit_set_texpr_fuser_enabled = _jit_set_profiling_executor
_jit_set_nvfuser_enabled = _jit_set_nvfuser_guard_mode = _jit_set_profiling_executor


def _jit_can_fuse_on_cpu() -> bool:
    """There is no fuser that could be switched on: each op runs when it is called."""
    return False


_jit_can_fuse_on_gpu = _jit_can_fuse_on_cpu


def _jit_override_can_fuse_on_cpu(value: bool) -> None:
    """There is no fuser that could be switched on: each op runs when it is called."""


_jit_override_can_fuse_on_gpu = _jit_override_can_fuse_on_cpu


def _get_accelerator(check: Any = None) -> Any:
    """The device of the accelerator; the CPU's where there is none."""
    import torchlite as torch

    return torch.accelerator.current_accelerator() or torch.device("cpu")


def _get_default_device() -> str:
    """Where new tensors go that are not told, by the core's own default: no context counts."""
    return "cpu"


def _jit_set_emit_hooks(module_hook: object, function_hook: object) -> None:
    """Nothing is compiled, so that no hook would run."""


def _jit_clear_class_registry() -> None:
    """No class is compiled."""


class _InferredType:
    """What _jit_try_infer_type found: a type, or why there is none."""

    def __init__(self, found: object, reason: str = "") -> None:
        self._found, self._reason = found, reason

    def success(self) -> bool:
        return self._found is not None

    def type(self) -> object:
        if self._found is None:
            raise RuntimeError(
                "Tried to get the type from an InferredType but the type is null. Reason: " + self._reason
            )
        return self._found

    def reason(self) -> str:
        return self._reason


def _jit_try_infer_type(value: object) -> _InferredType:
    """The type of a value in the language of schemas, if it has one."""
    from .function_schema import inferred

    try:
        return _InferredType(inferred(value))
    except TypeError as e:
        return _InferredType(None, str(e))


class _ConvBackend(enum.IntEnum):
    """PyTorch's kernels for convolutions."""

    CudaDepthwise2d, CudaDepthwise3d, Cudnn, CudnnTranspose, Empty, Miopen, MiopenDepthwise, MiopenTranspose = range(8)
    Mkldnn, MkldnnTranspose, MkldnnEmpty, NnpackSpatial, Overrideable = range(8, 13)
    Slow2d, Slow3d, SlowDilated2d, SlowDilated3d, SlowTranspose2d, SlowTranspose3d = range(13, 19)
    Winograd3x3Depthwise, Xnnpack2d, Mps, MpsTranspose = range(19, 23)


_has_mkldnn = True  # the layout torch._mkldnn; what runs on it are torchlite's own kernels


def _onednn_convolves(
    x: Any, weight: Any, stride: Any, dilation: Any, transposed: bool, extra: Any, groups: int
) -> bool:
    """Whether PyTorch hands a convolution of these arguments to oneDNN, with one thread."""
    import torchlite as torch

    if not torch.backends.mkldnn.enabled:
        return False
    if transposed and any(e >= s for e, s in zip(extra, stride)):
        return False
    if x.is_mkldnn:
        return True
    if not x.is_cpu or x.dtype is not torch.float32:
        return False
    window = (1, weight.shape[2]) if weight.dim() == 3 else weight.shape[-2:]
    spread = any(n != 1 for n in (*stride, *dilation))
    if not (spread or x.shape[0] >= 16 or any(n != 1 for n in window)):
        return False
    large = all(n > 3 for n in window) or x.shape[:4].numel() > 20480
    return groups > 1 or x.shape[0] > 1 or large


def _select_conv_backend(
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    bias_sizes: Any = None,
) -> _ConvBackend:
    """The kernel that PyTorch runs on the CPU for these arguments. torchlite's are its own (native/src/conv); the two
    agree on what is empty, transposed and dilated."""
    dims = weight.dim() - 2
    if 0 in (input.shape[0], input.shape[1]):
        return _ConvBackend.MkldnnEmpty if input.is_mkldnn else _ConvBackend.Empty
    if _onednn_convolves(input, weight, stride, dilation, transposed, output_padding, groups):
        return _ConvBackend.MkldnnTranspose if transposed else _ConvBackend.Mkldnn
    if transposed:
        return _ConvBackend.SlowTranspose3d if dims == 3 else _ConvBackend.SlowTranspose2d
    if any(d != 1 for d in dilation):
        return _ConvBackend.SlowDilated3d if dims == 3 else _ConvBackend.SlowDilated2d
    return _ConvBackend.Slow3d if dims == 3 else _ConvBackend.Slow2d


def _data_address(tensor: Any) -> int:
    """Where a tensor's first element lies."""
    return tensor.data_ptr()


def _storage_address(tensor: Any) -> int:
    """A number that tensors of the same storage share."""
    return tensor.untyped_storage()._cdata


def _is_alias_of(a: Any, b: Any) -> bool:
    """Whether two tensors have the same storage."""
    return a.untyped_storage()._cdata == b.untyped_storage()._cdata


_lazy_clones: Any = None  # storage -> the version of a tensor that is a lazy clone, or of which there is one


def note_lazy_clone(*tensors: Any) -> None:
    """Remembers tensors that in PyTorch share memory until one is written."""
    global _lazy_clones
    if _lazy_clones is None:
        from ..utils.weak import WeakIdKeyDictionary

        _lazy_clones = WeakIdKeyDictionary()
    for tensor in tensors:
        _lazy_clones[tensor.untyped_storage()] = tensor._version


def _is_cow_tensor(tensor: Any) -> bool:
    """Whether a tensor is part of a lazy clone and was not written since. Here memory is never shared for that."""
    return _lazy_clones is not None and _lazy_clones.get(tensor.untyped_storage()) == tensor._version


def _warn() -> None:
    """A warning as the core gives it."""
    warnings.warn("Test message for TORCH_WARN", UserWarning, stacklevel=2)


def _warn_deprecation() -> None:
    """The same of something that is about to go."""
    warnings.warn("Test message for TORCH_WARN_DEPRECATION", DeprecationWarning, stacklevel=2)


def _is_torch_function_all_disabled() -> bool:
    """Whether neither classes nor modes are asked for __torch_function__."""
    return _C.function_state()[0] >= 2


def _is_torch_function_enabled() -> bool:
    """Whether classes are asked for __torch_function__."""
    return _C.function_state()[0] == 0


def _parse_schema(text: str) -> Any:
    """A schema of an operator: "ns::name(Tensor x) -> Tensor"."""
    from .function_schema import parse_checked

    return parse_checked(text)


def _dispatch_has_kernel(name: str) -> bool:
    """Whether there is an operator of that name, "aten::add.Tensor"."""
    import torchlite as torch

    space, _, rest = name.partition("::")
    short, _, overload = rest.partition(".")
    packet = getattr(getattr(torch.ops, space), short, None)
    return packet is not None and hasattr(packet, overload or "default")


def _set_conj(tensor: Any, conj: bool) -> None:
    """Makes a complex tensor the view of conjugates of its own memory, or no such view."""
    tensor._conj_bit = conj


def _set_neg(tensor: Any, neg: bool) -> None:
    """Makes a tensor the view of negatives of its own memory, or no such view."""
    tensor._neg_bit = neg


class _AutoDispatchBelowAutograd:
    """From its making to its end, or in a with block: nothing is recorded, so that an operator runs its kernel, and
    not the one for Autograd keys."""

    def __init__(self) -> None:
        self._before: Any = _C.GradMode(False)
        self._before.__enter__()
        dispatch_keys.below_autograd[0] += 1

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: Any) -> None:
        self.__del__()

    def __del__(self) -> None:
        before, self._before = self._before, None
        if before is not None:
            before.__exit__(None, None, None)
            dispatch_keys.below_autograd[0] -= 1


_fallback = ["warn"]  # what becomes of the results of an operator that says nothing of gradients


def _get_autograd_fallback_mode() -> str:
    """ "warn": they require a gradient, which is an error; "nothing": they are what the kernel makes of them."""
    return _fallback[0]


def _set_autograd_fallback_mode(mode: str) -> None:
    """The same, set."""
    _fallback[0] = mode


def _dispatch_has_kernel_for_dispatch_key(name: str, dispatch_key: str) -> bool:
    """Whether an operator has a function of its own for a dispatch key."""
    from .._library.utils import lookup_op

    op = lookup_op(name)
    custom = op._entry
    if not hasattr(custom, "kernels"):
        return op.has_kernel_for_dispatch_key(dispatch_key)
    if dispatch_key.startswith("Autograd") and (custom.checks_aliases or custom.backward is not None):
        return True
    return dispatch_key in custom.kernels or dispatch_key == "Meta" and custom.fake is not None


def _jit_get_schemas_for_operator(name: str) -> list[Any]:
    """The schemas of an operator, "aten::add"."""
    import torchlite as torch

    space, _, short = name.partition("::")
    packet = getattr(getattr(torch.ops, space), short)
    return [getattr(packet, overload)._schema for overload in packet.overloads()]
