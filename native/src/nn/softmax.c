/* softmax.c: softmax and log_softmax along a dim, and their gradients, over [outer, n, inner]. */
#include "nn/norm.h"
#include "core/errors.h"
#include "math/vexpn.h"
#include <math.h>

/* y = exp(x - m) with m the maximum, returning the sum; y NULL: the sum alone */
static double exp_row_f(const float *x, float *y, float m, int64_t n) {
  static const int32_t last[8] = {0, 0, 0, 0, -1, -1, -1, -1};
  v4f mv = v4_set1(m);
  double total = 0;
  int64_t work = 0;
  const bool fours = n >= 4;
  while (n >= 4) {
    if (TL_TICK(work, 256)) return total;
    int64_t h = n < 256 ? n & ~(int64_t)3 : 256, i = 0;
    v4f a = {0}, b = {0};
    if (y) {
      for (; i + 8 <= h; i += 8) {
        v4f e = vm_exp_neg(v4_load(x + i) - mv), f = vm_exp_neg(v4_load(x + i + 4) - mv);
        v4_store(y + i, e);
        v4_store(y + i + 4, f);
        a += e;
        b += f;
      }
      if (i < h) {
        v4f e = vm_exp_neg(v4_load(x + i) - mv);
        v4_store(y + i, e);
        a += e;
      }
      y += h;
    } else {
      for (; i + 8 <= h; i += 8) {
        a += vm_exp_neg(v4_load(x + i) - mv);
        b += vm_exp_neg(v4_load(x + i + 4) - mv);
      }
      if (i < h) a += vm_exp_neg(v4_load(x + i) - mv);
    }
    total += v4_hsum(a + b);
    x += h;
    n -= h;
  }
  if (n && fours) { /* the last four again, of which n count: reading n numbers takes longer */
    v4i counts;
    memcpy(&counts, last + n, sizeof counts);
    const v4f e = vm_exp_neg(v4_load(x + n - 4) - mv);
    if (y) v4_store(y + n - 4, e);
    total += v4_hsum((v4f)((v4i)e & counts));
  } else if (n) {
    float in[4] = {m, m, m, m};
    memcpy(in, x, n * sizeof *in);
    v4f e = vm_exp_neg(v4_load(in) - mv);
    for (int64_t i = 0; i < n; i++) {
      if (y) y[i] = e[i];
      total += e[i];
    }
  }
  return total;
}
static double exp_row_d(const double *x, double *y, double m, int64_t n) {
  double total = 0;
  TL_LOOP(i, n) {
    double e = exp(x[i] - m);
    if (y) y[i] = e;
    total += e;
  }
  return total;
}
static void exp_vec_f(float *x, int64_t n) {
  const int64_t i = n & ~(int64_t)3;
  TL_LOOP(k, n / 4) v4_store(x + 4 * k, vm_exp_neg(v4_load(x + 4 * k)));
  if (i < n) {
    float in[4] = {0};
    memcpy(in, x + i, (n - i) * sizeof *in);
    v4_store(in, vm_exp_neg(v4_load(in)));
    memcpy(x + i, in, (n - i) * sizeof *in);
  }
}
static void exp_vec_d(double *x, int64_t n) {
  TL_LOOP(i, n) x[i] = exp(x[i]);
}

enum { TILE = 256 };

