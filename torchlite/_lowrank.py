"""torch._lowrank: where PyTorch keeps two functions of torch."""

from . import pca_lowrank, svd_lowrank

__all__ = ["svd_lowrank", "pca_lowrank"]
