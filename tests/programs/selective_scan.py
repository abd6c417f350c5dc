"""A Mamba-like block: depthwise causal convolution, selective scan in three ways, decoding step by step."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor


class RMSNorm(nn.Module):
    def __init__(self, d: int, eps: float = 1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d))

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class MambaBlock(nn.Module):
    def __init__(self, d_model: int, d_state: int = 4, d_conv: int = 4, expand: int = 2):
        super().__init__()
        self.d_inner = expand * d_model
        self.dt_rank = math.ceil(d_model / 16)
        self.d_state, self.d_conv = d_state, d_conv
        self.in_proj = nn.Linear(d_model, self.d_inner * 2, bias=False)
        self.conv1d = nn.Conv1d(self.d_inner, self.d_inner, d_conv, groups=self.d_inner, padding=d_conv - 1)
        self.x_proj = nn.Linear(self.d_inner, self.dt_rank + d_state * 2, bias=False)
        self.dt_proj = nn.Linear(self.dt_rank, self.d_inner)
        dt = torch.exp(torch.rand(self.d_inner) * (math.log(0.1) - math.log(0.001)) + math.log(0.001)).clamp(min=1e-4)
        with torch.no_grad():
            self.dt_proj.bias.copy_(dt + torch.log(-torch.expm1(-dt)))
        a = torch.arange(1, d_state + 1, dtype=torch.float32).repeat(self.d_inner, 1)
        self.A_log = nn.Parameter(torch.log(a))
        self.A_log._no_weight_decay = True
        self.D = nn.Parameter(torch.ones(self.d_inner))
        self.out_proj = nn.Linear(self.d_inner, d_model, bias=False)

    def ssm_inputs(self, x):
        delta, b, c = self.x_proj(x).split([self.dt_rank, self.d_state, self.d_state], dim=-1)
        delta = F.softplus(self.dt_proj(delta))
        a = -torch.exp(self.A_log.float())
        return torch.exp(torch.einsum("bld,dn->bldn", delta, a)), torch.einsum("bld,bln,bld->bldn", delta, b, x), c

    def scan(self, da, dbu, how="loop"):
        if how == "loop":
            h = torch.zeros_like(da[:, 0])
            states = []
            for i in range(da.shape[1]):
                h = da[:, i] * h + dbu[:, i]
                states.append(h)
            return torch.stack(states, dim=1)
        if how == "cumsum":
            logs = da.clamp(min=1e-20).log().cumsum(1)
            return torch.exp(logs) * (dbu * torch.exp(-logs)).cumsum(1)
        da, dbu, n = da.clone(), dbu.clone(), 1  # Hillis and Steele
        while n < da.shape[1]:
            shifted_a = F.pad(da, (0, 0, 0, 0, n, 0), value=1.0)[:, : da.shape[1]]
            shifted_b = F.pad(dbu, (0, 0, 0, 0, n, 0))[:, : da.shape[1]]
            dbu = dbu + da * shifted_b
            da = da * shifted_a
            n *= 2
        return dbu

    def forward(self, x: Tensor, how: str = "loop") -> Tensor:
        length = x.shape[1]
        u, res = self.in_proj(x).chunk(2, dim=-1)
        u = F.silu(self.conv1d(u.transpose(1, 2))[..., :length].transpose(1, 2))
        da, dbu, c = self.ssm_inputs(u)
        y = torch.einsum("bldn,bln->bld", self.scan(da, dbu, how), c) + u * self.D
        return self.out_proj(y * F.silu(res))

    def step(self, x: Tensor, cache: dict) -> Tensor:
        u, res = self.in_proj(x).chunk(2, dim=-1)
        cache["conv"] = torch.roll(cache["conv"], shifts=-1, dims=-1)
        cache["conv"][:, :, -1] = u
        u = torch.sum(cache["conv"] * self.conv1d.weight.squeeze(1), dim=-1) + self.conv1d.bias
        u = F.silu(u)
        da, dbu, c = self.ssm_inputs(u.unsqueeze(1))
        cache["h"].mul_(da[:, 0]).add_(dbu[:, 0])
        y = torch.einsum("bdn,bn->bd", cache["h"], c[:, 0]) + u * self.D
        return self.out_proj(y * F.silu(res))


class Model(nn.Module):
    def __init__(self, vocab=12, d=16, layers=2):
        super().__init__()
        self.embedding = nn.Embedding(vocab, d)
        self.layers = nn.ModuleList(nn.ModuleDict({"norm": RMSNorm(d), "mixer": MambaBlock(d)}) for _ in range(layers))
        self.norm_f = RMSNorm(d)
        self.lm_head = nn.Linear(d, vocab, bias=False)
        self.lm_head.weight = self.embedding.weight

    def forward(self, ids, how="loop"):
        x = self.embedding(ids)
        for layer in self.layers:
            x = x + layer["mixer"](layer["norm"](x), how)
        return self.lm_head(self.norm_f(x))

    @torch.inference_mode()
    def generate(self, ids, n):
        caches = [
            {"conv": torch.zeros(1, m["mixer"].d_inner, m["mixer"].d_conv),
             "h": torch.zeros(1, m["mixer"].d_inner, m["mixer"].d_state)} for m in self.layers
        ]  # fmt: skip
        out = list(ids)
        for i in range(len(ids) + n - 1):
            x = self.embedding(torch.tensor([out[i]]))
            for layer, cache in zip(self.layers, caches):
                x = x + layer["mixer"].step(layer["norm"](x), cache)
            if i >= len(ids) - 1:
                out.append(self.lm_head(self.norm_f(x)).argmax(-1).item())
        return out


torch.manual_seed(0)
model = Model()
decay = [p for n, p in model.named_parameters() if p.dim() > 1 and not getattr(p, "_no_weight_decay", False)]
rest = [p for p in model.parameters() if all(p is not q for q in decay)]
optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}], lr=1e-2)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=2e-2, total_steps=12)
period = torch.tensor([3, 1, 4, 1, 5, 9, 2, 6])
for step in range(12):
    start = torch.randint(0, 8, (4, 1))
    seq = period[(start + torch.arange(17)) % 8]
    logits = model(seq[:, :-1], how=("loop", "cumsum", "doubling")[step % 3])
    loss = F.cross_entropy(logits.flatten(0, 1), seq[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)
    optimizer.step()
    scheduler.step()
    if step % 3 == 2:
        print(f"{step:2d} loss {loss.item():.4f} norm {norm.item():.3f} lr {scheduler.get_last_lr()[0]:.6f}")
model.eval()
ids = torch.tensor([[3, 1, 4, 1, 5, 9]])
with torch.no_grad():
    ways = [model(ids, how) for how in ("loop", "cumsum", "doubling")]
print([torch.allclose(ways[0], w, atol=1e-4) for w in ways[1:]], "logit %.4f" % ways[0][0, -1].max())
print(model.generate([3, 1, 4], 9), sum(p.numel() for p in model.parameters()))
