/* reduce_stat.c: variances, vector norms and logsumexp: reductions of two passes or with a function per element. */
#include "reduce/reduce_loops.h"
#include "math/vexpn.h"
#include <math.h>

/* ---- variance --------------------------------------------------------------------------------------------------- */
/* (self, unbiased), (self, dim, unbiased, keepdim) or (self, dim, correction, keepdim). Two passes: the mean, then sums
 * around it. */
PyObject *tl_k_var(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  static const char *const names[] = {"var", "std", "var_mean", "std_mean"}; /* by the bits of the id */
  TlTensor *t = (TlTensor *)args[0], *res = NULL, *mean = NULL;
  bool root = k->id & TL_VAR_ROOT, with_mean = k->id & TL_VAR_AND_MEAN, keepdim = nargs > 3 && PyObject_IsTrue(args[3]);
  uint8_t mask[TL_MAX_DIMS];
  double correction = 1, stack[96], *acc = stack;
  TlRed r;
  (void)out;
  if (tl_is_complex(t->dtype)) return TL_FALLBACK();
  if (!tl_is_float(t->dtype)) {
    PyErr_Format(PyExc_RuntimeError, "%s only support floating point and complex dtypes",
                 with_mean ? names[k->id] : "std and var");
    return NULL;
  }
  if (tl_red_mask(nargs > 2 ? args[1] : NULL, t->ndim, mask, false) < 0) return NULL;
  if (nargs > 1) {
    PyObject *c = args[nargs > 2 ? 2 : 1];
    if (!tl_none(c) && tl_double(c, &correction) < 0) return NULL;
  }
  tl_red_plan(&r, t, mask, keepdim, tl_compute[t->dtype]);
  if (r.nout && (double)r.k - correction <= 0) {
    char text[200];
    PyOS_snprintf(text, sizeof text,
                  "%s(): degrees of freedom is <= 0. Correction should be strictly less than the reduction "
                  "factor (input numel divided by output numel).",
                  names[k->id]);
    if (PyErr_WarnEx(PyExc_UserWarning, text, 1) < 0) return NULL;
  }
  if (tl_meta) {
    res = tl_red_result(&r, t->dtype);
    mean = with_mean ? tl_red_result(&r, t->dtype) : NULL;
    goto done;
  }
  if (r.nout > 32 && !(acc = tl_array(r.nout, 24))) return NULL;
  TlShift shift = {acc, acc + r.nout, acc + 2 * r.nout};
  if (tl_clear((char *)acc, (uint64_t)r.nout * 24) || tl_red_run(&r, tl_red_loop(TL_RED_SUM, r.load), acc) < 0)
    goto done;
  double n = (double)r.k, dof = n - correction > 0 ? n - correction : 0;
  TL_LOOP(i, r.nout) acc[i] /= n;
  if (tl_red_run(&r, tl_red_loop(TL_RED_SHIFT, r.load), &shift) < 0) goto done;
  TL_LOOP(i, r.nout) {
    double s1 = shift.s1[i], v = shift.s2[i] - s1 * s1 / n, c = r.load == TL_F32 ? (float)acc[i] : acc[i];
    v = (v < 0 ? 0 : v) / dof;
    shift.s2[i] = root ? sqrt(v) : v;
    if (isfinite(acc[i]) && r.k) acc[i] = c + s1 / n;
  }
  if (!(res = tl_red_result(&r, t->dtype))) goto done;
  tl_cast_contig(t->dtype, tl_data(res), TL_F64, shift.s2, r.nout);
  if (with_mean && (mean = tl_red_result(&r, t->dtype))) tl_cast_contig(t->dtype, tl_data(mean), TL_F64, acc, r.nout);
done:
  if (acc != stack) tl_free(acc);
  res = tl_red_done(res);
  return with_mean ? tl_pack2(res, tl_red_done(mean)) : (PyObject *)res;
}

/* ---- vector norms ----------------------------------------------------------------------------------------------- */
typedef struct {
  double *acc, p;
} Power;
#define POWER_LOOPS(NAME, T, STEP) \
  static void NAME##_row(void *ctx, int64_t o, int64_t k, const void *pp, int64_t n) { \
    const Power *w = ctx; \
    const T *p = pp; \
    double a = w->acc[o]; \
    (void)k; \
    for (int64_t i = 0; i < n; i++) { double x = fabs((double)p[i]); STEP; } \
    w->acc[o] = a; \
  } \
  static void NAME##_cols(void *ctx, int64_t o, int64_t k, const void *pp, int64_t rs, int64_t rows, int64_t n) { \
    for (int64_t i = 0; i < rows; i++) \
      for (int64_t j = 0; j < n; j++) NAME##_row(ctx, o + j, k, (const T *)pp + i * rs + j, 1); \
  }
