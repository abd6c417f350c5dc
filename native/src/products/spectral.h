/* spectral.h: inner loops of singular values and eigenvalues, on real vectors (spectral.c). */
#ifndef TL_SPECTRAL_H
#define TL_SPECTRAL_H
#include <stdbool.h>
#include <stdint.h>
#include "core/tl.h"

bool tl_linalg_tick(int64_t work); /* reports work; true: stop, there is an interrupt */

double tl_dot(const double *x, const double *y, intptr_t n);
void tl_axpy(double *y, double f, const double *x, intptr_t n); /* y += f x */
void tl_axpy_complex(tl_c128 *y, tl_c128 f, const tl_c128 *x, intptr_t n);
double tl_dot_axpy(const double *a, const double *v, double f, double *p, intptr_t n); /* a v; p += f a */
/* y -= f x + g z */
void tl_take_two(double *y, double f, const double *x, double g, const double *z, intptr_t n);

/* n pairs of elements p and q, each `step` on, become c p + s q and c q - s^H p */
void tl_turn_complex(tl_c128 *p, tl_c128 *q, intptr_t step, intptr_t n, double c, tl_c128 s);
/* One QL step over rows l to m of a tridiagonal matrix (diagonal w, below it e); z's rows turn with it. cs: 2 n. */
void tl_ql_sweep(double *w, double *e, double *z, intptr_t width, intptr_t l, intptr_t m, double *cs);

/* Singular values of a real upper bidiagonal matrix (diagonal d, above it e, elements of about 1 at most) in place,
 * not negative nor sorted; the rows of u and v, left and right vectors, turn with it. work: 4 n. false: no convergence
 */
bool tl_bidiagonal_svd(double *d, double *e, intptr_t n, double *u, intptr_t wu, double *v, intptr_t wv, double *work);
#endif
