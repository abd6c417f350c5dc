/* op.c: the dispatcher. An Op is a set of overloads; a call binds its arguments to the first overload whose schema they
 * fit, then runs the CPU kernel, the Python body, the autograd recorder or another device's function, depending on the
 * arguments. Python words the errors of binding (torchlite/_core/arg_errors.py), off the fast path. */
#include "core/core.h"
#include "core/geometry.h"
#include "gpu/gpu_api.h"
#include "core/op.h"

/* ---- dispatch */
bool tl_requires_grad(const TlTensor *t) {
  if (t->requires_grad || t->grad_fn) return true;
  if (t->base) {
    const TlTensor *b = (const TlTensor *)t->base;
    return b->requires_grad || b->grad_fn;
  }
  return false;
}

/* other: a tensor is not on the CPU; check: a device or layout argument needs a look by Python */
typedef struct {
  bool grad, other, check;
} Scan;

static void see_tensor(PyObject *o, Scan *s) {
  TlTensor *t = (TlTensor *)o;
  if (t->device != TL_CPU) s->other = true;
  if (!s->grad && tl_requires_grad(t)) s->grad = true;
}

static void scan_args(Overload *ov, PyObject *const *a, Scan *s) {
  for (uint32_t set = ov->tensors | ov->places; set;) {
    const int i = next_param(&set);
    PyObject *o = a[i];
    if (o == Py_None) continue;
    const int kind = ov->params[i].kind;
    if (kind == K_TENSOR) {
      if (TL_CHECK(o)) see_tensor(o, s);
    } else if (kind == K_TENSORS || kind == K_OPT_TENSORS) {
      Py_ssize_t n = seq_size(o);
      for (Py_ssize_t j = 0; j < n; j++) {
        PyObject *x = seq_item(o, j);
        if (x != Py_None) see_tensor(x, s);
      }
    } else if (kind == K_DEVICE) {
      PyObject *d = PyObject_IsInstance(o, tl_reg.device) == 1 ? Py_NewRef(o)
                                                               : PyObject_CallFunctionObjArgs(tl_reg.device, o, NULL);
      if (!d) {
        PyErr_Clear();
        s->check = true;
        continue; /* dispatch_other raises the error */
      }
      if (d != tl_reg.devices[TL_CPU]) {
        PyObject *tp = PyObject_GetAttrString(d, "type");
        if (tp && PyUnicode_CompareWithASCIIString(tp, "cpu")) s->check = true;
        Py_XDECREF(tp);
      }
      Py_DECREF(d);
    } else {
      PyObject *name = PyObject_Str(o);
      if (name && PyUnicode_CompareWithASCIIString(name, "torch.strided")) s->check = true;
      Py_XDECREF(name);
    }
  }
}

static bool is_normal(PyObject *o) { return !TL_CHECK(o) || !(((TlTensor *)o)->flags & TL_INFERENCE); }

/* Whether an argument is a normal tensor, or a number in its place. If all are inference tensors, nothing is recorded.
 */
static bool has_normal(const Overload *ov, PyObject *const *a) {
  bool found = false;
  for (int i = 0; i < ov->nparams && !found; i++) {
    PyObject *o = a[i];
    int kind = ov->params[i].kind;
    if (o == Py_None) continue;
    if (kind == K_TENSOR || (ov->flags & F_ARITHMETIC && i < 2)) found = is_normal(o);
    else if (kind == K_TENSORS || kind == K_OPT_TENSORS)
      for (Py_ssize_t j = 0, n = PyObject_Size(o); j < n && !found; j++) {
        PyObject *x = seq_item(o, j);
        found = x != Py_None && is_normal(x);
      }
  }
  return found;
}

/* Kernels read plain memory: b is a, with TL_INDIRECT tensors replaced by direct copies. Returns the number of copies,
 * which are in own, or -1. */
