/* reduce_plan.c: how a reduction walks memory (see reduce.h). */
#include "reduce/reduce.h"
#include "core/errors.h"
#include "core/geometry.h"
#include "core/rows.h"
#include <math.h>

PyObject *tl_pack2(TlTensor *a, TlTensor *b) {
  PyObject *r = a && b ? PyTuple_Pack(2, (PyObject *)a, (PyObject *)b) : NULL;
  Py_XDECREF((PyObject *)a);
  Py_XDECREF((PyObject *)b);
  return r;
}

PyObject *tl_pack3(TlTensor *a, TlTensor *b, TlTensor *c) {
  PyObject *r = a && b && c ? PyTuple_Pack(3, (PyObject *)a, (PyObject *)b, (PyObject *)c) : NULL;
  Py_XDECREF((PyObject *)a);
  Py_XDECREF((PyObject *)b);
  Py_XDECREF((PyObject *)c);
  return r;
}

TlAxis tl_axis(const TlTensor *t, int dim) {
  TlAxis a = {1, 1, 1};
  for (int i = 0; i < t->ndim; i++) {
    if (i < dim) a.outer = tl_wrap_mul(a.outer, t->shape[i]);
    else if (i == dim) a.n = t->shape[i];
    else a.inner = tl_wrap_mul(a.inner, t->shape[i]);
  }
  return a;
}

int tl_red_mask(PyObject *dim, int ndim, uint8_t *mask, bool empty_is_none) {
  int64_t dims[TL_MAX_DIMS];
  int n;
  if (tl_none(dim)) {
    memset(mask, 1, ndim);
    return 0;
  }
  if (PyLong_Check(dim)) {
    dims[0] = PyLong_AsLongLong(dim);
    if (dims[0] == -1 && PyErr_Occurred()) return -1;
    n = 1;
  } else if (tl_ints(dim, dims, &n) < 0) {
    return -1;
  }
  memset(mask, n <= 0 && !empty_is_none, ndim);
  for (int i = 0; i < n; i++) {
    int d;
    if (tl_wrap_dim(dims[i], ndim, &d) < 0) return -1;
    if (ndim == 0 ? i > 0 : mask[d]) return tl_repeated_dim_error(d);
    if (ndim) mask[d] = 1;
  }
  return 0;
}

/* Sorts the dims of a tensor that is not contiguous, expanded dims outermost, and lays the result out in that order. */
static void memory_order(TlRed *r, const TlTensor *t, const uint8_t *mask, bool keepdim, int *order, int n) {
  int64_t sizes[TL_MAX_DIMS], strides[TL_MAX_DIMS];
  int last = t->ndim;
  tl_sort_dims(n, order, t->strides, true);
  for (int i = 0; i < n; i++)
    if (!mask[order[i]]) {
      r->natural = r->natural && order[i] < last;
      last = order[i];
    }
  if (r->natural) return;
  for (int d = 0; d < t->ndim; d++) sizes[d] = mask[d] ? 1 : t->shape[d];
  tl_ordered_strides(n, order, sizes, 0, strides);
  for (int d = 0, o = 0; d < t->ndim; d++) {
    if (mask[d] && !keepdim) continue;
    r->ostride[o++] = mask[d] || t->shape[d] == 1 ? 1 : strides[d];
  }
}

/* More results than memory has room for, and few enough that their bytes can be counted. Only an input without
 * elements has as many. */
#define TOO_MANY (INT64_MAX / 64)

void tl_red_plan(TlRed *r, TlTensor *t, const uint8_t *mask, bool keepdim, tl_dtype load) {
  int order[TL_MAX_DIMS], n = 0;
  r->dtype = t->dtype;
  r->load = load;
  r->abs = false;
  r->data = tl_data(t);
  r->nout = r->k = 1;
  r->odim = 0;
  for (int d = 0; d < t->ndim; d++) {
    if (mask[d]) {
      r->k = tl_wrap_mul(r->k, t->shape[d]);
      if (keepdim) r->oshape[r->odim++] = 1;
    } else {
      if (__builtin_mul_overflow(r->nout, t->shape[d], &r->nout) || r->nout > TOO_MANY) r->nout = TOO_MANY;
      r->oshape[r->odim++] = t->shape[d];
    }
  }
  for (int d = t->ndim - 1; d >= 0; d--)
    if (t->shape[d] != 1) order[n++] = d;
  r->natural = true;
  if (!tl_is_contiguous(t)) memory_order(r, t, mask, keepdim, order, n);
  const int64_t *strides = t->strides;
  int64_t sizes[TL_MAX_DIMS];
  int keep[TL_MAX_DIMS], m = tl_coalesce(n, order, t->shape, 1, &strides, mask, sizes, keep);
  for (int i = 0; i < m; i++) {
    r->size[m - 1 - i] = sizes[i];
    r->stride[m - 1 - i] = strides[keep[i]];
    r->red[m - 1 - i] = mask[keep[i]];
  }
  r->ndim = m;
  int64_t ostep = 1, kstep = 1;
  for (int i = m - 1; i >= 0; i--) {
    r->ostep[i] = r->red[i] ? 0 : ostep;
    r->kstep[i] = r->red[i] ? kstep : 0;
    if (r->red[i]) kstep = tl_wrap_mul(kstep, r->size[i]);
    else ostep = tl_wrap_mul(ostep, r->size[i]);
  }
}

