"""torch.nn.attention.bias, line by line beside PyTorch."""

from alike import alike, cases


@cases("""
from torch.nn.attention import bias as b;
    b.causal_lower_right(2, 3).shape, int(b.CausalVariant.LOWER_RIGHT)
from torch.nn.attention import bias as b; torch.manual_seed(0);
    q = torch.randn(1, 1, 2, 4); k = torch.randn(1, 1, 3, 4);
    F.scaled_dot_product_attention(q, k, k, b.causal_lower_right(2, 3))
from torch.nn.attention import bias as b; torch.manual_seed(0);
    q = torch.randn(1, 1, 2, 4); k = torch.randn(1, 1, 3, 4);
    F.scaled_dot_product_attention(q, k, k, attn_mask=b.causal_upper_left(2, 3))
from torch.nn.attention import bias as b; torch.manual_seed(0);
    q = torch.randn(1, 1, 3, 4);
    F.scaled_dot_product_attention(q, q, q, attn_mask=b.causal_upper_left(3, 3), is_causal=True)
from torch.nn.attention import bias as b;
    b.causal_lower_right(3)
from torch.nn.attention import bias as b;
    b.CausalBias(1, 2, 3)
from torch.nn.attention import bias as b;
    b.causal_lower_right(3, 4)._materialize(), isinstance(b.causal_lower_right(3, 4), torch.Tensor)
from torch.nn.attention import bias as b; repr(b.causal_lower_right(3, 2))
""")
def test_bias(line):
    alike(line)
