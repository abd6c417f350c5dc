"""The backward pass: how it begins and ends, and what its loop (native/src/core/engine.c) leaves to Python."""

from __future__ import annotations


from sys import getrefcount

from .. import _C
from . import _grad_dtype
from ._node import FREED, anomaly, eager, reduced, unpack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any
    from .._types import DType, Node, Size, Tensor


TensorBase = _C.TensorBase
# while torch.profiler records: (fn(node, grads) in place of node.apply, begin(grad) and end() around accumulate)
profiled: tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]] | None = None


def run(
    roots: list[tuple[Node, int]],
    grads: list[Tensor],
    retain_graph: bool,
    create_graph: bool,
    inputs: dict[tuple[Any, int], int] | None = None,
) -> list[Tensor | None] | None:
    """Gradients flow from roots (edges) with `grads`.

    inputs: None to accumulate into every leaf, else a dict edge-key -> position whose gradients are collected; see
    `key_of`. Returns the collected list (None without inputs).
    """
    ready: dict[int, Any] = {}
    collected: Any = None if inputs is None else [None] * len(inputs)
    partial: Any = None
    needed: Any = None
    targets: dict[Node, list[tuple[int, int]]] | None = None  # their outputs, and places among `collected`
    settle: Any = None
    traced, begin, end = profiled or (None, None, None)
    if traced is None and anomaly[0]:
        traced = _apply_traced
    if inputs is None and eager[0]:
        waiting = _leaf_edges(roots)

        def settle(edges: list[Any]) -> None:
            """Finishes the leaves that these edges were the last to lead to."""
            for e in edges:
                if e is not None and id(e[0]) in waiting:
                    waiting[id(e[0])] -= 1
                    if waiting[id(e[0])] == 0 and ready.get(id(e[0])) is not None:
                        entry = ready[id(e[0])]  # kept, so that references are as many as below
                        t, value = entry
                        ready[id(t)] = None
                        finish(t, value, create_graph, begin, end)
                        entry = value = None

    if inputs is not None:
        needed, targets = _reachable(roots, inputs), {}
        for (node, nr), at in inputs.items():
            if nr >= 0:
                targets.setdefault(node, []).append((nr, at))

        def partial(node: Node, g: list[Tensor]) -> Any:
            return node.apply(g, [e is not None and _wanted(e, inputs, needed) for e in node.next])

    with _C.GradMode(create_graph):
        _C.run_nodes(
            list(roots),
            list(grads),
            ready,
            retain_graph,
            traced,
            settle,
            partial,
            targets,
            needed,
            collected,
        )
        for key in list(ready):  # a list of the gradients would keep them all
            entry = ready[key]
            if entry is None:
                continue
            t, value = entry
            if inputs is None:
                ready[key] = None
                finish(t, value, create_graph, begin, end)
            else:
                place = inputs.get((id(t), -1))
                if place is not None:
                    collected[place] = _leaf_hooks(t, value)
    return collected


def finish(
    t: Any,
    value: Any,
    create_graph: bool,
    begin: Callable[..., Any] | None = None,
    end: Callable[..., Any] | None = None,
    hooked: bool = False,
    outside: bool = False,
) -> None:
    """A leaf has all of its gradient: hooks, the sum, hooks.

    hooked: the tensor's hooks have run. outside: the node was called by hand, and only hooks after the sum run.
    """
    m = t._meta
    node = None if m is None or m.node is None or outside else m.node()
    if not (hooked or outside):
        value = _leaf_hooks(t, value)
    if node is not None and node.pre_hooks:
        value = _pre_hooks(node, [value])[0]
        if value is None:
            return
    given = value if node is not None and node.post_hooks else None
    wants = t.requires_grad  # no longer after requires_grad_(False) or detach_()
    if begin is not None:
        begin(value)
    if wants:
        accumulate(t, value, create_graph)
    if end is not None:
        end()
    if m is not None:
        if m.post_hooks and wants:
            for hook in list(m.post_hooks.values()):
                back = hook(t)
                if back is not None and back is not t:
                    if not isinstance(back, TensorBase):
                        raise TypeError("expected Variable, but hook returned '%s'" % type(back).__name__)
                    raise RuntimeError("Tensor post accumulate grad hooks should return None.")
        if given is not None:
            _post_hooks(node, (), (given,))


def _leaf_edges(roots: list[tuple[Node, int]]) -> dict[int, int]:
    """How many edges lead to each leaf, so that its gradient is seen to be complete before the pass ends."""
    counts: dict[int, int] = {}
    seen, stack = set(), list(roots)
    while stack:
        target = stack.pop()[0]
        if isinstance(target, TensorBase):
            counts[id(target)] = counts.get(id(target), 0) + 1
        elif target not in seen:
            seen.add(target)
            stack.extend(e for e in target.next if e is not None)
    return counts


