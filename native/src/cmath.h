/* cmath.h: complex functions in double precision. Inverse functions follow Kahan, "Branch cuts for complex elementary
 * functions" (1987). */
#ifndef TL_CMATH_H
#define TL_CMATH_H
#include <math.h>
#include "tl.h"

#define TL_PI 3.14159265358979323846
typedef tl_c128 cz;
static inline cz cz_of(double re, double im) { return (cz){re, im}; }
static inline cz cz_add(cz a, cz b) { return cz_of(a.re + b.re, a.im + b.im); }
static inline cz cz_sub(cz a, cz b) { return cz_of(a.re - b.re, a.im - b.im); }
static inline cz cz_mul(cz a, cz b) { return cz_of(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re); }
static inline cz cz_scale(cz a, double s) { return cz_of(a.re * s, a.im * s); }
static inline cz cz_neg(cz a) { return cz_of(-a.re, -a.im); }
static inline cz cz_conj(cz a) { return cz_of(a.re, -a.im); }
static inline cz cz_muli(cz a) { return cz_of(-a.im, a.re); }    /* times i */
static inline cz cz_divi(cz a) { return cz_of(a.im, -a.re); }    /* over i */
static inline double cz_abs(cz a) { return hypot(a.re, a.im); }
static inline bool cz_eq(cz a, cz b) { return a.re == b.re && a.im == b.im; }

/* scaled by the larger part of the divisor (Smith) */
static inline cz cz_div(cz a, cz b) {
  if (fabs(b.re) >= fabs(b.im)) {
    if (b.re == 0) return cz_of(a.re / fabs(b.re), a.im / fabs(b.re));
    double r = b.im / b.re, d = b.re + b.im * r;
    return cz_of((a.re + a.im * r) / d, (a.im - a.re * r) / d);
  }
  double r = b.re / b.im, d = b.re * r + b.im;
  return cz_of((a.re * r + a.im) / d, (a.im * r - a.re) / d);
}
static inline cz cz_recip(cz a) { return cz_div(cz_of(1, 0), a); }

static inline cz cz_exp(cz z) {
  double e = exp(z.re);
  if (z.im == 0) return cz_of(e, z.im);
  if (isinf(z.re) && !isfinite(z.im)) return z.re < 0 ? cz_of(0, 0) : cz_of(z.re, NAN);
  return cz_of(e * cos(z.im), e * sin(z.im));
}
static inline cz cz_expm1(cz z) {
  double s = sin(z.im / 2);
  return cz_of(expm1(z.re) * cos(z.im) - 2 * s * s, exp(z.re) * sin(z.im));
}
static inline cz cz_log(cz z) {
  double h = cz_abs(z), re;
  if (h > 0.5 && h < 2) {
    double x = fabs(z.re), y = fabs(z.im);
    if (x < y) { double t = x; x = y; y = t; }
    re = 0.5 * log1p((x - 1) * (x + 1) + y * y);
  } else re = log(h);
  return cz_of(re, atan2(z.im, z.re));
}
static inline cz cz_log1p(cz z) {
  if (fabs(z.re) < 0.5 && fabs(z.im) < 0.5)
    return cz_of(0.5 * log1p(z.re * (2 + z.re) + z.im * z.im), atan2(z.im, 1 + z.re));
  return cz_log(cz_of(1 + z.re, z.im));
}
static inline cz cz_sqrt(cz z) {
  if (z.re == 0 && z.im == 0) return cz_of(0, z.im);
  if (isinf(z.im)) return cz_of(INFINITY, z.im);
  if (isinf(z.re)) return z.re > 0 ? cz_of(z.re, isnan(z.im) ? z.im : copysign(0, z.im)) : cz_of(isnan(z.im) ? z.im : 0, copysign(INFINITY, z.im));
  double s = 1;
  if (fabs(z.re) > 1e300 || fabs(z.im) > 1e300) { z = cz_scale(z, 0.0625); s = 4; }
  double t = sqrt((cz_abs(z) + fabs(z.re)) * 0.5);
  if (z.re >= 0) return cz_of(s * t, s * z.im / (2 * t));
  return cz_of(s * fabs(z.im) / (2 * t), s * copysign(t, z.im));
}
static inline cz cz_rsqrt(cz z) { return cz_recip(cz_sqrt(z)); }

