// Workers for large products (native/page/pool.c) over a memory that they share with Pyodide's thread.
// page_threads.py evaluates this script and calls the function that it leaves; native/src/products/gemm_page.c gives
// the orders.
globalThis.torchlite_threads = async (pyodide, code, count, patience) => {
  const STACK = 1 << 16;
  const ARENA = 5 << 19; // two blocks: to pack operands, gemm.c needs 1.2 MB
  const PAGE = 1 << 16;
  const live = async ({ memory, module, stack, tls, arena, size }) => {
    const { exports } = await WebAssembly.instantiate(module, {
      env: { memory },
    });
    exports.__stack_pointer.value = stack;
    exports.__wasm_init_tls(tls);
    exports.serve(arena, size);
  };
  const node = globalThis.process?.versions?.node && !globalThis.Deno && !globalThis.Bun;
  let makeWorker;
  if (node) {
    const { Worker } = process.getBuiltinModule("node:worker_threads");
    const text = `require("node:worker_threads").parentPort.once("message", ${live});`;
    makeWorker = () => new Worker(text, { eval: true });
  } else {
    const blob = new Blob([`onmessage = (e) => (${live})(e.data);`], {
      type: "text/javascript",
    });
    makeWorker = () => {
      const url = URL.createObjectURL(blob);
      const worker = new Worker(url, { type: "module" });
      worker.release = () => URL.revokeObjectURL(url);
      return worker;
    };
  }
  const reserve = (most) => {
    try {
      return [new WebAssembly.Memory({ initial: 64, maximum: most, shared: true }), most];
    } catch (e) {
      if (most <= 1024) throw e;
      return reserve(most / 4);
    }
  };
  const [memory, most] = reserve(globalThis.navigator?.deviceMemory < 8 ? 1 << 12 : 1 << 14);
  const module = await WebAssembly.compile(code);
  const { exports } = await WebAssembly.instantiate(module, {
    env: { memory },
  });
  let top = exports.__heap_base.value;
  const take = (bytes) => {
    const at = (top + 63) & -64;
    top = at + bytes;
    const missing = top - memory.buffer.byteLength;
    if (missing > 0) memory.grow(Math.ceil(missing / PAGE));
    return at;
  };
  let mayWait = true; // not in a window
  try {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 0);
  } catch {
    mayWait = false;
  }

  const workers = [];
  const close = () => {
    for (const w of workers.splice(0)) w.terminate();
  };
  const copy = (order, from, to) => {
    const words = pyodide._module.HEAPU32;
    const [at, n] = [(order >>> 2) + 4, words[(order >>> 2) + 3]];
    for (let i = at; i < at + 6 * n; i += 6) {
      let [source, target, bytes, lines, sourceStep, targetStep] = words.subarray(i, i + 6);
      for (; lines--; source += sourceStep, target += targetStep) to.set(from.subarray(source, source + bytes), target);
    }
  };
  let shared = new Uint8Array(memory.buffer);
  let started = 0;
  let owed = 0; // since when workers have had parts that nobody waits for any more
  const finish = () => {
    const mine = performance.now() - started;
    let elapsed = mine;
    while (!exports.finished(mayWait ? 1 : 0)) {
      elapsed = performance.now() - started;
      if (elapsed < 1.7 * mine + 0.3) continue;
      // other programs have the core: Pyodide's thread is faster alone
      exports.stop();
      owed = performance.now();
      return exports.results() | (1 << 30);
    }
    return exports.results() | (elapsed > 1.7 * mine + 0.05 ? 1 << 30 : 0);
  };
  const start = (order) => {
    if (!exports.workers()) return 0;
    if (owed && !exports.finished(0)) {
      if (performance.now() - owed < patience) return 0;
      close();
      return -2;
    }
    owed = 0;
    const [need, parts, job] = pyodide._module.HEAPU32.subarray(order >>> 2, (order >>> 2) + 3);
    exports.wake(parts - 1);
    if (need > shared.length) {
      memory.grow(Math.ceil((need - shared.length) / PAGE));
      shared = new Uint8Array(memory.buffer);
    }
    copy(order, pyodide._module.HEAPU8, shared);
    started = performance.now();
    exports.publish(job, parts);
    return 1;
  };
  const collect = (order) => {
    copy(order, shared, pyodide._module.HEAPU8);
    return 1;
  };
  const calls = [start, () => exports.claim(), () => exports.stop(), finish, collect];
  // never lets an exception into WebAssembly that waits for the answer
  const call = (what, order) => {
    try {
      return calls[what](order);
    } catch {
      if (what === 3) close();
      return [-1, -1, 0, 1 << 31, 0][what];
    }
  };

  let failed = 0;
  try {
    for (let i = 0; i < count; i++) {
      const worker = makeWorker();
      workers.push(worker);
      if (node) worker.on("error", () => failed++);
      else worker.onerror = (e) => (failed++, e.preventDefault());
      const stack = take(STACK) + STACK;
      const own = {
        stack,
        tls: take(exports.__tls_size.value),
        arena: take(ARENA),
        size: ARENA,
      };
      worker.postMessage({ memory, module, ...own });
    }
    // workers that serve never come back to their event loop: what they do is seen in the memory alone
    const end = performance.now() + 2000;
    while (exports.workers() + failed < count && performance.now() < end)
      await new Promise((done) => setTimeout(done, 4));
    if (!exports.workers()) throw new Error("the page's workers do not start");
  } catch (e) {
    close();
    throw e;
  }
  for (const w of workers) {
    w.unref?.();
    w.release?.();
  }
  const base = take(0);
  shared = new Uint8Array(memory.buffer);
  const pointer = pyodide._module.addFunction(call, "iii");
  return {
    pointer,
    base,
    end: most * PAGE,
    workers: () => exports.workers(),
    alive: () => workers.length,
    close: () => {
      close();
      pyodide._module.removeFunction(pointer);
    },
    debug: { calls, exports, memory },
  };
};
