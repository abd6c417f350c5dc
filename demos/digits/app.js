// The Digits page: editor, Run and Stop, curves, output, and the drawing that the trained network reads.

import { openDemo, progress, say } from "../shared/demo.js";
import { Plot } from "../shared/plot.js";
import { Pad } from "./pad.js";
import { toImage } from "./uci.js";

const DATA = "digits.bin.gz";

const $ = (id) => document.getElementById(id);
const lossPlot = new Plot($("loss-plot"), {
  label: "Loss",
  log: true,
  xMin: 0,
  format: (value) => (value < 0.01 && value > 0 ? value.toExponential(0) : String(+value.toFixed(2))),
});
const accuracyPlot = new Plot($("accuracy-plot"), {
  label: "Test accuracy",
  dots: true,
  min: 0,
  max: 1,
  xMin: 1,
  format: (value) => `${+(value * 100).toFixed(1)}%`,
});

let hasRun = false;
let hasModel = false;
let epoch = 0;
let epochs = 0;
let liveLoss = false; // losses come from the hook; else from the printed lines
let speed = null; // {steps, since}

// --- Run ---------------------------------------------------------------------------------------------------------

const { engine } = await openDemo({ script: "digits.py", files: { [DATA]: DATA }, ready, prepare, finished, printed });
engine.addEventListener("losses", ({ detail }) => showLosses(detail));

function ready({ live_loss, import_seconds }) {
  $("about").append(` Importing torch took ${Math.round(import_seconds * 1000)} ms.`);
  liveLoss = live_loss;
  lossPlot.smooth = liveLoss ? 0.9 : 0;
  $("loss-caption").textContent = liveLoss ? "Loss of each batch" : "Loss of each epoch";
}

function prepare() {
  lossPlot.clear();
  accuracyPlot.clear();
  for (const id of ["epoch", "loss", "accuracy"]) $(id).textContent = "–";
  $("speed").textContent = "";
  [epoch, epochs, speed, line] = [0, 0, null, ""];
  hasRun = hasModel = true; // from its first epoch on the network may be asked
}

function finished({ status, model }, seconds) {
  hasModel = Boolean(model);
  if (status === "done" && hasModel) say(`Finished in ${seconds} s. Draw a digit.`);
  judge();
}

function showLosses({ steps, values }) {
  steps.forEach((step, index) => lossPlot.add(step, values[index]));
  $("loss").textContent = lossPlot.latest?.toFixed(4) ?? "–";
  const now = performance.now();
  speed ??= { steps: steps.at(-1), since: now };
  if (now - speed.since > 400) {
    const rate = ((steps.at(-1) - speed.steps) / (now - speed.since)) * 1000;
    $("speed").textContent = `${rate.toFixed(rate < 10 ? 1 : 0)} steps/s`;
  }
}

