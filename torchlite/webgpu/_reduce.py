"""Reductions: one kernel for any dims of any strides, with the element-wise expression that makes their input, where that
has not run, inside it.

A tensor whose values are put off is reduced from its expression once; asked for again it is computed and kept, so that a
tensor which is reduced many times is not computed as often.
"""

import json
import weakref

import torchlite as torch

from .. import _C
from . import _stream
from ._fusion import MAX_BUFFERS, Coord, Leaf, Node, Number, collapse, dense_strides, expression
from ._run import empty, planner, upload
from ._stream import Buffer, float_word, launch, ready

geometry = _C.geometry
_device_tensor = _C.device_tensor
int64, float32, boolean = torch.int64, torch.float32, torch.bool
FLOATS = (torch.float32, torch.float16, torch.bfloat16)
HERE = frozenset((*FLOATS, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool))

STATES = {"argmax": 2, "argmin": 2, "var": 3, "std": 3, "logsumexp": 2}    # buffers that parts of long rows need; others 1
_KEPT = 4096

_plans = {}
_known = {}                      # everything about a reduction of a tensor of given geometry: nothing is worked out twice
_reduced = weakref.WeakSet()     # buffers whose expression a reduction has read already


# ---- arguments -----------------------------------------------------------------------------------------------------------
def dims_of(dim, ndim, none_if_empty=False):
    """The reduced dims, wrapped and in order; None where the core has to say what is wrong."""
    if dim is None or (dim == () and not none_if_empty):
        return tuple(range(ndim))
    if type(dim) is int:
        dim = (dim,)
    if not ndim:
        return () if len(dim) <= 1 and all(d in (0, -1) for d in dim) else None
    out = []
    for d in dim:
        if d < 0:
            d += ndim
        if not 0 <= d < ndim or d in out:
            return None
        out.append(d)
    out.sort()
    return tuple(out)


def ask_core(ov, args):
    """What the CPU's kernel makes of tensors like these: its error, or its result where there are no elements to read."""
    some = False
    moved = []
    for a in args:
        if isinstance(a, _C.TensorBase):
            some = some or a.numel() > 0
            a = _C.empty(tuple(a.shape), a.dtype) if not a.numel() else _C.fill(_C.empty((), a.dtype), 0).expand(a.shape)
        moved.append(a)
    was = _C.set_grad_enabled(False)
    try:
        r = _C.call_below(ov, tuple(moved))
        if some or r is NotImplemented:
            return NotImplemented
        return tuple([upload(x) for x in r]) if isinstance(r, tuple) else upload(r)
    finally:
        _C.set_grad_enabled(was)


# ---- the kernel ----------------------------------------------------------------------------------------------------------
def reduce(t, dims, keepdim, spec, correction=None):
    """Tensors with reductions of t over `dims`. spec: ((op, type its operand is brought to or None, result type), ...,
    what happens to elements first: None, "abs", "nan_to_zero" or an exponent)."""
    buffer, shape, strides, offset, dtype, dense, numel = geometry(t)
    node = buffer.pending
    if node is not None:
        if dense and not offset and node.dtype == dtype.name and buffer not in _reduced:
            if node.shape == shape:
                x = node
            else:
                count = 1
                for m in node.shape:
                    count *= m
                x = node if count == numel and len(dims) == len(shape) else None
            if x is not None:
                _reduced.add(buffer)
                where = node.shape
                made = _make(x, where, dims if where == shape else tuple(range(len(where))), spec, correction)
                if made is not None:
                    number, words, leaves = made
                    return _launch(number, words, [ready(b) for b in leaves], spec, _out_shape(shape, dims, keepdim))
        ready(buffer)
    key = shape, strides, offset, dtype, dims, keepdim, spec, correction
    known = _known.get(key)
    if known is None:
        if len(_known) >= _KEPT:
            _known.clear()
        number, words, _ = _make(Leaf(buffer, dtype.name, strides, offset), shape, dims, spec, correction)
        known = _known[key] = number, words, _out_shape(shape, dims, keepdim)
    return _launch(known[0], known[1], [buffer.handle or ready(buffer)], spec, known[2])


