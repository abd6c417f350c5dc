/* sort_search.c: unique values, binary search, histograms and counts. */
#include "sort/sort.h"
#include "core/errors.h"
#include <math.h>

static TlTensor *empty1(tl_dtype d, int64_t n) { return tl_empty(d, 1, &n); }

/* ---- unique ------------------------------------------------------------------------------------------------------ */
static bool is_nan(tl_dtype d, const char *p, int64_t i) {
  if (d == TL_F32) return isnan(((const float *)p)[i]);
  return d == TL_F64 && isnan(((const double *)p)[i]);
}

/* (self, sorted, return_inverse, return_counts) -> values, inverse, counts; every NaN is a value of its own */
PyObject *tl_k_unique(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  TlTensor *t = (TlTensor *)args[0], *x = NULL, *v = NULL, *values = NULL, *inverse = NULL, *counts = NULL;
  bool want_inverse = PyObject_IsTrue(args[2]), want_counts = PyObject_IsTrue(args[3]);
  tl_dtype loop = tl_compute[t->dtype];
  int64_t n = t->numel, m = 0, *starts = NULL;
  TlRow r = {0};
  (void)k, (void)nargs, (void)out;
  if (tl_is_complex(t->dtype)) return tl_not_implemented("unique", t->dtype);
  if (!(x = tl_contiguous_as(t, loop)) || tl_row_alloc(&r, loop, n) < 0 ||
      !(starts = tl_malloc((n + 1) * sizeof *starts)))
    goto done;
  const char *p = tl_data(x);
  tl_row_load(&r, loop, p, 1, false);
  if (tl_row_sort(&r)) goto done;
  TL_LOOP(i, n)
    if (i == 0 || tl_row_key(&r, i) != tl_row_key(&r, i - 1) || is_nan(loop, p, tl_row_at(&r, i))) starts[m++] = i;
  starts[m] = n;
  if (!(v = empty1(loop, m))) goto done;
  TL_LOOP(i, m) {
    int64_t at = tl_row_at(&r, starts[i]);
    if (tl_itemsize[loop] == 4) ((uint32_t *)tl_data(v))[i] = ((const uint32_t *)p)[at];
    else ((uint64_t *)tl_data(v))[i] = ((const uint64_t *)p)[at];
  }
  inverse = want_inverse ? tl_empty(TL_I64, t->ndim, t->shape) : empty1(TL_I64, 0);
  counts = empty1(TL_I64, want_counts ? m : 0);
  if (!inverse || !counts) goto done;
  int64_t which = 0;
  TL_LOOP(q, want_inverse ? n : 0) {
    which += q == starts[which + 1];
    ((int64_t *)tl_data(inverse))[tl_row_at(&r, q)] = which;
  }
  TL_LOOP(i, want_counts ? m : 0) ((int64_t *)tl_data(counts))[i] = starts[i + 1] - starts[i];
  values = tl_cast(v, t->dtype);
done:
  tl_row_free(&r);
  if (starts) tl_free(starts);
  Py_XDECREF((PyObject *)x);
  Py_XDECREF((PyObject *)v);
  return tl_pack3(values, inverse, counts);
}