#define SOFTMAX(S, T, CODE) \
  static int forward_##S(const T *x, T *y, TlAxis ax, bool lg, tl_dtype of_sum) { \
    TlRedLoop max = tl_red_loop(TL_RED_MAX, CODE); \
    int64_t work = 0; \
    for (int64_t o = 0; o < ax.outer; o++, x += ax.n * ax.inner, y += ax.n * ax.inner) { \
      if (TL_TICK(work, ax.n * ax.inner)) return -1; \
      if (ax.inner == 1) { \
        T m = -(T)INFINITY; \
        max.row(&m, 0, 0, x, ax.n); \
        double s = exp_row_##S(x, lg ? NULL : y, m, ax.n); \
        if (lg) { \
          T l = (T)tl_rounded(of_sum, log(tl_rounded(of_sum, s))); \
          TL_LOOP(i, ax.n) y[i] = x[i] - m - l; \
        } else { \
          T r = (T)(1 / s); \
          TL_LOOP(i, ax.n) y[i] *= r; \
        } \
        continue; \
      } \
      for (int64_t t = 0; t < ax.inner; t += TILE) { \
        T m[TILE], e[TILE]; \
        double s[TILE] = {0}; \
        int64_t w = ax.inner - t < TILE ? ax.inner - t : TILE; \
        for (int64_t j = 0; j < w; j++) m[j] = -(T)INFINITY; \
        max.cols(m, 0, 0, x + t, ax.inner, ax.n, w); \
        for (int64_t i = 0; i < ax.n; i++) { \
          const T *xr = x + i * ax.inner + t; \
          T *yr = lg ? e : y + i * ax.inner + t; \
          for (int64_t j = 0; j < w; j++) yr[j] = xr[j] - m[j]; \
          exp_vec_##S(yr, w); \
          for (int64_t j = 0; j < w; j++) s[j] += yr[j]; \
          if (TL_TICK(work, w)) return -1; \
        } \
        for (int64_t j = 0; j < w; j++) e[j] = (T)(lg ? log(s[j]) : 1 / s[j]); \
        for (int64_t i = 0; i < ax.n; i++) { \
          const T *xr = x + i * ax.inner + t; \
          T *yr = y + i * ax.inner + t; \
          if (lg) for (int64_t j = 0; j < w; j++) yr[j] = xr[j] - m[j] - e[j]; \
          else for (int64_t j = 0; j < w; j++) yr[j] *= e[j]; \
          if (TL_TICK(work, w)) return -1; \
        } \
      } \
    } \
    return 0; \
  } \
  static int backward_##S(const T *g, const T *y, T *dx, TlAxis ax, bool lg) { \
    int64_t work = 0; \
    for (int64_t o = 0; o < ax.outer; o++, g += ax.n * ax.inner, y += ax.n * ax.inner, dx += ax.n * ax.inner) { \
      if (TL_TICK(work, ax.n * ax.inner)) return -1; \
      if (ax.inner == 1) { \
        T lanes[16] = {0}; \
        double s = 0; \
        int64_t i = 0; \
        if (lg) { \
          tl_red_loop(TL_RED_SUM, CODE).row(&s, 0, 0, g, ax.n); \
          TL_LOOP(k, ax.n) dx[k] = y[k]; \
          exp_vec_##S(dx, ax.n); \
          TL_LOOP(k, ax.n) dx[k] = g[k] - dx[k] * (T)s; \
        } else { \
          for (; i + 16 <= ax.n; i += 16) \
            for (int l = 0; l < 16; l++) lanes[l] += g[i + l] * y[i + l]; \
          for (int l = 0; l < 16; l++) s += lanes[l]; \
          for (; i < ax.n; i++) s += (double)g[i] * y[i]; \
          TL_LOOP(k, ax.n) dx[k] = y[k] * (g[k] - (T)s); \
        } \
        continue; \
      } \
      for (int64_t t = 0; t < ax.inner; t += TILE) { \
        double s[TILE] = {0}; \
        int64_t w = ax.inner - t < TILE ? ax.inner - t : TILE; \
        for (int64_t i = 0; i < ax.n; i++) { \
          const T *gr = g + i * ax.inner + t, *yr = y + i * ax.inner + t; \
          if (lg) for (int64_t j = 0; j < w; j++) s[j] += gr[j]; \
          else for (int64_t j = 0; j < w; j++) s[j] += (double)gr[j] * yr[j]; \
          if (TL_TICK(work, w)) return -1; \
        } \
        for (int64_t i = 0; i < ax.n; i++) { \
          int64_t q = i * ax.inner + t; \
          if (lg) { \
            for (int64_t j = 0; j < w; j++) dx[q + j] = y[q + j]; \
            exp_vec_##S(dx + q, w); \
            for (int64_t j = 0; j < w; j++) dx[q + j] = g[q + j] - dx[q + j] * (T)s[j]; \
          } else { \
            for (int64_t j = 0; j < w; j++) dx[q + j] = y[q + j] * (g[q + j] - (T)s[j]); \
          } \
          if (TL_TICK(work, w)) return -1; \
        } \
      } \
    } \
    return 0; \
  }
