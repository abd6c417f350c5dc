"""torch.self_test: whether the ops give on this machine what they should."""

from __future__ import annotations


import random
import time
import warnings

import torchlite as torch

from .. import ops
from ..ops import _schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any
    from .._types import DType, Device, Tensor


_RANDOM = (
    "dropout",
    "rand",
    "bernoulli",
    "multinomial",
    "normal",
    "rrelu",
    "alpha_dropout",
    "feature_",
    "empty",
    "new_empty",
)
_UP_TO_SIGN = ("linalg_svd",)
_TOLERANCES = {"float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7)}


class Make:
    """Makes the tensors of an op's samples: t(3, 4, lo=0)."""

    def __init__(self, dtype: DType | None) -> None:
        self.dtype, self.rng = dtype, random.Random(0)

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)

    def __call__(self, *shape: Any, lo: Any = -2, hi: Any = 2, dtype: Any = None, **_: Any) -> Any:
        dtype = getattr(torch, dtype) if isinstance(dtype, str) else dtype or self.dtype
        n, rng = 1, self.rng
        for s in shape:
            n *= s
        if dtype.is_complex:
            values = [complex(rng.uniform(lo, hi), rng.uniform(lo, hi)) for _ in range(n)]
        elif dtype.is_floating_point:
            values = [rng.uniform(lo, hi) for _ in range(n)]
        elif dtype is torch.bool:
            values = [rng.random() < 0.5 for _ in range(n)]
        else:
            values = [rng.randint(int(lo) if dtype.is_signed else 0, int(hi)) for _ in range(n)]
        return torch.tensor(values, dtype=dtype, device="cpu").reshape(shape)


class SelfTest:
    """What torch.self_test found: `ok`, `device`, `calls`, `seconds`, `failures` [(op, dtype, largest difference,
    text)], `not_reached` [op]."""

    def __init__(self, device: Device | str | int | None) -> None:
        self.device, self.calls, self.seconds = device, 0, 0.0
        self.failures: list[tuple[str, str, float, str]] = []
        self.not_reached: list[str] = []
        self.on_the_cpu: set[str] = set()

    @property
    def ok(self) -> bool:
        return not self.failures

    def __repr__(self) -> Any:
        head = "self_test on %s: %s, %d calls in %.1f s" % (
            self.device,
            "ok" if self.ok else "%d ops differ" % len(self.failures),
            self.calls,
            self.seconds,
        )
        if self.on_the_cpu:
            head += ", %d ops run on the CPU" % len(self.on_the_cpu)
        if self.not_reached:
            head += ", %d ops not reached" % len(self.not_reached)
        return "\n".join([head, *("  %s %s: largest difference %.3g  %s" % f for f in self.failures)])


def _each(x: Any, f: Any) -> Any:
    if isinstance(x, torch.Tensor):
        return f(x)
    if isinstance(x, dict):
        return {k: _each(v, f) for k, v in x.items()}
    return type(x)(_each(v, f) for v in x) if type(x) in (list, tuple) else x


def _flat(x: Any) -> Any:
    if isinstance(x, torch.Tensor):
        return [x]
    if isinstance(x, (list, tuple)):
        return [t for v in x for t in _flat(v)]
    return []


def _wide(t: Tensor) -> Any:
    if t.is_complex():
        return t.to(torch.complex128)
    if t.is_floating_point():
        return t.double()
    return t


