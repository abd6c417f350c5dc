/* bessel.c: Bessel and Airy functions in double precision: power series near 0, Hankel's and other forms elsewhere.
 * Their slowly varying factors are Chebyshev series, computed for this file from values of 40 digits. */
#include <math.h>
#include "math/special.h"

#define PI 3.14159265358979323846
#define EULER 0.57721566490153286061
#define SERIES(c, u) chebyshev(c, (int)(sizeof(c) / sizeof *(c)), u)

/* P and x Q of Hankel's expansions for x >= 5, in 50 / x^2 - 1; exp(x) K sqrt(x) for x >= 2, in 4 / x - 1; exp(-x) I
 * sqrt(x) for x >= 8, in 16 / x - 1; of orders 0 and 1 */
/* clang-format off */
static const double p0[] = {
  0.99865233987769542, -0.00132937162125028, 1.761305551291e-05, -6.3193671187e-07, 3.948825587e-08, -3.54096789e-09,
  4.1032464e-10, -5.765748e-11, 9.42311e-12, -1.74014e-12, 3.5558e-13, -7.915e-14, 1.896e-14, -4.84e-15, 1.31e-15,
  -3.71e-16, 1.1e-16};
static const double q0[] = {
  -0.12364702582167493, 0.001319019404992261, -3.2187991212662e-05, 1.623709320564e-06, -1.2743289742e-07,
  1.3513032763e-08, -1.785075905e-09, 2.79085713e-10, -4.988908e-11, 9.950714e-12, -2.175121e-12, 5.14013e-13,
  -1.29932e-13, 3.4838e-14, -9.84e-15, 2.912e-15, -8.98e-16, 2.88e-16, -9.54e-17, 3.27e-17, -1.15e-17};
static const double p1[] = {
  1.00226762068534, 0.002243735295808, -2.307101886255e-05, 7.6391817325e-07, -4.589685232e-08, 4.02051548e-09,
  -4.586774e-10, 6.373159e-11, -1.032734e-11, 1.89433e-12, -3.8497e-13, 8.53e-14, -2.035e-14, 5.18e-15, -1.4e-15,
  3.95e-16, -1.17e-16};
static const double q1[] = {
  0.37308734621468637, -0.00187051896810515, 4.005699452046e-05, -1.91440283909e-06, 1.4588165107e-07,
  -1.518339864e-08, 1.97992226e-09, -3.0659814e-10, 5.4402336e-11, -1.078665e-11, 2.34635e-12, -5.52205e-13,
  1.391e-13, -3.718e-14, 1.047e-14, -3.09e-15, 9.52e-16, -3.04e-16, 1.01e-16, -3.44e-17};
static const double k0[] = {
  1.2201515410329777, -0.0314481013119645, 0.00156988388573005, -0.00012849549581628, 1.394981371888e-05,
  -1.83175552272e-06, 2.7668136394e-07, -4.660489898e-08, 8.57403402e-09, -1.69753451e-09, 3.5773973e-10,
  -7.957489e-11, 1.855949e-11, -4.5146e-12, 1.1403e-12, -2.9801e-13, 8.033e-14, -2.228e-14, 6.34e-15, -1.85e-15,
  5.51e-16, -1.68e-16, 5.21e-17};
static const double i0[] = {
  0.40224520550705439, 0.00336911647825569, 6.8897583469168e-05, 2.89137052083e-06, 2.0489185895e-07, 2.26666899e-08,
  3.39623203e-09, 4.94060239e-10, 1.188915e-11, -3.149917e-11, -1.321581e-11, -1.79418e-12, 7.18012e-13, 3.8528e-13,
  1.54e-14, -4.1506e-14, -9.555e-15, 3.81e-15, 1.77e-15, -3.43e-16, -2.83e-16, 3.46e-17, 4.47e-17};
