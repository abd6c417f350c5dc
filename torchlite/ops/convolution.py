"""Convolutions and transposed convolutions.

All share one gradient, `convolution_backward`, whose own gradient is made of convolutions again.
"""

import torchlite as torch

from .. import _C
from ._declare import op

_ZERO = (0,)


def _complex(fn, a, b, *rest):
    """A function linear in two arguments, for complex ones, by its real parts."""
    ar, ai = (torch.real(a), torch.imag(a)) if a.is_complex() else (a, torch.zeros_like(a))
    br, bi = (torch.real(b), torch.imag(b)) if b.is_complex() else (b, torch.zeros_like(b))
    return torch.complex(fn(ar, br, *rest) - fn(ai, bi, *rest), fn(ar, bi, *rest) + fn(ai, br, *rest))


def _along_channels(bias, n):
    return bias.reshape((-1,) + (1,) * n)


@op(
    "convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? bias_sizes, SymInt[] stride, "
    "SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, "
    "bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
    kernel="convolution_backward",
    variants="function",
    samples=lambda t: [
        (
            t(2, 4, 3, 5),
            t(2, 6, 6, 5),
            t(4, 3, 2, 3),
            None,
            [2, 1],
            [0, 1],
            [1, 1],
            False,
            [0, 0],
            2,
            [True, True, True],
        ),
        (
            t(2, 3, 7, 4),
            t(2, 4, 3, 5),
            t(4, 3, 2, 2),
            None,
            [3, 1],
            [1, 1],
            [2, 1],
            True,
            [0, 0],
            1,
            [True, True, True],
        ),
    ],
    save=("grad_output", "input", "weight"),
    grad=lambda c, g: _double_backward(c, *g),
)
def convolution_backward(
    grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, output_mask
):
    """Gradients of a convolution for its input, weight and bias; None where `output_mask` is false."""
    n = weight.dim() - 2
    stride, padding, dilation = (tuple(v) * (n if len(v) == 1 else 1) for v in (stride, padding, dilation))
    gi = gw = gb = None
    if weight.is_complex():  # by real parts, for which there are kernels
        rest = (None, stride, padding, dilation, transposed, output_padding, groups)
        if output_mask[0]:
            like = torch.zeros(input.shape, dtype=weight.dtype.to_real(), device=weight.device)
            gi = _complex(
                lambda g, w: convolution_backward(g, like, w, *rest, [True, False, False])[0], grad_output, weight
            ).contiguous()
        if output_mask[1]:
            like2 = torch.zeros(weight.shape, dtype=weight.dtype.to_real(), device=weight.device)
            gw = _complex(
                lambda g, x: convolution_backward(g, x, like2, *rest, [False, True, False])[1], grad_output, input
            ).contiguous()
    else:
        if output_mask[0]:
            sizes = zip(input.shape[2:], grad_output.shape[2:], stride, padding, dilation, weight.shape[2:])
            extra = [0 if transposed else a - ((o - 1) * s - 2 * p + d * (k - 1) + 1) for a, o, s, p, d, k in sizes]
            gi = _meaning(grad_output, weight, None, stride, padding, dilation, not transposed, extra, groups)
        if output_mask[1]:
            gw = _weight_gradient(grad_output, input, weight, stride, padding, dilation, transposed, groups)
    if output_mask[2]:
        gb = grad_output.sum([0] + list(range(2, grad_output.dim())))
    return gi, gw, gb


def _weight_gradient(g, x, w, stride, padding, dilation, transposed, groups):
    """Products of the small side with the windows of the large side, summed over images and positions."""
    n = w.dim() - 2
    big, small = (g, x) if transposed else (x, g)
    big = torch.constant_pad_nd(big, [p for p in reversed(padding) for _ in range(2)], 0)
    parts = _windows(big, w.shape[2:], stride, dilation)
    for i in range(n):
        parts = parts.narrow(2 + i, 0, small.shape[2 + i])
    # (groups, N * out, C / groups * k), and (groups, channels, N * out)
    parts = parts.unflatten(1, (groups, -1)).movedim((1, 2), (0, 2 + n)).flatten(1, 1 + n).flatten(2)
    small = small.unflatten(1, (groups, -1)).movedim((1, 2), (0, 1)).flatten(2)
    return small.bmm(parts).reshape(w.shape)


