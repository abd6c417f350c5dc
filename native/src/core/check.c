/* check.c: checks of arguments that kernels share, with one wording. */
#include "core/check.h"
#include "core/errors.h"
#include "core/geometry.h"

static int unlike(const char *op, const char *name, const TlTensor *t, int n, const int64_t *shape) {
  PyErr_Format(PyExc_RuntimeError, "%s(): expected %s of shape %s, got %s", op, name, tl_fmt_shape(n, shape),
               tl_fmt_shape(t->ndim, t->shape));
  return -1;
}

int tl_check_shape(const char *op, const char *name, const TlTensor *t, int ndim, const int64_t *shape) {
  return t->ndim == ndim && !memcmp(t->shape, shape, (size_t)ndim * sizeof *shape) ? 0
                                                                                   : unlike(op, name, t, ndim, shape);
}

int tl_check_same(const char *op, const char *name, const TlTensor *t, const TlTensor *like) {
  return tl_check_shape(op, name, t, like->ndim, like->shape);
}

int tl_check_batch(const char *op, const char *name, const TlTensor *t, int ndim, int batch, const int64_t *shape) {
  if (t->ndim == ndim && !memcmp(t->shape, shape, (size_t)batch * sizeof *shape)) return 0;
  PyErr_Format(PyExc_RuntimeError, "%s(): expected %s of %d dimensions that begin with %s, got shape %s", op, name,
               ndim, tl_fmt_shape(batch, shape), tl_fmt_shape(t->ndim, t->shape));
  return -1;
}

int tl_check_dims(const char *op, const char *name, const TlTensor *t, int lo, int hi) {
  if (t->ndim >= lo && t->ndim <= hi) return 0;
  if (lo == hi)
    PyErr_Format(PyExc_RuntimeError, "%s(): expected %s of %d dimensions, got shape %s", op, name, lo,
                 tl_fmt_shape(t->ndim, t->shape));
  else
    PyErr_Format(PyExc_RuntimeError, "%s(): expected %s of %d to %d dimensions, got shape %s", op, name, lo, hi,
                 tl_fmt_shape(t->ndim, t->shape));
  return -1;
}

static int outside(const char *op, const char *name, int64_t v, int64_t lo, int64_t hi) {
  if (v >= lo && v <= hi) return 0;
  if (v < lo)
    PyErr_Format(PyExc_RuntimeError, "%s(): expected %s of at least %lld, got %lld", op, name, (long long)lo,
                 (long long)v);
  else
    PyErr_Format(PyExc_RuntimeError, "%s(): expected %s of at most %lld, got %lld", op, name, (long long)hi,
                 (long long)v);
  return -1;
}

int tl_int_in(PyObject *o, const char *op, const char *name, int64_t lo, int64_t hi, int64_t *out) {
  return tl_int(o, out) < 0 ? -1 : outside(op, name, *out, lo, hi);
}

int tl_ints_in(PyObject *o, const char *op, const char *name, int n, int64_t lo, int64_t hi, int64_t *out) {
  int64_t v[TL_MAX_DIMS];
  int m;
  if (tl_ints(o, v, &m) < 0) return -1;
  if (m != n) {
    PyErr_Format(PyExc_RuntimeError, "%s(): expected %d numbers for %s, got %d", op, n, name, m < 0 ? 0 : m);
    return -1;
  }
  for (int i = 0; i < n; i++) {
    if (outside(op, name, v[i], lo, hi) < 0) return -1;
    out[i] = v[i];
  }
  return 0;
}

int tl_product(int n, const int64_t *sizes, int64_t *out) {
  int64_t most = 1, all = 1;
  for (int i = 0; i < n; i++) {
    if (sizes[i] < 0) return tl_negative_size_error(sizes[i], n, sizes);
    if (!sizes[i]) all = 0;
    else if (__builtin_mul_overflow(most, sizes[i], &most) || most > INT64_MAX / 2) { return tl_sizes_overflow(); }
  }
  if (out) *out = all * most;
  return 0;
}
