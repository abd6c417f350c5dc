/** Conversions between storage and compute types, all by bit operations: exact, NaN and inf included, on every adapter. */
export const CONVERT: Readonly<Record<string, string>> = {
  tl_half_to_f32: /* wgsl */ `
fn tl_half_to_f32(h: u32) -> f32 {
  let s = (h & 0x8000u) << 16u;
  let m = h & 0x7fffu;
  if (m >= 0x7c00u) { return bitcast<f32>(s | 0x7f800000u | ((m & 0x3ffu) << 13u)); }
  if (m >= 0x400u) { return bitcast<f32>(s | ((m << 13u) + 0x38000000u)); }
  let v = f32(m) * 5.9604644775390625e-8;
  return select(v, -v, s != 0u);
}`,
  // Round to nearest even; the subnormal range is rounded as an integer count of 2^-24.
  tl_f32_to_half: /* wgsl */ `
fn tl_f32_to_half(x: f32) -> u32 {
  let u = bitcast<u32>(x);
  let s = (u >> 16u) & 0x8000u;
  let m = u & 0x7fffffffu;
  if (m > 0x7f800000u) { return s | 0x7e00u; }
  if (m >= 0x477ff000u) { return s | 0x7c00u; }
  if (m >= 0x38800000u) { return s | ((m - 0x38000000u + 0xfffu + ((m >> 13u) & 1u)) >> 13u); }
  let e = m >> 23u;
  if (e < 102u) { return s; }
  let f = (m & 0x7fffffu) | 0x800000u;
  let sh = 126u - e;
  let q = f >> sh;
  let rest = f & ((1u << sh) - 1u);
  let half = 1u << (sh - 1u);
  return s | (q + select(0u, 1u, rest > half || (rest == half && (q & 1u) == 1u)));
}`,
  tl_bf16_to_f32: `fn tl_bf16_to_f32(h: u32) -> f32 { return bitcast<f32>(h << 16u); }`,
  tl_f32_to_bf16: /* wgsl */ `
fn tl_f32_to_bf16(x: f32) -> u32 {
  let u = bitcast<u32>(x);
  if ((u & 0x7fffffffu) > 0x7f800000u) { return 0x7fc0u; }
  return (u + 0x7fffu + ((u >> 16u) & 1u)) >> 16u;
}`,
  tl_round_float16: `fn tl_round_float16(x: f32) -> f32 { return tl_half_to_f32(tl_f32_to_half(x)); }`,
  tl_round_bfloat16: `fn tl_round_bfloat16(x: f32) -> f32 { return tl_bf16_to_f32(tl_f32_to_bf16(x)); }`,
  tl_truth_f32: `fn tl_truth_f32(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) != 0u; }`,
  // Truncation; beyond int32, and for NaN, the smallest integer, as on the CPU.
  tl_f32_to_i32: /* wgsl */ `
fn tl_f32_to_i32(x: f32) -> i32 {
  return select(bitcast<i32>(0x80000000u), i32(x), abs(x) < 2147483648.0);
}`,
};
