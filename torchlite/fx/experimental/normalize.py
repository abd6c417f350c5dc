"""Graphs in one form: arguments by name, operators instead of functions."""

from __future__ import annotations

import operator
from typing import Any

import torchlite as torch

from ..interpreter import Transformer
from ..node import Node, map_aggregate
from ..operator_schemas import create_type_hint, normalize_function, normalize_module
from .schema_type_annotation import AnnotateTypesWithSchema


class NormalizeArgs(Transformer):
    """transform() gives the module with the arguments of functions and modules of torch as keywords (or, with
    normalize_to_only_use_kwargs=False, those that were not positional), and with defaults. Of functions with several
    overloads meta["type"], which ShapeProp notes, tells which it is."""

    def __init__(self, module: Any, normalize_to_only_use_kwargs: bool = True) -> None:
        super().__init__(module)
        self.node_map: dict[Any, Node] = {}
        self.normalize_to_only_use_kwargs = normalize_to_only_use_kwargs

    def run_node(self, n: Node) -> Any:
        args, kwargs = self.fetch_args_kwargs_from_env(n)

        def kind(arg: Any) -> Any:
            return arg.meta.get("type") if isinstance(arg, Node) else type(arg)

        if n.op == "call_function":
            arg_types = tuple(create_type_hint(t) for t in map_aggregate(n.args, kind))
            kwarg_types = {k: kind(v) for k, v in n.kwargs.items()}
            out = self.call_function(n.target, args, kwargs, arg_types, kwarg_types)
        else:
            out = super().run_node(n)
        if n.op != "output":
            self.node_map[out] = n
            out.node.meta, out.node.type = n.meta, n.type
        return out

    def call_function(
        self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], arg_types: Any = None, kwarg_types: Any = None
    ) -> Any:
        found = normalize_function(target, args, kwargs, arg_types, kwarg_types, self.normalize_to_only_use_kwargs)
        if found is None:
            return super().call_function(target, args, kwargs)
        return self.tracer.create_proxy("call_function", target, *found)

    def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        found = normalize_module(self.module, target, args, kwargs, self.normalize_to_only_use_kwargs)
        return super().call_module(target, *(found or (args, kwargs)))


class NormalizeOperators(AnnotateTypesWithSchema):
    """transform() gives the module with Python's operators instead of torch.add and its relatives."""

    binary_magic_method_remap = {
        torch.add: operator.add,
        torch.mul: operator.mul,
        torch.sub: operator.sub,
        torch.div: operator.truediv,
        torch.floor_divide: operator.floordiv,
        torch.remainder: operator.mod,
        torch.eq: operator.eq,
        torch.ne: operator.ne,
        torch.lt: operator.lt,
        torch.le: operator.le,
        torch.gt: operator.gt,
        torch.ge: operator.ge,
    }

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if callable(target) and target in self.binary_magic_method_remap and len(args) == 2:
            return super().call_function(self.binary_magic_method_remap[target], args, {})
        return super().call_function(target, args, kwargs)
