"""The argument logic of torch.nn.functional's losses: words for reductions, checks, per-element weights."""
import torchlite as torch
from . import _reduction as _Reduction

_legacy = _Reduction.legacy_get_string


def _enum(reduction, size_average=None, reduce=None):
    if size_average is not None or reduce is not None:
        return _Reduction.legacy_get_enum(size_average, reduce)
    return _Reduction.get_enum(reduction)


def _matched(name, input, target):
    """input and target broadcast, with a warning when their sizes differ."""
    if target.size() != input.size():
        import warnings
        warnings.warn(f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). This will likely lead "
                      "to incorrect results due to broadcasting. Please ensure they have the same size.", stacklevel=3)
    return torch.broadcast_tensors(input, target)


def _weighted(loss, weight, reduction, input):
    """A loss with per-element weights; its mean divides by the sum of the weights."""
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    loss = loss * weight
    if reduction == "none":
        return loss
    if reduction == "sum":
        return loss.sum()
    if reduction == "mean":
        return loss.sum() / weight.sum()
    raise ValueError(f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'.")


def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    """Negative log likelihood of classes `target` (N, d...) given log-probabilities `input` (N, C, d...)."""
    if size_average is not None or reduce is not None:
        reduction = _legacy(size_average, reduce)
    return torch._C._nn.nll_loss_nd(input, target, weight, _enum(reduction), ignore_index)


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """The mean (or sum, or each) of (input - target)^2."""
    if size_average is not None or reduce is not None:
        reduction = _legacy(size_average, reduce)
    a, b = _matched("mse_loss", input, target)
    if weight is not None:
        return _weighted(torch._C._nn.mse_loss(a, b, 0), weight, reduction, input)
    return torch._C._nn.mse_loss(a, b, _enum(reduction))


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """The mean (or sum, or each) of |input - target|."""
    if size_average is not None or reduce is not None:
        reduction = _legacy(size_average, reduce)
    a, b = _matched("l1_loss", input, target)
    if weight is not None:
        return _weighted(torch._C._nn.l1_loss(a, b, 0), weight, reduction, input)
    return torch._C._nn.l1_loss(a, b, _enum(reduction))


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """Squared where |input - target| < beta, absolute beyond."""
    if size_average is not None or reduce is not None:
        reduction = _legacy(size_average, reduce)
    a, b = _matched("smooth_l1_loss", input, target)
    if beta == 0.0:
        return torch._C._nn.l1_loss(a, b, _enum(reduction))
    return torch._C._nn.smooth_l1_loss(a, b, _enum(reduction), beta)


def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """Squared where |input - target| < delta, delta times the distance beyond."""
    a, b = _matched("huber_loss", input, target)
    if weight is not None:
        return _weighted(torch._C._nn.huber_loss(a, b, 0, delta), weight, reduction, input)
    return torch._C._nn.huber_loss(a, b, _enum(reduction), delta)


def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """Binary cross entropy of probabilities `input`."""
    code = _enum(reduction, size_average, reduce)
    if target.size() != input.size():
        raise ValueError(f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is deprecated. "
                         "Please ensure they have the same size.")
    if weight is not None:
        weight = weight.expand(torch.broadcast_shapes(weight.size(), target.size()))
    return torch._C._nn.binary_cross_entropy(input, target, weight, code)


def binary_cross_entropy_with_logits(input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None):
    """Binary cross entropy of sigmoid(input)."""
    code = _enum(reduction, size_average, reduce)
    if not target.size() == input.size():
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    return torch.binary_cross_entropy_with_logits(input, target, weight, pos_weight, code)


def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """Kullback-Leibler divergence; `input` holds log-probabilities. "batchmean" divides the sum by the batch size."""
    if size_average is not None or reduce is not None:
        code = _Reduction.legacy_get_enum(size_average, reduce)
    else:
        if reduction == "mean":
            import warnings
            warnings.warn("reduction: 'mean' divides the total loss by both the batch size and the support size."
                          "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
                          "'mean' will be changed to behave the same as 'batchmean' in the next major release.", stacklevel=2)
        code = _enum("sum" if reduction == "batchmean" else reduction)
    out = torch.kl_div(input, target, code, log_target=log_target)
    if reduction == "batchmean" and input.dim() != 0:
        out = out / input.size()[0]
    return out


def poisson_nll_loss(input, target, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"):
    """Negative log likelihood of a Poisson distribution with rate exp(input), or `input` unless `log_input`."""
    if size_average is not None or reduce is not None:
        reduction = _legacy(size_average, reduce)
    if reduction not in ("none", "mean", "sum"):
        torch.poisson_nll_loss(input, target, log_input, full, eps, 1)
        raise ValueError(reduction + " is not a valid value for reduction")
    return torch.poisson_nll_loss(input, target, log_input, full, eps, _enum(reduction))


def cosine_embedding_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """1 - cos where target is 1, max(0, cos - margin) where it is -1."""
    return torch.cosine_embedding_loss(input1, input2, target, margin, _enum(reduction, size_average, reduce))


def margin_ranking_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """max(0, -target (input1 - input2) + margin)."""
    code = _enum(reduction, size_average, reduce)
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError("margin_ranking_loss : All input tensors should have same dimension but got sizes: "
                           f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} ")
    return torch.margin_ranking_loss(input1, input2, target, margin, code)


def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    """input where target is 1, max(0, margin - input) where it is -1."""
    return torch.hinge_embedding_loss(input, target, margin, _enum(reduction, size_average, reduce))


def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, size_average=None, reduce=None,
                        reduction="mean"):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin)."""
    code = _enum(reduction, size_average, reduce)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    return torch.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, code)


def multi_margin_loss(input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"):
    """Hinge loss over all wrong classes."""
    code = _enum(reduction, size_average, reduce)
    if p != 1 and p != 2:
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    return torch._C._nn.multi_margin_loss(input, target, p, margin, weight, code)


def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """Hinge loss between labels and all other classes; `target` rows hold label indices, closed by -1."""
    return torch._C._nn.multilabel_margin_loss(input, target, _enum(reduction, size_average, reduce))


def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """log(1 + exp(-target * input))."""
    return torch._C._nn.soft_margin_loss(input, target, _enum(reduction, size_average, reduce))


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    """Connectionist temporal classification over log_probs (T, N, C)."""
    return torch.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, _enum(reduction), zero_infinity)
