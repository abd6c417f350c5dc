/* sampling.c: poisson, binomial and gamma samples by rejection. Poisson: Hoermann's transformed rejection (1993) from
 * rate 10, products of uniforms below; binomial: BTRS (Hoermann 1993) from 10 expected successes, geometric gaps below;
 * gamma: Marsaglia and Tsang (2000). */
#include "random/rng.h"
#include "core/errors.h"
#include <math.h>

__attribute__((noinline)) static double uniform_d(TlGenerator *g) { return tl_uniform_d(g); }

static double poisson(TlGenerator *g, double rate) {
  if (rate >= 10) {
    double root = sqrt(rate), log_rate = log(rate), b = 0.931 + 2.53 * root, a = -0.059 + 0.02483 * b;
    double inv_alpha = 1.1239 + 1.1328 / (b - 3.4), vr = 0.9277 - 3.6224 / (b - 2);
    for (;;) {
      double u = uniform_d(g) - 0.5, v = uniform_d(g), us = 0.5 - fabs(u),
             k = floor((2 * a / us + b) * u + rate + 0.43);
      if (us >= 0.07 && v <= vr) return k;
      if (k < 0 || (us < 0.013 && v > us)) continue;
      if (log(v) + log(inv_alpha) - log(a / (us * us) + b) <= -rate + k * log_rate - lgamma(k + 1)) return k;
    }
  }
  if (rate == 0) return 0;
  {
    double limit = exp(-rate), product = 1, k = 0;
    for (;;) {
      product *= uniform_d(g);
      if (product <= limit) return k;
      k++;
    }
  }
}

/* log(k!) minus Stirling's formula */
static double stirling_tail(double k) {
  static const double small[] = {0.0810614667953272,  0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
                                 0.0166446911898211,  0.0138761288230707, 0.0118967099458917, 0.0104112652619720,
                                 0.00925546218271273, 0.00833056343336287};
  double s;
  if (k <= 9) return small[(int)k];
  s = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / s) / s) / (k + 1);
}

static double binomial_small(TlGenerator *g, double count, double p) {
  double sum = 0, log_q = log1p(-p), k = 0;
  for (;;) {
    sum += ceil(log(uniform_d(g)) / log_q);
    if (sum > count) return k;
    k++;
  }
}

static double binomial_large(TlGenerator *g, double count, double p) {
  double sd = sqrt(count * p * (1 - p)), b = 1.15 + 2.53 * sd, a = -0.0873 + 0.0248 * b + 0.01 * p, c = count * p + 0.5;
  double vr = 0.92 - 4.2 / b, r = p / (1 - p), alpha = (2.83 + 5.1 / b) * sd, m = floor((count + 1) * p);
  for (;;) {
    double u = uniform_d(g) - 0.5, v = uniform_d(g), us = 0.5 - fabs(u), k = floor((2 * a / us + b) * u + c);
    if (us >= 0.07 && v <= vr) return k;
    if (k < 0 || k > count) continue;
    v = log(v * alpha / (a / (us * us) + b));
    if (v <= (m + 0.5) * log((m + 1) / (r * (count - m + 1))) + (count + 1) * log((count - m + 1) / (count - k + 1)) +
               (k + 0.5) * log(r * (count - k + 1) / (k + 1)) + stirling_tail(m) + stirling_tail(count - m) -
               stirling_tail(k) - stirling_tail(count - k))
      return k;
  }
}

static double binomial(TlGenerator *g, double count, double p) {
  if (count != count) return count;
  if (count <= 0 || p <= 0) return 0;
  if (p >= 1) return count;
  if (p <= 0.5) return count * p >= 10 ? binomial_large(g, count, p) : binomial_small(g, count, p);
  if (p != p) return p;
  return count - (count * (1 - p) >= 10 ? binomial_large(g, count, 1 - p) : binomial_small(g, count, 1 - p));
}

/* single: what PyTorch computes in float for a float alpha; its third is a float one for double too. log_scale, when
 * given: the logarithm of a small alpha's factor, which itself may underflow. */
static double gamma_sample(TlGenerator *g, double alpha, int single, double *log_scale) {
  double scale = 1, d, c;
  if (!(alpha >= 0)) return NAN; /* no draw would ever be accepted */
  if (alpha < 1) {
    if (alpha == 0) return 0;
    double u = 1 - uniform_d(g);
    scale = pow(u, single ? (double)(1.0f / (float)alpha) : 1 / alpha);
    if (log_scale) *log_scale = log(u) / alpha;
    alpha = single ? (double)((float)alpha + 1.0f) : alpha + 1;
  }
  d = single ? (double)((float)alpha - 1.0f / 3.0f) : alpha - (double)(1.0f / 3.0f);
  c = 1 / sqrt(9 * d);
  for (;;) {
    double x, y, v, u, xx;
    do {
      x = tl_normal_d(g);
      y = 1 + c * x;
    } while (y <= 0);
    v = y * y * y;
    u = 1 - uniform_d(g);
    xx = x * x;
    if (u < 1 - 0.0331 * xx * xx || log(u) < 0.5 * xx + d * (1 - v + log(v))) return scale * d * v;
  }
}

/* One Dirichlet draw: gamma draws in double over their sum. Where all of them underflow their logarithms decide. log:
 * scratch. */
