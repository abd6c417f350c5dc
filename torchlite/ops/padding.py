"""torch.nn.functional.pad and the padding ops under it."""

import torchlite as torch
from torchlite._C import suggests_channels_last

from .._core.errors import not_implemented
from ._declare import bodies, op


@op(
    "constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor",
    kernel="constant_pad_nd",
    variants="function",
    grad={"self": lambda c, g: torch.constant_pad_nd(g, [-p for p in c.pad], 0)},
    samples=lambda t: [(t(2, 3), (1, 2), 1.5), (t(2, 3), (-1, 1, 0, 2))],
)
def constant_pad_nd(self, pad, value=0):
    """`self` with pad[0], pad[1] elements of `value` before and after its last dim, and so on;
    negative numbers crop."""
    return bodies.constant_pad_nd(self, pad, value)


def _mode_grad(mode):
    return {
        "self": lambda c, g: _backward[mode](
            g,
            c.padding,
            c.self_layout[0],
            mode != "circular" and len(c.padding) > 2 and suggests_channels_last(c.self_layout),
        )
    }


def _mode_double(mode):
    return {"grad_output": lambda c, g: _forward[mode](g, c.padding)}


@op(
    "_pad_reflect(Tensor self, SymInt[] padding) -> Tensor",
    kernel="pad_reflect",
    module="aten",
    variants="function",
    grad=_mode_grad("reflect"),
    formal="self",
    node="ReflectionPad1DBackward0",
    tags="keeps",
)
def _pad_reflect(self, padding):
    """Mirrors at the border elements along the last len(padding) / 2 dims."""
    return bodies.padded(self, padding, bodies.mirrored)


@op(
    "_pad_replicate(Tensor self, SymInt[] padding) -> Tensor",
    kernel="pad_replicate",
    module="aten",
    variants="function",
    grad=_mode_grad("replicate"),
    formal="self",
    node="ReplicationPad1DBackward0",
    tags="keeps",
)
def _pad_replicate(self, padding):
    """Repeats the border elements along the last len(padding) / 2 dims."""
    return bodies.padded(self, padding, bodies.held)


@op(
    "_pad_wrap(Tensor self, SymInt[] padding) -> Tensor",
    kernel="pad_circular",
    module="aten",
    variants="function",
    grad=_mode_grad("circular"),
    node="CopySlices",
    tags="keeps",
)
def _pad_wrap(self, padding):
    """Goes on at the other end along the last len(padding) / 2 dims."""
    return bodies.padded(self, padding, bodies.wrapped)


@op(
    "_pad_reflect_backward(Tensor grad_output, SymInt[] padding, SymInt[] size, bool last=False) -> Tensor",
    kernel="pad_reflect_backward",
    module="aten",
    variants="function",
    grad=_mode_double("reflect"),
)
def _pad_reflect_backward(grad_output, padding, size, last):
    """Adds every gradient to the element it was copied from; `last`: channels last."""
    return bodies.summed(grad_output, padding, size, last, bodies.mirrored)


@op(
    "_pad_replicate_backward(Tensor grad_output, SymInt[] padding, SymInt[] size, bool last=False) -> Tensor",
    kernel="pad_replicate_backward",
    module="aten",
    variants="function",
    grad=_mode_double("replicate"),
)
def _pad_replicate_backward(grad_output, padding, size, last):
    """Adds every gradient to the element it was copied from; `last`: channels last."""
    return bodies.summed(grad_output, padding, size, last, bodies.held)


@op(
    "_pad_wrap_backward(Tensor grad_output, SymInt[] padding, SymInt[] size, bool last=False) -> Tensor",
    kernel="pad_circular_backward",
    module="aten",
    variants="function",
    grad=_mode_double("circular"),
)
def _pad_wrap_backward(grad_output, padding, size, last):
    """Adds every gradient to the element it was copied from; `last`: channels last."""
    return bodies.summed(grad_output, padding, size, last, bodies.wrapped)


_forward = {"reflect": _pad_reflect, "replicate": _pad_replicate, "circular": _pad_wrap}
_backward = {"reflect": _pad_reflect_backward, "replicate": _pad_replicate_backward, "circular": _pad_wrap_backward}


