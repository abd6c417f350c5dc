"""What PyTorch refuses: the same error, where torchlite once returned numbers."""

from alike import alike, cases


@cases("""
x = torch.ones(3, requires_grad=True); x.sum(dtype=torch.int64)
x = torch.ones(3, requires_grad=True); x.prod(0, dtype=torch.int32)
x = torch.ones(3, requires_grad=True); x.cumprod(0, dtype=torch.int64)
x = torch.ones(3, requires_grad=True); torch.zeros(3, dtype=torch.int64).select_scatter(x[0], 0, 1)
x = torch.ones(3, requires_grad=True); torch.zeros(3, dtype=torch.int64).masked_fill(torch.tensor(True), x[0])
x = torch.ones(3, requires_grad=True); torch.ones(3, dtype=torch.int64).index_fill(0, torch.tensor([0]), x[0])
x = torch.ones(3, requires_grad=True); x.to(torch.int64)
""")
def test_gradient_lost_in_integers(line):
    alike(line)


@cases("""
torch.allclose(torch.ones(2), torch.ones(2), rtol=math.nan)
torch.isclose(torch.ones(2), torch.ones(2), atol=math.nan)
torch.cdist(torch.ones(2, 2), torch.ones(2, 2), math.nan)
torch.pdist(torch.ones(2, 2), math.nan)
torch.renorm(torch.ones(2, 2), math.nan, 0, 1.)
torch.renorm(torch.ones(2, 2), 2., 0, math.nan)
torch.quantile(torch.tensor(1.), .5, 1)
torch.tensor(1.).cummax(3)
torch.tensor(1.).cummin(-2)
torch.utils.data.Sampler([1])
torch.nanquantile(torch.tensor(1.), .5, -2)
torch.trapezoid(torch.ones(3), dx=True)
torch.cumulative_trapezoid(torch.ones(3), dx=1j)
torch.trapezoid(torch.ones(3), torch.ones(4))
torch._chunk_cat([torch.ones(1), torch.ones(1, 2)], -1, 5)
torch.histogram(torch.ones(3), torch.ones(1))
torch.histogram(torch.ones(3), torch.ones(0))
torch.histogram(torch.ones(3), torch.ones(2, 2))
torch.histogram(torch.ones(3), torch.ones(2).double())
torch.histogram(torch.ones(3), 3, weight=torch.ones(2))
torch.histogram(torch.ones(3), 3, weight=torch.ones(3).double())
torch.histogram(torch.ones(3), 3, range=(0., math.inf))
torch.histogram(torch.ones(3), 3, range=(0.,))
torch.histogram(torch.ones(3), 3, range=(2., 1.))
torch.histogramdd(torch.ones(5, 0, 2), [2, 2], weight=torch.ones(0, 5))
torch.histogramdd(torch.ones(5, 2), [torch.ones(1), torch.ones(2)])
torch.histogramdd(torch.ones(5, 2), [2, 0])
torch.histogramdd(torch.ones(5, 2), [2, 2], range=(0., 1., 3., 2.))
torch.arange(0., -8., math.nan, dtype=torch.int64)
torch.range(0, 5, math.nan)
torch.trapezoid(torch.ones(2, 3), torch.ones(1, 2, 3))
torch.cumulative_trapezoid(torch.ones(3), torch.ones(1, 3))
torch.zeros(5, 5).index_put((torch.tensor(4),), torch.ones(1, 5))
torch.zeros(5, 5).index_put_((torch.tensor([4]),), torch.ones(1, 1, 5), accumulate=True)
x = torch.zeros(5, 5); x.index_put((x == 0,), torch.ones(1, 25))
x = torch.zeros(5, 5); x[torch.tensor(4)] = torch.ones(1, 5); x[4] = torch.ones(1, 1, 5); x
""")
def test_numbers(line):
    alike(line)