static void dirichlet_row(TlGenerator *g, const double *alpha, double *x, double *log_scale, int64_t n, double least,
                          double most) {
  double sum = 0, top = -INFINITY;
  for (int64_t i = 0; i < n; i++) {
    log_scale[i] = alpha[i] > 0 ? 0 : -INFINITY;
    x[i] = fmax(gamma_sample(g, alpha[i], 0, log_scale + i), 2.2250738585072014e-308);
    sum += x[i];
    top = fmax(top, log_scale[i]);
  }
  if (sum <= (double)n * 2.2250738585072014e-308 && isfinite(top)) {
    sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] = exp(log_scale[i] - top);
  }
  for (int64_t i = 0; i < n; i++) x[i] = fmin(fmax(x[i] / sum, least), most);
}

/* _sample_dirichlet(self, generator): 0 and 1 themselves are never drawn */
PyObject *tl_k_dirichlet(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out) {
  TlTensor *self = (TlTensor *)a[0], *x = NULL, *r = NULL, *result = NULL;
  TlGenerator *g = tl_generator(a[n - 1]);
  bool single = self->dtype == TL_F32;
  int64_t cols = self->ndim ? self->shape[self->ndim - 1] : 1;
  double *scratch = NULL;
  (void)k;
  (void)out;
  if (!g) return NULL;
  if (!single && self->dtype != TL_F64) return tl_not_implemented("dirichlet", self->dtype);
  if (!(x = tl_contiguous_as(self, TL_F64)) || !(r = tl_empty(TL_F64, self->ndim, self->shape))) goto end;
  if (!(scratch = tl_malloc((uint64_t)cols * sizeof(double)))) goto end;
  for (int64_t i = 0; i < r->numel && !tl_meta; i += cols) {
    dirichlet_row(g, (double *)tl_data(x) + i, (double *)tl_data(r) + i, scratch, cols,
                  single ? 1.1754943508222875e-38 : 2.2250738585072014e-308, single ? 1 - 0x1p-24 : 1 - 0x1p-53);
    if (!(i / cols & 1023) && tl_check_interrupt() < 0) goto end;
  }
  result = tl_cast(r, self->dtype);
end:
  tl_free(scratch);
  TL_DEC(x);
  TL_DEC(r);
  return (PyObject *)result;
}

static double least_positive(tl_dtype d) { /* normal number; bfloat16's is float's */
  if (d == TL_F64) return 2.2250738585072014e-308;
  return d == TL_F16 ? 6.103515625e-05 : 1.1754943508222875e-38;
}

/* poisson(self, generator), binomial(count, prob, generator), _standard_gamma(self, generator) */
PyObject *tl_k_sampled(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out) {
  static const char *const name[] = {"poisson_cpu", "binomial_cpu", "gamma_cpu"};
  TlTensor *self = (TlTensor *)a[0], *x = NULL, *y = NULL, *r = NULL, *result = NULL;
  TlGenerator *g = tl_generator(a[n - 1]);
  (void)out;
  if (!g) return NULL;
  if (!tl_is_float(self->dtype)) {
    if (k->id != TL_BINOMIAL) return tl_not_implemented(name[k->id], self->dtype);
    return PyErr_Format(PyExc_ValueError, "binomial only supports floating-point dtypes for count, got: %s",
                        tl_scalar_type[self->dtype]);
  }
  if (k->id != TL_POISSON && self->dtype != TL_F32 && self->dtype != TL_F64)
    return tl_not_implemented(name[k->id], self->dtype);
  x = tl_contiguous_as(self, TL_F64);
  if (k->id == TL_BINOMIAL && x) {
    TlTensor *prob = (TlTensor *)a[1];
    if (!tl_is_float(prob->dtype)) {
      PyErr_Format(PyExc_ValueError, "binomial only supports floating-point dtypes for prob, got: %s",
                   tl_scalar_type[prob->dtype]);
      goto end;
    }
    if (prob->ndim != self->ndim || memcmp(prob->shape, self->shape, (size_t)self->ndim * sizeof *self->shape)) {
      PyErr_SetString(PyExc_RuntimeError, "binomial: count and prob must have the same shape");
      goto end;
    }
    y = tl_contiguous_as(prob, TL_F64);
  }
  r = x && (k->id != TL_BINOMIAL || y) ? tl_empty(TL_F64, self->ndim, self->shape) : NULL;
  if (!r) goto end;
  for (int64_t i = 0; i < r->numel && !tl_meta; i++) {
    double v = ((double *)tl_data(x))[i], *o = (double *)tl_data(r) + i;
    if (k->id == TL_POISSON) {
      if (!(v >= 0)) {
        PyErr_SetString(PyExc_RuntimeError, "invalid Poisson rate, expected rate to be non-negative");
        goto end;
      }
      *o = poisson(g, v);
    } else if (k->id == TL_BINOMIAL) *o = binomial(g, v, ((double *)tl_data(y))[i]);
    else {
      const double least = least_positive(self->dtype);
      *o = gamma_sample(g, v, self->dtype == TL_F32, NULL);
      if (*o < least) *o = least;
    }
    if (!(i & 4095) && tl_check_interrupt() < 0) goto end;
  }
  result = tl_cast(r, self->dtype);
end:
  TL_DEC(x);
  TL_DEC(y);
  TL_DEC(r);
  return (PyObject *)result;
}
