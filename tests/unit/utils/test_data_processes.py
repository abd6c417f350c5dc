"""Workers of a DataLoader that are processes: what goes through their pipes, what they share, and how they end."""

import multiprocessing
import os
import sys
import threading
import time

import pytest
import torchlite as torch
import torchlite.multiprocessing as mp
from torchlite.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux" or not hasattr(os, "fork"), reason="no processes here"),
    pytest.mark.filterwarnings("ignore:This DataLoader"),
    pytest.mark.timeout(60),
]


class Of(Dataset):
    def __init__(self, get, n=4):
        self.get, self.n = get, n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return self.get(i)


@pytest.mark.parametrize("ahead", [2, 16])
def test_more_indices_and_batches_than_pipes_hold(ahead):
    data = TensorDataset(torch.arange(200_000.0))
    loader = DataLoader(data, 32768, shuffle=True, num_workers=2, prefetch_factor=ahead)
    assert sum(x.sum(dtype=torch.float64).item() for (x,) in loader) == sum(range(200_000))


def test_views_send_what_they_view():
    big = torch.arange(4_000_000.0).view(1000, 4000)

    class Chunks(IterableDataset):
        def __iter__(self):
            for i in range(0, 1000, 10):
                yield big[i : i + 10], big.t()[5, i]

    for i, (x, y) in enumerate(DataLoader(Chunks(), None, num_workers=1)):
        assert x[0, 0] == 40_000 * i and y == 40_000 * i + 5
        assert x.untyped_storage().nbytes() == 160_000 and y.untyped_storage().nbytes() <= 160_000


def test_memory_that_tensors_share():
    def get(i):
        x = torch.arange(6)
        return x[:2], x[2:], x, x, x.view(2, 3).t(), x.view(torch.int16)[4:]

    (a, b, whole, same, turned, halves) = next(iter(DataLoader(Of(get), None, num_workers=1)))
    assert same is whole and turned.stride() == (1, 3)
    whole.fill_(3)
    assert [a.tolist(), b.tolist(), turned.tolist()] == [[3] * 2, [3] * 4, [[3, 3]] * 3]
    assert halves.tolist() == [3, 0, 0, 0] * 5


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.empty(0, 3),
        lambda: torch.tensor(2.5, dtype=torch.bfloat16),
        lambda: torch.ones(1).expand(5),
        lambda: torch.tensor([1 + 2j]).conj(),
        lambda: torch.nn.Parameter(torch.ones(2)),
        lambda: torch.ones(2, requires_grad=True),
        lambda: torch.eye(2).to_sparse(),
        lambda: {"a": [torch.ones(2), None, "b"]},
    ],
)
def test_what_comes_is_what_was_sent(make):
    sent, got = make(), next(iter(DataLoader(Of(lambda i: make()), None, num_workers=1)))
    assert type(got) is type(sent)
    assert repr(got) == repr(sent)
    if isinstance(sent, torch.Tensor) and not sent.is_sparse:
        assert got.stride() == sent.stride() and got.requires_grad == sent.requires_grad


def test_many_tensors():
    got = next(iter(DataLoader(Of(lambda i: list(torch.arange(3000).clone().split(1))), None, num_workers=1)))
    assert [t.item() for t in got] == list(range(3000))


def test_a_graph_stays_behind():
    weight = torch.ones(1, requires_grad=True)
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor"):
        next(iter(DataLoader(Of(lambda i: weight * i), None, num_workers=1)))


def test_an_index_can_be_anything():
    data = {"restart": 1, 2: 3, None: 4}
    assert list(DataLoader(data, None, sampler=list(data), num_workers=1)) == [1, 3, 4]


def test_shared_memory():
    cache = torch.full((4,), -1.0)
    view = cache[1:].share_memory_()
    assert cache.is_shared() and view.is_shared() and not torch.ones(1).is_shared()

    def get(i):
        cache[i] = i * i
        return i

    list(DataLoader(Of(get), num_workers=2))
    assert cache.tolist() == [0, 1, 4, 9]
    assert torch.nn.Linear(2, 2).share_memory().weight.is_shared()


def test_a_collate_function_writes_into_new_shared_memory():
    """torch_geometric's does, in a worker."""

    def collate(batch):
        memory = batch[0].untyped_storage()._new_shared(len(batch) * batch[0].nbytes, device=batch[0].device)
        return torch.stack(batch, out=batch[0].new(memory).resize_(len(batch), 2))

    found = list(DataLoader(Of(lambda i: torch.tensor([i, i * i])), 2, num_workers=1, collate_fn=collate))
    assert [batch.tolist() for batch in found] == [[[0, 0], [1, 1]], [[2, 4], [3, 9]]]
    made = torch.ones(2).storage()._new_shared(3)
    assert made.is_shared() and made.size() == 3 and made.dtype == torch.float32
    assert torch.UntypedStorage._new_shared(4, device="meta").device.type == "meta"


