"""out=: which dtypes an op takes there, where PyTorch asks for more than that the result can be cast, and its words."""

from __future__ import annotations


from .. import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any
    from .._types import Overload, Tensor


# made of sizes and numbers: what they make has the dtype of out
FACTORIES = frozenset(
    "arange range linspace logspace eye empty zeros ones full rand randn randint randperm "
    "fft_fftfreq fft_rfftfreq".split()
)
SILENT = FACTORIES | {"bernoulli", "multinomial"}  # resize without a warning
_IN_ORDER = (
    "arange",
    "range",
    "linspace",
    "logspace",
    "fft_fftfreq",
    "fft_rfftfreq",
)  # an out of another shape, but as many elements, keeps its shape
# compute in the dtype of out where no dtype is named
_DTYPE_OF_OUT = frozenset("sum prod nansum cumsum cumprod mean".split())

# {r} and {o}: the result's and out's dtype as ScalarTypes; {cr} and {co}: in C++
_EXACT = {
    "Expected out tensor to have dtype {cr}, but got {co} instead": "renorm gather scatter scatter_add "
    "scatter_reduce index_add index_copy index_reduce take_along_dim tril triu mm bmm matmul addmm addmv "
    "baddbmm linear cross softmax log_softmax aminmax argmax argmin sort msort argsort topk slice_scatter isin "
    "diag norm linalg_vector_norm linalg_matrix_norm linalg_lu linalg_solve linalg_inv inverse linalg_qr "
    "linalg_svdvals linalg_det linalg_slogdet linalg_cross linalg_matrix_power avg_pool2d avg_pool3d "
    "linalg_eigh linalg_eigvalsh linalg_svd linalg_cholesky linalg_lu_solve linalg_lu_factor linalg_inv_ex",
    "Found dtype {o} but expected {r}": "hardtanh leaky_relu hardswish hardsigmoid softshrink hardshrink gelu silu "
    "mish elu softplus soft_margin_loss binary_cross_entropy clamp clip clamp_min clamp_max neg sign sgn "
    "conj_physical ceil floor trunc fix round frac abs absolute lerp",
    "expected scalar_type {r} but found {o}": "cummax cummin logcumsumexp",
    "expected scalar type {r} but found {o}": "log_sigmoid linalg_solve_triangular",
    "Expected object of scalar type {r} but got scalar type {o} for argument 'out'": "complex polar",
    "result dtype {o} does not match input dtype {r}": "dot vdot",
    "Expected the dtype for input and out to match, but got {r} for input's dtype "
    "and {o} for out's dtype.": "amax amin",
    "{name}() out tensor must be same dtype as the input tensor": "quantile nanquantile",
    "the output given to float_power has dtype {o} but the operation's result requires dtype {r}": "float_power",
    "{name}(): self and result must have the same scalar type": "index_select masked_select",
    "take(): self and out expected to have the same dtype, but got self.dtype = {r} and out.dtype = {o}": "take",
    "addmv input tensors must have the same dtype, but got {o}, {r}, and {r}": "mv",
    "self and mat2 must have the same dtype, but got {o} and {r}": "addbmm",
    "tensordot: Expected the output tensor to have dtype {r}, "
    "but got an output tensor with dtype {o}": "inner tensordot",
    "Expected out type to be {r} but got {o}": "where",
    "{name} does not support non-boolean outputs.": "isposinf isneginf signbit",
    "nan_to_num: dtype of out: {o} should be same as input: {r}": "nan_to_num",
    "nonzero: Expected out tensor to have scalar type Long but got scalar type{o}": "nonzero",
    "torch.frexp() expects mantissa to have dtype {cr} but got {co}": "frexp",
    "Expected self.dtype() == output.dtype() to be true, but got false. "
    " (Could this error message be improved?  If so, please report an "
    "enhancement request to PyTorch.)": "narrow_copy",
    "linalg.vecdot: Expected out of dtype{r} but found {o}": "linalg_vecdot",
    "linalg.norm expected out tensor dtype {r} but got: {o}": "linalg_norm",
    "expected scalar type '{r}' but got '{o}' for {part} output": "mode",
    "heaviside is not yet implemented for tensors with different dtypes.": "heaviside",
    "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on "
    "whether out_int32 flag is True, but we got output tensor's dtype {o} and "
    "out_int32 flag is {narrow}": "searchsorted bucketize",
    "torch.histogram: input tensor and hist tensor should have the same dtype, "
    "but got input {cr} and hist {co}": "histc",
    "multinomial expects Long tensor out, got: {o}": "multinomial",
    "torch.ormqr: Expected input and result to have the same dtype, but input has dtype{r} and "
    "result has dtype {o}": "ormqr",
    "multi_dot(): expected out tensor to have dtype {cr} but got {co}": "linalg_multi_dot",
}
# the prefix of "Expected result to be safely castable", and what result is called there
_CASTABLE = {
    "cholesky_inverse": ("cholesky_inverse", "result"),
    "geqrf": ("torch.geqrf", "a", "tau"),
    "linalg_cond": ("linalg.cond", "result"),
    "linalg_eig": ("torch.linalg.eig", "eigenvalues", "eigenvectors"),
    "linalg_eigvals": ("torch.linalg.eigvals", "eigenvalues"),
    "linalg_householder_product": ("torch.linalg.householder_product", "result"),
    "linalg_matrix_power": ("matrix_power", "result"),
    "linalg_matrix_rank": ("torch.linalg.matrix_rank", "result"),
    "linalg_pinv": ("linalg.pinv", "result"),
    "orgqr": ("torch.linalg.householder_product", "result"),
}
_TEXT = {name: text for text, names in _EXACT.items() for name in names.split()}


