"""A tiny NeRF: rays from camera poses, positional encoding, stratified and importance sampling, volume rendering."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def positional_encoding(x, num_freqs, include_input=True):
    freq_bands = 2.0 ** torch.linspace(0.0, num_freqs - 1, num_freqs)
    encoded = [x] if include_input else []
    for freq in freq_bands:
        for fn in (torch.sin, torch.cos):
            encoded.append(fn(x * freq))
    return torch.cat(encoded, dim=-1)


def get_rays(height, width, focal, c2w):
    i, j = torch.meshgrid(
        torch.arange(width, dtype=torch.float32), torch.arange(height, dtype=torch.float32), indexing="xy"
    )
    dirs = torch.stack([(i - width * 0.5) / focal, -(j - height * 0.5) / focal, -torch.ones_like(i)], dim=-1)
    rays_d = torch.sum(dirs[..., None, :] * c2w[:3, :3], dim=-1)
    return c2w[:3, -1].expand(rays_d.shape), rays_d


def cumprod_exclusive(t):
    cumprod = torch.cumprod(t, -1)
    cumprod = torch.roll(cumprod, 1, -1)
    cumprod[..., 0] = 1.0
    return cumprod


def sample_pdf(bins, weights, n_samples):
    weights = weights + 1e-5
    pdf = weights / weights.sum(-1, keepdim=True)
    cdf = torch.cumsum(pdf, -1)
    cdf = torch.cat([torch.zeros_like(cdf[..., :1]), cdf], -1)
    u = torch.rand(*cdf.shape[:-1], n_samples).contiguous()
    inds = torch.searchsorted(cdf, u, right=True)
    below, above = (inds - 1).clamp(min=0), inds.clamp(max=cdf.shape[-1] - 1)
    inds_g = torch.stack([below, above], -1)
    matched = [*inds_g.shape[:2], cdf.shape[-1]]
    cdf_g = torch.gather(cdf.unsqueeze(1).expand(matched), 2, inds_g)
    bins_g = torch.gather(bins.unsqueeze(1).expand(matched), 2, inds_g)
    denom = cdf_g[..., 1] - cdf_g[..., 0]
    denom = torch.where(denom < 1e-5, torch.ones_like(denom), denom)
    t = (u - cdf_g[..., 0]) / denom
    return (bins_g[..., 0] + t * (bins_g[..., 1] - bins_g[..., 0])).detach()


class NeRF(nn.Module):
    def __init__(self, n_freqs=4, n_dir_freqs=2, width=32):
        super().__init__()
        self.n_freqs, self.n_dir_freqs = n_freqs, n_dir_freqs
        d_in, d_dir = 3 * (2 * n_freqs + 1), 3 * (2 * n_dir_freqs + 1)
        self.layers = nn.ModuleList([nn.Linear(d_in, width), nn.Linear(width, width), nn.Linear(width + d_in, width)])
        self.sigma = nn.Linear(width, 1)
        self.rgb = nn.Sequential(nn.Linear(width + d_dir, width // 2), nn.ReLU(), nn.Linear(width // 2, 3))

    def forward(self, points, dirs):
        x_in = positional_encoding(points, self.n_freqs)
        x = x_in
        for i, layer in enumerate(self.layers):
            if i == 2:
                x = torch.cat([x, x_in], dim=-1)
            x = F.relu(layer(x))
        d = positional_encoding(F.normalize(dirs, dim=-1), self.n_dir_freqs)
        return torch.cat([self.rgb(torch.cat([x, d], dim=-1)), self.sigma(x)], dim=-1)


def render(model, rays_o, rays_d, z_vals):
    points = rays_o[..., None, :] + rays_d[..., None, :] * z_vals[..., :, None]
    raw = model(points, rays_d[..., None, :].expand_as(points))
    dists = torch.cat([z_vals[..., 1:] - z_vals[..., :-1], torch.tensor([1e10]).expand(z_vals[..., :1].shape)], -1)
    alpha = 1.0 - torch.exp(-F.softplus(raw[..., 3] - 1.0) * dists * torch.norm(rays_d[..., None, :], dim=-1))
    weights = alpha * cumprod_exclusive(1.0 - alpha + 1e-10)
    rgb = (weights[..., None] * torch.sigmoid(raw[..., :3])).sum(dim=-2)
    return rgb, (weights * z_vals).sum(-1), weights.sum(-1), weights


def pose(theta, radius=4.0):
    c, s = math.cos(theta), math.sin(theta)
    turn = torch.tensor([[c, 0, s, 0], [0, 1, 0, 0], [-s, 0, c, 0], [0, 0, 0, 1]])
    away = torch.eye(4)
    away[2, 3] = radius
    return turn @ away


def target_image(rays_o, rays_d):
    """A ball of radius 1 with colours of its normals, on black."""
    b = (rays_o * rays_d).sum(-1)
    a, c = (rays_d**2).sum(-1), (rays_o**2).sum(-1) - 1.0
    disc = b**2 - a * c
    t = (-b - disc.clamp(min=0).sqrt()) / a
    normal = rays_o + t[..., None] * rays_d
    return torch.where((disc > 0)[..., None], normal * 0.5 + 0.5, torch.zeros(3))


torch.manual_seed(0)
H = W = 12
focal = 14.0
model = NeRF()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, eps=1e-7)
for step in range(8):
    rays_o, rays_d = get_rays(H, W, focal, pose(2 * math.pi * step / 8))
    rays_o, rays_d = rays_o.reshape(-1, 3), rays_d.reshape(-1, 3)
    target = target_image(rays_o, rays_d)
    near, far, n = 2.0, 6.0, 8
    z_vals = torch.linspace(near, far, n).expand(rays_o.shape[0], n)
    mids = 0.5 * (z_vals[..., 1:] + z_vals[..., :-1])
    upper, lower = torch.cat([mids, z_vals[..., -1:]], -1), torch.cat([z_vals[..., :1], mids], -1)
    z_vals = lower + (upper - lower) * torch.rand(z_vals.shape)
    coarse, _, _, weights = render(model, rays_o, rays_d, z_vals)
    fine_z = sample_pdf(0.5 * (z_vals[..., 1:] + z_vals[..., :-1]), weights[..., 1:-1].detach(), 4)
    z_all, _ = torch.sort(torch.cat([z_vals, fine_z], -1), -1)
    fine, depth, acc, _ = render(model, rays_o, rays_d, z_all)
    loss = F.mse_loss(coarse, target) + F.mse_loss(fine, target)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    grad_norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    psnr = -10.0 * torch.log10(F.mse_loss(fine.detach(), target))
    if step % 2 == 1:
        print(f"step {step} loss {loss.item():.4f} psnr {psnr.item():.3f} grad {grad_norm:.4f}")
with torch.no_grad():
    rays_o, rays_d = get_rays(H, W, focal, pose(0.3))
    rgb, depth, acc, _ = render(model, rays_o, rays_d, torch.linspace(2.0, 6.0, 16).expand(H, W, 16))
print("image", tuple(rgb.shape), "mean %.4f" % rgb.mean(), "depth %.4f" % depth.mean(), "acc %.4f" % acc.mean())
