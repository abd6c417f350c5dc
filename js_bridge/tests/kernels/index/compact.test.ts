import { expect } from "vitest";
import { compact, PIECE, planCount } from "../../../src/kernels/index/compact";
import { randomInts, runTensors, t, test } from "../../../test_support/run_kernel";

test("nonzero, masked_select and masked_scatter", async () => {
  for (const [n, most] of [
    [1, 2],
    [31, 2],
    [33, 1],
    [100, 3],
    [5000, 2],
    [300000, 4],
  ] as const) {
    const x = randomInts(n, 0, most, n);
    const data = randomInts(n, -100, 100, 3);
    const where = x.map((v, i) => (v ? i : -1)).filter((i) => i >= 0);
    const pieces = Math.ceil(n / PIECE);
    const spare = { dtype: "int32" as const, zeros: pieces };
    const count = await runTensors(planCount({ op: "count", dtype: "uint8" }, { n, xo: 0 }), {
      x: t("uint8", x),
      ends: spare,
      counts: spare,
      part: spare,
      sums: spare,
    });
    const ends = count["ends"]!;
    expect(ends[pieces - 1]).toBe(where.length);
    const width = 7;
    const index = await runTensors(
      [
        {
          kernel: compact({ op: "index", dtype: "uint8", ndim: 2 }),
          values: { n, xo: 0, size0: Math.ceil(n / width), size1: width },
          buffers: ["x", "ends", "out"],
        },
      ],
      { x: t("uint8", x), ends: t("int32", ends), out: { dtype: "int64", zeros: 2 * where.length + 2 } },
    );
    expect(index["out"]!.slice(0, 2 * where.length)).toEqual(where.flatMap((i) => [Math.floor(i / width), i % width]));
    expect(index["out"]![2 * where.length]).toBe(-1);
    for (const dtype of ["float32", "int8"] as const) {
      const picked = await runTensors(
        [
          {
            kernel: compact({ op: "select", dtype: "uint8", data: dtype }),
            values: { n },
            buffers: ["x", "ends", "src", "out"],
          },
        ],
        { x: t("uint8", x), ends: t("int32", ends), src: t(dtype, data), out: { dtype, zeros: where.length } },
      );
      expect(picked["out"]).toEqual(where.map((i) => data[i]));
      const put = await runTensors(
        [
          {
            kernel: compact({ op: "scatter", dtype: "uint8", data: dtype }),
            values: { n },
            buffers: ["x", "ends", "src", "out"],
          },
        ],
        {
          x: t("uint8", x),
          ends: t("int32", ends),
          src: t(dtype, data),
          out: t(
            dtype,
            data.map(() => 5),
          ),
        },
      );
      let next = 0;
      expect(put["out"]).toEqual(x.map((v) => (v ? data[next++] : 5)));
    }
  }
});

test("floats and int64 count as PyTorch's nonzero does", async () => {
  const spare = { dtype: "int32" as const, zeros: 1 };
  for (const [dtype, x, want] of [
    ["float32", [0, -0, NaN, 1e-40, -3, Infinity].map(Math.fround), 4],
    ["int64", [0n, 2n ** 32n, -1n, 0n], 2],
    ["bool", [0, 1, 1], 2],
  ] as const) {
    const out = await runTensors(planCount({ op: "count", dtype }, { n: x.length, xo: 0 }), {
      x: t(dtype, x),
      ends: spare,
      counts: spare,
      part: spare,
      sums: spare,
    });
    expect([dtype, out["ends"]]).toEqual([dtype, [want]]);
  }
});
