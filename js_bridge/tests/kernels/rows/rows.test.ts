import { inRegisters, type RowLanes } from "../../../src/kernels/rows/row";
import { layerNorm } from "../../../src/kernels/rows/norm";
import { softmax } from "../../../src/kernels/rows/softmax";
import type { DType } from "../../../src/kernels/spec";
import { close, fromHalf, joins, random, runOne, t, test, toHalf } from "../../../test_support/run_kernel";

const softmaxOf = (x: number[], log: boolean): number[] => {
  const m = x.some(Number.isNaN) ? NaN : Math.max(...x),
    s = x.reduce((a, v) => a + Math.exp(v - m), 0);
  return x.map((v) => (log ? v - m - Math.log(s) : Math.exp(v - m) / s));
};
/** Applies f to every row of [outer, n, inner]. */
function rows(data: readonly number[], [outer, n, inner]: number[], f: (x: number[]) => number[]): number[] {
  const out = new Array<number>(data.length);
  for (let o = 0; o < outer!; o++)
    for (let i = 0; i < inner!; i++) {
      const at = (r: number): number => (o * n! + r) * inner! + i;
      f(Array.from({ length: n! }, (_, r) => data[at(r)]!)).forEach((v, r) => {
        out[at(r)] = v;
      });
    }
  return out;
}

type Way = Omit<RowLanes, "lanes">;
/**
 * Kernels with several ways to join lanes; those with subgroups have 32 lanes at the least. Rows of c[1] elements that
 * fit in registers are held there too.
 */
const ways = <C extends readonly number[]>(cases: readonly C[], lanes: number): [...C, string, Way][] =>
  joins.flatMap(([name, by]) =>
    cases
      .filter((c) => !by.subgroups || c[lanes]! >= 32)
      .flatMap((c): [...C, string, Way][] => [
        [...c, name, by],
        ...(inRegisters(c[lanes]!, c[1]!).held
          ? [[...c, `${name}, held`, { ...by, ...inRegisters(c[lanes]!, c[1]!) }] as [...C, string, Way]]
          : []),
      ]),
  );

test.each(
  ways(
    [
      [4, 10, 1, 1],
      [3, 300, 1, 256],
      [2, 7, 5, 4],
      [1, 2000, 3, 64],
      [5, 1, 1, 1],
      [600, 33, 1, 8],
      [5, 90, 1, 32],
    ] as const,
    3,
  ),
)("softmax [%i, %i, %i] with %i lanes, %s", async (outer, n, inner, lanes, _, by) => {
  const size = outer * n * inner,
    x = random(size, -20, 20),
    g = random(size, -1, 1, 5);
  for (const log of [false, true])
    for (const dtype of ["float32", "float16"] as DType[]) {
      const h = dtype === "float16" ? x.map((v) => fromHalf(toHalf(v))) : x;
      const values = { rows: outer * inner, n, inner, xo: 0, yo: 0, go: 0 };
      const y = rows(h, [outer, n, inner], (r) => softmaxOf(r, log));
      const got = await runOne(softmax({ log, dtype, out: "float32", lanes, ...by }), values, {
        x: t(dtype, h),
        y: { dtype: "float32", zeros: size },
      });
      close(got["y"]!, y, 3e-6, 4e-7);
      if (dtype !== "float32") continue;
      const y32 = y.map(Math.fround);
      const back = await runOne(softmax({ log, backward: true, dtype, out: dtype, lanes, ...by }), values, {
        g: t(dtype, g),
        x: t(dtype, y32),
        y: { dtype, zeros: size },
      });
      const k = (o: number, i: number): number =>
        Array.from({ length: n }, (_, r) => (o * n + r) * inner + i).reduce((a, j) => a + g[j]! * (log ? 1 : y[j]!), 0);
      close(
        back["y"]!,
        g.map((v, j) => {
          const s = k(Math.floor(j / (n * inner)), j % inner);
          return log ? v - Math.exp(y[j]!) * s : y[j]! * (v - s);
        }),
        1e-5,
        2e-5,
      );
    }
});

