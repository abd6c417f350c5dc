"""Bodies of element-wise ops beside their kernels, for numbers of all kinds; and that bodies end in primitives."""

import math
import warnings

import pytest
import torchlite as torch
from declared import bind, calls, declared_function, ident, tensors
from torchlite.ops import specs

# Kernel rows whose op is a primitive: an op without a body. Lower the number when you give one a body; never raise it.
WITHOUT_A_BODY = 52

INF, NAN = math.inf, math.nan
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -2.5, 3.0, 0.1, -7.3, 21.0, -30.0, 1e-3, -1e-9, 1e-30, -1e30, 1e30]
FLOATS += [INF, -INF, NAN]
INTS = [0, 1, 2, 3, 5, 7, 100, -1, -2, -3, -8, -100]
COMPLEX = [1 + 2j, -0.3 + 0.7j, 0.2 - 1.1j, -1.5 - 0.4j, 2.5 + 0.01j, -0.02 + 3j, 1.25 + 0j, 0.5j, 0j]
VALUES = {
    torch.float32: FLOATS,
    torch.float64: FLOATS,
    torch.int64: INTS,
    torch.int8: INTS,
    torch.uint8: [abs(v) for v in INTS],
    torch.bool: [False, True],
    torch.complex128: COMPLEX,
}
TOL = {torch.float32: (4e-6, 1e-6), torch.complex64: (4e-6, 1e-6), torch.float64: (1e-11, 1e-13)}


def rows():
    """{kernel row: whether all ops that name it have a body}"""
    found = {}
    for spec in specs:
        if spec.kernel:
            found[spec.kernel] = found.get(spec.kernel, True) and spec.body is not None
    return found


def test_rows_without_a_body_become_fewer():
    without = sorted(name for name, body in rows().items() if not body)
    assert len(without) == WITHOUT_A_BODY, f"{len(without)} rows have no body: {without}"


def element_wise():
    return [s for s in specs if s.kernel and s.body and "pointwise" in s.tags and not s.name.endswith("_")]


# calls of ops whose declarations have none
EXTRA = {
    "_softshrink": lambda t: [(t(3), 0.5)],
    "_conj_physical": lambda t: [(t(3),)],
    "bitwise_not": lambda t: [(t(3),)],
}


def samples(spec, dtype):
    if spec.samples is None:
        return [(args, {}) for args in EXTRA[spec.name](lambda *shape: torch.zeros(shape, dtype=dtype))]
    return calls(spec, dtype)


