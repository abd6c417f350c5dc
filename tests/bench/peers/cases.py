"""The workloads of the peer benchmark in plain PyTorch; bench.html runs this in Pyodide.

Requests and answers are JSON, as in the benchmark's own protocol: `make` prepares one case and checks it,
`sample` times it.
Inputs come from the benchmark's `bench_inputs`, so that every peer works on the same numbers.
"""

import gc
import json
import math
import time

import bench_inputs
import torch
import torch.nn.functional as F

now = time.perf_counter
current = None
device = "cpu"


async def use(name):
    """Names the device of all tensors. Threads start here, as the other libraries' do with the page: a large product
    waits for them, which it cannot do in the synchronous calls below."""
    global device
    device = name
    if name == "webgpu":
        if not await torch.webgpu.ready():
            raise RuntimeError(torch.webgpu.why_not())
    elif torch.get_num_threads() > 1:
        large = torch.ones(512, 512)
        large @ large


class Case:
    """`run` is one operation; `check` gives the numbers that have to agree with PyTorch."""

    def __init__(self, run, check=None, most=5000, ends=True):
        self.run, self.most, self.ends, self.estimate = run, most, ends, 0.0
        if check:
            self.check = check

    def check(self):
        x = self.run().cpu().double().flatten()
        return [x.mean().item(), (x * x).mean().item(), *((x[0].item(), x[-1].item()) if self.ends else ())]

    def milliseconds(self, n):
        run = self.run
        start = now()
        if device == "cpu":
            for _ in range(n):
                run()
        else:
            for _ in range(n):
                run().data_ptr()  # asks for a result that nobody looks at, which would not be computed otherwise
            torch.webgpu.synchronize()
        return (now() - start) * 1e3


def floats(data, *shape):
    shared = torch.frombuffer(bytearray(data.to_bytes()), dtype=torch.float32).reshape(shape)
    return shared.to(device, copy=True)  # memory of its own, as a model has that loaded its weights


def filled(seed, *shape, scale=1):
    return floats(bench_inputs.fill(math.prod(shape), seed, scale), *shape)


def integers(data):
    return torch.tensor(list(data.to_py()), device=device)


def parameter(p):
    for kind, make in (("zeros", torch.zeros), ("ones", torch.ones)):
        if p.get(kind):
            return make(p["shape"], device=device)
    return filled(p["seed"], *p["shape"], scale=p["scale"])


class Read(list):
    """A result that was read."""

    def data_ptr(self):
        return 0


# ---- single operations


def matmul(w):
    a, b = filled(1, w["m"], w["k"]), filled(2, w["k"], w["n"])
    return Case(lambda: a @ b)


def add(w):
    a, b = filled(1, w["size"]), filled(2, w["size"])
    return Case(lambda: a + b)


def add_and_read(w):
    a, b = filled(1, w["size"]), filled(2, w["size"])
    c = Case(lambda: Read((a + b).tolist()))
    c.check = add(w).check
    return c


def mulrelu(w):
    a, b = filled(1, w["size"]), filled(2, w["size"])
    return Case(lambda: (a * b).relu_())


def exp(w):
    a = filled(1, w["size"])
    return Case(lambda: torch.exp(a))


def gelu(w):
    a = filled(1, w["size"])
    return Case(lambda: F.gelu(a))


def sums(w):
    a = filled(1, w["size"])
    return Case(lambda: a.sum(), ends=False)


def softmax(w):
    a = filled(1, w["rows"], w["cols"])
    return Case(lambda: a.softmax(-1))


def layernorm(w):
    a, scale, shift = (
        filled(1, w["rows"], w["cols"]),
        torch.ones(w["cols"], device=device),
        torch.zeros(w["cols"], device=device),
    )
    return Case(lambda: F.layer_norm(a, (w["cols"],), scale, shift))