POWER_LOOPS(pow_f, float, a += pow(x, w->p))
POWER_LOOPS(pow_d, double, a += pow(x, w->p))
POWER_LOOPS(maxabs_f, float, a = x > a || x != x ? x : a)
POWER_LOOPS(maxabs_d, double, a = x > a || x != x ? x : a)
POWER_LOOPS(minabs_f, float, a = x < a || x != x ? x : a)
POWER_LOOPS(minabs_d, double, a = x < a || x != x ? x : a)
#define L(N) {N##_row, N##_cols}
static const TlRedLoop power_loops[3][2] = {
  {L(pow_f), L(pow_d)}, {L(maxabs_f), L(maxabs_d)}, {L(minabs_f), L(minabs_d)}};

static int norm_identity(const TlTensor *t, PyObject *ord, PyObject *dim) {
  if (tl_none(dim) || (PyTuple_Check(dim) && PyTuple_Size(dim) == 0)) {
    PyErr_Format(PyExc_RuntimeError,
                 "linalg.vector_norm cannot compute the %S norm on an empty tensor because the operation "
                 "does not have an identity",
                 ord);
    return -1;
  }
  int64_t dims[TL_MAX_DIMS];
  int n;
  if (tl_ints(dim, dims, &n) < 0) return -1;
  for (int i = 0; i < n; i++)
    if (!t->shape[dims[i] < 0 ? dims[i] + t->ndim : dims[i]]) {
      PyErr_Format(PyExc_RuntimeError,
                   "linalg.vector_norm cannot compute the %S norm on the dimension %lldbecause this dimension "
                   "is empty and the operation does not have an identity",
                   ord, (long long)dims[i]);
      return -1;
    }
  return 0;
}

/* (self, ord, dim, keepdim, dtype) */
PyObject *tl_k_vector_norm(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  TlTensor *t = (TlTensor *)args[0], *res = NULL;
  uint8_t mask[TL_MAX_DIMS];
  tl_dtype want;
  double p, stack[64], *acc = stack;
  TlRed r;
  (void)k, (void)nargs, (void)out;
  if (PyComplex_Check(args[1])) {
    PyErr_SetString(PyExc_RuntimeError, "linalg.vector_norm: Expected a non-complex scalar as the order of norm.");
    return NULL;
  }
  if (tl_double(args[1], &p) < 0 || tl_red_mask(args[2], t->ndim, mask, false) < 0) return NULL;
  if (tl_is_integral(t->dtype)) {
    PyErr_Format(PyExc_RuntimeError, "linalg.vector_norm: Expected a floating point or complex tensor as input. Got %s",
                 tl_scalar_type[t->dtype]);
    return NULL;
  }
  if (tl_dtype_arg(args[4], t->dtype, &want) < 0) return NULL;
  if (tl_is_integral(want)) {
    PyErr_Format(PyExc_RuntimeError, "linalg.vector_norm: dtype should be floating point or complex, but got %s",
                 tl_scalar_type[want]);
    return NULL;
  }
  if (tl_is_complex(want) != tl_is_complex(t->dtype)) {
    const char *kind = tl_is_complex(t->dtype) ? "complex" : "real";
    PyErr_Format(PyExc_RuntimeError, "linalg.vector_norm: dtype should be %s for %s inputs, but got %s", kind, kind,
                 tl_scalar_type[want]);
    return NULL;
  }
  if (tl_promote(t->dtype, want) != want) {
    PyErr_Format(PyExc_RuntimeError,
                 "linalg.vector_norm: the dtype of the input (%s) should be convertible without narrowing to the "
                 "specified dtype (%s)",
                 tl_scalar_type[t->dtype], tl_scalar_type[want]);
    return NULL;
  }
  if (t->numel == 0 && (p < 0 || isinf(p)) && norm_identity(t, args[1], args[2]) < 0) return NULL;
  if (!(t = tl_is_complex(want) ? tl_cast(t, want) : (TlTensor *)Py_NewRef((PyObject *)t))) return NULL;
  tl_dtype real = tl_real_of(want), load = tl_compute[real];
  tl_red_plan(&r, t, mask, PyObject_IsTrue(args[3]), load);
  r.abs = tl_is_complex(want);
  if (p != 0 && r.nout == t->numel) p = INFINITY; /* of single elements, the absolute values */
  if (tl_meta) {
    res = tl_red_result(&r, real);
    goto done;
  }
  if (r.nout > 64 && !(acc = tl_array(r.nout, 8))) goto done;
  for (int64_t i = 0; i < r.nout; i++) acc[i] = isinf(p) && p < 0 ? INFINITY : 0;
  Power w = {acc, p};
  int rc;
  if (p == 0) rc = tl_red_run(&r, tl_red_loop(TL_RED_COUNT, load), acc);
  else if (p == 1) rc = tl_red_run(&r, tl_red_loop(TL_RED_ABSSUM, load), acc);
  else if (p == 2) rc = tl_red_run(&r, tl_red_loop(TL_RED_SQSUM, load), acc);
  else {
    int which = p > 0 ? 1 : 2; /* largest, smallest */
    if (!isinf(p)) which = 0;
    rc = tl_red_run(&r, power_loops[which][load == TL_F64], &w);
  }
  if (rc < 0) goto done;
  if (!(res = tl_red_result(&r, real))) goto done;
  if (p == 2)
    for (int64_t i = 0; i < r.nout; i++) acc[i] = sqrt(acc[i]);
  else if (p != 0 && p != 1 && !isinf(p))
    for (int64_t i = 0; i < r.nout; i++) acc[i] = pow(acc[i], 1 / p);
  tl_cast_contig(real, tl_data(res), p == 0 ? TL_I64 : TL_F64, acc, r.nout);
done:
  if (acc != stack && acc) tl_free(acc);
  Py_DECREF((PyObject *)t);
  return (PyObject *)tl_red_done(res);
}

