"""What nodes remember of the program that made them: stack traces and meta that outlives a new trace."""

from __future__ import annotations

import contextlib
import copy
import functools
import json
import traceback
from enum import Enum
from typing import Any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from .node import Node

__all__ = [
    "annotate",
    "annotate_fn",
    "preserve_node_meta",
    "has_preserved_node_meta",
    "set_stack_trace",
    "set_grad_fn_seq_nr",
    "reset_grad_fn_seq_nr",
    "format_stack",
    "set_current_meta",
    "get_current_meta",
    "NodeSource",
    "NodeSourceAction",
    "get_graph_provenance_json",
    "set_current_replay_node",
    "get_current_replay_node",
]

current_meta: dict[str, Any] = {}
current_replay_node: Any = None
should_preserve_node_meta = False
GRADIENT_ACC_SPECIAL_STACK = (
    "Gradient addition node due to multiple use of tensor around:"  # of nodes that sum gradients
)


class NodeSourceAction(Enum):
    """What a pass did to make a node."""

    CREATE = "create"
    REPLACE = "replace"


class NodeSource:
    """Which node a node comes from, and through which pass."""

    class NodeInfo:
        """A node, by name, target and graph."""

        def __init__(self, name: str, target: str, graph_id: int) -> None:
            self.name, self.target, self.graph_id = name, target, graph_id

        def __eq__(self, other: object) -> bool:
            return isinstance(other, NodeSource.NodeInfo) and vars(self) == vars(other)

        def __hash__(self) -> int:
            return hash((self.name, self.target, self.graph_id))

    def __init__(self, node: Node | None, pass_name: str = "", action: Any = None) -> None:
        self.pass_name = pass_name
        several = isinstance(action, list) or action is None
        self.action: list[NodeSourceAction] = list(action or ()) if several else [action]
        self.node_info: Any = None
        self.from_node: list[NodeSource] = []
        if node is not None:
            self.node_info = NodeSource.NodeInfo(node.name, str(node.target), id(node.graph))
            self.from_node = copy.deepcopy(node.meta.get("from_node", []))

    name = property(lambda self: self.node_info.name if self.node_info else "")
    target = property(lambda self: self.node_info.target if self.node_info else "")
    graph_id = property(lambda self: self.node_info.graph_id if self.node_info else -1)

    def _get_action_string(self) -> str:
        return "+".join(a.name.lower() for a in self.action)

    def __repr__(self) -> str:
        return self.print_readable()

    def print_readable(self, indent: int = 0) -> str:
        """The chain of sources, one line each."""
        if indent > 9:
            return ""
        line = "%s(name=%s, pass_name=%s, action=%s, graph_id=%s)\n" % (
            " " * indent * 4,
            self.name,
            self.pass_name,
            self._get_action_string(),
            self.graph_id,
        )
        return line + "".join(source.print_readable(indent + 1) for source in self.from_node)

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {
            "name": self.name,
            "target": self.target,
            "graph_id": self.graph_id,
            "pass_name": self.pass_name,
            "action": self._get_action_string(),
            "from_node": [source.to_dict() for source in self.from_node],
        }

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NodeSource) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(json.dumps(self.to_dict(), sort_keys=True))

    @classmethod
    def _from_dict(cls, d: dict[str, Any] | None) -> NodeSource | None:
        if d is None:
            return None
        made = cls(None, d.get("pass_name", ""))
        made.action = [NodeSourceAction(a) for a in d.get("action", "").split("+") if a]
        made.node_info = NodeSource.NodeInfo(d.get("name", ""), d.get("target", ""), d.get("graph_id", -1))
        made.from_node = [source for x in d.get("from_node", []) if (source := cls._from_dict(x)) is not None]
        return made


@contextlib.contextmanager
def _meta_on(on: bool) -> Iterator[None]:
    global should_preserve_node_meta, current_meta
    before = should_preserve_node_meta, current_meta
    should_preserve_node_meta, current_meta = on, current_meta.copy()
    try:
        yield
    finally:
        should_preserve_node_meta, current_meta = before


