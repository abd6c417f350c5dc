"""Dropout: the functions of torch, and those of torch.nn.functional."""

import torchlite as torch

from .._core.errors import not_implemented
from .. import _C
from ._declare import op, reference

_GEN = "Generator? generator=None"


# ---- torch.dropout and relatives -------------------------------------------------------------------------------------
@op(
    f"_dropout_noise(Tensor self, float p, {_GEN}) -> Tensor",
    kernel="dropout_noise",
    module="aten",
    variants="function",
    grad=None,
    differentiable=False,
)
def _dropout_noise(self, p, generator):
    """1 / (1 - p) where an element is kept, else 0."""
    return torch.empty_like(self).bernoulli_(1 - p).div_(1 - p)


@op(
    f"_rrelu_noise(Tensor self, float lower, float upper, {_GEN}) -> Tensor",
    kernel="rrelu_noise",
    module="aten",
    variants="function",
    grad=None,
    differentiable=False,
    tags="reference",
)
def _rrelu_noise(self, lower, upper, generator):
    """A draw from [lower, upper) for every element that is not positive, 1 for the others."""
    return reference.rrelu_noise(self, lower, upper, generator)


def _check_p(p):
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}")


def _no_ints(x):
    _C.check_cast(torch.float32, x.dtype)


def _drop_terms(input, p, train, features=False, alpha=False):
    """(factor, summand) of a dropout of the input; None for what changes nothing."""
    _check_p(p)
    if p == 0 or not train or not input.numel():
        return None, None
    if p == 1 and not alpha:
        return torch.zeros((), dtype=input.dtype, device=input.device), None
    _no_ints(input)
    base = input.detach()
    if features:
        if input.dim() < 2:
            raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
        base = base.new_empty(tuple(input.shape[:2]) + (1,) * (input.dim() - 2))
    if input.is_complex():
        raise not_implemented("bernoulli_scalar_cpu_", input.dtype)
    if not alpha:
        return _dropout_noise(base, p, None), None
    if p == 1:
        return torch.zeros((), dtype=input.dtype, device=input.device), None
    noise = torch.empty_like(base).bernoulli_(1 - p)
    slope = 1.7580993408473766
    a = 1 / ((slope * slope * p + 1) * (1 - p)) ** 0.5
    b = (noise - 1) * (slope * a)
    b = b + slope * a * p
    return noise * a, b


def _drop(input, p, train, **kind):
    factor, summand = _drop_terms(input, p, train, **kind)
    if factor is None:
        return input
    return input * factor if summand is None else input * factor + summand


def _drop_inplace(**kind):
    """The recorded in-place form: its nodes are those of mul_ and add_, as in PyTorch."""

    def change(input, p, train):
        factor, summand = _drop_terms(input, p, train, **kind)
        if factor is not None:
            input.mul_(factor)
        if summand is not None:
            input.add_(summand)
        return input

    return change


@op("dropout(Tensor input, float p, bool train) -> Tensor", inplace=_drop_inplace(), variants="function")
def dropout(input, p, train):
    """Zeroes elements with probability `p` while training and scales the others by 1 / (1 - p)."""
    return _drop(input, p, train)


@op(
    "feature_dropout(Tensor input, float p, bool train) -> Tensor",
    inplace=_drop_inplace(features=True),
    variants="function",
)
def feature_dropout(input, p, train):
    """Dropout of whole channels: input (N, C, ...)."""
    return _drop(input, p, train, features=True)


@op(
    "alpha_dropout(Tensor input, float p, bool train) -> Tensor",
    inplace=_drop_inplace(alpha=True),
    variants="function",
)
def alpha_dropout(input, p, train):
    """Dropout that keeps mean 0 and variance 1 (for SELU)."""
    return _drop(input, p, train, alpha=True)


@op(
    "feature_alpha_dropout(Tensor input, float p, bool train) -> Tensor",
    inplace=_drop_inplace(features=True, alpha=True),
    variants="function",
)
def feature_alpha_dropout(input, p, train):
    """Alpha dropout of whole channels: input (N, C, ...)."""
    return _drop(input, p, train, features=True, alpha=True)


