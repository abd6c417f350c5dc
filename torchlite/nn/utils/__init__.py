"""Utilities for modules; each is loaded when first used."""

from .spectral_norm import remove_spectral_norm, spectral_norm
from .weight_norm import remove_weight_norm, weight_norm

_LAZY = {}
for _file, _names in {
    "clip_grad": "clip_grad_norm clip_grad_norm_ clip_grad_value_ clip_grads_with_norm_ get_total_norm",
    "convert_parameters": "parameters_to_vector vector_to_parameters",
    "fusion": "fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights",
    "init": "skip_init",
    "memory_format": "convert_conv2d_weight_memory_format convert_conv3d_weight_memory_format",
}.items():
    for _name in _names.split():
        _LAZY[_name] = _file
_FILES = {"parametrize", "parametrizations", "rnn", "stateless", "prune", "fusion", "convert_parameters"}
__all__ = [
    *_LAZY,
    "remove_spectral_norm",
    "remove_weight_norm",
    "spectral_norm",
    "weight_norm",
    "parametrizations",
    "rnn",
    "stateless",
]
del _file, _names, _name


def __getattr__(name):
    from importlib import import_module

    if name in _LAZY:
        value = globals()[name] = getattr(import_module("." + _LAZY[name], __name__), name)
        return value
    if name in _FILES:
        return import_module("." + name, __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
