/* linalg.c: factorisations for torch.linalg. Everything runs in double (or complex double) and is cast to the result's
 * dtype; batches are loops. The kernels are private building blocks; names, checks and gradients are in ops/linalg.py.
 */
#include "core/check.h"
#include "core/geometry.h"
#include "products/gemm.h"
#include "products/spectral.h"
#include <float.h>
#include <math.h>

/* Long loops report their work; true: stop, the kernel will raise what is set (interrupted() says so and starts anew).
 */
static bool stopped;
static bool tick(int64_t work) {
  stopped |= tl_work(work) < 0;
  return stopped;
}
bool tl_linalg_tick(int64_t work) { return tick(work); }
static bool interrupted(void) {
  bool r = stopped || tl_check_interrupt();
  stopped = false;
  return r;
}

enum { BLOCK = 32 }; /* of what is left to the plain loops */

/* c -= a b: c m x n and a with their row strides, element (l, j) of b at l * bk + j * bj */
static void subtract_r(double *c, int64_t lc, const double *a, int64_t la, const double *b, int64_t bk, int64_t bj,
                       int64_t m, int64_t n, int64_t k) {
  double *minus = m && n && !stopped ? tl_array(m * k, sizeof *minus) : NULL; /* a turned is less than c turned twice */
  TlGemm g = {.m = m, .n = n, .k = k, .a = {.p = minus, .is = k, .ks = 1}, .b = {.p = b, .is = bj, .ks = bk}};
  g.c = c;
  g.c_rs = lc;
  g.c_cs = 1;
  g.accumulate = true;
  if (!m || !n || stopped) return;
  for (intptr_t i = 0; i < (intptr_t)m && minus; i++)
    for (intptr_t j = 0; j < (intptr_t)k; j++) minus[i * k + j] = -a[i * la + j];
  if (!minus || tl_gemm_f64(&g)) stopped = true;
  tl_free(minus);
}

/* t (w x w, upper) with H0 H1 ... = I - v t v^T, for the unit lower trapezoid v (m x w, w <= 16) */
static void block_factor_r(const double *v, intptr_t m, intptr_t w, const double *tau, double *t) {
  double z[256]; /* v^T v */
  TlGemm g = {.m = w, .n = w, .k = m, .a = {.p = v, .is = 1, .ks = w}, .b = {.p = v, .is = 1, .ks = w}};
  g.c = z;
  g.c_rs = w;
  g.c_cs = 1;
  if (tl_gemm_f64(&g)) stopped = true;
  for (intptr_t j = 0; j < w && !stopped; j++) {
    for (intptr_t i = 0; i < w; i++) {
      double s = 0;
      for (intptr_t l = i; l < j; l++) s += t[i * w + l] * z[l * w + j];
      t[i * w + j] = i < j ? -tau[j] * s : 0;
    }
    t[j * w + j] = tau[j];
  }
}
/* c := (I - v t v^T) c, or with t^T; x: room for w x n */
static void reflect_block_r(const double *v, intptr_t m, intptr_t w, const double *t, bool back, double *x, double *c,
                            intptr_t n, intptr_t lc) {
  TlGemm g = {.m = w, .n = n, .k = m, .a = {.p = v, .is = 1, .ks = w}, .b = {.p = c, .is = 1, .ks = lc}};
  g.c = x;
  g.c_rs = n;
  g.c_cs = 1;
  if (tl_gemm_f64(&g)) stopped = true;
  for (intptr_t s = 0; s < w; s++) { /* x := t x from its first row on, t^T x from its last */
    const intptr_t i = back ? w - 1 - s : s;
    double *row = x + i * n;
    for (intptr_t j = 0; j < n; j++) row[j] *= t[i * w + i];
    for (intptr_t l = back ? 0 : i + 1; l < (back ? i : w); l++) {
      const double f = back ? t[l * w + i] : t[i * w + l];
      for (intptr_t j = 0; j < n; j++) row[j] += f * x[l * n + j];
    }
  }
  subtract_r(c, lc, v, w, x, n, 1, m, n, w);
}

#define DOT tl_dot
#define AXPY tl_axpy
#define ROW tl_dot_axpy
#define TAKE_TWO tl_take_two
#define SWAP(T, x, y) do { T swap_ = x; x = y; y = swap_; } while (0)
#define SIZED __attribute__((noinline, minsize))
#define PATIENCE 20 /* steps for one eigenvalue until what is small beside the matrix counts as zero */
#define PRODUCTS 1
#define PARTS 1 /* real numbers in an element */
#define T double
#define F(name) name##_r
#define ADD(a, b) ((a) + (b))
#define SUB(a, b) ((a) - (b))
#define MUL(a, b) ((a) * (b))
#define CONJ(a) (a)
#define SCALE(a, r) ((a) * (r))
#define RE(a) (a)
#define IM(a) 0.0
#define PIVOT(a) fabs(a)
#define NORM2(a) ((a) * (a))
#define FROM(r) ((double)(r))
#define INV(a) (1 / (a))
#define ISZERO(a) ((a) == 0)
#include "products/linalg_impl.h"
#undef T
#undef F
#undef ADD
#undef SUB
#undef MUL
#undef CONJ
#undef SCALE
#undef RE
#undef IM
#undef PIVOT
#undef NORM2
#undef FROM
#undef INV
#undef ISZERO

