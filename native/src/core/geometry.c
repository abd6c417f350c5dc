/* geometry.c: see geometry.h */
#include "core/geometry.h"
#include "core/errors.h"
#include "core/core.h"

/* ---- sizes ------------------------------------------------------------------------------------------------------ */
int tl_sizes_overflow(void) {
  PyErr_SetString(PyExc_RuntimeError, "Storage size calculation overflowed with sizes that large");
  return -1;
}

int tl_shape_overflow(int ndim, const int64_t *shape) {
  PyErr_Format(PyExc_RuntimeError, "Storage size calculation overflowed with sizes=%s", tl_fmt_shape(ndim, shape));
  return -1;
}

int tl_extent_overflow(int ndim, const int64_t *shape, const int64_t *strides) {
  PyErr_Format(PyExc_RuntimeError, "Storage size calculation overflowed with sizes=%s and strides=%s",
               tl_fmt_shape(ndim, shape), tl_fmt_shape(ndim, strides));
  return -1;
}

int64_t tl_count_error(int ndim, const int64_t *shape, int at) {
  if (shape[at] >= 0) return tl_shape_overflow(ndim, shape);
  return tl_negative_size_error(shape[at], ndim, shape);
}

/* ---- layouts without gaps ---------------------------------------------------------------------------------------- */
int64_t tl_dense_strides(int ndim, const int64_t *shape, int64_t *strides) {
  int64_t step = 1;
  for (int i = ndim - 1; i >= 0; i--) {
    strides[i] = step;
    if (__builtin_mul_overflow(step, shape[i] > 1 ? shape[i] : 1, &step) && i > 0) {
      if (tl_count(ndim, shape) >= 0) PyErr_SetString(PyExc_RuntimeError, "Stride calculation overflowed");
      return -1;
    }
  }
  return tl_count(ndim, shape);
}

bool tl_strides_natural(const TlTensor *t) {
  int64_t expect = 1;
  bool same = tl_is_contiguous(t);
  for (int d = t->ndim - 1; d >= 0 && same; d--) {
    same = t->strides[d] == expect;
    expect = tl_wrap_mul(expect, t->shape[d] > 1 ? t->shape[d] : 1);
  }
  return same;
}

bool tl_is_dense(const TlTensor *t) {
  int order[TL_MAX_DIMS], n = 0;
  int64_t expect = 1;
  bool dense = true;
  if (tl_is_contiguous(t) || tl_is_channels_last(t)) return true;
  for (int d = 0; d < t->ndim; d++)
    if (t->shape[d] > 1) order[n++] = d;
  tl_sort_dims(n, order, t->strides, false);
  for (int i = 0; i < n && dense; i++) {
    dense = t->strides[order[i]] == expect;
    expect = tl_wrap_mul(expect, t->shape[order[i]]);
  }
  return dense;
}

void tl_preserved_strides(const TlTensor *t, int64_t *strides) {
  int64_t own[1][TL_MAX_DIMS];
  int order[TL_MAX_DIMS];
  size_t bytes = sizeof(int64_t) * (size_t)t->ndim;
  if (tl_is_dense(t)) memcpy(strides, t->strides, bytes);
  else {
    memcpy(own[0], t->strides, bytes);
    tl_result_strides(1, (const int64_t (*)[TL_MAX_DIMS])own, t->ndim, t->shape, order, strides);
  }
}

/* The i-th dim of a channels-last tensor from the innermost on: channels, then space from the last dim on, then the
 * batch. */
static int last_dim(int ndim, int i) {
  if (i == 0) return 1;
  return i == ndim - 1 ? 0 : ndim - i;
}

void tl_channels_last_strides(int ndim, const int64_t *shape, int64_t *strides) {
  int order[TL_MAX_DIMS];
  for (int i = 0; i < ndim; i++) order[i] = last_dim(ndim, i);
  tl_ordered_strides(ndim, order, shape, 0, strides);
}

bool tl_in_last_order(const TlTensor *t) {
  int64_t expect = 1;
  bool same = true;
  for (int i = 0; i < t->ndim && same; i++) {
    int d = last_dim(t->ndim, i);
    if (t->shape[d] == 1) continue;
    same = t->strides[d] == expect;
    expect = tl_wrap_mul(expect, t->shape[d]);
  }
  return same;
}
bool tl_is_channels_last(const TlTensor *t) { return (t->ndim == 4 || t->ndim == 5) && tl_in_last_order(t); }

