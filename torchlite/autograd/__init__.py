"""Reverse-mode differentiation: `backward`, `grad`, custom functions, grad modes."""

from __future__ import annotations


import warnings

from .. import _C
from .._core import errors as _errors
from . import _engine, _grad_dtype, _inplace, _node, _record, grad_mode, graph
from ._node import as_leaf, edge
from .grad_mode import (
    _force_original_view_tracking,
    detect_anomaly,
    enable_grad,
    inference_mode,
    is_multithreading_enabled,
    is_view_replay_enabled,
    no_grad,
    set_detect_anomaly,
    set_grad_enabled,
    set_multithreading_enabled,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any
    from types import ModuleType
    from .._types import Node, Tensor
    from . import forward_ad, function
    from .function import Function


TensorBase: Any = _C.TensorBase

__all__ = [
    "Function",
    "backward",
    "grad",
    "no_grad",
    "enable_grad",
    "set_grad_enabled",
    "inference_mode",
    "detect_anomaly",
    "set_detect_anomaly",
    "set_multithreading_enabled",
    "is_multithreading_enabled",
    "Variable",
    "gradcheck",
    "gradgradcheck",
    "function",
    "grad_mode",
    "graph",
    "forward_ad",
    "functional",
]

_C.register("record", _record.record)
_C.register("record_inplace", _inplace.record_inplace)
_C.register("get_grad_fn", _inplace.get_grad_fn)


def _set_grad(t: Tensor, g: Tensor) -> None:
    if not isinstance(g, TensorBase):
        raise TypeError("assigned grad expected to be a Tensor or None but got grad of type %s" % type(g).__name__)
    if g is t:
        raise RuntimeError("can't assign Variable as its own grad")
    dtype = _grad_dtype.of_leaf(t)
    if g.dtype is not dtype and dtype is not None:
        raise RuntimeError(
            "attempting to assign a gradient with dtype '%s' to a tensor with grad_dtype '%s'. "
            "The gradient must match the tensor's grad_dtype (defaults to the tensor's dtype)."
            % (g.dtype._cpp_type, dtype._scalar_type)
        )
    if g.device != t.device:
        raise RuntimeError(
            "attempting to assign a gradient with device type '%s' to a tensor with device type '%s'. "
            "Please ensure that the gradient and the tensor are on the same device" % (g.device.type, t.device.type)
        )
    if g.shape != t.shape:
        raise RuntimeError(
            "attempting to assign a gradient of size '%s' to a tensor of size '%s'. "
            "Please ensure that the gradient and the tensor are the same size" % (list(g.shape), list(t.shape))
        )
    t._raw_grad = g


def _set_requires_grad(t: Tensor, value: Any) -> None:
    if value is not True and value is not False:
        raise RuntimeError("requires_grad must be a bool")
    if t.grad_fn is not None:
        if not value:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. "
                "If you want to use a computed variable in a subgraph that doesn't require differentiation use "
                "var_no_grad = var.detach()."
            )
        return
    if value and not (t.dtype.is_floating_point or t.dtype.is_complex):
        raise RuntimeError("only Tensors of floating point and complex dtype can require gradients")
    if value and t._inference and not _C.is_inference_mode_enabled():
        raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
    t._leaf_flag = value


_C.register("set_grad", _set_grad)
_C.register("set_requires_grad", _set_requires_grad)
_C._current_graph_task_id = graph.task_number


def _tensors(x: Any) -> Any:
    return (x,) if isinstance(x, (TensorBase, graph.GradientEdge)) or x is None else tuple(x)


def _meta_of(like: Any) -> Any:
    """Stands for a tensor of which only the edge is left: the same shape, dtype and device."""
    import torchlite as torch

    shape, dtype, device = like
    return as_leaf(torch.zeros((), dtype=dtype, device=device).expand(shape))


