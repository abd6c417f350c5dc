"""FlopCounterMode: how many floating-point operations the products and convolutions of a program take."""

from __future__ import annotations

import functools
import math
import warnings
from collections import defaultdict
from typing import Any

import torchlite as torch

from ._python_dispatch import TorchDispatchMode
from ._pytree import tree_map
from .module_tracker import ModuleTracker

__all__ = ["FlopCounterMode", "register_flop_formula"]

aten = torch.ops.aten
flop_registry: dict[Any, Any] = {}


def shape_wrapper(f: Any) -> Any:
    """A formula of shapes as one of tensors."""

    @functools.wraps(f)
    def nf(*args: Any, out_val: Any = None, **kwargs: Any) -> Any:
        shapes = tree_map(lambda t: t.shape if isinstance(t, torch.Tensor) else t, (args, kwargs, out_val))
        return f(*shapes[0], out_shape=shapes[2], **shapes[1])

    return nf


def register_flop_formula(targets: Any, get_raw: bool = False) -> Any:
    """Decorator: a function of an operator's arguments, with shapes in place of tensors, that returns the number.

    targets: torch.ops.mylib.foo, or a list. get_raw: the function takes the tensors, and the result as out_val."""

    def inner(formula: Any) -> Any:
        made = formula if get_raw else shape_wrapper(formula)
        for target in targets if isinstance(targets, (list, tuple)) else [targets]:
            if not isinstance(target, (torch._ops.OpOverloadPacket, torch._ops.HigherOrderOperator)):
                raise ValueError(
                    "register_flop_formula(targets): expected each target to be OpOverloadPacket (i.e. "
                    "torch.ops.mylib.foo), JitFunction, or HigherOrderOperator, got "
                    f"{target} which is of type {type(target)}"
                )
            if target in flop_registry:
                raise RuntimeError(f"duplicate registrations for {target}")
            flop_registry[target] = made
        return made

    return inner


def _product(a: Any, b: Any) -> int:
    if a[-1] != b[-2] or a[:-2] != b[:-2]:
        raise AssertionError(f"matmul: inner dimensions must match (k == k2), got {a[-1]} and {b[-2]}")
    return 2 * math.prod(a) * b[-1]


