"""Parts of attention that PyTorch's core has in the torch namespace under private names."""

import math

import torchlite as torch

from ._declare import op
from .attention import _attention_weights, _head_mask, _scores, _with_heads_of, backend


def _fn(*schemas, **kw):
    return op(*schemas, variants="function", **kw)


@_fn(
    "_fused_sdp_choice(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, "
    "bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> int",
    differentiable=False,
    samples=lambda t: [(t(1, 2, 3, 4),) * 3, (t(2, 3, 4),) * 3, (*(t(1, 2, 3, 4),) * 3, None, 0.5)],
)
def _fused_sdp_choice(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    """The number of the backend in torch.nn.attention.SDPBackend that PyTorch takes: 0 is MATH, 1 FLASH_ATTENTION."""
    return backend(query, key, value, attn_mask, dropout_p)


def _default_scale(query, scale):
    return 1 / math.sqrt(query.shape[-1] or 1) if scale is None else scale


@_fn(
    "_scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, "
    "float dropout_p=0.0, bool is_causal=False, Tensor? dropout_mask=None, *, float? scale=None, "
    "bool enable_gqa=False) -> (Tensor, Tensor)",
    samples=lambda t: [(t(2, 3, 4), t(2, 5, 4), t(2, 5, 6)), (*(t(1, 2, 3, 4) for _ in range(3)), None, 0.0, True)],
)
def _scaled_dot_product_attention_math(
    query,
    key,
    value,
    attn_mask=None,
    dropout_p=0.0,
    is_causal=False,
    dropout_mask=None,
    scale=None,
    enable_gqa=False,
):
    """Attention and its weights."""
    if enable_gqa:
        key, value = _with_heads_of(query, key), _with_heads_of(query, value)
    weights = _attention_weights(query, key, attn_mask, is_causal, _default_scale(query, scale))
    if dropout_mask is not None:  # of elements that are dropped
        kept = weights.masked_fill(dropout_mask.logical_not(), 0.0)
        return kept.matmul(value / (1 - dropout_p)), kept
    dropped = torch.dropout(weights, dropout_p, True) if dropout_p else weights
    return dropped.matmul(value), dropped


@_fn(
    "_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float dropout_p=0.0, "
    "bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)",
    nondiff=(1,),
    samples=lambda t: [tuple(t(1, 2, 3, 4) for _ in range(3)), (*(t(1, 2, 3, 4) for _ in range(3)), 0.0, True)],
)
def _scaled_dot_product_flash_attention_for_cpu(
    query, key, value, dropout_p=0.0, is_causal=False, attn_mask=None, scale=None
):
    """Attention for (batch, heads, positions, elements), and the log-sum-exp of each row's scores."""
    if query.dim() != 4 or key.dim() != 4 or value.dim() != 4:
        raise RuntimeError(
            "scaled_dot_product_attention_flash_attention: Accept only 4 dims inputs shape of {B, H, T, K}"
        )
    if dropout_p:
        raise RuntimeError("scaled_dot_product_attention_flash_attention: Currently do not support dropout > 0")
    if attn_mask is not None and attn_mask.dim() not in (2, 4):
        raise RuntimeError("scaled_dot_product_attention_flash_attention: Attention mask dim in {2, 4}")
    scale = _default_scale(query, scale)
    result = torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask, 0.0, is_causal, scale=scale)
    sums = _scores(query.detach(), key.detach(), attn_mask, is_causal, scale).float().logsumexp(-1)
    return result, sums.to(query.dtype if query.dtype == torch.float64 else torch.float32)


