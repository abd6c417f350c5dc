"""Losses. `reduction` is 0 (none), 1 (mean) or 2 (sum) here; torch.nn.functional turns its words into these."""

import math

import torchlite as torch
from .._core.errors import not_implemented, output_shape
from .. import _C
from .._core.dispatch_modes import all_examples
from ._declare import op, refuse_gradient
from ._out import FOUND, Out


def _reduce(loss, reduction):
    if reduction == 1:
        return loss.mean()
    if reduction == 2:
        return loss.sum()
    return loss


def _float_only(x, kernel):
    if not x.is_floating_point():
        raise not_implemented(kernel, x.dtype)


def _float_only_pair(x, y, kernel):
    common = torch.promote_types(x.dtype, y.dtype)
    if not common.is_floating_point:
        raise not_implemented(kernel, common)


def _full_precision(x, kernel):
    if x.dtype not in (torch.float32, torch.float64):
        raise not_implemented(kernel, x.dtype)


def _to(loss, dtype):
    """The elements of a loss in the dtype of its input, which PyTorch's kernels write to."""
    return loss if loss.dtype == dtype else loss.to(dtype)


def _numel(a, b):
    n = 1
    for s in torch.broadcast_shapes(a.shape, b.shape):
        n *= s
    return n


def _scale(g, a, b, reduction):
    """The gradient of one element's loss."""
    return g / _numel(a, b) if reduction == 1 else g


# ---- distances of pairs ----------------------------------------------------------------------------------------------
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
    grad=_both(lambda c, g: _scale(g, c.self, c.target, c.reduction) * (2 * _difference(c.self, c.target))),
)
def mse_loss(self, target, reduction=1):
    """(x - y)^2."""
    _float_only_pair(self, target, "mse_cpu")
    difference = _difference(self, target)
    return _reduce(difference**2, reduction)


@op(
    "l1_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor",
    module="nn",
    kernel="l1_loss",
    samples=_pair_samples,
)
def l1_loss(self, target, reduction=1):
    """|x - y|. Differentiated through this body, as in PyTorch: the difference is kept,
    so its operands may be written to."""
    return _reduce((self - target).abs(), reduction)


def _slope(d, end, inner, outer):
    """inner(d) where |d| < end, else `outer`; NaN where d is. `inner` is linear. The inside is a factor of 0 or 1, so
    that a second gradient keeps what is NaN, as PyTorch's does."""
    inside = d.abs() < end
    return inner(torch.where(d.isinf(), 0, d) * inside) + torch.where(inside, 0, outer)


def _smooth_slope(c, g):
    d = _difference(c.self, c.target).contiguous()
    slope = _slope(d, c.beta, lambda x: x / c.beta if c.beta > 0 else x, d.sgn())
    return _scale(g, c.self, c.target, c.reduction) * slope


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
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return _reduce((self - target).abs(), reduction)
    _float_only_pair(self, target, "smooth_l1_cpu")
    d = _difference(self, target).abs()
    return _reduce(torch.where(d < beta, 0.5 * d * d / beta, d - 0.5 * beta), reduction)


def _huber_slope(c, g):
    d = _difference(c.self, c.target).contiguous()
    return _scale(g, c.self, c.target, c.reduction) * _slope(d, c.delta, lambda x: x, d.sgn() * c.delta)


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
    _float_only_pair(self, target, "huber_cpu")
    d = _difference(self, target).abs()
    _C.check_cast(d.dtype, self.dtype)
    return _reduce(_to(torch.where(d < delta, 0.5 * d * d, delta * (d - 0.5 * delta)), self.dtype), reduction)


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
    return _reduce((-target.to(self.dtype) * self).exp().log1p(), reduction)


# ---- cross entropies -------------------------------------------------------------------------------------------------
def _bce_grad(c, g):
    out = (c.self - c.target) * g / ((1 - c.self) * c.self).clamp_min(1e-12)
    if c.weight is not None:
        out = out * c.weight
    return out / c.self.numel() if c.reduction == 1 else out


