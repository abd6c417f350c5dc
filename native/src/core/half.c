/* half.c: 16-bit floats and float, sixteen at a time by what holds for nearly all of them. Infinities, NaN and what
 * becomes an infinity go by general formulas. On x86 halves are converted by the processor, where it can. */
#include "core/core.h"
#include "math/cpu.h"
#include "math/simd.h"

typedef uint16_t v8h __attribute__((vector_size(16)));
typedef int16_t v8i __attribute__((vector_size(16)));
typedef v8h v8h_u __attribute__((aligned(2)));

static inline v4u u4(uint32_t x) { return (v4u)v4i_const((int32_t)x); }
static inline v4u select_u(v4u mask, v4u a, v4u b) { return (mask & a) | (~mask & b); }
#if defined(__wasm__)
#include <wasm_simd128.h>
static inline v4u max_u(v4u a, v4u b) { return (v4u)wasm_u32x4_max((v128_t)a, (v128_t)b); }
static inline v8h join(v4u a, v4u b) { return (v8h)wasm_u16x8_narrow_i32x4((v128_t)a, (v128_t)b); }
static inline v8h over_h(v8h a, v8h b) { return (v8h)wasm_u16x8_sub_sat((v128_t)a, (v128_t)b); }
static inline v8h max_h(v8h a, v8h b) { return (v8h)wasm_i16x8_max((v128_t)a, (v128_t)b); } /* of numbers below 2^15 */
static inline v4i wide_mask(v8h mask) { return (v4i)mask; }
static inline v4u low(v8h h) { return (v4u)wasm_u32x4_extend_low_u16x8((v128_t)h); }
static inline v4u high(v8h h) { return (v4u)wasm_u32x4_extend_high_u16x8((v128_t)h); }
#else /* little-endian */
static inline v4u max_u(v4u a, v4u b) { return select_u((v4u)(a > b), a, b); }
static inline v8h over_h(v8h a, v8h b) { return (v8h)(a > b) & (a - b); } /* a - b, or 0 */
static inline v8h max_h(v8h a, v8h b) {
  v8h m = (v8h)((v8i)a > (v8i)b);
  return (m & a) | (~m & b);
}
static inline v4i wide_mask(v8h mask) { return (v4i)mask | (v4i)mask << 16; } /* v4_any looks at signs */
static inline v8h join(v4u a, v4u b) { return __builtin_shufflevector((v8h)a, (v8h)b, 0, 2, 4, 6, 8, 10, 12, 14); }
static inline v4u low(v8h h) { return (v4u)__builtin_shufflevector(h, (v8h){0}, 0, 8, 1, 8, 2, 8, 3, 8); }
static inline v4u high(v8h h) { return (v4u)__builtin_shufflevector(h, (v8h){0}, 4, 8, 5, 8, 6, 8, 7, 8); }
#endif

static inline v4u from_half(v4u h) {
  /* the half's bits read as a float are 2^-112 times its value; infinities and NaN need the exponent filled up */
  v4u bits = (h & u4(0x7fff)) << 13, u = (v4u)((v4f)bits * v4_const(0x1p112f));
  u |= (v4u)(bits >= u4(0x0f800000u)) & u4(0x7f800000u);
  return u | (h & u4(0x8000)) << 16;
}

static inline v4u to_half(v4u u) {
  v4u twice = u + u; /* without the sign */
  /* beyond 65504 two factors make an infinity of it, and of smaller ones four times their value */
  v4f x = (v4f)(u & u4(0x7fffffffu)) * v4_const(0x1p112f) * v4_const(0x1p-110f);
  /* a number of the same exponent, 2^-14 at least, with the half's last bit at the end of the mantissa, is added, so
   * the sum is rounded to it */
  v4u bias = max_u(twice & u4(0xff000000u), u4(0x71000000u));
  v4u sum = (v4u)(x + (v4f)((bias >> 1) + u4(0x07800000u)));
  v4u r = ((sum >> 13) & u4(0x7c00)) + (sum & u4(0x0fff));
  r = select_u((v4u)(twice > u4(0xff000000u)), u4(0x7e00), r);
  return r | ((u >> 16) & u4(0x8000));
}

