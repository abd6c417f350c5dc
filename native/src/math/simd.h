/* simd.h: vectors of four floats or two doubles over the compiler's vector extension. The same source gives SSE on the
 * host, SIMD128 in WASM and relaxed SIMD (fused multiply-add) when built with -mrelaxed-simd. */
#ifndef TL_SIMD_H
#define TL_SIMD_H
/* TL_SMALL: what gains nothing by many instructions: loops of calls, forms of a loop that few programs use.
 * TL_UNROLLED: a loop over vectors that registers hold, also where files are compiled for size. */
#if defined(__clang__)
#define TL_SMALL __attribute__((minsize))
#define TL_UNROLLED _Pragma("unroll")
#else
#define TL_SMALL
#define TL_UNROLLED
#endif
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef float v4f __attribute__((vector_size(16)));
typedef float v4f_u __attribute__((vector_size(16), aligned(4)));
typedef int32_t v4i __attribute__((vector_size(16)));
typedef uint32_t v4u __attribute__((vector_size(16)));
typedef double v2d __attribute__((vector_size(16)));
typedef double v2d_u __attribute__((vector_size(16), aligned(8)));
typedef int64_t v2l __attribute__((vector_size(16)));
typedef uint64_t v2ul __attribute__((vector_size(16)));

static inline v4f v4_load(const float *p) { return *(const v4f_u *)p; }
static inline void v4_store(float *p, v4f v) { *(v4f_u *)p = v; }
static inline v4f v4_set1(float x) { return (v4f){x, x, x, x}; }
static inline v2d v2_load(const double *p) { return *(const v2d_u *)p; }
static inline v2d v2_set1(double x) { return (v2d){x, x}; }
static inline v4i v4i_set1(int32_t x) { return (v4i){x, x, x, x}; }
/* Constants of long formulas. V8 makes a vector constant of three or four instructions at each use, in a loop too.
 * Hidden from the compiler it is made before the loop, and read from a register or the stack. */
#if defined(__wasm__)
static inline v4f v4_const(float x) {
  v4f v = v4_set1(x);
  __asm__("" : "+r"(v));
  return v;
}
static inline v4i v4i_const(int32_t x) {
  v4i v = v4i_set1(x);
  __asm__("" : "+r"(v));
  return v;
}
#else
static inline v4f v4_const(float x) { return v4_set1(x); }
static inline v4i v4i_const(int32_t x) { return v4i_set1(x); }
#endif

/* a * b + c, fused where the hardware has it for free */
#if defined(__wasm_relaxed_simd__)
static inline v4f v4_madd(v4f a, v4f b, v4f c) { return __builtin_wasm_relaxed_madd_f32x4(a, b, c); }
static inline v2d v2_madd(v2d a, v2d b, v2d c) { return __builtin_wasm_relaxed_madd_f64x2(a, b, c); }
#elif defined(__FMA__)
#include <immintrin.h>
static inline v4f v4_madd(v4f a, v4f b, v4f c) { return (v4f)_mm_fmadd_ps((__m128)a, (__m128)b, (__m128)c); }
static inline v2d v2_madd(v2d a, v2d b, v2d c) { return (v2d)_mm_fmadd_pd((__m128d)a, (__m128d)b, (__m128d)c); }
#else
static inline v4f v4_madd(v4f a, v4f b, v4f c) { return a * b + c; }
static inline v2d v2_madd(v2d a, v2d b, v2d c) { return a * b + c; }
#endif

/* the larger, the smaller of x and a bound, which is no NaN; a NaN of x stays */
#if defined(__wasm_simd128__)
static inline v4f v4_at_least(v4f x, v4f low) { return (v4f)__builtin_wasm_pmax_f32x4(x, low); }
static inline v4f v4_at_most(v4f x, v4f high) { return (v4f)__builtin_wasm_pmin_f32x4(x, high); }
static inline v2d v2_clamp(v2d x, v2d low, v2d high) {
  return __builtin_wasm_pmin_f64x2(__builtin_wasm_pmax_f64x2(x, low), high);
}
static inline v2d v2_sqrt(v2d x) { return __builtin_wasm_sqrt_f64x2(x); }
static inline bool v4_any(v4i mask) { return __builtin_wasm_any_true_v128(mask); }
#elif defined(__SSE2__)
#include <emmintrin.h>
static inline v4f v4_at_least(v4f x, v4f low) { return (v4f)_mm_max_ps((__m128)low, (__m128)x); }
static inline v4f v4_at_most(v4f x, v4f high) { return (v4f)_mm_min_ps((__m128)high, (__m128)x); }
static inline v2d v2_clamp(v2d x, v2d low, v2d high) {
  return (v2d)_mm_min_pd((__m128d)high, _mm_max_pd((__m128d)low, (__m128d)x));
}
static inline v2d v2_sqrt(v2d x) { return (v2d)_mm_sqrt_pd((__m128d)x); }
static inline bool v4_any(v4i mask) { return _mm_movemask_ps((__m128)mask) != 0; }
#else
static inline v4f v4_at_least(v4f x, v4f low) {
  v4i m = (v4i)(x < low);
  return (v4f)((m & (v4i)low) | (~m & (v4i)x));
}
static inline v4f v4_at_most(v4f x, v4f high) {
  v4i m = (v4i)(x > high);
  return (v4f)((m & (v4i)high) | (~m & (v4i)x));
}
static inline v2d v2_clamp(v2d x, v2d low, v2d high) {
  v2l under = (v2l)(x < low), over = (v2l)(x > high);
  return (v2d)((under & (v2l)low) | (over & (v2l)high) | (~(under | over) & (v2l)x));
}
static inline v2d v2_sqrt(v2d x) { return (v2d){__builtin_sqrt(x[0]), __builtin_sqrt(x[1])}; }
static inline bool v4_any(v4i m) { return (m[0] | m[1] | m[2] | m[3]) != 0; }
#endif

/* two floats as doubles, and back */
static inline v2d v2_widened(const float *p) {
  typedef float v2f __attribute__((vector_size(8)));
  v2f v;
  memcpy(&v, p, sizeof v);
  return __builtin_convertvector(v, v2d);
}
/* LLVM knows WASM's instruction beside zeros only, and must not see that these are dropped */
static inline v4f v2_narrow(v2d x) {
  v4f r = __builtin_convertvector(__builtin_shufflevector(x, (v2d){0}, 0, 1, 2, 3), v4f);
#if defined(__wasm__)
  __asm__("" : "+r"(r));
#endif
  return r;
}
static inline void v2_narrowed(float *p, v2d x) {
  const v4f r = v2_narrow(x);
  memcpy(p, &r, 8);
}

static inline v4f v4_select(v4i mask, v4f a, v4f b) { return (v4f)((mask & (v4i)a) | (~mask & (v4i)b)); }
static inline v2d v2_select(v2l mask, v2d a, v2d b) { return (v2d)((mask & (v2l)a) | (~mask & (v2l)b)); }
static inline float v4_hsum(v4f v) { return (v[0] + v[2]) + (v[1] + v[3]); }
#endif
