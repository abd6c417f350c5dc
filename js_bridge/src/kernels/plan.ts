/**
 * One builder of plans for each kernel family. A plan lists its buffers and words in order, and picks the kernels for
 * given words. The table in README.md tells callers which words to write; change both together.
 */
import { attention } from "./products/attention";
import type { AttentionParams } from "./products/attention_params";
import { DIRECT_HEADS } from "./products/attention_direct";
import { conv, planConv } from "./products/conv";
import { BUFFERS, type ConvParams } from "./products/conv_params";
import { depthwise, inRows } from "./products/depthwise";
import { epilogue } from "./elementwise/epilogue";
import { mustBeFours, fused, fusedAnywhere, type FusedParams } from "./elementwise/fused";
import { gather, join, pad } from "./index/index_ops";
import { linalg } from "./products/linalg";
import { many } from "./step/many";
import { planMatmul } from "./products/matmul";
import { matmul } from "./products/matmul_kernel";
import { adam, sgd } from "./step/optimizer";
import { compactPlan, scatterPlan } from "./index/plan_index";
import {
  checkEpilogue,
  checkDtype,
  checkGraph,
  bindingBuffers,
  NONE,
  singleKernel,
  type Plan,
  type PlanDevice,
  type PlannedSteps,
} from "./plan_parts";
import { crossEntropyPlan, layerNormPlan, reducePlan, scanPlan, softmaxPlan, sortPlan } from "./rows/plan_rows";
import { pool } from "./image/pool";
import { type Prologue, prologueBuffers, prologueWords, prologueBytes, prologueStep } from "./elementwise/prologue";
import { reduce } from "./rows/reduce";
import { search } from "./index/search";
import {
  type DType,
  DTYPES,
  offsets as offsetsOf,
  type Step,
  uniform,
  UnsupportedKernelError,
  type Values,
  value,
  range,
} from "./spec";
import { upsample } from "./image/upsample";
import { imageWords } from "./image/window";

export type { Plan, PlannedSteps } from "./plan_parts";

export type Params = Readonly<Record<string, unknown>>;
type Builder = (params: never) => Plan;

function fusedPlan(params: FusedParams): Plan {
  checkGraph(params, params.ndim);
  const kernel = fused(params);
  const vec = kernel.uniforms.every((w) => w.name !== "size0");
  const offsets = mustBeFours(params);
  const others = (values: Values): PlannedSteps => {
    const loose = fusedAnywhere(params, values);
    return { steps: [{ ...loose, buffers: loose.kernel.bindings.map((b) => b.name) }] };
  };
  const singles = vec
    ? [
        { kernel: fused({ ...params, whole: true }), fours: ["n", ...offsets] },
        { kernel, fours: offsets },
      ]
    : [{ kernel, fours: offsets }];
  // of its words, only n and the sizes change the steps
  return {
    ...singleKernel("fused", kernel, offsets, others),
    singles,
    free: new Set(kernel.uniforms.map((w) => w.name).filter((w) => !/^(n|size\d+)$/.test(w))),
  };
}

/** The prologues of a product's two operands: their buffers, words and steps, as parts of the product's plan. */
function operandPrologues(
  params: { readonly first?: Prologue; readonly second?: Prologue },
  names: readonly [string, string],
  dtypes: readonly [DType, DType],
) {
  const of = [params.first, params.second].flatMap((before, i) =>
    before ? [{ before, name: names[i]!, dtype: dtypes[i]! }] : [],
  );
  for (const { before } of of) {
    checkGraph({ ...before, outputs: [{ node: before.nodes.length - 1 }] }, before.ndim);
    for (const x of before.inputs) checkDtype(x.dtype);
  }
  return {
    any: of.length > 0,
    buffers: (all: Plan["buffers"]): Plan["buffers"] =>
      all.flatMap((x) => {
        const own = of.find((o) => o.name === x.name);
        return own ? bindingBuffers(prologueBuffers(own.before, own.name)) : [x];
      }),
    /** Adds the prologues' words: after the product's own words, before the epilogue's (`rest`). */
    words: (all: Plan["words"], rest: Plan["words"]): Plan["words"] => [
      ...all.slice(0, all.length - rest.length),
      ...of.flatMap((o) => prologueWords(o.before, o.name)),
      ...rest,
    ],
    separate: (values: Values): Step[] => of.map((o) => prologueStep(o.before, o.dtype, o.name, values)),
    scratch: (values: Values, steps: PlannedSteps["steps"]): Record<string, number> =>
      Object.fromEntries(
        of
          .filter((o) => steps.some((s) => s.buffers.includes(o.name)))
          .map((o) => [o.name, prologueBytes(o.dtype, o.name, values)]),
      ),
  };
}

