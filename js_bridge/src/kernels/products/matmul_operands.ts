/** A product as planMatmul() gets it, and its operands as the kernels read them. */
import type { EpilogueGraph } from "../elementwise/epilogue";
import {
  cheaperInline,
  type InlinePrologue,
  inlinePlaces,
  type Place,
  type Prologue,
  prologueStep,
} from "../elementwise/prologue";
import { type DType, type Step, type Values, value } from "../spec";

export interface MatmulPlan {
  readonly a: DType;
  readonly b: DType;
  readonly out: DType;
  /** Prologues of a and b; their words are those of prologueWords(). */
  readonly first?: Prologue;
  readonly second?: Prologue;
  readonly bias?: DType;
  readonly after?: EpilogueGraph;
  /** M, N, K, batches, nb1, alpha, beta and all strides, named as in the kernel's uniforms. */
  readonly values: Values;
  /** The adapter is a CPU (isFallbackAdapter). */
  readonly software?: boolean;
  /** Sums may go through subgroups. */
  readonly subgroups?: boolean;
  /** Kernels may use f16. */
  readonly f16?: boolean;
}

/** Names of the buffers from which an operand is read. */
export const sources = (t: "a" | "b", before?: InlinePrologue): string[] =>
  before ? before.inputs.map((_, k) => `${t}${k}`) : [t];

/** An operand for the kernels: a prologue inside the kernel, or a buffer, which a step before it may have to fill. */
export interface Operand {
  readonly inline?: InlinePrologue;
  readonly places: readonly Place[];
  readonly steps: readonly Step[];
}

/** times: how often each element is read; alike: its sources may differ only in their offsets. */
export function operandOf(plan: MatmulPlan, t: "a" | "b", times: number, alike: boolean): Operand {
  const { values: v } = plan,
    before = t === "a" ? plan.first : plan.second,
    across = t === "a" ? "m" : "n";
  const names = [`${t}b0`, `${t}b1`, `${t}${across}`, `${t}k`];
  const at: Place = { offset: value(v, `${t}o`), strides: names.map((n) => value(v, n)) };
  if (!before) return { places: [at], steps: [] };
  const nb1 = value(v, "nb1"),
    outer = value(v, "batches") / nb1;
  // batches that share elements read them again
  const again = (value(v, `${t}b0`) === 0 ? outer : 1) * (value(v, `${t}b1`) === 0 ? nb1 : 1);
  const places = cheaperInline(before, t, v, times * again, plan.software ?? false)
    ? inlinePlaces(before, t, v, at, [outer, nb1, value(v, across.toUpperCase()), value(v, "K")])
    : undefined;
  if (!places || (alike && places.some((x) => x.strides.some((s, j) => s !== at.strides[j]))))
    return { places: [at], steps: [prologueStep(before, plan[t], t, v)] };
  return { inline: before, places, steps: [] };
}

/** The words of an operand's sources. */
export function placeWords(t: "a" | "b", { inline, places }: Operand): Record<string, number> {
  if (!inline) return {};
  const x = t === "a" ? "m" : "n";
  return Object.fromEntries(
    places.flatMap(({ offset, strides: [b0, b1, s, k] }, j) => [
      [`${t}${j}o`, offset],
      [`${t}${j}b0`, b0!],
      [`${t}${j}b1`, b1!],
      [`${t}${j}${x}`, s!],
      [`${t}${j}k`, k!],
    ]),
  );
}
