"""Calls to the GPU that go wrong in the middle of a program:
a clear error each time, no hang, no wrong number, and the next run is right."""

from __future__ import annotations

import asyncio
import re

import pytest
import torchlite as torch
from torchlite import nn

MANY = 1 << 30
GONE = torch.webgpu.DeviceLostError
# what fails, on a device that knows the kernels or on a new one, points spread over the calls, and what says so
FAULTS = {
    "lost": ("lost", "warm", 2, GONE, r"lost.*reset\(\)"),
    "lost, new": ("lost", "new", 1, GONE, r"lost.*reset\(\)"),
    "memory": (
        "memory",
        "warm",
        10,
        torch.OutOfMemoryError,
        "no memory for a buffer of 256 B|a batch of commands failed: there is none",
    ),
    "pipeline": ("pipeline", "new", 2, RuntimeError, "does not compile.*undefined_thing"),
    "batch": ("batch", "warm", 6, RuntimeError, "a batch of commands failed: .*destroyed"),
    "map": ("map", "warm", 3, RuntimeError, "mapping the result failed: the buffer was not mapped"),
    "thrown": ("thrown", "warm", 20, RuntimeError, "was refused"),
}


class Program:
    """Two steps of training and a few ops; keeps its tensors and the numbers that it read."""

    def __init__(self):
        self.numbers, self.tensors = [], {}

    def run(self):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
        x, y = torch.randn(5, 4), torch.arange(5) % 3
        model.to("webgpu")
        self.tensors.update(model.named_parameters())
        x, y = x.to("webgpu"), y.to("webgpu")
        optimizer = torch.optim.Adam(model.parameters(), 0.05)
        for step in range(2):
            optimizer.zero_grad()
            with torch.no_grad():
                self.keep("eval %d" % step, model(x))
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            self.numbers.append(loss.item())
        z = self.keep("product", x @ x.t())
        self.keep("rows", z[y])
        self.keep("total", z.sum(0))
        z.add_(1)
        self.numbers.append(z.tolist())
        torch.webgpu.synchronize()

    def keep(self, name, t):
        self.tensors[name] = t
        return t

    def values(self):
        return {name: t.tolist() for name, t in self.tensors.items()}


def states():
    """For each tensor of the program, all that it holds at any time of a run without failures."""
    seen = {}

    class Watched(Program):
        def note(self):
            for name, value in self.values().items():
                seen.setdefault(name, [])
                if value not in seen[name]:
                    seen[name].append(value)

        def run(self):
            step = torch.optim.Adam.step

            def noted(optimizer, *args):
                self.note()
                out = step(optimizer, *args)
                self.note()
                return out

            torch.optim.Adam.step = noted
            try:
                super().run()
            finally:
                torch.optim.Adam.step = step
            self.note()

        def keep(self, name, t):
            super().keep(name, t)
            self.note()
            return t

    program = Watched()
    program.run()
    return program.numbers, seen


@pytest.fixture(scope="module")
def right(bridge):
    yield states()
    bridge.fault("", 0)
    assert asyncio.run(torch.webgpu.reset())


def points(bridge, kind, start, many):
    """Which calls of a kind fail, of all that a run makes."""
    prepare(start)
    if start == "warm":
        Program().run()
        prepare(start)
    bridge.fault(kind, MANY)
    Program().run()
    made = MANY - bridge.fault("", 0)
    assert made >= many
    return sorted({1 + (2 * i + 1) * (made - 1) // (2 * many) for i in range(many)})


def prepare(start):
    if start == "new":
        assert asyncio.run(torch.webgpu.reset())
    torch.webgpu.empty_cache()  # so that buffers are made


def settle():
    """A failure that nobody has read is raised by synchronize(), once."""
    try:
        torch.webgpu.synchronize()
    except RuntimeError:
        torch.webgpu.synchronize()


@pytest.mark.timeout(60)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_call_that_fails(bridge, right, fault):
    kind, start, many, error, text = FAULTS[fault]
    numbers, seen = right
    program = again = None
    for n in points(bridge, kind, start, many):
        program = again = t = None  # else the pool has their buffers
        prepare(start)
        program = Program()
        bridge.fault(kind, n)
        try:
            program.run()
        except error as e:
            assert re.search(text, str(e)), (n, e)
        else:
            pytest.fail(
                "call %d of %s: no error, %d to go, numbers %s"
                % (n, kind, bridge.fault("", 0), program.numbers == numbers)
            )
        assert bridge.fault("", 0) == 0
        assert torch.is_grad_enabled()
        assert program.numbers == numbers[: len(program.numbers)], n
        for name, t in program.tensors.items():
            try:
                value = t.tolist()
            except error:
                continue
            assert value in seen[name], (n, name)
        if error is GONE:
            assert not torch.webgpu.is_available() and torch.webgpu.why_not()
        if error is GONE or kind == "pipeline":
            assert asyncio.run(torch.webgpu.reset())
        else:
            settle()
        again = Program()
        again.run()
        assert again.numbers == numbers and all(v == seen[k][-1] for k, v in again.values().items()), n
