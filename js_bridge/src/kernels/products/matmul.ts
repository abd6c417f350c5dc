/**
 * Matrix products: out = alpha * A B + beta * bias with any strides on A, B and bias and two batch dims; float32,
 * float16 and bfloat16 with float32 accumulation. planMatmul picks the tile and cuts long sums into parts. For vectors
 * and for integers it uses the reduction kernels (exact, int64 included).
 */
import { accessors, castTo, four, halfForm, input, outForm, output } from "../../wgsl/access";
import { type EpilogueGraph, epilogue, appendEpilogue, epilogueWords, epilogueStep } from "../elementwise/epilogue";
import type { Node } from "../elementwise/expression";
import { fusedAnywhere } from "../elementwise/fused";
import { chooseTile, gemm, splitK, type TileName, TILES, wide as widened } from "./gemm";
import { planReduce, reduce } from "../rows/reduce";
import {
  type Prologue,
  prologueBuffers,
  type InlinePrologue,
  inlineScalars,
  joined,
  operandFunctions,
  prologueStep,
  type Place,
  inlinePlaces,
  cheaperInline,
} from "../elementwise/prologue";
import {
  type Binding,
  computeOf,
  type DType,
  isFloat,
  type Kernel,
  type Step,
  type UniformWord,
  uniform,
  UnsupportedKernelError,
  type Values,
  value,
} from "../spec";

export interface MatmulParams {
  readonly a: DType;
  readonly b: DType;
  readonly out: DType;
  readonly tile: TileName;
  readonly aFast: "m" | "k";
  readonly bFast: "n" | "k";
  /**
   * The operand is read by vectors: neighbours lie along m (n), and sizes, strides and offset are multiples of four.
   */
  readonly vecA?: boolean;
  readonly vecB?: boolean;
  /** Prologues of the operands, inside this kernel. */
  readonly first?: InlinePrologue;
  readonly second?: InlinePrologue;
  /** float16 operands without a prologue are read as f16. */
  readonly f16?: boolean;
  readonly bias?: DType;
  /** Epilogue on the dense result; its outputs are stored in place of it. */
  readonly after?: EpilogueGraph;
  /** Writes partial sums [splits, batches, M, N] in float32, without alpha, bias or epilogue. */
  readonly split?: boolean;
}

const operand = (t: string, x: string, y: string): string[] => [`${t}o`, `${t}${x}`, `${t}${y}`, `${t}b0`, `${t}b1`];

/** Names of the buffers from which an operand is read. */
const sources = (t: "a" | "b", before?: InlinePrologue): string[] =>
  before ? before.inputs.map((_, k) => `${t}${k}`) : [t];

/**
 * Uniforms: M, N, K, batches, nb1 (size of the inner batch dim), [splits, kchunk]; offset and strides ao am ak ab0 ab1,
 * bo bk bn bb0 bb1, co cm cn cb0 cb1 (not when split), [eo em en eb0 eb1 of bias]; alpha, [beta]; [those of the
 * epilogue]. An operand with a prologue has offset and strides for each of its inputs a<k> (b<k>), and scalars a_c<k>.
 */
