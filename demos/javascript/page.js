// Loads torchlite, trains, and draws: the map of what the network says, and the points over it.

import { keepAll, prepareOffline } from "../shared/offline.js";
import { showSource } from "../shared/source.js";
import { train } from "./spirals.js";
import { load } from "./torchlite/index.js";

const SIDE = 64; // places of the map along a side

const $ = (id) => document.getElementById(id);
const canvas = $("map");
const context = canvas.getContext("2d");
const small = new OffscreenCanvas(SIDE, SIDE);
const say = (text) => ($("status").textContent = text);

await showSource($("code"), "spirals.js");
await prepareOffline();

let torch;
let places;
let last; // what was drawn, for a change of colours

/** The two colours of the page, as [red, green, blue]. */
function colours() {
  const style = getComputedStyle(document.documentElement);
  return ["--second", "--accent"].map((name) => {
    const hex = style.getPropertyValue(name).trim();
    return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  });
}

async function draw(predict, points, labels) {
  const told = predict(places);
  last = [await told.data(), await points.data(), await labels.data()];
  paint();
}

function paint() {
  const [map, points, labels] = last;
  const [zero, one] = colours();
  const image = new ImageData(SIDE, SIDE);
  map.forEach((part, i) => {
    const [from, sure] = [part > 0.5 ? one : zero, Math.abs(part - 0.5) * 2];
    image.data.set([...from, 40 + 130 * sure], 4 * i);
  });
  small.getContext("2d").putImageData(image, 0, 0);
  const { width, height } = canvas;
  context.clearRect(0, 0, width, height);
  context.drawImage(small, 0, 0, width, height);
  context.lineWidth = 2;
  context.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--card");
  labels.forEach((label, i) => {
    context.fillStyle = `rgb(${(label ? one : zero).join(" ")})`;
    context.beginPath();
    context.arc(((points[2 * i] + 1) / 2) * width, ((1 - points[2 * i + 1]) / 2) * height, 7, 0, 2 * Math.PI);
    context.fill();
    context.stroke();
  });
}

async function start() {
  $("again").disabled = true;
  await train(torch, { draw, say });
  $("again").disabled = false;
}

try {
  const { pyodide, wheel } = document.body.dataset;
  torch = await load({ indexURL: pyodide, wheelURL: wheel });
  torch.manual_seed(0);
  const [x, y] = torch.meshgrid(torch.linspace(-1, 1, SIDE), torch.linspace(1, -1, SIDE), { indexing: "xy" });
  places = torch.stack([x.flatten(), y.flatten()], { dim: 1 });
  keepAll();
  $("again").addEventListener("click", start);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => last && paint());
  await start();
} catch (error) {
  say(`${error.name}: ${error.message}`);
  throw error;
}