static const double k1[] = {
  1.3603130952422213, 0.1039237365768172, -0.00285781685962278, 0.00019521551847135, -1.936197974166e-05,
  2.40648494784e-06, -3.5019606031e-07, 5.741084125e-08, -1.03457625e-08, 2.01504976e-09, -4.1903548e-10,
  9.218315e-11, -2.129968e-11, 5.13964e-12, -1.2892e-12, 3.3484e-13, -8.977e-14, 2.477e-14, -7.02e-15, 2.04e-15,
  -6.06e-16, 1.84e-16, -5.69e-17};
static const double i1[] = {
  0.38928811750914005, -0.009761097491361469, -0.00011058893876262, -3.88256480888e-06, -2.5122362379e-07,
  -2.631468847e-08, -3.83538039e-09, -5.58974346e-10, -1.897496e-11, 3.252604e-11, 1.412581e-11, 2.03563e-12,
  -7.19855e-13, -4.08355e-13, -2.102e-14, 4.2724e-14, 1.042e-14, -3.81e-15, -1.88e-15, 3.31e-16, 2.96e-16, -3.21e-17,
  -4.65e-17};
/* clang-format on */

static double chebyshev(const double *c, int n, double u) { /* Clenshaw */
  double a = 0, b = 0;
  for (int k = n - 1; k > 0; k--) {
    const double t = 2 * u * a - b + c[k];
    b = a;
    a = t;
  }
  return u * a - b + c[0];
}

/* Coefficients of power series in z = x^2 / 4: 1 / (k! (k + order)!), and the same times H_k, or H_k + H_(k+1), of the
 * harmonic numbers. DLMF 10.8, 10.25, 10.31 */
static double first[2][SP_TERMS], second[2][SP_TERMS];
/* Ai(0) f + Ai'(0) g: f and g in x^3. DLMF 9.4 */
enum { AIRY = 60, AIRY_NEAR = 18 };
static double airy_f[AIRY], airy_g[AIRY];
void sp_prepare(void) {
  double a = 1, b = 1, h = 0, f = 0.35502805388781723926, g = -0.25881940379280679840;
  for (int k = 0; k < SP_TERMS; k++) {
    const double next = 1.0 / (k + 1);
    first[0][k] = a;
    first[1][k] = b;
    second[0][k] = a * h;
    second[1][k] = b * (2 * h + next);
    h += next;
    a *= next * next;
    b *= next / (k + 2);
  }
  for (int k = 0; k < AIRY; k++) {
    airy_f[k] = f;
    airy_g[k] = g;
    f /= (3.0 * k + 2) * (3 * k + 3);
    g /= (3.0 * k + 3) * (3 * k + 4);
  }
}
int sp_terms(double z) { /* enough for |z| <= 16 */
  if (z < 1) return 12;
  return z < 7 ? 20 : SP_TERMS;
}
const double *sp_series(int order) { return first[order]; }
static double power_series(const double *c, int n, double z) {
  double s = c[n - 1];
  for (int k = n - 2; k >= 0; k--) s = s * z + c[k];
  return s;
}

/* e^-|x| I(x) */
static double scaled_i(int order, double x) {
  const double a = fabs(x), z = a * a / 4;
  double r;
  if (isnan(x)) return x;
  if (a == INFINITY) r = 0;
  else if (a <= 8) r = power_series(first[order], sp_terms(z), z) * exp(-a) * (order ? a / 2 : 1);
  else r = (order ? SERIES(i1, 16 / a - 1) : SERIES(i0, 16 / a - 1)) / sqrt(a);
  return order && x < 0 ? -r : r;
}
double sp_i0e(double x) { return scaled_i(0, x); }
double sp_i1e(double x) { return scaled_i(1, x); }
/* e^|x| in two halves: I is finite a little beyond the overflow of exp. NaN at infinity, as in PyTorch */
static double unscaled_i(int order, double x) {
  const double a = fabs(x), z = a * a / 4, h = exp(a / 2);
  if (a == INFINITY) return NAN;
  if (a > 8) return scaled_i(order, x) * h * h;
  return power_series(first[order], sp_terms(z), z) * (order ? x / 2 + 0.0 : 1); /* of -0 0, as in PyTorch */
}
double sp_i0(double x) { return unscaled_i(0, x); }
double sp_i1(double x) { return unscaled_i(1, x); }

