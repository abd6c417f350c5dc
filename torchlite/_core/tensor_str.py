"""Text of tensors, character for character as PyTorch prints them.

The elements that will be shown are fetched once as nested lists (cut ends joined by an Ellipsis); everything after
that is plain Python on numbers and strings.
"""

from __future__ import annotations


import contextlib

import torchlite as torch

from .. import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any
    from .._types import Size, Tensor


_PROFILES = {"default": (4, 1000, 3, 80), "short": (2, 1000, 2, 80), "full": (4, float("inf"), 3, 80)}
_FIELDS = ("precision", "threshold", "edgeitems", "linewidth")


class _Options:
    __slots__ = (*_FIELDS, "sci_mode")

    def __init__(self) -> None:
        self.precision, self.threshold, self.edgeitems, self.linewidth = _PROFILES["default"]
        self.sci_mode = None


PRINT_OPTS = _Options()


def set_printoptions(
    precision: Any = None,
    threshold: Any = None,
    edgeitems: Any = None,
    linewidth: Any = None,
    profile: str | None = None,
    sci_mode: Any = None,
) -> Any:
    """Sets how tensors are printed: digits after the point, number of elements from which a tensor is summarised,
    elements shown at each edge then, characters per line, and scientific notation (None: chosen from the values).
    `profile` is "default", "short" or "full"."""
    if profile in _PROFILES:
        for name, value in zip(_FIELDS, _PROFILES[profile]):
            setattr(PRINT_OPTS, name, value)
    for name, value in zip(_FIELDS, (precision, threshold, edgeitems, linewidth)):
        if value is not None:
            setattr(PRINT_OPTS, name, value)
    PRINT_OPTS.sci_mode = sci_mode


def get_printoptions() -> dict[str, int | None]:
    """The current print options, as keyword arguments of `set_printoptions`."""
    return {name: getattr(PRINT_OPTS, name) for name in _Options.__slots__}


@contextlib.contextmanager
def printoptions(**kwargs: Any) -> Iterator[Any]:
    """Changes the print options inside a `with` block."""
    before: dict[str, Any] = get_printoptions()
    try:
        set_printoptions(**kwargs)
        yield
    finally:
        set_printoptions(**before)


def _int_format(values: list[int]) -> tuple[int, Callable[..., Any]]:
    width = max([1, *(len(str(v)) for v in values)])
    return width, lambda v: str(v).rjust(width)


def _float_format(values: list[float]) -> tuple[int, Callable[..., Any]]:
    """(width, function number -> text) for a tensor whose shown elements are `values`."""
    finite = [v for v in values if v and v - v == 0]  # neither zero, nan nor infinite
    if not finite:
        return 1, lambda v: _whole(v)
    sizes = [abs(v) for v in finite]
    small, large = min(sizes), max(sizes)
    scientific = PRINT_OPTS.sci_mode
    if scientific is None:
        scientific = large / small > 1000.0 or large > 1e8 or small < 1e-4
    precision = PRINT_OPTS.precision
    if scientific:
        spec = f".{precision}e"
    elif all(v == int(v) for v in finite):
        width = max(len(f"{v:.0f}") for v in finite) + 1
        return width, lambda v: _whole(v).rjust(width)
    else:
        spec = f".{precision}f"
    width = max(len(format(v, spec)) for v in finite)
    return width, lambda v: format(v, spec).rjust(width)


def _whole(v: Any) -> str:
    text = f"{v:.0f}"
    return text + "." if v - v == 0 else text


def _complex_format(values: list[complex]) -> tuple[int, Callable[..., Any]]:
    real_width, real = _float_format([v.real for v in values])
    imag_width, imag = _float_format([v.imag for v in values])

    def show(v: Any) -> str:
        text = (imag(v.imag) + "j").lstrip()
        return real(v.real) + (text if text[0] in "+-" else "+" + text)

    return real_width + imag_width + 1, show


def _flatten(data: Any, out: Any) -> Any:
    for item in data:
        if item.__class__ is list:
            _flatten(item, out)
        elif item is not Ellipsis:
            out.append(item)
    return out


def _join_ends(head: list[Any], tail: list[Any], depth: int) -> list[Any]:
    if depth == 0:
        return [*head, Ellipsis, *tail]
    return [x if x is Ellipsis else _join_ends(x, y, depth - 1) for x, y in zip(head, tail)]


# A summary shows up to 6 elements of each dimension. A file can claim so many dimensions that this is too much.
_MOST_SHOWN = 300_000


