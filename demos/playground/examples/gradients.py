"""Gradients: backward(), grad(), second derivatives, and a descent by hand."""

# %% requires_grad records what happens to a tensor
import torch

x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = (x**3).sum()
y.backward()
print("3 x^2 =", x.grad)

# %% Gradients of gradients
x = torch.tensor(2.0, requires_grad=True)
(first,) = torch.autograd.grad(torch.exp(x * x), x, create_graph=True)
(second,) = torch.autograd.grad(first, x)
print(f"first {first.item():.4f}, second {second.item():.4f}")

# %% A descent into Rosenbrock's valley
p = torch.tensor([-1.5, 2.0], requires_grad=True)
velocity = torch.zeros(2)
path = []
for step in range(2001):
    loss = (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2
    loss.backward()
    with torch.no_grad():
        velocity = 0.9 * velocity - 2e-4 * p.grad
        p += velocity
        p.grad = None
    path.append(p.tolist())
    if step % 400 == 0:
        print(f"step {step:4d}  loss {loss.item():.6f}  at ({p[0].item():.4f}, {p[1].item():.4f})")

# %% All partial derivatives at once
from torch.func import hessian, jacrev


def f(v):
    return torch.stack([v[0] * v[1], v[1].sin(), v[2].exp() * v[0]])


point = torch.tensor([1.0, 2.0, 0.5])
print(jacrev(f)(point))
print(hessian(lambda v: f(v).sum())(point))
