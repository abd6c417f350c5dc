"""FxGraphDrawer: pictures of graphs, by the package pydot, which torchlite does not bring."""

from typing import Any

from .._compatibility import compatibility

__all__ = ["FxGraphDrawer"]
try:
    import pydot

    HAS_PYDOT = True
except ImportError:
    pydot = None
    HAS_PYDOT = False
_COLORS = {
    "placeholder": '"AliceBlue"',
    "call_module": "LemonChiffon1",
    "get_param": "Yellow2",
    "get_attr": "LightGrey",
    "output": "PowderBlue",
}


@compatibility(is_backward_compatible=False)
class FxGraphDrawer:
    """FxGraphDrawer(gm, "name").get_dot_graph() is a pydot.Dot of the nodes and of what goes between them."""

    def __init__(
        self,
        graph_module: Any,
        name: str,
        ignore_getattr: bool = False,
        ignore_parameters_and_buffers: bool = False,
        skip_node_names_in_args: bool = True,
        parse_stack_trace: bool = False,
        dot_graph_shape: str | None = None,
        normalize_args: bool = False,
    ) -> None:
        if not HAS_PYDOT:
            raise RuntimeError(
                "FXGraphDrawer requires the pydot package to be installed. Please install pydot through your favorite "
                "Python package manager."
            )
        self._name, self._shape = name, dot_graph_shape or "record"
        self._dot_graphs = {name: self._draw(graph_module, name, ignore_getattr)}
        for inner_name, inner in graph_module.named_children():
            if hasattr(inner, "graph"):
                key = "%s_%s" % (name, inner_name)
                self._dot_graphs[key] = self._draw(inner, key, ignore_getattr)

    def get_dot_graph(self, submod_name: str | None = None) -> Any:
        """The picture of the module, or of a submodule."""
        return self.get_main_dot_graph() if submod_name is None else self.get_submod_dot_graph(submod_name)

    def get_main_dot_graph(self) -> Any:
        """The picture of the module."""
        return self._dot_graphs[self._name]

    def get_submod_dot_graph(self, submod_name: str) -> Any:
        """The picture of a submodule."""
        return self._dot_graphs["%s_%s" % (self._name, submod_name)]

    def get_all_dot_graphs(self) -> dict[str, Any]:
        """All pictures by name."""
        return self._dot_graphs

    def _draw(self, module: Any, name: str, ignore_getattr: bool) -> Any:
        drawn: Any = pydot.Dot(name, rankdir="TB")
        shown = [n for n in module.graph.nodes if not (ignore_getattr and n.op == "get_attr")]
        for node in shown:
            label = "{name=%%%s|op_code=%s|target=%s|num_users=%d}" % (
                node.name,
                node.op,
                node._pretty_print_target(node.target),
                len(node.users),
            )
            style = {"shape": self._shape, "style": '"filled,rounded"', "fontcolor": "#000000"}
            style["fillcolor"] = _COLORS.get(node.op, "CadetBlue1")
            drawn.add_node(pydot.Node(node.name, label=label, **style))
        for node in shown:
            for user in node.users:
                drawn.add_edge(pydot.Edge(node.name, user.name))
        return drawn
