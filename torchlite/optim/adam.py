"""Adam."""

import torchlite as torch
from .optimizer import (
    _PerParameter,
    _get_value,
    check_betas,
    check_fused,
    check_lr,
    check_min,
    count_step,
    decay,
    device_steps,
    new_step,
    zeros_like,
)

__all__ = ["Adam"]


class Adam(_PerParameter):
    """Adam: steps scaled by running averages of the gradient and its square.

    Args: params, lr (1e-3), betas (0.9, 0.999), eps (1e-8), weight_decay, amsgrad, maximize, decoupled_weight_decay;
    foreach, capturable, differentiable, fused.
    """

    _late = {
        "amsgrad": False,
        "maximize": False,
        "foreach": None,
        "capturable": False,
        "differentiable": False,
        "fused": None,
        "decoupled_weight_decay": False,
    }

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        amsgrad=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
        fused=None,
        decoupled_weight_decay=False,
    ):
        if isinstance(lr, torch.Tensor):
            if foreach and not capturable:
                raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        check_lr(lr)
        check_min(eps=eps)
        check_betas(betas)
        check_min(weight_decay=weight_decay)
        if isinstance(betas[0], torch.Tensor) != isinstance(betas[1], torch.Tensor):
            raise ValueError("betas must be either both floats or both Tensors")
        defaults = dict(
            lr=lr,
            betas=betas,
            eps=eps,
            weight_decay=weight_decay,
            amsgrad=amsgrad,
            maximize=maximize,
            foreach=foreach,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=decoupled_weight_decay,
        )
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)

    _shown_as = "Adam"

    def _init(self, state, p, group):
        state["step"] = new_step()
        state["exp_avg"] = zeros_like(p)
        state["exp_avg_sq"] = zeros_like(p)
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = zeros_like(p)

    def _step_group(self, group):
        kernel = _kernel()
        if kernel is None or group["differentiable"]:
            return super()._step_group(group)
        params, grads, avgs, sqs, maxes, steps = [], [], [], [], [], []
        amsgrad = group["amsgrad"]
        for p in group["params"]:
            grad = p.grad
            if grad is None:
                continue
            if grad._dispatches:
                self._check_dense(grad)
            state = self.state[p]
            if not state:
                self._init(state, p, group)
            params.append(p)
            grads.append(grad)
            avgs.append(state["exp_avg"])
            sqs.append(state["exp_avg_sq"])
            if amsgrad:
                maxes.append(state["max_exp_avg_sq"])
            steps.append(state["step"])
        if not params:
            return
        beta1, beta2 = group["betas"]
        try:
            numbers = (
                float(group["lr"]),
                float(beta1),
                float(beta2),
                float(group["weight_decay"]),
                group["eps"],
                amsgrad,
                group["maximize"],
                group["decoupled_weight_decay"],
            )
        except (TypeError, ValueError, OverflowError):  # no numbers: the loop says so in PyTorch's words
            return super()._step_group(group)
        if kernel(params, grads, avgs, sqs, maxes, steps, *numbers) is not NotImplemented:
            return
        device = device_steps(params)
        if device is None:
            super()._step_group(group)
            return
        for i, step in enumerate(steps):
            if not step.is_cpu:  # counted on the host: a count on the device would be read back at every step
                steps[i] = self.state[params[i]]["step"] = step.cpu()
        left = device.adam(params, grads, avgs, sqs, maxes, steps, *numbers)
        if left:
            super()._step_group({**group, "params": [params[i] for i in left]})

    def _update(self, p, grad, state, group):
        step = count_step(state)
        beta1, beta2 = (_get_value(b) for b in group["betas"])
        lr = _get_value(group["lr"])
        grad = decay(p, grad, group, lr)
        exp_avg, exp_avg_sq = state["exp_avg"], state["exp_avg_sq"]
        exp_avg.lerp_(grad, 1 - beta1)
        exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        step_size = lr / (1 - beta1**step)
        root = (1 - beta2**step) ** 0.5
        if group["amsgrad"]:
            biggest = state["max_exp_avg_sq"]
            torch.maximum(biggest, exp_avg_sq, out=biggest)
            exp_avg_sq = biggest
        denom = (exp_avg_sq.sqrt() / root).add_(group["eps"])
        p.addcdiv_(exp_avg, denom, value=-step_size)


def _kernel():
    # looked up once; None where the native core has no such kernel
    global _kernel
    table = getattr(torch._C, "kernels", None)
    k = table.get("_fused_adam_") if table is not None else None

    def _kernel():
        return k

    return k


from .optimizer import function_of

__getattr__ = function_of(__name__)
