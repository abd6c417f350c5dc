/* random.c: the kernels of distributions: their arguments, PyTorch's checks of these, and a fill. */
#include "core/geometry.h"
#include "core/errors.h"
#include "random/draws.h"
#include <math.h>

enum { GENERATOR_TYPE, SET_DEFAULT };
enum { RAND, RANDN };
enum { RANDOM, RANDOM_TO, RANDOM_FROM };
enum { EXPONENTIAL, GEOMETRIC, CAUCHY, LOG_NORMAL };

static PyObject *number_error(const char *format, double v) {
  PyObject *text = NULL;
  char *s = PyOS_double_to_string(v, 'g', 6, 0, NULL);
  if (s) text = PyUnicode_FromFormat(format, s);
  PyMem_Free(s);
  if (text) PyErr_SetObject(PyExc_RuntimeError, text);
  Py_XDECREF(text);
  return NULL;
}

static PyObject *done(int rc, PyObject *self) { return rc < 0 ? NULL : Py_NewRef(self); }

/* t, or a complex t as pairs of reals */
static TlTensor *as_real(TlTensor *t) {
  int64_t shape[TL_MAX_DIMS], strides[TL_MAX_DIMS];
  TlTensor *v;
  if (!tl_is_complex(t->dtype) || t->ndim + 1 > TL_MAX_DIMS) return TL_INC(t);
  for (int d = 0; d < t->ndim; d++) {
    shape[d] = t->shape[d];
    strides[d] = tl_wrap_mul(2, t->strides[d]);
  }
  shape[t->ndim] = 2;
  strides[t->ndim] = 1;
  v = tl_view(t, t->ndim, t->shape, t->strides, t->offset);
  if (!v) return NULL;
  v->dtype = (uint8_t)tl_real_of(t->dtype);
  {
    TlTensor *r = tl_view(v, t->ndim + 1, shape, strides, tl_wrap_mul(2, t->offset));
    TL_DEC(v);
    return r;
  }
}

static PyObject *k_uniform(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out) {
  TlTensor *self = (TlTensor *)a[0], *t;
  TlDist p = {0};
  int rc;
  (void)k;
  (void)n;
  (void)out;
  if (tl_double(a[1], &p.a) < 0 || tl_double(a[2], &p.b) < 0) return NULL;
  if (tl_is_integral(self->dtype)) return tl_not_implemented("check_uniform_bounds", self->dtype);
  if (tl_real_of(self->dtype) != TL_F64) {
    double top = self->dtype == TL_F16 ? 65504.0 : 3.40282346638528859811704183484516925e38;
    const char *kind = tl_real_of(self->dtype) == TL_F32 ? "float" : tl_cpp_type[self->dtype];
    if (!(fabs(p.a) <= top) || !(fabs(p.b) <= top)) {
      PyErr_Format(PyExc_RuntimeError, "%s is out of bounds for %s", fabs(p.a) <= top ? "to" : "from", kind);
      return NULL;
    }
  }
  if (p.a > p.b) {
    char *x = PyOS_double_to_string(p.a, 'g', 6, 0, NULL), *y = PyOS_double_to_string(p.b, 'g', 6, 0, NULL);
    if (x && y)
      PyErr_Format(PyExc_RuntimeError, "uniform_ expects to return a [from, to) range, but found from=%s > to=%s", x,
                   y);
    PyMem_Free(x);
    PyMem_Free(y);
    return NULL;
  }
  p.fa = (float)p.a;
  p.fb = (float)p.b;
  if (!(t = as_real(self))) return NULL;
  rc = tl_fill_drawn(t, tl_generator(a[3]), &p, tl_draw_uniform);
  TL_DEC(t);
  return done(rc, a[0]);
}

static PyObject *k_normal(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out) {
  TlTensor *self = (TlTensor *)a[0], *t;
  TlDist p = {0};
  int rc;
  (void)k;
  (void)n;
  (void)out;
  if (tl_double(a[1], &p.a) < 0 || tl_double(a[2], &p.b) < 0) return NULL;
  if (!(p.b >= 0)) return number_error("normal expects std >= 0.0, but found std %s", p.b);
  if (tl_is_integral(self->dtype)) return tl_not_implemented("normal_kernel_cpu", self->dtype);
  if (tl_is_complex(self->dtype)) p.b /= sqrt(2.0);
  if (!(t = as_real(self))) return NULL;
  rc = tl_fill_normal(t, tl_generator(a[3]), &p);
  TL_DEC(t);
  return done(rc, a[0]);
}

