"""What torch._C says of the engine of autograd: the running node and pass, torch._C._autograd, torch._C._functions."""

from __future__ import annotations

import enum
import functools
import heapq
import sys
import threading
import weakref
from types import ModuleType
from typing import Any

from .. import _C
from .absent import of_space


def _current_autograd_node() -> Any:
    """The node whose gradient is computed, or None.

    The engine's loop knows it; which leaf gets its gradient is a variable of `finish`.
    """
    from ..autograd import _engine, _node

    frame: Any = sys._getframe(1)
    while frame is not None:
        if frame.f_code is _engine.run.__code__:
            return _C.running_node()
        if frame.f_code is _engine.finish.__code__:
            return _node.leaf_node(frame.f_locals["t"])
        frame = frame.f_back
    return None


def _will_engine_execute_node(node: Any) -> bool:
    """Whether the running backward pass runs a node."""
    from ..autograd import _node, graph

    if not isinstance(node, _node.Node):
        raise RuntimeError("_will_engine_execute_node expects an grad_fn, but got %s" % type(node).__name__)
    if not graph.tasks:
        raise RuntimeError("_get_should_execute_nodes should only be called during the backward pass")
    task = graph.tasks[-1]
    if isinstance(node, _node.AccumulateGrad) and task.inputs is not None:
        if not task.accumulates:
            raise RuntimeError(
                "A leaf node was passed to _will_engine_execute_node but we are currently running autograd.grad(). "
                "This is currently not supported."
            )
        return any(node.variable is t for t in task.inputs)
    return task.executes(node)


def _current_graph_task_execution_order() -> list[Any]:
    """The nodes of the running pass, in the order in which they run."""
    from ..autograd import _node, graph, is_multithreading_enabled

    if not graph.tasks:
        raise RuntimeError("_current_graph_task_execution_order should only be called during the backward pass")
    if is_multithreading_enabled():
        raise RuntimeError(
            "get_current_graph_task_execution_order expects the current backward to be executed with multithreading "
            "disabled, e.g. by running:\n\n>>> with torch.autograd.set_multithreading_enabled(False):\n"
            "...     torch.autograd.grad(...)\n"
        )
    task = graph.tasks[-1]
    roots = [e[0] if isinstance(e[0], _node.Node) else _node.leaf_node(e[0]) for e in task.roots]
    waits: dict[Any, int] = {}  # node -> how many edges lead to it
    todo = list(dict.fromkeys(roots))
    while todo:
        for after, _ in todo.pop().edges():
            if after is not None and task.executes(after):
                if after not in waits:
                    todo.append(after)
                waits[after] = waits.get(after, 0) + 1
    ready: list[Any] = [
        (-node._sequence_nr(), i, node) for i, node in enumerate(dict.fromkeys(roots)) if node not in waits
    ]
    heapq.heapify(ready)
    order: list[Any] = []
    while ready:
        node: Any = heapq.heappop(ready)[2]
        order.append(node)
        for after, _ in node.edges():
            if after is not None and after in waits:
                waits[after] -= 1
                if not waits[after]:
                    heapq.heappush(ready, (-after._sequence_nr(), len(roots) + len(order), after))
    return order


_kept = threading.local()


def _stash_obj_in_tls(key: str, value: Any) -> None:
    """Keeps an object for this thread."""
    vars(_kept)[key] = value


def _get_obj_in_tls(key: str) -> Any:
    if key not in vars(_kept):
        raise RuntimeError("Expected py_objects.obj_dict_.count(key) to be true, but got false.")
    return vars(_kept)[key]


def _is_key_in_tls(key: str) -> bool:
    return key in vars(_kept)


def _remove_obj_from_tls(key: str) -> None:
    vars(_kept).pop(key, None)


class _WeakTensorRef:
    """A reference to a tensor that does not keep it alive."""

    def __init__(self, tensor: Any) -> None:
        self._ref = weakref.ref(tensor)

    def expired(self) -> bool:
        return self._ref() is None


def _saved_hooks() -> Any:
    from ..autograd import _node

    return _node.saved_hooks


def _push_saved_tensors_default_hooks(pack_hook: Any, unpack_hook: Any) -> None:
    _saved_hooks().append((pack_hook, unpack_hook))


def _pop_saved_tensors_default_hooks() -> None:
    _saved_hooks().pop()


def _top_saved_tensors_default_hooks(ignore_is_tracing: bool) -> Any:
    return _saved_hooks()[-1] if _saved_hooks() else None


def _saved_tensors_hooks_is_enabled() -> bool:
    from ..autograd import graph

    return graph._disabled[0] is None


def _saved_tensors_hooks_get_disabled_error_message() -> str | None:
    from ..autograd import graph

    return graph._disabled[0]


def _saved_tensors_hooks_disable(error_message: str, fail_if_non_empty: bool = True) -> None:
    from ..autograd import graph

    if fail_if_non_empty and _saved_hooks():
        raise RuntimeError(error_message)
    graph._disabled[0] = error_message


def _saved_tensors_hooks_enable() -> None:
    from ..autograd import graph

    graph._disabled[0] = None