/* ---- logsumexp --------------------------------------------------------------------------------------------------- */
typedef struct {
  const void *m;
  double *s;
} Lse;

static void lse_f_row(void *ctx, int64_t o, int64_t k, const void *pp, int64_t n) {
  const Lse *c = ctx;
  const float *p = pp;
  float m = ((const float *)c->m)[o];
  v4f mv = v4_set1(m);
  (void)k;
  for (; n >= 4;) {
    v4f a = {0}, b = {0};
    int64_t h = n < 256 ? n & ~(int64_t)3 : 256, i = 0;
    for (; i + 8 <= h; i += 8) {
      a += vm_exp_neg(v4_load(p + i) - mv);
      b += vm_exp_neg(v4_load(p + i + 4) - mv);
    }
    if (i < h) a += vm_exp_neg(v4_load(p + i) - mv);
    c->s[o] += v4_hsum(a + b);
    p += h;
    n -= h;
  }
  for (; n > 0; n--) c->s[o] += expf(*p++ - m);
}
static void lse_f_cols(void *ctx, int64_t o, int64_t k, const void *pp, int64_t rs, int64_t rows, int64_t n) {
  const Lse *c = ctx;
  const float *m = (const float *)c->m + o;
  double *s = c->s + o;
  (void)k;
  for (int64_t q = 0; q < rows; q += 32) {
    int64_t h = rows - q < 32 ? rows - q : 32, j = 0;
    for (; j + 8 <= n; j += 8) {
      const float *p = (const float *)pp + q * rs + j;
      v4f m0 = v4_load(m + j), m1 = v4_load(m + j + 4), a = {0}, b = {0};
      for (int64_t i = 0; i < h; i++, p += rs) {
        a += vm_exp_neg(v4_load(p) - m0);
        b += vm_exp_neg(v4_load(p + 4) - m1);
      }
      for (int l = 0; l < 4; l++) {
        s[j + l] += a[l];
        s[j + 4 + l] += b[l];
      }
    }
    for (; j < n; j++)
      for (int64_t i = 0; i < h; i++) s[j] += expf(((const float *)pp)[(q + i) * rs + j] - m[j]);
  }
}
static void lse_d_row(void *ctx, int64_t o, int64_t k, const void *pp, int64_t n) {
  const Lse *c = ctx;
  (void)k;
  for (int64_t i = 0; i < n; i++) c->s[o] += exp(((const double *)pp)[i] - ((const double *)c->m)[o]);
}
static void lse_d_cols(void *ctx, int64_t o, int64_t k, const void *pp, int64_t rs, int64_t rows, int64_t n) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < n; j++) lse_d_row(ctx, o + j, k, (const double *)pp + i * rs + j, 1);
}

/* (self, dim, keepdim) */
PyObject *tl_k_logsumexp(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  TlTensor *t = (TlTensor *)args[0], *res = NULL;
  tl_dtype want = tl_float_of(t->dtype), load = tl_compute[want];
  uint8_t mask[TL_MAX_DIMS];
  double stack[64], *s = stack;
  TlRed r;
  (void)k, (void)out;
  if (tl_is_complex(t->dtype)) return TL_FALLBACK();
  if (tl_red_mask(args[1], t->ndim, mask, false) < 0) return NULL;
  tl_red_plan(&r, t, mask, nargs > 2 && PyObject_IsTrue(args[2]), load);
  if (tl_meta) return (PyObject *)tl_red_done(tl_red_result(&r, want));
  if (r.nout > 32 && !(s = tl_array(r.nout, 16))) return NULL;
  double *md = s + r.nout;
  float *mf = (float *)md;
  for (int64_t i = 0; i < r.nout; i++) {
    s[i] = 0;
    if (load == TL_F32) mf[i] = -INFINITY;
    else md[i] = -INFINITY;
  }
  if (tl_red_run(&r, tl_red_loop(TL_RED_MAX, load), md) < 0) goto done;
  Lse c = {md, s};
  if (tl_red_run(&r, load == TL_F32 ? (TlRedLoop){lse_f_row, lse_f_cols} : (TlRedLoop){lse_d_row, lse_d_cols}, &c) < 0)
    goto done;
  for (int64_t i = 0; i < r.nout; i++) {
    double m = load == TL_F32 ? mf[i] : md[i];
    s[i] = isinf(m) ? m : log(s[i]) + m; /* inf - inf was NaN */
  }
  if ((res = tl_red_result(&r, want))) tl_cast_contig(want, tl_data(res), TL_F64, s, r.nout);
done:
  if (s != stack) tl_free(s);
  return (PyObject *)tl_red_done(res);
}
