/** The tiled kernel of a matrix product: its bindings, uniforms and WGSL around the loops of gemm(). */
import { accessors, castTo, four, halfForm, input, outForm, output } from "../../wgsl/access";
import { type EpilogueGraph, epilogue } from "../elementwise/epilogue";
import { type InlinePrologue, inlineScalars, operandFunctions, prologueBuffers } from "../elementwise/prologue";
import {
  type Binding,
  type DType,
  isFloat,
  type Kernel,
  type UniformWord,
  uniform,
  UnsupportedKernelError,
} from "../spec";
import { gemm, type TileName, TILES, wide as widened } from "./gemm";
import { sources } from "./matmul_operands";

export interface MatmulParams {
  readonly a: DType;
  readonly b: DType;
  readonly out: DType;
  readonly tile: TileName;
  readonly aFast: "m" | "k";
  readonly bFast: "n" | "k";
  /**
   * The operand is read by vectors: its neighbours are next to each other in memory, and sizes, strides and offset are
   * multiples of four. Without workgroup memory only where they lie along m (n).
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
  // where a vector lies: along m (n) or along k
  const placeA = params.aFast === "m" ? "base_a + m + k * p.ak" : "base_a + m * p.am + k";
  const placeB = params.bFast === "n" ? "base_b + n + k * p.bk" : "base_b + n * p.bn + k";
  const loadA = vecA
    ? `fn load_a4(m: i32, k: i32) -> vec4<${typeA}> {
  if (${inA}) { return ${quad("a", a, placeA, halfA)}; } return vec4<${typeA}>();
}`
    : `fn load_a(m: i32, k: i32) -> ${typeA} {
  if (${inA}) {
    return ${element("a", ofA, first, (x) => `base_${x} + m * p.${x}m + k * p.${x}k`, halfA)};
  }
  return 0.0;
}`;
  const loadB = vecB
    ? `fn load_b4(k: i32, n: i32) -> vec4<${typeB}> {
  if (${inB}) { return ${quad("b", b, placeB, halfB)}; } return vec4<${typeB}>();
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