def _make_grads(outputs: Any, grads: Any, batched: Any = False) -> Any:
    made = []
    for out, g in zip(outputs, grads):
        if isinstance(out, graph.GradientEdge):
            if out.like is None:  # an edge made by hand: the node does not know the shape
                if g is None:
                    raise _errors.no_implicit_grad()
                made.append(g)
                continue
            out = _meta_of(out.like)
        if not isinstance(out, TensorBase):
            raise AssertionError("Expected output to be a torch.Tensor")
        if g is None:
            if out.requires_grad:
                if out.numel() != 1:
                    raise _errors.no_implicit_grad()
                if not out.dtype.is_floating_point:
                    raise RuntimeError(
                        "grad can be implicitly created only for real scalar outputs but got %s" % out.dtype
                    )
                import torchlite as torch

                g = torch.ones_like(out)
            made.append(g)
            continue
        if not isinstance(g, TensorBase):
            raise TypeError("gradients can be either Tensors or None, but got " + type(g).__name__)
        shape = g.shape if not batched or g.dim() == 0 else g[0].shape
        if batched and (shape != out.shape or g.dim() == 0):
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch "
                "dimension. The sizes of the remaining dimensions are expected to match the shape of corresponding "
                "output, but a mismatch was detected: grad_output[%d] has a shape of %s and output[%d] has a shape "
                "of %s. If you only want some tensors in `grad_output` to be considered batched, "
                "consider using vmap." % (len(made), shape, len(made), out.shape)
            )
        if shape != out.shape:
            raise RuntimeError(
                "Mismatch in shape: grad_output[%d] has a shape of %s and output[%d] has a shape of %s."
                % (len(made), g.shape, len(made), out.shape)
            )
        if out.dtype.is_complex != g.dtype.is_complex:
            raise RuntimeError(
                "For complex Tensors, both grad_output and output are required to have the same dtype. "
                "Mismatch in dtype: grad_output[%d] has a dtype of %s and output[%d] has a dtype of %s."
                % (len(made), g.dtype, len(made), out.dtype)
            )
        made.append(g if g.dtype is out.dtype else g.to(out.dtype))
    if len(made) < len(outputs):
        raise RuntimeError("got %d tensors and %d gradients" % (len(outputs), len(made)))
    return made


def _roots(tensors: Any) -> Any:
    roots = []
    for i, t in enumerate(tensors):
        e = graph.edge_of(t)
        if e is None:
            raise RuntimeError("element %d of tensors does not require grad and does not have a grad_fn" % i)
        roots.append(e)
    return roots


def _run(
    roots: list[tuple[Node, int]],
    grads: Any,
    retain_graph: bool,
    create_graph: bool,
    keys: dict[tuple[Any, int], int] | None = None,
    inputs: list[Tensor] | tuple[Tensor, ...] | None = None,
    accumulates: bool = False,
) -> Any:
    # An interrupt comes after a call. So nothing is pushed before `try`, and nothing is called in `finally`.
    task, tasks, depth = graph.Task(roots, inputs, accumulates), graph.tasks, len(graph.tasks)
    hooks = list(_node.saved_hooks)
    try:
        tasks.append(task)
        found = _engine.run(roots, grads, retain_graph, create_graph, keys)
        for callback in task.callbacks:  # one may add others
            callback()
        return found
    finally:
        del tasks[depth:]
        _node.saved_hooks[:] = hooks  # drops those that a hook or a backward entered and did not leave


def _check_inputs(inputs: Any) -> None:
    for t in inputs:
        if not isinstance(t, (TensorBase, graph.GradientEdge)):
            raise RuntimeError("all inputs have to be Tensors or GradientEdges, but got " + type(t).__name__)


