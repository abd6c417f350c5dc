"""Averaged stochastic gradient descent."""

import torchlite as torch
from .optimizer import _PerParameter, _get_scalar_dtype, _get_value, check_lr, check_min, count_step, zeros_like

__all__ = ["ASGD"]


class ASGD(_PerParameter):
    """Averaged SGD; the average is state["ax"].

    Args: params, lr (1e-2), lambd (1e-4), alpha (0.75), t0 (1e6), weight_decay; foreach, maximize, differentiable,
    capturable.
    """

    _late = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}

    def __init__(
        self,
        params,
        lr=1e-2,
        lambd=1e-4,
        alpha=0.75,
        t0=1e6,
        weight_decay=0,
        foreach=None,
        maximize=False,
        differentiable=False,
        capturable=False,
    ):
        check_lr(lr)
        check_min(weight_decay=weight_decay)
        super().__init__(
            params,
            dict(
                lr=lr,
                lambd=lambd,
                alpha=alpha,
                t0=t0,
                weight_decay=weight_decay,
                foreach=foreach,
                maximize=maximize,
                differentiable=differentiable,
                capturable=capturable,
            ),
        )

    def _init(self, state, p, group):
        dtype = _get_scalar_dtype()
        state["step"] = torch.zeros((), dtype=dtype)
        state["eta"] = torch.tensor(float(group["lr"]), dtype=dtype)
        state["mu"] = torch.ones((), dtype=dtype)
        state["ax"] = zeros_like(p)

    def _update(self, p, grad, state, group):
        step = count_step(state)
        eta, mu, ax = state["eta"].item(), state["mu"].item(), state["ax"]
        lr, lambd = _get_value(group["lr"]), group["lambd"]
        if group["weight_decay"] != 0:
            grad = grad.add(p, alpha=group["weight_decay"])
        p.mul_(1 - lambd * eta)
        p.add_(grad, alpha=-eta)
        if mu != 1:
            ax.add_(p.sub(ax).mul_(mu))
        else:
            ax.copy_(p)
        # by way of the default dtype, as in PyTorch: loaded states may have another one
        state["eta"].copy_(torch.as_tensor(lr / ((1 + lambd * lr * step) ** group["alpha"])))
        state["mu"].copy_(torch.as_tensor(1 / max(1, step - group["t0"])))


from .optimizer import function_of

__getattr__ = function_of(__name__)