def test_an_array_outlives_the_move_to_shared_memory():
    x = torch.ones(1000)
    array = memoryview(x.untyped_storage())
    x.share_memory_()
    x.fill_(2.0)
    assert bytes(array) == bytes(torch.ones(1000).untyped_storage())


def test_a_queue_of_workers():
    queue = mp.Queue()
    list(DataLoader(Of(lambda i: queue.put(torch.tensor(i)) or i), num_workers=2))
    assert sorted(queue.get(timeout=10).item() for _ in range(4)) == [0, 1, 2, 3]


@pytest.mark.parametrize("given", ["fork", mp.get_context("fork"), multiprocessing.get_context("fork")])
def test_context(given):
    assert [x.item() for x in DataLoader(range(3), num_workers=1, multiprocessing_context=given)] == [0, 1, 2]


def test_the_first_that_is_ready():
    def get(i):
        time.sleep(1.0 if i == 0 else 0.01)
        return i

    got = [x.item() for x in DataLoader(Of(get, 6), num_workers=2, in_order=False)]
    assert got[0] != 0 and sorted(got) == list(range(6))


@pytest.mark.parametrize("in_order", [True, False])
def test_a_batch_that_is_late_comes_later(in_order):
    gate = multiprocessing.Event()
    data = Of(lambda i: i if i != 2 or gate.wait() else i, 6)
    it = iter(DataLoader(data, num_workers=2, timeout=1, in_order=in_order))
    found, late = [], []
    while len(found) < 6:
        try:
            found.append(next(it).item())
        except RuntimeError as e:
            late.append(str(e))
            gate.set()
    assert late == ["DataLoader timed out after 1 seconds"] and sorted(found) == list(range(6))
    assert not in_order or found == list(range(6))
    with pytest.raises(StopIteration):
        next(it)


def test_an_epoch_left_after_a_late_batch():
    gate = multiprocessing.Event()
    data = Of(lambda i: i if i != 1 or gate.wait() else i)
    loader = DataLoader(data, num_workers=2, timeout=1, persistent_workers=True)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="timed out"):
            for _ in loader:
                pass
    gate.set()
    assert [x.item() for x in loader] == [x.item() for x in loader] == [0, 1, 2, 3]


def test_a_worker_that_died_has_nothing_to_come():
    it = iter(DataLoader(Of(lambda i: i if i % 2 else os._exit(1)), num_workers=2))
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        next(it)
    assert [x.item() for x in it] == [1, 3]


def test_a_stream_ends_where_order_does_not_matter():
    class Stream(IterableDataset):
        def __iter__(self):
            return iter(range(torch.utils.data.get_worker_info().id * 3 + 1))

    loader = DataLoader(Stream(), num_workers=2, in_order=False, persistent_workers=True)
    for _ in range(2):
        assert sorted(x.item() for x in loader) == [0, 0, 1, 2, 3]


@pytest.mark.parametrize("get", [lambda i: i, lambda i: torch.zeros(2_000_000)], ids=["small", "large"])
def test_they_end_while_another_fork_has_their_pipes(get):
    batches = iter(DataLoader(Of(get, 10), num_workers=2))
    next(batches)
    other = multiprocessing.get_context("fork").Process(target=time.sleep, args=(30,), daemon=True)
    other.start()
    start = time.perf_counter()
    del batches
    assert time.perf_counter() - start < 2
    other.terminate()
    other.join()


def test_loaders_in_threads():
    sums = []

    def work():
        for _ in range(6):
            for _ in DataLoader(range(20), num_workers=2):
                break
            sums.append(sum(b.sum().item() for b in DataLoader(range(20), 4, num_workers=2)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sums == [190] * 24


def test_messages_that_do_not_fit():
    from torchlite.utils.data._utils import messages

    reader, writer = multiprocessing.Pipe(False)
    answers, _kept = multiprocessing.Pipe(False)
    unsent = messages.Unsent(writer)
    sent = [list(range(10_000)), "a" * 300_000]
    for message in sent:
        unsent.send(message)
    assert unsent.data
    got = []
    while len(got) < 2:
        assert not unsent.send_until(answers, 0.01)
        if reader.poll():
            os.set_blocking(writer.fileno(), True)  # the rest, while it is read
            pid = os.fork()
            if not pid:
                unsent.send_some()
                os._exit(0)
            unsent.data.clear()
            got = [reader.recv(), reader.recv()]
            os.waitpid(pid, 0)
    assert got == sent
