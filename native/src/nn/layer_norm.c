/* layer_norm.c: layer, rms and group norm and their gradients: statistics over contiguous rows, then an affine map.
 * With xhat = (x - mean) * rstd and h = g * weight:
 *   dx = rstd * (h - mean(h) - xhat * mean(h * xhat)), dweight = sum g * xhat, dbias = sum g. */
#include "core/geometry.h"
#include "core/errors.h"
#include "core/check.h"
#include "nn/norm.h"
#include <math.h>

#define NORM(S, T, CODE) \
  static void stats_##S(const T *x, int64_t n, double eps, T *mean, T *rstd) { \
    double c = 0, s1 = 0, s2 = 0; \
    tl_red_loop(TL_RED_SUM, CODE).row(&c, 0, 0, x, n); \
    c /= (double)n; \
    TlShift shift = {&c, &s1, &s2}; \
    tl_red_loop(TL_RED_SHIFT, CODE).row(&shift, 0, 0, x, n); \
    double v = (s2 - s1 * s1 / (double)n) / (double)n; \
    *mean = (T)((double)(T)c + s1 / (double)n); \
    *rstd = (T)(1 / sqrt((v < 0 ? 0 : v) + eps)); \
  } \
  /* zero stands for a missing b: PyTorch's layer norm adds one, which makes 0 of -0; to add -0 changes nothing */ \
  static void affine_##S(const T *x, T *y, T m, T r, const T *w, const T *b, T zero, int64_t n) { \
    if (w && b) for (int64_t i = 0; i < n; i++) y[i] = (x[i] - m) * r * w[i] + b[i]; \
    else if (w) for (int64_t i = 0; i < n; i++) y[i] = (x[i] - m) * r * w[i] + zero; \
    else for (int64_t i = 0; i < n; i++) y[i] = (x[i] - m) * r + (b ? b[i] : zero); \
  } \
  static void row_back_##S(const T *g, const T *x, T *dx, T m, T r, const T *w, double *dw, double *db, int64_t n, \
      bool centred) { \
    T a[8] = {0}, c[8] = {0}; \
    double sa = 0, sc = 0; \
    int64_t i = 0; \
    if (dx) { \
      for (; i + 8 <= n; i += 8) \
        for (int l = 0; l < 8; l++) { \
          T h = w ? g[i + l] * w[i + l] : g[i + l]; \
          a[l] += h; \
          c[l] += h * ((x[i + l] - m) * r); \
        } \
      for (int l = 0; l < 8; l++) { sa += a[l]; sc += c[l]; } \
      for (; i < n; i++) { \
        double h = w ? (double)g[i] * w[i] : g[i]; \
        sa += h; \
        sc += h * ((x[i] - m) * r); \
      } \
      T ma = centred ? (T)(sa / (double)n) : 0, mc = (T)(sc / (double)n); \
      if (w) for (i = 0; i < n; i++) dx[i] = r * (g[i] * w[i] - ma - (x[i] - m) * r * mc); \
      else for (i = 0; i < n; i++) dx[i] = r * (g[i] - ma - (x[i] - m) * r * mc); \
    } \
    if (dw) for (i = 0; i < n; i++) dw[i] += g[i] * ((x[i] - m) * r); \
    if (db) for (i = 0; i < n; i++) db[i] += g[i]; \
  }
NORM(f, float, TL_F32)
NORM(d, double, TL_F64)

static int shape_check(TlTensor *t, PyObject *shape_arg, PyObject *weight, PyObject *bias, bool rms, int64_t *shape,
                       int *n) {
  PyObject *params[] = {weight, bias};
  if (tl_ints(shape_arg, shape, n) < 0 || tl_product(t->ndim, t->shape, NULL) < 0) return -1;
  if (*n < 1) {
    PyErr_SetString(PyExc_RuntimeError,
                    "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, "
                    "but got normalized_shape = []");
    return -1;
  }
  for (int i = 0; i < 2; i++) {
    TlTensor *p = tl_opt(params[i]);
    if (!p || (p->ndim == *n && !memcmp(p->shape, shape, *n * sizeof *shape))) continue;
    PyErr_Format(PyExc_RuntimeError,
                 "Expected %s to be of same shape as normalized_shape, but got %s of shape %s and "
                 "normalized_shape = %s",
                 i ? "bias" : "weight", i ? "bias" : "weight", tl_fmt_shape(p->ndim, p->shape),
                 tl_fmt_shape(*n, shape));
    return -1;
  }
  if (t->ndim < *n || memcmp(t->shape + t->ndim - *n, shape, *n * sizeof *shape)) {
    const char *want = tl_fmt_shape(*n, shape);
    PyErr_Format(PyExc_RuntimeError,
                 "Given normalized_shape=%s, expected input with shape [*%s%s, but got input of size%s", want,
                 rms ? "" : ", ", want + 1, tl_fmt_shape(t->ndim, t->shape));
    return -1;
  }
  return 0;
}

