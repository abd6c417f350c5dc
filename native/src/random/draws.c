/* draws.c: numbers of a distribution. The draws, their order and the float formulas are PyTorch's CPU ones, so that a
 * seed gives the same numbers. PyTorch's x86 builds fuse a * b + c; fma_f and fma do the same here whatever the target.
 */
#include "random/draws.h"
#include "core/geometry.h"
#include "math/vdouble.h"

/* exact for float products: rounding twice differs from one fused rounding in about one case of 2^29 */
static inline float fma_f(float a, float b, float c) { return (float)((double)a * (double)b + (double)c); }

/* PyTorch walks a tensor by its strides, largest first. */
void tl_memory_order(const TlTensor *t, int *perm) {
  int order[TL_MAX_DIMS], n = t->ndim;
  for (int i = 0; i < n; i++) order[i] = n - 1 - i;
  tl_sort_dims(n, order, t->strides, false);
  for (int i = 0; i < n; i++) perm[i] = order[n - 1 - i];
}

/* In pieces, between which signals are looked at. Pieces are whole blocks of 16, and the last is no short one. */
static int draw_pieces(TlDrawFn *draw, TlGenerator *g, const TlDist *p, tl_dtype d, char *out, int64_t n) {
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
int tl_fill_drawn(TlTensor *t, TlGenerator *g, const TlDist *p, TlDrawFn *draw) {
  int64_t shape[TL_MAX_DIMS], strides[TL_MAX_DIMS];
  TlTensor *tmp, *view;
  int perm[TL_MAX_DIMS], rc = -1;
  if (!g) return -1;
  if (!t->numel || tl_meta) return 0;
  if (tl_is_contiguous(t)) return draw_pieces(draw, g, p, t->dtype, tl_data(t), t->numel);
  tl_memory_order(t, perm);
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

void tl_store_drawn(tl_dtype d, void *out, int64_t at, const double *v, int64_t n) {
  char *p = (char *)out + at * tl_itemsize[d];
  if (d == TL_F16 || d == TL_BF16) { /* through float, as PyTorch's conversion goes */
    float f[TL_CHUNK];
    for (int64_t i = 0; i < n; i++) f[i] = (float)v[i];
    tl_cast_contig(d, p, TL_F32, f, n);
  } else tl_cast_contig(d, p, TL_F64, v, n);
}

/* out of line: it is in every loop below, and the functions around it cost more than the call */
__attribute__((noinline)) double tl_draw_d(TlGenerator *g) { return tl_uniform_d(g); }
__attribute__((noinline)) float tl_draw_f(TlGenerator *g) { return tl_uniform_f(g); }
__attribute__((noinline)) static uint64_t random_bits(TlGenerator *g, bool wide) {
  return wide ? tl_random64(g) : tl_random32(g);
}

/* a loop over chunks of doubles, EXPR giving one value */
#define DRAW(NAME, EXPR) \
  void NAME(TlGenerator *g, const TlDist *p, tl_dtype d, void *out, int64_t n) { \
    double v[TL_CHUNK]; \
    for (int64_t at = 0; at < n; at += TL_CHUNK) { \
      int64_t m = n - at < TL_CHUNK ? n - at : TL_CHUNK; \
      for (int64_t i = 0; i < m; i++) v[i] = (EXPR); \
      tl_store_drawn(d, out, at, v, m); \
    } \
  }

static const double PI = 3.14159265358979323846;
DRAW(tl_draw_exponential, p->b *log1p(-tl_draw_d(g)))   /* b = -1 / lambda */
DRAW(tl_draw_geometric, ceil(log(tl_draw_d(g)) / p->b)) /* b = log1p(-p) */
DRAW(tl_draw_cauchy, fma(p->b, tan(PI *(tl_draw_d(g) - 0.5)), p->a))
DRAW(tl_draw_log_normal, exp(fma(tl_normal_d(g), p->b, p->a)))
DRAW(tl_draw_bernoulli, tl_draw_d(g) < p->a ? p->b : 0.0)
static DRAW(draw_normal_serial, fma(tl_normal_d(g), p->b, p->a))

void tl_draw_uniform(TlGenerator *g, const TlDist *p, tl_dtype d, void *out, int64_t n) {
  bool plain = p->a == 0 && p->b == 1;
  if (d == TL_F64) {
    double *o = out, w = p->b - p->a;
    if (plain)
      for (int64_t i = 0; i < n; i++) o[i] = tl_draw_d(g);
    else
      for (int64_t i = 0; i < n; i++) {
        double x = fma(tl_draw_d(g), w, p->a);
        o[i] = x == p->b ? p->a : x;
      }
  } else if (d == TL_F32) {
    float *o = out, w = p->fb - p->fa;
    if (plain)
      for (int64_t i = 0; i < n; i++) o[i] = tl_uniform_f(g);
    else
      for (int64_t i = 0; i < n; i++) {
        float x = fma_f(tl_draw_f(g), w, p->fa);
        o[i] = x == p->fb ? p->fa : x;
      }
  } else {
    uint16_t *o = out, lo, hi;
    float w = p->fb - p->fa, f[TL_CHUNK];
    tl_cast_contig(d, &lo, TL_F32, &p->fa, 1);
    tl_cast_contig(d, &hi, TL_F32, &p->fb, 1);
    for (int64_t at = 0; at < n; at += TL_CHUNK) {
      int64_t m = n - at < TL_CHUNK ? n - at : TL_CHUNK;
      for (int64_t i = 0; i < m; i++) f[i] = fma_f(tl_draw_f(g), w, p->fa);
      tl_cast_contig(d, o + at, TL_F32, f, m);
      for (int64_t i = 0; i < m; i++)
        if (o[at + i] == hi) o[at + i] = lo; /* rounding must not reach the open end */
    }
  }
}

/* Box-Muller on 16 uniforms: 8 pairs (j, j + 8). Float log, sin and cos are the Cephes single precision polynomials
 * with fused steps; 1 ULP. A multiply-add of relaxed SIMD is fused on most machines, which is found out once; elsewhere
 * it is made of doubles: rounding twice differs from one fused rounding in about one case of 2^29. */
typedef v4f Fma(v4f a, v4f b, v4f c);
static inline v4f fma_doubles(v4f a, v4f b, v4f c) {
  const v4d x = vd_wide(a), y = vd_wide(b), z = vd_wide(c);
  return vd_narrow(x.a * y.a + z.a, x.b * y.b + z.b);
}

static inline v4f log_cephes(v4f x, Fma *fma) {
  v4f e = vm_float((v4i)((v4u)x >> 23) - 126), m = (v4f)(((v4i)x & 0x007fffff) | 0x3f000000);
  v4i low = (v4i)(m < 0.707106781186547524f);
  e -= (v4f)(low & (v4i)v4_set1(1.0f));
  v4f y = (m - 1.0f) + (v4f)(low & (v4i)m), z = y * y;
  static const float c[] = {-1.1514610310e-1f, 1.1676998740e-1f, -1.2420140846e-1f, 1.4249322787e-1f,
                            -1.6668057665e-1f, 2.0000714765e-1f, -2.4999993993e-1f, 3.3333331174e-1f};
  v4f q = v4_set1(7.0376836292e-2f);
  for (int i = 0; i < 8; i++) q = fma(q, y, v4_set1(c[i]));
  q = fma(q * y, z, e * -2.12194440e-4f);
  q = fma(-z, v4_set1(0.5f), q);
  return fma(e, v4_set1(0.693359375f), y + q);
}

static inline void sincos_cephes(v4f x, v4f *sn, v4f *cs, Fma *fma) { /* x >= 0 */
  v4i k = (__builtin_convertvector(x * 1.27323954473516f, v4i) + 1) & ~1;
  v4f y = vm_float(k);
  x = fma(y, v4_set1(-0.78515625f), x);
  x = fma(y, v4_set1(-2.4187564849853515625e-4f), x);
  x = fma(y, v4_set1(-3.77489497744594108e-8f), x);
  v4f z = x * x, one = v4_set1(1.0f);
  v4f c = fma(v4_set1(2.443315711809948e-5f), z, v4_set1(-1.388731625493765e-3f));
  c = fma(c, z, v4_set1(4.166664568298827e-2f)) * z;
  c = fma(c, z, -(z * 0.5f)) + one;
  v4f s = fma(v4_set1(-1.9515295891e-4f), z, v4_set1(8.3321608736e-3f));
  s = fma(s, z, v4_set1(-1.6666654611e-1f)) * z;
  s = fma(s, x, x);
  v4i swap = (k & 2) != 0;
  *sn = (v4f)((v4i)v4_select(swap, c, s) ^ ((k & 4) << 29));
  *cs = (v4f)((v4i)v4_select(swap, s, c) ^ ((~(k - 2) & 4) << 29));
}

static inline __attribute__((always_inline)) void block4(float *v, float mean, float std, Fma *fma) {
  for (int j = 0; j < 8; j += 4) {
    v4f l = log_cephes(1.0f - v4_load(v + j), fma) * -2.0f, s, c, m = v4_set1(mean), d = v4_set1(std), r;
    for (int i = 0; i < 4; i++) r[i] = sqrtf(l[i]);
    sincos_cephes(v4_load(v + j + 8) * 6.283185307179586f, &s, &c, fma);
    v4_store(v + j, fma(r * c, d, m));
    v4_store(v + j + 8, fma(r * s, d, m));
  }
}

/* In all builds: the one for relaxed SIMD is shipped as a difference, which other functions would make large. */
__attribute__((noinline)) static bool is_fused(void) {
  volatile float x = 1.000244140625f; /* 1 + 2^-12: of its square, 2^-24 is below the rounding */
  v4f v = v4_set1(x);
  return v4_madd(v, v, -(v * v))[0] != 0;
}
__attribute__((noinline)) static void blocks_fused(float *v, int64_t n, float mean, float std) {
  for (; n >= 16; n -= 16, v += 16) block4(v, mean, std, v4_madd);
}
/* n / 16 blocks */
__attribute__((noinline)) static void blocks_f(float *v, int64_t n, float mean, float std) {
  static int8_t fused;
  if (!fused) fused = is_fused() ? 1 : -1;
  if (fused > 0) blocks_fused(v, n, mean, std);
  else
    for (; n >= 16; n -= 16, v += 16) block4(v, mean, std, fma_doubles);
}

__attribute__((noinline)) static void block_d(double *v, double mean, double std) {
  bool plain = mean == 0 && std == 1;
  for (int j = 0; j < 8; j++) {
    double r = sqrt(-2.0 * log(1.0 - v[j])), t = 2.0 * PI * v[j + 8], c = r * cos(t), s = r * sin(t);
    v[j] = plain ? c : fma(c, std, mean);
    v[j + 8] = plain ? s : fma(s, std, mean);
  }
}

/* 16 elements or more of a contiguous tensor: uniforms first, then blocks of 16; an incomplete last block is drawn anew
 * over the last 16 elements. The 16-bit types draw block by block. */
static void draw_normal_blocks(TlGenerator *g, const TlDist *p, tl_dtype d, void *out, int64_t n) {
  int64_t i;
  if (d == TL_F32) {
    float *o = out;
    for (i = 0; i < n; i++) o[i] = tl_uniform_f(g);
    blocks_f(o, n, p->fa, p->fb);
    if (n % 16) {
      for (i = n - 16; i < n; i++) o[i] = tl_draw_f(g);
      blocks_f(o + n - 16, 16, p->fa, p->fb);
    }
  } else if (d == TL_F64) {
    double *o = out;
    for (i = 0; i < n; i++) o[i] = tl_draw_d(g);
    for (i = 0; i + 16 <= n; i += 16) block_d(o + i, p->a, p->b);
    if (i < n) {
      for (i = n - 16; i < n; i++) o[i] = tl_draw_d(g);
      block_d(o + n - 16, p->a, p->b);
    }
  } else {
    uint16_t *o = out;
    float v[16];
    for (i = 0; i < n; i += 16) {
      int64_t at = i + 16 <= n ? i : n - 16;
      for (int j = 0; j < 16; j++) v[j] = tl_draw_f(g);
      blocks_f(v, 16, p->fa, p->fb);
      tl_cast_contig(d, o + at, TL_F32, v, 16);
    }
  }
}

int tl_fill_normal(TlTensor *t, TlGenerator *g, TlDist *p) {
  p->fa = (float)p->a;
  p->fb = (float)p->b;
  return tl_fill_drawn(t, g, p, t->numel >= 16 && tl_is_contiguous(t) ? draw_normal_blocks : draw_normal_serial);
}

static uint64_t random_integer(TlGenerator *g, const TlDist *p, bool wide) {
  if (p->whole) return random_bits(g, true);
  return wide ? random_bits(g, true) % p->range : (uint32_t)random_bits(g, false) % (uint32_t)p->range;
}

/* base + random % range, or all 64 bits */
void tl_draw_integer(TlGenerator *g, const TlDist *p, tl_dtype d, void *out, int64_t n) {
  int64_t v[TL_CHUNK];
  bool wide = p->range >= (UINT64_C(1) << 28);
  for (int64_t at = 0; at < n; at += TL_CHUNK) {
    int64_t m = n - at < TL_CHUNK ? n - at : TL_CHUNK;
    for (int64_t i = 0; i < m; i++) v[i] = (int64_t)(random_integer(g, p, wide) + (uint64_t)p->base);
    if (d == TL_F16 || d == TL_BF16) {
      float f[TL_CHUNK];
      for (int64_t i = 0; i < m; i++) f[i] = (float)v[i];
      tl_cast_contig(d, (char *)out + at * 2, TL_F32, f, m);
    } else tl_cast_contig(d, (char *)out + at * tl_itemsize[d], TL_I64, v, m);
  }
}

/* random_() of a dtype draws 64 bits for double and int64 and 32 bits otherwise */
void tl_draw_default(TlGenerator *g, const TlDist *p, tl_dtype d, void *out, int64_t n) {
  static const uint64_t range[] = {
    2, 256, 128, 32768, UINT64_C(1) << 31, UINT64_C(1) << 63, 2049, 257, 16777217, (UINT64_C(1) << 53) + 1};
  int64_t v[TL_CHUNK];
  (void)p;
  for (int64_t at = 0; at < n; at += TL_CHUNK) {
    int64_t m = n - at < TL_CHUNK ? n - at : TL_CHUNK;
    for (int64_t i = 0; i < m; i++) v[i] = (int64_t)(random_bits(g, d == TL_I64 || d == TL_F64) % range[d]);
    tl_cast_contig(d, (char *)out + at * tl_itemsize[d], TL_I64, v, m);
  }
}
