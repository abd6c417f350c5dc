"""Sparse tensors line by line beside PyTorch: construction, conversions, ops, products, gradients, files.

PyTorch's checks of indices are on here: torchlite always checks them.
"""

import pytest
from alike import alike, cases, torch

import torchlite


@pytest.fixture(autouse=True)
def checks():
    with torch.sparse.check_sparse_tensor_invariants():
        yield


@cases("""
torch.ones(2).sparse_dim(), torch.ones(2).dense_dim()
torch.ones(2).values()
torch.ones(2).indices()
torch.ones(2).coalesce()
torch.ones(2).is_coalesced()
torch.ones(2).crow_indices()
torch.ones(2).col_indices()
torch.ones(2).ccol_indices()
torch.ones(2).row_indices()
torch.ones(2).smm(torch.ones(2))
torch.ones(2).to_dense()
torch.eye(3).to_sparse(), torch.eye(3).to_sparse(1), torch.tensor(3.).to_sparse()
torch.eye(3).to_sparse(3)
torch.eye(3).to_sparse(layout=torch.sparse_csr)
s = torch.eye(3).to_sparse(); s.is_sparse, s.layout, s.shape, s._nnz(), s.is_coalesced(), s.indices(), s.values()
s = torch.eye(3).to_sparse(); s.numel(), s.dim(), s.sparse_dim(), s.dense_dim(), s.stride(), s.is_contiguous()
s = torch.eye(3).to_sparse(); s.device, s.type(), s.is_cuda, s.element_size(), s.is_floating_point(), len(s)
torch.eye(3).to_sparse().data_ptr()
torch.eye(3).to_sparse().numpy()
torch.eye(3).to_sparse().tolist()
torch.eye(3).to_sparse().reshape(9)
torch.eye(3).to_sparse().expand(2, 3, 3)
bool(torch.eye(1).to_sparse()), torch.eye(3).to_sparse().any()
torch.eye(3).to_sparse().item()
torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3, 4, 5])
torch.sparse_coo_tensor(torch.tensor([[1, 1]]), torch.ones(2, 3), (2, 3)).coalesce()
torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3., 4, 5], (2, 2))
torch.sparse_coo_tensor([[0, 1, -1], [2, 0, 2]], [3., 4, 5], (2, 3))
torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3., 4], (2, 3))
torch.sparse_coo_tensor([0, 1], [3., 4])
torch.sparse_coo_tensor((2, 3))
torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3., 4, 5], (2, 3), dtype=torch.float64, requires_grad=True)
torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3., 4, 5], (2, 3, 4))
torch.sparse_coo_tensor([[0.5, 1, 1], [2, 0, 2]], [3., 4, 5], (2, 3))
torch.sparse_coo_tensor([[1, 1]], [3., 4], (2,)).values()
torch.sparse_coo_tensor([[1, 1]], [3., 4], (2,)).indices()
torch.sparse_coo_tensor([[1, 1]], [3., 4], (2,), is_coalesced=True)
s = torch.sparse_coo_tensor([[1, 1]], [3., 4], (2,)); s._values(), s._indices(), s.is_coalesced(), s.coalesce()
torch.sparse.FloatTensor(torch.tensor([[0, 1], [1, 0]]), torch.tensor([1., 2.]), torch.Size([2, 2]))
torch.zeros(2, 3, layout=torch.sparse_coo), torch.empty(2, 3, layout=torch.sparse_coo)
torch.ones(3, 3, layout=torch.sparse_coo)
torch.zeros_like(torch.ones(2, 2), layout=torch.sparse_coo), torch.zeros_like(torch.eye(3).to_sparse())
torch.eye(3).sparse_mask(torch.sparse_coo_tensor([[0, 1], [1, 1]], [1., 2.], (3, 3)))
torch.sparse.spdiags(torch.arange(9.).reshape(3, 3), torch.tensor([0, -1, 2]), (3, 3)).to_dense()
""")
def test_construction(line):
    alike(line)


S = "s = torch.tensor([[0, 2., 0], [-1, 0, 3], [0, 0, 0]]).to_sparse(); "


