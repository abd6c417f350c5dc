/* batch_norm.c: batch norm (training and evaluation) and group norm, with gradients. A batch is [outer, C, S]: S
 * elements of a channel lie together (NCHW), or S = 1 and channels are innermost (NC, channels last). */
#include "core/geometry.h"
#include "core/errors.h"
#include "nn/norm.h"
#include <math.h>

typedef struct {
  int64_t outer, c, s;
} Batch;

/* t widened to the loop dtype and dense in one of the two layouts */
static TlTensor *batch_open(TlTensor *t, tl_dtype loop, bool last, Batch *b) {
  int64_t c = t->ndim > 1 ? t->shape[1] : 1, n = t->ndim ? t->shape[0] : 1, s = 1;
  for (int d = 2; d < t->ndim; d++) s *= t->shape[d];
  *b = last ? (Batch){n * s, c, 1} : (Batch){n, c, s};
  if (!t->numel) b->outer = 0; /* a billion empty images are no work */
  return tl_in_format(t, loop, last);
}

static bool any_format(const TlTensor *t) { return tl_is_contiguous(t) || tl_is_channels_last(t); }

/* whether the result for t is channels last. Dense memory decides before strides of sizes of 1 do, as in PyTorch; with
 * g, the result's gradient, only where both are dense and suggest the same. */
static bool batch_last(const TlTensor *t, const TlTensor *g) {
  const bool suggested = tl_suggests_channels_last(t);
  return any_format(t) && (!g || (any_format(g) && suggested == tl_suggests_channels_last(g))) ? !tl_is_contiguous(t)
                                                                                               : suggested;
}

/* results overlap nothing; 32 bits count in WASM */
#if defined(__clang__)
#define EACH(i, n) _Pragma("clang loop vectorize(assume_safety)") for (intptr_t i = 0; i < n; i++)
#else
#define EACH(i, n) for (intptr_t i = 0; i < n; i++)
#endif
#define BATCH(S, T) \
  static void map_##S(const T *x, T *y, Batch b, const T *m, const T *alpha, const T *beta) { \
    const intptr_t s = (intptr_t)b.s, channels = (intptr_t)b.c; /* in locals, or no loop becomes vectors */ \
    int64_t work = 0; \
    for (int64_t o = 0; o < b.outer; o++) { \
      if (b.s == 1) { \
        if (TL_TICK(work, b.c)) return; \
        EACH(c, channels) y[c] = (x[c] - m[c]) * alpha[c] + beta[c]; \
        x += b.c; \
        y += b.c; \
      } else { \
        for (int64_t c = 0; c < b.c; c++, x += b.s, y += b.s) { \
          T p = alpha[c], q = beta[c], c0 = m[c]; \
          if (TL_TICK(work, b.s)) return; \
          EACH(i, s) y[i] = (x[i] - c0) * p + q; \
        } \
      } \
    } \
  } \
  /* sums of g and of g * (x - m) over n elements */ \
  static void dot_##S(const T *g, const T *x, T m, int64_t n, double *sg, double *sgx) { \
    double ta = 0, tc = 0; \
    int64_t i = 0; \
    while (n - i >= 8) { \
      T a[8] = {0}, c[8] = {0}; \
      int64_t end = n - i > 256 ? i + 256 : i + ((n - i) & ~(int64_t)7); \
      for (; i < end; i += 8) \
        for (int l = 0; l < 8; l++) { a[l] += g[i + l]; c[l] += g[i + l] * (x[i + l] - m); } \
      for (int l = 0; l < 8; l++) { ta += a[l]; tc += c[l]; } \
    } \
    for (; i < n; i++) { ta += g[i]; tc += (double)g[i] * ((double)x[i] - m); } \
    *sg += ta; \
    *sgx += tc; \
  } \
  static void sums_##S(const T *g, const T *x, Batch b, const T *mean, double *sg, double *sgx) { \
    int64_t work = 0; \
    for (int64_t o = 0; o < b.outer && !TL_TICK(work, b.c * b.s); o++) { \
      if (b.s == 1) { \
        for (int64_t c = 0; c < b.c; c++) { sg[c] += g[c]; sgx[c] += (double)g[c] * (x[c] - mean[c]); } \
        g += b.c; \
        x += b.c; \
      } else { \
        for (int64_t c = 0; c < b.c; c++, g += b.s, x += b.s) dot_##S(g, x, mean[c], b.s, sg + c, sgx + c); \
      } \
    } \
  } \
  /* dx = p * g + q * (x - m) + r, per channel */ \
  static void back_##S(const T *g, const T *x, T *dx, Batch b, const T *m, const T *p, const T *q, const T *r) { \
    const intptr_t s = (intptr_t)b.s, channels = (intptr_t)b.c; /* in locals, or no loop becomes vectors */ \
    int64_t work = 0; \
    for (int64_t o = 0; o < b.outer; o++) { \
      if (b.s == 1) { \
        if (TL_TICK(work, b.c)) return; \
        EACH(c, channels) dx[c] = p[c] * g[c] + q[c] * (x[c] - m[c]) + r[c]; \
        g += b.c; \
        x += b.c; \
        dx += b.c; \
      } else { \
        for (int64_t c = 0; c < b.c; c++, g += b.s, x += b.s, dx += b.s) { \
          T mc = m[c], pc = p[c], qc = q[c], rc = r[c]; \
          if (TL_TICK(work, b.s)) return; \
          EACH(i, s) dx[i] = pc * g[i] + qc * (x[i] - mc) + rc; \
        } \
      } \
    } \
  }
