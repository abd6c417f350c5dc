"""The bridge inside Pyodide: loads its script, opens the device, and reads in whatever mode the page allows."""

from __future__ import annotations


import asyncio
import json
import os
from array import array

import js
import pyodide_js
from pyodide.ffi import JsException, can_run_sync, run_sync

from ..._core import adapter as _adapter, page_script as _script
from ..._core.archive import FOLDER
from . import bridge as _bridge
from .protocol import ReadMode, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


ENTER = "enter Python by runPythonAsync or callPromising, where it can wait"
NOT_YET = (
    "not there yet: browsers give it asynchronously, and this code was entered synchronously, so it "
    "cannot wait. Call `await torch.webgpu.ready()` once before, or " + ENTER
)

options: dict[str, Any] = {}  # RuntimeOptions of js_bridge, for tests of small devices
# bits of readProblem(): the read modes that do not suspend Python
READ_MODES = {"canvas": ReadMode.CANVAS, "worker": ReadMode.WORKER}
_opening: asyncio.Task[bool] | None = None  # the task that opens the device
_problem = None  # why it could not be opened


def _forced() -> Any:
    """For tests: the only read mode to allow ("jspi", "canvas", "worker"), or "none"."""
    return os.environ.get("TORCHLITE_WEBGPU_READ") or None


def _error(e: Any) -> Any:
    return _bridge.error(getattr(e, "name", ""), getattr(e, "message", None) or str(e))


# --- the script ---


def _text() -> Any:
    try:
        with open(os.path.join(FOLDER, "webgpu", "bridge.js"), encoding="utf-8") as f:
            return f.read()
    except FileNotFoundError:
        raise RuntimeError("this build of torchlite was made without its WebGPU script (webgpu/bridge.js)") from None


def _source() -> Any:
    try:
        return _text()
    except RuntimeError:  # the page has loaded the script itself
        return ""


async def _load() -> Any:
    """The script's exports. If the page's security policy forbids all that is tried here, the page may load bridge.js
    itself; otherwise the script runs in a worker (_apart)."""
    page = getattr(js, "torchlite_webgpu", None)
    if page is not None:
        return page
    return await _script.load(_text(), "torchlite_webgpu")


async def _apart() -> Any:
    """The bridge for a thread in which the script may not run: it runs in a worker, which needs no eval."""
    from .worker import WorkerBridge

    if not _script.here("Worker"):
        raise RuntimeError(Text.NO_WORKERS)
    bridge = WorkerBridge(options, _text())
    try:
        if await bridge.open():
            return bridge
        raise RuntimeError(bridge.reason())
    except BaseException:
        bridge.close()
        raise


def _remedy() -> str:
    if _script.here("document") and not _script.here("WorkerGlobalScope"):
        return (
            "allow blob: in script-src, or load torchlite/webgpu/bridge.js (from the wheel) "
            "with a script element before"
        )
    return (
        "allow blob: in worker-src; or blob: in script-src, with `globalThis.torchlite_import = (url) => "
        "import(url)` in the worker's own script; or let that script import "
        "torchlite/webgpu/bridge.js (from the wheel) before"
    )


# --- the device ---


async def _open() -> bool:
    global _opening, _problem
    try:
        try:
            page = await _load()
        except _script.Refused as refused:
            try:
                bridge = await _apart()
            except Exception as e:
                raise RuntimeError(
                    "the page does not let torchlite run its WebGPU script (Content-Security-Policy): %s (%s; "
                    "in a worker: %s)" % (_remedy(), refused, e)
                ) from None
        else:
            # page.open decides where the device lives: in this thread, or in a worker that runs the same script
            bridge = await page.open(
                pyodide_js._module, json.dumps(options), "" if page.workerProblem() else _source(), _forced() or ""
            )
    except Exception as e:
        _problem = getattr(e, "message", None) or str(e)
        return False
    else:
        _problem = None
        _bridge.current = PageBridge(bridge)
        return True
    finally:
        _opening = None


async def ready() -> Any:
    """Opens the device. Callers that ask at the same time share one attempt."""
    global _opening
    if _bridge.current is not None:
        return _bridge.current.state() == _bridge.READY
    if _opening is None:
        _opening = asyncio.ensure_future(_open())
    return await asyncio.shield(_opening)  # a caller that stops waiting must not stop the others' attempt


def available() -> bool:
    if _problem is None and _adapter.answer is not False and can_run_sync():
        run_sync(ready())
    return _bridge.current is not None


def require() -> Any:
    if available():
        return _bridge.current
    if problem() is not None:
        raise RuntimeError("device webgpu is not available: %s; use device='cpu'" % problem())
    raise RuntimeError("device webgpu is " + NOT_YET)


def problem() -> Any:
    """Why there is no device; None if there may be one."""
    return _adapter.problem if _problem is None and _adapter.answer is False else _problem


