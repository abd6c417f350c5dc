"""Mistakes that programs make: PyTorch's error and text, where a number or nothing would come of it otherwise."""

from alike import alike, cases


@cases("""
F.cross_entropy(torch.ones(4, 5), torch.ones(4, 1))
F.nll_loss(torch.ones(4, 5, 2, 2), torch.ones(4, 2).int())
F.nll_loss(torch.ones(4, 5), torch.ones(3))
pow(torch.tensor(2), 3, 4)
pow(2, torch.tensor(2), 3)
torch.tensor(2).__pow__(3, 4)
F.binary_cross_entropy(torch.tensor([.5]), torch.tensor([2.]))
F.binary_cross_entropy(torch.tensor([.5]), torch.tensor([-1.]))
F.binary_cross_entropy(torch.tensor([.5]), torch.tensor([math.nan]))
F.binary_cross_entropy(torch.tensor([2.]), torch.tensor([2.]))
F.conv2d(torch.ones(1, 3, 5, 5), torch.ones(4, 3, 0, 2))
F.conv1d(torch.ones(1, 3, 5), torch.ones(4, 3, 0))
F.conv3d(torch.ones(1, 3, 5, 5, 5), torch.ones(4, 3, 1, 0, 1))
F.conv_transpose2d(torch.ones(1, 3, 5, 5), torch.ones(3, 4, 0, 2))
torch.set_grad_enabled(3)
torch.set_grad_enabled(None)
torch.set_grad_enabled(np.bool_(True))
torch.set_num_threads(0)
torch.set_num_threads('a')
torch.Generator().manual_seed(True)
torch.empty(3).uniform_(math.nan, 1)
torch.empty(3).uniform_(0, math.nan)
torch.empty(3).uniform_(-math.inf, 0)
x = torch.ones(2, requires_grad=True); x.register_post_accumulate_grad_hook(lambda t: 1); x.sum().backward()
x = torch.ones(2, requires_grad=True); x.register_post_accumulate_grad_hook(lambda t: t * 2); x.sum().backward()
x = torch.ones(2, requires_grad=True); x.register_post_accumulate_grad_hook(lambda t: t); x.sum().backward(); x.grad
torch.amp.GradScaler('cpu').update()
torch.amp.GradScaler('cpu').step(torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=.1))
torch.amp.GradScaler('cpu').unscale_(torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=.1))
s = torch.amp.GradScaler('cpu'); s.scale(torch.ones(1)); s.step(torch.optim.SGD([torch.ones(1, requires_grad=True)]))
torch.amp.GradScaler('cpu').load_state_dict({})
torch.amp.GradScaler('cpu').scale(3)
torch.amp.GradScaler('cpu', growth_factor=1.)
torch.amp.GradScaler('cpu', backoff_factor=2.)
""")
def test_refused(line):
    alike(line)


@cases("""
F.linear(torch.ones(2, 3).double(), torch.ones(4, 3), torch.ones(4))
F.linear(torch.ones(2, 3).long(), torch.ones(4, 3), torch.ones(4))
F.linear(torch.ones(2, 2, 3).half(), torch.ones(4, 3), torch.ones(4))
F.linear(torch.ones(2, 3).double(), torch.ones(4, 3))
torch.addmm(torch.ones(2), torch.ones(2, 3).double(), torch.ones(3, 2))
F.conv2d(torch.ones(1, 3, 5, 5).double(), torch.ones(4, 3, 2, 2), torch.ones(4))
F.conv2d(torch.ones(1, 3, 5, 5).double(), torch.ones(4, 3, 2, 2))
F.conv2d(torch.ones(1, 3, 5, 5), torch.ones(4, 3, 2, 2).half(), torch.ones(4).half())
F.conv2d(torch.ones(1, 3, 5, 5) + 0j, torch.ones(4, 3, 2, 2), torch.ones(4))
F.conv_transpose2d(torch.ones(1, 3, 5, 5).double(), torch.ones(3, 4, 2, 2), torch.ones(4))
""")
def test_dtypes_of_layers(line):
    alike(line)


@cases("""
y = (x * 1)[1:]; y.cumprod_(0).mul_(2); y.sum().backward()
y = x * 1; y.cumprod_(0).mul_(2); y.sum().backward()
y = x * 1; y[0] = y[1] * y[2]; y.sum().backward()
y = x * 1; v = y[1:]; z = v * v; v.add_(1); z.sum().backward()
y = x * 1; v = y[1:]; z = v * v; y.add_(1); z.sum().backward()
""")
def test_changed_view(line):
    """What was written since names the node of a view as it is recorded now."""
    alike("x = torch.ones(3, dtype=torch.float64, requires_grad=True); " + line)


@cases("""
torch.randn(17, out=torch.zeros(34)[::2])
torch.randn(5, 4, out=torch.zeros(4, 5).t())
torch.randn(15, out=torch.zeros(30)[::2])
torch.rand(17, out=torch.zeros(34)[::2])
torch.randn(20, out=torch.zeros(3))
g = torch.Generator().manual_seed(3); torch.randn(16, generator=g, out=torch.zeros(32, dtype=torch.float64)[::2])
""")
def test_draws_into_what_has_gaps(line):
    alike(line)


@cases("""
z = checkpoint(lambda a: a.exp() * a, y, use_reentrant=False); y.mul_(2); z.sum().backward(); x.grad
z = checkpoint(lambda a: a.exp() * a, y, use_reentrant=True); y.mul_(2); z.sum().backward(); x.grad
z = checkpoint(lambda a: a.exp() * a, y[1:], use_reentrant=False); y.mul_(2); z.sum().backward(); x.grad
""")
def test_changed_input_of_a_checkpoint(line):
    setup = "from torch.utils.checkpoint import checkpoint; x = torch.ones(3, requires_grad=True); y = x * 1; "
    alike(setup + line)
