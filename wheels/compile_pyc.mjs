// node compile_pyc.mjs PYODIDE_DIR SRC OUT SITE < names.json
// Compiles Python files to bytecode with the very Python that will import them: those that `import torchlite` loads.
// The rest is compiled when it is first used, since bytecode is three times the size of its source. Prints what it
// chose as JSON.
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
py.globals.set("names", names);
py.globals.set("site", site);
const chosen = py.runPython(`
import importlib._bootstrap_external as external, importlib.util, json, os, pathlib, sys, traceback
tag = sys.implementation.cache_tag
sys.dont_write_bytecode = True
names = json.loads(names)
sys.path.insert(0, "/src")
try:
    import torchlite
    files = {getattr(m, "__file__", None) for m in list(sys.modules.values())}
    chosen = [n for n in names if "/src/" + n in files]
    error = ""
except BaseException:
    chosen, error = names, traceback.format_exc()
for name in chosen:
    source = pathlib.Path("/src", name).read_bytes()
    code = compile(source, f"{site}/{name}", "exec", dont_inherit=True, optimize=0)
    data = external._code_to_hash_pyc(code, importlib.util.source_hash(source), False)
    p = pathlib.Path("/out", name)
    target = p.parent / "__pycache__" / f"{p.stem}.{tag}.pyc"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
json.dumps({"names": chosen, "error": error})
`);
process.stdout.write("\nCHOSEN " + chosen + "\n");
