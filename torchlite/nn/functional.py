"""torch.nn.functional: what is argument logic over ops; the ops themselves come from torchlite.ops."""

import math

import torchlite as torch
from torchlite import Tensor
from torchlite.nn._activations import (  # noqa: F401
    celu,
    elu,
    glu,
    gumbel_softmax,
    hardsigmoid,
    hardswish,
    hardtanh,
    leaky_relu,
    log_softmax,
    mish,
    relu,
    relu6,
    rrelu,
    selu,
    sigmoid,
    silu,
    softmax,
    softmin,
    softsign,
    tanh,
    tanhshrink,
    threshold,
    _get_softmax_dim,
)
from torchlite.nn._aten import aten as _op
from torchlite.nn._attention import (  # noqa: F401
    _canonical_mask,
    _in_projection,
    _in_projection_packed,
    _mha_shape_check,
    _none_or_dtype,
    multi_head_attention_forward,
)
from torchlite.nn._losses import (  # noqa: F401
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cosine_embedding_loss,
    cross_entropy,
    ctc_loss,
    gaussian_nll_loss,
    hinge_embedding_loss,
    huber_loss,
    kl_div,
    l1_loss,
    linear_cross_entropy,
    margin_ranking_loss,
    mse_loss,
    multi_margin_loss,
    multilabel_margin_loss,
    multilabel_soft_margin_loss,
    nll_loss,
    poisson_nll_loss,
    smooth_l1_loss,
    soft_margin_loss,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
    _legacy_reduction,
)

from torchlite.ops._declare import namespace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_INPLACE = ("relu_", "elu_", "celu_", "selu_", "leaky_relu_", "rrelu_", "hardtanh_", "threshold_")
# ops whose arguments are those of torch.nn.functional already
_SAME = (
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "conv_tbc",
    "linear",
    "bilinear",
    "gelu",
    "hardshrink",
    "softshrink",
    "softplus",
    "prelu",
    "cosine_similarity",
    "pairwise_distance",
    "pdist",
    "one_hot",
    "pixel_shuffle",
    "pixel_unshuffle",
    "channel_shuffle",
    "native_channel_shuffle",
    "scaled_dot_product_attention",
    "pad",
    "embedding",
    "embedding_bag",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "alpha_dropout",
    "feature_alpha_dropout",
    "unfold",
    "fold",
    "grid_sample",
    "affine_grid",
)
_F = namespace("nn")
for _n in _SAME + _INPLACE:
    _f = _F.get(_n) or _op.get(_n)
    if _f is not None:
        globals()[_n] = _f
for _n, _f in _F.items():
    if "pool" in _n:
        globals().setdefault(_n, _f)
logsigmoid = _op["log_sigmoid"]
logsigmoid.__module__ = "torchlite._C._nn"  # where PyTorch has it under its own name
del _n, _f


def _tuple(v, n):
    if isinstance(v, (tuple, list)):
        return tuple(v) if len(v) > 1 or n == 1 else tuple(v) * n
    return (v,) * n


