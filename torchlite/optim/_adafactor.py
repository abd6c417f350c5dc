"""Adafactor."""

import torchlite as torch
from .optimizer import _PerParameter, _get_value, check_lr_size, count_step, new_step

__all__ = ["Adafactor"]


class Adafactor(_PerParameter):
    """Adaptive steps with a factored second moment for matrices.

    Args: params, lr (1e-2), beta2_decay (-0.8), eps (None, 1e-3), d (1.0), weight_decay; foreach, maximize.
    """

    __module__ = "torchlite.optim"

    _late = {"foreach": None}

    def __init__(
        self,
        params,
        lr=1e-2,
        beta2_decay=-0.8,
        eps=(None, 1e-3),
        d=1.0,
        weight_decay=0.0,
        *,
        foreach=None,
        maximize=False,
    ):
        check_lr_size(lr)
        for bad, text, value in (
            (not 0.0 <= lr, "Learning rate should be >= 0", lr),
            (not 0.0 >= beta2_decay, "beta2_decay should be <= 0", beta2_decay),
            (eps[0] is not None and not 0.0 <= eps[0], "epsilon1 should be >= 0", eps[0]),
            (not 0.0 <= eps[1], "epsilon2 should be >= 0", eps[1]),
            (not 1.0 <= d, "Clipping threshold d should be >= 1", d),
            (not 0.0 <= weight_decay, "weight_decay should be >= 0", weight_decay),
        ):
            if bad:
                raise ValueError(f"{text} but is: {value}")
        super().__init__(
            params,
            dict(
                lr=lr,
                beta2_decay=beta2_decay,
                eps=eps,
                d=d,
                weight_decay=weight_decay,
                foreach=foreach,
                maximize=maximize,
            ),
        )

    def _init(self, state, p, group):
        state["step"] = new_step()
        grad = p.grad
        if grad.dim() > 1:
            rows, cols = list(grad.shape), list(grad.shape)
            rows[-1] = 1
            cols[-2] = 1
            state["row_var"] = grad.new_zeros(rows)
            state["col_var"] = grad.new_zeros(cols)
        else:
            state["variance"] = torch.zeros_like(grad, memory_format=torch.preserve_format)

    def _update(self, p, grad, state, group):
        step = count_step(state)
        lr = _get_value(group["lr"])
        eps1, eps2 = group["eps"]
        if eps1 is None:
            eps1 = torch.finfo(p.dtype).eps
        weight = step ** group["beta2_decay"]
        rho = min(lr, 1 / (step**0.5))
        alpha = _at_least(eps2, p.norm(2) / (p.numel() ** 0.5)) * rho
        if group["weight_decay"] != 0:
            p.mul_(1 - lr * group["weight_decay"])
        if grad.dim() > 1:
            row_var, col_var = state["row_var"], state["col_var"]
            row_var.lerp_(torch.norm(grad, dim=-1, keepdim=True).square_().div_(grad.size(-1)), weight)
            col_var.lerp_(torch.norm(grad, dim=-2, keepdim=True).square_().div_(grad.size(-2)), weight)
            var = row_var @ col_var
            var.div_(row_var.mean(dim=-2, keepdim=True).clamp_(min=eps1))
        else:
            state["variance"].lerp_(grad * grad, weight)
            var = state["variance"].clone()
        update = var.clamp_(min=eps1 * eps1).rsqrt_().mul_(grad)
        denom = _at_least(1.0, update.norm(2) / ((update.numel() ** 0.5) * group["d"]))
        if p.is_cpu:
            p.add_(update, alpha=-alpha / denom)
        else:
            p.sub_(update * (alpha / denom))


def _at_least(low, x):
    """max(low, x): a number, or a tensor where a number would have to wait for a device."""
    return max(low, x.item()) if x.is_cpu else x.clamp_min(low)
