"""Random modules of torch.nn: constructors with options, and inputs that mostly suit them.

Each function gives (class, positional arguments, named ones, inputs); an input is (kind of numbers, shape, bound)."""

from __future__ import annotations

from random import Random
from typing import Any

from fuzz_parts.case import chance

Input = tuple[str, list[int], int]
Layer = tuple[str, tuple[Any, ...], dict[str, Any], list[Input]]


def floats(shape: Any) -> Input:
    return "normal", list(shape), 0


def image(r: Random, dims: int, channels: int, unbatched: bool = True, lo: int = 3, hi: int = 9) -> Input:
    sizes = [r.randint(lo, hi) for _ in range(dims)]
    batch = [] if unbatched and chance(r, 0.15) else [r.choice([1, 2, 3])]
    return floats([*batch, channels, *sizes])


def each(r: Random, dims: int, values: list[Any]) -> Any:
    """One value for all dims, or one for each."""
    return r.choice(values) if chance(r) else tuple(r.choice(values) for _ in range(dims))


def convolution(r: Random) -> Layer:
    dims, transposed = r.choice([1, 2, 3]), chance(r)
    groups = r.choice([1, 1, 1, 2, 3])
    channels = groups * r.choice([1, 2]), groups * r.choice([1, 2, 3])
    size = each(r, dims, [1, 2, 3])
    named: dict[str, Any] = {
        "stride": each(r, dims, [1, 1, 2]),
        "dilation": each(r, dims, [1, 1, 2]),
        "groups": groups,
        "bias": chance(r),
    }
    if transposed:
        named["padding"] = each(r, dims, [0, 1])
        named["output_padding"] = r.choice([0, 0, each(r, dims, [0, 1])])
    else:
        same = ["same"] if named["stride"] in (1, (1,) * dims) else []
        named["padding"] = r.choice([each(r, dims, [0, 1, 2]), "valid", *same])
        modes = ["zeros"] * 3 + ["reflect", "replicate", "circular"]
        named["padding_mode"] = "zeros" if named["padding"] == "valid" else r.choice(modes)
    return f"Conv{'Transpose' * transposed}{dims}d", (*channels, size), named, [image(r, dims, channels[0])]


def pool(r: Random) -> Layer:
    dims = r.choice([1, 2, 3])
    size = each(r, dims, [1, 2, 3])
    named: dict[str, Any]
    kind = r.choice(["MaxPool", "AvgPool", "LPPool", "AdaptiveAvgPool", "AdaptiveMaxPool"])
    if kind == "MaxPool":
        named = {"stride": r.choice([None, each(r, dims, [1, 2])]), "padding": r.choice([0, 0, 1])}
        named |= {"dilation": r.choice([1, 1, 2]), "ceil_mode": chance(r), "return_indices": chance(r, 0.3)}
        arguments: tuple[Any, ...] = (size,)
    elif kind == "AvgPool":
        named = {"stride": r.choice([None, each(r, dims, [1, 2])]), "padding": r.choice([0, 0, 1])}
        named |= {"ceil_mode": chance(r), "count_include_pad": chance(r)}
        if dims > 1 and chance(r, 0.3):
            named["divisor_override"] = r.choice([1, 3])
        arguments = (size,)
    elif kind == "LPPool":
        arguments, named = (r.choice([1, 2, 3.0]), size), {"stride": r.choice([None, 2]), "ceil_mode": chance(r)}
        positive = image(r, dims, 2)
        return f"{kind}{dims}d", arguments, named, [("positive", positive[1], 0)]
    elif kind == "AdaptiveAvgPool":
        arguments, named = (each(r, dims, [1, 2, 3, 5, *([None] if dims > 1 else [])]),), {}
    else:
        arguments, named = (each(r, dims, [1, 2, 3, 5]),), {"return_indices": chance(r, 0.3)}
    return f"{kind}{dims}d", arguments, named, [image(r, dims, 2)]


