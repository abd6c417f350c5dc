"""The Playground's pictures and explanations: HTML of tensors and modules, PNG, charts, hints, names to complete."""

import importlib
import json
import pathlib
import re
import struct
import sys
import zlib

import pytest
import torchlite

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def parts(monkeypatch):
    """The Playground's Python modules, with torchlite as torch."""
    monkeypatch.setitem(sys.modules, "torch", torchlite)
    monkeypatch.syspath_prepend(str(ROOT / "demos" / "playground" / "python"))
    return lambda name: importlib.import_module(f"playground.{name}")


@pytest.fixture
def shown(parts, monkeypatch):
    """What was sent to the page: (html, key)."""
    sent = []
    monkeypatch.setattr(parts("display"), "_send", lambda html, key: sent.append((html, key)))
    return sent


def facts(html):
    return dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", html))


@pytest.mark.parametrize(
    "make, wanted",
    [
        (lambda t: t.tensor([1.0, 2.0, 4.0]), {"shape": "3", "min": "1", "max": "4", "mean": "2.333", "std": "1.528"}),
        (lambda t: t.tensor([[1, -5]]), {"shape": "1×2", "dtype": "torch.int64", "min": "-5", "mean": "-2"}),
        (lambda t: t.tensor([True, False, True]), {"true": "2 of 3"}),
        (lambda t: t.tensor([1.0, float("nan"), float("inf")]), {"NaN": "1", "infinite": "1", "max": "1"}),
        (lambda t: t.tensor([float("nan")] * 2), {"NaN": "2", "infinite": "0"}),
        (lambda t: t.ones(2, requires_grad=True) * 2, {"gradient": "MulBackward0"}),
        (lambda t: t.zeros(0, 3), {"shape": "0×3"}),
        (lambda t: t.tensor(3.5), {"shape": "()"}),
        (lambda t: t.tensor([1 + 2j, 3j]), {"dtype": "torch.complex64"}),
        (lambda t: t.ones(3, 3).to_sparse(), {"shape": "3×3"}),
        (lambda t: t.ones(4).to(t.float8_e4m3fn), {"dtype": "torch.float8_e4m3fn", "mean": "1"}),
    ],
)
def test_tensor(parts, make, wanted):
    found = facts(parts("rich").html_of(make(torchlite)))
    assert {key: found.get(key) for key in wanted} == wanted


def pixels(url):
    """(width, height, rows) of a PNG in a data URL."""
    import base64

    data = base64.b64decode(url.partition(",")[2])
    width, height, _, kind = struct.unpack(">IIBB", data[16:26])
    body, at = b"", 8
    while at < len(data):
        (size,) = struct.unpack(">I", data[at : at + 4])
        name, content = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        assert struct.unpack(">I", data[at + 8 + size : at + 12 + size])[0] == zlib.crc32(name + content)
        body += content if name == b"IDAT" else b""
        at += 12 + size
    raw = zlib.decompress(body)
    line = width * {0: 1, 2: 3, 6: 4}[kind] + 1
    return width, height, [list(raw[i * line + 1 : (i + 1) * line]) for i in range(height)]


def test_pictures(parts):
    picture = parts("picture")
    gray = torchlite.linspace(0, 1, 64).view(1, 8, 8)
    width, height, rows = pixels(picture.encode(gray)[0])
    assert (width, height) == (8, 8) and rows[0][0] == 0 and rows[7][7] == 255
    colour = torchlite.zeros(3, 6, 7, dtype=torchlite.uint8)
    colour[1, 2, 3] = 200
    width, height, rows = pixels(picture.encode(colour)[0])
    assert (width, height) == (7, 6) and rows[2][9:12] == [0, 200, 0]
    # numbers beyond 0 to 1: a map from the least to the greatest
    url, low, high = picture.encode(torchlite.arange(64.0).view(1, 8, 8) - 10)
    rows = pixels(url)[2]
    assert (low, high) == (-10, 53) and rows[0][:3] == [68, 1, 84] and rows[7][-3:] == [253, 231, 37]
    large = picture.encode(torchlite.zeros(1, 2000, 100))[0]
    assert pixels(large)[1] <= picture.LARGEST
    for shape, wanted in [
        ((28, 28), (1, 1, 28, 28)),
        ((3, 8, 8), (1, 3, 8, 8)),
        ((16, 1, 8, 8), (16, 1, 8, 8)),
        ((5, 8, 8), (5, 1, 8, 8)),
        ((3, 4), None),
        ((2, 7, 8, 8), None),
        ((100,), None),
    ]:
        assert picture.images_in(shape, True) == wanted
    html = parts("rich").html_of(torchlite.rand(20, 3, 16, 16))
    assert html.count("<img") == 16 and "4 more are left out" in html


