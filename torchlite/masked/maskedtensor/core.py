"""torch.masked.MaskedTensor: a tensor without memory of its own, which holds its data and a mask.

Functions come first to __torch_function__: reductions, torch.where and changes of layout are differentiable there, as
compositions of the masked functions. Operators come to __torch_dispatch__, below autograd. Both look in the tables of
_ops_refs.py; an operator without an entry is refused with PyTorch's warning and error.
"""

from __future__ import annotations

import warnings
from typing import Any

import torchlite as torch

from ..._core import override as _override, wrappers as _wrappers
from ..._core.errors import no_numpy_of_subclass
from ._print import _masked_tensor_str, _number

_override.install()  # the tables name Tensor's methods, as they are once a class overrides them

__all__ = ["MaskedTensor", "is_masked_tensor"]

_PROTOTYPE = (
    "The PyTorch API of MaskedTensors is in prototype stage and will change in the near future. Please open a Github "
    "issue for features requests and see our documentation on the torch.masked module for further information about "
    "the project."
)
_WITH_GRAD = (
    "It is not recommended to create a MaskedTensor with a tensor that requires_grad. To avoid this, you can use "
    "data.detach().clone()"
)
_WISH = (
    "\nIf you would like this operator to be supported, please file an issue for a feature request at "
    "https://github.com/pytorch/maskedtensor/issues with a minimal reproducible code snippet.\nIn the case that the "
    "semantics for the operator are not trivial, it would be appreciated to also include a proposal for the semantics."
)
_FLOATS = (torch.float16, torch.float32, torch.float64)
_DTYPES = (*_FLOATS, torch.bool, torch.int8, torch.int16, torch.int32, torch.int64)
_LAYOUTS = (torch.strided, torch.sparse_coo, torch.sparse_csr)


def is_masked_tensor(obj: Any, /) -> bool:
    """Whether `obj` is a MaskedTensor."""
    return isinstance(obj, MaskedTensor)


def packets(names: Any) -> dict[str, Any]:
    """torch.ops.aten's operators by name, those that are there."""
    found = {name: getattr(torch.ops.aten, name, None) for name in names}
    return {name: fn for name, fn in found.items() if fn is not None}


def in_backward() -> bool:
    """Whether autograd computes gradients now: its formulas may use more operators than PyTorch's do."""
    return torch._C._current_graph_task_id() != -1


def _ops_refs() -> Any:
    from . import _ops_refs

    return _ops_refs


def _tensors_match(a: Any, b: Any, exact: bool = True, rtol: float = 1e-05, atol: float = 1e-08) -> bool:
    """Whether two tensors, both strided, COO or CSR, have the same shape and indices and, exactly or nearly, the same
    values."""
    if is_masked_tensor(a) or is_masked_tensor(b):
        raise ValueError("Neither `a` nor `b` can be a MaskedTensor.")
    if a.layout != b.layout:
        raise ValueError(f"`a` and `b` must have the same layout. Got {a.layout} and {b.layout}")
    if a.dtype != b.dtype:
        b = b.type(a.dtype)
    if a.layout is torch.sparse_coo:
        same = a._nnz() == b._nnz() and bool((a.indices() == b.indices()).all())
        return same and _tensors_match(a.values(), b.values(), exact, rtol, atol)
    if a.layout is torch.sparse_csr:
        parts = [(x._nnz(), x.crow_indices(), x.col_indices()) for x in (a, b)]
        same = parts[0][0] == parts[1][0] and all(bool((p == q).all()) for p, q in zip(parts[0][1:], parts[1][1:]))
        return same and _tensors_match(a.values(), b.values(), exact, rtol, atol)
    if a.layout is not torch.strided:
        raise RuntimeError("unsupported tensor layout: %s" % str(a.layout).rpartition(".")[2])
    if a.shape != b.shape:
        return False
    return bool((a == b).all()) if exact else bool(torch.isclose(a, b, rtol=rtol, atol=atol).all())


def _masks_match(a: Any, b: Any) -> bool:
    """Whether two arguments of an operator may be used together: both MaskedTensors with the same mask, or not both
    MaskedTensors."""
    if is_masked_tensor(a) and is_masked_tensor(b):
        return _tensors_match(a.get_mask(), b.get_mask(), exact=True)
    return True


