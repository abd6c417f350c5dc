/**
 * Stable sort along the last dim of a contiguous [rows, n], with positions; topk takes the first of its results.
 * Elements become unsigned keys in PyTorch's order (NaN above all, -0 equal to 0; inverted if descending), so that of
 * equal elements the lower position goes first in either direction. Runs of up to 256 elements are sorted in workgroup
 * memory. Longer rows merge pairs of runs: an invocation finds by bisection how many elements of either run come before
 * its eight results, and merges from there.
 */
import { accessors, input, outForm, output } from "../../wgsl/access";
import { makeKernel } from "../../wgsl/module";
import {
  type Binding,
  computeOf,
  type DType,
  type Kernel,
  linearGrid,
  type Step,
  type UniformWord,
  uniform,
  type Values,
  value,
  WORKGROUP,
} from "../spec";

export interface SortParams {
  readonly dtype: DType;
  /** dtype of the positions; default int64. */
  readonly indices?: "int64" | "int32";
}
/**
 * runs: sorts pieces of `len` elements to keys; whole: rows fit, results are written at once; merge: joins runs;
 * finish: writes results.
 */
export interface SortStage extends SortParams {
  readonly stage: "runs" | "whole" | "merge" | "finish";
}

/**
 * Elements sorted in workgroup memory. One shader serves all lengths: software adapters take a second to compile it.
 */
const BLOCK = 256;
/** Results of a merge per invocation. */
const MERGED = 8;

const keyType = (dtype: DType): "u32" | "vec2<u32>" => (computeOf(dtype) === "i64" ? "vec2<u32>" : "u32");

/** Keys as unsigned numbers (of two words: high word in y), and their order. */
function keys(dtype: DType): string {
  const cls = computeOf(dtype);
  if (cls === "i64") {
    return `fn key_of(v: vec2<u32>) -> vec2<u32> { return vec2<u32>(v.x, v.y ^ 0x80000000u) ^ vec2<u32>(p.flip); }
fn less(a: vec2<u32>, b: vec2<u32>) -> bool { return a.y < b.y || (a.y == b.y && a.x < b.x); }
fn same(a: vec2<u32>, b: vec2<u32>) -> bool { return all(a == b); }`;
  }
  const body =
    cls === "i32"
      ? "return bitcast<u32>(v) ^ 0x80000000u ^ p.flip;"
      : `if (tl_isnan(v)) { return ~p.flip; }
  let u = bitcast<u32>(v);
  if (u == 0x80000000u) { return u ^ p.flip; }
  return select(u | 0x80000000u, ~u, (u >> 31u) == 1u) ^ p.flip;`;
  return `fn key_of(v: ${cls}) -> u32 { ${body} }
fn less(a: u32, b: u32) -> bool { return a < b; }
fn same(a: u32, b: u32) -> bool { return a == b; }`;
}

/**
 * Uniforms: rows, n, k (elements kept of a row), xo, yo, idxo; flip (all bits when descending), len (length of the
 * runs). Buffers by stage: see planSort.
 */