@register_flop_formula([aten.mm, aten.bmm])
def mm_flop(a_shape: Any, b_shape: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """Products of matrices."""
    return _product(a_shape, b_shape)


@register_flop_formula([aten.addmm, aten.baddbmm])
def addmm_flop(self_shape: Any, a_shape: Any, b_shape: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """The same with an addition, which is not counted."""
    return _product(a_shape, b_shape)


def conv_flop_count(x_shape: Any, w_shape: Any, out_shape: Any, transposed: bool = False) -> int:
    """A convolution: each weight meets each place of the result, or of the input where it is transposed."""
    return 2 * x_shape[0] * math.prod((x_shape if transposed else out_shape)[2:]) * math.prod(w_shape)


@register_flop_formula(aten.convolution)
def conv_flop(
    x_shape: Any,
    w_shape: Any,
    _bias: Any,
    _s: Any,
    _p: Any,
    _d: Any,
    transposed: Any,
    *args: Any,
    out_shape: Any = None,
) -> int:
    """A convolution."""
    return conv_flop_count(x_shape, w_shape, out_shape, transposed)


@register_flop_formula(aten.convolution_backward)
def conv_backward_flop(
    grad: Any,
    x: Any,
    w: Any,
    _bias: Any,
    _s: Any,
    _p: Any,
    _d: Any,
    transposed: Any,
    _o: Any,
    groups: Any,
    output_mask: Any,
    out_shape: Any,
) -> int:
    """The two products of its gradients, as far as they are asked for."""
    count = 0
    if output_mask[0]:
        count += conv_flop_count(grad, w, out_shape[0], not transposed)
    if output_mask[1]:
        one, other = (grad, x) if transposed else (x, grad)
        count += conv_flop_count(*_swapped(one, other, out_shape[1]))
    return count


def _swapped(x: Any, grad: Any, w: Any) -> tuple[Any, Any, Any]:
    """The convolution of the input with the gradient, over the examples, which gives the weight's gradient."""
    return (x[1], x[0], *x[2:]), (grad[1], grad[0], *grad[2:]), (w[1], w[0], *w[2:])


_SUFFIXES = ["", "K", "M", "B", "T"]


def _rows(counts: Any, name: str, indent: str, total: int) -> list[list[str]]:
    thousands = max(0, min(len(_SUFFIXES) - 1, (len(str(total)) - 2) // 3))

    def row(label: str, number: int) -> list[str]:
        share = f"{number / total:.2%}" if total else "0%"
        return [indent + label, f"{number / 1000**thousands:.3f}{_SUFFIXES[thousands]}", share]

    parts = [row(f" - {op}", n) for op, n in counts[name].items()]
    return [row(name, sum(counts[name].values())), *parts]


class FlopCounterMode:
    """A context that counts floating-point operations, by operator and by module.

        with FlopCounterMode() as counter:
            model(x).sum().backward()
        counter.get_total_flops()

    depth: how deep modules are shown. display: whether a table is printed at the end. custom_mapping: formulas of more
    operators, as register_flop_formula takes them."""

    def __init__(self, mods: Any = None, depth: int = 2, display: bool = True, custom_mapping: Any = None) -> None:
        if mods is not None:
            warnings.warn("mods argument is not needed anymore, you can stop passing it", stacklevel=2)
        self.flop_counts: Any = defaultdict(lambda: defaultdict(int))
        self.depth, self.display = depth, display
        self.mode: Any = None
        more = {k: f if getattr(f, "_get_raw", False) else shape_wrapper(f) for k, f in (custom_mapping or {}).items()}
        self.flop_registry = {**flop_registry, **more}
        self.mod_tracker = ModuleTracker()

    def get_total_flops(self) -> int:
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """{path of a module, or "Global": {operator: number}}"""
        return {k: dict(v) for k, v in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """The numbers as text."""
        depth = self.depth if depth is None else depth
        depth = 999999 if depth is None else depth
        total, rows, whole = self.get_total_flops(), list[Any](), False
        for name in sorted(self.flop_counts):
            level = name.count(".")
            if name != "Global" and level < depth:
                rows += _rows(self.flop_counts, name, " " * level, total)
                whole = whole or sum(self.flop_counts[name].values()) >= total
        if "Global" in self.flop_counts and not whole:
            rows = _rows(self.flop_counts, "Global", "", total) + [[" " + row[0], *row[1:]] for row in rows]
        rows = [["Module", "FLOP", "% Total"], *(rows or [["Global", "0", "0%"]])]
        wide = [max(len(row[i]) for row in rows) for i in range(3)]
        lines = [f"{a:<{wide[0]}}  {b:>{wide[1]}}  {c:>{wide[2]}}" for a, b, c in rows]
        return "\n".join([lines[0], "  ".join("-" * w for w in wide), *lines[1:]])

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        self.mode = _FlopCounterMode(self)
        self.mode.__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        self.mode.__exit__(*exc)
        self.mode = None
        self.mod_tracker.__exit__()
        if self.display:
            print(self.get_table(self.depth))


class _FlopCounterMode(TorchDispatchMode):
    def __init__(self, counter: FlopCounterMode) -> None:
        super().__init__()
        self.counter = counter

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs, packet, counter = kwargs or {}, func.overloadpacket, self.counter
        out = func(*args, **kwargs)
        if packet in counter.flop_registry:
            count = counter.flop_registry[packet](*args, **kwargs, out_val=out)
            for name in set(counter.mod_tracker.parents):
                counter.flop_counts[name][packet] += count
        return out
