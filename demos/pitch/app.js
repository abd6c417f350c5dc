// The pitch page: the sound for the script, the microphone, and the note.

import { openDemo, progress, say } from "../shared/demo.js";
import { openWeights } from "../shared/weights.js";
import { fromFile, melody, Microphone, RATE, wav } from "./sound.js";
import { nameOf, numberOf, Staff } from "./staff.js";

const WINDOW = 1024; // samples that the network hears at once
const HOP = 160; // samples between two moments
const MOST = 30; // moments asked for at once
const SHOWN = 8; // seconds of the microphone on the staff
const SURE = 0.5;
const SILENCE = 3000; // ms without any samples after which the page says so
const LONGEST = 60; // seconds of a file that are heard

const $ = (id) => document.getElementById(id);
const staff = new Staff($("staff"));
let sound = melody();
let points = []; // [seconds, note or null]
let microphone = null;

const demo = await openDemo({ script: "pitch.py", python: "pitch/look.py", prepare, question, seen, finished });
const { engine } = demo;
const fetchWeights = openWeights(demo, ["crepe-tiny.pth"], "2 MB");
use(sound, "The beginning of a melody");

// --- The sound that the script hears -----------------------------------------------------------------------------

function use(samples, name) {
  const cut = samples.length > LONGEST * RATE;
  sound = samples.slice(0, LONGEST * RATE);
  $("source").textContent = `${name}: ${(sound.length / RATE).toFixed(1)} s${cut ? " of it" : ""}. Drop a sound here.`;
  URL.revokeObjectURL($("player").src);
  $("player").src = URL.createObjectURL(new Blob([wav(sound)], { type: "audio/wav" }));
}

async function read(file) {
  if (!file) return;
  try {
    use(await fromFile(file), file.name);
  } catch {
    $("source").textContent = `${file.name} is no sound that this browser reads.`;
  }
}

$("melody").addEventListener("click", () => use(melody(), "The beginning of a melody"));
$("open").addEventListener("click", () => $("file").click());
$("file").addEventListener("change", () => read($("file").files[0]));
addEventListener("dragover", (event) => {
  event.preventDefault();
  $("source").classList.add("over");
});
addEventListener("dragleave", () => $("source").classList.remove("over"));
addEventListener("drop", (event) => {
  event.preventDefault();
  $("source").classList.remove("over");
  read(event.dataTransfer.files[0]);
});

// --- The script --------------------------------------------------------------------------------------------------

async function prepare() {
  await stop();
  $("microphone").disabled = true;
  points = [];
  await fetchWeights();
  await engine.request("write", { name: "sound.wav", bytes: wav(sound) });
}

/** Only what was heard since the last time. */
function question() {
  return { start: points.length };
}

function seen({ done, all, start, pitches }) {
  if (start !== points.length || !all) return;
  if (engine.state === "running") {
    say("Hearing the sound");
    progress(done, all);
  }
  pitches.forEach((heard, index) => points.push([((start + index) * HOP) / RATE, noteOf(heard)]));
  staff.show(points, 0, (all * HOP) / RATE);
}

function finished({ status }) {
  $("microphone").disabled = status !== "done";
  if (status === "done") $("hertz").textContent = "Press Listen, and sing.";
}

/** The note as a number, or null where the network is not sure of one. */
function noteOf([pitch, sure]) {
  return sure >= SURE ? numberOf(pitch) : null;
}

// --- The microphone ----------------------------------------------------------------------------------------------

$("microphone").addEventListener("click", () => (microphone ? stop() : listen()));

async function listen() {
  $("microphone").disabled = true;
  try {
    microphone = await Microphone.open();
    $("said").textContent = "";
  } catch (error) {
    $("said").textContent = `No microphone can be used: ${error.message}. A sound from a file does as well.`;
    return;
  } finally {
    $("microphone").disabled = false;
  }
  $("microphone").textContent = "Stop listening";
  $("microphone").setAttribute("aria-pressed", "true");
  points = [];
  hear(microphone);
}

async function stop() {
  const closing = microphone?.close();
  microphone = null;
  $("microphone").textContent = "Listen";
  $("microphone").setAttribute("aria-pressed", "false");
  showNote(null);
  await closing;
}

/** Asks about the newest moments, again and again; when the network is slower than the sound, it hears fewer. */
async function hear(mine) {
  let last = 0; // seconds that were asked for
  setTimeout(() => {
    if (microphone === mine && !mine.heard) $("said").textContent = "The browser hands on no sound of the microphone.";
  }, SILENCE);
  while (microphone === mine) {
    const now = mine.heard / mine.rate;
    const moments = Math.min(MOST, Math.floor(((now - last) * RATE) / HOP));
    const samples = moments > 2 && engine.state === "ready" ? await mine.newest(WINDOW + (moments - 1) * HOP) : [];
    if (samples.length < WINDOW) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      continue;
    }
    const bytes = samples.slice().buffer;
    const answer = await engine.request("look", { bytes, hop: HOP }).catch((error) => console.warn(error.message));
    if (microphone !== mine || !answer) continue;
    last = now;
    const { pitches } = answer;
    pitches.forEach((heard, index) => {
      points.push([now - ((pitches.length - 1 - index) * HOP) / RATE, noteOf(heard)]);
    });
    points = points.filter(([seconds]) => seconds > now - SHOWN);
    staff.show(points, Math.max(0, now - SHOWN), Math.max(SHOWN, now));
    showNote(pitches.at(-1));
  }
}

function showNote(heard) {
  const note = heard && noteOf(heard);
  const near = Math.round(note ?? 0);
  const cents = Math.round(100 * ((note ?? 0) - near));
  const there = note !== null;
  $("note").textContent = there ? nameOf(near) : "–";
  $("hertz").textContent = there ? `${heard[0].toFixed(1)} Hz, the network is ${Math.round(100 * heard[1])}% sure` : "";
  $("needle").classList.toggle("heard", there);
  $("needle").style.setProperty("--cents", cents);
  $("needle").setAttribute(
    "aria-label",
    there ? `${Math.abs(cents)} cents ${cents < 0 ? "flat" : "sharp"}` : "No note",
  );
}
