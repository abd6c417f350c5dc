// Runs Python inside Pyodide on node, or on Deno. Driven by run_node.py: one JSON object on stdin.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { join } from "node:path";

const job = JSON.parse(readFileSync(0, "utf8"));
if (typeof Deno !== "undefined") {
  // Pyodide 0.29 takes it for a node that loads CommonJS
  globalThis.require ??= createRequire(import.meta.url);
  globalThis.__dirname ??= job.dist;
}
const { loadPyodide } = await import(pathToFileURL(join(job.dist, "pyodide.mjs")));
if (job.webgpu) {
  const { create, globals } = await import(pathToFileURL(job.webgpu));
  Object.assign(globalThis, globals);
  // Dawn's instance must outlive all that came from it: when it is collected, node crashes
  globalThis.dawn = create(process.platform === "linux" ? ["backend=vulkan"] : []);
  // on the navigator that is there: Pyodide does not load with another one
  Object.defineProperty(globalThis.navigator, "gpu", { value: globalThis.dawn, configurable: true });
  if (job.env.TORCHLITE_WEBGPU_READ === "worker") {
    // what a browser's worker has in a page that is cross-origin isolated
    const { NodeWorker } = await import(new URL("../../js_bridge/tools/node_worker.mjs", import.meta.url));
    const { resolveObjectURL } = await import("node:buffer");
    globalThis.crossOriginIsolated = true;
    globalThis.Worker = function (url) {
      return new NodeWorker(resolveObjectURL(url).text(), pathToFileURL(job.webgpu).href);
    };
  }
}
const decoder = () => {
  const d = new TextDecoder();
  return (buffer) => d.decode(buffer, { stream: true });
};
const [out, err] = [decoder(), decoder()];
const py = await loadPyodide({ indexURL: job.dist + "/", env: { HOME: "/home/pyodide", ...job.env } });
py.setStdout({ write: (b) => (process.stdout.write(out(b)), b.length) });
py.setStderr({ write: (b) => (process.stderr.write(err(b)), b.length) });
for (const [at, dir] of Object.entries(job.mounts)) {
  py.FS.mkdirTree(at);
  py.FS.mount(py.FS.filesystems.NODEFS, { root: dir }, at);
}
await py.loadPackage(job.packages, { messageCallback: () => {} });
if (job.wheel) {
  py.FS.writeFile("/tmp/" + job.wheelName, readFileSync(job.wheel));
  py.globals.set("wheel", "emfs:/tmp/" + job.wheelName);
  await py.runPythonAsync("import micropip; await micropip.install(wheel)");
}
py.globals.set("argv", py.toPy(job.argv));
let code;
try {
  code = await py.runPythonAsync(job.code, { globals: py.toPy({ __name__: "__main__", argv: py.toPy(job.argv) }) });
} catch (e) {
  const exit = /SystemExit: (\d+)/.exec(String(e.message ?? e));
  if (exit) code = Number(exit[1]);
  else {
    process.stderr.write(String(e.stack ?? e) + "\n");
    code = 1;
  }
}
process.exit(typeof code === "number" ? code : 0);
