"""Small timed programs, the same on the host, in Pyodide on node and in a browser (run.py). Times are microseconds."""

import json
import sys
import time

start = time.perf_counter()
if sys.platform == "emscripten":
    import torch
else:
    import torchlite as torch

IMPORT_US = (time.perf_counter() - start) * 1e6
F = torch.nn.functional


def best(fn, seconds):
    """Microseconds of one call: the best of several batches."""
    fn()
    n = 1
    while True:
        t = time.perf_counter()
        for _ in range(n):
            fn()
        took = time.perf_counter() - t
        if took > seconds / 12 or n > 1 << 20:
            break
        n *= 2
    out = took / n
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        t = time.perf_counter()
        for _ in range(n):
            fn()
        out = min(out, (time.perf_counter() - t) / n)
    return out * 1e6


def mlp(*sizes):
    layers = []
    for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
        layers += [torch.nn.ReLU()] * (i > 0) + [torch.nn.Linear(a, b)]
    return torch.nn.Sequential(*layers)


def training(net, optimizer, x, y):
    def step():
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()

    return step


def workloads():
    torch.manual_seed(0)
    a, b, g = torch.randn(8), torch.randn(8), torch.randn(8, requires_grad=True)
    yield "a + b, 8 elements", lambda: a + b
    yield "a + b, recording", lambda: g + b
    yield "torch.add(a, b)", lambda: torch.add(a, b)
    yield "view", lambda: a.view(2, 4)
    yield "item", lambda: a[0].item()
    small, one = mlp(16, 32, 32, 4), torch.randn(1, 16)

    def passes():
        small(one).sum().backward()

    yield "3-layer MLP, forward", lambda: small(one)
    yield "3-layer MLP, and backward", passes
    for n in (512, 1024):
        m, k = torch.randn(n, n), torch.randn(n, n)
        yield f"matmul, {n}", lambda m=m, k=k: m @ k
    del m, k
    x, y = torch.randn(1 << 20), torch.randn(1 << 20)
    yield "add, 1 Mi", lambda: x + y
    yield "exp, 1 Mi", lambda: x.exp()
    yield "sum, 1 Mi", lambda: x.sum()
    s = torch.randn(64, 1000)
    yield "softmax, 64x1000", lambda: s.softmax(-1)
    yield "layer_norm, 64x1000", lambda: F.layer_norm(s, (1000,))
    im, w = torch.randn(8, 16, 32, 32), torch.randn(32, 16, 3, 3)
    yield "conv2d, 8x16x32x32 to 32", lambda: F.conv2d(im, w, padding=1)
    labels = torch.randint(0, 10, (64,))
    big = mlp(784, 256, 128, 10)
    yield "MLP, batch 64, Adam", training(big, torch.optim.Adam(big.parameters()), torch.randn(64, 784), labels)
    nn = torch.nn
    cnn = nn.Sequential(
        nn.Conv2d(1, 16, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(1568, 10),
    )
    yield (
        "small CNN, batch 32, SGD",
        training(cnn, torch.optim.SGD(cnn.parameters(), lr=0.01), torch.randn(32, 1, 28, 28), labels[:32]),
    )


def measure(only="", seconds=0.25):
    result = {"import": IMPORT_US}
    for name, fn in workloads():
        if only in name:
            result[name] = best(fn, seconds)
    return json.dumps(result)


if __name__ == "__main__":
    print("BENCH " + measure(*sys.argv[1:2], *map(float, sys.argv[2:3])))
