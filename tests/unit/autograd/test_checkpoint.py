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


def _selective(chosen, **options):
    from torchlite.utils.checkpoint import create_selective_checkpoint_contexts

    return lambda: create_selective_checkpoint_contexts(chosen, **options)


def _region(x, w):
    return torch.relu(x @ w).sin().view(-1).exp().sum()


@pytest.mark.parametrize("kept", [["mm"], ["sin", "exp"], ["view"], []])
def test_selective_checkpoint_runs_the_rest_again(kept):
    from torchlite.utils._python_dispatch import TorchDispatchMode

    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            ran.append(str(func))
            return func(*args, **(kwargs or {}))

    x, w = (torch.rand(2, 2, requires_grad=True) for _ in range(2))
    chosen = [getattr(torch.ops.aten, name).default for name in kept]
    out = checkpoint(_region, x, w, use_reentrant=False, context_fn=_selective(chosen))
    ran = []
    with Log():
        grads = torch.autograd.grad(out, (x, w), retain_graph=True)
    for got, expected in zip(grads, torch.autograd.grad(_region(x, w), (x, w))):
        torch.testing.assert_close(got, expected)
    again = {name for name in ("relu", "sin", "exp") if "aten.%s.default" % name in ran}
    assert again == {"relu", "sin", "exp"} - set(kept)
    if kept:
        with pytest.raises(RuntimeError, match="Trying to backward an extra time"):
            out.backward()


def test_selective_checkpoint_notices_what_was_changed():
    for allowed in (False, True):
        x = torch.rand(3, requires_grad=True)
        contexts = _selective([torch.ops.aten.sin.default], allow_cache_entry_mutation=allowed)
        out = checkpoint(lambda t: t.sin().mul_(2).cos().exp(), x, use_reentrant=False, context_fn=contexts)
        if allowed:
            out.sum().backward()
        else:
            with pytest.raises(RuntimeError, match="has been mutated"):
                out.sum().backward()
    with pytest.raises(ValueError, match="update the OpOverloadPacket to a specific OpOverload"):
        _selective([torch.ops.aten.sin])()
    with pytest.raises(TypeError, match="either a function or a list of ops"):
        _selective(3)()


def test_a_function_that_returns_its_input():
    x = torch.ones(3, requires_grad=True)
    checkpoint(lambda a, b: a if b is None else a + b, x, None, use_reentrant=True).sum().backward()
    assert x.grad.tolist() == [1, 1, 1]
