"""Ways to fill parameters; every function changes its tensor in place and returns it."""

import functools
import math

import torchlite as torch

__all__ = [
    "calculate_gain",
    "uniform_",
    "normal_",
    "trunc_normal_",
    "constant_",
    "ones_",
    "zeros_",
    "eye_",
    "dirac_",
    "xavier_uniform_",
    "xavier_normal_",
    "kaiming_uniform_",
    "kaiming_normal_",
    "orthogonal_",
    "sparse_",
    "uniform",
    "normal",
    "constant",
    "eye",
    "dirac",
    "xavier_uniform",
    "xavier_normal",
    "kaiming_uniform",
    "kaiming_normal",
    "orthogonal",
    "sparse",
]

_LINEAR = (
    "linear",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "sigmoid",
)


def calculate_gain(nonlinearity, param=None):
    """The recommended gain of a nonlinearity."""
    if nonlinearity in _LINEAR:
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        if param is None:
            slope = 0.01
        elif not isinstance(param, bool) and isinstance(param, (int, float)):
            slope = param
        else:
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity == "selu":
        return 3.0 / 4
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def _overridable(fill):
    """A tensor's class, or a mode, may answer for these four functions."""

    @functools.wraps(fill)
    def function(tensor, *args, **kwargs):
        if not torch._C.overrides(tensor):
            return fill(tensor, *args, **kwargs)
        import inspect

        from torchlite.overrides import handle_torch_function

        given = inspect.signature(fill).bind(tensor, *args, **kwargs)
        given.apply_defaults()
        return handle_torch_function(function, (tensor,), **given.arguments)

    function._tl_fn = fill  # type: ignore[attr-defined]
    return function


@_overridable
def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """Uniform in [a, b)."""
    with torch.no_grad():
        return tensor.uniform_(a, b, generator=generator)


def _no_grad_uniform_(tensor, a, b, generator=None):
    """Uniform in [a, b), without asking who overrides it."""
    with torch.no_grad():
        return tensor.uniform_(a, b, generator=generator)


@_overridable
def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """Normal(mean, std)."""
    with torch.no_grad():
        return tensor.normal_(mean, std, generator=generator)


_uniform_, _normal_ = uniform_.__wrapped__, normal_.__wrapped__  # what other functions call: they ask for each method


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Normal(mean, std) restricted to [a, b], by rejection."""
    if tensor.is_meta:
        return tensor
    low, high = (a - mean) / std, (b - mean) / std
    if mean < a - 2 * std or mean > b + 2 * std:
        import warnings

        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be "
            "incorrect.",
            stacklevel=2,
        )
    inside = (math.erf(high / math.sqrt(2.0)) - math.erf(low / math.sqrt(2.0))) / 2.0
    with torch.no_grad():
        if inside >= 0.3:
            tensor.normal_(mean, std, generator=generator)
            bad = (tensor < a) | (tensor > b)
            while bad.any():
                tensor.copy_(torch.where(bad, torch.empty_like(tensor).normal_(mean, std, generator=generator), tensor))
                bad = (tensor < a) | (tensor > b)
            return tensor
        # few normal numbers fall inside: uniform proposals, accepted by the density relative to its peak in [a, b]
        peak = min(max(0.0, low), high)

        def propose():
            x = torch.empty_like(tensor).uniform_(a, b, generator=generator)
            z = (x - mean) / std
            return x, torch.empty_like(tensor).uniform_(0, 1, generator=generator) <= torch.exp(
                (peak * peak - z * z) / 2
            )

        x, done = propose()
        while not done.all():
            y, ok = propose()
            x = torch.where(done, x, y)
            done |= ok
        return tensor.copy_(x)


@_overridable
def constant_(tensor, val):
    """All elements `val`."""
    with torch.no_grad():
        return tensor.fill_(val)


def ones_(tensor):
    """All elements 1."""
    with torch.no_grad():
        return tensor.fill_(1.0)


def zeros_(tensor):
    """All elements 0."""
    with torch.no_grad():
        return tensor.zero_()


_no_grad_fill_, _no_grad_zero_, _no_grad_normal_, _no_grad_trunc_normal_ = constant_, zeros_, _normal_, trunc_normal_


def eye_(tensor):
    """The identity matrix."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with torch.no_grad():
        tensor.zero_()
        tensor.diagonal().fill_(1)
    return tensor


