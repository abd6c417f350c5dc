import { expect } from "vitest";
import { fused } from "../../src/kernels/elementwise/fused";
import { single } from "../../src/kernels/elementwise/expression";
import type { OpName } from "../../src/kernels/elementwise/op_table";
import { erf, erfc, random, runOne, t, test, ulps } from "../../test_support/run_kernel";

const SPECIAL = [
  0,
  -0,
  1,
  -1,
  NaN,
  Infinity,
  -Infinity,
  0.5,
  -0.5,
  1e-20,
  -1e-20,
  100,
  -100,
  1e30,
  -1e30,
  3.4e38,
  88.8,
  -87.5,
  709,
  Math.PI,
];
const wide = (lo: number, hi: number): number[] => [
  ...random(2000, lo, hi),
  ...random(500, -1, 1, 7),
  ...random(200, -0.01, 0.01, 9),
];
const logs = (n: number, lo: number, hi: number): number[] =>
  random(n, Math.log(lo), Math.log(hi), 3).map((x) => Math.fround(Math.exp(x)));

const rint = (x: number): number => {
  const f = Math.floor(x),
    d = x - f;
  const up = d > 0.5 || (d === 0.5 && f % 2 !== 0);
  return up ? f + 1 : f;
};

/** op, reference, inputs, ULP allowed */
const CASES: [OpName, (x: number) => number, number[], number][] = [
  ["exp", Math.exp, wide(-87, 89), 1.5],
  ["exp2", (x) => 2 ** x, wide(-125, 128), 1.5],
  ["expm1", Math.expm1, wide(-20, 88), 2.5],
  ["log", Math.log, [...logs(2000, 1e-38, 1e38), ...random(500, 0.5, 2)], 1.5],
  ["log2", Math.log2, [...logs(2000, 1e-38, 1e38), ...random(500, 0.5, 2), 8, 1024], 2],
  ["log10", Math.log10, [...logs(2000, 1e-38, 1e38), ...random(500, 0.5, 2)], 2.5],
  ["log1p", Math.log1p, [...wide(-0.9999, 5), ...logs(500, 1, 1e38)], 2.5],
  ["sin", Math.sin, [...wide(-50, 50), ...random(500, -1e5, 1e5), ...random(300, -1e30, 1e30)], 2.5],
  ["cos", Math.cos, [...wide(-50, 50), ...random(500, -1e5, 1e5), ...random(300, -1e30, 1e30)], 2.5],
  ["tan", Math.tan, [...wide(-50, 50), ...random(300, -1e5, 1e5)], 5],
  ["atan", Math.atan, wide(-20, 20), 3],
  ["asin", Math.asin, wide(-1, 1), 4],
  ["acos", Math.acos, wide(-1, 1), 4],
  ["sinh", Math.sinh, wide(-88, 88), 4],
  ["cosh", Math.cosh, wide(-88, 88), 4],
  ["tanh", Math.tanh, wide(-10, 10), 2.5],
  ["asinh", Math.asinh, wide(-100, 100), 4],
  ["acosh", Math.acosh, logs(1500, 1, 1e30), 5],
  ["atanh", Math.atanh, wide(-1, 1), 5],
  ["sigmoid", (x) => 1 / (1 + Math.exp(-x)), wide(-80, 80), 4],
  ["erf", erf, wide(-5, 5), 2.5],
  ["erfc", erfc, wide(-4, 9), 6],
  ["sqrt", Math.sqrt, logs(1000, 1e-30, 1e38), 1],
  ["rsqrt", (x) => 1 / Math.sqrt(x), logs(1000, 1e-30, 1e38), 3],
  ["reciprocal", (x) => 1 / x, logs(1000, 1e-30, 1e37), 2.5],
  ["round", rint, wide(-9, 9).concat(2.5, 3.5, -0.5, 8388609), 0],
  ["trunc", Math.trunc, wide(-9, 9), 0],
  ["floor", Math.floor, wide(-9, 9), 0],
  ["ceil", Math.ceil, wide(-9, 9), 0],
  ["isnan", (x) => Number(Number.isNaN(x)), [], 0],
  ["isinf", (x) => Number(Math.abs(x) === Infinity), [], 0],
  ["isfinite", (x) => Number(Number.isFinite(x)), [], 0],
  ["sign", (x) => (Number.isNaN(x) ? 0 : Math.sign(x)), [], 0],
  ["relu", (x) => (x <= 0 ? 0 : x), [], 0],
];

const report: string[] = [];
test.each(CASES)("%s", async (op, ref, inputs, limit) => {
  const bool = op.startsWith("is");
  const xs = [...inputs, ...SPECIAL].map(Math.fround);
  const kernel = fused({
    ndim: 0,
    inputs: [{ dtype: "float32", layout: "c" }],
    nodes: single(op, ["float32"], bool ? "bool" : "float32"),
    outputs: [{ node: 1, dtype: bool ? "bool" : "float32", layout: "c" }],
  });
  const { out } = await runOne(
    kernel,
    { n: xs.length, i0o: 0, q0o: 0 },
    { x: t("float32", xs), out: { dtype: bool ? "bool" : "float32", zeros: xs.length } },
  );
  let worst = 0,
    at = 0;
  const bad: string[] = [];
  xs.forEach((x, i) => {
    const want = ref(x);
    const u = Math.abs(want) < 1.2e-38 && Math.abs(out![i]!) < 1.2e-38 ? 0 : ulps(out![i]!, want);
    if (u > worst) {
      worst = u;
      at = x;
    }
    if (u > limit) bad.push(`${op}(${x}) = ${out![i]}, expected ${Math.fround(want)} (${u.toFixed(2)} ULP)`);
  });
  report.push(`${op} ${worst.toFixed(2)} at ${at}`);
  expect(bad.slice(0, 8)).toEqual([]);
});

test("largest errors", () => {
  console.log(report.join("; "));
});
