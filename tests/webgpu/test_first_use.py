"""The first use of an element-wise op: what its result is, found out without a kernel, is what the CPU's result is."""

import gc
import itertools
import sys

import pytest
import torchlite as torch
from torchlite import ops

pytestmark = pytest.mark.usefixtures("bridge")
DTYPES = (torch.float32, torch.float16, torch.int64, torch.uint8, torch.bool)


def element_wise(arity):
    """Functions of so many tensors that have an element-wise operation."""
    from torchlite.webgpu.plan.operations import OPERATIONS

    ops.load_all()
    names = {ov.kernel for spec in ops.specs for ov in spec.overloads}
    for name in sorted(names & OPERATIONS.keys()):
        f = getattr(torch, name, None) or getattr(torch.special, name.removeprefix("special_"), None)
        if OPERATIONS[name].startswith(str(arity)) and f is not None and name != "polygamma":
            yield name, f


def outcome(f, args):
    """Result type and layout, or the error."""
    try:
        r = f(*args)
    except Exception as e:
        return type(e), str(e)
    return r.dtype, r.shape, r.stride()


def operands(dtype):
    """As numbers of a type go, on the CPU and on the device: of two layouts, without dims, and a number."""
    here = torch.ones(3, 4).to(dtype), torch.ones(4, 3).to(dtype).t(), torch.ones(()).to(dtype)
    return [*[(t, t.to("webgpu")) for t in here], (here[2].item(),) * 2]


@pytest.mark.parametrize("arity", [1, 2])
def test_as_on_the_cpu(arity):
    made, seen = [operands(d) for d in DTYPES], 0
    kinds = [(0,), (1,), (2,)] if arity == 1 else [(0, 1), (1, 0), (0, 2), (2, 1), (1, 3), (3, 0), (3, 2)]
    for name, f in element_wise(arity):
        for types, kind in itertools.product(itertools.product(made, repeat=arity), kinds):
            here, there = zip(*[of[k] for of, k in zip(types, kind)])
            want = outcome(f, here)
            for _ in range(2):  # found out, and remembered
                assert outcome(f, there) == want, (name, here)
            seen += 1
    assert seen > 500


MOST_FRAMES = {
    "sum": (4, lambda a, b: a.sum(1)),
    "matmul": (0, lambda a, b: a @ b),
    "mm": (0, lambda a, b: a.mm(b)),
    "bmm": (0, lambda a, b: a[None].bmm(b[None])),
    "linear": (0, lambda a, b: torch.nn.functional.linear(a, b, a[0])),
    "softmax": (0, lambda a, b: a.softmax(1)),
    "log_softmax": (0, lambda a, b: a.log_softmax(1)),
    "layer_norm": (6, lambda a, b: torch.nn.functional.layer_norm(a, (8,))),
    "cat": (0, lambda a, b: torch.cat([a, b])),
    "clone": (0, lambda a, b: a.clone()),
    "stack": (0, lambda a, b: torch.stack([a, b])),
    "gather": (2, lambda a, b: a.gather(1, b.long())),
    "conv2d": (5, lambda a, b: torch.nn.functional.conv2d(a[None, None], b[None, None, :3, :3])),
}


@pytest.mark.parametrize("name", MOST_FRAMES)
def test_python_frames(name):
    """A first use is planned in C, with little Python. tests/bench/first_use.py shows all frames, and the time."""
    from torchlite.webgpu.lazy import stream

    most, f = MOST_FRAMES[name]
    here = torch.ones(8, 8), torch.zeros(8, 8)
    f(*here)  # its schema is parsed
    there = [t.to("webgpu") for t in here]
    there[1].long().tolist()
    torch.webgpu.synchronize()
    gc.collect()
    gc.disable()
    frames = []

    def note(frame, event, _):
        code = frame.f_code
        path = code.co_filename.replace("\\", "/")
        if event == "call" and "torchlite/webgpu/" in path and "/lazy/" not in path and "/transport/" not in path:
            frames.append(code.co_qualname)

    sys.setprofile(note)
    try:
        r = f(*there)
        stream.run_pending()
        stream.flush()
    finally:
        sys.setprofile(None)
        gc.enable()
    assert len(frames) <= most, frames
    assert r.device.type == "webgpu"