/* rand(size, generator, dtype, ...), randn */
static PyObject *k_rand(const TlKernel *k, PyObject *const *a, Py_ssize_t n_, TlTensor *out) {
  int64_t shape[TL_MAX_DIMS];
  TlDist p = {0};
  TlTensor *r, *t;
  tl_dtype d;
  int n, rc;
  (void)n_;
  (void)out;
  if (tl_ints(a[0], shape, &n) < 0 || tl_dtype_arg(a[2], tl_default_dtype, &d) < 0) return NULL;
  for (int i = 0; i < n; i++)
    if (shape[i] < 0) return tl_negative_size_error(shape[i], n, shape), NULL;
  const bool normal = k->id == RANDN;
  if (tl_is_integral(d)) return tl_not_implemented(normal ? "normal_kernel_cpu" : "check_uniform_bounds", d);
  if (!(r = tl_empty(d, n, shape))) return NULL;
  p.b = p.fb = 1;
  if (normal && tl_is_complex(d)) p.b /= sqrt(2.0);
  if (!(t = as_real(r))) rc = -1;
  else if (normal) rc = tl_fill_normal(t, tl_generator(a[1]), &p);
  else rc = tl_fill_drawn(t, tl_generator(a[1]), &p, tl_draw_uniform);
  TL_DEC(t);
  if (rc < 0) TL_CLEAR(r);
  return (PyObject *)r;
}

/* The nearest integer, from v on in the direction of `step` (1 or -1), that dtype d represents; as PyTorch finds it. */
static int64_t representable(int64_t v, int step, tl_dtype d, int digits) {
  int64_t moved = tl_wrap_add(v, step);
  double next = (double)moved;
  int64_t w = (int64_t)(d == TL_F64 ? next : (double)(float)next);
  uint64_t m = moved < 0 ? 0 - (uint64_t)moved : (uint64_t)moved;
  int n = 0;
  if (d == TL_F16 || d == TL_BF16) {
    uint16_t h;
    float f = (float)next;
    tl_cast_contig(d, &h, TL_F32, &f, 1);
    tl_cast_contig(TL_F32, &f, d, &h, 1);
    w = (int64_t)f;
  }
  if (step > 0 ? w >= v : w < v) return v;
  while (m >>= 1) n++;
  return tl_wrap_add(w, step * (INT64_C(1) << (n - digits + 1)));
}

/* of random_, by dtype up to double: the least and the largest bound, the largest value by default, and of floats the
 * binary digits; these hold all integers up to 2^digits */
static const double least[] = {0,
                               0,
                               -128,
                               -32768,
                               -2147483648.0,
                               -9223372036854775808.0,
                               -65504,
                               -3.3895313892515355e38,
                               -3.4028234663852886e38,
                               -1.7976931348623157e308};
static const double largest[] = {1,
                                 255,
                                 127,
                                 32767,
                                 2147483647.0,
                                 9223372036854775807.0,
                                 65504,
                                 3.3895313892515355e38,
                                 3.4028234663852886e38,
                                 1.7976931348623157e308};
static const int64_t top[] = {1, 255, 127, 32767, 2147483647, INT64_MAX, 2048, 256, 16777216, INT64_C(1) << 53};
static const int digits[] = {0, 0, 0, 0, 0, 0, 11, 8, 24, 53};

static int only_reals(const char *name) {
  PyErr_Format(PyExc_RuntimeError, "%s handles only integral, floating-point and boolean types", name);
  return -1;
}
static int check_bound(const char *name, tl_dtype d, int64_t v) {
  if ((double)v < least[d] || (double)v > largest[d]) {
    PyErr_Format(PyExc_RuntimeError, "%s is out of bounds for %s", name, tl_cpp_type[d]);
    return -1;
  }
  return 0;
}
static int warn_of_bound(const char *name, tl_dtype d, int64_t v) {
  const int64_t edge = INT64_C(1) << digits[d];
  if (v >= -edge && v <= edge) return 0;
  return PyErr_WarnFormat(PyExc_UserWarning, 1,
                          "%s is out of bounds [-(2^%d), 2^%d]. Due to precision limitations %s can support discrete "
                          "uniform distribution only within this range. "
                          "This warning will become an error in version 1.7 release, please fix the code in advance",
                          name, digits[d], digits[d], tl_cpp_type[d]);
}

