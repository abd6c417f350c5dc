"""Losses of distances and margins. `reduction` is 0 (none), 1 (mean) or 2 (sum) here; torch.nn.functional turns its
words into these."""

import math

import torchlite as torch
from .._core.errors import not_implemented, output_shape
from .. import _C
from ._declare import op, refuse_gradient
from ._loss import check_floating, check_floating_pair, reduced
from ._out import FOUND, Out


# ---- distances of pairs ----------------------------------------------------------------------------------------------
def _scaled(g, a, b, reduction):
    """The gradient of one element's loss."""
    return g / math.prod(torch.broadcast_shapes(a.shape, b.shape)) if reduction == 1 else g


def _both(slope):
    """Gradients of a loss of self - target with derivative `slope`: contiguous, as PyTorch's kernels make them."""
    return {"self": lambda c, g: slope(c, g).contiguous(), "target": lambda c, g: (-slope(c, g)).contiguous()}


def _pair_samples(t):
    return [(t(3, 4), t(3, 4)), (t(3, 4), t(3, 4), 0), (t(3, 4), t(3, 4), 2)]


def _difference(x, y):
    """x - y in their common dtype: one may be a mask, which `-` refuses."""
    if torch.bool in (x.dtype, y.dtype) and x.dtype is not y.dtype:
        common = torch.promote_types(x.dtype, y.dtype)
        x, y = x.to(common), y.to(common)
    return x - y


@op(
    "mse_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor",
    module="nn",
    kernel="mse_loss",
    out=True,
    samples=_pair_samples,
    save=("self", "target"),
    grad=_both(lambda c, g: _scaled(g, c.self, c.target, c.reduction) * (2 * _difference(c.self, c.target))),
)
def mse_loss(self, target, reduction=1):
    """(x - y)^2."""
    check_floating_pair(self, target, "mse_cpu")
    difference = _difference(self, target)
    return reduced(difference**2, reduction)


@op(
    "l1_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor",
    module="nn",
    kernel="l1_loss",
    samples=_pair_samples,
)
def l1_loss(self, target, reduction=1):
    """|x - y|. Differentiated through this body, as in PyTorch: the difference is kept,
    so its operands may be written to."""
    return reduced((self - target).abs(), reduction)


def _slope(d, end, inner, outer):
    """inner(d) where |d| < end, else `outer`; NaN where d is. `inner` is linear. The inside is a factor of 0 or 1, so
    that a second gradient keeps what is NaN, as PyTorch's does."""
    inside = d.abs() < end
    return inner(torch.where(d.isinf(), 0, d) * inside) + torch.where(inside, 0, outer)


def _smooth_slope(c, g):
    d = _difference(c.self, c.target).contiguous()
    if 0 < c.beta < math.inf and not torch.is_grad_enabled():
        slope = d.clamp(-c.beta, c.beta)
        slope = slope if c.beta == 1 else slope / c.beta
    else:
        slope = _slope(d, c.beta, lambda x: x / c.beta if c.beta > 0 else x, d.sgn())
    return _scaled(g, c.self, c.target, c.reduction) * slope


@op(
    "smooth_l1_loss(Tensor self, Tensor target, int reduction=Mean, float beta=1.0) -> Tensor",
    module="nn",
    kernel="smooth_l1_loss",
    out=True,
    samples=_pair_samples,
    save=("self", "target"),
    grad=_both(_smooth_slope),
)
def smooth_l1_loss(self, target, reduction=1, beta=1.0):
    """0.5 d^2 / beta where |d| = |x - y| < beta, else |d| - beta / 2."""
    if not beta >= 0:  # NaN, too
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return reduced((self - target).abs(), reduction)
    check_floating_pair(self, target, "smooth_l1_cpu")
    d = _difference(self, target).abs()
    return reduced(torch.where(d < beta, 0.5 * d * d / beta, d - 0.5 * beta), reduction)


def _huber_slope(c, g):
    d = _difference(c.self, c.target).contiguous()
    if torch.is_grad_enabled():
        slope = _slope(d, c.delta, lambda x: x, d.sgn() * c.delta)
    else:
        slope = d.clamp(-c.delta, c.delta)
    return _scaled(g, c.self, c.target, c.reduction) * slope