def _vmapped() -> bool:
    """Whether a vmap runs its function."""
    from .._core import dispatch_modes

    if not dispatch_modes.batching:
        return False
    from .._functorch import batched

    return bool(batched.running())


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: Any = None,
    create_graph: Any = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Sums of gradients of `tensors` with respect to graph leaves, accumulated into `.grad`.

    grad_tensors: for each tensor the gradient flowing in, of its shape (None for 0-dim ones).
    inputs: accumulate into these only.
    """
    if grad_variables is not None:
        import warnings

        warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=2)
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. "
                "Please only use `grad_tensors`."
            )
        grad_tensors = grad_variables
    if _C.func_level() > 0 or _vmapped():
        raise RuntimeError(
            "backward() called inside a functorch transform. This is not supported, please use functorch.grad or "
            "functorch.vjp instead or call backward() outside of functorch transforms."
        )
    if inputs is not None and len(_tensors(inputs)) == 0:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    tensors = _tensors(tensors)
    grads = _tensors(grad_tensors) if grad_tensors is not None else (None,) * len(tensors)
    if any(t.is_nested for t in tensors if isinstance(t, TensorBase)):
        from ..nested._autograd import rows

        tensors, grads = rows(tensors, grads)
    grads = _make_grads(tensors, grads)
    roots = _roots(tensors)
    if create_graph:
        _C.warn_once(
            "Using backward() with create_graph=True will create a reference cycle between the parameter and its "
            "gradient which can cause a memory leak. We recommend using autograd.grad when creating the graph to "
            "avoid this. If you have to use this function, make sure to reset the .grad fields of your parameters "
            "to None after use to break the cycle and avoid the leak.",
            3,
        )
    if retain_graph is None:
        retain_graph = create_graph
    if inputs is None:
        _run(roots, grads, retain_graph, create_graph)
        return
    inputs = _tensors(inputs)
    _check_inputs(inputs)
    keys: dict[Any, int] = {}
    distinct: list[Tensor] = []
    for t in inputs:
        if isinstance(t, graph.GradientEdge):
            if type(t.node) is not _node.AccumulateGrad:
                raise RuntimeError(
                    "backward() with an input that is the gradient edge of an operation is not "
                    "supported: give the tensor"
                )
            t = t.node.variable
        t.retain_grad()
        if keys.setdefault(_engine.key_of(t), len(keys)) == len(distinct):
            distinct.append(t)
    found = _run(roots, grads, retain_graph, create_graph, keys, distinct, True)
    for t, g in zip(distinct, found):
        if g is not None and t.grad_fn is None:  # the engine hands the others theirs on its way
            _engine.finish(t, g, create_graph, hooked=True)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """Gradients of the sum of `outputs` with respect to `inputs`, as a tuple."""
    if allow_unused is None:
        allow_unused = materialize_grads
    elif materialize_grads and not allow_unused:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    outputs, inputs = _tensors(outputs), _tensors(inputs)
    if not only_inputs:
        import warnings

        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). "
            "To accumulate gradient for other parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    if not inputs:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    if any(t.is_nested for t in (*outputs, *inputs) if isinstance(t, TensorBase)):
        from ..nested._autograd import grad as of_values

        settings = (retain_graph, create_graph, True, allow_unused, is_grads_batched, materialize_grads)
        return of_values(outputs, inputs, grad_outputs, settings)
    _check_inputs(inputs)
    made = _make_grads(
        outputs, _tensors(grad_outputs) if grad_outputs is not None else (None,) * len(outputs), is_grads_batched
    )
    roots = _roots(outputs)
    keys: dict[Any, int] = {}
    for t in inputs:
        if isinstance(t, TensorBase) and not t.requires_grad:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
        keys.setdefault(_engine.key_of(t), len(keys))
    if is_grads_batched:
        import torchlite as torch

        found = [_run(roots, row, True, create_graph, keys, inputs) for row in _rows(made)]
        found = [None if any(g is None for g in column) else torch.stack(column) for column in zip(*found)]
    else:
        found = _run(roots, made, create_graph if retain_graph is None else retain_graph, create_graph, keys, inputs)
    result = []
    for i, t in enumerate(inputs):
        g = found[keys[_engine.key_of(t)]]
        if g is None:
            if materialize_grads:
                import torchlite as torch

                if not isinstance(t, TensorBase):
                    raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
                g = (
                    torch.zeros((len(made[0]), *t.shape), dtype=t.dtype, device=t.device)
                    if is_grads_batched
                    else torch.zeros_like(t.detach())
                )
                g.requires_grad = bool(create_graph)
            elif not allow_unused:
                raise RuntimeError(
                    f"The differentiated Tensor at index {i} appears to not have been used in the graph. "
                    "Set allow_unused=True if this is the desired behavior."
                )
        result.append(g)
    return tuple(result)


def _rows(grads: Any) -> Any:
    """The gradients of each of the batch's passes."""
    sizes = []
    for g in grads:
        if g.dim() == 0:
            raise ValueError(
                "vmap(vjp, in_dims=0, ...)(<inputs>): Got in_dim=0 for some input, "
                "but that input is a Tensor of dimensionality 0 so expected in_dim to satisfy 0 <= in_dim < 0."
            )
        sizes.append(len(g))
    if len(set(sizes)) > 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, "
            "got sizes %s for the mapped dimension" % sizes
        )
    return zip(*grads)


