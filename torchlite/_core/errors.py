"""PyTorch's errors that several files of Python raise, each text once. C has its own in native/src/core/errors.h."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any
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


def invalid_shape(shape: Sequence[Any], numel: int) -> RuntimeError:
    """view and reshape: the elements do not fit."""
    return RuntimeError("shape '%s' is invalid for input of size %d" % (list(shape), numel))


def several_inferred() -> RuntimeError:
    """-1 stands for more than one size."""
    return RuntimeError("only one dimension can be inferred")


def negative_dimension(size: int, shape: Sequence[int]) -> RuntimeError:
    """A new tensor has a negative size."""
    return RuntimeError("Trying to create tensor with negative dimension %d: %s" % (size, list(shape)))


# ---- autograd --------------------------------------------------------------------------------------------------------
def cannot_require_grad() -> RuntimeError:
    """A tensor is made with requires_grad=True."""
    return RuntimeError("Only Tensors of floating point and complex dtype can require gradients")


def not_floating() -> RuntimeError:
    """The same where a tensor is there already."""
    return RuntimeError("only Tensors of floating point dtype can require gradients")


def no_implicit_grad() -> RuntimeError:
    """backward() without a gradient, of more than one element."""
    return RuntimeError("grad can be implicitly created only for scalar outputs")


def other_tangent_size(x: Tensor, tangent: Tensor) -> RuntimeError:
    return RuntimeError(
        "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
        "supported. Tensor is of size %s while the given forward gradient is of size %s."
        % (list(x.shape), list(tangent.shape))
    )


# ---- tensors that another class holds --------------------------------------------------------------------------------
def not_a_leaf_to_copy() -> RuntimeError:
    """copy.deepcopy of a tensor with a history."""
    return RuntimeError(
        "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  If "
        "you were attempting to deepcopy a module, this may be because of a torch.nn.Parametrize module, which is not "
        "supported."
    )


def no_data_pointer() -> RuntimeError:
    return RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")


def no_numpy_of_subclass() -> RuntimeError:
    return RuntimeError(".numpy() is not supported for tensor subclasses.")