/* slices along a dim, compared element by element */
typedef struct {
  const char *p;
  tl_dtype d;
  int64_t m;
  bool few;
} Slices;
/* -1, 0, 1; NaN counts as large. Among few slices it is passed over, and 2 says that nothing else differs. */
static int slice_cmp(const Slices *s, int64_t a, int64_t b) {
#define CMP(T, KEY) \
  { \
    const T *x = (const T *)s->p + a * s->m, *y = (const T *)s->p + b * s->m; \
    int unlike = 0; \
    for (int64_t i = 0; i < s->m; i++) { \
      if (x[i] == y[i]) continue; \
      if (!s->few || (x[i] == x[i] && y[i] == y[i])) return KEY(x[i]) < KEY(y[i]) ? -1 : 1; \
      unlike = 2; \
    } \
    return unlike; \
  }
  switch (s->d) {
  case TL_I32: CMP(int32_t, )
  case TL_I64: CMP(int64_t, )
  case TL_F32: CMP(float, tl_key_f32)
  default: CMP(double, tl_key_f64)
  }
}
static void slice_sort(const Slices *s, int64_t *a, int64_t *tmp, int64_t n) {
  if (n < 2) return;
  if (s->few) { /* as std::sort: where NaN compares with nothing, the places of all depend on the steps */
    for (int64_t i = 1; i < n; i++) {
      int64_t x = a[i], at = i;
      if (slice_cmp(s, x, a[0]) < 0) at = 0;
      while (at && slice_cmp(s, x, a[at - 1]) < 0) at--;
      memmove(a + at + 1, a + at, (i - at) * sizeof *a);
      a[at] = x;
    }
    return;
  }
  int64_t h = n / 2, l = 0, r = h;
  slice_sort(s, a, tmp, h);
  slice_sort(s, a + h, tmp, n - h);
  if (tl_work(n * s->m) < 0) return;
  memcpy(tmp, a, n * sizeof *a);
  TL_LOOP(o, n) a[o] = l < h && (r >= n || slice_cmp(s, tmp[r], tmp[l]) >= 0) ? tmp[l++] : tmp[r++];
}

/* A tensor's dims with `dim` first (`back`: the first one at `dim` again): shape and strides. */
static void move_dim(const TlTensor *t, int dim, bool back, int64_t *shape, int64_t *strides) {
  for (int d = 0, o = 1; d < t->ndim; d++) {
    int first = d == dim ? 0 : o++, to = back ? d : first, from = back ? first : d;
    shape[to] = t->shape[from];
    strides[to] = t->strides[from];
  }
}

/* t's slices along dim, one after the other, in another dtype; `shape`: its dims in that order */
static TlTensor *slices_along(TlTensor *t, int dim, tl_dtype loop, int64_t *shape) {
  int64_t strides[TL_MAX_DIMS];
  int zeros = 0;
  move_dim(t, dim, false, shape, strides);
  for (int d = 0; d < t->ndim; d++) zeros += t->shape[d] == 0;
  bool none = t->ndim && shape[0] == 0;
  if (none && zeros > 1) {
    PyErr_SetString(PyExc_RuntimeError,
                    "Number of zero sized dimensions is more than one, so unique cannot be applied");
    return NULL;
  }
  if (t->numel == 0 && !none) {
    PyErr_SetString(PyExc_RuntimeError,
                    "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied");
    return NULL;
  }
  TlTensor *view = tl_view(t, t->ndim, shape, strides, t->offset), *x = view ? tl_contiguous_as(view, loop) : NULL;
  Py_XDECREF((PyObject *)view);
  return x;
}

/* id 0: unique_dim(self, dim, sorted, return_inverse, return_counts)
 * id 1: unique_consecutive(self, return_inverse, return_counts, dim) */
