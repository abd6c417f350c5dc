"""torch.use_deterministic_algorithms(True): two runs give the same bits, also of the two ops that PyTorch refuses."""

from __future__ import annotations


import pytest

import torchlite as torch

import deterministic


pytestmark = pytest.mark.filterwarnings("ignore:.* does not have a deterministic implementation")


@pytest.fixture(autouse=True)
def mode():
    torch.use_deterministic_algorithms(True, warn_only=True)
    yield
    torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("name", deterministic.OPS)
def test_op_gives_the_same_twice(name):
    first = deterministic.run(name)
    assert first == deterministic.run(name)
    torch.use_deterministic_algorithms(False)
    assert first == deterministic.run(name)  # the mode changes no numbers here


def test_training():
    assert deterministic.train() == deterministic.train()
