"""The normalisation layers."""

import torchlite as torch
from torchlite import _C
from torchlite._core.device import suggested_format

from .._core.errors import not_implemented
from ._declare import op


# ---- layer norm ------------------------------------------------------------------------------------------------------
def _real_only(x, kernel):
    if x.is_complex():
        raise not_implemented(kernel, x.dtype)


def _tail(x, shape):
    return tuple(range(x.dim() - len(shape), x.dim()))


def _head(x, shape):
    return tuple(range(x.dim() - len(shape)))


def _sum_head(x, shape):
    head = _head(x, shape)
    return x.sum(head) if head else x


def _row_grads(h, xhat, rstd, dims, centred=True):
    out = h - xhat * (h * xhat).mean(dims, True)
    return rstd * (out - h.mean(dims, True) if centred else out)


def _as_function_of(x, rstd, dims):
    """The reciprocal deviations `rstd` of the rows x, to be differentiated again.

    Of x * rstd, whose squares do not overflow where those of x do. Where rstd is 0 they did before."""
    fixed = rstd.detach()
    unit = torch.where(fixed != 0, x * fixed, 0)
    square = (unit * unit).mean(dims, True)
    return fixed * torch.rsqrt(1 + (square - square.detach()))


@op(
    "layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, "
    "bool cudnn_enable=True) -> Tensor",
    variants="function",
    kernel="layer_norm",
    samples=lambda t: [(t(3, 4), (4,), t(4), t(4)), (t(2, 3, 4), (3, 4))],
)
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True):
    """(x - mean) / sqrt(var + eps) * weight + bias over the trailing dims `normalized_shape`."""
    return torch.native_layer_norm(input, normalized_shape, weight, bias, eps)[0]


@op(
    "native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, "
    "float eps) -> (Tensor, Tensor, Tensor)",
    variants="function",
    kernel="native_layer_norm",
    formal="input weight bias",
    nondiff=(1, 2),
    grad=lambda c, g: dict(
        zip(
            ("input", "weight", "bias"),
            torch.native_layer_norm_backward(
                g[0],
                c.input,
                c.normalized_shape,
                c.result1,
                c.result2,
                c.weight,
                c.bias,
                (c.needs_input, c.needs_weight, c.needs_bias),
            ),
        )
    ),
    samples=lambda t: [(t(3, 4), (4,), t(4), t(4), 1e-5), (t(2, 3, 4), (3, 4), None, None, 1e-5)],
)
def native_layer_norm(input, normalized_shape, weight, bias, eps):
    """Layer norm with the means and the reciprocal deviations it used."""
    _real_only(input, "LayerNormKernelImpl")
    dims = _tail(input, normalized_shape)
    mean = input.mean(dims, True)
    rstd = torch.rsqrt(((input - mean) ** 2).mean(dims, True) + eps)
    out = (input - mean) * rstd
    if weight is not None:
        out = out * weight
    if bias is not None:
        out = out + bias
    return out, mean, rstd


@op(
    "native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape, Tensor mean, "
    "Tensor rstd, Tensor? weight, Tensor? bias, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
    variants="function",
    kernel="native_layer_norm_backward",
)
def native_layer_norm_backward(grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask):
    """Gradients of native_layer_norm; None for what `output_mask` leaves out."""
    # mean and rstd are functions of the input: taken anew, so that this can be differentiated again
    dims = _tail(input, normalized_shape)
    mean_x = input.mean(dims, True)
    centred = input - mean_x
    rstd_x = _as_function_of(centred, rstd, dims)
    xhat = centred * rstd_x
    h = grad_out if weight is None else grad_out * weight
    return (
        _row_grads(h, xhat, rstd_x, dims).contiguous() if output_mask[0] else None,
        _sum_head(grad_out * xhat, normalized_shape) if output_mask[1] and weight is not None else None,
        _sum_head(grad_out, normalized_shape) if output_mask[2] else None,
    )


