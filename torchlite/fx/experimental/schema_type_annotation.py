"""AnnotateTypesWithSchema: types of nodes from the annotations of what they call."""

from __future__ import annotations

import inspect
from typing import Any

import torchlite as torch

from .._names import torch_name
from ..interpreter import Transformer
from ..node import _get_qualified_name

__all__ = ["AnnotateTypesWithSchema"]


class AnnotateTypesWithSchema(Transformer):
    """transform() gives the module with node.type set for functions, modules and attributes whose type is known."""

    def __init__(
        self,
        module: Any,
        annotate_functionals: bool = True,
        annotate_modules: bool = True,
        annotate_get_attrs: bool = True,
    ) -> None:
        super().__init__(module)
        self.annotate_functionals, self.annotate_modules = annotate_functionals, annotate_modules
        self.annotate_get_attrs = annotate_get_attrs

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        kind = None
        if self.annotate_functionals and torch_name(str(getattr(target, "__module__", ""))).startswith("torch.nn"):
            kind = self._extract_python_return_type(target)
            if kind is None and _get_qualified_name(target).startswith(("torch.nn.functional.", "torch._C._nn.")):
                kind = torch.Tensor
        return self._typed(super().call_function(target, args, kwargs), kind)

    def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        kind = None
        module = self.fetch_attr(target)
        if self.annotate_modules and getattr(torch.nn, type(module).__name__, None) is type(module):
            kind = self._extract_python_return_type(module.forward) or torch.Tensor
        return self._typed(super().call_module(target, args, kwargs), kind)

    def get_attr(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        proxy = super().get_attr(target, args, kwargs)
        if self.annotate_get_attrs:
            value = self.fetch_attr(target)
            kind = torch.Tensor if isinstance(value, torch.Tensor) else type(value)
            if kind in (torch.Tensor, int, float, bool, str, complex):
                return self._typed(proxy, kind)
        return proxy

    def _typed(self, proxy: Any, kind: Any) -> Any:
        proxy.node.type = proxy.node.type or kind
        return proxy

    def _extract_python_return_type(self, target: Any) -> Any:
        """What the signature of a function says that it returns."""
        try:
            signature = inspect.signature(getattr(target, "_tl_fn", target))
        except (ValueError, TypeError):
            return None
        found = signature.return_annotation
        return None if found is inspect.Signature.empty or isinstance(found, str) else found
