/* shape.c: joining, copying rearrangements and sequences; the table of the family. */
#include "core/rows.h"
#include "index/index.h"
#include "core/errors.h"
#include "shape/create.h"
#include "core/core.h"
#include "core/geometry.h"
#include "nn/image.h"

/* t narrowed along dim */
static TlTensor *narrow(TlTensor *t, int dim, int64_t start, int64_t length) {
  int64_t shape[TL_MAX_DIMS];
  memcpy(shape, t->shape, (size_t)t->ndim * sizeof *shape);
  shape[dim] = length;
  return tl_view(t, t->ndim, shape, t->strides, t->offset + start * t->strides[dim]);
}

static int copy_slice(TlTensor *dst, int dim, int64_t start, TlTensor *src, int64_t from, int64_t length) {
  TlTensor *d = narrow(dst, dim, start, length), *s = narrow(src, dim, from, length);
  int rc = d && s ? tl_copy(d, s) : -1;
  TL_DEC(d);
  TL_DEC(s);
  return rc;
}

/* ---- cat, stack ------------------------------------------------------------------------------------------------- */
/* cat skips these, whatever the rank of the others */
static bool legacy_empty(const TlTensor *t) { return t->ndim == 1 && t->shape[0] == 0; }

/* A call of cat or stack. stack is a cat along that dim, which is then split in two, or one along a new last dim. */
enum { CAT, STACK };
enum { FEW = 8 }; /* tensors that are looked up once: a call of Python's for each look costs more than small copies */
typedef struct {
  PyObject *list;
  TlTensor *few[FEW];
  Py_ssize_t count;
  bool stack, unsqueezed; /* unsqueezed: a stack along a new last dim */
  tl_dtype dtype;
  TlTensor *first; /* the first that is not skipped */
  int dim, ndim;   /* of the cat, before a stack splits it */
  int64_t shape[TL_MAX_DIMS], strides[TL_MAX_DIMS];
} Cat;

static TlTensor *item(const Cat *c, Py_ssize_t i) {
  return i < FEW ? c->few[i] : (TlTensor *)PyTuple_GetItem(c->list, i);
}
static bool skipped(const Cat *c, const TlTensor *t) { return !c->stack && legacy_empty(t); }

/* Whether the result of cat is channels last: if all tensors suggest it, each with a dim of size 1 appended where
 * unsqueezed. -1: an exception. */
static int all_channels_last(const Cat *c) {
  int last = 1;
  for (Py_ssize_t i = 0; i < c->count && last == 1; i++) {
    TlTensor *t = item(c, i), *v = t;
    int64_t shape[TL_MAX_DIMS], strides[TL_MAX_DIMS];
    if (c->unsqueezed) {
      memcpy(shape, t->shape, (size_t)t->ndim * sizeof *shape);
      memcpy(strides, t->strides, (size_t)t->ndim * sizeof *shape);
      shape[t->ndim] = strides[t->ndim] = 1;
      if (!(v = tl_view(t, t->ndim + 1, shape, strides, t->offset))) return -1;
    }
    last = tl_suggests_channels_last(v);
    if (c->unsqueezed) TL_DEC(v);
  }
  return last;
}

static int cat_items(Cat *c) {
  for (Py_ssize_t i = 0; i < c->count; i++) {
    TlTensor *t = (TlTensor *)PyTuple_GetItem(c->list, i);
    if (i < FEW) c->few[i] = t;
    if (!TL_CHECK(t)) {
      PyErr_Format(PyExc_TypeError, "expected Tensor as element %zd in argument 0", i);
      return -1;
    }
    if (!c->stack && !t->ndim) {
      PyErr_Format(PyExc_RuntimeError, "zero-dimensional tensor (at position %zd) cannot be concatenated", i);
      return -1;
    }
    c->dtype = i ? tl_promote(c->dtype, (tl_dtype)t->dtype) : (tl_dtype)t->dtype;
    if (c->dtype == TL_NUM_DTYPES) return -1;
    if (!c->first && !skipped(c, t)) c->first = t;
  }
  if (!c->first) c->first = item(c, 0);
  return 0;
}

