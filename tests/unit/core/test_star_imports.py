"""`from torch import *` gives what it gives under PyTorch, also what is made when it is first asked for."""

import subprocess
import sys

import pytest

MODULES = {
    "torch": "FloatTensor LongTensor Tag Tensor abs argwhere asarray compile einsum float32 floor float8_e4m3fn"
    " hann_window load manual_seed no_grad norm randn"
    " save sparse_coo_tensor svd tensor vmap where zeros_like quantize_per_tensor",
    "torch.jit": "ScriptModule Error fork ignore script trace unused CompilationUnit",
    "torch.cuda": "Stream device_count is_available memory_allocated FloatTensor CUDAGraph",
    "torch.compiler": "compile disable is_compiling substitute_in_graph",
}
NOT_THERE = {
    "torch": "nn sys math annotations native",
    "torch.func": "contextlib functools torch",
    "torch.jit": "builtins",
}
CODE = """
import torchlite
torchlite.install_as_torch()
space = {}
exec("from %s import *", space)
print(*space)
"""


@pytest.mark.skipif(sys.platform == "emscripten", reason="starts a process of its own")
@pytest.mark.parametrize("module", sorted({*MODULES, *NOT_THERE}))
def test_star(module):
    done = subprocess.run([sys.executable, "-c", CODE % module], capture_output=True, text=True, check=True)
    found = set(done.stdout.split())
    assert set(MODULES.get(module, "").split()) <= found
    assert not found & set(NOT_THERE.get(module, "").split())


def test_classes_of_compiled_libraries():
    import torchlite as torch

    with pytest.raises(RuntimeError, match="Tried to instantiate class 'space.Kind', but it does not exist"):
        torch.classes.space.Kind()
    assert torch.classes.loaded_libraries is torch.ops.loaded_libraries
    assert not hasattr(torch.classes, "__path__") and not hasattr(torch.classes.space, "__path__")
    with pytest.raises(OSError):
        torch.classes.load_library("/nowhere.so")
