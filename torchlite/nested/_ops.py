"""What functions do with nested tensors: element-wise ones run on the values, the others on the parts.

Tables by the function's name, one for each layout and one for both. A function that is in none is PyTorch's error.
"""

from __future__ import annotations

import functools
from typing import Any

import torchlite as torch

from .._core.dtypes import CONVERSIONS
from . import _tensor as _t
from ._tensor import Nested, NestedTensor, StridedNested

BOTH: dict[str, Any] = {}
STRIDED: dict[str, Any] = {}
JAGGED: dict[str, Any] = {}

# element-wise functions of torch.nn.functional that are written in Python
_ACTIVATIONS = frozenset(
    """alpha_dropout celu dropout dropout1d elu elu_ feature_alpha_dropout gelu hardshrink hardsigmoid hardswish
    hardtanh leaky_relu logsigmoid mish native_dropout relu relu6 relu_ selu sigmoid silu silu_ softplus softshrink
    softsign tanh tanhshrink threshold threshold_backward""".split()
)
_MAKERS = frozenset("empty_like full_like ones_like rand_like randint_like randn_like zeros_like".split())
_CONVERSIONS = frozenset(CONVERSIONS).union("_to_copy _to_dtype cpu cuda to type type_as".split())
_ON_VALUES = _MAKERS.union("alias clone contiguous detach fill_ normal_ pin_memory uniform_ zero_".split())
OF_VALUES = frozenset(
    """__cuda_array_interface__ device dtype get_device is_complex is_conj is_cpu is_cuda is_floating_point is_inference
    is_meta is_neg is_pinned is_shared is_signed itemsize new_empty new_full new_ones new_tensor new_zeros output_nr
    _version""".split()
)


def op(table: dict[str, Any], *names: str) -> Any:
    """Decorator: the handler of these functions; it gets the function, then its arguments."""

    def register(fn: Any) -> Any:
        table.update(dict.fromkeys(names, fn))
        return fn

    return register


@functools.cache
def pointwise_names() -> frozenset[str]:
    torch.ops.load_all()
    names = set(_ACTIVATIONS)
    for spec in torch.ops.specs:
        if "pointwise" in spec.tags:
            names.update((spec.name, *spec.alias))
    return frozenset(names)


_SIGNS = {"__eq__": "eq", "__and__": "bitwise_and", "__or__": "bitwise_or", "__xor__": "bitwise_xor"}
_SIGNS.update(__lshift__="bitwise_left_shift", __rshift__="bitwise_right_shift")


def name_of(func: Any) -> str:
    """The name of a function, of a property by its getter, or of an operator by its overload."""
    name: str = getattr(func, "__name__", "")
    if name in _SIGNS:
        return _SIGNS[name]
    return func.__self__.__name__ if name == "__get__" else name.partition(".")[0]


def nested_in(args: Any, kwargs: dict[str, Any]) -> list[Any]:
    """The nested tensors among arguments, in lists too."""
    found = []
    for a in (*args, *kwargs.values()):
        if isinstance(a, Nested):
            found.append(a)
        elif isinstance(a, (list, tuple)):
            found.extend(nested_in(a, {}))
    return found


def sizes_in(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """The sizes or dims that a call has one by one, or as a list."""
    args = args or tuple(kwargs.values())
    return tuple(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple)) else args


def refused(func: Any, name: str, x: Any) -> NotImplementedError:
    """PyTorch's error for a function without a rule for the layout."""
    if isinstance(x, NestedTensor):
        return NotImplementedError(
            "aten.%s: torchlite has no rule for it and the layout torch.jagged; call it on the tensors of x.unbind()"
            % name
        )
    return NotImplementedError(
        "Could not run 'aten::%s' with arguments from the 'NestedTensorCPU' backend. This could be because the "
        "operator doesn't exist for this backend. Tensor.unbind() gives the tensors of the batch." % name
    )