def _bce_target_grad(c, g):
    out = g * ((1 - c.self).log() - c.self.log())
    if c.weight is not None:
        out = out * c.weight
    return out / c.self.numel() if c.reduction == 1 else out


@op(
    "binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean) -> Tensor",
    module="nn",
    out=Out(FOUND),
    save=("self", "target", "weight"),
    grad={"self": _bce_grad, "target": _bce_target_grad, "weight": None},
    samples=lambda t: [(t(3, 4, lo=0.1, hi=0.9), t(3, 4, lo=0, hi=1))],
)
def binary_cross_entropy(self, target, weight=None, reduction=1):
    """-(y log x + (1 - y) log(1 - x)) of probabilities x; the logarithms are kept above -100."""
    _float_only(self, "binary_cross_entropy")
    if self.device.type == "cpu" and self.numel() and not bool(all_examples((self >= 0) & (self <= 1)).all()):
        raise RuntimeError("all elements of input should be between 0 and 1")
    for t in (target, weight):
        if t is not None and t.dtype != self.dtype:
            raise RuntimeError(f"Found dtype {t.dtype._scalar_type} but expected {self.dtype._scalar_type}")
    if self.device.type == "cpu" and self.numel() and not bool(all_examples((target >= 0) & (target <= 1)).all()):
        raise RuntimeError("all elements of target should be between 0 and 1")
    loss = (target - 1) * torch.log1p(-self).clamp_min(-100) - target * self.log().clamp_min(-100)
    return _reduce(loss if weight is None else loss * weight, reduction)


def _written_over(x, result):
    """The result of an op that PyTorch runs in place, on `x`: it has the dtype and the shape of that."""
    if result.shape != x.shape:
        raise output_shape(x.shape, result.shape)
    if not torch.can_cast(result.dtype, x.dtype):
        raise RuntimeError(
            f"result type {result.dtype._scalar_type} can't be cast to the desired output type {x.dtype._scalar_type}"
        )
    return result.to(x.dtype)


def _logits_grad(c, g):
    s = c.self.sigmoid()
    if c.pos_weight is None:
        out = s - c.target
    else:
        t = c.pos_weight * c.target
        out = (t + 1 - c.target) * s - t
    out = out * g
    if c.weight is not None:
        out = out * c.weight
    return out / c.self.numel() if c.reduction == 1 else out


def _logits_target_grad(c, g):
    out = (
        -c.self
        if c.pos_weight is None
        else torch._C._nn.log_sigmoid(-c.self) - c.pos_weight * torch._C._nn.log_sigmoid(c.self)
    )
    out = out * g
    if c.weight is not None:
        out = out * c.weight
    return out / c.self.numel() if c.reduction == 1 else out


@op(
    "binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, "
    "int reduction=Mean) -> Tensor",
    variants="function",
    save=("self", "target", "weight", "pos_weight"),
    grad={"self": _logits_grad, "target": _logits_target_grad, "weight": None, "pos_weight": None},
    samples=lambda t: [
        (t(3, 4), t(3, 4, lo=0, hi=1)),
        (
            t(3, 4),
            t(3, 4, lo=0, hi=1),
            t(4, lo=0.5, hi=2, requires_grad=False),
            t(4, lo=0.5, hi=2, requires_grad=False),
            2,
        ),
    ],
)
def binary_cross_entropy_with_logits(self, target, weight=None, pos_weight=None, reduction=1):
    """Binary cross entropy of sigmoid(x), computed without overflow;
    `pos_weight` scales the term of the positive class."""
    log_sigmoid = torch._C._nn.log_sigmoid(self)
    if pos_weight is not None:
        log_sigmoid = _written_over(log_sigmoid, log_sigmoid * ((pos_weight - 1) * target + 1))
    loss = _written_over(target, (1 - target) * self - log_sigmoid)
    if weight is not None:
        loss = _written_over(loss, loss * weight)
    return _reduce(loss, reduction)