SOFTMAX(f, float, TL_F32)
SOFTMAX(d, double, TL_F64)

/* (self, dim, dtype), or (self, dim, half_to_float) */
PyObject *tl_k_softmax(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  TlTensor *t = (TlTensor *)args[0], *x = NULL, *y = NULL;
  bool lg = k->id & TL_SOFTMAX_LOG;
  tl_dtype want = t->dtype;
  int64_t at;
  int dim;
  (void)out;
  if (tl_int(args[1], &at) < 0) return NULL;
  if (k->id & TL_SOFTMAX_HALF_TO_FLOAT) {
    if (nargs > 2 && PyObject_IsTrue(args[2])) {
      PyErr_SetString(PyExc_RuntimeError, "softmax with half to float conversion is not supported on CPU");
      return NULL;
    }
  } else if (tl_dtype_arg(nargs > 2 ? args[2] : Py_None, t->dtype, &want) < 0) {
    return NULL;
  }
  if (tl_wrap_dim(at, t->ndim, &dim) < 0) return NULL;
  if (!tl_is_float(want)) {
    bool last = dim == (t->ndim ? t->ndim - 1 : 0);
    if (!t->numel) return (PyObject *)tl_empty(want, t->ndim, t->shape);
    if (last) return tl_not_implemented(lg ? "log_softmax_lastdim_kernel_impl" : "softmax_lastdim_kernel_impl", want);
    return tl_not_implemented(lg ? "log_softmax_kernel_impl" : "softmax_kernel_impl", want);
  }
  tl_dtype loop = tl_compute[want];
  if (!(x = tl_contiguous_as(t, loop))) return NULL;
  if (!(y = tl_empty(loop, t->ndim, t->shape))) goto done;
  if (t->numel) {
    TlAxis ax = t->ndim ? tl_axis(x, dim) : (TlAxis){1, 1, 1};
    /* along the last dim PyTorch keeps the sum and its log in the result's dtype */
    const tl_dtype of_sum = dim + 1 < t->ndim ? loop : want;
    int rc = loop == TL_F32 ? forward_f((float *)tl_data(x), (float *)tl_data(y), ax, lg, of_sum)
                            : forward_d((double *)tl_data(x), (double *)tl_data(y), ax, lg, of_sum);
    if (rc < 0) Py_CLEAR(y);
  }
done:
  Py_DECREF((PyObject *)x);
  return (PyObject *)tl_narrow(y, want);
}

/* (grad_output, output, dim, input_dtype) */
PyObject *tl_k_softmax_backward(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  TlTensor *g = (TlTensor *)args[0], *y = (TlTensor *)args[1], *gc = NULL, *yc = NULL, *dx = NULL;
  tl_dtype want;
  int64_t at;
  int dim;
  (void)nargs, (void)out;
  if (tl_int(args[2], &at) < 0 || tl_wrap_dim(at, y->ndim, &dim) < 0 || tl_dtype_arg(args[3], y->dtype, &want) < 0)
    return NULL;
  if (!tl_is_float(y->dtype) || !tl_is_float(g->dtype) || g->ndim != y->ndim ||
      memcmp(g->shape, y->shape, (size_t)y->ndim * sizeof *y->shape))
    return TL_FALLBACK();
  tl_dtype loop = tl_compute[y->dtype];
  if (!(gc = tl_contiguous_as(g, loop)) || !(yc = tl_contiguous_as(y, loop)) ||
      !(dx = tl_empty(loop, y->ndim, y->shape)))
    goto done;
  if (y->numel) {
    TlAxis ax = y->ndim ? tl_axis(yc, dim) : (TlAxis){1, 1, 1};
    if (loop == TL_F32)
      backward_f((float *)tl_data(gc), (float *)tl_data(yc), (float *)tl_data(dx), ax, k->id & TL_SOFTMAX_LOG);
    else backward_d((double *)tl_data(gc), (double *)tl_data(yc), (double *)tl_data(dx), ax, k->id & TL_SOFTMAX_LOG);
  }
done:
  Py_XDECREF((PyObject *)gc);
  Py_XDECREF((PyObject *)yc);
  return (PyObject *)tl_narrow(dx, want);
}
