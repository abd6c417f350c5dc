/**
 * Keys of plans: "family:{parameters as JSON}", or "expression:" and the core's description of a kernel for an
 * element-wise expression, a character for each byte (native/src/gpu/gpu_graph.c; keep the two alike).
 */
import type { Node } from "../kernels/elementwise/expression";
import { OPS, type OpName } from "../kernels/elementwise/op_table";
import type { Params } from "../kernels/plan";
import { REDUCTIONS } from "../kernels/rows/reduce_ops";
import { type DType, DTYPES } from "../kernels/spec";

const EXPRESSION = "expression:";
/** A kernel of its own, a part of a product's kernel, or under a reduction. */
const ROLES = ["fused", "after", "first", "second", "reduce"] as const;
const CODES = Object.keys(DTYPES) as DType[];
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

  const all = <T>(one: () => T): T[] => {
    const made: T[] = [];
    while (at < key.length) made.push(one());
    return made;
  };

  const role = ROLES[byte()];
  if (role === undefined) throw new Error("an expression of an unknown role");
  if (role === "reduce") {
    const [kept, reduced, inner] = [byte(), byte(), byte() === 1];
    const nodes = list(byte(), node);
    const inputs = list(byte(), () => {
      const input = { dtype: dtype() };
      byte(); // it shares no output's buffer
      return input;
    });
    const outputs = all(() => {
      const op = REDUCTIONS[byte()];
      if (op === undefined) throw new Error("an unknown reduction");
      return { op, node: byte(), dtype: dtype() };
    });
    return { family: role, params: { kept, reduced, inputs, nodes, outputs, inner } };
  }
  const plan = role === "fused" ? -1 : byte() | (byte() << 8) | (byte() << 16) | (byte() << 24);
  const ndim = byte();
  const nodes = list(byte(), node);
  const inputs = list(byte(), () => {
    const input = placed();
    const alias = byte();
    return role === "fused" && alias !== NOTHING ? { ...input, alias } : input;
  });
  const outputs = all(() => {
    const node = byte();
    const { dtype, layout } = placed();
    return { node, dtype, ...(role === "fused" && { layout }) };
  });
  const graph = { ndim, inputs, nodes, ...(outputs.length > 0 && { outputs }) };
  if (role === "fused") return { family: role, params: graph };
  const { family, params } = described(keyOf(plan), keyOf);
  return { family, params: { ...params, [role]: graph } };
}
