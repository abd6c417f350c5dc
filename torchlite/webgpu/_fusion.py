"""Element-wise expressions, put off until a result is needed and then run as one kernel.

A tensor that an element-wise op makes owns a buffer without memory and a Node that says how its elements come about. A
consumer of the same kind takes the node in; anything else (`_stream.ready`) runs it. Nodes read buffers, so a write to a
buffer first runs what was put off and reads it (`before_write`). Interior results that somebody still holds are written by
the same kernel.
"""

import json
import weakref

from .. import _C
from . import _stream
from ._stream import Buffer, launch, ready

MAX_LEAVES = 5          # storage buffers of a kernel are few (8 in every browser), and outputs need some
MAX_NODES = 24
MAX_BUFFERS = 8

geometry = _C.geometry
_device_tensor = _C.device_tensor
_ref = weakref.ref
_tick, _void = _stream.tick, _stream.void
live = _stream.live     # id(node) -> weakref of the buffer that waits for it


class Node:
    """op over args: nodes, leaves (buffer, dtype, strides or None, offset) or numbers (value, dtype)."""

    __slots__ = ("op", "args", "dtype", "compute", "shape", "count", "leaves")

    def __init__(self, op, args, dtype, compute, shape, count, leaves):
        self.op, self.args, self.dtype, self.compute, self.shape, self.count, self.leaves = op, args, dtype, compute, shape, count, leaves


class Leaf:
    __slots__ = ("buffer", "dtype", "strides", "offset")

    def __init__(self, buffer, dtype, strides, offset):
        self.buffer, self.dtype, self.strides, self.offset = buffer, dtype, strides, offset


class Number:
    __slots__ = ("value", "dtype")

    def __init__(self, value, dtype):
        self.value, self.dtype = value, dtype


class Coord:
    """Coordinate along a dim of the result; -1: the index in row-major order."""

    __slots__ = ("dim",)
    dtype = "int32"

    def __init__(self, dim):
        self.dim = dim


def dense_strides(shape):
    out, step = [], 1
    for n in reversed(shape):
        out.append(step)
        step *= n
    return tuple(reversed(out))


def operand(t, shape):
    """A tensor as an argument of an expression over `shape`: its node where it was put off, else a leaf."""
    buffer, own, strides, offset, dtype, contiguous, numel = geometry(t)
    name = dtype.name
    if type(buffer) is not Buffer:
        return on_cpu(t)
    if contiguous and own == shape:
        node = buffer.pending
        if node is not None:
            if offset == 0 and node.dtype == name and node.shape == shape:
                return node
            ready(buffer)
        return Leaf(buffer, name, None, offset)
    if buffer.pending is not None:
        ready(buffer)
    lead = len(shape) - len(own)
    strides = (0,) * lead + tuple(0 if n == 1 and m != 1 else s for n, m, s in zip(own, shape[lead:], strides))
    return Leaf(buffer, name, strides, offset)


def leaf_key(x):
    """What distinguishes a kernel's inputs: several views of a buffer are as many inputs."""
    return id(x.buffer) if x.strides is None and not x.offset else (id(x.buffer), x.strides, x.offset)


def reads(node, keys):
    """Whether a node reads one of the buffers with these ids."""
    for k in node.leaves:
        if (k if type(k) is int else k[0]) in keys:
            return True
    return False


def expression(op, args, dtype, compute, shape):
    """A node over operands; those that would make it too large are run first."""
    count, leaves = 1, {}
    for a in args:
        kind = type(a)
        if kind is Leaf:
            leaves[leaf_key(a)] = a.buffer
        elif kind is Node:
            count += a.count
            leaves.update(a.leaves)
    if count > MAX_NODES or len(leaves) > MAX_LEAVES:
        args = [_run_now(a) if type(a) is Node else a for a in args]
        count, leaves = 1, {leaf_key(a): a.buffer for a in args if type(a) is Leaf}
    return Node(op, args, dtype, compute, shape, count, leaves)