@op(
    "kl_div(Tensor self, Tensor target, int reduction=Mean, *, bool log_target=False) -> Tensor",
    variants="function",
    samples=lambda t: [(t(3, 4), t(3, 4, lo=0.1, hi=1)), (t(3, 4), t(3, 4), 2, {"log_target": True})],
)
def kl_div(self, target, reduction=1, log_target=False):
    """target * (log target - x), or exp(target) * (target - x) when the target is a logarithm too."""
    for t in (self, target):
        if t.is_complex():
            raise RuntimeError("kl_div: Complex inputs not supported.")
    for t in (self, target):
        if not t.is_floating_point():
            raise RuntimeError("kl_div: Integral inputs not supported.")
    loss = target.exp() * (target - self) if log_target else torch.xlogy(target, target) - target * self
    return _reduce(loss, reduction)


@op(
    "poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> Tensor",
    variants="function",
    samples=lambda t: [(t(3, 4), t(3, 4, lo=0, hi=3), True, True, 1e-8, 1)],
)
def poisson_nll_loss(input, target, log_input, full, eps, reduction):
    """exp(x) - y x (or x - y log(x + eps)), with Stirling's term for y > 1 when `full`."""
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return _reduce(loss, reduction)


# ---- negative log likelihood -----------------------------------------------------------------------------------------
def _picked(x, target, weight, ignore_index):
    """Class dim, safe targets and their weights."""
    dim = 1 if x.dim() > 1 else 0
    ignored = target == ignore_index
    safe = target.long().masked_fill(ignored, 0)
    if weight is None:
        w = torch.ones(target.shape, dtype=x.dtype, device=x.device)
    else:
        w = weight.index_select(0, safe.reshape(-1)).view(target.shape).to(x.dtype)
    return dim, safe, w.masked_fill(ignored, 0)


@op(
    "nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, "
    "SymInt ignore_index) -> (Tensor output, Tensor total_weight)",
    module="nn",
    alias=("nll_loss2d_forward",),
    kernel="nll_loss_forward",
    nondiff=(1,),
    node=lambda a: "NllLoss2DBackward0" if a[0].dim() == 4 else "NllLossBackward0",
    called=lambda a: "nll_loss2d_forward" if a[0].dim() == 4 else "nll_loss_forward",
    grad={
        "self": lambda c, g: torch._C._nn.nll_loss_backward(
            g[0], c.self, c.target, c.weight, c.reduction, c.ignore_index, c.result1
        ),
        "weight": None,
    },
)
def nll_loss_forward(self, target, weight, reduction, ignore_index):
    """-weight[y] * x[y], reduced, and the sum of the weights used."""
    dim, safe, w = _picked(self, target, weight, ignore_index)
    loss = -self.gather(dim, safe.unsqueeze(dim)).squeeze(dim) * w
    total = w.sum()
    if reduction == 1:
        return loss.sum() / total, total
    return (loss.sum(), total) if reduction == 2 else (loss, torch.zeros_like(total))


def _nll_of_grad(c, g):
    """Gradient of nll_loss_backward, which is linear in its first argument."""
    dim, safe, w = _picked(g, c.target, c.weight, c.ignore_index)
    if c.reduction == 1:
        w = (w / c.total_weight).masked_fill(c.target == c.ignore_index, 0)
    out = -g.gather(dim, safe.unsqueeze(dim)).squeeze(dim) * w
    return out.sum() if c.reduction else out


