"""PyTorch's recorded answers with every tensor on webgpu:
changes how the fixtures' runner (run_conformance.py, which is used as it is) builds and judges tensors.
Works on the desktop (after remote.install()) and inside Pyodide."""

from __future__ import annotations

import json
import time
import types
from typing import Any, Iterator

DEVICE = "webgpu"
# WebGPU has no double; PyTorch's mps refuses it as well
NOT_THERE = {
    "float64",
    "complex128",
    "uint16",
    "uint32",
    "uint64",
    "complex32",
}


def fallbacks() -> dict[str, int]:
    """Ops that the CPU ran in the device's place, so far."""
    import sys

    fallback = sys.modules.get("torchlite.webgpu.fallback")
    return dict(getattr(fallback, "fallbacks", {}))


def dtypes_of(value: Any, tensors: list[Any]) -> Iterator[str]:
    """Dtypes of the tensors, and dtypes as such, in an encoded value of the fixtures."""
    if isinstance(value, list):
        for x in value:
            yield from dtypes_of(x, tensors)
    elif isinstance(value, dict):
        for k, x in value.items():
            if k == "t" and isinstance(x, int):
                yield tensors[x][0]
            elif k == "dt" and isinstance(x, str):
                yield x
            elif isinstance(x, (list, dict)):
                yield from dtypes_of(x, tensors)


class Zeros(types.ModuleType):
    """torchlite with `zeros` on the device: the runner makes out= tensors with it."""

    def __init__(self, torch: Any) -> None:
        super().__init__("torchlite")
        self.torch = torch

    def __getattr__(self, name: str) -> Any:
        return getattr(self.torch, name)

    def zeros(self, *args: Any, **kwargs: Any) -> Any:
        return self.torch.zeros(*args, **{"device": DEVICE, **kwargs})


def install(R: Any, seconds: float = 0, default: bool = True) -> None:
    """Changes the runner module R. After `seconds`, if given, no further op is begun.
    `default`: webgpu is the default device meanwhile, so that factory functions make their results there."""
    import torchlite as torch

    class Lib(R.Lib):  # type: ignore[misc, name-defined]
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            if not default:
                self.m = Zeros(torch)

        def flat(self, dtype: str, raw: bytes) -> Any:
            return super().flat(dtype, raw).to(DEVICE)

    class Decoder(R.Decoder):  # type: ignore[misc, name-defined]
        def __call__(self, v: Any) -> Any:
            if v == "cpu":  # a device argument
                return DEVICE
            return torch.device(DEVICE) if v == {"dev": "cpu"} else super().__call__(v)

    class Cmp(R.Cmp):  # type: ignore[misc, name-defined]
        on_device = True

        def tensor(self, meta: Any, got: Any, meta_only: bool = False) -> Any:
            if self.on_device and self.lib.is_tensor(got) and got.device.type != DEVICE:
                return "device: the result is on %s" % got.device
            return super().tensor(meta, got, meta_only)

    def counted(kind: Any) -> Any:
        class Run(kind):  # type: ignore[misc]
            def construct(self, s: Any, d: Any) -> Any:
                return super().construct(s, d).to(DEVICE)

            def cmp(self, s: Any, *args: Any) -> Any:
                c = super().cmp(s, *args)
                # a call that names neither a tensor nor a device, such as torch.mul(2.0, 3.0), gives a CPU tensor
                c.on_device = any(mark in json.dumps([s.get("a"), s.get("k")]) for mark in ('{"t":', '"cpu"'))
                return c

            def guard(self, check: str, i: int, s: Any, fn: Any) -> Any:
                """Counts by dtype what became of a sample: passed, refused (an error was raised), or a wrong answer."""
                outcome = "refused"

                def judged() -> Any:
                    nonlocal outcome
                    reason = fn()
                    outcome = "wrong" if reason else "passed"
                    return reason

                status = super().guard(check, i, s, judged)
                if check in ("fwd", "bwd"):
                    counts = self.outcomes.setdefault("%s %s" % (check, s.get("dt", "float32")), {})
                    counts[outcome] = counts.get(outcome, 0) + 1
                    if outcome == "wrong":
                        self.wrong.append("%s #%s %s" % (check, i, s.get("dt")))
                return status

            def run(self) -> Any:
                self.outcomes: dict[str, dict[str, int]] = {}
                self.wrong: list[str] = []
                samples = self.op["s"]
                able = [s for s in samples if not NOT_THERE & {s.get("dt"), *dtypes_of(s, self.op["tensors"])}]
                self.op["s"] = able
                before = fallbacks()
                if default:
                    torch.set_default_device(DEVICE)
                try:
                    result = super().run()
                finally:
                    torch.set_default_device("cpu")
                result["fallbacks"] = {k: n - before.get(k, 0) for k, n in fallbacks().items() if n > before.get(k, 0)}
                result["outcomes"], result["wrong"] = self.outcomes, self.wrong
                result["not_on_device"] = len(samples) - len(able)
                return result

        return Run

    R.Lib, R.Cmp, R.Decoder = Lib, Cmp, Decoder
    R.KINDS = {name: counted(kind) for name, kind in R.KINDS.items()}
    every, end = R.iter_fixtures, time.monotonic() + seconds

    def in_time(*args: Any) -> Iterator[Any]:
        for item in every(*args):
            if seconds and time.monotonic() > end:
                R.out_of_time = True
                return
            yield item

    R.out_of_time = False
    R.iter_fixtures = in_time


def run(R: Any, fixtures: str, seconds: float = 0, default: bool = True, **options: Any) -> dict[str, Any]:
    """R.run on the device. Its result has "done": whether the time was enough, and "device"."""
    import torchlite as torch

    install(R, seconds, default)
    result = R.run("torchlite", fixtures, tiers={"public"}, **options)
    result["done"] = not R.out_of_time
    result["device"] = torch.webgpu.get_device_name()
    return result  # type: ignore[no-any-return]
