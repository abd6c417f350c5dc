"""Fused optimizers of 16-bit floats make the whole step in float32. Compared with PyTorch."""

import pytest
from alike import alike
import torchlite as torch

STEPS = """
p = nn.Parameter((torch.arange(48.) / 24 - 1).to(torch.{dtype}))
o = torch.optim.{optimizer}([p], lr=0.01, fused=True{more})
for i in range(4):
    p.grad = ((torch.arange(48.) * (7 + i) % 11 - 5) / 4).to(p.dtype); p.grad[::3] = 0; o.step()
p.dtype, p.tolist(), [v.tolist() for v in o.state[p].values() if v.dtype is p.dtype]
"""


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("more", ["", ", weight_decay=0.1", ", amsgrad=True", ", maximize=True"])
@pytest.mark.parametrize("optimizer", ["Adam", "AdamW"])
def test_steps(optimizer, more, dtype):
    alike(STEPS.format(optimizer=optimizer, more=more, dtype=dtype).strip())


def test_a_gradient_of_zero_moves_nothing():
    for kind in (torch.optim.Adam, torch.optim.AdamW, torch.optim.Adagrad):
        p = torch.nn.Parameter(torch.ones(2, dtype=torch.float16))
        p.grad = torch.tensor([1.0, 0.0], dtype=torch.float16)
        kind([p], lr=0.01, weight_decay=0, fused=True).step()
        assert p.tolist() == [0.990234375, 1.0]
