"""A fixed part of the random programs: nothing differs from PyTorch but what fuzz/known.py names.
`make fuzz` runs new ones for hours."""

import pytest

import torchlite as lite

real = pytest.importorskip("torch")

from fuzz import compare, generate, known, program

SEED, PROGRAMS, EACH = 3, 300, 20


@pytest.fixture(scope="module")
def make():
    return generate.programs(real, SEED)


@pytest.mark.parametrize("first", range(0, PROGRAMS, EACH))
def test_programs(make, first):
    found = []
    for n in range(first, first + EACH):
        lines = make(n)
        found += [
            f"program {n}: {d}\n{program.script(lines)}"
            for d in compare.check(real, lite, lines)
            if d.kind not in known.NOT_YET["cpu"]
        ]
    assert not found, (
        "\n\n".join(found) + f"\n\npython tests/fuzz --seed {SEED} --first {first} --programs {EACH} makes them short"
    )


def test_programs_are_worth_running(make):
    """Most lines succeed, and most programs reach first and second gradients."""
    traces = [(program.execute(real, lines), lines) for lines in (make(n) for n in range(40))]
    lines = sum(len(x) for _, x in traces)
    assert sum(not e for t, _ in traces for e in t.errors) > 0.85 * lines
    for gradient in ("g0", "h0"):
        assert sum(any(k.startswith(gradient) for k in t.traits[-1]) for t, _ in traces) >= 15


BROKEN = {
    "value": ("t1 = fill(1, 3); t2 = t1.cosh()", "cosh", lambda f: lambda t: f(t) * 1.0001),
    "dtype": ("t1 = fill(1, 3); t2 = t1.cosh()", "cosh", lambda f: lambda t: f(t).float()),
    "stride": ("t1 = fill(1, 3, 2).t(); t2 = t1.cosh()", "cosh", lambda f: lambda t: f(t).contiguous()),
    "graph": ("t1 = fill(1, 3).requires_grad_(); t2 = t1.cosh()", "cosh", lambda f: lambda t: f(t).detach()),
    "version": ("t1 = fill(1, 3); t1.cosh_()", "cosh_", lambda f: lambda t: f(f(t).acosh_())),
    "grad": (
        "t1 = fill(1, 3).requires_grad_(); t1.cosh().sum().backward()",
        "cosh",
        lambda f: lambda t: f(t) + t.sub(t.detach()),
    ),
    "raises nothing, ValueError": ("t1 = fill(1, 3); t2 = t1.cosh()", "cosh", lambda f: lambda t: int("x")),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_what_is_broken_is_found(kind, monkeypatch):
    text, name, breaks = BROKEN[kind]
    lines = text.split("; ")
    assert not compare.check(real, lite, lines)
    monkeypatch.setattr(lite.Tensor, name, breaks(getattr(lite.Tensor, name)), raising=False)
    assert kind in {d.kind for d in compare.check(real, lite, lines)}


REFUSED = [
    "t1 = fill(1, 3).requires_grad_()",
    "t2 = t1 * 1",
    "t3 = t2.gather(0, torch.tensor([2, 0]))",
    "t2.detach().mul_(3)",
    "t3.sum().backward()",
    "t4 = t1.grad * 2",
]


def test_what_pytorch_refuses_needlessly_is_compared_too(monkeypatch):
    """PyTorch saves what gather reads, so a write to it is an error there. What follows is compared all the same."""
    assert program.execute(real, REFUSED).errors[4] == "RuntimeError"
    assert not compare.check(real, lite, REFUSED)
    right = lite.Tensor.gather
    monkeypatch.setattr(lite.Tensor, "gather", lambda t, *a: right(t, *a) * 2 - right(t, *a).detach(), raising=False)
    assert {d.kind for d in compare.check(real, lite, REFUSED)} == {"grad", "value"}
