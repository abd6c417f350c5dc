"""Functions that PyTorch's core has in the torch namespace under private names; programs and packages call them."""

import warnings

import torchlite as torch

from .._core.c_names import note_lazy_clone
from . import _bodies as bodies
from ._declare import op


def _fn(*schemas, **kw):
    return op(*schemas, variants="function", **kw)


# ---- older forms of public functions ---------------------------------------------------------------------------------
@_fn("_unique(Tensor self, bool sorted=True, bool return_inverse=False) -> (Tensor, Tensor)", grad={})
def _unique(self, sorted=True, return_inverse=False):
    """Distinct values in order, and where each element's value is among them; that is empty unless it is asked for."""
    return bodies.unique(self, sorted, return_inverse, False)[:2]


@_fn(
    "_aminmax(Tensor self) -> (Tensor, Tensor)",
    "_aminmax.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor, Tensor)",
    grad={},
    samples=lambda t: [(t(3, 4),), (t(3, 4), 1)],
)
def _aminmax(self, dim=None, keepdim=False):
    """aminmax."""
    warnings.warn(
        "_aminmax is deprecated as of PyTorch 1.11 and will be removed in a future release. Use aminmax instead. This "
        "warning will only appear once per process.",
        stacklevel=2,
    )
    return torch.aminmax(self, dim=dim, keepdim=keepdim)


@_fn("_stack(Tensor[] tensors, int dim=0) -> Tensor", grad={}, samples=lambda t: [([t(3), t(3)], 1)])
def _stack(tensors, dim=0):
    """stack."""
    return torch.stack(tensors, dim)


@_fn("_logcumsumexp(Tensor self, int dim) -> Tensor", grad={}, samples=lambda t: [(t(3, 4), 1)])
def _logcumsumexp(self, dim):
    """logcumsumexp."""
    return torch.logcumsumexp(self, dim)


@_fn("_lazy_clone(Tensor self) -> Tensor", samples=lambda t: [(t(3, 4),)], grad={"self": lambda c, g: g})
def _lazy_clone(self):
    """clone: PyTorch's copy shares memory until one of the two is written."""
    made = self.clone()
    if self.layout is torch.strided and not self._dispatches:
        note_lazy_clone(self, made)
    return made


def _cast(name, dtype):
    @_fn("_cast_%s(Tensor self, bool non_blocking=False) -> Tensor" % name, differentiable=False)
    def cast(self, non_blocking=False):
        """The elements in another dtype, without a gradient."""
        return self.to(dtype)


for _name, _dtype in (
    ("Byte", torch.uint8),
    ("Char", torch.int8),
    ("Double", torch.float64),
    ("Float", torch.float32),
    ("Half", torch.float16),
    ("Int", torch.int32),
    ("Long", torch.int64),
    ("Short", torch.int16),
):
    _cast(_name, _dtype)


@_fn("_dim_arange(Tensor like, int dim) -> Tensor", differentiable=False, samples=lambda t: [(t(3, 4), 1)])
def _dim_arange(like, dim):
    """The indices of a dim."""
    return torch.arange(like.size(dim), dtype=torch.int64, device=like.device)


@_fn("_reshape_from_tensor(Tensor self, Tensor shape) -> Tensor")
def _reshape_from_tensor(self, shape):
    """reshape, to a shape that a tensor holds."""
    if shape.dim() != 1:
        raise RuntimeError("Expected shape.dim() == 1 to be true, but got false.")
    return self.reshape(shape.tolist())


@_fn("_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor")
def _unsafe_index(self, indices):
    """self[indices]."""
    return torch.ops.aten.index.Tensor(self, list(indices))


@_fn("_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor")
def _unsafe_index_put(self, indices, values, accumulate=False):
    """index_put."""
    return torch.index_put(self, list(indices), values, accumulate)


@_fn(
    "_histogramdd_bin_edges(Tensor self, int[] bins, *, float[]? range=None, Tensor? weight=None, "
    "bool density=False) -> Tensor[]",
    differentiable=False,
)
def _histogramdd_bin_edges(self, bins, range=None, weight=None, density=False):
    """The edges of histogramdd."""
    return tuple(torch.histogramdd(self, bins, range=range, weight=weight, density=density)[1])


@_fn(
    "_histogramdd_from_bin_cts(Tensor self, int[] bins, *, float[]? range=None, Tensor? weight=None, "
    "bool density=False) -> Tensor",
    grad={},
)
def _histogramdd_from_bin_cts(self, bins, range=None, weight=None, density=False):
    """The counts of histogramdd, from how many bins each dim has."""
    return torch.histogramdd(self, bins, range=range, weight=weight, density=density)[0]