PyObject *tl_k_unique_dim(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  TlTensor *t = (TlTensor *)args[0], *x = NULL, *values = NULL, *inverse = NULL, *counts = NULL, *v = NULL;
  bool consecutive = k->id == TL_UNIQUE_CONSECUTIVE, want_inverse = PyObject_IsTrue(args[consecutive ? 1 : 3]),
       want_counts = PyObject_IsTrue(args[consecutive ? 2 : 4]);
  PyObject *dim_arg = args[consecutive ? 3 : 1];
  bool flat = tl_none(dim_arg);
  int64_t at, n = t->numel, m = 0, *order = NULL, *starts, shape[TL_MAX_DIMS], strides[TL_MAX_DIMS];
  int dim = 0;
  (void)nargs, (void)out;
  if (!flat && t->ndim == 0) {
    if (tl_int(dim_arg, &at) == 0) tl_no_dims_error(at);
    return NULL;
  }
  if (tl_is_complex(t->dtype)) return tl_not_implemented(flat ? "unique" : "unique_dim", t->dtype);
  if (!flat && (tl_int(dim_arg, &at) < 0 || tl_wrap_dim(at, t->ndim, &dim) < 0)) return NULL;
  tl_dtype loop = tl_compute[t->dtype];
  int nd = t->ndim;
  x = flat ? tl_contiguous_as(t, loop) : slices_along(t, dim, loop, shape);
  if (!x) return NULL;
  if (!flat) n = nd ? shape[0] : 1;
  Slices s = {tl_data(x), loop, 1, !consecutive && n <= 16};
  if (!flat) s.m = n ? t->numel / n : 0;
  if (!(order = tl_malloc((3 * n + 2) * sizeof *order))) goto done;
  starts = order + n;
  TL_LOOP(i, n) order[i] = i;
  if (!consecutive) slice_sort(&s, order, starts, n);
  for (int64_t i = 0; i < n; i++) {
    if (tl_work(s.m) < 0) goto done;
    if (i == 0 || slice_cmp(&s, order[i - 1], order[i])) starts[m++] = i;
  }
  starts[m] = n;
  if (want_inverse && flat) inverse = tl_empty(TL_I64, t->ndim, t->shape);
  else inverse = empty1(TL_I64, want_inverse ? n : 0);
  counts = empty1(TL_I64, want_counts ? m : 0);
  if (flat) v = empty1(loop, m);
  else {
    if (nd) shape[0] = m;
    v = tl_empty(loop, nd, shape);
  }
  if (!inverse || !counts || !v) goto done;
  size_t bytes = (size_t)s.m * tl_itemsize[loop];
  for (int64_t i = 0; i < m; i++) {
    if (tl_work(s.m) < 0) goto done;
    memcpy(tl_data(v) + i * bytes, s.p + order[starts[i]] * bytes, bytes);
    if (want_inverse)
      for (int64_t q = starts[i]; q < starts[i + 1]; q++) ((int64_t *)tl_data(inverse))[order[q]] = i;
    if (want_counts) ((int64_t *)tl_data(counts))[i] = starts[i + 1] - starts[i];
  }
  values = tl_cast(v, t->dtype);
  if (values && !flat && nd) { /* the dim goes back to its place */
    move_dim(v, dim, true, shape, strides);
    if (tl_restride(values, nd, shape, strides) < 0) Py_CLEAR(values);
  }
done:
  if (order) tl_free(order);
  Py_XDECREF((PyObject *)x);
  Py_XDECREF((PyObject *)v);
  return tl_pack3(values, inverse, counts);
}

/* ---- searchsorted ------------------------------------------------------------------------------------------------ */
#define SEARCH(NAME, T) \
  static int64_t NAME(const T *a, const int64_t *sorter, int64_t n, T v, bool right) { \
    int64_t lo = 0, hi = n; \
    while (lo < hi) { \
      int64_t mid = lo + (hi - lo) / 2; \
      T x = a[sorter ? sorter[mid] : mid]; \
      if (right ? !(x > v) : !(x >= v)) lo = mid + 1; \
      else hi = mid; \
    } \
    return lo; \
  }
SEARCH(search_i, int32_t)
SEARCH(search_l, int64_t)
SEARCH(search_f, float)
SEARCH(search_d, double)

static int search_shapes(const TlTensor *b, const TlTensor *v, const TlTensor *sorter) {
  if (v->ndim == 0 && v->numel == 1 && b->ndim != 1) {
    PyErr_Format(PyExc_RuntimeError,
                 "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, "
                 "but we got boundaries tensor dim(%d) and input value's dim(%d) numel(%lld)",
                 b->ndim, v->ndim, (long long)v->numel);
    return -1;
  }
  if (b->ndim == 0) {
    PyErr_SetString(PyExc_RuntimeError,
                    "torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 dimension");
    return -1;
  }
  if (b->ndim != 1 && (b->ndim != v->ndim || memcmp(b->shape, v->shape, (b->ndim - 1) * sizeof *b->shape))) {
    PyErr_Format(
      PyExc_RuntimeError,
      "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of "
      "boundaries tensor and input value tensor must match, but we got boundaries tensor %s and input value tensor %s",
      tl_fmt_shape(b->ndim, b->shape), tl_fmt_shape(v->ndim, v->shape));
    return -1;
  }
  if (!sorter) return 0;
  if (sorter->ndim != b->ndim || memcmp(sorter->shape, b->shape, b->ndim * sizeof *b->shape)) {
    PyErr_Format(PyExc_RuntimeError,
                 "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor %sand "
                 "got sorter tensor %s",
                 tl_fmt_shape(b->ndim, b->shape), tl_fmt_shape(sorter->ndim, sorter->shape));
    return -1;
  }
  if (sorter->dtype != TL_I64) {
    PyErr_Format(PyExc_RuntimeError, "torch.searchsorted(): sorter must be a tensor of long dtype but got dtype %s",
                 tl_scalar_type[sorter->dtype]);
    return -1;
  }
  return 0;
}