def _edge(shape: Size) -> int:
    """Elements shown at each end of a dimension in a summary: fewer than asked for where all together are too many."""
    edge = PRINT_OPTS.edgeitems
    while edge > 0:
        shown = 1
        for n in shape:
            shown *= min(n, 2 * edge)
        if shown <= max(_MOST_SHOWN, PRINT_OPTS.threshold):
            return edge
        edge = min(edge // 2, 16)
    return 0


def _edges(t: Tensor, dim: int, edge: int) -> list[Any]:
    """Nested lists of the elements a summary shows, from dimension `dim` on."""
    if dim == t.dim():
        return t.tolist()
    n = t.shape[dim]
    if n <= 2 * edge:
        return _edges(t, dim + 1, edge)
    return _join_ends(
        _edges(t.narrow(dim, 0, edge), dim + 1, edge), _edges(t.narrow(dim, n - edge, edge), dim + 1, edge), dim
    )


def _vector(data: Any, indent: int, width: int, show: Callable[..., Any]) -> str:
    # the separator ", " belongs to an element
    per_line = max(1, (PRINT_OPTS.linewidth - indent) // (width + 2))
    texts = [" ..." if v is Ellipsis else show(v) for v in data]
    lines = [", ".join(texts[i : i + per_line]) for i in range(0, len(texts), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _nested(data: Any, dims: int, indent: int, width: int, show: Callable[..., Any]) -> Any:
    if dims == 0:
        return show(data)
    if dims == 1:
        return _vector(data, indent, width, show)
    parts = ["..." if d is Ellipsis else _nested(d, dims - 1, indent + 1, width, show) for d in data]
    return "[" + ("," + "\n" * (dims - 1) + " " * (indent + 1)).join(parts) + "]"


def _zeroed(data: Any, small: float) -> Any:
    if isinstance(data, list):
        return [_zeroed(d, small) for d in data]
    return 0.0 if data == small else data


def _tensor_str(t: Any, indent: Any) -> str:
    """The bracketed elements of `t`, continued lines indented by `indent`."""
    if t.dtype is torch.float4_e2m1fn_x2:  # two in a byte: PyTorch shows the byte
        t = t.view(torch.uint8).double()
    n = t.numel()
    if n == 0:
        return "[]"
    if n > PRINT_OPTS.threshold and t.dim():
        edge = _edge(t.shape)
        if not edge:
            return "[...]"
        data = _edges(t, 0, edge)
    else:
        data = t.tolist()
    values = _flatten(data, []) if t.dim() else [data]
    dtype = t.dtype
    if dtype is torch.float8_e8m0fnu:  # its smallest number stands for 0
        small = 2.0**-127
        shown: Any = [v for v in values if v != small]
        return _nested(_zeroed(data, small), t.dim(), indent, *_float_format(shown))
    if dtype.is_complex:
        make: Callable[[Any], tuple[int, Callable[..., str]]] = _complex_format
    elif dtype.is_floating_point:
        make = _float_format
    else:
        make = _int_format
    return _nested(data, t.dim(), indent, *make(values))


def _suffixes(t: Tensor, contents: Any) -> tuple[str | None, list[str]]:
    """(text of the elements, or None; list of "name=value" parts)."""
    parts = []
    default = torch.get_default_dtype()
    if t.device.type != "cpu":
        parts.append(f"device='{t.device}'")
    # a fake tensor says "..." too
    fake = contents == "..." and type(t).__name__ == "FakeTensor"
    meta, empty = t.device.type == "meta" or fake, t.numel() == 0
    if meta or empty:
        # no element shows the dtype, so only the default one goes without saying
        if meta or t.dim() != 1:
            parts.append(f"size={tuple(t.shape)}")
        if t.dtype != default:
            parts.append(f"dtype={t.dtype}")
        if contents is None:
            contents = "..." if meta else "[]"
    else:
        if not PRINT_OPTS.edgeitems:
            parts.append(f"size={tuple(t.shape)}")
        default_complex = torch.complex128 if default == torch.float64 else torch.complex64
        if t.dtype not in (default, default_complex, torch.int64, torch.bool):
            parts.append(f"dtype={t.dtype}")
    try:
        made = t.grad_fn
        made = None if made is None else type(made).__name__
    except RuntimeError:  # a view that a change in place cut off from its history
        made = "Invalid"
    if made is not None:
        parts.append(f"grad_fn=<{made}>")
    elif t.requires_grad:
        parts.append("requires_grad=True")
    if _C.forward_ad(None):
        from ..autograd.forward_ad import tangent_of

        tangent = tangent_of(t)
        if tangent is not None:
            parts.append(f"tangent={tangent}")
    return contents, parts


def add_suffixes(text: str, parts: list[str], indent: int, newline: bool = False) -> str:
    """`text`, then the "name=value" parts and ")", in lines of at most linewidth. newline: they begin on a new line."""
    used = len(text) - text.rfind("\n") + 1
    for part in parts:
        if newline or used + len(part) + 2 > PRINT_OPTS.linewidth:
            text += ",\n" + " " * indent + part
            used, newline = indent + len(part), False
        else:
            text += ", " + part
            used += len(part) + 2
    return text + ")"


def _add_suffixes(tensor_str: str, suffixes: list[str], indent: int, force_newline: bool) -> str:
    """The name and the arguments by which packages call add_suffixes."""
    return add_suffixes(tensor_str, suffixes, indent, force_newline)


def _str(t: Tensor, *, tensor_contents: Any = None) -> str:
    """repr of a tensor."""
    cls = type(t)
    parameter = torch.nn.Parameter
    plain = cls is torch.Tensor or cls is parameter
    prefix = "tensor(" if plain else cls.__name__ + "("
    with torch.no_grad():
        contents, parts = _suffixes(t, tensor_contents)
        text = prefix + (_tensor_str(t, len(prefix)) if contents is None else contents)
    text = add_suffixes(text, parts, len(prefix))
    return text if plain or not isinstance(t, parameter) else f"Parameter({text})"


_str_intern = _str  # packages print their subclasses with it
