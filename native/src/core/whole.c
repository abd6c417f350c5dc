/* whole.c: float to integers, four at a time where all are well within int32. Out of range, and NaN, gives the smallest
 * integer, as x86 does; C leaves it undefined. */
#include "core/tl.h"
#include "math/simd.h"

static inline int32_t to_i32(float x) { return x >= -2147483648.0f && x < 2147483648.0f ? (int32_t)x : INT32_MIN; }
static inline int64_t to_i64(float x) {
  return x >= -9223372036854775808.0f && x < 9223372036854775808.0f ? (int64_t)x : INT64_MIN;
}
typedef int32_t i32_4 __attribute__((vector_size(16), aligned(4)));
typedef int64_t i64_4 __attribute__((vector_size(32), aligned(8)));

#define WHOLE(name, TO, FOUR, one) \
  void name(void *restrict dst, const void *restrict src, int64_t n) { \
    TO *restrict o = dst; \
    const float *restrict s = src; \
    intptr_t i = 0; \
    for (; i + 4 <= (intptr_t)n; i += 4) { \
      v4f v = v4_load(s + i); \
      if (v4_any(~(v4i)(v4_at_least(v, -v) < v4_const(2147483648.0f)))) \
        for (int k = 0; k < 4; k++) o[i + k] = one(s[i + k]); \
      else *(FOUR *)(o + i) = __builtin_convertvector(__builtin_convertvector(v, v4i), FOUR); \
    } \
    for (; i < (intptr_t)n; i++) o[i] = one(s[i]); \
  }
WHOLE(tl_f32_i32, int32_t, i32_4, to_i32)
WHOLE(tl_f32_i64, int64_t, i64_4, to_i64)
