/**
 * For tests: one shader at least of everything that builders make. Those with subgroups only where they are asked for:
 * Firefox's compiler has none.
 */
import type { EpilogueGraph } from "../src/kernels/elementwise/epilogue";
import type { Node } from "../src/kernels/elementwise/expression";
import { OPS, type OpName } from "../src/kernels/elementwise/op_table";
import { FAMILIES, type Families, type Family } from "./families";
import { DTYPES, type DType, type Kernel } from "../src/kernels/spec";

const f = "float32" as const;
const window = { kernel: [3, 2], stride: [2, 1], padding: [1, 0], dilation: [1, 2] };
const c = { dtype: f, layout: "c" } as const,
  s = { dtype: f, layout: "s" } as const;
const square: Node[] = [{ in: 0 }, { op: "square", args: [0], dtype: f }];

const after: EpilogueGraph = {
  ndim: 2,
  inputs: [{ dtype: "float16", layout: "s" }],
  nodes: [{ product: f }, { in: 0 }, { op: "mul", args: [0, 1], dtype: f }, { op: "gelu", args: [2], dtype: f }],
  outputs: [
    { node: 3, dtype: f },
    { node: 0, dtype: f },
  ],
};

const CASES: { readonly [F in Family]: readonly Families[F][] } = {
  fused: (Object.keys(DTYPES) as DType[]).flatMap((dtype) => [
    ...[false, true].map((whole) => ({
      ndim: 0,
      inputs: [c],
      nodes: [{ in: 0 }, { op: "cast" as const, args: [0], dtype }],
      outputs: [{ node: 1, dtype, layout: "c" as const }],
      whole,
    })),
    {
      ndim: 2,
      inputs: [{ dtype, layout: "s" as const }],
      nodes: [{ in: 0 }, { coord: 1 }, { op: "cast", args: [0], dtype: f }],
      outputs: [
        { node: 2, ...s },
        { node: 1, dtype: "int32", layout: "s" as const },
      ],
    },
    {
      ndim: 1,
      inputs: [{ dtype, layout: "s" as const, alias: 0 }],
      nodes: [{ in: 0 }],
      outputs: [{ node: 0, dtype, layout: "s" as const }],
    },
  ]),
  reduce: (["full", "partial", "combine"] as const).flatMap((stage) => [
    {
      stage,
      lanes: 64,
      kept: 1,
      reduced: 2,
      inputs: [{ dtype: f }],
      nodes: square,
      outputs: (["sum", "var"] as const).map((op) => ({ op, node: 1, dtype: f })),
    },
    {
      stage,
      lanes: 64,
      kept: 1,
      reduced: 1,
      inputs: [{ dtype: "int64" as const }],
      nodes: [{ in: 0 }],
      outputs: [{ op: "argmax" as const, node: 0, dtype: "int64" as const }],
    },
    {
      stage,
      lanes: 1,
      kept: 1,
      reduced: 1,
      inputs: [{ dtype: f }],
      nodes: square,
      outputs: [
        { op: "logsumexp" as const, node: 1, dtype: f },
        { op: "rstd" as const, node: 1, dtype: f },
      ],
    },
  ]),
  softmax: [
    { log: true, dtype: f, out: f, lanes: 1 },
    { log: false, backward: true, dtype: "float16", out: f, lanes: 64 },
  ],
  layerNorm: [
    { dtype: f, weight: true, bias: true, lanes: 64 },
    { dtype: f, weight: true, backward: true, lanes: 1 },
    { dtype: "bfloat16", rms: true, lanes: 32 },
  ],
  matmul: (["small", "wide", "medium", "large", "direct", "thin"] as const).map((tile) => ({
    a: f,
    b: f,
    out: f,
    tile,
    aFast: "m" as const,
    bFast: "n" as const,
    ...(tile !== "thin" && { vecA: true }),
    vecB: true,
    bias: f,
    after,
  })),
  conv: (["forward", "input", "weight"] as const).map((pass) => ({
    pass,
    dtype: f,
    ...window,
    tile: "small" as const,
    split: pass === "weight",
  })),
  depthwise: [
    ...(["forward", "input", "weight"] as const).map((pass) => ({ pass, dtype: f, ...window })),
    { pass: "forward", dtype: f, ...window, rows: true },
  ],
  pool: (["max", "avg", "adaptive", "adaptive_max"] as const).flatMap((op) =>
    [false, true].map((backward) => ({ op, dtype: f, ...window, backward })),
  ),
  gather: [
    { ndim: 2, dtype: f, indices: ["int64", "int32"], wrap: true },
    { ndim: 1, dtype: "bool", indices: ["int64"] },
  ],
  scatter: (["set", "add", "prod", "amax", "amin"] as const).map((mode) => ({
    ndim: 2,
    dtype: f,
    indices: ["int64"],
    mode,
  })),
  segment: (["places", "join"] as const).map((stage) => ({
    stage,
    ndim: 1,
    dtype: "int64" as const,
    indices: ["int64" as const],
    mode: "amax" as const,
    wide: true,
    skip: true,
  })),
  join: [{ ndim: 2, dim: 1, dtype: f, parts: 3 }],
  pad: (["reflect", "replicate", "circular"] as const).flatMap((mode) =>
    [false, true].map((backward) => ({ ndim: 2, dtype: f, mode, backward })),
  ),
  scan: [
    { op: "cumsum", dtype: f, out: f, lanes: 64 },
    { op: "cummax", dtype: "int64", out: "int64", lanes: 64 },
    { op: "cumprod", dtype: f, out: f, lanes: 256, chunked: "totals" },
    { op: "logcumsumexp", dtype: f, out: f, lanes: 256, chunked: "apply" },
    ...(["totals", "apply"] as const).map((chunked) => ({
      op: "cummin" as const,
      dtype: "int8" as const,
      out: "int8" as const,
      lanes: 256,
      chunked,
    })),
  ],
  sort: (["runs", "whole", "merge", "finish"] as const).flatMap((stage) =>
    [f, "int64" as const].map((dtype) => ({ stage, dtype })),
  ),
  search: [
    { dtype: f, values: f, compute: f, right: true, out: "int64" },
    { dtype: "int64", values: "int32", compute: "int64", out: "int32" },
  ],
  compact: [
    { op: "count", dtype: f },
    { op: "index", dtype: "bool", ndim: 2 },
    { op: "select", dtype: "bool", data: "int8" },
    { op: "scatter", dtype: "bool", data: f },
  ],
  upsample: (["nearest", "nearest-exact", "linear", "cubic"] as const).flatMap((mode) =>
    [false, true].map((backward) => ({ mode, ndim: 2, dtype: f, backward })),
  ),
  crossEntropy: [
    { dtype: f, lanes: 64, weight: true, smooth: true },
    { dtype: f, lanes: 64, weight: true, smooth: true, backward: true },
    { dtype: f, lanes: 1, nll: true, weight: true },
    { dtype: f, lanes: 64, nll: true, backward: true },
  ],
  attention: [
    { dtype: f, dim: 64, valueDim: 10, causal: true, mask: "bool" },
    { dtype: "float16", dim: 128, valueDim: 128 },
    { dtype: f, dim: 64, valueDim: 10, causal: true, mask: "bool", direct: true },
    { dtype: "float16", dim: 7, valueDim: 6, mask: f, direct: true },
  ],
  sgd: [{ momentum: true, nesterov: true }, {}],
  adam: [{ amsgrad: true }, { decoupled: true }, { count: 2 }],
  many: [
    { op: "scale", count: 3 },
    { op: "squares", count: 3 },
  ],
  linalg: (["lu", "swap", "trsm", "cholesky", "geqrf", "orgqr", "jacobi"] as const).flatMap((op) => [
    { op },
    { op, complex: true },
  ]),
};

