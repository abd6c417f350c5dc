/**
 * What deno.test.ts runs on Deno's WebGPU and on Dawn: one plan at least of the large families, and their numbers. Not
 * part of the bundle.
 */
import { Bridge, Op, type RuntimeOptions } from "../src/api/bridge";
import { catalog } from "./catalog";
import { planOf } from "../src/kernels/plan";
import { command } from "../src/runtime/stream";
import { planOfText, textKey } from "./text_plan";

const f = "float32";
const l = "int64";
const window3 = { kernel: [3, 3], stride: [2, 1], padding: [1, 1], dilation: [1, 1] };

type Data = Float32Array | Int32Array | BigInt64Array | Uint16Array;
export interface Case {
  readonly plan: string;
  /** By name, in the plan's order: what is given, or the number of words of what is written. */
  readonly buffers: Readonly<Record<string, Data | number>>;
  readonly words: Readonly<Record<string, number>>;
  /** Results that are not floats. */
  readonly kinds?: Readonly<Record<string, "i32" | "i64" | "u16">>;
}

/** Numbers between -2 and 2 that are the same everywhere. */
function numbers(n: number, seed: number): Float32Array {
  let state = seed * 2654435761 + 1;
  return Float32Array.from({ length: n }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.fround((state / 2 ** 32) * 4 - 2);
  });
}
export const plan = (family: string, parameters: object): string => `${family}:${JSON.stringify(parameters)}`;
const image = { batch: 2, groups: 1, wide: 3, narrow: 5, x0: 9, x1: 8, y0: 5, y1: 8 };
export const heads = (name: string, length: number): Record<string, number> => ({
  [`${name}o`]: 0,
  [`${name}b`]: 2 * length * 8,
  [`${name}h`]: length * 8,
  [`${name}${name === "k" || name === "v" ? "s" : "l"}`]: 8,
});
const after = {
  ndim: 0,
  inputs: [{ dtype: f, layout: "c" }],
  nodes: [{ product: f }, { in: 0 }, { op: "mul", args: [0, 1], dtype: f }, { op: "gelu", args: [2], dtype: f }],
  outputs: [{ node: 3, dtype: f }],
};

