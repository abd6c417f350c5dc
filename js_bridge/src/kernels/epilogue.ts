/** What may follow a product before it is stored: an activation without scalars. */
import { narrow } from "../wgsl/access.js";
import { OPS, type OpName } from "./op_table.js";
import { type DType, UnsupportedKernelError } from "./spec.js";

export type Activation = Extract<OpName, "relu" | "gelu" | "gelu_tanh" | "silu" | "sigmoid" | "tanh" | "hardswish" | "hardsigmoid" | "mish">;

/** Text of act(v); v is rounded to the dtype first, as the unfused operations would. */
export function activate(act: Activation | undefined, v: string, dtype: DType): string {
  if (!act) return v;
  const f = OPS[act]?.f;
  if (!f) throw new UnsupportedKernelError(act, dtype);
  return f.replace(/\bx\b/g, `(${narrow(v, dtype)})`);
}
