/**
 * softmax and log_softmax over one dim of a contiguous tensor seen as [outer, n, inner], and their gradients.
 * One pass finds the maximum and the sum together; exp stays in range for every input, rows of -inf give NaN as in PyTorch.
 */
import { accessors, castTo, input, outForm, output } from "../wgsl/access.js";
import { buildModule } from "../wgsl/module.js";
import { rowHead, rowTools, blockSum } from "./row.js";
import { computeOf, type DType, type Kernel, kernelKey, linearGrid, uniform, UnsupportedKernelError, value } from "./spec.js";

export interface SoftmaxParams {
  readonly log: boolean;
  readonly backward?: boolean;
  readonly dtype: DType;
  readonly out: DType;
  readonly lanes: number;
}

/** Uniforms: rows (outer * inner), n, inner, xo, yo, [go]. Buffers: x, y; backward: g, y, gx (g at go, y at xo, gx at yo). */
export function softmax(params: SoftmaxParams): Kernel {
  const { log, backward, dtype, out, lanes } = params;
  if (computeOf(dtype) !== "f32" || computeOf(out) !== "f32") throw new UnsupportedKernelError("softmax", dtype);
  const bindings = backward ? [input("g", dtype), input("x", dtype), output("y", out)] : [input("x", dtype), output("y", out)];
  const uniforms = [...uniform("u32", "rows", "n"), ...uniform("i32", "inner", "xo", "yo", ...(backward ? ["go"] : []))];
  const globals = [...(backward ? [accessors("g", dtype, "elem", false)] : []), accessors("x", dtype, "elem", false), accessors("y", out, outForm(out), true),
    rowTools(lanes, backward ? ["sum"] : ["lse"])].join("\n");
  const head = `${rowHead(lanes)}
  let base = (row / p.inner) * i32(p.n) * p.inner + row % p.inner;`;
  const store = (v: string): string => `  for (var r = i32(part); r < n; r += ${lanes}) { let at = base + r * p.inner; let v = ${v}; st_y(p.yo + at, ${castTo("v", "float32", out)}); }`;
  const main = backward
    ? `${head}
${blockSum(lanes, "total", (r) => `ld_g(p.go + base + ${r} * p.inner)${log ? "" : ` * ld_x(p.xo + base + ${r} * p.inner)`}`)}
${store(log ? "ld_g(p.go + at) - tl_exp(ld_x(p.xo + at)) * total" : "ld_x(p.xo + at) * (ld_g(p.go + at) - total)")}`
    : `${head}
  var state = vec2<f32>(-tl_inf(), 0.0);
  for (var r0 = i32(part); r0 < n; r0 += ${32 * lanes}) {
    var block = vec2<f32>(-tl_inf(), 0.0);
    for (var r = r0; r < min(n, r0 + ${32 * lanes}); r += ${lanes}) {
      let x = ld_x(p.xo + base + r * p.inner);
      if (x > block.x || tl_isnan(x)) { block = vec2<f32>(x, tl_lse_join(block.x, block.y, x, 1.0)); } else { block.y = tl_lse_join(block.x, block.y, x, 1.0); }
    }
    state = vec2<f32>(tl_max(state.x, block.x), tl_lse_join(state.x, state.y, block.x, block.y));
  }
  state = row_lse(lane, state);
  // an infinite maximum leaves no defined ratio
  let sum = select(tl_nan(), state.y, tl_isfinite(state.x));
  ${log ? "let shift = tl_log(sum);" : ""}
${store(log ? "(ld_x(p.xo + at) - state.x) - shift" : "tl_exp(ld_x(p.xo + at) - state.x) / sum")}`;
  return {
    key: kernelKey("softmax", params), bindings, uniforms, wgsl: buildModule({ bindings, uniforms, globals, main }),
    workgroups: (u) => linearGrid(value(u, "rows") * lanes),
  };
}
