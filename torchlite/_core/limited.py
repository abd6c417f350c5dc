"""The limited dtypes: uint16, uint32, uint64, the 8-bit floats, complex32. PyTorch stores, moves and converts them, and
has few ops that compute in them. Kernels do not know them: the dispatcher asks `run` before it runs one.

`_HOW` says how a kernel takes them, in three letters: for the unsigned integers, the 8-bit floats and complex32. An
element-wise kernel whose operands have a dtype in common that is not limited runs anyway: it converts them.
"""

from __future__ import annotations

import torchlite as torch

from .. import _C
from .errors import not_implemented

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any
    from .._types import DType, Tensor

# n  the kernel itself: it only allocates or copies, or is element-wise, in a wider type; or it has PyTorch's error
# b  as integers of the same size, whose bytes it moves
# w  converted to a wider dtype, and its results back
# s  as w, but the results stay: sums of integers are int64
# o  converted to integers of the same order, and back
# t  converted to bool
# f  converted to the default float dtype
# -  not at all
_TABLE = """
nnn:empty zeros ones full empty_like zeros_like ones_like full_like new_empty new_zeros new_ones new_full cat stack
nnn:where eq ne mul isnan isinf isfinite conj_physical complex polar one_hot
n-n:multinomial frexp
-n-:eye eye_m
bbb:roll repeat repeat_interleave embedding diag_embed fill_diagonal_ constant_pad_nd index pad_circular flip
nbb:index_select
-bb:index_put masked_select
--b:masked_fill index_fill index_copy tril triu
--w:index_add nonzero nonzero_numpy conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d
--w:convolution linalg_vector_norm var var_correction std std_correction var_mean std_mean var_mean_correction
--w:std_mean_correction
n--:linalg_vector_norm var var_correction std std_correction var_mean std_mean var_mean_correction
n--:std_mean_correction exponential_
s--:sum nansum prod cumsum cumprod
ttt:any all count_nonzero
o--:sort sort_stable argsort argsort_stable _unique2 unique_dim unique_consecutive
-w-:mm addmm linear abs
w--:random_to random_from
n--:bitwise_and bitwise_or bitwise_xor ceil floor trunc round nan_to_num isposinf isneginf mean
t--:signbit
f--:logsumexp
n--:div atan2 copysign xlogy special_xlog1py special_zeta exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal
n--:sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sigmoid erf erfc erfinv lgamma digamma sinc i0 logit
n--:polygamma angle special_i0e special_i1 special_i1e special_ndtri special_log_ndtr special_erfcx special_entr
n--:special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1 special_modified_bessel_i0
n--:special_modified_bessel_i1 special_modified_bessel_k0 special_modified_bessel_k1 special_scaled_modified_bessel_k0
n--:special_scaled_modified_bessel_k1 special_spherical_bessel_j0 special_airy_ai special_chebyshev_polynomial_t
n--:special_chebyshev_polynomial_u special_chebyshev_polynomial_v special_chebyshev_polynomial_w
n--:special_shifted_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_u
n--:special_shifted_chebyshev_polynomial_v special_shifted_chebyshev_polynomial_w special_hermite_polynomial_h
n--:special_hermite_polynomial_he special_laguerre_polynomial_l special_legendre_polynomial_p deg2rad rad2deg
--n:add sub rsub neg sgn abs addcmul uniform_ normal_ rand randn
--n:maximum minimum fmax fmin heaviside relu hardtanh clamp clamp_min clamp_max sign ceil floor trunc isposinf isneginf
--n:signbit deg2rad rad2deg nansum sort sort_stable argsort argsort_stable topk max_dim min_dim argmax argmin random_to
--n:random_from exponential_
"""
_HOW: dict[str, str] = {}
for _line in _TABLE.split():
    if ":" in _line:
        _rule, _, _line = _line.partition(":")
    _HOW[_line] = "".join(a if b == "-" else b for a, b in zip(_HOW.get(_line, "---"), _rule))

# how many of the first arguments are the operands of an element-wise kernel; others have one
_OPERANDS = dict.fromkeys(
    "add sub rsub mul div div_trunc floor_divide remainder fmod pow maximum minimum fmax fmin atan2 hypot copysign "
    "nextafter xlogy special_xlog1py logaddexp logaddexp2 heaviside gcd lcm bitwise_and bitwise_or bitwise_xor "
    "bitwise_left_shift bitwise_right_shift eq ne lt le gt ge logical_and logical_or logical_xor igamma igammac "
    "special_zeta clamp_min clamp_max searchsorted bucketize".split(),
    2,
)
_OPERANDS.update(dict.fromkeys("addcmul addcdiv lerp clamp where cat stack".split(), 3))
_OPERANDS.update((k, 2) for k in _HOW if "polynomial" in k)

