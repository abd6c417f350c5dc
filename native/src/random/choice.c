/* choice.c: randperm and multinomial. */
#include "random/draws.h"
#include "sort/sort.h"
#include "core/errors.h"
#include <math.h>

/* randperm(n, generator, dtype) */
PyObject *tl_k_randperm(const TlKernel *k, PyObject *const *a, Py_ssize_t na, TlTensor *out) {
  TlGenerator *g = tl_generator(a[1]);
  TlTensor *t, *r;
  int64_t n, *v;
  tl_dtype d;
  (void)k;
  (void)na;
  (void)out;
  if (!g || tl_int(a[0], &n) < 0 || tl_dtype_arg(a[2], TL_I64, &d) < 0) return NULL;
  if (n < 0) return tl_negative_size_error(n, 1, &n), NULL;
  if (d == TL_BOOL || tl_is_complex(d)) return tl_not_implemented("randperm", d);
  {
    static const int64_t most[] = {0,         255,  127, 32767,    2147483647,
                                   INT64_MAX, 2049, 257, 16777217, (INT64_C(1) << 53) + 1};
    static const char *const names[] = {"", "uint8_t", "int8_t", "int16_t", "int", "int64_t"};
    if (n > most[d]) {
      if (tl_is_float(d))
        PyErr_Format(PyExc_RuntimeError, "n cannot be greater than %lld for %s type.", (long long)most[d],
                     tl_scalar_type[d]);
      else tl_conversion_error(names[d]);
      return NULL;
    }
  }
  if (!(t = tl_empty(TL_I64, 1, &n))) return NULL;
  if (tl_meta) n = 0;
  v = (int64_t *)tl_data(t);
  TL_LOOP(i, n) v[i] = i;
  if (n < (int64_t)(UINT32_MAX / 20)) {
    TL_LOOP(i, n - 1) {
      int64_t z = (int64_t)(tl_random32(g) % (uint32_t)(n - i)), s = v[i];
      v[i] = v[z + i];
      v[z + i] = s;
    }
  } else { /* large n: 64-bit draws keep the modulo skew small */
    TL_LOOP(i, n - 1) {
      int64_t z = (int64_t)(tl_random64(g) % (uint64_t)(n - i)), s = v[i];
      v[i] = v[z + i];
      v[z + i] = s;
    }
  }
  r = tl_cast(t, d);
  TL_DEC(t);
  return (PyObject *)r;
}

#define ROWS_OF(T, INFINITE) \
  /* what is wrong with rows of weights, or NULL */ \
  static const char *wrong_##T(const T *v, intptr_t rows, intptr_t cols) { \
    bool outside = false, empty = false; \
    for (intptr_t r = 0; r < rows && tl_work(cols) == 0; r++) { \
      bool some = false; \
      for (intptr_t c = 0; c < cols; c++) { \
        const T x = v[r * cols + c]; \
        outside |= !(x >= 0) | !(x < INFINITE); \
        some |= x > 0; \
      } \
      empty |= !some; \
    } \
    if (outside) return "probability tensor contains either `inf`, `nan` or element < 0"; \
    return empty ? "invalid multinomial distribution (sum of probabilities <= 0)" : NULL; \
  } \
  static void divide_##T(const T *v, T *by, intptr_t n) { \
    TL_LOOP(i, n) by[i] = v[i] / by[i]; \
  }
ROWS_OF(float, HUGE_VALF)
ROWS_OF(double, HUGE_VAL)

/* The columns of the m largest ratios weight / Exp(1) of each row; w: the weights, contiguous, as they are computed. */
static TlTensor *largest_ratios(TlTensor *self, TlTensor *w, TlGenerator *g, int64_t m) {
  TlTensor *q = NULL, *ratios = NULL, *r = NULL;
  TlDist p = {0};
  TlTensor *e = tl_empty_like(self, (tl_dtype)self->dtype);
  p.b = -1;
  if (e && tl_fill_drawn(e, g, &p, tl_draw_exponential) == 0) q = tl_contiguous_as(e, (tl_dtype)w->dtype);
  if (q) {
    const intptr_t n = (intptr_t)w->numel;
    if (w->dtype == TL_F32) divide_float((const float *)tl_data(w), (float *)tl_data(q), n);
    else divide_double((const double *)tl_data(w), (double *)tl_data(q), n);
    ratios = tl_cast(q, (tl_dtype)self->dtype);
  }
  if (ratios) r = tl_top_positions(ratios, self->ndim - 1, m, true, true);
  TL_DEC(ratios);
  TL_DEC(q);
  TL_DEC(e);
  return r;
}

