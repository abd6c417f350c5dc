"""Writes printing.json: how real PyTorch prints tensors made by short snippets, under various print options.
Run with PyTorch installed: python tests/goldens/make_printing.py
"""

import json
import math
import pathlib
import random

FIXED = """
torch.tensor(3)
torch.tensor(3.)
torch.tensor(3.14159265)
torch.tensor(True)
torch.tensor(1 + 2j)
torch.tensor(float("nan"))
torch.tensor(-0.)
torch.tensor(1e10)
torch.tensor([])
torch.empty(0, 3)
torch.empty(0, dtype=torch.int64)
torch.empty(2, 0, 3, dtype=torch.float64)
torch.empty(0, dtype=torch.bool)
torch.tensor([1., 2., 3.])
torch.tensor([1., 2.5, 3.])
torch.tensor([1e-5, 1.])
torch.tensor([1e9, 1.])
torch.tensor([1e5, 1.])
torch.tensor([1000., 0.5])
torch.tensor([1., float("inf")])
torch.tensor([1.5, float("nan"), -float("inf")])
torch.tensor([float("nan"), float("inf")])
torch.tensor([0., -0.])
torch.tensor([1e-45])
torch.tensor([3.4e38, -3.4e38])
torch.tensor([1.5], dtype=torch.float16)
torch.tensor([65504., 1.], dtype=torch.float16)
torch.tensor([1.5, 3], dtype=torch.bfloat16)
torch.tensor([1, 2], dtype=torch.uint8)
torch.tensor([-128, 127], dtype=torch.int8)
torch.tensor([1, -20, 300], dtype=torch.int32)
torch.tensor([2**62, -1])
torch.tensor([True, False])
torch.tensor([[True, False], [False, True]])
torch.tensor([1 + 2j, -3.5 - 1j])
torch.tensor([1 + 2j, 3 - 4j], dtype=torch.complex128)
torch.tensor([0j, complex("nan")])
torch.arange(30)
torch.arange(30.)
torch.arange(1000)
torch.arange(1001)
torch.arange(1001.) / 7
torch.arange(24).reshape(2, 3, 4)
torch.arange(24.).reshape(2, 3, 4) / 3
torch.arange(16).reshape(2, 2, 2, 2)
torch.arange(10000).reshape(100, 100)
torch.arange(10000.).reshape(10, 10, 10, 10) / 9
torch.arange(4000).reshape(2, 2000)
torch.arange(4000).reshape(2000, 2)
torch.arange(4000).reshape(4, 1000).to(torch.float64) / 1e5
torch.eye(3)
torch.eye(40)
torch.zeros(2, 3, dtype=torch.float64)
torch.ones(3, requires_grad=True)
torch.ones(2, 20, requires_grad=True)
torch.ones(3, requires_grad=True) * 2
torch.ones(2, 2, requires_grad=True).sum()
torch.ones(3, dtype=torch.float64, requires_grad=True) * 2
torch.ones(3, dtype=torch.float64, requires_grad=True).exp()
torch.ones(2, 3, requires_grad=True) @ torch.ones(3, 2)
torch.ones(2, 3, requires_grad=True)[0]
torch.ones(2, 3, requires_grad=True).t()
torch.ones(2, 3, requires_grad=True).relu().detach()
torch.nn.Parameter(torch.ones(2))
torch.nn.Parameter(torch.ones(2), requires_grad=False)
torch.nn.Parameter(torch.arange(6.).reshape(2, 3) / 7)
torch.empty(2, 3, device="meta")
torch.empty(2, device="meta", dtype=torch.int64)
torch.empty(0, device="meta")
[torch.ones(2), torch.tensor(1)]
{"a": torch.ones(1)}
torch.Size([2, 3])
torch.float32
torch.device("cpu")
torch.strided, torch.channels_last
torch.finfo(torch.float32)
torch.finfo(torch.float16), torch.finfo(torch.bfloat16), torch.finfo(torch.float64)
torch.iinfo(torch.int32), torch.iinfo(torch.uint8)
f"{torch.tensor(1.5):.3f} {torch.tensor(7)} {torch.tensor([1, 2])}"
str(torch.tensor([1.5]))
torch.ones(3).max(0)
torch.ones(2, 2).sort()
"""

