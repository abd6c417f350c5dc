import { expect } from "vitest";
import { planConv } from "../../../src/kernels/products/conv";
import type { EpilogueGraph } from "../../../src/kernels/elementwise/epilogue";
import { depthwise, inRows } from "../../../src/kernels/products/depthwise";
import type { DType, Step } from "../../../src/kernels/spec";
import { close, fromHalf, joins, random, runTensors, t, test, toHalf } from "../../../test_support/run_kernel";
import { product } from "../../../src/kernels/image/window";

interface Case {
  batch: number;
  groups: number;
  wide: number;
  narrow: number;
  size: number[];
  kernel: number[];
  stride: number[];
  padding: number[];
  dilation: number[];
  dtype?: DType;
}

const outSize = (c: Case): number[] =>
  c.size.map(
    (s, d) => Math.floor((s + 2 * c.padding[d]! - c.dilation[d]! * (c.kernel[d]! - 1) - 1) / c.stride[d]!) + 1,
  );

/** Calls f(narrow index, wide index, weight index) for every product in the convolution. */
function walk(c: Case, f: (y: number, x: number, w: number, oc: number) => void): void {
  const ys = outSize(c),
    nd = c.size.length,
    cx = c.wide / c.groups,
    cy = c.narrow / c.groups;
  const unravel = (i: number, s: number[]): number[] => {
    const r: number[] = [];
    for (let d = s.length - 1; d >= 0; d--) {
      r[d] = i % s[d]!;
      i = Math.floor(i / s[d]!);
    }
    return r;
  };
  const py = product(ys),
    px = product(c.size),
    taps = product(c.kernel);
  for (let b = 0; b < c.batch; b++)
    for (let oc = 0; oc < c.narrow; oc++)
      for (let o = 0; o < py; o++) {
        const oo = unravel(o, ys),
          g = Math.floor(oc / cy);
        for (let w = 0; w < taps; w++) {
          const ww = unravel(w, c.kernel);
          let at = 0,
            ok = true;
          for (let d = 0; d < nd; d++) {
            const i = oo[d]! * c.stride[d]! + ww[d]! * c.dilation[d]! - c.padding[d]!;
            ok &&= i >= 0 && i < c.size[d]!;
            at = at * c.size[d]! + i;
          }
          if (ok)
            for (let ic = 0; ic < cx; ic++)
              f((b * c.narrow + oc) * py + o, (b * c.wide + g * cx + ic) * px + at, (oc * cx + ic) * taps + w, oc);
        }
      }
}

async function check(c: Case, direct: boolean, rows = false): Promise<void> {
  const ys = outSize(c),
    dtype = c.dtype ?? "float32";
  const half = (x: number[]): number[] => (dtype === "float16" ? x.map((v) => fromHalf(toHalf(v))) : x);
  const nx = c.batch * c.wide * product(c.size),
    ny = c.batch * c.narrow * product(ys),
    nw = (c.narrow * c.wide * product(c.kernel)) / c.groups;
  const x = half(random(nx, -1, 1, 1)),
    w = half(random(nw, -1, 1, 2)),
    g = half(random(ny, -1, 1, 3)),
    bias = half(random(c.narrow, -1, 1, 4));
  const window = { kernel: c.kernel, stride: c.stride, padding: c.padding, dilation: c.dilation };
  const images = Object.fromEntries(
    c.size.flatMap((s, d) => [
      [`x${d}`, s],
      [`y${d}`, ys[d]!],
    ]),
  );
  const plan = (
    pass: "forward" | "input" | "weight",
    extra: { bias?: boolean; after?: EpilogueGraph; subgroups?: true } = {},
  ): Step[] => {
    if (!direct)
      return planConv({
        ...window,
        ...extra,
        pass,
        dtype,
        batch: c.batch,
        groups: c.groups,
        wide: c.wide,
        narrow: c.narrow,
        wideSize: c.size,
        narrowSize: ys,
        software: c.size[0] !== 11,
      });
    const kernel = depthwise({ ...window, ...extra, pass, dtype, ...(rows && inRows(window, pass) && { rows }) });
    return [
      {
        kernel,
        values: { batch: c.batch, channels: c.wide, mult: c.narrow / c.wide, ...images },
        buffers: kernel.bindings.map((b) => b.name),
      },
    ];
  };
  const y = new Array<number>(ny).fill(0),
    gx = new Array<number>(nx).fill(0),
    gw = new Array<number>(nw).fill(0);
  walk(c, (a, b, k) => {
    y[a]! += x[b]! * w[k]!;
    gx[b]! += g[a]! * w[k]!;
    gw[k]! += g[a]! * x[b]!;
  });
  const py = product(ys);
  const biased = y.map((v, i) => v + bias[Math.floor(i / py) % c.narrow]!);
  const buffers = {
    x: t(dtype, x),
    w: t(dtype, w),
    gy: t(dtype, g),
    bias: t(dtype, bias),
    y: { dtype, zeros: ny },
    gx: { dtype, zeros: nx },
    gw: { dtype, zeros: nw },
    part: { dtype: "float32" as DType, zeros: 64 * nw },
  };
  const tol = dtype === "float16" ? 2e-3 : 2e-6,
    atol = dtype === "float16" ? 4e-3 : 1e-5;
  close((await runTensors(plan("forward"), buffers))["y"]!, y, tol, atol);
  close((await runTensors(plan("forward", { bias: true }), buffers))["y"]!, biased, tol, atol);
  close((await runTensors(plan("input"), buffers))["gx"]!, gx, tol, atol);
  const after: EpilogueGraph = {
    ndim: 0,
    inputs: [{ dtype: "float32", layout: "c" }],
    nodes: [{ product: dtype }, { in: 0 }, { op: "sub", args: [0, 1], dtype: "float32" }],
    outputs: [{ node: 2, dtype: "float32" }],
  };
  for (const [pass, want, name] of [
    ["forward", y, "y"],
    ["input", gx, "gx"],
  ] as const) {
    const shift = random(want.length, -1, 1, 5);
    const steps = plan(pass, { after });
    const r = await runTensors(
      steps.map((s) => ({ ...s, values: { ...s.values, i0o: 0, q0o: 0 } })),
      { ...buffers, in0: t("float32", shift), out0: { dtype: "float32", zeros: want.length } },
    );
    close(
      r["out0"]!,
      want.map((v, i) => v - shift[i]!),
      tol,
      atol * 2,
    );
    expect(steps[0]!.buffers).not.toContain(name);
  }
  for (const [, by] of direct && !rows ? joins : [["", {}] as const])
    close((await runTensors(plan("weight", by), buffers))["gw"]!, gw, tol, atol * 10);
}

