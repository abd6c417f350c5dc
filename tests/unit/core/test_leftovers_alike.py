"""Rare arguments, line by line beside PyTorch: numbers without room, NaN and infinities, ops that are refused."""

import pytest
from alike import alike, cases


@cases("""
torch.round(torch.tensor([1, 25]), decimals=0)
torch.tensor([1, 25]).round_(decimals=0)
torch.round(torch.tensor([1, 25]))
torch.special.round(torch.tensor([1, 25]))
torch.special.round(torch.tensor([True]))
torch.special.round(torch.tensor([1.5, 2.5]))
torch.special.round(torch.tensor([1.256, 25]), decimals=2)
torch.special.round(torch.tensor([1.5, 25]), 3)
F.soft_margin_loss(torch.tensor([200., -200., 88., 89., -90., 100., 1.]), torch.tensor([1., 1, -1, -1, 1, -1, 0]),
    reduction='none')
x = torch.tensor([200., -200., 88., 89., 1.], requires_grad=True);
    F.soft_margin_loss(x, torch.tensor([1., 1, -1, -1, 0])).backward(); x.grad
x = torch.tensor([12., -12.], dtype=torch.half, requires_grad=True);
    F.soft_margin_loss(x, torch.ones(2, dtype=torch.half)).backward(); x.grad
F.soft_margin_loss(torch.ones(2), torch.ones(2, dtype=torch.uint8))
F.soft_margin_loss(torch.ones(2), torch.ones(2, dtype=torch.bool))
x = torch.tensor([.5, -2.], requires_grad=True, dtype=torch.double);
    g, = torch.autograd.grad(F.soft_margin_loss(x, torch.tensor([1., -1.])), x, create_graph=True);
    torch.autograd.grad(g.sum(), x)
torch.logcumsumexp(torch.tensor([complex(-math.inf, 2), complex(-math.inf, 3), complex(1, 1)]), 0)
torch.tensor([np.ones(2), np.float32(1)])
torch.tensor([[1, 2], torch.tensor(1.)])
torch.tensor([[1, 2], torch.tensor(1.)], dtype=torch.float32)
torch.tensor([[1, 2], None])
""")
def test_numbers(line):
    alike(line)


@cases("""
a = (torch.arange(1., 400) / 7).bfloat16(); torch.div(a, a.flip(0), rounding_mode='trunc')
a = (torch.arange(1., 400) / 7).bfloat16(); torch.div(-a, a.flip(0), rounding_mode='floor')
a = (torch.arange(1., 400) / 7).half(); torch.div(-a, a.flip(0) / 90, rounding_mode='trunc')
a = (torch.arange(1., 400) / 7).half(); a.div_(-a.flip(0) / 90, rounding_mode='floor')
a = (torch.arange(1., 400) / 7).bfloat16(); a // a.flip(0)[::2].repeat_interleave(2)[:399]
a = (torch.arange(1., 400) / 7).bfloat16();
    torch.div(a, .1, rounding_mode='trunc'), torch.div(a, torch.tensor(.1, dtype=torch.double), rounding_mode='trunc')
a = (torch.arange(1., 400) / 7).bfloat16();
    torch.div(a, torch.tensor([.1]).bfloat16(), rounding_mode='trunc'), a // torch.tensor([.1]).bfloat16()
a = (torch.arange(1., 400) / 7).half();
    torch.div(a, a.flip(0).float(), rounding_mode='trunc'), a.div_(a.flip(0).float(), rounding_mode='trunc')
v = torch.tensor([0., -0., 1., -1., math.inf, -math.inf, math.nan, 6e-8, 65504., .3]).half();
    [torch.div(v[:, None], v, rounding_mode=m) for m in ('trunc', 'floor')]
""")
def test_rounding_division_of_halves(line):
    alike(line)


@cases("""
torch.linalg.eigh(torch.full((2, 2), math.nan))
torch.linalg.eigh(torch.full((2, 2), math.inf))
torch.linalg.eigh(torch.full((1, 1), math.inf))
torch.linalg.svd(torch.full((2, 2), math.inf))
torch.linalg.svd(torch.full((2, 3), math.inf))
torch.linalg.svd(torch.full((1, 1), math.inf))
torch.linalg.svd(torch.full((2, 2, 2), math.inf), full_matrices=False)
torch.linalg.pinv(torch.full((2, 2), math.nan), hermitian=True)
torch.linalg.pinv(torch.full((2, 2), math.inf), hermitian=True)
torch.linalg.pinv(torch.full((2, 2), math.inf))
torch.svd(torch.full((2, 3), math.inf), some=False)
""")
def test_no_vectors_of_matrices_that_are_not_finite(line):
    alike(line)


