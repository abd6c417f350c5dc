"""Graph convolution and attention by scatter and einsum on a random graph:
index_add, scatter_reduce, segment softmax."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(12345)
N, E_, C = 30, 90, 3
y = torch.arange(N) % C
x = F.one_hot(y, C).float() + torch.randn(N, C) * 0.8
src = torch.randint(N, (E_,))
dst = (src + C * torch.randint(1, 5, (E_,))) % N
edge_index = torch.cat([torch.stack([src, dst]), torch.stack([dst, src])], 1).unique(dim=1)
mask = torch.zeros(N, dtype=torch.bool)
mask[torch.randperm(N)[:12]] = True


class GCNConv(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(i, o))
        self.bias = nn.Parameter(torch.zeros(o))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, edge_index):
        loops = torch.arange(x.size(0)).expand(2, -1)
        row, col = torch.cat([edge_index, loops], dim=1)
        deg = torch.zeros(x.size(0)).scatter_add_(0, col, torch.ones(col.numel()))
        norm = deg.pow(-0.5)
        norm = (norm[row] * norm[col]).unsqueeze(-1)
        return torch.zeros(x.size(0), self.weight.size(1)).index_add(0, col, norm * (x @ self.weight)[row]) + self.bias


class GATConv(nn.Module):
    def __init__(self, i, o, heads):
        super().__init__()
        self.lin = nn.Linear(i, o * heads, bias=False)
        self.att = nn.Parameter(torch.randn(2, heads, o) * 0.1)
        self.heads, self.o = heads, o

    def forward(self, x, edge_index):
        row, col = edge_index
        h = self.lin(x).view(-1, self.heads, self.o)
        a = torch.einsum("nho,kho->knh", h, self.att)
        e = F.leaky_relu(a[0][row] + a[1][col], 0.2)
        top = torch.full((x.size(0), self.heads), -torch.inf).scatter_reduce(
            0, col[:, None].expand_as(e), e.detach(), "amax"
        )
        w = (e - top[col]).exp()
        total = torch.zeros_like(top).index_add_(0, col, w)
        w = w / (total[col] + 1e-16)
        out = torch.zeros_like(h).index_add_(0, col, w.unsqueeze(-1) * h[row])
        return out.flatten(1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2, self.out = GCNConv(C, 16), GATConv(16, 4, 2), nn.Linear(8, C)

    def forward(self, x, edge_index):
        x = F.dropout(F.relu(self.conv1(x, edge_index)), p=0.3, training=self.training)
        return self.out(F.elu(self.conv2(x, edge_index)))


model = Net()
opt = torch.optim.Adam(
    [
        {"params": model.conv1.parameters(), "weight_decay": 5e-4},
        {"params": [*model.conv2.parameters(), *model.out.parameters()]},
    ],
    lr=0.02,
)
print("edges", edge_index.shape[1], "degree", torch.bincount(edge_index[1], minlength=N).max().item())
for epoch in range(15):
    model.train()
    opt.zero_grad()
    loss = F.cross_entropy(model(x, edge_index)[mask], y[mask])
    loss.backward()
    opt.step()
    if epoch % 3 == 2:
        print(f"epoch {epoch} loss {loss.item():.6f}")
model.eval()
pred = model(x, edge_index).argmax(-1)
print("test accuracy", f"{(pred == y)[~mask].float().mean().item():.4f}")
adj = torch.zeros(N, N)
adj[edge_index[0], edge_index[1]] = 1
lap = torch.diag(adj.sum(1)) - adj
print("eigenvalues", [f"{v:.4f}" for v in torch.linalg.eigvalsh(lap)[-3:].tolist()])
pooled = torch.zeros(C, C).scatter_reduce(0, y[:, None].expand(-1, C), x, reduce="mean", include_self=False)
print("class means", [f"{v:.5f}" for v in pooled.diagonal().tolist()])
