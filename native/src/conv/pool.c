/* pool.c: max and average pooling, adaptive pooling, unfold and fold. Rows of indices count inside one plane, as in
 * PyTorch. The public ops make their own checks first; this file has the checks that all of them share. */
#include "core/check.h"
#include "core/errors.h"
#include "core/geometry.h"
#include "conv/pool.h"
#include "math/simd.h"
#include "nn/image.h"
#include <math.h>

/* channels-last memory of other types than float is rare: these loops are compiled for size */
#define SMALL_BEGIN _Pragma("clang attribute push(__attribute__((minsize)), apply_to = function)")
#define SMALL_END _Pragma("clang attribute pop")

#define T float
#define ACC double
#define LOWEST (-INFINITY)
#define DIVIDE(a, b) ((a) / (b))
#define PLUS(a, b) ((a) + (b))
#define F(name) name##_f32
#define FOUR_MAXIMA
#include "conv/pool_impl.h"
#undef FOUR_MAXIMA
#include "conv/pool_last_impl.h"
#undef T
#undef ACC
#undef LOWEST
#undef F
#define T double
#define ACC double
#define LOWEST (-INFINITY)
#define F(name) name##_f64
#include "conv/pool_impl.h"
SMALL_BEGIN
#include "conv/pool_last_impl.h"
SMALL_END
#undef T
#undef ACC
#undef LOWEST
#undef F
#undef DIVIDE
#undef PLUS
#define PLUS(a, b) tl_wrap_add(a, b)
#define DIVIDE(a, b) ((b) == -1 ? (int64_t)(0 - (uint64_t)(a)) : (a) / (b))      /* the smallest number / -1 traps */
#define T int64_t
#define ACC int64_t
#define LOWEST INT64_MIN
#define F(name) name##_i64
#include "conv/pool_impl.h"
SMALL_BEGIN
#include "conv/pool_last_impl.h"
SMALL_END
#undef T
#undef ACC
#undef LOWEST
#undef F

#define FAIL(...) do { PyErr_Format(PyExc_RuntimeError, __VA_ARGS__); return -1; } while (0)
#define LL(x) ((long long)(x))
enum { DIMS = 3, INDICES = 4 }; /* bits of ids: the dims of a window, and a maximum that gives indices too */
#define BY_FLOAT(wd, call) ((wd) == TL_F32 ? call(float, _f32) : call(double, _f64))
#define BY_TYPE(wd, call) ((wd) == TL_I64 ? call(int64_t, _i64) : BY_FLOAT(wd, call))

/* an int for all dims, or nd of them; an empty list means dflt */
static int spread(const char *op, const char *arg, PyObject *o, int nd, int64_t *v, const int64_t *dflt) {
  static const char *const number[4] = {"", "one", "two", "three"};
  int64_t all[TL_MAX_DIMS];
  int n;
  if (tl_ints(o, all, &n)) return -1;
  if (n <= 0 && dflt) {
    memcpy(v, dflt, 3 * sizeof *v);
    return 0;
  }
  if (n != 1 && n != nd) {
    if (nd == 1) FAIL("%s() %s must be an int, list of ints or tuple of ints of size 1 but got size %d", op, arg, n);
    FAIL("%s: %s must either be %sa single int, or a tuple of %s ints", op, arg, dflt ? "omitted, " : "", number[nd]);
  }
  for (int i = 0; i < nd; i++) v[3 - nd + i] = all[n == 1 ? 0 : i];
  return 0;
}

static const char *sizes(char *b, const char *open, int64_t lead, int nd, const int64_t *v) {
  char *p = b + PyOS_snprintf(b, 40, "%s%lld", open, LL(lead));
  for (int i = 3 - nd; i < 3; i++) p += PyOS_snprintf(p, 24, "x%lld", LL(v[i]));
  return b;
}

static void clear(TlPool *c) {
  *c = (TlPool){.planes = 1};
  for (int i = 0; i < 3; i++) c->in[i] = c->out[i] = c->k[i] = c->s[i] = c->d[i] = 1;
}

