"""ctc_loss beside PyTorch: loops in C on the CPU, ops where derivatives of the gradient are asked for."""

import random

import pytest
from against_torch import check, fails_alike, torch

import torchlite


def case(seed):
    g = random.Random(seed)
    torch.manual_seed(seed)
    n, frames, classes, most = g.choice([1, 2, 5]), g.choice([1, 3, 12, 30]), g.choice([2, 5, 29]), g.choice([1, 2, 6])
    blank = g.choice([0, classes - 1])
    labels = [c for c in range(classes) if c != blank]
    targets = torch.tensor([[g.choice(labels) for _ in range(most)] for _ in range(n)])
    sizes = [g.randint(0, most) for _ in range(n)]
    if g.random() < 0.3:
        targets = torch.cat([row[:k] for row, k in zip(targets, sizes)])
    lengths = [g.randint(0 if g.random() < 0.3 else 1, frames) for _ in range(n)]
    x = torch.randn(frames, n, classes, dtype=g.choice([torch.float32, torch.float64])) * g.choice([1, 5])
    return x, targets, lengths, sizes, blank, g.choice(["mean", "sum", "none"]), g.random() < 0.5


@pytest.mark.parametrize("seed", range(40))
def test_random_calls(seed):
    x, targets, *rest = case(seed)
    check(
        lambda t, x, y: t.nn.functional.ctc_loss(t.nn.functional.log_softmax(x, 2), y, *rest),
        x.requires_grad_(),
        targets,
        tol=(1e-3, 1e-4) if x.dtype == torch.float32 else None,
    )


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("value", [float("nan"), float("-inf"), -1e30])
def test_unusual_probabilities_of_labels(value, label):
    x = torch.zeros(6, 2, 4).log_softmax(2)
    x[2, 0, label] = value
    targets = torch.tensor([[1, 2], [2, 1]])
    check(
        lambda t, x, y: t.nn.functional.ctc_loss(x, y, (6, 5), (2, 2), reduction="none"), x, targets, tol=(1e-4, 1e-4)
    )


@pytest.mark.parametrize("zero_infinity", [False, True])
def test_targets_that_do_not_fit(zero_infinity):
    x, targets = torch.randn(2, 2, 4).log_softmax(2), torch.tensor([[1, 1], [1, 2]])

    def run(t, x, y):
        return t.nn.functional.ctc_loss(x, y, (2, 2), (2, 2), reduction="none", zero_infinity=zero_infinity)

    check(run, x.requires_grad_(), targets)


ONES = torch.ones(2, 3, dtype=torch.int64)
MISTAKES = [
    (torch.tensor([1, 2, 3]), (6, 5), (3, 2)),
    (torch.tensor([1, 2, 3, 1, 1, 1]), (6, 5), (3, 2)),
    (ONES, (6, 5), (4, 2)),
    (torch.ones(3, 3, dtype=torch.int64), (6, 5), (3, 2)),
    (ONES, (6, 5), (-1, 2)),
    (ONES, (-1, 5), (1, 2)),
    (ONES, (7, 5), (1, 2)),
    (ONES, (6,), (1, 2)),
    (ONES, (6, 5), (1,)),
    (ONES, (6, 5), (3, 2), 4),
    (ONES.unsqueeze(0), (6, 5), (3, 2)),
]


@pytest.mark.parametrize("i", range(len(MISTAKES)))
def test_messages(i):
    targets, *rest = MISTAKES[i]
    fails_alike(lambda t, x, y: t.nn.functional.ctc_loss(x, y, *rest), torch.zeros(6, 2, 4), targets)


def test_what_fills_shorter_rows_is_no_matter():
    x, filled = torch.randn(6, 2, 5).log_softmax(2), torch.tensor([[1, 2, 3], [1, -1, 99]])
    check(
        lambda t, x, y: t.nn.functional.ctc_loss(x, y, (6, 6), (3, 1), reduction="none"),
        x.requires_grad_(),
        filled,
        tol=(1e-4, 1e-4),
    )


@pytest.mark.parametrize("shape", [(5,), (4, 2, 3, 3)])
def test_other_dims(shape):
    fails_alike(lambda t, x, y: t.nn.functional.ctc_loss(x, y, (3,), (3,)), torch.zeros(shape), ONES)


def test_nothing_to_read():
    for shape in ((0, 2, 4), (6, 0, 4)):
        fails_alike(lambda t, x, y: t.nn.functional.ctc_loss(x, y, (0,) * 2, (1,) * 2), torch.zeros(shape), ONES)


def test_second_derivatives_and_transforms():
    torchlite.manual_seed(0)
    x, targets = torchlite.randn(5, 2, 4, dtype=torchlite.float64), torchlite.tensor([[1, 2], [3, 3]])

    def loss(x):
        return torchlite.nn.functional.ctc_loss(torchlite.log_softmax(x, 2), targets, (5, 4), (2, 2), reduction="sum")

    assert torchlite.autograd.gradgradcheck(loss, x.clone().requires_grad_())
    y = x.clone().requires_grad_()
    (plain,) = torchlite.autograd.grad(loss(y), y)
    for other in (torchlite.func.grad(loss)(x), torchlite.func.vmap(torchlite.func.grad(loss))(x.unsqueeze(0))[0]):
        assert torchlite.allclose(plain, other)