# ---- rms norm --------------------------------------------------------------------------------------------------------
@op(
    "rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor",
    variants="function",
    kernel="rms_norm",
    samples=lambda t: [(t(3, 4), (4,), t(4)), (t(2, 3, 4), (3, 4), None, 1e-5)],
)
def rms_norm(input, normalized_shape, weight=None, eps=None):
    """x / sqrt(mean(x^2) + eps) * weight over the trailing dims `normalized_shape`."""
    if input.is_complex():
        return _rms_body(input, normalized_shape, weight, eps)[0].to(input.dtype).contiguous()
    if weight is not None and weight.dtype != input.dtype:
        _C.warn_once(
            "Mismatch dtype between input and weight: input dtype = %s, weight dtype = %s, Cannot dispatch to fused "
            "implementation." % (input.dtype._cpp_type, weight.dtype._cpp_type)
        )
        x = input.float() if input.dtype in (torch.float16, torch.bfloat16) else input
        return _rms_body(x, normalized_shape, weight, eps)[0].to(input.dtype)
    return torch._fused_rms_norm(input, normalized_shape, weight, eps)[0]


def _rms_eps(x, eps):
    if eps is not None:
        return eps
    return torch.finfo(torch.float64 if x.dtype in (torch.float64, torch.complex128) else torch.float32).eps


def _rms_body(input, normalized_shape, weight, eps):
    dims = _tail(input, normalized_shape)
    rstd = torch.rsqrt((input * input).mean(dims, True) + _rms_eps(input, eps))
    out = input * rstd
    return out if weight is None else out * weight, rstd


@op(
    "_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) -> (Tensor, Tensor)",
    variants="function",
    kernel="_fused_rms_norm",
    nondiff=(1,),
    grad=lambda c, g: dict(
        zip(
            ("input", "weight"),
            torch._fused_rms_norm_backward(
                g[0],
                c.input.conj(),
                c.normalized_shape,
                c.result1.conj(),
                None if c.weight is None else c.weight.conj(),
                (c.needs_input, c.needs_weight),
            ),
        )
    ),
    samples=lambda t: [(t(3, 4), (4,), t(4), 1e-5)],
)
def _fused_rms_norm(input, normalized_shape, weight, eps):
    """rms_norm with the reciprocal roots it used."""
    return _rms_body(input, normalized_shape, weight, eps)


@op(
    "_fused_rms_norm_backward(Tensor grad_out, Tensor input, int[] normalized_shape, Tensor rstd, Tensor? weight, "
    "bool[2] output_mask) -> (Tensor, Tensor)",
    variants="function",
    kernel="_fused_rms_norm_backward",
)
def _fused_rms_norm_backward(grad_out, input, normalized_shape, rstd, weight, output_mask):
    """Gradients of _fused_rms_norm."""
    dims = _tail(input, normalized_shape)
    rstd_x = _as_function_of(input, rstd, dims)
    xhat = input * rstd_x
    h = grad_out if weight is None else grad_out * weight
    return (
        _row_grads(h, xhat, rstd_x, dims, False) if output_mask[0] else None,
        _sum_head(grad_out * xhat, normalized_shape) if output_mask[1] and weight is not None else None,
    )


# ---- batch norm ------------------------------------------------------------------------------------------------------
def _channel(v, x):
    """A per-channel vector shaped to broadcast over x."""
    if v is None:
        raise RuntimeError(
            "the running statistics must be defined in evaluation mode, and the saved ones after training mode"
        )
    return v.reshape((1, -1) + (1,) * (x.dim() - 2))


@op(
    "batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
    "bool training, float momentum, float eps, bool cudnn_enabled) -> Tensor",
    variants="function",
    kernel="batch_norm",
    samples=lambda t: [(t(4, 3, 2), t(3), t(3), None, None, True, 0.1, 1e-5, False)],
)
def batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled):
    """Normalises each channel (dim 1) by the statistics of the batch, or by the running ones unless `training`."""
    if input.dim() < 2 and input.numel() == 0:
        return input.clone()
    return torch.native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)[0]


