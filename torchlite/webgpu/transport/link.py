"""Messages between Python and a GPU worker, for worker.py."""

from __future__ import annotations


import asyncio
import itertools
import json

import js
from pyodide.ffi import can_run_sync, create_proxy, run_sync, to_js

from . import bridge
from .protocol import DEFAULTS, GONE, HEAD_BYTES, MOST_BYTES, MOST_POSTED, Kind, Text, Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


APART = "the page is not cross-origin isolated (COOP and COEP headers), so Python cannot block for its answer"


def message(**fields: Any) -> Any:
    return js.JSON.parse(json.dumps(fields))


def isolated() -> bool:
    """Whether this thread may block on shared memory."""
    try:
        if js.crossOriginIsolated:
            js.Atomics.wait(js.Int32Array.new(js.SharedArrayBuffer.new(4)), 0, 1, 0)
            return True
    except Exception:
        pass
    return False


class Link:
    """Sends messages to the worker, receives its answers, and watches that it is alive. The counterpart in JavaScript
    is js_bridge/src/api/worker_link.ts."""

    def __init__(self, options: Any, source: Any) -> None:
        settings = {**DEFAULTS, **options.get("worker", {})}
        self._tick, self._silent, self._patient, self._room = (
            settings[k] for k in ("tick", "silent", "patient", "shared")
        )
        self._options = {k: v for k, v in options.items() if k != "worker"}
        self._source = source
        self._port = self._memory = self._head = None
        self._ended = bridge.CLOSED, Text.UNOPENED
        # as messages said it last, where no memory is shared
        self._status = {
            "failed": False,
            "backlogged": False,
            "epoch": 0,
            "state": bridge.CLOSED,
            "reason": "",
        }
        self._beats = self._posted = self._bytes = self._asked = 0
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._guarding: asyncio.Task[None] | None = None

    # --- the wire ---

    def _begin(self, plans: Any) -> None:
        self._memory = js.SharedArrayBuffer.new(HEAD_BYTES + self._room) if isolated() else None
        self._head = None if self._memory is None else js.Int32Array.new(self._memory, 0, HEAD_BYTES // 4)
        self._status.update(failed=False, backlogged=False, epoch=0)
        self._posted = self._bytes = self._asked = 0
        self._loop = asyncio.get_running_loop()
        kind = js.JSON.parse('{"type":"text/javascript"}')
        url = js.URL.createObjectURL(js.Blob.new(to_js([self._source, "\ntorchlite_webgpu.serve(self);"]), kind))
        self._port = port = js.Worker.new(url, js.JSON.parse('{"name":"torchlite GPU"}'))

        def heard(event: Any) -> None:
            js.URL.revokeObjectURL(url)  # not earlier: browsers may fetch the script late
            if self._port is port:
                self._hear(event.data)

        def failed(event: Any) -> None:
            js.URL.revokeObjectURL(url)
            if self._port is port:
                self.end(Text.WORKER_FAILED % (getattr(event, "message", None) or Text.REFUSED))

        self._proxies = create_proxy(heard), create_proxy(failed)
        port.onmessage, port.onerror = self._proxies
        start = message(start={"options": self._options, "plans": plans, "beat": self._tick / 2})
        start.start.memory = js.ArrayBuffer.new(HEAD_BYTES) if self._memory is None else self._memory
        port.postMessage(start)

    def end(self, reason: Any, state: Any = bridge.LOST) -> None:
        """Stops the worker; calls that wait for an answer raise DeviceLostError."""
        port, self._port = self._port, None
        self._ended = state, reason
        if port is not None:
            port.terminate()
            port.onmessage = port.onerror = None
            for proxy in self._proxies:
                self._loop.call_soon(proxy.destroy)  # later, since one of them may be running now
        waiting, self._waiting = self._waiting, {}
        for future in waiting.values():
            if not future.done():
                future.set_exception(self._lost())

    def _lost(self) -> Any:
        return bridge.error("DeviceLostError", Text.LOST % self._ended[1])

    def _alive(self) -> Any:
        if self._port is None:
            raise self._lost()
        return self._port

    def _hear(self, data: Any) -> None:
        words = getattr(data, "words", None)
        if words is not None:
            self._status = json.loads(words)
            self._beats += 1
            return
        future = self._waiting.pop(data.promise, None)
        if future is None or future.done():
            return
        error = getattr(data, "error", None)
        if error is not None:
            future.set_exception(bridge.error(error.name, error.message))
        else:
            future.set_result(getattr(data, "value", None))

    def _promise(self, name: str, *args: Any) -> Any:
        """Posts a call now and returns a future for its answer, which comes by message."""
        if self._port is None and name in GONE:
            future = self._loop.create_future()
            future.set_result(GONE[name])
            return future
        number, future = next(self._numbers), self._loop.create_future()
        self._alive().postMessage(message(promise=number, name=name, args=args))
        self._waiting[number] = future
        if self._guarding is None or self._guarding.done():
            self._guarding = asyncio.ensure_future(self._guard())
        return future

    async def _guard(self) -> None:
        """Watches the worker while answers are awaited. Ends it if it gives no sign of life, or if an answer does not
        come in time though it does."""
        still, before = 0, self._beat()
        waited: dict[int, int] = {}
        while self._waiting:
            await asyncio.sleep(self._tick / 1000)
            beat = self._beat()
            still, before = (still + 1 if beat == before else 0), beat
            waited = {number: waited.get(number, 0) + 1 for number in self._waiting}
            if not waited:
                return
            self._give_up(still, max(waited.values()))

    def _give_up(self, still: int, waited: int) -> None:
        """Ends a worker that was silent, or gave no answer, for too many ticks."""
        if still >= self._silent:
            self.end(Text.SILENT % ("%g" % (still * self._tick / 1000)))
        elif waited >= self._patient:
            self.end(Text.UNANSWERED % ("%g" % (waited * self._tick / 1000)))

    def _beat(self) -> Any:
        return self._beats if self._head is None else self._word(Word.BEAT)

    def _word(self, at: Any) -> Any:
        return js.Atomics.load(self._head, at)

    def _exchange(self, **what: Any) -> None:
        """Posts a call and blocks until its answer is there. If an earlier call was interrupted, this waits for its
        answer first, since both use the same memory."""
        if self._asked:
            self._wait(self._asked)
        number = next(self._numbers)
        call, post = message(ask=number, **what), self._alive().postMessage
        try:
            post(call)  # an interrupt comes after this line, not before
        finally:
            self._asked = number
        self._wait(number)

    def _wait(self, number: Any) -> None:
        head, wait, beat, still, waited = self._head, js.Atomics.wait, self._beat(), 0, 0
        while (answered := self._word(Word.ANSWER)) != number:
            self._alive()
            if wait(head, Word.ANSWER, answered, self._tick) != "timed-out":
                continue
            # counts ticks, not time: the clock goes on while the machine sleeps
            now = self._beat()
            still, beat, waited = (still + 1 if now == beat else 0), now, waited + 1
            self._give_up(still, waited)
        self._asked = 0

    def _answer(self, name: str, args: tuple[Any, ...]) -> Any:
        """Makes a call, blocks for its answer, and returns (kind, bytes)."""
        self._exchange(name=name, args=args)
        self._posted = self._bytes = 0
        kind, length = self._word(Word.KIND), self._word(Word.BYTES) & 0xFFFFFFFF
        out = bytearray(length)
        for at in range(0, length, self._room):
            if at:
                self._exchange(**{"from": at})
            n = min(self._room, length - at)
            js.Uint8Array.new(self._memory, HEAD_BYTES, n).assign_to(memoryview(out)[at : at + n])
        if kind == Kind.ERROR:
            error = json.loads(out)
            raise bridge.error(error["name"], error["message"])
        return kind, out

    def _ask(self, name: str, *args: Any) -> Any:
        """Makes a call and returns its answer."""
        if self._port is None and name in GONE:
            return GONE[name]
        if self._head is not None:
            kind, out = self._answer(name, args)
            return json.loads(out) if kind == Kind.VALUE else out
        if not can_run_sync():
            self._alive()
            raise bridge.CannotWait(
                "%s: Python was entered synchronously and cannot wait for the GPU worker, and %s; enter Python by "
                "runPythonAsync or callPromising, where it can wait" % (name, APART)
            )
        return run_sync(self._promise(name, *args))

    def _post(self, what: Any, transfer: Any, nbytes: Any, after: Any = None) -> None:
        """Posts a message without waiting. If it fails, this call or a later one raises the error."""
        post = self._alive().postMessage
        try:
            post(what, transfer)  # an interrupt comes after this line, not before
        finally:
            if after is not None:
                after.value = 0
        self._posted += 1
        self._bytes += nbytes
        if self._head is not None and (
            self._posted > MOST_POSTED or self._bytes > MOST_BYTES or self._word(Word.FAILED)
        ):
            self._ask("check")