/* Finds the dims and the shape of the result. cat_sizes() adds up the sizes along the dim of a cat. */
static int cat_dims(Cat *c, int64_t dim) {
  const TlTensor *first = c->first;
  const int nd = first->ndim + c->stack;
  if (nd > TL_MAX_DIMS) {
    PyErr_Format(PyExc_RuntimeError, "too many dimensions: %d", nd);
    return -1;
  }
  if (skipped(c, first)) dim = 0; /* all are skipped: as in PyTorch, any dim will do */
  if (tl_wrap_dim(dim, nd, &c->dim) < 0) return -1;
  c->unsqueezed = c->stack && c->dim == first->ndim;
  c->ndim = first->ndim + c->unsqueezed;
  memcpy(c->shape, first->shape, (size_t)first->ndim * sizeof *c->shape);
  if (!c->stack) c->shape[c->dim] = 0;
  else if (c->unsqueezed) c->shape[c->dim] = c->count;
  else if (__builtin_mul_overflow(c->count, c->shape[c->dim], &c->shape[c->dim])) return tl_sizes_overflow();
  return 0;
}

/* Checks that tensor number i fits to the others. */
static int cat_sizes(Cat *c, const TlTensor *t, Py_ssize_t i) {
  const TlTensor *first = c->first;
  if (c->stack) {
    if (t->ndim == first->ndim && !memcmp(t->shape, first->shape, (size_t)t->ndim * sizeof *t->shape)) return 0;
    PyErr_Format(PyExc_RuntimeError,
                 "stack expects each tensor to be equal size, but got %s at entry 0 and %s at entry %zd",
                 tl_fmt_shape(first->ndim, first->shape), tl_fmt_shape(t->ndim, t->shape), i);
    return -1;
  }
  if (t->ndim != c->ndim) {
    PyErr_Format(PyExc_RuntimeError, "Tensors must have same number of dimensions: got %d and %d", c->ndim, t->ndim);
    return -1;
  }
  for (int d = 0; d < c->ndim; d++) {
    if (d == c->dim || t->shape[d] == c->shape[d]) continue;
    PyErr_Format(PyExc_RuntimeError,
                 "Sizes of tensors must match except in dimension %d. Expected size %lld but got size %lld for "
                 "tensor number %zd in the list.",
                 c->dim, (long long)c->shape[d], (long long)t->shape[d], i);
    return -1;
  }
  return __builtin_add_overflow(c->shape[c->dim], t->shape[c->dim], &c->shape[c->dim]) ? tl_sizes_overflow() : 0;
}

/* whether the tensors' bytes follow one another in the result, plane by plane */
static bool cat_dense(const Cat *c, bool last) {
  bool dense = !(last && c->unsqueezed);
  for (Py_ssize_t i = 0; i < c->count && dense; i++) {
    const TlTensor *t = item(c, i);
    if (!skipped(c, t)) dense = t->dtype == c->dtype && (last ? tl_is_channels_last(t) : tl_is_contiguous(t));
  }
  return dense;
}

static TlTensor *cat_result(const Cat *c, bool last) {
  TlTensor *r =
    last ? tl_empty_strided(c->dtype, c->ndim, c->shape, c->strides) : tl_empty(c->dtype, c->ndim, c->shape);
  if (r && c->stack && !c->unsqueezed) { /* split into count and the size it had */
    int64_t shape[TL_MAX_DIMS], strides[TL_MAX_DIMS];
    for (int d = 0; d <= c->ndim; d++) shape[d] = c->shape[d <= c->dim ? d : d - 1];
    shape[c->dim] = c->count;
    shape[c->dim + 1] = c->first->shape[c->dim];
    tl_view_strides(r, c->ndim + 1, shape, strides);
    if (tl_restride(r, c->ndim + 1, shape, strides) < 0) TL_CLEAR(r);
  }
  return r;
}

