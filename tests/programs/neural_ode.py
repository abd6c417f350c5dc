"""A neural ODE: Runge-Kutta steps, gradients by the adjoint method in a custom Function, against backpropagation."""

import torch
import torch.nn as nn
from torch.nn.utils import parameters_to_vector


def rk4(f, t, y, h):
    k1 = f(t, y)
    k2 = f(t + h / 2, y + h / 2 * k1)
    k3 = f(t + h / 2, y + h / 2 * k2)
    k4 = f(t + h, y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def odeint(f, y0, ts, substeps=4):
    out = [y0]
    for a, b in zip(ts[:-1], ts[1:]):
        y, h = out[-1], (b - a) / substeps
        for i in range(substeps):
            y = rk4(f, a + i * h, y, h)
        out.append(y)
    return torch.stack(out)


class Adjoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, func, y0, ts, *params):
        ctx.func = func
        with torch.no_grad():
            ys = odeint(func, y0, ts)
        ctx.save_for_backward(ts, ys, *params)
        return ys

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        ts, ys, *params = ctx.saved_tensors
        a, gp = grad[-1], torch.zeros(sum(p.numel() for p in params))
        n = ys[0].numel()

        def dynamics(t, state):
            y = state[:n].view_as(ys[0]).detach().requires_grad_(True)
            with torch.enable_grad():
                f = ctx.func(t, y)
            g = torch.autograd.grad(f, (y, *params), state[n : 2 * n].view_as(y), allow_unused=True)
            flat = [x.flatten() if x is not None else torch.zeros(p.numel()) for x, p in zip(g, (y, *params))]
            return torch.cat([f.detach().flatten(), -flat[0], *(-x for x in flat[1:])])

        for i in range(len(ts) - 1, 0, -1):
            state = torch.cat([ys[i].flatten(), a.flatten(), gp])
            h = (ts[i - 1] - ts[i]) / 4
            for k in range(4):
                state = rk4(dynamics, ts[i] + k * h, state, h)
            a, gp = state[n : 2 * n].view_as(a) + grad[i - 1], state[2 * n :]
        grads = [g.view_as(p) for g, p in zip(gp.split([p.numel() for p in params]), params)]
        return None, a, None, *grads


class ODEFunc(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
        self.nfe = 0
        for m in self.net.modules():
            if isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, mean=0, std=0.1)
                nn.init.constant_(m.bias, val=0)

    def forward(self, t, y):
        self.nfe += 1
        return self.net(y**3)


torch.manual_seed(0)
A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
ts = torch.linspace(0.0, 2.0, 20)
with torch.no_grad():
    true_y = odeint(lambda t, y: (y**3) @ A, torch.tensor([[2.0, 0.0]]), ts)
    exact = torch.linalg.matrix_exp(A * 0.5)
    print("matrix exp", [f"{v:.6f}" for v in exact.flatten().tolist()], f"{true_y[-1].norm().item():.6f}")
func = ODEFunc()
loss = lambda ys: (ys - true_y).abs().mean()
loss(odeint(func, true_y[0], ts)).backward()
direct = torch.cat([p.grad.flatten() for p in func.parameters()])
func.zero_grad()
loss(Adjoint.apply(func, true_y[0], ts, *func.parameters())).backward()
adjoint = parameters_to_vector([p.grad for p in func.parameters()])
print("adjoint", torch.allclose(direct, adjoint, atol=2e-4), f"{adjoint.norm().item():.4f}")
optimizer = torch.optim.RMSprop(func.parameters(), lr=1e-3)
for it in range(6):
    optimizer.zero_grad()
    start = torch.randint(0, 12, (8,))
    batch_y0 = true_y[start]
    batch_y = torch.stack([true_y[start + i] for i in range(5)], dim=0)
    pred = odeint(func, batch_y0, ts[:5])
    value = torch.mean(torch.abs(pred - batch_y))
    value.backward()
    optimizer.step()
    print(f"Iter {it:04d} | Total Loss {value.item():.6f} | nfe {func.nfe}")
t = torch.tensor(0.3, requires_grad=True)
y1 = rk4(lambda t, y: torch.cos(t) * y, t, torch.ones(1), 0.1)
print(torch.autograd.grad(y1, t)[0], torch.trapezoid(true_y[:, 0, 0], ts), torch.cumulative_trapezoid(ts, ts)[-1])
