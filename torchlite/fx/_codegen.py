"""Python code of a graph: one statement for each node, and the names that the code needs."""

from __future__ import annotations

import enum
import inspect
import re
import types
import typing
from dataclasses import dataclass
from typing import Any, NamedTuple

import torchlite as torch

from ..utils import _pytree as pytree

from ._compatibility import compatibility
from ._names import get_qualified_name, is_ours, type_repr
from ._namespace import _custom_builtins, _Namespace, inplace_methods, magic_methods
from .node import Node, map_arg

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

dtype_abbrs = {
    getattr(torch, name): short
    for name, short in (
        pair.split(":")
        for pair in """bfloat16:bf16 float64:f64 float32:f32 float16:f16 float8_e4m3fn:f8e4m3fn float8_e5m2:f8e5m2
        float8_e4m3fnuz:f8e4m3fnuz float8_e5m2fnuz:f8e5m2fnuz complex32:c32 complex64:c64 complex128:c128 int8:i8
        int16:i16 int32:i32 int64:i64 bool:b8 uint8:u8 uint16:u16 uint32:u32 uint64:u64""".split()
    )
    if isinstance(vars(torch).get(name), torch.dtype)
}
_origin_type_map = {
    list: typing.List,  # noqa: UP006
    dict: typing.Dict,  # noqa: UP006
    set: typing.Set,  # noqa: UP006
    frozenset: typing.FrozenSet,  # noqa: UP006
    tuple: typing.Tuple,  # noqa: UP006
}
_COUNTER = re.compile(r"# COUNTER: (\d+)")
_FRAME = re.compile(r'^File "(.+)", line (\d+), in (.+)$')
_COLORS = {"red": "31", "green": "32", "blue": "34", "dim": "2"}


@compatibility(is_backward_compatible=True)
@dataclass
class PythonCode:
    """The source of a forward, the names that it needs, and which line belongs to which node."""

    src: str
    globals: dict[str, Any]
    _lineno_map: dict[int, int | None] | None
    _prologue_start: int = 0


@dataclass(frozen=True)
class _ParsedStackTrace:
    """The innermost frame of a stack trace that counts."""

    file: str
    lineno: str
    name: str
    code: str

    def get_summary_str(self) -> str:
        return "File: %s:%s in %s, code: %s" % (self.file, self.lineno, self.name, self.code)


def _parse_stack_trace(
    stack_trace: str, filter_fn: Callable[[str, str, str], bool] | None = None
) -> _ParsedStackTrace | None:
    lines = stack_trace.strip().split("\n")
    for i in range(len(lines) - 2, -1, -1):
        frame = _FRAME.match(lines[i].strip())
        if frame is not None:
            file, lineno, name = frame.groups()
            code = lines[i + 1].strip()
            if filter_fn is None or filter_fn(file, name, code):
                return _ParsedStackTrace(file, lineno, name, code)
    return None


def _format_target(base: str, target: str) -> str:
    """self.a.0.b -> getattr(self.a, "0").b"""
    for name in target.split("."):
        base = "%s.%s" % (base, name) if name.isidentifier() else 'getattr(%s, "%s")' % (base, name)
    return base


def _colored(text: str, *colors: str) -> str:
    for color in colors:
        text = "\033[%sm%s" % (_COLORS[color], text)
    return text + "\033[0m"


