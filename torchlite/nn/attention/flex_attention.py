"""Attention whose scores a function changes (score_mod) or masks (mask_mod), and masks in blocks.

The functions take numbers of batch, head, query and key; vmap runs them once for all scores. PyTorch's compiled kernel
leaves out blocks that a BlockMask says to be empty; here all scores are computed, and the mask's function decides.
"""

import itertools
import math
import warnings
from typing import NamedTuple

import torchlite as torch

__all__ = [
    "BlockMask",
    "flex_attention",
    "AuxOutput",
    "AuxRequest",
    "FlexKernelOptions",
    "create_block_mask",
    "create_mask",
    "or_masks",
    "and_masks",
    "noop_mask",
]

_DEFAULT_SPARSE_BLOCK_SIZE = 128
FlexKernelOptions = dict  # options of PyTorch's kernels, which change no number
_warned: list = []


class AuxRequest(NamedTuple):
    """What flex_attention gives besides its output."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What AuxRequest asked for."""

    lse: object = None
    max_scores: object = None


def noop_mask(batch, head, token_q, token_kv):
    """A mask_mod that hides nothing."""
    return batch.new_ones(size=(), dtype=torch.bool, device=batch.device)


def _identity(score, batch, head, token_q, token_kv):
    return score


def _sliced(batch, head, token_q, token_kv):
    raise RuntimeError(
        "Cannot use mask_mod from a sliced BlockMask. When you slice a BlockMask using [], the mask_mod attribute is "
        "reset. You must set it from the original BlockMask's mask_mod."
    )


def _combined(mask_mods, start, join):
    if not all(callable(mod) for mod in mask_mods):
        raise RuntimeError("All inputs should be callable mask_mods: %s" % (mask_mods,))

    def mask(b, h, q_idx, kv_idx):
        result = b.new_full((), start, dtype=torch.bool)
        for mod in mask_mods:
            result = join(result, mod(b, h, q_idx, kv_idx))
        return result

    return mask


def or_masks(*mask_mods):
    """A mask_mod that shows what one of them shows."""
    return _combined(mask_mods, False, lambda a, b: a | b)


def and_masks(*mask_mods):
    """A mask_mod that shows what all of them show."""
    return _combined(mask_mods, True, lambda a, b: a & b)


def _over_scores(function, sizes, device, scores=None):
    """A score_mod or mask_mod for all (batch, head, query, key)."""
    from ..._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex

    first = () if scores is None else (0,)
    for place in (3, 2, 1, 0):
        function = torch.vmap(function, in_dims=first + tuple(0 if i == place else None for i in range(4)))
    numbers = [torch.arange(n, device=device) for n in sizes]
    with TransformGetItemToIndex():
        return function(*(() if scores is None else (scores,)), *numbers)


def create_mask(mod_fn, B, H, Q_LEN, KV_LEN, device=None):
    """The mask (B, H, Q_LEN, KV_LEN) of a mask_mod; of a score_mod, what it does not set to -inf."""
    import inspect

    device = device or torch.accelerator.current_accelerator() or "cpu"
    sizes = (1 if B is None else B, 1 if H is None else H, Q_LEN, KV_LEN)
    parameters = inspect.signature(mod_fn).parameters.values()
    count = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty for p in parameters)
    if count not in (4, 5):
        raise AssertionError("Expected 4 or 5 positional args, got %d" % count)
    if count == 4:
        return _over_scores(mod_fn, sizes, device)
    return ~_over_scores(mod_fn, sizes, device, torch.zeros(sizes, device=device)).isneginf()


def _ordered(dense):
    """Of blocks (..., rows, columns): how many each row has, and the columns, those it has first."""
    dense = dense.to(torch.int32)
    columns = dense.argsort(dim=-1, descending=True, stable=True)
    return dense.sum(-1).to(torch.int32).contiguous(), columns.to(torch.int32).contiguous()


def _dense(counts, indices):
    """The blocks that _ordered was made of."""
    columns = indices.shape[-1]
    there = torch.arange(columns, device=counts.device) < counts.unsqueeze(-1)
    return torch.zeros_like(indices).scatter_(-1, indices.long(), there.to(torch.int32))


def _transposed(counts, indices):
    return (None, None) if counts is None else _ordered(_dense(counts, indices).transpose(-2, -1))


