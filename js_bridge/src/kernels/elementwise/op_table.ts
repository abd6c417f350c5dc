/**
 * The element-wise operations by name. Activations, torch.special's functions and complex functions are in files of
 * their own and join the table at its end.
 */
import { ACTIVATIONS } from "./op_activation";
import { COMPLEX_OPS } from "./op_complex";
import { float, type OpDef, type OpTable, same, test } from "./op_def";
import { SPECIALS } from "./op_special";

const ZERO = "vec2<u32>(0u)";

/**
 * Operands beyond x: logit_eps(x, eps); nan_to_num(x, nan, posinf, neginf); polygamma(x, n); round_decimals(x,
 * 10^decimals), and round_tens(x, 10^-decimals) for negative decimals.
 */
const UNARY = {
  neg: same(1, "-x", "-x", "tl_i64_neg(x)"),
  abs: same(1, "abs(x)", "abs(x)", "tl_i64_abs(x)"),
  sign: same(1, "select(select(0.0, 1.0, tl_lt(0.0, x)), -1.0, tl_lt(x, 0.0))", "sign(x)", "tl_i64_sign(x)"),
  sgn: same(1, "select(select(0.0, 1.0, tl_lt(0.0, x)), -1.0, tl_lt(x, 0.0))", "sign(x)", "tl_i64_sign(x)"),
  square: same(1, "x * x", "x * x", "tl_i64_mul(x, x)"),
  ceil: same(1, "ceil(x)", "x", "x"),
  floor: same(1, "floor(x)", "x", "x"),
  trunc: same(1, "trunc(x)", "x", "x"),
  round: same(1, "tl_round(x)", "x", "x"),
  frac: same(1, "x - trunc(x)"),
  exp: float("tl_exp(x)"),
  exp2: float("tl_exp2(x)"),
  expm1: float("tl_expm1(x)"),
  log: float("tl_log(x)"),
  log2: float("tl_log2(x)"),
  log10: float("tl_log10(x)"),
  log1p: float("tl_log1p(x)"),
  sqrt: float("tl_sqrt(x)"),
  rsqrt: float("tl_div(1.0, tl_sqrt(x))"),
  reciprocal: float("tl_div(1.0, x)"),
  sin: float("tl_sin(x)"),
  cos: float("tl_cos(x)"),
  tan: float("tl_tan(x)"),
  asin: float("tl_asin(x)"),
  acos: float("tl_acos(x)"),
  atan: float("tl_atan(x)"),
  sinh: float("tl_sinh(x)"),
  cosh: float("tl_cosh(x)"),
  tanh: float("tl_tanh(x)"),
  asinh: float("tl_asinh(x)"),
  acosh: float("tl_acosh(x)"),
  atanh: float("tl_atanh(x)"),
  sigmoid: float("tl_sigmoid(x)"),
  erf: float("tl_erf(x)"),
  erfc: float("tl_erfc(x)"),
  erfinv: float("tl_erfinv(x)"),
  lgamma: float("tl_lgamma(x)"),
  digamma: float("tl_digamma(x)"),
  sinc: float("tl_sinc(x)"),
  i0: float("tl_i0(x)"),
  polygamma: float("tl_polygamma(x, y)", 2),
  deg2rad: float("x * 0.017453292519943295"),
  rad2deg: float("x * 57.29577951308232"),
  logit: float("tl_logit(x)"),
  logit_eps: float("tl_logit(select(tl_min(tl_max(x, y), 1.0 - y), x, y < 0.0))", 2),
  round_decimals: float("tl_div(tl_round(x * y), y)", 2),
  round_tens: float("tl_round(x / y) * y", 2),
  frexp_mantissa: float("tl_frexp_mantissa(x)"),
  frexp_exponent: float("tl_frexp_exponent(x)"),
  angle: float("select(select(0.0, 3.141592653589793, tl_lt(x, 0.0)), x, tl_isnan(x))"),
  conj_physical: same(1, "x", "x", "x"),
  nan_to_num: same(4, "tl_nan_to_num(x, y, z, w)", "x", "x"),
  logical_not: test(1, "!tl_truth_f32(x)", "x == 0", `all(x == ${ZERO})`),
  bitwise_not: same(1, undefined, "~x", "~x", "1 - x"),
  isnan: test(1, "tl_isnan(x)", "false", "false"),
  isinf: test(1, "tl_isinf(x)", "false", "false"),
  isfinite: test(1, "tl_isfinite(x)", "true", "true"),
  isposinf: test(1, "tl_isinf(x) && !tl_signbit(x)", "false", "false"),
  isneginf: test(1, "tl_isinf(x) && tl_signbit(x)", "false", "false"),
  signbit: test(1, "tl_signbit(x)", "x < 0", "tl_i64_negative(x)"),
} as const satisfies OpTable;

