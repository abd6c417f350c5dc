"""A worker of a DataLoader has a dataset and random numbers of its own, as a process has; the values are PyTorch's."""

import math
import os
import random
import signal
import sys
import threading
import time

import pytest
import torchlite as torch
from torchlite.utils.data._utils import workers
from torchlite.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

pytestmark = pytest.mark.filterwarnings("ignore:DataLoader", "ignore:This process")

PROCESSES = sys.platform == "linux" and hasattr(os, "fork")


@pytest.fixture(autouse=True, params=["processes", "turns"])
def kind(request, monkeypatch):
    """Workers that are processes, and those of a page."""
    if request.param == "turns":
        monkeypatch.setattr(workers, "_kind_of_worker", lambda: workers._Worker)
    elif not PROCESSES:
        pytest.skip("no processes here")
    return request.param


class Range(IterableDataset):
    def __init__(self, start, end):
        self.start, self.end = start, end

    def __iter__(self):
        return iter(range(self.start, self.end))


def share(_):
    info = get_worker_info()
    d = info.dataset
    start, end = d.start, d.end
    each = math.ceil((end - start) / info.num_workers)
    d.start = start + info.id * each
    d.end = min(d.start + each, end)


def test_worker_init_fn_shares_out_a_stream():
    ds = Range(3, 7)
    assert [x.item() for x in DataLoader(ds, num_workers=2, worker_init_fn=share)] == [3, 5, 4, 6]
    assert (ds.start, ds.end) == (3, 7)


class Counting(Dataset):
    """Holds what a process inherits and a pickle cannot hold."""

    def __init__(self):
        self.n, self.lock, self.function, self.data = 0, threading.Lock(), lambda i: i, torch.arange(8.0)

    def __len__(self):
        return 8

    def __getitem__(self, i):
        with self.lock:
            self.n += 1
        return self.n


@pytest.mark.parametrize("persistent", [False, True])
def test_state_of_a_dataset(persistent):
    ds = Counting()
    loader = DataLoader(ds, 2, num_workers=2, persistent_workers=persistent)
    assert [b.tolist() for b in loader] == [[1, 2], [1, 2], [3, 4], [3, 4]]
    second = [[5, 6], [5, 6], [7, 8], [7, 8]] if persistent else [[1, 2], [1, 2], [3, 4], [3, 4]]
    assert [b.tolist() for b in loader] == second
    assert ds.n == 0
    assert get_worker_info() is None


def test_tensors_are_not_copied(kind):
    if kind == "processes":
        pytest.skip("a process has its own memory")
    ds = Counting()
    seen = []
    next(iter(DataLoader(ds, num_workers=1, worker_init_fn=lambda i: seen.append(get_worker_info().dataset))))
    assert seen[0] is not ds
    assert seen[0].data is ds.data


class Random(Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, i):
        import numpy

        return numpy.random.rand(), random.random(), torch.rand(()).item()


def test_random_numbers():
    numpy = pytest.importorskip("numpy")
    numpy.random.seed(0)
    torch.manual_seed(0)
    random.seed(0)
    first, second, _ = [[x.tolist() for x in b] for b in DataLoader(Random(), 2, num_workers=2)]
    assert first[0] == [0.8371640508861415, 0.38757835109739946]
    assert first[1] == [0.21315340548154382, 0.2764485855185723]
    assert second[0] == [0.6702704958690073, 0.07589687641367027]
    assert numpy.random.rand() == 0.5488135039273248
    assert random.random() == 0.8444218515250481


class Failing(Dataset):
    def __len__(self):
        return 3

    def __getitem__(self, i):
        if i == 1:
            raise KeyError("k1")
        return i


def test_errors_say_which_worker():
    batches = iter(DataLoader(Failing(), num_workers=2))
    assert next(batches).item() == 0
    with pytest.raises(KeyError, match=r"Caught KeyError in DataLoader worker process 1\.\nOriginal Traceback"):
        next(batches)
    assert next(batches).item() == 2
    with pytest.raises(StopIteration):
        next(batches)


