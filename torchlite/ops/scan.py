"""Scans along one dim: cumulative sums, products, extremes, differences, trapezoids."""

import torchlite as torch
from .. import _C
from .._core.errors import repeated_dim
from .._core.dispatch_modes import all_examples
from ._declare import bodies, op, python, reference
from ._out import EXACT, Out

_SCALAR_TYPE = "expected scalar_type {r} but found {o}"


def _reverse_sum(x, dim):
    return x.flip(dim).cumsum(dim).flip(dim) if x.numel() > 1 and x.size(dim) > 1 else x


def _cumprod_grad_at_zeros(g, x, result, dim):
    """Before the first zero the quotient holds; after it no factor matters; only the zero itself needs products.
    Without these cases, an infinite factor that does not matter would make NaN of the rest."""
    zero = x == 0
    count = zero.cumsum(dim)
    early = count == 0
    first = zero & (count == 1)
    quotient = _reverse_sum((result * g).masked_fill(~early, 0), dim) / x
    later = x.masked_fill((count != 1) | first, 1).cumprod(dim) * g.masked_fill(count != 1, 0)
    n = early.sum(dim, True)  # factors before the first zero
    before = result.gather(dim, (n - 1).clamp(min=0)).masked_fill(n == 0, 1)
    return torch.where(early, quotient, torch.where(first, later.sum(dim, True) * before, 0))


def _cumprod_grad(g, x, result, dim):
    if x.numel() <= 1 or x.size(dim) == 1:
        return g
    if x.is_meta or not bool(all_examples(x == 0).any()):
        return _reverse_sum(result.conj() * g, dim) / x.conj()
    if not torch.is_grad_enabled():
        return _cumprod_grad_at_zeros(g, x.conj(), result.conj(), dim)
    # around zeros: gradient k sums g_i times the product of all factors up to i but the k-th
    n, parts = x.size(dim), []
    before = torch.ones_like(x.select(dim, 0))
    for k in range(n):
        after = torch.cat([torch.ones_like(x.narrow(dim, 0, 1)), x.narrow(dim, k + 1, n - k - 1)], dim).cumprod(dim)
        parts.append((g.narrow(dim, k, n - k) * (after * before.unsqueeze(dim)).conj()).sum(dim))
        before = before * x.select(dim, k)
    return torch.stack(parts, dim)


@op(
    "cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
    kernel="cumsum",
    inplace=True,
    out=Out(EXACT, "dtype ordered"),
    grad={"self": lambda c, g: _reverse_sum(g, c.dim)},
    samples=lambda t: [(t(3, 4), 0), (t(3, 4), -1), (t(), 0)],
    tags="reference exact",
)
def cumsum(self, dim, dtype=None):
    """Sums of the elements up to each one along `dim`."""
    return reference.cumsum(self, dim, dtype)


@op(
    "cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
    kernel="cumprod",
    inplace=True,
    out=Out(EXACT, "dtype ordered"),
    grad={"self": lambda c, g: _cumprod_grad(g, c.self, c.result, c.dim)},
    samples=lambda t: [(t(3, 4), 0), (t(3, 4), -1)],
    tags="reference exact",
)
def cumprod(self, dim, dtype=None):
    """Products of the elements up to each one along `dim`."""
    return reference.cumprod(self, dim, dtype)


@op(
    "cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)",
    kernel="cummax",
    out=Out(_SCALAR_TYPE),
    nondiff=(1,),
    grad={"self": lambda c, g: _collect(g[0], c.self_shape, c.dim, c.result1)},
    samples=lambda t: [(t(3, 4), 0)],
    tags="reference",
)
def cummax(self, dim):
    """The largest element so far along `dim`, and the position of its last appearance."""
    return reference.cummax(self, dim)


