/**
 * layer_norm and rms_norm over contiguous rows with float32 statistics, and their input gradient. Gradients of weight and
 * bias, and batch_norm, are reductions of expressions (planned below) and fused pointwise kernels.
 */
import { accessors, castTo, input, outForm, output } from "../../wgsl/access";
import { buildModule } from "../../wgsl/module";
import type { Node } from "../elementwise/expression";
import { fused } from "../elementwise/fused";
import { planReduce } from "./reduce";
import { blockSum, rowGroup, rowHead, type RowLanes, rowTools } from "./row";
import {
  computeOf,
  type DType,
  type Kernel,
  kernelKey,
  linearGrid,
  type Step,
  offsets,
  uniform,
  UnsupportedKernelError,
  value,
} from "../spec";

export interface LayerNormParams extends RowLanes {
  readonly dtype: DType;
  readonly rms?: boolean;
  readonly weight?: boolean;
  readonly bias?: boolean;
  readonly backward?: boolean;
}

/**
 * Uniforms: rows, n, xo, yo, [go], eps (forward), [wo], [bo], [meano], rstdo. Buffers: forward x, [w], [b], y, mean, rstd (rms: no mean);
 * backward g, x, [w], mean, rstd, gx (rms: no mean). mean and rstd are float32, one a row.
 */
export function layerNorm(params: LayerNormParams): Kernel {
  const { dtype, rms, weight, bias, backward, lanes } = params;
  if (computeOf(dtype) !== "f32") throw new UnsupportedKernelError("layer_norm", dtype);
  const reads = [...(backward ? ["g"] : []), "x", ...(weight ? ["w"] : []), ...(bias && !backward ? ["b"] : [])];
  const stats = rms ? ["rstd"] : ["mean", "rstd"];
  const bindings = [
    ...reads.map((n) => input(n, dtype)),
    ...(backward
      ? [...stats.map((s) => input(s, "float32")), output("y", dtype)]
      : [output("y", dtype), ...stats.map((s) => output(s, "float32"))]),
  ];
  const uniforms = [
    ...uniform("u32", "rows", "n"),
    ...uniform("i32", "xo", "yo", ...(backward ? ["go"] : [])),
    ...(backward ? [] : uniform("f32", "eps")),
    ...offsets(...(weight ? ["w"] : []), ...(bias && !backward ? ["b"] : []), ...stats),
  ];
  const globals = [
    ...reads.map((n) => accessors(n, dtype, "elem", false)),
    accessors("y", dtype, outForm(dtype), true),
    rowTools(params, ["sum"]),
  ].join("\n");
  const x = (r: string): string => `ld_x(p.xo + base + ${r})`;
  const gw = (r: string): string => `ld_g(p.go + base + ${r})${weight ? ` * ld_w(p.wo + ${r})` : ""}`;
  const centred = (r: string): string => (rms ? x(r) : `(${x(r)} - mu)`);
  const store = (v: string): string =>
    `  for (var r = i32(part); r < n; r += ${lanes}) { let v = ${v}; st_y(p.yo + base + r, ${castTo("v", "float32", dtype)}); }`;
  const main = `${rowHead(params)}
  let base = row * i32(p.n);
${
  backward
    ? `  ${rms ? "" : "let mu = mean[p.meano + row];"}
  let rs = rstd[p.rstdo + row];
${rms ? "" : `${blockSum(params, "sum_g", gw)}`}
${blockSum(params, "sum_gx", (r) => `${gw(r)} * ${centred(r)}`)}
  let k = sum_gx * rs * rs / f32(p.n);
${store(`rs * (${gw("r")}${rms ? "" : " - sum_g / f32(p.n)"} - ${centred("r")} * k)`)}`
    : `${rms ? "" : `${blockSum(params, "mu", x)}\n  mu = mu / f32(p.n);`}
${blockSum(params, "sq", (r) => `${centred(r)} * ${centred(r)}`)}
  let rs = tl_div(1.0, tl_sqrt(sq / f32(p.n) + p.eps));
${store(`${centred("r")} * rs${weight ? " * ld_w(p.wo + r)" : ""}${bias ? " + ld_b(p.bo + r)" : ""}`)}
  if (live && part == 0u) { ${rms ? "" : "mean[p.meano + row] = mu; "}rstd[p.rstdo + row] = rs; }`
}`;
  return {
    key: kernelKey("layerNorm", params),
    bindings,
    uniforms,
    wgsl: buildModule({
      bindings,
      uniforms,
      globals,
      main,
      workgroup: rowGroup(params),
      subgroups: params.subgroups ?? false,
    }),
    workgroups: (u) => linearGrid(value(u, "rows") * lanes, rowGroup(params)),
  };
}