int tl_op_direct_args(Overload *ov, PyObject *const *a, PyObject **b, PyObject **own) {
  int n = 0;
  for (int i = 0; i < ov->nparams; i++) {
    b[i] = a[i];
    int kind = ov->params[i].kind;
    PyObject *made = NULL;
    if (TL_CHECK(a[i])) {
      if (!(((TlTensor *)a[i])->flags & TL_INDIRECT)) continue;
      made = (PyObject *)tl_direct((TlTensor *)a[i]);
    } else if ((kind == K_TENSORS || kind == K_OPT_TENSORS) && a[i] != Py_None) {
      Py_ssize_t m = PyObject_Size(a[i]), at = 0;
      while (at < m && !(TL_CHECK(seq_item(a[i], at)) && ((TlTensor *)seq_item(a[i], at))->flags & TL_INDIRECT)) at++;
      if (at == m) continue;
      made = PyTuple_New(m);
      for (Py_ssize_t j = 0; made && j < m; j++) {
        PyObject *x = seq_item(a[i], j), *y = TL_CHECK(x) ? (PyObject *)tl_direct((TlTensor *)x) : Py_NewRef(x);
        if (y) PyTuple_SetItem(made, j, y);
        else Py_CLEAR(made);
      }
    } else continue;
    if (!made) {
      while (n) Py_DECREF(own[--n]);
      return -1;
    }
    b[i] = own[n++] = made;
  }
  return n;
}

static PyObject *vcall_with(PyObject *fn, Overload *ov, PyObject *const *a, PyObject *last);

/* Several views of one call share their base: none of them may be changed under autograd. */
static void mark_views(PyObject *r) {
  for (Py_ssize_t i = 0, n = PyTuple_Check(r) ? PyTuple_Size(r) : 0; i < n; i++) {
    PyObject *o = PyTuple_GetItem(r, i);
    if (TL_CHECK(o)) ((TlTensor *)o)->flags |= TL_ONE_OF_MANY;
  }
}

/* A result that is a view of a temporary gets no base. */
static void disown(TlTensor *t, const Overload *ov, PyObject *const *a) {
  bool own = t->base;
  for (int j = 0; own && j < ov->nparams; j++) own = !TL_CHECK(a[j]) || ((TlTensor *)a[j])->storage != t->storage;
  if (!own) return;
  Py_CLEAR(t->base);
  t->flags &= (uint16_t)~(TL_UNRECORDED | TL_ONE_OF_MANY | TL_OF_INFERENCE);
}

/* Runs an op's body. F_OWN: no result is a view. */
static PyObject *run_body(Overload *ov, PyObject *const *a) {
  PyObject *r = PyObject_Vectorcall(ov->body, a, (size_t)ov->nparams, NULL);
  if (!r) return NULL;
  if (ov->flags & F_VIEW) {
    mark_views(r);
  } else if (ov->flags & F_OWN && TL_CHECK(r)) {
    disown((TlTensor *)r, ov, a);
  } else if (ov->flags & F_OWN) {
    for (Py_ssize_t i = 0, n = PyTuple_Check(r) ? PyTuple_Size(r) : 0; i < n; i++)
      if (TL_CHECK(PyTuple_GetItem(r, i))) disown((TlTensor *)PyTuple_GetItem(r, i), ov, a);
  }
  return r;
}

/* The device that a call's device argument names, -1 without one. */
static int named_device(const Overload *ov, PyObject *const *a) {
  if (ov->device_at < 0 || a[ov->device_at] == Py_None) return -1;
  PyObject *named = PyObject_CallFunctionObjArgs(tl_reg.device, a[ov->device_at], NULL);
  int found = -1;
  for (int d = TL_CPU; d <= TL_META && named; d++)
    if (named == tl_reg.devices[d]) found = d;
  if (!named) PyErr_Clear(); /* dispatch_other has raised the error */
  Py_XDECREF(named);
  return found;
}

/* For a call on the meta device: its tensors are there too, but for numbers without dims and the indices of an index.
 * -1 with PyTorch's error for others. */
