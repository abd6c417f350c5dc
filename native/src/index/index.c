/* index.c: advanced indexing, masks, nonzero, take and put; the table of the indexing family. */
#include "index/index.h"
#include "core/errors.h"
#include "core/geometry.h"

/* Fills in the strides at dims where the index has size 1, as a reshape of it to all dims of the result would. */
static void unit_strides(const tl_plan *p, int mid, int64_t *strides) {
  bool own = mid > p->nbefore;
  int64_t step = own ? strides[mid - 1] : 1, after = step, n = 1;
  for (int d = mid - 1; d >= p->nbefore; d--) { /* stops at the outermost dims that still share one stride */
    n = tl_wrap_mul(n, p->shape[d]);
    if (d == p->nbefore || p->shape[d - 1] == 1 || strides[d - 1] == tl_wrap_mul(n, step)) continue;
    step = strides[d - 1];
    n = 1;
  }
  for (int d = 0; d < p->nshape; d++)
    if (p->shape[d] == 1 && (d < p->nbefore || d >= mid)) strides[d] = d < mid ? tl_wrap_mul(n, step) : after;
}

/* Copies r, the contiguous result of a plan, to the layout that PyTorch's result has, given the strides of self and of
 * the indices. */
static TlTensor *laid_out(TlTensor *r, const tl_plan *p, PyObject *indices) {
  int64_t in[8][TL_MAX_DIMS], strides[TL_MAX_DIMS];
  int order[TL_MAX_DIMS], n = 1, nd = p->nshape, mid = nd - p->nafter; /* dims of the indices end before mid */
  memset(in, 0, sizeof in);
  memcpy(in[0], p->sbefore, (size_t)p->nbefore * sizeof **in);
  memcpy(in[0] + mid, p->safter, (size_t)p->nafter * sizeof **in);
  for (Py_ssize_t i = 0; i < PySequence_Size(indices) && n < 8; i++) {
    PyObject *o = PySequence_GetItem(indices, i);
    TlTensor *t = (TlTensor *)o;
    Py_XDECREF(o); /* the list keeps it */
    if (!o || o == Py_None) continue;
    if (t->dtype == TL_BOOL || t->dtype == TL_U8) in[n][mid - 1] = 1;
    else tl_ordering_strides(t, t->strides, mid, p->shape, in[n]);
    unit_strides(p, mid, in[n++]);
  }
  if (tl_result_strides(n, in, nd, p->shape, order, strides)) return r;
  TlTensor *s = tl_empty_strided((tl_dtype)r->dtype, nd, p->shape, strides);
  if (s && tl_copy(s, r) < 0) TL_CLEAR(s);
  TL_DEC(r);
  return s;
}

/* ---- index, index_put ------------------------------------------------------------------------------------------- */
static PyObject *k_index(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out) {
  TlTensor *self = (TlTensor *)a[0], *r;
  tl_plan p;
  (void)k;
  (void)n;
  (void)out;
  if (tl_plan_index(&p, self, a[1]) < 0) return NULL;
  r = tl_plan_take(&p, self);
  if (r) r = laid_out(r, &p, a[1]);
  tl_plan_free(&p);
  return (PyObject *)r;
}

/* values expanded to the plan's shape, contiguous; a single element is left as it is */
static TlTensor *expand_values(TlTensor *values, const tl_plan *p) {
  int64_t shape[TL_MAX_DIMS], strides[TL_MAX_DIMS];
  TlTensor *v, *r;
  int nd, ok, same = values->ndim == p->nshape;
  nd = p->nshape;
  ok = values->ndim <= nd;
  for (int i = 0; i < nd && ok; i++) {
    int d = values->ndim - nd + i;
    int64_t want = p->shape[i];
    ok = d < 0 || values->shape[d] == 1 || values->shape[d] == want;
    shape[i] = want;
    strides[i] = d >= 0 && values->shape[d] == want ? values->strides[d] : 0;
    if (d < 0 || values->shape[d] != want) same = 0;
  }
  if (!ok) {
    PyErr_Format(PyExc_RuntimeError,
                 "shape mismatch: value tensor of shape %s cannot be broadcast to indexing result of shape %s",
                 tl_fmt_shape(values->ndim, values->shape), tl_fmt_shape(p->nshape, p->shape));
    return NULL;
  }
  if (values->numel == 1 || same) return tl_contiguous(values);
  v = tl_view(values, nd, shape, strides, values->offset);
  if (!v) return NULL;
  r = tl_contiguous(v);
  TL_DEC(v);
  return r;
}