@cases("""
torch.unique(torch.zeros(0, 0, 3), dim=0)
torch.unique(torch.zeros(0, 0, 3), dim=2)
torch.unique(torch.zeros(0, 2, 0), dim=1)
torch.unique(torch.zeros(0, 0), dim=1, return_inverse=True, return_counts=True)
torch.unique(torch.zeros(0, 3), dim=0, return_inverse=True, return_counts=True)
torch.unique_consecutive(torch.zeros(0, 0, 3), dim=0)
torch.unique_consecutive(torch.zeros(0, 3), dim=0)
torch.unique_consecutive(torch.zeros(0, 0), dim=1, return_inverse=True, return_counts=True)
x = torch.tensor([0, 1, 2]); x.index_fill_(0, x, 1)
x = torch.tensor([0, 1, 2]); x.index_fill_(0, x[:1], 7)
x = torch.tensor(0); x.index_fill_(0, x, x)
x = torch.tensor([0, 1, 2]); x.index_fill_(0, torch.tensor([0]), x[1])
x = torch.tensor([0, 1, 2]); x.index_fill(0, x, 1)
w = (torch.randn(5, 7) * 3).half(); F.embedding(torch.tensor([0, 1, 4, 4]), w, max_norm=1.); w
w = (torch.randn(5, 9) * 3).bfloat16(); F.embedding(torch.arange(5), w, max_norm=1., norm_type=1.); w
w = (torch.randn(5, 9) * 3).half(); F.embedding(torch.arange(5), w, max_norm=1., norm_type=math.inf); w
""")
def test_indices(line):
    alike(line)


@cases("""
F.max_unpool1d(*F.max_pool1d(torch.arange(8.).reshape(1, 1, 8), 2, return_indices=True), 2)
F.max_unpool2d(*F.max_pool2d(torch.arange(16.).reshape(1, 1, 4, 4), 2, return_indices=True), 2)
F.max_unpool3d(*F.max_pool3d(torch.arange(8.).reshape(1, 1, 2, 2, 2), 2, return_indices=True), 2)
torch.zeros(4).put_(torch.tensor([1]), torch.ones(1))
torch.zeros(4).put(torch.tensor([1]), torch.ones(1))
torch.zeros(4).put_(torch.tensor([1]), torch.ones(1), accumulate=True)
torch.zeros(4).index_put_((torch.tensor([1]),), torch.ones(1))
torch.zeros(4).scatter_(0, torch.tensor([1]), torch.ones(1))
""")
def test_not_deterministic(line):
    for how in ("True", "True, warn_only=True"):
        try:
            alike(f"torch.use_deterministic_algorithms({how}); {line}")
        finally:
            alike("torch.use_deterministic_algorithms(False)")


