/* scatter.c: gather, scatter and the index_* family along one dim; embedding. */
#include "core/geometry.h"
#include "core/errors.h"
#include "core/check.h"
#include "index/index.h"
#include "reduce/reduce.h"

static int is_str(PyObject *o, const char *s) { return PyUnicode_Check(o) && !PyUnicode_CompareWithASCIIString(o, s); }

/* ---- gather, scatter -------------------------------------------------------------------------------------------- */
typedef struct {
  int nd, dim;
  int64_t shape[TL_MAX_DIMS], sa[TL_MAX_DIMS], sb[TL_MAX_DIMS]; /* index shape; strides of self and of src/out */
} sweep;

static void sweep_init(sweep *w, const TlTensor *self, int dim, const TlTensor *index, const TlTensor *other) {
  w->nd = index->ndim ? index->ndim : 1;
  w->dim = dim;
  for (int d = 0; d < w->nd; d++) {
    w->shape[d] = index->ndim ? index->shape[d] : 1;
    w->sa[d] = self->ndim ? self->strides[d] : 0;
    w->sb[d] = other && other->ndim ? other->strides[d] : 0;
  }
  while (w->nd > 1 && index->shape[w->nd - 1] == 1) w->nd--; /* no rows of one element */
}

static int check_range(const TlTensor *ix, int dim, int64_t size) {
  if (tl_meta) return 0;
  const int64_t *v = (const int64_t *)tl_data(ix);
  TL_LOOP(i, ix->numel)
    if (v[i] < 0 || v[i] >= size) return tl_index_error(PyExc_RuntimeError, v[i], dim, size);
  return tl_work(0);
}

static int64_t dim_size(const TlTensor *t, int dim) { return t->ndim ? t->shape[dim] : 1; }

/* one row of elements of a size */
#define GATHER(T)                                   \
  TL_LOOP(i, n) {                                   \
    at = v[i * lv];                                 \
    if ((uint64_t)at >= (uint64_t)size) goto range; \
    ((T *)pb)[i] = ((const T *)pa)[i * la + at * sd]; \
  }

PyObject *tl_k_gather(const TlKernel *k, PyObject *const *a, Py_ssize_t n_, TlTensor *out) {
  TlTensor *self = (TlTensor *)a[0], *index = (TlTensor *)a[2], *ix = NULL, *r = NULL;
  int64_t d64, pos[TL_MAX_DIMS] = {0}, isz = tl_itemsize[self->dtype], n, la, lv, sd, size, at;
  const int64_t *v;
  const char *pa;
  char *pb;
  sweep w;
  int dim;
  (void)k;
  (void)n_;
  (void)out;
  if (tl_int(a[1], &d64) < 0 || tl_wrap_dim(d64, self->ndim, &dim) < 0) return NULL;
  if (!index->numel) return (PyObject *)tl_empty(self->dtype, index->ndim, index->shape);
  /* read as it lies: often it is one column, expanded */
  if (!(ix = index->dtype == TL_I64 ? TL_INC(index) : tl_index_i64(index))) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, "gather(): Expected dtype int32/int64 for index");
    return NULL;
  }
  if ((self->ndim ? self->ndim : 1) != (index->ndim ? index->ndim : 1)) {
    PyErr_SetString(PyExc_RuntimeError, "Index tensor must have the same number of dimensions as input tensor");
    goto fail;
  }
  for (int d = 0; d < index->ndim; d++) {
    if (d != dim && self->ndim && index->shape[d] > self->shape[d]) {
      PyErr_Format(
        PyExc_RuntimeError,
        "Size does not match at dimension %d expected index %s to be no larger than self %s apart from dimension %d", d,
        tl_fmt_shape(index->ndim, index->shape), tl_fmt_shape(self->ndim, self->shape), dim);
      goto fail;
    }
  }
  if (!(r = tl_empty(self->dtype, index->ndim, index->shape))) goto fail;
  if (tl_meta) goto fail; /* done */
  sweep_init(&w, self, dim, ix, ix);
  size = dim_size(self, dim);
  v = (const int64_t *)tl_data(ix);
  pa = tl_data(self);
  pb = tl_data(r);
  n = w.shape[w.nd - 1];
  sd = w.sa[dim];
  la = dim == w.nd - 1 ? 0 : w.sa[w.nd - 1];
  lv = w.sb[w.nd - 1];
  for (int64_t rows = ix->numel / n, work = 0; rows > 0 && !TL_TICK_INLINE(work, n); rows--, pb += n * isz) {
    switch (isz) {
    case 1: GATHER(uint8_t); break;
    case 2: GATHER(uint16_t); break;
    case 4: GATHER(uint32_t); break;
    case 8: GATHER(uint64_t); break;
    default: GATHER(tl_c128);
    }
    for (int d = w.nd - 2; d >= 0; d--) {
      int64_t st = d == dim ? 0 : w.sa[d] * isz;
      pa += st;
      v += w.sb[d];
      if (++pos[d] < w.shape[d]) break;
      pa -= st * w.shape[d];
      v -= w.sb[d] * w.shape[d];
      pos[d] = 0;
    }
  }
  goto fail; /* done */