static int check_all_meta(const Overload *ov, PyObject *const *a) {
  const TlTensor *first = NULL;
  for (int i = 0; i < ov->nparams; i++) {
    int kind = ov->params[i].kind;
    if (kind != K_TENSOR && kind != K_TENSORS) continue;
    if (a[i] == Py_None) continue;
    Py_ssize_t n = kind == K_TENSORS ? PyObject_Size(a[i]) : 1;
    for (Py_ssize_t j = 0; j < n; j++) {
      PyObject *o = kind == K_TENSORS ? seq_item(a[i], j) : a[i];
      const TlTensor *t = (const TlTensor *)o;
      if (!TL_CHECK(o) || (!t->ndim && t->device != TL_META)) continue;
      if (!first) first = t;
      if (t->device == first->device) continue;
      PyErr_Format(PyExc_RuntimeError, "Tensor on device %S is not on the expected device %S!",
                   tl_reg.devices[t->device], tl_reg.devices[first->device]);
      return -1;
    }
  }
  return 0;
}

bool tl_op_on_meta(const Overload *ov, PyObject *const *a) {
  int named = named_device(ov, a);
  bool found = false;
  if (named >= 0) return named == TL_META;
  for (uint32_t set = ov->tensors; set && !found;) {
    const int i = next_param(&set);
    if (ov->params[i].kind == K_TENSOR) found = TL_CHECK(a[i]) && ((TlTensor *)a[i])->device == TL_META;
    else if (a[i] != Py_None)
      for (Py_ssize_t j = 0, m = PyObject_Size(a[i]); j < m && !found; j++) {
        PyObject *o = seq_item(a[i], j);
        found = TL_CHECK(o) && ((TlTensor *)o)->device == TL_META;
      }
  }
  return found;
}

PyObject *tl_op_run_meta(Overload *ov, PyObject *const *a, TlTensor *out) {
  if (check_all_meta(ov, a) < 0) return NULL;
  if (!(ov->kernel->flags & TL_K_META)) return TL_FALLBACK();
  tl_meta = true;
  PyObject *r = tl_run(ov->kernel, a, ov->nparams, out);
  tl_meta = false;
  return r;
}

/* Runs the kernel, or on another device what that has for the op. Views need no device: they only change geometry. */
static PyObject *run_kernel(Overload *ov, PyObject *const *a, bool other) {
  PyObject *r = NULL;
  if (!other || ov->kernel->flags & TL_K_GEOMETRY) return tl_run(ov->kernel, a, ov->nparams, NULL);
  if (tl_dispatch_used && tl_check_wrappers(a, ov->nparams) < 0) return NULL;
  if (tl_op_on_meta(ov, a)) return tl_op_run_meta(ov, a, NULL);
  if (named_device(ov, a) == TL_CPU && ov->kernel->flags & TL_K_META)
    return tl_run(ov->kernel, a, ov->nparams, NULL); /* like a meta tensor, but on the CPU */
  if (ov->entries && tl_gpu_op(ov->entries, a, ov->nparams, ov->flags & F_INPLACE, &r)) return r;
  if (tl_gpu_plan(ov->kernel->name, a, &r)) return r;
  return vcall_with(tl_reg.device_run, ov, a, NULL);
}

static bool is_limited(PyObject *o) {
  bool found = TL_CHECK(o) && tl_is_limited((tl_dtype)((TlTensor *)o)->dtype);
  for (int d = TL_C128 + 1; d < TL_NUM_DTYPES && !found; d++) found = o == tl_reg.dtypes[d];
  return found;
}

PyObject *tl_op_limited(Overload *ov, PyObject *const *a) {
  bool found = false;
  for (int i = 0; i < ov->nparams && !found; i++) {
    int kind = ov->params[i].kind;
    if (kind == K_TENSOR || kind == K_DTYPE) found = is_limited(a[i]);
    else if ((kind == K_TENSORS || kind == K_OPT_TENSORS) && a[i] != Py_None)
      for (Py_ssize_t j = 0, m = PyObject_Size(a[i]); j < m && !found; j++) found = is_limited(seq_item(a[i], j));
  }
  PyObject *r = found ? vcall_with(tl_reg.limited, ov, a, NULL) : NULL;
  if (r == Py_NotImplemented) Py_CLEAR(r);
  return r;
}

TL_THREAD int tl_dispatch_modes, tl_dispatch_off;
bool tl_dispatch_used;

static bool dispatches(PyObject *o) { return TL_CHECK(o) && ((TlTensor *)o)->flags & TL_DISPATCHES; }

/* Whether Python is asked what an op does: a TorchDispatchMode is on, or an argument's class has a __torch_dispatch__.
 */
