/**
 * Pointwise operations by name: one WGSL expression for each compute class that has the operation.
 * Operands are x, y, z, w in order (tensors or scalars alike). f: f32, i: i32, l: int64 as vec2<u32>.
 * result: "same" class as the operands, "bool" (the expression is a WGSL bool), "float" (integers are computed as f32).
 * A null entry would be an operation without a WGSL form; the builder refuses such by name.
 */
import { SPECIALS, type SpecialName } from "./op_special";
import { COMPLEX_OPS, type ComplexName } from "./op_complex";
import { ACTIVATIONS, type ActivationName } from "./op_activation";

export interface OpDef {
  readonly arity: number;
  readonly result: "same" | "bool" | "float";
  readonly f?: string;
  readonly i?: string;
  readonly l?: string;
  /** The first operand is a condition, whatever the class of the others. */
  readonly condition?: boolean;
  /** For bool operands (computed as i32), when `i` would be wrong. */
  readonly b?: string;
}

const F = (f: string, arity = 1): OpDef => ({ arity, result: "float", f });
const S = (arity: number, f?: string, i?: string, l?: string, b?: string): OpDef => ({
  arity,
  result: "same",
  ...(f && { f }),
  ...(i && { i }),
  ...(l && { l }),
  ...(b && { b }),
});
const B = (arity: number, f: string, i: string, l: string): OpDef => ({ arity, result: "bool", f, i, l });
const ZERO = "vec2<u32>(0u)";

export type UnaryName =
  | "neg"
  | "abs"
  | "sign"
  | "sgn"
  | "square"
  | "ceil"
  | "floor"
  | "trunc"
  | "round"
  | "frac"
  | "exp"
  | "exp2"
  | "expm1"
  | "log"
  | "log2"
  | "log10"
  | "log1p"
  | "sqrt"
  | "rsqrt"
  | "reciprocal"
  | "sin"
  | "cos"
  | "tan"
  | "asin"
  | "acos"
  | "atan"
  | "sinh"
  | "cosh"
  | "tanh"
  | "asinh"
  | "acosh"
  | "atanh"
  | "sigmoid"
  | "erf"
  | "erfc"
  | "erfinv"
  | "lgamma"
  | "digamma"
  | "sinc"
  | "i0"
  | "deg2rad"
  | "rad2deg"
  | "logit"
  | "logit_eps"
  | "round_decimals"
  | "round_tens"
  | "frexp_mantissa"
  | "frexp_exponent"
  | "polygamma"
  | "angle"
  | "conj_physical"
  | "nan_to_num"
  | "logical_not"
  | "bitwise_not"
  | "isnan"
  | "isinf"
  | "isfinite"
  | "isposinf"
  | "isneginf"
  | "signbit";

const UNARY: { readonly [K in UnaryName]: OpDef | null } = {
  neg: S(1, "-x", "-x", "tl_i64_neg(x)"),
  abs: S(1, "abs(x)", "abs(x)", "tl_i64_abs(x)"),
  sign: S(1, "select(select(0.0, 1.0, tl_lt(0.0, x)), -1.0, tl_lt(x, 0.0))", "sign(x)", "tl_i64_sign(x)"),
  sgn: S(1, "select(select(0.0, 1.0, tl_lt(0.0, x)), -1.0, tl_lt(x, 0.0))", "sign(x)", "tl_i64_sign(x)"),
  square: S(1, "x * x", "x * x", "tl_i64_mul(x, x)"),
  ceil: S(1, "ceil(x)", "x", "x"),
  floor: S(1, "floor(x)", "x", "x"),
  trunc: S(1, "trunc(x)", "x", "x"),
  round: S(1, "tl_round(x)", "x", "x"),
  frac: S(1, "x - trunc(x)"),
  exp: F("tl_exp(x)"),
  exp2: F("tl_exp2(x)"),
  expm1: F("tl_expm1(x)"),
  log: F("tl_log(x)"),
  log2: F("tl_log2(x)"),
  log10: F("tl_log10(x)"),
  log1p: F("tl_log1p(x)"),
  sqrt: F("tl_sqrt(x)"),
  rsqrt: F("tl_div(1.0, tl_sqrt(x))"),
  reciprocal: F("tl_div(1.0, x)"),
  sin: F("tl_sin(x)"),
  cos: F("tl_cos(x)"),
  tan: F("tl_tan(x)"),
  asin: F("tl_asin(x)"),
  acos: F("tl_acos(x)"),
  atan: F("tl_atan(x)"),
  sinh: F("tl_sinh(x)"),
  cosh: F("tl_cosh(x)"),
  tanh: F("tl_tanh(x)"),
  asinh: F("tl_asinh(x)"),
  acosh: F("tl_acosh(x)"),
  atanh: F("tl_atanh(x)"),
  sigmoid: F("tl_sigmoid(x)"),
  erf: F("tl_erf(x)"),
  erfc: F("tl_erfc(x)"),
  erfinv: F("tl_erfinv(x)"),
  lgamma: F("tl_lgamma(x)"),
  digamma: F("tl_digamma(x)"),
  sinc: F("tl_sinc(x)"),
  i0: F("tl_i0(x)"),
  polygamma: F("tl_polygamma(x, y)", 2),
  deg2rad: F("x * 0.017453292519943295"),
  rad2deg: F("x * 57.29577951308232"),
  logit: F("tl_logit(x)"),
  logit_eps: F("tl_logit(select(tl_min(tl_max(x, y), 1.0 - y), x, y < 0.0))", 2),
  round_decimals: F("tl_div(tl_round(x * y), y)", 2),
  round_tens: F("tl_round(x / y) * y", 2),
  frexp_mantissa: F("tl_frexp_mantissa(x)"),
  frexp_exponent: F("tl_frexp_exponent(x)"),
  angle: F("select(select(0.0, 3.141592653589793, tl_lt(x, 0.0)), x, tl_isnan(x))"),
  conj_physical: S(1, "x", "x", "x"),
  nan_to_num: S(4, "tl_nan_to_num(x, y, z, w)", "x", "x"),
  logical_not: B(1, "!tl_truth_f32(x)", "x == 0", `all(x == ${ZERO})`),
  bitwise_not: S(1, undefined, "~x", "~x", "1 - x"),
  isnan: B(1, "tl_isnan(x)", "false", "false"),
  isinf: B(1, "tl_isinf(x)", "false", "false"),
  isfinite: B(1, "tl_isfinite(x)", "true", "true"),
  isposinf: B(1, "tl_isinf(x) && !tl_signbit(x)", "false", "false"),
  isneginf: B(1, "tl_isinf(x) && tl_signbit(x)", "false", "false"),
  signbit: B(1, "tl_signbit(x)", "x < 0", "tl_i64_negative(x)"),
};