@cases("""
torch.linalg.eigvalsh(torch.eye(2), out=torch.zeros(2, dtype=torch.int))
torch.linalg.eigvalsh(torch.eye(2), out=torch.zeros(2, dtype=torch.double))
torch.linalg.eigvals(torch.eye(2), out=torch.zeros(2))
torch.linalg.eigh(torch.eye(2), out=(torch.zeros(2), torch.zeros(2, 2, dtype=torch.int)))
torch.linalg.eig(torch.eye(2), out=(torch.zeros(3, dtype=torch.complex64), torch.zeros(3, dtype=torch.complex64)))
torch.linalg.eig(torch.eye(2), out=(torch.zeros(3), torch.zeros(3)))
torch.linalg.householder_product(torch.eye(3), torch.ones(2), out=torch.zeros(3, 3, dtype=torch.int))
torch.linalg.householder_product(torch.eye(3), torch.zeros(2), out=torch.zeros(2)).stride()
torch.linalg.svd(torch.eye(2), out=(torch.zeros(2, 2), torch.zeros(2, dtype=torch.int), torch.zeros(2, 2)))
torch.linalg.cholesky(torch.eye(2), out=torch.zeros(2, 2, dtype=torch.int))
torch.linalg.lu_factor(torch.eye(2), out=(torch.zeros(2, 2), torch.zeros(2)))
torch.linalg.lstsq(torch.eye(2), torch.ones(2, 1),
    out=(torch.zeros(3), torch.zeros(3), torch.zeros(3, dtype=torch.long), torch.zeros(3)))
torch.linalg.matrix_rank(torch.eye(2), out=torch.zeros((), dtype=torch.bool))
torch.linalg.pinv(torch.eye(2), out=torch.zeros(2, 2, dtype=torch.int))
torch.linalg.matrix_power(torch.eye(2), -1, out=torch.zeros(3))
torch.linalg.matrix_power(torch.eye(2), 3, out=torch.zeros(2, 2, dtype=torch.int))
torch.linalg.cond(torch.eye(2), out=torch.zeros((), dtype=torch.int))
torch.linalg.tensorinv(torch.eye(4).reshape(2, 2, 2, 2), out=torch.zeros(3))
torch.linalg.inv_ex(torch.eye(2), out=(torch.zeros(3), torch.zeros(3, dtype=torch.int)))
torch.cholesky_inverse(torch.eye(2), out=torch.zeros(2, 2, dtype=torch.int))
torch.geqrf(torch.eye(2), out=(torch.zeros(3), torch.zeros(3)))
torch.geqrf(torch.eye(2), out=(torch.zeros(2, 2, dtype=torch.int), torch.zeros(2)))
torch.ormqr(torch.eye(2), torch.ones(2), torch.eye(2), out=torch.zeros(3))
torch.ormqr(torch.eye(2), torch.ones(2), torch.eye(2), out=torch.zeros(2, 2, dtype=torch.double))
torch.sort(torch.ones(3), out=(torch.zeros(3), torch.zeros(3, dtype=torch.int64)))
torch.max(torch.ones(3, 3), 0, out=(torch.zeros(3), torch.zeros(3, dtype=torch.int64)))
torch.frexp(torch.ones(3), out=(torch.zeros(3), torch.zeros(3, dtype=torch.int32)))
""")
def test_out_as_in_pytorch(line):
    alike(line)


@cases("""
x = torch.zeros(3); x[m] = 2
x = torch.zeros(3); x[m] = torch.tensor([2.])
x = torch.zeros(3); x[m] = torch.tensor([2., 3.]); x
x = torch.zeros(2, 3); x[:, m] = 2
x = torch.zeros(2, 3); x[..., m] = torch.tensor(2., dtype=torch.double)
x = torch.zeros(2, 3); x[0, m] = 2
x = torch.zeros(3, 2); x[m, torch.tensor([0, 1])] = 2; x
x = torch.zeros(3); x[torch.tensor(1, dtype=torch.uint8)] = 2; x
torch.zeros(3).index_put_((m,), torch.tensor(2.))
torch.zeros(3).index_put((m,), torch.tensor(2.))
""")
def test_one_value_where_a_mask_of_bytes_says(line):
    alike("m = torch.tensor([1, 0, 1], dtype=torch.uint8); " + line)


@pytest.mark.parametrize("value", ["math.nan", "math.inf", "-math.inf"])
@pytest.mark.parametrize("at", ["0, 1", "1, 0", "1, 1", "0, 2", "2, 0"])
@cases("""
torch.linalg.det(A)
torch.linalg.slogdet(A)[1]
torch.linalg.lu_factor(A)[0]
torch.linalg.solve(A, torch.ones(3, 2))
torch.linalg.solve(A, torch.ones(3))
torch.linalg.inv(A)
torch.linalg.qr(A)[1]
torch.linalg.det(A + 0j)
torch.linalg.solve_triangular(A, torch.eye(3), upper=True)
torch.linalg.solve_triangular(A, torch.eye(3), upper=False)
torch.linalg.lu_solve(*torch.linalg.lu_factor(A), torch.ones(3, 2))
torch.cholesky_solve(torch.ones(3, 2), A)
""")
def test_zeros_do_not_hide_what_is_not_finite(line, at, value):
    """0 * NaN is NaN in a factorisation too: no finite determinant or solution comes from such a matrix."""
    alike(f"A = torch.eye(3); A[{at}] = {value}; torch.isfinite({line})")


