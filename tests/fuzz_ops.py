"""Feeds every declared op arguments that fit badly: wrong types, awkward tensors, huge and negative numbers.

    python tests/fuzz_ops.py [--seed N] [--calls N] [--only REGEX] [--seconds S] [--verbose]

An op may answer or raise one of PyTorch's kinds of exception; anything else is a finding. Each batch of ops runs in a
process of its own, so that a crash is one more finding, with the call that made it.
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

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

INTS = [-(2**63), -(2**31), -3, -2, -1, 0, 1, 2, 3, 5, 7, 64, 65, 2**31, 2**32 + 1, 2**62, 2**63 - 1, 2**63, 10**30]
FLOATS = [0.0, -0.0, 0.5, -1.5, 1e-40, 1e38, 1e300, float("nan"), float("inf"), -float("inf")]
STRINGS = ["", "mean", "sum", "none", "floor", "trunc", "reflect", "replicate", "circular", "constant", "linear", "nearest",
           "left", "right", "fro", "nuc", "ij", "ij,jk->ik", "max", "amin", "prod", "tanh", "\0", "x" * 300, "reduced", "complete", "gelsd"]
# OSError: torch.from_file; BufferError: a view of memory that went away
ALLOWED = (TypeError, ValueError, IndexError, RuntimeError, OverflowError, NotImplementedError, AssertionError, OSError)
SECONDS = 10            # one call may take this long (under sanitizers too)


class TooSlow(BaseException):
    pass


class Odd:
    """Lies about everything."""

    def __index__(self):
        raise ZeroDivisionError("index")

    def __float__(self):
        raise ZeroDivisionError("float")

    def __len__(self):
        return 10**9

    def __getitem__(self, i):
        raise ZeroDivisionError("getitem")


class Feeder:
    """Random arguments for a parameter."""

    def __init__(self, torch, rng):
        self.torch, self.rng = torch, rng
        self.dtypes = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16,
                       torch.float32, torch.float64, torch.complex64, torch.complex128]

        class Sub(torch.Tensor):
            pass

        self.Sub = Sub

    def tensor(self):
        torch, rng = self.torch, self.rng
        dtype = rng.choice(self.dtypes) if rng.random() < 0.4 else rng.choice([torch.float32, torch.float32, torch.int64])
        shape = [rng.choice([0, 1, 2, 2, 3, 4]) if rng.random() < 0.3 else rng.choice([1, 2, 3, 4]) for _ in range(rng.choice([0, 1, 1, 2, 2, 2, 3, 3, 4, 5, 7]))]
        if rng.random() < 0.3:
            shape = [3] * len(shape)
        n = 1
        for s in shape:
            n *= s
        if dtype.is_floating_point or dtype.is_complex:
            pool = [0.0, 1.0, -1.0, 0.5, 2.0, 3.7, -2.25] + (FLOATS if rng.random() < 0.2 else [])
        else:
            pool = [0, 1, 2, 1, 3] + ([-1, 100, -128] if rng.random() < 0.3 else [])
            if not dtype.is_signed:
                pool = [abs(v) for v in pool]
            if dtype is torch.int64 and rng.random() < 0.2:
                pool += [2**63 - 1, -(2**63), 2**31]
        t = torch.tensor([rng.choice(pool) for _ in range(n)], dtype=dtype).reshape(shape)
        how = rng.random()
        if how < 0.1 and t.dim():
            t = t.transpose(rng.randrange(t.dim()), rng.randrange(t.dim()))
        elif how < 0.2 and t.dim():
            d = rng.randrange(t.dim())
            t = t.narrow(d, min(1, t.size(d)), max(0, t.size(d) - 1))
        elif how < 0.27:
            t = t.unsqueeze(0).expand(2, *t.shape)
        elif how < 0.33 and t.dim():
            t = t[..., ::2]
        elif how < 0.36:
            t = t.as_subclass(self.Sub)
        elif how < 0.38:
            t = torch.nn.Parameter(t.float())
        elif how < 0.40 and t.numel():
            raw = bytearray(1 + t.numel() * t.element_size())
            t = torch.frombuffer(raw, dtype=dtype, count=t.numel(), offset=1).reshape(shape)
        elif how < 0.41:
            t = t.reshape([1] * (64 - t.dim()) + list(t.shape))
        if rng.random() < 0.15 and (t.dtype.is_floating_point or t.dtype.is_complex) and t.is_leaf:
            t = t.requires_grad_()
            if rng.random() < 0.5:
                t = t.clone()
        return t

    def int(self):
        return self.rng.choice([-1, 0, 1, 2, 3]) if self.rng.random() < 0.7 else self.rng.choice(INTS)

    def junk(self):
        rng = self.rng
        return rng.choice([None, True, 3, -1, 2**70, 1.5, float("nan"), 1j, "sum", "", b"x", (), [], [1, 2], (1.5, "x"), [None], {}, {1: 2}, object(), Odd(),
                           int, float, slice(None), Ellipsis, self.torch.float32, self.torch.device("cpu"), self.torch.device("meta"), "cuda", range(3), [[1, 2], [3]],
                           self.tensor, lambda: 0, memoryview(b"abc"), self.tensor(), [self.tensor(), None], type("T", (int,), {})(2)])

    def value(self, p):
        rng, torch = self.rng, self.torch
        if rng.random() < 0.06:
            return self.junk()
        if p.nullable and rng.random() < 0.3:
            return None
        kind = p.type
        if kind == "Tensor":
            return self.tensor() if rng.random() < 0.95 else rng.choice([2, 1.5, True])
        if kind in ("Tensor[]", "Tensor?[]"):
            if rng.random() < 0.4:
                t = self.tensor()
                return [t] * rng.randrange(4)
            return [None if kind == "Tensor?[]" and rng.random() < 0.3 else self.tensor() for _ in range(rng.randrange(4))]
        if kind == "Scalar":
            return rng.choice([self.int, lambda: rng.choice(FLOATS), lambda: True, lambda: 1 + 2j, lambda: torch.tensor(2.0)])()
        if kind == "int":
            return self.int() if rng.random() < 0.97 else torch.tensor(1)
        if kind == "int[]":
            n = p.size if p.size and rng.random() < 0.6 else rng.choice([0, 1, 1, 2, 2, 3, 4, 65])
            one = self.int()
            return one if rng.random() < 0.15 else [self.int() for _ in range(n)] if rng.random() < 0.7 else [one] * n
        if kind == "float":
            return rng.choice(FLOATS) if rng.random() < 0.5 else rng.random()
        if kind == "bool":
            return rng.random() < 0.5
        if kind == "str":
            return rng.choice(STRINGS)
        if kind == "ScalarType":
            return rng.choice([*self.dtypes, float, int, bool])
        if kind == "Device":
            return rng.choice(["cpu", "meta", "cuda", "", 0, torch.device("cpu")])
        if kind in ("float[]", "Scalar[]"):
            return [rng.choice(FLOATS) for _ in range(rng.randrange(4))]
        if kind == "bool[]":
            return [rng.random() < 0.5 for _ in range(rng.randrange(4))]
        return p.default if p.default is not NotImplemented else None

    def call(self, params):
        rng = self.rng
        args, kwargs, positional = [], {}, True
        for p in params:
            if p.default is not NotImplemented and rng.random() < 0.5:
                positional = False
                continue
            v = self.value(p)
            if p.kwonly or not positional or rng.random() < 0.1:
                positional = False
                kwargs[p.name] = v
            else:
                args.append(v)
        if rng.random() < 0.02:
            args.append(self.junk())
        if rng.random() < 0.02:
            kwargs["nonsense"] = 1
        return args, kwargs


def show(x, depth=0):
    """A call that can be typed in again, nearly."""
    if hasattr(x, "storage_offset"):
        flags = ", requires_grad" if x.requires_grad else ""
        values = x.detach().reshape(-1).tolist() if x.numel() <= 12 else "..."
        return "T(%s, %s, stride=%s, %s%s, %s)" % (list(x.shape), str(x.dtype)[6:], list(x.stride()), values, flags, type(x).__name__)
    if isinstance(x, (list, tuple)) and depth < 3:
        return "[" + ", ".join(show(v, depth + 1) for v in x) + "]"
    return repr(x)[:200]


def targets(torch, only):
    from torchlite.ops import _schema, methods, namespace, specs

    for spec in specs:
        if spec.namespace == "_hidden":         # building blocks behind checked functions, in no public place
            continue
        short = spec.name.removeprefix(spec.namespace + "_" if spec.namespace else "")
        for schema in spec.schemas:
            if only and not re.search(only, schema):
                continue
            params = _schema.parse(schema)
            forms = []
            fn = namespace(spec.namespace).get(short) if spec.function else methods().get(short)
            if fn is not None:
                forms.append(("", fn))
            inplace = methods().get(short + "_") if spec.inplace else None
            if inplace is not None:
                forms.append(("_", inplace))
            yield schema, params, forms, spec


def sweep(result):
    """Looks at what came back: its memory must be there."""
    if hasattr(result, "storage_offset"):
        if 0 < result.numel() <= 100000:
            result.detach().tolist()
    elif isinstance(result, (list, tuple)):
        for r in result:
            sweep(r)


def fuzz(only, seed, calls, log, first=0, seconds=0.0):
    """In the child: yields findings; `log` is rewritten with each call before it is made."""
    import torchlite as torch

    warnings.simplefilter("ignore")

    def slow(*_):
        raise TooSlow

    signal.signal(signal.SIGALRM, slow)
    found = []
    end = time.monotonic() + seconds if seconds else None
    done = 0
    for n, (schema, params, forms, spec) in enumerate(targets(torch, only)):
        if n < first:
            continue
        if end and time.monotonic() > end:
            break
        rng = random.Random("%s %s" % (seed, schema))
        feeder = Feeder(torch, rng)
        for _ in range(calls):
            mark, fn = rng.choice(forms) if forms else ("", None)
            if fn is None:
                break
            args, kwargs = feeder.call(params)
            if spec.out and not mark and rng.random() < 0.15:
                kwargs["out"] = feeder.tensor() if rng.random() < 0.9 else feeder.junk()
            os.lseek(log, 0, 0)
            os.ftruncate(log, 0)
            os.write(log, ("%d %d\n%s%s: %s %s" % (n, done, schema, mark, show(args), {k: show(v) for k, v in kwargs.items()})).encode(errors="replace"))
            done += 1
            try:
                faulthandler.dump_traceback_later(3 * SECONDS, exit=True)      # for calls that do not look at signals
                signal.alarm(SECONDS)
                result = fn(*args, **kwargs)
                signal.alarm(0)
                sweep(result)
                if hasattr(result, "requires_grad") and result.requires_grad and rng.random() < 0.5 and result.numel():
                    signal.alarm(SECONDS)
                    result.sum().abs().backward()
                    signal.alarm(0)
            except TooSlow:
                found.append("slower than %d s: " % SECONDS + os.pread(log, 3000, 0).decode(errors="replace"))
            except ZeroDivisionError as e:
                if str(e) not in ("index", "float", "getitem"):        # Odd's own
                    found.append("%s: %s: " % (type(e).__name__, e) + os.pread(log, 3000, 0).decode(errors="replace"))
            except ALLOWED as e:
                if isinstance(e, RecursionError) or "INTERNAL" in str(e):
                    found.append("%s: %s: " % (type(e).__name__, e) + os.pread(log, 3000, 0).decode(errors="replace"))
                elif isinstance(e, AssertionError) and "CUDA" not in str(e) and not str(e):
                    found.append("AssertionError without a text: " + os.pread(log, 3000, 0).decode(errors="replace"))
            except BaseException as e:
                signal.alarm(0)
                import traceback
                where = traceback.extract_tb(e.__traceback__)[-1]
                found.append("%s: %s (%s:%s): " % (type(e).__name__, e, os.path.basename(where.filename), where.lineno) + os.pread(log, 3000, 0).decode(errors="replace"))
            finally:
                signal.alarm(0)
    return found, done


def child(argv):
    options = json.loads(argv)
    if "libasan" not in os.environ.get("LD_PRELOAD", ""):
        resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
    log = os.open(options.pop("log"), os.O_RDWR)
    found, done = fuzz(log=log, **options)
    print("RESULT " + json.dumps([found, done]))


class Findings(list):
    """Printed as they come."""

    def __init__(self):
        list.__init__(self)
        self.seen = set()

    def append(self, text):
        head, _, call = text.partition("\n")
        key = (head.partition(":")[0] if call else head, call.partition("(")[0])       # one of a kind for each op
        if key not in self.seen:
            self.seen.add(key)
            print(text, flush=True)
            list.append(self, text)

    def extend(self, texts):
        for text in texts:
            self.append(text)


def run(only=None, seed=0, calls=30, seconds=0.0):
    """Runs all; returns (findings, number of calls)."""
    first, total = 0, 0
    findings = Findings()
    with tempfile.TemporaryDirectory() as tmp:
        log = pathlib.Path(tmp, "call")
        end = time.monotonic() + seconds if seconds else None
        while True:
            log.write_text("")
            options = {"only": only, "seed": seed, "calls": calls, "log": str(log), "first": first}
            if end:
                options["seconds"] = max(1.0, end - time.monotonic())
            done = subprocess.run([sys.executable, __file__, "--child", json.dumps(options)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True, errors="replace", check=False)
            reports = re.findall(r"^.*runtime error: .*$", done.stderr, re.M)
            findings.extend(sorted(set(reports)))
            line = next((x for x in done.stdout.splitlines() if x.startswith("RESULT ")), None)
            if line is not None:
                found, n = json.loads(line[7:])
                findings.extend(found)
                return findings, total + n
            at, _, call = log.read_text(errors="replace").partition("\n")
            lines = done.stderr.splitlines()
            start = next((i for i, x in enumerate(lines) if "ERROR: AddressSanitizer" in x or "Fatal Python error" in x or "Timeout" in x), max(0, len(lines) - 8))
            tail = lines[start:start + 9]
            findings.append("died with status %s at %s\n    %s" % (done.returncode, call[:3000], "\n    ".join(tail)))
            at, _, made = at.partition(" ")
            total += int(made or 0)
            if not at or len(findings) > 300:
                return findings, total
            first = int(at) + 1


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--calls", type=int, default=30)
    p.add_argument("--only")
    p.add_argument("--seconds", type=float, default=0.0)
    p.add_argument("--child")
    a = p.parse_args()
    if a.child:
        child(a.child)
        return 0
    findings, total = run(a.only, a.seed, a.calls, a.seconds)
    print("%d calls, %d findings" % (total, len(findings)))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