/* a tensor argument as it is; a Python number as a 0-dim tensor that does not widen floats */
static TlTensor *value_tensor(PyObject *o, const TlTensor *beside) {
  if (TL_CHECK(o)) return (TlTensor *)Py_NewRef(o);
  tl_dtype d = PyFloat_Check(o) ? tl_default_dtype : TL_I64;
  if (tl_is_float(beside->dtype)) d = beside->dtype;
  if (PyComplex_Check(o)) d = TL_C64;
  TlTensor *t = tl_empty(d, 0, NULL);
  if (t && tl_fill(t, o) < 0) Py_CLEAR(t);
  return t;
}

/* Sets `right` from the argument side, which may be None. -1 with PyTorch's error. */
static int parse_side(PyObject *side, bool *right) {
  if (tl_none(side)) return 0;
  bool is_right = PyUnicode_CompareWithASCIIString(side, "right") == 0;
  if (!is_right && PyUnicode_CompareWithASCIIString(side, "left") != 0) {
    PyErr_Format(PyExc_RuntimeError, "torch.searchsorted(): side can only be 'left' or 'right' but got %S", side);
    return -1;
  }
  if (!is_right && *right) {
    PyErr_SetString(
      PyExc_RuntimeError,
      "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True");
    return -1;
  }
  *right = is_right;
  return 0;
}

static int warn_of_copies(const TlTensor *v, const TlTensor *b, const TlTensor *sorter) {
  const struct {
    const TlTensor *t;
    const char *text;
  } slow[] = {
#define SLOW(what) \
  "torch.searchsorted(): " what " tensor is non-contiguous, this will lower the performance due to extra data copy " \
  "when converting non-contiguous tensor to contiguous, please use contiguous " what " tensor if possible. This " \
  "message will only appear once per program."
    {v, SLOW("input value")}, {b, SLOW("boundary")}, {sorter, SLOW("sorter")}};
  for (int i = 0; i < 3; i++)
    if (slow[i].t && !tl_is_contiguous(slow[i].t) && tl_warn_once(slow[i].text) < 0) return -1;
  return 0;
}

/* Searches rows of n boundaries for `each` values; all operands are contiguous, of one compute type. */
static void search_rows(const TlTensor *b, const TlTensor *v, const int64_t *order, int64_t rows, int64_t n,
                        int64_t each, bool right, TlTensor *res) {
  int64_t work = 0;
  for (int64_t o = 0; o < rows && !TL_TICK(work, each); o++)
    TL_LOOP(i, each) {
      int64_t q = o * each + i, at;
      const int64_t *so = order ? order + o * n : NULL;
      switch (b->dtype) {
      case TL_I32:
        at = search_i((const int32_t *)tl_data(b) + o * n, so, n, ((const int32_t *)tl_data(v))[q], right);
        break;
      case TL_I64:
        at = search_l((const int64_t *)tl_data(b) + o * n, so, n, ((const int64_t *)tl_data(v))[q], right);
        break;
      case TL_F32:
        at = search_f((const float *)tl_data(b) + o * n, so, n, ((const float *)tl_data(v))[q], right);
        break;
      default: at = search_d((const double *)tl_data(b) + o * n, so, n, ((const double *)tl_data(v))[q], right);
      }
      if (res->dtype == TL_I32) ((int32_t *)tl_data(res))[q] = (int32_t)at;
      else ((int64_t *)tl_data(res))[q] = at;
    }
}

