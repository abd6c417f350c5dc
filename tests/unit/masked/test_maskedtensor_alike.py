"""MaskedTensor line by line beside PyTorch: construction, printing, ops, reductions, gradients, what is refused.

PyTorch's checks of sparse indices are on here: torchlite always checks them.
"""

import pytest
from alike import alike, cases, torch


@pytest.fixture(autouse=True)
def checks():
    with torch.sparse.check_sparse_tensor_invariants():
        yield


START = (
    "import torch.masked; from torch.masked import masked_tensor, as_masked_tensor, is_masked_tensor, MaskedTensor;"
    "d = torch.tensor([[1., -2, 3], [4, 0.5, -6]]); k = torch.tensor([[True, False, True], [False, True, True]]);"
    "m = masked_tensor(d.clone(), k.clone()); "
)
SPARSE = (
    "ks = k.to_sparse(); s = masked_tensor(d.sparse_mask(ks), ks);"
    "kc = k.to_sparse_csr(); c = masked_tensor(d.sparse_mask(kc), kc); "
)


@cases("""
m
m.grad_fn, m.requires_grad, m.is_leaf, type(m).__name__, m.shape, m.dtype, m.device, m.layout, m.is_sparse,
    m.is_sparse_coo(), m.is_sparse_csr(), m.stride(), m.dim()
masked_tensor(d, k.int())
masked_tensor(d[0], k)
masked_tensor(d, k[:, :2])
masked_tensor(d.int(), k), masked_tensor(d.bool(), k), masked_tensor(d.double(), k), masked_tensor(d.half(), k)
masked_tensor(d.to(torch.complex64), k)
masked_tensor(torch.tensor(1.5), torch.tensor(True)), masked_tensor(torch.tensor(1.5), torch.tensor(False)),
    masked_tensor(torch.tensor(3), torch.tensor(True)), masked_tensor(torch.tensor(True), torch.tensor(True))
masked_tensor(torch.arange(24.).reshape(2,3,4), torch.arange(24).reshape(2,3,4) % 3 == 0)
masked_tensor(torch.arange(24).reshape(2,3,4), torch.arange(24).reshape(2,3,4) % 3 == 0)
masked_tensor(d, k, requires_grad=True)
masked_tensor(d, k, requires_grad=True) * 2
masked_tensor([1, 2], [True, False])
MaskedTensor(d, k), MaskedTensor(d, k, True)
MaskedTensor(d)
as_masked_tensor(d, k, True)
masked_tensor(d, k).get_data(), masked_tensor(d, k).get_mask(), masked_tensor(d,k).to_tensor(7.)
is_masked_tensor(m), is_masked_tensor(d), is_masked_tensor(3)
masked_tensor(d > 1, k).all(), masked_tensor(d > 1, k).all(0), masked_tensor(d > 1, k).all(1, True)
masked_tensor(d > 1, k).any()
masked_tensor(torch.tensor(1.), torch.tensor(False)).item()
masked_tensor(k, k)._is_any_true(), m.is_same_size(m)
masked_tensor(torch.sparse_coo_tensor([[0, 1]], [1., 2.], (3,)), torch.sparse_coo_tensor([[0, 2]], [True, True],
    (3,)))
masked_tensor(d.to_sparse_csc(), k.to_sparse_csc())
masked_tensor(d.to_sparse(), k)
masked_tensor(d, k.to_sparse())
torch.masked.MaskedTensor.unary(torch.ops.aten.sin, d, k)
masked_tensor(torch.zeros(0, 3), torch.zeros(0, 3).bool())
masked_tensor(torch.zeros(2, 0), torch.zeros(2, 0).bool())
masked_tensor(torch.tensor([float("nan"), 1.]), torch.tensor([True, False]))
masked_tensor(torch.tensor([float("nan"), float("inf"), 1e10, 1e-10]), torch.ones(4).bool())
masked_tensor(d, k) + masked_tensor(d.double(), k)
masked_tensor(d.long(), k) / 2
masked_tensor(d.long(), k).sum(), masked_tensor(d.long(), k).mean()
masked_tensor(d.long(), k).sum(), masked_tensor(d.long(), k).prod(0), masked_tensor(d.long(), k).amax()
masked_tensor(d, torch.zeros_like(k)).sum(), masked_tensor(d, torch.zeros_like(k)).mean(), masked_tensor(d,
    torch.zeros_like(k)).amax(0)
""")
def test_makes(line):
    alike(START + line)


