/* reduce_loops.c: see reduce_loops.h */
#include "reduce/reduce_loops.h"
#include <math.h>

/* ---- sums of floats --------------------------------------------------------------------------------------------- */
#define ID(x) (x)
#define SQ(x) ((x) * (x))
#define ABS4(x) ((v4f)((v4i)(x) & 0x7fffffff))
#define ABS2(x) ((v2d)((v2l)(x) & INT64_C(0x7fffffffffffffff)))
#define NAN4(x) ((v4f)((v4i)(x) & ((x) == (x))))
#define NAN2(x) ((v2d)((v2l)(x) & ((x) == (x))))
#define NAN1(x) ((x) == (x) ? (x) : 0)

#define LANES_f(v) (((double)(v)[0] + (double)(v)[2]) + ((double)(v)[1] + (double)(v)[3]))
#define LANES_d(v) ((v)[0] + (v)[1])

/* T scalar, V vector of W lanes, MAPV/MAP1 applied to each element. BLOCK bounds what one lane adds up before it joins
 * the double accumulator. */
#define SUM_LOOPS(NAME, T, V, W, LOADV, LANES, MAPV, MAP1) \
  static void NAME##_row(void *ctx, int64_t o, int64_t k, const void *pp, int64_t n) { \
    enum { STEP = 8 * W, BLOCK = 32 * STEP }; \
    const T *p = pp; \
    double total = 0; \
    (void)k; \
    while (n >= STEP) { \
      const T *end = p + (n < BLOCK ? n / STEP * STEP : BLOCK); \
      V a[8] = {{0}}; \
      n -= end - p; \
      for (; p < end; p += STEP) \
        for (int u = 0; u < 8; u++) { V x = LOADV(p + u * W); a[u] += MAPV(x); } \
      V s = ((a[0] + a[1]) + (a[2] + a[3])) + ((a[4] + a[5]) + (a[6] + a[7])); \
      total += LANES(s); \
    } \
    V s = {0}; \
    for (; n >= W; n -= W, p += W) { V x = LOADV(p); s += MAPV(x); } \
    total += LANES(s); \
    for (; n > 0; n--, p++) total += MAP1((double)*p); \
    ((double *)ctx)[o] += total; \
  } \
  static void NAME##_cols(void *ctx, int64_t o, int64_t k, const void *pp, int64_t rs, int64_t rows, int64_t n) { \
    double *acc = (double *)ctx + o; \
    (void)k; \
    for (int64_t q = 0; q < rows; q += 32) { \
      const T *p = (const T *)pp + q * rs; \
      int64_t h = rows - q < 32 ? rows - q : 32, j = 0; \
      for (; j + 8 * W <= n; j += 8 * W) { \
        V a[8] = {{0}}; \
        const T *c = p + j; \
        for (int64_t i = 0; i < h; i++, c += rs) \
          for (int u = 0; u < 8; u++) { V x = LOADV(c + u * W); a[u] += MAPV(x); } \
        for (int u = 0; u < 8; u++) \
          for (int l = 0; l < W; l++) acc[j + u * W + l] += a[u][l]; \
      } \
      for (; j + W <= n; j += W) { \
        V a = {0}, b = {0}; \
        const T *c = p + j; \
        int64_t i = 0; \
        for (; i + 2 <= h; i += 2, c += 2 * rs) { \
          V x = LOADV(c), y = LOADV(c + rs); \
          a += MAPV(x); \
          b += MAPV(y); \
        } \
        if (i < h) { V x = LOADV(c); a += MAPV(x); } \
        for (int l = 0; l < W; l++) acc[j + l] += (double)a[l] + (double)b[l]; \
      } \
      for (; j < n; j++) { \
        double a = 0, b = 0; \
        const T *c = p + j; \
        int64_t i = 0; \
        for (; i + 2 <= h; i += 2, c += 2 * rs) { a += MAP1((double)c[0]); b += MAP1((double)c[rs]); } \
        if (i < h) a += MAP1((double)c[0]); \
        acc[j] += a + b; \
      } \
    } \
  }

