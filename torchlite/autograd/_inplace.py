"""In-place ops under autograd: rules for leaves, views and their bases.

Changing a view changes its base: the base's new history is a CopySlices node (the old history with the view's part
replaced), and every view of it finds its grad_fn anew, as a strided view of the base.
"""

from .. import _C
from . import _node
from ._node import Node, edge, meta

_alias = _C.alias


def check_inplace(t):
    """Raises where PyTorch forbids an in-place change under grad mode."""
    if t._raw_grad_fn is None and t._leaf_flag:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    base = t._base
    if base is not None:
        if base._raw_grad_fn is None and base._leaf_flag:
            raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
        fn = t._raw_grad_fn
        if isinstance(fn, Node) and isinstance(fn.outs, list) and fn.rec.view:
            raise RuntimeError("Output %d of %s is a view and is being modified inplace. This view is the output of a function that "
                               "returns multiple views. Such functions do not allow the output views to be modified inplace. You "
                               "should replace the inplace operation by an out-of-place one." % (t.output_nr, fn.name()))


def record_inplace(ov, args):
    """op_(self, ...) with a gradient: runs it, then rebases self's history."""
    spec, self = ov.spec, args[0]
    check_inplace(self)
    if spec.grad is None and spec.differentiable:
        if spec.body is None:
            raise RuntimeError("derivative for aten::%s_ is not implemented" % spec.name)
        result = spec.body(*args)                   # differentiable through its body: compute, then copy in
        return copy_in(self, result)
    if not spec.differentiable:
        out = _C.call_inplace_below(ov, args)
        cut = Zeros([edge(self)])
        cut.shape, cut.dtype = self.shape, self.dtype
        set_history(self, cut)
        return out
    rec = _node.recorder(ov)
    edges, lengths = _node.make_edges(rec, args)
    kept = args
    if any(i == 0 for _, i in rec.saved):
        before = _C.empty_like(self)
        _C.copy(before, self)
        kept = (before, *args[1:])
    node = rec.node_type(rec, kept, edges)
    if lengths:
        node.metadata_ = {"lengths": lengths}
    _C.call_inplace_below(ov, args)
    set_history(self, node)
    if rec.results:
        node.keep_results(self)
    return self


class Zeros(Node):
    """History of values that do not depend on what was there before (fill_, zero_ and the like)."""

    __slots__ = ("shape", "dtype")

    def apply(self, grads):
        import torchlite as torch
        return [torch.zeros(self.shape, dtype=self.dtype)]


class CopyBackwards(Node):
    """dst.copy_(src): all of the gradient goes to src."""

    __slots__ = ("shape", "dtype", "dst")

    def apply(self, grads):
        import torchlite as torch
        g = grads[0]
        src = None
        if self.next[1] is not None:
            src = g
            if src.shape != self.shape:
                src = src.sum_to_size(self.shape)
            if src.dtype is not self.dtype:
                src = (src.real if src.is_complex() and not self.dtype.is_complex else src).to(self.dtype)
        return [torch.zeros_like(g) if self.next[0] is not None else None, src]


def copy_in(dst, src):
    """dst.copy_(src) recorded."""
    check_inplace(dst)
    node = CopyBackwards([edge(dst), edge(src)])
    node.shape, node.dtype = src.shape, src.dtype
    old = _C.set_grad_enabled(False)
    try:
        _C.copy(dst, src)
    finally:
        _C.set_grad_enabled(old)
    set_history(dst, node)
    return dst


class CopySlices(Node):
    """The base of a view that was changed in place by `inner`."""

    __slots__ = ("inner", "shape", "strides", "offset")

    def name(self):
        return "torch::autograd::CopySlices"

    def apply(self, grads):
        g = grads[0]
        base = g.contiguous().clone() if self.next else g
        part = base.as_strided(self.shape, self.strides, self.offset)
        inner = self.inner.apply((part.clone(),))
        if inner[0] is None:
            part.zero_()
        else:
            part.copy_(inner[0])
        return [base, *inner[1:]]

    def release(self):
        self.inner.release()


class AsStridedBackward0(Node):
    """A view of a base whose history was rewritten."""

    __slots__ = ("shape", "strides", "offset", "base_shape")

    def apply(self, grads):
        return [scatter_strided(grads[0], self.base_shape, self.shape, self.strides, self.offset)]


def scatter_strided(g, base_shape, shape, strides, offset):
    """The gradient of x.as_strided(shape, strides, offset) for a contiguous x; overlapping elements add up."""
    import torchlite as torch
    n = 1
    for s in base_shape:
        n *= s
    index = torch.arange(n).as_strided(shape, strides, offset).reshape(-1)
    return torch.zeros(n, dtype=g.dtype).index_add(0, index, g.reshape(-1)).reshape(base_shape)


def set_history(t, node):
    """Makes node the maker of t, after an in-place change."""
    base = t._base
    if base is None:
        t._raw_grad_fn, t._output_nr, t._leaf_flag = node, 0, False
        meta(t).rebased = t._version           # views of t find their history anew
        return
    cs = CopySlices([edge(base), *node.next[1:]])
    cs.inner = node
    cs.shape, cs.strides, cs.offset = t.shape, _relative(base, t), t.storage_offset() - base.storage_offset()
    base._raw_grad_fn, base._output_nr, base._leaf_flag = cs, 0, False
    meta(base).rebased = base._version
    regenerate(t)


def _relative(base, t):
    """t's strides as strides of a contiguous copy of base (bases are contiguous in all but rare cases)."""
    if not base.is_contiguous():
        raise NotImplementedError("in-place change of a view of a non-contiguous tensor that requires grad is not supported; "
                                  "make the base contiguous() first")
    return t.stride()


def regenerate(t):
    base = t._base
    node = AsStridedBackward0([edge(base)])
    node.shape, node.strides, node.offset = t.shape, _relative(base, t), t.storage_offset() - base.storage_offset()
    node.base_shape = base.shape
    t._raw_grad_fn, t._output_nr = node, 0
    meta(t).stamp = base._version
    return node


def get_grad_fn(t):
    """grad_fn of a view: the recorded one, unless its base was rebased since."""
    base = t._base
    m = base._meta
    if m is None or m.rebased < 0:
        return t._raw_grad_fn
    own = t._meta
    if own is not None and own.stamp >= m.rebased:
        return t._raw_grad_fn
    return regenerate(t)
