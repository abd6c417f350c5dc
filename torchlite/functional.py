"""Functions of the torch namespace that are Python: queries, broadcasting, helpers with their own argument rules."""

from . import _C
from ._core import device as _device
from ._core.from_data import *  # noqa: F403
from ._core.from_data import type_name as _type_name
from ._core.settings import *  # noqa: F403
from ._core.tensor import Tensor


def is_tensor(obj):
    """Whether obj is a Tensor."""
    return isinstance(obj, Tensor)


def is_floating_point(input):
    return input.dtype.is_floating_point


def is_complex(input):
    return input.dtype.is_complex


def is_signed(input):
    return input.dtype.is_signed


def numel(input):
    """Number of elements."""
    return input.numel()


def is_inference(input):
    return input.is_inference()


def is_conj(input):
    """Whether it is a view of the conjugates of what memory holds."""
    return input.is_conj()


def is_neg(input):
    """Whether it is a view of the negatives of what memory holds."""
    return input.is_neg()


def is_inference_mode_enabled():
    return _C.is_inference_mode_enabled()


def result_type(tensor1, tensor2):
    """The dtype of a binary op on both."""
    return _C.result_type(tensor1, tensor2)


def promote_types(type1, type2):
    """The smallest dtype that holds both."""
    return _C.promote_types(type1, type2)


def can_cast(from_, to):
    """Whether PyTorch's casting rules allow from_ -> to."""
    return _C.can_cast(from_, to)


def typename(obj):
    """The qualified name of an object's type."""
    if isinstance(obj, Tensor):
        return obj.type()
    if isinstance(obj, (_C.Op, _C.Function)):
        from ._core.homes import path, torch_name

        own = path(obj) or "%s.%s" % (torch_name(obj.__module__), obj.__name__)  # type: ignore[union-attr]
        cpp = isinstance(obj, _C.Op) and own.count(".") == 1
        return "torch._VariableFunctionsClass" + own[5:] if cpp else own
    function = not isinstance(obj, type) and isinstance(getattr(obj, "__qualname__", None), str)
    cls = obj if isinstance(obj, type) or function else type(obj)
    if cls.__module__ == "builtins":
        return cls.__qualname__
    module = cls.__module__
    return "%s.%s" % ("torch" + module[9:] if module.partition(".")[0] == "torchlite" else module, cls.__qualname__)


def broadcast_shapes(*shapes):
    """The shape that tensors of these shapes broadcast to."""
    out: list[int] = []
    for index, shape in enumerate(shapes):
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        if len(shape) > len(out):
            out = [1] * (len(shape) - len(out)) + out
        for i in range(1, len(shape) + 1):
            s = shape[-i]
            if s < 0:
                raise RuntimeError("Trying to create tensor with negative dimension (%d): (%d)" % (s, s))
            if s != 1 and s != out[-i]:
                if out[-i] != 1:
                    raise RuntimeError(
                        "Attempting to broadcast a dimension of length %d at -%d! Mismatching argument at index %d had "
                        "%s; but expected shape should be broadcastable to %s" % (s, i, index, shape, out)
                    )
                out[-i] = s
    return _device.Size(out)


def broadcast_tensors(*tensors):
    """Views of the tensors in their common shape."""
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    shape = ()
    for i, t in enumerate(tensors):
        shape = _broadcast2(shape, tuple(t.shape))
    return tuple(t if tuple(t.shape) == shape else t.expand(shape) for t in tensors)


def _broadcast2(a, b):
    n = max(len(a), len(b))
    x, y = (1,) * (n - len(a)) + a, (1,) * (n - len(b)) + b
    for i, (p, q) in reversed(list(enumerate(zip(x, y)))):
        if p != q and p != 1 and q != 1:
            raise RuntimeError(
                "The size of tensor a (%d) must match the size of tensor b (%d) at non-singleton dimension %d"
                % (p, q, i)
            )
    return tuple(q if p == 1 else p for p, q in zip(x, y))


def split(tensor, split_size_or_sections, dim=0):
    """Views of a tensor along `dim`: parts of one size, or of the given sizes."""
    return tensor.split(split_size_or_sections, dim)


def is_nonzero(input):
    """Whether the only element of a tensor is not zero."""
    if not isinstance(input, Tensor):
        raise TypeError("is_nonzero(): argument 'input' (position 1) must be Tensor, not %s" % type(input).__name__)
    return bool(input)


def _at_least(n):
    def atleast(*tensors):
        if len(tensors) == 1:
            return one(tensors[0])
        for i, t in enumerate(tensors):
            if not isinstance(t, Tensor):
                raise TypeError("expected Tensor as element %d in argument 0, but got %s" % (i, _type_name(t)))
        return tuple(one(t) for t in tensors)

    def one(t):
        import torchlite

        return getattr(torchlite.ops.functions, "atleast_%dd" % n)(t)

    atleast.__name__ = atleast.__qualname__ = "atleast_%dd" % n
    atleast.__doc__ = "Views of the tensors with at least %d dim%s; of one tensor, or of a sequence, what that is." % (
        n,
        "s" * (n > 1),
    )
    return atleast


atleast_1d, atleast_2d, atleast_3d = _at_least(1), _at_least(2), _at_least(3)


def compiled_with_cxx11_abi():
    return True


def _assert(condition, message):
    """An assert that a tracer would see. `condition` is a bool or a tensor of one element."""
    assert condition, message


_assert.__module__ = __package__
_assert = _C.Function(_assert)  # type: ignore[assignment]


def _assert_async(input, assert_msg=None):
    """RuntimeError unless the one element of `input` is not 0; on every device it is looked at now."""
    if input.numel() != 1:
        what = "more than one value" if input.numel() else "no values"
        raise RuntimeError("Boolean value of Tensor with %s is ambiguous" % what)
    if not input:
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")


_assert_async.__module__ = __package__
_assert_async = _C.Function(_assert_async)  # type: ignore[assignment]


_ALSO_HERE = {
    "block_diag",
    "cartesian_prod",
    "cdist",
    "chain_matmul",
    "einsum",
    "istft",
    "lu",
    "meshgrid",
    "norm",
    "pca_lowrank",
    "stft",
    "svd_lowrank",
    "tensordot",
    "unique",
    "unique_consecutive",
    "unravel_index",
}


def __getattr__(name):
    """Ops that PyTorch has in this module as well as in torch."""
    if name == "F":
        import torchlite.nn.functional as F

        return F
    if name not in _ALSO_HERE:
        raise AttributeError("module 'torch.functional' has no attribute '%s'" % name)
    import torchlite

    return getattr(torchlite, name)


__all__ = [n for n in globals() if not n.startswith("_") and n not in ("Tensor",)]
