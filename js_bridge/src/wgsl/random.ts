/**
 * Random numbers by counter: Philox 4x32 with ten rounds (Salmon et al.), so that every element has its own without any
 * state.
 */
export const RANDOM: Readonly<Record<string, string>> = {
  tl_philox: /* wgsl */ `
fn tl_philox(counter: vec4<u32>, seed: vec2<u32>) -> vec4<u32> {
  var c = counter;
  var k = seed;
  for (var i = 0; i < 10; i++) {
    let a = tl_umul(0xd2511f53u, c.x);
    let b = tl_umul(0xcd9e8d57u, c.z);
    c = vec4<u32>(b.y ^ c.y ^ k.x, b.x, a.y ^ c.w ^ k.y, a.x);
    k += vec2<u32>(0x9e3779b9u, 0xbb67ae85u);
  }
  return c;
}`,
  tl_random: `fn tl_random(i: i32, s: u32, sh: u32, o: u32) -> vec4<u32> {
  return tl_philox(vec4<u32>(u32(i), o, 0u, 0u), vec2<u32>(s, sh));
}`,
  /* [0, 1) in steps of 2^-24 */
  tl_random_uniform: `fn tl_random_uniform(i: i32, s: u32, sh: u32, o: u32) -> f32 {
  return f32(tl_random(i, s, sh, o).x >> 8u) * 5.9604644775390625e-8;
}`,
  /* Box and Muller; the logarithm is of (0, 1] */
  tl_random_normal: /* wgsl */ `
fn tl_random_normal(i: i32, s: u32, sh: u32, o: u32) -> f32 {
  let r = tl_random(i, s, sh, o);
  let u = f32((r.x >> 8u) + 1u) * 5.9604644775390625e-8;
  return sqrt(-2.0 * tl_log(u)) * tl_cos(f32(r.y >> 8u) * 3.7450704e-7);
}`,
};
