/* create.c: factories. Arguments come in the order of the schemas: sizes and values, then dtype, layout, device,
 * pin_memory[, memory_format]; only dtype and memory_format matter here. */
#include "index/index.h"
#include "core/errors.h"
#include "shape/create.h"
#include <math.h>

/* 0: preserve (None for the _like functions), 1: contiguous, 2: another one (the body deals with it) */
static int memory_format(PyObject *o, int dflt) {
  PyObject *s;
  int r = 2;
  if (o == Py_None) return dflt;
  if (!(s = PyObject_Str(o))) {
    PyErr_Clear();
    return 2;
  }
  if (!PyUnicode_CompareWithASCIIString(s, "torch.preserve_format")) r = 0;
  else if (!PyUnicode_CompareWithASCIIString(s, "torch.contiguous_format")) r = 1;
  Py_DECREF(s);
  return r;
}

static int size_arg(PyObject *o, int64_t *shape, int *n, const char *name) {
  if (tl_ints(o, shape, n) < 0) return -1;
  for (int i = 0; i < *n; i++) {
    if (shape[i] >= 0) continue;
    if (name) PyErr_Format(PyExc_RuntimeError, "%s: Dimension size must be non-negative.", name);
    else tl_negative_size_error(shape[i], *n, shape);
    return -1;
  }
  return 0;
}

static TlTensor *filled(TlTensor *t, PyObject *value) {
  if (t && tl_fill(t, value) < 0) TL_CLEAR(t);
  return t;
}

/* torch.use_deterministic_algorithms(True): what is left uninitialised is filled, floats with NaN, others with their
 * largest value */
static bool fill_empty;
static TlTensor *fresh(TlTensor *t) {
  if (!t || !fill_empty || t->device != TL_CPU) return t;
  static const int64_t largest[] = {1, 255, 127, 32767, 2147483647LL, INT64_MAX};
  if (TL_UNSIGNED >> t->dtype & 1 || t->dtype == TL_F4E2M1FNX2) {
    memset(tl_data(t), 255, (size_t)t->numel * tl_itemsize[t->dtype]);
    return t;
  }
  PyObject *v = t->dtype <= TL_I64 ? PyLong_FromLongLong(largest[t->dtype]) : PyFloat_FromDouble(NAN);
  TlTensor *r = v ? filled(t, v) : NULL;
  if (!v) TL_DEC(t);
  Py_XDECREF(v);
  return r;
}
static PyObject *set_fill_empty(PyObject *m, PyObject *o) {
  (void)m;
  if (tl_truth(o, &fill_empty) < 0) return NULL;
  Py_RETURN_NONE;
}
static PyObject *get_fill_empty(PyObject *m, PyObject *o) {
  (void)m;
  (void)o;
  return PyBool_FromLong(fill_empty);
}
/* 1: ops that PyTorch has no deterministic form of warn; 2: they raise */
static int strictness;
int tl_alert(const char *name) {
  const bool warns = strictness == 1;
  if (!strictness) return 0;
  PyObject *text = PyUnicode_FromFormat(
    "%s does not have a deterministic implementation, but you set 'torch.use_deterministic_algorithms(True%s)'. %sfile "
    "an issue at https://github.com/pytorch/pytorch/issues to help us prioritize adding deterministic support for this "
    "operation.",
    name, warns ? ", warn_only=True" : "",
    warns
      ? "You can "
      : "You can turn off determinism just for this operation, or you can use the 'warn_only=True' option, if that's "
        "acceptable for your application. You can also ");
  int r = text && warns ? tl_warn_once(PyUnicode_AsUTF8AndSize(text, NULL)) : -1;
  if (text && !warns) PyErr_SetObject(PyExc_RuntimeError, text);
  Py_XDECREF(text);
  return r;
}
static PyObject *set_strictness(PyObject *m, PyObject *o) {
  (void)m;
  if (tl_c_int(o, &strictness) < 0) return NULL;
  Py_RETURN_NONE;
}
static PyObject *alert(PyObject *m, PyObject *o) {
  const char *name = PyUnicode_AsUTF8AndSize(o, NULL);
  (void)m;
  if (!name || tl_alert(name) < 0) return NULL;
  Py_RETURN_NONE;
}
static PyObject *fill_fresh(PyObject *m, PyObject *o) {
  (void)m;
  return TL_CHECK(o) ? (PyObject *)fresh((TlTensor *)Py_NewRef(o)) : Py_NewRef(o);
}
PyMethodDef tl_create_functions[] = {
  {"set_fill_empty", set_fill_empty, METH_O, "Whether uninitialised tensors are filled."},
  {"fill_empty", get_fill_empty, METH_NOARGS, "Whether uninitialised tensors are filled."},
  {"set_deterministic", set_strictness, METH_O, "0; 1: alert() warns; 2: it raises."},
  {"alert", alert, METH_O, "Says that an op of this name is not deterministic, where set_deterministic asks for it."},
  {"fill_fresh", fill_fresh, METH_O, "Fills a tensor that was just made, where uninitialised ones are filled."},
  {0}};

