"""The kinds of lines that a program is made of.
Each function returns a line, or None where the program has nothing for it."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Callable

from fuzz import expressions as ex
from fuzz.declared_ops import Slot
from fuzz.program import memory

if TYPE_CHECKING:
    from fuzz.generate import Generator

Line = Callable[["Generator"], "str | None"]
SHAPES = [
    (3,),
    (4,),
    (2, 3),
    (3, 4),
    (3, 3),
    (2, 2),
    (2, 3, 4),
    (1, 4),
    (4, 1),
    (2, 1, 3),
    (),
    (1,),
    (0, 3),
    (2, 4, 2),
    (1, 2, 5, 5),
    (2, 2, 4, 4),
]


def leaf(g: Generator) -> str:
    shape = g.rng.choice(SHAPES)
    text = g.fill(shape)
    if g.rng.random() < 0.15 and len(shape) == 4:
        text += ".to(memory_format=torch.channels_last)"
    elif g.rng.random() < 0.1 and len(shape) >= 2:
        text += ".transpose(0, 1).detach()"
    return f"{g.new()} = {text}" + (".requires_grad_()" if g.rng.random() < 0.85 else "")


def copy(g: Generator) -> str | None:
    """A tensor with a history that in-place ops may change."""
    v = g.floating()
    return v and f"{g.new()} = {v}" + g.rng.choice([" * 1", ".clone()", " + 0.5", ".exp()", ".sin()", " * 2"])


def extra(g: Generator) -> str:
    """A tensor of another dtype: for promotion, masks and indices."""
    shape = g.rng.choice(SHAPES)
    dtype = g.rng.choice(
        ["int64", "bool", "int64", "float32", "int32", "uint8"]
        if g.device != "cpu"
        else ["int64", "bool", "float32", "int32", "float16", "complex64", "uint8", "bfloat16"]
    )
    return f"{g.new()} = {g.fill(shape, dtype, **({'lo': 0, 'hi': 3} if dtype == 'uint8' else {}))}"


def view(g: Generator) -> str | None:
    v = g.pick(lambda t: t.dim() > 0, views=True)
    return v and ex.view(g, v)


def setitem(g: Generator) -> str | None:
    v = g.pick(lambda t: t.dim() > 0 and t.numel() > 0, views=True)
    if v is None:
        return None
    index = ex.index(g, g.env[v])
    try:
        shape = tuple(g.env[v][eval(index, dict(g.env))].shape)
    except Exception:
        shape = ()
    value = g.rng.choice(
        [lambda: g.operand(shape), lambda: str(g.rng.choice([0, 0.5, -1.0, 2])), lambda: g.operand(shape)]
    )()
    how = g.rng.choice(["=", "=", "=", "+=", "*=", "-="])
    return f"{v}[{index}] {how} {value}"


def inplace(g: Generator) -> str | None:
    v = g.floating(views=True)
    return v and g.rng.choice([ex.inplace, ex.inplace, ex.augmented, ex.structural, ex.activation])(g, v)


def declared_inplace(g: Generator) -> str | None:
    ops = [d for d in g.ops if d.inplace and not d.random]
    return declared(g, g.rng.choice(ops), "inplace")


def declared_any(g: Generator) -> str | None:
    return declared(g, g.rng.choice([d for d in g.ops if not d.random]), g.rng.choice(["function", "method"]))


def declared_grad(g: Generator) -> str | None:
    return declared(
        g,
        g.rng.choice([d for d in g.ops if not d.random and d.spec.differentiable]),
        g.rng.choice(["function", "method", "method"]),
    )


def out(g: Generator) -> str | None:
    ops = [d for d in g.ops if d.spec.out and d.functions and not d.random]
    call = declared(g, g.rng.choice(ops), "function", assign=False)
    used = {memory(g.env[n]) for n in g.tensors() if re.search(rf"\b{n}\b", call or "")}
    v = g.pick(lambda t: t.is_floating_point() and memory(t) not in used, views=True)
    return v and call and f"with torch.no_grad(): {call[:-1]}, out={v})"


def declared(g: Generator, d: Any, form: str, assign: bool = True) -> str | None:
    """A call of a declared op: a sample of it, with variables of the program in place of its tensors."""
    if not d.samples:
        return None
    args, kwargs = g.rng.choice(d.samples)
    first: list[str] = []

    def tensor(s: Slot) -> str:
        if s.text:
            return s.text if g.device == "cpu" else f"{s.text}.to(DEVICE)"
        shape = s.shape
        if d.pointwise and first and first[0] in g.env and g.rng.random() < 0.9:
            text = g.operand(tuple(g.env[first[0]].shape), s.low, s.high)
        elif d.pointwise and (v := g.floating(views=form == "inplace")) and g.rng.random() < 0.9:
            first.append(v)
            return v if form == "inplace" else g.within(v, s.low, s.high)
        else:
            n = math.prod(shape)
            v = g.pick(lambda t: tuple(t.shape) == shape and (t.is_floating_point() or t.is_complex()), views=True)
            w = v or g.pick(lambda t: t.numel() >= n and (t.is_floating_point() or t.is_complex()))
            if v and g.rng.random() < 0.9:
                text = g.within(v, s.low, s.high)
            elif w and n and g.rng.random() < 0.85:
                text = g.within(w, s.low, s.high) + (".reshape(-1)" if g.env[w].dim() != 1 else "")
                text += f"[:{n}]" if g.env[w].numel() != n else ""
                text += f".reshape({', '.join(map(str, shape)) or '()'})" if len(shape) != 1 else ""
            else:
                text = g.fill(shape, lo=s.low, hi=s.high)
        first.append(text)
        return text

    def build(p: Any) -> str:
        if isinstance(p, Slot):
            return tensor(p)
        if isinstance(p, list):
            return "[" + ", ".join(map(build, p)) + "]"
        return p

    texts = [build(p) for p in args]
    texts += [f"{k}={build(p)}" for k, p in kwargs.items()]
    if g.device != "cpu" and not any(t in g.env or "(" in t for t in texts):
        return None  # it makes a tensor, on the CPU
    is_tensor = bool(args) and isinstance(args[0], Slot)
    if form == "inplace" and is_tensor:
        return f"{texts[0]}.{g.rng.choice(d.inplace)}({', '.join(texts[1:])})" if texts[0].isidentifier() else None
    if (form == "method" or not d.functions) and d.methods and is_tensor:
        call = f"{texts[0]}.{g.rng.choice(d.methods)}({', '.join(texts[1:])})"
    elif d.functions:
        call = f"{d.functions[0]}({', '.join(texts)})"
    else:
        return None
    return f"{ex.targets(g, call)} = {call}" if assign else call


def random_numbers(g: Generator) -> str | None:
    v = g.floating(views=True)
    if v is None:
        return None
    n = g.rng.randrange(100)
    shape = tuple(g.env[v].shape)
    draw = g.rng.choice(
        [
            f"{v}.normal_()",
            f"{v}.uniform_(-1, 1)",
            f"{v}.bernoulli_(0.3)",
            f"{v}.exponential_()",
            f"{g.new()} = F.dropout({v}, 0.4)",
            f"{g.new()} = torch.rand_like({v})",
            f"{g.new()} = {v} * torch.randn({shape}).to({v}.device)",
            f"{g.new()} = {v} + torch.randint(0, 5, {shape}).to({v}.device)",
            f"{g.new()} = torch.bernoulli({v}.abs().clamp(0, 1))",
            f"{g.new()} = F.dropout1d({v}, 0.5)",
            f"F.dropout({v}, 0.5, inplace=True)",
        ]
    )
    return f"torch.manual_seed({n}); {draw}"


def state(g: Generator) -> str | None:
    """Changes of what autograd knows of a tensor."""
    v = g.pick(
        lambda t: (t.is_floating_point() or t.is_complex()) and t.numel() > 0 and (t.grad_fn is None or True),
        views=True,
    )
    if v is None:  # PyTorch dies of a hook on one of several views whose base was changed
        return None
    u = g.floating() or v
    return g.rng.choice(
        [
            f"{g.new()} = {v}.detach()",
            f"with torch.no_grad(): {g.new()} = {v} * 2",
            f"with torch.no_grad(): {ex.inplace(g, v)}",
            f"{v}.grad_fn, {v}.register_hook(lambda g: g * 2)",
            f"{v}.retain_grad()",
            f"{v}.detach_()",
            f"with torch.no_grad(): {ex.view(g, v)}",
            f"with torch.enable_grad(): {g.new()} = {v}.sin()",
            f"{v}.requires_grad_()",
            f"{v}.data.mul_(2)",
            f"{v}.detach().zero_()",
            f"{g.new()} = {v}.contiguous()",
            f"with torch.no_grad(): {v}.copy_({u})",
            f"{v}.grad = None",
            f"{v}.grad_fn, {v}.register_hook(lambda g: None)",
            f"{v}.grad_fn, {v}.register_hook(lambda g: g.sin())",
        ]
    )


def grad(g: Generator) -> str | None:
    """A gradient in the middle of the program, which later lines go on with."""
    root = g.pick(lambda t: t.requires_grad and t.numel() > 0)
    if root is None:
        return None
    wanted = g.tensors(lambda t: t.requires_grad)
    g.rng.shuffle(wanted)
    wanted = wanted[: g.rng.randint(1, 2)]
    kind = g.rng.random()
    if kind < 0.2:
        option = g.rng.choice(["", "retain_graph=True", "retain_graph=True", "create_graph=True"])
        return f"{ex.scalar(g, root)}.backward({option})"
    names = ", ".join(g.new() for _ in wanted)
    options = g.rng.choice(["create_graph=True", "create_graph=True", "create_graph=True", "retain_graph=True", ""])
    options = ", ".join(
        filter(
            None,
            [
                options,
                "allow_unused=True" if g.rng.random() < 0.9 else "",
                "materialize_grads=True" if g.rng.random() < 0.1 else "",
            ],
        )
    )
    roots = ex.scalar(g, root)
    if kind < 0.4:
        shape = tuple(g.env[root].shape)
        roots = f"{root}, grad_outputs={g.operand(shape)}"
        return (
            f"{names}, = torch.autograd.grad({root}, [{', '.join(wanted)}], {roots.partition('=')[2]}, {options})"
        ).replace(", )", ")")
    return f"{names}, = torch.autograd.grad({roots}, [{', '.join(wanted)}], {options})".replace(", )", ")")


def arithmetic(g: Generator) -> str | None:
    v = g.pick(lambda t: t.numel() > 0)
    return v and f"{g.new()} = {ex.binary(g, v)}"


def layer(g: Generator) -> str | None:
    return ex.layer(g)


def reduction(g: Generator) -> str | None:
    v = g.pick(lambda t: t.numel() > 0)
    return v and ex.reduction(g, v)


KINDS: list[tuple[Line, float]] = [
    (view, 4),
    (setitem, 2),
    (inplace, 4),
    (declared_inplace, 2.5),
    (declared_any, 1.5),
    (declared_grad, 4),
    (out, 0.4),
    (random_numbers, 0.4),
    (state, 1.2),
    (grad, 1.5),
    (arithmetic, 3),
    (layer, 1.2),
    (reduction, 1.5),
    (copy, 1),
    (extra, 0.6),
    (leaf, 0.3),
]


def ending(g: Generator) -> list[str]:
    """First and second gradients of what the program made, and a backward pass."""
    leaves = g.tensors(lambda t: t.requires_grad and t.is_leaf)
    roots = g.tensors(lambda t: t.requires_grad and not t.is_leaf and t.numel() > 0)
    if not leaves or not roots:
        return []
    lines = []
    g.rng.shuffle(roots)
    for i, root in enumerate(roots[:3]):
        names = [f"g{i}{n}" for n in leaves]
        lines.append(
            f"{', '.join(names)}, = torch.autograd.grad({ex.scalar(g, root)}, [{', '.join(leaves)}], "
            "create_graph=True, allow_unused=True)"
        )
        again = " + ".join(
            f"({n} * {n}.conj()).real.sum()" if g.env[v].is_complex() else f"{n}.square().sum()"
            for n, v in zip(names, leaves)
            if ex.uses(g, root, v)
        )
        if again:
            seconds = ", ".join(f"h{i}{n}" for n in leaves)
            lines.append(
                f"{seconds}, = torch.autograd.grad({again}, [{', '.join(leaves)}], retain_graph=True, "
                "allow_unused=True)"
            )
    lines.append(f"{ex.scalar(g, g.rng.choice(roots))}.backward()")
    return lines