@cases("""
nn.MultiheadAttention(4, 1)(x, x, x, attn_mask=torch.ones(3, 3, dtype=torch.uint8))
nn.MultiheadAttention(4, 1)(x, x, x, key_padding_mask=torch.ones(1, 3, dtype=torch.uint8))
nn.MultiheadAttention(4, 1)(x, x, x, key_padding_mask=torch.ones(2, 3))
nn.MultiheadAttention(4, 1, add_zero_attn=True)(x, x, x, key_padding_mask=torch.ones(1, 4))
nn.MultiheadAttention(4, 1)(x, x, x, is_causal=True)
nn.TransformerEncoderLayer(4, 1)(x, src_mask=torch.ones(3, 3, dtype=torch.int64))
nn.TransformerDecoderLayer(4, 1)(x, x, tgt_mask=torch.ones(3, 3, dtype=torch.int64))
""")
def test_masks_of_attention(line):
    alike("x = torch.ones(3, 1, 4); " + line)


@cases("""
import copy; copy.deepcopy(torch.ops.aten._upsample_bilinear2d_aa) is torch.ops.aten._upsample_bilinear2d_aa
import copy; copy.deepcopy(torch.ops.aten.linalg_det) is torch.ops.aten.linalg_det
torch.ops.aten.linalg_det(torch.eye(2))
torch.ops.aten.special_erf(torch.ones(2))
torch.ops.aten.multiply(torch.ones(2),3), torch.ops.aten.subtract_.Scalar(torch.ones(2),3)
str(torch.ops.aten.divide.out_mode._schema), str(torch.ops.aten.not_equal.Scalar_out._schema)
torch.ops.aten.fft_rfft(torch.ones(4))
""")
def test_names_of_aten(line):
    alike(line)


@cases("""
torch.qr(A)
torch.slogdet(A)
A.slogdet()
torch.linalg.slogdet(A)
torch.lu_solve(A, *torch.linalg.lu_factor(A))
""")
def test_old_names_of_linalg(line):
    alike("A = torch.tensor([[2., 1.], [1., 3.]]); " + line)


NUMBERS = (
    "7",
    "2.5",
    "1j",
    "1e30",
    "torch.tensor(2.5)",
    "torch.tensor([[3]])",
    "torch.tensor(1+2j)",
    "torch.ones(1, 2, 3)",
    "torch.ones(0)",
    "t",
    "None",
)


@cases("""
True
False
None
...
torch.tensor(True)
torch.tensor(0, dtype=torch.uint8)
torch.tensor(1)
torch.tensor([True, False])
(None, torch.tensor(True), 1)
torch.ones(2, 3, dtype=torch.bool)
(0, True)
""")
def test_what_is_written_at_an_index(line):
    for dtype in ("float", "half", "long", "complex64"):
        for value in NUMBERS:
            alike(f"t = torch.zeros(2, 3, dtype=torch.{dtype}); t[{line}] = {value}; t")


@cases("""
t[1]
t[True]
t[...]
t[torch.tensor([True, False])]
t[:, torch.tensor(False)]
""")
def test_history_of_what_is_written(line):
    for value in ("v", "v.double()", "v + 1j", "v.reshape(1)"):
        alike(
            f"t = torch.zeros(2, 3); v = torch.tensor(2.).requires_grad_(); {line} = {value}; "
            "(t * 2).sum().backward(); (v.grad, t._version)"
        )


@cases("""
t.fill_(torch.tensor(1 + 2j))
t.fill_(torch.tensor(300.))
t.fill_(torch.tensor(1e30))
t.fill_(t[0, 0])
t.fill_(1 + 2j)
t.fill_(1e300)
t.fill_(-.5)
t.fill_(1 + 0j)
t[:1].expand(3, 3).fill_(torch.tensor(2.))
t.masked_fill_(torch.tensor(True), -.5)
t.index_put_((torch.tensor([True, False]),), torch.tensor(2))
t.index_put_((torch.tensor([True, False]),), torch.tensor(1e30))
torch.fill(t, torch.tensor(2 + 1j))
torch.full((2,), 1 + 2j, dtype=t.dtype)
torch.full((2,), 2 ** 63, dtype=t.dtype)
t[torch.tensor([1, 0], dtype=torch.uint8)] = 2
t[torch.tensor([1, 0], dtype=torch.uint8), torch.tensor([1, 0, 1], dtype=torch.uint8)] = 2
t.expand(2)
torch.scalar_tensor(1e300, dtype=t.dtype)
torch.scalar_tensor(1 + 2j, dtype=t.dtype)
""")
def test_filled(line):
    for dtype in ("float", "half", "bfloat16", "int8", "uint8", "long", "bool", "complex64"):
        if dtype != "long" or "1e30" not in line:  # a cast of what has no room is undefined
            alike(f"t = torch.zeros(2, 3, dtype=torch.{dtype}); {line}")


