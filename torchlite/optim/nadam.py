"""NAdam."""

import torchlite as torch
from .optimizer import (
    _PerParameter,
    _get_scalar_dtype,
    _get_value,
    check_betas,
    check_lr,
    check_min,
    count_step,
    decay,
    new_step,
    zeros_like,
)

__all__ = ["NAdam"]


class NAdam(_PerParameter):
    """Adam with Nesterov momentum.

    Args: params, lr (2e-3), betas (0.9, 0.999), eps (1e-8), weight_decay, momentum_decay (4e-3),
    decoupled_weight_decay; foreach, maximize, capturable, differentiable.
    """

    _late = {
        "maximize": False,
        "foreach": None,
        "capturable": False,
        "differentiable": False,
        "decoupled_weight_decay": False,
    }

    def __init__(
        self,
        params,
        lr=2e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        momentum_decay=4e-3,
        decoupled_weight_decay=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
    ):
        check_lr(lr)
        check_min(eps=eps)
        check_betas(betas)
        check_min(weight_decay=weight_decay, momentum_decay=momentum_decay)
        super().__init__(
            params,
            dict(
                lr=lr,
                betas=betas,
                eps=eps,
                weight_decay=weight_decay,
                momentum_decay=momentum_decay,
                decoupled_weight_decay=decoupled_weight_decay,
                maximize=maximize,
                foreach=foreach,
                capturable=capturable,
                differentiable=differentiable,
            ),
        )

    def _init(self, state, p, group):
        state["step"] = new_step()
        state["mu_product"] = torch.ones((), dtype=_get_scalar_dtype())
        state["exp_avg"] = zeros_like(p)
        state["exp_avg_sq"] = zeros_like(p)

    def _update(self, p, grad, state, group):
        step = count_step(state)
        beta1, beta2 = group["betas"]
        lr = _get_value(group["lr"])
        grad = decay(p, grad, group, lr)
        mu = beta1 * (1.0 - 0.5 * (0.96 ** (step * group["momentum_decay"])))
        mu_next = beta1 * (1.0 - 0.5 * (0.96 ** ((step + 1) * group["momentum_decay"])))
        state["mu_product"] *= mu
        product = _get_value(state["mu_product"])
        exp_avg, exp_avg_sq = state["exp_avg"], state["exp_avg_sq"]
        exp_avg.lerp_(grad, 1 - beta1)
        exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        denom = exp_avg_sq.div(1 - beta2**step).sqrt()
        denom = denom.add(group["eps"]) if group["differentiable"] else denom.add_(group["eps"])
        p.addcdiv_(grad, denom, value=-lr * (1.0 - mu) / (1.0 - product))
        p.addcdiv_(exp_avg, denom, value=(-lr * mu_next) / (1.0 - product * mu_next))


from .optimizer import function_of

__getattr__ = function_of(__name__)