test("softmax of infinities and NaN", async () => {
  const x = [-Infinity, 0, 1, -Infinity, -Infinity, -Infinity, Infinity, 1, 2, NaN, 1, 2, 1e38, -1e38, 0];
  for (const by of [
    { lanes: 1 },
    ...joins.flatMap(([, way]) => [way, { ...way, ...inRegisters(64, 3) }].map((w) => ({ lanes: 64, ...w }))),
  ])
    for (const log of [false, true]) {
      const got = await runOne(
        softmax({ log, dtype: "float32", out: "float32", ...by }),
        { rows: 5, n: 3, inner: 1, xo: 0, yo: 0 },
        { x: t("float32", x), y: { dtype: "float32", zeros: 15 } },
      );
      close(got["y"]!, rows(x, [5, 3, 1], (r) => softmaxOf(r, log)).map(Math.fround), 1e-6, 0);
    }
});

test.each(
  ways(
    [
      [6, 40, 4],
      [3, 1000, 256],
      [17, 5, 1],
      [7, 100, 64],
    ] as const,
    2,
  ),
)("layer_norm %i rows of %i, %i lanes, %s", async (m, n, lanes, _, by) => {
  const eps = 1e-5;
  for (const rms of [false, true]) {
    const x = random(m * n, -2, 3),
      w = random(n, 0.5, 2, 2),
      b = random(n, -1, 1, 3),
      g = random(m * n, -1, 1, 4);
    const mean: number[] = [],
      rstd: number[] = [],
      y: number[] = [],
      gx: number[] = [];
    const gw = new Array<number>(n).fill(0),
      gb = new Array<number>(n).fill(0);
    for (let i = 0; i < m; i++) {
      const r = x.slice(i * n, i * n + n),
        mu = rms ? 0 : r.reduce((a, v) => a + v, 0) / n;
      const rs = 1 / Math.sqrt(r.reduce((a, v) => a + (v - mu) ** 2, 0) / n + eps);
      mean.push(mu);
      rstd.push(rs);
      const xh = r.map((v) => (v - mu) * rs),
        gg = r.map((_, j) => g[i * n + j]! * w[j]!);
      const s1 = rms ? 0 : gg.reduce((a, v) => a + v, 0) / n,
        s2 = gg.reduce((a, v, j) => a + v * xh[j]!, 0) / n;
      xh.forEach((v, j) => {
        y.push(v * w[j]! + (rms ? 0 : b[j]!));
        gx.push(rs * (gg[j]! - s1 - v * s2));
        gw[j]! += g[i * n + j]! * v;
        gb[j]! += g[i * n + j]!;
      });
    }
    const z = (k: number): { dtype: DType; zeros: number } => ({ dtype: "float32", zeros: k });
    const f = await runOne(
      layerNorm({ dtype: "float32", rms, weight: true, bias: !rms, lanes, ...by }),
      { rows: m, n, xo: 0, yo: 0, eps },
      {
        x: t("float32", x),
        w: t("float32", w),
        ...(!rms && { b: t("float32", b) }),
        y: z(m * n),
        ...(!rms && { mean: z(m) }),
        rstd: z(m),
      },
    );
    close(f["y"]!, y, 1e-5, 3e-6);
    close(f["rstd"]!, rstd, 1e-6, 0);
    const back = await runOne(
      layerNorm({ dtype: "float32", rms, weight: true, backward: true, lanes, ...by }),
      { rows: m, n, xo: 0, yo: 0, go: 0 },
      {
        g: t("float32", g),
        x: t("float32", x),
        w: t("float32", w),
        ...(!rms && { mean: t("float32", mean) }),
        rstd: t("float32", rstd),
        gx: z(m * n),
      },
    );
    close(back["gx"]!, gx, 1e-5, 3e-6);
  }
});
