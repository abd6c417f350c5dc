"""torch.save and torch.load: files of PyTorch load here, files of ours load there,
and what must be refused is refused."""

import fractions
import io
import json
import pathlib
import pickle
import zipfile
from collections import Counter, OrderedDict

import pytest

import torchlite as torch

GOLDENS = pathlib.Path(__file__).resolve().parents[2] / "goldens"
FILES = GOLDENS / "checkpoints"
FACTS = json.loads((FILES / "contents.json").read_text())
import make_checkpoints

FORMATS = [{}, {"_use_new_zipfile_serialization": False}]


def described(x, module=torch):
    return json.loads(json.dumps(make_checkpoints.describe(module, x)))


def roundtrip(x, load_args=None, **save_args):
    f = io.BytesIO()
    torch.save(x, f, **save_args)
    f.seek(0)
    return torch.load(f, **(load_args or {}))


# ---- files of PyTorch


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("name", ["zip.pt", "legacy.pt"])
def test_loads_pytorch_files(name, weights_only):
    x = torch.load(FILES / name, weights_only=weights_only)
    assert described(x) == FACTS["contents"]
    x["base"][1, 0] = -1.0
    assert x["view"][0, 0] == -1 and x["transposed"][0, 1] == -1, "views of one storage stay views of it"


def test_mmap():
    assert described(torch.load(str(FILES / "zip.pt"), mmap=True)) == FACTS["contents"]


def test_tar():
    assert described(torch.load(FILES / "tar.pt", weights_only=False)) == FACTS["tar"]
    with pytest.raises(RuntimeError, match="legacy .tar format"):
        torch.load(FILES / "tar.pt")


def _model():
    nn = torch.nn
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2))


def test_training_checkpoint():
    saved = torch.load(FILES / "training.pt")
    model = _model()
    model.load_state_dict(saved["model"])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.5)
    optimizer.load_state_dict(saved["optimizer"])
    assert optimizer.param_groups[0]["lr"] == 0.01
    assert described(optimizer.state_dict()["state"]) == FACTS["optimizer"]
    out = model.eval()(torch.arange(6.0).reshape(2, 3))
    assert torch.allclose(out, torch.tensor(FACTS["output"]), atol=1e-6)


def test_whole_model():
    model = torch.load(FILES / "whole_model.pt", weights_only=False)
    assert type(model[0]) is torch.nn.Linear
    assert torch.allclose(model(torch.arange(6.0).reshape(2, 3)), torch.tensor(FACTS["output"]), atol=1e-6)
    with pytest.raises(pickle.UnpicklingError, match="torch.nn.modules.container.Sequential was not an allowed global"):
        torch.load(FILES / "whole_model.pt")


# ---- round trips


@pytest.mark.parametrize("args", [*FORMATS, {"pickle_protocol": 3}, {"pickle_protocol": 4}, {"pickle_protocol": 5}])
def test_roundtrip(args):
    x = make_checkpoints.contents(torch)
    assert described(roundtrip(x, {"weights_only": False}, **args)) == described(x) == FACTS["contents"]


@pytest.mark.parametrize("args", FORMATS)
def test_shared_storages(args):
    a = torch.arange(6.0)
    x = roundtrip([a, a[2:], a.reshape(2, 3).t(), a], **args)
    x[0][3] = 9.0
    assert x[1][1] == 9 and x[2][0, 1] == 9 and x[3] is x[0]


def test_save_and_load_take_paths(tmp_path):
    torch.save({"a": 1}, tmp_path / "model.v2.pt")
    torch.save([1], str(tmp_path / "b"))
    assert torch.load(tmp_path / "model.v2.pt") == {"a": 1} and torch.load(str(tmp_path / "b")) == [1]
    assert zipfile.ZipFile(tmp_path / "model.v2.pt").testzip() is None
    assert zipfile.ZipFile(tmp_path / "model.v2.pt").namelist()[0] == "model.v2/data.pkl"


