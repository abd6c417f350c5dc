import { expect } from "vitest";
import { gather, join, pad, type PadMode, scatter, type ScatterMode } from "../../../src/kernels/index/index_ops";
import type { DType } from "../../../src/kernels/spec";
import { close, random, randomInts, runOne, t, test } from "../../../test_support/run_kernel";

const place = (tag: string, stride: number[], offset = 0): Record<string, number> => ({
  [`${tag}o`]: offset,
  ...Object.fromEntries(stride.map((s, d) => [`${tag}s${d}`, s])),
});
const status = t("int32", [0, 0, 0, 0]);

test.each(["float32", "int64", "float16", "bool", "int16"] as DType[])("gather along dim 1, %s", async (dtype) => {
  const x = randomInts(3 * 7, 0, 2, 2),
    idx = randomInts(3 * 5, 0, 7, 3);
  const r = await runOne(
    gather({ ndim: 2, dtype, indices: ["int64"] }),
    { n: 15, size0: 3, size1: 5, ...place("a", [7, 0]), ...place("i0", [5, 1]), step0: 1, extent0: 7, qo: 0 },
    { src: t(dtype, x), idx: t("int64", idx), dst: { dtype, zeros: 15 }, status },
  );
  expect(r["dst"]).toEqual(idx.map((k, i) => x[Math.floor(i / 5) * 7 + k]!));
  expect(r["status"]).toEqual([0, 0, 0, 0]);
});

test("embedding rows, int32 and negative indices, two indices", async () => {
  const w = random(10 * 4),
    idx = [3, 0, 9, 3];
  const rows = await runOne(
    gather({ ndim: 2, dtype: "float32", indices: ["int32"] }),
    { n: 16, size0: 4, size1: 4, ...place("a", [0, 1]), ...place("i0", [1, 0]), step0: 4, extent0: 10, qo: 0 },
    { src: t("float32", w), idx: t("int32", idx), dst: { dtype: "float32", zeros: 16 }, status },
  );
  expect(rows["dst"]).toEqual(idx.flatMap((k) => w.slice(4 * k, 4 * k + 4)));
  const i = [-1, 2, -10],
    j = [0, -1, 3];
  const both = await runOne(
    gather({ ndim: 1, dtype: "float32", indices: ["int64", "int64"], wrap: true }),
    {
      n: 3,
      size0: 3,
      ...place("a", [0]),
      ...place("i0", [1]),
      step0: 4,
      extent0: 10,
      ...place("i1", [1]),
      step1: 1,
      extent1: 4,
      qo: 0,
    },
    { src: t("float32", w), i: t("int64", i), j: t("int64", j), dst: { dtype: "float32", zeros: 3 }, status },
  );
  expect(both["dst"]).toEqual([w[36], w[2 * 4 + 3], w[3]]);
});

test("an index out of range is reported and not followed", async () => {
  for (const bad of [7, -1, 2 ** 40]) {
    const r = await runOne(
      gather({ ndim: 1, dtype: "float32", indices: ["int64"] }),
      { n: 2, size0: 2, ...place("a", [0]), ...place("i0", [1]), step0: 1, extent0: 7, qo: 0 },
      { src: t("float32", random(7)), idx: t("int64", [1, bad]), dst: { dtype: "float32", zeros: 2 }, status },
    );
    expect(r["dst"]![1]).toBe(0);
    expect(r["status"]).toEqual([1, Number(BigInt.asIntN(32, BigInt(bad))), Math.floor(bad / 2 ** 32), 7]);
  }
});

test("several dispatches share a status: the first to fail keeps it, with the number of its index", async () => {
  const words = (check: number): Record<string, number> => ({
    n: 2,
    size0: 2,
    ...place("a", [0]),
    ...place("i0", [1]),
    step0: 4,
    extent0: 9,
    ...place("i1", [1]),
    step1: 1,
    extent1: 4,
    qo: 0,
    check,
  });
  const run = (j: number[], check: number, before: number[]): Promise<Record<string, number[]>> =>
    runOne(gather({ ndim: 1, dtype: "float32", indices: ["int64", "uint8"] }), words(check), {
      src: t("float32", random(36)),
      i: t("int64", [0, 8]),
      j: t("uint8", j),
      dst: { dtype: "float32", zeros: 2 },
      status: t("int32", before),
    });
  expect((await run([3, 4], 24, [0, 0, 0, 0]))["status"]).toEqual([25, 4, 0, 4]);
  expect((await run([3, 4], 24, [8, 1, 2, 3]))["status"]).toEqual([8, 1, 2, 3]);
});

test.each(["int32", "int64", "int16", "uint8"] as DType[])("join along dim 1, %s", async (dtype) => {
  const a = randomInts(2 * 3, 0, 99, 2),
    b = randomInts(2, 0, 99, 3),
    c = randomInts(2 * 2, 0, 99, 4);
  const r = await runOne(
    join({ ndim: 2, dim: 1, dtype, parts: 3 }),
    {
      n: 12,
      size0: 2,
      size1: 6,
      ...place("x0", [3, 1]),
      end0: 3,
      ...place("x1", [1, 1], -3),
      end1: 4,
      ...place("x2", [1, 2], -8),
      end2: 6,
      ...place("y", [7, 1], 1),
    },
    { a: t(dtype, a), b: t(dtype, b), c: t(dtype, c), y: t(dtype, new Array<number>(15).fill(0)) },
  );
  expect(r["y"]).toEqual([0, a[0], a[1], a[2], b[0], c[0], c[2], 0, a[3], a[4], a[5], b[1], c[1], c[3], 0]);
});

