"""Low-rank adapters on a frozen network: by wrapping layers and by a parametrization; merged, saved on their own."""

import copy
import io
import math

import torch
import torch.nn as nn
import torch.nn.utils.parametrize as parametrize


class LoRALinear(nn.Module):
    def __init__(self, base: nn.Linear, r: int = 2, alpha: float = 4.0, dropout: float = 0.0):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.lora_A = nn.Parameter(torch.empty(r, base.in_features))
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, r))
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))
        self.scaling, self.dropout = alpha / r, nn.Dropout(dropout)

    def forward(self, x):
        return self.base(x) + self.scaling * (self.dropout(x) @ self.lora_A.T @ self.lora_B.T)

    @torch.no_grad()
    def merge(self):
        self.base.weight.addmm_(self.lora_B, self.lora_A, alpha=self.scaling)
        return self.base

    def extra_repr(self):
        return f"r={self.lora_A.shape[0]}, scaling={self.scaling}"


class LoRAParametrization(nn.Module):
    def __init__(self, features_in, features_out, rank=1, alpha=1):
        super().__init__()
        self.lora_A = nn.Parameter(torch.zeros((rank, features_out)).normal_(mean=0, std=1))
        self.lora_B = nn.Parameter(torch.zeros((features_in, rank)))
        self.scale, self.enabled = alpha / rank, True

    def forward(self, original_weights):
        if not self.enabled:
            return original_weights
        return original_weights + torch.matmul(self.lora_B, self.lora_A).view(original_weights.shape) * self.scale


def replace_linears(module, **kwargs):
    for name, child in module.named_children():
        if isinstance(child, nn.Linear):
            setattr(module, name, LoRALinear(child, **kwargs))
        else:
            replace_linears(child, **kwargs)
    return module


torch.manual_seed(9)
base = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Sequential(nn.Linear(16, 16), nn.Tanh()), nn.Linear(16, 2))
x = torch.randn(64, 6)
y, shifted = (x.sum(1) > 0).long(), (x[:, 0] - x[:, 1] > 0).long()
opt = torch.optim.SGD(base.parameters(), lr=0.5, momentum=0.5, nesterov=True)
for _ in range(15):
    opt.zero_grad()
    loss = nn.functional.cross_entropy(base(x), y)
    loss.backward()
    opt.step()
print(f"pretrained {loss.item():.5f}")
model = replace_linears(copy.deepcopy(base))
print(model)
trainable = [p for p in model.parameters() if p.requires_grad]
print(sum(p.numel() for p in trainable), "of", sum(p.numel() for p in model.parameters()))
opt = torch.optim.Adam(trainable, lr=2e-2)
for step in range(10):
    loss = nn.functional.cross_entropy(model(x), shifted)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 3 == 0:
        print(f"adapter {step} {loss.item():.5f} {model[0].lora_B.grad.abs().sum().item():.6f}")
assert all(p.grad is None for n, p in model.named_parameters() if "base" in n)
buffer = io.BytesIO()
torch.save({k: v for k, v in model.state_dict().items() if "lora_" in k}, buffer)
fresh = replace_linears(copy.deepcopy(base))
missing, unexpected = fresh.load_state_dict(torch.load(io.BytesIO(buffer.getvalue())), strict=False)
print(len(missing), unexpected, torch.equal(fresh(x), model(x)))
with torch.no_grad():
    before = model(x)
    merged = copy.deepcopy(model)
    for i in (0, 3):
        merged[i] = merged[i].merge()
    merged[2][0] = merged[2][0].merge()
    print("merged", torch.allclose(merged(x), before, atol=1e-5), type(merged[0]).__name__)

second = copy.deepcopy(base)
for layer in (second[0], second[2][0]):
    parametrize.register_parametrization(layer, "weight", LoRAParametrization(*layer.weight.shape, rank=2))
for name, p in second.named_parameters():
    p.requires_grad_("lora" in name or name.startswith("3"))
print([n for n, p in second.named_parameters() if p.requires_grad])
opt = torch.optim.AdamW((p for p in second.parameters() if p.requires_grad), lr=2e-2, amsgrad=True)
for step in range(6):
    with parametrize.cached():
        loss = nn.functional.cross_entropy(second(x), shifted)
        loss.backward()
    opt.step()
    opt.zero_grad()
print(f"parametrized {loss.item():.5f}", parametrize.is_parametrized(second[0], "weight"))
for layer in (second[0], second[2][0]):
    layer.parametrizations["weight"][0].enabled = False
print(torch.equal(second[0].weight, base[0].weight))
for layer in (second[0], second[2][0]):
    layer.parametrizations.weight[0].enabled = True
    parametrize.remove_parametrizations(layer, "weight", leave_parametrized=True)
print(type(second[0]).__name__, f"{second[0].weight.norm().item():.5f}", list(second.state_dict())[:2])
