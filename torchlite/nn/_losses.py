"""Losses of torch.nn.functional: `reduction` by name, its deprecated spellings and PyTorch's checks, over the ops."""

import math

import torchlite as torch
from torchlite import Tensor
from torchlite._core.dispatch_modes import all_examples
from torchlite.nn import _reduction as _Reduction
from torchlite.nn._aten import aten as _op

_legacy_reduction = _Reduction.legacy_get_string
_enum = _Reduction.get_enum
_logsigmoid = _op["log_sigmoid"]


def _old(size_average, reduce, reduction):
    if size_average is not None or reduce is not None:
        return _legacy_reduction(size_average, reduce)
    return reduction


def _check_reduction(reduction):
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")


def _reduce(loss, reduction):
    _check_reduction(reduction)
    return loss if reduction == "none" else getattr(loss, reduction)()


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Cross entropy of logits (N, C, d...) with class indices (N, d...) or class probabilities (N, C, d...)."""
    if size_average is not None or reduce is not None:
        reduction = _legacy_reduction(size_average, reduce)
    return _cross_entropy(input, target, weight, _enum(reduction), ignore_index, label_smoothing)


_cross_entropy = _op["cross_entropy_loss"]


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options=None,
) -> Tensor:
    """`cross_entropy(linear(input, linear_weight, linear_bias), target)`, for weights of shape (C, d..., in)."""
    if input.dim() not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if linear_weight.dim() < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}")
    if input.shape[-1] != linear_weight.shape[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{input.shape[-1]} and {linear_weight.shape[-1]}, respectively"
        )
    if linear_bias is not None and linear_bias.shape != linear_weight.shape[:-1]:
        raise RuntimeError(
            f"expected linear_bias shape {tuple(linear_weight.shape[:-1])}, got {tuple(linear_bias.shape)}"
        )
    if linear_weight.dim() > 2:
        w = linear_weight.flatten(0, -2)
        b = None if linear_bias is None else linear_bias.flatten()
        logits = _op["linear"](input, w, b).unflatten(-1, tuple(linear_weight.shape[:-1]))
    else:
        logits = _op["linear"](input, linear_weight, linear_bias)
    if ignore_index is None:
        ignore_index = -100
    elif target.is_floating_point() and ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    return cross_entropy(
        logits, target, weight, ignore_index=ignore_index, reduction=reduction, label_smoothing=label_smoothing
    )


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Negative log likelihood of class indices; input holds log-probabilities (N, C, d...)."""
    return _op["nll_loss_nd"](input, target, weight, _enum(_old(size_average, reduce, reduction)), ignore_index)


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Negative log likelihood of a Poisson distribution."""
    reduction = _old(size_average, reduce, reduction)
    _check_reduction(reduction)
    return _op["poisson_nll_loss"](input, target, log_input, full, eps, _enum(reduction))


def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """0.5 * (log var + (input - target)^2 / var), with var clamped to at least eps."""
    if not isinstance(var, torch.Tensor):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * torch.ones_like(input)
    elif torch.any(all_examples(var < 0)):
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


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """Kullback-Leibler divergence of `target` from exp(`input`); "batchmean" divides by the batch size."""
    if size_average is not None or reduce is not None:
        code = _enum(_legacy_reduction(size_average, reduce))
    else:
        if reduction == "mean":
            import warnings

            warnings.warn(
                "reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' "
                "divides only by the batch size, and aligns with the KL div math definition.'mean' will be changed to "
                "behave the same as 'batchmean' in the next major release.",
                stacklevel=2,
            )
        code = _enum("sum" if reduction == "batchmean" else reduction)
    out = _op["kl_div"](input, target, code, log_target=log_target)
    if reduction == "batchmean" and input.dim() != 0:
        out = out / input.size(0)
    return out


def _warn_sizes(input, target):
    import warnings

    warnings.warn(
        f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). This will likely "
        "lead to incorrect results due to broadcasting. Please ensure they have the same size.",
        stacklevel=3,
    )


def _pair(name, doc):
    """A loss of input and target with an optional weight for each element."""
    run = _op[name]

    def loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
        if target.shape != input.shape:
            _warn_sizes(input, target)
        reduction = _old(size_average, reduce, reduction)
        code = _enum(reduction)
        if target.shape != input.shape:
            input, target = torch.broadcast_tensors(input, target)
        if weight is None:
            return run(input, target, code)
        return _weighted(run(input, target, 0), input, weight, reduction)

    loss.__name__ = loss.__qualname__ = name
    loss.__doc__ = doc
    return loss


def _weighted(loss, input, weight, reduction):
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    loss = loss * weight
    if reduction == "none":
        return loss
    return loss.sum() / weight.sum() if reduction == "mean" else loss.sum()


mse_loss = _pair("mse_loss", "(input - target)^2, reduced.")
l1_loss = _pair("l1_loss", "|input - target|, reduced.")


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Squared below `beta`, absolute above."""
    if target.shape != input.shape:
        _warn_sizes(input, target)
    code = _enum(_old(size_average, reduce, reduction))
    input, target = torch.broadcast_tensors(input, target)
    if beta == 0.0:
        return _op["l1_loss"](input, target, code)
    return _op["smooth_l1_loss"](input, target, code, beta)


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """Squared below `delta`, linear above."""
    if target.shape != input.shape:
        _warn_sizes(input, target)
    input, target = torch.broadcast_tensors(input, target)
    if weight is None:
        return _op["huber_loss"](input, target, _enum(reduction), delta)
    loss = _op["huber_loss"](input, target, 0, delta)
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    return _reduce(loss * weight, reduction)


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Binary cross entropy of probabilities."""
    code = _enum(_old(size_average, reduce, reduction))
    if target.shape != input.shape:
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is "
            "deprecated. Please ensure they have the same size."
        )
    if weight is not None:
        weight = weight.expand(torch.broadcast_shapes(target.size(), weight.size()))
    return _op["binary_cross_entropy"](input, target, weight, code)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Binary cross entropy of logits."""
    code = _enum(_old(size_average, reduce, reduction))
    if target.shape != input.shape:
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    return _op["binary_cross_entropy_with_logits"](input, target, weight, pos_weight, code)