/* sets planes and input size; the last nd dims are spatial; full: no dim but the batch may be empty */
static int input(TlPool *c, const char *op, int nd, int ndim, const int64_t *shape, bool full) {
  clear(c);
  if (tl_product(ndim, shape, NULL) < 0) return -1;
  bool bad = ndim < nd + 1 || ndim > nd + 2;
  int dim;
  if (nd > 1 && ndim <= nd && !strncmp(op, "avg", 3)) return tl_wrap_dim(-(nd + 1), ndim, &dim);
  if (bad && nd > 1) FAIL("non-empty %dD or %dD (batch mode) tensor expected for input", nd + 1, nd + 2);
  for (int i = ndim - nd - 1; !bad && full && i < ndim; i++) bad |= i >= 0 && shape[i] == 0;
  if (bad)
    FAIL("%s%sExpected %dD or %dD (batch mode) tensor with optional 0 dim batch size for input, but got:%s",
         nd == 1 ? op : "", nd == 1 ? ": " : "", nd + 1, nd + 2, tl_fmt_shape(ndim, shape));
  for (int i = 0; i < ndim; i++) {
    if (i < ndim - nd) c->planes *= shape[i];
    else c->in[3 - (ndim - i)] = shape[i];
  }
  return 0;
}

/* of max_pool1d_with_indices, which pools rows as images of height 1 */
static int input_rows(TlPool *c, const TlTensor *x) {
  const int n = x->ndim;
  if (n < 2 || n > 3)
    FAIL("Expected 2 to 3 dimensions, but got %d-dimensional tensor for argument #1 'self' (while checking arguments "
         "for max_pool1d)",
         n);
  int64_t shape[4];
  memcpy(shape, x->shape, (size_t)n * sizeof *shape);
  shape[n] = shape[n - 1];
  shape[n - 1] = 1;
  return input(c, "max_pool2d", 2, n + 1, shape, true);
}