# ---- normalization and sampling --------------------------------------------------------------------------------------
def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """input / max(norm_p(input), eps) along `dim`."""
    denom = input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    if out is None:
        return input / denom
    return torch.div(input, denom, out=out)


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """Divides by (k + alpha * mean of squares over `size` neighbouring channels) ** beta."""
    dim = input.dim()
    if dim < 3:
        raise ValueError(f"Expected 3D or higher dimensionality                          input (got {dim} dimensions)")
    if input.numel() == 0:
        return input
    pad, avg2, avg3 = _F["pad"], _F["avg_pool2d"], _F["avg_pool3d"]
    div = input.mul(input)
    if dim == 3:
        div = avg2(pad(div.unsqueeze(1), (0, 0, size // 2, (size - 1) // 2)), (size, 1), stride=1).squeeze(1)
    else:
        sizes = input.size()
        div = div.view(sizes[0], 1, sizes[1], sizes[2], -1)
        div = avg3(pad(div, (0, 0, 0, 0, size // 2, (size - 1) // 2)), (size, 1, 1), stride=1).squeeze(1).view(sizes)
    return input / div.mul(alpha).add(k).pow(beta)


def _verify_batch_size(size):
    count = size[0]
    for n in size[2:]:
        count *= n
    if count == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalizes each channel of (N, C, ...) by its batch statistics (training) or the running ones."""
    if training:
        _verify_batch_size(input.size())
        if eps <= 0.0:
            raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    return _batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, True)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalizes each channel of each sample of (N, C, ...)."""
    if use_input_stats:
        count = 1
        for n in input.size()[2:]:
            count *= n
        if count == 1:
            raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.size()}")
    return _op["instance_norm"](input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True)


def layer_norm(
    input: Tensor,
    normalized_shape: list[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalizes over the last dimensions, of shape `normalized_shape`."""
    return _layer_norm(input, normalized_shape, weight, bias, eps, True)


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Normalizes over groups of channels of (N, C, ...)."""
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    _verify_batch_size([input.size(0) * input.size(1) // num_groups, num_groups] + list(input.size()[2:]))
    return _op["group_norm"](input, num_groups, weight, bias, eps, True)


def rms_norm(
    input: Tensor, normalized_shape: list[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Divides by the root mean square over the last dimensions, of shape `normalized_shape`."""
    return _op["rms_norm"](input, normalized_shape, weight, eps)


_batch_norm, _layer_norm = _op["batch_norm"], _op["layer_norm"]


# ---- pooling ---------------------------------------------------------------------------------------------------------
def _lp_pool(n, name):
    def lp_pool(input, norm_type, kernel_size, stride=None, ceil_mode=False):
        k = _tuple(kernel_size, n)
        avg = _F[f"avg_pool{n}d"]
        out = avg(input.pow(norm_type), k, k if stride is None else _tuple(stride, n), 0, ceil_mode)
        return (torch.sign(out) * torch.relu(torch.abs(out))).mul(math.prod(k)).pow(1.0 / norm_type)

    lp_pool.__name__ = lp_pool.__qualname__ = name
    lp_pool.__doc__ = f"(sum of x ** norm_type over windows) ** (1 / norm_type) in {n} dimension(s)."
    return lp_pool


lp_pool1d = _lp_pool(1, "lp_pool1d")
lp_pool2d = _lp_pool(2, "lp_pool2d")
lp_pool3d = _lp_pool(3, "lp_pool3d")


def _unpool_output_size(input, kernel_size, stride, padding, output_size):
    n = len(kernel_size)
    shape = input.size()
    default = [(shape[-n + d] - 1) * stride[d] + kernel_size[d] - 2 * padding[d] for d in range(n)]
    if output_size is None:
        return default
    if len(output_size) == n + 2:
        output_size = output_size[2:]
    if len(output_size) != n:
        raise ValueError(
            "output_size should be a sequence containing "
            f"{n} or {n + 2} elements, but it has a length of '{len(output_size)}'"
        )
    for d in range(n):
        low, high = default[d] - stride[d], default[d] + stride[d]
        if not low < output_size[d] < high:
            raise ValueError(f'invalid output_size "{output_size}" (dim {d} must be between {low} and {high})')
    return list(output_size)


def _max_unpool(n, name):
    def max_unpool(input, indices, kernel_size, stride=None, padding=0, output_size=None):
        k = _tuple(kernel_size, n)
        s = k if stride is None else _tuple(stride, n)
        p = _tuple(padding, n)
        size = _unpool_output_size(input, k, s, p, output_size)
        if n == 1:
            size = [*size, 1]
            return _op["max_unpool2d"](input.unsqueeze(-1), indices.unsqueeze(-1), size).squeeze(-1)
        if n == 2:
            return _op["max_unpool2d"](input, indices, size)
        return _op["max_unpool3d"](input, indices, size, s, p)

    max_unpool.__name__ = max_unpool.__qualname__ = name
    max_unpool.__doc__ = f"Puts pooled maxima back at their indices, zeros elsewhere, in {n} dimension(s)."
    return max_unpool


max_unpool1d = _max_unpool(1, "max_unpool1d")
max_unpool2d = _max_unpool(2, "max_unpool2d")
max_unpool3d = _max_unpool(3, "max_unpool3d")


# ---- resizing --------------------------------------------------------------------------------------------------------
_UPSAMPLE = {
    ("nearest", 1): "upsample_nearest1d",
    ("nearest", 2): "upsample_nearest2d",
    ("nearest", 3): "upsample_nearest3d",
    ("nearest-exact", 1): "_upsample_nearest_exact1d",
    ("nearest-exact", 2): "_upsample_nearest_exact2d",
    ("nearest-exact", 3): "_upsample_nearest_exact3d",
    ("linear", 1): "upsample_linear1d",
    ("bilinear", 2): "upsample_bilinear2d",
    ("trilinear", 3): "upsample_trilinear3d",
    ("bicubic", 2): "upsample_bicubic2d",
    ("lanczos", 2): "_upsample_lanczos2d_aa",
}
_WORDS = {1: "linear", 2: "bilinear", 3: "trilinear"}


def _is_integer(x) -> bool:
    return not x.is_floating_point() if isinstance(x, Tensor) else hasattr(x, "__index__")


def interpolate(
    input: Tensor,
    size: int | None = None,
    scale_factor: list[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resizes the spatial dimensions of (N, C, d...) to `size` or by `scale_factor`.

    mode: "nearest", "linear" (3D input), "bilinear", "bicubic", "lanczos" (4D), "trilinear" (5D), "area",
    "nearest-exact".
    """
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | "
                "trilinear"
            )
    elif align_corners is None:
        align_corners = False
    dim = input.dim() - 2
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    output_size: Any = None
    scale_factors: Any = None
    if size is not None:
        if isinstance(size, (list, tuple)):
            if len(size) != dim:
                raise ValueError(
                    "Input and output must have the same number of spatial dimensions, but got input with spatial "
                    f"dimensions of {list(input.shape[2:])} and output size of {size}. Please provide input tensor "
                    "in (N, C, d1, d2, ...,dK) format and output size in (o1, o2, ...,oK) format."
                )
            if not all(_is_integer(x) for x in size):
                raise TypeError(
                    f"expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], but "
                    f"got size with types {[type(x) for x in size]}"
                )
            output_size = size
        else:
            output_size = [size] * dim
    elif scale_factor is not None:
        if isinstance(scale_factor, (list, tuple)):
            if len(scale_factor) != dim:
                raise ValueError(
                    "Input and scale_factor must have the same number of spatial dimensions, but got input with "
                    f"spatial dimensions of {list(input.shape[2:])} and scale_factor of shape {scale_factor}. "
                    "Please provide input tensor in (N, C, d1, d2, ...,dK) format and scale_factor in (s1, s2, "
                    "...,sK) format."
                )
            scale_factors = scale_factor
        else:
            scale_factors = [scale_factor] * dim
    else:
        raise ValueError("either size or scale_factor should be defined")
    if recompute_scale_factor is not None and recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if mode == "area" and output_size is None:
        recompute_scale_factor = True
    if recompute_scale_factor:
        # the scales are found again from the rounded sizes
        output_size = [math.floor(float(input.size(i + 2)) * scale_factors[i]) for i in range(dim)]
        scale_factors = None
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and input.ndim == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )
    if mode == "area" and 1 <= dim <= 3:
        return _F[f"adaptive_avg_pool{dim}d"](input, output_size)
    name = _UPSAMPLE.get((mode, dim))
    if name is not None:
        if mode == "lanczos" and (align_corners or not antialias):
            raise ValueError(
                "Lanczos mode %s"
                % ("does not support align_corners=True" if align_corners else "requires antialias=True")
            )
        if antialias:
            return _op[f"_upsample_{mode}2d_aa"](input, output_size, align_corners, scale_factors)
        if mode in ("nearest", "nearest-exact"):
            return _op[name](input, output_size, scale_factors)
        return _op[name](input, output_size, align_corners, scale_factors)
    if mode in ("linear", "bilinear", "trilinear") and 1 <= dim <= 3:
        raise NotImplementedError(
            f"Got {dim + 2}D input, but {mode} mode needs { {'linear': 3, 'bilinear': 4, 'trilinear': 5}[mode] }D input"
        )
    raise NotImplementedError(
        "Input Error: Only 3D, 4D and 5D input Tensors supported"
        f" (got {input.dim()}D) for the modes: nearest | linear | bilinear | bicubic | trilinear | lanczos "
        f"| area | nearest-exact (got {mode})"
    )


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """Deprecated name of `interpolate`."""
    _warn_upsample("`nn.functional.upsample`", "`nn.functional.interpolate`")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input, size=None, scale_factor=None):
    """Deprecated: `interpolate(mode="nearest")`."""
    _warn_upsample("`nn.functional.upsample_nearest`", "`nn.functional.interpolate`")
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input, size=None, scale_factor=None):
    """Deprecated: `interpolate(mode="bilinear", align_corners=True)`."""
    _warn_upsample("`nn.functional.upsample_bilinear`", "`nn.functional.interpolate`")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def _warn_upsample(old, new):
    import warnings

    warnings.warn(f"{old} is deprecated. Use {new} instead.", stacklevel=3)


def grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    *,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: torch.dtype | None = None,
) -> Tensor:
    """Products of groups of rows (or columns) with matrices of their own, whose last rows the int32 `offs` name.
    mat_a (m, k), mat_b (g, k, n): (m, n). mat_a (g, m, k), mat_b (k, n): (m, n). Both 2-D: (g, m, n), by ranges of k.
    Both 3-D: a batched product, without offs. Float32 and 16-bit floats."""
    return torch._grouped_mm(mat_a, mat_b, offs, bias, out_dtype)


def assert_int_or_pair(arg: list[int], arg_name: str, message: str):
    """Raises AssertionError unless `arg` is an int or a pair."""
    if not (isinstance(arg, int) or len(arg) == 2):
        raise AssertionError(message.format(arg_name))


GRID_SAMPLE_INTERPOLATION_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
GRID_SAMPLE_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}

from .._core import absent as _absent

_other = _absent.of(__name__)


def __getattr__(name):
    if name.startswith(("has_torch_function", "handle_torch_function")):
        from .. import overrides

        return getattr(overrides, name)
    if name == "grad":
        from torchlite.nn import grad

        return grad
    return _other(name)


torch._hooked(globals(), "nn")