def test_modules(parts, shown):
    nn = torchlite.nn
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Flatten(), nn.LazyLinear(10))
    model[0].bias.requires_grad = False
    html = parts("rich").html_of(model)
    assert facts(html)["parameters"] == "224" and facts(html)["trained"] == "216"
    assert "bias 8 frozen" in html and "not shaped yet" in html
    model.train()
    state = torchlite.get_rng_state()
    parts("rich").summary(model, torchlite.rand(2, 3, 6, 6))
    html = shown[0][0]
    assert "<td>2×8×4×4</td>" in html and "<td>2×10</td>" in html and "1,290" in html
    assert model.training and not model[0]._forward_hooks
    assert state.shape == torchlite.get_rng_state().shape

    class Own(nn.Module):
        def _repr_html_(self):
            return "<i>own</i>"

    assert parts("rich").html_of(Own()) == "<i>own</i>"
    assert parts("rich").html_of("<b>") == "<pre>&#x27;&lt;b&gt;&#x27;</pre>"


def test_charts(parts, shown):
    charts = parts("charts")
    charts.plot([3, 1, 2], title="A <b>", key="k")
    html, key = shown.pop()
    assert key == "k" and "A &lt;b&gt;" in html and html.count("<polyline") == 1
    charts.plot({"a": torchlite.arange(5000.0), "b": [1, float("nan"), 2]}, log=True)
    html = shown.pop()[0]
    points = [p.split() for p in re.findall(r'points="(.*?)"', html)]
    assert len(points[0]) <= charts.POINTS and len(points[1]) == 2
    charts.plot([1.0, 2.0], [5.0, 5.0])
    charts.plot([])
    charts.scatter(torchlite.rand(10, 2), color=[0, 1] * 5)
    html = shown.pop()[0]
    assert html.count("<circle") == 10 and html.count('class="points') == 2
    charts.bars([1, -2, 0.5], labels=["x", "y", "z"])
    assert shown.pop()[0].count("<rect") == 3
    with pytest.raises(ValueError, match="x has 2 values and y has 3"):
        charts.plot([1, 2], [1, 2, 3])
    for low, high in [(0, 1), (-3, 1e6), (1e-9, 2e-9), (5, 5.0001)]:
        ticks = charts.nice(low, high, 5)
        assert 2 <= len(ticks) <= 11 and low <= ticks[0] + 1e-15 and ticks[-1] <= high * (1 + 1e-12)


