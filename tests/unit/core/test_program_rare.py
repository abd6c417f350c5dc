"""What random programs found in places that few of them reach: NaN beside what is left out, ties, out= that grows,
the layout of gradients that have gradients."""

from alike import alike, cases

X = "x = torch.linspace(.1, .9, 6, dtype=torch.float64).reshape(3, 2).requires_grad_(); "


@cases("""
[torch.kthvalue(torch.ones(n), k)[1] for n in range(1, 9) for k in range(1, n + 1)]
a = torch.tensor([1, 2, 1, 1, 2, 2, nan, 1, nan, 2]); [a[:n].kthvalue(k + 1)[1] for n in (3, 8, 10) for k in range(n)]
[torch.kthvalue((torch.arange(40, dtype=torch.float64) ** 2 % 7).reshape(20, 2), k, 0)[1] for k in (1, 5, 10, 20)]
[torch.tensor(v).kthvalue(1, 0, True) for v in (1 + 2j, True, 3)]
[torch.tensor(v).mode(0) for v in (1 + 2j, True, 3)]
torch.zeros(0, 3, dtype=torch.complex64).mode(1)
torch.ones(1, dtype=torch.complex64).mode(0)
torch.ones(1, dtype=torch.bool).kthvalue(1)
""")
def test_kthvalue_and_mode(line):
    """Which of equal numbers is named; one number needs no order."""
    alike("nan = math.nan; " + line)


@cases("""
torch.grid_sampler(n, torch.full((1, 1, 2, 2), 5.), 0, 0, False)
torch.grid_sampler(n, torch.full((1, 1, 2, 2), 5.), 1, 0, True)
torch.grid_sampler(n, torch.full((1, 1, 2, 2), 5.), 2, 0, False)
torch.grid_sampler(n.unsqueeze(2), torch.full((1, 1, 2, 2, 3), 5.), 0, 0, False)
torch.conv_tbc(torch.ones(2, 1, 3), torch.full((2, 3, 4), math.nan), torch.zeros(4), 2)
torch.ops.aten.elu_backward(torch.ones(9), 1.3, .9, .8, False, torch.full((9,), math.nan))
torch.ops.aten.elu_backward(torch.ones(1).double(), 1.3, .9, .8, True, torch.full((1,), math.nan).double())
x = torch.tensor([math.nan, 1, 2]).requires_grad_(); torch.autograd.grad(x.amax(0), x)
x = torch.tensor([[math.nan, 1], [2, 3]]).requires_grad_(); torch.autograd.grad(x.amin(1).sum(), x)
""")
def test_nan(line):
    alike("n = torch.full((1, 1, 2, 2), math.nan); " + line)


@cases("""
torch.cumsum(torch.ones(()), 0, out=o)
torch.cumsum(torch.ones(3), 0, out=o)
torch.index_copy(torch.ones(3, 4), 0, torch.tensor([1]), torch.ones(1, 4), out=o)
torch.renorm(torch.ones(2, 4), 2, 0, 1, out=o)
torch.add(torch.ones(3, 4), 1, out=o)
torch.fft.fftfreq(4, out=o)
torch.arange(4, out=o)
torch.arange(3, out=o)
torch.zeros(4, out=o)
""")
def test_out_of_one_element(line):
    """An out= whose elements lie at one place is refused, unless it gets another shape first."""
    alike("o = torch.ones(()).expand(3); " + line)


@cases("""
torch.arange(6, out=y)
torch.zeros(3, 2, out=y)
torch.linspace(0, 1, 6, out=y)
torch.fft.rfftfreq(10, out=y)
torch.eye(2, out=y)
""")
def test_factory_into_what_has_a_history(line):
    for y in ("y = x * 1", "y = x", "y = (x * 1).split(1)[1]"):
        alike(
            X + y + f"; torch.set_grad_enabled(False); r = {line}; torch.set_grad_enabled(True); (y.requires_grad, y)"
        )


