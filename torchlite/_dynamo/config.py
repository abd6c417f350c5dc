"""torch._dynamo.config: options of a compiler that is not here. They can be set and read; nothing looks at them."""

from __future__ import annotations

import contextlib
import copy
import pickle
from collections.abc import Iterator
from types import SimpleNamespace
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


def functions_of(options: dict[str, Any]) -> Any:
    """For a module's options: patch, get_config_copy, save_config and load_config."""

    def place(name: str) -> tuple[dict[str, Any], str]:
        """The table that an option is in, and its name there: "triton.cudagraphs" is one of `triton`."""
        space, _, last = name.rpartition(".")
        return vars(options.setdefault(space, SimpleNamespace())) if space else options, last

    @contextlib.contextmanager
    def patch(arg1: str | dict[str, Any] | None = None, arg2: Any = None, **changes: Any) -> Iterator[None]:
        """Options that hold within a `with`, or in a function that this decorates."""
        if isinstance(arg1, dict):
            changes = {**arg1, **changes}
        elif arg1 is not None:
            changes = {arg1: arg2, **changes}
        places = [place(name) for name in changes]
        before = [table.get(name, places) for table, name in places]
        load_config(changes)
        try:
            yield
        finally:
            for (table, name), value in zip(places, before):
                if value is places:
                    table.pop(name, None)
                else:
                    table[name] = value

    def get_config_copy() -> dict[str, Any]:
        """The options with their values."""
        found: dict[str, Any] = {}
        for name, value in options.items():
            if isinstance(value, SimpleNamespace):
                found.update(("%s.%s" % (name, own), v) for own, v in vars(value).items())
            elif isinstance(value, (int, float, str, list, dict, type(None))) and name[0] != "_":
                found[name] = value
        return copy.deepcopy(found)

    def save_config() -> bytes:
        return pickle.dumps(get_config_copy())

    def load_config(saved: bytes | dict[str, Any]) -> None:
        """Sets the options that save_config() or get_config_copy() gave."""
        for key, value in (saved if isinstance(saved, dict) else pickle.loads(saved)).items():
            table, name = place(key)
            table[name] = value

    return patch, get_config_copy, save_config, load_config


patch, get_config_copy, save_config, load_config = functions_of(globals())
