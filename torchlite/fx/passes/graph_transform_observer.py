"""GraphTransformObserver: which nodes a pass made and erased."""

from __future__ import annotations

from typing import Any

from .._compatibility import compatibility
from ..traceback import NodeSource, NodeSourceAction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["GraphTransformObserver"]


@compatibility(is_backward_compatible=False)
class GraphTransformObserver:
    """with GraphTransformObserver(gm, "name"): nodes made inside know where they come from (meta["from_node"]);
    created_nodes and erased_nodes have their names."""

    __pass_count = 0

    def __init__(self, gm: Any, passname: str, subsystem: str | None = None, log_url: str | None = None) -> None:
        self.gm, self.passname, self.subsystem, self.log_url = gm, passname, subsystem, log_url
        GraphTransformObserver.__pass_count += 1
        self.active = True
        self.erased_nodes: set[str] = set()
        self.created_nodes: set[str] = set()
        self.name_to_node: dict[str, Any] = {}
        self.copied_gms: list[Any] = []
        self._create, self._erase = self.get_node_creation_hook(), self.get_node_erase_hook()
        self._replace, self._copy = self.get_node_replace_hook(), self.get_deepcopy_hook()

    @classmethod
    def get_current_pass_count(cls) -> int:
        """How many observers there were."""
        return cls.__pass_count

    def apply_gm_pass(self, pass_fn: Callable[[Any], Any]) -> Any:
        """Runs a pass over the module."""
        with self:
            return None if self._check_disable_pass() else pass_fn(self.gm)

    def apply_graph_pass(self, pass_fn: Callable[[Any], Any]) -> Any:
        """Runs a pass over the graph."""
        with self:
            return None if self._check_disable_pass() else pass_fn(self.gm.graph)

    def _check_disable_pass(self) -> bool:
        return False

    def _each(self, add: bool, gm: Any) -> None:
        for kind, hook in (
            ("create_node", self._create),
            ("erase_node", self._erase),
            ("replace_node", self._replace),
            ("deepcopy", self._copy),
        ):
            getattr(gm, "_%s_%s_hook" % ("register" if add else "unregister", kind))(hook)

    def __enter__(self) -> GraphTransformObserver:
        self._each(True, self.gm)
        self.erased_nodes.clear()
        self.created_nodes.clear()
        self.name_to_node.clear()
        self.copied_gms.clear()
        for node in self.gm.graph.nodes:
            self.name_to_node[node.name] = node
        return self

    def __exit__(self, type: Any, value: Any, tb: Any) -> None:
        for gm in (self.gm, *self.copied_gms):
            self._each(False, gm)

    def get_node_creation_hook(self) -> Callable[[Any], None]:
        def on_node_creation(node: Any) -> None:
            self.created_nodes.add(node.name)
            self.name_to_node[node.name] = node
            node.meta["from_node"] = [NodeSource(None, self.passname, NodeSourceAction.CREATE)]

        return on_node_creation

    def get_node_erase_hook(self) -> Callable[[Any], None]:
        def on_node_erase(node: Any) -> None:
            self.erased_nodes.add(node.name)
            self.name_to_node.pop(node.name, None)

        return on_node_erase

    def get_node_replace_hook(self) -> Callable[[Any, str, Any], None]:
        def on_node_replace(old: Any, new: str, user: Any) -> None:
            made = self.name_to_node.get(new)
            if made is None:
                return
            source = NodeSource(old, self.passname, NodeSourceAction.REPLACE)
            known = made.meta.setdefault("from_node", [])
            if source not in known:
                known.append(source)

        return on_node_replace

    def get_deepcopy_hook(self) -> Callable[[Any], None]:
        def on_deepcopy(gm: Any) -> None:
            self.copied_gms.append(gm)

        return on_deepcopy
