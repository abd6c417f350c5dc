/* scan.c: cumsum, cumprod, cummax, cummin, logcumsumexp along one dim. The input is taken as [outer, n, inner]; running
 * sums of floats are kept in double. */
#include "reduce/reduce.h"
#include "core/errors.h"
#include "math/cmath.h"
#include "math/simd.h"

enum { CUMSUM, CUMPROD, CUMMAX, CUMMIN, LOGCUMSUMEXP };
enum { TILE = 256 };

/* one step of a scan: acc A, element x of type T; the running value is stored as T */
#define SCAN(NAME, T, A, INIT, STEP) \
  static int NAME(const T *x0, T *y0, TlAxis ax) { \
    int64_t work = 0; \
    for (int64_t o = 0; o < ax.outer; o++) { \
      const T *xs = x0 + o * ax.n * ax.inner; \
      T *ys = y0 + o * ax.n * ax.inner; \
      if (ax.inner == 1) { \
        A a = INIT; \
        TL_LOOP(i, ax.n) { T x = xs[i]; STEP; ys[i] = (T)a; } \
        if (TL_TICK(work, ax.n)) return -1; \
      } else { \
        for (int64_t t = 0; t < ax.inner; t += TILE) { \
          A acc[TILE]; \
          int64_t w = ax.inner - t < TILE ? ax.inner - t : TILE; \
          for (int64_t j = 0; j < w; j++) acc[j] = INIT; \
          for (int64_t i = 0; i < ax.n; i++) { \
            const T *xr = xs + i * ax.inner + t; \
            T *yr = ys + i * ax.inner + t; \
            for (int64_t j = 0; j < w; j++) { A a = acc[j]; T x = xr[j]; STEP; acc[j] = a; yr[j] = (T)a; } \
            if (TL_TICK(work, w)) return -1; \
          } \
        } \
      } \
    } \
    return 0; \
  }

static inline double log_add(double a, double x) {
  if (a != a || x != x) return NAN;
  double hi = a > x ? a : x, lo = a > x ? x : a;
  return isinf(hi) ? hi : hi + log1p(exp(lo - hi));
}
#define CADD(a, x) ((tl_c128){a.re + x.re, a.im + x.im})
#define CMUL(a, x) ((tl_c128){a.re * x.re - a.im * x.im, a.re * x.im + a.im * x.re})
SCAN(cumsum_l, int64_t, uint64_t, 0, a += (uint64_t)x)
SCAN(cumsum_f, float, double, 0, a += x)
SCAN(cumsum_d, double, double, 0, a += x)
SCAN(cumprod_l, int64_t, uint64_t, 1, a *= (uint64_t)x)
SCAN(cumprod_f, float, double, 1, a *= x)
SCAN(cumprod_d, double, double, 1, a *= x)
TL_SMALL SCAN(logcumsumexp_f, float, double, -INFINITY, a = log_add(a, x))
TL_SMALL SCAN(logcumsumexp_d, double, double, -INFINITY, a = log_add(a, x))

/* complex128 only; complex64 is widened by the caller */
#define SCAN_COMPLEX(NAME, INIT, STEP) \
  static int NAME(const tl_c128 *xs, tl_c128 *ys, TlAxis ax) { \
    int64_t work = 0; \
    for (int64_t o = 0; o < ax.outer; o++) \
      for (int64_t j = 0; j < ax.inner; j++) { \
        tl_c128 a = INIT; \
        if (TL_TICK(work, ax.n)) return -1; \
        TL_LOOP(i, ax.n) { \
          int64_t q = (o * ax.n + i) * ax.inner + j; \
          tl_c128 x = xs[q]; \
          a = STEP(a, x); \
          ys[q] = a; \
        } \
      } \
    return 0; \
  }
TL_SMALL SCAN_COMPLEX(cumsum_c, ((tl_c128){0, 0}), CADD)
TL_SMALL SCAN_COMPLEX(cumprod_c, ((tl_c128){1, 0}), CMUL)
TL_SMALL SCAN_COMPLEX(logcumsumexp_c, ((tl_c128){-INFINITY, 0}), cz_log_add)

