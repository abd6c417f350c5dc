"""Adagrad."""

import torchlite as torch
from .optimizer import _PerParameter, _get_value, check_fused, check_lr, check_min, count_step, new_step

__all__ = ["Adagrad"]


class Adagrad(_PerParameter):
    """Steps divided by the root of the sum of squared gradients.

    Args: params, lr (1e-2), lr_decay, weight_decay, initial_accumulator_value, eps (1e-10); foreach, maximize,
    differentiable, fused.
    """

    _late = {"foreach": None, "maximize": False, "differentiable": False, "fused": None}

    def __init__(
        self,
        params,
        lr=1e-2,
        lr_decay=0,
        weight_decay=0,
        initial_accumulator_value=0,
        eps=1e-10,
        foreach=None,
        *,
        maximize=False,
        differentiable=False,
        fused=None,
    ):
        check_lr(lr)
        check_min(
            lr_decay=lr_decay, weight_decay=weight_decay, initial_accumulator_value=initial_accumulator_value, eps=eps
        )
        super().__init__(
            params,
            dict(
                lr=lr,
                lr_decay=lr_decay,
                eps=eps,
                weight_decay=weight_decay,
                initial_accumulator_value=initial_accumulator_value,
                foreach=foreach,
                maximize=maximize,
                differentiable=differentiable,
                fused=fused,
            ),
        )
        check_fused(fused, foreach, differentiable)
        for group in self.param_groups:
            for p in group["params"]:
                self._init(self.state[p], p, group)

    def _init(self, state, p, group):
        value = group["initial_accumulator_value"]
        state["step"] = new_step()
        state["sum"] = torch.full_like(
            p, complex(value, value) if p.is_complex() else value, memory_format=torch.preserve_format
        )
        if state["sum"].requires_grad:
            state["sum"] = state["sum"].detach()

    def share_memory(self):
        """Kept for compatibility: there is one process."""

    def _update(self, p, grad, state, group):
        step = count_step(state)
        if group["weight_decay"] != 0:
            if grad._dispatches and grad.is_sparse:
                raise RuntimeError("weight_decay option is not compatible with sparse gradients")
            grad = grad.add(p, alpha=group["weight_decay"])
        if grad._dispatches and grad.is_sparse:
            return self._update_rows(p, grad.coalesce(), state, group, step)
        clr = _get_value(group["lr"]) / (1 + (step - 1) * group["lr_decay"])
        state["sum"].addcmul_(grad, grad, value=1)
        std = state["sum"].sqrt()
        std = std + group["eps"] if group["differentiable"] else std.add_(group["eps"])
        p.addcdiv_(grad, std, value=-clr)

    def _check_dense(self, grad):
        """Sparse gradients change the rows that they have."""

    def _update_rows(self, p, grad, state, group, step):
        clr = _get_value(group["lr"]) / (1 + (step - 1) * group["lr_decay"])
        rows, size = grad._indices(), grad.size()
        values = grad._values()
        state["sum"].add_(torch.sparse_coo_tensor(rows, values.pow(2), size))
        std = state["sum"].sparse_mask(grad)._values().sqrt().add_(group["eps"])
        p.add_(torch.sparse_coo_tensor(rows, values / std, size), alpha=-clr)


from .optimizer import function_of

__getattr__ = function_of(__name__)