# the names in PyTorch's "not implemented for" where they are not the kernel's with _cpu
_NAMES = dict(
    pair.split("=")
    for pair in """
add=add_stub sub=add_stub rsub=add_stub relu=clamp_min_scalar_cpu hardtanh=clamp_scalar_cpu gelu=GeluKernelImpl
bitwise_left_shift=lshift_cpu bitwise_right_shift=rshift_cpu convolution=slow_conv_dilated<> conv1d=slow_conv2d_cpu
conv2d=slow_conv2d_cpu conv3d=compute_columns3d conv_transpose1d=slow_conv_transpose2d_out_cpu
conv_transpose2d=slow_conv_transpose2d_out_cpu conv_transpose3d=slow_conv_transpose3d_out_cpu
gather=scatter_gather_tensor_cpu scatter=scatter_gather_tensor_cpu scatter_add=scatter_gather_tensor_cpu
scatter_reduce=scatter_gather_tensor_cpu index_add=index_add_ put=take_put_cpu mse_loss=mse_cpu l1_loss=add_stub
smooth_l1_loss=smooth_l1_cpu huber_loss=huber_cpu mm=addmm_impl_cpu_ mv=addmv_impl_cpu matmul=addmm_impl_cpu_
addmm=addmm_impl_cpu_ addmv=addmv_impl_cpu linear=addmm_impl_cpu_ vdot=dot softmax=softmax_lastdim_kernel_impl
log_softmax=log_softmax_lastdim_kernel_impl _linalg_trsm=triangular_solve_cpu _linalg_geqrf=geqrf_cpu
_linalg_lu=lu_cpu _linalg_solve=lu_cpu _matrix_svd=linalg_svd_cpu layer_norm=LayerNormKernelImpl
native_layer_norm=LayerNormKernelImpl native_batch_norm=batch_norm native_group_norm=GroupNormKernelImpl
max_pool1d_with_indices=max_pool2d max_pool1d=max_pool1d_impl max_pool2d_with_indices=max_pool2d
max_pool3d_with_indices=max_pool3d avg_pool1d=avg_pool2d mean=sum_cpu prod=prod_out_cpu
count_nonzero=nonzero_count_cpu nonzero=nonzero_count_cpu nonzero_numpy=nonzero_count_cpu max=max_all min=min_all
max_dim=max_cpu min_dim=min_cpu amax=max_values_cpu amin=min_values_cpu cumsum=cumsum_out_cpu cumprod=cumprod_out_cpu
logcumsumexp=logcumsumexp_out_cpu sort=sorting_kernel_method_name sort_stable=sorting_kernel_method_name
argsort=sorting_kernel_method_name argsort_stable=sorting_kernel_method_name searchsorted=searchsorted_out_cpu
bucketize=searchsorted_out_cpu histc=aminmax_cpu addcmul=addcmul_cpu_out addcdiv=addcdiv_cpu_out
lerp=lerp_kernel_scalar sgn=sign_cpu square=pow deg2rad=mul_cpu_reduced_float rad2deg=mul_cpu_reduced_float
polygamma=trigamma linalg_vector_norm=norm_cpu nanmedian=median_cpu median_dim=median_out nanmedian_dim=median_out
logsumexp=max_values_cpu floor_divide=div_floor_cpu arange_start=arange_cpu arange_step=arange_cpu eye_m=eye
_unique2=unique unique_consecutive=unique uniform_=check_uniform_bounds rand=check_uniform_bounds
normal_=normal_kernel_cpu randn=normal_kernel_cpu random_=random_kernel_cpu random_to=random_update_from_to
random_from=random_update_from_to bernoulli_=bernoulli_scalar_cpu_ exponential_=exponential_cpu
multinomial=aminmax_cpu pad_reflect=reflection_pad1d pad_replicate=replication_pad1d
_upsample=compute_indices_weights_nearest clamp=clamp_scalar_cpu clamp_min=clamp_min_scalar_cpu
clamp_max=clamp_max_scalar_cpu var=std_cpu std=std_cpu var_correction=std_cpu std_correction=std_cpu var_mean=std_cpu
std_mean=std_cpu var_mean_correction=std_cpu std_mean_correction=std_cpu
""".split()
)
_NAMES.update(
    (k, k)
    for k in "pow tril triu bmm dot masked_fill masked_select masked_scatter baddbmm rms_norm batch_norm max_pool2d "
    "max_pool3d exp2 isinf isfinite nan_to_num digamma eye tril_indices triu_indices randperm index_select index_put "
    "unique_dim trace cross".split()
)
_NAMES.update(
    (k, k + "_vml_cpu")
    for k in "sqrt ceil floor trunc round exp expm1 log log2 log10 log1p sin cos tan asin acos atan tanh erf erfc "
    "erfinv lgamma i0".split()
)
_WITH_DTYPE = frozenset(("sum", "nansum", "mean", "prod", "cumsum", "cumprod", "softmax", "log_softmax"))