static inline cz cz_sinh(cz z) {
  if (z.im == 0) return cz_of(sinh(z.re), z.im);
  return cz_of(sinh(z.re) * cos(z.im), cosh(z.re) * sin(z.im));
}
static inline cz cz_cosh(cz z) {
  if (z.im == 0) return cz_of(cosh(z.re), z.re * z.im);
  return cz_of(cosh(z.re) * cos(z.im), sinh(z.re) * sin(z.im));
}
static inline cz cz_tanh(cz z) {
  if (fabs(z.re) > 20)
    return cz_of(copysign(1, z.re), isfinite(z.im) ? 4 * sin(z.im) * cos(z.im) * exp(-2 * fabs(z.re)) : 0);
  double t = tan(z.im), b = 1 + t * t, s = sinh(z.re), r = sqrt(1 + s * s), d = 1 + b * s * s;
  if (isinf(t)) return cz_of(r / s, 1 / t);
  return cz_of(b * r * s / d, t / d);
}
static inline cz cz_sin(cz z) { return cz_divi(cz_sinh(cz_muli(z))); }
static inline cz cz_cos(cz z) { return cz_cosh(cz_muli(z)); }
static inline cz cz_tan(cz z) { return cz_divi(cz_tanh(cz_muli(z))); }

static inline cz cz_asin(cz z) {
  cz a = cz_sqrt(cz_of(1 - z.re, -z.im)), b = cz_sqrt(cz_of(1 + z.re, z.im));
  return cz_of(atan2(z.re, cz_mul(a, b).re), asinh(cz_mul(cz_conj(a), b).im));
}
static inline cz cz_acos(cz z) {
  cz a = cz_sqrt(cz_of(1 - z.re, -z.im)), b = cz_sqrt(cz_of(1 + z.re, z.im));
  return cz_of(2 * atan2(a.re, b.re), asinh(cz_mul(cz_conj(b), a).im));
}
static inline cz cz_acosh(cz z) {
  cz a = cz_sqrt(cz_of(z.re - 1, z.im)), b = cz_sqrt(cz_of(z.re + 1, z.im));
  return cz_of(asinh(cz_mul(cz_conj(a), b).re), 2 * atan2(a.im, b.re));
}
static inline cz cz_asinh(cz z) { return cz_divi(cz_asin(cz_muli(z))); }
static inline cz cz_atanh(cz z) {
  double x = z.re, y = z.im, u = 1 - fabs(x);
  double re = 0.25 * log1p(4 * fabs(x) / (u * u + y * y));
  return cz_of(copysign(re, x), 0.5 * atan2(2 * y, (1 - x) * (1 + x) - y * y));
}
static inline cz cz_atan(cz z) { return cz_divi(cz_atanh(cz_muli(z))); }

static inline cz cz_pow(cz a, cz b) {
  if (b.re == 0 && b.im == 0) return cz_of(1, 0);
  if (a.re == 0 && a.im == 0) return b.re > 0 && b.im == 0 ? cz_of(0, 0) : b.im != 0 && b.re > 0 ? cz_of(0, 0) : cz_of(NAN, NAN);
  if (b.im == 0) {
    if (b.re == 1) return a;
    if (b.re == 2) return cz_mul(a, a);
    if (b.re == 3) return cz_mul(a, cz_mul(a, a));
    if (b.re == -1) return cz_recip(a);
    if (b.re == 0.5) return cz_sqrt(a);
  }
  return cz_exp(cz_mul(b, cz_log(a)));
}
static inline cz cz_sgn(cz z) {
  double h = cz_abs(z);
  return h == 0 ? cz_of(0, 0) : cz_of(z.re / h, z.im / h);
}
static inline cz cz_sigmoid(cz z) { return cz_recip(cz_add(cz_of(1, 0), cz_exp(cz_neg(z)))); }
#endif