function matmulPlan(params: Omit<Parameters<typeof planMatmul>[0], "values" | keyof PlanDevice>): Plan {
  const { a, b, bias, after } = params;
  const before = operandPrologues(params, ["a", "b"], [a, b]);
  checkEpilogue(after);
  const float = DTYPES[a].compute === "f32";
  const kernel = matmul({
    ...(float ? { a, b } : { a: "float32", b: "float32" }),
    out: params.out,
    tile: "small",
    aFast: "k",
    bFast: "n",
    ...(bias && { bias }),
    ...(after && { after }),
  });
  const rest = after ? epilogue(after, params.out).uniforms : [];
  if (float !== (DTYPES[b].compute === "f32") || (!float && (bias || after || before.any)))
    throw new UnsupportedKernelError("matmul", `${a}, ${b}`);
  if (!float)
    reduce({
      stage: "full",
      lanes: 1,
      kept: 4,
      reduced: 1,
      inputs: [{ dtype: a }, { dtype: b }],
      nodes: [{ in: 0 }, { in: 1 }, { op: "mul", args: [0, 1], dtype: params.out }],
      outputs: [{ op: "sum", node: 2, dtype: params.out }],
    });
  return {
    family: "matmul",
    buffers: before.buffers(bindingBuffers(kernel.bindings)),
    words: before.words(kernel.uniforms, rest),
    free: NONE,
    steps: (values, device) => {
      const steps = planMatmul({ ...params, values, ...device });
      const v = Object.assign({}, ...steps.map((s) => s.values)) as Values;
      const rows = value(values, "batches") * value(values, "M") * value(values, "N");
      return {
        steps,
        scratch: {
          ...before.scratch(values, steps),
          ...(steps.length > 1 && {
            part: v["splits"] ? rows * v["splits"] * 4 : rows * (v["chunks"] ?? 1) * 8,
            sum: rows * 4,
            product: rows * 4,
          }),
        },
      };
    },
  };
}

function convPlan(
  given: Omit<ConvParams, "tile" | "split" | "rows" | "first" | "second"> & {
    readonly first?: Prologue;
    readonly second?: Prologue;
  },
): Plan {
  const { first, second, ...params } = given;
  const { pass, bias, after, dtype } = params;
  const [a, b, out] = BUFFERS[pass];
  const operands = [a, b] as const;
  const before = operandPrologues(given, operands, [dtype, dtype]);
  checkEpilogue(after);
  const nd = params.kernel.length;
  for (const k of ["stride", "padding", "dilation"] as const)
    if (params[k].length !== nd) throw new Error(`${k} has ${params[k].length} numbers for ${nd} dims`);
  if (pass === "weight" && (bias || after)) throw new Error("the weight's gradient has neither bias nor epilogue");
  const kernel = conv({ ...params, tile: "small" });
  const names = kernel.bindings.map((b) => b.name);
  const offsetWords = offsetsOf(...operands, ...(bias ? ["bias"] : []), out);
  const rest = after ? epilogue(after, params.dtype).uniforms : [];
  return {
    family: "conv",
    buffers: before.buffers(bindingBuffers(kernel.bindings)),
    words: before.words(
      [...uniform("u32", "batch", "groups", "wide", "narrow"), ...imageWords(nd), ...offsetWords, ...rest],
      rest,
    ),
    free: NONE,
    steps: (values, { software, subgroups, f16 }) => {
      const [batch, groups, wide, narrow] = ["batch", "groups", "wide", "narrow"].map((n) => value(values, n)) as [
        number,
        number,
        number,
        number,
      ];
      if (wide % groups || narrow % groups)
        throw new Error(`${wide} and ${narrow} channels do not make ${groups} groups`);
      const sizes = (t: "x" | "y"): number[] => range(nd).map((d) => value(values, `${t}${d}`));
      // Depthwise: direct sums. A CPU computes several places of a row at a time, if the window allows it.
      const rows = software && inRows(params, pass);
      if ((rows || !software) && groups > 1 && groups === wide && (pass === "forward" || !bias)) {
        const own = depthwise({
          ...params,
          ...(rows && { rows }),
          ...(subgroups && pass === "weight" && { subgroups }),
        });
        const steps = [
          ...before.separate(values),
          { kernel: own, values: { ...values, channels: wide, mult: narrow / wide }, buffers: names },
        ];
        return { steps, scratch: before.scratch(values, steps) };
      }
      const operand = Object.fromEntries(before.words([], []).map((w) => [w.name, value(values, w.name)]));
      const steps = planConv({
        ...given,
        batch,
        groups,
        wide,
        narrow,
        wideSize: sizes("x"),
        narrowSize: sizes("y"),
        offsets: Object.fromEntries(offsetWords.map((w) => [w.name, value(values, w.name)])),
        operand,
        rest: Object.fromEntries(rest.map((w) => [w.name, value(values, w.name)])),
        software,
        ...(f16 && { f16 }),
      });
      const split = steps.find((s) => s.buffers.includes("part"))?.values;
      return {
        steps,
        scratch: {
          ...before.scratch(values, steps),
          ...(split && { part: value(split, "splits") * groups * value(split, "M") * value(split, "N") * 4 }),
        },
      };
    },
  };
}

function poolPlan(params: Parameters<typeof pool>[0]): Plan {
  const ones = params.kernel.map(() => 1);
  return singleKernel(
    "pool",
    pool({
      ...params,
      stride: params.stride ?? ones,
      padding: params.padding ?? ones.map(() => 0),
      dilation: params.dilation ?? ones,
    }),
  );
}

