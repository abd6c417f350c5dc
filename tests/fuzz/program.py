"""Runs a program, a list of lines of Python, in one library, and says what can be seen of it afterwards."""

from __future__ import annotations

import contextlib
import math
import random
import re
import signal
import threading
import warnings
from typing import Any

HEAD = """\
import random, sys
torch = __import__(sys.argv[1] if len(sys.argv) > 1 else "torchlite")
F = torch.nn.functional

def fill(seed, *shape, dtype="float64", lo=-2, hi=2):
    rng, dtype, n = random.Random(seed), getattr(torch, dtype), 1
    for s in shape:
        n *= s
    def one():
        if not (dtype.is_floating_point or dtype.is_complex):
            return rng.randint(int(lo), int(hi))
        return round(rng.uniform(lo, hi), 2)
    def value():
        if dtype.is_complex:
            return complex(one(), one())
        return rng.random() < 0.5 if dtype == torch.bool else one()
    values = [value() for _ in range(n)]
    return torch.tensor(values, dtype=dtype).reshape(shape).clone()

"""

EPS = {
    "float64": 2.0**-50,
    "complex128": 2.0**-50,
    "float32": 2.0**-22,
    "complex64": 2.0**-22,
    "complex32": 2.0**-10,
    "float16": 2.0**-10,
    "bfloat16": 2.0**-7,
}
SECONDS = {
    "cpu": 5,
    "webgpu": 120,
}  # a line may take this long; on a software GPU, compiling its kernels may take many seconds


class TooSlow(BaseException):
    pass


def script(lines: list[str]) -> str:
    """The program as a file that runs: `python file.py torch`, `python file.py torchlite`."""
    shown = "\n".join(lines)
    return f"{HEAD}{shown}\n"


def maker(torch: Any, device: str = "cpu", jitter: int = 0, coarse: float = 0.0, own: bool = False) -> Any:
    """`fill` of a library; with jitter, inputs are moved by a rounding error (each number of jitter by another one),
    by that of their dtype, `coarse` at the least.
    `own`: an input is no view, as what was moved to another device is none."""

    def fill(seed: int, *shape: int, dtype: str = "float64", lo: float = -2, hi: float = 2) -> Any:
        rng, kind, n = random.Random(seed), getattr(torch, dtype), 1
        for s in shape:
            n *= s
        wobble = random.Random(f"{seed} {jitter}")
        eps = 4 * max(EPS[dtype], coarse) if jitter and dtype in EPS else 0

        def one() -> float:
            if not (kind.is_floating_point or kind.is_complex):
                return rng.randint(int(lo), int(hi))
            v = round(rng.uniform(lo, hi), 2)
            return v * (1 + eps * wobble.uniform(-1, 1)) if eps else v

        def value() -> complex:
            if kind.is_complex:
                return complex(one(), one())
            return rng.random() < 0.5 if kind == torch.bool else one()

        values = [value() for _ in range(n)]
        made = (
            torch.tensor(values, dtype=kind).reshape(shape).clone()
        )  # no view: PyTorch forgets the leaf of views of one
        return made if own else made.to(device)

    return fill


def environment(
    torch: Any, device: str = "cpu", jitter: int = 0, coarse: float = 0.0, own: bool = False
) -> dict[str, Any]:
    env = {"torch": torch, "F": torch.nn.functional, "fill": maker(torch, device, jitter, coarse, own)}
    env["DEVICE"] = device
    return env


FIELDS = ("dtype", "shape", "stride", "graph", "version", "device")


def traits(t: Any, started: int = 0) -> tuple[Any, ...]:
    """What a tensor says of itself without its numbers, in the order of FIELDS.
    Versions count from when the variable appeared:
    how often an op writes to its own new result is nobody's business."""
    try:
        graph = f"requires_grad={t.requires_grad}, is_leaf={t.is_leaf}, grad_fn={t.grad_fn is not None}"
    except RuntimeError:  # a view of several, whose base was changed
        graph = "RuntimeError"
    return (str(t.dtype), tuple(t.shape), tuple(t.stride()), graph, t._version - started, t.device.type)


