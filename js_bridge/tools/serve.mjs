// The bridge as a process: Python on the desktop drives it over pipes (tests/webgpu/remote.py). Needs a Vulkan library
// in reach, as tools/test.mjs says. argv[2] may hold RuntimeOptions as JSON. Runs in node with Dawn, and in Deno with
// Deno's own WebGPU.
//
// Frames on stdin, little endian: u32 kind, u32 bytes, payload.
//   1 PLAN     a key                             answered with the plan's number
//   2 RUN      words of a command stream         not answered
//   3 UPLOAD   u32 handle, u32 offset, data      not answered
//   4 READ     u32 handle, u32 offset, u32 bytes answered with the data
//   5 CALL     JSON [name, ...arguments]         answered with JSON; the calls of a GPU worker (api/worker_calls.ts)
//
// Answers on stdout: u32 status (0 done, 1 failed), u32 bytes, payload. A failure is JSON {name, message}. The first
// failure of frames that are not answered takes the place of the next answer. Calls that never fail, such as figures,
// leave it to the one after.
import { build } from "esbuild";
import { mkdtempSync, rmSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { fault } from "./faults.mjs";

console.log = console.info = console.debug = console.error; // stdout belongs to the frames
const inDeno = typeof Deno !== "undefined";
const { create, globals } = inDeno ? { create: () => navigator.gpu, globals: {} } : await import("webgpu");
Object.assign(globalThis, globals);
const [PLAN, RUN, UPLOAD, READ, CALL] = [1, 2, 3, 4, 5];

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const folder = mkdtempSync(join(root, "node_modules", ".serve-"));
let bundle;
try {
  const outfile = join(folder, "bridge.mjs");
  const contents = 'export { PageBridge } from "./page_bridge"; export { Served, sentError } from "./worker_calls";';
  await build({
    stdin: { contents, resolveDir: join(root, "src", "api") },
    outfile,
    bundle: true,
    format: "esm",
    target: "es2022",
    logLevel: "warning",
  });
  bundle = await import(pathToFileURL(outfile).href);
} finally {
  rmSync(folder, { recursive: true });
}

// Dawn's instance must outlive all that came from it: when it is collected, node crashes
globalThis.dawn = create(process.platform === "linux" ? ["backend=vulkan"] : []);
let device = null;
const gpu = {
  async requestAdapter(options) {
    const adapter = await globalThis.dawn.requestAdapter(options);
    const request = adapter?.requestDevice.bind(adapter);
    if (adapter) adapter.requestDevice = async (descriptor) => (device = await request(descriptor));
    return adapter;
  },
};
const served = new bundle.Served(
  new bundle.PageBridge({ HEAPU8: new Uint8Array(0) }, { gpu, ...JSON.parse(process.argv[2] ?? "{}") }),
);
const { bridge } = served;

const others = {
  epoch: () => bridge.epoch(),
  // for tests: a call to the GPU that goes wrong (faults.mjs)
  fault: (kind, n) => fault(device, kind, n),
  // for tests: the device goes away, as when the GPU process ends
  lose: async () => {
    device.destroy();
    await device.lost;
    bridge.state() === 1 && (await new Promise((done) => setTimeout(done, 1)));
  },
};

/** Writes all of it: a pipe takes 64 KiB at a time. */
function answer(status, payload) {
  const head = new Uint32Array([status, payload.byteLength]);
  for (const part of [new Uint8Array(head.buffer), payload]) {
    for (let at = 0; at < part.byteLength;) at += writeSync(1, part, at);
  }
}

async function handle(kind, payload) {
  const words = (count) => new Uint32Array(payload.buffer, payload.byteOffset, count);
  if (kind === RUN) return served.run(words(payload.byteLength / 4));
  if (kind === UPLOAD) return served.upload(...words(2), payload.slice(8));
  try {
    if (kind === PLAN) answer(0, Buffer.from(String(await served.call("plan", [Buffer.from(payload).toString()]))));
    else if (kind === READ) answer(0, await served.call("read", [...words(3)]));
    else if (kind === CALL) {
      const [name, ...args] = JSON.parse(Buffer.from(payload).toString());
      answer(
        0,
        Buffer.from(JSON.stringify((await (others[name] ? others[name](...args) : served.call(name, args))) ?? null)),
      );
    } else throw new Error(`frame of unknown kind ${kind}`);
  } catch (e) {
    answer(1, Buffer.from(JSON.stringify(bundle.sentError(e))));
  }
}

/** Frames cut out of the stream; every payload in memory of its own, since typed arrays need alignment. */
const header = new Uint8Array(8);
let payload = null;
let have = 0;
for await (const chunk of process.stdin) {
  for (let at = 0; at < chunk.length;) {
    const into = payload ?? header;
    const n = Math.min(into.length - have, chunk.length - at);
    into.set(chunk.subarray(at, at + n), have);
    at += n;
    have += n;
    if (have < into.length) continue;
    have = 0;
    const [kind, bytes] = new Uint32Array(header.buffer);
    if (payload === null && bytes > 0) payload = new Uint8Array(bytes);
    else {
      await handle(kind, payload ?? new Uint8Array(0));
      payload = null;
    }
  }
}
process.exit(0);