graph_edge: Any = None  # (tensor or GradientEdge) -> (node, output number); set by torchlite.autograd.graph


def key_of(t: Tensor) -> tuple[Any, int]:
    """How an input is looked up while running: by node and output, or by identity for leaves."""
    if not isinstance(t, TensorBase):
        e = graph_edge(t)
        return (id(e[0]), -1) if isinstance(e[0], TensorBase) else e
    node = t.grad_fn
    return (id(t), -1) if node is None else (node, t.output_nr)


def _wanted(e: Any, inputs: Any, needed: Any) -> Any:
    """Whether one of the inputs can be reached by an edge."""
    target, nr = e
    if isinstance(target, TensorBase):
        return (id(target), -1) in inputs
    return target in needed or (target, nr) in inputs


def _reachable(roots: list[tuple[Any, int]], inputs: dict[tuple[Any, int], int]) -> set[Node]:
    """Nodes from which an input can be reached: the only ones that have to run."""
    targets = {k[0] for k in inputs if k[1] >= 0}
    leaves = {k[0] for k in inputs if k[1] < 0}
    order, seen, stack = [], set(), [e[0] for e in roots if not isinstance(e[0], TensorBase)]
    while stack:
        n = stack.pop()
        if n in seen:
            continue
        seen.add(n)
        order.append(n)
        stack.extend(e[0] for e in n.next if e is not None and not isinstance(e[0], TensorBase))
    order.sort(key=lambda n: n.seq)
    needed = set()
    for n in order:
        for e in n.next:
            if e is not None:
                t = e[0]
                if (id(t) in leaves) if isinstance(t, TensorBase) else (t in needed or t in targets):
                    needed.add(n)
                    break
    return needed


def _fill(g: list[Tensor | None], outs: list[tuple[Size, DType] | None], node: Node) -> list[Tensor | None]:
    if not getattr(node, "materialize", True):
        return g
    import torchlite as torch

    if (
        getattr(getattr(node, "rec", None), "spec", None) is not None
        and not node.rec.spec.view
        and node.rec.nresults != -1
    ):
        return g  # declared ops with several outputs take None for an unused one
    device = next((x.device for x in g if x is not None), None)
    return [torch.zeros(m[0], dtype=m[1], device=device) if x is None and m is not None else x for x, m in zip(g, outs)]


def _before(node: Node, g: list[Tensor]) -> list[Tensor]:
    """Hooks of the tensors that the node made, and the gradients of those that retain theirs."""
    for nr, hook in list((node.pre_hooks or {}).values()):
        if nr is not None and g[nr] is not None:
            new = hook(g[nr])
            if new is not None:
                _check_hooked(hook, g[nr], new)
                g = list(g)
                g[nr] = new
    for nr, ref in (node.retain or {}).items():
        t = ref()
        if t is not None and g[nr] is not None:
            t._raw_grad = g[nr].clone() if t._raw_grad is None else t._raw_grad + g[nr]
    return g


def _pre_hooks(node: Node, g: list[Tensor]) -> list[Tensor]:
    """Hooks of the node itself, which see all of its gradients."""
    for nr, hook in list(node.pre_hooks.values()):
        if nr is None:
            new = hook(tuple(g))
            if new is not None:
                g = _check_tuple(hook, g, new)
    return g


def _post_hooks(node: Any, result: Any, g: Any) -> Any:
    """Hooks of a node see the gradients of its inputs, which they may replace, and of its outputs."""
    for hook in list(node.post_hooks.values()):
        new = hook(tuple(result), tuple(g))
        if new is not None:
            result = _check_tuple(hook, result, new)
    return result


def _check_tuple(hook: Callable[..., Any], old: Any, new: tuple[Any, ...]) -> list[Tensor]:
    if not isinstance(new, tuple):
        raise TypeError("expected tuple, but hook returned '%s'" % type(new).__name__)
    if len(new) != len(old):
        raise RuntimeError(
            "hook '%s' has returned an incorrect number of values (got %d, but expected %d)"
            % (getattr(hook, "__name__", "<unknown>"), len(new), len(old))
        )
    for a, b in zip(old, new):
        if b is not None:
            if a is None:
                raise RuntimeError("can't replace a None gradient with a non-None value")
            _check_hooked(hook, a, b)
    return list(new)


def _leaf_hooks(t: Any, value: Any) -> Any:
    m = t._meta
    if m is not None and m.hooks:
        for hook in list(m.hooks.values()):
            new = hook(value)
            if new is not None:
                _check_hooked(hook, value, new)
                value = new
    return value


def _check_hooked(hook: Callable[..., Any], old: Tensor, new: Tensor) -> None:
    """A hook's gradient must be like the one it replaces."""
    if not isinstance(new, TensorBase):
        raise TypeError("expected Variable, but hook returned '%s'" % type(new).__name__)
    name = getattr(hook, "__name__", "<unknown>")
    if new.dtype is not old.dtype:
        raise RuntimeError(
            "hook '%s' has changed the type of value (was %s got %s)" % (name, _type_name(old), _type_name(new))
        )
    if new.shape != old.shape:
        raise RuntimeError("hook '%s' has changed the size of value" % name)


