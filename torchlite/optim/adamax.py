"""Adamax."""

import torchlite as torch
from .optimizer import _PerParameter, _get_value, check_betas, check_lr, check_min, count_step, new_step, zeros_like

__all__ = ["Adamax"]


class Adamax(_PerParameter):
    """Adam with the infinity norm.

    Args: params, lr (2e-3), betas (0.9, 0.999), eps (1e-8), weight_decay;
    foreach, maximize, differentiable, capturable.
    """

    _late = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}

    def __init__(
        self,
        params,
        lr=2e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        foreach=None,
        *,
        maximize=False,
        differentiable=False,
        capturable=False,
    ):
        check_lr(lr)
        check_min(eps=eps)
        check_betas(betas)
        check_min(weight_decay=weight_decay)
        super().__init__(
            params,
            dict(
                lr=lr,
                betas=betas,
                eps=eps,
                weight_decay=weight_decay,
                foreach=foreach,
                maximize=maximize,
                differentiable=differentiable,
                capturable=capturable,
            ),
        )

    def _init(self, state, p, group):
        state["step"] = new_step()
        state["exp_avg"] = zeros_like(p)
        state["exp_inf"] = zeros_like(p)

    def _update(self, p, grad, state, group):
        step = count_step(state)
        beta1, beta2 = group["betas"]
        if group["weight_decay"] != 0:
            grad = grad.add(p, alpha=group["weight_decay"])
        exp_avg, exp_inf = state["exp_avg"], state["exp_inf"]
        exp_avg.lerp_(grad, 1 - beta1)
        if group["differentiable"]:
            exp_inf.copy_(torch.maximum(exp_inf.mul(beta2), grad.abs().add(group["eps"])))
        else:
            torch.maximum(exp_inf.mul_(beta2), grad.abs().add_(group["eps"]), out=exp_inf)
        p.addcdiv_(exp_avg, exp_inf, value=-_get_value(group["lr"]) / (1 - beta1**step))


from .optimizer import function_of

__getattr__ = function_of(__name__)
