import { expect } from "vitest";
import { planSort, type SortParams } from "../../../src/kernels/rows/sort";
import type { DType } from "../../../src/kernels/spec";
import { type Num, random, randomInts, runSteps, encode, t, test, runTensors } from "../../../test_support/run_kernel";

async function run(
  { descending, ...params }: SortParams & { descending?: boolean },
  x: readonly Num[],
  rows: number,
  k?: number,
): Promise<[number[], number[]]> {
  const n = x.length / rows,
    keep = k ?? n;
  const steps = planSort(params, { rows, n, k: keep, xo: 0, yo: 0, idxo: 0, flip: descending ? 0xffffffff : 0 });
  const spare = { dtype: "int64" as DType, zeros: x.length };
  const out = await runTensors(steps, {
    x: t(params.dtype, x),
    y: { dtype: params.dtype, zeros: rows * keep },
    idx: { dtype: params.indices ?? "int64", zeros: rows * keep },
    ka: spare,
    kb: spare,
    pa: spare,
    pb: spare,
  });
  return [out["y"]!, out["idx"]!];
}

const above = (a: number): number => (Number.isNaN(a) ? Infinity : Math.min(a, Number.MAX_VALUE));
function reference(x: readonly number[], rows: number, descending = false, k?: number): [number[], number[]] {
  const n = x.length / rows,
    values: number[] = [],
    places: number[] = [];
  for (let r = 0; r < rows; r++) {
    const row = x.slice(r * n, (r + 1) * n);
    const order = row
      .map((_, i) => i)
      .sort((a, b) => (descending ? above(row[b]!) - above(row[a]!) : above(row[a]!) - above(row[b]!)) || a - b)
      .slice(0, k ?? n);
    values.push(...order.map((i) => row[i]!));
    places.push(...order);
  }
  return [values, places];
}

test("rows of all lengths, both directions, ties in order", async () => {
  for (const [rows, n] of [
    [1, 1],
    [3, 2],
    [1000, 3],
    [7, 37],
    [5, 256],
    [3, 257],
    [2, 1500],
    [1, 5000],
    [40, 700],
  ] as const) {
    const x = randomInts(rows * n, -n / 3, n / 3, n);
    for (const descending of [false, true]) {
      expect(await run({ dtype: "float32", descending }, x, rows)).toEqual(reference(x, rows, descending));
    }
  }
});

test("a long row", async () => {
  const n = 300000;
  const x = random(n, -1e6, 1e6, 5);
  const [y, idx] = await run({ dtype: "float32" }, x, 1);
  const order = Uint32Array.from(x, (_, i) => i).sort((a, b) => x[a]! - x[b]! || a - b);
  expect(idx.every((v, i) => v === order[i])).toBe(true);
  expect(y.every((v, i) => v === x[order[i]!])).toBe(true);
});

test("NaN is above all, zeros are equal", async () => {
  const x = [1, NaN, -0, 0, Infinity, -Infinity, NaN, -0, 1e-40, -1e-40].map(Math.fround);
  for (const descending of [false, true])
    expect((await run({ dtype: "float32", descending }, x, 1))[1]).toEqual(
      reference(
        x.map((v) => v + 0),
        1,
        descending,
      )[1],
    );
  const [y] = await run({ dtype: "float16" }, [2, NaN, -1, 65504, -Infinity], 1);
  expect(y).toEqual([-Infinity, -1, 2, 65504, NaN]);
});

test("integers, int64 exactly", async () => {
  for (const dtype of ["int32", "int16", "int8", "uint8", "bool"] as const) {
    const wide = [-30000, 30000] as const;
    const [lo, hi] = ({ bool: [0, 2], uint8: [0, 256], int8: [-128, 128], int16: wide, int32: wide } as const)[dtype];
    const x = randomInts(3 * 600, lo, hi, 3);
    expect(await run({ dtype, descending: dtype === "bool", indices: "int32" }, x, 3)).toEqual(
      reference(x, 3, dtype === "bool"),
    );
  }
  const big = [
    5n,
    -5n,
    2n ** 62n,
    2n ** 62n + 1n,
    -(2n ** 63n),
    2n ** 63n - 1n,
    2n ** 53n + 1n,
    2n ** 53n,
    0n,
    -1n,
    1n,
    2n ** 32n,
    -(2n ** 32n),
  ];
  const out = await runSteps(
    planSort({ dtype: "int64" }, { rows: 1, n: big.length, k: big.length, xo: 0, yo: 0, idxo: 0, flip: 0 }),
    { x: encode("int64", big), y: encode("int64", big), idx: encode("int64", big) },
  );
  expect([...new BigInt64Array(out["y"]!.buffer, 0, big.length)]).toEqual([...big].sort((a, b) => (a < b ? -1 : 1)));
  const many = randomInts(1300, -1e6, 1e6, 8).map((v) => BigInt(v % 97) * 2n ** 40n + BigInt(v % 5));
  const got = await run({ dtype: "int64", descending: true }, many, 1);
  const order = many.map((_, i) => i).sort((a, b) => Number(many[b]! - many[a]!) || a - b);
  expect(got[1]).toEqual(order);
});

test("the beginning only", async () => {
  for (const n of [100, 2000]) {
    const x = randomInts(4 * n, -50, 50, 2);
    expect(await run({ dtype: "float32", descending: true }, x, 4, 7)).toEqual(reference(x, 4, true, 7));
  }
});
