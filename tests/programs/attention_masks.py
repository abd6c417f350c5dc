"""Attention under masks: padding of an encoder, causal and explicit masks, biases, flex_attention, a cache of keys."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.bias import causal_lower_right, causal_upper_left
from torch.nn.attention.flex_attention import and_masks, create_block_mask, create_mask, flex_attention

torch.manual_seed(0)
q, k, v = (torch.randn(2, 4, 6, 8) for _ in range(3))
attend = F.scaled_dot_product_attention
print(attend(q, k, v, is_causal=True).sum(), attend(q, k[:, :2], v[:, :2], enable_gqa=True, scale=0.3).sum())
window = torch.ones(6, 6, dtype=torch.bool).triu(-2)
print(attend(q, k, v, attn_mask=window, is_causal=True)[0, 0, :3, :2])
with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]):
    print(attend(q[:, :, :3], k, v, attn_mask=causal_lower_right(3, 6)).sum(), causal_upper_left(2, 3)._materialize())

# ALiBi, once as a mask, once as a change of the scores
slopes = torch.tensor([2.0 ** (-2 * (i + 1)) for i in range(4)])
distance = torch.arange(6)[None] - torch.arange(6)[:, None]
biased = attend(q, k, v, attn_mask=slopes[:, None, None] * distance)
flexed = flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: s + slopes[h] * (j - i))
print(torch.allclose(biased, flexed, atol=1e-5), biased.sum())
near = and_masks(lambda b, h, i, j: i >= j, lambda b, h, i, j: i - j <= 2)
blocks = create_block_mask(near, None, None, 6, 6, device="cpu", BLOCK_SIZE=2)
print(blocks.shape, blocks.sparsity(), blocks.kv_num_blocks, create_mask(near, 1, 1, 4, 4))
out, lse = flex_attention(q, k, v, block_mask=blocks, return_lse=True)
print(torch.allclose(out, attend(q, k, v, attn_mask=window, is_causal=True), atol=1e-5), lse.mean())

keys, values = k[:, :, :0], v[:, :, :0]
for i in range(6):
    at = slice(i, i + 1)
    keys, values = torch.cat([keys, k[:, :, at]], 2), torch.cat([values, v[:, :, at]], 2)
    last = attend(q[:, :, at], keys, values)
print((last - attend(q, k, v, is_causal=True)[:, :, -1:]).abs().max() < 1e-5)

# in evaluation mode an encoder skips what is padded; its places are 0 then
encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0), 2).eval()
x = torch.randn(2, 4, 8)
padding = torch.tensor([[False, False, False, True], [False, True, True, True]])
trained = encoder(x, src_key_padding_mask=padding)
with torch.no_grad():
    skipped = encoder(x, src_key_padding_mask=padding)
print(skipped[1], trained[1, 1:].abs().sum() > 0)
print(torch.allclose(skipped[~padding], trained[~padding], atol=1e-5))
lengths = (~padding).sum(1, keepdim=True)
print((skipped.sum(1) / lengths)[:, :4])

wide = nn.MultiheadAttention(8, 2, kdim=4, vdim=5, add_bias_kv=True, add_zero_attn=True, batch_first=True)
result, weights = wide(x, torch.randn(2, 5, 4), torch.randn(2, 5, 5), average_attn_weights=False)
print(result.shape, weights.shape, weights.sum(-1)[0, 0].detach())
same = nn.MultiheadAttention(8, 2)
y = x.transpose(0, 1)
hidden = torch.ones(4, 4).triu(1).bool()
print(same(y, y, y, attn_mask=hidden, key_padding_mask=padding)[1].detach()[0])
for wrong in (
    lambda: attend(q, k[..., :4], v),
    lambda: attend(q[0], k[0], v[0], attn_mask=window, is_causal=True),
    lambda: attend(q, k.double(), v),
    lambda: same(y, y, y, attn_mask=torch.ones(2, 2)),
    lambda: nn.MultiheadAttention(7, 2),
):
    try:
        print(wrong().shape)
    except Exception as e:
        print(type(e).__name__, e)