def grid(dtype, n):
    """n tensors that meet in all pairs (triples) of the values of a dtype."""
    values = VALUES[dtype] if n < 3 else VALUES[dtype][:: 1 + len(VALUES[dtype]) // 9]
    line = torch.tensor(values, dtype=dtype)
    return [line.reshape([-1 if i == j else 1 for j in range(n)]) for i in range(n)]


def operands(spec, dtype, n):
    made = grid(dtype, n)
    if "_polynomial_" in spec.name:  # whose powers would overflow on the way
        degrees = torch.tensor([0, 1, 2, 3, 5, 8] + [-1] * dtype.is_signed, dtype=dtype)
        made = [x[x.abs() <= 3].reshape(-1, 1) if dtype != torch.bool else x for x in made[:1]] + [degrees]
    return made


def with_tensors(args, made):
    """args with their tensors replaced, in order; masks stay masks."""
    made = (
        m.bool() if a.dtype is torch.bool and isinstance(m, torch.Tensor) else m
        for m, a in zip(made, tensors(list(args)))
    )
    return tuple(next(made) if isinstance(a, torch.Tensor) else a for a in args)


def result(fn, args, kwargs):
    """The result, or None where the op refuses the arguments."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return fn(*args, **kwargs)
    except (RuntimeError, NotImplementedError, TypeError):
        return None


def near(a, b, rtol, atol, signs=True):
    if isinstance(a, complex):
        return near(a.real, b.real, rtol, atol, False) and near(a.imag, b.imag, rtol, atol, False)
    if a != a or b != b:
        return a != a and b != b
    if a == b:
        return not signs or a != 0 or math.copysign(1, a) == math.copysign(1, b)
    return math.isclose(a, b, rel_tol=rtol, abs_tol=atol)


def compare(spec, args, kwargs):
    """Whether the op takes the arguments; then its kernel and its body give the same."""
    want = result(declared_function(spec), args, kwargs)
    if want is None:
        return False
    got = spec.body(*bind(spec, args, kwargs))
    for a, b in zip(tensors(got), tensors(want), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape), (args, kwargs)
        rtol, atol = TOL.get(a.dtype, TOL[torch.float64])
        given = torch.broadcast_tensors(*tensors(list(args)))
        for i, (x, y) in enumerate(zip(a.reshape(-1).tolist(), b.reshape(-1).tolist())):
            assert near(x, y, rtol, atol), (
                f"{spec.name} of {[t.reshape(-1)[i].item() for t in given]} {a.dtype}: body {x}, kernel {y}"
            )
    return True


@pytest.mark.parametrize("spec", element_wise(), ids=ident)
def test_numbers_of_all_kinds(spec):
    taken = set()
    for dtype in VALUES:
        for args, kwargs in samples(spec, dtype):
            made = operands(spec, dtype, len(tensors(list(args))))
            if compare(spec, with_tensors(args, made), kwargs):
                taken.add(dtype)
            elif len(made) == 2 and not dtype.is_floating_point:  # a divisor of 0 is an error for integers
                made[1] = made[1][made[1] != 0].reshape(1, -1)
                if compare(spec, with_tensors(args, made), kwargs):
                    taken.add(dtype)
    assert taken & {torch.float64, torch.int64, torch.complex128}


MIXED = [
    (torch.float32, torch.float64),
    (torch.int64, torch.float32),
    (torch.uint8, torch.int64),
    (torch.bool, torch.int8),
    (torch.float64, torch.complex64),
]


def several(spec):
    """Whether dtypes can meet in a call: a gradient has its input's."""
    return len(tensors(list(samples(spec, torch.float64)[0][0]))) > 1 and "_backward" not in spec.name


@pytest.mark.parametrize("spec", [s for s in element_wise() if several(s)], ids=ident)
def test_promotion(spec):
    """Operands of two dtypes, with and without dims, and numbers in their place."""
    args, kwargs = samples(spec, torch.float64)[0]
    for pair in MIXED:
        for a, b in (pair, pair[::-1]):
            for first, second in (((3,), (3,)), ((3,), ()), ((), (3,))):
                x = torch.tensor([1, 0, 1], dtype=a)[: 3 if first else 1].reshape(first)
                y = torch.tensor([1, 1, 2], dtype=b)[: 3 if second else 1].reshape(second)
                compare(spec, with_tensors(args, [x, y, y]), kwargs)
        for number in (2, 0.1, True):
            x = torch.tensor([1, 0, 1], dtype=pair[0])
            compare(spec, with_tensors(args, [x, number, x]), kwargs)
            compare(spec, with_tensors(args, [number, x, x]), kwargs)


# ---- bodies end in primitives ----------------------------------------------------------------------------------------
OVERLOADS = [(spec, ov) for spec in specs for ov in spec.overloads]


def called(spec, args, kwargs):
    """The declarations whose ops a body calls, those within ops without a kernel too."""
    before = [ov.calls for _, ov in OVERLOADS]
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            spec.body(*bind(spec, args, kwargs))
    except (RuntimeError, NotImplementedError, TypeError, KeyError):
        pass
    return [s for (s, ov), old in zip(OVERLOADS, before) if ov.calls != old]


def uses():
    """{declaration: those that its body calls}, seen from calls with the dtypes that branches look at."""
    found = {}
    for spec in specs:
        if not spec.body or not spec.kernel or (spec.samples is None and spec.name not in EXTRA):
            continue
        found[spec] = set()
        for dtype in (torch.float64, torch.int64, torch.bool, torch.complex128):
            try:
                given = samples(spec, dtype)
            except (RuntimeError, TypeError, ValueError):
                continue
            for args, kwargs in given:
                names = called(spec, args, kwargs)
                # an op of real parts ends
                found[spec].update(s for s in names if s is not spec or not dtype.is_complex)
    return found


# bodies that bring their arguments to a form that only the op's own kernel does
UNFINISHED = {"index_add"}


def test_no_body_comes_back_to_its_op():
    graph, done = uses(), set()

    def walk(spec, trail):
        assert spec not in trail, " -> ".join(map(ident, [*trail[trail.index(spec) :], spec]))
        if spec not in done:
            for other in graph.get(spec, set()) - ({spec} if spec.name in UNFINISHED else set()):
                walk(other, [*trail, spec])
            done.add(spec)

    for spec in graph:
        walk(spec, [])
    assert len(graph) > 140
