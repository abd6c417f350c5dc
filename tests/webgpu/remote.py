"""WebGPU for torchlite on desktop CPython:
the bridge runs in a node process (js_bridge/tools/serve.mjs) driven over pipes.

    import remote; remote.install()         # then device="webgpu" works in this process

TORCHLITE_WEBGPU_HOST=deno takes a Deno process instead,
TORCHLITE_WEBGPU_OPTIONS holds the bridge's options (RuntimeOptions) as JSON.
TORCHLITE_WEBGPU_SYNC=1 waits after every command stream, so that its error shows where it was run.
"""

from __future__ import annotations

import array
import atexit
import ctypes
import json
import os
import pathlib
import struct
import subprocess
import sys
from typing import Any, Sequence

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [p for p in (str(HERE), str(ROOT)) if p not in sys.path]
import dawn

PLAN, RUN, UPLOAD, READ, CALL = 1, 2, 3, 4, 5


class RemoteBridge:
    """The bridge's Python interface (torchlite/webgpu/transport/bridge.py) over a node process."""

    def __init__(self, **options: Any) -> None:
        from torchlite.webgpu.transport import bridge as _bridge

        self._python = _bridge
        dawn.modules()
        options = {**json.loads(os.environ.get("TORCHLITE_WEBGPU_OPTIONS") or "{}"), **options}
        host = (
            [dawn.deno(), "run", "--allow-all", "--no-lock"]
            if os.environ.get("TORCHLITE_WEBGPU_HOST") == "deno"
            else [dawn.runtime.node()]
        )
        cmd = [*host, str(dawn.JS / "tools" / "serve.mjs"), json.dumps(options)]
        self._process = subprocess.Popen(cmd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dawn.environment())
        assert self._process.stdin and self._process.stdout
        self._in, self._out = self._process.stdin, self._process.stdout
        atexit.register(self.close)
        self._sync = os.environ.get("TORCHLITE_WEBGPU_SYNC", "") not in ("", "0")
        if not self._call("open"):
            why = self.reason()
            self.close()
            raise dawn.runtime.Missing(f"no WebGPU under node: {why} (Debian's chromium package has a software driver)")
        self._epoch = self._call("epoch")

    # --- the pipe ---

    def _send(self, kind: int, *parts: Any) -> None:
        frame = b"".join((struct.pack("<II", kind, sum(len(p) for p in parts)), *parts))
        try:
            self._in.write(frame)  # one call: a finalizer that runs a stream must not get in between
            self._in.flush()
        except (OSError, ValueError):
            raise self._ended() from None

    def _answer(self) -> bytes:
        head = self._out.read(8)
        if len(head) < 8:
            raise self._ended()
        status, size = struct.unpack("<II", head)
        data = self._out.read(size)
        if len(data) < size:
            raise self._ended()
        if status:
            error = json.loads(data)
            raise self._python.error(error["name"], error["message"])
        return data

    def _ended(self) -> RuntimeError:
        try:
            status: object = self._process.wait(5)
        except subprocess.TimeoutExpired:
            status = "unknown, it still runs"
        return RuntimeError(f"the process of the WebGPU bridge ended (status {status})")

    def _call(self, name: str, *args: Any) -> Any:
        self._send(CALL, json.dumps([name, *args]).encode())
        return json.loads(self._answer())

    # --- the bridge ---

    def plan(self, key: str) -> int:
        self._send(PLAN, key.encode())
        return int(self._answer())

    def run_at(self, address: int, count: int) -> None:
        words = ctypes.string_at(address, 4 * count)
        ctypes.c_uint32.from_address(address).value = 0  # taken
        self._send(RUN, words)
        if self._sync:
            self._call("synchronize")

    def run(self, words: Sequence[int]) -> None:
        stream = array.array("I", words)
        self.run_at(*stream.buffer_info())

    def alloc(self, handle: int, nbytes: int) -> None:
        self._call("claim", handle, nbytes)

    def upload(self, handle: int, offset: int, memory: Any) -> None:
        self._send(UPLOAD, struct.pack("<II", handle, offset), memoryview(memory).cast("B"))

    def read(self, handle: int, offset: int, nbytes: int) -> bytes:
        self._send(READ, struct.pack("<III", handle, offset, nbytes))
        return self._answer()

    async def read_async(self, handle: int, offset: int, nbytes: int) -> bytes:
        return self.read(handle, offset, nbytes)

    def synchronize(self) -> None:
        self._call("synchronize")

    async def synchronize_async(self) -> None:
        self.synchronize()

    def backlogged(self) -> bool:
        return False  # the pipe makes the writer wait

    def drain(self) -> None:
        pass

    def stats(self) -> dict[str, int]:
        return self._python.figures(json.loads(self._call("figures")))  # type: ignore[no-any-return]

    def reset_peaks(self) -> None:
        self._call("resetPeaks")

    def info(self) -> dict[str, Any]:
        return json.loads(self._call("info"))  # type: ignore[no-any-return]

    def state(self) -> int:
        return self._call("state")  # type: ignore[no-any-return]

    def reason(self) -> str:
        return self._call("reason")  # type: ignore[no-any-return]

    def epoch(self) -> int:
        return self._epoch  # type: ignore[no-any-return]

    def empty_cache(self) -> int:
        return self._call("emptyCache")  # type: ignore[no-any-return]

    def set_budget(self, nbytes: int) -> None:
        self._call("setBudget", nbytes)

    async def reset(self) -> bool:
        opened = self._call("reset")
        self._epoch = self._call("epoch")
        return bool(opened)

    def close(self) -> None:
        atexit.unregister(self.close)
        for pipe in (self._in, self._out):
            try:
                pipe.close()
            except OSError:
                pass
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    # --- for tests ---

    def lose(self) -> None:
        """Takes the device away, as when the browser's GPU process ends."""
        self._call("lose")

    def fault(self, kind: str, n: int) -> int:
        """The n-th call of a kind to the GPU fails (js_bridge/tools/faults.mjs);
        returns how many were left of the order before."""
        return int(self._call("fault", kind, n))

    def times(self) -> list[dict[str, Any]]:
        """GPU time per kernel since set_timing(True)."""
        return json.loads(self._call("times"))  # type: ignore[no-any-return]

    def set_timing(self, on: bool) -> bool:
        return bool(self._call("setTiming", on))

    def times_now(self) -> list[dict[str, Any]]:
        return self.times()

    def watch(self, what: int) -> float:
        return float(self._call("watch", what))

    def notes(self) -> list[dict[str, Any]]:
        return json.loads(self._call("notes"))  # type: ignore[no-any-return]

    def spans(self) -> dict[str, Any]:
        return json.loads(self._call("spans"))  # type: ignore[no-any-return]

    async def spans_async(self) -> dict[str, Any]:
        return self.spans()


def install(**options: Any) -> RemoteBridge:
    """Makes torchlite's webgpu device of this process a RemoteBridge;
    the one that is there already, if there is one."""
    from torchlite.webgpu.transport import bridge as _bridge

    current = _bridge.current
    if not isinstance(current, RemoteBridge):
        current = _bridge.current = RemoteBridge(**options)
    return current