# ---- element-wise ----------------------------------------------------------------------------------------------------
def pointwise(func: Any, name: str, args: Any, kwargs: dict[str, Any]) -> Any:
    """An element-wise function: on the values where all arguments lie alike, else part by part."""
    nested = nested_in(args, kwargs)
    x: Any = nested[0]
    if isinstance(x, StridedNested) and len(args) == 1 and not x._packed and "dropout" not in name:
        raise RuntimeError("NestedTensor must be contiguous to get buffer.")
    for y in nested[1:]:
        _check_alike(name, x, y)
    bad = next((a for a in args if isinstance(a, _t.NestedInt)), None)
    if bad is not None:
        raise RuntimeError("NestedTensor %s: invalid argument %s" % (name, bad))
    dense = [a for a in (*args, *kwargs.values()) if isinstance(a, torch.Tensor) and not isinstance(a, Nested)]
    with_parts = [d for d in dense if not _goes_with_values(name, x, d)]
    if not with_parts and all(_broadcasts(x, y) for y in nested[1:]):
        made = _on_values(func, x, args, kwargs)
    else:
        made = _on_parts(func, x, with_parts, args, kwargs)
    in_place = isinstance(args[0], Nested) and name.endswith("_") and not name.endswith("__")
    return args[0] if in_place else made


