/* special.c: special functions in double precision, by series, continued fractions, asymptotic expansions, and Newton
 * steps for inverses. */
#include <float.h>
#include <math.h>
#include "math/special.h"

#define PI 3.14159265358979323846
#define EULER 0.57721566490153286061

/* B_2k / (2k) */
static const double bernoulli_over[] = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                                        1.0 / 132, -691.0 / 32760, 1.0 / 12};

double sp_digamma(double x) {
  if (x == 0) return copysign(INFINITY, -x);
  double r = 0;
  if (x < 0) {
    if (x == floor(x)) return NAN;
    r = -PI / tan(PI * fmod(x, 1)); /* the fraction of a small x is exact, x - floor(x) is not */
    x = 1 - x;
  }
  for (; x < 10; x += 1) r -= 1 / x;
  if (isinf(x)) return x;
  double z = 1 / (x * x), s = 0, w = z;
  for (int k = 0; k < 7; k++, w *= z) s += bernoulli_over[k] * w;
  return r + log(x) - 0.5 / x - s;
}

double sp_trigamma(double x) {
  if (x < 0.5) {
    double s = sin(PI * x);
    return PI * PI / (s * s) - sp_trigamma(1 - x);
  }
  double r = 0;
  for (; x < 10; x += 1) r += 1 / (x * x);
  double z = 1 / (x * x), s = 1, w = z;
  for (int k = 0; k < 7; k++, w *= z) s += bernoulli_over[k] * (2 * k + 2) * w;
  return r + s / x + z / 2;
}

/* sum over k >= 0 of (q + k)^-s: direct terms, then the Euler-Maclaurin formula */
double sp_zeta(double s, double q) {
  static const double b2k[] = {1.0 / 6,       -1.0 / 30, 1.0 / 42,      -1.0 / 30,    5.0 / 66,
                               -691.0 / 2730, 7.0 / 6,   -3617.0 / 510, 43867.0 / 798};
  if (s == 1) return INFINITY;
  if (!(s > 1) || isnan(q)) return NAN;
  if (q == INFINITY) return 0;
  if (q <= 0) {
    if (q == floor(q)) return INFINITY;
    if (s != floor(s)) return NAN;
  }
  double sum = 0, a = q;
  for (int n = 0; n < 12 || a < 10; n++, a += 1) {
    double t = pow(a, -s);
    sum += t;
    if (a > 1 && fabs(t) < fabs(sum) * 1e-17) return sum;
  }
  double p = pow(a, -s), fact = s / a;
  sum += p * a / (s - 1) + 0.5 * p;
  for (int k = 0; k < 9; k++) {
    double factorial = 1; /* (2k + 2)!, over which `fact` has the rising factorial of s */
    for (int j = 2; j <= 2 * k + 2; j++) factorial *= j;
    double t = b2k[k] / factorial * fact * p;
    sum += t;
    if (fabs(t) < fabs(sum) * 1e-17) break;
    fact *= (s + 2 * k + 1) * (s + 2 * k + 2) / (a * a);
  }
  return sum;
}

double sp_polygamma(int64_t n, double x) {
  if (n == 0) return sp_digamma(x);
  if (n == 1) return sp_trigamma(x);
  return (n % 2 ? 1.0 : -1.0) * exp(lgamma((double)n + 1)) * sp_zeta((double)n + 1, x);
}

/* y with erfc(y) = q and erf(y) = x = 1 - q, for 0 < q <= 1; the smaller of q and x is the accurate one */
static double erfc_inverse(double q, double x) {
  double y;
  if (q > 0.1) { /* Winitzki's start, Halley steps */
    double l = x < 1e-3 ? -x * x : log(q * (2 - q)), t = 2 / (PI * 0.147) + l / 2;
    y = sqrt(sqrt(t * t - l / 0.147) - t);
    for (int i = 0; i < 3; i++) {
      double e = (x < 0.5 ? erf(y) - x : q - erfc(y)) * exp(y * y) * 0.88622692545275801365;
      y -= e / (1 + y * e);
    }
    return y;
  }
  double l = -log(q);
  y = sqrt(l - 0.5 * log(l * PI));
  for (int i = 0; i < 6; i++) { /* Newton on log erfc, nearly a parabola */
    double c = sp_erfcx(y), d = (log(c) - y * y + l) * c * 0.88622692545275801365;
    y += d;
    if (fabs(d) < 1e-15 * y) break;
  }
  return y;
}

