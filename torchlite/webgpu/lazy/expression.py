"""Element-wise expressions, put off until a result is needed and then run as one kernel.

A tensor that an element-wise op makes owns a buffer without memory and a Node that says how its elements come about. A
consumer of the same kind takes the node in; anything else (`stream.ready`) runs it. Nodes read buffers, so a write to a
buffer first runs what was put off and reads it (`before_write`).
Interior results that somebody still holds are written by the same kernel. Matrix products and convolutions are put off
as well (`stream.product`): what follows one is computed where its elements are made.
All that is in the core (native/src/gpu: gpu_expr.c, gpu_run.c); here a new kernel gets its description.
"""

from __future__ import annotations


import json

from ... import _C
from ..devices import two_devices
from . import stream
from .stream import Buffer, core, launch, ready  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any
    from ..._types import Node, Tensor


geometry, dense_strides, coalesce = _C.geometry, _C.dense_strides, _C.coalesce
Node, Leaf, Number, Coord = core.Node, core.Leaf, core.Number, core.Coord
MAX_BUFFERS = core.MAX_BUFFERS  # storage buffers of a kernel, in every browser
operand, expression, result, before_write, run, assign = (
    core.operand,
    core.expression,
    core.result,
    core.before_write,
    core.run,
    core.assign,
)


def _describe(
    ndim: int, parts: list[Any], inputs: Any, outputs: list[tuple[int, str, str]], role: str | None, product: int
) -> int:
    """The number of a kernel. Parts, each after what it uses:
    (op, dtype, compute type, places of the operands), the number of an input, the dtype of a number, (dim,)
    for a coordinate, or (dtype, None) for the result of the plan `product`. The expression's role beside that: computed
    "after" it, or where it reads its "first" or "second" operand; None: there is no product."""
    nodes, scalar = [], 0
    for part in parts:
        kind = type(part)
        if kind is int:
            nodes.append({"in": part})
        elif kind is str:
            nodes.append({"scalar": scalar, "dtype": part})
            scalar += 1
        elif len(part) == 1:
            nodes.append({"coord": part[0]})
        elif len(part) == 2:
            nodes.append({"product": part[0]})
        else:
            op, dtype, compute, places = part
            node = {"op": op, "args": places, "dtype": dtype}
            if compute is not None:
                node["compute"] = compute
            nodes.append(node)
    if role is not None:
        graph = {
            "ndim": ndim,
            "inputs": [{"dtype": dtype, "layout": layout} for dtype, layout, _ in inputs],
            "nodes": nodes,
        }
        if role == "after":
            graph["outputs"] = [{"node": k, "dtype": dtype} for k, dtype, _ in outputs]
        return stream.plan(
            '%s,"%s":%s}' % (stream.plan_key(product)[:-1], role, json.dumps(graph, separators=(",", ":")))
        )
    ins = []
    for dtype, layout, alias in inputs:
        ins.append(
            {"dtype": dtype, "layout": layout} if alias is None else {"dtype": dtype, "layout": layout, "alias": alias}
        )
    return stream.plan(
        "fused:"
        + json.dumps(
            {
                "ndim": ndim,
                "inputs": ins,
                "nodes": nodes,
                "outputs": [{"node": k, "dtype": dtype, "layout": layout} for k, dtype, layout in outputs],
            },
            separators=(",", ":"),
        )
    )


def on_cpu(t: Tensor) -> Any:
    """A CPU tensor among those on webgpu: a number where it has no dims, as in PyTorch."""
    if t.dim():
        raise two_devices()
    return Number(t.item(), "int64" if not t.dtype.is_floating_point else "float32")


core.hook("describe", _describe)
core.hook("on_cpu", on_cpu)


def store(node: Node, buffer: Buffer, strides: tuple[int, ...], offset: int) -> None:
    """The node's values into an existing tensor's place."""
    before_write(buffer)
    ready(buffer)
    run(node, [(node, buffer, strides, offset)])
