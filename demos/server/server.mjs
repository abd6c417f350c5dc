// Serves a PyTorch model over HTTP, on node, Deno or Bun:
//
//   node server.mjs --wheel FILE --weights FILE_OR_URL [--sha256 HASH] [--model model.py] [--port 8010]
//   deno run -A server.mjs ...        bun server.mjs ...
//
//   POST /predict   {"inputs": [[...], ...]} -> {"outputs": [[...], ...]}; or float32 bytes, row after row -> the same
//   GET  /health    200 {"status": "ok"}, or 503 while it ends
//   GET  /metrics   Prometheus' text
//
// Requests that come while the model computes are answered together. The weights are loaded once, and kept in the
// folder cache when they came from an address. SIGTERM and SIGINT let what has begun end.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { basename, dirname, join, resolve } from "node:path";
import process from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

const HERE = dirname(fileURLToPath(import.meta.url));
const OPTIONS = {
  wheel: { type: "string" },
  weights: { type: "string" },
  sha256: { type: "string" },
  model: { type: "string", default: join(HERE, "model.py") },
  pyodide: { type: "string", default: join(HERE, "node_modules", "pyodide") },
  cache: { type: "string", default: join(HERE, "cache") },
  host: { type: "string", default: "127.0.0.1" },
  port: { type: "string", default: "8010" },
  batch: { type: "string", default: "64" }, // rows that are computed together at most
  body: { type: "string", default: "1000000" }, // bytes of a request at most
  waiting: { type: "string", default: "1000" }, // requests that may wait
  patience: { type: "string", default: "10" }, // seconds that the end may take, and a request's body
};

/** Ends the start: `text` says what is wrong and what to do. A stack would hide it: Pyodide's script is one line of 1.2
 * MB, which node prints with any error that nobody catches. */
function stop(text) {
  console.error(`server.mjs: ${text}`);
  process.exit(1);
}

function parse() {
  try {
    return parseArgs({ options: OPTIONS }).values;
  } catch (error) {
    const names = Object.keys(OPTIONS).map((name) => `--${name}`);
    return stop(`${error.message.split(/\. |\n/)[0]}; the options are ${names.join(", ")}`);
  }
}

const given = parse();
if (!given.wheel || !given.weights) {
  stop("two options are needed: --wheel torchlite-...whl --weights FILE_OR_URL");
}

/** The number that an option gives. */
function number(name, least = 1, most = Infinity) {
  const value = Number(given[name]);
  if (given[name].trim() && value >= least && value <= most) return value;
  return stop(`--${name} takes a number ${most < Infinity ? `from ${least} to ${most}` : `of at least ${least}`}`);
}

const PORT = number("port", 0, 65535);
const LIMITS = Object.fromEntries(["batch", "body", "waiting", "patience"].map((name) => [name, number(name)]));

// --- The model ---------------------------------------------------------------------------------------------------

/** The bytes of a file that an option names; `wanted` says what the option takes. */
function file(name, wanted) {
  try {
    return readFileSync(given[name]);
  } catch (error) {
    const what = error.code === "ENOENT" ? "there is no file" : `${error.code}: cannot read`;
    return stop(`${what} ${given[name]}: --${name} takes ${wanted}`);
  }
}

async function download(place) {
  let answer;
  try {
    answer = await fetch(place);
    if (answer.ok) return new Uint8Array(await answer.arrayBuffer());
  } catch (error) {
    stop(`${place} cannot be fetched (${error.cause?.message || error.message}): check the address and the network`);
  }
  return stop(`${place}: HTTP ${answer.status}: check the address`);
}

/** The bytes of the weights: of a file, or of an address, which is asked once. */
async function weights(place) {
  const address = /^https?:/.test(place);
  const kept = address && join(given.cache, createHash("sha256").update(place).digest("hex"));
  let bytes;
  if (!address) bytes = file("weights", "a file of torch.save or of safetensors, or its address");
  else if (existsSync(kept)) bytes = readFileSync(kept);
  else bytes = await download(place);
  const found = createHash("sha256").update(bytes).digest("hex");
  if (given.sha256 && found !== given.sha256) {
    stop(`${place}: SHA256 ${found}, expected ${given.sha256}: check --sha256, and where the file comes from`);
  }
  if (address && !existsSync(kept)) {
    mkdirSync(given.cache, { recursive: true });
    writeFileSync(`${kept}.partial`, bytes);
    renameSync(`${kept}.partial`, kept);
  }
  return bytes;
}

// The model's file is a module; `run` gets rows as bytes of float32, and returns rows as JSON.
const RUN = `
import json

def run(data):
    rows = torch.frombuffer(bytearray(data.to_bytes()), dtype=torch.float32).view(-1, served.INPUTS)
    return json.dumps(served.predict(rows).tolist())
`;