@op(
    "cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)",
    kernel="cummin",
    out=Out(_SCALAR_TYPE),
    nondiff=(1,),
    grad={"self": lambda c, g: _collect(g[0], c.self_shape, c.dim, c.result1)},
    samples=lambda t: [(t(3, 4), 0)],
    tags="reference",
)
def cummin(self, dim):
    """The smallest element so far along `dim`, and the position of its last appearance."""
    return reference.cummin(self, dim)


def _collect(g, shape, dim, index):
    """Adds each gradient to the element its value came from; 16-bit types add up in float32."""
    wide = g.float() if g.dtype in (torch.float16, torch.bfloat16) else g
    return bodies.into_zeros(wide, shape, "scatter_add", dim, index).to(g.dtype) if shape else g.clone()


def _logcumsumexp_grad(g, x, result, dim):
    if not x.dim() or not x.numel():
        return g
    x, result = x.conj(), result.conj()
    if torch.is_grad_enabled():  # to be differentiated again: every pair at once, exp(x_j - result_i) for i >= j
        n, dim = x.size(dim), dim % x.dim()
        pairs = x.movedim(dim, -1).unsqueeze(-2) - result.movedim(dim, -1).unsqueeze(-1)
        later = torch.ones(n, n, dtype=torch.bool, device=x.device).tril() & (
            result.movedim(dim, -1).real != float("-inf")
        ).unsqueeze(-1)
        return (
            (g.movedim(dim, -1).unsqueeze(-1) * pairs.masked_fill(~later, float("-inf")).exp())
            .sum(-2)
            .movedim(-1, dim)
            .contiguous()
        )

    # in log space, where positive and negative numbers go apart
    if x.is_complex():
        return ((g.log() - result).flip(dim).logcumsumexp(dim).flip(dim) + x).exp()

    def part(positive):
        small = g > 0 if positive else g < 0
        log = torch.where(small, torch.where(small, g.abs(), 1).log(), float("-inf"))
        return ((log - result).flip(dim).logcumsumexp(dim).flip(dim) + x).exp()

    return part(True) - part(False)


@op(
    "logcumsumexp(Tensor self, int dim) -> Tensor",
    kernel="logcumsumexp",
    out=Out(_SCALAR_TYPE, "ordered"),
    grad={"self": lambda c, g: _logcumsumexp_grad(g, c.self, c.result, c.dim)},
    samples=lambda t: [(t(3, 4), 0)],
)
def logcumsumexp(self, dim):
    """log(cumsum(exp(x))) along `dim`, without overflow."""
    top = (torch.real(self) if self.is_complex() else self).detach()
    top = top.amax(dim, True) if self.dim() and self.numel() else top
    top = top.masked_fill(top.isinf(), 0)
    return (self - top).exp().cumsum(dim).log() + top


# ---- differences and integrals ---------------------------------------------------------------------------------------
def _edge(x, edge, dim):
    if edge.dim() != x.dim():
        raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    for i, (n, m) in enumerate(zip(x.shape, edge.shape)):
        if n != m and i != dim % x.dim():
            raise RuntimeError(
                "diff expects the shape of tensor to prepend or append to match that of input except along the "
                f"differencing dimension; input.size({i}) = {n}, but got tensor.size({i}) = {m}"
            )
    return edge


@op(
    "diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor",
    out=Out(tags="ordered whole", by="sub"),
    samples=lambda t: [(t(3, 4),), (t(3, 4), 2, 0)],
)
def diff(self, n=1, dim=-1, prepend=None, append=None):
    """The n-th differences of neighbours along `dim`."""
    if self.dim() == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    x = self
    if prepend is not None or append is not None:
        parts = [_edge(self, e, dim) for e in (prepend,) if e is not None] + [self]
        parts += [_edge(self, e, dim) for e in (append,) if e is not None]
        x = torch.cat(parts, dim)
    if n == 0:  # without what was to come before and after
        return self.clone()
    n = min(n, x.size(dim))
    if n and not x.numel():  # all but the last step at once, as an empty tensor may be of any length
        x, n = x.narrow(dim, 0, x.size(dim) - n + 1), 1
    for _ in range(n):
        a, b = x.narrow(dim, 1, x.size(dim) - 1), x.narrow(dim, 0, x.size(dim) - 1)
        x = torch.logical_xor(a, b) if x.dtype == torch.bool else a - b
    return x