@cases("""
m.get_mask() is k, m.get_data() is d
m + 1
m + m
1 + m
m + d
d + m
m + d[0]
m * 2, m / 2, m - m, m // 2, m % 2, m ** 2, 2 ** m, -m, abs(m), ~masked_tensor(k, k)
m > 0, m < 1, m == m, m != m, m >= 0, m <= d
m < 0, m.lt(0), m.gt(0)
m.sin(), m.exp(), torch.relu(m)
torch.relu(m)
m.abs_(), m
m.add_(1), m
m.mul_(m), m
m.clamp(0, 1), m.clamp(min=0)
torch.add(m, m, alpha=2)
m.add(m, alpha=2)
m.sum(), m.sum(0), m.sum(dim=1), m.sum(1, True), m.sum((0,1)), torch.sum(m), torch.sum(m, 0)
m.sum(dtype=torch.float64), m.sum(0, dtype=torch.float64)
m.sum(dim=0, keepdim=True)
m.mean(), m.mean(1), m.prod(), m.prod(1), m.amax(), m.amax(0), m.amin(), m.amin(1)
m.argmax(), m.argmin(0), m.argmax(dim=1), m.argmax(1, keepdim=True)
m.argmax(1), m.argmax(keepdim=True)
m.var(), m.std(), m.var(0), m.std(1), m.var(unbiased=False), m.var(dim=0, unbiased=False), m.std(0, correction=2)
m.std(1, unbiased=False)
m.norm(), m.norm(2), m.norm(1, 0)
m.norm(dim=0)
torch.norm(m)
m.all()
m.max()
m.min(0)
m.cumsum(0)
m.median()
m.t(), m[0], m[:, 1], m[0, 1], m.view(6), m.reshape(6), m.reshape(3, 2), m.transpose(0, 1), m.unsqueeze(0)
m[k]
m[None]
m[..., 0]
m[torch.tensor([0, 1])]
m.squeeze()
m.flatten()
m.expand(2, 2, 3), m.T, m.permute(1, 0)
m.permute(1, 0)
torch.cat([m, m]), torch.stack([m, m]), torch.split(m, 1), m.split(1, 1), m.chunk(2), m.unfold(1, 2, 1)
torch.cat([m, d])
torch.cat([m, m], 1)
[x for x in m]
m.unbind()
len(m)
torch.softmax(m, 1), m.softmax(0), torch.softmax(m, -1)
torch.log_softmax(m, 1)
F.softmax(m, dim=1), F.relu(m)
torch.where(k, m, m)
torch.where(k, m, masked_tensor(d * 10, ~k))
torch.where(k, m, d)
m.to_dense(), m.to_sparse(), m.to_sparse_csr(), m.to_sparse_coo()
m.to_sparse().to_dense(), m.to_sparse_csr().to_dense(), m.to_sparse().get_data(), m.to_sparse().get_mask()
m.to_sparse(1)
m.to_sparse().layout, m.to_sparse().is_sparse, m.to_sparse().is_sparse_coo(), m.to_sparse_csr().is_sparse_csr(),
    m.to_sparse_csr().layout
m.to_sparse().values()
m.to_sparse().indices()
m.to_sparse()._indices(), m.to_sparse()._values()
m.to_sparse().coalesce()
m.contiguous(), m.is_contiguous(), m.t().is_contiguous(), m.t().contiguous().is_contiguous()
m.t().contiguous().get_data().stride()
m.to_sparse().is_contiguous()
m.to_sparse().contiguous()
m.clone(), m.detach(), m.double(), m.to(torch.float64), m.half(), m.int(), m.float() is m
m.to("cpu") is m, m.cpu() is m
m.item()
m.sum().item()
float(m.sum())
bool(m.sum() > 0)
m.tolist()
m.numpy()
m.sum().tolist()
m.numel(), m.size(), m.size(0), m.ndim, m.nelement()
m.zero_()
m.fill_(1)
m.masked_fill(k, 0)
torch.zeros_like(m)
torch.ones_like(m)
torch.empty_like(m)
torch.full_like(m, 2)
torch.randn_like(m)
m.new_zeros(2)
torch.mm(m, d.t())
torch.equal(m, m)
torch.allclose(m, m)
torch.isclose(m, m)
m.isnan(), torch.isnan(m)
torch.isinf(m)
m.nan_to_num(0), m.round(), m.round(decimals=1), torch.round(m, decimals=1)
m.sigmoid(), m.tanh(), torch.sqrt(m)
m.logical_not()
m.float_power(2)
m.pow(m)
torch.pow(m, 2), torch.pow(2, m), m.pow(2.)
torch.lerp(m, m, 0.5)
torch.addcmul(m, m, m)
torch.maximum(m, m), torch.minimum(m, d), torch.fmax(m, m)
torch.max(m, m)
torch.atan2(m, m), torch.logaddexp(m, m), torch.fmod(m, 2), torch.remainder(m, m)
torch.add(m, masked_tensor(d, ~k))
m.add_(masked_tensor(d, ~k))
torch.add(d, m, out=d)
torch.ops.aten.add(m, m), torch.ops.aten.add.Tensor(m, m), torch.ops.aten.sum(m)
torch.ops.aten.sum.dim_IntList(m, [0])
torch.ops.aten.sin(m), torch.ops.aten.sin_(m)
torch.ops.aten.var(m)
torch.ops.aten.max(m)
m.copy_(m), m.copy_(masked_tensor(d * 2, k))
m.copy_(d)
m.copy_(masked_tensor(d * 2, ~k))
m._is_any_true()
m.dist(m)
torch.diagonal(m)
m.sort()
m.topk(1)
m.nonzero()
F.dropout(m)
F.linear(m, d)
F.gelu(m)
import copy; copy.deepcopy(m)
import copy; copy.copy(m)
m.data
m.grad
m.T.sum(0)
m.to_tensor(0.)
m.to_tensor(0)
m.to_tensor(float("nan"))
m.type(), m.element_size(), m.is_floating_point(), m.is_complex(), m.is_cuda
m.data_ptr()
m.storage_offset()
str(m), repr(m), "%s" % m
"{}".format(m)
f"{m.sum()}", f"{m.sum():.2f}"
torch.masked.mean(m), torch.masked.sum(m, 0)
torch.masked.sum(m, 0, mask=k)
""")
def test_functions(line):
    alike(START + line)


