/** The kernels' operations, reductions and dtypes as the Python module torchlite/webgpu/plan/operations.py has them. */
import type { OpDef } from "../src/kernels/elementwise/op_def";
import { OPS } from "../src/kernels/elementwise/op_table";
import { reduction, REDUCTIONS } from "../src/kernels/rows/reduce_ops";
import { pythonDtypes } from "./dtypes";

/** Items in lines of at most 110 columns. */
export function wrapped(items: readonly string[]): string {
  const lines: string[] = [];
  for (const item of items) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + item.length <= 110) lines[lines.length - 1] = `${last} ${item}`;
    else lines.push(item);
  }
  return lines.join("\n");
}

/** Arity, a letter for each compute type, and "r" or "t": as `operations` in native/src/gpu/gpu_expr.c reads it. */
function text({ arity, result, ...forms }: OpDef): string {
  const types = (["f", "i", "l", "b"] as const).filter((type) => forms[type] !== undefined);
  return `${arity}${types.join("")}${{ float: "r", bool: "t", same: "" }[result]}`;
}

export function operationsText(header: string): string {
  const items = Object.entries<OpDef>(OPS).map(([name, op]) => `${name}:${text(op)}`);
  const reductions = REDUCTIONS.map((name) => `    "${name}": ${reduction(name, "f32", "float32").vars.length},`);
  const about = "What the kernels have: dtypes, element-wise operations and reductions.";
  return `"""${about} \`npm run tables\` (js_bridge) writes this.
The places of operations and of reductions are their numbers in descriptions of kernels."""

# what each dtype is computed in
${pythonDtypes(header)}
# name:arity and letters. f, i, l: there is a form for floats, for integers and bools, for int64; b: one of its own for
# bools; r: integers are computed as floats; t: the result is a bool
OPERATIONS = dict(
    operation.split(":")
    for operation in """
${wrapped(items)}
""".split()
)
# how many buffers the state of each needs between the two kernels of long rows
REDUCTIONS = {
${reductions.join("\n")}
}
`;
}
