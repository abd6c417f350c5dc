// Python for a page: start it, run a script, stop it, judge a drawing.
//
// Events: "state" (see `state`), "progress" {stage, done, total}, "output" {text, stream}, "losses" {steps, values},
// "gpu" (see `gpu`), "ask" (the script waits for answer()), "show" {html, key}, and what the page's extension posts.

// apart from `new Worker`: a bundler then takes the file as it is, and makes no classic worker of it
const SCRIPT = new URL("worker.js", import.meta.url);
const PATIENCE = 3000; // ms that Stop waits for Python before it replaces the worker
const AGAIN = 700; // ms between two interrupts

export class Engine extends EventTarget {
  /** "off", "starting", "ready", "running", "stopping" or "broken" */
  state = "off";
  /** What Python said about itself when it was ready. */
  about = null;
  /** {device, name, software} or {problem}, some time after findGpu(). */
  gpu = null;
  /** Why the engine is broken. */
  trouble = "";

  #worker;
  #files;
  #shared = null;
  #started;
  #finishRun;
  #predictions = new Map();
  #requests = new Map();
  #extend;
  #runtime;
  #nextId = 1;
  #timers = [];

  /** `files`: what the script finds beside itself, as {name: URL}. `extend`: the URL of a module for the worker, with
   * install({pyodide, folder, post}), which returns the Python module that runs scripts; where it has them
   * prepare(source) before a run and done() after it; and `requests`, see request(). `runtime`: {pyodide, wheel},
   * the addresses of Pyodide's folder and of torchlite, where no files.json of a demo site tells them.
   * @param {{ files?: object, extend?: string, runtime?: { pyodide: string, wheel: string } }} options */
  constructor({ files = {}, extend, runtime } = {}) {
    super();
    this.#runtime = runtime;
    this.#extend = extend && new URL(extend, location).href;
    this.#files = Object.fromEntries(Object.entries(files).map(([name, url]) => [name, new URL(url, location).href]));
  }

  /** Starts Python (once); resolves when it is ready. */
  start() {
    this.#started ??= this.#launch();
    return this.#started;
  }

  #launch() {
    this.#set("starting");
    // The fast way to interrupt Python; only a cross-origin isolated page may share memory.
    this.#shared = globalThis.crossOriginIsolated ? new SharedArrayBuffer(1) : null;
    this.#worker = new Worker(SCRIPT, { type: "module", name: "Python" });
    const keeps = Boolean(navigator.serviceWorker?.controller);
    const given = { extend: this.#extend, runtime: this.#runtime, keeps };
    this.#worker.postMessage({ type: "start", files: this.#files, shared: this.#shared, ...given });
    return new Promise((resolve, reject) => {
      const fail = (text) => {
        this.trouble = text;
        this.#set("broken");
        reject(new Error(text));
      };
      this.#worker.onerror = (event) => fail(event.message || "The worker could not be loaded.");
      this.#worker.onmessage = ({ data }) => {
        if (data.type === "ready") {
          this.about = data.about;
          this.#set("ready");
          resolve(data.about);
        } else if (data.type === "broken") {
          fail(data.text);
        } else {
          this.#receive(data);
        }
      };
    });
  }

  #receive(data) {
    if (data.type === "done") {
      this.#finish(data.result);
    } else if (data.type === "prediction") {
      this.#predictions.get(data.id)?.(data);
      this.#predictions.delete(data.id);
    } else if (data.type === "reply") {
      const { resolve, reject } = this.#requests.get(data.id);
      this.#requests.delete(data.id);
      if (data.error === undefined) resolve(data.value);
      else reject(new Error(data.error));
    } else {
      if (data.type === "gpu") this.gpu = data.gpu;
      this.dispatchEvent(new CustomEvent(data.type, { detail: data }));
    }
  }

  /** Opens the GPU; a "gpu" event follows. */
  findGpu() {
    this.#worker.postMessage({ type: "gpu" });
  }

  /** Runs a script; resolves to {status: "done" | "stopped" | "failed", traceback, line, model, restarted}.
   * `device` "cpu" hides the GPU from the script's torch.accelerator; `options` are for the page's extension. */
  async run(source, { name = "script.py", device, options } = {}) {
    await this.start();
    if (this.state !== "ready") throw new Error("a script is running already");
    this.#set("running");
    return new Promise((resolve) => {
      this.#finishRun = resolve;
      this.#worker.postMessage({ type: "run", source, name, device, options });
    });
  }

  #finish(result) {
    this.#timers.splice(0).forEach(clearTimeout);
    const resolve = this.#finishRun;
    this.#finishRun = null;
    if (this.state !== "starting") this.#set("ready");
    resolve?.(result);
  }

  /** What the visitor typed, for the script's input(). */
  answer(text) {
    this.#worker.postMessage({ type: "answer", text });
  }

  /** Stops the running script: by the shared byte, by a message, and as the last resort by a new worker. */
  stop() {
    if (this.state !== "running") return;
    this.#set("stopping");
    this.#worker.postMessage({ type: "stop" });
    // The message is enough while the script loops in Python; the byte (2 is SIGINT) also stops a long computation.
    if (this.#shared) this.#later(this.about.jspi ? 120 : 0, () => this.#interrupt());
    // Without shared memory and JSPI no message gets through to a running script: do not wait in vain.
    this.#later(this.#shared || this.about.jspi ? PATIENCE : 0, () => this.#replace());
  }

  /** SIGINT; again where the first one met code of Pyodide's own, which goes on after it. */
  #interrupt() {
    Atomics.store(new Uint8Array(this.#shared), 0, 2);
    this.#later(AGAIN, () => this.#interrupt());
  }

  /** Python anew, with empty memory. */
  restart() {
    if (this.state === "ready") this.#replace();
    return this.#started;
  }

  /** Ends Python for good. */
  end() {
    this.#worker?.terminate();
    for (const { reject } of this.#requests.values()) reject(new Error("Python was ended"));
    this.#requests.clear();
    this.#timers.splice(0).forEach(clearTimeout);
    this.#set("off");
  }

  #later(delay, action) {
    this.#timers.push(setTimeout(action, delay));
  }

  #replace() {
    this.#worker.terminate();
    for (const answer of this.#predictions.values()) answer({ error: "no model" });
    this.#predictions.clear();
    for (const { reject } of this.#requests.values()) reject(new Error("Python was started anew"));
    this.#requests.clear();
    this.#started = this.#launch();
    this.#started.catch(() => {}); // shown through the state
    this.#finish({ status: "stopped", traceback: "", line: null, model: false, restarted: true });
  }

  /** Probabilities of an 8x8 drawing (values 0..16): {probabilities} or {error}. Works while a script runs, too. */
  predict(pixels) {
    const id = this.#nextId++;
    return new Promise((resolve) => {
      this.#predictions.set(id, resolve);
      this.#worker.postMessage({ type: "predict", id, pixels });
    });
  }

  /** Asks the page's extension; `transfer` lists buffers that move to the worker. */
  request(name, data = {}, transfer = []) {
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#requests.set(id, { resolve, reject });
      this.#worker.postMessage({ type: "request", id, name, data }, transfer);
    });
  }

  #set(state) {
    this.state = state;
    this.dispatchEvent(new CustomEvent("state"));
  }
}