const LNE = (a: string): string => `any(${a} != ${ZERO})`;

const BINARY = {
  add: same(2, "x + y", "x + y", "tl_i64_add(x, y)"),
  sub: same(2, "x - y", "x - y", "tl_i64_sub(x, y)"),
  rsub: same(2, "y - x", "y - x", "tl_i64_sub(y, x)"),
  mul: same(2, "x * y", "x * y", "tl_i64_mul(x, y)"),
  div: float("tl_div(x, y)", 2),
  div_trunc: same(2, "trunc(tl_div(x, y))", "x / y", "tl_i64_div(x, y)"),
  floor_divide: same(2, "tl_floor_divide(x, y)", "tl_i32_floordiv(x, y)", "tl_i64_floordiv(x, y)"),
  // of two tensors of 16 bits, where PyTorch rounds after each step
  div_trunc_float16: same(2, "trunc(tl_round_float16(tl_div(x, y)))"),
  div_trunc_bfloat16: same(2, "trunc(tl_round_bfloat16(tl_div(x, y)))"),
  floor_divide_float16: same(2, "tl_floor_divide_float16(x, y)"),
  floor_divide_bfloat16: same(2, "tl_floor_divide_bfloat16(x, y)"),
  remainder: same(2, "tl_remainder(x, y)", "tl_i32_remainder(x, y)", "tl_i64_remainder(x, y)"),
  fmod: same(2, "tl_fmod(x, y)", "x % y", "tl_i64_fmod(x, y)"),
  pow: same(2, "tl_pow(x, y)", "tl_i32_pow(x, y)", "tl_i64_pow(x, y)"),
  maximum: same(2, "tl_max(x, y)", "max(x, y)", "tl_i64_max(x, y)"),
  minimum: same(2, "tl_min(x, y)", "min(x, y)", "tl_i64_min(x, y)"),
  fmax: same(2, "tl_fmax(x, y)", "max(x, y)", "tl_i64_max(x, y)"),
  fmin: same(2, "tl_fmin(x, y)", "min(x, y)", "tl_i64_min(x, y)"),
  atan2: float("tl_atan2(x, y)", 2),
  hypot: same(2, "tl_hypot(x, y)"),
  copysign: float("tl_copysign(x, y)", 2),
  nextafter: same(2, "tl_nextafter(x, y)"),
  xlogy: float("tl_xlogy(x, y)", 2),
  special_xlog1py: float("tl_xlog1py(x, y)", 2),
  logaddexp: same(2, "tl_logaddexp(x, y)"),
  logaddexp2: same(2, "tl_logaddexp2(x, y)"),
  heaviside: same(
    2,
    "select(select(0.0, 1.0, tl_lt(0.0, x)), y, tl_eq(x, 0.0))",
    "select(select(0, 1, x > 0), y, x == 0)",
    `select(select(vec2<u32>(1u, 0u), ${ZERO}, tl_i64_negative(x)), y, all(x == ${ZERO}))`,
  ),
  gcd: same(2, undefined, "tl_i32_gcd(x, y)", "tl_i64_gcd(x, y)"),
  lcm: same(
    2,
    undefined,
    "abs(select(x / max(tl_i32_gcd(x, y), 1) * y, 0, x == 0))",
    "tl_i64_abs(tl_i64_mul(tl_i64_div(x, tl_i64_max(tl_i64_gcd(x, y), vec2<u32>(1u, 0u))), y))",
  ),
  bitwise_and: same(2, undefined, "x & y", "x & y"),
  bitwise_or: same(2, undefined, "x | y", "x | y"),
  bitwise_xor: same(2, undefined, "x ^ y", "x ^ y"),
  bitwise_left_shift: same(2, undefined, "select(x << u32(y & 31), 0, y < 0 || y > 31)", "tl_i64_shl(x, y)"),
  bitwise_right_shift: same(2, undefined, "x >> select(u32(y), 31u, y < 0 || y > 31)", "tl_i64_shr(x, y)"),
  eq: test(2, "tl_eq(x, y)", "x == y", "all(x == y)"),
  ne: test(2, "!tl_eq(x, y)", "x != y", "any(x != y)"),
  lt: test(2, "tl_lt(x, y)", "x < y", "tl_i64_lt(x, y)"),
  le: test(2, "tl_le(x, y)", "x <= y", "!tl_i64_lt(y, x)"),
  gt: test(2, "tl_lt(y, x)", "x > y", "tl_i64_lt(y, x)"),
  ge: test(2, "tl_le(y, x)", "x >= y", "!tl_i64_lt(x, y)"),
  logical_and: test(2, "tl_truth_f32(x) && tl_truth_f32(y)", "x != 0 && y != 0", `${LNE("x")} && ${LNE("y")}`),
  logical_or: test(2, "tl_truth_f32(x) || tl_truth_f32(y)", "x != 0 || y != 0", `${LNE("x")} || ${LNE("y")}`),
  logical_xor: test(2, "tl_truth_f32(x) != tl_truth_f32(y)", "(x != 0) != (y != 0)", `${LNE("x")} != ${LNE("y")}`),
  igamma: float("tl_igamma(x, y)", 2),
  igammac: float("tl_igammac(x, y)", 2),
  special_zeta: float("tl_zeta(x, y)", 2),
} as const satisfies OpTable;

