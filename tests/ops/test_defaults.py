"""The default device and the default dtype are for what a program makes: an op of tensors is the same whatever they
are, and so is its gradient. PyTorch's recorded answers, with each set while an op runs: a tensor made inside an op
without a device has no numbers on "meta", one without a dtype makes a result wider or less exact."""

import json
import sys

import meta_conformance  # which puts tests/pyodide on the path
import pytest
from known_answers import KNOWN


def judge(monkeypatch, change, restore, **options):
    """Answers that differ from the recorded ones after change(), by op and check; how many there are."""
    folder = meta_conformance.folder()
    monkeypatch.syspath_prepend(str(folder))
    sys.modules.pop("run_conformance", None)
    import run_conformance as R
    import torchlite as torch

    def changed(f):
        def call(*args, **kwargs):
            change()
            try:
                return f(*args, **kwargs)
            finally:
                restore()

        return call

    class Op(R.KINDS["op"]):
        def __init__(self, *args):
            super().__init__(*args)
            self.op["s"] = [s for s in self.op["s"] if '{"t":' in json.dumps([s.get("a"), s.get("k")])]
            self.op["err"] = ()

    monkeypatch.setattr(R, "call", changed(R.call))
    monkeypatch.setattr(torch.autograd, "grad", changed(torch.autograd.grad))
    monkeypatch.setitem(R.KINDS, "op", Op)
    for kind in ("optim", "sched", "module"):
        monkeypatch.setitem(R.KINDS, kind, meta_conformance.Nothing)
    found = R.run("torchlite", str(folder / "fixtures" / "open"), **options)
    sys.modules.pop("run_conformance", None)
    wrong, judged = [], 0
    for name, r in found["per_op"].items():
        for check, (good, total) in r["counts"].items():
            judged += total
            if check != "rng_exact" and total - good > KNOWN.get((name, check), (0, ""))[0]:
                wrong.append(f"{name} {check}: {good} of {total}")
    return wrong, judged


needs_fixtures = pytest.mark.skipif(meta_conformance.folder() is None, reason="no fixtures beside the project")


@needs_fixtures
def test_default_device(monkeypatch):
    import torchlite as torch

    wrong, judged = judge(monkeypatch, lambda: torch.set_default_device("meta"), lambda: torch.set_default_device(None))
    assert not wrong, "\n".join(wrong)
    assert judged > 30000


@needs_fixtures
@pytest.mark.parametrize("name", ["float64", "float16"])
def test_default_dtype(monkeypatch, name):
    import torchlite as torch

    wrong, judged = judge(
        monkeypatch,
        lambda: torch.set_default_dtype(getattr(torch, name)),
        lambda: torch.set_default_dtype(torch.float32),
        dtypes=["float32"],
    )
    wrong = [w for w in wrong if not w.startswith("tensor/where ")]  # a sample of two numbers
    assert not wrong, "\n".join(wrong)
    assert judged > 10000
