"""Connectionist temporal classification."""

import torchlite as torch

from .. import _C
from ..autograd._node import as_leaf
from ._declare import op
from ._loss import check_full_precision


_ALLOCATING = "(while checking arguments for ctc_loss_allocate_outputs)"


def _lengths(name, given, n):
    """Lengths as a list, of a tensor or of numbers."""
    if isinstance(given, torch.Tensor) and (given.is_floating_point() or given.is_complex()):
        raise RuntimeError(f"{name}_lengths must be integral")
    values = [int(v) for v in (given.reshape(-1).tolist() if isinstance(given, torch.Tensor) else given)]
    if len(values) != n:
        raise RuntimeError(f"{name}_lengths must be of size batch_size")
    for v in values:
        if v < 0:
            raise RuntimeError(f"Expected {name}_lengths to have value at least 0, but got value {v} {_ALLOCATING}")
    return values


def _labels(targets, lengths):
    """Targets as rows (N, S), S the greatest length."""
    n, most = len(lengths), max(lengths, default=0)

    def refused(size, dim, least=""):
        return RuntimeError(
            f"Expected tensor to have size {least}{size} at dimension {dim}, but got size {targets.size(dim)} for "
            f"argument #2 'targets' {_ALLOCATING}"
        )

    if targets.dim() == 1:
        if targets.size(0) != sum(lengths):
            raise refused(sum(lengths), 0)
        parts = targets.long().split(lengths)
        return torch.stack([torch.nn.functional.pad(part, (0, most - part.numel())) for part in parts])
    if targets.dim() != 2:
        raise RuntimeError(
            f"Expected 1 to 2 dimensions, but got {targets.dim()}-dimensional tensor for argument #2 'targets' "
            f"{_ALLOCATING}"
        )
    if targets.size(0) != n:
        raise refused(n, 0)
    if targets.size(1) < most:
        raise refused(most, 1, "at least ")
    return targets.long()[:, :most]


def _ctc(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity):
    check_full_precision(log_probs, "ctc_loss_cpu")
    if not log_probs.numel():
        raise RuntimeError("log_probs tensor must not be empty")
    batched = log_probs.dim() == 3
    lp = log_probs if batched else log_probs.unsqueeze(1)
    if lp.dim() != 3:
        raise RuntimeError(
            f"Expected 3-dimensional tensor, but got {lp.dim()}-dimensional tensor for argument #1 'log_probs' "
            f"{_ALLOCATING}"
        )
    T, N, C = lp.shape
    if not 0 <= blank < C:
        raise RuntimeError("blank must be in label range")
    ins, outs = _lengths("input", input_lengths, N), _lengths("target", target_lengths, N)
    for n in ins:
        if n > T:
            raise RuntimeError(f"Expected input_lengths to have value at most {T}, but got value {n} {_ALLOCATING}")
    labels = _labels(targets, outs)
    S = labels.size(1)
    if min(outs) < S:  # what fills the shorter rows may be no class
        steps = torch.arange(S, device=labels.device)
        labels = labels.where(steps < torch.tensor(outs, device=labels.device).unsqueeze(1), blank)
    path = torch.full((N, 2 * S + 1), blank, dtype=torch.long, device=lp.device)
    if S:
        path[:, 1::2] = labels
    lengths, sizes = (torch.tensor(n, dtype=torch.long, device=lp.device) for n in (ins, outs))
    if lp.is_cpu and not (_C.func_level() or _C.forward_ad(None)):
        loss = _ctc_losses(lp.contiguous(), path, lengths, sizes, zero_infinity)[0]
    else:
        loss = _losses(lp, path, lengths, sizes, zero_infinity)
    if zero_infinity:
        loss = torch.where(loss == float("inf"), 0, loss)
    if reduction == 1:
        return (loss / sizes.to(loss.dtype).clamp_min(1)).mean()
    if reduction == 2:
        return loss.sum()
    return loss if batched else loss.squeeze(0)


def _lse0(x):
    """logsumexp over dim 0 whose gradient is 0, not NaN, where everything is -inf."""
    top = x.detach().amax(0)
    dead = top == float("-inf")
    total = torch.where(dead, 1, (x - torch.where(dead, 0, top)).exp().sum(0))
    return torch.where(dead, float("-inf"), total.log() + torch.where(dead, 0, top))


def _losses(lp, path, lengths, target_lengths, zero_infinity):
    """The losses (N) of log-probabilities (T, N, C) and paths of labels between blanks (N, 2 S + 1), from ops that have
    gradients."""
    T, N, _ = lp.shape
    states, ends = path.shape[1], target_lengths * 2
    emit = lp.gather(2, path.unsqueeze(0).expand(T, N, states))
    neg = float("-inf")
    skip = torch.zeros((N, states), dtype=torch.bool, device=lp.device)
    skip[:, 3::2] = path[:, 3::2] != path[:, 1:-2:2]
    start = torch.full((N, states), neg, dtype=lp.dtype, device=lp.device)
    first = torch.zeros((N, states), dtype=torch.bool, device=lp.device)
    first[:, 0] = True
    if states > 1:
        first[:, 1] = ends > 0
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
    mass = torch.where(valid, lp.exp().sum(2), 0).sum(0)
    loss = loss + (mass - mass.detach())
    if zero_infinity:
        return loss
    never = loss == float("inf")  # PyTorch's gradient is NaN: that of -log(0)
    return torch.where(never, -torch.where(never, mass * 0, 1).log(), loss)


def _gradient(c, g):
    form = c.path, c.input_lengths, c.target_lengths, c.zero_infinity
    if not torch.is_grad_enabled():
        return _ctc_gradient(c.log_probs, *form, g[0], c.result0, c.result1)
    x = c.log_probs if c.log_probs.requires_grad else as_leaf(c.log_probs.detach())
    return torch.autograd.grad(_losses(x, *form), x, g[0], create_graph=True)[0]


@op(
    "_ctc_gradient(Tensor log_probs, Tensor path, Tensor input_lengths, Tensor target_lengths, bool zero_infinity, "
    "Tensor grad, Tensor losses, Tensor log_alpha) -> Tensor",
    kernel="ctc_backward",
    module="_hidden",
    tags="own",
    differentiable=False,
)
def _ctc_gradient(log_probs, path, input_lengths, target_lengths, zero_infinity, grad, losses, log_alpha):
    """Gradient of _ctc_losses."""
    with torch.enable_grad():
        x = as_leaf(log_probs.detach())
        losses = _losses(x, path, input_lengths, target_lengths, zero_infinity)
    return torch.autograd.grad(losses, x, grad)[0]


@op(
    "_ctc_losses(Tensor log_probs, Tensor path, Tensor input_lengths, Tensor target_lengths, bool zero_infinity) -> "
    "(Tensor, Tensor)",
    kernel="ctc",
    module="_hidden",
    tags="own",
    nondiff=(1,),
    node="CtcLossBackward0",
    grad={"log_probs": _gradient},
)
def _ctc_losses(log_probs, path, input_lengths, target_lengths, zero_infinity):
    """The losses (N), and the forward sums (N, T, 2 S + 1) where the kernel made them."""
    return _losses(log_probs, path, input_lengths, target_lengths, zero_infinity), log_probs.new_empty(0)


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
