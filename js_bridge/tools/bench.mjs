// Cost of the command stream on the CPU, under node: microseconds per dispatch from words to submit.
import { build } from "esbuild";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { mkdtempSync, rmSync } from "node:fs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const dir = mkdtempSync(join(root, "node_modules", ".bench-"));
await build({
  entryPoints: [join(root, "test_support", "gpu.ts")],
  outfile: join(dir, "gpu.mjs"),
  bundle: true,
  format: "esm",
  external: ["webgpu"],
  logLevel: "warning",
});
const { open, AXPB, Writer, bits, define, gpu, newHandle } = await import(pathToFileURL(join(dir, "gpu.mjs")).href);
rmSync(dir, { recursive: true });
if (!gpu) process.exit(0);

const runtime = await open();
const kernel = define(runtime, "axpb", AXPB);
const slots = Array.from({ length: 64 }, () => newHandle());
const setup = new Writer();
for (const slot of slots) setup.alloc(slot, 256).fill(slot, 0, 256, 0);
setup.run(runtime);
const writer = new Writer();
for (let i = 0; i < 256; i++) {
  const [a, b, o] = [slots[i % 64], slots[(i * 7 + 1) % 64], slots[(i * 13 + 2) % 64]];
  if (a === o || b === o) continue;
  writer.dispatch(kernel, 1, [a, b, o], [64, bits(0.5)]);
}
const f = "float32";
const add = runtime.plans.id(
  `fused:${JSON.stringify({
    ndim: 0,
    inputs: [
      { dtype: f, layout: "c" },
      { dtype: f, layout: "c" },
    ],
    nodes: [{ in: 0 }, { in: 1 }, { op: "add", args: [0, 1], dtype: f }],
    outputs: [{ node: 2, dtype: f, layout: "c" }],
  })}`,
);
const row = runtime.plans.id(`softmax:${JSON.stringify({ log: false, dtype: f, out: f })}`);
const plans = new Writer();
for (let i = 0; i < 256; i++) {
  const [a, b, o] = [slots[i % 64], slots[(i * 7 + 1) % 64], slots[(i * 13 + 2) % 64]];
  if (a === o || b === o) continue;
  if (i % 2) plans.plan(add, [a, b, o], [64, 0, 0, 0]);
  else plans.plan(row, [a, o], [1, 64, 1, 0, 0]);
}
await run("dispatch", Uint32Array.from(writer.words));
await run("plan", Uint32Array.from(plans.words));

async function run(what, words) {
  for (const round of [1, 2, 3]) {
    const before = runtime.profile.counters.dispatches;
    const times = [];
    for (let i = 0; i < 40; i++) {
      const start = performance.now();
      runtime.stream.execute(words);
      runtime.recorder.flush();
      times.push(performance.now() - start);
      await runtime.synchronize();
    }
    const each = (runtime.profile.counters.dispatches - before) / 40;
    times.sort((x, y) => x - y);
    console.log(
      `${what}, round ${round}: ${((1000 * times[20]) / each).toFixed(2)} us per dispatch (median), ` +
        `${((1000 * times[0]) / each).toFixed(2)} at best`,
    );
  }
}
process.exit(0);
