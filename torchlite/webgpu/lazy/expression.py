"""Lazy element-wise expressions: they run as one kernel when a result is needed.

A tensor that an element-wise op makes owns a buffer without memory and a Node that says how its elements come about. A
consumer of the same kind takes the node in; anything else (`stream.ready`) runs it. Nodes read buffers, so a write to a
buffer first runs the pending expressions that read it (`before_write`).
Interior results that somebody still holds are written by the same kernel. Matrix products and convolutions are lazy
as well (`stream.product`): what follows one is computed in its kernel.
All that is in the core (native/src/gpu: gpu_expr.c, gpu_run.c), which describes new kernels to the bridge.
"""

from __future__ import annotations


from ... import _C
from ..devices import two_devices
from ..transport import bridge as _bridge
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


def _describe(text: str) -> int:
    """The bridge's number for a kernel that the core describes."""
    return _bridge.current.plan(text)


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