SUM_LOOPS(sum_f, float, v4f, 4, v4_load, LANES_f, ID, ID)
SUM_LOOPS(nansum_f, float, v4f, 4, v4_load, LANES_f, NAN4, NAN1)
SUM_LOOPS(abssum_f, float, v4f, 4, v4_load, LANES_f, ABS4, fabs)
SUM_LOOPS(sqsum_f, float, v4f, 4, v4_load, LANES_f, SQ, SQ)
SUM_LOOPS(sum_d, double, v2d, 2, v2_load, LANES_d, ID, ID)
SUM_LOOPS(nansum_d, double, v2d, 2, v2_load, LANES_d, NAN2, NAN1)
SUM_LOOPS(abssum_d, double, v2d, 2, v2_load, LANES_d, ABS2, fabs)
SUM_LOOPS(sqsum_d, double, v2d, 2, v2_load, LANES_d, SQ, SQ)

/* complex: pairs of reals; acc holds pairs too */
#define SUM_COMPLEX(S) \
  static void sum_c##S##_row(void *ctx, int64_t o, int64_t k, const void *p, int64_t n) { \
    sum_##S##_cols(ctx, 2 * o, k, p, 2, n, 2); \
  } \
  static void sum_c##S##_cols(void *ctx, int64_t o, int64_t k, const void *p, int64_t rs, int64_t rows, int64_t n) { \
    sum_##S##_cols(ctx, 2 * o, k, p, 2 * rs, rows, 2 * n); \
  }
SUM_COMPLEX(f)
SUM_COMPLEX(d)

/* ---- sums around a centre, for variances: s1 += x - c, s2 += (x - c)^2 ------------------------------------------- */
#define SHIFT_LOOPS(NAME, T, V, W, LOADV, LANES) \
  static void NAME##_row(void *ctx, int64_t o, int64_t k, const void *pp, int64_t n) { \
    enum { STEP = 4 * W, BLOCK = 32 * STEP }; \
    const TlShift *t = ctx; \
    const T *p = pp; \
    T c1 = (T)t->center[o]; \
    V c = (V){0} + c1; \
    double s1 = 0, s2 = 0; \
    (void)k; \
    while (n >= STEP) { \
      const T *end = p + (n < BLOCK ? n / STEP * STEP : BLOCK); \
      V a[4] = {{0}}, b[4] = {{0}}; \
      n -= end - p; \
      for (; p < end; p += STEP) \
        for (int u = 0; u < 4; u++) { V x = LOADV(p + u * W) - c; a[u] += x; b[u] += x * x; } \
      V s = (a[0] + a[1]) + (a[2] + a[3]), q = (b[0] + b[1]) + (b[2] + b[3]); \
      s1 += LANES(s); \
      s2 += LANES(q); \
    } \
    for (; n > 0; n--, p++) { double x = (double)*p - (double)c1; s1 += x; s2 += x * x; } \
    t->s1[o] += s1; \
    t->s2[o] += s2; \
  } \
  static void NAME##_cols(void *ctx, int64_t o, int64_t k, const void *pp, int64_t rs, int64_t rows, int64_t n) { \
    const TlShift *t = ctx; \
    double *s1 = t->s1 + o, *s2 = t->s2 + o, *cc = t->center + o; \
    (void)k; \
    for (int64_t q = 0; q < rows; q += 32) { \
      const T *p = (const T *)pp + q * rs; \
      int64_t h = rows - q < 32 ? rows - q : 32, j = 0; \
      for (; j + 4 * W <= n; j += 4 * W) { \
        V a[4] = {{0}}, b[4] = {{0}}, c[4]; \
        const T *r = p + j; \
        for (int u = 0; u < 4; u++) \
          for (int l = 0; l < W; l++) c[u][l] = (T)cc[j + u * W + l]; \
        for (int64_t i = 0; i < h; i++, r += rs) \
          for (int u = 0; u < 4; u++) { V x = LOADV(r + u * W) - c[u]; a[u] += x; b[u] += x * x; } \
        for (int u = 0; u < 4; u++) \
          for (int l = 0; l < W; l++) { s1[j + u * W + l] += a[u][l]; s2[j + u * W + l] += b[u][l]; } \
      } \
      for (; j < n; j++) { \
        double a = 0, b = 0, c = (double)(T)cc[j]; \
        const T *r = p + j; \
        for (int64_t i = 0; i < h; i++, r += rs) { double x = (double)*r - c; a += x; b += x * x; } \
        s1[j] += a; \
        s2[j] += b; \
      } \
    } \
  }
SHIFT_LOOPS(shift_f, float, v4f, 4, v4_load, LANES_f)
SHIFT_LOOPS(shift_d, double, v2d, 2, v2_load, LANES_d)

