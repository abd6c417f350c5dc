import { expect } from "vitest";
import { many } from "../../../src/kernels/step/many";
import { adam, sgd } from "../../../src/kernels/step/optimizer";
import { close, random, runOne, t, test } from "../../../test_support/run_kernel";

const SIZES = [5, 1, 1030];
const tensors = (seed: number): number[][] => SIZES.map((n, k) => random(n + 3, -1, 1, seed + k));
const named = (name: string, lists: readonly number[][]): Record<string, ReturnType<typeof t>> =>
  Object.fromEntries(lists.map((x, k) => [`${name}${k}`, t("float32", x)]));
const lengths = Object.fromEntries(SIZES.map((n, k) => [`n${k}`, n]));

test("many tensors scaled in one dispatch, the rest untouched", async () => {
  const x = tensors(1);
  const r = await runOne(
    many({ op: "scale", count: 3 }),
    { ...lengths, so: 1 },
    { s: t("float32", [9, 0.5]), ...named("x", x) },
  );
  x.forEach((old, k) =>
    close(
      r[`x${k}`]!,
      old.map((v, i) => (i < SIZES[k]! ? v * 0.5 : v)),
      0,
      0,
    ),
  );
});

test.each([1, 3])("sums of squares by %i workgroups", async (groups) => {
  const x = tensors(4);
  const r = await runOne(
    many({ op: "squares", count: 3 }),
    { ...lengths, groups, outo: 1 },
    { ...named("x", x), out: { dtype: "float32", zeros: 5 } },
  );
  const want = x.reduce((sum, list, k) => sum + list.slice(0, SIZES[k]).reduce((s, v) => s + v * v, 0), 0);
  const out = r["out"]!;
  close([out.slice(1, 1 + groups).reduce((s, v) => s + v, 0)], [want], 1e-6, 0);
  expect([out[0], ...out.slice(1 + groups)].every(Number.isNaN)).toBe(true); // as they were
});

test("steps of many parameters are those of each", async () => {
  const g = tensors(7),
    w = tensors(11),
    m = tensors(15),
    v = tensors(19).map((x) => x.map(Math.abs));
  const a = { shrink: 0.999, weight_decay: 0, w1: 0.1, beta2: 0.999, w2: 0.001, size: 0.02, root: 0.05, eps: 1e-8 };
  const s = { lr: 0.1, weight_decay: 0.01, momentum: 0.9, keep: 1 };
  // buffers go parameter by parameter
  const two = (lists: Record<string, number[][]>): Record<string, ReturnType<typeof t>> =>
    Object.fromEntries(
      [0, 2].flatMap((k, at) => Object.entries(lists).map(([name, list]) => [`${name}${at}`, t("float32", list[k]!)])),
    );
  const sizes = { n0: SIZES[0]!, n1: SIZES[2]! };
  const together = await runOne(adam({ decoupled: true, count: 2 }), { ...sizes, ...a }, two({ g, w, m, v }));
  const sums = await runOne(sgd({ momentum: true, count: 2 }), { ...sizes, ...s }, two({ g, w, m }));
  for (const [at, k] of [0, 2].entries()) {
    const n = SIZES[k]!;
    const x = { g: t("float32", g[k]!), w: t("float32", w[k]!), m: t("float32", m[k]!) };
    const one = await runOne(adam({ decoupled: true }), { n, ...a }, { ...x, v: t("float32", v[k]!) });
    for (const name of ["w", "m", "v"]) expect(together[name + at]).toEqual(one[name]);
    const sum = await runOne(sgd({ momentum: true }), { n, ...s }, x);
    for (const name of ["w", "m"]) expect(sums[name + at]).toEqual(sum[name]);
  }
});