def arguments(ov: Overload, args: Any, outs: tuple[Tensor]) -> tuple[Tensor | complex | int, ...]:
    """The arguments with the dtype that out asks for."""
    name = ov.spec.name
    if len(outs) != 1 or name not in FACTORIES and name not in _DTYPE_OF_OUT:
        return args
    at = next((i for i, p in enumerate(ov.params) if p[0] == "dtype"), None)
    out = outs[0]
    if name == "mean":
        if (
            len(ov.params) < 3
            or not (out.is_floating_point() or out.is_complex())
            or not (args[0].is_floating_point() or args[0].is_complex())
        ):
            return args  # the overload for all elements casts, and no mean is whole
        if args[at] is not None and args[at] is not out.dtype:
            raise RuntimeError(
                "Expected out tensor to have dtype %s, but got %s instead" % (args[at]._cpp_type, out.dtype._cpp_type)
            )
        if args[0].is_complex() and not out.is_complex():
            _C.warn_once("Casting complex values to real discards the imaginary part")
    if at is None or name in _DTYPE_OF_OUT and args[at] is not None:
        return args
    if (
        name in FACTORIES and name not in ("randint", "randperm") and args[at] is not None and args[at] is not out.dtype
    ):  # theirs has a default
        raise RuntimeError(
            "dtype %s does not match dtype of out parameter (%s)" % (args[at]._scalar_type, out.dtype._scalar_type)
        )
    return (*args[:at], out.dtype, *args[at + 1 :])


