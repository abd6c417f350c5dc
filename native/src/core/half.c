/* half.c: 16-bit floats and float, eight at a time. */
#include "core/core.h"
#include "math/simd.h"

typedef uint16_t v8h __attribute__((vector_size(16)));
typedef v8h v8h_u __attribute__((aligned(2)));

static inline v4u u4(uint32_t x) { return (v4u)v4i_const((int32_t)x); }
static inline v4u select_u(v4u mask, v4u a, v4u b) { return (mask & a) | (~mask & b); }
#if defined(__wasm__)
#include <wasm_simd128.h>
static inline v4u max_u(v4u a, v4u b) { return (v4u)wasm_u32x4_max((v128_t)a, (v128_t)b); }
static inline v8h join(v4u a, v4u b) { return (v8h)wasm_u16x8_narrow_i32x4((v128_t)a, (v128_t)b); }
static inline v4u low(v8h h) { return (v4u)wasm_u32x4_extend_low_u16x8((v128_t)h); }
static inline v4u high(v8h h) { return (v4u)wasm_u32x4_extend_high_u16x8((v128_t)h); }
#else /* little-endian */
static inline v4u max_u(v4u a, v4u b) { return select_u((v4u)(a > b), a, b); }
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

/* the rest goes through the same code in a padded vector */
#define STORE(name, f) \
  static inline void name##8(uint16_t *d, const float *s) { \
    *(v8h_u *)d = join(f((v4u)v4_load(s)), f((v4u)v4_load(s + 4))); \
  } \
  void name(void *restrict dst, const void *restrict src, int64_t n) { \
    uint16_t *d = dst, h[8]; \
    const float *s = src; \
    intptr_t i = 0; \
    for (; i + 8 <= (intptr_t)n; i += 8) name##8(d + i, s + i); \
    if (i == (intptr_t)n) return; \
    float x[8] = {0}; \
    memcpy(x, s + i, (size_t)(n - i) * 4); \
    name##8(h, x); \
    memcpy(d + i, h, (size_t)(n - i) * 2); \
  }
STORE(tl_store_f16, to_half)
STORE(tl_store_bf16, to_bfloat)

static inline void load8(float *d, const uint16_t *s) {
  v8h h = *(const v8h_u *)s;
  v4_store(d, (v4f)from_half(low(h)));
  v4_store(d + 4, (v4f)from_half(high(h)));
}
void tl_load_f16(void *restrict dst, const void *restrict src, int64_t n) {
  float *d = dst, x[8];
  const uint16_t *s = src;
  intptr_t i = 0;
  for (; i + 8 <= (intptr_t)n; i += 8) load8(d + i, s + i);
  if (i == (intptr_t)n) return;
  uint16_t h[8] = {0};
  memcpy(h, s + i, (size_t)(n - i) * 2);
  load8(x, h);
  memcpy(d + i, x, (size_t)(n - i) * 4);
}
float tl_half_to_float(uint16_t h) { return ((v4f)from_half((v4u){h}))[0]; }
uint16_t tl_float_to_half(float f) { return (uint16_t)to_half((v4u)(v4f){f})[0]; }
