"""Whole programs (tests/programs), unchanged, with webgpu as the default device: they print what PyTorch prints.
Random numbers are drawn in PyTorch's order there too, so the same numbers come out."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from programs.compare import difference
from run_programs import HERE, PROGRAMS

pytestmark = [
    pytest.mark.usefixtures("bridge"),
    pytest.mark.skipif(sys.platform == "emscripten", reason="starts a process of its own"),
]
GOLDENS = json.loads((PROGRAMS / "goldens.json").read_text())
FEW = "ctc_speech dcgan graph_network llama_like".split()
ELSEWHERE = {  # why a program cannot run, or does something else, with another device than the CPU
    "float64": "custom_data gaussian_process regression_lbfgs style_transfer time_sequence_prediction",
    "autocast of the CPU": "mixed_precision recomputing",
    "attention with a mask and is_causal": "attention_masks",
    "kernels of the program's own": "own_operators",
    "shuffles where there is an accelerator": "mnist_digits",
}
LEFT_OUT = {name: why for why, names in ELSEWHERE.items() for name in names.split()}


def run(names):
    """{name: what run_programs.py says of it}"""
    done = subprocess.run(
        [sys.executable, str(HERE / "run_programs.py"), *names], capture_output=True, text=True, timeout=3000
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) == len(names), done.stderr[-2000:]
    return {line["name"]: line for line in lines}


def check(names):
    wrong = []
    for name, found in run(names).items():
        out = found["out"].replace(", device='webgpu:0'", "")
        why = found["error"] or difference(out, "\n".join(GOLDENS[name]), rtol=1e-3, atol=1e-4)
        if why:
            wrong.append(f"{name}: {why}")
    assert not wrong, "\n".join(wrong)


def test_few():
    check(FEW)


@pytest.mark.slow
def test_rest():
    check(sorted(set(GOLDENS) - set(LEFT_OUT) - set(FEW)))


def test_names():
    assert not set(LEFT_OUT) & set(FEW)
    assert set(LEFT_OUT) | set(FEW) <= set(GOLDENS)
