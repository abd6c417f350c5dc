// node compile_pyc.mjs PYODIDE_DIR SRC OUT SITE < names.json
// Compiles Python files to bytecode with the very Python that will import them: those that `import torchlite` loads,
// and those that most models use. The rest is compiled when it is first used, since bytecode is twice the size of its
// source. Prints what it chose as JSON.
import { readFileSync, mkdirSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { join } from "node:path";

const [dist, src, out, site] = process.argv.slice(2);
const names = readFileSync(0, "utf8");
const { loadPyodide } = await import(pathToFileURL(join(dist, "pyodide.mjs")));
// without column positions bytecode is a quarter smaller; tracebacks keep their lines
const py = await loadPyodide({ indexURL: dist + "/", env: { PYTHONNODEBUGRANGES: "1" } });
mkdirSync(out, { recursive: true });
for (const [at, dir] of [
  ["/src", src],
  ["/out", out],
]) {
  py.FS.mkdir(at);
  py.FS.mount(py.FS.filesystems.NODEFS, { root: dir }, at);
}
py.runPython(readFileSync(new URL("compile_pyc.py", import.meta.url), "utf8"));
const chosen = py.globals.get("compile_loaded")(names, site);
process.stdout.write("\nCHOSEN " + chosen + "\n");
