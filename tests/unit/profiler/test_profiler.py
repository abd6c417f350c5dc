"""torch.profiler: the same script in PyTorch and here, names, nesting, columns, schedules;
and that nothing is recorded otherwise."""

import gzip
import importlib
import json
import sys
import threading
import warnings
import weakref

import pytest
import torchlite
import torchlite.profiler
from torchlite import _C

PARAMS = ("wait", "warmup", "active", "repeat", "skip_first")


def training(torch, **options):
    """One training step of a small model, profiled; (profile, events without PyTorch's low-level ops)."""
    profiler = importlib.import_module(torch.__name__ + ".profiler")
    torch.manual_seed(0)
    m = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    opt = torch.optim.SGD(m.parameters(), lr=0.1)
    x = torch.randn(3, 4)
    with profiler.profile(activities=[profiler.ProfilerActivity.CPU], **options) as p:
        opt.zero_grad()
        with profiler.record_function("forward"):
            loss = m(x).pow(2).sum()
        loss.backward()
        opt.step()
    return p


@pytest.fixture(scope="module")
def theirs():
    torch = pytest.importorskip("torch")
    return training(torch, record_shapes=True)


@pytest.fixture(scope="module")
def ours():
    return training(torchlite, record_shapes=True)


def tops(p):
    return [e for e in p.events() if e.cpu_parent is None]


def columns(p, **options):
    lines = p.key_averages(**options).table(row_limit=2).splitlines()
    return lines[1].split("  "), lines[-1].split(":")[0]


def test_columns(ours, theirs):
    for options in ({}, {"group_by_input_shape": True}):
        (names, end), (want, want_end) = columns(ours, **options), columns(theirs, **options)
        assert [n.strip() for n in names if n.strip()] == [n.strip() for n in want if n.strip()] and end == want_end


def test_the_same_script_has_the_same_rows(ours, theirs):
    """Blocks, steps of the optimizer, and the backward functions in their nesting;
    a product with a bias keeps its matrix as it is here, so there is no TBackward0."""

    def rows(p):
        return sorted(
            e.name
            for e in tops(p)
            if "TBackward0" not in e.name and not e.name.startswith("aten::") or e.name == "aten::ones_like"
        )

    assert rows(ours) == rows(theirs)
    for p in (ours, theirs):
        for e in tops(p):
            if e.name.startswith("autograd::engine::evaluate_function: "):
                assert e.cpu_children[0].name == e.name.partition(": ")[2] and (e.cpu_children[0].scope, e.scope) == (
                    1,
                    0,
                )
    below = [
        [(c.name, c.input_shapes) for e in tops(p) if e.name == "forward" for c in e.cpu_children]
        for p in (ours, theirs)
    ]
    assert below[0] == below[1]
    shapes = [
        {
            e.name: e.input_shapes
            for e in p.events()
            if e.name.endswith("Backward0") and ":" not in e.name and e.name != "TBackward0"
        }
        for p in (ours, theirs)
    ]
    assert shapes[0] == shapes[1]


def test_fields(ours, theirs):
    """What a FunctionEvent and a FunctionEventAvg of PyTorch have and users read."""
    left_out = {
        "append_cpu_child",
        "append_kernel",
        "set_cpu_parent",
        "cuda_time",
        "cuda_time_total",
        "self_cuda_time_total",
        "self_cuda_memory_usage",
        "metadata_json",
        "event_metadata",
        "external_id",
        "linked_correlation_id",
        "flow_id",
        "flow_start",
        "flow_type",
        "python_id",
        "python_module_id",
        "python_parent_id",
        "self_cpu_percent",
        "structured_input_strides",
        "total_cpu_percent",
        "total_device_percent",
    }
    for ours_, theirs_ in ((ours.events()[0], theirs.events()[0]), (ours.key_averages()[0], theirs.key_averages()[0])):
        names = {n for n in dir(theirs_) if not n.startswith("_")} - left_out
        assert not {n for n in names if not hasattr(ours_, n)}
    e = next(e for e in ours.events() if e.name == "forward")
    assert e.is_user_annotation and e.scope == 7 and e.count == 1 and str(e.device_type) == "DeviceType.CPU"
    assert "name=forward" in repr(e) and "cpu_children=[" in repr(e)


