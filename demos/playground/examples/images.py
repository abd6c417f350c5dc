"""Filters on a picture: blur, edges and sharpening are convolutions with fixed weights."""

# %% A picture: discs on a gradient, channels first, values from 0 to 1
import torch
import torch.nn.functional as F

SIZE = 96
yy, xx = torch.meshgrid(torch.linspace(-1, 1, SIZE), torch.linspace(-1, 1, SIZE), indexing="ij")


def disc(x, y, r):
    return ((xx - x) ** 2 + (yy - y) ** 2 < r * r).float()


image = torch.stack([(xx + 1) / 2, (yy + 1) / 2, torch.full_like(xx, 0.5)])
image = torch.maximum(image * 0.6, torch.stack([disc(-0.3, -0.2, 0.5), disc(0.4, 0.1, 0.35), disc(0, 0.5, 0.3)]))
print(image.shape, f"mean {image.mean():.4f}")
image

# %% Blur: a Gaussian, for each channel on its own
t = torch.arange(-4.0, 5.0)
gauss = torch.exp(-(t**2) / 8)
kernel = (gauss[:, None] * gauss[None, :] / gauss.sum() ** 2).expand(3, 1, 9, 9)
blurred = F.conv2d(image[None], kernel, padding=4, groups=3)[0]
print(f"mean {blurred.mean():.4f}")
blurred

# %% Edges: Sobel's filters on the brightness
sobel = torch.tensor([[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]])
bright = (image * torch.tensor([0.299, 0.587, 0.114]).view(3, 1, 1)).sum(0)
gx, gy = F.conv2d(bright[None, None], torch.stack([sobel, sobel.T])[:, None], padding=1)[0]
edges = torch.sqrt(gx**2 + gy**2)
print(f"strongest edge {edges.max():.4f}")
edges

# %% Sharpen: what the blur took away, once more
sharp = (image + (image - blurred)).clamp(0, 1)
print(f"mean {sharp.mean():.4f}")
torch.stack([image, blurred, sharp])
