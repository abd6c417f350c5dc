"""Where PyTorch has a function that torchlite has elsewhere: overrides, graphs and pickles see that place."""

from __future__ import annotations

import types

from .. import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# functions of torch.nn.functional that PyTorch has in C++, by where they show
IN_NN = frozenset(
    """hardtanh_ elu_ leaky_relu_ log_sigmoid gelu softplus softshrink linear one_hot scaled_dot_product_attention
    avg_pool2d avg_pool3d""".split()
)
IN_TORCH = frozenset(
    """conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d conv_tbc bilinear pixel_shuffle
    pixel_unshuffle channel_shuffle native_channel_shuffle avg_pool1d adaptive_avg_pool1d hardshrink celu_ selu_ rrelu_
    prelu pairwise_distance cosine_similarity pdist relu_ threshold_ logsumexp""".split()
)
# what PyTorch keeps in torch.functional
IN_FUNCTIONAL = frozenset(
    """align_tensors atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod cdist
    chain_matmul einsum lu meshgrid norm split stft tensordot unique unique_consecutive unravel_index""".split()
)
_PREFIXED = {"torch.fft": "fft", "torch.special": "special", "torch.linalg": "linalg"}
# functions written in Python here that PyTorch has in C++
_CPP = frozenset("avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d gradient histogramdd".split())


def torch_name(module: str) -> str:
    """A module's name as PyTorch has it."""
    return "torch" + module[9:] if module.partition(".")[0] == "torchlite" else module


def in_python(home: str, name: str) -> bool:
    """Whether an op is a Python function in PyTorch."""
    if home.endswith(".nn.functional"):
        return name not in IN_NN and name not in IN_TORCH
    return home == "torch" and name in IN_FUNCTIONAL


def in_cpp(function: Any) -> bool:
    """Whether PyTorch has a function in C++; such functions hand arguments on as they get them."""
    return not function.in_python if type(function) is _C.Op else function.__name__ in _CPP


def _functional(name: str) -> str:
    if name in IN_NN:
        return "torch._C._nn." + name
    return ("torch." if name in IN_TORCH else "torch.nn.functional.") + name


def path(func: Any) -> str | None:
    """PyTorch's path of an op, or of a function of torchlite's; None where it is that of its module and name."""
    import torchlite as torch

    name, module = getattr(func, "__name__", None), getattr(func, "__module__", None)
    if not isinstance(name, str) or not isinstance(module, str):
        return None
    home = torch_name(module)
    op = isinstance(func, _C.Op)
    if not op and module.partition(".")[0] != "torchlite":
        return None
    if op and home in _PREFIXED:
        prefix = _PREFIXED[home]
        return "torch._C._%s.%s_%s" % (prefix, prefix, name.removeprefix(prefix + "_"))
    if home.startswith("torch.nn._") or op and home == "torch.nn.functional":
        return _functional(name)
    if op or home in ("torch.functional", "torch._core.lazy_names") or home.startswith("torch.ops."):
        if not op and home.startswith("torch.ops.") and not isinstance(func, (_C.Function, types.FunctionType)):
            return None
        if name in IN_FUNCTIONAL:
            return "torch.functional." + name
        if not op and vars(torch.nn.functional).get(name) is func:
            return _functional(name)
        return "torch." + name
    return None
