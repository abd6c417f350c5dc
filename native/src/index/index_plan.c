/* index_plan.c: row operations per dtype and the plan shared by index, index_put and the index_* family. */
#include "core/rows.h"
#include "core/check.h"
#include "core/errors.h"
#include "index/index.h"
#include "math/simd.h"

/* ---- row operations --------------------------------------------------------------------------------------------- */
#define ID(x) (x)
#define BOOL_ST(x) ((uint8_t)((x) != 0))
#define ROW(NAME, T, ACC, LD, ST, EXPR) \
  static void NAME(char *d, intptr_t ds, const char *s, intptr_t ss, int64_t n) { \
    for (; n > 0; n--, d += ds, s += ss) { ACC a = LD(*(T *)d), b = LD(*(const T *)s); *(T *)d = (T)ST(EXPR); } \
  }
#define MAXE (a != a || a > b ? a : b)
#define MINE (a != a || a < b ? a : b)
#define INT_ROWS(S, T, U, C) \
  ROW(add_##S, T, U, (U), ID, a + b) ROW(mul_##S, T, U, (U), ID, a * b) \
  ROW(max_##S, T, C, ID, ID, a > b ? a : b) ROW(min_##S, T, C, ID, ID, a < b ? a : b)
#define FLT_ROWS(S, T, C, LD, ST) \
  ROW(mul_##S, T, C, LD, ST, a * b) ROW(max_##S, T, C, LD, ST, MAXE) ROW(min_##S, T, C, LD, ST, MINE)
ROW(add_bool, uint8_t, int, ID, BOOL_ST, a | b)
ROW(mul_bool, uint8_t, int, ID, BOOL_ST, a &&b)
INT_ROWS(u8, uint8_t, uint32_t, int)
INT_ROWS(i8, int8_t, uint32_t, int)
INT_ROWS(i16, int16_t, uint32_t, int)
INT_ROWS(i32, int32_t, uint32_t, int32_t)
INT_ROWS(i64, int64_t, uint64_t, int64_t)
FLT_ROWS(f16, uint16_t, float, tl_half_to_float, tl_float_to_half)
FLT_ROWS(bf16, uint16_t, float, tl_bf16_to_float, tl_float_to_bf16)
FLT_ROWS(f32, float, float, ID, ID)
FLT_ROWS(f64, double, double, ID, ID)
ROW(add_f16, uint16_t, float, tl_half_to_float, tl_float_to_half, a + b)
ROW(add_bf16, uint16_t, float, tl_bf16_to_float, tl_float_to_bf16, a + b)
/* the rows that gradients of embeddings and sums over edges add */
static void add_f32(char *d, intptr_t ds, const char *s, intptr_t ss, int64_t n) {
  if (ds == sizeof(float) && ss == sizeof(float))
    for (; n >= 16; n -= 16, d += 64, s += 64) {
      float *p = (float *)d;
      const float *q = (const float *)s;
      v4f x = v4_load(p) + v4_load(q), y = v4_load(p + 4) + v4_load(q + 4);
      v4f z = v4_load(p + 8) + v4_load(q + 8), w = v4_load(p + 12) + v4_load(q + 12);
      v4_store(p, x);
      v4_store(p + 4, y);
      v4_store(p + 8, z);
      v4_store(p + 12, w);
    }
  for (; n > 0; n--, d += ds, s += ss) *(float *)d += *(const float *)s;
}
ROW(add_f64, double, double, ID, ID, a + b)
#define CROWS(S, T, R) \
  static void add_##S(char *d, intptr_t ds, const char *s, intptr_t ss, int64_t n) { \
    for (; n > 0; n--, d += ds, s += ss) { ((T *)d)->re += ((const T *)s)->re; ((T *)d)->im += ((const T *)s)->im; } \
  } \
  static void mul_##S(char *d, intptr_t ds, const char *s, intptr_t ss, int64_t n) { \
    for (; n > 0; n--, d += ds, s += ss) { \
      T a = *(T *)d, b = *(const T *)s; \
      ((T *)d)->re = a.re * b.re - a.im * b.im; ((T *)d)->im = a.re * b.im + a.im * b.re; \
    } \
  }
CROWS(c64, tl_c64, float)
CROWS(c128, tl_c128, double)

#define COPY(NAME, T) \
  static void NAME(char *d, intptr_t ds, const char *s, intptr_t ss, int64_t n) { tl_move(d, ds, s, ss, n, sizeof(T)); }
COPY(copy1, uint8_t)
COPY(copy2, uint16_t)
COPY(copy4, uint32_t)
COPY(copy8, uint64_t)
COPY(copy16, tl_c128)

tl_row_fn tl_row_op(int mode, tl_dtype dt) {
  static const tl_row_fn table[4][TL_NUM_DTYPES] = {
    {add_bool, add_u8, add_i8, add_i16, add_i32, add_i64, add_f16, add_bf16, add_f32, add_f64, add_c64, add_c128},
    {mul_bool, mul_u8, mul_i8, mul_i16, mul_i32, mul_i64, mul_f16, mul_bf16, mul_f32, mul_f64, mul_c64, mul_c128},
    {add_bool, max_u8, max_i8, max_i16, max_i32, max_i64, max_f16, max_bf16, max_f32, max_f64, NULL, NULL},
    {mul_bool, min_u8, min_i8, min_i16, min_i32, min_i64, min_f16, min_bf16, min_f32, min_f64, NULL, NULL}};
  tl_row_fn fn;
  if (mode == TL_ROW_ASSIGN) {
    switch (tl_itemsize[dt]) {
    case 1: return copy1;
    case 2: return copy2;
    case 4: return copy4;
    case 8: return copy8;
    default: return copy16;
    }
  }
  fn = table[mode - 1][dt];
  if (!fn) PyErr_Format(PyExc_RuntimeError, "\"index_reduce\" not implemented for '%s'", tl_scalar_type[dt]);
  return fn;
}

/* ---- small helpers ---------------------------------------------------------------------------------------------- */
TlTensor *tl_dense_clone(TlTensor *t) {
  TlTensor *r = tl_empty_like(t, t->dtype);
  if (r && tl_copy(r, t) < 0) TL_CLEAR(r);
  return r;
}

TlTensor *tl_index_begin(TlTensor *self, TlTensor *out, bool preserve) {
  if (out == self) return TL_INC(self);
  TlTensor *r =
    preserve ? tl_empty_preserved(TL_CPU, self, self->dtype) : tl_empty(self->dtype, self->ndim, self->shape);
  if (r && tl_copy(r, self) < 0) TL_CLEAR(r);
  return r;
}

PyObject *tl_index_end(TlTensor *dst, TlTensor *out) {
  if (!dst || !out || out == dst) return (PyObject *)dst;
  int bad = tl_copy(out, dst);
  TL_DEC(dst);
  return bad < 0 ? NULL : (PyObject *)TL_INC(out);
}

TlTensor *tl_unshared(TlTensor *src, const TlTensor *dst) {
  TlTensor *s = tl_contiguous_as(src, dst->dtype);
  if (s && s->storage == dst->storage) {
    TlTensor *c = tl_dense_clone(s);
    TL_DEC(s);
    s = c;
  }
  return s;
}

TlTensor *tl_index_i64(TlTensor *t) {
  if (t->dtype != TL_I64 && t->dtype != TL_I32) return NULL;
  return tl_contiguous_as(t, TL_I64);
}

/* ---- nonzero ---------------------------------------------------------------------------------------------------- */
TlTensor *tl_nonzero_columns(TlTensor *t) {
  TlTensor *m = tl_contiguous_as(t, TL_BOOL), *r = NULL;
  int64_t n = 0, shape[2], at = 0, pos[TL_MAX_DIMS] = {0};
  const uint8_t *p;
  int nd = t->ndim;
  if (!m) return NULL;
  p = (const uint8_t *)tl_data(m);
  TL_LOOP(i, m->numel) n += p[i] != 0;
  shape[0] = nd;
  shape[1] = n;
  r = tl_work(0) < 0 ? NULL : tl_empty(TL_I64, 2, shape);
  if (r && n && nd) {
    int64_t *o = (int64_t *)tl_data(r), last = m->shape[nd - 1];
    for (int64_t rows = m->numel / last, work = 0; rows > 0 && !TL_TICK(work, last); rows--, p += last) {
      TL_LOOP(j, last) {
        if (!p[j]) continue;
        for (int d = 0; d < nd - 1; d++) o[d * n + at] = pos[d];
        o[(nd - 1) * n + at++] = j;
      }
      for (int d = nd - 2; d >= 0 && ++pos[d] == m->shape[d]; d--) pos[d] = 0;
    }
  }
  TL_DEC(m);
  return r;
}

/* ---- plans ------------------------------------------------------------------------------------------------------ */
static int plan_dims(tl_plan *p, const TlTensor *self, const uint8_t *indexed, int bdims, const int64_t *bshape) {
  int first = -1, last = -1, adjacent = 1;
  p->nbefore = p->nafter = p->nshape = 0;
  p->nouter = p->ninner = 1;
  for (int d = 0; d < self->ndim; d++) p->nshape += !indexed[d];
  if (p->nshape + bdims > TL_DIM_LIMIT) {
    PyErr_Format(PyExc_RuntimeError, "only tensors with up to %d dims are supported, got %d", TL_DIM_LIMIT,
                 p->nshape + bdims);
    return -1;
  }
  p->nshape = 0;
  for (int d = 0; d < self->ndim; d++) {
    if (!indexed[d]) continue;
    if (first < 0) first = d;
    else if (last != d - 1) adjacent = 0;
    last = d;
  }
  for (int d = 0; d < self->ndim; d++) {
    if (indexed[d]) continue;
    if (adjacent && d < first) {
      p->before[p->nbefore] = self->shape[d];
      p->sbefore[p->nbefore++] = self->strides[d];
      p->nouter = tl_wrap_mul(p->nouter, self->shape[d]);
    } else {
      p->after[p->nafter] = self->shape[d];
      p->safter[p->nafter++] = self->strides[d];
      p->ninner = tl_wrap_mul(p->ninner, self->shape[d]);
    }
  }
  for (int i = 0; i < p->nbefore; i++) p->shape[p->nshape++] = p->before[i];
  for (int i = 0; i < bdims; i++) p->shape[p->nshape++] = bshape[i];
  for (int i = 0; i < p->nafter; i++) p->shape[p->nshape++] = p->after[i];
  return 0;
}

/* offsets += wrap(index) * stride, the index broadcast to bshape */
static int add_offsets(tl_plan *p, TlTensor *ix, int order, int64_t size, int64_t stride, int bdims,
                       const int64_t *bshape) {
  const int64_t *v = (const int64_t *)tl_data(ix);
  int64_t st[TL_MAX_DIMS], pos[TL_MAX_DIMS] = {0}, at = 0, step = 1;
  if (ix->numel == p->count) {
    TL_LOOP(i, p->count) {
      int64_t x = v[i];
      if (x < -size || x >= size) {
        tl_index_error(PyExc_IndexError, x, order, size);
        return -1;
      }
      p->off[i] = tl_wrap_add(p->off[i], tl_wrap_mul(x < 0 ? x + size : x, stride));
    }
    return tl_work(0);
  }
  for (int d = bdims - 1, e = ix->ndim - 1; d >= 0; d--, e--) {
    st[d] = e >= 0 && ix->shape[e] != 1 ? step : 0;
    if (e >= 0) step *= ix->shape[e];
  }
  TL_LOOP(i, p->count) {
    int64_t x = v[at];
    if (x < -size || x >= size) {
      tl_index_error(PyExc_IndexError, x, order, size);
      return -1;
    }
    p->off[i] = tl_wrap_add(p->off[i], tl_wrap_mul(x < 0 ? x + size : x, stride));
    for (int d = bdims - 1; d >= 0; d--) {
      at += st[d];
      if (++pos[d] < bshape[d]) break;
      at -= st[d] * bshape[d];
      pos[d] = 0;
    }
  }
  return tl_work(0);
}

static int start_offsets(tl_plan *p, int bdims, const int64_t *bshape) {
  if (tl_product(bdims, bshape, &p->count) < 0) return -1;
  if (tl_meta) return 0;
  p->off = tl_array(p->count, sizeof(int64_t));
  if (!p->off) return -1;
  if (!tl_clear((char *)p->off, (uint64_t)p->count * sizeof(int64_t))) return 0;
  tl_plan_free(p);
  return -1;
}

static int too_many(const TlTensor *self, Py_ssize_t given) {
  PyErr_Format(PyExc_IndexError, "too many indices for tensor of dimension %d (got %lld)", self->ndim,
               (long long)given);
  return -1;
}

/* A mask over dims n, n + 1, ... of self: its nonzero columns become ix[n], ix[n + 1], ..., and *n
 * moves behind them. `given`: number of indices, for the error. */
static int expand_mask(const TlTensor *self, TlTensor *mask, Py_ssize_t given, TlTensor **ix, int *n) {
  if (!mask->ndim) { /* x[mask] adds a dim to such a mask and to x before it comes here */
    if (!self->ndim) return too_many(self, given);
    PyErr_SetString(PyExc_IndexError, "index(): a mask without dimensions indexes no dimension");
    return -1;
  }
  for (int d = 0; d < mask->ndim; d++) {
    if (*n + d >= self->ndim) return too_many(self, given);
    if (mask->shape[d] == self->shape[*n + d]) continue;
    PyErr_Format(PyExc_IndexError,
                 "The shape of the mask %s at index %d does not match the shape of the indexed tensor %s at index %d",
                 tl_fmt_shape(mask->ndim, mask->shape), d, tl_fmt_shape(self->ndim, self->shape), *n + d);
    return -1;
  }
  TlTensor *columns = tl_nonzero_columns(mask);
  if (!columns) return -1;
  bool ok = true;
  for (int d = 0; d < mask->ndim && ok; d++) {
    int64_t count = columns->shape[1], one = 1;
    ix[*n] = tl_view(columns, 1, &count, &one, columns->offset + d * count);
    ok = ix[*n] != NULL;
    *n += ok;
  }
  TL_DEC(columns);
  return ok ? 0 : -1;
}

/* One index of those given: None and an index tensor fill one slot of ix, a mask one for each of its dims. */
static int expand_index(const TlTensor *self, PyObject *o, Py_ssize_t given, TlTensor **ix, int *n) {
  if (o == Py_None) {
    if (*n >= self->ndim) return too_many(self, given);
    ix[(*n)++] = NULL;
    return 0;
  }
  if (!TL_CHECK(o)) {
    PyErr_SetString(PyExc_TypeError, "index(): indices must be tensors or None");
    return -1;
  }
  TlTensor *t = (TlTensor *)o;
  if (t->dtype == TL_BOOL || t->dtype == TL_U8) {
    if (!tl_meta) return expand_mask(self, t, given, ix, n);
    PyErr_SetString(PyExc_NotImplementedError,
                    "index: how many elements a mask selects is not known on the meta device; use torch.where");
    return -1;
  }
  TlTensor *c = tl_index_i64(t);
  if (!c && !PyErr_Occurred())
    PyErr_SetString(PyExc_IndexError, "tensors used as indices must be long, int, byte or bool tensors");
  if (!c) return -1;
  if (*n >= self->ndim) {
    TL_DEC(c);
    return too_many(self, given);
  }
  ix[(*n)++] = c;
  return 0;
}

/* masks become their nonzero columns; index tensors become contiguous int64. Returns the number of slots or -1. */
static int expand_indices(const TlTensor *self, PyObject *indices, TlTensor **ix) {
  int n = 0;
  Py_ssize_t given = PySequence_Size(indices);
  bool ok = given >= 0;
  for (Py_ssize_t i = 0; ok && i < given; i++) {
    PyObject *o = PySequence_GetItem(indices, i);
    ok = o && expand_index(self, o, given, ix, &n) == 0;
    Py_XDECREF(o);
  }
  if (ok) return n;
  while (n--) TL_DEC(ix[n]);
  return -1;
}

static void shape_mismatch(TlTensor **ix, int n) {
  PyObject *text =
    PyUnicode_FromString("shape mismatch: indexing tensors could not be broadcast together with shapes ");
  int first = 1;
  for (int i = 0; i < n && text; i++) {
    PyObject *next;
    if (!ix[i]) continue;
    next = PyUnicode_FromFormat("%U%s%s", text, first ? "" : ", ", tl_fmt_shape(ix[i]->ndim, ix[i]->shape));
    Py_DECREF(text);
    text = next;
    first = 0;
  }
  PyErr_Clear();
  if (text) PyErr_SetObject(PyExc_IndexError, text);
  Py_XDECREF(text);
}

int tl_plan_index(tl_plan *p, TlTensor *self, PyObject *indices) {
  TlTensor *ix[TL_MAX_DIMS];
  uint8_t indexed[TL_MAX_DIMS] = {0};
  int64_t bshape[TL_MAX_DIMS];
  int n = expand_indices(self, indices, ix), bdims = 0, rc = -1, order = 0;
  p->off = NULL;
  if (n < 0) return -1;
  for (int i = 0; i < n; i++) {
    if (!ix[i]) continue;
    indexed[i] = 1;
    if (tl_broadcast(bdims, bshape, ix[i]->ndim, ix[i]->shape, &bdims, bshape) < 0) {
      shape_mismatch(ix, n);
      goto end;
    }
  }
  if (plan_dims(p, self, indexed, bdims, bshape) < 0 || start_offsets(p, bdims, bshape) < 0) goto end;
  for (int i = 0; i < n; i++) {
    if (!ix[i]) continue;
    if (!self->shape[i] && p->count) {
      PyErr_SetString(PyExc_IndexError, "index is out of bounds for dimension with size 0");
      goto end;
    }
    if (!p->nouter || !p->ninner || tl_meta) continue; /* the result is empty: the index values are not checked */
    if (add_offsets(p, ix[i], order++, self->shape[i], self->strides[i], bdims, bshape) < 0) goto end;
  }
  rc = 0;
end:
  while (n--) TL_DEC(ix[n]);
  if (rc < 0) tl_plan_free(p);
  return rc;
}

int tl_plan_dim(tl_plan *p, TlTensor *self, int dim, TlTensor *index) {
  uint8_t indexed[TL_MAX_DIMS] = {0};
  int64_t stride = self->ndim ? self->strides[dim] : 0;
  const int64_t *v = (const int64_t *)tl_data(index);
  p->off = NULL;
  if (self->ndim) indexed[dim] = 1;
  if (plan_dims(p, self, indexed, index->ndim, index->shape) < 0 || start_offsets(p, index->ndim, index->shape) < 0)
    return -1;
  TL_LOOP(i, tl_meta ? 0 : p->count) p->off[i] = tl_wrap_mul(v[i], stride);
  return 0;
}

void tl_plan_free(tl_plan *p) {
  tl_free(p->off);
  p->off = NULL;
}

/* Coalesces the dims after the index; returns how many remain, at least one, innermost last. */
static int merge_after(const tl_plan *p, int64_t *size, int64_t *stride) {
  int n = 0;
  for (int d = 0; d < p->nafter; d++) {
    if (p->after[d] == 1) continue;
    if (n && stride[n - 1] == tl_wrap_mul(p->safter[d], p->after[d])) {
      size[n - 1] *= p->after[d];
      stride[n - 1] = p->safter[d];
    } else {
      size[n] = p->after[d];
      stride[n++] = p->safter[d];
    }
  }
  if (!n) {
    size[0] = 1;
    stride[0] = 0;
    n = 1;
  }
  return n;
}

#define TAKE1(T) \
  { const T *s = (const T *)base; T *d = (T *)dst; TL_LOOP(i, n) d[i] = s[off[i]]; break; }
static void take_elements(char *dst, const char *base, const int64_t *off, int64_t n, int size) {
  switch (size) {
  case 1:
  TAKE1(uint8_t) case 2:
  TAKE1(uint16_t) case 4:
  TAKE1(uint32_t) case 8:
    TAKE1(uint64_t) default : TAKE1(tl_c128)
  }
}

/* The one loop: for each before, index and after position call fn on a row. take: fn(values, self), else fn(self,
 * values). */
static int plan_run(tl_plan *p, TlTensor *self, char *values, int scalar, tl_row_fn fn, tl_row_fn assign,
                    const uint8_t *first, int take) {
  int64_t size[TL_MAX_DIMS], stride[TL_MAX_DIMS], bpos[TL_MAX_DIMS] = {0}, isz = tl_itemsize[self->dtype];
  int na = merge_after(p, size, stride);
  int64_t n = size[na - 1], rows = n ? p->ninner / n : 0, work = 0;
  intptr_t ss = (intptr_t)(stride[na - 1] * isz), vs = scalar ? 0 : (intptr_t)isz;
  char *base = tl_data(self);
  if (!p->count || !p->nouter || !p->ninner || tl_meta) return 0;
  for (int64_t o = 0; o < p->nouter; o++) {
    if (take && p->ninner == 1) {
      take_elements(values, base, p->off, p->count, (int)isz);
      values += p->count * isz;
    } else if (p->ninner == 1 && isz == 4 && fn == copy4 && !first) {
      TL_LOOP(b, p->count) ((uint32_t *)base)[p->off[b]] = *(const uint32_t *)(values + b * vs);
      values += p->count * vs;
    } else if (p->ninner == 1 && fn == add_f32 && !first) {
      TL_LOOP(b, p->count) ((float *)base)[p->off[b]] += *(const float *)(values + b * vs);
      values += p->count * vs;
    } else {
      for (int64_t b = 0; b < p->count; b++) {
        char *s = base + p->off[b] * isz;
        tl_row_fn f = first && first[b] ? assign : fn;
        int64_t apos[TL_MAX_DIMS] = {0};
        for (int64_t r = 0; r < rows; r++) {
          for (int64_t at = 0, m; at < n; at += m) {
            m = n - at < TL_PIECE ? n - at : TL_PIECE;
            if (take) f(values, vs, s + at * ss, ss, m);
            else f(s + at * ss, ss, values, vs, m);
            values += m * vs;
            if (TL_TICK_INLINE(work, m)) return -1;
          }
          for (int d = na - 2; d >= 0; d--) {
            s += stride[d] * isz;
            if (++apos[d] < size[d]) break;
            s -= stride[d] * size[d] * isz;
            apos[d] = 0;
          }
        }
      }
    }
    if (TL_TICK(work, p->count)) return -1;
    for (int d = p->nbefore - 1; d >= 0; d--) {
      base += p->sbefore[d] * isz;
      if (++bpos[d] < p->before[d]) break;
      base -= p->sbefore[d] * p->before[d] * isz;
      bpos[d] = 0;
    }
  }
  return 0;
}

TlTensor *tl_plan_take(tl_plan *p, TlTensor *self) {
  TlTensor *r = tl_empty(self->dtype, p->nshape, p->shape);
  tl_row_fn copy = tl_row_op(TL_ROW_ASSIGN, self->dtype);
  if (r && plan_run(p, self, tl_data(r), 0, copy, copy, NULL, 1) < 0) TL_CLEAR(r);
  return r;
}

int tl_plan_put(tl_plan *p, TlTensor *self, TlTensor *values, tl_row_fn fn, const uint8_t *first) {
  return plan_run(p, self, tl_data(values), values->numel == 1, fn, tl_row_op(TL_ROW_ASSIGN, self->dtype), first, 0);
}