def test_records_are_aligned():
    f = io.BytesIO()
    torch.save([torch.ones(n) for n in (1, 5, 100)], f)
    names = []
    for entry in zipfile.ZipFile(f).infolist():
        head = f.getvalue()[entry.header_offset : entry.header_offset + 30]
        start = entry.header_offset + 30 + int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little")
        assert start % 64 == 0
        names.append(entry.filename.partition("/")[2])
    assert names == [
        "data.pkl",
        ".format_version",
        ".storage_alignment",
        "byteorder",
        "data/0",
        "data/1",
        "data/2",
        "version",
        ".data/serialization_id",
    ]


def test_file_in_the_middle():
    f = io.BytesIO(b"head")
    f.seek(4)
    torch.save([torch.ones(2)], f)
    f.seek(4)
    assert torch.load(f)[0].tolist() == [1, 1]


def test_user_text_is_never_renamed():
    text = "ctorchlite._utils\n_rebuild_tensor_v2\n"
    for x in ([text, torch.ones(1)], [text], {"ctorchlite.x\ny\n": torch.ones(2), "t": text}):
        assert described(roundtrip(x)) == described(x)


def test_names_written_are_torch():
    f = io.BytesIO()
    torch.save([torch.nn.Parameter(torch.ones(2)), torch.nn.Linear(1, 1), torch.float16, torch.Size([1])], f)
    data = zipfile.ZipFile(f).read("archive/data.pkl")
    assert b"torchlite" not in data and b"ctorch.nn.modules.linear\nLinear\n" in data


def test_big_endian_file():
    f = io.BytesIO()
    source = zipfile.ZipFile(FILES / "zip.pt")
    with zipfile.ZipFile(f, "w") as out:
        for name in source.namelist():
            data = source.read(name)
            if name.endswith("byteorder"):
                data = b"big"
            elif "data/" in name and name.rpartition("/")[2] == "0":
                data = b"".join(data[i : i + 4][::-1] for i in range(0, len(data), 4))
            out.writestr(name, data, zipfile.ZIP_DEFLATED)
    f.seek(0)
    assert described(torch.load(f)["base"]) == FACTS["contents"][1][0][1]


# ---- map_location


@pytest.mark.parametrize("args", FORMATS)
@pytest.mark.parametrize("where", ["cpu", {"cuda:0": "cpu"}, lambda s, loc: s, lambda s, loc: None])
def test_map_location(where, args):
    x = [torch.ones(3), torch.arange(3)]
    assert described(roundtrip(x, {"map_location": where}, **args)) == described(x)


def test_map_location_errors():
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
        roundtrip(torch.ones(1), {"map_location": "cuda:0"})
    with pytest.raises(RuntimeError, match="don't know how to restore data location"):
        roundtrip(torch.ones(1), {"map_location": "fpga"})


def test_map_location_meta():
    assert repr(roundtrip({"a": torch.ones(2, 3)}, {"map_location": "meta"})["a"]) == (
        "tensor(..., device='meta', size=(2, 3))"
    )


# ---- weights_only


class Custom:
    def __init__(self, x):
        self.x = x


def test_safe_globals():
    f = io.BytesIO()
    torch.save(Custom(torch.ones(1)), f)

    def load():
        f.seek(0)
        return torch.load(f)

    with pytest.raises(pickle.UnpicklingError, match="Custom was not an allowed global by default"):
        load()
    f.seek(0)
    assert torch.serialization.get_unsafe_globals_in_checkpoint(f) == [f"{__name__}.Custom"]
    with torch.serialization.safe_globals([Custom]):
        assert load().x == 1
    with pytest.raises(pickle.UnpicklingError):
        load()
    torch.serialization.add_safe_globals([(Custom, f"{__name__}.Custom")])
    try:
        assert load().x == 1 and torch.serialization.get_safe_globals()
    finally:
        torch.serialization.clear_safe_globals()
    assert torch.serialization.get_safe_globals() == []


class Evil:
    def __init__(self, *call):
        self.call = call

    def __reduce__(self):
        return self.call[0], self.call[1:]


@pytest.mark.parametrize(
    "call", [(eval, "1"), (exec, "1"), (getattr, "a", "b"), (print, "x"), (__import__, "os"), (zipfile.ZipFile, "x")]
)
@pytest.mark.parametrize("args", FORMATS)
def test_code_is_refused(call, args):
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        roundtrip([Evil(*call)], **args)