double sp_erfinv(double x) {
  double a = fabs(x);
  if (!(a <= 1)) return NAN;
  if (a == 1) return copysign(INFINITY, x);
  if (a < 1e-8) return x * 0.88622692545275801365;
  return copysign(erfc_inverse(1 - a, a), x);
}

double sp_ndtri(double p) {
  if (!(p >= 0 && p <= 1)) return NAN;
  if (p == 0) return -INFINITY;
  if (p == 1) return INFINITY;
  if (p == 0.5) return 0;
  return p < 0.5 ? -1.41421356237309504880 * erfc_inverse(2 * p, 1 - 2 * p)
                 : 1.41421356237309504880 * erfc_inverse(2 * (1 - p), 2 * p - 1);
}

double sp_erfcx(double x) {
  if (x < 0) return x < -26.7 ? INFINITY : 2 * exp(x * x) - sp_erfcx(-x);
  if (x < 10) {
    double hi = x * x, lo = fma(x, x, -hi);
    return exp(hi) * (1 + lo) * erfc(x);
  }
  double z = 1 / (2 * x * x), t = 1, s = 1;
  if (x > 1e8) return 0.56418958354775628695 / x;
  for (int k = 1; k < 40 && fabs(t) > 1e-18; k++) {
    t *= -(2 * k - 1) * z;
    s += t;
  }
  return s * 0.56418958354775628695 / x;
}

double sp_log_ndtr(double x) {
  double t = x * 0.70710678118654752440;
  return x < -1 ? log(sp_erfcx(-t) / 2) - t * t : log1p(-erfc(t) / 2);
}

/* ---- incomplete gamma functions ---- */
/* m - log(1 + m) */
static double log1p_gap(double m) {
  if (fabs(m) > 0.01) return m - log1p(m);
  return m * m * (0.5 - m * (1.0 / 3 - m * (0.25 - m * (0.2 - m * (1.0 / 6 - m * (1.0 / 7 - m * 0.125))))));
}
/* x^a e^-x / Gamma(a); for large a by Stirling's series around x = a, as the powers would cancel */
static double gamma_prefix(double a, double x) {
  double m = (x - a) / a, z = 1 / (a * a);
  if (a < 20 || fabs(m) > 0.5) return exp(a * log(x) - x - lgamma(a));
  return sqrt(a / (2 * PI)) * exp(-a * log1p_gap(m) - (1.0 / 12 - z * (1.0 / 360 - z * (1.0 / 1260 - z / 1680))) / a);
}
/* for very large a the first term of Temme's uniform expansion is exact enough; upper: the complement */
static double gamma_normal(double a, double x, bool upper) {
  double m = (x - a) / a, g = log1p_gap(m), e = copysign(sqrt(2 * g), m);
  double c = fabs(m) < 1e-4 ? m / 12 - 1.0 / 3 : 1 / m - 1 / e, r = c * exp(-a * g) / sqrt(2 * PI * a);
  return upper ? erfc(e * sqrt(a / 2)) / 2 + r : erfc(-e * sqrt(a / 2)) / 2 - r;
}
static double gamma_series(double a, double x) {
  double t = 1 / a, s = t;
  for (int k = 1; k < 10000 && t > s * 1e-17; k++) {
    t *= x / (a + k);
    s += t;
  }
  return s * gamma_prefix(a, x);
}
static double gamma_fraction(double a, double x) { /* Lentz */
  double b = x + 1 - a, c = 1e300, d = 1 / b, h = d;
  for (int k = 1; k < 10000; k++) {
    double n = -k * (k - a);
    b += 2;
    d = n * d + b;
    if (fabs(d) < 1e-300) d = 1e-300;
    c = b + n / c;
    if (fabs(c) < 1e-300) c = 1e-300;
    d = 1 / d;
    h *= d * c;
    if (fabs(d * c - 1) < 1e-16) break;
  }
  return h * gamma_prefix(a, x);
}
/* Of a small a the complement is about a * E1(x), which 1 - series would lose: DLMF 8.7.3, with log Gamma(1 + a) by its
 * Taylor series, DLMF 5.7.3 */
