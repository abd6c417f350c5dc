"""Optimizer steps on webgpu against the CPU: the same numbers, nothing read back, nothing on the CPU."""

from __future__ import annotations

import copy
import warnings

import pytest
import torchlite as torch
from torchlite import optim as O

SHAPES = ((3, 5), (7,), (1,), (4, 4, 2))


def params(device, dtype=torch.float32):
    g = torch.Generator().manual_seed(1)
    return [torch.nn.Parameter(torch.randn(s, generator=g).to(dtype).to(device)) for s in SHAPES]


def steps(ps, opt, n=4, first=0, skip=True):
    for k in range(first, first + n):
        g = torch.Generator().manual_seed(k)
        for i, p in enumerate(ps):
            grad = torch.randn(tuple(p.shape), generator=g).to(p.dtype).to(p.device)
            p.grad = None if skip and k == 1 and i == 2 else grad
        opt.step()


def same(a, b, **tol):
    for x, y in zip(a, b):
        torch.testing.assert_close(y.detach().cpu(), x.detach(), **(tol or {"rtol": 1e-5, "atol": 1e-6}))


CASES = [
    (O.SGD, {"lr": 0.1}),
    (O.SGD, {"lr": 0.1, "momentum": 0.9}),
    (O.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    (O.SGD, {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "maximize": True}),
    (O.SGD, {"lr": 0.1, "weight_decay": 0.1, "maximize": True}),
    (O.Adam, {}),
    (O.Adam, {"amsgrad": True, "weight_decay": 0.1}),
    (O.AdamW, {"lr": 0.01, "maximize": True}),
    (O.Adam, {"betas": (0.3, 0.5), "eps": 0.1}),
    (O.RMSprop, {"momentum": 0.5, "centered": True, "weight_decay": 0.1}),
    (O.Adagrad, {"lr_decay": 0.1}),
    (O.Adadelta, {}),
    (O.Adamax, {}),
    (O.NAdam, {}),
    (O.RAdam, {}),
    (O.ASGD, {}),
    (O.Rprop, {}),
    (O.Adafactor, {}),
]


@pytest.mark.parametrize("cls, options", CASES, ids=[c.__name__ + "".join(o) for c, o in CASES])
def test_steps_as_on_the_cpu_without_reads(bridge, cls, options):
    a, w = params("cpu"), params("webgpu")
    before = bridge.stats()["reads"]
    oa, ow = cls(a, **options), cls(w, **options)
    with warnings.catch_warnings():
        if cls is not O.Adafactor:  # its norms are reductions, which this is no test of
            warnings.filterwarnings("error", message=".*not currently supported on the webgpu device.*")
        steps(a, oa), steps(w, ow)
    torch.webgpu.synchronize()
    if cls is not O.Adafactor:
        assert bridge.stats()["reads"] == before
    same(a, w, rtol=1e-5, atol=2e-6)
    for p, q in zip(a, w):
        for k, v in ow.state[q].items():
            if isinstance(v, torch.Tensor):
                assert v.device.type == (
                    "cpu" if v.dim() == 0 and v.numel() == 1 and k in ("step", "mu_product", "eta", "mu") else "webgpu"
                ), k
                torch.testing.assert_close(v.cpu(), oa.state[p][k], rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("cls", [O.SGD, O.Adam])
def test_a_step_is_one_or_two_kernels(bridge, cls):
    ps = params("webgpu")
    opt = cls(ps, **({"momentum": 0.9, "lr": 0.1} if cls is O.SGD else {}))
    for k in range(3):
        for p in ps:
            p.grad = torch.ones(p.shape, device="webgpu")
        torch.webgpu.synchronize()
        before = bridge.stats()["dispatches"]
        opt.step()
        torch.webgpu.synchronize()
        assert bridge.stats()["dispatches"] - before <= 2


@pytest.mark.parametrize("cls", [O.SGD, O.Adam])
def test_parameters_of_other_kinds_take_the_loop(bridge, cls):
    """float16, strided, offset and CPU parameters in one group with plain ones."""

    def make(device):
        x = torch.arange(12.0).reshape(3, 4).to(device)
        flat = torch.arange(6.0).to(device)
        kinds = [x.clone(), x.half(), x.t(), flat[2:], torch.arange(3.0)]
        return [torch.nn.Parameter(k) for k in kinds], flat

    (a, fa), (w, fw) = make("cpu"), make("webgpu")
    oa, ow = (cls(p, lr=0.1, **({"momentum": 0.9} if cls is O.SGD else {})) for p in (a, w))
    for k in range(3):
        for p, q in zip(a, w):
            p.grad = torch.full_like(p, 0.5 + k)
            q.grad = torch.full_like(q, 0.5 + k)
        oa.step(), ow.step()
    same(a, w, rtol=2e-3, atol=1e-3)
    same([fa], [fw])
    assert {k["step"].item() for k in ow.state.values() if "step" in k} <= {3.0}


def test_put_off_gradients_and_readers_of_parameters(bridge):
    """What reads a parameter is run before the parameter changes."""
    for device in ("cpu", "webgpu"):
        p = torch.nn.Parameter(torch.ones(5, device=device))
        opt = O.Adam([p], lr=0.1)
        with torch.no_grad():
            before = p * 2 + 1
            p.grad = p * 3
            late = p.grad + p
        opt.step()
        assert before.tolist() == [3.0] * 5 and late.tolist() == [4.0] * 5
        assert p.grad.tolist() == [3.0] * 5
        torch.testing.assert_close(p.detach().cpu(), torch.full((5,), 0.9))


def test_versions_state_and_loading(bridge):
    p = torch.nn.Parameter(torch.ones(4, device="webgpu"))
    opt = O.Adam([p], lr=0.1)
    y = (p * p).sum()
    p.grad = torch.ones(4, device="webgpu")
    opt.step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
    saved = copy.deepcopy(opt.state_dict())
    assert saved["state"][0]["step"].device.type == "cpu" and saved["state"][0]["exp_avg"].device.type == "webgpu"
    q = torch.nn.Parameter(p.detach().cpu())
    other = O.Adam([q], lr=0.1)
    other.load_state_dict(copy.deepcopy(saved))
    assert other.state[q]["exp_avg"].device.type == "cpu"
    r = torch.nn.Parameter(p.detach().clone())
    third = O.Adam([r], lr=0.1, fused=True)  # moves the count to the device, from where it comes back once
    third.load_state_dict({**saved, "param_groups": [{**saved["param_groups"][0], "fused": True}]})
    for t, o in ((p, opt), (q, other), (r, third)):
        t.grad = torch.full((4,), 0.5, device=t.device)
        o.step()
    same([q, q], [p, r])


def test_scheduler_and_clipping(bridge):
    result = []
    for device in ("cpu", "webgpu"):
        ps = params(device)
        opt = O.SGD(ps, lr=0.1, momentum=0.9)
        plan = O.lr_scheduler.CosineAnnealingLR(opt, 5)
        norms = []
        for k in range(4):
            for i, p in enumerate(ps):
                p.grad = torch.full_like(p, float(i + k + 1))
            norms.append(torch.nn.utils.clip_grad_norm_(ps, 1.5))
            opt.step(), plan.step()
        result.append((ps, norms))
    same(*[r[0] for r in result])
    same(*[r[1] for r in result])


def test_clipping_of_many_tensors(bridge):
    """Of all kinds, some twice as large as others, some empty, one given twice."""
    g = torch.Generator().manual_seed(3)
    sizes = [(3, 5), (0,), (1,), (70, 70), *[(k,) for k in range(1, 20)]]
    result = []
    for device in ("cpu", "webgpu"):
        g.manual_seed(3)
        ps = [torch.nn.Parameter(torch.zeros(s, device=device)) for s in sizes]
        for p in ps:
            p.grad = torch.randn(tuple(p.shape), generator=g).to(device)
        torch.webgpu.synchronize()
        before = bridge.stats()["dispatches"], bridge.stats()["reads"]
        norm = torch.nn.utils.clip_grad_norm_(ps, 0.5)
        torch.webgpu.synchronize()
        if device == "webgpu":
            assert bridge.stats()["dispatches"] - before[0] <= 10 and bridge.stats()["reads"] == before[1]
        view = torch.nn.Parameter(torch.zeros(4, device=device))
        view.grad = torch.arange(8.0, device=device)[::2]  # not dense: the general way
        both = torch.nn.utils.clip_grad_norm_([ps[0], view, ps[0]], 0.1)
        result.append(
            [
                *[p.grad for p in ps],
                view.grad,
                norm,
                both,
                torch.nn.utils.get_total_norm([p.grad for p in ps if p.numel()], float("inf")),
            ]
        )
    same(*result)
    p = torch.nn.Parameter(torch.zeros(3, device="webgpu"))
    p.grad = torch.tensor([1.0, float("nan"), 2.0]).to("webgpu")
    with pytest.raises(RuntimeError, match="non-finite"):
        torch.nn.utils.clip_grad_norm_(p, 1.0, error_if_nonfinite=True)
    assert torch.nn.utils.clip_grad_norm_(p, 1.0).isnan() and p.grad.isnan().all()


def test_grad_scaler(bridge):
    for device in ("cpu", "webgpu"):
        a, b = (torch.nn.Parameter(torch.ones(3, device=device)) for _ in range(2))
        one, two = O.SGD([a], lr=0.1), O.Adam([b], lr=0.1)
        scaler = torch.amp.GradScaler(device, init_scale=8.0, growth_interval=2)
        for k in range(3):
            one.zero_grad(), two.zero_grad()
            loss = (a * 2).sum() + (b * (float("inf") if k == 2 else 3.0)).sum()
            scaler.scale(loss).backward()
            scaler.unscale_(two)
            scaler.step(one), scaler.step(two)
            scaler.update()
        torch.testing.assert_close(a.detach().cpu(), torch.full((3,), 0.4))
        torch.testing.assert_close(b.detach().cpu(), torch.full((3,), 0.8), rtol=1e-5, atol=1e-5)
        assert scaler.get_scale() == 8.0
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.scale(a.sum()).backward()
        scaler.unscale_(one), scaler.unscale_(one)
