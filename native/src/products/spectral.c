/* spectral.c: what singular values and eigenvalues spend their time in: products of vectors, and sweeps of rotations
 * over the rows of a matrix. A sweep is found first and applied then, by some columns at a time, so that a row is read
 * and written once for the two rotations it takes part in. */
#include "products/spectral.h"
#include "math/vdouble.h"
#include <float.h>

typedef double v2d_u __attribute__((vector_size(16), aligned(8)));
static inline void put2(double *p, v2d v) { *(v2d_u *)p = v; }

double tl_dot(const double *x, const double *y, intptr_t n) {
  v2d s[4] = {{0}};
  intptr_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int k = 0; k < 4; k++) s[k] = v2_madd(v2_load(x + i + 2 * k), v2_load(y + i + 2 * k), s[k]);
  for (; i + 2 <= n; i += 2) s[0] = v2_madd(v2_load(x + i), v2_load(y + i), s[0]);
  s[0] += s[1] + (s[2] + s[3]);
  const double r = s[0][0] + s[0][1];
  return i < n ? r + x[i] * y[i] : r;
}

void tl_axpy(double *restrict y, double f, const double *restrict x, intptr_t n) {
  for (intptr_t i = 0; i < n; i++) y[i] += f * x[i];
}

void tl_axpy_complex(tl_c128 *y, tl_c128 f, const tl_c128 *x, intptr_t n) {
  const v2d re = v2_set1(f.re), im = {-f.im, f.im};
  for (intptr_t i = 0; i < n; i++) {
    const v2d u = v2_load(&x[i].re);
    put2(&y[i].re, v2_madd(re, u, v2_madd(im, __builtin_shufflevector(u, u, 1, 0), v2_load(&y[i].re))));
  }
}

double tl_dot_axpy(const double *restrict a, const double *restrict v, double f, double *restrict p, intptr_t n) {
  v2d s = {0}, t = {0}, g = v2_set1(f);
  intptr_t i = 0;
  for (; i + 4 <= n; i += 4) {
    v2d b = v2_load(a + i), c = v2_load(a + i + 2);
    s = v2_madd(b, v2_load(v + i), s);
    t = v2_madd(c, v2_load(v + i + 2), t);
    put2(p + i, v2_madd(b, g, v2_load(p + i)));
    put2(p + i + 2, v2_madd(c, g, v2_load(p + i + 2)));
  }
  s += t;
  double r = s[0] + s[1];
  for (; i < n; i++) {
    r += a[i] * v[i];
    p[i] += a[i] * f;
  }
  return r;
}

void tl_take_two(double *restrict y, double f, const double *restrict x, double g, const double *restrict z,
                 intptr_t n) {
  for (intptr_t i = 0; i < n; i++) y[i] -= f * x[i] + g * z[i];
}

/* ---- rotations -------------------------------------------------------------------------------------------------- */
static inline double length(double f, double g) { /* 1e-140: where squares lose digits */
  const double r = sqrt(f * f + g * g);
  return r > 1e-140 ? r : hypot(f, g);
}
/* (c, s) that turns (f, g) into (r, 0) */
static inline double rotation(double f, double g, double *c, double *s) {
  if (g == 0) {
    *c = 1;
    *s = 0;
    return f;
  }
  const double r = copysign(length(f, g), f);
  *c = f / r;
  *s = g / r;
  return r;
}

/* turn() of 2 k columns */
static inline __attribute__((always_inline)) void turn_columns(double *at, intptr_t step, const double *c,
                                                               const double *s, intptr_t n, const int k) {
  v2d p[6];
  for (int j = 0; j < k; j++) p[j] = v2_load(at + 2 * j);
  for (intptr_t i = 0; i < n; i++, at += step) {
    const v2d cc = v2_set1(c[i]), ss = v2_set1(s[i]), back = -ss; /* read once: the rows might be c and s */
    for (int j = 0; j < k; j++) {
      const v2d q = v2_load(at + step + 2 * j);
      put2(at + 2 * j, v2_madd(ss, q, cc * p[j]));
      p[j] = v2_madd(cc, q, back * p[j]);
    }
  }
  for (int j = 0; j < k; j++) put2(at + 2 * j, p[j]);
}
/* Rows p and q = p + step become c p + s q and c q - s p, for the n rotations one after the other, each a step on. */
static void turn(double *z, intptr_t step, intptr_t width, const double *c, const double *s, intptr_t n) {
  intptr_t j = 0;
  for (; j + 12 <= width; j += 12) turn_columns(z + j, step, c, s, n, 6);
  for (; j + 4 <= width; j += 4) turn_columns(z + j, step, c, s, n, 2);
  for (; j + 2 <= width; j += 2) turn_columns(z + j, step, c, s, n, 1);
  if (j < width) {
    double *at = z + j, p = *at;
    for (intptr_t i = 0; i < n; i++, at += step) {
      const double q = at[step];
      *at = c[i] * p + s[i] * q;
      p = c[i] * q - s[i] * p;
    }
    *at = p;
  }
}