@cases("""
masked_tensor(d.clone().requires_grad_(), k)
as_masked_tensor(d.clone().requires_grad_(), k)
m.requires_grad_()
m.requires_grad_(); m.sum().backward(); m.grad
m.requires_grad_(); (m * m).sum().backward(); m.grad
m.requires_grad_(); m.exp().sum(0).sum().backward(); m.grad
m.requires_grad_(); m.sum(1); m.mean(1).sum().backward(); m.grad
m.requires_grad_(); m.prod(1).sum().backward(); m.grad
m.requires_grad_(); m.amax(1).sum().backward(); m.grad
m.requires_grad_(); m.amin().backward(); m.grad
m.requires_grad_(); m.std().backward(); m.grad
m.requires_grad_(); m.var(0).sum().backward(); m.grad
m.requires_grad_(); m.norm().backward(); m.grad
m.requires_grad_(); (m.softmax(1) * m).sum().backward(); m.grad
m.requires_grad_(); torch.where(k, m, m).sum().backward(); m.grad
m.requires_grad_(); m.to_sparse().to_dense().sum().backward(); m.grad
m.requires_grad_(); m.to_sparse_csr().to_dense().sum().backward(); m.grad
m.requires_grad_(); m.t().contiguous().sum().backward(); m.grad
m.requires_grad_(); m[0].sum().backward(); m.grad
m.requires_grad_(); m[:, 1:].sum().backward(); m.grad
m.requires_grad_(); m.view(6).sum().backward(); m.grad
m.requires_grad_(); m.t().sum().backward(); m.grad
m.requires_grad_(); torch.cat([m, m]).sum().backward(); m.grad
m.requires_grad_(); torch.stack([m, m]).sum().backward(); m.grad
m.requires_grad_(); (m + 1).sqrt().sum().backward(); m.grad
m.requires_grad_(); (m / m).sum().backward(); m.grad
m.requires_grad_(); (m * d).sum().backward(); m.grad
m.requires_grad_(); m.sigmoid().sum().backward(); m.grad
m.requires_grad_(); m.tanh().sum().backward(); m.grad
m.requires_grad_(); m.abs().sum().backward(); m.grad
m.requires_grad_(); m.pow(2).sum().backward(); m.grad
m.requires_grad_(); m.log().sum().backward(); m.grad
m.requires_grad_(); m.clamp(0, 3).sum().backward(); m.grad
m.requires_grad_(); m.double().sum().backward(); m.grad
m.requires_grad_(); m.unfold(1, 2, 1).sum().backward(); m.grad
m.requires_grad_(); m.expand(2, 2, 3).sum().backward(); m.grad
m.requires_grad_(); m.sum().backward(); m.sum().backward(); m.grad
m.requires_grad_(); torch.autograd.grad(m.sin().sum(), m)
m.requires_grad_(); torch.autograd.grad(m.sin().sum(), m, create_graph=True)
x = d.clone().requires_grad_(); as_masked_tensor(x, k).sum().backward(); x.grad
x = d.clone().requires_grad_(); (as_masked_tensor(x, k) * 2).sin().sum().backward(); x.grad
x = d.clone().requires_grad_(); as_masked_tensor(x * 2, k).sum().backward(); x.grad
x = d.clone().requires_grad_(); as_masked_tensor(x, k).to_tensor(0.).sum().backward(); x.grad
x = d.clone().requires_grad_(); as_masked_tensor(x, k).get_data().sum().backward(); x.grad
m.requires_grad_(); m.get_data().requires_grad, m.get_mask().requires_grad, m.get_data()
""")
def test_gradients(line):
    alike(START + line)


