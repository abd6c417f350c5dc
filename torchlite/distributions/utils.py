"""Helpers of the distributions."""

import torchlite as torch

euler_constant = 0.57721566490153286060
__all__ = [
    "broadcast_all",
    "logits_to_probs",
    "clamp_probs",
    "probs_to_logits",
    "lazy_property",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]


def _is_number(v):
    return isinstance(v, (int, float, complex))


def broadcast_all(*values):
    """The values as tensors of one shape; plain numbers take the dtype and device of the tensors."""
    if not all(_is_number(v) or isinstance(v, torch.Tensor) for v in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__."
        )
    tensors = [v for v in values if isinstance(v, torch.Tensor)]
    like = {"dtype": tensors[0].dtype, "device": tensors[0].device} if tensors else {"dtype": torch.get_default_dtype()}
    return torch.broadcast_tensors(*(v if isinstance(v, torch.Tensor) else torch.tensor(v, **like) for v in values))


def _standard_normal(shape, dtype, device):
    return torch.normal(torch.zeros(shape, dtype=dtype, device=device), torch.ones(shape, dtype=dtype, device=device))


def _sum_rightmost(value, dim):
    if dim == 0:
        return value
    return value.reshape(tuple(value.shape[:-dim]) + (-1,)).sum(-1)


def logits_to_probs(logits, is_binary=False):
    """Probabilities of logits: sigmoid, or softmax over the last dim."""
    return torch.sigmoid(logits) if is_binary else torch.softmax(logits, dim=-1)


def clamp_probs(probs):
    """Probabilities kept away from 0 and 1 by the dtype's eps."""
    eps = torch.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs, is_binary=False):
    """Logits of probabilities."""
    p = clamp_probs(probs)
    return torch.log(p) - torch.log1p(-p) if is_binary else torch.log(p)


class lazy_property:
    """A property that is computed once and kept."""

    def __init__(self, wrapped):
        self.wrapped = wrapped
        self.__doc__, self.__name__ = wrapped.__doc__, wrapped.__name__

    def __get__(self, instance, obj_type=None):
        if instance is None:
            return self
        with torch.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.__name__, value)
        return value


class ProbsOrLogits:
    """Parameters given as `probs` or as `logits`; the other is computed on demand."""

    _binary = False

    def _take(self, probs, logits):
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")

    @lazy_property
    def logits(self):
        """Log-odds (or log-probabilities up to a constant)."""
        return probs_to_logits(self.probs, self._binary)

    @lazy_property
    def probs(self):
        """Probabilities."""
        return logits_to_probs(self.logits, self._binary)

    @property
    def _given(self):
        return getattr(self, "_is_given", None) or ("probs" if "probs" in self.__dict__ else "logits")

    @property
    def _param(self):
        return getattr(self, self._given)

    @property
    def param_shape(self):
        """Shape of the parameter."""
        return self._param.size()

    def _new(self, *args, **kwargs):
        return self._param.new(*args, **kwargs)


def tril_matrix_to_vec(mat, diag=0):
    """The lower triangle as a vector."""
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    i = torch.arange(n, device=mat.device)
    return mat[..., i < i.view(-1, 1) + (diag + 1)]


def vec_to_tril_matrix(vec, diag=0):
    """The lower triangular matrix of a vector."""
    n = (-(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * vec.shape[-1] + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    if not round(n) - n < 1e-6 or abs(round(n) - n) > 1e-6:
        raise ValueError(
            f"The size of last dimension is {vec.shape[-1]} which cannot be expressed as the lower triangular part "
            "of a square D x D matrix."
        )
    n = round(n)
    mat = vec.new_zeros(tuple(vec.shape[:-1]) + (n, n))
    i = torch.arange(n, device=vec.device)
    mat[..., i < i.view(-1, 1) + (diag + 1)] = vec
    return mat
