"""Neural style transfer: Gram matrices of fixed features,
an image optimised by LBFGS through hooks and total variation."""

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.manual_seed(11)
torch.set_default_dtype(torch.float64)  # LBFGS magnifies the last digits


def gram_matrix(input):
    a, b, c, d = input.size()
    features = input.view(a * b, c * d)
    return torch.mm(features, features.t()).div(a * b * c * d)


class Normalization(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.mean = mean.clone().detach().view(-1, 1, 1)
        self.std = std.clone().detach().view(-1, 1, 1)

    def forward(self, img):
        return (img - self.mean) / self.std


cnn = (
    nn.Sequential(
        nn.Conv2d(3, 6, 3, padding=1),
        nn.ReLU(inplace=False),
        nn.AvgPool2d(2),
        nn.Conv2d(6, 8, 3, padding=1, padding_mode="reflect"),
        nn.ReLU(inplace=False),
    )
    .eval()
    .requires_grad_(False)
)
model = nn.Sequential(Normalization(torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])), *cnn)
features = {}


def keep(name):
    def hook(module, args, output):
        features[name] = output

    return hook


handles = [model[i].register_forward_hook(keep(f"conv{i}")) for i in (1, 4)]
content, style = torch.rand(1, 3, 12, 12), torch.rand(1, 3, 12, 12).round()
with torch.no_grad():
    model(content)
    content_target = features["conv4"].clone()
    model(style)
    style_targets = {k: gram_matrix(v) for k, v in features.items()}
img = content.clone().requires_grad_(True)
optimizer = optim.LBFGS([img], lr=0.5, max_iter=5)
run = [0]
while run[0] < 15:

    def closure():
        with torch.no_grad():
            img.clamp_(0, 1)
        optimizer.zero_grad()
        model(img)
        style_score = sum(F.mse_loss(gram_matrix(features[k]), t) for k, t in style_targets.items())
        content_score = F.mse_loss(features["conv4"], content_target)
        tv = (img[..., 1:] - img[..., :-1]).abs().mean() + (img[..., 1:, :] - img[..., :-1, :]).abs().mean()
        loss = 100 * style_score + content_score + 0.01 * tv
        loss.backward()
        run[0] += 1
        if run[0] % 5 == 0:
            print(f"run {run[0]}: style {style_score.item():.6f} content {content_score.item():.6f} tv {tv.item():.5f}")
        return loss

    optimizer.step(closure)
for h in handles:
    h.remove()
