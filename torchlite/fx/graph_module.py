"""GraphModule: a module whose forward is the code of a Graph."""

from __future__ import annotations

import contextlib
import copy
import itertools
import linecache
import os
import sys
import traceback
from typing import Any

import torchlite as torch

from ..nn.modules.module import _addindent
from ._codegen import _PyTreeCodeGen
from ._compatibility import compatibility
from ._source import (  # noqa: F401
    _EvalCacheLoader,
    _exec_with_source,
    _format_import_block,
    _format_import_statement,
    _forward_from_src,
    _loader,
    _method_from_src,
)
from .graph import Graph, PythonCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from .node import Node

__all__ = ["reduce_graph_module", "reduce_package_graph_module", "GraphModule"]

FX_GRAPH_MODULE_FILE_PREFIX = "fx_generated_"
_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
_HOOKS = ("_replace_hooks", "_create_node_hooks", "_erase_node_hooks", "_deepcopy_hooks")


# ---- attributes by path ----------------------------------------------------------------------------------------------
def _owner(module: Any, path: list[str]) -> Any:
    """The module at a path; modules are made where there are none."""
    for name in path:
        inner = getattr(module, name, None)
        if inner is None:
            inner = torch.nn.Module()
            setattr(module, name, inner)
        module = inner
    return module


def _copy_attr(from_module: Any, to_module: Any, target: str) -> None:
    """Gives a module what another has at a path; submodules on the way become plain ones."""
    *path, field = target.split(".")
    for name in path:
        inner, mine = getattr(from_module, name), getattr(to_module, name, None)
        if inner is mine:
            return  # a module on the way was copied as a whole
        if mine is None:
            mine = torch.nn.Module()
            setattr(to_module, name, mine)
        from_module, to_module = inner, mine
    _put(to_module, field, getattr(from_module, field), field not in _not_saved(from_module))


def _not_saved(module: Any) -> Any:
    return getattr(module, "_non_persistent_buffers_set", ())


def _put(module: Any, field: str, value: Any, persistent: bool = True) -> None:
    if isinstance(value, torch.Tensor) and not isinstance(value, torch.nn.Parameter):
        module.register_buffer(field, value, persistent)
    else:
        setattr(module, field, value)


def _assign_attr(from_obj: Any, to_module: Any, target: str) -> None:
    """Puts an object at a path."""
    *path, field = target.split(".")
    _put(_owner(to_module, path), field, from_obj)


def _get_attr_via_attr_list(model: Any, attr_list: list[str]) -> Any:
    for name in attr_list:
        model = getattr(model, name)
    return model


def _get_attr(model: Any, attr_name: str) -> Any:
    return _get_attr_via_attr_list(model, attr_name.split("."))


def _has_attr(model: Any, attr_name: str) -> bool:
    for name in attr_name.split("."):
        if not hasattr(model, name):
            return False
        model = getattr(model, name)
    return True


def _del_attr(model: Any, attr_name: str) -> None:
    *path, field = attr_name.split(".")
    delattr(_get_attr_via_attr_list(model, path), field)