def _run_now(node):
    """A leaf with the node's values."""
    ref = live.get(id(node))
    buffer = ref() if ref is not None else None
    if buffer is None:
        n = 1
        for m in node.shape:
            n *= m
        buffer = Buffer(n * _stream.CODES[node.dtype])
        buffer.pending = node
    ready(buffer)
    return Leaf(buffer, node.dtype, None, 0)


def result(node, dtype):
    """A tensor whose elements the node gives, later."""
    n = 1
    for m in node.shape:
        n *= m
    nbytes = n * dtype.itemsize
    buffer = Buffer(nbytes)
    if n:
        buffer.pending = node
        live[id(node)] = _ref(buffer)
    return _device_tensor(1, buffer, nbytes, dtype, node.shape)


def materialize(buffer):
    """Runs what was put off for a buffer."""
    node = buffer.pending
    buffer.pending = None
    live.pop(id(node), None)
    try:
        run(node, [(node, buffer, None, 0)])
    except BaseException:
        buffer.pending = node
        live[id(node)] = _ref(buffer)
        raise


def before_write(buffer):
    """Runs everything that was put off and reads the buffer, which is about to change; and the buffer's own values."""
    if buffer.pending is not None or _void and buffer.handle:
        ready(buffer)
    buffer.serial, buffer.bounds = _tick[0], None
    if live:
        key = (id(buffer),)
        for ref in list(live.values()):
            other = ref()
            if other is not None and other.pending is not None and reads(other.pending, key):
                ready(other)


def run_all():
    """Runs everything that was put off and is still wanted."""
    for ref in list(live.values()):
        other = ref()
        if other is not None:
            ready(other)


_plans = {}
_programs = {}


def run(root, outputs):
    """One kernel for the expression `root`; outputs: (node, buffer, strides or None, offset), the first for root itself."""
    order, place = [], {}

    def visit(n):
        if id(n) in place:
            return
        if type(n) is Node:
            for a in n.args:
                visit(a)
        place[id(n)] = len(order)
        order.append(n)

    visit(root)
    inputs, input_of = [], {}
    for n in order:
        if type(n) is Leaf:
            key = (id(n.buffer), n.dtype, n.strides, n.offset)
            if key not in input_of:
                input_of[key] = len(inputs)
                inputs.append(n)
    room = MAX_BUFFERS - len(inputs) - len(outputs)
    for n in order:
        if room > 0 and type(n) is Node and n is not root:
            ref = live.get(id(n))
            held = ref() if ref is not None else None
            if held is not None and held.pending is n:
                outputs.append((n, held, None, 0))
                held.pending = None
                live.pop(id(n), None)
                room -= 1
    shape = root.shape
    numel = 1
    for m in shape:
        numel *= m
    # layouts: "c" runs over the elements in order, four at a time where all do; "s" has a stride for each dim
    coords = any(type(n) is Coord and n.dim >= 0 for n in order)
    dense = dense_strides(shape)
    in_strides = [x.strides for x in inputs]
    out_strides = [dense if o[2] is None and _needs_strides(o, numel) else o[2] for o in outputs]
    if not coords and not any(in_strides) and not any(out_strides):
        # groups of four begin at multiples of four
        in_strides = [dense if st is None and x.offset & 3 else st for x, st in zip(inputs, in_strides)]
    strided = [st for st in (*in_strides, *out_strides) if st is not None]
    if coords:
        sizes, keep = list(shape), list(range(len(shape)))
    elif strided:
        sizes, keep = collapse(shape, strided)
    else:
        sizes, keep = [], []
    layouts = ["c" if st is None else "s" for st in in_strides]
    out_layouts = ["c" if st is None else "s" for st in out_strides]
    values = [numel, *sizes]
    for items, places in ((inputs, in_strides), ([o[3] for o in outputs], out_strides)):
        for x, st in zip(items, places):
            values.append(x if type(x) is int else x.offset)
            if st is not None:
                values.extend([st[d] for d in keep] if keep else [0] * len(sizes))
    names, scalars = [], 0
    for n in order:
        kind = type(n)
        if kind is Node:
            names.append((n.op, n.dtype, n.compute, *[place[id(a)] for a in n.args]))
        elif kind is Leaf:
            names.append(input_of[id(n.buffer), n.dtype, n.strides, n.offset])
        elif kind is Number:
            names.append(n.dtype)
            values.extend(_stream.scalar_words(n.value, n.dtype))
            scalars += 1
        else:
            names.append(("coord", n.dim))
    written = {id(o[1]): k for k, o in enumerate(outputs)}
    alias = []
    for x, k in zip(inputs, layouts):
        j = written.get(id(x.buffer)) if x.buffer.handle else None
        same = j is not None and outputs[j][0].dtype == x.dtype and outputs[j][2] == x.strides and outputs[j][3] == x.offset \
            and sum(1 for y in inputs if y.buffer is x.buffer) == 1
        alias.append(j if same else None)
    key = (len(sizes), tuple(names), tuple((x.dtype, k, a) for x, k, a in zip(inputs, layouts, alias)),
           tuple((place[id(o[0])], o[0].dtype, k) for o, k in zip(outputs, out_layouts)))
    number = _plans.get(key)
    if number is None:
        number = _plans[key] = _stream.plan("fused:" + _describe(key, order, place))
    handles = [ready(x.buffer) for x, a in zip(inputs, alias) if a is None]
    for o in outputs:
        handles.append(o[1].handle or ready(o[1]))
    launch(number, handles, values)