bool tl_op_dispatched(const Overload *ov, PyObject *const *a) {
  if (tl_dispatch_modes) return true;
  if (tl_dispatch_off) return false;
  bool found = false;
  for (int i = 0; i < ov->nparams && !found; i++) {
    int kind = ov->params[i].kind;
    if (kind == K_TENSOR) found = dispatches(a[i]);
    else if ((kind == K_TENSORS || kind == K_OPT_TENSORS) && a[i] != Py_None)
      for (Py_ssize_t j = 0, m = PyObject_Size(a[i]); j < m && !found; j++) found = dispatches(seq_item(a[i], j));
  }
  return found;
}

/* What the innermost TorchDispatchMode makes of a call; NotImplemented where the op has no name that PyTorch has. */
PyObject *tl_op_ask_mode(Overload *ov, PyObject *const *a, bool below) {
  return vcall_with(tl_reg.torch_dispatch, ov, a, below ? Py_True : Py_False);
}

PyObject *tl_op_run(Overload *ov, PyObject *const *a, bool other) {
  if (tl_dispatch_used && tl_op_dispatched(ov, a)) {
    PyObject *r = tl_op_ask_mode(ov, a, true);
    if (r != Py_NotImplemented) return r;
    Py_DECREF(r);
  }
  return tl_op_compute(ov, a, other);
}

/* kernel, else body */
PyObject *tl_op_compute(Overload *ov, PyObject *const *a, bool other) {
  ov->calls++;
  if (ov->kernel) {
    PyObject *b[MAX_PARAMS], *own[MAX_PARAMS], *r;
    if (tl_any_indirect && !(ov->kernel->flags & TL_K_GEOMETRY)) {
      r = tl_op_limited(ov, a);
      if (r || PyErr_Occurred()) return r;
    }
    int n = tl_any_indirect && !(ov->kernel->flags & TL_K_GEOMETRY) ? tl_op_direct_args(ov, a, b, own) : 0;
    if (n < 0) return NULL;
    r = run_kernel(ov, n ? b : a, other);
    while (n) Py_DECREF(own[--n]);
    if (r != Py_NotImplemented) return r;
    Py_DECREF(r);
  }
  if (ov->body && ov->body != Py_None) return run_body(ov, a);
  if (other && tl_op_on_meta(ov, a)) return vcall_with(tl_reg.no_meta, ov, a, NULL);
  PyErr_Format(PyExc_NotImplementedError, "\"%U\" not implemented for these arguments on the CPU", ov->schema);
  return NULL;
}

static PyObject *vcall_with(PyObject *fn, Overload *ov, PyObject *const *a, PyObject *last) {
  PyObject *v[MAX_PARAMS + 2];
  int n = 0;
  v[n++] = (PyObject *)ov;
  PyObject *t = PyTuple_New(ov->nparams);
  if (!t) return NULL;
  for (int i = 0; i < ov->nparams; i++) PyTuple_SetItem(t, i, Py_NewRef(a[i]));
  v[n++] = t;
  if (last) v[n++] = last;
  PyObject *r = PyObject_Vectorcall(fn, v, (size_t)n, NULL);
  Py_DECREF(t);
  return r;
}
static PyObject *record(Overload *ov, PyObject *const *a) {
  return ov->recording ? tl_record(ov->recording, (PyObject *)ov, a, ov->nparams)
                       : vcall_with(tl_reg.record, ov, a, NULL);
}
bool tl_default_off_cpu;

static PyObject *dispatch_on(Overload *ov, PyObject *const *a, Scan s);

bool tl_autocast;

/* A call inside torch.autocast, of an op that it looks at: with the arguments that Python casts, and without autocast
 * for what the op itself calls. */
static PyObject *dispatch_cast(Overload *ov, PyObject *const *a) {
  PyObject *cast = vcall_with(tl_reg.autocast, ov, a, NULL), *b[MAX_PARAMS];
  if (!cast) return NULL;
  for (int i = 0; i < ov->nparams; i++) b[i] = PyTuple_GetItem(cast, i);
  tl_autocast = false;
  PyObject *r = tl_op_dispatch(ov, b);
  tl_autocast = true;
  Py_DECREF(cast);
  return r;
}

