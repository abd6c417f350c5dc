"""In-place ops under autograd: rules for leaves, views and their bases.

Changing a view changes its base. The base's new history is a CopySlices node: the old history with the view's part
replaced. Each view of the base then gets a new grad_fn when it is asked for, as a strided view of the base.
"""

from __future__ import annotations


import math
import weakref

from .. import _C
from .._core import dispatch_modes as _modes
from . import _node, _record
from ._node import Node, edge

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any
    from .._types import Overload, Size, Tensor


_alias = _C.alias


_AMBIGUOUS = (
    " Given that this use case is ambiguous and error-prone, it is forbidden. "
    "You can clarify your code by moving both the view and the inplace either both inside the %s block (if you "
    "don't want the inplace to be tracked) or both outside (if you want the inplace to be tracked)."
)
_MANY = (
    " This view is the output of a function that returns multiple views. "
    "Such functions do not allow the output views to be modified inplace. "
    "You should replace the inplace operation by an out-of-place one."
)


def check_view(t: Tensor, change: str) -> Any:
    """Raises where t is a view that cannot follow a change in place:
    one made under no_grad, one of several that an op returned, or a Function's."""
    own = t._meta
    if own is not None and own.frozen:
        raise RuntimeError("%s and %s modified inplace. %s" % (own.frozen[0], change, own.frozen[1]))
    if not (t._one_of_many or t._unrecorded):
        return
    made = t._raw_grad_fn
    place = (
        "Output %d of %s is a view" % (t.output_nr, made.name().partition("Backward")[0])
        if isinstance(made, Node)
        else "A view"
    )
    if t._unrecorded or made is None:
        place += (" of a view which" if made is not None else "") + " was created in %s mode" % (
            "inference" if t._of_inference else "no_grad"
        )
        change += " modified inplace %s." % ("in normal mode" if t._of_inference else "with grad mode enabled")
    else:
        change += " modified inplace."
    why = _MANY
    if t._unrecorded:
        why = _AMBIGUOUS % ("inference_mode" if t._of_inference else "no_grad")
    raise RuntimeError("%s and %s%s" % (place, change, why))


def check_inplace(t: Tensor) -> None:
    """Raises where PyTorch forbids an in-place change under grad mode."""
    base = t._base
    if base is not None:
        check_view(t, "is being")
        if base._raw_grad_fn is None and _C.requires_grad(t):
            raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
    elif t._raw_grad_fn is None and t._leaf_flag:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")


def record_inplace(ov: Overload, args: tuple[Any, ...]) -> Tensor:
    """op_(self, ...) with a gradient: runs it, then rebases self's history."""
    spec, self = ov.spec, args[0]
    if spec.name in _KEEPS_HISTORY:
        return _C.call_inplace_below_autograd(ov, args)
    check_inplace(self)
    if spec.grad is None and spec.differentiable:
        if spec.body is None:
            raise RuntimeError("derivative for aten::%s_ is not implemented" % spec.name)
        if callable(spec.inplace):
            return spec.inplace(*args)
        # Differentiable through its body: compute, then copy in. The ops of the body save the old value, not self.
        return copy_in(self, spec.body(old_value(self), *args[1:]), True)
    rec = _record.recorder(ov)
    if not spec.differentiable:
        zero = spec.name in _ZERO_GRADIENT
        node = cut([args[i] for i, _, _ in rec.inputs] if zero else [self], rec.node_type.__name__, not zero)
        out = _C.call_inplace_below_autograd(ov, args)
        if any(e is not None for e in node.next):
            set_history(self, node)
        return out
    edges, lengths = _record.make_edges(rec, args)
    if spec.grad == {}:
        node = NotDifferentiable(edges)
        node.op = "aten::%s_" % spec.name
        _C.call_inplace_below_autograd(ov, args)
        set_history(self, node)
        return self
    kept = args
    if any(i == 0 and (users is None or any(edges[at] is not None for at in users)) for _, i, users in rec.saved):
        kept = (old_value(self), *args[1:])
    if any(a is self for a in kept[1:]):  # y.mul_(y): a node that held y itself would close a cycle
        kept = (kept[0], *(_alias(a) if a is self else a for a in kept[1:]))
    node = rec.node_type(rec, kept, edges)
    if lengths:
        node.metadata_ = {"lengths": lengths}
    _C.call_inplace_below_autograd(ov, args)
    set_history(self, node)
    if rec.results:
        node.keep_results(self)
    return self


def old_value(t: Tensor) -> Tensor:
    """A copy of t with t's history: what an in-place op saves of the tensor that it is about to change.

    Its gradient is that of the value before the change, so second derivatives flow through it too.
    """
    if t._dispatches:
        with _C.GradMode(False):
            old = t.clone()
    else:
        old = _C.empty_like(t)
        _C.copy(old, t)
    made = edge(t)
    if made is not None:
        old._raw_grad_fn, old._output_nr = made
    if _node.tangents:
        _node.keep_tangent(t, old, True)
    return old