/* the computation itself: contiguous in, contiguous out, both of the loop dtype */
static int scan_run(int op, tl_dtype d, const void *x, void *y, TlAxis ax) {
  switch (op) {
  case CUMSUM:
    if (d == TL_I64) return cumsum_l(x, y, ax);
    if (d == TL_F32) return cumsum_f(x, y, ax);
    return d == TL_F64 ? cumsum_d(x, y, ax) : cumsum_c(x, y, ax);
  case CUMPROD:
    if (d == TL_I64) return cumprod_l(x, y, ax);
    if (d == TL_F32) return cumprod_f(x, y, ax);
    return d == TL_F64 ? cumprod_d(x, y, ax) : cumprod_c(x, y, ax);
  default:
    if (d == TL_F32) return logcumsumexp_f(x, y, ax);
    return d == TL_F64 ? logcumsumexp_d(x, y, ax) : logcumsumexp_c(x, y, ax);
  }
}

/* cumsum(self, dim, dtype), cumprod; logcumsumexp(self, dim) */
static PyObject *k_scan(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  TlTensor *t = (TlTensor *)args[0], *x = NULL, *y = NULL, *res = NULL;
  tl_dtype want = t->dtype, loop;
  int64_t at;
  int dim;
  (void)out;
  if (tl_int(args[1], &at) < 0 || tl_wrap_dim(at, t->ndim, &dim) < 0) return NULL;
  if (k->id != LOGCUMSUMEXP) {
    if (tl_dtype_arg(nargs > 2 ? args[2] : Py_None, tl_is_integral(t->dtype) ? TL_I64 : t->dtype, &want) < 0)
      return NULL;
    if (want == TL_BOOL && t->ndim && t->numel) /* nothing is added up otherwise */
      return tl_not_implemented(k->id == CUMSUM ? "cumsum_out_cpu" : "cumprod_out_cpu", want);
  } else if (tl_is_integral(t->dtype)) return tl_not_implemented("logcumsumexp_out_cpu", t->dtype);
  loop = tl_compute[want];
  if (tl_is_integral(want)) loop = TL_I64;
  else if (tl_is_complex(want)) loop = TL_C128;
  if (t->dtype != want && tl_is_integral(want)) { /* the cast to the wanted type comes first, as in PyTorch */
    TlTensor *c = tl_cast(t, want);
    if (!c) return NULL;
    x = tl_contiguous_as(c, loop);
    Py_DECREF((PyObject *)c);
  } else {
    x = tl_contiguous_as(t, loop);
  }
  if (!x || !(y = tl_empty(loop, t->ndim, t->shape))) goto done;
  if ((t->ndim == 0 || t->numel) && !tl_meta) {
    TlAxis ax = t->ndim ? tl_axis(x, dim) : (TlAxis){1, 1, 1};
    if (scan_run(k->id, loop, tl_data(x), tl_data(y), ax) < 0) goto done;
  }
  res = tl_cast(y, want);
done:
  Py_XDECREF((PyObject *)x);
  Py_XDECREF((PyObject *)y);
  return (PyObject *)res;
}

/* ---- running extremes with positions: the last of equal values wins; NaN stays ----------------------------------- */
#define EXTREME(NAME, T, CMP) \
  static void NAME(const T *xs, T *ys, int64_t *index, TlAxis ax) { \
    const int64_t step = ax.inner; \
    int64_t work = 0; \
    for (int64_t o = 0; o < ax.outer; o++, xs += ax.n * step, ys += ax.n * step, index += ax.n * step) { \
      if (step == 1) { \
        T b = xs[0]; \
        int64_t at = 0; \
        if (TL_TICK(work, ax.n)) return; \
        TL_LOOP(i, ax.n) { \
          const T x = xs[i]; \
          if (x != x || (x CMP b && b == b)) b = x, at = i; \
          ys[i] = b; \
          index[i] = at; \
        } \
        continue; \
      } \
      TL_LOOP(j, step) ys[j] = xs[j], index[j] = 0; \
      for (int64_t i = 1; i < ax.n; i++) { \
        const int64_t row = i * step; \
        if (TL_TICK(work, step)) return; \
        TL_LOOP(j, step) { \
          const int64_t q = row + j; \
          const T x = xs[q], b = ys[q - step]; \
          const bool take = x != x || (x CMP b && b == b); \
          ys[q] = take ? x : b; \
          index[q] = take ? i : index[q - step]; \
        } \
      } \
    } \
  }