/** Every operation in a graph of its own, for each class of numbers that has it. */
function operations(): Kernel[] {
  return (Object.entries(OPS) as [OpName, (typeof OPS)[OpName]][]).flatMap(([op, def]) => {
    if (!def) return [];
    const of = [...(def.f ? [f] : []), ...(def.i ? ["int32" as const] : []), ...(def.l ? ["int64" as const] : [])];
    return of.map((dtype) => {
      const out: DType = def.result === "bool" ? "bool" : dtype;
      const inputs = Array.from({ length: def.arity }, (_, i) => ({
        dtype: def.condition && i === 0 ? ("bool" as const) : dtype,
        layout: "c" as const,
      }));
      const nodes: Node[] = [
        ...inputs.map((_, i) => ({ in: i })),
        { op, args: inputs.map((_, i) => i), dtype: out, compute: dtype },
      ];
      return FAMILIES.fused({ ndim: 0, inputs, nodes, outputs: [{ node: nodes.length - 1, dtype: out, layout: "c" }] });
    });
  });
}

const sub = { lanes: 64, subgroups: true } as const;
const SUBGROUPS: { readonly [F in Family]?: readonly Families[F][] } = {
  reduce: [
    ...(["full", "partial", "combine"] as const).map((stage) => ({
      stage,
      ...sub,
      kept: 1,
      reduced: 2,
      inputs: [{ dtype: f }],
      nodes: square,
      outputs: (["sum", "var", "amax", "logsumexp", "argmin"] as const).map((op) => ({
        op,
        node: 1,
        dtype: op === "argmin" ? ("int64" as const) : f,
      })),
    })),
    {
      stage: "full",
      ...sub,
      kept: 1,
      reduced: 1,
      inputs: [{ dtype: "int64" as const }],
      nodes: [{ in: 0 }],
      outputs: (["sum", "argmax", "any"] as const).map((op) => ({ op, node: 0, dtype: "int64" as const })),
    },
  ],
  depthwise: [{ pass: "weight", dtype: f, ...window, subgroups: true }],
  softmax: [
    { log: true, dtype: f, out: f, ...sub },
    { log: false, backward: true, dtype: "float16", out: f, ...sub },
  ],
  layerNorm: [
    { dtype: f, weight: true, bias: true, ...sub },
    { dtype: f, weight: true, backward: true, ...sub },
  ],
  crossEntropy: [
    { dtype: f, weight: true, smooth: true, ...sub },
    { dtype: f, weight: true, smooth: true, backward: true, ...sub },
  ],
};

export function catalog({ subgroups = false } = {}): Kernel[] {
  const built = (Object.keys(FAMILIES) as Family[]).flatMap((name) =>
    [...CASES[name], ...((subgroups && SUBGROUPS[name]) || [])].map((params) =>
      (FAMILIES[name] as (p: unknown) => Kernel)(params),
    ),
  );
  return [...built, ...operations()];
}