static PyObject *one(void) {
  static PyObject *v;
  if (!v) v = PyLong_FromLong(1);
  return v;
}

/* empty(size, dtype, ..., memory_format), zeros(size, dtype, ...), ones */
PyObject *tl_k_new(const TlKernel *k, PyObject *const *a, Py_ssize_t n_, TlTensor *out) {
  int64_t shape[TL_MAX_DIMS];
  int n;
  tl_dtype d;
  (void)out;
  if (size_arg(a[0], shape, &n, k->id == TL_ZEROS ? "zeros" : NULL) < 0 || tl_dtype_arg(a[1], tl_default_dtype, &d) < 0)
    return NULL;
  if (k->id == TL_EMPTY && n_ > 5 && memory_format(a[5], 1) != 1) return TL_FALLBACK();
  if (k->id == TL_ZEROS) return (PyObject *)tl_zeros(d, n, shape);
  if (k->id == TL_EMPTY) return (PyObject *)fresh(tl_empty(d, n, shape));
  return (PyObject *)filled(tl_empty(d, n, shape), one());
}

/* full(size, fill_value, dtype, ...): the value's type decides without a dtype */
PyObject *tl_k_full(const TlKernel *k, PyObject *const *a, Py_ssize_t n_, TlTensor *out) {
  int64_t shape[TL_MAX_DIMS];
  int n;
  tl_dtype d = tl_default_dtype;
  if (PyBool_Check(a[1])) d = TL_BOOL;
  else if (PyLong_Check(a[1])) d = TL_I64;
  else if (PyComplex_Check(a[1])) d = tl_complex_of(d);
  (void)k;
  (void)n_;
  (void)out;
  if (size_arg(a[0], shape, &n, NULL) < 0 || tl_dtype_arg(a[2], d, &d) < 0) return NULL;
  return (PyObject *)filled(tl_empty(d, n, shape), a[1]);
}

/* empty_like(self, dtype, layout, device, pin_memory, memory_format), zeros_like, ones_like, full_like(self, value,
 * dtype, ...) */
PyObject *tl_k_like(const TlKernel *k, PyObject *const *a, Py_ssize_t n_, TlTensor *out) {
  TlTensor *self = (TlTensor *)a[0], *r;
  int at = k->id == TL_FULL, format = n_ > 5 + at ? memory_format(a[5 + at], 0) : 0;
  tl_dtype d;
  (void)out;
  if (tl_dtype_arg(a[1 + at], (tl_dtype)self->dtype, &d) < 0) return NULL;
  if (format == 2) return TL_FALLBACK();
  r = format ? tl_empty(d, self->ndim, self->shape) : tl_empty_preserved(TL_CPU, self, d);
  if (!r || k->id == TL_EMPTY) return (PyObject *)fresh(r);
  if (k->id == TL_ZEROS && !tl_meta) {
    tl_clear(tl_data(r), (uint64_t)r->numel * (uint64_t)tl_itemsize[d]);
    return (PyObject *)r;
  } /* always dense */
  return (PyObject *)filled(r, k->id == TL_ONES ? one() : a[1]);
}

/* new_empty(self, size, dtype, ...), new_zeros, new_ones, new_full(self, size, fill_value, dtype, ...) */
PyObject *tl_k_new_like(const TlKernel *k, PyObject *const *a, Py_ssize_t n_, TlTensor *out) {
  TlTensor *self = (TlTensor *)a[0];
  int64_t shape[TL_MAX_DIMS];
  int n;
  tl_dtype d;
  (void)n_;
  (void)out;
  if (size_arg(a[1], shape, &n, NULL) < 0 || tl_dtype_arg(a[k->id == TL_FULL ? 3 : 2], (tl_dtype)self->dtype, &d) < 0)
    return NULL;
  if (k->id == TL_EMPTY) return (PyObject *)fresh(tl_empty(d, n, shape));
  if (k->id == TL_ZEROS) return (PyObject *)tl_zeros(d, n, shape);
  return (PyObject *)filled(tl_empty(d, n, shape), k->id == TL_ONES ? one() : a[2]);
}