@cases("""
torch.ones(2).cumsum_(0, dtype=torch.float64)
torch.ones(2).cumprod_(0, dtype=torch.int64)
torch.ones(2, dtype=torch.int64).cumsum_(0, dtype=torch.complex64)
torch.ones(2, dtype=torch.int16).cumsum_(0)
torch.ones(2).cumsum_(0, dtype=torch.float32)
torch.ones(2, dtype=torch.int64).polygamma_(1)
torch.bitwise_not(torch.ones(2, dtype=torch.int64), out=torch.ones(2, dtype=torch.int32))
torch.diagonal_copy(torch.ones(2, 2), out=torch.ones(2).double())
torch.select_copy(torch.ones(2, 2), 0, 1, out=torch.ones(2).double())
torch.unbind_copy(torch.ones(2, 2), out=[torch.ones(2).double(), torch.ones(2).double()])
torch.triu_indices(3, 3, dtype=torch.float32)
torch.tril_indices(3, 3, dtype=torch.int16)
torch.tril_indices(3, 3, dtype=torch.int32)
torch.ones(2, dtype=torch.uint8).index_add(0, torch.tensor([0]), torch.ones(1, dtype=torch.int64), alpha=.5)
torch.tensor(9).index_add(0, torch.tensor([0]), torch.tensor([6]))
torch.tensor([9]).index_add(0, torch.tensor([0]), torch.tensor(6))
torch.normal(torch.ones(2, requires_grad=True), 1., out=torch.empty(2))
torch.normal(torch.ones(2), torch.ones(2), out=torch.empty(2, requires_grad=True))
torch.tensordot(torch.ones(2, 2), torch.ones(2, 2), dims=1, out=torch.empty(2, 2).half())
torch.normal(1., 1., (2,), dtype=torch.float64, out=torch.empty(2))
torch.normal(1., 1., (2,), dtype=torch.float64, out=torch.empty(2).double())
torch.normal(torch.ones(2).double(), torch.ones(2), out=torch.empty(2)).dtype
""")
def test_dtypes_and_places(line):
    alike(line)


@cases("""
torch.linalg.lu_solve(torch.eye(2), torch.ones(2, dtype=torch.int32), torch.ones(2, 1).double())
torch.linalg.lu_solve(torch.eye(2).long(), torch.ones(2, dtype=torch.int32), torch.ones(2, 1).long())
torch.linalg.lu_solve(torch.eye(2).expand(3, 2, 2), torch.ones(2, dtype=torch.int32), torch.ones(3, 2, 1))
torch.lu_unpack(torch.ones(2, 2), torch.zeros(2, dtype=torch.int32))
torch.lu_unpack(torch.ones(2, 2), torch.full((2,), 5, dtype=torch.int32))
torch.lu_unpack(torch.ones(2), torch.ones(2, dtype=torch.int32))
torch.linalg.ldl_solve(torch.eye(2), torch.ones(2).int(), torch.ones(2, 1), out=torch.ones(2, 1).double())
torch.linalg.lstsq(torch.ones(3, 3), torch.ones(1, 3, 3))
torch.linalg.lstsq(torch.ones(3, 3), torch.ones(4))
torch.linalg.pinv(torch.eye(2), rtol=torch.tensor(1e-3, requires_grad=True))
torch.linalg.tensorinv(torch.tensor(2.), ind=3)
torch.linalg.vector_norm(torch.ones(3).double(), dtype=torch.float32)
torch.linalg.vector_norm(torch.ones(3).half(), dtype=torch.bfloat16)
torch.linalg.matrix_norm(torch.ones(3, 3).double(), 'nuc', dtype=torch.float32)
torch.norm(torch.ones(3).double(), 3, 0, dtype=torch.float32)
torch.linalg.householder_product(torch.ones(3, 2).half(), torch.ones(2).half())
torch.lu_solve(torch.ones(2, 1), torch.eye(2), torch.ones(2).int(), out=torch.ones(2, 1).double())
torch.cholesky_inverse(torch.zeros(2, 2))
torch.cholesky_inverse(torch.eye(2).repeat(3, 1, 1) * torch.tensor([1., 0., 1.]).view(3, 1, 1))
""")
def test_matrices(line):
    alike(line)