double sp_bessel_k(int order, double x, bool scaled) {
  if (x == 0) return INFINITY;
  if (!(x > 0)) return NAN;
  if (x == INFINITY) return 0;
  if (x > 2) {
    const double r = (order ? SERIES(k1, 4 / x - 1) : SERIES(k0, 4 / x - 1)) / sqrt(x);
    return scaled ? r : r * exp(-x);
  }
  const double z = x * x / 4, l = log(x / 2) + EULER, i = power_series(first[order], 12, z);
  const double s = power_series(second[order], 12, z), r = order ? 1 / x + x / 2 * (l * i - s / 2) : s - l * i;
  return scaled ? r * exp(x) : r;
}

enum { FAR = 5 };
/* Hankel's form of J and Y for x > FAR */
static double far(int order, double x, bool y) {
  const double u = 50 / (x * x) - 1, chi = x - (order ? 0.75 : 0.25) * PI, c = cos(chi), s = sin(chi);
  const double p = order ? SERIES(p1, u) : SERIES(p0, u), q = (order ? SERIES(q1, u) : SERIES(q0, u)) / x;
  return sqrt(2 / (PI * x)) * (y ? p * s + q * c : p * c - q * s);
}

double sp_j(int order, double x) {
  const double a = fabs(x), z = a * a / 4;
  if (isnan(x)) return x;
  if (a == INFINITY) return NAN; /* as in PyTorch, for all that swing */
  const double half = order ? a / 2 : 1;
  const double r = a > FAR ? far(order, a, false) : power_series(first[order], sp_terms(z), -z) * half;
  return order && signbit(x) ? -r : r;
}

double sp_y(int order, double x) {
  if (x == 0) return -INFINITY;
  if (!(x > 0 && x < INFINITY)) return NAN;
  if (x > FAR) return far(order, x, true);
  const double z = x * x / 4, l = log(x / 2) + EULER, j = power_series(first[order], sp_terms(z), -z);
  const double s = power_series(second[order], sp_terms(z), -z);
  return order ? -2 / (PI * x) + x / PI * (l * j - s / 2) : 2 / PI * (l * j - s);
}

/* e^x K_nu(x) = integral over t > 0 of exp(-x (cosh t - 1)) cosh(nu t), by the trapezoidal rule */
static double k_integral(double nu, double x) {
  double h = 0.1 / (1 + 0.15 * sqrt(x)), s = 0.5;
  for (int k = 1; k < 20000; k++) {
    double t = k * h, q = sinh(t / 2), e = 2 * x * q * q;
    double v = exp(nu * t - e) / 2 + exp(-nu * t - e) / 2;
    s += v;
    if (v < s * 1e-18 && e > 1) break;
  }
  return s * h;
}

double sp_airy_ai(double x) {
  if (isnan(x)) return x;
  if (isinf(x)) return NAN;
  if (x > 2) {
    double z = 2.0 / 3 * x * sqrt(x);
    if (z > 760) return 0;
    return sqrt(x / 3) / PI * k_integral(1.0 / 3, z) * exp(-z);
  }
  if (x >= -8) {
    const double z = x * x * x;
    const int n = x > -2.5 ? AIRY_NEAR : AIRY;
    return power_series(airy_f, n, z) + x * power_series(airy_g, n, z);
  }
  double z = -x, zeta = 2.0 / 3 * z * sqrt(z), u = 1, p = 1, q = 0;
  for (int k = 1; k < 40; k++) {
    double v = u * (6.0 * k - 5) * (6 * k - 3) * (6 * k - 1) / (216.0 * k * (2 * k - 1) * zeta);
    if (fabs(v) < 1e-18 || fabs(v) > fabs(u)) break;
    u = v;
    if (k % 2) q += k % 4 == 1 ? u : -u;
    else p += k % 4 == 0 ? u : -u;
  }
  return (cos(zeta - PI / 4) * p + sin(zeta - PI / 4) * q) / (sqrt(PI) * sqrt(sqrt(z)));
}