function attentionPlan(params: Omit<AttentionParams, "direct" | "f16">): Plan {
  const kernel = attention(params);
  const buffers = bindingBuffers(kernel.bindings),
    names = kernel.bindings.map((b) => b.name);
  const small = params.dim <= DIRECT_HEADS && params.valueDim <= DIRECT_HEADS;
  return {
    family: "attention",
    buffers,
    words: kernel.uniforms,
    free: new Set(kernel.uniforms.map((w) => w.name).filter((w) => !["B", "H", "L"].includes(w))),
    steps: (values, { software, f16 }) => {
      let own = kernel;
      if (software && small) own = attention({ ...params, direct: true });
      else if (f16 && params.dtype === "float16") own = attention({ ...params, f16 });
      return { steps: [{ kernel: own, values, buffers: names }] };
    },
  };
}

interface FamilyPlan {
  readonly build: Builder;
  readonly params: readonly string[];
}
const family = (build: Builder, ...params: string[]): FamilyPlan => ({ build, params });
const WINDOW = ["kernel", "stride", "padding", "dilation"];

export const PLANS: Readonly<Record<string, FamilyPlan>> = {
  fused: family(fusedPlan, "ndim", "inputs", "nodes", "outputs"),
  reduce: family(reducePlan, "kept", "reduced", "inputs", "nodes", "outputs", "inner", "after"),
  softmax: family(softmaxPlan, "log", "backward", "dtype", "out"),
  layerNorm: family(layerNormPlan, "dtype", "rms", "weight", "bias", "backward"),
  matmul: family(matmulPlan, "a", "b", "out", "first", "second", "bias", "after"),
  conv: family(convPlan, "pass", "dtype", ...WINDOW, "first", "second", "bias", "after"),
  pool: family(poolPlan, "op", "dtype", ...WINDOW, "backward", "countPadding", "divisor", "positions"),
  gather: family((p: never) => singleKernel("gather", gather(p)), "ndim", "dtype", "indices", "wrap"),
  scatter: family(
    scatterPlan,
    "ndim",
    "dtype",
    "indices",
    "wrap",
    "mode",
    "scalar",
    "skip",
    "ordered",
    "wide",
    "fresh",
  ),
  join: family((p: never) => singleKernel("join", join(p)), "ndim", "dim", "dtype", "parts"),
  pad: family((p: never) => singleKernel("pad", pad(p)), "ndim", "dtype", "mode", "backward"),
  scan: family(scanPlan, "op", "dtype", "out"),
  sort: family(sortPlan, "dtype", "descending", "indices"),
  search: family((p: never) => singleKernel("search", search(p)), "dtype", "values", "compute", "right", "out"),
  compact: family(compactPlan, "op", "dtype", "data", "ndim"),
  upsample: family((p: never) => singleKernel("upsample", upsample(p)), "mode", "ndim", "dtype", "align", "backward"),
  crossEntropy: family(crossEntropyPlan, "dtype", "weight", "smooth", "nll", "backward"),
  attention: family(attentionPlan, "dtype", "dim", "valueDim", "causal", "mask"),
  sgd: family((p: never) => singleKernel("sgd", sgd(p)), "momentum", "nesterov", "maximize", "first", "count"),
  adam: family((p: never) => singleKernel("adam", adam(p)), "amsgrad", "decoupled", "maximize", "count"),
  many: family((p: never) => singleKernel("many", many(p)), "op", "count"),
  linalg: family((p: never) => singleKernel("linalg", linalg(p)), "op", "complex"),
};

/** The plan of a key "family:{parameters as JSON}". Throws UnsupportedKernelError for what cannot be built. */
export function planOf(key: string): Plan {
  const at = key.indexOf(":");
  return planWith(at < 0 ? key : key.slice(0, at), () => JSON.parse(key.slice(at + 1)) as Params);
}

/** The plan of a family; `given` makes its parameters. */
export function planWith(name: string, given: () => Params): Plan {
  const entry = Object.hasOwn(PLANS, name) ? PLANS[name] : undefined;
  if (!entry) throw new UnsupportedKernelError(name, "no such family", "has no WebGPU kernel");
  try {
    const params = given();
    const unknown = Object.keys(params).find((k) => !entry.params.includes(k));
    if (unknown !== undefined) throw new Error(`there is no parameter ${unknown}`);
    for (const k of ["dtype", "out", "data", "a", "b", "bias", "mask"].filter((n) => typeof params[n] === "string"))
      checkDtype(params[k]);
    for (const k of ["inputs", "outputs", "nodes"])
      for (const x of (params[k] as readonly Params[] | undefined) ?? []) checkDtype(x["dtype"]);
    for (const d of (params["indices"] as readonly unknown[] | undefined) ?? []) checkDtype(d);
    return entry.build(params as never);
  } catch (e) {
    if (e instanceof UnsupportedKernelError) throw e;
    throw new UnsupportedKernelError(name, e instanceof Error ? e.message : String(e), "cannot be planned");
  }
}
