"""torch.segment_reduce beside PyTorch: values, gradients, errors."""

import random

import pytest
from alike import alike, cases

REDUCTIONS = ("max", "min", "amax", "amin", "sum", "prod", "mean")


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("initial", [None, 0, 1.5])
def test_values_and_gradients(reduction, axis, initial):
    rng = random.Random(f"{reduction} {axis} {initial}")
    for rest in ([], [2], [2, 1]):
        lengths = [rng.randint(0, 3) for _ in range(4)]
        shape = [2] * axis + [sum(lengths)] + rest
        count = 2**axis * sum(lengths) * (2 if rest else 1)
        values = [rng.choice(["0.", "1.", "-3.", ".5", "4.", "float('nan')"]) for _ in range(count)]
        rows = [lengths, lengths[::-1]] if axis else lengths
        alike(
            f"d = torch.tensor([{', '.join(values)}], dtype=torch.float64).reshape({shape}).requires_grad_()\n"
            f"n = torch.tensor({rows})\n"
            "o = torch.cat([torch.zeros(*n.shape[:-1], 1, dtype=torch.int64), n], -1).cumsum(-1)\n"
            f"a, b = [torch.segment_reduce(d, {reduction!r}, axis={axis}, initial={initial}, **k)\n"
            "    for k in ({'lengths': n}, {'offsets': o})]\n"
            "a, b, torch.autograd.grad(a.nan_to_num().sum(), d), a.stride()"
        )


@cases("""
torch.segment_reduce(torch.ones(3), 'sum')
torch.segment_reduce(torch.ones(3), 'sum', lengths=torch.tensor([1, 1]))
torch.segment_reduce(torch.ones(3), 'sum', lengths=torch.tensor([-1, 4]))
torch.segment_reduce(torch.ones(3), 'median', lengths=torch.tensor([1, 2]))
torch.segment_reduce(torch.ones(3), 'sum', lengths=torch.tensor([1, 2]), axis=1)
torch.segment_reduce(torch.ones(3), 'sum', lengths=torch.tensor([1, 2]), indices=torch.tensor([1]))
torch.segment_reduce(torch.ones(3), 'sum', lengths=torch.tensor([1, 2]), unsafe=True)
torch._segment_reduce is torch.segment_reduce
""")
def test_arguments(line):
    alike(line)


def test_what_reaches_beyond_the_data_is_an_error():
    """PyTorch reads other memory."""
    import torchlite as torch

    for kwargs in ({"offsets": torch.tensor([0, 5])}, {"lengths": torch.tensor([2, 5]), "unsafe": True}):
        with pytest.raises(RuntimeError, match="segment_reduce"):
            torch.segment_reduce(torch.ones(3), "sum", **kwargs)