@op(
    "huber_loss(Tensor self, Tensor target, int reduction=Mean, float delta=1.0) -> Tensor",
    module="nn",
    kernel="huber_loss",
    out=True,
    samples=_pair_samples,
    save=("self", "target"),
    grad=_both(_huber_slope),
)
def huber_loss(self, target, reduction=1, delta=1.0):
    """0.5 d^2 where |d| = |x - y| < delta, else delta (|d| - delta / 2)."""
    if not delta > 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    check_floating_pair(self, target, "huber_cpu")
    d = _difference(self, target).abs()
    _C.check_cast(d.dtype, self.dtype)
    loss = torch.where(d < delta, 0.5 * d * d, delta * (d - 0.5 * delta))
    return reduced(loss.to(self.dtype), reduction)  # PyTorch's kernel writes to the input's dtype


@op(
    "soft_margin_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor",
    module="nn",
    out=Out(FOUND),
    samples=lambda t: [(t(3, 4), t(3, 4, requires_grad=False).sign())],
)
def soft_margin_loss(self, target, reduction=1):
    """log(1 + exp(-target * x))."""
    refuse_gradient("soft_margin_loss", target=target)
    both = torch.broadcast_shapes(self.shape, target.shape)
    if both != self.shape:
        raise output_shape(self.shape, both)
    if not self.is_complex() and (target.is_complex() or not self.is_floating_point()):
        have = target.dtype if target.is_complex() else torch.get_default_dtype()
        _C.check_cast(have, self.dtype)
    if self.is_complex() and _C.differentiated(self, target):
        raise RuntimeError(
            "soft_margin_loss does not support automatic differentiation for outputs with complex dtype."
        )
    return reduced((-target.to(self.dtype) * self).exp().log1p(), reduction)


# ---- margins ---------------------------------------------------------------------------------------------------------
@op(
    "margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=Mean) -> Tensor",
    variants="function",
    samples=lambda t: [(t(4), t(4), t(4).sign())],
)
def margin_ranking_loss(input1, input2, target, margin=0.0, reduction=1):
    """max(0, -y (x1 - x2) + margin)."""
    return reduced((-target * (input1 - input2) + float(margin)).clamp_min(0), reduction)


@op(
    "hinge_embedding_loss(Tensor self, Tensor target, float margin=1.0, int reduction=Mean) -> Tensor",
    variants="function",
    samples=lambda t: [(t(4), t(4).sign())],
)
def hinge_embedding_loss(self, target, margin=1.0, reduction=1):
    """x where y = 1, max(0, margin - x) where y = -1."""
    zeros = torch.zeros_like(self)
    if not self.is_floating_point():  # the margin takes the input's dtype
        margin = torch.full((), margin, dtype=self.dtype, device=self.device)
    away = torch.where(target != 1, (margin - self).clamp_min(0), zeros)
    near = torch.where(target != -1, self, zeros)
    return reduced(away + near, reduction)


@op(
    "cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, "
    "int reduction=Mean) -> Tensor",
    variants="function",
    samples=lambda t: [(t(4, 3), t(4, 3), t(4).sign())],
)
def cosine_embedding_loss(input1, input2, target, margin=0.0, reduction=1):
    """1 - cos(x1, x2) where y = 1, max(0, cos(x1, x2) - margin) where y = -1."""
    d = target.dim()
    if d not in (0, 1):
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if d + 1 != input1.dim() or d + 1 != input2.dim():
        word = "1D target tensor expects 2D input tensors" if d else "0D target tensor expects 1D input tensors"
        raise RuntimeError(f"{word}, but found inputs with sizes {list(input1.shape)} and {list(input2.shape)}.")
    eps = 9.999999960041972e-13  # 1e-12 as a float32, which PyTorch adds to float64 too
    product = (input1 * input2).sum(d)
    size = ((input1 * input1).sum(d) + eps) * ((input2 * input2).sum(d) + eps)
    cos = product / size.sqrt()
    zeros = torch.zeros_like(cos)
    return reduced(
        torch.where(target == 1, 1 - cos, zeros) + torch.where(target == -1, (cos - margin).clamp_min(0), zeros),
        reduction,
    )


