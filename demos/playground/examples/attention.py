"""Attention, step by step: scores, a mask, weights and a weighted mean; then the built-in function does the same."""

# %% Queries, keys and values of six tokens
import math

import torch
import torch.nn.functional as F

torch.manual_seed(0)
tokens = ["the", "cat", "sat", "on", "the", "mat"]
n, d = len(tokens), 16
q, k, v = torch.randn(3, n, d)
scores = q @ k.T / math.sqrt(d)
print(scores.shape, f"largest {scores.max():.4f}")
scores

# %% A token may only look back
mask = torch.ones(n, n).tril().bool()
weights = scores.masked_fill(~mask, float("-inf")).softmax(dim=-1)
for token, row in zip(tokens, weights):
    print(f"{token:4}", " ".join(f"{value:.2f}" for value in row.tolist()))
weights

# %% The result is a mean of the values
out = weights @ v
same = F.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=True)[0]
print(out.shape, torch.allclose(out, same, atol=1e-5))

# %% Several heads at once
layer = torch.nn.MultiheadAttention(d, num_heads=4, batch_first=True)
x = torch.randn(1, n, d)
y, attention = layer(x, x, x, attn_mask=~mask, average_attn_weights=False)
print(y.shape, attention.shape)
layer