export type BinaryName =
  | "add"
  | "sub"
  | "rsub"
  | "mul"
  | "div"
  | "div_trunc"
  | "floor_divide"
  | "remainder"
  | "fmod"
  | "pow"
  | "maximum"
  | "minimum"
  | "fmax"
  | "fmin"
  | "atan2"
  | "hypot"
  | "copysign"
  | "nextafter"
  | "xlogy"
  | "special_xlog1py"
  | "logaddexp"
  | "logaddexp2"
  | "heaviside"
  | "gcd"
  | "lcm"
  | "bitwise_and"
  | "bitwise_or"
  | "bitwise_xor"
  | "bitwise_left_shift"
  | "bitwise_right_shift"
  | "eq"
  | "ne"
  | "lt"
  | "le"
  | "gt"
  | "ge"
  | "logical_and"
  | "logical_or"
  | "logical_xor"
  | "igamma"
  | "igammac"
  | "special_zeta";

const LNE = (a: string): string => `any(${a} != ${ZERO})`;

const BINARY: { readonly [K in BinaryName]: OpDef | null } = {
  add: S(2, "x + y", "x + y", "tl_i64_add(x, y)"),
  sub: S(2, "x - y", "x - y", "tl_i64_sub(x, y)"),
  rsub: S(2, "y - x", "y - x", "tl_i64_sub(y, x)"),
  mul: S(2, "x * y", "x * y", "tl_i64_mul(x, y)"),
  div: F("tl_div(x, y)", 2),
  div_trunc: S(2, "trunc(tl_div(x, y))", "x / y", "tl_i64_div(x, y)"),
  floor_divide: S(2, "tl_floor_divide(x, y)", "tl_i32_floordiv(x, y)", "tl_i64_floordiv(x, y)"),
  remainder: S(2, "tl_remainder(x, y)", "tl_i32_remainder(x, y)", "tl_i64_remainder(x, y)"),
  fmod: S(2, "tl_fmod(x, y)", "x % y", "tl_i64_fmod(x, y)"),
  pow: S(2, "tl_pow(x, y)", "tl_i32_pow(x, y)", "tl_i64_pow(x, y)"),
  maximum: S(2, "tl_max(x, y)", "max(x, y)", "tl_i64_max(x, y)"),
  minimum: S(2, "tl_min(x, y)", "min(x, y)", "tl_i64_min(x, y)"),
  fmax: S(2, "tl_fmax(x, y)", "max(x, y)", "tl_i64_max(x, y)"),
  fmin: S(2, "tl_fmin(x, y)", "min(x, y)", "tl_i64_min(x, y)"),
  atan2: F("tl_atan2(x, y)", 2),
  hypot: S(2, "tl_hypot(x, y)"),
  copysign: F("tl_copysign(x, y)", 2),
  nextafter: S(2, "tl_nextafter(x, y)"),
  xlogy: F("tl_xlogy(x, y)", 2),
  special_xlog1py: F("tl_xlog1py(x, y)", 2),
  logaddexp: S(2, "tl_logaddexp(x, y)"),
  logaddexp2: S(2, "tl_logaddexp2(x, y)"),
  heaviside: S(
    2,
    "select(select(select(0.0, 1.0, x > 0.0), y, x == 0.0), x, tl_isnan(x))",
    "select(select(0, 1, x > 0), y, x == 0)",
    `select(select(vec2<u32>(1u, 0u), ${ZERO}, tl_i64_negative(x)), y, all(x == ${ZERO}))`,
  ),
  gcd: S(2, undefined, "tl_i32_gcd(x, y)", "tl_i64_gcd(x, y)"),
  lcm: S(
    2,
    undefined,
    "abs(select(x / max(tl_i32_gcd(x, y), 1) * y, 0, x == 0))",
    "tl_i64_abs(tl_i64_mul(tl_i64_div(x, tl_i64_max(tl_i64_gcd(x, y), vec2<u32>(1u, 0u))), y))",
  ),
  bitwise_and: S(2, undefined, "x & y", "x & y"),
  bitwise_or: S(2, undefined, "x | y", "x | y"),
  bitwise_xor: S(2, undefined, "x ^ y", "x ^ y"),
  bitwise_left_shift: S(2, undefined, "select(x << u32(y & 31), 0, y < 0 || y > 31)", "tl_i64_shl(x, y)"),
  bitwise_right_shift: S(2, undefined, "x >> select(u32(y), 31u, y < 0 || y > 31)", "tl_i64_shr(x, y)"),
  eq: B(2, "tl_eq(x, y)", "x == y", "all(x == y)"),
  ne: B(2, "!tl_eq(x, y)", "x != y", "any(x != y)"),
  lt: B(2, "tl_lt(x, y)", "x < y", "tl_i64_lt(x, y)"),
  le: B(2, "tl_le(x, y)", "x <= y", "!tl_i64_lt(y, x)"),
  gt: B(2, "tl_lt(y, x)", "x > y", "tl_i64_lt(y, x)"),
  ge: B(2, "tl_le(y, x)", "x >= y", "!tl_i64_lt(x, y)"),
  logical_and: B(2, "tl_truth_f32(x) && tl_truth_f32(y)", "x != 0 && y != 0", `${LNE("x")} && ${LNE("y")}`),
  logical_or: B(2, "tl_truth_f32(x) || tl_truth_f32(y)", "x != 0 || y != 0", `${LNE("x")} || ${LNE("y")}`),
  logical_xor: B(2, "tl_truth_f32(x) != tl_truth_f32(y)", "(x != 0) != (y != 0)", `${LNE("x")} != ${LNE("y")}`),
  igamma: F("tl_igamma(x, y)", 2),
  igammac: F("tl_igammac(x, y)", 2),
  special_zeta: F("tl_zeta(x, y)", 2),
};