class _Writer:
    """Writes the body of one function."""

    def __init__(self, root_module: str, namespace: _Namespace, **options: Any) -> None:
        self.root, self.namespace = root_module, namespace
        self.globals: dict[str, Any] = {}
        self.free_vars: list[str] = []
        self.body: list[str] = []
        self.wrapped: dict[str, None] = {}
        self.returns = ""
        self.verbose, self.stride = options["verbose"], options["include_stride"]
        self.device, self.colored = options["include_device"], options["colored"]
        self.more_meta = options["additional_meta"] or []
        self.record = options["record_func"]
        self.generate_output: Callable[[Any], str] = repr
        self._summary: str | None = None
        for name, custom in _custom_builtins.items():
            self.add_global(name, custom.obj)

    # ---- names -------------------------------------------------------------------------------------------------------
    def add_global(self, hint: str, obj: Any) -> str:
        """How the code names an object; what is torch's own is found from there."""
        if obj is not torch.device and _from_torch(obj):
            return get_qualified_name(obj)
        name = self.namespace.create_name(hint, obj)
        if name in self.globals:
            if self.globals[name] != obj:
                raise AssertionError("Global name %s already assigned to different object" % name)
        else:
            self.globals[name] = obj
        return name

    def type_name(self, kind: Any) -> str:
        if kind == ():
            return "()"  # of typing.Tuple[()]
        origin = getattr(kind, "__origin__", None)
        if isinstance(kind, types.UnionType):
            return "|".join(map(self.type_name, kind.__args__))
        if origin is None:
            return self.add_global(type_repr(kind), kind)
        if not (isinstance(kind, types.GenericAlias) and origin in _origin_type_map):
            origin = _origin_type_map.get(origin, origin)
        name = self.add_global(type_repr(origin), origin)
        inner = getattr(kind, "__args__", None)
        return "%s[%s]" % (name, ",".join(map(self.type_name, inner))) if inner else name

    # ---- values ------------------------------------------------------------------------------------------------------
    def value(self, arg: Any) -> str:
        """An argument as code."""
        kind = type(arg)
        if isinstance(arg, Node):
            return repr(arg)
        if isinstance(arg, tuple) and hasattr(arg, "_fields"):
            name = self.add_global("%s.%s" % (kind.__module__, kind.__qualname__), kind)
            return name + self._tuple(arg)
        if isinstance(arg, (torch.Tensor, enum.Enum)) or _is_op(arg):
            return self._object(arg)
        if kind is slice:
            return "slice(%s, %s, %s)" % (self.value(arg.start), self.value(arg.stop), self.value(arg.step))
        if isinstance(arg, tuple):
            return self._tuple(arg)
        if isinstance(arg, list):
            return "[%s]" % ", ".join(map(self.value, arg))
        if isinstance(arg, dict):
            return "{%s}" % ", ".join("%r: %s" % (k, self.value(v)) for k, v in arg.items())
        return self._paint(repr(arg), "blue")

    def _object(self, arg: Any) -> str:
        if isinstance(arg, torch.Tensor):
            return "torch.Tensor(size=%s, dtype=%s)" % (list(arg.size()), str(arg.dtype).split(".")[-1])
        if isinstance(arg, enum.Enum):
            return "%s.%s" % (self.add_global(type(arg).__name__, type(arg)), arg.name)
        return self.add_global(get_qualified_name(arg), arg)

    def _tuple(self, arg: tuple[Any, ...]) -> str:
        return "(%s%s)" % (", ".join(map(self.value, arg)), "," if len(arg) == 1 else "")

    def arguments(self, args: Iterable[Any], kwargs: dict[str, Any]) -> str:
        return ", ".join([*map(self.value, args), *("%s = %s" % (k, self.value(v)) for k, v in kwargs.items())])

    def _paint(self, text: str, *colors: str) -> str:
        return _colored(text, *colors) if self.colored else text

    # ---- statements --------------------------------------------------------------------------------------------------
    def _annotation(self, node: Node) -> str:
        if self.verbose:
            from .passes.shape_prop import TensorMetadata

            seen = next((node.meta[k] for k in ("val", "tensor_meta", "example_value") if k in node.meta), None)
            if isinstance(seen, torch.Tensor):
                return ': "%s%s%s%s"' % (
                    self._paint(dtype_abbrs[seen.dtype], "red"),
                    self._paint(str(list(seen.shape)), "blue"),
                    self._paint(str(list(seen.stride())), "blue", "dim") if self.stride else "",
                    self._paint(str(seen.device), "green", "dim") if self.device else "",
                )
            if isinstance(seen, TensorMetadata):
                return ': "%s%s"' % (dtype_abbrs[seen.dtype], list(seen.shape))
        return "" if node.type is None else " : " + self.type_name(node.type)

    def comment(self, node: Node) -> None:
        """Where the node comes from, where that is another place than that of the node before it."""
        if not self.verbose or node.op in ("placeholder", "output"):
            return
        notes = ["%s: %s " % (k, node.meta[k]) for k in self.more_meta if k in node.meta]
        if "custom" in node.meta:
            notes.insert(0, "Annotation: %s " % (node.meta["custom"],))
        trace = node.stack_trace
        parsed = _parse_stack_trace(trace) if trace else None
        frame = parsed.get_summary_str() if parsed else "No stacktrace found for following nodes"
        if notes and parsed:
            text = "# " + "".join(notes) + "# " + frame if self.more_meta else "# " + "".join(notes) + frame
        else:
            text = "# " + "".join(notes) + frame
        if text != self._summary:
            self._summary = text
            self.body.append("\n%s\n" % self._paint(text, "dim"))

    def statement(self, node: Node) -> None:
        """Appends the statement of a node, without the end of its line."""
        kind = self._annotation(node)
        to = repr(node) + kind + " = "
        if node.op == "placeholder":
            default = " = " + self.value(node.args[0]) if node.args else ""
            self.free_vars.append(node.target + kind + default)
            name = node.target.replace("*", "")
            if name != repr(node):
                self.body.append("%r = %s\n" % (node, name))
        elif node.op == "call_method":
            called = _format_target(self.value(node.args[0]), node.target)
            self.body.append("%s%s(%s)" % (to, called, self.arguments(node.args[1:], node.kwargs)))
        elif node.op == "call_function":
            self._call(node, kind)
        elif node.op == "call_module":
            called = _format_target(self.root, node.target)
            self.body.append("%s%s(%s)" % (to, called, self.arguments(node.args, node.kwargs)))
        elif node.op == "get_attr":
            self.body.append(to + _format_target(self.root, node.target))
        elif node.op == "output":
            if node.type is not None:
                self.returns = " -> " + self.type_name(node.type)
            self.body.append(self.generate_output(node.args[0]))
        else:
            raise NotImplementedError("node: %s %s" % (node.op, node.target))

    def _call(self, node: Node, kind: str) -> None:
        target, args = node.target, node.args
        operator = getattr(target, "__module__", "") == "_operator" and target.__name__
        if operator in magic_methods:
            text = magic_methods[operator].format(*map(self.value, args))
            self.body.append("%r%s = %s" % (node, kind, text))
            return
        if operator in inplace_methods:
            text = inplace_methods[operator].format(*map(self.value, args))
            self.body.append("%s;  %r%s = %s" % (text, node, kind, self.value(args[0])))
            return
        name = self.add_global(get_qualified_name(target), target)
        plain = name == "getattr" and len(args) == 2 and not node.kwargs
        if plain and isinstance(args[1], str) and args[1].isidentifier():
            text = _format_target(self.value(args[0]), args[1])
            self.body.append("%r%s = %s" % (node, kind, text))
            return
        self.body.append("%r%s = %s(%s)" % (node, kind, name, self.arguments(args, node.kwargs)))
        if node.meta.get("is_wrapped", False):
            self.wrapped.setdefault(name)

    def end_line(self, node: Node, unused: list[Node]) -> None:
        """Ends the line of a node; the values that nobody uses from here on are let go."""
        if node.op == "placeholder":
            return
        if node.op == "output" or not unused:
            self.body.append("\n")
            return
        self.body.append(";  %s\n" % self._paint(" = ".join([*map(repr, unused), "None"]), "dim"))


