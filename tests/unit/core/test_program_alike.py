"""What random programs found, line by line beside PyTorch:
memory shared with what is written, writes to a whole tensor, out= of overloads that have none, a second backward pass,
results that are no views."""

from alike import alike, cases

A = (
    "a = torch.arange(6.).reshape(2, 3); i = torch.tensor([0, 1]); m = torch.tensor([[True, False, "
    "True], [False, True, True]]); "
)
X = "x = torch.linspace(.1, .9, 6, dtype=torch.float64).reshape(3, 2).requires_grad_(); "


@cases("""
a.put_(i, a.reshape(-1)[:2])
a.index_add_(0, i, a)
a.index_add_(0, i, a.flip(0))
a.index_copy_(0, i, a)
a.index_put_((i,), a[0])
a.index_put_((i,), a[0], accumulate=True)
a.index_put_((m,), a[0, 0])
a[i] = a
a[m] = a[1, 2]; a
a[m] = a[m]; a
a.scatter_(0, m.long(), a)
a.scatter_(0, m.long(), a[:, :2])
a.scatter_add_(0, m.long(), a)
a.scatter_reduce_(0, m.long(), a, "sum")
a.index_reduce_(0, i, a, "prod")
b = i.clone(); b.index_copy_(0, b, i)
""")
def test_memory_shared_with_what_is_written(line):
    alike(A + line)


@cases("""
t[:] = 2
t[0:3] = 2
t[0:9, ::1] = x
t[...] = 2
t[-3:] = 2
t[0:3, None] = 2
t[1:] = 2
""")
def test_write_to_a_whole_tensor(line):
    """A slice of everything is the tensor itself: not a view of it, for errors and for the graph."""
    for t in ("t = x * 1", "t = x", "t, = (x * 1).split(3)"):
        alike(
            X
            + t
            + "; "
            + line
            + "; [t, 'Slices' in t.grad_fn.name(), torch.autograd.grad(t.sum(), x, allow_unused=True)]"
        )


@cases("""
(x.detach()[:].grad_fn, x[:].grad_fn.name(), x[...].grad_fn.name(), x[:, :].grad_fn.name())
torch.ops.aten.unfold(x, 0, 2, 1)
torch.median(x.detach(), out=torch.zeros((), dtype=torch.float64))
torch.sum(x.detach(), out=torch.zeros((), dtype=torch.float64))
torch.prod(x.detach(), out=torch.zeros((), dtype=torch.float64))
torch.fft.rfftfreq(6, out=torch.zeros(4, 1))
torch.fft.fftfreq(5, out=torch.zeros(4, 1))
F.cosine_similarity(x + 0j, x + 0j)
torch.zeros(3, dtype=torch.complex64) ** torch.zeros(3)
(torch.zeros(3, dtype=torch.complex64) ** 0, 0j ** torch.zeros(3, dtype=torch.complex64), torch.ones(2) ** 0j)
torch.autograd.grad(((x - .5) ** (x + 1j).requires_grad_()).real.sum(), x)
e = torch.tensor([1 + 2j]).requires_grad_(); torch.autograd.grad((torch.tensor([-1.5]) ** e).real.sum(), e)
""")
def test_line_prints_as_in_pytorch(line):
    alike(X + line)


@cases("""
nan, .5
.5, nan
1, nan, nan, 1, 2
2, nan, 1, 2, nan
5, nan, 3, nan, 3
2, 1, nan, 0, 0, nan, 2
nan, nan
3, 1, nan, 1, 3, 1
""")
def test_mode_among_nan(line):
    alike(f"tuple(torch.tensor([{line}]".replace("nan", "math.nan") + ").mode())")