@op(
    "triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, float p=2, "
    "float eps=1e-06, bool swap=False, int reduction=Mean) -> Tensor",
    variants="function",
    samples=lambda t: [(t(4, 3), t(4, 3), t(4, 3))],
)
def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2.0, eps=1e-6, swap=False, reduction=1):
    """max(0, d(a, p) - d(a, n) + margin) for the p-norm distance d."""
    dims = anchor.dim(), positive.dim(), negative.dim()
    if len(set(dims)) != 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, "
            f"but got: anchor {dims[0]}D, positive {dims[1]}D, and negative {dims[2]}D inputs"
        )
    if margin <= 0:
        raise RuntimeError(f"triplet_margin_loss expects margin to be greater than 0, got {margin}")
    near, far = torch.pairwise_distance(anchor, positive, p, eps), torch.pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = torch.minimum(far, torch.pairwise_distance(positive, negative, p, eps))
    return reduced((margin + near - far).clamp_min(0), reduction)


def _check_labels(target):
    if target.dtype != torch.int64:
        raise RuntimeError(f"expected scalar type Long but found {target.dtype._scalar_type}")


@op(
    "multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, "
    "int reduction=Mean) -> Tensor",
    module="nn",
    out=True,
)
def multi_margin_loss(self, target, p=1, margin=1, weight=None, reduction=1):
    """sum over i != y of max(0, margin - x[y] + x[i])^p, divided by the number of classes."""
    refuse_gradient("multi_margin_loss", weight=weight)
    if p not in (1, 2):
        raise RuntimeError("only p == 1 and p == 2 supported")
    check_floating(self, "multi_margin_loss_cpu")
    if self.is_cpu and self.itemsize == 2:
        raise not_implemented("multi_margin_loss_cpu_kernel", self.dtype)
    if self.dim() > 2 or (self.numel() == 0 and self.dim() == 2 and self.size(1) == 0):
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(self.shape)}"
        )
    x = (self if self.dim() == 2 else self.reshape(1, -1)).contiguous()
    y = target.reshape(-1)
    if y.numel() != x.size(0) or target.dim() > 1:
        raise RuntimeError(f"inconsistent target size, expected {x.size(0)} but got {list(target.shape)}")
    n = x.size(1)
    if weight is not None and (weight.dim() != 1 or weight.numel() != n):
        raise RuntimeError(f"inconsistent weight size, expected {n} but got {list(weight.shape)}")
    _check_labels(y)
    if y.numel() and y.device.type == "cpu" and not bool(((y >= 0) & (y < n)).all()):
        raise RuntimeError("target out of range")
    right = x.gather(1, y.unsqueeze(1))
    loss = (margin - right + x).clamp_min(0)
    if p == 2:
        loss = loss * loss
    if weight is not None:
        loss = loss * weight[y].unsqueeze(1)
    loss = loss.scatter(1, y.unsqueeze(1), 0).sum(1) / n
    if self.dim() < 2:
        loss = loss.reshape(target.shape)
    return reduced(loss, reduction)


@op("multilabel_margin_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor", module="nn", out=True)
def multilabel_margin_loss(self, target, reduction=1):
    """sum over labels y and non-labels i of max(0, 1 - x[y] + x[i]), divided by the number of classes;
    labels end at -1."""
    if self.dim() > 2 or (self.dim() and self.size(-1) == 0):
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(self.shape)}"
        )
    if self.shape != target.shape and not (self.dim() <= 1 and target.dim() <= 1 and self.numel() == target.numel()):
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(self.shape)}")
    check_floating(self, "multilabel_margin_loss_forward_out_frame")
    if self.is_cpu and self.itemsize == 2:
        raise not_implemented("multilabel_margin_loss_forward_out_frame", self.dtype)
    _check_labels(target)
    x = self if self.dim() == 2 else self.reshape(1, -1)
    y = target.reshape(x.shape)
    n = x.size(1)
    valid = (y < 0).long().cumsum(1) == 0
    safe = y.masked_fill(~valid, 0)
    labels = torch.zeros(x.shape, dtype=torch.long, device=x.device).scatter_add(1, safe, valid.long()) > 0
    diff = (1 - x.gather(1, safe).unsqueeze(2) + x.unsqueeze(1)).clamp_min(0)
    keep = valid.unsqueeze(2) & ~labels.unsqueeze(1)
    loss = torch.where(keep, diff, 0).sum((1, 2)) / n
    if self.dim() < 2:
        loss = loss.reshape(())
    return reduced(loss, reduction)
