"""make_fx: the graph of the ops that a function runs below autograd, for given inputs.

The function gets ProxyTensors: wrappers of the inputs that know the node they come from. A mode sees every op, runs it
on what is wrapped, records it, and wraps the results. So nothing is lost: a number can only be had by an op that the
mode refuses, and memory cannot be had at all.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from typing import Any

import torchlite as torch
from torchlite.utils import _pytree as pytree
from torchlite.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from ... import _C
from ..._core import absent as _absent, dispatch_modes as _modes, wrappers as _wrappers
from ..._core.errors import no_numpy_of_subclass
from .. import _symbolic_trace as _tracing
from .._lazy_graph_module import _make_graph_module
from ..interpreter import Interpreter
from ..proxy import GraphAppendingTracer, Proxy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "DecompositionInterpreter",
    "ProxyTorchDispatchMode",
    "PythonKeyTracer",
    "decompose",
    "dispatch_trace",
    "get_innermost_proxy_mode",
    "get_isolated_graphmodule",
    "get_proxy_mode",
    "get_torch_dispatch_modes",
    "has_proxy_slot",
    "is_sym_node",
    "make_fx",
    "maybe_handle_decomp",
]

aten = torch.ops.aten
_Tag: Any = torch.Tag  # type: ignore[attr-defined]
CONSTANT_NUMEL_LIMIT = 1  # numbers of at most so many elements are known, so that item() may ask for them
CURRENT_DECOMPOSITION_TABLE: dict[Any, Any] = {}
_NUMBERS = frozenset((aten._local_scalar_dense.default, aten.equal.default))


class ProxyTensor(torch.Tensor):
    """A tensor of the traced function. `constant`: its value, where that does not depend on the inputs."""

    _elem: Any
    proxy: Any
    constant: Any

    __torch_function__ = _C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        # without its mode nothing is recorded, and results are ordinary tensors
        plain = pytree.tree_map(lambda a: a._elem if isinstance(a, ProxyTensor) else a, (args, kwargs or {}))
        return func(*plain[0], **plain[1])

    def __repr__(self, *, tensor_contents: Any = None) -> Any:  # type: ignore[override]
        return "ProxyTensor(%r, proxy=%r)" % (self._elem, self.proxy)

    def numpy(self, *, force: bool = False) -> Any:
        raise no_numpy_of_subclass()

    def tolist(self) -> Any:
        return self.item() if self.dim() == 0 else [x.tolist() for x in self]


def _wrapper(elem: Any, proxy: Any, constant: Any = None, storage: Any = None) -> Any:
    t = _wrappers.make(
        ProxyTensor, elem.shape, elem.stride(), elem.storage_offset(), dtype=elem.dtype, device=elem.device,
        requires_grad=elem.requires_grad, storage=storage, storage_size=elem.untyped_storage().nbytes(),
    )  # fmt: skip
    t._elem, t.proxy, t.constant = elem.detach() if elem.requires_grad else elem, proxy, constant
    _describe(proxy, t._elem)
    return t


def _describe(proxy: Any, elem: Any) -> None:
    """Puts the shape and dtype of a node's value into its meta, as fake tensors and as TensorMetadata."""
    from ..passes.shape_prop import _extract_tensor_metadata
    from torchlite._subclasses.fake_tensor import FakeTensor, FakeTensorMode

    if isinstance(elem, FakeTensor):
        proxy.node.meta["val"] = elem
    elif type(elem) is torch.Tensor and elem.layout is torch.strided:
        proxy.node.meta["val"] = FakeTensorMode(static_shapes=True).from_tensor(elem)
    else:
        return
    proxy.node.meta["tensor_meta"] = _extract_tensor_metadata(elem)


def is_sym_node(node: Any) -> bool:
    """Whether a node stands for a number: never, as there are no symbolic sizes."""
    if not hasattr(node, "meta"):
        raise AssertionError("All nodes traced with proxy_tensor should have meta")
    return False


def has_proxy_slot(obj: Any, tracer: Any) -> bool:
    """Whether a tensor comes from a node of this tracer."""
    return isinstance(obj, ProxyTensor) and obj.proxy.tracer is tracer or id(obj) in tracer.written


class PythonKeyTracer(_tracing.Tracer):
    """Makes the nodes of make_fx. Modules are no leaves, and parameters become attributes of the graph's module."""

    def __init__(self) -> None:
        super().__init__(autowrap_modules=())
        self.written: dict[int, tuple[Any, Any]] = {}  # tensors from outside that were written: (tensor, proxy) by id

    def call_module(self, m: Any, forward: Any, args: Any, kwargs: Any) -> Any:
        return forward(*args, **kwargs)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: Any) -> Any:
        return attr_val

    def create_arg(self, a: Any) -> Any:
        if isinstance(a, torch.Tensor):
            if has_proxy_slot(a, self):
                return self.unwrap_proxy(a).node
            if isinstance(a, torch.nn.Parameter):
                return self.create_node("get_attr", self._parameter(a), (), {})
        return super().create_arg(a)

    def _parameter(self, p: Any) -> str:
        for name, own in self.root.named_parameters():
            if own is p:
                return name
        name = self.get_fresh_qualname("_param_constant")
        setattr(self.root, name, p)
        return name

    def unwrap_proxy(self, e: Any) -> Any:
        """The Proxy of a tensor of this trace; anything else is returned as it is."""
        return _proxy_of(self, e)


