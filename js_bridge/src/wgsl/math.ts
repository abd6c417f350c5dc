/**
 * float32 functions written out, because WGSL leaves accuracy loose (sin to 2^-11, exp to 3 + 2|x| ULP) and lets an
 * adapter ignore NaN and inf: log(0) is -88 and tanh(100) is NaN on one of them, and `x != x` is false everywhere.
 * NaN and inf are therefore told apart by bits, and each function is range-reduced with constants whose products are
 * exact. The largest errors seen against float64 are in math.test.ts. Approximations are those of Cephes' single
 * precision set; erf and erfc have minimax fits of our own; beyond |x| = 4096 the reduction is Payne and Hanek's. The
 * commonest functions choose by select and join tests by | and &: branches cost more than what they skip, on a software
 * adapter several times as much.
 */

/**
 * The polynomial with these coefficients, the highest power's first. As fma: half the instructions on a software
 * adapter, which joins none by itself.
 */
export const horner = (x: string, ...c: readonly string[]): string =>
  c.slice(1).reduce((sum, a) => `fma(${sum}, ${x}, ${a})`, c[0]!);

const TANH_NEAR = horner(
  "z",
  "-5.70498872745e-3",
  "2.06390887954e-2",
  "-5.37397155531e-2",
  "1.33314422036e-1",
  "-3.33332819422e-1",
);
const EXP_TAIL = horner(
  "r",
  "1.9875691500e-4",
  "1.3981999507e-3",
  "8.3334519073e-3",
  "4.1665795894e-2",
  "1.6666665459e-1",
  "5.0000001201e-1",
);

