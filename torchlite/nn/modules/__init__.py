"""The layers of torch.nn, one file for each family; the rare ones are loaded when first used."""

from .activation import *  # noqa: F403
from .batchnorm import *  # noqa: F403
from .container import *  # noqa: F403
from .conv import *  # noqa: F403
from .dropout import *  # noqa: F403
from .flatten import *  # noqa: F403
from .linear import Bilinear, Identity, LazyLinear, Linear
from .loss import *  # noqa: F403
from .module import Module
from .normalization import *  # noqa: F403
from .pooling import *  # noqa: F403
from .sparse import *  # noqa: F403

_LAZY = {}
for _file, _names in {
    "adaptive": "AdaptiveLogSoftmaxWithLoss",
    "channelshuffle": "ChannelShuffle",
    "distance": "CosineSimilarity PairwiseDistance",
    "fold": "Fold Unfold",
    "instancenorm": "InstanceNorm1d InstanceNorm2d InstanceNorm3d LazyInstanceNorm1d LazyInstanceNorm2d "
    "LazyInstanceNorm3d",
    "linear_cross_entropy_options": "LinearCrossEntropyOptions",
    "padding": "CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d ReflectionPad1d "
    "ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d ZeroPad1d ZeroPad2d "
    "ZeroPad3d",
    "pixelshuffle": "PixelShuffle PixelUnshuffle",
    "rnn": "GRU GRUCell LSTM LSTMCell RNN RNNBase RNNCell RNNCellBase",
    "transformer": "Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer",
    "upsampling": "Upsample UpsamplingBilinear2d UpsamplingNearest2d",
}.items():
    for _name in _names.split():
        _LAZY[_name] = _file
_FILES = {*_LAZY.values(), "lazy", "utils", "module"}

_EAGER = [n for n, v in list(globals().items()) if isinstance(v, type) and issubclass(v, Module)]
__all__ = _EAGER + list(_LAZY)
del _file, _names, _name


def __getattr__(name):
    file = _LAZY.get(name)
    if file is None and name not in _FILES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    from importlib import import_module

    module = import_module("." + (file or name), __name__)
    if file is None:
        return module
    value = globals()[name] = getattr(module, name)
    return value
