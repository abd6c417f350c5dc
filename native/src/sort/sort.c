/* sort.c: sort, argsort, topk, kthvalue, median, nanmedian, mode: everything that orders rows along one dim. */
#include "sort/sort.h"
#include "core/errors.h"
#include "math/simd.h"
#include <math.h>

#define TL_FEW 16 /* std::sort inserts so many one by one */

/* The rows of a tensor along one dim, widened to the loop dtype. */
typedef struct {
  TlTensor *x; /* contiguous, loop dtype */
  tl_dtype loop;
  TlAxis ax;
  TlRow row;
} Rows;

static int rows_open(Rows *w, TlTensor *t, int dim) {
  w->loop = tl_compute[t->dtype];
  w->row.items = NULL;
  if (!(w->x = tl_contiguous_as(t, w->loop))) return -1;
  w->ax = t->ndim ? tl_axis(w->x, dim) : (TlAxis){1, 1, 1};
  if (tl_meta) return 0;
  return tl_row_alloc(&w->row, w->loop, w->ax.n);
}
static void rows_close(Rows *w) {
  tl_row_free(&w->row);
  Py_XDECREF((PyObject *)w->x);
}
static inline const char *rows_at(const Rows *w, int64_t o, int64_t j) {
  return tl_data(w->x) + (o * w->ax.n * w->ax.inner + j) * tl_itemsize[w->loop];
}

/* result values: take(x, index) along the dim, where index is [outer, m, inner] */
static TlTensor *take_values(const Rows *w, TlTensor *index, int64_t m, tl_dtype dtype) {
  TlTensor *v = tl_empty(w->loop, index->ndim, index->shape), *res;
  if (!v) return NULL;
  const int64_t *at = (const int64_t *)tl_data(index);
  int64_t work = 0;
  for (int64_t o = 0; o < w->ax.outer && index->numel && !tl_meta; o++) {
    int64_t src = o * w->ax.n * w->ax.inner, dst = o * m * w->ax.inner;
    if (TL_TICK(work, m)) break;
#define TAKE(T) \
  { \
    const T *s = (const T *)tl_data(w->x) + src; \
    T *d = (T *)tl_data(v) + dst; \
    if (w->ax.inner == 1) TL_LOOP(i, m) d[i] = s[at[dst + i]]; \
    else \
      for (int64_t i = 0; i < m && tl_work(w->ax.inner) == 0; i++) \
        TL_LOOP(j, w->ax.inner) \
          d[i * w->ax.inner + j] = s[at[dst + i * w->ax.inner + j] * w->ax.inner + j]; \
  }
    if (tl_itemsize[w->loop] == 4) TAKE(uint32_t) else TAKE(uint64_t)
  }
  res = tl_cast(v, dtype);
  Py_DECREF((PyObject *)v);
  return res;
}

static int dim_of(PyObject *o, const TlTensor *t, int *dim) {
  int64_t at = -1;
  if (!tl_none(o) && tl_int(o, &at) < 0) return -1;
  return tl_wrap_dim(at, t->ndim, dim);
}

static bool has_ties(const TlRow *r) {
  TL_LOOP(i, r->n - 1)
    if (tl_row_key(r, i) == tl_row_key(r, i + 1)) return true;
  return false;
}

/* the positions of each row in order; those of equal elements as in PyTorch where the sort need not be stable */
static TlTensor *order(Rows *w, TlTensor *t, bool descending, bool stable) {
  TlTensor *index = tl_empty(TL_I64, t->ndim, t->shape);
  if (!index) return NULL;
  int64_t *at = (int64_t *)tl_data(index), inner = w->ax.inner;
  int64_t n = w->ax.n, work = 0;
  if (t->ndim == 1 && n >= 32768 && !descending) stable |= !tl_is_float(w->loop) && t->dtype != TL_BOOL; /* by radix */
  for (int64_t o = 0; o < w->ax.outer && index->numel && !tl_meta; o++)
    for (int64_t j = 0; j < inner; j++) {
      tl_row_load(&w->row, w->loop, rows_at(w, o, j), inner, descending);
      int rc = tl_row_sort(&w->row);
      if (!rc && !stable && n > TL_FEW && has_ties(&w->row)) { /* fewer stay as they are there too */
        tl_row_load(&w->row, w->loop, rows_at(w, o, j), inner, descending);
        rc = w->row.wide ? tl_ties_sort64(w->row.items, n) : tl_ties_sort32(w->row.items, n);
      }
      TL_LOOP(i, n) at[(o * n + i) * inner + j] = tl_row_at(&w->row, i);
      if (rc || TL_TICK(work, n)) {
        Py_DECREF((PyObject *)index);
        return NULL;
      }
    }
  return index;
}