BATCH(f, float)
BATCH(d, double)

/* rows of channels: sums of a channel, or of squared differences from m */
#define ROWS(S, T) \
  static void rows_##S(const T *x, int64_t rows, int64_t c, const double *m, double *sum) { \
    int64_t work = 0; \
    for (int64_t r = 0; r < rows && !TL_TICK(work, c); r++, x += c) { \
      if (m) for (int64_t i = 0; i < c; i++) { double d = (double)x[i] - m[i]; sum[i] += d * d; } \
      else for (int64_t i = 0; i < c; i++) sum[i] += x[i]; \
    } \
  }
ROWS(f, float)
ROWS(d, double)

static int check_param(PyObject *o, const char *name, int64_t channels) {
  TlTensor *t = tl_opt(o);
  if (!t || t->numel == channels) return 0;
  PyErr_Format(PyExc_RuntimeError, "%s should contain %lld elements not %lld", name, (long long)channels,
               (long long)t->numel);
  return -1;
}

/* the same in group_norm's words, which asks for vectors, and shows the weight's shape for the bias too */
static int check_vectors(PyObject *const *params, int64_t channels, const TlTensor *input) {
  static const char *const names[2] = {"weight", "bias"};
  const TlTensor *w = tl_opt(params[0]);
  int rc = 0;
  for (int i = 0; i < 2 && !rc; i++) {
    const TlTensor *t = tl_opt(params[i]);
    if (!t || (t->ndim == 1 && t->numel == channels)) continue;
    PyErr_Format(
      PyExc_RuntimeError,
      "Expected %s to be a vector of size equal to the number of channels in input, but got %s of shape %s and "
      "input of shape %s",
      names[i], names[i], w ? tl_fmt_shape(w->ndim, w->shape) : "[0]", tl_fmt_shape(input->ndim, input->shape));
    rc = -1;
  }
  return rc;
}

/* per-channel double values of an optional tensor, or a constant */
static int load_channels(PyObject *o, double *dst, int64_t n, double missing) {
  TlTensor *t = tl_opt(o), *c;
  if (!t) {
    for (int64_t i = 0; i < n; i++) dst[i] = missing;
    return 0;
  }
  if (!(c = tl_contiguous_as(t, TL_F64))) return -1;
  memcpy(dst, tl_data(c), n * sizeof *dst);
  Py_DECREF((PyObject *)c);
  return 0;
}
static TlTensor *store_channels(const double *src, int64_t n, tl_dtype d) {
  TlTensor *t = tl_empty(d, 1, &n);
  if (t) tl_cast_contig(d, tl_data(t), TL_F64, src, n);
  return t;
}

/* What a running statistic is moved by: value, momentum. PyTorch takes bfloat16 of dense memory through bfloat16 at
 * each step (in_steps), except that a variance times the momentum stays as it is (wide). */
typedef struct {
  const double *value;
  double scale, momentum;
  bool in_steps, wide;
} Move;

/* running = (1 - momentum) * running + momentum * value. No new version: as in PyTorch, a second forward pass before
 * the backward pass of the first is no error. */
static int update_running(PyObject *o, Move by, int64_t n) {
  TlTensor *t = tl_opt(o), *fresh = NULL;
  int rc = -1;
  if (!t) return 0;
  double *v = tl_array(n + 1, sizeof *v);
  if (!v || load_channels(o, v, n, 0) < 0) goto done;
  const double part = by.in_steps ? tl_rounded(TL_BF16, by.momentum) : by.momentum,
               rest = by.in_steps ? tl_rounded(TL_BF16, 1 - part) : 1 - part;
  for (int64_t i = 0; i < n; i++) {
    double old = rest * v[i], new = part * by.value[i] * by.scale;
    if (by.in_steps) {
      old = tl_rounded(TL_BF16, old);
      new = part * tl_rounded(TL_BF16, by.value[i] * by.scale);
      if (!by.wide) new = tl_rounded(TL_BF16, new);
    }
    v[i] = old + new;
  }
  if (!(fresh = store_channels(v, n, t->dtype)) || tl_copy(t, fresh) < 0) goto done;
  rc = 0;
done:
  if (v) tl_free(v);
  Py_XDECREF((PyObject *)fresh);
  return rc;
}