export function sort(params: SortStage): Kernel {
  const { stage, dtype, indices = "int64" } = params;
  const kt = keyType(dtype);
  const keyed = (name: string, access: Binding["access"]): Binding => ({ name, type: `array<${kt}>`, access });
  const placed = (name: string, access: Binding["access"]): Binding => ({ name, type: "array<u32>", access });
  const results = [output("y", dtype), output("idx", indices)];
  const sorted = [keyed("kout", "read_write"), placed("pout", "read_write")];
  const bindings = {
    runs: [input("x", dtype), ...sorted],
    whole: [input("x", dtype), ...results],
    merge: [keyed("kin", "read"), placed("pin", "read"), ...sorted],
    finish: [input("x", dtype), placed("pin", "read"), ...results],
  }[stage];
  const uniforms: UniformWord[] = [
    ...uniform("u32", "rows", "n", "k"),
    ...uniform("i32", "xo", "yo", "idxo"),
    ...uniform("u32", "flip", "len"),
  ];
  const write = `fn put(row: u32, at: u32, src: u32) {
  let o = i32(row * p.k + at);
  st_y(p.yo + o, ld_x(p.xo + i32(row * p.n + src)));
  st_idx(p.idxo + o, ${indices === "int64" ? "vec2<u32>(src, 0u)" : "bitcast<i32>(src)"});
}`;
  const reads = stage === "merge" ? "" : accessors("x", dtype, "elem", false);
  const writes =
    stage === "whole" || stage === "finish"
      ? [accessors("y", dtype, outForm(dtype), true), accessors("idx", indices, "elem", true), write].join("\n")
      : "";
  const top = kt === "u32" ? "0xffffffffu" : "vec2<u32>(0xffffffffu)";
  let globals = [keys(dtype), reads, writes].join("\n");
  let main: string;
  if (stage === "finish") {
    main = `  if (gid >= p.rows * p.k) { return; }
  let row = gid / p.k;
  put(row, gid % p.k, pin[row * p.n + gid % p.k]);`;
  } else if (stage === "merge") {
    main = `  let pieces = (p.n + ${MERGED - 1}u) / ${MERGED}u;
  if (gid >= p.rows * pieces) { return; }
  let base = gid / pieces * p.n;
  let start = gid % pieces * ${MERGED}u;
  let pair = start / (2u * p.len) * (2u * p.len);
  let left = base + pair;
  let lefts = min(p.len, p.n - pair);
  let right = left + lefts;
  let rights = min(p.len, p.n - pair - lefts);
  let first = start - pair;
  // number of results before this invocation's that come from the left run; of equal keys the left one goes first
  var low = max(first, rights) - rights;
  var high = min(first, lefts);
  while (low < high) {
    let mid = (low + high) >> 1u;
    if (less(kin[right + first - 1u - mid], kin[left + mid])) { high = mid; } else { low = mid + 1u; }
  }
  var i = low;
  var j = first - low;
  for (var to = first; to < min(first + ${MERGED}u, lefts + rights); to++) {
    var at = left + i;
    if (i >= lefts) { at = right + j; } else if (j < rights) { if (less(kin[right + j], kin[at])) { at = right + j; } }
    if (at < right) { i++; } else { j++; }
    kout[left + to] = kin[at];
    pout[left + to] = pin[at];
  }`;
  } else {
    const keep =
      stage === "whole"
        ? "if (row < p.rows && at < p.k) { put(row, at, ps[slot]); }"
        : "if (row < p.rows && at < p.n) { kout[row * p.n + at] = ks[slot]; pout[row * p.n + at] = ps[slot]; }";
    globals += `\nvar<workgroup> ks: array<${kt}, ${BLOCK}>;\nvar<workgroup> ps: array<u32, ${BLOCK}>;
fn load(slot: u32, part: u32, pieces: u32) {
  let row = part / pieces;
  let at = part % pieces * p.len + slot % p.len;
  ks[slot] = ${top};
  ps[slot] = 0xffffffffu;
  if (row < p.rows && at < p.n) { ks[slot] = key_of(ld_x(p.xo + i32(row * p.n + at))); ps[slot] = at; }
}
fn save(slot: u32, part: u32, pieces: u32) {
  let row = part / pieces;
  let at = part % pieces * p.len + slot % p.len;
  ${keep}
}`;
    main = `  let pieces = (p.n + p.len - 1u) / p.len;
  for (var h = 0u; h < 2u; h++) {
    let s = lane + h * ${BLOCK / 2}u; load(s, group * (${BLOCK}u / p.len) + s / p.len, pieces);
  }
  for (var size = 2u; size <= p.len; size = size << 1u) {
    for (var step = size >> 1u; step > 0u; step = step >> 1u) {
      workgroupBarrier();
      let i = ((lane & ~(step - 1u)) << 1u) | (lane & (step - 1u));
      let j = i | step;
      let ki = ks[i]; let kj = ks[j]; let pi = ps[i]; let pj = ps[j];
      let ordered = less(ki, kj) || (same(ki, kj) && pi < pj);
      // every other run is sorted downwards, so that two make one that rises and falls
      if (ordered != ((i & size) == 0u || size == p.len)) { ks[i] = kj; ks[j] = ki; ps[i] = pj; ps[j] = pi; }
    }
  }
  workgroupBarrier();
  for (var h = 0u; h < 2u; h++) {
    let s = lane + h * ${BLOCK / 2}u; save(s, group * (${BLOCK}u / p.len) + s / p.len, pieces);
  }`;
  }
  return makeKernel(
    "sort",
    params,
    {
      bindings,
      uniforms,
      globals,
      main,
      workgroup: stage === "runs" || stage === "whole" ? BLOCK / 2 : WORKGROUP,
    },
    (u) => {
      const rows = value(u, "rows"),
        n = value(u, "n");
      if (stage === "finish") return linearGrid(rows * value(u, "k"));
      if (stage === "merge") return linearGrid(rows * Math.ceil(n / MERGED));
      const len = value(u, "len");
      return linearGrid(Math.ceil((rows * Math.ceil(n / len)) / (BLOCK / len)), 1);
    },
  );
}

/**
 * The kernels of one sort. Buffers x, y, idx; scratch ka, kb (keys) and pa, pb (positions, u32) of rows * n elements.
 */
export function planSort(params: SortParams, values: Values): Step[] {
  const n = value(values, "n");
  if (n <= BLOCK) {
    let len = 2;
    while (len < n) len *= 2;
    return [{ kernel: sort({ ...params, stage: "whole" }), values: { ...values, len }, buffers: ["x", "y", "idx"] }];
  }
  const steps: Step[] = [
    { kernel: sort({ ...params, stage: "runs" }), values: { ...values, len: BLOCK }, buffers: ["x", "ka", "pa"] },
  ];
  const merge = sort({ ...params, stage: "merge" });
  let [from, to] = ["a", "b"];
  for (let len = BLOCK; len < n; len *= 2) {
    steps.push({ kernel: merge, values: { ...values, len }, buffers: [`k${from}`, `p${from}`, `k${to}`, `p${to}`] });
    [from, to] = [to, from];
  }
  steps.push({
    kernel: sort({ ...params, stage: "finish" }),
    values: { ...values, len: n },
    buffers: ["x", `p${from}`, "y", "idx"],
  });
  return steps;
}

/** Bytes of the scratch buffers. */
export function sortScratch(dtype: DType, values: Values): Record<string, number> {
  const count = value(values, "rows") * value(values, "n") * 4;
  const key = keyType(dtype) === "u32" ? count : 2 * count;
  return { ka: key, kb: key, pa: count, pb: count };
}
