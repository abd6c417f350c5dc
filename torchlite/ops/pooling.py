"""Pooling: maximum, average, adaptive and fractional windows, and putting maxima back."""

from __future__ import annotations

import math

import torchlite as torch
from torchlite import _C
from torchlite._C import suggests_channels_last as _last

from .._core.errors import negative_dimension, not_implemented
from ._declare import _functions, bodies, op
from ._out import EXACT, Out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _hidden(*schemas, **kw):
    return op(*schemas, module="_hidden", **kw)


# ---- windows ---------------------------------------------------------------------------------------------------------
# ---- maximum ---------------------------------------------------------------------------------------------------------
@_hidden(
    "_max_pool_backward(Tensor grad_output, Tensor indices, SymInt[] input_size, int dims, Any window=None, "
    "bool last=False) -> Tensor",
    kernel="_max_pool_backward",
    tags="own",
    grad={
        "grad_output": lambda c, g: (
            g.flatten(-c.dims).gather(-1, c.indices.flatten(-c.dims)).reshape(c.grad_output_shape)
        )
    },
)
def _max_pool_backward(grad_output, indices, input_size, dims, window, last):
    """Sums `grad_output` into zeros of `input_size`, at `indices` counted inside the last `dims` dims;
    `last`: channels last.

    `window` says where else to look for those of an element:
    (kernel_size, stride, padding, dilation), or () for adaptive pooling."""
    lead, plane = tuple(input_size[:-dims]), math.prod(input_size[-dims:])
    g = grad_output.new_zeros((*lead, plane)).scatter_add(-1, indices.flatten(-dims), grad_output.flatten(-dims))
    return bodies.in_format(g.reshape(input_size), last)


def _check_rows(size, kernel_size, stride, padding, dilation, ceil_mode):
    """The errors of max_pool1d, whose words are not those of the pair with indices."""
    given = kernel_size, stride or kernel_size, padding, dilation
    if any(not isinstance(v, int) and len(v) != 1 for v in given):
        return
    k, s, p, d = (v if isinstance(v, int) else v[0] for v in given)
    for name, v in (("kernel_size", k), ("stride", s), ("dilation", d)):
        if v <= 0:
            raise RuntimeError(f"max_pool1d() {name} must be greater than zero, but got {v}")
    if p > k // 2:
        raise RuntimeError(
            f"max_pool1d() padding should be at most half of kernel size, but got padding={p} and kernel_size={k}"
        )
    for n in size:
        span = n + 2 * p - d * (k - 1) - 1 + (s - 1 if ceil_mode else 0)
        if span < 0:
            raise RuntimeError(f"max_pool1d() Invalid computed output size: {span // s + 1}")


