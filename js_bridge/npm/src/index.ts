// load(): Python, torchlite in it, and torch for JavaScript. Nothing is fetched before it is called.

import source from "../torchlite_js.py";
import { absolute, readFile } from "./files.js";
import { Link } from "./link.js";
import { FUNCTIONS, type Pyodide, type Python } from "./python.js";
import { PYODIDE, WHEEL } from "./release.js";
import type { Options, Progress, Torch } from "../own.js";

export { PythonError } from "./errors.js";

export type { Options, Progress };

const FOLDER = "/home/pyodide/torchlite_js";

/** Starts Python with torchlite, and resolves to `torch`. */
export async function load(options: Options = {}): Promise<Torch> {
  const { signal, onProgress = () => {}, device = "cpu" } = options;
  const check = (): void => signal?.throwIfAborted();
  check();
  const wheelURL = options.wheelURL ? absolute(options.wheelURL) : WHEEL;
  const fetched = readFile(wheelURL, {
    signal,
    progress: (loaded, total) => onProgress({ stage: "wheel", loaded, total }),
  });
  fetched.catch(() => {}); // told below, unless Pyodide fails first
  onProgress({ stage: "pyodide", loaded: 0, total: 1 });
  const pyodide = await startPyodide(options);
  check();
  onProgress({ stage: "pyodide", loaded: 1, total: 1 });
  pyodide.unpackArchive(await fetched, "wheel");
  check();
  onProgress({ stage: "import", loaded: 0, total: 1 });
  pyodide.FS.mkdirTree(FOLDER);
  pyodide.FS.writeFile(`${FOLDER}/torchlite_js.py`, source);
  const { path } = pyodide.pyimport("sys") as { path: { append(folder: string): void } };
  path.append(FOLDER);
  const { torch } = new Link(pyodide, functionsOf(pyodide.pyimport("torchlite_js")));
  await choose(torch as Devices, device);
  check();
  onProgress({ stage: "import", loaded: 1, total: 1 });
  return torch as Torch;
}

interface Devices {
  webgpu: { ready(): unknown; why_not(): string };
  set_default_device(name: string): void;
}

async function choose(torch: Devices, device: string): Promise<void> {
  if (device === "cpu") return;
  if (await torch.webgpu.ready()) torch.set_default_device("webgpu");
  else if (device !== "auto") throw new Error(`there is no webgpu device: ${torch.webgpu.why_not()}`);
}

async function startPyodide({ indexURL, stdout, stderr }: Options): Promise<Pyodide> {
  const { process } = globalThis as { process?: { versions?: { node?: string } } };
  const folder = indexURL ? absolute(String(indexURL).replace(/\/?$/, "/")) : process?.versions?.node ? null : PYODIDE;
  // by a name that bundlers do not follow: Pyodide finds its files beside itself
  const module = folder ? `${folder.href}pyodide.mjs` : "pyodide";
  const { loadPyodide } = (await import(/* webpackIgnore: true */ /* @vite-ignore */ module)) as {
    loadPyodide(options: object): Promise<Pyodide>;
  };
  const where = folder?.protocol === "file:" ? decodeURIComponent(folder.pathname) : folder?.href;
  const pyodide = await loadPyodide({ ...(where ? { indexURL: where } : {}), fullStdLib: false });
  if (stdout) pyodide.setStdout({ batched: stdout });
  if (stderr) pyodide.setStderr({ batched: stderr });
  return pyodide;
}

/** The functions themselves: a lookup in Python's module at each call would cost more than the call. */
function functionsOf(module: unknown): Python {
  return Object.fromEntries(FUNCTIONS.map((name) => [name, (module as Python)[name]])) as unknown as Python;
}