static int window(TlPool *c, const char *op, int nd, PyObject *k, PyObject *s, PyObject *p, PyObject *d, bool ceil_mode,
                  int64_t lead, bool rows) {
  const bool own = nd == 1 && d && !rows; /* max_pool1d has words of its own, where rows are not pooled as images */
  if (spread(op, "kernel_size", k, nd, c->k, NULL) || spread(op, "stride", s, nd, c->s, c->k) ||
      spread(op, "padding", p, nd, c->p, NULL) || (d && spread(op, "dilation", d, nd, c->d, NULL)))
    return -1;
  bool small = false;
  for (int i = 3 - nd; i < 3; i++) {
    if (c->k[i] > INT32_MAX || c->s[i] > INT32_MAX || c->p[i] > INT32_MAX || c->d[i] > INT32_MAX)
      FAIL("integer out of range");
    if (own) {
      const int64_t v[3] = {c->k[i], c->s[i], c->d[i]};
      static const char *const what[3] = {"kernel_size", "stride", "dilation"};
      for (int j = 0; j < 3; j++)
        if (v[j] <= 0) FAIL("max_pool1d() %s must be greater than zero, but got %lld", what[j], LL(v[j]));
      if (c->p[i] > c->k[i] / 2)
        FAIL("max_pool1d() padding should be at most half of kernel size, but got padding=%lld and kernel_size=%lld",
             LL(c->p[i]), LL(c->k[i]));
    }
    if (c->s[i] <= 0) FAIL("stride should not be zero");
    if (c->k[i] <= 0) FAIL("kernel size should be greater than zero, but got %lld", LL(c->k[i]));
    if (c->d[i] <= 0) {
      if (nd == 3)
        FAIL("dilation should be greater than zero, but got dilationT: %lld dilationH: %lld dilationW: %lld",
             LL(c->d[0]), LL(c->d[1]), LL(c->d[2]));
      FAIL("dilation should be greater than zero, but got dilationH: %lld dilationW: %lld", LL(c->d[1]), LL(c->d[2]));
    }
    if (c->p[i] < 0) FAIL("pad must be non-negative, but got pad: %lld", LL(c->p[i]));
    if (c->p[i] > ((c->k[i] - 1) * c->d[i] + 1) / 2)
      FAIL("pad should be at most half of effective kernel size, but got pad=%lld, kernel_size=%lld and dilation=%lld",
           LL(c->p[i]), LL(c->k[i]), LL(c->d[i]));
    int64_t span = c->in[i] + 2 * c->p[i] - c->d[i] * (c->k[i] - 1) - 1 + (ceil_mode ? c->s[i] - 1 : 0);
    c->out[i] = (span < 0 ? -((-span + c->s[i] - 1) / c->s[i]) : span / c->s[i]) + 1;
    if (ceil_mode && (c->out[i] - 1) * c->s[i] >= c->in[i] + c->p[i]) c->out[i]--;
    small |= c->out[i] < 1;
  }
  bool wide = false, below = false;
  for (int i = 0; i < 3; i++) {
    wide |= c->p[i] > c->k[i] / 2;
    below |= c->in[i] < c->k[i];
  }
  if (wide && nd == 2)
    FAIL("pad should be smaller than or equal to half of kernel size, but got padW = %lld, padH = %lld, kW = %lld, kH "
         "= %lld",
         LL(c->p[2]), LL(c->p[1]), LL(c->k[2]), LL(c->k[1]));
  if (wide && nd == 3)
    FAIL("pad should be smaller than or equal to half of kernel size, but got kT: %lld kW: %lld kH: %lld padT: %lld "
         "padW: %lld padH: %lld",
         LL(c->k[0]), LL(c->k[2]), LL(c->k[1]), LL(c->p[0]), LL(c->p[2]), LL(c->p[1]));
  if (below && nd == 3 && !d)
    FAIL("input image (T: %lld H: %lld W: %lld) smaller than kernel size (kT: %lld kH: %lld kW: %lld)", LL(c->in[0]),
         LL(c->in[1]), LL(c->in[2]), LL(c->k[0]), LL(c->k[1]), LL(c->k[2]));
  if (small && own) FAIL("max_pool1d() Invalid computed output size: %lld", LL(c->out[2]));
  if (small) {
    char b1[128], b2[128];
    if (nd == 1) nd = 2; /* PyTorch pools rows as images of height 1 */
    FAIL("Given input size: (%s). Calculated output size: (%s). Output size is too small",
         sizes(b1, "", lead, nd, c->in), sizes(b2, "", lead, nd, c->out));
  }
  return 0;
}

/* A contiguous or channels-last result. A volume without a batch dim has no channels-last format of its own: it gets
 * the strides of a batch of one. */
static TlTensor *empty_in(tl_dtype dt, int n, const int64_t *shape, int nd, bool last) {
  int64_t batch[5] = {1}, strides[5];
  if (!last || n != 4 || nd != 3) return tl_empty_format(dt, n, shape, last);
  memcpy(batch + 1, shape, 4 * sizeof *shape);
  tl_channels_last_strides(5, batch, strides);
  return tl_empty_strided(dt, 4, shape, strides + 1);
}

/* true for a dense volume without a batch dim in these strides, unless it is contiguous as well */
static bool volume_last(const TlTensor *t, int nd) {
  int64_t step = 1;
  if (nd != 3 || t->ndim != 4 || tl_is_contiguous(t)) return false;
  for (int i = 0; i < 4; i++) {
    const int d = i ? 4 - i : 0;
    if (t->shape[d] != 1 && t->strides[d] != step) return false;
    step = tl_wrap_mul(step, t->shape[d]);
  }
  return true;
}

static TlTensor *copy_in(TlTensor *t, tl_dtype dt, int nd, bool last) {
  if (!last || t->ndim != 4 || nd != 3) return tl_in_format(t, dt, last);
  if (t->dtype == dt && volume_last(t, nd)) return (TlTensor *)Py_NewRef((PyObject *)t);
  TlTensor *r = empty_in(dt, 4, t->shape, nd, true);
  if (r && tl_copy(r, t) < 0) Py_CLEAR(r);
  return r;
}