/** add_scaled(x, y, alpha); addcmul and addcdiv(x, t1, t2, value); clamp(x, lo, hi); where(condition, a, b). */
const TERNARY = {
  add_scaled: same(3, "x + z * y", "x + z * y", "tl_i64_add(x, tl_i64_mul(z, y))"),
  sub_scaled: same(3, "x - z * y", "x - z * y", "tl_i64_sub(x, tl_i64_mul(z, y))"),
  addcmul: same(4, "x + w * y * z", "x + w * y * z", "tl_i64_add(x, tl_i64_mul(w, tl_i64_mul(y, z)))"),
  addcdiv: same(4, "x + w * tl_div(y, z)"),
  lerp: same(3, "select(y - (y - x) * (1.0 - z), x + z * (y - x), abs(z) < 0.5)"),
  clamp: same(3, "tl_min(tl_max(x, y), z)", "min(max(x, y), z)", "tl_i64_min(tl_i64_max(x, y), z)"),
  clamp_min: same(2, "tl_max(x, y)", "max(x, y)", "tl_i64_max(x, y)"),
  clamp_max: same(2, "tl_min(x, y)", "min(x, y)", "tl_i64_min(x, y)"),
  where: { ...same(3, "select(z, y, x)", "select(z, y, x)", "select(z, y, x)"), condition: true },
  cast: same(1, "x", "x", "x"),
} as const satisfies OpTable;

const ALL = { ...UNARY, ...BINARY, ...TERNARY, ...ACTIVATIONS, ...SPECIALS, ...COMPLEX_OPS };
export type OpName = keyof typeof ALL;
export const OPS: Readonly<Record<OpName, OpDef>> = ALL;