@cases("""
torch.autograd.grad(torch.tensor([[3], [5], [2]]) ** x, x, x.detach())
torch.autograd.grad(x.cumprod(0)[:1].sum(), x)
z = x[:1] * 1; g, = torch.autograd.grad(z.cumprod(0).sum(), z, create_graph=True); g
z = x[:1] * 1; g, = torch.autograd.grad(z.cumsum(0).sum(), z); g
y = x.squeeze(1); g, = torch.autograd.grad(y, x, y); g is y
torch.linalg.lu(torch.ones(3, 2).requires_grad_())
torch.linalg.lu(torch.ones(2, 4, 3).requires_grad_())
""")
def test_gradients(line):
    alike(X + line)


@cases("""
torch.native_group_norm(x, w[:1].reshape(()), None, 2, 4, 3, 2, 1e-5)
torch.native_group_norm(x, w[:3], None, 2, 4, 3, 2, 1e-5)
""")
def test_group_norm(line):
    alike("x = torch.arange(24.).reshape(2, 4, 3).sin(); w = torch.ones(4).requires_grad_(); " + line)


@cases("""
torch.autograd.grad(torch.igamma(a, b), b)
y = torch.igamma(a, b); y.backward(inputs=[b]); (a.grad, b.grad)
torch.autograd.grad(torch.igamma(a, b), a)
torch.autograd.grad(torch.igammac(a * 1, b * 2), b)
z = b * 2; torch.autograd.grad(torch.igammac(a * 1, z), z)
torch.autograd.grad(torch.special.zeta(a, b), b)
torch.igamma(a, b).backward()
y = a.reshape(1) * 1; z = y.view(1); z.igamma_(b); torch.autograd.grad(z.sum(), b)
y = a.reshape(1) * 1; z = y.view(1); z.igamma_(b); torch.autograd.grad(z.sum(), a)
""")
def test_an_argument_without_a_derivative(line):
    """It is an error only where its gradient is asked for."""
    alike("a = torch.tensor(1.5).requires_grad_(); b = torch.tensor(2.5).requires_grad_(); " + line)


def test_power_of_an_integer():
    """The logarithm of the base has the precision of the result."""
    import torch

    import torchlite

    got, want = (
        [
            m.autograd.grad(m.tensor(base) ** e, e)[0].item()
            for base in (2, 3, 5)
            for e in [m.tensor(1.5, dtype=m.float64, requires_grad=True)]
        ]
        for m in (torchlite, torch)
    )
    assert all(abs(a - b) < 1e-13 * b for a, b in zip(got, want))


@cases("""
a.logit()
a.logit(.2)
a.atanh()
torch.logaddexp(a, b)
torch.logaddexp2(a, b)
torch.copysign(a, b)
torch.nextafter(a, b)
torch.xlogy(a, 2)
torch.xlogy(a, -2)
torch.xlogy(a, b)
(a + 1j * b).sgn().real
(a + 1j * b).abs()
""")
def test_layout_of_gradients(line):
    for a, b in (("p", "q"), ("q", "p")):
        for loss in ("r.sum()", "r.exp().sum()"):
            alike(
                "p = torch.linspace(.1, .9, 4, dtype=torch.float64).reshape(2, 2).t().requires_grad_(); "
                "q = torch.linspace(.2, .8, 4, dtype=torch.float64).reshape(2, 2).requires_grad_(); "
                f"a, b = {a}, {b}; r = {line}; "
                f"torch.autograd.grad({loss}, [a, b], create_graph=True, allow_unused=True)"
            )


def test_layout_of_the_gradient_of_layer_norm():
    alike(
        X + "y = F.layer_norm(x, (2,), torch.tensor([1., 3]).double()).t(); "
        "torch.autograd.grad((y * torch.arange(6.).reshape(2, 3)).sum(), x, create_graph=True)[0].stride()"
    )