def _declare_max(n):
    where = "" if n == 1 else "_nn"
    args = (
        f"Tensor self, int[{n}] kernel_size, int[{n}] stride=[], int[{n}] padding=0, int[{n}] dilation=1, "
        "bool ceil_mode=False"
    )
    size = (7, 6, 5)[-n:]

    def with_indices(self, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
        """Maxima over windows, and their positions inside a plane."""
        k = _spread(kernel_size, n)
        window = k, _spread(stride, n) or k, _spread(padding, n), _spread(dilation, n), ceil_mode
        return bodies.largest(self, n, lambda x, fill: bodies.windows(x, n, *window, fill), n == 3)

    with_indices.__name__ = f"max_pool{n}d_with_indices"
    pair = op(
        f"max_pool{n}d_with_indices({args}) -> (Tensor, Tensor)",
        kernel=f"max_pool{n}d_with_indices",
        variants="function",
        module=where,
        nondiff=(1,),
        formal="self",
        grad={
            "self": lambda c, g: _max_pool_backward(
                g[0], c.result1, c.self_shape, n, (c.kernel_size, c.stride, c.padding, c.dilation), _last(c.self_layout)
            )
        },
        samples=lambda t: [(t(2, 3, *size), 2), (t(3, *size), 3, 2, 1, 1, True)],
    )(with_indices)

    def pool(self, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
        if n == 1:
            _check_rows(self.shape[-1:], kernel_size, stride, padding, dilation, ceil_mode)
        return pair(self, kernel_size, stride, padding, dilation, ceil_mode)[0]

    pool.__name__ = f"max_pool{n}d"
    pool.__doc__ = f"Maxima over windows of the last {n} dim(s) of (N, C, d...) or (C, d...)."
    values = op(
        f"max_pool{n}d({args}) -> Tensor",
        kernel=f"max_pool{n}d",
        variants="function",
        samples=lambda t: [(t(2, 3, *size), 2), (t(3, *size), 3, 2, 1, 1, True)],
    )(pool)

    def functional(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        run = pair if return_indices else values
        return run(input, kernel_size, () if stride is None else stride, padding, dilation, ceil_mode)

    functional.__name__ = functional.__qualname__ = f"max_pool{n}d"
    functional.__doc__ = pool.__doc__ + " `return_indices` adds their positions."

    def indices(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        return pair(input, kernel_size, () if stride is None else stride, padding, dilation, ceil_mode)

    indices.__name__ = indices.__qualname__ = f"max_pool{n}d_with_indices"
    indices.__doc__ = functional.__doc__
    _functions.setdefault("nn", {}).update({functional.__name__: functional, indices.__name__: indices})


for _n in (1, 2, 3):
    _declare_max(_n)


# ---- average ---------------------------------------------------------------------------------------------------------
@_hidden(
    "_avg_pool_backward(Tensor grad_output, SymInt[] input_size, int[] kernel_size, int[] stride, int[] padding, "
    "bool ceil_mode, bool count_include_pad, int? divisor_override, bool last=False) -> Tensor",
    kernel="_avg_pool_backward",
    tags="own",
    grad={
        "grad_output": lambda c, g: _AVG[len(c.kernel_size)](
            g, c.kernel_size, c.stride, c.padding, c.ceil_mode, c.count_include_pad, c.divisor_override
        )
    },
)
def _avg_pool_backward(
    grad_output, input_size, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, last
):
    """Spreads every average's gradient over its window."""
    n = len(kernel_size)
    places = bodies.windows(bodies.plane(input_size, n), n, kernel_size, stride, padding, (1,) * n, ceil_mode, -1)
    by = divisor_override or bodies.window_sizes(
        grad_output.new_empty(input_size), grad_output, kernel_size, stride, padding, count_include_pad
    )
    return bodies.collected(bodies.quotient(grad_output, by), places, input_size, last)


def _spread(v, n):
    v = (v,) if isinstance(v, int) else tuple(v)
    return v * n if len(v) == 1 else v


def _declare_avg(n):
    last = ", int? divisor_override=None" if n > 1 else ""
    size = (7, 6, 5)[-n:]

    def pool(self, kernel_size, stride=(), padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        k = _spread(kernel_size, n)
        window = k, _spread(stride, n) or k, _spread(padding, n)
        total = bodies.windows(self, n, *window, (1,) * n, ceil_mode, 0).sum(-1, dtype=self.dtype)
        by = divisor_override or bodies.window_sizes(self, total, *window, count_include_pad)
        return bodies.as_asked(bodies.quotient(total, by), self, n)

    pool.__name__ = f"avg_pool{n}d"
    pool.__doc__ = (
        f"Averages over windows of the last {n} dim(s) of (N, C, d...) or (C, d...); "
        "`count_include_pad` counts the padding as zeros, `divisor_override` replaces the window's size."
    )

    def backward(g, layout, k, s, p, ceil_mode, include, divisor):
        k = _spread(k, n)
        return _avg_pool_backward(
            g, layout[0], k, _spread(s, n) or k, _spread(p, n), ceil_mode, include, divisor, n < 3 and _last(layout)
        )

    if n == 1:

        def grad(c, g):
            return backward(
                g, c.self_layout, c.kernel_size, c.stride, c.padding, c.ceil_mode, c.count_include_pad, None
            )
    else:

        def grad(c, g):
            return backward(
                g,
                c.self_layout,
                c.kernel_size,
                c.stride,
                c.padding,
                c.ceil_mode,
                c.count_include_pad,
                c.divisor_override,
            )

    declared = op(
        f"avg_pool{n}d(Tensor self, int[{n}] kernel_size, int[{n}] stride=[], int[{n}] padding=0, "
        f"bool ceil_mode=False, bool count_include_pad=True{last}) -> Tensor",
        kernel=f"avg_pool{n}d",
        variants="function",
        module="" if n == 1 else "_nn",
        out=Out(EXACT) if n > 1 else False,
        grad={"self": grad},
        formal="self",
        tags="keeps",
        samples=lambda t: [(t(2, 3, *size), 2), (t(3, *size), 3, 2, 1, True, False)],
    )(pool)

    if n == 1:
        _functions.setdefault("_hidden", {})["avg_pool1d"] = declared
        public = _functions[""]["avg_pool1d"] = _stride_none(declared, "avg_pool1d", pool.__doc__)
        _functions.setdefault("nn", {})["avg_pool1d"] = public
        return lambda g, k, s, p, ceil, include, divisor: declared(g, k, s, p, ceil, include)
    _functions.setdefault("nn", {})[pool.__name__] = _stride_none(declared, pool.__name__, pool.__doc__)
    return declared


def _stride_none(fn, name, doc):
    """torch.nn.functional's form: stride=None stands for the kernel's size."""
    pool: Any
    if name == "avg_pool1d":

        def pool1d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
            return fn(input, kernel_size, () if stride is None else stride, padding, ceil_mode, count_include_pad)

        pool = pool1d
    else:

        def poolnd(
            input,
            kernel_size,
            stride=None,
            padding=0,
            ceil_mode=False,
            count_include_pad=True,
            divisor_override=None,
            *,
            out=None,
        ):
            kw = {} if out is None else {"out": out}
            return fn(
                input,
                kernel_size,
                () if stride is None else stride,
                padding,
                ceil_mode,
                count_include_pad,
                divisor_override,
                **kw,
            )

        pool = poolnd
    pool.__name__ = pool.__qualname__ = name
    pool.__doc__ = doc
    return pool


_AVG: dict[int, Any] = {n: _declare_avg(n) for n in (1, 2, 3)}


# ---- adaptive --------------------------------------------------------------------------------------------------------
@_hidden(
    "_adaptive_avg_pool_backward(Tensor grad_output, SymInt[] input_size, int dims, bool last=False) -> Tensor",
    kernel="_adaptive_avg_pool_backward",
    tags="own",
    grad={"grad_output": lambda c, g: _ADAPTIVE[c.dims](g, c.grad_output_shape[-c.dims :])},
)
def _adaptive_avg_pool_backward(grad_output, input_size, dims, last):
    """Spreads every average's gradient over its window."""
    places = bodies.parts(bodies.plane(input_size, dims), dims, grad_output.shape[-dims:], -1)
    places = places.to(grad_output.device)
    return bodies.collected(grad_output / (places >= 0).sum(-1), places, input_size, last)


def _check_adaptive_grad(g, n, kind):
    if 0 in g.shape[1:]:
        shape = [*g.shape[:-1], 1, g.shape[-1]] if n == 1 else list(g.shape)  # PyTorch pools rows as images of height 1
        raise RuntimeError(
            f"adaptive_{kind}_pool{max(n, 2)}d_backward(): Expected grad_output to have non-zero size for non-batch "
            f"dimensions, but grad_output has sizes {shape} with dimension {shape.index(0, 1)} being empty"
        )


def _adaptive_avg_grad(c, g, n):
    if any(o != 1 for o in c.output_size):  # averages of everything are means in PyTorch
        _check_adaptive_grad(g, n, "avg")
    return _adaptive_avg_pool_backward(g, c.self_shape, n, n < 3 and _last(c.self_layout))


def _adaptive_max_grad(c, g, n):
    _check_adaptive_grad(g, n, "max")
    return _max_pool_backward(g, c.result1, c.self_shape, n, (), n < 3 and _last(c.self_layout))


def _check_adaptive(name, x, output_size, n, maximum):
    if x.dim() not in (n + 1, n + 2):
        if n == 1:
            raise RuntimeError(
                f"Expected 2 to 3 dimensions, but got {x.dim()}-dimensional tensor for argument #1 'self' (while "
                f"checking arguments for {name})"
            )
        raise RuntimeError(
            f"{name}(): Expected {n + 1}D or {n + 2}D tensor, but got{':' if maximum else ''} {list(x.shape)}"
        )
    empty = next((d for d in range(1, x.dim()) if not x.shape[d]), None)
    if maximum and empty is not None:
        raise RuntimeError(
            f"{name}(): Expected input to have non-zero size for non-batch dimensions, "
            f"but input has sizes {list(x.shape)} with dimension {empty} being empty"
        )
    if len(output_size) != n:
        if n == 1:
            raise RuntimeError(f"{name}() argument 'output_size' should contain one int (got {len(output_size)})")
        if maximum:
            raise RuntimeError(f"{name}(): internal error: output_size.size() must be {n}")
        raise RuntimeError(f"{name}: output_size must be {n}")
    if any(o < 0 for o in output_size):
        inside = ", ".join(str(o) for o in output_size)
        raise RuntimeError(
            f"{name}: elements of output_size must be greater than or equal to 0 but received {{{inside}}}"
        )
    for d in range(x.dim() - n, x.dim()):
        if x.shape[d] == 0:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
                f"{list(x.shape)} with dimension {d} being empty"
            )


def _declare_adaptive(n):
    size = (7, 6, 5)[-n:]

    def kernel_avg(self, output_size):
        """Averages over as many windows as the output has elements."""
        ones = torch.ones(self.shape[-n:], dtype=self.dtype, device=self.device)
        total, by = (bodies.parts(x, n, output_size, 0).sum(-1) for x in (self, ones))
        return bodies.as_asked(total / by, self, n)

    kernel_avg.__name__ = f"_adaptive_avg_pool{n}d"
    avg = _hidden(
        f"_adaptive_avg_pool{n}d(Tensor self, SymInt[{n}] output_size) -> Tensor",
        kernel=f"adaptive_avg_pool{n}d",
        grad={"self": lambda c, g: _adaptive_avg_grad(c, g, n)},
        formal="self",
        samples=lambda t: [(t(2, 3, *size), (3,) * n)],
    )(kernel_avg)

    def kernel_max(self, output_size):
        """Maxima over as many windows as the output has elements, and their positions."""
        return bodies.largest(self, n, lambda x, fill: bodies.parts(x, n, output_size, fill))

    kernel_max.__name__ = f"_adaptive_max_pool{n}d"
    largest = _hidden(
        f"_adaptive_max_pool{n}d(Tensor self, int[] output_size) -> (Tensor, Tensor)",
        kernel=f"adaptive_max_pool{n}d",
        nondiff=(1,),
        grad={"self": lambda c, g: _adaptive_max_grad(c, g[0], n)},
        formal="self",
        samples=lambda t: [(t(2, 3, *size), (3,) * n)],
    )(kernel_max)

    def full(x, output_size):
        if not isinstance(output_size, int) and x.dim() <= len(output_size):
            raise ValueError(f"Input dimension should be at least {len(output_size) + 1}")
        out = (output_size,) * n if isinstance(output_size, int) else tuple(output_size)
        return tuple(s if o is None else o for o, s in zip(out, x.shape[-len(out) :]))

    def adaptive_avg(input, output_size):
        output_size = full(input, output_size)
        _check_adaptive(f"adaptive_avg_pool{n}d", input, output_size, n, False)
        if all(o == 1 for o in output_size) and (not input.is_floating_point() or input.is_contiguous()):
            return input.mean(tuple(range(-n, 0)), True)  # which is faster, and PyTorch's node
        return avg(input, output_size)

    adaptive_avg.__name__ = adaptive_avg.__qualname__ = f"adaptive_avg_pool{n}d"
    adaptive_avg.__doc__ = (
        f"Averages of the last {n} dim(s), to `output_size` (an int, or one for each dim; None keeps a dim)."
    )

    def adaptive_max_with(input, output_size, return_indices=False):
        output_size = full(input, output_size)
        _check_adaptive(f"adaptive_max_pool{n}d", input, output_size, n, True)
        return largest(input, output_size)

    adaptive_max_with.__name__ = adaptive_max_with.__qualname__ = f"adaptive_max_pool{n}d_with_indices"
    adaptive_max_with.__doc__ = f"Maxima of the last {n} dim(s), to `output_size`, and their positions."

    def adaptive_max(input, output_size, return_indices=False):
        pair = adaptive_max_with(input, output_size)
        return pair if return_indices else pair[0]

    adaptive_max.__name__ = adaptive_max.__qualname__ = f"adaptive_max_pool{n}d"
    adaptive_max.__doc__ = f"Maxima of the last {n} dim(s), to `output_size`; `return_indices` adds their positions."
    _functions.setdefault("nn", {}).update({f.__name__: f for f in (adaptive_avg, adaptive_max, adaptive_max_with)})
    raw = _functions.setdefault("" if n == 1 else "_nn", {})
    raw[adaptive_avg.__name__] = adaptive_avg
    raw[f"adaptive_max_pool{n}d"] = lambda self, output_size: adaptive_max_with(self, output_size)
    return avg


_ADAPTIVE: dict[int, Any] = {n: _declare_adaptive(n) for n in (1, 2, 3)}


# ---- unpooling -------------------------------------------------------------------------------------------------------
def _unpool(self, indices, output_size, n):
    _C.alert(f"max_unpooling{n}d_forward_out")
    if indices.dtype != torch.int64:
        raise RuntimeError(f"elements in indices should be type int64 but got: {indices.dtype._scalar_type}")
    if len(output_size) != n:
        words = {2: "two elements (height, width)", 3: "three elements (depth, height, width)"}[n]
        raise RuntimeError(f"There should be exactly {words} in output_size, but got {len(output_size)} elements.")
    if self.dim() not in (n + 1, n + 2):
        raise RuntimeError(
            f"Input to max_unpooling{n}d should be a {n + 1}d or {n + 2}d Tensor, but got a tensor with "
            f"{self.dim()} dimensions."
        )
    if self.shape != indices.shape:
        raise RuntimeError(
            "Expected shape of indices to be same as that of the input tensor "
            f"({list(self.shape)}) but got indices tensor with shape: {list(indices.shape)}"
        )
    if not self.is_floating_point():
        raise not_implemented(f"max_unpool{n}d", self.dtype)
    lead, total = tuple(self.shape[:-n]), math.prod(output_size)
    flat = indices.flatten(-n)
    if flat.numel() and not flat.is_meta and (int(flat.min()) < 0 or int(flat.max()) >= total):
        raise RuntimeError(
            f"Found an invalid max index: {int(flat.max())} (output volumes are of size "
            + "x".join(str(o) for o in output_size)
            + ")"
        )
    y = self.new_zeros(lead + (total,)).scatter(-1, flat, self.flatten(-n)).reshape(lead + tuple(output_size))
    return y.clone(memory_format=torch.channels_last) if n == 2 and _last(self) else y


@op("max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) -> Tensor", module="_nn")
def max_unpool2d(self, indices, output_size):
    """Puts the values of `self` at `indices` of zero planes of `output_size`."""
    return _unpool(self, indices, output_size, 2)


@op(
    "max_unpool3d(Tensor self, Tensor indices, SymInt[3] output_size, int[3] stride, int[3] padding) -> Tensor",
    module="_nn",
)
def max_unpool3d(self, indices, output_size, stride, padding):
    """Puts the values of `self` at `indices` of zero volumes of `output_size`."""
    return _unpool(self, indices, output_size, 3)


# ---- fractional ------------------------------------------------------------------------------------------------------
def _starts(sample, inputs, outputs, kernel):
    """First input of every window for the random numbers `sample` (N, C): (N, C, outputs)."""
    if outputs < 2:
        return torch.full(tuple(sample.shape) + (outputs,), inputs - kernel, dtype=torch.int64, device=sample.device)
    alpha = (inputs - kernel) / (outputs - 1)
    i = torch.arange(outputs, dtype=sample.dtype, device=sample.device)
    u = sample.unsqueeze(-1)
    out = ((i + u) * alpha).to(torch.int64) - (u * alpha).to(torch.int64)
    out[..., -1] = inputs - kernel
    return out


def _declare_fractional(n):
    name = f"fractional_max_pool{n}d"
    letters = "THW"[3 - n :]

    def pool(self, kernel_size, output_size, random_samples):
        k, out = ((v,) * n if isinstance(v, int) else tuple(v) for v in (kernel_size, output_size))
        for what, v in (("kernel_size", k), ("output_size", out)):
            if len(v) != n:
                raise RuntimeError(f"{name}: {what} must either be a single Int or tuple of {'three ' * (n == 3)}Ints")
        where = name + "_out" * (n == 3)
        if self.dim() not in (n + 1, n + 2):
            raise RuntimeError(f"{where}(): Expected {n + 1}D or {n + 2}D tensor, but got: {list(self.shape)}")
        if 0 in self.shape[1:]:
            raise RuntimeError(
                f"{where}(): Expected input to have non-zero size for non-batch dimensions, "
                f"but got{list(self.shape)} with dimension {list(self.shape).index(0, 1)} being empty."
            )
        if min(k) < 1:
            raise RuntimeError(f"{name}: kernel_size must be greater than zero, but got {list(k)}")
        x = self if self.dim() == n + 2 else self.unsqueeze(0)
        size = x.shape[-n:]
        for i in range(n):
            if out[i] + k[i] - (n == 2) > size[i]:  # PyTorch leaves one element of volumes out
                word = {"T": "time", "H": "height", "W": "width"}[letters[i]]
                raise RuntimeError(f"{where}(): pool {word} {k[i]} too large relative to input {word} {size[i]}")
        if min(out) < 0:
            raise negative_dimension(min(out), [*self.shape[:-n], *out])
        if random_samples.dtype != self.dtype:
            raise RuntimeError("Expect _random_samples to have the same dtype as input")
        for i, (want, what) in enumerate(((x.shape[0], "batch"), (x.shape[1], "channel"), (n, ""))):
            have = random_samples.shape[i] if random_samples.dim() == 3 else -1
            if have < want if i == 0 else have != want:
                if have < 0:
                    raise RuntimeError("Expect _random_samples to have 3 dimensions, got %d" % random_samples.dim())
                relation = "no less then" if i == 0 else "equals to"
                wanted = f"equals to {n}; got {have}." if i == 2 else f"{relation} input {what} size."
                raise RuntimeError(f"Expect _random_samples.size({i}) " + wanted)
        if not self.is_floating_point():
            raise not_implemented(f"{name}_out_frame", self.dtype)
        random_samples = random_samples[: x.shape[0]]  # in two dims the last dim comes first
        index = torch.zeros(tuple(x.shape[:2]) + (1,) * (2 * n), dtype=torch.int64, device=x.device)
        for i in range(n):
            start = _starts(random_samples[..., n - 1 - i] if n == 2 else random_samples[..., i], size[i], out[i], k[i])
            at = start.unsqueeze(-1) + torch.arange(k[i], device=x.device)
            shape = list(x.shape[:2]) + [1] * (2 * n)
            shape[2 + i], shape[2 + n + i] = out[i], k[i]
            index = index * size[i] + at.reshape(shape)
        index = index.flatten(2 + n)
        lead = tuple(x.shape[:2])
        flat = x.reshape(lead + (math.prod(x.shape[2:]),))
        values = flat.gather(2, index.reshape(lead + (math.prod(index.shape[2:]),))).reshape(index.shape)
        best = values.argmax(-1, keepdim=True)
        result = values.gather(-1, best).squeeze(-1), index.gather(-1, best).squeeze(-1)
        return result if self.dim() == n + 2 else tuple(r.squeeze(0) for r in result)

    pool.__name__ = pool.__qualname__ = name
    pool.__doc__ = (
        "Maxima over windows at pseudo-random steps given by `random_samples` (N, C, dims), and their positions."
    )
    declared = op(
        f"{name}(Tensor self, int[{n}] kernel_size, int[{n}] output_size, Tensor random_samples) -> (Tensor, Tensor)",
        module="_nn",
        nondiff=(1,),
    )(pool)

    def with_indices(
        input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None
    ):
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
        if output_size is None:
            ratio = (output_ratio,) * n if isinstance(output_ratio, (int, float)) else tuple(output_ratio)
            if n == 2 and len(ratio) > n:
                raise ValueError(f"{name} requires output_ratio to either be a single Int or tuple of Ints.")
            output_size = [int(input.size(i - n) * ratio[i]) for i in range(n)]
        if _random_samples is None:
            lead = (1 if input.dim() == n + 1 else input.size(0), input.size(-n - 1))
            _random_samples = torch.rand(lead + (n,), dtype=input.dtype, device=input.device)
        return declared(input, kernel_size, output_size, _random_samples)

    with_indices.__name__ = with_indices.__qualname__ = f"{name}_with_indices"
    with_indices.__doc__ = pool.__doc__

    def functional(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        pair = with_indices(input, kernel_size, output_size, output_ratio, True, _random_samples)
        return pair if return_indices else pair[0]

    functional.__name__ = functional.__qualname__ = name
    functional.__doc__ = "Maxima over windows at random steps, to `output_size` or a ratio of the input's size."
    _functions.setdefault("nn", {}).update({f.__name__: f for f in (functional, with_indices)})


for _n in (2, 3):
    _declare_fractional(_n)