const op = (name: Extract<Node, { op: string }>["op"], ...args: number[]): Node => ({
  op: name,
  args,
  dtype: "float32",
});

/** Gradients of weight and bias over [rows, n]. Buffers g, x, mean, rstd, gw, gb; scratch part<j>. */
export function planLayerNormParams(dtype: DType, rows: number, n: number): Step[] {
  const steps = planReduce({
    kept: 1,
    reduced: 1,
    inner: false,
    inputs: [{ dtype }, { dtype }, { dtype: "float32" }, { dtype: "float32" }],
    nodes: [{ in: 0 }, { in: 1 }, { in: 2 }, { in: 3 }, op("sub", 1, 2), op("mul", 4, 3), op("mul", 0, 5)],
    outputs: [
      { op: "sum", node: 6, dtype },
      { op: "sum", node: 0, dtype },
    ],
    values: {
      rows: n,
      n: rows,
      k0: n,
      r0: rows,
      i0o: 0,
      i0k0: 1,
      i0r0: n,
      i1o: 0,
      i1k0: 1,
      i1r0: n,
      i2o: 0,
      i2k0: 0,
      i2r0: 1,
      i3o: 0,
      i3k0: 0,
      i3r0: 1,
      q0o: 0,
      q1o: 0,
    },
  });
  return rename(steps, ["g", "x", "mean", "rstd"], ["gw", "gb"]);
}

function rename(steps: readonly Step[], ins: readonly string[], outs: readonly string[]): Step[] {
  return steps.map((s) => ({
    ...s,
    buffers: s.buffers.map((b) =>
      b.startsWith("in") ? ins[Number(b.slice(2))]! : b.startsWith("out") ? outs[Number(b.slice(3))]! : b,
    ),
  }));
}

export interface BatchNormShape {
  readonly dtype: DType;
  readonly batch: number;
  readonly channels: number;
  readonly pixels: number;
}

/** Strides of an operand of a reduction over (batch, pixels) that keeps channels: an image, or a number a channel. */
const over = (i: number, s: BatchNormShape, image: boolean): Record<string, number> => ({
  [`i${i}o`]: 0,
  [`i${i}k0`]: image ? s.pixels : 1,
  [`i${i}r0`]: image ? s.channels * s.pixels : 0,
  [`i${i}r1`]: image ? 1 : 0,
});
const spread = (i: number, s: BatchNormShape, image: boolean): Record<string, number> => ({
  [`i${i}o`]: 0,
  [`i${i}s0`]: image ? s.channels * s.pixels : 0,
  [`i${i}s1`]: image ? s.pixels : 1,
  [`i${i}s2`]: image ? 1 : 0,
});
const sums = (s: BatchNormShape): Record<string, number> => ({
  rows: s.channels,
  n: s.batch * s.pixels,
  k0: s.channels,
  r0: s.batch,
  r1: s.pixels,
});
const grid = (s: BatchNormShape): Record<string, number> => ({
  n: s.batch * s.channels * s.pixels,
  size0: s.batch,
  size1: s.channels,
  size2: s.pixels,
});

/** Batch statistics. Buffers x, mean, var (biased; float32); scratch part<j>. */
export function planBatchStats(s: BatchNormShape): Step[] {
  const steps = planReduce({
    kept: 1,
    reduced: 2,
    inner: true,
    inputs: [{ dtype: s.dtype }],
    nodes: [{ in: 0 }],
    outputs: [
      { op: "mean", node: 0, dtype: "float32" },
      { op: "var", node: 0, dtype: "float32" },
    ],
    values: { ...sums(s), ...over(0, s, true), q0o: 0, q1o: 0, correction: 0 },
  });
  return rename(steps, ["x"], ["mean", "var"]);
}