@cases("""
3, 4
6, 6
5, 9
9, 5
""")
def test_singular_values_of_repeated_columns(line):
    """Columns that depend on others leave rounding errors, which never become orthogonal."""
    alike(
        f"m, n = {line}; a = torch.arange(m * ((n + 1) // 2), dtype=torch.float64).sin().reshape(m, -1); "
        "a = torch.cat([a, a], 1)[:, :n]; u, s, v = torch.linalg.svd(a, False); "
        "r = int((s > 1e-10).sum()); [torch.linalg.svdvals(a)[:r], ((u * s) @ v - a).abs().max() < 1e-12, "
        "(u.mT @ u - torch.eye(u.shape[1])).abs().max() < 1e-12]"
    )


@cases("""
[1, inf, 3, 0]; x.cumprod(0)
[1, 0, inf, 0]; x.cumprod(0)
[inf, 0, 2, nan]; x.cumprod(0)
[0, 2, nan, 0]; x.cumprod(0)
[[1, nan, 0], [2, 0, inf], [0, 0, 0]]; x.cumprod(1)
[[1, nan, 0], [2, 0, inf], [0, 0, 0]]; x.cumprod(0)
[1 + 2j, 2, 0, 2j, 0]; x.cumprod(0).real
[[1, nan], [.2, 3], [0, 0], [.1, .2]]; x.renorm(2, 0, 1.)
[[1, nan], [.2, inf], [.1, .2]]; x.renorm(1, 0, .5)
[[1, nan], [.2, 3], [0, 0]]; x.renorm(inf, 0, .5)
[[1, nan], [.2, 3], [0, 0]]; x.renorm(.5, 1, 0)
[[1 + 1j, nan], [.2, 3j]]; x.renorm(2, 0, 1.).abs()
[-inf, -inf]; x.logsumexp(0)
[[-inf, -inf], [-inf, 1], [inf, 1], [nan, 1]]; x.logsumexp(1, True)
""")
def test_gradients_beside_what_is_not_finite(line):
    """A factor that does not matter leaves the other gradients as they are."""
    values, _, call = line.partition("; ")
    x = f"inf, nan = math.inf, math.nan; x = torch.tensor({values}); "
    x += "x = x.to(torch.promote_types(x.dtype, torch.float64)).requires_grad_(); "
    alike(x + f"y = {call}; torch.autograd.grad(y, x, torch.linspace(1, 2, y.numel(), dtype=y.dtype).reshape(y.shape))")


@cases("""
t = torch.arange(6.) > 1; t[1:].masked_fill_(t[:-1], False)
t = torch.arange(6.) > 1; t.masked_fill_(t, False)
t = torch.arange(6.) > 1; t[::2].masked_fill_(t[1::2], False)
t = torch.arange(6.) > 1; t[1:][t[:5]] = False
t = torch.ones(2, 2) > 0; t[t.t()] = False
t = torch.ones(2, 2) > 0; t[t] = False
t = torch.ones(2, 2) > 0; t[t[0]] = False
t = torch.ones(2, 2) > 0; t[t[0] | False] = False
t = torch.ones(1).expand(1, 2, 1, 1).triu_()
t = torch.ones(1, 2, 2, 2).expand(2, 2, 2, 2).triu_()
t = torch.ones(2, 1, 2, 2).expand(2, 2, 2, 2).tril_()
""")
def test_written_where_it_is_read(line):
    """The element that is written lies in the mask too, or in the tensor several times."""
    alike(line + "; t")


@cases("""
s = t.conj().unsafe_split(2)
s = t.conj().imag.unsafe_split_with_sizes([1, 3])
s = t.conj().unsafe_chunk(2)
s = t.unsafe_split(2)
""")
def test_unsafe_split_of_a_conjugate_copies(line):
    alike("t = torch.arange(4) + 1j; " + line + "; t.zero_(); [list(s), s[0].is_conj(), s[0].is_neg()]")


@cases("""
F.glu(torch.ones(4), out=torch.ones(2))
F.glu(torch.tensor(1.))
F.glu(torch.ones(3))
F.glu(input=torch.ones(2, 4), dim=0)
""")
def test_glu(line):
    alike(line)