range:
  TL_CLEAR(r);
  tl_index_error(PyExc_RuntimeError, at, dim, size);
fail:
  TL_DEC(ix);
  return (PyObject *)r;
}

/* *p /= count, rounded towards minus infinity for integers */
static void divide(char *p, tl_dtype dt, int64_t c) {
  switch (dt) {
  case TL_F32: *(float *)p /= (float)c; break;
  case TL_F64: *(double *)p /= (double)c; break;
  case TL_F16: *(uint16_t *)p = tl_float_to_half(tl_half_to_float(*(uint16_t *)p) / (float)c); break;
  case TL_BF16: *(uint16_t *)p = tl_float_to_bf16(tl_bf16_to_float(*(uint16_t *)p) / (float)c); break;
  case TL_C64:
    ((tl_c64 *)p)->re /= (float)c;
    ((tl_c64 *)p)->im /= (float)c;
    break;
  case TL_C128:
    ((tl_c128 *)p)->re /= (double)c;
    ((tl_c128 *)p)->im /= (double)c;
    break;
  default: {
    int64_t v, q;
    tl_cast_contig(TL_I64, &v, dt, p, 1);
    q = v / c;
    if (v % c < 0) q--;
    tl_cast_contig(dt, p, TL_I64, &q, 1);
  }
  }
}

enum { MEAN = 16 };
static int reduce_mode(PyObject *o, int *mode) {
  if (is_str(o, "sum")) *mode = TL_ROW_ADD;
  else if (is_str(o, "prod")) *mode = TL_ROW_MUL;
  else if (is_str(o, "mean")) *mode = MEAN;
  else if (is_str(o, "amax")) *mode = TL_ROW_MAX;
  else if (is_str(o, "amin")) *mode = TL_ROW_MIN;
  else return -1;
  return 0;
}

/* dst[index] (op)= src along dim. counts: NULL, or for a contiguous dst the number of writes to each element; if
 * `fresh`, the first write to an element assigns. */
static int scatter_run(TlTensor *dst, int dim, TlTensor *ix, const char *src, TlTensor *st, tl_row_fn fn,
                       int64_t *counts, int fresh) {
  int64_t pos[TL_MAX_DIMS] = {0}, isz = tl_itemsize[dst->dtype], n, la, lb, sd;
  const int64_t *v = (const int64_t *)tl_data(ix);
  tl_row_fn assign = tl_row_op(TL_ROW_ASSIGN, dst->dtype), add = tl_row_op(TL_ROW_ADD, dst->dtype);
  char *base = tl_data(dst), *pa = base;
  sweep w;
  sweep_init(&w, dst, dim, ix, st);
  n = w.shape[w.nd - 1];
  sd = w.sa[dim];
  la = dim == w.nd - 1 ? 0 : w.sa[w.nd - 1];
  lb = w.sb[w.nd - 1];
  for (int64_t rows = ix->numel / n, work = 0; rows > 0; rows--, v += n) {
    if (isz == 4 && fn == assign && !counts)
      TL_LOOP(i, n) ((uint32_t *)pa)[i * la + v[i] * sd] = ((const uint32_t *)src)[i * lb];
    else if (dst->dtype == TL_F32 && fn == add && !counts)
      TL_LOOP(i, n) ((float *)pa)[i * la + v[i] * sd] += ((const float *)src)[i * lb];
    else
      TL_LOOP(i, n) {
        char *d = pa + (i * la + v[i] * sd) * isz;
        tl_row_fn f = counts && !counts[(d - base) / isz]++ && fresh ? assign : fn;
        f(d, 0, src + i * lb * isz, 0, 1);
      }
    if (TL_TICK(work, n)) return -1;
    for (int d = w.nd - 2; d >= 0; d--) {
      int64_t s = d == dim ? 0 : w.sa[d] * isz;
      pa += s;
      src += w.sb[d] * isz;
      if (++pos[d] < w.shape[d]) break;
      pa -= s * w.shape[d];
      src -= w.sb[d] * w.shape[d] * isz;
      pos[d] = 0;
    }
  }
  return 0;
}

static int scatter_shapes(const TlTensor *self, int dim, const TlTensor *index, const TlTensor *src) {
  int nd = self->ndim ? self->ndim : 1, bad = 0;
  if (nd != (index->ndim ? index->ndim : 1)) {
    PyErr_SetString(PyExc_RuntimeError, "Index tensor must have the same number of dimensions as self tensor");
    return -1;
  }
  if (src && nd != (src->ndim ? src->ndim : 1)) {
    PyErr_SetString(PyExc_RuntimeError, "Index tensor must have the same number of dimensions as src tensor");
    return -1;
  }
  for (int d = 0; d < nd && !bad; d++) {
    int64_t i = dim_size(index, d);
    bad = (d != dim && i > dim_size(self, d)) || (src && i > dim_size(src, d));
  }
  if (!bad) return 0;
  if (src)
    PyErr_Format(
      PyExc_RuntimeError,
      "Expected index %s to be no larger than self %s apart from dimension %d and to be no larger size than src %s",
      tl_fmt_shape(index->ndim, index->shape), tl_fmt_shape(self->ndim, self->shape), dim,
      tl_fmt_shape(src->ndim, src->shape));
  else
    PyErr_Format(PyExc_RuntimeError, "Expected index %s to be no larger than self %s apart from dimension %d",
                 tl_fmt_shape(index->ndim, index->shape), tl_fmt_shape(self->ndim, self->shape), dim);
  return -1;
}

