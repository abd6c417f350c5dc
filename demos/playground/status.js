// The line at the foot of the page: what Python does, how long the run took, memory, and the device to choose.

const $ = (id) => document.getElementById(id);
const MB = (bytes) => `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;

export function setUpStatus(engine) {
  const progress = $("progress");
  let finding = false;

  function say(text) {
    if ($("status").textContent !== text) $("status").textContent = text;
  }

  /** What a run took: also in the title of the figures, for those who want more. */
  function ran(result, seconds, { kind, parts }) {
    const took = `${seconds < 10 ? seconds.toFixed(2) : seconds.toFixed(1)} s`;
    const cell = kind === "cells" && parts.length > 1 && result.part !== undefined ? ` in cell ${result.part + 1}` : "";
    if (result.status === "failed") {
      say(result.line ? `Failed in line ${result.line}${cell}, after ${took}.` : `Failed after ${took}.`);
    } else if (result.status === "stopped") {
      say(result.restarted ? "Stopped; Python is starting anew." : `Stopped after ${took}.`);
    } else {
      say(`Finished in ${took}.`);
    }
    if (result.memory === undefined) return;
    const gpu = result.gpu_memory === undefined ? "" : `, tensors on the GPU ${MB(result.gpu_memory)}`;
    $("usage").textContent = `${took}, Python's memory ${MB(result.memory)}${gpu}`;
    $("usage").title = "Python's memory grows as it is needed, up to 4.3 GB, and is not given back before Restart.";
  }

  engine.addEventListener("state", () => {
    const { state, about } = engine;
    progress.hidden = !["starting"].includes(state);
    if (state === "ready" && !finding) {
      finding = true;
      engine.findGpu();
    }
    if (
      state === "ready" &&
      $("status").textContent.match(/^(Starting|Loading|Installing|Importing|Python is starting)/)
    )
      say(`Ready: Python ${about.python}, torch ${about.torch}.`);
    if (state === "starting") finding = false;
    if (state === "running") say("Running");
    if (state === "stopping") say("Stopping");
    if (state === "broken") say(`Python could not be started: ${engine.trouble.split("\n")[0]} Reload to try again.`);
    $("amount").textContent = "";
  });

  engine.addEventListener("progress", ({ detail: { stage, done, total } }) => {
    if (stage === "download") {
      if (!/then the script runs/.test($("status").textContent)) say("Loading Python");
      $("amount").textContent = total > 1 ? `${(done / 1e6).toFixed(1)} of ${(total / 1e6).toFixed(1)} MB` : "";
      [progress.max, progress.value] = [total, done];
    } else {
      if (!/then the script runs/.test($("status").textContent))
        say(stage === "install" ? "Installing torchlite" : "Importing torch");
      $("amount").textContent = "";
      progress.removeAttribute("value");
    }
  });

  // packages on their way
  engine.addEventListener("packages", ({ detail: { text } }) => {
    say(text || "Running");
    progress.hidden = !text;
    progress.removeAttribute("value");
  });

  engine.addEventListener("gpu", () => {
    const { device, name, software, problem } = engine.gpu;
    $("device-choice").hidden = !device;
    if (!device) {
      $("gpu").textContent = "CPU only";
      $("gpu").title = `No GPU can be used: ${problem}.`;
      return;
    }
    const chosen = $("device").value;
    const choices = { cpu: "CPU", [device]: `GPU (${device === "webgpu" ? "WebGPU" : device})` };
    $("device").replaceChildren(...Object.entries(choices).map(([value, text]) => new Option(text, value)));
    // a program that plays a GPU is slower than the same processor used directly
    $("device").value = chosen || (software ? "cpu" : device);
    $("gpu").textContent = software ? `GPU: ${name || "software"}, slower than the CPU` : `GPU: ${name || "yes"}`;
    $("gpu").title = "The choice decides what torch.accelerator tells the script.";
  });

  return { say, ran };
}
