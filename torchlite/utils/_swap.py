"""torch.utils.swap_tensors."""

from __future__ import annotations

import copyreg
import itertools
import weakref
from typing import Any

import torchlite as torch

_numbers = itertools.count(2**62)  # no address: that of a tensor that is gone may come again
_POISONED = (
    "Cannot swap a tensor that is no leaf of autograd: what was computed with it would belong to the other tensor"
)


def swap_tensors(t1: Any, t2: Any) -> None:
    """Two tensors change places: each object gets class, memory, gradient and attributes of the other."""
    for name, t in (("t1", t1), ("t2", t2)):
        if weakref.getweakrefs(t):
            raise RuntimeError("Cannot swap %s because it has weakref associated with it" % name)
        if not t.is_leaf:
            raise RuntimeError(_POISONED)
    slots = [set(copyreg._slotnames(type(t))) for t in (t1, t2)]  # type: ignore[attr-defined]
    if slots[0] != slots[1]:
        raise RuntimeError("Cannot swap t1 and t2 if they have different slots")
    if t1 is t2:
        return
    core: Any = torch._C
    off, plain = core._DisableTorchDispatch(), core.DisableTorchFunctionSubclass()
    data = core.TensorBase._memory  # of any kind, whatever a class makes of it
    pair = (t1, t2)
    with off, plain, torch.no_grad():
        grads = [t.grad for t in pair]
        needs = [t.requires_grad for t in pair]
        for t in pair:
            t.grad = None
            t.requires_grad = False
        memory = [data.__get__(t) for t in pair]
        for t, other in zip(pair, memory[::-1]):
            data.__set__(t, other)
        t1.__class__, t2.__class__ = type(t2), type(t1)
        t1.__dict__, t2.__dict__ = t2.__dict__, t1.__dict__
        for slot in slots[0]:
            _swap_attribute(t1, t2, slot)
        for t, grad, need in zip(pair, grads[::-1], needs[::-1]):
            t.requires_grad = need
            t.grad = grad
            t.__dict__["_swapped_cdata"] = next(_numbers)


def _swap_attribute(t1: Any, t2: Any, name: str) -> None:
    nothing = object()
    for t, value in zip((t1, t2), (getattr(t2, name, nothing), getattr(t1, name, nothing))):
        if value is not nothing:
            setattr(t, name, value)
        elif hasattr(t, name):
            delattr(t, name)
