import { pool, type PoolParams } from "../../../src/kernels/image/pool";
import type { DType } from "../../../src/kernels/spec";
import { close, random, randomInts, runOne, t, test } from "../../../test_support/run_kernel";

interface Case {
  planes: number;
  size: number[];
  kernel: number[];
  stride: number[];
  padding: number[];
  dilation?: number[];
  ceil?: boolean;
  countPadding?: boolean;
}
const CASES: Case[] = [
  { planes: 3, size: [9, 8], kernel: [2, 2], stride: [2, 2], padding: [0, 0] },
  { planes: 2, size: [9, 8], kernel: [3, 3], stride: [2, 1], padding: [1, 1] },
  { planes: 2, size: [10], kernel: [4], stride: [3], padding: [2], countPadding: false },
  { planes: 2, size: [7, 7], kernel: [3, 2], stride: [3, 2], padding: [1, 1], ceil: true },
  { planes: 1, size: [5, 6, 7], kernel: [2, 3, 2], stride: [2, 2, 2], padding: [1, 0, 1] },
  { planes: 2, size: [11, 11], kernel: [3, 3], stride: [1, 2], padding: [1, 1], dilation: [2, 1] },
];
const unravel = (i: number, s: number[]): number[] => {
  const r: number[] = [];
  for (let d = s.length - 1; d >= 0; d--) {
    r[d] = i % s[d]!;
    i = Math.floor(i / s[d]!);
  }
  return r;
};
const prod = (x: number[]): number => x.reduce((a, b) => a * b, 1);
const images = (x: number[], y: number[]): Record<string, number> =>
  Object.fromEntries(
    x.flatMap((s, d) => [
      [`x${d}`, s],
      [`y${d}`, y[d]!],
    ]),
  );

/** The input positions under each output position. */
function windows(xs: number[], ys: number[], at: (o: number[]) => [number[], number[], number[]]): number[][] {
  return Array.from({ length: prod(ys) }, (_, o) => {
    const [start, count, step] = at(unravel(o, ys));
    return Array.from({ length: prod(count) }, (_, w) => unravel(w, count).map((v, d) => start[d]! + v * step[d]!))
      .filter((p) => p.every((v, d) => v >= 0 && v < xs[d]!))
      .map((p) => p.reduce((a, v, d) => a * xs[d]! + v, 0));
  });
}

