import { expect } from "vitest";
import { search, type SearchParams } from "../../../src/kernels/index/search";
import { type Num, runTensors, t, test } from "../../../test_support/run_kernel";

async function run(params: Partial<SearchParams>, x: readonly Num[], v: readonly Num[], rows = 1): Promise<number[]> {
  const full: SearchParams = { dtype: "float32", values: "float32", compute: "float32", out: "int64", ...params };
  const m = x.length / rows;
  const values = { n: v.length, each: v.length / rows, m, step: rows > 1 ? m : 0, xo: 0, vo: 0, yo: 0 };
  const out = await runTensors([{ kernel: search(full), values, buffers: ["x", "v", "y"] }], {
    x: t(full.dtype, x),
    v: t(full.values, v),
    y: { dtype: full.out, zeros: v.length },
  });
  return out["y"]!;
}

test("places before and after equal elements; NaN as in PyTorch", async () => {
  const x = [1, 3, 3, 5],
    v = [0, 1, 3, 4, 5, 6, NaN, Infinity];
  expect(await run({}, x, v)).toEqual([0, 0, 1, 3, 3, 4, 4, 4]);
  expect(await run({ right: true }, x, v)).toEqual([0, 1, 3, 3, 4, 4, 4, 4]);
  expect(await run({}, [...x, NaN], v)).toEqual([0, 0, 1, 5, 5, 5, 5, 5]);
});

test("rows, dtypes, no elements", async () => {
  expect(
    await run(
      { dtype: "int64", values: "int32", compute: "int64", out: "int32" },
      [1, 2, 3, 10, 20, 30],
      [2, 9, 10, 31],
      2,
    ),
  ).toEqual([1, 3, 0, 3]);
  expect(await run({ dtype: "float16", values: "int32" }, [0.5, 1.5], [0, 1, 2])).toEqual([0, 1, 2]);
  expect(
    await run(
      { dtype: "int64", values: "int64", compute: "int64", right: true },
      [2 ** 40, 2 ** 41],
      [2 ** 40, 2 ** 40 - 1, -1],
    ),
  ).toEqual([1, 0, 0]);
  expect(await run({}, [], [1, 2])).toEqual([0, 0]);
});
