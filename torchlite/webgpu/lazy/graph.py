"""What planners share that write their kernels' graphs by hand."""

import json

import torchlite as torch

from ... import _C
from . import stream
from .expression import Leaf, Node, coalesce
from .stream import float_word, fresh, launch, ready  # noqa: F401

Tensor = _C.TensorBase
geometry = _C.geometry
_device_tensor = _C.device_tensor
_plans = {}


def later(node, dtype, shape):
    """As _fusion.result, for a node whose dims are `shape` in other groups: the elements' order is the same."""
    from .expression import result

    r = result(node, dtype)
    if node.shape == shape:
        return r
    return _device_tensor(1, geometry(r)[0], r.nbytes, dtype, shape)


def number(key, text):
    """A plan's number; `text` makes its parameters when the key is new."""
    n = _plans.get(key)
    if n is None:
        n = _plans[key] = stream.plan(text())
    return n


def compact(family, **params):
    return family + ":" + json.dumps(params, separators=(",", ":"))


def tree(op, *args, dtype="float32", compute=None, shape):
    """A node as _fusion.expression makes it, but with as many leaves as a kernel can have beside one result."""
    return Node(op, list(args), dtype, compute, shape)


def leaf(t, strides=None):
    """A tensor as a leaf, with the strides it has over the expression's dims."""
    buffer, _, _, offset, dtype, _, _ = geometry(t)
    if buffer.pending is not None:
        ready(buffer)
    return Leaf(buffer, dtype.name, strides, offset)


def along(t, ndim, dim):
    """A vector as a leaf that runs along one dim."""
    strides = [0] * ndim
    if t.numel() != 1:
        strides[dim] = t.stride(0) if t.dim() == 1 else 1
    return leaf(t if t.dim() == 1 else t.reshape(-1), tuple(strides))


def reduce(name, nodes, inputs, outputs, kept, reduced, scalars=(), inner=True, correction=None, shape=None):
    """One reduction: inputs are (tensor, strides over kept dims, strides over reduced dims);
    outputs (op, node, torch dtype).
    `name` stands for the nodes. The results are contiguous, of shape `kept` if no other is given."""
    rows = n = 1
    for m in kept:
        rows *= m
    for m in reduced:
        n *= m
    handles, words, dtypes = [], [rows, n, *kept, *reduced], []
    for t, k, r in inputs:
        buffer, _, _, offset, dtype, _, _ = geometry(t)
        handles.append(ready(buffer))
        words.append(offset)
        words.extend(k)
        words.extend(r)
        dtypes.append(dtype.name)
    words.extend(scalars)
    results = []
    for _, _, dtype in outputs:
        t, h = fresh(tuple(kept) if shape is None else shape, dtype, rows)
        results.append(t)
        handles.append(h)
        words.append(0)
    if correction is not None:
        words.append(float_word(correction))
    key = (name, len(kept), len(reduced), inner, tuple(dtypes), tuple(outputs))
    plan = _plans.get(key)
    if plan is None:
        plan = number(
            key,
            lambda: compact(
                "reduce",
                kept=len(kept),
                reduced=len(reduced),
                inputs=[{"dtype": d} for d in dtypes],
                nodes=nodes,
                outputs=[{"op": op, "node": k, "dtype": d.name} for op, k, d in outputs],
                inner=inner,
            ),
        )
    launch(plan, handles, words)
    return results


def others(shape, strides, dim):
    """The dims beside `dim`, neighbours joined where every operand allows:
    sizes, and each operand's strides over them."""
    sizes, keep = coalesce(shape[:dim] + shape[dim + 1 :], [s[:dim] + s[dim + 1 :] for s in strides])
    if not keep:
        return [1], [[0]] * len(strides)
    keep = [d if d < dim else d + 1 for d in keep]
    return sizes, [[s[d] for d in keep] for s in strides]


def stand_in(a):
    """A CPU tensor of the same shape and dtype, of one element."""
    return _C.empty((1,), a.dtype).expand(a.shape) if isinstance(a, Tensor) else a


def together(*tensors):
    """PyTorch's error for tensors that are not all on webgpu; None is none."""
    for t in tensors:
        if t is not None and t.is_cpu:
            raise RuntimeError(
                "Expected all tensors to be on the same device, but found at least two devices, webgpu:0 and cpu!"
            )


def complain(ov, args):
    """The CPU kernel's error for these arguments; NotImplemented where it has none."""
    together(*[a for a in args if isinstance(a, Tensor)])
    with _C.GradMode(False):
        _C.call_below(ov, tuple([stand_in(a) for a in args]))
    return NotImplemented


def without_elements(ov, args):
    """The result for tensors without elements, which the CPU knows."""
    from ..run import _up

    with _C.GradMode(False):
        r = _C.call_below(
            ov, tuple([_C.fill(_C.empty(tuple(a.shape), a.dtype), 0) if isinstance(a, Tensor) else a for a in args])
        )
    return _up(r)


FLOATS = frozenset((torch.float32, torch.float16, torch.bfloat16))