def numbers(t: Any) -> Any:
    """The elements in order; the error where they cannot be read."""
    try:
        t = t.detach().cpu()
        if hasattr(t, "_is_zerotensor") and t._is_zerotensor():  # PyTorch's zeros without memory
            t = t.clone()
        return t.resolve_conj().resolve_neg().reshape(-1).tolist()
    except Exception as e:
        return f"{type(e).__name__}: {e}"


# ops that add many numbers up: what should be whole or 0 there may miss it by a rounding error of the largest number
SUMS = re.compile(
    r"fft|conv|mm|bmm|matmul|@|einsum|kron|linalg|interpolate|dot|inner|outer|bilinear|linear|mean|sum|var|std|norm|"
    r"cov|cor|trapez|cross|loss|cdist|dist|softmax|attention|interp|inverse|solve|det|cumprod|autograd\.grad|upsample|"
    r"grid"
)


def memory(t: Any) -> int | None:
    """The address of a tensor's memory; None where it has none, as PyTorch's gradients of zeros."""
    return None if hasattr(t, "_is_zerotensor") and t._is_zerotensor() else t.untyped_storage().data_ptr()


def shake(
    torch: Any, line: str, env: dict[str, Any], before: dict[str, tuple[Any, int, Any]], seed: str, coarse: float
) -> None:
    """Moves what a line computed by a rounding error of its numbers, at random or (seed "even") to a grid,
    where equal ones meet. What only moves numbers about, or is whole, has none."""
    done, known = set(), None
    for name, t in env.items():
        if not isinstance(t, torch.Tensor) or not (t.is_floating_point() or t.is_complex()) or not t.numel():
            continue
        if name in before and before[name][0] is t and before[name][1] == t._version:
            continue
        place = memory(t)
        if (
            place is None
            or place in done
            or t.is_conj()
            or t.is_neg()
            or any(n > 1 and s == 0 for n, s in zip(t.shape, t.stride()))
        ):
            continue
        done.add(place)
        if known is None:
            known = {x for _, _, values in before.values() if isinstance(values, list) for x in values}
        if known.issuperset(numbers(t)):
            continue
        generator = torch.Generator().manual_seed(random.Random(f"{seed} {name} {line}").randrange(2**31))
        data = t.data
        eps = 4 * max(EPS[str(t.dtype).removeprefix("torch.")], coarse)
        size = data.abs()
        parts = torch.view_as_real(data) if t.is_complex() else data
        if SUMS.search(line):
            # what was added up may be larger than the sum, where it cancels
            largest = max((abs(x) for x in known if abs(x) < math.inf), default=0.0)
            finite = size[size.isfinite()]
            size = finite.max().clamp(min=min(largest, 1.0)).expand(size.shape) if finite.numel() else size
        elif not t.is_complex():
            size = size * (data != data.round())
        size = (size.unsqueeze(-1) if t.is_complex() else size).to(torch.float64) * eps
        if seed.startswith("even"):
            grid = torch.exp2(size.log2().floor())
            noise = (parts / grid).round() * grid - parts
        else:
            noise = (torch.rand(parts.shape, dtype=torch.float64, generator=generator) * 2 - 1) * size
        parts.add_(noise.nan_to_num(0, 0, 0).to(parts.dtype))


# ops that give the place of one of several equal numbers; which one is not said
PICKS = re.compile(r"\b(kthvalue|median|nanmedian|mode|topk|sort|argsort)\(")