/* from, up to and including the dtype's largest value */
static int range_to_top(TlDist *p, tl_dtype d, int64_t from) {
  if (from == INT64_MIN) { /* all integers of 64 bits */
    p->whole = true;
    if (d == TL_I64 || d == TL_F64 || d == TL_F32 || d == TL_BF16) return 0;
    const char *kernel = "random_full_64_bits_range_kernel_cpu";
    if (d == TL_BOOL || d == TL_F16 || tl_is_complex(d)) tl_not_implemented(kernel, d);
    else PyErr_Format(PyExc_RuntimeError, "%s handles only int64, double, float and bfloat16", kernel);
    return -1;
  }
  if (tl_is_complex(d)) return only_reals("random_from_to_impl");
  if (digits[d]) from = representable(from, 1, d, digits[d]);
  if (check_bound("from", d, from) < 0) return -1;
  if (from >= top[d] && digits[d]) {
    PyErr_Format(PyExc_RuntimeError,
                 "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' casted to dtype, but "
                 "got from=%lld > to_inc=%lld",
                 (long long)from, (long long)top[d]);
    return -1;
  }
  if (digits[d] && warn_of_bound("from", d, from) < 0) return -1;
  p->base = from;
  p->range = (uint64_t)top[d] - (uint64_t)from + 1;
  return 0;
}

/* from up to, not including, to */
static int range_between(TlDist *p, tl_dtype d, int64_t from, int64_t to) {
  if (from >= to) {
    PyErr_Format(PyExc_RuntimeError, "random_ expects 'from' to be less than 'to', but got from=%lld >= to=%lld",
                 (long long)from, (long long)to);
    return -1;
  }
  if (tl_is_complex(d)) return only_reals("check_random_bounds");
  if (check_bound("from", d, from) < 0 || check_bound("to - 1", d, to - 1) < 0) return -1;
  if (digits[d]) {
    if (warn_of_bound("from", d, from) < 0 || warn_of_bound("to - 1", d, to - 1) < 0) return -1;
    from = representable(from, 1, d, digits[d]);
    to = representable(to, -1, d, digits[d]);
    if (from >= to) to = from + 1; /* one number between them */
  }
  p->base = from;
  p->range = (uint64_t)to - (uint64_t)from;
  return 0;
}

/* random_(self, generator); random_to(self, to, generator); random_from(self, from, to or None, generator) */
static PyObject *k_random(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out) {
  TlTensor *self = (TlTensor *)a[0];
  int64_t from = 0, to = 0;
  TlDist p = {0};
  tl_dtype d = self->dtype;
  int rc;
  (void)out;
  TlGenerator *g = tl_generator(a[n - 1]);
  if (!g) return NULL;
  if (k->id == RANDOM && tl_is_complex(d)) return tl_not_implemented("random_kernel_cpu", d);
  if (k->id == RANDOM) return done(tl_fill_drawn(self, g, &p, tl_draw_default), a[0]);
  if (tl_int(a[1], k->id == RANDOM_TO ? &to : &from) < 0) return NULL;
  if (k->id == RANDOM_FROM && a[2] == Py_None) rc = range_to_top(&p, d, from);
  else if (k->id == RANDOM_FROM && tl_int(a[2], &to) < 0) rc = -1;
  else rc = range_between(&p, d, from, to);
  return done(rc < 0 ? rc : tl_fill_drawn(self, g, &p, tl_draw_integer), a[0]);
}