/* ---- everything that is a plain fold: A acc, T x ---------------------------------------------------------------- */
/* several accumulators, in any order: one alone waits for itself */
#if defined(__clang__)
#define APART _Pragma("clang loop interleave_count(4)")
#define ANY_ORDER _Pragma("clang fp reassociate(on)")
#else
#define APART
#define ANY_ORDER
#endif
#define FOLD_LOOPS(NAME, T, A, STEP) FOLD_ROW(NAME, T, A, STEP) FOLD_COLS(NAME, T, A, STEP)
#define FOLD_ROW(NAME, T, A, STEP) \
  static void NAME##_row(void *ctx, int64_t o, int64_t k, const void *pp, int64_t n) { \
    ANY_ORDER \
    const T *p = pp; \
    A a = ((A *)ctx)[o]; \
    (void)k; \
    APART for (int64_t i = 0; i < n; i++) { T x = p[i]; STEP; } \
    ((A *)ctx)[o] = a; \
  }
#define FOLD_COLS(NAME, T, A, STEP) \
  static void NAME##_cols(void *ctx, int64_t o, int64_t k, const void *pp, int64_t rs, int64_t rows, int64_t n) { \
    (void)k; \
    for (int64_t t = 0; t < n; t += 512) { \
      A *acc = (A *)ctx + o + t; \
      int64_t w = n - t < 512 ? n - t : 512; \
      const T *p = (const T *)pp + t; \
      for (int64_t i = 0; i < rows; i++, p += rs) \
        for (int64_t j = 0; j < w; j++) { T x = p[j]; A a = acc[j]; STEP; acc[j] = a; } \
    } \
  }
/* each accumulator is loaded and stored once for four rows */
#define FOLD_COLS4(NAME, T, A, STEP) \
  static void NAME##_cols(void *ctx, int64_t o, int64_t k, const void *pp, int64_t rs, int64_t rows, int64_t n) { \
    (void)k; \
    for (int64_t t = 0; t < n; t += 512) { \
      A *acc = (A *)ctx + o + t; \
      int64_t w = n - t < 512 ? n - t : 512, i = 0; \
      const T *p = (const T *)pp + t; \
      for (; i + 4 <= rows; i += 4, p += 4 * rs) \
        for (int64_t j = 0; j < w; j++) { \
          A a = acc[j]; \
          for (int r = 0; r < 4; r++) { T x = p[r * rs + j]; STEP; } \
          acc[j] = a; \
        } \
      for (; i < rows; i++, p += rs) \
        for (int64_t j = 0; j < w; j++) { T x = p[j]; A a = acc[j]; STEP; acc[j] = a; } \
    } \
  }