class PageBridge:
    """The bridge's interface (bridge.py) over js_bridge/src/api/page.ts, or over a WorkerBridge of worker.py."""

    def __init__(self, bridge: Any) -> None:
        self._js = bridge
        # looking up a method of a JavaScript object costs more than calling it
        self._plan, self._run, self._backlogged = bridge.plan, bridge.run, bridge.backlogged
        self._claim, self._upload, self._read = bridge.claim, bridge.upload, bridge.read
        self._synchronize, self._read_now = bridge.synchronize, getattr(bridge, "readNow", None)
        self.state, self.reason, self.epoch = bridge.state, bridge.reason, bridge.epoch
        self.read_mode = _forced()

    def plan(self, key: Any) -> Any:
        try:
            return self._plan(key)
        except JsException as e:
            raise _error(e) from None

    def run_at(self, address: Any, count: Any) -> None:
        try:
            self._run(address, count)
        except JsException as e:
            raise _error(e) from None

    def backlogged(self) -> Any:
        return self._backlogged()

    def drain(self) -> None:
        try:
            if can_run_sync():
                run_sync(self._synchronize())
            elif not self._js.readProblem(READ_MODES["worker"]):
                self._js.barrier()
        except JsException as e:
            raise _error(e) from None

    def run(self, words: Any) -> None:
        stream = array("I", words)
        self.run_at(*stream.buffer_info())

    def alloc(self, handle: Any, nbytes: Any) -> None:
        try:
            self._claim(handle, nbytes)
        except JsException as e:
            raise _error(e) from None

    def upload(self, handle: Any, offset: Any, memory: Any) -> None:
        try:
            self._upload(handle, offset, memoryview(memory).cast("B"))
        except JsException as e:
            raise _error(e) from None

    def _problems(self) -> Any:
        """Why each read mode that does not suspend Python fails; None if one of them works."""
        problems = {}
        for mode, bit in READ_MODES.items():
            problems[mode] = "it is switched off" if self.read_mode not in (None, mode) else self._js.readProblem(bit)
            if not problems[mode]:
                return None
        return problems

    def read(self, handle: Any, offset: Any, nbytes: Any) -> Any:
        """Reads by stack switching if Python may be suspended here; else through a canvas, or from the GPU worker if
        the device was opened there."""
        try:
            # can_run_sync() comes first, since a read that has started must be awaited
            if self.read_mode in (None, "jspi") and can_run_sync():
                return run_sync(self._read(handle, offset, nbytes)).to_bytes()
            problems = self._problems()
            if problems is None:
                if self._read_now is not None:
                    return self._read_now(handle, offset, nbytes)
                memory = array("B", b"\0") * nbytes
                self._js.readSyncInto(handle, offset, nbytes, memory.buffer_info()[0])
                return memory
        except JsException as e:
            raise _error(e) from None
        if self.state() != _bridge.READY:
            raise _bridge.DeviceLostError(
                "the webgpu device is gone (%s); torch.webgpu.reset() starts a new one" % self.reason()
            )
        raise _bridge.CannotWait(
            "a webgpu tensor cannot be read here: Python was entered synchronously, so it cannot wait for the GPU, "
            "reading through a canvas does not work (%s), and there is no GPU worker (%s). "
            "Use `await t.item_async()` or its relatives, or %s" % (problems["canvas"], problems["worker"], ENTER)
        )

    async def read_async(self, handle: Any, offset: Any, nbytes: Any) -> Any:
        try:
            return (await self._read(handle, offset, nbytes)).to_bytes()
        except JsException as e:
            raise _error(e) from None

    def synchronize(self) -> Any:
        try:
            if self.read_mode in (None, "jspi") and can_run_sync():
                run_sync(self._synchronize())
                return
            if self._problems() is None:
                self._js.barrier()
                return
        except JsException as e:
            raise _error(e) from None
        raise RuntimeError(
            "Python was entered synchronously and cannot wait for the GPU: "
            "use `await torch.webgpu.synchronize_async()`, or " + ENTER
        )

    async def synchronize_async(self) -> None:
        try:
            await self._synchronize()
        except JsException as e:
            raise _error(e) from None

    def stats(self) -> Any:
        return _bridge.figures(json.loads(self._js.figures()))

    def reset_peaks(self) -> None:
        self._js.resetPeaks()

    def info(self) -> Any:
        try:
            return json.loads(self._js.info())
        except JsException as e:
            raise _error(e) from None

    def empty_cache(self) -> Any:
        return self._js.emptyCache()

    def set_budget(self, nbytes: Any) -> None:
        self._js.setBudget(nbytes)

    async def reset(self) -> Any:
        try:
            return bool(await self._js.reset())
        except JsException as e:
            raise _error(e) from None

    # --- what the GPU did, for torch.profiler and torch.webgpu.debug ---

    def set_timing(self, on: Any) -> Any:
        return bool(self._js.setTiming(on))

    async def times(self) -> Any:
        return json.loads(await self._js.times())

    def times_now(self) -> Any:
        """The same at once; without waiting if Python cannot wait."""
        if self.read_mode in (None, "jspi") and can_run_sync():
            return json.loads(run_sync(self._js.times()))
        return json.loads(self._js.timesNow())

    def watch(self, what: Any) -> Any:
        return self._js.watch(what)

    def notes(self) -> Any:
        return json.loads(self._js.notes())

    def spans(self) -> Any:
        """The spans. Without waiting if Python cannot wait; some are missing then."""
        if self.read_mode in (None, "jspi") and can_run_sync():
            return json.loads(run_sync(self._js.spans()))
        return json.loads(self._js.spansNow())

    async def spans_async(self) -> Any:
        return json.loads(await self._js.spans())

    # --- for tests ---

    def close(self) -> None:
        self._js.close()
