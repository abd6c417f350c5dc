"""Scaled dot product attention."""

import math

import torchlite as torch

from .. import _C
from ._declare import op


def _check_attention(query, key, value, attn_mask):
    if query.dtype != key.dtype or query.dtype != value.dtype:
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{query.dtype._cpp_type} key.dtype: {key.dtype._cpp_type} and value.dtype: "
            f"{value.dtype._cpp_type} instead."
        )
    if query.dim() < 2 or key.dim() < 2 or value.dim() < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{query.dim()} key.dim: {key.dim()} and value.dim: {value.dim()} instead."
        )
    if attn_mask is not None:
        if attn_mask.dtype not in (torch.bool, query.dtype, torch.float32):
            raise RuntimeError(
                "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
                f"{attn_mask.dtype._cpp_type} and  query.dtype: {query.dtype._cpp_type} instead."
            )


def _scores(query, key, attn_mask, is_causal, scale):
    """(*, L, S) scores before the softmax: scaled products plus the mask, -inf where attention is not allowed."""
    scores = (query * scale).matmul(key.transpose(-2, -1))
    allowed = None
    if is_causal:
        allowed = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool, device=query.device).tril()
    elif attn_mask is not None and attn_mask.dtype == torch.bool:
        allowed = attn_mask
    if allowed is not None:
        return scores.masked_fill(allowed.logical_not(), -math.inf)
    return scores if attn_mask is None else scores + attn_mask.to(scores.dtype)


def _attention_weights(query, key, attn_mask, is_causal, scale):
    """(*, L, S) softmax of the scores over the keys."""
    scores = _scores(query, key, attn_mask, is_causal, scale)
    if attn_mask is None:
        return torch.softmax(scores, -1)
    # where the mask allows no key, weights and gradients are zeros, not NaN
    blind = (scores == -math.inf).all(-1, keepdim=True)
    return torch.softmax(scores.masked_fill(blind, 0.0), -1).masked_fill(blind, 0.0)


def _attention_grad(c, g):
    """Gradients of query, key, value and mask, computed in float32.

    The weights are not saved. If the result is float32, they come from the scores and the saved log-sum-exp of each
    row. A result in half precision is rounded, and the subtraction below would leave mostly its rounding error; then,
    and if this gradient is differentiated too, they come from a softmax of the scores.
    """
    y, mask = c.result0, c.attn_mask
    exact = y.dtype == torch.float32 and not torch.is_grad_enabled()
    q, k, v, g = (t.float() for t in (c.query, c.key, c.value, g))
    if exact:
        lse = c.result1.unsqueeze(-1)
        weights = (_scores(q, k, mask, c.is_causal, c.scale) - lse.masked_fill(lse == -math.inf, 0.0)).exp()
    else:
        weights = _attention_weights(q, k, mask, c.is_causal, c.scale)
    d = g.matmul(v.transpose(-2, -1))
    d = weights * (d - (g * y if exact else weights * d).sum(-1, keepdim=True))
    return {
        "query": d.matmul(k) * c.scale if c.needs_query else None,
        "key": (q * c.scale).transpose(-2, -1).matmul(d).transpose(-2, -1) if c.needs_key else None,
        "value": weights.transpose(-2, -1).matmul(g) if c.needs_value else None,
        "attn_mask": d if c.needs_attn_mask else None,
    }


@op(
    "_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask, bool is_causal, "
    "float scale) -> (Tensor, Tensor)",
    module="aten",
    variants="function",
    kernel="_attention",
    nondiff=(1,),
    node="ScaledDotProductEfficientAttentionBackward0",
    grad=lambda c, g: _attention_grad(c, g[0]),
)
def _attention(query, key, value, attn_mask, is_causal, scale):
    """Attention on devices that have one kernel for it: (result, log-sum-exp of each row's scores in float32)."""
    q, k, v = (
        (query.float(), key.float(), value.float())
        if query.dtype in (torch.float16, torch.bfloat16)
        else (query, key, value)
    )
    y = _attention_weights(q, k, attn_mask, is_causal, scale).matmul(v)
    return y.to(query.dtype), torch.logsumexp(_scores(q, k, attn_mask, is_causal, scale), -1).float()


@op(
    "_gradient_by_heads(Tensor self) -> Tensor",
    module="_hidden",
    grad={"self": lambda c, g: g.transpose(1, 2).contiguous().transpose(1, 2)},
)
def _gradient_by_heads(self):
    """The tensor itself; its gradient is laid out as (batch, position, head, element), as the layers around attention
    have it."""
    return self


