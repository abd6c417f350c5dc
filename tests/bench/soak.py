"""Trains, saves, loads, changes shapes and is interrupted for hours: numbers stay right, and nothing grows.

    # all places in turn: this Python, and Pyodide on node, each on cpu and webgpu
    python tests/bench/soak.py --seconds 3600
    # one of them
    python tests/bench/soak.py --only "host cpu" --seconds 60
    # the program itself in Pyodide
    python tests/pyodide/run_node.py --script tests/bench/soak.py --here cpu --seconds 60
    python tests/pyodide/run_node.py --webgpu --script tests/bench/soak.py --here webgpu --seconds 60

Prints a line at each tenth. Ends with status 1 where bytes in storages, tracked objects,
the process (the heap in WASM), slots and memory of the GPU, or references between Python and JavaScript grew,
or where a training that was interrupted and loaded again gave other numbers.
"""

from __future__ import annotations

import argparse
import gc
import io
import pathlib
import random
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WASM = sys.platform == "emscripten"
INTERRUPTS = 200
PROCESS = 8 << 20  # bytes: the C library keeps what others freed
OBJECTS = {"cpu": 100, "webgpu": 20_000}  # on webgpu bounded caches of geometries fill
BUDGET = 64 << 20  # bytes of the GPU's pool
PLACES = {
    "host cpu": [],
    "host webgpu": [],
    "node cpu": ["tests/pyodide/run_node.py", "--script"],
    "node webgpu": ["tests/pyodide/run_node.py", "--webgpu", "--script"],
}


def process_bytes():
    """Resident memory; in WASM the heap, which never shrinks."""
    if WASM:
        import pyodide_js

        return pyodide_js._module.HEAPU8.length
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * 4096


def js_references():
    """JavaScript objects that Python holds, and Python objects that JavaScript holds."""
    if not WASM:
        return 0, 0
    import pyodide_js

    return pyodide_js._module._hiwire_num_refs(), pyodide_js._module.pyproxy_alloc_map.size


class Interrupts:
    """KeyboardInterrupt in the middle of the library, a random time after arm(); not in WASM, which has no signals."""

    def __init__(self, home, rng):
        self.home, self.rng, self.armed, self.done = home, rng, False, 0
        if not WASM:
            signal.signal(signal.SIGALRM, self.strike)

    def arm(self, most):
        self.armed = True
        if not WASM:
            signal.setitimer(signal.ITIMER_REAL, self.rng.uniform(1e-5, most))

    def disarm(self):
        self.armed = False

    def strike(self, number, frame):
        if not self.armed:
            return
        if frame is not None and frame.f_code.co_filename.startswith(self.home):
            self.armed = False
            self.done += 1
            raise KeyboardInterrupt
        # this program's own lines, and those of the pipe to the GPU, are spared
        signal.setitimer(signal.ITIMER_REAL, 2e-5)


class Soak:
    def __init__(self, torch, device, rng):
        self.torch, self.device, self.rng = torch, device, rng
        torch.manual_seed(0)
        nn = torch.nn
        self.model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 4)).to(device)
        self.optimizer = torch.optim.Adam(self.model.parameters())
        self.data, self.target = torch.randn(8, 16).to(device), torch.randint(0, 4, (8,)).to(device)
        self.interrupts = Interrupts(str(pathlib.Path(torch.__file__).parent), rng)
        self.took, self.held, self.steps = 0.01, [], 0

    def train(self, n=3):
        losses = []
        for _ in range(n):
            self.optimizer.zero_grad()
            loss = self.torch.nn.functional.cross_entropy(self.model(self.data), self.target)
            loss.backward()
            self.optimizer.step()
            losses.append(loss.item())
            self.steps += 1
        return losses

    def save(self):
        file = io.BytesIO()
        self.torch.save((self.model.state_dict(), self.optimizer.state_dict(), self.torch.get_rng_state()), file)
        return file.getvalue()

    def load(self, data):
        model, optimizer, rng = self.torch.load(io.BytesIO(data), map_location=self.device)
        self.model.load_state_dict(model)
        self.optimizer.load_state_dict(optimizer)
        self.torch.set_rng_state(rng.cpu())

    def churn(self, n):
        torch, rng, held = self.torch, self.rng, self.held
        for _ in range(n):
            x = torch.zeros(rng.randrange(1, 65), rng.randrange(1, 257), device=self.device)
            y = (x + 1).relu()
            x += y
            if rng.random() < 0.1:
                held.append(y @ x.t() if rng.random() < 0.5 else x[:, ::2].sum())
            if len(held) > 20:
                held.pop(rng.randrange(len(held)))
            if rng.random() < 0.02:
                assert y[0, 0].item() == 1

    def round(self, interrupt):
        """Some steps; where it is interrupted, the same steps again from the file give the same numbers."""
        saved = self.save()
        start = time.monotonic()
        want = self.train()
        self.took = time.monotonic() - start
        if interrupt:
            self.load(saved)
            try:
                self.interrupts.arm(self.took)
                self.train()
                self.interrupts.disarm()
            except KeyboardInterrupt:
                pass
            assert self.torch.is_grad_enabled()
            self.load(saved)
            again = self.train()
            assert again == want, "interrupted, loaded and trained again: %s and not %s" % (again, want)
        self.churn(30)


