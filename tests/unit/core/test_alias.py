"""The name torch for torchlite: in one process, by `python -m torchlite`, and when another torch is there."""

import pathlib
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "emscripten", reason="starts processes, which Pyodide has not")
ROOT = pathlib.Path(__file__).resolve().parents[3]


def python(*args, expect=0):
    env = {"PYTHONPATH": str(ROOT), "PATH": "", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, *args], capture_output=True, text=True, cwd=ROOT, env=env)
    assert done.returncode == expect, done.stderr
    return done.stdout.strip() if expect == 0 else done.stderr.strip()


def test_modules_are_the_same_objects():
    out = python(
        "-c",
        """
import torchlite, sys
torchlite.install_as_torch()
torchlite.install_as_torch()   # twice does no harm
import torch
import torch.nn as nn, torch.nn.functional as F, torch.utils.data
from torch.optim import SGD
import torch.nn.modules.linear as linear
assert torch is torchlite and nn is torchlite.nn and F is torchlite.nn.functional
assert linear is sys.modules["torchlite.nn.modules.linear"] and linear.Linear is nn.Linear
assert SGD is torchlite.optim.SGD and torch.utils.data is torchlite.utils.data
assert torchlite.nn.__spec__.name == "torchlite.nn" and torchlite.__spec__.name == "torchlite"
import importlib, importlib.util
assert importlib.import_module("torch.nn") is nn and importlib.util.find_spec("torch.nn") is not None
print("same")
""",
    )
    assert out == "same"


def test_a_module_imported_late_is_not_imported_twice():
    out = python(
        "-c",
        """
import torchlite, sys
torchlite.install_as_torch()
import torch.utils.checkpoint as a
import torchlite.utils.checkpoint as b
print(a is b, a.__name__)
""",
    )
    assert out == "True torch.utils.checkpoint"


def test_missing_submodule_is_named_as_asked():
    assert "No module named 'torch.nothing_like_this'" in python(
        "-c",
        """
import torchlite
torchlite.install_as_torch()
import torch.nothing_like_this
""",
        expect=1,
    )


def test_refuses_when_another_torch_is_imported():
    message = python(
        "-c",
        """
import sys, types
sys.modules["torch"] = types.ModuleType("torch")
import torchlite
torchlite.install_as_torch()
""",
        expect=1,
    )
    assert "RuntimeError: torchlite cannot take the name torch: another torch is already imported" in message


def test_importing_torchlite_does_not_take_the_name():
    assert python("-c", "import torchlite, sys; print('torch' in sys.modules)") == "False"


def test_run_a_script(tmp_path):
    script = tmp_path / "program.py"
    (tmp_path / "helper.py").write_text("import torch\nvalue = torch.ones(2).sum().item()\n")
    script.write_text(
        "import sys, torch, helper, torchlite\nprint(__name__, torch is torchlite, helper.value, sys.argv[1:])\n"
    )
    assert python("-m", "torchlite", str(script), "--epochs", "3") == "__main__ True 2.0 ['--epochs', '3']"


def test_run_a_command_and_a_module():
    assert python("-m", "torchlite", "-c", "import torch; print(torch.arange(3).tolist())") == "[0, 1, 2]"
    assert "can't open file" in python("-m", "torchlite", "no_such_file.py", expect=2)


def test_pickle_under_either_name():
    out = python(
        "-c",
        """
import torchlite, pickle
torchlite.install_as_torch()
import torch
d = pickle.loads(pickle.dumps(torch.nn.Linear(2, 2).state_dict()))
print(sorted(d), torch.Size([1]) == torchlite.Size([1]))
""",
    )
    assert out == "['bias', 'weight'] True"


