"""Results are no views of work space: an in-place op on one would lose the gradient."""

import pytest

import torchlite as torch

pytestmark = [pytest.mark.usefixtures("bridge"), pytest.mark.filterwarnings("ignore")]

# an op's first call with a layout takes another way than the next ones, so each row has a layout of its own
CASES = {
    "mul": lambda x: x * 1.25,
    "sin": lambda x: x.sin(),
    "add": lambda x: x + x,
    "complex": lambda x: torch.complex(x, x),
    "roll": lambda x: x.roll(1, 0),
    "repeat": lambda x: x.repeat(2, 1),
    "tile": lambda x: x.tile(2, 1),
    "fftshift": lambda x: torch.fft.fftshift(x),
    "where": lambda x: torch.where(x > 0, x, 2 * x),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("sides", [(3, 4), (4, 5)])
def test_in_place_after(name, sides):
    grads = []
    for device in ("cpu", "webgpu"):
        x = (torch.arange(float(sides[0] * sides[1])).reshape(sides) / 7 - 1).to(device).t().detach().requires_grad_()
        y = CASES[name](x)
        y[0] = 0.5
        y.mul_(3)
        grads.append(torch.autograd.grad(y.abs().square().sum(), [x])[0].cpu())
    assert grads[0].abs().sum() > 0
    torch.testing.assert_close(grads[1], grads[0])