/* The search itself, after all checks of shapes and dtypes. */
static TlTensor *search(TlTensor *b, TlTensor *v, TlTensor *sorter, tl_dtype loop, bool right, tl_dtype index) {
  TlTensor *bc = tl_contiguous_as(b, loop), *vc = bc ? tl_contiguous_as(v, loop) : NULL;
  TlTensor *sc = vc && sorter ? tl_contiguous(sorter) : NULL, *res = NULL;
  int64_t n = b->shape[b->ndim - 1], rows = 1, each = b->ndim == 1 ? v->numel : v->shape[v->ndim - 1];
  for (int d = 0; d < b->ndim - 1; d++) rows *= b->shape[d];
  bool ok = vc && (sc || !sorter);
  const int64_t *order = sc && !tl_meta ? (const int64_t *)tl_data(sc) : NULL;
  TL_LOOP(i, ok && order ? sc->numel : 0) ok &= order[i] >= 0 && order[i] < n;
  if (vc && (sc || !sorter) && !ok)
    PyErr_SetString(PyExc_RuntimeError, "torch.searchsorted(): sorter index out of range");
  ok = ok && tl_work(0) == 0;
  if (ok) res = tl_empty(index, v->ndim, v->shape);
  if (res && !tl_meta) search_rows(bc, vc, order, rows, n, each, right, res);
  Py_XDECREF((PyObject *)bc);
  Py_XDECREF((PyObject *)vc);
  Py_XDECREF((PyObject *)sc);
  return res;
}

/* id 0: searchsorted(sorted_sequence, self, out_int32, right, side, sorter); id 1: bucketize(self, boundaries,
 * out_int32, right) */
PyObject *tl_k_searchsorted(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  const bool buckets = k->id == TL_BUCKETIZE;
  TlTensor *b = (TlTensor *)args[buckets ? 1 : 0], *res = NULL, *v = value_tensor(args[buckets ? 0 : 1], b);
  TlTensor *sorter = buckets ? NULL : tl_opt(args[5]);
  const tl_dtype index = PyObject_IsTrue(args[2]) ? TL_I32 : TL_I64;
  bool right = PyObject_IsTrue(args[3]);
  (void)nargs, (void)out;
  if (!v) return NULL;
  if (buckets && b->ndim != 1) {
    PyErr_Format(PyExc_RuntimeError, "boundaries tensor must be 1 dimension, but got dim(%d)", b->ndim);
    goto done;
  }
  if ((!buckets && parse_side(args[4], &right) < 0) || search_shapes(b, v, sorter) < 0) goto done;
  tl_dtype common = tl_promote(b->dtype, v->dtype);
  if (common == TL_NUM_DTYPES) goto done;
  if (!v->numel) res = tl_empty(index, v->ndim, v->shape);
  else if (tl_is_complex(common) || common == TL_BOOL) tl_not_implemented("searchsorted_out_cpu", common);
  else if (warn_of_copies(v, b, sorter) == 0) res = search(b, v, sorter, tl_compute[common], right, index);
done:
  Py_DECREF((PyObject *)v);
  return (PyObject *)res;
}

/* ---- histc, bincount --------------------------------------------------------------------------------------------- */
#define HISTC(NAME, T) \
  static int NAME(const T *p, int64_t n, T *h, int64_t bins, double lo_arg, double hi_arg) { \
    T lo = (T)lo_arg, hi = (T)hi_arg; \
    if (lo == hi && n) { \
      lo = hi = p[0]; \
      TL_LOOP(i, n) { \
        lo = p[i] < lo || p[i] != p[i] ? p[i] : lo; \
        hi = p[i] > hi || p[i] != p[i] ? p[i] : hi; \
      } \
    } \
    if (!isfinite(lo) || !isfinite(hi)) { \
      char text[120]; \
      PyOS_snprintf(text, sizeof text, "torch.histc: range of [%g, %g] is not finite", (double)lo, (double)hi); \
      PyErr_SetString(PyExc_RuntimeError, text); \
      return -1; \
    } \
    if (lo == hi) { lo -= 1; hi += 1; } \
    if (lo > hi) { \
      PyErr_SetString(PyExc_RuntimeError, "torch.histc: max must be larger than min"); \
      return -1; \
    } \
    memset(h, 0, bins * sizeof *h); \
    TL_LOOP(i, n) { \
      if (!(p[i] >= lo && p[i] <= hi)) continue; \
      int64_t at = (int64_t)((p[i] - lo) * (T)bins / (hi - lo)); \
      h[tl_clamp(at, 0, bins - 1)] += 1; \
    } \
    return 0; \
  }