@cases("""
s + s, s - s * 2, s * s, -s, s.abs(), s.pow(2), s / 2, 3 * s
s * torch.arange(9.).reshape(3, 3), torch.ones(3, 3) + s, torch.ones(3, 3).add_(s, alpha=2)
s + 1
s + torch.ones(3, 3)
s + torch.eye(4).to_sparse()
s * torch.eye(3).to_sparse(), s + torch.eye(3).to_sparse()
s.sin(), s.abs().sqrt(), s.relu(), s.clone().neg_(), s.clone().mul_(3), s.sign(), s.expm1(), s.isnan()
s.clone().add_(s), s.clone().zero_(), s.clone().div_(2)
s.t(), s.transpose(0, 1).coalesce(), s.permute(1, 0), s.unsqueeze(0), s.narrow_copy(0, 1, 2)
s[0], s[1, 2], s.select(0, 1), s.index_select(0, torch.tensor([2, 0])), s.index_select(1, torch.tensor([2, 0]))
s[5]
torch.cat([s, s]), torch.cat([s, s], 1), torch.stack([s, s]), [x for x in s]
s.sum(), torch.sparse.sum(s), torch.sparse.sum(s, (0, 1)), s.sum(0)
torch.sparse.softmax(s, 1), torch.sparse.log_softmax(s, 1)
s.norm(), torch.norm(s), s.double(), s.to(torch.int32), s.bool(), s.cpu(), s.float() is s
s @ torch.ones(3, 2), torch.mm(s, torch.ones(3, 2)), torch.ones(2, 3) @ s, s @ torch.ones(3)
torch.mv(s, torch.ones(3)), torch.addmm(torch.ones(3, 2), s, torch.ones(3, 2), beta=2, alpha=3)
torch.sparse.addmm(torch.ones(3, 2), s, torch.ones(3, 2), beta=2, alpha=3), torch.hspmm(s, torch.ones(3, 2))
torch.bmm(torch.stack([s, s]), torch.ones(2, 3, 2)), F.linear(torch.ones(2, 3), s)
s.requires_grad_(); (s * 2).to_dense().sum().backward(); s.grad
s.requires_grad_(); torch.sparse.sum(s).backward(); s.grad
s.requires_grad_(); s.sum().backward(); s.grad
s.requires_grad_(); torch.sparse.sum(s, 0).to_dense().pow(2).sum().backward(); s.grad
s.requires_grad_(); torch.sparse.softmax(s, 1).to_dense().pow(2).sum().backward(); s.grad
s.requires_grad_(); torch.sparse.log_softmax(s, 1).to_dense().pow(2).sum().backward(); s.grad
s.requires_grad_(); (s + s * 3).to_dense().sum().backward(); s.grad
s.requires_grad_(); (s * torch.arange(9.).reshape(3, 3)).to_dense().sum().backward(); s.grad
s.requires_grad_(); s.t().to_dense().pow(2).sum().backward(); s.grad
s.requires_grad_(); s.coalesce().values().pow(2).sum().backward(); s.grad
s.requires_grad_(); s.to_sparse_csr().to_dense().sum().backward(); s.grad.to_dense()
d = torch.arange(9.).reshape(3, 3).requires_grad_(); (s * d).to_dense().sum().backward(); d.grad
d = torch.arange(9.).reshape(3, 3).requires_grad_(); s.requires_grad_(); (d + s).pow(2).sum().backward(); d.grad, s.grad
d = torch.arange(6.).reshape(3, 2).requires_grad_(); s.requires_grad_();
    (torch.mm(s, d) ** 2).sum().backward(); s.grad, d.grad
d = torch.arange(6.).reshape(3, 2).requires_grad_(); s.requires_grad_();
    (torch.sparse.mm(s, d) ** 2).sum().backward(); s.grad, d.grad
d = torch.eye(3).requires_grad_(); (d.to_sparse().to_dense() * 3).sum().backward(); d.grad
d = torch.eye(3).requires_grad_(); (d.to_sparse_csr().to_dense() * 3).sum().backward(); d.grad
v = torch.ones(2, requires_grad=True); t = torch.sparse_coo_tensor([[0, 0]], v, (2,));
    t.coalesce().values().pow(2).sum().backward(); v.grad
import copy, pickle; copy.deepcopy(s), pickle.loads(pickle.dumps(s))
import io; b = io.BytesIO(); torch.save({"a": s, "b": s.to_sparse_csr()}, b); b.seek(0); torch.load(b)
m = nn.Linear(2, 2); m.register_buffer("adj", s); m.double().adj, list(m.state_dict())
m = nn.Module(); m.register_buffer("adj", s); m.load_state_dict({"adj": s * 3}); m.adj
""")
def test_coo(line):
    alike(S + line)


