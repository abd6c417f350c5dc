// The GPT page: the text, the loss, and the attention between the newest characters.

import { openDemo } from "../shared/demo.js";
import { keepWritten, written } from "../shared/keep.js";
import { Plot } from "../shared/plot.js";
import { reader } from "../shared/printed.js";

const $ = (id) => document.getElementById(id);
const plot = new Plot($("plot"), { label: "Loss", smooth: 0.9, xMin: 0, format: (value) => String(+value.toFixed(2)) });
let newest = null; // the last answer of look.py
let chosen = null; // index of the character whose attention is shown; null: the last one

const demo = await openDemo({
  script: "gpt.py",
  python: "gpt/look.py",
  prepare,
  question: () => ({ layer: Number($("layer").value || 0), head: Number($("head").value || 0) }),
  seen: show,
  // lines such as "--- step 900, 40 s: 2.101 nats per character"
  printed: reader(/([\d.]+) nats per character/g, (nats) => ($("unseen").textContent = nats)),
});

demo.engine.addEventListener("losses", ({ detail: { steps, values } }) => {
  steps.forEach((step, index) => plot.add(step, values[index]));
  $("loss").textContent = plot.latest.toFixed(3);
});

// --- The text ----------------------------------------------------------------------------------------------------

let python = "";
$("text").addEventListener("input", count);
$("python-text").addEventListener("click", () => {
  $("text").value = python;
  count();
});
python = await (await fetch("input.txt")).text();
$("text").value = written("text") ?? ($("text").value || python);
keepWritten("text", () => ($("text").value === python ? null : $("text").value));
count();

function count() {
  $("count").textContent = `${$("text").value.length.toLocaleString("en")} characters.`;
}

async function prepare() {
  plot.clear();
  for (const id of ["step", "loss", "unseen"]) $(id).textContent = "–";
  chosen = null;
  const bytes = new TextEncoder().encode($("text").value);
  await demo.engine.request("write", { name: "input.txt", bytes });
}

// --- Attention ---------------------------------------------------------------------------------------------------

function show(answer) {
  newest = answer;
  $("step").textContent = answer.step.toLocaleString("en");
  choices($("layer"), answer.layers);
  choices($("head"), answer.heads);
  const box = $("written");
  while (box.children.length < answer.written.length) box.append(document.createElement("span"));
  while (box.children.length > answer.written.length) box.lastChild.remove();
  answer.written.forEach((letter, index) => (box.children[index].textContent = letter));
  colour();
}

function choices(select, number) {
  if (select.options.length === number) return;
  select.replaceChildren(...Array.from({ length: number }, (_, index) => new Option(String(index + 1), String(index))));
}

function colour() {
  if (!newest) return;
  const at = chosen ?? newest.written.length - 1;
  const weights = newest.weights[at];
  const most = weights.indexOf(Math.max(...weights));
  [...$("written").children].forEach((span, index) => {
    span.style.setProperty("--weight", String((weights[index] ?? 0) / weights[most]));
    span.classList.toggle("chosen", index === at);
  });
  const named = (index) => JSON.stringify(newest.written[index]);
  $("looked").textContent =
    `After ${named(at)} it looked most at ${named(most)}, ` +
    `${at === most ? "the same character" : `${at - most} before`}: ${Math.round(weights[most] * 100)} %.`;
}

function choose(index) {
  chosen = index;
  colour();
}

$("written").addEventListener("pointerover", ({ target }) => {
  const index = [...$("written").children].indexOf(target);
  if (index >= 0) choose(index);
});
$("written").addEventListener("pointerleave", () => choose(null));
$("written").addEventListener("keydown", (event) => {
  const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!move || !newest) return;
  event.preventDefault();
  const last = newest.written.length - 1;
  choose(Math.max(0, Math.min(last, (chosen ?? last) + move)));
});
for (const id of ["layer", "head"]) $(id).addEventListener("change", () => demo.engine.state === "ready" && demo.ask());
