"""_SplitterBase: a module as calls of submodules, those that an accelerator supports and the others."""

from __future__ import annotations

import copy
from collections import defaultdict
from dataclasses import dataclass
from typing import Any, NamedTuple

import torchlite as torch

from .._compatibility import compatibility
from ..node import Node
from .operator_support import OperatorSupportBase, get_node_target
from .shape_prop import ShapeProp
from .split_utils import move_non_tensor_nodes_on_boundary, split_by_tags
from .tools_common import CALLABLE_NODE_OPS, FxNetAccFusionsFinder, is_node_output_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "FxNetAccNodesFinder",
    "FxNetSplitterInternalError",
    "Subgraph",
    "SplitResult",
    "generate_inputs_for_submodules",
    "NodeEvent",
    "NodeEventTracker",
]
DEFAULT_MIN_ACC_MODULE_SIZE = 1
DEFAULT_SKIP_FUSION = DEFAULT_ALLOW_NON_TENSOR = False


class _SplitterSettingBase:
    """How small parts for the accelerator may be, and whether values between parts may be no tensors."""

    def __init__(
        self,
        min_acc_module_size: int = DEFAULT_MIN_ACC_MODULE_SIZE,
        skip_fusion: bool = DEFAULT_SKIP_FUSION,
        allow_non_tensor: bool = DEFAULT_ALLOW_NON_TENSOR,
        max_acc_splits: int = -1,
        move_non_tensor_nodes_on_boundary: bool = False,
    ) -> None:
        self.min_acc_module_size, self.skip_fusion = min_acc_module_size, skip_fusion
        self.allow_non_tensor, self.max_acc_splits = allow_non_tensor, max_acc_splits
        self.move_non_tensor_nodes_on_boundary = move_non_tensor_nodes_on_boundary


@compatibility(is_backward_compatible=False)
class NodeEvent:
    """Why a node was taken or left, and because of which other."""

    def __init__(self, source: Node, desc: str, dep: Node | None = None) -> None:
        self.source, self.desc, self.dep = source, desc, dep

    def to_str(self) -> str:
        return "%s %s" % (self.desc, self.dep.name if self.dep else "#")


@compatibility(is_backward_compatible=False)
class NodeEventTracker:
    """The events of each node. Modes: 0 keeps none, 1 to 3 keep all."""

    def __init__(self, tracker_mode: int, dump_prefix: str) -> None:
        self.tracker_mode, self.dump_prefix, self.enabled = tracker_mode, dump_prefix, tracker_mode in (1, 2, 3)
        self.events: list[NodeEvent] = []
        self.node_events: dict[str, list[int]] = {}
        self.writer: Any = print

    def add(self, node: Node, desc: str, dep: Node | None = None) -> None:
        if self.enabled:
            self.node_events.setdefault(node.name, []).append(len(self.events))
            self.events.append(NodeEvent(node, desc, dep))

    def print_node(self, node_name: str, recursive: bool = False, tab: str = "", writer: Any = None) -> None:
        write = writer or self.writer
        for i in self.node_events.get(node_name, ()):
            event = self.events[i]
            write("%s%s" % (tab, event.to_str()))
            if recursive and event.dep is not None:
                self.print_node(event.dep.name, True, "| " + tab, write)

    def to_dict(self) -> dict[str, list[str]]:
        return {name: [self.events[i].to_str() for i in events] for name, events in self.node_events.items()}

    def print_all(self, writer: Any = None) -> None:
        for name in self.node_events:
            (writer or self.writer)("Node: %s:" % name)
            self.print_node(name, False, "  ", writer)

    def dump(self) -> None:
        """Nothing: mode 2 and 3 of PyTorch write files."""


