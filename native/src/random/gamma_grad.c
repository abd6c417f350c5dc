/* gamma_grad.c: derivatives of gamma and beta draws with respect to their shape at a fixed probability, by implicit
 * differentiation of the distribution function: -(dF / da) / f. All series are summed term by term with their
 * derivatives. */
#include <math.h>
#include "math/special.h"

enum { MAX_TERMS = 200000 };
/* A series in z, of terms z^n (total)_n / (p)_(n+1), loses few digits. */
static bool near(double z, double total, double p) { return z * total <= p + 10 + 3 * sqrt(p); }

/* the sum of x^(n+1) / (a)_(n+1), each times digamma(a + n + 1) - log x; beyond the mean the terms begin to cancel */
static double gamma_series(double a, double x) {
  double t = x / a, c = sp_digamma(a + 1) - log(x), s = t * c;
  for (int n = 1; n < MAX_TERMS; n++) {
    c += 1 / (a + n);
    t *= x / (a + n);
    s += t * c;
    if (x < a + n && fabs(t * c) < fabs(s) * 1e-17) break;
  }
  return s;
}

/* Legendre's continued fraction of the upper tail and its derivative, from the far end */
static double gamma_fraction(double a, double x) {
  double t = 0, dt = 0;
  for (int k = 100 + (int)(4 * sqrt(a < 1e8 ? a : 1e8)); k > 0; k--) {
    double d = x + 2 * k + 1 - a - t, num = k * (k - a);
    dt = (-k + num / d * (1 + dt)) / d;
    t = num / d;
  }
  double h = 1 / (x + 1 - a - t);
  return x * (h * (log(x) - sp_digamma(a)) + h * h * (1 + dt));
}

double sp_gamma_grad(double a, double x) {
  double r;
  if (isnan(a) || isnan(x) || !(a > 0)) return NAN;
  if (x <= 0) return 0;
  r = x > 1.5 * a + 3 ? gamma_fraction(a, x) : gamma_series(a, x);
  return isnan(r) ? 0 : r;
}

/* For x drawn from Beta(a, total - a): -(dF / da) / f / (1 - x). The series of F runs over powers of x or of 1 - x: of
 * the smaller one, or where its terms would cancel, of the other. */
double sp_dirichlet_grad(double x, double a, double total) {
  double b = total - a, y = 1 - x, r = 0;
  bool low = x < 0.5 ? near(x, total, a) : !near(y, total, b);
  if (isnan(x) || isnan(a) || isnan(total) || !(a > 0)) return NAN;
  if (!(x > 0)) return 0;
  double p = low ? a : b, z = low ? x : y; /* the sum over n of z^n (total)_n / (p)_(n+1), times c */
  double c = log(x) + sp_digamma(total) - sp_digamma(low ? a + 1 : a), t = 1 / p;
  if (!(p > 0)) return 0; /* the other concentration is lost in the total: x is 1 */
  for (int n = 0; n < MAX_TERMS; n++) {
    r += t * c;
    if (fabs(t * c) < fabs(r) * 1e-17 && z * (total + n) < p + n + 1) break;
    c += 1 / (total + n) - (low ? 1 / (a + n + 1) : 0);
    t *= z * (total + n) / (p + n + 1);
  }
  return low ? -x * r : x * r;
}
