"""Samples whose probabilities are on the device: multinomial, bernoulli.

The random numbers are drawn on the CPU in PyTorch's order, so that a seed gives PyTorch's samples,
and compared on the device; nothing is read back.
Probabilities that are none are found there too, and said where a value is read (lazy/checks.py).
"""

from __future__ import annotations


import torchlite as torch

from ... import _C
from .index import Pick, take_at
from ..fallback import random_in_place
from ..registry import planner
from ..tensors import FLOATS, device_copy, upload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any
    from ..._types import Overload, Tensor


geometry = _C.geometry
_BAD = (
    "probability tensor contains either `inf`, `nan` or element < 0",
    "invalid multinomial distribution (sum of probabilities <= 0)",
)
_OUTSIDE = "Expected p_in >= 0 && p_in <= 1 to be true, but got false."


def _fault(texts: tuple[str, ...]) -> Callable[..., Any]:
    return lambda v, extent, which: RuntimeError(texts[min(max(v, 1), len(texts)) - 1])


def _checked(fault: Tensor, texts: tuple[str, ...]) -> Tensor:
    """Zeros (int64) of fault's shape; where fault is not 0,
    what is computed from them raises the text of that number."""
    fault = fault.contiguous()
    shape = tuple(fault.shape)
    zero = upload(_C.fill(_C.empty((1,), torch.int64), 0))
    return take_at(
        geometry(zero)[0],
        (1,),
        (1,),
        0,
        torch.int64,
        shape,
        [None] * len(shape),
        [Pick(fault, fault.stride(), 0)],
        False,
        _fault(texts),
    )


@planner("multinomial")
def _multinomial(ov: Overload, args: tuple[Any, ...]) -> Any:
    p, count, replacement, generator = args
    rows = p.dim()
    if (
        p.dtype not in FLOATS
        or rows not in (1, 2)
        or not p.is_contiguous()
        or not p.numel()
        or type(count) is not int
        or not 0 < count <= p.shape[-1]
        or p.shape[-1] > 1 << 24
        or replacement
        and count != 1
    ):
        return NotImplemented
    p = p.detach()
    wide = p.float()
    outside = ((wide >= 0) & (wide < float("inf"))).logical_not().any(-1)
    nothing = (wide.sum(-1) > 0).logical_not()
    zero = _checked(torch.where(outside, 1, torch.where(nothing, 2, 0)), _BAD)
    e = _C.empty(tuple(p.shape), p.dtype)
    e.exponential_(generator=generator)
    ratio = p / upload(e)
    found = ratio.argmax(-1, keepdim=True) if count == 1 else torch.topk(ratio, count, -1)[1]
    return found + zero.unsqueeze(-1)


@planner("bernoulli_")
def _bernoulli(ov: Overload, args: tuple[Any, ...]) -> Any:
    self, p, generator = args
    if not isinstance(p, torch.Tensor):
        return random_in_place(ov, args)
    if (
        p.is_cpu
        or p.dtype not in FLOATS
        or self.dtype.is_complex
        or not self.numel()
        or not self.is_contiguous()
        or self.device.type != "webgpu"
        or p.dim() > self.dim()
        or any(n != 1 and n != m for n, m in zip(reversed(p.shape), reversed(self.shape)))
    ):
        return NotImplemented
    p = p.detach().float()
    zero = _checked(((p >= 0) & (p <= 1)).logical_not().any().to(torch.int64), (_OUTSIDE,))
    u = _C.empty(tuple(self.shape), torch.float32)
    u.uniform_(generator=generator)
    device_copy(self, (upload(u) < p) | (zero != 0))
    return self
