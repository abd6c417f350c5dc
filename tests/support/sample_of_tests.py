"""A pytest plugin: with TORCHLITE_EVERY="2 test_declared" every second test of the files with that in their names runs,
chosen by name, so that it is the same half each time. The others are left to `tests/run.py --all`."""

from __future__ import annotations

import os
import zlib
from typing import Any


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    every, _, files = os.environ.get("TORCHLITE_EVERY", "1").partition(" ")
    n = int(every)
    left = [i for i in items if files in str(i.path) and zlib.crc32(i.nodeid.encode()) % n]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [i for i in items if i not in set(left)]
