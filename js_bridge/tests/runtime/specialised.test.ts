import { afterAll, describe, expect, it } from "vitest";
import type { Runtime } from "../../src/runtime/runtime";
import { USES, constantText } from "../../src/runtime/specialised";
import { planOf } from "../../src/kernels/plan";
import { FAMILIES } from "../../test_support/families";
import { Writer, bits, closeAll, floats, gpu, open, define, newHandle } from "../../test_support/gpu";

const F32 = "float32";
const graph = (nodes: object[]): string =>
  `fused:${JSON.stringify({
    ndim: 2,
    inputs: [{ dtype: F32, layout: "s" }],
    nodes,
    outputs: [{ node: nodes.length - 1, dtype: F32, layout: "c" }],
  })}`;
const SCALED = graph([{ in: 0 }, { scalar: 0, dtype: F32 }, { op: "mul", args: [0, 1], dtype: F32 }]);

describe.skipIf(!gpu)("kernels for words that come again", () => {
  afterAll(closeAll);

  /** The transpose of a matrix times a number, by a strided plan. */
  async function transposed(r: Runtime, rows: number, columns: number, by: number, times: number): Promise<number[]> {
    const [a, o] = [newHandle(), newHandle()];
    const data = Float32Array.from({ length: rows * columns }, (_, i) => i);
    new Writer().alloc(a, data.byteLength).alloc(o, data.byteLength).write(a, 0, data).run(r);
    const plan = r.plans.id(SCALED);
    const values: Record<string, number> = {
      n: rows * columns,
      size0: columns,
      size1: rows,
      i0o: 0,
      i0s0: 1,
      i0s1: columns,
      q0o: 0,
      c0: new Uint32Array(Float32Array.of(by).buffer)[0]!,
    };
    const words = planOf(SCALED).words.map((w) => values[w.name]!);
    for (let i = 0; i < times; i++) {
      new Writer().plan(plan, [a, o], words).run(r);
      await r.synchronize();
      await r.recorder.specialised.settled();
    }
    const out = await floats(r, o, rows * columns);
    expect(out).toEqual(Array.from(out, (_, i) => ((i % rows) * columns + Math.floor(i / rows)) * by));
    return out;
  }

  it("are compiled after some uses, and give the same", async () => {
    const r = await open({ specialise: 4 });
    await transposed(r, 64, 48, 2, 3);
    expect(r.recorder.specialised.made).toBe(0);
    await transposed(r, 64, 48, 2, 6);
    expect(r.recorder.specialised.made).toBe(1);
    await transposed(r, 48, 64, 2, 2);
    await transposed(r, 64, 48, -0.5, 6); // another float is no other kernel
    expect(r.recorder.specialised.made).toBe(1);
    await transposed(r, 64, 48, 2, 1);
    await r.reset();
    expect(r.recorder.specialised.made).toBe(0);
    await transposed(r, 64, 48, 2, 2);
  });

  it("read floats from the uniform block, and small dispatches are left to the general kernel", async () => {
    const r = await open({ specialise: 2 });
    await transposed(r, 64, 48, -4, 6);
    await transposed(r, 4, 4, 2, 6);
    expect(r.recorder.specialised.made).toBe(1);
    const [a, o] = [newHandle(), newHandle()];
    const plan = r.plans.id(SCALED);
    new Writer().alloc(a, 16384).alloc(o, 16384).run(r);
    for (const word of [0x7f800000, 0x7fc00000]) {
      const values: Record<string, number> = {
        n: 4096,
        size0: 64,
        size1: 64,
        i0o: 0,
        i0s0: 1,
        i0s1: 64,
        q0o: 0,
        c0: word,
      };
      for (let i = 0; i < 6; i++) {
        new Writer()
          .plan(
            plan,
            [a, o],
            planOf(SCALED).words.map((w) => values[w.name]!),
          )
          .run(r);
        await r.recorder.specialised.settled();
      }
      expect((await floats(r, o, 4096)).every((v) => Number.isNaN(v))).toBe(true);
    }
    expect(r.recorder.specialised.made).toBe(2); // one for both
  });

  it("that do not compile with constants stay general", async () => {
    const r = await open({ specialise: 2 });
    // 1 / 0 in a branch that never runs: an error between constants
    const id = define(r, "divides", {
      access: "w",
      uniformWords: 4,
      words: ["n", "zero", "u2", "u3"].map((name) => ({ name, type: "u32" as const })),
      wgsl: `struct Params { n: u32, zero: u32, u2: u32, u3: u32 }
@group(0) @binding(0) var<storage, read_write> o: array<u32>;
@group(1) @binding(0) var<uniform> p: Params;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) g: vec3<u32>) {
  if (g.x < p.n) { if (p.zero > 0u) { o[g.x] = g.x / p.zero + 1u / p.zero; } else { o[g.x] = 7u; } }
}`,
    });
    const o = newHandle();
    new Writer().alloc(o, 4096).run(r);
    for (let i = 0; i < 8; i++) {
      new Writer().dispatch(id, 16, [o], [1024, 0, 0, 0]).run(r);
      await r.synchronize();
      await r.recorder.specialised.settled();
    }
    expect(r.recorder.specialised.made).toBe(0);
    expect([...new Uint32Array(Float32Array.from(await floats(r, o, 4)).buffer)]).toEqual([7, 7, 7, 7]);
  });

  it("are not for software adapters unless asked for", async () => {
    const r = await open();
    await transposed(r, 64, 48, 2, USES + 4);
    expect(r.recorder.specialised.made > 0).toBe(!r.holder.software);
  });
});

