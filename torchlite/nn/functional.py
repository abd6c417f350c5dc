"""torch.nn.functional: what is argument logic over ops; the ops themselves come from torchlite.ops."""
import math

import torchlite as torch
from torchlite.nn import _reduction as _Reduction
from torchlite.nn._attention import (_canonical_mask, _in_projection, _in_projection_packed, _mha_shape_check,  # noqa: F401
                                     _none_or_dtype, multi_head_attention_forward)
from torchlite.ops._declare import namespace

_ops = namespace("nn")
globals().update(_ops)
from torchlite.nn._activation import *  # noqa: E402, F401, F403
from torchlite.nn._losses import *  # noqa: E402,F401,F403
from torchlite.nn._norms import *  # noqa: E402,F401,F403
_legacy_reduction = _Reduction.legacy_get_string


def _reduce(loss, reduction):
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    if reduction != "none":
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return loss


def _old(size_average, reduce, reduction):
    if size_average is not None or reduce is not None:
        return _legacy_reduction(size_average, reduce)
    return reduction


def _get_softmax_dim(name, ndim, stacklevel):
    import warnings
    warnings.warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an "
                  "argument.", stacklevel=stacklevel)
    return 0 if ndim in (0, 1, 3) else 1


def _tuple(v, n):
    if isinstance(v, (tuple, list)):
        return tuple(v) if len(v) > 1 or n == 1 else tuple(v) * n
    return (v,) * n


# ---- losses ----------------------------------------------------------------------------------------------------------
def cross_entropy(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean",
                  label_smoothing=0.0):
    """Cross entropy of logits (N, C, d...) with class indices (N, d...) or class probabilities (N, C, d...)."""
    if size_average is not None or reduce is not None:
        reduction = _legacy_reduction(size_average, reduce)
    return torch._C._nn.cross_entropy_loss(input, target, weight, _Reduction.get_enum(reduction), ignore_index,
                                           label_smoothing)


def linear_cross_entropy(input, linear_weight, target, *, linear_bias=None, weight=None, reduction="mean",
                         ignore_index=None, label_smoothing=0.0, options=None):
    """`cross_entropy(linear(input, linear_weight, linear_bias), target)`, for weights of shape (C, d..., in)."""
    if linear_weight.dim() > 2:
        w = linear_weight.flatten(0, -2)
        b = None if linear_bias is None else linear_bias.flatten()
        logits = _ops["linear"](input, w, b).unflatten(-1, tuple(linear_weight.shape[:-1]))
    else:
        logits = _ops["linear"](input, linear_weight, linear_bias)
    probabilities = target.is_floating_point()
    if ignore_index is None:
        ignore_index = -100
    elif probabilities and ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    return cross_entropy(logits, target, weight, ignore_index=ignore_index, reduction=reduction,
                         label_smoothing=label_smoothing)