static TlTensor *stat_tensor(const TlTensor *t, int n, tl_dtype d) {
  int64_t shape[TL_MAX_DIMS];
  for (int i = 0; i < t->ndim; i++) shape[i] = i < t->ndim - n ? t->shape[i] : 1;
  return tl_empty(d, t->ndim, shape);
}

/* id 0: native_layer_norm(input, normalized_shape, weight, bias, eps) -> out, mean, rstd; id 1: layer_norm(...) -> out
 */
PyObject *tl_k_layer_norm(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  TlTensor *t = (TlTensor *)args[0], *x = NULL, *w = NULL, *b = NULL, *y = NULL, *mean = NULL, *rstd = NULL;
  const void *wp, *bp;
  int64_t shape[TL_MAX_DIMS], n = 1;
  double eps;
  int nd;
  (void)nargs, (void)out;
  if (!tl_is_complex(t->dtype) && tl_check_params(t, args + 2, 2, true) < 0) return NULL;
  if (shape_check(t, args[1], args[2], args[3], false, shape, &nd) < 0 || tl_double(args[4], &eps) < 0) return NULL;
  if (!tl_is_float(t->dtype))
    return tl_is_complex(t->dtype) ? TL_FALLBACK() : tl_not_implemented("LayerNormKernelImpl", t->dtype);
  if (tl_check_params(t, args + 2, 2, false) < 0) return NULL;
  tl_dtype loop = tl_compute[t->dtype];
  for (int i = 0; i < nd; i++) n *= shape[i];
  if (!(x = tl_contiguous_as(t, loop)) || tl_param(args[2], loop, &w, &wp) < 0 ||
      tl_param(args[3], loop, &b, &bp) < 0 || !(y = tl_empty(loop, t->ndim, t->shape)) ||
      !(mean = stat_tensor(t, nd, loop)) || !(rstd = stat_tensor(t, nd, loop)))
    goto done;
  for (int64_t i = 0; i < mean->numel; i++) {
#define ROW(S, T) \
  { \
    T *m = (T *)tl_data(mean) + i, *r = (T *)tl_data(rstd) + i; \
    const T *xi = (const T *)tl_data(x) + i * n; \
    stats_##S(xi, n, eps, m, r); \
    affine_##S(xi, (T *)tl_data(y) + i * n, *m, *r, wp, bp, 0, n); \
  }
    if (loop == TL_F32) ROW(f, float)
    else ROW(d, double)
#undef ROW
    if (tl_work(n) < 0) break;
  }
  y = tl_narrow(y, t->dtype);
  if (!w || ((TlTensor *)args[2])->dtype == t->dtype) {
    mean = tl_narrow(mean, t->dtype);
    rstd = tl_narrow(rstd, t->dtype);
  }
done:
  if (!mean || !rstd) Py_CLEAR(y); /* there was no memory for them: y may be without its values */
  Py_XDECREF((PyObject *)x);
  Py_XDECREF((PyObject *)w);
  Py_XDECREF((PyObject *)b);
  if (k->id == TL_RESULT_ALONE) {
    Py_XDECREF((PyObject *)mean);
    Py_XDECREF((PyObject *)rstd);
    return (PyObject *)y;
  }
  return tl_pack3(y, mean, rstd);
}

/* weight gradients arrive as sums in double; NULL for what is not wanted */
static TlTensor *from_sums(const double *s, TlTensor *like, tl_dtype d, int nd, const int64_t *shape) {
  TlTensor *r = tl_empty(like ? like->dtype : d, nd, shape);
  if (r) tl_cast_contig((tl_dtype)r->dtype, tl_data(r), TL_F64, s, r->numel);
  return r;
}
static PyObject *take(TlTensor *t) { return t ? (PyObject *)t : Py_NewRef(Py_None); }

/* (grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask) -> three gradients, None where not wanted
 */
