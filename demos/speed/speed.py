"""Speed: everyday work of networks, timed on this device.

Each entry of `work` is measured on the CPU, and on the GPU where there is one: after some calls to warm up, several
rounds of calls, each of which ends when its last result is there. What is kept is the fastest round, as ms for a call.
"""

import time

import torch
import torch.nn.functional as F
from torch import nn

ROUNDS = 7
ROUND = 0.05  # seconds of work in a round, about
WARM = 0.2  # seconds before them: the browser compiles a loop better once it has run a while

torch.manual_seed(0)


class Block(nn.Module):
    """A transformer's block: attention, then a network for each token."""

    def __init__(self, width=384, heads=6):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        x = x + self.out(seen)
        return x + self.down(F.relu(self.up(self.norm2(x))))


def network():
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 10))


def small_cnn():
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(64 * 16 * 16, 10),
    )


def work_on(device):
    """Name -> a function of no arguments that does it on this device, and returns a tensor."""
    a, b = torch.randn(512, 512, device=device), torch.randn(512, 512, device=device)
    x, y, z = (torch.randn(1_000_000, device=device) for _ in range(3))
    rows = torch.randn(1000, 1000, device=device)
    pictures, digits = torch.randn(8, 3, 64, 64, device=device), torch.randn(64, 784, device=device)
    labels, tokens = torch.randint(10, (64,), device=device), torch.randn(1, 128, 384, device=device)
    cnn, mlp, block, pupil = (part.to(device) for part in (small_cnn(), network(), Block(), network()))
    optimizer = torch.optim.SGD(pupil.parameters(), lr=0.01)

    def train():
        loss = F.cross_entropy(pupil(digits), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return {
        "Matrices, 512 x 512": lambda: a @ b,
        "relu(x * y + z), a million": lambda: torch.relu(x * y + z),
        "Softmax of 1000 rows": lambda: rows.softmax(1),
        "Small CNN, 8 pictures": lambda: cnn(pictures),
        "Three linear layers, 64 rows": lambda: mlp(digits),
        "A step of training them": train,
        "Transformer block, 128 tokens": lambda: block(tokens),
    }


def wait_for(result):
    """Reads one number of it: then the result, and all that was asked for before, is there."""
    return result.detach().flatten()[0].item()


def seconds(run):
    start, calls = time.perf_counter(), 0
    while calls < 3 or time.perf_counter() - start < WARM:
        wait_for(run())
        calls += 1
    began = time.perf_counter()
    wait_for(run())
    calls = max(1, min(1000, round(ROUND / max(time.perf_counter() - began, 1e-6))))
    rounds = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for _ in range(calls):
            result = run()
        wait_for(result)
        rounds.append((time.perf_counter() - began) / calls)
    return min(rounds)


devices = ["cpu"]
if torch.accelerator.is_available():
    devices.append(torch.accelerator.current_accelerator().type)
results = {}  # device -> name -> ms
for device in devices:
    results[device] = {}
    print(f"torch {torch.__version__} on {device}")
    work = work_on(device)
    for name, run in work.items():
        training = name.startswith("A step")
        with torch.set_grad_enabled(training):
            results[device][name] = 1000 * seconds(run)
        print(f"{name:30} {results[device][name]:9.3f} ms")
    print()
