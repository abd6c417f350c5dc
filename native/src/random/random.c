/* random.c: distributions. The draws, their order and the float formulas are PyTorch's CPU ones, so that a seed gives
 * the same numbers. PyTorch's x86 builds fuse a * b + c; fma_f and fma do the same here whatever the target. */
#include "random/rng.h"
#include "core/geometry.h"
#include <math.h>

enum { CHUNK = 512 };
/* exact for float products: rounding twice differs from one fused rounding in about one case of 2^29 */
static inline float fma_f(float a, float b, float c) { return (float)((double)a * (double)b + (double)c); }

typedef struct {
  double a, b;
  float fa, fb;
  int64_t base;
  uint64_t range;
  int mode;
} dist;
/* n contiguous elements of dtype d at out */
typedef void (*draw_fn)(TlGenerator *g, const dist *p, tl_dtype d, void *out, int64_t n);

/* PyTorch walks a tensor by its strides, largest first. */
static void memory_order(const TlTensor *t, int *perm) {
  int order[TL_MAX_DIMS], n = t->ndim;
  for (int i = 0; i < n; i++) order[i] = n - 1 - i;
  tl_sort_dims(n, order, t->strides, false);
  for (int i = 0; i < n; i++) perm[i] = order[n - 1 - i];
}

/* In pieces, between which signals are looked at. Pieces are whole blocks of 16, and the last is no short one. */
static int draw_pieces(draw_fn draw, TlGenerator *g, const dist *p, tl_dtype d, char *out, int64_t n) {
  enum { PIECE = 1 << 20 };
  while (n) {
    int64_t m = n < 2 * PIECE ? n : PIECE;
    draw(g, p, d, out, m);
    if (tl_check_interrupt()) return -1;
    out += m * tl_itemsize[d];
    n -= m;
  }
  return 0;
}

/* Fills t in memory order. */
static int fill(TlTensor *t, TlGenerator *g, const dist *p, draw_fn draw) {
  int64_t shape[TL_MAX_DIMS], strides[TL_MAX_DIMS];
  TlTensor *tmp, *view;
  int perm[TL_MAX_DIMS], rc = -1;
  if (!g) return -1;
  if (!t->numel) return 0;
  if (tl_is_contiguous(t)) return draw_pieces(draw, g, p, t->dtype, tl_data(t), t->numel);
  memory_order(t, perm);
  for (int i = 0; i < t->ndim; i++) {
    shape[i] = t->shape[perm[i]];
    strides[i] = t->strides[perm[i]];
  }
  tmp = tl_empty(t->dtype, t->ndim, shape);
  view = tmp ? tl_view(t, t->ndim, shape, strides, t->offset) : NULL;
  if (view && !draw_pieces(draw, g, p, t->dtype, tl_data(tmp), tmp->numel)) rc = tl_copy(view, tmp);
  TL_DEC(tmp);
  TL_DEC(view);
  return rc;
}

static void store_d(tl_dtype d, void *out, int64_t at, const double *v, int64_t n) {
  char *p = (char *)out + at * tl_itemsize[d];
  if (d == TL_F16 || d == TL_BF16) { /* through float, as PyTorch's conversion goes */
    float f[CHUNK];
    for (int64_t i = 0; i < n; i++) f[i] = (float)v[i];
    tl_cast_contig(d, p, TL_F32, f, n);
  } else tl_cast_contig(d, p, TL_F64, v, n);
}

/* out of line: it is in every loop below, and the functions around it cost more than the call */
__attribute__((noinline)) static double uniform_d(TlGenerator *g) { return tl_uniform_d(g); }
__attribute__((noinline)) static float uniform_f(TlGenerator *g) { return tl_uniform_f(g); }
__attribute__((noinline)) static uint64_t random_bits(TlGenerator *g, int wide) {
  return wide ? tl_random64(g) : tl_random32(g);
}

/* a loop over chunks of doubles, EXPR giving one value */
#define DRAW(NAME, EXPR) \
  static void NAME(TlGenerator *g, const dist *p, tl_dtype d, void *out, int64_t n) { \
    double v[CHUNK]; \
    for (int64_t at = 0; at < n; at += CHUNK) { \
      int64_t m = n - at < CHUNK ? n - at : CHUNK; \
      for (int64_t i = 0; i < m; i++) v[i] = (EXPR); \
      store_d(d, out, at, v, m); \
    } \
  }

static const double PI = 3.14159265358979323846;
DRAW(draw_exponential, p->b *log1p(-uniform_d(g)))   /* b = -1 / lambda */
DRAW(draw_geometric, ceil(log(uniform_d(g)) / p->b)) /* b = log1p(-p) */
DRAW(draw_cauchy, fma(p->b, tan(PI *(uniform_d(g) - 0.5)), p->a))
DRAW(draw_log_normal, exp(fma(tl_normal_d(g), p->b, p->a)))
DRAW(draw_bernoulli, uniform_d(g) < p->a ? p->b : 0.0)
DRAW(draw_normal_serial, fma(tl_normal_d(g), p->b, p->a))

