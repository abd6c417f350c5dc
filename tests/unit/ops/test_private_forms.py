"""Fused and unchecked forms of ops, named with an underscore, and padding under its names in torch._C._nn."""

import pytest
from alike import alike, cases

_X = "x, i = torch.arange(6.).reshape(2, 3), torch.tensor([0, 1, 5, -1, -7]); m = i < 5; y = torch.ones(5);"
_HEADS = """
g = torch.Generator().manual_seed(1)
def r(*shape):
    return (torch.arange(math.prod(shape)) * 1.3).sin().reshape(shape)
q, w, b, pw, pb = r(2, 3, 4), r(12, 4), r(12), r(4, 4), r(4)
rest = 4, 2, w, b, pw, pb
mask = torch.zeros(3, 3, dtype=torch.bool)
mask[0, 1] = True
f = torch._native_multi_head_attention
"""


@cases("""
torch._unsafe_masked_index(x, m[:, None], [i], 9.)
torch._unsafe_masked_index(x, m, [i, i], 9)
torch._unsafe_masked_index(x, m.float(), [i, i], 9)
torch._unsafe_masked_index(x.long(), m, [i, i], 9.5)
torch._unsafe_masked_index(x, m, [i], 9.)
torch._unsafe_masked_index_put_accumulate(x, m, [i, i], y)
torch._unsafe_masked_index_put_accumulate(x, m[:, None], [i], torch.ones(5, 3))
torch._unsafe_masked_index_put_accumulate(torch.ones(0, 3), m, [i], torch.ones(5, 3))
z = x.clone().requires_grad_(); torch._unsafe_masked_index(z, m, [i, i], 9).mul(y * 2).sum().backward(); z.grad
v = y.clone().requires_grad_();
    torch._unsafe_masked_index_put_accumulate(x, m, [i, i], v).pow(2).sum().backward(); v.grad
torch._addmm_activation(y[:3], x.T - 2, x, beta=2, alpha=0.5)
torch._addmm_activation(y[:3], x.T - 2, x, use_gelu=True)
x._addmm_activation(x[:, :2], x)
torch._C._nn.reflection_pad1d(x, (1, 2)), torch._C._nn.replication_pad2d(x[None], (1, 0, 2, 1))
torch._C._nn.reflection_pad3d(x, (1, 2))
torch.native_dropout(x, 0.5, False), torch.native_dropout(x, 1.0, True), torch.native_dropout(x, 0.5, True)
F.linear(torch.ones(4, 3, 2, dtype=torch.double).permute(2, 1, 0),
    torch.ones(5, 4, dtype=torch.double), torch.ones(5).half())
F.linear(torch.ones(2, 3, 4, dtype=torch.double), torch.ones(5, 4, dtype=torch.double), torch.ones(5).half())
torch._C._get_privateuse1_backend_name()
""")
def test_alike(line):
    alike(_X + line)


@pytest.mark.parametrize(
    "line",
    [
        "f(q, q, q, *rest)",
        "f(q, q, q, *rest, None, True, False)",
        "f(q, q, q, *rest, None, False)[0]",
        "f(q, q, q, *rest, mask, True, True, 0)",
        "f(q, q, q, *rest, mask[:2], True, True, 1)",
        "f(q, q, q, *rest, mask.expand(2, 2, 3, 3), True, True, 2)",
        "f(q, q, q, *rest, mask, True, True, 1)",
        "f(q, q, q, *rest, mask, True, True, 3)",
        "f(q, q, q, *rest, mask)",
        "f(q[0], q, q, *rest)",
        "f(q, q, q[:1], *rest)",
        "f(q, q, q, 4, 3, w, b, pw, pb)",
        "f(q, q, q, 5, 2, w, b, pw, pb)",
        "f(q, q, q, 4, 2, w[:5], b, pw, pb)",
        "with torch.autocast('cpu'):\n    a, b = f(q, q, q, *rest)\na.dtype, b.dtype",
    ],
)
def test_heads(line):
    alike(_HEADS + line)
