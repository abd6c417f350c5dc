/**
 * The bundle that travels in the wheel. It is a script that puts its functions on globalThis, not a module: a page
 * loads it in whatever way its security policy allows (torchlite/webgpu/transport/page.py), and a GPU worker runs the
 * same text.
 */
import { NO_ADAPTER, probeCanvas } from "../runtime/canvas";
import { PageBridge, type Heap } from "./page_bridge";
import { serve } from "./worker";
import { startWorker, WorkerBridge, workerProblem } from "./worker_bridge";
import type { PageOptions } from "./worker_calls";
import type { Port } from "./worker_link";

/**
 * Opens a bridge with its device. A device cannot be moved, so this decides where it lives. It goes to a GPU worker if
 * the canvas fails, since then synchronous code could not read. It does so even if Python can be suspended now: that
 * changes with each entry into Python. `readMode` may allow only one read mode ("worker", or one that leaves the device
 * in this thread).
 */
async function open(
  heap: Heap,
  text: string,
  source: string,
  readMode: string,
  start: () => Port = () => startWorker(source),
): Promise<PageBridge | WorkerBridge> {
  const options = JSON.parse(text) as PageOptions;
  const gpu = (globalThis.navigator as Navigator | undefined)?.gpu;
  let problem = readMode === "" || readMode === "worker" ? workerProblem() : "it is switched off";
  if (problem === "" && source === "") problem = "this build of torchlite was made without its script";
  let canvas: string | undefined;
  if (problem === "" && gpu) {
    if (readMode === "worker") canvas = "it is switched off";
    else canvas = options.probe === false ? "it was not tried" : await probeCanvas(gpu);
    if (canvas === "") problem = "the canvas works";
    else if (canvas !== NO_ADAPTER) {
      const bridge = new WorkerBridge(heap, { ...options, canvas, probe: false }, canvas, start);
      try {
        if (await bridge.open()) return bridge;
        problem = bridge.reason();
      } catch (e) {
        problem = e instanceof Error && bridge.state() === 0 ? e.message : bridge.reason();
      }
      bridge.close();
      if (readMode === "worker") canvas = undefined;
    }
  }
  const bridge = new PageBridge(heap, canvas === undefined ? options : { ...options, canvas });
  bridge.workerProblem = problem;
  if (!(await bridge.open())) throw new Error(bridge.reason());
  return bridge;
}

(globalThis as { torchlite_webgpu?: unknown }).torchlite_webgpu = { open, serve, workerProblem };
