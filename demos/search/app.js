// The search page: files to read, the weights, and the query.

import { openDemo, progress } from "../shared/demo.js";
import { openWeights } from "../shared/weights.js";

const SHORT = 40; // characters; a shorter paragraph goes with the next one
const LONG = 700; // a longer one is cut

const $ = (id) => document.getElementById(id);
let passages = "";
let asked = ""; // the query whose answer is shown or on its way
let asking = false;

const demo = await openDemo({ script: "search.py", python: "search/look.py", prepare, seen: readySearch });
const fetchWeights = openWeights(demo, ["minilm.safetensors", "vocab.txt"], "91 MB");
await useGuides();

// --- What to search ----------------------------------------------------------------------------------------------

async function useGuides() {
  passages = await (await fetch("passages.txt")).text();
  told("The guides of torchlite");
}

async function read(files) {
  const found = await Promise.all([...files].map(async (file) => ({ name: file.name, text: await file.text() })));
  const texts = found.filter(({ text }) => text.trim() && !text.includes("\0"));
  passages = cut(texts.map(({ name, text }) => `${name}:\n\n${text}`).join("\n\n"));
  const other = found.filter((file) => !texts.includes(file)).map(({ name }) => `${name} (no text)`);
  told([...texts.map(({ name }) => name), ...other].join(", "));
}

/** Passages of a sensible length: paragraphs, short ones together, long ones in parts. */
function cut(text) {
  const found = [];
  for (const paragraph of text.split(/\n\s*\n/)) {
    const whole = paragraph.replace(/\s+/g, " ").trim();
    const parts = whole.match(new RegExp(`.{1,${LONG}}(?:\\s|$)|\\S{${LONG}}`, "g")) ?? [];
    for (const part of parts) {
      if (found.length && found.at(-1).length < SHORT) found[found.length - 1] += ` ${part.trim()}`;
      else found.push(part.trim());
    }
  }
  return found.join("\n\n");
}

function told(name) {
  const count = passages ? passages.split("\n\n").length : 0;
  $("source").textContent = `${name}: ${count} ${count === 1 ? "passage" : "passages"}. Drop other files here.`;
  $("query").disabled = true;
  $("query").placeholder = "Run the script first";
  $("found").replaceChildren();
}

$("guides").addEventListener("click", useGuides);
$("open").addEventListener("click", () => $("files").click());
$("files").addEventListener("change", () => $("files").files.length && read($("files").files));
addEventListener("dragover", (event) => {
  event.preventDefault();
  $("source").classList.add("over");
});
addEventListener("dragleave", () => $("source").classList.remove("over"));
addEventListener("drop", (event) => {
  event.preventDefault();
  $("source").classList.remove("over");
  if (event.dataTransfer.files.length) read(event.dataTransfer.files);
});

async function prepare() {
  if (!passages) throw new Error("There is nothing to search: open a file with text.");
  await fetchWeights();
  await demo.engine.request("write", { name: "passages.txt", bytes: new TextEncoder().encode(passages) });
}

// --- The query ---------------------------------------------------------------------------------------------------

function readySearch(answer) {
  if (answer.all && demo.engine.state === "ready" && $("query").disabled) {
    $("query").disabled = false;
    $("query").placeholder = "A question, or some words";
    $("query").focus();
  } else if (answer.all) {
    progress(answer.done, answer.all);
  }
}

$("query").addEventListener("input", ask);

/** Asks while one types; an answer that comes late gives way to the newest query. */
async function ask() {
  if (asking) return;
  const query = $("query").value.trim();
  if (query === asked) return;
  asked = query;
  if (!query) return $("found").replaceChildren();
  asking = true;
  const answer = await demo.engine.request("look", { query }).catch((error) => console.warn(error.message));
  asking = false;
  if (answer?.found) $("found").replaceChildren(...answer.found.map(row));
  ask();
}

function row([likeness, text]) {
  const item = document.createElement("li");
  const number = document.createElement("b");
  const shown = document.createElement("p");
  number.textContent = likeness.toFixed(2);
  shown.textContent = text;
  item.append(number, shown);
  return item;
}
