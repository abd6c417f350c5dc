"""What third-party packages do with torch when they are imported."""

import inspect
import pathlib
import subprocess
import sys
import types

import pytest

import torchlite as torch


def importing(monkeypatch, source, name="some_package.part"):
    """A module of that source, marked as the import system marks one that is being imported."""
    module = types.ModuleType(name)
    module.__spec__ = types.SimpleNamespace(name=name, _initializing=True)
    module.torch = torch
    exec(source, module.__dict__)
    module.__spec__._initializing = False
    return module


def test_a_function_of_the_same_package_is_importing_too(monkeypatch):
    helper = importing(
        monkeypatch, "def register():\n    return torch.onnx.register_custom_op_symbolic('a::b', None, 9)"
    )
    caller = "import sys\nregister = helper.register"
    with pytest.raises(NotImplementedError, match="register_custom_op_symbolic"):
        helper.register()
    module = types.ModuleType("some_package")
    module.__spec__ = types.SimpleNamespace(name="some_package", _initializing=True)
    module.helper = helper
    exec(caller + "\nfound = register()", module.__dict__)
    assert "register_custom_op_symbolic" in repr(module.found)
    other = types.ModuleType("other_package")
    other.__spec__ = types.SimpleNamespace(name="other_package", _initializing=True)
    other.helper = helper
    with pytest.raises(NotImplementedError, match="register_custom_op_symbolic"):
        exec("helper.register()", other.__dict__)


def test_enums_of_the_core_have_their_members(monkeypatch):
    source = "keys = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)"
    keys = importing(monkeypatch, source).keys
    other = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
    assert repr(keys | other) == "DispatchKeySet(AutocastCPU, CPU)"
    assert (keys | other) - other == keys and keys.has(torch._C.DispatchKey.AutocastCPU)
    with pytest.raises(NotImplementedError, match="AbsentError|Graph"):
        torch._C.Graph()


@pytest.mark.parametrize("name", ["Stream", "Event", "ExternalStream"])
def test_cuda_streams_and_events_are_classes(name):
    kind = getattr(torch.cuda, name)
    assert isinstance(kind, type)
    assert (kind | None) is not None and not isinstance(1, kind)
    with pytest.raises(AssertionError, match="not compiled with CUDA"):
        kind(0)


def test_signature_of_modules():
    net = torch.nn.Linear(2, 2)
    assert str(inspect.signature(net)) == "(*args, **kwargs)"
    assert next(iter(inspect.signature(torch.nn.Linear).parameters)) == "in_features"


def test_config_and_names():
    assert "torchlite" in torch.__config__.show()
    assert "get_num_threads" in torch.__config__.parallel_info()
    assert torch.torch is torch


def test_the_alias_has_the_name_torch():
    code = """
import torchlite; torchlite.install_as_torch()
import sys, torch, torch.utils.checkpoint, torch.fx, torch.linalg, torch._functorch.vmap
print([name for name, it in sys.modules.items() if (name + ".").startswith("torch.") and it.__name__ != name])
"""
    root = pathlib.Path(torch.__file__).resolve().parent.parent
    if sys.platform == "emscripten":
        pytest.skip("Pyodide starts no processes")
    out = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["[]"]


def test_distributions_are_in_the_module_s_dictionary():
    found = vars(torch.distributions)
    assert [n for n in torch.distributions.__all__ if n not in found] == []
    assert isinstance(found["Cauchy"], type) and found["normal"].Normal is found["Normal"]


def test_from_file(tmp_path):
    file = tmp_path / "bytes"
    file.write_bytes(bytes(range(10)))
    storage = torch.UntypedStorage.from_file(str(file), False, 8)
    assert storage.tolist() == list(range(8))
    storage[0] = 7  # a private copy
    assert file.read_bytes()[0] == 0
    assert torch.UntypedStorage.from_file(file, nbytes=0).nbytes() == 0
    with pytest.raises(RuntimeError, match="size <10> is smaller than the required mapping size <11>"):
        torch.UntypedStorage.from_file(str(file), False, 11)


def test_a_tensor_in_a_file(tmp_path):
    import gc

    file = str(tmp_path / "numbers")
    with pytest.raises(
        RuntimeError, match=r"unable to open file <.*> in read-only mode: No such file or directory \(\d+\)"
    ):
        torch.from_file(file, size=2)
    if sys.platform == "emscripten":
        with pytest.raises(NotImplementedError, match="cannot share memory with a file"):
            torch.from_file(file, shared=True, size=3)
        return
    shared = torch.from_file(file, shared=True, size=3, dtype=torch.int32)
    assert shared.tolist() == [0, 0, 0]
    shared += torch.tensor([1, 2, 3], dtype=torch.int32)
    del shared
    gc.collect()
    private = torch.from_file(file, size=3, dtype=torch.int32)
    assert private.tolist() == [1, 2, 3]
    private.zero_()
    memory = private[1:].untyped_storage()  # tensordict shows whether its files are shared
    assert private.is_shared() and private.share_memory_() is private and memory.filename == file
    assert not private.clone().is_shared() and private.clone().untyped_storage().filename is None
    assert torch.from_file(file, False, 2, dtype=torch.int32).tolist() == [1, 2]
    longer = torch.from_file(file, True, 5, requires_grad=True)
    assert longer.shape == (5,) and longer.requires_grad and (tmp_path / "numbers").stat().st_size == 20
    assert torch.from_file(file, size=0).shape == (0,)
    with pytest.raises(RuntimeError, match="size <20> is smaller than the required mapping size <36>"):
        torch.from_file(file, size=9)
    with pytest.raises(TypeError, match="argument 'filename' \\(position 1\\) must be str, not PosixPath"):
        torch.from_file(tmp_path / "numbers", size=2)
    with pytest.raises(NotImplementedError, match="Could not run 'aten::from_file'"):
        torch.from_file(file, size=2, device="meta")


def test_a_fake_function_may_come_before_its_operator():
    made = torch.library.register_fake("packagenames::later")(lambda x: x.new_empty(3))
    assert made is not None
    library = torch.library.Library("packagenames", "DEF")
    library.define("later(Tensor x) -> Tensor")
    assert torch._ops.defined["packagenames", "later"]["default"].fake is made
    with pytest.raises(AttributeError, match="never"):
        torch.library.register_kernel("packagenames::never", "cpu")(lambda x: x)


def test_getitem_of_a_tensor_in_vmap():
    from torchlite._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex

    table = torch.arange(12).view(4, 3)
    with TransformGetItemToIndex():
        found = torch.vmap(lambda i, j: table[i, j])(torch.tensor([0, 3]), torch.tensor([2, 1]))
    assert found.tolist() == [2, 10]


def test_types_of_the_loaders_arguments():
    from torchlite.utils.data import dataloader

    for kind in (dataloader._collate_fn_t, dataloader._worker_init_fn_t):
        assert isinstance(len, kind) and (kind | None) is not None


@pytest.mark.parametrize(
    "args, expected",
    [
        (("cpu",), (torch.device("cpu"), None, False, None)),
        ((torch.float64,), (None, torch.float64, False, None)),
        (("cpu", torch.float16, True), (torch.device("cpu"), torch.float16, True, None)),
        ((torch.ones(1),), (torch.device("cpu"), torch.float32, False, None)),
    ],
)
def test_parse_to(args, expected):
    assert torch._C._nn._parse_to(*args) == expected
