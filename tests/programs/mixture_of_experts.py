"""A sparse mixture of experts: noisy top-k gates, tokens gathered by expert, load balance, a cv-squared loss."""

import torch
from torch import nn
from torch.distributions.normal import Normal


class SparseDispatcher:
    """Sends each token to its experts and adds up what comes back."""

    def __init__(self, num_experts, gates):
        self._gates, self._num_experts = gates, num_experts
        sorted_experts, index_sorted_experts = torch.nonzero(gates).sort(0)
        _, self._expert_index = sorted_experts.split(1, dim=1)
        self._batch_index = torch.nonzero(gates)[index_sorted_experts[:, 1], 0]
        self._part_sizes = (gates > 0).sum(0).tolist()
        gates_exp = gates[self._batch_index.flatten()]
        self._nonzero_gates = torch.gather(gates_exp, 1, self._expert_index)

    def dispatch(self, inp):
        return torch.split(inp[self._batch_index], self._part_sizes, dim=0)

    def combine(self, expert_out):
        stitched = torch.cat(expert_out, 0).mul(self._nonzero_gates)
        zeros = torch.zeros(self._gates.size(0), expert_out[-1].size(1))
        return zeros.index_add(0, self._batch_index, stitched.float())


class MoE(nn.Module):
    def __init__(self, dim, hidden, num_experts, k, noisy_gating=True):
        super().__init__()
        self.num_experts, self.k, self.noisy_gating = num_experts, k, noisy_gating
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(dim, hidden), nn.Mish(), nn.Linear(hidden, dim)) for _ in range(num_experts)
        )
        self.w_gate = nn.Parameter(torch.zeros(dim, num_experts))
        self.w_noise = nn.Parameter(torch.zeros(dim, num_experts))
        self.softplus = nn.Softplus()
        self.register_buffer("mean", torch.tensor([0.0]))
        self.register_buffer("std", torch.tensor([1.0]))

    def cv_squared(self, x, eps=1e-10):
        if x.shape[0] == 1:
            return torch.tensor([0], device=x.device, dtype=x.dtype)
        return x.float().var() / (x.float().mean() ** 2 + eps)

    def _prob_in_top_k(self, clean, noisy, stddev, noisy_top):
        batch, m = clean.size(0), noisy_top.size(1)
        flat = noisy_top.flatten()
        position_in = torch.arange(batch) * m + self.k
        threshold_in = torch.unsqueeze(torch.gather(flat, 0, position_in), 1)
        is_in = torch.gt(noisy, threshold_in)
        threshold_out = torch.unsqueeze(torch.gather(flat, 0, position_in - 1), 1)
        normal = Normal(self.mean, self.std)
        prob_in = normal.cdf((clean - threshold_in) / stddev)
        prob_out = normal.cdf((clean - threshold_out) / stddev)
        return torch.where(is_in, prob_in, prob_out)

    def gates(self, x):
        clean = x @ self.w_gate
        stddev = self.softplus(x @ self.w_noise) + 1e-2
        noisy = clean + torch.randn_like(clean) * stddev if self.noisy_gating and self.training else clean
        top_logits, top_indices = noisy.softmax(1).topk(min(self.k + 1, self.num_experts), dim=1)
        top_k, indices = top_logits[:, : self.k], top_indices[:, : self.k]
        gates = torch.zeros_like(noisy, requires_grad=True).scatter(1, indices, top_k / (top_k.sum(1, True) + 1e-6))
        if self.training:
            load = self._prob_in_top_k(clean, noisy, stddev, noisy.topk(self.k + 1, dim=1).values).sum(0)
        else:
            load = (gates > 0).sum(0)
        return gates, load

    def forward(self, x, loss_coef=1e-2):
        gates, load = self.gates(x)
        loss = loss_coef * (self.cv_squared(gates.sum(0)) + self.cv_squared(load))
        dispatcher = SparseDispatcher(self.num_experts, gates)
        parts = dispatcher.dispatch(x)
        return dispatcher.combine([expert(part) for expert, part in zip(self.experts, parts)]), loss, load


torch.manual_seed(31)
model, head = MoE(8, 12, 5, 2), nn.Linear(8, 3)
x = torch.randn(40, 8)
y = (x[:, :3] + x[:, 3:6].sin()).argmax(1)
optimizer = torch.optim.AdamW([{"params": model.parameters()}, {"params": head.parameters(), "lr": 1e-2}], lr=3e-3)
for step in range(8):
    out, aux, load = model(x)
    loss = nn.functional.cross_entropy(head(out), y) + aux
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{step} loss {loss.item():.5f} aux {aux.item():.6f} load", [f"{v:.3f}" for v in load.tolist()])
model.eval()
with torch.no_grad():
    out, aux, load = model(x)
    print(load.tolist(), load.dtype, f"{out.norm().item():.5f}", (head(out).argmax(-1) == y).sum())
    gates, _ = model.gates(x[:3])
    print(torch.count_nonzero(gates, dim=1), gates.max(dim=1).indices)
    usage = torch.bincount(gates.argmax(1), weights=gates.amax(1), minlength=5)
    print([f"{v:.5f}" for v in usage.tolist()])
print(dict(model.named_buffers()), sum(1 for _ in model.children()))
