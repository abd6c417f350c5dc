"""The reference's examples that need a GPU give what stands beside them."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent


@pytest.mark.skipif(sys.platform == "emscripten", reason="starts a process, which reads files of the checkout")
def test_examples_give_what_is_recorded():
    done = subprocess.run([sys.executable, HERE / "run_examples.py"], capture_output=True, text=True, timeout=300)
    if "missing: " in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found) > 35
    assert not {name: pair for name, pair in found.items() if pair[0] != pair[1]}
