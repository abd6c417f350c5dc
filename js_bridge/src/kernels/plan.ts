/**
 * What each family needs to be planned from words alone: its buffers and words in order, and the kernels for given words.
 * README.md holds the table that callers write their words by; keep the two alike.
 */
import { attention } from "./attention.js";
import { compact, type CompactParams, PIECE, planCount } from "./compact.js";
import { conv, type ConvParams, planConv } from "./conv.js";
import { crossEntropy, type CrossEntropyParams } from "./cross_entropy.js";
import { depthwise } from "./depthwise.js";
import type { Node } from "./expression.js";
import { fused, type FusedParams } from "./fused.js";
import { gather, join, pad, scatter } from "./index_ops.js";
import { matmul, planMatmul } from "./matmul.js";
import { layerNorm } from "./norm.js";
import { OPS } from "./op_table.js";
import { adam, sgd } from "./optimizer.js";
import { pool } from "./pool.js";
import { lanesFor, planReduce, reduce } from "./reduce.js";
import { planScan } from "./scan.js";
import { planSegment, segment, type SegmentParams, segmentScratch } from "./segment.js";
import { search } from "./search.js";
import { softmax } from "./softmax.js";
import { planSort, sort, type SortParams, sortScratch } from "./sort.js";
import { type Binding, type DType, DTYPES, type Kernel, offsets, type Step, type UniformWord, uniform, UnsupportedKernelError, type Values, value } from "./spec.js";
import { upsample } from "./upsample.js";
import { imageWords, range } from "./window.js";

/** What the planners ask about the device. */
export interface PlanDevice { readonly software: boolean }

export interface PlannedSteps {
  readonly steps: readonly Step[];
  /** Bytes of the buffers that are nobody's but the steps'. */
  readonly scratch?: Readonly<Record<string, number>>;
}

export interface Plan {
  readonly family: string;
  readonly buffers: readonly { readonly name: string; readonly writes: boolean }[];
  readonly words: readonly UniformWord[];
  /** Most buffers that one of its kernels binds, where that is more than its own. */
  readonly most?: number;
  /** The one kernel whose uniform words are the plan's words, wherever the words named in `fours` are multiples of four. */
  readonly single?: { readonly kernel: Kernel; readonly fours: readonly string[] };
  /** Words that only travel to the kernels: they change neither the steps nor their sizes. */
  readonly free: ReadonlySet<string>;
  steps(values: Values, device: PlanDevice): PlannedSteps;
}

type Params = Readonly<Record<string, unknown>>;
type Builder = (params: never) => Plan;

const listed = (bindings: readonly Binding[]): Plan["buffers"] => bindings.map((b) => ({ name: b.name, writes: b.access === "read_write" }));
const named = (reads: readonly string[], writes: readonly string[]): Plan["buffers"] =>
  [...reads.map((name) => ({ name, writes: false })), ...writes.map((name) => ({ name, writes: true }))];
const NONE: ReadonlySet<string> = new Set();

/** A family of which one kernel does everything. */
function one(family: string, kernel: Kernel, fours: readonly string[] = [], others?: (values: Values) => PlannedSteps): Plan {
  const buffers = listed(kernel.bindings);
  const all = buffers.map((b) => b.name);
  return {
    family, buffers, words: kernel.uniforms, free: NONE, single: { kernel, fours },
    steps: others ?? ((values) => ({ steps: [{ kernel, values, buffers: all }] })),
  };
}

