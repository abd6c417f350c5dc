"""Python's names for lazy expressions. They are implemented in native/src/gpu (gpu_expr.c says how they work), and run
as one kernel when a result is needed (gpu_run.c). For a new kernel the core calls `_describe`.
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
    """The number of the plan for a kernel that the core describes."""
    return _bridge.current.plan(text)


def _cpu_operand(t: Tensor) -> Any:
    """A CPU tensor among operands on webgpu: a number if it has no dims, else PyTorch's error."""
    if t.dim():
        raise two_devices()
    return Number(t.item(), "int64" if not t.dtype.is_floating_point else "float32")


core.hook("describe", _describe)
core.hook("cpu_operand", _cpu_operand)


def store(node: Node, buffer: Buffer, strides: tuple[int, ...], offset: int) -> None:
    """Computes the node and writes its values into an existing buffer."""
    before_write(buffer)
    ready(buffer)
    run(node, [(node, buffer, strides, offset)])
