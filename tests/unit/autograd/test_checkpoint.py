"""torch.utils.checkpoint: the same gradients as without it, the function run twice, dropout repeated."""

import warnings

import pytest

import torchlite as torch
from torchlite.utils.checkpoint import CheckpointError, checkpoint, checkpoint_sequential


def grads(reentrant):
    torch.manual_seed(0)
    m = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Dropout(0.5), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    x = torch.randn(4, 3, requires_grad=True)
    runs = []

    def f(x):
        runs.append(1)
        return m(x)

    torch.manual_seed(7)
    y = f(x) if reentrant is None else checkpoint(f, x, use_reentrant=reentrant)
    torch.rand(5)  # the second run must not be moved by later draws
    y.sum().backward()
    return [x.grad.tolist(), *[p.grad.tolist() for p in m.parameters()]], len(runs)


@pytest.mark.parametrize("reentrant", [True, False])
def test_gradients(reentrant):
    plain, once = grads(None)
    again, twice = grads(reentrant)
    assert plain == again and (once, twice) == (1, 2)


def test_sequential_and_keyword_arguments():
    m = torch.nn.Sequential(*[torch.nn.Linear(3, 3) for _ in range(4)])
    x = torch.ones(2, 3, requires_grad=True)
    m(x).sum().backward()
    want, x.grad = x.grad.tolist(), None
    checkpoint_sequential(m, 2, x, use_reentrant=False).sum().backward()
    assert x.grad.tolist() == want
    y = checkpoint(lambda x, k: x * k, x, k=3.0, use_reentrant=False)
    assert torch.autograd.grad(y.sum(), x)[0].tolist() == [[3.0] * 3] * 2


def test_messages():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: foo"):
        checkpoint(lambda a: a, x, use_reentrant=True, foo=1)
    with pytest.warns(UserWarning, match="use_reentrant parameter should be passed"):
        checkpoint(lambda a: a * 2, x)
    n = []

    def changes(a):
        n.append(1)
        return a.sin().exp() if len(n) == 1 else a.sin()

    with pytest.raises(CheckpointError, match="different number of tensors"), warnings.catch_warnings():
        checkpoint(changes, x, use_reentrant=False).sum().backward()
