"""GRU encoder and decoder with additive attention and teacher forcing, reversing sequences."""

import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim

random.seed(0)
torch.manual_seed(0)
SOS, EOS, V, H, L = 0, 1, 10, 24, 5


class EncoderRNN(nn.Module):
    def __init__(self, input_size, hidden_size, dropout_p=0.1):
        super().__init__()
        self.embedding = nn.Embedding(input_size, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size, batch_first=True)
        self.dropout = nn.Dropout(dropout_p)

    def forward(self, input):
        return self.gru(self.dropout(self.embedding(input)))


class BahdanauAttention(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.Wa = nn.Linear(hidden_size, hidden_size)
        self.Ua = nn.Linear(hidden_size, hidden_size)
        self.Va = nn.Linear(hidden_size, 1)

    def forward(self, query, keys):
        scores = self.Va(torch.tanh(self.Wa(query) + self.Ua(keys)))
        scores = scores.squeeze(2).unsqueeze(1)
        weights = F.softmax(scores, dim=-1)
        return torch.bmm(weights, keys), weights


class AttnDecoderRNN(nn.Module):
    def __init__(self, hidden_size, output_size, dropout_p=0.1):
        super().__init__()
        self.embedding = nn.Embedding(output_size, hidden_size)
        self.attention = BahdanauAttention(hidden_size)
        self.gru = nn.GRU(2 * hidden_size, hidden_size, batch_first=True)
        self.out = nn.Linear(hidden_size, output_size)
        self.dropout = nn.Dropout(dropout_p)

    def forward(self, encoder_outputs, encoder_hidden, target_tensor=None):
        batch_size = encoder_outputs.size(0)
        decoder_input = torch.empty(batch_size, 1, dtype=torch.long).fill_(SOS)
        decoder_hidden = encoder_hidden
        outputs, attentions = [], []
        for i in range(L):
            embedded = self.dropout(self.embedding(decoder_input))
            query = decoder_hidden.permute(1, 0, 2)
            context, attn = self.attention(query, encoder_outputs)
            out, decoder_hidden = self.gru(torch.cat((embedded, context), dim=2), decoder_hidden)
            out = self.out(out)
            outputs.append(out)
            attentions.append(attn)
            if target_tensor is not None and random.random() < 0.5:
                decoder_input = target_tensor[:, i].unsqueeze(1)
            else:
                _, topi = out.topk(1)
                decoder_input = topi.squeeze(-1).detach()
        outputs = F.log_softmax(torch.cat(outputs, dim=1), dim=-1)
        return outputs, decoder_hidden, torch.cat(attentions, dim=1)


encoder, decoder = EncoderRNN(V, H), AttnDecoderRNN(H, V)
eo = optim.Adam(encoder.parameters(), lr=1e-2)
do = optim.Adam(decoder.parameters(), lr=1e-2)
criterion = nn.NLLLoss()
for it in range(12):
    src = torch.randint(2, V, (16, L))
    tgt = src.flip(1)
    eo.zero_grad()
    do.zero_grad()
    enc_out, enc_hid = encoder(src)
    dec_out, _, _ = decoder(enc_out, enc_hid, tgt)
    loss = criterion(dec_out.view(-1, dec_out.size(-1)), tgt.reshape(-1))
    loss.backward()
    eo.step()
    do.step()
    if it % 3 == 2:
        print(f"{it} {loss.item():.6f}")
encoder.eval()
decoder.eval()
with torch.no_grad():
    out, _, attn = decoder(*encoder(torch.tensor([[2, 3, 4, 5, 6]])))
    print(
        out.argmax(-1).squeeze().tolist(),
        [f"{v:.5f}" for v in attn[0].sum(-1).tolist()],
        f"{out.exp().max().item():.6f}",
    )
