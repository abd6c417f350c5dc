/**
 * softmax and log_softmax over one dim of a contiguous tensor seen as [outer, n, inner], and their gradients. The
 * maximum is subtracted first, so exp stays in range for every input; a row whose maximum is infinite gives NaN, as in
 * PyTorch.
 */
import { accessors, castTo, input, outForm, output } from "../../wgsl/access";
import { blockSum, rowHead, rowJoin, type RowLanes, rowTools, rowKernel } from "./row";
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
  const { log, backward, dtype, out, lanes } = params;
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
    rowTools(params, backward ? ["sum"] : ["max", "sum"]),
  ].join("\n");
  const head = `${rowHead(params)}
  let base = (row / p.inner) * i32(p.n) * p.inner + row % p.inner;`;
  const store = (v: string): string =>
    `  for (var r = i32(part); r < n; r += ${lanes}) {
      let at = base + r * p.inner; let v = ${v}; st_y(p.yo + at, ${castTo("v", "float32", out)});
    }`;
  const g = (r: string): string => `ld_g(p.go + base + ${r} * p.inner)`;
  const x = (r: string): string => `ld_x(p.xo + base + ${r} * p.inner)`;
  const gradient = log
    ? "ld_g(p.go + at) - tl_exp(ld_x(p.xo + at)) * total"
    : "ld_x(p.xo + at) * (ld_g(p.go + at) - total)";
  const back = `${head}
${blockSum(params, "total", (r) => (log ? g(r) : `${g(r)} * ${x(r)}`))}
${store(gradient)}`;
  const result = log ? "(ld_x(p.xo + at) - top) - shift" : "tl_exp(ld_x(p.xo + at) - top) / sum";
  const forward = `${head}
  var top = -tl_inf();
  for (var r = i32(part); r < n; r += ${lanes}) { top = tl_max(top, ${x("r")}); }
  top = ${rowJoin(params, "max", "top")};
${blockSum(params, "sum", (r) => `tl_exp(${x(r)} - top)`)}
  // an infinite maximum has no defined ratio to the others
  sum = select(tl_nan(), sum, tl_isfinite(top));
  ${log ? "let shift = tl_log(sum);" : ""}
${store(result)}`;
  const main = backward ? back : forward;
  return rowKernel("softmax", params, { bindings, uniforms, globals, main });
}