@cases("""
d = torch.eye(4)[:2].to_sparse_csr(); d[0], d[1, 1], d.select(1, -1), d.select(-1, 3)
d = (torch.eye(4) + 1).to_sparse_csc(); d[0], d.select(1, 2), torch.select_copy(d, 0, 1)
d = torch.eye(4).to_sparse_bsr((2, 2)); d[0]
d = torch.eye(4).to_sparse_bsr((2, 2)); torch.select_copy(d, 0, 1)
d = torch.eye(4).to_sparse_bsc((2, 2)); d.select(1, 1)
d = torch.stack([torch.eye(2)] * 2).to_sparse_csr(); d[0]
d = torch.stack([torch.eye(2)] * 2).to_sparse_csr(); d.select(1, 0)
d = torch.ones(2, 2, 3).to_sparse_csr(dense_dim=1); d.select(2, 1), d.select(-1, 0), d.select(0, 1)
d = torch.arange(32.).reshape(4, 4, 2).to_sparse_bsc((2, 2), dense_dim=1); torch.select_copy(d, 2, 1)
d = torch.stack([torch.eye(2)] * 2).to_sparse_csr(); torch.select_copy(d, 2, 0)
torch.sparse_coo_tensor(size=(2, 3))
s, s.crow_indices(), s.col_indices(), s.values(), s.to_dense(), s.to_sparse(), s.is_sparse_csr, s.layout
s @ torch.ones(3, 2), s * 2, s + s, s.t(), s.sin(), -s, s.abs().sum(), s.double()
s.to_sparse_csc(), s.to_sparse_csc().to_sparse_csr(), torch.eye(4).to_sparse_bsr((2, 2))
torch.eye(4).to_sparse_bsr((0, 2))
torch.eye(4).to_sparse_bsc((2, -2))
torch.eye(4).to_sparse_bsc((2, 2)), torch.eye(4).to_sparse_bsr((2, 2)).to_dense()
torch.sparse_csr_tensor([0, 1, 2], [0, 1], [1., 2.]), torch.sparse_csc_tensor([0, 1, 2], [0, 1], [1., 2.], (2, 2))
torch.sparse_csr_tensor([0, 1, 3], [0, 1], [1., 2.], (2, 2))
torch.sparse_csr_tensor([0, 1, 2], [0, 5], [1., 2.], (2, 2))
torch.sparse_csr_tensor([0, 1, 2], [0, 1], [1., 2.], (3, 2))
torch.zeros(3, 3, layout=torch.sparse_csr)
torch.sparse.sampled_addmm(s, torch.ones(3, 2), torch.ones(2, 3))
[torch.sparse.mm(s, torch.arange(6.).reshape(3, 2), r) for r in ("sum", "mean", "amax", "amin")]
s.requires_grad_(); s.to_dense().pow(2).sum().backward(); s.grad
s.requires_grad_(); torch.sparse.mm(s, torch.ones(3, 2)).pow(2).sum().backward(); s.grad
s.requires_grad_(); (s @ torch.ones(3, 2)).pow(2).sum().backward(); s.grad
c = s.to_sparse(); torch.sparse.mm(c, c), torch.sparse.mm(s, s).to_dense()
c = s.to_sparse().requires_grad_(); torch.sparse.mm(c, c).to_dense().sum().backward(); c.grad
s.requires_grad_(); s.values().pow(2).sum().backward(); s.grad
torch.sparse_csr_tensor([0, 2], [1, 0], [1., 2.], (1, 2), check_invariants=True)
torch.sparse_csr_tensor([0, 2], [1, 0], [1., 2.], (1, 2), check_invariants=False).to_dense()
torch.sparse_csc_tensor([0, 2, 3], [1, 1, 0], [1., 2., 3.], (2, 2), check_invariants=True)
torch.sparse_csr_tensor([0, 1, 2], [1, 0], [1., 2.], (2, 2), check_invariants=True).to_dense()
torch.sparse_csr_tensor([0, 0, 0, 2], [0, 1], [1., 2.], (3, 2)).to_dense()
torch.sparse_csr_tensor([[0, 2], [0, 2]], [[0, 1], [1, 0]], [[1., 2.], [1., 2.]], (2, 1, 2), check_invariants=True)
torch.sparse_bsr_tensor([0, 2], [1, 0], torch.ones(2, 1, 1), (1, 2), check_invariants=True)
""")
def test_compressed(line):
    alike(S.replace("to_sparse()", "to_sparse_csr()") + line)


GRADIENT = "g = torch.sparse_coo_tensor([[0, 2, 0]], torch.arange(6.).reshape(3, 2) + 1, (3, 2)); "