typedef struct {
  int size;
  const char *value;
} mf_ctx;
/* selects by bits: a mispredicted branch on a random mask costs more than the store */
#define BLEND(T, m, v, s) ((T)(((T)0 - (T)((m) != 0)) & (v)) | (T)(((T)((m) != 0) - (T)1) & (s)))
#define MF(T) { \
  T v = *(const T *)c->value; \
  if (st[0] == (intptr_t)sizeof(T) && st[1] == (intptr_t)sizeof(T) && st[2] == 1) { \
    T *dd = (T *)d; const T *sp = (const T *)s; \
    if (d == s) for (int64_t i = 0; i < n; i++) dd[i] = BLEND(T, m[i], v, dd[i]); /* one pointer vectorises */ \
    else for (int64_t i = 0; i < n; i++) dd[i] = BLEND(T, m[i], v, sp[i]); \
  } else for (; n > 0; n--, d += st[0], s += st[1], m += st[2]) *(T *)d = BLEND(T, *m, v, *(const T *)s); \
  return 0; }
static int mf_loop(void *ctx, char **p, const intptr_t *st, int64_t n) {
  mf_ctx *c = ctx;
  char *d = p[0], *s = p[1];
  const uint8_t *m = (const uint8_t *)p[2];
  switch (c->size) {
  case 1: MF(uint8_t)
  case 2: MF(uint16_t)
  case 4: MF(uint32_t)
  case 8: MF(uint64_t)
  default: {
    tl_c128 v = *(const tl_c128 *)c->value;
    for (; n > 0; n--, d += st[0], s += st[1], m += st[2]) *(tl_c128 *)d = *m ? v : *(const tl_c128 *)s;
    return 0;
  }
  }
}

/* x[mask] = one value: 1 done in dst, 0 another kind of index, -1 error */
static int put_masked(TlTensor *dst, PyObject *indices, TlTensor *value) {
  Py_ssize_t len = PySequence_Size(indices);
  int64_t strides[TL_MAX_DIMS] = {0};
  TlTensor *mask = NULL, *view, *ops[3];
  int at = 0, rc;
  mf_ctx ctx = {tl_itemsize[dst->dtype], tl_data(value)};
  TlIter it;
  for (Py_ssize_t i = 0; i < len; i++) {
    PyObject *o = PySequence_GetItem(indices, i);
    Py_XDECREF(o); /* the sequence keeps it */
    if (!o) return -1;
    if (o == Py_None) {
      if (!mask) at++;
      continue;
    }
    if (mask || !TL_CHECK(o) || ((TlTensor *)o)->dtype != TL_BOOL || !((TlTensor *)o)->ndim) return 0;
    mask = (TlTensor *)o;
  }
  if (!mask || at + mask->ndim > dst->ndim || mask->storage == dst->storage) return 0;
  for (int d = 0; d < mask->ndim; d++) {
    if (mask->shape[d] != dst->shape[at + d]) return 0;
    strides[at + d] = mask->strides[d];
  }
  if (!dst->numel || tl_meta) return 1;
  if (!(view = tl_view(mask, dst->ndim, dst->shape, strides, mask->offset))) return -1;
  ops[0] = dst;
  ops[1] = dst;
  ops[2] = view;
  tl_iter_init(&it, 3, ops, dst->ndim, dst->shape);
  rc = tl_iter_run(&it, mf_loop, &ctx);
  TL_DEC(view);
  return rc < 0 ? -1 : 1;
}

