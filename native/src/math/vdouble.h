/* vdouble.h: float functions of two operands on four lanes, computed in double on two: right to the last bit but for
 * rare ties. The polynomials were fitted for this file (weighted least squares on Chebyshev nodes, iterated to near
 * minimax). Operands for which the common formula does not hold go lane by lane through libm. */
#ifndef TL_VDOUBLE_H
#define TL_VDOUBLE_H
#include "math/vmath.h"

typedef float v2f __attribute__((vector_size(8)));

/* functions and constants as in vmath.h, with two lanes of double */
static inline v2d v2_abs(v2d x) { return (v2d)((v2l)x & (v2l){INT64_MAX, INT64_MAX}); }
static inline v2d vd_low(v4f x) { return __builtin_convertvector(__builtin_shufflevector(x, x, 0, 1), v2d); }
static inline v2d vd_high(v4f x) { return __builtin_convertvector(__builtin_shufflevector(x, x, 2, 3), v2d); }
static inline v4f vd_join(v2d a, v2d b) {
  return __builtin_shufflevector(__builtin_convertvector(a, v2f), __builtin_convertvector(b, v2f), 0, 1, 2, 3);
}
/* These coefficients are too many for registers, so V8 had better read them as numbers, which the compiler must not
 * see.
 */
#if defined(__wasm__)
#define VD_OPAQUE volatile
#else
#define VD_OPAQUE
#endif
#define VD_POLY(y, x, ...) \
  static const double y##_c[] = {__VA_ARGS__}; \
  const VD_OPAQUE double *y##_k = y##_c; \
  v2d y = v2_set1(y##_k[0]); \
  for (size_t i_ = 1; i_ < sizeof y##_c / sizeof *y##_c; i_++) y = v2_madd(y, x, v2_set1(y##_k[i_]))

/* x^y for positive finite x and finite y */
static inline v2d vd_pow(v2d x, v2d y) {
  /* x = m 2^e with m in [sqrt(1/2), sqrt(2)) */
  v2ul u = (v2ul)x - (v2ul){0x3fe6a09e667f3bcdu, 0x3fe6a09e667f3bcdu};
  v2d e = (v2d)((u >> 52) ^ (v2ul){0x4330000000000800u, 0x4330000000000800u}); /* 2^52 + 2^11 + e, of 12 bits */
  e -= v2_set1(4503599627372544.0);
  v2d m = (v2d)((u & (v2ul){0xfffffffffffffu, 0xfffffffffffffu}) + (v2ul){0x3fe6a09e667f3bcdu, 0x3fe6a09e667f3bcdu});
  v2d s = (m - 1.0) / (m + 1.0), z = s * s;
  VD_POLY(l, z, 0.34073006957131624, 0.41167272094982726, 0.57708358493495415, 0.96179667334192698, 2.8853900817900859);
  v2d t = y * (l * s + e); /* log2 of the result */
  t = v2_select((v2l)(t < -200.0), v2_set1(-200.0), v2_select((v2l)(t > 200.0), v2_set1(200.0), t));
  v2d n = t + 6755399441055744.0, r = t - (n - 6755399441055744.0);
  VD_POLY(q, r, 0.00015345771469526325, 0.0013399957487041292, 0.0096184893094977998, 0.055503287122418955,
          0.24022646885478152, 0.69314720576686883, 1.0);
  return (v2d)((v2ul)q + ((v2ul)n << 52));
}

/* the sign of x^y for x < 0, and NaN for y that are not whole */
static inline v4f vm_pow_signs(v4f x, v4f y, v4f r) {
  v4f a = vm_abs(y), bias = v4_const(8388608.0f);
  v4i small = (v4i)(a < bias), low = (v4i)(x < v4_const(0.0f));
  v4f t = v4_select(small, a + bias, a); /* a whole number's last bit is that of its mantissa */
  v4i whole = ~small | (v4i)((t - bias) == a), odd = (v4i)t & (v4i)(a < v4_const(16777216.0f)) & low;
  r = (v4f)((v4i)r ^ (odd << 31));
  return v4_select(low & ~whole, VM_NAN, r);
}

static inline v4f vm_pow(v4f x, v4f y) {
  v4f a = vm_abs(x);
  v4u odd_x = (v4u)a - 1, odd_y = (v4u)vm_abs(y);
  v4i odd = (v4i)(odd_x >= (v4u)v4i_const(0x7f7fffff)) | (v4i)(odd_y >= (v4u)v4i_const(0x7f800000));
  v4f r = vd_join(vd_pow(vd_low(a), vd_low(y)), vd_pow(vd_high(a), vd_high(y)));
  if (v4_any((v4i)x >> 31)) r = vm_pow_signs(x, y, r);
  if (v4_any(odd))
    for (int i = 0; i < 4; i++)
      if (odd[i]) r[i] = powf(x[i], y[i]);
  return r;
}

static inline v2d vd_atan2(v2d y, v2d x) {
  v2d ay = v2_abs(y), ax = v2_abs(x);
  v2l steep = (v2l)(ay > ax);
  v2d q = v2_select(steep, ax, ay) / v2_select(steep, ay, ax), z = q * q;
  VD_POLY(p, z, 0.0010910572979298074, -0.0071991149055024286, 0.022273779055142925, -0.044356811449006418,
          0.067160583399346663, -0.087987501270749433, 0.11054495275275973, -0.14279158713344497, 0.19999604564568038,
          -0.33333323933095854, 0.9999999996281238);
  v2d r = p * q;
  r = v2_select(steep, v2_set1(1.57079632679489661923) - r, r);
  r = v2_select((v2l)x < 0, v2_set1(3.14159265358979323846) - r, r);
  return (v2d)((v2l)r | ((v2l)y & (v2l){INT64_MIN, INT64_MIN}));
}

/* of any but two zeros, infinities and NaN */
static inline v4f vm_atan2(v4f y, v4f x) {
  v4f top = v4_select((v4i)(vm_abs(y) > vm_abs(x)), y, x);
  v4i odd = ~((v4i)(vm_abs(top) > v4_const(0.0f)) & (v4i)(vm_abs(top) < VM_INF) & (v4i)(y == y));
  v4f r = vd_join(vd_atan2(vd_low(y), vd_low(x)), vd_atan2(vd_high(y), vd_high(x)));
  if (v4_any(odd))
    for (int i = 0; i < 4; i++)
      if (odd[i]) r[i] = atan2f(y[i], x[i]);
  return r;
}

/* a - b trunc(a / b) of quotients below 2^28, which is exact: so is each step, and a quotient that is not whole is
 * further from whole numbers than the division's rounding. a, b >= 0 */
static inline v2d vd_fmod(v2d a, v2d b) {
  v2d q = a / b, n = (q + 4503599627370496.0) - 4503599627370496.0;
  n -= (v2d)((v2l)(n > q) & (v2l)v2_set1(1.0));
  return a - n * b;
}
static inline v4f vm_fmod(v4f a, v4f b) {
  v4f x = vm_abs(a), y = vm_abs(b);
  v4i odd = ~((v4i)(x < y * v4_const(268435456.0f)) & (v4i)(y < VM_INF));
  v4f r = vd_join(vd_fmod(vd_low(x), vd_low(y)), vd_fmod(vd_high(x), vd_high(y)));
  r = (v4f)((v4i)r | vm_sign(a));
  if (v4_any(odd))
    for (int i = 0; i < 4; i++)
      if (odd[i]) r[i] = fmodf(a[i], b[i]);
  return r;
}
/* where a remainder m has not b's sign */
static inline v4i vm_other_sign(v4f m, v4f b) { return (v4i)(m != v4_const(0.0f)) & (((v4i)m ^ (v4i)b) >> 31); }
static inline v4f vm_remainder(v4f a, v4f b) {
  v4f m = vm_fmod(a, b);
  return v4_select(vm_other_sign(m, b), m + b, m);
}
/* Python's floor division: from the remainder, so that it agrees with it */
static inline v4f vm_floor_divide(v4f a, v4f b) {
  const v4f zero = v4_const(0.0f), one = v4_const(1.0f);
  v4f m = vm_fmod(a, b), d = (a - m) / b - (v4f)(vm_other_sign(m, b) & (v4i)one), f = vm_floor(d), q = a / b;
  f += (v4f)((v4i)(d - f > v4_const(0.5f)) & (v4i)one);
  f = v4_select((v4i)(d == zero), (v4f)vm_sign(q), f);
  return v4_select((v4i)(b == zero), q, f);
}
#endif