@op(
    "native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
    "bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    variants="function",
    kernel="native_batch_norm",
    out=True,
    formal="input weight",
    nondiff=(1, 2),
    grad=lambda c, g: dict(
        zip(
            ("input", "weight", "bias"),
            torch.native_batch_norm_backward(
                g[0],
                c.input,
                c.weight,
                c.running_mean,
                c.running_var,
                c.result1,
                c.result2,
                c.training,
                c.eps,
                (c.needs_input, c.needs_weight, c.needs_bias),
            ),
        )
    ),
    samples=lambda t: [(t(4, 3, 2), t(3), t(3), None, None, True, 0.1, 1e-5)],
)
def native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps):
    """Batch norm with the means and the reciprocal deviations of the batch; updates the running statistics."""
    input.size(1)  # raises where there are no channels
    _real_only(input, "batch_norm")
    if training:
        dims = tuple(d for d in range(input.dim()) if d != 1)
        mean = input.mean(dims)
        var = ((input - _channel(mean, input)) ** 2).mean(dims)
        invstd = torch.rsqrt(var + eps)
        with torch.no_grad():
            n = input.numel() / max(input.size(1), 1)
            if running_mean is not None:
                running_mean.data.mul_(1 - momentum).add_(mean.detach() * momentum)  # .data: no new version
            if running_var is not None:
                running_var.data.mul_(1 - momentum).add_(var.detach() * (momentum * n / (n - 1)))
        saved = mean, invstd
    else:
        mean, invstd = running_mean, torch.rsqrt(running_var + eps)
        saved = input.new_empty(0), input.new_empty(0)
    out = (input - _channel(mean, input)) * _channel(invstd, input)
    if weight is not None:
        out = out * _channel(weight, input)
    if bias is not None:
        out = out + _channel(bias, input)
    return (out.to(input.dtype), *saved)


@op(
    "native_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, Tensor? running_mean, "
    "Tensor? running_var, Tensor? save_mean, Tensor? save_invstd, bool train, float eps, "
    "bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
    variants="function",
    kernel="native_batch_norm_backward",
)
def native_batch_norm_backward(
    grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps, output_mask
):
    """Gradients of native_batch_norm; None for what `output_mask` leaves out."""
    dims = tuple(d for d in range(input.dim()) if d != 1)
    if train:
        mean = input.mean(dims, True)
        rstd = torch.rsqrt(((input - mean) ** 2).mean(dims, True) + eps)
    else:
        mean, rstd = _channel(running_mean, input), _channel(torch.rsqrt(running_var + eps), input)
    xhat = (input - mean) * rstd
    h = grad_out if weight is None else grad_out * _channel(weight, input)
    dx = None
    if output_mask[0]:
        dx = (_row_grads(h, xhat, rstd, dims) if train else h * rstd).to(input.dtype)
        dx = dx.contiguous(memory_format=suggested_format(input))  # as the kernel's
    return (dx, (grad_out * xhat).sum(dims) if output_mask[1] else None, grad_out.sum(dims) if output_mask[2] else None)


@op(
    "_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, "
    "Tensor(b!) running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    variants="function",
    out=True,
)
def _native_batch_norm_legit(input, weight, bias, running_mean, running_var, training, momentum, eps):
    """The same as native_batch_norm, with running statistics."""
    return torch.native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)


@op(
    "_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool training, float momentum, "
    "float eps) -> (Tensor, Tensor, Tensor)",
    variants="function",
    out=True,
)
def _native_batch_norm_legit_no_stats(input, weight, bias, training, momentum, eps):
    """The same as native_batch_norm, without running statistics."""
    return torch.native_batch_norm(input, weight, bias, None, None, training, momentum, eps)


@op(
    "instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
    "bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor",
    variants="function",
    samples=lambda t: [(t(2, 3, 4), t(3), t(3), None, None, True, 0.1, 1e-5, False)],
)
def instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled):
    """Normalises each channel of each sample on its own."""
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
    b, c = input.shape[:2]
    if weight is not None and weight.numel() != c:
        raise RuntimeError(f"weight should contain {c} elements not {weight.numel()}")

    def tiled(v):
        return None if v is None else v.repeat(b)

    mean, var = tiled(running_mean), tiled(running_var)
    out = torch.batch_norm(
        input.contiguous().view(1, b * c, *input.shape[2:]),
        tiled(weight),
        tiled(bias),
        mean,
        var,
        use_input_stats,
        momentum,
        eps,
        cudnn_enabled,
    )
    with torch.no_grad():
        if running_mean is not None:
            running_mean.data.copy_(mean.view(b, c).mean(0))
        if running_var is not None:
            running_var.data.copy_(var.view(b, c).mean(0))
    return out.view(input.shape)


def _check_groups(input, channels, groups):
    if groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {groups}")
    if channels % groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(input.shape)} and num_groups={groups}"
        )


def _check_vectors(input, channels, weight, bias):
    for name, p in (("weight", weight), ("bias", bias)):
        if p is not None and (p.dim() != 1 or p.numel() != channels):
            shown = [0] if weight is None else list(weight.shape)  # for the bias too, as PyTorch does
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, "
                f"but got {name} of shape {shown} and input of shape {list(input.shape)}"
            )


