"""Feeds every declared op arguments that fit badly: wrong types, awkward tensors, huge and negative numbers.

    python tests/fuzz_ops.py [--seed N] [--calls N] [--only REGEX] [--seconds S] [--sanitized]

Half of the calls are right ones with something changed:
a size, a dtype, strides, an index, a list's length, one tensor for two arguments, an index that changes a tensor when
it is read. They go in by the public names, by the core's own entrances (call_overload, kernels by name) and,
for what is no op, by the functions and fields of torchlite._C. An op may answer or raise one of PyTorch's kinds of
exception; anything else is a finding. Each batch of ops runs in a process of its own, so that a crash is one more
finding, with the call that made it.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import pathlib
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings

from fuzz_calls import feed, good, raw

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

# OSError: torch.from_file; BufferError: a view of memory that went away
ALLOWED = (
    TypeError,
    ValueError,
    IndexError,
    RuntimeError,
    OverflowError,
    NotImplementedError,
    AssertionError,
    OSError,
    MemoryError,
)
SECONDS = 10  # one call may take this long (under sanitizers too)


class TooSlow(BaseException):
    pass


def show(x, depth=0):
    """A call that can be typed in again, nearly."""
    if hasattr(x, "storage_offset"):
        flags = ", requires_grad" if x.requires_grad else ""
        values = x.detach().reshape(-1).tolist() if x.numel() <= 12 else "..."
        return "T(%s, %s, stride=%s, %s%s, %s)" % (
            list(x.shape),
            str(x.dtype)[6:],
            list(x.stride()),
            values,
            flags,
            type(x).__name__,
        )
    if isinstance(x, (list, tuple)) and depth < 3:
        return "[" + ", ".join(show(v, depth + 1) for v in x) + "]"
    return repr(x)[:200]


class OpTarget:
    """One overload: random calls and bent right ones, by its public places and by the core's entrances."""

    def __init__(self, torch, spec, ov):
        from torchlite.ops import _schema, methods, namespace

        self.torch, self.spec, self.ov, self.name = torch, spec, ov, ov.schema
        self.params = _schema.parse(ov.schema)
        short = spec.name.removeprefix(spec.namespace + "_" if spec.namespace else "")
        function = namespace(spec.namespace).get(short) if spec.function else methods().get(short)
        inplace = methods().get(short + "_") if spec.inplace else None
        self.forms = [f for f in (("", function), ("_", inplace)) if f[1] is not None]
        self.good, self.uses = [], 0
        self.results = ov.schema.rpartition(" -> ")[2].count("Tensor")

    def right(self, rng):
        """A call that fits, or None."""
        if self.uses % 12 == 0:
            torch = self.torch
            dtype = rng.choice(
                [
                    torch.float32,
                    torch.float32,
                    torch.float64,
                    torch.int64,
                    torch.complex64,
                    torch.float16,
                    torch.bfloat16,
                    torch.bool,
                ]
            )
            try:
                self.good = good.calls(torch, self.spec, dtype, rng.randrange(1000)) or self.good
            except ALLOWED:
                pass  # samples that this dtype cannot have
        self.uses += 1
        return rng.choice(self.good) if self.good else None

    def bound(self, args, kwargs):
        """The arguments in the order of the schema, as the core's entrances take them."""
        from torchlite import _C

        values = list(args)
        for p in self.params[len(args) :]:
            values.append(kwargs.get(p.name, None if p.default is NotImplemented else p.default))
        return _C, tuple(values)

    def call(self, feeder):
        rng = feeder.rng
        feeder.parts = self.name.endswith("[]")
        call = self.right(rng) if rng.random() < 0.75 else None
        if call is None:
            args, kwargs = feeder.call(self.params)
        elif rng.random() < 0.04:
            args, kwargs = call
        else:
            args, kwargs = feeder.wrong(*call)
        r = rng.random()
        if r < 0.1 or not self.forms:
            C, values = self.bound(args, kwargs)
            below, below_inplace = C.call_below_autograd, C.call_inplace_below_autograd
            entrance = rng.choice([C.call_overload, below, below, below_inplace])
            return "(%s)" % entrance.__name__, entrance, [self.ov, values], {}
        if r < 0.2 and self.ov.kernel is not None:
            C, values = self.bound(args, kwargs)
            if rng.random() < 0.1:
                values = values[:-1] if rng.random() < 0.5 else (*values, None)
            kwargs = {"out": rng.choice([None, feeder.tensor(), *values])} if rng.random() < 0.2 else {}
            return "(kernel)", C.kernels[self.ov.kernel], list(values), kwargs
        mark, fn = rng.choice(self.forms)
        if self.spec.out and not mark and rng.random() < 0.25:
            kwargs = {**kwargs, "out": feeder.out(args, self.results)}
        return mark, fn, args, kwargs


