"""Graph nodes, their edges, and the tensors that they save.

A node's edges name, for each input that needs a gradient, the node that made it (with the output number) or,
for a leaf, the tensor itself. `seq` grows with creation, so the largest pending one has all its consumers behind it.
"""

from __future__ import annotations


import weakref

from .. import _C
from .._core.errors import not_floating

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any
    from .._types import Tensor

_alias = _C.alias
TensorBase = _C.TensorBase

FREED = ("freed",)
# stack of (pack, unpack), torch.autograd.graph.saved_tensors_hooks
saved_hooks: list[tuple[Callable[..., Any], Callable[..., Any]]] = []
anomaly = [False, True]  # enabled, check_nan


def set_anomaly(state: list[bool]) -> None:
    anomaly[:] = state
    _C.on_node(_keep_trace if state[0] else None)


def _keep_trace(node: Node) -> None:
    import traceback

    node.trace = traceback.format_stack()[:-2]


FREED_TEXT = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
    "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
    "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access "
    "saved tensors after calling backward."
)


class Meta:
    """What autograd keeps on a tensor: hooks of a leaf,
    and the node that stands for the leaf while somebody holds it."""

    __slots__ = ("hooks", "post_hooks", "node", "frozen", "detached", "grad_dtype")

    def __init__(self) -> None:
        self.hooks: dict[int, Any] | None = None
        self.post_hooks: dict[int, Any] | None = None
        self.frozen: tuple[str, str] | None = None  # of a view that must not be changed in place: what it is, and why
        self.node: weakref.ref[AccumulateGrad] | None = None  # a weak reference to its AccumulateGrad
        self.grad_dtype: Any = False  # of .grad, None for any; False: the tensor's own
        self.detached = 0  # the last node's number when detach_() took the history away


def meta(t: Tensor) -> Meta:
    m = t._meta
    if m is None:
        t._meta = m = Meta()
    return m


class Node(_C.NodeBase):
    """One recorded operation; subclasses are named after PyTorch's (AddBackward0)."""

    __slots__ = ("__weakref__",)
    __module__ = "torch.autograd.graph"

    def apply(self, grads: Any) -> Any:
        """Gradients for each edge from those of the outputs."""
        raise NotImplementedError

    def release(self) -> None:
        """Drops what was saved for the backward."""

    @property
    def rec_nondiff(self) -> tuple[int, ...]:
        """Numbers of outputs without a gradient."""
        return ()

    # PyTorch's public face of a node
    def name(self) -> str:
        return type(self).__name__

    @property
    def metadata(self) -> Any:
        if self.metadata_ is None:
            self.metadata_ = {}
        return self.metadata_

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        return self.edges()

    def edges(self) -> tuple[tuple[Node | None, int], ...]:
        """What the engine goes to next."""
        shown = tuple(map(_shown_edge, self.next))
        self.faces = [
            n for n, _ in shown if type(n) is AccumulateGrad
        ]  # the nodes of leaves live as long as their graph
        return shown

    def register_hook(self, fn: Any) -> Any:
        from ..utils.hooks import RemovableHandle

        if self.post_hooks is None:
            self.post_hooks = {}
        handle = RemovableHandle(self.post_hooks)
        self.post_hooks[handle.id] = fn
        return handle

    def register_prehook(self, fn: Any) -> Any:
        from ..utils.hooks import RemovableHandle

        if self.pre_hooks is None:
            self.pre_hooks = {}
        handle = RemovableHandle(self.pre_hooks)
        self.pre_hooks[handle.id] = (None, fn)
        return handle

    def _sequence_nr(self) -> int:
        return self.seq

    def _set_sequence_nr(self, number: int) -> None:
        self.seq = int(number)

    def __call__(self, *grads: Any) -> Any:
        return self.apply(grads)

    def __repr__(self) -> Any:
        return "<%s object at %#x>" % (type(self).__name__, id(self))


class AccumulateGrad(Node):
    """The node of a leaf, made when it is asked for; the engine knows the leaf itself, and looks here for hooks."""

    __slots__ = ("variable",)
    __module__ = "torch.autograd"

    def __init__(self, variable: Tensor) -> None:
        self.variable, self.next, self.outs = variable, [], 1
        self.seq = (1 << 64) - 1

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"

    def apply(self, grads: Any) -> Any:
        from . import _engine

        if grads[0] is not None:
            _engine.finish(self.variable, grads[0], _C.is_grad_enabled(), outside=True)
        return ()

    def register_hook(self, fn: Callable[..., Any]) -> Any:
        eager[0] = True
        return Node.register_hook(self, fn)


eager = [False]  # whether a leaf ever got a hook that runs after its gradient was added


def leaf_node(t: Any) -> Node:
    """The AccumulateGrad of a leaf: the same object while somebody holds it."""
    m = meta(t)
    node = None if m.node is None else m.node()
    if node is None:
        node = AccumulateGrad(t)
        m.node = weakref.ref(node)
    return node


def _shown_edge(e: Any) -> tuple[Node | None, int]:
    """An edge as next_functions has it: a node and an output number."""
    if e is None:
        return None, 0
    return (leaf_node(e[0]), 0) if isinstance(e[0], TensorBase) else e


edge = _C.edge


def freed_error() -> Any:
    return RuntimeError(FREED_TEXT)


tangents: dict[int, Any] = {}  # those of forward_ad.py, by the ids of their tensors