static bool has_mask(PyObject *indices) {
  bool found = false;
  for (Py_ssize_t i = 0, len = PySequence_Size(indices); i < len && !found; i++) {
    PyObject *o = PySequence_GetItem(indices, i);
    Py_XDECREF(o); /* the sequence keeps it */
    found = o && TL_CHECK(o) && (((TlTensor *)o)->dtype == TL_BOOL || ((TlTensor *)o)->dtype == TL_U8);
  }
  return found;
}

/* PyTorch's warning where an index is a mask of bytes; -1 where a filter makes it an error */
static int warn_of_bytes(PyObject *indices) {
  int rc = 0;
  for (Py_ssize_t i = 0, len = PySequence_Size(indices); i < len && !rc; i++) {
    PyObject *o = PySequence_GetItem(indices, i);
    Py_XDECREF(o); /* the sequence keeps it */
    if (o && TL_CHECK(o) && ((TlTensor *)o)->dtype == TL_U8)
      rc = PyErr_WarnEx(PyExc_UserWarning,
                        "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.", 1);
  }
  return rc;
}

/* the only index where that is a mask, else NULL */
static const TlTensor *only_mask(PyObject *indices) {
  const TlTensor *mask = NULL;
  for (Py_ssize_t i = 0, len = PySequence_Size(indices); i < len; i++) {
    PyObject *o = PySequence_GetItem(indices, i);
    Py_XDECREF(o); /* the sequence keeps it */
    if (!o || (o != Py_None && (mask || !TL_CHECK(o)))) return NULL;
    if (o != Py_None) mask = (const TlTensor *)o;
  }
  return mask && (mask->dtype == TL_BOOL || mask->dtype == TL_U8) && !mask->device ? mask : NULL;
}

/* x[mask] = one element of another dtype: the element counts as a number, and must fit self's dtype */
static TlTensor *number_for(TlTensor *self, TlTensor *values) {
  if (tl_meta) return tl_empty((tl_dtype)self->dtype, 0, NULL);
  PyObject *number = tl_scalar_object((tl_dtype)values->dtype, tl_data(values));
  TlTensor *r = number ? tl_empty((tl_dtype)self->dtype, 0, NULL) : NULL;
  if (r && tl_fill(r, number) < 0) TL_CLEAR(r);
  Py_XDECREF(number);
  return r;
}

/* index_put(self, indices, values, accumulate=False) */
static PyObject *k_index_put(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out) {
  TlTensor *self = (TlTensor *)a[0], *values = (TlTensor *)a[2], *dst = NULL, *v = NULL, *u = NULL;
  int accumulate = n > 3 && a[3] != Py_None ? PyObject_IsTrue(a[3]) : 0;
  tl_row_fn fn = tl_row_op(accumulate ? TL_ROW_ADD : TL_ROW_ASSIGN, self->dtype);
  const TlTensor *mask;
  tl_plan p;
  (void)k;
  if (!fn || accumulate < 0) return NULL;
  mask = accumulate || values->numel != 1 || values->device ? NULL : only_mask(a[1]);
  values = mask && mask->dtype == TL_BOOL && values->dtype != self->dtype ? number_for(self, values) : TL_INC(values);
  dst = values ? tl_index_begin(self, out, true) : NULL;
  if (!dst) {
    TL_DEC(values);
    return NULL;
  }
  if (!accumulate && values->numel == 1 && values->ndim == 0 && values->dtype == self->dtype &&
      values->storage != dst->storage) {
    int rc = put_masked(dst, a[1], values);
    if (rc < 0) TL_CLEAR(dst);
    if (rc) {
      TL_DEC(values);
      return tl_index_end(dst, out);
    }
  }
  if (tl_meta && has_mask(a[1])) {
    TL_DEC(values);
    return tl_index_end(dst, out);
  }
  if ((!mask && warn_of_bytes(a[1]) < 0) || tl_plan_index(&p, dst, a[1]) < 0) {
    TL_DEC(values);
    TL_DEC(dst);
    return NULL;
  }
  u = values->storage == dst->storage ? tl_dense_clone(values) : TL_INC(values);
  if (u) v = expand_values(u, &p);
  if (v && mask && mask->dtype == TL_U8) {
    PyErr_SetString(PyExc_RuntimeError,
                    "masked_fill_ only supports boolean masks, but got mask with dtype unsigned char");
    TL_CLEAR(v);
  } else if (v && values->dtype != self->dtype) {
    PyErr_Format(
      PyExc_RuntimeError,
      "Index put requires the source and destination dtypes match, got %s for the destination and %s for the source.",
      tl_scalar_type[self->dtype], tl_scalar_type[values->dtype]);
    TL_CLEAR(v);
  }
  if (!v || tl_plan_put(&p, dst, v, fn, NULL) < 0) TL_CLEAR(dst);
  tl_plan_free(&p);
  TL_DEC(v);
  TL_DEC(u);
  TL_DEC(values);
  return tl_index_end(dst, out);
}

