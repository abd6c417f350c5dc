"""Rprop."""

import torchlite as torch
from .optimizer import _PerParameter, _get_value, check_lr, new_step, zeros_like

__all__ = ["Rprop"]


class Rprop(_PerParameter):
    """Resilient propagation: steps from the signs of the gradient.

    Args: params, lr (1e-2), etas (0.5, 1.2), step_sizes (1e-6, 50); capturable, foreach, maximize, differentiable.
    """

    _late = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}

    def __init__(
        self,
        params,
        lr=1e-2,
        etas=(0.5, 1.2),
        step_sizes=(1e-6, 50),
        *,
        capturable=False,
        foreach=None,
        maximize=False,
        differentiable=False,
    ):
        check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(
            params,
            dict(
                lr=lr,
                etas=etas,
                step_sizes=step_sizes,
                foreach=foreach,
                maximize=maximize,
                differentiable=differentiable,
                capturable=capturable,
            ),
        )

    def _init(self, state, p, group):
        state["step"] = new_step()
        state["prev"] = zeros_like(p)
        lr = _get_value(group["lr"])
        state["step_size"] = torch.full_like(p.grad, complex(lr, lr) if p.is_complex() else lr)

    def _update(self, p, grad, state, group):
        state["step"] += 1
        minus, plus = group["etas"]
        low, high = group["step_sizes"]
        prev, step_size = state["prev"], state["step_size"]
        sign = grad.mul(prev.clone() if group["differentiable"] else prev).sign()
        one = sign.new_ones(())  # of sign's dtype: numbers alone would be float32
        factor = torch.where(sign > 0, one * plus, torch.where(sign < 0, one * minus, one))
        step_size.mul_(factor).clamp_(low, high)
        # where the sign turned, stand still this time
        grad = torch.where(sign < 0, torch.zeros_like(grad), grad)
        p.addcmul_(grad.sign(), step_size, value=-1)
        prev.copy_(grad)


from .optimizer import function_of

__getattr__ = function_of(__name__)
