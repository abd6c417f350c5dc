"""Sums of rows of a table: embedding bags, and what products of sparse matrices are made of."""

import operator

import torchlite as torch

from ._declare import op


def _weights_grad(c, g):
    return (g.index_select(0, c.rows) * c.table.index_select(0, c.columns).conj()).sum(1)


@op(
    "_sum_rows(Tensor table, Tensor columns, Tensor rows, Tensor? values, SymInt n) -> Tensor",
    kernel="_sum_rows",
    variants="function",
    module="aten",
    grad={
        "table": lambda c, g: torch.ops.functions._sum_rows(
            g, c.rows, c.columns, None if c.values is None else c.values.conj(), c.table_shape[0]
        ),
        "values": _weights_grad,
    },
    samples=lambda t: [
        (t(4, 3), torch.tensor([0, 3, 3]), torch.tensor([1, 0, 1]), t(3), 2),
        (t(4, 3), torch.tensor([0, 3]), torch.tensor([1, 1]), None, 2),
    ],
)
def _sum_rows(table, columns, rows, values, n):
    """n rows (n, D): to row rows[i], row columns[i] of `table` (V, D) is added, times values[i]. Bags of embeddings,
    and products of a sparse matrix with a dense one."""
    x = table.index_select(0, columns)
    if values is not None:
        x = x * values.unsqueeze(1)
    return x.new_zeros((n, table.shape[1])).index_add(0, rows, x)


def _grids(sizes, width):
    """(bags, (bags, longest) positions of their rows), for bags of about one length at a time that are not empty. Where
    a bag has fewer rows, the first one stands again: it changes no maximum. So all bags take a few calls, not one
    each; a call takes rows of `width` numbers, a million of these in all, or one bag."""
    starts, longest = sizes.cumsum(0) - sizes, sizes.amax().item() if sizes.numel() else 0
    while longest:
        shortest = longest // 2
        bags = ((sizes > shortest) & (sizes <= longest)).nonzero().flatten()
        steps = torch.arange(longest, device=sizes.device)
        for some in bags.split(max(1, (1 << 20) // (longest * max(1, width)))):
            inside = steps < sizes[some].unsqueeze(1)
            yield some, starts[some].unsqueeze(1) + steps * inside
        longest = shortest


@op(
    "embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, "
    "bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, "
    "int? padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)",
    variants="function",
    nondiff=(1, 2, 3),
)
def embedding_bag(
    weight,
    indices,
    offsets,
    scale_grad_by_freq=False,
    mode=0,
    sparse=False,
    per_sample_weights=None,
    include_last_offset=False,
    padding_idx=-1,
):
    """Sums (mode 0), averages (1) or maximises (2) rows of `weight` over bags: indices[offsets[i]:offsets[i + 1]].
    Returns the bags (B, D), the bag of every index, the bag sizes, and the rows chosen by the maximum."""
    padding_idx = -1 if padding_idx is None else padding_idx
    n, device = indices.numel(), weight.device
    common = mode != 2 and padding_idx < 0 and weight.dtype is not torch.float64 and weight.stride(1) == 1
    if weight.is_meta:
        bags = offsets.numel() - bool(include_last_offset)
        rows = torch.embedding(weight, indices)
        if per_sample_weights is not None:
            rows = rows * per_sample_weights.unsqueeze(-1)
        out = rows.sum(0, keepdim=True).expand(bags, -1).contiguous()
        size = torch.empty_like(offsets, dtype=torch.int64) if mode == 0 else offsets.new_empty(bags, dtype=torch.int64)
        chosen = size if mode != 2 else offsets.new_empty((bags, weight.shape[1]), dtype=torch.int64)
        return out, offsets.new_empty(0 if mode == 0 and common else n, dtype=torch.int64), size, chosen
    starts = offsets.tolist()
    if include_last_offset and not starts:
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    if starts and starts[0] != 0:
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. "
            f"However, got {starts[0]}"
        )
    if starts and starts[-1] > n:
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length {n} but got offsets[-1] of {starts[-1]}"
        )
    if starts != sorted(starts):
        raise RuntimeError(f"embedding_bag: offsets must not decrease, but got {starts}")
    flat = indices.long()
    if n and not 0 <= flat.min() <= flat.max() < weight.shape[0]:
        i, v = next((i, v) for i, v in enumerate(flat.tolist()) if not 0 <= v < weight.shape[0])
        if mode == 2 or padding_idx >= 0 or weight.dtype is torch.float64:  # PyTorch's two kernels have their texts
            raise RuntimeError(f"embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be {v}")
        raise RuntimeError(f"Index {i} of input takes value {v} which is not in the valid range [0, {weight.shape[0]})")
    # Where the last offset comes before the end, PyTorch counts the rest to the last bag,
    # but for the sums of its common case.
    bounds = (starts[:-1] if include_last_offset else starts) + [n]
    bags = len(bounds) - 1
    size = torch.tensor(list(map(operator.sub, bounds[1:], bounds)), dtype=torch.int64, device=device)
    flat = flat[: starts[-1] if common and include_last_offset else bounds[-1] - bounds[0]]
    bag = torch.repeat_interleave(size)
    whole, bag = bag, bag[: flat.numel()]
    keep = None
    if padding_idx >= 0:
        keep = flat != padding_idx
        size = size - torch.zeros_like(size).index_add(0, bag, (~keep).long())
    if mode == 2:
        rows = torch.embedding(weight, flat, padding_idx, scale_grad_by_freq, sparse)
        chosen = torch.full((bags, weight.shape[1]), -1, dtype=torch.int64, device=weight.device)
        if keep is not None:
            flat, rows = flat[keep], rows[keep]
        with torch.no_grad():
            for some, grid in _grids(size, weight.shape[1]):
                at = rows.detach()[grid].max(1)[1]
                chosen[some] = flat[grid.gather(1, at)]
        empty = chosen < 0
        out = (
            weight.gather(0, chosen.clamp(min=0)).masked_fill(empty, 0)
            if bags
            else weight.new_zeros((0, weight.shape[1]))
        )
        chosen = chosen.clamp(min=0)
    else:
        factors = None if per_sample_weights is None else per_sample_weights[: flat.numel()]
        if keep is not None:
            flat, bag = flat[keep], bag[keep]
            factors = None if factors is None else factors[keep]
        table = weight
        narrow = weight.dtype in (torch.float16, torch.bfloat16)  # sums of these lose their small terms
        if sparse or scale_grad_by_freq or narrow:  # embedding has such gradients
            table = torch.embedding(weight, flat, padding_idx, scale_grad_by_freq, sparse)
            flat = torch.arange(flat.numel(), device=device)
        if narrow:
            table, factors = table.float(), None if factors is None else factors.float()
        out = torch.ops.functions._sum_rows(table, flat, bag, factors, bags).to(weight.dtype)
        if mode == 1:
            out = out / size.clamp(min=1).unsqueeze(-1).to(out.dtype)
        chosen = size = torch.zeros_like(offsets, dtype=torch.int64) if mode == 0 else size
        whole = whole[:0] if mode == 0 and common else whole
    return out, whole, size, chosen
