"""uint16, 8-bit floats and their like on webgpu: stored, moved and viewed there; the rest is an error."""

import pytest
import torchlite as torch

pytestmark = [
    pytest.mark.usefixtures("bridge"),
    pytest.mark.filterwarnings("error", "ignore:ComplexHalf", "ignore:Casting"),
]
NAMES = ["uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e8m0fnu", "complex32"]


def made(name):
    return torch.tensor([3, 1, 2, 4, 1, 2], dtype=getattr(torch, name)).reshape(2, 3)


@pytest.mark.parametrize("name", NAMES)
def test_storage(name):
    x = made(name)
    y = x.to("webgpu")
    assert y.dtype is x.dtype and y.device.type == "webgpu"
    for f in (
        lambda t: t,
        lambda t: t.t(),
        lambda t: t[:, 1:],
        lambda t: t.clone(),
        lambda t: t.t().contiguous(),
        lambda t: torch.cat([t, t]),
        lambda t: t[1].expand(2, 3),
        lambda t: t.roll(1, 1),
        lambda t: t.view(torch.uint8),
    ):
        assert f(y).cpu().tolist() == f(x).tolist()
    z = torch.zeros(2, 3, dtype=x.dtype, device="webgpu")
    assert z.cpu().tolist() == torch.zeros(2, 3, dtype=x.dtype).tolist()
    z.copy_(y)
    z[0].copy_(x[1])
    z[1].fill_(2)
    assert z.cpu().tolist() == torch.stack([x[1], torch.full((3,), 2, dtype=x.dtype)]).tolist()
    assert (
        torch.empty_like(y).device.type == "webgpu" and torch.ones_like(y).cpu().tolist() == torch.ones_like(x).tolist()
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_rest_is_an_error_that_names_the_dtype(name):
    y = made(name).to("webgpu")
    for f in (
        lambda: y.to(torch.float32),
        lambda: torch.ones(2, 3, device="webgpu").to(y.dtype),
        lambda: y == y,
        lambda: y * y,
        lambda: y.sum(dtype=torch.float32),
    ):
        with pytest.raises(NotImplementedError, match=name):
            f()


@pytest.mark.parametrize("name", ["uint16", "uint32", "uint64"])
def test_what_the_cpu_promotes_to_float(name):
    y, ones = made(name).to("webgpu"), torch.ones(3, device="webgpu")
    for f in (
        lambda: y == 1.5,
        lambda: y < ones,
        lambda: torch.minimum(y, ones),
        lambda: torch.where(y > 1, ones, 0.0),
    ):
        with pytest.raises(NotImplementedError, match=name):
            f()
