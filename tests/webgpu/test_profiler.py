"""Kernels and their times in torch.profiler, and torch.webgpu.debug. The software adapter has timestamps. Two tests
show the warning where they are missing: on a device that is opened without them, and with a bridge that refuses."""

import json
import os
import re
import sys
import warnings

import pytest
import torchlite as torch
from torchlite import _C
from torchlite.profiler import DeviceType, ProfilerActivity, profile, record_function
from torchlite.webgpu.watch import names

pytestmark = pytest.mark.usefixtures("bridge")
PYODIDE = sys.platform == "emscripten"
BOTH = [ProfilerActivity.CPU, ProfilerActivity.WebGPU]


@pytest.fixture
def timed(bridge):
    if not bridge.set_timing(True):
        pytest.skip("the adapter has no timestamps")
    bridge.set_timing(False)
    return bridge


def kernels(p):
    return [e for e in p.events() if e.device_type is DeviceType.WebGPU]


def work(x):
    return (x * x + 1).relu(), x @ x


def test_kernels_with_their_times(timed, tmp_path):
    """A row for each kernel by what is in it; the calls of the program beside them, and what it spent waiting."""
    x = torch.randn(64, 64, device="webgpu")
    y = torch.randn(64, 64, device="webgpu")
    (x - y).cpu()
    with profile(activities=BOTH) as p:
        with record_function("part"):
            kept = work(x)
        kept[0].sum().item()
        z = y - 3  # pending until the end of the recording
    rows = {e.key: e for e in p.key_averages()}
    found = [e.name for e in kernels(p)]
    assert [n for n in found if n.startswith("matmul float32")] and any(
        n.startswith("fused relu(add(mul(a, a), c0)) float32") for n in found
    )
    assert any(n.startswith("fused sub(a, c0)") for n in found) and not any("sub(a, b)" in n for n in found)
    assert {
        "aten::mul",
        "aten::relu",
        "aten::matmul",
        "aten::sum",
        "aten::item",
        "webgpu::submit",
        "webgpu::read",
        "part",
    } <= rows.keys()
    assert rows["aten::mul"].device_time_total == 0 and rows["aten::mul"].device_type is DeviceType.CPU
    item = next(e for e in p.events() if e.name == "aten::item")
    assert "webgpu::read" in [c.name for c in item.cpu_children]
    for e in kernels(p):
        assert (
            e.cpu_time_total == 0
            and e.self_device_time_total == e.device_time_total >= 0
            and e.activity_type == "kernel"
        )
    assert p.use_device == "webgpu" and sum(e.device_time_total for e in kernels(p)) > 0
    table = p.key_averages().table(sort_by="self_webgpu_time_total", row_limit=-1)
    titles = [t for t in table.splitlines()[1].split("  ") if t]
    assert [t.strip() for t in titles] == [
        "Name",
        "Self CPU %",
        "Self CPU",
        "CPU total %",
        "CPU total",
        "CPU time avg",
        "Self WebGPU",
        "Self WebGPU %",
        "WebGPU total",
        "WebGPU time avg",
        "# of Calls",
    ]
    assert re.search(r"^Self WebGPU time total: \d", table, re.M)
    # by the GPU's clock one after the other, none before it was asked for
    spans = [e.time_range for e in kernels(p)]
    assert all(a.end <= b.start for a, b in zip(spans, spans[1:])) and spans[0].start >= 0
    p.export_chrome_trace(str(tmp_path / "t.json"))
    trace = json.loads((tmp_path / "t.json").read_text())
    assert [t["name"] for t in trace["traceEvents"] if t.get("cat") == "kernel"] == found and "gpu_clock" in trace
    assert {t["pid"] for t in trace["traceEvents"] if t.get("cat") == "kernel"} == {"WebGPU"}
    torch.testing.assert_close(z.cpu(), y.cpu() - 3)