/* ---- sequences -------------------------------------------------------------------------------------------------- */
/* eye(n, dtype, ...), eye(n, m, dtype, ...); id: position of the second size */
PyObject *tl_k_eye(const TlKernel *k, PyObject *const *a, Py_ssize_t n_, TlTensor *out) {
  int64_t shape[2], v1 = 1;
  TlTensor *r;
  tl_dtype d;
  char v[16] = {0};
  (void)n_;
  (void)out;
  if (tl_int(a[0], shape) < 0 || tl_int(a[k->id], shape + 1) < 0 ||
      tl_dtype_arg(a[1 + k->id], tl_default_dtype, &d) < 0)
    return NULL;
  if (shape[0] < 0 || shape[1] < 0) {
    PyErr_Format(PyExc_RuntimeError, "%s must be greater or equal to 0, got %lld", shape[0] < 0 ? "n" : "m",
                 (long long)(shape[0] < 0 ? shape[0] : shape[1]));
    return NULL;
  }
  if (!(r = tl_zeros(d, 2, shape)) || tl_meta) return (PyObject *)r;
  tl_cast_contig(d, v, TL_I64, &v1, 1);
  TL_LOOP(i, shape[0] < shape[1] ? shape[0] : shape[1])
    memcpy(tl_data(r) + i * (shape[1] + 1) * tl_itemsize[d], v, tl_itemsize[d]);
  return (PyObject *)r;
}

/* arange's numbers: start, end and step, as double and, for integers, as int64. */
typedef struct {
  double start, end, step;
  int64_t first, last, by;
} Range;

static int range_error(PyObject *type, const char *text) {
  PyErr_SetString(type, text);
  return -1;
}

static int check_range(const Range *r) {
  if (r->step == 0 || isnan(r->step)) return range_error(PyExc_RuntimeError, "step must be nonzero");
  if (!isfinite(r->start) || !isfinite(r->end)) {
    char *p = PyOS_double_to_string(r->start, 'g', 6, 0, NULL), *q = PyOS_double_to_string(r->end, 'g', 6, 0, NULL);
    if (p && q) PyErr_Format(PyExc_RuntimeError, "unsupported range: %s -> %s", p, q);
    PyMem_Free(p);
    PyMem_Free(q);
    return -1;
  }
  if ((r->step > 0 && r->end < r->start) || (r->step < 0 && r->end > r->start))
    return range_error(PyExc_RuntimeError, "upper bound and lower bound inconsistent with step sign");
  return 0;
}

/* How many numbers there are; -1 with an exception. exact: counted in int64. */
static int64_t count_range(const Range *r, bool exact) {
  double count = exact ? 0 : ceil((r->end - r->start) / r->step);
  int64_t n = -1;
  if (exact) {
    uint64_t span = r->by > 0 ? (uint64_t)r->last - (uint64_t)r->first : (uint64_t)r->first - (uint64_t)r->last,
             by = r->by > 0 ? (uint64_t)r->by : 0 - (uint64_t)r->by;
    n = span ? (int64_t)((span - 1) / by + 1) : 0;
  } else if (count >= 0 && count <= 9e18) n = (int64_t)count;
  return n < 0 ? range_error(PyExc_RuntimeError, "invalid size, possible overflow?") : n;
}

/* arange(end), (start, end) or (start, end, step), then dtype, ... id: position of the last of these numbers. An
 * integer dtype computes in int64, others in double. */
PyObject *tl_k_arange(const TlKernel *k, PyObject *const *a, Py_ssize_t n_, TlTensor *out) {
  Range g = {.step = 1, .by = 1};
  const bool from = k->id != TL_ARANGE;
  PyObject *start = from ? a[0] : NULL, *end = a[from ? 1 : 0], *step = k->id == TL_ARANGE_STEP ? a[2] : NULL;
  const bool ints = (!start || PyLong_Check(start)) && PyLong_Check(end) && (!step || PyLong_Check(step));
  tl_dtype d = ints ? TL_I64 : tl_default_dtype;
  (void)n_;
  (void)out;
  for (int i = 0; i <= k->id; i++)
    if (PyComplex_Check(a[i])) return tl_conversion_error("double"), NULL;
  if ((start && tl_double(start, &g.start) < 0) || tl_double(end, &g.end) < 0 ||
      (step && tl_double(step, &g.step) < 0) || tl_dtype_arg(a[k->id + 1], d, &d) < 0)
    return NULL;
  if (d == TL_BOOL || tl_is_complex(d)) return tl_not_implemented("arange_cpu", d);
  if (check_range(&g) < 0) return NULL;
  const bool whole = tl_is_integral(d), exact = whole && (ints || d == TL_I64);
  if (exact && ints) {
    if ((start && tl_int(start, &g.first) < 0) || tl_int(end, &g.last) < 0 || (step && tl_int(step, &g.by) < 0))
      return NULL;
  } else {
    g.first = (int64_t)g.start;
    if (exact) g.last = (int64_t)g.end;
    g.by = (int64_t)g.step;
    if (exact && !g.by) return range_error(PyExc_ValueError, "step must be nonzero"), NULL;
  }
  int64_t n = count_range(&g, exact);
  if (n < 0) return NULL;
  if (tl_meta) return (PyObject *)tl_empty(d, 1, &n);
  TlTensor *t = tl_empty(whole ? TL_I64 : TL_F64, 1, &n), *r;
  if (!t) return NULL;
  if (whole) {
    int64_t *p = (int64_t *)tl_data(t);
    TL_LOOP(i, n) p[i] = (int64_t)((uint64_t)g.first + (uint64_t)g.by * (uint64_t)i);
  } else {
    double *p = (double *)tl_data(t);
    TL_LOOP(i, n) p[i] = g.start + g.step * (double)i;
  }
  r = tl_cast(t, d);
  TL_DEC(t);
  return (PyObject *)r;
}