class KernelTarget:
    """A kernel that no declaration names."""

    def __init__(self, torch, name):
        self.torch, self.name = torch, "kernel " + name
        self.kernel, self.samples = __import__("torchlite._C", fromlist=["_C"]).kernels[name], good.KERNELS.get(name)

    def call(self, feeder):
        rng = feeder.rng
        args = [feeder.junk() for _ in range(rng.randrange(16))]
        if self.samples and rng.random() < 0.8:
            args, _ = feeder.wrong(rng.choice(self.samples(good.Maker(self.torch, rng.choice(feeder.dtypes)))), {})
        return "", self.kernel, args, {}


class RawTarget:
    def __init__(self, name, make):
        self.name, self.make = name, make

    def call(self, feeder):
        fn, args = self.make()
        return "", fn, args, {}


def targets(torch, only, feeder):
    from torchlite import _C
    from torchlite.ops import load_all, specs

    load_all()
    every = [OpTarget(torch, spec, ov) for spec in specs for ov in spec.overloads]
    named = {t.ov.kernel for t in every}
    every += [
        KernelTarget(torch, name)
        for name in sorted(_C.kernels)
        if name not in named and name != "set_default_generator"
    ]
    every += [RawTarget(*t) for t in raw.Raw(torch, feeder).targets()]
    random.Random(1).shuffle(every)  # a run that is stopped early has seen something of everything
    return [t for t in every if not only or re.search(only, t.name)]


def sweep(result):
    """Looks at what came back: its memory must be there."""
    if hasattr(result, "storage_offset"):
        if 0 < result.numel() <= 100000:
            result.detach().tolist()
    elif isinstance(result, (list, tuple)):
        for r in result:
            sweep(r)


def backwards(torch, rng, result):
    """Gradients of what came back, sometimes those of the gradients as well."""
    outs = [
        r
        for r in (result if isinstance(result, (list, tuple)) else [result])
        if hasattr(r, "storage_offset") and r.requires_grad and r.numel()
    ]
    if not outs:
        return
    loss = sum(r.sum().abs() for r in outs if r.numel() <= 100000)
    if not hasattr(loss, "backward"):
        return
    again = rng.random() < 0.3
    loss.backward(create_graph=again)
    if again:
        leaves = [n.variable for n in graph(loss.grad_fn) if hasattr(n, "variable")]
        grads = [v.grad for v in leaves if v.grad is not None and v.grad.requires_grad]
        if grads:
            sum(g.sum().abs() for g in grads).backward()
        for v in leaves:
            v.grad = None  # a ring: the gradient's graph holds its own leaf


def graph(node):
    """All nodes from this one on."""
    seen, waiting = set(), [node]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            yield node
            waiting += [n for n, _ in node.next_functions]


def fuzz(only, seed, calls, log, first=0, seconds=0.0):
    """In the child: (findings, calls, calls that answered); `log` is rewritten with each call before it is made."""
    import torchlite as torch

    warnings.simplefilter("ignore")

    def slow(*_):
        raise TooSlow

    signal.signal(signal.SIGALRM, slow)
    found = []
    end = time.monotonic() + seconds if seconds else None
    done = answers = 0
    rng = random.Random(seed)
    feeder = feed.Mutator(torch, rng)
    everything = targets(torch, only, feeder)

    def finding(text):
        found.append(text + ": " + os.pread(log, 3000, 0).decode(errors="replace"))

    for n, target in enumerate(everything):
        if n < first:
            continue
        if end and time.monotonic() > end:
            break
        rng.seed("%s %s" % (seed, target.name))
        for _ in range(calls):
            torch.set_grad_enabled(True)
            try:
                mark, fn, args, kwargs = target.call(feeder)
            except ALLOWED:
                continue  # arguments that this dtype cannot have
            text = "%d %d\n%s%s: %s %s" % (
                n,
                done,
                target.name,
                mark,
                show(args),
                {k: show(v) for k, v in kwargs.items()},
            )
            os.lseek(log, 0, 0)
            os.ftruncate(log, 0)
            os.write(log, text.encode(errors="replace"))
            done += 1
            try:
                faulthandler.dump_traceback_later(3 * SECONDS, exit=True)  # for calls that do not look at signals
                signal.alarm(SECONDS)
                result = fn(*args, **kwargs)
                answers += 1
                signal.alarm(SECONDS)
                sweep(result)
                sweep(args)
                if rng.random() < 0.5:
                    backwards(torch, rng, result)
                signal.alarm(0)
            except TooSlow:
                finding("slower than %d s" % SECONDS)
            except ZeroDivisionError as e:
                if str(e) not in ("index", "float", "getitem"):  # Odd's own
                    finding("%s: %s" % (type(e).__name__, e))
            except ALLOWED as e:
                if isinstance(e, RecursionError) or "INTERNAL" in str(e):
                    finding("%s: %s" % (type(e).__name__, e))
                elif isinstance(e, AssertionError) and "CUDA" not in str(e) and not str(e):
                    finding("AssertionError without a text")
            except (AttributeError, KeyError) as e:
                if (
                    not isinstance(target, RawTarget) and "(" not in mark
                ):  # the core's entrances pass on what bodies raise
                    finding("%s: %s" % (type(e).__name__, e))
            except BaseException as e:
                signal.alarm(0)
                import traceback

                where = traceback.extract_tb(e.__traceback__)[-1]
                if not isinstance(e, BufferError) or not isinstance(target, RawTarget):
                    finding("%s: %s (%s:%s)" % (type(e).__name__, e, os.path.basename(where.filename), where.lineno))
            finally:
                signal.alarm(0)
    faulthandler.cancel_dump_traceback_later()
    return found, done, answers