static void draw_uniform(TlGenerator *g, const dist *p, tl_dtype d, void *out, int64_t n) {
  int plain = p->a == 0 && p->b == 1;
  if (d == TL_F64) {
    double *o = out, w = p->b - p->a;
    if (plain)
      for (int64_t i = 0; i < n; i++) o[i] = uniform_d(g);
    else
      for (int64_t i = 0; i < n; i++) {
        double x = fma(uniform_d(g), w, p->a);
        o[i] = x == p->b ? p->a : x;
      }
  } else if (d == TL_F32) {
    float *o = out, w = p->fb - p->fa;
    if (plain)
      for (int64_t i = 0; i < n; i++) o[i] = tl_uniform_f(g);
    else
      for (int64_t i = 0; i < n; i++) {
        float x = fma_f(uniform_f(g), w, p->fa);
        o[i] = x == p->fb ? p->fa : x;
      }
  } else {
    uint16_t *o = out, lo, hi;
    float w = p->fb - p->fa, f[CHUNK];
    tl_cast_contig(d, &lo, TL_F32, &p->fa, 1);
    tl_cast_contig(d, &hi, TL_F32, &p->fb, 1);
    for (int64_t at = 0; at < n; at += CHUNK) {
      int64_t m = n - at < CHUNK ? n - at : CHUNK;
      for (int64_t i = 0; i < m; i++) f[i] = fma_f(uniform_f(g), w, p->fa);
      tl_cast_contig(d, o + at, TL_F32, f, m);
      for (int64_t i = 0; i < m; i++)
        if (o[at + i] == hi) o[at + i] = lo; /* rounding must not reach the open end */
    }
  }
}

/* Box-Muller on 16 uniforms: 8 pairs (j, j + 8). Float log, sin and cos are the Cephes single precision polynomials
 * with fused steps; 1 ULP. */
static inline float log_cephes(float x) {
  uint32_t u;
  float e, y, z, low;
  memcpy(&u, &x, 4);
  e = (float)((int)(u >> 23) - 126);
  u = (u & 0x007fffffu) | 0x3f000000u;
  memcpy(&x, &u, 4);
  low = x < 0.707106781186547524f ? 1.0f : 0.0f;
  e -= low;
  x = x - 1.0f + low * x;
  z = x * x;
  y = fma_f(7.0376836292e-2f, x, -1.1514610310e-1f);
  y = fma_f(y, x, 1.1676998740e-1f);
  y = fma_f(y, x, -1.2420140846e-1f);
  y = fma_f(y, x, 1.4249322787e-1f);
  y = fma_f(y, x, -1.6668057665e-1f);
  y = fma_f(y, x, 2.0000714765e-1f);
  y = fma_f(y, x, -2.4999993993e-1f);
  y = fma_f(y, x, 3.3333331174e-1f);
  y = y * x;
  y = fma_f(y, z, e * -2.12194440e-4f);
  y = fma_f(-z, 0.5f, y);
  return fma_f(e, 0.693359375f, x + y);
}

static inline void sincos_cephes(float x, float *sn, float *cs) { /* x >= 0 */
  int32_t k = ((int32_t)(x * 1.27323954473516f) + 1) & ~1;
  float y = (float)k, z, c, s, sign_s = (k & 4) ? -1.0f : 1.0f, sign_c = ((k - 2) & 4) ? 1.0f : -1.0f;
  x = fma_f(y, -0.78515625f, x);
  x = fma_f(y, -2.4187564849853515625e-4f, x);
  x = fma_f(y, -3.77489497744594108e-8f, x);
  z = x * x;
  c = fma_f(2.443315711809948e-5f, z, -1.388731625493765e-3f);
  c = fma_f(c, z, 4.166664568298827e-2f) * z;
  c = fma_f(c, z, -(z * 0.5f)) + 1.0f;
  s = fma_f(-1.9515295891e-4f, z, 8.3321608736e-3f);
  s = fma_f(s, z, -1.6666654611e-1f) * z;
  s = fma_f(s, x, x);
  *sn = ((k & 2) ? c : s) * sign_s;
  *cs = ((k & 2) ? s : c) * sign_c;
}

/* without branches, for the vectoriser */
__attribute__((noinline)) static void block_f(float *restrict v, float mean, float std) {
  float r[8], s[8], c[8];
  for (int j = 0; j < 8; j++) r[j] = sqrtf(-2.0f * log_cephes(1.0f - v[j]));
  for (int j = 0; j < 8; j++) sincos_cephes(6.283185307179586f * v[j + 8], &s[j], &c[j]);
  for (int j = 0; j < 8; j++) v[j] = fma_f(r[j] * c[j], std, mean);
  for (int j = 0; j < 8; j++) v[j + 8] = fma_f(r[j] * s[j], std, mean);
}

__attribute__((noinline)) static void block_d(double *v, double mean, double std) {
  int plain = mean == 0 && std == 1;
  for (int j = 0; j < 8; j++) {
    double r = sqrt(-2.0 * log(1.0 - v[j])), t = 2.0 * PI * v[j + 8], c = r * cos(t), s = r * sin(t);
    v[j] = plain ? c : fma(c, std, mean);
    v[j + 8] = plain ? s : fma(s, std, mean);
  }
}

/* 16 elements or more of a contiguous tensor: uniforms first, then blocks of 16; an incomplete last block is drawn anew
 * over the last 16 elements. The 16-bit types draw block by block. */
