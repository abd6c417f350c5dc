/**
 * Scatter in order: one invocation combines all elements that go to one place, in the order of the source, as a loop on
 * the CPU does. So sums are reproducible, the last of several writes wins, and int64 has every mode. The kernels
 * compute the places, sort them together with their source positions, and then walk each run of equal places.
 */
import { accessors, input, outForm, output } from "../../wgsl/access";
import { makeKernel } from "../../wgsl/module";
import { CHECK, indexBody, indexWords, offset, resolver, type ScatterParams, STATUS, unravelText } from "./index_ops";
import { planSort, sortScratch } from "../rows/sort";
import {
  type Compute,
  computeOf,
  type Kernel,
  linearGrid,
  type Step,
  uniform,
  UnsupportedKernelError,
  type Values,
  value,
  WGSL_TYPE,
} from "../spec";

export interface SegmentParams extends ScatterParams {
  /** Each index selects a row of `cols` elements (embedding gradients, index_add of rows). */
  readonly wide?: boolean;
  /** The destination's old values do not count (include_self=False). */
  readonly fresh?: boolean;
}
export interface SegmentStage extends SegmentParams {
  readonly stage: "places" | "join";
}

/** The place of an element that is dropped; it sorts after all others. */
const NOWHERE = 0x7fffffff;

const JOIN: { readonly [M in ScatterParams["mode"]]: { readonly [C in Compute]: string } } = {
  set: { f32: "b", i32: "b", i64: "b" },
  add: { f32: "a + b", i32: "a + b", i64: "tl_i64_add(a, b)" },
  prod: { f32: "a * b", i32: "a * b", i64: "tl_i64_mul(a, b)" },
  amax: { f32: "tl_max(a, b)", i32: "max(a, b)", i64: "tl_i64_max(a, b)" },
  amin: { f32: "tl_min(a, b)", i32: "min(a, b)", i64: "tl_i64_min(a, b)" },
};

/**
 * Uniforms: those of scatter() without a scalar; wide: cols, qc, ac (strides of dst and src along the row). Buffers:
 * places idx<j>, place (int32), status; join src, place (sorted), from (int32 positions), dst.
 */
export function segment(params: SegmentStage): Kernel {
  const { stage, dtype, indices, ndim, mode, skip, wide, fresh } = params;
  if (params.scalar) throw new UnsupportedKernelError(`scatter_${mode}`, dtype, "takes no scalar in order");
  const uniforms = [
    ...indexWords(params, ["q", "a"]),
    ...(skip ? uniform("i32", "skip") : []),
    ...(wide ? [...uniform("u32", "cols"), ...uniform("i32", "qc", "ac")] : []),
    CHECK,
  ];
  if (stage === "places") {
    const bindings = [...indices.map((d, j) => input(`idx${j}`, d)), output("place", "int32"), STATUS];
    const globals = [...indices.map((d, j) => accessors(`idx${j}`, d, "elem", false)), resolver(params.wrap)].join(
      "\n",
    );
    const main = `${indexBody(params)}
  place[gid] = select(${NOWHERE}, ${offset("q", ndim)} + at, fine${skip ? " && at0 != p.skip" : ""});`;
    return makeKernel("segment", params, { bindings, uniforms, globals, main }, (u) => linearGrid(value(u, "n")));
  }
  const cls = computeOf(dtype),
    type = WGSL_TYPE[cls];
  const bindings = [input("src", dtype), input("place", "int32"), input("from_at", "int32"), output("dst", dtype)];
  const globals = `${accessors("src", dtype, "elem", false)}
${accessors("dst", dtype, outForm(dtype), true)}
fn source(i: u32, c: i32) -> i32 {
  var rest = i;
${unravelText(ndim)}
  return ${offset("a", ndim)}${wide ? " + c * p.ac" : ""};
}
fn join(a: ${type}, b: ${type}) -> ${type} { return ${JOIN[mode][cls]}; }`;
  const begin = `  if (gid >= p.n${wide ? " * p.cols" : ""}) { return; }
  let i = gid${wide ? " / p.cols" : ""};
  let c = i32(gid${wide ? " % p.cols" : " & 0u"});
  let to = place[i];
  let at = to${wide ? " + c * p.qc" : ""};`;
  // with `fresh` a result starts with its first source element, else with its old value
  const start = fresh
    ? "var r = ld_src(source(u32(from_at[i]), c));\n  var k = i + 1u;"
    : "var r = ld_dst(at);\n  var k = i;";
  const main =
    mode === "set"
      ? `${begin}
  if (to == ${NOWHERE}) { return; }
  if (i + 1u < p.n) { if (place[i + 1u] == to) { return; } }
  st_dst(at, ld_src(source(u32(from_at[i]), c)));`
      : `${begin}
  if (to == ${NOWHERE} || (i > 0u && place[i - 1u] == to)) { return; }
  ${start}
  while (k < p.n) {
    if (place[k] != to) { break; }
    r = join(r, ld_src(source(u32(from_at[k]), c)));
    k++;
  }
  st_dst(at, r);`;
  return makeKernel("segment", params, { bindings, uniforms, globals, main }, (u) =>
    linearGrid(value(u, "n") * (wide ? value(u, "cols") : 1)),
  );
}

/** The kernels of one ordered scatter. Buffers src, idx<j>, dst, status; scratch of segmentScratch(). */
export function planSegment(params: SegmentParams, values: Values): Step[] {
  const n = value(values, "n");
  if (n === 0) return [];
  const names: Readonly<Record<string, string>> = { x: "places", y: "sorted", idx: "from" };
  const order = planSort({ dtype: "int32", indices: "int32" }, { rows: 1, n, k: n, xo: 0, yo: 0, idxo: 0, flip: 0 });
  return [
    {
      kernel: segment({ ...params, stage: "places" }),
      values,
      buffers: [...params.indices.map((_, j) => `idx${j}`), "places", "status"],
    },
    ...order.map((s) => ({ ...s, buffers: s.buffers.map((b) => names[b] ?? b) })),
    { kernel: segment({ ...params, stage: "join" }), values, buffers: ["src", "sorted", "from", "dst"] },
  ];
}

export function segmentScratch(values: Values): Record<string, number> {
  const n = value(values, "n");
  return { places: 4 * n, sorted: 4 * n, from: 4 * n, ...sortScratch("int32", { rows: 1, n }) };
}
