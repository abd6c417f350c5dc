import { expect } from "vitest";
import { planOf } from "../../src/kernels/plan";
import type { DType, Values } from "../../src/kernels/spec";
import { random, randomInts, runTensors, t, type Tensor, test } from "../../test_support/run_kernel";

/** What a family does must not depend on where its operands begin. */
interface Case {
  readonly family: string;
  readonly params: object;
  readonly words: Values;
  readonly sizes: Readonly<Record<string, number>>;
  readonly dtypes?: Readonly<Record<string, DType>>;
  readonly names?: Readonly<Record<string, string>>;
}

const f = "float32" as const;
const window = { kernel: [3], stride: [1], padding: [1], dilation: [1] };
const image = { batch: 2, groups: 1, wide: 2, narrow: 2, x0: 6, y0: 6 };
const CASES: Case[] = [
  {
    family: "conv",
    params: { pass: "forward", dtype: f, ...window, bias: true },
    words: image,
    sizes: { x: 24, w: 12, bias: 2, y: 24 },
  },
  { family: "conv", params: { pass: "input", dtype: f, ...window }, words: image, sizes: { gy: 24, w: 12, gx: 24 } },
  { family: "conv", params: { pass: "weight", dtype: f, ...window }, words: image, sizes: { gy: 24, x: 24, gw: 12 } },
  {
    family: "conv",
    params: { pass: "weight", dtype: f, ...window },
    words: { ...image, batch: 1000 },
    sizes: { gy: 12000, x: 12000, gw: 12 },
  },
  {
    family: "conv",
    params: { pass: "forward", dtype: f, ...window, bias: true },
    words: { ...image, groups: 2 },
    sizes: { x: 24, w: 6, bias: 2, y: 24 },
  },
  {
    family: "conv",
    params: { pass: "input", dtype: f, ...window },
    words: { ...image, groups: 2 },
    sizes: { gy: 24, w: 6, gx: 24 },
  },
  {
    family: "conv",
    params: { pass: "weight", dtype: f, ...window },
    words: { ...image, groups: 2 },
    sizes: { gy: 24, x: 24, gw: 6 },
  },
  {
    family: "pool",
    params: { op: "max", dtype: f, ...window },
    words: { planes: 3, x0: 6, y0: 6 },
    sizes: { x: 18, y: 18, idx: 18 },
    dtypes: { idx: "int64" },
  },
  {
    family: "pool",
    params: { op: "max", dtype: f, ...window, backward: true },
    words: { planes: 3, x0: 6, y0: 6 },
    sizes: { gy: 18, idx: 18, gx: 18 },
    dtypes: { idx: "int64" },
  },
  {
    family: "pool",
    params: { op: "avg", dtype: f, ...window, backward: true },
    words: { planes: 3, x0: 6, y0: 6 },
    sizes: { gy: 18, gx: 18 },
  },
  {
    family: "pool",
    params: { op: "adaptive", dtype: f, kernel: [1] },
    words: { planes: 3, x0: 6, y0: 4 },
    sizes: { x: 18, y: 12 },
  },
  {
    family: "softmax",
    params: { log: false, dtype: f, out: f },
    words: { rows: 4, n: 5, inner: 1 },
    sizes: { x: 20, y: 20 },
  },
  {
    family: "softmax",
    params: { log: true, backward: true, dtype: f, out: f },
    words: { rows: 4, n: 5, inner: 1 },
    sizes: { g: 20, x: 20, y: 20 },
  },
  {
    family: "layerNorm",
    params: { dtype: f, weight: true, bias: true },
    words: { rows: 3, n: 5, eps: 1e-5 },
    sizes: { x: 15, w: 5, b: 5, y: 15, mean: 3, rstd: 3 },
  },
  {
    family: "layerNorm",
    params: { dtype: f, weight: true, backward: true },
    words: { rows: 3, n: 5 },
    sizes: { g: 15, x: 15, w: 5, mean: 3, rstd: 3, y: 15 },
  },
  {
    family: "pad",
    params: { ndim: 1, dtype: f, mode: "reflect" },
    words: { n: 9, size0: 9, in0: 5, pad0: 2 },
    sizes: { x: 5, y: 9 },
  },
  {
    family: "upsample",
    params: { mode: "linear", ndim: 1, dtype: f },
    words: { planes: 2, x0: 4, y0: 7, scale0: 4 / 7 },
    sizes: { x: 8, y: 14 },
  },
  {
    family: "upsample",
    params: { mode: "linear", ndim: 1, dtype: f, backward: true },
    words: { planes: 2, x0: 4, y0: 7, scale0: 4 / 7 },
    sizes: { gy: 14, gx: 8 },
  },
  {
    family: "sort",
    params: { dtype: f },
    words: { rows: 2, n: 300, k: 5 },
    sizes: { x: 600, y: 10, idx: 10 },
    dtypes: { idx: "int64" },
  },
  {
    family: "scan",
    params: { op: "cumsum", dtype: f, out: f },
    words: { outer: 1, n: 9000, inner: 1 },
    sizes: { x: 9000, y: 9000 },
  },
  {
    family: "crossEntropy",
    params: { dtype: f, weight: true, backward: true },
    words: { rows: 4, n: 3, inner: 1, ignore: -100, gs: 1 },
    sizes: { x: 12, labels: 4, w: 3, lse: 4, g: 4, y: 12 },
    dtypes: { labels: "int64" },
  },
  {
    family: "compact",
    params: { op: "select", dtype: "int32", data: f },
    words: { n: 20 },
    sizes: { x: 20, ends: 1, src: 20, out: 20 },
    dtypes: { x: "int32", ends: "int32" },
  },
];

test.each(CASES)("$family $params", async (c) => {
  const plan = planOf(`${c.family}:${JSON.stringify(c.params)}`);
  const data = (name: string, n: number): number[] =>
    c.dtypes?.[name] ? randomInts(n, 0, 3, 3) : random(n, 0.5, 2, name.length);
  const run = async (shift: (name: string) => number): Promise<Record<string, number[]>> => {
    const words = { ...c.words, ...Object.fromEntries(plan.buffers.map((b) => [`${b.name}o`, shift(b.name)])) };
    const planned = plan.steps(
      Object.fromEntries(plan.words.map((w) => [w.name, (words as Record<string, number>)[w.name] ?? w.init ?? NaN])),
      { software: true },
    );
    const buffers: Record<string, Tensor | { dtype: DType; zeros: number }> = {};
    for (const b of plan.buffers) {
      const n = c.sizes[b.name]!,
        before = new Array<number>(shift(b.name)).fill(9);
      buffers[b.name] = t(c.dtypes?.[b.name] ?? f, [
        ...before,
        ...(b.writes ? new Array<number>(n).fill(7) : data(b.name, n)),
      ]);
    }
    for (const [name, bytes] of Object.entries(planned.scratch ?? {}))
      buffers[name] = { dtype: "int32", zeros: Math.ceil(bytes / 4) };
    const out = await runTensors(planned.steps, buffers);
    return Object.fromEntries(
      plan.buffers.map((b) => {
        expect(out[b.name]!.slice(0, shift(b.name)).every((v) => v === 9)).toBe(true);
        return [b.name, out[b.name]!.slice(shift(b.name))];
      }),
    );
  };
  const names = plan.buffers.map((b) => b.name);
  const plain = await run(() => 0);
  const moved = await run((name) => (plan.words.some((w) => w.name === `${name}o`) ? 1 + names.indexOf(name) : 0));
  expect(moved).toEqual(plain);
  for (const b of plan.buffers) if (b.writes) expect(plain[b.name]!.some((v) => v !== 7)).toBe(true);
});
