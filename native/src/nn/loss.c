/* loss.c: negative log likelihood over [N, C, S] with its gradient, and the fused elementwise losses. */
#include "core/check.h"
#include "core/errors.h"
#include "nn/norm.h"
#include <math.h>

enum { NONE, MEAN, SUM };

typedef struct {
  TlTensor *x, *target, *weight; /* contiguous: loop dtype, int64, double */
  int64_t n, c, s, ignore, reduction;
  const double *w;
} Nll;

static void nll_close(Nll *q) {
  Py_XDECREF((PyObject *)q->x);
  Py_XDECREF((PyObject *)q->target);
  Py_XDECREF((PyObject *)q->weight);
}

static int nll_check(const TlTensor *x, const TlTensor *t, const TlTensor *w) {
  bool ok;
  if (x->ndim <= 2) {
    if (t->ndim > 1) {
      PyErr_SetString(PyExc_RuntimeError, "0D or 1D target tensor expected, multi-target not supported");
      return -1;
    }
    if (x->ndim < 1) {
      PyErr_SetString(PyExc_RuntimeError, "input tensor should be 1D or 2D");
      return -1;
    }
    ok = x->ndim == 1 ? t->ndim == 0 || t->numel == 1 : t->ndim == 1 && t->shape[0] == x->shape[0];
  } else {
    if (x->ndim == 4 && t->ndim != 3) {
      PyErr_Format(PyExc_RuntimeError,
                   "only batches of spatial targets supported (3D tensors) but got targets of dimension: %d", t->ndim);
      return -1;
    }
    ok = t->ndim == x->ndim - 1 && t->shape[0] == x->shape[0] &&
         !memcmp(t->shape + 1, x->shape + 2, (x->ndim - 2) * sizeof *t->shape);
  }
  if (t->dtype != TL_I64 && t->dtype != TL_U8) {
    PyErr_Format(PyExc_RuntimeError, "expected target dtype to be Long or Byte, but got %s", tl_scalar_type[t->dtype]);
    return -1;
  }
  if (!ok) {
    PyErr_Format(PyExc_RuntimeError, "size mismatch (got input: %s%s target: %s%s", tl_fmt_shape(x->ndim, x->shape),
                 x->ndim <= 2 ? "," : " ,", tl_fmt_shape(t->ndim, t->shape), x->ndim <= 2 ? ")" : "");
    return -1;
  }
  int64_t classes = x->shape[x->ndim > 1 ? 1 : 0];
  if (w && (w->ndim != 1 || w->numel != classes)) {
    PyErr_Format(PyExc_RuntimeError,
                 "weight tensor should be defined either for all %lld classes or no classes but got weight tensor of "
                 "shape: %s",
                 (long long)classes, tl_fmt_shape(w->ndim, w->shape));
    return -1;
  }
  if (w && w->dtype != x->dtype && tl_is_float(x->dtype)) return tl_scalar_type_error(x->dtype, w->dtype);
  return 0;
}

/* args: self, target, weight, reduction, ignore_index */
static int nll_open(Nll *q, PyObject *const *args) {
  TlTensor *x = (TlTensor *)args[0], *t = (TlTensor *)args[1], *w = tl_opt(args[2]);
  memset(q, 0, sizeof *q);
  if (nll_check(x, t, w) < 0) return -1;
  if (!tl_is_float(x->dtype)) {
    tl_not_implemented("nll_loss_out_frame", x->dtype);
    return -1;
  }
  if (tl_int(args[3], &q->reduction) < 0 || tl_int(args[4], &q->ignore) < 0) return -1;
  q->n = x->ndim > 1 ? x->shape[0] : 1;
  q->c = x->shape[x->ndim > 1 ? 1 : 0];
  q->s = 1;
  for (int d = 2; d < x->ndim; d++) q->s *= x->shape[d];
  if (!(q->x = tl_contiguous_as(x, tl_compute[x->dtype])) || !(q->target = tl_contiguous_as(t, TL_I64))) return -1;
  if (w) {
    if (!(q->weight = tl_contiguous_as(w, TL_F64))) return -1;
    q->w = (const double *)tl_data(q->weight);
  }
  const int64_t *p = (const int64_t *)tl_data(q->target);
  TL_LOOP(i, q->target->numel)
    if (p[i] != q->ignore && (p[i] < 0 || p[i] >= q->c)) {
      PyErr_Format(PyExc_IndexError, "Target %lld is out of bounds.", (long long)p[i]);
      return -1;
    }
  return tl_work(0);
}

