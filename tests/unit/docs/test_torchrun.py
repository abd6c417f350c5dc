"""The how-to on torchrun: a checkpoint goes from torchlite to two processes of PyTorch and back, on one loss curve."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = (ROOT / "demos" / "docs" / "howto" / "pytorch.md").read_text()
TRAIN = re.search(r"^```python torchrun\n(.*?)^```", PAGE, re.M | re.S)[1]


def losses(command, folder):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=240, check=False, env=env)
    assert done.returncode == 0, done.stderr[-3000:]
    return [tuple(map(float, line.split())) for line in done.stdout.splitlines() if re.match(r"\d+ [\d.]+$", line)]


@pytest.mark.slow
def test_there_and_back(tmp_path):
    pytest.importorskip("torch", reason="runs PyTorch's torchrun")
    (tmp_path / "train.py").write_text(TRAIN)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    lite = [sys.executable, "-m", "torchlite", "train.py"]
    # one process of PyTorch from torchlite's beginning, as the curve to follow
    found = losses([*lite, "none", "page.pt", "20"], tmp_path)
    found += losses([*torchrun, "train.py", "page.pt", "server.pt", "20"], tmp_path)
    found += losses([*lite, "server.pt", "back.pt", "20"], tmp_path)
    alone = losses([sys.executable, "train.py", "page.pt", "alone.pt", "40"], tmp_path)
    assert [step for step, _ in found] == list(range(60)) and len(alone) == 40
    assert found[0][1] > 2 * found[-1][1]
    for (step, loss), (_, right) in zip(found[20:], alone, strict=True):
        assert abs(loss - right) < 1e-4 * right + 2e-6, step
