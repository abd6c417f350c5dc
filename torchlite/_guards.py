"""What compilers ask about the tensors that they are given."""

from __future__ import annotations

from typing import Any


def detect_fake_mode(inputs: Any = None) -> Any:
    """The FakeTensorMode of the tensors in `inputs`, or the one that is on; None without any.
    AssertionError where there are two."""
    from torchlite._core import dispatch_modes
    from torchlite._subclasses.fake_tensor import FakeTensor, FakeTensorMode
    from torchlite.utils import _pytree as pytree

    modes = [m for m in reversed(dispatch_modes.stack) if isinstance(m, FakeTensorMode)]
    modes += [x.fake_mode for x in pytree.tree_leaves(inputs) if isinstance(x, FakeTensor)]
    for mode in modes:
        if mode is not modes[0]:
            raise AssertionError("fake mode (%r) doesn't match mode (%r)" % (modes[0], mode))
    return modes[0] if modes else None


def active_fake_mode() -> Any:
    """The FakeTensorMode that is on, the innermost one; None without any."""
    from torchlite._core import dispatch_modes
    from torchlite._subclasses.fake_tensor import FakeTensorMode

    return next((m for m in reversed(dispatch_modes.stack) if isinstance(m, FakeTensorMode)), None)