/* bernoulli_(self, p: float or Tensor, generator): float draws for a float p tensor, double ones otherwise */
static PyObject *k_bernoulli(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out) {
  TlTensor *self = (TlTensor *)a[0], *pt, *e = NULL, *tmp = NULL;
  TlGenerator *g = tl_generator(a[2]);
  TlDist p = {0};
  int rc = -1;
  (void)k;
  (void)n;
  (void)out;
  if (!g) return NULL;
  if (!TL_CHECK(a[1])) {
    if (tl_double(a[1], &p.a) < 0) return NULL;
    if (!(p.a >= 0 && p.a <= 1)) return number_error("bernoulli_ expects p to be in [0, 1], but got p=%s", p.a);
    if (tl_is_complex(self->dtype)) return tl_not_implemented("bernoulli_scalar_cpu_", self->dtype);
    p.b = 1;
    return done(tl_fill_drawn(self, g, &p, tl_draw_bernoulli), a[0]);
  }
  pt = (TlTensor *)a[1];
  if (!tl_is_float(pt->dtype)) return tl_not_implemented("bernoulli_tensor_cpu_p_", pt->dtype);
  {
    int64_t shape[TL_MAX_DIMS], strides[TL_MAX_DIMS], sstrides[TL_MAX_DIMS];
    int nd, perm[TL_MAX_DIMS];
    TlTensor *v;
    double y[TL_CHUNK];
    int wide = pt->dtype == TL_F64;
    if (tl_broadcast(self->ndim, self->shape, pt->ndim, pt->shape, &nd, shape) < 0) return NULL;
    if (nd != self->ndim || memcmp(shape, self->shape, (size_t)nd * sizeof *shape)) {
      PyErr_Format(PyExc_RuntimeError, "The expanded size of the tensor must match the existing size: %s and %s",
                   tl_fmt_shape(self->ndim, self->shape), tl_fmt_shape(pt->ndim, pt->shape));
      return NULL;
    }
    tl_memory_order(self, perm);
    for (int i = 0; i < nd; i++) {
      int j = perm[i] - (nd - pt->ndim);
      shape[i] = self->shape[perm[i]];
      sstrides[i] = self->strides[perm[i]];
      strides[i] = j >= 0 && pt->shape[j] == shape[i] ? pt->strides[j] : 0;
    }
    if (!(v = tl_view(pt, nd, shape, strides, pt->offset))) return NULL;
    e = tl_contiguous_as(v, wide ? TL_F64 : TL_F32);
    TL_DEC(v);
    tmp = e ? tl_empty(self->dtype, nd, shape) : NULL;
    if (!tmp) goto end;
    for (int64_t at = 0; at < e->numel && !tl_meta; at += TL_CHUNK) {
      int64_t m = e->numel - at < TL_CHUNK ? e->numel - at : TL_CHUNK;
      for (int64_t i = 0; i < m; i++) {
        double q = wide ? ((double *)tl_data(e))[at + i] : ((float *)tl_data(e))[at + i];
        if (!(q >= 0 && q <= 1)) {
          PyErr_SetString(PyExc_RuntimeError, "Expected p_in >= 0 && p_in <= 1 to be true, but got false.");
          goto end;
        }
        y[i] = (wide ? tl_draw_d(g) : tl_draw_f(g)) < q ? 1.0 : 0.0;
      }
      tl_store_drawn(self->dtype, tl_data(tmp), at, y, m);
      if (tl_work(m) < 0) goto end;
    }
    if (!(v = tl_view(self, nd, shape, sstrides, self->offset))) goto end;
    rc = tl_copy(v, tmp);
    TL_DEC(v);
  }
end:
  TL_DEC(e);
  TL_DEC(tmp);
  return done(rc, a[0]);
}

/* one or two float parameters: exponential_(lambd), geometric_(p), cauchy_(median, sigma), log_normal_(mean, std) */
static PyObject *k_continuous(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out) {
  TlTensor *self = (TlTensor *)a[0];
  tl_dtype d = self->dtype;
  TlDist p = {0};
  double x, y = 0;
  TlDrawFn *draw;
  const bool two = k->id == CAUCHY || k->id == LOG_NORMAL; /* parameters */
  (void)out;
  if (tl_double(a[1], &x) < 0 || (two && tl_double(a[2], &y) < 0)) return NULL;
  if (k->id == EXPONENTIAL) {
    if (!tl_is_float(d)) {
      PyErr_Format(PyExc_RuntimeError,
                   "Exponential distribution is a continuous probability distribution. dtype must be a floating point "
                   "but you specified %s",
                   tl_scalar_type[d]);
      return NULL;
    }
    if (!(x > 0)) return number_error("exponential_ expects lambda > 0.0, but found lambda=%s", x);
    p.b = -1.0 / x;
    draw = tl_draw_exponential;
  } else if (k->id == GEOMETRIC) {
    if (!(x > 0 && x < 1)) return number_error("geometric_ expects p to be in (0, 1), but got p=%s", x);
    if (d == TL_BOOL || tl_is_complex(d)) return tl_not_implemented("geometric_cpu", d);
    p.b = log1p(-x);
    draw = tl_draw_geometric;
  } else if (k->id == CAUCHY) {
    if (!(y > 0)) return number_error("cauchy_ expects sigma > 0.0, but found sigma=%s", y);
    if (!tl_is_float(d)) {
      PyErr_Format(PyExc_RuntimeError,
                   "Cauchy distribution is a continuous probability distribution. dtype must be a floating point but "
                   "you specified %s",
                   tl_cpp_type[d]);
      return NULL;
    }
    draw = tl_draw_cauchy;
  } else {
    if (!(y > 0)) return number_error("log_normal_ expects std > 0.0, but found std=%s", y);
    if (!tl_is_float(d)) return tl_not_implemented("log_normal_cpu", d);
    draw = tl_draw_log_normal;
  }
  if (two) {
    p.a = x;
    p.b = y;
  }
  return done(tl_fill_drawn(self, tl_generator(a[n - 1]), &p, draw), a[0]);
}