@_fn(
    "_histogramdd_from_bin_tensors(Tensor self, Tensor[] bins, *, Tensor? weight=None, bool density=False) -> Tensor",
    grad={},
)
def _histogramdd_from_bin_tensors(self, bins, weight=None, density=False):
    """The counts of histogramdd, from the edges of each dim."""
    return torch.histogramdd(self, list(bins), weight=weight, density=density)[0]


# ---- arithmetic ------------------------------------------------------------------------------------------------------
@_fn(
    "_euclidean_dist(Tensor x1, Tensor x2) -> Tensor",
    samples=lambda t: [(t(3, 4), t(5, 4)), (t(2, 3, 4), t(2, 5, 4))],
)
def _euclidean_dist(x1, x2):
    """The distances of all rows, by one matrix product."""
    norm1, norm2 = x1.pow(2).sum(-1, True), x2.pow(2).sum(-1, True)
    left = torch.cat([x1 * -2, norm1, torch.ones_like(norm1)], -1)
    right = torch.cat([x2, torch.ones_like(norm2), norm2], -1)
    return left.matmul(right.mT).clamp_min(0).sqrt()


@_fn(
    "_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3, int[] sumdim, "
    "int unroll_dim=1) -> Tensor",
    samples=lambda t: [(t(3, 4), t(5, 4), t(3, 5), [1], [0], [2], [1, 2])],
)
def _trilinear(i1, i2, i3, expand1, expand2, expand3, sumdim, unroll_dim=1):
    """(i1 * i2 * i3).sum(sumdim), after each has got new dims at its `expand`."""
    factors = []
    for x, expand in ((i1, expand1), (i2, expand2), (i3, expand3)):
        for dim in sorted(expand):
            x = x.unsqueeze(dim)
        factors.append(x)
    product = factors[0] * factors[1] * factors[2]
    return product.sum(list(sumdim)) if sumdim else product


@_fn(
    "_compute_linear_combination(Tensor input, Tensor coefficients) -> Tensor",
    grad={},
    samples=lambda t: [(t(3, 4, 2), t(5, 3))],
)
def _compute_linear_combination(input, coefficients):
    """Sums of the slices along the first dim, each weighted by a row of `coefficients`."""
    return torch.tensordot(coefficients, input, 1)


@_fn(
    "_add_relu.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    "_add_relu.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
    "_add_relu_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
    inplace=True,
    grad={},
    samples=lambda t: [(t(3, 4), t(3, 4))],
)
def _add_relu(self, other, alpha=1):
    """relu of the sum."""
    return torch.relu(torch.add(self, other, alpha=alpha))


@_fn("is_same_size(Tensor self, Tensor other) -> bool", differentiable=False, samples=lambda t: [(t(3), t(3))])
def is_same_size(self, other):
    """Whether the shapes are the same."""
    return self.shape == other.shape


# ---- layers ----------------------------------------------------------------------------------------------------------
@_fn(
    "_weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor, Tensor)",
    samples=lambda t: [(t(3, 4), t(3, 1))],
    nondiff=(1,),
)
def _weight_norm_interface(v, g, dim=0):
    """g * v / |v|, and the norms over all dims but one."""
    norms = torch.norm_except_dim(v, 2, dim)
    return v * (g / norms), norms


@_fn("_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor", samples=lambda t: [(t(3, 4), t(3, 1)), (t(2), t(1), -1)])
def _weight_norm(v, g, dim=0):
    """g * v / |v|, with the norm over all dims but one; over all of them where `dim` is -1."""
    return v * (g / torch.norm_except_dim(v, 2, dim))


_CONV = "Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, "


@_fn(
    "_convolution(" + _CONV + "bool transposed, SymInt[] output_padding, SymInt groups, bool benchmark, "
    "bool deterministic, bool cudnn_enabled, bool allow_tf32) -> Tensor",
    "_convolution.deprecated(" + _CONV + "bool transposed, int[] output_padding, SymInt groups, bool benchmark, "
    "bool deterministic, bool cudnn_enabled) -> Tensor",
)
def _convolution(
    input,
    weight,
    bias,
    stride,
    padding,
    dilation,
    transposed,
    output_padding,
    groups,
    benchmark,
    deterministic,
    cudnn_enabled,
    allow_tf32=False,
):
    """convolution; what says how another library should run it does not count."""
    return torch.convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)


@_fn(
    "_convolution_mode(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, str padding, SymInt[] dilation, "
    "SymInt groups) -> Tensor"
)
def _convolution_mode(input, weight, bias, stride, padding, dilation, groups):
    """convolution with padding by a word, "same" or "valid"."""
    conv = (torch.conv1d, torch.conv2d, torch.conv3d)[weight.dim() - 3]
    return conv(input, weight, bias, stride, padding, dilation, groups)


