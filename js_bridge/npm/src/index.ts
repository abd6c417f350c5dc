// load(): Python, torchlite in it, and torch for JavaScript. Nothing is fetched before it is called.

import { absolute, readFile } from "./files.js";
import { attach } from "./attach.js";
import { importModule } from "./import.js";
import type { Pyodide } from "./python.js";
import { PYODIDE, WHEEL } from "./release.js";
import { startWorker } from "./remote.js";
import type { Options, Progress, Torch } from "../own.js";

export { PythonError } from "./errors.js";
export { Slice } from "./convert.js";
export type { Options, Progress };

/** Starts Python with torchlite, and resolves to `torch`. */
export async function load(options: Options = {}): Promise<unknown> {
  const { signal, onProgress = () => {}, device = "cpu" } = options;
  signal?.throwIfAborted();
  const wheelURL = options.wheelURL ? absolute(options.wheelURL) : WHEEL;
  const folder = folderOf(options);
  if (options.worker) {
    const torch = await startWorker((folder ?? PYODIDE).href, wheelURL.href, options);
    await choose(torch as Devices, device);
    return torch;
  }
  const fetched = readFile(wheelURL, {
    signal,
    progress: (loaded, total) => onProgress({ stage: "wheel", loaded, total }),
  });
  fetched.catch(() => {}); // told below, unless Pyodide fails first
  onProgress({ stage: "pyodide", loaded: 0, total: 1 });
  const pyodide = await unlessAborted(startPyodide(folder), signal);
  if (options.stdout) pyodide.setStdout({ batched: options.stdout });
  if (options.stderr) pyodide.setStderr({ batched: options.stderr });
  signal?.throwIfAborted();
  onProgress({ stage: "pyodide", loaded: 1, total: 1 });
  pyodide.unpackArchive(await fetched, "wheel");
  signal?.throwIfAborted();
  onProgress({ stage: "import", loaded: 0, total: 1 });
  const { torch } = attach(pyodide);
  await choose(torch as Devices, device);
  onProgress({ stage: "import", loaded: 1, total: 1 });
  return torch as Torch;
}

/** The promise's value, or the signal's reason as soon as that comes: Pyodide's start itself cannot be ended. */
async function unlessAborted<T>(work: Promise<T>, signal?: AbortSignal): Promise<T> {
  if (!signal) return work;
  let abort = (): void => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    abort = () => reject(signal.reason as Error);
    signal.addEventListener("abort", abort);
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

interface Devices {
  webgpu: { ready(): unknown; why_not(): string };
  set_default_device(name: string): unknown;
}

async function choose(torch: Devices, device: string): Promise<void> {
  if (device === "cpu") return;
  if (await torch.webgpu.ready()) await torch.set_default_device("webgpu");
  else if (device !== "auto") throw new Error(`there is no webgpu device: ${await torch.webgpu.why_not()}`);
}

/** Where Pyodide is; null for the npm package, which node has beside this one. */
function folderOf({ indexURL }: Options): URL | null {
  if (indexURL) return absolute(String(indexURL).replace(/\/?$/, "/"));
  const { process } = globalThis as { process?: { versions?: { node?: string } } };
  return process?.versions?.node ? null : PYODIDE;
}

async function startPyodide(folder: URL | null): Promise<Pyodide> {
  // not bundled: Pyodide finds its files beside itself
  const { loadPyodide } = (await importModule(folder ? `${folder.href}pyodide.mjs` : "pyodide")) as {
    loadPyodide(options: object): Promise<Pyodide>;
  };
  const where = folder?.protocol === "file:" ? decodeURIComponent(folder.pathname) : folder?.href;
  return loadPyodide({ ...(where ? { indexURL: where } : {}), fullStdLib: false });
}