/** y = (x - mean) / sqrt(var + eps) * weight + bias. Buffers x, mean, var, [w, b], y; w and b are float32. */
export function planBatchNorm(s: BatchNormShape, eps: number, affine: boolean): Step {
  const nodes: Node[] = [
    { in: 0 },
    { in: 1 },
    { in: 2 },
    { scalar: 0, dtype: "float32" },
    op("add", 2, 3),
    op("rsqrt", 4),
    op("sub", 0, 1),
    op("mul", 6, 5),
  ];
  if (affine) nodes.push({ in: 3 }, { in: 4 }, op("mul", 7, 8), op("add", 10, 9));
  const f32 = { dtype: "float32", layout: "s" } as const;
  const kernel = fused({
    ndim: 3,
    inputs: [{ dtype: s.dtype, layout: "s" }, f32, f32, ...(affine ? [f32, f32] : [])],
    nodes,
    outputs: [{ node: nodes.length - 1, dtype: s.dtype, layout: "c" }],
  });
  const values = {
    ...grid(s),
    ...spread(0, s, true),
    ...spread(1, s, false),
    ...spread(2, s, false),
    ...(affine && { ...spread(3, s, false), ...spread(4, s, false) }),
    q0o: 0,
    c0: eps,
  };
  return { kernel, values, buffers: ["x", "mean", "var", ...(affine ? ["w", "b"] : []), "y"] };
}

/**
 * Gradients of batch_norm in training. Buffers g, x, mean, rstd, w (float32, ones without affine), gx, gw, gb (float32);
 * scratch part<j>. gb = sum g; gw = sum g xhat; gx = (g - gb / n - xhat gw / n) rstd w.
 */
export function planBatchNormBackward(s: BatchNormShape): Step[] {
  const f32 = { dtype: "float32" } as const;
  const reductions = planReduce({
    kept: 1,
    reduced: 2,
    inner: true,
    inputs: [{ dtype: s.dtype }, { dtype: s.dtype }, f32, f32],
    nodes: [{ in: 0 }, { in: 1 }, { in: 2 }, { in: 3 }, op("sub", 1, 2), op("mul", 4, 3), op("mul", 0, 5)],
    outputs: [
      { op: "sum", node: 6, dtype: "float32" },
      { op: "sum", node: 0, dtype: "float32" },
    ],
    values: {
      ...sums(s),
      ...over(0, s, true),
      ...over(1, s, true),
      ...over(2, s, false),
      ...over(3, s, false),
      q0o: 0,
      q1o: 0,
    },
  });
  const nodes: Node[] = [
    { in: 0 },
    { in: 1 },
    { in: 2 },
    { in: 3 },
    { in: 4 },
    { in: 5 },
    { in: 6 },
    { scalar: 0, dtype: "float32" },
    op("sub", 1, 2),
    op("mul", 8, 3),
    op("mul", 6, 7),
    op("sub", 0, 10),
    op("mul", 9, 5),
    op("mul", 12, 7),
    op("sub", 11, 13),
    op("mul", 14, 3),
    op("mul", 15, 4),
  ];
  const per = { ...f32, layout: "s" } as const,
    image = { dtype: s.dtype, layout: "s" } as const;
  const kernel = fused({
    ndim: 3,
    inputs: [image, image, per, per, per, per, per],
    nodes,
    outputs: [{ node: 16, dtype: s.dtype, layout: "c" }],
  });
  const values = {
    ...grid(s),
    ...spread(0, s, true),
    ...spread(1, s, true),
    ...[2, 3, 4, 5, 6].reduce((a, i) => ({ ...a, ...spread(i, s, false) }), {}),
    q0o: 0,
    c0: 1 / (s.batch * s.pixels),
  };
  return [
    ...rename(reductions, ["g", "x", "mean", "rstd"], ["gw", "gb"]),
    { kernel, values, buffers: ["g", "x", "mean", "rstd", "w", "gw", "gb", "gx"] },
  ];
}
