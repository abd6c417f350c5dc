import { expect } from "vitest";
import { upsample, type UpsampleParams } from "../../../src/kernels/image/upsample";
import { close, random, runOne, t, test } from "../../../test_support/run_kernel";

/** Weights of every input for every output along one dim, after PyTorch's formulas. */
function matrix(
  mode: UpsampleParams["mode"],
  align: boolean,
  n: number,
  m: number,
): { rows: number[][]; scale: number } {
  const between = m > 1 ? (n - 1) / (m - 1) : 0; // corners on corners
  const scale = Math.fround(mode.startsWith("nearest") || !align ? n / m : between);
  const clamp = (i: number): number => Math.min(Math.max(i, 0), n - 1);
  const rows = Array.from({ length: m }, (_, o) => {
    const row = new Array<number>(n).fill(0);
    if (mode.startsWith("nearest"))
      row[Math.min(Math.floor(Math.fround((mode === "nearest" ? o : o + 0.5) * scale)), n - 1)] = 1;
    else {
      let s = align ? o * scale : (o + 0.5) * scale - 0.5;
      if (mode === "linear") {
        s = Math.max(s, 0);
        const i = Math.min(Math.floor(s), n - 1),
          f = s - i;
        row[i]! += 1 - f;
        row[clamp(i + 1)]! += f;
      } else {
        const i = Math.floor(s),
          f = s - i,
          A = -0.75;
        const near = (d: number): number => ((A + 2) * d - (A + 3)) * d * d + 1;
        const far = (d: number): number => ((A * d - 5 * A) * d + 8 * A) * d - 4 * A;
        [far(f + 1), near(f), near(1 - f), far(2 - f)].forEach((w, j) => (row[clamp(i - 1 + j)]! += w));
      }
    }
    return row;
  });
  return { rows, scale };
}

const CASES: [UpsampleParams["mode"], boolean, number[], number[]][] = [
  ["nearest", false, [5], [13]],
  ["nearest", false, [4, 3], [8, 9]],
  ["nearest", false, [7, 5], [3, 4]],
  ["nearest-exact", false, [5, 4], [8, 3]],
  ["nearest", false, [2, 3, 2], [4, 5, 6]],
  ["linear", false, [5], [12]],
  ["linear", true, [5], [12]],
  ["linear", false, [4, 6], [9, 12]],
  ["linear", true, [4, 6], [9, 3]],
  ["linear", false, [9, 8], [4, 3]],
  ["linear", true, [3, 3], [1, 5]],
  ["linear", false, [2, 3, 4], [5, 3, 7]],
  ["cubic", false, [4, 5], [9, 11]],
  ["cubic", true, [4, 5], [9, 11]],
  ["cubic", false, [9, 8], [4, 3]],
  ["linear", false, [1, 1], [4, 4]],
];

test.each(CASES)("%s %s %j to %j", async (mode, align, from, to) => {
  const nd = from.length,
    planes = 3;
  const px = from.reduce((a, b) => a * b),
    py = to.reduce((a, b) => a * b);
  const dims = from.map((n, d) => matrix(mode, align, n, to[d]!));
  const weight = (o: number, i: number): number => {
    let w = 1;
    for (let d = nd - 1; d >= 0; d--) {
      w *= dims[d]!.rows[o % to[d]!]![i % from[d]!]!;
      o = Math.floor(o / to[d]!);
      i = Math.floor(i / from[d]!);
    }
    return w;
  };
  const x = random(planes * px),
    g = random(planes * py, -1, 1, 4);
  const y = new Array<number>(planes * py).fill(0),
    gx = new Array<number>(planes * px).fill(0);
  for (let q = 0; q < planes; q++)
    for (let o = 0; o < py; o++)
      for (let i = 0; i < px; i++) {
        const w = weight(o, i);
        y[q * py + o]! += w * x[q * px + i]!;
        gx[q * px + i]! += w * g[q * py + o]!;
      }
  const values = {
    planes,
    ...Object.fromEntries(
      from.flatMap((n, d) => [
        [`x${d}`, n],
        [`y${d}`, to[d]!],
        [`scale${d}`, dims[d]!.scale],
      ]),
    ),
  };
  const params = { mode, ndim: nd, dtype: "float32" as const, align };
  const forward = await runOne(upsample(params), values, {
    x: t("float32", x),
    y: { dtype: "float32", zeros: planes * py },
  });
  close(forward["y"]!, y, 1e-5, 2e-6);
  const back = await runOne(upsample({ ...params, backward: true }), values, {
    gy: t("float32", g),
    gx: { dtype: "float32", zeros: planes * px },
  });
  close(back["gx"]!, gx, 1e-5, 4e-6);
});

test("gradient from 7 elements to 1000", async () => {
  for (const mode of ["linear", "nearest"] as const) {
    const n = 1000,
      m = 7,
      { rows, scale } = matrix(mode, false, n, m),
      g = random(m);
    const back = await runOne(
      upsample({ mode, ndim: 1, dtype: "float32", backward: true }),
      { planes: 1, x0: n, y0: m, scale0: scale },
      { gy: t("float32", g), gx: { dtype: "float32", zeros: n } },
    );
    close(
      back["gx"]!,
      Array.from({ length: n }, (_, i) => rows.reduce((s, r, o) => s + r[i]! * g[o]!, 0)),
      2e-4,
      2e-5,
    );
  }
});

test("modes and dtypes without a kernel are refused", () => {
  expect(() => upsample({ mode: "cubic", ndim: 1, dtype: "float32" })).toThrow(/cubic/);
  expect(() => upsample({ mode: "linear", ndim: 1, dtype: "int32" })).toThrow(/int32/);
});
