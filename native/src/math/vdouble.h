/* vdouble.h: float functions on four lanes, most of two operands, computed in double on two: right to the last bit but
 * for rare ties. The polynomials were fitted for this file (weighted least squares on Chebyshev nodes, iterated to near
 * minimax). Operands for which the common formula does not hold go lane by lane through libm. */
#ifndef TL_VDOUBLE_H
#define TL_VDOUBLE_H
#include "math/vmath.h"

/* four doubles, so that each constant is loaded once for all */
typedef struct {
  v2d a, b;
} v4d;

static inline v4d vd_wide(v4f x) {
  return (v4d){__builtin_convertvector(__builtin_shufflevector(x, x, 0, 1), v2d),
               __builtin_convertvector(__builtin_shufflevector(x, x, 2, 3), v2d)};
}
static inline v4f vd_narrow(v2d a, v2d b) { return __builtin_shufflevector(v2_narrow(a), v2_narrow(b), 0, 1, 4, 5); }
static inline v4d vd_madd(v4d x, v4d y, v4d z) { return (v4d){v2_madd(x.a, y.a, z.a), v2_madd(x.b, y.b, z.b)}; }
static inline v4d vd_madd1(v4d x, v4d y, v2d z) { return (v4d){v2_madd(x.a, y.a, z), v2_madd(x.b, y.b, z)}; }
/* These coefficients are too many for registers, so V8 had better read them as numbers, which the compiler must not
 * see.
 */
