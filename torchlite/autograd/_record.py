"""Recording: what an overload's nodes keep for the backward, and the nodes of declared ops."""

from __future__ import annotations


from .. import _C
from ..ops import _schema
from ..ops._declare import refuse_gradient
from ._node import FREED, Node, edge, freed_error, pack, reduced, saved_hooks, set_view_base, unpack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any
    from .._types import Overload, Tensor

_call_below, _alias, TensorBase = _C.call_below_autograd, _C.alias, _C.TensorBase
_init_node, _kept = _C.NodeBase.__init__, _C.kept


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


def _node_class(name: Any) -> type:
    if not isinstance(name, str):
        return type(name.name, (OpsNode,), {"__slots__": (), "__module__": "torch.autograd", "trees": name.trees})
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
    classes: dict[Any, type] = {}

    def class_of(args: tuple[Any, ...]) -> type:
        name = name_of(args)
        if name not in classes:
            classes[name] = _node_class(name)
        return classes[name]

    def make(rec: Recorder, args: tuple[Any, ...], edges: list[tuple[Any, int] | None]) -> Any:
        return class_of(args)(rec, args, edges)

    make.class_of = class_of  # type: ignore[attr-defined]
    return make


def _refusing(spec: Any, arguments: list[tuple[int, str]], make: Callable[..., Any]) -> Callable[..., Any]:
    """For ops with arguments whose `grad` is None: these must not require a gradient."""

    def checked(rec: Recorder, args: tuple[Any, ...], edges: list[tuple[Any, int] | None]) -> Any:
        name = spec.called(args) if spec.called else spec.name
        refuse_gradient(name, **{n: args[i] for i, n in arguments})
        return make(rec, args, edges)

    return checked


# Ops whose derivative PyTorch refuses by another error than that of an op without one: the name in it.
_REFUSED = {"geqrf": "geqrf", "_unique": "_unique", "_unique2": "_unique2", "_unique_consecutive": "unique_consecutive"}


_EVERY = 255  # of the inputs