HISTC(histc_f, float)
HISTC(histc_d, double)

PyObject *tl_k_histc(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  TlTensor *t = (TlTensor *)args[0], *x = NULL, *h = NULL, *res = NULL;
  tl_dtype loop = tl_compute[t->dtype];
  int64_t bins;
  double lo, hi;
  int rc;
  (void)k, (void)nargs, (void)out;
  if (!tl_is_float(t->dtype)) return tl_not_implemented("histogram_cpu", t->dtype);
  if (tl_int(args[1], &bins) < 0 || tl_double(args[2], &lo) < 0 || tl_double(args[3], &hi) < 0) return NULL;
  if (bins <= 0) {
    PyErr_Format(PyExc_RuntimeError, "torch.histogram(): bins must be > 0, but got %lld for dimension 0",
                 (long long)bins);
    return NULL;
  }
  if (!(x = tl_contiguous_as(t, loop)) || !(h = empty1(loop, bins))) goto done;
  if (loop == TL_F32) rc = histc_f((const float *)tl_data(x), t->numel, (float *)tl_data(h), bins, lo, hi);
  else rc = histc_d((const double *)tl_data(x), t->numel, (double *)tl_data(h), bins, lo, hi);
  if (rc == 0) res = tl_cast(h, t->dtype);
done:
  Py_XDECREF((PyObject *)x);
  Py_XDECREF((PyObject *)h);
  return (PyObject *)res;
}

PyObject *tl_k_bincount(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  TlTensor *t = (TlTensor *)args[0], *w = tl_opt(args[1]), *x = NULL, *wc = NULL, *res = NULL;
  int64_t bins;
  (void)k, (void)nargs, (void)out;
  if (!tl_is_integral(t->dtype) || t->dtype == TL_BOOL) return tl_not_implemented("bincount_cpu", t->dtype);
  if (tl_int(args[2], &bins) < 0) return NULL;
  if (bins < 0) {
    PyErr_SetString(PyExc_RuntimeError, "minlength should be >= 0");
    return NULL;
  }
  if (t->ndim == 1 && t->numel == 0) return (PyObject *)tl_zeros(TL_I64, 1, &bins);
  if (!(x = tl_contiguous_as(t, TL_I64))) return NULL;
  const int64_t *p = (const int64_t *)tl_data(x);
  int64_t least = 0, most = bins - 1;
  TL_LOOP(i, t->numel) {
    least = p[i] < least ? p[i] : least;
    most = p[i] > most ? p[i] : most;
  }
  bins = most < INT64_MAX ? most + 1 : most;
  if (t->ndim != 1 || least < 0) {
    PyErr_SetString(PyExc_RuntimeError, "bincount only supports 1-d non-negative integral inputs.");
    goto done;
  }
  if (w && (w->ndim != 1 || w->numel != t->numel)) {
    PyErr_SetString(PyExc_RuntimeError, "weights should be 1-d and have the same length as input");
    goto done;
  }
  tl_dtype d = w ? TL_F64 : TL_I64;
  if (w && w->dtype == TL_F32) d = TL_F32;
  if ((w && !(wc = tl_contiguous_as(w, d))) || !(res = tl_zeros(d, 1, &bins))) goto done;
  const intptr_t n = (intptr_t)t->numel;
  void *sums = tl_data(res);
  if (!w)
    TL_LOOP(i, n) ((int64_t *)sums)[p[i]]++;
  else if (d == TL_F32)
    TL_LOOP(i, n) ((float *)sums)[p[i]] += ((const float *)tl_data(wc))[i];
  else
    TL_LOOP(i, n) ((double *)sums)[p[i]] += ((const double *)tl_data(wc))[i];
done:
  Py_XDECREF((PyObject *)x);
  Py_XDECREF((PyObject *)wc);
  return (PyObject *)res;
}
