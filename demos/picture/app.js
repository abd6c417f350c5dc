// The picture page: the picture to learn, and what the network draws.

import { Plot } from "../shared/plot.js";
import { openDemo } from "../shared/demo.js";
import { reader } from "../shared/printed.js";

const SIDE = 112; // pixels of the longer side

const $ = (id) => document.getElementById(id);
const format = (value) => (value < 0.01 ? value.toExponential(0) : String(+value.toFixed(2)));
const plot = new Plot($("plot"), { label: "Loss", log: true, smooth: 0.9, xMin: 0, format });
let began = null; // {step, time}

scene();
$("open").addEventListener("click", () => $("file").click());
$("file").addEventListener("change", async () => {
  const [file] = $("file").files;
  if (!file) return;
  try {
    show(await createImageBitmap(file));
    $("opened").textContent = "";
  } catch {
    $("opened").textContent = `${file.name} is no picture that the browser can read.`;
  }
  $("file").value = ""; // so that the same file can be chosen again
});

const demo = await openDemo({
  script: "picture.py",
  python: "picture/look.py",
  prepare,
  seen: draw,
  every: 100,
  printed: reader(/([\d.]+ dB)/g, (likeness) => ($("likeness").textContent = likeness)),
});

demo.engine.addEventListener("losses", ({ detail: { steps, values } }) => {
  steps.forEach((step, index) => plot.add(step, values[index]));
  const step = steps.at(-1);
  const time = performance.now();
  $("step").textContent = String(step);
  began ??= { step, time };
  if (time - began.time > 500) $("speed").textContent = ((step - began.step) / ((time - began.time) / 1000)).toFixed(0);
});

function show(image) {
  const scale = SIDE / Math.max(image.width, image.height);
  const canvas = $("target");
  canvas.width = Math.max(1, Math.round(image.width * scale));
  canvas.height = Math.max(1, Math.round(image.height * scale));
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
}

/** A picture to begin with: an evening at the sea. */
function scene() {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [4 * SIDE, 3 * SIDE];
  const pen = canvas.getContext("2d");
  const fill = (colour, path) => {
    pen.fillStyle = colour;
    pen.fill(new Path2D(path));
  };
  const sky = pen.createLinearGradient(0, 0, 0, 200);
  ["#1d2b64", "#6b4a8c", "#f0795b", "#ffd08a"].forEach((colour, index) => sky.addColorStop(index / 3, colour));
  fill(sky, "M0 0h448v210h-448z");
  fill("#fff2cf", "M286 176a38 38 0 1 0 76 0a38 38 0 1 0 -76 0z");
  fill("#233a66", "M0 200h448v136h-448z");
  fill("#e9956b", "M296 204h56v5h-56zM282 220h84v5h-84zM302 238h44v5h-44zM276 258h92v6h-92zM306 282h40v6h-40z");
  fill("#12203f", "M0 206L70 132L104 170L150 108L236 206z");
  fill("#f4f1ea", "M134 128L150 108L167 128L156 124L150 132L143 123z");
  fill("#5b2333", "M90 266h92l-16 24h-60z");
  fill("#f6ead2", "M132 176v82h-48z");
  fill("#d94f3d", "M138 160v98h44z");
  show(canvas);
}

async function prepare() {
  plot.clear();
  began = null;
  for (const id of ["step", "speed", "likeness"]) $(id).textContent = "–";
  const canvas = $("target");
  const { width, height } = canvas;
  const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
  const head = new TextEncoder().encode(`P6\n${width} ${height}\n255\n`);
  const bytes = new Uint8Array(head.length + 3 * width * height);
  bytes.set(head);
  for (let from = 0, to = head.length; from < data.length; from += 4, to += 3)
    bytes.set(data.slice(from, from + 3), to);
  await demo.engine.request("write", { name: "picture.ppm", bytes });
}

function draw(bytes) {
  const [width, height] = new Uint16Array(bytes.slice(0, 4).buffer);
  const canvas = $("drawn");
  [canvas.width, canvas.height] = [width, height];
  const pixels = new ImageData(new Uint8ClampedArray(bytes.slice(4)), width, height);
  canvas.getContext("2d").putImageData(pixels, 0, 0);
  canvas.setAttribute("aria-label", `The network's picture, ${width} by ${height} pixels`);
  $("drawn-caption").textContent =
    width > $("target").width ? "What it draws, at three times the size" : "What it draws";
}
