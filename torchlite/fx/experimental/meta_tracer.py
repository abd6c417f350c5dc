"""MetaTracer: a Tracer whose Proxies know shapes and dtypes, from tensors on the meta device."""

from __future__ import annotations

import builtins
import functools
import warnings
from typing import Any

import torchlite as torch

from .._symbolic_trace import Tracer
from ..graph_module import GraphModule
from ..node import Node, map_aggregate
from ..proxy import Proxy

__all__ = [
    "embedding_override",
    "functional_relu_override",
    "gen_constructor_wrapper",
    "manual_meta_overrides",
    "MetaAttribute",
    "MetaDeviceAttribute",
    "MetaProxy",
    "MetaTracer",
    "nn_layernorm_override",
    "proxys_to_metas",
    "symbolic_trace",
    "torch_abs_override",
    "torch_nn_relu_override",
    "torch_relu_override",
    "torch_where_override",
]


def embedding_override(self: Any, input: Any) -> Any:
    return torch.empty(*input.shape, self.weight.shape[-1], device="meta")


def nn_layernorm_override(self: Any, input: Any) -> Any:
    return input


def torch_relu_override(x: Any) -> Any:
    return x


def torch_nn_relu_override(self: Any, x: Any) -> Any:
    return x


def functional_relu_override(x: Any, inplace: bool = False) -> Any:
    if inplace:
        raise AssertionError("dont support inplace functional.relu for metatensor analysis")
    return x


def torch_where_override(condition: Any, x: Any, y: Any) -> Any:
    return condition.to(device="meta") + x.to(device="meta") + y.to(device="meta")


def torch_abs_override(input: Any, *, out: Any = None) -> Any:
    if out is not None:
        raise AssertionError("Dont support in-place abs for MetaTensor analysis")
    return input


manual_meta_overrides: dict[Any, Any] = {
    torch.nn.Embedding: embedding_override,
    torch.nn.LayerNorm: nn_layernorm_override,
    torch.relu: torch_relu_override,
    torch.nn.functional.relu: functional_relu_override,
    torch.nn.ReLU: torch_nn_relu_override,
    torch.where: torch_where_override,
    torch.abs: torch_abs_override,
}


def gen_constructor_wrapper(target: Any) -> Any:
    """(a function that is recorded if an argument is a Proxy, the function itself)"""

    @functools.wraps(target)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        from .._patching import _find_proxy

        proxy = _find_proxy(args, kwargs)
        if proxy is None:
            return target(*args, **kwargs)
        return proxy.tracer.create_proxy("call_function", target, args, kwargs)

    return wrapper, target


class MetaProxy(Proxy):
    """A Proxy with a tensor on the meta device beside it."""

    def install_tensor_meta(self, tensor_meta: Any) -> None:
        """Says what the value looks like."""
        self._tensor_meta = tensor_meta

    def _meta(self) -> Any:
        return self.__dict__.get("_tensor_meta")

    def size(self, dim: int | None = None) -> Any:
        meta = self._meta()
        if meta is None:
            return self.tracer.create_proxy("call_method", "size", (self, dim) if dim is not None else (self,), {})
        return meta.size(*([dim] if dim is not None else []))

    def dim(self) -> Any:
        meta = self._meta()
        return meta.dim() if meta is not None else self.tracer.create_proxy("call_method", "dim", (self,), {})

    def _known(self, name: str) -> Any:
        meta = self._meta()
        if meta is not None:
            return getattr(meta, name)
        return self.tracer.create_proxy("call_function", builtins.getattr, (self, name), {})

    shape = property(lambda self: self._known("shape"))
    dtype = property(lambda self: self._known("dtype"))
    device = property(lambda self: MetaDeviceAttribute(self, "device"))

    def __getattr__(self, k: str) -> Any:
        if k == "_tensor_meta":
            return self.__getattribute__(k)
        return MetaAttribute(self, k)


class MetaAttribute(MetaProxy):
    """An attribute of a MetaProxy."""

    def __init__(self, root: Any, attr: str) -> None:
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Any:  # type: ignore[override]
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", builtins.getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class MetaDeviceAttribute(MetaAttribute):
    """The device of a MetaProxy."""


def proxys_to_metas(v: Any) -> Any:
    """What stands beside a Proxy."""
    if isinstance(v, MetaDeviceAttribute):
        return "meta"
    if not isinstance(v, Proxy):
        return v
    if not isinstance(v, MetaProxy):
        raise AssertionError("Expected MetaProxy but got %s" % type(v))
    meta = v._meta()
    if meta is None:
        raise AssertionError("MetaProxy does not have an associated meta")
    return meta


