"""Times the calls in a JSON file, made by declared.py, under whatever `torch` is. One thread.

    python tests/bench/declared_program.py CALLS.json [--torchlite]

Prints a line "name<TAB>microseconds" for each.
"""

import json
import sys
import time

if "--torchlite" in sys.argv:
    import torchlite

    torchlite.install_as_torch()
import torch

SECONDS = 0.03  # a call's time is the best of so many batches


def number(shape, low, high, dtype="float32"):
    """A tensor of a sample; the same numbers everywhere."""
    dtype = getattr(torch, dtype)
    if dtype.is_complex:
        return torch.complex(number(shape, low, high), number(shape, low, high)).to(dtype)
    return (torch.rand(shape) * (high - low) + low).to(dtype)


def best(call):
    call()
    start = time.perf_counter()
    call()
    took = time.perf_counter() - start
    n, out = max(1, int(SECONDS / 6 / max(took, 1e-7))), took
    for _ in range(6 if took < 0.2 else 1):
        start = time.perf_counter()
        for _ in range(n):
            call()
        out = min(out, (time.perf_counter() - start) / n)
    return out * 1e6


def prepared(entry, gradient):
    """The call of an entry, or the pass back through it; None where it has none."""
    torch.manual_seed(0)
    names = {"torch": torch, "T": number}
    for name, text in entry["tensors"]:
        names[name] = eval(text, names)
    inputs = [x for x in names.values() if isinstance(x, torch.Tensor) and x.dtype.is_floating_point]
    call = eval(f"lambda: {entry['call']}", names)
    if not gradient:
        return call
    for x in inputs:
        x.requires_grad_()
    results = call()
    results = [results] if isinstance(results, torch.Tensor) else list(results)
    results = [r for r in results if isinstance(r, torch.Tensor) and r.requires_grad]
    if not results or not inputs:
        return None
    ups = [torch.ones_like(r) for r in results]
    return lambda: torch.autograd.grad(results, inputs, ups, retain_graph=True, allow_unused=True)


def main():
    torch.set_num_threads(1)
    with open(sys.argv[1]) as f:
        entries = json.load(f)
    for entry in entries:
        for gradient in (False, True):
            name = entry["name"] + (", gradient" if gradient else "")
            try:
                with torch.set_grad_enabled(gradient):
                    call = prepared(entry, gradient)
                    took = best(call) if call else None
            except Exception as e:
                print(f"{name}: {type(e).__name__} {str(e)[:80]!r}", file=sys.stderr)
                continue
            if took is not None:
                print(f"{name}\t{took:.2f}", flush=True)


if __name__ == "__main__":
    main()