def _body(spec: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the op means: its declaration's Python body on these arguments."""
    for ov in spec.overloads:
        params = _schema.parse(ov.schema)
        if len(args) <= len(params) and kwargs.keys() <= {p.name for p in params}:
            values = [*args, *(kwargs.get(p.name, p.default) for p in params[len(args) :])]
            if NotImplemented not in [v for v in values if not isinstance(v, torch.Tensor)]:
                return spec.body(
                    *(
                        (v,) * (p.size or 1) if p.type == "int[]" and isinstance(v, int) else v
                        for p, v in zip(params, values)
                    )
                )
    raise TypeError("no overload takes the sample")


def _distance(got: Any, want: Any, rtol: Any, atol: Any) -> Any:
    """(largest difference, whether it is too large) of two results."""
    got, want = _flat(got), _flat(want)
    worst, bad = 0.0, len(got) != len(want)
    for a, b in zip(got, want):
        if a.shape != b.shape or a.dtype is not b.dtype:
            return float("inf"), True
        for x, y in zip(a.detach().cpu().reshape(-1).tolist(), b.detach().reshape(-1).tolist()):
            if x != y and (x == x or y == y):
                d = abs(x - y)
                d = d if d == d else float("inf")
                worst = max(worst, d)
                bad = bad or not d <= atol + rtol * abs(y)
    return worst, bad


def _run(spec: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    if spec.function:
        fn = ops.namespace(spec.namespace)[spec.name.removeprefix(spec.namespace + "_" if spec.namespace else "")]
    else:
        fn = ops.methods()[spec.name]
    return fn(
        *(
            a.clone() if not i and spec.name.endswith("_") and isinstance(a, torch.Tensor) else a
            for i, a in enumerate(args)
        ),
        **kwargs,
    )


def self_test(device: Any = None, seconds: Any = 10) -> Any:
    """Runs the ops' samples on a device and compares:
    on the CPU each compiled kernel with the op's Python body (with its own float64 loop where it is a primitive),
    on webgpu with the CPU.

    Stops after `seconds`. The result says `ok`, and prints what differs, with op, dtype and largest difference."""
    start = time.monotonic()
    device = torch.device(torch.get_default_device() if device is None else device)
    there = device.type != "cpu"
    torch.empty(0, device=device)  # says why where the device cannot be used
    ops.load_all()
    report = SelfTest(device)
    specs = [
        s
        for s in ops.specs
        if s.samples and (there or s.kernel) and not s.name.startswith(_RANDOM) and s.name not in _UP_TO_SIGN
    ]
    random.Random(0).shuffle(specs)  # a short time still sees ops of all kinds
    fallbacks: dict[str, int] = {}
    if there:
        from ..webgpu.fallback import fallbacks
    with warnings.catch_warnings(), torch.no_grad(), torch.device("cpu"):
        warnings.simplefilter("ignore")
        for spec in specs:
            if time.monotonic() - start > seconds:
                report.not_reached.append(spec.name)
                continue
            for dtype in (torch.float32, torch.float64) if not there and spec.body else (torch.float32,):
                name = str(dtype)[6:]
                slack = 4 if there else 1  # both devices round
                rtol, atol = (spec.tol or {}).get(name, _TOLERANCES[name])
                worst, text = 0.0, ""
                for args in spec.samples(Make(dtype)):
                    args, kwargs = (args[:-1], args[-1]) if args and isinstance(args[-1], dict) else (args, {})
                    if there and any(
                        t.dtype in (torch.float64, torch.complex128) for t in _flat([*args, *kwargs.values()])
                    ):
                        continue
                    before = dict(fallbacks)
                    try:
                        if there:
                            want, got = (
                                _run(spec, args, kwargs),
                                _run(spec, *_each((args, kwargs), lambda t: t.to(device))),
                            )
                        elif spec.body:
                            want, got = _body(spec, args, kwargs), _run(spec, args, kwargs)
                        else:
                            got = _run(spec, args, kwargs)
                            want = [
                                w.to(g.dtype)
                                for w, g in zip(_flat(_run(spec, *_each((args, kwargs), _wide))), _flat(got))
                            ]
                        d, bad = _distance(got, want, rtol * slack, atol * slack)
                        worst = max(worst, d)
                        text = text or bad and "of a result of shape %s" % [list(t.shape) for t in _flat(want)] or ""
                    except Exception as error:
                        worst, text = float("inf"), "%s: %s" % (type(error).__name__, str(error)[:200])
                    report.calls += 1
                    if fallbacks != before:
                        report.on_the_cpu.add(spec.name)
                if text:
                    report.failures.append((spec.name, name, worst, text))
    report.seconds = time.monotonic() - start
    return report
