"""Recommender: user and item embeddings with biases, EmbeddingBag side features, sparse-free Adagrad, MSE and BPR."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Ratings(Dataset):
    def __init__(self, n_users, n_items, n):
        g = torch.Generator().manual_seed(0)
        self.u = torch.randint(n_users, (n,), generator=g)
        self.i = torch.randint(n_items, (n,), generator=g)
        p, q = torch.randn(n_users, 3, generator=g), torch.randn(n_items, 3, generator=g)
        self.r = (p[self.u] * q[self.i]).sum(1) + 3.5

    def __len__(self):
        return len(self.r)

    def __getitem__(self, k):
        return {
            "user": self.u[k],
            "item": self.i[k],
            "rating": self.r[k],
            "tags": [int(self.i[k]) % 4, int(self.i[k]) % 7],
        }


class MF(nn.Module):
    def __init__(self, n_users, n_items, dim=6):
        super().__init__()
        self.user, self.item = nn.Embedding(n_users, dim, max_norm=4.0), nn.Embedding(n_items, dim)
        self.user_bias, self.item_bias = nn.Embedding(n_users, 1), nn.Embedding(n_items, 1)
        self.tags = nn.EmbeddingBag(8, dim, mode="mean")
        self.mu = nn.Parameter(torch.tensor(3.0))
        for name, p in self.named_parameters():
            if "bias" in name:
                nn.init.zeros_(p)
            elif p.dim() > 1:
                nn.init.xavier_uniform_(p)

    def forward(self, user, item, tags):
        v = self.item(item) + self.tags(tags)
        return (
            self.mu
            + (self.user(user) * v).sum(-1)
            + self.user_bias(user).squeeze(-1)
            + self.item_bias(item).squeeze(-1)
        )


torch.manual_seed(2)
loader = DataLoader(Ratings(30, 40, 256), batch_size=32, shuffle=True, num_workers=0)
model = MF(30, 40)
opt = torch.optim.Adagrad(model.parameters(), lr=0.2, weight_decay=1e-4)
sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.5, patience=1)
for epoch in range(6):
    total = 0.0
    for batch in loader:
        tags = torch.stack(batch["tags"], dim=1)
        loss = nn.functional.mse_loss(model(batch["user"], batch["item"], tags), batch["rating"])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(batch["rating"])
    sched.step(total)
    print(f"epoch {epoch} mse {total / 256:.6f} lr {opt.param_groups[0]['lr']}")
users = torch.arange(30)
pos, neg = torch.randint(40, (30,)), torch.randint(40, (30,))
score = (model.user(users) * (model.item(pos) - model.item(neg))).sum(-1)
print(f"bpr {-nn.functional.logsigmoid(score).mean().item():.6f}")
print("top items of user 3", (model.item.weight @ model.user.weight[3]).topk(3).indices.tolist())