def _flash(query, key, value, attn_mask, dropout_p):
    """Whether PyTorch would take its flash kernel on the CPU; its gradients have other strides."""
    q, k, v = query.shape, key.shape, value.shape
    return (
        (query.is_cpu or query.is_meta)
        and len(q) == len(k) == len(v) == 4
        and not dropout_p
        and q[:2] == k[:2] == v[:2]
        and q[3] == k[3] == v[3]
        and q[2] * k[2] * v[2] > 0
        and all(t.stride(-1) == 1 for t in (query, key, value))
        and (attn_mask is None or not _C.differentiated(attn_mask))
    )


def backend(query, key, value, attn_mask, dropout_p):
    """Which kernel PyTorch takes on the CPU, of those that are switched on: 1 flash, 0 math."""
    from ..backends import _sdp

    if _sdp["flash"] and _flash(query, key, value, attn_mask, dropout_p):
        return 1
    if not _sdp["math"]:
        raise RuntimeError(
            "No viable backend for scaled_dot_product_attention was found. This is likely due to turning off both the "
            "math kernel and the fused kernels."
        )
    return 0


def _mask_of_both(query, key, value, attn_mask, dropout_p):
    """A mask and is_causal as one mask. Of PyTorch's kernels only flash on the CPU takes both."""
    if not _flash(query, key, value, attn_mask, dropout_p) or not backend(query, key, value, attn_mask, dropout_p):
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    later = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool, device=query.device).triu(1)
    return attn_mask.masked_fill(later, False if attn_mask.dtype == torch.bool else -math.inf)


def _one_kernel(query, key, value, attn_mask):
    """Whether a device's attention kernel takes these arguments."""
    if (
        query.dtype not in (torch.float32, torch.float16, torch.bfloat16)
        or not 1 <= query.shape[-1] <= 128
        or not 1 <= value.shape[-1] <= 128
    ):
        return False
    if query.shape[:-2] != key.shape[:-2] or key.shape[:-1] != value.shape[:-1] or query.shape[-1] != key.shape[-1]:
        return False
    if (
        0 in query.shape
        or 0 in key.shape
        or query.dim() > 4
        or key.device != query.device
        or value.device != query.device
    ):
        return False
    full = tuple(query.shape[:-1]) + (key.shape[-2],)
    return (
        attn_mask is None
        or attn_mask.device == query.device
        and attn_mask.dim() <= len(full)
        and all(m == n or m == 1 for m, n in zip(reversed(attn_mask.shape), reversed(full)))
    )


def _with_heads_of(query, t):
    """t with its heads (dim -3) repeated to as many as query has."""
    wanted, heads = query.size(-3), t.size(-3)
    if wanted == heads:
        return t
    if heads == 0 or wanted % heads:
        raise RuntimeError("Number of heads in key and value must divide the number of heads in ")
    return t.repeat_interleave(wanted // heads, -3)


@op(
    "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, "
    "bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor",
    module="nn",
    alias=("_nn.scaled_dot_product_attention",),
    samples=lambda t: [
        (t(2, 3, 4), t(2, 5, 4), t(2, 5, 6)),
        (t(1, 2, 4, 4), t(1, 2, 4, 4), t(1, 2, 4, 4), {"is_causal": True}),
    ],
)
def scaled_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
):
    """softmax(query @ key.T * scale + attn_mask) @ value for query (*, L, E), key (*, S, E) and value (*, S, Ev).

    A bool mask is true where attention is allowed; `scale` is 1 / sqrt(E) by default;
    `is_causal` lets position i see the positions up to i;
    `enable_gqa` repeats the heads of key and value to those of query."""
    _check_attention(query, key, value, attn_mask)
    if enable_gqa:
        key, value = _with_heads_of(query, key), _with_heads_of(query, value)
    if is_causal and attn_mask is not None:
        attn_mask, is_causal = _mask_of_both(query, key, value, attn_mask, dropout_p), False
    dtype = query.dtype
    if scale is None:
        scale = 1 / math.sqrt(query.shape[-1]) if query.shape[-1] else 1.0
    if query.device.type == "webgpu" and not dropout_p and _one_kernel(query, key, value, attn_mask):
        return torch.ops.functions._attention(query, key, value, attn_mask, is_causal, scale)[0]
    asked = query
    flash = (query.is_cpu or query.is_meta) and backend(query, key, value, attn_mask, dropout_p)
    if flash and torch.is_grad_enabled():
        query, key, value = (_gradient_by_heads(t) if t.requires_grad else t for t in (query, key, value))
    if dtype in (torch.float16, torch.bfloat16):  # sums and exponentials in float32
        query, key, value = query.float(), key.float(), value.float()
    weights = _attention_weights(query, key, attn_mask, is_causal, scale)
    if dropout_p > 0:
        weights = torch.dropout(weights, dropout_p, True)
    result = weights.matmul(value)
    if flash and result.stride() != asked.stride():  # laid out as the query, as the projection that follows wants it
        return torch.empty_like(asked).copy_(result)
    return result.to(dtype)