class _VariableMeta(type):
    def __instancecheck__(cls, other: Any) -> Any:
        return isinstance(other, TensorBase)


class Variable(metaclass=_VariableMeta):
    """Old name of Tensor. Variable(t) shares t's memory and, as in PyTorch, not its history."""

    _execution_engine = graph.Engine

    def __new__(
        cls,
        data: Tensor | None = None,
        requires_grad: bool = False,
        volatile: bool = False,
        _grad_fn: None = None,
    ) -> Any:
        if volatile:
            warnings.warn(
                "volatile was removed and now has no effect. Use `with torch.no_grad():` instead.", stacklevel=2
            )
        if data is None:
            data = _C.empty((0,), _C.get_default_dtype())
        elif not isinstance(data, TensorBase):
            raise TypeError("Variable data has to be a tensor, but got %s" % type(data).__name__)
        if requires_grad and not (data.is_floating_point() or data.is_complex()):
            raise _errors.cannot_require_grad()
        return as_leaf(data.detach(), requires_grad)


def is_grad_enabled() -> bool:
    return _C.is_grad_enabled()


_OF_THE_CORE = (
    "_get_sequence_nr",
    "_pop_saved_tensors_default_hooks",
    "_push_saved_tensors_default_hooks",
    "_unsafe_preserve_version_counter",
)


def __getattr__(name: str) -> Callable[..., Any] | ModuleType:
    import importlib

    if name in ("gradcheck", "gradgradcheck", "GradcheckError"):
        return getattr(importlib.import_module(__name__ + "._gradcheck"), name)
    if name in ("forward_ad", "function", "functional", "profiler", "profiler_util"):
        return importlib.import_module(__name__ + "." + name)
    if name == "Function":
        found = globals()[name] = importlib.import_module(__name__ + ".function").Function
        return found
    if name in ("_profiler_enabled", "_disable_profiler"):
        return getattr(importlib.import_module(__name__ + ".profiler"), name)
    if name in ("_record_function_with_args_enter", "_record_function_with_args_exit"):
        return getattr(importlib.import_module(".._core.c_profiler", __name__), name)
    if name in _OF_THE_CORE:
        return getattr(importlib.import_module(".._core.c_autograd", __name__), name)
    if name == "torch":  # PyTorch's module imports it, and programs write torch.autograd.torch
        return importlib.import_module(__name__.rpartition(".")[0])
    if name == "DeviceType":
        return importlib.import_module(__name__ + ".profiler_util").DeviceType
    if name == "ProfilerActivity":
        return importlib.import_module("..profiler", __name__).ProfilerActivity
    return importlib.import_module(".._core.absent", __name__).of(__name__)(name)