def _launch(number, words, handles, spec, shape):
    n = 1
    for m in shape:
        n *= m
    results = []
    for out in spec[:-1]:
        dtype = out[2]
        nbytes = n * dtype.itemsize
        buffer = Buffer(nbytes)
        handles.append(ready(buffer))
        results.append(_device_tensor(1, buffer, nbytes, dtype, shape))
    launch(number, handles, words)
    return results


def _out_shape(shape, dims, keepdim):
    if keepdim:
        return tuple([1 if d in dims else m for d, m in enumerate(shape)])
    return tuple([m for d, m in enumerate(shape) if d not in dims])


def _first(x, pre, shape):
    """The operand of the reduction, after what happens to elements first."""
    if pre is None:
        return x
    name = x.dtype
    if pre == "abs":
        return expression("abs", [x], name, None, shape)
    if pre == "nan_to_zero":
        return expression("where", [expression("isnan", [x], "bool", name, shape), Number(0.0, "float32"), x], name, None, shape)
    size = expression("abs", [x if name == "float32" else expression("cast", [x], "float32", None, shape)], "float32", None, shape)
    return expression("pow", [size, Number(pre, "float32")], "float32", None, shape)


def _make(x, shape, dims, spec, correction):
    """(plan, words, buffers that are read); None for an expression that does not go into this kernel."""
    x = _first(x, spec[-1], shape)
    roots = []
    for op, cast, _ in spec[:-1]:
        roots.append(x if cast is None or cast == x.dtype else expression("cast", [x], cast, None, shape))
    order, place = [], {}

    def visit(n):
        if id(n) in place:
            return
        if type(n) is Node:
            for a in n.args:
                visit(a)
        place[id(n)] = len(order)
        order.append(n)

    for root in roots:
        visit(root)
    inputs, input_of, scalars, names = [], {}, [], []
    for n in order:
        kind = type(n)
        if kind is Leaf:
            key = (id(n.buffer), n.dtype, n.strides, n.offset)
            if key not in input_of:
                input_of[key] = len(inputs)
                inputs.append(n)
            names.append(input_of[key])
        elif kind is Node:
            names.append((n.op, n.dtype, n.compute, *[place[id(a)] for a in n.args]))
        elif kind is Number:
            names.append(n.dtype)
            scalars.extend(_stream.scalar_words(n.value, n.dtype))
        elif kind is Coord and n.dim < 0 and len(dims) == len(shape):
            names.append(None)
        else:
            return None
    if len(inputs) + sum(STATES.get(o[0], 1) for o in spec[:-1]) > MAX_BUFFERS:
        return None
    dense = dense_strides(shape)
    strides = [dense if n.strides is None else n.strides for n in inputs]
    kept = [d for d in range(len(shape)) if d not in dims]
    k_sizes, k_dims = collapse([shape[d] for d in kept], [[s[d] for d in kept] for s in strides])
    r_sizes, r_dims = collapse([shape[d] for d in dims], [[s[d] for d in dims] for s in strides])
    k_dims, r_dims = [kept[d] for d in k_dims], [dims[d] for d in r_dims]
    rows = n_reduced = 1
    for m in k_sizes:
        rows *= m
    for m in r_sizes:
        n_reduced *= m
    k_sizes, r_sizes = k_sizes if k_dims else [], r_sizes if r_dims else []
    words = [rows, n_reduced, *k_sizes, *r_sizes]
    for n, st in zip(inputs, strides):
        words.append(n.offset)
        words.extend([st[d] for d in k_dims])
        words.extend([st[d] for d in r_dims])
    words.extend(scalars)
    words.extend([0] * (len(spec) - 1))
    if any(o[0] in ("var", "std") for o in spec[:-1]):
        words.append(float_word(correction))
    # neighbours in memory are reduced together, or else side by side
    inner = bool(r_dims) and (not k_dims or not strides or min([abs(strides[0][d]) or 1 << 62 for d in r_dims]) <= min([abs(strides[0][d]) or 1 << 62 for d in k_dims]))
    outputs = tuple([(o[0], place[id(root)], o[2].name) for o, root in zip(spec, roots)])
    key = (len(k_sizes), len(r_sizes), tuple([n.dtype for n in inputs]), tuple(names), outputs, inner)
    number = _plans.get(key)
    if number is None:
        number = _plans[key] = _stream.plan("reduce:" + _describe(key))
    return number, words, [n.buffer for n in inputs]