def _double_backward(c, gi, gw, gb):
    """Convolution is linear in input and in weight: the gradient of each result is a convolution or its gradient."""
    x, w, g = c.input, c.weight, c.grad_output
    rest = (c.stride, c.padding, c.dilation, c.transposed, c.output_padding, c.groups)
    out: dict[str, torch.Tensor | None] = {"grad_output": None, "input": None, "weight": None}
    if c.needs_grad_output:
        total = None
        for a, b in ((gi, w.conj()), (x.conj(), gw)):
            if a is not None and b is not None:
                y = torch.convolution(a, b, None, *rest)
                total = y if total is None else total + y
        if gb is not None:
            b = _along_channels(gb, g.dim() - 2).expand(g.shape)
            total = b if total is None else total + b
        out["grad_output"] = total
    if c.needs_input and gw is not None:
        out["input"] = convolution_backward(g.conj(), x, gw, None, *rest, [True, False, False])[0]
    if c.needs_weight and gi is not None:
        out["weight"] = convolution_backward(g.conj(), gi, w, None, *rest, [False, True, False])[1]
    return out


def _backward(c, g, dims, transposed, output_padding):
    """The gradients as a dict, for inputs with or without a batch."""
    x, w = c.input, c.weight
    single = x.dim() == dims + 1
    if single:
        g, x = g.unsqueeze(0), x.unsqueeze(0)
    form = c.stride, c.padding, c.dilation, transposed, output_padding, c.groups
    needs = [c.needs_input, c.needs_weight, c.needs_bias]
    gi, gw, gb = convolution_backward(g, x.conj(), w.conj(), None, *form, needs)
    if single and gi is not None:
        gi = gi.squeeze(0)
    return {"input": gi, "weight": gw, "bias": gb}


def _windows(x, kernel, stride, dilation):
    """(N, C, d...) to (N, C, out..., k...), as views."""
    for i, (k, s, d) in enumerate(zip(kernel, stride, dilation)):
        x = x.unfold(2 + i, d * (k - 1) + 1, s)[..., ::d]
    return x


def _meaning(x, w, bias, stride, padding, dilation, transposed, output_padding, groups):
    """Convolution as a matrix product over windows. A transposed one is a convolution, by the flipped weight, of the
    input with zeros put between its elements."""
    n = w.dim() - 2
    stride, padding, dilation, output_padding = (
        tuple(v) * (n if len(v) == 1 else 1) for v in (stride, padding, dilation, output_padding)
    )
    batched = x.dim() == n + 2
    if not batched:
        x = x.unsqueeze(0)
    last = (n > 1 and _C.suggests_channels_last(x)) or _C.suggests_channels_last((tuple(w.shape), w.stride()))
    kernel = tuple(w.shape[2:])
    low = list(padding)
    high = list(padding)
    if transposed:
        spread = torch.zeros(
            (*x.shape[:2], *((s - 1) * st + 1 for s, st in zip(x.shape[2:], stride))), dtype=x.dtype, device=x.device
        )
        spread[(..., *(slice(None, None, st) for st in stride))] = x
        x = spread
        w = w.unflatten(0, (groups, -1)).transpose(1, 2).flatten(0, 1).flip(list(range(2, n + 2)))
        low = [d * (k - 1) - p for d, k, p in zip(dilation, kernel, padding)]
        high = [p + o for p, o in zip(low, output_padding)]
        stride = (1,) * n
    if any(low) or any(high):
        x = torch.constant_pad_nd(x, [v for pair in zip(reversed(low), reversed(high)) for v in pair], 0)
    x = _windows(x, kernel, stride, dilation)
    size = tuple(x.shape[2 : 2 + n])
    # (N, groups, out, C / groups * k)
    x = x.unflatten(1, (groups, -1)).movedim(2, 2 + n).flatten(2 + n).flatten(2, 1 + n)
    w = w.flatten(1).unflatten(0, (groups, -1))
    y = torch.matmul(x, w.transpose(1, 2)).transpose(2, 3).flatten(1, 2).unflatten(2, size)
    if bias is not None:
        y = y + _along_channels(bias, n)
    if y.is_complex():  # in the format of its parts, which for volumes depends on oneDNN
        last = last and (n < 3 or (y.dtype == torch.complex64 and (groups > 1 or len(y) > 1)))
        y = (y.movedim(1, -1) if last else y).clone(memory_format=torch.contiguous_format)
        y = y.movedim(-1, 1) if last else y
    return y if batched else y.squeeze(0)


