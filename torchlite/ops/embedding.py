"""Rows of a table by index: embedding, one-hot vectors; embedding bags as torch.nn.functional has them."""

import torchlite as torch

from ._declare import op


def _embedding_grad(c, g):
    if c.sparse:
        return _sparse_grad(g, c.indices, c.weight_shape[0], c.padding_idx, c.scale_grad_by_freq)
    return torch.embedding_dense_backward(g, c.indices, c.weight_shape[0], c.padding_idx, c.scale_grad_by_freq)


def _sparse_grad(g, indices, num_weights, padding_idx, scale_grad_by_freq):
    """The rows of `g` as the values of a COO tensor (num_weights, D), in the order of the indices."""
    if scale_grad_by_freq:
        raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")
    flat = indices.reshape(-1).long()
    rows = g.reshape(flat.numel(), g.shape[-1])
    if padding_idx >= 0:
        used = flat != padding_idx
        flat, rows = flat[used], rows[used]
    flat = flat.clone()  # the program may write to its indices
    return torch.sparse_coo_tensor(flat.unsqueeze(0), rows, (num_weights, g.shape[-1]))


@op(
    "embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, "
    "bool sparse=False) -> Tensor",
    kernel="embedding",
    variants="function",
    grad={"weight": _embedding_grad},
    samples=lambda t: [(t(5, 3), torch.tensor([[0, 4], [4, 1]])), (t(5, 3), torch.tensor([1, 1]))],
)
def embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    """weight[indices]: (V, D) and (*) give (*, D). The row `padding_idx` gets no gradient."""
    return torch.ops.functions.index(weight, [indices.long()])


def _double_backward(c, g):
    r = g.index_select(0, c.indices.reshape(-1))
    if c.scale_grad_by_freq:
        flat = c.indices.reshape(-1)
        count = torch.zeros(c.num_weights, dtype=r.dtype, device=r.device).index_add(
            0, flat, torch.ones_like(flat, dtype=r.dtype)
        )
        r = r / count[flat].unsqueeze(-1)
    if c.padding_idx >= 0:
        r = r.masked_fill((c.indices.reshape(-1) == c.padding_idx).unsqueeze(-1), 0)
    return r.reshape(c.grad_output_shape)


@op(
    "embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, SymInt padding_idx, "
    "bool scale_grad_by_freq) -> Tensor",
    kernel="embedding_dense_backward",
    variants="function",
    grad={"grad_output": _double_backward},
)
def embedding_dense_backward(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq):
    """Sums the rows of `grad_output` into a (num_weights, D) table;
    optionally divides each by how often it was used."""
    flat = indices.reshape(-1).long()
    g = grad_output.reshape(flat.numel(), grad_output.shape[-1]).masked_fill((flat == padding_idx).unsqueeze(1), 0)
    if scale_grad_by_freq:
        g = (g / torch.bincount(flat, minlength=num_weights)[flat].unsqueeze(1)).to(g.dtype)
    return g.new_zeros((num_weights, g.shape[1])).index_add(0, flat, g)


@op(
    "embedding_renorm(Tensor self, Tensor indices, float max_norm, float norm_type) -> Tensor",
    kernel="embedding_renorm",
    inplace=True,
    variants="function",
    grad=None,
    differentiable=False,
)
def embedding_renorm(self, indices, max_norm, norm_type):
    """`self` with the rows named by `indices` scaled down to a norm of at most `max_norm`."""


@op(
    "one_hot(Tensor self, int num_classes=-1) -> Tensor", kernel="one_hot", module="nn", grad=None, differentiable=False
)
def one_hot(self, num_classes=-1):
    """int64 labels (*) as 0/1 vectors (*, num_classes); -1 takes the largest label plus one."""
    n = num_classes if num_classes >= 0 else int(self.max()) + 1
    return (self.unsqueeze(-1) == torch.arange(n, device=self.device)).long()


