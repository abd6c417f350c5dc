"""torch.autograd.functional beside PyTorch: values, shapes, which results carry a graph, and errors,
over functions x inputs x options."""

import itertools

import pytest
import torchlite

torch = pytest.importorskip("torch")

FUNCTIONS = {
    "constant": lambda m: lambda x: m.ones(2, dtype=m.float64) + x.detach() * 0,
    "linear": lambda m: lambda x: x * 3,
    "square": lambda m: lambda x: x * x,
    "sum": lambda m: lambda x: x.sum(),
    "cubes": lambda m: lambda x: (x**3).sum(),
    "squares": lambda m: lambda x: (x**2).sum(),
    "two results": lambda m: lambda x: (x * x, x.exp().sum()),
    "half detached": lambda m: lambda x: (x * x, x.detach()),
    "a list": lambda m: lambda x: [x, x],
    "a number": lambda m: lambda x: 3.0,
    "product": lambda m: lambda x, y: (x * y).sum(),
    "two cubes": lambda m: lambda x, y: (x**3 * y**3).sum(),
    "one of two": lambda m: lambda x, y: (x**3).sum(),
    "three results": lambda m: lambda x, y: (x * y.sum(), x.exp(), (x * y).sum().reshape(1, 1)),
    "tuple of one": lambda m: lambda x: ((x**3).sum(),),
    "matrix of one": lambda m: lambda x: (x**3).sum().reshape(1, 1),
    "another leaf": lambda m: lambda x: m.tensor(3.0, requires_grad=True) * 2,
}
INPUTS = {
    "x": lambda m: m.tensor([0.5, 2.0], dtype=m.float64),
    "leaf": lambda m: m.tensor([0.5, 2.0], dtype=m.float64, requires_grad=True),
    "(x,)": lambda m: (m.tensor([0.5, 2.0], dtype=m.float64),),
    "[x]": lambda m: [m.ones(2)],
    "number": lambda m: 1.5,
    "(x, y)": lambda m: (
        m.tensor([0.5, 2.0], dtype=m.float64),
        m.tensor([1.5, -1.0], dtype=m.float64, requires_grad=True),
    ),
    "scalar": lambda m: m.tensor(1.5, dtype=m.float64),
    "(x, 3)": lambda m: (m.ones(2), 3),
}
VECTORS = {
    "none": lambda m: None,
    "v": lambda m: m.tensor([1.0, 0.5], dtype=m.float64),
    "number": lambda m: 1.0,
    "of three": lambda m: m.ones(3),
    "(v, w)": lambda m: (m.tensor([1.0, 0.5], dtype=m.float64), m.tensor([2.0, 3.0], dtype=m.float64)),
    "scalar": lambda m: m.tensor(2.0, dtype=m.float64),
}


def described(r):
    if isinstance(r, (tuple, list)):
        return [type(r).__name__, *map(described, r)]
    return tuple(r.shape), r.requires_grad, [round(v, 9) for v in r.reshape(-1).tolist()]


def outcome(m, name, fn, inputs, v, options):
    args = () if v is None else (VECTORS[v](m),)
    try:
        return described(getattr(m.autograd.functional, name)(FUNCTIONS[fn](m), INPUTS[inputs](m), *args, **options))
    except (RuntimeError, TypeError, AssertionError, NotImplementedError) as e:
        return type(e).__name__, str(e).replace("torchlite.", "torch.")


@pytest.mark.parametrize("fn", FUNCTIONS)
@pytest.mark.parametrize("name", ["vjp", "jvp", "vhp", "hvp"])
def test_products(name, fn):
    for inputs, v, strict, graph in itertools.product(INPUTS, VECTORS, (False, True), (False, True)):
        options = {"strict": strict, "create_graph": graph}
        assert outcome(torchlite, name, fn, inputs, v, options) == outcome(torch, name, fn, inputs, v, options), (
            inputs,
            v,
            options,
        )


@pytest.mark.parametrize("fn", FUNCTIONS)
@pytest.mark.parametrize("name", ["jacobian", "hessian"])
def test_matrices(name, fn):
    for inputs, strict, graph in itertools.product(INPUTS, (False, True), (False, True)):
        options = {"strict": strict, "create_graph": graph}
        assert outcome(torchlite, name, fn, inputs, None, options) == outcome(torch, name, fn, inputs, None, options), (
            inputs,
            options,
        )


@pytest.mark.parametrize("name, mode", [("jacobian", "strategy"), ("hessian", "outer_jacobian_strategy")])
def test_ways_to_a_matrix(name, mode):
    """vectorize and the strategies give the same matrix; combinations that PyTorch refuses are refused."""
    for vectorize, strategy, strict, graph in itertools.product(
        (False, True), ("reverse-mode", "forward-mode", "sideways"), (False, True), (False, True)
    ):
        options = {"vectorize": vectorize, mode: strategy, "strict": strict, "create_graph": graph}
        got, want = (outcome(m, name, "cubes", "x", None, options) for m in (torchlite, torch))
        if strategy == "forward-mode" and isinstance(want[1], bool):
            # PyTorch's forward mode leaves a graph that nobody asked for
            got, want = (
                (got[0], got[2]),
                (want[0], want[2]),
            )
        assert got == want, options
