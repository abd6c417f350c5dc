"""torch.nn.grad beside the gradients that autograd gives."""

import pytest

import torchlite as torch

OPTIONS = [
    {},
    {"stride": 2, "padding": 1},
    {"dilation": 2, "groups": 2},
    {"stride": (2,), "padding": (1,)},
]


@pytest.mark.parametrize("dims", (1, 2, 3))
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_gradients_of_convolutions(dims, options):
    options = {k: v * dims if isinstance(v, tuple) else v for k, v in options.items()}
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(2, 4, *[6] * dims, generator=generator, dtype=torch.float64, requires_grad=True)
    w = torch.randn(6, 4 // options.get("groups", 1), *[3] * dims, generator=generator, dtype=torch.float64)
    w.requires_grad_()
    out = getattr(torch.nn.functional, "conv%dd" % dims)(x, w, **options)
    g = torch.randn(out.shape, generator=generator, dtype=torch.float64)
    of_x, of_w = torch.autograd.grad(out, (x, w), g)
    got_x = getattr(torch.nn.grad, "conv%dd_input" % dims)(x.shape, w, g, **options)
    got_w = getattr(torch.nn.grad, "conv%dd_weight" % dims)(x, w.shape, g, **options)
    assert torch.allclose(got_x, of_x) and torch.allclose(got_w, of_w)
    assert got_x.requires_grad and got_w.requires_grad  # they have gradients in turn


def test_sizes_that_do_not_fit():
    w, g = torch.ones(6, 4, 3), torch.ones(2, 6, 4)
    for size, grad in (((2, 4), g), ((2, 4, 6), g[:, :, :2])):
        with pytest.raises(RuntimeError):
            torch.nn.grad.conv1d_input(size, w, grad)
