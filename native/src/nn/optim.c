/* optim.c: one call per optimizer step. Arguments are lists of parameters, gradients and state tensors, then numbers;
 * all tensors of one parameter must be contiguous float32 or float64 of one shape and share no memory. If one is not,
 * or if a number is no number, nothing is changed, and the Python loop runs (and raises PyTorch's error). The order of
 * operations is that of PyTorch's single-tensor path; results agree to a rounding or two. */
#include <math.h>
#include "core/core.h"

typedef struct {
  double lr, beta1, beta2, weight_decay, eps, momentum, dampening;
  int nesterov, maximize, amsgrad, decoupled;
} tl_optim_opts;

typedef struct {
  void *p;
  const void *g;
  void *s[3];
  int64_t n;
} tl_optim_row;

/* Without decay no product: an infinite parameter would make it NaN */
#define TL_DECAY(wd, p) ((wd) != 0 ? (wd) * (p) : 0)

#define TL_SGD(NAME, T)                                                                                               \
  static void NAME(const tl_optim_row *r, const tl_optim_opts *o) {                                                   \
    T *restrict p = r->p;                                                                                             \
    const T *restrict g = r->g;                                                                                       \
    T *restrict b = r->s[0];                                                                                          \
    const T sign = o->maximize ? -1 : 1, wd = (T)o->weight_decay, lr = (T)-o->lr, mom = (T)o->momentum;               \
    const T keep = (T)(1 - o->dampening);                                                                             \
    int64_t n = r->n;                                                                                                 \
    if (!b) {                                                                                                         \
      for (int64_t i = 0; i < n; i++) p[i] += lr * (sign * g[i] + TL_DECAY(wd, p[i]));                                \
    } else if (o->nesterov) {                                                                                         \
      for (int64_t i = 0; i < n; i++) {                                                                               \
        T d = sign * g[i] + TL_DECAY(wd, p[i]), m = b[i] * mom + keep * d;                                            \
        b[i] = m;                                                                                                     \
        p[i] += lr * (d + mom * m);                                                                                   \
      }                                                                                                               \
    } else {                                                                                                          \
      for (int64_t i = 0; i < n; i++) {                                                                               \
        T m = b[i] * mom + keep * (sign * g[i] + TL_DECAY(wd, p[i]));                                                 \
        b[i] = m;                                                                                                     \
        p[i] += lr * m;                                                                                               \
      }                                                                                                               \
    }                                                                                                                 \
  }
TL_SGD(sgd_f32, float)
TL_SGD(sgd_f64, double)

/* lerp as torch does it: from the nearer end */
#define TL_LERP(a, b, w, far) ((far) ? (b) - ((b) - (a)) * (1 - (w)) : (a) + (w) * ((b) - (a)))

/* FAR and TOP are constants, so that each loop is straight-line code that vectorises */
#define TL_ADAM_LOOP(T, SQRT, FAR, TOP)                                                                               \
  for (int64_t i = 0; i < n; i++) {                                                                                   \
    T q = p[i] * shrink, d = sign * g[i] + TL_DECAY(wd, q);                                                           \
    T a = TL_LERP(m[i], d, w1, FAR), s = v[i] * b2 + w2 * d * d;                                                      \
    m[i] = a;                                                                                                         \
    v[i] = s;                                                                                                         \
    if (TOP) top[i] = s = top[i] < s || s != s ? s : top[i];                                                          \
    p[i] = q + size * a / (SQRT(s) / root + eps);                                                                     \
  }

#define TL_ADAM(NAME, T, SQRT)                                                                                        \
  static void NAME(const tl_optim_row *r, const tl_optim_opts *o, double step) {                                      \
    T *restrict p = r->p;                                                                                             \
    const T *restrict g = r->g;                                                                                       \
    T *restrict m = r->s[0], *restrict v = r->s[1], *restrict top = r->s[2];                                          \
    const T sign = o->maximize ? -1 : 1, w1 = (T)(1 - o->beta1), b2 = (T)o->beta2, w2 = (T)(1 - o->beta2);            \
    const T wd = o->decoupled ? 0 : (T)o->weight_decay;                                                               \
    const T shrink = o->decoupled && o->weight_decay != 0 ? (T)(1 - o->lr * o->weight_decay) : 1;                    \
    const T size = (T)(-o->lr / (1 - pow(o->beta1, step))), root = (T)sqrt(1 - pow(o->beta2, step)), eps = (T)o->eps; \
    int64_t n = r->n;                                                                                                 \
    if (w1 >= (T)0.5) {                                                                                               \
      if (top) TL_ADAM_LOOP(T, SQRT, 1, 1) else TL_ADAM_LOOP(T, SQRT, 1, 0)                                           \
    } else {                                                                                                          \
      if (top) TL_ADAM_LOOP(T, SQRT, 0, 1) else TL_ADAM_LOOP(T, SQRT, 0, 0)                                           \
    }                                                                                                                 \
  }
