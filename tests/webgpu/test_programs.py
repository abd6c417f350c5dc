"""Random programs with every tensor on webgpu, beside PyTorch on the CPU (tests/fuzz)."""

import pytest

import torchlite as lite

real = pytest.importorskip("torch")
from fuzz import compare, generate, known, program

pytestmark = pytest.mark.usefixtures("bridge")


@pytest.mark.parametrize("first", range(0, 24, 8))
def test_programs(first):
    make = generate.programs(real, 0, "webgpu")
    found = []
    for n in range(first, first + 8):
        lines = make(n)
        found += [
            f"program {n}: {d}\n{program.script(lines)}"
            for d in compare.check(real, lite, lines, "webgpu")
            if d.kind not in known.NOT_YET["webgpu"]
        ]
    assert not found, "\n\n".join(found)
