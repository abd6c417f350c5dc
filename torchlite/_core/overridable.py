"""What torch.overrides lists: the functions that look for a __torch_function__, and those that do not."""

from __future__ import annotations

import functools
import inspect
import operator
from typing import Any

import torchlite as torch

from .. import _C
from . import absent as _absent, homes

_IGNORED = """arange are_deterministic_algorithms_enabled as_strided as_tensor asarray bartlett_window blackman_window
    broadcast_shapes can_cast compile empty empty_permuted empty_strided eye fill from_dlpack from_file from_numpy
    frombuffer full get_default_device get_default_dtype get_deterministic_debug_mode get_float32_matmul_precision
    get_num_interop_threads get_num_threads get_rng_state hamming_window hann_window inference_mode initial_seed
    is_anomaly_enabled is_grad_enabled is_inference_mode_enabled is_storage is_tensor is_warn_always_enabled
    kaiser_window linspace load logspace manual_seed normal ones promote_types rand rand_like randint randint_like
    randn randn_like randperm range result_type save scalar_tensor seed set_default_device set_default_tensor_type
    set_deterministic_debug_mode set_float32_matmul_precision set_flush_denormal set_grad_enabled
    set_num_interop_threads set_num_threads set_printoptions set_rng_state set_warn_always sparse_bsc_tensor
    sparse_bsr_tensor sparse_compressed_tensor sparse_coo_tensor sparse_csc_tensor sparse_csr_tensor tensor tril_indices
    triu_indices typename use_deterministic_algorithms vander vmap zeros hsmm segment_reduce explain
    self_test install_as_torch celu_ classproperty cond convolution_backward cudnn_affine_grid_generator
    cudnn_batch_norm cudnn_convolution cudnn_convolution_add_relu cudnn_convolution_relu cudnn_convolution_transpose
    cudnn_grid_sampler cudnn_is_acceptable eig embedding_dense_backward embedding_renorm empty_quantized fork
    get_autocast_ipu_dtype get_autocast_xla_dtype get_file_path import_ir_module import_ir_module_from_buffer
    init_num_threads is_autocast_ipu_enabled is_autocast_xla_enabled is_vulkan_available lstsq matrix_rank
    merge_type_from_type_comment miopen_ctc_loss mkldnn_adaptive_avg_pool2d mkldnn_convolution
    mkldnn_linear_backward_weights mkldnn_max_pool2d mkldnn_max_pool3d mkldnn_rnn_layer native_batch_norm_backward
    native_group_norm_backward native_layer_norm_backward parse_ir parse_schema parse_type_comment
    prepare_multiprocessing_environment profiler_allow_cudagraph_cupti_lazy_reinit_cuda12 relu_ rrelu_ selu_
    set_anomaly_enabled set_autocast_ipu_dtype set_autocast_ipu_enabled set_autocast_xla_dtype set_autocast_xla_enabled
    sigmoid_backward solve sym_constrain_range sym_constrain_range_for_size sym_fresh_size symeig tanh_backward
    threshold_ threshold_backward to_dlpack unify_type_list unique_dim wait while_loop""".split()
_IGNORED_FUNCTIONAL = """assert_int_or_pair elu_ grouped_mm hardsigmoid hardswish hardtanh_ leaky_relu_ namespace
    sigmoid tanh upsample upsample_bilinear upsample_nearest""".split()
_IGNORED_TENSOR = """__class__ __delattr__ __delitem__ __dir__ __getattribute__ __hash__ __init__ __iter__ __new__
    __setattr__ __torch_dispatch__ __torch_function__ __init_subclass__ __subclasshook__ _make_subclass
    _make_wrapper_subclass as_subclass new new_empty new_empty_strided new_full new_ones new_tensor new_zeros reinforce
    stride unflatten to_sparse_coo to_sparse_csc to_sparse_csr _addmm_activation _conj _conj_physical _fix_weakref
    _lazy_clone _neg_view _philox_normal_ _philox_uniform_ _t2 _to_sparse_bsc _to_sparse_bsr _to_sparse_csc
    _to_sparse_csr _use_count combinations cpu_async eig grad_dtype item_async lstsq solve std_mean symeig
    to_padded_tensor tolist_async var_mean""".split()


