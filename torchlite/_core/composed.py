"""How PyTorch composes some ops of others, where a body here goes another way. Used while a TorchDispatchMode is on."""

from __future__ import annotations


from . import composed_linalg as _linalg

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _aten() -> Any:
    from .. import _ops

    return _ops.ops.aten


def linear(x: Any, weight: Any, bias: Any = None) -> Any:
    aten = _aten()
    if bias is not None and x.dim() == 2:
        return aten.addmm.default(bias, x, aten.t.default(weight))
    if bias is not None and x.dim() == 1 and weight.dim() == 2:
        flat = aten.view.default(x, [1, x.shape[0]])
        return aten.view.default(aten.addmm.default(bias, flat, aten.t.default(weight)), [weight.shape[0]])
    if bias is not None and x.dim() > 2 and x.is_contiguous() and weight.dim() == 2:
        flat = aten.view.default(x, [-1, x.shape[-1]])
        return aten.view.default(
            aten.addmm.default(bias, flat, aten.t.default(weight)), [*x.shape[:-1], weight.shape[0]]
        )
    result = matmul(x, aten.t.default(weight))
    return result if bias is None or result is NotImplemented else aten.add.Tensor(result, bias)


def matmul(a: Any, b: Any) -> Any:
    aten = _aten()
    if a.dim() == b.dim() == 1:
        return aten.dot.default(a, b)
    if a.dim() == 2 and b.dim() == 1:
        return aten.mv.default(a, b)
    if a.dim() == 1 and b.dim() == 2:
        return aten.mm.default(a.unsqueeze(0), b).squeeze(0)
    if a.dim() == b.dim() == 2:
        return aten.mm.default(a, b)
    if a.dim() > 2 and 0 < b.dim() <= 2 and (a.is_contiguous() or b.requires_grad):
        flat = a.reshape([-1, a.shape[-1]])  # a copy in order that the gradient of b is no sum over a batch
        if b.dim() == 1:
            return aten.view.default(aten.mv.default(flat, b), list(a.shape[:-1]))
        return aten.view.default(aten.mm.default(flat, b), [*a.shape[:-1], b.shape[-1]])
    return NotImplemented


def softmax(x: Any, dim: int, dtype: Any = None) -> Any:
    return _aten()._softmax.default(x if dtype is None else x.to(dtype), dim, False)


def log_softmax(x: Any, dim: int, dtype: Any = None) -> Any:
    return _aten()._log_softmax.default(x if dtype is None else x.to(dtype), dim, False)


def _convolution(
    x: Any, weight: Any, bias: Any, transposed: bool, output_padding: Any, groups: int, *lists: Any
) -> Any:
    n = weight.dim() - 2
    if x.dim() not in (n + 1, n + 2) or any(isinstance(v, str) for v in lists):
        return NotImplemented
    stride, padding, dilation, more = ([*v] * n if len(v) == 1 else [*v] for v in (*lists, output_padding))
    given = x if x.dim() == n + 2 else x.unsqueeze(0)
    result = _aten().convolution.default(given, weight, bias, stride, padding, dilation, transposed, more, groups)
    return result if x.dim() == n + 2 else result.squeeze(0)


def conv(x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    return _convolution(x, weight, bias, False, (0,), groups, stride, padding, dilation)


def conv_transpose(
    x: Any, weight: Any, bias: Any, stride: Any, padding: Any, output_padding: Any, groups: int, dilation: Any
) -> Any:
    return _convolution(x, weight, bias, True, output_padding, groups, stride, padding, dilation)


def _dropout(features: bool, alpha: bool, inplace: bool) -> Any:
    """A dropout, of single elements or whole channels, around a mean of 0 or for SELU."""

    def body(x: Any, p: float, train: bool, written: Any = None) -> Any:
        if written is not None:  # that of torch.nn.functional, which calls this one
            return NotImplemented
        if not 0 <= p <= 1:
            raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}")
        if p == 0 or not train or not x.numel():
            return x
        aten = _aten()
        multiply = aten.mul_.Tensor if inplace else aten.mul.Tensor
        if p == 1:
            return multiply(x, aten.zeros.default([], dtype=x.dtype, layout=x.layout, device=x.device))
        if features and x.dim() < 2:
            raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
        sizes = [*x.shape[:2], *[1] * (x.dim() - 2)]
        noise = aten.new_empty.default(x, sizes) if features else aten.empty_like.default(x)
        noise = aten.bernoulli_.float(noise, 1 - p)
        if not alpha:
            return multiply(x, aten.div_.Scalar(noise, 1 - p))
        slope = 1.7580993408473766
        a = 1 / ((slope * slope * p + 1) * (1 - p)) ** 0.5
        b = aten.add_.Scalar(aten.mul_.Scalar(aten.add.Scalar(noise, -1), slope * a), slope * a * p)
        return aten.add_.Tensor(multiply(x, aten.mul_.Scalar(noise, a)), b)

    return body