void tl_turn_complex(tl_c128 *p, tl_c128 *q, intptr_t step, intptr_t n, double c, tl_c128 s) {
  const v2d cc = v2_set1(c), re = v2_set1(s.re), im = {-s.im, s.im};
  for (intptr_t i = 0; i < n; i++, p += step, q += step) {
    const v2d x = v2_load(&p->re), y = v2_load(&q->re);
    const v2d xs = __builtin_shufflevector(x, x, 1, 0), ys = __builtin_shufflevector(y, y, 1, 0);
    put2(&p->re, v2_madd(cc, x, v2_madd(re, y, im * ys)));
    put2(&q->re, v2_madd(cc, y, v2_madd(im, xs, -(re * x))));
  }
}

/* ---- eigenvalues of a tridiagonal matrix: implicit QL with Wilkinson's shift --------------------------------------
 */
void tl_ql_sweep(double *w, double *e, double *z, intptr_t width, intptr_t l, intptr_t m, double *cs) {
  double g = (w[l + 1] - w[l]) / (2 * e[l]), r = hypot(g, 1), s = 1, c = 1, sub = 0, *sn = cs + (m - l);
  intptr_t n = 0;
  g = w[m] - w[l] + e[l] / (g + (g >= 0 ? r : -r));
  for (intptr_t i = m - 1; i >= l; i--, n++) {
    double f = s * e[i], b = c * e[i];
    e[i + 1] = r = length(f, g);
    if (r == 0) {
      w[i + 1] -= sub;
      break;
    }
    s = f / r;
    c = g / r;
    g = w[i + 1] - sub;
    r = (w[i] - g) * s + 2 * c * b;
    w[i + 1] = g + (sub = s * r);
    g = c * r - b;
    cs[n] = c;
    sn[n] = s;
  }
  if (n == m - l) {
    w[l] -= sub;
    e[l] = g;
  }
  e[m] = 0;
  turn(z + m * width, -width, width, cs, sn, n);
}

/* ---- singular values of a bidiagonal matrix: implicit QR after Demmel and Kahan -----------------------------------
 */
/* A block of the matrix from one end (dir 1) or the other (-1): backwards it is the transposed matrix, so that left
 * and right vectors change places. */
typedef struct {
  double *d, *e;
  intptr_t dir, n;
} Block;
#define D(i) b->d[(i) * b->dir]
#define E(i) b->e[(i) * b->dir]

/* Elements above the diagonal that may be taken for 0: returns whether there is one, and else in *least a bound below
 * the least singular value. */
static bool splits(const Block *b, double tol, double *least) {
  const intptr_t n = b->n;
  double mu = fabs(D(0));
  if (fabs(E(n - 2)) <= tol * fabs(D(n - 1))) return E(n - 2) = 0, true;
  *least = mu;
  for (intptr_t i = 0; i + 1 < n; i++) {
    if (fabs(E(i)) <= tol * mu) return E(i) = 0, true;
    mu = fabs(D(i + 1)) * (mu / (mu + fabs(E(i))));
    if (mu < *least) *least = mu;
  }
  return false;
}

/* the lesser singular value of the 2 x 2 matrix (f, g; 0, h) */
static double least_of_two(double f, double g, double h) {
  const double fa = fabs(f), ga = fabs(g), ha = fabs(h), mn = fmin(fa, ha), mx = fmax(fa, ha);
  if (mn == 0) return 0;
  const double as = 1 + mn / mx, at = (mx - mn) / mx;
  if (ga < mx) {
    const double au = (ga / mx) * (ga / mx);
    return mn * (2 / (sqrt(as * as + au) + sqrt(at * at + au)));
  }
  const double au = mx / ga;
  if (au == 0) return mn * mx / ga;
  const double x = as * au, y = at * au;
  return 2 * (mn * (1 / (sqrt(1 + x * x) + sqrt(1 + y * y)))) * au;
}

/* One sweep; the rotations of right and left vectors go to r and l, n cosines and n sines each. Without a shift small
 * values keep their digits. */
