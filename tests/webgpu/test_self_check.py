"""torch.self_test on the device: finds nothing here, and finds what is broken."""

import pytest

import torchlite as torch
from torchlite import ops

pytestmark = pytest.mark.usefixtures("bridge")


def test_nothing_differs(monkeypatch):
    names = {
        "sin",
        "add",
        "softmax",
        "cumsum",
        "gather",
        "sort",
        "index_select",
        "matmul",
        "var",
        "exp",
        "tril",
        "bitwise_and",
    }
    ops.load_all()
    # all of them take a minute on a software GPU
    monkeypatch.setattr(ops, "specs", [s for s in ops.specs if s.name in names])
    report = torch.self_test("webgpu", seconds=60)
    assert report.ok, report
    assert report.calls >= len(names) and not report.not_reached and str(report.device).startswith("webgpu")
    right = ops.namespace("")["sin"]
    monkeypatch.setitem(ops.namespace(""), "sin", lambda x: right(x) + 0.01 if x.device.type == "webgpu" else right(x))
    assert [f[:2] for f in torch.self_test("webgpu", seconds=60).failures] == [("sin", "float32")]
