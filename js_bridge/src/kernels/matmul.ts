/**
 * Matrix products: out = alpha * A B + beta * bias with any strides on A, B and bias and two batch dims; float32,
 * float16 and bfloat16 with float32 accumulation. planMatmul picks the tile, cuts long sums into parts, and takes
 * reductions for vectors and for integers (exact, int64 included).
 */
import { accessors, castTo, input, outForm, output } from "../wgsl/access.js";
import { type After, epilogue, following, followingWords, separate } from "./epilogue.js";
import type { Node } from "./expression.js";
import { fused } from "./fused.js";
import { chooseTile, gemm, splitK, type TileName, TILES } from "./gemm.js";
import { planReduce, reduce } from "./reduce.js";
import { type Binding, computeOf, type DType, isFloat, type Kernel, type Step, type UniformWord, uniform, UnsupportedKernelError, type Values, value } from "./spec.js";

export interface MatmulParams {
  readonly a: DType;
  readonly b: DType;
  readonly out: DType;
  readonly tile: TileName;
  readonly aFast: "m" | "k";
  readonly bFast: "n" | "k";
  /** float32 operands whose fast direction is m (n), and whose sizes, strides and offset are multiples of four. */
  readonly vecA?: boolean;
  readonly vecB?: boolean;
  readonly bias?: DType;
  /** What is computed of the result, which is dense and is not stored itself. */
  readonly after?: After;
  /** Writes partial sums [splits, batches, M, N] in float32, nothing added. */
  readonly split?: boolean;
}

const operand = (t: string, x: string, y: string): string[] => [`${t}o`, `${t}${x}`, `${t}${y}`, `${t}b0`, `${t}b1`];

/**
 * Uniforms: M, N, K, batches, nb1 (size of the inner batch dim), [splits, kchunk]; offset and strides ao am ak ab0 ab1,
 * bo bk bn bb0 bb1, co cm cn cb0 cb1 (not when split), [eo em en eb0 eb1 of bias]; alpha, [beta]; [those of the epilogue].
 */
