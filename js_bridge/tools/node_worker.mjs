// A browser's Worker made of a thread of node, with Dawn as its navigator.gpu: for tests of the GPU worker. `source` is
// a script's
// text, or a promise of it; `webgpu` is where Dawn's module lies.
import { Worker } from "node:worker_threads";

const BOOT = `
const { parentPort, workerData } = require("node:worker_threads");
globalThis.self = globalThis;
globalThis.postMessage = (message, transfer) => parentPort.postMessage(message, transfer);
const early = [];
parentPort.on("message", (data) => {
  // Dawn does not bear that a thread ends while the GPU has something to do for it
  if (data === "end") setTimeout(() => process.exit(0), 200);
  else if (globalThis.onmessage) globalThis.onmessage({ data });
  else early.push(data);
});
(async () => {
  const { create, globals } = await import(workerData.webgpu);
  Object.assign(globalThis, globals);
  // it must outlive all that came from it
  globalThis.dawn = create(process.platform === "linux" ? ["backend=vulkan"] : []);
  globalThis.navigator ??= {};
  Object.defineProperty(globalThis.navigator, "gpu", { value: globalThis.dawn, configurable: true });
  (0, eval)(workerData.source);
  for (const data of early.splice(0)) globalThis.onmessage({ data });
})();
`;

export class NodeWorker extends EventTarget {
  onmessage = null;
  onerror = null;
  #early = [];
  #thread = null;
  /** Resolved when the thread has ended. */
  ended;

  constructor(source, webgpu) {
    super();
    this.ended = this.#start(source, webgpu);
  }

  async #start(source, webgpu) {
    this.#thread = new Worker(BOOT, { eval: true, workerData: { source: await source, webgpu } });
    this.#thread.unref();
    this.#thread.on("message", (data) => this.onmessage?.({ data }));
    this.#thread.on("error", (e) => this.onerror?.({ message: e.message }));
    for (const [message, transfer] of this.#early.splice(0)) this.#thread.postMessage(message, transfer);
    await new Promise((done) => this.#thread.on("exit", done));
  }

  postMessage(message, transfer) {
    if (this.#thread) this.#thread.postMessage(message, transfer);
    else this.#early.push([message, transfer]);
  }

  terminate() {
    this.onmessage = this.onerror = null;
    this.postMessage("end");
    setTimeout(() => this.#thread?.terminate(), 1000).unref(); // where it hangs
  }
}