export const CASES: Readonly<Record<string, Case>> = {
  fused: {
    plan: plan("fused", {
      ndim: 2,
      inputs: [
        { dtype: f, layout: "s" },
        { dtype: f, layout: "c" },
      ],
      nodes: [
        { in: 0 },
        { in: 1 },
        { op: "mul", args: [0, 1], dtype: f },
        { op: "erf", args: [2], dtype: f },
        { op: "lgamma", args: [2], dtype: f },
        { op: "lt", args: [0, 1], dtype: "bool", compute: f },
        { op: "where", args: [5, 3, 4], dtype: f },
      ],
      outputs: [{ node: 6, dtype: f, layout: "c" }],
    }),
    buffers: { in0: numbers(15, 1), in1: numbers(30, 2), out0: 30 },
    words: { n: 30, size0: 2, size1: 15, i0o: 0, i0s0: 0, i0s1: 1, i1o: 0, q0o: 0 },
  },
  wholeNumbers: {
    plan: plan("fused", {
      ndim: 0,
      inputs: [
        { dtype: l, layout: "c" },
        { dtype: l, layout: "c" },
      ],
      nodes: [
        { in: 0 },
        { in: 1 },
        { op: "mul", args: [0, 1], dtype: l },
        { op: "remainder", args: [2, 1], dtype: l },
        { op: "floor_divide", args: [0, 1], dtype: l },
        { op: "sub", args: [4, 3], dtype: l },
      ],
      outputs: [
        { node: 5, dtype: l, layout: "c" },
        { node: 2, dtype: l, layout: "c" },
      ],
    }),
    buffers: {
      in0: BigInt64Array.of(7n, -(2n ** 40n), 2n ** 62n, -5n),
      in1: BigInt64Array.of(3n, 12345n, 2n ** 33n, -2n),
      out0: 8,
      out1: 8,
    },
    words: { n: 4, i0o: 0, i1o: 0, q0o: 0, q1o: 0 },
    kinds: { out0: "i64", out1: "i64" },
  },
  matmul: {
    plan: plan("matmul", { a: f, b: f, out: f, bias: f, after }),
    buffers: {
      a: numbers(37 * 29, 3),
      b: numbers(29 * 33, 4),
      e: numbers(33, 5),
      in0: numbers(37 * 33, 6),
      out0: 37 * 33,
    },
    words: {
      M: 37,
      N: 33,
      K: 29,
      batches: 1,
      nb1: 1,
      ao: 0,
      am: 29,
      ak: 1,
      ab0: 0,
      ab1: 0,
      bo: 0,
      bk: 33,
      bn: 1,
      bb0: 0,
      bb1: 0,
      co: 0,
      cm: 33,
      cn: 1,
      cb0: 0,
      cb1: 0,
      eo: 0,
      em: 0,
      en: 1,
      eb0: 0,
      eb1: 0,
      alpha: 0.25,
      beta: 1,
      i0o: 0,
      q0o: 0,
    },
  },
  long: {
    plan: plan("matmul", { a: f, b: f, out: f }), // few results of long sums: several kernels
    buffers: { a: numbers(4 * 5000, 7), b: numbers(5000 * 3, 8), c: 12 },
    words: {
      M: 4,
      N: 3,
      K: 5000,
      batches: 1,
      nb1: 1,
      ao: 0,
      am: 5000,
      ak: 1,
      ab0: 0,
      ab1: 0,
      bo: 0,
      bk: 3,
      bn: 1,
      bb0: 0,
      bb1: 0,
      co: 0,
      cm: 3,
      cn: 1,
      cb0: 0,
      cb1: 0,
      alpha: 1,
    },
  },
  conv: {
    plan: plan("conv", { pass: "forward", dtype: f, ...window3, bias: f }),
    buffers: { x: numbers(2 * 3 * 72, 9), w: numbers(5 * 27, 10), bias: numbers(5, 11), y: 2 * 5 * 40 },
    words: image,
  },
  convInput: {
    plan: plan("conv", { pass: "input", dtype: f, ...window3 }),
    buffers: { gy: numbers(2 * 5 * 40, 12), w: numbers(5 * 27, 10), gx: 2 * 3 * 72 },
    words: image,
  },
  convWeight: {
    plan: plan("conv", { pass: "weight", dtype: f, ...window3 }),
    buffers: { gy: numbers(2 * 5 * 40, 12), x: numbers(2 * 3 * 72, 9), gw: 5 * 27 },
    words: image,
  },
  pool: {
    plan: plan("pool", { op: "max", dtype: f, ...window3 }),
    buffers: { x: numbers(6 * 72, 13), y: 6 * 40, idx: 6 * 80 },
    words: { planes: 6, x0: 9, x1: 8, y0: 5, y1: 8 },
    kinds: { idx: "i64" },
  },
  reduce: {
    plan: plan("reduce", {
      kept: 1,
      reduced: 1,
      inputs: [{ dtype: f }],
      nodes: [{ in: 0 }],
      outputs: [
        { op: "var", node: 0, dtype: f },
        { op: "argmax", node: 0, dtype: l },
      ],
      inner: true,
    }),
    buffers: { in0: numbers(6 * 300, 14), out0: 6, out1: 12 },
    words: { rows: 6, n: 300, k0: 6, r0: 300, i0o: 0, i0k0: 300, i0r0: 1, q0o: 0, q1o: 0, correction: 1 },
    kinds: { out1: "i64" },
  },
  total: {
    plan: plan("reduce", {
      kept: 0,
      reduced: 1,
      inputs: [{ dtype: f }],
      nodes: [{ in: 0 }],
      outputs: [
        { op: "logsumexp", node: 0, dtype: f },
        { op: "sum", node: 0, dtype: f },
      ],
      inner: true,
    }),
    buffers: { in0: numbers(50_000, 15), out0: 1, out1: 1 },
    words: { rows: 1, n: 50_000, r0: 50_000, i0o: 0, i0r0: 1, q0o: 0, q1o: 0 },
  },
  softmax: {
    plan: plan("softmax", { log: true, dtype: f, out: f }),
    buffers: { x: numbers(7 * 130, 16), y: 7 * 130 },
    words: { rows: 7, n: 130, inner: 1, xo: 0, yo: 0 },
  },
  layerNorm: {
    plan: plan("layerNorm", { dtype: f, weight: true, bias: true }),
    buffers: { x: numbers(5 * 96, 17), w: numbers(96, 18), b: numbers(96, 19), y: 5 * 96, mean: 5, rstd: 5 },
    words: { rows: 5, n: 96, xo: 0, yo: 0, eps: 1e-5 },
  },
  crossEntropy: {
    plan: plan("crossEntropy", { dtype: f }),
    buffers: {
      x: numbers(6 * 10, 20),
      labels: BigInt64Array.of(3n, 0n, 9n, -100n, 5n, 5n),
      loss: 6,
      lse: 6,
      counts: 6,
      status: new Int32Array(4),
    },
    words: { rows: 6, n: 10, inner: 1, ignore: -100 },
  },
  sort: {
    plan: plan("sort", { dtype: f, descending: true }),
    buffers: { x: numbers(3 * 700, 21), y: 3 * 700, idx: 6 * 700 },
    words: { rows: 3, n: 700, k: 700 },
    kinds: { idx: "i64" },
  },
  sortLong: {
    plan: plan("sort", { dtype: l }),
    buffers: {
      x: BigInt64Array.from(numbers(5000, 22), (v) => BigInt(Math.trunc(v * 1000)) << 33n),
      y: 10_000,
      idx: 10_000,
    },
    words: { rows: 1, n: 5000, k: 5000 },
    kinds: { y: "i64", idx: "i64" },
  },
  scan: {
    plan: plan("scan", { op: "cumsum", dtype: f, out: f }),
    buffers: { x: numbers(2 * 9000, 23), y: 2 * 9000 },
    words: { outer: 2, n: 9000, inner: 1, xo: 0, yo: 0 },
  },
  gather: {
    plan: plan("gather", { ndim: 2, dtype: f, indices: [l] }),
    buffers: { src: numbers(50, 24), idx0: BigInt64Array.of(4n, 0n, 3n), dst: 30, status: new Int32Array(4) },
    words: {
      n: 30,
      size0: 3,
      size1: 10,
      ao: 0,
      as0: 0,
      as1: 1,
      i0o: 0,
      i0s0: 1,
      i0s1: 0,
      step0: 10,
      extent0: 5,
      qo: 0,
    },
  },
  scatter: {
    plan: plan("scatter", { ndim: 1, dtype: f, indices: [l], mode: "add", ordered: true }),
    buffers: {
      src: numbers(400, 25),
      idx0: BigInt64Array.from({ length: 400 }, (_, i) => BigInt((i * 7) % 11)),
      dst: numbers(11, 26),
      status: new Int32Array(4),
    },
    words: { n: 400, size0: 400, qo: 0, qs0: 0, ao: 0, as0: 1, i0o: 0, i0s0: 1, step0: 1, extent0: 11 },
  },
  upsample: {
    plan: plan("upsample", { mode: "linear", ndim: 2, dtype: f, align: false }),
    buffers: { x: numbers(2 * 20, 27), y: 2 * 99 },
    words: { planes: 2, x0: 4, x1: 5, y0: 9, y1: 11, scale0: 4 / 9, scale1: 5 / 11 },
  },
  attention: {
    plan: plan("attention", { dtype: f, dim: 8, valueDim: 8, causal: true }),
    buffers: {
      q: numbers(2 * 2 * 19 * 8, 28),
      k: numbers(2 * 2 * 19 * 8, 29),
      v: numbers(2 * 2 * 19 * 8, 30),
      y: 2 * 2 * 19 * 8,
      lse: 2 * 2 * 19,
    },
    words: {
      B: 2,
      H: 2,
      L: 19,
      S: 19,
      group: 1,
      scale: 8 ** -0.5,
      ...heads("q", 19),
      ...heads("k", 19),
      ...heads("v", 19),
      ...heads("y", 19),
      lseo: 0,
    },
  },
  adam: {
    plan: plan("adam", {}),
    buffers: { g: numbers(50, 31), w: numbers(50, 32), m: numbers(50, 33), v: numbers(50, 34).map(Math.abs) },
    words: { n: 50, shrink: 1, weight_decay: 0.01, w1: 0.1, beta2: 0.999, w2: 0.001, size: 0.01, root: 0.1, eps: 1e-8 },
  },
  lu: {
    plan: plan("linalg", { op: "lu" }),
    buffers: { a: numbers(2 * 144, 35), piv: 24, info: 2 },
    words: { batches: 2, m: 12, n: 12, pivot: 1 },
    kinds: { piv: "i32", info: "i32" },
  },
};

