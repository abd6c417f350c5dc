/**
 * Products that are summed without a tile: vectors and integers as a reduction, long sums in parts, and what is left to
 * do after either.
 */
import { appendEpilogue, epilogueStep, epilogueWords } from "../elementwise/epilogue";
import type { Node } from "../elementwise/expression";
import { fusedAnywhere } from "../elementwise/fused";
import { inlineScalars, joined } from "../elementwise/prologue";
import { planReduce, reduce } from "../rows/reduce";
import { computeOf, type DType, type Step, type Values, value } from "../spec";
import { type MatmulPlan, type Operand, operandOf, sources } from "./matmul_operands";

/** c = alpha * sum + beta * e for a dense float32 "sum", and the epilogue. */
export function finish(plan: MatmulPlan, nb1: number): Step[] {
  const { values: v, bias, out, after } = plan;
  const [M, N, batches] = ["M", "N", "batches"].map((n) => value(v, n)) as [number, number, number];
  const n = batches * M * N;
  // an epilogue with a bias, if both need dims of their own: two kernels
  if (after && bias && after.ndim > 0) {
    const { after: _, ...own } = plan;
    return [
      ...finish({ ...own, values: { ...v, co: 0 } }, nb1).map((s) => ({
        ...s,
        buffers: s.buffers.map((x) => (x === "c" ? "product" : x)),
      })),
      epilogueStep(after, out, n, v),
    ];
  }
  const nodes: Node[] = [{ in: 0 }, { scalar: 0, dtype: "float32" }, { op: "mul", args: [0, 1], dtype: "float32" }];
  if (bias)
    nodes.push({ in: 1 }, { scalar: 1, dtype: "float32" }, { op: "add_scaled", args: [2, 3, 4], dtype: "float32" });
  const inputs = [
    { dtype: "float32" as DType, layout: "c" as const },
    ...(bias ? [{ dtype: bias, layout: "s" as const }] : []),
  ];
  const values: Values = {
    n,
    size0: batches / nb1,
    size1: nb1,
    size2: M,
    size3: N,
    i0o: 0,
    i1o: v["eo"] ?? 0,
    i1s0: v["eb0"] ?? 0,
    i1s1: v["eb1"] ?? 0,
    i1s2: v["em"] ?? 0,
    i1s3: v["en"] ?? 0,
    q0o: v["co"] ?? 0,
    c0: v["alpha"] ?? 1,
    c1: v["beta"] ?? 1,
  };
  if (!after) {
    const kernel = fusedAnywhere(
      { ndim: 4, inputs, nodes, outputs: [{ node: nodes.length - 1, dtype: out, layout: "c" }] },
      values,
    );
    return [{ ...kernel, buffers: ["sum", ...(bias ? ["e"] : []), "c"] }];
  }
  nodes.push({ op: "cast", args: [nodes.length - 1], dtype: out });
  const own = bias ? 2 : 1;
  const rest = appendEpilogue(after, nodes, nodes.length - 1, own, own);
  const kernel = fusedAnywhere(
    {
      ndim: bias ? 4 : after.ndim,
      inputs: [...inputs, ...after.inputs],
      nodes: rest.nodes,
      outputs: after.outputs.map((o) => ({ node: rest.place(o.node), dtype: o.dtype, layout: "c" })),
    },
    { ...values, ...epilogueWords(after, v, own, own) },
  );
  return [
    {
      ...kernel,
      buffers: [
        "sum",
        ...(bias ? ["e"] : []),
        ...after.inputs.map((_, k) => `in${k}`),
        ...after.outputs.map((_, k) => `out${k}`),
      ],
    },
  ];
}

/** Sums partial results [splits, rows] in "part" into a contiguous buffer. */
export function joinParts(rows: number, splits: number, out: DType, offset: number, name: string): Step {
  const kernel = reduce({
    stage: "full",
    lanes: 1,
    kept: 1,
    reduced: 1,
    inputs: [{ dtype: "float32" }],
    nodes: [{ in: 0 }],
    outputs: [{ op: "sum", node: 0, dtype: out }],
  });
  return {
    kernel,
    buffers: ["part", name],
    values: { rows, n: splits, k0: rows, r0: splits, i0o: 0, i0k0: 1, i0r0: rows, q0o: offset },
  };
}

const countOf = (nodes: readonly Node[]): number =>
  nodes.reduce((n, x) => ("scalar" in x ? Math.max(n, x.scalar + 1) : n), 0);

/** The sum over k of a * b as a reduction, for vectors (bound by memory) and integers. */
export function planProductSum(plan: MatmulPlan, nb1: number, to: "c" | "sum" = "c"): Step[] {
  const v = plan.values;
  const g = (n: string): number => value(v, n);
  const dtype: DType = computeOf(plan.out) === "f32" ? "float32" : plan.out;
  const x = operandOf(plan, "a", g("N"), false),
    y = operandOf(plan, "b", g("M"), false);
  // the graphs of both operands in one list of nodes
  const inputs = [...(x.inline?.inputs ?? [{ dtype: plan.a }]), ...(y.inline?.inputs ?? [{ dtype: plan.b }])];
  const own = (t: "a" | "b", { inline }: Operand): string[] =>
    (inline ? inlineScalars(inline, `${t}`) : []).map((w) => w.name);
  const nodesA: readonly Node[] = x.inline?.nodes ?? [{ in: 0 }];
  const scalars = countOf(nodesA);
  const nodes = joined(nodesA, y.inline?.nodes ?? [{ in: 0 }], x.places.length, scalars);
  const scalarWords = Object.fromEntries([
    ...own("a", x).map((n) => [n.slice(2), value(v, n)]),
    ...own("b", y).map((n) => [n.slice(2).replace(/\d+/, (d) => `${Number(d) + scalars}`), value(v, n)]),
  ]);
  const placesOf = (operand: Operand, from: number, m: number, n: number): [string, number][] =>
    operand.places.flatMap(({ offset, strides: [b0, b1, s, k] }, j) => {
      const i = `i${from + j}`;
      return [
        [`${i}o`, offset],
        [`${i}k0`, b0!],
        [`${i}k1`, b1!],
        [`${i}k2`, s! * m],
        [`${i}k3`, s! * n],
        [`${i}r0`, k!],
      ] as [string, number][];
    });
  const steps = planReduce({
    ...(plan.software && { software: true }),
    ...(plan.subgroups && { subgroups: true }),
    kept: 4,
    reduced: 1,
    inputs,
    nodes: [...nodes, { op: "mul", args: [nodesA.length - 1, nodes.length - 1], dtype }],
    outputs: [{ op: "sum", node: nodes.length, dtype: plan.out }],
    inner: g("M") > 1 ? g("ak") === 1 : g("bk") === 1,
    values: {
      rows: g("batches") * g("M") * g("N"),
      n: g("K"),
      k0: g("batches") / nb1,
      k1: nb1,
      k2: g("M"),
      k3: g("N"),
      r0: g("K"),
      ...Object.fromEntries([...placesOf(x, 0, 1, 0), ...placesOf(y, x.places.length, 0, 1)]),
      ...scalarWords,
      q0o: to === "c" ? g("co") : 0,
    },
  });
  const names: Readonly<Record<string, string>> = {
    ...Object.fromEntries([...sources("a", x.inline), ...sources("b", y.inline)].map((name, k) => [`in${k}`, name])),
    out0: to,
    part0: "part",
  };
  return [...x.steps, ...y.steps, ...steps.map((s) => ({ ...s, buffers: s.buffers.map((b) => names[b]!) }))];
}
