"""Ops of PyTorch's core set (torch.Tag.core) that only torch.ops names: backends and tracers are written in them."""

import torchlite as torch

from .. import _C
from ..autograd._node import as_leaf
from ._declare import op

_OPT = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"


def _aten(*schemas, **kw):
    return op(*schemas, variants="function", module="aten", **kw)


# ---- what the geometry says ------------------------------------------------------------------------------------------
@_aten("sym_size.int(Tensor self, int dim) -> SymInt", differentiable=False)
def sym_size(self, dim):
    """The size of a dim."""
    return self.size(dim)


@_aten("sym_size(Tensor self) -> SymInt[]", differentiable=False)
def sym_sizes(self):
    """The sizes of all dims."""
    return tuple(self.shape)


@_aten("sym_stride.int(Tensor self, int dim) -> SymInt", differentiable=False)
def sym_stride(self, dim):
    """The stride of a dim."""
    return self.stride(dim)


@_aten("sym_stride(Tensor self) -> SymInt[]", differentiable=False)
def sym_strides(self):
    """The strides of all dims."""
    return tuple(self.stride())


@_aten("sym_numel(Tensor self) -> SymInt", differentiable=False)
def sym_numel(self):
    """The number of elements."""
    return self.numel()


@_aten("sym_storage_offset(Tensor self) -> SymInt", differentiable=False)
def sym_storage_offset(self):
    """The first element's place in the storage."""
    return self.storage_offset()


@_aten("sym_is_contiguous(Tensor self, MemoryFormat memory_format=contiguous_format) -> SymBool", differentiable=False)
def sym_is_contiguous(self, memory_format):
    """Whether the elements lie in the order of the format, without gaps."""
    return self.is_contiguous(memory_format=memory_format)


@_aten("_local_scalar_dense(Tensor self) -> Scalar", differentiable=False)
def _local_scalar_dense(self):
    """The only element as a number."""
    return self.item()


@_aten("dim(Tensor self) -> int", differentiable=False)
def dim(self):
    """The number of dims."""
    return self.dim()


@_aten("is_contiguous(Tensor self) -> bool", differentiable=False)
def is_contiguous(self):
    """Whether the elements lie without gaps, the last dim innermost."""
    return self.is_contiguous()


# ---- what was just made ----------------------------------------------------------------------------------------------
@_aten("lift_fresh(Tensor(a) self) -> Tensor(a)", view=True)
def lift_fresh(self):
    """The tensor itself: what a mode sees of a tensor that was made of data."""
    return self.view(self.shape)


@_aten("lift_fresh_copy(Tensor self) -> Tensor", samples=lambda t: [(t(2, 3),)])
def lift_fresh_copy(self):
    """A copy of such a tensor: what a graph has in the place of lift_fresh, so that its constants stay as they are."""
    return self.clone(memory_format=torch.contiguous_format)


# ---- copies ----------------------------------------------------------------------------------------------------------
@_aten(
    f"_to_copy(Tensor self, *, {_OPT}, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor",
    samples=lambda t: [(t(2, 3), {"dtype": t.float64})],
)
def _to_copy(self, dtype, layout, device, pin_memory, non_blocking, memory_format):
    """A copy, of another dtype and on another device where these are named."""
    device = self.device if device is None else device
    return torch.ops.functions._to_dtype(self, dtype=dtype, device=device, memory_format=memory_format)