def _check_nd(x, padding, n, name, reflect):
    if len(padding) != 2 * n:
        raise RuntimeError(
            f"padding size is expected to be {2 * n}" + (f", but got: {len(padding)}" if reflect else "")
        )
    d = x.dim()
    if d not in (n + 1, n + 2) or any(s == 0 for s in x.shape[1 if d == n + 2 else 0 :]):
        raise RuntimeError(
            f"Expected {n + 1}D or {n + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {list(x.shape)}"
        )
    for i in range(n):
        lo, hi, size = padding[2 * i], padding[2 * i + 1], x.shape[d - 1 - i]
        if reflect and (lo >= size or hi >= size):
            raise RuntimeError(
                f"Argument #{4 + 2 * i}: Padding size should be less than the corresponding input dimension, "
                f"but got: padding ({lo}, {hi}) at dimension {d - 1 - i} of input {list(x.shape)}"
            )
    sizes = [(x.shape[d - 1 - i], x.shape[d - 1 - i] + padding[2 * i] + padding[2 * i + 1]) for i in reversed(range(n))]
    if all(o < 1 for _, o in sizes):
        names = "DHW"[3 - n :]
        inputs = ", ".join(f"{c}: {s}" for c, (s, _) in zip(names, sizes))
        outputs = " ".join(f"{c}: {o}" for c, (_, o) in zip(names, sizes))
        raise RuntimeError(f"input ({inputs}) is too small. Calculated output {outputs}")
    if x.dtype == torch.bool:
        raise not_implemented(name, torch.bool)


def _make(kind, n):
    mode = "reflect" if kind == "reflection" else "replicate"
    name = f"{kind}_pad{n}d"

    def body(self, padding):
        _check_nd(self, padding, n, name, kind == "reflection")
        return _forward[mode](self, padding)

    body.__name__ = name
    body.__doc__ = f"{kind.capitalize()} padding of the last {n} dim{'s' if n > 1 else ''}: " + (
        "mirrors at the border elements." if kind == "reflection" else "repeats the border elements."
    )
    shape = (2,) * 2 + (4,) * n
    return op(
        f"{name}(Tensor self, SymInt[{2 * n}] padding) -> Tensor",
        module="aten",
        alias=("_nn." + name,),
        samples=lambda t: [(t(*shape), (1, 2) * n)],
    )(body)


reflection_pad1d, reflection_pad2d, reflection_pad3d = (_make("reflection", n) for n in (1, 2, 3))
replication_pad1d, replication_pad2d, replication_pad3d = (_make("replication", n) for n in (1, 2, 3))
_nd = {
    "reflect": (reflection_pad1d, reflection_pad2d, reflection_pad3d),
    "replicate": (replication_pad1d, replication_pad2d, replication_pad3d),
}


def _circular(x, pad):
    n = len(pad) // 2
    if x.dim() not in (n + 1, n + 2):
        raise RuntimeError("Invalid padding size, expected {} but got {}".format(2 * (x.dim() - 2), len(pad)))
    for i in range(n):
        size = x.shape[x.dim() - 1 - i]
        lo, hi = pad[2 * i], pad[2 * i + 1]
        if lo > size or hi > size:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if size + lo + hi < 0:
            raise RuntimeError("Negative padding value is resulting in an empty dimension")
    if any(x.shape[x.dim() - 1 - i] == 0 for i in range(n)):
        raise RuntimeError("Padding value causes wrapping around more than once.")
    return _pad_wrap(x, pad)


_COMBINATIONS = """Padding size {} is not supported for {}D input tensor.
Supported combinations for non-constant padding:
  - 2D or 3D input: padding size = 2 (pads last dimension)
  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)
  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"""


@op(
    'pad(Tensor input, SymInt[] pad, str mode="constant", float? value=None) -> Tensor',
    module="nn",
    samples=lambda t: [
        (t(2, 3), (1, 2)),
        (t(2, 3, 4), (1, 2), "reflect"),
        (t(2, 3, 4), (1, 2, 0, 1), "replicate"),
        (t(2, 3, 4), (1, 2), "circular"),
        (t(2, 3), (-1, 1), "constant", 2.5),
    ],
)
def pad(input, pad, mode="constant", value=None):
    """Pads the last dims by pad = (left, right, top, bottom, ...), from the last dim on.
    Modes: "constant" (any number of dims), "reflect", "replicate", "circular" (the last one to three dims)."""
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) > 2 * input.dim():
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding "
            f"length {len(pad)} and input of dimension {input.dim()}"
        )
    if mode == "constant":
        return torch.constant_pad_nd(input, pad, 0 if value is None else value)
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode not in _forward:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    n = len(pad) // 2
    if not 1 <= n <= 3 or input.dim() not in (n + 1, n + 2):
        raise NotImplementedError(_COMBINATIONS.format(len(pad), input.dim()))
    return _circular(input, pad) if mode == "circular" else _nd[mode][n - 1](input, pad)
