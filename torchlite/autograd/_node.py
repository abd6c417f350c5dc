"""Graph nodes: what a recorded op keeps for its backward, and the recorder that makes them.

A node's edges name, for each input that needs a gradient, the node that made it (with the output number) or,
for a leaf, the tensor itself. `seq` grows with creation, so the largest pending one has all its consumers behind it.
"""

from __future__ import annotations


import weakref
from typing import Any

from .. import _C
from .._core.errors import not_floating
from ..ops import _schema
from ..ops._declare import refuse_gradient

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from .._types import Overload, Tensor


_call_below, _call_inplace_below, _requires_grad = (
    _C.call_below_autograd,
    _C.call_inplace_below_autograd,
    _C.requires_grad,
)
_alias = _C.alias
TensorBase = _C.TensorBase

FREED = ("freed",)
# stack of (pack, unpack), torch.autograd.graph.saved_tensors_hooks
saved_hooks: list[tuple[Callable[..., Any], Callable[..., Any]]] = []
anomaly = [False, True]  # enabled, check_nan
_seq = [0]

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

    __slots__ = ("seq", "metadata_", "pre_hooks", "post_hooks", "retain", "outs", "trace", "faces", "__weakref__")
    __module__ = "torch.autograd.graph"

    def __init__(self, edges: list[tuple[Any, int] | None], outs: int = 1) -> None:
        self.next = edges
        _seq[0] = self.seq = _seq[0] + 1
        self.pre_hooks: dict[int, Any] | None = None
        self.post_hooks: dict[int, Any] | None = None
        self.retain: dict[int, Any] | None = None
        self.metadata_: dict[Any, Any] | None = None
        self.outs = outs  # shapes and dtypes of the outputs when there are several, else 1
        self.trace = None
        if anomaly[0]:
            import traceback

            self.trace = traceback.format_stack()[:-2]

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
        self.pre_hooks = self.post_hooks = self.retain = self.metadata_ = self.trace = None

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


def edge(t: TensorBase | None) -> tuple[Any, int] | None:
    """(node or leaf, output number), or None when t takes no gradient."""
    if t is None or not _requires_grad(t):
        return None
    node = t.grad_fn if t._base is not None else t._raw_grad_fn
    if node is None:  # views made under no_grad lead nowhere
        return (t, 0) if t._leaf_flag else None
    return node, t.output_nr


def freed_error() -> Any:
    return RuntimeError(FREED_TEXT)


tangents: dict[int, Any] = {}  # those of forward_ad.py, by the ids of their tensors


def keep_tangent(t: Tensor, same: Tensor, copied: bool = False) -> None:
    """Gives an alias or a copy of t the tangent of t, where a dual level is open."""
    from . import forward_ad

    forward_ad.keep_tangent(t, same, copied)


def pack(t: Any, is_output: bool) -> Any:
    """(value, version) of a tensor to keep; an output loses its history, so that node and output form no cycle."""
    if not isinstance(t, TensorBase):
        return t, None  # a number where torch.mul(2, x) takes one for a tensor
    if t._inference and not _C.is_inference_mode_enabled():
        raise RuntimeError(
            "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode "
            "in computation tracked by autograd. To work around this, you can make a clone to get a normal tensor "
            "and use it in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`."
        )
    if saved_hooks:
        return _Packed(t, is_output), -1
    return (_alias(t) if is_output else t), t._version


class _Packed:
    __slots__ = ("value", "unpack", "grad_edge")

    def __init__(self, t: Any, is_output: bool, hooks: Any = None) -> None:
        pair: tuple[Callable[..., Any], Callable[..., Any]] = hooks or saved_hooks[-1]
        packer, self.unpack = pair
        self.grad_edge = None if is_output else edge(t)
        if is_output:
            t = t.detach()
        version = t._version
        with _C.GradMode(False):
            self.value = packer(t)
        if t._version != version:
            raise RuntimeError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook "
                "cannot be modified by in-place operations as this can lead to unexpected side-effects. "
                "Please open an issue if you need to perform in-place operations on the input to a pack hook."
            )


class _Of(Node):
    """History of what stands for a leaf: what an unpack hook returned for a leaf that was saved."""

    __slots__ = ()

    def apply(self, grads: list[Tensor]) -> Any:
        return [grads[0]]


