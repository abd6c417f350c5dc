/* resample.c: interpolation of images along each dim in turn: every output is a weighted sum of a few inputs (1
 * nearest, 2 linear, 4 cubic, more with antialiasing), read from a table of first index and weights. The gradient runs
 * the same tables the other way round. Positions and weights follow PyTorch's formulas in its precision: float, or
 * double for float64 images; nearest positions are always found in float. */
#include "core/check.h"
#include "core/geometry.h"
#include "nn/image.h"
#include <math.h>

enum { NEAREST, NEAREST_EXACT, LINEAR, CUBIC, LANCZOS };
typedef struct {
  int taps;
  int32_t *at;
  double *w;
} Table; /* at[o * taps + t] */

static double cubic(double x, double a) {
  x = fabs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}
static double sinc(double x) {
  x *= 3.14159265358979323846;
  return x == 0 ? 1 : sin(x) / x;
}
static double filter(int mode, double x) {
  if (mode == LINEAR) {
    x = fabs(x);
    return x < 1 ? 1 - x : 0;
  }
  if (mode == CUBIC) return cubic(x, -0.5);
  return fabs(x) < 3 ? sinc(x) * sinc(x / 3) : 0;
}

#define LARGEST 2147483648.0      /* of steps from output to output: a position times it has its place in 64 bits */
static int64_t clamp(int64_t v, int64_t n) { return tl_clamp(v, 0, n - 1); }

/* the step in the input from one output to the next, in double and in float */
static double step_d(int64_t in, int64_t out, bool align, double factor) {
  if (align) return out > 1 ? (double)(in - 1) / (double)(out - 1) : 0;
  return factor > 0 ? 1 / factor : (double)in / (double)out;
}
static float step_f(int64_t in, int64_t out, bool align, double factor) {
  if (align) return out > 1 ? (float)(in - 1) / (float)(out - 1) : 0;
  return factor > 0 ? (float)(1 / factor) : (float)in / (float)out;
}
static double reach(int mode) { /* of a filter, in input elements to either side */
  if (mode == LINEAR) return 1;
  return mode == CUBIC ? 2 : 3;
}
static int fixed_taps(int mode) { /* without antialiasing */
  if (mode <= NEAREST_EXACT) return 1;
  return mode == LINEAR ? 2 : 4;
}

static int build(Table *t, int mode, int64_t in, int64_t out, bool align, bool aa, double factor, bool dbl) {
  double scale = dbl ? step_d(in, out, align, factor) : step_f(in, out, align, factor);
  if (scale > LARGEST) scale = LARGEST;
  const double wide = scale > 1 ? scale : 1, support = reach(mode) * wide, most = ceil(support) * 2 + 1;
  t->taps = fixed_taps(mode);
  if (aa && mode > NEAREST_EXACT)
    t->taps = (int)(most < (double)in ? most : (double)in); /* a window has no more than in */
  t->w = tl_array(out * t->taps + 2, sizeof(double) + sizeof(int32_t));
  if (!t->w) return -1;
  t->at = (int32_t *)(t->w + out * t->taps);
  for (int64_t o = 0; o < out; o++) {
    int32_t *at = t->at + o * t->taps;
    double *w = t->w + o * t->taps;
    if (mode <= NEAREST_EXACT) {
      float s = factor > 0 ? (float)(1 / factor) : (float)in / (float)out;
      if (s > (float)LARGEST) s = (float)LARGEST;
      float p = mode == NEAREST ? (float)o * s : ((float)o + 0.5f) * s;
      at[0] = (int32_t)clamp((int64_t)floorf(p), in);
      w[0] = 1;
    } else if (aa) {
      double center = dbl ? scale * ((double)o + 0.5) : (float)((float)scale * ((float)o + 0.5f)), sum = 0;
      int64_t x0 = (int64_t)(center - support + 0.5), x1 = (int64_t)(center + support + 0.5);
      if (x0 < 0) x0 = 0;
      if (x1 > in) x1 = in;
      for (int i = 0; i < t->taps; i++) {
        bool on = i < x1 - x0;
        int64_t off = x0 < in ? x0 : in - 1; /* weight 0, any element will do */
        w[i] = on ? filter(mode, ((double)(i + x0) - center + 0.5) / wide) : 0;
        at[i] = (int32_t)(on ? i + x0 : off);
        sum += w[i];
      }
      for (int i = 0; i < t->taps; i++) w[i] = sum != 0 ? w[i] / sum : 0;
    } else {
      double p;
      if (dbl) p = align ? scale * (double)o : scale * ((double)o + 0.5) - 0.5;
      else p = align ? (float)scale * (float)o : (float)scale * ((float)o + 0.5f) - 0.5f;
      if (mode == LINEAR && p < 0) p = 0;
      double f = floor(p), d = p - f;
      int64_t i = (int64_t)f;
      if (mode == LINEAR) {
        if (i > in - 1) {
          i = in - 1;
          d = d > 1 ? 1 : d;
        }
        at[0] = (int32_t)i;
        at[1] = (int32_t)(i < in - 1 ? i + 1 : i);
        w[0] = dbl ? 1 - d : 1.0f - (float)d;
        w[1] = d;
      } else
        for (int j = 0; j < 4; j++) {
          at[j] = (int32_t)clamp(i - 1 + j, in);
          w[j] = cubic(d + 1 - j, -0.75);
        }
    }
  }
  return 0;
}

