/**
 * The definition of a kernel. A builder is a pure function of a plain parameter object. Equal parameters give equal
 * keys, and pipelines are cached by key. Everything that changes without a new shader (sizes, strides, offsets,
 * scalars) is a uniform word.
 *
 * The layout in memory is the CPU's, so uploads and reads are plain copies:
 *   float32, int32      one 32-bit word for each element
 *   int64               two words (low, high)
 *   float16, bfloat16   two elements in a word; converted by bits, computed in f32
 *   int16               two elements in a word; computed in i32
 *   bool, uint8, int8   four elements in a word; computed in i32
 * Buffers are allocated in multiples of 16 bytes, since kernels may read (never write) up to such a border.
 */
import { WebgpuError } from "../runtime/errors";
import { DTYPES } from "./dtypes";

export { DTYPES };
export type DType = keyof typeof DTYPES;

/** The type arithmetic is done in: f32, i32, or i64 as vec2<u32>(low, high). */
export type Compute = (typeof DTYPES)[DType]["compute"];

export const computeOf = (d: DType): Compute => DTYPES[d].compute;
export const isFloat = (d: DType): boolean => DTYPES[d].compute === "f32";
/** Elements that share one 32-bit word: 4, 2 or 1. */
export const perWord = (d: DType): number => Math.max(1, 4 / DTYPES[d].bytes);
export const WGSL_TYPE: { readonly [C in Compute]: string } = { f32: "f32", i32: "i32", i64: "vec2<u32>" };

export interface Binding {
  readonly name: string;
  /** WGSL type of the storage variable, e.g. array<vec4<f32>>. */
  readonly type: string;
  readonly access: "read" | "read_write";
}

/** `init`: the default value. */
export interface UniformWord {
  readonly name: string;
  readonly type: "u32" | "i32" | "f32";
  readonly init?: number;
}

export type Values = Readonly<Record<string, number>>;
export type Grid = readonly [number, number, number];

/** Binding i of group 0 is bindings[i]; the uniform block, if there are words, is binding 0 of group 1. */
export interface Kernel {
  readonly key: string;
  /** Put together each time it is asked for: a plan needs the bindings and words of kernels that never run. */
  readonly wgsl: string;
  readonly bindings: readonly Binding[];
  readonly uniforms: readonly UniformWord[];
  /**
   * Never specialised to constant words (specialised.ts): the kernel computes floats from them, and constants would
   * change the last bits.
   */
  readonly general?: boolean;
  /** Workgroups to dispatch for these uniform values; a zero means there is nothing to do. */
  workgroups(u: Values): Grid;
}

/** A builder throws this for an operation or dtype without a kernel; the caller falls back or reports it. */
export class UnsupportedKernelError extends WebgpuError {
  static override readonly errorName: string = "UnsupportedKernelError";
  constructor(
    readonly op: string,
    readonly dtype: string,
    why = "has no WebGPU kernel for this dtype",
  ) {
    super(`[${op}] ${why} (${dtype})`);
  }
}

/** One step of a plan: a kernel, its uniform values, and the names of the buffers that it binds. */
export interface Step {
  readonly kernel: Kernel;
  readonly values: Values;
  readonly buffers: readonly string[];
}

export const MAX_WORKGROUPS = 65535;
export const WORKGROUP = 256;

/** The workgroups of a one-dimensional launch, spread over x and y: no dimension may exceed 65535. */
export function linearGrid(invocations: number, size = WORKGROUP): Grid {
  const groups = Math.ceil(invocations / size);
  if (groups <= MAX_WORKGROUPS) return [groups, 1, 1];
  const x = Math.ceil(groups / Math.ceil(groups / MAX_WORKGROUPS));
  return [x, Math.ceil(groups / x), 1];
}

/** The words <name>o: where each operand begins in its buffer, 0 by default. */
export const offsets = (...names: string[]): UniformWord[] =>
  names.map((name) => ({ name: `${name}o`, type: "i32", init: 0 }));

export const uniform = (type: UniformWord["type"], ...names: string[]): UniformWord[] =>
  names.map((name) => ({ name, type }));

/** 0 .. n - 1 */
export const range = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

/** Key text of a family and its parameters. */
export const kernelKey = (family: string, params: object): string => `${family}:${JSON.stringify(params)}`;

/** A uniform value; throws if it is missing. */
export function value(u: Values, name: string): number {
  const v = u[name];
  if (v === undefined) throw new Error(`uniform ${name} has no value`);
  return v;
}
