"""Premise and hypothesis through one bidirectional LSTM over packed sequences; frozen embeddings with a projection."""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pack_sequence, pad_packed_sequence, pad_sequence, unpad_sequence


class Bottle(nn.Module):
    def forward(self, input):
        if len(input.size()) <= 2:
            return super().forward(input)
        size = input.size()[:2]
        out = super().forward(input.view(size[0] * size[1], -1))
        return out.view(size[0], size[1], -1)


class Linear(Bottle, nn.Linear):
    pass


class Encoder(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.rnn = nn.LSTM(dim, hidden, num_layers=2, bidirectional=True, batch_first=True)
        self.hidden = hidden

    def forward(self, inputs, lengths):
        packed = pack_padded_sequence(inputs, lengths.cpu(), batch_first=True, enforce_sorted=False)
        h0 = c0 = inputs.new_empty(4, inputs.size(0), self.hidden).zero_()
        outputs, (ht, ct) = self.rnn(packed, (h0, c0))
        back, lens = pad_packed_sequence(outputs, batch_first=True, padding_value=-1.0)
        assert lens.tolist() == lengths.tolist()
        return ht[-2:].transpose(0, 1).contiguous().view(inputs.size(0), -1), back


class SNLIClassifier(nn.Module):
    def __init__(self, n_embed, d_embed=12, d_proj=8, hidden=6):
        super().__init__()
        self.embed = nn.Embedding(n_embed, d_embed, padding_idx=0)
        self.projection = Linear(d_embed, d_proj)
        self.encoder = Encoder(d_proj, hidden)
        self.relu = nn.ReLU()
        seq = [nn.Dropout(p=0.1), Linear(8 * hidden, 16), self.relu, nn.Dropout(p=0.1), Linear(16, 3)]
        self.out = nn.Sequential(*seq)

    def forward(self, premise, hypothesis):
        encoded = []
        for tokens in (premise, hypothesis):
            embedded = self.relu(self.projection(self.embed(tokens).detach()))
            encoded.append(self.encoder(embedded, tokens.ne(0).sum(1))[0])
        p, h = encoded
        return self.out(torch.cat([p, h, (p - h).abs(), p * h], 1))


torch.manual_seed(21)
premises, hypotheses, labels = [], [], []
for i in range(30):
    p = torch.randint(2, 20, (torch.randint(3, 9, ()).item(),))
    kind = i % 3
    h = p[torch.randperm(len(p))[:2]] if kind == 0 else torch.randint(2, 20, (3,))
    if kind == 1:
        h = torch.cat([torch.tensor([1]), h])
    premises.append(p), hypotheses.append(h), labels.append(kind)
p = pad_sequence(premises, batch_first=True)
h = pad_sequence(hypotheses, batch_first=True, padding_side="right")
y = torch.tensor(labels)
model = SNLIClassifier(20)
model.embed.weight.requires_grad = False
opt = torch.optim.Adam(filter(lambda w: w.requires_grad, model.parameters()), lr=1e-2)
criterion = nn.CrossEntropyLoss()
for it in range(8):
    model.train()
    opt.zero_grad()
    answer = model(p, h)
    n_correct = (torch.max(answer, 1)[1].view(y.size()) == y).sum().item()
    loss = criterion(answer, y)
    loss.backward()
    opt.step()
    print(f"{it} loss {loss.item():.5f} correct {n_correct}/30")
with torch.no_grad():
    ht, outputs = model.encoder(model.projection(model.embed(p)), p.ne(0).sum(1))
print(tuple(outputs.shape), f"{outputs.sum().item():.4f} {ht.norm().item():.5f}")
packed = pack_sequence([torch.arange(n).float() for n in (4, 2, 1)])
print(packed.data.tolist(), packed.batch_sizes.tolist(), packed.sorted_indices)
print([t.tolist() for t in unpad_sequence(p[:3], p.ne(0).sum(1)[:3], batch_first=True)])
print(type(packed).__name__, packed.cpu().double().data.dtype, packed.is_cuda)
