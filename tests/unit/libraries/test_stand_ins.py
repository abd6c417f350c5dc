"""The stand-ins for the compiled operators of torchvision and torchaudio, beside what those compute."""

import importlib.util
import io
import json
import pathlib
import sys
import types

import pytest

import torchlite as torch

GOLDENS = pathlib.Path(__file__).parents[2] / "goldens"
ROWS = json.loads((GOLDENS / "libraries.json").read_text())
spec = importlib.util.spec_from_file_location("make_libraries", GOLDENS / "make_libraries.py")
recipe = importlib.util.module_from_spec(spec)
spec.loader.exec_module(recipe)


@pytest.fixture(scope="module")
def load(tmp_path_factory):
    """Loads a library by the path that it has in its package; the file itself is never read."""
    if importlib.util.find_spec("torchlite._libraries.vision") is None:  # in a page they come with other wheels
        module = sys.modules["torchlite_libraries"] = types.ModuleType("torchlite_libraries")
        module.__path__ = [str(pathlib.Path(__file__).parents[3] / "torchlite" / "_libraries")]

    def load(path):
        file = tmp_path_factory.getbasetemp() / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
        torch.ops.load_library(file)

    return load


@pytest.fixture(scope="module")
def names(load):
    load("torchvision/_C.so")
    load("torchaudio/lib/libtorchaudio.abi3.so")
    made = {"torch": torch, "vision": torch.ops.torchvision, "audio": torch.ops.torchaudio}
    exec(recipe.SETUP, made)
    return made


def compare(value, expected):
    if isinstance(value, (tuple, list)):
        assert len(value) == len(expected)
        for one, other in zip(value, expected):
            compare(one, other)
        return
    shape, numbers = expected
    assert list(value.shape) == shape
    wanted = torch.tensor(numbers, dtype=torch.float64).view(shape)
    torch.testing.assert_close(value.double(), wanted, rtol=1e-4, atol=2e-5, equal_nan=True)


@pytest.mark.parametrize("case, expected", ROWS, ids=[row[0][:40] for row in ROWS])
def test_as_the_compiled_operator(names, case, expected):
    compare(eval(case, dict(names)), expected)


def test_every_case_is_recorded():
    assert [row[0] for row in ROWS] == recipe.CASES


def test_blocks_of_a_recursive_filter_are_the_samples_one_by_one(names):
    signal, poles = torch.linspace(-1, 1, 300).view(1, 1, 300), torch.tensor([[0.81, -1.7, 1.0]])
    out = torch.zeros(1, 1, 302)
    torch.ops.torchaudio._lfilter_core_loop(signal, poles, out)
    before = [0.0, 0.0]
    for x in signal.flatten().tolist():
        before.append(x - 0.81 * before[-2] + 1.7 * before[-1])
    torch.testing.assert_close(out.flatten(), torch.tensor(before), rtol=1e-4, atol=1e-3)


def test_wrong_boxes_are_refused(names):
    nms = torch.ops.torchvision.nms
    with pytest.raises(RuntimeError, match="boxes should be a 2d tensor, got 1D"):
        nms(torch.ones(4), torch.ones(1), 0.5)
    with pytest.raises(NotImplementedError, match="\"nms_kernel\" not implemented for 'Half'"):
        nms(torch.ones(2, 4).half(), torch.ones(2).half(), 0.5)
    with pytest.raises(RuntimeError, match="same number of elements in dimension 0, got 2 and 3"):
        nms(torch.ones(2, 4), torch.ones(3), 0.5)
    with pytest.raises(NotImplementedError, match="no quantized tensors"):
        torch.ops.torchvision.qnms(torch.ones(2, 4), torch.ones(2), 0.5)


def test_more_boxes_than_a_block(names):
    """As if one looked at each pair."""
    boxes = torch.cat([names["wave"](700, 2, step=0.9) * 30 + 30, names["wave"](700, 2, step=0.9) * 30 + 38], 1)
    scores = names["wave"](700, step=1.1)
    kernel = torch.ops.torchvision.nms.default._entry.kernels["CompositeExplicitAutograd"]
    overlaps = sys.modules[kernel.__module__].overlaps
    over = (overlaps(boxes, boxes) > 0.4).tolist()
    kept = []
    for i in scores.argsort(stable=True, descending=True).tolist():
        if not any(over[k][i] for k in kept):
            kept.append(i)
    assert len(kept) > 20
    assert torch.ops.torchvision.nms(boxes, scores, 0.4).tolist() == kept