bool tl_suggests_last(int ndim, const int64_t *shape, const int64_t *strides) {
  int64_t least = 0, row[2][4];
  if (ndim == 3) {
    for (int i = 0; i < 4; i++) {
      row[0][i] = i == 2 ? 1 : shape[i - i / 3];
      row[1][i] = i == 2 ? tl_wrap_mul(shape[2], strides[2]) : strides[i - i / 3];
    }
    ndim = 4;
    shape = row[0];
    strides = row[1];
  }
  if ((ndim != 4 && ndim != 5) || strides[1] == 0) return false;
  for (int i = 0; i < ndim; i++) {
    int d = last_dim(ndim, i);
    if (shape[d] == 0 || strides[d] < least) return false;
    if (d == 0 && least == strides[1]) return false; /* a single element: its strides say nothing */
    least = shape[d] > 1 ? tl_wrap_mul(strides[d], shape[d]) : strides[d];
  }
  return true;
}
bool tl_suggests_channels_last(const TlTensor *t) {
  return t->ndim > 3 && tl_suggests_last(t->ndim, t->shape, t->strides);
}

/* ---- order of dims ----------------------------------------------------------------------------------------------- */
/* Compares dim a, placed inside, with dim b, placed outside: positive to swap them, negative to keep the order, 0 if no
 * operand decides. */
static inline int compare_dims(int nops, const int64_t (*strides)[TL_MAX_DIMS], const int64_t *shape, int a, int b) {
  for (int k = 0; k < nops; k++) {
    int64_t sa = strides[k][a], sb = strides[k][b];
    if (sa == 0 || sb == 0) continue;
    if (sa != sb) return sa < sb ? -1 : 1;
    if (shape[a] > shape[b]) return 1;
  }
  return 0;
}

void tl_order_dims(int nops, const int64_t (*strides)[TL_MAX_DIMS], int ndim, const int64_t *shape, int *order) {
  for (int i = 0; i < ndim; i++) order[i] = ndim - 1 - i;
  for (int i = 1; i < ndim; i++)
    for (int at = i, j = i - 1; j >= 0; j--) {
      int a = order[j], b = order[at], cmp = compare_dims(nops, strides, shape, a, b);
      if (cmp < 0) break;
      if (cmp == 0) continue;
      order[j] = b;
      order[at] = a;
      at = j;
    }
}

bool tl_result_strides(int nops, const int64_t (*ops)[TL_MAX_DIMS], int ndim, const int64_t *shape, int *order,
                       int64_t *strides) {
  bool natural = true;
  tl_order_dims(nops, ops, ndim, shape, order);
  tl_ordered_strides(ndim, order, shape, 0, strides);
  for (int i = 0; i < ndim; i++) natural = natural && order[i] == ndim - 1 - i;
  return natural;
}

/* ---- shared memory ----------------------------------------------------------------------------------------------- */
int tl_repeats_error(void) {
  PyErr_SetString(PyExc_RuntimeError,
                  "unsupported operation: more than one element of the written-to tensor refers to a single memory "
                  "location. Please clone() the tensor before performing the operation.");
  return -1;
}

int tl_shares_error(void) {
  PyErr_SetString(PyExc_RuntimeError,
                  "unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
                  "single memory location. Please clone() the tensor before performing the operation.");
  return -1;
}

static bool same_strides(const TlTensor *a, const TlTensor *b) {
  bool same = a->ndim == b->ndim;
  for (int d = 0; d < a->ndim && same; d++)
    same = a->shape[d] == b->shape[d] && (a->shape[d] <= 1 || a->strides[d] == b->strides[d]);
  return same;
}

/* the bytes of the storage between its first and its last element */
typedef struct {
  int64_t first, end;
} Extent;
static Extent extent(const TlTensor *t) {
  int64_t n = 1, size = tl_itemsize[t->dtype];
  for (int d = 0; d < t->ndim; d++) n += (t->shape[d] - 1) * t->strides[d];
  return (Extent){t->offset * size, (t->offset + n) * size};
}
static bool apart(Extent a, Extent b) { return a.first >= b.end || b.first >= a.end; }

