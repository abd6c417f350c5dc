/**
 * Scans along one dim of a contiguous tensor seen as [outer, n, inner]: cumsum, cumprod, cummax, cummin (with int64
 * positions), logcumsumexp. `lanes` invocations share a row: blocks of lanes * 4 elements are scanned in workgroup
 * memory and the running total is carried on. Long rows of which there are few take three kernels: totals of chunks,
 * scan of the totals, then the scan of every chunk from its start value. With cummax and cummin totals have positions
 * as well.
 */
import { accessors, castTo, input, outForm, output } from "../../wgsl/access";
import { makeKernel } from "../../wgsl/module";
import {
  type Binding,
  computeOf,
  type DType,
  isFloat,
  type Kernel,
  linearGrid,
  type Step,
  uniform,
  UnsupportedKernelError,
  value,
  WGSL_TYPE,
  WORKGROUP,
} from "../spec";

export type ScanOp = "cumsum" | "cumprod" | "cummax" | "cummin" | "logcumsumexp";

export interface ScanParams {
  readonly op: ScanOp;
  readonly dtype: DType;
  readonly out: DType;
  readonly lanes: number;
  /**
   * Rows are chunks of longer ones: "totals" writes the last value of each only, "apply" starts from the chunk before
   * in `carry`.
   */
  readonly chunked?: "totals" | "apply";
}

const EACH = 4;

/**
 * Uniforms: rows, n, inner, xo, yo; chunked: chunk, chunks. Buffers: x, y (cummax, cummin: and idx); apply: x, carry,
 * y; with cummax, cummin: x, carry, whose (the chunk that a carried value is from), places (of the totals in their
 * rows), y, idx.
 */
export function scan(params: ScanParams): Kernel {
  const { op, dtype, out, lanes, chunked } = params;
  const state = isFloat(out) ? "float32" : out;
  const cls = computeOf(out),
    t = WGSL_TYPE[cls];
  const best = op === "cummax" || op === "cummin";
  if (op === "logcumsumexp" && cls !== "f32") throw new UnsupportedKernelError(op, dtype);
  const carried: [string, DType][] = chunked === "apply" ? [["carry", state]] : [];
  if (chunked === "apply" && best) carried.push(["whose", "int64"], ["places", "int64"]);
  const bindings: Binding[] = [
    input("x", dtype),
    ...carried.map(([name, d]) => input(name, d)),
    chunked === "totals" ? output("y", state) : output("y", out),
    ...(best ? [output("idx", "int64")] : []),
  ];
  const uniforms = [
    ...uniform("u32", "rows", "n"),
    ...uniform("i32", "inner", "xo", "yo"),
    ...(chunked ? uniform("i32", "chunk", "chunks") : []),
  ];
  const start = {
    cumsum: { f32: "0.0", i32: "0i", i64: "vec2<u32>(0u)" },
    cumprod: { f32: "1.0", i32: "1i", i64: "vec2<u32>(1u, 0u)" },
    cummax: { f32: "-tl_inf()", i32: "(-2147483647i - 1i)", i64: "vec2<u32>(0u, 0x80000000u)" },
    cummin: { f32: "tl_inf()", i32: "2147483647i", i64: "vec2<u32>(0xffffffffu, 0x7fffffffu)" },
    logcumsumexp: { f32: "-tl_inf()", i32: "", i64: "" },
  }[op][cls];
  const join = {
    cumsum: cls === "i64" ? "tl_i64_add(a.v, b.v)" : "a.v + b.v",
    cumprod: cls === "i64" ? "tl_i64_mul(a.v, b.v)" : "a.v * b.v",
    logcumsumexp: "tl_logaddexp(a.v, b.v)",
    cummax: "",
    cummin: "",
  }[op];
  // of equal values the later one is kept; NaN stays
  const order = op === "cummax" ? ">=" : "<=";
  const better = {
    f32: `(tl_isnan(b.v) || b.v ${order} a.v)`,
    i32: `b.v ${order} a.v`,
    i64: op === "cummax" ? "!tl_i64_lt(b.v, a.v)" : "!tl_i64_lt(a.v, b.v)",
  }[cls];
  const nanStays = cls === "f32" ? "(!tl_isnan(a.v) || tl_isnan(b.v)) && " : "";
  const joinBest = `if (b.at >= 0 && (a.at < 0 || (${nanStays}${better}))) { return b; }
  return a;`;
  const globals = `struct State { v: ${t}, at: i32 }
fn start() -> State { return State(${start}, -1); }
fn join(a: State, b: State) -> State {
  ${best ? joinBest : `return State(${join}, b.at);`}
}
${accessors("x", dtype, "elem", false)}
${carried.map(([name, d]) => accessors(name, d, "elem", false)).join("\n")}
${chunked === "totals" ? accessors("y", state, outForm(state), true) : accessors("y", out, outForm(out), true)}
${best ? accessors("idx", "int64", "elem", true) : ""}
${lanes > 1 ? `var<workgroup> part_s: array<State, ${WORKGROUP}>;` : ""}`;
  const load = (r: string): string => `State(${castTo(`ld_x(p.xo + base + (${r}) * p.inner)`, dtype, state)}, ${r})`;
  const step = lanes * EACH;
  const write = `      if (r0 + ${EACH} * i32(part) + j < end) {
        let at = p.yo + base + (r0 + ${EACH} * i32(part) + j) * p.inner;
        st_y(at, ${castTo("run.v", state, out)});
        ${best ? "st_idx(at, tl_i64(run.at));" : ""}
      }`;
  const wholeRow = `let first = 0;
  let end = select(0, i32(p.n), live);
  let rounds = i32(p.n);`;
  const chunkOfRow = `let which = i32(item % u32(p.chunks));
  let first = which * p.chunk;
  let end = select(0, min(first + p.chunk, i32(p.n)), live);
  let rounds = p.chunk;`;
  const carriedAt = best ? "i32(ld_places(row * p.chunks + i32(ld_whose(c).x)).x)" : "0";
  const takeCarry = `if (live && which > 0) {
    let c = row * p.chunks + which - 1;
    total = State(ld_carry(c), ${carriedAt});
  }`;
  const putTotal = `if (live && part == 0u) {
    st_y(i32(item), total.v);${best ? " st_idx(i32(item), tl_i64(total.at));" : ""}
  }`;
  const main = `  let item = gid / ${lanes}u;
  let part = lane % ${lanes}u;
  let items = p.rows${chunked ? " * u32(p.chunks)" : ""};
  let live = item < items;
  let row = i32(min(item, items - 1u)${chunked ? " / u32(p.chunks)" : ""});
  let base = (row / p.inner) * i32(p.n) * p.inner + row % p.inner;
  ${chunked ? chunkOfRow : wholeRow}
  var total = start();
  ${chunked === "apply" ? takeCarry : ""}
  // all lanes loop equally often, because all of them must reach the barriers
  for (var round = 0; round < rounds; round += ${step}) {
    let r0 = first + round;
    var own = start();
    for (var j = 0; j < ${EACH}; j++) {
      let r = r0 + ${EACH} * i32(part) + j; if (r < end) { own = join(own, ${load("r")}); }
    }
${
  lanes > 1
    ? `    part_s[lane] = own;
    workgroupBarrier();
    for (var s = 1u; s < ${lanes}u; s = s << 1u) {
      var v = part_s[lane];
      if (part >= s) { v = join(part_s[lane - s], v); }
      workgroupBarrier();
      part_s[lane] = v;
      workgroupBarrier();
    }
    var run = total;
    if (part > 0u) { run = join(total, part_s[lane - 1u]); }
    total = join(total, part_s[lane - part + ${lanes - 1}u]);
    workgroupBarrier();`
    : `    var run = total;
    total = join(total, own);`
}
    for (var j = 0; j < ${EACH}; j++) {
      let r = r0 + ${EACH} * i32(part) + j;
      if (r < end) { run = join(run, ${load("r")}); }
${chunked === "totals" ? "" : write}
    }
  }
  ${chunked === "totals" ? putTotal : ""}`;
  return makeKernel("scan", params, { bindings, uniforms, globals, main }, (u) =>
    linearGrid(value(u, "rows") * (chunked ? value(u, "chunks") : 1) * lanes),
  );
}