@op(
    "nll_loss_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, "
    "SymInt ignore_index, Tensor total_weight) -> Tensor",
    module="nn",
    kernel="nll_loss_backward",
    node=lambda a: "NllLoss2DBackwardBackward0" if a[1].dim() == 4 else "NllLossBackwardBackward0",
    grad={"grad_output": _nll_of_grad, "self": lambda c, g: torch.zeros_like(g)},
)
def nll_loss_backward(grad_output, self, target, weight, reduction, ignore_index, total_weight):
    """Gradient of nll_loss_forward."""
    dim, safe, w = _picked(self, target, weight, ignore_index)
    if reduction == 1:
        w = (w / total_weight).masked_fill(target == ignore_index, 0)  # not 0 / 0 where all are ignored
    return torch.zeros_like(self.detach()).scatter(dim, safe.unsqueeze(dim), (-w * grad_output).unsqueeze(dim))


def _nll_body(x, target, weight, reduction, ignore_index):
    return torch._C._nn.nll_loss_forward(x, target, weight, reduction, ignore_index)[0]


@op(
    "nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, SymInt ignore_index=-100) -> Tensor",
    module="nn",
    alias=("nll_loss2d",),
    kernel="nll_loss",
    out=True,
)
def nll_loss(self, target, weight=None, reduction=1, ignore_index=-100):
    """-weight[y] * x[y] for log-probabilities x of shape (N, C, ...) and classes y of shape (N, ...);
    the mean is weighted."""
    return _nll_body(self, target, weight, reduction, ignore_index)


@op(
    "nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, "
    "SymInt ignore_index=-100) -> Tensor",
    module="nn",
)
def nll_loss_nd(self, target, weight=None, reduction=1, ignore_index=-100):
    """nll_loss for any number of dims."""
    if self.dim() < 1:
        raise ValueError(f"Expected 1 or more dimensions (got {self.dim()})")
    if self.dim() != 1 and (target.dim() == 0 or self.size(0) != target.size(0)):
        batch = target.size(0) if target.dim() else 1
        raise ValueError(f"Expected input batch_size ({self.size(0)}) to match target batch_size ({batch}).")
    if self.dim() == 1 and target.dim() == 1 and target.size(0) != 1:
        raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {target.size(0)}")
    if self.dim() == 3 or self.dim() > 4:
        expected = [self.size(0), *self.shape[2:]]
        if list(target.shape) != expected:
            raise RuntimeError(f"Expected target size {expected}, got {list(target.shape)}")
    return torch._C._nn.nll_loss(self, target, weight, reduction, ignore_index)


def _smoothing(x, logp, target, weight, reduction, ignore_index, label_smoothing):
    dim = 1 if x.dim() > 1 else 0
    n = x.size(dim)
    if weight is not None:
        shape = [1] * x.dim()
        shape[dim] = n
        smooth = -(logp * weight.view(shape)).sum(dim)
    else:
        smooth = -logp.sum(dim)
    ignored = target == ignore_index
    smooth = smooth.masked_fill(ignored, 0)
    if reduction == 1:
        if weight is not None:
            smooth = smooth.sum() / weight.gather(0, target.masked_select(~ignored).flatten()).sum()
        else:
            smooth = smooth.sum() / (~ignored).sum()
    elif reduction == 2:
        smooth = smooth.sum()
    nll = torch._C._nn.nll_loss_nd(logp, target, weight, reduction, ignore_index)
    return (1 - label_smoothing) * nll + smooth * (label_smoothing / n)


def _plain(x, target, weight, reduction, ignore_index, label_smoothing):
    """Whether _cross_entropy's kernel takes these arguments: there is nothing to complain about, and nothing rare."""
    shape = tuple(x.shape)
    if len(shape) > 1:
        classes = shape[1]
    elif shape:
        classes = shape[0]
    else:
        classes = 0
    return (
        x.is_floating_point()
        and x.numel() > 0
        and target.dtype is torch.int64
        and not target.is_cpu
        and tuple(target.shape) == shape[:1] * (len(shape) > 1) + shape[2:]
        and (
            weight is None
            or weight.dim() == 1
            and weight.numel() == classes
            and weight.dtype is x.dtype
            and not weight.is_cpu
            and not weight.requires_grad
        )
        and reduction in (0, 1, 2)
        and -1 << 31 <= ignore_index < 1 << 31
        and 0 <= label_smoothing <= 1
    )