TL_ADAM(adam_f32, float, sqrtf)
TL_ADAM(adam_f64, double, sqrt)

/* The tensor at list[i], if it may be used beside `like` (NULL: any float32 or float64 one); else NULL, no exception */
static TlTensor *item(PyObject *list, Py_ssize_t i, const TlTensor *like) {
  PyObject *o = PyList_GetItem(list, i);
  if (!o) {
    PyErr_Clear();
    return NULL;
  }
  if (!TL_CHECK(o)) return NULL;
  TlTensor *t = (TlTensor *)o;
  if (t->device != TL_CPU || !tl_is_contiguous(t) || (t->flags & TL_INDIRECT) || !t->storage->data) return NULL;
  if (t->dtype != TL_F32 && t->dtype != TL_F64) return NULL;
  if (t->flags & TL_INFERENCE && !tl_inference_mode) return NULL; /* the Python loop refuses to write it */
  if (like && (t->dtype != like->dtype || t->ndim != like->ndim ||
               memcmp(t->shape, like->shape, (size_t)t->ndim * sizeof *t->shape)))
    return NULL;
  return t;
}

/* Whether two arrays of a row have bytes in common, as a file may make them: the loops take them to be apart */
static int overlaps(const tl_optim_row *r, size_t item_size) {
  const char *at[] = {r->p, r->g, r->s[0], r->s[1], r->s[2]};
  uint64_t nbytes = (uint64_t)r->n * item_size;
  for (int i = 0; i < 5; i++)
    for (int j = 0; j < i; j++)
      if (at[i] && at[j] && (uint64_t)(at[i] < at[j] ? at[j] - at[i] : at[i] - at[j]) < nbytes) return 1;
  return 0;
}

/* whether a kernel takes the lists at args; a mode is to see the ops of the Python loop */
static int all_lists(PyObject *const *args, int n) {
  if (tl_dispatch_modes) return 0;
  for (int i = 0; i < n; i++)
    if (!PyList_Check(args[i])) return 0;
  return 1;
}

static int truth(PyObject *o, int *out) { return (*out = PyObject_IsTrue(o)) < 0 ? -1 : 0; }

/* After a failed look at the options of a group: the Python loop says what is wrong with them, in PyTorch's words */
static PyObject *odd_options(void) {
  if (!PyErr_ExceptionMatches(PyExc_Exception)) return NULL;
  PyErr_Clear();
  return TL_FALLBACK();
}

static int numbers(PyObject *const *args, double *const *out, int n) {
  for (int i = 0; i < n; i++)
    if (tl_double(args[i], out[i]) < 0) return -1;
  return 0;
}

