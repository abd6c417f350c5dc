"""PyTorch's errors that several files of Python raise, each text once. C has its own in native/src/core/errors.h."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from .dtypes import dtype as DType
    from .tensor import Tensor


def not_implemented(kernel: str, dtype: DType) -> NotImplementedError:
    """A kernel has no loop for a dtype."""
    return NotImplementedError("\"%s\" not implemented for '%s'" % (kernel, dtype._scalar_type))


def not_square(x: Tensor, name: str = "") -> RuntimeError:
    """`name`: the function, where PyTorch names it."""
    return RuntimeError(
        "%sA must be batches of square matrices, but they are %d by %d matrices"
        % (name and name + ": ", x.shape[-2], x.shape[-1])
    )


def repeated_dim(dim: int) -> RuntimeError:
    """The dims of a call name one twice."""
    return RuntimeError("dim %d appears multiple times in the list of dims" % dim)


def output_shape(shape: Sequence[int], wanted: Sequence[int]) -> RuntimeError:
    """An op in place or with out= has a result of another shape."""
    return RuntimeError("output with shape %s doesn't match the broadcast shape %s" % (list(shape), list(wanted)))
