"""Strides of what indices select, where dims of size 1 leave a choice, beside PyTorch."""

import itertools
import random

import pytest

import torchlite

torch = pytest.importorskip("torch")
PARTS = ("None", "0", ":", "I", "J", "K", "M", "Z", "0:1")


def selected(lib, shape, order, index):
    x = lib.arange(lib.Size(shape).numel()).reshape([shape[d] for d in order])
    x = x.permute([order.index(d) for d in range(3)])
    names = {
        "x": x,
        "I": lib.tensor([1, 1]),
        "J": lib.tensor([[0], [1]]),
        "K": lib.tensor([0]),
        "M": lib.tensor([True, False]),
        "Z": lib.tensor(1),
    }
    try:
        y = eval(f"x[{index}]", names)
    except (IndexError, RuntimeError) as e:
        return type(e)
    return tuple(y.shape), y.stride(), y.tolist()


@pytest.mark.parametrize("shape", [(2, 2, 2), (1, 2, 2), (2, 1, 2), (2, 2, 1), (2, 3, 2)], ids=str)
def test_strides(shape):
    rng = random.Random(5)
    for order in itertools.permutations(range(3)):
        for parts in itertools.chain(*(itertools.product(PARTS, repeat=n) for n in (1, 2, 3, 4))):
            if set(parts) & set("IJKMZ") and rng.random() < (0.3 if len(parts) < 3 else 0.01):
                index = ", ".join(parts)
                want, got = (selected(lib, shape, order, index) for lib in (torch, torchlite))
                assert got == want, (order, index)