@op(
    "convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, "
    "bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor",
    kernel="convolution",
    variants="function",
    grad=lambda c, g: _backward(c, g, c.weight.dim() - 2, c.transposed, c.output_padding),
    samples=lambda t: [
        (t(2, 4, 5, 5), t(6, 2, 3, 3), t(6), [2, 1], [1, 0], [1, 2], False, [0, 0], 2),
        (t(2, 4, 3, 3), t(4, 3, 2, 2), t(3), [2, 2], [0, 1], [1, 1], True, [1, 0], 1),
    ],
)
def convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    """Cross-correlation of `input` (N, C, d...) with `weight` (O, C / groups, k...), or its transpose."""
    return _meaning(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)


def _declare_conv(n):
    name, shape = f"conv{n}d", "N, C, " + ", ".join("DHW"[3 - n :] if n > 1 else "L")

    def conv(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        return _meaning(input, weight, bias, stride, padding, dilation, False, _ZERO, groups)

    def samples(t):
        s = (6, 5, 4)[-n:]
        return [
            (t(2, 4, *s), t(6, 4, *(3,) * n), t(6)),
            (t(2, 4, *s), t(6, 2, *(2,) * n), None, 2, 1, 1, 2),
            (t(4, *s), t(4, 1, *(2,) * n), t(4), 1, 1, 2, 4),
        ]

    conv.__name__ = conv.__qualname__ = name
    conv.__doc__ = (
        f"Convolution of `input` ({shape}), with or without the batch dim, with `weight` (O, C / groups, k...), plus "
        "`bias` (O). `padding` is zeros on both sides of each dim."
    )
    fn = op(
        f"{name}(Tensor input, Tensor weight, Tensor? bias=None, SymInt[{n}] stride=1, SymInt[{n}] padding=0, "
        f"SymInt[{n}] dilation=1, SymInt groups=1) -> Tensor",
        kernel=name,
        variants="function",
        alias=(f"nn.{name}",),
        node="ConvolutionBackward0",
        samples=samples,
        grad=lambda c, g: _backward(c, g, n, False, _ZERO),
    )(conv)

    def padded(input, weight, bias=None, stride=1, padding="valid", dilation=1, groups=1):
        if padding == "valid":
            return fn(input, weight, bias, stride, 0, dilation, groups)
        if padding != "same":
            raise RuntimeError(f"Invalid padding string: '{padding}'")
        if any(s != 1 for s in stride):
            raise RuntimeError("padding='same' is not supported for strided convolutions")
        dilation = tuple(dilation) * (n if len(dilation) == 1 else 1)
        total = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:])]
        if any(t % 2 for t in total):  # one more at the end
            _C.warn_once(
                "Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of "
                "the input be created"
            )
            extra = []
            for t in reversed(total):
                extra += [0, t % 2]
            input = torch.constant_pad_nd(input, extra, 0)
        return fn(input, weight, bias, stride, [t // 2 for t in total], dilation, groups)

    padded.__name__ = padded.__qualname__ = name
    padded.__doc__ = conv.__doc__ + ' "same" padding keeps the size, "valid" adds none.'
    op(
        f"{name}.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[{n}] stride=1, "
        f'str padding="valid", SymInt[{n}] dilation=1, '
        "SymInt groups=1) -> Tensor",
        variants="function",
        alias=(f"nn.{name}",),
        samples=lambda t: [(t(2, 4, *(6, 5, 4)[-n:]), t(6, 4, *(2,) * n), None, 1, "same")],
    )(padded)
    return fn


def _declare_transposed(n):
    name = f"conv_transpose{n}d"

    def conv(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        return _meaning(input, weight, bias, stride, padding, dilation, True, output_padding, groups)

    def samples(t):
        s = (4, 3, 2)[-n:]
        return [
            (t(2, 4, *s), t(4, 3, *(3,) * n), t(3)),
            (t(2, 4, *s), t(4, 2, *(2,) * n), None, 2, 0, 1, 2),
            (t(4, *s), t(4, 2, *(2,) * n)),
        ]

    conv.__name__ = conv.__qualname__ = name
    conv.__doc__ = (
        "Transposed convolution (the gradient of a convolution for its input) of `input` (N, C, d...) with `weight` "
        "(C, O / groups, k...), plus `bias` (O); `output_padding` makes the result larger at its end."
    )
    fn = op(
        f"{name}{'' if n == 1 else '.input'}(Tensor input, Tensor weight, Tensor? bias=None, SymInt[{n}] stride=1, "
        f"SymInt[{n}] padding=0, SymInt[{n}] output_padding=0, SymInt groups=1, SymInt[{n}] dilation=1) -> Tensor",
        kernel=name,
        variants="function",
        alias=(f"nn.{name}",),
        node="ConvolutionBackward0",
        samples=samples,
        grad=lambda c, g: _backward(c, g, n, True, c.output_padding),
    )(conv)
    return fn


conv1d, conv2d, conv3d = (_declare_conv(n) for n in (1, 2, 3))
conv_transpose1d, conv_transpose2d, conv_transpose3d = (_declare_transposed(n) for n in (1, 2, 3))


def _tbc_taps(steps, taps, pad):
    """For each tap that meets some step: its number, the first step of the input and of the output, and how many.
    Padding is left out rather than multiplied: a weight may be NaN."""
    out = steps + 2 * pad - taps + 1
    for k in range(taps):
        first, last = max(0, pad - k), min(out, steps + pad - k)
        if last > first:
            yield k, first + k - pad, first, last - first


def _tbc_sum(parts, steps, like):
    """The sum of (first, tensor), each placed at its first step."""
    total = None
    for first, x in parts:
        x = torch.constant_pad_nd(x, (0, 0, 0, 0, first, steps - first - x.shape[0]))
        total = x if total is None else total + x
    return like.new_zeros((steps, *like.shape[1:])) if total is None else total


def _conv_tbc_self(c, g):
    steps, w = c.self_shape[0], c.weight.conj().mT
    taps = _tbc_taps(steps, w.shape[0], c.pad)
    return _tbc_sum(((i, g.narrow(0, o, n) @ w[k]) for k, i, o, n in taps), steps, g @ w[0])


def _conv_tbc_weight(c, g):
    x, grads = c.self.conj(), [torch.zeros_like(c.weight[0])] * c.weight.shape[0]
    for k, i, o, n in _tbc_taps(x.shape[0], len(grads), c.pad):
        grads[k] = x.narrow(0, i, n).flatten(0, 1).mT @ g.narrow(0, o, n).flatten(0, 1)
    return torch.stack(grads)


@op(
    "conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor",
    variants="function",
    alias=("nn.conv_tbc",),
    tags="own",
    grad={"self": _conv_tbc_self, "weight": _conv_tbc_weight, "bias": lambda c, g: g.sum((0, 1))},
    samples=lambda t: [(t(5, 2, 3), t(2, 3, 4), t(4), 1)],
)
def conv_tbc(self, weight, bias, pad=0):
    """Convolution over time of a (time, batch, channels) tensor with a (k, channels, out) weight."""
    if self.dim() != 3:
        raise RuntimeError("Input must have 3 dims: time, batch, in_channel")
    if weight.dim() != 3:
        raise RuntimeError("Weight tensor must have 3 dims: kernel_width, in_channels, out_channels.")
    if bias.dim() != 1:
        raise RuntimeError("Bias must be 1-D")
    if self.shape[2] != weight.shape[1]:
        raise RuntimeError("Input dim 2 (input channels) is not == dim 1 in the weight tensor")
    if weight.shape[2] != bias.shape[0]:
        raise RuntimeError("Bias size must equal dim 2 in the weight tensor (output channels).")
    steps = self.shape[0] + 2 * pad - weight.shape[0] + 1
    taps = _tbc_taps(self.shape[0], weight.shape[0], pad)
    parts = ((o, self.narrow(0, i, n) @ weight[k]) for k, i, o, n in taps)
    return _tbc_sum(parts, steps, self.new_zeros((1, self.shape[1], bias.shape[0]))) + bias.to(self.dtype)