/* Parameters and running statistics against the number of channels. The statistics are checked first, as in PyTorch. */
static int check_channels(PyObject *const *args, int64_t channels, bool training) {
  static const char *const names[] = {"weight", "bias", "running_mean", "running_var"};
  for (int i = 2; i < 6; i++) {
    int a = i < 4 ? i + 1 : i - 3;
    if (check_param(args[a], names[a - 1], channels) < 0) return -1;
    if (i < 4 && !training && tl_none(args[a])) {
      PyErr_Format(PyExc_RuntimeError, "%s must be defined in evaluation mode", names[a - 1]);
      return -1;
    }
  }
  if (tl_none(args[3]) != tl_none(args[4])) {
    PyErr_SetString(PyExc_ValueError, "running_mean and running_var must either both be None or neither be None");
    return -1;
  }
  for (int a = 3; a < 5; a++) {
    const TlTensor *t = tl_opt(args[a]);
    if (!t || t->ndim == 1) continue;
    PyErr_Format(PyExc_RuntimeError, "TensorAccessor expected 1 dims but tensor has %d", t->ndim);
    return -1;
  }
  return 0;
}

/* Mean m and biased variance var of each channel over *count elements. m, s1 and var begin as zeros; s1 is scratch:
 * sums of differences from the rounded mean, which correct both. */
static int batch_moments(TlTensor *t, tl_dtype loop, double *m, double *s1, double *var, int64_t channels,
                         double *count) {
  uint8_t mask[TL_MAX_DIMS];
  TlRed r;
  TlShift shift = {m, s1, var};
  memset(mask, 1, t->ndim);
  mask[1] = 0;
  tl_red_plan(&r, t, mask, false, loop);
  const double n = *count = (double)r.k;
  if (tl_red_run(&r, tl_red_loop(TL_RED_SUM, loop), m) < 0) return -1;
  for (int64_t c = 0; c < channels; c++) m[c] /= n;
  if (tl_red_run(&r, tl_red_loop(TL_RED_SHIFT, loop), &shift) < 0) return -1;
  for (int64_t c = 0; c < channels; c++) {
    m[c] = (loop == TL_F32 ? (double)(float)m[c] : m[c]) + s1[c] / n;
    var[c] = (var[c] - s1[c] * s1[c] / n) / n;
    if (var[c] < 0) var[c] = 0;
  }
  return 0;
}

/* id 0: native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps) -> out, mean,
 * invstd; id 1: batch_norm(...) -> out. */