def _labels(x, target):
    """Where the class of every row is along `x`: (dim, row of class numbers shaped to broadcast over x)."""
    dim = 1 if x.dim() > 1 else 0
    classes = torch.arange(x.size(dim), device=x.device).view([-1 if d == dim else 1 for d in range(x.dim())])
    return dim, target.reshape([1 if d == dim else n for d, n in enumerate(x.shape)]), classes


@op(
    "_cross_entropy(Tensor self, Tensor target, Tensor? weight, int reduction, int ignore_index, "
    "float label_smoothing) -> (Tensor, Tensor, Tensor)",
    module="aten",
    variants="function",
    kernel="_cross_entropy",
    nondiff=(1, 2),
    node="NllLossBackward0",
    grad={
        "self": lambda c, g: torch.ops.functions._cross_entropy_backward(
            g[0], c.self, c.target, c.weight, c.result1, c.result2, c.reduction, c.ignore_index, c.label_smoothing
        )
    },
)
def _cross_entropy(self, target, weight, reduction, ignore_index, label_smoothing):
    """Cross entropy with class indices, for devices with one kernel for it;
    also the logs of the sums of exponentials of every row, and the sum of the weights of the classes."""
    dim = 1 if self.dim() > 1 else 0
    logp = torch.log_softmax(self, dim)
    loss = (
        _smoothing(self, logp, target, weight, reduction, ignore_index, label_smoothing)
        if label_smoothing > 0
        else torch._C._nn.nll_loss_nd(logp, target, weight, reduction, ignore_index)
    )
    return (
        loss,
        torch.logsumexp(self.detach(), dim).float(),
        _picked(self, target, weight, ignore_index)[2].sum().float(),
    )


@op(
    "_cross_entropy_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, Tensor lse, "
    "Tensor total, int reduction, int ignore_index, float label_smoothing) -> Tensor",
    module="aten",
    variants="function",
    kernel="_cross_entropy_backward",
)
def _cross_entropy_backward(grad_output, self, target, weight, lse, total, reduction, ignore_index, label_smoothing):
    """Gradient of _cross_entropy: weight[y] * (softmax(x) - (x is the class y)), with its share of the smoothing."""
    dim, labels, classes = _labels(self, target)
    p = torch.softmax(self, dim)
    w = torch.ones(self.size(dim), dtype=self.dtype, device=self.device) if weight is None else weight
    w = w.view(classes.shape)
    own = labels == classes
    d = (w * own).sum(dim, True) * (p - own.to(p.dtype))
    if label_smoothing > 0:
        d = (1 - label_smoothing) * d + label_smoothing / max(1, self.size(dim)) * (p * w.sum() - w)
    g = grad_output / total if reduction == 1 else grad_output
    g = g.reshape(labels.shape) if reduction == 0 else g
    return (d * torch.where(labels == ignore_index, 0, g)).to(self.dtype)


@op(
    "cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, "
    "SymInt ignore_index=-100, float label_smoothing=0.0) -> Tensor",
    module="nn",
)
def cross_entropy_loss(self, target, weight=None, reduction=1, ignore_index=-100, label_smoothing=0.0):
    """Cross entropy of logits with class indices, or with class probabilities of the same shape."""
    dim = 0 if self.dim() == 1 else 1
    if tuple(self.shape) == tuple(target.shape):
        if not target.is_floating_point():
            raise RuntimeError(
                f"Expected floating point type for target with class probabilities, got {target.dtype._scalar_type}"
            )
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target")
        n = self.size(dim)
        logp = torch.log_softmax(self, dim, dtype=self.dtype)
        if label_smoothing > 0:
            if label_smoothing > 1:
                raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
            target = target * (1 - label_smoothing) + label_smoothing / n
        loss = logp * target
        if weight is not None:
            if weight.dim() != 1 or weight.numel() != n:
                raise RuntimeError(
                    "cross_entropy: weight tensor should be defined either for all "
                    f"{n} classes or no classes but got weight tensor of shape: {list(weight.shape)}"
                )
            shape = [1] * self.dim()
            shape[dim] = n
            loss = loss * weight.view(shape)
        if reduction == 1:
            if self.numel():
                return -loss.sum() / (self.numel() / n if n else 0)
            return self.sum() * math.nan
        return -loss.sum() if reduction == 2 else -loss.sum(dim)
    if self.device.type == "webgpu" and _plain(self, target, weight, reduction, ignore_index, label_smoothing):
        return torch.ops.functions._cross_entropy(self, target, weight, reduction, ignore_index, label_smoothing)[0]
    logp = torch.log_softmax(self, dim, dtype=self.dtype)
    if label_smoothing > 0:
        if label_smoothing > 1:
            raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
        return _smoothing(self, logp, target, weight, reduction, ignore_index, label_smoothing)
    return torch._C._nn.nll_loss_nd(logp, target, weight, reduction, ignore_index)