def unpack(item: tuple[Any, ...], node: Node, output: int | None = None) -> Tensor:
    """The saved tensor, after the version check; `output` is its number when it is a result of `node`."""
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
        and _C.is_grad_enabled()
        and output not in node.rec_nondiff
        and (value.dtype.is_floating_point or value.dtype.is_complex)
    ):
        value, kept = _alias(value), value
        value._raw_grad_fn, value._output_nr = maker(node, output)
        if tangents:
            keep_tangent(kept, value)
    return value


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


# ---- recorder: what one overload's nodes keep ------------------------------------------------------------------------


def _used(fn: Any, names: set[str], seen: set[Callable[..., Any]]) -> None:
    """Adds the names that fn and the functions of its module that it calls use as attributes."""
    if fn in seen:
        return
    seen.add(fn)
    codes = [fn.__code__]
    while codes:
        code = codes.pop()
        names.update(code.co_names)
        codes.extend(c for c in code.co_consts if hasattr(c, "co_names"))
        for name in code.co_names:
            callee = fn.__globals__.get(name)
            if hasattr(callee, "__code__"):
                _used(callee, names, seen)
    for cell in fn.__closure__ or ():
        if hasattr(cell.cell_contents, "__code__"):
            _used(cell.cell_contents, names, seen)


def _node_name(spec: Any, schema: str) -> str:
    if spec.grad == {}:
        return "NotImplemented"
    if spec.node:
        return spec.node[spec.schemas.index(schema)] if isinstance(spec.node, tuple) else spec.node
    base = _schema.split(schema)[0].strip("_")
    index = spec.schemas.index(schema) if len(spec.schemas) > 1 and "Scalar" not in schema.partition("(")[0] else 0
    return "".join(p.title() for p in base.split("_")) + "Backward%d" % min(index, 1)


def _node_class(name: str) -> type:
    if name == "NotImplemented":  # PyTorch's name of it is another one
        fields = {
            "__slots__": (),
            "__module__": "torch.autograd",
            "name": lambda node: "torch::autograd::NotImplemented",
        }
        return type(name, (OpNode,), fields)
    return type(name, (OpNode,), {"__slots__": (), "__module__": "torch.autograd"})


def _choose(name_of: Callable[..., Any]) -> Callable[..., Any]:
    """For ops whose node is named by their arguments (matmul of matrices is MmBackward0)."""
    classes = {}

    def make(rec: Recorder, args: tuple[Any, ...], edges: list[tuple[Any, int] | None]) -> Any:
        name = name_of(args)
        if name not in classes:
            classes[name] = _node_class(name)
        return classes[name](rec, args, edges)

    return make


def _refusing(spec: Any, arguments: list[tuple[int, str]], make: Callable[..., Any]) -> Callable[..., Any]:
    """For ops with arguments whose `grad` is None: these must not require a gradient."""

    def checked(rec: Recorder, args: tuple[Any, ...], edges: list[tuple[Any, int] | None]) -> Any:
        name = spec.called(args) if spec.called else spec.name
        refuse_gradient(name, **{n: args[i] for i, n in arguments})
        return make(rec, args, edges)

    return checked


