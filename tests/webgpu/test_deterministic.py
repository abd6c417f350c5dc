"""torch.use_deterministic_algorithms(True) on webgpu: two runs give the same bits, and of several values for one place
the last stays, as on the CPU."""

from __future__ import annotations


import pytest
import torchlite as torch

import deterministic

# what is written is not computed with
WRITES = [
    "index_put",
    "index_put of halves",
    "scatter",
    "scatter of int64",
    "scatter of bfloat16",
    "scatter of uint8",
    "scatter of bool",
    "scatter of complex",
    "assignment",
    "max_unpool2d",
    "index_copy",
    "put",
]


pytestmark = pytest.mark.filterwarnings("ignore:.* does not have a deterministic implementation")


@pytest.fixture(autouse=True)
def mode(bridge):
    torch.use_deterministic_algorithms(True, warn_only=True)
    yield
    torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("name", deterministic.OPS)
def test_op_gives_the_same_each_time(name):
    first = deterministic.run(name, "webgpu")
    assert all(first == deterministic.run(name, "webgpu") for _ in range(3))
    if name in WRITES:
        assert first == deterministic.run(name)


def test_training():
    assert deterministic.train("webgpu") == deterministic.train("webgpu")
