"""Figures of a GPU: matrix product, memory-bound ops,
a training step and the decoding of a token of a GPT-2-small-shaped model.

Runs on torchlite (device webgpu) and on PyTorch (device cuda), unchanged: gpu.py starts it on both and compares.
"""

import json
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, wide, heads):
        super().__init__()
        self.heads = heads
        self.ln1, self.ln2 = nn.LayerNorm(wide), nn.LayerNorm(wide)
        self.qkv, self.proj = nn.Linear(wide, 3 * wide), nn.Linear(wide, wide)
        self.fc, self.out = nn.Linear(wide, 4 * wide), nn.Linear(4 * wide, wide)

    def forward(self, x, past=None):
        b, t, d = x.shape
        q, k, v = self.qkv(self.ln1(x)).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        if past is not None:
            k, v = torch.cat((past[0], k), 2), torch.cat((past[1], v), 2)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=past is None)
        x = x + self.proj(a.transpose(1, 2).reshape(b, t, d))
        return x + self.out(F.gelu(self.fc(self.ln2(x)), approximate="tanh"))


class GPT(nn.Module):
    def __init__(self, layers, wide, heads, length, words):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(words, wide), nn.Embedding(length, wide)
        self.blocks = nn.ModuleList(Block(wide, heads) for _ in range(layers))
        self.ln = nn.LayerNorm(wide)

    def forward(self, tokens, start=0, past=None):
        x = self.wte(tokens) + self.wpe(torch.arange(start, start + tokens.shape[1], device=tokens.device))
        for i, block in enumerate(self.blocks):
            x = block(x, None if past is None else past[i])
        return F.linear(self.ln(x), self.wte.weight)


def clock(run, wait, seconds):
    """Seconds of one run: the best of the passes that fit."""
    for _ in range(3):
        run()
    wait()
    best, n, end = 1e9, 1, time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(n):
            run().data_ptr()
        wait()
        took = time.perf_counter() - start
        best, n = min(best, took / n), n if took > 0.05 else 2 * n
    return best


def kernels(step, most=30):
    """GPU milliseconds and calls of the kernels of one step, the longest first."""
    with torch.profiler.profile() as prof:
        step().item()
    rows = [(row.key, row.device_time_total / 1e3, row.count) for row in prof.key_averages()]
    rows.sort(key=lambda row: -row[1])
    return {key: [round(ms, 3), count] for key, ms, count in rows[:most] if ms > 0}


def main(device, small, seconds):
    torch.manual_seed(0)
    gpu = torch.webgpu if device == "webgpu" else torch.cuda
    wait = gpu.synchronize
    out = {"name": gpu.get_device_name(), "torch": torch.__version__}

    def made(*shape):
        return torch.randn(*shape).to(device)

    with torch.no_grad():
        for n in (64, 256) if small else (1024, 2048, 4096):
            a, b = made(n, n), made(n, n)
            out[f"matmul {n} GFLOP/s"] = 2e-9 * n**3 / clock(lambda: a @ b, wait, seconds)
        n = 1 << (14 if small else 26)
        x, y = made(n), made(n)
        rows = x.view(-1, 1024)
        scale, shift = made(1024), made(1024)
        out["add GB/s"] = 12e-9 * n / clock(lambda: x + y, wait, seconds)
        out["mul add gelu GB/s"] = 12e-9 * n / clock(lambda: F.gelu(x * y + 1), wait, seconds)
        out["sum GB/s"] = 4e-9 * n / clock(lambda: x.sum(), wait, seconds)
        out["softmax GB/s"] = 8e-9 * n / clock(lambda: rows.softmax(-1), wait, seconds)
        out["layer_norm GB/s"] = 8e-9 * n / clock(lambda: F.layer_norm(rows, (1024,), scale, shift), wait, seconds)
    layers, wide, heads, length, words, batch = (2, 64, 4, 32, 256, 2) if small else (12, 768, 12, 512, 50257, 4)
    model = GPT(layers, wide, heads, length, words).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    tokens = torch.randint(0, words, (batch, length + 1)).to(device)

    def step():
        optimizer.zero_grad()
        loss = F.cross_entropy(model(tokens[:, :-1]).reshape(-1, words), tokens[:, 1:].reshape(-1))
        loss.backward()
        optimizer.step()
        return loss

    out["training step ms"] = 1e3 * clock(step, wait, seconds)
    if device == "webgpu":
        from torchlite.webgpu.transport import bridge as _bridge

        before = _bridge.current.stats()
        step().item()
        after = _bridge.current.stats()
        out["per step"] = {k: after[k] - before[k] for k in ("dispatches", "submits", "reads")}
        out["kernels of a step, ms"] = kernels(step)
    with torch.no_grad():
        past = [
            (made(1, heads, length - 1, wide // heads), made(1, heads, length - 1, wide // heads))
            for _ in range(layers)
        ]
        out["decode ms a token"] = 1e3 * clock(lambda: model(tokens[:1, :1], length - 1, past), wait, seconds)
    return out


if __name__ == "__main__":
    options = json.loads(sys.argv[1])
    print("FIGURES " + json.dumps(main(**options)))