static void draw_normal_blocks(TlGenerator *g, const dist *p, tl_dtype d, void *out, int64_t n) {
  int64_t i;
  if (d == TL_F32) {
    float *o = out;
    for (i = 0; i < n; i++) o[i] = tl_uniform_f(g);
    for (i = 0; i + 16 <= n; i += 16) block_f(o + i, p->fa, p->fb);
    if (i < n) {
      for (i = n - 16; i < n; i++) o[i] = uniform_f(g);
      block_f(o + n - 16, p->fa, p->fb);
    }
  } else if (d == TL_F64) {
    double *o = out;
    for (i = 0; i < n; i++) o[i] = uniform_d(g);
    for (i = 0; i + 16 <= n; i += 16) block_d(o + i, p->a, p->b);
    if (i < n) {
      for (i = n - 16; i < n; i++) o[i] = uniform_d(g);
      block_d(o + n - 16, p->a, p->b);
    }
  } else {
    uint16_t *o = out;
    float v[16];
    for (i = 0; i < n; i += 16) {
      int64_t at = i + 16 <= n ? i : n - 16;
      for (int j = 0; j < 16; j++) v[j] = uniform_f(g);
      block_f(v, p->fa, p->fb);
      tl_cast_contig(d, o + at, TL_F32, v, 16);
    }
  }
}

static int fill_normal(TlTensor *t, TlGenerator *g, dist *p) {
  p->fa = (float)p->a;
  p->fb = (float)p->b;
  return fill(t, g, p, t->numel >= 16 && tl_is_contiguous(t) ? draw_normal_blocks : draw_normal_serial);
}

/* mode 0: base + random % range; 1: the whole 64-bit range */
static void draw_integer(TlGenerator *g, const dist *p, tl_dtype d, void *out, int64_t n) {
  int64_t v[CHUNK];
  int wide = p->range >= (UINT64_C(1) << 28);
  for (int64_t at = 0; at < n; at += CHUNK) {
    int64_t m = n - at < CHUNK ? n - at : CHUNK;
    for (int64_t i = 0; i < m; i++) {
      uint64_t r = p->mode ? random_bits(g, 1)
                   : wide  ? random_bits(g, 1) % p->range
                           : (uint32_t)random_bits(g, 0) % (uint32_t)p->range;
      v[i] = (int64_t)(r + (uint64_t)p->base);
    }
    if (d == TL_F16 || d == TL_BF16) {
      float f[CHUNK];
      for (int64_t i = 0; i < m; i++) f[i] = (float)v[i];
      tl_cast_contig(d, (char *)out + at * 2, TL_F32, f, m);
    } else tl_cast_contig(d, (char *)out + at * tl_itemsize[d], TL_I64, v, m);
  }
}

/* random_() of a dtype draws 64 bits for double and int64 and 32 bits otherwise */
static void draw_default(TlGenerator *g, const dist *p, tl_dtype d, void *out, int64_t n) {
  static const uint64_t range[] = {
    2, 256, 128, 32768, UINT64_C(1) << 31, UINT64_C(1) << 63, 2049, 257, 16777217, (UINT64_C(1) << 53) + 1};
  int64_t v[CHUNK];
  (void)p;
  for (int64_t at = 0; at < n; at += CHUNK) {
    int64_t m = n - at < CHUNK ? n - at : CHUNK;
    for (int64_t i = 0; i < m; i++) v[i] = (int64_t)(random_bits(g, d == TL_I64 || d == TL_F64) % range[d]);
    tl_cast_contig(d, (char *)out + at * tl_itemsize[d], TL_I64, v, m);
  }
}

/* ---- kernels ---------------------------------------------------------------------------------------------------- */
static PyObject *not_implemented(const char *what, tl_dtype d) {
  PyErr_Format(PyExc_NotImplementedError, "\"%s\" not implemented for '%s'", what, tl_scalar_type[d]);
  return NULL;
}

static PyObject *number_error(const char *format, double v) {
  PyObject *f = PyFloat_FromDouble(v), *text = NULL;
  char *s = PyOS_double_to_string(v, 'g', 6, 0, NULL);
  Py_XDECREF(f);
  if (s) text = PyUnicode_FromFormat(format, s);
  PyMem_Free(s);
  if (text) PyErr_SetObject(PyExc_RuntimeError, text);
  Py_XDECREF(text);
  return NULL;
}

static PyObject *done(int rc, PyObject *self) { return rc < 0 ? NULL : Py_NewRef(self); }

/* complex tensors are pairs of reals */
static TlTensor *as_real(TlTensor *t) {
  int64_t shape[TL_MAX_DIMS], strides[TL_MAX_DIMS];
  TlTensor *v;
  if (!tl_is_complex(t->dtype) || t->ndim + 1 > TL_MAX_DIMS) return TL_INC(t);
  for (int d = 0; d < t->ndim; d++) {
    shape[d] = t->shape[d];
    strides[d] = 2 * t->strides[d];
  }
  shape[t->ndim] = 2;
  strides[t->ndim] = 1;
  v = tl_view(t, t->ndim, t->shape, t->strides, t->offset);
  if (!v) return NULL;
  v->dtype = (uint8_t)tl_real_of(t->dtype);
  {
    TlTensor *r = tl_view(v, t->ndim + 1, shape, strides, 2 * t->offset);
    TL_DEC(v);
    return r;
  }
}