def child(argv):
    options = json.loads(argv)
    if "libasan" not in os.environ.get("LD_PRELOAD", ""):
        resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
    log = os.open(options.pop("log"), os.O_RDWR)
    print("RESULT " + json.dumps(fuzz(log=log, **options)))


class Findings(list):
    """Printed as they come."""

    def __init__(self):
        list.__init__(self)
        self.seen = set()

    def append(self, text):
        head, _, call = text.partition("\n")
        key = (head.partition(":")[0] if call else head, call.partition("(")[0])  # one of a kind for each op
        if key not in self.seen:
            self.seen.add(key)
            print(text, flush=True)
            list.append(self, text)

    def extend(self, texts):
        for text in texts:
            self.append(text)


def run(only=None, seed=0, calls=30, seconds=0.0):
    """Runs all; returns (findings, number of calls, number of answers)."""
    first, total, answered = 0, 0, 0
    findings = Findings()
    with tempfile.TemporaryDirectory() as tmp:
        log = pathlib.Path(tmp, "call")
        end = time.monotonic() + seconds if seconds else None
        while True:
            log.write_text("")
            options = {"only": only, "seed": seed, "calls": calls, "log": str(log), "first": first}
            if end:
                options["seconds"] = max(1.0, end - time.monotonic())
            done = subprocess.run(
                [sys.executable, __file__, "--child", json.dumps(options)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                check=False,
            )
            reports = re.findall(r"^.*runtime error: .*$", done.stderr, re.M)
            findings.extend(sorted(set(reports)))
            line = next((x for x in done.stdout.splitlines() if x.startswith("RESULT ")), None)
            if line is not None:
                found, n, answers = json.loads(line[7:])
                findings.extend(found)
                return findings, total + n, answered + answers
            at, _, call = log.read_text(errors="replace").partition("\n")
            lines = done.stderr.splitlines()
            start = next(
                (
                    i
                    for i, x in enumerate(lines)
                    if "ERROR: AddressSanitizer" in x or "Fatal Python error" in x or "Timeout" in x
                ),
                max(0, len(lines) - 8),
            )
            tail = lines[start : start + 9]
            findings.append("died with status %s at %s\n    %s" % (done.returncode, call[:3000], "\n    ".join(tail)))
            at, _, made = at.partition(" ")
            total += int(made or 0)
            if not at or len(findings) > 300:
                return findings, total, answered
            first = int(at) + 1


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--calls", type=int, default=30)
    p.add_argument("--only")
    p.add_argument("--seconds", type=float, default=0.0)
    p.add_argument(
        "--sanitized", action="store_true", help="on a core built with the address and undefined-behaviour sanitizers"
    )
    p.add_argument("--child", help=argparse.SUPPRESS)
    a = p.parse_args()
    if a.child:
        child(a.child)
        return 0
    if a.sanitized:
        import run as layers

        env = layers.sanitized()
        if not isinstance(env, dict):
            return env.failed
        argv = [x for x in sys.argv if x != "--sanitized"]
        os.execve(sys.executable, [sys.executable, *argv], {**os.environ, **env})
    findings, total, answered = run(a.only, a.seed, a.calls, a.seconds)
    print("%d calls, %d answered, %d findings" % (total, answered, len(findings)))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
