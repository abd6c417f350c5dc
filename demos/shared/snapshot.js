// A later visit starts Python from a copy of its memory: what it is just after its start, without packages. That takes
// a fifth of the time of starting it. The copy is made on the visitor's machine, once for each Pyodide, by a worker
// that does nothing else (snapshot_worker.js): memory that a compiled package has used cannot be copied.

const CACHE = "torchlite-python";
const LEAST = 4; // GiB of memory that a device has; the copy takes 32 MB of disk, making it 150 MB for two seconds
const QUIET = 5000; // ms that Python is left alone first

const place = (indexURL) => new URL("memory", indexURL).href;

/** The copy as it is stored; undefined where there is none, or a sandboxed page may not ask. */
async function find(indexURL) {
  try {
    return await globalThis.caches?.match(place(indexURL), { cacheName: CACHE });
  } catch {
    return undefined;
  }
}

/** Pyodide, from a copy of its memory where there is one; and whether there was. */
export async function startPython(loadPyodide, indexURL) {
  const options = { indexURL, fullStdLib: false };
  const copy = await find(indexURL);
  if (!copy) return { pyodide: await loadPyodide(options), copied: false };
  try {
    const pyodide = await loadPyodide({ ...options, _loadSnapshot: new Uint8Array(await copy.arrayBuffer()) });
    pyodide.pyimport("random").seed(); // it would go on from the copy's numbers
    return { pyodide, copied: true };
  } catch {
    await caches.delete(CACHE);
    return { pyodide: await loadPyodide(options), copied: false };
  }
}

/** Makes the copy when Python has been left alone for a moment, and is not `busy()` with a program; `modules` of the
 * standard library are loaded in it. */
export async function keepSnapshot(indexURL, modules, busy = () => false) {
  const { caches, navigator, Worker } = globalThis;
  if (!caches || !Worker || (navigator?.deviceMemory ?? LEAST) < LEAST) return;
  do await new Promise((resolve) => setTimeout(resolve, QUIET));
  while (busy());
  if (await find(indexURL)) return;
  const worker = new Worker(new URL("snapshot_worker.js", location), { type: "module" });
  worker.onmessage = worker.onerror = () => worker.terminate();
  worker.postMessage({ indexURL, modules, cache: CACHE, place: place(indexURL) });
}
