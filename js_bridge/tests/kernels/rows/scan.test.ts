import { expect } from "vitest";
import { adam, sgd } from "../../../src/kernels/step/optimizer";
import { planScan, type ScanOp } from "../../../src/kernels/rows/scan";
import type { DType } from "../../../src/kernels/spec";
import { close, random, randomInts, runOne, runTensors, t, test } from "../../../test_support/run_kernel";

function reference(op: ScanOp, x: readonly number[], [outer, n, inner]: number[]): { y: number[]; idx: number[] } {
  const y = new Array<number>(x.length),
    idx = new Array<number>(x.length);
  for (let o = 0; o < outer!; o++)
    for (let i = 0; i < inner!; i++) {
      let s = { cumprod: 1, cumsum: 0, cummin: Infinity }[op as string] ?? -Infinity,
        k = -1;
      for (let r = 0; r < n!; r++) {
        const at = (o * n! + r) * inner! + i,
          v = x[at]!;
        if (op === "cumsum") s += v;
        else if (op === "cumprod") s *= v;
        else if (op === "logcumsumexp") s = Math.max(s, v) + Math.log1p(Math.exp(-Math.abs(s - v)));
        else if (Number.isNaN(v) || (!Number.isNaN(s) && (op === "cummax" ? v >= s : v <= s)) || k < 0) {
          s = v;
          k = r;
        }
        y[at] = s;
        idx[at] = k;
      }
    }
  return { y, idx };
}
const SHAPES = [
  [3, 5, 1],
  [2, 100, 3],
  [1, 1500, 1],
  [1, 20000, 1],
  [2, 9000, 2],
  [9000, 40, 1],
];

test.each(["cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"] as ScanOp[])("%s", async (op) => {
  for (const shape of SHAPES) {
    const [outer, n, inner] = shape as [number, number, number],
      size = outer * n * inner;
    let x = op.startsWith("cumm") ? randomInts(size, -40, 40) : random(size, -1, 1);
    if (op === "cumprod") x = random(size, 0.99, 1.01);
    if (op.startsWith("cumm") && size === 1500) x[700] = NaN;
    if (op.startsWith("cumm") && size === 36000) x[17001] = NaN;
    // begins a chunk or lies in one: changes nothing
    if (op.startsWith("cumm") && size === 20000) x[9000] = op === "cummax" ? -Infinity : Infinity;
    const steps = planScan(op, "float32", "float32", outer, n, inner);
    const f32 = (k: number): { dtype: DType; zeros: number } => ({ dtype: "float32", zeros: k });
    const r = await runTensors(steps, {
      x: t("float32", x),
      y: f32(size),
      idx: { dtype: "int64", zeros: size },
      part: f32(4096),
      sums: f32(4096),
      places: { dtype: "int64", zeros: 4096 },
      whose: { dtype: "int64", zeros: 4096 },
    });
    const want = reference(op, x, shape);
    close(r["y"]!, want.y, op === "cumprod" ? 1e-3 : 3e-6, 3e-6 * Math.sqrt(n));
    if (op.startsWith("cumm")) close(r["idx"]!, want.idx, 0, 0);
  }
});

test("cumsum of integers is exact, halves accumulate in float32", async () => {
  const x = randomInts(9000, -(2 ** 20), 2 ** 20),
    big = x.map((v) => v * 2 ** 18);
  const z = (dtype: DType, k: number): { dtype: DType; zeros: number } => ({ dtype, zeros: k });
  const r = await runTensors(planScan("cumsum", "int64", "int64", 1, 9000, 1), {
    x: t("int64", big),
    y: z("int64", 9000),
    part: z("int64", 64),
    sums: z("int64", 64),
  });
  expect(r["y"]).toEqual(reference("cumsum", big, [1, 9000, 1]).y);
  const b = x.map((v) => Number(v > 0));
  expect(
    (await runTensors(planScan("cumsum", "bool", "int64", 9, 1000, 1), { x: t("bool", b), y: z("int64", 9000) }))["y"],
  ).toEqual(reference("cumsum", b, [9, 1000, 1]).y);
  const ones = new Array<number>(3000).fill(1);
  expect(
    (
      await runTensors(planScan("cumsum", "float16", "float16", 1, 3000, 1), {
        x: t("float16", ones),
        y: z("float16", 3000),
      })
    )["y"]!.slice(0, 2048),
  ).toEqual(reference("cumsum", ones, [1, 3000, 1]).y.slice(0, 2048));
});