/* one dim: src [outer, in, inner], dst [outer, out, inner]; back: src += from dst */
#define PASS(T, name)                                                                                                  \
  static int name(const Table *t, int64_t outer, int64_t in, int64_t out, int64_t inner, T *src, T *dst, bool back) {  \
    if (inner == 1 && !back) {   /* along rows: weights as T once */                                                   \
      const int taps = t->taps;                                                                                        \
      T *w = tl_malloc((uint64_t)(out * taps) * sizeof(T) + 1); \
      if (!w) return -1;                                                                                               \
      for (int64_t i = 0; i < out * taps; i++) w[i] = (T)t->w[i];                                                      \
      for (int64_t p = 0; p < outer; p++, src += in, dst += out) {                                                     \
        if (taps == 1) for (int64_t o = 0; o < out; o++) dst[o] = src[t->at[o]];                                       \
        else if (taps == 2) for (int64_t o = 0; o < out; o++) \
          dst[o] = w[2 * o] * src[t->at[2 * o]] + w[2 * o + 1] * src[t->at[2 * o + 1]]; \
        else for (int64_t o = 0; o < out; o++) {                                                                       \
          T v = w[o * taps] * src[t->at[o * taps]];                                                                    \
          for (int i = 1; i < taps; i++) v += w[o * taps + i] * src[t->at[o * taps + i]];                              \
          dst[o] = v;                                                                                                  \
        }                                                                                                              \
      }                                                                                                                \
      tl_free(w);                                                                                                      \
      return 0;                                                                                                        \
    }                                                                                                                  \
    for (int64_t p = 0; p < outer; p++, src += in * inner)                                                             \
      for (int64_t o = 0; o < out; o++, dst += inner) {                                                                \
        const int32_t *at = t->at + o * t->taps;                                                                       \
        const double *w = t->w + o * t->taps;                                                                          \
        if (back) {                                                                                                    \
          for (int i = 0; i < t->taps; i++) {                                                                          \
            T v = (T)w[i], *s = src + at[i] * inner;                                                                   \
            for (int64_t j = 0; j < inner; j++) s[j] += v * dst[j];                                                    \
          }                                                                                                            \
        } else if (t->taps == 2) {                                                                                     \
          T v0 = (T)w[0], v1 = (T)w[1], *a = src + at[0] * inner, *b = src + at[1] * inner;                            \
          for (int64_t j = 0; j < inner; j++) dst[j] = v0 * a[j] + v1 * b[j];                                          \
        } else {                                                                                                       \
          T v = (T)w[0], *s = src + at[0] * inner;                                                                     \
          for (int64_t j = 0; j < inner; j++) dst[j] = t->taps == 1 ? s[j] : v * s[j];                                 \
          for (int i = 1; i < t->taps; i++) {                                                                          \
            v = (T)w[i]; s = src + at[i] * inner;                                                                      \
            for (int64_t j = 0; j < inner; j++) dst[j] += v * s[j];                                                    \
          }                                                                                                            \
        }                                                                                                              \
      }                                                                                                                \
    return 0;                                                                                                          \
  }