bool tl_repeats(const TlTensor *t) {
  bool repeats = false;
  for (int d = 0; d < t->ndim && t->numel; d++) repeats = repeats || (t->shape[d] > 1 && t->strides[d] == 0);
  return repeats;
}

int tl_check_written(const TlTensor *out) { return !tl_is_contiguous(out) && tl_repeats(out) ? tl_repeats_error() : 0; }

int tl_check_overlap(const TlTensor *out, const TlTensor *t) {
  if (t->storage != out->storage || t == out || out->numel == 0 || t->numel == 0 || (t->flags | out->flags) & TL_LAZY)
    return 0; /* those are copied */
  Extent a = extent(out), b = extent(t);
  if (apart(a, b) || (a.first == b.first && a.end == b.end && same_strides(out, t))) return 0;
  return tl_is_dense(out) && tl_is_dense(t) ? tl_shares_error() : 1;
}

int tl_check_apart(const TlTensor *out, const TlTensor *t) {
  if (t == out) return tl_shares_error();
  if (t->storage != out->storage || out->numel == 0 || t->numel == 0 || !tl_is_dense(out) || !tl_is_dense(t)) return 0;
  return apart(extent(out), extent(t)) ? 0 : tl_shares_error();
}

/* ---- for Python ------------------------------------------------------------------------------------------------- */
static PyObject *ints_list(int n, const int64_t *sizes, const int *dims) { /* the last first */
  PyObject *r = PyList_New(n);
  for (int i = 0; r && i < n; i++) {
    PyObject *v = PyLong_FromLongLong(sizes ? sizes[n - 1 - i] : dims[n - 1 - i]);
    if (v) PyList_SetItem(r, i, v);
    else Py_CLEAR(r);
  }
  return r;
}

static PyObject *dense_strides(PyObject *m, PyObject *const *a, Py_ssize_t nargs) {
  int64_t shape[TL_MAX_DIMS], dims[TL_MAX_DIMS], strides[TL_MAX_DIMS];
  int order[TL_MAX_DIMS], n, k = -1;
  bool ok = true;
  (void)m;
  if (nargs < 1 || nargs > 2) return PyErr_Format(PyExc_TypeError, "dense_strides(shape, order=None)");
  if (tl_ints(a[0], shape, &n) < 0 || (nargs > 1 && tl_ints(a[1], dims, &k) < 0)) return NULL;
  if (n < 0) return PyErr_Format(PyExc_TypeError, "dense_strides: a shape, not None");
  if (tl_dense_strides(n, shape, strides) < 0) return NULL;
  if (k >= 0) {
    for (int i = 0; i < k && ok; i++) {
      ok = dims[i] >= 0 && dims[i] < n;
      order[k - 1 - i] = (int)dims[i];
    }
    if (!ok || k != n) return PyErr_Format(PyExc_ValueError, "dense_strides: an order of other dims");
    tl_ordered_strides(n, order, shape, 1, strides);
  }
  return tl_ints_tuple(n, strides);
}

static PyObject *channels_last_strides(PyObject *m, PyObject *arg) {
  int64_t shape[TL_MAX_DIMS], strides[TL_MAX_DIMS];
  int n;
  (void)m;
  if (tl_ints(arg, shape, &n) < 0) return NULL;
  if (n != 4 && n != 5) return PyErr_Format(PyExc_ValueError, "channels_last_strides: a shape of 4 or 5 dims");
  tl_channels_last_strides(n, shape, strides);
  return tl_ints_tuple(n, strides);
}

