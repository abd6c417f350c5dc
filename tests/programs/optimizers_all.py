"""Every optimizer on Rosenbrock's valley and on a small network: options, groups, states, resuming, closures."""

import copy

import torch
import torch.nn as nn
from torch import optim


def rosenbrock(p):
    x, y = p
    return (1 - x) ** 2 + 10 * (y - x**2) ** 2


CASES = {
    "SGD": [{"lr": 1e-3}, {"lr": 1e-3, "momentum": 0.9, "dampening": 0.1, "weight_decay": 1e-3},
            {"lr": 1e-3, "momentum": 0.8, "nesterov": True}, {"lr": 1e-4, "maximize": True}],
    "Adam": [{"lr": 0.05}, {"lr": 0.05, "amsgrad": True, "weight_decay": 0.01}, {"lr": 0.05, "foreach": True}],
    "AdamW": [{"lr": 0.05}, {"lr": torch.tensor(0.05), "betas": (0.5, 0.9), "eps": 1e-6}],
    "Adamax": [{"lr": 0.05, "weight_decay": 0.1}],
    "NAdam": [{"lr": 0.05, "momentum_decay": 0.01}, {"lr": 0.05, "decoupled_weight_decay": True, "weight_decay": 0.1}],
    "RAdam": [{"lr": 0.1}],
    "Adagrad": [{"lr": 0.5, "lr_decay": 0.01, "initial_accumulator_value": 0.1}],
    "Adadelta": [{"lr": 10.0, "rho": 0.5}],
    "RMSprop": [{"lr": 0.02, "alpha": 0.9}, {"lr": 0.02, "centered": True, "momentum": 0.5}],
    "Rprop": [{"lr": 0.01, "etas": (0.6, 1.3), "step_sizes": (1e-5, 1.0)}],
    "ASGD": [{"lr": 1e-3, "t0": 5, "lambd": 1e-2}],
    "Adafactor": [{"lr": 0.1}],
}  # fmt: skip
for name, options in CASES.items():
    for o in options:
        p = nn.Parameter(torch.tensor([-1.2, 1.0]))
        opt = getattr(optim, name)([p], **o)
        for _ in range(12):
            opt.zero_grad()
            rosenbrock(p).backward()
            opt.step()
        print(name, [f"{v:.6f}" for v in p.tolist()], sorted(opt.state[p]))
for line_search in (None, "strong_wolfe"):
    p = nn.Parameter(torch.tensor([-1.2, 1.0]))
    opt = optim.LBFGS([p], lr=0.01 if line_search is None else 1, max_iter=10, line_search_fn=line_search)

    def closure():
        opt.zero_grad()
        loss = rosenbrock(p)
        loss.backward()
        return loss

    print("LBFGS", f"{opt.step(closure).item():.5f}", [f"{v:.5f}" for v in p.tolist()], opt.state[p]["func_evals"])
w = nn.Parameter(torch.arange(12.0).view(3, 4) / 10)
muon = optim.Muon([w], lr=0.02, momentum=0.9)
for _ in range(3):
    muon.zero_grad()
    (w.sin() * w).sum().backward()
    muon.step()
print("Muon", f"{w.sum().item():.3f}")

torch.manual_seed(0)
x, y = torch.randn(40, 5), torch.randn(40, 1)
base = nn.Sequential(nn.Linear(5, 8), nn.SELU(), nn.AlphaDropout(0.0), nn.Linear(8, 1))
for name, options in {**CASES, "Adam": [{"lr": 0.01, "amsgrad": True}]}.items():
    model = copy.deepcopy(base)
    o = {**options[-1], "lr": 0.01}
    o.pop("maximize", None)
    opt = getattr(optim, name)(model.parameters(), **o)
    losses = []
    for step in range(8):
        if step == 4:  # stop, save, resume
            state = copy.deepcopy(opt.state_dict())
            opt = getattr(optim, name)(model.parameters(), **o)
            opt.load_state_dict(state)
        opt.zero_grad()
        loss = (model(x) - y).square().mean()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    print(
        name,
        f"{losses[0]:.5f} {losses[3]:.5f} {losses[-1]:.5f}",
        len(state["state"]),
        state["param_groups"][0]["params"],
    )
embedding = nn.Embedding(6, 3, sparse=True)
with torch.no_grad():
    embedding.weight.copy_(torch.arange(18.0).view(6, 3))
sparse = optim.SparseAdam(embedding.parameters(), lr=0.1)
for ids in ([0, 2], [2, 2, 5]):
    sparse.zero_grad()
    embedding(torch.tensor(ids)).pow(2).sum().backward()
    sparse.step()
print(embedding.weight.grad.is_sparse, embedding.weight.grad.coalesce().indices(), embedding.weight[2])
model = copy.deepcopy(base)
opt = optim.SGD([
    {"params": model[0].parameters(), "lr": 0.1, "name": "first"},
    {"params": [model[3].weight], "momentum": 0.5},
], lr=0.01)  # fmt: skip
opt.add_param_group({"params": model[3].bias, "weight_decay": 0.2})
print(opt)
print([(len(g["params"]), g["lr"], g["momentum"], g["weight_decay"]) for g in opt.param_groups])
named = optim.AdamW(model.named_parameters(), lr=0.1)
print(named.param_groups[0]["param_names"], named.state_dict()["param_groups"][0]["param_names"][:2])
for wrong in (
    lambda: optim.SGD([], lr=0.1),
    lambda: optim.Adam(base.parameters(), lr=-1.0),
    lambda: optim.SGD([torch.zeros(2) * torch.zeros(2, requires_grad=True)], lr=0.1),
    lambda: optim.SGD(torch.zeros(2), lr=0.1),
    lambda: opt.add_param_group({"params": model[3].bias}),
):
    try:
        wrong()
    except (ValueError, TypeError) as e:
        print(type(e).__name__, str(e)[:70])