export function matmul(params: MatmulParams): Kernel {
  const { a, b, out, vecA, vecB, bias, split } = params;
  const after = split || !params.after ? undefined : epilogue(params.after, out);
  if (!isFloat(a) || !isFloat(b)) throw new UnsupportedKernelError("matmul", isFloat(a) ? b : a);
  const outType: DType = split ? "float32" : out;
  const bindings: Binding[] = [input("a", a, vecA ? "vec" : "elem"), input("b", b, vecB ? "vec" : "elem")];
  if (bias && !split) bindings.push(input("e", bias));
  bindings.push(...(after?.bindings ?? [output("c", outType)]));
  const uniforms: UniformWord[] = [...uniform("u32", "M", "N", "K", "batches", "nb1", ...(split ? ["splits", "kchunk"] : [])),
    ...uniform("i32", ...operand("a", "m", "k"), ...operand("b", "k", "n"))];
  if (!split) uniforms.push(...uniform("i32", ...operand("c", "m", "n"), ...(bias ? operand("e", "m", "n") : [])), ...uniform("f32", "alpha", ...(bias ? ["beta"] : [])), ...(after?.uniforms ?? []));

  const base = (t: string): string => `p.${t}o + z0 * p.${t}b0 + z1 * p.${t}b1`;
  const inA = "m < i32(p.M) && k < k_end", inB = "n < i32(p.N) && k < k_end";
  const sum = split ? "v" : bias ? "p.alpha * v + p.beta * ld_e(base_e + m * p.em + n * p.en)" : "p.alpha * v";
  const value = castTo(sum, "float32", outType);
  const globals = `var<private> base_a: i32; var<private> base_b: i32; var<private> base_c: i32; var<private> base_e: i32;
${vecA ? "" : accessors("a", a, "elem", false)}
${vecB ? "" : accessors("b", b, "elem", false)}
${bias && !split ? accessors("e", bias, "elem", false) : ""}
${after?.globals ?? accessors("c", outType, outForm(outType), true)}
fn setup(z: u32${split ? ", part: u32" : ""}) {
  let z0 = i32(z / p.nb1); let z1 = i32(z % p.nb1);
  base_a = ${base("a")}; base_b = ${base("b")};
  ${split ? "base_c = i32((part * p.batches + z) * p.M * p.N);" : `base_c = ${after ? "i32(z * p.M * p.N)" : base("c")};${bias ? ` base_e = ${base("e")};` : ""}`}
}
${TILES[params.tile].bk === 0 ? `fn row_m(m: i32) -> i32 { return base_a + m * p.am; }
fn row_n(n: i32) -> i32 { return base_b + n * p.bn; }
fn along_a(k: i32) -> i32 { return k * p.ak; }
fn along_b(k: i32) -> i32 { return k * p.bk; }
${vecA ? "fn get_a4(i: i32) -> vec4<f32> { return a[i >> 2u]; }" : "fn get_a(i: i32) -> f32 { return ld_a(i); }"}
${vecB ? "fn get_b4(i: i32) -> vec4<f32> { return b[i >> 2u]; }" : "fn get_b(i: i32) -> f32 { return ld_b(i); }"}`
    : `${vecA ? `fn load_a4(m: i32, k: i32) -> vec4<f32> { if (${inA}) { return a[(base_a + m + k * p.ak) >> 2u]; } return vec4<f32>(0.0); }`
      : `fn load_a(m: i32, k: i32) -> f32 { if (${inA}) { return ld_a(base_a + m * p.am + k * p.ak); } return 0.0; }`}
${vecB ? `fn load_b4(k: i32, n: i32) -> vec4<f32> { if (${inB}) { return b[(base_b + n + k * p.bk) >> 2u]; } return vec4<f32>(0.0); }`
      : `fn load_b(k: i32, n: i32) -> f32 { if (${inB}) { return ld_b(base_b + k * p.bk + n * p.bn); } return 0.0; }`}`}
fn store(m: i32, n: i32, v: f32) { ${after ? "finish" : "st_c"}(${split || after ? "base_c + m * i32(p.N) + n" : "base_c + m * p.cm + n * p.cn"}, ${value}); }`;
  return gemm({ family: "matmul", params, bindings, uniforms, globals, tile: params.tile, aFast: params.aFast, bFast: params.bFast,
    ...(vecA && { vecA }), ...(vecB && { vecB }), ...(split && { split }) });
}

export interface MatmulPlan {
  readonly a: DType;
  readonly b: DType;
  readonly out: DType;
  readonly bias?: DType;
  readonly after?: After;
  /** M, N, K, batches, nb1, alpha, beta and all strides, named as in the kernel's uniforms. */
  readonly values: Values;
  /** The adapter is a CPU (isFallbackAdapter). */
  readonly software?: boolean;
  /** Sums may go through subgroups. */
  readonly subgroups?: boolean;
}

/** Products from which on a second dispatch pays. */
const LONG = 1 << 16;

const fours = (v: Values, ...names: string[]): boolean => names.every((n) => value(v, n) % 4 === 0);

/** The words of the product of the transposed operands in reverse order, whose result is the transpose. */
function transposed(v: Values): Values {
  const other: Readonly<Record<string, string>> = { M: "N", N: "M", am: "bn", ak: "bk", bk: "ak", bn: "am", cm: "cn", cn: "cm", em: "en", en: "em", ao: "bo", bo: "ao", ab0: "bb0", bb0: "ab0", ab1: "bb1", bb1: "ab1" };
  return Object.fromEntries(Object.entries(v).map(([name, x]) => [other[name] ?? name, x]));
}