/** The end of Python's traceback: the exception, after the last line of code; and where in the model's file it was. */
function told(error) {
  const lines = error.message.trimEnd().split("\n");
  const code = lines.findLastIndex((line) => line.startsWith('  File "'));
  const begin = lines.findIndex((line, at) => at > code && !line.startsWith(" "));
  const [, line] = error.message.match(/.*File "\/model\/served\.py", line (\d+)/s) ?? [];
  return (line ? `(line ${line}) ` : "") + lines.slice(Math.max(begin, 0)).join("\n");
}

async function start() {
  const wheel = file("wheel", "torchlite's wheel, which `make wheel` puts into wheels/dist");
  const source = file("model", "a Python file with INPUTS, load(path) and predict(rows)").toString();
  const bytes = await weights(given.weights);
  const script = join(resolve(given.pyodide), "pyodide.mjs");
  if (!existsSync(script)) {
    stop(`there is no Pyodide in ${given.pyodide}: run \`npm install\` in demos/server, or name its folder: --pyodide`);
  }
  const { loadPyodide } = await import(pathToFileURL(script).href);
  const python = await loadPyodide({ indexURL: `${resolve(given.pyodide)}/`, fullStdLib: false });
  const attempt = async (code, advice) => {
    try {
      return await python.runPythonAsync(code);
    } catch (error) {
      return stop(`${advice}: ${told(error)}`);
    }
  };
  const own = `torchlite-...-pyemscripten_${python.lockfile?.info.abi_version ?? "..."}_wasm32.whl`;
  const wrong = `--wheel ${basename(given.wheel)} does not fit Pyodide ${python.version}, which takes ${own}`;
  try {
    // Uint8Array: Pyodide takes no Buffer
    python.unpackArchive(new Uint8Array(wheel), "wheel");
  } catch (error) {
    stop(`${wrong}: ${told(error)}`);
  }
  await attempt("import torch", wrong);
  const suffix = /\.safetensors$/.test(given.weights) ? ".safetensors" : ".pt";
  python.FS.mkdirTree("/model");
  python.FS.writeFile("/model/served.py", source);
  python.FS.writeFile(`/model/weights${suffix}`, new Uint8Array(bytes));
  const model = basename(given.model);
  await attempt('import sys\nsys.path.insert(0, "/model")\nimport served', `${model} fails, and has to be mended`);
  for (const name of ["INPUTS", "load", "predict"]) {
    if (!python.runPython(`hasattr(served, "${name}")`)) {
      stop(`${model} has no ${name}: give it INPUTS, load(path) and predict(rows), as demos/server/model.py has`);
    }
  }
  const unfit = `load() of ${model} fails with ${basename(given.weights)}, give --weights or --model that fit`;
  await attempt(`served.load("/model/weights${suffix}")`, unfit);
  python.FS.unlink(`/model/weights${suffix}`);
  python.runPython(RUN);
  const run = python.globals.get("run");
  return {
    inputs: python.runPython("served.INPUTS"),
    run: (bytes) => JSON.parse(run(bytes)),
    memory: () => python._module.HEAPU8.length,
  };
}

// --- Batches -----------------------------------------------------------------------------------------------------

const waiting = []; // {rows: Float32Array, resolve, reject}
let planned = false;

function predict(rows) {
  if (waiting.length >= LIMITS.waiting) throw new Refusal(503, "too many requests wait", { "Retry-After": "1" });
  return new Promise((resolve, reject) => {
    waiting.push({ rows, resolve, reject });
    // after the requests that have come by now were read
    if (!planned) setImmediate(compute);
    planned = true;
  });
}

function compute() {
  planned = false;
  const batch = [];
  let size = 0;
  while (waiting.length) {
    const rows = waiting[0].rows.length / model.inputs;
    if (batch.length && size + rows > LIMITS.batch) break;
    batch.push(waiting.shift());
    size += rows;
  }
  if (waiting.length) {
    planned = true;
    setImmediate(compute);
  }
  const all = new Float32Array(size * model.inputs);
  let at = 0;
  for (const { rows } of batch) {
    all.set(rows, at);
    at += rows.length;
  }
  counted.batches++;
  counted.rows += size;
  try {
    const outputs = model.run(new Uint8Array(all.buffer));
    for (const { rows, resolve } of batch) resolve(outputs.splice(0, rows.length / model.inputs));
  } catch (error) {
    console.error(error);
    for (const { reject } of batch) reject(new Refusal(500, "the model failed"));
  }
}

// --- Requests ----------------------------------------------------------------------------------------------------

class Refusal extends Error {
  constructor(status, text, headers = {}) {
    super(text);
    this.status = status;
    this.headers = headers;
  }
}

