/**
 * Conversions between storage and compute types, all by bit operations: exact, NaN and inf included, on every adapter.
 */
export const CONVERT: Readonly<Record<string, string>> = {
  // Four halves at once without a branch: three results, of which one is taken. Subnormals are 2^-14 more than meant,
  // less 2^-14: no float32 on the way is subnormal, which an adapter may flush.
  tl_half4_to_f32: /* wgsl */ `
fn tl_half4_to_f32(w: vec2<u32>) -> vec4<f32> {
  let h = vec4<u32>(w.x << 16u, w.x & 0xffff0000u, w.y << 16u, w.y & 0xffff0000u);
  let m = (h & vec4<u32>(0x7fff0000u)) >> vec4<u32>(3u);
  let small = bitcast<vec4<u32>>(bitcast<vec4<f32>>(m + vec4<u32>(0x38800000u)) - vec4<f32>(6.103515625e-5));
  let large = select(m + vec4<u32>(0x38000000u), m | vec4<u32>(0x7f800000u), m >= vec4<u32>(0x0f800000u));
  return bitcast<vec4<f32>>((h & vec4<u32>(0x80000000u)) | select(large, small, m < vec4<u32>(0x00800000u)));
}`,
  tl_half_to_f32: /* wgsl */ `
fn tl_half_to_f32(h: u32) -> f32 {
  let m = (h & 0x7fffu) << 13u;
  let small = bitcast<u32>(bitcast<f32>(m + 0x38800000u) - 6.103515625e-5);
  let large = select(m + 0x38000000u, m | 0x7f800000u, m >= 0x0f800000u);
  return bitcast<f32>(((h & 0x8000u) << 16u) | select(large, small, m < 0x00800000u));
}`,
  // Round to nearest even; the subnormal range is rounded as an integer count of 2^-24.
  tl_f32_to_half4: /* wgsl */ `
fn tl_f32_to_half4(x: vec4<f32>) -> vec2<u32> {
  let u = bitcast<vec4<u32>>(x);
  let m = u & vec4<u32>(0x7fffffffu);
  let sh = vec4<u32>(126u) - clamp(m >> vec4<u32>(23u), vec4<u32>(101u), vec4<u32>(112u));
  let f = (m & vec4<u32>(0x7fffffu)) | vec4<u32>(0x800000u);
  let small = (f + (vec4<u32>(1u) << (sh - vec4<u32>(1u))) - vec4<u32>(1u) + ((f >> sh) & vec4<u32>(1u))) >> sh;
  let normal = (m - vec4<u32>(0x37fff001u) + ((m >> vec4<u32>(13u)) & vec4<u32>(1u))) >> vec4<u32>(13u);
  let large = select(vec4<u32>(0x7c00u), vec4<u32>(0x7e00u), m > vec4<u32>(0x7f800000u));
  let h = ((u >> vec4<u32>(16u)) & vec4<u32>(0x8000u)) |
    select(select(small, normal, m >= vec4<u32>(0x38800000u)), large, m >= vec4<u32>(0x477ff000u));
  return vec2<u32>(h.x | (h.y << 16u), h.z | (h.w << 16u));
}`,
  tl_f32_to_half: /* wgsl */ `
fn tl_f32_to_half(x: f32) -> u32 {
  let u = bitcast<u32>(x);
  let m = u & 0x7fffffffu;
  let sh = 126u - clamp(m >> 23u, 101u, 112u);
  let f = (m & 0x7fffffu) | 0x800000u;
  let small = (f + (1u << (sh - 1u)) - 1u + ((f >> sh) & 1u)) >> sh;
  let normal = (m - 0x37fff001u + ((m >> 13u) & 1u)) >> 13u;
  let large = select(0x7c00u, 0x7e00u, m > 0x7f800000u);
  return ((u >> 16u) & 0x8000u) | select(select(small, normal, m >= 0x38800000u), large, m >= 0x477ff000u);
}`,
  tl_bf16x4_to_f32: /* wgsl */ `
fn tl_bf16x4_to_f32(w: vec2<u32>) -> vec4<f32> {
  return bitcast<vec4<f32>>(vec4<u32>(w.x << 16u, w.x & 0xffff0000u, w.y << 16u, w.y & 0xffff0000u));
}`,
  tl_f32_to_bf16x4: /* wgsl */ `
fn tl_f32_to_bf16x4(x: vec4<f32>) -> vec2<u32> {
  let u = bitcast<vec4<u32>>(x);
  let near = (u + vec4<u32>(0x7fffu) + ((u >> vec4<u32>(16u)) & vec4<u32>(1u))) >> vec4<u32>(16u);
  let h = select(near, vec4<u32>(0x7fc0u), (u & vec4<u32>(0x7fffffffu)) > vec4<u32>(0x7f800000u));
  return vec2<u32>(h.x | (h.y << 16u), h.z | (h.w << 16u));
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