@compatibility(is_backward_compatible=False)
class FxNetAccNodesFinder:
    """The nodes for the accelerator: supported ones, without those whose neighbours would hand on what is no tensor."""

    def __init__(self, module: Any, operator_support: OperatorSupportBase, allow_non_tensor: bool) -> None:
        self.module, self.operator_support, self.allow_non_tensor = module, operator_support, allow_non_tensor
        self.acc_nodes: set[Node] = set()
        self.tracker = NodeEventTracker(0, "")

    def reduce_acc_nodes_non_tensor_input_helper(self, cpu_worklist: list[Node]) -> None:
        """Takes out what uses such values, and what uses theirs."""
        while cpu_worklist:
            node = cpu_worklist.pop(0)
            for user in node.users:
                if user in self.acc_nodes:
                    self.acc_nodes.remove(user)
                    self.tracker.add(user, "acc_del|user_of_new_cpu_node|dep", node)
                    if not is_node_output_tensor(user):
                        cpu_worklist.append(user)

    def reduce_acc_nodes_non_tensor_input(self) -> None:
        """Takes out nodes that use values of other nodes that are no tensors."""
        self.reduce_acc_nodes_non_tensor_input_helper(
            [
                n
                for n in self.module.graph.nodes
                if n.op in CALLABLE_NODE_OPS and n not in self.acc_nodes and not is_node_output_tensor(n)
            ]
        )

    def reduce_acc_nodes_non_tensor_output(self) -> None:
        """Takes out nodes whose values are no tensors, and go to other nodes."""
        while True:
            found = [
                n
                for n in self.acc_nodes
                if not is_node_output_tensor(n) and any(user not in self.acc_nodes for user in n.users)
            ]
            if not found:
                return
            for node in found:
                self.acc_nodes.remove(node)
            self.reduce_acc_nodes_non_tensor_input_helper(found)

    def __call__(self) -> set[Node]:
        submodules = dict(self.module.named_modules())
        self.acc_nodes = {
            n
            for n in self.module.graph.nodes
            if n.op in CALLABLE_NODE_OPS and self.operator_support.is_node_supported(submodules, n)
        }
        if not self.allow_non_tensor:
            self.reduce_acc_nodes_non_tensor_input()
            self.reduce_acc_nodes_non_tensor_output()
        return self.acc_nodes


@compatibility(is_backward_compatible=False)
class FxNetSplitterInternalError(Exception):
    """A splitter cannot go on."""


@compatibility(is_backward_compatible=False)
@dataclass
class Subgraph:
    """Nodes of one part."""

    is_acc: bool
    nodes: list[Node]
    device_ordinal: int | None = None


@compatibility(is_backward_compatible=False)
class SplitResult(NamedTuple):
    """The module of parts, the inputs of each for the sample, and how the names of the others begin."""

    split_module: Any
    submodule_inputs: dict[str, Any]
    non_acc_submodule_prefix: str


@compatibility(is_backward_compatible=False)
def generate_inputs_for_submodules(
    model: Any, inputs: Sequence[Any], target_submodules: Iterable[str], deepcopy: bool = False
) -> dict[str, Any]:
    """What submodules get when the model runs with these inputs."""
    handles: list[Any] = []
    found: dict[str, Any] = {}
    names = {module: name for name, module in model.named_modules()}

    def look(module: Any, given: Any) -> None:
        found[names[module]] = copy.deepcopy(given) if deepcopy else given

    try:
        for name, module in model.named_modules():
            if name in target_submodules:
                handles.append(module.register_forward_pre_hook(look))
        with torch.no_grad():
            model(*inputs)
    finally:
        for handle in handles:
            handle.remove()
    return found