/* Whether autocast changes calls of an overload, or what it calls; Python's lists say so once. */
static bool is_cast(Overload *ov) {
  if (!ov->autocast) {
    PyObject *listed = PyObject_CallFunctionObjArgs(tl_reg.autocast, (PyObject *)ov, NULL);
    ov->autocast = listed && PyObject_IsTrue(listed) ? 2 : 1;
    if (!listed) PyErr_Clear();
    Py_XDECREF(listed);
  }
  return ov->autocast == 2;
}

PyObject *tl_op_dispatch(Overload *ov, PyObject *const *a) {
  if (tl_autocast && is_cast(ov)) return dispatch_cast(ov, a);
  Scan s = {false, false, false};
  scan_args(ov, a, &s);
  if (tl_default_off_cpu && ov->flags & F_FACTORY && a[ov->device_at] == Py_None) s.check = true;
  if (!s.check) return dispatch_on(ov, a, s);
  /* a tuple of arguments with the device filled in; None: the result belongs on the CPU */
  PyObject *r = vcall_with(tl_reg.dispatch_other, ov, a, NULL), *b[MAX_PARAMS];
  if (!r || TL_CHECK(r)) return r; /* a tensor of a sparse layout */
  if (r != Py_None) {
    for (int i = 0; i < ov->nparams; i++) b[i] = PyTuple_GetItem(r, i);
    s.other = true;
    a = b;
  }
  PyObject *result = dispatch_on(ov, a, s);
  Py_DECREF(r);
  return result;
}

/* The real tensor of an op with a complex number, made complex: then its gradient comes out real, which the formulas of
 * arithmetic would not give. NULL without an error if there is nothing to do. */
static PyObject *made_complex(Overload *ov, PyObject *const *a, int *at) {
  int tensors = 0;
  bool number = false;
  for (int i = 0; i < ov->nparams; i++) {
    if (TL_CHECK(a[i])) {
      tensors++;
      *at = i;
    } else number = number || (i < 2 && PyComplex_Check(a[i])); /* not alpha: a real tensor refuses a complex one */
  }
  if (!number || tensors != 1 || tl_is_complex(((TlTensor *)a[*at])->dtype)) return NULL;
  static const char *const names[TL_NUM_DTYPES] = {[TL_F64] = "cdouble", [TL_F16] = "chalf"};
  const char *name = names[((TlTensor *)a[*at])->dtype];
  return PyObject_CallMethod(a[*at], name ? name : "cfloat", NULL);
}

static PyObject *dispatch_on(Overload *ov, PyObject *const *a, Scan s) {
  if (tl_forward_ad) return vcall_with(tl_reg.forward, ov, a, NULL);
  if (tl_dispatch_used && tl_op_dispatched(ov, a)) { /* what PyTorch composes is taken apart above autograd */
    PyObject *r = tl_op_ask_mode(ov, a, false);
    if (r != Py_NotImplemented) return r;
    Py_DECREF(r);
  }
  bool grad = s.grad && tl_grad_mode && !tl_inference_mode && has_normal(ov, a);
  if ((ov->flags & F_INPLACE) && tl_check_inference((TlTensor *)a[0]) < 0) return NULL;
  if ((ov->flags & F_INPLACE) && tl_func_level && tl_check_captured((TlTensor *)a[0], ov->schema) < 0) return NULL;
  if (ov->flags & F_INPLACE)
    return grad ? vcall_with(tl_reg.record_inplace, ov, a, NULL) : tl_op_run_inplace(ov, a, s.other);
  if (grad && !(ov->flags & F_NODIFF)) {
    if (ov->flags & F_ARITHMETIC) {
      int at = 0;
      PyObject *b[MAX_PARAMS], *own = made_complex(ov, a, &at);
      if (own) {
        for (int i = 0; i < ov->nparams; i++) b[i] = i == at ? own : a[i];
        PyObject *r = record(ov, b);
        Py_DECREF(own);
        return r;
      }
      if (PyErr_Occurred()) return NULL;
    }
    if (ov->flags & F_GRAD) return record(ov, a);
    if (ov->body && ov->body != Py_None) {
      ov->calls++;
      return run_body(ov, a);
    }
    return vcall_with(tl_reg.record, ov, a, NULL); /* a primitive without a gradient: its node raises in backward */
  }
  PyObject *r = tl_op_run(ov, a, s.other);
  if (r && ov->requires_grad_at >= 0 && a[ov->requires_grad_at] == Py_True && TL_CHECK(r)) {
    const TlTensor *made = (TlTensor *)r;
    if (tl_is_integral(made->dtype)) {
      PyErr_SetString(PyExc_RuntimeError, "Only Tensors of floating point and complex dtype can require gradients");
      Py_DECREF(r);
      return NULL;
    }
    if (PyObject_SetAttrString(r, "requires_grad", Py_True) < 0) {
      Py_DECREF(r);
      return NULL;
    }
  }
  return r;
}

