"""RAdam."""

from .optimizer import (
    _PerParameter,
    _get_value,
    check_betas,
    check_lr,
    check_min,
    count_step,
    decay,
    new_step,
    zeros_like,
)

__all__ = ["RAdam"]


class RAdam(_PerParameter):
    """Adam whose adaptive step is rectified while its variance estimate is poor.

    Args: params, lr (1e-3), betas (0.9, 0.999), eps (1e-8), weight_decay, decoupled_weight_decay; foreach, maximize,
    capturable, differentiable.
    """

    _late = {
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "decoupled_weight_decay": False,
        "capturable": False,
    }

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
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
        check_min(weight_decay=weight_decay)
        super().__init__(
            params,
            dict(
                lr=lr,
                betas=betas,
                eps=eps,
                weight_decay=weight_decay,
                maximize=maximize,
                foreach=foreach,
                capturable=capturable,
                decoupled_weight_decay=decoupled_weight_decay,
                differentiable=differentiable,
            ),
        )

    def _init(self, state, p, group):
        state["step"] = new_step()
        state["exp_avg"] = zeros_like(p)
        state["exp_avg_sq"] = zeros_like(p)

    def _update(self, p, grad, state, group):
        step = count_step(state)
        beta1, beta2 = group["betas"]
        lr = _get_value(group["lr"])
        grad = decay(p, grad, group, lr)
        exp_avg, exp_avg_sq = state["exp_avg"], state["exp_avg_sq"]
        exp_avg.lerp_(grad, 1 - beta1)
        exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        correction2 = 1 - beta2**step
        update = exp_avg / (1 - beta1**step)
        rho_inf = 2 / (1 - beta2) - 1
        rho = rho_inf - 2 * step * (beta2**step) / correction2
        if rho > 5.0:
            rect = ((rho - 4) * (rho - 2) * rho_inf / ((rho_inf - 4) * (rho_inf - 2) * rho)) ** 0.5
            root = exp_avg_sq.sqrt()
            root = root.add(group["eps"]) if group["differentiable"] else root.add_(group["eps"])
            p.add_(update * lr * (correction2**0.5 / root) * rect, alpha=-1.0)
        else:
            p.add_(update * lr, alpha=-1.0)


from .optimizer import function_of

__getattr__ = function_of(__name__)