# ---- group norm ------------------------------------------------------------------------------------------------------
@op(
    "group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, "
    "bool cudnn_enabled=True) -> Tensor",
    variants="function",
    samples=lambda t: [(t(2, 4, 3), 2, t(4), t(4))],
)
def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5, cudnn_enabled=True):
    """Normalises each of `num_groups` groups of channels of each sample."""
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    n, c = input.shape[:2]
    _check_groups(input, c, num_groups)
    _check_vectors(input, c, weight, bias)
    area = 1
    for s in input.shape[2:]:
        area *= s
    return torch.native_group_norm(
        input.contiguous(memory_format=suggested_format(input)), weight, bias, n, c, area, num_groups, eps
    )[0]


def _group_norm_gradients(c, g):
    """Of the normalised values by the kernel; those of the groups' statistics are added."""
    into_input = into_weight = into_bias = None
    if g[0] is not None:
        mask = (c.needs_input, c.needs_weight, c.needs_bias)
        into_input, into_weight, into_bias = torch.native_group_norm_backward(
            g[0], c.input, c.result1, c.result2, c.weight, c.N, c.C, c.HxW, c.group, mask
        )
    if c.needs_input and not (g[1] is None and g[2] is None):
        n = c.C // c.group * c.HxW
        of_group = torch.zeros((), dtype=c.input.dtype, device=c.input.device)
        if g[1] is not None:
            of_group = of_group + g[1].view(c.N, c.group, 1) / n
        if g[2] is not None:
            x, mean, rstd = c.input.reshape(c.N, c.group, n), c.result1.unsqueeze(-1), c.result2.unsqueeze(-1)
            of_group = of_group - g[2].view(c.N, c.group, 1) * rstd**3 * (x - mean) / n
        of_group = of_group.expand(c.N, c.group, n).reshape(c.input.shape)
        into_input = of_group if into_input is None else into_input + of_group
    return {"input": into_input, "weight": into_weight, "bias": into_bias}


@op(
    "native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group, "
    "float eps) -> (Tensor, Tensor, Tensor)",
    variants="function",
    kernel="native_group_norm",
    grad=_group_norm_gradients,
    samples=lambda t: [(t(2, 4, 3), t(4), t(4), 2, 4, 3, 2, 1e-5)],
)
def native_group_norm(input, weight, bias, N, C, HxW, group, eps):
    """Group norm with the means and the reciprocal deviations it used, of shape [N, group]."""
    _check_groups(input, C, group)
    _check_vectors(input, C, weight, bias)
    if input.numel() != N * C * HxW:
        raise RuntimeError(
            "Expected X.numel() == N * C * HxW to be true, but got false.  (Could this error message be improved?  "
            "If so, please report an enhancement request to PyTorch.)"
        )
    _real_only(input, "GroupNormKernelImpl")
    x = input.reshape(N, group, C // group * HxW)
    mean = x.mean(-1, True)
    rstd = torch.rsqrt(((x - mean) ** 2).mean(-1, True) + eps)
    out = ((x - mean) * rstd).view(input.shape)
    if weight is not None:
        out = out * _channel(weight, input)
    if bias is not None:
        out = out + _channel(bias, input)
    return out, mean.view(N, group), rstd.view(N, group)


@op(
    "native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, SymInt N, "
    "SymInt C, SymInt HxW, int group, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
    variants="function",
    kernel="native_group_norm_backward",
)
def native_group_norm_backward(grad_out, input, mean, rstd, weight, N, C, HxW, group, output_mask):
    """Gradients of native_group_norm; None for what `output_mask` leaves out."""
    _check_groups(input, C, group)
    x = input.reshape(N, group, C // group * HxW)
    mean_x = x.mean(-1, True)
    centred = x - mean_x
    rstd_x = _as_function_of(centred, rstd.view(N, group, 1), -1)
    xhat = centred * rstd_x
    g = grad_out.reshape(N, C, HxW)
    h = (g if weight is None else g * weight.view(1, C, 1)).reshape(N, group, C // group * HxW)
    return (
        _row_grads(h, xhat, rstd_x, -1).view(input.shape).contiguous(memory_format=suggested_format(input))
        if output_mask[0]
        else None,
        (g * xhat.view(N, C, HxW)).sum((0, 2)) if output_mask[1] else None,
        g.sum((0, 2)) if output_mask[2] else None,
    )
