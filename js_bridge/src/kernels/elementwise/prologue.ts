/**
 * Operands of products and convolutions that are expressions: a graph of element-wise operations over other tensors, of
 * which each element is computed where the product reads it (a cast, a scale, a quantised weight times its step), or by
 * a kernel of its own before, where it would be computed too often.
 */
import { accessors, castTo, input } from "../../wgsl/access";
import { type Graph, type Node, nodeDtype, scalarWords, statements } from "./expression";
import { fusedAnywhere, type Layout } from "./fused";
import { OPS } from "./op_table";
import {
  type Binding,
  computeOf,
  type DType,
  DTYPES,
  type Step,
  type UniformWord,
  uniform,
  type Values,
  value,
  WGSL_TYPE,
} from "../spec";

/**
 * A graph over a dense tensor's elements, of which the last node is the operand; the product's strides and offset are
 * that tensor's.
 */
export interface Before {
  readonly ndim: number;
  readonly inputs: readonly { readonly dtype: DType; readonly layout: Layout }[];
  readonly nodes: readonly Node[];
}
/** The same in a kernel: the inputs have places of their own there. */
export interface Inline {
  readonly inputs: readonly { readonly dtype: DType }[];
  readonly nodes: readonly Node[];
}

/** Where a tensor's elements are over some dims. */
export interface Place {
  readonly offset: number;
  readonly strides: readonly number[];
}

const range = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
const placed = (b: Before): boolean =>
  b.inputs.some((x) => x.layout === "s") || b.nodes.some((n) => "coord" in n && n.coord >= 0);
const indexed = (b: Before): boolean => b.nodes.some((n) => "coord" in n || "random" in n);

/** Buffers in the place of the operand `tag`. */
export const beforeBuffers = (before: Inline, tag: string): Binding[] =>
  before.inputs.map((x, k) => input(`${tag}${k}`, x.dtype));

/**
 * Words: n (elements of the dense tensor), size0.. (where something is strided or asks for a coordinate), i<k>o
 * [i<k>s0..], scalars; all after "<tag>_".
 */
export function beforeWords(before: Before, tag: string): UniformWord[] {
  const dims = range(before.ndim),
    t = `${tag}_`;
  return [
    ...uniform("u32", `${t}n`, ...(placed(before) ? dims.map((d) => `${t}size${d}`) : [])),
    ...before.inputs.flatMap(({ layout }, k) =>
      uniform("i32", `${t}i${k}o`, ...(layout === "s" ? dims.map((d) => `${t}i${k}s${d}`) : [])),
    ),
    ...scalarWords(before, t),
  ];
}

/** The scalars of an operand inside of a kernel. */
export const inlineScalars = (before: Inline, tag: string): UniformWord[] => scalarWords(before, `${tag}_`);

/** Functions ld_<tag><k>(i) for the inputs, and of_<tag>(their elements) -> the operand's. */
export function operandFunctions(before: Inline, tag: string, dtype: DType): string {
  const args = before.inputs.map((x, k) => `x${k}: ${WGSL_TYPE[computeOf(x.dtype)]}`);
  return `${before.inputs.map((x, k) => accessors(`${tag}${k}`, x.dtype, "elem", false)).join("\n")}
fn of_${tag}(${args.join(", ")}) -> f32 {
${statements(
  before,
  before.inputs.map((_, k) => `x${k}`),
  [],
  "0",
  `${tag}_`,
)}
  return ${castTo(`t${before.nodes.length - 1}`, nodeDtype(before, before.nodes.length - 1), dtype)};
}`;
}

/**
 * fn ld_<tag>(i), for kernels that know an operand by the place in its dense tensor alone; <tag><k>o: where the inputs
 * begin.
 */
export const flatAccessor = (
  before: Inline,
  tag: string,
  dtype: DType,
): string => `${operandFunctions(before, tag, dtype)}
fn ld_${tag}(i: i32) -> f32 {
  return of_${tag}(${before.inputs.map((_, k) => `ld_${tag}${k}(p.${tag}${k}o + i)`).join(", ")});
}`;
export const flatWords = (before: Inline, tag: string): UniformWord[] => [
  ...uniform("i32", ...before.inputs.map((_, k) => `${tag}${k}o`)),
  ...inlineScalars(before, tag),
];
/** Whether that is so for all inputs. */
export const flat = (before: Before): boolean => !placed(before) && !indexed(before);

