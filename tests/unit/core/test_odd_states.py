"""State that a file may give an optimizer:
a step in one native call does what the loop over PyTorch's operations does, or leaves it to that."""

import contextlib
import copy
import gc
import io
import itertools
import pickle
import time

import pytest

import torchlite as torch
from torchlite._files import limits
from torchlite.optim import adam, sgd

OPTIMIZERS = {
    "SGD": {"lr": 0.1, "momentum": 0.9},
    "nesterov": {"lr": 0.1, "momentum": 0.9, "nesterov": True},
    "decay": {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1},
    "Adam": {"lr": 0.1},
    "AdamW": {"lr": 0.1},
    "amsgrad": {"lr": 0.1, "amsgrad": True, "weight_decay": 0.1},
}


def inference(v):
    with torch.inference_mode():
        return v.clone()


VALUES = {
    "flat": lambda v: v.reshape(-1).clone(),
    "one dim more": lambda v: v.unsqueeze(0).clone(),
    "one element": lambda v: torch.ones(1),
    "empty": lambda v: torch.zeros(0),
    "too large": lambda v: torch.ones(2, *v.shape),
    "expanded": lambda v: torch.tensor(0.25).expand(v.shape),
    "by columns": lambda v: v.t().contiguous().t(),
    "int": lambda v: v.long(),
    "double": lambda v: v.double(),
    "complex": lambda v: v.to(torch.complex64),
    "NaN": lambda v: v * float("nan"),
    "infinite": lambda v: v + float("inf"),
    "negative": lambda v: v - 3,
    "inference": inference,
    "text": lambda v: "x",
    "none": lambda v: None,
    "number": lambda v: 0.5,
    "list": lambda v: v.tolist(),
    "tuple": lambda v: (v,),
}


def each(f, step=False):
    def change(state, group):
        for one in state.values():
            for k, v in one.items():
                if (k == "step") == step:
                    one[k] = f(v)

    return change


def overlapping(state, group):
    for one in state.values():
        memory = torch.arange(64.0)
        for i, (k, v) in enumerate(one.items()):
            if k != "step":
                one[k] = memory[i : i + v.numel()].view(v.shape)


def shared(state, group):
    for one in state.values():
        v = one.get("exp_avg", one.get("momentum_buffer")).abs()
        one.update({k: v for k in one if k != "step"})


def count_in_average(state, group):
    for one in state.values():
        if "step" in one:
            one["exp_avg"][0, 0], one["step"] = 2, one["exp_avg"][0, 0]


CHANGES = {
    **{k: each(f) for k, f in VALUES.items()},
    **{"step " + k: each(f, True) for k, f in VALUES.items() if k != "by columns"},
    "overlapping": overlapping,
    "shared": shared,
    "count in average": count_in_average,
    "no keys": lambda state, group: [one.clear() for one in state.values()],
    "of another": lambda state, group: state.update({1: state[0]}),
}
OPTIONS = {
    "lr": "x",
    "weight_decay": [1],
    "momentum": 1j,
    "dampening": None,
    "eps": {},
    "betas": (1.0, 1.0),
    "nesterov": torch.ones(2),
    "maximize": torch.ones(2),
}
CHANGES.update({f"{k} {v}": (lambda k, v: lambda state, group: group.update({k: v}))(k, v) for k, v in OPTIONS.items()})


def outcome(name, change):
    """Text of the state after two steps from a state dict that was changed, or of the error and the parameters then."""

    def make():
        ps = [
            torch.nn.Parameter(torch.arange(6.0).reshape(2, 3) / 10),
            torch.nn.Parameter(torch.arange(3.0).reshape(1, 3)),
        ]
        for p in ps:
            p.grad = p.detach() * 2 + 0.3
        other = "Adam" if name == "amsgrad" else "SGD"
        return ps, getattr(torch.optim, name if hasattr(torch.optim, name) else other)(ps, **OPTIMIZERS[name])

    _, optimizer = make()
    optimizer.step()
    saved = copy.deepcopy(optimizer.state_dict())
    change(saved["state"], saved["param_groups"][0])
    params, optimizer = make()
    try:
        optimizer.load_state_dict(saved)
        optimizer.step()
        optimizer.step()
    except Exception as error:
        return f"{type(error).__name__}: {error}", [p.detach() for p in params]
    return [
        (type(v), v.dtype, v.shape, v.requires_grad) if isinstance(v, torch.Tensor) else repr(v)
        for one in optimizer.state.values()
        for v in one.values()
    ], [
        v.detach()
        for one in [*optimizer.state.values(), dict(enumerate(params))]
        for v in one.values()
        if isinstance(v, torch.Tensor)
    ]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_native_step_and_loop_agree(name, monkeypatch):
    native = {k: outcome(name, f) for k, f in CHANGES.items()}
    for module in (adam, sgd):
        monkeypatch.setattr(module, "_kernel", lambda: None)
    for k, f in CHANGES.items():
        (facts, tensors), (want, expected) = native[k], outcome(name, f)
        assert facts == want, k
        for got, one in zip(tensors, expected):
            assert torch.allclose(got, one, rtol=1e-4, atol=1e-6, equal_nan=True), k


