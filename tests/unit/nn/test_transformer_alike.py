"""Transformer layers and attention under masks beside PyTorch."""

from alike import alike, cases


# in evaluation mode PyTorch runs the layers on nested tensors, whose padding is 0 afterwards
@cases("""
encoder.use_nested_tensor, encode([[0, 0, 0, 1], [0, 1, 1, 1]])
encode([[0, 0, 1, 0], [0, 0, 0, 1]])
encode([[1, 1, 1, 1], [0, 0, 0, 0]])
encode([[0, 0, 0, -math.inf], [0, 0, 0, 0]], torch.float)
encoder.norm = nn.LayerNorm(8); encode([[0, 0, 0, 1], [0, 1, 1, 1]])
encoder.use_nested_tensor = False; encode([[0, 0, 0, 1], [0, 1, 1, 1]])
encoder.requires_grad_(True); encode([[0, 0, 0, 1], [0, 1, 1, 1]]).detach()
encoder.train(); encode([[0, 0, 0, 1], [0, 1, 1, 1]])
torch.backends.mha.set_fastpath_enabled(False); r = encode([[0, 0, 0, 1], [0, 1, 1, 1]]);
    torch.backends.mha.set_fastpath_enabled(True); r
encode([[0, 0, 0, 1], [0, 1, 1, 1]], mask=torch.zeros(4, 4, dtype=torch.bool))
""")
def test_padding_of_an_encoder(line):
    alike(
        """
import warnings
torch.manual_seed(0)
layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0)
encoder = nn.TransformerEncoder(layer, 2).eval().requires_grad_(False)
def encode(padding, dtype=torch.bool, mask=None):
    x = torch.linspace(-1, 1, 64).sin().view(2, 4, 8)
    padding = torch.tensor(padding).to(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's nested tensors are a prototype
        return encoder(x, mask=mask, src_key_padding_mask=padding).add(1000).round(decimals=3)
"""
        + line
    )


@cases("""
F.scaled_dot_product_attention(q, q, q, attn_mask=torch.arange(9.0).view(3, 3), is_causal=True)
F.scaled_dot_product_attention(q, q, q, attn_mask=torch.eye(3).bool(), is_causal=True)
F.scaled_dot_product_attention(q, q[:, :, :2], q[:, :, :2], attn_mask=torch.arange(6.0).view(3, 2), is_causal=True)
F.scaled_dot_product_attention(q[0], q[0], q[0], attn_mask=torch.arange(9.0).view(3, 3), is_causal=True)
F.scaled_dot_product_attention(q, q, q, torch.arange(9.0).view(3, 3), dropout_p=0.5, is_causal=True)
F.scaled_dot_product_attention(q, q, q, torch.arange(9.0).view(3, 3).requires_grad_(), is_causal=True)
""")
def test_a_mask_and_causal(line):
    alike("q = torch.arange(48.0).view(1, 2, 3, 8).sin(); " + line)
