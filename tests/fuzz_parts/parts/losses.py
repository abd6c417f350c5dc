"""Random losses and the other modules, in the form of layers.py."""

from __future__ import annotations

from random import Random
from typing import Any

from fuzz_parts.case import chance
from fuzz_parts.parts.layers import Layer, each, floats, image

LOSSES = (
    "L1Loss MSELoss CrossEntropyLoss NLLLoss PoissonNLLLoss GaussianNLLLoss KLDivLoss BCELoss BCEWithLogitsLoss "
    "MarginRankingLoss HingeEmbeddingLoss MultiLabelMarginLoss HuberLoss SmoothL1Loss SoftMarginLoss CTCLoss "
    "MultiLabelSoftMarginLoss CosineEmbeddingLoss MultiMarginLoss TripletMarginLoss"
).split()


def classes(r: Random, name: str, shape: list[int], named: dict[str, Any]) -> Layer:
    """NLLLoss and CrossEntropyLoss."""
    shape += [r.choice([1, 2, 3]) for _ in range(r.choice([0, 0, 1, 2]))]
    target = ("index", shape[:1] + shape[2:], shape[1])
    if name == "CrossEntropyLoss" and chance(r, 0.4):
        named["label_smoothing"] = r.choice([0.1, 0.5])
    if name == "CrossEntropyLoss" and chance(r, 0.3):
        target = ("unit", shape, 0)
    elif chance(r, 0.3):
        named["ignore_index"] = r.choice([0, 1, -100])
    return name, (), named, [floats(shape), target]


def loss(r: Random) -> Layer:
    name = r.choice(LOSSES)
    named: dict[str, Any] = {"reduction": r.choice(["mean", "sum", "none"])}
    shape = [r.choice([1, 2, 3]), r.choice([2, 4])]
    x, margin = floats(shape), r.choice([0.0, 0.5])
    unit, positive, sign = ("unit", shape, 0), ("positive", shape, 0), ("sign", shape, 0)
    if name in ("CrossEntropyLoss", "NLLLoss"):
        return classes(r, name, shape, named)
    if name == "CTCLoss":
        named |= {"blank": r.choice([0, 0, 2]), "zero_infinity": chance(r)}
        lengths = [("index", [2], 4), ("index", [2], 3)]
        return name, (), named, [floats([4, 2, 3]), ("index", [2, 3], 3), *lengths]
    if name == "PoissonNLLLoss":
        return name, (), named | {"log_input": chance(r), "full": chance(r)}, [x, positive]
    if name == "GaussianNLLLoss":
        return name, (), named | {"full": chance(r)}, [x, x, positive]
    if name == "KLDivLoss":
        named |= {"log_target": chance(r), "reduction": r.choice(["mean", "sum", "none", "batchmean"])}
        return name, (), named, [x, unit]
    if name == "BCELoss":
        return name, (), named, [unit, unit]
    if name in ("BCEWithLogitsLoss", "MultiLabelSoftMarginLoss"):
        return name, (), named, [x, unit]
    if name == "MarginRankingLoss":
        return name, (), named | {"margin": margin}, [x, x, sign]
    if name in ("HingeEmbeddingLoss", "SoftMarginLoss"):
        return name, (), named, [x, sign]
    if name == "MultiLabelMarginLoss":
        return name, (), named, [x, ("index", shape, shape[1])]
    if name == "CosineEmbeddingLoss":
        return name, (), named | {"margin": margin}, [x, x, ("sign", shape[:1], 0)]
    if name == "MultiMarginLoss":
        named |= {"p": r.choice([1, 2]), "margin": r.choice([1.0, 0.5])}
        return name, (), named, [x, ("index", shape[:1], shape[1])]
    if name == "TripletMarginLoss":
        named |= {"p": r.choice([1.0, 2.0]), "swap": chance(r), "margin": r.choice([1.0, 0.5])}
        return name, (), named, [x, x, x]
    if name == "HuberLoss":
        named["delta"] = r.choice([1.0, 0.3])
    if name == "SmoothL1Loss":
        named["beta"] = r.choice([1.0, 0.3, 0.0])
    return name, (), named, [x, x]


def upsample(r: Random) -> Layer:
    mode = r.choice(["nearest", "linear", "bilinear", "bicubic", "trilinear", "nearest-exact", "area"])
    dims = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}.get(mode) or r.choice([1, 2, 3])
    named: dict[str, Any] = {"mode": mode}
    if chance(r):
        named["size"] = each(r, dims, [1, 2, 5, 7])
    else:
        named["scale_factor"] = r.choice([2, 0.5, 1.7, 0.3, tuple(r.choice([2.0, 1.5]) for _ in range(dims))])
    if "linear" in mode or mode == "bicubic":
        named["align_corners"] = r.choice([None, True, False])
    return "Upsample", (), named, [image(r, dims, 2, False, 2, 6)]


