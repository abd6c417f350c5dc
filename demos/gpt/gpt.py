"""A small GPT that learns to write like the text beside it, one character at a time.

It writes while it trains, a character after every second step, and now and then says how well it predicts text that
it does not train on.
"""

import math
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

SECONDS = 180  # how long to train
CONTEXT = 64  # characters that it looks back on
WIDTH = 64
HEADS = 4
LAYERS = 2
BATCH = 16
RATE = 3e-3

torch.manual_seed(1)
device = "cpu"
if torch.accelerator.is_available():
    device = torch.accelerator.current_accelerator()

text = Path(__file__).with_name("input.txt").read_text(encoding="utf-8")
letters = sorted(set(text))
number = {letter: i for i, letter in enumerate(letters)}
codes = torch.tensor([number[letter] for letter in text])
split = int(len(codes) * 0.9)
train, test = codes[:split], codes[split:]
if len(test) <= CONTEXT:
    raise SystemExit(f"The text has {len(text)} characters; some {20 * CONTEXT} are needed, many thousands are better.")


class Attention(nn.Module):
    """Each character looks at those before it."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        n, length, _ = x.shape
        q, k, v = self.qkv(x).view(n, length, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(n, length, WIDTH))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = Attention()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(approximate="tanh"), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.letters = nn.Embedding(len(letters), WIDTH)
        self.places = nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, len(letters), bias=False)
        self.apply(self._start)

    @staticmethod
    def _start(module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.05)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, x):
        places = torch.arange(x.shape[1], device=x.device)
        return self.head(self.norm(self.blocks(self.letters(x) + self.places(places))))


def batch(data, size):
    starts = torch.randint(len(data) - CONTEXT, (size,))
    rows = data[starts[:, None] + torch.arange(CONTEXT + 1)].to(device)
    return rows[:, :-1], rows[:, 1:]


def loss_of(x, y):
    return criterion(model(x).flatten(0, 1), y.flatten())


@torch.no_grad()
def measure():
    """Nats per character on the held-out text."""
    return sum(loss_of(*batch(test, 32)).item() for _ in range(4)) / 4


@torch.no_grad()
def next_code(written, temperature=0.8):
    """A character that may follow."""
    seen = torch.tensor([written[-CONTEXT:]], device=device)
    chances = torch.softmax(model(seen)[0, -1] / temperature, dim=0)
    return torch.multinomial(chances.cpu(), 1).item()


model = GPT().to(device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.95), weight_decay=0.1)
print(f"{sum(p.numel() for p in model.parameters()):,} parameters on {device}, {len(text):,} characters")

began = last = time.perf_counter()
step = 0
written = test[:CONTEXT].tolist()  # it goes on from here
while (passed := time.perf_counter() - began) < SECONDS:
    share = passed / SECONDS
    for group in optimizer.param_groups:
        group["lr"] = RATE * min(1, (step + 1) / 50) * (0.05 + 0.95 * (1 + math.cos(math.pi * share)) / 2)
    loss = loss_of(*batch(train, BATCH))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    step += 1
    if step % 2 == 0:
        written.append(next_code(written))
        print(letters[written[-1]], end="", flush=True)
    if time.perf_counter() - last > 10:
        last = time.perf_counter()
        print(f"\n\n--- step {step}, {last - began:.0f} s: {measure():.3f} nats per character\n")
print(f"\n\n--- the end: {measure():.3f} nats per character after {step} steps in {SECONDS} s")
for _ in range(400):
    written.append(next_code(written))
    print(letters[written[-1]], end="", flush=True)
