"""torch.masked: reductions and normalisations that ignore masked-out elements (_ops.py), and MaskedTensor, a tensor
that carries its mask (maskedtensor/), imported when one of its names is used."""

from __future__ import annotations

from typing import Any

from . import _ops
from ._ops import (
    _canonical_dim,
    _combine_input_and_mask,
    _input_mask,
    _output_mask,
    _reduction_identity,
    _where,
    amax,
    amin,
    argmax,
    argmin,
    cumprod,
    cumsum,
    log_softmax,
    logaddexp,
    logsumexp,
    mean,
    median,
    norm,
    normalize,
    prod,
    softmax,
    softmin,
    std,
    sum,
    var,
)

__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "as_masked_tensor",
    "cumprod",
    "cumsum",
    "is_masked_tensor",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "masked_tensor",
    "MaskedTensor",
    "mean",
    "median",
    "norm",
    "normalize",
    "prod",
    "softmax",
    "softmin",
    "std",
    "sum",
    "var",
]

_HOMES = {"core": ("MaskedTensor", "is_masked_tensor"), "creation": ("as_masked_tensor", "masked_tensor")}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "maskedtensor":
        return import_module(".maskedtensor", __name__)
    for home, names in _HOMES.items():
        if name in names:
            made = globals()[name] = getattr(import_module(".maskedtensor." + home, __name__), name)
            return made
    raise AttributeError("module 'torch.masked' has no attribute '%s'" % name)
