"""The optimizers as functions of lists, beside PyTorch."""

import inspect

import pytest
import torchlite

torch = pytest.importorskip("torch")

CALLS = {
    "adadelta": ([0, 0], dict(lr=1.0, rho=0.9, eps=1e-6, weight_decay=0.1, maximize=False)),
    "adagrad": ([0.1], dict(lr=0.1, weight_decay=0.1, lr_decay=0.01, eps=1e-10, maximize=True)),
    "adam": ([0, 0, 0], dict(amsgrad=True, beta1=0.9, beta2=0.99, lr=0.1, weight_decay=0.1, eps=1e-8, maximize=False)),
    "adamax": ([0, 0], dict(eps=1e-8, beta1=0.9, beta2=0.99, lr=0.1, weight_decay=0.1)),
    "adamw": ([0, 0, 0], dict(amsgrad=False, beta1=0.9, beta2=0.99, lr=0.1, weight_decay=0.1, eps=1e-8, maximize=True)),
    "asgd": ([0, "one", "lr"], dict(lambd=1e-4, lr=0.1, t0=1.0, alpha=0.75, weight_decay=0.1)),
    "nadam": ([0, 0, "one"], dict(beta1=0.9, beta2=0.99, lr=0.1, weight_decay=0.1, momentum_decay=0.004, eps=1e-8)),
    "radam": ([0, 0], dict(beta1=0.9, beta2=0.99, lr=0.1, weight_decay=0.1, eps=1e-8)),
    "rmsprop": (
        [0, 0, 0],
        dict(lr=0.1, alpha=0.9, eps=1e-8, weight_decay=0.1, momentum=0.5, centered=True),
    ),
    "rprop": ([0, 0.1], dict(step_size_min=1e-6, step_size_max=50.0, etaminus=0.5, etaplus=1.2)),
}


def _values(lib, name):
    start = lib.tensor([1.0, -2.0, 3.0]), lib.tensor([[0.5]])
    fills, numbers = CALLS[name]
    special = {"one": lambda p: lib.ones(()), "lr": lambda p: lib.tensor(0.1)}
    lists = [[special[f](p) if f in special else lib.full_like(p, f) for p in start] for f in fills]
    steps = [lib.tensor(0.0) for _ in start]
    function = getattr(__import__(lib.__name__ + ".optim." + name, fromlist=[name]), name)
    for _ in range(3):
        grads = [p.sin() + 0.1 for p in start]
        function(list(start), grads, *lists, steps, **numbers)
    return [t.tolist() for t in (*start, *(t for group in lists for t in group), *steps)]


@pytest.mark.parametrize("name", CALLS)
def test_three_steps(name):
    for a, b in zip(_values(torchlite, name), _values(torch, name)):
        assert a == pytest.approx(b, rel=1e-5) if not isinstance(a, list) else torch.tensor(a).allclose(torch.tensor(b))


@pytest.mark.parametrize("name", [*CALLS, "sgd"])
def test_signatures(name):
    def of(lib):
        function = getattr(__import__(lib + ".optim." + name, fromlist=[name]), name)
        return [(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()]

    assert of("torchlite") == of("torch")


def test_momentum_that_is_not_there_yet():
    def run(lib):
        from importlib import import_module

        sgd = import_module(lib.__name__ + ".optim.sgd").sgd
        params, buffers = [lib.ones(2), lib.ones(1)], [None, lib.ones(1)]
        for _ in range(2):
            grads = [p * 0.5 for p in params]
            sgd(params, grads, buffers, weight_decay=0.1, momentum=0.9, lr=0.1, dampening=0.2, nesterov=True,
                maximize=False)  # fmt: skip
        return [t.tolist() for t in (*params, *buffers)]

    assert [pytest.approx(v) for v in run(torchlite)] == run(torch)


def test_what_is_no_call():
    from torchlite.optim._functional import adam

    with pytest.raises(TypeError, match=r"adam\(\) missing a required (keyword-only )?argument: 'amsgrad'"):
        adam([], [], [], [], [], [])
    with pytest.raises(RuntimeError, match="`state_steps` argument must contain a list of singleton tensors"):
        x = [torchlite.ones(1)]
        numbers = dict(amsgrad=False, beta1=0.9, beta2=0.9, lr=0.1, weight_decay=0, eps=1e-8, maximize=False)
        adam(x, x, x, x, [], [0], **numbers)