def _from_torch(obj: Any) -> bool:
    module = getattr(obj, "__module__", None)
    if isinstance(module, str):
        return is_ours(obj) and not isinstance(obj, types.ModuleType)
    name = getattr(obj, "__name__", None)
    if name is not None and name != "torch" and not isinstance(obj, types.ModuleType):
        return any(getattr(guess, name, None) is obj for guess in (torch, torch.nn.functional))
    return False


def _is_op(arg: Any) -> bool:
    from .._ops import OperatorBase, OpOverloadPacket

    return isinstance(arg, (OperatorBase, OpOverloadPacket))


def _last_uses(nodes: list[Node]) -> dict[Node, list[Node]]:
    """By node: those that it uses last."""
    seen: set[Node] = set()
    found: dict[Node, list[Node]] = {}

    def use(n: Node, user: Node) -> Any:
        if n not in seen:
            seen.add(n)
            found.setdefault(user, []).append(n)
        return n

    for node in reversed(nodes):
        map_arg(node.args, lambda n, user=node: use(n, user))
        map_arg(node.kwargs, lambda n, user=node: use(n, user))
    return found


def _accepts(method: Any, **options: Any) -> dict[str, Any]:
    """Of the options, those that a method knows; code generators may be older than an option."""
    parameters = inspect.signature(method).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return options
    return {k: v for k, v in options.items() if k in parameters}


