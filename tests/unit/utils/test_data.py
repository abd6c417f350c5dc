"""Data loading against PyTorch: the same seed gives the same batches, with and without workers."""

import random
import warnings

import pytest

import torchlite

torch = pytest.importorskip("torch")


def plain(x):
    if isinstance(x, (torch.Tensor, torchlite.Tensor)):
        return [str(x.dtype).rpartition(".")[2], x.tolist()]
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return [type(x).__name__, *map(plain, x)]
    return x


def same(f):
    out = []
    for lib in (torch, torchlite):
        lib.manual_seed(0)
        random.seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                out.append(plain(f(lib, lib.utils.data)))
            except Exception as e:
                out.append((type(e).__name__, str(e).replace("torchlite", "torch")))
    assert out[0] == out[1]


LOADERS = {
    "shuffle": lambda lib, d, ds: {"batch_size": 3, "shuffle": True},
    "drop_last": lambda lib, d, ds: {"batch_size": 4, "drop_last": True},
    "no batching": lambda lib, d, ds: {"batch_size": None},
    "generator": lambda lib, d, ds: {"batch_size": 3, "shuffle": True, "generator": lib.Generator().manual_seed(3)},
    "weighted": lambda lib, d, ds: {"batch_size": 2, "sampler": d.WeightedRandomSampler([1.0, 2, 3], 5)},
    "replacement": lambda lib, d, ds: {"batch_size": 2, "sampler": d.RandomSampler(ds, True, 40)},
    "batch sampler": lambda lib, d, ds: {"batch_sampler": d.BatchSampler(d.SubsetRandomSampler([1, 3, 5]), 2, False)},
    "distributed": lambda lib, d, ds: {"batch_size": 2, "sampler": d.DistributedSampler(ds, 3, 1)},
}


@pytest.mark.parametrize("case", LOADERS)
def test_batches(case):
    def run(lib, d):
        ds = d.TensorDataset(lib.arange(20.0).reshape(10, 2), lib.arange(10))
        dl = d.DataLoader(ds, **LOADERS[case](lib, d, ds))
        return [list(dl), list(dl), lib.rand(2)]

    same(run)


def test_workers_have_pytorchs_seeds_and_turns(monkeypatch):
    # recorded from PyTorch with two processes would be slow; the main process's numbers must at least not be touched
    from torchlite.utils.data._utils import processes, workers

    monkeypatch.setattr(processes, "available", lambda: False)
    monkeypatch.setattr(workers, "_noted", False)
    d = torchlite.utils.data

    class Stream(d.IterableDataset):
        def __iter__(self):
            info = d.get_worker_info()
            yield from range(info.id, 7, info.num_workers)

    started = []
    dl = d.DataLoader(Stream(), batch_size=2, num_workers=2, worker_init_fn=started.append)
    torchlite.manual_seed(1)
    with pytest.warns(UserWarning, match="no worker processes") as seen:
        batches = [b.tolist() for b in dl]
    assert seen[0].filename == __file__
    assert batches == [[0, 2], [1, 3], [4, 6], [5]] and started == [0, 1]
    after = torchlite.rand(3).tolist()
    torchlite.manual_seed(1)
    torchlite.empty((), dtype=torchlite.int64).random_()
    assert after == torchlite.rand(3).tolist()
    assert d.get_worker_info() is None


def test_random_split():
    same(lambda lib, d: [s.indices for s in d.random_split(list(range(10)), [0.33, 0.67])])
    same(lambda lib, d: [s.indices for s in d.random_split(list(range(10)), [3, 7], lib.Generator().manual_seed(5))])


SAMPLES = {
    "dict": [{"a": 1, "b": (1.5, "x")}, {"a": 2, "b": (2.5, "y")}],
    "numbers": [1, 2],
    "floats": [1.5, 2.5],
    "strings": ["a", "b"],
    "nested": [[1, [2.0]], [3, [4.0]]],
    "uneven": [[1], [1, 2]],
    "object": [object()],
    "bool": [True, False],
}


@pytest.mark.parametrize("case", SAMPLES)
def test_default_collate(case):
    if case == "object":
        with pytest.raises(TypeError, match="default_collate: batch must contain tensors"):
            torchlite.utils.data.default_collate(SAMPLES[case])
        return
    same(lambda lib, d: d.default_collate(SAMPLES[case]))


def test_datasets():
    def run(lib, d):
        a, b = d.TensorDataset(lib.arange(3)), d.TensorDataset(lib.arange(4))
        c = a + b
        return [
            len(c),
            c[3],
            c[-1],
            d.Subset(c, [5, 0])[0],
            d.StackDataset(x=a, y=a)[1],
            d.StackDataset(a, a).__getitems__([0, 2]),
        ]

    same(run)


ERRORS = {
    "workers": lambda d, ds: d.DataLoader(ds, num_workers=-1),
    "prefetch": lambda d, ds: d.DataLoader(ds, prefetch_factor=2),
    "persistent": lambda d, ds: d.DataLoader(ds, persistent_workers=True),
    "both": lambda d, ds: d.DataLoader(ds, shuffle=True, sampler=[1]),
    "batch sampler": lambda d, ds: d.DataLoader(ds, batch_size=2, batch_sampler=[[1]]),
    "size": lambda d, ds: d.DataLoader(ds, batch_size=0),
    "empty": lambda d, ds: d.DataLoader([], shuffle=True),
    "set": lambda d, ds: setattr(d.DataLoader(ds), "batch_size", 3),
    "split": lambda d, ds: d.random_split(ds, [1, 2]),
    "concat": lambda d, ds: d.ConcatDataset([]),
    "range": lambda d, ds: d.ConcatDataset([ds])[-100],
    "samples": lambda d, ds: d.WeightedRandomSampler([1], 0),
    "abstract": lambda d, ds: d.Dataset()[0],
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case):
    same(lambda lib, d: ERRORS[case](d, d.TensorDataset(lib.arange(10))))


def test_multiprocessing_context_is_checked():
    for context, error, text in (
        ("bad", ValueError, "should specify a valid start method in"),
        (1, TypeError, "should be a valid context object or a string"),
    ):
        with pytest.raises(error, match=text):
            torchlite.utils.data.DataLoader([1, 2], num_workers=1, multiprocessing_context=context)