@cases("""
x * 2
x / 3
2 / x
x % 2
x % torch.ones(2)
x.fmod(torch.ones(2))
x + 2
torch.trapezoid(x, dx=3)
torch.cumulative_trapezoid(x, dx=2)
F.pad(x, (1, 1), "circular")
F.pad(x[None], (1, 1), "reflect")
F.pad(x[None], (1, 0), "replicate")
F.avg_pool1d(x[None], 2)
F.affine_grid(x.reshape(1, 2, 3), (1, 1, 2, 2), align_corners=True)
torch.fft.rfft(x).real
x.sum(0)
""")
def test_second_backward(line):
    """What PyTorch saves a tensor for raises the second time; what it needs sizes and numbers for does not."""
    alike(X + f"y = {line}; g = [torch.autograd.grad(y.sum(), x)]; g.append(torch.autograd.grad(y.sum(), x)); g")


@cases("""
x.t().flatten()
x.t().reshape(6)
torch.bartlett_window(6, False)
torch.hann_window(6)
torch.quantile(x, .3)
torch.rot90(x)
torch.kron(x, x)
torch.conv_tbc(torch.ones(5, 2, 3), torch.ones(2, 3, 4), torch.ones(4))
F.affine_grid(torch.ones(1, 2, 3), (1, 1, 2, 2), align_corners=True)
x.flatten()
x.view(6)
""")
def test_result_is_a_view_or_not(line):
    alike(X + f"x = x.detach(); y = {line}; y._is_view(), y.detach_() is y")


@cases("""
torch.mean(x + 1j, 0, out=torch.zeros(2))
torch.mean(x, 0, out=torch.zeros(2, dtype=torch.complex64))
torch.mean(x, 0, dtype=torch.float32, out=torch.zeros(2, dtype=torch.float64))
torch.mean(x.long(), 0, out=torch.zeros(2))
torch.mean(x, out=torch.zeros((), dtype=torch.int64))
torch.linalg.vecdot(x, x, out=torch.zeros(3))
torch.linalg.matrix_power(x[:2], 2, out=torch.zeros(2, 2))
torch.abs(x, out=torch.zeros(3, 2))
torch.abs(x + 0j, out=torch.zeros(3, 2))
torch.abs(x + 0j, out=torch.zeros(3, 2, dtype=torch.complex64))
torch.lerp(x, x, x, out=torch.zeros(3, 2))
torch.frexp(x, out=(torch.zeros(3, 2), torch.zeros(3, 2, dtype=torch.int32)))
torch.narrow_copy(x, 0, 0, 1, out=torch.zeros(1, 2))
torch.clamp(x, x, x, out=torch.zeros(3, 2))
torch.clamp(x, 0, 1, out=torch.zeros(3, 2))
torch.inner(x, x[0, 0], out=torch.zeros(3, 2))
torch.fft.ifft(x, out=torch.zeros(3, 2, dtype=torch.complex64))
torch._C._nn.avg_pool2d(x[None], 2, out=torch.zeros(1, 2, 1))
""")
def test_dtype_of_out(line):
    alike(X + "x = x.detach(); " + line)


@cases("""
torch.arange(3, out=t)
torch.zeros(3, out=t)
torch.linspace(0, 1, 3, out=t)
torch.fft.fftfreq(3, out=t)
torch.add(t, 1, out=t)
""")
def test_out_that_requires_grad(line):
    """A factory writes its own requires_grad=False to out."""
    alike(
        "t = torch.zeros(3, requires_grad=True); torch.set_grad_enabled(False); r = "
        + line
        + "; torch.set_grad_enabled(True); [r, t.requires_grad]"
    )


@cases("""
copysign
atan2
fmod
remainder
floor_divide
hypot
lt
xlogy
maximum
fmax
logaddexp2
heaviside
igamma
""")
def test_shapes_are_looked_at_before_dtypes(line):
    """But by what refuses complex numbers outright."""
    alike(f"torch.{line}(torch.ones(3, dtype=torch.complex64), torch.ones(2))")