def _map_mt_args_kwargs(args: Any, kwargs: Any, map_fn: Any) -> Any:
    """Arguments with map_fn of each MaskedTensor, also in lists and tuples."""

    def mapped(x: Any) -> Any:
        if isinstance(x, (list, tuple)):
            return type(x)(mapped(v) for v in x)
        return map_fn(x) if is_masked_tensor(x) else x

    return [mapped(x) for x in args], {name: mapped(x) for name, x in kwargs.items()}


def _wrap_result(result_data: Any, result_mask: Any) -> Any:
    """A MaskedTensor of each tensor of a result, in the same lists and tuples; NotImplemented for anything else."""
    if isinstance(result_data, (list, tuple)):
        return type(result_data)(_wrap_result(d, m) for d, m in zip(result_data, result_mask))
    if isinstance(result_data, torch.Tensor):
        return MaskedTensor(result_data, result_mask)
    return NotImplemented


def _get_data(a: Any) -> Any:
    return a._masked_data if is_masked_tensor(a) else a


def _maybe_get_mask(a: Any) -> Any:
    return a.get_mask() if is_masked_tensor(a) else None


class _GetData(torch.autograd.Function):
    """The data of a MaskedTensor; the gradient becomes a MaskedTensor with its mask."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mask = x.get_mask()
        return x._masked_data.detach()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g if is_masked_tensor(g) else MaskedTensor(g, ctx.mask)


class _FromValues(torch.autograd.Function):
    """(data, mask) -> MaskedTensor."""

    @staticmethod
    def forward(ctx: Any, data: Any, mask: Any) -> Any:
        return MaskedTensor(data, mask)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g, None


class MaskedTensor(torch.Tensor):
    """MaskedTensor(data, mask, requires_grad=False): copies of a tensor and of a bool mask of the same shape and
    layout (strided, COO or CSR); where the mask is False, an element does not count. float16 to float64, bool and
    signed integers. TypeError and ValueError for others."""

    _masked_data: Any
    _masked_mask: Any

    @staticmethod
    def __new__(cls: Any, data: Any, mask: Any, requires_grad: bool = False) -> Any:
        if is_masked_tensor(data) or not isinstance(data, torch.Tensor):
            raise TypeError("data must be a Tensor")
        if is_masked_tensor(mask) or not isinstance(mask, torch.Tensor):
            raise TypeError("mask must be a Tensor")
        warnings.warn(_PROTOTYPE, UserWarning, stacklevel=2)
        if data.requires_grad:
            warnings.warn(_WITH_GRAD, UserWarning, stacklevel=2)
        strides = data.stride() if data.layout is torch.strided else None
        return _wrappers.make(
            cls, data.shape, strides=strides, dtype=data.dtype, device=data.device, requires_grad=requires_grad
        )

    def __init__(self, data: Any, mask: Any, requires_grad: bool = False) -> None:
        self._preprocess_data(data.detach(), mask)
        self._validate_members()

    def _preprocess_data(self, data: Any, mask: Any) -> None:
        if data.layout is mask.layout and data.layout in (torch.sparse_coo, torch.sparse_csr):
            if data.layout is torch.sparse_coo:
                data, mask = data.coalesce(), mask.coalesce()
            if data._nnz() != mask._nnz():
                data = data.sparse_mask(mask)
        self._masked_data, self._masked_mask = data.clone(), mask.clone()

    def _validate_members(self) -> None:
        data, mask = self._masked_data, self.get_mask()
        if data.layout != mask.layout:
            raise TypeError("data and mask must have the same layout.")
        if data.layout not in _LAYOUTS:
            raise TypeError(f"data layout of {data.layout} is not supported.")
        if data.layout is torch.sparse_coo and not _tensors_match(data.indices(), mask.indices()):
            raise ValueError("data and mask are both sparse COO tensors but do not have the same indices.")
        if data.layout is torch.sparse_csr and not all(
            _tensors_match(getattr(data, part)(), getattr(mask, part)()) for part in ("crow_indices", "col_indices")
        ):
            raise ValueError("data and mask are both sparse CSR tensors but do not share either crow or col indices.")
        if mask.dtype is not torch.bool:
            raise TypeError("mask must have dtype bool.")
        if data.dtype not in _DTYPES:
            raise TypeError(f"{data.dtype} is not supported in MaskedTensor.")
        if data.dim() != mask.dim():
            raise ValueError("data.dim() must equal mask.dim()")
        if data.size() != mask.size():
            raise ValueError("data.size() must equal mask.size()")

    @staticmethod
    def _from_values(data: Any, mask: Any) -> Any:
        """A MaskedTensor through which gradients flow to `data`."""
        return _FromValues.apply(data, mask)

    def _set_data_mask(self, data: Any, mask: Any) -> None:
        """In place: new data and a new mask."""
        self._masked_data, self._masked_mask = data, mask
        self._validate_members()

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        data, mask = self._masked_data, self._masked_mask
        if self.dim() == 0:
            data, mask = (t.to_dense() for t in (data, mask))
            text = _number(data.item(), "{0:8.4f}") if mask.item() else "--"
            return "MaskedTensor(" + text + ", " + str(mask.item()) + ")"
        lines = _masked_tensor_str(data, mask, "{0:8.4f}").split("\n")
        return "MaskedTensor(\n" + "\n".join("  " + line for line in lines) + "\n)"

    def __format__(self, spec: str) -> str:
        return object.__format__(self, spec)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        table = _ops_refs()._MASKEDTENSOR_FUNCTION_TABLE
        kwargs = kwargs or {}
        if func in table:
            return table[func](*args, **kwargs)
        if not all(issubclass(cls, t) for t in types):
            return NotImplemented
        off: Any = torch._C.DisableTorchFunctionSubclass()
        with off:
            return func(*args, **kwargs)

    @classmethod
    def unary(cls, fn: Any, data: Any, mask: Any) -> Any:
        """fn(data) with the mask."""
        return MaskedTensor(fn(data), mask)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        table = _ops_refs()._MASKEDTENSOR_DISPATCH_TABLE
        packet = func.overloadpacket
        if packet in table and (packet not in _ops_refs().IN_BACKWARD or in_backward()):
            return table[packet](*args, **(kwargs or {}))
        warnings.warn(
            f"{packet.__name__} is not implemented in __torch_dispatch__ for MaskedTensor." + _WISH,
            UserWarning,
            stacklevel=2,
        )
        return NotImplemented

    def to_tensor(self, value: Any) -> Any:
        """A tensor with `value` where an element is masked out; differentiable."""
        return self.get_data().masked_fill(~self.get_mask(), value)

    def get_data(self) -> Any:
        """The data, also what is masked out; differentiable."""
        return _GetData.apply(self)

    def get_mask(self) -> Any:
        """The mask, bool, of the same shape and layout."""
        return self._masked_mask

    layout = property(lambda self: self._masked_data.layout)

    is_sparse = property(lambda self: self.layout is not torch.strided)

    def is_sparse_coo(self) -> bool:
        return self.layout is torch.sparse_coo

    def is_sparse_csr(self) -> bool:  # type: ignore[override]
        return self.layout is torch.sparse_csr

    def stride(self, dim: Any = None) -> Any:
        data = self._masked_data
        strides = data.stride() if data.layout is torch.strided else _wrappers._dense(tuple(data.shape))
        return strides if dim is None else strides[dim]

    def to_sparse_coo(self) -> Any:
        return self.to_sparse()

    def to_sparse_csr(self, dense_dim: Any = None) -> Any:
        return _ops_refs().to_sparse_csr(self)

    def _indices(self) -> Any:
        return _ops_refs()._part(self, "_indices")

    def _values(self) -> Any:
        return _ops_refs()._part(self, "_values")

    def _is_any_true(self) -> Any:
        return _ops_refs()._is_any_true(self)

    def numpy(self, *args: Any, **kwargs: Any) -> Any:
        raise no_numpy_of_subclass()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return MaskedTensor, (self._masked_data, self._masked_mask, self.requires_grad)
