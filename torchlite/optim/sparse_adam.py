"""SparseAdam."""

import torchlite as torch

from .optimizer import _PerParameter, _get_value, check_betas, check_lr, check_min, zeros_like

__all__ = ["SparseAdam"]


class SparseAdam(_PerParameter):
    """Adam for sparse gradients: only the rows that a gradient has are moved, and their moments.

    Args: params (dense), lr (1e-3), betas (0.9, 0.999), eps (1e-8), maximize. A dense gradient is an error.
    """

    _state_step = False  # state["step"] is a number

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, maximize=False):
        check_lr(lr)
        if not lr:  # the only optimizer that refuses 0
            raise ValueError(f"Invalid learning rate: {lr}")
        check_min(eps=eps)
        check_betas(betas)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, maximize=maximize))
        sparse, complex_ones = [], []
        for number, group in enumerate(self.param_groups):
            for index, p in enumerate(group["params"]):
                if p.layout is not torch.strided:
                    sparse.append([number, index])
                if p.is_complex():
                    complex_ones.append([number, index])
        if sparse:
            raise ValueError("Sparse params at indices %s: SparseAdam requires dense parameter tensors" % (sparse,))
        if complex_ones:
            raise ValueError(
                "Complex params at indices %s: SparseAdam does not support complex parameters" % (complex_ones,)
            )

    def _step_group(self, group):
        for p in group["params"]:
            if p.grad is not None and not p.grad.is_sparse:
                raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        super()._step_group(group)

    def _check_dense(self, grad):
        """Sparse gradients are what this is for."""

    def _init(self, state, p, group):
        state["step"] = 0
        state["exp_avg"] = zeros_like(p)
        state["exp_avg_sq"] = zeros_like(p)

    def _update(self, p, grad, state, group):
        state["step"] += 1
        step, (beta1, beta2) = state["step"], group["betas"]
        grad = grad.coalesce()
        values = grad._values()
        if not values.numel():
            return

        def sparse(rows):
            return torch.sparse_coo_tensor(grad._indices(), rows, grad.size(), is_coalesced=True)

        old = state["exp_avg"].sparse_mask(grad)._values()
        old_square = state["exp_avg_sq"].sparse_mask(grad)._values()
        change = values.sub(old).mul_(1 - beta1)
        change_square = values.pow(2).sub_(old_square).mul_(1 - beta2)
        state["exp_avg"].add_(sparse(change))
        state["exp_avg_sq"].add_(sparse(change_square))
        root = change_square.add_(old_square).sqrt_().add_(group["eps"])
        size = _get_value(group["lr"]) * (1 - beta2**step) ** 0.5 / (1 - beta1**step)
        p.add_(sparse(-size * change.add_(old).div_(root)))
