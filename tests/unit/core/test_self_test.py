"""torch.self_test: finds nothing here, and finds what is broken."""

import pytest

import torchlite as torch
from torchlite import ops


def spec_of(name):
    ops.load_all()
    return next(s for s in ops.specs if s.name == name)


def test_nothing_differs():
    report = torch.self_test(seconds=60)
    assert report.ok, report
    assert report.calls > 500 and not report.not_reached and str(report.device) == "cpu"
    assert repr(report).startswith("self_test on cpu: ok, ")


def broken_body(monkeypatch):
    spec = spec_of("hypot")
    monkeypatch.setattr(spec, "body", lambda a, b: (a * a + b * b).sqrt() * 1.001)


def broken_float32_loop(monkeypatch):
    right = ops.namespace("")["hypot"]
    monkeypatch.setattr(spec_of("hypot"), "body", None)
    monkeypatch.setitem(
        ops.namespace(""), "hypot", lambda a, b: right(a, b) + 0.01 if a.dtype is torch.float32 else right(a, b)
    )


def wrong_shape(monkeypatch):
    right = ops.namespace("")["hypot"]
    monkeypatch.setitem(
        ops.namespace(""), "hypot", lambda a, b: right(a, b)[None] if a.dtype is torch.float32 else right(a, b)
    )


def raises(monkeypatch):
    def fails(a, b):
        raise RuntimeError("no such instruction")

    monkeypatch.setitem(ops.namespace(""), "hypot", fails)


@pytest.mark.parametrize("breaks", [broken_body, broken_float32_loop, wrong_shape, raises])
def test_what_is_broken_is_named(breaks, monkeypatch):
    assert torch.self_test(seconds=60).ok
    breaks(monkeypatch)
    report = torch.self_test(seconds=60)
    assert not report.ok
    assert {(op, dtype) for op, dtype, _, _ in report.failures} >= {("hypot", "float32")}
    assert all(difference > 0 for _, _, difference, _ in report.failures)
    assert "hypot float32: largest difference" in repr(report)


def test_time_is_kept():
    report = torch.self_test(seconds=0)
    assert report.ok and not report.calls and "not reached" in repr(report)


def test_a_device_that_is_not_there_says_why():
    with pytest.raises(AssertionError, match="CUDA"):
        torch.self_test("cuda")
