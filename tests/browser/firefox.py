"""Firefox over WebDriver BiDi, without geckodriver: just what the tests need of a driver."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading
import time
from typing import Any

PREFS = {
    "dom.webgpu.enabled": True,
    "gfx.webgpu.ignore-blocklist": True,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.homepage_override.mstone": "ignore",
    "datareporting.policy.dataSubmissionEnabled": False,
    "toolkit.telemetry.reportingpolicy.firstRun": False,
    "app.update.enabled": False,
    "remote.prefs.recommended": True,
}


def executable() -> str | None:
    return shutil.which("firefox-esr") or shutil.which("firefox")


def vulkan_environment(folder: pathlib.Path) -> dict[str, str]:
    """Chromium's software Vulkan for Firefox: a folder with its loader alone, and its driver's description."""
    for chromium in ("/usr/lib/chromium", "/usr/lib64/chromium-browser", "/opt/google/chrome"):
        loader, icd = pathlib.Path(chromium, "libvulkan.so.1"), pathlib.Path(chromium, "vk_swiftshader_icd.json")
        if loader.exists() and icd.exists():
            folder.mkdir(parents=True, exist_ok=True)
            link = folder / loader.name
            if not link.exists():
                link.symlink_to(loader)
            return {"LD_LIBRARY_PATH": str(folder), "VK_ICD_FILENAMES": str(icd)}
    return {}


class FirefoxBiDi:
    """The methods of a selenium driver that pytest-pyodide and our page tests call."""

    def __init__(self, prefs: dict[str, Any] | None = None) -> None:
        import websocket

        exe = executable()
        if exe is None:
            raise RuntimeError("Firefox is not installed: apt-get install firefox-esr")
        self._dir = tempfile.TemporaryDirectory(prefix="firefox-")
        profile = pathlib.Path(self._dir.name, "profile")
        profile.mkdir()
        lines = [f"user_pref({json.dumps(k)}, {json.dumps(v)});\n" for k, v in {**PREFS, **(prefs or {})}.items()]
        (profile / "user.js").write_text("".join(lines))
        env = dict(os.environ, **vulkan_environment(pathlib.Path(self._dir.name, "vulkan")))
        env["HOME"] = self._dir.name
        self._process = subprocess.Popen(
            [
                exe,
                "--headless",
                "--no-remote",
                "--profile",
                str(profile),
                "--remote-debugging-port",
                "0",
                "--remote-allow-system-access",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=env,
        )
        url = self._address()
        self._socket = websocket.create_connection(url + "/session", suppress_origin=True, timeout=300)
        self._id = 0
        self._timeout = 300.0
        self._call("session.new", {"capabilities": {}})
        self._call("session.subscribe", {"events": ["log.entryAdded"]})
        self._leave_workers_alone()
        self._context = self._call("browsingContext.getTree", {})["contexts"][0]["context"]
        self.log: list[str] = []

    def _leave_workers_alone(self) -> None:
        """Firefox's agent listens for workers that start.
        While anybody does so, `new Worker` in a worker can block for ever: that thread and the new one wait on one
        condition variable, of whose waiters one only is woken (WorkerPrivate::WaitForIsDebuggerRegistered).
        No test needs this."""
        chrome = self._call("browsingContext.getTree", {"moz:scope": "chrome"})["contexts"][0]["context"]
        module = "chrome://remote/content/shared/js-process-actors/WebDriverWorkerListenerActor.sys.mjs"
        done = self._call(
            "script.evaluate",
            {
                "expression": f'ChromeUtils.importESModule("{module}").unregisterWebDriverWorkerListenerActor(); '
                '"done"',
                "awaitPromise": False,
                "target": {"context": chrome},
            },
        )
        if done["type"] != "success" and "Failed to load" not in done["exceptionDetails"]["text"]:
            # another Firefox may have no such module
            raise RuntimeError("Firefox's listener for workers: " + done["exceptionDetails"]["text"])

    def _address(self) -> str:
        assert self._process.stderr
        end = time.monotonic() + 60
        for line in self._process.stderr:
            found = re.search(r"WebDriver BiDi listening on (ws://\S+)", line)
            if found:
                # keep reading, so that the pipe never fills
                threading.Thread(target=self._drain, daemon=True).start()
                return found.group(1)
            if time.monotonic() > end:
                break
        raise RuntimeError("Firefox did not start")

    def _drain(self) -> None:
        assert self._process.stderr
        for _ in self._process.stderr:
            pass

    def _call(self, method: str, params: dict[str, Any]) -> Any:
        self._id += 1
        self._socket.settimeout(getattr(self, "_timeout", 300) + 30)
        self._socket.send(json.dumps({"id": self._id, "method": method, "params": params}))
        while True:
            message = json.loads(self._socket.recv())
            if message.get("id") == self._id:
                if message.get("type") == "error":
                    raise RuntimeError(f"{method}: {message.get('error')}: {message.get('message')}")
                return message["result"]
            if message.get("method") == "log.entryAdded":
                self.log.append(f"{message['params'].get('level')}: {message['params'].get('text')}")

    def get(self, url: str) -> None:
        self._call("browsingContext.navigate", {"context": self._context, "url": url, "wait": "complete"})

    def refresh(self) -> None:
        self._call("browsingContext.reload", {"context": self._context, "wait": "complete"})

    def set_script_timeout(self, seconds: float) -> None:
        self._timeout = float(seconds)

    def execute_async_script(self, body: str, *args: Any) -> Any:
        """Runs `body`; its last argument is the function to call with the result."""
        given = ", ".join([*(json.dumps(a) for a in args), "r"])
        function = f"() => new Promise(r => {{ (function(){{{body}}}).apply(globalThis, [{given}]) }})"
        function += ".then(JSON.stringify)"
        result = self._call(
            "script.callFunction",
            {"functionDeclaration": function, "awaitPromise": True, "target": {"context": self._context}},
        )
        if result["type"] == "exception":
            raise RuntimeError(result["exceptionDetails"]["text"])
        value = result["result"].get("value")
        return None if value is None else json.loads(value)

    def screenshot(self) -> bytes:
        import base64

        return base64.b64decode(self._call("browsingContext.captureScreenshot", {"context": self._context})["data"])

    def quit(self) -> None:
        try:
            self._call("browser.close", {})
        except Exception:
            pass
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._socket.close()
        self._dir.cleanup()
