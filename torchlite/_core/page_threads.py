"""Threads of a page: starts the workers that large products run on (threads.js), where the page may share memory.

Pyodide has one thread and a memory of its own. Until the workers have answered, and where there can be none, everything
runs on that thread.
"""

from __future__ import annotations

import asyncio
import os

import js
import pyodide_js
from pyodide.ffi import can_run_sync, run_sync, to_js

from .. import _C as core
from . import native
from .archive import FOLDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST = 4  # threads that are used unless the program asks for more
PATIENCE = 3000  # milliseconds after which a worker that nobody waits for counts as dead

_C: Any = core  # its stub is of the host's build
_pool: Any = None
_task: Any = None
_setting = 0  # how often it was set: workers that start for an earlier one end at once
problem = ""  # why there are no workers


def possible() -> bool:
    """Whether memory can be shared with workers: in isolated pages, in node, Deno and Bun. They are built for relaxed
    SIMD only, so that their numbers are those of the core."""
    if native.variant != "relaxed":
        return False
    node = getattr(getattr(js, "process", None), "versions", None)
    return bool(getattr(js, "crossOriginIsolated", False) or getattr(node, "node", None) or hasattr(js, "Deno"))


def default() -> int:
    asked = os.environ.get("OMP_NUM_THREADS", "")
    if asked.isdecimal() and int(asked):
        return int(asked)
    cores = int(getattr(getattr(js, "navigator", None), "hardwareConcurrency", 1) or 1)
    return max(1, min(MOST, cores)) if possible() else 1


def set_threads(n: int) -> None:
    """Ends the workers that there are; the next large product starts new ones."""
    global _pool, _task, _setting
    _C.set_page(0, 0, 0, _start if n > 1 and possible() else None)
    if _pool is not None:
        _pool.close()
    _pool = _task = None
    _setting += 1
    _C.set_threads(n)


def _start() -> None:
    """Called by the first product that is large enough."""
    global _task
    _task = asyncio.ensure_future(_open(_C.get_threads() - 1, _setting))
    if can_run_sync():  # the program may not come back to the event loop for long
        run_sync(_task)


def _file(name: str) -> bytes:
    with open(os.path.join(FOLDER, "_core", name), "rb") as f:
        return f.read()


async def _open(count: int, setting: int) -> None:
    global _pool, problem
    try:
        from . import page_script

        make = await page_script.load(_file("threads.js").decode(), "torchlite_threads")
        pool = await make(pyodide_js, to_js(_file("workers.wasm")), count, PATIENCE)
    except Exception as e:  # a page that forbids scripts or workers has one thread
        problem = str(e)
        return
    if setting != _setting:
        pool.close()
        return
    _pool = pool
    _C.set_page(pool.pointer, pool.base, pool.end, None)
