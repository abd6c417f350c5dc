"""What torch.func transforms may write to: its own arguments and what it makes, not what it closes over."""

import pytest

import torchlite
from alike import alike, cases, outcome

LEAD = "c = torch.ones(2); a = torch.ones(2) * 3; grad = torch.func.grad; "


@cases("""
grad(lambda x: (c.mul_(x), (c * x).sum())[1])(a)
grad(lambda x: (c.copy_(x), (x * x).sum())[1])(a)
grad(lambda x: (c.add_(x.detach()), (x * x).sum())[1])(a)
grad(lambda x: (c.__setitem__(0, x[0]), (x * x).sum())[1])(a)
grad(lambda x: (c[0].mul_(x[0]), (x * x).sum())[1])(a)
grad(lambda x: (c.detach().mul_(x), (x * x).sum())[1])(a)
grad(lambda x: (c.relu_(), (x * x).sum())[1])(a)
grad(lambda x: (c.view(1, 2).normal_(), (x * x).sum())[1])(a)
torch.func.vjp(lambda x: (c.mul_(x), (c * x).sum())[1], a)
torch.func.jacrev(lambda x: (c.mul_(x), (c * x).sum())[1])(a)
torch.func.grad_and_value(lambda x: (c.mul_(x), (c * x).sum())[1])(a)
grad(lambda x: grad(lambda y: (x.mul_(y), (x * y).sum())[1])(x * 2).sum())(a)
grad(lambda x: (lambda d: grad(lambda y: (d.mul_(y), (d * y).sum())[1])(x).sum())(x * 2))(a)
grad(lambda x: (x.mul_(2), (x * x).sum())[1])(a), a
grad(lambda x, y: (y.mul_(x), (y * x).sum())[1], (0, 1))(a, c), c
grad(lambda x: torch.zeros(2).add_(x).mul_(x).sum())(a)
grad(lambda x: c.clone().mul_(x).sum())(a), c
grad(lambda x: grad(lambda y: (y * 1).mul_(x).mul_(y).sum())(x).sum())(a)
grad(lambda x: x.new_zeros(2).copy_(x).exp_().sum())(a)
grad(lambda x: torch.stack([torch.empty(2).copy_(x), x]).mul_(x).sum())(a)
""")
def test_as_pytorch(line):
    alike(LEAD + line)


@cases("""
g, d = grad(lambda x: (x.sum(), x.detach() * 2), has_aux=True)(a); grad(lambda x: (d.mul_(x), (d * x).sum())[1])(a)
grad(lambda x: (x * x).sum())(a); c.mul_(2); a.mul_(2); c, a
""")
def test_what_a_transform_returned_is_outside_again(line):
    alike(LEAD + line)


def test_an_error_leaves_nothing_behind():
    with pytest.raises(ZeroDivisionError):
        torchlite.func.grad(lambda x: 1 / 0)(torchlite.ones(2))
    assert outcome(torchlite, "c = torch.ones(2); c.mul_(2)")[0][1] == ["2", "2"]
    assert torchlite._C.func_level() == 0