/* dropout_noise(self, p, generator): 1 / (1 - p) where a draw keeps the element, else 0; shaped and laid out like self
 */
static PyObject *k_dropout_noise(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out) {
  TlTensor *self = (TlTensor *)a[0], *r;
  TlDist p = {0};
  double q;
  (void)k;
  (void)n;
  (void)out;
  if (tl_double(a[1], &q) < 0) return NULL;
  p.a = 1 - q;
  p.b = self->dtype == TL_F64 ? 1.0 / p.a : (double)(1.0f / (float)p.a);
  r = tl_empty_like(self, tl_is_complex(self->dtype) ? tl_real_of(self->dtype) : self->dtype);
  if (r && tl_fill_drawn(r, tl_generator(a[2]), &p, tl_draw_bernoulli) < 0) TL_CLEAR(r);
  return (PyObject *)r;
}

/* rrelu_noise(self, lower, upper, generator): a draw from [lower, upper) for every element that is not positive, in
 * order, and 1 for the others */
static PyObject *k_rrelu_noise(const TlKernel *k, PyObject *const *a, Py_ssize_t n_, TlTensor *out) {
  TlTensor *self = (TlTensor *)a[0], *x, *r = NULL, *result = NULL;
  TlGenerator *g = tl_generator(a[3]);
  double lower, upper;
  (void)k;
  (void)n_;
  (void)out;
  if (!g || tl_double(a[1], &lower) < 0 || tl_double(a[2], &upper) < 0) return NULL;
  if (!(x = tl_contiguous_as(self, TL_F64))) return NULL;
  if ((r = tl_empty(TL_F64, x->ndim, x->shape))) {
    const double *v = (const double *)tl_data(x);
    double *o = (double *)tl_data(r);
    for (int64_t i = 0; i < x->numel && !tl_meta; i++) o[i] = v[i] <= 0 ? fma(tl_draw_d(g), upper - lower, lower) : 1;
    result = tl_cast(r, (tl_dtype)self->dtype);
  }
  TL_DEC(x);
  TL_DEC(r);
  return (PyObject *)result;
}

static PyObject *k_generator(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out) {
  (void)out;
  if (k->id == GENERATOR_TYPE) return Py_XNewRef((PyObject *)tl_generator_type());
  if (n < 1) {
    PyErr_SetString(PyExc_TypeError, "expected a Generator");
    return NULL;
  }
  if (tl_set_default_generator(a[0]) < 0) return NULL;
  return Py_NewRef(Py_None);
}

const TlKernel tl_kernels_random[] = {{"generator_type", k_generator, GENERATOR_TYPE, TL_K_CHECKS, NULL},
                                      {"set_default_generator", k_generator, SET_DEFAULT, TL_K_CHECKS, NULL},
                                      {"rand", k_rand, RAND, TL_K_META, NULL},
                                      {"randn", k_rand, RANDN, TL_K_META, NULL},
                                      {"uniform_", k_uniform, 0, TL_K_META, NULL},
                                      {"normal_", k_normal, 0, TL_K_META, NULL},
                                      {"random_", k_random, RANDOM, TL_K_META, NULL},
                                      {"random_to", k_random, RANDOM_TO, TL_K_META, NULL},
                                      {"random_from", k_random, RANDOM_FROM, TL_K_META, NULL},
                                      {"bernoulli_", k_bernoulli, 0, TL_K_META, NULL},
                                      {"exponential_", k_continuous, EXPONENTIAL, TL_K_META, NULL},
                                      {"geometric_", k_continuous, GEOMETRIC, TL_K_META, NULL},
                                      {"cauchy_", k_continuous, CAUCHY, TL_K_META, NULL},
                                      {"log_normal_", k_continuous, LOG_NORMAL, TL_K_META, NULL},
                                      {"dropout_noise", k_dropout_noise, 0, TL_K_META, NULL},
                                      {"rrelu_noise", k_rrelu_noise, 0, TL_K_META, NULL},
                                      {"randperm", tl_k_randperm, 0, TL_K_META, NULL},
                                      {"multinomial", tl_k_multinomial, 0, TL_K_META, NULL},
                                      {"poisson", tl_k_sampled, TL_POISSON, TL_K_META, NULL},
                                      {"binomial", tl_k_sampled, TL_BINOMIAL, TL_K_META, NULL},
                                      {"standard_gamma", tl_k_sampled, TL_GAMMA, TL_K_META, NULL},
                                      {"sample_dirichlet", tl_k_dirichlet, 0, TL_K_META, NULL},
                                      {0}};
