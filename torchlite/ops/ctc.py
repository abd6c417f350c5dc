"""Connectionist temporal classification."""

import torchlite as torch
from ._declare import op
from ._loss import check_full_precision


def _ctc(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity):
    for name, lengths in (("input", input_lengths), ("target", target_lengths)):
        if isinstance(lengths, torch.Tensor) and (lengths.is_floating_point() or lengths.is_complex()):
            raise RuntimeError(f"{name}_lengths must be integral")
    check_full_precision(log_probs, "ctc_loss_cpu")
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
    mass = torch.where(valid, lp.exp().sum(2), 0).sum(0)
    loss = loss + (mass - mass.detach())
    never = loss == float("inf")
    if zero_infinity:
        loss = torch.where(never, 0, loss)
    else:  # PyTorch's gradient is NaN: that of -log(0)
        loss = torch.where(never, -torch.where(never, mass * 0, 1).log(), loss)
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
