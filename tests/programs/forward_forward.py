"""The forward-forward algorithm: each layer trains on its own goodness, with the label written into the input."""

import torch
import torch.nn as nn
from torch.optim import Adam


def overlay_y_on_x(x, y, classes=4):
    x_ = x.clone()
    x_[:, :classes] *= 0.0
    x_[range(x.shape[0]), y] = x.max()
    return x_


class Layer(nn.Linear):
    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
        super().__init__(in_features, out_features, bias, device, dtype)
        self.relu = torch.nn.ReLU()
        self.opt = Adam(self.parameters(), lr=0.02)
        self.threshold = 1.5
        self.num_epochs = 12

    def forward(self, x):
        x_direction = x / (x.norm(2, 1, keepdim=True) + 1e-4)
        return self.relu(torch.mm(x_direction, self.weight.T) + self.bias.unsqueeze(0))

    def train(self, x_pos, x_neg=None):
        if x_neg is None:  # nn.Module.train(mode)
            return super().train(x_pos)
        for _ in range(self.num_epochs):
            g_pos = self.forward(x_pos).pow(2).mean(1)
            g_neg = self.forward(x_neg).pow(2).mean(1)
            both = torch.cat([-g_pos + self.threshold, g_neg - self.threshold])
            loss = torch.log(1 + torch.exp(both)).mean()
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
        return self.forward(x_pos).detach(), self.forward(x_neg).detach(), loss.item()


class Net(torch.nn.Module):
    def __init__(self, dims):
        super().__init__()
        self.layers = [Layer(a, b) for a, b in zip(dims, dims[1:])]  # a plain list: each has its own optimizer

    def predict(self, x):
        goodness_per_label = []
        for label in range(4):
            h = overlay_y_on_x(x, torch.full((len(x),), label, dtype=torch.long))
            goodness = []
            for layer in self.layers:
                h = layer(h)
                goodness += [h.pow(2).mean(1)]
            goodness_per_label += [sum(goodness).unsqueeze(1)]
        return torch.cat(goodness_per_label, 1).argmax(1)


torch.manual_seed(1234)
prototypes = torch.rand(4, 24)
y = torch.randint(4, (80,))
x = prototypes[y] + 0.05 * torch.randn(80, 24)
x[:, :4] = 0
net = Net([24, 32, 32])
print(len(list(net.parameters())), "parameters are registered")
x_pos = overlay_y_on_x(x, y)
wrong = (y + torch.randint(1, 4, y.shape)) % 4
x_neg = overlay_y_on_x(x, wrong)
h_pos, h_neg = x_pos, x_neg
for i, layer in enumerate(net.layers):
    h_pos, h_neg, loss = layer.train(h_pos, h_neg)
    print(f"training layer {i} loss {loss:.5f} goodness {h_pos.pow(2).mean():.5f} {h_neg.pow(2).mean():.5f}")
with torch.no_grad():
    error = 1.0 - net.predict(x).eq(y).float().mean().item()
print(f"train error: {error:.4f}", net.layers[0].train(False).training)
