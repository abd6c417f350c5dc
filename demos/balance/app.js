// The balance page: the carts on their rails, and the visitor's pushes.

import { Plot } from "../shared/plot.js";
import { openDemo } from "../shared/demo.js";

const PUSH = 2; // of the cart's own
const HALF = 2.6; // of the rails' length, in metres
const POLE = 1; // metres

const $ = (id) => document.getElementById(id);
const plot = new Plot($("plot"), { label: "Steps", min: 0, max: 500, xMin: 0, format: (value) => String(value) });
let carts = []; // as they are
let shown = []; // as they are drawn: on the way there
let push = 0; // to give with the next question
let lastUpdate = 0;

const demo = await openDemo({
  script: "balance.py",
  python: "balance/look.py",
  prepare,
  question() {
    const given = push;
    push = 0;
    return { push: given };
  },
  seen,
  every: 40,
});

async function prepare() {
  plot.clear();
  [carts, shown, push, lastUpdate] = [[], [], 0, 0];
  for (const id of ["step", "length", "falls"]) $(id).textContent = "–";
}

function seen(answer) {
  carts = answer.carts;
  $("step").textContent = String(answer.update);
  $("length").textContent = answer.length.toFixed(0);
  $("falls").textContent = answer.plays ? String(answer.games) : "–";
  if (!answer.plays && answer.update !== lastUpdate) plot.add(answer.update, answer.length);
  lastUpdate = answer.update;
  const [place, angle] = carts[0];
  const degrees = ((angle * 180) / Math.PI).toFixed(1);
  $("rails").setAttribute(
    "aria-label",
    answer.plays
      ? `A cart ${place.toFixed(1)} m from the middle; its pole leans by ${degrees} degrees`
      : `${carts.length} carts that learn`,
  );
}

function nudge(direction) {
  push += direction * PUSH;
}
$("left").addEventListener("click", () => nudge(-1));
$("right").addEventListener("click", () => nudge(1));
addEventListener("keydown", (event) => {
  const direction = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!direction || $("left").disabled || event.target.closest?.(".cm-editor, [role=log], select")) return;
  event.preventDefault();
  nudge(direction);
});

// --- Drawing -----------------------------------------------------------------------------------------------------

function draw() {
  requestAnimationFrame(draw);
  const plays = demo.engine.state === "running" && carts.length === 1;
  $("left").disabled = $("right").disabled = !plays;
  const canvas = $("rails");
  const scale = devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  const style = getComputedStyle(canvas);
  const colour = (name) => style.getPropertyValue(name).trim();
  const ground = height - 40;
  const metre = width / (2 * HALF);

  pen.strokeStyle = colour("--soft");
  pen.beginPath();
  pen.moveTo(0, ground + 10.5);
  pen.lineTo(width, ground + 10.5);
  pen.stroke();
  if (carts.length !== shown.length) shown = carts.map((cart) => [...cart]);
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  shown.forEach((cart, index) => {
    // a quarter of the way in each frame; a new game begins where it begins
    const far = Math.abs(carts[index][0] - cart[0]) > 0.5;
    for (const part of [0, 1]) cart[part] += (carts[index][part] - cart[part]) * (far || still ? 1 : 0.25);
    const x = width / 2 + cart[0] * metre;
    const length = Math.min(POLE * metre, ground - 20);
    pen.globalAlpha = carts.length === 1 ? 1 : 0.25;
    pen.fillStyle = colour("--second");
    pen.fillRect(x - 22, ground - 10, 44, 20);
    pen.strokeStyle = colour("--accent");
    pen.lineWidth = 6;
    pen.lineCap = "round";
    pen.beginPath();
    pen.moveTo(x, ground - 10);
    pen.lineTo(x + length * Math.sin(cart[1]), ground - 10 - length * Math.cos(cart[1]));
    pen.stroke();
    pen.lineWidth = 1;
    pen.globalAlpha = 1;
  });
}
draw();