static TlTensor *result(TlTensor *x, int nd, tl_dtype dt, const int64_t *spatial, bool last) {
  int64_t shape[TL_MAX_DIMS];
  for (int i = 0; i < x->ndim; i++) shape[i] = i < x->ndim - nd ? x->shape[i] : spatial[3 - (x->ndim - i)];
  return empty_in(dt, x->ndim, shape, nd, last);
}

/* whether the result shall be channels last; rows are pooled as images of height 1 */
static bool asks_last(const TlTensor *x, int nd) {
  return x->ndim == nd + 2 && x->numel && tl_suggests_last(x->ndim, x->shape, x->strides);
}

static TlTensor *zeros_in(tl_dtype dt, int n, const int64_t *shape, int nd, bool last) {
  TlTensor *t = empty_in(dt, n, shape, nd, last);
  if (t && tl_clear(t->storage->data, t->storage->nbytes)) Py_CLEAR(t);
  return t;
}

static PyObject *finish(TlTensor *y, tl_dtype dt, bool ok) {
  PyObject *r = ok && y ? (PyObject *)tl_cast(y, dt) : NULL;
  Py_XDECREF(y);
  return r;
}

static PyObject *pair(TlTensor *y, TlTensor *idx, tl_dtype dt, bool ok) {
  PyObject *v = finish(y, dt, ok), *r = NULL;
  if (v && idx) r = PyTuple_Pack(2, v, (PyObject *)idx);
  Py_XDECREF(v);
  Py_XDECREF(idx);
  return r;
}

#define KERNEL(name) static PyObject *name(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out)
#define ARG(i) ((TlTensor *)args[i])
#define DATA(t, T) ((T *)tl_data(t))

