/* special.h: special functions in double precision (special.c, bessel.c). */
#ifndef TL_SPECIAL_H
#define TL_SPECIAL_H
#include <stdbool.h>
#include <stdint.h>
double sp_digamma(double x);
double sp_trigamma(double x);
double sp_polygamma(int64_t n, double x);
double sp_zeta(double s, double q); /* Hurwitz */
double sp_erfinv(double x);
double sp_ndtri(double p);
double sp_log_ndtr(double x);
double sp_erfcx(double x);
/* gamma_grad.c: derivatives of draws by their shape */
double sp_gamma_grad(double a, double x), sp_dirichlet_grad(double x, double a, double total);
double sp_igamma(double a, double x), sp_igammac(double a, double x);
enum {
  SP_CHEBYSHEV_T,
  SP_CHEBYSHEV_U,
  SP_CHEBYSHEV_V,
  SP_CHEBYSHEV_W,
  SP_HERMITE_H,
  SP_HERMITE_HE,
  SP_LAGUERRE_L,
  SP_LEGENDRE_P
};
double sp_poly(int kind, double x, int64_t n);

/* bessel.c */
enum { SP_TERMS = 27 };
void sp_prepare(void); /* before all others */
double sp_i0(double x), sp_i0e(double x), sp_i1(double x), sp_i1e(double x);
double sp_bessel_k(int order, double x, bool scaled);        /* order 0 or 1; scaled: times exp(x) */
double sp_j(int order, double x), sp_y(int order, double x); /* order 0 or 1 */
double sp_airy_ai(double x);
/* J(x) of |x| <= 5 and I(x) of |x| <= 8 are series in -x^2 / 4 and x^2 / 4 with so many of these coefficients */
const double *sp_series(int order);
int sp_terms(double z);
#endif
