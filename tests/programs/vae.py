"""Variational autoencoder: the reparameterisation trick, BCE plus KL."""

import torch
from torch import nn, optim
from torch.nn import functional as F


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, 40)
        self.fc21 = nn.Linear(40, 5)
        self.fc22 = nn.Linear(40, 5)
        self.fc3 = nn.Linear(5, 40)
        self.fc4 = nn.Linear(40, 64)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        return mu + eps * std

    def decode(self, z):
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 64))
        z = self.reparameterize(mu, logvar)
        return self.decode(z), mu, logvar


def loss_function(recon_x, x, mu, logvar):
    BCE = F.binary_cross_entropy(recon_x, x.view(-1, 64), reduction="sum")
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return BCE + KLD


torch.manual_seed(3)
base = torch.zeros(4, 1, 8, 8)
base[0, :, 2:6, 2:6] = 1
base[1, :, ::2] = 1
base[2, :, :, 1::2] = 1
base[3] = torch.eye(8)
data = (base.repeat(16, 1, 1, 1) * 0.9 + 0.05).bernoulli()
model = VAE()
optimizer = optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(1, 6):
    model.train()
    train_loss = 0
    for batch in data[torch.randperm(len(data))].split(16):
        optimizer.zero_grad()
        recon, mu, logvar = model(batch)
        loss = loss_function(recon, batch, mu, logvar)
        loss.backward()
        train_loss += loss.item()
        optimizer.step()
    print("====> Epoch: {} Average loss: {:.4f}".format(epoch, train_loss / len(data)))
with torch.no_grad():
    sample = model.decode(torch.randn(4, 5)).view(4, 1, 8, 8)
    print("sample mean", [f"{v:.5f}" for v in sample.mean((1, 2, 3)).tolist()])
