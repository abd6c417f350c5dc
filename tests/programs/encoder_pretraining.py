"""nn.Transformer as in the tutorials: positional encoding, masks, encoder pretraining by masked tokens,
encoder-decoder copying."""

import math

import torch
from torch import Tensor, nn
from torch.nn import TransformerEncoder, TransformerEncoderLayer


class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, dropout: float = 0.1, max_len: int = 100):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.dropout(x + self.pe[: x.size(0)])


class MaskedLM(nn.Module):
    def __init__(self, ntoken, d_model, nhead, d_hid, nlayers):
        super().__init__()
        self.pos_encoder = PositionalEncoding(d_model)
        layer = TransformerEncoderLayer(d_model, nhead, d_hid, dropout=0.1, norm_first=False, activation="gelu")
        self.transformer_encoder = TransformerEncoder(layer, nlayers, enable_nested_tensor=False)
        self.embedding = nn.Embedding(ntoken, d_model, padding_idx=0)
        self.linear = nn.Linear(d_model, ntoken)
        self.d_model = d_model

    def forward(self, src, key_padding_mask=None):
        src = self.pos_encoder(self.embedding(src) * math.sqrt(self.d_model))
        return self.linear(self.transformer_encoder(src, src_key_padding_mask=key_padding_mask))


torch.manual_seed(6)
V, PAD, MASK = 18, 0, 1
model = MaskedLM(V, 16, 2, 32, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.5)
sched = torch.optim.lr_scheduler.MultiStepLR(opt, [4, 8], 0.5)
for step in range(8):
    start = torch.randint(2, V, (12,))
    tokens = (start[None] + torch.arange(10)[:, None] - 2) % (V - 2) + 2
    lengths = torch.randint(5, 11, (12,))
    pad = torch.arange(10)[None, :] >= lengths[:, None]
    tokens[pad.T] = PAD
    hide = (torch.rand(10, 12) < 0.3) & (tokens != PAD)
    out = model(tokens.masked_fill(hide, MASK), pad)
    loss = nn.functional.cross_entropy(out[hide], tokens[hide])
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    opt.step()
    sched.step()
    print(f"mlm {step} {loss.item():.6f} masked {int(hide.sum())}")

s2s = nn.Transformer(
    d_model=16, nhead=4, num_encoder_layers=1, num_decoder_layers=2, dim_feedforward=24, dropout=0.0, batch_first=True
)
emb, head = nn.Embedding(V, 16), nn.Linear(16, V)
opt = torch.optim.NAdam([*s2s.parameters(), *emb.parameters(), *head.parameters()], lr=2e-3)
for step in range(6):
    src = torch.randint(2, V, (8, 6))
    tgt = torch.cat([torch.ones(8, 1, dtype=torch.long), src[:, :-1]], 1)
    causal = nn.Transformer.generate_square_subsequent_mask(6)
    out = head(s2s(emb(src), emb(tgt), tgt_mask=causal, tgt_is_causal=True))
    loss = nn.functional.cross_entropy(out.transpose(1, 2), src)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"copy {step} {loss.item():.6f}")
s2s.eval()
attn = nn.MultiheadAttention(16, 4, batch_first=True)
with torch.no_grad():
    o, w = attn(emb(src), emb(src), emb(src), need_weights=True, average_attn_weights=False)
    print(tuple(o.shape), tuple(w.shape), f"{w.sum().item():.4f} {o.norm().item():.5f}")
