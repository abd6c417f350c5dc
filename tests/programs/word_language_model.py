"""The word language model's four kinds of networks: batchify, repackaged states, a hand-written SGD step, annealing."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

TEXT = """the cat sat on the mat <eos> the dog sat on the log <eos> a cat and a dog met on the mat <eos>
the log was near the mat and the dog was near the cat <eos> a dog met a cat near a log <eos>"""


class Dictionary:
    def __init__(self):
        self.word2idx, self.idx2word = {}, []

    def add_word(self, word):
        if word not in self.word2idx:
            self.idx2word.append(word)
            self.word2idx[word] = len(self.idx2word) - 1
        return self.word2idx[word]

    def __len__(self):
        return len(self.idx2word)


class RNNModel(nn.Module):
    def __init__(self, rnn_type, ntoken, ninp, nhid, nlayers, dropout=0.2, tie_weights=False):
        super().__init__()
        self.ntoken = ntoken
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(ntoken, ninp)
        if rnn_type in ["LSTM", "GRU"]:
            self.rnn = getattr(nn, rnn_type)(ninp, nhid, nlayers, dropout=dropout)
        else:
            nonlinearity = {"RNN_TANH": "tanh", "RNN_RELU": "relu"}[rnn_type]
            self.rnn = nn.RNN(ninp, nhid, nlayers, nonlinearity=nonlinearity, dropout=dropout)
        self.decoder = nn.Linear(nhid, ntoken)
        if tie_weights:
            self.decoder.weight = self.encoder.weight
        self.init_weights()
        self.rnn_type, self.nhid, self.nlayers = rnn_type, nhid, nlayers

    def init_weights(self):
        initrange = 0.1
        nn.init.uniform_(self.encoder.weight, -initrange, initrange)
        nn.init.zeros_(self.decoder.bias)
        nn.init.uniform_(self.decoder.weight, -initrange, initrange)

    def forward(self, input, hidden):
        emb = self.drop(self.encoder(input))
        output, hidden = self.rnn(emb, hidden)
        decoded = self.decoder(self.drop(output)).view(-1, self.ntoken)
        return F.log_softmax(decoded, dim=1), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        if self.rnn_type == "LSTM":
            return (
                weight.new_zeros(self.nlayers, bsz, self.nhid),
                weight.new_zeros(self.nlayers, bsz, self.nhid),
            )
        return weight.new_zeros(self.nlayers, bsz, self.nhid)


class TransformerModel(nn.Transformer):
    """A language model that inherits from nn.Transformer and uses its encoder only."""

    def __init__(self, ntoken, ninp, nhead, nhid, nlayers, dropout=0.1):
        super().__init__(d_model=ninp, nhead=nhead, dim_feedforward=nhid, num_encoder_layers=nlayers, dropout=dropout)
        self.src_mask = None
        self.input_emb = nn.Embedding(ntoken, ninp)
        self.ninp = ninp
        self.decoder = nn.Linear(ninp, ntoken)

    def forward(self, src, has_mask=True):
        if not has_mask:
            self.src_mask = None
        elif self.src_mask is None or self.src_mask.size(0) != len(src):
            self.src_mask = torch.log(torch.tril(torch.ones(len(src), len(src)))).to(src.device)
        output = self.encoder(self.input_emb(src) * math.sqrt(self.ninp), mask=self.src_mask)
        return F.log_softmax(self.decoder(output), dim=-1).view(-1, self.decoder.out_features)


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    data = data.narrow(0, 0, nbatch * bsz)
    return data.view(bsz, -1).t().contiguous()


def repackage_hidden(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


def get_batch(source, i, bptt=6):
    seq_len = min(bptt, len(source) - 1 - i)
    return source[i : i + seq_len], source[i + 1 : i + 1 + seq_len].view(-1)


corpus = Dictionary()
ids = torch.cat([torch.tensor([corpus.add_word(w) for w in line.split()]).type(torch.int64) for line in [TEXT] * 2])
train_data = batchify(ids, 4)
print(len(corpus), train_data.shape, train_data.is_contiguous())
criterion = nn.NLLLoss()
for kind in ("RNN_TANH", "RNN_RELU", "GRU", "LSTM", "Transformer"):
    torch.manual_seed(1111)
    if kind == "Transformer":
        model = TransformerModel(len(corpus), 16, 2, 24, 2)
    else:
        model = RNNModel(kind, len(corpus), 16, 16, 2, tie_weights=True)
    lr, best = 5.0 if kind != "Transformer" else 0.5, None
    for epoch in range(2):
        model.train()
        total_loss = 0.0
        hidden = None if kind == "Transformer" else model.init_hidden(4)
        for i in range(0, train_data.size(0) - 1, 6):
            data, targets = get_batch(train_data, i)
            model.zero_grad()
            if kind == "Transformer":
                output = model(data)
            else:
                hidden = repackage_hidden(hidden)
                output, hidden = model(data, hidden)
            loss = criterion(output, targets)
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
            for p in model.parameters():
                if p.grad is not None:
                    p.data.add_(p.grad, alpha=-lr)
            total_loss += len(data) * loss.item()
        mean = total_loss / (len(train_data) - 1)
        print(f"{kind} epoch {epoch} loss {mean:.5f} ppl {math.exp(mean):.4f} norm {norm:.4f}")
        if best is None or mean < best:
            best = mean
        else:
            lr /= 4.0
    model.eval()
    with torch.no_grad():
        word = torch.zeros(1, 1, dtype=torch.long)
        hidden = None if kind == "Transformer" else model.init_hidden(1)
        words = []
        for _ in range(6):
            if kind == "Transformer":
                weights = model(word, False)[-1].div(0.8).exp()
                nxt = torch.multinomial(weights, 1)[0]
                word = torch.cat([word, torch.tensor([[nxt]])], 0)
            else:
                output, hidden = model(word, hidden)
                nxt = torch.multinomial(output.squeeze().div(0.8).exp().cpu(), 1)[0]
                word.fill_(nxt)
            words.append(corpus.idx2word[nxt])
    print(" ".join(words))