@compatibility(is_backward_compatible=False)
class CodeGen:
    """Makes code of a graph. Override its methods, and give it to Graph.set_codegen, to change the code."""

    def __init__(self) -> None:
        self._body_transformer: Any = None
        self._func_name: str = "forward"

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False) -> str:
        """The function's first lines, up to its body. free_vars are its parameters; `self` may be missing."""
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        if expanded_def:
            listed = "".join("\n    %s," % v for v in free_vars)
            return "def %s(%s\n)%s:" % (self._func_name, listed, maybe_return_annotation)
        return "def %s(%s)%s:" % (self._func_name, ", ".join(free_vars), maybe_return_annotation)

    def generate_output(
        self,
        output_args: Any,
        *,
        descs: Sequence[str] | None = None,
        repr_fn: Callable[[Any], str] | None = None,
    ) -> str:
        """The return statement."""
        return "return " + (repr_fn or repr)(output_args)

    def process_inputs(self, *args: Any) -> Any:
        """From the arguments of the generated function to those of the graph's placeholders."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """From the value of the graph's output to what the generated function returns."""
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Names that the code needs beside those of the nodes."""
        return []

    def _gen_python_code(
        self,
        nodes: Any,
        root_module: str,
        namespace: _Namespace,
        *,
        verbose: bool = False,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
        expanded_def: bool = False,
        record_func: bool = False,
        additional_meta: list[str] | None = None,
    ) -> PythonCode:
        steps = list(nodes)
        writer = _Writer(
            root_module,
            namespace,
            verbose=verbose,
            include_stride=include_stride,
            include_device=include_device,
            colored=colored,
            record_func=record_func,
            additional_meta=additional_meta,
        )
        options = _accepts(self.generate_output, repr_fn=writer.value)
        writer.generate_output = lambda value: self.generate_output(value, **options)
        last = _last_uses(steps)
        body = writer.body
        for i, node in enumerate(steps):
            writer.comment(node)
            body.append("# COUNTER: %d\n" % i)
            begin, end = _record_lines(node, i, steps) if record_func else ("", "")
            body.append(begin)
            writer.statement(node)
            writer.end_line(node, last.get(node, []) + ([] if node.users else [node]))
            body.append(end)
        if not body:
            body.append("pass\n")
        wraps = ""
        if writer.wrapped:
            from ._symbolic_trace import wrap

            wrap_name = writer.add_global("wrap", wrap)
            wraps = "\n".join('%s("%s")' % (wrap_name, name) for name in writer.wrapped)
        if self._body_transformer:
            body = self._body_transformer(body)
        for name, value in self.additional_globals():
            writer.add_global(name, value)
        accepted = _accepts(self.gen_fn_def, expanded_def=expanded_def)
        prologue = self.gen_fn_def(writer.free_vars, writer.returns, **accepted)
        lines, numbers = _without_counters("".join(body), prologue.count("\n") + 1)
        code = "\n".join("    " + line for line in "\n".join(lines).lstrip("\n").split("\n"))
        source = "\n%s\n\n%s\n%s" % (wraps, prologue, code)
        return PythonCode(source, writer.globals, numbers, wraps.count("\n") + 4)


def _without_counters(body: str, first: int) -> tuple[list[str], dict[int, int | None]]:
    """The lines of the code, and the node of each line by its place behind the first."""
    lines: list[str] = []
    numbers: dict[int, int | None] = {}
    at: int | None = None
    for line in body.split("\n"):
        counter = _COUNTER.search(line)
        if counter is None:
            numbers[len(lines) + first] = at
            lines.append(line)
        else:
            at = int(counter.group(1))
    return lines, numbers


def _record_lines(node: Node, i: int, steps: list[Node]) -> tuple[str, str]:
    """Lines around a statement that show it to the profiler."""
    make = "%s = torch._C._profiler._RecordFunctionFast('## %s ##'); %s.__enter__()\n"
    if node.op == "placeholder":
        last = i + 1 == len(steps) or steps[i + 1].op != "placeholder"
        return "", make % ("_rf", "ENTER_GRAPH_PLACEHOLDER_KEY", "_rf") if last else ""
    if node.op == "output":
        return "", "_rf.__exit__(None, None, None)\n"
    if node.op not in ("call_function", "call_method", "call_module"):
        return "", ""
    name = "_rf_" + node.name
    return make % (name, i, name), name + ".__exit__(None, None, None)\n"


# ---- arguments that are containers -----------------------------------------------------------------------------------
class _PyTreeInfo(NamedTuple):
    """Names of the function's own parameters, and the trees that its arguments and its result are."""

    orig_args: list[str]
    in_spec: pytree.TreeSpec
    out_spec: pytree.TreeSpec | None


