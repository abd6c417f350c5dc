"""A static server and two browsers for tests that open ordinary pages."""

from __future__ import annotations

import contextlib
import functools
import http.server
import json
import pathlib
import shutil
import threading
from typing import Any, Iterator

ISOLATED = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cross-Origin-Resource-Policy": "cross-origin",
}
# Software WebGPU, and reading it back through a canvas: each of the four is needed.
CHROMIUM_WEBGPU = [
    "--enable-unsafe-webgpu",
    "--use-angle=swiftshader",
    "--enable-features=Vulkan",
    "--use-vulkan=swiftshader",
]
# Chromium keeps shared memory in /tmp with the flag; in a container's /dev/shm of 64 MB its tabs would crash.
# A large /dev/shm is the better place: a full disk crashes tabs as well, and the files of a killed browser stay.
SHM = pathlib.Path("/dev/shm")
SHARED_MEMORY = [] if SHM.is_dir() and shutil.disk_usage(SHM).free > 2 << 30 else ["--disable-dev-shm-usage"]
EMPTY = '<!DOCTYPE html><html><head><meta charset="utf-8"><link rel="icon" href="data:,"></head><body></body></html>'


class _Handler(http.server.SimpleHTTPRequestHandler):
    extensions_map = {
        **http.server.SimpleHTTPRequestHandler.extensions_map,
        ".mjs": "text/javascript",
        ".js": "text/javascript",
        ".wasm": "application/wasm",
        ".whl": "application/zip",
        ".json": "application/json",
        ".py": "text/x-python",
    }
    headers_extra: dict[str, str] = {}
    roots: dict[str, str] = {}
    pages: dict[str, str] = {}

    def translate_path(self, path: str) -> str:
        clean = path.split("?")[0].split("#")[0]
        for prefix, folder in self.roots.items():
            if clean.startswith(prefix):
                self.directory = folder
                return super().translate_path("/" + clean[len(prefix) :])
        return super().translate_path(clean)

    def do_GET(self) -> None:
        page = self.pages.get(self.path.split("?")[0])
        if page is None:
            return super().do_GET()
        data = page.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-store")
        for k, v in self.headers_extra.items():
            self.send_header(k, v)
        super().end_headers()

    def log_message(self, *args: Any) -> None:
        pass