PASS(float, pass_f32)
PASS(double, pass_f64)

static bool same(const Table *t, int64_t in, int64_t out) {
  if (in != out) return false;
  for (int64_t o = 0; o < out; o++)
    for (int i = 0; i < t->taps; i++) {
      double w = t->w[o * t->taps + i];
      if (w != 0 && (w != 1 || t->at[o * t->taps + i] != o)) return false;
    }
  return true;
}

/* ---- uint8 images: PyTorch sums in integers, with weights rounded to 16 bits, and rounds after each dim ---- */
typedef struct {
  int taps, bits;
  int32_t *at, *n;
  int16_t *w;
} Weights8;

static inline int32_t byte_of(int32_t v) {
  if (v < 0) return 0;
  return v > 255 ? 255 : v;
}

static int build8(Weights8 *t, int mode, int64_t in, int64_t out, bool align, bool aa, double factor) {
  double scale = step_d(in, out, align, factor);
  if (scale > LARGEST) scale = LARGEST;
  const double wide = aa && scale >= 1 ? scale : 1, support = reach(mode) * wide, delta = align && !aa ? 0.5 : 0;
  const double most = ceil(support) * 2 + 1;
  t->taps = (int)(most < (double)in ? most : (double)in);
  char *mem = tl_array(out + 8, 8 + (int64_t)t->taps * 2);
  double *w = tl_array(out * t->taps + 1, sizeof(double)), top = 0;
  if (!mem || !w) {
    tl_free(mem);
    tl_free(w);
    return -1;
  }
  t->at = (int32_t *)mem;
  t->n = t->at + out;
  t->w = (int16_t *)(t->n + out);
  for (int64_t o = 0; o < out; o++) {
    double center = scale * ((double)o + 0.5 - delta), sum = 0, *row = w + o * t->taps;
    int64_t x0 = (int64_t)floor(center - support + 0.5 + delta), x1 = (int64_t)floor(center + support + 0.5 + delta);
    const int64_t l0 = clamp(x0, in), least = x1 > l0 ? x1 : l0 + 1, l1 = x1 > in ? in : least;
    int n = l1 - l0 > t->taps ? t->taps : (int)(l1 - l0);
    if (aa || mode != CUBIC) {
      x0 = l0;
      x1 = l0 + n;
    } /* otherwise the edge stands for what is outside */
    for (int j = 0; j < n; j++) row[j] = 0;
    for (int64_t i = x0; i < x1; i++) {
      double x = ((double)i - center + 0.5 - delta) / wide,
             v = mode == CUBIC && !aa ? cubic(x, -0.75) : filter(mode, x);
      int64_t j = tl_clamp(i - l0, 0, n - 1);
      row[j] += v;
      sum += v;
    }
    x0 = l0;
    for (int j = 0; j < n; j++) {
      if (sum != 0) row[j] /= sum;
      if (row[j] > top) top = row[j];
    }
    t->at[o] = (int32_t)x0;
    t->n[o] = n;
  }
  for (t->bits = 0; t->bits < 22 && (int)(0.5 + top * (1 << (t->bits + 1))) < 1 << 15; t->bits++) {}
  for (int64_t o = 0; o < out; o++)
    for (int j = 0; j < t->n[o]; j++) {
      double v = w[o * t->taps + j] * (1 << t->bits);
      t->w[o * t->taps + j] = (int16_t)(v < 0 ? v - 0.5 : v + 0.5);
    }
  tl_free(w);
  return 0;
}

static void pass8(const Weights8 *t, int64_t outer, int64_t in, int64_t out, int64_t inner, const uint8_t *src,
                  uint8_t *dst) {
  for (int64_t p = 0; p < outer && tl_work(out * inner) == 0; p++, src += in * inner)
    for (int64_t o = 0; o < out; o++)
      for (int64_t j = 0; j < inner; j++) {
        int32_t sum = 1 << (t->bits - 1);
        for (int i = 0; i < t->n[o]; i++) sum += t->w[o * t->taps + i] * src[(t->at[o] + i) * inner + j];
        sum >>= t->bits;
        *dst++ = (uint8_t)byte_of(sum);
      }
}

