"""Op families that are read at their first use."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "emscripten", reason="starts processes, which Pyodide has not")
CODE = """
import torchlite as torch
from torchlite import ops
before = set(ops.methods())
waiting = len(ops._later)
%s
assert len(ops._later) < waiting
ops.load_all()
late = set(ops.methods()) - before
assert late == set(ops.LATER_METHODS), late ^ set(ops.LATER_METHODS)
"""


def run(code):
    done = subprocess.run([sys.executable, "-c", CODE % code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_by_method():
    run("assert torch.ones(3).std().item() == 0")


def test_by_class_attribute():
    run("torch.Tensor.erf(torch.ones(1))")


def test_by_function():
    run("torch.det(torch.eye(2))")


def test_by_namespace():
    run("torch.linalg.inv(torch.eye(2)), torch.special.entr(torch.ones(1))")


def test_unknown_names_stay_unknown():
    run(
        "assert not hasattr(torch, 'no_such_op') and not hasattr(torch.ones(1), 'no_such_op')\n"
        "assert hasattr(torch, 'norm')"
    )
