"""Images read at the positions of a grid, and grids of affine maps."""

from __future__ import annotations

import itertools

import torchlite as torch

from .._core.errors import not_implemented
from ._declare import _functions, op

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _clip(x, size, dims):
    """Into 0 .. size - 1; no gradient at and beyond the ends. NaN is the first of an image, the last of a volume."""
    inside = (x > 0) & (x < size - 1)
    ends = torch.where(x > 0, size - 1.0, 0.0) if dims == 2 else torch.where(x <= 0, 0.0, size - 1.0)
    return torch.where(inside, x, ends.to(x.dtype))


def _pad_coordinate(x, size, padding, align, dims):
    if padding == 1:
        return _clip(x, size, dims)
    if padding == 2:
        low, span = (0.0, float(size - 1)) if align else (-0.5, float(size))
        if span == 0:
            x = x * 0
        else:
            x = (x - low).abs()
            extra, flips = torch.fmod(x, span), torch.floor(x.detach() / span)
            x = torch.where(flips % 2 == 0, extra + low, span - extra + low)
        return _clip(x, size, dims)
    return x if dims == 2 else torch.where(x.abs() < 2**31, x, -100.0)  # outside, as what is no int32 in a volume


def _at(flat, coords, sizes):
    """Values (N, C, ...) of flat images at whole coordinates (last dim of the image first), zero outside."""
    index: Any = None
    valid: Any = None
    for x, size in zip(reversed(coords), reversed(sizes)):
        ok = (x >= 0) & (x <= size - 1)
        i = torch.where(ok, x, 0.0).to(torch.int64)
        index = i if index is None else index * size + i
        valid = ok if valid is None else valid & ok
    n, c = flat.shape[:2]
    got = flat.gather(2, index.flatten(1).unsqueeze(1).expand(n, c, -1)).reshape((n, c) + tuple(index.shape[1:]))
    return torch.where(valid.unsqueeze(1), got, 0.0)  # not a product: what lies there may be NaN


def _cubic(t):
    """Weights of the four neighbours for a fraction t (a = -0.75)."""
    a = -0.75

    def near(x):
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x):
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _check_grid(x, grid):
    if x.dtype != grid.dtype:
        raise RuntimeError(f"expected scalar type {x.dtype._scalar_type} but found {grid.dtype._scalar_type}")
    if x.shape[0] != grid.shape[0]:
        raise RuntimeError(
            "grid_sampler(): expected grid and input to have same batch size, but got input with sizes "
            f"{list(x.shape)} and grid with sizes {list(grid.shape)}"
        )
    if grid.shape[-1] != x.dim() - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {x.dim() - 2} in last dimension, but got grid with sizes "
            f"{list(grid.shape)}"
        )
    for i in range(2, x.dim()):
        if x.shape[i] == 0:
            raise RuntimeError(
                "grid_sampler(): expected input to have non-empty spatial dimensions, "
                f"but input has sizes {list(x.shape)} with dimension {i} being empty"
            )
    if not x.is_floating_point():
        raise not_implemented("grid_sampler_2d_cpu_kernel_impl" if x.dim() == 4 else "grid_sampler3d_cpu", x.dtype)


def _coordinates(grid, sizes, mode, padding, align):
    """Positions in elements, for sizes from the last dim on."""
    coords = []
    for i, size in enumerate(sizes):
        x = grid[..., i]
        x = (x + 1) / 2 * (size - 1) if align else ((x + 1) * size - 1) / 2
        coords.append(x if mode == 2 else _pad_coordinate(x, size, padding, align, len(sizes)))
    return coords


def _sampled(input, grid, interpolation_mode, padding_mode, align_corners):
    """grid_sampler of valid arguments, from ops that have gradients."""
    sizes = list(reversed(input.shape[2:]))
    flat = input.flatten(2)
    coords = _coordinates(grid, sizes, interpolation_mode, padding_mode, align_corners)
    if interpolation_mode == 1:
        out = _at(flat, [x.round() for x in coords], sizes)
        if grid.requires_grad:  # a gradient of zeros, not none
            out = out + torch.where(torch.zeros((), dtype=torch.bool, device=grid.device), grid, 0.0).sum(-1).unsqueeze(
                1
            )
        return out
    low = [x.detach().floor() for x in coords]
    frac = [x - f for x, f in zip(coords, low)]
    if interpolation_mode == 2:
        weights = [_cubic(t) for t in frac]
        taps = [
            [_pad_coordinate(f + j, size, padding_mode, align_corners, 2) for j in (-1, 0, 1, 2)]
            for f, size in zip(low, sizes)
        ]
    else:
        weights = [[1 - t, t] for t in frac]
        taps = [[f, f + 1] for f in low]
    out = None
    for pick in itertools.product(*(range(len(w)) for w in weights)):
        w = weights[0][pick[0]]
        for d in range(1, len(pick)):
            w = w * weights[d][pick[d]]
        term = _at(flat, [taps[d][j] for d, j in enumerate(pick)], sizes) * w.unsqueeze(1)
        out = term if out is None else out + term
    return out