@cases("""
x = torch.ones(3); x.conj_physical_(); x._version
x = torch.ones(3, dtype=torch.complex64); x.conj_physical_(); x._version
x = torch.ones(14); x.reshape(7, 2).fill_diagonal_(-1, True); x._version
x = torch.ones(14); x.reshape(2, 7).fill_diagonal_(-1, True); x._version
M = torch.ones(3, 3); M.addr_(M[0], M[1])
M = torch.ones(3, 3); M.addr_(M.diagonal(), M[1]); M
A = torch.tensor([[2., 2], [0, 3]]); torch.linalg.solve_triangular(A.double(), A + 1, upper=True)
A = torch.tensor([[2., 2], [0, 3]]); torch.linalg.solve_triangular(A, A + 2j, upper=True)
A = torch.tensor([[2., 2], [0, 3]]); torch.triangular_solve(A, A.double())
A = torch.tensor([[2., 2], [0, 3]]); torch.cholesky_solve(A, A.double())
A = torch.tensor([[2, 2], [0, 3]]); torch.triangular_solve(A, A)
A = torch.tensor([[2., 2], [0, 3]]).requires_grad_();
    torch.autograd.grad(torch.linalg.slogdet(A)[0], A, allow_unused=True)
A = torch.tensor([[2., 2], [1j, 3]]).requires_grad_();
    torch.autograd.grad(torch.linalg.slogdet(A)[0].imag, A, allow_unused=True)
torch.lerp(torch.ones(2), torch.ones(2) + 1, torch.tensor(.5).double())
torch.lerp(torch.ones(2) + 0j, torch.ones(2) + 1j, torch.tensor(.5))
torch.lerp(torch.ones(2), torch.ones(2), torch.tensor([.5]).double())
z = torch.tensor([.3 + .4j]).requires_grad_(); torch.autograd.grad(torch.logaddexp(torch.tensor([.5]), z).real, z)
z = torch.tensor([.3 + .4j]).requires_grad_(); torch.autograd.grad(torch.logaddexp(z, torch.tensor([.5])).real, z)
torch.tensor([1 + 2j, 3, -1j]).angle(), torch.tensor([1 + 2j, 3]).conj().angle()
a = torch.ones(1, 2).requires_grad_(); b = (torch.ones(2, 1) + 1j).requires_grad_();
    torch.autograd.grad(torch.block_diag(a, b).sin().imag.sum(), [a, b])
a = torch.ones(2).requires_grad_(); b = torch.ones(2, 1).double().requires_grad_();
    torch.autograd.grad(torch.block_diag(a, b).sin().sum(), [a, b])
F.kl_div(torch.ones(2), torch.ones(2) + 0j, log_target=True)
F.huber_loss(torch.ones(2), torch.zeros(2).double(), reduction="none")
F.binary_cross_entropy_with_logits(torch.ones(2).double(), torch.ones(2))
F.binary_cross_entropy_with_logits(torch.ones(2), torch.ones(2).long())
y = torch.linalg.solve(torch.eye(2), torch.ones(2)); y._is_view()
y = F.bilinear(torch.ones(2, 3), torch.ones(2, 3), torch.ones(1, 3, 3), torch.ones(1)); y._is_view()
""")
def test_more_lines(line):
    alike(line)


@cases("""
F.l1_loss(y, z)
F.l1_loss(y, z, reduction="none")
torch.linalg.inv(y)
torch.linalg.inv_ex(y)[0]
y.erfinv()
y.ldexp(z)
z.ldexp(y)
F.mse_loss(y, z)
y.asin()
""")
def test_what_is_overwritten_before_the_backward_pass(line):
    """What a gradient needs of its arguments is PyTorch's: the others may be changed."""
    for which in ("y", "z", "r"):
        alike(
            "x = torch.tensor([[.5, .1], [.2, .4]], dtype=torch.float64, requires_grad=True); y = x * 1; "
            "z = x + .1; r = " + line + f"; s = r.sum(); {which}.detach().zero_(); torch.autograd.grad(s, x)"
        )


@cases("""
[x, y]
[y]
[y, z]
[z]
""")
def test_hooks_of_inputs_of_grad(line):
    """A hook doubles the gradient that is asked for only where the pass ends there."""
    alike(
        "x = torch.ones(2, requires_grad=True); y = x * 1; z = y + 3; [t.register_hook(lambda g: "
        f"g * 2) for t in (x, y, z)]; [torch.autograd.grad(z, {line}, torch.ones(2), retain_graph=True), "
        f"torch.autograd.grad(z.sum(), {line})]"
    )