typedef tl_c128 cd;
static inline cd cadd(cd a, cd b) { return (cd){a.re + b.re, a.im + b.im}; }
static inline cd csub(cd a, cd b) { return (cd){a.re - b.re, a.im - b.im}; }
static inline cd cmul(cd a, cd b) { return (cd){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
static inline cd cscale(cd a, double r) { return (cd){a.re * r, a.im * r}; }
static inline cd cconj(cd a) { return (cd){a.re, -a.im}; }
static inline double cnorm2(cd a) { return a.re * a.re + a.im * a.im; }
static inline cd cinv(cd a) { /* scaled against overflow */
  if (fabs(a.re) >= fabs(a.im)) {
    double r = a.im / a.re, d = a.re + a.im * r;
    return (cd){1 / d, -r / d};
  }
  double r = a.re / a.im, d = a.re * r + a.im;
  return (cd){r / d, -1 / d};
}
static void subtract_c(cd *c, int64_t lc, const cd *a, int64_t la, const cd *b, int64_t bk, int64_t bj, int64_t m,
                       int64_t n, int64_t k) {
  for (int64_t i = 0; i < m && !tick(n * k); i++)
    for (int64_t l = 0; l < k; l++)
      for (int64_t j = 0; j < n; j++) c[i * lc + j] = csub(c[i * lc + j], cmul(a[i * la + l], b[l * bk + j * bj]));
}
static void block_factor_c(const cd *v, intptr_t m, intptr_t w, const cd *tau, cd *t) {}
static void reflect_block_c(const cd *v, intptr_t m, intptr_t w, const cd *t, bool back, cd *x, cd *c, intptr_t n,
                            intptr_t lc) {}
static cd dot_c(const cd *x, const cd *y, intptr_t n) { /* x^H y */
  cd s = {0, 0};
  for (intptr_t i = 0; i < n; i++) s = cadd(s, cmul(cconj(x[i]), y[i]));
  return s;
}
static cd row_c(const cd *a, const cd *v, cd f, cd *p, intptr_t n) { /* a v; p += f a^H */
  cd s = {0, 0};
  for (intptr_t i = 0; i < n; i++) {
    s = cadd(s, cmul(a[i], v[i]));
    p[i] = cadd(p[i], cmul(cconj(a[i]), f));
  }
  return s;
}
static void take_two_c(cd *y, cd f, const cd *x, cd g, const cd *z, intptr_t n) { /* y -= f x^H + g z^H */
  for (intptr_t i = 0; i < n; i++) y[i] = csub(y[i], cadd(cmul(f, cconj(x[i])), cmul(g, cconj(z[i]))));
}
#undef DOT
#undef AXPY
#undef ROW
#undef TAKE_TWO
#undef PRODUCTS
#undef PARTS
#define DOT dot_c
#define AXPY tl_axpy_complex
#define ROW row_c
#define TAKE_TWO take_two_c
#define PRODUCTS 0
#define PARTS 2
#define T cd
#define F(name) name##_c
#define ADD cadd
#define SUB csub
#define MUL cmul
#define CONJ cconj
#define SCALE cscale
#define RE(a) ((a).re)
#define IM(a) ((a).im)
#define PIVOT(a) (fabs((a).re) + fabs((a).im))   /* LAPACK's choice */
#define NORM2 cnorm2
#define FROM(r) ((cd){(double)(r), 0})
#define INV cinv
#define ISZERO(a) ((a).re == 0 && (a).im == 0)
#include "products/linalg_impl.h"

#define KERNEL(name) static PyObject *name(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out)
#define ARG(i) ((TlTensor *)args[i])
#define TRUE(i) (PyObject_IsTrue(args[i]) == 1)

static tl_dtype wide(tl_dtype d) { return tl_is_complex(d) ? TL_C128 : TL_F64; }

/* a fresh contiguous copy in the work dtype */
static TlTensor *copy_of(TlTensor *x, tl_dtype w) {
  TlTensor *c = tl_empty(w, x->ndim, x->shape);
  if (c && tl_copy(c, x)) Py_CLEAR(c);
  return c;
}

static TlTensor *batched(TlTensor *x, int tail, int64_t m, int64_t n, tl_dtype d) { /* x's batch dims, then tail dims */
  int64_t s[TL_MAX_DIMS];
  int nb = x->ndim - 2;
  memcpy(s, x->shape, (size_t)nb * sizeof *s);
  if (tail > 0) s[nb] = m;
  if (tail > 1) s[nb + 1] = n;
  return tl_empty(d, nb + tail, s);
}

/* batches of matrices whose sizes can be multiplied */
static int matrices(const char *op, const TlTensor *a) {
  return tl_check_dims(op, "matrices", a, 2, TL_DIM_LIMIT) || tl_product(a->ndim, a->shape, NULL) ? -1 : 0;
}
static int64_t batches(TlTensor *x) { /* none whose numbers are wanted on the meta device */
  int64_t b = !tl_meta;
  for (int i = 0; i < x->ndim - 2; i++) b *= x->shape[i];
  return b;
}

/* An uninitialised tensor whose matrices lie by columns, as LAPACK leaves them and PyTorch returns them. */
static TlTensor *empty_columns(tl_dtype d, int ndim, const int64_t *shape) {
  int64_t strides[TL_MAX_DIMS];
  int order[TL_MAX_DIMS];
  for (int i = 0; i < ndim; i++) order[i] = ndim - 1 - i;
  if (ndim > 1) {
    order[0] = ndim - 2;
    order[1] = ndim - 1;
  }
  tl_ordered_strides(ndim, order, shape, 1, strides);
  return tl_empty_strided(d, ndim, shape, strides);
}
static TlTensor *by_columns(TlTensor *x, tl_dtype d) {
  TlTensor *r = empty_columns(d, x->ndim, x->shape);
  if (r && tl_copy(r, x) < 0) Py_CLEAR(r);
  return r;
}
static TlTensor *batched_columns(TlTensor *x, int64_t m, int64_t n,
                                 tl_dtype d) { /* x's batch dims, then m x n by columns */
  int64_t s[TL_MAX_DIMS];
  int nb = x->ndim - 2;
  memcpy(s, x->shape, (size_t)nb * sizeof *s);
  s[nb] = m;
  s[nb + 1] = n;
  return empty_columns(d, x->ndim, s);
}

/* the work tensors ts as dtypes ds; bit i of columns: matrices that lie by rows and are returned by columns */
static PyObject *pack(int n, TlTensor **ts, const tl_dtype *ds, int columns, bool ok) {
  PyObject *r = ok ? PyTuple_New(n) : NULL;
  for (int i = 0; i < n; i++) {
    TlTensor *c = NULL;
    if (r && ts[i]) c = columns >> i & 1 ? by_columns(ts[i], ds[i]) : tl_cast(ts[i], ds[i]);
    Py_XDECREF(ts[i]);
    if (!r) continue;
    if (!c) {
      Py_CLEAR(r);
      continue;
    }
    PyTuple_SetItem(r, i, (PyObject *)c);
  }
  return r;
}

static int square(TlTensor *a, const char *op) {
  if (a->ndim >= 2 && a->shape[a->ndim - 1] == a->shape[a->ndim - 2]) return matrices(op, a);
  PyErr_Format(PyExc_RuntimeError, "%s: A must be batches of square matrices, but they are %lld by %lld matrices", op,
               a->ndim < 2 ? 0LL : (long long)a->shape[a->ndim - 2],
               a->ndim < 1 ? 0LL : (long long)a->shape[a->ndim - 1]);
  return -1;
}

/* B: matrices with as many rows as the square A has, in the same batches */
static int beside(const char *op, TlTensor *a, TlTensor *b) {
  return square(a, op) || tl_check_batch(op, "B", b, a->ndim, a->ndim - 1, a->shape) || matrices(op, b) ? -1 : 0;
}

#define M(x) ((x)->shape[(x)->ndim - 2])
#define N(x) ((x)->shape[(x)->ndim - 1])
#define P(t, type, i) ((type *)tl_data(t) + (i))

/* _linalg_lu(A, pivot) -> LU, pivots, info */
KERNEL(k_lu)
{
  TlTensor *a = ARG(0);
  if (matrices(k->name, a)) return NULL;
  const tl_dtype w = wide(a->dtype);
  const int64_t m = M(a), n = N(a), r = m < n ? m : n, nb = batches(a);
  TlTensor *t[3] = {copy_of(a, w), batched(a, 1, r, 0, TL_I32), batched(a, 0, 0, 0, TL_I32)};
  bool ok = t[0] && t[1] && t[2], pivot = TRUE(1);
  for (int64_t b = 0; ok && b < nb; b++) {
    int32_t *piv = P(t[1], int32_t, b *r);
    *P(t[2], int32_t, b) =
      w == TL_F64 ? lu_r(P(t[0], double, b * m * n), m, n, piv, pivot) : lu_c(P(t[0], cd, b * m * n), m, n, piv, pivot);
    ok = !interrupted();
  }
  return pack(3, t, (tl_dtype[]){a->dtype, TL_I32, TL_I32}, 1, ok);
}

/* _linalg_trsm(A, B, upper, unitriangular): X with A X = B, batches already equal */
KERNEL(k_trsm)
{
  TlTensor *a = ARG(0), *ac = NULL;
  if (beside(k->name, a, ARG(1))) return NULL;
  const tl_dtype w = wide(a->dtype);
  const int64_t n = N(a), r = N(ARG(1)), nb = batches(a);
  TlTensor *x = copy_of(ARG(1), w);
  bool ok = x && (ac = tl_contiguous_as(a, w)), upper = TRUE(2), unit = TRUE(3);
  for (int64_t b = 0; ok && b < nb && x->numel; b++) {
    if (w == TL_F64) trsm_r(P(ac, double, b * n * n), n, n, upper, unit, P(x, double, b * n * r), r, r);
    else trsm_c(P(ac, cd, b * n * n), n, n, upper, unit, P(x, cd, b * n * r), r, r);
    ok = !interrupted();
  }
  Py_XDECREF(ac);
  PyObject *res = ok ? (PyObject *)by_columns(x, a->dtype) : NULL;
  Py_XDECREF(x);
  return res;
}

/* _linalg_solve(A, B) -> X, LU, pivots, info; batches already equal */
KERNEL(k_solve)
{
  TlTensor *a = ARG(0);
  if (beside("linalg.solve", a, ARG(1))) return NULL;
  const tl_dtype w = wide(a->dtype);
  const int64_t n = N(a), r = N(ARG(1)), nb = batches(a);
  TlTensor *t[4] = {copy_of(ARG(1), w), copy_of(a, w), batched(a, 1, n, 0, TL_I32), batched(a, 0, 0, 0, TL_I32)};
  bool ok = t[0] && t[1] && t[2] && t[3];
  for (int64_t b = 0; ok && b < nb; b++) {
    int32_t *piv = P(t[2], int32_t, b *n);
    size_t e = tl_itemsize[w];
    char *x = P(t[0], char, 0) + (size_t)(b * n * r) * e, *lu = P(t[1], char, 0) + (size_t)(b * n * n) * e;
    *P(t[3], int32_t, b) = w == TL_F64 ? lu_r((double *)lu, n, n, piv, true) : lu_c((cd *)lu, n, n, piv, true);
    if (stopped) {
      ok = !interrupted();
      break;
    } /* the pivots are not all there */
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = 0; piv[i] - 1 != i && j < r * (int64_t)(e / 8); j++) {
        double *p = (double *)x + i * r * (int64_t)(e / 8) + j,
               *q = (double *)x + (piv[i] - 1) * r * (int64_t)(e / 8) + j, v = *p;
        *p = *q;
        *q = v;
      }
    if (w == TL_F64) {
      trsm_r((double *)lu, n, n, false, true, (double *)x, r, r);
      trsm_r((double *)lu, n, n, true, false, (double *)x, r, r);
    } else {
      trsm_c((cd *)lu, n, n, false, true, (cd *)x, r, r);
      trsm_c((cd *)lu, n, n, true, false, (cd *)x, r, r);
    }
    ok = !interrupted();
  }
  return pack(4, t, (tl_dtype[]){a->dtype, a->dtype, TL_I32, TL_I32}, 3, ok);
}

/* _linalg_cholesky(A) -> L, info; reads the lower triangle */
KERNEL(k_cholesky)
{
  TlTensor *a = ARG(0);
  if (square(a, k->name)) return NULL;
  const tl_dtype w = wide(a->dtype);
  const int64_t n = N(a), nb = batches(a);
  TlTensor *t[2] = {copy_of(a, w), batched(a, 0, 0, 0, TL_I32)};
  bool ok = t[0] && t[1];
  for (int64_t b = 0; ok && b < nb; b++) {
    *P(t[1], int32_t, b) =
      w == TL_F64 ? cholesky_r(P(t[0], double, b * n * n), n) : cholesky_c(P(t[0], cd, b * n * n), n);
    ok = !interrupted();
  }
  return pack(2, t, (tl_dtype[]){a->dtype, TL_I32}, 1, ok);
}

/* _linalg_geqrf(A) -> a, tau */
KERNEL(k_geqrf)
{
  TlTensor *a = ARG(0);
  if (matrices(k->name, a)) return NULL;
  const tl_dtype w = wide(a->dtype);
  const int64_t m = M(a), n = N(a), r = m < n ? m : n, nb = r ? batches(a) : 0;
  TlTensor *t[2] = {copy_of(a, w), batched(a, 1, r, 0, w)};
  bool ok = t[0] && t[1];
  for (int64_t b = 0; ok && b < nb; b++) {
    if (w == TL_F64) geqrf_r(P(t[0], double, b * m * n), m, n, P(t[1], double, b *r));
    else geqrf_c(P(t[0], cd, b * m * n), m, n, P(t[1], cd, b * r));
    ok = !interrupted();
  }
  return pack(2, t, (tl_dtype[]){a->dtype, a->dtype}, 1, ok);
}

/* _linalg_householder(a, tau) -> Q with a's shape (m x n, n <= m) */
KERNEL(k_householder)
{
  TlTensor *a = ARG(0), *tau = ARG(1), *ac = NULL, *tc = NULL;
  if (matrices(k->name, a) || tl_check_batch(k->name, "tau", tau, a->ndim - 1, a->ndim - 2, a->shape)) return NULL;
  if (M(a) < N(a) || N(tau) > N(a)) {
    PyErr_Format(
      PyExc_RuntimeError,
      "%s(): expected matrices with no more columns than rows and no more factors than columns, got %s and %s", k->name,
      tl_fmt_shape(a->ndim, a->shape), tl_fmt_shape(tau->ndim, tau->shape));
    return NULL;
  }
  const tl_dtype w = wide(a->dtype);
  const int64_t m = M(a), n = N(a), kk = N(tau), nb = batches(a);
  TlTensor *q = tl_empty(w, a->ndim, a->shape);
  bool ok = q && (ac = tl_contiguous_as(a, w)) && (tc = tl_contiguous_as(tau, w));
  for (int64_t b = 0; ok && b < nb && q->numel; b++) {
    if (w == TL_F64) orgqr_r(P(ac, double, b * m * n), m, n, P(tc, double, b *kk), kk, P(q, double, b * m * n));
    else orgqr_c(P(ac, cd, b * m * n), m, n, P(tc, cd, b * kk), kk, P(q, cd, b * m * n));
    ok = !interrupted();
  }
  Py_XDECREF(ac);
  Py_XDECREF(tc);
  PyObject *res = ok ? (PyObject *)by_columns(q, a->dtype) : NULL;
  Py_XDECREF(q);
  return res;
}

static PyObject *no_convergence(const char *op, int64_t b) {
  PyErr_Format(PyExc_RuntimeError,
               "%s: (Batch element %lld): The algorithm failed to converge because the input matrix is "
               "ill-conditioned, has too many repeated "
               "values, or contains values that are not finite.",
               op, (long long)b);
  return NULL;
}

/* _linalg_eigh(A, vectors) -> w, V; reads the lower triangle. Without vectors V has 0 x 0 matrices. */
KERNEL(k_eigh)
{
  TlTensor *a = ARG(0);
  if (square(a, k->name)) return NULL;
  const tl_dtype w = wide(a->dtype);
  const int64_t n = N(a), nb = batches(a);
  const bool vectors = TRUE(1);
  TlTensor *t[2] = {batched(a, 1, n, 0, TL_F64), copy_of(a, w)};
  char *work = t[0] && t[1] ? tl_array(n * n + 4 * n + 4, 16) : NULL;
  bool ok = t[0] && t[1] && work, fine = true;
  int64_t b;
  for (b = 0; ok && fine && b < nb && a->numel; b++) {
    double *e = (double *)(work + (size_t)(n * n + 2 * n + 2) * 16);
    fine = w == TL_F64 ? eigh_r(P(t[1], double, b * n * n), n, vectors, P(t[0], double, b *n), (double *)work, e)
                       : eigh_c(P(t[1], cd, b * n * n), n, vectors, P(t[0], double, b *n), (cd *)work, e);
    ok = !interrupted();
  }
  tl_free(work);
  if (!vectors && ok) {
    Py_DECREF((PyObject *)t[1]);
    ok = (t[1] = batched(a, 2, 0, 0, w));
  }
  PyObject *r = pack(2, t, (tl_dtype[]){tl_real_of(a->dtype), a->dtype}, 2, ok && fine);
  return !fine && ok ? no_convergence("linalg.eigh", b - 1) : r;
}

/* _linalg_svd(A, full, vectors) -> U, S, Vh. Without vectors U and Vh have 0 x 0 matrices. */
KERNEL(k_svd)
{
  TlTensor *a = ARG(0), *ac = NULL;
  if (matrices(k->name, a)) return NULL;
  const tl_dtype w = wide(a->dtype);
  const int64_t m = M(a), n = N(a), r = m < n ? m : n, big = m < n ? n : m, nb = batches(a);
  const bool full = TRUE(1), flip = m < n, vectors = TRUE(2);
  const int64_t left = vectors * (full ? m : r), right = vectors * (full ? n : r), nu = flip ? right : left;
  TlTensor *t[3] = {batched_columns(a, vectors * m, left, w), batched(a, 1, r, 0, TL_F64),
                    batched_columns(a, right, vectors * n, w)};
  char *work = t[0] && t[1] && t[2] && nb ? tl_array(r * big + nu * big + 2 * r * r + big + 8 * r, 16) : tl_malloc(0);
  bool ok = t[0] && t[1] && t[2] && work && (ac = tl_contiguous_as(a, w)), fine = true;
  int64_t b;
  for (b = 0; ok && fine && b < nb && (t[0]->numel || t[1]->numel || t[2]->numel); b++) {
#define RUN(T, sfx, conj)                                                                                             \
    T *A = P(ac, T, b * m * n), *U = P(t[0], T, b * m * left), *V = P(t[2], T, b * right * n);                        \
    T *cols = (T *)work, *u = cols + r * big, *v = u + nu * big, *g = v + r * r;                                       \
    for (int64_t i = 0; i < r; i++)   /* the columns of A, or of its transpose */                                      \
      for (int64_t j = 0; j < big; j++) cols[i * big + j] = flip ? A[i * n + j] : A[j * n + i];                        \
    fine = svd##sfx(cols, big, r, u, nu, v, P(t[1], double, b * r), g, g + r * r);                                     \
    for (int64_t i = 0; i < nu; i++)                                                                                   \
      for (int64_t j = 0; j < big; j++)                                                                                \
        if (flip) V[j * nu + i] = u[i * big + j];                                                                      \
        else U[i * m + j] = u[i * big + j];                                                                            \
    for (int64_t i = 0; i < vectors * r; i++)                                                                          \
      for (int64_t j = 0; j < r; j++) {                                                                                \
        T x = conj(v[i * r + j]);                                                                                      \
        if (flip) U[i * m + j] = x;                                                                                    \
        else V[j * right + i] = x;                                                                                     \
      }
#define SAME(x) (x)
    if (w == TL_F64) {
      RUN(double, _r, SAME)
    } else {
      RUN(cd, _c, cconj)
    }
#undef RUN
    ok = !interrupted();
  }
  Py_XDECREF(ac);
  tl_free(work);
  PyObject *res = pack(3, t, (tl_dtype[]){a->dtype, tl_real_of(a->dtype), a->dtype}, 0, ok && fine);
  return !fine && ok ? no_convergence("linalg.svd", b - 1) : res;
}

/* ---- eigenvalues of general matrices: complex Schur form by shifted QR steps with rotations ---- */
static cd csqrt_(cd z) {
  double r = hypot(z.re, z.im);
  if (r == 0) return z;
  double a = sqrt((r + fabs(z.re)) / 2), b = z.im / (2 * a);
  if (z.re >= 0) return (cd){a, b};
  return (cd){fabs(b), z.im < 0 ? -a : a};
}

/* h (n x n), of Hessenberg form, to upper triangular; the rows of q turn with it. false: no convergence.
 *
 * An entry below the diagonal is zero when it is small beside its neighbours, which keeps small eigenvalues exact.
 * Where many eigenvalues are zero, as in a matrix of low rank, the neighbours are rounding errors and no smaller ones
 * come: then it is zero when it is small beside the largest entry, `size`, as the errors are. */
static bool schur(cd *h, cd *q, int64_t n, bool vectors, double size) {
  int64_t hi = n - 1;
  double least = 0;
  for (int iter = 0; hi > 0;) {
    int64_t lo = hi;
    while (lo > 0) {
      double sub = fabs(h[lo * n + lo - 1].re) + fabs(h[lo * n + lo - 1].im);
      double near = fabs(h[lo * n + lo].re) + fabs(h[lo * n + lo].im) + fabs(h[(lo - 1) * n + lo - 1].re) +
                    fabs(h[(lo - 1) * n + lo - 1].im);
      if (near < least) near = least;
      if (!(sub > 2.3e-16 * near) || sub < 1e-300) {
        h[lo * n + lo - 1] = (cd){0, 0};
        break;
      }
      lo--;
    }
    if (lo == hi) {
      hi--;
      iter = 0;
      continue;
    }
    if (++iter > 300) return false;
    if (iter == PATIENCE) least = size;
    if (tick(4 * n * (hi - lo))) return true;
    cd a = h[(hi - 1) * n + hi - 1], b = h[(hi - 1) * n + hi], c = h[hi * n + hi - 1], d = h[hi * n + hi], shift;
    if (iter % 11 == 10)
      shift = (cd){fabs(c.re) + fabs(c.im) + d.re, d.im}; /* an exceptional shift now and then, against cycles */
    else { /* the eigenvalue of the last 2 x 2 block nearer to its corner */
      cd half = cscale(csub(a, d), 0.5), root = csqrt_(cadd(cmul(half, half), cmul(b, c)));
      cd mid = cscale(cadd(a, d), 0.5), e1 = cadd(mid, root), e2 = csub(mid, root);
      shift = cnorm2(csub(e1, d)) < cnorm2(csub(e2, d)) ? e1 : e2;
    }
    cd x = csub(h[lo * n + lo], shift), y = h[(lo + 1) * n + lo];
    for (int64_t k = lo; k < hi; k++) { /* chase the bulge */
      double nx = cnorm2(x), norm = sqrt(nx + cnorm2(y));
      if (norm == 0) break;
      double cs = sqrt(nx) / norm;
      cd ph = nx > 0 ? cscale(x, 1 / sqrt(nx)) : (cd){1, 0}, sn = cscale(cmul(ph, cconj(y)), 1 / norm);
      const int64_t from = k > lo ? k - 1 : lo, end = k + 2 < hi ? k + 2 : hi;
      /* without vectors what is beside the block does not count */
      const int64_t top = vectors ? 0 : lo, right = vectors ? n : hi + 1;
      tl_turn_complex(h + k * n + from, h + (k + 1) * n + from, 1, right - from, cs, sn);
      tl_turn_complex(h + top * n + k, h + top * n + k + 1, n, end + 1 - top, cs, cconj(sn));
      if (vectors) tl_turn_complex(q + k * n, q + (k + 1) * n, 1, n, cs, cconj(sn));
      if (k + 1 < hi) {
        x = h[(k + 1) * n + k];
        y = h[(k + 2) * n + k];
      }
    }
  }
  return true;
}

/* _linalg_eig(A, vectors) -> w, V, complex. Without vectors V has 0 x 0 matrices. */
KERNEL(k_eig)
{
  TlTensor *a = ARG(0);
  if (square(a, k->name)) return NULL;
  const int64_t n = N(a), nb = batches(a);
  const tl_dtype dt = a->dtype == TL_F64 || a->dtype == TL_C128 ? TL_C128 : TL_C64;
  const tl_dtype w = wide(a->dtype);
  const bool vectors = TRUE(1);
  const int64_t nv = vectors ? n : 0;
  TlTensor *h = copy_of(a, w), *t[2] = {batched(a, 1, n, 0, TL_C128), batched_columns(a, nv, nv, TL_C128)};
  cd *work = tl_array(3 * n * n + 2 * n + 1, sizeof(cd));
  bool ok = h && t[0] && t[1] && work, fine = true;
  int64_t b;
  for (b = 0; ok && fine && b < nb && a->numel; b++) {
    cd *values = P(t[0], cd, b * n), *V = P(t[1], cd, b * nv * nv), *H = work, *q = H + n * n, *own = q + n * n,
       *x = own + n * n;
    if (w == TL_F64) { /* real until it has a form that rotations keep */
      double *r = P(h, double, b * n * n), *o = (double *)own;
      hessenberg_r(r, o, n, (double *)x);
      for (int64_t i = 0; i < n * n; i++) H[i] = (cd){r[i], 0};
      for (int64_t i = 0; i < n * n; i++) q[i] = (cd){o[i % n * n + i / n], 0};
    } else {
      hessenberg_c(P(h, cd, b * n * n), own, n, x);
      memcpy(H, P(h, cd, b * n * n), (size_t)(n * n) * sizeof *H);
      for (int64_t i = 0; i < n * n; i++) q[i] = own[i % n * n + i / n];
    }
    double size = 0;
    for (int64_t i = 0; i < n * n; i++) size = fmax(size, fabs(H[i].re) + fabs(H[i].im));
    fine = stopped || schur(H, q, n, vectors, size);
    for (int64_t c = 0; c < n; c++) {
      if (tick(n * c)) break;
      values[c] = H[c * n + c];
      if (!tl_is_complex(a->dtype) && fabs(values[c].im) < 1e-14 * size) values[c].im = 0;
      if (!vectors) continue;
      x[c] = (cd){1, 0};
      for (int64_t i = c - 1; i >= 0; i--) { /* eigenvector of the triangle */
        cd s = {0, 0}, d = csub(H[i * n + i], H[c * n + c]);
        for (int64_t j = i + 1; j <= c; j++) s = csub(s, cmul(H[i * n + j], x[j]));
        if (cnorm2(d) < 1e-60 * size * size + 1e-300) d = (cd){2.3e-16 * size + 1e-300, 0};
        x[i] = cmul(s, cinv(d));
        if (cnorm2(x[i]) > 1e200) { /* equal eigenvalues: each such step makes the others smaller by 1e16 */
          const double down = 1 / sqrt(cnorm2(x[i]));
          for (int64_t j = i; j <= c; j++) x[j] = cscale(x[j], down);
        }
      }
      double norm = 0, top = -1;
      cd ph = {1, 0};
      memset(V + c * n, 0, (size_t)n * sizeof *V);
      for (int64_t j = 0; j <= c; j++) tl_axpy_complex(V + c * n, x[j], q + j * n, (intptr_t)n);
      for (int64_t i = 0; i < n; i++) {
        const cd s = V[c * n + i];
        norm += cnorm2(s);
        if (cnorm2(s) > top) {
          top = cnorm2(s);
          ph = s;
        }
      }
      ph = cscale(cconj(ph), 1 / (sqrt(top) * sqrt(norm))); /* unit norm, largest component real */
      for (int64_t i = 0; i < n; i++) {
        V[c * n + i] = cmul(V[c * n + i], ph);
        if (!tl_is_complex(a->dtype) && values[c].im == 0) V[c * n + i].im = 0;
      }
    }
    ok = !interrupted();
  }
  Py_XDECREF(h);
  tl_free(work);
  PyObject *r = pack(2, t, (tl_dtype[]){dt, dt}, 0, ok && fine);
  return !fine && ok ? no_convergence("linalg.eig", b - 1) : r;
}

/* _linalg_ldl(A, hermitian) -> LD, pivots, info */
KERNEL(k_ldl)
{
  TlTensor *a = ARG(0);
  if (square(a, k->name)) return NULL;
  const tl_dtype w = wide(a->dtype);
  const int64_t n = N(a), nb = batches(a);
  TlTensor *t[3] = {copy_of(a, w), batched(a, 1, n, 0, TL_I32), batched(a, 0, 0, 0, TL_I32)};
  bool ok = t[0] && t[1] && t[2], herm = TRUE(1);
  for (int64_t b = 0; ok && b < nb; b++) {
    int32_t *piv = P(t[1], int32_t, b *n);
    *P(t[2], int32_t, b) =
      w == TL_F64 ? ldl_r(P(t[0], double, b * n * n), n, piv, herm) : ldl_c(P(t[0], cd, b * n * n), n, piv, herm);
    ok = !interrupted();
  }
  return pack(3, t, (tl_dtype[]){a->dtype, TL_I32, TL_I32}, 1, ok);
}

/* _linalg_ldl_solve(LD, pivots, B, hermitian) -> X; equal batch dims */
KERNEL(k_ldl_solve)
{
  TlTensor *a = ARG(0), *ac = NULL, *pc = NULL;
  if (beside(k->name, a, ARG(2)) || tl_check_shape(k->name, "pivots", ARG(1), a->ndim - 1, a->shape)) return NULL;
  const tl_dtype w = wide(a->dtype);
  const int64_t n = N(a), r = N(ARG(2)), nb = batches(a);
  TlTensor *x = copy_of(ARG(2), w);
  bool ok = x && (ac = tl_contiguous_as(a, w)) && (pc = tl_contiguous_as(ARG(1), TL_I32)), herm = TRUE(3);
  for (int64_t i = 0; ok && i < pc->numel && !tl_meta; i++) {
    int64_t p = *P(pc, int32_t, i);
    if (!p || p > n || -p > n || (p < 0 && i % n == 0 && n < 2)) {
      PyErr_SetString(PyExc_RuntimeError, "linalg.ldl_solve: pivots out of range");
      ok = false;
    }
  }
  for (int64_t b = 0; ok && b < nb && x->numel; b++) {
    const int32_t *piv = P(pc, int32_t, b *n);
    for (int64_t i = 0; i < n; i++) /* negative pivots come in pairs */
      if (piv[i] < 0 && (i + 1 == n || piv[++i] >= 0)) {
        PyErr_SetString(PyExc_RuntimeError, "linalg.ldl_solve: pivots of a 2 x 2 block do not match");
        ok = false;
        break;
      }
    if (!ok) break;
    if (w == TL_F64) ldl_solve_r(P(ac, double, b * n * n), n, piv, herm, P(x, double, b * n * r), r);
    else ldl_solve_c(P(ac, cd, b * n * n), n, piv, herm, P(x, cd, b * n * r), r);
    ok = !interrupted();
  }
  Py_XDECREF(ac);
  Py_XDECREF(pc);
  PyObject *res = ok ? (PyObject *)by_columns(x, a->dtype) : NULL;
  Py_XDECREF(x);
  return res;
}

const TlKernel tl_kernels_linalg[] = {{"_linalg_lu", k_lu, 0, TL_K_META},
                                      {"_linalg_trsm", k_trsm, 0, TL_K_META},
                                      {"_linalg_solve", k_solve, 0, TL_K_META},
                                      {"_linalg_cholesky", k_cholesky, 0, TL_K_META},
                                      {"_linalg_geqrf", k_geqrf, 0, TL_K_META},
                                      {"_linalg_householder", k_householder, 0, TL_K_META},
                                      {"_linalg_eigh", k_eigh, 0, TL_K_META},
                                      {"_linalg_svd", k_svd, 0, TL_K_META},
                                      {"_linalg_eig", k_eig, 0, TL_K_META},
                                      {"_linalg_ldl", k_ldl, 0, TL_K_META},
                                      {"_linalg_ldl_solve", k_ldl_solve, 0, TL_K_META},
                                      {0}};