PyObject *tl_k_batch_norm(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  TlTensor *t = (TlTensor *)args[0], *x = NULL, *y = NULL, *mean = NULL, *invstd = NULL, *ab = NULL;
  bool training = PyObject_IsTrue(args[5]);
  double momentum = 0, eps, *v = NULL;
  int64_t channels, none = 0;
  (void)nargs, (void)out;
  channels = t->ndim < 2 ? 0 : t->shape[1];
  /* without channels native_batch_norm says so first, and an empty batch_norm is a copy */
  if (t->ndim < 2 && (!t->numel || !k->id)) return TL_FALLBACK();
  if (check_channels(args, channels, training) < 0) return NULL;
  if (t->ndim < 2) return TL_FALLBACK();
  if (!tl_is_float(t->dtype))
    return tl_is_complex(t->dtype) ? TL_FALLBACK() : tl_not_implemented("batch_norm", t->dtype);
  if (tl_check_params(t, args + 1, 4, false) < 0) return NULL;
  if ((!tl_none(args[6]) && tl_double(args[6], &momentum) < 0) || tl_double(args[7], &eps) < 0) return NULL;
  tl_dtype loop = tl_compute[t->dtype];
  /* mean, var, shift sums, weight, bias: six rows of doubles */
  if (!(v = tl_array(6 * channels + 1, sizeof *v))) return NULL;
  double *m = v, *s1 = v + channels, *var = s1 + channels, *w = var + channels, *bias = w + channels,
         *inv = bias + channels;
  memset(v, 0, 3 * channels * sizeof *v);
  if (load_channels(args[1], w, channels, 1) < 0 || load_channels(args[2], bias, channels, 0) < 0) goto done;
  tl_dtype sd = t->dtype; /* of the statistics: that of the parameters when it is another */
  for (int i = 1; i < 5; i++)
    if (!tl_none(args[i])) sd = ((TlTensor *)args[i])->dtype;
  if (training) {
    const bool in_steps = sd == TL_BF16 && any_format(t);
    double n;
    if (batch_moments(t, loop, m, s1, var, channels, &n) < 0) goto done;
    if (in_steps) /* PyTorch keeps the sum of squares in the dtype of the statistics */
      for (int64_t c = 0; c < channels; c++) var[c] = tl_rounded(TL_BF16, var[c] * n) / n;
    const Move mean_by = {m, 1, momentum, in_steps, false}, var_by = {var, n / (n - 1), momentum, in_steps, true};
    if (n > 0 && (update_running(args[3], mean_by, channels) < 0 || update_running(args[4], var_by, channels) < 0))
      goto done;
    for (int64_t c = 0; in_steps && c < channels; c++) var[c] = tl_rounded(TL_BF16, var[c]);
  } else if (load_channels(args[3], m, channels, 0) < 0 || load_channels(args[4], var, channels, 1) < 0) {
    goto done;
  }
  for (int64_t c = 0; c < channels; c++) inv[c] = 1 / sqrt(var[c] + eps);
  if (k->id == TL_WITH_STATISTICS || (training && tl_itemsize[sd] == 2)) {
    mean = training ? store_channels(m, channels, sd) : tl_empty(sd, 1, &none);
    invstd = training ? store_channels(inv, channels, sd) : tl_empty(sd, 1, &none);
    if (!mean || !invstd) goto done;
  }
  if (training && tl_itemsize[sd] == 2 && /* as in PyTorch, the result is made of the rounded ones */
      (load_channels((PyObject *)mean, m, channels, 0) < 0 || load_channels((PyObject *)invstd, inv, channels, 1) < 0))
    goto done;
  Batch b;
  const bool last = batch_last(t, NULL);
  int64_t three = 3 * channels;
  if (!(x = batch_open(t, loop, last, &b)) || !(ab = tl_empty(loop, 1, &three))) goto done;
  if (!(y = tl_empty_format(loop, t->ndim, t->shape, last))) goto done;
  for (int64_t c = 0; c < channels; c++) w[c] *= inv[c];
  tl_cast_contig(loop, tl_data(ab), TL_F64, w, channels);
  tl_cast_contig(loop, tl_data(ab) + channels * tl_itemsize[loop], TL_F64, bias, channels);
  tl_cast_contig(loop, tl_data(ab) + 2 * channels * tl_itemsize[loop], TL_F64, m, channels);
  if (loop == TL_F32) {
    float *a = (float *)tl_data(ab);
    map_f((float *)tl_data(x), (float *)tl_data(y), b, a + 2 * channels, a, a + channels);
  } else {
    double *a = (double *)tl_data(ab);
    map_d((double *)tl_data(x), (double *)tl_data(y), b, a + 2 * channels, a, a + channels);
  }
  y = tl_narrow(y, t->dtype);
done:
  if (v) tl_free(v);
  Py_XDECREF((PyObject *)x);
  Py_XDECREF((PyObject *)ab);
  if (k->id == TL_WITH_STATISTICS) return tl_pack3(y, mean, invstd);
  Py_XDECREF((PyObject *)mean);
  Py_XDECREF((PyObject *)invstd);
  return (PyObject *)y;
}

static PyObject *take(TlTensor *t) { return t ? (PyObject *)t : Py_NewRef(Py_None); }