static PyObject *k_uniform(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out) {
  TlTensor *self = (TlTensor *)a[0], *t;
  dist p = {0};
  int rc;
  (void)k;
  (void)n;
  (void)out;
  if (tl_double(a[1], &p.a) < 0 || tl_double(a[2], &p.b) < 0) return NULL;
  if (tl_is_integral(self->dtype)) return not_implemented("check_uniform_bounds", self->dtype);
  if (tl_real_of(self->dtype) != TL_F64) {
    double top = self->dtype == TL_F16 ? 65504.0 : 3.40282346638528859811704183484516925e38;
    const char *kind = self->dtype == TL_F16 ? "c10::Half" : self->dtype == TL_BF16 ? "c10::BFloat16" : "float";
    if (fabs(p.a) > top || fabs(p.b) > top) {
      PyErr_Format(PyExc_RuntimeError, "%s is out of bounds for %s", fabs(p.a) > top ? "from" : "to", kind);
      return NULL;
    }
  }
  if (p.a > p.b) {
    char *x = PyOS_double_to_string(p.a, 'g', 6, 0, NULL), *y = PyOS_double_to_string(p.b, 'g', 6, 0, NULL);
    if (x && y)
      PyErr_Format(PyExc_RuntimeError, "uniform_ expects to return a [from, to) range, but found from=%s > to=%s", x,
                   y);
    PyMem_Free(x);
    PyMem_Free(y);
    return NULL;
  }
  p.fa = (float)p.a;
  p.fb = (float)p.b;
  if (!(t = as_real(self))) return NULL;
  rc = fill(t, tl_generator(a[3]), &p, draw_uniform);
  TL_DEC(t);
  return done(rc, a[0]);
}

static PyObject *k_normal(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out) {
  TlTensor *self = (TlTensor *)a[0], *t;
  dist p = {0};
  int rc;
  (void)k;
  (void)n;
  (void)out;
  if (tl_double(a[1], &p.a) < 0 || tl_double(a[2], &p.b) < 0) return NULL;
  if (!(p.b >= 0)) return number_error("normal expects std >= 0.0, but found std %s", p.b);
  if (tl_is_integral(self->dtype)) return not_implemented("normal_kernel_cpu", self->dtype);
  if (tl_is_complex(self->dtype)) p.b /= sqrt(2.0);
  if (!(t = as_real(self))) return NULL;
  rc = fill_normal(t, tl_generator(a[3]), &p);
  TL_DEC(t);
  return done(rc, a[0]);
}

/* id 0: rand(size, generator, dtype, ...); 1: randn */
static PyObject *k_rand(const TlKernel *k, PyObject *const *a, Py_ssize_t n_, TlTensor *out) {
  int64_t shape[TL_MAX_DIMS];
  dist p = {0};
  TlTensor *r, *t;
  tl_dtype d;
  int n, rc;
  (void)n_;
  (void)out;
  if (tl_ints(a[0], shape, &n) < 0 || tl_dtype_arg(a[2], tl_default_dtype, &d) < 0) return NULL;
  for (int i = 0; i < n; i++)
    if (shape[i] < 0) {
      PyErr_Format(PyExc_RuntimeError, "Trying to create tensor with negative dimension %lld: %s", (long long)shape[i],
                   tl_fmt_shape(n, shape));
      return NULL;
    }
  if (tl_is_integral(d)) return not_implemented(k->id ? "normal_kernel_cpu" : "check_uniform_bounds", d);
  if (!(r = tl_empty(d, n, shape))) return NULL;
  p.b = p.fb = 1;
  if (k->id && tl_is_complex(d)) p.b /= sqrt(2.0);
  t = as_real(r);
  rc = !t ? -1 : k->id ? fill_normal(t, tl_generator(a[1]), &p) : fill(t, tl_generator(a[1]), &p, draw_uniform);
  TL_DEC(t);
  if (rc < 0) TL_CLEAR(r);
  return (PyObject *)r;
}

static const char *c_type(tl_dtype d) {
  static const char *const names[] = {"bool", "unsigned char", "signed char",   "short", "int",
                                      "long", "c10::Half",     "c10::BFloat16", "float", "double"};
  return names[d];
}

/* v, moved by the dtype's step at |v| towards `step` when v + step rounds to the wrong side of v */
static int64_t representable(int64_t v, int step, tl_dtype d, int digits) {
  double next = (double)(v + step);
  int64_t w = (int64_t)(d == TL_F64 ? next : (double)(float)next), m = v + step < 0 ? -(v + step) : v + step;
  int n = 0;
  if (d == TL_F16 || d == TL_BF16) {
    uint16_t h;
    float f = (float)next;
    tl_cast_contig(d, &h, TL_F32, &f, 1);
    tl_cast_contig(TL_F32, &f, d, &h, 1);
    w = (int64_t)f;
  }
  if (step > 0 ? w >= v : w < v) return v;
  while (m >>= 1) n++;
  return w + step * (INT64_C(1) << (n - digits + 1));
}