@cases("""
F.layer_norm(x, (4,), w, b)
F.layer_norm(x, (4,), None, b)
F.group_norm(x, 2, w, b)
F.batch_norm(x, None, None, w, b, True)
F.batch_norm(x, w, b, None, None, False)
F.batch_norm(x, b.abs(), w.abs(), w, None, True)
F.rms_norm(x, (4,), w)
""")
def test_dtypes_of_norms(line):
    for x in ("float", "half", "double"):
        for w in ("float", "half", "double"):
            for b in ("float", "half"):
                alike(
                    f"x = torch.arange(8.).reshape(2, 4).to(torch.{x}); w = torch.ones(4, dtype=torch.{w}); "
                    f"b = torch.full((4,), 3, dtype=torch.{b}); {line}"
                )


@cases("""
torch.lerp(x, x, .5, out=torch.zeros(2, dtype=torch.half))
torch.lerp(x, x, .5, out=torch.zeros(2, dtype=torch.long))
torch.lerp(x, x, x, out=torch.zeros(2, dtype=torch.half))
torch.view_as_complex(x.half().reshape(1, 2)[:, :1])
torch.view_as_complex(x.long())
torch.view_as_complex(x.as_strided((1, 2), (1, 1))).stride()
torch.view_as_complex(torch.ones(6).as_strided((1, 2, 1, 2), (3, 4, 5, 1))).stride()
torch.view_as_complex(torch.ones(6).as_strided((2, 2), (3, 1)))
torch.grid_sampler(torch.ones(1, 1, 2, 2), torch.full((1, 1, 2, 2), math.nan), 2, 0, True)
torch.grid_sampler(torch.ones(1, 1, 2, 2), torch.full((1, 1, 2, 2), math.nan), 2, 1, False)
torch.grid_sampler(torch.ones(1, 1, 2, 2), torch.tensor([math.nan, .5]).expand(1, 1, 2, 2), 2, 2, False)
torch.signbit(F.layer_norm(x[:1], (1,), -x[:1]))
torch.signbit(F.rms_norm(x[:1] * 0, (1,), -x[:1]))
torch.conv_tbc(torch.ones(1, 1, 1), torch.ones(1, 1, 1), x[:1].double(), 1)
torch.logsumexp(x, 0, out=torch.zeros((), dtype=torch.long))
torch.logsumexp(x, 0, out=torch.zeros((), dtype=torch.half))
m = torch.rand(2, 2).t().requires_grad_(); r = m * 1; r.fill_diagonal_(.5);
    torch.autograd.grad(r.sum(), m, create_graph=True)[0].stride()
m = torch.full((2, 2), 5.).requires_grad_(); r = m * 1; d = r.diagonal(); d.register_hook(lambda g: g * 2);
    d.mvlgamma_(3); torch.autograd.grad(r.sum(), m)
m = torch.ones(2, 3).t().requires_grad_(); torch.autograd.grad(m.angle().sum(), m, create_graph=True)[0].stride()
s = torch.ones(2, 2).requires_grad_(); r = torch.as_strided_scatter(torch.ones(4, 3), s, (2, 2), (3, 1), 1);
    g, h = torch.autograd.grad(r.sum(), [s, r]); g[0] = 5; (h, h._version)
s = torch.tensor(2.).requires_grad_(); t = torch.zeros(1, 1); t[-1] = s; g, = torch.autograd.grad(t.sum(), [s]);
    g.mul_(s)
""")
def test_rare_calls_as_in_pytorch(line):
    alike("x = torch.ones(2); " + line)


@cases("""
F.grid_sample(image, places, align_corners=False)
F.grid_sample(image, places, 'nearest', align_corners=True)
F.grid_sample(image, places, 'bilinear', 'border', align_corners=True)
F.grid_sample(image, places, 'bilinear', 'reflection', align_corners=True)
F.grid_sample(volume, points, align_corners=False)
F.grid_sample(volume, points, 'nearest', 'border', align_corners=False)
F.grid_sample(volume, points, 'bilinear', 'reflection', align_corners=False)
""")
def test_grids_that_are_not_finite(line):
    alike(
        "nan, inf = math.nan, math.inf; "
        "image, volume = torch.arange(1., 21.).view(1, 1, 4, 5), torch.arange(1., 61.).view(1, 1, 3, 4, 5); "
        "places = torch.tensor([[nan, 0.], [0., inf], [-inf, nan], [9., .5]]).view(1, 1, 4, 2); "
        "points = torch.tensor([[nan, 0., 0.], [0., inf, .5], [-inf, nan, 0.], [9., .5, 1e30]]).view(1, 1, 1, 4, 3); "
        + line
    )


