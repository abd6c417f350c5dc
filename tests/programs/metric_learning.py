"""Siamese contrastive and triplet training with shared weights, hard negatives by cdist, KNN evaluation."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(5)
net = nn.Sequential(nn.Linear(10, 32), nn.PReLU(), nn.Linear(32, 32), nn.Hardswish(), nn.Linear(32, 4))
centers = torch.randn(5, 10) * 2


def batch(n):
    y = torch.arange(n) % 5
    return centers[y] + torch.randn(n, 10) * 0.7, y


class ContrastiveLoss(nn.Module):
    def __init__(self, margin=1.0):
        super().__init__()
        self.margin = margin

    def forward(self, a, b, same):
        d = F.pairwise_distance(a, b)
        return (same * d.pow(2) + (1 - same) * F.relu(self.margin - d).pow(2)).mean()


def hard_triplets(emb, y):
    d = torch.cdist(emb, emb)
    same = y[:, None] == y[None, :]
    pos = d.masked_fill(~same, -1).argmax(1)
    neg = d.masked_fill(same, float("inf")).argmin(1)
    return emb, emb[pos], emb[neg]


opt = torch.optim.Adam(net.parameters(), lr=1e-2)
contrastive, triplet = ContrastiveLoss(), nn.TripletMarginLoss(margin=0.5, p=2)
cosine = nn.CosineEmbeddingLoss(margin=0.2)
for step in range(15):
    x, y = batch(40)
    perm = torch.randperm(40)
    emb = F.normalize(net(x), dim=-1)
    same = (y == y[perm]).float()
    loss = contrastive(emb, emb[perm], same) + triplet(*hard_triplets(emb, y)) + cosine(emb, emb[perm], same * 2 - 1)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 3 == 2:
        print(f"step {step} loss {loss.item():.6f}")
with torch.inference_mode():
    x, y = batch(60)
    e = F.normalize(net(x))
    sim = e @ e.T
    sim.fill_diagonal_(-2)
    votes = y[sim.topk(3, dim=1).indices].mode(dim=1).values
    print("accuracy", (votes == y).float().mean().item())
    logits = sim / 0.1
    print(f"info nce {F.cross_entropy(logits, (torch.arange(60) + 5) % 60).item():.5f}")
