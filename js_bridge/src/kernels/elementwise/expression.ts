/**
 * Expression graphs: lists of nodes that name earlier nodes, and their text in WGSL. Used by all families that fuse.
 */
import { castTo, narrow, truth } from "../../wgsl/access";
import { OPS, type OpName } from "./op_table";
import { computeOf, DTYPES, type DType, isFloat, type UniformWord, UnsupportedKernelError, WGSL_TYPE } from "../spec";

export type Node =
  /** The current element of an input. */
  | { readonly in: number }
  /** A number that comes with the dispatch: uniform c<k> (for int64 c<k> and c<k>h, the low and the high word). */
  | { readonly scalar: number; readonly dtype: DType }
  /** A constant in the shader. A string if JSON cannot hold the number ("inf", "-inf", "nan", "-0", long integers). */
  | { readonly value: number | string; readonly dtype: DType }
  /** The element's int32 coordinate along a dim; -1: its index in row-major order. */
  | { readonly coord: number }
  /** The product's value for the element, in this dtype; only in epilogues. */
  | { readonly product: DType }
  /**
   * An operation. Its operands are cast to the dtype `compute` first; by default that is `dtype`, or the first
   * operand's dtype for tests.
   */
  | { readonly op: OpName; readonly args: readonly number[]; readonly dtype: DType; readonly compute?: DType };

const OPERANDS = ["x", "y", "z", "w", "v"] as const;

export interface Graph {
  readonly nodes: readonly Node[];
  readonly inputs: readonly { readonly dtype: DType }[];
}

export function nodeDtype(g: Graph, k: number): DType {
  const n = g.nodes[k];
  if (!n) throw new Error(`expression names node ${k} of ${g.nodes.length}`);
  if ("in" in n) {
    const i = g.inputs[n.in];
    if (!i) throw new Error(`expression names input ${n.in} of ${g.inputs.length}`);
    return i.dtype;
  }
  if ("product" in n) return n.product;
  return "coord" in n ? "int32" : n.dtype;
}

/** The words of a graph's scalars. `tag`: a prefix, for kernels with several graphs. */
export function scalarWords(g: Graph, tag = ""): UniformWord[] {
  const words = new Map<string, UniformWord>();
  for (const n of g.nodes) {
    if (!("scalar" in n)) continue;
    const c = computeOf(n.dtype);
    const name = `${tag}c${n.scalar}`;
    if (c === "i64") for (const s of ["", "h"]) words.set(name + s, { name: name + s, type: "u32" });
    else words.set(name, { name, type: c });
  }
  return [...words.values()];
}

const WORDS: Readonly<Record<string, number>> = { inf: Infinity, "-inf": -Infinity, nan: NaN };

function literal(given: number | string, dtype: DType): string {
  const c = computeOf(dtype);
  if (c === "i64") {
    const b = BigInt.asUintN(64, BigInt(given));
    return `vec2<u32>(${b & 0xffffffffn}u, ${b >> 32n}u)`;
  }
  const v = WORDS[given] ?? Number(given);
  if (Number.isNaN(v) && given !== "nan" && typeof given === "string") throw new Error(`${given} is no number`);
  if (c === "i32" && !Number.isInteger(v)) throw new Error(`the value ${given} is no integer`);
  if (c === "i32") return v === -2147483648 ? "(-2147483647i - 1i)" : `${v}i`;
  if (Number.isNaN(v)) return "tl_nan()";
  if (!Number.isFinite(Math.fround(v))) return v > 0 ? "tl_inf()" : "-tl_inf()";
  if (Object.is(v, -0)) return "-0.0";
  const t = String(Math.fround(v));
  return /[.e]/.test(t) ? `${t}f` : `${t}.0f`;
}

/**
 * Operations that shader compilers rewrite by the rules of real numbers when they see several at once: x * x / x
 * becomes x, and (x - x) + x too, whatever overflows or is NaN.
 */
const ALGEBRA: ReadonlySet<string> = new Set(["add", "sub", "rsub", "mul", "div", "neg", "square", "reciprocal"]);

/** The inputs that each node depends on. */
type Dependencies = readonly ReadonlySet<number>[];

function dependencies(g: Graph): Dependencies {
  const found: Set<number>[] = [];
  for (const n of g.nodes) {
    if ("in" in n) found.push(new Set([n.in]));
    else found.push(new Set("op" in n ? n.args.flatMap((a) => [...found[a]!]) : []));
  }
  return found;
}

/**
 * The operand `j` of the node `n` as the text `t<number>`, or hidden from the compiler: if an earlier operand is the
 * same, or if both are arithmetic and another operand depends on the same input. Nothing cancels then. `zero` is a u32
 * whose value only the host knows.
 */
