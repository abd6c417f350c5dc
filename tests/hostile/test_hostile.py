"""Each hostile file ends in what it should, in time, in little memory, and the interpreter lives on."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import make_corpus  # noqa: E402
import measure  # noqa: E402

import torchlite as torch  # noqa: E402


@pytest.mark.parametrize("case", make_corpus.CASES, ids=lambda c: c.name)
def test_file(case):
    assert not measure.wrong(case, *measure.measure(case))
    assert torch.ones(3).sum() == 3
