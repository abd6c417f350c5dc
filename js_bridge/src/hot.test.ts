import { afterAll, describe, expect, it } from "vitest";
import type { Runtime } from "./runtime";
import { USES } from "./hot";
import { Writer, closeAll, floats, gpu, open } from "./testing";

const F32 = "float32";
const graph = (nodes: object[]): string => `fused:${JSON.stringify({ ndim: 2, inputs: [{ dtype: F32, layout: "s" }], nodes, outputs: [{ node: nodes.length - 1, dtype: F32, layout: "c" }] })}`;
const SCALED = graph([{ in: 0 }, { scalar: 0, dtype: F32 }, { op: "mul", args: [0, 1], dtype: F32 }]);

describe.skipIf(!gpu)("kernels for words that come again", () => {
  afterAll(closeAll);

  /** The transpose of a matrix times a number, by a strided plan. */
  async function transposed(r: Runtime, rows: number, columns: number, by: number, times: number): Promise<number[]> {
    const [a, o] = [r.slots.reserve(), r.slots.reserve()];
    const data = Float32Array.from({ length: rows * columns }, (_, i) => i);
    new Writer().alloc(a, data.byteLength).alloc(o, data.byteLength).write(a, 0, data).run(r);
    const plan = r.plans.id(SCALED);
    const values: Record<string, number> = { n: rows * columns, size0: columns, size1: rows, i0o: 0, i0s0: 1, i0s1: columns, q0o: 0, c0: new Uint32Array(Float32Array.of(by).buffer)[0]! };
    const words = r.plans.layout(plan).words.map((w) => values[w.name]!);
    for (let i = 0; i < times; i++) {
      new Writer().plan(plan, [a, o], words).run(r);
      await r.synchronize();
      await new Promise((done) => setTimeout(done, 5));
    }
    const out = await floats(r, o, rows * columns);
    expect(out).toEqual(Array.from(out, (_, i) => ((i % rows) * columns + Math.floor(i / rows)) * by));
    return out;
  }

  it("are compiled after some uses, and give the same", async () => {
    const r = await open({ specialise: 4 });
    await transposed(r, 64, 48, 2, 3);
    expect(r.recorder.hot.made).toBe(0);
    await transposed(r, 64, 48, 2, 60);
    expect(r.recorder.hot.made).toBe(1);
    await transposed(r, 48, 64, 2, 2);
    await transposed(r, 64, 48, -0.5, 2);
    expect(r.recorder.hot.made).toBe(1);
    await transposed(r, 64, 48, 2, 1);
    await r.reset();
    expect(r.recorder.hot.made).toBe(0);
    await transposed(r, 64, 48, 2, 2);
  });

  it("leave numbers that are no constants, and small dispatches to the general kernel", async () => {
    const r = await open({ specialise: 2 });
    await transposed(r, 64, 48, -4, 6);
    await transposed(r, 4, 4, 2, 6);
    const [a, o] = [r.slots.reserve(), r.slots.reserve()];
    const plan = r.plans.id(SCALED);
    new Writer().alloc(a, 16384).alloc(o, 16384).run(r);
    const made = r.recorder.hot.made;
    expect(made).toBe(1);
    for (const word of [0x7f800000, 0x7fc00000]) {
      const values: Record<string, number> = { n: 4096, size0: 64, size1: 64, i0o: 0, i0s0: 1, i0s1: 64, q0o: 0, c0: word };
      for (let i = 0; i < 6; i++) {
        new Writer().plan(plan, [a, o], r.plans.layout(plan).words.map((w) => values[w.name]!)).run(r);
        await r.synchronize();
      }
    }
    expect(r.recorder.hot.made).toBe(made);
    expect((await floats(r, o, 4096)).every((v) => Number.isNaN(v))).toBe(true);
  });

  it("that do not compile with constants stay general", async () => {
    const r = await open({ specialise: 2 });
    // 1 / 0 in a branch that never runs: an error between constants
    const id = r.pipelines.define("divides", {
      access: "w", uniformWords: 4, words: ["n", "zero", "u2", "u3"].map((name) => ({ name, type: "u32" as const })),
      wgsl: `struct Params { n: u32, zero: u32, u2: u32, u3: u32 }
@group(0) @binding(0) var<storage, read_write> o: array<u32>;
@group(1) @binding(0) var<uniform> p: Params;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) g: vec3<u32>) { if (g.x < p.n) { if (p.zero > 0u) { o[g.x] = g.x / p.zero + 1u / p.zero; } else { o[g.x] = 7u; } } }`,
    });
    const o = r.slots.reserve();
    new Writer().alloc(o, 4096).run(r);
    for (let i = 0; i < 8; i++) {
      new Writer().dispatch(id, [16, 1, 1], [o], [1024, 0, 0, 0]).run(r);
      await r.synchronize();
    }
    expect(r.recorder.hot.made).toBe(0);
    expect([...new Uint32Array(Float32Array.from(await floats(r, o, 4)).buffer)]).toEqual([7, 7, 7, 7]);
  });

  it("are not for software adapters unless asked for", async () => {
    const r = await open();
    await transposed(r, 64, 48, 2, USES + 4);
    expect(r.recorder.hot.made > 0).toBe(!r.holder.software);
  });
});