/* (self, kernel_size, stride, padding, dilation, ceil_mode); id: dims, +10 with indices */
KERNEL(k_max)
{
  static const char *const names[] = {"max_pool1d", "max_pool2d", "max_pool3d"};
  const int nd = k->id & DIMS;
  const bool with = k->id & INDICES;
  TlTensor *x = ARG(0), *xc = NULL, *y = NULL, *idx = NULL;
  TlPool c;
  const char *op = names[nd - 1];
  const bool rows = nd == 1 && with;
  if ((rows ? input_rows(&c, x) : input(&c, op, nd, x->ndim, x->shape, true)) ||
      window(&c, op, nd, args[1], args[2], args[3], args[4], args[5] == Py_True, x->shape[x->ndim - nd - 1], rows))
    return NULL;
  if (nd == 1 && !with && (tl_is_complex(x->dtype) || tl_is_integral(x->dtype)))
    return tl_not_implemented("max_pool1d_impl", x->dtype);
  if (tl_is_complex(x->dtype) || x->dtype == TL_BOOL) return tl_not_implemented(nd == 1 ? "max_pool2d" : op, x->dtype);
  const tl_dtype wd = tl_window_dtype(x->dtype);
  const bool volume = volume_last(x, nd), last = volume || ((nd > 1 || with) && asks_last(x, nd));
  bool ok = (xc = copy_in(x, wd, nd, last)) && (y = result(x, nd, wd, c.out, last)) &&
            (!with || (idx = result(x, nd, TL_I64, c.out, last)));
  const int64_t images = volume ? 1 : x->shape[0];
  int64_t *where = ok && idx ? DATA(idx, int64_t) : NULL;
#define CALL(T, sfx) \
  (last ? max_pool_last##sfx(&c, images, x->shape[!volume], DATA(xc, T), DATA(y, T), where) \
        : max_pool##sfx(&c, DATA(xc, T), DATA(y, T), where))
  if (ok && y->numel) ok = BY_TYPE(wd, CALL) == 0;
#undef CALL
  Py_XDECREF(xc);
  return with ? pair(y, idx, x->dtype, ok) : finish(y, x->dtype, ok);
}

/* (grad_output, indices, input_size, dims, window, channels_last): sums into zeros; the last dims are spatial */
KERNEL(k_max_backward)
{
  TlTensor *g = ARG(0), *idx = ARG(1), *gc = NULL, *ic = NULL, *x = NULL;
  int64_t shape[TL_MAX_DIMS], nd, planes, in;
  int n;
  if (tl_ints(args[2], shape, &n) || tl_int_in(args[3], k->name, "dims", 1, n < 3 ? n : 3, &nd) ||
      tl_check_batch(k->name, "grad_output", g, n, n - (int)nd, shape) || tl_check_same(k->name, "indices", idx, g) ||
      tl_product(n, shape, NULL) || tl_product(n - (int)nd, shape, &planes) || tl_product((int)nd, shape + n - nd, &in))
    return NULL;
  if (tl_is_complex(g->dtype) || !tl_is_integral(idx->dtype))
    return tl_not_implemented(k->name, tl_is_complex(g->dtype) ? g->dtype : idx->dtype);
  const tl_dtype wd = tl_window_dtype(g->dtype);
  const bool volume = n == 4 && volume_last(g, (int)nd), last = volume || (args[5] == Py_True && n == nd + 2);
  bool ok = (gc = copy_in(g, wd, (int)nd, last)) && (ic = copy_in(idx, TL_I64, (int)nd, last)) &&
            (x = zeros_in(wd, n, shape, (int)nd, last));
  if (ok && g->numel) {
    int64_t each = g->numel / planes, images = volume ? 1 : shape[0];
#define CALL(T, sfx) \
  ((last ? max_backward_last##sfx(images, shape[!volume], in, each, DATA(gc, T), DATA(ic, int64_t), DATA(x, T)) \
                            : max_backward##sfx(planes, in, each, DATA(gc, T), DATA(ic, int64_t), DATA(x, T))), 0)
    (void)BY_TYPE(wd, CALL);
#undef CALL
  }
  Py_XDECREF(gc);
  Py_XDECREF(ic);
  return finish(x, g->dtype, ok);
}

static int divisor(TlPool *c, PyObject *o) {
  if (o == Py_None) return 0;
  if (tl_int(o, &c->divisor)) return -1;
  if (!c->divisor) FAIL("divisor must be not zero");
  return 0;
}

/* avg_poolNd(self, kernel_size, stride, padding, ceil_mode, count_include_pad[, divisor_override]) */
KERNEL(k_avg)
{
  const int nd = k->id;
  TlTensor *x = ARG(0), *xc = NULL, *y = NULL;
  TlPool c;
  if (input(&c, k->name, nd, x->ndim, x->shape, true) || (nargs > 6 && divisor(&c, args[6])) ||
      window(&c, k->name, nd, args[1], args[2], args[3], NULL, args[4] == Py_True, x->shape[x->ndim - nd - 1], false))
    return NULL;
  static const char *const names[] = {"avg_pool2d", "avg_pool2d", "avg_pool3d_out_frame"}; /* in PyTorch's messages */
  if (tl_is_complex(x->dtype) || (tl_is_integral(x->dtype) && x->dtype != TL_I64))
    return tl_not_implemented(names[nd - 1], x->dtype);
  if (nd == 3 && (x->dtype == TL_F16 || x->dtype == TL_BF16))
    return tl_not_implemented("avg_pool3d_out_frame", x->dtype);
  c.include_pad = args[5] == Py_True;
  const tl_dtype wd = tl_window_dtype(x->dtype);
  const bool last = nd < 3 && asks_last(x, nd);
  bool ok = (xc = tl_in_format(x, wd, last)) && (y = result(x, nd, wd, c.out, last));
#define CALL(T, sfx) \
  (last ? avg_pool_last##sfx(&c, x->shape[0], x->shape[1], DATA(xc, T), DATA(y, T), false) \
      : avg_pool##sfx(&c, DATA(xc, T), DATA(y, T), false))
  if (ok && y->numel) ok = BY_TYPE(wd, CALL) == 0;
#undef CALL
  Py_XDECREF(xc);
  return finish(y, x->dtype, ok);
}

/* (grad_output, input_size, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override,
 * channels_last) */
KERNEL(k_avg_backward)
{
  TlTensor *g = ARG(0), *gc = NULL, *x = NULL;
  int64_t shape[TL_MAX_DIMS];
  int n, kn;
  int64_t kk[TL_MAX_DIMS];
  TlPool c;
  if (tl_ints(args[1], shape, &n) || tl_ints(args[2], kk, &kn)) return NULL;
  if (n < 1 || kn < 1 || kn > 3 || tl_is_complex(g->dtype)) {
    PyErr_Format(PyExc_RuntimeError,
                 "%s(): expected input_size and one to three sizes of a kernel, and no complex numbers", k->name);
    return NULL;
  }
  if (input(&c, "avg_pool", kn, n, shape, false) || divisor(&c, args[7]) ||
      window(&c, "avg_pool", kn, args[2], args[3], args[4], NULL, args[5] == Py_True, 1, false))
    return NULL;
  c.include_pad = args[6] == Py_True;
  for (int i = 0; i < n; i++) kk[i] = i < n - kn ? shape[i] : c.out[3 - (n - i)];
  if (tl_check_shape(k->name, "grad_output", g, n, kk) < 0) return NULL;
  const tl_dtype wd = tl_window_dtype(g->dtype);
  const bool last = args[8] == Py_True && n == kn + 2 && g->ndim == n;
  bool ok = (gc = tl_in_format(g, wd, last)) && (x = zeros_in(wd, n, shape, kn, last));
#define CALL(T, sfx) \
  (last ? avg_pool_last##sfx(&c, shape[0], shape[1], DATA(x, T), DATA(gc, T), true) \
      : avg_pool##sfx(&c, DATA(x, T), DATA(gc, T), true))
  if (ok && x->numel && g->numel) ok = BY_TYPE(wd, CALL) == 0;
#undef CALL
  Py_XDECREF(gc);
  return finish(x, g->dtype, ok);
}

/* Whether the output size is 1 along each dim. The sizes have not been checked yet. */
static bool single(const TlPool *c) { return c->out[0] == 1 && c->out[1] == 1 && c->out[2] == 1; }

/* adaptive_{avg,max}_poolNd(self, output_size) */
KERNEL(k_adaptive)
{
  static const char *const names[2][3] = {/* in PyTorch's messages */
                                          {"adaptive_avg_pool2d", "adaptive_avg_pool2d", "adaptive_avg_pool3d_cpu"},
                                          {"adaptive_max_pool2d", "adaptive_max_pool2d", "adaptive_max_pool3d_cpu"}};
  const int nd = k->id & DIMS, mode = k->id & INDICES ? 2 : 0;
  TlTensor *x = ARG(0), *xc = NULL, *y = NULL, *idx = NULL;
  TlPool c;
  if (input(&c, k->name, nd, x->ndim, x->shape, false) || spread(k->name, "output_size", args[1], nd, c.out, NULL))
    return NULL;
  if (tl_is_complex(x->dtype) || tl_is_integral(x->dtype))
    return tl_not_implemented(names[mode != 0][nd - 1], x->dtype);
  const tl_dtype wd = tl_window_dtype(x->dtype);
  /* PyTorch keeps the format of volumes only for averages of everything, which it computes as means */
  const bool last = (nd < 3 || (!mode && single(&c))) && asks_last(x, nd);
  bool ok = (xc = tl_in_format(x, wd, last)) && (y = result(x, nd, wd, c.out, last)) &&
            (!mode || (idx = result(x, nd, TL_I64, c.out, last)));
  if (ok && y->numel && !x->numel) { /* the input is empty, and there may be 2^62 windows */
    PyErr_Format(PyExc_RuntimeError,
                 "%s(): Expected input to have non-zero size for non-batch dimensions, but input has sizes %s", k->name,
                 tl_fmt_shape(x->ndim, x->shape));
    ok = false;
  }
  int64_t *where = ok && idx ? DATA(idx, int64_t) : NULL;
#define CALL(T, sfx) \
  (last ? adaptive_last##sfx(&c, x->shape[0], x->shape[1], mode, DATA(xc, T), DATA(y, T), where) \
        : adaptive##sfx(&c, mode, DATA(xc, T), DATA(y, T), where))
  if (ok && y->numel) ok = BY_TYPE(wd, CALL) == 0;
#undef CALL
  Py_XDECREF(xc);
  return mode ? pair(y, idx, x->dtype, ok) : finish(y, x->dtype, ok);
}

/* (grad_output, input_size, dims, channels_last) */
KERNEL(k_adaptive_backward)
{
  TlTensor *g = ARG(0), *gc = NULL, *x = NULL;
  int64_t shape[TL_MAX_DIMS], nd;
  int n;
  TlPool c;
  if (tl_ints(args[1], shape, &n) || tl_int_in(args[2], k->name, "dims", 1, 3, &nd) || n < 0 ||
      input(&c, "adaptive_avg_pool", (int)nd, n, shape, false) ||
      tl_check_batch(k->name, "grad_output", g, n, n - (int)nd, shape))
    return PyErr_Occurred() ? NULL : TL_FALLBACK();
  if (tl_is_complex(g->dtype) || tl_is_integral(g->dtype)) return tl_not_implemented(k->name, g->dtype);
  for (int i = 0; i < nd; i++) c.out[3 - nd + i] = g->shape[g->ndim - nd + i];
  const tl_dtype wd = tl_window_dtype(g->dtype);
  const bool last = args[3] == Py_True && n == nd + 2 && g->ndim == n && !single(&c); /* else a mean, in PyTorch */
  bool ok = (gc = tl_in_format(g, wd, last)) && (x = zeros_in(wd, n, shape, (int)nd, last));
#define CALL(T, sfx) \
  (last ? adaptive_last##sfx(&c, shape[0], shape[1], 1, DATA(x, T), DATA(gc, T), NULL) \
      : adaptive##sfx(&c, 1, DATA(x, T), DATA(gc, T), NULL))
  if (ok && x->numel && g->numel) ok = BY_TYPE(wd, CALL) == 0;
#undef CALL
  Py_XDECREF(gc);
  return finish(x, g->dtype, ok);
}

/* im2col(self, kernel_size, dilation, padding, stride); batched, checked by the op */
static int columns_args(TlPool *c, PyObject *const *a, const int64_t *hw) {
  static const char *const name[4] = {"kernel_size", "dilation", "padding", "stride"};
  clear(c);
  int64_t v[2], *const to[4] = {c->k, c->d, c->p, c->s};
  for (int i = 0; i < 4; i++) {
    int64_t all[TL_MAX_DIMS];
    int n;
    if (tl_ints(a[i], all, &n)) return -1;
    if (n == 1 ? tl_int_in(a[i], "im2col", name[i], i != 2, INT32_MAX, v)
               : tl_ints_in(a[i], "im2col", name[i], 2, i != 2, INT32_MAX, v))
      return -1;
    to[i][1] = v[0];
    to[i][2] = v[n == 2];
  }
  c->in[1] = hw[0];
  c->in[2] = hw[1];
  for (int i = 1; i < 3; i++) {
    if (c->in[i] < 0 || c->in[i] > INT64_MAX / 8) FAIL("im2col(): expected sizes of an image, got %lld", LL(c->in[i]));
    int64_t span = c->in[i] + 2 * c->p[i] - c->d[i] * (c->k[i] - 1) - 1;
    c->out[i] = span < 0 ? 0 : span / c->s[i] + 1;
  }
  return 0;
}

KERNEL(k_im2col)
{
  TlTensor *x = ARG(0), *xc = NULL, *y = NULL;
  TlPool c;
  if (tl_is_complex(x->dtype) || x->ndim != 4) return TL_FALLBACK();
  if (tl_product(4, x->shape, NULL) || columns_args(&c, args + 1, x->shape + 2)) return NULL;
  c.planes = x->shape[0] * x->shape[1];
  if (tl_product(5, (int64_t[]){c.planes, c.k[1], c.k[2], c.out[1], c.out[2]}, NULL)) return NULL;
  int64_t shape[3] = {x->shape[0], x->shape[1] * c.k[1] * c.k[2], c.out[1] * c.out[2]};
  const tl_dtype wd = tl_window_dtype(x->dtype);
  bool ok = (xc = tl_contiguous_as(x, wd)) && (y = tl_empty(wd, 3, shape));
#define CALL(T, sfx) columns##sfx(&c, DATA(xc, T), DATA(y, T), false)
  if (ok && y->numel && !tl_meta) ok = BY_TYPE(wd, CALL) == 0;
#undef CALL
  Py_XDECREF(xc);
  return finish(y, x->dtype, ok);
}

/* col2im(self, output_size, kernel_size, dilation, padding, stride) */
KERNEL(k_col2im)
{
  TlTensor *g = ARG(0), *gc = NULL, *x = NULL;
  TlPool c;
  int64_t hw[TL_MAX_DIMS];
  int n;
  if (tl_is_complex(g->dtype) || g->ndim != 3) return TL_FALLBACK();
  if (tl_ints(args[1], hw, &n) || n != 2 || columns_args(&c, args + 2, hw))
    return PyErr_Occurred() ? NULL : TL_FALLBACK();
  int64_t window = c.k[1] * c.k[2], shape[4] = {g->shape[0], g->shape[1] / window, hw[0], hw[1]};
  if (tl_product(4, shape, NULL) || tl_product(2, c.out + 1, NULL) ||
      tl_check_shape("col2im", "self", g, 3, (int64_t[]){shape[0], shape[1] * window, c.out[1] * c.out[2]}))
    return NULL;
  c.planes = shape[0] * shape[1];
  const tl_dtype wd = tl_window_dtype(g->dtype);
  bool ok = (gc = tl_contiguous_as(g, wd)) && (x = tl_zeros(wd, 4, shape));
#define CALL(T, sfx) columns##sfx(&c, DATA(x, T), DATA(gc, T), true)
  if (ok && x->numel && g->numel && !tl_meta) ok = BY_TYPE(wd, CALL) == 0;
#undef CALL
  Py_XDECREF(gc);
  return finish(x, g->dtype, ok);
}

const TlKernel tl_kernels_pool[] = {{"max_pool1d", k_max, 1},
                                    {"max_pool2d", k_max, 2},
                                    {"max_pool3d", k_max, 3},
                                    {"max_pool1d_with_indices", k_max, 1 | INDICES},
                                    {"max_pool2d_with_indices", k_max, 2 | INDICES},
                                    {"max_pool3d_with_indices", k_max, 3 | INDICES},
                                    {"_max_pool_backward", k_max_backward},
                                    {"avg_pool1d", k_avg, 1},
                                    {"avg_pool2d", k_avg, 2},
                                    {"avg_pool3d", k_avg, 3},
                                    {"_avg_pool_backward", k_avg_backward},
                                    {"adaptive_avg_pool1d", k_adaptive, 1},
                                    {"adaptive_avg_pool2d", k_adaptive, 2},
                                    {"adaptive_avg_pool3d", k_adaptive, 3},
                                    {"adaptive_max_pool1d", k_adaptive, 1 | INDICES},
                                    {"adaptive_max_pool2d", k_adaptive, 2 | INDICES},
                                    {"adaptive_max_pool3d", k_adaptive, 3 | INDICES},
                                    {"_adaptive_avg_pool_backward", k_adaptive_backward},
                                    {"im2col", k_im2col, 0, TL_K_META},
                                    {"col2im", k_col2im, 0, TL_K_META},
                                    {"_upsample", tl_k_resample, TL_RESAMPLE, TL_K_META},
                                    {"grid_sampler", tl_k_grid_sampler},
                                    {"grid_sampler_backward", tl_k_grid_sampler_backward},
                                    {"_upsample_backward", tl_k_resample, TL_RESAMPLE_BACKWARD, TL_K_META},
                                    {0}};