@cases("""
F.conv_transpose1d(torch.ones(1, 4, 4), torch.ones(4, 0, 3))
F.conv_transpose2d(torch.ones(4, 4, 4), torch.ones(4, 0, 3, 3))
F.conv_transpose3d(torch.ones(1, 4, 4, 4, 4), torch.ones(4, 0, 3, 3, 3))
F.adaptive_avg_pool2d(torch.ones(1, 2, 4, 4), (5, None, 5))
F.adaptive_avg_pool2d(torch.ones(1, 2, 4, 4), (5,))
F.adaptive_max_pool2d(torch.ones(1, 2, 4, 4), (1,))
F.conv_transpose2d(torch.ones(1, 1, 2, 0), torch.ones(1, 1, 2, 2))
F.conv1d(torch.ones(1, 1, 0), torch.ones(1, 1, 2), padding=2)
F.conv3d(torch.ones(1, 1, 2, 2, 0), torch.ones(1, 1, 2, 2, 2), padding=2)
F.unfold(torch.ones(1, 1, 5, 5), (2,))
F.fold(torch.ones(1, 4, 9), (4, 4), 2, (1,))
F.linear_cross_entropy(torch.ones(4, 3), torch.ones(2, 3), torch.ones(4).long(), linear_bias=torch.tensor(1.))
F.multi_margin_loss(torch.ones(2, 3), torch.tensor([0, 1]).int())
F.multilabel_margin_loss(torch.ones(2, 3), torch.zeros(2, 3).int())
F.multilabel_margin_loss(torch.ones(2, 3).half(), torch.zeros(2, 3).long())
F.huber_loss(torch.ones(2), torch.ones(2), delta=math.nan)
F.smooth_l1_loss(torch.ones(2), torch.ones(2), beta=math.nan)
F.embedding_bag(torch.tensor([0, 1]), torch.ones(5, 5), torch.tensor([0])[:0], include_last_offset=True)
F.rrelu(torch.ones(3).long(), training=True)
F.rrelu(torch.ones(3).half(), training=True)
F.rrelu(torch.ones(3), 0., math.inf)
F.rrelu(torch.ones(3), math.nan, 1., training=True)
F.batch_norm(torch.ones(3), torch.ones(3), torch.ones(3))
F.batch_norm(torch.tensor(3.), torch.ones(1), torch.ones(1))
F.batch_norm(torch.ones(2, 1), torch.ones(1), torch.tensor(1.))
F.batch_norm(torch.ones(2, 3), torch.ones(3, 1), torch.ones(3, 1), training=True)
F.batch_norm(torch.ones(2, 3), torch.ones(3), None, training=True)
F.batch_norm(torch.ones(2, 3), None, torch.ones(3), training=True)
F.instance_norm(torch.ones(2, 3, 4), torch.ones(3), None)
torch.batch_norm(torch.ones(3), torch.ones(3), None, None, None, True, .1, 1e-5, False)
torch.native_batch_norm(torch.ones(3), None, None, torch.ones(3), torch.ones(3), False, .1, 1e-5)
""")
def test_layers(line):
    alike(line)


@cases("""
x = torch.ones(2, requires_grad=True); y = torch.normal(x, 1.); type(y.grad_fn).__name__, torch.autograd.grad(
    y.sum(), x)
x = torch.ones(2, requires_grad=True); y = torch.normal(1., x); type(y.grad_fn).__name__, torch.autograd.grad(
    y.sum(), x)
x = torch.ones(3, 2, requires_grad=True); y = torch.normal(x[0], x); type(y.grad_fn).__name__, torch.autograd.grad(
    y.sum(), x)
torch.hash_tensor(torch.ones(2, requires_grad=True))
""")
def test_gradients_of_random_numbers(line):
    alike(line)


