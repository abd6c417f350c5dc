"""SparseAdam."""

from .optimizer import _PerParameter, check_betas, check_lr, check_min

__all__ = ["SparseAdam"]


class SparseAdam(_PerParameter):
    """Adam for sparse gradients; dense ones are refused, as in PyTorch (sparse tensors do not exist here)."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, maximize=False):
        check_lr(lr)
        check_min(eps=eps)
        check_betas(betas)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, maximize=maximize))

    def _step_group(self, group):
        if any(p.grad is not None for p in group["params"]):
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
