/**
 * Joins one value of each invocation of a workgroup through subgroups. Each subgroup joins its values by the device's
 * operations or by shuffles, and writes one value into workgroup memory. After a barrier the first subgroup joins these
 * the same way. A workgroup is one row: it has as many invocations as the row has lanes.
 *
 * WGSL does not say how invocations are spread over subgroups: they need not be neighbours, and a subgroup need not be
 * full. So each subgroup tests itself. A "whole" subgroup consists of `size` neighbours in order. These have a block of
 * slots in workgroup memory to themselves, and store one value there. If the first invocation of a block is in a whole
 * subgroup, all of the block is, so the first one decides for its block. In other blocks every invocation stores its
 * own value. A slot depends on the place in the workgroup, not on a counter, so the order of additions does not depend
 * on timing.
 *
 * Taken wherever the device has the feature "subgroups" (Firefox has none): on a software adapter too, where it runs as
 * fast as the tree or faster and compiles in a third to the whole of the time.
 */

/** The least number of lanes for subgroups. With fewer a tree has few barriers, and rows share a workgroup. */
const LEAST = 16,
  SMALLEST = 32;

/** Whether a kernel with this many lanes for a row uses subgroups; each row has a workgroup of its own then. */
export const inSubgroups = (lanes: number, subgroups = false): { lanes: number; subgroups?: true } =>
  subgroups && lanes >= LEAST ? { lanes: Math.max(SMALLEST, lanes), subgroups: true } : { lanes };

/** Arguments that all joins take. */
export const SEAT = "lane, sub_at, sub_size, sub_whole";
const TAKEN = "lane: u32, at: u32, size: u32, whole: bool";

/** Declarations that subgroupHead and subgroupJoin need. A subgroup has at least four invocations. */
export const subgroupGlobals = (lanes: number): string =>
  `var<workgroup> sub_odd: array<u32, ${Math.max(1, lanes / 4)}>;`;

/** Statements for the beginning of main: they set sub_at, sub_size (at most `lanes`) and sub_whole. */
export const subgroupHead = (lanes: number): string => `  let sub_size = min(subgroup_size, ${lanes}u);
  let sub_at = subgroup_at;
  let sub_first = lane - lane % sub_size;
  let sub_inside = subgroupAll((sub_at == lane % sub_size) & (sub_first == subgroupBroadcastFirst(sub_first)));
  let sub_whole = sub_inside & (subgroupAdd(1u) == sub_size);
  if (lane == sub_first) { sub_odd[lane / sub_size] = select(1u, 0u, sub_whole); }`;

export interface Join {
  readonly name: string;
  readonly type: string;
  readonly lanes: number;
  /** WGSL expressions: the neutral value, and two values joined. */
  readonly start: string;
  merge(a: string, b: string): string;
  /** Statements that make `v` the joined value of a subgroup whose invocations are 0..size-1. */
  readonly inside: string;
  /** Only lanes of the first subgroup need the result. */
  readonly first?: boolean;
}

/** fn <name>(${SEAT}, v) -> the joined value of all lanes. All invocations must call it. */
export function subgroupJoin({ name, type, lanes, start, merge, inside, first }: Join): string {
  const from = first ? `select(select(0u, at, whole), ${lanes}u, whole && lane >= size)` : "select(0u, at, whole)";
  return `var<workgroup> ${name}_s: array<${type}, ${lanes}>;
fn ${name}_inside(size: u32, x: ${type}) -> ${type} { var v = x; ${inside} return v; }
fn ${name}(${TAKEN}, v: ${type}) -> ${type} {
${first ? "" : "  workgroupBarrier();\n"}  let own = ${name}_inside(size, v);
  if (!whole) { ${name}_s[lane] = v; } else if (at == 0u) { ${name}_s[lane] = own; }
  workgroupBarrier();
  var total = ${start};
  let step = select(1u, size, whole);
  for (var k = ${from}; k * size < ${lanes}u; k += step) {
    let base = k * size;
    let end = base + select(1u, size, sub_odd[k] != 0u);
    for (var j = base; j < end; j++) { total = ${merge("total", `${name}_s[j]`)}; }
  }
  let all = ${name}_inside(size, total);
  if (whole) { return all; }
  return total;
}`;
}

/** Statements that join `v` over a subgroup by shuffles, two values at a time. */
export const exchange = (body: string): string => `for (var m = 1u; m < size; m = m << 1u) { ${body} }`;

/**
 * The largest (smallest) f32, NaN before all: what the device's own operation does with NaN is not defined, so it gets
 * integers in the order of the numbers.
 */
export const extreme = (largest: boolean, v: string): string =>
  `tl_from_rank(${largest ? `subgroupMax(tl_rank(${v}, 0xffffffffu))` : `subgroupMin(tl_rank(${v}, 0u))`})`;
