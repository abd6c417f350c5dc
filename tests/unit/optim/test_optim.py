"""Optimizers and schedules against PyTorch: values after several steps, state_dict layout, errors, native steps."""

import copy
import warnings

import pytest

import torchlite

torch = pytest.importorskip("torch")

OPTIMIZERS = {
    "SGD": [
        {},
        {"momentum": 0.9},
        {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
        {"momentum": 0.5, "dampening": 0.3, "maximize": True},
    ],
    "Adam": [{}, {"amsgrad": True, "weight_decay": 0.1}, {"betas": (0.3, 0.9)}, {"maximize": True}],
    "AdamW": [{}, {"amsgrad": True}],
    "RMSprop": [{}, {"momentum": 0.9, "centered": True}],
    "Adagrad": [{"lr_decay": 0.1}],
    "Adadelta": [{"weight_decay": 0.1}],
    "Adamax": [{}],
    "NAdam": [{}, {"decoupled_weight_decay": True, "weight_decay": 0.1}],
    "RAdam": [{}, {"weight_decay": 0.1}],
    "Rprop": [{}],
    "ASGD": [{"t0": 1, "lambd": 0.1}],
    "Adafactor": [{"weight_decay": 0.1}],
    "Muon": [{"adjust_lr_fn": "match_rms_adamw"}],
}
CASES = [(name, kw) for name, kws in OPTIMIZERS.items() for kw in kws]


def run(lib, name, kw, dtype="float32", steps=6):
    lib.manual_seed(0)
    shapes = [(3, 4)] if name == "Muon" else [(3, 4), (5,)]
    ps = [lib.nn.Parameter(lib.randn(*s, dtype=getattr(lib, dtype))) for s in shapes]
    opt = getattr(lib.optim, name)(ps, **{"lr": 0.1, **kw})
    for _ in range(steps):
        for p in ps:
            p.grad = lib.randn(*p.shape, dtype=p.dtype)
        opt.step()
    return [p.tolist() for p in ps], opt


def flat(x):
    return [y for e in x for y in flat(e)] if isinstance(x, list) else [x]


@pytest.mark.parametrize("name,kw", CASES, ids=[f"{n}-{i}" for i, (n, _) in enumerate(CASES)])
def test_values_and_state(name, kw):
    a, ta = run(torch, name, kw)
    b, tb = run(torchlite, name, kw)
    tol = 2e-2 if name == "Muon" else 3e-6  # Muon works in bfloat16
    assert all(abs(x - y) <= tol * (1 + abs(x)) for x, y in zip(flat(a), flat(b)))
    sa, sb = ta.state_dict(), tb.state_dict()
    assert [list(g) for g in sa["param_groups"]] == [list(g) for g in sb["param_groups"]]
    assert {k: list(v) for k, v in sa["state"].items()} == {k: list(v) for k, v in sb["state"].items()}
    assert repr(ta) == repr(tb)


@pytest.mark.parametrize("name,kw", [c for c in CASES if c[0] in ("SGD", "Adam", "AdamW")])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_native_step_equals_python_step(name, kw, dtype, monkeypatch):
    fast, _ = run(torchlite, name, kw, dtype)
    module = "sgd" if name == "SGD" else "adam"
    monkeypatch.setattr(getattr(torchlite.optim, module), "_kernel", lambda: None)
    slow, _ = run(torchlite, name, kw, dtype)
    assert all(
        abs(x - y) <= (1e-6 if dtype == "float32" else 1e-13) * (1 + abs(x)) for x, y in zip(flat(fast), flat(slow))
    )


def test_native_step_counts_as_a_change():
    p = torchlite.nn.Parameter(torchlite.ones(3))
    loss = (p * p).sum()
    p.grad = torchlite.ones(3)
    torchlite.optim.SGD([p], lr=0.1).step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_non_contiguous_parameters_still_step():
    p = torchlite.nn.Parameter(torchlite.arange(6.0).reshape(2, 3).t())
    p.grad = torchlite.ones(3, 2)
    torchlite.optim.Adam([p], lr=1.0).step()
    assert p.detach().round().tolist() == [[-1.0, 2.0], [0.0, 3.0], [1.0, 4.0]]


def test_lbfgs():
    def go(lib, **kw):
        x = lib.nn.Parameter(lib.tensor([-1.5, 2.0]))
        opt = lib.optim.LBFGS([x], **kw)

        def closure():
            opt.zero_grad()
            loss = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
            loss.backward()
            return loss

        for _ in range(8):
            opt.step(closure)
        return x.tolist()

    for kw in ({"line_search_fn": "strong_wolfe"}, {"lr": 0.001}, {"max_eval": 3, "line_search_fn": "strong_wolfe"}):
        a, b = go(torch, **kw), go(torchlite, **kw)
        assert all(abs(x - y) < 1e-3 for x, y in zip(a, b)), (a, b)


def test_state_dict_round_trip_continues_the_run():
    torchlite.manual_seed(0)
    p = torchlite.nn.Parameter(torchlite.randn(4))
    q = torchlite.nn.Parameter(p.detach().clone())
    a = torchlite.optim.Adam([p], lr=0.1)
    p.grad = torchlite.ones(4)
    a.step()
    q.data = p.detach().clone()
    b = torchlite.optim.Adam([q], lr=0.5)
    b.load_state_dict(copy.deepcopy(a.state_dict()))
    q.grad = torchlite.ones(4)
    a.step()
    b.step()
    assert p.tolist() == q.tolist()


ERRORS = {
    "negative lr": lambda lib, p: lib.optim.SGD([p], lr=-1),
    "tensor": lambda lib, p: lib.optim.SGD(lib.ones(2), lr=1),
    "empty": lambda lib, p: lib.optim.SGD([], lr=1),
    "not a tensor": lambda lib, p: lib.optim.SGD([1], lr=1),
    "non-leaf": lambda lib, p: lib.optim.SGD([p * 2], lr=1),
    "twice": lambda lib, p: lib.optim.SGD([{"params": [p]}, {"params": [p]}], lr=1),
    "set": lambda lib, p: lib.optim.SGD([{"params": {p}}], lr=1),
    "nesterov": lambda lib, p: lib.optim.SGD([p], lr=1, nesterov=True),
    "betas": lambda lib, p: lib.optim.Adam([p], betas=(1.0, 0.9)),
    "fused": lambda lib, p: lib.optim.Adam([p], fused=True, foreach=True),
    "groups": lambda lib, p: lib.optim.SGD([p]).load_state_dict({"state": {}, "param_groups": []}),
    "plateau": lambda lib, p: lib.optim.lr_scheduler.ReduceLROnPlateau(lib.optim.SGD([p]), factor=2),
    "optimizer": lambda lib, p: lib.optim.lr_scheduler.StepLR(1, 2),
    "milestones": lambda lib, p: lib.optim.lr_scheduler.SequentialLR(lib.optim.SGD([p]), [], []),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case):
    out = []
    for lib in (torch, torchlite):
        with pytest.raises(Exception) as e:
            ERRORS[case](lib, lib.nn.Parameter(lib.ones(2)))
        out.append((type(e.value).__name__, str(e.value).replace("torchlite", "torch")))
    assert out[0] == out[1]


def test_hooks_and_groups():
    p, q = (torchlite.nn.Parameter(torchlite.ones(1)) for _ in range(2))
    opt = torchlite.optim.SGD([{"params": [p], "lr": 1.0}, {"params": [q]}], lr=0.5)
    log = []
    opt.register_step_pre_hook(lambda o, a, k: log.append("pre"))
    opt.register_step_post_hook(lambda o, a, k: log.append("post"))
    p.grad = q.grad = torchlite.ones(1)
    assert opt.step(lambda: 3.0) == 3.0
    assert log == ["pre", "post"] and p.item() == 0.0 and q.item() == 0.5
    opt.zero_grad()
    assert p.grad is None


SCHEDULES = {
    "one cycle": lambda L, o: L.OneCycleLR(o, 1.0, 30, three_phase=True),
    "triangular2": lambda L, o: L.CyclicLR(o, 0.1, 0.5, 4, 6, mode="triangular2"),
    "exp_range": lambda L, o: L.CyclicLR(o, 0.1, 0.5, 4, 6, mode="exp_range", gamma=0.9),
    "cosine": lambda L, o: L.CosineAnnealingLR(o, 7, 0.01),
    "restarts": lambda L, o: L.CosineAnnealingWarmRestarts(o, 3, 2),
    "chained": lambda L, o: L.ChainedScheduler([L.LinearLR(o, 0.1), L.ExponentialLR(o, 0.9)]),
    "sequential": lambda L, o: L.SequentialLR(
        o, [L.ConstantLR(o, 0.1, 3), L.ExponentialLR(o, 0.9), L.StepLR(o, 2)], [4, 9]
    ),
    "polynomial": lambda L, o: L.PolynomialLR(o, 12, 2.0),
    "multistep": lambda L, o: L.MultiStepLR(o, [3, 3, 8]),
    "lambda": lambda L, o: L.LambdaLR(o, lambda e: 0.9**e),
}


@pytest.mark.parametrize("case", SCHEDULES)
def test_schedules(case):
    def go(lib):
        opt = lib.optim.SGD([lib.nn.Parameter(lib.ones(1))], lr=0.1, momentum=0.9)
        s = SCHEDULES[case](lib.optim.lr_scheduler, opt)
        out = []
        for _ in range(25):
            opt.step()
            out.append((opt.param_groups[0]["lr"], opt.param_groups[0]["momentum"]))
            s.step()
        return out, s.state_dict()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert go(torch) == go(torchlite)


def test_averaged_model():
    def go(lib):
        from importlib import import_module

        swa = import_module(lib.__name__ + ".optim.swa_utils")
        m = lib.nn.Linear(1, 1)
        with lib.no_grad():
            m.weight.fill_(0.0)
        avg = swa.AveragedModel(m)
        for i in range(4):
            with lib.no_grad():
                m.weight.fill_(float(i))
            avg.update_parameters(m)
        return avg.module.weight.item(), list(avg.state_dict())

    assert go(torch) == go(torchlite)


def test_rprop_steps_in_the_precision_of_the_parameters():
    p = torchlite.tensor([1.0, 2.0], dtype=torchlite.float64, requires_grad=True)
    opt = torchlite.optim.Rprop([p], lr=0.01)
    for sign in (1.0, 1.0, -1.0):
        p.grad = torchlite.tensor([sign, -sign], dtype=torchlite.float64)
        opt.step()
    assert p.tolist() == pytest.approx([0.978, 2.022], abs=1e-15)
    assert opt.state[p]["step_size"].tolist() == pytest.approx([0.006, 0.006], abs=1e-16)
