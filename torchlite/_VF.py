"""The core's functions under the name that the Python of recurrent layers, and copies of it, take them from."""

from __future__ import annotations

from typing import Any

import torchlite as torch


def __getattr__(name: str) -> Any:
    core: Any = torch._C
    return getattr(core._VariableFunctions, name)
