/**
 * Helpers for kernels that work on whole rows. `lanes` invocations share a row. Its sums and maxima are joined by a
 * tree in workgroup memory, or through subgroups; then each row has a workgroup of its own.
 */
import { makeKernel, type ModuleParts } from "../../wgsl/module";
import { type Kernel, linearGrid, range, value, WORKGROUP } from "../spec";
import { SEAT, subgroupGlobals, subgroupHead, subgroupJoin } from "./subgroup";

export interface RowLanes {
  readonly lanes: number;
  /** Join lanes through subgroups; the device must have them. */
  readonly subgroups?: boolean;
  /** How many elements of a row each lane has. They stay in registers: memory is read once. */
  readonly held?: number;
  /** Not every lane has the last of them. */
  readonly ragged?: boolean;
}

/** Elements of a lane that stay in registers. lanesFor() gives rows of up to 2,048 elements no more. */
const HELD = 8;

/**
 * How rows of n elements are held, if they are. The number is part of the kernel, since a test of each element before
 * it is read costs a third of the bandwidth. Not on a CPU: few registers, and copies of a loop's body compile slowly.
 */
export function inRegisters(lanes: number, n: number, software = false): Pick<RowLanes, "held" | "ragged"> {
  if (software || lanes === 1 || n > HELD * lanes) return {};
  const held = Math.ceil(n / lanes);
  return n % lanes ? { held, ragged: true } : { held };
}

/** `top` is a maximum that may ignore NaN, for kernels whose sum carries the NaN into the result. */
type Tool = "sum" | "top";
const merge = {
  sum: (a: string, b: string): string => `${a} + ${b}`,
  top: (a: string, b: string): string => `max(${a}, ${b})`,
};

/** WGSL of the functions that rowJoin calls. They have barriers: all invocations of a workgroup must call them. */
export function rowTools({ lanes, subgroups }: RowLanes, which: readonly Tool[]): string {
  if (lanes === 1) {
    return which.map((w) => `fn row_${w}(lane: u32, v: f32) -> f32 { return v; }`).join("\n");
  }
  if (subgroups) {
    const inside = { sum: "v = subgroupAdd(v);", top: "v = subgroupMax(v);" },
      start = { sum: "0.0", top: "-tl_inf()" };
    return [
      subgroupGlobals(lanes),
      ...which.map((w) =>
        subgroupJoin({ name: `row_${w}`, type: "f32", lanes, start: start[w], merge: merge[w], inside: inside[w] }),
      ),
    ].join("\n");
  }
  const tool = (w: Tool): string => `var<workgroup> row_${w}_s: array<f32, ${WORKGROUP}>;
fn row_${w}(lane: u32, v: f32) -> f32 {
  workgroupBarrier();
  row_${w}_s[lane] = v;
  for (var s = ${lanes / 2}u; s > 0u; s = s >> 1u) {
    workgroupBarrier();
    if (lane % ${lanes}u < s) {
      let a = row_${w}_s[lane]; let b = row_${w}_s[lane + s]; row_${w}_s[lane] = ${merge[w]("a", "b")};
    }
  }
  workgroupBarrier();
  return row_${w}_s[lane - lane % ${lanes}u];
}`;
  return which.map(tool).join("\n");
}

/** The sum or maximum of a value over the lanes of a row. */
export const rowJoin = ({ subgroups }: RowLanes, w: Tool, v: string): string =>
  `row_${w}(${subgroups ? SEAT : "lane"}, ${v})`;

/** Number of invocations in a workgroup. */
export const rowGroup = ({ lanes, subgroups }: RowLanes): number => (subgroups ? lanes : WORKGROUP);

/**
 * Statements that set row, part (the lane) and live. An invocation beyond the last row repeats it and stores nothing.
 */
export const rowHead = ({ lanes, subgroups }: RowLanes): string => `  let item = gid / ${lanes}u;
  let part = lane % ${lanes}u;
  let live = item < p.rows;
  let row = i32(min(item, p.rows - 1u));
  let n = select(0, i32(p.n), live);${subgroups ? `\n${subgroupHead(lanes)}` : ""}`;

/** An element of a row: of the loop's index r, or the k-th that a lane holds. */
export type Element = (r: string, k: number) => string;

/** Statements for each element r of this lane. */
export function eachOf({ lanes, held, ragged }: RowLanes, body: (r: string, k: number) => string): string {
  if (!held) return `  for (var r = i32(part); r < n; r += ${lanes}) { ${body("r", 0)} }`;
  const one = (k: number): string => {
    const text = body("r", k);
    return `  { let r = i32(part) + ${k * lanes}; ${ragged && k === held - 1 ? `if (r < n) { ${text} }` : text} }`;
  };
  return range(held).map(one).join("\n");
}

/** Statements that store each element r of this lane. */
export const storeEach = (by: RowLanes, body: (r: string, k: number) => string): string =>
  by.held ? `  if (live) {\n${eachOf(by, body)}\n  }` : eachOf(by, body);

/** Reads an operand of a row into registers if rows are held; `at` is its element in what follows. */
export function rowOperand(by: RowLanes, name: string, read: (r: string) => string): { load: string; at: Element } {
  if (!by.held) return { load: "", at: (r) => read(r) };
  const at: Element = (_, k) => `${name}_h${k}`;
  const declare = range(by.held).map((k) => `  var ${at("", k)} = 0.0;`);
  return { load: `${declare.join("\n")}\n${eachOf(by, (r, k) => `${at(r, k)} = ${read(r)};`)}\n`, at };
}

/**
 * Sums this lane's elements, in blocks of 32, which keeps the error small, and joins the lanes. What a lane holds is
 * less than a block.
 */
export function blockSum(by: RowLanes, target: string, value: Element): string {
  const { lanes } = by;
  if (by.held)
    return `  var ${target} = 0.0;
${eachOf(by, (r, k) => `${target} += ${value(r, k)};`)}
  ${target} = ${rowJoin(by, "sum", target)};`;
  return `  var ${target} = 0.0;
  for (var r0 = i32(part); r0 < n; r0 += ${32 * lanes}) {
    var block = 0.0;
    for (var r = r0; r < min(n, r0 + ${32 * lanes}); r += ${lanes}) { block += ${value("r", 0)}; }
    ${target} += block;
  }
  ${target} = ${rowJoin(by, "sum", target)};`;
}

/** The kernel of a family; its rows are its word `rows`. */
export function rowKernel(
  family: string,
  params: RowLanes,
  parts: Pick<ModuleParts, "bindings" | "uniforms" | "globals" | "main">,
): Kernel {
  const workgroup = rowGroup(params);
  return makeKernel(family, params, { ...parts, workgroup, subgroups: params.subgroups ?? false }, (u) =>
    linearGrid(value(u, "rows") * params.lanes, workgroup),
  );
}
