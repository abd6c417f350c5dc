"""Hypothesis strategies for tests that make the same call in PyTorch and in torchlite:
shapes, layouts, dtypes, values."""

import random

import torch as real
import torchlite as ours
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

BOOL = ["bool"]
INTS = ["uint8", "int8", "int16", "int32", "int64"]
NARROW = ["float16", "bfloat16"]
FLOATS = ["float32", "float64"]
COMPLEX = ["complex64", "complex128"]
DTYPES = BOOL + INTS + NARROW + FLOATS + COMPLEX


def profile(examples):
    """The same examples at every run, and a bounded number of them."""
    return settings(
        max_examples=examples, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )


class Pair:
    """One tensor in both libraries: same values, dtype, shape, strides, offset; `memory` is all that lies under it."""

    def __init__(self, values, dtype, shape, strides, offset):
        self.dtype, self.shape, self.strides, self.offset = dtype, tuple(shape), tuple(strides), offset
        self.memory = {m: m.tensor(values, dtype=getattr(m, dtype)) for m in (real, ours)}
        self.view = {m: t.as_strided(self.shape, self.strides, offset) for m, t in self.memory.items()}

    def __getitem__(self, module):
        return self.view[module]

    def __repr__(self):
        return "Pair(%s, %s, strides=%s, offset=%d, %s)" % (
            self.dtype,
            self.shape,
            self.strides,
            self.offset,
            self.view[real].tolist(),
        )


def values(seed, n, dtype, special=False):
    rng = random.Random(seed)
    if dtype == "bool":
        return [rng.random() < 0.5 for _ in range(n)]
    if dtype in INTS:
        return [rng.randint(0 if dtype == "uint8" else -4, 5) for _ in range(n)]
    pool = [0.0, -0.0, float("inf"), -float("inf"), float("nan"), 1e30] if special else []

    def one():
        return rng.choice(pool) if pool and rng.random() < 0.15 else rng.randint(-16, 16) / 4

    return [complex(one(), one()) for _ in range(n)] if dtype in COMPLEX else [one() for _ in range(n)]


@st.composite
def shapes(draw, max_dims=4, max_side=4, min_dims=0, empty=True):
    side = st.integers(1, max_side) if not empty or draw(st.integers(0, 9)) else st.integers(0, max_side)
    return tuple(draw(st.lists(side, min_size=min_dims, max_size=max_dims)))


@st.composite
def broadcastable(draw, shape):
    """A shape that broadcasts with another one (most of the time; errors are part of the comparison)."""
    tail = list(shape)[draw(st.integers(0, len(shape))) :]
    tail = [1 if draw(st.integers(0, 3)) == 0 else s for s in tail]
    if len(tail) == len(shape) and draw(st.booleans()):
        tail = draw(st.lists(st.integers(1, 3), max_size=2)) + tail
    if tail and not draw(st.integers(0, 19)):
        tail[0] += 1
    return tuple(tail)


@st.composite
def tensors(
    draw, dtypes=DTYPES, shape=None, max_dims=4, max_side=4, min_dims=0, empty=True, overlapping=True, special=False
):
    """A Pair with any layout: permuted, with gaps, at an offset, expanded."""
    if shape is None:
        shape = draw(shapes(max_dims, max_side, min_dims, empty))
    dtype = draw(st.sampled_from(dtypes)) if not isinstance(dtypes, str) else dtypes
    kind = draw(st.integers(0, 5))
    strides = [0] * len(shape)
    order = list(range(len(shape)))
    if kind >= 2 and len(shape) > 1:
        order = draw(st.permutations(order))
    gap = draw(st.integers(1, 3)) if kind in (3, 4) else 1
    step = gap
    for d in reversed(order):
        strides[d] = step
        step *= max(shape[d], 1) + (draw(st.integers(0, 1)) if kind == 4 else 0)
    if kind == 5 and overlapping and shape:
        strides[draw(st.integers(0, len(shape) - 1))] = 0
    offset = draw(st.integers(0, 3)) if kind in (1, 4) else 0
    room = 1 + offset + sum((s - 1) * t for s, t in zip(shape, strides) if s > 0)
    return Pair(
        values(draw(st.integers(0, 1 << 30)), room + draw(st.integers(0, 2)), dtype, special),
        dtype,
        shape,
        strides,
        offset,
    )


