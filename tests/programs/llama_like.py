"""A decoder in Llama's style: RMSNorm, rotary positions two ways, SwiGLU, grouped queries, a cache, sampling."""

from dataclasses import dataclass
from typing import Optional

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class ModelArgs:
    dim: int = 32
    n_layers: int = 2
    n_heads: int = 4
    n_kv_heads: Optional[int] = 2
    vocab_size: int = 29
    multiple_of: int = 8
    norm_eps: float = 1e-5
    max_seq_len: int = 32


class RMSNorm(nn.Module):
    def __init__(self, dim: int, eps: float):
        super().__init__()
        self.eps, self.weight = eps, nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return (x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight


def precompute_freqs_cis(dim: int, end: int, theta: float = 10000.0):
    freqs = 1.0 / (theta ** (torch.arange(0, dim, 2)[: (dim // 2)].float() / dim))
    freqs = torch.outer(torch.arange(end, device=freqs.device), freqs)
    return torch.polar(torch.ones_like(freqs), freqs)


def apply_rotary_emb(xq, xk, freqs_cis) -> tuple[torch.Tensor, torch.Tensor]:
    xq_ = torch.view_as_complex(xq.float().reshape(*xq.shape[:-1], -1, 2))
    xk_ = torch.view_as_complex(xk.float().reshape(*xk.shape[:-1], -1, 2))
    freqs_cis = freqs_cis.view(1, xq_.shape[1], 1, xq_.shape[-1])
    xq_out = torch.view_as_real(xq_ * freqs_cis).flatten(3)
    return xq_out.type_as(xq), torch.view_as_real(xk_ * freqs_cis).flatten(3).type_as(xk)


def rotate_half(x):
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((-x2, x1), dim=-1)


def repeat_kv(x, n_rep: int):
    bs, slen, heads, dim = x.shape
    if n_rep == 1:
        return x
    return x[:, :, :, None, :].expand(bs, slen, heads, n_rep, dim).reshape(bs, slen, heads * n_rep, dim)


class Attention(nn.Module):
    def __init__(self, args: ModelArgs):
        super().__init__()
        self.n_kv_heads = args.n_heads if args.n_kv_heads is None else args.n_kv_heads
        self.n_heads, self.head_dim = args.n_heads, args.dim // args.n_heads
        self.wq = nn.Linear(args.dim, args.n_heads * self.head_dim, bias=False)
        self.wk = nn.Linear(args.dim, self.n_kv_heads * self.head_dim, bias=False)
        self.wv = nn.Linear(args.dim, self.n_kv_heads * self.head_dim, bias=False)
        self.wo = nn.Linear(args.n_heads * self.head_dim, args.dim, bias=False)
        self.cache = None

    def forward(self, x, start_pos, freqs_cis, mask, use_cache):
        bsz, seqlen, _ = x.shape
        xq, xk, xv = self.wq(x), self.wk(x), self.wv(x)
        xq = xq.view(bsz, seqlen, self.n_heads, self.head_dim)
        xk, xv = (v.view(bsz, seqlen, self.n_kv_heads, self.head_dim) for v in (xk, xv))
        xq, xk = apply_rotary_emb(xq, xk, freqs_cis=freqs_cis)
        if use_cache:
            if start_pos == 0:
                self.cache = [torch.zeros(bsz, 32, self.n_kv_heads, self.head_dim) for _ in range(2)]
            for store, new in zip(self.cache, (xk, xv)):
                store[:bsz, start_pos : start_pos + seqlen] = new
            xk, xv = (store[:bsz, : start_pos + seqlen] for store in self.cache)
        n_rep = self.n_heads // self.n_kv_heads
        q, k, v = xq.transpose(1, 2), repeat_kv(xk, n_rep).transpose(1, 2), repeat_kv(xv, n_rep).transpose(1, 2)
        scores = torch.matmul(q, k.transpose(2, 3)) / self.head_dim**0.5
        if mask is not None:
            scores = scores + mask
        scores = F.softmax(scores.float(), dim=-1).type_as(q)
        return self.wo(torch.matmul(scores, v).transpose(1, 2).contiguous().view(bsz, seqlen, -1))


class FeedForward(nn.Module):
    def __init__(self, dim, hidden_dim, multiple_of):
        super().__init__()
        hidden_dim = int(2 * hidden_dim / 3)
        hidden_dim = multiple_of * ((hidden_dim + multiple_of - 1) // multiple_of)
        self.w1, self.w2 = nn.Linear(dim, hidden_dim, bias=False), nn.Linear(hidden_dim, dim, bias=False)
        self.w3 = nn.Linear(dim, hidden_dim, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Transformer(nn.Module):
    def __init__(self, params: ModelArgs):
        super().__init__()
        self.params = params
        self.tok_embeddings = nn.Embedding(params.vocab_size, params.dim)
        self.layers = nn.ModuleList()
        for _ in range(params.n_layers):
            block = nn.ModuleDict({
                "attention": Attention(params),
                "feed_forward": FeedForward(params.dim, 4 * params.dim, params.multiple_of),
                "attention_norm": RMSNorm(params.dim, params.norm_eps),
                "ffn_norm": nn.RMSNorm(params.dim, eps=params.norm_eps),
            })  # fmt: skip
            self.layers.append(block)
        self.norm = RMSNorm(params.dim, eps=params.norm_eps)
        self.output = nn.Linear(params.dim, params.vocab_size, bias=False)
        self.freqs_cis = precompute_freqs_cis(params.dim // params.n_heads, params.max_seq_len * 2)

    def forward(self, tokens, start_pos: int = 0, use_cache: bool = False):
        _, seqlen = tokens.shape
        h = self.tok_embeddings(tokens)
        freqs_cis = self.freqs_cis[start_pos : start_pos + seqlen]
        mask = None
        if seqlen > 1:
            mask = torch.triu(torch.full((seqlen, seqlen), float("-inf")), diagonal=1)
            mask = torch.hstack([torch.zeros((seqlen, start_pos)), mask]).type_as(h)
        for layer in self.layers:
            h = h + layer["attention"](layer["attention_norm"](h), start_pos, freqs_cis, mask, use_cache)
            h = h + layer["feed_forward"](layer["ffn_norm"](h))
        return self.output(self.norm(h)).float()


def sample_top_p(probs, p, generator):
    probs_sort, probs_idx = torch.sort(probs, dim=-1, descending=True)
    mask = torch.cumsum(probs_sort, dim=-1) - probs_sort > p
    probs_sort[mask] = 0.0
    probs_sort.div_(probs_sort.sum(dim=-1, keepdim=True))
    return torch.gather(probs_idx, -1, torch.multinomial(probs_sort, num_samples=1, generator=generator))


torch.manual_seed(1)
model = Transformer(ModelArgs())
print(sum(p.numel() for p in model.parameters()), [n for n, _ in model.named_parameters()][1:9:3])
text = "the quick brown fox jumps over the lazy dog. " * 3
chars = sorted(set(text))
ids = torch.tensor([chars.index(c) for c in text])
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.95), weight_decay=0.1)
for step in range(8):
    start = torch.randint(len(ids) - 25, (8,))
    x = torch.stack([ids[i : i + 24] for i in start.tolist()])
    y = torch.stack([ids[i + 1 : i + 25] for i in start.tolist()])
    logits = model(x)
    loss = F.cross_entropy(logits.view(-1, logits.size(-1)), y.view(-1), ignore_index=-1)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    print(f"{step} loss {loss.item():.5f} norm {norm.item():.5f}")
model.eval()
with torch.inference_mode():
    prompt = ids[:6][None].repeat(2, 1)
    whole = model(prompt)
    first = model(prompt[:, :4], 0, True)
    rest = torch.cat([first, *(model(prompt[:, i : i + 1], i, True) for i in range(4, 6))], 1)
    print("cache", torch.allclose(whole, rest, atol=1e-4), tuple(model.layers[0]["attention"].cache[0].shape))
    g = torch.Generator().manual_seed(7)
    tokens, logits = prompt.clone(), model(prompt, 0, True)
    for i in range(6, 14):
        nxt = sample_top_p(torch.softmax(logits[:, -1] / 0.8, -1), 0.9, g)
        tokens = torch.cat([tokens, nxt], 1)
        logits = model(nxt, i, True)
    print([("".join(chars[min(j, len(chars) - 1)] for j in row)) for row in tokens.tolist()])
    logp = F.log_softmax(model(tokens)[:, :-1], -1).gather(-1, tokens[:, 1:, None]).squeeze(-1)
    print("perplexity", [f"{v:.4f}" for v in (-logp.mean(1)).exp().tolist()], torch.is_inference(logp))
q, k, v = (torch.randn(1, 4, 5, 8) for _ in range(3))
a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
b = F.scaled_dot_product_attention(
    q, k[:, ::2], v[:, ::2], attn_mask=torch.ones(5, 5).tril().bool(), enable_gqa=True, scale=0.3
)
print(f"{a.sum().item():.5f} {b.sum().item():.5f}", torch.allclose(nn.RMSNorm(8)(q), F.rms_norm(q, (8,)), atol=1e-6))
cos, sin = (f(torch.arange(5)[:, None] * torch.cat([torch.ones(4)] * 2)) for f in (torch.cos, torch.sin))
print(
    f"{(q * cos + rotate_half(q) * sin).norm().item():.5f} {q.norm().item():.5f}",
    f"{F.silu(q).mean().item():.6f} {F.glu(q).mean().item():.6f}",
)