class _PyTreeCodeGen(CodeGen):
    """Code of a graph whose placeholders are the leaves of the function's arguments."""

    def __init__(self, pytree_info: _PyTreeInfo) -> None:
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *inputs: Any) -> Any:
        return pytree.arg_tree_leaves(*inputs)

    def process_outputs(self, out: Any) -> Any:
        if self.pytree_info is None or self.pytree_info.out_spec is None:
            return out
        if not isinstance(out, (list, tuple)):
            out = [out]
        return pytree.tree_unflatten(out, self.pytree_info.out_spec)

    def _format_annotations(self, free_vars: list[str], expanded_def: bool) -> str:
        typed = [v for v in free_vars if ":" in v]
        if not typed:
            return ""
        return "\n    " + ("\n    " if expanded_def else "").join(v + "; " for v in typed) + "\n"

    def gen_var_bindings(self, fn_args: list[str], free_vars: list[str], expanded_def: bool) -> str:
        """The line that takes the arguments apart."""
        spec = self.pytree_info.in_spec
        signature = "[%s], self._in_spec" % ", ".join(fn_args)
        if spec.type is tuple and [c.type for c in spec.children_specs] == [tuple, dict]:  # of args and kwargs
            positional, named = spec.children_specs
            count = positional.num_children
            pairs = ", ".join("'%s':%s" % pair for pair in zip(named.context, fn_args[count:]))
            signature = "([%s], {%s}), self._in_spec" % (", ".join(fn_args[:count]), pairs)
        names = ", ".join(v.split(":")[0] for v in free_vars)
        return "\n    %s, = fx_pytree.tree_flatten_spec(%s)" % (names, signature)

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False) -> str:
        if self.pytree_info is None:
            return super().gen_fn_def(free_vars, maybe_return_annotation, expanded_def=expanded_def)
        names = self.pytree_info.orig_args
        if names and names[0] == "self":
            free_vars.insert(0, "self")
        text = super().gen_fn_def(names[:], maybe_return_annotation, expanded_def=expanded_def)
        if free_vars:
            text += self._format_annotations(free_vars, expanded_def)
            text += self.gen_var_bindings(names, free_vars, expanded_def)
        return text

    def generate_output(
        self,
        output_args: Any,
        *,
        descs: Sequence[str] | None = None,
        repr_fn: Callable[[Any], str] | None = None,
    ) -> str:
        if self.pytree_info is None or self.pytree_info.out_spec is None:
            return super().generate_output(output_args, descs=descs, repr_fn=repr_fn)
        return "return pytree.tree_unflatten(%s, self._out_spec)" % (repr_fn or repr)(output_args)


class _BoxedCodeGen(CodeGen):
    """Code of a function that takes its arguments as one list, and empties it."""

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False) -> str:
        if not free_vars:
            return "def %s(self, args_list)%s:\n    args_list.clear()" % (self._func_name, maybe_return_annotation)
        names = ", ".join(v.split(":")[0].split("=")[0].strip() for v in free_vars if v != "self")
        return "def %s(self, args_list)%s:\n    %s, = args_list\n    args_list.clear()" % (
            self._func_name,
            maybe_return_annotation,
            names,
        )


for _kind in (PythonCode, _ParsedStackTrace, CodeGen, _PyTreeInfo, _PyTreeCodeGen, _BoxedCodeGen):
    _kind.__module__ = __name__.rpartition(".")[0] + ".graph"  # where PyTorch has them