def dirac_(tensor, groups=1):
    """Convolution weights that keep the input (per group)."""
    dimensions = tensor.ndimension()
    if dimensions not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    sizes = tensor.size()
    if sizes[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    per_group = sizes[0] // groups
    centre = tuple(s // 2 for s in sizes[2:])
    with torch.no_grad():
        tensor.zero_()
        for g in range(groups):
            for d in range(min(per_group, sizes[1])):
                tensor[(g * per_group + d, d, *centre)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor):
    shape = tensor.shape
    if len(shape) < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = 1
    for s in shape[2:]:
        field *= s
    return shape[1] * field, shape[0] * field


def _calculate_correct_fan(tensor, mode):
    mode = mode.lower()
    valid = ["fan_in", "fan_out"]
    if mode not in valid:
        raise ValueError(f"Mode {mode} not supported, please use one of {valid}")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return fan_in if mode == "fan_in" else fan_out


def xavier_uniform_(tensor, gain=1.0, generator=None):
    """Uniform in +-gain * sqrt(6 / (fan_in + fan_out))."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    a = math.sqrt(3.0) * (gain * math.sqrt(2.0 / float(fan_in + fan_out)))
    return _uniform_(tensor, -a, a, generator)


def xavier_normal_(tensor, gain=1.0, generator=None):
    """Normal(0, gain * sqrt(2 / (fan_in + fan_out)))."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return _normal_(tensor, 0.0, gain * math.sqrt(2.0 / float(fan_in + fan_out)), generator)


def _warn_empty(tensor):
    if 0 in tensor.shape:
        import warnings

        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return True
    return False


@_overridable
def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Uniform in +-gain * sqrt(3 / fan)."""
    if _warn_empty(tensor):
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    bound = math.sqrt(3.0) * std
    with torch.no_grad():
        return tensor.uniform_(-bound, bound, generator=generator)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Normal(0, gain / sqrt(fan))."""
    if _warn_empty(tensor):
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    with torch.no_grad():
        return tensor.normal_(0, std, generator=generator)


def orthogonal_(tensor, gain=1, generator=None):
    """A (semi) orthogonal matrix over the first dimension and the flattened rest."""
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.size(0)
    cols = tensor.numel() // rows
    flat = tensor.new_empty((rows, cols)).normal_(0, 1, generator=generator)
    if rows < cols:
        flat.t_()
    q, r = torch.linalg.qr(flat)
    q *= torch.diag(r, 0).sign()  # makes the distribution uniform
    if rows < cols:
        q.t_()
    with torch.no_grad():
        tensor.view_as(q).copy_(q)
        tensor.mul_(gain)
    return tensor


def sparse_(tensor, sparsity, std=0.01, generator=None):
    """Normal(0, std) with a fraction `sparsity` of every column set to zero."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, cols = tensor.shape
    zeros = int(math.ceil(sparsity * rows))
    with torch.no_grad():
        tensor.normal_(0, std, generator=generator)
        for col in range(cols):
            tensor[torch.randperm(rows)[:zeros], col] = 0
    return tensor


def _deprecated(name):
    new = globals()[name + "_"]

    def f(*args, **kwargs):
        import warnings

        warnings.warn(f"`nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`.", FutureWarning, stacklevel=2)
        return new(*args, **kwargs)

    f.__name__ = name
    f.__doc__ = f"Deprecated name of `{name}_`."
    return f


for _n in __all__:
    if _n + "_" in globals():
        globals()[_n] = _deprecated(_n)
del _n
