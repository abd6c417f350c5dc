/** Kernels that work on whole rows: `lanes` invocations share a row, sums and maxima go through workgroup memory. */
import { WORKGROUP } from "./spec.js";

/** Declarations for kernels with `lanes` per row: fn row_sum(lane, v) and fn row_max(lane, v). All invocations must call them. */
export function rowTools(lanes: number, which: readonly ("sum" | "max")[]): string {
  if (lanes === 1) {
    return which.map((w) => `fn row_${w}(lane: u32, v: f32) -> f32 { return v; }`).join("\n");
  }
  const tool = (name: string, join: string): string => `var<workgroup> row_${name}_s: array<f32, ${WORKGROUP}>;
fn row_${name}(lane: u32, v: f32) -> f32 {
  workgroupBarrier();
  row_${name}_s[lane] = v;
  for (var s = ${lanes / 2}u; s > 0u; s = s >> 1u) {
    workgroupBarrier();
    if (lane % ${lanes}u < s) { let a = row_${name}_s[lane]; let b = row_${name}_s[lane + s]; row_${name}_s[lane] = ${join}; }
  }
  workgroupBarrier();
  return row_${name}_s[lane - lane % ${lanes}u];
}`;
  return which.map((w) => tool(w, w === "sum" ? "a + b" : "tl_max(a, b)")).join("\n");
}

/** row, part (lane within the row) and live; an idle row repeats the last one with nothing to do. */
export const rowHead = (lanes: number): string => `  let item = gid / ${lanes}u;
  let part = lane % ${lanes}u;
  let live = item < p.rows;
  let row = i32(min(item, p.rows - 1u));
  let n = select(0, i32(p.n), live);`;

/** for (r over this lane's elements) in blocks of 32, sums in `target` built blockwise. */
export function blockSum(lanes: number, target: string, value: (r: string) => string): string {
  return `  var ${target} = 0.0;
  for (var r0 = i32(part); r0 < n; r0 += ${32 * lanes}) {
    var block = 0.0;
    for (var r = r0; r < min(n, r0 + ${32 * lanes}); r += ${lanes}) { block += ${value("r")}; }
    ${target} += block;
  }
  ${target} = row_sum(lane, ${target});`;
}