/* scatter(self, dim, index, src or value[, reduce]), scatter_add, scatter_reduce(self, dim, index, src, reduce,
 * include_self=True) */
PyObject *tl_k_scatter(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out) {
  TlTensor *self = (TlTensor *)a[0], *index = (TlTensor *)a[2], *src = TL_CHECK(a[3]) ? (TlTensor *)a[3] : NULL;
  TlTensor *ix = NULL, *s = NULL, *dst = NULL, *work = NULL;
  char value[16] __attribute__((aligned(16)));
  int64_t d64, *counts = NULL;
  int dim, mode = k->id == TL_SCATTER_ADD ? TL_ROW_ADD : TL_ROW_ASSIGN, fresh = 0, ok = 0;
  tl_row_fn fn;
  if (tl_int(a[1], &d64) < 0 || tl_wrap_dim(d64, self->ndim, &dim) < 0) return NULL;
  if (k->id == TL_SCATTER && n > 4 && a[4] != Py_None) {
    if (is_str(a[4], "add")) mode = TL_ROW_ADD;
    else if (is_str(a[4], "multiply")) mode = TL_ROW_MUL;
    else {
      PyErr_SetString(PyExc_RuntimeError, "reduce argument must be either add or multiply.");
      return NULL;
    }
    if (src && tl_warn_once("The reduce argument of torch.scatter with Tensor src is deprecated and will be removed in "
                            "a future PyTorch release. Use "
                            "torch.scatter_reduce instead for more reduction options.") < 0)
      return NULL;
  } else if (k->id == TL_SCATTER_REDUCE) {
    if (reduce_mode(a[4], &mode) < 0) {
      PyErr_Format(PyExc_RuntimeError, "reduce argument must be either sum, prod, mean, amax or amin, got %U", a[4]);
      return NULL;
    }
    if (n > 5) fresh = !PyObject_IsTrue(a[5]);
  }
  fn = tl_row_op(mode == MEAN ? TL_ROW_ADD : mode, self->dtype);
  if (!fn) return NULL;
  if (index->numel) {
    if (!(ix = tl_index_i64(index))) {
      if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, "scatter(): Expected dtype int32/int64 for index");
      return NULL;
    }
    if (src && src->dtype != self->dtype) {
      PyErr_SetString(PyExc_RuntimeError, "scatter(): Expected self.dtype to be equal to src.dtype");
      goto end;
    }
    if (scatter_shapes(self, dim, index, src) < 0 || check_range(ix, dim, dim_size(self, dim)) < 0) goto end;
  }
  if (!src && (tl_scalar_store(self->dtype, value, a[3]) < 0 || tl_check_finite(self->dtype, a[3]) < 0)) goto end;
  if (!(dst = tl_index_begin(self, out, false))) goto end;
  if (index->numel && !tl_meta) {
    if (src && !(s = src->storage == dst->storage ? tl_dense_clone(src) : TL_INC(src))) goto end;
    work = TL_INC(dst);
    if (mode == MEAN || fresh) {
      TL_DEC(work);
      if (!(work = tl_contiguous(dst)) || !(counts = tl_malloc((uint64_t)(work->numel + 1) * sizeof *counts))) goto end;
      if (tl_clear((char *)counts, (uint64_t)work->numel * sizeof *counts)) goto end;
    }
    if (scatter_run(work, dim, ix, s ? tl_data(s) : value, s, fn, counts, fresh) < 0) goto end;
    if (mode == MEAN)
      TL_LOOP(i, work->numel)
        if (counts[i] && counts[i] + !fresh > 1)
          divide(tl_data(work) + i * tl_itemsize[self->dtype], self->dtype, counts[i] + !fresh);
    if (work != dst && tl_copy(dst, work) < 0) goto end;
  }
  ok = 1;
end:
  tl_free(counts);
  TL_DEC(work);
  TL_DEC(s);
  TL_DEC(ix);
  if (!ok) TL_CLEAR(dst);
  return tl_index_end(dst, out);
}

/* ---- index_* ---------------------------------------------------------------------------------------------------- */
static int range_error(const TlTensor *ix, int64_t size, PyObject *type, const char *prefix, int dim) {
  const int64_t *v = (const int64_t *)tl_data(ix);
  TL_LOOP(i, tl_meta ? 0 : ix->numel) {
    if (v[i] >= 0 && v[i] < size) continue;
    if (prefix)
      PyErr_Format(type, "%sindex %lld is out of bounds for dimension %d with size %lld", prefix, (long long)v[i], dim,
                   (long long)size);
    else PyErr_SetString(type, "index out of range in self");
    return -1;
  }
  return tl_work(0);
}