async function body(request) {
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > LIMITS.body) throw new Refusal(413, `a request may have ${LIMITS.body} bytes`, { Connection: "close" });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The rows of a request as one Float32Array. */
async function read(request) {
  if (Number(request.headers["content-length"]) > LIMITS.body) {
    throw new Refusal(413, `a request may have ${LIMITS.body} bytes`, { Connection: "close" });
  }
  const bytes = await body(request);
  const wanted = `rows of ${model.inputs} numbers are wanted`;
  let numbers;
  if (request.headers["content-type"]?.startsWith("application/octet-stream")) {
    if (bytes.length % 4) throw new Refusal(400, `${wanted}, as float32`);
    numbers = new Float32Array(Uint8Array.from(bytes).buffer);
  } else {
    let rows;
    try {
      rows = JSON.parse(bytes.toString()).inputs;
    } catch {
      throw new Refusal(400, "this is not JSON");
    }
    const good = (row) => Array.isArray(row) && row.length === model.inputs && row.every(Number.isFinite);
    if (!Array.isArray(rows) || !rows.every(good)) throw new Refusal(400, `${wanted}: {"inputs": [[...], ...]}`);
    numbers = Float32Array.from(rows.flat());
  }
  if (!numbers.length || numbers.length % model.inputs) throw new Refusal(400, wanted);
  return numbers;
}

const BUCKETS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, Infinity]; // seconds
const counted = { batches: 0, rows: 0, seconds: 0, buckets: BUCKETS.map(() => 0), status: {} };
let open = 0; // requests that are being answered
let ending = false;

function metrics() {
  const lines = [
    ...Object.entries(counted.status).map(([code, count]) => `requests_total{code="${code}"} ${count}`),
    ...BUCKETS.map((limit, index) => {
      const below = counted.buckets.slice(0, index + 1).reduce((sum, count) => sum + count, 0);
      return `predict_seconds_bucket{le="${limit === Infinity ? "+Inf" : limit}"} ${below}`;
    }),
    `predict_seconds_sum ${counted.seconds}`,
    `predict_seconds_count ${counted.buckets.reduce((sum, count) => sum + count, 0)}`,
    `batches_total ${counted.batches}`,
    `rows_total ${counted.rows}`,
    `requests_open ${open}`,
    `requests_waiting ${waiting.length}`,
    `process_resident_memory_bytes ${process.memoryUsage().rss}`,
    `python_memory_bytes ${model.memory()}`,
  ];
  return `${lines.join("\n")}\n`;
}

async function answer(request) {
  const { pathname } = new URL(request.url, "http://server");
  const method = { "/predict": "POST", "/health": "GET", "/metrics": "GET" }[pathname];
  if (!method) throw new Refusal(404, "there are /predict, /health and /metrics");
  if (request.method !== method) throw new Refusal(405, `${pathname} takes ${method}`, { Allow: method });
  if (pathname === "/health") {
    if (ending) throw new Refusal(503, "the server ends");
    return { status: "ok" };
  }
  if (pathname === "/metrics") return metrics();
  const began = performance.now();
  const outputs = await predict(await read(request));
  const seconds = (performance.now() - began) / 1000;
  counted.seconds += seconds;
  counted.buckets[BUCKETS.findIndex((limit) => seconds <= limit)]++;
  return { outputs };
}

const server = createServer({ requestTimeout: LIMITS.patience * 1000 }, async (request, response) => {
  open++;
  let [status, content, headers] = [200, undefined, {}];
  try {
    content = await answer(request);
  } catch (error) {
    if (!(error instanceof Refusal)) console.error(error);
    [status, headers] = error instanceof Refusal ? [error.status, error.headers] : [500, {}];
    content = { error: error instanceof Refusal ? error.message : "the server failed" };
  }
  open--;
  counted.status[status] = (counted.status[status] ?? 0) + 1;
  const text = typeof content === "string" ? content : JSON.stringify(content);
  const type = typeof content === "string" ? "text/plain; version=0.0.4" : "application/json";
  // a connection that stays open would keep an ending server alive
  if (ending) headers.Connection = "close";
  response.writeHead(status, { "Content-Type": type, "Content-Length": Buffer.byteLength(text), ...headers }).end(text);
});

function end() {
  if (ending) return;
  ending = true;
  server.close(() => process.exit(0));
  server.closeIdleConnections?.();
  setTimeout(() => process.exit(1), LIMITS.patience * 1000).unref();
}

const model = await start();
process.on("SIGTERM", end);
process.on("SIGINT", end);
server.on("error", ({ code, message }) => {
  if (code === "EADDRINUSE") stop(`port ${PORT} is taken by another program: give another one with --port`);
  stop(`cannot listen on ${given.host}, port ${PORT} (${code ?? message}): give others with --host and --port`);
});
server.listen(PORT, given.host, () => console.log(`http://${given.host}:${server.address().port}`));
