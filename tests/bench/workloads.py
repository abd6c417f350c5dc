"""Small timed programs; run by run.py on the host and inside Pyodide. Prints one JSON object: name -> microseconds."""

import json
import sys
import time

start = time.perf_counter()
import torchlite as torch  # noqa: E402

IMPORT_US = (time.perf_counter() - start) * 1e6
F = torch.nn.functional


def best(fn, seconds=0.25):
    """Microseconds of one call: the best of several batches."""
    fn()
    n = 1
    while True:
        t = time.perf_counter()
        for _ in range(n):
            fn()
        took = time.perf_counter() - t
        if took > seconds / 8 or n > 1 << 20:
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


def workloads():
    torch.manual_seed(0)
    a, b = torch.randn(8), torch.randn(8)
    yield "add, 8 elements", lambda: torch.add(a, b)
    g = torch.randn(8, requires_grad=True)
    yield "add, 8 elements, recording", lambda: torch.add(g, b)
    yield "view", lambda: a.view(2, 4)
    yield "item", lambda: a[0].item()
    x, y = torch.randn(1 << 20), torch.randn(1 << 20)
    yield "add, 1 Mi", lambda: x + y
    yield "exp, 1 Mi", lambda: x.exp()
    yield "sum, 1 Mi", lambda: x.sum()
    m, n = torch.randn(512, 512), torch.randn(512, 512)
    yield "matmul, 512", lambda: m @ n
    s = torch.randn(64, 1000)
    yield "softmax, 64x1000", lambda: s.softmax(-1)
    yield "layer_norm, 64x1000", lambda: F.layer_norm(s, (1000,))
    im, w = torch.randn(8, 16, 32, 32), torch.randn(32, 16, 3, 3)
    yield "conv2d, 8x16x32x32 to 32", lambda: F.conv2d(im, w, padding=1)
    net = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    opt = torch.optim.Adam(net.parameters())
    bx, by = torch.randn(64, 64), torch.randint(0, 10, (64,))

    def step():
        opt.zero_grad()
        F.cross_entropy(net(bx), by).backward()
        opt.step()

    yield "MLP training step", step


if __name__ == "__main__":
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    result = {"import": IMPORT_US}
    for name, fn in workloads():
        if only in name:
            result[name] = best(fn)
    print("BENCH " + json.dumps(result))
