// The Playground: puts the parts of the page together and runs what is in the editor.

import { Console } from "../shared/console.js";
import { Engine } from "../shared/engine.js";
import { keepAll, keptOverReload, prepareOffline } from "../shared/offline.js";
import { cellAt, cellsOf, hasCells } from "./cells.js";
import { clean } from "./clean.js";
import { closable, setUpTabs, setUpSplitter, showTab } from "./layout.js";
import * as draft from "./draft.js";
import { createPlaygroundEditor } from "./editor/editor.js";
import { setUpExamples } from "./examples.js";
import { setUpFiles } from "./files.js";
import { setUpRepl } from "./repl.js";
import { setUpSharing, sharedScript } from "./sharing.js";
import { setUpStatus } from "./status.js";

const $ = (id) => document.getElementById(id);
const FIRST = "tensors"; // the example of a first visit

const engine = new Engine({ extend: new URL("extension.js", import.meta.url) });
const output = new Console($("console"), clean);
const status = setUpStatus(engine);
const over = keptOverReload();
let pending = over?.run ?? null; // what to run as soon as Python is there

const keys = [
  ["Ctrl-Enter", "Run: the script from its beginning, or all cells", () => run()],
  ["Shift-Enter", "Run cell, and go on to the next", () => runCell(true)],
  ["Alt-Enter", "Run cell, and stay", () => runCell(false)],
  ["Ctrl-.", "Stop", () => engine.stop()],
  ["Ctrl-s", "Save the script into the Files panel", () => save()],
  ["Ctrl-Space", "Complete; while typing it opens by itself", null],
  ["Ctrl-f", "Find and replace", null],
  ["Ctrl-/", "Comment lines out, or in", null],
  ["Tab", "Indent; Esc then Tab leaves the editor", null],
  ["F6", "From the editor to the prompt, and back", () => switchFocus()],
];

const editor = createPlaygroundEditor($("editor"), {
  label: "Script",
  onRun: () => {}, // by the keys below
  onChange: () => saving?.change(),
  // Ctrl is Cmd on a Mac
  keys: keys
    .filter(([, , action]) => action)
    .map(([key, , action]) => ({ key: key.replace("Ctrl", "Mod"), run: () => (action(), true), preventDefault: true })),
  table: fetch("names.json").then((response) => response.json()),
  members: (dotted) => (engine.state === "ready" ? engine.request("members", { dotted }).catch(() => []) : []),
});

let original = ""; // what was opened; `own` says that the visitor has changed it
const script = () => ({ name: $("name").value, text: editor.text, own: editor.text !== original });
const saving = draft.autosave(script, (kept) => {
  $("saved").textContent = kept ? "" : "Not saved: the browser keeps nothing for this page.";
});

/** Puts another script into the editor; one of the visitor's own that was there can be had back. */
function open({ name, text, own = false }) {
  if (script().own && editor.text.trim()) draft.keepBefore(script());
  $("name").value = name;
  editor.text = text;
  original = own ? "" : text;
  editor.line = 1;
  editor.mark(null);
  saving.save();
}

const examples = setUpExamples({ open, before: draft.before, shown: () => showTab("editor") });
const files = setUpFiles(engine, { open, shown: () => showTab("files"), opened: () => showTab("editor") });
setUpSharing(script, open, (text) => output.note(text));
setUpRepl(engine, output, status);
setUpTabs();
setUpSplitter($("splitter"), $("board"));
closable(...document.querySelectorAll("dialog"));
listKeys();

// --- Start -------------------------------------------------------------------------------------------------------

const shared = over ? null : await sharedScript((text) => output.note(text));
if (shared && draft.kept()?.own) draft.keepBefore(draft.kept());
open(over?.script ?? shared ?? draft.kept() ?? (await examples.get(FIRST)));
globalThis.demo = { engine, editor, output, files }; // for the browser's console