static PyObject *k_nonzero(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out) {
  TlTensor *cols = tl_nonzero_columns((TlTensor *)a[0]);
  int64_t shape[2], strides[2];
  (void)k;
  (void)n;
  (void)out;
  if (!cols) return NULL;
  shape[0] = strides[1] = cols->shape[1];
  shape[1] = cols->shape[0];
  strides[0] = 1;
  if (tl_restride(cols, 2, shape, strides) < 0) TL_CLEAR(cols);
  return (PyObject *)cols;
}

/* the columns of nonzero, one tensor a dim: nonzero(as_tuple=True) without the transposition */
static PyObject *k_nonzero_numpy(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out) {
  TlTensor *self = (TlTensor *)a[0], *cols, *flat = NULL;
  PyObject *r = NULL;
  int64_t one = 1, count;
  (void)k;
  (void)n;
  (void)out;
  if (!self->ndim) {
    flat = tl_view(self, 1, &one, &one, self->offset);
    if (!flat) return NULL;
    self = flat;
  }
  cols = tl_nonzero_columns(self);
  if (cols) {
    count = cols->shape[1];
    r = PyTuple_New(self->ndim);
    for (int d = 0; r && d < self->ndim; d++) {
      PyObject *c = (PyObject *)tl_view(cols, 1, &count, &one, cols->offset + d * count);
      if (!c || PyTuple_SetItem(r, d, c) < 0) {
        Py_XDECREF(r);
        r = NULL;
      }
    }
  }
  TL_DEC(cols);
  TL_DEC(flat);
  return r;
}

