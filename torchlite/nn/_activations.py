"""Activations of torch.nn.functional: the `inplace` argument, implicit dims and deprecated spellings over the ops."""

import torchlite as torch
from torchlite import Tensor
from torchlite.nn._aten import aten as _op

_hardtanh, _hardtanh_ = _op["hardtanh"], _op["hardtanh_"]
_glu = _op["glu"]
_elu, _elu_ = _op["elu"], _op["elu_"]
_leaky, _leaky_ = _op["leaky_relu"], _op["leaky_relu_"]
_threshold, _threshold_ = _op["threshold"], _op["threshold_"]
_celu, _celu_, _selu, _selu_ = _op["celu"], _op["celu_"], _op["selu"], _op["selu_"]
_relu, _relu_, _rrelu, _rrelu_ = _op["relu"], _op["relu_"], _op["rrelu"], _op["rrelu_"]
_softmax, _log_softmax = _op["softmax"], _op["log_softmax"]


def _both(name):
    """f(input, inplace=False) of an op and its in-place form."""
    plain, inplace_op = _op[name], _op[name + "_"]

    def f(input, inplace=False):
        return inplace_op(input) if inplace else plain(input)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = plain.__doc__
    return f


relu, hardsigmoid, hardswish, mish, silu, selu = map(
    _both, ("relu", "hardsigmoid", "hardswish", "mish", "silu", "selu")
)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """input where input > threshold, else value."""
    return (_threshold_ if inplace else _threshold)(input, threshold, value)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """a * sigmoid(b), where a and b are the halves of input along dim."""
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    return _glu(input, dim)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """Clamps to [min_val, max_val]."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return (_hardtanh_ if inplace else _hardtanh)(input, min_val, max_val)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """min(max(input, 0), 6)."""
    return (_hardtanh_ if inplace else _hardtanh)(input, 0, 6)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """input where positive, else alpha * (exp(input) - 1)."""
    return (_elu_ if inplace else _elu)(input, alpha)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """max(0, input) + min(0, alpha * (exp(input / alpha) - 1))."""
    return (_celu_ if inplace else _celu)(input, alpha)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """input where positive, else negative_slope * input."""
    return (_leaky_ if inplace else _leaky)(input, negative_slope)


def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """Leaky ReLU whose slope is drawn from uniform(lower, upper) in training, their mean otherwise."""
    return (_rrelu_ if inplace else _rrelu)(input, lower, upper, training)


def tanhshrink(input):
    """input - tanh(input)."""
    return input - input.tanh()


def softsign(input):
    """input / (1 + |input|)."""
    return input / (input.abs() + 1)


def tanh(input):
    """tanh(input)."""
    return input.tanh()


def sigmoid(input):
    """1 / (1 + exp(-input))."""
    return input.sigmoid()


def _get_softmax_dim(name, ndim, stacklevel):
    import warnings

    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=stacklevel,
    )
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: int | None = None) -> Tensor:
    """exp(input) / sum(exp(input)) along `dim`; `dtype` casts first."""
    if dim is None:
        dim = _get_softmax_dim("softmax", input.dim(), _stacklevel)
    return _softmax(input, dim) if dtype is None else _softmax(input, dim, dtype=dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: int | None = None) -> Tensor:
    """softmax(-input) along `dim`."""
    if dim is None:
        dim = _get_softmax_dim("softmin", input.dim(), _stacklevel)
    return _softmax(-input, dim) if dtype is None else _softmax(-input, dim, dtype=dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: int | None = None) -> Tensor:
    """log(softmax(input)) along `dim`; `dtype` casts first."""
    if dim is None:
        dim = _get_softmax_dim("log_softmax", input.dim(), _stacklevel)
    return _log_softmax(input, dim) if dtype is None else _log_softmax(input, dim, dtype=dtype)


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A sample of the Gumbel-softmax distribution; `hard` gives one-hot values with the soft gradient."""
    if eps != 1e-10:
        import warnings

        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    gumbels = -torch.empty_like(logits, memory_format=torch.contiguous_format).exponential_().log()
    soft = ((logits + gumbels) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    y_hard = torch.zeros_like(logits, memory_format=torch.contiguous_format).scatter_(dim, index, 1.0)
    return y_hard - soft.detach() + soft