# operators, which Python calls by slots
_OPERATORS = """__add__ __and__ __bool__ __complex__ __div__ __eq__ __float__ __floordiv__ __ge__ __getitem__ __gt__
    __iadd__ __iand__ __idiv__ __ifloordiv__ __ilshift__ __imod__ __imul__ __index__ __int__ __invert__ __ior__
    __ipow__ __irshift__ __isub__ __ixor__ __le__ __lshift__ __lt__ __matmul__ __mod__ __mul__ __ne__ __or__ __pow__
    __radd__ __rand__ __rdiv__ __rfloordiv__ __rlshift__ __rmatmul__ __rmod__ __rmul__ __ror__ __rpow__ __rrshift__
    __rshift__ __rsub__ __rxor__ __setitem__ __sub__ __truediv__ __xor__""".split()


_SPACES = """torch torch.functional torch.nn.functional torch.nn.init torch.Tensor torch.linalg torch.fft
    torch.special""".split()
_INIT = ["constant_", "kaiming_uniform_", "normal_", "uniform_"]
_IN_FUNCTIONAL = ("istft", "pca_lowrank", "svd_lowrank")
_LATER = """sym_float sym_int sym_ite sym_max sym_min sym_not sym_sqrt sym_sum dsmm hspmm saddmm smm spmm
    sspaddmm""".split()
# functions of torch with an underscore that PyTorch lets classes override
_PRIVATE = """segment_reduce hsmm _assert_async _conj_copy _functional_assert_async _fused_rms_norm _fw_primal_copy
    _indices_copy _make_dual_copy _native_batch_norm_legit _neg_view_copy _reshape_alias_copy _rowwise_prune
    _sparse_broadcast_to_copy _sym_acos _sym_asin _sym_atan _sym_cos _sym_cosh _sym_sin _sym_sinh _sym_sqrt _sym_tan
    _sym_tanh _values_copy _wrapped_linear_prepack _wrapped_quantized_linear_prepacked""".split()


@functools.lru_cache(None)
def ignored() -> set[Any]:
    """Public functions that do not look for a __torch_function__."""
    torch.ops.load_all()
    found = {getattr(torch, n) for n in _IGNORED if hasattr(torch, n)}
    found |= {getattr(torch.nn.functional, n) for n in _IGNORED_FUNCTIONAL}
    found |= {torch.fft.fftfreq, torch.fft.rfftfreq}
    for n in _IGNORED_TENSOR:
        value = getattr(torch.Tensor, n, None)
        if value is not None:
            found.add(value)
    return found


def _asks(value: Any, title: str, name: str) -> bool:
    if title == "torch" and name.endswith("_"):
        return False
    if title == "torch.Tensor" and name in _OPERATORS or title == "torch.nn.init":
        return True
    absent = title in ("torch", "torch.Tensor") and _absent.is_absent(value) and inspect.isfunction(value)
    return isinstance(value, (_C.Op, _C.OpMethod, _C.Function)) or absent


def _names(title: str, space: Any) -> list[str]:
    """The public names of a namespace; of Tensor all."""
    if title == "torch":
        return [n for n in (*vars(torch), *_LATER, *_absent.names("torchlite")) if not n.startswith("_")]
    if title == "torch.Tensor":
        return dir(space)
    if title == "torch.functional":
        return [*sorted(homes.IN_FUNCTIONAL), *_IN_FUNCTIONAL]
    if title == "torch.nn.init":
        return _INIT
    return [n for n in dir(space) if not n.startswith("_")]


@functools.lru_cache(None)
def _table() -> tuple[dict[str, tuple[Any, list[Any]]], dict[Any, str]]:
    """({name of a namespace: (namespace, functions)}, {function: its dotted name})."""
    torch.ops.load_all()
    left_out = ignored()
    spaces: dict[str, tuple[Any, list[Any]]] = {}
    dotted: dict[Any, str] = {}
    for title in _SPACES:
        space: Any = operator.attrgetter(title.partition(".")[2])(torch) if "." in title else torch
        functions = []
        for name in _names(title, space):
            value: Any = getattr(space, name, None)
            path = "%s.%s" % (title, name)
            if space is torch.Tensor and isinstance(value, _C.Attribute):
                value, path = value.__get__, path + ".__get__"  # type: ignore[attr-defined]
            elif not _asks(value, title, name) or value in left_out:
                if callable(value):  # a mode sees it, and asks for its name
                    dotted.setdefault(value, path)
                continue
            functions.append(value)
            if not (space is torch.Tensor and dotted.get(value, "").startswith("torch.functional.")):
                dotted[value] = path  # unique is one function here, two in PyTorch
        spaces[title] = space, functions
    return spaces, dotted


