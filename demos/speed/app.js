// The speed page: torchlite's times come from the script, those of TensorFlow.js from a worker (tfjs.js).

import { openDemo, progress, say } from "../shared/demo.js";

const $ = (id) => document.getElementById(id);
const TITLES = { cpu: "CPU", webgpu: "GPU" };
const PEER = "TensorFlow.js";

const { peer } = await (await fetch("peer.json")).json(); // the version of TensorFlow.js that this site has, or null
let ours = {}; // device -> name -> ms
let theirs = {}; // device -> name -> ms, or why there is no time

let demo = null;
demo = await openDemo({ script: "speed.py", python: "speed/look.py", prepare, seen, finished });
$("peer").textContent = peer
  ? `${PEER} ${peer}, with its wasm and webgpu backends.`
  : `This site was built without ${PEER}: python demos/build.py --tfjs puts it beside.`;
draw();

function prepare() {
  [ours, theirs] = [{}, {}];
  $("copy").disabled = true;
  draw();
}

function seen(results) {
  ours = results;
  draw();
}

/** After the script TensorFlow.js: not both at once, they would slow each other down. */
async function finished({ status }) {
  if (status !== "done") return;
  $("run").disabled = true;
  ours = await demo.engine.request("look", {});
  for (const device of peer ? Object.keys(ours).filter((name) => name in TITLES) : []) {
    say(`Measuring ${PEER} on the ${TITLES[device]}`);
    await measure(device);
  }
  progress(0, 1, true);
  say("Finished.");
  $("copy").disabled = false;
  $("run").disabled = demo.engine.state !== "ready";
}

function measure(device) {
  theirs[device] = {};
  const all = Object.keys(ours[device]).length;
  const worker = new Worker("tfjs.js", { type: "module", name: PEER });
  return new Promise((resolve) => {
    const end = (problem) => {
      if (problem) for (const name of Object.keys(ours[device])) theirs[device][name] ??= problem;
      worker.terminate();
      draw();
      resolve();
    };
    worker.onerror = (event) => end(event.message || "the worker could not be loaded");
    worker.onmessage = ({ data: { name, ms, problem, error, version } }) => {
      if (error || version) return end(error);
      theirs[device][name] = ms ?? problem;
      progress(Object.keys(theirs[device]).length, all);
      draw();
    };
    worker.postMessage({ device });
  });
}

// --- The tables --------------------------------------------------------------------------------------------------

function shown(ms) {
  return ms.toFixed(ms >= 100 ? 0 : ms >= 10 ? 1 : 2);
}

/** What stands in a row: torchlite's time, the other's, and how many times as fast torchlite is. */
function row(device, name) {
  const own = ours[device]?.[name];
  const other = theirs[device]?.[name];
  const ratio = typeof other === "number" ? other / own : null;
  return {
    cells: [
      own === undefined ? "" : shown(own),
      typeof other === "number" ? shown(other) : other ? "fails" : "",
      ratio === null ? "" : `${ratio.toFixed(ratio < 10 ? 1 : 0)}×`,
    ],
    ratio,
    problem: typeof other === "string" ? other : "",
  };
}

function heads() {
  return ["ms for one call", "torchlite", ...(peer ? [PEER, "×"] : [])];
}

function draw() {
  for (const device of Object.keys(TITLES)) {
    const table = $(device);
    if (device !== "cpu") $("gpu-card").hidden = !ours[device];
    if (demo?.engine.gpu?.software) $("gpu-title").textContent = "GPU (WebGPU, one that the processor plays)";
    const head = document.createElement("thead").appendChild(document.createElement("tr"));
    head.append(...heads().map((text) => cell("th", text, "col")));
    const body = document.createElement("tbody");
    for (const name of Object.keys(ours[device] ?? {})) {
      const { cells, ratio, problem } = row(device, name);
      const line = document.createElement("tr");
      line.append(cell("th", name, "row"), ...cells.slice(0, peer ? 3 : 1).map((text) => cell("td", text)));
      line.lastChild.classList.toggle("faster", ratio >= 1.05);
      if (problem) line.children[2].title = problem;
      body.append(line);
    }
    if (!body.children.length) body.append(empty());
    table.replaceChildren(head.parentNode, body);
  }
}

function cell(kind, text, scope) {
  const made = document.createElement(kind);
  made.textContent = text;
  if (scope) made.scope = scope;
  return made;
}

function empty() {
  const line = document.createElement("tr");
  const only = line.appendChild(cell("td", "Press Run: it takes some ten seconds."));
  only.colSpan = heads().length;
  return line;
}

$("copy").addEventListener("click", async () => {
  const { about, gpu } = demo.engine;
  const lines = [`torch ${about.torch}, Pyodide ${about.pyodide}`, navigator.userAgent];
  if (gpu?.device) lines.push(`GPU: ${gpu.name || "unnamed"}${gpu.software ? " (software)" : ""}`);
  if (peer) lines.push(`${PEER} ${peer}`);
  for (const device of Object.keys(TITLES).filter((name) => ours[name])) {
    lines.push("", [TITLES[device], ...heads()].join("\t"));
    for (const name of Object.keys(ours[device])) lines.push([name, ...row(device, name).cells].join("\t"));
  }
  await navigator.clipboard.writeText(lines.join("\n"));
  say("Copied.");
});