def _proxy_of(tracer: Any, e: Any) -> Any:
    if not isinstance(e, torch.Tensor) or not has_proxy_slot(e, tracer):
        return e
    return e.proxy if isinstance(e, ProxyTensor) else tracer.written[id(e)][1]


class _GraphAppendingTracerEx(GraphAppendingTracer):
    """Puts the nodes of ops into a graph that is there."""

    def __init__(self, graph: Any) -> None:
        super().__init__(graph)
        self.written: dict[int, tuple[Any, Any]] = {}

    def unwrap_proxy(self, e: Any) -> Any:
        return _proxy_of(self, e)

    def create_arg(self, a: Any) -> Any:
        return super().create_arg(self.unwrap_proxy(a))


@contextlib.contextmanager
def decompose(decomposition_table: Any) -> Iterator[Any]:
    """Inside, traced ops that the table has are traced as what its functions do."""
    global CURRENT_DECOMPOSITION_TABLE
    before = CURRENT_DECOMPOSITION_TABLE
    CURRENT_DECOMPOSITION_TABLE = decomposition_table or {}
    try:
        yield CURRENT_DECOMPOSITION_TABLE
    finally:
        CURRENT_DECOMPOSITION_TABLE = before


def maybe_handle_decomp(proxy_mode: Any, op: Any, args: Any, kwargs: Any) -> Any:
    """What the table's function for an op gives, or NotImplemented."""
    if op not in CURRENT_DECOMPOSITION_TABLE:
        return NotImplemented
    with proxy_mode:
        return CURRENT_DECOMPOSITION_TABLE[op](*args, **kwargs)


class ProxyTorchDispatchMode(TorchDispatchMode):
    """Records each op as a node of its tracer's graph."""

    sees_all = True  # an op that no mode can see is an error

    def __init__(
        self,
        tracer: Any,
        tracing_mode: str = "real",
        pre_dispatch: bool = False,
        _allow_fake_constant: bool = False,
        _error_on_data_dependent_ops: bool = True,
    ) -> None:
        super().__init__()
        self.tracer, self.tracing_mode, self.pre_dispatch = tracer, tracing_mode, pre_dispatch
        self.enable_tracing = True
        self._error_on_data_dependent_ops = _error_on_data_dependent_ops

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not self.enable_tracing:
            return func(*args, **kwargs)
        result = maybe_handle_decomp(self, func, args, kwargs)
        return self._record(func, args, kwargs) if result is NotImplemented else result

    def _record(self, func: Any, args: Any, kwargs: Any) -> Any:
        flat, spec = pytree.tree_flatten((args, kwargs))
        own = [a for a in flat if isinstance(a, ProxyTensor) and a.proxy.tracer is self.tracer]
        ids = set(map(id, own))
        known = self._by_constants(func, flat, spec, own)
        elems = pytree.tree_unflatten([a._elem if id(a) in ids else a for a in flat], spec)
        if func in _NUMBERS or _Tag.data_dependent_output in func.tags:
            return known if known is not None or not own else self._number(func, elems)
        if func is aten.lift_fresh.default:
            func = aten.lift_fresh_copy.default
        proxies = pytree.tree_unflatten(list(map(self.tracer.unwrap_proxy, flat)), spec)
        name = self.tracer.graph._target_to_str(func.overloadpacket.__name__)
        proxy = self.tracer.create_proxy("call_function", func, *proxies, name=name)
        result = func(*elems[0], **elems[1])
        if func is aten.lift_fresh_copy.default and result.numel() <= CONSTANT_NUMEL_LIMIT:
            known = result.clone()
        for a in own:  # what changed its own sizes and strides
            if a._elem.shape != a.shape or a._elem.stride() != a.stride():
                size = a._elem.untyped_storage().nbytes()
                like = _wrappers.make(
                    ProxyTensor, a._elem.shape, a._elem.stride(), dtype=a.dtype, device=a.device, storage_size=size
                )
                with _modes.DisableTorchDispatch():
                    a.set_(like)
        if func._schema.is_mutable:
            for a in own:
                a.constant = None
            if isinstance(args[0], torch.Tensor) and id(args[0]) not in ids and result is args[0]:
                self.tracer.written[id(result)] = result, proxy
        return self._wrap(result, proxy, known, own)

    def _number(self, func: Any, elems: Any) -> Any:
        if self._error_on_data_dependent_ops:
            raise RuntimeError(
                f"It appears that you're trying to get value out of a tracing tensor with {func} - erroring out! "
                "It's likely that this is caused by data-dependent control flow or similar.  "
                "It may be possible to trace this with dynamic shapes; try setting tracing_mode='symbolic' "
                "in your make_fx call."
            )
        return func(*elems[0], **elems[1])

    def _by_constants(self, func: Any, flat: Any, spec: Any, own: Any) -> Any:
        """The result where it depends on known numbers only."""
        tensors = sum(isinstance(a, torch.Tensor) for a in flat)
        if not own or len(own) != tensors or any(a.constant is None for a in own) or func._schema.is_mutable:
            return None
        if _Tag.nondeterministic_seeded in func.tags:
            return None
        values = [a.constant if isinstance(a, ProxyTensor) else a for a in flat]
        args, kwargs = pytree.tree_unflatten(values, spec)
        with _disable_current_modes():
            result = func(*args, **kwargs)
        if isinstance(result, torch.Tensor) and result.numel() > CONSTANT_NUMEL_LIMIT:
            return None
        return result

    def _wrap(self, result: Any, proxy: Any, known: Any, own: Any) -> Any:
        there = {id(a._elem): a for a in own}
        shared = {id(a._elem._storage): a._storage for a in own}

        def wrapped(r: Any, proxy: Any) -> Any:
            if isinstance(r, (tuple, list)):
                return type(r)([wrapped(x, proxy[i]) for i, x in enumerate(r)])
            if not isinstance(r, torch.Tensor):
                return r
            if id(r) in there:
                there[id(r)].proxy = proxy
                return there[id(r)]
            constant = known if isinstance(known, torch.Tensor) else None
            made = _wrapper(r, proxy, constant, shared.get(id(r._storage)))
            return shared.setdefault(id(r._storage), made._storage) and made

        return wrapped(result, proxy)

    @classmethod
    def is_infra_mode(cls) -> bool:
        return True


