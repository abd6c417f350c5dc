"""Looking at the graph and at what it saves: torch.autograd.graph."""

from __future__ import annotations


import contextlib
import functools
import weakref

from .. import _C
from ..utils.hooks import RemovableHandle
from . import _engine, _node
from ._node import Node, edge

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any
    from .._types import Tensor


__all__ = [
    "Node",
    "saved_tensors_hooks",
    "save_on_cpu",
    "disable_saved_tensors_hooks",
    "register_multi_grad_hook",
    "get_gradient_edge",
    "GradientEdge",
    "increment_version",
    "allow_mutation_on_saved_tensors",
]


_disabled: list[str | None] = [None]  # the message of the innermost disable_saved_tensors_hooks
tasks: list[Task] = []  # the backward passes that are running, innermost last


class Task:
    """A running backward pass: the edges it started from, and the tensors it was asked for (None for all leaves)."""

    __slots__ = ("roots", "inputs", "accumulates", "nodes", "key", "callbacks", "number")
    made = 0

    def __init__(
        self, roots: Any, inputs: list[Tensor] | tuple[Tensor, ...] | None = None, accumulates: bool = True
    ) -> None:
        self.roots, self.inputs, self.accumulates = roots, inputs, accumulates
        self.nodes: set[Any] | None = None
        self.key = object()  # names the pass without keeping its graph
        self.callbacks: list[Callable[[], Any]] = []  # what runs at its end
        self.number = Task.made
        Task.made += 1

    def executes(self, node: Any) -> bool:
        if self.nodes is None:
            self.nodes = self._executed()
        return node in self.nodes

    def _executed(self) -> set[Node]:
        """The nodes that will run: those reached, and only those that lead to `inputs` where these are given."""
        seen, todo = set(), [_face(e) for e in self.roots]
        while todo:
            node = todo.pop()
            if node not in seen:
                seen.add(node)
                todo.extend(following for following, _ in node.edges() if following is not None)
        if self.inputs is None:
            return seen
        wanted = {_face(edge_of(t)) for t in self.inputs} & seen
        for node in sorted((n for n in seen if n.next), key=lambda n: n._sequence_nr()):
            if any(following in wanted for following, _ in node.edges()):
                wanted.add(node)
        return wanted


def _face(e: Any) -> Node:
    """The node of an edge; of a leaf its AccumulateGrad."""
    return e[0] if isinstance(e[0], Node) else _node.leaf_node(e[0])


class Engine:
    """What PyTorch's programs ask of the engine itself: Variable._execution_engine."""

    @staticmethod
    def queue_callback(fn: Callable[..., Any]) -> None:
        """Calls fn at the end of the running backward pass."""
        if not tasks:
            raise RuntimeError("Final callbacks can only be installed during backward pass.")
        tasks[-1].callbacks.append(fn)


def task_number() -> Any:
    """A number of the running backward pass, -1 outside."""
    return tasks[-1].number if tasks else -1


class saved_tensors_hooks:
    """Inside, every saved tensor passes through pack_hook; unpack_hook gives it back in the backward."""

    def __init__(self, pack_hook: Callable[..., Any], unpack_hook: Callable[..., Any]) -> None:
        self.hooks = (pack_hook, unpack_hook)
        self.depths: list[int] = []

    def __enter__(self) -> Any:
        if _disabled[0] is not None:
            raise RuntimeError(_disabled[0])
        self.depths.append(len(_node.saved_hooks))
        # a slice, not append(): after a call Python looks for an interrupt, and then __exit__ would never run
        _node.saved_hooks[self.depths[-1] :] = [self.hooks]

    def __exit__(self, *exc: type | None) -> Any:
        del _node.saved_hooks[self.depths[-1] :]  # with what was entered inside and, after an error, never left
        del self.depths[-1]