def norm(r: Random) -> Layer:
    channels, dims = r.choice([2, 4, 6]), r.choice([1, 2, 3])
    kind = r.choice(["BatchNorm", "InstanceNorm", "GroupNorm", "LayerNorm", "RMSNorm", "LocalResponseNorm"])
    if kind == "BatchNorm":
        x = image(r, dims, channels, False, 1, 5)
        if dims == 1 and chance(r, 0.4):
            x = floats([r.choice([2, 3]), channels])
        named: dict[str, Any] = {"eps": r.choice([1e-5, 1e-3]), "momentum": r.choice([0.1, None, 0.5])}
        named |= {"affine": chance(r, 0.8), "track_running_stats": chance(r, 0.8)}
        return f"BatchNorm{dims}d", (channels,), named, [x]
    if kind == "InstanceNorm":
        named = {"affine": chance(r), "track_running_stats": chance(r, 0.4)}
        return f"InstanceNorm{dims}d", (channels,), named, [image(r, dims, channels, True, 2, 5)]
    if kind == "GroupNorm":
        x = image(r, r.choice([0, 1, 2, 3]), channels, False, 2, 4)
        return kind, (r.choice([1, 2, channels]), channels), {"affine": chance(r)}, [x]
    if kind == "LocalResponseNorm":
        named = {"alpha": r.choice([1e-4, 1.0]), "k": r.choice([1.0, 2.0])}
        return kind, (r.choice([1, 2, 3]),), named, [image(r, 2, channels, False)]
    shape = [r.choice([1, 2, 3]) for _ in range(r.choice([1, 2, 3]))]
    named = {"elementwise_affine": chance(r, 0.7)}
    if kind == "LayerNorm":
        named["bias"] = chance(r)
    return kind, (tuple(shape),), named, [floats([r.choice([1, 2]) for _ in range(r.choice([0, 1, 2]))] + shape)]


ACTIVATIONS: dict[str, Any] = {
    **{name: lambda r: ((), {"alpha": r.choice([1.0, 0.5, 2.0])}) for name in ("ELU", "CELU")},
    **{name: lambda r: ((r.choice([0.5, 0.1, 1.0]),), {}) for name in ("Hardshrink", "Softshrink")},
    **{name: lambda r: ((), {"dim": r.choice([0, -1, 1])}) for name in ("Softmin", "Softmax", "LogSoftmax")},
    "Hardtanh": lambda r: ((r.choice([-1.0, -2]), r.choice([1.0, 0.5])), {}),
    "LeakyReLU": lambda r: ((r.choice([0.01, 0.5]),), {}),
    "PReLU": lambda r: ((r.choice([1, 4]),), {}),
    "GELU": lambda r: ((), {"approximate": r.choice(["none", "tanh"])}),
    "Softplus": lambda r: ((), {"beta": r.choice([1.0, 2.0, 0.5]), "threshold": r.choice([20.0, 1.0])}),
    "Threshold": lambda r: ((r.choice([0.1, -0.5]), r.choice([0, 20.0])), {}),
    "GLU": lambda r: ((r.choice([-1, 1]),), {}),
}
WITHOUT = "Hardsigmoid Hardswish LogSigmoid ReLU ReLU6 RReLU SELU Sigmoid SiLU Mish Softsign Tanh".split()
WITHOUT += ["Tanhshrink", "Softmax2d"]
INPLACE = "ELU CELU Hardsigmoid Hardtanh Hardswish LeakyReLU ReLU ReLU6 SELU SiLU Mish Threshold RReLU".split()


def activation(r: Random) -> Layer:
    name = r.choice([*ACTIVATIONS, *WITHOUT])
    arguments, named = ACTIVATIONS[name](r) if name in ACTIVATIONS else ((), {})
    if name in INPLACE:
        named["inplace"] = chance(r, 0.2)
    return name, arguments, named, [floats([r.choice([2, 3]), 4, 4, r.choice([1, 2])])]