const MODES: [ScatterMode, (a: number, b: number) => number][] = [
  ["add", (a, b) => a + b],
  ["prod", (a, b) => a * b],
  ["amax", Math.max],
  ["amin", Math.min],
];
test.each(MODES)("scatter %s with many writes to one place", async (mode, f) => {
  for (const dtype of ["float32", "int32", "int64", "float16", "int8"] as DType[]) {
    if (dtype === "int64" && mode !== "add") {
      expect(() => scatter({ ndim: 1, dtype, indices: ["int64"], mode })).toThrow(/int64/);
      continue;
    }
    const n = mode === "prod" ? 12 : 500,
      k = 9;
    let src = dtype === "int8" ? randomInts(n, -1, 2, 2) : randomInts(n, -8, 9, 2);
    if (mode === "prod") src = randomInts(n, 1, 3, 2);
    else if (dtype === "int64") src = randomInts(n, -(2 ** 20), 2 ** 20, 2).map((v) => v * 2 ** 20);
    const idx = randomInts(n, 0, k, 3),
      dst = randomInts(k, 1, 4, 4);
    const want = [...dst];
    idx.forEach((at, i) => {
      want[at] = f(want[at]!, src[i]!);
    });
    const r = await runOne(
      scatter({ ndim: 1, dtype, indices: ["int64"], mode }),
      { n, size0: n, ...place("q", [0]), ...place("a", [1]), ...place("i0", [1]), step0: 1, extent0: k },
      { src: t(dtype, src), idx: t("int64", idx), dst: t(dtype, dst), status },
    );
    expect(r["dst"], dtype).toEqual(want.map((v) => (dtype === "int8" ? (v << 24) >> 24 : v)));
  }
});

test("embedding gradient skips the padding row; scatter of a number", async () => {
  const g = random(5 * 3),
    idx = [1, 2, 1, 0, 2],
    want = new Array<number>(12).fill(0);
  idx.forEach((k, i) => {
    if (k !== 2) for (let d = 0; d < 3; d++) want[k * 3 + d]! += g[i * 3 + d]!;
  });
  const r = await runOne(
    scatter({ ndim: 2, dtype: "float32", indices: ["int64"], mode: "add", skip: true }),
    {
      n: 15,
      size0: 5,
      size1: 3,
      ...place("q", [0, 1]),
      ...place("a", [3, 1]),
      ...place("i0", [1, 0]),
      step0: 3,
      extent0: 4,
      skip: 2,
    },
    { src: t("float32", g), idx: t("int64", idx), dst: t("float32", new Array<number>(12).fill(0)), status },
  );
  close(r["dst"]!, want, 1e-6);
  const s = await runOne(
    scatter({ ndim: 1, dtype: "int64", indices: ["int32"], mode: "set", scalar: true }),
    { n: 2, size0: 2, ...place("q", [0]), ...place("i0", [1]), step0: 1, extent0: 4, c0: 5, c0h: 1 },
    { idx: t("int32", [3, 1]), dst: t("int64", [1, 2, 3, 4]), status },
  );
  expect(s["dst"]).toEqual([1, 2 ** 32 + 5, 3, 2 ** 32 + 5]);
});

test.each(["reflect", "replicate", "circular"] as PadMode[])("pad %s and its gradient", async (mode) => {
  const [h, w, top, left, H, W] = [4, 5, 2, 3, 7, 10] as const;
  const at = (i: number, n: number): number => {
    if (mode === "replicate") return Math.min(Math.max(i, 0), n - 1);
    if (mode === "circular") return (i + n) % n;
    if (i < 0) return -i;
    return i >= n ? 2 * (n - 1) - i : i;
  };
  const from = Array.from({ length: H * W }, (_, k) => at(Math.floor(k / W) - top, h) * w + at((k % W) - left, w));
  const values = { n: H * W, size0: H, size1: W, in0: h, in1: w, pad0: top, pad1: left };
  const x = random(h * w),
    g = random(H * W, -1, 1, 2),
    gx = new Array<number>(h * w).fill(0);
  from.forEach((k, i) => {
    gx[k]! += g[i]!;
  });
  expect(
    (
      await runOne(pad({ ndim: 2, dtype: "float32", mode }), values, {
        x: t("float32", x),
        y: { dtype: "float32", zeros: H * W },
      })
    )["y"],
  ).toEqual(from.map((k) => x[k]!));
  close(
    (
      await runOne(pad({ ndim: 2, dtype: "float32", mode, backward: true }), values, {
        gy: t("float32", g),
        gx: { dtype: "float32", zeros: gx.length },
      })
    )["gx"]!,
    gx,
    1e-6,
    1e-6,
  );
});