static void join_bytes(const Cat *c, TlTensor *r) {
  const int64_t inner = c->strides[c->dim] * tl_itemsize[c->dtype], row = inner * c->shape[c->dim],
                outer = r->numel * tl_itemsize[c->dtype] / row;
  char *at = tl_data(r);
  int64_t work = 0;
  for (Py_ssize_t i = 0; i < c->count; i++) {
    TlTensor *t = item(c, i);
    if (skipped(c, t)) continue;
    const int64_t bytes = c->unsqueezed ? inner : inner * t->shape[c->dim];
    const char *s = tl_data(t);
    char *d = at;
    if (bytes == 4)
      TL_LOOP(o, outer) memcpy(d + o * row, s + o * 4, 4);
    else
      for (int64_t o = 0; o < outer; o++, d += row, s += bytes) {
        if (bytes <= TL_PIECE) tl_copy_row(d, s, (size_t)bytes);
        else tl_copy_long(d, s, bytes);
        if (TL_TICK(work, bytes / 4)) return;
      }
    at += bytes;
  }
}

static int join_copies(const Cat *c, TlTensor *r) {
  int64_t at = 0, shape[TL_MAX_DIMS];
  memcpy(shape, c->shape, (size_t)c->ndim * sizeof *shape);
  for (Py_ssize_t i = 0; i < c->count; i++) {
    TlTensor *t = item(c, i);
    if (skipped(c, t)) continue;
    const int64_t length = c->unsqueezed ? 1 : t->shape[c->dim];
    if (!length) continue;
    shape[c->dim] = length;
    TlTensor *d = tl_view(r, c->ndim - c->unsqueezed, shape, c->strides, r->offset + at * c->strides[c->dim]);
    const int rc = d ? tl_copy(d, t) : -1;
    TL_DEC(d);
    if (rc < 0) return -1;
    at += length;
  }
  return 0;
}

/* cat(tensors, dim), stack(tensors, dim) */
static PyObject *k_cat(const TlKernel *k, PyObject *const *a, Py_ssize_t n_, TlTensor *out) {
  TlTensor *r = NULL;
  Cat c; /* its arrays are a kilobyte, which would be zeroed */
  c.stack = k->id == STACK;
  c.first = NULL;
  int64_t dim;
  (void)n_;
  (void)out;
  if (tl_int(a[1], &dim) < 0) return NULL;
  if (!(c.list = PyTuple_Check(a[0]) ? Py_NewRef(a[0]) : PySequence_Tuple(a[0]))) return NULL;
  if (!(c.count = PyTuple_Size(c.list))) {
    Py_DECREF(c.list);
    if (c.stack) PyErr_SetString(PyExc_RuntimeError, "stack expects a non-empty TensorList");
    else PyErr_SetString(PyExc_ValueError, "torch.cat(): expected a non-empty list of Tensors");
    return NULL;
  }
  bool fits = cat_items(&c) == 0 && cat_dims(&c, dim) == 0;
  for (Py_ssize_t i = 0; i < c.count && fits; i++)
    fits = skipped(&c, item(&c, i)) || cat_sizes(&c, item(&c, i), i) == 0;
  const int last = fits ? all_channels_last(&c) : -1;
  if (last >= 0) {
    if (last) tl_channels_last_strides(c.ndim, c.shape, c.strides);
    else tl_natural_layout(c.ndim, c.shape, c.shape, c.strides);
    r = cat_result(&c, last);
  }
  if (r && r->numel && !tl_meta) {
    if (cat_dense(&c, last)) join_bytes(&c, r);
    else if (join_copies(&c, r) < 0) TL_CLEAR(r);
  }
  Py_DECREF(c.list);
  return (PyObject *)r;
}

