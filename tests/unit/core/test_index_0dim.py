"""What an index of a tensor without dims is told, as PyTorch says it."""

import pytest

torch = pytest.importorskip("torch")
import torchlite as tl

INDICES = [0, -1, 5, slice(0, 1), (0,), (0, 0), (0, slice(None)), (..., 0), [0]]


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("index", INDICES, ids=str)
def test_words(index, grad):
    said = []
    for m in (torch, tl):
        x = m.tensor(3.0, requires_grad=grad)
        for act in (lambda: x[index], lambda: x.clone().__setitem__(index, 1.0)):
            with pytest.raises(IndexError) as error:
                act()
            said.append(str(error.value))
    assert said[:2] == said[2:]