/* id 0: random_(self, generator); 1: random_(self, to, generator); 2: random_(self, from, to or None, generator) */
static PyObject *k_random(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out) {
  static const double low[] = {0,
                               0,
                               -128,
                               -32768,
                               -2147483648.0,
                               -9223372036854775808.0,
                               -65504,
                               -3.3895313892515355e38,
                               -3.4028234663852886e38,
                               -1.7976931348623157e308};
  static const double high[] = {1,
                                255,
                                127,
                                32767,
                                2147483647.0,
                                9223372036854775807.0,
                                65504,
                                3.3895313892515355e38,
                                3.4028234663852886e38,
                                1.7976931348623157e308};
  static const int digits[] = {0, 0, 0, 0, 0, 0, 11, 8, 24, 53};
  TlTensor *self = (TlTensor *)a[0];
  int64_t from = 0, to = 0;
  dist p = {0};
  tl_dtype d = self->dtype;
  (void)n;
  (void)out;
  if (tl_is_complex(d)) {
    PyErr_SetString(PyExc_RuntimeError, "check_random_bounds handles only integral, floating-point and boolean types");
    return NULL;
  }
  if (k->id == 0) return done(fill(self, tl_generator(a[1]), &p, draw_default), a[0]);
  if (k->id == 1 ? tl_int(a[1], &to) < 0 : tl_int(a[1], &from) < 0) return NULL;
  if (k->id == 2 && a[2] == Py_None) { /* up to and with the largest value */
    static const int64_t top[] = {1, 255, 127, 32767, 2147483647, INT64_MAX, 2048, 256, 16777216, INT64_C(1) << 53};
    if ((double)from < low[d] || (!digits[d] && from > top[d])) {
      PyErr_Format(PyExc_RuntimeError, "from is out of bounds for %s", c_type(d));
      return NULL;
    }
    if (from >= top[d] && digits[d]) {
      PyErr_Format(PyExc_RuntimeError,
                   "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' casted to dtype, but "
                   "got from=%lld > to_inc=%lld",
                   (long long)from, (long long)top[d]);
      return NULL;
    }
    if (from == INT64_MIN) {
      p.mode = 1;
      p.range = 0;
      p.base = 0;
    } else {
      p.base = from;
      p.range = (uint64_t)top[d] - (uint64_t)from + 1;
    }
    return done(fill(self, tl_generator(a[3]), &p, draw_integer), a[0]);
  }
  if (k->id == 2 && tl_int(a[2], &to) < 0) return NULL;
  if (from >= to) {
    PyErr_Format(PyExc_RuntimeError, "random_ expects 'from' to be less than 'to', but got from=%lld >= to=%lld",
                 (long long)from, (long long)to);
    return NULL;
  }
  if ((double)from < low[d] || (double)from > high[d]) {
    PyErr_Format(PyExc_RuntimeError, "from is out of bounds for %s", c_type(d));
    return NULL;
  }
  if ((double)(to - 1) < low[d] || (double)(to - 1) > high[d]) {
    PyErr_Format(PyExc_RuntimeError, "to - 1 is out of bounds for %s", c_type(d));
    return NULL;
  }
  if (digits[d]) {
    int64_t edge = INT64_C(1) << digits[d];
    for (int i = 0; i < 2; i++) {
      int64_t v = i ? to - 1 : from;
      if ((v < -edge || v > edge) &&
          PyErr_WarnFormat(PyExc_UserWarning, 1,
                           "%s is out of bounds [-(2^%d), 2^%d]. Due to precision limitations %s can support discrete "
                           "uniform distribution only within this range. "
                           "This warning will become an error in version 1.7 release, please fix the code in advance",
                           i ? "to - 1" : "from", digits[d], digits[d], c_type(d)) < 0)
        return NULL;
    }
  }
  if (digits[d]) { /* ends that the dtype cannot tell from their neighbours move inwards */
    from = representable(from, 1, d, digits[d]);
    to = representable(to, -1, d, digits[d]);
    if (from >= to) to = from + 1; /* one number between them */
  }
  p.base = from;
  p.range = (uint64_t)to - (uint64_t)from;
  return done(fill(self, tl_generator(a[k->id == 2 ? 3 : 2]), &p, draw_integer), a[0]);
}

