/** float32 functions that need more than a polynomial: powers, exact remainders, error and gamma functions. */
import { horner } from "./math";

const NORMAL_TAIL = horner(
  "t",
  "-0.01301311365",
  "0.0894129765",
  "-0.227099665",
  "0.24435234",
  "-0.11811869",
  "0.1233334925",
  "0.0691454475",
  "0.1065572065",
  "0.1125818975",
  "0.1128481605",
);

/** Division rounded down, from the remainder so that it agrees with it; `round` is what each step goes through. */
const floorDivide = (name: string, round: string): string => /* wgsl */ `
fn ${name}(x: f32, y: f32) -> f32 {
  if (y == 0.0) { return tl_div(x, y); }
  let m = tl_fmod(x, y);
  if (tl_isnan(m)) { return m; }
  var q = ${round}(${round}(x - m) / y);
  if (m != 0.0 && (y < 0.0) != (m < 0.0)) { q = ${round}(q - 1.0); }
  if (q == 0.0) { return tl_copysign(0.0, x / y); }
  let w = floor(q);
  return select(w, w + 1.0, ${round}(q - w) > 0.5);
}`;

export const SPECIAL: Readonly<Record<string, string>> = {
  /* erf for |x| < 1 */
  tl_erf_small: /* wgsl */ `
fn tl_erf_small(x: f32) -> f32 {
  let z = x * x;
  return x * ((((((7.853847e-5 * z - 8.01019e-4) * z + 5.1883227e-3) * z - 2.685381e-2) * z + 1.1283585e-1) * z
    - 3.7612626e-1) * z + 1.1283791);
}`,
  /* exp(x^2) erfc(x) for x >= 0.5 */
  tl_erfcx_core: /* wgsl */ `
fn tl_erfcx_core(x: f32) -> f32 {
  let t = 1.0 / (1.0 + 0.5 * x);
  return t * (((((((((-3.1992577e-2 * t + 7.410249e-2) * t + 4.9015306e-2) * t - 2.5658247e-1) * t + 1.4172818e-1) * t
    + 2.3144478e-2) * t + 1.9171153e-1) * t + 2.4445741e-1) * t + 2.822988e-1) * t + 2.8208733e-1);
}`,
  /* exp(-x^2), the square taken in two parts so that large x keep their digits */
  tl_exp_neg_sq: /* wgsl */ `
fn tl_exp_neg_sq(x: f32) -> f32 {
  let h = bitcast<f32>(bitcast<u32>(x) & 0xfffff000u);
  return tl_exp(-h * h) * tl_exp((h - x) * (h + x));
}`,
  tl_erf: /* wgsl */ `
fn tl_erf(x: f32) -> f32 {
  let a = abs(x);
  let far = select(1.0 - tl_exp_neg_sq(a) * tl_erfcx_core(a), 1.0, a > 4.0);
  return select(select(tl_copysign(far, x), tl_erf_small(x), a < 1.0), x, tl_isnan(x));
}`,
  tl_erfc: /* wgsl */ `
fn tl_erfc(x: f32) -> f32 {
  let tail = tl_exp_neg_sq(x) * tl_erfcx_core(abs(x));
  var r = select(tail, 2.0 - tail, x < 0.0);
  r = select(r, 1.0 - tl_erf_small(x), (x > -1.0) & (x < 0.5));
  r = select(select(r, 2.0, x < -4.0), 0.0, x > 10.1);
  return select(r, x, tl_isnan(x));
}`,
  /* Giles, "Approximating the erfinv function", single precision */
  tl_erfinv: /* wgsl */ `
fn tl_erfinv(x: f32) -> f32 {
  let a = abs(x);
  if (tl_isnan(x) || a > 1.0) { return tl_nan(); }
  if (a == 1.0) { return tl_copysign(tl_inf(), x); }
  var w = -tl_log1p(-a * a);
  if (a > 0.5) { w = -tl_log((1.0 - a) * (1.0 + a)); }
  if (w < 5.0) {
    w = w - 2.5;
    return x * ((((((((2.81022636e-8 * w + 3.43273939e-7) * w - 3.5233877e-6) * w - 4.39150654e-6) * w
      + 2.1858087e-4) * w - 1.25372503e-3) * w - 4.17768164e-3) * w + 2.46640727e-1) * w + 1.50140941);
  }
  w = sqrt(w) - 3.0;
  return x * ((((((((-2.00214257e-4 * w + 1.00950558e-4) * w + 1.34934322e-3) * w - 3.67342844e-3) * w
    + 5.73950773e-3) * w - 7.6224613e-3) * w + 9.43887047e-3) * w + 1.00167406) * w + 2.83297682);
}`,
  /* the top 12 bits of the significand: products of two such are exact */
  tl_top12: `fn tl_top12(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) & 0xfffff000u); }`,
  /* 2^(y log2 x) for finite x > 0; log2 x is held in two floats, so that the error does not grow with the exponent */
  tl_pow_core: /* wgsl */ `
fn tl_pow_core(x: f32, y: f32) -> f32 {
  let d = tl_frexp1(x);
  let f = d.x;
  let s = f / (2.0 + f);
  let sh = tl_top12(s);
  let fh = tl_top12(f);
  let sl = (((f - 2.0 * sh) - sh * fh) - sh * (f - fh)) / (2.0 + f);
  let z = s * s;
  let tail = 2.0 * sl + s * z * (0.66666666 + z * (0.4000000 + z * (0.28571430 + z * (0.2222222 + z * 0.1818182))));
  let lead = 2.0 * sh;
  let part = lead * 1.4423828125;
  let th = tl_top12(d.y + part);
  let tlo = ((d.y - th) + part) + (lead * 3.1222838896e-04 + tail * 1.4426950408889634);
  let yh = tl_top12(y);
  let ph = yh * th;
  let pl = (y - yh) * th + y * tlo;
  let sum = ph + pl;
  if (sum >= 128.0) { return tl_inf(); }
  if (sum < -150.0) { return 0.0; }
  let n = round(sum);
  return tl_scale2(tl_exp2((ph - n) + pl), i32(n));
}`,
  tl_pow: /* wgsl */ `
fn tl_pow(x: f32, y: f32) -> f32 {
  if (y == 0.0 || tl_eq(x, 1.0)) { return 1.0; }
  if (tl_isnan(x) || tl_isnan(y)) { return tl_nan(); }
  let a = abs(x);
  let whole = abs(y) >= 16777216.0 || floor(y) == y;
  let odd = whole && abs(y) < 16777216.0 && (i32(y) & 1) == 1;
  if (tl_isinf(y)) { if (a == 1.0) { return 1.0; } return select(0.0, tl_inf(), (a > 1.0) == (y > 0.0)); }
  var r: f32;
  if ((bitcast<u32>(a)) == 0u || tl_isinf(x)) { r = select(0.0, tl_inf(), (a == 0.0) == (y < 0.0)); }
  else if (tl_signbit(x) && !whole) { return tl_nan(); }
  else if (y == 1.0) { r = a; }
  else if (y == 2.0) { r = a * a; }
  else if (y == 0.5) { r = sqrt(a); }
  else if (y == -1.0) { r = 1.0 / a; }
  else { r = tl_pow_core(a, y); }
  return select(r, -r, odd && tl_signbit(x));
}`,
  /* exact: long division of the significands, one bit a step */
  tl_fmod: /* wgsl */ `
fn tl_fmod(x: f32, y: f32) -> f32 {
  if (!tl_isfinite(x) || tl_isnan(y) || y == 0.0) { return tl_nan(); }
  let a = abs(x);
  let b = abs(y);
  if (tl_isinf(y) || a < b) { return x; }
  let ua = bitcast<u32>(a);
  let ub = bitcast<u32>(b);
  var ea = ua >> 23u;
  var eb = ub >> 23u;
  var ma = ua & 0x7fffffu;
  var mb = ub & 0x7fffffu;
  if (ea == 0u) { ea = 1u; } else { ma |= 0x800000u; }
  if (eb == 0u) { eb = 1u; } else { mb |= 0x800000u; }
  ma = ma % mb;
  for (var i = ea; i > eb && ma != 0u; i--) {
    ma = ma << 1u;
    if (ma >= mb) { ma -= mb; }
  }
  if (ma == 0u) { return tl_copysign(0.0, x); }
  let up = min(countLeadingZeros(ma) - 8u, eb - 1u);
  ma = ma << up;
  let e = eb - up;
  let bits = select(ma, (ma & 0x7fffffu) | (e << 23u), (ma & 0x800000u) != 0u);
  return tl_copysign(bitcast<f32>(bits), x);
}`,
  tl_remainder: /* wgsl */ `
fn tl_remainder(x: f32, y: f32) -> f32 {
  let r = tl_fmod(x, y);
  if (tl_isnan(r)) { return r; }
  if (r != 0.0 && (r < 0.0) != (y < 0.0)) { return r + y; }
  return r;
}`,
  tl_floor_divide: floorDivide("tl_floor_divide", ""),
  tl_floor_divide_float16: floorDivide("tl_floor_divide_float16", "tl_round_float16"),
  tl_floor_divide_bfloat16: floorDivide("tl_floor_divide_bfloat16", "tl_round_bfloat16"),
  /* GPUs multiply by the reciprocal of y. Above 2^126 that is below the normal numbers, which they take for 0 (3e38 /
   * 3e38 was 0 on an NVIDIA H200): two less in y's exponent, and a quarter of the quotient. */
  tl_div: /* wgsl */ `
fn tl_div(x: f32, y: f32) -> f32 {
  let size = bitcast<u32>(y) & 0x7fffffffu;
  if (size == 0u) {
    if (tl_isnan(x) || x == 0.0) { return tl_nan(); }
    return select(tl_inf(), -tl_inf(), tl_signbit(x) != tl_signbit(y));
  }
  if (size >= 0x7e800000u && size < 0x7f800000u) {
    return x / bitcast<f32>(bitcast<u32>(y) - 0x1000000u) * 0.25;
  }
  return x / y;
}`,
  /* the built-in rounds halves to even; the sign is copied so that -0.4 gives -0 */
  tl_round: `fn tl_round(x: f32) -> f32 { if (abs(x) < 8388608.0) { return tl_copysign(round(x), x); } return x; }`,
  tl_nextafter: /* wgsl */ `
fn tl_nextafter(x: f32, y: f32) -> f32 {
  if (tl_isnan(x) || tl_isnan(y)) { return tl_nan(); }
  if (x == y) { return y; }
  let u = bitcast<u32>(x);
  if ((u & 0x7fffffffu) == 0u) { return tl_copysign(bitcast<f32>(1u), y); }
  return bitcast<f32>(select(u - 1u, u + 1u, (x < y) == (x > 0.0)));
}`,
  tl_xlogy: /* wgsl */ `
fn tl_xlogy(x: f32, y: f32) -> f32 {
  if (tl_isnan(y)) { return y; }
  if (x == 0.0) { return 0.0; }
  return x * tl_log(y);
}`,
  tl_xlog1py: /* wgsl */ `
fn tl_xlog1py(x: f32, y: f32) -> f32 {
  if (tl_isnan(y)) { return y; }
  if (x == 0.0) { return 0.0; }
  return x * tl_log1p(y);
}`,
  tl_logaddexp: /* wgsl */ `
fn tl_logaddexp(x: f32, y: f32) -> f32 {
  if (tl_isnan(x) || tl_isnan(y)) { return tl_nan(); }
  if (tl_isinf(x) && x == y) { return x; }
  return max(x, y) + tl_log1p(tl_exp(-abs(x - y)));
}`,
  tl_logaddexp2: /* wgsl */ `
fn tl_logaddexp2(x: f32, y: f32) -> f32 {
  if (tl_isnan(x) || tl_isnan(y)) { return tl_nan(); }
  if (tl_isinf(x) && x == y) { return x; }
  return max(x, y) + tl_log1p(tl_exp2(-abs(x - y))) * 1.4426950408889634;
}`,
  tl_nan_to_num: /* wgsl */ `
fn tl_nan_to_num(x: f32, n: f32, hi: f32, lo: f32) -> f32 {
  if (tl_isnan(x)) { return n; }
  if (tl_isinf(x)) { return select(hi, lo, tl_signbit(x)); }
  return x;
}`,
  tl_softplus: `fn tl_softplus(x: f32, beta: f32, limit: f32) -> f32 {
  if (x * beta > limit) { return x; } return tl_log1p(tl_exp(x * beta)) / beta;
}`,
  tl_log_sigmoid: `fn tl_log_sigmoid(x: f32) -> f32 { return tl_min(0.0, x) - tl_log1p(tl_exp(-abs(x))); }`,
  tl_mish: `fn tl_mish(x: f32) -> f32 { return x * tl_tanh(tl_softplus(x, 1.0, 20.0)); }`,
  tl_mish_slope: /* wgsl */ `
fn tl_mish_slope(x: f32) -> f32 {
  let t = tl_tanh(tl_softplus(x, 1.0, 20.0));
  return t + x * (1.0 - t * t) * tl_sigmoid(x);
}`,
  tl_silu: `fn tl_silu(x: f32) -> f32 { return x * tl_sigmoid(x); }`,
  tl_silu_slope: `fn tl_silu_slope(x: f32) -> f32 { let s = tl_sigmoid(x); return s * (1.0 + x * (1.0 - s)); }`,
  /* (1 - Phi(|x|)) / exp(-x^2 / 2), Phi being the normal distribution's; fitted to 2.5e-7 */
  tl_normal_tail: /* wgsl */ `
fn tl_normal_tail(x: f32) -> f32 {
  let t = 1.0 / (1.0 + 0.28284271 * abs(x));
  return t * ${NORMAL_TAIL};
}`,
  /*
   * This calls the adapter's own exp. Its relative error grows with x^2, but there its term is small against 1.
   * PyTorch's x * (1 + erf(x / sqrt 2)) / 2 loses more digits.
   */
  tl_gelu: /* wgsl */ `
fn tl_gelu(x: f32) -> f32 {
  let tail = exp(max(-0.5 * x * x, -200.0)) * tl_normal_tail(x);
  return x * select(tail, 1.0 - tail, x > 0.0);
}`,
  tl_gelu_slope: /* wgsl */ `
fn tl_gelu_slope(x: f32) -> f32 {
  let e = exp(max(-0.5 * x * x, -200.0));
  let tail = e * tl_normal_tail(x);
  return select(tail, 1.0 - tail, x > 0.0) + x * 0.3989422804014327 * e;
}`,
  tl_gelu_tanh: `fn tl_gelu_tanh(x: f32) -> f32 {
  return 0.5 * x * (1.0 + tl_tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}`,
  tl_gelu_tanh_slope: /* wgsl */ `
fn tl_gelu_tanh_slope(x: f32) -> f32 {
  let t = tl_tanh(0.7978845608028654 * (x + 0.044715 * x * x * x));
  return 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * 0.7978845608028654 * (1.0 + 0.134145 * x * x);
}`,
  tl_logit: `fn tl_logit(x: f32) -> f32 { return tl_log(tl_div(x, 1.0 - x)); }`,
  tl_sinc: `fn tl_sinc(x: f32) -> f32 {
  if (x == 0.0) { return 1.0; } let t = 3.141592653589793 * x; return tl_sin(t) / t;
}`,
  /* recurrence up to x >= 8, then the asymptotic series; reflection below 0 */
  tl_digamma: /* wgsl */ `
fn tl_digamma(v: f32) -> f32 {
  var x = v;
  var r = 0.0;
  if (tl_isnan(x)) { return x; }
  if (x == 0.0) { return tl_copysign(tl_inf(), -x); }
  if (tl_isinf(x)) { return select(x, tl_nan(), x < 0.0); }
  if (x < 0.0) {
    if (floor(x) == x) { return tl_nan(); }
    let f = x - round(x);
    r = -3.141592653589793 / tl_tan(3.141592653589793 * f);
    x = 1.0 - x;
  }
  while (x < 8.0) { r = r - 1.0 / x; x = x + 1.0; }
  let z = 1.0 / (x * x);
  return r + (tl_log(x) - 0.5 / x - z * (0.083333333 - z * (0.0083333333 - z * 0.0039682540)));
}`,
  /* sums of exp relative to their maxima, joined; a part of -inf adds nothing, +inf counts as one */
  tl_lse_join: /* wgsl */ `
fn tl_lse_join(m: f32, s: f32, n: f32, t: f32) -> f32 {
  let top = tl_max(m, n);
  if (!tl_isfinite(top)) { return select(s + t, 0.0, top < 0.0); }
  return select(s * tl_exp(m - top), 0.0, s == 0.0) + select(t * tl_exp(n - top), 0.0, t == 0.0);
}`,
  tl_lse_finish: `fn tl_lse_finish(m: f32, s: f32) -> f32 { if (!tl_isfinite(m)) { return m; } return m + tl_log(s); }`,
};