def here(device, seconds):
    sys.path[:0] = [] if WASM else [str(ROOT), str(ROOT / "tests" / "webgpu")]
    import torchlite as torch
    from torchlite import _C

    gpu = None
    if device == "webgpu":
        if not WASM:
            import dawn
            import remote

            try:
                remote.install()
            except dawn.runtime.Missing as e:
                print("skipped:", e)
                return 0
        elif not torch.webgpu.is_available():
            print("skipped:", torch.webgpu.why_not())
            return 0
        from torchlite.webgpu.transport import bridge

        gpu = bridge.current
        torch.webgpu.set_memory_budget(BUDGET)
    soak = Soak(torch, device, random.Random(0))
    rows, start = [], time.monotonic()

    def note():
        del soak.held[:]
        gc.collect()
        s = {}
        if gpu is not None:
            torch.webgpu.synchronize()
            s = gpu.stats()
        rows.append(
            {
                "storages": _C.memory_stats()[0],
                "objects": len(gc.get_objects()),
                "process": process_bytes(),
                "slots": s.get("slots", 0),
                "on the GPU": s.get("allocated", 0),
                "pool's peak": s.get("reserved_peak", 0),
                **dict(zip(("JavaScript objects", "proxies"), js_references())),
            }
        )
        print(
            "%7.1f s  %7d steps  %3d interrupts  %s"
            % (
                time.monotonic() - start,
                soak.steps,
                soak.interrupts.done,
                "  ".join("%s %d" % x for x in rows[-1].items()),
            ),
            flush=True,
        )

    warm = min(30.0, seconds / 10)
    while time.monotonic() - start < warm or soak.steps < 300:
        soak.round(True)
    note()
    begin = time.monotonic()
    for tenth in range(1, 11):
        due = soak.interrupts.done + INTERRUPTS // 10
        while time.monotonic() - begin < (seconds - warm) * tenth / 10:
            soak.round(not WASM and soak.interrupts.done < due)
        note()
    first, last = rows[0], rows[-1]
    allowed = {
        "objects": OBJECTS[device],
        "process": PROCESS,
        "pool's peak": max(0, BUDGET - first["pool's peak"]),
        "JavaScript objects": 8,
        "proxies": 8,
    }
    grown = {k: last[k] - first[k] for k in first if last[k] - first[k] > allowed.get(k, 0)}
    print("GREW: %s" % grown if grown else "steady: " + ", ".join("%s %+d" % (k, last[k] - first[k]) for k in first))
    return int(bool(grown))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--seconds", type=float, default=3600)
    p.add_argument("--here", choices=["cpu", "webgpu"], help="in this process")
    p.add_argument("--only", choices=PLACES)
    a = p.parse_args()
    if a.here:
        return here(a.here, a.seconds)
    places, bad = [a.only] if a.only else list(PLACES), 0
    for place in places:
        print("---- %s" % place, flush=True)
        cmd = [
            sys.executable,
            *PLACES[place],
            "tests/bench/soak.py",
            "--here",
            place.split()[1],
            "--seconds",
            str(a.seconds / len(places)),
        ]
        bad |= subprocess.run(cmd, cwd=ROOT, check=False).returncode
    return int(bad != 0)


if __name__ == "__main__":
    sys.exit(main())
