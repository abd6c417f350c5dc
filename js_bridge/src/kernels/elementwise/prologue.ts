/**
 * Prologues: operands of products and convolutions that are element-wise graphs over other tensors (a cast, a scale, a
 * quantised weight times its step). The product's kernel computes an element where it reads it. If that would compute
 * elements too often, a kernel of its own writes the operand first.
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
 * A graph over the elements of a dense tensor. Its last node is the operand. The product's strides and offset of the
 * operand refer to that tensor.
 */
export interface Prologue {
  readonly ndim: number;
  readonly inputs: readonly { readonly dtype: DType; readonly layout: Layout }[];
  readonly nodes: readonly Node[];
}
/** A prologue inside a product's kernel, which has strides and an offset for each of its inputs. */
export interface InlinePrologue {
  readonly inputs: readonly { readonly dtype: DType }[];
  readonly nodes: readonly Node[];
}

/** The offset and strides of a tensor over some dims. */
export interface Place {
  readonly offset: number;
  readonly strides: readonly number[];
}

const range = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
const placed = (b: Prologue): boolean =>
  b.inputs.some((x) => x.layout === "s") || b.nodes.some((n) => "coord" in n && n.coord >= 0);
const indexed = (b: Prologue): boolean => b.nodes.some((n) => "coord" in n);

/** Bindings of the prologue's inputs, in place of the operand `tag`. */
export const prologueBuffers = (before: InlinePrologue, tag: string): Binding[] =>
  before.inputs.map((x, k) => input(`${tag}${k}`, x.dtype));

/**
 * Words, all with the prefix "<tag>_": n (elements of the dense tensor); [size0.. if an input is strided or a
 * coordinate is used]; i<k>o [i<k>s0..]; scalars.
 */
export function prologueWords(before: Prologue, tag: string): UniformWord[] {
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

/** The words of a prologue's scalars inside a product's kernel. */
export const inlineScalars = (before: InlinePrologue, tag: string): UniformWord[] => scalarWords(before, `${tag}_`);

/**
 * WGSL functions: ld_<tag><k>(i) reads input k; of_<tag>(elements of the inputs) is the operand's element. For the
 * products' kernels, which all have the uniform M.
 */
export function operandFunctions(before: InlinePrologue, tag: string, dtype: DType): string {
  const args = before.inputs.map((x, k) => `x${k}: ${WGSL_TYPE[computeOf(x.dtype)]}`);
  return `${before.inputs.map((x, k) => accessors(`${tag}${k}`, x.dtype, "elem", false)).join("\n")}
fn of_${tag}(${args.join(", ")}) -> f32 {
${statements(
  before,
  before.inputs.map((_, k) => `x${k}`),
  [],
  "0",
  "p.M",
  `${tag}_`,
)}
  return ${castTo(`t${before.nodes.length - 1}`, nodeDtype(before, before.nodes.length - 1), dtype)};
}`;
}

/**
 * fn ld_<tag>(i), for kernels that read an operand by its index in the dense tensor only. All inputs must be flat();
 * <tag><k>o are their offsets.
 */
export const flatAccessor = (
  before: InlinePrologue,
  tag: string,
  dtype: DType,
): string => `${operandFunctions(before, tag, dtype)}
fn ld_${tag}(i: i32) -> f32 {
  return of_${tag}(${before.inputs.map((_, k) => `ld_${tag}${k}(p.${tag}${k}o + i)`).join(", ")});
}`;
export const flatWords = (before: InlinePrologue, tag: string): UniformWord[] => [
  ...uniform("i32", ...before.inputs.map((_, k) => `${tag}${k}o`)),
  ...inlineScalars(before, tag),
];
/** Whether all inputs are contiguous and no coordinate is used. */
export const flat = (before: Prologue): boolean => !placed(before) && !indexed(before);

/** The prologue as a separate kernel that writes the dense buffer `tag`. */
export function prologueStep(before: Prologue, dtype: DType, tag: string, v: Values): Step {
  const values = Object.fromEntries(
    prologueWords(before, tag).map(({ name }) => [name.slice(tag.length + 1), value(v, name)]),
  );
  const kernel = fusedAnywhere(
    { ...before, outputs: [{ node: before.nodes.length - 1, dtype, layout: "c" }] },
    { ...values, q0o: 0 },
  );
  return { ...kernel, buffers: [...before.inputs.map((_, k) => `${tag}${k}`), tag] };
}

/** Bytes of the buffer that prologueStep() writes. */
export const prologueBytes = (dtype: DType, tag: string, v: Values): number =>
  value(v, `${tag}_n`) * DTYPES[dtype].bytes;

/**
 * The places of a prologue's inputs over the product's dims. The product sees the dense tensor with the offset and
 * strides of `at`, and with these sizes. Undefined if an input has no constant strides over these dims, or if the graph
 * uses indices.
 */
export function inlinePlaces(
  before: Prologue,
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
  // for each of the product's dims, the dim of the dense tensor along which it runs
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

/** Rough cost of an element with its reads, in additions. Functions of only a few instructions count as one. */
const MANY = /tl_(?!(?:min|max|fmin|fmax|relu\w*|lt|le|eq|isnan|truth_f32|div|round)\b)/;
const nodeCost = (n: Node): number => {
  if (!("op" in n)) return 0;
  return MANY.test(OPS[n.op]?.f ?? "") ? 8 : 1;
};
const costOf = (g: Graph): number => g.inputs.length + g.nodes.reduce((sum, n) => sum + nodeCost(n), 0);

/** The cost of a dispatch, and of writing and reading an element. On a CPU memory is cheap compared with arithmetic. */
const DISPATCH = 1e5,
  MEMORY = 64,
  MEMORY_CPU = 8;

/** Whether computing each element `times` times costs less than computing it once and storing it. */
export function cheaperInline(before: Prologue, tag: string, v: Values, times: number, software: boolean): boolean {
  const n = value(v, `${tag}_n`);
  return costOf(before) * (times - 1) * n <= n * (software ? MEMORY_CPU : MEMORY) + DISPATCH;
}

/** Appends `nodes` to `first`; their inputs and scalars get numbers from `inputs` and `scalars` on. */
export function joined(first: readonly Node[], nodes: readonly Node[], inputs: number, scalars: number): Node[] {
  const from = first.length;
  const moved = (n: Node): Node => {
    if ("in" in n) return { in: n.in + inputs };
    if ("scalar" in n) return { ...n, scalar: n.scalar + scalars };
    return "op" in n ? { ...n, args: n.args.map((a) => a + from) } : n;
  };
  return [...first, ...nodes.map(moved)];
}
