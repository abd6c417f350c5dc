/** float32 functions around the gamma and the error function, and orthogonal polynomials. */
export const GAMMA: Readonly<Record<string, string>> = {
  /* for finite x > 0 */
  tl_lgamma_pos: /* wgsl */ `
fn tl_lgamma_pos(v: f32) -> f32 {
  if (v >= 8.0) {
    let w = 1.0 / (v * v);
    return (v - 0.5) * (tl_log(v) - 1.0) + (0.41893853 + (0.083333333 - w * (0.0027777778 - w * 0.00079365079)) / v);
  }
  var x = v;
  var more = 0.0;
  if (x < 0.75) { more = -tl_log(x); x = x + 1.0; }
  if (x >= 3.0) {
    var p = 1.0;
    while (x >= 3.0) { x = x - 1.0; p = p * x; }
    more = tl_log(p);
  }
  let f = (x - 1.0) * (x - 2.0);
  if (x < 1.5) { return more + f * tl_ch_lgamma_a((x - 1.125) / 0.375); }
  return more + f * tl_ch_lgamma_b((x - 2.25) / 0.75);
}`,
  tl_lgamma: /* wgsl */ `
fn tl_lgamma(x: f32) -> f32 {
  if (tl_isnan(x)) { return x; }
  if (tl_isinf(x) || x == 0.0) { return tl_inf(); }
  if (x > 0.0) { return tl_lgamma_pos(x); }
  let f = x - round(x);
  if (f == 0.0) { return tl_inf(); }
  return tl_log(3.14159265 / abs(x * tl_sin(3.14159265 * f))) - tl_lgamma_pos(-x);
}`,
  /* sum over k >= 0 of (q + k)^-s: direct terms, then Euler and Maclaurin */
  tl_zeta: /* wgsl */ `
fn tl_zeta(s: f32, q: f32) -> f32 {
  if (tl_isnan(s) || tl_isnan(q) || s < 1.0) { return tl_nan(); }
  if (s == 1.0) { return tl_inf(); }
  if (q <= 0.0) {
    if (floor(q) == q) { return tl_inf(); }
    if (floor(s) != s || q < -10000.0) { return tl_nan(); }
  }
  var sum = 0.0;
  var a = q;
  for (var n = 0; n < 8 || a < 8.0; n++) {
    let t = tl_pow(a, -s);
    sum = sum + t;
    if (a > 1.0 && abs(t) < abs(sum) * 1e-9) { return sum; }
    a = a + 1.0;
  }
  let p = tl_pow(a, -s);
  let r = 1.0 / (a * a);
  let f1 = s / a;
  let f2 = f1 * (s + 1.0) * (s + 2.0) * r;
  let f3 = f2 * (s + 3.0) * (s + 4.0) * r;
  let f4 = f3 * (s + 5.0) * (s + 6.0) * r;
  return sum +
    p * (a / (s - 1.0) + 0.5 + f1 * 8.3333333e-2 - f2 * 1.3888889e-3 + f3 * 3.3068783e-5 - f4 * 8.2671958e-7);
}`,
  tl_polygamma: /* wgsl */ `
fn tl_polygamma(x: f32, order: f32) -> f32 {
  if (order == 0.0) { return tl_digamma(x); }
  if (tl_isnan(x)) { return x; }
  if (order == 1.0 && x > 3e38) { return 0.0; }
  if (order == 1.0 && x < 0.5) {
    let f = x - round(x);
    if (f == 0.0) { return tl_inf(); }
    let s = tl_sin(3.14159265 * f);
    return 9.8696044 / (s * s) - tl_zeta(2.0, 1.0 - x);
  }
  let sign = select(-1.0, 1.0, order - 2.0 * floor(order * 0.5) == 1.0);
  if (order <= 30.0) {
    var factorial = 1.0;
    for (var k = 2.0; k <= order; k = k + 1.0) { factorial = factorial * k; }
    return sign * factorial * tl_zeta(order + 1.0, x);
  }
  // the factorial is out of range, its products with the terms are not
  if (x <= 0.0) { return select(tl_nan(), tl_inf(), floor(x) == x); }
  var sum = 0.0;
  let lead = tl_lgamma_pos(order + 1.0);
  for (var k = 0.0; k < 4096.0; k = k + 1.0) {
    let t = tl_exp(lead - (order + 1.0) * tl_log(x + k));
    sum = sum + t;
    if (t < sum * 1e-8) { break; }
  }
  return sign * sum;
}`,
  /* x^a e^-x / gamma(a) for positive finite a, x */
  tl_gamma_prefix: /* wgsl */ `
fn tl_gamma_prefix(a: f32, x: f32) -> f32 {
  if (a < 8.0) { return tl_exp(a * tl_log(x) - x - tl_lgamma_pos(a)); }
  let d = (x - a) / a;
  var phi = d - tl_log1p(d);
  if (abs(d) < 0.125) {
    phi = d * d * (0.5 - d * (0.33333333 - d * (0.25 - d * (0.2 - d * (0.16666667 - d * (0.14285714 -
      d * (0.125 - d * 0.11111111)))))));
  }
  return sqrt(a * 0.15915494) * tl_exp(-a * phi - (0.083333333 - 0.0027777778 / (a * a)) / a);
}`,
  tl_gamma_series: /* wgsl */ `
fn tl_gamma_series(a: f32, x: f32) -> f32 {
  var t = 1.0 / a;
  var s = t;
  for (var k = 1.0; k < 20000.0; k = k + 1.0) {
    t = t * x / (a + k);
    s = s + t;
    if (t < s * 1e-8) { return s * tl_gamma_prefix(a, x); }
  }
  return tl_nan();
}`,
  /* Lentz */
  tl_gamma_fraction: /* wgsl */ `
fn tl_gamma_fraction(a: f32, x: f32) -> f32 {
  var b = x + 1.0 - a;
  var c = 1e30;
  var d = 1.0 / b;
  var h = d;
  for (var k = 1.0; k < 20000.0; k = k + 1.0) {
    let n = -k * (k - a);
    b = b + 2.0;
    d = n * d + b;
    if (abs(d) < 1e-30) { d = 1e-30; }
    c = b + n / c;
    if (abs(c) < 1e-30) { c = 1e-30; }
    d = 1.0 / d;
    let q = d * c;
    h = h * q;
    if (abs(q - 1.0) < 1e-7) { return h * tl_gamma_prefix(a, x); }
  }
  return tl_nan();
}`,
  tl_igamma_special: /* wgsl */ `
fn tl_igamma_special(a: f32, x: f32) -> f32 {
  if (tl_isnan(a) || tl_isnan(x) || a < 0.0 || x < 0.0 || (a == 0.0 && x == 0.0) || (tl_isinf(a) && tl_isinf(x))) {
    return tl_nan();
  }
  if (a == 0.0 || tl_isinf(x)) { return 1.0; }
  if (x == 0.0 || tl_isinf(a)) { return 0.0; }
  return -1.0;
}`,
  tl_igamma: /* wgsl */ `
fn tl_igamma(a: f32, x: f32) -> f32 {
  let s = tl_igamma_special(a, x);
  if (tl_isnan(s) || s >= 0.0) { return s; }
  if (x < a + 1.0) { return tl_gamma_series(a, x); }
  return 1.0 - tl_gamma_fraction(a, x);
}`,
  tl_igammac: /* wgsl */ `
fn tl_igammac(a: f32, x: f32) -> f32 {
  let s = tl_igamma_special(a, x);
  if (tl_isnan(s) || s >= 0.0) { return 1.0 - s; }
  if (x < a + 1.0) { return 1.0 - tl_gamma_series(a, x); }
  return tl_gamma_fraction(a, x);
}`,
  tl_entr: /* wgsl */ `
fn tl_entr(x: f32) -> f32 {
  if (tl_isnan(x)) { return x; }
  if (x == 0.0) { return 0.0; }
  if (x < 0.0) { return -tl_inf(); }
  return -x * tl_log(x);
}`,
  tl_erfcx: /* wgsl */ `
fn tl_erfcx(x: f32) -> f32 {
  if (tl_isnan(x)) { return x; }
  if (x > 8.0) {
    let z = 0.5 / x / x;
    return 0.56418958 / x * (1.0 - z * (1.0 - 3.0 * z * (1.0 - 5.0 * z * (1.0 - 7.0 * z))));
  }
  if (x >= 0.5) { return tl_erfcx_core(x); }
  if (x < -9.4) { return tl_inf(); }
  let h = tl_top12(x);
  let e = tl_exp(h * h) * tl_exp((x - h) * (x + h));
  if (x > -0.5) { return e * (1.0 - tl_erf_small(x)); }
  return 2.0 * e - tl_erfcx_core(-x);
}`,
  tl_log_ndtr: /* wgsl */ `
fn tl_log_ndtr(x: f32) -> f32 {
  let t = x * 0.70710678;
  if (tl_isnan(x)) { return x; }
  if (x < -1e18) { return -tl_inf(); }
  if (x < -1.0) { return tl_log(0.5 * tl_erfcx(-t)) - 0.5 * x * x; }
  return tl_log1p(-0.5 * tl_erfc(t));
}`,
  tl_ndtri: /* wgsl */ `
fn tl_ndtri(p: f32) -> f32 {
  if (tl_isnan(p) || p < 0.0 || p > 1.0) { return tl_nan(); }
  if ((bitcast<u32>(p) & 0x7fffffffu) == 0u) { return -tl_inf(); }
  if (p == 1.0) { return tl_inf(); }
  let q = min(p, 1.0 - p);
  if (q > 0.1) { return 1.41421356 * tl_erfinv(2.0 * p - 1.0); }
  let s = sqrt(-2.0 * tl_log(q));
  var y = 0.0;
  if (s < 5.0) { y = tl_ch_ndtri_a((s - 3.55) / 1.45); } else { y = tl_ch_ndtri_b((s - 9.8) / 4.8); }
  return select(y, -y, p < 0.5);
}`,
  /* x y - z with the product's lower half, as PyTorch's compiler fuses it: the recurrences below cancel */
  tl_fms: /* wgsl */ `
fn tl_fms(x: f32, y: f32, z: f32) -> f32 {
  let p = x * y;
  if (!(abs(p) < 1e30)) { return p - z; }
  let a = tl_top12(x);
  let b = tl_top12(y);
  let e = ((a * b - p) + a * (y - b) + (x - a) * b) + (x - a) * (y - b);
  let s = p - z;
  let t = s - p;
  return s + (e + ((p - (s - t)) - (z + t)));
}`,
  /* kinds: 0 T, 1 U, 2 V, 3 W (Chebyshev), 4 H, 5 He (Hermite), 6 L (Laguerre), 7 P (Legendre) */
  tl_polynomial: /* wgsl */ `
fn tl_polynomial(kind: i32, x: f32, degree: f32) -> f32 {
  let n = trunc(degree);
  if (tl_isnan(degree) || n < 0.0 || n > 9e18) { return 0.0; }
  if (n == 0.0) { return 1.0; }
  if (tl_isnan(x)) { return x; }
  let odd = select(1.0, -1.0, n - 2.0 * floor(n * 0.5) == 1.0);
  let all = 2.0 * n + 1.0;
  if (abs(x) == 1.0) {
    if (kind == 0 || kind == 7) { return select(odd, 1.0, x > 0.0); }
    if (kind == 1) { return (n + 1.0) * select(odd, 1.0, x > 0.0); }
    if (kind == 2) { return select(all * odd, 1.0, x > 0.0); }
    if (kind == 3) { return select(odd, all, x > 0.0); }
  }
  if (abs(x) < 1.0 && kind < 4 && n > select(8.0, 6.0, kind == 0)) {
    let angle = tl_acos(x);
    if (kind == 0) { return tl_cos(n * angle); }
    if (kind == 1) { return tl_sin((n + 1.0) * angle) / tl_sin(angle); }
    if (kind == 2) { return tl_cos((n + 0.5) * angle) / tl_cos(0.5 * angle); }
    return tl_sin((n + 0.5) * angle) / tl_sin(0.5 * angle);
  }
  if (n > select(100000.0, 512.0, kind == 4 || kind == 5)) { return tl_nan(); }
  var p = 1.0;
  var q = x;
  if (kind == 1 || kind == 4) { q = 2.0 * x; }
  if (kind == 2) { q = 2.0 * x - 1.0; }
  if (kind == 3) { q = 2.0 * x + 1.0; }
  if (kind == 6) { q = 1.0 - x; }
  for (var d = 1.0; d < n && !tl_isnan(q); d = d + 1.0) {
    var r = 0.0;
    if (kind == 4) { r = tl_fms(2.0 * x, q, 2.0 * d * p); }
    else if (kind == 5) { r = tl_fms(x, q, d * p); }
    else if (kind == 6) { r = tl_fms(2.0 * d + (1.0 - x), q, d * p) / (d + 1.0); }
    else if (kind == 7) { r = tl_fms((2.0 * d + 1.0) * x, q, d * p) / (d + 1.0); }
    else { r = tl_fms(2.0 * x, q, p); }
    p = q;
    q = r;
  }
  return q;
}`,
  tl_frexp_exponent: `fn tl_frexp_exponent(x: f32) -> f32 {
  let u = bitcast<u32>(x) & 0x7fffffffu; if (!tl_isfinite(x) || u == 0u) {
    return 0.0;
  }
  if (u < 0x00800000u) { return f32(32 - i32(countLeadingZeros(u))) - 149.0; } return f32(u >> 23u) - 126.0;
}`,
  tl_frexp_mantissa: `fn tl_frexp_mantissa(x: f32) -> f32 {
  var u = bitcast<u32>(x) & 0x7fffffffu; if (!tl_isfinite(x) || u == 0u) { return x; } if (u < 0x00800000u) {
    u = u << (countLeadingZeros(u) - 8u);
  }
  return tl_copysign(bitcast<f32>((u & 0x7fffffu) | 0x3f000000u), x);
}`,
};