/* o: m columns of each row of v, found by a search in its cumulative weights */
static int search_cumulative(tl_dtype d, TlGenerator *g, const double *v, int64_t rows, int64_t cols, int64_t m,
                             int64_t *o) {
  TlTensor *q;
  if (!(q = tl_empty(TL_F64, 1, &cols))) return -1;
  for (int64_t row = 0; row < rows && tl_work(cols + m) == 0; row++) {
    double *cum = (double *)tl_data(q), total = 0;
    float ftotal = 0;
    for (int64_t c = 0; c < cols; c++) {
      if (d == TL_F64) cum[c] = total += v[row * cols + c];
      else cum[c] = ftotal += (float)v[row * cols + c];
    }
    for (int64_t c = 0; c < cols; c++) cum[c] = d == TL_F64 ? cum[c] / total : (double)((float)cum[c] / ftotal);
    TL_LOOP(s, m) {
      double u = tl_draw_d(g);
      int64_t lo = 0, hi = cols;
      while (hi - lo > 0) {
        int64_t mid = lo + (hi - lo) / 2;
        if (cum[mid] < u) lo = mid + 1;
        else hi = mid;
      }
      o[row * m + s] = lo < cols ? lo : cols - 1;
    }
  }
  TL_DEC(q);
  return 0;
}

/* multinomial(self, num_samples, replacement, generator). Without replacement, or for one sample: the largest
 * weight / Exp(1) ratios. With replacement: a search in the cumulative weights. */
PyObject *tl_k_multinomial(const TlKernel *k, PyObject *const *a, Py_ssize_t na, TlTensor *out) {
  TlTensor *self = (TlTensor *)a[0], *w = NULL, *wide = NULL, *r = NULL;
  TlGenerator *g = tl_generator(a[3]);
  int64_t m, rows, cols, shape[2];
  int replacement = PyObject_IsTrue(a[2]), ok = 0;
  tl_dtype d = self->dtype;
  (void)k;
  (void)na;
  (void)out;
  if (!g || replacement < 0 || tl_int(a[1], &m) < 0) return NULL;
  if (!tl_is_float(d)) {
    PyErr_Format(PyExc_RuntimeError, "multinomial only supports floating-point dtypes for input, got: %s",
                 tl_scalar_type[d]);
    return NULL;
  }
  if (self->ndim != 1 && self->ndim != 2) {
    PyErr_SetString(PyExc_RuntimeError, "prob_dist must be 1 or 2 dim");
    return NULL;
  }
  if (m <= 0) {
    PyErr_SetString(PyExc_RuntimeError, "cannot sample n_sample <= 0 samples");
    return NULL;
  }
  cols = self->shape[self->ndim - 1];
  rows = self->ndim == 2 ? self->shape[0] : 1;
  if (!replacement && m > cols) {
    PyErr_SetString(PyExc_RuntimeError, "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
    return NULL;
  }
  if (cols > (INT64_C(1) << 24)) {
    PyErr_SetString(PyExc_RuntimeError, "number of categories cannot exceed 2^24");
    return NULL;
  }
  shape[0] = self->ndim == 2 ? rows : m;
  shape[1] = m;
  r = tl_empty(TL_I64, self->ndim, shape);
  if (r && (!r->numel || tl_meta)) return (PyObject *)r;
  if (!r || !(w = tl_contiguous_as(self, tl_compute[d]))) goto end;
  const char *wrong = w->dtype == TL_F32 ? wrong_float((const float *)tl_data(w), (intptr_t)rows, (intptr_t)cols)
                                         : wrong_double((const double *)tl_data(w), (intptr_t)rows, (intptr_t)cols);
  if (wrong) {
    PyErr_SetString(PyExc_RuntimeError, wrong);
  } else if (replacement && m > 1) {
    wide = tl_contiguous_as(w, TL_F64);
    ok = wide && search_cumulative(d, g, (const double *)tl_data(wide), rows, cols, m, (int64_t *)tl_data(r)) == 0;
  } else {
    TL_DEC(r);
    r = largest_ratios(self, w, g, m);
    ok = r != NULL;
  }
end:
  TL_DEC(w);
  TL_DEC(wide);
  if (!ok) TL_CLEAR(r);
  return (PyObject *)r;
}