MODULES = """
import sys
import torchlite

torchlite.install_as_torch()
import inspect, pickle
import torch

def where(*kinds):
    return [k.__module__ for k in kinds]

print(where(torch.nn.Linear, torch.optim.Adam, torch.Tensor, torch.nn.Parameter, type(torch.nn.ReLU())))
# loaded after the name was taken
print(where(torch.distributions.Normal, torch.fx.Graph, torch.utils.data.DataLoader))
print(pickle.loads(pickle.dumps(torch.distributions.Normal)) is torch.distributions.Normal)
print(inspect.getsource(torch.distributions.Normal).startswith("class Normal"))
import torch.fx.passes.shape_prop as a, torchlite.fx.passes.shape_prop as b
print(a is b, torch.fx is torchlite.fx, torch.fx.graph is torchlite.fx.graph is sys.modules["torch.fx.graph"])
from torchlite.compat import alias

alias.uninstall()
print(where(torch.nn.Linear, torch.distributions.Normal, torch.Tensor))
"""


@pytest.mark.skipif(sys.platform == "emscripten", reason="starts a process, which Pyodide has not")
def test_classes_say_that_they_are_in_torch():
    done = subprocess.run([sys.executable, "-c", MODULES], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "['torch.nn.modules.linear', 'torch.optim.adam', 'torch', 'torch.nn.parameter', 'torch.nn.modules.activation']",
        "['torch.distributions.normal', 'torch.fx.graph', 'torch.utils.data.dataloader']",
        "True",
        "True",
        "True True True",
        "['torchlite.nn.modules.linear', 'torchlite.distributions.normal', 'torchlite']",
    ]


SAVES = """
import sys
import torchlite

torch = torchlite.install_as_torch()
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.LSTM(3, 2), torch.nn.TransformerEncoderLayer(4, 2))
state = {"net": net, "act": torch.nn.functional.relu, "dist": torch.distributions.Normal, "dtype": torch.float16,
         "half": torch.ones(2).half(), "size": torch.Size([2]), "storage": torch.arange(3.0).untyped_storage()}
for protocol in (2, 4):
    for zipped in (True, False):
        torch.save(state, f"{sys.argv[1]}/{protocol}{zipped}.pt", pickle_protocol=protocol,
                   _use_new_zipfile_serialization=zipped)
        back = torch.load(f"{sys.argv[1]}/{protocol}{zipped}.pt", weights_only=False)
        assert type(back["net"]) is torch.nn.Sequential and back["dist"] is torch.distributions.Normal
torch.save(net.state_dict(), f"{sys.argv[1]}/state.pt")
assert torch.load(f"{sys.argv[1]}/state.pt").keys() == net.state_dict().keys()
"""


@pytest.mark.skipif(sys.platform == "emscripten", reason="starts a process, which Pyodide has not")
def test_files_that_are_saved_under_the_name_torch(tmp_path):
    """PyTorch reads them, whatever the protocol and the format."""
    torch = pytest.importorskip("torch")
    subprocess.run([sys.executable, "-c", SAVES, str(tmp_path)], check=True)
    state = torch.load(tmp_path / "state.pt")
    for name in ("2True", "2False", "4True", "4False"):
        assert b"torchlite" not in (tmp_path / f"{name}.pt").read_bytes().replace(b"+torchlite", b"")
        got = torch.load(tmp_path / f"{name}.pt", weights_only=False)
        assert type(got["net"][1]) is torch.nn.LSTM and got["dist"] is torch.distributions.Normal
        assert got["act"] is torch.nn.functional.relu and got["half"].dtype is got["dtype"] is torch.float16
        assert all(torch.equal(got["net"].state_dict()[k], state[k]) for k in state)


def test_pickles_name_torch_only():
    out = python(
        "-c",
        """
import torchlite
torchlite.install_as_torch()
import pickle, pickletools
import torch
held = [torch.ones(2), torch.nn.Linear(1, 1), torch.optim.SGD([torch.ones(1)], lr=0.1), torch.FloatStorage(2),
        torch.ones(2).untyped_storage(), torch.eye(2).to_sparse(), torch.empty(1, device="meta"), torch.Generator(),
        torch.strided, torch.load, torch.manual_seed, torch.vmap, torch.utils.data.default_collate,
        torch.nn.utils.clip_grad_norm_]
names = [a for op, a, _ in pickletools.genops(pickle.dumps(held, 2)) if op.name == "GLOBAL"]
assert len(pickle.loads(pickle.dumps(held))) == len(held)
print(sorted(n for n in names if "torchlite" in n))
""",
    )
    assert out == "[]"