/* (grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps, output_mask) */
PyObject *tl_k_batch_norm_backward(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  TlTensor *t = (TlTensor *)args[1], *g = NULL, *x = NULL, *dx = NULL, *dw = NULL, *db = NULL, *co = NULL;
  bool train = PyObject_IsTrue(args[7]);
  double eps, *v = NULL;
  PyObject *res = NULL;
  Batch b;
  (void)k, (void)nargs, (void)out;
  if (!tl_is_float(t->dtype) || t->ndim < 2) return TL_FALLBACK();
  if (tl_double(args[8], &eps) < 0) return NULL;
  tl_dtype loop = tl_compute[t->dtype], pd = tl_none(args[2]) ? t->dtype : ((TlTensor *)args[2])->dtype;
  int64_t c = t->shape[1], four = 4 * c;
  static const char *const names[] = {"weight", "running_mean", "running_var", "save_mean", "save_invstd"};
  if (tl_expect(args[0], t->numel, "grad_out") < 0) return NULL;
  for (int i = 2; i < 7; i++)
    if ((i == 2 || (i > 4) == train) && tl_expect(args[i], c, names[i - 2]) < 0) return NULL;
  if (((TlTensor *)args[0])->ndim != t->ndim ||
      memcmp(((TlTensor *)args[0])->shape, t->shape, sizeof *t->shape * (size_t)t->ndim)) {
    PyErr_SetString(PyExc_RuntimeError, "native_batch_norm_backward: grad_out and input must have the same shape");
    return NULL;
  }
  if (!(v = tl_array(8 * c + 1, sizeof *v))) return NULL;
  double *m = v, *inv = v + c, *w = v + 2 * c, *sg = v + 3 * c, *sgx = v + 4 * c, *p = v + 5 * c, *q = v + 6 * c,
         *r = v + 7 * c;
  if (load_channels(args[train ? 5 : 3], m, c, 0) < 0 || load_channels(args[train ? 6 : 4], inv, c, 1) < 0 ||
      load_channels(args[2], w, c, 1) < 0)
    goto done;
  bool last = batch_last(t, (TlTensor *)args[0]);
  if (!(x = batch_open(t, loop, last, &b)) || !(g = batch_open((TlTensor *)args[0], loop, last, &b)) ||
      !(co = tl_empty(loop, 1, &four)))
    goto done;
  double n = (double)(b.outer * b.s);
  memset(sg, 0, 2 * c * sizeof *v);
  tl_cast_contig(loop, tl_data(co), TL_F64, m, c);
  if (loop == TL_F32) sums_f((float *)tl_data(g), (float *)tl_data(x), b, (float *)tl_data(co), sg, sgx);
  else sums_d((double *)tl_data(g), (double *)tl_data(x), b, (double *)tl_data(co), sg, sgx);
  for (int64_t i = 0; i < c; i++) {
    if (!train) inv[i] = 1 / sqrt(inv[i] + eps);
    p[i] = w[i] * inv[i];
    q[i] = train ? -p[i] * inv[i] * inv[i] * sgx[i] / n : 0;
    r[i] = train ? -p[i] * sg[i] / n : 0;
    sgx[i] *= inv[i];
  }
  tl_cast_contig(loop, tl_data(co) + c * tl_itemsize[loop], TL_F64, p, 3 * c);
  if (tl_mask_at(args[9], 0)) {
    if (!(dx = tl_empty_format(loop, t->ndim, t->shape, last))) goto done;
    if (loop == TL_F32) {
      float *a = (float *)tl_data(co);
      back_f((float *)tl_data(g), (float *)tl_data(x), (float *)tl_data(dx), b, a, a + c, a + 2 * c, a + 3 * c);
    } else {
      double *a = (double *)tl_data(co);
      back_d((double *)tl_data(g), (double *)tl_data(x), (double *)tl_data(dx), b, a, a + c, a + 2 * c, a + 3 * c);
    }
    if (!(dx = tl_narrow(dx, t->dtype))) goto done;
  }
  if (tl_mask_at(args[9], 1) && !(dw = store_channels(sgx, c, pd))) goto done;
  if (tl_mask_at(args[9], 2) && !(db = store_channels(sg, c, pd))) goto done;
  res = Py_BuildValue("NNN", take(dx), take(dw), take(db));
  dx = dw = db = NULL;
done:
  if (v) tl_free(v);
  TlTensor *drop[] = {g, x, dx, dw, db, co};
  for (size_t i = 0; i < sizeof drop / sizeof *drop; i++) Py_XDECREF((PyObject *)drop[i]);
  return res;
}

/* ---- group norm -------------------------------------------------------------------------------------------------- */
typedef struct {
  int64_t n, c, s, groups, d;
} Group;

static int group_args(PyObject *const *a, Group *g) {
  if (tl_int(a[0], &g->n) < 0 || tl_int(a[1], &g->c) < 0 || tl_int(a[2], &g->s) < 0 || tl_int(a[3], &g->groups) < 0)
    return -1;
  int64_t all;
  if (g->n < 0 || g->c < 0 || g->s < 0 || __builtin_mul_overflow(g->n, g->c, &all) ||
      __builtin_mul_overflow(all, g->s, &all))
    g->groups = g->n = 0;
  g->d = g->groups > 0 && g->groups <= g->c ? g->c / g->groups : 0;
  return 0;
}

/* one image in channels-last memory: all its groups at once. w: weight, bias; v: room for four rows of channels; ab:
 * three of T */
