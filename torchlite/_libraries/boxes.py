"""Boxes: non-maximum suppression, and the overlap of rotated boxes."""

from __future__ import annotations

from typing import Any

import torchlite as torch
from torchlite._core.checks import _check
from torchlite._core.errors import not_implemented

BLOCK = 256  # boxes whose overlaps with all later ones are held at once


def check_dtype(kernel: str, tensor: Any) -> None:
    if tensor.dtype not in (torch.float32, torch.float64):
        raise not_implemented(kernel, tensor.dtype)


def at_most(threshold: float, dtype: Any) -> float:
    """The largest number of a dtype that is no more than a threshold: PyTorch compares the double."""
    rounded = torch.tensor(threshold, dtype=dtype)
    if rounded.item() > threshold:
        rounded = torch.nextafter(rounded, torch.full_like(rounded, -torch.inf))
    return rounded.item()


def overlaps(first: Any, second: Any) -> Any:
    """Intersection over union of boxes (n, 4) and (m, 4)."""
    low = torch.maximum(first[:, None, :2], second[None, :, :2])
    high = torch.minimum(first[:, None, 2:], second[None, :, 2:])
    shared = (high - low).clamp(min=0).prod(-1)
    areas = [(b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1]) for b in (first, second)]
    return shared / (areas[0][:, None] + areas[1][None] - shared)


def nms(dets: Any, scores: Any, iou_threshold: float) -> Any:
    """Indices of the boxes that no box with a higher score overlaps by more than the threshold, best first."""
    _check(dets.dim() == 2, lambda: "boxes should be a 2d tensor, got %dD" % dets.dim())
    _check(dets.size(1) == 4, lambda: "boxes should have 4 elements in dimension 1, got %d" % dets.size(1))
    _check(scores.dim() == 1, lambda: "scores should be a 1d tensor, got %dD" % scores.dim())
    _check(
        dets.size(0) == scores.size(0),
        lambda: (
            "boxes and scores should have same number of elements in dimension 0, got %d and %d"
            % (dets.size(0), scores.size(0))
        ),
    )
    _check(dets.dtype == scores.dtype, lambda: "dets should have the same type as scores")
    if not dets.numel():
        return dets.new_empty(0, dtype=torch.int64)
    check_dtype("nms_kernel", dets)
    threshold = at_most(iou_threshold, dets.dtype)
    order = scores.argsort(stable=True, descending=True)
    rest, kept = dets[order], []
    while order.numel():
        over = (overlaps(rest[:BLOCK], rest) > threshold).cpu()
        gone = torch.zeros(order.numel(), dtype=torch.bool)
        chosen = []
        for i in range(over.size(0)):
            if not gone[i].item():
                chosen.append(i)
                gone |= over[i]
        kept.append(order[torch.tensor(chosen, device=order.device)])
        left = (~gone[over.size(0) :]).nonzero().squeeze(1).to(order.device) + over.size(0)
        order, rest = order[left], rest[left]
    return torch.cat(kept)


CORNERS = ((-1, -1), (1, -1), (1, 1), (-1, 1))


def corners(box: Any) -> Any:
    """The four corners of boxes (..., 5): centre, width, height and an angle in degrees."""
    centre, half, angle = box[..., None, :2], box[..., None, 2:4] / 2, box[..., 4:5].deg2rad()
    x, y = (half * box.new_tensor(CORNERS)).unbind(-1)
    cos, sin = angle.cos(), angle.sin()
    return centre + torch.stack([cos * x + sin * y, cos * y - sin * x], -1)


def crossed(a: Any, b: Any) -> Any:
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def inside(points: Any, box: Any) -> Any:
    """Whether points (..., 4, 2) are in rectangles (..., 4, 2), whose corners they may touch."""
    u, v = box[..., None, 1, :] - box[..., None, 0, :], box[..., None, 3, :] - box[..., None, 0, :]
    to = points - box[..., None, 0, :]
    along, across = (to * u).sum(-1), (to * v).sum(-1)
    edge = 1e-5
    fits = (along > -edge) & (along < (u * u).sum(-1) + edge)
    return fits & (across > -edge) & (across < (v * v).sum(-1) + edge)


def box_iou_rotated(boxes1: Any, boxes2: Any) -> Any:
    """Intersection over union of rotated boxes (n, 5) and (m, 5)."""
    check_dtype("box_iou_rotated", boxes1)
    n, m = boxes1.size(0), boxes2.size(0)
    first, second = boxes1.contiguous()[:, None].expand(n, m, 5), boxes2.contiguous()[None].expand(n, m, 5)
    middle = (first[..., :2] + second[..., :2]) / 2  # near 0 the products below lose fewer digits
    p, q = (corners(torch.cat([b[..., :2] - middle, b[..., 2:]], -1)) for b in (first, second))
    edges = [r.roll(-1, -2) - r for r in (p, q)]
    one, two = edges[0][..., :, None, :], edges[1][..., None, :, :]
    apart = q[..., None, :, :] - p[..., :, None, :]
    steep = crossed(one, two)
    parallel = steep.abs() <= 1e-14
    safe = torch.where(parallel, 1.0, steep)
    t, s = crossed(apart, two) / safe, crossed(apart, one) / safe
    edge = 1e-5
    meets = ~parallel & (t > -edge) & (t < 1 + edge) & (s > -edge) & (s < 1 + edge)
    crossings = (p[..., :, None, :] + one * t[..., None]).flatten(-3, -2)
    points = torch.cat([crossings, p, q], -2)
    counts = torch.cat([meets.flatten(-2), inside(p, q), inside(q, p)], -1)
    shared = polygon_area(points, counts)
    areas = (boxes1[:, 2] * boxes1[:, 3])[:, None], (boxes2[:, 2] * boxes2[:, 3])[None]
    thin = (areas[0] < 1e-14) | (areas[1] < 1e-14)
    return torch.where(thin, 0.0, shared / (areas[0] + areas[1] - shared)).float()


def polygon_area(points: Any, counts: Any) -> Any:
    """The area of convex polygons, of which those points (..., n, 2) that count are the corners, in any order."""
    weight = counts.to(points.dtype)[..., None]
    centre = (points * weight).sum(-2, keepdim=True) / weight.sum(-2, keepdim=True).clamp(min=1)
    around = torch.where(counts[..., None], points - centre, 0.0)
    angle = torch.where(counts, torch.atan2(around[..., 1], around[..., 0]), torch.inf)
    order = angle.argsort(dim=-1, stable=True)
    corner = around.gather(-2, order[..., None].expand_as(around))
    there = counts.gather(-1, order)
    corner = torch.where(there[..., None], corner, corner[..., :1, :])  # the polygon closes at its first corner
    area = crossed(corner, corner.roll(-1, -2)).sum(-1).abs() / 2
    return torch.where(counts.sum(-1) > 2, area, 0.0)