static double gamma_upper_small(double a, double x) {
  double log_gamma =
    a * (-EULER + a * (0.82246703342411322 -
                       a * (0.40068563438653143 -
                            a * (0.27058080842778454 -
                                 a * (0.20738555102867398 - a * (0.16955717699740818 - a * 0.14404989676884611))))));
  double power = a * log(x) - log_gamma, t = 1, s = 0;
  for (int k = 1; k < 100 && fabs(t) > 1e-18; k++) {
    t *= -x / k;
    s += t / (a + k);
  }
  return -expm1(power) - a * exp(power) * s;
}
double sp_igamma(double a, double x) {
  if (isnan(a) || isnan(x) || a < 0 || x < 0 || (a == 0 && x == 0) || (isinf(a) && isinf(x))) return NAN;
  if (a == 0 || isinf(x)) return 1;
  if (x == 0 || isinf(a)) return 0;
  if (a > 1e5) return gamma_normal(a, x, false);
  return x < a + 1 ? gamma_series(a, x) : 1 - gamma_fraction(a, x);
}
double sp_igammac(double a, double x) {
  if (isnan(a) || isnan(x) || a < 0 || x < 0 || (a == 0 && x == 0) || (isinf(a) && isinf(x))) return NAN;
  if (a == 0 || isinf(x)) return 0;
  if (x == 0 || isinf(a)) return 1;
  if (a > 1e5) return gamma_normal(a, x, true);
  if (a < 0.01 && x < a + 1) return gamma_upper_small(a, x);
  return x < a + 1 ? 1 - gamma_series(a, x) : gamma_fraction(a, x);
}

/* ---- orthogonal polynomials ---- */
/* The closed form of a high degree; false: none. */
static bool poly_closed(int kind, double x, int64_t n, double *r) {
  const double odd = n & 1 ? -1 : 1, all = 2 * (double)n + 1, a = fabs(x);
  if (kind == SP_CHEBYSHEV_T && a < 1) return *r = cos((double)n * acos(x)), true;
  if ((kind == SP_HERMITE_H || kind == SP_HERMITE_HE) && n > 512) return *r = NAN, true;
  const bool chebyshev = kind <= SP_CHEBYSHEV_W;
  if (a == 1) switch (kind) { /* degrees have no bound */
    case SP_CHEBYSHEV_T:
    case SP_LEGENDRE_P: return *r = x > 0 ? 1 : odd, true;
    case SP_CHEBYSHEV_U: return *r = ((double)n + 1) * (x > 0 ? 1 : odd), true;
    case SP_CHEBYSHEV_V: return *r = x > 0 ? 1 : all * odd, true;
    case SP_CHEBYSHEV_W: return *r = x > 0 ? all : odd, true;
    }
  if (a < 1 && n > 8 && chebyshev) {
    const double angle = acos(x);
    switch (kind) {
    case SP_CHEBYSHEV_U: return *r = sin(((double)n + 1) * angle) / sin(angle), true;
    case SP_CHEBYSHEV_V: return *r = cos(((double)n + 0.5) * angle) / cos(angle / 2), true;
    case SP_CHEBYSHEV_W: return *r = sin(((double)n + 0.5) * angle) / sin(angle / 2), true;
    }
  }
  return n > 10000000 && !chebyshev ? *r = NAN, true : false; /* the recurrence has no correct digit left */
}

double sp_poly(int kind, double x, int64_t n) {
  double p = 1, q, r, d = 1;
  if (n <= 0) return n == 0;
  if (n > 6 && poly_closed(kind, x, n, &r)) return r;
  switch (kind) {
  case SP_CHEBYSHEV_U:
  case SP_HERMITE_H: q = 2 * x; break;
  case SP_CHEBYSHEV_V: q = 2 * x - 1; break;
  case SP_CHEBYSHEV_W: q = 2 * x + 1; break;
  case SP_LAGUERRE_L: q = 1 - x; break;
  default: q = x;
  }
  /* after an overflow the recurrence ends in NaN, as in PyTorch */
#define RECUR(NEXT) for (; d < (double)n && !isnan(q); d++, p = q, q = r) r = (NEXT)
  switch (kind) {
  case SP_HERMITE_H: RECUR(2 * x * q - 2 * d * p); break;
  case SP_HERMITE_HE: RECUR(x * q - d * p); break;
  case SP_LAGUERRE_L: RECUR(((2 * d + 1 - x) * q - d * p) / (d + 1)); break;
  case SP_LEGENDRE_P: RECUR(((2 * d + 1) * x * q - d * p) / (d + 1)); break;
  default: RECUR(2 * x * q - p);
  }
#undef RECUR
  return q;
}
