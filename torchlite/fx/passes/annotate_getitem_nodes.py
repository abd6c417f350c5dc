"""annotate_getitem_nodes: the types of the elements of typed tuples, lists and dicts."""

import operator
from typing import Any


def annotate_getitem_nodes(graph: Any) -> None:
    """Gives operator.getitem nodes the type that the container's annotation says, where it is clear."""
    for node in graph.nodes:
        if node.target is not operator.getitem:
            continue
        container, index = node.args[:2]
        kind: Any = getattr(container, "type", None)
        inner = getattr(kind, "__args__", None)
        origin = getattr(kind, "__origin__", None)
        if origin is tuple and inner is not None and isinstance(index, int):
            node.type = inner[0] if len(inner) == 2 and inner[1] is ... else inner[index]
        elif origin is list and inner is not None:
            node.type = inner[0]
        elif hasattr(kind, "_fields") and isinstance(index, int):
            hints = getattr(kind, "__annotations__", {})
            if len(hints) == len(kind._fields):
                node.type = list(hints.values())[index]
