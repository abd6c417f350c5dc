"""Least squares three ways: closed form, LBFGS with strong Wolfe, hand-written gradient descent;
polynomial features and prints."""

import torch

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
x = torch.linspace(-1, 1, 50).unsqueeze(1)
y = 0.5 + 2 * x - 3 * x**2 + 0.1 * torch.randn(50, 1)
X = torch.cat([x**k for k in range(4)], dim=1)
w_exact = torch.linalg.lstsq(X, y).solution
print("closed form", [f"{v:.6f}" for v in w_exact.flatten().tolist()])
print("normal equations", [f"{v:.6f}" for v in torch.linalg.solve(X.T @ X, X.T @ y).flatten().tolist()])
w = torch.zeros(4, 1, requires_grad=True)
opt = torch.optim.LBFGS([w], line_search_fn="strong_wolfe", max_iter=30)


def closure():
    opt.zero_grad()
    loss = (X @ w - y).square().mean()
    loss.backward()
    return loss


for epoch in range(3):
    print(f"lbfgs {epoch} {opt.step(closure).item():.8f}")
print(torch.allclose(w, w_exact, atol=1e-4))
v = torch.zeros(4, 1, requires_grad=True)
for step in range(200):
    loss = (X @ v - y).square().mean()
    loss.backward()
    with torch.no_grad():
        v -= 0.1 * v.grad
        v.grad.zero_()
    if step % 50 == 49:
        print(f"gd {step} {loss.item():.8f}")
H = torch.autograd.functional.hessian(lambda p: (X @ p.view(4, 1) - y).square().mean(), w.detach().view(4))
print(f"condition {torch.linalg.cond(H).item():.5f}", f"det {torch.det(H).item():.8f}")
r2 = 1 - ((X @ w - y) ** 2).sum() / ((y - y.mean()) ** 2).sum()
print(f"r2 {r2.item():.7f}")
torch.set_default_dtype(torch.float32)
logistic = torch.nn.Linear(2, 1)
pts = torch.randn(64, 2)
label = (pts.sum(1) > 0.2).float().unsqueeze(1)
opt = torch.optim.LBFGS(logistic.parameters(), lr=0.5, history_size=5)
for epoch in range(3):

    def closure():
        opt.zero_grad()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logistic(pts), label) + 1e-2 * sum(
            p.pow(2).sum() for p in logistic.parameters()
        )
        loss.backward()
        return loss

    print(f"logistic {epoch} {opt.step(closure).item():.6f}")
