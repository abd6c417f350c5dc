/* distance.c: distances of all pairs of rows. */
#include "math/simd.h"
#include "reduce/reduce.h"
#include <math.h>

static float distance_f32(const float *a, const float *b, intptr_t n) {
  v4f s[4] = {{0}};
  intptr_t i = 0;
  for (; i + 16 <= n; i += 16)
    for (int k = 0; k < 4; k++) {
      v4f d = v4_load(a + i + 4 * k) - v4_load(b + i + 4 * k);
      s[k] = v4_madd(d, d, s[k]);
    }
  float sum = v4_hsum((s[0] + s[1]) + (s[2] + s[3]));
  for (; i < n; i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sqrtf(sum);
}

/* pdist(self, p): of float32 and the Euclidean norm */
PyObject *tl_k_pdist(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  TlTensor *x = (TlTensor *)args[0];
  double p;
  if (tl_double(args[1], &p)) return NULL;
  if (p != 2 || x->ndim != 2 || x->dtype != TL_F32 || !x->numel || x->shape[0] < 2 || x->shape[0] > INT32_MAX)
    return TL_FALLBACK();
  const int64_t n = x->shape[0], pairs = n * (n - 1) / 2;
  const intptr_t m = (intptr_t)x->shape[1];
  TlTensor *c = tl_contiguous_as(x, TL_F32), *r = c ? tl_empty(TL_F32, 1, &pairs) : NULL;
  float *to = r ? (float *)tl_data(r) : NULL;
  for (int64_t i = 0, done = 0; r && i < n; i++) {
    const float *row = (const float *)tl_data(c) + i * m;
    for (int64_t j = 1; j < n - i; j++) *to++ = distance_f32(row, row + j * m, m);
    if ((done += (n - i) * m) > 1 << 22) {
      done = 0;
      if (tl_check_interrupt()) Py_CLEAR(r);
    }
  }
  Py_XDECREF(c);
  return (PyObject *)r;
}

static void pull(float *restrict to, float *restrict from, const float *a, const float *b, float w, intptr_t n) {
  intptr_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const v4f d = v4_set1(w) * (v4_load(a + i) - v4_load(b + i));
    v4_store(to + i, v4_load(to + i) + d);
    v4_store(from + i, v4_load(from + i) - d);
  }
  for (; i < n; i++) {
    const float d = w * (a[i] - b[i]);
    to[i] += d;
    from[i] -= d;
  }
}
/* _pdist_backward(grad, self, p, pdist), of float32 and the Euclidean norm: each pair adds to its two rows */
PyObject *tl_k_pdist_backward(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  TlTensor *g = (TlTensor *)args[0], *x = (TlTensor *)args[1], *d = (TlTensor *)args[3];
  double p;
  if (tl_double(args[2], &p)) return NULL;
  const int64_t n = x->ndim == 2 ? x->shape[0] : 0, pairs = n * (n - 1) / 2;
  const bool floats = x->dtype == TL_F32 && g->dtype == TL_F32 && d->dtype == TL_F32;
  if (p != 2 || !floats || !x->numel || n < 2 || n > INT32_MAX || g->numel != pairs || d->numel != pairs)
    return TL_FALLBACK();
  const intptr_t m = (intptr_t)x->shape[1];
  TlTensor *c[3] = {tl_contiguous_as(g, TL_F32), tl_contiguous_as(x, TL_F32), tl_contiguous_as(d, TL_F32)}, *r = NULL;
  if (c[0] && c[1] && c[2] && (r = tl_empty(TL_F32, 2, x->shape))) memset(tl_data(r), 0, (size_t)x->numel * 4);
  const float *slope = r ? (const float *)tl_data(c[0]) : NULL, *far = r ? (const float *)tl_data(c[2]) : NULL;
  for (int64_t i = 0, done = 0; r && i < n; i++) {
    const float *row = (const float *)tl_data(c[1]) + i * m;
    float *to = (float *)tl_data(r) + i * m;
    for (int64_t j = 1; j < n - i; j++, slope++, far++)
      if (*far != 0) pull(to, to + j * m, row, row + j * m, *slope / *far, m);
    if ((done += (n - i) * m) > 1 << 22) {
      done = 0;
      if (tl_check_interrupt()) Py_CLEAR(r);
    }
  }
  for (int i = 0; i < 3; i++) Py_XDECREF((PyObject *)c[i]);
  return (PyObject *)r;
}
