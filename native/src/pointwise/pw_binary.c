/* pw_binary.c: loops of two and three operands. */
#include "math/cmath.h"
#include "core/errors.h"
#include "core/core.h"
#include "pointwise/pointwise.h"
#include "math/special.h"
#include "math/vdouble.h"

/* integers wrap around: arithmetic in the unsigned type */
#define UINTS(f, E) PW_L2(f##_i32, uint32_t, uint32_t, E) PW_L2(f##_i64, uint64_t, uint64_t, E)
#define INTS(f, E) PW_L2(f##_i32, int32_t, int32_t, E) PW_L2(f##_i64, int64_t, int64_t, E)
#define FLOATS(f, EF, ED) PW_L2(f##_f32, float, float, EF) PW_L2(f##_f64, double, double, ED)
#define FLOAT_RUNS(f, E) PW_LOOP2(PW_RUNS, f##_f32, float, float, E) PW_L2(f##_f64, double, double, E)
#define CPLX(f, RE, IM) \
  PW_L2(f##_c64, tl_c64, tl_c64, ((tl_c64){RE, IM})) PW_L2(f##_c128, tl_c128, tl_c128, ((tl_c128){RE, IM}))
#define CZ(f, E) TL_SMALL PW_L2(f##_c128, tl_c128, tl_c128, E)
#define DBL(f, E) PW_L2(f##_f64, double, double, E)
#define REALS(f, EI, EF, ED) INTS(f, EI) FLOATS(f, EF, ED)
#define TEST_REAL(f, E) \
  PW_L2(f##_i32, uint8_t, int32_t, E) PW_L2(f##_i64, uint8_t, int64_t, E) PW_L2(f##_f32, uint8_t, float, E) \
  PW_L2(f##_f64, uint8_t, double, E)
#define TEST(f, E, EC) TEST_REAL(f, E) PW_L2(f##_c64, uint8_t, tl_c64, EC) PW_L2(f##_c128, uint8_t, tl_c128, EC)

UINTS(b_add, a + b)
FLOAT_RUNS(b_add, a + b)
/* The sum is self + alpha * other with a complex product, as in PyTorch: 0 times an infinite part is NaN. */
CPLX(b_add, a.re + (b.re - 0 * b.im), a.im + (b.im + 0 * b.re))
UINTS(b_sub, a - b)
FLOAT_RUNS(b_sub, a - b)
CPLX(b_sub, a.re + (-b.re - 0 * b.im), a.im + (-b.im + 0 * b.re))
UINTS(b_rsub, b - a)
FLOATS(b_rsub, b - a, b - a)
CPLX(b_rsub, b.re + (-a.re - 0 * a.im), b.im + (-a.im + 0 * a.re))
UINTS(b_mul, a *b)
FLOAT_RUNS(b_mul, a *b)
CPLX(b_mul, a.re *b.re - a.im * b.im, a.re *b.im + a.im * b.re)
FLOATS(b_div, a / b, a / b)
CZ(b_div, cz_div(a, b))
/* the same of rows of elements a, and of one element for each row, whichever operand that is */
#define WITH_ONE(f, E) \
  static void f(void *out, const char *A, intptr_t step, const char *B, intptr_t next, intptr_t rows, intptr_t n) { \
    float *o = out; \
    for (; rows > 0; rows--, o += n, A += step, B += next) { \
      const float *row = (const float *)A, one = *(const float *)B; \
      PW_RUNS for (intptr_t i = 0; i < n; i++) { float a = row[i]; o[i] = E; } \
    } \
  }
WITH_ONE(add_one, a + one)
WITH_ONE(less_one, a - one)
WITH_ONE(from_one, one - a)
WITH_ONE(times_one, a *one)
pw_rows pw_with_one(pw_loop loop, int k) {
  if (loop == b_add_f32) return add_one;
  if (loop == b_mul_f32) return times_one;
  if (loop == b_sub_f32) return k ? less_one : from_one;
  return NULL;
}
/* alpha: p->i, p->x or p->c */
PW_L2(b_addalpha_i32, uint32_t, uint32_t, a + (uint32_t)p->i * b)
PW_L2(b_addalpha_i64, uint64_t, uint64_t, a + (uint64_t)p->i * b)
FLOATS(b_addalpha, a + (float)p->x * b, a + p->x * b)
CZ(b_addalpha, cz_add(a, cz_mul(p->c, b)))

/* INT_MIN / -1 traps on some machines: negate instead */
#define DIVISOR(b) if (b == 0) { *p->zero_division = 1; return 0; }
#define INT_DIVISIONS(T, U, S) \
  static inline T trunc_##S(const PwParams *p, T a, T b) { DIVISOR(b) return b == -1 ? (T)(0 - (U)a) : a / b; } \
  static inline T floor_##S(const PwParams *p, T a, T b) { \
    DIVISOR(b) \
    if (b == -1) return (T)(0 - (U)a); \
    return a / b - (a % b != 0 && (a < 0) != (b < 0)); \
  } \
  static inline T fmod_##S(const PwParams *p, T a, T b) { DIVISOR(b) return b == -1 ? 0 : a % b; } \
  static inline T rem_##S(const PwParams *p, T a, T b) { \
    T m = fmod_##S(p, a, b); \
    return m != 0 && (m < 0) != (b < 0) ? m + b : m; \
  } \
  static T inverse_pow_##S(T a, T b) { /* b < 0 */ \
    if (a == -1) return b % 2 ? -1 : 1; \
    return a == 1; \
  } \
  static T pow_##S(T a, T b) { \
    U r = 1, x = (U)a; \
    if (b < 0) return inverse_pow_##S(a, b); \
    for (; b; b >>= 1, x *= x) if (b & 1) r *= x; \
    return (T)r; \
  } \
  static T gcd_##S(T a, T b) { \
    U x = a < 0 ? 0 - (U)a : (U)a, y = b < 0 ? 0 - (U)b : (U)b; \
    while (y) { U t = x % y; x = y; y = t; } \
    return (T)x; \
  } \
  static T lcm_##S(T a, T b) { \
    T g = gcd_##S(a, b); \
    if (!g) return 0; \
    T r = (T)((U)(a / g) * (U)b); \
    return r < 0 ? (T)(0 - (U)r) : r; \
  }