/** Dims of strided operands whose "c" neighbours do not begin at a multiple of four are strided as well. */
function fusedPlan(params: FusedParams): Plan {
  checkGraph(params, params.ndim);
  const kernel = fused(params);
  const packed = (dtype: DType): boolean => DTYPES[dtype].bytes < 4;
  const plain = [...params.inputs, ...params.outputs].every((x) => x.layout === "c") && kernel.uniforms.every((w) => w.name !== "size0");
  const fours = [
    ...params.inputs.flatMap((x, i) => (plain && x.layout === "c" && DTYPES[x.dtype].bytes < 8 ? [`i${i}o`] : [])),
    ...params.outputs.flatMap((x, k) => (x.layout === "c" && (plain ? DTYPES[x.dtype].bytes < 8 : packed(x.dtype)) ? [`q${k}o`] : [])),
  ];
  const others = (values: Values): PlannedSteps => {
    const ndim = plain || params.ndim === 0 ? 1 : params.ndim;
    const sizes = plain || params.ndim === 0 ? [value(values, "n")] : range(ndim).map((d) => value(values, `size${d}`));
    const extra: Record<string, number> = {};
    sizes.forEach((s, d) => (extra[`size${d}`] = s));
    const strided = <T extends { layout: "c" | "s" }>(x: T, tag: string): T => {
      if (x.layout === "s" && params.ndim === 0) extra[`${tag}s0`] = 0;
      if (x.layout === "s" || !(plain || fours.includes(`${tag}o`))) return x;
      for (let d = ndim - 1, s = 1; d >= 0; d--) {
        extra[`${tag}s${d}`] = s;
        s *= sizes[d]!;
      }
      return { ...x, layout: "s" };
    };
    const loose = fused({ ...params, ndim, inputs: params.inputs.map((x, i) => strided(x, `i${i}`)), outputs: params.outputs.map((x, k) => strided(x, `q${k}`)) });
    return { steps: [{ kernel: loose, values: { ...values, ...extra }, buffers: loose.bindings.map((b) => b.name) }] };
  };
  return one("fused", kernel, fours, others);
}

function reducePlan({ inner = true, ...params }: Omit<Parameters<typeof planReduce>[0], "values" | "inner"> & { inner?: boolean }): Plan {
  checkGraph(params, -1);
  const full = reduce({ ...params, stage: "full", lanes: 1 });
  return {
    family: "reduce", buffers: listed(full.bindings), words: full.uniforms, most: reduce({ ...params, stage: "partial", lanes: 1 }).bindings.length,
    free: new Set(full.uniforms.map((w) => w.name).filter((n) => /^([iq]\d+o|c\d+h?|correction|eps)$/.test(n))),
    steps: (values) => {
      const steps = planReduce({ ...params, inner, values });
      return { steps, scratch: partScratch(steps) };
    },
  };
}

/** Refuses graphs that name what is not there: the text of their kernel would not compile. */
function checkGraph({ nodes, inputs, outputs }: { nodes: readonly Node[]; inputs: readonly unknown[]; outputs: readonly { node: number }[] }, ndim: number): void {
  const below = (i: number, end: number, what: string): void => {
    if (!Number.isInteger(i) || i < 0 || i >= end) throw new Error(`there is no ${what} ${i}`);
  };
  nodes.forEach((n, k) => {
    if ("in" in n) below(n.in, inputs.length, "input");
    else if ("coord" in n) below(n.coord + 1, Math.max(ndim, 0) + 1, "dim one before");
    else if ("op" in n) {
      if (!Object.hasOwn(OPS, n.op)) throw new UnsupportedKernelError(n.op, n.dtype, "has no WebGPU kernel");
      n.args.forEach((a) => below(a, k, `node before ${k} called`));
    } else if ("random" in n) {
      if (ndim < 0) throw new Error("a reduction has no random numbers");
    } else if (!("scalar" in n) && !("value" in n)) throw new Error(`node ${k} is neither in, scalar, value, coord nor op`);
    if (!("in" in n) && !("coord" in n)) checkDtype(n.dtype ?? "none given");
  });
  outputs.forEach((o) => below(o.node, nodes.length, "node"));
  if (outputs.length === 0) throw new Error("there is no output");
}

/** Partial results of a reduction: rows * chunks elements of at most 8 bytes each. */
function partScratch(steps: readonly Step[]): Record<string, number> {
  const parts = steps.flatMap((s) => s.buffers.filter((b) => b.startsWith("part")));
  const v = steps[0]?.values ?? {};
  return Object.fromEntries(parts.map((b) => [b, value(v, "rows") * value(v, "chunks") * 8]));
}

