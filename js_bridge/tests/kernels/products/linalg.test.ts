import { expect } from "vitest";
import { linalg } from "../../../src/kernels/products/linalg";
import { close, runTensors, t, test } from "../../../test_support/run_kernel";

const f = "float32" as const;

test("LU with exchanges, and a system solved by it", async () => {
  const a = [0, 2, 1, 1, 1, 1, 2, 0, 3],
    b = [5, 6, 11];
  const lu = await runTensors(
    [
      {
        kernel: linalg({ op: "lu" }),
        values: { batches: 1, m: 3, n: 3, pivot: 1, ao: 0, pivo: 0, infoo: 0 },
        buffers: ["a", "piv", "info"],
      },
    ],
    { a: t(f, a), piv: { dtype: "int32", zeros: 3 }, info: { dtype: "int32", zeros: 1 } },
  );
  expect(lu["piv"]).toEqual([3, 3, 3]);
  expect(lu["info"]).toEqual([0]);
  close(lu["a"]!, [2, 0, 3, 0, 2, 1, 0.5, 0.5, -1], 1e-6);
  const at = { batches: 1, n: 3, r: 1, ao: 0, xo: 0 };
  const x = await runTensors(
    [
      { kernel: linalg({ op: "swap" }), values: { batches: 1, n: 3, r: 1, pivo: 0, xo: 0 }, buffers: ["piv", "x"] },
      { kernel: linalg({ op: "trsm" }), values: { ...at, upper: 0, unit: 1 }, buffers: ["a", "x"] },
      { kernel: linalg({ op: "trsm" }), values: { ...at, upper: 1, unit: 0 }, buffers: ["a", "x"] },
    ],
    { a: t(f, lu["a"]!), piv: t("int32", lu["piv"]!), x: t(f, b) },
  );
  const solved = x["x"]!;
  close(
    [0, 1, 2].map((i) => [0, 1, 2].reduce((s, j) => s + a[3 * i + j]! * solved[j]!, 0)),
    b,
    1e-5,
  );
});

test("the first pivot and the first minor that fail", async () => {
  const lu = await runTensors(
    [
      {
        kernel: linalg({ op: "lu" }),
        values: { batches: 2, m: 2, n: 2, pivot: 1, ao: 0, pivo: 0, infoo: 0 },
        buffers: ["a", "piv", "info"],
      },
    ],
    { a: t(f, [1, 2, 2, 4, 1, 0, 0, 1]), piv: { dtype: "int32", zeros: 4 }, info: { dtype: "int32", zeros: 2 } },
  );
  expect(lu["info"]).toEqual([2, 0]);
  const r = await runTensors(
    [{ kernel: linalg({ op: "cholesky" }), values: { batches: 2, n: 2, ao: 0, infoo: 0 }, buffers: ["a", "info"] }],
    { a: t(f, [1, 2, 2, 1, 4, 0, 2, 5]), info: { dtype: "int32", zeros: 2 } },
  );
  expect(r["info"]).toEqual([2, 0]);
  close(r["a"]!.slice(4), [2, 0, 1, 2], 1e-6);
});

test("rotations make rows orthogonal", async () => {
  const a = [3, 1, 0, 1, 2, 1, 0, 1, 5, 2, 2, 2];
  const r = await runTensors(
    [{ kernel: linalg({ op: "jacobi" }), values: { batches: 1, r: 3, m: 4, ao: 0, vo: 0 }, buffers: ["a", "v"] }],
    { a: t(f, a), v: { dtype: f, zeros: 9 } },
  );
  const dot = (x: readonly number[], n: number, i: number, j: number): number =>
    Array.from({ length: n }, (_, k) => x[n * i + k]! * x[n * j + k]!).reduce((p, q) => p + q);
  for (const [i, j] of [
    [0, 1],
    [0, 2],
    [1, 2],
  ] as const)
    close([dot(r["a"]!, 4, i, j), dot(r["v"]!, 3, i, j)], [0, 0], 1e-4);
  close(
    [0, 1, 2].map((i) => dot(r["v"]!, 3, i, i)),
    [1, 1, 1],
    1e-5,
  );
  const back = [0, 1, 2].flatMap((i) =>
    [0, 1, 2, 3].map((k) => [0, 1, 2].reduce((s, j) => s + r["v"]![3 * i + j]! * a[4 * j + k]!, 0)),
  );
  close(r["a"]!, back, 1e-4);
});