/* Calls fn(op, positional arguments, keywords[, last]). out: NULL, or the `out` that tl_op_call took out of args. */
static PyObject *with_call(PyObject *fn, Op *op, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
                           PyObject *out, PyObject *last) {
  PyObject *t = PyTuple_New(nargs), *kw = PyDict_New(), *result = NULL;
  for (Py_ssize_t i = 0; t && i < nargs; i++) PyTuple_SetItem(t, i, Py_NewRef(args[i]));
  for (Py_ssize_t k = 0, nk = kwnames ? PyTuple_Size(kwnames) : 0; kw && k < nk; k++) {
    PyObject *value = args[nargs + k] ? args[nargs + k] : out;
    if (value && PyDict_SetItem(kw, PyTuple_GetItem(kwnames, k), value) < 0) Py_CLEAR(kw);
  }
  if (t && kw) result = PyObject_CallFunctionObjArgs(fn, (PyObject *)op, t, kw, last, NULL);
  Py_XDECREF(t);
  Py_XDECREF(kw);
  return result;
}

/* Whether the class of an argument has a __torch_function__ of its own. */
static bool overridden(const Overload *ov, PyObject *const *bound) {
  bool found = false;
  for (uint32_t set = ov->tensors; set && !found;) {
    const int i = next_param(&set);
    PyObject *o = bound[i];
    if (o == Py_None) continue;
    if (ov->params[i].kind == K_TENSOR) {
      found = Py_TYPE(o) != tl_TensorClass && tl_overrides(o);
    } else {
      Py_ssize_t m = seq_size(o);
      for (Py_ssize_t j = 0; j < m && !found; j++) {
        PyObject *x = seq_item(o, j);
        found = Py_TYPE(x) != tl_TensorClass && tl_overrides(x);
      }
    }
  }
  return found;
}

/* Whether a call's result may be written to out without asking Python: no gradient, no mode or transform, no memory
 * that an argument reads. */
static bool writes_plainly(Overload *ov, PyObject *const *a, PyObject *out) {
  const TlTensor *o = (TlTensor *)out;
  if (!(ov->flags & F_PLAIN_OUT) || !TL_CHECK(out) || o->device != TL_CPU || o->flags & (TL_INDIRECT | TL_INFERENCE) ||
      !tl_is_contiguous(o) || tl_requires_grad(o) || tl_forward_ad || tl_dispatch_used || tl_func_level)
    return false;
  Scan s = {false, false, false};
  scan_args(ov, a, &s);
  bool apart = !s.check && !(s.grad && tl_grad_mode);
  for (uint32_t set = ov->tensors; set && apart;) {
    const int i = next_param(&set);
    const bool list = ov->params[i].kind != K_TENSOR;
    const Py_ssize_t n = list && a[i] != Py_None ? seq_size(a[i]) : 1;
    for (Py_ssize_t j = 0; j < n && apart; j++) {
      PyObject *x = list && a[i] != Py_None ? seq_item(a[i], j) : a[i];
      apart = !TL_CHECK(x) || ((TlTensor *)x)->storage != o->storage;
    }
  }
  return apart;
}
static PyObject *call_out(Overload *ov, PyObject *const *a, PyObject *out) {
  if (!writes_plainly(ov, a, out)) return vcall_with(tl_reg.call_out, ov, a, out);
  PyObject *result = tl_op_dispatch(ov, a), *done = NULL;
  TlTensor *o = (TlTensor *)out, *r = (TlTensor *)result;
  if (!result) return NULL;
  if (TL_CHECK(result) && r->device == TL_CPU && r->dtype == o->dtype && r->ndim == o->ndim &&
      !memcmp(r->shape, o->shape, (size_t)r->ndim * sizeof *r->shape)) {
    if (tl_check_inference(o) == 0 && (Py_REFCNT(result) == 1 ? tl_copy_result : tl_copy)(o, r) == 0) {
      tl_bump(o);
      done = Py_NewRef(out);
    }
  } else {
    PyObject *t = PyTuple_New(ov->nparams);
    for (int i = 0; t && i < ov->nparams; i++) PyTuple_SetItem(t, i, Py_NewRef(a[i]));
    if (t) done = PyObject_CallFunctionObjArgs(tl_reg.finish_out, (PyObject *)ov, t, out, result, NULL);
    Py_XDECREF(t);
  }
  Py_DECREF(result);
  return done;
}

