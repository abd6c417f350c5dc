/* cmath.c: complex functions in double precision. Values at zeros, infinities and NaN are those of C99's annex G,
 * written out here so that they depend on no C library. Inverse functions follow Kahan, "Branch cuts for complex
 * elementary functions" (1987); odd and conjugate symmetry bring every argument to the first quadrant or the upper half
 * plane. */
#include "math/cmath.h"

#define LN2 0.69314718055994530942
enum { STEP = 700 };                /* exp(STEP) is finite */
static const double huge_z = 1e150; /* the square is finite */
static inline cz like(cz v, cz z) { return cz_of(copysign(v.re, z.re), copysign(v.im, z.im)); }
static inline cz quadrant(cz z) { return cz_of(fabs(z.re), fabs(z.im)); }

/* e^x v, also where e^x alone is infinite */
static cz exp_times(double x, cz v) {
  for (int k = 0; k < 3 && x > STEP; k++, x -= STEP) v = cz_scale(v, exp(STEP));
  return cz_scale(v, exp(x));
}

/* a part of an infinite (inf) number becomes 1 or 0 with its sign; of others, NaN becomes 0 */
static double unit(double x, bool inf) {
  if (inf) return copysign(isinf(x) ? 1 : 0, x);
  return isnan(x) ? copysign(0, x) : x;
}
static cz box(cz a, bool inf) { return cz_of(unit(a.re, inf), unit(a.im, inf)); }
cz cz_mul_full(cz a, cz b) {
  cz r = cz_mul(a, b);
  bool ia = isinf(a.re) || isinf(a.im), ib = isinf(b.re) || isinf(b.im);
  if (isnan(r.re) && isnan(r.im) && (ia || ib)) r = cz_scale(cz_mul(box(a, ia), box(b, ib)), INFINITY);
  return r;
}

cz cz_exp(cz z) {
  if (z.im == 0) return cz_of(exp(z.re), z.im);
  if (isinf(z.re) && !isfinite(z.im)) return z.re < 0 ? cz_of(0, copysign(0, z.im)) : cz_of(z.re, NAN);
  return exp_times(z.re, cz_of(cos(z.im), sin(z.im)));
}

cz cz_expm1(cz z) {
  double s = sin(z.im / 2);
  bool finite = isfinite(exp(z.re)); /* where exp overflows, PyTorch's formula gives NaN, and so does this one */
  if (z.im == 0 && finite) return cz_of(expm1(z.re), z.im);
  if (finite && isfinite(z.re) && !(fabs(z.re) < 40)) return cz_sub(cz_exp(z), cz_of(1, 0));
  return cz_of(expm1(z.re) * cos(z.im) - 2 * s * s, exp(z.re) * sin(z.im));
}

cz cz_log(cz z) {
  double h = cz_abs(z), re;
  if (h > 0.5 && h < 2) {
    double x = fabs(z.re), y = fabs(z.im);
    if (x < y) {
      double t = x;
      x = y;
      y = t;
    }
    re = 0.5 * log1p((x - 1) * (x + 1) + y * y);
  } else if (isinf(h) && isfinite(z.re) && isfinite(z.im)) re = log(hypot(z.re / 2, z.im / 2)) + LN2;
  else re = log(h);
  return cz_of(re, atan2(z.im, z.re));
}

cz cz_log1p(cz z) {
  double y2 = z.im * z.im;
  if (y2 == 0 && z.re > -1) return cz_of(z.re == 0 && z.im != 0 ? 0 : log1p(z.re), atan2(z.im, 1 + z.re));
  if (fabs(z.re) < 0.5 && fabs(z.im) < 0.5) return cz_of(0.5 * log1p(z.re * (2 + z.re) + y2), atan2(z.im, 1 + z.re));
  return cz_log(cz_of(1 + z.re, z.im));
}

cz cz_sqrt(cz z) {
  if (z.re == 0 && z.im == 0) return cz_of(0, z.im);
  if (isinf(z.im)) return cz_of(INFINITY, z.im);
  if (isinf(z.re)) {
    double small = isnan(z.im) ? z.im : 0;
    return z.re > 0 ? cz_of(z.re, copysign(small, z.im)) : cz_of(small, copysign(INFINITY, z.im));
  }
  double s = 1;
  if (fabs(z.re) > 1e300 || fabs(z.im) > 1e300) {
    z = cz_scale(z, 0.0625);
    s = 4;
  } else if (fabs(z.re) < 1e-290 && fabs(z.im) < 1e-290) {
    z = cz_scale(z, 0x1p200);
    s = 0x1p-100;
  }
  double t = sqrt((cz_abs(z) + fabs(z.re)) * 0.5);
  if (z.re >= 0) return cz_of(s * t, s * (z.im / (2 * t)));
  return cz_of(s * (fabs(z.im) / (2 * t)), s * copysign(t, z.im));
}

/* sinh and cosh: (S cos y, C sin y) and (C cos y, S sin y) with S, C = sinh x, cosh x */
static cz hyperbolic(cz z, bool even) {
  double x = z.re, y = z.im;
  if (y == 0 && even) return cz_of(cosh(x), x < 0 || (x == 0 && signbit(x)) ? -y : y);
  if (y == 0) return cz_of(sinh(x), y);
  if (!isfinite(y)) {
    if (x == 0) return even ? cz_of(NAN, 0) : cz_of(x, NAN);
    return cz_of(isinf(x) ? INFINITY : NAN, NAN);
  }
  double c = cos(y), s = sin(y);
  if (fabs(x) > STEP) { /* both are half of e^|x| */
    double sign = copysign(0.5, x);
    return exp_times(fabs(x), even ? cz_of(c / 2, s * sign) : cz_of(c * sign, s / 2));
  }
  return even ? cz_of(cosh(x) * c, sinh(x) * s) : cz_of(sinh(x) * c, cosh(x) * s);
}
cz cz_sinh(cz z) { return hyperbolic(z, false); }
cz cz_cosh(cz z) { return hyperbolic(z, true); }

