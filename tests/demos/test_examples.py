"""The Playground's examples: its own print what they print under PyTorch; the menu names programs that exist."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PLAYGROUND = ROOT / "demos" / "playground"
PROGRAMS = ROOT / "tests" / "programs"
GOLDENS = json.loads((HERE / "examples.json").read_text())  # tests/programs/make_goldens.py writes it
sys.path.insert(0, str(PROGRAMS))
from compare import difference


@pytest.mark.parametrize("name", sorted(GOLDENS))
def test_example(name, tmp_path):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(PLAYGROUND / "python")])}
    program = str(PLAYGROUND / "examples" / f"{name}.py")
    done = subprocess.run(
        [sys.executable, "-m", "torchlite", program], capture_output=True, text=True, env=env, timeout=300, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr[-3000:]
    why = difference(done.stdout, "\n".join(GOLDENS[name]))
    assert why is None, why


def test_menu():
    menu = json.loads((PLAYGROUND / "examples" / "menu.json").read_text())
    names = [entry["name"] for group in menu for entry in group["scripts"]]
    assert len(names) == len(set(names)) >= 25
    own = {path.stem for path in (PLAYGROUND / "examples").glob("*.py")}
    assert own == set(GOLDENS) and own <= set(names)
    recorded = json.loads((PROGRAMS / "goldens.json").read_text())
    assert set(names) - own <= set(recorded)