@cases("""
e = nn.Embedding(5, 2, sparse=True, padding_idx=1); e(torch.tensor([[0, 1], [4, 0]])).sum().backward(); e.weight.grad
e = nn.Embedding(5, 2, sparse=True); [e(torch.tensor([[0, 1], [4, 0]])).pow(2).sum().backward() for _ in range(2)];
    e.weight.grad.coalesce()
w = torch.ones(3, 2, requires_grad=True);
    ((w * 2).sum() + F.embedding(torch.tensor([0, 2]), w, sparse=True).sum()).backward(); w.grad
w = torch.ones(3, 2, requires_grad=True); F.embedding(torch.tensor([0, 2]), w, sparse=True).sum().backward();
    (w * 2).sum().backward(); w.grad
w = torch.ones(3, 2, requires_grad=True);
    F.embedding(torch.tensor([0]), w, sparse=True, scale_grad_by_freq=True).sum().backward()
e = nn.EmbeddingBag(4, 2, sparse=True, mode="sum"); nn.init.ones_(e.weight);
    e(torch.tensor([0, 1, 2, 1]), torch.tensor([0, 2])).sum().backward(); e.weight.grad
p = nn.Parameter(torch.ones(3, 2)); p.grad = g; o = torch.optim.SGD([p], 0.1, momentum=0.9); o.step(); o.step(); p
""")
def test_embeddings(line):
    alike(GRADIENT + line)


@pytest.mark.parametrize(
    "name", "Adadelta Adagrad Adam AdamW Adamax ASGD NAdam RAdam RMSprop Rprop SGD SparseAdam Adafactor Muon".split()
)
def test_optimizers(name):
    alike(
        GRADIENT + "p = nn.Parameter(torch.ones(3, 2)); p.grad = g; o = torch.optim.%s([p], lr=0.1); "
        "o.step(); o.step(); p, {k: v for k, v in o.state[p].items()}" % name
    )


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_of_other_layouts(name):
    x = torchlite.eye(3)
    for other, kind in ((x.to_sparse_csr(), "SparseCsrCPU"), (x, "CPU")):
        with pytest.raises(NotImplementedError, match=f"'aten::_sparse_{name}' with arguments from the '{kind}'"):
            getattr(torchlite.sparse, name)(other, 1)


@pytest.mark.parametrize("shape", [(1, 0, 2), (1, 2, 0)])
def test_blocks_without_elements(shape):
    places = torchlite.tensor([0, 1]), torchlite.tensor([0]), torchlite.ones(shape)
    for make in (torchlite.sparse_bsr_tensor, torchlite.sparse_bsc_tensor):
        for size in ((), ((2, 2),)):
            with pytest.raises(RuntimeError, match="have no elements"):
                make(*places, *size)


UNCOALESCED = (
    "v = torch.tensor([0.7, -0.4, 0.9, 1.1]).double().requires_grad_(); "
    "s = torch.sparse_coo_tensor([[0, 1, 0, 1], [1, 0, 1, 1]], v, (2, 2)); "
)


@cases("""
torch.sparse.mm(s, v.reshape(2, 2))
torch.sparse.addmm(torch.ones(2, 2).double(), s, v.reshape(2, 2).t())
s.mv(v[:2])
torch.sparse.sum(s) ** 2
torch.sparse.sum(s, 0).to_dense() ** 2
s.to_sparse_csr().to_dense() ** 2
""")
def test_gradients_of_repeated_indices(line):
    """Each place counts once, however often its index is there."""
    alike(UNCOALESCED + "torch.autograd.grad((%s).sum(), v)" % line)


@pytest.mark.parametrize("fn", [lambda t: (t @ t.t()).to_dense(), lambda t: torchlite.cat([t, t]).sum() ** 2])
def test_gradients_of_repeated_indices_as_of_a_dense_tensor(fn):
    v = torchlite.tensor([0.7, -0.4, 0.9, 1.1], requires_grad=True)
    s = torchlite.sparse_coo_tensor([[0, 1, 0, 1], [1, 0, 1, 1]], v, (2, 2))
    sparse, dense = (torchlite.autograd.grad(fn(t).sum(), v)[0] for t in (s, s.to_dense()))
    assert torchlite.allclose(sparse, dense)


@cases("""
s = torch.eye(2).bool().to_sparse_bsr((1, 1)); s + s
s = torch.eye(2).to_sparse_csr(); s.zero_()._nnz(), s
s = torch.eye(2).long().to_sparse(); torch.sparse.addmm(torch.ones(2, 2).long(), s, s.to_dense(), beta=0.5, alpha=2)
s = torch.eye(2).to_sparse_csr(); s.add_(s, alpha=2), s
""")
def test_small_things(line):
    alike(line)


_KINDS = "f, i, b = (torch.ones(2, dtype=d).to_sparse() for d in (torch.float32, torch.int32, torch.bool)); "


@cases("""
i.add_(f)
i.sub_(f)
i.mul_(f)
f.add_(i), f.mul_(i)
b.mul_(i)
f - b
b - f
i.sub_(b)
b - b
""")
def test_dtypes_of_two_sparse_operands(line):
    alike(_KINDS + line)