function softmaxPlan(params: Omit<Parameters<typeof softmax>[0], "lanes">): Plan {
  const first = softmax({ ...params, lanes: 1 });
  return {
    family: "softmax", buffers: listed(first.bindings), words: first.uniforms, free: new Set(["xo", "yo", "go"]),
    steps: (values) => {
      const kernel = softmax({ ...params, lanes: lanesFor(value(values, "rows"), value(values, "n"), value(values, "inner") === 1) });
      return { steps: [{ kernel, values, buffers: kernel.bindings.map((b) => b.name) }] };
    },
  };
}

function layerNormPlan(params: Omit<Parameters<typeof layerNorm>[0], "lanes">): Plan {
  const first = layerNorm({ ...params, lanes: 1 });
  return {
    family: "layerNorm", buffers: listed(first.bindings), words: first.uniforms,
    free: new Set(first.uniforms.map((w) => w.name).filter((n) => n !== "rows" && n !== "n")),
    steps: (values) => {
      const kernel = layerNorm({ ...params, lanes: lanesFor(value(values, "rows"), value(values, "n"), true) });
      return { steps: [{ kernel, values, buffers: kernel.bindings.map((b) => b.name) }] };
    },
  };
}

function matmulPlan(params: Omit<Parameters<typeof planMatmul>[0], "values" | "software">): Plan {
  const { a, b, bias } = params;
  const float = DTYPES[a].compute === "f32";
  const kernel = matmul({ ...(float ? { a, b } : { a: "float32", b: "float32" }), out: params.out, tile: "small", aFast: "k", bFast: "n", ...(bias && { bias }), ...(params.act && { act: params.act }) });
  if (float !== (DTYPES[b].compute === "f32") || (!float && (bias || params.act))) throw new UnsupportedKernelError("matmul", `${a}, ${b}`);
  if (!float) reduce({ stage: "full", lanes: 1, kept: 4, reduced: 1, inputs: [{ dtype: a }, { dtype: b }], nodes: [{ in: 0 }, { in: 1 }, { op: "mul", args: [0, 1], dtype: params.out }], outputs: [{ op: "sum", node: 2, dtype: params.out }] });
  return {
    family: "matmul", buffers: listed(kernel.bindings), words: kernel.uniforms, free: NONE,
    steps: (values, { software }) => {
      const steps = planMatmul({ ...params, values, software });
      const v = steps[0]!.values;
      const rows = value(values, "batches") * value(values, "M") * value(values, "N");
      return { steps, scratch: { ...(steps.length > 1 && { part: v["splits"] ? rows * v["splits"] * 4 : rows * (v["chunks"] ?? 1) * 8, sum: rows * 4 }) } };
    },
  };
}

function convPlan(params: Omit<ConvParams, "tile" | "split">): Plan {
  const { pass, bias, act } = params;
  const nd = params.kernel.length;
  for (const k of ["stride", "padding", "dilation"] as const) if (params[k].length !== nd) throw new Error(`${k} has ${params[k].length} numbers for ${nd} dims`);
  if (pass === "weight" && (bias || act)) throw new Error("the weight's gradient has neither bias nor activation");
  const kernel = conv({ ...params, tile: "small" });
  const names = kernel.bindings.map((b) => b.name);
  const offsetWords = offsets(...names);
  return {
    family: "conv", buffers: listed(kernel.bindings), words: [...uniform("u32", "batch", "groups", "wide", "narrow"), ...imageWords(nd), ...offsetWords], free: NONE,
    steps: (values, { software }) => {
      const [batch, groups, wide, narrow] = ["batch", "groups", "wide", "narrow"].map((n) => value(values, n)) as [number, number, number, number];
      if (wide % groups || narrow % groups) throw new Error(`${wide} and ${narrow} channels do not make ${groups} groups`);
      const sizes = (t: "x" | "y"): number[] => range(nd).map((d) => value(values, `${t}${d}`));
      if (groups > 1 && groups === wide && (pass === "forward" || !(bias || act))) {
        const own = depthwise(params);
        return { steps: [{ kernel: own, values: { ...values, channels: wide, mult: narrow / wide }, buffers: names }] };
      }
      const steps = planConv({ ...params, batch, groups, wide, narrow, wideSize: sizes("x"), narrowSize: sizes("y"), offsets: Object.fromEntries(offsetWords.map((w) => [w.name, value(values, w.name)])), software });
      const v = steps[0]!.values;
      return { steps, scratch: steps.length > 1 ? { part: value(v, "splits") * groups * value(v, "M") * value(v, "N") * 4 } : {} };
    },
  };
}

