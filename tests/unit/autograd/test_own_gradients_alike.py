"""Whether a gradient is a tensor of its own or the one it was computed from, and nodes of ops that change nothing."""

import pytest

from alike import alike, cases


@pytest.mark.parametrize(
    "call",
    "median(0)[0] nanmedian(0)[0] kthvalue(1,0)[0] mode(0)[0] max(0)[0] min(0)[0] cummax(0)[0] cummin(0)[0] "
    "sort(0)[0] topk(1,0)[0] median() max() amax() sum() mean() view(1) squeeze() clone() unfold(0,1,1) repeat(1) "
    "logcumsumexp(0) cumsum(0) positive()".split(),
)
@pytest.mark.parametrize("graph", [False, True])
def test_gradient_of_a_number_shares_memory_as_in_pytorch(call, graph):
    alike(
        f"x = torch.tensor(1., requires_grad=True); y = (x * 1).{call}; g = torch.ones(y.shape); "
        f"r, = torch.autograd.grad(y, [x], g, create_graph={graph}); r.data_ptr() == g.data_ptr()"
    )


@cases("""
x = torch.tensor(2., requires_grad=True); (x * torch.ones(1, 1)).backward(); x.grad._is_view()
x = torch.tensor(2., requires_grad=True); g, = torch.autograd.grad(x * torch.ones(1, 2), x, torch.ones(1, 2)); g.add_(x)
torch.ones(1, 1).sum_to_size(())._is_view(), torch.ones(1, 1).sum_to_size(1)._is_view()
x = torch.ones(2); x.conj_physical_(), x._version
x = torch.ones(1).expand(3); x.conj_physical_(), x._version
x = (torch.ones(1) * 1j).expand(3); x.conj_physical_()
x = torch.ones(2, requires_grad=True); x.conj_physical_()
x = torch.ones(2, requires_grad=True) * 1; x.conj_physical_(); x.grad_fn.name(), x._version
x = torch.tensor([1+2j, 3j], requires_grad=True); y = x * 1; y.conj_physical_(); y.abs().sum().backward(); x.grad
torch.rms_norm(torch.ones(2, 4, dtype=torch.complex64), (4,), torch.ones(4, dtype=torch.float64)).dtype
""")
def test_alike(line):
    alike(line)