# ---- the trace -------------------------------------------------------------------------------------------------------
def dispatch_trace(root: Any, tracer: Any, concrete_args: Any = None) -> Any:
    """The GraphModule of a function that wrap_key has made."""
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, torch.nn.Module) else root.__name__
    return _make_graph_module(tracer.root, graph, name)


def wrap_key(f: Any, tensors: Any, tracer: Any, pre_dispatch: bool = False, mode: Any = None) -> Callable[..., Any]:
    """A function of Proxies that calls f with the tensors that they stand for."""
    flat_tensors, spec = pytree.tree_flatten(tensors)

    @functools.wraps(f)
    def wrapped(*proxies: Any, **unused: Any) -> Any:
        flat_proxies = pytree.tree_leaves(proxies)
        if len(flat_proxies) != len(flat_tensors):
            raise AssertionError(f"{len(flat_proxies)} != {len(flat_tensors)}")
        given = [
            _wrapper(t, p) if isinstance(t, torch.Tensor) and isinstance(p, Proxy) else t
            for t, p in zip(flat_tensors, flat_proxies)
        ]
        with contextlib.nullcontext() if mode is None else mode:
            out = f(*pytree.tree_unflatten(given, spec))
        return pytree.tree_map(tracer.unwrap_proxy, out)

    return wrapped


def fake_signature(fn: Any, nargs: int) -> Callable[..., Any]:
    """The function with nargs parameters: arg0, arg1 and so on."""
    names = ", ".join("arg%d" % i for i in range(nargs))
    return eval("lambda %s: fn(%s)" % (names, names), {"fn": fn})


@contextlib.contextmanager
def _fakes(args: Any, tracing_mode: str, allow_non_fake: bool) -> Iterator[Any]:
    """The inputs as the trace gets them."""
    if tracing_mode == "real":
        yield args
        return
    from torchlite._subclasses.fake_tensor import FakeTensor, FakeTensorMode

    tensors = [t for t in pytree.tree_leaves(args) if isinstance(t, torch.Tensor)]
    mode = next((t.fake_mode for t in tensors if isinstance(t, FakeTensor)), None)
    mode = mode or FakeTensorMode(allow_non_fake_inputs=allow_non_fake, static_shapes=True)
    given = pytree.tree_map(lambda t: mode.from_tensor(t) if isinstance(t, torch.Tensor) else t, args)
    with mode:
        yield given