/* sort(self, dim, descending); sort_stable and argsort_stable: (self, stable, dim, descending) */
enum { ONLY_INDICES = 1, STABLE = 2 }; /* bits of the id */
static PyObject *k_sort(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  TlTensor *t = (TlTensor *)args[0], *values = NULL, *index = NULL;
  PyObject *const *a = args + (k->id & STABLE ? 2 : 1);
  Rows w = {0};
  int dim;
  (void)nargs, (void)out;
  if (tl_is_complex(t->dtype)) {
    PyErr_SetString(PyExc_RuntimeError, " Sort does not support complex dtypes on CPU");
    return NULL;
  }
  if (dim_of(a[0], t, &dim) < 0 || rows_open(&w, t, dim) < 0) goto done;
  index = order(&w, t, PyObject_IsTrue(a[1]), k->id & STABLE && args[1] == Py_True);
  if (index && !(k->id & ONLY_INDICES)) values = take_values(&w, index, w.ax.n, t->dtype);
done:
  rows_close(&w);
  index = tl_preserved(index, t);
  return k->id & ONLY_INDICES ? (PyObject *)index : tl_pack2(tl_preserved(values, t), index);
}

/* The first m of a row of floats, few among many, in order: a heap, whose last limits what may come in. */
static void top_few(Rows *w, const float *p, intptr_t m, bool largest) {
  const intptr_t n = (intptr_t)w->ax.n, inner = (intptr_t)w->ax.inner;
  const uint32_t flip = largest ? UINT32_MAX : 0;
  TlItem32 *c = w->row.items;
  v4f e4 = {0};
  int64_t work = 0;
  for (intptr_t i = 0; i < n; i++) {
    if (inner == 1 && i % 16 == 0 && i >= m) { /* blocks that hold nothing beyond the limit are skipped */
      for (; i + 16 <= n; i += 16) {
        const v4f x0 = v4_load(p + i), x1 = v4_load(p + i + 4), x2 = v4_load(p + i + 8), x3 = v4_load(p + i + 12);
        const v4i any = largest ? ~(v4i)((x0 <= e4) & (x1 <= e4) & (x2 <= e4) & (x3 <= e4))
                                : ~(v4i)((x0 >= e4) & (x1 >= e4) & (x2 >= e4) & (x3 >= e4)); /* also for a NaN */
        if (any[0] | any[1] | any[2] | any[3]) break;
      }
      if (i >= n) break;
    }
    const TlItem32 item = (uint64_t)(tl_key_f32(p[i * inner]) ^ flip) << 32 | (uint32_t)i;
    if (i < m) {
      c[i] = item;
      if (i < m - 1) continue;
      tl_ties_heap32(c, m);
    } else if (item >> 32 < c[0] >> 32) tl_ties_replace_top32(c, m, item);
    else continue;
    if (TL_TICK(work, 8)) return;
    e4 = v4_set1(p[(intptr_t)(uint32_t)c[0] * inner]);
  }
  tl_ties_sort_heap32(c, m);
}

/* The first m positions of each row, ties among them as PyTorch has them. */
static TlTensor *top(Rows *w, TlTensor *t, int dim, int64_t m, bool largest, bool sorted) {
  int64_t shape[TL_MAX_DIMS];
  memcpy(shape, t->shape, t->ndim * sizeof *shape);
  if (t->ndim) shape[dim] = m;
  TlTensor *index = tl_empty(TL_I64, t->ndim, shape);
  if (!index || tl_meta || !index->numel) return index;
  int64_t *at = (int64_t *)tl_data(index), n = w->ax.n, inner = w->ax.inner;
  const bool few = m <= n / 64;
  TlRow *r = &w->row;
  for (int64_t o = 0; o < w->ax.outer; o++)
    for (int64_t j = 0; j < inner; j++) {
      const char *p = rows_at(w, o, j);
      int rc = 0;
      if (few && w->loop == TL_F32) top_few(w, (const float *)p, (intptr_t)m, largest);
      else {
        tl_row_load(r, w->loop, p, inner, largest);
        rc = r->wide ? tl_ties_top64(r->items, n, m, few, sorted) : tl_ties_top32(r->items, n, m, few, sorted);
      }
      TL_LOOP(i, m) at[(o * m + i) * inner + j] = tl_row_at(r, i);
      if (rc || tl_work(n) < 0) {
        Py_DECREF((PyObject *)index);
        return NULL;
      }
    }
  return index;
}

