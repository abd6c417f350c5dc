/** The parts of a plan, and checks of the graphs and dtypes that callers pass. */
import type { EpilogueGraph } from "./elementwise/epilogue";
import type { Node } from "./elementwise/expression";
import { OPS } from "./elementwise/op_table";
import {
  type Binding,
  DTYPES,
  type Kernel,
  type Step,
  type UniformWord,
  UnsupportedKernelError,
  type Values,
} from "./spec";

/** Properties of the device that change a plan. */
export interface PlanDevice {
  /** The adapter is a CPU. */
  readonly software: boolean;
  /** Kernels may use subgroups. */
  readonly subgroups?: boolean;
  /** Kernels may use f16. */
  readonly f16?: boolean;
}

export interface PlannedSteps {
  readonly steps: readonly Step[];
  /** Sizes of scratch buffers in bytes, by name. */
  readonly scratch?: Readonly<Record<string, number>>;
}

export interface Plan {
  readonly family: string;
  readonly buffers: readonly { readonly name: string; readonly writes: boolean }[];
  readonly words: readonly UniformWord[];
  /** The most buffers that one step binds, if that is more than the plan's own buffers. */
  readonly most?: number;
  /**
   * Kernels that do all of the work alone, with the plan's words as their uniform words. The first one runs whose words
   * in `fours` are all multiples of four. If none fits, `steps` decides.
   */
  readonly singles?: readonly { readonly kernel: Kernel; readonly fours: readonly string[] }[];
  /** Names of words that no step depends on: planned steps are reused for other values of them. */
  readonly free: ReadonlySet<string>;
  steps(values: Values, device: PlanDevice): PlannedSteps;
}

export const bindingBuffers = (bindings: readonly Binding[]): Plan["buffers"] =>
  bindings.map((b) => ({ name: b.name, writes: b.access === "read_write" }));
export const named = (reads: readonly string[], writes: readonly string[]): Plan["buffers"] => [
  ...reads.map((name) => ({ name, writes: false })),
  ...writes.map((name) => ({ name, writes: true })),
];
export const NONE: ReadonlySet<string> = new Set();

/** A plan in which one kernel does all of the work. `others`: the steps if a word in `fours` is no multiple of four. */
export function singleKernel(
  family: string,
  kernel: Kernel,
  fours: readonly string[] = [],
  others?: (values: Values) => PlannedSteps,
): Plan {
  const buffers = bindingBuffers(kernel.bindings);
  const all = buffers.map((b) => b.name);
  return {
    family,
    buffers,
    words: kernel.uniforms,
    free: NONE,
    singles: [{ kernel, fours }],
    steps: others ?? ((values) => ({ steps: [{ kernel, values, buffers: all }] })),
  };
}

/** Throws if a graph names a node, input or op that does not exist: its kernel would not compile. */
export function checkGraph(
  {
    nodes,
    inputs,
    outputs,
  }: { nodes: readonly Node[]; inputs: readonly unknown[]; outputs: readonly { node: number }[] },
  ndim: number,
): void {
  const below = (i: number, end: number, what: string): void => {
    if (!Number.isInteger(i) || i < 0 || i >= end) throw new Error(`there is no ${what} ${i}`);
  };
  nodes.forEach((n, k) => {
    if ("in" in n) below(n.in, inputs.length, "input");
    else if ("coord" in n) {
      if (n.coord !== -1) below(n.coord, Math.max(ndim, 0), "dim");
    } else if ("op" in n) {
      if (!Object.hasOwn(OPS, n.op)) throw new UnsupportedKernelError(n.op, n.dtype, "has no WebGPU kernel");
      n.args.forEach((a) => below(a, k, `node before ${k} called`));
    } else if (!("scalar" in n) && !("value" in n))
      throw new Error(`node ${k} is neither in, scalar, value, coord nor op`);
    if (!("in" in n) && !("coord" in n)) checkDtype(n.dtype ?? "none given");
  });
  outputs.forEach((o) => below(o.node, nodes.length, "node"));
  if (outputs.length === 0) throw new Error("there is no output");
}

export function checkDtype(d: unknown): void {
  if (d !== undefined && !Object.hasOwn(DTYPES, d as string))
    throw new Error(`there is no dtype ${String(d)} on WebGPU`);
}

/** Throws if an epilogue names something that does not exist. */
export function checkEpilogue(after: EpilogueGraph | undefined): void {
  if (!after) return;
  checkGraph(
    { ...after, nodes: after.nodes.map((n) => ("product" in n ? { value: 0, dtype: n.product } : n)) },
    after.ndim,
  );
  for (const x of [...after.inputs, ...after.outputs]) checkDtype(x.dtype);
}