_UNSIGNED = (torch.uint16, torch.uint32, torch.uint64)
_BYTES = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_E8M0 = torch.float8_e8m0fnu


def _is_limited(dtype: DType) -> bool:
    return dtype._code > torch.complex128._code


def _tensors(args: Any) -> Iterator[Tensor]:
    for a in args:
        if isinstance(a, torch.Tensor):
            yield a
        elif isinstance(a, (tuple, list)):
            yield from _tensors(a)


def _changed(args: Any, change: Any) -> Any:
    """The arguments with change(tensor) in place of each tensor of a limited dtype."""
    if isinstance(args, torch.Tensor):
        return change(args) if _is_limited(args.dtype) else args
    return type(args)(_changed(a, change) for a in args) if type(args) in (tuple, list) else args


def _clamp_name(kernel: str, args: Any) -> str:
    bounds = {"clamp_min": (args[1], None), "clamp_max": (None, args[1])}.get(kernel, args[1:3])
    tensors = any(isinstance(b, torch.Tensor) for b in bounds)
    if None not in bounds:
        return "clamp_cpu" if tensors else "clamp_scalar_cpu"
    low = bounds[1] is None
    if tensors:
        return "maximum_cpu" if low else "minimum_cpu"
    return "clamp_min_scalar_cpu" if low else "clamp_max_scalar_cpu"


def _refused(kernel: str, dtype: DType, args: Any) -> NotImplementedError:
    name = _NAMES.get(kernel) or kernel.removeprefix("special_") + "_cpu"
    if dtype.is_floating_point:
        lone = [not isinstance(a, torch.Tensor) or a.numel() == 1 for a in args[:2]]
        if kernel == "sigmoid" or (kernel in ("mul", "div", "floor_divide") and (lone[1] or kernel == "mul")):
            name = name.removesuffix("_cpu") + "_cpu_reduced_float"
    elif kernel == "vdot":
        name = "vdot" if dtype.is_complex else "dot"
    elif kernel in ("fmax", "fmin"):
        name = name.replace("f", "", 1).replace("max_", "maximum_").replace("min_", "minimum_")
    if kernel == "scatter" and not isinstance(args[3], torch.Tensor):
        name = "scatter_gather_scalar_cpu"
    elif kernel == "scatter_reduce" and args[4] in ("mean", "amax", "amin"):
        name += "_reduce_" + args[4]
    elif kernel == "div" and len(args) > 2 and args[2]:
        name = name.replace("div", "div_" + args[2])
    elif kernel == "matmul":
        dims = args[0].dim(), args[1].dim()
        name = {(1, 1): "dot", (2, 1): "addmv_impl_cpu", (2, 2): name, (1, 2): name}.get(dims, "bmm")
    elif kernel == "round" and len(args) > 1 and args[1]:
        name = "round_cpu"
    elif kernel.startswith("clamp"):
        name = _clamp_name(kernel, args)
    elif kernel.endswith("softmax") and args[1] % max(args[0].dim(), 1) != max(args[0].dim(), 1) - 1:
        name = name.replace("lastdim_", "")
    return not_implemented(name, dtype)


def _turns_innermost(t: Tensor, dims: Any) -> bool:
    """Whether a flip reverses neighbours in memory, for which PyTorch has a kernel of its own."""
    inner = [d for d in range(t.dim()) if t.shape[d] > 1]
    return bool(inner) and min(inner, key=lambda d: (t.stride(d), -d)) in [d % t.dim() for d in dims]


def _reduces_nothing(t: Tensor, dims: Any) -> bool:
    return all(t.shape[d] == 1 for d in ((dims,) if isinstance(dims, int) else dims or range(t.dim())))


def _is_trivial(base: Any, exponent: Any) -> bool:
    """Whether a power needs no computation."""
    if isinstance(exponent, torch.Tensor):
        return not isinstance(base, torch.Tensor) and base == 1
    return exponent in (0, 1)