/* ---- flip, roll, repeat ----------------------------------------------------------------------------------------- */
static PyObject *k_flip(const TlKernel *k, PyObject *const *a, Py_ssize_t n_, TlTensor *out) {
  TlTensor *self = (TlTensor *)a[0], *r;
  int64_t dims[TL_MAX_DIMS], strides[TL_MAX_DIMS], offset = self->offset;
  uint8_t seen[TL_MAX_DIMS] = {0};
  int n;
  (void)k;
  (void)n_;
  (void)out;
  if (tl_ints(a[1], dims, &n) < 0) return NULL;
  for (int i = 0; i < n; i++) {
    int d;
    if (tl_wrap_dim(dims[i], self->ndim, &d) < 0) return NULL;
    if (seen[d]) return tl_repeated_dim_error(d), NULL;
    seen[d] = 1;
  }
  if (!(r = tl_empty_preserved(TL_CPU, self, self->dtype)) || !r->numel) return (PyObject *)r;
  for (int d = 0; d < self->ndim; d++) {
    strides[d] = seen[d] ? -self->strides[d] : self->strides[d];
    if (seen[d]) offset += self->strides[d] * (self->shape[d] - 1);
  }
  TlTensor *turned = tl_alias(self, self->ndim, self->shape, strides, offset, false);
  if (!turned || tl_copy(r, turned) < 0) TL_CLEAR(r);
  Py_XDECREF(turned);
  return (PyObject *)r;
}

/* cur rolled along one dim. As in PyTorch it is a cat of two parts, and these decide on the memory format. */
static TlTensor *roll_dim(TlTensor *cur, int d, int64_t shift) {
  int64_t size = cur->shape[d], s = size ? ((shift % size) + size) % size : 0;
  TlTensor *r, *head = NULL, *tail = NULL;
  if (!cur->numel) {
    r = tl_empty_preserved(TL_CPU, cur, (tl_dtype)cur->dtype);
  } else if (!s || !(head = narrow(cur, d, 0, size - s)) || !(tail = narrow(cur, d, size - s, s))) {
    r = s ? NULL : tl_empty((tl_dtype)cur->dtype, cur->ndim, cur->shape);
  } else {
    r = tl_empty_format((tl_dtype)cur->dtype, cur->ndim, cur->shape,
                        tl_suggests_channels_last(head) && tl_suggests_channels_last(tail));
  }
  if (r && r->numel && ((s && copy_slice(r, d, 0, cur, size - s, s) < 0) || copy_slice(r, d, s, cur, 0, size - s) < 0))
    TL_CLEAR(r);
  TL_DEC(head);
  TL_DEC(tail);
  return r;
}

/* roll(self, shifts, dims=()) */
static PyObject *k_roll(const TlKernel *k, PyObject *const *a, Py_ssize_t n_, TlTensor *out) {
  TlTensor *self = (TlTensor *)a[0], *cur, *next;
  int64_t shifts[TL_MAX_DIMS], dims[TL_MAX_DIMS], one = 1;
  int ns, nd;
  (void)k;
  (void)n_;
  (void)out;
  if (tl_ints(a[1], shifts, &ns) < 0 || tl_ints(a[2], dims, &nd) < 0) return NULL;
  if (nd < 0) nd = 0;
  if (ns <= 0) {
    PyErr_SetString(PyExc_RuntimeError, "`shifts` required");
    return NULL;
  }
  if (nd == 0 && ns == 1) { /* rolls the flattened tensor */
    TlTensor *c = tl_contiguous(self), *v, *r;
    if (!c) return NULL;
    v = tl_view(c, 1, &c->numel, &one, c->offset);
    TL_DEC(c);
    cur = v ? roll_dim(v, 0, shifts[0]) : NULL;
    TL_DEC(v);
    if (!cur) return NULL;
    r = tl_empty(self->dtype, self->ndim, self->shape);
    if (r && r->numel) tl_copy_long(tl_data(r), tl_data(cur), cur->numel * tl_itemsize[self->dtype]);
    TL_DEC(cur);
    return (PyObject *)r;
  }
  if (ns != nd) {
    PyErr_Format(PyExc_RuntimeError, "shifts and dimensions must align. shifts: %d, dims:%d", ns, nd);
    return NULL;
  }
  if (!self->ndim) return tl_no_dims_error(dims[0]), NULL;
  cur = TL_INC(self);
  for (int i = 0; i < nd && cur; i++) {
    int d;
    next = tl_wrap_dim(dims[i], self->ndim, &d) < 0 ? NULL : roll_dim(cur, d, shifts[i]);
    TL_DEC(cur);
    cur = next;
  }
  return (PyObject *)cur;
}