def test_a_training_step(timed):
    torch.manual_seed(0)
    m = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3)).to("webgpu")
    opt = torch.optim.SGD(m.parameters(), lr=0.1)
    x, t = torch.randn(4, 8, device="webgpu"), torch.tensor([0, 1, 2, 1], device="webgpu")

    def step():
        opt.zero_grad()
        loss = torch.nn.functional.cross_entropy(m(x), t)
        loss.backward()
        opt.step()
        return loss.item()

    losses = [step()]
    with profile(
        activities=BOTH, record_shapes=True, schedule=torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=1)
    ) as p:
        for _ in range(4):
            losses.append(step())
            p.step()
    losses.append(step())
    assert losses == sorted(losses, reverse=True)
    rows = {e.key: e for e in p.key_averages()}
    assert (
        rows["ProfilerStep*"].count == rows["Optimizer.step#SGD.step"].count == 2 and rows["AddmmBackward0"].count == 4
    )
    assert rows["sgd count 4"].count == 2 and rows["sgd count 4"].device_type is DeviceType.WebGPU
    assert len(kernels(p)) % 2 == 0


def test_nothing_is_recorded_when_off(bridge):
    """No call is wrapped, nothing is noted, no pass is split."""
    x = torch.ones(8, device="webgpu")
    with profile(activities=BOTH):
        x.sum().item()
    with torch.webgpu.debug("kernels", "wgsl"):
        pass
    assert not {"run_at", "read", "synchronize", "plan", "upload"} & bridge.__dict__.keys() and not _C.profiling()
    before = bridge.stats()
    for i in range(3):
        (x * i).sum().data_ptr()  # asks for what nobody reads
        (x + i).prod().data_ptr()
    torch.webgpu.synchronize()
    after = bridge.stats()
    assert bridge.notes() == []
    found = bridge.spans()
    assert found["rows"] == [] and found["lost"] == 0
    assert (
        after["dispatches"] - before["dispatches"] == 6
        and after["passes"] - before["passes"] == after["submits"] - before["submits"]
    )


class Refusing:
    """set_timing answers as on an adapter without timestamp-query."""

    def __init__(self, bridge):
        self.bridge = bridge

    def __enter__(self):
        self.bridge.set_timing = lambda on: not on

    def __exit__(self, *exc):
        del self.bridge.set_timing


def test_without_timestamps(bridge, capsys):
    """One warning says why, and there are no columns for what is not known."""
    x = torch.ones(4, device="webgpu")
    with Refusing(bridge), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with profile(activities=BOTH) as p:
            assert (x + x).sum().item() == 8
        with torch.webgpu.debug("timing"):
            assert (x + x).sum().item() == 8
    assert len(said) == 1 and "timestamp-query" in str(said[0].message) and said[0].filename == __file__
    assert not kernels(p) and "WebGPU" not in p.key_averages().table()
    assert "webgpu::read" in {e.name for e in p.events()}
    assert "no timestamps" in capsys.readouterr().err


@pytest.mark.skipif(PYODIDE, reason="a second device needs a second process")
def test_a_device_without_the_feature():
    import remote

    other = remote.RemoteBridge(without=["timestamp-query"])
    try:
        assert not other.set_timing(True) and other.set_timing(False)
        assert other.times() == [] and other.spans()["rows"] == []
    finally:
        other.close()


def test_errors_of_the_program(bridge):
    """An index error that the GPU found is also raised at the end of a recording, which ends all the same."""
    x, i = torch.ones(4, device="webgpu"), torch.tensor([0, 9], device="webgpu")
    i = i + torch.zeros(2, dtype=torch.int64, device="webgpu")
    i = torch.sort(i)[0]
    p = profile(activities=BOTH)
    with pytest.raises(IndexError), p:
        y = x[i]
        y += 1
    assert not _C.profiling() and not torch.webgpu.watch.listeners._listeners
    with p:
        x.sum().item()
    assert "aten::sum" in {e.name for e in p.events()}


def test_missing_times_are_told(timed):
    """Where synchronous code cannot wait, a warning says how many batches are missing; the others are shown."""
    x = torch.ones(4, device="webgpu")
    spans = timed.spans
    timed.spans = lambda: {**spans(), "pending": 2}
    try:
        with (
            pytest.warns(UserWarning, match="times: those of the last 2 batches are missing"),
            profile(activities=BOTH) as p,
        ):
            (x * 2).sum().item()
    finally:
        del timed.spans
    assert kernels(p)


def test_async(timed):
    import asyncio

    async def main():
        async with profile(activities=BOTH) as p:
            y = torch.ones(16, device="webgpu") * 3
            assert (await y.sum().item_async()) == 48
        return kernels(p)

    if PYODIDE:
        from pyodide.ffi import run_sync

        assert run_sync(main())
    else:
        assert asyncio.run(main())


