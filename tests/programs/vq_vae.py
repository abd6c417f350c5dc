"""VQ-VAE: nearest codes, straight-through gradients, a codebook by moving averages in buffers, perplexity."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class VectorQuantizerEMA(nn.Module):
    def __init__(self, num_embeddings, embedding_dim, commitment_cost=0.25, decay=0.9, epsilon=1e-5):
        super().__init__()
        self.n, self.dim = num_embeddings, embedding_dim
        self.embedding = nn.Embedding(num_embeddings, embedding_dim)
        self.embedding.weight.data.normal_()
        self.embedding.weight.requires_grad_(False)
        self.commitment_cost, self.decay, self.epsilon = commitment_cost, decay, epsilon
        self.register_buffer("ema_cluster_size", torch.zeros(num_embeddings))
        self.register_buffer("ema_w", self.embedding.weight.detach().clone())

    def forward(self, inputs):
        inputs = inputs.permute(0, 2, 3, 1).contiguous()
        flat = inputs.view(-1, self.dim)
        distances = (
            torch.sum(flat**2, dim=1, keepdim=True)
            + torch.sum(self.embedding.weight**2, dim=1)
            - 2 * torch.matmul(flat, self.embedding.weight.t())
        )
        indices = torch.argmin(distances, dim=1).unsqueeze(1)
        encodings = torch.zeros(indices.shape[0], self.n, device=inputs.device).scatter_(1, indices, 1)
        quantized = torch.matmul(encodings, self.embedding.weight).view(inputs.shape)
        if self.training:
            with torch.no_grad():
                self.ema_cluster_size.mul_(self.decay).add_(encodings.sum(0), alpha=1 - self.decay)
                n = self.ema_cluster_size.sum()
                self.ema_cluster_size.add_(self.epsilon).div_(n + self.n * self.epsilon).mul_(n)
                self.ema_w.mul_(self.decay).addmm_(encodings.t(), flat, alpha=1 - self.decay)
                self.embedding.weight.copy_(self.ema_w / self.ema_cluster_size.unsqueeze(1))
        loss = self.commitment_cost * F.mse_loss(quantized.detach(), inputs)
        quantized = inputs + (quantized - inputs).detach()
        avg_probs = torch.mean(encodings, dim=0)
        perplexity = torch.exp(-torch.sum(avg_probs * torch.log(avg_probs + 1e-10)))
        return loss, quantized.permute(0, 3, 1, 2).contiguous(), perplexity, indices.view(inputs.shape[:-1])


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self._block = nn.Sequential(
            nn.ReLU(True), nn.Conv2d(channels, 8, 3, padding=1, bias=False), nn.ReLU(True), nn.Conv2d(8, channels, 1)
        )

    def forward(self, x):
        return x + self._block(x)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, 12, 4, 2, 1), Residual(12), nn.Conv2d(12, 8, 1))
        self.vq = VectorQuantizerEMA(16, 8)
        self.decoder = nn.Sequential(
            nn.Conv2d(8, 12, 3, padding=1), Residual(12), nn.ConvTranspose2d(12, 1, 4, stride=2, padding=1)
        )

    def forward(self, x):
        loss, quantized, perplexity, codes = self.vq(self.encoder(x))
        return loss, self.decoder(quantized), perplexity, codes


torch.manual_seed(37)
grid = torch.stack(torch.meshgrid(torch.linspace(-1, 1, 12), torch.linspace(-1, 1, 12), indexing="xy"))
centers = torch.rand(24, 2, 1, 1) - 0.5
data = torch.exp(-8 * (grid - centers).square().sum(1, keepdim=True)) - 0.1
variance = data.var()
model = Model()
optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=3e-3, amsgrad=False)
for i in range(8):
    optimizer.zero_grad()
    vq_loss, recon, perplexity, codes = model(data)
    recon_error = F.mse_loss(recon, data) / variance
    (recon_error + vq_loss).backward()
    optimizer.step()
    print(f"{i} recon {recon_error.item():.5f} vq {vq_loss.item():.5f} perplexity {perplexity.item():.4f}")
model.eval()
with torch.no_grad():
    _, _, _, codes = model(data[:4])
    print(codes.shape, codes.dtype, torch.unique(codes, return_counts=True)[1].sum().item())
    decoded = model.decoder(model.vq.embedding(codes).permute(0, 3, 1, 2))
    print(torch.allclose(decoded, model(data[:4])[1], atol=1e-5), [k for k in model.state_dict() if "ema" in k])
prior = torch.zeros(16, 16).index_put(
    (codes[:, :, :-1].flatten(), codes[:, :, 1:].flatten()), torch.ones(()), accumulate=True
)
transition = (prior + 0.1) / (prior + 0.1).sum(1, keepdim=True)
row = [int(codes[0, 0, 0])]
for _ in range(8):
    row.append(int(torch.multinomial(transition[row[-1]], 1)))
print("prior", f"{-(transition.log() * prior).sum().item() / prior.sum().item():.4f}", len(row))
