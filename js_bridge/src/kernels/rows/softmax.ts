/**
 * softmax and log_softmax over one dim of a contiguous tensor seen as [outer, n, inner], and their gradients. The
 * maximum is subtracted first, so exp stays in range for every input; a row whose maximum is infinite gives NaN, as in
 * PyTorch. A NaN of a row makes its sum NaN, so the maximum may leave it out.
 */
import { accessors, castTo, input, outForm, output } from "../../wgsl/access";
import {
  blockSum,
  eachOf,
  type Element,
  rowHead,
  rowJoin,
  type RowLanes,
  rowOperand,
  rowTools,
  rowKernel,
  storeEach,
} from "./row";
import { computeOf, type DType, type Kernel, uniform, UnsupportedKernelError } from "../spec";

export interface SoftmaxParams extends RowLanes {
  readonly log: boolean;
  readonly backward?: boolean;
  readonly dtype: DType;
  readonly out: DType;
}

/**
 * Uniforms: rows (outer * inner), n, inner, xo, yo, [go]. Buffers: x, y; backward: g, y, gx (g at go, y at xo, gx at
 * yo).
 */
export function softmax(params: SoftmaxParams): Kernel {
  const { log, backward, dtype, out, held } = params;
  if (computeOf(dtype) !== "f32" || computeOf(out) !== "f32") throw new UnsupportedKernelError("softmax", dtype);
  const bindings = backward
    ? [input("g", dtype), input("x", dtype), output("y", out)]
    : [input("x", dtype), output("y", out)];
  const uniforms = [
    ...uniform("u32", "rows", "n"),
    ...uniform("i32", "inner", "xo", "yo", ...(backward ? ["go"] : [])),
  ];
  const globals = [
    ...(backward ? [accessors("g", dtype, "elem", false)] : []),
    accessors("x", dtype, "elem", false),
    accessors("y", out, outForm(out), true),
    rowTools(params, backward ? ["sum"] : ["top", "sum"]),
  ].join("\n");
  const head = `${rowHead(params)}
  let base = (row / p.inner) * i32(p.n) * p.inner + row % p.inner;`;
  const store = (v: Element): string =>
    storeEach(params, (r, k) => {
      const value = castTo("v", "float32", out);
      return `let at = base + r * p.inner; let v = ${v(r, k)}; st_y(p.yo + at, ${value});`;
    });
  const g = rowOperand(params, "g", (r) => `ld_g(p.go + base + ${r} * p.inner)`);
  const x = rowOperand(params, "x", (r) => `ld_x(p.xo + base + ${r} * p.inner)`);
  const gradient: Element = (r, k) =>
    log ? `${g.at(r, k)} - tl_exp(${x.at(r, k)}) * total` : `${x.at(r, k)} * (${g.at(r, k)} - total)`;
  const back = `${head}
${g.load}${x.load}${blockSum(params, "total", (r, k) => (log ? g.at(r, k) : `${g.at(r, k)} * ${x.at(r, k)}`))}
${store(gradient)}`;
  const power: Element = (r, k) => `tl_exp(${x.at(r, k)} - top)`;
  // held powers take the place of the elements, so that each is computed once
  const powers = held && !log;
  const toPowers = powers ? `${eachOf(params, (r, k) => `${x.at(r, k)} = ${power(r, k)};`)}\n` : "";
  const numerator = powers ? x.at : power;
  const result: Element = (r, k) => (log ? `(${x.at(r, k)} - top) - shift` : `${numerator(r, k)} / sum`);
  const forward = `${head}
${x.load}  var top = -tl_inf();
${eachOf(params, (r, k) => `top = max(top, ${x.at(r, k)});`)}
  top = ${rowJoin(params, "top", "top")};
${toPowers}${blockSum(params, "sum", numerator)}
  // an infinite maximum has no defined ratio to the others
  sum = select(tl_nan(), sum, tl_isfinite(top));
  ${log ? "let shift = tl_log(sum);" : ""}
${store(result)}`;
  const main = backward ? back : forward;
  return rowKernel("softmax", params, { bindings, uniforms, globals, main });
}
