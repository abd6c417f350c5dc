// The landing page: a snippet to change and run. Python starts at the first Run.

import { Console } from "./shared/console.js";
import { createEditor } from "./shared/editor.js";
import { Engine } from "./shared/engine.js";
import { keepWritten, written } from "./shared/keep.js";
import { download } from "./shared/own_page.js";
import { keepAll, keptOverReload, prepareOffline } from "./shared/offline.js";
import { toFragment } from "./playground/share.js";

const $ = (id) => document.getElementById(id);
const engine = new Engine();
const output = new Console($("console"));
const snippet = $("preview").textContent;
const kept = keptOverReload();
$("preview").remove();
const editor = createEditor($("editor"), {
  text: kept?.text ?? written("snippet") ?? snippet,
  label: "Snippet",
  onRun: run,
});
keepWritten("snippet", () => (editor.text === snippet ? null : editor.text));
let starting = false; // Run was pressed, Python is not there yet
globalThis.demo = { engine, editor }; // for the browser's console
const offline = prepareOffline(() => ({ text: editor.text, run: starting }));

engine.addEventListener("output", ({ detail }) => output.write(detail.text, detail.stream));
engine.addEventListener("ask", () => output.ask((text) => engine.answer(text)));
engine.addEventListener("state", () => {
  $("run").disabled = !["off", "ready"].includes(engine.state);
  $("stop").disabled = engine.state !== "running";
  $("progress").hidden = engine.state !== "starting";
  const words = { ready: "Ready.", running: "Running", stopping: "Stopping", broken: "Python could not be started." };
  if (words[engine.state]) $("status").textContent = words[engine.state];
});
engine.addEventListener("progress", ({ detail: { stage, done, total } }) => {
  const words = { install: "Installing torchlite", import: "Importing torch" };
  $("status").textContent = words[stage] ?? "Loading Python";
  $("amount").textContent =
    stage === "download" && total > 1 ? `${(done / 1e6).toFixed(1)} of ${(total / 1e6).toFixed(1)} MB` : "";
  if (stage === "download") [$("progress").max, $("progress").value] = [total, done];
  else $("progress").removeAttribute("value");
});
$("run").addEventListener("click", run);
$("take").addEventListener("click", () => {
  download({ name: "my-network.py", text: editor.text }, (text) => ($("taken").textContent = text));
});
$("stop").addEventListener("click", () => engine.stop());
if (kept?.run) run();

async function run() {
  if (starting || !["off", "ready"].includes(engine.state)) return;
  output.clear();
  editor.mark(null);
  $("more").hidden = true;
  try {
    if (engine.state === "off") {
      starting = true;
      $("run").disabled = true;
      await offline;
      await engine.start().finally(() => (starting = false));
      keepAll();
    }
    const result = await engine.run(editor.text, { name: "snippet.py" });
    if (result.status === "failed") {
      output.traceback(result.traceback);
      $("there").href = `playground/index.html#${await toFragment({ name: "snippet.py", text: editor.text })}`;
      $("more").hidden = false;
    }
    if (result.status === "stopped") output.note("Stopped.");
    editor.mark(result.line ?? null);
  } catch (error) {
    output.traceback(engine.trouble || String(error));
  }
}
