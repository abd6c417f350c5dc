"""Images: interpolation, unfolding into columns and shuffling of pixels and channels."""

from __future__ import annotations

import math

import torchlite as torch
from torchlite._core.device import suggested_format

from .._core.errors import not_implemented
from ._declare import _functions, op

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MODES = {"nearest": 0, "_nearest_exact": 1, "linear": 2, "bilinear": 2, "trilinear": 2, "bicubic": 3, "lanczos": 4}


# ---- interpolation ---------------------------------------------------------------------------------------------------
@op(
    "_upsample(Tensor self, int mode, SymInt[] output_size, bool align_corners, bool antialias, Any scales) -> Tensor",
    module="_hidden",
    kernel="_upsample",
    node="UpsampleBackward0",
    grad={"self": lambda c, g: _upsample_backward(g, c.mode, c.self_shape[2:], c.align_corners, c.antialias, c.scales)},
    samples=lambda t: [(t(1, 2, 4, 5), 2, [6, 3], False, False, None)],
)
def _upsample(self, mode, output_size, align_corners, antialias, scales):
    """Resizes the dims behind the first two; mode 0 nearest, 1 exact nearest, 2 linear, 3 cubic, 4 Lanczos."""


@op(
    "_upsample_backward(Tensor grad_output, int mode, SymInt[] input_size, bool align_corners, bool antialias, "
    "Any scales) -> Tensor",
    module="_hidden",
    kernel="_upsample_backward",
    grad={
        "grad_output": lambda c, g: _upsample(
            g, c.mode, c.grad_output_shape[2:], c.align_corners, c.antialias, c.scales
        )
    },
)
def _upsample_backward(grad_output, mode, input_size, align_corners, antialias, scales):
    """Gradient of `_upsample` for its input."""


def _resize(name, x, mode, output_size, align_corners, antialias, scales, n):
    if output_size is None:
        output_size = [int(math.floor(float(s) * f)) for s, f in zip(x.shape[2:], scales)]
    if len(output_size) != n:
        raise RuntimeError(f"It is expected output_size equals to {n}, but got size {len(output_size)}")
    if x.dim() != n + 2:
        raise RuntimeError(f"It is expected input_size equals to {n + 2}, but got size {x.dim()}")
    if min(output_size) <= 0 or min(x.shape[2:]) <= 0:
        letters = "DHW"[3 - n :]
        have, want = (", ".join(f"{k}: {v}" for k, v in zip(letters, sizes)) for sizes in (x.shape[2:], output_size))
        raise RuntimeError(f"Input and output sizes should be greater than 0, but got input ({have}) output ({want})")
    if 0 in x.shape[1:]:
        raise RuntimeError(f"Non-empty {n + 2}D data tensor expected but got a tensor with sizes {list(x.shape)}")
    if antialias:
        if x.dtype not in (torch.float32, torch.float64, torch.uint8):
            raise not_implemented("compute_index_ranges_weights", x.dtype)
    elif mode in ("linear", "trilinear") and not x.is_floating_point():
        raise not_implemented("compute_indices_weights_linear", x.dtype)
    elif not (x.is_floating_point() or x.dtype == torch.uint8):
        raise not_implemented(f"{name}_channels_last", x.dtype)
    return _upsample(x, _MODES[mode], tuple(output_size), align_corners, antialias, scales)