static inline v4u to_bfloat(v4u u) {
  v4u r = (u + u4(0x7fff) + ((u >> 16) & u4(1))) >> 16;
  return select_u((v4u)((v4f)u != (v4f)u), u4(0x7fc0), r);
}

static inline v8h h8(uint16_t x) { return (v8h)v4i_const((int32_t)(x * 0x10001u)); }
/* upper halves of the lanes; lanes of which these are the upper and lower ones (little-endian) */
static inline v8h uppers(v4u a, v4u b) { return __builtin_shufflevector((v8h)a, (v8h)b, 1, 3, 5, 7, 9, 11, 13, 15); }
static inline v4u lanes_low(v8h lo, v8h up) { return (v4u)__builtin_shufflevector(lo, up, 0, 8, 1, 9, 2, 10, 3, 11); }
static inline v4u lanes_high(v8h lo, v8h up) {
  return (v4u)__builtin_shufflevector(lo, up, 4, 12, 5, 13, 6, 14, 7, 15);
}

/* to_half's sum without its factors. `most` gets the largest exponents: from 2^16 on that does not do. */
static inline v8h near_halves(v4f a, v4f b, v8h *most) {
  v8h top = uppers((v4u)a, (v4u)b), exponent = top & h8(0x7f80), sign = top & h8(0x8000);
  v8h above = over_h(exponent, h8(0x3880)), added = (above + h8(0x3880 + (13 << 7))) | sign;
  v4u x = lanes_low((v8h){0}, added), y = lanes_high((v8h){0}, added);
  *most = max_h(*most, exponent);
  return (join((v4u)(a + (v4f)x) - x, (v4u)(b + (v4f)y) - y) + (above << 3)) | sign;
}
static inline bool halves16(v8h *d, const v4f *x) { /* false: not these */
  v8h most = {0};
  d[0] = near_halves(x[0], x[1], &most);
  d[1] = near_halves(x[2], x[3], &most);
  return !v4_any(wide_mask((v8h)((v8i)most > (v8i)h8(0x4700))));
}
static inline v4u near_bfloat(v4f x) { return (v4u)x + u4(0x7fff) + (((v4u)x >> 16) & u4(1)); }
static inline bool bfloats16(v8h *d, const v4f *x) {
  d[0] = uppers(near_bfloat(x[0]), near_bfloat(x[1]));
  d[1] = uppers(near_bfloat(x[2]), near_bfloat(x[3]));
  v4f sum = (x[0] + x[1]) + (x[2] + x[3]); /* NaN if one of them is */
  return !v4_any((v4i)(sum != sum));
}

/* the rest goes through the same code in a padded vector */
#define STORE(name, most16, any) \
  __attribute__((noinline)) static void name##_any(uint16_t *d, const float *s) { \
    for (int i = 0; i < 16; i += 8) \
      *(v8h_u *)(d + i) = join(any((v4u)v4_load(s + i)), any((v4u)v4_load(s + i + 4))); \
  } \
  static inline void name##16(uint16_t *d, const float *s) { \
    const v4f x[4] = {v4_load(s), v4_load(s + 4), v4_load(s + 8), v4_load(s + 12)}; \
    v8h h[2]; \
    if (!most16(h, x)) { \
      name##_any(d, s); \
      return; \
    } \
    *(v8h_u *)d = h[0]; \
    *(v8h_u *)(d + 8) = h[1]; \
  } \
  static void name##_plain(uint16_t *d, const float *s, intptr_t n) { \
    intptr_t i = 0; \
    for (; i + 16 <= n; i += 16) name##16(d + i, s + i); \
    if (i == n) return; \
    uint16_t h[16]; \
    float x[16] = {0}; \
    memcpy(x, s + i, (size_t)(n - i) * 4); \
    name##16(h, x); \
    memcpy(d + i, h, (size_t)(n - i) * 2); \
  }
