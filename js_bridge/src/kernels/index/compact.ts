/**
 * Compaction of non-zero elements: nonzero, masked_select, masked_scatter. One kernel counts the non-zero elements in
 * pieces of 32, a scan (scan.ts) sums the counts, and then every piece knows where its results begin. The caller reads
 * the last sum, the total, before it allocates the result.
 */
import { accessors, input, outForm, output, truth } from "../../wgsl/access";
import { makeKernel } from "../../wgsl/module";
import {
  type Binding,
  computeOf,
  type DType,
  type Kernel,
  linearGrid,
  offsets,
  type Step,
  type UniformWord,
  uniform,
  type Values,
  value,
  range,
} from "../spec";
import { planScan } from "../rows/scan";

export const PIECE = 32;

export interface CompactParams {
  /**
   * - count: ends[p] = number of non-zero elements in the pieces 0..p
   * - index: coordinates of the non-zero elements, [total, ndim] int64
   * - select: out = the elements of src where the mask is not zero, in order
   * - scatter: the elements of out where the mask is not zero = src, in order
   */
  readonly op: "count" | "index" | "select" | "scatter";
  readonly dtype: DType;
  /** dtype of src and out (select, scatter). */
  readonly data?: DType;
  /** index: dims of the tensor. */
  readonly ndim?: number;
}

/**
 * Uniforms: n, [size0.. (index)]; xo, [srco], outo. Buffers: count x, ends; index x, ends, out; select, scatter x,
 * ends, src, out.
 */
export function compact(params: CompactParams): Kernel {
  const { op, dtype, data = "float32", ndim = 1 } = params;
  const moves = op === "select" || op === "scatter";
  const outType = op === "index" ? "int64" : data;
  const bindings: Binding[] = [input("x", dtype)];
  if (op === "count") bindings.push(output("ends", "int32"));
  else bindings.push(input("ends", "int32"), ...(moves ? [input("src", data)] : []), output("out", outType));
  const uniforms: UniformWord[] = [
    ...uniform("u32", "n", ...(op === "index" ? range(ndim).map((d) => `size${d}`) : [])),
    ...offsets("x", ...(moves ? ["src"] : []), ...(op === "count" ? [] : ["out"])),
  ];
  const globals = [
    accessors("x", dtype, "elem", false),
    ...(moves ? [accessors("src", data, "elem", false), accessors("out", data, outForm(data), true)] : []),
  ].join("\n");
  const putCoord = (d: number): string => {
    const out = `    out[p.outo + at * ${ndim} + ${d}]`;
    if (d === 0) return `${out} = vec2<u32>(rest, 0u);`;
    return `${out} = vec2<u32>(rest % p.size${d}, 0u); rest = rest / p.size${d};`;
  };
  const each = {
    count: "",
    index: `    var rest = i;
${range(ndim).reverse().map(putCoord).join("\n")}`,
    select: "    st_out(p.outo + at, ld_src(p.srco + i32(i)));",
    scatter: "    st_out(p.outo + i32(i), ld_src(p.srco + at));",
  }[op];
  const main = `  let first = gid * ${PIECE}u;
  if (first >= p.n) { return; }
  var at = 0;
  ${op === "count" ? "" : "if (gid > 0u) { at = ends[gid - 1u]; }"}
  for (var i = first; i < min(first + ${PIECE}u, p.n); i++) {
    if (${truth("ld_x(p.xo + i32(i))", computeOf(dtype))}) {
${each}
    at++; }
  }
  ${op === "count" ? "ends[gid] = at;" : ""}`;
  return makeKernel("compact", params, { bindings, uniforms, globals, main }, (u) =>
    linearGrid(Math.ceil(value(u, "n") / PIECE)),
  );
}

/** The kernels of `count`. Buffers x, ends; scratch: counts (int32, one for each piece) and the scan's buffers. */
export function planCount(params: CompactParams, values: Values): Step[] {
  const pieces = Math.ceil(value(values, "n") / PIECE);
  const names: Readonly<Record<string, string>> = { x: "counts", y: "ends" };
  const sums = planScan("cumsum", "int32", "int32", 1, pieces, 1);
  return [
    { kernel: compact(params), values, buffers: ["x", "counts"] },
    ...sums.map((s) => ({ ...s, buffers: s.buffers.map((b) => names[b] ?? b) })),
  ];
}
