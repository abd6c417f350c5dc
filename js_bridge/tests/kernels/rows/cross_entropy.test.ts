import { expect } from "vitest";
import { crossEntropy } from "../../../src/kernels/rows/cross_entropy";
import { close, joins, random, randomInts, runOne, t, test } from "../../../test_support/run_kernel";

const CASES = [
  [6, 5, 1, 1, {}],
  [40, 300, 1, 64, {}],
  [3, 11, 7, 4, { weight: true }],
  [9, 33, 1, 8, { smooth: true }],
  [2, 12, 5, 2, { weight: true, smooth: true }],
  [5, 200, 1, 64, { weight: true, smooth: true }],
] as const;
const WAYS = joins.flatMap(([name, by]) =>
  CASES.filter((c) => !by.subgroups || c[3] >= 32).map((c) => [...c, name, by] as const),
);

test.each(WAYS)("%d rows of %d, inner %d, %d lanes, %j, %s", async (outer, n, inner, lanes, options, _, by) => {
  const o: { weight?: boolean; smooth?: boolean } = options;
  const rows = outer * inner,
    ignore = -100,
    smooth = 0.1;
  const x = random(rows * n, -4, 4, 3),
    w = random(n, 0.2, 2, 5),
    g = random(rows, -1, 1, 7);
  const target = randomInts(rows, 0, n, 9).map((v, i) => (i % 5 === 2 ? ignore : v));
  const weight = (c: number): number => (o.weight ? w[c]! : 1);
  const at = (row: number, c: number): number => (Math.floor(row / inner) * n + c) * inner + (row % inner);
  const classes = Array.from({ length: n }, (_, c) => c);
  const lse: number[] = [],
    loss: number[] = [],
    counts: number[] = [],
    grad = new Array<number>(rows * n).fill(0);
  for (let r = 0; r < rows; r++) {
    const total = Math.log(classes.reduce((s, c) => s + Math.exp(x[at(r, c)]!), 0));
    const c = target[r]!;
    lse.push(total);
    counts.push(c === ignore ? 0 : weight(c));
    const e = o.smooth ? smooth : 0;
    loss.push(
      c === ignore
        ? 0
        : (1 - e) * weight(c) * (total - x[at(r, c)]!) +
            (e / n) * classes.reduce((s, k) => s + weight(k) * (total - x[at(r, k)]!), 0),
    );
    if (c !== ignore) {
      const all = classes.reduce((s, k) => s + weight(k), 0);
      for (const k of classes) {
        const q = Math.exp(x[at(r, k)]! - total);
        grad[at(r, k)] = g[r]! * ((1 - e) * weight(c) * (q - (k === c ? 1 : 0)) + (e / n) * (q * all - weight(k)));
      }
    }
  }
  const f32 = (count: number) => ({ dtype: "float32" as const, zeros: count });
  const words = { rows, n, inner, ignore, smoothing: smooth, gs: 1 };
  const weights = o.weight ? { w: t("float32", w) } : {};
  const forward = await runOne(crossEntropy({ dtype: "float32", lanes, ...by, ...o }), words, {
    x: t("float32", x),
    labels: t("int64", target),
    ...weights,
    loss: f32(rows),
    lse: f32(rows),
    counts: f32(rows),
    status: t("int32", [0, 0, 0, 0]),
  });
  close(forward["loss"]!, loss, 1e-5, 1e-5);
  close(forward["lse"]!, lse, 1e-6, 1e-6);
  close(forward["counts"]!, counts, 1e-7, 0);
  expect(forward["status"]).toEqual([0, 0, 0, 0]);
  const back = await runOne(crossEntropy({ dtype: "float32", lanes, backward: true, ...by, ...o }), words, {
    x: t("float32", x),
    labels: t("int64", target),
    ...weights,
    lse: t("float32", lse),
    g: t("float32", g),
    y: f32(rows * n),
  });
  close(back["y"]!, grad, 1e-5, 2e-6);
});

test("nll_loss of logarithms", async () => {
  const f32 = { dtype: "float32" as const, zeros: 3 };
  const labels = t("int64", [2, -100, 0]),
    w = t("float32", [1, 2, 3]),
    words = { rows: 3, n: 3, inner: 1, ignore: -100, gs: 0 };
  const r = await runOne(crossEntropy({ dtype: "float32", lanes: 1, nll: true, weight: true }), words, {
    x: t("float32", [-1, -2, -3, -4, -5, -6, -7, -8, -9]),
    labels,
    w,
    loss: f32,
    counts: f32,
    status: t("int32", [0, 0, 0, 0]),
  });
  expect(r["loss"]).toEqual([9, 0, 7]);
  expect(r["counts"]).toEqual([3, 0, 1]);
  const back = await runOne(
    crossEntropy({ dtype: "float32", lanes: 2, nll: true, weight: true, backward: true }),
    words,
    { labels, w, g: t("float32", [0.5]), y: { dtype: "float32", zeros: 9 } },
  );
  expect(back["y"]!.map((v) => v + 0)).toEqual([0, 0, -1.5, 0, 0, 0, -0.5, 0, 0]);
});

test("targets out of range are told", async () => {
  const f32 = { dtype: "float32" as const, zeros: 2 };
  const r = await runOne(
    crossEntropy({ dtype: "float32", lanes: 1 }),
    { rows: 2, n: 3, inner: 1, ignore: -100 },
    {
      x: t("float32", [1, 2, 3, 1, 2, 3]),
      labels: t("int64", [1, 3]),
      loss: f32,
      lse: f32,
      counts: f32,
      status: t("int32", [0, 0, 0, 0]),
    },
  );
  expect(r["status"]).toEqual([1, 3, 0, 3]);
  expect(r["loss"]![1]).toBe(0);
});
