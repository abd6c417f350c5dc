"""WGAN-GP on a ring of Gaussians: gradient penalty by a double backward, spectral norm, several critic steps."""

import math

import torch
from torch import autograd, nn
from torch.nn.utils import spectral_norm


def real_data(n):
    k = torch.randint(0, 8, (n,))
    angle = 2 * math.pi * k / 8
    return torch.stack((angle.cos(), angle.sin()), dim=1) * 2 + 0.05 * torch.randn(n, 2)


def gradient_penalty(critic, real, fake, weight=10.0):
    alpha = torch.rand(real.size(0), 1).expand_as(real)
    mixed = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    scores = critic(mixed)
    gradients = autograd.grad(
        outputs=scores,
        inputs=mixed,
        grad_outputs=torch.ones_like(scores),
        create_graph=True,
        retain_graph=True,
        only_inputs=True,
    )[0]
    return weight * ((gradients.norm(2, dim=1) - 1) ** 2).mean()


def init(m):
    if isinstance(m, nn.Linear):
        nn.init.kaiming_normal_(m.weight, a=0.2)
        nn.init.zeros_(m.bias)


torch.manual_seed(3)
generator = nn.Sequential(nn.Linear(4, 32), nn.LeakyReLU(0.2), nn.Linear(32, 32), nn.LeakyReLU(0.2), nn.Linear(32, 2))
critic = nn.Sequential(
    nn.Linear(2, 32), nn.LeakyReLU(0.2), spectral_norm(nn.Linear(32, 32)), nn.SiLU(), nn.Linear(32, 1)
)
generator.apply(init)
critic.apply(init)
optim_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.0, 0.9))
optim_c = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.0, 0.9))
one = torch.tensor(1, dtype=torch.float)
mone = one * -1
for iteration in range(6):
    for p in critic.parameters():
        p.requires_grad = True
    for _ in range(3):
        critic.zero_grad()
        real = real_data(32)
        loss_real = critic(real).mean()
        loss_real.backward(mone)
        fake = autograd.Variable(generator(torch.randn(32, 4)).data)
        loss_fake = critic(fake).mean()
        loss_fake.backward(one)
        penalty = gradient_penalty(critic, real.data, fake.data)
        penalty.backward()
        optim_c.step()
    for p in critic.parameters():
        p.requires_grad = False
    generator.zero_grad()
    loss_g = critic(generator(torch.randn(32, 4))).mean()
    loss_g.backward(mone)
    optim_g.step()
    distance = (loss_real - loss_fake).item()
    print("%d W %.5f penalty %.5f G %.5f" % (iteration, distance, penalty.item(), -loss_g.item()))
sigma = torch.linalg.svdvals(critic[2].weight)[0]
print("sigma %.4f" % sigma, sorted(critic.state_dict())[:3])