let handles = 0;

function decode(bytes: Uint8Array<ArrayBuffer>, kind?: "i32" | "i64" | "u16"): number[] {
  const { buffer } = bytes.slice();
  if (kind === "u16") return [...new Uint16Array(buffer)];
  if (kind === "i64") return Array.from(new BigInt64Array(buffer), Number);
  return [...(kind === "i32" ? new Int32Array(buffer) : new Float32Array(buffer))];
}

/** What a plan writes, by the names of its buffers. */
export async function run(
  bridge: Bridge,
  { plan: key, buffers, words, kinds }: Case,
): Promise<Record<string, number[]>> {
  const id = bridge.plan(key);
  const layout = planOf(key);
  const slots = layout.buffers.map(({ name }) => {
    const data = buffers[name];
    if (data === undefined) throw new Error(`no buffer ${name}`);
    const slot = ++handles;
    const given = typeof data === "number" ? new Float32Array(data).fill(-7) : data;
    bridge.alloc(slot, given.byteLength);
    bridge.execute(
      Uint32Array.from(command(Op.UPLOAD, slot, 0, given.byteLength, given.byteOffset)),
      "all",
      given.buffer,
    );
    return { name, slot, bytes: given.byteLength };
  });
  const values = layout.words.map(({ name, type, init }) => {
    const value = words[name] ?? init;
    if (value === undefined) throw new Error(`no word ${name}`);
    return type === "f32" ? (new Uint32Array(Float32Array.of(value).buffer)[0] ?? 0) : value >>> 0;
  });
  bridge.execute(
    Uint32Array.from(command(Op.PLAN, id, slots.length | (values.length << 8), ...slots.map((s) => s.slot), ...values)),
  );
  const results: Record<string, number[]> = {};
  for (const [i, { name, slot, bytes }] of slots.entries()) {
    if (layout.buffers[i]?.writes && name !== "status")
      results[name] = decode(await bridge.read(slot, 0, bytes), kinds?.[name]);
    bridge.free(slot);
  }
  return results;
}