#define GROUP_LAST(S, T) \
  static void group_last_##S(const T *x, T *y, const Group *q, double eps, const double *w, double *v, T *ab, \
      T *mean, T *rstd) { \
    double *sum = v, *m = v + q->c, *sq = m + q->c, len = (double)(q->d * q->s); \
    memset(v, 0, 3 * (size_t)q->c * sizeof *v); \
    rows_##S(x, q->s, q->c, NULL, sum); \
    for (int64_t g = 0; g < q->groups; g++) { \
      double all = 0; \
      for (int64_t c = g * q->d; c < (g + 1) * q->d; c++) all += sum[c]; \
      for (int64_t c = g * q->d; c < (g + 1) * q->d; c++) m[c] = all / len; \
    } \
    rows_##S(x, q->s, q->c, m, sq); \
    for (int64_t g = 0; g < q->groups; g++) { \
      double all = 0; \
      for (int64_t c = g * q->d; c < (g + 1) * q->d; c++) all += sq[c]; \
      const double r = 1 / sqrt(all / len + eps); \
      mean[g] = (T)m[g * q->d]; \
      rstd[g] = (T)r; \
      for (int64_t c = g * q->d; c < (g + 1) * q->d; c++) { \
        ab[c] = (T)m[c]; \
        ab[q->c + c] = (T)(r * w[c]); \
        ab[2 * q->c + c] = (T)w[q->c + c]; \
      } \
    } \
    map_##S(x, y, (Batch){q->s, q->c, 1}, ab, ab + q->c, ab + 2 * q->c); \
  } \
  /* v: weight and sums over images of both gradients, then room for four rows; ab: four of T */ \
  static void group_back_##S(const T *g, const T *x, T *dx, const Group *q, const double *mean, const double *rstd, \
      double *v, T *ab) { \
    double *w = v, *sw = v + q->c, *sb = v + 2 * q->c, *cg = v + 3 * q->c, *cgx = v + 4 * q->c, \
        len = (double)(q->d * q->s); \
    T *m = ab, *p = ab + q->c, *b = p + q->c, *r = b + q->c; \
    for (int64_t c = 0; c < q->c; c++) { m[c] = (T)mean[c / q->d]; cg[c] = cgx[c] = 0; } \
    sums_##S(g, x, (Batch){q->s, q->c, 1}, m, cg, cgx); \
    for (int64_t i = 0; i < q->groups; i++) { \
      double sa = 0, sc = 0, rs = rstd[i]; \
      for (int64_t c = i * q->d; c < (i + 1) * q->d; c++) { \
        sa += w[c] * cg[c]; \
        sc += w[c] * cgx[c]; \
        sw[c] += cgx[c] * rs; \
        sb[c] += cg[c]; \
      } \
      for (int64_t c = i * q->d; c < (i + 1) * q->d; c++) { \
        p[c] = (T)(rs * w[c]); \
        b[c] = (T)(-rs * rs * rs * sc / len); \
        r[c] = (T)(-rs * sa / len); \
      } \
    } \
    back_##S(g, x, dx, (Batch){q->s, q->c, 1}, m, p, b, r); \
  }
GROUP_LAST(f, float)
GROUP_LAST(d, double)