static TlTensor *scalar_of(double v, tl_dtype d) {
  TlTensor *t = tl_empty(d, 0, NULL);
  if (t) tl_cast_contig(d, tl_data(t), TL_F64, &v, 1);
  return t;
}

/* The sums of 16-bit floats as PyTorch makes them: in these floats, in eight levels of at least 16 terms each. */
enum { LEVELS = 8 };
static void nll_narrow_sums(const Nll *q, tl_dtype d, double *sum, double *weight) {
  const int64_t *t = (const int64_t *)tl_data(q->target), count = q->n * q->s;
  const float *x = (const float *)tl_data(q->x);
  double level[2][LEVELS] = {{0}};
  int64_t used = 0;
  int power = 0;
  while ((int64_t)1 << power < count) power++;
  power = power / LEVELS > 4 ? power / LEVELS : 4;
  TL_LOOP(i, count) {
    const int64_t c = t[i];
    if (c == q->ignore) continue;
    used++;
    const double w = q->w ? q->w[c] : 1, v = tl_rounded(d, x[(i / q->s * q->c + c) * q->s + i % q->s] * w);
    level[0][0] = tl_rounded(d, level[0][0] - v);
    level[1][0] = tl_rounded(d, level[1][0] + w);
    for (int j = 0; j + 1 < LEVELS && !(i & ((((int64_t)1 << power) - 1) << j * power)); j++)
      for (int k = 0; k < 2; k++) {
        level[k][j + 1] = tl_rounded(d, level[k][j + 1] + level[k][j]);
        level[k][j] = 0;
      }
  }
  *sum = *weight = 0;
  for (int j = 0; j < LEVELS; j++) {
    *sum = tl_rounded(d, *sum + level[0][j]);
    *weight = tl_rounded(d, *weight + level[1][j]);
  }
  if (!q->w) *weight = tl_rounded(d, (double)used);
}

/* nll_loss_forward -> output, total_weight; id 1: the output alone */
PyObject *tl_k_nll(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  tl_dtype d = ((TlTensor *)args[0])->dtype;
  TlTensor *res = NULL, *total = NULL;
  Nll q;
  (void)nargs, (void)out;
  if (nll_open(&q, args) < 0) goto done;
  const int64_t *t = (const int64_t *)tl_data(q.target);
  bool wide = q.x->dtype == TL_F64;
  const void *x = tl_data(q.x);
  double sum = 0, weight = 0, *each = NULL;
  if (q.reduction == NONE && !(each = tl_malloc((q.target->numel + 1) * sizeof *each))) goto done;
  const bool narrow = (d == TL_F16 || d == TL_BF16) && !each;
  if (narrow) nll_narrow_sums(&q, d, &sum, &weight);
  int64_t work = 0;
  for (int64_t i = 0; i < q.n && !narrow && !TL_TICK(work, q.s); i++)
    TL_LOOP(j, q.s) {
      int64_t c = t[i * q.s + j], at = (i * q.c + c) * q.s + j;
      double w = 0, v = 0;
      if (c != q.ignore) {
        w = q.w ? q.w[c] : 1;
        v = -w * (wide ? ((const double *)x)[at] : ((const float *)x)[at]);
      }
      if (each) each[i * q.s + j] = v;
      sum += v;
      weight += w;
    }
  if (each) {
    TlTensor *shape = (TlTensor *)args[1];
    res = tl_empty(d, q.x->ndim == 1 ? 0 : shape->ndim, shape->shape);
    if (res) tl_cast_contig(d, tl_data(res), TL_F64, each, res->numel);
    tl_free(each);
    weight = 0;
  } else {
    res = scalar_of(q.reduction == MEAN ? sum / weight : sum, d);
  }
  if (k->id == TL_WITH_STATISTICS) total = scalar_of(weight, d);
done:
  nll_close(&q);
  return k->id == TL_RESULT_ALONE ? (PyObject *)res : tl_pack2(res, total);
}