export type TernaryName =
  "add_scaled" | "sub_scaled" | "addcmul" | "addcdiv" | "lerp" | "clamp" | "clamp_min" | "clamp_max" | "where" | "cast";

/** add_scaled(x, y, alpha); addcmul and addcdiv(x, t1, t2, value); clamp(x, lo, hi); where(condition, a, b). */
const TERNARY: { readonly [K in TernaryName]: OpDef | null } = {
  add_scaled: S(3, "x + z * y", "x + z * y", "tl_i64_add(x, tl_i64_mul(z, y))"),
  sub_scaled: S(3, "x - z * y", "x - z * y", "tl_i64_sub(x, tl_i64_mul(z, y))"),
  addcmul: S(4, "x + w * y * z", "x + w * y * z", "tl_i64_add(x, tl_i64_mul(w, tl_i64_mul(y, z)))"),
  addcdiv: S(4, "x + w * tl_div(y, z)"),
  lerp: S(3, "select(y - (y - x) * (1.0 - z), x + z * (y - x), abs(z) < 0.5)"),
  clamp: S(3, "tl_min(tl_max(x, y), z)", "min(max(x, y), z)", "tl_i64_min(tl_i64_max(x, y), z)"),
  clamp_min: S(2, "tl_max(x, y)", "max(x, y)", "tl_i64_max(x, y)"),
  clamp_max: S(2, "tl_min(x, y)", "min(x, y)", "tl_i64_min(x, y)"),
  where: { ...S(3, "select(z, y, x)", "select(z, y, x)", "select(z, y, x)"), condition: true },
  cast: S(1, "x", "x", "x"),
};

export type OpName = UnaryName | BinaryName | TernaryName | ActivationName | SpecialName | ComplexName;
export const OPS: { readonly [K in OpName]: OpDef | null } = {
  ...UNARY,
  ...BINARY,
  ...TERNARY,
  ...ACTIVATIONS,
  ...SPECIALS,
  ...COMPLEX_OPS,
};
