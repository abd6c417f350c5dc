import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { describe, expect, it } from "vitest";
import { gpu } from "../../test_support/gpu";

/** A program that has nothing but the module and an object with requestAdapter(): none of WebGPU's globals. */
const PROGRAM = `
import { create } from "webgpu";
import { Bridge, Op } from "./bridge.mjs";
const instance = (globalThis.instance = create(process.platform === "linux" ? ["backend=vulkan"] : []));
const bridge = new Bridge({ gpu: instance });
if (!(await bridge.open())) throw new Error(bridge.reason());
const f = "float32";
const plan = bridge.plan("fused:" + JSON.stringify({
  ndim: 0, inputs: [{
    dtype: f, layout: "c"
  }], nodes: [{ in: 0 }, { op: "square", args: [0], dtype: f }], outputs: [{ node: 1, dtype: f, layout: "c" }]
}));
const [a, b] = [1, 2];
bridge.alloc(a, 16);
bridge.alloc(b, 16);
const bits = new Uint32Array(Float32Array.of(1, 2, 3, 4).buffer);
const write = [Op.WRITE | (8 << 8), a, 0, 16, ...bits];
bridge.execute(Uint32Array.of(...write, Op.PLAN | (8 << 8), plan, 2 | (3 << 8), a, b, 4, 0, 0));
console.log([...new Float32Array((await bridge.read(b, 0, 16)).buffer)].join());
await bridge.synchronize();
process.exit(0);
`;

describe.skipIf(!gpu)("the bundle", () => {
  it("is a module that needs no globals", async () => {
    const folder = mkdtempSync(join(import.meta.dirname, "../../node_modules", ".bundle-"));
    try {
      await build({
        entryPoints: [join(import.meta.dirname, "../../src/api/bridge.ts")],
        outfile: join(folder, "bridge.mjs"),
        bundle: true,
        format: "esm",
        target: "es2022",
        minify: true,
      });
      writeFileSync(join(folder, "program.mjs"), PROGRAM);
      // Mesa's drivers complain where there is no such folder
      const env = { ...process.env, XDG_RUNTIME_DIR: process.env["XDG_RUNTIME_DIR"] ?? folder };
      const done = spawnSync(process.execPath, [join(folder, "program.mjs")], {
        encoding: "utf8",
        timeout: 60_000,
        env,
      });
      expect([done.stdout.trim(), done.stderr.trim()]).toEqual(["1,4,9,16", ""]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
