/* pw_activation.c: activation functions and their gradients. Numbers of the call reach the loops as p->x, p->y, p->z in
 * the order of the schema. */
#include "math/cmath.h"
#include "pointwise/pointwise.h"
#include "math/vmath.h"

#define REALS1(f, E) \
  PW_L1(f##_i32, int32_t, int32_t, E(int32_t)) PW_L1(f##_i64, int64_t, int64_t, E(int64_t)) \
      PW_L1(f##_f32, float, float, E(float)) \
  PW_L1(f##_f64, double, double, E(double))
#define F1(f, E) PW_L1(f##_f32, float, float, E(float)) PW_L1(f##_f64, double, double, E(double))
#define F2(f, E) PW_L2(f##_f32, float, float, E(float)) PW_L2(f##_f64, double, double, E(double))
#define REALS2(f, E) PW_L2(f##_i32, int32_t, int32_t, E(int32_t)) PW_L2(f##_i64, int64_t, int64_t, E(int64_t)) F2(f, E)
#define VX v4_const((float)p->x)
#define VY v4_const((float)p->y)
#define V(c) v4_const(c)
#define SEL(m, a, b) v4_select((v4i)(m), a, b)

/* NaN passes through all of these */
#define RELU(T) a < 0 ? 0 : a
#define THRESHOLD(T) a <= (T)p->x ? (T)p->y : a
#define AT_MOST(a, high) ((a) > (high) ? (high) : (a))
#define HARDTANH(T) a < (T)p->x ? (T)p->x : AT_MOST(a, (T)p->y)
#define LEAKY(T) a > 0 ? a : a * (T)p->x
#define CLAMP6(a) ((a) + 3 < 0 ? 0 : AT_MOST((a) + 3, 6))
#define HARDSWISH(T) a * CLAMP6(a) / 6
#define HARDSIGMOID(T) CLAMP6(a) / 6
#define ZERO_OR_NAN(a) ((a) == (a) ? 0 : (a))
#define SOFTSHRINK_LOW(T) (a < -(T)p->x ? a + (T)p->x : ZERO_OR_NAN(a))
#define SOFTSHRINK(T) a > (T)p->x ? a - (T)p->x : SOFTSHRINK_LOW(T)
#define HARDSHRINK(T) ((a >= -(T)p->x) & (a <= (T)p->x)) ? 0 : a
REALS1(a_relu, RELU)
REALS1(a_threshold, THRESHOLD)
PW_L1(a_hardtanh_i32, int32_t, int32_t, HARDTANH(int32_t))
PW_L1(a_hardtanh_i64, int64_t, int64_t, HARDTANH(int64_t))
PW_V1(a_hardtanh_f32, v4_at_most(v4_at_least(a, VX), VY))
PW_L1(a_hardtanh_f64, double, double, HARDTANH(double))
F1(a_leaky_relu, LEAKY)
#define PRELU(T) a > 0 ? a : a * b
F2(a_prelu, PRELU)
F1(a_hardswish, HARDSWISH)
F1(a_hardsigmoid, HARDSIGMOID)
static inline v4f softshrink4(v4f a, v4f l) { /* at most one of the three is not 0 */
  return (v4f)(((v4i)(a > l) & (v4i)(a - l)) | ((v4i)(a < -l) & (v4i)(a + l)) | ((v4i)(a != a) & (v4i)a));
}
PW_V1(a_softshrink_f32, softshrink4(a, VX))
PW_L1(a_softshrink_f64, double, double, SOFTSHRINK(double))
F1(a_hardshrink, HARDSHRINK)

/* ---- gelu: x times the normal distribution function of x, or its approximation by tanh ---- */
#define SQRT1_2 0.70710678118654752440
#define INV_SQRT_2PI 0.39894228040143267794
#define SQRT_2_PI 0.79788456080286535588
static inline double cdf1(double a) { return 0.5 * erfc(-a * SQRT1_2); } /* 1 + erf loses what is far below 0 */
static inline v4f tanh_arg4(v4f a) { return V((float)SQRT_2_PI) * v4_madd(a * a * a, V(0.044715f), a); }
static inline double tanh_arg1(double a) { return SQRT_2_PI * (a + 0.044715 * a * a * a); }
/* x or 0, less |x| times the distribution function from the nearer side; that of -infinity is NaN, as in PyTorch */
static inline v4f gelu4(v4f x) {
  v4f b = v4_at_least(-x, v4_at_most(x, V(VM_NORMAL_END))), a = v4_at_most(b, V(VM_NORMAL_END));
  return v4_madd(b * vm_normal_exp(a), vm_normal_body(a) - V(0.5f), v4_at_least(x, V(-0.0f)));
}
PW_V1(a_gelu_f32, gelu4(a))
PW_L1(a_gelu_f64, double, double, a *cdf1(a))
/* 0.5 (1 + tanh(t)) is sigmoid(2t) */
PW_V1(a_gelu_tanh_f32, a *vm_sigmoid(V(2.0f) * tanh_arg4(a)))
PW_L1(a_gelu_tanh_f64, double, double, 0.5 * a * (1 + tanh(tanh_arg1(a))))
static inline v4f gelu_grad4(v4f x) { /* 1 + g for positive x, else 0 - g */
  v4f b = vm_abs(x), a = v4_at_most(b, V(VM_NORMAL_END));
  v4f g = vm_normal_exp(a) * v4_madd(V((float)INV_SQRT_2PI), b, vm_normal_body(a) - V(0.5f));
  return (v4f)(~((v4i)x >> 31) & (v4i)V(1.0f)) + (v4f)((v4i)g ^ vm_sign(x));
}
PW_V2(a_gelu_backward_f32, a *gelu_grad4(b))
PW_L2(a_gelu_backward_f64, double, double, a *(cdf1(b) + b * INV_SQRT_2PI * exp(-0.5 * b * b)))
static inline v4f gelu_tanh_grad4(v4f b) {
  v4f s = vm_sigmoid(V(2.0f) * tanh_arg4(b)), d = V((float)SQRT_2_PI) * v4_madd(b * b, V(0.134145f), V(1.0f));
  return s + V(2.0f) * b * s * (V(1.0f) - s) * d;
}
static inline double gelu_tanh_grad1(double b) {
  double s = 1 / (1 + exp(-2 * tanh_arg1(b))), d = SQRT_2_PI * (1 + 3 * 0.044715 * b * b);
  return s + 2 * b * s * (1 - s) * d;
}
PW_V2(a_gelu_tanh_backward_f32, a *gelu_tanh_grad4(b))
PW_L2(a_gelu_tanh_backward_f64, double, double, a *gelu_tanh_grad1(b))

/* ---- functions of exp ---- */
#define SIG1(x) (1 / (1 + exp(-(x))))
PW_V1(a_silu_f32, a *V(0.5f) / (V(0.5f) + vm_half_exp_minus(a)))
PW_L1(a_silu_f64, double, double, a / (1 + exp(-a)))
PW_L1(a_silu_c128, tl_c128, tl_c128, cz_div(a, cz_add(cz_of(1, 0), cz_exp(cz_neg(a)))))
static inline v4f silu_grad4(v4f x) {
  v4f s = vm_sigmoid(x);
  return s * v4_madd(x, V(1.0f) - s, V(1.0f));
}
static inline double silu_grad1(double x) {
  double s = SIG1(x);
  return s * (1 + x * (1 - s));
}
static inline cz silu_gradc(cz x) {
  cz s = cz_sigmoid(x), o = cz_of(1, 0);
  return cz_mul(s, cz_add(o, cz_mul(x, cz_sub(o, s))));
}
PW_V2(a_silu_backward_f32, a *silu_grad4(b))
PW_L2(a_silu_backward_f64, double, double, a *silu_grad1(b))
PW_L2(a_silu_backward_c128, tl_c128, tl_c128, cz_mul(a, silu_gradc(b)))

/* x: alpha, y: scale, z: input_scale, c.re: self_or_result is the result */
PW_V1(a_elu_f32, VY *SEL(a > V(0.0f), a, VX *vm_expm1(a *V((float)p->z))))
PW_L1(a_elu_f64, double, double, p->y *(a > 0 ? a : p->x * expm1(a * p->z)))
static inline v4f elu_grad4(const PwParams *p, v4f b) {
  float k = (float)(p->x * p->y), zi = (float)p->z;
  v4f neg = p->c.re != 0 ? V(zi) * (b + V(k)) : V(zi * k) * vm_exp(b * V(zi));
  return SEL(b <= V(0.0f), neg, VY); /* NaN counts as positive */
}
static inline double elu_grad1(const PwParams *p, double b) {
  double k = p->x * p->y;
  if (!(b <= 0)) return p->y;
  return p->c.re != 0 ? p->z * (b + k) : p->z * k * exp(b * p->z);
}
PW_V2(a_elu_backward_f32, a *elu_grad4(p, b))
PW_L2(a_elu_backward_f64, double, double, a *elu_grad1(p, b))

/* x: beta, y: threshold */
static inline v4f softplus4(const PwParams *p, v4f a) {
  /* beyond 80 nothing is left of the 1; from where exp overflows on it is infinite, as in PyTorch */
  const v4f t = a * VX, large = SEL(t > V(88.72284f), VM_INF, t);
  const v4f r = SEL(t > V(80.0f), large, vm_log1p_plain(vm_exp(v4_at_most(t, V(80.0f)))));
  return SEL(t > VY, a, r / VX);
}
PW_V1(a_softplus_f32, softplus4(p, a))
PW_L1(a_softplus_f64, double, double, a * p->x > p->y ? a : log1p(exp(a * p->x)) / p->x)
PW_V2(a_softplus_backward_f32, SEL(b *VX > VY, a, a *vm_sigmoid(b *VX)))
PW_L2(a_softplus_backward_f64, double, double, b * p->x > p->y ? a : a * SIG1(b * p->x))

/* tanh(log(1 + e^x)) = (e^2x + 2 e^x) / (e^2x + 2 e^x + 2) */
static inline v4f mish_gate4(v4f x) {
  v4f e = vm_exp(vm_clamp(x, -104.0f, 20.0f)), n = e * (e + V(2.0f));
  return n / (n + V(2.0f));
}
static inline double mish_gate1(double x) {
  double e = exp(x > 40 ? 40 : x), n = e * (e + 2);
  return n / (n + 2);
}
PW_V1(a_mish_f32, a *mish_gate4(a))
PW_L1(a_mish_f64, double, double, a *mish_gate1(a))
static inline v4f mish_grad4(v4f x) {
  v4f w = mish_gate4(x);
  return w + x * vm_sigmoid(x) * (V(1.0f) - w * w);
}
static inline double mish_grad1(double x) {
  double w = mish_gate1(x);
  return w + x * SIG1(x) * (1 - w * w);
}
PW_V2(a_mish_backward_f32, a *mish_grad4(b))
PW_L2(a_mish_backward_f64, double, double, a *mish_grad1(b))
PW_V1(a_log_sigmoid_f32, v4_at_most(a, V(0.0f)) - vm_log1p_unit(vm_exp(-vm_abs(a))))
PW_L1(a_log_sigmoid_f64, double, double, (a < 0 ? a : 0) - log1p(exp(-fabs(a))))
PW_V2(a_log_sigmoid_backward_f32, a *vm_sigmoid(-b))
PW_L2(a_log_sigmoid_backward_f64, double, double, a *SIG1(-b))

/* ---- gradients of the piecewise linear ones: a is the output's gradient, b the input ---- */
#define D_THRESHOLD(T) b <= (T)p->x ? 0 : a
#define D_LEAKY(T) b > 0 ? a : a * (T)p->x
#define D_HARDTANH(T) ((b <= (T)p->x) | (b >= (T)p->y)) ? 0 : a
#define D_HARDSWISH_HIGH(T) (b < 3 ? a * (b / 3 + (T)0.5) : a)
#define D_HARDSWISH(T) b <= -3 ? 0 : D_HARDSWISH_HIGH(T)
/* PyTorch has a float of 1/6 for doubles too */
#define D_HARDSIGMOID(T) ((b > -3) & (b < 3)) ? a * (T)(1.0f / 6.0f) : 0
#define D_SHRINK(T) ((b >= -(T)p->x) & (b <= (T)p->x)) ? 0 : a
REALS2(a_threshold_backward, D_THRESHOLD)
F2(a_leaky_relu_backward, D_LEAKY)
F2(a_hardtanh_backward, D_HARDTANH)
F2(a_hardswish_backward, D_HARDSWISH)
F2(a_hardsigmoid_backward, D_HARDSIGMOID)
F2(a_shrink_backward, D_SHRINK)
/* x, y: the bounds eps and 1 - eps, x below 0 for none; -0 counts as 0, which b + 0 makes of it */
#define D_LOGIT_OR(T, outside, low, high) (b < (low) || b > (high) ? (outside) : a / ((b + 0) * (1 - b)))
#define D_LOGIT(T) p->x < 0 ? D_LOGIT_OR(T, (T)NAN, 0, 1) : D_LOGIT_OR(T, 0, (T)p->x, (T)p->y)
F2(a_logit_backward, D_LOGIT)
/* from the result */
#define D_SIGMOID(T) a * (1 - b) * b
#define D_TANH(T) a * (1 - b * b)
F2(a_sigmoid_backward, D_SIGMOID)
F2(a_tanh_backward, D_TANH)
PW_L2(a_sigmoid_backward_c128, tl_c128, tl_c128, cz_mul(a, cz_conj(cz_mul(cz_sub(cz_of(1, 0), b), b))))
PW_L2(a_tanh_backward_c128, tl_c128, tl_c128, cz_mul(a, cz_conj(cz_sub(cz_of(1, 0), cz_mul(b, b)))))

#define ROW(set, name, fn, kind, flags, arity, msg) \
  const PwRow pw_row_##name = {kind, flags, arity, msg, PW_SET_##set(a_##name)};
#include "pointwise/pw_activation.inc"
#undef ROW

/* what the numbers of a call are converted to: float beside halves, where the function is one of floats only */
static tl_dtype number_dtype(const PwRow *row, const TlTensor *x) {
  return row->flags & PW_NO_INT && tl_is_float(x->dtype) ? tl_compute[x->dtype] : (tl_dtype)x->dtype;
}

/* tensors in order are the operands, numbers in order the parameters; 1: the string argument is "tanh" */
static int split_args(const PwRow *row, PyObject *const *args, Py_ssize_t nargs, PyObject **tensors, PwParams *p) {
  double *to[] = {&p->x, &p->y, &p->z, &p->c.re, &p->c.im};
  int nt = 0, np = 0, approx = 0;
  for (Py_ssize_t i = 0; i < nargs; i++) {
    PyObject *o = args[i];
    if (PyUnicode_Check(o)) {
      if (PyUnicode_CompareWithASCIIString(o, "tanh") == 0) approx = 1;
      else if (PyUnicode_CompareWithASCIIString(o, "none")) {
        PyErr_SetString(PyExc_RuntimeError, "approximate argument must be either none or tanh.");
        return -1;
      }
    } else if (TL_CHECK(o) && nt < row->arity) tensors[nt++] = o;
    else if (!(row->flags & PW_DOUBLES) && nt && tl_check_room(o, number_dtype(row, (TlTensor *)tensors[0])) < 0)
      return -1;
    else if (o != Py_None && np < 5 && tl_double(o, to[np++]) < 0) return -1;
  }
  return approx;
}

PyObject *pw_act(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  PwParams p = {0};
  PyObject *tensors[PW_MAX_IN] = {0};
  const PwRow *row = k->data;
  if (split_args(row, args, nargs, tensors, &p) < 0) return NULL;
  const tl_dtype d = (tl_dtype)((TlTensor *)tensors[0])->dtype;
  if (row->flags & PW_ROUNDED && tl_itemsize[d] == 2) p.x = tl_rounded(d, p.x);
  return pw_run(row, &p, row->arity, tensors, -1, out);
}

/* forward, the result is contiguous; backward, it has grad's layout */
PyObject *pw_log_sigmoid(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  bool forward = ((const PwRow *)k->data)->arity == 1;
  TlTensor *x = (TlTensor *)args[0], *to = out ? (TlTensor *)Py_NewRef((PyObject *)out) : NULL;
  if (!to && !tl_is_contiguous(x))
    to = forward ? tl_empty(x->dtype, x->ndim, x->shape) : tl_empty_preserved(TL_CPU, x, x->dtype);
  PyObject *r = !to && PyErr_Occurred() ? NULL : pw_act(k, args, nargs, to);
  Py_XDECREF((PyObject *)to);
  return r;
}

PyObject *pw_gelu(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  static const PwRow tanh_row = {PW_SAME, PW_NO_INT, 1, "GeluKernelImpl", PW_SET_F(a_gelu_tanh)};
  static const PwRow tanh_backward_row = {PW_SAME, PW_NO_INT, 2, "GeluBackwardKernelImpl",
                                          PW_SET_F(a_gelu_tanh_backward)};
  PwParams p = {0};
  PyObject *tensors[PW_MAX_IN] = {0};
  const PwRow *row = k->data;
  int approx = split_args(row, args, nargs, tensors, &p);
  if (approx < 0) return NULL;
  if (approx) row = row->arity == 1 ? &tanh_row : &tanh_backward_row;
  return pw_run(row, &p, row->arity, tensors, -1, out);
}

/* logit_backward(grad_output, self, eps=None) */
PyObject *pw_logit_backward(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  PwParams p = {.x = -1};
  if (nargs > 2 && args[2] != Py_None && tl_double(args[2], &p.x) < 0) return NULL;
  const tl_dtype d = (tl_dtype)((TlTensor *)args[1])->dtype;
  p.x = tl_rounded(d, p.x);
  p.y = tl_rounded(d, 1 - p.x);
  return pw_run(k->data, &p, 2, args, -1, out);
}

PyObject *pw_relu(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  if (((TlTensor *)args[0])->dtype == TL_BOOL) {
    PyErr_SetString(PyExc_RuntimeError, "Boolean inputs not supported for relu");
    return NULL;
  }
  return pw_run(k->data, NULL, 1, args, -1, out);
}

PyObject *pw_hardtanh(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  tl_dtype d = ((TlTensor *)args[0])->dtype;
  double lo = -1, hi = 1;
  if (d == TL_BOOL) {
    PyErr_SetString(PyExc_RuntimeError, "Bool inputs not supported for hardtanh");
    return NULL;
  }
  for (int i = 1; i < 3 && i < nargs; i++)
    if (tl_double(args[i], i == 1 ? &lo : &hi) < 0) return NULL;
  if (d == TL_U8 && (lo < 0 || hi < 0)) {
    PyErr_SetString(PyExc_RuntimeError, "cannot do hardtanh on an unsigned type with negative limits");
    return NULL;
  }
  for (int i = 1; i < 3 && i < nargs; i++)
    if (tl_check_room(args[i], d) < 0) return NULL;
  if (!(lo <= hi)) return TL_FALLBACK(); /* clamp's: the upper bound, or NaN */
  return pw_act(k, args, nargs, out);
}

/* of one dtype: the body has the error for two */
PyObject *pw_prelu(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  if (((TlTensor *)args[0])->dtype != ((TlTensor *)args[1])->dtype) return TL_FALLBACK();
  return pw_binary(k, args, nargs, out);
}
