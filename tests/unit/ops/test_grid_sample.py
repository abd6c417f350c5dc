"""grid_sample and its gradients: loops in C for float32, ops for the rest."""

import itertools

import pytest
from against_torch import check, torch

import torchlite

MODES = list(itertools.product(("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection"), (False, True)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("mode, padding, corners", MODES)
def test_gradients(mode, padding, corners, dtype):
    torch.manual_seed(0)
    # beyond the images on all sides, more than one stretch of positions, images of one row
    sizes = ((2, 3, 5, 6), (2, 4, 3)), ((1, 2, 4, 4), (1, 20, 20)), ((1, 1, 1, 7), (1, 3, 3)), ((0, 2, 4, 4), (0, 3, 3))
    for size, places in sizes:
        x, grid = torch.rand(size, dtype=dtype), torch.rand(*places, 2, dtype=dtype) * 3 - 1.5
        check(
            lambda t, x, g: t.nn.functional.grid_sample(x, g, mode, padding, corners),
            x.requires_grad_(),
            grid.requires_grad_(),
            tol=(1e-3, 1e-4) if dtype == torch.float32 else None,
        )


@pytest.mark.parametrize("wanted", [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("mode", [0, 1])
def test_backward_op(mode, wanted):
    torch.manual_seed(0)
    x, grid, given = torch.rand(2, 3, 4, 5), torch.rand(2, 3, 2, 2) * 2 - 1, torch.rand(2, 3, 3, 2)
    results = [
        lib.ops.aten.grid_sampler_2d_backward(*(lib.from_numpy(t.numpy()) for t in (given, x, grid)), mode, 0, False, w)
        for lib, w in ((torch, (True, True)), (torchlite, wanted))
    ]
    for want, got, asked in zip(*results, wanted):
        if not asked:
            assert got is None
        else:
            torch.testing.assert_close(torch.from_numpy(got.numpy()), want, rtol=1e-4, atol=1e-5)


def test_cubic_has_no_backward_op():
    t = torchlite.ones(1, 1, 2, 2)
    with pytest.raises(NotImplementedError, match="modes 0 .bilinear. and 1 .nearest."):
        torchlite.ops.aten.grid_sampler_2d_backward(t, t, torchlite.zeros(1, 2, 2, 2), 2, 0, False, (True, True))


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_second_derivatives(padding):
    torchlite.manual_seed(0)
    x = torchlite.rand(1, 2, 3, 4, dtype=torchlite.float64, requires_grad=True)
    grid = (torchlite.rand(1, 2, 3, 2, dtype=torchlite.float64) * 1.6 - 0.8).requires_grad_()
    assert torchlite.autograd.gradgradcheck(
        lambda x, g: torchlite.nn.functional.grid_sample(x, g, padding_mode=padding, align_corners=True), (x, grid)
    )