/* A call whose arguments are bound: through the profiler where it records, and with the result's field names. */
static PyObject *call_bound(Overload *ov, PyObject *const *bound, PyObject *out) {
  const int64_t mark =
    tl_profiling ? tl_profile_begin(ov->schema, (ov->flags & F_INPLACE) != 0, bound, ov->nparams) : -1;
  PyObject *result = NULL;
  if (mark == -2) return NULL;
  if (out) { /* autocast leaves calls with out= alone, as PyTorch's does */
    const bool cast = tl_autocast;
    tl_autocast = false;
    result = call_out(ov, bound, out);
    tl_autocast = cast;
  } else result = tl_op_dispatch(ov, bound);
  if (mark >= 0) tl_profile_end(mark);
  if (result && ov->named && PyTuple_CheckExact(result)) {
    PyObject *named = PyObject_CallFunctionObjArgs(ov->named, result, NULL);
    Py_DECREF(result);
    result = named;
  }
  return result;
}

static bool modes(void) { return tl_function_used && tl_function_modes && tl_function_off < 2; }

PyObject *tl_op_call(Op *op, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
  Py_ssize_t nargs = PyVectorcall_NARGS(nargsf), nk = kwnames ? PyTuple_Size(kwnames) : 0;
  PyObject *bound[MAX_PARAMS], *made[MAX_PARAMS * 2], *out = NULL, *result = NULL;
  PyObject *local[MAX_PARAMS * 2];
  int nmade = 0, r = 0;
  if (nk && op->allow_out && nargs + nk <= MAX_PARAMS * 2)
    for (Py_ssize_t k = 0; k < nk; k++)
      if (same_name(PyTuple_GetItem(kwnames, k), tl_s_out)) {
        memcpy(local, args, sizeof(PyObject *) * (size_t)(nargs + nk));
        out = args[nargs + k] == Py_None ? NULL : args[nargs + k];
        local[nargs + k] = NULL;
        args = local;
        break;
      }
  Py_ssize_t n = PyList_Size(op->overloads);
  Overload *ov = NULL;
  tl_wrapped_numbers = 0;
again:
  for (Py_ssize_t i = 0; i < n; i++) {
    ov = (Overload *)PyList_GetItem(op->overloads, i);
    if (out && ov->flags & F_NO_OUT) continue;
    r = tl_op_bind(ov, op->method, args, nargs, kwnames, bound, made, &nmade);
    if (r) break;
    while (nmade) Py_DECREF(made[--nmade]);
  }
  if (!r && tl_wrapped_numbers < 0) { /* no overload takes a tensor there */
    tl_wrapped_numbers = 1;
    goto again;
  }
  tl_wrapped_numbers = 1;
  if (r == 1) {
    if (overridden(ov, bound) || (out && tl_overrides(out)) || modes())
      result = with_call(tl_reg.torch_function, op, args, nargs, kwnames, out ? out : Py_None, NULL);
    else result = call_bound(ov, bound, out);
  } else if (r == 0) result = with_call(tl_reg.bind_error, op, args, nargs, kwnames, NULL, out ? out : Py_None);
  while (nmade) Py_DECREF(made[--nmade]);
  return result;
}