/* native_group_norm(input, weight, bias, N, C, HxW, group, eps) -> out, mean[N, group], rstd[N, group] */
PyObject *tl_k_group_norm(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  TlTensor *t = (TlTensor *)args[0], *x = NULL, *y = NULL, *mean = NULL, *rstd = NULL;
  tl_dtype loop = tl_compute[t->dtype];
  double eps, *w = NULL;
  Group q;
  (void)k, (void)nargs, (void)out;
  if (group_args(args + 3, &q) < 0 || tl_double(args[7], &eps) < 0) return NULL;
  if (!tl_is_float(t->dtype))
    return tl_is_complex(t->dtype) ? TL_FALLBACK() : tl_not_implemented("GroupNormKernelImpl", t->dtype);
  if (q.d == 0 || q.c % q.groups || t->numel != q.n * q.c * q.s) return TL_FALLBACK();
  if (check_vectors(args + 1, q.c, t) < 0 || tl_check_params(t, args + 1, 2, false) < 0) return NULL;
  int64_t shape[2] = {q.n, q.groups}, len = q.d * q.s;
  tl_dtype sd = t->dtype;
  if (!tl_none(args[1]) && ((TlTensor *)args[1])->dtype != t->dtype) sd = loop;
  const bool last = tl_suggests_channels_last(t) && t->shape[1] == q.c && t->shape[0] == q.n;
  if (!(w = tl_array(9 * q.c + 1, sizeof *w)) || load_channels(args[1], w, q.c, 1) < 0 ||
      load_channels(args[2], w + q.c, q.c, 0) < 0)
    goto done;
  if (!(x = tl_in_format(t, loop, last)) || !(y = tl_empty_format(loop, t->ndim, t->shape, last)) ||
      !(mean = tl_empty(loop, 2, shape)) || !(rstd = tl_empty(loop, 2, shape)))
    goto done;
  for (int64_t i = 0; last && i < q.n && tl_work(0) == 0; i++) {
    const int64_t at = i * q.c * q.s, row = i * q.groups;
    double *room = w + 2 * q.c;
    if (loop == TL_F32)
      group_last_f((float *)tl_data(x) + at, (float *)tl_data(y) + at, &q, eps, w, room, (float *)(room + 4 * q.c),
                   (float *)tl_data(mean) + row, (float *)tl_data(rstd) + row);
    else
      group_last_d((double *)tl_data(x) + at, (double *)tl_data(y) + at, &q, eps, w, room, room + 4 * q.c,
                   (double *)tl_data(mean) + row, (double *)tl_data(rstd) + row);
  }
  for (int64_t i = 0; !last && i < q.n * q.groups && tl_work(len) == 0; i++) {
    double c = 0, s1 = 0, s2 = 0;
    TlShift shift = {&c, &s1, &s2};
    const char *xi = tl_data(x) + i * len * tl_itemsize[loop];
    tl_red_loop(TL_RED_SUM, loop).row(&c, 0, 0, xi, len);
    c /= (double)len;
    tl_red_loop(TL_RED_SHIFT, loop).row(&shift, 0, 0, xi, len);
    double at = loop == TL_F32 ? (double)(float)c : c;
    double v = (s2 - s1 * s1 / (double)len) / (double)len, m = len ? at + s1 / (double)len : 0;
    double r = 1 / sqrt((v < 0 ? 0 : v) + eps);
#define MAP(S, T) \
  { \
    ((T *)tl_data(mean))[i] = (T)m; \
    ((T *)tl_data(rstd))[i] = (T)r; \
    for (int64_t j = 0; j < q.d; j++) { \
      int64_t ch = i % q.groups * q.d + j; \
      T a = (T)(r * w[ch]), b = (T)w[q.c + ch], c0 = (T)m; \
      map_##S((const T *)xi + j * q.s, (T *)tl_data(y) + i * len + j * q.s, (Batch){1, 1, q.s}, &c0, &a, &b); \
    } \
  }
    if (loop == TL_F32) MAP(f, float) else MAP(d, double)
  }
  y = tl_narrow(y, t->dtype);
  mean = tl_narrow(mean, sd);
  rstd = tl_narrow(rstd, sd);
done:
  if (w) tl_free(w);
  Py_XDECREF((PyObject *)x);
  return tl_pack3(y, mean, rstd);
}

/* native_group_norm_backward's arguments, in PyTorch's order and words: the gradient's dtype, those of the statistics,
 * how many numbers each has, then the dtypes that are read. Statistics and weight have the input's dtype, or are all of
 * float beside an input of lower precision. */
static int check_back(PyObject *const *args, const Group *q) {
  const struct {
    int at;
    int64_t count;
    const char *what;
  } all[] = {{0, tl_wrap_mul(tl_wrap_mul(q->n, q->c), q->s), "dY.numel() == N * C * HxW"},
             {1, tl_wrap_mul(tl_wrap_mul(q->n, q->c), q->s), "X.numel() == N * C * HxW"},
             {2, tl_wrap_mul(q->n, q->groups), "mean.numel() == N * group"},
             {3, tl_wrap_mul(q->n, q->groups), "rstd.numel() == N * group"},
             {4, q->c, "!gamma.defined() || gamma.numel() == C"}};
  tl_dtype dt[5];
  for (int i = 0; i < 5; i++) dt[i] = tl_none(args[i]) ? TL_F32 : (tl_dtype)((TlTensor *)args[i])->dtype;
  const bool mixed = dt[2] != dt[1];
  if (tl_none(args[4])) dt[4] = mixed ? TL_F32 : dt[1];
  int rc = -1;
  if (dt[0] != dt[1]) {
    PyErr_SetString(PyExc_RuntimeError, "Expected scalar types of X and dY are same.");
    goto done;
  }
  if (mixed && (dt[2] != TL_F32 || dt[3] != TL_F32 || dt[1] == TL_F64)) {
    PyErr_SetString(PyExc_RuntimeError, "mixed dtype (CPU): expect parameter to have scalar type of Float");
    goto done;
  }
  for (int i = 0; i < 5; i++) {
    if (tl_none(args[i]) || ((TlTensor *)args[i])->numel == all[i].count) continue;
    PyErr_Format(PyExc_RuntimeError,
                 "Expected %s to be true, but got false.  (Could this error message be improved?  If so, please report "
                 "an enhancement request to PyTorch.)",
                 all[i].what);
    goto done;
  }
  for (int i = 3; i < 5; i++) {
    if (dt[i] == dt[2]) continue;
    tl_scalar_type_error(dt[2], dt[i]);
    goto done;
  }
  rc = 0;
done:
  return rc;
}

