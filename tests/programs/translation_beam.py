"""Translation with Luong's attention: dot, general and concat scores, masked loss, teacher forcing, beam search."""

import random

import torch
import torch.nn as nn
import torch.nn.functional as F

SOS, EOS, PAD = 1, 2, 0
PAIRS = [
    ("je suis ici", "i am here"),
    ("tu es la", "you are there"),
    ("il est ici", "he is here"),
    ("nous sommes la", "we are there"),
    ("je suis grand", "i am tall"),
    ("elle est la", "she is there"),
    ("il est tres grand", "he is very tall"),
    ("tu es tres petit ici", "you are very small here"),
]


class Voc:
    def __init__(self, sentences):
        words = sorted({w for s in sentences for w in s.split()})
        self.index = {w: i + 3 for i, w in enumerate(words)}
        self.words = {i: w for w, i in self.index.items()}
        self.num_words = len(words) + 3

    def encode(self, s):
        return [self.index[w] for w in s.split()] + [EOS]


class Attn(nn.Module):
    def __init__(self, method, hidden_size):
        super().__init__()
        if method not in ["dot", "general", "concat"]:
            raise ValueError(method, "is not an appropriate attention method.")
        self.method = method
        if method == "general":
            self.attn = nn.Linear(hidden_size, hidden_size)
        elif method == "concat":
            self.attn = nn.Linear(hidden_size * 2, hidden_size)
            self.v = nn.Parameter(torch.empty(hidden_size).normal_())

    def forward(self, hidden, encoder_outputs, mask):
        if self.method == "dot":
            energies = torch.sum(hidden * encoder_outputs, dim=2)
        elif self.method == "general":
            energies = torch.sum(hidden * self.attn(encoder_outputs), dim=2)
        else:
            both = torch.cat((hidden.expand(encoder_outputs.size(0), -1, -1), encoder_outputs), 2)
            energies = torch.sum(self.v * self.attn(both).tanh(), dim=2)
        return F.softmax(energies.masked_fill(mask, -torch.inf).t(), dim=1).unsqueeze(1)


class Seq2Seq(nn.Module):
    def __init__(self, method, n_in, n_out, hidden=12):
        super().__init__()
        self.hidden = hidden
        self.embedding, self.out_embedding = nn.Embedding(n_in, hidden), nn.Embedding(n_out, hidden)
        self.encoder = nn.GRU(hidden, hidden, 1, bidirectional=True)
        self.gru, self.attn = nn.GRU(hidden, hidden), Attn(method, hidden)
        self.concat, self.out = nn.Linear(hidden * 2, hidden), nn.Linear(hidden, n_out)

    def encode(self, seq, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(self.embedding(seq), lengths.cpu())
        outputs, hidden = self.encoder(packed)
        outputs, _ = nn.utils.rnn.pad_packed_sequence(outputs)
        return outputs[:, :, : self.hidden] + outputs[:, :, self.hidden :], hidden[:1].contiguous()

    def step(self, token, hidden, encoded, mask):
        rnn_output, hidden = self.gru(self.out_embedding(token), hidden)
        weights = self.attn(rnn_output, encoded, mask)
        context = weights.bmm(encoded.transpose(0, 1))
        joined = torch.cat((rnn_output.squeeze(0), context.squeeze(1)), 1)
        return F.log_softmax(self.out(torch.tanh(self.concat(joined))), dim=1), hidden, weights


def mask_nll_loss(logp, target, mask):
    total = mask.sum()
    loss = -torch.gather(logp, 1, target.view(-1, 1)).squeeze(1)
    return loss.masked_select(mask).mean(), total.item()


def pad(seqs):
    seqs = [torch.tensor(s) for s in seqs]
    return nn.utils.rnn.pad_sequence(seqs, padding_value=PAD), torch.tensor([len(s) for s in seqs])


def beam_search(model, encoded, hidden, mask, width=3, length=6):
    beams = [(0.0, [SOS], hidden)]
    done = []
    for _ in range(length):
        token = torch.tensor([[b[1][-1] for b in beams]])
        h = torch.cat([b[2] for b in beams], 1)
        n = len(beams)
        logp, h, _ = model.step(token, h, encoded.expand(-1, n, -1), mask.expand(-1, n))
        scores = logp + torch.tensor([b[0] for b in beams]).unsqueeze(1)
        best = scores.flatten().topk(width)
        rows = torch.div(best.indices, logp.size(1), rounding_mode="floor")
        cols = best.indices.remainder(logp.size(1))
        beams_next = []
        for s, r, c in zip(best.values.tolist(), rows.tolist(), cols.tolist()):
            item = (s, beams[r][1] + [c], h[:, r : r + 1])
            (done if c == EOS else beams_next).append(item)
        if not beams_next:
            break
        beams = beams_next
    return max(done or beams, key=lambda b: b[0] / (len(b[1]) - 1) ** 0.7)


for method in ("dot", "general", "concat"):
    torch.manual_seed(4)
    random.seed(4)
    source, target = Voc([a for a, _ in PAIRS]), Voc([b for _, b in PAIRS])
    model = Seq2Seq(method, source.num_words, target.num_words)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    for it in range(14):
        batch = sorted(random.sample(PAIRS, 5), key=lambda p: len(p[0].split()), reverse=True)
        seq, lengths = pad([source.encode(a) for a, _ in batch])
        out, out_lengths = pad([target.encode(b) for _, b in batch])
        mask = out != PAD
        encoded, hidden = model.encode(seq, lengths)
        token, loss, n_totals = torch.tensor([[SOS for _ in range(5)]]), 0, 0
        teacher = random.random() < 0.8
        for t in range(int(out_lengths.max())):
            logp, hidden, weights = model.step(token, hidden, encoded, seq.eq(PAD))
            token = out[t].view(1, -1) if teacher else logp.topk(1)[1].view(1, -1)
            value, n = mask_nll_loss(logp, out[t], mask[t])
            loss, n_totals = loss + value, n_totals + n
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0, norm_type=2.0, error_if_nonfinite=True)
        optimizer.step()
    print(f"{method} loss {loss.item():.5f} of {n_totals}", f"{weights.sum(-1).mean().item():.4f}")
    with torch.no_grad():
        seq, lengths = pad([source.encode("il est tres grand")])
        encoded, hidden = model.encode(seq, lengths)
        score, tokens, _ = beam_search(model, encoded, hidden, seq.eq(PAD))
        print(f"{score:.5f}", [target.words.get(t, "<>") for t in tokens])
