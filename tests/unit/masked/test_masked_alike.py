"""torch.masked's functions line by line beside PyTorch: values, dtypes, shapes, layouts, gradients, error texts."""

import pytest
from alike import alike, cases, torch


@pytest.fixture(autouse=True)
def checks():
    with torch.sparse.check_sparse_tensor_invariants():
        yield


START = (
    "import torch.masked; M = torch.masked; import torch.masked._ops as O;"
    "d = torch.tensor([[1., -2, 3], [4, 0.5, -6]]); k = torch.tensor([[True, False, True], [False, True, True]]);"
    "e = torch.arange(24.).reshape(2, 3, 4); ke = torch.arange(24).reshape(2, 3, 4) % 3 == 0;"
    "u = torch.tensor([[float('nan'), 1, float('inf')], [2, -float('inf'), 0]]); none = torch.zeros(2, 3).bool();"
    "part = torch.tensor([[True, False, True], [False, False, False]]); "
)
REDUCTIONS = ("sum", "prod", "amax", "amin", "mean", "logsumexp", "var", "std")
STRIDED = """(d)
(d, mask=k)
(d, 0, mask=k)
(d, 1, keepdim=True, mask=k)
(d, (0, 1), mask=k)
(d, (), mask=k)
(d, -1, mask=k[0])
(d, 5, mask=k)
(d, (0, 0), mask=k)
(d, (0, -2), mask=k)
(d, 0, mask=k, dtype=torch.float64)
(d.long(), 0, mask=k)
(d.long(), 0, mask=k, dtype=torch.float32)
(d > 0, 0, mask=k)
(d.to(torch.uint8), 0, mask=k)
(d.to(torch.int8) * 40, 1, mask=k)
(d.half(), 0, mask=k)
(d.bfloat16(), 0, mask=k)
(d.to(torch.complex64), 0, mask=k)
(e, (0, 2), mask=ke, keepdim=True)
(e.transpose(0, 2), 1, mask=ke.transpose(0, 2))
(torch.tensor(2.), 0, mask=torch.tensor(True))
(torch.tensor(2.), mask=torch.tensor(False))
(d, 0, mask=ke)
(d, 0, mask=torch.zeros(2, 2).bool())
(d, 0, mask=k.int())
(d, 0, mask=none)
(torch.zeros(0, 3), 1, mask=torch.zeros(0, 3).bool())
(d, 0, mask=k.to_sparse())
(d, 0, mask=k.to_sparse_csr())
(d.to_sparse_csc(), 0, mask=k)
(u, 1, mask=k)
(d.requires_grad_(), 0, mask=k).sum().backward(); d.grad""".split("\n")
SPARSE = [
    "(%s, %s, keepdim=%s, mask=%s)" % (x, dim, keepdim, mask)
    for x in ("d.to_sparse()", "d.to_sparse_csr()", "torch.eye(3)[:2].to_sparse()", "torch.eye(3)[:2].to_sparse_csr()")
    for dim in ("None", "0", "(0, 1)")
    for keepdim in (True, False)
    for mask in ("k", "k.to_sparse()", "None")
]
SPARSE += [
    "(d.to(torch.%s)%s, 1, keepdim=True, mask=k)" % (dtype, layout)
    for dtype in ("int8", "int64", "bool", "float16", "complex64")
    for layout in (".to_sparse()", ".to_sparse_csr()")
]
SPARSE += ["(e.to_sparse(), (0, 2), mask=ke)", "(torch.tensor(2.).to_sparse(), 0, mask=torch.tensor(True))"]


@pytest.mark.parametrize("args", STRIDED)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name, args):
    alike(START + "M." + name + args)


@pytest.mark.parametrize("args", SPARSE)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_sparse(name, args):
    alike(START + "M." + name + args)