@_fn(
    "_nnpack_spatial_convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[2] padding, "
    "SymInt[2] stride=1) -> Tensor",
    samples=lambda t: [(t(1, 2, 4, 4), t(3, 2, 3, 3), t(3), [1, 1])],
)
def _nnpack_spatial_convolution(input, weight, bias, padding, stride=1):
    """conv2d."""
    return torch.conv2d(input, weight, bias, stride, padding)


@_fn("_nnpack_available() -> bool", differentiable=False)
def _nnpack_available():
    """Whether _nnpack_spatial_convolution can be called."""
    return True


@_fn(
    "_batch_norm_impl_index(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
    "bool training, float momentum, float eps, bool cudnn_enabled) -> (Tensor, Tensor, Tensor, Tensor, int)",
    nondiff=(1, 2, 3),
)
def _batch_norm_impl_index(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled):
    """native_batch_norm, and what PyTorch's backward asks: no reserved space, and the first of its implementations."""
    parts = torch.native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)
    return (*parts, torch.empty(0, dtype=torch.uint8, device=input.device), 0)


@_fn(
    "_embedding_bag_forward_only(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, "
    "int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, "
    "int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)",
    grad={},
)
def _embedding_bag_forward_only(
    weight, indices, offsets, scale, mode, sparse, per_sample_weights, include_last_offset, padding_idx
):
    """_embedding_bag without a gradient."""
    return torch.ops.aten._embedding_bag(
        weight, indices, offsets, scale, mode, sparse, per_sample_weights, include_last_offset, padding_idx
    )


@_fn(
    "_grid_sampler_2d_cpu_fallback(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, "
    "bool align_corners) -> Tensor",
    samples=lambda t: [(t(1, 2, 3, 4), t(1, 2, 2, 2), 0, 0, False)],
)
def _grid_sampler_2d_cpu_fallback(input, grid, interpolation_mode, padding_mode, align_corners):
    """grid_sampler of images."""
    return torch.grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


# ---- sequences -------------------------------------------------------------------------------------------------------
@_fn("_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> (Tensor, Tensor)", nondiff=(1,))
def _pack_padded_sequence(input, lengths, batch_first):
    """The steps of padded sequences one after the other, the longest sequence first, and how many each step has."""
    if batch_first:
        input = input.transpose(0, 1)
    if input.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    if lengths.device.type != "cpu" or lengths.dtype != torch.int64 or lengths.dim() != 1:
        raise RuntimeError(
            "'lengths' argument should be a 1D CPU int64 tensor, but got %dD %s %s tensor"
            % (lengths.dim(), lengths.device, lengths.dtype._scalar_type)
        )
    if lengths.numel() != input.size(1):
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {lengths.numel()} (batch_size={input.size(1)})"
        )
    sizes = lengths.tolist()
    if sizes[-1] <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if any(a < b for a, b in zip(sizes, sizes[1:])):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if "
            "you do not need ONNX exportability."
        )
    batch_sizes, steps = [], []
    start = 0
    # rows of equal batch size are taken in one piece
    for i in range(len(sizes) - 1, -1, -1):
        end = sizes[i]
        if end > start:
            steps.append(input[start:end, : i + 1].reshape((end - start) * (i + 1), *input.shape[2:]))
            batch_sizes += [i + 1] * (end - start)
            start = end
    return torch.cat(steps, 0), torch.tensor(batch_sizes, dtype=torch.int64, device="cpu")


@_fn(
    "_pad_packed_sequence(Tensor data, Tensor batch_sizes, bool batch_first, Scalar padding_value, "
    "int total_length) -> (Tensor, Tensor)",
    nondiff=(1,),
)
def _pad_packed_sequence(data, batch_sizes, batch_first, padding_value, total_length):
    """The padded sequences, the longest first, and their lengths; `total_length` counts where it is above 0."""
    sizes = batch_sizes.tolist()
    longest = len(sizes)
    if 0 < total_length < longest:
        raise RuntimeError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {longest}"
        )
    steps = []
    n = sizes[0]
    for step in data.split(sizes):
        if step.size(0) < n:
            step = torch.cat([step, step.new_full((n - step.size(0), *step.shape[1:]), padding_value)], 0)
        steps.append(step)
    if total_length > longest:
        steps += [data.new_full((n, *data.shape[1:]), padding_value)] * (total_length - longest)
    padded = torch.stack(steps, 0)
    lengths = torch.tensor([sum(size > i for size in sizes) for i in range(n)], dtype=torch.int64, device="cpu")
    return padded.transpose(0, 1) if batch_first else padded, lengths