def conv(w):
    x = filled(1, w["n"], w["c"], w["h"], w["h"])
    k = filled(2, w["o"], w["c"] // w["groups"], w["ks"], w["ks"])
    return Case(lambda: F.conv2d(x, k, stride=w["stride"], padding=w["pad"], groups=w["groups"]), ends=False)


# ---- training


def training(loss, optimizer):
    def step():
        optimizer.zero_grad()
        value = loss()
        value.backward()
        optimizer.step()
        return value

    return Case(step, lambda: [step().item() for _ in range(5)], most=50)


def trained(w):
    return {p["name"]: torch.nn.Parameter(parameter(p)) for p in w["params"]}


def train_mlp(w):
    p = trained(w)
    x, y = filled(7, w["batch"], 784), integers(bench_inputs.labels(w["batch"], 10))

    def loss():
        h = F.relu(F.linear(x, p["l1.w"], p["l1.b"]))
        h = F.relu(F.linear(h, p["l2.w"], p["l2.b"]))
        return F.cross_entropy(F.linear(h, p["l3.w"], p["l3.b"]), y)

    return training(loss, torch.optim.Adam(p.values(), lr=w["lr"]))


def train_cnn(w):
    p = trained(w)
    x, y = filled(7, w["batch"], 1, 28, 28), integers(bench_inputs.labels(w["batch"], 10))

    def loss():
        h = F.max_pool2d(F.relu(F.conv2d(x, p["c1.w"], p["c1.b"], padding=2)), 2)
        h = F.max_pool2d(F.relu(F.conv2d(h, p["c2.w"], p["c2.b"], padding=2)), 2)
        return F.cross_entropy(F.linear(h.flatten(1), p["fc.w"], p["fc.b"]), y)

    return training(loss, torch.optim.SGD(p.values(), lr=w["lr"]))


def train_gpt(w):
    p = trained(w)
    wide, heads, length, batch, words = (w[n] for n in "DHTBV")
    x = integers(bench_inputs.tokens(batch * length, words, 1)).reshape(batch, length)
    y = integers(bench_inputs.tokens(batch * length, words, 2))

    def norm(h, name):
        return F.layer_norm(h, (wide,), p[name + ".g"], p[name + ".b"])

    def linear(h, name):
        return F.linear(h, p[name + ".w"], p[name + ".b"])

    def loss():
        h = F.embedding(x, p["wte"]) + p["wpe"]
        for i in range(w["L"]):
            qkv = linear(norm(h, f"h{i}.ln1"), f"h{i}.qkv").view(batch, length, 3, heads, wide // heads)
            q, k, v = qkv.permute(2, 0, 3, 1, 4)
            a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            h = h + linear(a.transpose(1, 2).reshape(batch, length, wide), f"h{i}.proj")
            h = h + linear(F.gelu(linear(norm(h, f"h{i}.ln2"), f"h{i}.fc")), f"h{i}.out")
        return F.cross_entropy(F.linear(norm(h, "lnf"), p["head.w"]).view(-1, words), y)

    return training(loss, torch.optim.AdamW(p.values(), lr=w["lr"], weight_decay=w["wd"]))


# ---- inference


def mobilenet(w):
    p = [parameter(x) for x in w["params"]]
    x = filled(7, 1, 3, 224, 224)

    def run():
        h = x
        for i, layer in enumerate(w["layers"]):
            if layer.get("start"):
                skip = h
            h = F.conv2d(h, p[2 * i], p[2 * i + 1], layer["s"], layer["pad"], groups=layer["groups"])
            if layer["act"]:
                h = F.relu6(h, inplace=True)
            if layer["res"]:
                h = h + skip
        return F.linear(h.mean((2, 3)), p[-2], p[-1])

    return Case(run)


def gpt2(w):
    """GPT-2 with its (in, out) matrices; with `past`, one more token after a filled cache."""
    wide, heads, length, past = (w[n] for n in ("D", "H", "S", "past"))
    each = wide // heads
    p = {x["name"]: parameter(x) for x in w["params"]}
    x = filled(7, length, wide)
    cache = [filled(20 + i, 1, heads, past, each) for i in range(2 * w["L"])] if past else None

    def norm(h, name):
        return F.layer_norm(h, (wide,), p[name + ".g"], p[name + ".b"])

    def linear(h, name):
        return torch.addmm(p[name + ".b"], h, p[name + ".w"])

    def run():
        h = x
        for i in range(w["L"]):
            q, k, v = linear(norm(h, f"h{i}.ln1"), f"h{i}.qkv").view(1, length, 3, heads, each).permute(2, 0, 3, 1, 4)
            if cache:
                k, v = torch.cat((cache[2 * i], k), 2), torch.cat((cache[2 * i + 1], v), 2)
            a = F.scaled_dot_product_attention(q, k, v, is_causal=length > 1)
            h = h + linear(a.transpose(1, 2).reshape(length, wide), f"h{i}.proj")
            h = h + linear(F.gelu(linear(norm(h, f"h{i}.ln2"), f"h{i}.fc"), approximate="tanh"), f"h{i}.out")
        return norm(h[-1:], "lnf") @ p["head.w"]

    return Case(run)


KINDS = {
    "matmul": matmul,
    "add": add,
    "add8": add,
    "add8_readback": add_and_read,
    "mulrelu": mulrelu,
    "exp": exp,
    "gelu": gelu,
    "sum": sums,
    "softmax": softmax,
    "layernorm": layernorm,
    "conv": conv,
    "train_mlp": train_mlp,
    "train_cnn": train_cnn,
    "train_gpt": train_gpt,
    "mobilenet": mobilenet,
    "gpt2": gpt2,
}


# ---- the benchmark's protocol


def about():
    import torchlite

    return json.dumps({"version": torchlite.__version__, "build": torchlite._core.native.variant})


def make(request):
    global current
    r = json.loads(request)
    workload, options = r["workload"], r["opts"]
    if workload["kind"] not in KINDS:
        return json.dumps({"skip": "not written for this column"})
    try:
        torch.set_grad_enabled(workload["kind"].startswith("train_"))
        case = KINDS[workload["kind"]](workload)
        start = now()
        check = case.check()
        first = (now() - start) * 1e3
        warm(case, options.get("warmMs", 120), options.get("slowMs", 2000))
        current = case
        return json.dumps({"first": first, "est": case.estimate, "check": check})
    except Exception as e:
        return json.dumps({"skip": f"error: {e}"[:200]})


def warm(case, enough, slow):
    """Runs the case for a while; its estimate is what one operation took."""
    runs = total = 0.0
    while runs < 2000:
        last = case.milliseconds(1)
        runs, total = runs + 1, total + last
        if last >= slow or (total >= enough and runs >= 3):
            break
    case.estimate = total / runs if runs > 3 else last


def sample(request):
    options = json.loads(request)["opts"]
    fill, budget = options.get("batchMs", 10), options.get("budgetMs", 120)
    n = max(1, min(current.most, math.ceil(fill / max(current.estimate, 1e-4))))
    samples, end = [], now() + budget / 1e3
    try:
        while not samples or (now() < end and len(samples) < 40):
            samples.append(current.milliseconds(n) / n)
    except Exception as e:
        return json.dumps({"error": f"{e}"[:200]})
    current.estimate = sorted(samples)[len(samples) // 2]
    return json.dumps({"k": n, "samples": samples})


def dispose(request):
    global current
    current = None
    gc.collect()
    return "{}"