class save_on_cpu(saved_tensors_hooks):
    """Saved tensors wait on the CPU."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda t: (t.device, t.cpu()), lambda packed: packed[1].to(packed[0]))


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message: Any) -> Iterator[Any]:
    """Inside, setting saved-tensor hooks raises an error with this message;
    so does this where hooks are set already."""
    if _node.saved_hooks:
        raise RuntimeError(error_message)
    before, _disabled[0] = _disabled[0], error_message
    try:
        yield
    finally:
        _disabled[0] = before


class _Handle:
    """What a node keeps of a tensor that it saved."""

    __slots__ = ("__weakref__",)


class _AllowMutationOnSavedContext:
    """What allow_mutation_on_saved_tensors() gives: the saved tensors by handle, as they are or, once they were written
    to, as copies. clear() forgets them."""

    def __init__(self) -> None:
        self.cloned: Any = weakref.WeakKeyDictionary()
        self.original: Any = weakref.WeakKeyDictionary()
        self.tid_to_weakhandle: Any = weakref.WeakValueDictionary()  # tensor, storage, version -> handle
        self.sid_to_tid: dict[Any, set[Any]] = {}  # storage, version -> the keys above

    def clear(self) -> None:
        for table in (self.cloned, self.original, self.tid_to_weakhandle, self.sid_to_tid):
            table.clear()

    def pack(self, t: Any) -> Any:
        sid = _memory(t)
        tid = (id(t), *sid)
        handle = self.tid_to_weakhandle.get(tid)
        if handle is None:
            handle = self.tid_to_weakhandle[tid] = _Handle()
            self.original[handle] = t.detach()
            self.sid_to_tid.setdefault(sid, set()).add(tid)
        return handle

    def unpack(self, handle: Any) -> Any:
        for table in (self.cloned, self.original):
            if self in _mutating and handle in table:
                return table[handle]
        raise AssertionError(
            "Trying to backward outside of the 'allow_mutation_on_saved_tensors' contextin which the graph was "
            "originally recorded."
        )

    def written(self, t: Any) -> None:
        """Copies what was saved of this memory."""
        for tid in self.sid_to_tid.pop(_memory(t), ()):
            handle = self.tid_to_weakhandle.get(tid)
            if handle is not None and handle in self.original:
                self.cloned[handle] = self.original.pop(handle).clone()


def _memory(t: Any) -> tuple[int, int]:
    return t.untyped_storage()._cdata, t._version


_mutating: list[_AllowMutationOnSavedContext] = []  # the context of allow_mutation_on_saved_tensors that is entered


@contextlib.contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[Any]:
    """Inside, tensors that are saved for the backward pass may be changed: they are copied before."""
    if _mutating:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    from ..utils._python_dispatch import TorchDispatchMode

    context = _AllowMutationOnSavedContext()

    class CloneBeforeWrite(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            for at, a in enumerate(func._schema.arguments):
                if a.alias_info is not None and a.alias_info.is_write:
                    value = args[at] if at < len(args) else kwargs.get(a.name)
                    for t in value if isinstance(value, (list, tuple)) else (value,):
                        if isinstance(t, _C.TensorBase):
                            context.written(t)
            return func(*args, **kwargs)

    with saved_tensors_hooks(context.pack, context.unpack), CloneBeforeWrite():
        depth = len(_mutating)
        try:
            _mutating.append(context)
            yield context
        finally:
            del _mutating[depth:]
            context.clear()


class GradientEdge(tuple):
    """(node, output_nr)"""

    like = None  # (shape, dtype, device) of the tensor that the edge was taken from

    def __new__(cls, node: Any, output_nr: Any) -> Any:
        return tuple.__new__(cls, (node, output_nr))

    node = property(lambda self: self[0])
    output_nr = property(lambda self: self[1])


def get_gradient_edge(tensor: Tensor) -> Any:
    e = edge(tensor)
    if e is None:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    found = GradientEdge(_face(e), e[1])
    found.like = tensor.shape, tensor.dtype, tensor.device
    return found


def edge_of(x: Tensor) -> Any:
    """The engine's edge of a tensor or GradientEdge, None where it takes no gradient."""
    if not isinstance(x, GradientEdge):
        return edge(x)
    return (x[0].variable, 0) if type(x[0]) is _node.AccumulateGrad else tuple(x)


def increment_version(tensor: Tensor) -> None:
    for t in (tensor,) if hasattr(tensor, "_bump_version") else tensor:
        t._bump_version()


_engine.graph_edge = edge_of


class _MultiHandle(RemovableHandle):
    """The handle of several hooks."""

    def __init__(self, handles: Any) -> None:
        self.handles = tuple(handles)

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __getstate__(self) -> Any:
        return self.handles

    def __setstate__(self, state: Any) -> None:
        self.handles = state


def register_multi_grad_hook(tensors: tuple[Tensor, ...], fn: Callable[..., Any], *, mode: str = "all") -> _MultiHandle:
    """Calls fn(grads) once all gradients of a backward pass have arrived ("all"), or fn(grad) at the first ("any").

    Tensors that the pass does not compute a gradient for are not waited for; their place holds None.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    if mode == "any":
        last: list[object] = [None]

        @functools.wraps(fn)
        def first(grad: Tensor) -> None:
            if last[0] is not tasks[-1].key:
                last[0] = tasks[-1].key
                fn(grad)

        return _MultiHandle(t.register_hook(first) for t in tensors if t.requires_grad)
    edges = [edge(t) for t in tensors]
    if None in edges:
        raise AssertionError("Expected gradient function to be set")
    nodes = [_face(e) for e in edges]
    buffers: dict[object, list[Any]] = {}  # key of a pass -> [gradients still to come, gradients]

    def hook(i: int) -> Callable[..., Any]:
        def inner(grad: Tensor) -> None:
            task = tasks[-1]
            if not task.executes(nodes[i]):
                return
            running = {t.key for t in tasks}
            for gone in [k for k in buffers if k not in running]:  # passes that ended by an error
                del buffers[gone]
            if task.key not in buffers:
                buffers[task.key] = [sum(map(task.executes, nodes)), [None] * len(nodes)]
            buffer = buffers[task.key]
            buffer[0] -= 1
            buffer[1][i] = grad
            if buffer[0] == 0:
                del buffers[task.key]
                fn(buffer[1])

        return inner

    return _MultiHandle([t.register_hook(hook(i)) for i, t in enumerate(tensors)])


from .._core import absent as _absent

__getattr__ = _absent.of(__name__)
