// The camera page: the camera, what the network makes of it, and what the script is given. The classes: classes.js.

import { openDemo, progress, say } from "../shared/demo.js";
import { openWeights } from "../shared/weights.js";
import { Classes, pixelsOf, SIZE, square } from "./classes.js";
import { Store } from "./store.js";

const $ = (id) => document.getElementById(id);
const video = $("video");
let stream = null;
let names = null; // of the classes that the layer was trained on
let shown = ""; // the class that the page names

const store = new Store();
const classes = new Classes($("classes"), () => (stream ? square(video) : null), store, await store.all());
classes.addEventListener("say", ({ detail }) => verdict(detail));
classes.addEventListener("count", () => {
  showKept();
  if (!names) verdict(hint());
});
store.addEventListener("kept", showKept);
showKept();
verdict(hint());
$("add").addEventListener("click", () => classes.add().focus());
$("start-over").addEventListener("click", () => {
  const { count } = classes;
  const pictures = count === 1 ? "the picture" : `all ${count} pictures`;
  if (count && !confirm(`Delete ${pictures}, here and in this browser?`)) return;
  classes.clear();
  forgetLayer();
});

const demo = await openDemo({ script: "camera.py", python: "camera/look.py", prepare, seen, finished });
const { engine } = demo;
const fetchWeights = openWeights(demo, ["efficientnet-lite0.pth"], "19 MB");

// --- The script --------------------------------------------------------------------------------------------------

async function prepare() {
  const filled = classes.filled;
  if (filled.length < 2) throw new Error("Two classes with pictures are needed: record some, or open files.");
  forgetLayer();
  await fetchWeights();
  await engine.request("call", { name: "clear" });
  const encoder = new TextEncoder();
  const write = (name, bytes) => engine.request("write", { name, bytes });
  await write("classes.txt", encoder.encode(filled.map(({ name }) => name).join("\n")));
  const head = encoder.encode(`P6\n${SIZE} ${SIZE}\n255\n`);
  for (const [number, { pictures }] of filled.entries()) {
    for (const [index, pixels] of pictures.entries()) {
      const bytes = new Uint8Array(head.length + pixels.length);
      bytes.set(head);
      bytes.set(pixels, head.length);
      await write(`pictures/${number}/${String(index).padStart(4, "0")}.ppm`, bytes);
    }
  }
  names = filled.map(({ name }) => name);
  makeBars();
}

function forgetLayer() {
  names = null;
  shown = "";
  for (const id of ["step", "loss", "right"]) $(id).textContent = "–";
  $("bars").replaceChildren();
  $("speed").textContent = "";
  $("download").disabled = true;
  verdict(hint());
}

/** What comes next, before there is a layer. */
function hint() {
  return classes.filled.length < 2
    ? "Take pictures of two things, then press Run."
    : "Press Run: it learns from the pictures below.";
}

/** Where the pictures are. It promises to have them at the next visit only once they are written. */
function showKept() {
  const { count } = classes;
  const size = `${((count * 3 * SIZE * SIZE) / 1e6).toFixed(1)} MB`;
  const pictures = count === 1 ? "The picture stays" : `The ${count} pictures stay`;
  let text = `${pictures} in this browser, ${size}, until you delete ${count === 1 ? "it" : "them"}.`;
  if (!store.kept) text = "This browser keeps no pictures: they are gone when the page is closed.";
  else if (store.saving) text = "Saving the pictures …";
  else if (!count) text = "Pictures stay in this browser until you delete them.";
  $("kept").textContent = text;
}

function seen({ done, all, step, loss, right }) {
  if (engine.state === "running") {
    say(step ? "Training" : "Looking at the pictures");
    if (all) progress(done, all);
  }
  $("step").textContent = step ?? "–";
  $("loss").textContent = loss?.toFixed(4) ?? "–";
  $("right").textContent = right == null ? "–" : `${Math.round(100 * right)}%`;
}

function finished({ status }) {
  $("download").disabled = status !== "done";
  if (status !== "done") return;
  verdict("Show something to the camera, or open a picture.");
  judge(pixelsOf($("seen")));
}