# ---- pickles ---------------------------------------------------------------------------------------------------------
class _CodeOnlyModule(torch.nn.Module):
    """What a GraphModule had beside its graph; to trace it gives the graph again."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.__dict__ = body


@compatibility(is_backward_compatible=False)
def reduce_graph_module(body: dict[str, Any], import_block: str) -> Any:
    """A GraphModule from what its pickle holds."""
    source = body.get("_code") or body["code"]
    return _deserialize_graph_module(_forward_from_src(import_block + source, {}), body)


@compatibility(is_backward_compatible=True)
def reduce_package_graph_module(importer: Any, body: dict[str, Any], generated_module_name: str) -> Any:
    """A GraphModule from a package of torch.package, which torchlite does not read."""
    forward = importer.import_module(generated_module_name).forward
    return _deserialize_graph_module(forward, body)


def _deserialize_graph_module(forward: Any, body: dict[str, Any], graph_module_cls: Any = None) -> Any:
    from ._symbolic_trace import Tracer

    tracer_cls: Any = body.get("_tracer_cls") or Tracer

    class KeepModules(tracer_cls):
        """No submodule is traced into: none was in the module that was saved."""

        def is_leaf_module(self, m: Any, qualname: str) -> bool:
            return True

    class Saved(_CodeOnlyModule):
        pass

    Saved.forward = forward
    saved = Saved(body)
    graph = KeepModules().trace(saved, **(body.get("_tracer_extras") or {}))
    graph._tracer_cls = tracer_cls
    made = (graph_module_cls or GraphModule)(saved, graph, class_name=body.get("_graphmodule_cls_name", "GraphModule"))
    for key, value in body.items():
        if not hasattr(made, key):
            setattr(made, key, value)
    return made


# ---- calling ---------------------------------------------------------------------------------------------------------
class _WrappedCall:
    """A call of a GraphModule: of an error in the generated code, the lines around it are printed."""

    def __init__(self, cls: type, cls_call: Callable[..., Any] | None) -> None:
        self.cls, self.cls_call = cls, cls_call

    @staticmethod
    def _generate_error_message(frame_summary: traceback.FrameSummary) -> str:
        at = frame_summary.lineno or 0
        lines = linecache.getlines(frame_summary.filename)
        return "\n".join(
            [
                traceback.format_exc(),
                "Call using an FX-traced Module, line %d of the traced Module's generated forward function:" % at,
                "".join(lines[max(at - 2, 0) : at]),
                "~" * len(frame_summary.line or "") + "~~~ <--- HERE",
                "\n".join(lines[at : at + 2]),
            ]
        )

    def __call__(self, obj: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            if self.cls_call is not None:
                return self.cls_call(obj, *args, **kwargs)
            return super(self.cls, obj).__call__(*args, **kwargs)  # type: ignore[arg-type]
        except Exception as e:
            innermost = traceback.extract_tb(e.__traceback__)[-1]
            if "eval_with_key" not in innermost.filename:
                raise
            print(_WrappedCall._generate_error_message(innermost), file=sys.stderr)
            raise e.with_traceback(None)


def _print_readable(
    module: Any,
    module_name: str,
    print_output: bool = True,
    include_stride: bool = False,
    include_device: bool = False,
    colored: bool = False,
    expanded_def: bool = False,
    additional_meta: list[str] | None = None,
) -> str:
    code = module.graph.python_code(
        root_module="self",
        verbose=True,
        include_stride=include_stride,
        include_device=include_device,
        colored=colored,
        expanded_def=expanded_def,
        additional_meta=additional_meta,
    ).src.lstrip("\n")
    parts = [""]
    for name, child in module.named_children():
        if hasattr(child, "graph"):
            parts.append(_print_readable(child, name, False, include_stride, include_device, colored))
    text = _addindent("class %s(torch.nn.Module):\n%s" % (module_name, code), 4)
    text += _addindent("\n".join(parts), 4)
    text = "\n".join(line if line.strip() else "" for line in text.split("\n"))
    if print_output:
        print(text)
    return text


@compatibility(is_backward_compatible=True)
class GraphModule(torch.nn.Module):
    """A module made of a Graph, and of the parameters, buffers and submodules that it names.

    `root` is a module that has these, or a dict from paths to them. Assign to `graph`, or call recompile() after
    changing it, and forward is the graph's new code. Each GraphModule has a class of its own, as its forward is.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        base: Any = next(t for t in cls.__mro__ if t.__qualname__.rpartition(".")[2] != "GraphModuleImpl")

        class GraphModuleImpl(base):
            pass

        return super().__new__(GraphModuleImpl)

    def __init__(self, root: Any, graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        self.__class__.__name__ = class_name
        targets = [n.target for n in graph.nodes if n.op in ("get_attr", "call_module")]
        if isinstance(root, torch.nn.Module):
            if hasattr(root, "training"):
                self.training = root.training
            for target in targets:
                _copy_attr(root, self, target)
        elif isinstance(root, dict):
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module") and node.target not in root:
                    raise RuntimeError(
                        "Node %s referenced target %s but that target was not provided in ``root``!"
                        % (node, node.target)
                    )
            for target in sorted(targets, key=lambda t: t.count(".")):
                _assign_attr(root[target], self, target)
        else:
            raise RuntimeError("Unsupported type " + str(root) + " passed for root!")
        self.graph = graph
        self._tracer_cls = None
        if graph._tracer_cls and "<locals>" not in graph._tracer_cls.__qualname__:
            self._tracer_cls = graph._tracer_cls
        self._tracer_extras = graph._tracer_extras or {}
        self.meta: dict[str, Any] = {}
        if hasattr(root, "meta") and isinstance(root.meta, dict):
            self.meta.update(root.meta)
        for name in _HOOKS:
            setattr(self, name, [])
        self.shape_env = None

    __jit_unused_properties__ = ["graph", "_boxed_call"]

    @property
    def _boxed_call(self) -> bool:
        from ._codegen import _BoxedCodeGen

        return isinstance(self._graph._codegen, _BoxedCodeGen)

    @property
    def graph(self) -> Graph:
        """The graph; to assign another one compiles it."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError("Expected a Graph instance, but got %s" % type(g))
        self._graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The Python code of forward."""
        if not hasattr(self, "_code"):
            raise RuntimeError("Code has not been generated! Please report a bug to PyTorch")
        return self._code

    def recompile(self) -> PythonCode:
        """Makes forward anew, after changes of the graph."""
        made = self._graph.python_code(root_module="self")
        self._code, self._lineno_map, self._prologue_start = made.src, made._lineno_map, made._prologue_start
        cls: Any = type(self)
        cls.forward = _forward_from_src(self._code, made.globals, self._graph._co_fields)
        cls_call = cls.__call__ if "__call__" in vars(cls) else None
        if "_wrapped_call" not in vars(cls):
            cls._wrapped_call = _WrappedCall(cls, cls_call)

        def call_wrapped(self: Any, *args: Any, **kwargs: Any) -> Any:
            return self._wrapped_call(self, *args, **kwargs)

        cls.__call__ = call_wrapped
        codegen = self._graph._codegen
        if isinstance(codegen, _PyTreeCodeGen):
            self._in_spec, self._out_spec = codegen.pytree_info.in_spec, codegen.pytree_info.out_spec
        return made

    def _recompile_submodules(self) -> list[tuple[str, PythonCode]]:
        return [(name, m.recompile()) for name, m in self.named_modules() if isinstance(m, GraphModule)]

    # ---- submodules --------------------------------------------------------------------------------------------------
    def add_submodule(self, target: str, m: Any) -> bool:
        """Puts a module at a path; False where something on the way is no module."""
        *path, field = target.split(".")
        at: Any = self
        for name in path:
            inner = getattr(at, name, None)
            if inner is None:
                inner = torch.nn.Module()
                setattr(at, name, inner)
            if not isinstance(inner, torch.nn.Module):
                return False
            at = inner
        at.add_module(field, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Deletes the module at a path; False where there is none."""
        *path, field = target.split(".")
        at: Any = self
        for name in path:
            at = getattr(at, name, None)
            if not isinstance(at, torch.nn.Module):
                return False
        if not isinstance(getattr(at, field, None), torch.nn.Module):
            return False
        delattr(at, field)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Deletes the submodules that no node uses."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op not in ("call_module", "get_attr"):
                continue
            used.update(itertools.accumulate(node.target.split("."), "{}.{}".format))
            if node.op == "call_module":
                with contextlib.suppress(AttributeError):
                    inner = self.get_submodule(node.target)
                    used.update("%s.%s" % (node.target, name) for name, _ in inner.named_modules() if name)
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    # ---- files, copies, text -----------------------------------------------------------------------------------------
    def to_folder(self, folder: str | os.PathLike[str], module_name: str = "FxModule") -> None:
        """Writes a folder that can be imported: the code, and the state that it loads."""
        from ._folder import write

        write(self, folder, module_name)

    def __reduce_package__(self, exporter: Any) -> Any:
        name = exporter.get_unique_id()
        made = self.recompile()
        source = _format_import_block(made.globals, exporter.importer) + self.code
        exporter.save_source_string("%s.%s" % (FX_GRAPH_MODULE_FILE_PREFIX + "module", name), source)
        body = {k: v for k, v in self.__dict__.items() if k != "_graph"}
        body["_graphmodule_cls_name"] = self.__class__.__name__
        return reduce_package_graph_module, (body, "%s.%s" % (FX_GRAPH_MODULE_FILE_PREFIX + "module", name))

    def __reduce__(self) -> Any:
        body = {k: v for k, v in self.__dict__.items() if k != "_graph"}
        imports = _format_import_block(self.recompile().globals)
        return reduce_graph_module, (body, imports)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__reduce__()

    def _deepcopy_init(self) -> Callable[..., None]:
        return GraphModule.__init__

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        body = _CodeOnlyModule(copy.deepcopy(self.__dict__, memo))
        self._deepcopy_init()(made, body, body.__dict__["_graph"])
        for name in ("_state_dict_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks", *_HOOKS):
            if name in self.__dict__:
                setattr(made, name, copy.deepcopy(self.__dict__[name], memo))
        made.meta = copy.deepcopy(getattr(self, "meta", {}), memo)
        for name, value in made.meta.get(_USER_PRESERVED_ATTRIBUTES_KEY, {}).items():
            setattr(made, name, value)
        for hook in made._deepcopy_hooks:
            hook(made)
        return made

    def __copy__(self) -> Any:
        from ._lazy_graph_module import _make_graph_module

        made = _make_graph_module(self, self.graph)
        made.meta = getattr(self, "meta", {})
        return made

    def print_readable(
        self,
        print_output: bool = True,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
        *,
        fast_sympy_print: bool = False,
        expanded_def: bool = False,
        additional_meta: list[str] | None = None,
    ) -> str:
        """The code with what is known about the values, and the code of submodules; printed, and returned."""
        return _print_readable(
            self,
            self._get_name(),
            print_output,
            include_stride,
            include_device,
            colored,
            expanded_def,
            additional_meta,
        )

    def __str__(self) -> str:
        reminder = "# To see more debug info, please use `graph_module.print_readable()`"
        return "\n".join([super().__str__(), self._code, reminder])

    def _replicate_for_data_parallel(self) -> Any:
        made = self.__copy__()
        made._is_replica = True
        return made

    # ---- hooks -------------------------------------------------------------------------------------------------------
    @contextlib.contextmanager
    def _set_replace_hook(self, f: Callable[[Node, str, Node], Any]) -> Iterator[None]:
        """Runs f(old=, new=, user=) for each use that is replaced."""
        self._register_replace_node_hook(f)
        try:
            yield
        finally:
            self._unregister_replace_node_hook(f)

    def _register_replace_node_hook(self, f: Any) -> None:
        self._add_hook("_replace_hooks", "replace_hook", f)

    def _unregister_replace_node_hook(self, f: Any) -> None:
        self._replace_hooks.remove(f)

    def _register_create_node_hook(self, f: Any) -> None:
        self._add_hook("_create_node_hooks", "create_node hook", f)

    def _unregister_create_node_hook(self, f: Any) -> None:
        self._create_node_hooks.remove(f)

    def _register_erase_node_hook(self, f: Any) -> None:
        self._add_hook("_erase_node_hooks", "erase_node hook", f)

    def _unregister_erase_node_hook(self, f: Any) -> None:
        self._erase_node_hooks.remove(f)

    def _register_deepcopy_hook(self, f: Any) -> None:
        self._add_hook("_deepcopy_hooks", "deepcopy hook", f)

    def _unregister_deepcopy_hook(self, f: Any) -> None:
        self._deepcopy_hooks.remove(f)

    def _add_hook(self, where: str, kind: str, f: Any) -> None:
        if not callable(f):
            raise AssertionError("%s must be a callable." % kind)
        getattr(self, where).append(f)