/**
 * The kernels of one scan over [outer, n, inner]. Buffers x, y, [idx]; scratch part, sums (cummax, cummin: and places,
 * whose): rows * chunks elements of the output's class (int64).
 */
export function planScan(
  op: ScanOp,
  dtype: DType,
  out: DType,
  outer: number,
  n: number,
  inner: number,
  xo = 0,
  yo = 0,
  software = false,
): Step[] {
  const rows = outer * inner;
  const best = op === "cummax" || op === "cummin";
  const values = { rows, n, inner, xo, yo };
  // a CPU (software) runs few workgroups at once, and chunked scans read each element twice
  const chunks = best && software ? 1 : Math.min(Math.ceil(n / 4096), Math.ceil(512 / Math.max(rows, 1)));
  const also = (name: string): string[] => (best ? [name] : []);
  if (chunks <= 1) {
    let lanes = 1;
    if (n > 16 && rows < 8192) while (lanes < WORKGROUP && lanes * EACH < n) lanes *= 2;
    return [{ kernel: scan({ op, dtype, out, lanes }), values, buffers: ["x", "y", ...also("idx")] }];
  }
  const chunk = Math.ceil(n / chunks);
  const v = { ...values, chunk, chunks: Math.ceil(n / chunk) };
  const state: DType = isFloat(out) ? "float32" : out;
  return [
    {
      kernel: scan({ op, dtype, out, lanes: WORKGROUP, chunked: "totals" }),
      values: v,
      buffers: ["x", "part", ...also("places")],
    },
    {
      kernel: scan({ op, dtype: state, out: state, lanes: WORKGROUP }),
      values: { rows, n: v.chunks, inner: 1, xo: 0, yo: 0 },
      buffers: ["part", "sums", ...also("whose")],
    },
    {
      kernel: scan({ op, dtype, out, lanes: WORKGROUP, chunked: "apply" }),
      values: v,
      buffers: ["x", "sums", ...also("whose"), ...also("places"), "y", ...also("idx")],
    },
  ];
}