/* ---- masks ------------------------------------------------------------------------------------------------------ */
/* masked_fill(self, mask, value: Scalar or 0-dim Tensor) */
static PyObject *k_masked_fill(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out) {
  TlTensor *self = (TlTensor *)a[0], *mask = (TlTensor *)a[1], *dst, *ops[3];
  int64_t shape[TL_MAX_DIMS];
  char value[16] __attribute__((aligned(16)));
  mf_ctx ctx = {tl_itemsize[self->dtype], value};
  TlIter it;
  int nd, inplace = out == self;
  (void)k;
  (void)n;
  if (mask->dtype != TL_BOOL) {
    PyErr_Format(PyExc_RuntimeError, "masked_fill_ only supports boolean masks, but got mask with dtype %s",
                 tl_cpp_type[mask->dtype]);
    return NULL;
  }
  if (inplace && tl_check_overlap(self, mask) < 0) return NULL;
  if (TL_CHECK(a[2])) {
    TlTensor *v = (TlTensor *)a[2], *c;
    if (v->ndim) {
      PyErr_Format(PyExc_RuntimeError,
                   "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with %d dimension(s).",
                   v->ndim);
      return NULL;
    }
    c = tl_cast(v, self->dtype);
    if (!c) return NULL;
    if (!tl_meta) memcpy(value, tl_data(c), tl_itemsize[self->dtype]);
    TL_DEC(c);
  } else if (PyComplex_Check(a[2]) && !tl_is_complex(self->dtype) && PyComplex_ImagAsDouble(a[2]) != 0) {
    return tl_conversion_error(tl_cpp_type[self->dtype]), NULL;
  } else if (tl_scalar_store(self->dtype, value, a[2]) < 0 || tl_check_finite(self->dtype, a[2]) < 0) return NULL;
  if (inplace ? tl_broadcast(self->ndim, self->shape, mask->ndim, mask->shape, &nd, shape) < 0
              : tl_broadcast(mask->ndim, mask->shape, self->ndim, self->shape, &nd, shape) < 0)
    return NULL;
  if (inplace) {
    int ok = nd == self->ndim;
    for (int d = 0; d < nd && ok; d++) ok = shape[d] == self->shape[d];
    if (!ok) return tl_output_shape_error(self, nd, shape), NULL;
    dst = TL_INC(self);
  } else dst = tl_empty(self->dtype, nd, shape);
  if (!dst || tl_meta) return tl_index_end(dst, out);
  ops[0] = dst;
  ops[1] = self;
  ops[2] = mask;
  tl_iter_init(&it, 3, ops, nd, shape);
  if (dst->numel && tl_iter_run(&it, mf_loop, &ctx) < 0) TL_CLEAR(dst);
  return tl_index_end(dst, out);
}

/* t broadcast to shape, contiguous */
static TlTensor *expand_contiguous(TlTensor *t, int nd, const int64_t *shape) {
  int64_t strides[TL_MAX_DIMS];
  TlTensor *v, *r;
  for (int i = 0; i < nd; i++) {
    int d = i - (nd - t->ndim);
    strides[i] = d >= 0 && t->shape[d] == shape[i] ? t->strides[d] : 0;
  }
  v = tl_view(t, nd, shape, strides, t->offset);
  if (!v) return NULL;
  r = tl_contiguous(v);
  TL_DEC(v);
  return r;
}

#define SEL(T) \
  { const T *s = (const T *)src; T *d = (T *)dst; TL_LOOP(i, n) if (m[i]) d[at++] = s[i]; break; }
#define SCT(T) \
  { const T *s = (const T *)src; T *d = (T *)dst; TL_LOOP(i, n) if (m[i]) d[i] = s[at++]; break; }
#define BY_SIZE(size, M) \
  switch (size) { case 1: M(uint8_t) case 2: M(uint16_t) case 4: M(uint32_t) case 8: M(uint64_t) default: M(tl_c128) }

static PyObject *k_masked_select(const TlKernel *k, PyObject *const *a, Py_ssize_t n_, TlTensor *out) {
  TlTensor *self = (TlTensor *)a[0], *mask = (TlTensor *)a[1], *s = NULL, *mt = NULL, *r = NULL;
  int64_t shape[TL_MAX_DIMS], count = 0, at = 0, n;
  int nd;
  (void)k;
  (void)n_;
  (void)out;
  if (mask->dtype != TL_BOOL) {
    PyErr_SetString(PyExc_RuntimeError, "masked_select: expected BoolTensor for mask");
    return NULL;
  }
  if (tl_broadcast(mask->ndim, mask->shape, self->ndim, self->shape, &nd, shape) < 0) return NULL;
  s = expand_contiguous(self, nd, shape);
  mt = s ? expand_contiguous(mask, nd, shape) : NULL;
  if (mt) {
    const uint8_t *m = (const uint8_t *)tl_data(mt);
    n = mt->numel;
    TL_LOOP(i, n) count += m[i] != 0;
    r = tl_empty(self->dtype, 1, &count);
    if (r) {
      const char *src = tl_data(s);
      char *dst = tl_data(r);
      BY_SIZE(tl_itemsize[self->dtype], SEL)
    }
  }
  TL_DEC(s);
  TL_DEC(mt);
  return (PyObject *)r;
}