def _slopes(grid, size, padding, align, i):
    """The derivatives of _coordinates in two dims; whole numbers have that of what lies above."""
    x = grid.detach()[..., i]
    x, slope = ((x + 1) / 2 * (size - 1), (size - 1) / 2) if align else (((x + 1) * size - 1) / 2, size / 2)
    if padding == 0:
        return torch.full_like(x, slope)
    if padding == 2:
        low, span = (0.0, float(size - 1)) if align else (-0.5, float(size))
        if span == 0:
            return torch.zeros_like(x)
        back = torch.floor((x - low).abs() / span) % 2 != 0
        slope = torch.where((x < low) ^ back, -slope, slope)
        x = _pad_coordinate(x, size, padding, align, 2)
    return torch.where((x > 0) & (x < size - 1), slope, torch.zeros_like(x))


@op(
    "grid_sampler_2d_backward(Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, "
    "int padding_mode, bool align_corners, bool[2] output_mask) -> (Tensor, Tensor)",
    kernel="grid_sampler_backward",
    variants="function",
    module="aten",
    samples=lambda t: [
        (t(1, 2, 3, 2), t(1, 2, 4, 5), t(1, 3, 2, 2, lo=-1, hi=1), 0, 0, False, (True, True)),
        (t(1, 2, 3, 2), t(1, 2, 4, 5), t(1, 3, 2, 2, lo=-2, hi=2), 0, 2, True, (True, True)),
    ],
)
def grid_sampler_2d_backward(grad_output, input, grid, interpolation_mode, padding_mode, align_corners, output_mask):
    """Gradients of grid_sampler for images and for the grid; None where `output_mask` is false. Not of cubic mode, for
    which grid_sampler makes a graph of several nodes."""
    if interpolation_mode not in (0, 1):
        raise NotImplementedError("grid_sampler_2d_backward: only modes 0 (bilinear) and 1 (nearest) are supported")
    sizes = h, w = input.shape[2:]
    n, c = input.shape[:2]
    coords = _coordinates(grid, (w, h), interpolation_mode, padding_mode, align_corners)
    nearest = interpolation_mode == 1
    low = [(x.round() if nearest else x.floor()).detach() for x in coords]
    images = torch.zeros_like(input, memory_format=torch.contiguous_format).flatten(2)
    places = torch.zeros_like(grid)
    east, south = (x - f for x, f in zip(coords, low))
    toward_x = toward_y = torch.zeros_like(grad_output)
    for right, below in ((0, 0),) if nearest else ((0, 0), (1, 0), (0, 1), (1, 1)):
        wx, wy = east if right else 1 - east, south if below else 1 - south
        at = [low[0] + right, low[1] + below]
        inside = (at[0] >= 0) & (at[0] <= w - 1) & (at[1] >= 0) & (at[1] <= h - 1)
        index = torch.where(inside, at[1] * w + at[0], 0.0).to(torch.int64).flatten(1).unsqueeze(1).expand(n, c, -1)
        given = grad_output if nearest else grad_output * (wx * wy).unsqueeze(1)
        images = images.scatter_add(2, index, torch.where(inside.unsqueeze(1), given, 0.0).flatten(2))
        if not nearest:
            value = grad_output * _at(input.flatten(2), at, (w, h))
            toward_x = toward_x + (value if right else -value) * wy.unsqueeze(1)
            toward_y = toward_y + (value if below else -value) * wx.unsqueeze(1)
    if not nearest:
        slopes = [_slopes(grid, size, padding_mode, align_corners, i) for i, size in enumerate((w, h))]
        places = torch.stack([t.sum(1) * slope for t, slope in zip((toward_x, toward_y), slopes)], -1)
    return images.unflatten(2, sizes) if output_mask[0] else None, places if output_mask[1] else None


def _grid_grad(c, g):
    form = c.interpolation_mode, c.padding_mode, c.align_corners
    return dict(
        zip(
            ("input", "grid"),
            grid_sampler_2d_backward(g, c.input, c.grid, *form, (c.needs_input, c.needs_grid)),
        )
    )