@cases("""
torch.zeros(2, True)
torch.zeros((2, True))
torch.zeros((True, 2))
torch.zeros(True, 2)
F.pad(torch.ones(1, 3), (0, True))
torch.ones(2, 2).sum((0, True))
torch.ones(4).reshape(2, True, 2)
torch.logspace(4.3, -3, 1, 5., dtype=torch.int64)
x = torch.zeros(1, requires_grad=True); F.binary_cross_entropy(x, torch.ones(1)).backward(); x.grad
torch.autograd.gradcheck(lambda a: a.argmax(), torch.ones(3, dtype=torch.float64, requires_grad=True))
torch.autograd.gradcheck(lambda a: (a * 2).detach(), torch.ones(3, dtype=torch.float64, requires_grad=True))
torch.func.stack_module_state([])
torch.norm_except_dim(torch.arange(3.))
torch.norm_except_dim(torch.arange(24.).reshape(2, 3, 4), 2, 1)
m = nn.utils.weight_norm(nn.Linear(2, 3), "bias"); m(torch.ones(1, 2)), m.bias_g.shape
F.hardtanh_(torch.ones(2), 2.)
F.hardtanh(torch.ones(2), math.nan, 1.)
""")
def test_taken(line):
    """What PyTorch takes, and what differed beside the refusals."""
    alike(line)


@cases("""
F.threshold(torch.ones(2, dtype=torch.uint8), 1.95, -7.3)
F.threshold(torch.ones(2, dtype=torch.uint8), 0, -1)
F.threshold(torch.ones(2, dtype=torch.int64), math.inf, 7)
F.threshold(torch.ones(2), 1j, 1.)
F.threshold(torch.ones(2), 0., math.inf)
F.hardtanh(torch.ones(2, dtype=torch.int8), -300, 300)
F.hardtanh(torch.ones(2).half(), -1e6, 1e6)
F.leaky_relu(torch.ones(2), 1e300)
F.leaky_relu(torch.ones(2).half(), 1e6)
F.elu(torch.ones(2), 1j)
F.softshrink(torch.ones(2), 1e300)
F.softplus(torch.ones(2), 1., 1e300)
torch.ones(2, dtype=torch.int8).add(1, alpha=300)
torch.ones(2, dtype=torch.uint8).sub(1, alpha=300)
torch.ones(2, dtype=torch.uint8).add(1, alpha=-1)
torch.ones(2).add(1, alpha=1e300)
torch.ones(2).half().add(1, alpha=1e6)
torch.ones(2).add(1, alpha=math.inf)
torch.addmm(torch.ones(2, 2), torch.ones(2, 2), torch.ones(2, 2), beta=1e300)
torch.addmm(torch.ones(2, 2).half(), torch.ones(2, 2).half(), torch.ones(2, 2).half(), alpha=1e6)
torch.addmv(torch.ones(2).half(), torch.ones(2, 2).half(), torch.ones(2).half(), alpha=1e6)
torch.addr(torch.ones(2, 2), torch.ones(2), torch.ones(2), alpha=1e300)
torch.addcmul(torch.ones(2), torch.ones(2), torch.ones(2), value=1e300)
torch.addcdiv(torch.ones(2).half(), torch.ones(2).half(), torch.ones(2).half(), value=1e6)
torch.lerp(torch.ones(2), torch.ones(2), 1e300)
torch.clamp(torch.ones(2), -1e300, 1e300)
torch.clamp(torch.ones(2), -math.inf, math.inf)
torch.clamp(torch.ones(2).int(), -2**40, 2**40)
torch.where(torch.tensor([True]), torch.ones(1), 1e300)
torch.where(torch.tensor([True]), torch.ones(1).half(), 1e6)
torch.ones(2, dtype=torch.int64).index_add(0, torch.tensor([0]), torch.ones(1, dtype=torch.int64), alpha=math.inf)
torch.pow(torch.ones(2), 1e300)
torch.linalg.vector_norm(torch.tensor([-4.8]), 9e19)
""")
def test_numbers_beyond_the_dtype(line):
    alike(line)


@cases("""
torch.ones(3).add(2**63)
torch.ones(3) * (2**64 - 1)
torch.ones(3) / (2**64 - 1)
torch.ones(3).long() & (2**64 - 1)
torch.ones(3).long() == 2**63
torch.tensor([2.**63]) == 2**63
torch.ones(3).half() + 2**63
torch.ones(3).long().clamp(2**63)
torch.ones(3).clamp(2**63)
torch.ones(3).cumsum(2**63)
F.conv2d(torch.ones(1, 1, 2, 2), torch.ones(1, 1, 1, 1), stride=2**63)
""")
def test_numbers_beyond_int64(line):
    alike(line)
