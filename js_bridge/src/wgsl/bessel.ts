/**
 * float32 Bessel and Airy functions: Chebyshev series near 0, amplitude and phase beyond. J, Y and Ai of infinity are
 * NaN, as in PyTorch.
 */
const order = (n: 0 | 1): Readonly<Record<string, string>> => ({
  /* e^-|x| I_n(x) */
  [`tl_i${n}e`]: /* wgsl */ `
fn tl_i${n}e(x: f32) -> f32 {
  let a = abs(x);
  if (tl_isnan(x)) { return x; }
  if (tl_isinf(x)) { return 0.0; }
  var r: f32;
  if (a <= 8.0) {
    r = tl_ch_i${n}e_a(a * 0.25 - 1.0)${n ? " * a" : ""};
  } else { r = tl_ch_i${n}e_b(16.0 / a - 1.0) / sqrt(a); }
  return ${n ? "tl_copysign(r, x)" : "r"};
}`,
  /* exp in two halves: I is finite a little beyond its overflow; NaN at infinity, as in PyTorch */
  [`tl_i${n}`]: `fn tl_i${n}(x: f32) -> f32 {
  if (tl_isinf(x)) { return tl_nan(); } let h = tl_exp(0.5 * abs(x)); return tl_i${n}e(x) * h * h;
}`,
  [`tl_k${n}e`]: /* wgsl */ `
fn tl_k${n}e(x: f32) -> f32 {
  if (tl_isnan(x) || x < 0.0) { return tl_nan(); }
  if ((bitcast<u32>(x) & 0x7fffffffu) == 0u) { return tl_inf(); }
  if (tl_isinf(x)) { return 0.0; }
  if (x > 2.0) { return tl_ch_k${n}_b(4.0 / x - 1.0) / sqrt(x); }
  let e = tl_exp(x);
  let c = tl_ch_k${n}_a(0.5 * x * x - 1.0);
  let l = tl_log(0.5 * x) * tl_i${n}e(x) * e;
  return ${n ? "(c / x + l) * e" : "(c - l) * e"};
}`,
  [`tl_k${n}`]: `fn tl_k${n}(x: f32) -> f32 { return tl_k${n}e(x) * tl_exp(-x); }`,
  /* (J_n, Y_n) for finite x > 8 */
  [`tl_jy${n}`]: /* wgsl */ `
fn tl_jy${n}(x: f32) -> vec2<f32> {
  let t = 128.0 / (x * x) - 1.0;
  let p = tl_ch_p${n}(t);
  let q = tl_ch_q${n}(t) / x;
  let s = tl_sin(x);
  let c = tl_cos(x);
  let cc = ${n ? "s - c" : "c + s"};
  let ss = ${n ? "-(s + c)" : "s - c"};
  return vec2<f32>(p * cc - q * ss, p * ss + q * cc) * (0.56418958 / sqrt(x));
}`,
  [`tl_j${n}`]: /* wgsl */ `
fn tl_j${n}(x: f32) -> f32 {
  let a = abs(x);
  if (tl_isnan(x)) { return x; }
  if (tl_isinf(x)) { return tl_nan(); }
  if (a <= 8.0) { return tl_ch_j${n}_a(a * a * 0.03125 - 1.0)${n ? " * x" : ""}; }
  return ${n ? "select(1.0, -1.0, x < 0.0) * " : ""}tl_jy${n}(a).x;
}`,
  [`tl_y${n}`]: /* wgsl */ `
fn tl_y${n}(x: f32) -> f32 {
  if (tl_isnan(x) || x < 0.0) { return tl_nan(); }
  if ((bitcast<u32>(x) & 0x7fffffffu) == 0u) { return -tl_inf(); }
  if (tl_isinf(x)) { return tl_nan(); }
  if (x > 8.0) { return tl_jy${n}(x).y; }
  let c = tl_ch_y${n}_a(x * x * 0.03125 - 1.0);
  return ${n ? "c * x + 0.63661977 * (tl_log(x) * tl_j1(x) - 1.0 / x)" : "c + 0.63661977 * tl_log(x) * tl_j0(x)"};
}`,
});

export const BESSEL: Readonly<Record<string, string>> = {
  ...order(0),
  ...order(1),
  tl_spherical_j0: `fn tl_spherical_j0(x: f32) -> f32 {
  if (tl_isinf(x)) { return 0.0; } if (abs(x) < 1e-3) { return 1.0 - x * x / 6.0; } return tl_sin(x) / x;
}`,
  tl_airy_ai: /* wgsl */ `
fn tl_airy_ai(x: f32) -> f32 {
  if (tl_isnan(x)) { return x; }
  if (tl_isinf(x)) { return tl_nan(); }
  if (x >= -4.0 && x <= 0.0) { return tl_ch_airy_m(0.5 * x + 1.0); }
  if (x > 0.0 && x <= 2.0) { return tl_ch_airy_p(x - 1.0) * tl_exp(-x); }
  let a = abs(x);
  let z = 0.66666667 * a * sqrt(a);
  let u = 1.0 / z;
  let root = sqrt(sqrt(a));
  if (x > 0.0) { return tl_ch_airy_far(u * 3.7712362 - 1.0) * tl_exp(-z) * 0.28209479 / root; }
  let t = u * u * 56.888889 - 1.0;
  let s = tl_sin(z);
  let c = tl_cos(z);
  return ((c + s) * tl_ch_airy_op(t) + (s - c) * tl_ch_airy_oq(t) * u) * 0.39894228 / root;
}`,
};
