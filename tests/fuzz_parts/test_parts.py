"""Fixed cases of each part: nothing differs from PyTorch but what fuzz_parts/known.py names.
`python tests/fuzz_parts` runs new ones."""

import re

import pytest

import torchlite as lite

real = pytest.importorskip("torch")

from fuzz_parts import compare, parts
from fuzz_parts.case import Case
from fuzz_parts.known import NOT_YET

SEED = 5


def findings(name, numbers):
    skipped = re.compile(NOT_YET.get(name, "(?!)"))
    found = []
    for n in numbers:
        case = parts.draw(name, SEED, n)
        found += [
            f"{name} {n}: {d}\n{case.text}" for d in compare.check(real, lite, case) if not skipped.fullmatch(d.kind)
        ]
    return found


@pytest.mark.parametrize("name", parts.NAMES)
def test_parts(name):
    assert not findings(name, range(60))


@pytest.mark.slow
@pytest.mark.parametrize("name", parts.NAMES)
def test_more_cases_of_parts(name):
    assert not findings(name, range(60, 600))


@pytest.mark.parametrize("name", parts.NAMES)
def test_most_cases_succeed(name):
    """A part whose cases mostly raise compares little; wrong arguments are to raise."""
    errors = [compare.run(real, parts.draw(name, SEED, n))[1] for n in range(20)]
    assert sum(e is None for e in errors) >= (0 if name == "arguments" else 7)


BROKEN = {
    "value": lambda torch, ours: torch.ones(3) * (1.01 if ours else 1),
    "dtype": lambda torch, ours: torch.ones(3, dtype=torch.float64 if ours else torch.float32),
    "shape": lambda torch, ours: [torch.ones(3 + ours)],
    "stride": lambda torch, ours: torch.ones(3, 2).t() if ours else torch.ones(2, 3),
    "requires_grad": lambda torch, ours: (torch.ones(2, requires_grad=not ours),),
    "keys": lambda torch, ours: {"a" if ours else "b": 1},
    "raises ValueError, nothing": lambda torch, ours: None if ours else int("x"),
    "error's text": lambda torch, ours: int("x" if ours else "y"),
    "text": lambda torch, ours: repr(ours),
    "type": lambda torch, ours: 1 if ours else 1.0,
}


@pytest.mark.parametrize("kind", BROKEN)
def test_what_differs_is_found(kind):
    case = Case("", lambda torch: BROKEN[kind](torch, torch is lite))
    assert [d.kind for d in compare.check(real, lite, case)] == [kind]