static TlTensor *resample8(TlTensor *x, int mode, const int64_t *to, bool align, bool aa, const double *factor,
                           bool last) {
  TlTensor *cur = tl_in_format(x, TL_U8, last);
  for (int d = 1; cur && d >= 0; d--) { /* width first */
    int64_t in = cur->shape[2 + d], shape[4];
    memcpy(shape, cur->shape, sizeof shape);
    shape[2 + d] = to[d];
    if (in == to[d]) continue;
    Weights8 t;
    const int64_t images = last ? shape[0] : shape[0] * shape[1], row = last ? shape[1] : 1;
    TlTensor *next = tl_empty_format(TL_U8, 4, shape, last);
    if (!next || build8(&t, mode, in, to[d], align, aa, factor[d])) {
      Py_XDECREF(next);
      Py_CLEAR(cur);
      break;
    }
    pass8(&t, images * (d ? shape[2] : 1), in, to[d], row * (d ? 1 : shape[3]), (uint8_t *)tl_data(cur),
          (uint8_t *)tl_data(next));
    tl_free(t.at);
    Py_DECREF(cur);
    cur = next;
  }
  return cur;
}

/* What a call asks for. */
typedef struct {
  int mode, nd; /* nd: spatial dims, the last ones */
  int64_t to[TL_MAX_DIMS];
  double factor[3];
  bool back, align, antialias, last; /* last: the result is channels last */
} Resample;

static int parse_resample(const TlKernel *k, PyObject *const *args, const TlTensor *x, Resample *c) {
  int64_t mode;
  c->back = k->id == TL_RESAMPLE_BACKWARD;
  c->align = args[3] == Py_True;
  c->antialias = args[4] == Py_True;
  if (tl_int_in(args[1], k->name, "mode", NEAREST, LANCZOS, &mode) || tl_ints(args[2], c->to, &c->nd)) return -1;
  c->mode = (int)mode;
  if (c->nd < 1 || c->nd > 3 || x->ndim < c->nd) {
    PyErr_SetString(PyExc_RuntimeError, "upsample: more spatial dims than the input has");
    return -1;
  }
  if (tl_ints_in(args[2], k->name, "size", c->nd, 0, INT32_MAX, c->to) || tl_product(c->nd, c->to, NULL) ||
      tl_product(x->ndim, x->shape, NULL))
    return -1;
  for (int i = 0; i < c->nd; i++)
    if (x->shape[x->ndim - c->nd + i] > INT32_MAX) {
      PyErr_SetString(PyExc_RuntimeError, "upsample: the input is too large");
      return -1;
    }
  for (int i = 0; i < c->nd && args[5] != Py_None; i++) {
    PyObject *f = PySequence_GetItem(args[5], i);
    int bad = !f || (f != Py_None && tl_double(f, &c->factor[i]));
    Py_XDECREF(f);
    if (bad) return -1;
  }
  /* PyTorch: results as the input asks; gradients as that of the result asks, where there is a loop over channels */
  c->last = c->nd > 1 && x->ndim - c->nd == 2 && tl_suggests_channels_last(x) &&
            (!c->back || (mode == LINEAR || (mode <= NEAREST_EXACT && c->nd == 2)));
  return 0;
}

/* Whether there is memory for the result, asked before the tables are made. */
static int try_memory(const Resample *c, tl_dtype dtype, int ndim, const int64_t *shape) {
  for (int i = 0; i < c->nd; i++)
    if (c->to[i] > 1 << 20) {
      TlTensor *r = c->to[i] > INT64_MAX >> 12 ? NULL : tl_empty(dtype, ndim, shape);
      if (!r && !PyErr_Occurred()) tl_sizes_overflow();
      if (!r) return -1;
      Py_DECREF(r);
    }
  return 0;
}

