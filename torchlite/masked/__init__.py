"""torch.masked: reductions and normalisations that ignore masked-out elements (False in `mask`)."""

import torchlite as torch

__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "cumprod",
    "cumsum",
    "log_softmax",
    "logaddexp",
    "logsumexp",
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

_INF = float("inf")


def _mask_of(input, mask):
    """`mask` as bool, in the shape of the input; None: everything counts."""
    if mask is None:
        return None
    if mask.shape != input.shape:
        if mask.dim() > input.dim():
            raise IndexError(
                "_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)"
            )
        mask = torch.broadcast_to(mask.clone(), input.shape).to(dtype=torch.bool)
    return mask.to(torch.bool) if mask.dtype != torch.bool else mask


def _dims(dim, ndim):
    """The reduced dims in order; None and () mean all."""
    if dim is None or (isinstance(dim, (tuple, list)) and len(dim) == 0):
        return tuple(range(ndim))
    dims = []
    for d in (dim,) if isinstance(dim, int) else dim:
        if d in dims:
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
        if not -max(ndim, 1) <= d < max(ndim, 1):
            raise IndexError(f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {d})")
        dims.append(d % ndim if ndim else 0)
    return tuple(sorted(dims))


def _lowest(dtype, name):
    if dtype.is_floating_point:
        return -_INF
    if dtype == torch.bool or dtype.is_complex:
        raise NotImplementedError(f"identity of {name} on {dtype} input")
    return torch.iinfo(dtype).min


def _highest(dtype, name):
    if dtype.is_floating_point:
        return _INF
    if dtype == torch.bool or dtype.is_complex:
        raise NotImplementedError(f"identity of {name} on {dtype} input")
    return torch.iinfo(dtype).max


def _filled(input, mask, value):
    mask = _mask_of(input, mask)
    return (
        input if mask is None else torch.where(mask, input, torch.tensor(value, dtype=input.dtype, device=input.device))
    )


def _sum_dtype(input, dtype):
    if dtype is None:
        return input.dtype if input.is_floating_point() or input.is_complex() else torch.int64
    return dtype


def _typed(input, dtype):
    return input if dtype is None or dtype == input.dtype else input.to(dtype)