def padding(r: Random) -> Layer:
    names = "ZeroPad2d ReflectionPad1d ReflectionPad2d ReplicationPad3d ConstantPad1d CircularPad2d ReflectionPad3d"
    name = r.choice(names.split())
    dims = int(name[-2])
    size = r.choice([1, 2, tuple(r.choice([0, 1, 2, -1]) for _ in range(2 * dims))])
    value = (r.choice([0, 3.5]),) if name.startswith("Constant") else ()
    return name, (size, *value), {}, [image(r, dims, 2, True, 3, 6)]


def recurrent(r: Random) -> Layer:
    name = r.choice(["RNN", "LSTM", "GRU", "LSTMCell", "GRUCell", "RNNCell"])
    named: dict[str, Any] = {"bias": chance(r, 0.8)}
    if name == "RNN" or name == "RNNCell":
        named["nonlinearity"] = r.choice(["tanh", "relu"])
    if name.endswith("Cell"):
        return name, (3, 4), named, [floats(r.choice([[2, 3], [3]]))]
    named |= {"num_layers": r.choice([1, 2]), "batch_first": chance(r), "bidirectional": chance(r, 0.3)}
    if name == "LSTM" and chance(r, 0.3):
        named["proj_size"] = 2
    return name, (3, 4), named, [floats(r.choice([[5, 2, 3], [4, 3], [1, 1, 3]]))]


def attention(r: Random) -> Layer:
    kind = r.choice(["MultiheadAttention", "TransformerEncoderLayer", "TransformerDecoderLayer"])
    named: dict[str, Any] = {"bias": chance(r, 0.7), "batch_first": chance(r)}
    shape = r.choice([[3, 2, 4], [3, 4]])
    if kind == "MultiheadAttention":
        named |= {"add_bias_kv": chance(r, 0.2), "add_zero_attn": chance(r, 0.2)}
        return kind, (4, r.choice([1, 2, 4])), named, [floats(shape)] * 3
    named |= {"dropout": 0.0, "activation": r.choice(["relu", "gelu"]), "norm_first": chance(r)}
    return kind, (4, 2, 6), named, [floats(shape)] * (1 if "Encoder" in kind else 2)


def small(r: Random) -> Layer:
    """Modules with one or two options."""
    few = [r.choice([1, 2]) for _ in range(r.choice([0, 1, 2, 3]))]
    axis = r.choice([0, 1, -1])
    embedding = {"padding_idx": r.choice([None, 0, -1]), "max_norm": r.choice([None, None, 1.0])}
    embedding |= {"norm_type": r.choice([2.0, 1.0]), "scale_grad_by_freq": chance(r, 0.3)}
    bag = {"mode": r.choice(["sum", "mean", "max"]), "padding_idx": r.choice([None, 1])}
    layers: list[Layer] = [
        ("Linear", (3, r.choice([1, 4])), {"bias": chance(r)}, [floats([*few, 3])]),
        ("Bilinear", (3, 2, 4), {"bias": chance(r)}, [floats([*few[:2], 3]), floats([*few[:2], 2])]),
        ("Embedding", (7, 3), embedding, [("index", few, 7)]),
        ("EmbeddingBag", (7, 3), bag, [("index", [r.choice([1, 2]), r.choice([1, 4])], 7)]),
        (
            "Unfold",
            (each(r, 2, [1, 2, 3]),),
            {"dilation": r.choice([1, 2]), "padding": r.choice([0, 1]), "stride": r.choice([1, 2])},
            [image(r, 2, 2)],
        ),
        ("Fold", ((4, 5), (2, 2)), {}, [floats(r.choice([[2, 8, 12], [8, 12], [2, 8, 11]]))]),
        ("PixelShuffle", (2,), {}, [floats([r.choice([1, 2]), 8, r.choice([2, 3]), 3])]),
        ("PixelUnshuffle", (2,), {}, [floats([r.choice([1, 2]), 2, r.choice([2, 4]), 4])]),
        (
            "CosineSimilarity",
            (),
            {"dim": axis, "eps": r.choice([1e-8, 1.0])},
            [floats([2, 3]), floats(r.choice([[2, 3], [1, 3], [3]]))],
        ),
        (
            "PairwiseDistance",
            (),
            {"p": r.choice([1.0, 2.0, 3.5, float("inf")]), "keepdim": chance(r)},
            [floats([2, 3]), floats(r.choice([[2, 3], [1, 3]]))],
        ),
        ("Flatten", (r.choice([0, 1, 2]), r.choice([-1, 2])), {}, [floats([2, 3, 4])]),
        ("Unflatten", (r.choice([1, -1]), (2, r.choice([2, -1]))), {}, [floats([2, 4])]),
        ("ChannelShuffle", (r.choice([1, 2]),), {}, [floats([r.choice([1, 2]), 4, 2, 3])]),
        ("Identity", (), {}, [floats([2, 3])]),
    ]
    return r.choice(layers)


def other(r: Random) -> Layer:
    return r.choice([small, small, upsample, padding, recurrent, attention])(r)