SUBCLASS = """
import torchlite, pickle
torchlite.install_as_torch()
import torch
class Own(torch.Tensor): pass
torch._tensor  # PyTorch's name of a module that lies elsewhere
assert type(pickle.loads(pickle.dumps(torch.ones(2).as_subclass(Own)))) is Own
"""


def test_pickle_of_a_subclass_after_its_module_was_asked_for():
    subprocess.run([sys.executable, "-c", SUBCLASS], check=True)


IMPORTS = """
from torch.nn.modules.conv import _ConvNd, _size_1_t, _size_2_t, _pair, F, init, Parameter, Module, Tensor
from torch.nn.modules.rnn import PackedSequence, Tensor
from torch.nn.modules.loss import _Loss, _Reduction, F, Tensor, Callable
from torch.nn.modules.module import Module, Tensor, RemovableHandle, Any
from torch.nn.modules.pooling import _size_any_opt_t, _ratio_2_t
from torch.nn.functional import has_torch_function, handle_torch_function, Tensor, _VF, _Reduction
from torch.optim.adam import Adam, Tensor, _use_grad_for_differentiable, _get_value, Optimizer
from torch.optim.sgd import SGD, Optimizer, _default_to_fused_or_foreach
from torch.utils.data.dataset import Dataset, Generator, TypeVar, randperm, default_generator
from torch.utils.data.dataloader import ExceptionWrapper
from torch.distributions.bernoulli import Bernoulli, lazy_property, probs_to_logits, Number
from torch.nn.parallel.data_parallel import scatter_kwargs, gather, replicate, parallel_apply, Module
from torch.fx.graph import Target, Argument, immutable_dict
import torch, torch.nn.modules.conv as conv, torch.distributions.normal as normal, torch.optim.adam as adam
assert conv.F is torch.nn.functional and Optimizer is torch.optim.Optimizer and Generator is torch.Generator
for module in conv, normal, adam:
    assert not hasattr(module, "nothing_of_this_name") and not hasattr(module, "__wrapped__")
try:
    from torch.nn.modules.conv import nothing_of_this_name
except ImportError as e:
    assert "cannot import name 'nothing_of_this_name' from" in str(e)
print("imported")
"""


def test_names_that_modules_import_from_elsewhere():
    assert python("-c", "import torchlite; torchlite.install_as_torch()" + IMPORTS) == "imported"


def test_pytorch_has_these_names():
    pytest.importorskip("torch")
    assert python("-W", "ignore", "-c", IMPORTS) == "imported"


def test_modules_are_as_before_without_the_name():
    line = "import torchlite; from torchlite.compat import alias; alias.install(); import torch.nn.modules.conv as c; "
    out = python("-c", line + "alias.uninstall(); print(hasattr(c, 'Tensor'), hasattr(c, '_ConvNd'))")
    assert out == "False True"


def test_a_module_that_is_being_imported_may_make_what_it_never_uses(tmp_path):
    (tmp_path / "uses_cuda.py").write_text("import torch\nmade = torch.cuda.jiterator._create_jit_fn('code')\n")
    install = f"import torchlite, sys; torchlite.install_as_torch(); sys.path.insert(0, {str(tmp_path)!r}); "
    assert "does not have" in python("-c", install + "import uses_cuda; print(uses_cuda.made)")


def test_every_module_is_there_by_its_name_in_torch():
    code = """
import torchlite; torchlite.install_as_torch()
import importlib, pkgutil, torch
for found in pkgutil.walk_packages(torch.__path__, "torch."):
    if found.name.endswith(("__main__", ".lock")):
        continue
    try:
        module = importlib.import_module(found.name)
        hasattr(module, "__path__"), hasattr(module, "no_such_name")
    except ModuleNotFoundError as e:
        print(*{e.name} - {"js"}, end="")  # parts that only a page has
"""
    assert python("-c", code) == ""
