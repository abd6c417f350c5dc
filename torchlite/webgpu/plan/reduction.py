"""The kernel of the reductions: any dims of any strides, with the element-wise expression that makes their input, where
that has not run, inside it.

A pending tensor is reduced from its expression once. The second time it is computed and kept, so that a tensor which
is reduced many times is not computed as often.
"""

from __future__ import annotations


import weakref
from typing import Any

from ..lazy.graph import Plans, compact
from ... import _C
from ..lazy import stream
from ..lazy.expression import MAX_BUFFERS, Leaf, Node, Number, coalesce, dense_strides, expression
from ..lazy.stream import float_word, fresh, launch, product, ready

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..._types import Buffer, Tensor


geometry = _C.geometry
scalar_words = stream.scalar_words
STATES = {
    "argmax": 2,
    "argmin": 2,
    "var": 3,
    "std": 3,
    "logsumexp": 2,
}  # buffers that parts of long rows need; others 1
_KEPT = 4096

_of_tensor = {}  # all that a reduction of a tensor with some geometry needs, by geometry
_of_graph = {}  # the same by expression
_reduced = weakref.WeakSet()  # buffers whose expression a reduction has read already


def reduce(t: Any, dims: Any, keepdim: Any, spec: tuple[Any, ...], correction: Any = None) -> list[Tensor]:
    """Tensors with reductions of t over `dims`. spec: ((op, type its operand is brought to or None, result type), ...,
    what happens to elements first: None, "abs", "nan_to_zero" or an exponent)."""
    buffer, shape, strides, offset, dtype, dense, numel = geometry(t)
    node = buffer.pending
    if node is not None:
        if dense and not offset and node.dtype == dtype.name and not node.products:
            made = _of_node(node, buffer, shape, dims, numel, spec, correction)
            if made is not None:
                return _launch(*made, spec, _out_shape(shape, dims, keepdim))
        ready(buffer)
    key = shape, strides, offset, dtype, dims, keepdim, spec, correction
    known = _of_tensor.get(key)
    if known is None:
        if len(_of_tensor) >= _KEPT:
            _of_tensor.clear()
        graph = _graph(Leaf(buffer, dtype.name, strides, offset), shape, spec)
        number, sizes, rest = _plan(graph, shape, dims, spec, correction)
        known = _of_tensor[key] = number, sizes + graph[2] + rest, _out_shape(shape, dims, keepdim)
    return _launch(known[0], known[1], [buffer], spec, known[2])


def _of_node(
    node: Any, buffer: Any, shape: Any, dims: Any, numel: int, spec: Any, correction: Any
) -> tuple[Any, Any, Any] | None:
    """(plan, words, handles) for a reduction of an expression; None for one that does not go into this kernel."""
    where = node.shape
    if where != shape:
        count = 1
        for m in where:
            count *= m
        if count != numel or len(dims) != len(shape):
            return None
        dims = tuple(range(len(where)))
    graph = _graph(node, where, spec, buffer)
    if graph is None:
        return None
    names, inputs, scalars, _ = graph
    key = (tuple(names), tuple([(n.dtype, n.strides, n.offset) for n in inputs]), where, dims, spec, correction)
    known = _of_graph.get(key)
    if known is None:
        if len(_of_graph) >= _KEPT:
            _of_graph.clear()
        known = _of_graph[key] = _plan(graph, where, dims, spec, correction)
    if not known:
        return None
    return known[0], known[1] + scalars + known[2], [n.buffer for n in inputs]


def _launch(
    number: int, words: list[int], buffers: list[Buffer], spec: tuple[Any, ...], shape: tuple[int, ...]
) -> list[Tensor]:
    if len(spec) == 2 and spec[0][2].is_floating_point and 0 < len(buffers) <= 5 and len(words) <= 64:
        return [
            product(number, tuple(buffers), tuple(words), shape, spec[0][2])
        ]  # lazy: an epilogue may follow in its kernel
    results, handles = [], [ready(b) for b in buffers]
    for out in spec[:-1]:
        t, handle = fresh(shape, out[2])
        if out[0] in ("argmax", "argmin"):
            geometry(t)[0].bounds = 0, words[1] - 1
        handles.append(handle)
        results.append(t)
    launch(number, handles, words)
    return results


def _out_shape(shape: tuple[int, ...], dims: tuple[int, ...], keepdim: bool) -> Any:
    if keepdim:
        return tuple([1 if d in dims else m for d, m in enumerate(shape)])
    return tuple([m for d, m in enumerate(shape) if d not in dims])


def _first(x: Any, pre: str | None, shape: tuple[int, ...]) -> Leaf | Node:
    """The operand of the reduction, after what happens to elements first."""
    if pre is None:
        return x
    name = x.dtype
    if pre == "abs":
        return expression("abs", [x], name, None, shape)
    if pre == "nan_to_zero":
        return expression(
            "where", [expression("isnan", [x], "bool", name, shape), Number(0.0, "float32"), x], name, None, shape
        )
    size = expression(
        "abs", [x if name == "float32" else expression("cast", [x], "float32", None, shape)], "float32", None, shape
    )
    return expression("pow", [size, Number(pre, "float32")], "float32", None, shape)