@cases("""
s
s.to_dense(), s.sum(), s.sum(0), s.sin(), s + s, s * s, s.get_data(), s.get_mask()
s.sum(0)
s.prod(), s.amax(), s.mean()
s.amax(0), s.prod(1)
s.mean(0)
s.argmax(), s.argmin()
s._values(), s._indices(), s.layout, s.is_sparse, s.is_sparse_coo(), s.stride()
s + m
s + 1
s * 2
s.clone(), s.double(), s.detach()
s.t()
s.exp()
s.requires_grad_(); s.sum().backward(); s.grad
s.requires_grad_(); s.sin().sum().backward(); s.grad
s.requires_grad_(); s.to_dense().sum().backward(); s.grad
c
c.to_dense(), c.sum(), c.sum(0), c.sin(), c + c, c * c
c.prod(1), c.amax(0), c.mean(1), c.prod()
c.amax(1), c.amin(1, keepdim=True), c.mean(1)
c.requires_grad_(); c.sum().backward(); c.grad
c.requires_grad_(); c.to_dense().sum().backward(); c.grad
c.argmax()
""")
def test_sparse(line):
    alike(START + SPARSE + line)


@cases("""
torch.ops.aten.floor_divide_(m, m), torch.ops.aten.floor_divide_(d, k + 1), torch.ops.aten.floor_divide_.overloads()
x = masked_tensor(torch.arange(16.).reshape(1, 1, 4, 4), torch.arange(16).reshape(1, 1, 4, 4) % 3 == 0, True);
    y = F.unfold(x, 2); y.sum().backward(); y, x.grad
y = masked_tensor(torch.arange(16.).reshape(1, 4, 4), torch.arange(16).reshape(1, 4, 4) % 3 == 0);
    F.fold(y, (2, 5), (2, 2))
with_anomaly = torch.autograd.detect_anomaly(); with_anomaly.__enter__(); m.requires_grad_().sum().backward();
    with_anomaly.__exit__(); m.grad
masked_tensor(d.int(), k, requires_grad=True)
x = masked_tensor(d / 10, k, True); (torch.acos(x) + torch.asin(x) * 2).sum().backward(); x.grad
""")
def test_beside(line):
    alike(START + line)