/* (params, grads, momentum_buffers or [], weight_decay, momentum, lr, dampening, nesterov, maximize) */
static PyObject *fused_sgd(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  (void)k;
  (void)out;
  if (nargs != 9) {
    PyErr_SetString(PyExc_TypeError, "_fused_sgd_ takes 9 arguments");
    return NULL;
  }
  if (!all_lists(args, 3)) return TL_FALLBACK();
  tl_optim_opts o = {0};
  double *const num[] = {&o.weight_decay, &o.momentum, &o.lr, &o.dampening};
  if (numbers(args + 3, num, 4) < 0 || truth(args[7], &o.nesterov) < 0 || truth(args[8], &o.maximize) < 0)
    return odd_options();
  Py_ssize_t n = PyList_Size(args[0]);
  int with_buf = PyList_Size(args[2]) > 0;
  tl_optim_row *rows = tl_malloc((uint64_t)(n ? n : 1) * sizeof *rows);
  if (!rows) return NULL;
  PyObject *result = NULL;
  for (Py_ssize_t i = 0; i < n; i++) { /* look at everything before changing anything */
    TlTensor *p = item(args[0], i, NULL), *g = p ? item(args[1], i, p) : NULL, *b = NULL;
    if (!g || (with_buf && !(b = item(args[2], i, p)))) {
      result = TL_FALLBACK();
      goto done;
    }
    rows[i] = (tl_optim_row){tl_data(p), tl_data(g), {b ? tl_data(b) : NULL}, p->numel};
    if (overlaps(&rows[i], p->dtype == TL_F32 ? 4 : 8)) {
      result = TL_FALLBACK();
      goto done;
    }
  }
  for (Py_ssize_t i = 0; i < n; i++) {
    TlTensor *p = (TlTensor *)PyList_GetItem(args[0], i);
    if (p->dtype == TL_F32) sgd_f32(&rows[i], &o);
    else sgd_f64(&rows[i], &o);
    tl_bump(p);
    if (with_buf) {
      TlTensor *b = (TlTensor *)PyList_GetItem(args[2], i);
      tl_bump(b);
    }
  }
  result = Py_NewRef(Py_None);
done:
  tl_free(rows);
  return result;
}

/* (params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs or [], steps, lr, beta1, beta2, weight_decay, eps, amsgrad,
 * maximize, decoupled) */
static PyObject *fused_adam(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  (void)k;
  (void)out;
  if (nargs != 14) {
    PyErr_SetString(PyExc_TypeError, "_fused_adam_ takes 14 arguments");
    return NULL;
  }
  if (!all_lists(args, 6)) return TL_FALLBACK();
  tl_optim_opts o = {0};
  double *const num[] = {&o.lr, &o.beta1, &o.beta2, &o.weight_decay, &o.eps};
  if (numbers(args + 6, num, 5) < 0 || truth(args[11], &o.amsgrad) < 0 || truth(args[12], &o.maximize) < 0 ||
      truth(args[13], &o.decoupled) < 0)
    return odd_options();
  if (!(0 <= o.beta1 && o.beta1 < 1 && 0 <= o.beta2 && o.beta2 < 1))
    return TL_FALLBACK(); /* divisions by 0, roots of -1 */
  Py_ssize_t n = PyList_Size(args[0]);
  tl_optim_row *rows = tl_malloc((uint64_t)(n ? n : 1) * sizeof *rows);
  if (!rows) return NULL;
  PyObject *result = NULL;
  for (Py_ssize_t i = 0; i < n; i++) {
    TlTensor *p = item(args[0], i, NULL), *g = p ? item(args[1], i, p) : NULL;
    TlTensor *s = item(args[5], i, NULL);
    if (!g || !s || s->numel != 1) {
      result = TL_FALLBACK();
      goto done;
    }
    double step = s->dtype == TL_F32 ? (double)*(float *)tl_data(s) : *(double *)tl_data(s);
    if (step < 0) {
      result = TL_FALLBACK();
      goto done;
    } /* no count of steps: Python's arithmetic says what it is */
    rows[i] = (tl_optim_row){tl_data(p), tl_data(g), {NULL}, p->numel};
    for (int j = 0; j < (o.amsgrad ? 3 : 2); j++) {
      TlTensor *t = item(args[2 + j], i, p);
      if (!t) {
        result = TL_FALLBACK();
        goto done;
      }
      rows[i].s[j] = tl_data(t);
    }
    if (overlaps(&rows[i], p->dtype == TL_F32 ? 4 : 8)) {
      result = TL_FALLBACK();
      goto done;
    }
  }
  for (Py_ssize_t i = 0; i < n; i++) {
    TlTensor *p = (TlTensor *)PyList_GetItem(args[0], i), *s = (TlTensor *)PyList_GetItem(args[5], i);
    double step = s->dtype == TL_F32 ? (double)(*(float *)tl_data(s) += 1) : (*(double *)tl_data(s) += 1);
    if (p->dtype == TL_F32) adam_f32(&rows[i], &o, step);
    else adam_f64(&rows[i], &o, step);
    tl_bump(p);
    for (int j = 2; j < 6; j++) {
      if (j == 4 && !o.amsgrad) continue;
      TlTensor *t = (TlTensor *)PyList_GetItem(args[j], i);
      tl_bump(t);
    }
  }
  result = Py_NewRef(Py_None);
done:
  tl_free(rows);
  return result;
}

