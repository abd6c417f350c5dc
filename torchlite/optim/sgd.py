"""Stochastic gradient descent."""

import torchlite as torch
from .optimizer import _PerParameter, _get_value, check_fused, check_lr, check_min, device_steps

__all__ = ["SGD"]


class SGD(_PerParameter):
    """Stochastic gradient descent with optional momentum, Nesterov momentum and weight decay.

    Args: params, lr (1e-3), momentum, dampening, weight_decay, nesterov, maximize; foreach, differentiable, fused.
    """

    _late = {"nesterov": False, "maximize": False, "foreach": None, "differentiable": False, "fused": False}
    _state_step = False
    _foreach_differentiable = True

    def __init__(
        self,
        params,
        lr=1e-3,
        momentum=0,
        dampening=0,
        weight_decay=0,
        nesterov=False,
        *,
        maximize=False,
        foreach=None,
        differentiable=False,
        fused=None,
    ):
        check_lr(lr)
        check_min(momentum=momentum, weight_decay=weight_decay)
        defaults = dict(
            lr=lr,
            momentum=momentum,
            dampening=dampening,
            weight_decay=weight_decay,
            nesterov=nesterov,
            maximize=maximize,
            foreach=foreach,
            differentiable=differentiable,
            fused=fused,
        )
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)

    def _step_group(self, group):
        params, grads, bufs = [], [], []
        momentum = group["momentum"]
        for p in group["params"]:
            grad = p.grad
            if grad is not None:
                params.append(p)
                grads.append(grad)
                if momentum != 0:
                    bufs.append(self.state[p].get("momentum_buffer"))
        if not params:
            return
        lr, wd, dampening = _get_value(group["lr"]), group["weight_decay"], group["dampening"]
        kernel = _kernel()
        if any(g._dispatches for g in grads):  # sparse ones: the loop adds them
            kernel = None
        if kernel is not None and not group["differentiable"] and None not in bufs:
            done = kernel(params, grads, bufs, wd, momentum, lr, dampening, group["nesterov"], group["maximize"])
            if done is not NotImplemented:
                return
        left = range(len(params))
        if not group["differentiable"] and not (isinstance(group["lr"], torch.Tensor) and group["lr"].requires_grad):
            device = device_steps(params)
            if device is not None:
                left = device.sgd(
                    params,
                    grads,
                    bufs,
                    self.state,
                    float(wd),
                    float(momentum),
                    float(lr),
                    float(dampening),
                    group["nesterov"],
                    group["maximize"],
                )
        for i in left:
            p = params[i]
            self._update(p, -grads[i] if group["maximize"] else grads[i], self.state[p] if momentum != 0 else {}, group)

    def _make_step(self, p, grad, state, group):
        self._update(p, -grad if group["maximize"] else grad, state, group)

    def _update(self, p, grad, state, group):
        lr = group["lr"] if group["differentiable"] else _get_value(group["lr"])
        if group["weight_decay"] != 0:
            grad = grad.add(p, alpha=_get_value(group["weight_decay"]))
        momentum = group["momentum"]
        if momentum != 0:
            buf = state.get("momentum_buffer")
            if buf is None:
                buf = state["momentum_buffer"] = torch.clone(grad).detach()
            else:
                buf.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
            grad = grad.add(buf, alpha=momentum) if group["nesterov"] else buf
        if isinstance(lr, torch.Tensor) and lr.requires_grad:
            p.addcmul_(grad, lr, value=-1)
        else:
            p.add_(grad, alpha=-_get_value(lr))


def _kernel():
    # looked up once; None where the native core has no such kernel
    global _kernel
    table = getattr(torch._C, "kernels", None)
    k = table.get("_fused_sgd_") if table is not None else None

    def _kernel():
        return k

    return k


from .optimizer import function_of

__getattr__ = function_of(__name__)
