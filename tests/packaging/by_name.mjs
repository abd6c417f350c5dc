// node by_name.mjs PYODIDE_DIR LOCK_FILE: finds torchlite by name in four ways, each in a Pyodide of its own, and
// prints what a sum in each gives.
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, lockFileURL] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(join(folder, "pyodide.mjs")));

const install = async (pyodide, name) => {
  await pyodide.loadPackage("micropip", { messageCallback: () => {} });
  await pyodide.pyimport("micropip").install(name);
};
const ways = {
  imports: (pyodide) => pyodide.loadPackagesFromImports("import torch.nn as nn", { messageCallback: () => {} }),
  package: (pyodide) => pyodide.loadPackage("torchlite", { messageCallback: () => {} }),
  micropip: (pyodide) => install(pyodide, "torchlite"),
  stub: (pyodide) => install(pyodide, "torch>=2"),
};

const sums = {};
for (const [name, load] of Object.entries(ways)) {
  const pyodide = await loadPyodide({ indexURL: folder + "/", lockFileURL, packageBaseUrl: folder + "/" });
  await load(pyodide);
  sums[name] = pyodide.runPython("import torch; torch.arange(4.).sum().item()");
}
console.log(JSON.stringify(sums));
process.exit(0);
