/* float8.c: 8-bit floats to float and back. A format is its bits of mantissa, its bias, and whether it has infinities
 * and -0. */
#include "core/tl.h"

/* sign, exponent, `mantissa` bits; fnuz: no infinities, no -0, and 0x80 is the only NaN */
static inline float load(uint8_t x, int mantissa, int bias, bool fnuz) {
  const uint32_t m = x & ((1u << mantissa) - 1), e = (x & 0x7f) >> mantissa;
  const uint32_t scale = (uint32_t)(127 - bias - mantissa + (e ? (int)e : 1)) << 23;
  float f, r;
  memcpy(&f, &scale, 4);
  r = (float)(e ? m | 1u << mantissa : m) * f;
  if (fnuz && x == 0x80) return __builtin_nanf("");
  if ((x & 0x7f) == 0x7f && !fnuz) r = __builtin_nanf("");
  else if (mantissa == 2 && !fnuz && e == 31) r = m ? __builtin_nanf("") : __builtin_inff();
  return x & 0x80 ? -r : r;
}

/* to nearest, ties to even; `most`: the code of the largest number, `over`: of what is larger, infinities too */
static inline uint8_t store(float f, int mantissa, int bias, bool fnuz, uint32_t most, uint32_t over) {
  uint32_t u, sign, r, low;
  memcpy(&u, &f, 4);
  sign = u >> 24 & 0x80;
  u &= 0x7fffffffu;
  const bool nan = u > 0x7f800000u;
  const int cut = 23 - mantissa;
  if (u < (uint32_t)(128 - bias) << 23) { /* subnormal: adding a power of two leaves the rounded bits at the end */
    uint32_t magic = (uint32_t)(127 + 1 - bias - mantissa + 23) << 23;
    float a, b;
    memcpy(&a, &u, 4);
    memcpy(&b, &magic, 4);
    a += b;
    memcpy(&low, &a, 4);
    r = low - magic;
  } else r = (u - ((uint32_t)(127 - bias) << 23) + (1u << (cut - 1)) - 1 + (u >> cut & 1)) >> cut;
  if (r > most) r = over;
  if (nan) r = fnuz ? 0x80 : 0x7f;
  return (uint8_t)(fnuz && !(r & 0x7f) ? r : r | sign);
}

/* the exponent of a float alone: rounded to the nearest power of two, ties upwards; 255 is NaN */
static inline float load_exponent(uint8_t x) {
  const uint32_t u = x ? (uint32_t)x << 23 : 0x400000u;
  float f;
  memcpy(&f, &u, 4);
  return x == 255 ? __builtin_nanf("") : f;
}
static inline uint8_t store_exponent(float f) {
  uint32_t u;
  memcpy(&u, &f, 4);
  const uint32_t e = u >> 23 & 0xff;
  const bool up = u & 0x400000 && (e || u & 0x3fffff);
  return (uint8_t)(e == 255 ? e : e + up);
}

#define FORMAT(name, LOAD, STORE) \
  static void load_##name(void *restrict dst, const void *restrict src, int64_t n) { \
    float *restrict o = dst; \
    const uint8_t *restrict s = src; \
    for (int64_t i = 0; i < n; i++) { uint8_t x = s[i]; o[i] = (LOAD); } \
  } \
  static void store_##name(void *restrict dst, const void *restrict src, int64_t n) { \
    uint8_t *restrict o = dst; \
    const float *restrict s = src; \
    for (int64_t i = 0; i < n; i++) { float x = s[i]; o[i] = (STORE); } \
  }
FORMAT(e4m3fn, load(x, 3, 7, false), store(x, 3, 7, false, 0x7e, 0x7e)) /* too large is the largest */
FORMAT(e5m2, load(x, 2, 15, false), store(x, 2, 15, false, 0x7b, 0x7c))
FORMAT(e4m3fnuz, load(x, 3, 8, true), store(x, 3, 8, true, 0x7f, 0x80))
FORMAT(e5m2fnuz, load(x, 2, 16, true), store(x, 2, 16, true, 0x7f, 0x80))
FORMAT(e8m0fnu, load_exponent(x), store_exponent(x))

tl_cast_fn tl_float8_load(tl_dtype d) {
  static const tl_cast_fn all[] = {load_e4m3fn, load_e5m2, load_e4m3fnuz, load_e5m2fnuz, load_e8m0fnu};
  return d >= TL_F8E4M3FN && d <= TL_F8E8M0FNU ? all[d - TL_F8E4M3FN] : NULL;
}
tl_cast_fn tl_float8_store(tl_dtype d) {
  static const tl_cast_fn all[] = {store_e4m3fn, store_e5m2, store_e4m3fnuz, store_e5m2fnuz, store_e8m0fnu};
  return d >= TL_F8E4M3FN && d <= TL_F8E8M0FNU ? all[d - TL_F8E4M3FN] : NULL;
}
