"""Word-level LSTM language model: truncated backpropagation with a detached state, tied weights;
packed variable lengths."""

import math

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pack_sequence, pad_packed_sequence, pad_sequence

torch.manual_seed(1111)


class RNNModel(nn.Module):
    def __init__(self, rnn_type, ntoken, ninp, nhid, nlayers, dropout=0.2, tie_weights=True):
        super().__init__()
        self.ntoken = ntoken
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = getattr(nn, rnn_type)(ninp, nhid, nlayers, dropout=dropout)
        self.decoder = nn.Linear(nhid, ntoken)
        if tie_weights:
            self.decoder.weight = self.encoder.weight
        initrange = 0.1
        nn.init.uniform_(self.encoder.weight, -initrange, initrange)
        nn.init.zeros_(self.decoder.bias)
        self.nhid, self.nlayers, self.rnn_type = nhid, nlayers, rnn_type

    def forward(self, input, hidden):
        emb = self.drop(self.encoder(input))
        output, hidden = self.rnn(emb, hidden)
        decoded = self.decoder(self.drop(output)).view(-1, self.ntoken)
        return nn.functional.log_softmax(decoded, dim=1), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        zeros = weight.new_zeros(self.nlayers, bsz, self.nhid)
        return (zeros, zeros.clone()) if self.rnn_type == "LSTM" else zeros


def repackage_hidden(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    return data.narrow(0, 0, nbatch * bsz).view(bsz, -1).t().contiguous()


ntokens, bptt = 20, 8
stream = torch.cumsum(torch.randint(1, 4, (400,)), 0) % ntokens
train_data = batchify(stream, 4)
criterion = nn.NLLLoss()
for kind in ("LSTM", "GRU"):
    model = RNNModel(kind, ntokens, 16, 16, 2)
    lr = 2.0
    for epoch in range(2):
        model.train()
        total, count = 0.0, 0
        hidden = model.init_hidden(4)
        for i in range(0, train_data.size(0) - 1, bptt):
            seq_len = min(bptt, len(train_data) - 1 - i)
            data, targets = train_data[i : i + seq_len], train_data[i + 1 : i + 1 + seq_len].view(-1)
            model.zero_grad()
            hidden = repackage_hidden(hidden)
            output, hidden = model(data, hidden)
            loss = criterion(output, targets)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
            for p in model.parameters():
                p.data.add_(p.grad, alpha=-lr)
            total += loss.item()
            count += 1
        print(f"{kind} epoch {epoch} loss {total / count:.6f} ppl {math.exp(total / count):.5f}")

# variable lengths, both directions
sentences = [torch.randint(0, ntokens, (n,)) for n in (5, 9, 2, 7)]
lengths = torch.tensor([len(s) for s in sentences])
padded = pad_sequence(sentences, batch_first=True, padding_value=0)
emb = nn.Embedding(ntokens, 6, padding_idx=0)
lstm = nn.LSTM(6, 5, batch_first=True, bidirectional=True)
head = nn.Linear(10, 2)
opt = torch.optim.RMSprop([*emb.parameters(), *lstm.parameters(), *head.parameters()], lr=1e-2)
y = torch.tensor([0, 1, 1, 0])
for step in range(4):
    packed = pack_padded_sequence(emb(padded), lengths.cpu(), batch_first=True, enforce_sorted=False)
    out, (h, c) = lstm(packed)
    out, out_lengths = pad_packed_sequence(out, batch_first=True)
    last = torch.cat([h[-2], h[-1]], dim=1)
    loss = nn.functional.cross_entropy(head(last), y) + out.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"packed {step} {loss.item():.6f} {tuple(out.shape)} {out_lengths.tolist()}")
p = pack_sequence(sorted(sentences, key=len, reverse=True))
print(p.batch_sizes.tolist(), p.data.shape[0])