static PyObject *k_repeat(const TlKernel *k, PyObject *const *a, Py_ssize_t n_, TlTensor *out) {
  TlTensor *self = (TlTensor *)a[0], *r, *dv = NULL, *sv = NULL;
  int64_t rep[TL_MAX_DIMS], shape[TL_MAX_DIMS], ds[TL_MAX_DIMS], dt[TL_MAX_DIMS], ss[TL_MAX_DIMS], st[TL_MAX_DIMS];
  int n, m = 0, rc = 0;
  (void)k;
  (void)n_;
  (void)out;
  if (tl_ints(a[1], rep, &n) < 0) return NULL;
  if (n < self->ndim) {
    PyErr_SetString(PyExc_RuntimeError,
                    "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor");
    return NULL;
  }
  for (int i = 0; i < n; i++) {
    int d = i - (n - self->ndim);
    if (__builtin_mul_overflow(rep[i], d >= 0 ? self->shape[d] : 1, &shape[i])) {
      tl_sizes_overflow();
      return NULL;
    }
  }
  for (int i = 0; i < n; i++) {
    if (shape[i] >= 0 && rep[i] >= 0) continue;
    tl_negative_size_error(shape[i], n, shape);
    return NULL;
  }
  if (!(r = tl_empty(self->dtype, n, shape)) || !r->numel) return (PyObject *)r;
  /* the result as pairs of dims (repeat, size), without those of size 1; the source has stride 0 along the repeats */
  for (int i = 0; i < n; i++) {
    int d = i - (n - self->ndim);
    int64_t size = d >= 0 ? self->shape[d] : 1;
    if (m + 2 > TL_MAX_DIMS) {
      PyErr_SetString(PyExc_RuntimeError, "repeat: too many dimensions");
      TL_DEC(r);
      return NULL;
    }
    if (rep[i] != 1) {
      ds[m] = rep[i];
      dt[m] = r->strides[i] * size;
      ss[m] = rep[i];
      st[m++] = 0;
    }
    if (size != 1) {
      ds[m] = size;
      dt[m] = r->strides[i];
      ss[m] = size;
      st[m++] = self->strides[d];
    }
  }
  dv = tl_view(r, m, ds, dt, r->offset);
  sv = tl_view(self, m, ss, st, self->offset);
  rc = dv && sv ? tl_copy(dv, sv) : -1;
  TL_DEC(dv);
  TL_DEC(sv);
  if (rc < 0) TL_CLEAR(r);
  return (PyObject *)r;
}

/* repeat_interleave(repeats, output_size=None): the index that repeats entry i repeats[i] times */
static PyObject *k_repeat_interleave(const TlKernel *k, PyObject *const *a, Py_ssize_t n_, TlTensor *out) {
  TlTensor *rep = (TlTensor *)a[0], *c, *r = NULL;
  int64_t total = 0, want, *o;
  const int64_t *v;
  (void)k;
  (void)out;
  if (rep->ndim != 1) {
    PyErr_SetString(PyExc_RuntimeError, "repeat_interleave only accept 1D vector as repeat");
    return NULL;
  }
  if (rep->dtype != TL_I64 && rep->dtype != TL_I32) return tl_not_implemented("repeat_interleave_cpu", rep->dtype);
  if (!(c = tl_contiguous_as(rep, TL_I64))) return NULL;
  v = (const int64_t *)tl_data(c);
  TL_LOOP(i, c->numel) {
    if (v[i] < 0) {
      PyErr_SetString(PyExc_RuntimeError, "repeats can not be negative");
      goto end;
    }
    if (__builtin_add_overflow(total, v[i], &total)) {
      tl_sizes_overflow();
      goto end;
    }
  }
  if (n_ > 1 && a[1] != Py_None) {
    if (tl_int(a[1], &want) < 0) goto end;
    if (want != total) {
      PyErr_SetString(PyExc_RuntimeError, "allocated size does not match required size");
      goto end;
    }
  }
  if (tl_work(0) == 0 && (r = tl_empty(TL_I64, 1, &total))) {
    int64_t work = 0;
    o = (int64_t *)tl_data(r);
    for (int64_t i = 0; i < c->numel && !TL_TICK(work, v[i] + 1); i++)
      TL_LOOP(j, v[i]) *o++ = i;
  }
end:
  TL_DEC(c);
  if (r && rep->dtype != TL_I64) {
    TlTensor *x = tl_cast(r, (tl_dtype)rep->dtype);
    TL_DEC(r);
    r = x;
  }
  return (PyObject *)r;
}