def create_block_mask(
    mask_mod, B, H, Q_LEN, KV_LEN, device=None, BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE, _compile=False,
    separate_full_blocks=True,
):  # fmt: skip
    """A BlockMask of a mask_mod. B or H of None: it is the same for all."""
    rows, columns = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    mask = torch.nn.functional.pad(mask, (0, -KV_LEN % columns, 0, -Q_LEN % rows))
    b, h, q, kv = mask.shape
    shown = mask.view(b, h, q // rows, rows, kv // columns, columns).sum(dim=(3, 5))
    full = shown == rows * columns if separate_full_blocks else torch.zeros_like(shown, dtype=torch.bool)
    partial = _ordered((shown > 0) & ~full)
    whole = _ordered(full) if separate_full_blocks else (None, None)
    return BlockMask.from_kv_blocks(
        partial[0], partial[1], whole[0], whole[1], (rows, columns), mask_mod, (Q_LEN, KV_LEN)
    )


class BlockMask:
    """Which blocks of scores a mask shows in part, and which whole; and the mask_mod of the rest."""

    def __init__(
        self, seq_lengths, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, q_num_blocks, q_indices,
        full_q_num_blocks, full_q_indices, BLOCK_SIZE=(_DEFAULT_SPARSE_BLOCK_SIZE,) * 2, mask_mod=noop_mask,
    ):  # fmt: skip
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        for kind in ("kv", "q"):
            given = (full_kv_num_blocks, full_kv_indices) if kind == "kv" else (full_q_num_blocks, full_q_indices)
            if (given[0] is None) != (given[1] is None):
                raise AssertionError(
                    "full_%s_num_blocks and full_%s_indices must be both provided or omitted" % (kind, kind)
                )
        self.seq_lengths, self.BLOCK_SIZE, self.mask_mod = tuple(seq_lengths), BLOCK_SIZE, mask_mod
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices

    @classmethod
    def from_kv_blocks(
        cls, kv_num_blocks, kv_indices, full_kv_num_blocks=None, full_kv_indices=None,
        BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE, mask_mod=None, seq_lengths=None, compute_q_blocks=True,
    ):  # fmt: skip
        """Of the key blocks of each query block; the other direction is worked out."""
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError("full_kv_num_blocks and full_kv_indices must be both provided or omitted")
        sizes = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        back = (None,) * 4
        if compute_q_blocks:
            back = (*_transposed(kv_num_blocks, kv_indices), *_transposed(full_kv_num_blocks, full_kv_indices))
        if seq_lengths is None:
            seq_lengths = kv_indices.shape[-2] * sizes[0], kv_indices.shape[-1] * sizes[1]
        blocks = (kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices)
        return cls(seq_lengths, *blocks, *back, BLOCK_SIZE=sizes, mask_mod=mask_mod or noop_mask)

    def _with(self, change, seq_lengths, mask_mod):
        counts, indices = change(self.kv_num_blocks, self.kv_indices)
        full = (None, None)
        if self.full_kv_num_blocks is not None:
            full = change(self.full_kv_num_blocks, self.full_kv_indices)
        both = self.q_indices is not None
        return self.from_kv_blocks(counts, indices, full[0], full[1], self.BLOCK_SIZE, mask_mod, seq_lengths, both)

    @property
    def shape(self):
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self):
        """The number of scores."""
        return math.prod(self.shape)

    def sparsity(self):
        """The part of the scores that lies in empty blocks, in percent."""
        shown = self.kv_num_blocks.sum().item()
        if self.full_kv_num_blocks is not None:
            shown += self.full_kv_num_blocks.sum().item()
        return 100 * (1 - shown * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1] / self.numel())

    def to_dense(self):
        """1 for each block that is shown, in part or whole."""
        dense = _dense(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is not None:
            dense = dense | _dense(self.full_kv_num_blocks, self.full_kv_indices)
        return dense

    def __getitem__(self, index):
        index = (*(index if isinstance(index, tuple) else (index,)), slice(None), slice(None), slice(None))[:3]
        sizes = self.kv_num_blocks.shape[:3]
        index = tuple(  # a number keeps its dim
            slice(i % n, i % n + 1) if isinstance(i, int) and -n <= i < n else i for i, n in zip(index, sizes)
        )
        return self._with(lambda counts, indices: (counts[index], indices[index]), self.seq_lengths, _sliced)

    def _adjust(self, new_q_len, new_kv_len):
        """The same mask for shorter sequences."""
        rows, columns = (-(-n // size) for n, size in zip((new_q_len, new_kv_len), self.BLOCK_SIZE))

        def cut(counts, indices):
            return _ordered(_dense(counts, indices)[:, :, :rows, :columns])

        return self._with(cut, (new_q_len, new_kv_len), self.mask_mod)

    def to(self, device):
        """The mask with its tensors on another device."""
        return self._with(lambda *blocks: tuple(t.to(device) for t in blocks), self.seq_lengths, self.mask_mod)

    def to_string(self, grid_size=(20, 20), limit=4):
        """A picture: a full, a partly full and an empty part of the blocks are a dark, a grey and a blank square."""
        dense = self.to_dense()
        rows, columns = (grid_size, grid_size) if isinstance(grid_size, int) else grid_size
        step, across = (max(1, -(-n // most)) for n, most in zip(dense.shape[-2:], (rows, columns)))
        pictures = []
        for count, place in enumerate(itertools.product(*map(range, dense.shape[:-2]))):
            if count == limit:
                pictures += [
                    "...",
                    "To print out more, set BlockMask.to_string(limit=N)",
                    "You can also index (BlockMask[batch, head]) to choose a specific batch or head",
                ]
                break
            text = "%s\n" % (place,)
            for r in range(0, dense.shape[-2], step):
                for c in range(0, dense.shape[-1], across):
                    part = dense[place][r : r + step, c : c + across].float().mean().item()
                    text += {0.0: "  ", 1.0: "██"}.get(part, "░░")
                text += "\n"
            pictures.append(text)
        return "\n".join(pictures)

    def __str__(self):
        head = "BlockMask(shape=%s, sparsity=%.2f%%, \n" % (self.shape, self.sparsity())
        return head + self.to_string().strip() + "\n)"

    def __repr__(self):
        names = [a + b for a in ("kv", "full_kv", "q", "full_q") for b in ("_num_blocks", "_indices")]
        lines = ["%s=%s" % (n, None if (t := getattr(self, n)) is None else t.shape) for n in names]
        mod = getattr(self.mask_mod, "__name__", self.mask_mod)
        lines += ["BLOCK_SIZE=%s" % (self.BLOCK_SIZE,), "shape=%s" % (self.shape,)]
        lines += ["sparsity=%.2f%%" % self.sparsity(), "mask_mod=%s" % mod]
        return "BlockMask(\n    %s\n)" % ",\n    ".join(lines)


def _check(query, key, value, block_mask, enable_gqa):
    if query.size(-1) != key.size(-1):
        raise ValueError(
            "Expect query and key/value to have the same embedding dimension but got E=%d and E=%d."
            % (query.size(-1), key.size(-1))
        )
    if not query.dtype == key.dtype == value.dtype:
        raise ValueError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: %s, key.dtype: %s, and "
            "value.dtype: %s instead." % (query.dtype, key.dtype, value.dtype)
        )
    if query.dim() != 4 or key.dim() != 4 or value.dim() != 4:
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    if not enable_gqa and query.size(1) != key.size(1):
        raise ValueError(
            "Expect query and key/value to have the same number of heads but got Hq=%d and Hkv=%d. Try setting "
            "enable_gqa=True for GQA." % (query.size(1), key.size(1))
        )
    if query.size(1) % key.size(1):
        raise ValueError(
            "Expect number of query heads to be a multiple of kv heads for GQA but got Hq=%d and Hkv=%d."
            % (query.size(1), key.size(1))
        )
    if block_mask is not None and block_mask.seq_lengths != (query.size(-2), key.size(-2)):
        raise ValueError(
            "block_mask was created for block_mask.shape=%s but got q_len=%d and kv_len=%d. As the block mask was "
            "created for other lengths than you're using it for, create a new block mask with the correct length, or "
            "'adjust' the existing one by calling block_mask._adjust(q_len, kv_len)."
            % (block_mask.shape, query.size(-2), key.size(-2))
        )


def flex_attention(
    query, key, value, score_mod=None, block_mask=None, scale=None, enable_gqa=False, return_lse=False,
    kernel_options=None, *, return_aux=None,
):  # fmt: skip
    """softmax(score_mod(query @ key^T * scale)) @ value, where the block mask's mask_mod shows the score.

    A query that sees no key gives 0. With enable_gqa, heads of the query share those of key and value.
    """
    _check(query, key, value, block_mask, enable_gqa)
    if return_lse and return_aux is not None:
        raise ValueError(
            "Cannot specify both return_lse and return_aux. return_lse is deprecated, please use "
            "return_aux=AuxRequest(lse=True) instead."
        )
    if return_lse and "lse" not in _warned:
        _warned.append("lse")
        warnings.warn(
            "return_lse is deprecated and will be removed in v2.10. "
            "Please use return_aux=AuxRequest(lse=True) instead.",
            FutureWarning,
            stacklevel=2,
        )
    groups = query.size(1) // key.size(1)
    key, value = (t.repeat_interleave(groups, 1) if groups > 1 else t for t in (key, value))
    key, value = (t.expand(query.size(0), -1, -1, -1) for t in (key, value))
    work = torch.float64 if query.dtype is torch.float64 else torch.float32
    scores = (query @ key.transpose(-2, -1)).to(work)
    scores = scores * (query.size(-1) ** -0.5 if scale is None else scale)
    sizes = scores.shape
    if score_mod is not None:
        scores = _over_scores(score_mod, sizes, query.device, scores).to(work)
    if block_mask is not None and block_mask.mask_mod is not noop_mask:
        shown = _over_scores(block_mask.mask_mod, sizes, query.device)
        scores = torch.where(shown, scores, -math.inf)
    hidden = (scores == -math.inf).all(-1)
    weights = scores.softmax(-1).masked_fill(hidden.unsqueeze(-1), 0)
    out = (weights.to(query.dtype) @ value).to(query.dtype)
    if not return_lse and return_aux is None:
        return out
    lse = scores.logsumexp(-1)
    if return_lse:
        return out, lse
    return out, AuxOutput(lse if return_aux.lse else None, scores.amax(-1) if return_aux.max_scores else None)


from ..._core import absent as _absent

__getattr__ = _absent.of(__name__)
