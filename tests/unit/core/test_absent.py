"""PyTorch's names that torchlite does not have: they can be imported, annotated with and subclassed, not used."""

import importlib
import pathlib
import re
import subprocess
import sys

import pytest

import torchlite as torch
from torchlite._core import absent, absent_reasons

ROOT = pathlib.Path(torch.__file__).parent.parent


def _owner(path):
    if path == "torch.Tensor":
        return torch.Tensor
    if path.startswith("torch._C."):
        return getattr(torch._C, path.rpartition(".")[2])
    return importlib.import_module("torchlite" + path[5:])


def _object(path, name):
    return getattr(_owner(path), name)


@pytest.mark.parametrize("path", sorted(absent.table().keys() - {"aten::"}))
def test_every_name_of_the_table_is_there(path):
    module = None if path == "torch.Tensor" or path.startswith("torch._C.") else _owner(path)
    for name, line in absent.table()[path].items():
        found = _object(path, name)
        kind = line.partition(" ")[0]
        if kind == "class":
            assert isinstance(found, type) and found.__module__ == path
            with pytest.raises(absent.AbsentError, match="%s.%s: " % (path, name)):
                found()
        elif kind == "def" and name in absent._ANSWERS:
            assert not found()
        elif kind == "def":
            with pytest.raises(NotImplementedError, match="%s.%s: " % (path, name)):
                found(1, key=2)
        elif kind == "error":
            assert issubclass(found, Exception)
        if module is not None:
            assert getattr(module, name) is found


def test_operators_of_aten_can_be_named():
    for name, forms in absent.table()["aten::"].items():
        packet = getattr(torch.ops.aten, name)
        assert packet.overloads() == forms.split(",")
        for form in packet.overloads():
            overload = getattr(packet, form)
            assert str(overload) == "aten.%s.%s" % (name, form) and {overload: 1}[overload] == 1
            with pytest.raises(absent.AbsentError, match="torch.ops.aten.%s.%s: " % (name, form)):
                overload(torch.ones(1))
        with pytest.raises(absent.AbsentError, match="torch.ops.aten.%s[.:]" % name):
            packet(torch.ones(1))
    assert not hasattr(torch.ops.aten, "nonsense") and not hasattr(torch.ops.aten.norm, "nonsense")
    with pytest.raises(absent.AbsentError, match="torch.ops.aten.norm: "):
        _ = torch.ops.aten.norm.Scalar._schema.arguments


def test_what_a_program_may_do_without_using_a_name():
    package = importlib.import_module("torchlite.package")

    class Exporter(package.PackageExporter):
        pass

    assert not isinstance(torch.ones(1), package.PackageImporter)
    importer = importlib.import_module("torchlite.package.importer")
    assert (package.Directory | None) and package.Importer is importer.Importer
    assert torch.AVG != torch.float32 and {torch.AVG: 1}[torch.AVG] == 1
    with pytest.raises(absent.AbsentError, match="torch.package.*PackageExporter: torchlite does not read packages"):
        Exporter()
    with pytest.raises(AttributeError, match="torch.AVG: "):
        assert torch.AVG.value
    with pytest.raises(AttributeError, match="module 'torch.package' has no attribute 'nothing'"):
        assert package.nothing
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("torchlite.package.nothing")


def test_a_module_named_as_a_function_of_its_parent():
    x = torch.ones(1, dtype=torch.float64, requires_grad=True)
    module = importlib.import_module("torchlite.autograd.gradcheck")
    assert torch.autograd.gradcheck(torch.sin, x)
    assert module.gradgradcheck(torch.sin, x)


def test_what_is_quantized_says_so():
    for use in (torch.quantize_per_tensor, torch.Tensor.q_scale):
        with pytest.raises(NotImplementedError, match="no quantized tensors"):
            use(torch.ones(1))