INT_DIVISIONS(int32_t, uint32_t, i32)
INT_DIVISIONS(int64_t, uint64_t, i64)

static inline double rem_f64(double a, double b) {
  double m = fmod(a, b);
  return m != 0 && (b < 0) != (m < 0) ? m + b : m;
}
static inline double floor_f64(double a, double b) { /* as vm_floor_divide */
  if (b == 0) return a / b;
  double m = fmod(a, b), d = (a - m) / b;
  if (m != 0 && (b < 0) != (m < 0)) d -= 1;
  if (d == 0) return copysign(0, a / b);
  double f = floor(d);
  return d - f > 0.5 ? f + 1 : f;
}
#define FLOAT4_AND_DOUBLE(f, EF, ED) PW_V2(f##_f32, EF) DBL(f, ED)
#define EACH(f, g) PW_L2(f##_i32, int32_t, int32_t, g##_i32(p, a, b)) PW_L2(f##_i64, int64_t, int64_t, g##_i64(p, a, b))
EACH(b_div_trunc, trunc)
FLOATS(b_div_trunc, truncf(a / b), trunc(a / b))
EACH(b_floor_divide, floor)
FLOAT4_AND_DOUBLE(b_floor_divide, vm_floor_divide(a, b), floor_f64(a, b))

/* The same of 16-bit floats, where PyTorch rounds after each step: 53 / 1 may be 52.9 before. */
static float f16_of(float x) { return tl_half_to_float(tl_float_to_half(x)); }
static float bf16_of(float x) { return tl_bf16_to_float(tl_float_to_bf16(x)); }
#define HALF_DIVISIONS(S) \
  static float floor_##S(float a, float b) { \
    if (b == 0) return a / b; \
    float m = fmodf(a, b), d = S##_of(S##_of(a - m) / b); \
    if (m != 0 && (b < 0) != (m < 0)) d = S##_of(d - 1); \
    if (d == 0) return copysignf(0, a / b); \
    float f = floorf(d); \
    return S##_of(d - f) > 0.5f ? f + 1 : f; \
  } \
  PW_L2(b_div_trunc_##S, float, float, truncf(S##_of(a / b))) \
  PW_L2(b_floor_divide_##S, float, float, floor_##S(a, b))
HALF_DIVISIONS(f16)
HALF_DIVISIONS(bf16)
EACH(b_remainder, rem)
FLOAT4_AND_DOUBLE(b_remainder, vm_remainder(a, b), rem_f64(a, b))
EACH(b_fmod, fmod)
FLOAT4_AND_DOUBLE(b_fmod, vm_fmod(a, b), fmod(a, b))
PW_L2(b_pow_i32, int32_t, int32_t, pow_i32(a, b))
PW_L2(b_pow_i64, int64_t, int64_t, pow_i64(a, b))
FLOAT4_AND_DOUBLE(b_pow, vm_pow(a, b), pow(a, b))
CZ(b_pow, cz_pow(a, b))
CZ(b_pow_number, cz_pow_number(a, b))
PW_L2(b_gcd_i32, int32_t, int32_t, gcd_i32(a, b))
PW_L2(b_gcd_i64, int64_t, int64_t, gcd_i64(a, b))
PW_L2(b_lcm_i32, int32_t, int32_t, lcm_i32(a, b))
PW_L2(b_lcm_i64, int64_t, int64_t, lcm_i64(a, b))

INTS(b_maximum, a > b ? a : b)
FLOATS(b_maximum, a > b || a != a ? a : b, a > b || a != a ? a : b)
INTS(b_minimum, a < b ? a : b)
FLOATS(b_minimum, a < b || a != a ? a : b, a < b || a != a ? a : b)
INTS(b_fmax, a > b ? a : b)
/* not C's fmax and fmin: what WASM makes of those gives NaN for NaN and a number */
FLOATS(b_fmax, a != a || b > a ? b : a, a != a || b > a ? b : a)
INTS(b_fmin, a < b ? a : b)
FLOATS(b_fmin, a != a || b < a ? b : a, a != a || b < a ? b : a)
FLOAT4_AND_DOUBLE(b_atan2, vm_atan2(a, b), atan2(a, b))
/* squares of floats have room in double */
static inline float hypot_f32(float a, float b) {
  const float s = (float)sqrt((double)a * a + (double)b * b), x = fabsf(a), y = fabsf(b), inf = INFINITY;
  return ((x == inf) | (y == inf)) ? inf : s;
}
FLOATS(b_hypot, hypot_f32(a, b), hypot(a, b))
FLOATS(b_copysign, copysignf(a, b), copysign(a, b))
/* the neighbour of a towards b: its bits are those of an integer one away */
static inline float next_f32(float a, float b) {
  int32_t u;
  float r;
  memcpy(&u, &a, 4);
  u += (b > a) ^ (u < 0) ? 1 : -1;
  memcpy(&r, &u, 4);
  r = a == 0 ? copysignf(0x1p-149f, b) : r;
  r = a == b ? b : r;
  return ((a != a) | (b != b)) ? a + b : r;
}
FLOATS(b_nextafter, next_f32(a, b), nextafter(a, b))
#define UNLESS_0(a, value) ((a) == 0 ? 0 : (value))
DBL(b_xlogy, isnan(b) ? NAN : UNLESS_0(a, a *log(b)))
DBL(b_special_xlog1py, isnan(b) ? NAN : UNLESS_0(a, a *log1p(b)))
static double logadd(double a, double b, bool two) {
  if (isinf(a) && a == b) return a;
  double m = a > b ? a : b, d = -fabs(a - b);
  return two ? m + log1p(exp2(d)) * 1.4426950408889634074 : m + log1p(exp(d));
}

static inline v4f logadd4(v4f a, v4f b, bool two) {
  const v4f d = -vm_abs(a - b), m = v4_select((v4i)(a > b), a, b);
  const v4f r = two ? vm_logaddexp2(a, b) : m + vm_log1p_unit(vm_exp(d));
  return v4_select((v4i)(d == d), r, a + b); /* equal infinities; NaN */
}
FLOAT4_AND_DOUBLE(b_logaddexp, logadd4(a, b, false), logadd(a, b, false))
CZ(b_logaddexp, cz_log_add(a, b))
FLOAT4_AND_DOUBLE(b_logaddexp2, logadd4(a, b, true), logadd(a, b, true))
REALS(b_heaviside, a == 0 ? b : a > 0, a == 0 ? b : a > 0, a == 0 ? b : a > 0)
INTS(b_bitwise_and, a &b)
INTS(b_bitwise_or, a | b)
INTS(b_bitwise_xor, a ^ b)
/* Without branches: those of distances that vary would be mispredicted. WASM shifts all lanes by one distance, which is
 * what most programs do. S: the distance by which b shifts; M: the bits that are kept. */
#define SHIFT(fn, T, AS, U, OP, S, M) \
  PW_LOOP2(PW_EACH, fn##_each, T, T, (T)((U)((AS)a OP (S)) & (M))) \
  static void fn(const PwParams *p, void *out, const void *const *in, int64_t n) { \
    const T *A = in[0], *B = in[1], b = n ? B[0] : 0; \
    const U mask = (M), s = (U)(S); \
    T *o = out; \
    U differ = n > 1 ? (U)(B[1] ^ b) : 0; \
    if (!differ) PW_VEC for (intptr_t i = 0; i < (intptr_t)n; i++) differ |= (U)(B[i] ^ b); \
    if (differ) { fn##_each(p, out, in, n); return; } \
    PW_VEC for (intptr_t i = 0; i < (intptr_t)n; i++) o[i] = (T)((U)((AS)A[i] OP s) & mask); \
  }
#define SHIFTS(S, T, U, BITS) \
  SHIFT(b_bitwise_left_shift_##S, T, U, U, <<, b & (BITS - 1), -(U)((U)b < (U)p->bits)) \
  SHIFT(b_bitwise_right_shift_##S, T, T, U, >>, (U)b < (U)p->bits ? b : BITS - 1, (U)-1)
SHIFTS(i32, int32_t, uint32_t, 32)
SHIFTS(i64, int64_t, uint64_t, 64)
TEST(b_eq, a == b, a.re == b.re && a.im == b.im)
TEST(b_ne, a != b, a.re != b.re || a.im != b.im)
TEST_REAL(b_lt, a < b)
TEST_REAL(b_le, a <= b)
TEST_REAL(b_gt, a > b)
TEST_REAL(b_ge, a >= b)
#define TRUE(z) (z.re != 0 || z.im != 0)
TEST(b_logical_and, a != 0 && b != 0, TRUE(a) && TRUE(b))
TEST(b_logical_or, a != 0 || b != 0, TRUE(a) || TRUE(b))
TEST(b_logical_xor, (a != 0) != (b != 0), TRUE(a) != TRUE(b))

DBL(b__standard_gamma_grad, sp_gamma_grad(a, b))
PW_L3(b__dirichlet_grad_f64, double, double, sp_dirichlet_grad(a, b, c))
DBL(b_igamma, sp_igamma(a, b))
DBL(b_igammac, sp_igammac(a, b))
DBL(b_special_zeta, sp_zeta(a, b))
/* a degree out of range (NaN, infinity) counts as negative on every machine */
static inline int64_t degree(double n) { return n < 9.2e18 && n > -9.2e18 ? (int64_t)n : -1; }
#define POLY(name, kind) DBL(b_special_##name, sp_poly(kind, a, degree(b)))
#define SHIFTED(name, kind) DBL(b_special_shifted_##name, sp_poly(kind, 2 * a - 1, degree(b)))
POLY(chebyshev_polynomial_t, SP_CHEBYSHEV_T)
POLY(chebyshev_polynomial_u, SP_CHEBYSHEV_U)
POLY(chebyshev_polynomial_v, SP_CHEBYSHEV_V)
POLY(chebyshev_polynomial_w, SP_CHEBYSHEV_W)
POLY(hermite_polynomial_h, SP_HERMITE_H)
POLY(hermite_polynomial_he, SP_HERMITE_HE)
POLY(laguerre_polynomial_l, SP_LAGUERRE_L)
POLY(legendre_polynomial_p, SP_LEGENDRE_P)
SHIFTED(chebyshev_polynomial_t, SP_CHEBYSHEV_T)
SHIFTED(chebyshev_polynomial_u, SP_CHEBYSHEV_U)
SHIFTED(chebyshev_polynomial_v, SP_CHEBYSHEV_V)
SHIFTED(chebyshev_polynomial_w, SP_CHEBYSHEV_W)

/* ---- three operands ---- */
static inline tl_c64 addcmul_c64(const PwParams *p, tl_c64 a, tl_c64 b, tl_c64 c) {
  float re = (float)p->c.re * b.re - (float)p->c.im * b.im, im = (float)p->c.re * b.im + (float)p->c.im * b.re;
  return (tl_c64){a.re + re * c.re - im * c.im, a.im + re * c.im + im * c.re};
}
PW_L3(b_addcmul_i32, uint32_t, uint32_t, a + (uint32_t)p->i * b * c)
PW_L3(b_addcmul_i64, uint64_t, uint64_t, a + (uint64_t)p->i * b * c)
PW_L3(b_addcmul_f32, float, float, a + (float)p->x * b * c)
PW_L3(b_addcmul_f64, double, double, a + p->x * b * c)
PW_L3(b_addcmul_c64, tl_c64, tl_c64, addcmul_c64(p, a, b, c))
PW_L3(b_addcmul_c128, tl_c128, tl_c128, cz_add(a, cz_mul(cz_mul(p->c, b), c)))
PW_L3(b_addcdiv_f32, float, float, a + (float)p->x * b / c)
PW_L3(b_addcdiv_f64, double, double, a + p->x * b / c)
PW_L3(b_addcdiv_c128, tl_c128, tl_c128, cz_add(a, cz_div(cz_mul(p->c, b), c)))
/* from the end that is nearer, so that weight 1 gives end exactly */
#define LERP(F) (F(c) < 0.5f ? a + c * (b - a) : b - (b - a) * (1 - c))
PW_L3(b_lerp_f32, float, float, LERP(fabsf))
PW_L3(b_lerp_f64, double, double, LERP(fabs))
PW_L3(b_lerp_c128, tl_c128, tl_c128,
      cz_abs(c) < 0.5 ? cz_add(a, cz_mul(c, cz_sub(b, a))) : cz_sub(b, cz_mul(cz_sub(b, a), cz_sub(cz_of(1, 0), c))))
/* the same where the weight is a number, p->x */
#define LERPS(S, T) \
  PW_L2(b_lerp_near_##S, T, T, a + (T)p->x * (b - a)) PW_L2(b_lerp_far_##S, T, T, b - (b - a) * (1 - (T)p->x))
LERPS(f32, float)
LERPS(f64, double)
/* NaN in any operand gives NaN; when min > max, max wins */
#define CLAMP_LO(x, b) ((((x) < (b)) | ((b) != (b))) ? (b) : (x))
#define CLAMP_HI(x, c) ((((x) > (c)) | ((c) != (c))) ? (c) : (x))
#define CLAMPS(S, T) \
  static inline T clamp_##S(T a, T b, T c) { T x = a != a ? a : CLAMP_LO(a, b); return x != x ? x : CLAMP_HI(x, c); } \
  PW_L3(b_clamp_##S, T, T, clamp_##S(a, b, c)) \
  PW_L2(b_clamp_min_##S, T, T, (((a < b) | (b != b)) & (a == a)) ? b : a) \
  PW_L2(b_clamp_max_##S, T, T, (((a > b) | (b != b)) & (a == a)) ? b : a)
CLAMPS(i32, int32_t)
CLAMPS(i64, int64_t)
CLAMPS(f32, float)
CLAMPS(f64, double)

/* by size: a mask of all bits or none, so that random conditions cost no mispredicted branches */
#define WHERE(S, U) \
  static void b_where_##S(const PwParams *p, void *out, const void *const *in, int64_t n) { \
    U *o = out; const uint8_t *M = in[0]; const U *A = in[1], *B = in[2]; (void)p; \
    PW_VEC for (int64_t i = 0; i < n; i++) { U m = 0 - (U)(M[i] != 0); o[i] = (A[i] & m) | (B[i] & ~m); } \
  }
WHERE(i32, uint32_t)
WHERE(i64, uint64_t)
#define b_where_f32 b_where_i32
#define b_where_f64 b_where_i64
#define b_where_c64 b_where_i64
static void b_where_c128(const PwParams *p, void *out, const void *const *in, int64_t n) {
  tl_c128 *o = out;
  const uint8_t *M = in[0];
  const tl_c128 *A = in[1], *B = in[2];
  (void)p;
  for (int64_t i = 0; i < n; i++) o[i] = M[i] ? A[i] : B[i];
}

#define CUBES(S, T) PW_L1(b_cube_##S, T, T, a *a *a) PW_L1(b_square_reciprocal_##S, T, T, 1 / (a * a))
CUBES(f32, float)
CUBES(f64, double)
static const PwRow cube_row = {PW_SAME, 0, 1, "pow", PW_SET_F(b_cube)};
static const PwRow square_reciprocal_row = {PW_SAME, 0, 1, "pow", PW_SET_F(b_square_reciprocal)};
static const PwRow lerp_near_row = {PW_SAME, 0, 2, "lerp_kernel_scalar", PW_SET_F(b_lerp_near)};
static const PwRow lerp_far_row = {PW_SAME, 0, 2, "lerp_kernel_scalar", PW_SET_F(b_lerp_far)};
static const PwRow addalpha_row = {PW_SAME, 0, 2, "add_cpu/sub_cpu", PW_SET_REALC(b_addalpha)};
static const PwRow pow_number_row = {PW_SAME, PW_PARAM, 2, "pow", {[PW_C128] = b_pow_number_c128}};
static const PwRow clamp_min_row = {PW_SAME, PW_PARAM, 2, "clamp_min|clamp is not supported for complex types",
                                    PW_SET_REAL(b_clamp_min)};
static const PwRow clamp_max_row = {PW_SAME, PW_PARAM, 2, "clamp_max|clamp is not supported for complex types",
                                    PW_SET_REAL(b_clamp_max)};
#define ROW(set, name, fn, kind, flags, arity, msg) \
  const PwRow pw_row_##name = {kind, flags, arity, msg, PW_SET_##set(b_##name)};
#include "pointwise/pw_binary.inc"
#undef ROW

/* Narrow integers in their own width: through int32 they take ten times as long. A bool is any byte but 0. */
PW_L2(n_and, uint8_t, uint8_t, (a != 0) & (b != 0))
PW_L2(n_or, uint8_t, uint8_t, (a | b) != 0)
PW_L2(n_ne, uint8_t, uint8_t, (a != 0) != (b != 0))
PW_L2(n_eq, uint8_t, uint8_t, (a != 0) == (b != 0))
PW_L1(n_not, uint8_t, uint8_t, a == 0)
PW_L2(n_bits_and, uint8_t, uint8_t, a &b)
PW_L2(n_bits_or, uint8_t, uint8_t, a | b)
PW_L2(n_bits_xor, uint8_t, uint8_t, a ^ b)
#define NARROW(T, S) \
  PW_L2(n_add_##S, T, T, (T)(a + b)) PW_L2(n_sub_##S, T, T, (T)(a - b)) PW_L2(n_mul_##S, T, T, (T)((uint32_t)a * b))
NARROW(uint8_t, 1)
NARROW(uint16_t, 2)

pw_loop pw_narrow(const PwRow *row, tl_dtype d) {
  if (d == TL_BOOL) {
    if (row == &pw_row_bitwise_and || row == &pw_row_logical_and) return n_and;
    if (row == &pw_row_bitwise_or || row == &pw_row_logical_or) return n_or;
    if (row == &pw_row_bitwise_xor || row == &pw_row_logical_xor || row == &pw_row_ne) return n_ne;
    if (row == &pw_row_eq) return n_eq;
    return row == &pw_row_logical_not ? n_not : NULL;
  }
  const bool byte = tl_itemsize[d] == 1;
  if (row == &pw_row_add) return byte ? n_add_1 : n_add_2;
  if (row == &pw_row_sub) return byte ? n_sub_1 : n_sub_2;
  if (row == &pw_row_mul) return byte ? n_mul_1 : n_mul_2;
  if (byte && row == &pw_row_bitwise_and) return n_bits_and;
  if (byte && row == &pw_row_bitwise_or) return n_bits_or;
  return byte && row == &pw_row_bitwise_xor ? n_bits_xor : NULL;
}

/* ---- kernels with more than a row ---- */
static int check_room(PyObject *const *args, int n, tl_dtype d) {
  for (int i = 0; i < n; i++)
    if (tl_check_room(args[i], d) < 0) return -1;
  return 0;
}

static bool is_bool(PyObject *o) { return TL_CHECK(o) ? ((TlTensor *)o)->dtype == TL_BOOL : PyBool_Check(o); }
static bool is_one(PyObject *o) { return PyLong_Check(o) && !PyBool_Check(o) && PyLong_AsLong(o) == 1; }
static void clear_overflow(void) {
  if (PyErr_Occurred()) PyErr_Clear();
}

static void fill_params(PwParams *p, const PwArg *a) {
  p->i = a->cat == TL_BOOL || a->cat == TL_I64 ? a->i : (int64_t)a->c.re;
  p->x = a->c.re;
  p->c = a->c;
}

/* p from alpha, checked against the common dtype d */
static int alpha_params(PyObject *alpha, tl_dtype d, PwParams *p) {
  PwArg a;
  if (TL_CHECK(alpha)) { /* a 0-dim tensor stands for its value */
    TlTensor *t = (TlTensor *)alpha;
    PyObject *v = tl_m_item(t, NULL);
    int rc = v ? alpha_params(v, d, p) : -1;
    Py_XDECREF(v);
    return rc;
  }
  if (pw_arg(alpha, &a)) return -1;
  const char *msg = NULL;
  if (a.cat == TL_BOOL && d != TL_BOOL) msg = "Boolean alpha only supported for Boolean results.";
  else if (tl_is_integral(d) && a.cat != TL_BOOL && a.cat != TL_I64)
    msg = "For integral input tensors, argument alpha must not be a floating point number.";
  else if (!tl_is_complex(d) && a.cat >= TL_C64)
    msg = "For non-complex input tensors, argument alpha must not be a complex number.";
  if (msg) {
    PyErr_SetString(PyExc_RuntimeError, msg);
    return -1;
  }
  fill_params(p, &a);
  if (tl_itemsize[d] == 2) p->x = tl_rounded(d, p->x); /* a number of that dtype, as in PyTorch */
  return tl_check_room(alpha, d);
}

static PyObject *add_alpha(PyObject *const *args, TlTensor *out, bool negate) {
  PwParams p = {0};
  tl_dtype d;
  if (tl_result_type(2, args, &d) || alpha_params(args[2], d, &p)) return NULL;
  if (d == TL_BOOL) p.i = p.i != 0;
  if (negate) {
    p.i = (int64_t)(0 - (uint64_t)p.i);
    p.x = -p.x;
    p.c = PyComplex_Check(args[2]) ? cz_neg(p.c) : cz_of(-p.c.re, 0);
  }
  return pw_run(&addalpha_row, &p, 2, args, (int)d, out);
}

/* add(self, other, alpha=1) */
PyObject *pw_add(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  if (nargs > 2 && !is_one(args[2])) {
    clear_overflow();
    return add_alpha(args, out, false);
  }
  return pw_binary(k, args, 2, out);
}

static int no_bool_sub(PyObject *a, PyObject *b) {
  bool x = is_bool(a), y = is_bool(b);
  if (!x && !y) return 0;
  bool both = x && y;
  PyErr_SetString(PyExc_RuntimeError, both ? "Subtraction, the `-` operator, with two bool tensors is not supported. "
                                             "Use the `^` or `logical_xor()` operator instead."
                                           : "Subtraction, the `-` operator, with a bool tensor is not supported. If "
                                             "you are trying to invert a mask, use the "
                                             "`~` or `logical_not()` operator instead.");
  return -1;
}

PyObject *pw_sub(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  if (no_bool_sub(args[0], args[1])) return NULL;
  if (nargs > 2 && !is_one(args[2])) {
    clear_overflow();
    return add_alpha(args, out, true);
  }
  return pw_binary(k, args, 2, out);
}

PyObject *pw_rsub(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  if (no_bool_sub(args[0], args[1])) return NULL;
  if (nargs > 2 && !is_one(args[2])) {
    PyObject *swapped[3] = {args[1], args[0], args[2]};
    clear_overflow();
    return add_alpha(swapped, out, true);
  }
  return pw_binary(k, args, 2, out);
}

/* A rounding division's row for these operands. A divisor of one element is a number, by which PyTorch divides in
 * float. */
static const PwRow *rounding_row(const PwRow *row, PyObject *const *args, PwRow *own) {
  bool floors = row == &pw_row_floor_divide;
  tl_dtype d;
  if ((!floors && row != &pw_row_div_trunc) || !TL_CHECK(args[1]) || ((TlTensor *)args[1])->numel == 1) return row;
  if (tl_result_type(2, args, &d)) {
    PyErr_Clear(); /* pw_run says it again */
    return row;
  }
  if (d != TL_F16 && d != TL_BF16) return row;
  *own = *row;
  if (d == TL_F16) own->loops[PW_F32] = floors ? b_floor_divide_f16 : b_div_trunc_f16;
  else own->loops[PW_F32] = floors ? b_floor_divide_bf16 : b_div_trunc_bf16;
  return own;
}

/* integer division and remainders: a divisor of 0 is an error */
PyObject *pw_zero_checked(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  int zero = 0;
  PwParams p = {.zero_division = &zero};
  PwRow own;
  PyObject *r = pw_run(rounding_row(k->data, args, &own), &p, 2, args, -1, out);
  if (zero && r) {
    Py_CLEAR(r);
    PyErr_SetString(PyExc_RuntimeError, "ZeroDivisionError");
  }
  return r;
}

/* div(self, other, rounding_mode=None) */
PyObject *pw_div(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  if (nargs < 3 || args[2] == Py_None) return pw_binary(k, args, 2, out);
  TlKernel t = *k;
  if (PyUnicode_CompareWithASCIIString(args[2], "trunc") == 0) t.data = &pw_row_div_trunc;
  else if (PyUnicode_CompareWithASCIIString(args[2], "floor") == 0) t.data = &pw_row_floor_divide;
  else
    return PyErr_Format(PyExc_RuntimeError,
                        "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '%S'", args[2]);
  return pw_zero_checked(&t, args, 2, out);
}

/* pow(self, exponent): each a tensor or a number */
PyObject *pw_pow(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  PyObject *base = args[0], *e = args[1];
  if (TL_CHECK(base) && !TL_CHECK(e)) {
    PwArg a;
    tl_dtype d;
    if (pw_arg(e, &a) || tl_result_type(2, args, &d)) return NULL;
    if (tl_is_integral(d) && a.i < 0) {
      PyErr_SetString(PyExc_RuntimeError, "Integers to negative integer powers are not allowed.");
      return NULL;
    }
    if (tl_is_integral(d) && check_room(args + 1, 1, d)) return NULL;
    if (d == TL_C32 && (a.c.im != 0 || (a.c.re != 0 && a.c.re != 1))) return pw_not_implemented("pow", d);
    if (d == TL_BOOL) { /* two bools: the base itself, or all true */
      PyObject *pair[2] = {base, a.i ? Py_False : Py_True};
      return pw_run(&pw_row_logical_or, NULL, 2, pair, (int)d, out);
    }
    const PwRow *row = NULL;
    /* the usual exponents, as products and roots: rounded once or twice, and many times faster */
    if (a.c.im == 0 && (tl_is_float(d) || tl_is_complex(d))) {
      double v = a.c.re;
      if (v == 2) row = &pw_row_square;
      else if (v == 1 && tl_is_float(d)) row = &pw_row_conj_physical;
      else if (v == 0.5 && d != TL_F16) row = &pw_row_sqrt;
      else if (v == -1) row = &pw_row_reciprocal;
      else if (v == -0.5 && tl_is_float(d)) row = &pw_row_rsqrt;
      else if (v == 3 && (d == TL_F32 || d == TL_F64)) row = &cube_row;
      else if (v == -2 && (d == TL_F32 || d == TL_F64)) row = &square_reciprocal_row;
    } else if (tl_is_integral(d) && a.i == 2 && d != TL_BOOL) row = &pw_row_square;
    if (row) return pw_run(row, NULL, 1, args, (int)d, out);
    if (tl_is_complex(d)) return pw_run(&pow_number_row, NULL, 2, args, (int)d, out);
  }
  bool ones = false; /* the number 1 to a complex power: PyTorch fills with 1, whatever the power is */
  tl_dtype d = TL_C128;
  if (!TL_CHECK(base) && TL_CHECK(e)) {
    PwArg a;
    if (pw_arg(base, &a) || tl_result_type(2, args, &d)) return NULL;
    ones = tl_is_complex(d) && a.c.re == 1 && a.c.im == 0;
  }
  PyObject *to_zero[2] = {e, Py_False};
  PyObject *r = ones ? pw_run(&pow_number_row, NULL, 2, to_zero, (int)d, out) : pw_binary(k, args, 2, out);
  if (!r || out || TL_CHECK(base)) return r;
  PyObject *c =
    (PyObject *)tl_contiguous((TlTensor *)r); /* a number's powers are contiguous, whatever the exponents are */
  Py_DECREF(r);
  return c;
}

PyObject *pw_heaviside(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  tl_dtype d;
  if (tl_result_type(2, args, &d)) return NULL;
  if (tl_is_complex(d)) return pw_not_implemented(((const PwRow *)k->data)->msg, d);
  if (TL_CHECK(args[0]) && TL_CHECK(args[1]) && ((TlTensor *)args[0])->dtype != ((TlTensor *)args[1])->dtype) {
    PyErr_SetString(PyExc_RuntimeError, "heaviside is not yet implemented for tensors with different dtypes.");
    return NULL;
  }
  return pw_binary(k, args, 2, out);
}

/* 16-bit floats have their own neighbours; p->i: bfloat16 */
static float next16(const PwParams *p, float a, float b) {
  if (a != a || b != b) return NAN;
  if (a == b) return b;
  uint16_t u = p->i ? tl_float_to_bf16(a) : tl_float_to_half(a);
  if (a == 0) u = b < 0 ? 0x8001 : 1;
  else u = (uint16_t)((b > a) == (a > 0) ? u + 1 : u - 1);
  return p->i ? tl_bf16_to_float(u) : tl_half_to_float(u);
}
PW_L2(b_next16_f32, float, float, next16(p, a, b))

PyObject *pw_nextafter(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  static const PwRow row16 = {PW_SAME, PW_NO_INT, 2, "nextafter_cpu", {[PW_F32] = b_next16_f32}};
  tl_dtype d;
  if (tl_result_type(2, args, &d)) return NULL;
  if (d != TL_F16 && d != TL_BF16) return pw_binary(k, args, 2, out);
  PwParams p = {.i = d == TL_BF16};
  return pw_run(&row16, &p, 2, args, (int)d, out);
}

static PyObject *add_product(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out, bool divide) {
  PwParams p = {.x = 1, .i = 1, .c = {1, 0}};
  tl_dtype d;
  PwArg v;
  if (tl_result_type(3, args, &d)) return NULL;
  tl_dtype num;
  if (divide && !tl_result_type(2, args + 1, &num) && tl_is_integral(num)) {
    PyErr_SetString(
      PyExc_RuntimeError,
      "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a "
      "true division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * "
      "torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / tensor2) "
      "for float "
      "inputs. The future addcdiv behavior is just the latter implementation: (input + value * tensor1 / tensor2), for "
      "all dtypes.");
    return NULL;
  }
  if (nargs > 3) {
    if (tl_check_room(args[3], tl_is_float(d) ? tl_compute[d] : d) || pw_arg(args[3], &v)) return NULL;
    fill_params(&p, &v);
  }
  return pw_run(k->data, &p, 3, args, (int)d, out);
}
/* addcmul(self, tensor1, tensor2, value=1) */
PyObject *pw_addcmul(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  return add_product(k, args, nargs, out, false);
}
PyObject *pw_addcdiv(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  return add_product(k, args, nargs, out, true);
}

/* lerp(self, end, weight) */
PyObject *pw_lerp(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  static const char *const names[] = {"self", "end", "weight"};
  tl_dtype d = (tl_dtype)((TlTensor *)args[0])->dtype;
  bool lone = TL_CHECK(args[2]) && ((TlTensor *)args[2])->ndim == 0; /* such a weight takes part in promotion */
  for (int i = 1; i < 3 - lone; i++)
    if (TL_CHECK(args[i]) && ((TlTensor *)args[i])->dtype != d)
      return PyErr_Format(PyExc_RuntimeError, "expected dtype %s for `%s` but got dtype %s", tl_cpp_type[d], names[i],
                          tl_cpp_type[((TlTensor *)args[i])->dtype]);
  if (tl_is_integral(d)) return pw_not_implemented(TL_CHECK(args[2]) ? "lerp_kernel_tensor" : "lerp_kernel_scalar", d);
  if (tl_check_room(args[2], tl_is_float(d) ? tl_compute[d] : d)) return NULL;
  PwParams p = {0};
  if (!TL_CHECK(args[2]) && (d == TL_F32 || d == TL_F64)) {
    if (tl_double(args[2], &p.x) < 0) return NULL;
    const bool near = d == TL_F32 ? fabsf((float)p.x) < 0.5f : fabs(p.x) < 0.5;
    return pw_run(near ? &lerp_near_row : &lerp_far_row, &p, 2, args, (int)d, out);
  }
  return pw_run(k->data, NULL, 3, args, lone ? -1 : (int)d, out);
}

static bool is_nan(PyObject *o) { return PyFloat_CheckExact(o) && isnan(PyFloat_AsDouble(o)); }
static bool is_bound(PyObject *o) { return o == Py_None || PyFloat_CheckExact(o) || PyLong_CheckExact(o); }
/* clamp(self, min=None, max=None) */
PyObject *pw_clamp(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  PyObject *lo = nargs > 1 ? args[1] : Py_None, *hi = nargs > 2 ? args[2] : Py_None;
  if (lo == Py_None && hi == Py_None) {
    PyErr_SetString(PyExc_RuntimeError, "torch.clamp: At least one of 'min' or 'max' must not be None");
    return NULL;
  }
  if (is_nan(lo)) hi = Py_None; /* all is NaN, whatever the other bound */
  else if (is_nan(hi)) lo = Py_None;
  PyObject *all[3] = {args[0], lo, hi};
  if (!TL_CHECK(lo) || !TL_CHECK(hi)) {
    PyObject *some[3] = {args[0], lo == Py_None ? hi : lo, hi == Py_None ? lo : hi};
    tl_dtype d;
    if (tl_result_type(3, some, &d) || check_room(all, 3, d)) return NULL;
  }
  const TlTensor *x = (const TlTensor *)args[0];
  if (x->dtype >= TL_F32 && x->dtype <= TL_F64 && is_bound(lo) && is_bound(hi)) { /* ordered bounds: the faster loop */
    PwParams p = {.x = lo == Py_None ? -Py_HUGE_VAL : PyFloat_AsDouble(lo),
                  .y = hi == Py_None ? Py_HUGE_VAL : PyFloat_AsDouble(hi)};
    if (PyErr_Occurred()) return NULL;
    if (p.x <= p.y) return pw_run(&pw_row_hardtanh, &p, 1, args, -1, out);
  }
  if (lo != Py_None && hi != Py_None) return pw_run(k->data, NULL, 3, all, -1, out);
  PyObject *two[2] = {args[0], lo != Py_None ? lo : hi};
  return pw_run(lo != Py_None ? &clamp_min_row : &clamp_max_row, NULL, 2, two, -1, out);
}
/* the common dtype has room for a bound that is a number */
static int check_bound(PyObject *const *args) {
  tl_dtype d;
  return tl_result_type(2, args, &d) || check_room(args, 2, d) ? -1 : 0;
}
PyObject *pw_clamp_min(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  return check_bound(args) ? NULL : pw_run(&clamp_min_row, NULL, 2, args, -1, out);
}
PyObject *pw_clamp_max(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  return check_bound(args) ? NULL : pw_run(&clamp_max_row, NULL, 2, args, -1, out);
}

/* where(condition, self, other) */
PyObject *pw_where(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  PwArg in[3];
  tl_dtype d, it[3], via[3];
  static const PwParams none;
  static const tl_dtype class_dtype[PW_NUM] = {TL_I32, TL_I64, TL_F32, TL_F64, TL_C64, TL_C128};
  tl_dtype c = (tl_dtype)((TlTensor *)args[0])->dtype;
  if (c != TL_BOOL && c != TL_U8)
    return PyErr_Format(PyExc_RuntimeError,
                        "where expected condition to be a boolean tensor, but got a tensor with dtype %s",
                        tl_scalar_type[c]);
  if (c == TL_U8 && tl_warn_once("where received a uint8 condition tensor. This behavior is deprecated and will be "
                                 "removed in a future version of PyTorch. "
                                 "Use a boolean condition instead.") < 0)
    return NULL;
  for (int i = 0; i < 3; i++)
    if (pw_arg(args[i], &in[i])) return NULL;
  if (tl_result_type(2, args + 1, &d)) return NULL;
  if (check_room(args + 1, 2, tl_is_float(d) ? tl_compute[d] : d)) return NULL;
  int cls = pw_class(d);
  it[0] = via[0] = c;
  it[1] = it[2] = class_dtype[cls];
  via[1] = via[2] = d;
  return pw_exec(((const PwRow *)k->data)->loops[cls], &none, 3, in, it, via, it[1], d, out);
}

/* complex(real, imag), polar(abs, angle): two parts of one float dtype; the body names the errors */
#define PARTS(name, C, T, RE, IM) \
  static void name(const PwParams *p, void *out, const void *const *in, int64_t n) { \
    C *o = out; const T *A = in[0], *B = in[1]; \
    (void)p; \
    for (int64_t i = 0; i < n; i++) { T a = A[i], b = B[i]; o[i] = (C){RE, IM}; } \
  }
PARTS(complex_f, tl_c64, float, a, b)
PARTS(complex_d, tl_c128, double, a, b)
static inline void polar4(float *o, v4f a, v4f b) {
  const v4f re = a * vm_cos(b), im = a * vm_sin(b);
  v4_store(o, __builtin_shufflevector(re, im, 0, 4, 1, 5));
  v4_store(o + 4, __builtin_shufflevector(re, im, 2, 6, 3, 7));
}
static void polar_f(const PwParams *p, void *out, const void *const *in, int64_t n) {
  const float *A = in[0], *B = in[1];
  float *o = out, rest[16] = {0};
  intptr_t i = 0;
  (void)p;
  for (; i + 4 <= n; i += 4) polar4(o + 2 * i, v4_load(A + i), v4_load(B + i));
  const size_t size = (size_t)(n - i) * sizeof *A;
  memcpy(rest, A + i, size);
  memcpy(rest + 4, B + i, size);
  polar4(rest + 8, v4_load(rest), v4_load(rest + 4));
  memcpy(o + 2 * i, rest + 8, 2 * size);
}
PARTS(polar_d, tl_c128, double, a *cos(b), a *sin(b))
PyObject *pw_parts(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  static const pw_loop loops[2][2] = {{complex_f, complex_d}, {polar_f, polar_d}};
  static const PwParams none;
  PwArg in[2];
  tl_dtype d = (tl_dtype)((TlTensor *)args[0])->dtype, it[2] = {d, d}, to = d == TL_F64 ? TL_C128 : TL_C64;
  if ((d != TL_F32 && d != TL_F64) || ((TlTensor *)args[1])->dtype != d) return TL_FALLBACK();
  if (pw_arg(args[0], &in[0]) || pw_arg(args[1], &in[1])) return NULL;
  return pw_exec(loops[k->id][d == TL_F64], &none, 2, in, it, it, to, to, out);
}
