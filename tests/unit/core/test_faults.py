"""Failures in the middle of training: memory that is not there, and interrupts.
What comes after is as if they had not happened.

The n-th allocation fails by `_C.fail_allocation`;
the n-th line of the library raises KeyboardInterrupt by a trace function, which reaches more places than a key does.
"""

import copy
import inspect
import io
import linecache
import pathlib
import sys

import pytest

import torchlite as torch
from torchlite import _C, nn
from torchlite._functorch import batched
from torchlite.autograd import _node, graph

HOME = str(pathlib.Path(torch.__file__).parent)
POINTS = 20  # of each program, spread over its run


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.attend, self.out = (
            nn.LSTM(6, 8, batch_first=True),
            nn.MultiheadAttention(8, 2, batch_first=True),
            nn.Linear(8, 3),
        )

    def forward(self, x):
        y, _ = self.lstm(x)
        return self.out(self.attend(y, y, y)[0].mean(1))


MODELS = {
    "mlp": (lambda: nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 3)), (5, 6)),
    "cnn": (
        lambda: nn.Sequential(
            nn.Conv2d(2, 4, 3),
            nn.BatchNorm2d(4),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(16, 3),
        ),
        (4, 2, 6, 6),
    ),
    "lstm and attention": (Attention, (3, 4, 6)),
}
OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9),
    "Adam": lambda p: torch.optim.Adam(p, 0.01),
    "LBFGS": lambda p: torch.optim.LBFGS(p, 0.1, max_iter=2),
}


class Training:
    """A model, its optimizer, its data; `state` and `restore` are what a program would save."""

    def __init__(self, model, optimizer):
        make, shape = MODELS[model]
        torch.manual_seed(0)
        self.model = make()
        self.optimizer = OPTIMIZERS[optimizer](self.model.parameters())
        self.x, self.y = torch.randn(shape), torch.arange(shape[0]) % 3

    def step(self):
        def closure():
            self.optimizer.zero_grad()
            with torch.no_grad():
                self.model(self.x[:2])
            loss = nn.functional.cross_entropy(self.model(self.x), self.y)
            loss.backward()
            return loss

        return self.optimizer.step(closure).item()

    def state(self):
        return copy.deepcopy((self.model.state_dict(), self.optimizer.state_dict(), torch.get_rng_state()))

    def restore(self, state):
        model, optimizer, rng = copy.deepcopy(state)
        self.model.load_state_dict(model)
        self.optimizer.load_state_dict(optimizer)
        torch.set_rng_state(rng)


def checkpoint(t):
    """A program that writes and reads a file in each step."""
    file = io.BytesIO()
    torch.save(t.state(), file)
    file.seek(0)
    t.restore(torch.load(file))


def modes():
    return (
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        list(_node.saved_hooks),
        list(_node.anomaly),
        list(graph.tasks),
        list(batched.running()),
        _C.function_state(),
        _C.forward_ad(None),
        _C.func_level(),
        torch.get_default_dtype(),
    )


def ends_block(frame):
    """The line of a `with` is traced again at its end,
    where Python itself looks for no interrupt before __exit__ has run."""
    return linecache.getline(frame.f_code.co_filename, frame.f_lineno).lstrip().startswith("with ")


def interrupted(n, run, traced, event, spared=lambda frame: False):
    """Runs run(), interrupted at the n-th trace `event` in code that is `traced`, but not where `spared`;
    returns how many of the n were left."""
    left = [n]

    def local(frame, kind, arg):
        if kind == event and left[0] and not spared(frame):
            left[0] -= 1
            if not left[0]:
                raise KeyboardInterrupt
        return local

    old = sys.gettrace()
    sys.settrace(
        lambda frame, kind, arg: local if frame.f_code.co_filename.startswith(HOME) and traced(frame.f_code) else None
    )
    try:
        run()
    finally:
        sys.settrace(old)
    return left[0]


def interrupt_at(n, run):
    """Interrupted before its n-th line in the library."""
    return interrupted(n, run, lambda code: True, "line", ends_block)


def fail_at(n, run):
    _C.fail_allocation(n)
    try:
        run()
    finally:
        left = _C.fail_allocation(0)
    return left


