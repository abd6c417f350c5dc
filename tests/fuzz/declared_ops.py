"""Calls of every declared op, as text, from the samples of its declaration."""

from __future__ import annotations

import dataclasses
import math
import pathlib
import sys
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "ops"))
import declared

import torchlite
from torchlite.ops import _schema

# results that no second run or other library can repeat, or that depend on the machine
LEFT_OUT = {
    "empty",
    "empty_like",
    "empty_strided",
    "new_empty",
    "new_empty_strided",
    "resize_",
    "resize_as_",
    "set_",
    "from_file",
    "empty_permuted",
    "seed",
    "initial_seed",
    "get_device",
    "data_ptr",
    "as_strided_",
    "pin_memory",
    "apply_",
    "map_",
    # PyTorch reads out of bounds where a weight has a wrong shape
    *("lstm", "gru", "rnn_tanh", "rnn_relu"),
}
# factors that are unique up to a sign or a phase: their gradients and numbers depend on the choice
UP_TO_SIGN = {
    "linalg_svd",
    "svd",
    "linalg_eigh",
    "linalg_eig",
    "linalg_qr",
    "qr",
    "geqrf",
    "pca_lowrank",
    "svd_lowrank",
    "lobpcg",
    "linalg_householder_product",
    "ormqr",
    "orgqr",
}


@dataclasses.dataclass
class Slot:
    """A tensor among the arguments of a sample."""

    shape: tuple[int, ...]
    dtype: str
    low: float
    high: float
    text: str = ""  # how to make it where its numbers matter (an index, a positive definite matrix)


class Maker(declared.Maker):
    """Remembers which tensors of a sample are as they were made: others were computed, and their numbers matter."""

    def __init__(self, dtype: Any) -> None:
        super().__init__(dtype)
        self.made: dict[int, tuple[Any, float, float]] = {}

    def __call__(self, *shape: int, lo: float = -2, hi: float = 2, **options: Any) -> Any:
        t = super().__call__(*shape, lo=lo, hi=hi, **options)
        self.made[id(t)] = (t, lo, hi)
        return t


def literal(x: Any) -> str:
    """Python text of a value; raises ValueError where there is none."""
    if isinstance(x, torchlite.Tensor):
        if x.numel() > 64:
            raise ValueError("a long tensor")
        x = x.detach()
        return f"torch.tensor({literal(x.tolist())}, dtype={x.dtype}).reshape({tuple(x.shape)})"
    if isinstance(x, torchlite.dtype):
        return str(x)
    if isinstance(x, float):
        return repr(x) if math.isfinite(x) else f'float("{x}")'
    if isinstance(x, (list, tuple)):
        inner = ", ".join(map(literal, x))
        if isinstance(x, list):
            return f"[{inner}]"
        if x:
            return f"({inner},)"
        return "()"
    if x is None or isinstance(x, (bool, int, str, complex)):
        return repr(x)
    raise ValueError(f"no text for {type(x)}")


class Declared:
    """A declared op with its samples and the places where both libraries have it."""

    def __init__(self, spec: Any, real: Any) -> None:
        self.spec = spec
        self.name = spec.name
        self.pointwise = "pointwise" in spec.tags
        self.random = any(
            spec.name.startswith(n)
            for n in ("dropout", "rand", "bernoulli", "multinomial", "normal", "rrelu", "alpha_dropout", "feature_")
        )
        self.functions: list[str] = []
        place = declared.path(spec)
        for where in (place, ("ops.aten", spec.name)):
            if (
                where
                and not spec.name.startswith("_")
                and where[0] != "Tensor"
                and declared.resolve(real, where) is not None
                and declared.resolve(torchlite, where) is not None
            ):
                self.functions.append("torch." + ".".join(p for p in where if p))
                break
        names = (spec.name, *spec.alias)
        short = [n for n in names if not n.startswith("_") and "." not in n]
        self.methods = [
            n for n in short if spec.namespace == "" and hasattr(real.Tensor, n) and hasattr(torchlite.Tensor, n)
        ]
        self.inplace = [
            n + "_"
            for n in short
            if spec.inplace and hasattr(real.Tensor, n + "_") and hasattr(torchlite.Tensor, n + "_")
        ]
        self._samples: list[tuple[list[Any], dict[str, Any]]] | None = None

    @property
    def samples(self) -> list[tuple[list[Any], dict[str, Any]]]:
        if self._samples is None:
            make = Maker(torchlite.float64)
            self._samples = []
            for args in self.spec.samples(make):
                kwargs = {}
                if args and isinstance(args[-1], dict):
                    args, kwargs = args[:-1], args[-1]
                names = [p.name for p in _schema.parse(self.spec.schemas[0])]
                if "reduction=Mean" in self.spec.schemas[0] and len(args) <= names.index("reduction"):
                    kwargs = {"reduction": 1, **kwargs}  # PyTorch's own binding takes 0 for this default
                try:
                    self._samples.append(
                        ([self._plan(a, make) for a in args], {k: self._plan(v, make) for k, v in kwargs.items()})
                    )
                except ValueError:
                    continue
        return self._samples

    def _plan(self, x: Any, make: Maker) -> Any:
        """A Slot, a list of plans, or text."""
        if isinstance(x, torchlite.Tensor):
            dtype = str(x.dtype)[6:]
            known = make.made.get(id(x))
            if known is not None and (x.dtype.is_floating_point or x.dtype.is_complex):
                return Slot(tuple(x.shape), dtype, known[1], known[2])
            return Slot(tuple(x.shape), dtype, 0, 0, literal(x))
        if isinstance(x, (list, tuple)) and any(isinstance(v, torchlite.Tensor) for v in x):
            return [self._plan(v, make) for v in x]
        return literal(x)


def collect(real: Any) -> list[Declared]:
    """All declared ops with samples that both libraries have."""
    ops = []
    for spec in declared.sampled():
        if spec.name in LEFT_OUT or spec.name in UP_TO_SIGN or spec.namespace == "_hidden":
            continue
        d = Declared(spec, real)
        if d.functions or d.methods:
            ops.append(d)
    return ops