def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """0.5 * (log var + (input - target)^2 / var), with var clamped to at least eps."""
    if not isinstance(var, torch.Tensor):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * torch.ones_like(input)
    elif torch.any(var < 0):
        raise ValueError("var has negative entry/entries")
    if var.size() != input.size():
        if input.size()[:-1] == var.size():
            var = torch.unsqueeze(var, -1)
        elif not (input.ndim == var.ndim and all(a == b or b == 1 for a, b in zip(input.size(), var.size()))):
            raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    var = var.clone()
    with torch.no_grad():
        var.clamp_(min=eps)
    loss = 0.5 * (torch.log(var) + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return _reduce(loss, reduction)


def triplet_margin_with_distance_loss(anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False,
                                      reduction="mean"):
    """max(0, d(a, p) - d(a, n) + margin) with any distance function (default: pairwise_distance)."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if distance_function is None:
        distance_function = torch.pairwise_distance
    if not (anchor.ndim == positive.ndim and anchor.ndim == negative.ndim):
        raise RuntimeError(f"The anchor, positive, and negative tensors are expected to have the same number of dimensions, "
                           f"but got: anchor {anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs")
    d_pos = distance_function(anchor, positive)
    d_neg = distance_function(anchor, negative)
    if swap:
        d_neg = torch.minimum(d_neg, distance_function(positive, negative))
    return _reduce(torch.clamp_min(margin + d_pos - d_neg, 0), reduction)


def multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """Binary cross entropy of logits averaged over the last dimension."""
    reduction = _old(size_average, reduce, reduction)
    logsigmoid = _ops["logsigmoid"]
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    class_dim = input.dim() - 1
    return _reduce(loss.sum(dim=class_dim) / input.size(class_dim), reduction)


# ---- normalization and sampling --------------------------------------------------------------------------------------
def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    """input / max(norm_p(input), eps) along `dim`."""
    denom = torch.linalg.vector_norm(input, p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    if out is None:
        return input / denom
    return torch.div(input, denom, out=out)


def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    """Divides by (k + alpha * mean of squares over `size` neighbouring channels) ** beta."""
    dim = input.dim()
    if dim < 3:
        raise ValueError(f"Expected 3D or higher dimensionality                          input (got {dim} dimensions)")
    if input.numel() == 0:
        return input
    pad, avg2, avg3 = _ops["pad"], _ops["avg_pool2d"], _ops["avg_pool3d"]
    div = input.mul(input)
    if dim == 3:
        div = avg2(pad(div.unsqueeze(1), (0, 0, size // 2, (size - 1) // 2)), (size, 1), stride=1).squeeze(1)
    else:
        sizes = input.size()
        div = div.view(sizes[0], 1, sizes[1], sizes[2], -1)
        div = avg3(pad(div, (0, 0, 0, 0, size // 2, (size - 1) // 2)), (size, 1, 1), stride=1).squeeze(1).view(sizes)
    return input / div.mul(alpha).add(k).pow(beta)


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """A sample of the Gumbel-softmax distribution; `hard` gives one-hot values with the soft gradient."""
    gumbels = -torch.empty_like(logits, memory_format=torch.legacy_contiguous_format).exponential_().log()
    soft = ((logits + gumbels) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    y_hard = torch.zeros_like(logits, memory_format=torch.legacy_contiguous_format).scatter_(dim, index, 1.0)
    return y_hard - soft.detach() + soft


# ---- pooling ---------------------------------------------------------------------------------------------------------
def _lp_pool(n, name):
    def lp_pool(input, norm_type, kernel_size, stride=None, ceil_mode=False):
        k = _tuple(kernel_size, n)
        avg = _ops[f"avg_pool{n}d"]
        out = avg(input.pow(norm_type), k, k if stride is None else _tuple(stride, n), 0, ceil_mode)
        relu = torch.relu
        return (torch.sign(out) * relu(torch.abs(out))).mul(math.prod(k)).pow(1.0 / norm_type)
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
        raise ValueError("output_size should be a sequence containing "
                         f"{n} or {n + 2} elements, but it has a length of '{len(output_size)}'")
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
            size = [*size, 1] if isinstance(size, list) else [*size, 1]
            return torch._C._nn.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), size).squeeze(-1)
        if n == 2:
            return torch._C._nn.max_unpool2d(input, indices, size)
        return torch._C._nn.max_unpool3d(input, indices, size, s, p)
    max_unpool.__name__ = max_unpool.__qualname__ = name
    max_unpool.__doc__ = f"Puts pooled maxima back at their indices, zeros elsewhere, in {n} dimension(s)."
    return max_unpool


max_unpool1d = _max_unpool(1, "max_unpool1d")
max_unpool2d = _max_unpool(2, "max_unpool2d")
max_unpool3d = _max_unpool(3, "max_unpool3d")


# ---- resizing --------------------------------------------------------------------------------------------------------
_UPSAMPLE = {("nearest", 1): "upsample_nearest1d", ("nearest", 2): "upsample_nearest2d", ("nearest", 3): "upsample_nearest3d",
             ("nearest-exact", 1): "_upsample_nearest_exact1d", ("nearest-exact", 2): "_upsample_nearest_exact2d",
             ("nearest-exact", 3): "_upsample_nearest_exact3d", ("linear", 1): "upsample_linear1d",
             ("bilinear", 2): "upsample_bilinear2d", ("trilinear", 3): "upsample_trilinear3d",
             ("bicubic", 2): "upsample_bicubic2d"}
_WORDS = {1: "linear", 2: "bilinear", 3: "trilinear"}


def interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None,
                antialias=False):
    """Resizes the spatial dimensions of (N, C, d...) to `size` or by `scale_factor`.

    mode: "nearest", "linear" (3D input), "bilinear", "bicubic" (4D), "trilinear" (5D), "area", "nearest-exact".
    """
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError("align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | "
                             "trilinear")
    elif align_corners is None:
        align_corners = False
    dim = input.dim() - 2
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    output_size = scale_factors = None
    if size is not None:
        if isinstance(size, (list, tuple)):
            if len(size) != dim:
                raise ValueError("Input and output must have the same number of spatial dimensions, but got input with spatial "
                                 f"dimensions of {list(input.shape[2:])} and output size of {size}. Please provide input tensor "
                                 "in (N, C, d1, d2, ...,dK) format and output size in (o1, o2, ...,oK) format.")
            if not all(isinstance(x, int) for x in size):
                raise TypeError(f"expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], but "
                                f"got size with types {[type(x) for x in size]}")
            output_size = list(size)
        else:
            output_size = [size] * dim
    elif scale_factor is not None:
        if isinstance(scale_factor, (list, tuple)):
            if len(scale_factor) != dim:
                raise ValueError("Input and scale_factor must have the same number of spatial dimensions, but got input with "
                                 f"spatial dimensions of {list(input.shape[2:])} and scale_factor of shape {scale_factor}. "
                                 "Please provide input tensor in (N, C, d1, d2, ...,dK) format and scale_factor in (s1, s2, "
                                 "...,sK) format.")
            scale_factors = list(scale_factor)
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
        raise ValueError("Anti-alias option is restricted to bilinear, bicubic and lanczos modes and requires a 4-D tensor as "
                         "input")
    nn = torch._C._nn
    if mode == "area" and 1 <= dim <= 3:
        return _ops[f"adaptive_avg_pool{dim}d"](input, output_size)
    name = _UPSAMPLE.get((mode, dim))
    if name is not None:
        if antialias:
            return getattr(nn, f"_upsample_{mode}2d_aa")(input, output_size, align_corners, scale_factors)
        if mode in ("nearest", "nearest-exact"):
            return getattr(nn, name)(input, output_size, scale_factors)
        return getattr(nn, name)(input, output_size, align_corners, scale_factors)
    if mode in ("linear", "bilinear", "trilinear") and 1 <= dim <= 3:
        raise NotImplementedError(f"Got {dim + 2}D input, but {mode} mode needs "
                                  f"{ {'linear': 3, 'bilinear': 4, 'trilinear': 5}[mode]}D input")
    raise NotImplementedError("Input Error: Only 3D, 4D and 5D input Tensors supported"
                              f" (got {input.dim()}D) for the modes: nearest | linear | bilinear | bicubic | trilinear | lanczos "
                              f"| area | nearest-exact (got {mode})")


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


def assert_int_or_pair(arg, arg_name, message):
    """Raises AssertionError unless `arg` is an int or a pair."""
    if not (isinstance(arg, int) or len(arg) == 2):
        raise AssertionError(message.format(arg_name))