typedef int64_t i64;
FOLD_LOOPS(sum_u8, uint8_t, i64, a += x)
FOLD_LOOPS(sum_i, int32_t, i64, a += x)
FOLD_LOOPS(sum_l, int64_t, i64, a = (i64)((uint64_t)a + (uint64_t)x))
FOLD_LOOPS(prod_i, int32_t, i64, a = (i64)((uint64_t)a * (uint64_t)(i64)x))
FOLD_LOOPS(prod_l, int64_t, i64, a = (i64)((uint64_t)a * (uint64_t)x))
FOLD_ROW(prod_f, float, double, a *= x)
FOLD_COLS4(prod_f, float, double, a *= x)
FOLD_LOOPS(prod_d, double, double, a *= x)
FOLD_LOOPS(prod_cf, tl_c64, tl_c128, a = ((tl_c128){a.re * x.re - a.im * x.im, a.re * x.im + a.im * x.re}))
FOLD_LOOPS(prod_cd, tl_c128, tl_c128, a = ((tl_c128){a.re * x.re - a.im * x.im, a.re * x.im + a.im * x.re}))
/* bytes: 16 counters of 8 bits, emptied before they overflow */
typedef uint8_t v16 __attribute__((vector_size(16)));
static int64_t count_bytes(const uint8_t *p, int64_t n) {
  int64_t total = 0;
  while (n >= 16) {
    int64_t h = n / 16 < 255 ? n / 16 : 255;
    v16 a = {0};
    for (int64_t i = 0; i < h; i++, p += 16) {
      v16 x;
      memcpy(&x, p, 16);
      a -= (v16)(x != 0);
    }
    for (int l = 0; l < 16; l++) total += a[l];
    n -= h * 16;
  }
  for (; n > 0; n--) total += *p++ != 0;
  return total;
}
static void count_u8_row(void *ctx, int64_t o, int64_t k, const void *p, int64_t n) {
  (void)k;
  ((int64_t *)ctx)[o] += count_bytes(p, n);
}
static void count_u8_cols(void *ctx, int64_t o, int64_t k, const void *pp, int64_t rs, int64_t rows, int64_t n) {
  (void)k;
  for (int64_t t = 0; t < n; t += 512) {
    int64_t w = n - t < 512 ? n - t : 512;
    for (int64_t q = 0; q < rows; q += 255) {
      const uint8_t *p = (const uint8_t *)pp + q * rs + t;
      int64_t h = rows - q < 255 ? rows - q : 255;
      uint8_t a[512] = {0};
      for (int64_t i = 0; i < h; i++, p += rs)
        for (int64_t j = 0; j < w; j++) a[j] = (uint8_t)(a[j] + (p[j] != 0));
      for (int64_t j = 0; j < w; j++) ((int64_t *)ctx)[o + t + j] += a[j];
    }
  }
}
FOLD_LOOPS(count_i, int32_t, i64, a += x != 0)
FOLD_LOOPS(count_l, int64_t, i64, a += x != 0)
FOLD_LOOPS(count_f, float, i64, a += x != 0)
FOLD_LOOPS(count_d, double, i64, a += x != 0)
FOLD_LOOPS(count_cf, tl_c64, i64, a += x.re != 0 || x.im != 0)
FOLD_LOOPS(count_cd, tl_c128, i64, a += x.re != 0 || x.im != 0)
FOLD_LOOPS(max_i, int32_t, int32_t, a = x > a ? x : a)
FOLD_LOOPS(min_i, int32_t, int32_t, a = x < a ? x : a)
FOLD_LOOPS(max_l, int64_t, int64_t, a = x > a ? x : a)
FOLD_LOOPS(min_l, int64_t, int64_t, a = x < a ? x : a)

/* floats: NaN wins */
/* the larger (smaller) one, the accumulator b where x is NaN: one instruction; NaN is noted apart */
#if defined(__wasm_simd128__)
#define VMAXF(x, b) ((v4f)__builtin_wasm_pmax_f32x4(b, x))
#define VMINF(x, b) ((v4f)__builtin_wasm_pmin_f32x4(b, x))
#define VMAXD(x, b) ((v2d)__builtin_wasm_pmax_f64x2(b, x))
#define VMIND(x, b) ((v2d)__builtin_wasm_pmin_f64x2(b, x))
#elif defined(__SSE2__)
#include <emmintrin.h>
#define VMAXF(x, b) ((v4f)_mm_max_ps((__m128)(x), (__m128)(b)))
#define VMINF(x, b) ((v4f)_mm_min_ps((__m128)(x), (__m128)(b)))
#define VMAXD(x, b) ((v2d)_mm_max_pd((__m128d)(x), (__m128d)(b)))
#define VMIND(x, b) ((v2d)_mm_min_pd((__m128d)(x), (__m128d)(b)))
#else
#define VMAXF(x, b) v4_select((v4i)((x) > (b)), x, b)
#define VMINF(x, b) v4_select((v4i)((x) < (b)), x, b)
#define VMAXD(x, b) v2_select((v2l)((x) > (b)), x, b)
#define VMIND(x, b) v2_select((v2l)((x) < (b)), x, b)
#endif
#define BEST(CMP, x, a) ((x) CMP (a) || (x) != (x) ? (x) : (a))
#define EXTREME_LOOPS(NAME, T, V, VI, W, LOADV, VBEST, CMP) \
  static void NAME##_row(void *ctx, int64_t o, int64_t k, const void *pp, int64_t n) { \
    const T *p = pp; \
    T best = ((T *)ctx)[o]; \
    (void)k; \
    if (n >= 4 * W) { \
      V a[4]; \
      VI nan[4]; \
      for (int u = 0; u < 4; u++) { a[u] = LOADV(p + u * W); nan[u] = a[u] != a[u]; } \
      for (p += 4 * W, n -= 4 * W; n >= 4 * W; n -= 4 * W, p += 4 * W) \
        for (int u = 0; u < 4; u++) { V x = LOADV(p + u * W); a[u] = VBEST(x, a[u]); nan[u] |= x != x; } \
      for (int u = 0; u < 4; u++) \
        for (int l = 0; l < W; l++) best = nan[u][l] ? (T)NAN : BEST(CMP, a[u][l], best); \
    } \
    for (; n > 0; n--, p++) best = BEST(CMP, *p, best); \
    ((T *)ctx)[o] = best; \
  } \
  static void NAME##_cols(void *ctx, int64_t o, int64_t k, const void *pp, int64_t rs, int64_t rows, int64_t n) { \
    T *acc = (T *)ctx + o; \
    int64_t j = 0; \
    (void)k; \
    for (; j + 4 * W <= n; j += 4 * W) { \
      V a[4]; \
      VI nan[4]; \
      const T *p = (const T *)pp + j; \
      for (int u = 0; u < 4; u++) { a[u] = LOADV(acc + j + u * W); nan[u] = a[u] != a[u]; } \
      for (int64_t i = 0; i < rows; i++, p += rs) \
        for (int u = 0; u < 4; u++) { V x = LOADV(p + u * W); a[u] = VBEST(x, a[u]); nan[u] |= x != x; } \
      for (int u = 0; u < 4; u++) \
        for (int l = 0; l < W; l++) acc[j + u * W + l] = nan[u][l] ? (T)NAN : a[u][l]; \
    } \
    for (; j < n; j++) { \
      T best = acc[j]; \
      const T *p = (const T *)pp + j; \
      for (int64_t i = 0; i < rows; i++, p += rs) best = BEST(CMP, *p, best); \
      acc[j] = best; \
    } \
  }