static void sweep(const Block *b, double shift, double *r, double *l) {
  const intptr_t last = b->n - 1;
  double *rs = r + last, *ls = l + last;
  if (shift == 0) {
    double c = 1, oc = 1, os = 0, s = 0;
    for (intptr_t i = 0; i < last; i++) {
      const double x = rotation(D(i) * c, E(i), &c, &s);
      if (i) E(i - 1) = os * x;
      D(i) = rotation(oc * x, D(i + 1) * s, &oc, &os);
      r[i] = c, rs[i] = s, l[i] = oc, ls[i] = os;
    }
    const double h = D(last) * c;
    D(last) = h * oc;
    E(last - 1) = h * os;
    return;
  }
  double f = (fabs(D(0)) - shift) * (copysign(1, D(0)) + shift / D(0)), g = E(0);
  for (intptr_t i = 0; i < last; i++) {
    double c, s, x = rotation(f, g, &c, &s);
    if (i) E(i - 1) = x;
    f = c * D(i) + s * E(i);
    E(i) = c * E(i) - s * D(i);
    g = s * D(i + 1);
    D(i + 1) *= c;
    r[i] = c, rs[i] = s;
    D(i) = rotation(f, g, &c, &s);
    f = c * E(i) + s * D(i + 1);
    D(i + 1) = c * D(i + 1) - s * E(i);
    if (i + 1 < last) {
      g = s * E(i + 1);
      E(i + 1) *= c;
    }
    l[i] = c, ls[i] = s;
  }
  E(last - 1) = f;
}

bool tl_bidiagonal_svd(double *d, double *e, intptr_t n, double *u, intptr_t wu, double *v, intptr_t wv, double *work) {
  const double eps = DBL_EPSILON / 2, tol = 91 * eps; /* LAPACK's: eps^(-1/8) times eps */
  double mu = n ? fabs(d[0]) : 0, tiny = mu;
  for (intptr_t i = 1; i < n; i++) {
    mu = fabs(d[i]) * (mu / (mu + fabs(e[i - 1])));
    if (!(mu > 0)) mu = 0;
    tiny = fmin(tiny, mu);
  }
  tiny = fmax(tol * tiny / sqrt((double)n), DBL_MIN * 6 * (double)n * (double)n);
  int64_t left = 6 * (int64_t)n * n + 30; /* rotations over n */
  for (intptr_t m = n - 1; m > 0;) {
    double top = fabs(d[m]), least;
    intptr_t l = m;
    if (top <= tiny) d[m] = 0;
    for (; l > 0; l--) { /* the block that ends at m */
      if (fabs(d[l - 1]) <= tiny) d[l - 1] = 0;
      if (fabs(e[l - 1]) <= tiny) break;
      top = fmax(top, fmax(fabs(d[l - 1]), fabs(e[l - 1])));
    }
    if (l) e[l - 1] = 0;
    if (l == m) {
      m--;
      continue;
    }
    const bool down = fabs(d[l]) >= fabs(d[m]);
    const Block b = {d + (down ? l : m), e + (down ? l : m - 1), down ? 1 : -1, m - l + 1};
    if (splits(&b, tol, &least)) continue;
    if ((left -= m - l) < 0 || tl_linalg_tick(3 * (m - l) * (wu + wv + 8))) return false;
    const double first = fabs(b.d[0]), *end = b.d + b.dir * (m - l);
    double shift = 0;
    if (!((double)n * tol * (least / top) <= fmax(eps, 0.01 * tol))) {
      shift = least_of_two(end[-b.dir], b.e[b.dir * (m - l - 1)], end[0]);
      if (first > 0 && (shift / first) * (shift / first) < eps) shift = 0;
    }
    double *by_right = work, *by_left = work + 2 * n;
    sweep(&b, shift, by_right, by_left);
    if (fabs(b.e[b.dir * (m - l - 1)]) <= tiny) b.e[b.dir * (m - l - 1)] = 0;
    const intptr_t from = down ? l : m, k = m - l;
    double *of_v = down ? by_right : by_left, *of_u = down ? by_left : by_right;
    turn(v + from * wv, b.dir * wv, wv, of_v, of_v + k, k);
    turn(u + from * wu, b.dir * wu, wu, of_u, of_u + k, k);
  }
  for (intptr_t i = 0; i < n; i++) {
    if (d[i] >= 0) continue;
    d[i] = -d[i];
    for (intptr_t j = 0; j < wv; j++) v[i * wv + j] = -v[i * wv + j];
  }
  return true;
}