def check(ov: Overload, args: tuple[Any, ...], results: Any, outs: Any) -> None:
    """Raises where the dtype of an out is none that the op writes to."""
    name = ov.spec.name
    for i, (r, o) in enumerate(zip(results, outs)):
        if r.dtype is o.dtype:
            continue
        text = _TEXT.get(name)
        if name in _CASTABLE and not _C.can_cast(r.dtype, o.dtype):
            prefix, *parts = _CASTABLE[name]
            text = (
                f"{prefix}: Expected {parts[i]} to be safely castable from {{r}} dtype, "
                f"but got {parts[i]} with dtype {{o}}"
            )
        elif name in ("max", "min") and len(outs) == 2:
            text = _TEXT["sort"]
        elif name in ("kthvalue", "median", "nanmedian") and len(outs) == 2:
            text = (
                "output values must be of same type as input"
                if i == 0
                else "output indices must be of scalar type Long"
            )
        elif name in ("any", "all") and o.dtype._code != 1:
            text = "{name} only supports bool tensor for result, got: {o}"
        elif name.startswith("fft_") and name.endswith(("fft", "fftn", "fft2")):
            kind = "complex" if r.is_complex() else "floating point"
            fits = o.is_complex() if r.is_complex() else o.is_floating_point()
            inverse = name.startswith(("fft_i",)) and r.is_complex() and not args[0].is_complex()
            if fits and inverse:
                text = _TEXT["abs"]
            elif fits:
                text = None
            else:
                text = "%s expects a %s output tensor, but got {o}" % (name[4:].replace("2", "n"), kind)
        elif name in ("abs", "absolute") and args[0].is_complex():
            if o.dtype is args[0].dtype or not o.is_complex():
                text = None
            else:
                r = args[0]
        elif name == "logsumexp":
            if not (o.is_floating_point() or o.is_complex()):
                text = "logsumexp(): Expected floating point type for result tensor, but got: {o}"
        elif name == "lerp" and not isinstance(args[2], _C.TensorBase):
            text = None
        elif (
            name.startswith("clamp")
            and any(isinstance(a, _C.TensorBase) for a in args[1:])
            or name == "inner"
            and not (args[0].dim() and args[1].dim())
        ):
            text = None
        if text is not None:
            names = {
                "r": r.dtype._scalar_type,
                "o": o.dtype._scalar_type,
                "name": name,
                "part": "values" if i == 0 else "indices",
                "cr": r.dtype._cpp_type,
                "co": o.dtype._cpp_type,
                "narrow": "True" if r.dtype.name == "int32" else "False",
            }
            raise RuntimeError(text.format_map(names))
        if name != "bernoulli" and not _C.can_cast(r.dtype, o.dtype):
            if name in (
                "cat",
                "stack",
                "hstack",
                "vstack",
                "dstack",
                "column_stack",
                "row_stack",
                "concat",
                "concatenate",
            ):
                raise TypeError(
                    "torch.cat(): input types can't be cast to the desired output type %s" % o.dtype._scalar_type
                )
            if name == "mean" and len(ov.params) < 3:
                raise RuntimeError(
                    "mean.dtype_out(): input types can't be cast to the desired output type %s" % o.dtype._scalar_type
                )
            raise RuntimeError(
                "result type %s can't be cast to the desired output type %s"
                % (r.dtype._scalar_type, o.dtype._scalar_type)
            )


def _is_leaf(t: Tensor) -> Any:
    try:
        return t.is_leaf
    except RuntimeError:  # a view of several, whose base was changed
        return False


def make(name: str, r: Any, o: Any) -> Any:
    """A factory's result written to out, which takes its shape without the warning of other ops."""
    if r.numel() == o.numel() if name in _IN_ORDER else r.shape == o.shape:
        _C.check_overlap(o)
    if name in _IN_ORDER:
        if r.numel() != o.numel():
            if name in ("arange", "fft_fftfreq", "fft_rfftfreq") and o.numel():
                import warnings

                warnings.warn(
                    "The number of elements in the out tensor of shape %s is %d which does not match the computed "
                    "number of elements %d. Note that this may occur as a result of rounding error. "
                    "The out tensor will be resized to a tensor of shape (%d,)."
                    % (list(o.shape), o.numel(), r.numel(), r.numel()),
                    UserWarning,
                    stacklevel=4,
                )
            _C.resize(o, tuple(r.shape))
        r = r.view(o.shape)
    elif r.shape != o.shape:
        _C.resize(o, tuple(r.shape))
    _C.copy(o, r)
    if name in FACTORIES and _is_leaf(o):
        o.requires_grad = False  # as the argument of that name says