TlTensor *tl_top_positions(TlTensor *t, int dim, int64_t m, bool largest, bool sorted) {
  Rows w = {0};
  TlTensor *index = rows_open(&w, t, dim) < 0 ? NULL : top(&w, t, dim, m, largest, sorted);
  rows_close(&w);
  return index;
}

/* (self, k, dim, largest, sorted) */
static PyObject *k_topk(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  TlTensor *t = (TlTensor *)args[0], *values = NULL, *index = NULL;
  int64_t m;
  Rows w = {0};
  int dim;
  (void)k, (void)nargs, (void)out;
  if (tl_is_complex(t->dtype) || t->dtype == TL_BOOL) {
    PyErr_SetString(PyExc_RuntimeError, t->dtype == TL_BOOL ? "topk does not support bool dtypes on CPU"
                                                            : " topk does not support complex dtypes on CPU");
    return NULL;
  }
  if (tl_int(args[1], &m) < 0 || dim_of(args[2], t, &dim) < 0) return NULL;
  if (m < 0 || m > (t->ndim ? t->shape[dim] : 1)) {
    PyErr_SetString(PyExc_RuntimeError, "selected index k out of range");
    return NULL;
  }
  if (!t->ndim) m = 1;
  if (rows_open(&w, t, dim) < 0) goto done;
  index = top(&w, t, dim, m, PyObject_IsTrue(args[3]), PyObject_IsTrue(args[4]));
  if (index) values = take_values(&w, index, m, t->dtype);
done:
  rows_close(&w);
  return tl_pack2(values, index);
}

/* ---- one position per row ---------------------------------------------------------------------------------------- */
static bool row_nan(const Rows *w, const char *p, int64_t i) {
  int64_t q = i * w->ax.inner;
  if (w->loop == TL_F32) return isnan(((const float *)p)[q]);
  return w->loop == TL_F64 && isnan(((const double *)p)[q]);
}

enum { KTH, MEDIAN, NANMEDIAN, MODE };

/* The order in which std::sort leaves up to TL_FEW numbers with NaN among them: its comparison finds NaN neither
 * smaller nor larger, so they stay. False for more numbers, or if none is NaN. */
static bool nan_order(Rows *w, const char *p, int64_t *order) {
  const TlRow *r = &w->row;
  bool nan[TL_FEW], any = false;
  if (r->n > TL_FEW || !tl_is_float(w->loop)) return false;
  for (int64_t i = 0; i < r->n; i++) any = (nan[i] = row_nan(w, p, i)) || any;
  for (int64_t i = 0; any && i < r->n; i++) {
    int64_t j = i, first = order[0];
#define LESS(x, y) (!nan[x] && !nan[y] && tl_row_key(r, x) < tl_row_key(r, y))
    bool smallest = i > 0 && LESS(i, first);
    for (; j > 0 && (smallest || LESS(i, order[j - 1])); j--) order[j] = order[j - 1];
    order[j] = i;
  }
  return any;
}

/* Turns narrow items into wide ones, in place: tmp lies behind them, and its room is just enough. */
static void widen(TlRow *r) {
  const TlItem32 *a = r->items;
  TlItem64 *b = r->items;
  TL_LOOP(k, r->n) {
    const intptr_t i = (intptr_t)r->n - 1 - k;
    const TlItem32 x = a[i];
    b[i] = (TlItem64){x >> 32, (uint32_t)x};
  }
  r->wide = true;
}

/* The position of the element at `rank` (from 0). Of equal elements it is the one that PyTorch's search finds. The
 * exchanges decide which, so they are the same here: Hoare's selection with the median of three. */
static int64_t kth(TlRow *r, int64_t rank) {
  TlItem64 *a = r->items;
  int64_t lo = 0, hi = r->n - 1, work = 0;
#define SWAP(i, j) \
  { \
    const TlItem64 t = a[i]; \
    a[i] = a[j]; \
    a[j] = t; \
  }
#define ORDER(i, j) \
  if (a[i].key > a[j].key) SWAP(i, j)
  while (hi > lo + 1) {
    SWAP(lo + (hi - lo) / 2, lo + 1)
    ORDER(lo + 1, hi)
    ORDER(lo, hi)
    ORDER(lo + 1, lo)
    const uint64_t pivot = a[lo].key;
    int64_t i = lo + 1, j = hi;
    for (;;) {
      while (a[++i].key < pivot) {}
      while (a[--j].key > pivot) {}
      if (j < i) break;
      SWAP(i, j)
      if (TL_TICK(work, 4)) return 0;
    }
    SWAP(lo, j)
    if (j <= rank) lo = i;
    if (j >= rank) hi = j - 1;
  }
  if (hi == lo + 1) ORDER(lo, hi)
#undef ORDER
#undef SWAP
  return (int64_t)a[rank].at;
}