test("long rows of packed and wide integers, and of halves", async () => {
  const n = 20000;
  for (const [op, dtype] of [
    ["cummax", "int64"],
    ["cummin", "int8"],
    ["cummax", "bool"],
    ["cummin", "float16"],
    ["cumsum", "int8"],
    ["cumprod", "uint8"],
  ] as [ScanOp, DType][]) {
    // the best one moves from chunk to chunk
    const ramp = Array.from({ length: n }, (_, i) => (op === "cummax" ? 1 : -1) * Math.floor(i / 500) + ((i * 7) % 5));
    let x = op.startsWith("cumm") ? ramp : randomInts(n, 0, 3);
    if (dtype === "bool") x = ramp.map((_, i) => Number(i > 12000 && i % 3 === 0));
    else if (dtype === "int64") x = ramp.map((v) => v * 2 ** 35);
    const z = (d: DType, k: number): { dtype: DType; zeros: number } => ({ dtype: d, zeros: k }),
      state = dtype === "float16" ? "float32" : dtype;
    const r = await runTensors(planScan(op, dtype, dtype, 1, n, 1), {
      x: t(dtype, x),
      y: z(dtype, n),
      idx: z("int64", n),
      part: z(state, 64),
      sums: z(state, 64),
      places: z("int64", 64),
      whose: z("int64", 64),
    });
    const want = reference(op, x, [1, n, 1]);
    const wrap = (v: number): number => (dtype === "int8" ? (v << 24) >> 24 : v);
    if (op === "cumprod") expect(r["y"]!.slice(0, 6)).toEqual(want.y.slice(0, 6));
    else expect(r["y"]).toEqual(want.y.map(wrap));
    if (op.startsWith("cumm")) expect(r["idx"]).toEqual(want.idx);
  }
});

test.each([1, 3, 4, 1001])("sgd and adam on %i numbers, the rest untouched", async (n) => {
  const size = n + 6,
    g = random(size),
    w = random(size, -1, 1, 2),
    m = random(size, -1, 1, 3),
    v = random(size, 0, 1, 4),
    top = random(size, 0, 1, 5);
  const only = (f: (i: number) => number, old: number[]): number[] => old.map((o, i) => (i < n ? f(i) : o));
  const s = { n, lr: 0.1, weight_decay: 0.01, momentum: 0.9, keep: 0.8 };
  const d = (i: number): number => -g[i]! + 0.01 * w[i]!,
    m2 = (i: number): number => 0.9 * m[i]! + 0.8 * d(i);
  const r = await runOne(sgd({ momentum: true, nesterov: true, maximize: true }), s, {
    g: t("float32", g),
    w: t("float32", w),
    m: t("float32", m),
  });
  close(r["m"]!, only(m2, m), 1e-6, 1e-7);
  close(
    r["w"]!,
    only((i) => w[i]! - 0.1 * (d(i) + 0.9 * m2(i)), w),
    1e-6,
    1e-7,
  );
  const plain = await runOne(sgd({}), s, { g: t("float32", g), w: t("float32", w) });
  close(
    plain["w"]!,
    only((i) => w[i]! - 0.1 * (g[i]! + 0.01 * w[i]!), w),
    1e-6,
    1e-7,
  );
  for (const decoupled of [false, true]) {
    const step = 3,
      b1 = 0.9,
      b2 = 0.999,
      lr = 0.01,
      wd = 0.1;
    const a = {
      n,
      shrink: decoupled ? 1 - lr * wd : 1,
      weight_decay: decoupled ? 0 : wd,
      w1: 1 - b1,
      beta2: b2,
      w2: 1 - b2,
      size: lr / (1 - b1 ** step),
      root: Math.sqrt(1 - b2 ** step),
      eps: 1e-8,
    };
    const old = (i: number): number => w[i]! * a.shrink,
      gr = (i: number): number => g[i]! + a.weight_decay * old(i);
    const mm = (i: number): number => m[i]! + a.w1 * (gr(i) - m[i]!),
      vv = (i: number): number => b2 * v[i]! + a.w2 * gr(i) ** 2,
      tt = (i: number): number => Math.max(top[i]!, vv(i));
    const q = await runOne(adam({ amsgrad: true, ...(decoupled && { decoupled }) }), a, {
      g: t("float32", g),
      w: t("float32", w),
      m: t("float32", m),
      v: t("float32", v),
      top: t("float32", top),
    });
    close(q["m"]!, only(mm, m), 1e-6, 1e-7);
    close(q["v"]!, only(vv, v), 1e-6, 1e-7);
    close(q["top"]!, only(tt, top), 1e-6, 1e-7);
    close(
      q["w"]!,
      only((i) => old(i) - (a.size * mm(i)) / (Math.sqrt(tt(i)) / a.root + 1e-8), w),
      2e-6,
      1e-6,
    );
  }
});
