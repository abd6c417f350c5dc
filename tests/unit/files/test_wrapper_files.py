"""Files with wrapper subclasses: tensors without memory, whose class has a __torch_dispatch__."""

import io
import pickle

import pytest

import torchlite as torch
from torchlite.utils._pytree import tree_map


class Wrapper(torch.Tensor):
    @staticmethod
    def __new__(cls, inner):
        made = torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, dtype=inner.dtype, requires_grad=inner.requires_grad
        )
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        plain = tree_map(lambda x: x.inner if isinstance(x, Wrapper) else x, (args, kwargs or {}))
        return tree_map(lambda x: Wrapper(x) if isinstance(x, torch.Tensor) else x, func(*plain[0], **plain[1]))


@pytest.mark.parametrize("as_parameter", [False, True])
def test_saved_and_loaded(as_parameter):
    saved = Wrapper(torch.arange(6.0).reshape(2, 3))
    saved = torch.nn.Parameter(saved) if as_parameter else saved
    file = io.BytesIO()
    torch.save(saved, file)
    with torch.serialization.safe_globals([Wrapper]):
        found = torch.load(io.BytesIO(file.getvalue()))
    assert type(found) is Wrapper and found.inner.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert isinstance(found, torch.nn.Parameter) is as_parameter and found.requires_grad is as_parameter
    assert (found + 1).inner.sum() == 21
    with pytest.raises(pickle.UnpicklingError):
        torch.load(io.BytesIO(file.getvalue()))


@pytest.mark.parametrize("bad", [(int,), (Wrapper, torch.float32, (-1,)), (Wrapper, torch.float32, (2,), (1,), -1)])
def test_what_a_file_asks_for_is_looked_at(bad):
    good = (Wrapper, torch.float32, (2,), (1,), 0, torch.strided, torch.device("cpu"), False)

    class Asks:
        def __reduce__(self):
            return torch._utils._rebuild_wrapper_subclass, (*bad, *good[len(bad) :])

    file = io.BytesIO()
    torch.save(Asks(), file)
    file.seek(0)
    with torch.serialization.safe_globals([Wrapper, int]), pytest.raises(pickle.UnpicklingError):
        torch.load(file)