class Recorder:
    """Plan of an overload: where its tensors are, which values its gradient needs."""

    __slots__ = (
        "spec",
        "inputs",
        "params",
        "saved",
        "plain",
        "lists",
        "results",
        "shapes",
        "types",
        "layouts",
        "strides",
        "needs",
        "grad",
        "joint",
        "reduce",
        "single",
        "holds",
        "node_type",
        "context",
        "nresults",
        "view",
        "partial",
        "index",
        "formal",
    )

    def __init__(self, ov: Overload) -> None:
        spec = ov.spec
        self.spec = spec
        params = _schema.parse(ov.schema)
        self.params = {p.name: i for i, p in enumerate(params)}
        self.inputs = [
            (i, p.type != "Tensor", p.name)
            for i, p in enumerate(params)
            if p.type in ("Tensor", "Tensor[]", "Tensor?[]")
        ]
        self.index = {name: n for n, (_, _, name) in enumerate(self.inputs)}
        self.formal = [self.index[name] for name in spec.formal.split()]
        grad = spec.grad
        self.joint = grad if callable(grad) else None
        refused = () if self.joint else tuple(n for n, fn in (grad or {}).items() if fn is None)
        found = {} if self.joint else {n: fn for n, fn in (grad or {}).items() if fn is not None}
        self.grad: Any = None if self.joint else found
        fields = set(spec.save or ())
        # field -> positions of the inputs whose gradients use it, where one function does not serve all
        users: dict[str, tuple[int, ...]] = {}
        if self.joint:
            _used(grad, fields, set())
        else:
            own = not fields and not any(many for _, many, _ in self.inputs)
            for name, fn in found.items():
                if name not in self.index:  # a number in this overload
                    continue
                uses: set[str] = set()
                _used(fn, uses, set())
                fields |= uses
                for field in uses if own else ():
                    users[field] = users.get(field, ()) + (self.index[name],)
            users = {field: at for field, at in users.items() if len(at) < len(self.inputs)}
        self.nresults = _schema.result_count(ov.schema)
        tensors = {name for _, many, name in self.inputs if not many}
        every = {name for _, _, name in self.inputs}
        self.saved = [(n, self.params[n], users.get(n)) for n in self.params if n in fields and n in tensors]
        self.plain = [(n, self.params[n]) for n in self.params if n in fields and n not in tensors]
        self.lists = [
            at for at, (n, _) in enumerate(self.plain) if n in every
        ]  # of tensors, which are packed one by one
        outs = {"result": 0} if self.nresults == 1 else {"result%d" % i: i for i in range(self.nresults)}
        self.results = [(n, i, users.get(n)) for n, i in outs.items() if n in fields]
        self.shapes = [(n, self.params[n[:-6]]) for n in fields if n.endswith("_shape") and n[:-6] in every]
        self.types = [
            (n, self.params[n[: n.rindex("_")]], n[n.rindex("_") + 1 :])
            for n in fields
            if n.endswith(("_dtype", "_device")) and n[: n.rindex("_")] in every
        ]
        self.layouts = [(n, self.params[n[:-7]]) for n in fields if n.endswith("_layout") and n[:-7] in every]
        self.strides = [(n, self.params[n[:-8]]) for n in fields if n.endswith("_strides") and n[:-8] in every]
        # a list of tensors is among the plain values, or PyTorch saves a tensor where sizes and numbers do here:
        # a second backward is its error
        self.holds = "keeps" in spec.tags or any(
            n in every or n == "other" and spec.name in ("mul", "div") for n, _ in self.plain
        )
        self.needs = [(n, n[6:]) for n in fields if n.startswith("needs_") and n[6:] in self.params]
        self.reduce = len(self.inputs) > 1
        self.single = self.inputs[0][0] if len(self.inputs) == 1 and not self.inputs[0][1] else None
        self.view = spec.view
        # some argument has no derivative: an error only where that is asked for
        listed: Any = self.grad
        self.partial = self.joint is None and bool(listed) and any(n not in listed for _, _, n in self.inputs)
        names = [
            n
            for part in (
                self.saved,
                self.plain,
                self.results,
                self.shapes,
                self.types,
                self.layouts,
                self.strides,
                self.needs,
            )
            for n, *_ in part
        ]
        self.context = type("Context", (), {"__slots__": tuple(names)})
        self.node_type = _choose(spec.node) if callable(spec.node) else _node_class(_node_name(spec, ov.schema))
        if refused:
            self.node_type = _refusing(spec, [(self.params[n], n) for n in refused], self.node_type)


def _field(arg: Any, name: str) -> Any:
    """shape or dtype of a tensor, of each tensor of a list, None of None"""
    if isinstance(arg, (list, tuple)):
        return [getattr(t, name) for t in arg]
    return getattr(arg, name, None)


