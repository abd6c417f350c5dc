"""Modules of torch.nn with random options, inputs in random layouts, first and second gradients, state and repr."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np

from fuzz_parts.case import Case, chance, tensor
from fuzz_parts.parts import layers, losses

DRAWN = [layers.convolution, layers.convolution, layers.pool, layers.pool, layers.norm, layers.activation]
DRAWN += [losses.loss, losses.loss, losses.other, losses.other, losses.other]
NUMBERS: dict[str, Any] = {
    "normal": lambda g, shape, _: g.standard_normal(shape),
    "index": lambda g, shape, bound: g.integers(0, bound, shape),
    "positive": lambda g, shape, _: g.random(shape) * 3 + 0.1,
    "sign": lambda g, shape, _: g.choice([-1.0, 1.0], shape),
    "unit": lambda g, shape, _: g.random(shape),
}


def laid_out(torch: Any, x: Any, layout: str) -> Any:
    """The same numbers in another layout, where the dims allow it."""
    if layout == "channels last" and x.dim() in (4, 5):
        return x.contiguous(memory_format=[torch.channels_last, torch.channels_last_3d][x.dim() - 4])
    if layout == "transposed" and x.dim() >= 2:
        return x.mT.contiguous().mT
    return x[:1].expand(x.shape) if layout == "expanded" and x.dim() >= 2 else x


def tensors_of(out: Any) -> list[Any]:
    if isinstance(out, (tuple, list)):
        return [t for o in out for t in tensors_of(o)]
    return [out] if getattr(out, "requires_grad", False) else []


def draw(r: Random) -> Case:
    name, arguments, named, inputs = r.choice(DRAWN)(r)
    rng = np.random.default_rng(r.randrange(10**9))
    numbers = [(kind, np.asarray(NUMBERS[kind](rng, shape, bound))) for kind, shape, bound in inputs]
    dtype, layout = r.choice(["float32", "float64"]), r.choice(["", "", "channels last", "transposed", "expanded"])
    evaluated, twice, constant = chance(r, 0.3), chance(r, 0.3), chance(r, 0.2)
    seed = r.randrange(10**6)

    def run(torch: Any) -> Any:
        torch.manual_seed(seed)
        module = getattr(torch.nn, name)(*arguments, **named)
        weights = np.random.default_rng(seed)
        with torch.no_grad():
            for p in module.parameters():
                p.copy_(tensor(torch, weights.standard_normal(tuple(p.shape)) * 0.5))
        module = module.to(getattr(torch, dtype))
        if evaluated:
            module.eval()
        leaves, given = [], []
        for kind, v in numbers:
            if kind == "index":
                given.append(tensor(torch, v))
                continue
            x = laid_out(torch, tensor(torch, v, dtype), layout).detach()
            if kind in ("normal", "positive") and not constant:
                leaves.append(x.requires_grad_())
            given.append(x * 1 if named.get("inplace") else x)
        out = module(*given)
        result = [out, repr(module), dict(module.state_dict())]
        leaves += module.parameters()
        outs = tensors_of(out)
        if not outs:
            return result
        total = sum((o * o).sum() for o in outs)
        first = torch.autograd.grad(total, leaves, allow_unused=True, create_graph=twice)
        result.append(list(first))
        onward = [g for g in first if g is not None and g.requires_grad]
        if twice and onward:
            result.append(list(torch.autograd.grad(sum((g * g).sum() for g in onward), leaves, allow_unused=True)))
        return result

    given = [(kind, v.shape) for kind, v in numbers]
    flags = ", eval" * evaluated + ", second gradient" * twice + ", inputs are constant" * constant
    return Case(f"{name}{(*arguments, named)} of {given}, {dtype} {layout}{flags}", run, rounding=4)