PyObject *tl_k_layer_norm_backward(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  TlTensor *t = (TlTensor *)args[1], *g = NULL, *x = NULL, *m = NULL, *r = NULL, *w = NULL, *dx = NULL, *dw = NULL,
           *db = NULL;
  const void *gp, *xp, *mp, *rp, *wp;
  int64_t shape[TL_MAX_DIMS], n = 1, rows;
  double *sums = NULL;
  PyObject *res = NULL;
  int nd;
  (void)k, (void)nargs, (void)out;
  if (!tl_is_float(t->dtype)) return TL_FALLBACK();
  bool want_x = tl_mask_at(args[7], 0), want_w = tl_mask_at(args[7], 1) && !tl_none(args[5]),
       want_b = tl_mask_at(args[7], 2);
  tl_dtype loop = tl_compute[t->dtype];
  if (shape_check(t, args[2], args[5], args[6], false, shape, &nd) < 0) return NULL;
  for (int i = 0; i < nd; i++) n *= shape[i];
  rows = n ? t->numel / n : 0;
  if (tl_expect(args[0], t->numel, "grad_out") < 0 ||
      (n && (tl_expect(args[3], rows, "mean") < 0 || tl_expect(args[4], rows, "rstd") < 0)))
    return NULL;
  if (tl_param(args[0], loop, &g, &gp) < 0 || tl_param(args[1], loop, &x, &xp) < 0 ||
      tl_param(args[3], loop, &m, &mp) < 0 || tl_param(args[4], loop, &r, &rp) < 0 ||
      tl_param(args[5], loop, &w, &wp) < 0 || !(sums = tl_array(2 * n + 1, sizeof *sums)) ||
      (want_x && !(dx = tl_empty(loop, t->ndim, t->shape))))
    goto done;
  memset(sums, 0, 2 * n * sizeof *sums);
  for (int64_t i = 0; i < rows && tl_work(n) == 0; i++) {
#define ROW(S, T) \
  row_back_##S((const T *)gp + i * n, (const T *)xp + i * n, \
      dx ? (T *)tl_data(dx) + i * n : NULL, ((const T *)mp)[i], ((const T *)rp)[i], wp, \
               want_w ? sums : NULL, want_b ? sums + n : NULL, n, true)
    if (loop == TL_F32) ROW(f, float);
    else ROW(d, double);
#undef ROW
  }
  if (want_x && !(dx = tl_narrow(dx, t->dtype))) goto done;
  if (want_w && !(dw = from_sums(sums, tl_opt(args[5]), t->dtype, nd, shape))) goto done;
  if (want_b && !(db = from_sums(sums + n, tl_opt(args[6]), t->dtype, nd, shape))) goto done;
  res = Py_BuildValue("NNN", take(dx), take(dw), take(db));
  dx = dw = db = NULL;
done:
  if (sums) tl_free(sums);
  TlTensor *drop[] = {g, x, m, r, w, dx, dw, db};
  for (size_t i = 0; i < sizeof drop / sizeof *drop; i++) Py_XDECREF((PyObject *)drop[i]);
  return res;
}

/* y, or a copy that is laid out like an element-wise result of t: PyTorch's gradient of rms_norm is made of such */
static TlTensor *laid_out_like(TlTensor *y, const TlTensor *t) {
  if (!y || tl_is_contiguous(t)) return y;
  TlTensor *r = tl_empty_like(t, y->dtype);
  if (r && tl_copy(r, y) < 0) Py_CLEAR(r);
  Py_DECREF(y);
  return r;
}

