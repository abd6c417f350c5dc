"""ShapeProp: runs a graph, and notes at each node the shape and dtype of its value."""

from __future__ import annotations

import traceback
from typing import Any, NamedTuple

import torchlite as torch

from .._compatibility import compatibility
from ..interpreter import Interpreter
from ..node import Node, map_aggregate

__all__ = ["TensorMetadata", "ShapeProp"]


@compatibility(is_backward_compatible=True)
class TensorMetadata(NamedTuple):
    """What a graph remembers of a tensor."""

    shape: Any
    dtype: Any
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Any
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(result: Any, include_contiguity: bool = True) -> TensorMetadata:
    formats = (torch.contiguous_format, torch.channels_last, torch.channels_last_3d) if include_contiguity else ()
    return TensorMetadata(
        result.shape,
        result.dtype,
        result.requires_grad,
        result.stride(),
        next((f for f in formats if result.is_contiguous(memory_format=f)), None),
        False,
        {},
    )


def _with_fakes(module: Any, fake_mode: Any) -> Any:
    """A copy of a module whose parameters and buffers are fake."""
    import copy

    copied = {id(t): fake_mode.from_tensor(t) for t in (*module.parameters(), *module.buffers())}
    return copy.deepcopy(module, copied)


@compatibility(is_backward_compatible=True)
class ShapeProp(Interpreter):
    """ShapeProp(gm).propagate(*inputs): node.meta["tensor_meta"] is then a TensorMetadata, or a container of them."""

    def __init__(self, gm: Any, fake_mode: Any = None) -> None:
        super().__init__(gm)
        if fake_mode is None:
            from torchlite._guards import detect_fake_mode

            fake_mode = detect_fake_mode()
        self.fake_mode = fake_mode
        self.fake_module = None if fake_mode is None else _with_fakes(self.module, fake_mode)
        self.real_module = self.module

    def run_node(self, n: Node) -> Any:
        try:
            if self.fake_module is None:
                result = super().run_node(n)
            else:
                self.module = self.fake_module  # the attributes that nodes ask for are fake
                with self.fake_mode:
                    result = super().run_node(n)
                self.module = self.real_module
        except Exception as e:
            traceback.print_exc()
            raise RuntimeError("ShapeProp error for: node=%s with meta=%s" % (n.format_node(), n.meta)) from e
        found = False

        def extract(obj: Any) -> Any:
            nonlocal found
            if not isinstance(obj, torch.Tensor):
                return obj
            found = True
            return _extract_tensor_metadata(obj)

        meta = map_aggregate(result, extract)
        if found:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Runs the graph; gives its output. With a fake_mode, tensors become fake first."""
        if self.fake_mode is not None:
            args = tuple(self.fake_mode.from_tensor(t) if isinstance(t, torch.Tensor) else t for t in args)
        return super().run(*args)