test.each(CASES)("$size $kernel", async (c) => {
  const nd = c.size.length,
    dil = c.dilation ?? c.size.map(() => 1);
  const ys = c.size.map((s, d) => {
    const span = s + 2 * c.padding[d]! - dil[d]! * (c.kernel[d]! - 1) - 1;
    let n = (c.ceil ? Math.ceil(span / c.stride[d]!) : Math.floor(span / c.stride[d]!)) + 1;
    if (c.ceil && (n - 1) * c.stride[d]! >= s + c.padding[d]!) n--;
    return n;
  });
  const px = prod(c.size),
    py = prod(ys),
    nx = c.planes * px,
    ny = c.planes * py;
  const wins = windows(c.size, ys, (o) => [o.map((v, d) => v * c.stride[d]! - c.padding[d]!), c.kernel, dil]);
  const x = randomInts(nx, -5, 6, 3).map((v) => v / 2),
    g = random(ny, -1, 1, 4);
  x[2] = x[3] = NaN;
  const values = { planes: c.planes, ...images(c.size, ys) };
  const window = { kernel: c.kernel, stride: c.stride, padding: c.padding, dilation: dil };
  const f32 = (n: number): { dtype: DType; zeros: number } => ({ dtype: "float32", zeros: n });
  const best = Array.from({ length: ny }, (_, i) => {
    const base = Math.floor(i / py) * px,
      w = wins[i % py]!;
    return w.reduce((a, k) => {
      const [old, now] = [x[base + a]!, x[base + k]!];
      return Number.isNaN(now) || now > old ? k : a; // a comparison with NaN keeps the old one
    }, w[0]!);
  });
  const r = await runOne(pool({ ...window, op: "max", dtype: "float32" }), values, {
    x: t("float32", x),
    y: f32(ny),
    idx: { dtype: "int64", zeros: ny },
  });
  close(r["idx"]!, best, 0, 0);
  close(
    r["y"]!,
    best.map((k, i) => x[Math.floor(i / py) * px + k]!),
    0,
    0,
  );
  const alone = await runOne(pool({ ...window, op: "max", dtype: "float32", positions: false }), values, {
    x: t("float32", x),
    y: f32(ny),
  });
  close(alone["y"]!, r["y"]!, 0, 0);
  const gx = new Array<number>(nx).fill(0);
  best.forEach((k, i) => {
    gx[Math.floor(i / py) * px + k]! += g[i]!;
  });
  close(
    (
      await runOne(pool({ ...window, op: "max", dtype: "float32", backward: true }), values, {
        gy: t("float32", g),
        idx: t("int64", best),
        gx: f32(nx),
      })
    )["gx"]!,
    gx,
    1e-6,
    1e-6,
  );
  const taps = prod(c.kernel),
    col = random(c.planes * taps * py, -1, 1, 6),
    sums = new Array<number>(nx).fill(0),
    xs = random(nx, -1, 1, 8);
  const columns = Array.from({ length: c.planes * taps * py }, (_, i) => {
    const o = unravel(i % py, ys),
      w = unravel(Math.floor(i / py) % taps, c.kernel),
      plane = Math.floor(i / py / taps);
    const at = o.map((v, d) => v * c.stride[d]! - c.padding[d]! + w[d]! * dil[d]!);
    if (at.some((v, d) => v < 0 || v >= c.size[d]!)) return 0;
    const k = plane * px + at.reduce((a, v, d) => a * c.size[d]! + v, 0);
    sums[k]! += col[i]!;
    return xs[k]!;
  });
  const cols: PoolParams = { ...window, op: "columns", dtype: "float32" };
  close((await runOne(pool(cols), values, { x: t("float32", xs), y: f32(columns.length) }))["y"]!, columns, 0, 0);
  close(
    (await runOne(pool({ ...cols, backward: true }), values, { gy: t("float32", col), gx: f32(nx) }))["gx"]!,
    sums,
    1e-5,
    1e-5,
  );
  if (c.dilation) return;
  const xf = random(nx, -1, 1, 5);
  const count = (o: number): number => {
    const q = unravel(o, ys);
    return prod(
      q.map((v, d) => {
        const a = v * c.stride[d]! - c.padding[d]!,
          b = Math.min(a + c.kernel[d]!, c.size[d]! + c.padding[d]!);
        return c.countPadding === false ? Math.min(b, c.size[d]!) - Math.max(a, 0) : b - a;
      }),
    );
  };
  const avg: PoolParams = {
    ...window,
    op: "avg",
    dtype: "float32",
    ...(c.countPadding === false && { countPadding: false }),
  };
  const y = Array.from(
    { length: ny },
    (_, i) => wins[i % py]!.reduce((a, k) => a + xf[Math.floor(i / py) * px + k]!, 0) / count(i % py),
  );
  close((await runOne(pool(avg), values, { x: t("float32", xf), y: f32(ny) }))["y"]!, y, 1e-6, 1e-6);
  const ga = new Array<number>(nx).fill(0);
  g.forEach((v, i) =>
    wins[i % py]!.forEach((k) => {
      ga[Math.floor(i / py) * px + k]! += v / count(i % py);
    }),
  );
  close(
    (await runOne(pool({ ...avg, backward: true }), values, { gy: t("float32", g), gx: f32(nx) }))["gx"]!,
    ga,
    1e-6,
    1e-6,
  );
  const zero = new Array<number>(nd).fill(0),
    one = new Array<number>(nd).fill(1);
  const as = c.size.map((_, d) => 3 + d),
    ap = prod(as);
  const adaptive: PoolParams = {
    op: "adaptive",
    dtype: "float32",
    kernel: one,
    stride: one,
    padding: zero,
    dilation: one,
  };
  const first = (v: number, d: number): number => Math.floor((v * c.size[d]!) / as[d]!);
  const aw = windows(c.size, as, (o) => [
    o.map(first),
    o.map((v, d) => Math.ceil(((v + 1) * c.size[d]!) / as[d]!) - first(v, d)),
    one,
  ]);
  const av = { planes: c.planes, ...images(c.size, as) },
    ag = random(c.planes * ap, -1, 1, 7);
  close(
    (await runOne(pool(adaptive), av, { x: t("float32", xf), y: f32(c.planes * ap) }))["y"]!,
    Array.from(
      { length: c.planes * ap },
      (_, i) => aw[i % ap]!.reduce((a, k) => a + xf[Math.floor(i / ap) * px + k]!, 0) / aw[i % ap]!.length,
    ),
    1e-6,
    1e-6,
  );
  const ax = new Array<number>(nx).fill(0);
  ag.forEach((v, i) =>
    aw[i % ap]!.forEach((k) => {
      ax[Math.floor(i / ap) * px + k]! += v / aw[i % ap]!.length;
    }),
  );
  close(
    (await runOne(pool({ ...adaptive, backward: true }), av, { gy: t("float32", ag), gx: f32(nx) }))["gx"]!,
    ax,
    1e-6,
    1e-6,
  );
  const most = Array.from({ length: c.planes * ap }, (_, i) => {
    const base = Math.floor(i / ap) * px;
    return aw[i % ap]!.reduce((a, k) => (xf[base + k]! > xf[base + a]! ? k : a));
  });
  const am = await runOne(pool({ ...adaptive, op: "adaptive_max" }), av, {
    x: t("float32", xf),
    y: f32(c.planes * ap),
    idx: { dtype: "int64", zeros: c.planes * ap },
  });
  close(am["idx"]!, most, 0, 0);
  close(
    am["y"]!,
    most.map((k, i) => xf[Math.floor(i / ap) * px + k]!),
    0,
    0,
  );
  const mx = new Array<number>(nx).fill(0);
  most.forEach((k, i) => {
    mx[Math.floor(i / ap) * px + k]! += ag[i]!;
  });
  close(
    (
      await runOne(pool({ ...adaptive, op: "adaptive_max", backward: true }), av, {
        gy: t("float32", ag),
        idx: t("int64", most),
        gx: f32(nx),
      })
    )["gx"]!,
    mx,
    1e-6,
    1e-6,
  );
});
