"""Optimizers with random options, parameter groups, schedulers, and a reload in the middle."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

import numpy as np

from fuzz_parts.case import Case, chance, tensor

OPTIONS: dict[str, dict[str, list[Any]]] = {
    "SGD": {"momentum": [0, 0.9], "dampening": [0, 0, 0.1], "nesterov": [False, False, True]},
    "Adam": {
        "betas": [(0.9, 0.999), (0.5, 0.9), (0.0, 0.0)],
        "amsgrad": [False, True],
        "eps": [1e-8, 1e-3],
        "decoupled_weight_decay": [False, True],
    },
    "AdamW": {"betas": [(0.9, 0.999), (0.5, 0.9), (0.0, 0.0)], "amsgrad": [False, True], "eps": [1e-8, 1e-3]},
    "Adamax": {},
    "NAdam": {"momentum_decay": [4e-3, 0.1], "decoupled_weight_decay": [False, True]},
    "RAdam": {"decoupled_weight_decay": [False, True]},
    "Adagrad": {"lr_decay": [0, 0.1], "initial_accumulator_value": [0, 0.5]},
    "Adadelta": {"rho": [0.9, 0.5]},
    "RMSprop": {"alpha": [0.99, 0.5], "momentum": [0, 0.9], "centered": [False, True]},
    "Rprop": {"etas": [(0.5, 1.2), (0.3, 2.0)], "step_sizes": [(1e-6, 50), (1e-3, 0.5)]},
    "ASGD": {"lambd": [1e-4, 0.1], "alpha": [0.75, 0.5], "t0": [1e6, 2.0]},
    "Adafactor": {"beta2_decay": [-0.8, -0.5], "d": [1.0, 0.5], "eps": [(None, 1e-3), (1e-5, 1e-2)]},
    "SparseAdam": {},
    "Muon": {"momentum": [0.95, 0.5], "nesterov": [True, False], "ns_steps": [5, 2]},
}
SCHEDULERS: dict[str, Any] = {
    "StepLR": lambda S, o: S.StepLR(o, 2, 0.5),
    "MultiStepLR": lambda S, o: S.MultiStepLR(o, [1, 3], 0.5),
    "ExponentialLR": lambda S, o: S.ExponentialLR(o, 0.9),
    "CosineAnnealingLR": lambda S, o: S.CosineAnnealingLR(o, 3, eta_min=0.001),
    "OneCycleLR": lambda S, o: S.OneCycleLR(o, 0.2, total_steps=10),
    "CyclicLR": lambda S, o: S.CyclicLR(o, 0.01, 0.1, 2, cycle_momentum=False),
    "LambdaLR": lambda S, o: S.LambdaLR(o, lambda e: 0.9**e),
    "PolynomialLR": lambda S, o: S.PolynomialLR(o, 4, 2.0),
    "LinearLR": lambda S, o: S.LinearLR(o, 0.1, 1.0, 4),
    "ReduceLROnPlateau": lambda S, o: S.ReduceLROnPlateau(o, patience=0, factor=0.5),
    "CosineAnnealingWarmRestarts": lambda S, o: S.CosineAnnealingWarmRestarts(o, 2, 2),
    "MultiplicativeLR": lambda S, o: S.MultiplicativeLR(o, lambda e: 0.9),
    "ChainedScheduler": lambda S, o: S.ChainedScheduler([S.StepLR(o, 2), S.ExponentialLR(o, 0.9)]),
    "SequentialLR": lambda S, o: S.SequentialLR(o, [S.ConstantLR(o, 0.1, 2), S.ExponentialLR(o, 0.9)], [2]),
}
STATELESS = ("LambdaLR", "MultiplicativeLR", "ChainedScheduler", "SequentialLR")  # their state holds objects


def options(r: Random, name: str) -> dict[str, Any]:
    chosen = {k: r.choice(v) for k, v in OPTIONS[name].items() if chance(r, 0.7)}
    if name != "Rprop" or chance(r):
        chosen["lr"] = r.choice([0.1, 0.01, 1.0, 1e-3])
    if chance(r, 0.1):
        chosen["lr"] = np.array(r.choice([0.1, 0.01]))  # a tensor
    if name not in ("Rprop", "SparseAdam"):
        chosen["weight_decay"] = r.choice([0, 0.1, 0.01])
    if name not in ("SparseAdam", "Adafactor", "Muon"):
        chosen |= {k: True for k in ("maximize", "differentiable") if chance(r, 0.2)}
    if chance(r, 0.4) and name not in ("SparseAdam", "Muon"):
        chosen["foreach"] = chance(r)
    if chance(r, 0.2) and name in ("SGD", "Adam", "AdamW", "Adagrad"):
        chosen["fused"] = True
    return chosen


def draw(r: Random) -> Case:
    name = r.choice(list(OPTIONS))
    named = options(r, name)
    dtype = r.choice(["float32", "float64", "float32", "bfloat16", "complex64"])
    if name in ("Muon", "Adafactor", "Rprop") or "differentiable" in named:
        dtype = "float32"
    shapes: list[Any] = [r.choice([(2, 3), (4,), (), (2, 2, 2), (0,)]) for _ in range(r.choice([1, 2, 3]))]
    if name == "Muon":
        shapes = [(3, 4), (2, 2)]
    scheduler = r.choice([None, None, *SCHEDULERS])
    seed = r.randrange(10**6)
    groups, reload, added, clipped, missing = (chance(r, p) for p in (0.3, 0.3, 0.1, 0.2, 0.2))

    def run(torch: Any) -> Any:
        rng = np.random.default_rng(seed)

        def fresh(shape: Any) -> Any:
            x = rng.standard_normal(shape)
            return tensor(torch, x + 1j * rng.standard_normal(shape) if dtype == "complex64" else x, dtype)

        parameters = [torch.nn.Parameter(fresh(s)) for s in shapes]
        arguments = {k: tensor(torch, v) if isinstance(v, np.ndarray) else v for k, v in named.items()}
        given: Any = parameters
        if groups:
            given = [{"params": parameters[:1]}, {"params": parameters[1:], "lr": 0.05}][: len(parameters)]
        make = lambda: getattr(torch.optim, name)([dict(g) for g in given] if groups else given, **arguments)
        optimizer = make()
        schedule = SCHEDULERS[scheduler](torch.optim.lr_scheduler, optimizer) if scheduler else None
        rates = []
        for step in range(6):
            for i, p in enumerate(parameters):
                g = fresh(p.shape)
                p.grad = g.to_sparse() if name == "SparseAdam" and g.dim() else g
                if missing and i == 0 and step % 2:
                    p.grad = None
            if clipped and name != "SparseAdam":
                torch.nn.utils.clip_grad_norm_(parameters, 0.5)
            optimizer.step()
            if schedule:
                schedule.step(*[float(step % 2)] * (scheduler == "ReduceLROnPlateau"))
                rates.append([float(g["lr"]) for g in optimizer.param_groups])
            if reload and step == 2 and not schedule:
                state = copy.deepcopy(optimizer.state_dict())
                optimizer = make()
                optimizer.load_state_dict(state)
            if added and step == 3:
                parameters.append(torch.nn.Parameter(fresh((2, 2))))
                optimizer.add_param_group({"params": parameters[-1:]})
        state = schedule.state_dict() if schedule and scheduler not in STATELESS else None
        return [p.detach() for p in parameters], optimizer.state_dict(), rates, repr(optimizer), state

    flags = dict(groups=groups, reload=reload, added=added, clipped=clipped, missing=missing)
    on = [k for k, v in flags.items() if v]
    return Case(f"{name}({named}), {dtype} {shapes}, {scheduler}, {on}", run, rounding=16)
