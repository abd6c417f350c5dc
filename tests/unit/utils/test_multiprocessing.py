"""torch.multiprocessing in one process: the functions run here, with one note."""

import subprocess
import sys
import threading
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


@pytest.mark.timeout(60)
def test_queues_do_not_wait_for_ever():
    if any(isinstance(t, threading._DummyThread) for t in threading.enumerate()):
        pytest.skip("a thread that is not Python's, as pytest-xdist has one, ran Python code and might take something")
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


def test_a_pipe_carries_copies_and_shares_tensors():
    ours, theirs = mp.Pipe()
    shared, listed = torch.zeros(2), [1, 2]

    def worker(end, others):
        others.close()  # its own copy
        item, tensor = end.recv()
        tensor += 1
        end.send({"big": b"x" * 1_000_000, "item": item})
        end.close()

    ours.send((listed, shared))
    listed.append(3)
    process = mp.Process(target=worker, args=(theirs, ours))
    process.start()
    process.join()
    theirs.close()
    assert ours.poll() and ours.recv()["item"] == [1, 2] and shared.tolist() == [1.0, 1.0]
    with pytest.raises(EOFError):
        ours.recv()
    with pytest.raises(BrokenPipeError):
        ours.send(1)
    ours.close()
    with pytest.raises(OSError, match="handle is closed"):
        ours.recv()
    reader, writer = mp.get_context("spawn").Pipe(duplex=False)
    with pytest.raises(OSError, match="connection is read-only"):
        reader.send(1)
    with pytest.raises(OSError, match="connection is write-only"):
        writer.recv()
    writer.send_bytes(b"abcd", 1, 2)
    assert reader.recv_bytes() == b"bc" and not reader.poll()


def test_a_worker_that_waits_for_its_parent_is_an_error():
    """As the parent goes on only when the worker has ended: it would wait for ever."""
    ours, theirs = mp.Pipe()
    queue = mp.Queue()
    with pytest.raises(RuntimeError, match="the pipe is empty, and torchlite has no other process that could send"):
        mp.Process(target=lambda end: end.recv(), args=(theirs,)).start()
    with pytest.raises(RuntimeError, match=r"poll\(\): the pipe is empty, and torchlite has no other process"):
        mp.Process(target=lambda end: end.poll(10), args=(theirs,)).start()
    assert not theirs.poll(0.5)
    with pytest.raises(RuntimeError, match="the queue is empty, and torchlite has no other process"):
        mp.Process(target=queue.get).start()


@pytest.mark.skipif(sys.platform == "emscripten", reason="Pyodide has one thread")
def test_a_pipe_between_threads():
    import threading

    ours, theirs = mp.Pipe()
    thread = threading.Timer(0.3, ours.send, ("late",))
    thread.start()
    assert not theirs.poll(0.05) and theirs.poll(10) and theirs.recv() == "late"
    thread.join()
