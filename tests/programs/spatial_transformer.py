"""A spatial transformer network: affine_grid and grid_sample with every padding, identity at the start, flow warps."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, kernel_size=5), nn.Conv2d(6, 8, kernel_size=3)
        self.conv2_drop = nn.Dropout2d(0.2)
        self.fc1, self.fc2 = nn.Linear(128, 20), nn.Linear(20, 3)
        self.localization = nn.Sequential(
            nn.Conv2d(1, 4, kernel_size=5), nn.MaxPool2d(2, stride=2), nn.ReLU(True), nn.Conv2d(4, 6, 3), nn.ReLU(True)
        )
        self.fc_loc = nn.Sequential(nn.Linear(6 * 4 * 4, 12), nn.ReLU(True), nn.Linear(12, 3 * 2))
        self.fc_loc[2].weight.data.zero_()
        self.fc_loc[2].bias.data.copy_(torch.tensor([1, 0, 0, 0, 1, 0], dtype=torch.float))

    def stn(self, x):
        xs = self.localization(x)
        theta = self.fc_loc(xs.view(-1, 6 * 4 * 4)).view(-1, 2, 3)
        grid = F.affine_grid(theta, x.size(), align_corners=False)
        return F.grid_sample(x, grid, align_corners=False)

    def forward(self, x):
        x = self.stn(x)
        x = F.relu(F.max_pool2d(self.conv1(x), 2))
        x = F.relu(self.conv2_drop(self.conv2(x)))
        x = F.relu(self.fc1(x.view(-1, 128)))
        return F.log_softmax(self.fc2(F.dropout(x, p=0.2, training=self.training)), dim=1)


torch.manual_seed(81)
yy, xx = torch.meshgrid(torch.linspace(-1, 1, 16), torch.linspace(-1, 1, 16), indexing="ij")
shapes = torch.stack(
    [(xx.abs() + yy.abs() < 0.6), (xx**2 + yy**2 < 0.3) & (xx**2 + yy**2 > 0.1), (xx * yy).abs() < 0.03]
)
y = torch.randint(3, (30,))
angle = (torch.rand(30) - 0.5) * 1.5
theta = torch.stack([angle.cos(), -angle.sin(), torch.rand(30) * 0.4, angle.sin(), angle.cos(), torch.zeros(30)], 1)
grid = F.affine_grid(theta.view(-1, 2, 3), (30, 1, 16, 16), align_corners=False)
data = F.grid_sample(shapes[y].float().unsqueeze(1), grid, align_corners=False)
print(f"{data.sum().item():.4f}")
model = Net()
with torch.no_grad():
    print("identity", torch.allclose(model.stn(data), data, atol=1e-5))
    model.fc_loc[2].bias.add_(torch.tensor([-0.07, 0.03, 0.011, -0.02, -0.04, 0.017]))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(6):
    optimizer.zero_grad()
    loss = F.nll_loss(model(data), y)
    loss.backward()
    optimizer.step()
    print(f"{epoch} loss {loss.item():.6f} theta grad {model.fc_loc[2].weight.grad.norm().item():.6f}")
image = torch.arange(24.0).view(1, 1, 4, 6)
grid = torch.rand(1, 3, 5, 2, generator=torch.Generator().manual_seed(2)) * 3 - 1.5
for mode in ("bilinear", "nearest", "bicubic"):
    for padding in ("zeros", "border", "reflection"):
        for corners in (False, True):
            out = F.grid_sample(image, grid, mode=mode, padding_mode=padding, align_corners=corners)
            print(f"{out.sum().item():.3f}", end=" ")
    print(mode)
volume = torch.arange(27.0).view(1, 1, 3, 3, 3)
rotation = torch.tensor([[[0.0, 1, 0, 0], [1, 0, 0, 0.2], [0, 0, 1, 0]]])
turned = F.grid_sample(volume, F.affine_grid(rotation, (1, 1, 2, 2, 2), align_corners=True), align_corners=True)
print(f"{turned.sum().item():.4f}")
flow = (0.03 * torch.randn(1, 2, 16, 16)).requires_grad_()
target, source = data[:1], data[:1].roll(1, 3)
opt = torch.optim.SGD([flow], lr=2.0)
base = torch.stack([xx, yy], -1)[None]
for step in range(8):
    warped = F.grid_sample(source, base + flow.permute(0, 2, 3, 1), align_corners=True)
    smooth = flow.diff(dim=2).square().mean() + flow.diff(dim=3).square().mean()
    loss = F.mse_loss(warped, target) + smooth
    opt.zero_grad()
    loss.backward()
    opt.step()
print(f"flow {loss.item():.6f} {flow.detach()[0, 0].mean().item():.6f}")
for mode in ("nearest", "bilinear", "bicubic", "area"):
    more = {"align_corners": False, "antialias": True} if mode in ("bilinear", "bicubic") else {}
    print(mode, [f"{v:.4f}" for v in F.interpolate(image, size=(2, 4), mode=mode, **more).flatten().tolist()])
print(
    F.pixel_shuffle(image.view(1, 4, 2, 3), 2).flatten()[:6].tolist(),
    F.fold(F.unfold(image, 2), (4, 6), 2)[0, 0, 1].tolist(),
)
pooled, where = F.max_pool2d(image, 2, return_indices=True)
print(F.max_unpool2d(pooled, where, 2).sum().item(), F.lp_pool2d(image, 2, 2).sum().item(), F.fractional_max_pool2d(
    image, 2, output_size=2, _random_samples=torch.full((1, 1, 2), 0.3)).flatten().tolist())  # fmt: skip
print(
    F.pad(image[0, 0, :2, :3], (1, 2), mode="constant", value=9.0),
    F.pad(image[:, :, :2, :3], (1, 1, 1, 1), mode="circular")[0, 0, 0],
)