/* ---- triangles, diagonals --------------------------------------------------------------------------------------- */
/* tril(self, diagonal), triu */
enum { TRIL, TRIU };
static PyObject *k_tri(const TlKernel *k, PyObject *const *a, Py_ssize_t n_, TlTensor *out) {
  TlTensor *self = (TlTensor *)a[0], *r;
  int64_t diag, rows, cols, isz = tl_itemsize[self->dtype];
  const bool upper = k->id == TRIU;
  char *p;
  (void)n_;
  if (tl_int(a[1], &diag) < 0) return NULL;
  if (self->ndim < 2) {
    PyErr_Format(PyExc_RuntimeError, "%s: input tensor must have at least 2 dimensions", upper ? "triu" : "tril");
    return NULL;
  }
  if (!(r = tl_empty(self->dtype, self->ndim, self->shape)) || (r->numel && tl_copy(r, self) < 0)) {
    TL_DEC(r);
    return NULL;
  }
  rows = self->shape[self->ndim - 2];
  cols = self->shape[self->ndim - 1];
  diag = tl_clamp(diag, -rows, cols);
  p = tl_data(r);
  if (r->numel)
    for (int64_t m = r->numel / cols, i = 0, work = 0; m > 0 && !TL_TICK(work, cols); m--, p += cols * isz) {
      /* the first column that is kept, or the first past those */
      int64_t edge = tl_clamp(i + diag + !upper, 0, cols);
      if (upper) memset(p, 0, (size_t)(edge * isz));
      else memset(p + edge * isz, 0, (size_t)((cols - edge) * isz));
      if (++i == rows) i = 0;
    }
  return tl_index_end(r, out);
}

/* tril_indices(row, col, offset), triu_indices: (2, n) int64 */
static PyObject *k_tri_indices(const TlKernel *k, PyObject *const *a, Py_ssize_t n_, TlTensor *out) {
  int64_t rows, cols, off, count = 0, shape[2], *p, at = 0, work = 0;
  TlTensor *r;
  (void)n_;
  (void)out;
  if (tl_int(a[0], &rows) < 0 || tl_int(a[1], &cols) < 0 || tl_int(a[2], &off) < 0) return NULL;
  if (rows < 0 || cols < 0) {
    PyErr_Format(PyExc_RuntimeError, "%s must be non-negative, got%lld", rows < 0 ? "row" : "col",
                 (long long)(rows < 0 ? rows : cols));
    return NULL;
  }
  if (rows > INT64_MAX / 32 || cols > INT64_MAX / 32) {
    tl_sizes_overflow();
    return NULL;
  }
  const bool upper = k->id == TRIU;
  off = tl_clamp(off, -rows, cols);
#define EDGE(i) tl_clamp((i) + off + !upper, 0, cols)
  /* edges are 0 up to row lo, then grow by one a row up to hi, then stay at cols */
  int64_t lo = tl_clamp(-off - !upper, 0, rows), hi = tl_clamp(cols - off - !upper, lo, rows);
  double about = (double)(hi - lo) * ((double)EDGE(lo) + (double)EDGE(hi)) / 2 + (double)(rows - hi) * (double)cols;
  if (upper) about = (double)rows * (double)cols - about;
  if (about > 1e16) count = INT64_MAX / 32; /* no memory has that size */
  else {
    for (int64_t i = lo; i < hi; i++) count += upper ? cols - EDGE(i) : EDGE(i);
    count += upper ? lo * cols : (rows - hi) * cols;
  }
  shape[0] = 2;
  shape[1] = count;
  if (!(r = tl_empty(TL_I64, 2, shape))) return NULL;
  p = (int64_t *)tl_data(r);
  for (int64_t i = 0; i < rows && count; i++) {
    int64_t e = EDGE(i);
    if (upper ? i >= hi : i < lo) {
      i = upper ? rows : lo - 1;
      continue;
    } /* rows without entries */
    if (TL_TICK(work, cols)) break;
    const int64_t first = upper ? e : 0;
    TL_LOOP(j, (upper ? cols : e) - first) {
      p[at] = i;
      p[count + at++] = first + j;
    }
  }
  return (PyObject *)r;
}

