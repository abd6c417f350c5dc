import { expect, it } from "vitest";
import { planOf } from "../../src/kernels/plan";

const f = "float32";
const c = { dtype: f, layout: "c" },
  s = { dtype: f, layout: "s" };
const window = { kernel: [3, 3], stride: [1, 1], padding: [1, 1], dilation: [1, 1] };

/**
 * What README.md promises: buffers in order, the written ones with a star, and words in order. Python's planners are
 * written by it.
 */
const LAYOUTS: [string, object, string, string][] = [
  ["fused", { ndim: 0, inputs: [c], nodes: [{ in: 0 }], outputs: [{ node: 0, ...c }] }, "in0 out0*", "n i0o q0o"],
  [
    "fused",
    {
      ndim: 2,
      inputs: [s, { ...c, alias: 0 }],
      nodes: [{ in: 0 }, { in: 1 }, { scalar: 0, dtype: "int64" }, { scalar: 1, dtype: f }],
      outputs: [{ node: 0, ...c }],
    },
    "in0 out0*",
    "n size0 size1 i0o i0s0 i0s1 i1o q0o c0 c0h c1",
  ],
  [
    "reduce",
    {
      kept: 1,
      reduced: 2,
      inputs: [{ dtype: f }],
      nodes: [{ in: 0 }],
      outputs: [
        { op: "var", node: 0, dtype: f },
        { op: "rstd", node: 0, dtype: f },
      ],
    },
    "in0 out0* out1*",
    "rows n k0 r0 r1 i0o i0k0 i0r0 i0r1 q0o q1o correction eps",
  ],
  ["softmax", { log: false, dtype: f, out: f }, "x y*", "rows n inner xo yo"],
  ["softmax", { log: true, backward: true, dtype: f, out: f }, "g x y*", "rows n inner xo yo go"],
  ["layerNorm", { dtype: f, weight: true, bias: true }, "x w b y* mean* rstd*", "rows n xo yo eps wo bo meano rstdo"],
  ["layerNorm", { dtype: f, rms: true }, "x y* rstd*", "rows n xo yo eps rstdo"],
  ["layerNorm", { dtype: f, weight: true, backward: true }, "g x w mean rstd y*", "rows n xo yo go wo meano rstdo"],
  [
    "matmul",
    { a: f, b: f, out: f, bias: f },
    "a b e c*",
    "M N K batches nb1 ao am ak ab0 ab1 bo bk bn bb0 bb1 co cm cn cb0 cb1 eo em en eb0 eb1 alpha beta",
  ],
  [
    "conv",
    { pass: "forward", dtype: f, ...window, bias: true },
    "x w bias y*",
    "batch groups wide narrow x0 x1 y0 y1 xo wo biaso yo",
  ],
  ["conv", { pass: "input", dtype: f, ...window }, "gy w gx*", "batch groups wide narrow x0 x1 y0 y1 gyo wo gxo"],
  ["conv", { pass: "weight", dtype: f, ...window }, "gy x gw*", "batch groups wide narrow x0 x1 y0 y1 gyo xo gwo"],
  ["pool", { op: "max", dtype: f, ...window }, "x y* idx*", "planes x0 x1 y0 y1 xo yo idxo"],
  [
    "pool",
    { op: "avg", dtype: f, ...window, divisor: true, backward: true },
    "gy gx*",
    "planes x0 x1 y0 y1 divisor gyo gxo",
  ],
  ["pool", { op: "adaptive_max", dtype: f, kernel: [1], backward: true }, "gy idx gx*", "planes x0 y0 gyo idxo gxo"],
  [
    "gather",
    { ndim: 1, dtype: f, indices: ["int64"] },
    "src idx0 dst* status*",
    "n size0 ao as0 i0o i0s0 step0 extent0 qo check",
  ],
  [
    "scatter",
    { ndim: 1, dtype: f, indices: ["int64"], mode: "add" },
    "src idx0 dst* status*",
    "n size0 qo qs0 ao as0 i0o i0s0 step0 extent0 check",
  ],
  [
    "scatter",
    { ndim: 1, dtype: f, indices: ["int64"], mode: "add", wide: true, skip: true },
    "src idx0 dst* status*",
    "n size0 qo qs0 ao as0 i0o i0s0 step0 extent0 skip cols qc ac check",
  ],
  [
    "scatter",
    { ndim: 1, dtype: "int64", indices: ["int64"], mode: "set", scalar: true },
    "idx0 dst* status*",
    "n size0 qo qs0 i0o i0s0 step0 extent0 c0 c0h check",
  ],
  ["pad", { ndim: 1, dtype: f, mode: "reflect" }, "x y*", "n size0 in0 pad0 xo yo"],
  ["pad", { ndim: 1, dtype: f, mode: "reflect", backward: true }, "x dst*", "n size0 in0 pad0 xo dsto"],
  ["scan", { op: "cummax", dtype: f, out: f }, "x y* idx*", "outer n inner xo yo"],
  ["sort", { dtype: f, descending: true }, "x y* idx*", "rows n k xo yo idxo"],
  ["compact", { op: "count", dtype: f }, "x ends*", "n xo"],
  ["compact", { op: "index", dtype: f, ndim: 2 }, "x ends out*", "n size0 size1 xo outo"],
  ["compact", { op: "select", dtype: "bool", data: f }, "x ends src out*", "n xo srco outo"],
  ["upsample", { mode: "linear", ndim: 2, dtype: f }, "x y*", "planes x0 x1 y0 y1 scale0 scale1 xo yo"],
  ["upsample", { mode: "nearest", ndim: 1, dtype: f, backward: true }, "gy gx*", "planes x0 y0 scale0 gyo gxo"],
  [
    "crossEntropy",
    { dtype: f, weight: true, smooth: true },
    "x labels w loss* lse* counts* status*",
    "rows n inner ignore smoothing xo labelso wo losso lseo countso check",
  ],
  ["crossEntropy", { dtype: f, backward: true }, "x labels lse g y*", "rows n inner ignore gs xo labelso lseo go yo"],
  [
    "attention",
    { dtype: f, dim: 64, valueDim: 64, mask: "bool" },
    "q k v mask y* lse*",
    "B H L S group scale qo qb qh ql ko kb kh ks vo vb vh vs mo mb mh ml ms yo yb yh yl lseo",
  ],
  ["sgd", { momentum: true }, "g w* m*", "n lr weight_decay momentum keep"],
  ["adam", { amsgrad: true }, "g w* m* v* top*", "n shrink weight_decay w1 beta2 w2 size root eps"],
  ["linalg", { op: "lu" }, "a* piv* info*", "batches m n pivot ao pivo infoo"],
  ["linalg", { op: "swap", complex: true }, "piv x*", "batches n r pivo xo"],
  ["linalg", { op: "trsm" }, "a x*", "batches n r upper unit ao xo"],
  ["linalg", { op: "cholesky" }, "a* info*", "batches n ao infoo"],
  ["linalg", { op: "geqrf" }, "a* tau*", "batches m n ao tauo"],
  ["linalg", { op: "orgqr" }, "a tau q*", "batches m n k ao tauo qo"],
  ["linalg", { op: "jacobi" }, "a* v*", "batches r m ao vo"],
];

