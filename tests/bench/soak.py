"""Trains a small network for many steps and prints how memory develops: it must stay where it was after warm-up.

    python tests/bench/soak.py [STEPS]                                        this Python
    python tests/pyodide/run_node.py --script tests/bench/soak.py [STEPS]     Pyodide on node

Prints a line at each tenth: steps, bytes in storages, tracked objects, resident memory of the process or size of the WASM
heap. Ends with status 1 where storages or objects grew, or the process by more than 2 MB.
"""

import gc
import sys
import time

import torchlite as torch
from torchlite import _C

GROWTH = 2 << 20


def process_bytes():
    """Resident memory; in WASM the heap, which never shrinks."""
    if sys.platform == "emscripten":
        import pyodide_js

        return pyodide_js._module.HEAPU8.length
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * 4096


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
    optimizer = torch.optim.Adam(model.parameters())
    data, target = torch.randn(8, 16), torch.randint(0, 4, (8,))

    def train(n):
        for _ in range(n):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(data), target)
            loss.backward()
            optimizer.step()
        return loss.item()

    train(1000)                                     # warm-up
    rows = []
    start = time.monotonic()

    def note(done, loss):
        gc.collect()
        rows.append((_C.memory_stats()[0], len(gc.get_objects()), process_bytes()))
        print("%7d steps  %6.1f s  loss %.2e  storages %d B  objects %d  process %.2f MB"
              % (done, time.monotonic() - start, loss, rows[-1][0], rows[-1][1], rows[-1][2] / 2**20), flush=True)

    note(0, train(1))
    for tenth in range(10):
        note(steps // 10 * (tenth + 1), train(steps // 10))
    first, last = rows[0], rows[-1]
    bad = last[0] != first[0] or abs(last[1] - first[1]) > 100 or last[2] - first[2] > GROWTH
    print("GREW" if bad else "steady: storages %+d B, objects %+d, process %+.2f MB"
          % (last[0] - first[0], last[1] - first[1], (last[2] - first[2]) / 2**20))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