@cases("""
F.cosine_similarity(torch.full((1, 1), 2.), torch.zeros(1, dtype=torch.half), dim=-1)
F.cosine_similarity(torch.full((1, 1), 2.).half(), torch.zeros(1), dim=-1)
F.cosine_similarity(torch.tensor([[1, 2]]), torch.tensor([[.5, 2.]]), dim=-1)
x = torch.tensor([-3., -1., 0., 2.], dtype=torch.double, requires_grad=True);
    g, = torch.autograd.grad(torch.special.log_ndtr(x).sum(), x, create_graph=True);
    torch.autograd.grad(g.sum(), x)
x = torch.tensor([40., 1e3], requires_grad=True);
    g, = torch.autograd.grad(torch.special.log_ndtr(x).sum(), x, create_graph=True);
    torch.autograd.grad(g.sum(), x)[0].abs()
torch.ops.aten.copy(torch.ones(5, 3)[1:4:2], torch.ones(3)).stride()
torch.ops.aten.copy(torch.ones(3).expand(2, 3), torch.ones(3)).stride()
torch.ops.aten.copy(torch.ones(5, 3)[1:4:2], torch.ones(3)).storage_offset()
""")
def test_numbers_at_the_edges(line):
    alike(line)


@cases("""
torch.cuda.random.get_rng_state_all()
torch.cuda.set_rng_state_all([])
torch.cuda.random.get_rng_state()
torch.cuda.initial_seed()
torch.cuda.random.set_rng_state(torch.zeros(1, dtype=torch.uint8))
torch.cuda.random.manual_seed_all(3)
torch.cuda.seed()
""")
def test_cuda_random(line):
    alike(line)


@cases("""
torch.cov(torch.ones(2, 3), aweights=torch.zeros(3))
torch.cov(torch.ones(3), fweights=torch.zeros(3, dtype=torch.int64))
""")
def test_weights_of_no_weight(line):
    alike(line)


@cases("""
torch.empty(2, 4, 2**29, 2**29, dtype=torch.float64)
torch.full([8, 8, 2**61], 1.)
torch.empty(2**62, 2**62, device='meta')
torch.empty(2**61, 4, device='meta')
""")
def test_sizes_beyond_all_memory(line):
    alike(line)


@cases("""
x = torch.ones(2); x.data = torch.ones(2).to_sparse()
x = torch.ones(2).to_sparse(); x.data = torch.ones(2)
x = torch.ones(2).to_sparse(); x.data = torch.ones(3).to_sparse(); x.shape
x = torch.ones(2, device='meta'); x.data = torch.ones(2)
x = torch.nn.Linear(2, 2); x.weight.data = torch.ones(2, 2, device='meta')
x = torch.ones(2, device='meta'); x.data = torch.ones(3, device='meta'); x.shape
torch.testing.assert_close(torch.ones(2, device='meta'), torch.zeros(2, device='meta'))
torch.testing.assert_close(torch.ones(2, device='meta'), torch.zeros(3, device='meta'))
""")
def test_data_of_another_kind(line):
    alike(line)


@cases("""
S = type('S', (torch.Tensor,), {}); copy.deepcopy(torch.ones(2).as_subclass(S))
S = type('S', (torch.Tensor,), {'new_empty': lambda self, *a: torch.empty(*a)});
    copy.deepcopy(torch.ones(2).as_subclass(S))
S = type('S', (torch.Tensor,), {'new_empty': lambda self, *a: torch.empty(*a).as_subclass(S)});
    c = copy.deepcopy(torch.ones(2, 3).t().as_subclass(S)); type(c).__name__, c, c.stride()
S = type('S', (torch.Tensor,), {}); copy.deepcopy(torch.ones(2, device='meta').as_subclass(S))
S = type('S', (torch.Tensor,), {}); copy.deepcopy(torch.nn.Parameter(torch.ones(2).as_subclass(S)))
S = type('S', (torch.nn.Parameter,), {}); copy.deepcopy(S(torch.ones(2)))
""")
def test_copies_of_subclasses(line):
    alike(line)