class OpNode(Node):
    """A node made by a declared op."""

    __slots__ = ("rec", "kept", "plain", "input_meta")

    @property
    def rec_nondiff(self) -> tuple[int, ...]:
        return self.rec.spec.nondiff

    def __init__(self, rec: Recorder, args: tuple[Any, ...], edges: list[tuple[Any, int] | None]) -> None:
        Node.__init__(self, edges)
        self.rec = rec
        self.kept: Any = [  # or FREED
            pack(args[i], False) if args[i] is not None and (users is None or self.feeds(users)) else None
            for _, i, users in rec.saved
        ]
        self.plain: Any = [args[i] for _, i in rec.plain]  # or FREED
        for at in rec.lists:
            if self.plain[at] is not None:
                self.plain[at] = [t if t is None else pack(t, False) for t in self.plain[at]]
        if rec.shapes:
            self.plain += [_field(args[i], "shape") for _, i in rec.shapes]
        if rec.types:
            self.plain += [_field(args[i], attribute) for _, i, attribute in rec.types]
        if rec.layouts:
            self.plain += [
                (args[i].shape, TensorBase.stride(args[i]), args[i].storage_offset()) for _, i in rec.layouts
            ]
        if rec.strides:
            self.plain += [TensorBase.stride(args[i]) for _, i in rec.strides]
        self.input_meta = None
        if rec.reduce:
            self.input_meta = [
                None if many or args[i] is None or e is None else (args[i].shape, args[i].dtype)
                for (i, many, _), e in zip(rec.inputs, _groups(rec, args, edges))
            ]

    def feeds(self, users: tuple[int, ...]) -> bool:
        """Whether a gradient is wanted of any of these inputs."""
        for at in users:
            if self.next[at] is not None:
                return True
        return False

    def keep_results(self, out: Tensor | tuple[Tensor, ...]) -> None:
        rec = self.rec
        one = rec.nresults == 1
        for _, i, users in rec.results:
            if users is None or self.feeds(users):
                self.kept.append(pack(out if one else out[i], True))
            else:
                self.kept.append(None)

    def release(self) -> None:
        kept = self.kept
        if kept and kept is not FREED and (kept[0] is not None or any(kept)):
            self.kept = FREED
        if self.rec.holds:
            self.plain = FREED

    def make_context(self, needs: dict[str, bool]) -> Any:
        rec = self.rec
        if self.kept is FREED or self.plain is FREED:
            raise freed_error()
        c = rec.context()
        kept = iter(self.kept)
        for name, _, _ in rec.saved:
            item = next(kept)
            setattr(c, name, None if item is None else unpack(item, self))
        for name, i, _ in rec.results:
            item = next(kept)
            setattr(c, name, None if item is None else unpack(item, self, i))
        plain = iter(self._unpacked() if rec.lists else self.plain)
        for part in (rec.plain, rec.shapes, rec.types, rec.layouts, rec.strides):
            for name, *_ in part:
                setattr(c, name, next(plain))
        for name, arg in rec.needs:
            setattr(c, name, needs.get(arg, False))
        return c

    def _unpacked(self) -> list[Any]:
        """What is no single tensor, with the tensors of lists after their version checks."""
        found = [*self.plain]
        for at in self.rec.lists:
            if found[at] is not None:
                found[at] = [t if t is None else unpack(t, self) for t in found[at]]
        return found

    def apply(self, grads: Any, wanted: Any = None) -> Any:
        """`wanted`: which edges lead to something, where not all do and some argument has no derivative."""
        rec = self.rec
        if rec.joint is None and not rec.grad:
            raise RuntimeError("derivative for aten::%s is not implemented" % rec.spec.name)
        edges = self.next
        if wanted is not None:
            edges = [e if w else None for e, w in zip(edges, wanted)]
        needs, at = {}, 0
        if len(rec.inputs) == 1 and not rec.inputs[0][1]:
            needs[rec.inputs[0][2]] = True
        else:
            lengths = self.list_lengths()
            for n, (_, many, name) in enumerate(rec.inputs):
                size = lengths[n] if many else 1
                needs[name] = any(e is not None for e in edges[at : at + size])
                at += size
        c = self.make_context(needs)
        g = grads[0] if rec.nresults == 1 else grads
        if rec.joint is not None:
            found: Any = rec.joint(c, g)
            if not isinstance(found, dict):
                if not isinstance(found, (tuple, list)):
                    found = (found,)
                found = {name: v for (_, _, name), v in zip(rec.inputs, found)}
        else:
            found = {}
            for _, _, name in rec.inputs:
                if needs[name]:
                    fn = rec.grad.get(name)
                    if fn is None:
                        missing = "%s: %s" % (rec.spec.name, "input" if name == "self" else name)
                        missing = "zeta" if rec.spec.name == "special_zeta" else missing  # as PyTorch has it
                        raise NotImplementedError("the derivative for '%s' is not implemented." % missing)
                    found[name] = fn(c, g)
        result: list[Tensor | None] = []
        metas = self.input_meta
        for n, (_, many, name) in enumerate(rec.inputs):
            v = found.get(name)
            if many:
                size = lengths[n]
                result.extend(v if v is not None else (None,) * size)
                continue
            if v is not None and needs[name] and metas is not None and (wanted := metas[n]) is not None:
                shape, dtype = wanted
                if v.dtype is not dtype and v.is_complex() and not dtype.is_complex:
                    v = v.real
                if v.shape != shape:
                    v = v.sum_to_size(shape)
                if v.dtype is not dtype:
                    v = v.to(dtype)
            result.append(v if needs[name] else None)
        if rec.formal and _C.is_grad_enabled():
            from ._formal import depend_in_form

            return depend_in_form(self, result)
        return result

    def list_lengths(self) -> dict[int, int]:
        """Entries of each input among the edges; only lists have other than one."""
        lists = [n for n, (_, many, _) in enumerate(self.rec.inputs) if many]
        total = len(self.next) - (len(self.rec.inputs) - len(lists))
        if len(lists) == 1:
            return {lists[0]: total}
        return self.metadata["lengths"] if lists else {}

    def __dir__(self) -> list[str]:
        """With what is saved, by PyTorch's names: tools that draw graphs ask for these."""
        from ._saved import names

        return [*super().__dir__(), *names(self)]

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("_saved_", "_raw_saved_")):
            from ._saved import get

            return get(self, name)
        raise AttributeError("'%s' object has no attribute '%s'" % (type(self).__name__, name))