def _spacing(y, x, dim, name):
    """Distances of neighbouring sample points, shaped for y."""
    if x.dim() == 1:
        if x.size(0) != y.size(dim):
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        shape = [1] * y.dim()
        shape[dim] = x.size(0) - 1
        return (x[1:] - x[:-1]).view(shape)
    dim = _C.wrap_dim(dim, y.dim())  # of y for both
    if x.dim() < y.dim():
        x = x.reshape([1] * (y.dim() - x.dim()) + list(x.shape))
    return x.narrow(dim, 1, x.size(dim) - 1) - x.narrow(dim, 0, x.size(dim) - 1)


def _ends(y, dim):
    n = y.size(dim) - 1
    return y.narrow(dim, 1, n), y.narrow(dim, 0, n)


def _check_integral(y, x, name):
    if y.dtype == torch.bool or (x is not None and x.dtype == torch.bool):
        given = "`y`" if x is None else "`x` or `y`"
        raise RuntimeError(f"{name}: received a bool input for {given}, but bool is not supported")


def _check_distance(dx, name):
    if isinstance(dx, (bool, complex)):
        raise RuntimeError(f"{name}: Currently, we only support dx as a real number.")


@op(
    "trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", variants="function", samples=lambda t: [(t(3, 4), t(4))]
)
def trapezoid_x(y, x, dim=-1):
    """The integral of y over the sample points x by the trapezoid rule, along `dim`."""
    _check_integral(y, x, "trapezoid")
    if y.size(dim) == 0:
        return y.new_zeros(y.sum(dim).shape)
    step = _spacing(y, x, dim, "trapezoid")
    right, left = _ends(y, dim)
    return ((left + right) * step).sum(dim) / 2.0


@op("trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor", variants="function", samples=lambda t: [(t(3, 4),)])
def trapezoid_dx(y, dx=1, dim=-1):
    """The integral of y over points `dx` apart by the trapezoid rule, along `dim`."""
    _check_integral(y, None, "trapezoid")
    _check_distance(dx, "trapezoid")
    if y.size(dim) == 0:
        return y.new_zeros(y.sum(dim).shape)
    inner = y.sum(dim) - torch.ops.functions._scaled(y.select(dim, 0) + y.select(dim, -1), 0.5)
    return torch.ops.functions._scaled(inner, dx)


@op("trapz.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", variants="function")
def trapz_x(y, x, dim=-1):
    """The same as `trapezoid`."""
    return torch.trapezoid(y, x, dim=dim)


@op("trapz.dx(Tensor y, *, float dx=1, int dim=-1) -> Tensor", variants="function")
def trapz_dx(y, dx=1, dim=-1):
    """The same as `trapezoid`."""
    return torch.trapezoid(y, dx=dx, dim=dim)


@op(
    "cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
    variants="function",
    samples=lambda t: [(t(3, 4), t(4))],
)
def cumulative_trapezoid_x(y, x, dim=-1):
    """Running integrals of y over x by the trapezoid rule."""
    _check_integral(y, x, "cumulative_trapezoid")
    step = _spacing(y, x, dim, "cumulative_trapezoid")
    right, left = _ends(y, dim)
    return ((left + right) * step).cumsum(dim) / 2.0


@op(
    "cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
    variants="function",
    samples=lambda t: [(t(3, 4),)],
)
def cumulative_trapezoid_dx(y, dx=1, dim=-1):
    """Running integrals of y over points `dx` apart by the trapezoid rule."""
    _check_integral(y, None, "cumulative_trapezoid")
    _check_distance(dx, "cumulative_trapezoid")
    right, left = _ends(y, dim)
    return torch.ops.functions._scaled((left + right).cumsum(dim), dx / 2.0)


