"""Each hostile file ends in what it should, in time, in little memory, and the interpreter lives on."""

import pytest

import make_corpus
import measure

import torchlite as torch


@pytest.mark.parametrize("case", make_corpus.CASES, ids=lambda c: c.name)
def test_file(case):
    assert not measure.wrong(case, *measure.measure(case))
    assert torch.ones(3).sum() == 3