@pytest.mark.parametrize(
    "name, key, text",
    [
        ("SGD", "flat", "The size of tensor a (6) must match the size of tensor b (3)"),
        ("SGD", "one dim more", "output with shape [2, 3] doesn't match"),
        ("Adam", "flat", "The size of tensor a (6) must match"),
        ("Adam", "step negative", "ComplexFloat can't be cast"),
        ("SGD", "inference", "Inplace update to inference tensor"),
        ("Adam", "betas (1.0, 1.0)", "ZeroDivisionError"),
        ("SGD", "weight_decay [1]", "'alpha' must be Number, not list"),
        ("Adam", "no keys", "ok"),
    ],
)
def test_errors(name, key, text):
    facts, _ = outcome(name, CHANGES[key])
    assert text in facts if isinstance(facts, str) else text == "ok"


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.addcmul(x, x, value=2j),
        lambda x: x.addcdiv_(x, x, value=2j),
        lambda x: x.lerp(x, 2j),
        lambda x: x.index_add(0, torch.tensor([0]), x[:1], alpha=2j),
        lambda x: torch.addr(torch.ones(2, 2), x, x, alpha=2j),
        lambda x: x.int().addcmul(x.int(), x.int(), value=2**40),
    ],
)
def test_numbers_that_the_tensor_cannot_hold(call):
    with pytest.raises(RuntimeError, match="value cannot be converted to type (float|int) without overflow"):
        call(torch.ones(2))


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_no_decay_of_infinite_parameters(name):
    p = torch.nn.Parameter(torch.tensor([float("inf"), 1.0]))
    p.grad = torch.ones(2)
    getattr(torch.optim, name)([p], lr=0.5).step()
    assert torch.allclose(p.detach(), torch.tensor([float("inf"), 0.5]))


# ---- files

FORMATS = [{}, {"pickle_protocol": 4}, {"pickle_protocol": 5}, {"_use_new_zipfile_serialization": False}]


@pytest.mark.parametrize("args", FORMATS)
@pytest.mark.parametrize("weights_only", [True, False])
def test_files_make_no_classes(args, weights_only):
    def once():
        f = io.BytesIO()
        torch.save({"a": torch.ones(2)}, f, **args)
        f.seek(0)
        if not weights_only or args.get("pickle_protocol", 2) < 4:
            torch.load(f, weights_only=weights_only)

    def classes():
        return sum(isinstance(o, type) for o in gc.get_objects())

    once()
    gc.collect()
    gc.disable()  # a class is in cycles
    try:
        before = classes()
        for _ in range(5):
            once()
        assert classes() == before
    finally:
        gc.enable()


class Odd(io.BytesIO):
    """A file whose `name`d method returns what `change` makes of it."""

    def __init__(self, data, name, change):
        super().__init__(data)
        method = getattr(self, name)
        setattr(self, name, lambda *args: change(method(*args), *args))


def file_of(x):
    f = io.BytesIO()
    torch.save(x, f)
    return f.getvalue()


@pytest.mark.parametrize(
    "name, change, error",
    [
        ("readinto", lambda r, out: r + 1000, RuntimeError),
        ("readinto", lambda r, out: -1, RuntimeError),
        ("readinto", lambda r, out: None, RuntimeError),
        ("readinto", lambda r, out: "x", RuntimeError),
        ("read", lambda r, n=-1: "x" * len(r), TypeError),
        ("read", lambda r, n=-1: None, TypeError),
        ("read", lambda r, n=-1: b"", (RuntimeError, EOFError)),
        ("tell", lambda r: -5, ValueError),
        ("tell", lambda r: "x", TypeError),
        ("tell", lambda r: 1 << 70, Exception),
        ("readinto", lambda r, out: min(r, 7), None),
        ("read", lambda r, n=-1: memoryview(r), None),
        ("read", lambda r, n=-1: bytearray(r), None),
    ],
)
def test_files_that_lie(name, change, error):
    x = torch.arange(1000.0)
    f = Odd(file_of(x), name, change)
    if error:
        with pytest.raises(error):
            torch.load(f)
    elif name == "readinto":  # it has read all, and says 7: the rest is read again
        with pytest.raises(RuntimeError, match="file read failed"):
            torch.load(f)
    else:
        assert torch.equal(torch.load(f), x)


@pytest.mark.parametrize(
    "where, error",
    [
        (lambda s, where: 3, TypeError),
        (lambda s, where: "cpu", TypeError),
        (lambda s, where: [s], TypeError),
        (lambda s, where: torch.UntypedStorage(4), RuntimeError),
        (lambda s, where: torch.ones(3), TypeError),
        (lambda s: s, TypeError),
        ({"cpu": 3}, TypeError),
        ({"cpu": None}, TypeError),
        ({"cpu": ["cpu"]}, TypeError),
        ({"cpu": "nonsense"}, RuntimeError),
        ("cpu:5", RuntimeError),
        (3, TypeError),
        (["cpu"], TypeError),
        ({3: 4}, None),
        (lambda s, where: s.clone(), None),
    ],
)
def test_odd_map_locations(where, error):
    data = io.BytesIO(file_of(torch.arange(1000.0)))
    if error:
        with pytest.raises(error):
            torch.load(data, map_location=where)
    else:
        assert torch.load(data, map_location=where).sum() == 499500


@pytest.mark.parametrize(
    "thread, wall, refused", [(0.0, 0.4, False), (0.0, 1.0, True), (0.1, 0.0, True), (0.001, 0.3, False)]
)
def test_colliding_keys_are_told_by_the_threads_time(monkeypatch, thread, wall, refused):
    """40 parts; a busy machine makes the clock run, colliding keys the thread's time,
    or a clock that is far beyond it."""

    def clock(step):
        now = itertools.count()
        return lambda: next(now) * step

    monkeypatch.setattr(time, "thread_time", clock(thread), raising=False)
    monkeypatch.setattr(time, "perf_counter", clock(wall))
    keys, target = limits.Keys(limits.Budget(1 << 20)), {}
    with pytest.raises(pickle.UnpicklingError, match="collide") if refused else contextlib.nullcontext():
        for start in range(0, 40 * 256, 256):
            keys.set_items(target, [n for i in range(start, start + 256) for n in (i, i)])
        assert len(target) == 40 * 256