def _declare_upsample(mode, n, antialias=False):
    name = (
        ("_" if antialias else "")
        + f"{'_upsample' if mode[0] == '_' else 'upsample'}{'' if mode[0] == '_' else '_'}{mode}{n}d"
        + ("_aa" if antialias else "")
    )
    name = name.replace("__", "_")
    corners = mode in ("linear", "bilinear", "trilinear", "bicubic", "lanczos")
    each = ["scales"] if n == 1 else ["scales_d", "scales_h", "scales_w"][3 - n :]
    own = "".join(f", float? {s}=None" for s in each)
    al = ", bool align_corners" if corners else ""
    doc = f"Resizes the {n} spatial dim(s) of `self` (N, C, d...) to `output_size`."
    plain: Any
    vec: Any
    if corners:

        def with_corners(self, output_size, align_corners, scales_d=None, scales_h=None, scales_w=None, scales=None):
            s = [{"scales": scales, "scales_d": scales_d, "scales_h": scales_h, "scales_w": scales_w}[k] for k in each]
            return _resize(name, self, mode, output_size, align_corners, antialias, s if any(s) else None, n)

        def vec_with_corners(input, output_size, align_corners, scale_factors):
            return _resize(name, input, mode, output_size, align_corners, antialias, scale_factors, n)

        plain, vec = with_corners, vec_with_corners
    else:

        def without_corners(self, output_size, scales_d=None, scales_h=None, scales_w=None, scales=None):
            s = [{"scales": scales, "scales_d": scales_d, "scales_h": scales_h, "scales_w": scales_w}[k] for k in each]
            return _resize(name, self, mode, output_size, False, False, s if any(s) else None, n)

        def vec_without_corners(input, output_size, scale_factors):
            return _resize(name, input, mode, output_size, False, False, scale_factors, n)

        plain, vec = without_corners, vec_without_corners

    plain.__doc__ = vec.__doc__ = doc
    op(f"{name}.vec(Tensor input, SymInt[]? output_size{al}, float[]? scale_factors) -> Tensor", module="_nn")(vec)
    if n == 2:  # bodies get their arguments by position, in the schema's order
        run = plain
        if corners:

            def with_corners_2d(self, output_size, align_corners, scales_h=None, scales_w=None):
                return run(self, output_size, align_corners, None, scales_h, scales_w)

            plain = with_corners_2d
        else:

            def without_corners_2d(self, output_size, scales_h=None, scales_w=None):
                return run(self, output_size, None, scales_h, scales_w)

            plain = without_corners_2d

        plain.__doc__ = doc
    elif n == 1:
        run1 = plain
        if corners:

            def with_corners_1d(self, output_size, align_corners, scales=None):
                return run1(self, output_size, align_corners, None, None, None, scales)

            plain = with_corners_1d
        else:

            def without_corners_1d(self, output_size, scales=None):
                return run1(self, output_size, None, None, None, scales)

            plain = without_corners_1d

        plain.__doc__ = doc
    op(f"{name}(Tensor self, SymInt[{n}] output_size{al}{own}) -> Tensor", module="_nn")(plain)


for _mode, _n, _aa in [
    ("nearest", 1, 0),
    ("nearest", 2, 0),
    ("nearest", 3, 0),
    ("_nearest_exact", 1, 0),
    ("_nearest_exact", 2, 0),
    ("_nearest_exact", 3, 0),
    ("linear", 1, 0),
    ("bilinear", 2, 0),
    ("trilinear", 3, 0),
    ("bicubic", 2, 0),
    ("bilinear", 2, 1),
    ("bicubic", 2, 1),
    ("lanczos", 2, 1),
]:
    _declare_upsample(_mode, _n, bool(_aa))


# ---- columns ---------------------------------------------------------------------------------------------------------
def _pair(v, name):
    v = (v, v) if isinstance(v, int) else tuple(v)
    if len(v) != 2:
        raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(v)}")
    return v


def _window(kernel_size, dilation, padding, stride):
    k, d, p, s = (
        _pair(kernel_size, "kernel_size"),
        _pair(dilation, "dilation"),
        _pair(padding, "padding"),
        _pair(stride, "stride"),
    )
    for name, short, v, low in (
        ("kernel size", "kernel", k, 1),
        ("stride", "stride", s, 1),
        ("dilation", "dilation", d, 1),
        ("padding", "pad", p, 0),
    ):
        if v[0] < low or v[1] < low:
            raise RuntimeError(
                f"{name} should be {'greater than zero' if low else 'non-negative'}, but got {short}_height: {v[0]} "
                f"{short}_width: {v[1]}"
            )
    return k, d, p, s


