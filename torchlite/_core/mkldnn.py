"""Tensors of the layout torch._mkldnn: what Tensor.to_mkldnn() makes, and what ops do with them.

PyTorch hands such tensors to oneDNN, whose memory nobody else reads. Here one holds a dense tensor, and an op that
PyTorch has for the layout runs torchlite's own kernel on that. Every other op is PyTorch's error, so that no program
gets results here that it would not get there.
"""

from __future__ import annotations

from typing import Any

import torchlite as torch

from . import device as _device, wrappers as _wrappers
from .errors import no_data_pointer

_DTYPES = (torch.float32, torch.bfloat16, torch.float16, torch.uint8, torch.int8)
_OPS = frozenset(
    """_prelu_kernel _prelu_kernel_backward _to_copy _to_dtype _unsafe_view add alias clone convolution
    convolution_backward copy_ detach gelu gelu_backward mul relu sigmoid tanh threshold_backward transpose view
    zero_""".split()
)
# functions whose gradient needs more ops than that: of the dense tensor, both ways
_THROUGH_DENSE = frozenset(
    """adaptive_avg_pool2d avg_pool2d avg_pool3d batch_norm linear max_pool2d max_pool3d native_batch_norm
    softmax""".split()
)
# torch.ops.mkldnn: which dtypes oneDNN, which is not here, would speed up
ANSWERS = dict.fromkeys(
    ("_is_mkldnn_acl_supported", "_is_mkldnn_bf16_supported", "_is_mkldnn_fp16_supported"), lambda: False
)
_TOGETHER = ("add", "mul")  # both factors have the layout


