import { expect } from "vitest";
import { attention } from "../../../src/kernels/products/attention";
import type { AttentionParams } from "../../../src/kernels/products/attention_params";
import { DIRECT_HEADS } from "../../../src/kernels/products/attention_direct";
import { close, random, randomInts, runOne, t, test } from "../../../test_support/run_kernel";

interface Case {
  B: number;
  H: number;
  L: number;
  S: number;
  dim: number;
  valueDim?: number;
  causal?: boolean;
  mask?: "bool" | "float32";
  group?: number;
}
const CASES: Case[] = [
  { B: 2, H: 3, L: 20, S: 37, dim: 16 },
  { B: 1, H: 2, L: 33, S: 33, dim: 64, causal: true },
  { B: 1, H: 4, L: 5, S: 70, dim: 10, valueDim: 7, group: 2 },
  { B: 2, H: 1, L: 17, S: 18, dim: 8, mask: "bool" },
  { B: 1, H: 1, L: 9, S: 40, dim: 128, mask: "float32" },
  { B: 1, H: 1, L: 1, S: 1, dim: 4 },
  { B: 1, H: 2, L: 21, S: 40, dim: 96, valueDim: 66 },
  { B: 1, H: 1, L: 35, S: 35, dim: 122, valueDim: 128, causal: true },
  { B: 1, H: 1, L: 18, S: 30, dim: 128, valueDim: 3, mask: "bool" },
  { B: 1, H: 1, L: 3, S: 50, dim: 20, valueDim: 128 },
];

test.each(CASES)("%j", async (c) => {
  const { B, H, L, S, dim, causal, mask, group = 1 } = c;
  const dv = c.valueDim ?? dim,
    Hk = H / group,
    scale = Math.fround(1 / Math.sqrt(dim));
  const q = random(B * H * L * dim, -2, 2, 3),
    k = random(B * Hk * S * dim, -2, 2, 5),
    v = random(B * Hk * S * dv, -2, 2, 7);
  const m = mask === "bool" ? randomInts(B * L * S, 0, 2, 9) : random(B * L * S, -3, 3, 9);
  if (mask === "bool") m.fill(0, 0, S); // a query that may see nothing
  const y = new Array<number>(B * H * L * dv).fill(0),
    lse: number[] = [];
  for (let b = 0; b < B; b++)
    for (let h = 0; h < H; h++)
      for (let l = 0; l < L; l++) {
        const kv = (b * Hk + Math.floor(h / group)) * S;
        const s = Array.from({ length: S }, (_, j) => {
          if (causal && j > l) return -Infinity;
          const at = m[(b * L + l) * S + j]!;
          if (mask === "bool" && !at) return -Infinity;
          let dot = 0;
          for (let d = 0; d < dim; d++) dot += q[((b * H + h) * L + l) * dim + d]! * k[(kv + j) * dim + d]!;
          return dot * scale + (mask === "float32" ? at : 0);
        });
        const sum = s.reduce((a, x) => a + Math.exp(x), 0);
        lse.push(Math.log(sum));
        if (sum > 0)
          for (let d = 0; d < dv; d++)
            y[((b * H + h) * L + l) * dv + d] = s.reduce(
              (a, x, j) => a + (Math.exp(x) / sum) * v[(kv + j) * dv + d]!,
              0,
            );
      }
  const params: AttentionParams = {
    dtype: "float32",
    dim,
    valueDim: dv,
    ...(causal && { causal }),
    ...(mask && { mask }),
  };
  const values = {
    ...{
      B,
      H,
      L,
      S,
      group,
      scale,
      qo: 0,
      qb: H * L * dim,
      qh: L * dim,
      ql: dim,
      ko: 0,
      kb: Hk * S * dim,
      kh: S * dim,
      ks: dim,
      vo: 0,
      vb: Hk * S * dv,
      vh: S * dv,
      vs: dv,
    },
    ...{ mo: 0, mb: L * S, mh: 0, ml: S, ms: 1, yo: 0, yb: H * L * dv, yh: L * dv, yl: dv, lseo: 0 },
  };
  for (const direct of Math.max(dim, dv) <= DIRECT_HEADS ? [false, true] : [false]) {
    const r = await runOne(attention({ ...params, ...(direct && { direct }) }), values, {
      q: t("float32", q),
      k: t("float32", k),
      v: t("float32", v),
      ...(mask && { m: t(mask, m) }),
      y: { dtype: "float32", zeros: y.length },
      lse: { dtype: "float32", zeros: lse.length },
    });
    close(r["y"]!, y, 1e-5, 3e-6);
    close(r["lse"]!, lse, 1e-5, 3e-6);
  }
});

test("heads that are too wide are refused", () => {
  expect(() => attention({ dtype: "float32", dim: 256, valueDim: 64 })).toThrow(/heads of 256/);
});

test("workgroups stay within the memory that every device gives them", () => {
  for (let dim = 1; dim <= 128; dim++)
    for (const valueDim of [1, 64, dim, 128])
      for (const f16 of [false, true]) {
        const { wgsl } = attention({ dtype: f16 ? "float16" : "float32", dim, valueDim, ...(f16 && { f16 }) });
        const bytes = { "vec4<f32>": 16, "vec4<f16>": 8, f32: 4 } as Record<string, number>;
        const arrays = [...wgsl.matchAll(/var<workgroup> \w+: array<(.+), (\d+)>;/g)].map(
          ([, type, n]) => bytes[type!]! * Number(n),
        );
        expect(arrays).toHaveLength(3);
        expect(arrays.reduce((a, b) => a + b)).toBeLessThanOrEqual(16384);
      }
});
