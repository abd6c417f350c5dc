"""Transforms of torch.func, alone and nested, of random functions."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np

from fuzz_parts.case import Case, tensor

STEPS = """\
x.sin()
x.exp() * 0.1
x * x
x.tanh()
x.sigmoid()
x.softmax(-1)
x.log_softmax(0)
x.cumsum(0)
x.flip(0)
x.sum() * x
x.mean(0) * x
x.sort(-1).values
x.abs().sqrt()
x.relu()
x.clamp(-0.5, 0.5)
x.unsqueeze(0).squeeze(0)
x.reshape(-1).reshape(x.shape)
x.transpose(0, -1).contiguous().transpose(0, -1)
x[..., :1] + x
x.index_select(0, torch.arange(x.shape[0]))
F.gelu(x)
torch.where(x > 0, x, x * 2)
torch.einsum("...i,...i->...", x, x).unsqueeze(-1) * x
torch.cat([x, x], 0)[:x.shape[0]]
torch.stack([x, x * 2]).sum(0)
x.norm() * x
x.var(-1, keepdim=True) * x
x.max(-1, keepdim=True).values * x
F.layer_norm(x, x.shape[-1:])
x.clone().mul_(2)
x.diff(dim=0, prepend=x[:1])
x.roll(1, 0)
torch.logsumexp(x, -1, keepdim=True) + x
x.pow(3)
x / (1 + x * x)
F.softplus(x)
x.expand(2, *x.shape).sum(0)
x.prod(-1, keepdim=True) + x
x.matmul(x.mT).sum(-1, keepdim=True) * x if x.dim() >= 2 else x.dot(x) * x
torch.fft.fft(x).real
torch.linalg.inv(x.unsqueeze(-1) * x.unsqueeze(-2) + 3 * torch.eye(x.shape[-1], dtype=x.dtype)).sum(-1)
torch.gather(x, 0, torch.zeros(x.shape, dtype=torch.int64)) + x
x.scatter(0, torch.zeros(x.shape, dtype=torch.int64), x * 2)
torch.atan2(x, x + 2)
torch.special.erf(x)
F.pad(x, (1, 1))[..., 1:-1]
x.masked_fill(x > 0, 1.0) * x
x.triu() if x.dim() >= 2 else x
x.repeat_interleave(2, 0)[::2]
x.narrow(0, 0, x.shape[0])
F.conv1d(x.reshape(1, 1, -1), torch.ones(1, 1, 1, dtype=x.dtype)).reshape(x.shape)
F.dropout(x, 0.5, False)
x.chunk(2, 0)[0].sum() + x
x.nan_to_num()
x.argmax() * x
torch.cumprod(x, 0)
torch.logcumsumexp(x, 0)
torch.kron(x, x).sum() * x""".splitlines()


def squared(f: Any) -> Any:
    return lambda x: (f(x) ** 2).sum()


def dual(torch: Any, f: Any, t: Any, shape: Any) -> Any:
    ad = torch.autograd.forward_ad
    with ad.dual_level():
        return tuple(ad.unpack_dual(f(ad.make_dual(t(shape), t(shape)))))


def linearized(torch: Any, f: Any, t: Any, shape: Any) -> Any:
    out, tangent = torch.func.linearize(f, t(shape))
    return out, tangent(t(shape))


def vjp(torch: Any, f: Any, x: Any) -> Any:
    out, pull = torch.func.vjp(f, x)
    return out, pull(torch.ones_like(out))


# of (torch, the function, a maker of tensors, the shape of its argument)
TRANSFORMS: dict[str, Any] = {
    "grad": lambda T, f, t, s: T.func.grad(squared(f))(t(s)),
    "vmap": lambda T, f, t, s: T.func.vmap(f)(t((2, *s))),
    "vmap by chunks": lambda T, f, t, s: T.func.vmap(f, chunk_size=2)(t((3, *s))),
    "vmap of grad": lambda T, f, t, s: T.func.vmap(T.func.grad(squared(f)))(t((2, *s))),
    "jvp": lambda T, f, t, s: T.func.jvp(f, (t(s),), (t(s),)),
    "vjp": lambda T, f, t, s: vjp(T, f, t(s)),
    "jacrev": lambda T, f, t, s: T.func.jacrev(f)(t(s)),
    "jacrev by chunks": lambda T, f, t, s: T.func.jacrev(f, chunk_size=2)(t(s)),
    "jacfwd": lambda T, f, t, s: T.func.jacfwd(f)(t(s)),
    "hessian": lambda T, f, t, s: T.func.hessian(squared(f))(t(s)),
    "vmap of jvp": lambda T, f, t, s: T.func.vmap(lambda a, b: T.func.jvp(f, (a,), (b,)))(t((2, *s)), t((2, *s))),
    "grad_and_value": lambda T, f, t, s: T.func.grad_and_value(squared(f))(t(s)),
    "vmap of jacrev": lambda T, f, t, s: T.func.vmap(T.func.jacrev(f))(t((2, *s))),
    "jvp of grad": lambda T, f, t, s: T.func.jvp(T.func.grad(squared(f)), (t(s),), (t(s),)),
    "vmap over the last dim": lambda T, f, t, s: T.func.vmap(f, in_dims=-1, out_dims=1)(t((2, *s)).movedim(0, -1)),
    "vmap of vmap": lambda T, f, t, s: T.func.vmap(T.func.vmap(f))(t((2, 2, *s))),
    "grad of vmap": lambda T, f, t, s: T.func.grad(squared(T.func.vmap(f)))(t((2, *s))),
    "linearize": linearized,
    "vmap of a vjp": lambda T, f, t, s: T.func.vmap(T.func.vjp(f, t(s))[1])(t((2, *f(t(s)).shape))),
    "jvp of jvp": lambda T, f, t, s: T.func.jvp(lambda y: T.func.jvp(f, (y,), (y * 2,))[1], (t(s),), (t(s),)),
    "vmap of vjp": lambda T, f, t, s: T.func.vmap(lambda a: vjp(T, f, a)[1][0])(t((2, *s))),
    "forward mode": dual,
}


def draw(r: Random) -> Case:
    transform = r.choice(list(TRANSFORMS))
    shape = r.choice([(3,), (2, 3), (3, 3), (1, 4)])
    lines = [f"x = {r.choice(STEPS)}" for _ in range(r.randint(1, 3))]
    compiled = compile("\n".join(lines), "<case>", "exec")
    seed = r.randrange(10**6)

    def run(torch: Any) -> Any:
        rng = np.random.default_rng(seed)

        def f(x: Any) -> Any:
            names = {"torch": torch, "F": torch.nn.functional, "x": x}
            exec(compiled, names)
            return names["x"]

        return TRANSFORMS[transform](torch, f, lambda s: tensor(torch, rng.standard_normal(s)), shape)

    return Case(f"{transform} at {shape} of\n" + "\n".join(lines), run)