TlTensor *tl_red_result(const TlRed *r, tl_dtype dtype) {
  return r->natural ? tl_empty(dtype, r->odim, r->oshape) : tl_empty_strided(dtype, r->odim, r->oshape, r->ostride);
}

TlTensor *tl_red_done(TlTensor *result) {
  TlTensor *r = result ? tl_contiguous(result) : NULL;
  Py_XDECREF((PyObject *)result);
  return r;
}

/* ---- the walk --------------------------------------------------------------------------------------------------- */
enum { CHUNK = 1024 };
typedef struct {
  _Alignas(64) char raw[CHUNK * 16], conv[CHUNK * 16];
} Buffer;

/* n elements of r->dtype, `step` apart, side by side */
static void gather(const TlRed *r, char *dst, const char *src, int64_t step, int64_t n) {
  const intptr_t size = tl_itemsize[r->dtype];
  tl_move(dst, size, src, (intptr_t)step * size, n, size);
}

/* n elements at p, `step` apart, as contiguous elements of r->load */
static const void *load(const TlRed *r, Buffer *b, char *dst, const char *p, int64_t step, int64_t n) {
  if (r->abs) {
    if (r->dtype == TL_C64) {
      const tl_c64 *z = (const tl_c64 *)p;
      float *d = (float *)dst;
      for (int64_t i = 0; i < n; i++) {
        double re = z[i * step].re, im = z[i * step].im;
        d[i] = (float)sqrt(re * re + im * im);
      }
    } else {
      const tl_c128 *z = (const tl_c128 *)p;
      double *d = (double *)dst;
      for (int64_t i = 0; i < n; i++) d[i] = hypot(z[i * step].re, z[i * step].im);
    }
  } else if (step == 1) {
    tl_cast_contig(r->load, dst, r->dtype, p, n);
  } else if (r->dtype == r->load) {
    gather(r, dst, p, step, n);
  } else {
    gather(r, b->raw, p, step, n);
    tl_cast_contig(r->load, dst, r->dtype, b->raw, n);
  }
  return dst;
}

enum { BAND = 1 << 22 }; /* elements between two looks for an interrupt */

/* What one step of the walk reduces: n elements, `step` apart, of each of `rows` rows, `rstep` apart. The other dims
 * are walked over, one step for each of their positions. */
typedef struct {
  const TlRed *r;
  TlRedLoop loop;
  void *ctx;
  int64_t n, step, rows, rstep, rk; /* rk: how far a row is from the next in the numbering of reduced elements */
  Buffer buf;
} Walk;

/* Many short rows along dim `turn`, turned in the buffer, so that neighbouring outputs are reduced side by side. */
static int turned_rows(Walk *w, int turn, int64_t o, int64_t k, const char *p) {
  const TlRed *r = w->r;
  int64_t size = tl_itemsize[r->dtype], lsize = tl_itemsize[r->load], apart = r->stride[turn];
  for (int64_t j = 0; j < r->size[turn]; j += 128) {
    int64_t m = r->size[turn] - j < 128 ? r->size[turn] - j : 128;
    for (int64_t i = 0; i < w->n; i++)
      load(r, &w->buf, w->buf.conv + i * m * lsize, p + (i * w->step + j * apart) * size, apart, m);
    w->loop.cols(w->ctx, o + j, k, w->buf.conv, m, w->n, m);
    if (tl_work(m * w->n) < 0) return -1;
  }
  return 0;
}

