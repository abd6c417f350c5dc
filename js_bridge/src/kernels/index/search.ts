/** searchsorted and bucketize: finds by bisection where values would go into sorted rows. */
import { accessors, castTo, input, output } from "../../wgsl/access";
import { makeKernel } from "../../wgsl/module";
import { type Compute, computeOf, type DType, type Kernel, linearGrid, offsets, uniform, value } from "../spec";

export interface SearchParams {
  /** dtypes of the sorted rows and of the values, and the one they are compared in. */
  readonly dtype: DType;
  readonly values: DType;
  readonly compute: DType;
  /** The place is after equal elements, not before them. */
  readonly right?: boolean;
  readonly out: "int64" | "int32";
}

const COMMON: { readonly [C in Compute]: DType } = { f32: "float32", i32: "int32", i64: "int64" };

/**
 * Uniforms: n (values), each (values of a row), m (elements of a sorted row), step (from row to row, 0 for one row);
 * xo, vo, yo. Buffers: x (sorted rows), v, y.
 */
export function search(params: SearchParams): Kernel {
  const { dtype, values, compute, right, out } = params;
  const cls = computeOf(compute),
    common = COMMON[cls];
  const bindings = [input("x", dtype), input("v", values), output("y", out, "elem")];
  const uniforms = [...uniform("u32", "n", "each", "m", "step"), ...offsets("x", "v", "y")];
  // whether an element goes before the value; NaN compares as in PyTorch
  const less = right ? "<=" : "<";
  const before = {
    f32: `(tl_isnan(x) || tl_isnan(v) || x ${less} v)`,
    i32: `(x ${less} v)`,
    i64: right ? "!tl_i64_lt(v, x)" : "tl_i64_lt(x, v)",
  }[cls];
  const globals = [accessors("x", dtype, "elem", false), accessors("v", values, "elem", false)].join("\n");
  const main = `  if (gid >= p.n) { return; }
  let v = ${castTo("ld_v(p.vo + i32(gid))", values, common)};
  let base = p.xo + i32(gid / p.each * p.step);
  var low = 0u;
  var high = p.m;
  while (low < high) {
    let mid = (low + high) >> 1u;
    let x = ${castTo("ld_x(base + i32(mid))", dtype, common)};
    if (${before}) { low = mid + 1u; } else { high = mid; }
  }
  y[p.yo + i32(gid)] = ${out === "int64" ? "vec2<u32>(low, 0u)" : "i32(low)"};`;
  return makeKernel("search", params, { bindings, uniforms, globals, main }, (u) => linearGrid(value(u, "n")));
}