/* For steps on another device, whose kernels know owners of memory: (tensors, like) -> for each its storage's owner if
 * it is dense float32 from the storage's beginning on and as long as the tensor at its place in `like`, else None;
 * SIZES: the lengths */
enum { OWNERS, SIZES };
static PyObject *optim_owners(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  (void)out;
  if (nargs != (k->id == SIZES ? 1 : 2) || !PyList_Check(args[0]) || !PyList_Check(args[nargs - 1]) ||
      PyList_Size(args[0]) != PyList_Size(args[nargs - 1])) {
    PyErr_Format(PyExc_TypeError, "%s takes lists of one length", k->name);
    return NULL;
  }
  Py_ssize_t n = PyList_Size(args[0]);
  PyObject *r = PyList_New(n);
  for (Py_ssize_t i = 0; r && i < n; i++) {
    PyObject *o = PyList_GetItem(args[0], i), *like = PyList_GetItem(args[nargs - 1], i), *v = Py_None;
    TlTensor *t = (TlTensor *)o;
    if (TL_CHECK(o) && k->id == SIZES) {
      if (!(v = PyLong_FromLongLong((long long)t->numel))) {
        Py_DECREF(r);
        return NULL;
      }
      PyList_SetItem(r, i, v);
      continue;
    }
    if (TL_CHECK(o) && TL_CHECK(like) && t->device != TL_CPU && t->dtype == TL_F32 && !t->offset &&
        tl_is_contiguous(t) && t->numel == ((TlTensor *)like)->numel && t->storage->owner)
      v = t->storage->owner;
    PyList_SetItem(r, i, Py_NewRef(v));
  }
  return r;
}

/* (tensors): they have changed */
static PyObject *optim_changed(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  (void)k;
  (void)out;
  if (nargs != 1 || !PyList_Check(args[0])) {
    PyErr_SetString(PyExc_TypeError, "_optim_changed takes a list");
    return NULL;
  }
  for (Py_ssize_t i = 0; i < PyList_Size(args[0]); i++) {
    PyObject *o = PyList_GetItem(args[0], i);
    if (TL_CHECK(o)) tl_bump((TlTensor *)o);
  }
  return Py_NewRef(Py_None);
}

/* (step counts): adds 1 to each and returns them as numbers; None for one that is not a float on the CPU, which stays
 * as it is */
static PyObject *optim_steps(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  (void)k;
  (void)out;
  if (nargs != 1 || !PyList_Check(args[0])) {
    PyErr_SetString(PyExc_TypeError, "_optim_steps takes a list");
    return NULL;
  }
  Py_ssize_t n = PyList_Size(args[0]);
  PyObject *r = PyList_New(n);
  for (Py_ssize_t i = 0; r && i < n; i++) {
    TlTensor *s = item(args[0], i, NULL);
    PyObject *v = Py_NewRef(Py_None);
    if (s && s->numel == 1) {
      Py_DECREF(v);
      v = PyFloat_FromDouble(s->dtype == TL_F32 ? (double)(*(float *)tl_data(s) += 1) : (*(double *)tl_data(s) += 1));
      tl_bump(s);
    }
    if (!v) {
      Py_DECREF(r);
      return NULL;
    }
    PyList_SetItem(r, i, v);
  }
  return r;
}

const TlKernel tl_kernels_optim[] = {
  {"_fused_sgd_", fused_sgd, 0, TL_K_CHECKS, NULL},
  {"_fused_adam_", fused_adam, 0, TL_K_CHECKS, NULL},
  {"_optim_owners", optim_owners, OWNERS, TL_K_CHECKS, NULL},
  {"_optim_sizes", optim_owners, SIZES, TL_K_CHECKS, NULL},
  {"_optim_changed", optim_changed, 0, TL_K_CHECKS, NULL},
  {"_optim_steps", optim_steps, 0, TL_K_CHECKS, NULL},
  {0},
};
