/* cmath.h: complex functions in double precision (cmath.c), and their arithmetic. */
#ifndef TL_CMATH_H
#define TL_CMATH_H
#include <math.h>
#include "core/tl.h"

#define TL_PI 3.14159265358979323846
typedef tl_c128 cz;
static inline cz cz_of(double re, double im) { return (cz){re, im}; }
static inline cz cz_add(cz a, cz b) { return cz_of(a.re + b.re, a.im + b.im); }
static inline cz cz_sub(cz a, cz b) { return cz_of(a.re - b.re, a.im - b.im); }
static inline cz cz_mul(cz a, cz b) { return cz_of(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re); }
static inline cz cz_scale(cz a, double s) { return cz_of(a.re * s, a.im * s); }
static inline cz cz_neg(cz a) { return cz_of(-a.re, -a.im); }
static inline cz cz_conj(cz a) { return cz_of(a.re, -a.im); }
static inline cz cz_muli(cz a) { return cz_of(-a.im, a.re); } /* times i */
static inline cz cz_divi(cz a) { return cz_of(a.im, -a.re); } /* over i */
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

cz cz_mul_full(cz a, cz b); /* an infinite factor makes the product infinite (C99, annex G) */
cz cz_exp(cz z);
cz cz_expm1(cz z);
cz cz_log(cz z);
cz cz_log1p(cz z);
cz cz_sqrt(cz z);
cz cz_sinh(cz z);
cz cz_cosh(cz z);
cz cz_tanh(cz z);
cz cz_asinh(cz z);
cz cz_acos(cz z);
cz cz_acosh(cz z);
cz cz_atanh(cz z);
cz cz_pow(cz a, cz b); /* by exp and log whatever b is, as C's cpow: (2j) ** (2+0j) is rounded, and inf ** 0 is NaN */
cz cz_pow_number(cz a, cz b); /* b is one number for a whole tensor: 0, 1, 2, 3 and the like are products and roots */
cz cz_sgn(cz z);
cz cz_log_add(cz a, cz b);
static inline cz cz_rsqrt(cz z) { return cz_recip(cz_sqrt(z)); }
static inline cz cz_sin(cz z) { return cz_divi(cz_sinh(cz_muli(z))); }
static inline cz cz_cos(cz z) { return cz_cosh(cz_muli(z)); }
static inline cz cz_tan(cz z) { return cz_divi(cz_tanh(cz_muli(z))); }
static inline cz cz_asin(cz z) { return cz_divi(cz_asinh(cz_muli(z))); }
static inline cz cz_atan(cz z) { return cz_divi(cz_atanh(cz_muli(z))); }
static inline cz cz_sigmoid(cz z) { return cz_recip(cz_add(cz_of(1, 0), cz_exp(cz_neg(z)))); }
#endif
