"""How PyTorch composes some ops of others, where a body here goes another way. Used while a TorchDispatchMode is on."""

from __future__ import annotations

from typing import Any


def _aten() -> Any:
    from .. import _ops

    return _ops.ops.aten


def linear(x: Any, weight: Any, bias: Any = None) -> Any:
    aten = _aten()
    if bias is not None and x.dim() == 2:
        return aten.addmm.default(bias, x, aten.t.default(weight))
    if bias is not None and x.dim() > 2 and x.is_contiguous() and weight.dim() == 2:
        flat = aten.view.default(x, [-1, x.shape[-1]])
        return aten.view.default(
            aten.addmm.default(bias, flat, aten.t.default(weight)), [*x.shape[:-1], weight.shape[0]]
        )
    result = matmul(x, aten.t.default(weight))
    return result if bias is None else aten.add_.Tensor(result, bias)


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
    if a.dim() > 2 and 0 < b.dim() <= 2 and a.is_contiguous():
        flat = aten.view.default(a, [-1, a.shape[-1]])
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


BODIES: dict[str, Any] = {
    "linear": linear,
    "matmul": matmul,
    "softmax.int": softmax,
    "log_softmax.int": log_softmax,
    **dict.fromkeys(("conv1d", "conv2d", "conv2d.default", "conv3d"), conv),
    **dict.fromkeys(("conv_transpose1d", "conv_transpose2d.input", "conv_transpose3d.input"), conv_transpose),
}