/* nll_loss_backward(grad_output, self, target, weight, reduction, ignore_index, total_weight) */
PyObject *tl_k_nll_backward(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  tl_dtype d = ((TlTensor *)args[1])->dtype;
  TlTensor *g = NULL, *total = NULL, *dx = NULL;
  Nll q;
  (void)k, (void)nargs, (void)out;
  if (nll_open(&q, args + 1) < 0) goto done;
  const TlTensor *gt = (TlTensor *)args[0], *tt = (TlTensor *)args[6], *target = (TlTensor *)args[2];
  if (tt->numel != 1) {
    PyErr_Format(PyExc_RuntimeError, "expected total_weight to be a  single element tensor, got: %s (%lld elements)",
                 tl_fmt_shape(tt->ndim, tt->shape), (long long)tt->numel);
    goto done;
  }
  if (q.reduction == NONE && q.x->ndim == 2 && (gt->ndim != 1 || gt->shape[0] != q.n)) {
    PyErr_Format(
      PyExc_RuntimeError,
      "Expected a tensor of dimension 1 and tensor.size[0] == %lld but got: dimension %d and tensor.size[0] = %lld",
      (long long)q.n, gt->ndim, gt->ndim ? (long long)gt->shape[0] : 1LL);
    goto done;
  }
  if (q.reduction == NONE && q.x->ndim > 2 && tl_check_same(k->name, "grad_output", gt, target) < 0) goto done;
  if ((q.reduction != NONE || q.x->ndim < 2) && gt->numel != 1) {
    PyErr_Format(PyExc_RuntimeError, "Expected a single element grad_output tensor, but got: %s",
                 tl_fmt_shape(gt->ndim, gt->shape));
    goto done;
  }
  if (!(g = tl_contiguous_as((TlTensor *)args[0], TL_F64)) || !(total = tl_contiguous_as((TlTensor *)args[6], TL_F64)))
    goto done;
  if (!(dx = tl_zeros(q.x->dtype, q.x->ndim, q.x->shape))) goto done;
  const int64_t *t = (const int64_t *)tl_data(q.target);
  const double *gp = (const double *)tl_data(g);
  const bool each = q.reduction == NONE, narrow = d == TL_F16 || d == TL_BF16;
  double scale = q.reduction == MEAN ? 1 / *(const double *)tl_data(total) : 1;
  int64_t work = 0;
  for (int64_t i = 0; i < q.n && !TL_TICK(work, q.s); i++)
    TL_LOOP(j, q.s) {
      int64_t c = t[i * q.s + j], at = (i * q.c + c) * q.s + j;
      if (c == q.ignore) continue;
      double v = -scale * gp[each ? i * q.s + j : 0];
      if (narrow) v = tl_rounded(d, v); /* as PyTorch does, before the class's weight */
      if (q.w) v *= q.w[c];
      if (dx->dtype == TL_F64) ((double *)tl_data(dx))[at] = v;
      else ((float *)tl_data(dx))[at] = (float)v;
    }
  dx = tl_narrow(dx, d);
done:
  nll_close(&q);
  Py_XDECREF((PyObject *)g);
  Py_XDECREF((PyObject *)total);
  return (PyObject *)dx;
}