/* index as contiguous int64 vector */
static TlTensor *as_vector(TlTensor *ix) {
  int64_t shape = ix->numel, one = 1;
  TlTensor *r = ix->ndim == 1 ? TL_INC(ix) : tl_view(ix, 1, &shape, &one, ix->offset);
  TL_DEC(ix);
  return r;
}

PyObject *tl_k_index_select(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out) {
  TlTensor *self = (TlTensor *)a[0], *index = (TlTensor *)a[2], *ix, *r = NULL;
  int64_t d64;
  int dim;
  tl_plan p;
  (void)k;
  (void)n;
  (void)out;
  if (tl_int(a[1], &d64) < 0 || tl_wrap_dim(d64, self->ndim, &dim) < 0) return NULL;
  if (index->ndim > 1) {
    PyErr_SetString(PyExc_IndexError, "index_select(): Index is supposed to be a vector");
    return NULL;
  }
  if (self->ndim < 2 && TL_UNSIGNED >> self->dtype & 1) return tl_not_implemented("index_select", self->dtype);
  if (!self->ndim && index->numel != 1) {
    PyErr_Format(PyExc_RuntimeError, "index_select(): Index to scalar can have only 1 value, got %lld value(s)",
                 (long long)index->numel);
    return NULL;
  }
  if (!(ix = tl_index_i64(index))) {
    if (!PyErr_Occurred())
      PyErr_SetString(PyExc_RuntimeError, "index_select(): Expected dtype int32 or int64 for index");
    return NULL;
  }
  if (!(ix = as_vector(ix))) return NULL;
  if (range_error(ix, dim_size(self, dim), PyExc_IndexError, NULL, dim) == 0) {
    if (!self->ndim) r = tl_dense_clone(self);
    else if (tl_plan_dim(&p, self, dim, ix) == 0) {
      r = tl_plan_take(&p, self);
      tl_plan_free(&p);
    }
  }
  TL_DEC(ix);
  return (PyObject *)r;
}

/* dst[.., index, ..] (op)= source; first as in tl_plan_put */
static int put_rows(TlTensor *dst, int dim, TlTensor *ix, TlTensor *source, tl_row_fn fn, const uint8_t *first) {
  tl_plan p;
  int rc;
  if (tl_plan_dim(&p, dst, dim, ix) < 0) return -1;
  rc = tl_plan_put(&p, dst, source, fn, first);
  tl_plan_free(&p);
  return rc;
}

/* the checks of index_add and index_reduce */
static TlTensor *add_checks(const char *name, TlTensor *self, int dim, TlTensor *index, TlTensor *source) {
  TlTensor *ix;
  int bad;
  if (index->ndim > 1) {
    PyErr_Format(PyExc_IndexError,
                 "%s_(): Index is supposed to be a vector, but got dim: %d with type: %s and size: %s", name,
                 index->ndim, tl_scalar_type[index->dtype], tl_fmt_shape(index->ndim, index->shape));
    return NULL;
  }
  if (index->dtype != TL_I64 && index->dtype != TL_I32) {
    PyErr_Format(PyExc_RuntimeError, "%s_(): Expected dtype int32/int64 for index but got: %s", name,
                 tl_scalar_type[index->dtype]);
    return NULL;
  }
  if (self->dtype != source->dtype) {
    PyErr_Format(PyExc_RuntimeError, "%s_(): self (%s) and source (%s) must have the same scalar type", name,
                 tl_scalar_type[self->dtype], tl_scalar_type[source->dtype]);
    return NULL;
  }
  if (source->ndim && dim >= source->ndim) {
    PyErr_Format(PyExc_RuntimeError, "%s_(): Indexing dim %d is out of bounds of the source tensor with dim %d", name,
                 dim, source->ndim);
    return NULL;
  }
  if (index->numel != dim_size(source, dim)) {
    PyErr_Format(PyExc_RuntimeError,
                 "%s_(): Number of indices (%lld) should be equal to source.size(dim): (%lld), for dim: %d", name,
                 (long long)index->numel, (long long)dim_size(source, dim), dim);
    return NULL;
  }
  bad = self->ndim != source->ndim;
  for (int d = 0; d < self->ndim && !bad; d++) bad = d != dim && source->shape[d] != self->shape[d];
  if (bad) {
    PyErr_Format(PyExc_RuntimeError,
                 "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape "
                 "= %s source.shape = %s",
                 tl_fmt_shape(self->ndim, self->shape), tl_fmt_shape(source->ndim, source->shape));
    return NULL;
  }
  ix = tl_index_i64(index);
  if (ix) ix = as_vector(ix);
  /* of rows by an int64 index PyTorch asks elsewhere */
  bad = self->ndim > 1 && index->dtype == TL_I64 && !strcmp(name, "index_add");
  if (ix && range_error(ix, dim_size(self, dim), bad ? PyExc_RuntimeError : PyExc_IndexError, bad ? "" : NULL, dim) < 0)
    TL_CLEAR(ix);
  return ix;
}

