"""Programs that run on several threads, timed with one and with more in turns: on the host, in Pyodide on node and in a
browser (threads.py). Times are milliseconds, the best of all calls."""

import json
import sys
import time

if sys.platform == "emscripten":
    import torch
else:
    import torchlite as torch

from torchlite import _C

F = torch.nn.functional
nn = torch.nn


def convolutions(name, x, w, **options):
    x, w = torch.randn(x), torch.randn(w)
    y = F.conv2d(x, w, **options)
    ones, padding = torch.ones_like(y), [options.get("padding", 0)] * 2

    def gradient(mask):
        torch.ops.aten.convolution_backward(ones, x, w, None, [1, 1], padding, [1, 1], False, [0, 0], 1, mask)

    yield f"conv {name}", lambda: F.conv2d(x, w, **options)
    yield f"conv {name}, grad x", lambda: gradient([True, False, False])
    yield f"conv {name}, grad w", lambda: gradient([False, True, False])


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.norm1, self.norm2 = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, c))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, words=96, length=128, width=192, heads=6, layers=4):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words)

    def forward(self, x):
        return self.head(self.norm(self.blocks(self.words(x) + self.places(torch.arange(x.shape[1])))))


def training(net, x, y):
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)

    def step():
        optimizer.zero_grad()
        F.cross_entropy(net(x).flatten(0, -2), y.flatten()).backward()
        optimizer.step()

    return step


def cnn():
    layers = []
    for i, o in ((3, 32), (32, 64), (64, 128)):
        layers += [nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(128 * 16, 10))


def workloads():
    torch.manual_seed(0)
    for m, n, k in ((1024, 1024, 1024), (512, 512, 512), (256, 256, 256), (64, 1024, 1024), (1024, 512, 64)):
        a, b = torch.randn(m, k), torch.randn(k, n)
        yield f"matmul {m}x{n}x{k}", lambda a=a, b=b: a @ b
    for n in (64, 96, 128, 160):  # about where threads begin
        a = torch.randn(n, n)
        yield f"matmul {n}", lambda a=a: a @ a
    row, wide = torch.randn(1, 2048), torch.randn(2048, 2048)
    yield "matmul 1x2048x2048", lambda: row @ wide
    q = torch.randn(8, 8, 128, 32)
    yield "attention 8x8x128x32", lambda: F.scaled_dot_product_attention(q, q, q, is_causal=True)
    yield from convolutions("8x16x32x32 to 32", (8, 16, 32, 32), (32, 16, 3, 3), padding=1)
    yield from convolutions("1x64x56x56 to 64", (1, 64, 56, 56), (64, 64, 3, 3), padding=1)
    yield from convolutions("1x3x224x224 to 64", (1, 3, 224, 224), (64, 3, 7, 7), padding=3)
    yield from convolutions("4x128x14x14 to 256, 1x1", (4, 128, 14, 14), (256, 128, 1, 1))
    yield "train/gpt", training(GPT(), torch.randint(0, 96, (8, 128)), torch.randint(0, 96, (8, 128)))
    yield "train/cnn", training(cnn(), torch.randn(32, 3, 32, 32), torch.randint(0, 10, (32,)))


def best(fn, seconds):
    out, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        fn()
        out = min(out, time.perf_counter() - start)
    return out * 1e3


def measure(threads=2, only="", seconds=0.3, turns=3):
    """{name: [with one thread, with `threads`]}"""
    torch.set_num_threads(threads)
    wide = torch.randn(512, 512)
    wide @ wide  # a page's workers start
    result = {}
    for name, fn in workloads():
        if only in name:
            times = result[name] = [float("inf")] * 2
            for _ in range(turns):
                for i, n in enumerate((1, threads)):
                    _C.set_threads(n)
                    fn()
                    times[i] = min(times[i], best(fn, seconds / turns))
    return json.dumps(result)


if __name__ == "__main__":
    print("BENCH " + measure(int(sys.argv[1]), *sys.argv[2:3], *map(float, sys.argv[3:4])))
