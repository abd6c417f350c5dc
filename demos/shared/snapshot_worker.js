// Starts Python once more, and stores a copy of its memory (see snapshot.js).

self.onmessage = async ({ data: { indexURL, modules, cache, place } }) => {
  try {
    const { loadPyodide } = await import(/* webpackIgnore: true */ /* @vite-ignore */ `${indexURL}pyodide.mjs`);
    const pyodide = await loadPyodide({ indexURL, fullStdLib: false, _makeSnapshot: true });
    for (const name of modules) pyodide.pyimport(name).destroy();
    const memory = pyodide.makeMemorySnapshot();
    await caches.delete(cache); // another Pyodide's
    await (await caches.open(cache)).put(place, new Response(memory));
  } catch (error) {
    console.info("no copy of Python's memory:", error); // a full disk; the next visit starts as this one did
  }
  self.postMessage("done");
};