export function matmul(params: MatmulParams): Kernel {
  const { a, b, out, vecA, vecB, first, second, bias, split } = params;
  const halfA = params.f16 && a === "float16" && !first,
    halfB = params.f16 && b === "float16" && !second;
  const [typeA, typeB] = [halfA ? "f16" : "f32", halfB ? "f16" : "f32"];
  const after = split || !params.after ? undefined : epilogue(params.after, out);
  if (!isFloat(a) || !isFloat(b)) throw new UnsupportedKernelError("matmul", isFloat(a) ? b : a);
  const outType: DType = split ? "float32" : out;
  const bindings: Binding[] = [
    ...(first ? prologueBuffers(first, "a") : [input("a", a, halfForm(halfA, vecA))]),
    ...(second ? prologueBuffers(second, "b") : [input("b", b, halfForm(halfB, vecB))]),
  ];
  const ofA = sources("a", first),
    ofB = sources("b", second);
  if (bias && !split) bindings.push(input("e", bias));
  bindings.push(...(after?.bindings ?? [output("c", outType)]));
  const uniforms: UniformWord[] = [
    ...uniform("u32", "M", "N", "K", "batches", "nb1", ...(split ? ["splits", "kchunk"] : [])),
    ...uniform("i32", ...ofA.flatMap((t) => operand(t, "m", "k")), ...ofB.flatMap((t) => operand(t, "k", "n"))),
    ...(first ? inlineScalars(first, "a") : []),
    ...(second ? inlineScalars(second, "b") : []),
  ];
  if (!split)
    uniforms.push(
      ...uniform("i32", ...operand("c", "m", "n"), ...(bias ? operand("e", "m", "n") : [])),
      ...uniform("f32", "alpha", ...(bias ? ["beta"] : [])),
      ...(after?.uniforms ?? []),
    );

  const base = (t: string): string => `p.${t}o + z0 * p.${t}b0 + z1 * p.${t}b1`;
  const inA = "m < i32(p.M) && k < k_end",
    inB = "n < i32(p.N) && k < k_end";
  const scaled = bias ? "p.alpha * v + p.beta * ld_e(base_e + m * p.em + n * p.en)" : "p.alpha * v";
  const sum = split ? "v" : scaled;
  const value = castTo(sum, "float32", outType);
  // an operand's element from those of its sources; at(source) is the place of each
  const element = (
    t: "a" | "b",
    of: readonly string[],
    before: InlinePrologue | undefined,
    at: (source: string) => string,
    half?: boolean,
  ): string => {
    if (half) return `${t}[${at(t)}]`;
    return before ? `of_${t}(${of.map((x) => `ld_${x}(${at(x)})`).join(", ")})` : `ld_${t}(${at(t)})`;
  };
  // the same if the sources differ only in their offsets, from the place in the first one
  const shifted =
    (of: readonly string[]) =>
    (x: string): string =>
      x === of[0] ? "i" : `i - base_${of[0]} + base_${x}`;
  const quad = (t: string, dtype: DType, at: string, half?: boolean): string =>
    half ? `${t}[(${at}) >> 2u]` : four(t, dtype, `(${at}) >> 2u`);
  // functions that read one element of an operand; an operand that is read by vectors needs none
  const readers = (
    t: "a" | "b",
    dtype: DType,
    before: InlinePrologue | undefined,
    vec?: boolean,
    half?: boolean,
  ): string => {
    if (before) return operandFunctions(before, t, dtype);
    return vec ? "" : accessors(t, dtype, halfForm(half), false);
  };
  const get = (
    t: "a" | "b",
    dtype: DType,
    of: readonly string[],
    before?: InlinePrologue,
    vec?: boolean,
    half?: boolean,
  ): string =>
    vec
      ? `fn get_${t}4(i: i32) -> vec4<f32> {
  return ${widened(half, quad(t, dtype, "i", half))};
}`
      : `fn get_${t}(i: i32) -> f32 { return ${element(t, of, before, shifted(of))}; }`;
  const begins = (of: readonly string[], x: string): string => (of[0] ? `base_${of[0]} + ${x} * p.${of[0]}${x}` : "0");
  const along = (of: readonly string[]): string => (of[0] ? `k * p.${of[0]}k` : "0");
  // the functions that gemm() calls without workgroup memory: places along rows and columns, elements by place
  const byPlace = (): string => `fn row_m(m: i32) -> i32 { return ${begins(ofA, "m")}; }
fn row_n(n: i32) -> i32 { return ${begins(ofB, "n")}; }
fn along_a(k: i32) -> i32 { return ${along(ofA)}; }
fn along_b(k: i32) -> i32 { return ${along(ofB)}; }
${get("a", a, ofA, first, vecA, halfA)}
${get("b", b, ofB, second, vecB, halfB)}`;
  const loadA = vecA
    ? `fn load_a4(m: i32, k: i32) -> vec4<${typeA}> {
  if (${inA}) { return ${quad("a", a, "base_a + m + k * p.ak", halfA)}; } return vec4<${typeA}>();
}`
    : `fn load_a(m: i32, k: i32) -> ${typeA} {
  if (${inA}) {
    return ${element("a", ofA, first, (x) => `base_${x} + m * p.${x}m + k * p.${x}k`, halfA)};
  }
  return 0.0;
}`;
  const loadB = vecB
    ? `fn load_b4(k: i32, n: i32) -> vec4<${typeB}> {
  if (${inB}) { return ${quad("b", b, "base_b + n + k * p.bk", halfB)}; } return vec4<${typeB}>();
}`
    : `fn load_b(k: i32, n: i32) -> ${typeB} {
  if (${inB}) {
    return ${element("b", ofB, second, (x) => `base_${x} + k * p.${x}k + n * p.${x}n`, halfB)};
  }
  return 0.0;
}`;
  const reads = TILES[params.tile].bk === 0 ? byPlace() : `${loadA}\n${loadB}`;
  const baseE = bias ? ` base_e = ${base("e")};` : "";
  const baseC = after ? "i32(z * p.M * p.N)" : base("c");
  const bases = split ? "base_c = i32((part * p.batches + z) * p.M * p.N);" : `base_c = ${baseC};${baseE}`;
  const put = after ? "finish" : "st_c";
  const placeC = split || after ? "base_c + m * i32(p.N) + n" : "base_c + m * p.cm + n * p.cn";
  const globals = `${[...ofA, ...ofB, "c", "e"].map((t) => `var<private> base_${t}: i32;`).join(" ")}
${readers("a", a, first, vecA, halfA)}
${readers("b", b, second, vecB, halfB)}
${bias && !split ? accessors("e", bias, "elem", false) : ""}
${after?.globals ?? accessors("c", outType, outForm(outType), true)}
fn setup(z: u32${split ? ", part: u32" : ""}) {
  let z0 = i32(z / p.nb1); let z1 = i32(z % p.nb1);
  ${[...ofA, ...ofB].map((t) => `base_${t} = ${base(t)};`).join(" ")}
  ${bases}
}
${reads}
fn store(m: i32, n: i32, v: f32) { ${put}(${placeC}, ${value}); }`;
  return gemm({
    family: "matmul",
    params,
    bindings,
    uniforms,
    globals,
    tile: params.tile,
    aFast: params.aFast,
    bFast: params.bFast,
    ...(vecA && { vecA }),
    ...(vecB && { vecB }),
    ...(halfA && { halfA }),
    ...(halfB && { halfB }),
    ...(split && { split }),
  });
}

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

