/**
 * layer_norm and rms_norm over contiguous rows with float32 statistics, and their input gradient. Gradients of weight
 * and bias, and batch_norm, are reductions and element-wise kernels; Python composes them.
 */
import { accessors, castTo, input, outForm, output } from "../../wgsl/access";
import { blockSum, type Element, rowHead, type RowLanes, rowOperand, rowTools, rowKernel, storeEach } from "./row";
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
  const { dtype, rms, weight, bias, backward } = params;
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
  const x = rowOperand(params, "x", (r) => `ld_x(p.xo + base + ${r})`);
  const gw = rowOperand(params, "g", (r) => `ld_g(p.go + base + ${r})${weight ? ` * ld_w(p.wo + ${r})` : ""}`);
  const centred: Element = (r, k) => (rms ? x.at(r, k) : `(${x.at(r, k)} - mu)`);
  const store = (v: Element): string =>
    storeEach(params, (r, k) => `let v = ${v(r, k)}; st_y(p.yo + base + r, ${castTo("v", "float32", dtype)});`);
  const mean = rms ? "" : `${blockSum(params, "mu", x.at)}\n  mu = mu / f32(p.n);`;
  const scaled: Element = (r, k) =>
    `${centred(r, k)} * rs${weight ? ` * ld_w(p.wo + ${r})` : ""}${bias ? ` + ld_b(p.bo + ${r})` : ""}`;
  const forward = `${x.load}${mean}
${blockSum(params, "sq", (r, k) => `${centred(r, k)} * ${centred(r, k)}`)}
  let rs = tl_div(1.0, tl_sqrt(sq / f32(p.n) + p.eps));
${store(scaled)}
  if (live && part == 0u) { ${rms ? "" : "mean[p.meano + row] = mu; "}rstd[p.rstdo + row] = rs; }`;
  const gradient: Element = (r, k) => `rs * (${gw.at(r, k)}${rms ? "" : " - sum_g / f32(p.n)"} - ${centred(r, k)} * k)`;
  const back = `${gw.load}${x.load}  ${rms ? "" : "let mu = mean[p.meano + row];"}
  let rs = rstd[p.rstdo + row];
${rms ? "" : blockSum(params, "sum_g", gw.at)}
${blockSum(params, "sum_gx", (r, k) => `${gw.at(r, k)} * ${centred(r, k)}`)}
  let k = sum_gx * rs * rs / f32(p.n);
${store(gradient)}`;
  const main = `${rowHead(params)}
  let base = row * i32(p.n);
${backward ? back : forward}`;
  return rowKernel("layerNorm", params, { bindings, uniforms, globals, main });
}
