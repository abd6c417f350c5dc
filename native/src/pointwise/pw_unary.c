/* pw_unary.c: loops of one operand. */
#include "math/cmath.h"
#include "pointwise/pointwise.h"
#include "math/special.h"
#include "math/vdouble.h"

/* F(f, E): the loops f##_i32, f##_f64 ... of an expression E of the element a. UINTS: integers wrap around, by
 * arithmetic in the unsigned type. CZ: complex64 is computed in complex128 too. */
#define INTS(f, E) PW_L1(f##_i32, int32_t, int32_t, E) PW_L1(f##_i64, int64_t, int64_t, E)
#define UINTS(f, E) PW_L1(f##_i32, uint32_t, uint32_t, E) PW_L1(f##_i64, uint64_t, uint64_t, E)
#define FLOATS(f, EF, ED) PW_L1(f##_f32, float, float, EF) PW_L1(f##_f64, double, double, ED)
#define CZ(f, E) TL_SMALL PW_L1(f##_c128, tl_c128, tl_c128, E)
#define DBL(f, E) PW_L1(f##_f64, double, double, E)
/* results are bools */
#define TEST(f, EI, EF, EC) \
  PW_L1(f##_i32, uint8_t, int32_t, EI) PW_L1(f##_i64, uint8_t, int64_t, EI) PW_L1(f##_f32, uint8_t, float, EF) \
  PW_L1(f##_f64, uint8_t, double, EF) PW_L1(f##_c64, uint8_t, tl_c64, EC) PW_L1(f##_c128, uint8_t, tl_c128, EC)
#define TEST_REAL(f, EI, EF) \
  PW_L1(f##_i32, uint8_t, int32_t, EI) PW_L1(f##_i64, uint8_t, int64_t, EI) PW_L1(f##_f32, uint8_t, float, EF) \
  PW_L1(f##_f64, uint8_t, double, EF)

UINTS(u_neg, 0 - a)
FLOATS(u_neg, -a, -a)
/* 0 - z as in PyTorch, which makes no negative zeros. So roots and logarithms of the result take the upper side of the
 * branch cut. */
PW_L1(u_neg_c64, tl_c64, tl_c64, ((tl_c64){0 - a.re, 0 - a.im}))
CZ(u_neg, cz_of(0 - a.re, 0 - a.im))
PW_L1(u_abs_i32, uint32_t, int32_t, a < 0 ? 0u - (uint32_t)a : (uint32_t)a)
PW_L1(u_abs_i64, uint64_t, int64_t, a < 0 ? 0u - (uint64_t)a : (uint64_t)a)
FLOATS(u_abs, fabsf(a), fabs(a))
PW_L1(u_abs_c64, float, tl_c64, (float)hypot(a.re, a.im))
PW_L1(u_abs_c128, double, tl_c128, cz_abs(a))
INTS(u_sign, (a > 0) - (a < 0))
FLOATS(u_sign, (float)((a > 0) - (a < 0)), (double)((a > 0) - (a < 0)))
INTS(u_sgn, (a > 0) - (a < 0))
FLOATS(u_sgn, (float)((a > 0) - (a < 0)), (double)((a > 0) - (a < 0)))
CZ(u_sgn, cz_sgn(a))
UINTS(u_square, a *a)
FLOATS(u_square, a *a, a *a)
PW_L1(u_square_c64, tl_c64, tl_c64, ((tl_c64){a.re * a.re - a.im * a.im, 2 * a.re * a.im}))
CZ(u_square, cz_mul(a, a))
#define WHOLE(f, VF, EF) PW_V1(u_##f##_f32, VF) DBL(u_##f, EF)
WHOLE(ceil, vm_ceil(a), ceil(a))
WHOLE(floor, vm_floor(a), floor(a))
WHOLE(trunc, vm_trunc(a), trunc(a))
WHOLE(round, vm_rint(a), rint(a))
WHOLE(frac, a - vm_trunc(a), a - trunc(a))
/* decimals: p->x = 10^|decimals|, p->i its sign */
FLOATS(u_round_decimals, p->i < 0 ? rintf(a / (float)p->x) * (float)p->x : rintf(a * (float)p->x) / (float)p->x,
       p->i < 0 ? rint(a / p->x) * p->x : rint(a * p->x) / p->x)

/* four lanes in float, libm in double, cmath.h in complex */
#define BEYOND_FLOATS(f) DBL(u_##f, f(a)) CZ(u_##f, cz_##f(a))
#define MATHU(f) PW_V1(u_##f##_f32, vm_##f(a)) BEYOND_FLOATS(f)
#define LOGS(f) PW_V_LONG(u_##f##_f32, vm_##f##_odd(a), vm_##f##_plain(a), vm_##f(a)) BEYOND_FLOATS(f)
#define LIBMU(g) FLOATS(u_##g, g##f(a), g(a)) CZ(u_##g, cz_##g(a))
MATHU(exp)
MATHU(expm1)
LOGS(log)
LOGS(log1p)
MATHU(sin)
MATHU(cos)
MATHU(tanh)
MATHU(sinh)
MATHU(cosh)
MATHU(tan)
static void u_atan_f32(const PwParams *p, void *out, const void *const *in, int64_t n) {
  float ones[64];
  for (int i = 0; i < 64; i++) ones[i] = 1;
  for (int64_t at = 0; at < n; at += 64) {
    const void *two[2] = {(const float *)in[0] + at, ones};
    pw_row_atan2.loops[PW_F32](p, (float *)out + at, two, n - at < 64 ? n - at : 64);
  }
}
DBL(u_atan, atan(a))
CZ(u_atan, cz_atan(a))
LIBMU(sqrt)
MATHU(asin)
MATHU(acos)
LIBMU(asinh)
LIBMU(acosh)
MATHU(atanh)
PW_V1(u_exp2_f32, vm_exp2(a))
DBL(u_exp2, exp2(a))
CZ(u_exp2, cz_exp(cz_scale(a, 0.69314718055994530942)))
PW_V1(u_log2_f32, vm_log2(a))
DBL(u_log2, log2(a))
CZ(u_log2, cz_scale(cz_log(a), 1.4426950408889634074))
PW_V1(u_log10_f32, vm_log10(a))
DBL(u_log10, log10(a))
CZ(u_log10, cz_scale(cz_log(a), 0.43429448190325182765))
FLOATS(u_rsqrt, 1.0f / sqrtf(a), 1.0 / sqrt(a))
CZ(u_rsqrt, cz_rsqrt(a))
FLOATS(u_reciprocal, 1.0f / a, 1.0 / a)
CZ(u_reciprocal, cz_recip(a))
PW_V1(u_sigmoid_f32, vm_sigmoid(a))
DBL(u_sigmoid, 1.0 / (1.0 + exp(-a)))
CZ(u_sigmoid, cz_sigmoid(a))
PW_V1(u_erf_f32, vm_erf(a))
DBL(u_erf, erf(a))
PW_V1(u_erfc_f32, vm_erfc(a))
DBL(u_erfc, erfc(a))
/* r, but for lanes of the mask the function in double */
static __attribute__((noinline)) v4f by_lanes(double (*f)(double), v4f a, v4i mask, v4f r) {
  for (int i = 0; i < 4; i++)
    if (mask[i]) r[i] = (float)f(a[i]);
  return r;
}
static inline v4f erfinv4(v4f a) {
  const v4i odd = ~(v4i)(vm_abs(a) < v4_const(1.0f));
  v4f r = vm_erfinv(a);
  return v4_any(odd) ? by_lanes(sp_erfinv, a, odd, r) : r;
}
PW_V1(u_erfinv_f32, erfinv4(a))
DBL(u_erfinv, sp_erfinv(a))
DBL(u_lgamma, lgamma(a))
DBL(u_digamma, sp_digamma(a))
PW_V1(u_sinc_f32, vm_sinc(a))
DBL(u_sinc, a == 0 ? 1.0 : sin(TL_PI * a) / (TL_PI * a))
CZ(u_sinc, a.re == 0 && a.im == 0 ? cz_of(1, 0) : cz_div(cz_sin(cz_scale(a, TL_PI)), cz_scale(a, TL_PI)))
static inline v4f ndtri4(v4f a) {
  const v4i odd = ~((v4i)(a >= v4_const(0x1p-24f)) & (v4i)(a < v4_const(1.0f)));
  v4f r = vm_ndtri(a);
  return v4_any(odd) ? by_lanes(sp_ndtri, a, odd, r) : r;
}
PW_V1(u_special_ndtri_f32, ndtri4(a))
DBL(u_special_ndtri, sp_ndtri(a))
/* Four floats by the power series in double; each by itself if one is too large for that. */
static double j0_of(double x) { return sp_j(0, x); }
static double j1_of(double x) { return sp_j(1, x); }
static __attribute__((noinline)) v4f bessel_j4(int order, v4f a) {
  const v4i all = {-1, -1, -1, -1};
  if (v4_any(~(v4i)(vm_abs(a) <= v4_const(5.0f)))) return by_lanes(order ? j1_of : j0_of, a, all, a);
  const v4d u = vd_wide(a), s = vd_series(sp_series(order), sp_terms(6), (v4d){u.a * u.a * -0.25, u.b * u.b * -0.25});
  return order ? vd_narrow(u.a * s.a * 0.5, u.b * s.b * 0.5) : vd_narrow(s.a, s.b);
}
static __attribute__((noinline)) v4f bessel_i4(int order, bool scaled, v4f a, double (*each)(double)) {
  const v4i all = {-1, -1, -1, -1};
  const v4f b = vm_abs(a);
  if (v4_any(~(v4i)(b <= v4_const(8.0f)))) return by_lanes(each, a, all, a);
  const v4d u = vd_wide(a), v = vd_wide(b);
  const int n = sp_terms(v4_any((v4i)(b > v4_const(2.0f))) ? 16 : 0);
  v4d s = vd_series(sp_series(order), n, (v4d){u.a * u.a * 0.25, u.b * u.b * 0.25});
  if (order) s = (v4d){u.a * s.a * 0.5 + 0.0, u.b * s.b * 0.5 + 0.0}; /* of -0 0, as in PyTorch */
  if (!scaled) return vd_narrow(s.a, s.b);
  const v4d e = vd_exp2((v4d){v.a * -1.44269504088896340736, v.b * -1.44269504088896340736});
  return vd_narrow(s.a * e.a, s.b * e.b);
}
PW_V1(u_i0_f32, bessel_i4(0, false, a, sp_i0))
DBL(u_i0, sp_i0(a))
PW_V1(u_special_i0e_f32, bessel_i4(0, true, a, sp_i0e))
DBL(u_special_i0e, sp_i0e(a))
PW_V1(u_special_i1_f32, bessel_i4(1, false, a, sp_i1))
DBL(u_special_i1, sp_i1(a))
PW_V1(u_special_i1e_f32, bessel_i4(1, true, a, sp_i1e))
DBL(u_special_i1e, sp_i1e(a))
#define u_special_modified_bessel_i0_f32 u_i0_f32
#define u_special_modified_bessel_i0_f64 u_i0_f64
#define u_special_modified_bessel_i1_f32 u_special_i1_f32
#define u_special_modified_bessel_i1_f64 u_special_i1_f64
DBL(u_special_log_ndtr, sp_log_ndtr(a))
static inline v4f erfcx4(v4f a) {
  const v4i odd = ~((v4i)(a >= v4_const(-9.0f)) & (v4i)(a <= v4_const(11.0f)));
  v4f r = vm_erfcx(a);
  return v4_any(odd) ? by_lanes(sp_erfcx, a, odd, r) : r;
}
PW_V1(u_special_erfcx_f32, erfcx4(a))
DBL(u_special_erfcx, sp_erfcx(a))
static inline double entr(double a) {
  if (a > 0) return -a * log(a);
  if (a == 0) return 0;
  return isnan(a) ? a : -INFINITY;
}
DBL(u_special_entr, entr(a))
PW_V1(u_special_bessel_j0_f32, bessel_j4(0, a))
DBL(u_special_bessel_j0, sp_j(0, a))
PW_V1(u_special_bessel_j1_f32, bessel_j4(1, a))
DBL(u_special_bessel_j1, sp_j(1, a))
DBL(u_special_bessel_y0, sp_y(0, a))
DBL(u_special_bessel_y1, sp_y(1, a))
DBL(u_special_modified_bessel_k0, sp_bessel_k(0, a, false))
DBL(u_special_modified_bessel_k1, sp_bessel_k(1, a, false))
DBL(u_special_scaled_modified_bessel_k0, sp_bessel_k(0, a, true))
DBL(u_special_scaled_modified_bessel_k1, sp_bessel_k(1, a, true))
static inline double spherical_j0(double a) {
  if (isinf(a)) return 0;
  return fabs(a) < 1e-4 ? 1.0 - a * a / 6 : sin(a) / a;
}
DBL(u_special_spherical_bessel_j0, spherical_j0(a))
DBL(u_special_airy_ai, sp_airy_ai(a))
FLOATS(u_deg2rad, a * 0.017453292519943295f, a * 0.017453292519943295)
FLOATS(u_rad2deg, a * 57.29577951308232f, a * 57.29577951308232)
/* bounds x, y: eps and 1 - eps; x < 0: the call gave none */
static double logit1(const PwParams *p, double a) {
  if (p->x >= 0 && a < p->x) a = p->x;
  else if (p->x >= 0 && a > p->y) a = p->y;
  return log(a / (1 - a));
}
static inline v4f logit4(const PwParams *p, v4f a) {
  const v4f low = v4_set1((float)p->x);
  if (p->x >= 0) a = v4_select((v4i)(a < low), low, v4_at_most(a, v4_set1((float)p->y)));
  return vm_log(a / (v4_const(1.0f) - a));
}
PW_V1(u_logit_f32, logit4(p, a))
DBL(u_logit, logit1(p, a))
DBL(u_polygamma, sp_polygamma(p->i, a))
#define PI_BELOW_0(a, pi) ((a) < 0 ? (pi) : 0)
PW_V1(u_angle_f32, (v4f)(((v4i)(a < v4_const(0.0f)) & (v4i)v4_const(3.14159265358979f)) | ((v4i)(a != a) & (v4i)a)))
PW_L1(u_angle_f64, double, double, isnan(a) ? a : PI_BELOW_0(a, TL_PI))
PW_L1(u_angle_c128, double, tl_c128, atan2(a.im, a.re))
INTS(u_conj_physical, a)
FLOATS(u_conj_physical, a, a)
PW_L1(u_conj_physical_c64, tl_c64, tl_c64, ((tl_c64){a.re, -a.im}))
CZ(u_conj_physical, cz_conj(a))
#define BY_SIGN(a, T) (a > 0 ? (T)p->y : (T)p->z)
#define NOT_INF(a, T) (isinf(a) ? BY_SIGN(a, T) : a)
#define NAN_TO_NUM(a, T) (isnan(a) ? (T)p->x : NOT_INF(a, T))
INTS(u_nan_to_num, a)
static inline v4f nan_to_num4(v4f a, const PwParams *p) {
  v4f r = v4_select((v4i)(a == v4_const(INFINITY)), v4_set1((float)p->y), a);
  r = v4_select((v4i)(a == v4_const(-INFINITY)), v4_set1((float)p->z), r);
  return v4_select((v4i)(a == a), r, v4_set1((float)p->x));
}
PW_V_LONG(u_nan_to_num_f32, ~(v4i)(vm_abs(a) < VM_INF), a, nan_to_num4(a, p))
PW_L1(u_nan_to_num_f64, double, double, NAN_TO_NUM(a, double))
PW_L1(u_nan_to_num_c64, tl_c64, tl_c64, ((tl_c64){NAN_TO_NUM(a.re, float), NAN_TO_NUM(a.im, float)}))
PW_L1(u_nan_to_num_c128, tl_c128, tl_c128, ((tl_c128){NAN_TO_NUM(a.re, double), NAN_TO_NUM(a.im, double)}))
TEST(u_logical_not, a == 0, a == 0, a.re == 0 && a.im == 0)
TEST(u_isnan, a & 0, a != a, a.re != a.re || a.im != a.im)
TEST(u_isinf, a & 0, isinf(a), isinf(a.re) || isinf(a.im))
TEST(u_isfinite, (a & 0) == 0, isfinite(a), isfinite(a.re) && isfinite(a.im))
TEST_REAL(u_isposinf, a & 0, isinf(a) && a > 0)
TEST_REAL(u_isneginf, a & 0, isinf(a) && a < 0)
TEST_REAL(u_signbit, a < 0, signbit(a) != 0)
INTS(u_bitwise_not, ~a)

#define ROW(set, name, fn, kind, flags, arity, msg) \
  const PwRow pw_row_##name = {kind, flags, arity, msg, PW_SET_##set(u_##name)};
#include "pointwise/pw_unary.inc"
#undef ROW

/* ---- kernels with more than a row ---- */
static tl_dtype dtype_of(PyObject *o) { return (tl_dtype)((TlTensor *)o)->dtype; }

PyObject *pw_neg(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  if (dtype_of(args[0]) == TL_BOOL) {
    PyErr_SetString(PyExc_RuntimeError,
                    "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a "
                    "mask, use the `~` or `logical_not()` operator instead.");
    return NULL;
  }
  return pw_run(k->data, NULL, 1, args, -1, out);
}

PyObject *pw_square(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  return pw_run(k->data, NULL, 1, args, dtype_of(args[0]) == TL_BOOL ? TL_I64 : -1, out); /* as x ** 2 */
}

PyObject *pw_bitwise_not(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  return pw_run(dtype_of(args[0]) == TL_BOOL ? &pw_row_logical_not : k->data, NULL, 1, args, -1, out);
}

PyObject *pw_round(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  static const PwRow zero_row = {PW_SAME, PW_NO_INT, 1, "round_vml_cpu", PW_SET_F(u_round)},
                     decimals_row = {PW_SAME, PW_NO_INT, 1, "round_cpu", PW_SET_F(u_round_decimals)};
  int64_t dec = 0;
  if (nargs > 1 && tl_int(args[1], &dec) < 0) return NULL;
  if (dec == 0) return pw_run(nargs > 1 ? &zero_row : k->data, NULL, 1, args, -1, out);
  PwParams p = {.x = pow(10.0, fabs((double)dec)), .i = dec};
  return pw_run(&decimals_row, &p, 1, args, -1, out);
}

/* logit(self, eps=None) */
PyObject *pw_logit(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  PwParams p = {.x = -1};
  const tl_dtype d = dtype_of(args[0]);
  if (nargs > 1 && args[1] != Py_None && tl_double(args[1], &p.x) < 0) return NULL;
  p.y = 1 - p.x;
  if (tl_itemsize[d] == 2) p.x = tl_rounded(d, p.x), p.y = tl_rounded(d, p.y);
  return pw_run(k->data, &p, 1, args, -1, out);
}

/* polygamma(n, self) */
PyObject *pw_polygamma(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  PwParams p = {0};
  int self = TL_CHECK(args[0]) ? 0 : 1;
  if (tl_int(args[1 - self], &p.i) < 0) return NULL;
  if (p.i < 0) {
    PyErr_SetString(PyExc_RuntimeError, "polygamma(n, x) does not support negative n.");
    return NULL;
  }
  return pw_run(k->data, &p, 1, args + self, -1, out);
}

/* nan_to_num(self, nan=None, posinf=None, neginf=None) */
PyObject *pw_nan_to_num(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  static const double most[TL_NUM_DTYPES] = {[TL_F16] = 65504.0,
                                             [TL_BF16] = 3.3895313892515355e38,
                                             [TL_F32] = 3.4028234663852886e38,
                                             [TL_F64] = 1.7976931348623157e308};
  double top = most[tl_real_of(dtype_of(args[0]))];
  PwParams p = {.x = 0, .y = top, .z = -top};
  double *to[3] = {&p.x, &p.y, &p.z};
  for (Py_ssize_t i = 1; i < nargs && i < 4; i++)
    if (args[i] != Py_None && tl_double(args[i], to[i - 1]) < 0) return NULL;
  return pw_run(k->data, &p, 1, args, -1, out);
}

/* frexp(self) -> mantissa, int32 exponent */
static int frexp_exponent(double a) {
  int e = 0;
  if (isfinite(a)) frexp(a, &e);
  return e;
}
static double frexp_mantissa(double a) {
  int e;
  return isfinite(a) ? frexp(a, &e) : a;
}
/* of floats by their bits; a small one is made normal first */
static inline int32_t bits_f32(float a) {
  int32_t u;
  const float s = fabsf(a) < 0x1p-126f ? a * 0x1p25f : a;
  memcpy(&u, &s, 4);
  return u;
}
static inline int32_t exponent_f32(float a) {
  const int32_t e = (bits_f32(a) >> 23 & 255) - (fabsf(a) < 0x1p-126f ? 151 : 126);
  return ((a == 0) | !(fabsf(a) < INFINITY)) ? 0 : e;
}
static inline float mantissa_f32(float a) {
  const int32_t u = (bits_f32(a) & (int32_t)0x807fffff) | 0x3f000000;
  float m;
  memcpy(&m, &u, 4);
  return ((a == 0) | !(fabsf(a) < INFINITY)) ? a : m;
}
FLOATS(u_mantissa, mantissa_f32(a), frexp_mantissa(a))
PW_L1(u_exponent_f32, int32_t, float, exponent_f32(a))
PW_L1(u_exponent_f64, int32_t, double, frexp_exponent(a))

PyObject *pw_frexp(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  static const PwRow mantissa_row = {PW_SAME, PW_NO_INT, 1, "frexp", PW_SET_F(u_mantissa)};
  static const PwParams none;
  tl_dtype d = dtype_of(args[0]), it = d == TL_F64 ? TL_F64 : TL_F32;
  if (!tl_is_float(d)) {
    PyErr_SetString(PyExc_RuntimeError, "torch.frexp() only supports floating-point dtypes");
    return NULL;
  }
  PwArg in;
  PyObject *m = pw_run(&mantissa_row, NULL, 1, args, -1, NULL), *e = NULL, *r = NULL;
  if (m && !pw_arg(args[0], &in) &&
      (e = pw_exec(it == TL_F64 ? u_exponent_f64 : u_exponent_f32, &none, 1, &in, &it, &d, TL_I32, TL_I32, NULL)))
    r = PyTuple_Pack(2, m, e);
  Py_XDECREF(m);
  Py_XDECREF(e);
  return r;
}

/* the result of complex numbers is contiguous, whatever their strides */
PyObject *pw_angle(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  const TlTensor *t = (const TlTensor *)args[0];
  TlTensor *own = !out && tl_is_complex(t->dtype) ? tl_empty(tl_real_of(t->dtype), t->ndim, t->shape) : NULL;
  if (own) out = own;
  PyObject *r = PyErr_Occurred() ? NULL : pw_unary(k, args, nargs, out);
  Py_XDECREF((PyObject *)own);
  return r;
}