def _letter(kernel: str, dtype: DType, args: Any) -> str:
    if dtype in _UNSIGNED:
        if kernel == "round" and len(args) > 1 and args[1]:
            return "-"
        if kernel == "div" and len(args) > 2 and args[2]:
            return "-"
    how = _HOW.get(kernel, "---")[(dtype not in _UNSIGNED) + dtype.is_complex]
    if kernel == "flip" and _turns_innermost(*args[:2]):
        return "-"
    if kernel == "count_nonzero" and not dtype.is_complex and args[1] is None:
        return "-"
    if kernel in ("sum", "cumsum") and how == "-" and not (args[0].numel() and (args[0].dim() or kernel == "sum")):
        return "w"
    if kernel == "linalg_vector_norm" and how == "-" and dtype is not _E8M0 and _reduces_nothing(*args[:3:2]):
        return "w"  # abs
    if kernel == "pow" and dtype.is_complex and _is_trivial(*args[:2]):
        return "n"
    if kernel in _SELECTIONS and dtype in _UNSIGNED and not args[0].dim():
        return "o"  # one element: nothing is compared
    if not dtype.is_floating_point:
        return how
    if dtype is torch.float4_e2m1fn_x2 and how != "b" and kernel not in _FACTORIES:
        return "-"
    if dtype is _E8M0 and kernel in ("abs", "index_put", "mm", "addmm", "linear"):
        return "-"
    if kernel == "isinf" and dtype is not torch.float8_e5m2:
        return "-"
    if kernel == "isfinite" and dtype is not torch.float8_e5m2 and dtype is not _E8M0:
        return "-"
    if kernel == "mul" and any(not isinstance(a, torch.Tensor) or a.numel() == 1 for a in args[:2]):
        return "-"
    return how


_SELECTIONS = frozenset(("kthvalue", "mode", "topk", "cummax", "cummin", "max_dim", "min_dim"))
_FACTORIES = _TABLE.split(":")[1].split("\n")[0].split()  # and cat and stack


def _given(kernel: str, args: Any) -> DType | None:
    """The limited dtype that a call is about; None where an element-wise kernel converts it."""
    operands = args[1:3] if kernel == "where" else args[: _OPERANDS.get(kernel, 1)]
    if kernel in ("cat", "stack"):
        operands = ()
    asked = next((a for a in args if isinstance(a, torch.dtype)), None)
    if kernel in _OPERANDS and operands:
        common = _C.result_type(*(a for a in operands if a is not None))
        return common if _is_limited(common) else None
    if asked is not None and _is_limited(asked):
        return asked
    return next((t.dtype for t in _tensors(args) if _is_limited(t.dtype)), None)


def _bits(value: Any, dtype: DType) -> Any:
    """A number as the integer whose bytes are the number's in `dtype`."""
    return torch.full((), value, dtype=dtype, device="cpu").view(_BYTES[dtype.itemsize]).item()


def _as_bytes(ov: Any, args: Any, dtype: DType) -> Any:
    size = _BYTES[dtype.itemsize]
    names = [p[0] for p in ov.params]
    changed = list(_changed(args, lambda t: t.resolve_conj().resolve_neg().view(size)))
    for i, name in enumerate(names):
        if name not in ("value", "fill_value", "values", "source", "src"):
            continue
        if isinstance(args[i], torch.Tensor):
            if args[i].dtype is not dtype and not args[i].dim():
                changed[i] = args[i].to(dtype).view(size)
        elif args[i] is not None:
            changed[i] = _bits(args[i], dtype)
    return tuple(changed), lambda r: r.view(dtype) if r.dtype is size else r


def _ordered(t: Tensor) -> Tensor:
    return t.view(torch.int64) ^ -(2**63) if t.dtype is torch.uint64 else t.to(_wider(t.dtype))


def _unordered(r: Tensor, dtype: DType) -> Tensor:
    if dtype is torch.uint64:
        return (r ^ -(2**63)).view(torch.uint64)
    return r.to(dtype)


def _wider(dtype: DType) -> DType:
    if dtype.is_complex:
        return torch.complex64
    if dtype.is_floating_point:
        return torch.float32
    return torch.int32 if dtype is torch.uint16 else torch.int64


def _narrowed(r: Tensor, dtype: DType) -> Tensor:
    if dtype.is_complex and r.dtype is torch.float32:
        return r.to(torch.float16)
    return r.to(dtype) if r.dtype is _wider(dtype) and (dtype.is_floating_point or dtype.is_complex) else r


def _call(ov: Any, args: Any, inplace: bool) -> Any:
    return (_C.call_inplace_below_autograd if inplace else _C.call_below_autograd)(ov, args)


def _of_results(result: Any, back: Any) -> Any:
    if isinstance(result, torch.Tensor):
        return back(result)
    return tuple(back(r) for r in result) if isinstance(result, tuple) else result