def test_what_to_do_instead():
    datapipes = importlib.import_module("torchlite.utils.data.datapipes.datapipe")
    for use, text in (
        (datapipes.MapDataPipe, "use Dataset"),
        (importlib.import_module("torchlite.monitor").Event, "use torch.profiler"),
        (importlib.import_module("torchlite.utils.benchmark").Fuzzer, "timeit"),
        (torch.sparse.spsolve, "this part of torch.sparse"),
    ):
        with pytest.raises(NotImplementedError, match=text):
            use(1)


def test_methods_of_tensors():
    t = torch.ones(2)
    assert sorted(absent.METHODS) == sorted(absent.table()["torch.Tensor"])
    with pytest.raises(NotImplementedError, match="torch.Tensor.int_repr: "):
        t.int_repr()
    assert not hasattr(t, "no_such_method")


def test_no_name_of_the_table_is_there_without_it():
    """An entry that outlives its reason would hide what was built since."""
    program = """
import importlib
import torchlite
from torchlite._core import absent, absent_reasons
absent.table()
absent.uninstall(torchlite.Tensor)
for path, names in absent.table().items():
    if path == "torch.Tensor":
        module = torchlite.Tensor
    else:
        try:
            module = importlib.import_module("torchlite" + path[5:])
        except ModuleNotFoundError:
            continue
        if not names:
            print(path)
    for name in names:
        if hasattr(module, name):
            print(path, name)
"""
    if sys.platform == "emscripten":
        pytest.skip("no processes here; the host runs it")
    out = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not out.stdout


def test_a_module_may_call_absent_names_while_it_is_imported(tmp_path, monkeypatch):
    """Packages make things at import that a program may never use; using them is the error."""
    (tmp_path / "uses_absent_names.py").write_text(
        "import torchlite as torch\n"
        "made = torch.cuda.jiterator._create_jit_fn('code')\n"
        "def pooled(size: torch.jit.annotations.BroadcastingList2[int]): ...\n"
        "patched = torch.export.export('a', 'b')\n"
        "class Kind(torch.fx.experimental.symbolic_shapes.ValueRangesSLoc): ...\n"
        "def later():\n    return torch.onnx.export(None, (), 'x')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import uses_absent_names

    for use in (uses_absent_names.made, uses_absent_names.later, uses_absent_names.Kind):
        with pytest.raises(absent.AbsentError):
            use()
    with pytest.raises(absent.AbsentError):
        uses_absent_names.patched.name  # noqa: B018


def test_what_is_not_here_is_not_available():
    for device in (torch.xpu, torch.mtia):
        assert device.is_available() is False
        assert device.device_count() == 0
    assert torch.cpu.get_capabilities()["architecture"]
    with torch.compiler.set_stance("force_eager"), torch._dynamo.config.patch(suppress_errors=True):
        assert torch._dynamo.config.suppress_errors
    with torch._inductor.config.patch(compile_threads=2, max_autotune=True):
        assert torch._inductor.config.max_autotune
    assert not hasattr(torch._inductor.config, "compile_threads")
    with pytest.raises(RuntimeError, match="invalid torch.compile stance"):
        torch.compiler.set_stance("none")
    with torch.sparse.check_sparse_tensor_invariants():
        assert torch.sparse.check_sparse_tensor_invariants.is_enabled()
    assert not torch.sparse.check_sparse_tensor_invariants.is_enabled()


def test_names_of_typing():
    import typing

    annotations = importlib.import_module("torchlite.jit.annotations")
    for name in ("Any", "Dict", "List", "Tuple"):
        assert getattr(annotations, name) is getattr(typing, name)


def test_a_class_is_no_module():
    # unittest.mock finds the end of a dotted name by imports
    with pytest.raises(ModuleNotFoundError, match="torchlite.Tensor"):
        importlib.import_module("torchlite.Tensor")
    assert isinstance(torch.Tensor, type)


def test_what_the_reasons_recommend_is_there():
    named = {path for text in absent_reasons._REASONS.values() for path in re.findall(r"torch\.[\w.]*\w", text)}
    assert len(named) > 4
    for path in named:
        module, _, name = path.rpartition(".")
        value = getattr(importlib.import_module("torchlite" + module[5:]), name)
        assert not absent.is_absent(value) and not isinstance(value, absent._Object), path
