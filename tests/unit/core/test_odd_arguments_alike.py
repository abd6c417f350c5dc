"""Arguments that PyTorch refuses in words of its own, expanded out=, and what is not recorded, beside PyTorch."""

import pytest

from alike import alike, cases


@cases("""
torch.where(torch.tensor([True, False]), 1., 2., out=torch.zeros(2))
torch.where(torch.tensor([True, False]), torch.ones(2), 2., out=torch.zeros(2))
torch.where(torch.tensor([True, False]), 1., torch.ones(2), out=torch.zeros(2))
torch.where(torch.tensor([True, False]), torch.ones(2), torch.zeros(2), out=torch.zeros(2))
torch.where(torch.tensor([True, False]), out=torch.zeros(2))
torch.where(torch.tensor([True, False]), torch.ones(2, requires_grad=True), 2.).grad_fn.name()
torch.unravel_index(torch.tensor([1]), 2.)
torch.unravel_index(torch.tensor([1]), "a")
torch.unravel_index(torch.tensor([1]), (2, 2.))
torch.unravel_index(torch.tensor([1]), torch.tensor([2, 2]))
torch.unravel_index(torch.tensor([1.]), (2, 2))
torch.unravel_index(torch.tensor([1]), (2, -2))
torch.unravel_index(torch.tensor([3, 0]), (2, 2)), torch.unravel_index(torch.tensor([3, 0]), 4)
torch.max_pool1d_with_indices(torch.ones(4), 2)
torch.max_pool1d_with_indices(torch.ones(1, 1, 1, 4), 2)
torch.max_pool1d_with_indices(torch.ones(1, 4), 5)
torch.max_pool1d_with_indices(torch.ones(1, 4), 0)
torch.max_pool1d_with_indices(torch.ones(1, 4), 2, 1, 2)
torch.max_pool1d_with_indices(torch.ones(1, 4), 2, 1, 0, 0)
torch.max_pool1d_with_indices(torch.ones(1, 0, 4), 2)
torch.max_pool1d_with_indices(torch.arange(8.).view(2, 4), 2, 1, 1)
F.max_pool1d(torch.ones(1, 4, requires_grad=True), 2, padding=2)
F.max_pool1d(torch.ones(1, 4, requires_grad=True), 0)
F.max_pool1d(torch.ones(1, 4, requires_grad=True), 5)
F.max_pool1d(torch.ones(1, 4, requires_grad=True), 3, ceil_mode=True)
torch.ones(3, out=torch.zeros(1).expand(3))
torch.zeros(2, 3, out=torch.ones(3).expand(2, 3))
torch.full((3,), 2., out=torch.zeros(1).expand(3))
torch.empty_strided((2, 2), (1, 2))._base, torch.empty((1, 2, 2, 2), memory_format=torch.channels_last)._is_view()
x = torch.ones(2, requires_grad=True); y = torch.floor_divide(x, 2); y.grad_fn, y.grad_fn.name()
x = torch.ones(2, requires_grad=True); torch.floor_divide(x, 2, out=torch.zeros(2))
x = torch.ones(2, requires_grad=True); torch.heaviside(x, torch.ones(2), out=torch.zeros(2)).sum().backward()
x = torch.ones(2, requires_grad=True); torch.heaviside(torch.ones(2), x).grad_fn
x = torch.ones(2, requires_grad=True); torch.ones(2).floor_divide_(x).grad_fn
torch.ones(2).sum().backward(create_graph=True)
torch.ones(2, requires_grad=True).mul(2).backward(create_graph=True)
""")
def test_as_pytorch(line):
    import re

    if "grad_fn" in line:
        import torchlite
        from alike import outcome, torch

        shown = [
            re.sub(r"0x\w+", "", repr(outcome(lib, line)).replace("torchlite", "torch")) for lib in (torchlite, torch)
        ]
        assert shown[0] == shown[1]
    else:
        alike(line)


@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor", "logical_not"])
@pytest.mark.parametrize(
    "rest",
    [
        "getattr(x, name)(*o); x",
        "getattr(x[1:], name)(*(v[1:] for v in o)); x",
        "y = x * 2; getattr(y, name)(*o); (y * x).sum().backward(); y, x.grad",
        "y = x * 2; getattr(y[1:], name)(*(v[1:] for v in o)); y.grad_fn.name(), y, y._version",
        "y = x * x; z = y * y; getattr(y, name)(*o); z.sum().backward()",
    ],
)
def test_logical_ops_in_place_are_not_recorded(name, rest):
    one = "" if name.endswith("not") else "torch.tensor([1., 0.]),"
    alike(f"x = torch.ones(2, requires_grad=True); name, o = '{name}_', ({one}); {rest}")


LAYOUT = "x = torch.arange(48.).view(2, 4, 3, 2).to(memory_format=torch.channels_last).requires_grad_(); "


@cases("""
g = torch.autograd.grad(F.group_norm(x, 2).pow(2).sum(), x, create_graph=True)[0]; g.stride()
F.group_norm(x, 2).pow(3).sum().backward(create_graph=True); x.grad.stride(), x.grad.grad_fn.name()
(x * x).sum().backward(create_graph=True); x.grad.stride(), x.grad.grad_fn.name(), len(x.grad.grad_fn.next_functions)
y = torch.ones(1, 3).expand(2, 3).requires_grad_(); (y * y).sum().backward(create_graph=True); y.grad.grad_fn.name()
(x * x).sum().backward(create_graph=True); torch.autograd.grad(x.grad.sum(), x)
y = torch.ones(2, requires_grad=True); y.sum().backward(create_graph=True); y.grad.grad_fn
""")
def test_gradients_with_a_graph(line):
    alike(LAYOUT + line)


@cases("""
o = torch.zeros(1, 4); torch.kron(torch.ones(2), torch.ones(1, 2), out=o), o._version
o = torch.zeros(0); torch.nanmean(torch.ones(2, 3), 1, out=o), o._version
o = torch.zeros(2); torch.mean(torch.ones(2, 3), 1, out=o); torch.mv(torch.ones(2, 3), torch.ones(3), out=o), o._version
torch.arange(3).dist(torch.arange(3))
torch.autocast("cpu", dtype=torch.float32)._enabled
torch.autocast("cpu", dtype=torch.int32).fast_dtype
torch.autocast("cuda").fast_dtype, torch.get_autocast_dtype("cpu"), torch.get_autocast_dtype("cuda")
torch.autocast("cpu", dtype=torch.float64, cache_enabled=False)._cache_enabled
torch.autocast(3)
""")
def test_versions_of_out_and_autocast(line):
    alike(line)
