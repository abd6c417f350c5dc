"""Putting parameters of modules into their nodes, for backends that need them there."""

from __future__ import annotations

from typing import Any

import torchlite as torch

from .._compatibility import compatibility
from ..graph_module import GraphModule

__all__ = ["default_matching", "extract_attrs_for_lowering", "lift_lowering_attrs_to_nodes"]


@compatibility(is_backward_compatible=False)
def default_matching(name: str, target_version: int) -> str:
    """The name of an attribute in the current version."""
    return name


_CONV = "weight bias kernel_size stride padding dilation groups padding_mode".split()
_NORM = "weight bias running_mean running_var eps".split()
module_fetch_book: dict[Any, Any] = {
    torch.nn.Linear: (1, ["weight", "bias"], default_matching),
    torch.nn.Conv2d: (1, _CONV, default_matching),
    torch.nn.BatchNorm2d: (2, _NORM, default_matching),
    torch.nn.AdaptiveAvgPool2d: (1, [], default_matching),
    torch.nn.MaxPool2d: (
        1,
        ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"],
        default_matching,
    ),
    torch.nn.ReLU: (1, ["inplace"], default_matching),
}


@compatibility(is_backward_compatible=False)
def extract_attrs_for_lowering(mod: Any) -> dict[str, Any]:
    """The attributes of a module of torch.nn that a backend needs, with its name."""
    attrs: dict[str, Any] = {"name": torch.typename(mod)}
    if type(mod) not in module_fetch_book:
        return attrs
    version, names, matching = module_fetch_book[type(mod)]
    if version < mod._version:
        raise RuntimeError(
            "Fetcher version %d try to fetch %s version %d, please upgrade the module_fetch_book, open an issue and "
            "@842974287 or report a bug to AIACC team directly." % (version, torch.typename(mod), mod._version)
        )
    for name in names:
        attrs[name] = getattr(mod, matching(name, mod._version))
    return attrs


@compatibility(is_backward_compatible=False)
def lift_lowering_attrs_to_nodes(fx_module: Any) -> None:
    """Gives nodes of modules `attrs_for_lowering`; in submodules that are graphs, too."""
    submodules = dict(fx_module.named_modules())
    for node in fx_module.graph.nodes:
        if node.op == "call_module":
            inner = submodules[node.target]
            if isinstance(inner, GraphModule):
                lift_lowering_attrs_to_nodes(inner)
            else:
                node.attrs_for_lowering = extract_attrs_for_lowering(inner)
