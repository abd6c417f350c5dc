"""A transformer network for one style: reflection padding, instance norm, upsampling, Gram matrices by bmm, saved."""

import io
import re
from collections import namedtuple

import torch
from torch import nn


class ConvLayer(torch.nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride):
        super().__init__()
        self.reflection_pad = torch.nn.ReflectionPad2d(kernel_size // 2)
        self.conv2d = torch.nn.Conv2d(in_channels, out_channels, kernel_size, stride)

    def forward(self, x):
        return self.conv2d(self.reflection_pad(x))


class ResidualBlock(torch.nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = ConvLayer(channels, channels, kernel_size=3, stride=1)
        self.in1 = torch.nn.InstanceNorm2d(channels, affine=True)
        self.conv2 = ConvLayer(channels, channels, kernel_size=3, stride=1)
        self.in2 = torch.nn.InstanceNorm2d(channels, affine=True)
        self.relu = torch.nn.ReLU()

    def forward(self, x):
        return self.in2(self.conv2(self.relu(self.in1(self.conv1(x))))) + x


class UpsampleConvLayer(ConvLayer):
    def __init__(self, in_channels, out_channels, kernel_size, stride, upsample=None):
        super().__init__(in_channels, out_channels, kernel_size, stride)
        self.upsample = upsample

    def forward(self, x):
        if self.upsample:
            x = torch.nn.functional.interpolate(x, mode="nearest", scale_factor=self.upsample)
        return super().forward(x)


class TransformerNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.in1 = ConvLayer(3, 6, 5, 1), torch.nn.InstanceNorm2d(6, affine=True)
        self.conv2, self.in2 = ConvLayer(6, 10, 3, 2), torch.nn.InstanceNorm2d(10, affine=True)
        self.res1 = ResidualBlock(10)
        self.deconv1, self.in4 = UpsampleConvLayer(10, 6, 3, 1, upsample=2), torch.nn.InstanceNorm2d(6, affine=True)
        self.deconv2 = ConvLayer(6, 3, 5, 1)
        self.relu = torch.nn.ReLU()

    def forward(self, X):
        y = self.relu(self.in1(self.conv1(X)))
        y = self.res1(self.relu(self.in2(self.conv2(y))))
        return self.deconv2(self.relu(self.in4(self.deconv1(y))))


class Features(torch.nn.Module):
    def __init__(self, requires_grad=False):
        super().__init__()
        layers = nn.Sequential(
            nn.Conv2d(3, 6, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2, ceil_mode=True), nn.Conv2d(6, 8, 3), nn.ReLU()
        )
        self.slice1, self.slice2 = torch.nn.Sequential(), torch.nn.Sequential()
        for x in range(2):
            self.slice1.add_module(str(x), layers[x])
        for x in range(2, 5):
            self.slice2.add_module(str(x), layers[x])
        if not requires_grad:
            for param in self.parameters():
                param.requires_grad = False

    def forward(self, X):
        h1 = self.slice1(X)
        h2 = self.slice2(h1)
        outputs = namedtuple("FeatureOutputs", ["relu1", "relu2"])
        return outputs(h1, h2)


def gram_matrix(y):
    (b, ch, h, w) = y.size()
    features = y.view(b, ch, w * h)
    return features.bmm(features.transpose(1, 2)) / (ch * h * w)


def normalize_batch(batch):
    mean = batch.new_tensor([0.485, 0.456, 0.406]).view(-1, 1, 1)
    std = batch.new_tensor([0.229, 0.224, 0.225]).view(-1, 1, 1)
    return (batch.div_(255.0) - mean) / std


torch.manual_seed(42)
net, vgg, mse_loss = TransformerNet(), Features(), torch.nn.MSELoss()
style = torch.randint(0, 256, (1, 3, 15, 15)).float()
gram_style = [gram_matrix(y) for y in vgg(normalize_batch(style.repeat(2, 1, 1, 1)))]
optimizer = torch.optim.Adam(net.parameters(), 3e-3)
for batch_id in range(4):
    x = torch.randint(0, 256, (2, 3, 16, 16)).float()
    optimizer.zero_grad()
    y = normalize_batch(net(x.clone()))
    x = normalize_batch(x)
    features_y, features_x = vgg(y), vgg(x)
    content_loss = 10 * mse_loss(features_y.relu2, features_x.relu2)
    style_loss = 0.0
    for ft_y, gm_s in zip(features_y, gram_style):
        style_loss += mse_loss(gram_matrix(ft_y), gm_s[:2, :, :])
    style_loss *= 50
    total = content_loss + style_loss
    total.backward()
    optimizer.step()
    print(f"{batch_id} content {content_loss.item():.5f} style {style_loss.item():.5f} total {total.item():.5f}")
state = {k: v.cpu() for k, v in net.eval().state_dict().items()}
state["in1.running_mean"] = torch.zeros(6)  # as old checkpoints have it
buffer = io.BytesIO()
torch.save(state, buffer)
buffer.seek(0)
state_dict = torch.load(buffer)
for k in list(state_dict.keys()):
    if re.search(r"in\d+\.running_(mean|var)$", k):
        del state_dict[k]
fresh = TransformerNet()
print(fresh.load_state_dict(state_dict))
with torch.no_grad():
    out = fresh(x)[0].clone().clamp(0, 255).byte()
print(out.dtype, out.float().mean().item() == net(x)[0].clamp(0, 255).byte().float().mean().item())