/* ---- losses of pairs --------------------------------------------------------------------------------------------- */
#define PAIR(NAME, T, EXPR) \
  static double NAME(const T *a, const T *b, T *y, int64_t n, T p) { \
    double total = 0; \
    (void)p; \
    if (y) { \
      for (int64_t i = 0; i < n; i++) { T d = a[i] - b[i], m = d < 0 ? -d : d; (void)m; y[i] = EXPR; } \
      return 0; \
    } \
    while (n >= 8) { \
      T acc[8] = {0}; \
      int64_t h = n < 256 ? n & ~(int64_t)7 : 256; \
      for (int64_t i = 0; i < h; i += 8) \
        for (int l = 0; l < 8; l++) { T d = a[i + l] - b[i + l], m = d < 0 ? -d : d; (void)m; acc[l] += EXPR; } \
      for (int l = 0; l < 8; l++) total += acc[l]; \
      a += h; \
      b += h; \
      n -= h; \
    } \
    for (int64_t i = 0; i < n; i++) { T d = a[i] - b[i], m = d < 0 ? -d : d; (void)m; total += EXPR; } \
    return total; \
  }
#define MSE d * d
#define L1 m
/* both by min(m, p) instead of a branch, which random differences would often mispredict */
#define LOWER(m, p) ((m) < (p) ? (m) : (p))
#define SMOOTH (p > 0 ? LOWER(m, p) / p * (m - (T)0.5 * LOWER(m, p)) : m)
#define HUBER (LOWER(m, p) * (m - (T)0.5 * LOWER(m, p)))
PAIR(mse_f, float, MSE)
PAIR(mse_d, double, MSE)
PAIR(l1_f, float, L1)
PAIR(l1_d, double, L1)
#define T float
PAIR(smooth_f, float, SMOOTH)
PAIR(huber_f, float, HUBER)
#undef T
#define T double
PAIR(smooth_d, double, SMOOTH)
PAIR(huber_d, double, HUBER)
#undef T

/* (self, target, reduction[, beta or delta]); id: mse, l1, smooth_l1, huber. Same shape and dtype; the rest is the
 * body's. */
PyObject *tl_k_pair_loss(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  TlTensor *a = (TlTensor *)args[0], *b = (TlTensor *)args[1], *ac = NULL, *bc = NULL, *y = NULL, *res = NULL;
  int64_t reduction;
  double p = 1, total = 0;
  (void)out;
  if (tl_int(args[2], &reduction) < 0) return NULL;
  if (nargs > 3 && tl_double(args[3], &p) < 0) return NULL;
  if (!tl_is_float(a->dtype) || a->dtype != b->dtype || a->ndim != b->ndim ||
      memcmp(a->shape, b->shape, a->ndim * sizeof *a->shape) || !(p > 0) ||
      (reduction == NONE && !(tl_is_contiguous(a) && tl_is_contiguous(b)))) /* the body's layout */
    return TL_FALLBACK();
  tl_dtype d = a->dtype, loop = tl_compute[d];
  if (!(ac = tl_contiguous_as(a, loop)) || !(bc = tl_contiguous_as(b, loop))) goto done;
  if (reduction == NONE && !(y = tl_empty(loop, a->ndim, a->shape))) goto done;
  for (int64_t at = 0, n = a->numel, m; at < n && tl_work(y ? TL_PIECE : 0) == 0; at += m) {
    m = y && n - at > TL_PIECE ? TL_PIECE : n - at;
    if (loop == TL_F32) {
      static double (*const fn[])(const float *, const float *, float *, int64_t, float) = {mse_f, l1_f, smooth_f,
                                                                                            huber_f};
      total = fn[k->id]((const float *)tl_data(ac) + at, (const float *)tl_data(bc) + at,
                        y ? (float *)tl_data(y) + at : NULL, m, (float)p);
    } else {
      static double (*const fn[])(const double *, const double *, double *, int64_t, double) = {mse_d, l1_d, smooth_d,
                                                                                                huber_d};
      total = fn[k->id]((const double *)tl_data(ac) + at, (const double *)tl_data(bc) + at,
                        y ? (double *)tl_data(y) + at : NULL, m, p);
    }
  }
  if (reduction == MEAN) total /= (double)a->numel;
  res = y ? tl_narrow(y, d) : scalar_of(total, d);
done:
  Py_XDECREF((PyObject *)ac);
  Py_XDECREF((PyObject *)bc);
  return (PyObject *)res;
}