$("download").addEventListener("click", async () => {
  const bytes = await engine.request("read", { name: "head.pt" });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([bytes]));
  link.download = "head.pt";
  link.click();
  URL.revokeObjectURL(link.href);
});

// --- The camera --------------------------------------------------------------------------------------------------

$("camera").addEventListener("click", () => (stream ? stopCamera() : startCamera()));

async function startCamera() {
  try {
    if (!navigator.mediaDevices) throw new Error("this page needs https, or localhost");
    stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment" } });
  } catch (error) {
    verdict(`No camera can be used: ${error.message}. Pictures from files do as well.`);
    return;
  }
  const [track] = stream.getVideoTracks();
  track.addEventListener("ended", stopCamera);
  video.style.transform = track.getSettings().facingMode === "environment" ? "none" : "";
  video.srcObject = stream;
  await video.play();
  video.hidden = false;
  $("camera").textContent = "Stop camera";
  $("camera").setAttribute("aria-pressed", "true");
  if (!names) verdict(hint());
  watch(stream);
}

function stopCamera() {
  for (const track of stream?.getTracks() ?? []) track.stop();
  stream = null;
  video.srcObject = null;
  video.hidden = true;
  $("speed").textContent = "";
  $("camera").textContent = "Start camera";
  $("camera").setAttribute("aria-pressed", "false");
}

/** Asks the network again and again what it sees, while this stream runs and there is a layer. */
async function watch(mine) {
  while (stream === mine) {
    await new Promise((resolve) => video.requestVideoFrameCallback(resolve));
    if (stream !== mine || engine.state !== "ready" || !names) continue;
    const began = performance.now();
    await judge(pixelsOf(square(video, $("seen"))));
    $("speed").textContent = `${Math.round(performance.now() - began)} ms for a picture`;
  }
}

async function judge(bytes) {
  if (engine.state !== "ready" || !names) return;
  const answer = await engine.request("look", { bytes }).catch((error) => console.warn(error.message));
  if (answer?.shares && names) showShares(answer.shares);
}

// --- A picture from a file, for those without a camera -----------------------------------------------------------

$("try").addEventListener("click", () => $("try-file").click());
$("try-file").addEventListener("change", () => tryFile($("try-file").files[0]));
addEventListener("dragover", (event) => event.preventDefault());
addEventListener("drop", (event) => {
  event.preventDefault();
  if (!event.target.closest?.(".classes li")) tryFile(event.dataTransfer.files[0]);
});

async function tryFile(file) {
  $("try-file").value = "";
  if (!file) return;
  try {
    const image = await createImageBitmap(file);
    stopCamera();
    square(image, $("seen"));
    $("seen").setAttribute("aria-label", file.name);
  } catch {
    verdict(`${file.name} is no picture that this browser reads.`);
    return;
  }
  await judge(pixelsOf($("seen")));
}

// --- What it says ------------------------------------------------------------------------------------------------

function verdict(text) {
  shown = "";
  $("verdict").textContent = text;
}

function makeBars() {
  $("bars").replaceChildren(
    ...names.map((name) => {
      const row = document.createElement("li");
      row.innerHTML = `<span></span><span class="bar" aria-hidden="true"></span><span class="value"></span>`;
      row.firstChild.textContent = row.firstChild.title = name;
      return row;
    }),
  );
}

function showShares(shares) {
  const best = shares.indexOf(Math.max(...shares));
  [...$("bars").children].forEach((row, index) => {
    row.classList.toggle("top-one", index === best);
    row.querySelector(".bar").style.setProperty("--share", shares[index]);
    row.querySelector(".value").textContent = `${(shares[index] * 100).toFixed(1)}%`;
  });
  // a screen reader speaks the verdict: only when it changes
  if (names[best] === shown) return;
  shown = names[best];
  const strong = document.createElement("strong");
  strong.textContent = shown;
  $("verdict").replaceChildren("It sees ", strong);
}