OPTIONS = [
    {},
    {},
    {},
    {},
    {"precision": 2},
    {"precision": 8, "sci_mode": True},
    {"sci_mode": False},
    {"threshold": 5},
    {"threshold": 5, "edgeitems": 1},
    {"edgeitems": 2, "threshold": 20, "linewidth": 40},
    {"profile": "full"},
    {"profile": "short"},
    {"linewidth": 120},
    {"linewidth": 20},
    {"threshold": 3, "edgeitems": 0},
    {"precision": 0},
]


def random_case(rng):
    """Code that makes a tensor of a random shape, dtype and range of values."""
    shape = [rng.choice([1, 1, 2, 3, 4, 5, 7, 9]) for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 4]))]
    while math.prod(shape) > 60:
        shape[rng.randrange(len(shape))] = 1
    n = math.prod(shape)
    dtype = rng.choice(
        ["float32"] * 5
        + ["float64", "float16", "bfloat16", "int64", "int32", "uint8", "bool", "complex64", "complex128", "int8"]
    )
    scale, special = rng.choice([1, 1, 1, 10, 1e-3, 1e-6, 1e4, 1e9]), rng.random() < 0.25
    whole, wide = rng.random() < 0.3, rng.random() < 0.2

    def number():
        v = rng.gauss(0, 1) * scale * (math.exp(rng.gauss(0, 4)) if wide else 1)
        v = float(round(v)) if whole else float(f"{v:.7g}")
        return rng.choice([math.nan, math.inf, -math.inf, 0.0, -0.0]) if special and rng.random() < 0.3 else v

    if dtype.startswith("complex"):
        values = [complex(number(), number()) for _ in range(n)]
    elif dtype == "bool":
        values = [rng.random() < 0.5 for _ in range(n)]
    elif "int" in dtype:
        high = rng.choice([5, 100])
        values = [rng.randrange(0 if dtype == "uint8" else -high, high) for _ in range(n)]
    else:
        values = [number() for _ in range(n)]
    grad = ", requires_grad=True" if dtype[0] in "fcb" and dtype != "bool" and rng.random() < 0.15 else ""
    listed = ", ".join(f"complex({v.real}, {v.imag})" if isinstance(v, complex) else str(v) for v in values)
    return f"torch.tensor([{listed}], dtype=torch.{dtype}{grad})" + ("" if grad else f".reshape({shape})")


def show(torch, case):
    """The text of one case."""
    torch.set_printoptions(profile="default")
    torch.set_default_dtype(getattr(torch, case["default"]))
    try:
        torch.set_printoptions(**case["options"])
        return repr(eval(case["code"], {"torch": torch, "nan": math.nan, "inf": math.inf, "complex": complex}))
    finally:
        torch.set_printoptions(profile="default")
        torch.set_default_dtype(torch.float32)


def main():
    import torch

    rng = random.Random(0)
    cases = [{"code": code, "options": {}, "default": "float32"} for code in FIXED.strip().splitlines()]
    codes = [code for code in FIXED.strip().splitlines() if "torch.arange" in code or "tensor([" in code]
    cases += [{"code": rng.choice(codes), "options": rng.choice(OPTIONS[4:]), "default": "float32"} for _ in range(60)]
    cases += [
        {"code": random_case(rng), "options": rng.choice(OPTIONS), "default": rng.choice(["float32"] * 4 + ["float64"])}
        for _ in range(300)
    ]
    cases = [c for c in cases if not ("full" in c["options"].values() and "000" in c["code"])]
    for case in cases:
        case["text"] = show(torch, case)
    path = pathlib.Path(__file__).with_name("printing.json")
    path.write_text(json.dumps({"torch": torch.__version__, "cases": cases}, indent=0, ensure_ascii=False) + "\n")
    print(len(cases), "cases,", path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