def _type_name(t: Tensor) -> Any:
    return t.type().replace("torch.Complex", "CPUComplex").replace("Tensor", "Type") if t.is_complex() else t.type()


def _sum(have: Any, g: Any) -> Any:
    """have + g; a dense gradient comes first, since sparse + dense is an error."""
    return g + have if have._dispatches and have.is_sparse else have + g


def accumulate(t: Any, g: Any, create_graph: bool) -> None:
    """t.grad += g. The first gradient becomes t.grad without a copy if it has t's strides and no other reference."""
    if t._raw_grad_fn is not None:  # detached in place, then written to
        raise RuntimeError("leaf variable has been moved into the graph interior")
    have = t._raw_grad
    if g.shape != t.shape:
        g = g.sum_to_size(t.shape)
    dtype = t.dtype if t._meta is None else _grad_dtype.of_leaf(t)
    if g.dtype is not dtype and dtype is not None:
        g = (g.real if g.is_complex() and not dtype.is_complex else g).to(dtype)
    if have is None:
        if g._dispatches:  # a wrapper has no memory to share
            t._raw_grad = g if create_graph else g.detach()
            return
        strides = _grad_strides(t)
        if not create_graph and _lies_so(g, strides) and getrefcount(g) <= _OWNED and _C.base_is_its_own(g):
            t._raw_grad = g if g._base is None and g._raw_grad_fn is None and not g._leaf_flag else g.detach()
            return
        g = g if create_graph else g.detach()
        if strides is None and not (create_graph and g.requires_grad and _apart(t)):
            t._raw_grad = g.clone(memory_format=_contiguous_format())
        else:  # in a graph PyTorch's node is that of a copy
            strides = t.stride() if strides is None else strides
            t._raw_grad = _torch().empty_strided(t.shape, strides, dtype=g.dtype, device=g.device).copy_(g)
    elif create_graph:
        t._raw_grad = _sum(have, g)
    elif have._dispatches and have.is_sparse and not g.is_sparse:
        t._raw_grad = g + have
    else:
        have.add_(g)


def _grad_strides(t: Any) -> Any:
    """Strides that t.grad gets: those of t where t is dense, else (None) those of a contiguous tensor."""
    if t._dispatches or t.is_contiguous():
        return None
    strides = t.stride()
    return strides if _C.empty_like(t).stride() == strides else None


def _apart(t: Any) -> Any:
    """Whether t is dense, each element in a place of its own."""
    return t.is_contiguous() or _C.empty_like(t).stride() == t.stride()


def _lies_so(g: Tensor, strides: Any) -> bool:
    return (
        g.is_contiguous() if strides is None else all(a == b or n == 1 for a, b, n in zip(g.stride(), strides, g.shape))
    )


# what the loop in C calls, in the order of native/src/core/engine.c
_C.engine_helpers((_before, _pre_hooks, _fill, _post_hooks, _sum, unpack, reduced, FREED))


class _Leaf:
    _meta, requires_grad = None, True


def _calibrate() -> int:
    """References to a gradient that only the engine holds, as accumulate sees them: it varies with the interpreter."""
    global accumulate
    real, seen, leaf = accumulate, [], _Leaf()

    def accumulate(t: Tensor | _Leaf, g: Any, create_graph: bool) -> None:
        seen.append(getrefcount(g))

    ready: dict[int, Any] = {id(leaf): (leaf, object())}
    try:
        for entry in list(ready.values()):
            t, value = entry
            ready[id(t)] = None
            finish(t, value, False, None, None)
    finally:
        accumulate = real
    return seen[0]


_OWNED = _calibrate()


def _torch() -> Any:
    import torchlite

    return torchlite


def _contiguous_format() -> Any:
    from .._core.device import contiguous_format

    return contiguous_format


def _apply_traced(node: Node, g: list[Tensor]) -> list[Tensor]:
    """Anomaly mode: errors and NaNs name the forward call that made the node."""
    import warnings

    where = "".join(node.trace or ())
    try:
        result = node.apply(g)
    except Exception:
        warnings.warn(
            "Error detected in %s. Traceback of forward call that caused the error:\n%s" % (node.name(), where),
            stacklevel=2,
        )
        raise
    if anomaly[1]:
        for i, r in enumerate(result):
            if r is not None and r.dtype.is_floating_point and bool(r.isnan()._is_any_true()):
                warnings.warn(
                    "Error detected in %s. Traceback of forward call that caused the error:\n%s" % (node.name(), where),
                    stacklevel=2,
                )
                raise RuntimeError("Function '%s' returned nan values in its %dth output." % (node.name(), i))
    return result
