/**
 * Reading and writing elements of any dtype. A binding has one of three forms:
 *   elem    one element an access; packed dtypes are read-only in this form
 *   vec     four elements an access, from a multiple of four
 *   atomic  packed dtypes that several invocations write: each clears and sets only the bits of its own element
 *   f16     one float16 an access, of the type f16; f16x4 four. For devices with shader-f16 that read every half as it
 *   is (halves.ts).
 */
import { type Binding, type Compute, computeOf, DTYPES, type DType, perWord, WGSL_TYPE } from "../kernels/spec";

export type Form = "elem" | "vec" | "atomic" | "f16" | "f16x4";

const VEC: { readonly [D in DType]: string } = {
  float32: "vec4<f32>",
  int32: "vec4<i32>",
  int64: "vec2<u32>",
  float16: "vec2<u32>",
  bfloat16: "vec2<u32>",
  int16: "vec2<u32>",
  int8: "u32",
  uint8: "u32",
  bool: "u32",
};

export function bindingType(dtype: DType, form: Form): string {
  if (form === "vec") return `array<${VEC[dtype]}>`;
  if (form === "f16" || form === "f16x4") return form === "f16" ? "array<f16>" : "array<vec4<f16>>";
  if (perWord(dtype) > 1) return form === "atomic" ? "array<atomic<u32>>" : "array<u32>";
  return `array<${WGSL_TYPE[computeOf(dtype)]}>`;
}

/** Form for an operand that may be read as f16, and may be read four at a time. */
export const halfForm = (half?: boolean, vec?: boolean): Form => {
  if (half) return vec ? "f16x4" : "f16";
  return vec ? "vec" : "elem";
};

/** Form for an output that is written element by element. */
export const outForm = (dtype: DType): Form => (perWord(dtype) > 1 ? "atomic" : "elem");

export const input = (name: string, dtype: DType, form: Form = "elem"): Binding => ({
  name,
  type: bindingType(dtype, form),
  access: "read",
});
export const output = (name: string, dtype: DType, form: Form = outForm(dtype)): Binding => ({
  name,
  type: bindingType(dtype, form),
  access: "read_write",
});

/** Compute value of the bits of one packed element. */
function unpack(dtype: DType, bits: string): string {
  switch (dtype) {
    case "float16":
      return `tl_half_to_f32(${bits})`;
    case "bfloat16":
      return `tl_bf16_to_f32(${bits})`;
    case "int16":
      return `extractBits(bitcast<i32>(${bits}), 0u, 16u)`;
    case "int8":
      return `extractBits(bitcast<i32>(${bits}), 0u, 8u)`;
    default:
      return `bitcast<i32>(${bits})`;
  }
}

/** Bits of a compute value in a packed dtype (mask included). */
function pack(dtype: DType, v: string): string {
  switch (dtype) {
    case "float16":
      return `tl_f32_to_half(${v})`;
    case "bfloat16":
      return `tl_f32_to_bf16(${v})`;
    case "int16":
      return `(bitcast<u32>(${v}) & 0xffffu)`;
    case "bool":
      return `select(0u, 1u, ${v} != 0)`;
    default:
      return `(bitcast<u32>(${v}) & 0xffu)`;
  }
}

/** Four float values of an element of the form "vec" at `at`, counted in fours, as vec4<f32>. */
export function four(name: string, dtype: DType, at: string): string {
  const word = `${name}[${at}]`;
  if (dtype === "float16") return `tl_half4_to_f32(${word})`;
  return dtype === "bfloat16" ? `tl_bf16x4_to_f32(${word})` : word;
}

/** Functions ld_<name>(i: i32) and, for outputs, st_<name>(i: i32, v). */
export function accessors(name: string, dtype: DType, form: Form, writes: boolean): string {
  if (form === "f16") return `fn ld_${name}(i: i32) -> f32 { return f32(${name}[i]); }`;
  const t = WGSL_TYPE[computeOf(dtype)];
  const per = perWord(dtype);
  if (per === 1) {
    const ld = `fn ld_${name}(i: i32) -> ${t} { return ${name}[i]; }`;
    return writes ? `${ld}\nfn st_${name}(i: i32, v: ${t}) { ${name}[i] = v; }` : ld;
  }
  const bits = 32 / per;
  const mask = per === 4 ? "0xffu" : "0xffffu";
  const log = per === 4 ? 2 : 1;
  const word = form === "atomic" ? `atomicLoad(&${name}[u >> ${log}u])` : `${name}[u >> ${log}u]`;
  const ld = `fn ld_${name}(i: i32) -> ${t} {
  let u = u32(i); let b = (${word} >> ((u & ${per - 1}u) * ${bits}u)) & ${mask}; return ${unpack(dtype, "b")};
}`;
  if (!writes) return ld;
  return `${ld}
fn st_${name}(i: i32, v: ${t}) {
  let u = u32(i);
  let s = (u & ${per - 1}u) * ${bits}u;
  atomicAnd(&${name}[u >> ${log}u], ~(${mask} << s));
  atomicOr(&${name}[u >> ${log}u], ${pack(dtype, "v")} << s);
}`;
}

