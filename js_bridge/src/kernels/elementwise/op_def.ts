/** The definition of an element-wise operation, and short forms to declare one in a table. */

/** One WGSL expression for each compute class. Operands, tensors and scalars alike, are x, y, z, w and v, in order. */
export interface OpDef {
  readonly arity: number;
  /** "same": the operands' class. "bool": the expression is a WGSL bool. "float": integers are computed as f32. */
  readonly result: "same" | "bool" | "float";
  /** For f32. */
  readonly f?: string;
  /** For i32. */
  readonly i?: string;
  /** For int64, as vec2<u32>. */
  readonly l?: string;
  /** For bool operands (computed as i32), if `i` would be wrong for them. */
  readonly b?: string;
  /** The first operand is a condition; its class does not matter. */
  readonly condition?: boolean;
}

export type OpTable = Readonly<Record<string, OpDef>>;

/** An operation whose result is a float. */
export const float = (f: string, arity = 1): OpDef => ({ arity, result: "float", f });

/** An operation whose result has the operands' class. */
export const same = (arity: number, f?: string, i?: string, l?: string, b?: string): OpDef => ({
  arity,
  result: "same",
  ...(f && { f }),
  ...(i && { i }),
  ...(l && { l }),
  ...(b && { b }),
});

/** An operation whose result is a bool. */
export const test = (arity: number, f: string, i: string, l: string): OpDef => ({ arity, result: "bool", f, i, l });