export interface Results {
  readonly adapter: string;
  readonly results: Record<string, Record<string, number[]> | string>;
  /** What a read of the result of a shader that does not compile says, and then one of another. */
  readonly refused: readonly string[];
}

/** Runs every case; a case that fails gives its error's text. */
export async function result(options: RuntimeOptions = {}): Promise<Results> {
  const bridge = new Bridge({ planOf: planOfText, ...options });
  if (!(await bridge.open())) throw new Error(bridge.reason());
  const all: Results["results"] = {};
  for (const [name, one] of Object.entries(CASES)) {
    try {
      all[name] = await run(bridge, one);
    } catch (e) {
      all[name] = String(e);
    }
  }
  const wgsl = "@compute @workgroup_size(1) fn main() { nonsense }";
  const bad = bridge.plan(textKey("bad", { access: "w", uniformWords: 1, wgsl }));
  const slots = [++handles, ++handles] as const;
  for (const slot of slots) bridge.alloc(slot, 16);
  bridge.execute(Uint32Array.from(command(Op.PLAN, bad, 1 | (2 << 8), slots[0], 1, 0)));
  const refused = [await bridge.read(slots[0], 0, 4).then(String, (e: Error) => e.name)];
  bridge.execute(Uint32Array.from(command(Op.FILL, slots[1], 0, 16, 9)));
  refused.push(await bridge.read(slots[1], 0, 4).then(String, (e: Error) => e.name));
  await bridge.synchronize().catch(() => undefined);
  const { description, device } = JSON.parse(bridge.info()) as { description: string; device: string };
  bridge.close();
  return { adapter: description || device, results: all, refused };
}

/** Every shader for which the compiler has an error, and what that is. */
export async function refusedShaders(): Promise<string[]> {
  const device = await (await navigator.gpu.requestAdapter())?.requestDevice();
  if (!device) throw new Error("there is no adapter");
  const found: string[] = [];
  const shaders = catalog();
  for (const { key, wgsl } of shaders) {
    device.pushErrorScope("validation");
    device.createShaderModule({ code: wgsl });
    const error = await device.popErrorScope();
    if (error) found.push(`${key} ${error.message}`);
  }
  return shaders.length > 0 ? found : ["there are no shaders"];
}