@op(
    "_sampled_images(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) "
    "-> Tensor",
    kernel="grid_sampler",
    module="_hidden",
    tags="own",
    node="GridSampler2DBackward0",
    grad=_grid_grad,
)
def _sampled_images(input, grid, interpolation_mode, padding_mode, align_corners):
    """grid_sampler of images, linear or nearest."""
    return _sampled(input, grid, interpolation_mode, padding_mode, align_corners).contiguous()


@op(
    "grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor",
    variants="function",
    alias=("grid_sampler_2d", "grid_sampler_3d"),
    samples=lambda t: [
        (t(1, 2, 4, 5), t(1, 3, 2, 2, lo=-1, hi=1), 0, 0, False),
        (t(1, 2, 4, 5), t(1, 3, 2, 2, lo=-2, hi=2), 2, 1, True),
    ],
)
def grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners):
    """Values of `input` (N, C, d...) at positions `grid` (N, out..., dims) between -1 and 1, x first.

    interpolation_mode: 0 linear, 1 nearest, 2 cubic; padding_mode: 0 zeros, 1 border, 2 reflection."""
    _check_grid(input, grid)
    if input.dim() not in (4, 5) or input.dim() != grid.dim():
        raise RuntimeError(
            "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got input with sizes "
            f"{list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if input.dim() == 5 and interpolation_mode == 2:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if input.dim() == 4 and interpolation_mode != 2:
        return _sampled_images(input, grid, interpolation_mode, padding_mode, align_corners)
    return _sampled(input, grid, interpolation_mode, padding_mode, align_corners)


def _steps(n, align, like):
    if n <= 1:
        return torch.zeros(n, dtype=like.dtype, device=like.device)
    x = torch.linspace(-1, 1, n, dtype=like.dtype, device=like.device)
    return x if align else x * (n - 1) / n


def _base_grid(size, align_corners, like):
    """The positions (1, places, dims + 1) before theta maps them."""
    n, dims = len(size) - 2, tuple(size[2:])
    axes = []
    for i in range(n):  # x, then y, then z
        shape = [1] * n
        shape[n - 1 - i] = dims[n - 1 - i]
        axes.append(_steps(dims[n - 1 - i], align_corners, like).reshape(shape).expand(dims))
    return (
        torch.stack(axes + [torch.ones(dims, dtype=like.dtype, device=like.device)], -1)
        .reshape(1, -1, n + 1)
        .expand(size[0], -1, -1)
    )


def _affine_grid_grad(c, g):
    base = _base_grid(c.size, c.align_corners, g)
    return base.mT.bmm(g.reshape(g.shape[0], -1, g.shape[-1])).mT


@op(
    "affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor",
    variants="function",
    tags="own",
    grad={"theta": _affine_grid_grad},
    samples=lambda t: [(t(2, 2, 3), [2, 1, 3, 4], False), (t(1, 3, 4), [1, 1, 2, 3, 2], True)],
)
def affine_grid_generator(theta, size, align_corners):
    """A grid (N, out..., dims) for grid_sampler: every position of an image of `size` (N, C, d...),
    mapped by `theta`."""
    n = len(size) - 2
    if n not in (2, 3):
        raise RuntimeError("AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.")
    return (
        _base_grid(size, align_corners, theta).bmm(theta.transpose(1, 2)).reshape((size[0],) + tuple(size[2:]) + (n,))
    )


def _warn_corners():
    import warnings

    warnings.warn(
        "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
        "align_corners=True if the old behavior is desired. See the documentation of grid_sample for details.",
        stacklevel=3,
    )


def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """Values of `input` (N, C, d...) at the positions of `grid` (N, out..., dims), given between -1 and 1, x first."""
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
            f"'{padding_mode}'"
        )
    if align_corners is None:
        _warn_corners()
    return grid_sampler(
        input,
        grid,
        ("bilinear", "nearest", "bicubic").index(mode),
        ("zeros", "border", "reflection").index(padding_mode),
        bool(align_corners),
    )


def affine_grid(theta, size, align_corners=None):
    """A grid for `grid_sample` from affine matrices `theta` (N, 2, 3) or (N, 3, 4) and the output's `size` (N, C,
    d...)."""
    if align_corners is None:
        _warn_corners()
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    shape = tuple(size)
    if len(shape) in (4, 5):
        d = len(shape) - 2
        if theta.dim() != 3 or theta.shape[-2] != d or theta.shape[-1] != d + 1:
            raise ValueError(
                f"Expected a batch of {d}D affine matrices of shape Nx{d}x{d + 1} for size {shape}. Got {theta.shape}."
            )
    else:
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. "
            f"Got size {shape}."
        )
    if min(shape) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {shape}")
    return affine_grid_generator(theta, shape, bool(align_corners))


_functions.setdefault("nn", {}).update(grid_sample=grid_sample, affine_grid=affine_grid)