/* id 0: _fused_rms_norm(input, normalized_shape, weight, eps) -> out, rstd; id 1: rms_norm(...) -> out */
PyObject *tl_k_rms_norm(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  TlTensor *t = (TlTensor *)args[0], *x = NULL, *w = NULL, *y = NULL, *rstd = NULL;
  const void *wp;
  int64_t shape[TL_MAX_DIMS], n = 1;
  tl_dtype loop = tl_compute[t->dtype];
  double eps = loop == TL_F64 ? 2.220446049250313e-16 : 1.1920928955078125e-07;
  int nd;
  (void)nargs, (void)out;
  if (shape_check(t, args[1], args[2], NULL, true, shape, &nd) < 0) return NULL;
  if (!tl_is_float(t->dtype) || (!tl_none(args[2]) && ((TlTensor *)args[2])->dtype != t->dtype)) return TL_FALLBACK();
  if (!t->numel) return TL_FALLBACK(); /* strides as of products */
  if (!tl_none(args[3]) && tl_double(args[3], &eps) < 0) return NULL;
  for (int i = 0; i < nd; i++) n *= shape[i];
  if (!(x = tl_contiguous_as(t, loop)) || tl_param(args[2], loop, &w, &wp) < 0 ||
      !(y = tl_empty(loop, t->ndim, t->shape)) || !(rstd = stat_tensor(t, nd, loop)))
    goto done;
  TlRedLoop sq = tl_red_loop(TL_RED_SQSUM, loop);
  for (int64_t i = 0; i < rstd->numel && tl_work(n) == 0; i++) {
    double s = 0;
#define ROW(S, T) \
  { \
    const T *xi = (const T *)tl_data(x) + i * n; \
    sq.row(&s, 0, 0, xi, n); \
    T r = (T)(1 / sqrt(s / (double)n + eps)); \
    ((T *)tl_data(rstd))[i] = r; \
    affine_##S(xi, (T *)tl_data(y) + i * n, 0, r, wp, NULL, (T)-0.0, n); \
  }
    if (loop == TL_F32) ROW(f, float)
    else ROW(d, double)
#undef ROW
  }
  if ((y = tl_narrow(y, t->dtype)) && tl_suggests_channels_last(t)) {
    TlTensor *r = tl_empty_format(t->dtype, t->ndim, t->shape, true);
    if (r && tl_copy(r, y) < 0) Py_CLEAR(r);
    Py_DECREF(y);
    y = r;
  }
done:
  if (!rstd) Py_CLEAR(y);
  Py_XDECREF((PyObject *)x);
  Py_XDECREF((PyObject *)w);
  if (k->id == TL_RESULT_ALONE) {
    Py_XDECREF((PyObject *)rstd);
    return (PyObject *)y;
  }
  return tl_pack2(y, rstd);
}

/* (grad_out, input, normalized_shape, rstd, weight, output_mask) -> dx, dweight */
PyObject *tl_k_rms_norm_backward(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  TlTensor *t = (TlTensor *)args[1], *g = NULL, *x = NULL, *r = NULL, *w = NULL, *dx = NULL, *dw = NULL;
  const void *gp, *xp, *rp, *wp;
  int64_t shape[TL_MAX_DIMS], n = 1, rows;
  double *sums = NULL;
  PyObject *res = NULL;
  int nd;
  (void)k, (void)nargs, (void)out;
  if (!tl_is_float(t->dtype)) return TL_FALLBACK();
  bool want_x = tl_mask_at(args[5], 0), want_w = tl_mask_at(args[5], 1) && !tl_none(args[4]);
  tl_dtype loop = tl_compute[t->dtype];
  if (shape_check(t, args[2], args[4], NULL, true, shape, &nd) < 0) return NULL;
  for (int i = 0; i < nd; i++) n *= shape[i];
  rows = n ? t->numel / n : 0;
  if (tl_expect(args[0], t->numel, "grad_out") < 0 || (n && tl_expect(args[3], rows, "rstd") < 0)) return NULL;
  if (tl_param(args[0], loop, &g, &gp) < 0 || tl_param(args[1], loop, &x, &xp) < 0 ||
      tl_param(args[3], loop, &r, &rp) < 0 || tl_param(args[4], loop, &w, &wp) < 0 ||
      !(sums = tl_array(n + 1, sizeof *sums)) || (want_x && !(dx = tl_empty(loop, t->ndim, t->shape))))
    goto done;
  memset(sums, 0, n * sizeof *sums);
  for (int64_t i = 0; i < rows && tl_work(n) == 0; i++) {
#define ROW(S, T) \
  row_back_##S((const T *)gp + i * n, (const T *)xp + i * n, \
      dx ? (T *)tl_data(dx) + i * n : NULL, 0, ((const T *)rp)[i], wp, \
               want_w ? sums : NULL, NULL, n, false)
    if (loop == TL_F32) ROW(f, float);
    else ROW(d, double);
#undef ROW
  }
  if (want_x && !(dx = laid_out_like(tl_narrow(dx, t->dtype), (TlTensor *)args[0]))) goto done;
  if (want_w && !(dw = from_sums(sums, tl_opt(args[4]), t->dtype, nd, shape))) goto done;
  res = Py_BuildValue("NN", take(dx), take(dw));
  dx = dw = NULL;
done:
  if (sums) tl_free(sums);
  TlTensor *drop[] = {g, x, r, w, dx, dw};
  for (size_t i = 0; i < sizeof drop / sizeof *drop; i++) Py_XDECREF((PyObject *)drop[i]);
  return res;
}