it.each(LAYOUTS)("%s %j", (family, params, buffers, words) => {
  const plan = planOf(`${family}:${JSON.stringify(params)}`);
  expect(plan.buffers.map((b) => b.name + (b.writes ? "*" : "")).join(" ")).toBe(buffers);
  expect(plan.words.map((w) => w.name).join(" ")).toBe(words);
});

it("steps name only the plan's buffers and scratch that has a size", () => {
  for (const [family, params] of [
    ...LAYOUTS,
    ["scan", { op: "cumsum", dtype: f, out: f }],
    ["matmul", { a: "int32", b: "int32", out: "int64" }],
    ["matmul", { a: f, b: f, out: f }],
  ] as const) {
    const plan = planOf(`${family}:${JSON.stringify(params)}`);
    for (const size of [1, 9000]) {
      const values = Object.fromEntries(
        plan.words.map((w) => [w.name, ["n", "K", "batch", "r0"].includes(w.name) ? size : 1]),
      );
      const { steps, scratch = {} } = plan.steps(values, { software: false });
      expect(steps.length).toBeGreaterThan(0);
      for (const { kernel, buffers, values: given } of steps) {
        expect(buffers.length).toBe(kernel.bindings.length);
        for (const b of buffers)
          if (!plan.buffers.some((own) => own.name === b))
            expect([family, b, scratch[b]! > 0]).toEqual([family, b, true]);
        for (const w of kernel.uniforms)
          expect([family, w.name, (given[w.name] ?? w.init) !== undefined]).toEqual([family, w.name, true]);
      }
    }
  }
});