def test_times_add_up(ours):
    for e in ours.events():
        assert e.self_cpu_time_total >= 0 and e.cpu_time_total == pytest.approx(
            e.self_cpu_time_total + sum(c.cpu_time_total for c in e.cpu_children)
        )
        if e.cpu_parent is not None:
            assert (
                e.cpu_parent.time_range.start <= e.time_range.start and e.time_range.end <= e.cpu_parent.time_range.end
            )
    rows = {a.key: a for a in ours.key_averages()}
    assert rows["aten::linear"].count == 2 and rows["AddmmBackward0"].count == 2
    assert ours.key_averages().self_cpu_time_total == pytest.approx(sum(e.cpu_time_total for e in tops(ours)))
    assert ours.key_averages().total_average().key == "Total"
    assert {str(a.input_shapes) for a in ours.key_averages(group_by_input_shape=True) if a.key == "aten::linear"} == {
        "[[3, 4], [8, 4], [8]]",
        "[[3, 8], [2, 8], [2]]",
    }


def test_table_is_theirs():
    """Equal events give the same text, in every unit and with every column."""
    util = pytest.importorskip("torch").autograd.profiler_util
    mine = torchlite.autograd.profiler_util

    def events(m):
        made = m.EventList(
            [
                m.FunctionEvent(
                    i + 1,
                    name,
                    1,
                    start,
                    end,
                    overload_name="",
                    input_shapes=[[i, 2], []],
                    stack=stack,
                    cpu_memory_usage=mem,
                    is_user_annotation=False,
                    flops=0,
                )
                for i, (name, start, end, stack, mem) in enumerate(
                    [
                        ("aten::add", 0.0, 12.5, [], 0),
                        ("aten::a_name_that_is_longer_than_the_column_takes_at_all_" * 2, 20.0, 3000.25, [], 2048),
                        ("aten::add", 4000.0, 4e6, [], 5 << 20),
                        ("aten::mm", 4e6, 4e6 + 1e3, [], -(3 << 30)),
                    ]
                )
            ],
            profile_memory=True,
        )
        made._tree_built = True
        return made

    for options in (
        {},
        {"sort_by": "cpu_time_total"},
        {"sort_by": "self_cuda_time_total", "row_limit": 1},
        {"time_unit": "ms", "header": "title"},
        {"top_level_events_only": True, "max_name_column_width": 20},
        {"sort_by": "count", "row_limit": -1, "max_shapes_column_width": 5},
    ):
        assert events(mine).table(**options) == events(util).table(**options)
        assert events(mine).key_averages().table(**options) == events(util).key_averages().table(**options)
        assert events(mine).key_averages(True).table(**options) == events(util).key_averages(True).table(**options)
    assert mine.EventList([]).table() == util.EventList([]).table() == ""


@pytest.mark.parametrize(
    "numbers", [(1, 1, 2, 0, 0), (0, 1, 1, 2, 0), (2, 0, 3, 1, 4), (1, 2, 1, 3, 1), (-1, 0, 1, 0, 0), (0, 0, 0, 0, 0)]
)
def test_schedule(numbers):
    torch = pytest.importorskip("torch")
    options = dict(zip(PARAMS, numbers))

    def answers(m, **more):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                s = m.schedule(**options, **more)
                return [s(i).name for i in range(30)], [str(w.message) for w in said]
            except AssertionError as e:
                return str(e)

    assert answers(torchlite.profiler) == answers(torch.profiler)
    assert answers(torchlite.profiler, skip_first_wait=1) == answers(torch.profiler, skip_first_wait=1)