def test_interrupted_at_the_end(timed):
    from torchlite.webgpu.watch import listeners

    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        with profile(activities=BOTH) as p:
            torch.ones(4, device="webgpu") * 2
            timed.synchronize = interrupt
    timed.__dict__.pop("synchronize", None)
    assert not _C.profiling() and not listeners._listeners and any(e.name == "aten::mul" for e in p.events())
    with profile(activities=BOTH) as p:
        (torch.ones(4, device="webgpu") * 2).cpu()
    assert kernels(p)


@pytest.mark.skipif(PYODIDE, reason="the bridge of the page waits in another way")
def test_cancelled_at_the_end(timed):
    import asyncio

    async def work():
        async with profile(activities=BOTH):
            torch.ones(4, device="webgpu") * 2

    async def main():
        waiting = asyncio.Event()

        async def forever():
            waiting.set()
            await asyncio.sleep(60)

        timed.synchronize_async = forever
        try:
            task = asyncio.ensure_future(work())
            await waiting.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        finally:
            del timed.synchronize_async

    asyncio.run(main())
    assert not _C.profiling()


def lines(capsys):
    return [line for line in capsys.readouterr().err.splitlines() if line.startswith("[webgpu]")]


def test_debug_kernels(bridge, capsys):
    a, b, c = (torch.randn(8, 32, device="webgpu") for _ in range(3))
    torch.webgpu.synchronize()
    capsys.readouterr()
    with torch.webgpu.debug("kernels"):
        torch.relu(a * b + c).cpu()
        (a[:, ::2] * 2.5).sum(1).cpu()
        (a @ b.t()).cpu()
    said = lines(capsys)
    assert any(s.startswith("[webgpu] fused relu(add(mul(a, b), c)) float32  n=256  workgroups ") for s in said), said
    assert any("reduce sum(mul(a, 2.5)) float32" in s and "rows=8 n=16" in s for s in said), said
    assert any("matmul float32" in s and "M=8 N=8 K=32" in s for s in said), said
    torch.relu(a + b).cpu()
    assert not lines(capsys)


def test_debug_wgsl(bridge, capsys):
    x = torch.randn(8, device="webgpu")
    torch.webgpu.debug("wgsl")
    try:
        for _ in range(2):  # once: it is kept
            (x.sinh().cosh().atan().cos() * 1.5).cpu()
    finally:
        torch.webgpu.debug()
    said = capsys.readouterr().err
    assert said.count("[webgpu] wgsl of fused mul(cos(atan(cosh(sinh(a)))), c0) float32") == 1
    assert "@compute" in said and "fn main" in said
    assert not bridge.notes()


def test_debug_timing(timed, capsys):
    x = torch.randn(64, 64, device="webgpu")
    x.cpu()
    with torch.webgpu.debug("timing"):
        (x @ x).cpu()
        y = (x @ x).exp()
        torch.webgpu.synchronize()
    said = lines(capsys)
    heads = [s for s in said if "GPU time" in s]
    assert len(heads) == 2 and all(re.search(r"GPU time \d+\.\d{3} ms, kernels \d", s) for s in heads)
    assert sum("matmul float32" in s for s in said) == 2
    (y @ x).cpu()
    assert not lines(capsys)


def test_debug_fallbacks(bridge, capsys, monkeypatch):
    from torchlite.webgpu import fallback, registry

    row = torch.cumsum.overloads[0]
    assert row.body is None
    # as for an op that the GPU does not have
    monkeypatch.setitem(registry.PLANNERS, row.kernel, lambda ov, args: NotImplemented)
    monkeypatch.setattr(fallback, "strict", False)
    x = torch.eye(3, device="webgpu")
    with torch.webgpu.debug("fallbacks"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):
            assert torch.cumsum(x, 0).sum().item() == 6
    said = lines(capsys)
    assert (
        len(said) == 2
        and said[0].startswith("[webgpu] fallback: aten::cumsum runs on the CPU (")
        and os.path.basename(__file__) in said[0]
    )
    assert not fallback.on_fallback