def _bad_index(ov: Any, args: Any) -> Any:
    """Where indices are of a limited dtype: that, and the arguments as floats, which no kernel takes, for its error."""
    at = [i for i, p in enumerate(ov.params) if p[0] in ("index", "indices")]
    for i in at:
        of = next((t.dtype for t in _tensors((args[i],)) if _is_limited(t.dtype)), None)
        if of is not None:
            return of, _changed(args, lambda t: torch.empty(tuple(t.shape), dtype=torch.float32))
    return None


def _off_cpu(args: Any) -> Any:
    """The device other than the CPU that a call is on, or None."""
    asked = next((a for a in args if isinstance(a, torch.device)), None)
    if asked is None:
        asked = next((t.device for t in _tensors(args) if not t.is_cpu), None)
    return None if asked is None or asked.type == "cpu" else asked


def _run_on(device: Any, ov: Any, args: Any, dtype: DType) -> Any:
    """A call on another device, which only stores limited dtypes: bytes move there, new tensors come from the CPU."""
    kernel = ov.kernel
    if kernel in _FACTORIES[:-2]:
        sizes = [tuple(a.shape) if isinstance(a, torch.Tensor) else a for a in args]
        at = int(kernel.startswith("new_"))
        if "full" in kernel:
            made = torch.full(sizes[at], args[1 + at], dtype=dtype, device="cpu")
        else:
            made = (torch.ones if "ones" in kernel else torch.zeros)(sizes[at], dtype=dtype, device="cpu")
        return made.to(device)
    tensors = list(_tensors(args))
    if "b" in _HOW.get(kernel, "") or (kernel in ("cat", "stack") and all(t.dtype is dtype for t in tensors)):
        changed, back = _as_bytes(ov, args, dtype)
        result = _call(ov, changed, ov.inplace)
        return args[0] if ov.inplace else _of_results(result, back)
    raise NotImplementedError(
        "%s: %s only stores %s; use x.cpu() for this, or convert: x.cpu().to(dtype).to('%s')"
        % (ov.schema.partition("(")[0], device.type, dtype, device.type)
    )


def run(ov: Any, args: Any) -> Any:
    """The result of a kernel's op, or NotImplemented where the kernel itself shall run."""
    kernel = ov.kernel
    dtype = _given(kernel, args)
    if dtype is None and _off_cpu(args) is not None:  # no kernel of another device converts such operands
        dtype = next((t.dtype for t in _tensors(args) if _is_limited(t.dtype)), None)
    if dtype is None:
        return NotImplemented
    bad = _bad_index(ov, args)
    if bad is not None:
        try:
            return _call(ov, bad[1], ov.inplace)
        except (IndexError, RuntimeError) as error:
            raise type(error)(str(error).replace("Float", bad[0]._scalar_type)) from None
    asked = next((a for a in args if isinstance(a, torch.dtype)), None)
    if kernel in _WITH_DTYPE and asked is not None and not _is_limited(asked):
        return _call(ov, (args[0].to(asked), *args[1:]), ov.inplace)
    if kernel == "matmul" and args[0].dim() >= 2 and args[1].dim() == 2:
        kernel = "mm"
    away = _off_cpu(args)
    if away is not None:
        return _run_on(away, ov, args, dtype)
    how = _letter(kernel, dtype, args)
    if any(p[0] == "repeats" and isinstance(a, torch.Tensor) and _is_limited(a.dtype) for p, a in zip(ov.params, args)):
        how = "-"
    if kernel in _WITH_DTYPE and asked is not None and how != "n":
        how = "-"
    if how == "-":
        raise _refused(kernel, dtype, args)
    if how == "n":
        return NotImplemented
    if kernel == "index_put" and args[3]:
        how = "w"
    back: Any
    if how == "b":
        changed, back = _as_bytes(ov, args, dtype)
    elif how == "o":
        changed = _changed(args, _ordered)
        result = _call(ov, changed, False)
        if kernel.startswith("argsort"):
            return result
        return (_unordered(result[0], dtype), *result[1:])  # indices and counts follow
    elif how == "f":
        changed, back = _changed(args, lambda t: t.to(torch.get_default_dtype())), lambda r: r
    elif how == "t":
        changed, back = _changed(args, lambda t: t.bool()), lambda r: r
    elif how == "s":
        changed, back = _changed(args, lambda t: t.to(torch.int64)), lambda r: r
    else:
        changed, back = _changed(args, lambda t: t.to(_wider(t.dtype))), lambda r: _narrowed(r, dtype)
    result = _call(ov, changed, ov.inplace)
    if not ov.inplace:
        return _of_results(result, back)
    if how != "b":
        _C.copy(args[0], changed[0], False)
    return args[0]