/* index_add(self, dim, index, source, alpha=1); the caller multiplies source by alpha when it is not 1 */
PyObject *tl_k_index_add(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out) {
  TlTensor *self = (TlTensor *)a[0], *source = (TlTensor *)a[3], *ix, *s = NULL, *dst = NULL;
  int64_t d64;
  int dim;
  double alpha;
  (void)k;
  if (tl_int(a[1], &d64) < 0 || tl_wrap_dim(d64, self->ndim, &dim) < 0) return NULL;
  if (n > 4 && a[4] != Py_None && (PyComplex_Check(a[4]) || tl_double(a[4], &alpha) < 0 || alpha != 1)) {
    if (PyErr_Occurred() || tl_check_real(a[4], self->dtype)) return NULL;
    return TL_FALLBACK();
  }
  if (!(ix = add_checks("index_add", self, dim, (TlTensor *)a[2], source))) return NULL;
  if ((dst = tl_index_begin(self, out, false)) &&
      (!(s = tl_unshared(source, dst)) || put_rows(dst, dim, ix, s, tl_row_op(TL_ROW_ADD, self->dtype), NULL) < 0))
    TL_CLEAR(dst);
  TL_DEC(s);
  TL_DEC(ix);
  return tl_index_end(dst, out);
}

/* index_reduce(self, dim, index, source, reduce, include_self=True) */
PyObject *tl_k_index_reduce(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out) {
  TlTensor *self = (TlTensor *)a[0], *source = (TlTensor *)a[3], *ix, *s = NULL, *dst = NULL;
  int64_t d64, *counts = NULL, size;
  uint8_t *first = NULL;
  int dim, mode, fresh = n > 5 ? !PyObject_IsTrue(a[5]) : 0, ok = 0;
  const int64_t *v;
  tl_row_fn fn;
  (void)k;
  if (tl_int(a[1], &d64) < 0 || tl_wrap_dim(d64, self->ndim, &dim) < 0 ||
      tl_warn_once("index_reduce() is in beta and the API may change at any time.") < 0)
    return NULL;
  if (reduce_mode(a[4], &mode) < 0 || mode == TL_ROW_ADD) {
    PyErr_Format(PyExc_RuntimeError,
                 "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got %U.", a[4]);
    return NULL;
  }
  fn = tl_row_op(mode == MEAN ? TL_ROW_ADD : mode, self->dtype);
  if (!fn || !(ix = add_checks("index_reduce", self, dim, (TlTensor *)a[2], source))) return NULL;
  size = dim_size(self, dim);
  v = (const int64_t *)tl_data(ix);
  if (!(dst = tl_index_begin(self, out, false)) || !(s = tl_unshared(source, dst))) goto end;
  if (tl_meta) {
    ok = 1;
    goto end;
  }
  counts = tl_malloc((uint64_t)(size + 1) * sizeof *counts);
  first = tl_malloc((uint64_t)ix->numel + 1);
  if (!counts || !first) goto end;
  if (tl_clear((char *)counts, (uint64_t)size * sizeof *counts)) goto end;
  TL_LOOP(i, ix->numel) first[i] = !counts[v[i]]++;
  if (s->numel && put_rows(dst, dim, ix, s, fn, fresh ? first : NULL) < 0) goto end;
  if (mode == MEAN && s->numel) {
    TlTensor *c = tl_contiguous(dst);
    int64_t inner = 1, isz = tl_itemsize[dst->dtype];
    if (!c) goto end;
    for (int d = dim + 1; d < dst->ndim; d++) inner *= dst->shape[d];
    TL_LOOP(i, c->numel) {
      int64_t t = i / inner % size;
      if (counts[t] && counts[t] + !fresh > 1) divide(tl_data(c) + i * isz, dst->dtype, counts[t] + !fresh);
    }
    if (c != dst && tl_copy(dst, c) < 0) {
      TL_DEC(c);
      goto end;
    }
    TL_DEC(c);
  }
  ok = 1;
end:
  tl_free(counts);
  tl_free(first);
  TL_DEC(s);
  TL_DEC(ix);
  if (!ok) TL_CLEAR(dst);
  return tl_index_end(dst, out);
}

static int slice_shapes_differ(TlTensor *self, TlTensor *source, int dim) {
  int64_t x[TL_MAX_DIMS], y[TL_MAX_DIMS];
  int nx = 0, ny = 0, bad;
  const char *fx, *fy;
  PyObject *sx, *sy;
  for (int d = 0; d < self->ndim; d++)
    if (d != dim) x[nx++] = self->shape[d];
  for (int d = 0; d < source->ndim; d++)
    if (d != dim) y[ny++] = source->shape[d];
  bad = nx != ny || memcmp(x, y, (size_t)nx * sizeof *x);
  if (!bad) return 0;
  fx = tl_fmt_shape(nx, x);
  sx = PyUnicode_FromStringAndSize(fx + 1, (Py_ssize_t)strlen(fx) - 2); /* the message has no brackets */
  fy = tl_fmt_shape(ny, y);
  sy = PyUnicode_FromStringAndSize(fy + 1, (Py_ssize_t)strlen(fy) - 2);
  if (sx && sy)
    PyErr_Format(PyExc_RuntimeError,
                 "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: %U at "
                 "dimension %d and source slice shape: %U at dimension 0.",
                 sx, dim, sy);
  Py_XDECREF(sx);
  Py_XDECREF(sy);
  return 1;
}