@contextlib.contextmanager
def preserve_node_meta(enable: bool = True) -> Iterator[None]:
    """Inside, nodes that a Transformer or a tracer makes get the meta of the node that is being run."""
    with _meta_on(enable):
        yield


def has_preserved_node_meta() -> bool:
    """Whether preserve_node_meta is on."""
    return should_preserve_node_meta


@contextlib.contextmanager
def annotate(annotation_dict: dict[str, Any]) -> Iterator[None]:
    """Inside, nodes that are made get these entries in meta["custom"]."""
    global current_meta
    before = current_meta
    current_meta = {**before, "custom": {**before.get("custom", {}), **annotation_dict}}
    try:
        yield
    finally:
        current_meta = before


def annotate_fn(annotation_dict: dict[str, Any]) -> Callable[[Any], Any]:
    """Decorator: `annotate` around each call."""

    def decorate(func: Any) -> Any:
        @functools.wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with annotate(annotation_dict):
                return func(*args, **kwargs)

        return wrapper

    return decorate


def set_stack_trace(stack: list[str]) -> None:
    """The stack trace of nodes to come, while preserve_node_meta is on."""
    if should_preserve_node_meta and stack:
        current_meta["stack_trace"] = "".join(stack)


def set_grad_fn_seq_nr(seq_nr: int) -> None:
    """Marks nodes to come as those of a gradient, while preserve_node_meta is on."""
    if should_preserve_node_meta:
        current_meta["grad_fn_seq_nr"] = current_meta.get("grad_fn_seq_nr", []) + [seq_nr]
        current_meta["in_grad_fn"] = current_meta.get("in_grad_fn", 0) + 1


def reset_grad_fn_seq_nr() -> None:
    """Ends the innermost set_grad_fn_seq_nr."""
    if not should_preserve_node_meta:
        return
    level = current_meta.get("in_grad_fn", 0)
    if level <= 0:
        raise AssertionError("in_grad_fn level must be > 0, got %d" % level)
    if level == 1:
        del current_meta["in_grad_fn"], current_meta["grad_fn_seq_nr"]
    else:
        current_meta["in_grad_fn"] = level - 1
        current_meta["grad_fn_seq_nr"] = current_meta["grad_fn_seq_nr"][:-1]


def format_stack() -> list[str]:
    """The stack trace of the node that is being run; without one, of this call."""
    if should_preserve_node_meta:
        return [current_meta.get("stack_trace", "")]
    return traceback.format_list(traceback.extract_stack()[:-1])


@contextlib.contextmanager
def set_current_meta(node: Node, pass_name: str = "") -> Iterator[None]:
    """Inside, `node` is the one that is being run."""
    global current_meta
    if not (should_preserve_node_meta and node.meta):
        yield
        return
    before = current_meta
    current_meta = node.meta.copy()
    if "from_node" not in current_meta:
        current_meta["from_node"] = [NodeSource(node, pass_name, NodeSourceAction.CREATE)]
    elif current_meta["from_node"][-1].name != node.name:
        current_meta["from_node"] = [
            *current_meta["from_node"],
            NodeSource(node, pass_name, NodeSourceAction.CREATE),
        ]
    try:
        yield
    finally:
        current_meta = before


def get_current_meta() -> dict[str, Any]:
    """The meta of the node that is being run."""
    return current_meta


@contextlib.contextmanager
def set_current_replay_node(node: Node | None) -> Iterator[None]:
    """Inside, `node` is the one that a trace replays."""
    global current_replay_node
    before, current_replay_node = current_replay_node, node
    try:
        yield
    finally:
        current_replay_node = before


def get_current_replay_node() -> Any:
    """The node that a trace replays."""
    return current_replay_node


def get_graph_provenance_json(graph: Any) -> dict[str, Any]:
    """By node of calls: where it comes from."""
    found: dict[str, Any] = {}
    for node in graph.nodes:
        if node.op == "call_function":
            found[node.name] = [source.to_dict() for source in node.meta.get("from_node", [])]
    return found
