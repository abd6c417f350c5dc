"""Functions of two tensors with operands of every pair of dtypes, beside PyTorch: the promoted result, or the error."""

import itertools

import pytest
import torchlite
from alike import cases, outcome, torch

DTYPES = ["float32", "float64", "bfloat16", "complex64", "int64", "uint8", "bool"]


def refused(result):
    return isinstance(result, tuple) and str(result[0]).endswith("Error")


@cases("""
torch.linalg.vecdot(x, y)
torch.linalg.vecdot(x[0], y)
torch.vdot(x[0], y[0])
torch.dot(x[0], y[0])
torch.inner(x, y)
torch.outer(x[0], y[0])
torch.linalg.cross(x, y)
torch.mv(x, y[0])
torch.mm(x, y.t())
torch.bmm(x[None], y.t()[None])
torch.matmul(x, y.t())
torch.kron(x, y)
torch.tensordot(x, y, 2)
torch.einsum('ij,ij->i', x, y)
torch.cdist(x, y)
torch.linalg.multi_dot([x, y.t()])
torch.addmv(x[:, 0], x, y[0])
torch.addr(x, x[:, 0], y[0])
torch.linalg.solve(torch.eye(2).to(x.dtype), y)
torch.linalg.lstsq(torch.eye(2).to(x.dtype), y)[0]
F.linear(x, y)
F.bilinear(x, y, torch.ones(1, 3, 3))
F.conv1d(x[None], y.reshape(1, 2, 3))
F.layer_norm(x, (3,), y[0], y[0])
F.batch_norm(x, y[0], y[0])
F.prelu(x, y[0])
F.mse_loss(x, y)
F.l1_loss(x, y)
F.smooth_l1_loss(x, y)
F.huber_loss(x, y)
F.soft_margin_loss(x, y)
F.kl_div(x, y)
F.binary_cross_entropy_with_logits(x, y)
F.cosine_similarity(x, y)
F.pairwise_distance(x, y)
F.scaled_dot_product_attention(x[None], y[None], y[None])
torch.dist(x, y)
torch.allclose(x, y)
torch.equal(x, y)
torch.lerp(x, y, .5)
torch.trapezoid(x, y)
torch.where(x == 1, x, y)
torch.searchsorted(x, y)
torch.isin(x, y)
torch.index_add(x, 0, torch.tensor([0, 1]), y)
torch.scatter_add(x, 0, torch.zeros(2, 3, dtype=torch.long), y)
x.masked_scatter(x == 1, y)
x.index_put((torch.tensor([0]),), y[:1])
torch.put(x, torch.tensor([0]), y[0, :1])
""")
@pytest.mark.filterwarnings("ignore")
def test_operands_of_two_dtypes(line):
    for a, b in itertools.product(DTYPES, DTYPES):
        text = f"x = torch.ones(2, 3, dtype=torch.{a}); y = torch.ones(2, 3, dtype=torch.{b}); {line}"
        theirs, ours = outcome(torch, text)[0], outcome(torchlite, text)[0]
        if refused(theirs):  # which of two reasons comes first is not compared
            assert refused(ours), (text, theirs, ours)
        else:
            assert ours == theirs, text