def other_picks(torch: Any, seed: int) -> Any:
    """A mode of PyTorch's under which PICKS choose by chance among equal numbers."""
    generator = torch.Generator().manual_seed(seed)

    class Picks(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            if not args or not PICKS.match(f"{func.__name__}(") or "out" in kwargs or args[0].is_complex():
                return func(*args, **kwargs)
            given = args[0]
            exact = not given.is_floating_point()
            near = given.to(torch.float64) if exact else given
            eps = 1e-9 if exact else 4 * EPS[str(given.dtype).removeprefix("torch.")]
            noise = torch.rand(near.shape, dtype=torch.float64, generator=generator) * eps
            near = near + (noise * (near.detach().abs() + 1)).nan_to_num(0, 0, 0).to(near.dtype)
            if func.__name__ in ("argsort", "kthvalue", "sort", "topk"):  # to these, NaN is the largest number
                near = near.where(~near.isnan(), (torch.finfo(near.dtype).max * (1 - noise)).to(near.dtype))
            found = func(near, *args[1:], **kwargs)
            if isinstance(found, torch.Tensor):
                return found
            if exact:
                return found[0].round().to(given.dtype), found[1]
            return found[0].where(found[0] < torch.finfo(near.dtype).max / 2, float("nan")), found[1]

    return Picks()


class Trace:
    """What a run showed: for each line the exception's type or "", and the traits of all variables;
    at the end the numbers too."""

    def __init__(self) -> None:
        self.errors: list[str] = []
        self.texts: list[str] = []
        self.traits: list[dict[str, Any]] = []
        self.values: dict[str, Any] = {}

    def leaf(self, name: str) -> bool:
        """A leaf that has a gradient, or could have one."""
        return bool(self.traits) and "requires_grad=True, is_leaf=True" in self.traits[-1].get(name, ("",) * 4)[3]


def _alarm(*_: Any) -> None:
    raise TooSlow


def execute(
    torch: Any,
    lines: list[str],
    device: str = "cpu",
    jitter: int = 0,
    look: bool = True,
    coarse: float = 0.0,
    own: bool = False,
    shaken: bool = False,
    copies: bool = False,
    picks: int = 0,
) -> Trace:
    """Runs the lines. jitter: with inputs that are moved by a rounding error; `shaken`: each line's result, too.
    copies: autograd keeps copies of what it saves, so that no later write makes a gradient an error.
    picks: ops choose otherwise among equal numbers."""
    trace = Trace()
    env = environment(torch, device, jitter, coarse, own)
    hidden = set(env) | {"__builtins__"}
    timed = hasattr(signal, "SIGALRM") and threading.current_thread() is threading.main_thread()
    old = signal.signal(signal.SIGALRM, _alarm) if timed else None
    enabled = torch.is_grad_enabled()
    started: dict[str, tuple[Any, int]] = {}
    try:
        with contextlib.ExitStack() as stack:
            stack.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore")
            if picks:
                stack.enter_context(other_picks(torch, picks))
            if copies:
                stack.enter_context(torch.autograd.graph.saved_tensors_hooks(torch.clone, lambda t: t))
            for number, line in enumerate(lines):
                error = text = ""
                before = {
                    k: (v, v._version, numbers(v)) for k, v in env.items() if shaken and isinstance(v, torch.Tensor)
                }
                try:
                    if timed:
                        signal.alarm(SECONDS[device])
                    exec(compile(line, "<program>", "exec"), env)
                except TooSlow:
                    if device != "cpu":
                        # in the middle of an exchange with the GPU's process: nothing it says later can be believed
                        raise
                    error = "TooSlow"
                except Exception as e:
                    error, text = type(e).__name__.lstrip("_"), str(e).partition("\n")[0]
                finally:
                    if timed:
                        signal.alarm(0)
                    torch.set_grad_enabled(enabled)
                if shaken and not error:
                    shake(torch, line, env, before, f"{jitter if jitter else 'even'} {number}", coarse)
                trace.errors.append(error)
                trace.texts.append(text)
                if look or number == len(lines) - 1:
                    now = {k: v for k, v in env.items() if isinstance(v, torch.Tensor)}
                    for k, v in now.items():
                        if k not in started or started[k][0] is not v:
                            started[k] = v, v._version
                    trace.traits.append({k: traits(v, started[k][1]) for k, v in now.items()})
            seen = {k: v for k, v in env.items() if k not in hidden}
            for k, v in seen.items():
                if isinstance(v, torch.Tensor):
                    trace.values[k] = numbers(v)
                    g = v.grad if trace.leaf(k) else None
                    if trace.leaf(k):
                        trace.values[k + ".grad"] = None if g is None else (traits(g)[:4], numbers(g))
                elif isinstance(v, (bool, int, float, complex, str, type(None))):
                    trace.values[k] = v
    finally:
        if timed:
            signal.signal(signal.SIGALRM, old)
    return trace