class Transposing:
    """Context of a gradient that is taken for tangents, as u -> J^T u, and transposed then.

    Where an index names a place twice, one of the written values stays. Gradients go to all of them, as in PyTorch; in
    this context to the one that stays, so that its tangent does."""

    on = False

    def __enter__(self) -> None:
        self.before, Transposing.on = Transposing.on, True

    def __exit__(self, *exc: Any) -> None:
        Transposing.on = self.before


def keep_tangent(t: Tensor, same: Tensor, copied: bool = False) -> None:
    """Gives an alias or a copy of t the tangent of t, where a dual level is open."""
    from . import forward_ad

    forward_ad.keep_tangent(t, same, copied)


def pack(t: Any, made: tuple[Node, int] | None = None) -> Any:
    """(value, version) of a tensor to keep; an output, of which `made` is the history, loses it, so that node and
    output form no cycle."""
    if not isinstance(t, TensorBase):
        return t, None  # a number where torch.mul(2, x) takes one for a tensor
    if t._inference and not _C.is_inference_mode_enabled():
        raise RuntimeError(
            "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode "
            "in computation tracked by autograd. To work around this, you can make a clone to get a normal tensor "
            "and use it in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`."
        )
    if saved_hooks:
        return _Packed(t, made), -1
    return (_alias(t) if made else t), t._version


class _Packed:
    __slots__ = ("value", "unpack", "grad_edge")

    def __init__(self, t: Any, made: tuple[Node, int] | None, hooks: Any = None) -> None:
        pair: tuple[Callable[..., Any], Callable[..., Any]] = hooks or saved_hooks[-1]
        packer, self.unpack = pair
        self.grad_edge = None if made else edge(t)
        plain = None
        if made:  # a hook sees an output with its history; what it hands back as it is goes without: no cycle
            plain = t.detach()
            t = _with_history(t.detach(), made)
        version = t._version
        with _C.GradMode(False):
            self.value = packer(t)
        if made and self.value is t:
            self.value = plain
        if t._version != version:
            raise RuntimeError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook "
                "cannot be modified by in-place operations as this can lead to unexpected side-effects. "
                "Please open an issue if you need to perform in-place operations on the input to a pack hook."
            )


def _with_history(t: Any, made: tuple[Node, int]) -> Any:
    node, output = made
    if output not in node.rec_nondiff and (t.dtype.is_floating_point or t.dtype.is_complex):
        t._raw_grad_fn, t._output_nr = made
    return t


class _Of(Node):
    """History of what stands for a leaf: what an unpack hook returned for a leaf that was saved."""

    __slots__ = ()

    def apply(self, grads: list[Tensor]) -> Any:
        return [grads[0]]


def unpack(item: tuple[Any, ...], node: Node, output: int | None = None, linked: bool = False) -> Tensor:
    """The saved tensor, after the version check; `output` is its number when it is a result of `node`. linked: a
    result has its history even where nothing is recorded now."""
    value, version = item
    if version is None:
        return value
    if type(value) is _Packed:
        t = value.unpack(value.value)
        if not isinstance(t, TensorBase):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type %s"
                % type(t).__name__
            )
        found = value.grad_edge
        if found is not None and t is not found[0]:
            t = _alias(t)
            t._raw_grad_fn, t._output_nr = (_Of([found]), 0) if isinstance(found[0], TensorBase) else found
        elif output is not None:
            t = _alias(t)
            t._raw_grad_fn, t._output_nr = maker(node, output)
        return t
    if value._version != version:
        from ._inplace import changed_error

        raise changed_error(value, version, node, output)
    if value._meta is not None and node.seq <= value._meta.detached and value._raw_grad_fn is None:
        raise RuntimeError(
            "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_()."
            "This is not supported, please use out-of-place `.detach()` instead"
        )
    if (
        output is not None
        and (linked or _C.is_grad_enabled())
        and output not in node.rec_nondiff
        and (value.dtype.is_floating_point or value.dtype.is_complex)
    ):
        value, kept = _alias(value), value
        value._raw_grad_fn, value._output_nr = maker(node, output)
        if tangents:
            keep_tangent(kept, value)
    return value


def reduced(v: Any, shape: Any, dtype: Any) -> Any:
    """A gradient as its input needs it."""
    if v.dtype is not dtype and v.is_complex() and not dtype.is_complex:
        v = v.real
    if v.shape != shape:
        v = v.sum_to_size(shape)
    if v.dtype is not dtype:
        v = v.to(dtype)
    return v


def maker(node: Node, output: int) -> tuple[Node, int]:
    """The history of a saved result: node, or where node changed a view in place, the view of the base that followed
    from it, with the view's hooks while the view has that history.

    The engine knows the base's node only: node itself would run twice, by itself and inside of that one.
    """
    within = (node.metadata_ or {}).get("within")
    if within is None:
        return node, output
    whole, view = within
    made = view()
    if made is None:
        from ._inplace import view_of

        made = view_of(whole())
    return made, 0


def as_leaf(t: Any, wants: bool = True) -> Any:
    """The tensor, which requires a gradient from now on, or not. requires_grad_() is refused inside functions that
    vmap or a transform of torch.func calls; this is for what torchlite itself does there."""
    if wants and not (t.dtype.is_floating_point or t.dtype.is_complex):
        raise not_floating()
    t.requires_grad = wants
    return t


def set_view_base(out: Tensor, source: Tensor) -> None:
    """Sets the base of a recorded view: the base of what it is a view of."""
    base = out._base = source if source._base is None else source._base
    if out._dispatches:  # its memory is not the base's, its writes are
        _C.share_version(out, base)
        out._stamp = base._version