static PyObject *k_masked_scatter(const TlKernel *k, PyObject *const *a, Py_ssize_t n_, TlTensor *out) {
  TlTensor *self = (TlTensor *)a[0], *mask = (TlTensor *)a[1], *source = (TlTensor *)a[2], *r = NULL, *mt = NULL,
           *sc = NULL;
  int64_t shape[TL_MAX_DIMS], at = 0, n, count = 0;
  int nd;
  (void)k;
  (void)n_;
  if (self->dtype != source->dtype) {
    PyErr_Format(PyExc_RuntimeError, "masked_scatter: expected self and source to have same dtypes but got%s and %s",
                 tl_scalar_type[self->dtype], tl_scalar_type[source->dtype]);
    return NULL;
  }
  if (mask->dtype != TL_BOOL) {
    PyErr_Format(PyExc_RuntimeError, "masked_scatter_ only supports boolean masks, but got mask with dtype %s",
                 tl_scalar_type[mask->dtype]);
    return NULL;
  }
  for (int i = 1; out && i <= mask->ndim; i++) { /* in place: the mask is expanded to self, never the other way */
    int64_t m = mask->shape[mask->ndim - i];
    if (i <= self->ndim && (m == 1 || m == self->shape[self->ndim - i])) continue;
    if (mask->ndim > self->ndim)
      PyErr_Format(PyExc_RuntimeError,
                   "expand(CPUBoolType{%s}, size=%s): the number of sizes provided (%d) must be greater or equal to "
                   "the number of dimensions "
                   "in the tensor (%d)",
                   tl_fmt_shape(mask->ndim, mask->shape), tl_fmt_shape(self->ndim, self->shape), self->ndim,
                   mask->ndim);
    else tl_expand_error(self->ndim - i, m, self->ndim, self->shape, mask);
    return NULL;
  }
  if (tl_broadcast(self->ndim, self->shape, mask->ndim, mask->shape, &nd, shape) < 0) return NULL;
  r = tl_empty(self->dtype, nd, shape);
  if (r && tl_copy(r, self) < 0) TL_CLEAR(r);
  mt = r ? expand_contiguous(mask, nd, shape) : NULL;
  sc = mt ? tl_contiguous(source) : NULL;
  if (sc && !tl_meta) {
    const uint8_t *m = (const uint8_t *)tl_data(mt);
    const char *src = tl_data(sc);
    char *dst = tl_data(r);
    n = mt->numel;
    TL_LOOP(i, n) count += m[i] != 0;
    if (count > sc->numel) {
      PyErr_SetString(PyExc_RuntimeError, "Number of elements of source < number of ones in mask");
      TL_CLEAR(r);
    } else BY_SIZE(tl_itemsize[self->dtype], SCT)
  } else if (!sc) TL_CLEAR(r);
  TL_DEC(mt);
  TL_DEC(sc);
  return tl_index_end(r, out);
}

/* ---- take, put -------------------------------------------------------------------------------------------------- */
static int flat_index(int64_t *v, int64_t n, int64_t size) {
  if (tl_meta) return 0;
  TL_LOOP(i, n) {
    if (v[i] < -size || v[i] >= size) {
      PyErr_Format(PyExc_IndexError, "out of range: tried to access index %lld on a tensor of %lld elements.",
                   (long long)v[i], (long long)size);
      return -1;
    }
    if (v[i] < 0) v[i] += size;
  }
  return tl_work(0);
}

static TlTensor *own_index(TlTensor *index, const char *name) {
  TlTensor *r;
  if (index->dtype != TL_I64) {
    PyErr_Format(PyExc_RuntimeError, "%s(): Expected a long tensor for index, but got %s", name,
                 tl_scalar_type[index->dtype]);
    return NULL;
  }
  r = tl_empty(TL_I64, index->ndim, index->shape);
  if (r && tl_copy(r, index) < 0) TL_CLEAR(r);
  return r;
}