/** A case from [batch, groups, wide, narrow]; stride and dilation are 1 and padding is 0 unless given. */
function conv(
  [batch, groups, wide, narrow]: [number, number, number, number],
  size: number[],
  kernel: number[],
  more: Partial<Case> = {},
): Case {
  const [ones, zeros] = [size.map(() => 1), size.map(() => 0)];
  return { batch, groups, wide, narrow, size, kernel, stride: ones, padding: zeros, dilation: ones, ...more };
}

const CASES: Case[] = [
  conv([2, 1, 3, 5], [9, 8], [3, 3], { padding: [1, 1] }),
  conv([2, 2, 4, 6], [11, 7], [3, 2], { stride: [2, 3], padding: [1, 0], dilation: [2, 1] }),
  conv([1, 1, 5, 7], [6, 6], [1, 1]),
  conv([3, 1, 4, 5], [13], [4], { stride: [2], padding: [2] }),
  conv([1, 1, 2, 3], [4, 5, 6], [2, 3, 2], { stride: [1, 2, 1], padding: [1, 1, 0], dilation: [1, 1, 2] }),
  conv([4, 1, 3, 8], [24, 24], [5, 5], { padding: [2, 2] }),
  conv([2, 1, 3, 4], [8, 8], [3, 3], { padding: [1, 1], dtype: "float16" }),
  conv([2, 6, 6, 12], [7, 5], [3, 3], { stride: [2, 1], padding: [1, 1] }),
  conv([3, 1, 9, 11], [3, 3], [2, 2], { padding: [0, 1] }),
];
test.each(CASES)("implicit product $size $kernel $dtype", async (c) => {
  await check(c, false);
});

const DEPTHWISE: Case[] = [
  conv([2, 6, 6, 6], [9, 8], [3, 3], { padding: [1, 1] }),
  conv([2, 3, 3, 6], [11, 10], [3, 5], { stride: [2, 1], padding: [0, 2], dilation: [1, 2] }),
  conv([2, 4, 4, 4], [17], [4], { stride: [3], padding: [1], dtype: "float16" }),
  conv([2, 2, 2, 6], [5, 4, 7], [2, 3, 4], { padding: [1, 0, 2], dilation: [2, 1, 1] }),
];
test.each(DEPTHWISE)("depthwise $size $kernel $dtype", async (c) => {
  await check(c, true);
});
test.each(DEPTHWISE)("depthwise in rows $size $kernel $dtype", async (c) => {
  await check(c, true, true);
});

test("integers are refused", () => {
  expect(() =>
    depthwise({ pass: "forward", dtype: "int64", kernel: [1], stride: [1], padding: [0], dilation: [1] }),
  ).toThrow(/convolution.*int64/);
});