# ---- torch.nn.functional ---------------------------------------------------------------------------------------------
@op(
    "embedding(Tensor input, Tensor weight, int? padding_idx=None, float? max_norm=None, float norm_type=2.0, "
    "bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
    module="nn",
    samples=lambda t: [(torch.tensor([[0, 4], [4, 1]]), t(5, 3))],
)
def _embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    """weight[input]: (*) indices and a (V, D) table give (*, D). The row `padding_idx` gets no gradient;
    `max_norm` first scales down, in place, the rows looked up."""
    if padding_idx is None:
        padding_idx = -1
    else:
        if not -weight.shape[0] <= padding_idx < weight.shape[0]:
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx %= weight.shape[0]
    if max_norm is not None:
        with torch.no_grad():
            torch.embedding_renorm_(weight.detach(), input.contiguous(), max_norm, norm_type)
    return torch.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


@op(
    "embedding_bag(Tensor input, Tensor weight, Tensor? offsets=None, float? max_norm=None, float norm_type=2, "
    "bool scale_grad_by_freq=False, str mode='mean', bool sparse=False, Tensor? per_sample_weights=None, "
    "bool include_last_offset=False, int? padding_idx=None) -> Tensor",
    module="nn",
    samples=lambda t: [
        (torch.tensor([[0, 4], [4, 1]]), t(5, 3)),
        (torch.tensor([0, 4, 4, 1]), t(5, 3), torch.tensor([0, 3]), {"mode": "sum"}),
    ],
)
def _embedding_bag(
    input,
    weight,
    offsets,
    max_norm,
    norm_type,
    scale_grad_by_freq,
    mode,
    sparse,
    per_sample_weights,
    include_last_offset,
    padding_idx,
):
    """Sums, averages ("mean") or maximises the rows of `weight` (V, D) over bags of indices: the rows of a 2-D `input`,
    or the pieces of a 1-D one that start at `offsets`."""
    if weight.dtype is torch.int64 and input.is_floating_point():
        import warnings

        warnings.warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, "
            "...)` is deprecated, and should now be `embedding_bag(input, weight, ...)`.",
            stacklevel=2,
        )
        weight, input = input, weight
    if per_sample_weights is not None and per_sample_weights.shape != input.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have "
            f"the same shape as the input ({input.shape})"
        )
    if weight.dim() != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}")
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                f"sequences. However, found offsets of type {type(offsets)}"
            )
        n, size = input.shape
        offsets = (
            torch.arange(0, input.numel(), size, dtype=input.dtype, device=input.device)
            if size
            else torch.zeros(n, dtype=input.dtype, device=input.device)
        )
        input = input.reshape(-1)
        if include_last_offset:
            offsets = torch.cat([offsets, offsets.new_full((1,), input.numel())])
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape(-1)
    elif input.dim() == 1:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if offsets.dim() != 1:
            raise ValueError("offsets has to be a 1D Tensor")
    else:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    modes = {"sum": 0, "mean": 1, "max": 2}
    if mode not in modes:
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for "
            f"mode='sum' (got mode='{mode}'). Please open a feature request on GitHub."
        )
    if input.dtype not in (torch.int64, torch.int32):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but "
            f"got torch.{input.dtype._scalar_type}Tensor instead (while checking arguments for embedding_bag)"
        )
    if not weight.is_floating_point():
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have one of the following scalar types: "
            "Half, BFloat16, Float, Double; "
            f"but got torch.{weight.dtype._scalar_type}Tensor instead (while checking arguments for embedding_bag)"
        )
    if per_sample_weights is not None and per_sample_weights.dtype is not weight.dtype:
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 "
            "'per_sample_weights'; "
            f"but type torch.{weight.dtype._scalar_type}Tensor does not equal "
            f"torch.{per_sample_weights.dtype._scalar_type}Tensor (while checking arguments for embedding_bag)"
        )
    if max_norm is not None:
        with torch.no_grad():
            torch.embedding_renorm_(weight.detach(), input, max_norm, norm_type)
    if padding_idx is None:
        padding_idx = -1
    else:
        n = weight.shape[0]
        if not -n <= padding_idx < n:
            raise RuntimeError(
                f"padding_idx must be within the number of embeddings, {-n} through {n - 1}, but got {padding_idx}"
            )
        padding_idx %= weight.shape[0]
    from . import load

    load("row_sums")
    return torch.embedding_bag(
        weight,
        input,
        offsets,
        scale_grad_by_freq,
        modes[mode],
        sparse,
        per_sample_weights,
        include_last_offset,
        padding_idx,
    )[0]