PyObject *tl_k_index_copy(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out) {
  TlTensor *self = (TlTensor *)a[0], *index = (TlTensor *)a[2], *source = (TlTensor *)a[3], *ix = NULL, *s = NULL,
           *dst = NULL;
  int64_t d64;
  int dim;
  (void)k;
  (void)n;
  if (tl_int(a[1], &d64) < 0 || tl_wrap_dim(d64, self->ndim, &dim) < 0) return NULL;
  if (index->ndim > 1) {
    PyErr_Format(PyExc_IndexError, "index_copy_(): Index should have dimension 1 or 0 (got %d)", index->ndim);
    return NULL;
  }
  if (!source->ndim && index->numel != 1) {
    PyErr_Format(PyExc_IndexError, "index_copy_(): When source is scalar, index should have one element (got %lld)",
                 (long long)index->numel);
    return NULL;
  }
  if (source->ndim != self->ndim && source->ndim && self->ndim) {
    PyErr_Format(PyExc_IndexError,
                 "index_copy_(): When source and destination are not scalars, their dimensionality must match. Source "
                 "dimensionality (%d), destination dimensionality (%d)",
                 source->ndim, self->ndim);
    return NULL;
  }
  if (index->dtype != TL_I64) {
    PyErr_Format(PyExc_RuntimeError, "index_copy_(): Expected a long tensor for index, but got %s",
                 tl_scalar_type[index->dtype]);
    return NULL;
  }
  if (self->dtype != source->dtype) {
    PyErr_Format(PyExc_RuntimeError,
                 "index_copy_(): self and source expected to have the same dtype, but got (self) %s and (source) %s",
                 tl_scalar_type[self->dtype], tl_scalar_type[source->dtype]);
    return NULL;
  }
  if (slice_shapes_differ(self, source, dim)) return NULL;
  if (source->ndim && index->numel != source->shape[dim]) {
    PyErr_Format(PyExc_IndexError, "index_copy_(): Number of indices (%lld) should be equal to source.size(dim) (%lld)",
                 (long long)index->numel, (long long)source->shape[dim]);
    return NULL;
  }
  ix = tl_index_i64(index);
  if (ix) ix = as_vector(ix);
  if (!ix || range_error(ix, dim_size(self, dim), PyExc_IndexError, "index_copy_(): ", dim) < 0) goto end;
  if ((dst = tl_index_begin(self, out, false)) && source->numel &&
      (!(s = tl_unshared(source, dst)) || put_rows(dst, dim, ix, s, tl_row_op(TL_ROW_ASSIGN, self->dtype), NULL) < 0))
    TL_CLEAR(dst);
end:
  TL_DEC(s);
  TL_DEC(ix);
  return tl_index_end(dst, out);
}

/* index_fill(self, dim, index, value: Scalar or 0-dim Tensor); negative indices count from the end */
PyObject *tl_k_index_fill(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out) {
  TlTensor *self = (TlTensor *)a[0], *index = (TlTensor *)a[2], *ix = NULL, *v = NULL, *dst = NULL;
  int64_t d64, size;
  int dim;
  (void)k;
  (void)n;
  if (tl_int(a[1], &d64) < 0 || tl_wrap_dim(d64, self->ndim, &dim) < 0) return NULL;
  if (TL_CHECK(a[3]) && ((TlTensor *)a[3])->ndim) {
    PyErr_Format(PyExc_RuntimeError,
                 "index_fill_ only supports a 0-dimensional value tensor, but got tensor with %d dimension(s).",
                 ((TlTensor *)a[3])->ndim);
    return NULL;
  }
  if (index->dtype != TL_I64) {
    PyErr_SetString(PyExc_IndexError, "index_fill_(): Expected dtype int64 for index.");
    return NULL;
  }
  if (out == self && tl_check_apart(self, index) < 0) return NULL;
  if (index->ndim > 1) {
    PyErr_SetString(PyExc_RuntimeError, "Index has to be a vector/scalar");
    return NULL;
  }
  if (!tl_is_complex(self->dtype) &&
      (TL_CHECK(a[3]) ? tl_is_complex(((TlTensor *)a[3])->dtype) : PyComplex_Check(a[3]))) {
    PyErr_SetString(PyExc_RuntimeError,
                    "index_fill_(): Converting complex Scalar to non-complex type is not supported");
    return NULL;
  }
  size = dim_size(self, dim);
  ix = tl_empty(TL_I64, 1, &index->numel);
  v = ix ? tl_empty(self->dtype, 0, NULL) : NULL;
  if (!v) goto end;
  if (index->numel && !tl_meta) {
    TlTensor *c = tl_contiguous(index);
    int64_t *p = (int64_t *)tl_data(ix);
    if (!c) goto end;
    memcpy(p, tl_data(c), (size_t)index->numel * sizeof *p);
    TL_DEC(c);
    TL_LOOP(i, index->numel) {
      if (p[i] >= -size && p[i] < size) {
        if (p[i] < 0) p[i] += size;
        continue;
      }
      tl_index_error(PyExc_IndexError, p[i], dim, size);
      goto end;
    }
    if (tl_work(0) < 0) goto end;
  }
  if (TL_CHECK(a[3])
        ? tl_copy(v, (TlTensor *)a[3]) < 0
        : (!tl_meta && tl_scalar_store(self->dtype, tl_data(v), a[3]) < 0) || tl_check_finite(self->dtype, a[3]) < 0)
    goto end;
  if ((dst = tl_index_begin(self, out, true)) &&
      put_rows(dst, dim, ix, v, tl_row_op(TL_ROW_ASSIGN, self->dtype), NULL) < 0)
    TL_CLEAR(dst);
end:
  TL_DEC(ix);
  TL_DEC(v);
  return tl_index_end(dst, out);
}

