"""torch.multiprocessing in one process: the functions run here, with one note."""

import subprocess
import sys
import warnings
from queue import Empty

import pytest

import torchlite as torch
import torchlite.multiprocessing as mp

pytestmark = pytest.mark.filterwarnings("ignore:torch.multiprocessing")


def test_one_note(monkeypatch):
    monkeypatch.setattr(mp, "_noted", [])
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        mp.spawn(print, nprocs=0)
        mp.Process(target=len, args=("",)).start()
    assert len(seen) == 1 and "one process" in str(seen[0].message)


def test_spawn():
    calls = []
    assert mp.spawn(lambda rank, size: calls.append((rank, size)), args=(2,), nprocs=2) is None
    assert calls == [(0, 2), (1, 2)]
    context = mp.start_processes(calls.append, nprocs=1, join=False)
    assert context.join() and len(context.processes) == 1
    with pytest.raises(
        mp.ProcessRaisedException, match=r"(?s)-- Process 0 terminated with the following.*ZeroDivision"
    ):
        mp.spawn(lambda rank: 1 / rank)
    with pytest.raises(mp.ProcessExitedException, match="process 0 terminated with exit code 3"):
        mp.spawn(lambda rank: exit(3))


def test_a_world_of_one():
    def main(rank, size, found):
        torch.distributed.init_process_group("gloo", rank=rank, world_size=size)
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1), find_unused_parameters=True)
        with model.join(), model.no_sync():
            model(torch.ones(1, 2)).sum().backward()
        found.put(model.module.weight.grad)
        torch.distributed.destroy_process_group()

    queue = mp.get_context("spawn").SimpleQueue()
    mp.spawn(main, args=(1, queue), nprocs=1)
    assert queue.get().tolist() == [[1.0, 1.0]]


def test_processes():
    weight = torch.nn.Parameter(torch.zeros(2)).share_memory_()
    workers = [mp.Process(target=weight.data.add_, args=(1,)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert weight.tolist() == [3.0, 3.0] and not workers[0].is_alive() and workers[0].exitcode == 0

    class Own(mp.Process):
        def run(self):
            raise SystemExit(4)

    own = Own()
    assert own.exitcode is None and own.pid is None
    own.start()
    assert own.exitcode == 4
    with pytest.raises(AssertionError, match="cannot start a process twice"):
        own.start()


def test_queues_do_not_wait_for_ever():
    queue = mp.Queue(1)
    queue.put(torch.ones(1))
    with pytest.raises(RuntimeError, match="the queue is full"):
        queue.put(2)
    assert queue.get().item() == 1
    with pytest.raises(RuntimeError, match="the queue is empty"):
        queue.get()


def test_pool():
    found = []
    with mp.Pool(2, found.append, (0,)) as pool:
        assert pool.map(abs, [-1, 2]) == [1, 2] and pool.starmap(max, [(1, 2)]) == [2]
        assert pool.apply(max, (1, 3)) == 3 and list(pool.imap(abs, [-4])) == [4] and pool._processes == 2
        assert pool.apply_async(abs, (-5,), callback=found.append).get(1) == 5
        failed = pool.map_async(lambda x: 1 / x, [0], error_callback=lambda e: found.append(type(e)))
        assert not failed.successful() and found == [0, 5, ZeroDivisionError]
        with pytest.raises(ZeroDivisionError):
            failed.get()
    with pytest.raises(ValueError, match="Pool not running"):
        pool.map(abs, [1])
    with pytest.raises(ValueError, match="cannot find context"):
        mp.get_context("thread")


def test_a_process_has_its_own_group():
    def inside():
        torch.distributed.init_process_group("gloo", rank=0, world_size=1)
        seen.append(torch.distributed.get_world_size())

    seen = []
    for _ in range(2):
        process = mp.Process(target=inside)
        process.start()
        assert process.exitcode == 0 and not torch.distributed.is_initialized()
    torch.distributed.init_process_group("gloo", rank=0, world_size=1)
    try:
        mp.Process(target=inside).start()
        mp.spawn(lambda rank: inside(), nprocs=1)
        assert torch.distributed.is_initialized() and seen == [1, 1, 1, 1]
    finally:
        torch.distributed.destroy_process_group()


@pytest.mark.parametrize("kind", [mp.Queue, mp.SimpleQueue])
def test_what_a_function_put_is_there_when_it_has_ended(kind):
    for _ in range(10):
        queue = kind()
        process = mp.Process(target=lambda: [queue.put(i) for i in range(3)])
        process.start()
        process.join()
        assert not queue.empty() and queue.get(False) == 0
        found = []
        while not queue.empty():
            found.append(queue.get())
        assert found == [1, 2]
        with pytest.raises(Empty):
            queue.get(False)


@pytest.mark.skipif(sys.platform != "linux", reason="no processes here")
def test_a_program_ends_where_nobody_takes_what_is_in_a_queue():
    program = (
        "import torchlite as t; q = t.multiprocessing.Queue(); [q.put(t.ones(1 << 18)) for _ in range(5)]; q.get()"
    )
    assert subprocess.run([sys.executable, "-c", program], timeout=30).returncode == 0


def test_start_methods(monkeypatch):
    monkeypatch.setattr(mp, "_method", [None])
    assert mp.get_start_method(allow_none=True) is None
    mp.set_start_method("spawn")
    assert mp.get_start_method() == "spawn"
    mp.get_context("fork")
    assert mp.get_start_method() == "spawn"
    with pytest.raises(RuntimeError, match="context has already been set"):
        mp.set_start_method("fork")
    mp.set_start_method("fork", force=True)
    assert mp.get_start_method() == "fork"
    with pytest.raises(ValueError, match="cannot find context for 'x'"):
        mp.set_start_method("x", force=True)
