"""Allocates, frees and computes on webgpu with ever changing shapes for many steps: memory must stay within the pool's budget.

    python tests/pyodide/run_node.py --webgpu --script tests/bench/soak_gpu.py [STEPS]

Prints a line at each tenth: bytes in tensors, bytes that the pool holds, slots, tracked objects. Ends with status 1 where slots or
objects grew (by more than the bounded caches of geometries hold), or the pool went over its budget.
"""

import gc
import random
import sys
import time

import torchlite as torch
from torchlite.webgpu import _bridge

CACHES = 20_000          # objects
BUDGET = 64 << 20        # bytes of the pool


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    rng = random.Random(0)
    held = []

    def churn(n):
        for _ in range(n):
            x = torch.zeros(rng.randrange(1, 65), rng.randrange(1, 257), device="webgpu")
            y = (x + 1).relu()
            x += y
            if rng.random() < 0.1:
                held.append(y @ x.t() if rng.random() < 0.5 else x[:, ::2].sum())
            if len(held) > 20:
                held.pop(rng.randrange(len(held)))
            if rng.random() < 0.002:
                assert y[0, 0].item() == 1

    rows = []
    start = time.monotonic()

    def note(done):
        del held[:]
        gc.collect()
        torch.webgpu.synchronize()
        s = _bridge.current.stats()
        rows.append((s["slots"], len(gc.get_objects()), s["reserved_peak"]))
        print("%7d steps  %6.1f s  in tensors %.2f MB  pool %.1f MB (peak %.1f)  slots %d  objects %d  buffers made %d, reused %d" % (
            done, time.monotonic() - start, s["allocated"] / 2**20, s["reserved"] / 2**20, s["reserved_peak"] / 2**20, s["slots"], rows[-1][1],
            s["created"], s["reused"]), flush=True)

    torch.webgpu.set_memory_budget(BUDGET)
    churn(1000)
    note(0)
    for tenth in range(10):
        churn(steps // 10)
        note(steps // 10 * (tenth + 1))
    first, last = rows[0], rows[-1]
    bad = last[0] > first[0] or last[1] - first[1] > CACHES or last[2] > BUDGET
    print("GREW" if bad else "steady: slots %+d, objects %+d" % (last[0] - first[0], last[1] - first[1]))
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
