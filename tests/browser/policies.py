"""Python in pages with a Content-Security-Policy."""

from __future__ import annotations

import json
import zipfile

import pages
from pages import load_text, run_async

# Pyodide's own needs, and what a wheel can only be: text in this page
BLOB = "script-src 'self' 'wasm-unsafe-eval' blob:; worker-src 'self' blob:"
# scripts of packages may run in workers only
WORKERS = "script-src 'self' 'wasm-unsafe-eval'; worker-src 'self' blob:"
# nowhere
STRICT = "script-src 'self' 'wasm-unsafe-eval'"
NO_EVAL = """
try { (0, eval)("1"); throw new Error("eval is allowed"); } catch (e) { if (!(e instanceof EvalError)) throw e; }
"""

RUN = """
let ready;
export const run = async ([entry, code]) => {
  try {
    ready ??= (async () => { %s })();
    await ready;
    const r = entry === "async" ? await pyodide.runPythonAsync(code) : pyodide.runPython(code);
    return { ok: r && r.toJs ? r.toJs() : r };
  } catch (e) { return { error: String(e && e.message || e) }; }
};"""
WORKER = """
import { run } from "/t/run.mjs";
onmessage = async ({ data }) => postMessage(await run(data));"""
ASK = {
    "window": 'import { run as ask } from "/t/run.mjs";',
    "worker": """
const worker = new Worker("/t/worker.mjs", { type: "module" });
const ask = (call) => new Promise((ok) => {
  worker.onmessage = ({ data }) => ok(data);
  worker.onerror = (e) => ok({ error: "worker: " + e.message });
  worker.postMessage(call);
});
ask.end = () => worker.terminate();""",
}


class Policy:
    """Python in a window or a worker of a page with a policy. The page's own scripts do all:
    what a driver evaluates may pass the policy by."""

    def __init__(self, driver, folder, dist_folder, wheel_name):
        self.driver, self.folder, self.dist_folder, self.wheel_name = driver, folder, dist_folder, wheel_name
        with zipfile.ZipFile(dist_folder / "torchlite" / wheel_name) as z:
            (folder / "bridge.js").write_bytes(z.read("torchlite/webgpu/bridge.js"))

    def __call__(self, where, policy, calls, before="", isolated=False):
        """What some calls (entry, code) of Python gave; an error is a text that begins with "error: "."""
        (self.folder / "run.mjs").write_text(RUN % (before + NO_EVAL + load_text("", self.wheel_name)))
        (self.folder / "worker.mjs").write_text(WORKER)
        (self.folder / "page.mjs").write_text(
            ASK[where]
            + f"""
          globalThis.done = (async () => {{
            const results = [];
            const late = (call) => new Promise((ok) => {{
                setTimeout(ok, 100_000, {{ error: "no answer for 100 s: " + call }});
            }});
            for (const call of {json.dumps(calls)}) {{
              const {{ ok, error }} = await Promise.race([ask(call), late(call)]); // what hangs is named
              results.push(error === undefined ? ok : "error: " + error);
            }}
            ask.end?.();
            return results;
          }})();"""
        )
        html = pages.EMPTY.replace("</body>", '<script type="module" src="/t/page.mjs"></script></body>')
        headers = {"Content-Security-Policy": policy, **(pages.ISOLATED if isolated else {})}
        with pages.serve({"/dist/": self.dist_folder, "/t/": self.folder}, {"/page.html": html}, headers) as base:
            self.driver.get(base + "/page.html")
            return run_async(self.driver, "return await globalThis.done;")