cz cz_tanh(cz z) {
  double x = z.re, y = z.im;
  if (y == 0) return cz_of(tanh(x), y);
  if (!isfinite(y) && isinf(x)) return cz_of(copysign(1, x), copysign(0, y));
  if (!isfinite(y)) return cz_of(x == 0 ? x : NAN, NAN);
  if (fabs(x) > 20) return cz_of(copysign(1, x), 4 * sin(y) * cos(y) * exp(-2 * fabs(x)));
  double t = tan(y), b = 1 + t * t, s = sinh(x), r = sqrt(1 + s * s), d = 1 + b * s * s;
  if (isinf(t)) return cz_of(r / s, 1 / t);
  return cz_of(b * r * s / d, t / d);
}

/* log 2z, which asinh and acosh equal for huge z; their square roots would overflow there. First quadrant only. */
static cz log_2z(cz z) { return cz_of(log(hypot(z.re / 2, z.im / 2)) + 2 * LN2, atan2(z.im, z.re)); }

cz cz_asinh(cz z) {
  double x = fabs(z.re), y = fabs(z.im);
  cz r;
  if (isnan(x) && isinf(y)) r = cz_of(y, NAN);
  else if (isnan(x)) r = cz_of(NAN, y == 0 ? y : NAN);
  else if (isnan(y)) r = cz_of(isinf(x) ? x : NAN, NAN);
  else if (isinf(x) || isinf(y)) r = cz_of(INFINITY, atan2(y, x));
  else if (x > huge_z || y > huge_z) r = log_2z(cz_of(x, y));
  else {                                                            /* i asin(-i z) */
    cz a = cz_sqrt(cz_of(1 - y, -x)), b = cz_sqrt(cz_of(1 + y, x)); /* of 1 - w and 1 + w, w = y + i x */
    double re = asinh(cz_mul(cz_conj(a), b).im), im = atan2(y, cz_mul(a, b).re);
    r = cz_of(re, im);
  }
  return like(r, z);
}

/* acos(x + i |y|) with its imaginary part negated; with the parts exchanged that is acosh */
static cz acos_upper(cz z) {
  double x = z.re, y = fabs(z.im);
  if (isnan(x)) return cz_of(NAN, isinf(y) ? y : NAN);
  if (isnan(y)) return cz_of(x == 0 ? TL_PI / 2 : NAN, isinf(x) ? INFINITY : NAN);
  if (isinf(x) || isinf(y)) return cz_of(atan2(y, x), INFINITY);
  if (fabs(x) > huge_z || y > huge_z) return cz_of(atan2(y, x), log_2z(cz_of(x, y)).re);
  cz a = cz_sqrt(cz_of(1 - x, -y)), b = cz_sqrt(cz_of(1 + x, y));
  return cz_of(2 * atan2(a.re, b.re), fabs(asinh(cz_mul(cz_conj(b), a).im)));
}
cz cz_acos(cz z) {
  cz r = acos_upper(z);
  return cz_of(r.re, signbit(z.im) ? r.im : -r.im);
}
cz cz_acosh(cz z) {
  cz r = acos_upper(z);
  return cz_of(r.im, copysign(r.re, z.im));
}

cz cz_atanh(cz z) {
  cz q = quadrant(z), r;
  double x = q.re, y = q.im, u = 1 - x;
  if (isinf(x) || isinf(y)) r = cz_of(0, isnan(y) ? NAN : TL_PI / 2);
  else if (isnan(x) || isnan(y)) r = cz_of(x == 0 ? x : NAN, NAN);
  else if (x > huge_z || y > huge_z) {
    double h = hypot(x, y);
    r = cz_of(x / h / h, TL_PI / 2);
  } else if (x == 1 && y < 1e-100) r = cz_of((LN2 - log(y)) / 2, y == 0 ? 0 : TL_PI / 4);
  else {
    double d = u * u + y * y;
    r = cz_of(0.25 * log1p(4 * x / d), 0.5 * atan2(2 * y, (1 - x) * (1 + x) - y * y));
  }
  return like(r, z);
}

cz cz_pow(cz a, cz b) { return cz_exp(cz_mul_full(b, cz_log(a))); }

cz cz_pow_number(cz a, cz b) {
  if (b.re == 0 && b.im == 0) return cz_of(1, 0);
  if (b.im == 0) {
    if (b.re == 1) return a;
    if (b.re == 2) return cz_mul(a, a);
    if (b.re == 3) return cz_mul(a, cz_mul(a, a));
    if (b.re == -1) return cz_recip(a);
    if (b.re == -2) return cz_recip(cz_mul(a, a));
    if (b.re == 0.5) return cz_sqrt(a);
    if (b.re == -0.5) return cz_rsqrt(a);
  }
  return cz_pow(a, b);
}

/* log(e^a + e^b); the real parts decide the order */
cz cz_log_add(cz a, cz b) {
  cz lo = a.re < b.re ? a : b, hi = a.re < b.re ? b : a;
  if (isnan(a.re) || isnan(a.im) || isnan(b.re) || isnan(b.im)) return cz_of(NAN, NAN);
  if (isinf(hi.re) && lo.re == hi.re) return hi.re < 0 ? hi : cz_log(cz_add(cz_exp(lo), cz_exp(hi)));
  return cz_add(cz_log1p(cz_exp(cz_sub(lo, hi))), hi);
}

cz cz_sgn(cz z) {
  double h = cz_abs(z);
  return h == 0 ? cz_of(0, 0) : cz_of(z.re / h, z.im / h);
}
