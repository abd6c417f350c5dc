"""Recognising tone sequences: mel spectrograms from stft, convolutions and a GRU, CTC loss, greedy decoding."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

RATE, NOTES = 1600, [120.0, 250.0, 400.0, 600.0]


def mel_filters(n_freqs, n_mels, rate):
    def to_mel(f):
        return 2595.0 * math.log10(1.0 + f / 700.0)

    freqs = torch.linspace(0, rate // 2, n_freqs)
    points = torch.linspace(to_mel(0.0), to_mel(rate / 2), n_mels + 2)
    hz = 700.0 * (10.0 ** (points / 2595.0) - 1.0)
    slopes = hz.unsqueeze(0) - freqs.unsqueeze(1)
    width = hz[1:] - hz[:-1]
    return torch.max(torch.zeros(1), torch.min(-slopes[:, :-2] / width[:-1], slopes[:, 2:] / width[1:]))


def log_mel(wave, filters):
    spec = torch.stft(wave, 128, hop_length=64, win_length=100, window=torch.hann_window(100), return_complex=True)
    return (torch.einsum("bft,fm->bmt", spec.abs().pow(2), filters) + 1e-6).log()


def sentence(length):
    notes = torch.randint(1, 5, (length,))
    parts = []
    for note in notes.tolist():
        n = int(torch.randint(200, 320, ()))
        t = torch.arange(n) / RATE
        parts.append(torch.sin(2 * math.pi * NOTES[note - 1] * t) * torch.hamming_window(n, periodic=False))
    return torch.cat(parts) + 0.01 * torch.randn(sum(len(p) for p in parts)), notes


class Net(nn.Module):
    def __init__(self, n_mels, classes):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(n_mels, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.Hardtanh(0, 20))
        self.rnn = nn.GRU(16, 12, bidirectional=True)
        self.out = nn.Linear(24, classes)

    def forward(self, x):
        x = self.conv(x).permute(2, 0, 1)
        return self.out(self.rnn(x)[0]).log_softmax(2)


def edit_distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        previous, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (x != y))
    return row[-1]


torch.manual_seed(19)
filters = mel_filters(65, 12, RATE)
print(tuple(filters.shape), f"{filters.sum().item():.4f}", (filters > 0).sum(0).tolist())
waves, notes = zip(*[sentence(int(torch.randint(2, 5, ()))) for _ in range(12)])
padded = nn.utils.rnn.pad_sequence(waves, batch_first=True)
features = log_mel(padded, filters)
features = (features - features.mean((0, 2), keepdim=True)) / features.std((0, 2), keepdim=True)
lengths = torch.tensor([len(w) // 64 + 1 for w in waves])
targets = torch.cat(notes)
target_lengths = torch.tensor([len(n) for n in notes])
model = Net(12, 5)
ctc = nn.CTCLoss(blank=0, zero_infinity=True)
opt = torch.optim.Adam(model.parameters(), lr=2e-2)
for step in range(12):
    opt.zero_grad()
    log_probs = model(features)
    loss = ctc(log_probs, targets, lengths, target_lengths)
    loss.backward()
    opt.step()
    if step % 3 == 2:
        print(f"{step} ctc {loss.item():.5f}")
with torch.no_grad():
    best = model(features).argmax(-1).T
    errors = 0
    for row, n, want in zip(best, lengths, notes):
        collapsed = torch.unique_consecutive(row[:n])
        errors += edit_distance(collapsed[collapsed != 0].tolist(), want.tolist())
    print("errors", errors, "of", int(target_lengths.sum()))
    per = F.ctc_loss(log_probs, nn.utils.rnn.pad_sequence(notes, True), lengths, target_lengths, reduction="none")
    print([f"{v:.4f}" for v in per.tolist()[:4]], f"{(per / target_lengths).mean().item():.5f}")
    spec = torch.stft(waves[0], 128, 32, window=torch.hann_window(128), return_complex=True, center=True)
    back = torch.istft(spec, 128, 32, window=torch.hann_window(128), length=len(waves[0]))
    print("istft", torch.allclose(back, waves[0], atol=1e-5), spec.shape, spec.dtype)
    mask = (torch.rand(2, 12, 1) > 0.2) & (torch.arange(features.size(2)) % 7 != 0)
    print("spec augment", f"{torch.where(mask, features[:2], features[:2].mean()).sum().item():.4f}")
    db = 10 * torch.log10(spec.abs().square().clamp(min=1e-10))
    print(f"{torch.maximum(db, db.max() - 80).mean().item():.4f}", int(spec.abs().mean(1).argmax()))
