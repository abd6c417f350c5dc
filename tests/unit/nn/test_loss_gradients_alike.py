"""Which arguments of a loss may require a gradient or be of another dtype, and the graph of its first gradient, beside
PyTorch."""

from alike import alike, cases

SETUP = """
x, w = torch.tensor([[.2, -.4, .3], [.7, .1, -.6]], dtype=torch.double), torch.tensor([.5, 2., 1.], dtype=torch.double)
p, t = x.sigmoid(), torch.tensor([2, 0])
rg = lambda y: y.clone().requires_grad_()
"""


@cases("""
F.nll_loss(x, t, weight=rg(w))
F.nll_loss(rg(x), t, weight=rg(w), reduction='none')
F.nll_loss(x[:, :, None, None], t[:, None, None], weight=rg(w))
F.cross_entropy(x, t, weight=rg(w))
F.cross_entropy(rg(x), t, weight=rg(w), label_smoothing=.1)
F.cross_entropy(x, p, weight=rg(w))
F.binary_cross_entropy(p, p, weight=rg(w))
F.binary_cross_entropy(p, rg(p), weight=w)
F.binary_cross_entropy_with_logits(x, p, weight=rg(w))
F.binary_cross_entropy_with_logits(rg(x), p, weight=w, pos_weight=rg(w))
F.soft_margin_loss(x, rg(x.sign()))
F.multi_margin_loss(x, t, weight=rg(w))
F.multilabel_soft_margin_loss(x, p, weight=rg(w))
F.mse_loss(x, p, weight=rg(p))
F.gaussian_nll_loss(x, rg(x + 1), rg(p))
F.hinge_embedding_loss(x, rg(x.sign()))
with torch.no_grad(): y = F.nll_loss(x, t, weight=rg(w))
with torch.no_grad(): y = F.soft_margin_loss(x, rg(x.sign()))
""")
def test_arguments_that_require_a_gradient(line):
    alike(SETUP + line)


@cases("""
F.nll_loss(x, t, weight=w)
F.nll_loss(x, t, weight=w, reduction='none').sum()
F.nll_loss(x, torch.tensor([2, -100]), reduction='sum')
F.nll_loss(x[:, :, None, None], t[:, None, None])
F.cross_entropy(x, t, weight=w)
F.cross_entropy(x, torch.tensor([-100, 1]), label_smoothing=.1)
""")
def test_first_gradient_has_a_graph(line):
    """PyTorch's first gradient requires a gradient, also where the second one is zero."""
    setup = SETUP + "x = rg(x); y = " + line + "; g, = torch.autograd.grad(y, x, create_graph=True); "
    alike(setup + "g")
    alike(setup + "torch.autograd.grad(g.reshape(-1)[0], x)")


@cases("""
F.binary_cross_entropy_with_logits(x.float(), p.float(), weight=w, reduction='none')
F.binary_cross_entropy_with_logits(x.bfloat16(), p.bfloat16(), weight=w, pos_weight=w)
F.binary_cross_entropy_with_logits(x.bfloat16(), p.float(), pos_weight=w, reduction='none')
F.binary_cross_entropy_with_logits(x, p, weight=w[:, None, None])
F.binary_cross_entropy_with_logits(x, p, pos_weight=torch.ones(2, 2, 3))
F.binary_cross_entropy_with_logits(x, p, weight=w.to(torch.complex64))
F.binary_cross_entropy_with_logits(x, t[:, None].expand(2, 3))
""")
def test_weights_of_another_dtype_or_shape(line):
    alike(SETUP + line)
