"""Medians, modes, quantiles, and the k-th smallest."""

import torchlite as torch

from .. import _C
from .._core.dispatch_modes import all_examples
from ._declare import bodies, op, reference
from ._out import Out, QUANTILE
from .reduction import _select_grad, _share_all


@op(
    "median(Tensor self) -> Tensor",
    kernel="median",
    tags="reduction",
    node="MedianBackward0",
    grad={"self": lambda c, g: _share_all(g, c.self, c.result)},
    samples=lambda t: [(t(3, 4),), (t(5),)],
)
def median_all(self):
    """The median of all elements: the lower of the two middle ones when their number is even."""
    return bodies.middle_of_all(self, False)


@op(
    "nanmedian(Tensor self) -> Tensor",
    kernel="nanmedian",
    tags="reduction",
    node="NanmedianBackward0",
    grad={"self": lambda c, g: _share_all(g, c.self, c.result)},
    samples=lambda t: [(t(3, 4),)],
)
def nanmedian_all(self):
    """The median of the elements that are not NaN."""
    return bodies.middle_of_all(self, True)


def _kthvalue_dtype(args, result, out, i):
    return "output values must be of same type as input" if i == 0 else "output indices must be of scalar type Long"


def _legacy_type(t):
    """torch.FloatTensor; what had no such class has a name of C++."""
    if t.dtype in (torch.bool, torch.bfloat16) or t.is_complex():
        return f"CPU{t.dtype._scalar_type}Type"
    return t.type()


def _median_dtype(args, result, out, i):
    if i:
        return (
            f"Expected tensor for argument #1 'indices' to have scalar type Long; but got {_legacy_type(out)} instead "
            "(while checking arguments for median)"
        )
    return (
        "Expected tensor for 'values' to have the same type as tensor for argument #2 'self'; but type "
        f"{_legacy_type(out)} does not equal {_legacy_type(result)} (while checking arguments for median)"
    )


@op(
    "median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    kernel="median_dim",
    out=Out(_median_dtype, "backwards"),
    nondiff=(1,),
    tags="reduction",
    node="MedianBackward1",
    grad={"self": lambda c, g: _select_grad(g[0], c.self_shape, c.dim, c.keepdim, c.result1)},
    samples=lambda t: [(t(3, 4), 0)],
)
def median_dim(self, dim, keepdim=False):
    """Medians along `dim` and their positions."""
    return bodies.middle(self, dim, keepdim, False)


@op(
    "nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    kernel="nanmedian_dim",
    out=Out(_median_dtype, "backwards"),
    nondiff=(1,),
    tags="reduction",
    node="NanmedianBackward1",
    grad={"self": lambda c, g: _select_grad(g[0], c.self_shape, c.dim, c.keepdim, c.result1)},
    samples=lambda t: [(t(3, 4), 0)],
)
def nanmedian_dim(self, dim, keepdim=False):
    """Medians along `dim` of what is not NaN, and their positions."""
    return bodies.middle(self, dim, keepdim, True)


@op(
    "mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
    kernel="mode",
    out=Out("expected scalar type '{r}' but got '{o}' for {part} output"),
    nondiff=(1,),
    tags="reduction reference",
    grad={"self": lambda c, g: _select_grad(g[0], c.self_shape, c.dim, c.keepdim, c.result1)},
    samples=lambda t: [(t(3, 4), 0)],
)
def mode(self, dim=-1, keepdim=False):
    """The most frequent values along `dim` (the smallest of equally frequent ones) and a position of each."""
    return reference.mode(self, dim, keepdim)


@op(
    "kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
    kernel="kthvalue",
    out=Out(_kthvalue_dtype, "apart"),
    nondiff=(1,),
    tags="reduction reference",
    grad={"self": lambda c, g: _select_grad(g[0], c.self_shape, c.dim, c.keepdim, c.result1)},
    samples=lambda t: [(t(3, 4), 2), (t(3, 4), 1, 0, True)],
)
def kthvalue(self, k, dim=-1, keepdim=False):
    """The k-th smallest values along `dim` (k counts from 1) and their positions."""
    return reference.kthvalue(self, k, dim, keepdim)


_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantile(x, q, dim, keepdim, interpolation, ignore_nan, name="quantile"):
    if x.numel() == 0:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if x.dtype not in (torch.float32, torch.float64):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    scalar = not isinstance(q, torch.Tensor)
    if scalar:
        if not 0 <= q <= 1:
            raise RuntimeError(f"quantile() q must be in the range [0, 1] but got {q:g}")
        q = torch.tensor(q, dtype=x.dtype, device=x.device)
    if q.dim() > 1:
        raise RuntimeError("quantile() q must be a scalar or 1D tensor")
    if q.dtype != x.dtype:
        raise RuntimeError("quantile() q tensor must be same dtype as the input tensor")
    if q.device.type == "cpu" and not bool(all_examples((q >= 0) & (q <= 1)).all()):
        raise RuntimeError("quantile() q values must be in the range [0, 1]")
    if interpolation not in _INTERPOLATIONS:
        raise RuntimeError(
            "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, "
            f"but got {interpolation}"
        )
    # the ops are PyTorch's, in its order: so are the views, the history and the gradient's layout
    if dim is None:
        ordered, out = x.flatten().sort()[0], [1] * x.dim() if keepdim else []
    else:
        dim, out = _C.wrap_dim(dim, max(x.dim(), 1)), list(x.shape)
        out[dim : dim + 1] = [1] if keepdim and out else []
        moved = x if dim == x.dim() - 1 else x.unsqueeze(-1).transpose(dim, -1)
        ordered = moved.sort()[0]
    n = ordered.size(-1)
    sequence = ordered.view(out + [n])
    points = q.reshape(-1)
    if ignore_nan:
        rank = points * ((~sequence.isnan()).sum(-1, True) - 1)
        rank = rank.masked_fill(rank < 0, 0)
    else:
        # a row with NaN sorts it last: every rank of that row points there
        last = sequence.detach().isnan().any(-1, True)
        rank = torch.where(last, n - 1, points * (n - 1)).to(x.dtype)
    if interpolation == "lower":
        rank = rank.floor()
    elif interpolation == "higher":
        rank = rank.ceil()
    elif interpolation == "nearest":
        rank = rank.round()
    below = rank.long()
    values = sequence.gather(-1, below)
    if interpolation in ("linear", "midpoint"):
        weight = torch.full_like(rank, 0.5) if interpolation == "midpoint" else rank - below.to(x.dtype)
        above = sequence.gather(-1, rank.ceil().long())
        values = values.lerp(above, weight)
    if q.dim() == 0:
        return values.squeeze_(-1)
    return values.unsqueeze_(0).transpose_(0, -1).squeeze_(-1)


@op(
    "quantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor",
    "quantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor",
    out=Out(QUANTILE, "copied late"),
    tags="reduction own",
    samples=lambda t: [(t(3, 4), 0.3), (t(3, 4), 0.5, 0, True)],
)
def quantile(self, q, dim=None, keepdim=False, interpolation="linear"):
    """The q-th quantiles along `dim` (of all elements when None); a 1-d q adds a leading dim."""
    return _quantile(self, q, dim, keepdim, interpolation, False)


@op(
    "nanquantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor",
    "nanquantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, "
    "str interpolation='linear') -> Tensor",
    out=Out(QUANTILE, "copied late"),
    tags="reduction own",
    samples=lambda t: [(t(3, 4), 0.3)],
)
def nanquantile(self, q, dim=None, keepdim=False, interpolation="linear"):
    """`quantile` of what is not NaN."""
    return _quantile(self, q, dim, keepdim, interpolation, True)
