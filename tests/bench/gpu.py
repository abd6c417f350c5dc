"""torchlite's webgpu device on this machine's GPU, in Pyodide on node with Dawn,
as fractions of PyTorch's CUDA in float32 where that is there.

    python tests/bench/gpu.py [--small] [--seconds S] [--out FOLDER]

VK_ICD_FILENAMES names the Vulkan driver (NVIDIA's nvidia_icd.json, say);
without it the software one is taken, for which --small is meant: it shows that the command works,
not how fast a GPU is. PyTorch is run by BENCH_PYTHON, or this Python if it has it.
Results are kept in FOLDER (.out/gpu) as a file with the date in its name. Needs `make wheel`.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def figures(cmd: list[str], cwd: pathlib.Path = ROOT) -> dict | None:
    done = subprocess.run(cmd, cwd=cwd, check=False, stdout=subprocess.PIPE, text=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("FIGURES ")]
    if not lines:
        print(done.stdout[-2000:], file=sys.stderr)
        return None
    return json.loads(lines[-1].removeprefix("FIGURES "))  # type: ignore[no-any-return]


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--small", action="store_true", help="small sizes, for a software GPU")
    p.add_argument("--seconds", type=float, default=3.0, help="for each figure")
    p.add_argument("--out", type=pathlib.Path, default=ROOT / ".out" / "gpu")
    a = p.parse_args()

    def options(device: str) -> str:
        return json.dumps({"device": device, "small": a.small, "seconds": a.seconds})

    ours = figures(
        [
            sys.executable,
            str(ROOT / "tests" / "pyodide" / "run_node.py"),
            "--webgpu",
            "--script",
            "tests/bench/gpu_cases.py",
            options("webgpu"),
        ]
    )
    if ours is None:
        return 1
    other = os.environ.get("BENCH_PYTHON", sys.executable)
    probe = "import torch, sys; sys.exit(not torch.cuda.is_available() or hasattr(torch.version, 'torchlite'))"
    theirs = None
    if subprocess.run([other, "-c", probe], check=False, capture_output=True, cwd="/").returncode == 0:
        theirs = figures([other, str(HERE / "gpu_cases.py"), options("cuda")], pathlib.Path("/"))
    print(
        f"\n{ours['name']}"
        + (f"; PyTorch CUDA on {theirs['name']}" if theirs else "; no PyTorch with CUDA to compare with")
    )
    for name, value in ours.items():
        if not isinstance(value, float):
            continue
        part = ""
        if theirs:
            part = (
                f"{(theirs[name] / value if name.endswith(('ms', 'token')) else value / theirs[name]):10.0%} of "
                f"{theirs[name]:.4g}"
            )
        print(f"{name:24}{value:12.4g}{part}")
    print("per training step:", ours.get("per step"))
    a.out.mkdir(parents=True, exist_ok=True)
    file = a.out / f"{datetime.datetime.now():%Y-%m-%d-%H%M}.json"
    file.write_text(json.dumps({"torchlite": ours, "cuda": theirs, "small": a.small}, indent=1) + "\n")
    print(file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
