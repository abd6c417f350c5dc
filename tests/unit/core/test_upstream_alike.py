"""Behaviour that PyTorch's own tests ask for, line by line beside PyTorch."""

import re

import pytest
from alike import alike, cases

import torchlite


@cases("""
mask = torch.zeros(3, dtype=torch.uint8); torch.ones(3, 2).index_put_((mask,), torch.ones(0, 2), accumulate=True)
mask = torch.zeros(3, dtype=torch.uint8); torch.ones(3, 2).index_put((mask,), torch.ones(0, 2))
mask = torch.ones(3, dtype=torch.uint8); x = torch.ones(3, 2); x[mask] = torch.zeros(3, 2); x
mask = torch.ones(3, dtype=torch.uint8); x = torch.ones(3, 2); x[mask] = 1; x
hasattr(torch, 'unique_dim'), hasattr(torch._VF, 'unique_dim'), hasattr(torch.ops.aten, 'unique_dim')
torch.unique(torch.tensor([[1, 2], [1, 2]]), dim=0)
torch.tensor([1+2j]).to_sparse().conj()
e = nn.Embedding(4, 2, sparse=True); i = torch.tensor([1, 3]); e(i).sum().backward(); i[0] = 0;
    e(i).sum().backward(); e.weight.grad._indices().tolist()
F.GRID_SAMPLE_PADDING_MODES, F.GRID_SAMPLE_INTERPOLATION_MODES
type(torch.futures.Future().then(lambda f: 1)) is torch.Future, issubclass(torch.futures.Future, torch.Future)
type(torch.futures.collect_all([])) is torch.Future
from torch.utils import checkpoint as c; c._infer_device_type(torch.ones(1), [3]), c.DefaultDeviceType.get_device_type()
from torch.utils import checkpoint as c; c._infer_device_type({'a': torch.ones(1, device='meta')})
from torch.utils.flop_counter import FlopCounterMode as M; c = M(display=False); x = torch.randn(2, 4, 3).mT;
    c.__enter__(); nn.Linear(4, 5)(x), nn.Linear(4, 5).requires_grad_(False)(x), x @ torch.ones(4, requires_grad=True);
    c.__exit__(None, None, None); [(str(k), n) for k, n in c.get_flop_counts()['Global'].items()]
""")
def test_small_things(line):
    alike(line)


def test_a_checkpoint_tells_what_differs():
    x, runs = torchlite.ones(3, requires_grad=True), []

    def shorter_each_time(x):
        runs.append(len(x))
        return x[len(runs) :].sin()

    y = torchlite.utils.checkpoint.checkpoint(shorter_each_time, x, use_reentrant=False)
    shape = re.escape("metadata: {'shape': torch.Size([%d]), 'dtype': torch.float32, 'device': device(type='cpu')}")
    with pytest.raises(RuntimeError, match="saved %s\nrecomputed %s" % (shape % 2, shape % 1)):
        y.sum().backward()


def test_scaled_rows_of_an_embedding_keep_their_tangents():
    ad = torchlite.autograd.forward_ad
    with ad.dual_level():
        weight = ad.make_dual(torchlite.ones(4, 4) * 2, torchlite.ones(4, 4))
        out = torchlite.nn.functional.embedding(torchlite.tensor([0, 2]), weight, max_norm=1.0)
        assert ad.unpack_dual(out).tangent.eq(1).all()