class Recorder:
    """Plan of an overload: where its tensors are, which values its gradient needs."""

    __slots__ = (
        "spec",
        "inputs",
        "many",
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
        "at",
        "extra",
        "plain_names",
        "kept_names",
        "outputs",
        "plan",
        "quick",
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
        grad = spec.grad
        if isinstance(grad, dict) and all(name in grad for _, _, name in self.inputs):
            order = list(grad)  # of PyTorch's edges, and so of the hooks of leaves: linear's bias comes first
            self.inputs.sort(key=lambda part: order.index(part[2]))
        self.many = [n for n, (_, many, _) in enumerate(self.inputs) if many]  # the inputs that are lists
        self.index = {name: n for n, (_, _, name) in enumerate(self.inputs)}
        self.formal = [self.index[name] for name in spec.formal.split()]
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
        self.at = None if self.many else tuple(i for i, _, _ in self.inputs)
        parts = (self.plain, self.shapes, self.types, self.layouts, self.strides)
        self.extra = bool(self.lists or any(parts[1:]))
        self.plain_names = [name for part in parts for name, *_ in part]
        self.kept_names = [name for part in (self.saved, self.results) for name, *_ in part]
        self.outputs = [None] * len(self.saved) + [i for _, i, _ in self.results]
        # the gradients by input, where each has one and nothing else is to be found out
        alone = self.joint is None and self.at is not None and not (self.needs or self.formal or self.partial)
        self.context = type("Context", (), {"__slots__": tuple(names)})
        self.plan = None
        if alone and found and not refused and not self.lists:  # for native/src/core/engine.c
            each = tuple([found[n] for _, _, n in self.inputs])
            kept = tuple(self.kept_names), tuple(self.outputs)
            self.plan = (each, self.nresults == 1, self.context, *kept, tuple(self.plain_names), bool(self.holds))
        self.node_type = _choose(spec.node) if callable(spec.node) else _node_class(_node_name(spec, ov.schema))
        if refused:
            self.node_type = _refusing(spec, [(self.params[n], n) for n in refused], self.node_type)
        self.quick = self._quick()

    def _quick(self) -> tuple[Any, ...] | None:
        """The plan of native/src/core/record.c: where each input is one tensor and there is one result."""
        inputs = self.at or ()
        if not inputs or self.nresults != 1 or self.lists or self.layouts or len(inputs) > 7 or len(self.results) > 1:
            return None
        of = self.node_type if isinstance(self.node_type, type) else getattr(self.node_type, "class_of", None)
        if of is None:  # arguments are checked first
            return None
        users = [_EVERY if at is None else sum(1 << i for i in at) for _, _, at in (*self.saved, *self.results)]
        saved = bytes(n for (_, i, _), bits in zip(self.saved, users) for n in (i, bits))
        more = [(i, "shape") for _, i in self.shapes] + [(i, attribute) for _, i, attribute in self.types]
        more += [(i, TensorBase.stride) for _, i in self.strides]
        parts = bytes(inputs), saved, bytes(users[len(self.saved) :]), bytes(i for _, i in self.plain)
        return (self, of, *parts, tuple(more), bool(self.view))


def _field(arg: Any, name: str) -> Any:
    """shape or dtype of a tensor, of each tensor of a list, None of None"""
    if isinstance(arg, (list, tuple)):
        return [getattr(t, name) for t in arg]
    return getattr(arg, name, None)


class OpNode(Node, _C.OpNodeBase):
    """A node made by a declared op: `rec`, and what it keeps, `kept`, `plain` and `input_meta`."""

    __slots__ = ("__weakref__",)

    @property
    def rec_nondiff(self) -> tuple[int, ...]:
        return self.rec.spec.nondiff

    def __init__(self, rec: Recorder, args: tuple[Any, ...], edges: list[tuple[Any, int] | None]) -> None:
        _init_node(self, edges)
        self.rec = rec
        self.kept: Any = []  # or FREED
        for _, i, users in rec.saved:
            t = args[i]
            if t is None or (users is not None and not self.feeds(users)):
                self.kept.append(None)
            else:
                self.kept.append(pack(t))
        self.plain: Any = [args[i] for _, i in rec.plain]  # or FREED
        if rec.extra:
            self._keep_more(rec, args)
        if not rec.reduce:
            self.input_meta = None
        else:
            self.input_meta = [
                None if many or args[i] is None or e is None else (args[i].shape, args[i].dtype)
                for (i, many, _), e in zip(rec.inputs, _groups(rec, args, edges))
            ]

    def _keep_more(self, rec: Recorder, args: tuple[Any, ...]) -> None:
        """What is neither a tensor nor a plain argument."""
        for at in rec.lists:
            if self.plain[at] is not None:
                self.plain[at] = [t if t is None else pack(t) for t in self.plain[at]]
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
                self.kept.append(pack(out if one else out[i], (self, i)))
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
        if self.kept:
            below = not _C.is_grad_enabled()  # then a result needs no history either
            for name, output, item in zip(rec.kept_names, rec.outputs, self.kept):
                value = _kept(item) if output is None or below else None
                if value is None and item is not None:
                    value = unpack(item, self, output)
                setattr(c, name, value)
        for name, value in zip(rec.plain_names, self._unpacked() if rec.lists else self.plain):
            setattr(c, name, value)
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
        if rec.plan is not None and self.kept is not FREED and self.plain is not FREED:
            return _C.apply_node(self, grads)
        if rec.joint is None and not rec.grad:
            name = rec.spec.name
            if name in _REFUSED:
                raise NotImplementedError("the derivative for '%s' is not implemented." % _REFUSED[name])
            raise RuntimeError("derivative for aten::%s is not implemented" % name)
        edges = self.next
        if wanted is not None:
            edges = [e if w else None for e, w in zip(edges, wanted)]
        needs, at = {}, 0
        if len(rec.inputs) == 1 and not rec.inputs[0][1]:
            needs[rec.inputs[0][2]] = True
        else:
            lengths = self.list_lengths()
            for n, (_, many, name) in enumerate(rec.inputs):
                if many:
                    needs[name] = any([e is not None for e in edges[at : at + lengths[n]]])
                    at += lengths[n]
                else:
                    needs[name] = edges[at] is not None
                    at += 1
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
                v = reduced(v, *wanted)
            result.append(v if needs[name] else None)
        if rec.formal and _C.is_grad_enabled():
            from ._formal import depend_in_form

            return depend_in_form(self, result)
        return result

    def list_lengths(self) -> dict[int, int]:
        """Entries of each input among the edges; only lists have other than one."""
        lists = self.rec.many
        if not lists:
            return {}
        if len(lists) > 1:
            return self.metadata["lengths"]
        return {lists[0]: len(self.next) - (len(self.rec.inputs) - 1)}

    def __dir__(self) -> list[str]:
        """With what is saved, by PyTorch's names: tools that draw graphs ask for these."""
        from ._saved import names

        return [*super().__dir__(), *names(self)]

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("_saved_", "_raw_saved_")):
            from ._saved import get

            return get(self, name)
        raise AttributeError("'%s' object has no attribute '%s'" % (type(self).__name__, name))


class OpsNode(OpNode):
    """A node for which PyTorch has several."""

    __slots__ = ("parts",)
    trees: tuple[Any, ...] = ()

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        if not hasattr(self, "parts"):
            from ._parts import edge

            edges = self.edges()
            self.parts = tuple(edge(self, tree, edges) for tree in self.trees)
        return self.parts

    def register_hook(self, fn: Callable[..., Any]) -> Any:
        from ._parts import hooked

        return hooked(self, ("", *self.trees), fn)


def _groups(rec: Recorder, args: tuple[Any, ...], edges: list[tuple[Any, int] | None]) -> list[tuple[Any, int] | None]:
    """The edges by input; a list counts as one (its first edge)."""
    if not rec.many:
        return edges
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
    """Runs an op below autograd and hangs a node on its results: the first call of an overload, and all of those that
    native/src/core/record.c has no plan for."""
    ov.recording = recorder(ov).quick
    return attach(ov, args, _call_below(ov, args))


def attach(ov: Overload, args: tuple[Any, ...], out: Any) -> Tensor | tuple[Tensor, ...]:
    """Hangs a node on the results of an op that ran."""
    rec = recorder(ov)
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
            if out is None or not rec.spec.grad or rec.spec.name == "_to_dtype":
                return out
            # a result of integers ends the history: said here, not by a gradient that is missing later
            raise RuntimeError(f"Autograd not support dtype: {out.dtype._scalar_type}")
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


_C.record_helpers(saved_hooks, attach)
