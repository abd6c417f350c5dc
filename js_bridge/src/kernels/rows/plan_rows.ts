/** Plans of the families that work on rows: reductions, softmax, norms, losses, scans, sorts. */
import { crossEntropy, type CrossEntropyParams } from "./cross_entropy";
import { layerNorm } from "./norm";
import { checkEpilogue, checkGraph, bindingBuffers, named, NONE, type Plan } from "../plan_parts";
import { lanesFor, planReduce, reduce } from "./reduce";
import { inRegisters, type RowLanes } from "./row";
import { planScan } from "./scan";
import { softmax } from "./softmax";
import { planSort, sort, type SortParams, sortScratch } from "./sort";
import { computeOf, type DType, offsets, type Step, uniform, value } from "../spec";
import { inSubgroups } from "./subgroup";

export function reducePlan({
  inner = true,
  ...params
}: Omit<Parameters<typeof planReduce>[0], "values" | "inner"> & { inner?: boolean }): Plan {
  checkGraph(params, -1);
  checkEpilogue(params.after);
  if (params.after && (params.outputs.length !== 1 || computeOf(params.outputs[0]!.dtype) !== "f32"))
    throw new Error("only one result in floats can have an epilogue");
  const full = reduce({ ...params, stage: "full", lanes: 1 });
  return {
    family: "reduce",
    buffers: bindingBuffers(full.bindings),
    words: full.uniforms,
    most: reduce({ ...params, stage: "partial", lanes: 1 }).bindings.length,
    free: new Set(full.uniforms.map((w) => w.name).filter((n) => /^([iq]\d+o|c\d+h?|correction|eps)$/.test(n))),
    steps: (values, device) => {
      const steps = planReduce({ ...params, inner, values, ...device });
      return { steps, scratch: partScratch(steps) };
    },
  };
}

/** Partial results of a reduction: rows * chunks elements of at most 8 bytes each. */
function partScratch(steps: readonly Step[]): Record<string, number> {
  const parts = steps.flatMap((s) => s.buffers.filter((b) => b.startsWith("part")));
  const v = steps[0]?.values ?? {};
  return Object.fromEntries(parts.map((b) => [b, value(v, "rows") * value(v, "chunks") * 8]));
}

export function softmaxPlan(params: Omit<Parameters<typeof softmax>[0], keyof RowLanes>): Plan {
  const first = softmax({ ...params, lanes: 1 });
  return {
    family: "softmax",
    buffers: bindingBuffers(first.bindings),
    words: first.uniforms,
    free: new Set(["xo", "yo", "go"]),
    steps: (values, { software, subgroups }) => {
      const n = value(values, "n");
      const way = inSubgroups(lanesFor(value(values, "rows"), n, value(values, "inner") === 1, software), subgroups);
      const kernel = softmax({ ...params, ...way, ...inRegisters(way.lanes, n, software) });
      return { steps: [{ kernel, values, buffers: kernel.bindings.map((b) => b.name) }] };
    },
  };
}

export function layerNormPlan(params: Omit<Parameters<typeof layerNorm>[0], keyof RowLanes>): Plan {
  const first = layerNorm({ ...params, lanes: 1 });
  return {
    family: "layerNorm",
    buffers: bindingBuffers(first.bindings),
    words: first.uniforms,
    free: new Set(first.uniforms.map((w) => w.name).filter((n) => n !== "rows" && n !== "n")),
    steps: (values, { software, subgroups }) => {
      const n = value(values, "n");
      const way = inSubgroups(lanesFor(value(values, "rows"), n, true, software), subgroups);
      const kernel = layerNorm({ ...params, ...way, ...inRegisters(way.lanes, n, software) });
      return { steps: [{ kernel, values, buffers: kernel.bindings.map((b) => b.name) }] };
    },
  };
}

export function crossEntropyPlan(params: Omit<CrossEntropyParams, keyof RowLanes>): Plan {
  const first = crossEntropy({ ...params, lanes: 1 });
  return {
    family: "crossEntropy",
    buffers: bindingBuffers(first.bindings),
    words: first.uniforms,
    free: new Set(first.uniforms.map((w) => w.name).filter((n) => !["rows", "n", "inner"].includes(n))),
    steps: (values, { software, subgroups }) => {
      // nll_loss reads one element of a row, so one lane is enough
      const lanes =
        params.nll && !params.backward
          ? 1
          : lanesFor(value(values, "rows"), value(values, "n"), value(values, "inner") === 1, software);
      const joins = !params.backward || (params.smooth && params.weight);
      const kernel = crossEntropy({ ...params, ...inSubgroups(lanes, subgroups && joins) });
      return { steps: [{ kernel, values, buffers: kernel.bindings.map((b) => b.name) }] };
    },
  };
}

export function scanPlan({ op, dtype, out }: { op: Parameters<typeof planScan>[0]; dtype: DType; out: DType }): Plan {
  const best = op === "cummax" || op === "cummin";
  planScan(op, dtype, out, 1, 1, 1); // throws if there is no kernel
  return {
    family: "scan",
    buffers: named(["x"], ["y", ...(best ? ["idx"] : [])]),
    free: NONE,
    words: [...uniform("u32", "outer", "n", "inner"), ...uniform("i32", "xo", "yo")],
    steps: (values, { software }) => {
      const g = (n: string): number => value(values, n);
      const steps = planScan(op, dtype, out, g("outer"), g("n"), g("inner"), g("xo"), g("yo"), software);
      const bytes = value(steps[0]!.values, "rows") * (steps[0]!.values["chunks"] ?? 0) * 8;
      return { steps, scratch: steps.length > 1 ? { part: bytes, sums: bytes, places: bytes, whose: bytes } : {} };
    },
  };
}

export function sortPlan({ descending, ...params }: SortParams & { descending?: boolean }): Plan {
  sort({ ...params, stage: "whole" });
  return {
    family: "sort",
    buffers: named(["x"], ["y", "idx"]),
    free: new Set(["xo", "yo", "idxo"]),
    words: [...uniform("u32", "rows", "n", "k"), ...offsets("x", "y", "idx")],
    steps: (values) => {
      if (value(values, "k") > value(values, "n"))
        throw new Error(`${value(values, "k")} of ${value(values, "n")} elements`);
      return {
        steps: planSort(params, { ...values, flip: descending ? 0xffffffff : 0 }),
        scratch: sortScratch(params.dtype, values),
      };
    },
  };
}