@cases("""
x = torch.ones(3); y = torch._lazy_clone(x); [torch._C._is_cow_tensor(t) for t in (x, y, y[1:], torch.ones(2))]
x = torch.ones(3); y = torch._lazy_clone(x); y.add_(1); torch._C._is_cow_tensor(y), y, x
x = torch.ones(3); y = x._lazy_clone(); x + y; torch._C._is_cow_tensor(y), torch._C._is_cow_tensor(x)
torch.backends.cuda.preferred_linalg_library()
torch.backends.cuda.preferred_linalg_library('foo')
torch.backends.cuda.preferred_blas_library(3)
torch.backends.cuda.preferred_blas_library('cublaslt'), torch.backends.cuda.preferred_blas_library('default')
s = torch.optim.lr_scheduler.CyclicLR(torch.optim.SGD([torch.ones(1, requires_grad=True)], .1), .1, 1.);
    s._scale_fn_ref(3), '_scale_fn_ref' in s.state_dict()
torch.autograd.gradcheck(lambda x: x.to_dense(), (torch.eye(2,
    dtype=torch.double).to_sparse_csr().requires_grad_(),), masked=True)
torch.autograd.gradcheck(lambda x: x.to_dense(), (torch.ones(2, 2, dtype=torch.double,
    requires_grad=True).to_sparse(),), masked=True)
str(torch._C.parse_schema('foo(Tensor x) -> Tensor')),
    torch._C.parse_schema('a::b.c(Tensor(a!) x) -> Tensor(a!)').is_mutable
torch._C.parse_schema('foo(Tensor x, Foo y) -> Tensor')
torch._C.parse_schema('foo(Tensor x, int[2] y=[1, 2], *, str? z=None) -> (Tensor, Tnsor)')
torch.library.define('doorsx::foo', '(Tensor w, int x = 2, *, int y = 3, int z) -> Tensor')
torch.library.define('doorsx::bar', '(Tnsor w) -> Tensor')
str(torch._C.parse_schema('foo(Tensor w, int x = 2, *, float? y =1.5) -> Tensor'))
torch.distributions.kl._kl_expfamily_expfamily(torch.distributions.Gamma(1., 2.), torch.distributions.Gamma(2., 1.))
""")
def test_lazy_clones_libraries_and_schemas(line):
    alike(line)


@cases("""
n = math.nan; x = torch.tensor([[1, n], [1, n], [2, 0], [1, n]]); [torch.unique(x, dim=d) for d in (0, 1)]
n = math.nan; torch.unique(torch.tensor([n, 0, 0, n, n, 1]), dim=0, return_inverse=True, return_counts=True)
n = math.nan; x = torch.tensor([[n, 1], [0, 2], [n, 0], [0, 2], [0, 1], [2, n]] * 2, dtype=torch.float16);
    torch.unique(x, dim=0, return_inverse=True, return_counts=True)
torch.unique(torch.arange(40).flip(0).fmod(7).reshape(20, 2), dim=0, return_inverse=True, return_counts=True)
torch.empty([0, 4, 2**61])
torch.zeros(0, 4, 2**62, dtype=torch.int8)
torch.empty(2**62, 0, 2**62).shape
torch.empty_strided((2, 2), (2**62, 2**62))
torch.empty_strided([8, 8], [2**61, 1], dtype=torch.float64)
torch.set_default_dtype(torch.float64); s = torch.Storage; torch.set_default_dtype(torch.float32);
    s is torch.DoubleStorage, torch.Storage is torch.FloatStorage
""")
def test_nan_rows_and_large_sizes(line):
    alike(line)


@cases("""
(1 + 1j) ** torch.ones(2, dtype=torch.float16)
torch.ones(2, dtype=torch.float16) ** 1j
torch.ones(2, dtype=torch.float16) ** (2 + 0j)
torch.ones(2, dtype=torch.float16) ** torch.tensor(1j)
h = torch.ones(2, dtype=torch.float16); [repr(x) for x in (h ** (1 + 0j), h ** 0j, (1 + 0j) ** h, h * 1j, h + 1j)]
c = torch.tensor([1 + 2j]).to(torch.complex32); [repr(x) for x in (c ** 1, c ** 0, 1 ** c)]
c = torch.tensor([1 + 2j]).to(torch.complex32); c ** c
c = torch.tensor([1 + 2j]).to(torch.complex32); 2 ** c
torch.ones(2, dtype=torch.float16) / 1j
1j / torch.ones(2, dtype=torch.float16)
torch.ones(2, dtype=torch.float16) / torch.tensor(1j)
torch.polar(torch.ones(2, dtype=torch.float16), torch.ones(2, dtype=torch.float16))
""")
def test_half_and_complex_numbers(line):
    alike("import warnings; warnings.simplefilter('ignore'); " + line)  # of complex32: an experiment