// Printed lines such as "epoch 3/15  loss 0.31  test accuracy 94.7%" update the figures; all others are only shown.
const NUMBER = "[\\s:=]*([-+]?\\d*\\.?\\d+(?:e[-+]?\\d+)?)";
const EPOCH = /\bepoch\s*[:=#]?\s*(\d+)(?:\s*(?:\/|of)\s*(\d+))?/i;
const LOSS = new RegExp(`\\bloss${NUMBER}`, "i");
const ACCURACY = new RegExp(`\\bacc(?:uracy)?${NUMBER}\\s*(%?)`, "i");
let line = "";

function printed(text) {
  const lines = (line + text).split("\n");
  line = lines.pop();
  lines.forEach(readLine);
}

function readLine(text) {
  const found = text.match(EPOCH);
  if (found) {
    epoch = Number(found[1]);
    epochs = Number(found[2] ?? 0);
    $("epoch").textContent = epochs ? `${epoch} / ${epochs}` : String(epoch);
    if (epochs) {
      accuracyPlot.xMax = epochs;
      progress(epoch, epochs);
    }
  }
  const loss = text.match(LOSS);
  if (loss && !liveLoss) {
    lossPlot.add(epoch, Number(loss[1]));
    $("loss").textContent = Number(loss[1]).toFixed(4);
  }
  const accuracy = text.match(ACCURACY);
  if (accuracy) {
    const share = accuracy[2] || Number(accuracy[1]) > 1 ? Number(accuracy[1]) / 100 : Number(accuracy[1]);
    accuracyPlot.add(epoch, share);
    $("accuracy").textContent = `${(share * 100).toFixed(1)}%`;
    judge();
  }
}

// --- Draw --------------------------------------------------------------------------------------------------------

const pad = new Pad($("pad"));
let image = null; // 64 values from 0 to 16
let label = null; // what a digit from the data is
let asking = false;
let askAgain = false;
let samples = null;

pad.addEventListener("change", () => {
  image = toImage(pad.strokes);
  label = null;
  judge();
});
$("clear").addEventListener("click", () => pad.clear());
$("sample").addEventListener("click", showSample);

/** One of the 1797 digits, by chance. */
async function showSample() {
  samples ??= await fetch(DATA)
    .then((response) => response.blob())
    .then((blob) => new Response(blob.stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer())
    .then((buffer) => new Uint8Array(buffer));
  const row = samples.subarray(65 * Math.floor((Math.random() * samples.length) / 65)).subarray(0, 65);
  pad.clear();
  image = Float32Array.from(row.subarray(0, 64));
  label = row[64];
  judge();
}

/** Asks the network about the drawing; while an answer is on its way, only the newest drawing waits. */
async function judge() {
  showImage();
  if (!image || !hasModel || !["ready", "running"].includes(engine.state)) return showAnswer(null);
  if (asking) {
    askAgain = true;
    return;
  }
  asking = true;
  const answer = await engine.predict(Array.from(image));
  asking = false;
  if (image) showAnswer(answer);
  if (askAgain) {
    askAgain = false;
    judge();
  }
}

function showImage() {
  const canvas = $("seen");
  canvas.width = canvas.height = 8;
  const pen = canvas.getContext("2d");
  const pixels = pen.createImageData(8, 8);
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  for (let index = 0; index < 64; index++) {
    const ink = (image?.[index] ?? 0) / 16;
    pixels.data.fill(Math.round(255 * (dark ? ink : 1 - ink)), index * 4, index * 4 + 3);
    pixels.data[index * 4 + 3] = 255;
  }
  pen.putImageData(pixels, 0, 0);
}

function makeBars() {
  for (let digit = 0; digit < 10; digit++) {
    const row = document.createElement("li");
    row.innerHTML = `<span>${digit}</span><span class="bar" aria-hidden="true"></span><span class="value"></span>`;
    $("bars").append(row);
  }
}

function showAnswer(answer) {
  const shares = answer?.probabilities ?? [];
  const best = shares.indexOf(Math.max(...shares));
  [...$("bars").children].forEach((row, digit) => {
    row.classList.toggle("top-one", digit === best);
    row.querySelector(".bar").style.setProperty("--share", shares[digit] ?? 0);
    row.querySelector(".value").textContent = shares.length > digit ? `${(shares[digit] * 100).toFixed(1)}%` : "";
  });
  $("verdict").dataset.digit = best;
  const verdict = $("verdict");
  if (best >= 0) {
    const strong = document.createElement("strong");
    strong.textContent = best;
    verdict.replaceChildren("The network reads ", strong, label === null ? "" : ` (the label says ${label})`);
  } else if (answer?.error && answer.error !== "no model") {
    verdict.textContent = answer.error;
  } else if (!hasModel) {
    verdict.innerHTML = hasRun
      ? "The last run left no <code>model</code> to ask."
      : "Run the script first: its <code>model</code> reads the drawing.";
  } else {
    verdict.textContent = image ? "The network is not there yet." : "Draw a digit from 0 to 9.";
  }
}

makeBars();
showImage();
