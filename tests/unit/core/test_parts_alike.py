"""What random cases of the library's parts (tests/fuzz_parts) found."""

import pytest

from alike import alike, cases, torch, torchlite

TRAIN = "p = nn.Parameter(torch.ones(2)); p.grad = torch.ones(2); "


@cases("""
(1 + 0j) ** torch.arange(4), np.complex128(1) ** torch.arange(4), torch.pow(1 + 0j, torch.tensor([True, False]))
(1 + 0j) ** torch.arange(4).to(torch.int8), (1 + 0j) ** torch.ones(2).double()
""")
def test_powers_of_complex_one(line):
    alike(line)


@cases("""
w = torch.signal.windows.cosine(4, requires_grad=True); w, w.is_leaf
w = torch.signal.windows.hann(4, requires_grad=True); w, w.is_leaf
torch.signal.windows.kaiser(True)
torch.signal.windows.kaiser(3, beta=-1, dtype=torch.float16)
torch.signal.windows.gaussian(-1, std=-1)
torch.signal.windows.exponential('3', center=1.0)
""")
def test_windows(line):
    alike(line)


@cases("""
torch.optim.AdamW([p], foreach=True, differentiable=True).step()
torch.optim.Adam([p.detach().to(torch.complex64)], fused=True)
q = nn.Parameter(p.detach().cfloat()); q.grad = torch.ones_like(q); torch.optim.SGD([q], fused=True).step()
o = torch.optim.SGD([p]); s = torch.optim.lr_scheduler.StepLR(o, 2);
  o.add_param_group({'params': [nn.Parameter(torch.ones(1))]}); o.step(); s.step()
""")
def test_optimizers(line):
    alike(TRAIN + line)


@cases("""
import collections; torch.utils.data.default_convert(collections.defaultdict(int, a=np.ones(2)))
torch.utils.data.default_collate([torch.eye(2).to_sparse()] * 2)
torch.utils.data.default_collate([torch.eye(2).to_sparse(), np.ones(2)])
list(torch.utils.data.DataLoader([1, 2], timeout=1))
""")
def test_loading(line):
    alike(line)


@cases("""
import copy; x = torch.ones(3); y, s = copy.deepcopy([x, x.untyped_storage()]); y.fill_(2); s.nbytes(), y, s[3], x
import copy; x, s = copy.deepcopy([t := torch.ones(2), t.storage()]); x.fill_(3); list(s)
import copy; s = torch.ones(1).untyped_storage(); t = s.__deepcopy__({}); t[0] = 1; s[0], t[0]
nn.utils.weight_norm(nn.Linear(2, 2), dim=5)
F.normalize(torch.ones(2, 3), None, 1)
nn.LazyLinear(3)
""")
def test_copies_and_modules(line):
    alike(line)


@cases("""
torch.tensor([3, ()])
torch.tensor([np.int64(3), ()], dtype=torch.float32)
torch.tensor([[], 3]), torch.tensor([[], [1]]), torch.tensor([[], 3], dtype=torch.int32)
torch.tensor([[1], [[2]]])
torch.tensor([[1], [[]]], dtype=torch.bool)
torch.tensor([[1, 2], 3])
torch.tensor([[1, 2], [3]], dtype=torch.float64)
torch.tensor([np.ones(2), 3])
torch.tensor([1, (1,)], dtype=torch.complex64)
torch.tensor([b'ab'], dtype=torch.int32), torch.tensor([''], dtype=torch.int32)
torch.tensor([''])
torch.tensor(['a'])
torch.tensor([1, 'a'], dtype=torch.float32)
torch.tensor([1, 'a'], dtype=torch.bool)
torch.tensor([None], dtype=torch.int64)
torch.tensor([1, {}], dtype=torch.bool)
x = [1]; x.append(x); torch.tensor(x)
torch.tensor([torch.ones(2), torch.ones(2)])
torch.tensor([torch.ones(2).int()])
torch.tensor([torch.ones(())], dtype=torch.int32)
torch.tensor([[1, 2], torch.ones(2)]), torch.tensor([torch.ones(1, 1), 2]), torch.tensor([torch.ones(())])
torch.utils.data.default_collate([np.int64(3), ()])
""")
def test_tensors_of_data(line):
    alike(line)


SPARSE = """\
i = [[0, 1, 0, 1], [1, 0, 1, 1]]; s = torch.sparse_coo_tensor(i, torch.ones(4), (2, 3), check_invariants=False)
d = (torch.arange(6.0).reshape(2, 3) + 1).requires_grad_(); c = d.to_sparse_csr(); import pickle
"""


@cases("""
torch.autograd.grad(torch.sparse.sum(d.sparse_mask(s)), d)
torch.autograd.grad((d.sparse_mask(s).to_dense() ** 2).sum(), d)
torch.autograd.grad((s.requires_grad_().coalesce().sparse_mask(s.detach()).to_dense() ** 2).sum(), s)[0].to_dense()
b = torch.tensor([[True, False], [False, False]]); b + torch.tensor([[False, True], [False, True]]).to_sparse(), b
c.mul_(3); torch.autograd.grad(c.select(0, 1).sum(), d)
c.fill_(1); y = c.select(0, 1); y.requires_grad, torch.autograd.grad(y.sum(), d)
y = c.clone().copy_(c); y.to_dense(), torch.autograd.grad(y.to_dense().sum(), d)
y = pickle.loads(pickle.dumps(c.detach().requires_grad_())); y.requires_grad, y.is_leaf, y.to_dense()
""")
def test_sparse(line):
    alike(SPARSE + line)


@cases("""
p = (torch.arange(24.0).double().reshape(4, 2, 3) % 5 - 2).requires_grad_(); t = torch.tensor([[1, 1, 2], [1, 2, 1]]);
  torch.autograd.grad(F.ctc_loss(p, t, [2, 3], [2, 2], reduction='sum'), p)
p = (torch.arange(24.0).double().reshape(4, 2, 3) % 5 - 2).requires_grad_(); t = torch.tensor([[1, 1, 2], [1, 2, 1]]);
  torch.autograd.grad(F.ctc_loss(p, t, [2, 3], [2, 2], zero_infinity=True), p)
n = torch.nested.nested_tensor([torch.arange(6).reshape(3, 2), torch.arange(2).reshape(1, 2)], layout=torch.jagged);
  n.mean(1), n.mean(1, keepdim=True)
"%.12g" % torch.distributions.Gumbel(0.3, 2.0).icdf(torch.tensor(0.3, dtype=torch.float64)).item()
nn.init.trunc_normal_(0.0, 1.0, -2.0, 2.0, True)
nn.init.trunc_normal_(torch.ones(2, device='meta'), 10.0)
from torch.nn.utils import prune; m = nn.BatchNorm1d(3); prune.global_unstructured([(m, 'weight')],
  prune.L1Unstructured, amount=1); prune.ln_structured(m, 'weight', 1, math.inf, -1); m.weight_mask
""")
def test_losses_and_others(line):
    alike(line)


def test_asgd_rounds_a_loaded_step_size():
    def trained(lib):
        p = lib.nn.Parameter(lib.tensor([1.0, 2.0], dtype=lib.float64))
        o = lib.optim.ASGD([p], lr=0.1, weight_decay=0.01, foreach=False)
        o.load_state_dict(o.state_dict())
        for _ in range(3):
            p.grad = lib.tensor([0.3, -0.7], dtype=lib.float64)
            o.step()
            o.load_state_dict(o.state_dict())
        return p.tolist()

    assert trained(torchlite) == pytest.approx(trained(torch), rel=1e-13)