def _blocks(size, k, d, p, s):
    return [(n + 2 * p[i] - d[i] * (k[i] - 1) - 1) // s[i] + 1 for i, n in enumerate(size)]


@op(
    "_im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor",
    module="_hidden",
    kernel="im2col",
    node="Im2ColBackward0",
    grad={"self": lambda c, g: _col2im(g, c.self_shape[2:], c.kernel_size, c.dilation, c.padding, c.stride)},
)
def _im2col(self, kernel_size, dilation, padding, stride):
    """Complex images, by their parts."""
    return torch.complex(
        *(_im2col(x.contiguous(), kernel_size, dilation, padding, stride) for x in (torch.real(self), torch.imag(self)))
    )


@op(
    "_col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, "
    "int[2] stride) -> Tensor",
    module="_hidden",
    kernel="col2im",
    node="Col2ImBackward0",
    grad={"self": lambda c, g: _im2col(g, c.kernel_size, c.dilation, c.padding, c.stride)},
)
def _col2im(self, output_size, kernel_size, dilation, padding, stride):
    """Complex columns, by their parts."""
    return torch.complex(
        *(
            _col2im(x.contiguous(), output_size, kernel_size, dilation, padding, stride)
            for x in (torch.real(self), torch.imag(self))
        )
    )


@op(
    "im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor",
    module="_nn",
    samples=lambda t: [(t(2, 3, 5, 6), [2, 3], [1, 1], [0, 1], [1, 2])],
)
def im2col(self, kernel_size, dilation, padding, stride):
    """Windows of images (N, C, H, W) as columns (N, C * kh * kw, blocks)."""
    k, d, p, s = _window(kernel_size, dilation, padding, stride)
    if self.dim() not in (3, 4) or 0 in self.shape[-3:]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
            f"input, but got: {list(self.shape)}"
        )
    blocks = _blocks(self.shape[-2:], k, d, p, s)
    if min(blocks) < 1:
        raise RuntimeError(
            f"Given input with spatial size ({self.shape[-2]}, {self.shape[-1]}), kernel_size=({k[0]}, {k[1]}), "
            f"dilation=({d[0]}, {d[1]}), padding=({p[0]}, {p[1]}), calculated shape of the array of sliding blocks "
            f"as ({blocks[0]}, {blocks[1]}), but its components must be at least one."
        )
    if self.dtype in (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8):
        raise not_implemented("im2col_out_cpu", self.dtype)
    x = self if self.dim() == 4 else self.unsqueeze(0)
    y = _im2col(x, k, d, p, s)
    return y if self.dim() == 4 else y.squeeze(0)