function poolPlan(params: Parameters<typeof pool>[0]): Plan {
  const ones = params.kernel.map(() => 1);
  return one("pool", pool({ ...params, stride: params.stride ?? ones, padding: params.padding ?? ones.map(() => 0), dilation: params.dilation ?? ones }));
}

function scanPlan({ op, dtype, out }: { op: Parameters<typeof planScan>[0]; dtype: DType; out: DType }): Plan {
  const best = op === "cummax" || op === "cummin";
  planScan(op, dtype, out, 1, 1, 1); // refuses what there is no kernel for
  return {
    family: "scan", buffers: named(["x"], ["y", ...(best ? ["idx"] : [])]), free: NONE,
    words: [...uniform("u32", "outer", "n", "inner"), ...uniform("i32", "xo", "yo")],
    steps: (values) => {
      const g = (n: string): number => value(values, n);
      const steps = planScan(op, dtype, out, g("outer"), g("n"), g("inner"), g("xo"), g("yo"));
      const bytes = value(steps[0]!.values, "rows") * (steps[0]!.values["chunks"] ?? 0) * 8;
      return { steps, scratch: steps.length > 1 ? { part: bytes, sums: bytes } : {} };
    },
  };
}

function sortPlan({ descending, ...params }: SortParams & { descending?: boolean }): Plan {
  sort({ ...params, stage: "whole" });
  return {
    family: "sort", buffers: named(["x"], ["y", "idx"]), free: new Set(["xo", "yo", "idxo"]),
    words: [...uniform("u32", "rows", "n", "k"), ...offsets("x", "y", "idx")],
    steps: (values) => {
      if (value(values, "k") > value(values, "n")) throw new Error(`${value(values, "k")} of ${value(values, "n")} elements`);
      return { steps: planSort(params, { ...values, flip: descending ? 0xffffffff : 0 }), scratch: sortScratch(params.dtype, values) };
    },
  };
}

function compactPlan(params: CompactParams): Plan {
  const kernel = compact(params);
  if (params.op !== "count") return one("compact", kernel);
  return {
    family: "compact", buffers: listed(kernel.bindings), words: kernel.uniforms, free: new Set(["xo"]),
    steps: (values) => {
      const bytes = Math.ceil(value(values, "n") / PIECE) * 4;
      return { steps: value(values, "n") === 0 ? [] : planCount(params, values), scratch: { counts: bytes, part: bytes, sums: bytes } };
    },
  };
}

/** Scatter by atomics, or in order where that is asked for or nothing else is exact. */
function scatterPlan({ ordered, ...params }: SegmentParams & { ordered?: boolean }): Plan {
  const { dtype, mode, scalar, wide, fresh } = params;
  const long = DTYPES[dtype].compute === "i64" && mode !== "set" && mode !== "add";
  if (!ordered && !wide && !fresh && !long) return one("scatter", scatter(params));
  const join = segment({ ...params, stage: "join" });
  return {
    family: "scatter", buffers: named([...(scalar ? [] : ["src"]), ...params.indices.map((_, j) => `idx${j}`)], ["dst", "status"]), words: join.uniforms, free: NONE,
    steps: (values) => ({ steps: planSegment(params, values), scratch: segmentScratch(values) }),
  };
}

function crossEntropyPlan(params: Omit<CrossEntropyParams, "lanes">): Plan {
  const first = crossEntropy({ ...params, lanes: 1 });
  return {
    family: "crossEntropy", buffers: listed(first.bindings), words: first.uniforms,
    free: new Set(first.uniforms.map((w) => w.name).filter((n) => !["rows", "n", "inner"].includes(n))),
    steps: (values) => {
      // nll_loss reads one element of a row
      const kernel = crossEntropy({ ...params, lanes: params.nll && !params.backward ? 1 : lanesFor(value(values, "rows"), value(values, "n"), value(values, "inner") === 1) });
      return { steps: [{ kernel, values, buffers: kernel.bindings.map((b) => b.name) }] };
    },
  };
}