/**
 * [family, parameters, words, elements of every buffer, whether it is compiled for them]; sizes as on a GPU that is
 * none of software.
 */
type Case = [string, object, Record<string, number>, number, boolean];
const s = { dtype: F32, layout: "s" },
  c = { dtype: F32, layout: "c" };
const w3 = { kernel: [3, 3], stride: [1, 1], padding: [1, 1], dilation: [1, 1] };
const image = { batch: 2, groups: 1, wide: 9, narrow: 33, x0: 30, x1: 31, y0: 30, y1: 31 };
const mm = (M: number, N: number, K: number): Record<string, number> => ({
  M,
  N,
  K,
  batches: 2,
  nb1: 2,
  ao: 0,
  am: K,
  ak: 1,
  ab0: 0,
  ab1: M * K,
  bo: 0,
  bk: N,
  bn: 1,
  bb0: 0,
  bb1: 0,
  co: 0,
  cm: N,
  cn: 1,
  cb0: 0,
  cb1: M * N,
  eo: 0,
  em: 0,
  en: 1,
  eb0: 0,
  eb1: 0,
  alpha: 0.3,
  beta: 3,
});
const rows = (op: string): object => ({
  kept: 1,
  reduced: 1,
  inputs: [{ dtype: F32 }],
  nodes: [{ in: 0 }],
  outputs: [{ op, node: 0, dtype: F32 }],
  inner: true,
});
const strips = (n: number, k: number): Record<string, number> => ({
  rows: k,
  n,
  k0: k,
  r0: n,
  i0k0: n,
  i0r0: 1,
  correction: 1,
  eps: 1e-5,
});
const heads = (dim: number): Record<string, number> => ({
  B: 2,
  H: 3,
  L: 50,
  S: 50,
  group: 1,
  scale: dim ** -0.5,
  ...Object.fromEntries(
    ["q", "k", "v", "y"].flatMap((t) => [
      [`${t}b`, 150 * dim],
      [`${t}h`, 50 * dim],
      [`${t}${"kv".includes(t) ? "s" : "l"}`, dim],
    ]),
  ),
});
const resized = { planes: 8, x0: 17, x1: 19, y0: 30, y1: 31, scale0: 17 / 30, scale1: 19 / 31 };
const CASES: Case[] = [
  [
    "fused",
    {
      ndim: 2,
      inputs: [s],
      nodes: [
        { in: 0 },
        { op: "gelu", args: [0], dtype: F32 },
        { scalar: 0, dtype: F32 },
        { op: "div", args: [1, 2], dtype: F32 },
      ],
      outputs: [{ node: 3, ...c }],
    },
    { n: 12000, size0: 100, size1: 120, i0s0: 1, i0s1: 100, c0: 3 },
    12000,
    true,
  ],
  [
    "fused",
    {
      ndim: 2,
      inputs: [s],
      nodes: [
        { in: 0 },
        { scalar: 0, dtype: "int64" },
        { op: "cast", args: [1], dtype: F32 },
        { op: "div", args: [0, 2], dtype: F32 },
      ],
      outputs: [{ node: 3, ...c }],
    },
    { n: 12000, size0: 100, size1: 120, i0s0: 1, i0s1: 100, c0: 3, c0h: 0 },
    12000,
    false,
  ],
  ["matmul", { a: F32, b: F32, out: F32, bias: F32 }, mm(100, 130, 70), 30000, true],
  ["matmul", { a: F32, b: F32, out: F32 }, mm(60, 64, 1500), 200000, true],
  ["conv", { pass: "forward", dtype: F32, ...w3, bias: true }, image, 70000, true],
  ["conv", { pass: "input", dtype: F32, ...w3 }, image, 70000, true],
  ["conv", { pass: "weight", dtype: F32, ...w3 }, image, 70000, true],
  [
    "conv",
    { pass: "forward", dtype: F32, ...w3, bias: true },
    { ...image, groups: 9, wide: 9, narrow: 9 },
    20000,
    true,
  ],
  ["pool", { op: "max", dtype: F32, ...w3 }, { planes: 8, x0: 30, x1: 31, y0: 30, y1: 31 }, 8000, true],
  [
    "pool",
    { op: "avg", dtype: F32, ...w3, countPadding: false },
    { planes: 8, x0: 30, x1: 31, y0: 30, y1: 31 },
    8000,
    false,
  ],
  ["pool", { op: "adaptive", dtype: F32, kernel: [1, 1] }, { planes: 3000, x0: 3, x1: 5, y0: 1, y1: 1 }, 45000, false],
  ["softmax", { log: true, dtype: F32, out: F32 }, { rows: 50, n: 777, inner: 1 }, 40000, true],
  ["softmax", { log: false, dtype: "float16", out: "float16" }, { rows: 900, n: 13, inner: 3 }, 40000, true],
  ["layerNorm", { dtype: F32, weight: true, bias: true }, { rows: 60, n: 300, eps: 1e-5 }, 20000, false],
  ["layerNorm", { dtype: F32, weight: true, backward: true }, { rows: 60, n: 300 }, 20000, false],
  ["reduce", rows("sum"), strips(500, 60), 30000, true],
  ["reduce", rows("logsumexp"), strips(20000, 8), 160000, true],
  ...["mean", "var", "std", "rstd"].map((op): Case => ["reduce", rows(op), strips(500, 60), 30000, false]),
  ["reduce", rows("var"), strips(20000, 8), 160000, false],
  [
    "crossEntropy",
    { dtype: F32, weight: true, smooth: true },
    { rows: 300, n: 70, inner: 1, ignore: -100, smoothing: 0.1 },
    21000,
    false,
  ],
  ["crossEntropy", { dtype: F32 }, { rows: 300, n: 70, inner: 1, ignore: -100 }, 21000, true],
  ["scan", { op: "cumsum", dtype: F32, out: F32 }, { outer: 9, n: 9000, inner: 1 }, 81000, true],
  ["scan", { op: "cummax", dtype: F32, out: F32 }, { outer: 9, n: 9000, inner: 1 }, 81000, true],
  ["sort", { dtype: F32 }, { rows: 9, n: 3000, k: 3000 }, 30000, true],
  [
    "pad",
    { ndim: 2, dtype: F32, mode: "reflect" },
    { n: 12000, size0: 100, size1: 120, in0: 90, in1: 110, pad0: 5, pad1: 5 },
    12000,
    true,
  ],
  ["upsample", { mode: "linear", ndim: 2, dtype: F32 }, resized, 8000, false],
  ["upsample", { mode: "cubic", ndim: 2, dtype: F32, backward: true }, resized, 8000, false],
  [
    "gather",
    { ndim: 2, dtype: F32, indices: ["int64"] },
    { n: 12000, size0: 100, size1: 120, as0: 0, as1: 1, i0s0: 1, i0s1: 0, step0: 120, extent0: 100 },
    12000,
    true,
  ],
  [
    "scatter",
    { ndim: 1, dtype: F32, indices: ["int64"], mode: "add", ordered: true },
    { n: 4000, size0: 4000, qs0: 0, as0: 1, i0s0: 1, step0: 1, extent0: 100 },
    8000,
    true,
  ],
  ["compact", { op: "count", dtype: F32 }, { n: 400000 }, 400000, true],
  ["attention", { dtype: F32, dim: 64, valueDim: 64, causal: true }, heads(64), 20000, true],
  ["attention", { dtype: F32, dim: 128, valueDim: 128 }, heads(128), 40000, true],
  ["sgd", { momentum: true }, { n: 30000, lr: 0.1, weight_decay: 0.3, momentum: 0.9, keep: 0.7 }, 30000, true],
  [
    "adam",
    {},
    { n: 30000, shrink: 0.99, weight_decay: 0.3, w1: 0.1, beta2: 0.999, w2: 0.001, size: 0.01, root: 0.3, eps: 1e-8 },
    30000,
    true,
  ],
  ["linalg", { op: "cholesky" }, { batches: 16, n: 20 }, 6400, true],
];

