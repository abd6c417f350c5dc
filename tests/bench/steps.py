"""Training steps of small models (recurrent nets, PINN, DQN, MAML) beside real PyTorch's: torchlite on the host and in
Pyodide on node. One thread each.

    python tests/bench/steps.py [--seconds N] [--avx2]

--avx2 holds PyTorch to 256-bit vectors, where the machine has wider ones. Prints microseconds and the ratios.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = "tests/bench/step_workloads.py"
NARROW = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}


def measured(command: list[str], env: dict[str, str]) -> dict[str, float]:
    """What a program prints in lines "name<TAB>microseconds"."""
    done = subprocess.run([sys.executable, *command], cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True, check=True)
    rows = [line.split("\t") for line in done.stdout.splitlines() if line.count("\t") == 1]
    return {name: float(us) for name, us in rows}


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--seconds", default="1", help="for each step and place")
    p.add_argument("--avx2", action="store_true")
    a = p.parse_args()
    env = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    options = ["--seconds", a.seconds]
    native = measured([PROGRAM, *options], {**env, **(NARROW if a.avx2 else {})})
    host = measured([PROGRAM, "--torchlite", *options], env)
    page = measured(["tests/pyodide/run_node.py", "--script", PROGRAM, *options], env)
    print(f"{'us':26}{'PyTorch':>10}{'host':>10}{'ratio':>7}{'Pyodide':>10}{'ratio':>7}")
    for name, us in native.items():
        h, q = host[name], page[name]
        print(f"{name:26}{us:10.0f}{h:10.0f}{h / us:7.2f}{q:10.0f}{q / us:7.2f}")


if __name__ == "__main__":
    main()
