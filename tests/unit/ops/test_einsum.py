"""einsum beside PyTorch: values, gradients and the layout of both, for random equations."""

import random

import pytest

import torchlite

torch = pytest.importorskip("torch")
LABELS = "abcdAZ"


def equation_and_shapes(rng):
    sizes = {label: rng.choice([1, 2, 3, 4]) for label in LABELS}
    dots = rng.random() < 0.3
    terms, shapes = [], []
    for _ in range(rng.randint(1, 3)):
        labels = [rng.choice(LABELS) for _ in range(rng.randint(0, 3))]
        shape = [sizes[label] for label in labels]
        if dots and rng.random() < 0.7:
            at = rng.randint(0, len(labels))
            labels.insert(at, "...")
            shape[at:at] = [rng.choice([1, 2]) for _ in range(rng.randint(0, 2))]
        terms.append("".join(labels))
        shapes.append(shape)
    if rng.random() < 0.3:
        return ",".join(terms), shapes
    out = [label for label in sorted(set("".join(terms)) - {"."}) if rng.random() < 0.5]
    rng.shuffle(out)
    if dots:
        out.insert(rng.randint(0, len(out)), "...")
    return ",".join(terms) + "->" + "".join(out), shapes


def contracted(lib, equation, shapes, dtype):
    operands = []
    for shape in shapes:
        n = lib.Size(shape).numel()
        operands.append((lib.arange(n).reshape(shape) % 7 - 2).to(getattr(lib, dtype)).requires_grad_(dtype != "int64"))
    try:
        out = lib.einsum(equation, *operands)
        found = [out]
        if dtype != "int64":
            found += lib.autograd.grad((out * out).abs().sum(), operands)
    except RuntimeError as e:
        return str(e).split("\n")[0]
    return [(tuple(t.shape), strides(t), t.tolist()) for t in found]


def strides(t):
    return [s for s, n in zip(t.stride(), t.shape) if n > 1] if t.numel() else []


@pytest.mark.parametrize("seed", range(6))
def test_random_equations(seed):
    rng = random.Random(seed)
    for _ in range(60):
        equation, shapes = equation_and_shapes(rng)
        dtype = rng.choice(["int64", "float64", "complex128"])
        got, want = (contracted(lib, equation, shapes, dtype) for lib in (torchlite, torch))
        assert type(got) is type(want), (equation, shapes, got, want)
        if isinstance(want, str):
            assert got[:40] == want[:40], (equation, shapes)
            continue
        for (shape, steps, values), (shape_, steps_, values_) in zip(got, want, strict=True):
            assert (shape, steps) == (shape_, steps_), (equation, shapes, dtype)
            torch.testing.assert_close(torch.tensor(values), torch.tensor(values_))