static PyObject *k_take(const TlKernel *k, PyObject *const *a, Py_ssize_t n_, TlTensor *out) {
  TlTensor *self = (TlTensor *)a[0], *ix = own_index((TlTensor *)a[1], "take"), *s = NULL, *r = NULL;
  (void)k;
  (void)n_;
  (void)out;
  if (!ix) return NULL;
  if (!self->numel && ix->numel) PyErr_SetString(PyExc_IndexError, "take(): tried to take from an empty tensor");
  else if (!flat_index((int64_t *)tl_data(ix), ix->numel, self->numel) && (s = tl_contiguous(self))) {
    r = tl_empty(self->dtype, ix->ndim, ix->shape);
    if (r && !tl_meta) {
      const int64_t *v = (const int64_t *)tl_data(ix);
      int64_t n = ix->numel;
      const char *src = tl_data(s);
      char *dst = tl_data(r);
#define TK(T) { TL_LOOP(i, n) ((T *)dst)[i] = ((const T *)src)[v[i]]; break; }
      BY_SIZE(tl_itemsize[self->dtype], TK)
    }
  }
  TL_DEC(s);
  TL_DEC(ix);
  return (PyObject *)r;
}

/* put(self, index, source, accumulate=False) */
static PyObject *k_put(const TlKernel *k, PyObject *const *a, Py_ssize_t n_, TlTensor *out) {
  TlTensor *self = (TlTensor *)a[0], *source = (TlTensor *)a[2], *ix, *s = NULL, *r = NULL;
  int accumulate = n_ > 3 ? PyObject_IsTrue(a[3]) : 0;
  tl_row_fn fn = tl_row_op(accumulate > 0 ? TL_ROW_ADD : TL_ROW_ASSIGN, self->dtype);
  intptr_t isz = tl_itemsize[self->dtype];
  (void)k;
  if (!fn || accumulate < 0) return NULL;
  if (!accumulate && tl_alert("put_") < 0) return NULL; /* of several values for one place, which stays? */
  if (source->dtype != self->dtype && ((TlTensor *)a[1])->dtype == TL_I64) {
    PyErr_Format(
      PyExc_RuntimeError,
      "put_(): self and source expected to have the same dtype, but got self.dtype = %s and source.dtype = %s",
      tl_scalar_type[self->dtype], tl_scalar_type[source->dtype]);
    return NULL;
  }
  ix = own_index((TlTensor *)a[1], "put_");
  if (!ix) return NULL;
  if (ix->numel != source->numel) {
    PyErr_Format(PyExc_IndexError,
                 "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
                 "%lld, index.numel() = %lld",
                 (long long)source->numel, (long long)ix->numel);
  } else if (!flat_index((int64_t *)tl_data(ix), ix->numel, self->numel)) {
    s = tl_contiguous(source);
    r = s ? tl_empty(self->dtype, self->ndim, self->shape) : NULL;
    if (r && tl_copy(r, self) < 0) TL_CLEAR(r);
    if (r && !tl_meta) {
      const int64_t *v = (const int64_t *)tl_data(ix);
      TL_LOOP(i, ix->numel) fn(tl_data(r) + v[i] * isz, isz, tl_data(s) + i * isz, isz, 1);
    }
  }
  TL_DEC(s);
  TL_DEC(ix);
  return tl_index_end(out ? r : tl_preserved(r, self), out);
}