@_fn(
    "_masked_softmax(Tensor self, Tensor mask, int? dim=None, int? mask_type=None) -> Tensor",
    samples=lambda t: [(t(3, 4), torch.tensor([[True, False, False, True]] * 3), 1)],
)
def _masked_softmax(self, mask, dim=None, mask_type=None):
    """softmax of the elements where `mask` is False, 0 for the others. A row that is hidden whole gives NaN."""
    if mask.dtype != torch.bool:
        raise RuntimeError("Mask should be a boolean tensor")
    dim = self.dim() - 1 if dim is None else dim
    if mask.dim() != 2 or self.dim() != 4 or mask_type == 2:
        if mask.shape != self.shape:
            raise RuntimeError("For mask_type == 2 mask shape should match input shape")
    else:
        mask = _head_mask(mask, mask_type, self.shape[:3])
    return self.masked_fill(mask, -math.inf).softmax(dim)


@_fn(
    "_transform_bias_rescale_qkv(Tensor qkv, Tensor qkv_bias, int num_heads) -> (Tensor, Tensor, Tensor)",
    grad={},
    samples=lambda t: [(t(2, 3, 12), t(12), 2)],
)
def _transform_bias_rescale_qkv(qkv, qkv_bias, num_heads):
    """Query, key and value of each head from (batch, positions, 3 * elements), the query divided by sqrt(elements)."""
    size = qkv_bias.shape[0] // 3
    if num_heads < 1 or size % num_heads:
        raise RuntimeError("Expected D % num_head == 0 to be true, but got false.")
    batch, length, _ = qkv.shape
    parts = (qkv + qkv_bias).view(batch, length, 3, num_heads, size // num_heads).permute(2, 0, 3, 1, 4)
    q, k, v = (part.contiguous() for part in parts.unbind(0))
    return q / math.sqrt(size // num_heads), k, v


@_fn(
    "_transformer_encoder_layer_fwd(Tensor src, int embed_dim, int num_heads, Tensor qkv_weight, Tensor qkv_bias, "
    "Tensor proj_weight, Tensor proj_bias, bool use_gelu, bool norm_first, float eps, Tensor norm_weight_1, "
    "Tensor norm_bias_1, Tensor norm_weight_2, Tensor norm_bias_2, Tensor ffn_weight_1, Tensor ffn_bias_1, "
    "Tensor ffn_weight_2, Tensor ffn_bias_2, Tensor? mask=None, int? mask_type=None) -> Tensor",
    grad={},
    samples=lambda t: [
        (
            *(t(2, 3, 4), 4, 2, t(12, 4), t(12), t(4, 4), t(4), False, first, 1e-5),
            *(t(4), t(4), t(4), t(4), t(6, 4), t(6), t(4, 6), t(4)),
        )
        for first in (False, True)
    ],
)
def _transformer_encoder_layer_fwd(
    src,
    embed_dim,
    num_heads,
    qkv_weight,
    qkv_bias,
    proj_weight,
    proj_bias,
    use_gelu,
    norm_first,
    eps,
    norm_weight_1,
    norm_bias_1,
    norm_weight_2,
    norm_bias_2,
    ffn_weight_1,
    ffn_bias_1,
    ffn_weight_2,
    ffn_bias_2,
    mask=None,
    mask_type=None,
):
    """nn.TransformerEncoderLayer without gradients and dropout, for (batch, positions, elements)."""
    F = torch.nn.functional

    def attend(x):
        of_heads = qkv_weight, qkv_bias, proj_weight, proj_bias
        return torch._native_multi_head_attention(
            x, x, x, embed_dim, num_heads, *of_heads, mask, False, False, mask_type
        )[0]

    def feed(x):
        inner = F.linear(x, ffn_weight_1, ffn_bias_1)
        return F.linear(F.gelu(inner) if use_gelu else torch.relu(inner), ffn_weight_2, ffn_bias_2)

    def norm1(x):
        return F.layer_norm(x, (embed_dim,), norm_weight_1, norm_bias_1, eps)

    def norm2(x):
        return F.layer_norm(x, (embed_dim,), norm_weight_2, norm_bias_2, eps)

    if norm_first:
        x = src + attend(norm1(src))
        return x + feed(norm2(x))
    x = norm1(src + attend(src))
    return norm2(x + feed(x))