@cases("""
[f(d, 0, mask=k) for f in (M.argmax, M.argmin, M.cumsum, M.cumprod, M.softmax, M.log_softmax, M.softmin)]
[f(d.long(), 1, mask=k) for f in (M.argmax, M.argmin, M.cumsum, M.cumprod)]
[f(d, -1, mask=k, dtype=torch.float64) for f in (M.argmax, M.argmin, M.cumsum, M.cumprod, M.softmax, M.softmin)]
[f(e, 1, mask=ke[0]) for f in (M.argmax, M.cumsum, M.cumprod, M.softmax, M.log_softmax, M.softmin)]
M.argmax(d, mask=k), M.argmin(d, keepdim=True, mask=k), M.argmax(d, 1, keepdim=True)
M.argmax(d, (0, 1), mask=k)
M.argmax(d > 0, 0, mask=k)
M.argmin(d.to_sparse(), 0, mask=k)
M.cumsum(d)
M.cumsum(d, 5)
M.cumprod(d.to_sparse_csr(), 0, mask=k)
M.cumsum(d > 0, 0, mask=k)
M.cumsum(d.requires_grad_(), 0, mask=k).sum().backward(); d.grad
M.softmax(d, 0, mask=none), M.softmax(d.half(), 1, mask=k), M.log_softmax(d, 0)
M.softmax(d.int(), 0, mask=k)
M.softmax(d.to_sparse(), 0, mask=k)
M.log_softmax(d.requires_grad_(), 1, mask=k).pow(2).sum().backward()
M.median(d, mask=k), M.median(d, 0, mask=k), M.median(d, 1, keepdim=True), M.median(d.int(), 1, mask=k)
M.median(d, 0, mask=none), M.median(d.half(), 0, mask=k), M.median(d.int(), 0, mask=k, dtype=torch.float32)
M.median(d.int(), 0, mask=none)
M.median(d.to(torch.complex64), 0, mask=k)
[M.norm(d, o, 1, mask=k) for o in (2, 1, 0, -1, 3.5, float("inf"), -float("inf"))]
M.norm(d, mask=k), M.norm(d), M.norm(d, 2, (0, 1), keepdim=True, mask=k), M.norm(d, 1, 0, mask=k, dtype=torch.float64)
M.norm(d, "fro", 0, mask=k)
M.norm(d.int(), 2, 0, mask=k)
M.norm(d.int(), -float("inf"), 0, mask=k)
[M.normalize(d, o, x, mask=k) for o in (2, 1, float("inf")) for x in (0, 1, (0, 1))]
M.normalize(d.to(torch.complex64), 2, 1, mask=k), M.normalize(d.half(), 2, 0, mask=k, eps=0.5)
M.normalize(d.int(), 2, 0, mask=k)
M.normalize(d.requires_grad_(), 2, 0, mask=k).sum().backward(); d.grad
M.logaddexp(d, d * 2, input_mask=k, other_mask=~k), M.logaddexp(d, d[0]), M.logaddexp(d, d, dtype=torch.float64)
M.logaddexp(d.int(), d.int(), input_mask=k)
M.logaddexp(d.to_sparse(), d)
[f(d, 0, u, mask=k) for f in (M.var, M.std) for u in (True, False, None)]
[f(d, 1, correction=c, mask=k, keepdim=True) for f in (M.var, M.std) for c in (0, 2, 0.5, 10)]
M.var(d.int(), 0, mask=k, dtype=torch.int32), M.std(d.to(torch.complex64), 1, dtype=torch.complex128)
M.var(d, 0, True, correction=1)
M.mean(M.masked_tensor(d, k)), M.sum(M.masked_tensor(d, k), 0), M.softmax(M.masked_tensor(d, k), 0)
M.var(M.masked_tensor(d, k)), M.std(M.masked_tensor(d, k), mask=k), M.normalize(M.masked_tensor(d, k), 2, 1)
""")
def test_others(line):
    alike(START + line)


@cases("""
[O._canonical_dim(*a) for a in ((None, 3), ((), 3), (0, 3), ((2, 0), 3), ((-1, 0), 3), (0, 0), (None, 0), ([0, 1], 3))]
O._canonical_dim((0, 0), 3)
O._canonical_dim(-4, 3)
[O._reduction_identity(n, x) for n in ("sum", "cumprod", "amax", "argmin", "norm", "median")
    for x in (d, d.int(), d.half())]
O._reduction_identity("mean", d), O._reduction_identity("norm", d, -float("inf"))
O._reduction_identity("logsumexp", d.to(torch.complex64)), O._reduction_identity("torch.masked.sum", d.bool())
O._reduction_identity("amax", d.bool())
O._reduction_identity("amax", d.to(torch.complex64))
O._reduction_identity("sin", d)
O._input_mask(d)
O._input_mask(d, mask=ke)
O._input_mask(d.to_sparse_csc(), mask=k)
[O._input_mask(d, mask=x) for x in (k, k[0], k.int(), d, k.to_sparse(), k[0].to_sparse(), k[:1].to_sparse_csr())]
[O._input_mask(d.to_sparse(), mask=x) for x in (k, k[0], k.to_sparse(), k[0].to_sparse(), k.to_sparse_csr())]
[O._input_mask(d.to_sparse_csr(), mask=x) for x in (k, k[:1], k.to_sparse(), k.to_sparse_csr())]
O._input_mask(d.to_sparse(1), mask=k)
[O._output_mask(f, d, 0, mask=k) for f in (M.sum, M.median, M.argmax, M.softmax, M.cumsum, torch.sum)]
O._output_mask(M.norm, d, 2, 0, mask=k), O._output_mask(M.sum, d, dim=0, keepdim=True, mask=k)
O._output_mask(torch.sin, d, mask=k)
O._output_mask("sum", d, mask=k)
O._output_mask(M.logaddexp, d, mask=k)
O._combine_input_and_mask(M.sum, d, k), O._combine_input_and_mask(torch.amax, d, k),
    O._combine_input_and_mask(M.sum, d, None)
O._combine_input_and_mask(M.norm, d, k, -float("inf")), O._combine_input_and_mask(M.prod, d.int(), k)
O._combine_input_and_mask("sum", d, k)
O._combine_input_and_mask(M.softmax, d, k)
f = torch.tensor(9.); O._where(k, d, f), O._where(k.to_sparse(), d.to_sparse(), f),
    O._where(k.to_sparse(1), d.to_sparse(1), f)
f = torch.tensor(9.); x = torch.eye(3)[:2]; O._where(k.to_sparse(), x.to_sparse(), f),
    O._where(none.to_sparse(), x.to_sparse(), f)
f = torch.tensor(9.); x = torch.eye(3)[:2]; O._where(k.to_sparse_csr(), x.to_sparse_csr(), f)
O._where(k.to_sparse(), d, torch.tensor(9.))
O._where(k.to_sparse_csc(), d, torch.tensor(9.))
sorted(M.__all__), sorted(O.__all__), M.sum is O.sum, M.sum.__module__, M.MaskedTensor.__module__
""")
def test_helpers(line):
    alike(START + line)