@st.composite
def indices(draw, shape):
    """An index for a shape, as a function of the module:
    ints, slices, None, Ellipsis, bools, lists, masks, index tensors."""
    parts, d, used_ellipsis = [], 0, False
    advanced = draw(st.integers(0, 2)) > 0
    count = draw(st.integers(1, 3))
    while d < len(shape) or draw(st.integers(0, 4)) == 0:
        size = shape[d] if d < len(shape) else 1
        kind = draw(st.integers(0, 9 if advanced else 5))
        if kind == 0 and not used_ellipsis:
            parts.append(lambda m: Ellipsis)
            used_ellipsis = True
            d += draw(st.integers(0, 2))
            continue
        if kind == 1 or d >= len(shape):
            parts.append(lambda m: None)
            if d >= len(shape):
                break
            continue
        if kind in (0, 2):
            i = draw(st.integers(-size - (1 if draw(st.integers(0, 19)) == 0 else 0), max(size - 1, 0)))
            parts.append(lambda m, i=i: i)
        elif kind in (3, 4, 5):
            bound = st.none() | st.integers(-size - 1, size + 1)
            s = slice(draw(bound), draw(bound), draw(st.none() | st.integers(1, 3)))
            parts.append(lambda m, s=s: s)
        elif kind in (6, 7):
            flat = draw(st.lists(st.integers(-size, size - 1) if size else st.just(0), min_size=count, max_size=count))
            how = draw(st.integers(0, 3))
            if how == 0:
                parts.append(lambda m, f=flat: list(f))
            elif how == 1:
                parts.append(lambda m, f=flat: m.tensor(f)[:1])
            elif how == 2:
                parts.append(lambda m, f=flat: m.tensor(f).reshape(1, -1))
            else:
                parts.append(lambda m, f=flat: m.tensor(f, dtype=m.int32))
        elif kind == 8:
            n = draw(st.integers(1, 2)) if d + 2 <= len(shape) else 1
            sides = shape[d : d + n]
            total = 1
            for s in sides:
                total *= s
            mask = draw(st.lists(st.booleans(), min_size=total, max_size=total))
            parts.append(lambda m, f=mask, s=sides: m.tensor(f, dtype=m.bool).reshape(s))
            d += n - 1
        else:
            parts.append(lambda m: True)
            continue
        d += 1
        if draw(st.integers(0, 5)) == 0:
            break
    if len(parts) == 1 and draw(st.booleans()):
        return lambda m: parts[0](m)
    return lambda m: tuple(p(m) for p in parts)


# ---- comparing -------------------------------------------------------------------------------------------------------
TOLERANCE = {"float16": (4e-3, 1e-3), "bfloat16": (3e-2, 1e-2), "float32": (2e-6, 2e-6), "complex64": (4e-6, 4e-6)}


def _number(a, b, rtol, atol):
    if isinstance(a, complex) or isinstance(b, complex):
        a, b = complex(a), complex(b)
        return _number(a.real, b.real, rtol, atol) and _number(a.imag, b.imag, rtol, atol)
    if a == b or (a != a and b != b):
        return True
    return abs(a - b) <= atol + rtol * abs(b)  # inf: only where the two are equal


def _flat(t):
    return t.detach().reshape(-1).tolist()


def same(a, b, strides=False):
    """a from PyTorch, b from torchlite."""
    if isinstance(a, real.Tensor):
        if not isinstance(b, ours.Tensor) or str(a.dtype) != str(b.dtype) or tuple(a.shape) != tuple(b.shape):
            return False
        if (
            strides
            and a.numel()
            and (
                a.storage_offset() != b.storage_offset()
                or any(n > 1 and s != t for n, s, t in zip(a.shape, a.stride(), b.stride()))
            )
        ):
            return False
        rtol, atol = TOLERANCE.get(str(a.dtype)[6:], (1e-9, 1e-9))
        return all(_number(y, x, rtol, atol) for x, y in zip(_flat(a), _flat(b)))
    if isinstance(a, (tuple, list)):
        return isinstance(b, (tuple, list)) and len(a) == len(b) and all(same(x, y, strides) for x, y in zip(a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k], strides) for k in a)
    if isinstance(a, float):
        return isinstance(b, float) and _number(b, a, 1e-6, 1e-9)
    return a == b


def run(call, module, pairs):
    try:
        return call(module, *[p[module] if isinstance(p, Pair) else p for p in pairs])
    except Exception as e:
        return e


def agree(call, *pairs, strides=False):
    """call(module, *tensors) gives the same in both, or fails in both with one kind of exception;
    memory changes alike."""
    want, got = run(call, real, pairs), run(call, ours, pairs)
    if isinstance(want, Exception):
        text = str(want)
        if (
            "not implemented for" in text
            or "INTERNAL ASSERT" in text
            or "not currently supported" in text
            or "dtypes match" in text
        ):
            return  # what PyTorch has no kernel for, we may have
        assert isinstance(got, type(want)) or isinstance(want, type(got)), ("expected", want, "got", got)
        return
    if isinstance(got, Exception):
        raise AssertionError("only torchlite fails: %r" % got) from got
    assert same(want, got, strides), ("expected", want, "got", got)
    for p in pairs:
        if isinstance(p, Pair):
            assert same(p.memory[real], p.memory[ours]), ("memory: expected", p.memory[real], "got", p.memory[ours])