/* operands over a grid, and what coalescing leaves of its dims */
enum { MOST = 32 };
typedef struct {
  int n; /* dims kept */
  int64_t sizes[TL_MAX_DIMS], strides[MOST][TL_MAX_DIMS];
  int keep[TL_MAX_DIMS];
} Grid;
/* first: whether an operand is a tuple that begins with its strides; else it is its strides */
static int parse_grid(Grid *g, PyObject *dims, PyObject *operands, bool first) {
  int64_t shape[TL_MAX_DIMS];
  const int64_t *rows[MOST];
  int ndim, n;
  Py_ssize_t nops = PyList_Size(operands);
  if (tl_ints(dims, shape, &ndim) < 0) return -1;
  bool right = ndim >= 0;
  for (Py_ssize_t i = 0; i < nops && right; i++) {
    PyObject *o = PyList_GetItem(operands, i);
    if (first) o = PyTuple_Check(o) && PyTuple_Size(o) > 1 ? PyTuple_GetItem(o, 0) : Py_None;
    if (tl_ints(o, g->strides[i], &n) < 0) return -1;
    right = n == ndim;
    rows[i] = g->strides[i];
  }
  if (!right) {
    PyErr_SetString(PyExc_ValueError, "coalesce: strides of another number of dims");
    return -1;
  }
  g->n = tl_coalesce(ndim, NULL, shape, (int)nops, rows, NULL, g->sizes, g->keep);
  return 0;
}

static PyObject *coalesce(PyObject *m, PyObject *const *a, Py_ssize_t nargs) {
  Grid g;
  (void)m;
  Py_ssize_t nops = nargs == 2 && PyList_Check(a[1]) ? PyList_Size(a[1]) : -1;
  if (nops < 0 || nops > MOST) return PyErr_Format(PyExc_TypeError, "coalesce(shape, list of at most 32 strides)");
  if (parse_grid(&g, a[0], a[1], false) < 0) return NULL;
  PyObject *s = g.n ? ints_list(g.n, g.sizes, NULL) : ints_list(1, &(int64_t){1}, NULL),
           *k = ints_list(g.n, NULL, g.keep);
  PyObject *r = s && k ? PyTuple_Pack(2, s, k) : NULL;
  Py_XDECREF(s);
  Py_XDECREF(k);
  return r;
}

int tl_append_int(PyObject *list, int64_t v) {
  PyObject *o = PyLong_FromLongLong(v);
  int r = o ? PyList_Append(list, o) : -1;
  Py_XDECREF(o);
  return r;
}
PyObject *tl_grid_words(int n, const int64_t *sizes) {
  int64_t count = 1;
  for (int i = 0; i < n; i++) count = tl_wrap_mul(count, sizes[i]);
  PyObject *list = PyList_New(0);
  int r = list ? tl_append_int(list, count) : -1;
  if (r == 0 && n == 0) r = tl_append_int(list, 1);
  while (r == 0 && n-- > 0) r = tl_append_int(list, sizes[n]);
  if (r < 0) Py_CLEAR(list);
  return list;
}
int tl_append_kept(PyObject *list, int n, const int *keep, const int64_t *strides) {
  int r = n ? 0 : tl_append_int(list, 0);
  while (r == 0 && n-- > 0) r = tl_append_int(list, strides[keep[n]]);
  return r;
}

static PyObject *grid_words(PyObject *m, PyObject *const *a, Py_ssize_t nargs) {
  Grid g;
  (void)m;
  Py_ssize_t nops = nargs == 2 && PyList_Check(a[1]) ? PyList_Size(a[1]) : -1;
  if (nops < 0 || nops > MOST)
    return PyErr_Format(PyExc_TypeError, "grid_words(shape, list of at most 32 (strides, offset, ...))");
  if (parse_grid(&g, a[0], a[1], true) < 0) return NULL;
  PyObject *words = tl_grid_words(g.n, g.sizes), *keep = ints_list(g.n, NULL, g.keep);
  bool ok = words && keep;
  for (Py_ssize_t k = 0; ok && k < nops; k++) {
    PyObject *operand = PyList_GetItem(a[1], k);
    ok =
      PyList_Append(words, PyTuple_GetItem(operand, 1)) == 0 && tl_append_kept(words, g.n, g.keep, g.strides[k]) == 0;
    for (Py_ssize_t i = 2; ok && i < PyTuple_Size(operand); i++)
      ok = PyList_Append(words, PyTuple_GetItem(operand, i)) == 0;
  }
  PyObject *r = ok ? PyTuple_Pack(2, words, keep) : NULL;
  Py_XDECREF(words);
  Py_XDECREF(keep);
  return r;
}

