/**
 * Complex functions on vec2<f32>(re, im). Inverse functions follow Kahan, "Branch cuts for complex elementary
 * functions" (1987), divisions are scaled by the larger part of the divisor (Smith), as in the core
 * (native/src/math/cmath.h).
 */
const fn = (name: string, args: string, body: string): readonly [string, string] => [
  `tl_c_${name}`,
  `fn tl_c_${name}(${args}) -> vec2<f32> {\n${body}\n}`,
];
const Z = "a: vec2<f32>";
const ZZ = "a: vec2<f32>, b: vec2<f32>";

export const COMPLEX: Readonly<Record<string, string>> = Object.fromEntries([
  ["tl_c_part", "fn tl_c_part(a: vec2<f32>, part: f32) -> f32 { return select(a.x, a.y, part != 0.0); }"],
  fn("conj", Z, "  return vec2<f32>(a.x, -a.y);"),
  fn("muli", Z, "  return vec2<f32>(-a.y, a.x);"),
  fn("divi", Z, "  return vec2<f32>(a.y, -a.x);"),
  fn("mul", ZZ, "  return vec2<f32>(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);"),
  fn("square", Z, "  return vec2<f32>(a.x * a.x - a.y * a.y, 2.0 * a.x * a.y);"),
  fn(
    "div",
    ZZ,
    `  if (abs(b.x) >= abs(b.y)) {
    if (b.x == 0.0) { return vec2<f32>(tl_div(a.x, abs(b.x)), tl_div(a.y, abs(b.x))); }
    let r = tl_div(b.y, b.x);
    let d = b.x + b.y * r;
    return vec2<f32>(tl_div(a.x + a.y * r, d), tl_div(a.y - a.x * r, d));
  }
  let r = tl_div(b.x, b.y);
  let d = b.x * r + b.y;
  return vec2<f32>(tl_div(a.x * r + a.y, d), tl_div(a.y * r - a.x, d));`,
  ),
  fn("reciprocal", Z, "  return tl_c_div(vec2<f32>(1.0, 0.0), a);"),
  fn(
    "sgn",
    Z,
    `  let h = tl_hypot(a.x, a.y);
  if (h == 0.0) { return vec2<f32>(0.0); }
  return vec2<f32>(tl_div(a.x, h), tl_div(a.y, h));`,
  ),
  fn(
    "exp",
    Z,
    `  let e = tl_exp(a.x);
  if (a.y == 0.0) { return vec2<f32>(e, a.y); }
  if (tl_isinf(a.x) && !tl_isfinite(a.y)) {
    if (a.x < 0.0) { return vec2<f32>(0.0); }
    return vec2<f32>(a.x, tl_nan());
  }
  return vec2<f32>(e * tl_cos(a.y), e * tl_sin(a.y));`,
  ),
  fn("exp2", Z, "  return tl_c_exp(a * 0.6931471805599453);"),
  fn(
    "expm1",
    Z,
    `  let s = tl_sin(a.y * 0.5);
  return vec2<f32>(tl_expm1(a.x) * tl_cos(a.y) - 2.0 * s * s, tl_exp(a.x) * tl_sin(a.y));`,
  ),
  fn(
    "log",
    Z,
    `  let h = tl_hypot(a.x, a.y);
  let angle = tl_atan2(a.y, a.x);
  if (h > 0.5 && h < 2.0) {
    let p = max(abs(a.x), abs(a.y));
    let q = min(abs(a.x), abs(a.y));
    return vec2<f32>(0.5 * tl_log1p((p - 1.0) * (p + 1.0) + q * q), angle);
  }
  return vec2<f32>(tl_log(h), angle);`,
  ),
  fn("log2", Z, "  return tl_c_log(a) * 1.4426950408889634;"),
  fn("log10", Z, "  return tl_c_log(a) * 0.4342944819032518;"),
  fn(
    "log1p",
    Z,
    `  if (abs(a.x) < 0.5 && abs(a.y) < 0.5) {
    return vec2<f32>(0.5 * tl_log1p(a.x * (2.0 + a.x) + a.y * a.y), tl_atan2(a.y, 1.0 + a.x));
  }
  return tl_c_log(vec2<f32>(1.0 + a.x, a.y));`,
  ),
  fn(
    "sqrt",
    Z,
    `  if (a.x == 0.0 && a.y == 0.0) { return vec2<f32>(0.0, a.y); }
  if (tl_isinf(a.y)) { return vec2<f32>(tl_inf(), a.y); }
  if (tl_isinf(a.x)) {
    if (a.x > 0.0) { return vec2<f32>(a.x, select(tl_copysign(0.0, a.y), a.y, tl_isnan(a.y))); }
    return vec2<f32>(select(0.0, a.y, tl_isnan(a.y)), tl_copysign(tl_inf(), a.y));
  }
  var z = a;
  var s = 1.0;
  if (abs(a.x) > 1e37 || abs(a.y) > 1e37) { z = a * 0.0625; s = 4.0; }
  let t = tl_sqrt((tl_hypot(z.x, z.y) + abs(z.x)) * 0.5);
  if (tl_le(0.0, z.x)) { return vec2<f32>(s * t, s * tl_div(z.y, 2.0 * t)); }
  return vec2<f32>(s * tl_div(abs(z.y), 2.0 * t), s * tl_copysign(t, z.y));`,
  ),
  fn("rsqrt", Z, "  return tl_c_reciprocal(tl_c_sqrt(a));"),
  fn(
    "sinh",
    Z,
    `  if (a.y == 0.0) { return vec2<f32>(tl_sinh(a.x), a.y); }
  if (!tl_isfinite(a.y) && (a.x == 0.0 || tl_isinf(a.x))) { return vec2<f32>(a.x, tl_nan()); }
  return vec2<f32>(tl_sinh(a.x) * tl_cos(a.y), tl_cosh(a.x) * tl_sin(a.y));`,
  ),
  fn(
    "cosh",
    Z,
    `  if (a.y == 0.0) { return vec2<f32>(tl_cosh(a.x), select(a.y, -a.y, tl_signbit(a.x))); }
  if (!tl_isfinite(a.y) && a.x == 0.0) { return vec2<f32>(tl_nan(), a.x); }
  if (!tl_isfinite(a.y) && tl_isinf(a.x)) { return vec2<f32>(tl_inf(), tl_nan()); }
  return vec2<f32>(tl_cosh(a.x) * tl_cos(a.y), tl_sinh(a.x) * tl_sin(a.y));`,
  ),
  fn(
    "tanh",
    Z,
    `  if (abs(a.x) > 20.0) {
    if (!tl_isfinite(a.y)) { return vec2<f32>(tl_copysign(1.0, a.x), 0.0); }
    return vec2<f32>(tl_copysign(1.0, a.x), 4.0 * tl_sin(a.y) * tl_cos(a.y) * tl_exp(-2.0 * abs(a.x)));
  }
  if (a.y == 0.0) { return vec2<f32>(tl_tanh(a.x), a.y); }
  if (!tl_isfinite(a.y)) { return vec2<f32>(select(tl_nan(), a.x, a.x == 0.0), tl_nan()); }
  let t = tl_tan(a.y);
  let b = 1.0 + t * t;
  let s = tl_sinh(a.x);
  let r = tl_sqrt(1.0 + s * s);
  let d = 1.0 + b * s * s;
  return vec2<f32>(tl_div(b * r * s, d), tl_div(t, d));`,
  ),
  fn("sin", Z, "  return tl_c_divi(tl_c_sinh(tl_c_muli(a)));"),
  fn("cos", Z, "  return tl_c_cosh(tl_c_muli(a));"),
  fn("tan", Z, "  return tl_c_divi(tl_c_tanh(tl_c_muli(a)));"),
  fn(
    "asin",
    Z,
    `  if (tl_isnan(a.y) && a.x == 0.0) { return a; }
  if (tl_isinf(a.x) && !tl_isinf(a.y)) {
    return vec2<f32>(select(tl_copysign(1.5707963267948966, a.x), a.y, tl_isnan(a.y)), tl_copysign(tl_inf(), a.y));
  }
  let p = tl_c_sqrt(vec2<f32>(1.0 - a.x, -a.y));
  let q = tl_c_sqrt(vec2<f32>(1.0 + a.x, a.y));
  return vec2<f32>(tl_atan2(a.x, p.x * q.x - p.y * q.y), tl_asinh(p.x * q.y - p.y * q.x));`,
  ),
  fn(
    "acos",
    Z,
    `  if (tl_isnan(a.y) && a.x == 0.0) { return vec2<f32>(1.5707963267948966, a.y); }
  if (tl_isnan(a.y) && tl_isinf(a.x)) { return vec2<f32>(a.y, -tl_inf()); }
  if (tl_isnan(a.x) && tl_isinf(a.y)) { return vec2<f32>(a.x, -a.y); }
  let p = tl_c_sqrt(vec2<f32>(1.0 - a.x, -a.y));
  let q = tl_c_sqrt(vec2<f32>(1.0 + a.x, a.y));
  return vec2<f32>(2.0 * tl_atan2(p.x, q.x), tl_asinh(q.x * p.y - q.y * p.x));`,
  ),
  fn(
    "acosh",
    Z,
    `  if (tl_isnan(a.y) && a.x == 0.0) { return vec2<f32>(a.y, 1.5707963267948966); }
  if ((tl_isnan(a.x) && tl_isinf(a.y)) || (tl_isnan(a.y) && tl_isinf(a.x))) { return vec2<f32>(tl_inf(), tl_nan()); }
  let p = tl_c_sqrt(vec2<f32>(a.x - 1.0, a.y));
  let q = tl_c_sqrt(vec2<f32>(a.x + 1.0, a.y));
  return vec2<f32>(tl_asinh(p.x * q.x + p.y * q.y), 2.0 * tl_atan2(p.y, q.x));`,
  ),
  fn("asinh", Z, "  return tl_c_divi(tl_c_asin(tl_c_muli(a)));"),
  fn(
    "atanh",
    Z,
    `  if (tl_isinf(a.x) || tl_isinf(a.y)) {
    return vec2<f32>(tl_copysign(0.0, a.x), select(tl_copysign(1.5707963267948966, a.y), a.y, tl_isnan(a.y)));
  }
  if (a.x == 0.0 && tl_isnan(a.y)) { return a; }
  let u = 1.0 - abs(a.x);
  let re = 0.25 * tl_log1p(tl_div(4.0 * abs(a.x), u * u + a.y * a.y));
  return vec2<f32>(tl_copysign(re, a.x), 0.5 * tl_atan2(2.0 * a.y, (1.0 - a.x) * (1.0 + a.x) - a.y * a.y));`,
  ),
  fn("atan", Z, "  return tl_c_divi(tl_c_atanh(tl_c_muli(a)));"),
  fn("sigmoid", Z, "  return tl_c_reciprocal(vec2<f32>(1.0, 0.0) + tl_c_exp(-a));"),
  fn("silu", Z, "  return tl_c_mul(a, tl_c_sigmoid(a));"),
  fn(
    "sinc",
    Z,
    `  if (a.x == 0.0 && a.y == 0.0) { return vec2<f32>(1.0, 0.0); }
  let t = a * 3.141592653589793;
  return tl_c_div(tl_c_sin(t), t);`,
  ),
  fn(
    "pow",
    ZZ,
    `  if (b.x == 0.0 && b.y == 0.0) { return vec2<f32>(1.0, 0.0); }
  if (a.x == 0.0 && a.y == 0.0) { return select(vec2<f32>(tl_nan()), vec2<f32>(0.0), b.x > 0.0); }
  if (b.y == 0.0) {
    if (b.x == 1.0) { return a; }
    if (b.x == 2.0) { return tl_c_mul(a, a); }
    if (b.x == 3.0) { return tl_c_mul(a, tl_c_mul(a, a)); }
    if (b.x == -1.0) { return tl_c_reciprocal(a); }
    if (b.x == 0.5) { return tl_c_sqrt(a); }
  }
  return tl_c_exp(tl_c_mul(b, tl_c_log(a)));`,
  ),
  fn(
    "logaddexp",
    ZZ,
    `  if (a.x == b.x && a.y == b.y && tl_isinf(a.x)) { return a; }
  if (a.x < b.x) { return b + tl_c_log1p(tl_c_exp(a - b)); }
  return a + tl_c_log1p(tl_c_exp(b - a));`,
  ),
]);