def _check_heads(query, key, value, embed_dim, num_head, qkv_weight, qkv_bias):
    if query.dim() != 3:
        raise RuntimeError("expected 3-D `query`, got %d-D tensor" % query.dim())
    if query.shape[2] != embed_dim:
        raise RuntimeError("passed-in embed_dim %d didn't match last dim of query %d" % (embed_dim, query.shape[2]))
    if query.shape != key.shape or key.shape != value.shape:
        raise RuntimeError("expected `query`/`key`/`value` shapes to match")
    if qkv_weight.dim() != 2:
        raise RuntimeError("expected 2-D `qkv_weight`, got %d-D tensor" % qkv_weight.dim())
    if 3 * embed_dim != qkv_weight.shape[0]:
        raise RuntimeError("expected `qkv_weight` first dim to be 3x embed_dim")
    if embed_dim != qkv_weight.shape[1]:
        raise RuntimeError("expected `qkv_weight` second dim to be embed_Dim")
    if qkv_bias.dim() != 1:
        raise RuntimeError("expected 1-D `qkv_bias`, got %d-D tensor" % qkv_bias.dim())
    if qkv_bias.shape[0] != 3 * embed_dim:
        raise RuntimeError("expected `qkv_bias` first dim and first dim of query to be equal")
    if num_head < 1:
        raise RuntimeError(f"_native_multi_head_attention: num_head must be positive, got {num_head}")
    if embed_dim % num_head:
        raise RuntimeError("`embed_dim` must divide evenly by `num_heads`")


def _head_mask(mask, mask_type, shape):
    """The mask over (batch, heads, queries, keys), true where attention is refused."""
    batch, heads, length = shape
    if mask_type is None:
        raise RuntimeError("Mask Type should be defined")
    if mask_type == 0:
        if tuple(mask.shape) != (length, length):
            raise RuntimeError("For mask_type == 0 mask shape should be (L, L)")
        mask = mask.view(1, 1, length, length)
    elif mask_type == 1:
        if tuple(mask.shape) != (batch, length):
            raise RuntimeError("For mask_type == 1 mask shape should be (B, L)")
        mask = mask.view(batch, 1, 1, length)
    elif mask_type != 2:
        raise RuntimeError("Mask Type should be 0 (src_mask) or 1 (src_key_padding_mask), or 2 (default_mask)")
    elif tuple(mask.shape) != (batch, heads, length, length):
        raise RuntimeError("For mask_type == 2 mask shape should match input shape")
    return mask.bool()


@op(
    "_native_multi_head_attention(Tensor query, Tensor key, Tensor value, int embed_dim, int num_head, "
    "Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, Tensor? mask=None, "
    "bool need_weights=True, bool average_attn_weights=True, int? mask_type=None) -> (Tensor, Tensor)",
    variants="function",
    grad={},
    samples=lambda t: [
        (*(t(2, 3, 4),) * 3, 4, 2, t(12, 4), t(12), t(4, 4), t(4)),
        (t(2, 3, 4), t(2, 3, 4), t(2, 3, 4), 4, 2, t(12, 4), t(12), t(4, 4), t(4), None, True, False),
    ],
)
def _native_multi_head_attention(
    query,
    key,
    value,
    embed_dim,
    num_head,
    qkv_weight,
    qkv_bias,
    proj_weight,
    proj_bias,
    mask=None,
    need_weights=True,
    average_attn_weights=True,
    mask_type=None,
):
    """nn.MultiheadAttention without gradients for (batch, length, embed_dim): (result, weights or None)."""
    _check_heads(query, key, value, embed_dim, num_head, qkv_weight, qkv_bias)
    batch, length, _ = query.shape
    parts = zip((query, key, value), qkv_weight.chunk(3), qkv_bias.chunk(3))
    q, k, v = (
        torch.nn.functional.linear(x, w, b).view(batch, length, num_head, -1).transpose(1, 2) for x, w, b in parts
    )
    weights = None
    if mask is None and not need_weights:
        heads = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    else:
        scores = (q / math.sqrt(embed_dim // num_head)) @ k.transpose(-2, -1)
        if mask is not None:  # a row that is hidden whole gives NaN, as in PyTorch
            scores = scores.masked_fill(_head_mask(mask, mask_type, (batch, num_head, length)), -math.inf)
        weights = scores.softmax(-1)
        heads = weights @ v
    joined = heads.transpose(1, 2).reshape(batch, length, embed_dim)
    result = torch.nn.functional.linear(joined, proj_weight, proj_bias)
    if not need_weights or weights is None:
        return result, None
    return result, weights.mean(1) if average_attn_weights else weights
