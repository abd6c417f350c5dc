"""Indices, masks and other tensors that an op saved and that were overwritten since, beside PyTorch."""

from alike import alike, cases

LEAD = "x = torch.arange(4.).div(3).requires_grad_(); i = torch.tensor([0, 1]); m = x.detach() > 0; "


@cases("""
y = x[i]; i.zero_(); S
y = x[m]; m.zero_(); S
y = torch.where(m, x, 0); m.zero_(); S
y = x * 1; y[i] = x[:2] * 2; i.zero_(); S
y = x.index_put((i,), x[:2] * 2); i.zero_(); S
y = x * 1; y.index_put_((i,), x[:2] * 2, accumulate=True); i.zero_(); S
y = x.index_select(0, i); i.zero_(); S
y = x.index_add(0, i, x[:2]); i.zero_(); S
y = x.index_copy(0, i, x[:2]); i.zero_(); S
y = x.index_fill(0, i, 2.); i.zero_(); S
y = x.scatter(0, i, x[:2]); i.zero_(); S
y = x.scatter_add(0, i, x[:2]); i.zero_(); S
y = x.take(i); i.zero_(); S
y = x.put(i, x[:2]); i.zero_(); S
y = torch.take_along_dim(x, i, 0); i.zero_(); S
y = x.masked_scatter(x.detach() > 0, x); y.sum().backward(); x.grad
y = x.masked_scatter(m, x.detach()); m.zero_(); S
y = x.masked_select(m); m.zero_(); S
x = torch.rand(2, 2, requires_grad=True); y = x[i, i]; i.zero_(); S
x = torch.rand(2, 2, requires_grad=True); y = x[:, i]; i.zero_(); S
x = torch.rand(2, 2, requires_grad=True); y = x[:, i]; y.grad_fn._saved_indices
x = torch.rand(2, 2, requires_grad=True); y = x[i]; S; S
y = x.sort(); y[1].zero_(); y[0].sum().backward()
y = x.topk(2); y[1].zero_(); y[0].sum().backward()
y = x.cummax(0); y[1].zero_(); y[0].sum().backward()
y = x.median(0); y[1].zero_(); y[0].sum().backward()
x = torch.rand(2, 2, requires_grad=True); z = torch.ones(2, 2); y = torch.einsum("ij,jk->ik", x, z); z.zero_(); S
x = torch.rand(2, 2, requires_grad=True); z = torch.ones(2, 2); y = torch.linalg.multi_dot([x, z, x]); z.zero_(); S
""")
def test_as_pytorch(line):
    alike(LEAD + line.replace("; S", "; y.sum().backward()"))