def _on_values(func: Any, x: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    def values(a: Any) -> Any:
        if isinstance(a, Nested):
            return a._values
        if isinstance(a, torch.Tensor) and isinstance(x, NestedTensor):
            return _without_leading_ones(a)
        return a

    return _wrapped(x, func(*map(values, args), **{k: values(v) for k, v in kwargs.items()}))


def _on_parts(func: Any, x: Any, with_parts: list[Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """with_parts: dense arguments whose first dim is the batch."""
    parts = {id(n): n._parts() for n in nested_in(args, kwargs)}

    def part(a: Any, i: int) -> Any:
        if isinstance(a, Nested):
            return parts[id(a)][i]
        if any(a is d for d in with_parts) and a.dim() == x.dim():
            return a[i if a.shape[0] != 1 else 0]
        return a

    results = []
    for i in range(len(parts[id(x)])):
        results.append(func(*(part(a, i) for a in args), **{k: part(v, i) for k, v in kwargs.items()}))
    if results and isinstance(results[0], tuple):
        return tuple(repacked(x, list(column)) for column in zip(*results))
    return repacked(x, results)


def _wrapped(x: Any, made: Any) -> Any:
    if isinstance(made, tuple):
        several = [_wrapped(x, m) for m in made]
        return type(made)(several) if hasattr(made, "_fields") or type(made) is not tuple else tuple(several)
    return x._with(made) if isinstance(made, torch.Tensor) else made


def _without_leading_ones(t: Any) -> Any:
    while t.dim() > 0 and t.shape[0] == 1:
        t = t.squeeze(0)
    return t


def _broadcasts(x: Any, y: Any) -> bool:
    """Whether a function of both values is that of both nested tensors."""
    if x._same_places(y):
        return True
    if isinstance(x, StridedNested) or x._ragged_idx != y._ragged_idx or x._values.dim() != y._values.dim():
        return False
    return x._lengths is None and y._lengths is None and x._bounds() == y._bounds()


def _check_alike(name: str, x: Any, y: Any) -> None:
    if isinstance(x, NestedTensor) != isinstance(y, NestedTensor):
        raise RuntimeError(
            "%s(): expected nested tensors of one layout, but got %s and %s" % (name, x.layout, y.layout)
        )
    if isinstance(x, StridedNested):
        if name == "eq":
            raise RuntimeError("eq does not support nested tensor as other value.")
        if x._sizes != y._sizes:
            raise RuntimeError("%s does not support broadcasting when given a NestedTensor" % name.removesuffix("_"))
        return
    end = x._ragged_idx + 1
    if x.shape[:end] != y.shape[:end]:
        raise RuntimeError(
            "cannot call binary pointwise function %s with inputs of shapes %s and %s"
            % (name + ".Tensor", tuple(x.shape), tuple(y.shape))
        )


def _goes_with_values(name: str, x: Any, d: Any) -> bool:
    """Whether a dense operand broadcasts against the values as against each part."""
    if d.dim() == 0:
        return True
    if isinstance(x, StridedNested):
        raise RuntimeError("Expected both self and other to be nested, but got a nested self and non-nested other")
    if d.dim() > x.dim():
        raise NotImplementedError("NYI: broadcasting NT with T with larger dim")
    if _without_leading_ones(d).dim() <= x.dim() - 1 - x._ragged_idx:
        return True
    fixed = d.shape[x._ragged_idx - x.dim()] if d.dim() >= x.dim() - x._ragged_idx else 1
    if fixed != 1 and {fixed} != {n for _, n in x._bounds()} and fixed != x._max_seqlen:
        raise RuntimeError(
            "cannot call binary pointwise function %s with inputs of shapes %s and %s"
            % (name + ".Tensor", tuple(x.shape), tuple(d.shape))
        )
    return False


def repacked(x: Any, parts: Any, ragged: int | None = None) -> Any:
    """Parts as a nested tensor of the layout of `x`."""
    if isinstance(x, StridedNested):
        return _t.from_parts(parts, x)
    return _t.joined(parts, x, ragged)


# ---- both layouts ----------------------------------------------------------------------------------------------------
def _unary(func: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    """A function of the values that keeps sizes."""
    layout = kwargs.pop("layout", None)
    if layout not in (None, x.layout):
        raise RuntimeError("Converting between nested tensor layouts is not supported")
    name, format = name_of(func), kwargs.get("memory_format")
    if name == "clone" and format not in (None, torch.preserve_format, torch.contiguous_format):
        kind = {torch.channels_last: "ChannelsLast"}.get(format, "ChannelsLast3d")
        raise RuntimeError(
            "Nested tensor clone supports Preserve and Contiguous memory formats, called clone with memory format: "
            + kind
        )
    wants = name == "contiguous" or format is torch.contiguous_format
    if wants and not x.is_contiguous():
        if isinstance(x, StridedNested):
            packed = _t.from_parts([p.contiguous() for p in x._parts()], x)
        elif x._lengths is None:
            packed = x._with(x._values.contiguous())
        else:
            packed = _t.joined([p.contiguous() for p in x._parts()], x, x._ragged_idx)
        return packed if name in ("clone", "contiguous") else _unary(func, packed, *args, **kwargs)
    if name == "contiguous":
        return x
    made = func(x._values, *args, **kwargs)
    return x if made is x._values else x._with(made)


BOTH.update(dict.fromkeys(_ON_VALUES, _unary))


def _converted(func: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    args = tuple(a._values if isinstance(a, Nested) else a for a in args)
    kwargs = {k: v._values if isinstance(v, Nested) else v for k, v in kwargs.items() if k != "layout"}
    made = func(x._values, *args, **kwargs)
    if made is x._values or not isinstance(made, torch.Tensor):
        return x if made is x._values else made
    result = x._with(made)
    if isinstance(x, NestedTensor) and made.device != x.device:
        lengths = None if x._lengths is None else x._lengths.to(made.device)
        result = _t.jagged(made, x._offsets.to(made.device), lengths, x._ragged_idx, x._metadata_cache)
    return result


BOTH.update(dict.fromkeys(_CONVERSIONS, _converted))


@op(BOTH, "data")
def _data(func: Any, x: Any) -> Any:
    return x._with(x._values.detach())


@op(BOTH, "size", "sym_size", "dim", "numel", "sym_numel", "stride", "sym_stride", "unbind", "is_contiguous", "values")
def _method(func: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    name = name_of(func)
    if name == "size" and hasattr(func, "_schema"):
        raise RuntimeError(
            "NestedTensor does not support directly calling torch.ops.aten.size; "
            "please use `nested_tensor.size()` instead."
        )
    return getattr(x, name.removeprefix("sym_"))(*args, **kwargs)


@op(BOTH, "is_non_overlapping_and_dense")
def _no_overlap(func: Any, x: Any) -> bool:
    return False


@op(BOTH, "sym_storage_offset", "storage_offset")
def _storage_offset(func: Any, x: Any) -> Any:
    return x._values.storage_offset()


@op(BOTH, "is_same_size")
def _is_same_size(func: Any, x: Any, y: Any) -> bool:
    if not (isinstance(x, Nested) and isinstance(y, Nested)):
        return False
    if isinstance(x, StridedNested) and isinstance(y, StridedNested):
        return x._sizes == y._sizes
    return isinstance(x, NestedTensor) and isinstance(y, NestedTensor) and x.shape == y.shape


@op(BOTH, "equal", "allclose")
def _equal(func: Any, x: Any, y: Any, *args: Any, **kwargs: Any) -> bool:
    _check_alike(name_of(func), x, y)
    return all(func(a, b, *args, **kwargs) for a, b in zip(x._parts(), y._parts()))


@op(BOTH, "copy_")
def _copy_(func: Any, x: Any, y: Any, non_blocking: bool = False) -> Any:
    if not isinstance(y, Nested):
        raise RuntimeError("copy_() is only supported between nested tensors, but got a dense source")
    own, other = x._parts(), y._parts()
    if [p.shape for p in own] != [p.shape for p in other]:
        if isinstance(x, NestedTensor):
            raise RuntimeError(
                "copy_(): expected compatible input and src shapes, but got: %s and %s" % (x.shape, y.shape)
            )
        raise RuntimeError("copy_ only supports tensors that are the same size for Nested implementations")
    if x._same_places(y):
        x._values.copy_(y._values)
        return x
    for a, b in zip(own, other):
        a.copy_(b)
    return x


@op(BOTH, "to_padded_tensor")
def _to_padded_tensor(func: Any, x: Any, padding: float, output_size: Any = None) -> Any:
    return padded(x, padding, output_size)


def padded(x: Any, padding: float, output_size: Any = None) -> Any:
    """The dense tensor of the largest sizes."""
    parts = x._parts()
    if isinstance(x, NestedTensor) and x._lengths is not None:
        raise RuntimeError("to_padded_tensor(): not supported for nested tensors with holes")
    if not parts:
        return x._values.new_empty(0)
    if isinstance(x, StridedNested) and not x._packed:
        raise RuntimeError("for now to_padded_tensor only supports contiguous nested tensor")
    if isinstance(x, StridedNested) and not x.numel():
        raise RuntimeError("to_padded_tensor: at least one constituent tensor should have non-zero numel")
    most = [max(p.shape[d] for p in parts) for d in range(parts[0].dim())]
    if output_size is not None:
        if len(output_size) != x.dim():
            raise RuntimeError("Length of output_size does not match NestedTensor dims. Broadcasting is not supported.")
        wanted = list(output_size[1:])
        if any(w < m for w, m in zip(wanted, most)):
            raise RuntimeError(
                "Value in output_size is less than NestedTensor padded size. Truncation is not supported."
            )
        most = wanted
    rows = []
    for p in parts:
        widths = [n for m, s in reversed(list(zip(most, p.shape))) for n in (0, m - s)]
        rows.append(torch.nn.functional.pad(p, widths, value=padding) if p.dim() else p)
    return torch.stack(rows)


@op(BOTH, "linear")
def _linear(func: Any, x: Any, weight: Any, bias: Any = None) -> Any:
    if isinstance(x, StridedNested):
        if x.dim() != 3 or weight.dim() != 2:
            raise RuntimeError(
                "Linear requires nested_tensor.dim == 3 and dense_matrix.dim == 2. Nested tensor dim: %d. Dense tensor "
                "dim: %d" % (x.dim(), weight.dim())
            )
        if not x._packed:
            raise RuntimeError("for now linear only supports contiguous nested tensor")
        last = x.size(-1)
        if last != weight.shape[1]:
            raise RuntimeError(
                "Shape mismatch for NestedTensor Linear: Expected input's (a nested tensor) 'last_dim' to equal "
                "'weight.size(1), but got: last_dim = %d, and weight.size(1) = %d" % (last, weight.shape[1])
            )
        made = func(x._values.view(-1, last), weight, bias)
        return _t.packed(made.view(-1), [(*s[:-1], weight.shape[0]) for s in x._sizes])
    if x._lengths is not None or x._ragged_idx != 1:
        raise ValueError(
            "NestedTensor linear(input: jt, weight: t, bias: t?): expected input to be a contiguous jagged layout "
            "NestedTensor"
        )
    return x._with(func(x._values, weight, bias))


@op(BOTH, "embedding")
def _embedding(func: Any, x: Any, weight: Any, *args: Any, **kwargs: Any) -> Any:
    if not isinstance(x, Nested):  # torch.embedding(weight, indices)
        x, weight = weight, x
        made = func(weight, x._values, *args, **kwargs)
    else:
        made = func(x._values, weight, *args, **kwargs)
    if isinstance(x, NestedTensor):
        return x._with(made)
    return _t.packed(made.reshape(-1), [(*s, weight.shape[1]) for s in x._sizes])


@op(BOTH, "softmax", "log_softmax", "_softmax", "_log_softmax", "_safe_softmax")
def _softmax(func: Any, x: Any, dim: Any = None, *args: Any, **kwargs: Any) -> Any:
    name = name_of(func).removeprefix("_")
    if isinstance(dim, (tuple, list)):
        raise RuntimeError("%s(): not supported for dimensions of type 'tuple' for NestedTensor" % name)
    if dim is None:
        dim = kwargs.pop("dim", -1)
    kwargs.pop("_stacklevel", None)
    if isinstance(x, StridedNested) and not x._sizes:
        return x
    d = _t.wrap_dim(dim, x.dim())
    if isinstance(x, StridedNested):
        if d == 0:
            raise RuntimeError("Cannot apply softmax across nested dimension 0")
        return repacked(x, [func(p, d - 1, *args, **kwargs) for p in x._parts()])
    if d == 0:
        raise RuntimeError("%s(): not supported when reducing across the batch dimension for NestedTensor" % name)
    if d != x._ragged_idx:
        return x._with(func(x._values, d - 1, *args, **kwargs))
    if x._ragged_idx > 1:
        raise RuntimeError(
            "%s(): not supported when reducing along the ragged dimension for ragged_idx > 1 for NestedTensor" % name
        )
    if x._lengths is not None:
        raise RuntimeError(
            "%s(): not supported where lengths is not None if reducing across the ragged dimension for NestedTensor"
            % name
        )
    if name == "log_softmax":
        raise RuntimeError("log_softmax(): not supported when reducing along the ragged dimension for NestedTensor")
    return repacked(x, [func(p, 0, *args, **kwargs) for p in x._parts()], 1)


@op(BOTH, "layer_norm", "native_layer_norm", "rms_norm")
def _layer_norm(
    func: Any, x: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: Any = None, *args: Any
) -> Any:
    name = name_of(func).removeprefix("native_")
    rest: tuple[Any, ...] = (weight, eps)
    if name != "rms_norm":
        rest = (weight, bias, 1e-5 if eps is None else eps)
    elif eps is None and bias is not None:
        rest = (weight, bias)  # given by place
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if isinstance(x, StridedNested):
        if name == "layer_norm" and (weight is None or bias is None):
            raise ValueError("NestedTensor layer_norm requires weight and bias")
        return _norm_of_parts(func, x, shape, rest)
    if name == "layer_norm" and x.dim() <= 2:
        raise RuntimeError("layer_norm(): not supported for NestedTensor objects with 2 or fewer dimensions")
    first = x.dim() - len(shape)
    if first <= 0:
        raise RuntimeError("layer_norm(): not supported when normalizing over the batch dimension for NestedTensor")
    if first > x._ragged_idx:
        return x._with(func(x._values, shape, *rest))
    if name == "rms_norm":
        raise ValueError("rms_norm(): Normalization over the ragged dim not supported for nested tensors")
    if x._lengths is not None:
        raise RuntimeError(
            "layer_norm(): not supported where lengths is not None if operating on the ragged dimension for "
            "NestedTensor"
        )
    parts = [func(p, p.shape[first - 1 :], None, None, rest[-1]) for p in x._parts()]
    made = repacked(x, parts, x._ragged_idx)
    made = made if weight is None else pointwise(torch.mul, "mul", (made, weight), {})
    return made if bias is None else pointwise(torch.add, "add", (made, bias), {})


def _norm_of_parts(func: Any, x: Any, shape: Any, rest: Any) -> Any:
    parts = x._parts()
    first = x.dim() - len(shape)
    for i, n in enumerate(shape):
        found = {s[first + i - 1] for s in x._sizes} if first + i > 0 else set()
        if len(found) != 1:
            raise RuntimeError("normalized_shape extends into irregular dimensions for the nested tensor")
        if found != {n}:
            raise RuntimeError(
                "The shape at dimension %dof normalized_shape doesn't match the input" % i  # so PyTorch writes it
            )
    return repacked(x, [func(p, shape, *rest) for p in parts])


@op(BOTH, "matmul", "__matmul__", "bmm", "__rmatmul__")
def _matmul(func: Any, a: Any, b: Any) -> Any:
    x: Any = a if isinstance(a, Nested) else b
    both = isinstance(a, Nested) and isinstance(b, Nested)
    if isinstance(x, StridedNested):
        return _matmul_strided(name_of(func), a, b, both)
    return _matmul_jagged(a, b, both)


def _matmul_strided(name: str, a: Any, b: Any, both: bool) -> Any:
    if not both:
        if isinstance(a, Nested) and a.dim() > 3 and b.dim() == 2:
            return _t.from_parts([torch.matmul(p, b) for p in a._parts()], a)
        kinds = ("a nested", "non-nested") if isinstance(a, Nested) else ("a non-nested", "nested")
        raise RuntimeError("Expected both to be nested, but got %s self and %s other" % kinds)
    if name == "bmm":
        for i, n in enumerate((a, b), 1):
            if n.dim() != 3:
                raise RuntimeError("batch%d must be a 3D tensor" % i)
    for which, n in (("1st", a), ("2nd", b)):
        if n.dim() < 3:
            raise RuntimeError(
                "matmul: For nested tensors, only inputs with >= 3 dims are currently supported. %s input has "
                "rank: %d" % (which, n.dim())
            )
    if len(a._sizes) != len(b._sizes):
        raise RuntimeError(
            "matmul: Expected size for the 1st dimension of 2nd input tensor to be: %d but got: %d."
            % (len(a._sizes), len(b._sizes))
        )
    return _t.from_parts([torch.matmul(p, q) for p, q in zip(a._parts(), b._parts())], a)


def _matmul_jagged(a: Any, b: Any, both: bool) -> Any:
    if both:
        if a._ragged_idx == a.dim() - 1 and b._ragged_idx == b.dim() - 2:
            if a._key() is b._key():
                return torch.stack([torch.matmul(p, q) for p, q in zip(a._parts(), b._parts())])
        else:
            inner = a.dim() - 1 != a._ragged_idx and b._ragged_idx not in (b.dim() - 1, b.dim() - 2)
            if inner and a.dim() == b.dim() and a.shape[: a._ragged_idx + 1] == b.shape[: b._ragged_idx + 1]:
                return a._with(torch.matmul(a._values, b._values))
    elif isinstance(a, NestedTensor) and a._ragged_idx < a.dim() - 1:
        if b.dim() == 2:
            return a._with(torch.matmul(a._values, b))
        if b.dim() == a.dim() and b.shape[0] == len(a):
            return repacked(a, [torch.matmul(p, q) for p, q in zip(a._parts(), b)], a._ragged_idx)
    shapes = tuple(a.shape), b.shape if isinstance(b, NestedTensor) else "torch.Size(%s)" % list(b.shape)
    raise RuntimeError("matmul(): not supported between inputs of shapes %s and %s" % shapes)


@op(BOTH, "where")
def _where(func: Any, condition: Any, a: Any, b: Any) -> Any:
    return pointwise(func, "where", (condition, a, b), {})
