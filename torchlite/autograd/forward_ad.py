"""Forward-mode differentiation is not available; the names exist to say so."""

from __future__ import annotations


TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _refuse(*args: Any, **kwargs: Any) -> Any:
    raise NotImplementedError(
        "forward-mode AD is not supported; torch.autograd.grad with create_graph=True gives jvp by double backward "
        "(torch.autograd.functional.jvp)"
    )


dual_level = make_dual = unpack_dual = enter_dual_level = exit_dual_level = _refuse


from .._core import absent as _absent  # noqa: E402

__getattr__ = _absent.of(__name__)