/** The number of multiplications from which on a second dispatch pays off. */
const LONG = 1 << 16;

const fours = (v: Values, ...names: string[]): boolean => names.every((n) => value(v, n) % 4 === 0);

/** The words of the transposed product, B^T A^T, whose result is the transpose. */
function transposed(v: Values): Values {
  const other: Readonly<Record<string, string>> = {
    M: "N",
    N: "M",
    am: "bn",
    ak: "bk",
    bk: "ak",
    bn: "am",
    cm: "cn",
    cn: "cm",
    em: "en",
    en: "em",
    ao: "bo",
    bo: "ao",
    ab0: "bb0",
    bb0: "ab0",
    ab1: "bb1",
    bb1: "ab1",
  };
  return Object.fromEntries(
    Object.entries(v).map(([name, x]) => [other[name] ?? name.replace(/^[ab](?=_)/, (t) => swap(t)), x]),
  );
}
const swap = (t: string): string => (t === "a" ? "b" : "a");

/** An operand for the kernels: a prologue inside the kernel, or a buffer, which a step before it may have to fill. */
interface Operand {
  readonly inline?: InlinePrologue;
  readonly places: readonly Place[];
  readonly steps: readonly Step[];
}

/** times: how often each element is read; alike: its sources may differ only in their offsets. */
function operandOf(plan: MatmulPlan, t: "a" | "b", times: number, alike: boolean): Operand {
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
function placeWords(t: "a" | "b", { inline, places }: Operand): Record<string, number> {
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

/**
 * The kernels of one product. Buffers: a, b (with a prologue its inputs a0.., b0..; a and b are scratch then), [e], c
 * (with an epilogue its inputs and outputs instead). Scratch: part, float32 of splits * batches * M * N; sum and
 * product, each of the result's size.
 */
export function planMatmul(plan: MatmulPlan): Step[] {
  const { values: v, bias, out, after } = plan;
  const [M, N, K, batches, nb1] = ["M", "N", "K", "batches", "nb1"].map((n) => value(v, n)) as [
    number,
    number,
    number,
    number,
    number,
  ];
  // a CPU sums columns side by side faster than one by one, so a matrix times a vector runs as the transposed product
  if (plan.software && isFloat(plan.a) && N === 1 && M > 1) {
    const { first, second, ...rest } = plan;
    return planMatmul({
      ...rest,
      ...(second && { first: second }),
      ...(first && { second: first }),
      a: plan.b,
      b: plan.a,
      values: transposed(v),
    }).map((s) => ({ ...s, buffers: s.buffers.map((x) => x.replace(/^[ab](?=\d*$)/, swap)) }));
  }
  const plain = !bias && !after && (v["alpha"] ?? 1) === 1;
  const c = (n: string): number => v[n] ?? 0;
  // the kernels that sum parts and add a bias write contiguous results
  const ordered =
    (N <= 1 || c("cn") === 1) &&
    (M <= 1 || c("cm") === N) &&
    (nb1 <= 1 || c("cb1") === M * N) &&
    (batches <= nb1 || c("cb0") === nb1 * M * N);
  if (!isFloat(plan.a) || (!plan.software && plain && ordered && (M === 1 || N === 1) && K > 0)) {
    if (after || !plain || !ordered)
      throw new UnsupportedKernelError(
        plain ? "matmul" : "addmm",
        plan.a,
        plain ? "needs a contiguous result" : "has no WebGPU kernel for integers",
      );
    return planProductSum(plan, nb1);
  }
  // a long vector with an added bias: a tile would compute nearly all of its rows in vain
  if (!plan.software && !plain && ordered && (M === 1 || N === 1) && K > 0 && K * M * N * batches >= LONG)
    return [...planProductSum({ ...plan, out: "float32" }, nb1, "sum"), ...finish(plan, nb1)];
  const choice = chooseTile(M, N, K, batches, plan.software);
  const { tile } = choice,
    splits = ordered ? choice.splits : 1;
  const aFast = value(v, "am") === 1 && value(v, "ak") !== 1 ? "m" : "k";
  const bFast = value(v, "bn") === 1 ? "n" : "k";
  const software = plan.software ?? false,
    { bm, bn } = TILES[tile];
  const [x, y] = [operandOf(plan, "a", Math.ceil(N / bn), software), operandOf(plan, "b", Math.ceil(M / bm), software)];
  const own = { ...v, ...placeWords("a", x), ...placeWords("b", y) };
  const vecA = !x.inline && aFast === "m" && fours(v, "M", "ak", "ao", "ab0", "ab1");
  const vecB = !y.inline && bFast === "n" && fours(v, "N", "bk", "bo", "bb0", "bb1");
  const f16 = plan.f16 && !software && ((plan.a === "float16" && !x.inline) || (plan.b === "float16" && !y.inline));
  const common = {
    a: plan.a,
    b: plan.b,
    out,
    tile,
    aFast,
    bFast,
    ...(f16 && { f16 }),
    ...(vecA && { vecA }),
    ...(vecB && { vecB }),
    ...(x.inline && { first: x.inline }),
    ...(y.inline && { second: y.inline }),
  } as const;
  const steps: Step[] = [...x.steps, ...y.steps];
  if (splits === 1) {
    const kernel = matmul({ ...common, ...(bias && { bias }), ...(after && { after }) });
    return [...steps, { kernel, values: { alpha: 1, beta: 1, ...own }, buffers: kernel.bindings.map((x) => x.name) }];
  }
  const parts = splitK(K, splits);
  const rows = batches * M * N;
  const partial = matmul({ ...common, split: true });
  steps.push({
    kernel: partial,
    values: { ...own, ...parts },
    buffers: partial.bindings.map(({ name }) => (name === "c" ? "part" : name)),
  });
  const toOut = plain ? out : "float32";
  steps.push(joinParts(rows, parts["splits"]!, toOut, value(v, "co"), plain ? "c" : "sum"));
  if (plain) return steps;
  return [...steps, ...finish(plan, nb1)];
}

/** c = alpha * sum + beta * e for a dense float32 "sum", and the epilogue. */
function finish(plan: MatmulPlan, nb1: number): Step[] {
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
function planProductSum(plan: MatmulPlan, nb1: number, to: "c" | "sum" = "c"): Step[] {
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
