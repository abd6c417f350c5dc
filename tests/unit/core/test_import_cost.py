"""What `import torch` costs, in counts that are the same in each run. Whoever needs more raises a budget here."""

import json
import pathlib
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "emscripten", reason="starts processes, which Pyodide has not")
ROOT = pathlib.Path(__file__).resolve().parents[3]

COUNT = """
import builtins, sys

def of_package(name):
    return name.partition(".")[0] == "torchlite"

found = {"calls": 0, "classes": 0}

def note(frame, event, arg):
    found["calls"] += event == "call" and of_package(frame.f_globals.get("__name__", ""))

def build(body, *args, **kwargs):
    found["classes"] += of_package(body.__module__)
    return make(body, *args, **kwargs)

make, builtins.__build_class__ = builtins.__build_class__, build
sys.setprofile(note)
import torchlite
sys.setprofile(None)
builtins.__build_class__ = make
found["modules"] = sum(map(of_package, sys.modules))
found["others"] = [m for m in sys.modules if not of_package(m)]
before = set(sys.modules)
torchlite.install_as_torch()
found["named"] = [m for m in set(sys.modules) - before if of_package(m)]
import json; print(json.dumps(found))
"""


def python(*args):
    env = {"PYTHONPATH": str(ROOT), "PATH": "", "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([sys.executable, *args], stdout=subprocess.PIPE, text=True, env=env, check=True).stdout


@pytest.fixture(scope="module")
def found():
    return json.loads(python("-S", "-c", COUNT))


def test_counts(found):
    """Modules and classes of the package, and calls of its functions."""
    assert found["modules"] <= 96
    assert found["classes"] <= 92
    assert found["calls"] <= 6600


def test_no_heavy_modules(found):
    """Of the standard library: they are for those who need them."""
    heavy = """ast asyncio dataclasses dis enum fractions inspect json logging numpy pathlib pickle re subprocess
        tempfile textwrap threading tokenize traceback typing"""
    assert not set(heavy.split()) & set(found["others"])


def test_the_name_torch_reads_no_module(found):
    """Taking the name torch walks over the modules that are there, and reads none of those that wait."""
    assert sorted(found["named"]) == ["torchlite.compat", "torchlite.compat.alias"]


def test_collector_is_left_as_it_was():
    code = "import gc; gc.%s(); import torchlite; print(gc.isenabled(), gc.get_freeze_count())"
    for switch, expected in (("enable", "True 0"), ("disable", "False 0")):
        assert python("-c", code % switch).strip() == expected


LAZY = """
import torchlite as torch
from torchlite.nn.modules import _FILES
from importlib import import_module

for file, names in _FILES.items():
    module = import_module("torchlite.nn.modules." + file)
    public = {n for n in module.__all__ if n != "NonDynamicallyQuantizableLinear"}
    assert public == set(names.split()), (file, public ^ set(names.split()))
assert set(torch.optim._LAZY) <= set(torch.optim.__all__)
"""

STAR = """
from torchlite.nn import *
from torchlite.optim import *
from torchlite.nn.modules import *
Conv2d, LSTM, MaxPool2d, CrossEntropyLoss, SGD, Adafactor, Transformer, Parameter, Module
import torchlite as torch
assert {"Conv2d", "LSTM", "DataParallel"} <= set(vars(torch.nn)) and "SGD" in vars(torch.optim)
"""


@pytest.mark.parametrize("code", [LAZY, STAR])
def test_what_is_read_later_is_there(code):
    """The table says what the files have, and neither `import *` nor `vars` shows that a file waits."""
    python("-c", code)