/* One row. `direct`: its elements need no conversion and lie side by side. */
static int one_row(Walk *w, bool direct, int64_t o, int64_t k, const char *p) {
  int64_t size = tl_itemsize[w->r->dtype], most = direct ? BAND : CHUNK;
  for (int64_t i = 0; i < w->n; i += most) {
    int64_t m = w->n - i < most ? w->n - i : most;
    const char *from = p + i * w->step * size;
    w->loop.row(w->ctx, o, k + i, direct ? from : load(w->r, &w->buf, w->buf.conv, from, w->step, m), m);
    if (w->n > most && tl_work(m) < 0) return -1;
  }
  return 0;
}

/* Rows whose outputs lie side by side, in bands, so that a long walk can be interrupted. */
static int direct_columns(Walk *w, int64_t o, int64_t k, const char *p) {
  int64_t size = tl_itemsize[w->r->dtype], band = BAND / w->n + 1;
  for (int64_t q = 0; q < w->rows; q += band) {
    int64_t m = w->rows - q < band ? w->rows - q : band;
    w->loop.cols(w->ctx, o, k + q * w->rk, p + q * w->rstep * size, w->rstep, m, w->n);
    if (w->rows > band && tl_work(BAND) < 0) return -1;
  }
  return 0;
}

/* As direct_columns, of elements that are converted in the buffer first. */
static int converted_columns(Walk *w, int64_t o, int64_t k, const char *p) {
  int64_t size = tl_itemsize[w->r->dtype], lsize = tl_itemsize[w->r->load];
  int64_t width = w->n < 256 ? w->n : 256, band = CHUNK / width;
  for (int64_t j = 0; j < w->n; j += width) {
    int64_t m = w->n - j < width ? w->n - j : width;
    for (int64_t q = 0; q < w->rows; q += band) {
      int64_t h = w->rows - q < band ? w->rows - q : band;
      for (int64_t i = 0; i < h; i++)
        load(w->r, &w->buf, w->buf.conv + i * m * lsize, p + ((q + i) * w->rstep + j * w->step) * size, w->step, m);
      w->loop.cols(w->ctx, o + j, k + q * w->rk, w->buf.conv, m, h, m);
      if (tl_work(h * m) < 0) return -1;
    }
  }
  return 0;
}

int tl_red_run(const TlRed *r, TlRedLoop loop, void *ctx) {
  if (r->nout == 0 || r->k == 0) return 0;
  int inner = r->ndim - 1, rdim = -1, nloop = 0, loops[TL_MAX_DIMS];
  int64_t at[TL_MAX_DIMS], size = tl_itemsize[r->dtype], budget = BAND;
  bool by_row = r->ndim == 0 || r->red[inner];
  Walk w;
  w.r = r, w.loop = loop, w.ctx = ctx;
  w.n = r->ndim ? r->size[inner] : 1;
  w.step = r->ndim ? r->stride[inner] : 1;
  w.rows = 1;
  w.rstep = w.rk = 0;
  if (!by_row) {
    for (rdim = inner - 1; rdim >= 0 && !r->red[rdim]; rdim--) {}
    if (rdim >= 0) {
      w.rows = r->size[rdim];
      w.rstep = r->stride[rdim];
      w.rk = r->kstep[rdim];
    }
  }
  for (int i = 0; i < inner; i++)
    if (i != rdim) {
      at[nloop] = 0;
      loops[nloop++] = i;
    }
  bool direct = r->dtype == r->load && w.step == 1 && !r->abs;
  int last = nloop ? loops[nloop - 1] : -1;
  bool turns = by_row && w.n <= 8 && last >= 0 && !r->red[last] && r->size[last] >= 16;
  if (turns) nloop--;
  const char *p = r->data;
  int64_t o = 0, k = 0, work = w.n * (turns ? r->size[last] : w.rows);
  for (;;) {
    int rc = 0;
    if (turns) rc = turned_rows(&w, last, o, k, p);
    else if (by_row) rc = one_row(&w, direct, o, k, p);
    else if (direct) rc = direct_columns(&w, o, k, p);
    else rc = converted_columns(&w, o, k, p);
    if (rc < 0) return -1;
    if ((budget -= work) < 0) {
      budget = BAND;
      if (tl_check_interrupt() < 0) return -1;
    }
    int i = nloop - 1;
    for (; i >= 0; i--) {
      int d = loops[i];
      p += r->stride[d] * size;
      o += r->ostep[d];
      k += r->kstep[d];
      if (++at[i] < r->size[d]) break;
      at[i] = 0;
      p -= r->stride[d] * size * r->size[d];
      o -= r->ostep[d] * r->size[d];
      k -= r->kstep[d] * r->size[d];
    }
    if (i < 0) return 0;
  }
}