static double rounded(tl_dtype d, double v) {
  float f = (float)v;
  uint16_t h;
  if (d == TL_F64 || tl_is_integral(d)) return v;
  if (d == TL_F32) return f;
  tl_cast_contig(d, &h, TL_F32, &f, 1);
  tl_cast_contig(TL_F32, &f, d, &h, 1);
  return f;
}

/* An end of a range as the dtype holds it; one that it has no room for is an error. */
static int range_end(tl_dtype d, PyObject *v, double *x) {
  int64_t room = 0;
  if (tl_double(v, x) < 0 || tl_check_finite(d, v) < 0) return -1;
  if (!tl_is_integral(d) || !(PyFloat_Check(v) || PyLong_Check(v))) return 0;
  if (tl_scalar_store(d, &room, v) < 0) return -1;
  tl_cast_contig(TL_F64, x, d, &room, 1);
  return 0;
}

/* id 0: linspace(start, end, steps, dtype); 1: logspace(start, end, steps, base, dtype). Real dtypes; the second half
 * counts from the end, so both ends are exact. */
PyObject *tl_k_linspace(const TlKernel *k, PyObject *const *a, Py_ssize_t n_, TlTensor *out) {
  double x, y, base = 0, *p;
  int64_t n;
  TlTensor *t, *r;
  tl_dtype d;
  (void)n_;
  (void)out;
  if (PyComplex_Check(a[0]) || PyComplex_Check(a[1])) return TL_FALLBACK();
  const bool logs = k->id == TL_LOGSPACE;
  if (tl_int(a[2], &n) < 0 || (logs && tl_double(a[3], &base) < 0)) return NULL;
  if (tl_dtype_arg(a[3 + logs], tl_default_dtype, &d) < 0) return NULL;
  if (n < 0) {
    PyErr_SetString(PyExc_RuntimeError, "number of steps must be non-negative");
    return NULL;
  }
  if (tl_is_complex(d)) return TL_FALLBACK();
  if (d == TL_BOOL) {
    PyErr_Format(PyExc_NotImplementedError, "\"%s\" not implemented for 'Bool'",
                 logs ? "logspace_cpu" : "linspace_cpu");
    return NULL;
  }
  if (range_end(d, a[0], &x) < 0 || range_end(d, a[1], &y) < 0) return NULL;
  if (tl_meta) return (PyObject *)tl_empty(d, 1, &n);
  if (!(t = tl_empty(TL_F64, 1, &n))) return NULL;
  p = (double *)tl_data(t);
  { /* steps are rounded to the dtype, as PyTorch's are */
    double lo = rounded(d, x), hi = rounded(d, y), s = n > 1 ? rounded(d, rounded(d, hi - lo) / (double)(n - 1)) : 0;
    int half = d == TL_F16 || d == TL_BF16;
    TL_LOOP(i, n) {
      int first = i < n / 2 || n == 1;
      double m = (double)(first ? i : n - 1 - i), v = half && !logs ? rounded(d, s * m) : s * m;
      if (d == TL_F64 || tl_is_integral(d)) p[i] = fma(first ? s : -s, m, first ? lo : hi);
      else p[i] = first ? lo + v : hi - v;
    }
  }
  if (logs)
    TL_LOOP(i, n) p[i] = pow(base, n > 1 || tl_double(a[0], &x) < 0 ? p[i] : x);
  r = tl_cast(t, d);
  TL_DEC(t);
  return (PyObject *)r;
}