def _describe(key, order, place):
    """The kernel's parameters as JSON."""
    ndim, names, inputs, outputs = key
    nodes, scalar = [], 0
    for n, name in zip(order, names):
        kind = type(n)
        if kind is Leaf:
            nodes.append({"in": name})
        elif kind is Number:
            nodes.append({"scalar": scalar, "dtype": name})
            scalar += 1
        elif kind is Coord:
            nodes.append({"coord": n.dim})
        else:
            node = {"op": name[0], "args": list(name[3:]), "dtype": name[1]}
            if name[2] is not None:
                node["compute"] = name[2]
            nodes.append(node)
    ins = []
    for dtype, layout, alias in inputs:
        ins.append({"dtype": dtype, "layout": layout} if alias is None else {"dtype": dtype, "layout": layout, "alias": alias})
    return json.dumps({"ndim": ndim, "inputs": ins, "nodes": nodes,
                       "outputs": [{"node": k, "dtype": dtype, "layout": layout} for k, dtype, layout in outputs]}, separators=(",", ":"))


def _needs_strides(output, numel):
    """Whether a dense output must be written element by element: where whole words would reach beyond it."""
    node, buffer, _, offset = output
    size = _stream.CODES[node.dtype]
    return bool(offset & 3) or size < 4 and numel * size != buffer.nbytes and (numel * size & 3) != 0


def on_cpu(t):
    """A CPU tensor among those on webgpu: a number where it has no dims, as in PyTorch."""
    if t.dim():
        raise RuntimeError("Expected all tensors to be on the same device, but found at least two devices, webgpu:0 and cpu!")
    return Number(t.item(), "int64" if not t.dtype.is_floating_point else "float32")


def collapse(shape, strides):
    """(sizes, dims kept): neighbouring dims that every strided operand runs through as one, and dims of size 1, go."""
    sizes, keep = [], []
    for d in range(len(shape) - 1, -1, -1):
        n = shape[d]
        if n == 1:
            continue
        if keep:
            inner = keep[-1]
            if all(s[d] == s[inner] * sizes[-1] for s in strides):
                sizes[-1] *= n
                continue
        sizes.append(n)
        keep.append(d)
    # a merged dim's stride is its innermost one's, which is the dim that was kept
    sizes.reverse()
    keep.reverse()
    return sizes or [1], keep


def store(node, buffer, strides, offset):
    """The node's values into an existing tensor's place."""
    before_write(buffer)
    ready(buffer)
    run(node, [(node, buffer, strides, offset)])
