// The diffusion page: what the network draws while it learns, and a digit for the visitor.

import { Plot } from "../shared/plot.js";
import { openDemo } from "../shared/demo.js";

const ACROSS = 10; // pictures in a row
const CELL = 10; // pixels of one, with its frame
const STOPS = 9; // pictures on the way that stay to be seen
const FRAME = 60; // ms

const $ = (id) => document.getElementById(id);
const plot = new Plot($("plot"), {
  label: "Loss",
  smooth: 0.95,
  xMin: 0,
  format: (value) => String(+value.toFixed(2)),
});
const dark = matchMedia("(prefers-color-scheme: dark)");
let shown = null;
let began = null; // {step, time}
let drawing = 0; // the newest digit that was asked for

for (let digit = 0; digit < 10; digit++) {
  const key = document.createElement("button");
  key.type = "button";
  key.textContent = String(digit);
  key.disabled = true;
  key.addEventListener("click", () => drawOne(digit));
  $("keys").append(key);
}

const demo = await openDemo({
  script: "diffusion.py",
  python: "diffusion/look.py",
  files: { "digits.bin.gz": "../digits/digits.bin.gz" },
  prepare,
  seen,
  every: 60,
});

demo.engine.addEventListener("losses", ({ detail: { steps, values } }) => {
  steps.forEach((step, index) => plot.add(step, values[index]));
  $("loss").textContent = plot.latest.toFixed(3);
  const [step, time] = [steps.at(-1), performance.now()];
  began ??= { step, time };
  if (time - began.time > 500) $("speed").textContent = ((step - began.step) / ((time - began.time) / 1000)).toFixed(0);
});
demo.engine.addEventListener("state", () => demo.engine.state === "starting" && enable(false));
dark.addEventListener("change", () => shown && paint($("digits"), shown, ACROSS));

async function prepare() {
  plot.clear();
  began = null;
  enable(false);
  for (const id of ["step", "loss", "speed"]) $(id).textContent = "–";
}

function seen(answer) {
  shown = answer.shown;
  paint($("digits"), shown, ACROSS);
  $("digits").setAttribute("aria-label", `${shown.length} pictures, after ${answer.step} steps`);
  $("step").textContent = String(answer.step);
  enable(answer.step > 0);
}

function enable(on) {
  for (const key of $("keys").children) key.disabled = !on;
}

async function drawOne(digit) {
  const mine = ++drawing;
  const answer = await demo.engine.request("look", { digit }).catch((error) => console.warn(error.message));
  if (!answer || mine !== drawing) return;
  const frames = answer.frames.map(([picture]) => picture);
  const stops = Array.from({ length: STOPS }, (_, at) => frames[Math.round((at * (frames.length - 1)) / (STOPS - 1))]);
  paint($("way"), stops, STOPS);
  for (const frame of frames) {
    if (mine !== drawing) return;
    paint($("one"), [frame], 1);
    await new Promise((resolve) => setTimeout(resolve, FRAME));
  }
  $("one").setAttribute("aria-label", `A ${digit}, drawn by the network`);
}

/** Pictures of 8 by 8 in rows; ink is dark on light pages, and light on dark ones. */
function paint(canvas, pictures, across) {
  canvas.width = across * CELL;
  canvas.height = Math.ceil(pictures.length / across) * CELL;
  const pen = canvas.getContext("2d");
  const image = pen.createImageData(8, 8);
  pictures.forEach((picture, index) => {
    picture.forEach((ink, at) => image.data.fill(dark.matches ? ink : 255 - ink, 4 * at, 4 * at + 3));
    for (let at = 3; at < image.data.length; at += 4) image.data[at] = 255;
    pen.putImageData(image, (index % across) * CELL + 1, Math.floor(index / across) * CELL + 1);
  });
}