static PyObject *py_check_overlap(PyObject *m, PyObject *const *a, Py_ssize_t n) {
  (void)m;
  if (n < 1 || !TL_CHECK(a[0])) return PyErr_Format(PyExc_TypeError, "check_overlap(written tensor, *arguments)");
  if (tl_check_written((const TlTensor *)a[0]) < 0) return NULL;
  for (Py_ssize_t i = 1; i < n; i++)
    if (TL_CHECK(a[i]) && tl_check_overlap((const TlTensor *)a[0], (const TlTensor *)a[i]) < 0) return NULL;
  Py_RETURN_NONE;
}

static PyObject *is_dense(PyObject *m, PyObject *t) {
  (void)m;
  if (!TL_CHECK(t)) return PyErr_Format(PyExc_TypeError, "expected a tensor");
  return PyBool_FromLong(tl_is_dense((TlTensor *)t));
}

/* Tensors are found in nested tuples and lists too. */
static bool all_natural(PyObject *o) {
  if (TL_CHECK(o)) return tl_strides_natural((const TlTensor *)o);
  bool tuple = PyTuple_CheckExact(o), natural = true;
  if (!tuple && !PyList_CheckExact(o)) return true;
  for (Py_ssize_t i = 0; natural && i < PySequence_Size(o); i++)
    natural = all_natural(tuple ? PyTuple_GetItem(o, i) : PyList_GetItem(o, i));
  return natural;
}
static PyObject *natural(PyObject *m, PyObject *args) {
  (void)m;
  return PyBool_FromLong(all_natural(args));
}

static PyObject *suggests_channels_last(PyObject *m, PyObject *o) {
  int64_t shape[TL_MAX_DIMS], strides[TL_MAX_DIMS];
  int n, ns;
  (void)m;
  if (TL_CHECK(o)) return PyBool_FromLong(tl_suggests_channels_last((TlTensor *)o));
  if (!PyTuple_Check(o) || PyTuple_Size(o) < 2)
    return PyErr_Format(PyExc_TypeError, "expected a tensor, or its shape and strides");
  if (tl_ints(PyTuple_GetItem(o, 0), shape, &n) < 0 || tl_ints(PyTuple_GetItem(o, 1), strides, &ns) < 0) return NULL;
  return PyBool_FromLong(n == ns && n > 0 && tl_suggests_last(n, shape, strides));
}

static PyMethodDef functions[] = {
  {"dense_strides", (PyCFunction)(void *)dense_strides, METH_FASTCALL,
   "dense_strides(shape, order=None): strides without gaps; order: the dims from the outermost in memory on"},
  {"channels_last_strides", channels_last_strides, METH_O, "channels_last_strides(shape), of 4 or 5 dims"},
  {"coalesce", (PyCFunction)(void *)coalesce, METH_FASTCALL,
   "coalesce(shape, [strides, ...]): (sizes, dims kept) after neighbouring dims that all operands run through as one "
   "are joined and dims of size 1 are dropped; a joined dim's strides are those of the dim kept. sizes is never empty"},
  {"grid_words", (PyCFunction)(void *)grid_words, METH_FASTCALL,
   "grid_words(shape, [(strides, offset, ...), ...]): (words, dims kept) of a kernel over a grid, coalesced as by "
   "coalesce(): how many elements, the sizes, and of each operand offset, strides and what else it has"},
  {"check_overlap", (PyCFunction)(void *)py_check_overlap, METH_FASTCALL,
   "check_overlap(written tensor, *arguments): PyTorch's errors where elements, or the tensors, share memory"},
  {"is_dense", is_dense, METH_O,
   "is_dense(tensor): whether its elements lie without gaps, in any order of dims, and share no memory"},
  {"natural", natural, METH_O,
   "natural(arguments): whether all tensors among them have the strides of a new contiguous tensor, also along dims of "
   "one element"},
  {"suggests_channels_last", suggests_channels_last, METH_O,
   "suggests_channels_last(tensor or (shape, strides, ...)): whether results of it shall be channels last; of 3 dims "
   "as of an image of height 1"},
  {0}};
int tl_geometry_init(PyObject *mod) { return PyModule_AddFunctions(mod, functions); }