def _graph(x: Leaf | Node, shape: tuple[int, ...], spec: tuple[Any, ...], buffer: Any = None) -> Any:
    """The nodes in order by name, the inputs, words of the scalars, and where each reduction's operand is;
    None where a tensor that somebody holds would be computed once more."""
    root = x
    x = _first(x, spec[-1], shape)
    place, names, inputs, input_of, scalars, held = {}, [], [], {}, [], []

    def visit(n: Any) -> Any:
        at = place.get(id(n))
        if at is not None:
            return at
        kind = type(n)
        if kind is Node:
            name = (n.op, n.dtype, n.compute, *[visit(a) for a in n.args])
            if n is not root and n.holder is not None:
                held.append(n.holder)
        elif kind is Leaf:
            key = id(n.buffer), n.dtype, n.strides, n.offset
            name = input_of.get(key)
            if name is None:
                name = input_of[key] = len(inputs)
                inputs.append(n)
        elif kind is Number:
            name = n.dtype
            scalars.extend(scalar_words(n.value, name))
        else:
            name = n.dim if n.dim < 0 else None
        at = place[id(n)] = len(names)
        names.append(name)
        return at

    roots = [
        x if out[1] is None or out[1] == x.dtype else expression("cast", [x], out[1], None, shape) for out in spec[:-1]
    ]
    at = [visit(n) for n in roots]
    visit = None  # a function that calls itself is a cycle, which would keep the buffers
    if buffer is not None:
        if buffer in _reduced or any([b in _reduced for b in held]):
            return None
        _reduced.add(buffer)
        _reduced.update(held)
    return names, inputs, scalars, at


def _plan(graph: Any, shape: tuple[int, ...], dims: tuple[int, ...], spec: tuple[Any, ...], correction: Any) -> Any:
    """(plan, words before the scalars, words after them); False for what this kernel cannot do."""
    names, inputs, _, at = graph
    if None in names or -1 in names and len(dims) != len(shape):
        return False
    if len(inputs) + sum(STATES.get(o[0], 1) for o in spec[:-1]) > MAX_BUFFERS:
        return False
    dense = dense_strides(shape)
    strides = [dense if n.strides is None else n.strides for n in inputs]
    kept = [d for d in range(len(shape)) if d not in dims]
    k_sizes, k_dims = coalesce([shape[d] for d in kept], [[s[d] for d in kept] for s in strides])
    r_sizes, r_dims = coalesce([shape[d] for d in dims], [[s[d] for d in dims] for s in strides])
    k_dims, r_dims = [kept[d] for d in k_dims], [dims[d] for d in r_dims]
    rows = elements = 1
    for m in k_sizes:
        rows *= m
    for m in r_sizes:
        elements *= m
    k_sizes, r_sizes = k_sizes if k_dims else [], r_sizes if r_dims else []
    words = [rows, elements, *k_sizes, *r_sizes]
    for n, st in zip(inputs, strides):
        words.append(n.offset)
        words.extend([st[d] for d in k_dims])
        words.extend([st[d] for d in r_dims])
    rest = [0] * (len(spec) - 1)
    if any([o[0] in ("var", "std") for o in spec[:-1]]):
        rest.append(float_word(correction))
    outputs = tuple([(o[0], k, o[2].name) for o, k in zip(spec, at)])
    key = (
        len(k_sizes),
        len(r_sizes),
        tuple([n.dtype for n in inputs]),
        tuple(names),
        outputs,
        _inner(strides, k_sizes, k_dims, r_dims),
    )
    return _plans[key], words, rest


def _inner(strides: list[tuple[int, ...]], sizes: list[int], kept: list[int], reduced: list[int]) -> bool:
    """Whether neighbours in memory are reduced together rather than side by side,
    as far as that is worth another kernel."""
    if not (strides and kept and reduced):
        return bool(reduced)
    near = [abs(s) or 1 << 62 for s in strides[0]]
    side = min(range(len(kept)), key=lambda i: near[kept[i]])
    return sizes[side] < 16 or min([near[d] for d in reduced]) <= near[kept[side]]


@Plans
def _plans(kept: int, reduced: int, inputs: Any, names: Any, outputs: Any, inner: bool) -> str:
    """The kernel's parameters."""
    nodes: list[dict[str, Any]] = []
    scalar = 0
    for name in names:
        if type(name) is int:
            nodes.append({"in": name} if name >= 0 else {"coord": name})
        elif type(name) is str:
            nodes.append({"scalar": scalar, "dtype": name})
            scalar += 1
        else:
            nodes.append(
                {
                    "op": name[0],
                    "args": list(name[3:]),
                    "dtype": name[1],
                    **({"compute": name[2]} if name[2] is not None else {}),
                }
            )
    return compact(
        "reduce",
        kept=kept,
        reduced=reduced,
        inputs=[{"dtype": d} for d in inputs],
        nodes=nodes,
        outputs=[{"op": op, "node": node, "dtype": dtype} for op, node, dtype in outputs],
        inner=inner,
    )
