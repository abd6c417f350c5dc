/* vmath.h: float functions on four lanes. The polynomials were fitted for this file (weighted least squares on
 * Chebyshev nodes, iterated to near minimax); the reductions are the textbook ones (Cody and Waite; log by the mantissa
 * around 1). Largest errors found over the tests' points, in units in the last place of the result: exp 1.0, expm1 1.4,
 * log 0.9, log1p 1.3, log2 1.1, log10 0.9, exp2 1.0, tanh 2.5, sinh and cosh 2.3, sigmoid 2.3, erf 1.3, sin and cos
 * 1.4 (near their zeros far from 0: 2e-11 absolute), x times the normal distribution function 1.8 for positive x, 3.3
 * for x > -1, 30 for x > -5, 50 for x > -8 and 130 below, where it is nearly 0. */
#ifndef TL_VMATH_H
#define TL_VMATH_H
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include "math/simd.h"

/* polynomials by Horner's rule, the highest coefficient first */
#define VM_POLY(y, x, ...) \
  static const float y##_c[] = {__VA_ARGS__}; \
  v4f y = v4_const(y##_c[0]); \
  for (size_t i_ = 1; i_ < sizeof y##_c / sizeof *y##_c; i_++) y = v4_madd(y, x, v4_const(y##_c[i_]))
/* The same in x^2, with pairs of terms as coefficients: half the latency, which is what long ones cost. */
#define VM_LONG_POLY(y, x, ...) \
  static const float y##_c[] = {__VA_ARGS__}; \
  enum { y##_n = sizeof y##_c / sizeof *y##_c }; \
  const v4f y##_s = (x) * (x); \
  v4f y = v4_const(y##_c[0]); \
  if (y##_n % 2 == 0) y = v4_madd(y, x, v4_const(y##_c[1])); \
  for (int i_ = 2 - y##_n % 2; i_ < y##_n; i_ += 2) \
    y = v4_madd(y, y##_s, v4_madd(v4_const(y##_c[i_]), x, v4_const(y##_c[i_ + 1])))

#define VM_INF v4_const(__builtin_inff())
#define VM_NAN v4_const(__builtin_nanf(""))

static inline v4f vm_abs(v4f x) { return (v4f)((v4i)x & v4i_const(0x7fffffff)); }
static inline v4i vm_sign(v4f x) { return (v4i)x & v4i_const((int32_t)0x80000000u); }
static inline v4f vm_copysign(v4f x, v4f s) { return (v4f)((v4i)vm_abs(x) | vm_sign(s)); }
/* nearest whole numbers, where the processor has no instruction (baseline x86) */
static inline v4f vm_rint(v4f x) {
#if defined(__wasm_simd128__)
  return (v4f)__builtin_wasm_nearest_f32x4(x);
#else
  v4f a = vm_abs(x), bias = v4_const(8388608.0f); /* 2^23: no room for a fraction */
  return vm_copysign(v4_select((v4i)(a < bias), (a + bias) - bias, a), x);
#endif
}
static inline v4f vm_floor(v4f x) {
#if defined(__wasm_simd128__)
  return (v4f)__builtin_wasm_floor_f32x4(x);
#else
  v4f t = vm_rint(x);
  return t - (v4f)((v4i)(t > x) & (v4i)v4_const(1.0f));
#endif
}
static inline v4f vm_ceil(v4f x) { return -vm_floor(-x); }
static inline v4f vm_trunc(v4f x) { return vm_copysign(vm_floor(vm_abs(x)), x); }
static inline v4f vm_float(v4i x) { return __builtin_convertvector(x, v4f); }
/* x is the nearest integer of a * b, and t has it at the end of its mantissa: adding 1.5 * 2^23 leaves no room for a
 * fraction. |a * b| < 2^22. A conversion to integers would cost WASM eight instructions. */
#define VM_ROUND_PRODUCT(t, x, a, b) v4f t = v4_madd(a, b, v4_const(12582912.0f)), x = t - v4_const(12582912.0f)
/* the integer in t, which may be any for NaN */
static inline v4i vm_int(v4f t) { return (v4i)((v4u)t - (v4u)v4i_const(0x4b400000)); }
/* 2^n for -126 <= n <= 127 */
static inline v4f vm_pow2(v4i n) { return (v4f)(((v4u)n + (v4u)v4i_const(127)) << 23); }
static inline v4f vm_clamp(v4f x, float lo, float hi) { return v4_at_most(v4_at_least(x, v4_const(lo)), v4_const(hi)); }

/* r = x - n ln 2, for n = t - 1.5 * 2^23 */
static inline v4f vm_reduce_ln2(v4f x, v4f *t) {
  VM_ROUND_PRODUCT(m, n, x, v4_const(1.44269504088896341f));
  *t = m;
  v4f r = v4_madd(n, v4_const(-0.693359375f), x);
  return v4_madd(n, v4_const(2.12194440e-4f), r);
}
/* exp(r) for |r| <= ln(2) / 2 */
static inline v4f vm_exp_near_0(v4f r) {
  VM_POLY(q, r, 1.395156310e-03f, 8.369530970e-03f, 4.166619042e-02f, 1.666651363e-01f, 5.000000099e-01f);
  return v4_madd(q, r * r, r) + v4_const(1.0f);
}

/* q 2^k in two factors, so that overflow and subnormal results come out right */
static inline v4f vm_times_pow2(v4f q, v4i k) {
  v4i h = k >> 1;
  return q * vm_pow2(h) * vm_pow2((v4i)((v4u)k - (v4u)h));
}
static inline v4f vm_exp(v4f x) {
  v4f t, r = vm_reduce_ln2(vm_clamp(x, -104.0f, 89.0f), &t), q = vm_exp_near_0(r);
  return vm_times_pow2(q, vm_int(t));
}
static inline v4f vm_exp2(v4f x) {
  x = vm_clamp(x, -151.0f, 129.0f);
  VM_ROUND_PRODUCT(t, n, x, v4_const(1.0f));
  return vm_times_pow2(vm_exp_near_0((x - n) * v4_const(0.693147180559945309f)), vm_int(t));
}
/* exp(-x) / 2 for x >= -87; infinity from -89.1 down: its power of 2 is one factor, which may be 2^-127 = 0. r is that
 * of vm_exp_near_0 with the other sign, so that no x is turned. */
static inline v4f vm_half_exp_minus(v4f x) {
  x = vm_clamp(x, -89.4f, 87.0f);
  VM_ROUND_PRODUCT(t, n, x, v4_const(-1.44269504088896341f));
  v4f r = v4_madd(n, v4_const(-2.12194440e-4f), v4_madd(n, v4_const(0.693359375f), x));
  VM_POLY(q, r, -1.395156310e-03f, 8.369530970e-03f, -4.166619042e-02f, 1.666651363e-01f, -5.000000099e-01f);
  q = v4_const(1.0f) - v4_madd(q, r * r, r);
  return q * (v4f)(((v4u)t << 23) + (v4u)v4i_const(126 << 23));
}

static inline v4f vm_expm1(v4f x) {
  v4f t, r = vm_reduce_ln2(vm_clamp(x, -20.0f, 89.0f), &t);
  VM_POLY(q, r, 1.991499944e-04f, 1.394202076e-03f, 8.333271787e-03f, 4.166634254e-02f, 1.666666682e-01f,
          5.000000049e-01f);
  v4f e = v4_madd(q, r * r, r);
  v4i k = vm_int(t);
  v4i big = k > v4i_const(126); /* 2^128 does not exist: half of it, doubled */
  v4f s = vm_pow2(k + big), one = v4_select(big, v4_const(0.5f), v4_const(1.0f));
  v4f y = v4_madd(s, e, s - one);
  y = v4_select(big, y + y, y);
  return v4_select((v4i)(vm_abs(x) < v4_const(1e-7f)), x, y);
}

/* x = m * 2^e with m in [sqrt(1/2), sqrt(2)); returns m - 1. x > 0 and normal, or subnormal */
static inline v4f vm_split(v4f x, v4f *e) {
  v4i sub = (v4i)(x < v4_const(1.17549435e-38f));
  x = v4_select(sub, x * v4_const(8388608.0f), x);
  v4i u = (v4i)((v4u)x - (v4u)v4i_const(0x3f3504f3)); /* may wrap */
  v4i k = u >> 23;
  v4f m = (v4f)((u & v4i_const(0x7fffff)) + v4i_const(0x3f3504f3));
  *e = vm_float(k + (sub & v4i_const(-23)));
  return m - v4_const(1.0f);
}

/* log1p(f) - f for f in (-0.3, 0.42) */
static inline v4f vm_log_tail(v4f f) {
  VM_LONG_POLY(q, f, 6.929491306e-02f, -1.179790942e-01f, 1.187058336e-01f, -1.238321261e-01f, 1.421903551e-01f,
               -1.666930709e-01f, 2.000219415e-01f, -2.499998551e-01f, 3.333331129e-01f);
  v4f z = f * f;
  return v4_madd(q * z, f, z * v4_const(-0.5f));
}

static inline v4f vm_log_edges(v4f x, v4f y) {
  y = v4_select((v4i)(x == VM_INF), x, y);
  y = v4_select((v4i)(x == v4_const(0.0f)), -VM_INF, y);
  return v4_select((v4i)(x >= v4_const(0.0f)), y, VM_NAN);
}

/* x = m * 2^e as vm_split has it, of a normal x */
static inline v4f vm_split_normal(v4f x, v4f *e) {
  v4i u = (v4i)((v4u)x - (v4u)v4i_const(0x3f3504f3)); /* may wrap */
  *e = vm_float(u >> 23);
  return (v4f)((u & v4i_const(0x7fffff)) + v4i_const(0x3f3504f3)) - v4_const(1.0f);
}
static inline v4f vm_log_parts(v4f e, v4f f) {
  v4f y = v4_madd(e, v4_const(-2.12194440e-4f), vm_log_tail(f)) + f;
  return v4_madd(e, v4_const(0.693359375f), y);
}
/* of any x; out of line, as it is rarely needed */
__attribute__((noinline, unused)) static v4f vm_log_any(v4f x) {
  v4f e, f = vm_split(x, &e);
  return vm_log_edges(x, vm_log_parts(e, f));
}
/* all but positive normal x */
static inline v4i vm_log_odd(v4f x) { return (v4i)((v4u)x - (v4u)v4i_const(0x00800000) >= (v4u)v4i_const(0x7f000000)); }
static inline v4f vm_log_plain(v4f x) { /* of all others */
  v4f e, f = vm_split_normal(x, &e);
  return vm_log_parts(e, f);
}
static inline v4f vm_log(v4f x) { return v4_any(vm_log_odd(x)) ? vm_log_any(x) : vm_log_plain(x); }

/* log(m) / log(base) with the constant in two parts, so that powers of the base come out exact or nearly so */
static inline v4f vm_log_base(v4f x, float hi, float lo, float ehi, float elo) {
  v4f e, f = vm_split(x, &e), t = vm_log_tail(f);
  /* f is cut to 12 bits so that f * hi is exact */
  v4f fh = (v4f)((v4i)f & v4i_const((int32_t)0xfffff000u)), fl = (f - fh) + t;
  v4f y = v4_madd(fl, v4_const(hi), (fl + fh) * v4_const(lo)) + e * v4_const(elo);
  y = y + fh * v4_const(hi);
  return vm_log_edges(x, v4_madd(e, v4_const(ehi), y));
}
static inline v4f vm_log2(v4f x) { return vm_log_base(x, 1.4423828125f, 3.1222839e-4f, 1.0f, 0.0f); }
static inline v4f vm_log10(v4f x) {
  return vm_log_base(x, 0.434326171875f, -3.1689971e-5f, 0.30078125f, 2.48745664e-4f);
}

static inline v4f vm_log1p_plain(v4f x) { /* 1 + x is normal; or NaN */
  v4f u = v4_const(1.0f) + x, d = x - (u - v4_const(1.0f));
  return v4_select((v4i)(vm_abs(x) < v4_const(1e-7f)), x, vm_log_plain(u) + d / u);
}
__attribute__((noinline, unused)) static v4f vm_log1p_any(v4f x) {
  v4f u = v4_const(1.0f) + x, d = x - (u - v4_const(1.0f)), zero = v4_const(0.0f);
  v4f y = vm_log_any(u) + v4_select((v4i)(u < VM_INF) & (v4i)(u > zero), d / u, zero);
  return v4_select((v4i)(vm_abs(x) < v4_const(1e-7f)), x, y);
}
static inline v4i vm_log1p_odd(v4f x) { return vm_log_odd(v4_const(1.0f) + x); }
static inline v4f vm_log1p(v4f x) { return v4_any(vm_log1p_odd(x)) ? vm_log1p_any(x) : vm_log1p_plain(x); }

/* log(1 + e) for 0 <= e <= 1 */
static inline v4f vm_log1p_unit(v4f e) {
  const v4f one = v4_const(1.0f);
  v4f u = one + e, v = u - one, d = e - v, k, f = vm_split_normal(u, &k);
  /* d / u, for which d (1 - v + v^2 / 2) is near enough: it is d where u is 1, and else below the last bit */
  return v4_madd(d, v4_madd(v, v4_madd(v, v4_const(0.5f), -one), one), vm_log_parts(k, f));
}

static inline v4f vm_tanh(v4f x) {
  v4f a = vm_abs(x), t = vm_expm1(v4_const(-2.0f) * vm_clamp(a, 0.0f, 10.0f));
  return vm_copysign(-t / (t + v4_const(2.0f)), x);
}

/* exp(|x|) / 2 as a square, where it may exceed the range that exp has; out of line, as it is rarely needed */
__attribute__((noinline, unused)) static v4f vm_half_exp_abs(v4f x) {
  v4f e = vm_exp(v4_const(0.5f) * vm_abs(x));
  return v4_const(0.5f) * e * e;
}
static inline v4f vm_sinh(v4f x) {
  v4i large = (v4i)(vm_abs(x) > v4_const(88.0f));
  v4f t = vm_expm1(vm_clamp(vm_abs(x), 0.0f, 88.0f)), y = v4_const(0.5f) * (t + t / (t + v4_const(1.0f)));
  if (v4_any(large)) y = v4_select(large, vm_half_exp_abs(x), y);
  return vm_copysign(y, x);
}
static inline v4f vm_cosh(v4f x) {
  v4i large = (v4i)(vm_abs(x) > v4_const(88.0f));
  v4f e = vm_exp(vm_abs(x)), y = v4_const(0.5f) * (e + v4_const(1.0f) / e);
  return v4_any(large) ? v4_select(large, vm_half_exp_abs(x), y) : y;
}

static inline v4f vm_sigmoid(v4f x) { return v4_const(0.5f) / (v4_const(0.5f) + vm_half_exp_minus(x)); }

/* u: exp(-x^2 / 2) (1/2 - u) is the normal distribution function of -a = -|x|. A quotient near 1/2 would be rounded as
 * such, this one has 1/2 exactly where that is most of it. */
static inline v4f vm_normal_body(v4f a) {
  VM_POLY(p, a, 3.671243787e-03f, 3.503216058e-02f, 1.504007429e-01f, 3.336938322e-01f, 3.284625113e-01f);
  VM_POLY(q, a, 7.342487574e-03f, 7.592298836e-02f, 3.613702059e-01f, 9.500336051e-01f, 1.352395892e+00f,
          8.233333230e-01f);
  return a * p / q;
}
/* exp(-a^2 / 2) = 2^(n - g) for 0 <= a <= VM_NORMAL_END. Where it would be subnormal n is -127, for which the bits of
 * 2^n are those of 0. */
#define VM_NORMAL_END 13.27f
static inline v4f vm_normal_exp(v4f a) {
  const v4f s = a * a, t = v4_madd(s, v4_const(-0.7213475108146667f), v4_const(12582912.0f));
  const v4f g = v4_madd(s, v4_const(0.7213475108146667f), t - v4_const(12582912.0f)), g2 = g * g;
  v4f q = v4_madd(g2, v4_const(1.532931055e-04f), v4_madd(g, v4_const(-1.339097042e-03f), v4_const(9.618499316e-03f)));
  q = v4_madd(q, g2, v4_madd(g, v4_const(-5.550359562e-02f), v4_const(2.402264774e-01f)));
  q = v4_madd(q, g2, g * v4_const(-6.931471825e-01f)) + v4_const(1.0f);
  return q * (v4f)(((v4u)t << 23) + (v4u)v4i_const(127 << 23));
}

static inline v4f vm_erf(v4f x) {
  v4f a = vm_clamp(vm_abs(x), 0.0f, 4.0f), z = a * a;
  VM_POLY(p, z, -9.680137303e-06f, 1.127054480e-04f, -8.484711491e-04f, 5.221074881e-03f, -2.686544582e-02f,
          1.128378275e-01f, -3.761263848e-01f, 1.283791671e-01f);
  p = v4_madd(p, a, a);
  /* from 1 on, by -log(1 - erf), which is nearly a parabola */
  VM_LONG_POLY(q, a, 2.168332533e-05f, -4.412950394e-04f, 4.204358111e-03f, -2.520770934e-02f, 1.084177114e-01f,
               6.332207002e-01f, 1.129578014e+00f, -1.879522147e-04f);
  v4f t, r = vm_reduce_ln2(-q, &t), e = vm_exp_near_0(r);
  q = v4_const(1.0f) - (v4f)((v4u)e + ((v4u)t << 23)); /* q <= 16: the power of 2 is one factor */
  return vm_copysign(v4_select((v4i)(a < v4_const(1.0f)), p, q), x);
}

/* sin (phase 0) or cos (phase 1) of |x| <= 8192; beyond, lane by lane in double */
static inline v4f vm_sincos(v4f x, int phase) {
  v4i far = ~(v4i)(vm_abs(x) <= v4_const(8192.0f));
  v4f c = v4_select(far, v4_const(0.0f), x);
  VM_ROUND_PRODUCT(t, n, c, v4_const(0.636619772f));
  v4f r = v4_madd(n, v4_const(-1.5703125f), c);
  r = v4_madd(n, v4_const(-4.837512969970703e-4f), r);
  r = v4_madd(n, v4_const(-7.549789948768648e-8f), r);
  v4i q = (v4i)t + v4i_const(phase); /* its last bits count */
  v4f z = r * r;
  VM_POLY(s, z, -1.951113193e-04f, 8.332134253e-03f, -1.666665429e-01f);
  s = v4_madd(s * z, r, r);
  VM_POLY(k, z, 2.443221339e-05f, -1.388731641e-03f, 4.166664591e-02f);
  k = v4_madd(k * z, z, v4_madd(z, v4_const(-0.5f), v4_const(1.0f)));
  v4f y = v4_select((q & v4i_const(1)) != v4i_const(0), k, s);
  y = (v4f)((v4i)y ^ ((q & v4i_const(2)) << 30));
  if (phase == 0) y = v4_select((v4i)(x == v4_const(0.0f)), x, y); /* keeps -0 */
  if (v4_any(far))
    for (int i = 0; i < 4; i++)
      if (far[i]) y[i] = (float)(phase ? cos((double)x[i]) : sin((double)x[i]));
  return y;
}
static inline v4f vm_sin(v4f x) { return vm_sincos(x, 0); }
static inline v4f vm_cos(v4f x) { return vm_sincos(x, 1); }
static inline v4f vm_sinc(v4f x) {
  v4f p = x * v4_const(3.14159265f);
  return v4_select((v4i)(x == v4_const(0.0f)), v4_const(1.0f), vm_sin(p) / p);
}
#endif