def test_debug_nests_and_refuses(bridge, timed, capsys):
    x = torch.randn(8, device="webgpu")
    x.cpu()
    with pytest.raises(ValueError, match="'kernels', 'wgsl', 'timing', 'fallbacks', not 'kernel'"):
        torch.webgpu.debug("kernel")
    with torch.webgpu.debug("kernels"):
        with torch.webgpu.debug():
            (x + 1).cpu()
        assert not lines(capsys)
        with profile(activities=BOTH) as p, torch.webgpu.debug("kernels", "fallbacks"):
            (x + 2).cpu()
        (x + 3).cpu()
    assert len(lines(capsys)) == 2 and len(kernels(p)) == 1
    assert not bridge.notes() and not {"run_at", "read"} & bridge.__dict__.keys()


def test_environment(bridge, capsys, monkeypatch):
    from torchlite.webgpu.watch import debug

    monkeypatch.setenv("TORCHLITE_DEBUG", "kernels, nonsense")
    x = torch.randn(8, device="webgpu")
    torch.webgpu.synchronize()
    debug.from_environment()
    try:
        (x - 7).cpu()
    finally:
        torch.webgpu.debug()
    said = lines(capsys)
    assert "not 'nonsense'" in said[0] and any("sub(a, 7)" in s for s in said)


@pytest.mark.skipif(PYODIDE, reason="starts processes, which Pyodide has not")
def test_environment_from_the_start():
    import pathlib
    import subprocess

    here = pathlib.Path(__file__).resolve().parent
    code = "import remote\nremote.install()\nimport torchlite as torch\n(torch.ones(4).to('webgpu') * 5).cpu()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={
            **os.environ,
            "TORCHLITE_DEBUG": "kernels",
            "PYTHONPATH": os.pathsep.join([str(here), str(here.parents[1])]),
        },
    )
    assert done.returncode == 0 and "[webgpu] fused mul(a, 5) float32  n=4" in done.stderr, done.stderr


def test_names_of_kernels():
    """Kernels by what they compute, whatever their parameters are."""

    def graph(family, nodes, **params):
        return family + ":" + json.dumps({"inputs": [{"dtype": "float32", "layout": "c"}], "nodes": nodes, **params})

    out = [{"node": 1, "dtype": "float32", "layout": "c"}]
    cast = [{"in": 0}, {"op": "cast", "args": [0], "dtype": "float32"}]
    assert names.describe(graph("fused", cast, outputs=out)) == "fused copy(a) float32"
    half = [{"in": 0}, {"op": "cast", "args": [0], "dtype": "float16"}]
    assert names.describe(graph("fused", half, outputs=[{"node": 1, "dtype": "float16"}])) == "fused float16(a) float16"
    deep = [{"in": 0}, *({"op": "add", "args": [k, k], "dtype": "float32"} for k in range(60))]
    assert len(names.describe(graph("fused", deep, outputs=[{"node": 60, "dtype": "float32"}]))) < names.LONGEST + 20
    assert names.describe(
        'conv:{"kernel":[3,3],"stride":[1,1],"padding":[1,1],"pass":"forward","dtype":"float32","tile":"direct"}'
    ) == ("conv kernel 3x3 padding 1x1 forward float32")
    assert names.describe('softmax:{"log":true,"dtype":"float32","out":"float32","lanes":8}') == "softmax log float32"
    after = {
        "ndim": 0,
        "inputs": [{"dtype": "float32", "layout": "c"}],
        "outputs": [{"node": 3, "dtype": "float32"}],
        "nodes": [
            {"product": "float32"},
            {"in": 0},
            {"op": "add", "args": [0, 1], "dtype": "float32"},
            {"op": "relu", "args": [2], "dtype": "float32"},
        ],
    }
    product = {"a": "float32", "b": "float32", "out": "float32", "tile": "thin", "bias": "float32", "after": after}
    assert names.describe("matmul:" + json.dumps(product)) == "matmul float32 bias then relu(add(product, a))"
    product["second"] = {
        "ndim": 0,
        "inputs": [{"dtype": "int8", "layout": "c"}],
        "nodes": [{"in": 0}, {"op": "cast", "args": [0], "dtype": "float32"}],
    }
    assert (
        names.describe("matmul:" + json.dumps(product))
        == "matmul float32 bias then relu(add(product, a)) of second float32(a)"
    )
    for odd in ("torchlite.fill", "x:{", "x:[1]", "x:1", "x:{}", "x:" + json.dumps({"nodes": []})):
        assert names.describe(odd)
