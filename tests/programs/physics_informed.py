"""Physics-informed network for u'' = -u and the heat equation:
autograd.grad with create_graph, SiLU, Adam then LBFGS."""

import torch
from torch import nn

torch.manual_seed(42)


class MLP(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        layers = []
        for a, b in zip(sizes[:-2], sizes[1:-1]):
            layers += [nn.Linear(a, b), nn.Tanh()]
        self.net = nn.Sequential(*layers, nn.Linear(sizes[-2], sizes[-1]))
        for m in self.modules():
            if isinstance(m, nn.Linear):
                nn.init.xavier_normal_(m.weight)
                nn.init.zeros_(m.bias)

    def forward(self, *xs):
        return self.net(torch.cat(xs, dim=-1))


def d(y, x):
    return torch.autograd.grad(y, x, grad_outputs=torch.ones_like(y), create_graph=True, retain_graph=True)[0]


u = MLP([1, 16, 16, 1])
opt = torch.optim.Adam(u.parameters(), lr=5e-3)
t = torch.linspace(0, 3.1416, 40).unsqueeze(1).requires_grad_(True)
t0 = torch.zeros(1, 1, requires_grad=True)


def physics_loss():
    y = u(t)
    ode = (d(d(y, t), t) + y).pow(2).mean()
    y0 = u(t0)
    return ode + (y0 - 0).pow(2).sum() + (d(y0, t0) - 1).pow(2).sum()


for it in range(40):
    opt.zero_grad()
    loss = physics_loss()
    loss.backward()
    opt.step()
    if it % 10 == 9:
        print(f"adam {it} {loss.item():.6f}")
with torch.no_grad():
    print(f"error {(u(t) - torch.sin(t)).abs().mean().item():.5f}")

# u_t = u_xx with a mixed batch of points in float64
net = MLP([2, 12, 12, 1]).to("cpu", torch.double)
x = torch.rand(60, 1, dtype=torch.double, device="cpu", requires_grad=True)
tt = torch.rand(60, 1, dtype=torch.double, device="cpu", requires_grad=True)
xb = torch.rand(20, 1, dtype=torch.double, device="cpu")
opt = torch.optim.LBFGS(net.parameters(), lr=0.8, max_iter=4)
for it in range(4):

    def closure():
        opt.zero_grad()
        v = net(x, tt)
        vx = d(v, x)
        loss = (d(v, tt) - 0.1 * d(vx, x)).square().mean() + (
            net(xb, torch.zeros_like(xb)) - torch.sin(torch.pi * xb)
        ).square().mean()
        loss.backward()
        return loss

    print(f"heat {it} {opt.step(closure).item():.8f}")
jac = torch.autograd.functional.jacobian(
    lambda z: net(z[:, :1], z[:, 1:]).sum(), torch.tensor([[0.3, 0.2]], dtype=torch.double, device="cpu")
)
print("gradient", [f"{g:.6f}" for g in jac.flatten().tolist()])