def test_blocked_modules():
    import os

    with torch.serialization.safe_globals([os.getcwd]), pytest.raises(pickle.UnpicklingError, match="is blocked"):
        roundtrip([os.getcwd])


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x02cos\nsystem\n(X\x02\x00\x00\x00lstR.",
        b"\x80\x02]q\x00}q\x01b.",
        b"\x80\x02ccollections\nOrderedDict\n(K\x01K\x02e.",
        b"\x80\x02\x95....",
        b"\x80\x02K",
    ],
)
def test_malformed_pickles(data):
    f = io.BytesIO()
    with zipfile.ZipFile(f, "w") as out:
        out.writestr("archive/data.pkl", data)
        out.writestr("archive/version", "3\n")
    f.seek(0)
    with pytest.raises((pickle.UnpicklingError, EOFError, IndexError)):
        torch.load(f)


def test_truncated_file():
    data = (FILES / "zip.pt").read_bytes()
    for n in (0, 3, 10, 1000, len(data) - 1):
        with pytest.raises((RuntimeError, EOFError, pickle.UnpicklingError)):
            torch.load(io.BytesIO(data[:n]))


# ---- the limits on files (tests/hostile has what they refuse) let through what PyTorch writes


def _nested(n, wrap):
    x = 0
    for _ in range(n):
        x = wrap(x)
    return x


@pytest.mark.parametrize("args", FORMATS)
@pytest.mark.parametrize(
    "make",
    [
        lambda: _nested(100, lambda x: [x]),
        lambda: _nested(100, lambda x: {"a": x}),
        lambda: _nested(100, lambda x: (x, 1)),
        lambda: {f"word{i}": i for i in range(30_000)},
        lambda: {(i, i + 1): float(i) for i in range(5_000)},
        lambda: {i * 2**40 + 1: None for i in range(5_000)},
        lambda: {1, "a", (2, "b", (3.5,))},
        lambda: Counter("hello"),
        lambda: [i / 3 for i in range(30_000)],
        lambda: ["text \u6f22\u5b57 %d" % i for i in range(10_000)],
        lambda: [
            bytes(range(256)) * 100,
            bytearray(b"abc"),
            bytearray(),
            1j,
            2**100,
            -(2**100),
            b"x",
            None,
            True,
            "\U0001f600" * 1000,
        ],
        lambda: [torch.float16, torch.Size([2, 3]), torch.device("cpu"), torch.strided],
    ],
    ids=[
        "lists",
        "dicts",
        "tuples",
        "vocabulary",
        "edges",
        "ids",
        "set",
        "counter",
        "floats",
        "texts",
        "bytes",
        "torch",
    ],
)
def test_containers(make, args):
    x = make()
    y = roundtrip(x, **args)
    assert type(y) is type(x) and y == x


def test_cycles():
    x = [1]
    x.append({"self": x})
    y = roundtrip(x)
    assert y[1]["self"] is y


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_zip_of_another_tool(method):
    f, g = io.BytesIO(), io.BytesIO()
    torch.save({"a": torch.zeros(1_000_000), "b": torch.arange(5)}, f)
    source = zipfile.ZipFile(f)
    with zipfile.ZipFile(g, "w", method) as out:
        for name in source.namelist():
            out.writestr(name, source.read(name))
    g.seek(0)
    x = torch.load(g)
    assert x["a"].shape == (1_000_000,) and not x["a"].any() and x["b"].tolist() == [0, 1, 2, 3, 4]


class Rebuilt:
    """Pickled as a tensor with metadata, as PyTorch writes lazy conjugates and negatives."""

    def __init__(self, tensor, **metadata):
        self.args = (*torch._utils._reduce_plain(tensor)[1], metadata)

    def __reduce__(self):
        return torch._utils._rebuild_tensor_v2, self.args


def test_conjugate_and_negative():
    z = torch.tensor([1 + 2j, 3 - 4j])
    assert roundtrip(Rebuilt(z, conj=True)).tolist() == [1 - 2j, 3 + 4j]
    assert roundtrip(Rebuilt(torch.tensor([1.0, -2.0]), neg=True)).tolist() == [-1, 2]