STORE(store_f16, halves16, to_half)
STORE(store_bf16, bfloats16, to_bfloat)

__attribute__((noinline)) static void load_any(float *d, const uint16_t *s) {
  for (int i = 0; i < 16; i += 8) {
    v8h h = *(const v8h_u *)(s + i);
    v4_store(d + i, (v4f)from_half(low(h)));
    v4_store(d + i + 4, (v4f)from_half(high(h)));
  }
}
/* from_half for numbers: the sign comes along */
static inline void load16(float *d, const uint16_t *s) {
  const v4f scale = v4_const(0x1p112f);
  v8h most = {0};
  for (int i = 0; i < 16; i += 8) {
    v8h h = *(const v8h_u *)(s + i), lo = h << 13, up = (v8h)((v8i)h >> 3) & h8(0x8fff);
    most = max_h(most, h & h8(0x7fff));
    v4_store(d + i, (v4f)lanes_low(lo, up) * scale);
    v4_store(d + i + 4, (v4f)lanes_high(lo, up) * scale);
  }
  if (v4_any(wide_mask((v8h)((v8i)most > (v8i)h8(0x7bff))))) load_any(d, s);
}
static void load_f16_plain(float *d, const uint16_t *s, intptr_t n) {
  intptr_t i = 0;
  for (; i + 16 <= n; i += 16) load16(d + i, s + i);
  if (i == n) return;
  uint16_t h[16] = {0};
  float x[16];
  memcpy(h, s + i, (size_t)(n - i) * 2);
  load16(x, h);
  memcpy(d + i, x, (size_t)(n - i) * 4);
}

#if defined(TL_X86_V3)
TL_X86_V3 static intptr_t store_f16_v3(uint16_t *d, const float *s, intptr_t n) { /* what it has done */
  intptr_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m256 v = _mm256_loadu_ps(s + i);
    if (_mm256_movemask_ps(_mm256_cmp_ps(v, v, _CMP_UNORD_Q))) store_f16_plain(d + i, s + i, 8); /* its own NaN */
    else _mm_storeu_si128((__m128i *)(d + i), _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
  }
  return i;
}
TL_X86_V3 static intptr_t load_f16_v3(float *d, const uint16_t *s, intptr_t n) {
  intptr_t i = 0;
  for (; i + 8 <= n; i += 8) _mm256_storeu_ps(d + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(s + i))));
  return i;
}
#else
static bool tl_x86_v3(void) { return false; }
static intptr_t store_f16_v3(uint16_t *d, const float *s, intptr_t n) { return 0; }
static intptr_t load_f16_v3(float *d, const uint16_t *s, intptr_t n) { return 0; }
#endif

void tl_store_f16(void *restrict dst, const void *restrict src, int64_t n) {
  const intptr_t i = tl_x86_v3() ? store_f16_v3(dst, src, (intptr_t)n) : 0;
  store_f16_plain((uint16_t *)dst + i, (const float *)src + i, (intptr_t)n - i);
}
void tl_store_bf16(void *restrict dst, const void *restrict src, int64_t n) { store_bf16_plain(dst, src, (intptr_t)n); }
void tl_load_f16(void *restrict dst, const void *restrict src, int64_t n) {
  const intptr_t i = tl_x86_v3() ? load_f16_v3(dst, src, (intptr_t)n) : 0;
  load_f16_plain((float *)dst + i, (const uint16_t *)src + i, (intptr_t)n - i);
}
float tl_half_to_float(uint16_t h) { return ((v4f)from_half((v4u){h}))[0]; }
uint16_t tl_float_to_half(float f) { return (uint16_t)to_half((v4u)(v4f){f})[0]; }
