// The worker that holds Python. The page talks to it with plain messages (see engine.js), so the page never waits.

import { Outlet } from "./outlet.js";
import { keepSnapshot, startPython } from "./snapshot.js";

const root = new URL("../", location);
const post = (type, body = {}) => self.postMessage({ type, ...body });

/** What a bundle of this file brings along, where a page names addresses: its extension, and the text of runner.py. */
export const bundled = { extension: undefined, runner: undefined };

let runner; // the Python module shared/runner.py, or one of the page's that has its functions
let extension; // what the page adds on this side (see Engine)
let memory; // how much of it Python has, in bytes
let jspi = false; // can Python wait for a promise in this browser?
let running = false;
let stopAsked = false;
let interrupt; // one shared byte, where the page is cross-origin isolated
let answer; // takes the visitor's answer to input()
let predictions = []; // drawings to judge, oldest first
let questions = []; // of the page, for Python while the script runs
const REDRAW = 80; // ms between two pictures with the same key
const drawn = new Map(); // when each key was shown
const waiting = new Map(); // HTML by key

const outlet = new Outlet((stream, text) => post("output", { text, stream }));

// What Python sees of this file.
const host = {
  // Lets waiting messages in, then says what they ask for. Only called where JSPI is there.
  breathe: () =>
    new Promise((resolve) => {
      outlet.flush();
      showWaiting();
      const channel = new MessageChannel();
      channel.port1.onmessage = () => {
        channel.port1.close();
        resolve(stopAsked ? "stop" : predictions.length || questions.length ? "answer" : "");
      };
      channel.port2.postMessage(0);
    }),

  // Resolves to the line that the visitor types; to undefined, which is None in Python, at a Stop.
  ask: () =>
    new Promise((resolve) => {
      outlet.flush();
      answer = resolve;
      post("ask");
    }),

  losses: (steps, values) => post("losses", { steps, values }),

  // HTML between the printed lines; with a key it takes the place of the last one with that key, REDRAW apart.
  show: (html, key) => {
    const now = performance.now();
    if (key && now - (drawn.get(key) ?? 0) < REDRAW) {
      waiting.set(key, html);
      return;
    }
    waiting.delete(key);
    drawn.set(key, now);
    outlet.flush();
    post("show", { html, key });
  },

  answerAll,
};

/** What was drawn too soon after the last time; all of it once the script has ended. */
function showWaiting(all = false) {
  for (const [key, html] of waiting) {
    if (all) drawn.delete(key);
    host.show(html, key);
  }
}

/** Answers what waits for Python. Called by the script's Python when it lets the page in, and after the script. */
function answerAll() {
  for (const { id, pixels } of predictions.splice(0)) {
    // `predict` returns JSON: the probabilities, or why there are none.
    post("prediction", { id, ...JSON.parse(runner.predict(Array.from(pixels))) });
  }
  for (const question of questions.splice(0)) reply(question);
}

// Counts the bytes of every download while Python starts. What the browser has stored is handed on as it is: a response
// made anew has lost the compiled code that the browser keeps with the stored one. So a first visit, too, compiles the
// WebAssembly that the service worker has stored, if there is one (`keeps`), and the second finds the code.
function countDownloads(sizes, keeps) {
  const plain = self.fetch;
  const total = Object.values(sizes).reduce((sum, size) => sum + size, 0);
  const done = {};
  const known = (url) => Object.keys(sizes).find((path) => new URL(path, root).href === url);

  self.fetch = async (input, options) => {
    const response = await plain(input, options);
    const name = known(response.url || String(input.url ?? input));
    if (!name || !response.body || !response.ok) return response;
    const tell = () => {
      post("progress", { stage: "download", done: Object.values(done).reduce((a, b) => a + b, 0), total });
    };
    if (await stored(response.url)) {
      done[name] = sizes[name];
      tell();
      return response;
    }
    const counter = new TransformStream({
      transform(chunk, controller) {
        done[name] = Math.min((done[name] ?? 0) + chunk.byteLength, sizes[name]);
        tell();
        controller.enqueue(chunk);
      },
    });
    if (keeps && name.endsWith(".wasm")) {
      await response.body.pipeThrough(counter).pipeTo(new WritableStream());
      return plain(input, options);
    }
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(counter), { status, statusText, headers });
  };
  return () => (self.fetch = plain);
}

/** Whether the service worker has the file from an earlier visit. */
async function stored(url) {
  return Boolean(await globalThis.caches?.match(url).catch(() => undefined));
}