export const MATH: Readonly<Record<string, string>> = {
  // Read through a private variable: as constant expressions NaN and inf do not compile.
  tl_nan: `var<private> tl_nan_bits_: u32 = 0x7fc00000u;\nfn tl_nan() -> f32 { return bitcast<f32>(tl_nan_bits_); }`,
  tl_inf: `var<private> tl_inf_bits_: u32 = 0x7f800000u;\nfn tl_inf() -> f32 { return bitcast<f32>(tl_inf_bits_); }`,
  tl_isnan: `fn tl_isnan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }`,
  tl_isinf: `fn tl_isinf(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u; }`,
  tl_isfinite: `fn tl_isfinite(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) < 0x7f800000u; }`,
  tl_signbit: `fn tl_signbit(x: f32) -> bool { return (bitcast<u32>(x) >> 31u) == 1u; }`,
  tl_copysign: `fn tl_copysign(x: f32, y: f32) -> f32 {
  return bitcast<f32>((bitcast<u32>(x) & 0x7fffffffu) | (bitcast<u32>(y) & 0x80000000u));
}`,
  // A value that the compiler knows nothing about.
  tl_hidden: `fn tl_hidden(x: f32, zero: u32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ zero); }`,
  // Comparisons that are IEEE's with NaN operands wherever the adapter's are not.
  tl_eq: `fn tl_eq(x: f32, y: f32) -> bool { return (x == y) & !tl_isnan(x) & !tl_isnan(y); }`,
  tl_lt: `fn tl_lt(x: f32, y: f32) -> bool { return (x < y) & !tl_isnan(x) & !tl_isnan(y); }`,
  tl_le: `fn tl_le(x: f32, y: f32) -> bool { return (x <= y) & !tl_isnan(x) & !tl_isnan(y); }`,
  tl_max: `fn tl_max(x: f32, y: f32) -> f32 {
  return select(y, x, (tl_isnan(x) | (x > y) | ((x == y) & tl_signbit(y))) & (tl_isnan(x) | !tl_isnan(y)));
}`,
  tl_min: `fn tl_min(x: f32, y: f32) -> f32 {
  return select(y, x, (tl_isnan(x) | (x < y) | ((x == y) & tl_signbit(x))) & (tl_isnan(x) | !tl_isnan(y)));
}`,
  tl_fmax: `fn tl_fmax(x: f32, y: f32) -> f32 { return select(y, x, !tl_isnan(x) & (tl_isnan(y) | (x > y))); }`,
  tl_fmin: `fn tl_fmin(x: f32, y: f32) -> f32 { return select(y, x, !tl_isnan(x) & (tl_isnan(y) | (x < y))); }`,
  // Unsigned integers in the order of the numbers; NaN is what is given. 0 and all ones come back as NaN.
  tl_rank: `fn tl_rank(x: f32, nan: u32) -> u32 {
  let b = bitcast<u32>(x); return select(select(b | 0x80000000u, ~b, tl_signbit(x)), nan, tl_isnan(x));
}`,
  tl_from_rank: `fn tl_from_rank(k: u32) -> f32 {
  return bitcast<f32>(select(~k, k & 0x7fffffffu, (k >> 31u) == 1u));
}`,
  // 2^k * x for results in range; k in two steps, so that the factor is always normal
  tl_scale2: `fn tl_scale2(x: f32, k: i32) -> f32 {
  let h = k >> 1u; return x * bitcast<f32>(u32(h + 127) << 23u) * bitcast<f32>(u32(k - h + 127) << 23u);
}`,
  tl_exp: /* wgsl */ `
fn tl_exp(v: f32) -> f32 {
  let x = clamp(v, -104.0, 89.0);
  let k = floor(fma(x, 1.44269504088896341, 0.5));
  let r = fma(k, 2.12194440e-4, fma(k, -0.693359375, x));
  // k as an integer from the bits of a sum: a conversion tests its range, which is as dear as the polynomial
  let i = bitcast<i32>(k + 12582912.0) - 0x4b400000;
  let h = i >> 1u;
  let e = (fma(${EXP_TAIL}, r * r, r) + 1.0) * bitcast<f32>((h + 127) << 23u) * bitcast<f32>((i - h + 127) << 23u);
  return select(e, v, tl_isnan(v));
}`,
  tl_exp2: /* wgsl */ `
fn tl_exp2(x: f32) -> f32 {
  if (tl_isnan(x)) { return x; }
  if (x >= 128.0) { return tl_inf(); }
  if (x < -150.0) { return 0.0; }
  let k = round(x);
  let r = (x - k) * 0.693147180559945;
  return tl_scale2(fma(${EXP_TAIL}, r * r, r) + 1.0, i32(k));
}`,
  tl_expm1: /* wgsl */ `
fn tl_expm1(x: f32) -> f32 {
  if (abs(x) < 0.5) {
    let q = (((((2.4801587e-5 * x + 1.9841270e-4) * x + 1.3888889e-3) * x + 8.3333333e-3) * x + 4.1666667e-2) * x
      + 1.6666667e-1) * x + 0.5;
    return x + x * x * q;
  }
  return tl_exp(x) - 1.0;
}`,
  /* (m - 1, exponent) of positive finite x with m in [sqrt(1/2), sqrt(2)) */
  tl_frexp1: /* wgsl */ `
fn tl_frexp1(v: f32) -> vec2<f32> {
  var x = v;
  var e = -127.0;
  if (bitcast<u32>(x) < 0x00800000u) { x = f32(bitcast<u32>(x)); e = -276.0; }
  let u = bitcast<u32>(x) + 0x004afb0du;
  return vec2<f32>(bitcast<f32>((u & 0x7fffffu) + 0x3f3504f3u) - 1.0, e + f32(u >> 23u));
}`,
  /* log(1 + f) - f for f in [sqrt(1/2) - 1, sqrt(2) - 1) */
  tl_log_tail: /* wgsl */ `
fn tl_log_tail(f: f32) -> f32 {
  let z = f * f;
  let y = ${horner(
    "f",
    "7.0376836292e-2",
    "-1.1514610310e-1",
    "1.1676998740e-1",
    "-1.2420140846e-1",
    "1.4249322787e-1",
    "-1.6668057665e-1",
    "2.0000714765e-1",
    "-2.4999993993e-1",
    "3.3333331174e-1",
  )} * f * z;
  return y - 0.5 * z;
}`,
  tl_log_special: /* wgsl */ `
fn tl_log_special(x: f32) -> f32 {
  if (tl_isnan(x)) { return x; }
  if ((bitcast<u32>(x) & 0x7fffffffu) == 0u) { return -tl_inf(); }
  if (tl_signbit(x)) { return tl_nan(); }
  return tl_inf();
}`,
  tl_log_ordinary: `fn tl_log_ordinary(x: f32) -> bool { let u = bitcast<u32>(x); return u > 0u && u < 0x7f800000u; }`,
  tl_log: /* wgsl */ `
fn tl_log(x: f32) -> f32 {
  if (!tl_log_ordinary(x)) { return tl_log_special(x); }
  let d = tl_frexp1(x);
  return d.x + (tl_log_tail(d.x) + d.y * -2.12194440e-4) + d.y * 0.693359375;
}`,
  tl_log2: /* wgsl */ `
fn tl_log2(x: f32) -> f32 {
  if (!tl_log_ordinary(x)) { return tl_log_special(x); }
  let d = tl_frexp1(x);
  let t = tl_log_tail(d.x);
  return d.y + (d.x + (t + (t + d.x) * 0.44269504088896341));
}`,
  tl_log10: /* wgsl */ `
fn tl_log10(x: f32) -> f32 {
  if (!tl_log_ordinary(x)) { return tl_log_special(x); }
  let d = tl_frexp1(x);
  let t = tl_log_tail(d.x);
  return d.y * 0.30078125 + (d.y * 2.48745663981195e-4 + (t + d.x) * 0.434294481903252);
}`,
  tl_log1p: /* wgsl */ `
fn tl_log1p(x: f32) -> f32 {
  if (x > -0.29 && x < 0.41) { return x + tl_log_tail(x); }
  return tl_log(1.0 + x);
}`,
  /* remainder of |x| by pi/2 with its quadrant, for |x| > 4096: 2/pi to 192 bits times the mantissa */
  tl_reduce_large: /* wgsl */ `
fn tl_reduce_large(x: f32) -> vec2<f32> {
  var digits = array<u32, 6>(0x3c439041u, 0xdb629599u, 0xf534ddc0u, 0xfc2757d1u, 0x4e441529u, 0xa2f9836eu);
  let u = bitcast<u32>(x);
  let m = ((u & 0x7fffffu) | 0x800000u) << 8u;
  let e = ((u >> 23u) & 255u) - 128u;
  var prod: array<u32, 7>;
  var carry = 0u;
  for (var i = 0u; i < 6u; i++) {
    let w = tl_umul(digits[i], m);
    let lo = w.x + carry;
    carry = w.y + select(0u, 1u, lo < carry);
    prod[i] = lo;
  }
  prod[6] = carry;
  let at = 4u - (e >> 5u);
  let sh = e & 31u;
  var hi = prod[at + 2u];
  var lo = prod[at + 1u];
  if (sh != 0u) {
    hi = (hi << sh) | (lo >> (32u - sh));
    lo = (lo << sh) | (prod[at] >> (32u - sh));
  }
  // two integer bits of the quotient stand on top
  var q = hi >> 30u;
  hi = (hi << 2u) | (lo >> 30u);
  lo = lo << 2u;
  let over = (hi & 0x80000000u) != 0u;
  if (over) { q = q + 1u; let n = tl_i64_neg(vec2<u32>(lo, hi)); lo = n.x; hi = n.y; }
  let r = (f32(hi) * 2.3283064365386963e-10 + f32(lo) * 5.421010862427522e-20) * 1.5707963267948966;
  return vec2<f32>(select(r, -r, over), f32(q & 3u));
}`,
  /* (r, quadrant) with |x| = quadrant * pi/2 + r modulo 2 pi */
  tl_reduce_trig: /* wgsl */ `
fn tl_reduce_trig(x: f32) -> vec2<f32> {
  let a = abs(x);
  if (a > 4096.0) { return tl_reduce_large(a); }
  let k = round(a * 0.636619772367581);
  let r = ((a - k * 1.5703125) - k * 4.837512969970703e-4) - k * 7.54978995489188e-8;
  return vec2<f32>(r, f32(u32(k) & 3u));
}`,
  tl_sin_core: `fn tl_sin_core(r: f32) -> f32 {
  let z = r * r; return r + r * z * ((-1.9515295891e-4 * z + 8.3321608736e-3) * z - 1.6666654611e-1);
}`,
  tl_cos_core: `fn tl_cos_core(r: f32) -> f32 {
  let z = r * r;
  return 1.0 - 0.5 * z + z * z * ((2.443315711809948e-5 * z - 1.388731625493765e-3) * z + 4.166664568298827e-2);
}`,
  tl_sin: /* wgsl */ `
fn tl_sin(x: f32) -> f32 {
  if (!tl_isfinite(x)) { return tl_nan(); }
  let d = tl_reduce_trig(x);
  let q = u32(d.y);
  let v = select(tl_sin_core(d.x), tl_cos_core(d.x), (q & 1u) == 1u);
  return select(v, -v, ((q & 2u) != 0u) != tl_signbit(x));
}`,
  tl_cos: /* wgsl */ `
fn tl_cos(x: f32) -> f32 {
  if (!tl_isfinite(x)) { return tl_nan(); }
  let d = tl_reduce_trig(x);
  let q = u32(d.y);
  let v = select(tl_cos_core(d.x), tl_sin_core(d.x), (q & 1u) == 1u);
  return select(v, -v, q == 1u || q == 2u);
}`,
  tl_tan: /* wgsl */ `
fn tl_tan(x: f32) -> f32 {
  if (!tl_isfinite(x)) { return tl_nan(); }
  let d = tl_reduce_trig(x);
  let s = tl_sin_core(d.x);
  let c = tl_cos_core(d.x);
  let v = select(s / c, -c / s, (u32(d.y) & 1u) == 1u);
  return select(v, -v, tl_signbit(x));
}`,
  tl_atan_core: `fn tl_atan_core(x: f32) -> f32 {
  let z = x * x;
  return (((8.05374449538e-2 * z - 1.38776856032e-1) * z + 1.99777106478e-1) * z - 3.33329491539e-1) * z * x + x;
}`,
  tl_atan: /* wgsl */ `
fn tl_atan(x: f32) -> f32 {
  if (tl_isnan(x)) { return x; }
  let a = abs(x);
  var r: f32;
  if (a > 2.414213562373095) { r = 1.5707963267948966 + tl_atan_core(-1.0 / min(a, 1e37)); }
  else if (a > 0.4142135623730950) { r = 0.7853981633974483 + tl_atan_core((a - 1.0) / (a + 1.0)); }
  else { r = tl_atan_core(a); }
  return tl_copysign(r, x);
}`,
  tl_atan2: /* wgsl */ `
fn tl_atan2(y: f32, x: f32) -> f32 {
  if (tl_isnan(x) || tl_isnan(y)) { return tl_nan(); }
  var ax = abs(x);
  var ay = abs(y);
  if (tl_isinf(x) || tl_isinf(y)) { ax = select(0.0, 1.0, tl_isinf(x)); ay = select(0.0, 1.0, tl_isinf(y)); }
  if (max(ax, ay) > 1e37) { ax = ax * 0.00390625; ay = ay * 0.00390625; }
  if (max(ax, ay) < 1e-30) { ax = ax * 1e10; ay = ay * 1e10; }
  var r: f32;
  if (ay == 0.0) { r = 0.0; } else if (ay > ax) {
    r = 1.5707963267948966 - tl_atan(ax / ay);
  } else { r = tl_atan(ay / ax); }
  if (tl_signbit(x)) { r = 3.141592653589793 - r; }
  return tl_copysign(r, y);
}`,
  tl_asin_core: `fn tl_asin_core(x: f32, z: f32) -> f32 {
  return ((((4.2163199048e-2 * z + 2.4181311049e-2) * z + 4.5470025998e-2) * z + 7.4953002686e-2) * z
    + 1.6666752422e-1) * z * x + x;
}`,
  tl_asin: /* wgsl */ `
fn tl_asin(x: f32) -> f32 {
  let a = abs(x);
  if (tl_isnan(x) || a > 1.0) { return tl_nan(); }
  if (a > 0.5) { let z = 0.5 * (1.0 - a); return tl_copysign(1.5707963267948966 - 2.0 * tl_asin_core(sqrt(z), z), x); }
  return tl_asin_core(x, x * x);
}`,
  tl_acos: /* wgsl */ `
fn tl_acos(x: f32) -> f32 {
  let a = abs(x);
  if (tl_isnan(x) || a > 1.0) { return tl_nan(); }
  if (a <= 0.5) { return 1.5707963267948966 - tl_asin_core(x, x * x); }
  let z = 0.5 * (1.0 - a);
  let r = 2.0 * tl_asin_core(sqrt(z), z);
  return select(r, 3.141592653589793 - r, x < 0.0);
}`,
  tl_sinh: /* wgsl */ `
fn tl_sinh(x: f32) -> f32 {
  let a = abs(x);
  if (a < 1.0) { let z = x * x; return ((2.03721912945e-4 * z + 8.33028376239e-3) * z + 1.66667160211e-1) * z * x + x; }
  if (a > 20.0) { let h = tl_exp(0.5 * a); return tl_copysign(0.5 * h * h, x) + select(0.0, x, tl_isnan(x)); }
  let e = tl_exp(a);
  return tl_copysign(0.5 * e - 0.5 / e, x);
}`,
  tl_cosh: /* wgsl */ `
fn tl_cosh(x: f32) -> f32 {
  let a = abs(x);
  if (a > 20.0) { let h = tl_exp(0.5 * a); return 0.5 * h * h; }
  let e = tl_exp(a);
  return 0.5 * e + 0.5 / e;
}`,
  tl_tanh: /* wgsl */ `
fn tl_tanh(x: f32) -> f32 {
  let a = abs(x);
  let z = x * x;
  let near = fma(${TANH_NEAR} * z, x, x);
  let far = select(1.0 - 2.0 / (tl_exp(2.0 * a) + 1.0), 1.0, a > 9.1);
  return select(select(tl_copysign(far, x), near, a < 0.625), x, tl_isnan(x));
}`,
  tl_asinh: /* wgsl */ `
fn tl_asinh(x: f32) -> f32 {
  let a = abs(x);
  if (!tl_isfinite(x)) { return x; }
  if (a > 1e4) { return tl_copysign(tl_log(a) + 0.693147180559945, x); }
  return tl_copysign(tl_log1p(a + a * a / (1.0 + sqrt(a * a + 1.0))), x);
}`,
  tl_acosh: /* wgsl */ `
fn tl_acosh(x: f32) -> f32 {
  if (tl_isnan(x) || x < 1.0) { return tl_nan(); }
  if (x > 1e4) { return tl_log(x) + 0.693147180559945; }
  let t = x - 1.0;
  return tl_log1p(t + sqrt(2.0 * t + t * t));
}`,
  tl_atanh: /* wgsl */ `
fn tl_atanh(x: f32) -> f32 {
  let a = abs(x);
  if (tl_isnan(x) || a > 1.0) { return tl_nan(); }
  if (a == 1.0) { return tl_copysign(tl_inf(), x); }
  return tl_copysign(0.5 * tl_log1p(2.0 * a / (1.0 - a)), x);
}`,
  tl_sigmoid: /* wgsl */ `
fn tl_sigmoid(x: f32) -> f32 {
  let e = tl_exp(-abs(x));
  return select(e, 1.0, x >= 0.0) / (1.0 + e);
}`,
  tl_sqrt: `fn tl_sqrt(x: f32) -> f32 {
  if (x < 0.0 || tl_isnan(x)) {
    return tl_nan();
  }
  if (x == 0.0 || tl_isinf(x)) { return x; } let r = sqrt(x); return r;
}`,
  tl_hypot: /* wgsl */ `
fn tl_hypot(x: f32, y: f32) -> f32 {
  if (tl_isinf(x) || tl_isinf(y)) { return tl_inf(); }
  let a = max(abs(x), abs(y));
  let b = min(abs(x), abs(y));
  if (tl_isnan(x) || tl_isnan(y)) { return tl_nan(); }
  if (a == 0.0) { return 0.0; }
  let t = b / a;
  return a * sqrt(1.0 + t * t);
}`,
};