def make_fx(
    f: Callable[..., Any],
    decomposition_table: Any = None,
    tracing_mode: str = "real",
    _allow_non_fake_inputs: bool = False,
    *,
    pre_dispatch: bool = False,
    record_module_stack: bool = False,
    _allow_fake_constant: bool = False,
    _error_on_data_dependent_ops: bool = True,
    **_: Any,
) -> Callable[..., Any]:
    """A function that traces f for its arguments: a GraphModule of the ops that f runs, below autograd.

        gm = make_fx(lambda x: x.sin() + 1)(torch.randn(3))
        print(gm.code)

    decomposition_table: functions by operator, whose ops stand in place of that operator. tracing_mode: "real" runs
    the ops, "fake" only asks for shapes. A number that depends on the inputs cannot be taken out of a tensor."""
    if tracing_mode == "symbolic" or pre_dispatch:
        what = "operators above autograd (pre_dispatch=True)" if pre_dispatch else "symbolic sizes"
        raise NotImplementedError(f"make_fx: torchlite has no {what}; use tracing_mode='real' or 'fake'")
    if tracing_mode not in ("real", "fake"):
        raise AssertionError(f"tracing_mode must be real/fake/symbolic, got {tracing_mode}")

    @functools.wraps(f)
    def wrapped(*args: Any) -> Any:
        blanks = pytree.tree_map(lambda _: _tracing.PH, args)
        code = getattr(inspect.unwrap(f), "__code__", None)
        plain = code is not None and not code.co_flags & inspect.CO_VARARGS
        function = f if plain else fake_signature(f, len(args))
        tracer = PythonKeyTracer()
        mode = ProxyTorchDispatchMode(tracer, tracing_mode, _error_on_data_dependent_ops=_error_on_data_dependent_ops)
        table = dict(decomposition_table or {})
        with decompose(table), _fakes(args, tracing_mode, _allow_non_fake_inputs) as given:
            return dispatch_trace(wrap_key(function, given, tracer, mode=mode), tracer, tuple(blanks))

    return wrapped


def get_torch_dispatch_modes() -> list[Any]:
    """The modes that are on, the innermost last."""
    return list(_modes.stack)


def get_innermost_proxy_mode() -> Any:
    """The mode of the innermost make_fx that runs, or None."""
    return next((m for m in reversed(_modes.stack) if isinstance(m, ProxyTorchDispatchMode)), None)


get_proxy_mode = get_innermost_proxy_mode


@contextlib.contextmanager
def disable_proxy_modes_tracing() -> Iterator[Any]:
    """Inside, the innermost make_fx records nothing."""
    mode = get_innermost_proxy_mode()
    at = _modes.stack.index(mode) if mode is not None else 0
    if mode is not None:
        _modes.stack.remove(mode)
    _modes.refresh()
    try:
        yield mode
    finally:
        if mode is not None:
            _modes.stack.insert(at, mode)
        _modes.refresh()


def get_isolated_graphmodule(
    func: Any, args: Any, kwargs: Any, tracing_mode: str = "real", decomposition_table: Any = None
) -> Any:
    """The GraphModule of func(*args, **kwargs), of which a running make_fx sees nothing. It takes the leaves."""
    flat, spec = pytree.tree_flatten((args, kwargs))

    def wrapped(flat_args: Any) -> Any:
        given, named = pytree.tree_unflatten(flat_args, spec)
        return func(*given, **named)

    with disable_proxy_modes_tracing():
        return make_fx(wrapped, decomposition_table=decomposition_table, tracing_mode=tracing_mode)(flat)


class DecompositionInterpreter(Interpreter):
    """Runs a graph of operators and puts what it does into another graph, by a table of decompositions."""

    def __init__(self, module: Any, new_graph: Any, decomposition_table: Any = None, **kwargs: Any) -> None:
        super().__init__(module, **kwargs)
        self.new_graph, self.decomposition_table = new_graph, dict(decomposition_table or {})
        self.tracer = _GraphAppendingTracerEx(new_graph)
        self.mode = ProxyTorchDispatchMode(self.tracer)

    def _entered(self, node: Any, value: Any) -> Any:
        return _wrapper(value, Proxy(node, self.tracer)) if isinstance(value, torch.Tensor) else value

    def placeholder(self, target: Any, args: Any, kwargs: Any) -> Any:
        return self._entered(self.new_graph.placeholder(target), super().placeholder(target, args, kwargs))

    def get_attr(self, target: Any, args: Any, kwargs: Any) -> Any:
        return self._entered(self.new_graph.get_attr(target), super().get_attr(target, args, kwargs))

    def output(self, target: Any, args: Any, kwargs: Any) -> Any:
        out = super().output(target, args, kwargs)
        self.new_graph.output(self.tracer.create_arg(pytree.tree_map(self.tracer.unwrap_proxy, out)))
        return pytree.tree_map(lambda t: t._elem if isinstance(t, ProxyTensor) else t, out)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        with decompose(self.decomposition_table), self.mode:
            return super().run(*args, **kwargs)


__getattr__ = _absent.of(__name__)
