"""Peak memory of training steps beside real PyTorch's: a perceptron, a CNN, a GPT and an LSTM.

    python tests/bench/memory.py            # both, each network in its own process, one thread
    python tests/bench/memory.py --heap     # and the heap of Pyodide on node, which never shrinks

What counts is resident memory (on Linux) at its highest during the third to fifth step, less what was resident before
the network was made. A small network of the same kind trains before, so code and constants count for neither.
"""

from __future__ import annotations

import argparse
import importlib
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WASM = sys.platform == "emscripten"


def perceptron(torch, small):
    width, batch = (32, 4) if small else (2048, 512)
    sizes = [width] * 5
    layers = [m for a, b in zip(sizes, sizes[1:]) for m in (torch.nn.Linear(a, b), torch.nn.ReLU())]
    return torch.nn.Sequential(*layers, torch.nn.Linear(width, 10)), torch.randn(batch, width)


def cnn(torch, small):
    nn = torch.nn
    c, size, batch = (8, 16, 2) if small else (64, 64, 32)
    block = lambda a, b: (nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(), nn.MaxPool2d(2))
    head = (nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4 * c, 10))
    return nn.Sequential(*block(3, c), *block(c, 2 * c), *block(2 * c, 4 * c), *head), torch.randn(batch, 3, size, size)


def gpt(torch, small):
    nn = torch.nn
    width, depth, length, batch, words = (16, 1, 8, 2, 40) if small else (256, 4, 128, 16, 4096)

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(words, width)
            self.place = nn.Parameter(torch.zeros(length, width))
            make = lambda: nn.TransformerEncoderLayer(width, 4, 4 * width, 0.0, batch_first=True, norm_first=True)
            self.blocks = nn.ModuleList(make() for _ in range(depth))
            self.head = nn.Linear(width, 10)
            self.mask = nn.Transformer.generate_square_subsequent_mask(length)

        def forward(self, ids):
            x = self.embed(ids) + self.place
            for block in self.blocks:
                x = block(x, src_mask=self.mask, is_causal=True)
            return self.head(x[:, -1])

    return GPT(), torch.randint(0, words, (batch, length))


def lstm(torch, small):
    width, length, batch = (16, 4, 2) if small else (512, 64, 64)

    class Reader(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = torch.nn.LSTM(width, width, 2, batch_first=True)
            self.head = torch.nn.Linear(width, 10)

        def forward(self, x):
            return self.head(self.lstm(x)[0][:, -1])

    return Reader(), torch.randn(batch, length, width)


NETWORKS = {f.__name__: f for f in (perceptron, cnn, gpt, lstm)}


def train(torch, name, small, steps):
    """Trains; a function that does the rest of the steps."""
    model, x = NETWORKS[name](torch, small)
    wanted = torch.randint(0, 10, (len(x),))
    optimizer = torch.optim.Adam(model.parameters())

    def run(steps):
        for _ in range(steps):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), wanted).backward()
            optimizer.step()

    run(steps)
    return run


def status(field):
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith(field))


def heap():
    import pyodide_js

    return pyodide_js._module.HEAPU8.length


def measure(package, name):
    """Bytes that the network's training takes at its highest."""
    torch = importlib.import_module(package)
    torch.set_num_threads(1)
    train(torch, name, True, 3)
    if WASM:
        before = heap()
        train(torch, name, False, 5)
        return heap() - before
    before = status("VmRSS")
    more = train(torch, name, False, 2)
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # the highest begins here
    more(3)
    return status("VmHWM") - before


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--heap", action="store_true", help="Pyodide on node, too")
    p.add_argument("--here", help=argparse.SUPPRESS)  # a network: here, in one package
    p.add_argument("--pytorch", action="store_true", help=argparse.SUPPRESS)
    a = p.parse_args()
    if a.here:
        print("bytes", measure("torch" if a.pytorch else "torchlite", a.here))
        return 0

    def run(name, *, before=(), after=()):
        command = [sys.executable, *before, __file__, "--here", name, *after]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        out = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        if out.returncode:
            raise SystemExit(out.stderr[-2000:])
        return next(int(line.split()[1]) / 2**20 for line in out.stdout.splitlines() if line.startswith("bytes"))

    print(f"{'MB':12}{'PyTorch':>10}{'torchlite':>11}{'ratio':>7}" + ("   heap in Pyodide" if a.heap else ""))
    for name in NETWORKS:
        theirs, ours = run(name, after=["--pytorch"]), run(name)
        line = f"{name:12}{theirs:10.1f}{ours:11.1f}{ours / theirs:7.2f}"
        if a.heap:
            line += f"{run(name, before=['tests/pyodide/run_node.py', '--script']):18.1f}"
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
