/**
 * Keys of plans: "family:{parameters as JSON}", or "expression:" and the core's description of an element-wise
 * expression, a character for each byte (make_key in native/src/gpu/gpu_run.c; keep the two alike).
 */
import type { Node } from "../kernels/elementwise/expression";
import { OPS, type OpName } from "../kernels/elementwise/op_table";
import type { Params } from "../kernels/plan";
import type { DType } from "../kernels/spec";

const EXPRESSION = "expression:";
/** What an expression is to a product; "fused": there is none. */
const ROLES = ["fused", "after", "first", "second"] as const;
/** As the core numbers them (TL_DTYPES in native/src/core/tl.h); those without a name are not on the device. */
export const CODES: readonly (DType | "")[] = [
  "bool",
  "uint8",
  "int8",
  "int16",
  "int32",
  "int64",
  "float16",
  "bfloat16",
  "float32",
];
const NAMES = Object.keys(OPS) as OpName[];
const NOTHING = 255;
const STRIDED = 128;

export interface Described {
  readonly family: string;
  readonly params: Params;
}

/** What a key asks for; `keyOf` gives the keys of earlier plans by their numbers. */
export function described(key: string, keyOf: (plan: number) => string): Described {
  if (key.startsWith(EXPRESSION)) return expression(key, keyOf);
  const at = key.indexOf(":");
  return { family: key.slice(0, at), params: JSON.parse(key.slice(at + 1)) as Params };
}

export const isExpression = (key: string): boolean => key.startsWith(EXPRESSION);

function expression(key: string, keyOf: (plan: number) => string): Described {
  let at = EXPRESSION.length;
  const byte = (): number => {
    const b = key.charCodeAt(at++);
    if (!(b < 256)) throw new Error(`the description of an expression ends at ${at}`);
    return b;
  };
  const list = <T>(n: number, one: () => T): T[] => Array.from({ length: n }, one);
  const dtype = (code = byte()): DType => {
    const name = CODES[code & ~STRIDED];
    if (!name) throw new Error(`there is no dtype number ${code} on WebGPU`);
    return name;
  };
  const placed = (): { dtype: DType; layout: "s" | "c" } => {
    const code = byte();
    return { dtype: dtype(code), layout: code & STRIDED ? "s" : "c" };
  };
  let scalars = 0;
  const kinds: readonly (() => Node)[] = [
    () => {
      const number = byte() | (byte() << 8);
      const op = NAMES[number];
      if (op === undefined) throw new Error(`there is no operation number ${number}`);
      const result = dtype();
      const compute = byte();
      const args = list(byte(), byte);
      return { op, args, dtype: result, ...(compute !== NOTHING && { compute: dtype(compute) }) };
    },
    () => ({ in: byte() }),
    () => ({ scalar: scalars++, dtype: dtype() }),
    () => {
      const dim = byte();
      return { coord: dim === NOTHING ? -1 : dim };
    },
    () => ({ product: dtype() }),
  ];
  const node = (): Node => {
    const kind = byte();
    const read = kinds[kind];
    if (!read) throw new Error(`there is no part of the kind ${kind}`);
    return read();
  };

  const role = ROLES[byte()];
  if (role === undefined) throw new Error("an expression of an unknown role");
  const plan = role === "fused" ? -1 : byte() | (byte() << 8) | (byte() << 16) | (byte() << 24);
  const ndim = byte();
  const nodes = list(byte(), node);
  const inputs = list(byte(), () => {
    const input = placed();
    const alias = byte();
    return role === "fused" && alias !== NOTHING ? { ...input, alias } : input;
  });
  const outputs: { node: number; dtype: DType; layout?: "s" | "c" }[] = [];
  while (at < key.length) {
    const node = byte();
    const { dtype, layout } = placed();
    outputs.push({ node, dtype, ...(role === "fused" && { layout }) });
  }
  const graph = { ndim, inputs, nodes, ...(outputs.length > 0 && { outputs }) };
  if (role === "fused") return { family: role, params: graph };
  const { family, params } = described(keyOf(plan), keyOf);
  return { family, params: { ...params, [role]: graph } };
}