@op(
    "col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, "
    "int[2] stride) -> Tensor",
    module="_nn",
    samples=lambda t: [(t(2, 12, 6), [4, 3], [2, 2], [1, 1], [0, 0], [1, 1])],
)
def col2im(self, output_size, kernel_size, dilation, padding, stride):
    """Sums columns (N, C * kh * kw, blocks) into images (N, C, H, W)."""
    out = _pair(output_size, "output_size")
    k, d, p, s = _window(kernel_size, dilation, padding, stride)
    if self.dim() not in (2, 3) or 0 in self.shape[-2:]:
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions "
            f"for input, but got: {list(self.shape)}"
        )
    if self.shape[-2] % (k[0] * k[1]):
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, "
            f"but got input.size(1)={self.shape[-2]} and kernel_size=({k[0]}, {k[1]})."
        )
    b = _blocks(out, k, d, p, s)
    given = (
        f"Given output_size=({out[0]}, {out[1]}), kernel_size=({k[0]}, {k[1]}), dilation=({d[0]}, {d[1]}), "
        f"padding=({p[0]}, {p[1]}), stride=({s[0]}, {s[1]}), "
    )
    if not (self.is_floating_point() or self.is_complex() or self.dtype == torch.bool):
        raise not_implemented("col2im_out_cpu", self.dtype)
    if min(b) < 1:
        raise RuntimeError(
            given
            + f"calculated shape of the array of sliding blocks as ({b[0]}, {b[1]}), which is too small (non-positive)"
        )
    if self.shape[-1] != b[0] * b[1]:
        raise RuntimeError(
            given
            + f"expected size of input's dimension 2 to match the calculated number of sliding blocks {b[0]} * {b[1]} "
            f"= {b[0] * b[1]}, but got input.size(2)={self.shape[-1]}."
        )
    x = self if self.dim() == 3 else self.unsqueeze(0)
    y = _col2im(x, out, k, d, p, s)
    return y if self.dim() == 3 else y.squeeze(0)


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """Windows of images (N, C, H, W) as columns (N, C * kh * kw, blocks)."""
    return im2col(
        input,
        _pair(kernel_size, "kernel_size"),
        _pair(dilation, "dilation"),
        _pair(padding, "padding"),
        _pair(stride, "stride"),
    )


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Sums columns (N, C * kh * kw, blocks) into images (N, C, H, W) of `output_size`."""
    return col2im(
        input,
        _pair(output_size, "output_size"),
        _pair(kernel_size, "kernel_size"),
        _pair(dilation, "dilation"),
        _pair(padding, "padding"),
        _pair(stride, "stride"),
    )


# ---- shuffles --------------------------------------------------------------------------------------------------------
def _gathered(x, parts, like):
    """A copy of the view x, whose dims are split in `parts` (sizes of each dim of the result),
    in the memory format that `like` asks for."""
    y = torch.empty([math.prod(p) for p in parts], dtype=x.dtype, device=x.device, memory_format=suggested_format(like))
    view = y
    for d in reversed(range(len(parts))):
        if len(parts[d]) > 1:
            view = view.unflatten(d, parts[d])
    view.copy_(x)
    return y


@op(
    "pixel_shuffle(Tensor self, int upscale_factor) -> Tensor",
    variants="function",
    alias=("nn.pixel_shuffle",),
    grad={"self": lambda c, g: pixel_unshuffle(g, c.upscale_factor)},
    samples=lambda t: [(t(2, 8, 3, 2), 2)],
)
def pixel_shuffle(self, upscale_factor):
    """(*, C * r * r, H, W) to (*, C, H * r, W * r)."""
    r = upscale_factor
    if self.dim() < 3:
        raise RuntimeError(
            f"pixel_shuffle expects input to have at least 3 dimensions, but got input with {self.dim()} dimension(s)"
        )
    if r <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    lead, (c, h, w) = tuple(self.shape[:-3]), self.shape[-3:]
    if c % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
            f"upscale_factor, but input.size(-3)={c} is not divisible by {r * r}"
        )
    x = self.reshape(lead + (c // (r * r), r, r, h, w))
    n = len(lead)
    return _gathered(
        x.permute(list(range(n)) + [n, n + 3, n + 1, n + 4, n + 2]),
        [*((s,) for s in lead), (c // (r * r),), (h, r), (w, r)],
        self,
    )


@op(
    "pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor",
    variants="function",
    alias=("nn.pixel_unshuffle",),
    grad={"self": lambda c, g: pixel_shuffle(g, c.downscale_factor)},
    samples=lambda t: [(t(2, 3, 4, 6), 2)],
)
def pixel_unshuffle(self, downscale_factor):
    """(*, C, H * r, W * r) to (*, C * r * r, H, W)."""
    r = downscale_factor
    if self.dim() < 3:
        raise RuntimeError(
            f"pixel_unshuffle expects input to have at least 3 dimensions, but got input with {self.dim()} dimension(s)"
        )
    if r <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {r}")
    lead, (c, h, w) = tuple(self.shape[:-3]), self.shape[-3:]
    for word, size, d in (("height", h, -2), ("width", w, -1)):
        if size % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {word} to be divisible by downscale_factor, but input.size({d})={size} is "
                f"not divisible by {r}"
            )
    n = len(lead)
    x = self.reshape(lead + (c, h // r, r, w // r, r))
    return _gathered(
        x.permute(list(range(n)) + [n, n + 2, n + 4, n + 1, n + 3]),
        [*((s,) for s in lead), (c, r, r), (h // r,), (w // r,)],
        self,
    )


@op(
    "channel_shuffle(Tensor self, SymInt groups) -> Tensor",
    variants="function",
    alias=("nn.channel_shuffle", "native_channel_shuffle", "nn.native_channel_shuffle"),
    grad={"self": lambda c, g: channel_shuffle(g, c.self_shape[1] // c.groups)},
    samples=lambda t: [(t(2, 6, 3, 2), 3)],
)
def channel_shuffle(self, groups):
    """Takes channels from each of `groups` groups in turn."""
    if self.dim() <= 2:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(self.shape)}")
    c = self.shape[1]
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    if c % groups:
        raise RuntimeError(f"Number of channels must be divisible by groups. Got {c} channels and {groups} groups.")
    x = self.reshape([self.shape[0], groups, c // groups] + list(self.shape[2:])).transpose(1, 2)
    return _gathered(x, [(self.shape[0],), (c // groups, groups), *((s,) for s in self.shape[2:])], self)


_functions.setdefault("nn", {}).update(unfold=unfold, fold=fold)