def _slope(x, dim, spacing, edge_order):
    """Second-order differences along one dim; one-sided at the ends."""
    n = x.size(dim)

    def at(i, count=1):
        return x.narrow(dim, i % n, count)

    if isinstance(spacing, torch.Tensor):
        shape = [1] * x.dim()
        shape[dim] = -1
        h = (spacing[1:] - spacing[:-1]).view(shape)

        def step(i, count=1):
            return h.narrow(dim, i % (n - 1), count)

        left, right = step(0, n - 2), step(1, n - 2)
        a, b, c = -right / (left * (left + right)), (right - left) / (left * right), left / (right * (left + right))
        inner = a * at(0, n - 2) + b * at(1, n - 2) + c * at(2, n - 2)
        if edge_order == 1:
            first, last = (at(1) - at(0)) / step(0), (at(-1) - at(-2)) / step(-1)
        else:
            p, q = step(0), step(1)
            first = -(2 * p + q) / (p * (p + q)) * at(0) + (p + q) / (p * q) * at(1) - p / (q * (p + q)) * at(2)
            p, q = step(-2), step(-1)
            last = q / (p * (p + q)) * at(-3) - (q + p) / (p * q) * at(-2) + (2 * q + p) / (q * (p + q)) * at(-1)
    else:
        inner = (at(2, n - 2) - at(0, n - 2)) / (2 * spacing)
        if edge_order == 1:
            first, last = (at(1) - at(0)) / spacing, (at(-1) - at(-2)) / spacing
        else:
            first = (-1.5 * at(0) + 2 * at(1) - 0.5 * at(2)) / spacing
            last = (0.5 * at(-3) - 2 * at(-2) + 1.5 * at(-1)) / spacing
    return torch.cat([first, inner, last], dim)


def gradient(input, *, spacing=1, dim=None, edge_order=1):
    """The derivatives of sampled values along each of `dim`:
    central differences inside, one-sided ones (of `edge_order`) at the ends.

    `spacing` is the distance of samples, one for each dim, or a tensor of coordinates for each dim."""
    x = input
    spacing = 1 if spacing is None else spacing
    if dim is None:
        dims = list(range(x.dim()))
    else:
        dims = []
        for d in [dim] if isinstance(dim, int) else dim:
            x.size(d)
            if d % x.dim() in dims:
                raise repeated_dim(d % x.dim())
            dims.append(d % x.dim())
    if isinstance(spacing, (tuple, list)):
        if len(spacing) != len(dims):
            if dim is None:
                raise RuntimeError(
                    "torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to "
                    f"'self.dim() = {x.dim()}', since dim argument was not given, "
                    f"but got a list of length {len(spacing)}"
                )
            raise RuntimeError(
                "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to "
                f"have the same length, but got a spacing argument of length {len(spacing)} and a dim argument of "
                f"length {len(dims)}."
            )
        steps = list(spacing)
    elif isinstance(spacing, (int, float, complex)):
        steps = [spacing] * len(dims)
    else:
        raise TypeError(
            f"gradient() received an invalid combination of arguments - got (Tensor, spacing={type(spacing).__name__})"
        )
    if x.dtype == torch.uint8:
        raise RuntimeError("torch.gradient does not support uint8 input.")
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    for d, h in zip(dims, steps):
        if x.size(d) < edge_order + 1:
            raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
        if isinstance(h, torch.Tensor) and (h.dim() != 1 or h.numel() != x.size(d)):
            raise RuntimeError(
                "torch.gradient expected each element of spacing to have a coordinate for each sample of its dimension"
            )
    return tuple(_slope(x, d, h, edge_order) for d, h in zip(dims, steps))


python(gradient, method=False)