function operandText(
  g: Graph,
  n: Extract<Node, { op: OpName }>,
  j: number,
  inputs: Dependencies,
  zero: string,
): string {
  const a = n.args[j]!;
  const from = g.nodes[a]!;
  // x - x is not 0 for infinities, and x / x not 1
  const alike = (b: Node): boolean => b === from || ("in" in b && "in" in from && b.in === from.in);
  const repeated = n.args.slice(0, j).some((b) => alike(g.nodes[b]!));
  const arithmetic = [n, from].every((x) => "op" in x && ALGEBRA.has(x.op) && computeOf(x.dtype) === "f32");
  const shared = (b: number): boolean => b !== a && [...inputs[b]!].some((i) => inputs[a]!.has(i));
  return repeated || (arithmetic && n.args.some(shared)) ? `tl_hidden(t${a}, ${zero})` : `t${a}`;
}

function opExpression(g: Graph, n: Extract<Node, { op: OpName }>, inputs: Dependencies, zero: string): string {
  const def = OPS[n.op];
  if (n.args.length !== def.arity) throw new Error(`[${n.op}] takes ${def.arity} operands, got ${n.args.length}`);
  const of = n.args.map((a) => nodeDtype(g, a));
  if (n.op === "cast") return castTo(`t${n.args[0]}`, of[0]!, n.dtype);
  let compute = n.compute ?? (def.result === "bool" ? of[0]! : n.dtype);
  if (def.result === "float" && !isFloat(compute)) compute = "float32";
  const cls = computeOf(compute);
  const form = { f32: def.f, i32: def.i, i64: def.l }[cls];
  const text = compute === "bool" && def.b ? def.b : form;
  if (text === undefined) throw new UnsupportedKernelError(n.op, compute);
  const operands = n.args.map((a, j) => {
    if (def.condition && j === 0) return truth(`t${a}`, computeOf(of[j]!));
    return isFloat(compute) && isFloat(of[j]!) ? operandText(g, n, j, inputs, zero) : castTo(`t${a}`, of[j]!, compute);
  });
  const expr = text.replace(/\b[xyzwv]\b/g, (s) => operands[OPERANDS.indexOf(s as "x")]!);
  if (def.result === "bool") return castTo(`select(0, 1, ${expr})`, "bool", n.dtype);
  return compute === n.dtype ? narrow(`(${expr})`, n.dtype) : castTo(`(${expr})`, compute, n.dtype);
}

/**
 * Statements `let t<k> = ...;` for all nodes. `inputs[i]`, `coords[d]` and `index` are the WGSL of input i, coordinate
 * d and the linear index; `count` is that of a uniform u32 below 2^31.
 */
export function statements(
  g: Graph,
  inputs: readonly string[],
  coords: readonly string[],
  index: string,
  count: string,
  tag = "",
): string {
  const found = dependencies(g);
  return g.nodes
    .map((n, k) => {
      let e: string;
      if ("in" in n) e = inputs[n.in]!;
      else if ("scalar" in n) {
        e = `p.${tag}c${n.scalar}`;
        if (computeOf(n.dtype) === "i64") e = `vec2<u32>(${e}, ${e}h)`;
      } else if ("value" in n) e = literal(n.value, n.dtype);
      else if ("product" in n) e = "product";
      else if ("coord" in n) e = n.coord < 0 ? index : coords[n.coord]!;
      else e = opExpression(g, n, found, `${count} >> 31u`);
      return `  let t${k}: ${WGSL_TYPE[computeOf(nodeDtype(g, k))]} = ${e};`;
    })
    .join("\n");
}

export const usesCoords = (g: Graph): boolean => g.nodes.some((n) => "coord" in n && n.coord >= 0);

/** The graph of one operation: tensors first, then `scalars` uniform scalars. Inputs of other dtypes are converted. */
export function single(op: OpName, tensors: readonly DType[], dtype: DType, scalars = 0, compute?: DType): Node[] {
  const nodes: Node[] = tensors.map((_, i) => ({ in: i }));
  const sd = compute ?? (OPS[op]?.result === "float" && !isFloat(dtype) ? "float32" : dtype);
  const given = ({ f32: "float32", i32: "int32", i64: "int64" } as const)[DTYPES[sd].compute];
  for (let k = 0; k < scalars; k++) nodes.push({ scalar: k, dtype: given });
  nodes.push({ op, args: nodes.map((_, i) => i), dtype, ...(compute && { compute }) });
  return nodes;
}