# ---- margins ---------------------------------------------------------------------------------------------------------
@op(
    "margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=Mean) -> Tensor",
    variants="function",
    samples=lambda t: [(t(4), t(4), t(4).sign())],
)
def margin_ranking_loss(input1, input2, target, margin=0.0, reduction=1):
    """max(0, -y (x1 - x2) + margin)."""
    return _reduce((-target * (input1 - input2) + float(margin)).clamp_min(0), reduction)


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
    return _reduce(away + near, reduction)


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
    return _reduce(
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
    return _reduce((margin + near - far).clamp_min(0), reduction)


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
    _float_only(self, "multi_margin_loss_cpu")
    if self.is_cpu and self.itemsize == 2:
        raise not_implemented("multi_margin_loss_cpu_kernel", self.dtype)
    if self.dim() > 2 or (self.numel() == 0 and self.dim() == 2 and self.size(1) == 0):
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(self.shape)}"
        )
    x = self if self.dim() == 2 else self.reshape(1, -1)
    y = target.reshape(-1)
    if y.numel() != x.size(0) or target.dim() > 1:
        raise RuntimeError(f"inconsistent target size, expected {x.size(0)} but got {list(target.shape)}")
    n = x.size(1)
    if weight is not None and (weight.dim() != 1 or weight.numel() != n):
        raise RuntimeError(f"inconsistent weight size, expected {n} but got {list(weight.shape)}")
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
    return _reduce(loss, reduction)


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
    _float_only(self, "multilabel_margin_loss_forward_out_frame")
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
    return _reduce(loss, reduction)