def test_nested_modules():
    model = _nested(60, lambda inner: torch.nn.Sequential(inner or torch.nn.Linear(2, 2)))
    with torch.serialization.safe_globals([torch.nn.Sequential, torch.nn.Linear]):
        loaded = roundtrip(model)
    x = torch.ones(1, 2)
    assert torch.equal(loaded(x), model(x))


def test_numpy_values_that_the_program_allows():
    np = pytest.importorskip("numpy")
    values = [np.float64(3.5), np.int64(-2), np.arange(6).reshape(2, 3), np.array(1.5, dtype=np.float32)]
    f = io.BytesIO()
    torch.save(values, f)
    core = getattr(np, "_core", None) or np.core
    allowed = [
        core.multiarray.scalar,
        core.multiarray._reconstruct,
        np.ndarray,
        np.dtype,
        *{type(np.dtype(t)) for t in ("f4", "f8", "i8")},
    ]
    f.seek(0)
    names = torch.serialization.get_unsafe_globals_in_checkpoint(f)
    named = [(x, n) for n in names for x in allowed if n.rpartition(".")[2] == x.__name__]
    f.seek(0)
    with torch.serialization.safe_globals([*allowed, *named]):
        loaded = torch.load(f)
    assert [np.asarray(x).tolist() for x in loaded] == [np.asarray(x).tolist() for x in values]


def test_the_error_names_the_limit():
    for opcodes, text in (
        (b")" + b"\x85" * 2000, "nests objects more than 1000 deep"),
        (b"\x8f" * 200_000, "more than 4 times as much memory and 48 MB"),
    ):
        f = io.BytesIO()
        with zipfile.ZipFile(f, "w") as out:
            out.writestr("archive/data.pkl", b"\x80\x02" + opcodes + b".")
        f.seek(0)
        with pytest.raises(pickle.UnpicklingError, match=text):
            torch.load(f)


# ---- ordinary pickle and storages


def test_pickle():
    for x in (
        torch.ones(2, 3),
        torch.nn.Parameter(torch.ones(2)),
        torch.ones(2).requires_grad_(),
        torch.float16,
        torch.Size([1]),
        torch.device("cpu"),
        torch.strided,
        torch.contiguous_format,
    ):
        assert described(pickle.loads(pickle.dumps(x))) == described(x)


def test_tensor_with_attributes():
    x = torch.ones(2)
    x.note = "n"
    assert roundtrip(x).note == "n"


def test_storages():
    s = torch.arange(4, dtype=torch.uint8).untyped_storage()
    assert roundtrip(s).tolist() == [0, 1, 2, 3]
    typed = torch.FloatStorage([1, 2])
    assert (
        typed.tolist() == [1, 2] and isinstance(typed, torch.FloatStorage) and not isinstance(typed, torch.LongStorage)
    )
    with pytest.raises(RuntimeError, match="Cannot save multiple tensors or storages that view the same data"):
        x = torch.ones(2)
        roundtrip([x, x.view(torch.int32)])


# ---- real PyTorch reads our files


@pytest.mark.parametrize("args", [*FORMATS, {"pickle_protocol": 4}])
def test_pytorch_loads_ours(args, tmp_path):
    real = pytest.importorskip("torch")
    if real is torch:
        pytest.skip("torch is this package")
    torch.save(make_checkpoints.contents(torch), tmp_path / "x.pt", **args)
    x = real.load(tmp_path / "x.pt", weights_only="pickle_protocol" not in args)
    assert described(x, real) == FACTS["contents"]
    x["base"][1, 0] = -1.0
    assert x["view"][0, 0] == -1
    if not args:
        assert described(real.load(str(tmp_path / "x.pt"), mmap=True), real) == FACTS["contents"]