describe.skipIf(!gpu)("kernels for words and general ones give the same bits", () => {
  afterAll(closeAll);

  it.each(CASES)("%s %j", async (family, params, values, size, compiled) => {
    const r = await open({ specialise: 2 });
    Object.defineProperty(r.holder, "software", { value: false });
    const key = `${family}:${JSON.stringify(params)}`;
    const id = r.plans.id(key);
    const { words, buffers } = planOf(key);
    const list = words.map((w) => {
      const v = values[w.name] ?? w.init ?? (/o$/.test(w.name) ? 0 : NaN);
      expect(Number.isNaN(v), w.name).toBe(false);
      return w.type === "f32" ? bits(v) : v >>> 0;
    });
    const slots = buffers.map(() => newHandle());
    const length = size * 2;
    const given = buffers.map((b, i) => {
      if (/^(idx\d|labels)$/.test(b.name)) return Uint32Array.from({ length }, (_, k) => (k % 2 ? 0 : (k * 7) % 60));
      if (family === "linalg")
        return Float32Array.from({ length }, (_, k) => (k % 21 === 0 ? 30 : 0) + Math.sin((k % 400) * 1.05));
      const power = family === "adam" && i === 3 ? 2 : 1;
      return Float32Array.from({ length }, (_, k) => Math.sin(k * (i + 1.3)) ** power);
    });
    const alloc = new Writer();
    slots.forEach((slot) => alloc.alloc(slot, size * 8));
    alloc.run(r);
    const run = async (): Promise<string> => {
      slots.forEach((slot, i) => r.recorder.write(r.slots.get(slot, "test"), 0, new Uint8Array(given[i]!.buffer)));
      new Writer().plan(id, slots, list).run(r);
      const out = await Promise.all(
        buffers.map((b, i) => (b.writes ? r.reader.read(slots[i]!, 0, size * 8) : new Uint8Array())),
      );
      await r.recorder.specialised.settled();
      return out.map((x) => Buffer.from(x).toString("base64")).join();
    };
    const before = await run();
    expect(r.recorder.specialised.made).toBe(0);
    for (let n = 0; n < 6; n++) await run();
    expect((await run()) === before).toBe(true);
    expect(r.recorder.specialised.made > 0).toBe(compiled);
  });

  it("texts keep floats, and those that make floats of integers are none", () => {
    const words = new Uint32Array(32).fill(7);
    words[1] = 2 ** 32 - 3;
    const text = (wgsl: string, general?: boolean): string | null =>
      constantText(
        {
          words: [
            { name: "n", type: "u32" },
            { name: "k", type: "i32" },
            { name: "eps", type: "f32" },
          ],
          wgsl: `@group(1) @binding(0) var<uniform> p: Params;\n${wgsl}`,
          ...(general && { general }),
        },
        words,
      )
        ?.split("\n")
        .slice(1)
        .join("\n") ?? null;
    expect(text("let a = p.n; let b = p.k + at.k; let c = p.eps;")).toBe(
      "let a = 7u; let b = i32(-3) + at.k; let c = p.eps;",
    );
    expect(text("let a = p.n;", true)).toBeNull();
    expect(text("let c = p.eps;")).toBeNull();
    for (const made of ["x / f32(p.n)", "x / f32(w - 1)", "tl_i32_to_f32(t1)", "tl_i64_to_f32(t1)"])
      expect(text(`let a = p.n; let b = ${made};`)).toBeNull();
    for (const fine of ["f32()", "f32(0.0)", "vec4<f32>(x)", "f32(halves[i])"])
      expect(text(`let a = p.n; let b = ${fine};`)).not.toBeNull();
    expect(
      text("fn tl_u(x: u32) -> f32 { return f32(x); }\nfn tl_v(x: u32) -> f32 {\n  return f32(x);\n}\nlet a = p.n;"),
    ).not.toBeNull();
    expect(
      FAMILIES.reduce({
        stage: "partial",
        lanes: 64,
        kept: 1,
        reduced: 1,
        inputs: [{ dtype: F32 }],
        nodes: [{ in: 0 }],
        outputs: [{ op: "var", node: 0, dtype: F32 }],
      }).general,
    ).toBe(true);
  });
});