/** Statements that read four elements from index `at` (a multiple of four), and the expression of the j-th. */
export function loadVec(name: string, dtype: DType, at: string, tag: string): { pre: string; get(j: number): string } {
  if (computeOf(dtype) === "f32")
    return { pre: `let ${tag} = ${four(name, dtype, `(${at}) >> 2u`)};`, get: (j) => `${tag}[${j}]` };
  switch (DTYPES[dtype].bytes) {
    case 8:
      return { pre: "", get: (j) => `${name}[${at} + ${j}]` };
    case 4:
      return { pre: `let ${tag} = ${name}[(${at}) >> 2u];`, get: (j) => `${tag}[${j}]` };
    case 2:
      return {
        pre: `let ${tag} = ${name}[(${at}) >> 2u];`,
        get: (j) => unpack(dtype, `((${tag}[${j >> 1}] >> ${16 * (j & 1)}u) & 0xffffu)`),
      };
    default:
      return {
        pre: `let ${tag} = ${name}[(${at}) >> 2u];`,
        get: (j) => unpack(dtype, `((${tag} >> ${8 * j}u) & 0xffu)`),
      };
  }
}

/**
 * Statements that write `count` (an expression, 1 to 4; all four without it) values from index `at`; elements beyond
 * keep what they were.
 */
export function storeVec(name: string, dtype: DType, at: string, v: readonly string[], count?: string): string {
  const word = `${name}[(${at}) >> 2u]`;
  const bytes = DTYPES[dtype].bytes;
  const one = (j: number): string => {
    if (bytes === 8) return `${name}[${at} + ${j}] = ${v[j]};`;
    if (bytes === 4) return `${word}[${j}] = ${v[j]};`;
    if (bytes === 2)
      return `${word}[${j >> 1}] = insertBits(${word}[${j >> 1}], ${pack(dtype, v[j]!)}, ${16 * (j & 1)}u, 16u);`;
    return `${word} = insertBits(${word}, ${pack(dtype, v[j]!)}, ${8 * j}u, 8u);`;
  };
  const four = (): string => {
    if (bytes === 8) return [0, 1, 2, 3].map(one).join(" ");
    if (bytes === 4) return `${word} = vec4(${v.join(", ")});`;
    if (computeOf(dtype) === "f32")
      return `${word} = ${dtype === "float16" ? "tl_f32_to_half4" : "tl_f32_to_bf16x4"}(vec4<f32>(${v.join(", ")}));`;
    const bits = v.map((x) => pack(dtype, x));
    if (bytes === 2) return `${word} = vec2<u32>(${bits[0]} | (${bits[1]} << 16u), ${bits[2]} | (${bits[3]} << 16u));`;
    return `${word} = ${bits[0]} | (${bits[1]} << 8u) | (${bits[2]} << 16u) | (${bits[3]} << 24u);`;
  };
  // On a software adapter the test alone makes a plain addition half as fast.
  if (count === undefined) return four();
  const some = [0, 1, 2].map((j) => `if (${count} > ${j}) { ${one(j)} }`);
  return `if (${count} >= 4) { ${four()} } else { ${some.join(" ")} }`;
}

/** Value of class `from` in class `to`. */
export function convert(v: string, from: Compute, to: Compute): string {
  if (from === to) return v;
  if (from === "f32") return to === "i32" ? `tl_f32_to_i32(${v})` : `tl_f32_to_i64(${v})`;
  if (from === "i32") return to === "f32" ? `tl_i32_to_f32(${v})` : `tl_i64(${v})`;
  return to === "f32" ? `tl_i64_to_f32(${v})` : `bitcast<i32>((${v}).x)`;
}

/** Whether a value is not zero, as a WGSL bool. NaN is true. */
export function truth(v: string, from: Compute): string {
  if (from === "f32") return `tl_truth_f32(${v})`;
  return from === "i32" ? `(${v} != 0)` : `any(${v} != vec2<u32>(0u))`;
}

/** A compute value rounded to what the dtype can hold; the value keeps its class. */
export function narrow(v: string, dtype: DType): string {
  switch (dtype) {
    case "float16":
      return `tl_round_float16(${v})`;
    case "bfloat16":
      return `tl_round_bfloat16(${v})`;
    case "int16":
      return `extractBits(${v}, 0u, 16u)`;
    case "int8":
      return `extractBits(${v}, 0u, 8u)`;
    case "uint8":
      return `(${v} & 255)`;
    case "bool":
      return `select(0, 1, ${v} != 0)`;
    default:
      return v;
  }
}

/** Conversion between dtypes: class change, then rounding; to bool it is a test against zero. */
export function castTo(v: string, from: DType, to: DType): string {
  if (from === to) return v;
  if (to === "bool") return `select(0, 1, ${truth(v, computeOf(from))})`;
  return narrow(convert(v, computeOf(from), computeOf(to)), to);
}