static int64_t pick(Rows *w, int op, const char *p, int64_t rank) {
  TlRow *r = &w->row;
  int64_t n = r->n;
  tl_row_load(r, w->loop, p, w->ax.inner, false);
  if (op == MODE) {
    int64_t best = 0, at = 0, order[TL_FEW];
    if (nan_order(w, p, order)) {
      for (int64_t i = 0, run = 1; i < n; i++, run++)
        if (i == n - 1 || row_nan(w, p, order[i]) || tl_row_key(r, order[i]) != tl_row_key(r, order[i + 1])) {
          if (run > best) {
            best = run;
            at = order[i];
          }
          run = 0;
        }
      return at;
    }
    if (r->wide) tl_ties_sort64(r->items, n);
    else tl_ties_sort32(r->items, n);
    int64_t start = 0; /* of a run of equal elements; each NaN is one of its own */
    TL_LOOP(i, n) {
      if (i && (tl_row_key(r, i) != tl_row_key(r, i - 1) || row_nan(w, p, tl_row_at(r, i)))) start = i;
      if (i - start >= best) {
        best = i - start + 1;
        at = i;
      }
    }
    return tl_row_at(r, at);
  }
  if (op != KTH) {
    int64_t nans = 0, first = -1;
    if (tl_is_float(w->loop))
      TL_LOOP(i, n)
        if (row_nan(w, p, i)) {
          if (first < 0) first = i;
          nans++;
        }
    if (nans && (op == MEDIAN || nans == n)) return first;
    rank = (n - nans - 1) / 2 + 1;
  }
  if (op == KTH) {
    const bool narrow = !r->wide;
    if (narrow) widen(r);
    const int64_t at = kth(r, rank - 1);
    r->wide = !narrow;
    return at;
  }
  if (r->wide) {
    TlItem64 *a = r->items, best = {0, 0};
    tl_select64(a, n, rank);
    TL_LOOP(i, rank)
      if (i == 0 || a[i].key > best.key || (a[i].key == best.key && a[i].at > best.at)) best = a[i];
    return (int64_t)best.at;
  }
  TlItem32 *a = r->items, best = 0;
  tl_select32(a, n, rank);
  TL_LOOP(i, rank)
    if (a[i] > best) best = a[i];
  return (int64_t)(uint32_t)best;
}

/* kthvalue(self, k, dim, keepdim); median(self, dim, keepdim); mode alike */
static PyObject *k_pick(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  static const char *const names[] = {"kthvalue", "median", "median", "mode"};
  static const char *const kernels[] = {"kthvalue_cpu", "median_out", "median_out", "mode_cpu"};
  TlTensor *t = (TlTensor *)args[0], *values = NULL, *index = NULL;
  PyObject *const *a = args + (k->id == KTH ? 2 : 1);
  int64_t shape[TL_MAX_DIMS], rank = 1;
  bool keep = PyObject_IsTrue(a[1]);
  Rows w = {0};
  int dim, nd = 0;
  (void)nargs, (void)out;
  if (dim_of(a[0], t, &dim) < 0) return NULL;
  int64_t n = t->ndim ? t->shape[dim] : 1;
  if (n == 0 && (k->id != MODE || t->ndim)) {
    PyErr_Format(PyExc_IndexError, "%s(): Expected reduction dim %d to have non-zero size.", names[k->id], dim);
    return NULL;
  }
  if (k->id == KTH) {
    if (tl_int(args[1], &rank) < 0) return NULL;
    if (rank < 1 || rank > n) {
      PyErr_Format(PyExc_RuntimeError, "kthvalue(): selected number k out of range for dimension %d", dim);
      return NULL;
    }
  }
  if (!t->ndim && (k->id == KTH || k->id == MODE)) { /* a single number needs no order, whatever its dtype */
    static const int64_t zero = 0;
    index = tl_empty(TL_I64, 0, NULL);
    values = tl_empty(t->dtype, 0, NULL);
    if (index && !tl_meta) memcpy(tl_data(index), &zero, sizeof zero);
    if (values && !tl_meta) memcpy(tl_data(values), tl_data(t), tl_itemsize[t->dtype]);
    return tl_pack2(values, index);
  }
  const bool orders = k->id != MODE || t->numel; /* the mode of no elements is found for any dtype */
  if (orders && (tl_is_complex(t->dtype) || (t->dtype == TL_BOOL && k->id != MODE)))
    return tl_not_implemented(kernels[k->id], t->dtype);
  for (int d = 0; d < t->ndim; d++) {
    if (d != dim) shape[nd++] = t->shape[d];
    else if (keep) shape[nd++] = 1;
  }
  if (rows_open(&w, t, dim) < 0 || !(index = tl_empty(TL_I64, nd, shape))) goto done;
  int64_t *at = (int64_t *)tl_data(index), work = 0;
  for (int64_t o = 0; o < w.ax.outer && index->numel && !tl_meta; o++)
    for (int64_t j = 0; j < w.ax.inner; j++) {
      const int64_t row = o * w.ax.inner + j;
      at[row] = pick(&w, k->id, rows_at(&w, o, j), rank);
      if (TL_TICK(work, n)) goto done;
    }
  values = take_values(&w, index, 1, t->dtype);
done:
  rows_close(&w);
  return tl_pack2(values, index);
}