/* bernoulli_(self, p: float or Tensor, generator): float draws for a float p tensor, double ones otherwise */
static PyObject *k_bernoulli(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out) {
  TlTensor *self = (TlTensor *)a[0], *pt, *e = NULL, *tmp = NULL;
  TlGenerator *g = tl_generator(a[2]);
  dist p = {0};
  int rc = -1;
  (void)k;
  (void)n;
  (void)out;
  if (!g) return NULL;
  if (!TL_CHECK(a[1])) {
    if (tl_double(a[1], &p.a) < 0) return NULL;
    if (!(p.a >= 0 && p.a <= 1)) return number_error("bernoulli_ expects p to be in [0, 1], but got p=%s", p.a);
    if (tl_is_complex(self->dtype)) return not_implemented("bernoulli_scalar_cpu_", self->dtype);
    p.b = 1;
    return done(fill(self, g, &p, draw_bernoulli), a[0]);
  }
  pt = (TlTensor *)a[1];
  if (!tl_is_float(pt->dtype)) return not_implemented("bernoulli_tensor_cpu_p_", pt->dtype);
  {
    int64_t shape[TL_MAX_DIMS], strides[TL_MAX_DIMS], sstrides[TL_MAX_DIMS];
    int nd, perm[TL_MAX_DIMS];
    TlTensor *v;
    double y[CHUNK];
    int wide = pt->dtype == TL_F64;
    if (tl_broadcast(self->ndim, self->shape, pt->ndim, pt->shape, &nd, shape) < 0) return NULL;
    if (nd != self->ndim || memcmp(shape, self->shape, (size_t)nd * sizeof *shape)) {
      PyErr_Format(PyExc_RuntimeError, "The expanded size of the tensor must match the existing size: %s and %s",
                   tl_fmt_shape(self->ndim, self->shape), tl_fmt_shape(pt->ndim, pt->shape));
      return NULL;
    }
    memory_order(self, perm);
    for (int i = 0; i < nd; i++) {
      int j = perm[i] - (nd - pt->ndim);
      shape[i] = self->shape[perm[i]];
      sstrides[i] = self->strides[perm[i]];
      strides[i] = j >= 0 && pt->shape[j] == shape[i] ? pt->strides[j] : 0;
    }
    if (!(v = tl_view(pt, nd, shape, strides, pt->offset))) return NULL;
    e = tl_contiguous_as(v, wide ? TL_F64 : TL_F32);
    TL_DEC(v);
    tmp = e ? tl_empty(self->dtype, nd, shape) : NULL;
    if (!tmp) goto end;
    for (int64_t at = 0; at < e->numel; at += CHUNK) {
      int64_t m = e->numel - at < CHUNK ? e->numel - at : CHUNK;
      for (int64_t i = 0; i < m; i++) {
        double q = wide ? ((double *)tl_data(e))[at + i] : ((float *)tl_data(e))[at + i];
        if (!(q >= 0 && q <= 1)) {
          PyErr_SetString(PyExc_RuntimeError, "Expected p_in >= 0 && p_in <= 1 to be true, but got false.");
          goto end;
        }
        y[i] = (wide ? uniform_d(g) : uniform_f(g)) < q ? 1.0 : 0.0;
      }
      store_d(self->dtype, tl_data(tmp), at, y, m);
    }
    if (!(v = tl_view(self, nd, shape, sstrides, self->offset))) goto end;
    rc = tl_copy(v, tmp);
    TL_DEC(v);
  }
end:
  TL_DEC(e);
  TL_DEC(tmp);
  return done(rc, a[0]);
}

/* one or two float parameters: exponential_(lambd), geometric_(p), cauchy_(median, sigma), log_normal_(mean, std) */
static PyObject *k_continuous(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out) {
  TlTensor *self = (TlTensor *)a[0];
  tl_dtype d = self->dtype;
  dist p = {0};
  double x, y = 0;
  draw_fn draw;
  (void)out;
  if (tl_double(a[1], &x) < 0 || (k->id >= 2 && tl_double(a[2], &y) < 0)) return NULL;
  if (k->id == 0) {
    if (!tl_is_float(d)) {
      PyErr_Format(PyExc_RuntimeError,
                   "Exponential distribution is a continuous probability distribution. dtype must be a floating point "
                   "but you specified %s",
                   tl_scalar_type[d]);
      return NULL;
    }
    if (!(x > 0)) return number_error("exponential_ expects lambda > 0.0, but found lambda=%s", x);
    p.b = -1.0 / x;
    draw = draw_exponential;
  } else if (k->id == 1) {
    if (!(x > 0 && x < 1)) return number_error("geometric_ expects p to be in (0, 1), but got p=%s", x);
    if (d == TL_BOOL || tl_is_complex(d)) return not_implemented("geometric_cpu", d);
    p.b = log1p(-x);
    draw = draw_geometric;
  } else if (k->id == 2) {
    if (!(y > 0)) return number_error("cauchy_ expects sigma > 0.0, but found sigma=%s", y);
    if (!tl_is_float(d)) {
      PyErr_Format(PyExc_RuntimeError,
                   "Cauchy distribution is a continuous probability distribution. dtype must be a floating point but "
                   "you specified %s",
                   d == TL_I64        ? "long int"
                   : tl_is_complex(d) ? tl_scalar_type[d]
                                      : c_type(d));
      return NULL;
    }
    draw = draw_cauchy;
  } else {
    if (!(y > 0)) return number_error("log_normal_ expects std > 0.0, but found std=%s", y);
    if (!tl_is_float(d)) return not_implemented("log_normal_cpu", d);
    draw = draw_log_normal;
  }
  if (k->id >= 2) {
    p.a = x;
    p.b = y;
  }
  return done(fill(self, tl_generator(a[n - 1]), &p, draw), a[0]);
}

/* dropout_noise(self, p, generator): 1 / (1 - p) where a draw keeps the element, else 0; shaped and laid out like self
 */
static PyObject *k_dropout_noise(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out) {
  TlTensor *self = (TlTensor *)a[0], *r;
  dist p = {0};
  double q;
  (void)k;
  (void)n;
  (void)out;
  if (tl_double(a[1], &q) < 0) return NULL;
  p.a = 1 - q;
  p.b = self->dtype == TL_F64 ? 1.0 / p.a : (double)(1.0f / (float)p.a);
  r = tl_empty_like(self, tl_is_complex(self->dtype) ? tl_real_of(self->dtype) : self->dtype);
  if (r && fill(r, tl_generator(a[2]), &p, draw_bernoulli) < 0) TL_CLEAR(r);
  return (PyObject *)r;
}

/* rrelu_noise(self, lower, upper, generator): a draw from [lower, upper) for every element that is not positive, in
 * order, and 1 for the others */