class MetaTracer(Tracer):
    """trace(root, meta_args={"x": torch.empty(2, 3, device="meta")})"""

    allow_insert_stateless_mods: bool = True
    _TORCH_METHODS_TO_PATCH = ["arange", "zeros", "ones", "full_like", "eye"]

    def create_proxy(
        self,
        kind: str,
        target: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
        proxy_factory_fn: Any = None,
    ) -> Any:
        made: Any = super().create_proxy(kind, target, args, kwargs, name, type_expr, proxy_factory_fn)
        if kind == "placeholder" and target in self.meta_args:
            made.install_tensor_meta(self.meta_args[target])
            return made
        if target in self.orig_fns and "device" in kwargs:
            kwargs = {k: v for k, v in kwargs.items() if k != "device"}
        try:
            known = map_aggregate((args, kwargs), proxys_to_metas)
            value = self._value(kind, target, *known)
        except Exception as e:
            warnings.warn("Could not compute metadata for %s target %s: %s" % (kind, target, e), stacklevel=2)
            return made
        if not isinstance(made, Proxy):
            raise AssertionError("Dont support composite output yet")
        if value is not None:
            made.install_tensor_meta(value)
        return made

    def _value(self, kind: str, target: Any, args: Any, kwargs: Any) -> Any:
        if kind == "call_function":
            return manual_meta_overrides.get(target, target)(*args, **kwargs)
        if kind == "call_method":
            return getattr(args[0], target)(*args[1:], **kwargs)
        if kind == "get_attr":
            value = self.root
            for atom in target.split("."):
                value = getattr(value, atom)
            return value.to(device="meta") if isinstance(value, torch.Tensor) else None
        if kind != "call_module":
            return None
        self._disable_module_getattr = True
        try:
            module = self.root.get_submodule(target)
            if type(module) in manual_meta_overrides:
                return manual_meta_overrides[type(module)](module, *args, **kwargs)
            parameters = {k: v.to(device="meta") for k, v in [*module.named_parameters(), *module.named_buffers()]}
            return _call_plain(self, module, parameters, args, kwargs)
        finally:
            self._disable_module_getattr = False

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        if getattr(self, "_disable_module_getattr", False):
            return attr_val
        return super().getattr(attr, attr_val, parameter_proxy_cache)

    def call_module(self, m: Any, forward: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self.orig_forward = forward
        return super().call_module(m, forward, args, kwargs)

    def _insert_module_as_submodule(self, mod: Any) -> str:
        number = 0
        name = mod.__class__.__name__.lower()
        path = "%s_%d" % (name, number)
        while hasattr(self.root, path):
            number += 1
            path = "%s_%d" % (name, number)
        setattr(self.root, path, mod)
        return path

    def path_of_module(self, mod: Any) -> str:
        try:
            return super().path_of_module(mod)
        except NameError:
            plain = not list(mod.parameters()) and not list(mod.buffers())
            if self.allow_insert_stateless_mods and plain:
                path = self._insert_module_as_submodule(mod)
                self.prev_module = path
                return path
            raise

    def proxy(self, node: Node) -> Any:
        return MetaProxy(node, self)

    def trace(self, root: Any, meta_args: dict[str, Any], concrete_args: Any = None) -> Any:  # type: ignore[override]
        self.meta_args = meta_args
        wrapped = {name: gen_constructor_wrapper(getattr(torch, name)) for name in self._TORCH_METHODS_TO_PATCH}
        self.orig_fns = {orig for _, orig in wrapped.values()}
        for name, (wrapper, _) in wrapped.items():
            setattr(torch, name, wrapper)
        try:
            graph = super().trace(root, concrete_args)
            graph._tracer_extras = {"meta_args": meta_args}
            return graph
        finally:
            for name, (_, orig) in wrapped.items():
                setattr(torch, name, orig)


def _call_plain(tracer: MetaTracer, module: Any, parameters: dict[str, Any], args: Any, kwargs: Any) -> Any:
    """A module's value with other parameters, not traced."""
    from ...nn.utils.stateless import functional_call
    from .._patching import _maybe_revert_all_patches

    with _maybe_revert_all_patches():
        return functional_call(module, parameters, args, kwargs)


def symbolic_trace(root: Any, meta_args: dict[str, Any] | None = None, concrete_args: Any = None) -> Any:
    """A GraphModule, traced with values on the meta device beside the Proxies."""
    tracer = MetaTracer()
    graph = tracer.trace(root, meta_args if meta_args is not None else {}, concrete_args)
    name = root.__class__.__name__ if isinstance(root, torch.nn.Module) else root.__name__
    return GraphModule(tracer.root, graph, name)
