"""torch.autocast: which calls compute in a 16-bit dtype, which in float32, and the casts of their arguments.

The lists are those of PyTorch's CPU. A call that is listed runs without autocast inside, and so does an op that PyTorch
has one kernel for, where it has a body here. Weights are cast once within the outermost `with`.
"""

from __future__ import annotations

from typing import Any

from .. import _C
from . import dtypes as _dtypes
from .dispatch_modes import _COMPOSED

LOWER = frozenset(
    """addbmm addmm baddbmm bmm conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d
    linalg_vecdot linear matmul mm prelu scaled_dot_product_attention _convolution _addmm_activation
    _native_multi_head_attention""".split()
)
FLOAT32 = frozenset(
    """adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d binary_cross_entropy binary_cross_entropy_with_logits cdist
    cholesky cholesky_inverse cholesky_solve cosine_embedding_loss cross_entropy cross_entropy_loss ctc_loss fft_fft
    fft_fft2 fft_fftn fft_hfft fft_ifft fft_ifft2 fft_ifftn fft_ihfft fft_irfft fft_irfft2 fft_irfftn fft_rfft fft_rfft2
    fft_rfftn fractional_max_pool2d fractional_max_pool3d geqrf grid_sample grid_sampler grid_sampler_2d
    hinge_embedding_loss huber_loss inverse kl_div l1_loss linalg_cholesky linalg_cholesky_ex linalg_cond linalg_eig
    linalg_eigh linalg_eigvals linalg_eigvalsh linalg_householder_product linalg_inv linalg_inv_ex linalg_lstsq
    linalg_matrix_rank linalg_qr linalg_solve linalg_svd linalg_svdvals linalg_tensorinv linalg_tensorsolve lu_solve
    margin_ranking_loss max_pool3d max_unpool2d max_unpool3d mse_loss multi_margin_loss multilabel_margin_loss
    nanquantile nll_loss orgqr ormqr pinverse poisson_nll_loss polar prod qr quantile reflection_pad1d reflection_pad2d
    replication_pad1d replication_pad2d replication_pad3d smooth_l1_loss soft_margin_loss stft svd trace
    triangular_solve triplet_margin_loss view_as_complex _pad_reflect _pad_replicate""".split()
)
WIDEST = frozenset("cat concat concatenate stack index_copy".split())
LISTED = LOWER | FLOAT32 | WIDEST
# functions of torch.nn.functional and torch that are written in Python, and call ops which are listed
_FUNCTIONS = FLOAT32 | {"adaptive_max_pool3d_with_indices", "max_pool3d_with_indices"}

state: dict[str, Any] = {"enabled": {}, "dtypes": {}, "cache": True, "nesting": 0}
_cached: dict[int, tuple[Any, Any]] = {}  # id of a weight -> it, and its cast


def enabled(kind: str) -> bool:
    return state["enabled"].get(kind, False)


def switch(kind: str, on: bool) -> None:
    """Autocast for tensors on a device type. Only the CPU's calls change."""
    state["enabled"][kind] = bool(on)
    _C.autocast(enabled("cpu"))


def lower_dtype(kind: str) -> Any:
    return state["dtypes"].get(kind, _dtypes.float16 if kind in ("cuda", "mps") else _dtypes.bfloat16)


def surroundings() -> tuple[bool, Any, bool]:
    """Whether autocast is on, its dtype, and whether casts of weights are kept."""
    return enabled("cpu"), lower_dtype("cpu"), state["cache"]


def surround(held: tuple[bool, Any, bool] | None) -> tuple[bool, Any, bool]:
    """Sets them, to off without any; what they were."""
    before = surroundings()
    on, state["dtypes"]["cpu"], state["cache"] = held or (False, *before[1:])
    switch("cpu", on)
    return before


def clear() -> None:
    _cached.clear()


def _eligible(x: Any) -> bool:
    return isinstance(x, _C.TensorBase) and x.is_cpu and x.is_floating_point() and x.dtype is not _dtypes.float64


def _cast(x: Any, dtype: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return type(x)(_cast(v, dtype) for v in x)
    if not _eligible(x) or x.dtype is dtype:
        return x
    keeps = state["cache"] and dtype is lower_dtype("cpu") and x.dtype is _dtypes.float32
    if not (keeps and x.requires_grad and x.is_leaf and not x._is_view() and _C.is_grad_enabled()):
        return x.to(dtype)
    found = _cached.get(id(x))
    if found is None or found[0] is not x:
        found = _cached[id(x)] = x, x.to(dtype)
    return found[1]


def _widest(args: Any, name: str) -> Any:
    """float32 where an argument has it, else the 16-bit dtype."""
    lower = widest = lower_dtype("cpu")
    for a in args:
        for x in a if isinstance(a, (list, tuple)) else (a,):
            if isinstance(x, _C.TensorBase) and x.is_cpu and x.is_floating_point():
                if x.dtype is _dtypes.float64:
                    return None
                if x.dtype is _dtypes.float32:
                    widest = x.dtype
                elif x.dtype is not lower:
                    raise RuntimeError("Unexpected floating ScalarType in at::autocast::prioritize")
    return widest


def _dtype_for(name: str, args: Any) -> Any:
    if name in LOWER:
        return lower_dtype("cpu")
    return _dtypes.float32 if name in FLOAT32 else _widest(args, name)


def overload(ov: Any, args: Any = None) -> Any:
    """Without arguments: whether autocast looks at calls of an overload. With them: what they become."""
    name = ov.spec.name
    if args is None:
        composed = name != "bilinear" and (ov.schema.partition("(")[0] in _COMPOSED or name in _COMPOSED)
        own = ov.body is not None and not composed
        return not ov.inplace and (name in LISTED or own)
    if name not in LISTED:
        return args
    try:
        _C.autocast(False)
        dtype = _dtype_for(name, args)
        return args if dtype is None else tuple(_cast(a, dtype) for a in args)
    finally:
        _C.autocast(True)


def function(fn: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """The call of a Python function that autocast looks at; NotImplemented for others."""
    name = getattr(fn, "__name__", "")
    if name not in _FUNCTIONS:
        return NotImplemented
    try:
        _C.autocast(False)
        dtype = _dtypes.float32
        return fn(*(_cast(a, dtype) for a in args), **{k: _cast(v, dtype) for k, v in kwargs.items()})
    finally:
        _C.autocast(True)


_C.register("autocast", overload)
_C.register("autocast_function", function)