/** The operand as a kernel of its own, into the dense buffer `tag`. */
export function operandStep(before: Before, dtype: DType, tag: string, v: Values): Step {
  const values = Object.fromEntries(
    beforeWords(before, tag).map(({ name }) => [name.slice(tag.length + 1), value(v, name)]),
  );
  const kernel = fusedAnywhere(
    { ...before, outputs: [{ node: before.nodes.length - 1, dtype, layout: "c" }] },
    { ...values, q0o: 0 },
  );
  return { ...kernel, buffers: [...before.inputs.map((_, k) => `${tag}${k}`), tag] };
}

/** Bytes of that buffer. */
export const operandBytes = (dtype: DType, tag: string, v: Values): number =>
  value(v, `${tag}_n`) * DTYPES[dtype].bytes;

/**
 * Where the inputs' elements are over the product's dims, the operand being the dense tensor seen from `at` on in steps
 * of
 * at.strides, `sizes` of them; undefined where they are not evenly spaced, or the graph asks for indices.
 */
export function through(
  before: Before,
  tag: string,
  v: Values,
  at: Place,
  sizes: readonly number[],
): Place[] | undefined {
  if (indexed(before)) return undefined;
  const offset = (k: number): number => value(v, `${tag}_i${k}o`);
  const alike = (k: number): Place => ({ offset: offset(k) + at.offset, strides: at.strides });
  if (!placed(before)) return before.inputs.map((_, k) => alike(k));
  const size = range(before.ndim).map((d) => value(v, `${tag}_size${d}`));
  const step = size.map((_, d) => size.slice(d + 1).reduce((x, y) => x * y, 1));
  const start = size.map((s, d) => Math.floor(at.offset / step[d]!) % s);
  const reach = [...start];
  // the dim along which each of the product's dims runs
  const along = at.strides.map((s, j) => {
    if (s === 0 || sizes[j]! <= 1) return -1;
    const d = step.findIndex((x) => s % x === 0);
    reach[d] = reach[d]! + (sizes[j]! - 1) * (s / step[d]!);
    return d;
  });
  if (reach.some((r, d) => r >= size[d]!)) return undefined;
  return before.inputs.map(({ layout }, k) => {
    if (layout === "c") return alike(k);
    const own = size.map((_, d) => value(v, `${tag}_i${k}s${d}`));
    return {
      offset: offset(k) + start.reduce((sum, c, d) => sum + c * own[d]!, 0),
      strides: along.map((d, j) => (d < 0 ? 0 : own[d]! * (at.strides[j]! / step[d]!))),
    };
  });
}

/**
 * Rough cost of an element, reading it included: a unit is an addition. Functions that are a few instructions count as
 * one.
 */
const MANY = /tl_(?!(?:min|max|fmin|fmax|relu\w*|lt|le|eq|isnan|truth_f32|div|round)\b)/;
const nodeCost = (n: Node): number => {
  if (!("op" in n)) return 0;
  return MANY.test(OPS[n.op]?.f ?? "") ? 8 : 1;
};
const costOf = (g: Graph): number => g.inputs.length + g.nodes.reduce((sum, n) => sum + nodeCost(n), 0);

/**
 * What a dispatch, and writing and reading an element, are worth in these units; on a CPU memory is nearer and
 * arithmetic dearer.
 */
const DISPATCH = 1e5,
  MEMORY = 64,
  MEMORY_CPU = 8;

/** Whether computing each element `times` times is less than computing it once, storing and reading it. */
export function worthwhile(before: Before, tag: string, v: Values, times: number, software: boolean): boolean {
  const n = value(v, `${tag}_n`);
  return costOf(before) * (times - 1) * n <= n * (software ? MEMORY_CPU : MEMORY) + DISPATCH;
}

/** Nodes after others, their inputs and scalars counted on; and where the last of them is. */
export function joined(first: readonly Node[], nodes: readonly Node[], inputs: number, scalars: number): Node[] {
  const from = first.length;
  const moved = (n: Node): Node => {
    if ("in" in n) return { in: n.in + inputs };
    if ("scalar" in n) return { ...n, scalar: n.scalar + scalars };
    return "op" in n ? { ...n, args: n.args.map((a) => a + from) } : n;
  };
  return [...first, ...nodes.map(moved)];
}
