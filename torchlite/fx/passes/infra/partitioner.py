"""CapabilityBasedPartitioner: groups of nodes that a backend supports, as large as they can be."""

from __future__ import annotations

import logging
from typing import Any

from ...node import Node, _get_qualified_name
from ..utils.fuser_utils import fuse_by_partitions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

logger = logging.getLogger("torch.fx.passes.infra.partitioner")


class Partition:
    """A group of nodes."""

    def __init__(
        self, id: int | None = None, nodes: Iterable[Node] | None = None, node_orders: Iterable[int] | None = None
    ) -> None:
        self.id = id
        orders: Iterable[Any] = node_orders if node_orders is not None else iter(lambda: None, 0)
        self.nodes: dict[Node, int | None] = dict(zip(nodes, orders)) if nodes is not None else {}

    def __repr__(self) -> str:
        return str(self.nodes)

    def add_node(self, node: Node, node_order: int | None = None) -> None:
        self.nodes[node] = node_order

    def remove_node(self, node: Node) -> None:
        del self.nodes[node]

    def size(self) -> int:
        return len(self.nodes)


class _DependencyViewer:
    """All nodes that use a node's value, directly or not."""

    def __init__(self, graph_module: Any) -> None:
        self.downstreams: dict[Node, set[Node]] = {}
        for node in reversed(graph_module.graph.nodes):
            found = self.downstreams.setdefault(node, set())
            for user in node.users:
                found.add(user)
                found |= self.downstreams[user]

    def downstreams_of(self, node: Node) -> set[Node]:
        return self.downstreams.get(node, set())


class CapabilityBasedPartitioner:
    """propose_partitions() groups the supported nodes; fuse_partitions() puts each group into a submodule."""

    def __init__(
        self,
        graph_module: Any,
        operator_support: Any,
        allows_single_node_partition: bool = False,
        non_compute_ops: Sequence[str] | None = None,
        allowed_single_node_partition_ops: Sequence[str] | None = None,
        skip_horizontal_fusion: bool = False,
    ) -> None:
        self.graph_module, self.operator_support = graph_module, operator_support
        self.allows_single_node_partition = allows_single_node_partition
        self.non_compute_ops = non_compute_ops or []
        self.allowed_single_node_partition_ops = allowed_single_node_partition_ops or []
        self.skip_horizontal_fusion = skip_horizontal_fusion
        self.dependency_viewer = _DependencyViewer(graph_module)

    def _is_node_supported(self, node: Node) -> bool:
        return self.operator_support.is_node_supported(dict(self.graph_module.named_modules()), node)

    def propose_partitions(self) -> list[Partition]:
        """The groups, from the last nodes to the first; none depends on itself through a node outside."""
        place = {node: i for i, node in enumerate(self.graph_module.graph.nodes)}
        groups: dict[int, dict[Node, int]] = {}
        where: dict[Node, int] = {}

        def merge(a: int, b: int) -> bool:
            """Puts group b into a, unless a way leads from one to the other through something else."""
            if a == b:
                return False
            merged = {**groups[a], **groups[b]}
            outside = {u for n in merged for u in n.users if u not in merged}
            seen: set[int] = set()
            queue: list[Any] = list(outside)
            visited: set[Node] = set()
            while queue:
                node = queue.pop()
                if node in merged:
                    return False
                if node in visited:
                    continue
                visited.add(node)
                group = where.get(node)
                if group is not None and group not in seen:
                    seen.add(group)
                    if seen & {a, b}:
                        return False
                    queue.extend(u for n in groups[group] for u in n.users if n is not node)
                queue.extend(node.users)
            groups[a] = merged
            for node in groups.pop(b):
                where[node] = a
            return True

        number = 0
        for node in reversed(self.graph_module.graph.nodes):
            others: dict[int, None] = {}
            if self._is_node_supported(node) and node not in where:
                groups[number], where[node] = {node: place[node]}, number
                others[number] = None
                number += 1
            elif self.skip_horizontal_fusion:
                continue
            others.update({where[user]: None for user in node.users if user in where})
            if not self.skip_horizontal_fusion:
                others.update(dict.fromkeys(sorted(groups)))
            for other in list(others)[1:]:
                merge(next(iter(others)), other)
        self._move_getitems(groups, where, place)
        partitions = [Partition(i, nodes, nodes.values()) for i, nodes in groups.items() if nodes]
        if not self.allows_single_node_partition:
            partitions = [p for p in partitions if self._computes(p)]
        return partitions

    def _move_getitems(self, groups: Any, where: Any, place: Any) -> None:
        """operator.getitem of results goes where these are made, be that in no group."""
        for node in self.graph_module.graph.nodes:
            users = list(node.users)
            if not all(u.op == "call_function" and _get_qualified_name(u.target) == "_operator.getitem" for u in users):
                continue
            for user in users:
                to = where.get(node)
                if where.get(user) == to:
                    continue
                if user in where:
                    del groups[where.pop(user)][user]
                if to is not None:
                    where[user] = to
                    groups[to][user] = place[user]

    def _computes(self, partition: Partition) -> bool:
        skipped = {"torch.ops.aten.view", "_operator.getitem"} | set(self.non_compute_ops)
        count = 0
        for node in partition.nodes:
            if node.op == "call_function":
                name = _get_qualified_name(node.target)
                if name not in skipped:
                    count += 1
                if name in self.allowed_single_node_partition_ops:
                    count += 1
        return count > 1

    def fuse_partitions(self, partitions: list[Partition], prefix: str = "fused_") -> Any:
        """Puts each group into a submodule prefix0, prefix1, ..."""
        return fuse_by_partitions(self.graph_module, [p.nodes for p in partitions], prefix)

    def remove_bookend_non_compute_ops(self, partitions: list[Partition]) -> None:
        """Takes nodes that compute nothing from the edges of the groups."""
        skipped = set(self.non_compute_ops)

        def plain(node: Node) -> bool:
            return node.op == "call_function" and _get_qualified_name(node.target) in skipped

        for partition in partitions:
            for neighbours in (lambda n: n.all_input_nodes, lambda n: list(n.users)):
                again = True
                while again:
                    loose = [
                        n for n in partition.nodes if plain(n) and not any(m in partition.nodes for m in neighbours(n))
                    ]
                    again = bool(loose)
                    for node in loose:
                        partition.remove_node(node)

    def partition_and_fuse(self, prefix: str = "fused_") -> Any:
        """propose_partitions, and fuse_partitions of them."""
        return self.fuse_partitions(self.propose_partitions(), prefix)
