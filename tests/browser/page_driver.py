"""Pages in Chromium and Firefox with real pointer and key input:
both speak WebDriver BiDi, Chromium by way of chromedriver."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

import firefox
import pages
import websocket

FLAGS = ["--headless=new", "--no-sandbox", *pages.SHARED_MEMORY, "--force-device-scale-factor=1"]


class BrowserError(RuntimeError):
    pass


def open_browser(kind, dark=False, jspi=True, gpu=False, media=None):
    """A fresh "chromium" or "firefox" profile, with or without (software) WebGPU.
    `jspi=False` turns WebAssembly stack switching off (Firefox only). `media=""`: with a camera and a microphone that
    the browser plays, and may be used unasked; a WAV file in place of "" is what Chromium's microphone hears."""
    if kind == "chromium":
        return Chromium(dark, gpu, media)
    prefs = {"layout.css.prefers-color-scheme.content-override": 0 if dark else 1, "dom.webgpu.enabled": gpu}
    if not jspi:
        prefs["javascript.options.wasm_js_promise_integration"] = False
    if media is not None:
        prefs |= {"media.navigator.streams.fake": True, "media.navigator.permission.disabled": True}
    return Firefox(prefs)


def missing(kind):
    """None, or what has to be installed."""
    if kind == "chromium":
        return pages.chromium_available()
    return None if firefox.executable() else "Firefox is not installed: apt-get install firefox-esr"


class Page:
    """What the tests do with a page; `_call`, `_context` and `log` come from the browser's class."""

    def open(self, url):
        try:
            self._call("browsingContext.navigate", {"context": self._context, "url": url, "wait": "complete"})
        except RuntimeError as error:
            # The page reloads itself once (service worker): the first navigation then counts as aborted.
            if "abort" not in str(error).lower():
                raise

    def eval(self, expression):
        """The value of a JavaScript expression in the page (awaited, by way of JSON)."""
        code = f"async () => JSON.stringify((await ({expression})) ?? null)"
        call = {"functionDeclaration": code, "awaitPromise": True, "target": {"context": self._context}}
        result = self._call("script.callFunction", call)
        if result["type"] == "exception":
            raise BrowserError(result["exceptionDetails"]["text"])
        return json.loads(result["result"]["value"])

    def wait(self, expression, seconds=60, every=0.1):
        """Waits until the expression is true; returns its value."""
        end = time.monotonic() + seconds
        value = None
        while time.monotonic() < end:
            try:
                value = self.eval(expression)
            except RuntimeError:  # e.g. while the page reloads
                value = None
            if value:
                return value
            time.sleep(every)
        page = self.eval("document.body.innerText.slice(0, 3000)")
        log = "\n".join(self.log[-10:])
        raise BrowserError(f"waited {seconds} s for {expression}\n--- page\n{page}\n--- browser console\n{log}")

    def click(self, selector):
        x, y = self.eval(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            " e.scrollIntoView({block: 'center'});"
            " const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2] })()"
        )
        self._pointer([self._to(x, y), {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}])

    def draw(self, selector, strokes, pointer="mouse"):
        """Draws strokes of (x, y) points, given in shares of the element's width and height."""
        left, top, width, height = self.eval(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            " e.scrollIntoView({block: 'center'});"
            " const b = e.getBoundingClientRect(); return [b.x, b.y, b.width, b.height] })()"
        )
        for stroke in strokes:
            spots = [self._to(left + x * width, top + y * height, 15) for x, y in stroke]
            down, up = {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}
            self._pointer([spots[0] | {"duration": 0}, down, *spots[1:], up], pointer)

    @staticmethod
    def _to(x, y, duration=0):
        return {"type": "pointerMove", "x": round(x), "y": round(y), "duration": duration}

    def _pointer(self, actions, pointer="mouse"):
        source = {"type": "pointer", "id": pointer, "parameters": {"pointerType": pointer}, "actions": actions}
        self._call("input.performActions", {"context": self._context, "actions": [source]})

    def keys(self, text):
        """Presses keys; names such as {ArrowLeft} stand for special ones, {Control+Enter} for two at once."""
        special = {"Enter": "\ue007", "ArrowLeft": "\ue012", "ArrowUp": "\ue013", "ArrowRight": "\ue014"}
        special |= {"ArrowDown": "\ue015", "Tab": "\ue004", "Escape": "\ue00c", "F6": "\ue036", "End": "\ue010"}
        special |= {"Control": "\ue009", "Shift": "\ue008", "Alt": "\ue00a"}
        actions = []
        for part in re.findall(r"\{\w+(?:\+[^}]+)?\}|.", text, re.DOTALL):
            held = part[1:-1].split("+") if len(part) > 1 else [part]
            values = [special.get(name, name) for name in held]
            actions += [{"type": "keyDown", "value": value} for value in values]
            actions += [{"type": "keyUp", "value": value} for value in reversed(values)]
        self._call(
            "input.performActions",
            {"context": self._context, "actions": [{"type": "key", "id": "keys", "actions": actions}]},
        )

    def resize(self, width, height):
        self._call(
            "browsingContext.setViewport", {"context": self._context, "viewport": {"width": width, "height": height}}
        )

    def screenshot(self, path, whole=False):
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        origin = "document" if whole else "viewport"
        data = self._call("browsingContext.captureScreenshot", {"context": self._context, "origin": origin})["data"]
        path.write_bytes(base64.b64decode(data))


class Firefox(Page, firefox.FirefoxBiDi):
    kind = "firefox"


class Chromium(Page):
    kind = "chromium"
    _call = firefox.FirefoxBiDi._call

    def __init__(self, dark, gpu, media):
        self.log = []
        self._id = 0
        self._folder = tempfile.mkdtemp(prefix="chromium-")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self._process = subprocess.Popen(
            ["chromedriver", f"--port={port}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        args = [*FLAGS, *(pages.CHROMIUM_WEBGPU if gpu else []), f"--user-data-dir={self._folder}"]
        if media is not None:
            args += ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]
        if media:
            args.append(f"--use-file-for-fake-audio-capture={media}")
        if dark:
            args.append("--blink-settings=preferredColorScheme=0")
        wanted = {"browserName": "chrome", "webSocketUrl": True, "goog:chromeOptions": {"args": args}}
        reply = self._post(f"http://127.0.0.1:{port}/session", {"capabilities": {"alwaysMatch": wanted}})
        self._socket = websocket.create_connection(reply["value"]["capabilities"]["webSocketUrl"], suppress_origin=True)
        self._context = self._call("browsingContext.getTree", {})["contexts"][0]["context"]
        self._call("session.subscribe", {"events": ["log.entryAdded"]})

    @staticmethod
    def _post(url, body):
        request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
        for _ in range(60):
            try:
                with urllib.request.urlopen(request, timeout=90) as reply:
                    return json.load(reply)
            except urllib.error.HTTPError as error:
                raise BrowserError(error.read().decode()) from None
            except urllib.error.URLError:  # chromedriver does not listen yet
                time.sleep(0.2)
        raise BrowserError("chromedriver did not start")

    def quit(self):
        try:
            self._call("browser.close", {})
        except Exception:
            pass
        self._socket.close()
        try:
            os.killpg(self._process.pid, signal.SIGKILL)  # chromedriver and the browser it started
        except ProcessLookupError:
            pass
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)