def before_change(t: Tensor) -> Tensor:
    """t for an op that is about to overwrite t with a function of it; where that is recorded, its old value."""
    if not (_C.is_grad_enabled() and _C.requires_grad(t)):
        return t
    check_inplace(t)
    return old_value(t)


# comparisons have a gradient in PyTorch, of zeros; logical ops in place are not recorded there, on leaves neither
_ZERO_GRADIENT = frozenset(("eq", "ne", "lt", "le", "gt", "ge"))
_KEEPS_HISTORY = frozenset(("logical_and", "logical_or", "logical_xor", "logical_not"))


class Zeros(Node):
    """History of values that do not depend on the inputs (fill_, zero_ and the like)."""

    __slots__ = ("likes", "filled")
    kinds: dict[str, type[Zeros]] = {}  # by name

    def apply(self, grads: list[Tensor] | tuple[Tensor]) -> Any:
        import torchlite as torch

        if self.filled:  # laid out as what came
            return [torch.zeros_like(grads[0].detach())]
        return [
            None if e is None else torch.zeros(like[0], dtype=like[1], device=grads[0].device)
            for e, like in zip(self.next, self.likes)
        ]


def cut(inputs: list[Tensor], name: str, filled: bool = False) -> Node:
    """A node of this name that says that the new values do not depend on these inputs."""
    kind = Zeros.kinds.get(name)
    if kind is None:
        kind = Zeros.kinds[name] = type(name, (Zeros,), {"__slots__": (), "__module__": "torch.autograd"})
    node = kind([edge(t) for t in inputs])
    node.filled = filled
    node.likes = [e and (t.shape, t.dtype) for t, e in zip(inputs, node.next)]
    return node


class NotDifferentiable(Node):
    """History of a change that has no derivative: a backward that comes here is an error."""

    __slots__ = ("op",)

    def name(self) -> str:
        return "torch::autograd::NotImplemented"

    def apply(self, grads: Any) -> Any:
        raise RuntimeError("derivative for %s is not implemented" % self.op)


def refuse(t: Tensor, op: Any, *sources: Any) -> None:
    """Cuts t off from its history, for a change by `op` that also reads the tensors among `sources`."""
    node = NotDifferentiable([edge(t), *(edge(s) for s in sources if isinstance(s, _C.TensorBase))])
    node.op = op
    set_geometry_history(t, node, 0)


NotDifferentiable.__name__ = NotDifferentiable.__qualname__ = "NotImplemented"


class CopyBackwards(Node):
    """dst.copy_(src): all of the gradient goes to src."""

    __slots__ = ("shape", "dtype", "device", "filled")

    def name(self) -> str:
        return "torch::autograd::CopyBackwards"

    def apply(self, grads: list[Tensor] | tuple[Tensor]) -> Any:
        import torchlite as torch

        g = grads[0]
        src = None
        if self.next[1] is not None:
            src = g.cpu() if self.device.type == "cpu" else g  # float64 is there alone
            if src.dtype is not self.dtype:
                src = (src.real if src.is_complex() and not self.dtype.is_complex else src).to(self.dtype)
            src = src.to(self.device)
            if src.shape != self.shape:
                src = src.sum() if self.filled else src.sum_to_size(self.shape)
        old = None
        if self.next[0] is not None:  # fill_'s is laid out as what came
            old = torch.zeros_like(g) if self.filled else torch.zeros(g.shape, dtype=g.dtype, device=g.device)
        return [old, src]


def copy_in(dst: Tensor, src: Tensor, filled: bool = False) -> Tensor:
    """dst.copy_(src) recorded."""
    check_inplace(dst)
    node = CopyBackwards([edge(dst), edge(src)])
    node.shape, node.dtype, node.device, node.filled = src.shape, src.dtype, src.device, filled
    with _C.GradMode(False):
        if dst._dispatches or src._dispatches or _modes.stack:
            _modes.write(dst, *(("fill_", "Tensor") if filled else ("copy_", "default")), src)
        else:
            _C.copy(dst, src)
    set_history(dst, node)
    return dst