async function start({ files, shared, extend, runtime, keeps }) {
  const began = performance.now();
  const list = runtime ?? (await (await fetch(new URL("files.json", root))).json());
  const restoreFetch = countDownloads(list.sizes ?? {}, keeps);
  post("progress", { stage: "download", done: 0, total: 1 });

  const indexURL = new URL(list.pyodide, root).href;
  const wheel = new URL(list.wheel, root).href;
  const { loadPyodide } = await import(/* webpackIgnore: true */ /* @vite-ignore */ `${indexURL}pyodide.mjs`);
  const { pyodide, copied } = await startPython(loadPyodide, indexURL);
  post("progress", { stage: "install" });
  await pyodide.loadPackage(wheel, { checkIntegrity: false, messageCallback: () => {} });
  restoreFetch();

  const folder = "/home/pyodide/demo";
  pyodide.FS.mkdirTree(folder);
  for (const [name, url] of Object.entries(files)) {
    const response = await fetch(url);
    if (!response.ok) throw new Error(`${url}: HTTP ${response.status}`);
    pyodide.FS.writeFile(`${folder}/${name}`, new Uint8Array(await response.arrayBuffer()));
  }
  const source = bundled.runner ?? (await (await fetch(new URL("shared/runner.py", root))).text());
  pyodide.FS.writeFile("/home/pyodide/demo_runner.py", source);
  memory = () => pyodide._module.HEAPU8.length;
  if (extend || bundled.extension) {
    extension = bundled.extension ?? (await import(/* webpackIgnore: true */ /* @vite-ignore */ extend));
    runner = await extension.install({ pyodide, folder, post });
  } else {
    runner = pyodide.pyimport("demo_runner");
  }

  const decoders = { out: new TextDecoder(), err: new TextDecoder() };
  const writer = (stream) => ({
    write(bytes) {
      outlet.write(decoders[stream].decode(bytes, { stream: true }), stream);
      return bytes.length;
    },
  });
  pyodide.setStdout(writer("out"));
  pyodide.setStderr(writer("err"));
  if (shared) {
    interrupt = new Uint8Array(shared);
    pyodide.setInterruptBuffer(interrupt);
  }
  jspi = await pyodide.runPythonAsync("from pyodide.ffi import can_run_sync; can_run_sync()");

  post("progress", { stage: "import" });
  const about = JSON.parse(runner.setup(host, folder));
  const seconds = (performance.now() - began) / 1000;
  post("ready", { about: { ...about, jspi, isolated: Boolean(shared), pyodide: pyodide.version, copied, seconds } });
  const modules = JSON.parse(pyodide.pyimport("demo_runner").standard_modules());
  if (!bundled.runner) keepSnapshot(indexURL, modules, () => running).catch(() => {}); // the next visit gains
}

async function findGpu() {
  let gpu;
  try {
    gpu = JSON.parse(await runner.find_gpu());
  } catch (error) {
    gpu = { problem: String(error.message ?? error) };
  }
  post("gpu", { gpu });
}

async function run({ source, name, device, options }) {
  running = true;
  stopAsked = false;
  if (interrupt) interrupt[0] = 0;
  let result;
  try {
    await runner.prepare(device);
    await extension?.prepare?.(source);
    if (stopAsked) {
      result = { status: "stopped", traceback: "", line: null };
    } else {
      const given = [source, name, device, jspi, ...(options ? [JSON.stringify(options)] : [])];
      // Only Python entered through callPromising may wait for a promise.
      const json = jspi ? await runner.run.callPromising(...given) : runner.run(...given);
      result = { ...JSON.parse(json), memory: memory() };
    }
  } catch (error) {
    result = { status: "failed", traceback: String(error), line: null };
  }
  running = false;
  if (interrupt) interrupt[0] = 0;
  outlet.flush();
  showWaiting(true);
  post("done", { result });
  answerAll();
  extension?.done?.();
}

/** A question of the page to its extension. While a script runs, one that needs Python is refused, or waits until the
 * script lets the page in. */
function request({ id, name, data }) {
  const { ask, needsPython, whileRunning } = extension.requests[name] ?? {};
  if (running && whileRunning) questions.push({ id, ask, data });
  else if (running && needsPython) post("reply", { id, error: "a script is running" });
  else reply({ id, ask, data });
}

function reply({ id, ask, data }) {
  const done = (value) => post("reply", { id, value });
  const failed = (error) => post("reply", { id, error: String(error?.message ?? error) });
  try {
    const value = ask(data);
    if (value instanceof Promise) value.then(done, failed);
    else done(value);
  } catch (error) {
    failed(error);
  }
}

self.onmessage = async ({ data }) => {
  if (data.type === "start") {
    try {
      await start(data);
    } catch (error) {
      post("broken", { text: String(error?.stack ?? error) });
    }
  } else if (data.type === "gpu") {
    findGpu();
  } else if (data.type === "run") {
    run(data);
  } else if (data.type === "stop") {
    stopAsked = running;
    answer?.(undefined);
  } else if (data.type === "answer") {
    answer?.(data.text);
  } else if (data.type === "request") {
    request(data);
  } else if (data.type === "predict") {
    predictions = predictions.filter((waiting) => waiting.id !== data.id).concat(data);
    if (!running) answerAll();
  }
};