@contextlib.contextmanager
def serve(
    roots: dict[str, pathlib.Path], pages: dict[str, str] | None = None, headers: dict[str, str] | None = None
) -> Iterator[str]:
    """Serves folders under URL prefixes and pages given as text; yields the base URL."""
    handler = type(
        "Handler",
        (_Handler,),
        {"roots": {k: str(v) for k, v in roots.items()}, "pages": pages or {}, "headers_extra": headers or {}},
    )
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(handler, directory=str(next(iter(roots.values()))))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def chromium_available() -> str | None:
    """None, or what is missing."""
    if not (shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")):
        return "Chromium is not installed: apt-get install chromium chromium-driver"
    return None if shutil.which("chromedriver") else "chromedriver is not installed: apt-get install chromium-driver"


def chromium(extra: list[str] | None = None) -> Any:
    from selenium import webdriver
    from selenium.common.exceptions import WebDriverException
    from selenium.webdriver.remote.command import Command

    options = webdriver.ChromeOptions()
    options.binary_location = (
        shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome") or ""
    )
    for flag in ["--headless=new", "--no-sandbox", *SHARED_MEMORY, *CHROMIUM_WEBGPU, *(extra or [])]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})

    class Chromium(webdriver.Chrome):
        def get(self, url: str) -> None:
            """Opens a page, in a new browser if an earlier test's tab has crashed: that test's failure is its own."""
            try:
                super().get(url)
            except WebDriverException as e:
                if "tab crashed" not in str(e):
                    raise
                self.execute(Command.QUIT)
                self.start_session(options.to_capabilities())
                self.set_script_timeout(300)
                super().get(url)

    driver = Chromium(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    driver.set_script_timeout(300)
    return driver


def run_async(driver: Any, body: str) -> Any:
    """Runs the body of a JavaScript async function in the page and returns its (JSON) result; raises with its error."""
    text = driver.execute_async_script(
        "const done = arguments[arguments.length - 1];"
        f"(async () => {{ {body} }})().then(v => done(JSON.stringify({{ok: v === undefined ? null : v}})),"
        " e => done(JSON.stringify({error: String(e && e.stack || e) + String(e && e.message || '')})));"
    )
    result = json.loads(text)
    if "error" in result:
        raise AssertionError(result["error"])
    return result["ok"]


def python(driver: Any, code: str) -> Any:
    """Runs Python in a page whose `pyodide` is a global; the value of the last line, as JSON."""
    return run_async(
        driver,
        f"const r = await pyodide.runPythonAsync({json.dumps(code)}); "
        "return r && r.toJs ? r.toJs({dict_converter: Object.fromEntries}) : r;",
    )


def run_sync_entry(driver: Any, code: str) -> Any:
    """Python entered synchronously: it cannot be suspended."""
    return run_async(driver, f"const r = pyodide.runPython({json.dumps(code)}); return r && r.toJs ? r.toJs() : r;")


def load_text(base: str, wheel_name: str, name: str = "pyodide") -> str:
    """JavaScript that leaves Pyodide with the wheel in a global."""
    return f"""
      const {{ loadPyodide }} = await import("{base}/dist/pyodide.mjs");
      const {name} = globalThis.{name} = await loadPyodide({{ indexURL: "{base}/dist/" }});
      await {name}.loadPackage("{base}/dist/torchlite/{wheel_name}", {{ messageCallback: () => {{}} }});"""


WORKER = """
let ready;
onmessage = async ({ data: [entry, code] }) => {
  try {
    ready ??= (async () => { %s })();
    await ready;
    const r = entry === "async" ? await pyodide.runPythonAsync(code) : pyodide.runPython(code);
    postMessage(JSON.stringify({ ok: r && r.toJs ? r.toJs() : r }));
  } catch (e) { postMessage(JSON.stringify({ error: String(e && e.message || e) })); }
};"""


class Asking:
    """Python in a worker: ask(entry, code), with "sync" or "async" for entry.
    Its script begins with `load`, or is at `url`."""

    def __init__(self, driver: Any, base: str, load: str, type: str = "module", url: str = "") -> None:
        self.driver = driver
        driver.get(base + "/empty.html")
        run_async(
            driver,
            f"""
          const script = new Blob([{json.dumps(WORKER % load)}], {{ type: "text/javascript" }});
          const url = {json.dumps(url)} || URL.createObjectURL(script);
          globalThis.worker = new Worker(url, {{ type: "{type}" }});
          globalThis.ask = (...what) => new Promise((ok, no) => {{
            worker.onmessage = (e) => {{
              const r = JSON.parse(e.data);
              "error" in r ? no(new Error(r.error)) : ok(r.ok);
            }};
            worker.onerror = (e) => no(new Error("worker: " + e.message));
            worker.postMessage(what);
          }});""",
        )

    def __call__(self, entry: str, code: str) -> Any:
        return run_async(self.driver, f"return await ask({json.dumps(entry)}, {json.dumps(code)});")

    def end(self) -> None:
        """The worker is ended; it has ended already where another page was opened since."""
        run_async(self.driver, "globalThis.worker?.terminate();")


# Python for pages on whose GPU something is done: what became of a call, and whether the device gives right answers
CHECKS = """
import torch

def error_of(fn, *kinds):
    try:
        return "no error: %r" % (fn(),)
    except kinds or Exception as e:
        return type(e).__name__ + ": " + str(e)

def works():
    x = torch.arange(12, dtype=torch.float32).reshape(3, 4).to("webgpu")
    return ((x @ x.T).relu() * 2).sum(1).tolist() == [228.0, 756.0, 1284.0]
"""