interface FamilyPlan { readonly build: Builder; readonly params: readonly string[] }
const family = (build: Builder, ...params: string[]): FamilyPlan => ({ build, params });
const WINDOW = ["kernel", "stride", "padding", "dilation"];

export const PLANS: Readonly<Record<string, FamilyPlan>> = {
  fused: family(fusedPlan, "ndim", "inputs", "nodes", "outputs"),
  reduce: family(reducePlan, "kept", "reduced", "inputs", "nodes", "outputs", "inner"),
  softmax: family(softmaxPlan, "log", "backward", "dtype", "out"),
  layerNorm: family(layerNormPlan, "dtype", "rms", "weight", "bias", "backward"),
  matmul: family(matmulPlan, "a", "b", "out", "bias", "act"),
  conv: family(convPlan, "pass", "dtype", ...WINDOW, "bias", "act"),
  pool: family(poolPlan, "op", "dtype", ...WINDOW, "backward", "countPadding", "divisor", "positions"),
  gather: family((p: never) => one("gather", gather(p)), "ndim", "dtype", "indices", "wrap"),
  scatter: family(scatterPlan, "ndim", "dtype", "indices", "wrap", "mode", "scalar", "skip", "ordered", "wide", "fresh"),
  join: family((p: never) => one("join", join(p)), "ndim", "dim", "dtype", "parts"),
  pad: family((p: never) => one("pad", pad(p)), "ndim", "dtype", "mode", "backward"),
  scan: family(scanPlan, "op", "dtype", "out"),
  sort: family(sortPlan, "dtype", "descending", "indices"),
  search: family((p: never) => one("search", search(p)), "dtype", "values", "compute", "right", "out"),
  compact: family(compactPlan, "op", "dtype", "data", "ndim"),
  upsample: family((p: never) => one("upsample", upsample(p)), "mode", "ndim", "dtype", "align", "backward"),
  crossEntropy: family(crossEntropyPlan, "dtype", "weight", "smooth", "nll", "backward"),
  attention: family((p: never) => one("attention", attention(p)), "dtype", "dim", "valueDim", "causal", "mask"),
  sgd: family((p: never) => one("sgd", sgd(p)), "momentum", "nesterov", "maximize", "first"),
  adam: family((p: never) => one("adam", adam(p)), "amsgrad", "decoupled", "maximize"),
};

/** The plan of a key "family:{parameters as JSON}". Throws UnsupportedKernelError for what cannot be built. */
export function planOf(key: string): Plan {
  const at = key.indexOf(":");
  const name = at < 0 ? key : key.slice(0, at);
  const entry = Object.hasOwn(PLANS, name) ? PLANS[name] : undefined;
  if (!entry) throw new UnsupportedKernelError(name, "no such family", "has no WebGPU kernel");
  try {
    const params = JSON.parse(key.slice(at + 1)) as Params;
    const unknown = Object.keys(params).find((k) => !entry.params.includes(k));
    if (unknown !== undefined) throw new Error(`there is no parameter ${unknown}`);
    for (const k of ["dtype", "out", "data", "a", "b", "bias", "mask"].filter((n) => typeof params[n] === "string")) checkDtype(params[k]);
    for (const k of ["inputs", "outputs", "nodes"]) for (const x of (params[k] as readonly Params[] | undefined) ?? []) checkDtype(x["dtype"]);
    for (const d of (params["indices"] as readonly unknown[] | undefined) ?? []) checkDtype(d);
    return entry.build(params as never);
  } catch (e) {
    if (e instanceof UnsupportedKernelError) throw e;
    throw new UnsupportedKernelError(name, e instanceof Error ? e.message : String(e), "cannot be planned");
  }
}

function checkDtype(d: unknown): void {
  if (d !== undefined && !Object.hasOwn(DTYPES, d as string)) throw new Error(`there is no dtype ${String(d)} on WebGPU`);
}