/** The kernels of one product. Buffers a, b, [e], c (with an epilogue its inputs and outputs instead); scratch part: float32 of splits * batches * M * N; sum and product: a result. */
export function planMatmul(plan: MatmulPlan): Step[] {
  const { values: v, bias, out, after } = plan;
  const [M, N, K, batches, nb1] = ["M", "N", "K", "batches", "nb1"].map((n) => value(v, n)) as [number, number, number, number, number];
  // a CPU adds up columns side by side better than one by one: a matrix times a vector is taken as its transpose
  if (plan.software && isFloat(plan.a) && N === 1 && M > 1) {
    return planMatmul({ ...plan, a: plan.b, b: plan.a, values: transposed(v) }).map((s) => ({ ...s, buffers: s.buffers.map((x) => (x === "a" ? "b" : x === "b" ? "a" : x)) }));
  }
  const plain = !bias && !after && (v["alpha"] ?? 1) === 1;
  const c = (n: string): number => v[n] ?? 0;
  // sums of parts and of products are written in order
  const ordered = (N <= 1 || c("cn") === 1) && (M <= 1 || c("cm") === N) && (nb1 <= 1 || c("cb1") === M * N) && (batches <= nb1 || c("cb0") === nb1 * M * N);
  if (!isFloat(plan.a) || (!plan.software && plain && ordered && (M === 1 || N === 1) && K > 0)) {
    if (after || !plain || !ordered) throw new UnsupportedKernelError(plain ? "matmul" : "addmm", plan.a, plain ? "needs a contiguous result" : "has no WebGPU kernel for integers");
    return planProductSum(plan, nb1);
  }
  // vectors of some size to which something is added: in a tile nearly all rows would be computed in vain
  if (!plan.software && !plain && ordered && (M === 1 || N === 1) && K > 0 && K * M * N * batches >= LONG) return [...planProductSum({ ...plan, out: "float32" }, nb1, "sum"), ...finish(plan, nb1)];
  const choice = chooseTile(M, N, K, batches, plan.software);
  const { tile } = choice, splits = ordered ? choice.splits : 1;
  const aFast = value(v, "am") === 1 && value(v, "ak") !== 1 ? "m" : "k";
  const bFast = value(v, "bn") === 1 ? "n" : "k";
  const vecA = plan.a === "float32" && aFast === "m" && fours(v, "M", "ak", "ao", "ab0", "ab1");
  const vecB = plan.b === "float32" && bFast === "n" && fours(v, "N", "bk", "bo", "bb0", "bb1");
  const common = { a: plan.a, b: plan.b, out, tile, aFast, bFast, ...(vecA && { vecA }), ...(vecB && { vecB }) } as const;
  if (splits === 1) {
    const kernel = matmul({ ...common, ...(bias && { bias }), ...(after && { after }) });
    return [{ kernel, values: { alpha: 1, beta: 1, ...v }, buffers: kernel.bindings.map((x) => x.name) }];
  }
  const parts = splitK(K, splits);
  const rows = batches * M * N;
  const steps: Step[] = [{ kernel: matmul({ ...common, split: true }), values: { ...v, ...parts }, buffers: ["a", "b", "part"] }];
  const toOut = plain ? out : "float32";
  steps.push(joinParts(rows, parts["splits"]!, toOut, value(v, "co"), plain ? "c" : "sum"));
  if (plain) return steps;
  return [...steps, ...finish(plan, nb1)];
}

