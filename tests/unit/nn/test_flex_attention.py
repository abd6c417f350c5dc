"""torch.nn.attention.flex_attention beside PyTorch: outputs, masks in blocks, errors."""

import pytest
from alike import alike, cases

import torchlite as torch
from torchlite.nn.attention.flex_attention import create_block_mask, flex_attention

START = """
import warnings; warnings.simplefilter("ignore")
from torch.nn.attention import flex_attention as f
g = torch.Generator().manual_seed(0)
q, k, v = [torch.randn(2, n, s, 8, generator=g, dtype=torch.float64) for n, s in ((4, 6), (2, 5), (2, 5))]
bias = torch.randn(4, 6, 5, generator=g, dtype=torch.float64)
causal = lambda b, h, i, j: i >= j
near = lambda b, h, i, j: (i - j).abs() <= 1
late = lambda b, h, i, j: (j > 2) & (i != 3)
m = f.create_block_mask(causal, None, None, 6, 5, device="cpu", BLOCK_SIZE=2)
"""


@pytest.mark.parametrize(
    "mod", ["None", "lambda s, b, h, i, j: s + bias[h, i, j]", "lambda s, b, h, i, j: s * (i - j)"]
)
@pytest.mark.parametrize(
    "mask", ["None", "m", "f.create_block_mask(late, 2, 4, 6, 5, device='cpu', BLOCK_SIZE=(4, 2))"]
)
def test_outputs(mod, mask):
    program = f"o, aux = f.flex_attention(q, k, v, {mod}, {mask}, scale=0.4, enable_gqa=True,\n"
    alike(START + program + "    return_aux=f.AuxRequest(lse=True))\no, aux")


@cases("""
m.to_dense()
str(m)
repr(m).replace("<lambda>", "")
m.shape, m.numel(), round(m.sparsity(), 4), m.BLOCK_SIZE
m.kv_num_blocks, m.kv_indices, m.full_kv_num_blocks, m.full_kv_indices
m.q_num_blocks, m.q_indices, m.full_q_num_blocks, m.full_q_indices
m[0].shape, m[:, :, 1:].to_dense(), m._adjust(4, 4).to_dense(), m._adjust(4, 4).shape
f.create_block_mask(f.and_masks(causal, near), 1, 2, 7, 7, device="cpu", BLOCK_SIZE=2).to_dense()
f.create_block_mask(f.or_masks(late, near), None, None, 7, 9, device="cpu", BLOCK_SIZE=2).kv_indices
f.create_block_mask(causal, None, None, 6, 6, device="cpu", BLOCK_SIZE=2, separate_full_blocks=False).kv_num_blocks
f.create_mask(lambda s, b, h, i, j: torch.where(i >= j, s, -float("inf")), 1, 2, 3, 4, device="cpu")
f.create_mask(f.noop_mask, 1, 2, 3, 4, device="cpu")
f.flex_attention(q, k[:, :1], v[:, :1], enable_gqa=True)
f.flex_attention(q.float(), k.float(), v.float(), enable_gqa=True).mul(64).round()
f.flex_attention(q.bfloat16(), k.bfloat16(), v.bfloat16(), enable_gqa=True, return_lse=True)[1].dtype
""")
def test_masks(line):
    alike(START + line)


def test_gradients_of_what_the_scores_are_made_of():
    q, k, v = (torch.randn(1, 2, 4, 3, dtype=torch.float64, requires_grad=True) for _ in range(3))
    bias = torch.randn(4, 4, dtype=torch.float64, requires_grad=True)
    mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, 4, 4, device="cpu")

    def run(q, k, v, bias):
        return flex_attention(q, k, v, lambda s, b, h, i, j: s + bias[i, j], mask)

    assert torch.autograd.gradcheck(run, (q, k, v, bias))
    lower = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    torch.testing.assert_close(run(q, k, v, bias * 0), lower)


def test_errors():
    q = torch.ones(1, 4, 3, 8)
    with pytest.raises(ValueError, match="same number of heads but got Hq=4 and Hkv=2"):
        flex_attention(q, q[:, :2], q[:, :2])
    with pytest.raises(ValueError, match="same embedding dimension but got E=8 and E=4"):
        flex_attention(q, q[..., :4], q)
    mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, 6, 6, device="cpu")
    with pytest.raises(ValueError, match="block_mask was created for"):
        flex_attention(q, q, q, block_mask=mask)
    with pytest.raises(RuntimeError, match="Cannot use mask_mod from a sliced BlockMask"):
        flex_attention(q, q, q, block_mask=mask._adjust(3, 3)[0])