@_aten(
    "copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor",
    grad={
        "self": lambda c, g: torch.zeros_like(g),
        "src": lambda c, g: g.sum_to_size(c.src.shape).to(c.src.device, c.src.dtype),
    },
    samples=lambda t: [(t(2, 3), t(3))],
)
def copy(self, src, non_blocking):
    """`src`, broadcast to the shape of `self` and cast to its dtype, with the strides of `self`."""
    if any(n > 1 and not stride for n, stride in zip(self.shape, self.stride())):
        return self.clone().copy_(src)
    storage = self.untyped_storage()
    whole = torch.empty(storage.nbytes() // self.element_size(), dtype=self.dtype, device=self.device)
    out = torch.empty(0, dtype=self.dtype, device=self.device)
    out.set_(whole.untyped_storage(), self.storage_offset(), self.shape, self.stride())
    return out.copy_(src)


@_aten(
    "resize_(Tensor(a!) self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor(a!)", differentiable=False
)
def resize_(self, size, memory_format):
    """Changes the shape in place; new elements are uninitialised."""
    return self.resize_(size, memory_format=memory_format)


@op(
    "resize_as_(Tensor(a!) self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor(a!)",
    variants="function",
    differentiable=False,
)
def resize_as_(self, the_template, memory_format):
    """Changes the shape in place to that of the other; preserve_format takes its memory format as well."""
    return self.resize_as_(the_template, memory_format=memory_format)


@_aten(
    "set_.source_Tensor(Tensor(a!) self, Tensor source) -> Tensor(a!)",
    "set_.source_Tensor_storage_offset(Tensor(a!) self, Tensor source, SymInt storage_offset, SymInt[] size, "
    "SymInt[] stride=[]) -> Tensor(a!)",
    "set_(Tensor(a!) self) -> Tensor(a!)",
    differentiable=False,
)
def set_(self, source=None, *geometry):
    """Takes over the memory, and the geometry, of another tensor; without one it becomes empty."""
    return self.set_(source, *geometry)


@_aten("resize(Tensor self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor", differentiable=False)
def resize(self, size, memory_format):
    """A copy with another shape, as resize_ gives it."""
    return self.clone().resize_(size, memory_format=memory_format)


# ---- joining ---------------------------------------------------------------------------------------------------------
@op(
    "_chunk_cat(Tensor[] tensors, int dim, int num_chunks) -> Tensor",
    variants="function",
    out=True,
    grad={},
    samples=lambda t: [([t(2, 3), t(3, 3)], 0, 2)],
)
def _chunk_cat(tensors, dim, num_chunks):
    """Cuts each tensor along `dim` into as many chunks, filled up with zeros, and joins the chunks of one number as
    rows."""
    if num_chunks < 1:
        raise RuntimeError("_chunk_cat expects positive num_chunks")
    if not len(tensors):
        raise RuntimeError("_chunk_cat expects a non-empty input tensor list")
    if dim < 0 and any(x.dim() != tensors[0].dim() for x in tensors):
        raise RuntimeError("_chunk_cat expects non-negative dim when input tensors have different ndims")
    dim = _C.wrap_dim(dim, tensors[0].dim())
    rows = []
    for x in tensors:
        if not x.numel():
            raise RuntimeError("_chunk_cat expects non-empty tensor")
        if x.dtype is not tensors[0].dtype:
            raise RuntimeError("_chunk_cat expects all input tensors with the same dtype")
        if dim >= x.dim():
            raise RuntimeError("_chunk_cat expects dim < ndim for all input tensors")
        if x.shape[:dim] != tensors[0].shape[:dim]:
            raise RuntimeError("_chunk_cat expects same sizes of 0,...,dim-1 dimensions for all tensors")
        missing = -x.shape[dim] % num_chunks
        whole = torch.constant_pad_nd(x, (0, 0) * (x.dim() - 1 - dim) + (0, missing))
        rows.append(whole.reshape(*x.shape[:dim], num_chunks, -1))
    return torch.cat(rows, -1)


# ---- layers ----------------------------------------------------------------------------------------------------------
@op("native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)", variants="function", nondiff=(1,))
def native_dropout(input, p, train):
    """Dropout with its mask."""
    if train is False or not input.numel():
        return input.clone(), torch.ones_like(input, dtype=torch.bool)
    mask = torch.empty_like(input, dtype=torch.bool, requires_grad=False).bernoulli_(1 - p)
    return (input * mask).mul(0.0 if p == 1 else 1 / (1 - p)), mask


@op(
    "_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, "
    "Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    variants="function",
    nondiff=(1, 2),
)
def _native_batch_norm_legit_no_training(input, weight, bias, running_mean, running_var, momentum, eps):
    """native_batch_norm with the running statistics."""
    return torch.native_batch_norm(input, weight, bias, running_mean, running_var, False, momentum, eps)


@_aten("_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor", differentiable=False)
def _cdist_forward(x1, x2, p, compute_mode):
    """The p-norm distances of each row of x1 to each row of x2."""
    return torch._cdist(x1, x2, p, compute_mode)


@_aten("_pdist_forward(Tensor self, float p=2) -> Tensor", differentiable=False)
def _pdist_forward(self, p):
    """The p-norm distances of all pairs of rows i < j."""
    return torch.pdist(self, p)


@op(
    "_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, "
    "bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, "
    "int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)",
    variants="function",
    nondiff=(1, 2, 3),
)
def _embedding_bag(weight, indices, offsets, scale, mode, sparse, per_sample_weights, include_last_offset, padding_idx):
    """embedding_bag with all that its gradient needs."""
    return torch.embedding_bag(
        weight, indices, offsets, scale, mode, sparse, per_sample_weights, include_last_offset, padding_idx
    )


@_aten(
    "grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor"
)
def grid_sampler_2d(input, grid, interpolation_mode, padding_mode, align_corners):
    """grid_sampler of images."""
    return torch.grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


# ---- pooling ---------------------------------------------------------------------------------------------------------
@_aten("adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor")
def adaptive_avg_pool1d(self, output_size):
    """Averages over as many windows as the output has places."""
    return torch.nn.functional.adaptive_avg_pool1d(self, output_size)


def _backward(forward, self, grad_output):
    """The gradient of forward(self), itself recorded where `grad_output` needs that."""
    with torch.enable_grad():
        x = as_leaf(self.detach())
        return torch.autograd.grad(forward(x), x, grad_output, create_graph=grad_output.requires_grad)[0]


@_aten("_adaptive_avg_pool2d_backward(Tensor grad_output, Tensor self) -> Tensor")
def _adaptive_avg_pool2d_backward(grad_output, self):
    """The gradient of _adaptive_avg_pool2d."""
    return _backward(lambda x: torch.nn.functional.adaptive_avg_pool2d(x, grad_output.shape[-2:]), self, grad_output)


@_aten(
    "avg_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, "
    "bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor"
)
def avg_pool2d_backward(
    grad_output, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
):
    """The gradient of avg_pool2d."""
    window = kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    return _backward(lambda x: torch._C._nn.avg_pool2d(x, *window), self, grad_output)


@_aten(
    "max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, "
    "int[2] padding, int[2] dilation, bool ceil_mode, Tensor indices) -> Tensor"
)
def max_pool2d_with_indices_backward(grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices):
    """The gradient of max_pool2d_with_indices: `grad_output` added at the positions."""
    flat = self.new_zeros((*self.shape[:-2], self.shape[-2] * self.shape[-1]))
    return flat.scatter_add(-1, indices.flatten(-2), grad_output.flatten(-2)).reshape(self.shape)


# ---- fused and unchecked forms ---------------------------------------------------------------------------------------
@op(
    "_addmm_activation(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1, "
    "bool use_gelu=False) -> Tensor",
    out=True,
    grad={},
    samples=lambda t: [(t(3, 5), t(3, 4), t(4, 5)), (t(5), t(3, 4), t(4, 5), {"beta": 0.5, "use_gelu": True})],
)
def _addmm_activation(self, mat1, mat2, beta=1, alpha=1, use_gelu=False):
    """addmm, then relu or gelu."""
    result = torch.addmm(self, mat1, mat2, beta=beta, alpha=alpha)
    return torch.nn.functional.gelu(result) if use_gelu else torch.relu(result)


def _inside(x, indices):
    """The indices, where they reach beyond a dim moved to its border."""
    return [i if i is None else i.clamp(-n, n - 1) for i, n in zip(indices, x.shape)]


@op(
    "_unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> Tensor",
    variants="function",
    grad={
        "self": lambda c, g: _unsafe_masked_index_put_accumulate(g.new_zeros(c.self_shape), c.mask, list(c.indices), g)
    },
    samples=lambda t: [
        (t(3, 4), torch.tensor([True, False]), [torch.tensor([0, 5]), torch.tensor([3, -9])], 2),
        (t(3, 4), torch.tensor([[True], [False]]), [torch.tensor([2, 7])], 0.5),
    ],
)
def _unsafe_masked_index(self, mask, indices, fill):
    """self[indices], and `fill` where `mask` is False; there indices may reach beyond the dim."""
    found = torch.ops.aten.index.Tensor(self, _inside(self, indices))
    return found.masked_fill(mask.logical_not(), fill)


@op(
    "_unsafe_masked_index_put_accumulate(Tensor self, Tensor mask, Tensor?[] indices, Tensor values) -> Tensor",
    variants="function",
    grad={
        "self": lambda c, g: g,
        "values": lambda c, g: _unsafe_masked_index(g, c.mask, list(c.indices), 0),
    },
    samples=lambda t: [
        (t(3, 4), torch.tensor([True, False]), [torch.tensor([0, 5]), torch.tensor([3, -9])], t(2)),
        (t(3, 4), torch.tensor([[True], [False]]), [torch.tensor([2, 7])], t(2, 4)),
    ],
)
def _unsafe_masked_index_put_accumulate(self, mask, indices, values):
    """`self` with `values` added at the indexed positions where `mask` is True."""
    if not self.numel():
        return self.clone()
    values = values.masked_fill(mask.logical_not(), 0)
    return self.index_put(_inside(self, indices), values, accumulate=True)