class _SplitterBase:
    """Runs the module with sample inputs, finds the nodes for the accelerator, and splits: _run_on_acc_0,
    _run_on_cpu_1 and so on."""

    PCIe_BW = 100 * 2**30

    def __init__(
        self,
        module: Any,
        sample_input: Sequence[Any],
        operator_support: OperatorSupportBase,
        settings: _SplitterSettingBase,
        non_acc_submodule_name: str = "_run_on_cpu_",
        return_tuple: bool = False,
        nodes_finder: Any = None,
    ) -> None:
        self.module = module
        ShapeProp(module).propagate(*sample_input)
        self.settings, self.operator_support, self.sample_input = settings, operator_support, sample_input
        finder = nodes_finder or FxNetAccNodesFinder(module, operator_support, settings.allow_non_tensor)
        self.acc_nodes: set[Node] = finder()
        self.fusions: dict[Node, set[Node]] = {}
        if not settings.skip_fusion:
            self.fusions = FxNetAccFusionsFinder(module, self.acc_nodes)()
        self.deps = self.find_deps()
        self.update_deps_for_fusions()
        self.non_acc_submodule_name = non_acc_submodule_name
        self._return_tuple = return_tuple
        self.tags: list[str] = []
        self._node_submodule_map: dict[str, str] = {}

    def get_node_submodule_map(self) -> dict[str, str]:
        """By name of a node: its submodule."""
        return self._node_submodule_map

    def find_deps(self) -> dict[Node, set[Node]]:
        """By node: the calls whose values it uses."""
        deps: dict[Node, set[Node]] = defaultdict(set)
        for node in self.module.graph.nodes:
            if node.op not in CALLABLE_NODE_OPS:
                continue
            for user in node.users:
                if user.op != "output":
                    deps[user].add(node)
        return deps

    def update_deps_for_fusions(self) -> None:
        """Nodes of a group wait for what all of them wait for."""
        for node, group in self.fusions.items():
            for other in group:
                self.deps[node].update(self.deps[other] - group)
                for user in other.users:
                    if user not in group and user.op != "output":
                        self.deps[user].add(node)

    def find_parent_nodes_of_subgraph(self, tag: str) -> set[Node]:
        """The nodes of other parts whose values the nodes of a part use."""
        return {
            arg
            for node in self.module.graph.nodes
            if node.op in CALLABLE_NODE_OPS and node.tag == tag
            for arg in node.all_input_nodes
            if arg.op in CALLABLE_NODE_OPS and arg.tag != tag
        }

    def starter_nodes(self) -> tuple[set[Node], set[Node]]:
        """(those for the cpu, those for the accelerator) of the nodes that use inputs only"""
        cpu: set[Node] = set()
        acc: set[Node] = set()
        for node in self.module.graph.nodes:
            if node.op in ("placeholder", "get_attr"):
                for user in node.users:
                    (acc if user in self.acc_nodes else cpu).add(user)
        return cpu, acc

    def put_nodes_into_subgraphs(self) -> list[Subgraph]:
        """Parts in order: as many nodes of one kind as can run, then of the other."""
        cpu, acc = self.starter_nodes()
        done: set[Node] = set()
        is_acc = not any(len(self.deps[n]) == 0 for n in cpu)
        groups: list[Subgraph] = []
        nodes: list[Node] = []
        place = {n: i for i, n in enumerate(self.module.graph.nodes)}
        while cpu or acc:
            current = acc if is_acc else cpu
            node = min((n for n in current if self.deps[n] <= done), key=lambda n: place[n], default=None)
            if node is None:
                if not nodes:
                    raise FxNetSplitterInternalError("Subgraph can't be empty")
                groups.append(Subgraph(is_acc, nodes))
                is_acc, nodes = not is_acc, []
                continue
            current.remove(node)
            done.add(node)
            nodes.append(node)
            if node in self.fusions:
                (acc if is_acc else cpu).update(self.fusions[node] - done)
            for user in node.users:
                if user.op in CALLABLE_NODE_OPS and user not in done:
                    (acc if user in self.acc_nodes else cpu).add(user)
        if nodes:
            groups.append(Subgraph(is_acc, nodes))
        if not groups:
            raise FxNetSplitterInternalError("Couldn't create subgraphs")
        if self.settings.move_non_tensor_nodes_on_boundary:
            move_non_tensor_nodes_on_boundary(groups)
        return groups

    def remove_small_acc_subgraphs(self, subgraphs: list[Subgraph]) -> list[Subgraph]:
        """Parts for the accelerator that are too small go to the cpu, together with the parts around them."""
        result: list[Subgraph] = []
        for subgraph in subgraphs:
            if subgraph.is_acc and len(subgraph.nodes) >= self.settings.min_acc_module_size:
                result.append(subgraph)
            elif result and not result[-1].is_acc:
                result[-1].nodes.extend(subgraph.nodes)
            else:
                subgraph.is_acc = False
                result.append(subgraph)
        return result

    def tag(self, subgraphs: list[Subgraph]) -> None:
        """Gives each node the name of its part."""
        self.tags = []
        for number, subgraph in enumerate(subgraphs):
            prefix = "_run_on_acc_" if subgraph.is_acc else self.non_acc_submodule_name
            tag = "%s%d" % (prefix, number)
            self.tags.append(tag)
            for node in subgraph.nodes:
                if hasattr(node, "tag"):
                    raise FxNetSplitterInternalError("Node %s was already tagged" % node)
                node.tag = tag
                self._node_submodule_map[node.name] = tag

    def split(self, remove_tag: bool = False) -> Any:
        """The module of parts."""
        made = split_by_tags(self.module, self.tags, return_tuple=self._return_tuple)
        if remove_tag:
            for node in self.module.graph.nodes:
                if hasattr(node, "tag"):
                    del node.tag
        return made

    def __call__(self) -> Any:
        subgraphs = self.remove_small_acc_subgraphs(self.put_nodes_into_subgraphs())
        count = sum(s.is_acc for s in subgraphs)
        if self.settings.max_acc_splits > 0 and count > self.settings.max_acc_splits:
            raise ValueError(
                "Cannot fulfill max_acc_splits limit. This may cause split fragmentation and result in performance "
                "issues."
            )
        self.tag(subgraphs)
        return self.split()

    def generate_split_results(self) -> SplitResult:
        """The module of parts with the inputs of each."""
        made = self()
        names = [name for name, _ in made.named_children()]
        inputs = generate_inputs_for_submodules(made, self.sample_input, names)
        return SplitResult(made, inputs, self.non_acc_submodule_name)

    def node_support_preview(self, dump_graph: bool = False) -> str:
        """A text: which kinds of nodes are supported."""
        submodules = dict(self.module.named_modules())
        kinds: dict[bool, set[str]] = {True: set(), False: set()}
        for node in self.module.graph.nodes:
            if node.op not in CALLABLE_NODE_OPS:
                continue
            metas = [a.meta.get("tensor_meta") for a in node.all_input_nodes]
            dtypes = [m.dtype for m in metas if hasattr(m, "dtype")]
            known = self.operator_support.is_node_supported(submodules, node)
            kinds[known].add("%s: (%s, %s)" % (get_node_target(submodules, node), dtypes, dict(node.kwargs) or {}))
        parts = ["\nSupported node types in the model:\n", *("%s\n" % k for k in sorted(kinds[True]))]
        parts += ["\nUnsupported node types in the model:\n", *("%s\n" % k for k in sorted(kinds[False]))]
        print("".join(parts))
        return "".join(parts)

    def split_preview(self, dump_graph: bool = False) -> str:
        """A text: how the module would be split."""
        subgraphs = self.remove_small_acc_subgraphs(self.put_nodes_into_subgraphs())
        acc = [s for s in subgraphs if s.is_acc]
        lines = [
            "Before removing small acc subgraphs, total %d subgraphs are created: %d acc subgraphs and %d cpu "
            "subgraphs.\n" % (len(subgraphs), len(acc), len(subgraphs) - len(acc))
        ]
        for i, subgraph in enumerate(subgraphs):
            kind = "_run_on_acc_" if subgraph.is_acc else self.non_acc_submodule_name
            lines.append("%s%d: %d node(s)\n" % (kind, i, len(subgraph.nodes)))
        print("".join(lines))
        return "".join(lines)
