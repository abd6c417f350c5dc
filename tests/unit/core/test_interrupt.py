"""A signal, as Stop sends it, is taken while a kernel runs, and not when it is done."""

import gc
import signal
import sys
import time

import pytest
import torchlite as torch

F = torch.nn.functional

pytestmark = pytest.mark.skipif(
    sys.platform == "emscripten" or not hasattr(signal, "setitimer"), reason="no timers that send signals"
)


class Stop(Exception):
    pass


def ints(n, most):
    return torch.randint(0, most, (n,))


# name: (arguments, call). Each takes between a tenth and half of a second.
CALLS = {
    "logcumsumexp": (lambda: torch.rand(8_000_000), lambda x: x.logcumsumexp(0)),
    "cummax": (lambda: torch.rand(30_000_000), lambda x: x.cummax(0)),
    "kthvalue": (lambda: torch.rand(8_000_000), lambda x: x.kthvalue(4_000_000)),
    "median": (lambda: torch.rand(12_000_000), lambda x: x.median()),
    "sort of short columns": (lambda: torch.rand(20, 300_000), lambda x: x.sort(0)),
    "unique_consecutive": (lambda: ints(8_000_000, 1000), lambda x: x.unique_consecutive()),
    "unique of rows": (lambda: torch.randint(0, 3, (300_000, 8)), lambda x: x.unique(dim=0)),
    "bernoulli": (lambda: torch.rand(20_000_000), lambda x: x.bernoulli()),
    "tolist": (lambda: torch.rand(4_000_000, 2), lambda x: x.tolist()),
    "tensor": (lambda: [0.5] * 10_000_000, lambda x: torch.tensor(x)),
    "randperm": (lambda: 8_000_000, lambda n: torch.randperm(n)),
    "bucketize": (lambda: torch.rand(4_000_000), lambda x: torch.bucketize(x, torch.linspace(0, 1, 1000))),
    "cat": (lambda: torch.rand(15_000_000), lambda x: torch.cat([x] * 10)),
    "gather": (lambda: (torch.rand(12_000_000), torch.randperm(12_000_000)), lambda x: x[0].gather(0, x[1])),
    "embedding": (lambda: (torch.rand(1000, 256), ints(400_000, 1000)), lambda x: F.embedding(x[1], x[0])),
    "permute": (lambda: torch.rand(100, 4, 100, 300), lambda x: x.permute(3, 1, 2, 0).contiguous()),
    "pool of one image": (lambda: torch.rand(1, 1, 6000, 6000), lambda x: F.max_pool2d(x, 5, 1)),
}


def interrupted(make, call):
    """How long the call took by itself, and when it ended after a signal in its first tenth."""
    gc.collect()
    x = make()
    start = time.perf_counter()
    call(x)
    full = time.perf_counter() - start
    x = make()
    start = time.perf_counter()
    try:
        signal.setitimer(signal.ITIMER_REAL, full / 10)
        call(x)
    except Stop:
        return full, time.perf_counter() - start
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return full, full


@pytest.mark.parametrize("name", CALLS)
def test_a_signal_stops_a_kernel(name):
    def stop(number, frame):
        raise Stop

    before, threads = signal.signal(signal.SIGALRM, stop), torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for _ in range(4):  # a busy machine may stretch either time
            full, ended = interrupted(*CALLS[name])
            if ended < full / 2:
                break
        assert ended < full / 2
    finally:
        signal.signal(signal.SIGALRM, before)
        torch.set_num_threads(threads)


def test_results_are_complete_after_a_stop():
    """What was stopped is dropped: the next calls compute as before."""
    before = signal.signal(signal.SIGALRM, lambda number, frame: (_ for _ in ()).throw(Stop()))
    x = torch.rand(3_000_000)
    values, order = x.sort()
    try:
        for _ in range(5):
            with pytest.raises(Stop):
                signal.setitimer(signal.ITIMER_REAL, 0.003)
                while True:
                    x.sort()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    again = x.sort()
    assert torch.equal(again[0], values) and torch.equal(again[1], order)
    assert x.cumsum(0)[-1] == x.double().cumsum(0)[-1].float()
