"""SimCLR and MoCo: augmentations of tensors, NT-Xent, a momentum encoder, a queue in a buffer, a linear probe."""

import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Augment(nn.Module):
    """Random crops with resizing, flips, colour jitter, noise, erasing: for a batch at once."""

    def __init__(self, size):
        super().__init__()
        self.size = size

    def forward(self, x):
        n = len(x)
        scale = torch.empty(n).uniform_(0.7, 1.0)
        shift = (torch.rand(n, 2) * 2 - 1) * (1 - scale).unsqueeze(1)
        theta = torch.zeros(n, 2, 3)
        theta[:, 0, 0] = scale * torch.where(torch.rand(n) < 0.5, -1.0, 1.0)
        theta[:, 1, 1] = scale
        theta[:, :, 2] = shift
        grid = F.affine_grid(theta, (n, x.size(1), self.size, self.size), align_corners=False)
        x = F.grid_sample(x, grid, mode="bilinear", padding_mode="reflection", align_corners=False)
        x = x * torch.empty(n, 1, 1, 1).uniform_(0.8, 1.2) + torch.empty(n, x.size(1), 1, 1).normal_(0, 0.05)
        i = int(torch.randint(0, self.size - 2, ()))
        x[..., i : i + 2, i : i + 2] = 0.0
        return x + 0.02 * torch.randn_like(x)


class Encoder(nn.Sequential):
    def __init__(self):
        super().__init__(
            nn.Conv2d(2, 8, 3, stride=2, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 12, 3), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        )  # fmt: skip


def nt_xent(z1, z2, temperature=0.5):
    n = z1.size(0)
    z = F.normalize(torch.cat([z1, z2]), dim=1)
    sim = torch.mm(z, z.T) / temperature
    sim = sim.masked_fill(torch.eye(2 * n, dtype=torch.bool), -math.inf)
    targets = torch.cat([torch.arange(n, 2 * n), torch.arange(n)])
    return F.cross_entropy(sim, targets)


class MoCo(nn.Module):
    def __init__(self, base, dim=8, K=32, m=0.9, T=0.2):
        super().__init__()
        self.K, self.m, self.T = K, m, T
        self.encoder_q = nn.Sequential(base, nn.Linear(12, dim))
        self.encoder_k = copy.deepcopy(self.encoder_q).requires_grad_(False)
        self.register_buffer("queue", F.normalize(torch.randn(dim, K), dim=0))
        self.register_buffer("queue_ptr", torch.zeros(1, dtype=torch.long))

    @torch.no_grad()
    def _momentum_update(self):
        for q, k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            k.data = k.data * self.m + q.data * (1.0 - self.m)

    @torch.no_grad()
    def _dequeue_and_enqueue(self, keys):
        ptr = int(self.queue_ptr)
        self.queue[:, ptr : ptr + len(keys)] = keys.T
        self.queue_ptr[0] = (ptr + len(keys)) % self.K

    def forward(self, im_q, im_k):
        q = F.normalize(self.encoder_q(im_q), dim=1)
        with torch.no_grad():
            self._momentum_update()
            shuffle = torch.randperm(len(im_k))
            k = F.normalize(self.encoder_k(im_k[shuffle]), dim=1)[torch.argsort(shuffle)]
        l_pos = torch.einsum("nc,nc->n", [q, k]).unsqueeze(-1)
        l_neg = torch.einsum("nc,ck->nk", [q, self.queue.clone().detach()])
        logits = torch.cat([l_pos, l_neg], dim=1) / self.T
        self._dequeue_and_enqueue(k)
        return logits, torch.zeros(logits.shape[0], dtype=torch.long)


torch.manual_seed(41)
y = torch.arange(32) % 4
x = F.interpolate(torch.randn(4, 2, 4, 4), size=10, mode="bicubic", align_corners=True)[y] + 0.2 * torch.randn(
    32, 2, 10, 10
)
augment = Augment(8)
encoder = Encoder()
projector = nn.Sequential(nn.Linear(12, 12), nn.ReLU(inplace=True), nn.Linear(12, 8))
opt = torch.optim.Adam([*encoder.parameters(), *projector.parameters()], lr=5e-3, weight_decay=1e-6)
for step in range(6):
    loss = nt_xent(projector(encoder(augment(x))), projector(encoder(augment(x))))
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"simclr {step} {loss.item():.5f}")
moco = MoCo(Encoder())
opt = torch.optim.SGD(moco.encoder_q.parameters(), lr=0.05, momentum=0.9)
for step in range(5):
    batch = x[torch.randperm(32)[:8]]
    logits, labels = moco(augment(batch), augment(batch))
    loss = F.cross_entropy(logits, labels)
    opt.zero_grad()
    loss.backward()
    opt.step()
    rank = (logits >= logits[:, :1]).sum(1).float().mean().item()
    print(f"moco {step} {loss.item():.5f} rank {rank:.3f} pointer {moco.queue_ptr.item()}")
encoder.eval()
with torch.no_grad():
    h = encoder(F.interpolate(x, size=(8, 8), mode="area"))
    views = torch.stack([x, x.flip(-1), x.rot90(1, (2, 3)), x.transpose(2, 3)])
    print("invariance", f"{views.var(0).mean().item():.5f}")
probe = nn.Linear(12, 4)
opt = torch.optim.LBFGS(probe.parameters(), max_iter=5)


def closure():
    opt.zero_grad()
    loss = F.cross_entropy(probe(h), y) + 1e-3 * probe.weight.square().sum()
    loss.backward()
    return loss


opt.step(closure)
print(f"probe {closure().item():.4f}", (probe(h).argmax(1) == y).float().mean().item())
a, b = F.normalize(h, dim=1)[:16], F.normalize(h, dim=1)[16:]
alignment, uniformity = (a - b).norm(dim=1).pow(2).mean(), torch.pdist(h, p=2).pow(2).mul(-2).exp().mean().log()
print(f"alignment {alignment.item():.5f} uniformity {uniformity.item():.5f}")
c = ((a - a.mean(0)) / (a.std(0) + 1e-4)).T @ ((b - b.mean(0)) / (b.std(0) + 1e-4)) / 16
off = c.flatten()[:-1].view(11, 13)[:, 1:]
print(f"barlow {torch.diagonal(c).add(-1).pow(2).sum().item():.4f} {off.pow(2).sum().item():.4f}")