FAULTS = {"memory": (fail_at, (torch.OutOfMemoryError, MemoryError)), "interrupt": (interrupt_at, KeyboardInterrupt)}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("model", MODELS)
def test_training(model, optimizer, fault):
    if fault == "interrupt" and not linecache.getline(torch.optim.Optimizer.step.__code__.co_filename, 1):
        pytest.skip("the wheel has no source lines to be interrupted at")
    strike, error = FAULTS[fault]
    many = 1 << 30
    t = Training(model, optimizer)
    for _ in range(2):
        t.step()
    start, before = t.state(), modes()

    def program():
        t.step()
        checkpoint(t)

    program()  # a first run imports what the later ones find imported
    t.restore(start)
    points = many - strike(many, program)
    t.restore(start)
    want = [t.step() for _ in range(2)]
    # not the last line: the collector may run a finalizer of the library in one run and not in the next
    for n in sorted({1 + i * (points - 1) // POINTS for i in range(POINTS)}):
        t.restore(start)
        with pytest.raises(error):
            strike(n, program)
        assert modes() == before
        assert t.model.training and all(p.requires_grad and p.is_leaf for p in t.model.parameters())
        t.restore(start)
        assert [t.step() for _ in range(2)] == want


def interrupt_return(n, run):
    """Interrupted where the n-th function of the library has returned and its caller has nothing of it yet:
    Python looks for interrupts there."""
    # a generator that yields has not returned; and between __enter__ and its block Python looks for no interrupt
    return interrupted(
        n, run, lambda code: not code.co_flags & inspect.CO_GENERATOR and code.co_name != "__enter__", "return"
    )


def interrupt_call(n, run):
    """Interrupted where the n-th call of a function in C, from the library's Python, has returned."""
    left = [n]

    def look(frame, kind, arg):
        if getattr(arg, "__name__", "") == "__enter__":  # from 3.14 on a `with` calls it like any function
            return
        if kind == "c_return" and left[0] and frame.f_code.co_filename.startswith(HOME):
            left[0] -= 1
            if not left[0]:
                raise KeyboardInterrupt

    old = sys.getprofile()
    sys.setprofile(look)
    try:
        run()
    finally:
        sys.setprofile(old)
    return left[0]


class Kind(torch.Tensor):
    pass


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


CALLS = {
    "optimizer": lambda: Training("mlp", "Adam").step(),
    "differentiable optimizer": lambda: torch.optim.SGD([nn.Parameter(torch.ones(2))], 0.1, differentiable=True).step(),
    "jacobian": lambda: torch.autograd.functional.jacobian(lambda x: x * x, torch.ones(2)),
    "hvp": lambda: torch.autograd.functional.hvp(lambda x: (x * x).sum(), torch.ones(2), torch.ones(2)),
    "checkpoint": lambda: (
        torch.utils.checkpoint.checkpoint(torch.sin, torch.ones(2, requires_grad=True), use_reentrant=False)
        .sum()
        .backward()
    ),
    "clip": lambda: nn.utils.clip_grad_norm_([nn.Parameter(torch.ones(2))], 1.0),
    "func": lambda: torch.func.grad(lambda x: (x * x).sum())(torch.ones(2)),
    "jvp": lambda: torch.func.jvp(lambda x: x * x, (torch.ones(2),), (torch.ones(2),)),
    "vmap": lambda: torch.vmap(lambda x: (x * x).sum())(torch.ones(2, 3)),
    "parameter": lambda: nn.Parameter(torch.ones(2)),
    "subclass": lambda: Kind(torch.ones(2)) * 2 + torch.ones(2),
    "function": lambda: Twice.apply(torch.ones(2, requires_grad=True)).sum().backward(),
}


@pytest.mark.parametrize("strike", [interrupt_return, interrupt_call])
@pytest.mark.parametrize("name", CALLS)
def test_modes_after_an_interrupted_return(name, strike):
    many, run, before = 1 << 30, CALLS[name], modes()
    run()
    points = many - strike(many, run)
    for n in sorted({1 + i * (points - 1) // 59 for i in range(60)}):
        try:
            strike(n, run)
        except KeyboardInterrupt:
            pass
        assert modes() == before, n