# ---- connectionist temporal classification ---------------------------------------------------------------------------
def _ctc(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity):
    for name, lengths in (("input", input_lengths), ("target", target_lengths)):
        if isinstance(lengths, torch.Tensor) and (lengths.is_floating_point() or lengths.is_complex()):
            raise RuntimeError(f"{name}_lengths must be integral")
    _full_precision(log_probs, "ctc_loss_cpu")
    batched = log_probs.dim() == 3
    lp = log_probs if batched else log_probs.unsqueeze(1)
    T, N, C = lp.shape
    ins = [
        int(v)
        for v in (input_lengths.reshape(-1).tolist() if isinstance(input_lengths, torch.Tensor) else input_lengths)
    ]
    outs = [
        int(v)
        for v in (target_lengths.reshape(-1).tolist() if isinstance(target_lengths, torch.Tensor) else target_lengths)
    ]
    if not 0 <= blank < C:
        raise RuntimeError("blank must be in label range")
    if len(ins) != N:
        raise RuntimeError("input_lengths must be of size batch_size")
    if len(outs) != N:
        raise RuntimeError("target_lengths must be of size batch_size")
    for i, n in enumerate(ins):
        if n < 0 or n > T:
            raise RuntimeError(
                f"Expected input_lengths to have value at most {T}, but got value {n} (while checking arguments for "
                "ctc_loss_allocate_outputs)"
            )
    S = max(outs, default=0)
    labels = targets.long()
    if labels.dim() == 1 and (batched or labels.numel() != S):
        rows, at = [], 0
        for n in outs:
            rows.append(torch.nn.functional.pad(labels[at : at + n], (0, S - n), value=blank))
            at += n
        labels = torch.stack(rows) if rows else labels.reshape(0, 0)
    else:
        labels = labels.reshape(N, -1)[:, :S]
    neg = float("-inf")
    states = 2 * S + 1
    path = torch.full((N, states), blank, dtype=torch.long, device=lp.device)
    if S:
        path[:, 1::2] = labels
    skip = torch.zeros((N, states), dtype=torch.bool, device=lp.device)
    if S > 1:
        skip[:, 3::2] = labels[:, 1:] != labels[:, :-1]
    emit = lp.gather(2, path.unsqueeze(0).expand(T, N, states))
    start = torch.full((N, states), neg, dtype=lp.dtype, device=lp.device)
    first = torch.zeros((N, states), dtype=torch.bool, device=lp.device)
    first[:, 0] = True
    if S:
        first[:, 1] = torch.tensor(outs, device=lp.device) > 0
    ends = torch.tensor(outs, dtype=torch.long, device=lp.device) * 2
    lengths = torch.tensor(ins, dtype=torch.long, device=lp.device)
    wall = torch.full((N, 2), neg, dtype=lp.dtype, device=lp.device)
    alpha = torch.where(first, emit[0], start) if T else start
    steps = [alpha]
    for t in range(1, T):
        one = torch.cat([wall[:, :1], alpha[:, :-1]], 1)
        two = torch.cat([wall, alpha], 1)[:, :states]
        options = torch.stack([alpha, one, torch.where(skip, two, start)])
        alpha = _lse0(options) + emit[t]
        steps.append(alpha)
    every = torch.stack(steps)
    last = every.gather(0, (lengths - 1).clamp_min(0).view(1, N, 1).expand(1, N, states))[0]
    final = last.gather(1, ends.unsqueeze(1))
    before = torch.where((ends > 0).unsqueeze(1), last.gather(1, (ends - 1).clamp_min(0).unsqueeze(1)), neg)
    loss = -_lse0(torch.stack([final, before])).squeeze(1)
    empty = lengths == 0
    if empty.is_meta or bool(empty.any()):
        loss = torch.where(empty, torch.where(ends == 0, 0.0, float("inf")).to(loss.dtype), loss)
    # PyTorch's gradient takes the inputs for normalised: it adds exp(log_probs) to the posterior's part
    valid = torch.arange(T, device=lp.device).unsqueeze(1) < lengths
    mass = (lp.exp().sum(2) * valid).sum(0)
    loss = loss + (mass - mass.detach())
    if zero_infinity:
        loss = torch.where(loss == float("inf"), 0, loss)
    if reduction == 1:
        return (loss / torch.tensor(outs, dtype=loss.dtype, device=loss.device).clamp_min(1)).mean()
    if reduction == 2:
        return loss.sum()
    return loss if batched else loss.squeeze(0)


def _lse0(x):
    """logsumexp over dim 0 whose gradient is 0, not NaN, where everything is -inf."""
    top = x.detach().amax(0)
    dead = top == float("-inf")
    total = torch.where(dead, 1, (x - torch.where(dead, 0, top)).exp().sum(0))
    return torch.where(dead, float("-inf"), total.log() + torch.where(dead, 0, top))


@op(
    "ctc_loss.IntList(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0, "
    "int reduction=Mean, bool zero_infinity=False) -> Tensor",
    "ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0, "
    "int reduction=Mean, bool zero_infinity=False) -> Tensor",
    variants="function",
)
def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction=1, zero_infinity=False):
    """-log of the probability that log_probs (T, N, C), read with repeats merged and blanks dropped,
    spells the targets."""
    return _ctc(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity)