def by_namespace() -> dict[Any, list[Any]]:
    """{namespace: its functions}; a field's getter is a namespace of its own, as PyTorch has it."""
    found: dict[Any, list[Any]] = {}
    for space, functions in _table()[0].values():
        for function in functions:
            getter = getattr(function, "__name__", "") == "__get__"
            found.setdefault(function.__self__ if getter else space, []).append(function)
    return found


def name_of(f: Any) -> str | None:
    """The dotted name of an overridable function."""
    from .._ops import OpOverload, OpOverloadPacket

    if isinstance(f, (OpOverload, OpOverloadPacket)):
        return str(f)
    return _table()[1].get(f)


@functools.lru_cache(None)
def _tensor_methods() -> set[Any]:
    return set(_table()[0]["torch.Tensor"][1])


def is_method(func: Any) -> bool:
    """Whether the function is a method of Tensor, or a field's __get__."""
    name = getattr(func, "__name__", None)
    if name == "__get__":
        return True
    if func in _tensor_methods():
        return True
    return isinstance(name, str) and name.startswith("__") and getattr(torch.Tensor, name, None) is func


def _of_overload(op: Any, overload: Any) -> list[inspect.Parameter]:
    kinds = inspect.Parameter
    found = []
    for name, alias, default, _, _, kwonly, _ in overload.params:
        name = alias if alias == "input" and not op.is_method else name
        name = name + "_" if name in ("from", "lambda") else name
        kind = kinds.KEYWORD_ONLY if kwonly else kinds.POSITIONAL_OR_KEYWORD
        found.append(kinds(name, kind, default=kinds.empty if default is NotImplemented else default))
    return found


def _parameters(func: Any) -> list[inspect.Parameter]:
    """The parameters of an overridable function: of an op those of the overload with most positional ones,
    then what other overloads have besides, and `out`. What some overload does without has a default."""
    kinds = inspect.Parameter
    if not isinstance(func, (_C.Op, _C.OpMethod)):
        try:
            return list(inspect.signature(getattr(func, "_tl_fn", func)).parameters.values())
        except (TypeError, ValueError):
            return [kinds("self", kinds.POSITIONAL_OR_KEYWORD)]
    overloads = [_of_overload(func, o) for o in func.overloads]
    overloads.sort(key=lambda each: -sum(p.kind is kinds.POSITIONAL_OR_KEYWORD for p in each))
    first, *others = overloads
    needed = [{p.name for p in each if p.default is p.empty} for each in overloads]
    found = {p.name: p if all(p.name in n for n in needed) else _optional(p) for p in first}
    for each in others:
        for p in each:
            found.setdefault(p.name, _optional(p).replace(kind=kinds.KEYWORD_ONLY))
    if func.takes_out and not func.is_method:
        found["out"] = kinds("out", kinds.KEYWORD_ONLY, default=None)
    return list(found.values())


def _optional(p: inspect.Parameter) -> inspect.Parameter:
    return p.replace(default=None) if p.default is p.empty else p


def _stand_in(func: Any) -> Any:
    """A function of the same signature that returns -1."""
    if getattr(func, "__name__", "") == "__get__":
        return lambda self: -1
    parts, defaults, star, required = [], {}, False, True
    for p in sorted(_parameters(func), key=lambda p: p.kind):
        if p.kind is p.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        if p.kind is p.VAR_POSITIONAL:
            parts.append("*" + p.name)
            star = True
        elif p.kind is p.VAR_KEYWORD:
            parts.append("**" + p.name)
        elif p.default is p.empty and (required or star):
            parts.append(p.name)
        else:
            required = False
            defaults[p.name] = None if p.default is p.empty else p.default
            parts.append("%s=_defaults[%r]" % (p.name, p.name))
    return eval("lambda %s: -1" % ", ".join(parts), {"_defaults": defaults})


@functools.lru_cache(None)
def stand_ins() -> dict[Any, Any]:
    """{overridable function: a function of the same signature}, for tests of classes that override everything."""
    functions = [f for _, each in _table()[0].values() for f in each]
    functions += [f for f in (getattr(torch, n, None) for n in _PRIVATE) if f is not None]
    return {f: _stand_in(f) for f in functions}