def sum(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Sums of the elements that are not masked out; 0 where there is none."""
    dtype = _sum_dtype(input, dtype)
    return torch.sum(_filled(input, mask, 0), _dims(dim, input.ndim), bool(keepdim), dtype=dtype)


def prod(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Products of the elements that are not masked out; 1 where there is none."""
    dtype = _sum_dtype(input, dtype)
    x = _filled(input, mask, 1)
    for d in reversed(_dims(dim, input.ndim)):
        x = x.prod(d, keepdim=bool(keepdim))
    return x.to(dtype)


def cumsum(input, dim, *, dtype=None, mask=None):
    """Running sums that pass over masked-out elements."""
    return torch.cumsum(_filled(input, mask, 0), dim, dtype=input.dtype if dtype is None else dtype)


def cumprod(input, dim, *, dtype=None, mask=None):
    """Running products that pass over masked-out elements."""
    return torch.cumprod(_filled(input, mask, 1), dim, dtype=input.dtype if dtype is None else dtype)


def amax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Largest elements that are not masked out."""
    x = _typed(_filled(input, mask, _lowest(input.dtype, "amax")), dtype)
    return torch.amax(x, _dims(dim, input.ndim), bool(keepdim))


def amin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Smallest elements that are not masked out."""
    x = _typed(_filled(input, mask, _highest(input.dtype, "amin")), dtype)
    return torch.amin(x, _dims(dim, input.ndim), bool(keepdim))


def argmax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Positions of the largest elements, in the input's dtype (or `dtype`), as PyTorch returns them."""
    x = _filled(input, mask, _lowest(input.dtype, "argmax"))
    return torch.argmax(x, dim, bool(keepdim)).to(input.dtype if dtype is None else dtype)


def argmin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Positions of the smallest elements, in the input's dtype (or `dtype`), as PyTorch returns them."""
    x = _filled(input, mask, _highest(input.dtype, "argmin"))
    return torch.argmin(x, dim, bool(keepdim)).to(input.dtype if dtype is None else dtype)


def mean(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Means of the elements that are not masked out; NaN where there is none."""
    target, source = (input.dtype, "Input") if dtype is None else (dtype, "Optional")
    if not (target.is_floating_point or target.is_complex):
        raise ValueError(
            f"mean(): Could not infer output dtype. {source} dtype must be either a floating point or complex "
            f"dtype. Got: {target}"
        )
    dims = _dims(dim, input.ndim)
    if mask is None:
        return torch.mean(input, dims, bool(keepdim), dtype=dtype)
    count = _mask_of(input, mask).sum(dims, bool(keepdim))
    return sum(input, dim, keepdim=keepdim, dtype=target, mask=mask) / count


def median(input, dim=-1, *, keepdim=False, dtype=None, mask=None):
    """Medians of the elements that are not masked out; NaN where there is none."""
    dtype = input.dtype if dtype is None else dtype
    dim = _dims(dim, input.ndim)[0]
    x = _typed(input, dtype)
    keep = _mask_of(input, mask)
    if not dtype.is_floating_point:
        if keep is not None and not bool(keep.any(dim).all()):
            raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
        if keep is None:
            return torch.median(x, dim, bool(keepdim)).values
        wide = torch.where(keep, x.to(torch.float64), float("nan"))
        return torch.nanmedian(wide, dim, bool(keepdim)).values.to(dtype)
    if keep is None:
        return torch.nanmedian(x, dim, bool(keepdim)).values
    return torch.nanmedian(
        torch.where(keep, x, torch.tensor(float("nan"), dtype=dtype, device=x.device)), dim, bool(keepdim)
    ).values


def logsumexp(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """logsumexp of the elements that are not masked out."""
    dtype = input.dtype if dtype is None else dtype
    dims = _dims(dim, input.ndim)
    low = _lowest(input.dtype, "logsumexp") if not input.is_complex() else -_INF
    return torch.logsumexp(_filled(input, mask, low), dims, keepdim=keepdim).to(dtype)


def logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None):
    """logaddexp where masked-out elements count as -inf."""
    dtype = input.dtype if dtype is None else dtype
    return torch.logaddexp(_filled(input, input_mask, -_INF), _filled(other, other_mask, -_INF)).to(dtype)


def norm(input, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Vector norms of the elements that are not masked out."""
    x = _filled(input, mask, _INF if ord == -_INF else 0)
    return torch.linalg.vector_norm(x, ord, _dims(dim, input.ndim), bool(keepdim), dtype=dtype)


def _spread(input, dim, unbiased, correction, keepdim, dtype, mask, root):
    if unbiased is not None and correction is not None:
        raise ValueError("Only one of unbiased and correction may be given")
    if correction is None:
        correction = 1 if unbiased is None or unbiased else 0
    if dtype is None:
        dtype = input.dtype
        if not (dtype.is_floating_point or dtype.is_complex):
            dtype = torch.float32
    compute = dtype
    if not (compute.is_floating_point or compute.is_complex):
        compute = torch.float32
    dims = _dims(dim, input.ndim)
    x = _typed(input, compute)
    if mask is None:
        count = 1
        for d in dims:
            count *= input.shape[d] if input.ndim else 1
        count = torch.tensor(count, device=x.device)
        centre = sum(x, dim, keepdim=True) / count
        square = x - centre
        keep = None
    else:
        keep = _mask_of(input, mask)
        count = keep.sum(dims, True)
        centre = sum(x, dim, keepdim=True, mask=mask) / count
        square = torch.where(keep, x - centre, torch.zeros((), dtype=compute, device=x.device))
    total = (square * square.conj()).sum(dims, bool(keepdim))
    if keep is not None and not keepdim:
        count = count.reshape(total.shape)
    if total.is_complex():
        total = torch.real(total)
    if correction:
        count = (count - correction).maximum(torch.zeros_like(count))
    out = total / count
    out = out.sqrt() if root else out
    return out.to(dtype)


def var(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """Variances of the elements that are not masked out."""
    return _spread(input, dim, unbiased, correction, keepdim, dtype, mask, False)


def std(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """Standard deviations of the elements that are not masked out."""
    return _spread(input, dim, unbiased, correction, keepdim, dtype, mask, True)


def softmax(input, dim, *, dtype=None, mask=None):
    """Softmax over the elements that are not masked out; masked-out ones get 0."""
    x = _typed(input, dtype)
    return torch.softmax(_filled(x, mask, _lowest(x.dtype, "softmax")), _dims(dim, input.ndim)[0])


def log_softmax(input, dim, *, dtype=None, mask=None):
    """log_softmax over the elements that are not masked out; masked-out ones get -inf."""
    x = _typed(input, dtype)
    return torch.log_softmax(_filled(x, mask, _lowest(x.dtype, "log_softmax")), _dims(dim, input.ndim)[0])


def softmin(input, dim, *, dtype=None, mask=None):
    """Softmin over the elements that are not masked out; masked-out ones get 0."""
    x = _typed(input, dtype)
    return torch.softmax(-_filled(x, mask, _highest(x.dtype, "softmin")), _dims(dim, input.ndim)[0])


def normalize(input, ord, dim, *, eps=1e-12, dtype=None, mask=None):
    """Divides by the norm of the elements that are not masked out; masked-out ones get 0."""
    x = _typed(input, dtype)
    length = norm(input, ord, _dims(dim, input.ndim)[0], keepdim=True, dtype=dtype, mask=mask)
    length = length.maximum(torch.full((), eps, dtype=length.dtype, device=length.device))
    return _filled(x, mask, 0) / length


from .._core import absent as _absent  # noqa: E402

__getattr__ = _absent.of(__name__)
