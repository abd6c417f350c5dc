/** 64-bit integers as vec2<u32>(low, high), two's complement, wrapping as in C. */
export const INT64: Readonly<Record<string, string>> = {
  tl_i64: `fn tl_i64(x: i32) -> vec2<u32> { return vec2<u32>(bitcast<u32>(x), bitcast<u32>(x >> 31u)); }`,
  tl_i64_add: `fn tl_i64_add(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let lo = a.x + b.x; return vec2<u32>(lo, a.y + b.y + select(0u, 1u, lo < a.x));
}`,
  tl_i64_neg: `fn tl_i64_neg(a: vec2<u32>) -> vec2<u32> {
  let lo = ~a.x + 1u; return vec2<u32>(lo, ~a.y + select(0u, 1u, lo == 0u));
}`,
  tl_i64_sub: `fn tl_i64_sub(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  return vec2<u32>(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));
}`,
  /* 32 x 32 -> 64 bits */
  tl_umul: /* wgsl */ `
fn tl_umul(a: u32, b: u32) -> vec2<u32> {
  let al = a & 0xffffu; let ah = a >> 16u; let bl = b & 0xffffu; let bh = b >> 16u;
  let ll = al * bl; let lh = al * bh; let hl = ah * bl;
  let mid = (ll >> 16u) + (lh & 0xffffu) + (hl & 0xffffu);
  return vec2<u32>((mid << 16u) | (ll & 0xffffu), ah * bh + (lh >> 16u) + (hl >> 16u) + (mid >> 16u));
}`,
  tl_i64_mul: `fn tl_i64_mul(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let w = tl_umul(a.x, b.x); return vec2<u32>(w.x, w.y + a.x * b.y + a.y * b.x);
}`,
  tl_i64_lt: `fn tl_i64_lt(a: vec2<u32>, b: vec2<u32>) -> bool {
  let x = bitcast<i32>(a.y); let y = bitcast<i32>(b.y); return x < y || (x == y && a.x < b.x);
}`,
  tl_i64_negative: `fn tl_i64_negative(a: vec2<u32>) -> bool { return (a.y & 0x80000000u) != 0u; }`,
  tl_i64_abs: `fn tl_i64_abs(a: vec2<u32>) -> vec2<u32> {
  if (tl_i64_negative(a)) { return tl_i64_neg(a); } return a;
}`,
  tl_i64_sign: `fn tl_i64_sign(a: vec2<u32>) -> vec2<u32> {
  if (tl_i64_negative(a)) {
    return vec2<u32>(0xffffffffu);
  }
  return vec2<u32>(select(1u, 0u, all(a == vec2<u32>(0u))), 0u);
}`,
  tl_i64_min: `fn tl_i64_min(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return select(a, b, tl_i64_lt(b, a)); }`,
  tl_i64_max: `fn tl_i64_max(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return select(a, b, tl_i64_lt(a, b)); }`,
  tl_i64_shl: /* wgsl */ `
fn tl_i64_shl(a: vec2<u32>, s: vec2<u32>) -> vec2<u32> {
  if (s.y != 0u || s.x > 63u) { return vec2<u32>(0u); }
  if (s.x == 0u) { return a; }
  if (s.x >= 32u) { return vec2<u32>(0u, a.x << (s.x - 32u)); }
  return vec2<u32>(a.x << s.x, (a.y << s.x) | (a.x >> (32u - s.x)));
}`,
  tl_i64_shr: /* wgsl */ `
fn tl_i64_shr(a: vec2<u32>, s: vec2<u32>) -> vec2<u32> {
  let fill = bitcast<u32>(bitcast<i32>(a.y) >> 31u);
  if (s.y != 0u || s.x > 63u) { return vec2<u32>(fill); }
  if (s.x == 0u) { return a; }
  let hi = bitcast<i32>(a.y);
  if (s.x >= 32u) { return vec2<u32>(bitcast<u32>(hi >> (s.x - 32u)), fill); }
  return vec2<u32>((a.x >> s.x) | (a.y << (32u - s.x)), bitcast<u32>(hi >> s.x));
}`,
  /* Schoolbook division of magnitudes; (quotient, remainder). Division by zero gives quotient -1, remainder a. */
  tl_u64_divmod: /* wgsl */ `
fn tl_u64_divmod(a: vec2<u32>, b: vec2<u32>) -> vec4<u32> {
  if ((a.y | b.y) == 0u && b.x != 0u) { return vec4<u32>(a.x / b.x, 0u, a.x % b.x, 0u); }
  var q = vec2<u32>(0u);
  var r = vec2<u32>(0u);
  for (var i = 63i; i >= 0i; i--) {
    let top = r.y >> 31u;
    let bit = select(a.x >> u32(i), a.y >> u32(i - 32), i >= 32) & 1u;
    r = vec2<u32>((r.x << 1u) | bit, (r.y << 1u) | (r.x >> 31u));
    if (top == 1u || r.y > b.y || (r.y == b.y && r.x >= b.x)) {
      r = tl_i64_sub(r, b);
      if (i >= 32) { q.y |= 1u << u32(i - 32); } else { q.x |= 1u << u32(i); }
    }
  }
  return vec4<u32>(q, r);
}`,
  tl_i64_div: /* wgsl */ `
fn tl_i64_div(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let q = tl_u64_divmod(tl_i64_abs(a), tl_i64_abs(b)).xy;
  if (((a.y ^ b.y) & 0x80000000u) != 0u) { return tl_i64_neg(q); }
  return q;
}`,
  tl_i64_fmod: /* wgsl */ `
fn tl_i64_fmod(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let r = tl_u64_divmod(tl_i64_abs(a), tl_i64_abs(b)).zw;
  if (tl_i64_negative(a)) { return tl_i64_neg(r); }
  return r;
}`,
  tl_i64_remainder: /* wgsl */ `
fn tl_i64_remainder(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let r = tl_i64_fmod(a, b);
  if (any(r != vec2<u32>(0u)) && ((r.y ^ b.y) & 0x80000000u) != 0u) { return tl_i64_add(r, b); }
  return r;
}`,
  tl_i64_floordiv: /* wgsl */ `
fn tl_i64_floordiv(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let q = tl_i64_div(a, b);
  if (((a.y ^ b.y) & 0x80000000u) != 0u && any(tl_i64_mul(q, b) != a)) { return tl_i64_sub(q, vec2<u32>(1u, 0u)); }
  return q;
}`,
  tl_i64_gcd: /* wgsl */ `
fn tl_i64_gcd(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> {
  var a = tl_i64_abs(x);
  var b = tl_i64_abs(y);
  while (any(b != vec2<u32>(0u))) { let r = tl_u64_divmod(a, b).zw; a = b; b = r; }
  return a;
}`,
  tl_i64_pow: /* wgsl */ `
fn tl_i64_pow(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> {
  let one = vec2<u32>(1u, 0u);
  if (tl_i64_negative(y)) {
    if (all(x == one)) { return one; }
    if (all(x == vec2<u32>(0xffffffffu))) { return select(x, one, (y.x & 1u) == 0u); }
    return vec2<u32>(0u);
  }
  var r = one;
  var b = x;
  var n = y;
  while (any(n != vec2<u32>(0u))) {
    if ((n.x & 1u) == 1u) { r = tl_i64_mul(r, b); }
    b = tl_i64_mul(b, b);
    n = vec2<u32>((n.x >> 1u) | (n.y << 31u), n.y >> 1u);
  }
  return r;
}`,
  tl_i64_to_f32: /* wgsl */ `
fn tl_i64_to_f32(a: vec2<u32>) -> f32 {
  let m = tl_i64_abs(a);
  var v: f32;
  if (m.y == 0u) { v = tl_u32_to_f32(m.x); } else {
    let sh = 32u - countLeadingZeros(m.y);
    let top = select(m.y, (m.y << (32u - sh)) | (m.x >> (sh & 31u)), sh < 32u);
    let lost = select(m.x, m.x & ((1u << (sh & 31u)) - 1u), sh < 32u);
    v = tl_u32_to_f32(top | select(0u, 1u, lost != 0u)) * bitcast<f32>((sh + 127u) << 23u);
  }
  return select(v, -v, tl_i64_negative(a));
}`,
  /* nearest even; the built-in conversion may round either way */
  tl_u32_to_f32: /* wgsl */ `
fn tl_u32_to_f32(x: u32) -> f32 {
  if (x < 0x1000000u) { return f32(x); }
  let sh = 8u - countLeadingZeros(x);
  let q = x >> sh;
  let rest = x & ((1u << sh) - 1u);
  let half = 1u << (sh - 1u);
  let r = q + select(0u, 1u, rest > half || (rest == half && (q & 1u) == 1u));
  return f32(r) * bitcast<f32>((sh + 127u) << 23u);
}`,
  tl_i32_to_f32: `fn tl_i32_to_f32(x: i32) -> f32 {
  let v = tl_u32_to_f32(bitcast<u32>(abs(x))); return select(v, -v, x < 0);
}`,
  /* truncation; NaN and out of range give the most negative value, as x86 does */
  tl_f32_to_i64: /* wgsl */ `
fn tl_f32_to_i64(x: f32) -> vec2<u32> {
  let u = bitcast<u32>(x);
  let e = i32((u >> 23u) & 255u) - 127;
  if (e < 0) { return vec2<u32>(0u); }
  if (e > 62) { return vec2<u32>(0u, 0x80000000u); }
  let m = vec2<u32>((u & 0x7fffffu) | 0x800000u, 0u);
  var r: vec2<u32>;
  if (e >= 23) { r = tl_i64_shl(m, vec2<u32>(u32(e - 23), 0u)); } else { r = vec2<u32>(m.x >> u32(23 - e), 0u); }
  if ((u & 0x80000000u) != 0u) { return tl_i64_neg(r); }
  return r;
}`,
  tl_i32_pow: /* wgsl */ `
fn tl_i32_pow(x: i32, y: i32) -> i32 {
  if (y < 0) { if (x == 1) { return 1; } if (x == -1) { return select(-1, 1, (y & 1) == 0); } return 0; }
  var r = 1;
  var b = x;
  var n = y;
  while (n != 0) { if ((n & 1) == 1) { r = r * b; } b = b * b; n = n >> 1u; }
  return r;
}`,
  tl_i32_gcd: /* wgsl */ `
fn tl_i32_gcd(x: i32, y: i32) -> i32 {
  var a = bitcast<u32>(abs(x));
  var b = bitcast<u32>(abs(y));
  while (b != 0u) { let r = a % b; a = b; b = r; }
  return bitcast<i32>(a);
}`,
  tl_i32_remainder: `fn tl_i32_remainder(a: i32, b: i32) -> i32 {
  let r = a % b; if (r != 0 && ((r ^ b) < 0)) { return r + b; } return r;
}`,
  tl_i32_floordiv: `fn tl_i32_floordiv(a: i32, b: i32) -> i32 {
  let q = a / b; if (((a ^ b) < 0) && q * b != a) { return q - 1; } return q;
}`,
};