static PyObject *k_rrelu_noise(const TlKernel *k, PyObject *const *a, Py_ssize_t n_, TlTensor *out) {
  TlTensor *self = (TlTensor *)a[0], *x, *r = NULL, *result = NULL;
  TlGenerator *g = tl_generator(a[3]);
  double lower, upper;
  (void)k;
  (void)n_;
  (void)out;
  if (!g || tl_double(a[1], &lower) < 0 || tl_double(a[2], &upper) < 0) return NULL;
  if (!(x = tl_contiguous_as(self, TL_F64))) return NULL;
  if ((r = tl_empty(TL_F64, x->ndim, x->shape))) {
    const double *v = (const double *)tl_data(x);
    double *o = (double *)tl_data(r);
    for (int64_t i = 0; i < x->numel; i++) o[i] = v[i] <= 0 ? fma(uniform_d(g), upper - lower, lower) : 1;
    result = tl_cast(r, (tl_dtype)self->dtype);
  }
  TL_DEC(x);
  TL_DEC(r);
  return (PyObject *)result;
}

/* ---- randperm, multinomial -------------------------------------------------------------------------------------- */
/* randperm(n, generator, dtype) */
static PyObject *k_randperm(const TlKernel *k, PyObject *const *a, Py_ssize_t na, TlTensor *out) {
  TlGenerator *g = tl_generator(a[1]);
  TlTensor *t, *r;
  int64_t n, *v;
  tl_dtype d;
  (void)k;
  (void)na;
  (void)out;
  if (!g || tl_int(a[0], &n) < 0 || tl_dtype_arg(a[2], TL_I64, &d) < 0) return NULL;
  if (n < 0) {
    PyErr_Format(PyExc_RuntimeError, "Trying to create tensor with negative dimension %lld: [%lld]", (long long)n,
                 (long long)n);
    return NULL;
  }
  if (d == TL_BOOL || tl_is_complex(d)) return not_implemented("randperm", d);
  {
    static const int64_t most[] = {0,         255,  127, 32767,    2147483647,
                                   INT64_MAX, 2049, 257, 16777217, (INT64_C(1) << 53) + 1};
    static const char *const names[] = {"", "uint8_t", "int8_t", "int16_t", "int", "int64_t"};
    if (n > most[d]) {
      if (tl_is_float(d))
        PyErr_Format(PyExc_RuntimeError, "n cannot be greater than %lld for %s type.", (long long)most[d],
                     tl_scalar_type[d]);
      else PyErr_Format(PyExc_RuntimeError, "value cannot be converted to type %s without overflow", names[d]);
      return NULL;
    }
  }
  if (!(t = tl_empty(TL_I64, 1, &n))) return NULL;
  v = (int64_t *)tl_data(t);
  for (int64_t i = 0; i < n; i++) v[i] = i;
  if (n < (int64_t)(UINT32_MAX / 20)) {
    for (int64_t i = 0; i < n - 1; i++) {
      int64_t z = (int64_t)(tl_random32(g) % (uint32_t)(n - i)), s = v[i];
      v[i] = v[z + i];
      v[z + i] = s;
    }
  } else { /* large n: 64-bit draws keep the modulo skew small */
    for (int64_t i = 0; i < n - 1; i++) {
      int64_t z = (int64_t)(tl_random64(g) % (uint64_t)(n - i)), s = v[i];
      v[i] = v[z + i];
      v[z + i] = s;
    }
  }
  r = tl_cast(t, d);
  TL_DEC(t);
  return (PyObject *)r;
}

static int check_weights(const TlTensor *w, int64_t rows, int64_t cols) { /* contiguous double */
  const double *v = (const double *)tl_data(w);
  for (int64_t i = 0; i < rows * cols; i++) {
    if (v[i] >= 0 && v[i] < HUGE_VAL) continue;
    PyErr_SetString(PyExc_RuntimeError, "probability tensor contains either `inf`, `nan` or element < 0");
    return -1;
  }
  for (int64_t r = 0; r < rows; r++) {
    double s = 0;
    for (int64_t c = 0; c < cols; c++) s += v[r * cols + c];
    if (s > 0) continue;
    PyErr_SetString(PyExc_RuntimeError, "invalid multinomial distribution (sum of probabilities <= 0)");
    return -1;
  }
  return 0;
}

/* multinomial(self, num_samples, replacement, generator). Without replacement, or for one sample: the largest
 * weight / Exp(1) ratios. With replacement: a search in the cumulative weights. */
