"""Programs that change tensors in place: values, first and second gradients are the CPU's and stay on the GPU."""

import warnings

import pytest
import torchlite as torch

from inplace_cases import CASES, COMPLEX

pytestmark = pytest.mark.usefixtures("bridge", "on_the_gpu")
ON_THE_CPU = {"lgamma", "digamma", "polygamma"}
DOUBLE = {"float_power"}  # there is no float64 on the GPU
PROGRAMS = {**{k: v for k, v in CASES.items() if k not in DOUBLE}, **{"complex_" + k: v for k, v in COMPLEX.items()}}


def outcome(run, device):
    torch.manual_seed(0)
    x = torch.arange(1, 13, dtype=torch.float32).mul(7).remainder(13).div(13).reshape(3, 4).to(device).requires_grad_()
    z = run(torch, x)
    w = torch.linspace(-1, 1, z.numel()).reshape(z.shape).to(device)
    (first,) = torch.autograd.grad((z * w).sum(), x, create_graph=True)
    second = (
        torch.autograd.grad(first.exp().sum(), x, allow_unused=True, retain_graph=True)[0]
        if first.requires_grad
        else None
    )
    (z * w).sum().backward()
    (z.sum() + x.sum()) * 1  # the history of both is on one device
    return [z, first, second, x.grad]


@pytest.mark.parametrize("run", PROGRAMS.values(), ids=PROGRAMS)
def test_program(run):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want, got = outcome(run, "cpu"), outcome(run, "webgpu")
    for g, w in zip(got, want):
        assert (g is None) == (w is None)
        if w is not None:
            assert g.device.type == "webgpu"
            torch.testing.assert_close(g.detach().cpu(), w.detach(), rtol=2e-4, atol=2e-5)