class CopySlices(Node):
    """The base of a view that was changed in place by `inner`, whose edge `slot` is the old view's."""

    __slots__ = ("inner", "slot", "base", "view", "parts", "signs")
    inner: Any

    def name(self) -> str:
        return "torch::autograd::CopySlices"

    @property
    def rec(self) -> Any:
        """What the engine asks whether all arguments have a derivative."""
        return getattr(self.inner, "rec", None)

    def apply(self, grads: list[Tensor], wanted: Any = None) -> Any:
        import torchlite as torch

        if self.inner is None:
            raise _node.freed_error()
        g = grads[0]
        shape, strides, _ = self.base
        whole = g.new_empty_strided(shape, strides).copy_(g)
        part = with_signs(_window(whole, self.view, self.parts), self.signs)
        given = (part.clone(memory_format=torch.contiguous_format),)
        found = list(self.inner.apply(given) if wanted is None else self.inner.apply(given, wanted))
        old = found[self.slot]
        if old is None:
            part.zero_()
        else:
            if old._dispatches and _modes.is_mapped(old):  # what came may be the same for all examples of a vmap
                whole = (part + old).new_empty_strided(shape, strides).copy_(whole)
                part = with_signs(_window(whole, self.view, self.parts), self.signs)
            part.copy_(old)
        found[self.slot] = whole
        return found

    def release(self) -> None:
        if self.inner is not None:
            self.inner.release()
            self.inner = None


class AsStridedBackward0(Node):
    """A view of a base whose history was rewritten."""

    __slots__ = ("base", "view", "parts", "signs")

    def apply(self, grads: list[Tensor]) -> Any:
        import torchlite as torch

        g, base = with_signs(grads[0], self.signs), self.base
        if self.parts == SPLIT:
            return [torch.view_as_complex(scatter_strided(g, _as_real(base), self.view).contiguous())]
        if self.parts == JOINED:
            return [scatter_strided(torch.view_as_real(g.resolve_conj()), base, _as_real(self.view))]
        return [scatter_strided(g, base, self.view)]


# A layout is (shape, strides, offset), in elements of the tensor's own dtype. A view of a base may be of its real and
# imaginary parts (SPLIT), or take pairs of numbers as complex ones (JOINED).
SPLIT, JOINED = "split", "joined"


def _as_real(layout: Any) -> Any:
    shape, strides, offset = layout
    return (*shape, 2), (*(2 * s for s in strides), 1), 2 * offset


def _window(whole: Tensor, view: tuple[Size, tuple[int, ...], int], parts: str | None) -> Tensor:
    import torchlite as torch

    if parts == SPLIT:
        whole = torch.view_as_real(whole)
    if parts == JOINED:
        return torch.view_as_complex(whole.as_strided(*_as_real(view)))
    return whole.as_strided(*view)


def with_signs(t: Tensor, signs: tuple[bool, bool]) -> Tensor:
    """A view of t's conjugates, negatives, or both."""
    conjugated, negated = signs
    if conjugated:
        t = t.conj()
    return t._neg_view() if negated else t


def span(shape: Size | tuple[int, ...], strides: tuple[int, ...], offset: int) -> int:
    return 0 if 0 in shape else offset + 1 + sum((n - 1) * s for n, s in zip(shape, strides))


def scatter_strided(
    g: Tensor, base: tuple[Any, tuple[int, ...], int], view: tuple[Any, tuple[int, ...], int]
) -> Tensor:
    """The gradient of x.as_strided(*view) for an x of layout `base`; overlapping elements add up."""
    import torchlite as torch

    shape, strides, start = base
    size, steps, offset = view
    first = min(start, offset)
    start, offset = start - first, offset - first
    n = max(span(shape, strides, start), span(size, steps, offset))
    total = math.prod(shape)
    if n == total and start == 0 and _apart(size, steps) and _apart(shape, strides):
        flat = torch.zeros(n, dtype=g.dtype, device=g.device)
        return torch.as_strided_scatter(flat, g, size, steps, offset).as_strided(shape, strides, 0)
    index = torch.arange(n, device=g.device).as_strided(size, steps, offset).reshape(-1)
    flat = torch.zeros(n, dtype=g.dtype, device=g.device).index_add(0, index, g.reshape(-1))
    if total > span(shape, strides, 0) or any(s == 0 and k > 1 for k, s in zip(shape, strides)):
        places = torch.arange(n, device=g.device).as_strided(shape, strides, start).reshape(-1)
        flat = flat / torch.zeros_like(flat).index_add(
            0, places, torch.ones(total, dtype=g.dtype, device=g.device)
        ).clamp_(min=1)
    if n == total and start == 0 and all(s == k or m == 1 for s, k, m in zip(strides, _C.dense_strides(shape), shape)):
        return flat.reshape(shape)
    return flat.as_strided(shape, strides, start)


def _apart(shape: Size | tuple[int], strides: tuple[int, ...]) -> bool:
    """Whether each element surely has a place of its own."""
    reach = 0
    for step, n in sorted((s, n) for s, n in zip(strides, shape) if n != 1):
        if step <= reach:
            return False
        reach += (n - 1) * step
    return True