def _describe(key):
    kept, reduced, inputs, names, outputs, inner = key
    nodes, scalar = [], 0
    for name in names:
        if type(name) is int:
            nodes.append({"in": name})
        elif type(name) is str:
            nodes.append({"scalar": scalar, "dtype": name})
            scalar += 1
        elif name is None:
            nodes.append({"coord": -1})
        else:
            nodes.append({"op": name[0], "args": list(name[3:]), "dtype": name[1], **({"compute": name[2]} if name[2] is not None else {})})
    return json.dumps({"kept": kept, "reduced": reduced, "inputs": [{"dtype": d} for d in inputs], "nodes": nodes,
                       "outputs": [{"op": op, "node": node, "dtype": dtype} for op, node, dtype in outputs], "inner": inner}, separators=(",", ":"))


# ---- sums ----------------------------------------------------------------------------------------------------------------
_sums = {}


def _sum_spec(row, given, dtype):
    """How a sum, mean or product of a type is made: (spec, whether it is of pairs of floats); None where the core decides."""
    want = dtype if dtype is not None else given if row == "mean" or given.is_floating_point or given.is_complex else int64
    if given is torch.complex64 and want is given and row in ("sum", "mean"):
        return _sum_spec(row, float32, None)
    if given not in HERE or want not in HERE:
        return None
    op = "sum" if row == "nansum" else row
    pre = None
    if want in FLOATS:
        cast = None if given in FLOATS else "float32"
        if row == "nansum" and given in FLOATS:
            pre = "nan_to_zero"
    elif row == "mean":
        return None
    elif want is boolean:
        op, cast = "all" if row == "prod" else "any", None
    elif given is boolean and op == "sum":
        op, cast = "count_nonzero", None
    else:
        # integers wrap, so that 32 bits do for all but int64
        cast = "int64" if want is int64 else "int32" if given in FLOATS or given is int64 else None
    return (op, cast, want), pre


@planner("sum", "nansum", "mean", "prod")
def _sum(ov, args):
    t = args[0]
    row, dtype = ov.kernel, args[-1]
    key = row, t.dtype, dtype
    spec = _sums.get(key)
    if spec is None:
        spec = _sum_spec(*key)
        if spec is None:
            if dtype is torch.float64:
                return empty((), dtype)                # says that webgpu does not have it
            return ask_core(ov, args) if not t.dtype.is_complex else NotImplemented
        _sums[key] = spec
    many = len(args) == 4
    dims = dims_of(args[1] if many else None, t.dim())
    if dims is None or not t.numel():
        return ask_core(ov, args)
    keepdim = many and args[2]
    if t.dtype.is_complex:
        t = torch.view_as_real(t.detach())
        return torch.view_as_complex(reduce(t, dims, keepdim, spec)[0])
    return reduce(t, dims, keepdim, spec)[0]


@planner("any", "all", "count_nonzero")
def _any(ov, args):
    t, row = args[0], ov.kernel
    dtype = t.dtype
    dims = dims_of(args[1] if len(args) > 1 else None, t.dim(), row != "count_nonzero")
    if dims is None or not t.numel():
        return ask_core(ov, args)
    if dtype not in HERE:
        return NotImplemented
    want = int64 if row == "count_nonzero" else dtype if dtype is torch.uint8 else boolean
    return reduce(t, dims, len(args) > 2 and args[2], ((row, None, want), None))[0]


# ---- extremes ------------------------------------------------------------------------------------------------------------
@planner("max", "min", "amax", "amin")
def _amax(ov, args):
    t, row = args[0], ov.kernel
    dims = dims_of(args[1] if len(args) > 1 else None, t.dim())
    if dims is None or not t.numel() or t.dtype not in HERE:
        return ask_core(ov, args)
    return reduce(t, dims, len(args) > 2 and args[2], (("amax" if row in ("max", "amax") else "amin", None, t.dtype), None))[0]