/* diag_embed(self, offset=0, dim1=-2, dim2=-1) */
static PyObject *k_diag_embed(const TlKernel *k, PyObject *const *a, Py_ssize_t n_, TlTensor *out) {
  TlTensor *self = (TlTensor *)a[0], *r, *v;
  int64_t off, x, y, size, shape[TL_MAX_DIMS], vs[TL_MAX_DIMS], vt[TL_MAX_DIMS];
  int d1, d2, nd = self->ndim + 1, m = 0, rc;
  (void)k;
  (void)n_;
  (void)out;
  if (tl_int(a[1], &off) < 0 || tl_int(a[2], &x) < 0 || tl_int(a[3], &y) < 0) return NULL;
  if (tl_wrap_dim(x, nd, &d1) < 0 || tl_wrap_dim(y, nd, &d2) < 0) return NULL;
  if (d1 == d2) {
    PyErr_Format(PyExc_RuntimeError, "diagonal dimensions cannot be identical %lld, %lld", (long long)x, (long long)y);
    return NULL;
  }
  if (!self->ndim) return tl_no_dims_error(-1), NULL;
  if (off == INT64_MIN || __builtin_add_overflow(self->shape[self->ndim - 1], off < 0 ? -off : off, &size)) {
    tl_sizes_overflow();
    return NULL;
  }
  for (int d = 0; d < nd; d++) shape[d] = d == d1 || d == d2 ? size : self->shape[m++];
  if (!(r = tl_zeros(self->dtype, nd, shape))) return NULL;
  m = 0;
  for (int d = 0; d < nd; d++)
    if (d != d1 && d != d2) {
      vs[m] = shape[d];
      vt[m++] = r->strides[d];
    }
  vs[m] = self->shape[self->ndim - 1];
  vt[m++] = tl_wrap_add(r->strides[d1], r->strides[d2]);
  if (!r->numel) return (PyObject *)r;
  v = tl_view(r, m, vs, vt, r->offset + (off >= 0 ? off * r->strides[d2] : -off * r->strides[d1]));
  rc = v ? tl_copy(v, self) : -1;
  TL_DEC(v);
  if (rc < 0) TL_CLEAR(r);
  return (PyObject *)r;
}

/* fill_diagonal_(self, fill_value, wrap): in place. In a tall matrix with wrap another diagonal starts below each that
 * ends. */
static PyObject *k_fill_diagonal(const TlKernel *k, PyObject *const *a, Py_ssize_t n_, TlTensor *out) {
  TlTensor *self = (TlTensor *)a[0];
  int64_t n, step = 0, width;
  (void)k;
  (void)n_;
  if (!out) return TL_FALLBACK();
  if (self->ndim < 2) {
    PyErr_SetString(PyExc_RuntimeError, "dimensions must larger than 1");
    return NULL;
  }
  n = self->shape[0];
  for (int i = 0; i < self->ndim; i++) {
    if (self->ndim > 2 && self->shape[i] != self->shape[0]) {
      PyErr_SetString(PyExc_RuntimeError, "all dimensions of input must be of equal length");
      return NULL;
    }
    if (self->shape[i] < n) n = self->shape[i];
    step = tl_wrap_add(step, self->strides[i]);
  }
  width = self->ndim == 2 && a[2] == Py_True ? self->shape[1] : self->shape[0];
  for (int64_t row = 0; n && row < self->shape[0]; row += width + 1) {
    int64_t left = self->shape[0] - row, size = left < n ? left : n;
    TlTensor *d = tl_view(self, 1, &size, &step, self->offset + row * self->strides[0]);
    int rc = d ? tl_fill(d, a[1]) : -1;
    TL_DEC(d);
    if (rc < 0) return NULL;
  }
  if (width < self->shape[0] - 1) tl_bump(self); /* PyTorch fills the wrapped diagonals in a second write */
  return Py_NewRef(out);
}