def set_history(t: Tensor, node: CopyBackwards | Node, slot: int = 0) -> None:
    """Makes node the maker of t, after an in-place change;
    slot: which of node's edges is that of t before the change."""
    base = t._base
    if base is None:
        _move_retained(t, t._raw_grad_fn, node, 0)
        t._raw_grad_fn, t._output_nr, t._leaf_flag = node, 0, False
        return
    cs = CopySlices([*node.next[:slot], edge(base), *node.next[slot + 1 :]])
    cs.inner, cs.slot = node, slot
    _relate(cs, base, t)
    _move_retained(base, base._raw_grad_fn, cs, 0)
    base._raw_grad_fn, base._output_nr, base._leaf_flag = cs, 0, False
    node.metadata_ = {**(node.metadata_ or {}), "within": (weakref.ref(cs), weakref.ref(regenerate(t)))}


def set_geometry_history(t: Tensor, node: Node, nr: int) -> None:
    """The same for a change of t's geometry, which leaves the base of a view as it was."""
    _move_retained(t, t._raw_grad_fn, node, nr)
    t._raw_grad_fn, t._output_nr = node, nr
    if t._base is not None:
        t._stamp = t._version


def _move_retained(t: Tensor, old: Any, new: Any, nr: int) -> None:
    """retain_grad() means the tensor's last value."""
    if t._retains and isinstance(old, Node) and old.retain:
        ref = old.retain.pop(t.output_nr, None)
        if ref is not None:
            new.retain = {nr: ref}


def _relate(node: AsStridedBackward0 | CopySlices, base: Tensor, t: Tensor) -> None:
    """Where t lies in base, and how its signs differ; the base's own offset does not count."""
    node.base = base.shape, base.stride(), 0
    conjugated, negated = t.is_conj() != base.is_conj(), t.is_neg() != base.is_neg()
    if base.is_complex() and not t.is_complex():  # imaginary parts lie at odd places
        negated ^= base.is_conj() and (t.storage_offset() - 2 * base.storage_offset()) % 2 == 1
        conjugated = False
    node.signs = conjugated, negated
    node.parts, start = None, base.storage_offset()
    if t.dtype is not base.dtype:
        node.parts = SPLIT if base.is_complex() else JOINED
        if node.parts == SPLIT:
            start *= 2
        elif start % 2:
            raise RuntimeError(
                "in-place change of a complex view of a base with an odd storage offset is not supported; "
                "clone() the base first"
            )
        else:
            start //= 2
    node.view = t.shape, t.stride(), t.storage_offset() - start


def view_of(cs: CopySlices) -> AsStridedBackward0:
    """History of the view that was changed in place: a view of the base that cs made."""
    node = AsStridedBackward0([(cs, 0)])
    node.base, node.view, node.parts, node.signs = cs.base, cs.view, cs.parts, cs.signs
    return node


def regenerate(t: Tensor) -> AsStridedBackward0:
    base = t._base
    node = AsStridedBackward0([edge(base)])
    _relate(node, base, t)
    _move_retained(t, t._raw_grad_fn, node, 0)
    t._raw_grad_fn, t._output_nr, t._stamp = node, 0, t._version
    return node


def get_grad_fn(t: Tensor) -> AsStridedBackward0 | None:
    """grad_fn of a view whose memory was changed since it was made."""
    base, made = t._base, t._raw_grad_fn
    if made is None and not _C.requires_grad(base):
        return None
    check_view(t, "its base or another view of its base has been")
    return regenerate(t)


def changed_error(t: Tensor, version: int, node: Any, output: int | None) -> Any:
    """The error of a tensor that was saved at `version` and changed since."""
    kind = {
        "Float": "FloatTensor",
        "Double": "DoubleTensor",
        "Half": "HalfTensor",
        "BFloat16": "BFloat16Tensor",
        "Long": "LongTensor",
    }.get(t.dtype._scalar_type, t.dtype._scalar_type + "Tensor")
    name = "CPUBoolType" if t.dtype._scalar_type == "Bool" else "torch." + kind  # as PyTorch's has it
    where = ""
    if output in getattr(node, "rec_nondiff", ()):
        output = None
    if output is not None or t._raw_grad_fn is not None:
        # a view that was written is recorded anew, as a strided view of its base
        made = t.grad_fn or node if output is None or t._is_view() else node
        where = ", which is output %d of %s," % (output or t.output_nr, made.name().partition("Backward")[0])
    hint = (
        (
            "Hint: the backtrace further above shows the operation that failed to compute its gradient. "
            "The variable in question was changed in there or anywhere later. Good luck!"
        )
        if _node.anomaly[0]
        else (
            "Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
            "torch.autograd.set_detect_anomaly(True, check_nan=False)."
        )
    )
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        "[%s %s]%s is at version %d; expected version %d instead. %s"
        % (name, list(t.shape), where or "", t._version, version, hint)
    )
