"""Losses of probabilities: binary cross entropy, KL divergence, negative log likelihood, cross entropy."""

import math

import torchlite as torch
from .._core.dispatch_modes import all_examples
from ._declare import op
from ._loss import check_floating, class_shape, reduced, is_kernel_weight
from ._out import FOUND, Out, written_over


# ---- cross entropies -------------------------------------------------------------------------------------------------
def _bce_grad(c, g):
    least = 9.999999960041972e-13  # 1e-12 as a float32, in PyTorch's loops of float64 too
    out = (c.self - c.target) * g / ((1 - c.self) * c.self).clamp_min(least)
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
    check_floating(self, "binary_cross_entropy")
    if self.device.type == "cpu" and self.numel() and not bool(all_examples((self >= 0) & (self <= 1)).all()):
        raise RuntimeError("all elements of input should be between 0 and 1")
    for t in (target, weight):
        if t is not None and t.dtype != self.dtype:
            raise RuntimeError(f"Found dtype {t.dtype._scalar_type} but expected {self.dtype._scalar_type}")
    if self.device.type == "cpu" and self.numel() and not bool(all_examples((target >= 0) & (target <= 1)).all()):
        raise RuntimeError("all elements of target should be between 0 and 1")
    loss = (target - 1) * torch.log1p(-self).clamp_min(-100) - target * self.log().clamp_min(-100)
    return reduced(loss if weight is None else loss * weight, reduction)


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
        log_sigmoid = written_over(log_sigmoid, log_sigmoid * ((pos_weight - 1) * target + 1))
    loss = written_over(target, (1 - target) * self - log_sigmoid)
    if weight is not None:
        loss = written_over(loss, loss * weight)
    return reduced(loss, reduction)


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
    return reduced(loss, reduction)


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
    return reduced(loss, reduction)


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
    classes, labels = class_shape(x)
    return (
        x.is_floating_point()
        and x.numel() > 0
        and target.dtype is torch.int64
        and not target.is_cpu
        and tuple(target.shape) == labels
        and is_kernel_weight(weight, classes, x)
        and not (weight is not None and weight.requires_grad)
        and reduction in (0, 1, 2)
        and -1 << 31 <= ignore_index < 1 << 31
        and 0 <= label_smoothing <= 1
    )


def _labels(x, target):
    """(dim of the classes in x, the target and the numbers of all classes, shaped to broadcast over x)."""
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