def test_pytorch_loads_our_model(tmp_path):
    real = pytest.importorskip("torch")
    if real is torch:
        pytest.skip("torch is this package")
    model = _model().eval()
    torch.save(model, tmp_path / "m.pt")
    torch.save(model.state_dict(), tmp_path / "s.pt")
    theirs = real.load(tmp_path / "m.pt", weights_only=False)
    x = real.arange(6.0).reshape(2, 3)
    expected = model(torch.arange(6.0).reshape(2, 3)).tolist()
    assert real.allclose(theirs(x), real.tensor(expected), atol=1e-6)
    state = real.load(tmp_path / "s.pt")
    assert isinstance(state, OrderedDict)
    theirs.load_state_dict(state)


# ---- the switches in the environment


@pytest.mark.parametrize(
    "safe, unsafe, weights_only, outcome",
    [
        ("0", "0", None, pickle.UnpicklingError),
        ("0", "1", None, "loads"),
        ("0", "YES", None, "loads"),
        ("0", "1", True, pickle.UnpicklingError),
        ("1", "0", False, pickle.UnpicklingError),
        ("true", "0", None, pickle.UnpicklingError),
        ("1", "1", None, RuntimeError),
        ("n", "n", False, "loads"),
    ],
)
def test_forced_weights_only(monkeypatch, safe, unsafe, weights_only, outcome):
    file = io.BytesIO()
    torch.save({"x": fractions.Fraction(1, 3)}, file)
    file.seek(0)
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", safe)
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", unsafe)
    if outcome != "loads":
        with pytest.raises(outcome):
            torch.load(file, weights_only=weights_only)
    elif weights_only is None:
        with pytest.warns(UserWarning, match="TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected"):
            assert torch.load(file) == {"x": fractions.Fraction(1, 3)}
    else:
        assert torch.load(file, weights_only=weights_only) == {"x": fractions.Fraction(1, 3)}


# ---- safetensors


def test_safetensors(tmp_path):
    from torchlite.utils import safetensors

    x = {
        "a": torch.arange(6.0).reshape(2, 3).t(),
        "b": torch.tensor([True, False]),
        "c": torch.tensor(1.5).to(torch.bfloat16),
        "d": torch.empty(0, 3),
        "e": torch.arange(3),
    }
    safetensors.save_file(x, tmp_path / "x.safetensors", metadata={"format": "pt"})
    y = safetensors.load_file(tmp_path / "x.safetensors")
    assert {k: (v.tolist(), v.dtype, v.shape) for k, v in y.items()} == {
        k: (v.tolist(), v.dtype, v.shape) for k, v in x.items()
    }
    assert torch.load(tmp_path / "x.safetensors")["e"].tolist() == [0, 1, 2]
    for broken in (b"", b"\xff" * 8, b"\x02" + bytes(7) + b"{", b"\x02\0\0\0\0\0\0\0{]"):
        with pytest.raises(safetensors.SafetensorError):
            safetensors.load(broken)


def test_room_for_data_that_comes_later():
    file = io.BytesIO()
    with torch.serialization.skip_data():
        torch.save({"a": torch.ones(3), "b": 2}, file)
    file.seek(0)
    loaded = torch.load(file)
    assert loaded["a"].tolist() == [0, 0, 0] and loaded["b"] == 2
    again = io.BytesIO()
    torch.save(torch.ones(2), again)
    again.seek(0)
    assert torch.load(again).tolist() == [1, 1]
    with pytest.raises(NotImplementedError, match="torchlite does not save fake tensors"):
        torch.serialization.skip_data(materialize_fake_tensors=True)


def test_generators_and_python_types_both_ways(tmp_path):
    """Protocol 2 writes range and int under their names of Python 2."""
    real = pytest.importorskip("torch")
    if real is torch:
        pytest.skip("torch is this package")
    for a, b in ((torch, real), (real, torch)):
        g = a.Generator().manual_seed(5)
        a.rand(3, generator=g)
        a.save({"g": g, "r": range(3), "t": int}, tmp_path / "g.pt")
        with b.serialization.safe_globals([b.Generator, range, int]):
            found = b.load(tmp_path / "g.pt")
        assert found["r"] == range(3) and found["t"] is int and found["g"].initial_seed() == 5
        assert b.rand(2, generator=found["g"]).tolist() == a.rand(2, generator=g).tolist()
        with pytest.raises(Exception, match=r"add_safe_globals\(\[.*\]\)"):
            b.load(tmp_path / "g.pt")