/* (grad_out, input, mean, rstd, weight, N, C, HxW, group, output_mask) */
PyObject *tl_k_group_norm_backward(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  TlTensor *t = (TlTensor *)args[1], *g = NULL, *x = NULL, *mean = NULL, *rstd = NULL, *dx = NULL, *dw = NULL,
           *db = NULL;
  tl_dtype loop = tl_compute[t->dtype], pd = tl_none(args[4]) ? t->dtype : ((TlTensor *)args[4])->dtype;
  PyObject *res = NULL;
  double *v = NULL;
  Group q;
  (void)k, (void)nargs, (void)out;
  if (group_args(args + 5, &q) < 0) return NULL;
  if (!tl_is_float(t->dtype)) return TL_FALLBACK();
  if (check_back(args, &q) < 0) return NULL;
  if (q.d == 0 || q.c % q.groups) return TL_FALLBACK();
  int64_t len = q.d * q.s;
  const bool last =
    tl_suggests_channels_last(t) && t->shape[1] == q.c && t->shape[0] == q.n && ((TlTensor *)args[0])->ndim == t->ndim;
  if (!(v = tl_array(9 * q.c + 1, sizeof *v)) || load_channels(args[4], v, q.c, 1) < 0) goto done;
  double *w = v, *sw = v + q.c, *sb = v + 2 * q.c, *cg = v + 3 * q.c, *cgx = v + 4 * q.c;
  memset(sw, 0, 2 * q.c * sizeof *v);
  if (!(g = tl_in_format((TlTensor *)args[0], loop, last)) || !(x = tl_in_format(t, loop, last)) ||
      !(mean = tl_contiguous_as((TlTensor *)args[2], TL_F64)) ||
      !(rstd = tl_contiguous_as((TlTensor *)args[3], TL_F64)) || !(dx = tl_empty_format(loop, t->ndim, t->shape, last)))
    goto done;
  for (int64_t i = 0; last && i < q.n && tl_work(0) == 0; i++) {
    const int64_t at = i * q.c * q.s;
    const double *m = (double *)tl_data(mean) + i * q.groups, *r = (double *)tl_data(rstd) + i * q.groups;
    if (loop == TL_F32)
      group_back_f((float *)tl_data(g) + at, (float *)tl_data(x) + at, (float *)tl_data(dx) + at, &q, m, r, v,
                   (float *)(v + 5 * q.c));
    else
      group_back_d((double *)tl_data(g) + at, (double *)tl_data(x) + at, (double *)tl_data(dx) + at, &q, m, r, v,
                   v + 5 * q.c);
  }
  for (int64_t i = 0; !last && i < q.n * q.groups && tl_work(len) == 0; i++) {
    double m = ((double *)tl_data(mean))[i], r = ((double *)tl_data(rstd))[i], sa = 0, sc = 0;
    int64_t first = i % q.groups * q.d;
#define BACK(S, T) \
  { \
    const T *gi = (const T *)tl_data(g) + i * len, *xi = (const T *)tl_data(x) + i * len; \
    for (int64_t j = 0; j < q.d; j++) { \
      int64_t c = first + j; \
      cg[c] = cgx[c] = 0; \
      dot_##S(gi + j * q.s, xi + j * q.s, (T)m, q.s, cg + c, cgx + c); \
      sa += w[c] * cg[c]; \
      sc += w[c] * cgx[c]; \
      sw[c] += cgx[c] * r; \
      sb[c] += cg[c]; \
    } \
    T mt = (T)m, qt = (T)(-r * r * r * sc / (double)len), rt = (T)(-r * sa / (double)len); \
    for (int64_t j = 0; j < q.d; j++) { \
      T p = (T)(r * w[first + j]); \
      back_##S(gi + j * q.s, xi + j * q.s, (T *)tl_data(dx) + i * len + j * q.s, (Batch){1, 1, q.s}, &mt, &p, &qt, \
          &rt); \
    } \
  }
    if (loop == TL_F32) BACK(f, float) else BACK(d, double)
  }
  if (!(dx = tl_narrow(dx, t->dtype))) goto done;
  if (!tl_mask_at(args[9], 0)) Py_CLEAR(dx);
  if (tl_mask_at(args[9], 1) && !(dw = store_channels(sw, q.c, pd))) goto done;
  if (tl_mask_at(args[9], 2) && !(db = store_channels(sb, q.c, pd))) goto done;
  res = Py_BuildValue("NNN", take(dx), take(dw), take(db));
  dx = dw = db = NULL;
done:
  if (v) tl_free(v);
  TlTensor *drop[] = {g, x, mean, rstd, dx, dw, db};
  for (size_t i = 0; i < sizeof drop / sizeof *drop; i++) Py_XDECREF((PyObject *)drop[i]);
  return res;
}