def test_error_of_worker_init_fn():
    def init(i):
        raise ValueError("no")

    batches = iter(DataLoader(Failing(), num_workers=2, worker_init_fn=init))
    with pytest.raises(ValueError, match="Caught ValueError in DataLoader worker process 0"):
        next(batches)


def test_collate_fn_has_state_of_its_own():
    class Collate:
        calls = 0

        def __call__(self, batch):
            self.calls += 1
            return self.calls, batch

    collate = Collate()
    found = list(DataLoader(list(range(6)), 2, num_workers=2, collate_fn=collate))
    assert found == [(1, [0, 1]), (1, [2, 3]), (2, [4, 5])]
    assert collate.calls == 0


def test_workers_live_as_long_as_their_iterator():
    iterator = iter(DataLoader(list(range(80)), batch_size=2, num_workers=3))
    started = iterator._workers
    next(iterator)
    assert [w.is_alive() for w in started] == [True] * 3
    started[1].terminate()
    started[1].join(5)
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly"):
        list(iterator)
    del iterator
    assert [w.is_alive() for w in started] == [False] * 3
    once = iter(DataLoader(Range(0, 2), num_workers=2))
    assert len(list(once)) == 4
    assert [w.is_alive() for w in once._workers] == [False] * 2


class Slow(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        time.sleep(0.2)
        return torch.full((300, 300), float(i)), {"pid": os.getpid()}


def test_processes_load_ahead(kind):
    if kind != "processes":
        pytest.skip("one process loads when it is asked")
    start, pids = time.perf_counter(), set()
    for i, (x, info) in enumerate(DataLoader(Slow(), num_workers=4)):
        assert x.shape == (1, 300, 300)
        assert x[0, 299, 299] == i
        pids.add(info["pid"].item())
    assert time.perf_counter() - start < 1.3  # 1.6 one after the other
    assert len(pids) == 4
    assert os.getpid() not in pids


def test_timeout(kind):
    if kind != "processes":
        pytest.skip("a turn cannot be interrupted")
    with pytest.raises(RuntimeError, match="DataLoader timed out after 0.01 seconds"):
        next(iter(DataLoader(Slow(), num_workers=1, timeout=0.01)))


def test_errors_that_cannot_be_pickled():
    class Own(Exception):
        pass

    class Bad(Failing):
        def __getitem__(self, i):
            if i == 0:
                raise Own("mine")
            return (lambda: 1) if i == 1 else i

    batches = iter(DataLoader(Bad(), None, num_workers=1))
    with pytest.raises(Exception, match="Caught Own in DataLoader worker process 0"):
        next(batches)


def test_an_epoch_that_is_left():
    loader = DataLoader(list(range(12)), 2, num_workers=2, persistent_workers=True)
    for _ in range(3):
        assert next(iter(loader)).tolist() == [0, 1]
    assert [b.tolist() for b in loader] == [[i, i + 1] for i in range(0, 12, 2)]


def test_a_stream_that_is_left_and_starts_again():
    loader = DataLoader(Range(0, 3), num_workers=2, persistent_workers=True)
    assert next(iter(loader)).item() == 0
    for _ in range(2):
        assert [b.item() for b in loader] == [0, 0, 1, 1, 2, 2]


@pytest.mark.skipif(not PROCESSES, reason="no timers here")
def test_a_batch_whose_wait_was_interrupted_still_comes():
    class Slow(Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, i):
            time.sleep(0.4 * (i == 1))
            return i

    def interrupt(*args):
        raise KeyboardInterrupt

    iterator = iter(DataLoader(Slow(), num_workers=1))
    assert next(iterator).item() == 0
    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(KeyboardInterrupt):
            next(iterator)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert [x.item() for x in iterator] == [1, 2, 3]