static PyObject *k_multinomial(const TlKernel *k, PyObject *const *a, Py_ssize_t na, TlTensor *out) {
  TlTensor *self = (TlTensor *)a[0], *w = NULL, *q = NULL, *r = NULL;
  TlGenerator *g = tl_generator(a[3]);
  int64_t m, rows, cols, shape[2], *o;
  int replacement = PyObject_IsTrue(a[2]), ok = 0;
  tl_dtype d = self->dtype;
  double *v;
  (void)k;
  (void)na;
  (void)out;
  if (!g || replacement < 0 || tl_int(a[1], &m) < 0) return NULL;
  if (!tl_is_float(d)) {
    PyErr_Format(PyExc_RuntimeError, "multinomial only supports floating-point dtypes for input, got: %s",
                 tl_scalar_type[d]);
    return NULL;
  }
  if (self->ndim != 1 && self->ndim != 2) {
    PyErr_SetString(PyExc_RuntimeError, "prob_dist must be 1 or 2 dim");
    return NULL;
  }
  if (m <= 0) {
    PyErr_SetString(PyExc_RuntimeError, "cannot sample n_sample <= 0 samples");
    return NULL;
  }
  cols = self->shape[self->ndim - 1];
  rows = self->ndim == 2 ? self->shape[0] : 1;
  if (!replacement && m > cols) {
    PyErr_SetString(PyExc_RuntimeError, "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
    return NULL;
  }
  if (cols > (INT64_C(1) << 24)) {
    PyErr_SetString(PyExc_RuntimeError, "number of categories cannot exceed 2^24");
    return NULL;
  }
  shape[0] = self->ndim == 2 ? rows : m;
  shape[1] = m;
  r = tl_empty(TL_I64, self->ndim, shape);
  if (r && !r->numel) return (PyObject *)r;
  if (!r || !(w = tl_contiguous_as(self, TL_F64))) goto end;
  v = (double *)tl_data(w);
  o = (int64_t *)tl_data(r);
  if (check_weights(w, rows, cols) < 0) goto end;
  if (!replacement || m == 1) {
    dist p = {0};
    TlTensor *e = tl_empty_like(self, d);
    p.b = -1;
    if (e && fill(e, g, &p, draw_exponential) == 0) q = tl_contiguous_as(e, TL_F64);
    TL_DEC(e);
    if (!q) goto end;
    for (int64_t i = 0; i < rows * cols; i++) { /* the ratio, rounded as a division in d is */
      double *x = (double *)tl_data(q) + i;
      if (d == TL_F64) *x = v[i] / *x;
      else {
        float f = (float)v[i] / (float)*x;
        uint16_t h;
        if (d != TL_F32) {
          tl_cast_contig(d, &h, TL_F32, &f, 1);
          tl_cast_contig(TL_F32, &f, d, &h, 1);
        }
        *x = f;
      }
    }
    for (int64_t row = 0; row < rows; row++) {
      double *x = (double *)tl_data(q) + row * cols;
      for (int64_t s = 0; s < m; s++) { /* selection: m is small in practice, and ties keep their order */
        int64_t best = 0;
        for (int64_t c = 1; c < cols; c++)
          if (x[c] > x[best] || x[c] != x[c]) best = c;
        o[row * m + s] = best;
        x[best] = -1;
        if (!(s & 63) && tl_check_interrupt() < 0) goto end;
      }
    }
  } else {
    if (!(q = tl_empty(TL_F64, 1, &cols))) goto end;
    for (int64_t row = 0; row < rows; row++) {
      double *cum = (double *)tl_data(q), total = 0;
      float ftotal = 0;
      for (int64_t c = 0; c < cols; c++) {
        if (d == TL_F64) cum[c] = total += v[row * cols + c];
        else cum[c] = ftotal += (float)v[row * cols + c];
      }
      for (int64_t c = 0; c < cols; c++) cum[c] = d == TL_F64 ? cum[c] / total : (double)((float)cum[c] / ftotal);
      for (int64_t s = 0; s < m; s++) {
        double u = uniform_d(g);
        int64_t lo = 0, hi = cols;
        while (hi - lo > 0) {
          int64_t mid = lo + (hi - lo) / 2;
          if (cum[mid] < u) lo = mid + 1;
          else hi = mid;
        }
        o[row * m + s] = lo < cols ? lo : cols - 1;
      }
    }
  }
  ok = 1;
end:
  TL_DEC(w);
  TL_DEC(q);
  if (!ok) TL_CLEAR(r);
  return (PyObject *)r;
}

static PyObject *k_generator(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out) {
  (void)out;
  if (k->id == 0) return Py_XNewRef((PyObject *)tl_generator_type());
  if (n < 1) {
    PyErr_SetString(PyExc_TypeError, "expected a Generator");
    return NULL;
  }
  if (tl_set_default_generator(a[0]) < 0) return NULL;
  return Py_NewRef(Py_None);
}

const TlKernel tl_kernels_random[] = {{"generator_type", k_generator, 0, TL_K_CHECKS, NULL},
                                      {"set_default_generator", k_generator, 1, TL_K_CHECKS, NULL},
                                      {"rand", k_rand, 0, 0, NULL},
                                      {"randn", k_rand, 1, 0, NULL},
                                      {"uniform_", k_uniform, 0, 0, NULL},
                                      {"normal_", k_normal, 0, 0, NULL},
                                      {"random_", k_random, 0, 0, NULL},
                                      {"random_to", k_random, 1, 0, NULL},
                                      {"random_from", k_random, 2, 0, NULL},
                                      {"bernoulli_", k_bernoulli, 0, 0, NULL},
                                      {"exponential_", k_continuous, 0, 0, NULL},
                                      {"geometric_", k_continuous, 1, 0, NULL},
                                      {"cauchy_", k_continuous, 2, 0, NULL},
                                      {"log_normal_", k_continuous, 3, 0, NULL},
                                      {"dropout_noise", k_dropout_noise, 0, 0, NULL},
                                      {"rrelu_noise", k_rrelu_noise, 0, 0, NULL},
                                      {"randperm", k_randperm, 0, 0, NULL},
                                      {"multinomial", k_multinomial, 0, 0, NULL},
                                      {"poisson", tl_k_sampled, 0, 0, NULL},
                                      {"binomial", tl_k_sampled, 1, 0, NULL},
                                      {"standard_gamma", tl_k_sampled, 2, 0, NULL},
                                      {"sample_dirichlet", tl_k_dirichlet, 0, 0, NULL},
                                      {0}};