def _by_2d(name: str, x: Any, *args: Any) -> Any:
    """A pool of signals as one of images of height 1. A list of one number is a size or a step, 0 a padding."""
    result = getattr(_aten(), name).default(x.unsqueeze(-2), *args)
    return [r.squeeze(-2) for r in result] if isinstance(result, (tuple, list)) else result.squeeze(-2)


def max_pool1d(x: Any, size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool) -> Any:
    steps = [1, *(stride or size)]
    args = ([1, *size], steps, [0, *padding], [1, *dilation], ceil_mode)
    return _by_2d("max_pool2d_with_indices", x, *args)[0]


def avg_pool1d(x: Any, size: Any, stride: Any, padding: Any, ceil_mode: bool, count_include_pad: bool) -> Any:
    return _by_2d("avg_pool2d", x, [1, *size], [1, *(stride or size)], [0, *padding], ceil_mode, count_include_pad)


def adaptive_avg_pool1d(x: Any, size: Any) -> Any:
    return _by_2d("_adaptive_avg_pool2d", x, [1, *size])


def upsample(name: str, x: Any, size: Any, *rest: Any) -> Any:
    *corners, scales = rest
    size = [int(n * s) for n, s in zip(x.shape[2:], scales)] if size is None else list(size)
    return getattr(_aten(), name).default(x, size, *corners, *map(float, scales or ()))


def split(x: Any, sizes: Any, dim: int) -> Any:
    return _aten().split_with_sizes.default(x, list(sizes), dim)


def _variance(name: str) -> Any:
    def body(x: Any, *args: Any) -> Any:
        overload = getattr(_aten(), name).correction
        if len(args) == 1:
            return overload(x, correction=int(args[0]))
        dim, unbiased, keepdim = args
        return overload(x, list(dim) if dim is not None else None, correction=int(unbiased), keepdim=keepdim)

    return body


def where_numbers(condition: Any, a: Any, b: Any) -> Any:
    """torch.where with a number: it becomes a tensor first."""
    aten = _aten()
    tensors = [v for v in (a, b) if hasattr(v, "dtype")]
    if len(tensors) != 1:
        return NotImplemented
    from .. import result_type

    kind = result_type(a, b)
    a, b = (v if hasattr(v, "dtype") else aten.scalar_tensor.default(v, dtype=kind, device="cpu") for v in (a, b))
    return aten.where.self(condition, a, b)


def where(condition: Any) -> Any:
    return _aten().unbind.int(_aten().nonzero.default(condition), 1)


BODIES: dict[str, Any] = {
    **_linalg.BODIES,
    **{
        "".join((kind, "dropout", "_" * inplace)): _dropout("feature" in kind, "alpha" in kind, inplace)
        for kind in ("", "feature_", "alpha_", "feature_alpha_")
        for inplace in (False, True)
    },
    **{
        "%s%s" % (name, form): _variance(name)
        for name in ("std", "var", "std_mean", "var_mean")
        for form in ("", ".dim")
    },
    "max_pool1d": max_pool1d,
    "avg_pool1d": avg_pool1d,
    "adaptive_avg_pool1d": adaptive_avg_pool1d,
    "split.sizes": split,
    "where": where,
    "where.ScalarOther": where_numbers,
    "where.ScalarSelf": where_numbers,
    "linear": linear,
    "matmul": matmul,
    "softmax.int": softmax,
    "log_softmax.int": log_softmax,
    **dict.fromkeys(("conv1d", "conv2d", "conv2d.default", "conv3d"), conv),
    **dict.fromkeys(("conv_transpose1d", "conv_transpose2d.input", "conv_transpose3d.input"), conv_transpose),
}