# ---- torch.nn.functional ---------------------------------------------------------------------------------------------
def _check_nn(p):
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


@op("dropout(Tensor input, float p=0.5, bool training=True, bool inplace=False) -> Tensor", module="nn")
def _nn_dropout(input, p, training, inplace):
    """Zeroes elements with probability `p` while training and scales the others by 1 / (1 - p)."""
    _check_nn(p)
    return torch.dropout_(input, p, training) if inplace else torch.dropout(input, p, training)


def _warn_shape(name, input, low, high):
    if input.dim() not in (low, high):
        import warnings

        warnings.warn(
            f"{name}: Received a {input.dim()}-D input to {name}, which is deprecated and will result in an error in a "
            f"future release. To retain the behavior and silence this warning, please use dropout instead. Note that "
            f"{name} exists to provide channel-wise dropout on inputs with {low - 1} spatial dimensions, a channel "
            f"dimension, and an optional batch dimension (i.e. {low}D or {high}D inputs).",
            stacklevel=3,
        )


@op(
    "dropout1d(Tensor input, float p=0.5, bool training=True, bool inplace=False) -> Tensor",
    module="nn",
    tags="python",
)
def dropout1d(input, p, training, inplace):
    """Zeroes whole channels of (N, C, L) or (C, L) with probability `p` while training."""
    _check_nn(p)
    if input.dim() not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.dim()}D input. Note that dropout1d exists "
            "to provide channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an "
            "optional batch dimension (i.e. 2D or 3D inputs)."
        )
    return _unbatched(input, p, training, inplace, 3)


def _unbatched(input, p, training, inplace, batched):
    f = torch.feature_dropout_ if inplace else torch.feature_dropout
    if input.dim() == batched:
        return f(input, p, training)
    r = f(input.unsqueeze_(0) if inplace else input.unsqueeze(0), p, training)
    return r.squeeze_(0) if inplace else r.squeeze(0)


@op(
    "dropout2d(Tensor input, float p=0.5, bool training=True, bool inplace=False) -> Tensor",
    module="nn",
    tags="python",
)
def dropout2d(input, p, training, inplace):
    """Zeroes whole channels of (N, C, H, W) with probability `p` while training. A 3-D input counts as (N, C, L)."""
    _check_nn(p)
    if input.dim() not in (3, 4):
        _warn_shape("dropout2d", input, 3, 4)
    elif input.dim() == 3:
        import warnings

        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired "
            "- input is interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a "
            "future release to interpret the input as one without a batch dimension, i.e. shape (C, H, W). To maintain "
            "the 1D channel-wise dropout behavior, please switch to using dropout1d instead.",
            stacklevel=2,
        )
    return torch.feature_dropout_(input, p, training) if inplace else torch.feature_dropout(input, p, training)


@op(
    "dropout3d(Tensor input, float p=0.5, bool training=True, bool inplace=False) -> Tensor",
    module="nn",
    tags="python",
)
def dropout3d(input, p, training, inplace):
    """Zeroes whole channels of (N, C, D, H, W) or (C, D, H, W) with probability `p` while training."""
    _check_nn(p)
    if input.dim() not in (4, 5):
        _warn_shape("dropout3d", input, 4, 5)
    return _unbatched(input, p, training, inplace, 5)


@op("alpha_dropout(Tensor input, float p=0.5, bool training=False, bool inplace=False) -> Tensor", module="nn")
def _nn_alpha_dropout(input, p, training, inplace):
    """Dropout that keeps mean 0 and variance 1 (for SELU)."""
    _check_nn(p)
    return torch.alpha_dropout_(input, p, training) if inplace else torch.alpha_dropout(input, p, training)


@op("feature_alpha_dropout(Tensor input, float p=0.5, bool training=False, bool inplace=False) -> Tensor", module="nn")
def _nn_feature_alpha_dropout(input, p, training, inplace):
    """Alpha dropout of whole channels: input (N, C, ...)."""
    _check_nn(p)
    return (
        torch.feature_alpha_dropout_(input, p, training) if inplace else torch.feature_alpha_dropout(input, p, training)
    )
