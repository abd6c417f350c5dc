"""torch._dynamo.config: options of a compiler that is not here. They can be set and read; nothing looks at them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

suppress_errors = False
compiled_autograd = False
cache_size_limit = recompile_limit = 8
accumulated_cache_size_limit = accumulated_recompile_limit = 256
verbose = False
fake_tensor_cache_enabled = fake_tensor_cache_crosscheck_enabled = False
dynamic_shapes = True
assume_static_by_default = True
capture_scalar_outputs = False
capture_dynamic_output_shape_ops = False
automatic_dynamic_shapes = True
specialize_int = False
error_on_recompile = False
guard_nn_modules = True
inline_inbuilt_nn_modules = True


def patch_of(options: dict[str, Any]) -> Any:
    """The function that sets some of a module's options for a while."""

    @contextlib.contextmanager
    def patch(arg1: str | dict[str, Any] | None = None, arg2: Any = None, **changes: Any) -> Iterator[None]:
        """Options that hold within a `with`, or in a function that this decorates."""
        if isinstance(arg1, dict):
            changes = {**arg1, **changes}
        elif arg1 is not None:
            changes = {arg1: arg2, **changes}
        before = dict(options)
        options.update(changes)
        try:
            yield
        finally:
            for name in changes:
                if name in before:
                    options[name] = before[name]
                else:
                    options.pop(name, None)

    return patch


patch = patch_of(globals())