/* ---- embedding -------------------------------------------------------------------------------------------------- */
static TlTensor *embedding_index(TlTensor *index, const char *name) {
  TlTensor *ix = tl_index_i64(index);
  if (!ix && !PyErr_Occurred())
    PyErr_Format(PyExc_RuntimeError,
                 "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but "
                 "got torch.%sTensor instead (while checking arguments for %s)",
                 tl_scalar_type[index->dtype], name);
  return ix;
}

/* embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False): rows of weight */
PyObject *tl_k_embedding(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out) {
  TlTensor *weight = (TlTensor *)a[0], *ix, *r = NULL;
  tl_plan p;
  (void)k;
  (void)n;
  (void)out;
  if (weight->ndim != 2) {
    PyErr_SetString(PyExc_RuntimeError, "'weight' must be 2-D");
    return NULL;
  }
  if (!(ix = embedding_index((TlTensor *)a[1], "embedding"))) return NULL;
  if (range_error(ix, weight->shape[0], PyExc_IndexError, NULL, 0) == 0 && tl_plan_dim(&p, weight, 0, ix) == 0) {
    r = tl_plan_take(&p, weight);
    tl_plan_free(&p);
  }
  TL_DEC(ix);
  return (PyObject *)r;
}

/* embedding_dense_backward(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq) */
PyObject *tl_k_embedding_backward(const TlKernel *k, PyObject *const *a, Py_ssize_t n_, TlTensor *out) {
  TlTensor *grad = NULL, *ix, *r = NULL;
  int64_t weights, padding, shape[2], width, all;
  int by_freq = PyObject_IsTrue(a[4]);
  intptr_t isz;
  int64_t *counts = NULL;
  (void)k;
  (void)n_;
  (void)out;
  if (tl_int(a[2], &weights) < 0 || tl_int(a[3], &padding) < 0) return NULL;
  if (!((TlTensor *)a[0])->ndim) return tl_no_dims_error(-1), NULL;
  if (weights < 0) {
    PyErr_SetString(PyExc_RuntimeError, "zeros: Dimension size must be non-negative.");
    return NULL;
  }
  if (!(ix = embedding_index((TlTensor *)a[1], "embedding_backward"))) return NULL;
  grad = tl_contiguous((TlTensor *)a[0]);
  if (!grad || range_error(ix, weights, PyExc_IndexError, NULL, 0) < 0) goto end;
  isz = tl_itemsize[grad->dtype];
  width = grad->shape[grad->ndim - 1];
  if (__builtin_mul_overflow(ix->numel, width, &all) || all != grad->numel) {
    PyErr_Format(PyExc_RuntimeError, "shape '[%lld, %lld]' is invalid for input of size %lld", (long long)ix->numel,
                 (long long)width, (long long)grad->numel);
    goto end;
  }
  shape[0] = weights;
  shape[1] = width;
  r = tl_zeros(grad->dtype, 2, shape);
  if (tl_meta) goto end;
  if (r && by_freq) {
    const int64_t *v = (const int64_t *)tl_data(ix);
    if (!(counts = tl_array(weights, sizeof *counts))) {
      TL_CLEAR(r);
      goto end;
    }
    memset(counts, 0, (size_t)weights * sizeof *counts);
    TL_LOOP(i, ix->numel) counts[v[i]]++;
  }
  if (r) {
    tl_row_fn add = tl_row_op(TL_ROW_ADD, grad->dtype);
    const int64_t *v = (const int64_t *)tl_data(ix);
    for (int64_t i = 0; i < ix->numel && tl_work(width) == 0; i++)
      if (v[i] != padding) add(tl_data(r) + v[i] * width * isz, isz, tl_data(grad) + i * width * isz, isz, width);
    if (counts)
      for (int64_t w = 0; w < weights && tl_work(width) == 0; w++)
        for (int64_t j = 0; counts[w] > 1 && j < width; j++)
          divide(tl_data(r) + (w * width + j) * isz, grad->dtype, counts[w]);
  }
end:
  tl_free(counts);
  TL_DEC(grad);
  TL_DEC(ix);
  return (PyObject *)r;
}