#if defined(__wasm__)
#define VD_OPAQUE volatile
#else
#define VD_OPAQUE
#endif
/* VM_LONG_POLY of four doubles */
#define VD_POLY(y, x, ...) \
  static const double y##_c[] = {__VA_ARGS__}; \
  enum { y##_n = sizeof y##_c / sizeof *y##_c }; \
  const VD_OPAQUE double *y##_k = y##_c; \
  const v4d y##_s = {x.a * x.a, x.b * x.b}; \
  v2d y##_1 = v2_set1(y##_k[0]); \
  v4d y = {y##_1, y##_1}; \
  if (y##_n % 2 == 0) y = vd_madd1(y, x, v2_set1(y##_k[1])); \
  for (int i_ = 2 - y##_n % 2; i_ < y##_n; i_ += 2) { \
    y##_1 = v2_set1(y##_k[i_]); \
    y = vd_madd(y, y##_s, vd_madd1((v4d){y##_1, y##_1}, x, v2_set1(y##_k[i_ + 1]))); \
  }

/* x = m 2^e with m in [sqrt(1/2), sqrt(2)) */
static inline v2d vd_split(v2d x, v2d *m) {
  const v2ul root = {0x3fe6a09e667f3bcdu, 0x3fe6a09e667f3bcdu}, mantissa = {0xfffffffffffffu, 0xfffffffffffffu};
  v2ul u = (v2ul)x - root;
  *m = (v2d)((u & mantissa) + root);
  /* 2^52 + 2^11 + e, of 12 bits */
  return (v2d)((u >> 52) ^ (v2ul){0x4330000000000800u, 0x4330000000000800u}) - v2_set1(4503599627372544.0);
}

/* log2 of m 2^e from s = (m - 1) / (m + 1) */
static inline v4d vd_log2(v4d s, v4d e) {
  const v4d z = {s.a * s.a, s.b * s.b};
  VD_POLY(l, z, 0.34073006957131624, 0.41167272094982726, 0.57708358493495415, 0.96179667334192698, 2.8853900817900859);
  return vd_madd(l, s, e);
}
/* 2^t; t is cut to what floats have room for */
static inline v4d vd_exp2(v4d t) {
  const v2d low = v2_set1(-200.0), high = v2_set1(200.0), round = v2_set1(6755399441055744.0);
  t = (v4d){v2_clamp(t.a, low, high), v2_clamp(t.b, low, high)};
  const v4d n = {t.a + round, t.b + round}, r = {t.a - (n.a - round), t.b - (n.b - round)};
  VD_POLY(q, r, 0.00015345771469526325, 0.0013399957487041292, 0.0096184893094977998, 0.055503287122418955,
          0.24022646885478152, 0.69314720576686883, 1.0);
  return (v4d){(v2d)((v2ul)q.a + ((v2ul)n.a << 52)), (v2d)((v2ul)q.b + ((v2ul)n.b << 52))};
}

/* x^y for positive finite x and finite y */
static inline v4f vd_pow(v4f x4, v4f y4) {
  const v4d x = vd_wide(x4), y = vd_wide(y4);
  v4d m, e = {vd_split(x.a, &m.a), vd_split(x.b, &m.b)};
  const v4d l = vd_log2((v4d){(m.a - 1.0) / (m.a + 1.0), (m.b - 1.0) / (m.b + 1.0)}, e);
  const v4d r = vd_exp2((v4d){y.a * l.a, y.b * l.b});
  return vd_narrow(r.a, r.b);
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
  v4f r = vd_pow(a, y);
  if (v4_any((v4i)x >> 31)) r = vm_pow_signs(x, y, r);
  if (v4_any(odd))
    for (int i = 0; i < 4; i++)
      if (odd[i]) r[i] = powf(x[i], y[i]);
  return r;
}

/* the lanes of a mask, each twice as wide */
static inline v2l vd_mask_low(v4i m) { return (v2l)__builtin_shufflevector(m, m, 0, 0, 1, 1); }
static inline v2l vd_mask_high(v4i m) { return (v2l)__builtin_shufflevector(m, m, 2, 2, 3, 3); }

/* of any but two zeros, infinities and NaN */
static inline v4f vm_atan2(v4f y, v4f x) {
  const v4f ay = vm_abs(y), ax = vm_abs(x), top = v4_at_least(ax, ay), bottom = v4_at_most(ax, ay);
  const v4i steep = (v4i)(ay > ax), left = (v4i)x >> 31, sign = v4i_const((int32_t)0x80000000u);
  const v4i odd = ~((v4i)(top > v4_const(0.0f)) & (v4i)(top < VM_INF) & (v4i)(y == y));
  const v4d u = vd_wide(bottom), v = vd_wide(top), q = {u.a / v.a, u.b / v.b}, z = {q.a * q.a, q.b * q.b};
  VD_POLY(p, z, 0.0010910572979298074, -0.0071991149055024286, 0.022273779055142925, -0.044356811449006418,
          0.067160583399346663, -0.087987501270749433, 0.11054495275275973, -0.14279158713344497, 0.19999604564568038,
          -0.33333323933095854, 0.9999999996281238);
  /* the angle to the nearer axis, from that axis */
  const v4i zero = {0}, back = (steep ^ left) & sign;
  const v2l quarter = (v2l)v2_set1(1.57079632679489661923), half = (v2l)v2_set1(3.14159265358979323846);
  const v2l sa = vd_mask_low(steep), sb = vd_mask_high(steep), la = vd_mask_low(left), lb = vd_mask_high(left);
  const v2l fa = (v2l)__builtin_shufflevector(zero, back, 0, 4, 1, 5);
  const v2l fb = (v2l)__builtin_shufflevector(zero, back, 2, 6, 3, 7);
  const v2d ra = (v2d)((v2l)(p.a * q.a) ^ fa) + (v2d)((sa & quarter) | (~sa & la & half));
  const v2d rb = (v2d)((v2l)(p.b * q.b) ^ fb) + (v2d)((sb & quarter) | (~sb & lb & half));
  v4f r = (v4f)((v4i)vd_narrow(ra, rb) | vm_sign(y));
  if (v4_any(odd))
    for (int i = 0; i < 4; i++)
      if (odd[i]) r[i] = atan2f(y[i], x[i]);
  return r;
}

/* sin / cos or -cos / sin of what is left of whole quarters */
static inline v4f vm_tan(v4f x) {
  const v4i odd = ~(v4i)(vm_abs(x) < v4_const(1048576.0f));
  const v4d u = vd_wide(x), round = {v2_set1(6755399441055744.0), v2_set1(6755399441055744.0)};
  const v2d per = v2_set1(0.63661977236758134308);
  const v4d t = vd_madd(u, (v4d){per, per}, round), n = {t.a - round.a, t.b - round.b};
  const v2d high = v2_set1(-0x1.921fb544p0), low = v2_set1(-0x1.0b4611a626331p-34); /* n times 33 bits is exact */
  const v4d r = vd_madd(n, (v4d){low, low}, vd_madd(n, (v4d){high, high}, u)), z = {r.a * r.a, r.b * r.b};
  VD_POLY(s, z, -0.00019501788070962894, 0.008332016188582675, -0.16666650219267856, 0.9999999967604857);
  VD_POLY(c, z, 2.43726357635754e-05, -0.0013886528666896825, 0.041666613217081205, -0.4999999957138063,
          0.9999999999439085);
  s = (v4d){s.a * r.a, s.b * r.b};
  const v2l turned = -(v2l)((v2ul)t.a & 1), also = -(v2l)((v2ul)t.b & 1);
#define VD_SELECT(m, x, y) (v2d)(((m) & (v2l)(x)) | (~(m) & (v2l)(y)))
  v4f y = vd_narrow(VD_SELECT(turned, -c.a, s.a) / VD_SELECT(turned, s.a, c.a),
                    VD_SELECT(also, -c.b, s.b) / VD_SELECT(also, s.b, c.b));
#undef VD_SELECT
  if (v4_any(odd))
    for (int i = 0; i < 4; i++)
      if (odd[i]) y[i] = tanf(x[i]);
  return y;
}

/* ---- arcs -------------------------------------------------------------------------------------------------------- */
/* asin of s, which is |x| up to 1/2; beyond it is the sine of half the angle between |x| and 1, whose square is
 * (1 - |x|) / 2 */
static inline v4d vd_asin(v4d x, v4d *part) {
  const v2l sign = (v2l)v2_set1(-0.0), aa = (v2l)x.a & ~sign, ab = (v2l)x.b & ~sign;
  const v2l fa = (v2l)((v2d)aa > 0.5), fb = (v2l)((v2d)ab > 0.5);
  const v4d z = {v2_select(fa, 0.5 - 0.5 * (v2d)aa, x.a * x.a), v2_select(fb, 0.5 - 0.5 * (v2d)ab, x.b * x.b)};
  VD_POLY(p, z, 0.037885331539604786, 0.014139680182896318, 0.031900751034285697, 0.044503093503054522,
          0.075006040581771308, 0.16666656945739211, 1.0000000002545708);
  p.a *= v2_select(fa, v2_sqrt(z.a), (v2d)aa);
  p.b *= v2_select(fb, v2_sqrt(z.b), (v2d)ab);
  *part = p;
  const double half = 1.57079632679489661923;
  return (v4d){(v2d)((v2l)v2_select(fa, half - (p.a + p.a), p.a) | ((v2l)x.a & sign)),
               (v2d)((v2l)v2_select(fb, half - (p.b + p.b), p.b) | ((v2l)x.b & sign))};
}
static inline v4f vm_asin(v4f x) {
  v4d part, r = vd_asin(vd_wide(x), &part);
  return vd_narrow(r.a, r.b);
}
static inline v4f vm_acos(v4f x) { /* near 1 without the difference */
  const v4d u = vd_wide(x);
  const double half = 1.57079632679489661923;
  v4d part, r = vd_asin(u, &part);
  return vd_narrow(v2_select((v2l)(u.a > 0.5), part.a + part.a, half - r.a),
                   v2_select((v2l)(u.b > 0.5), part.b + part.b, half - r.b));
}
/* half the logarithm of (1 + x) / (1 - x); where that is near 1, s of vd_log2 is x itself */
static inline v4f vm_atanh(v4f x) {
  const v4f y = vm_abs(x);
  const v4i odd = ~(v4i)(y < v4_const(1.0f));
  const v4d a = vd_wide(y);
  v4d m, e = {vd_split((1.0 + a.a) / (1.0 - a.a), &m.a), vd_split((1.0 + a.b) / (1.0 - a.b), &m.b)};
  const v4d l = vd_log2((v4d){v2_select((v2l)(e.a == 0.0), a.a, (m.a - 1.0) / (m.a + 1.0)),
                              v2_select((v2l)(e.b == 0.0), a.b, (m.b - 1.0) / (m.b + 1.0))},
                        e);
  const double half = 0.34657359027997265471; /* of ln 2 */
  v4f r = vm_copysign(vd_narrow(l.a * half, l.b * half), x);
  if (v4_any(odd))
    for (int i = 0; i < 4; i++)
      if (odd[i]) r[i] = atanhf(x[i]);
  return r;
}

/* exp(a^2) erfc(a) of 0 <= a <= 11, by a polynomial in 1 / (1 + a / 2) */
static inline v4d vd_erfcx(v4d a) {
  const v4d t = {1.0 / (1.0 + 0.5 * a.a), 1.0 / (1.0 + 0.5 * a.b)};
  VD_POLY(q, t, -0.028023619732189146, 0.21228886047334408, -0.68303372395191386, 1.1806648829208801,
          -1.1285222087492994, 0.57408556492649265, -0.2563976980234221, 0.1530892924133517, 0.16337184008983374,
          0.24839332897074312, 0.28198530467290872, 0.28209817637130286);
  return (v4d){q.a * t.a, q.b * t.b};
}
static inline v4d vd_exp_square(v4d a, double factor) { /* exp(factor a^2) */
  const double per = factor * 1.44269504088896340736;
  return vd_exp2((v4d){a.a * a.a * per, a.b * a.b * per});
}
static inline v4f vm_erfc(v4f x) {
  const v4d a = vd_wide(v4_at_most(vm_abs(x), v4_const(11.0f))), e = vd_exp_square(a, -1);
  const v4i minus = (v4i)(x < v4_const(0.0f));
  v4d q = vd_erfcx(a);
  q = (v4d){q.a * e.a, q.b * e.b};
  return vd_narrow(v2_select(vd_mask_low(minus), 2.0 - q.a, q.a), v2_select(vd_mask_high(minus), 2.0 - q.b, q.b));
}
/* of x from -9 to 11 */
static inline v4f vm_erfcx(v4f x) {
  const v4d a = vd_wide(vm_abs(x)), q = vd_erfcx(a);
  const v4i minus = (v4i)(x < v4_const(0.0f));
  if (!v4_any(minus)) return vd_narrow(q.a, q.b);
  const v4d e = vd_exp_square(a, 1);
  return vd_narrow(v2_select(vd_mask_low(minus), 2.0 * e.a - q.a, q.a),
                   v2_select(vd_mask_high(minus), 2.0 * e.b - q.b, q.b));
}

/* x times a polynomial in w = -log(1 - x^2), near 1 in its root (after Giles, Approximating the erfinv function, 2010);
 * |x| <= 1 - 2^-24 */
static inline v4d vd_erfinv(v4d u) {
  v4d m, e = {vd_split(1.0 - u.a * u.a, &m.a), vd_split(1.0 - u.b * u.b, &m.b)};
  const v4d l = vd_log2((v4d){(m.a - 1.0) / (m.a + 1.0), (m.b - 1.0) / (m.b + 1.0)}, e);
  const double ln2 = 0.69314718055994530942;
  const v4d w = {l.a * -ln2 - 2.5, l.b * -ln2 - 2.5};
  VD_POLY(p, w, 1.3286048107109285e-10, 4.3702962640841367e-10, -1.1023239534859824e-08, 1.6457253680084951e-08,
          4.7969901049572375e-07, -3.4260122889825798e-06, -4.9987601919892951e-06, 0.00021826355776443301,
          -0.001252704876396483, -0.0041773246364129532, 0.24664027578548964, 1.5014093516925349);
  const v2l fa = (v2l)(w.a > 2.5), fb = (v2l)(w.b > 2.5);
  if (v4_any((v4i)(fa | fb))) {
    const v4d s = {v2_sqrt(w.a + 2.5) - 3.0, v2_sqrt(w.b + 2.5) - 3.0};
    VD_POLY(q, s, -2.922198965217508e-05, 0.00016034297795154443, -0.00027800945041851646, -0.00011976322711288274,
            0.0014754489953090716, -0.0035672094723923631, 0.0056876048024161229, -0.0076427481275291188,
            0.0094453124148868341, 1.0016752362372654, 2.8329768013164554);
    p = (v4d){v2_select(fa, q.a, p.a), v2_select(fb, q.b, p.b)};
  }
  return (v4d){u.a * p.a, u.b * p.b};
}
static inline v4f vm_erfinv(v4f x) {
  const v4d r = vd_erfinv(vd_wide(x));
  return vd_narrow(r.a, r.b);
}
/* for p from 2^-24 on */
static inline v4f vm_ndtri(v4f p) {
  const v4d u = vd_wide(p), r = vd_erfinv((v4d){2.0 * u.a - 1.0, 2.0 * u.b - 1.0});
  return vd_narrow(r.a * 1.41421356237309504880, r.b * 1.41421356237309504880);
}

/* a power series in z */
static inline v4d vd_series(const double *c, int n, v4d z) {
  v2d first = v2_set1(c[n - 1]);
  v4d s = {first, first};
  for (int k = n - 2; k >= 0; k--) s = vd_madd1(s, z, v2_set1(c[k]));
  return s;
}

/* the logarithm to base 2 of 2^x + 2^y; no two infinities */
static inline v4f vm_logaddexp2(v4f x, v4f y) {
  const v4d a = vd_wide(v4_select((v4i)(x > y), x, y)), b = vd_wide(v4_select((v4i)(x > y), y, x));
  const v4d t = vd_exp2((v4d){b.a - a.a, b.b - a.b}); /* of 1 + t that, or half of it, is near 1 */
  const v2l fa = (v2l)(t.a > 0.41421356237309505), fb = (v2l)(t.b > 0.41421356237309505), one = (v2l)v2_set1(1.0);
  const v4d s = {v2_select(fa, t.a - 1.0, t.a) / v2_select(fa, t.a + 3.0, t.a + 2.0),
                 v2_select(fb, t.b - 1.0, t.b) / v2_select(fb, t.b + 3.0, t.b + 2.0)};
  const v4d l = vd_log2(s, (v4d){(v2d)(fa & one), (v2d)(fb & one)});
  return vd_narrow(a.a + l.a, a.b + l.b);
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
  const v4d u = vd_wide(x), v = vd_wide(y);
  v4f r = vd_narrow(vd_fmod(u.a, v.a), vd_fmod(u.b, v.b));
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
