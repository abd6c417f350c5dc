"""The bridge for threads in which a Content-Security-Policy forbids a package's script: the script and the device are
in a GPU worker, and Python itself talks to it.

It has the methods of js_bridge/src/api/worker_bridge.ts and speaks its protocol, whose tables are in protocol.py. In a
cross-origin isolated page Python blocks on shared memory for an answer. In other pages answers come by message: Python
waits for them by stack switching or `await`. There commands are posted without waiting, and a later call raises what
failed.
"""

from __future__ import annotations


import ctypes
import json

import js
from typing import Any
from pyodide.ffi import can_run_sync, to_js

from . import bridge
from .bridge import ALLOC, command
from .link import APART, Link, message
from .protocol import CALLS, GONE, KEPT, PROMISED, ReadMode, Text, Word


def _binary(data: Any, **fields: Any) -> tuple[Any, Any]:
    """A message that contains bytes, and the list of what it transfers."""
    what = message(**fields)
    name = "upload" if fields else "run"
    setattr(what, name, data)
    return what, js.Array.of(data.buffer)


class WorkerBridge(Link):
    def __init__(self, options: Any, source: Any) -> None:
        why = "torchlite's script may not run in this thread, only in a worker of its own"
        super().__init__({**options, "canvas": why, "probe": False}, source)
        self._before = self._blocked = 0  # epochs of earlier workers; number of reads that blocked this thread
        self._plans: dict[str, int] = {}
        self._kept: dict[str, Any] = {}

    # --- device ---

    async def open(self) -> bool:
        """Starts a worker with a device; False if there is none, and reason() says why."""
        self._before, self._blocked = self.epoch(), 0
        self._begin(list(self._plans))
        try:
            if not await self._promise("open"):
                self.end(await self._promise("reason"), bridge.CLOSED)
                return False
            self._info = await self._promise("info")
            for name, args in self._kept.items():
                await self._promise(name, *args)
        except bridge.DeviceLostError:
            return False
        self._status["state"] = bridge.READY
        return True

    async def reset(self) -> Any:
        if self._port is None:
            return await self.open()
        done = await self._promise("reset")
        if done:
            self._info = await self._promise("info")
        return done

    def close(self) -> None:
        self.end(Text.CLOSED, bridge.CLOSED)

    def state(self) -> Any:
        if self._port is not None:
            state = self._status["state"] if self._head is None else self._ask("state")
            if self._port is not None:
                return state
        return self._ended[0]

    def reason(self) -> Any:
        if self._port is not None:
            reason = self._status["reason"] if self._head is None else self._ask("reason")
            if self._port is not None:
                return reason
        return self._ended[1]

    def epoch(self) -> Any:
        epoch: Any = self._status["epoch"] if self._head is None else self._word(Word.EPOCH)
        return self._before + epoch

    def info(self) -> Any:
        self._alive()
        return self._info

    # --- commands ---

    def plan(self, key: Any) -> Any:
        """The number of a plan. Without shared memory Python chooses it before the worker has seen the key; if the plan
        has no kernel, its outputs are poisoned."""
        if self._head is not None:
            number = self._plans[key] = self._ask("plan", key)
            return number
        number = self._plans.get(key)
        if number is None:
            number = self._plans[key] = len(self._plans)
            self._alive().postMessage(message(assume=key, number=number))
        return number

    def run(self, pointer: Any, count: Any) -> None:
        words = to_js(memoryview(ctypes.string_at(pointer, 4 * count)).cast("I"))
        self._post(*_binary(words), 4 * count, ctypes.c_uint32.from_address(pointer))

    def claim(self, handle: Any, nbytes: Any) -> None:
        if self._head is not None:
            self._ask("claim", handle, nbytes)
        else:
            self._post(*_binary(js.Uint32Array.of(*command(ALLOC, handle, nbytes))), 12)

    def upload(self, handle: Any, offset: Any, memory: Any) -> None:
        self._post(*_binary(to_js(memory), handle=handle, offset=offset), memory.nbytes)

    def backlogged(self) -> Any:
        return self._status["backlogged"] if self._head is None else self._word(Word.BACKLOGGED) != 0

    def barrier(self) -> None:
        self._ask("synchronize")

    # --- reads ---

    def readNow(self, handle: Any, offset: Any, nbytes: Any) -> Any:
        data = self._answer("read", (handle, offset, nbytes))[1]
        self._blocked += 1
        return data

    def readProblem(self, bit: Any) -> Any:
        if bit != ReadMode.WORKER:
            return self._options["canvas"]
        if self._port is None:
            return self._ended[1]
        if self._head is None:
            return APART
        return ""

    # --- figures and settings ---

    def figures(self) -> Any:
        figures = json.loads(self._ask("figures"))
        if "reads" in figures:
            figures.update(reads=figures["reads"] - self._blocked, syncReads=self._blocked)
        return json.dumps(figures)

    def timesNow(self) -> Any:
        return self._ask("times")

    def spansNow(self) -> Any:
        return self._ask("spans")

    # --- all other calls, by the table ---

    def __getattr__(self, name: str) -> Any:
        if name not in CALLS:
            raise AttributeError(name)

        def call(*args: Any) -> Any:
            if name in PROMISED:
                return self._promise(name, *args)
            if name in KEPT:
                self._kept[name] = args
            setting = name in KEPT or GONE.get(name, name) is None  # its answer is not needed
            if setting and self._port is not None and self._head is None and not can_run_sync():
                self._port.postMessage(message(promise=next(self._numbers), name=name, args=args))
                return GONE[name]
            return self._ask(name, *args)

        return call