/* Resamples one spatial dim; steals the reference to cur. */
static TlTensor *resample_dim(const Resample *c, TlTensor *cur, int d, tl_dtype input) {
  const int lead = cur->ndim - c->nd;
  const int64_t from = cur->shape[lead + d], in = c->back ? c->to[d] : from, out = c->back ? from : c->to[d];
  int64_t outer = 1, inner = 1, shape[TL_MAX_DIMS];
  TlTensor *next = NULL;
  Table t = {0};
  if (in && out && build(&t, c->mode, in, out, c->align, c->antialias, c->factor[d], input == TL_F64)) goto done;
  if (t.w && same(&t, in, out)) {
    next = (TlTensor *)Py_NewRef((PyObject *)cur);
    goto done;
  }
  for (int j = 0; j < cur->ndim; j++) {
    shape[j] = j == lead + d ? c->to[d] : cur->shape[j];
    if (j > lead + d || (c->last && j == 1)) inner *= cur->shape[j];
    else if (j < lead + d) outer *= cur->shape[j];
  }
  next = tl_empty_format(cur->dtype, cur->ndim, shape, c->last);
  if (next && c->back) tl_clear(tl_data(next), next->storage->nbytes);
  if (next && cur->numel && next->numel) {
    char *s = tl_data(c->back ? next : cur), *y = tl_data(c->back ? cur : next);
    const int64_t size = tl_itemsize[cur->dtype], from_size = in * inner * size, to_size = out * inner * size;
    for (int64_t left = outer, n; left > 0 && next; left -= n, s += n * from_size, y += n * to_size) {
      n = tl_clamp(TL_PIECE / (out * inner) + 1, 1, left);
      if ((cur->dtype == TL_F32 ? pass_f32(&t, n, in, out, inner, (float *)s, (float *)y, c->back)
                                : pass_f64(&t, n, in, out, inner, (double *)s, (double *)y, c->back)) ||
          tl_work(n * out * inner))
        Py_CLEAR(next);
    }
  }
done:
  tl_free(t.w);
  Py_DECREF(cur);
  return next;
}

static void round_pixels(TlTensor *t, bool bytes) {
  float *p = (float *)tl_data(t);
  TL_LOOP(i, t->numel) {
    float v = floorf(p[i] + 0.5f);
    if (bytes && v < 0) v = 0;
    if (bytes && v > 255) v = 255;
    p[i] = v;
  }
}

/* _upsample(self, int mode, output_size, align_corners, antialias, scales or None), _upsample_backward(grad_output,
 * mode, input_size (spatial), ...). self [N, C, spatial...]; integers are rounded as PyTorch rounds uint8 images.
 */
PyObject *tl_k_resample(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *unused) {
  TlTensor *x = (TlTensor *)args[0];
  Resample c = {0};
  if (tl_is_complex(x->dtype)) return TL_FALLBACK();
  if (parse_resample(k, args, x, &c) < 0) return NULL;
  const tl_dtype dt = x->dtype, wd = dt == TL_F64 || dt == TL_I64 || dt == TL_I32 ? TL_F64 : TL_F32;
  const int lead = x->ndim - c.nd;
  int64_t shape[TL_MAX_DIMS];
  for (int i = 0; i < x->ndim; i++) shape[i] = i < lead ? x->shape[i] : c.to[i - lead];
  if (try_memory(&c, wd, x->ndim, shape) < 0) return NULL;
  if (tl_meta) {
    TlTensor *r = tl_empty_format(wd, x->ndim, shape, c.last), *done = r ? tl_cast(r, dt) : NULL;
    Py_XDECREF(r);
    return (PyObject *)done;
  }
  const bool bytes = dt == TL_U8 && c.mode >= LINEAR && c.nd == 2 && x->ndim == 4 && !c.back && x->numel;
  TlTensor *cur =
    bytes ? resample8(x, c.mode, c.to, c.align, c.antialias, c.factor, c.last) : tl_in_format(x, wd, c.last);
  for (int i = 0; cur && !bytes && i < c.nd; i++) cur = resample_dim(&c, cur, c.back ? c.nd - 1 - i : i, dt);
  if (!cur) return NULL;
  if (cur == x) { /* nothing to do: still memory of its own */
    TlTensor *copy = tl_empty_format(wd, x->ndim, x->shape, c.last);
    if (copy && tl_copy(copy, x)) Py_CLEAR(copy);
    Py_DECREF(cur);
    return (PyObject *)copy;
  }
  if (tl_is_integral(dt) && c.mode > NEAREST_EXACT && cur->dtype == TL_F32) round_pixels(cur, dt == TL_U8);
  TlTensor *r = tl_cast(cur, dt);
  Py_DECREF(cur);
  return (PyObject *)r;
}
