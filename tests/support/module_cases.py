"""Arguments with which every module of torch.nn can be made."""

from __future__ import annotations

import warnings
from typing import Any

_TWO = "PixelShuffle PixelUnshuffle ChannelShuffle LocalResponseNorm CrossMapLRN2d Unfold ReflectionPad1d ZeroPad1d"
ARGS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(_TWO.split(), (2,)),
    **{f"{kind}{n}d": (2, 2, 1) for kind in ("Conv", "ConvTranspose", "LazyConv") for n in (1, 2, 3)},
    **{f"LazyConvTranspose{n}d": (2, 1) for n in (1, 2, 3)},
    **{f"LazyConv{n}d": (2, 1) for n in (1, 2, 3)},
    **{f"ConstantPad{n}d": (1, 1.0) for n in (1, 2, 3)},
    **{name: (3, 4) for name in ("LSTM", "GRU", "RNN", "LSTMCell", "GRUCell", "RNNCell")},
    "Linear": (4, 3),
    "Bilinear": (2, 3, 4),
    "LazyLinear": (3,),
    "RNNBase": ("LSTM", 3, 4),
    "RNNCellBase": (3, 4, True, 4),
    "Embedding": (5, 2),
    "EmbeddingBag": (5, 2),
    "MultiheadAttention": (4, 2),
    "Transformer": (4, 2, 1, 1, 8),
    "TransformerEncoderLayer": (4, 2),
    "TransformerDecoderLayer": (4, 2),
    "GroupNorm": (2, 4),
    "LayerNorm": (4,),
    "RMSNorm": (4,),
    "Upsample": (None, 2),
    "UpsamplingNearest2d": (None, 2),
    "UpsamplingBilinear2d": (None, 2),
    "Threshold": (0.1, 1.0),
    "Fold": ((4, 4), 2),
    "AdaptiveLogSoftmaxWithLoss": (4, 6, [2]),
    "Unflatten": (1, (2, 2)),
    "FractionalMaxPool2d": (2, 2),
    "FractionalMaxPool3d": (2, 2),
}


def modules(torch: Any) -> dict[str, Any]:
    """An instance of each class that torch.nn.modules names, by its name."""
    nn, made = torch.nn, {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in nn.modules.__all__:
            kind = getattr(nn, name)
            if not issubclass(kind, nn.Module):
                continue
            if name in ("TransformerEncoder", "TransformerDecoder"):
                made[name] = kind(getattr(nn, name + "Layer")(4, 2), 1)
                continue
            for args in [ARGS[name]] if name in ARGS else [(), (2,), (2, 2)]:
                try:
                    made[name] = kind(*args)
                    break
                except TypeError:  # a required argument is missing
                    continue
    return made
