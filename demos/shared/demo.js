// What the demo pages share: a script in an editor, Run and Stop, a choice of device, output, and a look at what the
// script is doing. A page adds what is its own in a few lines (see gpt/app.js).

import { Console } from "./console.js";
import { createEditor } from "./editor.js";
import { Engine } from "./engine.js";
import { keepWritten, written } from "./keep.js";
import { keepAll, keptOverReload, prepareOffline } from "./offline.js";

const $ = (id) => document.getElementById(id);
const LOOK = new URL("./look.js", import.meta.url);

/** Opens the page's script.
 * @param {object} options
 * @param {string} options.script its file
 * @param {string} [options.python] the page's own Python, from the site's root, with answer(question)
 * @param {object} [options.files] what the script finds beside itself, as {name: URL}
 * @param {(about: object) => void} [options.ready] gets what Python says about itself when it has started
 * @param {() => any} [options.prepare] is awaited before each run
 * @param {() => object} [options.question] is asked every `every` ms while a script runs, and when it has ended
 * @param {(answer: any) => void} [options.seen] gets the answers
 * @param {number} [options.every]
 * @param {(text: string) => void} [options.printed] gets what the script prints
 * @param {(result: object, seconds: string) => void} [options.finished] gets the result of a run (see Engine.run) */
export async function openDemo(options) {
  const {
    script,
    python,
    files,
    ready,
    prepare,
    question = () => ({}),
    seen,
    every = 250,
    printed,
    finished,
  } = options;
  let looking = false;
  const engine = new Engine({ files, extend: python && `${LOOK}?python=${python}` });
  const output = new Console($("console"));
  const original = await (await fetch(script)).text();
  const editor = createEditor($("editor"), {
    text: keptOverReload() ?? written(script) ?? original,
    label: script,
    onRun: run,
  });
  keepWritten(script, () => (editor.text === original ? null : editor.text));
  globalThis.demo = { engine, editor }; // for the browser's console

  engine.addEventListener("state", showState);
  engine.addEventListener("progress", ({ detail }) => showProgress(detail));
  engine.addEventListener("output", ({ detail }) => {
    output.write(detail.text, detail.stream);
    if (detail.stream === "out") printed?.(detail.text);
  });
  engine.addEventListener("ask", () => output.ask((text) => engine.answer(text)));
  engine.addEventListener("gpu", showGpu);
  $("run").addEventListener("click", run);
  $("stop").addEventListener("click", () => engine.stop());
  $("reset").addEventListener("click", () => (editor.text = original));

  await prepareOffline(() => editor.text);
  engine.start().then(keepAll, () => {});

  async function run() {
    if (engine.state !== "ready") return;
    $("run").disabled = true;
    output.clear();
    editor.mark(null);
    const began = performance.now();
    try {
      await prepare?.();
    } catch (error) {
      output.traceback(String(error.message ?? error));
      showState();
      return;
    }
    looking = true;
    look();
    const result = await engine.run(editor.text, { name: script, device: $("device").value || "cpu" });
    looking = false;
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    if (result.status === "failed") {
      output.traceback(result.traceback);
      editor.mark(result.line);
      say(result.line ? `The script failed in line ${result.line}.` : "The script failed.");
    } else if (result.status === "stopped") {
      output.note(`Stopped after ${seconds} s.`);
      say(result.restarted ? "Stopped; Python is starting anew." : "Stopped. Run starts from the beginning.");
    } else {
      output.note(`Finished in ${seconds} s.`);
      say(`Finished in ${seconds} s.`);
    }
    finished?.(result, seconds);
    if (result.status !== "failed") await ask();
  }

  /** Asks while the script runs; never twice at once. */
  async function look() {
    while (looking) {
      await new Promise((resolve) => setTimeout(resolve, every));
      if (engine.state === "running") await ask();
    }
  }

  async function ask() {
    if (!seen) return;
    const answer = await engine.request("look", question()).catch((error) => console.warn(error.message));
    if (answer) seen(answer);
  }

  function showState() {
    const { state, about } = engine;
    document.body.dataset.state = state;
    $("run").disabled = state !== "ready";
    $("stop").disabled = state !== "running";
    $("device").disabled = state !== "ready";
    if (state === "ready") {
      say("Ready. Press Run.");
      $("about").textContent =
        `Python ${about.python} (Pyodide ${about.pyodide}), torch ${about.torch}; ` +
        `ready in ${about.seconds.toFixed(1)} s.`;
      progress(0, 1, true);
      ready?.(about);
      if (!engine.gpu) engine.findGpu();
    } else if (state === "running") {
      say("Running");
    } else if (state === "stopping") {
      say("Stopping");
    } else if (state === "broken") {
      say("Python could not be started. Reload the page to try again.");
      output.traceback(engine.trouble);
    }
  }

  /** The choice of a device, where there is one; else why not. */
  function showGpu() {
    const { device, name, software, problem } = engine.gpu;
    $("device-choice").hidden = !device;
    if (device) {
      $("device").replaceChildren(new Option("CPU", "cpu"), new Option("GPU (WebGPU)", device));
      // A program that plays a GPU is slower than the same processor used directly.
      $("device").value = software ? "cpu" : device;
      const called = name && ` (${name})`;
      $("gpu").textContent = software
        ? `The GPU here is a software one${called}: slower than the CPU.`
        : `A GPU can be used${called}.`;
    } else {
      $("gpu").textContent = `Runs on the CPU; no GPU can be used: ${problem}.`;
    }
  }

  function showProgress({ stage, done, total }) {
    const mb = (bytes) => (bytes / 1e6).toFixed(1);
    const words = { download: "Loading Python", install: "Installing torchlite", import: "Importing torch" };
    say(words[stage]);
    // Apart from the status, which a screen reader speaks at every change.
    $("amount").textContent = stage === "download" && total > 1 ? `${mb(done)} of ${mb(total)} MB` : "";
    progress(done, total);
  }

  return { engine, editor, output, run, ask, say, progress };
}

export function say(text) {
  if ($("status").textContent !== text) $("status").textContent = text;
}

/** The bar below the status: how much of something is done; without numbers, that it goes on. */
export function progress(done, total, hidden = false) {
  $("progress").hidden = hidden;
  if (done === undefined) {
    $("progress").removeAttribute("value");
  } else {
    $("progress").max = total;
    $("progress").value = done;
  }
}