/* one_hot(self, num_classes=-1): long labels to a 0/1 matrix */
static PyObject *k_one_hot(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out) {
  TlTensor *self = (TlTensor *)a[0], *c = NULL, *r = NULL;
  int64_t classes, shape[TL_MAX_DIMS], lo = 0, hi = -1;
  const int64_t *v;
  (void)k;
  (void)n;
  (void)out;
  if (tl_int(a[1], &classes) < 0) return NULL;
  if (self->dtype != TL_I64) {
    PyErr_SetString(PyExc_RuntimeError, "one_hot is only applicable to index tensor of type LongTensor.");
    return NULL;
  }
  if (!self->numel && classes <= 0) {
    PyErr_SetString(PyExc_RuntimeError, "Can not infer total number of classes from empty tensor.");
    return NULL;
  }
  if (tl_meta && classes == -1) return TL_FALLBACK();
  if (!(c = tl_contiguous(self))) return NULL;
  v = (const int64_t *)tl_data(c);
  TL_LOOP(i, tl_meta ? 0 : c->numel) {
    if (v[i] < lo) lo = v[i];
    if (v[i] > hi) hi = v[i];
  }
  if (lo < 0) {
    PyErr_SetString(PyExc_RuntimeError, "Class values must be non-negative.");
    goto end;
  }
  if (classes == -1) classes = hi < INT64_MAX ? hi + 1 : hi;
  if (hi >= classes) {
    PyErr_SetString(PyExc_RuntimeError, "Class values must be smaller than num_classes.");
    goto end;
  }
  for (int d = 0; d < self->ndim; d++) shape[d] = self->shape[d];
  shape[self->ndim] = classes;
  r = tl_zeros(TL_I64, self->ndim + 1, shape);
  if (r && !tl_meta) {
    int64_t *o = (int64_t *)tl_data(r);
    TL_LOOP(i, c->numel) o[i * classes + v[i]] = 1;
  }
end:
  TL_DEC(c);
  return (PyObject *)r;
}

/* scatter ids: 0 assign (a 5th argument names add or multiply), 1 add, 2 scatter_reduce */
const TlKernel tl_kernels_index[] = {
  {"index", k_index, 0, TL_K_META, NULL},
  {"index_put", k_index_put, 0, TL_K_OUT | TL_K_APART | TL_K_META, NULL},
  {"nonzero", k_nonzero, 0, 0, NULL},
  {"nonzero_numpy", k_nonzero_numpy, 0, 0, NULL},
  {"masked_fill", k_masked_fill, 0, TL_K_OUT | TL_K_META, NULL},
  {"masked_select", k_masked_select, 0, 0, NULL},
  {"masked_scatter", k_masked_scatter, 0, TL_K_OUT | TL_K_META, NULL},
  {"take", k_take, 0, TL_K_META, NULL},
  {"put", k_put, 0, TL_K_OUT | TL_K_APART | TL_K_META, NULL},
  {"one_hot", k_one_hot, 0, TL_K_META, NULL},
  {"gather", tl_k_gather, 0, TL_K_META, NULL},
  {"scatter", tl_k_scatter, TL_SCATTER, TL_K_OUT | TL_K_APART | TL_K_META, NULL},
  {"scatter_add", tl_k_scatter, TL_SCATTER_ADD, TL_K_OUT | TL_K_APART | TL_K_META, NULL},
  {"scatter_reduce", tl_k_scatter, TL_SCATTER_REDUCE, TL_K_OUT | TL_K_APART | TL_K_META, NULL},
  {"index_select", tl_k_index_select, 0, TL_K_META, NULL},
  {"index_add", tl_k_index_add, 0, TL_K_OUT | TL_K_APART | TL_K_META, NULL},
  {"index_copy", tl_k_index_copy, 0, TL_K_OUT | TL_K_APART | TL_K_META, NULL},
  {"index_fill", tl_k_index_fill, 0, TL_K_OUT | TL_K_META, NULL},
  {"index_reduce", tl_k_index_reduce, 0, TL_K_OUT | TL_K_APART | TL_K_META, NULL},
  {"embedding", tl_k_embedding, 0, TL_K_META, NULL},
  {"_sum_rows", tl_k_sum_rows, 0, TL_K_META, NULL},
  {"embedding_dense_backward", tl_k_embedding_backward, 0, TL_K_META, NULL},
  {"embedding_renorm", tl_k_embedding_renorm, 0, TL_K_OUT | TL_K_META, NULL},
  {0}};
