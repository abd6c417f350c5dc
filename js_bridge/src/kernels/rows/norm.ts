/**
 * layer_norm and rms_norm over contiguous rows with float32 statistics, and their input gradient. Gradients of weight
 * and bias, and batch_norm, are reductions and element-wise kernels; Python composes them.
 */
import { accessors, castTo, input, outForm, output } from "../../wgsl/access";
import { blockSum, rowHead, type RowLanes, rowTools, rowKernel } from "./row";
import { computeOf, type DType, type Kernel, offsets, uniform, UnsupportedKernelError } from "../spec";

export interface LayerNormParams extends RowLanes {
  readonly dtype: DType;
  readonly rms?: boolean;
  readonly weight?: boolean;
  readonly bias?: boolean;
  readonly backward?: boolean;
}

/**
 * Uniforms: rows, n, xo, yo, [go], eps (forward), [wo], [bo], [meano], rstdo. Buffers: forward x, [w], [b], y, mean,
 * rstd (rms: no mean); backward g, x, [w], mean, rstd, gx (rms: no mean). mean and rstd are float32, one a row.
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
    `  for (var r = i32(part); r < n; r += ${lanes}) {
      let v = ${v}; st_y(p.yo + base + r, ${castTo("v", "float32", dtype)});
    }`;
  const mean = rms ? "" : `${blockSum(params, "mu", x)}\n  mu = mu / f32(p.n);`;
  const scaled = `${centred("r")} * rs${weight ? " * ld_w(p.wo + r)" : ""}${bias ? " + ld_b(p.bo + r)" : ""}`;
  const forward = `${mean}
${blockSum(params, "sq", (r) => `${centred(r)} * ${centred(r)}`)}
  let rs = tl_div(1.0, tl_sqrt(sq / f32(p.n) + p.eps));
${store(scaled)}
  if (live && part == 0u) { ${rms ? "" : "mean[p.meano + row] = mu; "}rstd[p.rstdo + row] = rs; }`;
  const gradient = `rs * (${gw("r")}${rms ? "" : " - sum_g / f32(p.n)"} - ${centred("r")} * k)`;
  const back = `  ${rms ? "" : "let mu = mean[p.meano + row];"}
  let rs = rstd[p.rstdo + row];
${rms ? "" : blockSum(params, "sum_g", gw)}
${blockSum(params, "sum_gx", (r) => `${gw(r)} * ${centred(r)}`)}
  let k = sum_gx * rs * rs / f32(p.n);
${store(gradient)}`;
  const main = `${rowHead(params)}
  let base = row * i32(p.n);
${backward ? back : forward}`;
  return rowKernel("layerNorm", params, { bindings, uniforms, globals, main });
}