const TlKernel tl_kernels_shape[] = {{"cat", k_cat, CAT, TL_K_META, NULL},
                                     {"stack", k_cat, STACK, TL_K_META, NULL},
                                     {"flip", k_flip, 0, 0, NULL},
                                     {"roll", k_roll, 0, 0, NULL},
                                     {"repeat", k_repeat, 0, 0, NULL},
                                     {"repeat_interleave", k_repeat_interleave, 0, 0, NULL},
                                     {"tril", k_tri, TRIL, TL_K_OUT, NULL},
                                     {"triu", k_tri, TRIU, TL_K_OUT, NULL},
                                     {"tril_indices", k_tri_indices, TRIL, 0, NULL},
                                     {"triu_indices", k_tri_indices, TRIU, 0, NULL},
                                     {"diag_embed", k_diag_embed, 0, 0, NULL},
                                     {"fill_diagonal_", k_fill_diagonal, 0, TL_K_OUT | TL_K_GEOMETRY, NULL},
                                     {"eye", tl_k_eye, TL_EYE, TL_K_META, NULL},
                                     {"eye_m", tl_k_eye, TL_EYE_M, TL_K_META, NULL},
                                     {"arange", tl_k_arange, TL_ARANGE, TL_K_META, NULL},
                                     {"arange_start", tl_k_arange, TL_ARANGE_START, TL_K_META, NULL},
                                     {"arange_step", tl_k_arange, TL_ARANGE_STEP, TL_K_META, NULL},
                                     {"linspace", tl_k_linspace, TL_LINSPACE, TL_K_META, NULL},
                                     {"logspace", tl_k_linspace, TL_LOGSPACE, TL_K_META, NULL},
                                     {"empty", tl_k_new, TL_EMPTY, TL_K_META, NULL},
                                     {"zeros", tl_k_new, TL_ZEROS, TL_K_META, NULL},
                                     {"ones", tl_k_new, TL_ONES, TL_K_META, NULL},
                                     {"full", tl_k_full, 0, TL_K_META, NULL},
                                     {"empty_like", tl_k_like, TL_EMPTY, TL_K_META, NULL},
                                     {"zeros_like", tl_k_like, TL_ZEROS, TL_K_META, NULL},
                                     {"ones_like", tl_k_like, TL_ONES, TL_K_META, NULL},
                                     {"full_like", tl_k_like, TL_FULL, TL_K_META, NULL},
                                     {"new_empty", tl_k_new_like, TL_EMPTY, TL_K_META, NULL},
                                     {"new_zeros", tl_k_new_like, TL_ZEROS, TL_K_META, NULL},
                                     {"new_ones", tl_k_new_like, TL_ONES, TL_K_META, NULL},
                                     {"new_full", tl_k_new_like, TL_FULL, TL_K_META, NULL},
                                     {"constant_pad_nd", tl_k_constant_pad, 0, TL_K_META, NULL},
                                     {"pad_reflect", tl_k_pad, TL_PAD_REFLECT, 0, NULL},
                                     {"pad_replicate", tl_k_pad, TL_PAD_REPLICATE, 0, NULL},
                                     {"pad_circular", tl_k_pad, TL_PAD_CIRCULAR, 0, NULL},
                                     {"pad_reflect_backward", tl_k_pad_backward, TL_PAD_REFLECT, 0, NULL},
                                     {"pad_replicate_backward", tl_k_pad_backward, TL_PAD_REPLICATE, 0, NULL},
                                     {"pad_circular_backward", tl_k_pad_backward, TL_PAD_CIRCULAR, 0, NULL},
                                     {0}};
