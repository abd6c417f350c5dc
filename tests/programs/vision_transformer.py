"""A vision transformer: patches by a strided convolution and by unfold, class token, stochastic depth, mixup."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def drop_path(x, drop_prob: float = 0.0, training: bool = False):
    if drop_prob == 0.0 or not training:
        return x
    keep = 1 - drop_prob
    mask = x.new_empty((x.shape[0],) + (1,) * (x.ndim - 1)).bernoulli_(keep)
    return x * mask.div_(keep)


class Attention(nn.Module):
    def __init__(self, dim, heads, qkv_bias=True):
        super().__init__()
        self.num_heads, self.scale = heads, (dim // heads) ** -0.5
        self.qkv = nn.Linear(dim, dim * 3, bias=qkv_bias)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        B, N, C = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, self.num_heads, C // self.num_heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        attn = ((q * self.scale) @ k.transpose(-2, -1)).softmax(dim=-1)
        return self.proj((attn @ v).transpose(1, 2).reshape(B, N, C)), attn


class Block(nn.Module):
    def __init__(self, dim, heads, rate):
        super().__init__()
        self.norm1, self.attn = nn.LayerNorm(dim, eps=1e-6), Attention(dim, heads)
        self.norm2 = nn.LayerNorm(dim, eps=1e-6)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(approximate="tanh"), nn.Linear(2 * dim, dim))
        self.rate, self.scale = rate, nn.Parameter(1e-1 * torch.ones(dim))

    def forward(self, x, return_attention=False):
        y, attn = self.attn(self.norm1(x))
        if return_attention:
            return attn
        x = x + drop_path(self.scale * y, self.rate, self.training)
        return x + drop_path(self.mlp(self.norm2(x)), self.rate, self.training)


class ViT(nn.Module):
    def __init__(self, img=12, patch=4, dim=24, depth=3, heads=3, classes=4):
        super().__init__()
        self.patch_embed = nn.Conv2d(3, dim, kernel_size=patch, stride=patch)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos_embed = nn.Parameter(torch.zeros(1, (img // patch) ** 2 + 1, dim))
        self.blocks = nn.ModuleList([Block(dim, heads, r.item()) for r in torch.linspace(0, 0.2, depth)])
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, classes)
        nn.init.trunc_normal_(self.pos_embed, std=0.02)
        nn.init.trunc_normal_(self.cls_token, std=0.02, a=-0.04, b=0.04)
        self.apply(self._init_weights)

    def _init_weights(self, m):
        if isinstance(m, nn.Linear):
            nn.init.trunc_normal_(m.weight, std=0.02)
            if m.bias is not None:
                nn.init.constant_(m.bias, 0)

    def tokens(self, x):
        x = self.patch_embed(x).flatten(2).transpose(1, 2)
        x = torch.cat((self.cls_token.expand(x.shape[0], -1, -1), x), dim=1)
        return x + self.interpolate_pos(x.shape[1] - 1)

    def interpolate_pos(self, n):
        have = self.pos_embed.shape[1] - 1
        if n == have:
            return self.pos_embed
        side, new = int(math.sqrt(have)), int(math.sqrt(n))
        grid = self.pos_embed[:, 1:].reshape(1, side, side, -1).permute(0, 3, 1, 2)
        grid = F.interpolate(grid, size=(new, new), mode="bicubic", align_corners=False)
        return torch.cat((self.pos_embed[:, :1], grid.permute(0, 2, 3, 1).view(1, n, -1)), 1)

    def forward(self, x):
        x = self.tokens(x)
        for blk in self.blocks:
            x = blk(x)
        return self.head(self.norm(x)[:, 0])


def parameter_groups(model, weight_decay=0.05):
    decay = [p for n, p in model.named_parameters() if p.ndim > 1 and not n.endswith(("token", "embed"))]
    rest = [p for n, p in model.named_parameters() if p.ndim <= 1 or n.endswith(("token", "embed"))]
    return [{"params": decay, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]


torch.manual_seed(2)
model = ViT()
optimizer = torch.optim.AdamW(parameter_groups(model), lr=2e-3, betas=(0.9, 0.98))
warmup, total = 2, 6
scheduler = torch.optim.lr_scheduler.LambdaLR(
    optimizer,
    lambda t: (t + 1) / warmup if t < warmup else 0.5 * (1 + math.cos(math.pi * (t - warmup) / (total - warmup))),
)
y = torch.randint(4, (16,))
x = torch.randn(4, 3, 12, 12)[y] + 0.5 * torch.randn(16, 3, 12, 12)
alpha = torch.distributions.Beta(0.8, 0.8)
for step in range(total):
    lam = alpha.sample().item()
    mixed = lam * x + (1 - lam) * x.flip(0)
    target = lam * F.one_hot(y, 4) + (1 - lam) * F.one_hot(y.flip(0), 4)
    loss = F.cross_entropy(model(mixed), target, label_smoothing=0.1)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    scheduler.step()
    print(f"{step} lam {lam:.5f} loss {loss.item():.6f} lr {optimizer.param_groups[0]['lr']:.6f}")
model.eval()
with torch.inference_mode():
    attention = model.blocks[0](model.tokens(x), return_attention=True)
    print("attention", tuple(attention.shape), f"{attention[:, :, 0, 1:].amax().item():.6f}")
    big = model(torch.randn(1, 3, 16, 16))
    print("other size", [f"{v:.5f}" for v in big[0].tolist()])
    patches = F.unfold(x[:2], 4, stride=4).transpose(1, 2)
    kernel = model.patch_embed.weight.flatten(1)
    same = torch.allclose(patches @ kernel.T + model.patch_embed.bias,
                          model.patch_embed(x[:2]).flatten(2).transpose(1, 2), atol=1e-5)  # fmt: skip
    print("unfold", same, [len(g["params"]) for g in optimizer.param_groups])
    rolled = torch.roll(x[0], shifts=(2, -1), dims=(1, 2)).unfold(1, 4, 4).unfold(2, 4, 4)
    print(rolled.shape, f"{rolled.std(dim=(-2, -1), correction=0).mean().item():.6f}")