EXTREME(cummax_l, int64_t, >=)
EXTREME(cummin_l, int64_t, <=)
EXTREME(cummax_f, float, >=)
EXTREME(cummin_f, float, <=)
EXTREME(cummax_d, double, >=)
EXTREME(cummin_d, double, <=)

static PyObject *k_cummax(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  TlTensor *t = (TlTensor *)args[0], *x = NULL, *y = NULL, *index = NULL, *values = NULL;
  bool max = k->id == CUMMAX;
  int64_t at;
  int dim;
  (void)nargs, (void)out;
  if (tl_int(args[1], &at) < 0) return NULL;
  if (!t->ndim && at != 0 && at != -1) {
    PyErr_Format(PyExc_IndexError, "%s(): Expected reduction dim -1 or 0 for scalar but got %lld",
                 max ? "cummax" : "cummin", (long long)at);
    return NULL;
  }
  if (tl_wrap_dim(at, t->ndim, &dim) < 0) return NULL;
  if (tl_is_complex(t->dtype) && t->ndim && t->numel)
    return tl_not_implemented(max ? "cummax_cpu" : "cummin_cpu", t->dtype);
  if (tl_is_complex(t->dtype)) { /* nothing to compare */
    if (!(index = tl_zeros(TL_I64, t->ndim, t->shape)) || !(values = tl_empty_like(t, t->dtype)) ||
        tl_copy(values, t) < 0) {
      Py_XDECREF((PyObject *)index);
      Py_XDECREF((PyObject *)values);
      return NULL;
    }
    return tl_pack2(values, index);
  }
  tl_dtype loop = tl_is_integral(t->dtype) ? TL_I64 : tl_compute[t->dtype];
  if (!(x = tl_contiguous_as(t, loop)) || !(y = tl_empty(loop, t->ndim, t->shape)) ||
      !(index = tl_empty(TL_I64, t->ndim, t->shape)))
    goto fail;
  if (t->numel && !tl_meta) {
    TlAxis ax = t->ndim ? tl_axis(x, dim) : (TlAxis){1, 1, 1};
    void *p = tl_data(x), *q = tl_data(y);
    int64_t *i = (int64_t *)tl_data(index);
    if (loop == TL_I64) (max ? cummax_l : cummin_l)(p, q, i, ax);
    else if (loop == TL_F32) (max ? cummax_f : cummin_f)(p, q, i, ax);
    else (max ? cummax_d : cummin_d)(p, q, i, ax);
  }
  values = tl_cast(y, t->dtype);
  Py_DECREF((PyObject *)x);
  Py_DECREF((PyObject *)y);
  return tl_pack2(values, index);
fail:
  Py_XDECREF((PyObject *)x);
  Py_XDECREF((PyObject *)y);
  Py_XDECREF((PyObject *)index);
  return NULL;
}

const TlKernel tl_kernels_scan[] = {
  {"cumsum", k_scan, CUMSUM, TL_K_META, NULL},
  {"cumprod", k_scan, CUMPROD, TL_K_META, NULL},
  {"logcumsumexp", k_scan, LOGCUMSUMEXP, TL_K_META, NULL},
  {"cummax", k_cummax, CUMMAX, TL_K_META, NULL},
  {"cummin", k_cummax, CUMMIN, TL_K_META, NULL},
  {0},
};
