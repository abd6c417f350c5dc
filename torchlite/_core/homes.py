"""PyTorch's modules of functions that torchlite keeps in others: overrides, graphs and pickles name PyTorch's."""

from __future__ import annotations

from types import FunctionType

from .. import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
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
PREFIXED = ("fft", "special", "linalg")  # functions of torch.fft.f are named fft_f in PyTorch
# functions written in Python here that PyTorch has in C++
_CPP = frozenset(
    """avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_max_pool1d gradient histogramdd is_complex is_conj
    is_floating_point is_inference is_neg is_nonzero is_signed numel _assert_async as_tensor asarray from_numpy
    frombuffer tensor sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor sparse_coo_tensor sparse_csc_tensor
    sparse_csr_tensor dsmm hspmm saddmm smm spmm sspaddmm ccol_indices coalesce col_indices cpu crow_indices cuda
    dense_dim detach_ indices is_coalesced is_pinned is_same_size is_set_to map_ apply_ numpy pin_memory
    new new_tensor requires_grad_ resize_ resize_as_ result_type row_indices set_ sparse_dim sparse_mask to_dense
    to_mkldnn to_sparse type untyped_storage values""".split()
)
_LOW_RANK = ("pca_lowrank", "svd_lowrank")
_root = ["torchlite"]  # what modules of this package are called: "torch" while that name is an alias


def place(space: str, name: str) -> tuple[str, str]:
    """The module that a public function of a namespace ("", "nn", "fft" ...) has in PyTorch, and its name there."""
    if space in PREFIXED:
        return "%s._C._%s" % (_root[0], space), "%s_%s" % (space, name.removeprefix(space + "_"))
    if space in ("nn", "_nn") and name in IN_NN:
        return _root[0] + "._C._nn", name
    if space == "nn" and name not in IN_TORCH:
        return _root[0] + ".nn.functional", name
    if space == "" and name in IN_FUNCTIONAL:
        return _root[0] + ".functional", name
    if space == "" and name in _LOW_RANK:
        return _root[0] + "._lowrank", name
    return _root[0], name


def rename_root(name: str, tables: Iterable[dict[str, Any]]) -> None:
    """Lets the functions of these tables say that they are in "torch", or in "torchlite" again."""
    old, _root[0] = _root[0], name
    seen = set()
    for table in tables:
        for function in table.values():
            if type(function) in (_C.Op, _C.Function, FunctionType) and function not in seen:
                seen.add(function)
                module = function.__module__
                if module.startswith(old + ".") or module == old and type(function) is not _C.Op:
                    function.__module__ = name + module[len(old) :]


def torch_name(module: str) -> str:
    """A module's name as PyTorch has it."""
    return "torch" + module[9:] if module.partition(".")[0] == "torchlite" else module


def in_python(home: str) -> bool:
    """Whether PyTorch has the functions of a module in Python."""
    return home.endswith(".functional")


def in_cpp(function: Any) -> bool:
    """Whether PyTorch has a function in C++; such functions hand arguments on as they get them."""
    return not function.in_python if type(function) is _C.Op else function.__name__ in _CPP


def path(func: Any) -> str | None:
    """PyTorch's path of an op, or of a function of torchlite's; None where it is that of its module and name."""
    name, module = getattr(func, "__name__", None), getattr(func, "__module__", None)
    if not isinstance(name, str) or not isinstance(module, str):
        return None
    home = torch_name(module)
    if home.partition(".")[0] != "torch":
        return None
    if home.startswith("torch.nn._"):
        return "torch.nn.functional." + name
    if isinstance(func, (_C.Op, _C.Function)):
        return "%s.%s" % (home, name)
    return None