class MkldnnTensor(torch.Tensor):
    """A tensor of layout torch._mkldnn."""

    _dense: Any

    layout = property(lambda self: _device._mkldnn)
    is_mkldnn = property(lambda self: True)
    _function_of_layout = True

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if getattr(func, "__name__", "") in _THROUGH_DENSE and _is(args[0]):
            made = func(*(_ToDense.apply(a, a.dtype) if _is(a) else a for a in args), **kwargs)
            several = isinstance(made, tuple)
            first = _ToMkldnn.apply(made[0] if several else made, args[0].dtype)
            return (first, *made[1:]) if several else first
        off: Any = torch._C.DisableTorchFunctionSubclass()
        with off:
            return func(*args, **kwargs)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(func, args, kwargs or {})

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise _no_storage()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        raise _no_storage()

    def storage(self) -> Any:
        raise _no_storage()

    untyped_storage = storage

    def data_ptr(self) -> Any:
        raise no_data_pointer()

    tolist = data_ptr

    def numpy(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("can't convert Mkldnn layout tensor to numpy. Use Tensor.to_dense() first.")

    __array__ = numpy

    def to_dense(self, dtype: Any = None, *, masked_grad: Any = None) -> Any:
        return _to_dense(self, dtype)

    _to_dense = to_dense

    def type(self, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
        if dtype is not None:
            return self.to(dtype)
        return "Mkldnntorch.%sTensor" % self.dtype._scalar_type

    def __repr__(self, *, tensor_contents: Any = None) -> Any:  # type: ignore[override]
        from . import tensor_str as _str

        with torch.no_grad():
            body = "tensor(" + _str._tensor_str(self._dense, len("tensor("))
        suffixes = [] if self.dtype is torch.get_default_dtype() else ["dtype=%s" % self.dtype]
        suffixes.append("layout=torch._mkldnn")
        if self.grad_fn is not None:
            suffixes.append("grad_fn=<%s>" % type(self.grad_fn).__name__)
        elif self.requires_grad:
            suffixes.append("requires_grad=True")
        return _str.add_suffixes(body, suffixes, len("tensor("), False)


MkldnnTensor.__name__ = MkldnnTensor.__qualname__ = "Tensor"  # PyTorch has one class for all layouts
MkldnnTensor.__module__ = "torch"


def _no_storage() -> NotImplementedError:
    return NotImplementedError("Cannot access storage of OpaqueTensorImpl")


def _wrap(dense: Any) -> Any:
    dense = dense.contiguous()
    t: Any = _wrappers.make(MkldnnTensor, dense.shape, dtype=dense.dtype, device=dense.device)
    t._dense = dense
    return t


def _is(x: Any) -> bool:
    return isinstance(x, MkldnnTensor)


def _plain(x: Any) -> Any:
    return x._dense if _is(x) else x


def refused(func: Any) -> NotImplementedError:
    """PyTorch's error for an operator without a kernel for the layout."""
    name = func._schema.name + ("." + func._overloadname if func._overloadname != "default" else "")
    return NotImplementedError(
        "Could not run '%s' with arguments from the 'MkldnnCPU' backend. This could be because the operator doesn't "
        "exist for this backend. torchlite has it for dense tensors: use Tensor.to_dense() first." % name
    )


def _run(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    packet = func.overloadpacket.__name__
    name = packet.removesuffix("_") if packet not in _OPS else packet
    if name not in _OPS or "out" in kwargs:
        raise refused(func)
    first = args[0]
    if packet == "copy_":
        if _is(first) is not _is(args[1]):
            types = tuple(t.type() for t in args[:2])
            raise RuntimeError(
                "copy_mkldnn_: between mkldnn layout and dense Tensors is not implemented! "
                "Found self type = %s and src type = %s" % types
            )
    elif name in _TOGETHER and not all(_is(x) or x.dim() == 0 for x in args[:2] if isinstance(x, torch.Tensor)):
        raise RuntimeError("itensor_from_mkldnn expects MKL-DNN tensor input")
    elif name == "convolution" and not _is(first):
        raise RuntimeError(
            "Input type (%s) and weight type (%s) should be the same or input should be a MKLDNN tensor and weight is "
            "a dense tensor" % (first.type(), args[1].type())
        )
    made = func(*(_plain(a) for a in args), **{k: _plain(v) for k, v in kwargs.items()})
    if packet.endswith("_"):
        return first
    if name == "convolution_backward":
        return tuple(_wrap(g) if _is(a) and g is not None else g for g, a in zip(made, (*args[1:3], None)))
    return (_wrap(made[0]), *made[1:]) if isinstance(made, tuple) else _wrap(made)


class _ToMkldnn(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, dtype: Any) -> Any:
        ctx.dtype = x.dtype
        return _wrap(x.detach().to(dtype).clone())

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        if not _is(g):
            raise RuntimeError("invalid gradient at index 0 - expected layout Mkldnn but got Strided")
        return _ToDense.apply(g, ctx.dtype), None


class _ToDense(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, dtype: Any) -> Any:
        ctx.dtype = x.dtype
        return x._dense.to(dtype).clone()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return _ToMkldnn.apply(g, ctx.dtype), None


_ToMkldnn.__name__, _ToDense.__name__ = "ToMkldnn", "ToDense"


def to_mkldnn(x: Any, dtype: Any = None) -> Any:
    """A copy of a dense tensor in the layout torch._mkldnn."""
    if x.layout is not torch.strided:
        kind = "MkldnnCPU" if _is(x) else "SparseCPU"
        raise NotImplementedError("Could not run 'aten::to_mkldnn' with arguments from the '%s' backend." % kind)
    if not x.is_cpu:
        raise RuntimeError("dense_to_mkldnn expects CPU tensor input")
    dtype = dtype or x.dtype
    if not {x.dtype, dtype} <= set(_DTYPES):
        raise RuntimeError("dense_to_mkldnn expects float, bfloat16, half, uint8, int8 tensor input")
    return _ToMkldnn.apply(x, dtype)


def _to_dense(x: Any, dtype: Any) -> Any:
    """A dense copy of a tensor of this layout."""
    if dtype is not None and dtype not in _DTYPES:
        raise RuntimeError("mkldnn tensors become dense ones of float, bfloat16, half, uint8 or int8 only")
    return _ToDense.apply(x, dtype or x.dtype)


def factory(ov: Any, args: Any) -> Any:
    """What torch.empty and torch.zeros give for this layout; the others are refused, as in PyTorch."""
    given = {p[0]: a for p, a in zip(ov.params, args)}
    if ov.spec.name not in ("empty", "zeros"):
        raise NotImplementedError("%s(): torchlite makes tensors of layout torch._mkldnn by to_mkldnn()" % ov.spec.name)
    dtype = given.get("dtype") or torch.get_default_dtype()
    if dtype not in _DTYPES:
        raise RuntimeError("get_mkldnn_dtype: unsupported data type")
    made = _wrap(torch.zeros(given["size"], dtype=dtype, device="cpu"))
    return made.requires_grad_() if given.get("requires_grad") else made