def test_matplotlib(shown, parts, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setenv("MPLBACKEND", "module://playground.figures")
    import matplotlib.pyplot as plt

    plt.switch_backend("module://playground.figures")
    plt.plot(torchlite.arange(3.0))
    plt.title("A < b")
    plt.show()
    html, _ = shown.pop()
    assert 'alt="A &lt; b"' in html and "data:image/png;base64," in html and plt.get_fignums() == []
    figure, axes = plt.subplots()
    axes.imshow(torchlite.rand(8, 8))
    assert parts("rich").html_of(figure).startswith("<img")
    plt.show()
    assert shown == []


def raised(source, name="script.py", **names):
    """The error of a script."""
    import linecache

    linecache.cache[name] = (len(source), None, [line + "\n" for line in source.split("\n")], name)
    with pytest.raises(Exception) as caught:
        exec(compile(source, name, "exec"), {"torch": torchlite, **names})
    return caught.value


@pytest.mark.parametrize(
    "source, wanted",
    [
        ("import no_such_module", ["There is no module no_such_module"]),
        ("torch.ones(2, 3) @ torch.ones(4, 5)", ['<b class="bad">3</b>', '<b class="bad">4</b>', "3 columns"]),
        (
            "a = torch.ones(2, 3)\nb = torch.ones(4)\na + b",
            ["3 and 4 differ", "<th>a</th><td>2×3", '<small>b</small><b class="bad">4</b>'],
        ),
        ("torch.nn.Conv2d(3, 4, 3)(torch.ones(1, 1, 8, 8))", ["3 are expected, 1 were given"]),
        ("x = torch.ones(6)\nx.view(4, -1)", ["6 must divide by 4", "<th>x</th>"]),
        ("torch.ones(1).sum().backward()", ["requires_grad"]),
        ("torch.empty(10**13)", ["The script asked for 40000.0 GB", "Smaller batches"]),
        ("open('gone.csv')", ["Drop a file onto the page"]),
        (
            "net = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Linear(4, 2))\ndef go(x):\n    return net(x)\n"
            "go(torch.ones(3, 5))",
            ["<th>net.1</th><td>Linear(in_features=4, out_features=2", "<th>x</th><td>3×5"],
        ),
        ("torch.optim.adam([torch.ones(1)])", ["adam is a module", "Did you mean torch.optim.Adam?"]),
        ("import datetime\ndatetime(2026, 1, 1)", ["Did you mean datetime.datetime?"]),
        ("import re\nre(1)", []),
        ("model = torch.nn.Linear(1, 1)\ntorch.optim.SGD(model)", ["model.parameters()"]),
        ("class M(torch.nn.Module):\n    def __init__(self):\n        pass\nM()(1)", ["super().__init__()"]),
        ("torch.ones(2).to('gpu')", ["torch.webgpu.is_available()"]),
        ("{}['a']", []),
        ("raise ValueError('<script>')", []),
    ],
)
def test_hints(parts, source, wanted):
    html = parts("hints").hint(raised(source), "script.py")
    assert all(part in html for part in wanted) and bool(html) == bool(wanted), html


ADVISED = """F.cross_entropy(torch.randn(4, 3), torch.tensor([0, 1, 2, 3])) -> classes 0 to C - 1
F.cross_entropy(torch.randn(4, 3), torch.tensor([0, 1, 2, -1])) -> ignore_index=-1
F.cross_entropy(torch.randn(4, 3), torch.ones(4)) -> target.long()
F.cross_entropy(torch.randn(4, 3), torch.ones(4, 1).long()) -> target.squeeze(1)
F.cross_entropy(torch.randn(4, 3), torch.ones(4, 3).long()) -> target.argmax(1)
F.binary_cross_entropy(torch.rand(4), torch.ones(4).long()) -> target.float()
F.binary_cross_entropy_with_logits(torch.rand(4), torch.ones(4).long()) -> target.float()
F.binary_cross_entropy_with_logits(torch.rand(4, 1), torch.ones(4)) -> scores.squeeze(1)
F.binary_cross_entropy(torch.rand(4, 1), torch.ones(4)) -> scores.squeeze(1)
F.binary_cross_entropy(torch.ones(4) + 1, torch.ones(4)) -> torch.sigmoid(scores)
nn.CrossEntropyLoss(torch.randn(4, 3), torch.ones(4).long()) -> CrossEntropyLoss()(scores, target)
torch.ones(1).sum().backward() -> torch.no_grad()
(loss := W.exp().sum()).backward(), loss.backward() -> detach()
W.add_(1) -> with torch.no_grad()
W[0].add_(1) -> with torch.no_grad()
(y := W.exp(), y.add_(1)), y.sum().backward() -> x = x + 1
W.exp().backward() -> loss.mean().backward()
torch.optim.SGD([W * 2]) -> requires_grad_()
torch.optim.SGD(W) -> [w]
torch.optim.SGD([]) -> nn.ModuleList
torch.ones(2, 2) @ torch.ones(2, 2).double() -> x.float()
nn.Linear(2, 2)(torch.ones(2, 2).double()) -> x.float()
nn.Conv2d(3, 4, 3)(torch.ones(1, 3, 8, 8).byte()) -> x.float()
nn.Embedding(3, 4)(torch.ones(2)) -> index.long()
nn.Embedding(3, 4)(torch.tensor([3])) -> 0 to n - 1
torch.ones(3)[torch.ones(1)] -> index.long()
torch.ones(2, 3).gather(1, torch.tensor([1, 2])) -> index.unsqueeze(1)
torch.arange(3).mean() -> x.float().mean()
torch.tensor([torch.ones(2), torch.ones(2)]) -> torch.stack
torch.tensor([[1, 2], [3]]) -> pad_sequence
torch.stack([torch.ones(2), torch.ones(3)]) -> pad_sequence
torch.tensor(["a"]) -> each text a number
torch.ones(2).item() -> x.tolist()
len(torch.tensor(1)) -> x.item()
list(torch.max(torch.ones(2, 2))) -> torch.max(x, 1)
torch.ones(2).shape() -> x.shape
torch.ones(2).size[0] -> x.size()[0]
nn.Module()(1) -> forward(self, x)
nn.Linear.__new__(nn.Linear)(1) -> super().__init__()
nn.ModuleList([nn.ReLU()])(1) -> one by one
nn.Sequential([nn.ReLU()]) -> *layers
nn.Sequential(F.relu) -> nn.ReLU()
nn.Linear(4, 1)(nn.LSTM(3, 4)(torch.ones(2, 1, 3))) -> output, state
nn.Linear(2, 2)([1.0, 2.0]) -> dtype=torch.float32
nn.BatchNorm1d(3)(torch.ones(1, 3)) -> model.eval()
nn.Linear(1, 1).load_state_dict({"module.weight": W, "module.bias": W}) -> removeprefix(&quot;module.&quot;)
nn.Linear(1, 1).load_state_dict({"_orig_mod.weight": W, "_orig_mod.bias": W}) -> _orig_mod.
nn.Linear(1, 1).load_state_dict("net.pt") -> torch.load(path)
nn.Linear(1, 1).load_state_dict(nn.Linear(1, 1)) -> state_dict()
W.grad.zero_() -> x.grad is None"""


def mistake(line):
    """The error of a line's program, and the words that the advice has to have."""
    source, _, wanted = line.partition(" -> ")
    nn = torchlite.nn
    return raised(source, nn=nn, F=nn.functional, W=torchlite.ones(2, requires_grad=True)), wanted


@pytest.mark.parametrize("line", ADVISED.splitlines(), ids=lambda line: line.partition(" -> ")[0])
def test_advice(parts, line):
    """What people who port code get wrong, and words of the answer."""
    error, wanted = mistake(line)
    html = parts("hints").hint(error, "script.py")
    assert wanted in html, html


def test_every_advice_is_tested(parts):
    elsewhere = ("same device", "can't convert np.ndarray")  # two devices; numpy
    patterns = [pattern for pattern, _ in parts("advice").ADVICE]
    texts = [str(mistake(line)[0]) for line in ADVISED.splitlines()]
    used = {next(pattern for pattern in patterns if re.search(pattern, text)) for text in texts}
    assert [pattern for pattern in patterns if pattern not in used and not pattern.startswith(elsewhere)] == []


def test_advice_on_arrays(parts):
    np = pytest.importorskip("numpy")
    html = parts("hints").hint(raised("torch.tensor(np.array([1, None]))", np=np), "script.py")
    assert "array.astype" in html


def test_reasons(parts):
    packages = parts("packages")
    assert "needs a native wheel" in packages.reason("x", "ValueError: Can't find a pure Python 3 wheel for 'x'")
    assert "did not answer" in packages.reason("x", "ValueError: Can't fetch metadata for 'x'.")
    assert "odd" in packages.reason("x", "ValueError: something odd")
    assert packages.available("json") and not packages.available("no_such_module")


def test_names(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "demos" / "playground"))
    table = importlib.import_module("names").table()
    text = json.dumps(table)
    assert len(text) < 300_000
    for path, start in {
        "torch.cat": "(tensors: Sequence[Tensor]",
        "torch.nn.Linear": "(in_features, out_features",
        "torch.nn.MaxPool2d": "(kernel_size, stride",
        "torch.nn.functional.relu": "(input: Tensor",
        "torch.nn.Module.parameters": "(recurse: bool=True)",
        "torch.optim.Adam": "(params, lr=0.001",
        "torch.Tensor.view": "(size: int",
        "torch.Tensor.shape": "Size",
    }.items():
        module, _, name = path.rpartition(".")
        assert table[module][name][1].startswith(start), (path, table[module][name])
    # what completion offers is there
    for path, entries in table.items():
        there = torchlite
        for part in path.split(".")[1:]:
            there = getattr(there, part)
        if isinstance(there, type):  # what its instances get in __init__ is not the class's
            entries = {name: entry for name, entry in entries.items() if entry[0] == "f"}
        assert [name for name in entries if not hasattr(there, name)] == [], path