/* median(self), nanmedian(self): the value alone */
static PyObject *k_median_all(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  TlTensor *t = (TlTensor *)args[0], *res = NULL;
  Rows w = {0};
  (void)nargs, (void)out;
  if (tl_is_complex(t->dtype) || t->dtype == TL_BOOL) return tl_not_implemented("median_cpu", t->dtype);
  if (!(res = tl_empty(t->dtype, 0, NULL)) || tl_meta) return (PyObject *)res;
  if (t->numel == 0) {
    PyObject *nan = tl_is_float(t->dtype) ? PyFloat_FromDouble(NAN) : PyLong_FromLong(0);
    int rc = nan ? tl_fill(res, nan) : -1;
    Py_XDECREF(nan);
    if (rc < 0) Py_CLEAR(res);
    return (PyObject *)res;
  }
  w.loop = tl_compute[t->dtype];
  w.ax = (TlAxis){1, t->numel, 1};
  if (!(w.x = tl_contiguous_as(t, w.loop)) || tl_row_alloc(&w.row, w.loop, t->numel) < 0) {
    Py_CLEAR(res);
  } else {
    int64_t at = pick(&w, k->id, tl_data(w.x), 0);
    if (tl_work(0) < 0) Py_CLEAR(res); /* nothing was found */
    else tl_cast_contig(t->dtype, tl_data(res), w.loop, tl_data(w.x) + at * tl_itemsize[w.loop], 1);
  }
  rows_close(&w);
  return (PyObject *)res;
}

const TlKernel tl_kernels_sort[] = {
  {"sort", k_sort, 0, TL_K_META, NULL}, /* (self, dim, descending) */
  {"argsort", k_sort, ONLY_INDICES, TL_K_META, NULL},
  {"sort_stable", k_sort, STABLE, TL_K_META, NULL}, /* (self, stable, dim, descending) */
  {"argsort_stable", k_sort, ONLY_INDICES | STABLE, TL_K_META, NULL},
  {"topk", k_topk, 0, TL_K_META, NULL},
  {"kthvalue", k_pick, KTH, TL_K_META, NULL},
  {"median_dim", k_pick, MEDIAN, TL_K_META, NULL},
  {"nanmedian_dim", k_pick, NANMEDIAN, TL_K_META, NULL},
  {"mode", k_pick, MODE, TL_K_META, NULL},
  {"median", k_median_all, MEDIAN, TL_K_META, NULL},
  {"nanmedian", k_median_all, NANMEDIAN, TL_K_META, NULL},
  {"_unique2", tl_k_unique, 0, 0, NULL},                   /* (self, sorted, return_inverse, return_counts) */
  {"unique_dim", tl_k_unique_dim, TL_UNIQUE_DIM, 0, NULL}, /* (self, dim, sorted, return_inverse, return_counts) */
  {"unique_consecutive", tl_k_unique_dim, TL_UNIQUE_CONSECUTIVE, 0,
   NULL}, /* (self, return_inverse, return_counts, dim) */
  {"searchsorted", tl_k_searchsorted, TL_SEARCHSORTED, TL_K_META,
   NULL}, /* (sorted_sequence, self, out_int32, right, side, sorter) */
  {"bucketize", tl_k_searchsorted, TL_BUCKETIZE, TL_K_META, NULL}, /* (self, boundaries, out_int32, right) */
  {"histc", tl_k_histc, 0, 0, NULL},                               /* (self, bins, min, max) */
  {"bincount", tl_k_bincount, 0, 0, NULL},                         /* (self, weights, minlength) */
  {0},
};