/* embedding_renorm(self, indices, max_norm, norm_type): rows that are looked up get a p-norm of at most max_norm */
PyObject *tl_k_embedding_renorm(const TlKernel *k, PyObject *const *a, Py_ssize_t n_, TlTensor *out) {
  /* rows are scaled from the copy `given`, so that a row that is named twice is scaled once */
  TlTensor *self = (TlTensor *)a[0], *ix, *w = NULL, *given = NULL;
  double max_norm, p;
  (void)k;
  (void)n_;
  if (tl_check_dims("embedding_renorm", "self", self, 2, 2) < 0) return NULL;
  if (!tl_is_float(self->dtype)) return TL_FALLBACK();
  if (tl_double(a[2], &max_norm) < 0 || tl_double(a[3], &p) < 0) return NULL;
  if (!(ix = embedding_index((TlTensor *)a[1], "embedding_renorm_"))) return NULL;
  if (range_error(ix, self->shape[0], PyExc_IndexError, NULL, 0) == 0 && (w = tl_empty(TL_F64, 2, self->shape)) &&
      tl_copy(w, self) == 0 && (given = tl_empty(TL_F64, 2, self->shape)) && tl_copy(given, w) == 0) {
    const int64_t *v = (const int64_t *)tl_data(ix);
    int64_t width = self->shape[1];
    for (int64_t i = 0; i < ix->numel && !tl_meta && tl_work(width) == 0; i++) {
      const double *from = (double *)tl_data(given) + v[i] * width;
      double *row = (double *)tl_data(w) + v[i] * width, s = 0;
      for (int64_t j = 0; j < width; j++) {
        double x = __builtin_fabs(from[j]);
        if (p == 2) s += x * x;
        else if (p == 0) s += x != 0;
        else if (p == 1) s += x;
        else if (p > 1e300) s = x > s ? x : s;
        else s += __builtin_pow(x, p);
      }
      if (p == 2) s = __builtin_sqrt(s);
      else if (p != 1 && p != 0 && !(p > 1e300)) s = __builtin_pow(s, 1 / p);
      s = tl_rounded(self->dtype, s); /* norm and scale have the table's dtype in PyTorch */
      if (s > max_norm) {
        const double scale = tl_rounded(self->dtype, max_norm / (s + 1e-7));
        for (int64_t j = 0; j < width; j++) row[j] = from[j] * scale;
      }
    }
  } else TL_CLEAR(w);
  TL_DEC(ix);
  Py_XDECREF(given);
  if (w && !out) {
    TlTensor *r = tl_cast(w, self->dtype);
    TL_DEC(w);
    return (PyObject *)r;
  }
  return tl_index_end(w, out);
}

typedef float v4 __attribute__((vector_size(16), aligned(4)));

/* _sum_rows(table, columns, rows, values or None, n): n rows; to rows[i], table[columns[i]] times values[i] is added */
PyObject *tl_k_sum_rows(const TlKernel *k, PyObject *const *a, Py_ssize_t n_, TlTensor *out) {
  TlTensor *table = (TlTensor *)a[0], *values = tl_opt(a[3]), *x = NULL, *v = NULL, *r = NULL, *rows = NULL;
  const int64_t count = ((TlTensor *)a[1])->numel;
  int64_t shape[2];
  (void)n_;
  (void)out;
  if (table->dtype != TL_F32 || table->ndim != 2 || ((TlTensor *)a[2])->numel != count ||
      (values && (values->dtype != TL_F32 || values->numel != count)))
    return TL_FALLBACK();
  if (tl_int(a[4], shape) < 0) return NULL;
  shape[1] = table->shape[1];
  TlTensor *columns = embedding_index((TlTensor *)a[1], k->name);
  if (!columns || !(rows = embedding_index((TlTensor *)a[2], k->name)) || !(x = tl_contiguous(table)) ||
      (values && !(v = tl_contiguous(values))) || check_range(columns, 0, table->shape[0]) < 0 ||
      check_range(rows, 0, shape[0]) < 0 || !(r = tl_zeros(TL_F32, 2, shape)) || tl_meta)
    goto end;
  const int64_t *c = (const int64_t *)tl_data(columns), *to = (const int64_t *)tl_data(rows);
  const intptr_t width = (intptr_t)shape[1];
  for (intptr_t i = 0; i < (intptr_t)count && tl_work(width) == 0; i++) {
    const float *from = (const float *)tl_data(x) + (intptr_t)c[i] * width, f = v ? ((const float *)tl_data(v))[i] : 1;
    float *y = (float *)tl_data(r) + (intptr_t)to[i] * width;
    intptr_t j = 0;
    for (; j + 4 <= width; j += 4) *(v4 *)(y + j) += f * *(const v4 *)(from + j);
    for (; j < width; j++) y[j] += f * from[j];
  }
end:
  TL_DEC(columns);
  TL_DEC(rows);
  TL_DEC(x);
  TL_DEC(v);
  return (PyObject *)r;
}
