"""Writes random.json: what real PyTorch draws. Run with real torch: python tests/goldens/make_random.py

Every case is (seed, expression, dtype, values). test_random.py evaluates the expression with torchlite after
manual_seed(seed) and compares exactly (float64 transforms: to 2 ULP, libms differ).
"""

import json
import pathlib

import torch

SIZES = (1, 2, 7, 15, 16, 17, 31, 33, 100)
FLOATS = ("float32", "float64", "float16", "bfloat16")


def expressions():
    for n in SIZES:
        for d in FLOATS if n in (7, 17) else FLOATS[:2]:
            yield f"torch.rand({n}, dtype=torch.{d})"
            yield f"torch.randn({n}, dtype=torch.{d})"
    for d in FLOATS:
        e = f"torch.empty(20, dtype=torch.{d})"
        yield e + ".uniform_(-0.7, 2.3)"
        yield e + ".normal_(0.3, 1.7)"
        yield e + ".bernoulli_(0.3)"
        yield e + ".random_()"
        yield e + ".random_(100)"
        yield e + ".geometric_(0.3)"
    for d in FLOATS[:2]:
        e = f"torch.empty(9, dtype=torch.{d})"
        yield e + ".exponential_(1.7)"
        yield e + ".cauchy_(0.3, 1.3)"
        yield e + ".log_normal_(0.3, 1.3)"
        yield f"torch.bernoulli(torch.linspace(0, 1, 25, dtype=torch.{d}))"
        yield f"torch.multinomial(torch.arange(1, 9, dtype=torch.{d}), 5)"
        yield f"torch.multinomial(torch.arange(1, 9, dtype=torch.{d}).repeat(2, 1), 6, replacement=True)"
        yield f"torch.poisson(torch.linspace(0, 40, 17, dtype=torch.{d}))"
        yield f"torch.binomial(torch.full((9,), 40., dtype=torch.{d}), torch.linspace(0, 1, 9, dtype=torch.{d}))"
        yield f"torch._standard_gamma(torch.linspace(0.1, 9, 9, dtype=torch.{d}))"
    for d in ("int64", "int32", "int16", "int8", "uint8", "bool"):
        yield f"torch.empty(9, dtype=torch.{d}).random_()"
        yield f"torch.randint(0, 2, (9,), dtype=torch.{d})"
    for hi in (10, 2**28 - 1, 2**28, 2**33, 2**62):
        yield f"torch.randint(-5, {hi}, (9,))"
    for n in (1, 2, 10, 100):
        yield f"torch.randperm({n})"
    yield "torch.randperm(20, dtype=torch.int32)"
    yield "torch.randn(3, dtype=torch.complex64)"
    yield "torch.rand(3, dtype=torch.complex64)"
    # a strided target is filled in memory order
    yield "torch.empty(5, 4).t().normal_()"
    yield "torch.empty(5, 4).t().uniform_()"
    yield "torch.empty(6, 8)[::2, ::3].normal_()"
    # an odd count leaves one normal for the next call
    yield "torch.cat([torch.randn(3), torch.randn(4)])"
    yield "torch.cat([torch.randn(3), torch.rand(2), torch.randn(2)])"
    yield "torch.normal(torch.arange(5.), torch.arange(1., 6.))"
    yield "torch.nn.functional.dropout(torch.ones(30), 0.3)"
    yield "torch.nn.functional.dropout2d(torch.ones(3, 4, 2, 2), 0.5)"
    yield "torch.nn.functional.alpha_dropout(torch.ones(20), 0.3, training=True)"
    yield "torch.nn.functional.rrelu(torch.arange(-6., 6.), training=True)"
    yield "torch.nn.init.xavier_uniform_(torch.empty(4, 5))"
    yield "torch.nn.init.kaiming_normal_(torch.empty(4, 5))"
    yield "torch.nn.init.trunc_normal_(torch.empty(4, 5))"
    yield "torch.nn.init.orthogonal_(torch.empty(3, 3)).abs().sum()"
    yield "torch.nn.Linear(5, 3).weight.detach()"
    yield "torch.nn.Conv2d(2, 3, 3).bias.detach()"


def numbers(t):
    if t.is_complex():
        t = torch.view_as_real(t)
    return [[float(v).hex() for v in t.flatten().tolist()] if t.is_floating_point() else t.flatten().tolist()][0]


def main():
    cases = []
    for e in expressions():
        for seed in (0, 123456789012):
            torch.manual_seed(seed)
            t = eval(e)
            cases.append([seed, e, str(t.dtype)[6:], list(t.shape), numbers(t)])
    torch.manual_seed(7)
    torch.randn(3)
    torch.rand(700)
    state = torch.get_rng_state()
    out = {
        "torch": torch.__version__,
        "cases": cases,
        "state": bytes(state.tolist()).hex(),
        "after_state": numbers(torch.randn(5)),
    }
    path = pathlib.Path(__file__).with_name("random.json")
    path.write_text(json.dumps(out, separators=(",", ":")) + "\n")
    print(len(cases), "cases,", path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