def _groups(rec: Recorder, args: tuple[Any, ...], edges: list[tuple[Any, int] | None]) -> list[tuple[Any, int] | None]:
    """The edges by input; a list counts as one (its first edge)."""
    at, out = 0, []
    for i, many, _ in rec.inputs:
        if many and args[i] is not None:
            size = len(args[i])
        elif not many:
            size = 1
        else:
            size = 0
        out.append(next((e for e in edges[at : at + size] if e is not None), None))
        at += size
    return out


def recorder(ov: Overload) -> Recorder:
    rec = ov.spec.recorders.get(ov.schema)
    if rec is None:
        rec = ov.spec.recorders[ov.schema] = Recorder(ov)
    return rec


def make_edges(rec: Recorder, args: tuple[Any, ...]) -> tuple[list[tuple[Any, Any] | None], dict[int, int] | None]:
    edges: list[tuple[Any, Any] | None] = []
    lengths: dict[int, int] | None = None
    for n, (i, many, _) in enumerate(rec.inputs):
        a = args[i]
        if many:
            lengths = lengths or {}
            lengths[n] = len(a) if a is not None else 0
            edges.extend(edge(t) for t in a or ())
        else:
            edges.append(edge(a))
    return edges, lengths


def record(ov: Overload, args: tuple[Any, ...]) -> Tensor | tuple[Tensor, ...]:
    """Runs an op below autograd and hangs a node on its results."""
    rec = ov.spec.recorders.get(ov.schema)
    if rec is None:
        rec = recorder(ov)
    out = _call_below(ov, args)
    edges, lengths = make_edges(rec, args)
    node = rec.node_type(rec, args, edges)
    if lengths:
        node.metadata_ = {"lengths": lengths}
    nondiff = rec.spec.nondiff
    if rec.single is not None and (source := args[rec.single]) is not None:
        if rec.nresults == 1:
            first = out
        elif out:
            first = out[0]
        else:
            first = None
        if first is not None and first.dtype is not source.dtype:
            # x * 1j of a real x: what comes back is complex, and the gradient of x is its real part
            node.input_meta = [(source.shape, source.dtype)]
    if rec.nresults == 1:
        if out is None or not (out.dtype.is_floating_point or out.dtype.is_complex):
            return out
        for i, _, _ in rec.inputs:
            if out is args[i]:  # the op returned its input: give the result an identity of its own
                out = _alias(out)
        if rec.view:
            set_view_base(out, args[0])
        elif out._base is not None:  # a view of work space, which has no part in the history
            out = out.detach()
        out._raw_grad_fn = node
    elif rec.nresults == -1:
        node.outs = [(t.shape, t.dtype) for t in out]
        for i, t in enumerate(out):
            t._raw_grad_fn, t._output_nr = node, i
            if rec.view:
                set_view_base(t, args[0])
    else:
        if any(t is not None and t._base is not None for t in out):
            out = type(out)([t if t is None or t._base is None else t.detach() for t in out])
        node.outs = [None if t is None else (t.shape, t.dtype) for t in out]
        for i, t in enumerate(out):
            if t is not None and i not in nondiff and (t.dtype.is_floating_point or t.dtype.is_complex):
                t._raw_grad_fn, t._output_nr = node, i
    if rec.results:
        node.keep_results(out)
    return out


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