def test_cycles():
    """Each cycle's trace when it is ready: the steps that were active, as in PyTorch."""

    def run(torch):
        profiler = importlib.import_module(torch.__name__ + ".profiler")
        seen = []

        def ready(p):
            seen.append(
                (p.step_num, [(a.key, a.count) for a in p.key_averages() if a.key in ("aten::mul", "ProfilerStep*")])
            )

        x = torch.ones(3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with profiler.profile(
                activities=[profiler.ProfilerActivity.CPU],
                on_trace_ready=ready,
                schedule=profiler.schedule(wait=1, warmup=1, active=2, repeat=2),
            ) as p:
                for i in range(12):
                    for _ in range(i):
                        x * x
                    p.step()
        return seen

    mine = run(torchlite)
    assert mine == [(4, [("ProfilerStep*", 2), ("aten::mul", 5)]), (8, [("ProfilerStep*", 2), ("aten::mul", 13)])]
    torch = pytest.importorskip("torch")
    assert [(n, sorted(rows)) for n, rows in mine] == [(n, sorted(rows)) for n, rows in run(torch)]


def test_no_schedule_and_later_starts():
    seen = []
    x = torchlite.ones(3)
    p = torchlite.profiler.profile(on_trace_ready=lambda p: seen.append([e.name for e in p.events()]))
    for _ in range(2):
        p.start()
        x + x
        p.step()
        x * x
        p.stop()
    assert seen == [["aten::add", "aten::mul"]] * 2
    with torchlite.profiler.profile(acc_events=True) as p:
        x + x
    with p:
        x - x
    assert [e.name for e in p.events()] == ["aten::add", "aten::sub"] and len({e.id for e in p.events()}) == 2


def names(fn, **options):
    with torchlite.profiler.profile(activities=[torchlite.profiler.ProfilerActivity.CPU], **options) as p:
        fn()
    return p.events()


def test_names_and_nesting():
    x, i = torchlite.arange(6.0).reshape(2, 3), torchlite.tensor([0, 1])
    assert [e.name for e in names(lambda: x.clone().add_(1))] == ["aten::clone", "aten::add_"]
    assert [e.name for e in names(lambda: torchlite.add(x, x, out=torchlite.empty(2, 3)))] == [
        "aten::empty",
        "aten::add",
    ]
    assert [e.name for e in names(lambda: x.sum().item())] == ["aten::sum", "aten::item"]
    assert [e.name for e in names(lambda: x.double())][:1] == ["aten::to"]
    events = names(lambda: torchlite.nn.functional.cross_entropy(x, i), record_shapes=True)
    assert events[0].name == "aten::cross_entropy_loss" and events[0].input_shapes[:3] == [[2, 3], [2], []]
    assert [c.name for c in events[0].cpu_children] and all(e.cpu_parent is not None for e in events[1:])
    e = names(lambda: torchlite.cat([x, x]), record_shapes=True)[0]
    assert (
        e.input_shapes == [[], []]
        and e.structured_input_shapes == [[[2, 3], [2, 3]], []]
        and e.input_dtypes == ["TensorList", ""]
    )


def test_loader_and_hand_written_functions():
    class Twice(torchlite.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = torchlite.ones(3, requires_grad=True)
    found = [e.name for e in names(lambda: Twice.apply(x).sum().backward())]
    assert "TwiceBackward" in found and "torch::autograd::AccumulateGrad" in found and x.grad.tolist() == [2, 2, 2]
    data = torchlite.utils.data.DataLoader(torchlite.utils.data.TensorDataset(torchlite.ones(4, 2)), batch_size=2)
    found = [e.name for e in names(lambda: list(data))]
    assert found.count("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__") == 3


def test_anomaly_mode_still_works():
    x = torchlite.zeros(1, requires_grad=True)

    def run():
        with (
            torchlite.autograd.detect_anomaly(),
            pytest.raises(RuntimeError, match="returned nan"),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            (x / x).sum().backward()

    assert any(e.name == "DivBackward0" for e in names(run))
    run()


def test_gradients_are_not_copied():
    """The engine hands a gradient over as it does when nobody records."""
    w = torchlite.ones(3, requires_grad=True)
    assert not any(e.name in ("aten::clone", "aten::copy_") for e in names(lambda: (w * 3).sum().backward()))
    assert w.grad.tolist() == [3, 3, 3]


def test_record_function():
    record = torchlite.profiler.record_function

    @record("whole")
    def double(x, again=True):
        """doc"""
        with record("part"):
            y = x + x
        return double(y, False) if again else y

    assert double.__name__ == "double" and double.__doc__ == "doc"
    x = torchlite.ones(2)
    events = names(lambda: double(x))
    assert [e.name for e in events] == ["whole", "part", "aten::add", "whole", "part", "aten::add"]
    assert events[3].cpu_parent is events[0] and events[2].cpu_parent is events[1]
    assert record is torchlite.autograd.profiler.record_function
    block = record("never ended")
    events = names(lambda: (block.__enter__(), x * x))
    assert [e.name for e in events] == ["never ended", "aten::mul"] and events[1].cpu_parent is events[0]
    block.__exit__(None, None, None)  # after the end: ends nothing of the next recording
    with torchlite.profiler.profile() as p:
        with record("outer"):
            torchlite.ones(1)
    assert [e.name for e in p.events()] == ["outer", "aten::ones"]


def test_nothing_is_recorded_when_off(ours):
    """No number is given, and what a recording held is gone."""
    assert not _C.profiling() and _C.profile_enter("x", 2) == -1 and _C.profile_exit(-1) is None
    assert importlib.import_module("torchlite.autograd._engine").profiled is None
    assert (
        not torchlite.optim.optimizer._global_optimizer_pre_hooks
        and not torchlite.optim.optimizer._global_optimizer_post_hooks
    )
    t = torchlite.ones(3)
    there = weakref.ref(t)
    with torchlite.profiler.profile(record_shapes=True):
        t + t
        del t
        assert there() is None  # shapes are copied, tensors not held
    _C.profile_start(0)
    assert _C.profile_stop()[0] == []  # nothing is left of the recordings before


def test_errors_leave_it_off():
    """The program's exception goes through, recording ends, and the calls so far are there."""
    p = torchlite.profiler.profile()
    with pytest.raises(RuntimeError, match="size of tensor"), p:
        torchlite.ones(2) + torchlite.ones(3)
    assert [e.name for e in p.events()] == ["aten::ones", "aten::ones", "aten::add"] and not _C.profiling()
    with p:
        with pytest.raises(RuntimeError, match="already enabled on this thread"):
            torchlite.profiler.profile().start()
        torchlite.ones(1)
    assert [e.name for e in p.events()] == ["aten::ones"]
    opt = torchlite.optim.SGD([torchlite.ones(1, requires_grad=True)], lr=0.1)

    def closure():
        raise KeyError("closure")

    with pytest.raises(KeyError), p:
        opt.step(closure)
    assert p.events()[0].name == "Optimizer.step#SGD.step" and not torchlite.optim.optimizer._global_optimizer_pre_hooks
    with pytest.raises(RuntimeError, match="not running"):
        _C.profile_stop()


def test_options_that_are_not_there():
    profile, activity = torchlite.profiler.profile, torchlite.profiler.ProfilerActivity
    for options in ({"with_flops": True}, {"with_modules": True}, {"experimental_config": object()}):
        with pytest.warns(UserWarning, match="has no " + next(iter(options))):
            profile(**options)
    with pytest.raises(NotImplementedError, match="execution_trace_observer"):
        profile(execution_trace_observer=object())
    with pytest.raises(AssertionError, match="No valid profiler activities found"):
        profile(activities=[])
    with pytest.raises(TypeError):
        profile(activities=["cpu"])
    with pytest.warns(UserWarning, match="CUDA is not available, disabling CUDA profiling"):
        p = profile(activities=[activity.CPU, activity.CUDA])
    assert p.use_device is None
    with (
        pytest.warns(UserWarning, match="WebGPU is not available, disabling WebGPU profiling"),
        profile(activities=[activity.CPU, activity.WebGPU]) as p,
    ):
        torchlite.ones(1)
    assert [e.name for e in p.events()] == ["aten::ones"] and "WebGPU" not in p.key_averages().table()
    p = profile()
    for call in (p.events, p.key_averages, lambda: p.export_chrome_trace("x"), lambda: p.export_stacks("x")):
        with pytest.raises(AssertionError, match="must be initialized before"):
            call()
    with p:
        pass
    for call in (lambda: p.export_memory_timeline("x"), lambda: p.toggle_collection_dynamic(False, [])):
        with pytest.raises(NotImplementedError):
            call()
    with pytest.raises(AssertionError, match="requires with_stack=True"):
        p.export_stacks("x")
    assert p.key_averages().table() == ""


def test_memory():
    torch = pytest.importorskip("torch")

    def run(torch):
        profiler = importlib.import_module(torch.__name__ + ".profiler")
        keep = []
        with profiler.profile(activities=[profiler.ProfilerActivity.CPU], profile_memory=True) as p:
            with profiler.record_function("all"):
                keep.append(torch.ones(1000))
                keep.append(keep[0] + keep[0])
                keep.append(torch.softmax(keep[0], 0))
        rows = {a.key: a for a in p.key_averages()}
        header = p.key_averages().table().splitlines()[1]
        return {
            k: rows[k].cpu_memory_usage for k in ("aten::ones", "aten::add", "aten::softmax", "all")
        }, "CPU Mem  Self CPU Mem" in header

    assert (
        run(torchlite)
        == run(torch)
        == ({"aten::ones": 4000, "aten::add": 4000, "aten::softmax": 4000, "all": 12000}, True)
    )


def test_stacks(tmp_path):
    def caller():
        return torchlite.ones(3).softmax(0)

    with torchlite.profiler.profile(with_stack=True) as p:
        caller()
    e = next(e for e in p.events() if e.name == "aten::softmax")
    assert (
        e.stack[0].startswith(__file__ + "(")
        and e.stack[0].endswith("): caller")
        and e.stack[1].endswith("): test_stacks")
    )
    assert not any("torchlite" + "/" in s for s in e.stack)
    table = p.key_averages(group_by_stack_n=2).table()
    assert "Source Location" in table and "caller" in table
    p.export_stacks(tmp_path / "stacks")
    assert all(line.split()[-1].isdigit() for line in (tmp_path / "stacks").read_text().splitlines())


def test_trace_files(tmp_path, ours):
    ours.add_metadata("who", "tests")
    ours.add_metadata_json("numbers", "[1, 2]")
    ours.export_chrome_trace(str(tmp_path / "t.json"))
    trace = json.loads((tmp_path / "t.json").read_text())
    assert trace["who"] == "tests" and trace["numbers"] == [1, 2] and trace["record_shapes"] == 1
    blocks = [t for t in trace["traceEvents"] if t["ph"] == "X"]
    assert [t["name"] for t in blocks] == [e.name for e in ours.events()]
    linear = next(t for t in blocks if t["name"] == "aten::linear")
    assert linear["cat"] == "cpu_op" and linear["args"]["Input Dims"] == [[3, 4], [8, 4], [8]] and linear["dur"] >= 0
    ours.export_chrome_trace(str(tmp_path / "t.json.gz"))
    assert len(json.loads(gzip.decompress((tmp_path / "t.json.gz").read_bytes()))["traceEvents"]) == len(
        trace["traceEvents"]
    )
    torchlite.profiler.tensorboard_trace_handler(str(tmp_path / "logs"), "me")(ours)
    torchlite.profiler.tensorboard_trace_handler(str(tmp_path / "logs"), "me", use_gzip=True)(ours)
    files = sorted(f.name for f in (tmp_path / "logs").iterdir())
    assert (
        len(files) == 2
        and files[0].startswith("me.")
        and {f.endswith(".pt.trace.json") for f in files} == {True, False}
    )


@pytest.mark.skipif(sys.platform == "emscripten", reason="Pyodide has one thread")
def test_other_threads_are_not_recorded():
    x = torchlite.ones(3)
    done = []

    def other():
        x * x
        with pytest.raises(RuntimeError, match="another thread"):
            _C.profile_stop()
        done.append(True)

    def both():
        t = threading.Thread(target=other)
        t.start()
        t.join()
        x + x

    assert [e.name for e in names(both)] == ["aten::add"] and done


def test_older_interface():
    x = torchlite.ones(3)
    with torchlite.autograd.profiler.profile(record_shapes=True) as p:
        assert repr(p) == "<unfinished torch.autograd.profile>"
        x + x
    assert [e.name for e in p.function_events] == ["aten::add"] and "aten::add" in str(p) and p.self_cpu_time_total > 0
    assert p.key_averages(group_by_input_shape=True)[0].input_shapes == [[3], [3], []] and "# of Calls" in p.table()
    with pytest.raises(RuntimeError, match="not reentrant"):
        p.__enter__()
    with torchlite.autograd.profiler.profile(enabled=False) as p:
        x + x
    assert p is None
    with pytest.raises(NotImplementedError):
        torchlite.autograd.profiler.emit_nvtx()


def test_async_context():
    import asyncio

    async def main():
        async with torchlite.profiler.profile() as p:
            torchlite.ones(2)
        return [e.name for e in p.events()]

    if sys.platform == "emscripten":
        coroutine = main()  # nothing in it waits
        with pytest.raises(StopIteration) as end:
            coroutine.send(None)
        assert end.value.value == ["aten::ones"]
    else:
        assert asyncio.run(main()) == ["aten::ones"]


class Stop(BaseException):
    pass


@pytest.mark.parametrize("error", [KeyboardInterrupt, Stop])
def test_interrupt_while_the_stack_is_looked_at(monkeypatch, error):
    """It is raised in the program, which would otherwise not notice; another error costs the stack alone."""
    from torchlite.profiler import _collect

    x, raised = torchlite.ones(2), []

    def stack():
        if not raised:
            raised.append(error)
            raise error
        if len(raised) == 1:
            raised.append(ValueError)
            raise ValueError
        return ["here"]

    monkeypatch.setattr(_collect, "_stack", stack)
    for call in (lambda: x + 1, lambda: x[0].item(), lambda: torchlite.profiler.record_function("name").__enter__()):
        raised.clear()
        with torchlite.profiler.profile(with_stack=True, record_shapes=True) as p:
            with pytest.raises(error):
                call()
            assert torchlite.add(x, 2).tolist() == [3, 3] and torchlite.mul(x, 2).tolist() == [2, 2]
        assert not _C.profiling()
        found = {e.name: e.stack for e in p.events()}
        assert not found["aten::add"] and found["aten::mul"] == ["here"]
    assert (x + 1).tolist() == [2, 2]


def test_interrupt_at_the_end(monkeypatch):
    """The recording has ended, whatever is raised while that waits for something."""
    from torchlite.profiler import _collect

    class Gpu:
        def stop(self):
            raise KeyboardInterrupt

    def start(self):
        begin(self)
        self._gpu = Gpu()

    begin = _collect.Recording.start
    monkeypatch.setattr(_collect.Recording, "start", start)
    with pytest.raises(KeyboardInterrupt):
        with torchlite.profiler.profile() as p:
            torchlite.ones(2)
    assert not _C.profiling() and [e.name for e in p.events()] == ["aten::ones"]
    monkeypatch.undo()
    assert [e.name for e in names(lambda: torchlite.ones(3))] == ["aten::ones"]


def test_many_calls():
    """The array grows; a record's cost is small."""
    x = torchlite.ones(1)

    def run():
        for _ in range(5000):
            x + x

    events = names(run, record_shapes=True)
    assert len(events) == 5000 and events[4999].input_shapes == [[1], [1], []]


def test_is_loaded_late():
    if sys.platform == "emscripten":
        pytest.skip("Pyodide starts no processes")
    import subprocess

    code = (
        "import sys, torchlite\nassert not [m for m in sys.modules if 'profiler' in m]\n"
        "torchlite.profiler.profile\ntorchlite.autograd.profiler.profile"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