def test_other_libraries_are_refused(tmp_path):
    file = tmp_path / "mine.so"
    file.touch()
    with pytest.raises(OSError, match="does not load libraries of compiled operators"):
        torch.ops.load_library(file)
    with pytest.raises(OSError, match="cannot open shared object file"):
        torch.ops.load_library(tmp_path / "none.so")


def test_images(load, tmp_path):
    image = pytest.importorskip("PIL.Image", reason="Pillow reads and writes the images")
    load("torchvision/image.so")
    ops = torch.ops.image
    pixels = (torch.arange(3 * 7 * 9) % 251).to(torch.uint8).view(3, 7, 9)
    png = ops.encode_png(pixels, 6)
    assert torch.equal(ops.decode_png(png, 0), pixels) and torch.equal(ops.decode_image(png, 3), pixels)
    red, green, blue = pixels.int()
    assert torch.equal(ops.decode_image(png, 1)[0].int(), (red * 9794 + green * 19234 + blue * 3740) >> 15)
    assert ops.decode_image(png, 4)[3].unique().tolist() == [255]
    ops.write_file(str(tmp_path / "a.png"), png)
    assert torch.equal(ops.read_file(str(tmp_path / "a.png")), png)
    jpeg = ops.decode_jpeg(ops.encode_jpeg(torch.full((3, 16, 16), 90, dtype=torch.uint8), 95), 0)
    assert jpeg.shape == (3, 16, 16) and (jpeg.int() - 90).abs().max() <= 2
    out = io.BytesIO()
    turn = image.Exif()
    turn[0x0112] = 6
    image.frombytes("L", (9, 7), bytes(pixels[0].flatten().tolist())).save(out, "PNG", exif=turn)
    stored = torch.frombuffer(bytearray(out.getvalue()), dtype=torch.uint8)
    assert torch.equal(ops.decode_image(stored, 0, True)[0], pixels[0].T.flip(1))
    with pytest.raises(RuntimeError, match="Unsupported image file"):
        ops.decode_image(torch.zeros(9, dtype=torch.uint8), 0)
    with pytest.raises(RuntimeError, match="number of channels should be 1 or 3, got: 2"):
        ops.encode_png(pixels[:2], 6)


def test_autocast_takes_the_kernel_for_it():
    with torch.library._scoped_library("stand_in_test", "FRAGMENT") as lib:
        lib.define("twice(Tensor x) -> Tensor")
        lib.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")
        keys = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)

        def cast(x):
            with torch._C._ExcludeDispatchKeyGuard(keys):
                return torch.ops.stand_in_test.twice(x.bfloat16())

        lib.impl("twice", cast, "AutocastCPU")
        x = torch.ones(2)
        assert torch.ops.stand_in_test.twice(x).dtype is torch.float32
        with torch.autocast("cpu"):
            assert torch.ops.stand_in_test.twice(x).dtype is torch.bfloat16
    with pytest.raises(NotImplementedError, match="those of CPU"):
        torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(torch._C.DispatchKey.CPU))


def test_register_autocast():
    with torch.library._scoped_library("stand_in_test", "FRAGMENT") as lib:
        lib.define("same(Tensor x, Tensor[] y) -> Tensor")
        lib.impl("same", lambda x, y: x + y[0], "CompositeExplicitAutograd")
        torch.library.register_autocast("stand_in_test::same", "cpu", torch.float16)
        x = torch.ones(2)
        with torch.autocast("cpu"):
            assert torch.ops.stand_in_test.same(x, [x]).dtype is torch.float16
        with pytest.raises(ValueError, match="Unknown device type: tpu"):
            torch.library.register_autocast("stand_in_test::same", "tpu", torch.float16)


def test_checks():
    torch._check(True)
    with pytest.raises(RuntimeError, match="^a text$"):
        torch._check(False, lambda: "a text")
    with pytest.raises(RuntimeError, match="Expected cond to be True"):
        torch._check(False)
    for name, error in (("index", IndexError), ("value", ValueError), ("type", TypeError)):
        with pytest.raises(error, match="^no$"):
            getattr(torch, "_check_" + name)(False, lambda: "no")
    with pytest.raises(TypeError, match="cond must be a bool, but got a Tensor"):
        torch._check(torch.ones(1) > 0)
    with pytest.raises(RuntimeError, match="^some$"):
        torch._check_tensor_all(torch.tensor([True, False]), lambda: "some")
    with pytest.warns(FutureWarning, match="_check_is_size will be removed"):
        torch._check_is_size(3)