EXTREME_LOOPS(max_f, float, v4f, v4i, 4, v4_load, VMAXF, >)
EXTREME_LOOPS(min_f, float, v4f, v4i, 4, v4_load, VMINF, <)
EXTREME_LOOPS(max_d, double, v2d, v2l, 2, v2_load, VMAXD, >)
EXTREME_LOOPS(min_d, double, v2d, v2l, 2, v2_load, VMIND, <)

#define L(NAME) {NAME##_row, NAME##_cols}
static const TlRedLoop loops[TL_RED_NUM][TL_NUM_DTYPES] = {
  [TL_RED_SUM] = {[TL_BOOL] = L(count_u8),
                  [TL_U8] = L(sum_u8),
                  [TL_I32] = L(sum_i),
                  [TL_I64] = L(sum_l),
                  [TL_F32] = L(sum_f),
                  [TL_F64] = L(sum_d),
                  [TL_C64] = L(sum_cf),
                  [TL_C128] = L(sum_cd)},
  [TL_RED_NANSUM] = {[TL_F32] = L(nansum_f), [TL_F64] = L(nansum_d)},
  [TL_RED_ABSSUM] = {[TL_F32] = L(abssum_f), [TL_F64] = L(abssum_d)},
  [TL_RED_SQSUM] = {[TL_F32] = L(sqsum_f), [TL_F64] = L(sqsum_d)},
  [TL_RED_SHIFT] = {[TL_F32] = L(shift_f), [TL_F64] = L(shift_d)},
  [TL_RED_PROD] = {[TL_I32] = L(prod_i),
                   [TL_I64] = L(prod_l),
                   [TL_F32] = L(prod_f),
                   [TL_F64] = L(prod_d),
                   [TL_C64] = L(prod_cf),
                   [TL_C128] = L(prod_cd)},
  [TL_RED_COUNT] = {[TL_BOOL] = L(count_u8),
                    [TL_U8] = L(count_u8),
                    [TL_I32] = L(count_i),
                    [TL_I64] = L(count_l),
                    [TL_F32] = L(count_f),
                    [TL_F64] = L(count_d),
                    [TL_C64] = L(count_cf),
                    [TL_C128] = L(count_cd)},
  [TL_RED_MAX] = {[TL_I32] = L(max_i), [TL_I64] = L(max_l), [TL_F32] = L(max_f), [TL_F64] = L(max_d)},
  [TL_RED_MIN] = {[TL_I32] = L(min_i), [TL_I64] = L(min_l), [TL_F32] = L(min_f), [TL_F64] = L(min_d)},
};
TlRedLoop tl_red_loop(TlRedOp op, tl_dtype load) { return loops[op][load]; }