def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    """input where target = 1, max(0, margin - input) where target = -1."""
    return _op["hinge_embedding_loss"](input, target, margin, _enum(_old(size_average, reduce, reduction)))


def cosine_embedding_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """1 - cos where target = 1, max(0, cos - margin) where target = -1."""
    return _op["cosine_embedding_loss"](input1, input2, target, margin, _enum(_old(size_average, reduce, reduction)))


def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """log(1 + exp(-target * input)), reduced."""
    return _op["soft_margin_loss"](input, target, _enum(_old(size_average, reduce, reduction)))


def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """Multi-class multi-label hinge loss."""
    return _op["multilabel_margin_loss"](input, target, _enum(_old(size_average, reduce, reduction)))


def triplet_margin_loss(
    anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, size_average=None, reduce=None, reduction="mean"
):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), reduced."""
    code = _enum(_old(size_average, reduce, reduction))
    return _op["triplet_margin_loss"](anchor, positive, negative, margin, p, eps, swap, code)


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, -target * (input1 - input2) + margin), reduced."""
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: "
            f"{input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    return _op["margin_ranking_loss"](input1, input2, target, margin, _enum(_old(size_average, reduce, reduction)))


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Multi-class hinge loss."""
    code = _enum(_old(size_average, reduce, reduction))
    if p != 1 and p != 2:
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    return _op["multi_margin_loss"](input, target, p, margin, weight, code)


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Binary cross entropy of logits averaged over the last dimension."""
    reduction = _old(size_average, reduce, reduction)
    loss = -(target * _logsigmoid(input) + (1 - target) * _logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    class_dim = input.dim() - 1
    return _reduce(loss.sum(dim=class_dim) / input.size(class_dim), reduction)


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function=None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """max(0, d(a, p) - d(a, n) + margin) with any distance function (default: pairwise_distance)."""
    _check_reduction(reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if distance_function is None:
        distance_function = _op["pairwise_distance"]
    if not (anchor.ndim == positive.ndim and anchor.ndim == negative.ndim):
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but "
            f"got: anchor {anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs"
        )
    d_pos = distance_function(anchor, positive)
    d_neg = distance_function(anchor, negative)
    if swap:
        d_neg = torch.minimum(d_neg, distance_function(positive, negative))
    return _reduce(torch.clamp_min(margin + d_pos - d_neg, 0), reduction)


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Connectionist temporal classification loss: log_probs (T, N, C) or (T, C)."""
    return torch.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, _enum(reduction), zero_infinity)