@planner("max_dim", "min_dim")
def _max_dim(ov, args):
    t, dim, keepdim = args
    dims = dims_of(dim, t.dim())
    if dims is None or not t.numel() or t.dtype not in HERE:
        return ask_core(ov, args)
    which = ov.kernel[:3]
    return tuple(reduce(t, dims, keepdim, (("a" + which, None, t.dtype), ("arg" + which, None, int64), None)))


@planner("aminmax")
def _aminmax(ov, args):
    t, dim, keepdim = args
    dims = dims_of(dim, t.dim())
    if dims is None or not t.numel() or t.dtype not in HERE:
        return ask_core(ov, args)
    return tuple(reduce(t, dims, keepdim, (("amin", None, t.dtype), ("amax", None, t.dtype), None)))


@planner("argmax", "argmin")
def _argmax(ov, args):
    t, dim, keepdim = args
    dims = dims_of(dim, t.dim())
    if dims is None or not t.numel() or t.dtype not in HERE or t.dtype is boolean:
        return ask_core(ov, args)
    return reduce(t, dims, keepdim, ((ov.kernel, None, int64), None))[0]


# ---- statistics ------------------------------------------------------------------------------------------------------------
_NO_FREEDOM = "%s(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input numel divided by output numel)."


@planner("var", "std", "var_mean", "std_mean", "var_correction", "std_correction", "var_mean_correction", "std_mean_correction")
def _var(ov, args):
    t = args[0]
    dtype = t.dtype
    if dtype.is_complex:
        return NotImplemented
    n = len(args)
    dims = dims_of(args[1] if n > 2 else None, t.dim())
    if dims is None or dtype not in FLOATS or not t.numel():
        return ask_core(ov, args)
    given = args[2] if n > 2 else args[1]
    correction = 1.0 if given is None else float(given)
    name = ov.kernel[:-len("_correction")] if ov.kernel.endswith("_correction") else ov.kernel
    shape, count = t.shape, 1
    for d in dims:
        count *= shape[d]
    if count <= correction:
        import warnings
        warnings.warn(_NO_FREEDOM % name, UserWarning, stacklevel=3)
    op = name[:3]
    if name == op:
        return reduce(t, dims, n > 2 and args[3], ((op, None, dtype), None), correction)[0]
    return tuple(reduce(t, dims, n > 2 and args[3], ((op, None, dtype), ("mean", None, dtype), None), correction))


@planner("linalg_vector_norm")
def _vector_norm(ov, args):
    t, p, dim, keepdim, want = args
    dtype = t.dtype
    dims = dims_of(dim, t.dim())
    if dims is None or isinstance(p, complex) or not t.numel():
        return ask_core(ov, args)
    if dtype is torch.complex64 and want in (None, dtype):
        size = torch.view_as_real(t.detach())
        return _norm(torch.hypot(size.select(-1, 0), size.select(-1, 1)), p, dims, keepdim, float32)
    if dtype not in FLOATS or want is not None and want not in FLOATS:
        return ask_core(ov, args)
    return _norm(t, p, dims, keepdim, dtype if want is None else want)


def _norm(t, p, dims, keepdim, want):
    p = float(p)
    if p == 0:
        return reduce(t, dims, keepdim, (("count_nonzero", None, want), None))[0]
    if p == 1:
        return reduce(t, dims, keepdim, (("sum", None, want), "abs"))[0]
    if p == 2:
        return reduce(t, dims, keepdim, (("norm2", None, want), None))[0]
    if p in (float("inf"), float("-inf")):
        return reduce(t, dims, keepdim, (("amax" if p > 0 else "amin", None, want), "abs"))[0]
    return reduce(t, dims, keepdim, (("sum", None, float32), p))[0].pow(1 / p).to(want)


@planner("logsumexp")
def _logsumexp(ov, args):
    t, dim, keepdim = args
    dtype = t.dtype
    if dtype.is_complex:
        return NotImplemented
    dims = dims_of(dim, t.dim())
    if dims is None or not t.numel():
        return ask_core(ov, args)
    if dtype in FLOATS:
        return reduce(t, dims, keepdim, (("logsumexp", None, dtype), None))[0]
    want = torch.get_default_dtype()
    if want not in FLOATS:
        return NotImplemented
    return reduce(t, dims, keepdim, (("logsumexp", "float32", want), None))[0]
