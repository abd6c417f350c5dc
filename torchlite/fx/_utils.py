"""Small helpers around graphs."""

from typing import Any


def lazy_format_graph_code(name: str, gm: Any, maybe_id: int | None = None, **kwargs: Any) -> str:
    """The readable code of a module under a headline."""
    title = "%s %d" % (name, maybe_id) if maybe_id is not None else name
    return _format_graph_code("===== %s =====\n" % title, gm.forward.__code__.co_filename, _code(gm, **kwargs))


def _code(gm: Any, print_output: bool = False, **kwargs: Any) -> str:
    return gm.print_readable(print_output=print_output, **kwargs)


def _format_graph_code(name: str, filename: str, graph_str: str) -> str:
    return "TRACED GRAPH\n %s %s %s\n" % (name, filename, graph_str)


def first_call_function_nn_module_stack(graph: Any) -> dict[str, Any] | None:
    """The module stack of the first call of a function that has one."""
    for node in graph.nodes:
        if node.op == "call_function" and "nn_module_stack" in node.meta:
            return node.meta["nn_module_stack"]
    return None


def get_node_context(node: Any, num_nodes: int = 2) -> str:
    """The lines of a node and of those before it."""
    lines: list[str] = []
    at = node
    while len(lines) < num_nodes and at.op != "root":
        lines.append(str(at.format_node()))
        at = at.prev
    return "\n".join(reversed(lines))
