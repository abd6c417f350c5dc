"""Types that a function refuses, and types of results of mixed arguments: as PyTorch."""

from alike import alike, cases


@cases("""
F.huber_loss(torch.ones(3), torch.zeros(3, dtype=torch.float64))
F.huber_loss(torch.ones(3, dtype=torch.half), torch.zeros(3))
F.huber_loss(torch.ones(3, dtype=torch.long), torch.zeros(3))
F.huber_loss(torch.ones(3), torch.zeros(3, dtype=torch.long))
F.smooth_l1_loss(torch.ones(3), torch.zeros(3, dtype=torch.float64))
F.smooth_l1_loss(torch.ones(3, dtype=torch.long), torch.zeros(3))
F.mse_loss(torch.ones(3), torch.zeros(3, dtype=torch.float64))
F.l1_loss(torch.ones(3, dtype=torch.half), torch.zeros(3, dtype=torch.long))
F.binary_cross_entropy(torch.ones(3), torch.zeros(3, dtype=torch.float64))
F.binary_cross_entropy_with_logits(torch.ones(3), torch.zeros(3, dtype=torch.float64))
F.binary_cross_entropy_with_logits(torch.ones(3), torch.zeros(3, dtype=torch.long))
F.kl_div(torch.ones(3), torch.ones(3, dtype=torch.float64))
F.kl_div(torch.ones(3).long(), torch.ones(3))
F.kl_div(torch.ones(3), torch.ones(3) * 1j)
F.soft_margin_loss(torch.ones(3), torch.ones(3, dtype=torch.float64))
F.soft_margin_loss(torch.ones(3), torch.ones(3, dtype=torch.long))
x = torch.ones(3, requires_grad=True); F.soft_margin_loss(x, torch.ones(3, dtype=torch.double)).backward(); x.grad
F.margin_ranking_loss(torch.ones(3).long(), torch.ones(3).long(), torch.ones(3).long())
F.margin_ranking_loss(torch.ones(3), torch.ones(3), torch.ones(3, dtype=torch.float64))
F.multi_margin_loss(torch.ones(3, 2, dtype=torch.half), torch.tensor([0, 1, 0]))
F.cosine_similarity(torch.ones(2, 2) * 1j, torch.ones(2, 2) * 1j)
F.cosine_similarity(torch.ones(3, 2), torch.ones(3, 2, dtype=torch.float64))
F.glu(torch.ones(4).long())
F.glu(torch.ones(4) * 1j)
F.max_unpool2d(torch.ones(1, 1, 1, 1).long(), torch.zeros(1, 1, 1, 1).long(), 2)
F.grid_sample(torch.ones(1, 1, 2, 2).long(), torch.ones(1, 2, 2, 2).long(), align_corners=False)
F.grid_sample(torch.ones(1, 1, 2, 2, 2).long(), torch.ones(1, 2, 2, 2, 3).long(), align_corners=False)
F.fold(torch.ones(1, 4, 1).long(), (2, 2), 2)
torch.trace(torch.ones(2, 2).bool())
torch.cholesky_solve(torch.ones(2, 2).long(), torch.ones(2, 2).long())
torch.cholesky_inverse(torch.ones(2, 2).long())
torch.triangular_solve(torch.ones(2, 2).half(), torch.ones(2, 2).half())
torch.isin(torch.ones(2) * 1j, torch.ones(2) * 1j)
torch.isin(torch.tensor([True]), torch.tensor([True]))
(torch.ones(2) * 1j).abs_()
(torch.ones(2) * 1j).absolute_()
-torch.ones(2).abs_()
""")
def test_dtypes_that_an_op_refuses(line):
    alike(line)


@cases("""
torch.linspace(0, 1j, 3, dtype=torch.float32)
torch.logspace(0, 1j, 3, dtype=torch.float32)
torch.linspace(1e300j, 0, 3, dtype=torch.complex64)
torch.linspace(0, 1e300, 3, dtype=torch.complex64)
torch.logspace(0, 1e300j, 3, dtype=torch.complex64)
torch.linspace(1 + 1j, 3, 3)
torch.ops.aten.unfold(torch.arange(6.), 0, 2, 2)
torch.ops.aten.im2col(torch.arange(16.).reshape(1, 1, 4, 4), [2, 2], [1, 1], [0, 0], [2, 2])
torch.ops.aten.expand(torch.ones(1), (2, 2))
torch.stft(torch.ones(16), 4, return_complex=True, window=torch.ones(4)).detach_().shape
x = torch.ones(2, 3); x.set_(torch.ones(3, dtype=torch.float64))
x = torch.ones(2, 3); x.set_(torch.ones(3, dtype=torch.complex64))
x = torch.ones(2, 3, dtype=torch.uint8); x.set_(torch.ones(3, dtype=torch.bfloat16))
x = torch.ones(2); x.set_(torch.ones(2, dtype=torch.float64).storage())
x = torch.ones(2); x.set_(torch.ones(2, dtype=torch.float64).untyped_storage()); x.shape
torch.ones(3).resize_()
torch.asarray(np.float32(3), copy=False)
torch.asarray(np.ones(3), copy=False)
""")
def test_arguments(line):
    alike(line)