def _get_sequence_nr() -> int:
    """How many nodes were made."""
    return _C.last_node()


def _get_current_graph_task_keep_graph() -> bool:
    """Whether the running backward pass keeps its graph; True where none runs."""
    from ..autograd import _engine

    frame: Any = sys._getframe(1)
    while frame is not None:
        if frame.f_code is _engine.run.__code__:
            return frame.f_locals["retain_graph"]
        frame = frame.f_back
    return True


def _unsafe_set_version_counter(tensors: Any, versions: Any) -> None:
    """Sets how often tensors were written, so that autograd does not see what was written since."""
    if len(tensors) != len(versions):
        raise RuntimeError("tensors_len=%d, versions_len=%d" % (len(tensors), len(versions)))
    for tensor, version in zip(tensors, versions):
        tensor._set_version(version)


class _unsafe_preserve_version_counter:
    """Inside, writes to these tensors are not counted, so that autograd does not see them."""

    __module__ = "torch.autograd.grad_mode"

    def __init__(self, tensors: Any) -> None:
        self.tensors = (tensors,) if isinstance(tensors, _C.TensorBase) else tuple(tensors)
        self.versions = tuple(t._version for t in self.tensors)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: Any) -> None:
        for t, version in zip(self.tensors, self.versions):
            t._set_version(version)


def _profiler_enabled() -> bool:
    return _C.profiling()


def _profiler_type() -> Any:
    """Which profiler records."""
    from .c_profiler import ActiveProfilerType

    return ActiveProfilerType.KINETO if _C.profiling() else ActiveProfilerType.NONE


def _supported_activities() -> Any:
    from ..profiler import supported_activities

    return supported_activities()


def kineto_available() -> bool:
    from ..autograd.profiler import kineto_available

    return kineto_available()


class CreationMeta(enum.Enum):
    """How a view was made, for which writing to it is an error or not."""

    DEFAULT, IN_CUSTOM_FUNCTION, MULTI_OUTPUT_NODE, NO_GRAD_MODE, INFERENCE_MODE = range(5)


_cached: dict[int, Any] | None = None  # id -> a weak reference


def _set_cached_tensors_enabled(enabled: bool) -> None:
    """Begins or ends the list of tensors that somebody keeps between runs of a program."""
    global _cached
    _cached = {} if enabled else None


def _add_cached_tensor(tensor: Any) -> None:
    if _cached is not None:
        _cached[id(tensor)] = weakref.ref(tensor)


def _remove_cached_tensor(tensor: Any) -> None:
    if _cached is not None:
        _cached.pop(id(tensor), None)


def _is_cached_tensor(tensor: Any) -> bool:
    found = None if _cached is None else _cached.get(id(tensor))
    return found is not None and found() is tensor


def autograd_space() -> ModuleType:
    """torch._C._autograd."""
    from ..autograd._saved import SavedTensor
    from ..autograd.profiler_util import DeviceType

    space: Any = ModuleType("torch._C._autograd")
    space.__getattr__ = functools.partial(of_space, space.__name__)
    for fn in (
        _get_current_graph_task_keep_graph,
        _get_sequence_nr,
        _pop_saved_tensors_default_hooks,
        _profiler_enabled,
        _profiler_type,
        _push_saved_tensors_default_hooks,
        _saved_tensors_hooks_disable,
        _saved_tensors_hooks_enable,
        _saved_tensors_hooks_get_disabled_error_message,
        _saved_tensors_hooks_is_enabled,
        _supported_activities,
        _top_saved_tensors_default_hooks,
        _unsafe_set_version_counter,
        kineto_available,
        CreationMeta,
    ):
        fn.__module__ = space.__name__
        setattr(space, fn.__name__, fn)
    space.SavedTensor, space.DeviceType = SavedTensor, DeviceType
    return space


def _undefined(*inputs: Any) -> Any:
    """The tensors, with gradients that are undefined in backward."""
    from ..autograd import Function

    class UndefinedGrad(Function):
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            made = tuple(a.clone() for a in args)
            return made[0] if len(made) == 1 else made

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return (None,) * len(grads)

    return UndefinedGrad.apply(*inputs)


def _failing(message: str, *inputs: Any) -> Any:
    """The tensors, with gradients that are an error."""
    from ..autograd import Function

    class Error(Function):
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            made = tuple(a.detach() for a in args)
            return made[0] if len(made) == 1 else made

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            raise RuntimeError(message)

    return Error.apply(*inputs)


def functions_space() -> ModuleType:
    """torch._C._functions: the nodes that have a class before there is a graph, and functions for tests of autograd."""
    from ..autograd import _node

    class DelayedError(_node.Node):
        """Called, gives tensors whose gradients are an error."""

        __slots__ = ("message",)

        def __init__(self, msg: str, num_inputs: int) -> None:
            self.message = msg

        def __call__(self, *inputs: Any) -> Any:
            return _failing(self.message, *inputs)

    def undefined_grad() -> Any:
        return _undefined

    space: Any = ModuleType("torch._C._functions")
    space.AccumulateGrad, space.DelayedError, space.UndefinedGrad = _node.AccumulateGrad, DelayedError, undefined_grad
    return space
