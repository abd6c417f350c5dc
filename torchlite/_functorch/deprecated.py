"""functorch.*: the functions of torch.func under their old name. Each call warns as in PyTorch."""

from __future__ import annotations

import functools
import warnings
from typing import Any

from .. import func as _func
from ..version import __version__
from . import make_functional as _modules
from .make_functional import FunctionalModule, FunctionalModuleWithBuffers
from .python_key import make_fx

__all__ = ["FunctionalModule", "FunctionalModuleWithBuffers", "__version__", "make_fx"]


def _old(function: Any, instead: str) -> None:
    """Puts a function into this module that warns and calls another."""
    name = function.__name__
    text = (
        f"We've integrated functorch into PyTorch. As the final step of the integration, `functorch.{name}` is "
        "deprecated as of PyTorch 2.0 and will be deleted in a future version of PyTorch >= 2.3. "
        f"Please use `{instead}` instead; see the PyTorch 2.0 release notes and/or the `torch.func` migration guide "
        "for more details https://pytorch.org/docs/main/func.migrating.html"
    )

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(text, FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    call.__module__ = __name__
    globals()[name] = call
    __all__.append(name)


for _name in "grad grad_and_value vjp jvp jacrev jacfwd hessian functionalize".split():
    _old(getattr(_func, _name), "torch.func." + _name)
_old(_func.vmap, "torch.vmap")
_old(_modules.make_functional, "torch.func.functional_call")
_old(_modules.make_functional_with_buffers, "torch.func.functional_call")
_old(_modules.combine_state_for_ensemble, "torch.func.stack_module_state")
