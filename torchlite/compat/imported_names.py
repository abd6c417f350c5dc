"""Names that PyTorch's modules import from elsewhere, and that programs import from these modules.

Copies of a layer or an optimizer begin with lines like `from torch.nn.modules.conv import _ConvNd, _size_2_t, Tensor`:
what such a module imports is an attribute of it. Here it imports something else, so what it lacks is looked for where
the name comes from.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# where they are imported, where they come from: the names
_IMPORTS = """
nn . Tensor _VF
nn.modules nn Module Parameter init functional
nn.modules.rnn nn.utils.rnn PackedSequence
nn.modules.loss nn Linear PairwiseDistance
nn.modules nn.common_types _size_1_t _size_2_t _size_3_t _size_4_t _size_6_t _size_any_t _size_2_opt_t _size_3_opt_t
nn.modules nn.common_types _size_any_opt_t _ratio_2_t _ratio_3_t _ratio_any_t
nn.modules types _size Device
nn.modules utils.hooks RemovableHandle
nn.functional _jit_internal boolean_dispatch _overload
nn.parallel.data_parallel nn.parallel.scatter_gather scatter_kwargs gather
nn.parallel.data_parallel nn.parallel.replicate replicate
nn.parallel.data_parallel nn.parallel.parallel_apply parallel_apply
nn.parallel nn Module
nn.utils nn Module Parameter
nn overrides has_torch_function has_torch_function_unary has_torch_function_variadic handle_torch_function
optim . Tensor
optim optim.optimizer Optimizer ParamsT _use_grad_for_differentiable _default_to_fused_or_foreach _stack_if_compiling
optim optim.optimizer _disable_dynamo_if_unsupported _get_capturable_supported_devices _get_scalar_dtype _to_scalar
optim optim.optimizer _capturable_doc _differentiable_doc _foreach_doc _fused_doc _maximize_doc _params_doc _get_value
optim optim.optimizer _view_as_real
utils.data . Tensor Generator default_generator randperm
utils.data _utils ExceptionWrapper
utils.data.distributed utils.data Dataset
distributions . Tensor Size
distributions distributions.utils lazy_property logits_to_probs probs_to_logits broadcast_all
distributions distributions.distribution Distribution
distributions types _size Number Device
functional . Tensor
functional overrides has_torch_function has_torch_function_unary has_torch_function_variadic handle_torch_function
_tensor overrides has_torch_function has_torch_function_unary has_torch_function_variadic handle_torch_function
serialization types FileLike Storage
fx fx.node Argument Target map_arg
fx fx.immutable_collections immutable_dict immutable_list
"""
_MODULES = {"F": "nn.functional", "_Reduction": "nn._reduction"}


def find(module: str, name: str) -> Any:
    """What PyTorch's module of this path (below torch) imports under a name. Raises KeyError."""
    if name in _MODULES and module.startswith("nn."):
        return importlib.import_module("torchlite." + _MODULES[name])
    for line in _IMPORTS.splitlines():
        path, home, *names = line.split() or ("", "")
        if name in names and (module + ".").startswith(path + "."):
            return getattr(importlib.import_module("torchlite." + home if home != "." else "torchlite"), name)
    import typing

    if name in typing.__all__:
        return getattr(typing, name)
    raise KeyError(name)