/** c = alpha * sum + beta * e for a dense float32 "sum", and what follows. */
function finish(plan: MatmulPlan, nb1: number): Step[] {
  const { values: v, bias, out, after } = plan;
  const [M, N, batches] = ["M", "N", "batches"].map((n) => value(v, n)) as [number, number, number];
  const n = batches * M * N;
  // an epilogue with dims of its own beside a bias: two kernels
  if (after && bias && after.ndim > 0) {
    const { after: _, ...own } = plan;
    return [...finish({ ...own, values: { ...v, co: 0 } }, nb1).map((s) => ({ ...s, buffers: s.buffers.map((x) => (x === "c" ? "product" : x)) })), separate(after, out, n, v)];
  }
  const nodes: Node[] = [{ in: 0 }, { scalar: 0, dtype: "float32" }, { op: "mul", args: [0, 1], dtype: "float32" }];
  if (bias) nodes.push({ in: 1 }, { scalar: 1, dtype: "float32" }, { op: "add_scaled", args: [2, 3, 4], dtype: "float32" });
  const inputs = [{ dtype: "float32" as DType, layout: "c" as const }, ...(bias ? [{ dtype: bias, layout: "s" as const }] : [])];
  const values: Values = { n, size0: batches / nb1, size1: nb1, size2: M, size3: N, i0o: 0, i1o: v["eo"] ?? 0, i1s0: v["eb0"] ?? 0, i1s1: v["eb1"] ?? 0, i1s2: v["em"] ?? 0, i1s3: v["en"] ?? 0, q0o: v["co"] ?? 0, c0: v["alpha"] ?? 1, c1: v["beta"] ?? 1 };
  if (!after) {
    const kernel = fused({ ndim: 4, inputs, nodes, outputs: [{ node: nodes.length - 1, dtype: out, layout: "c" }] });
    return [{ kernel, buffers: ["sum", ...(bias ? ["e"] : []), "c"], values }];
  }
  nodes.push({ op: "cast", args: [nodes.length - 1], dtype: out });
  const own = bias ? 2 : 1;
  const rest = following(after, nodes, nodes.length - 1, own, own);
  const kernel = fused({ ndim: bias ? 4 : after.ndim, inputs: [...inputs, ...after.inputs], nodes: rest.nodes, outputs: after.outputs.map((o) => ({ node: rest.place(o.node), dtype: o.dtype, layout: "c" })) });
  return [{ kernel, values: { ...values, ...followingWords(after, v, own, own) }, buffers: ["sum", ...(bias ? ["e"] : []), ...after.inputs.map((_, k) => `in${k}`), ...after.outputs.map((_, k) => `out${k}`)] }];
}

/** Sum of partial results [splits, rows] in "part" into a contiguous buffer. */
export function joinParts(rows: number, splits: number, out: DType, offset: number, name: string): Step {
  const kernel = reduce({ stage: "full", lanes: 1, kept: 1, reduced: 1, inputs: [{ dtype: "float32" }], nodes: [{ in: 0 }], outputs: [{ op: "sum", node: 0, dtype: out }] });
  return { kernel, buffers: ["part", name], values: { rows, n: splits, k0: rows, r0: splits, i0o: 0, i0k0: 1, i0r0: rows, q0o: offset } };
}

/** sum over k of a * b as a reduction: vectors (bound by memory) and integers. */
function planProductSum(plan: MatmulPlan, nb1: number, to: "c" | "sum" = "c"): Step[] {
  const v = plan.values;
  const g = (n: string): number => value(v, n);
  const dtype: DType = computeOf(plan.out) === "f32" ? "float32" : plan.out;
  const steps = planReduce({
    ...(plan.software && { software: true }), ...(plan.subgroups && { subgroups: true }), kept: 4, reduced: 1, inputs: [{ dtype: plan.a }, { dtype: plan.b }],
    nodes: [{ in: 0 }, { in: 1 }, { op: "mul", args: [0, 1], dtype }], outputs: [{ op: "sum", node: 2, dtype: plan.out }],
    inner: g("M") > 1 ? g("ak") === 1 : g("bk") === 1,
    values: { rows: g("batches") * g("M") * g("N"), n: g("K"), k0: g("batches") / nb1, k1: nb1, k2: g("M"), k3: g("N"), r0: g("K"),
      i0o: g("ao"), i0k0: g("ab0"), i0k1: g("ab1"), i0k2: g("am"), i0k3: 0, i0r0: g("ak"), i1o: g("bo"), i1k0: g("bb0"), i1k1: g("bb1"), i1k2: 0, i1k3: g("bn"), i1r0: g("bk"), q0o: to === "c" ? g("co") : 0 },
  });
  const names: Readonly<Record<string, string>> = { in0: "a", in1: "b", out0: to, part0: "part" };
  return steps.map((s) => ({ ...s, buffers: s.buffers.map((b) => names[b]!) }));
}