engine.addEventListener("output", ({ detail }) => output.write(detail.text, detail.stream));
engine.addEventListener("show", ({ detail }) => output.show(detail.html, detail.key));
engine.addEventListener("ask", () => {
  showTab("output");
  output.ask((text) => engine.answer(text));
});
engine.addEventListener("state", showState);
$("run").addEventListener("click", () => run());
$("run-cell").addEventListener("click", () => runCell(false));
$("stop").addEventListener("click", () => engine.stop());
$("restart").addEventListener("click", () => restart());
$("clear").addEventListener("click", () => output.clear());
$("help").addEventListener("click", () => $("help-dialog").showModal());
$("name").addEventListener("change", () => {
  const name = $("name").value.trim().replaceAll("/", "_");
  $("name").value = /\.py$/.test(name) ? name : `${name || "script"}.py`;
  saving.save();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "F6" && !event.defaultPrevented) {
    event.preventDefault();
    switchFocus();
  }
});
showState();

await prepareOffline(() => ({ script: script(), run: pending }));
engine.start().then(keepAll, () => {});

function showState() {
  const { state } = engine;
  document.body.dataset.state = state;
  $("run").disabled = $("run-cell").disabled = !["off", "starting", "ready"].includes(state);
  $("stop").disabled = state !== "running";
  $("restart").disabled = state !== "ready";
  $("device").disabled = $("profile").disabled = ["running", "stopping"].includes(state);
  if (state === "ready" && pending) {
    const { from } = pending;
    pending = null;
    if (from) runCell(false, from);
    else run();
  }
}

// --- Run ---------------------------------------------------------------------------------------------------------

/** Whether a run may begin; one that comes before Python is there begins as soon as it is. */
function mayRun(wish) {
  if (engine.state === "ready") return true;
  if (["off", "starting"].includes(engine.state)) {
    pending = wish;
    status.say("Python is starting; then the script runs.");
    showTab("output");
  }
  return false;
}

async function run() {
  if (!mayRun({})) return;
  const { text } = script();
  output.clear();
  await runWith(
    hasCells(text) ? { kind: "cells", parts: cellsOf(text), fresh: true } : { kind: "script", fresh: true },
  );
}

async function runCell(goOn, from = editor.line) {
  if (!mayRun({ from })) return;
  const cells = cellsOf(editor.text);
  const index = cellAt(cells, from);
  if (goOn && cells[index + 1]) editor.line = cells[index + 1][0];
  const result = await runWith({ kind: "cells", parts: [cells[index]] });
  if (result.status !== "failed" && goOn) editor.focus();
}

async function runWith(options) {
  const { name, text } = script();
  editor.mark(null);
  showTab("output");
  saving.save();
  const began = performance.now();
  const result = await engine.run(text, {
    name,
    device: $("device").value || "cpu",
    options: { ...options, profile: $("profile").checked },
  });
  const seconds = (performance.now() - began) / 1000;
  if (result.status === "failed") {
    output.traceback(result.traceback);
    if (result.hint) output.hint(result.hint);
    editor.mark(result.line);
  } else if (result.status === "stopped") {
    output.note(`Stopped after ${seconds.toFixed(1)} s.`);
  }
  status.ran(result, seconds, options);
  return result;
}

async function restart() {
  output.clear();
  status.say("Python is starting anew.");
  await engine.restart();
}

async function save() {
  const { name, text } = script();
  saving.save();
  if (engine.state === "ready") await files.write(name, new TextEncoder().encode(text));
  status.say(engine.state === "ready" ? `${name} is in the Files panel.` : "The script is kept in this browser.");
}

function switchFocus() {
  if (document.activeElement === $("line")) {
    showTab("editor");
    editor.focus();
  } else {
    showTab("output");
    $("line").focus();
  }
}

function listKeys() {
  const mac = /Mac|iPhone|iPad/.test(navigator.platform);
  for (const [key, text] of keys) {
    const term = document.createElement("dt");
    for (const part of key.replace(/-(?=.)/g, " ").split(" ")) {
      const shown = document.createElement("kbd");
      shown.textContent = mac ? part.replace("Ctrl", "⌘") : part;
      term.append(shown, " ");
    }
    const said = document.createElement("dd");
    said.textContent = text;
    $("keys").append(term, said);
  }
}
