/* op.c: the dispatcher. An Op is a set of overloads; a call binds its arguments to the first overload whose schema they
 * fit, then goes to the CPU kernel, the Python body, the autograd recorder or another device, whichever the arguments
 * ask for. Binding errors are worded in Python (_arg_errors.py), away from the hot path. */
#include "core/core.h"
#include "core/geometry.h"
#include "gpu/gpu_api.h"

enum {
  K_TENSOR,
  K_TENSORS,
  K_SCALAR,
  K_INT,
  K_INTS,
  K_FLOAT,
  K_BOOL,
  K_STR,
  K_DTYPE,
  K_DEVICE,
  K_GENERATOR,
  K_LAYOUT,
  K_MEMFMT,
  K_FLOATS,
  K_SCALARS,
  K_OPT_TENSORS,
  K_ANY,
  K_BOOLS
};
#define MAX_PARAMS 32

typedef struct {
  PyObject *name, *alias, *dflt; /* alias: second keyword ("input" for self, "axis" for dim) or NULL */
  uint8_t kind, optional, kwonly, size;
} Param;

/* flags of an overload, by which torchlite/ops/_declare.py names them (_C.F_GRAD) */
#define OVERLOAD_FLAGS(X) \
  X(F_GRAD, 1) \
  X(F_NODIFF, 2) \
  X(F_INPLACE, 4) \
  X(F_FACTORY, 8) \
  X(F_VIEW, 16) \
  X(F_ARITHMETIC, 32) \
  X(F_NO_OUT, 64) \
  X(F_OWN, 128) \
  X(F_ORDERED, 256)
enum {
#define X(name, bit) name = bit,
  OVERLOAD_FLAGS(X)
#undef X
};

typedef struct {
  PyObject_HEAD PyObject *schema, *body, *spec, *params_object,
    *named; /* named: class of a result with field names, or NULL */
  const TlKernel *kernel;
  Param *params;
  int nparams, npos, flags, ready, vararg_method, vararg_function, requires_grad_at, device_at;
  int64_t calls;
  void *entries; /* what the webgpu device knows of its calls (gpu_op.c) */
} Overload;

typedef struct {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject *name, *overloads, *doc, *owner;
  int method, allow_out;
} Op;

static PyTypeObject *overload_type, *op_type, *op_method_type, *kernel_type;
static PyObject *s_out;
static PyTypeObject *plain_type; /* last tensor subclass seen that does not override __torch_function__ */

/* ---- schema
 * ---------------------------------------------------------------------------------------------------------- */
static int compile(Overload *ov) {
  PyObject *list = PyObject_CallFunctionObjArgs(tl_reg.compile_schema, ov->schema, NULL);
  if (!list) return -1;
  Py_ssize_t n = PyTuple_Size(list);
  if (n > MAX_PARAMS) {
    PyErr_SetString(PyExc_SystemError, "too many parameters in a schema");
    Py_DECREF(list);
    return -1;
  }
  if (!ov->params) ov->params = PyMem_Calloc((size_t)(n ? n : 1), sizeof(Param));
  if (!ov->params) {
    Py_DECREF(list);
    PyErr_NoMemory();
    return -1;
  }
  ov->requires_grad_at = ov->device_at = -1;
  int pos = 0;
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *name, *alias, *dflt;
    int kind, optional, kwonly, size;
    if (!PyArg_ParseTuple(PyTuple_GetItem(list, i), "OOOiiii", &name, &alias, &dflt, &kind, &optional, &kwonly,
                          &size)) {
      Py_DECREF(list);
      return -1;
    }
    Param *p = &ov->params[i];
    *p = (Param){name,
                 alias == Py_None ? NULL : alias,
                 dflt == Py_NotImplemented ? NULL : dflt,
                 (uint8_t)kind,
                 (uint8_t)optional,
                 (uint8_t)kwonly,
                 (uint8_t)size};
    if (!kwonly) pos++;
    if (kind == K_DEVICE) ov->device_at = (int)i;
    if (!PyUnicode_CompareWithASCIIString(name, "requires_grad") && kwonly) ov->requires_grad_at = (int)i;
  }
  if (tl_reg.named_result) {
    PyObject *cls = PyObject_CallFunctionObjArgs(tl_reg.named_result, ov->schema, NULL);
    if (!cls) {
      Py_DECREF(list);
      return -1;
    }
    if (cls == Py_None) Py_DECREF(cls);
    else ov->named = cls;
  }
  ov->params_object = list; /* keeps the borrowed pointers above alive */
  ov->nparams = (int)n;
  ov->npos = pos;
  ov->vararg_function = pos == 1 && ov->params[0].kind == K_INTS && !ov->params[0].size;
  ov->vararg_method = pos == 2 && ov->params[1].kind == K_INTS && !ov->params[1].size;
  ov->ready = 1;
  return 0;
}

/* ---- type checks
 * ----------------------------------------------------------------------------------------------------- */
static inline bool is_int(PyObject *o) { return PyLong_Check(o) && !PyBool_Check(o); }
static bool is_number(PyObject *o) { return PyFloat_Check(o) || PyLong_Check(o) || PyComplex_Check(o); }
static bool is_int_tensor(PyObject *o) {
  return TL_CHECK(o) && ((TlTensor *)o)->numel == 1 && ((TlTensor *)o)->ndim == 0 &&
         tl_is_integral(((TlTensor *)o)->dtype) && !((TlTensor *)o)->requires_grad;
}
static bool is_index(PyObject *o) {
  if (is_int(o)) return true;
  if (PyFloat_Check(o) || PyBool_Check(o) || PyUnicode_Check(o)) return false;
  if (TL_CHECK(o)) return is_int_tensor(o);
  return PyIndex_Check(o);
}
static bool plain_sequence(PyObject *o) { return PyTuple_Check(o) || PyList_Check(o); }
static PyObject *seq_item(PyObject *o, Py_ssize_t i) {
  return PyTuple_Check(o) ? PyTuple_GetItem(o, i) : PyList_GetItem(o, i);
}

static bool type_named(PyObject *o, const char *name) {
  PyObject *n = PyObject_GetAttrString((PyObject *)Py_TYPE(o), "__name__");
  bool r = n && PyUnicode_Check(n) && PyUnicode_CompareWithASCIIString(n, name) == 0;
  if (!n) PyErr_Clear();
  Py_XDECREF(n);
  return r;
}

/* 1: fits, *v may be replaced by a new reference in *made; 0: does not fit; -1: error */
static int check(const Param *p, PyObject **v, PyObject **made) {
  PyObject *o = *v;
  *made = NULL;
  if (o == Py_None && p->optional) return 1;
  switch (p->kind) {
  case K_TENSOR: return TL_CHECK(o) || (p->size && tl_number(v, made));
  case K_SCALAR:
    if (is_number(o)) return 1;
    if (TL_CHECK(o)) {
      TlTensor *t = (TlTensor *)o;
      if (t->ndim != 0 || t->requires_grad || t->grad_fn) return 0;
      return (*v = *made = tl_m_item(t, NULL)) ? 1 : -1;
    }
    return tl_number(v, made);
  case K_INT:
    if (is_int(o)) return 1;
    if (!is_index(o)) return 0;
    return (*v = *made = PyNumber_Index(o)) ? 1 : -1;
  case K_INTS: {
    if (o == Py_None && p->dflt && PyTuple_Check(p->dflt) && !PyTuple_Size(p->dflt)) {
      *v = p->dflt;
      return 1;
    } /* dim=[] takes None too */
    if (is_int(o) || (!plain_sequence(o) && is_index(o) && !PySequence_Check(o)) || is_int_tensor(o)) {
      if (!p->size) return 0;
      PyObject *t = PyTuple_New(p->size), *x = PyNumber_Index(o);
      if (!t || !x) {
        Py_XDECREF(t);
        Py_XDECREF(x);
        return -1;
      }
      for (int i = 0; i < p->size; i++) PyTuple_SetItem(t, i, Py_NewRef(x));
      Py_DECREF(x);
      *v = *made = t;
      return 1;
    }
    if (!plain_sequence(o)) return 0;
    Py_ssize_t n = PyObject_Size(o);
    bool clean = PyTuple_Check(o);
    for (Py_ssize_t i = 0; i < n; i++) {
      PyObject *x = seq_item(o, i);
      if (is_int(x)) continue;
      if (!is_index(x)) return 0;
      clean = false;
    }
    if (clean) return 1;
    PyObject *t = PyTuple_New(n);
    if (!t) return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
      PyObject *x = PyNumber_Index(seq_item(o, i));
      if (!x) {
        Py_DECREF(t);
        return -1;
      }
      PyTuple_SetItem(t, i, x);
    }
    *v = *made = t;
    return 1;
  }
  case K_TENSORS:
  case K_OPT_TENSORS: {
    if (!plain_sequence(o)) return 0;
    Py_ssize_t n = PyObject_Size(o);
    for (Py_ssize_t i = 0; i < n; i++) {
      PyObject *x = seq_item(o, i);
      if (!TL_CHECK(x) && !(p->kind == K_OPT_TENSORS && x == Py_None)) return 0;
    }
    if (PyTuple_Check(o)) return 1;
    return (*v = *made = PyList_AsTuple(o)) ? 1 : -1; /* reading a later argument may run code that changes the list */
  }
  case K_FLOAT:
    if (PyFloat_Check(o) || PyLong_Check(o)) return 1;
    if (TL_CHECK(o)) {
      TlTensor *t = (TlTensor *)o;
      if (t->ndim != 0 || t->requires_grad || tl_is_complex(t->dtype)) return 0;
      return (*v = *made = tl_m_item(t, NULL)) ? 1 : -1;
    }
    return PyComplex_Check(o) ? 0 : tl_number(v, made);
  case K_BOOL:
    if (PyBool_Check(o)) return 1;
    return 0;
  case K_STR: return PyUnicode_Check(o);
  case K_DTYPE:
    if (Py_TYPE(o) == (PyTypeObject *)tl_reg.dtype) return 1;
    if (o == (PyObject *)&PyFloat_Type || o == (PyObject *)&PyLong_Type || o == (PyObject *)&PyBool_Type ||
        o == (PyObject *)&PyComplex_Type) {
      tl_dtype d;
      tl_dtype_arg(o, TL_F32, &d);
      *v = *made = tl_dtype_object(d);
      return 1;
    }
    return 0;
  case K_DEVICE: return PyUnicode_Check(o) || is_int(o) || PyObject_IsInstance(o, tl_reg.device) == 1;
  case K_FLOATS:
  case K_SCALARS:
  case K_BOOLS: {
    if (!plain_sequence(o)) return 0;
    Py_ssize_t n = PyObject_Size(o);
    for (Py_ssize_t i = 0; i < n; i++)
      if (p->kind == K_BOOLS ? !PyBool_Check(seq_item(o, i)) : !is_number(seq_item(o, i))) return 0;
    return 1;
  }
  case K_LAYOUT: return type_named(o, "layout");
  case K_MEMFMT: return type_named(o, "memory_format");
  case K_GENERATOR: return !is_number(o) && !PyUnicode_Check(o) && !plain_sequence(o) && !TL_CHECK(o);
  default: return 1;
  }
}

/* ---- binding
 * --------------------------------------------------------------------------------------------------------- */
static int same_name(PyObject *a, PyObject *b) { return a == b || PyUnicode_Compare(a, b) == 0; }

/* 1 bound, 0 no fit, -1 error. made[] collects new references. */
static int bind(Overload *ov, bool method, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames, PyObject **bound,
                PyObject **made, int *nmade) {
  if (!ov->ready && compile(ov) < 0) return -1;
  int np = ov->nparams;
  Py_ssize_t used = 0;
  PyObject *m;
  for (int i = 0; i < np; i++) bound[i] = NULL;
  int pack = method ? ov->vararg_method : ov->vararg_function, at = method ? 1 : 0;
  if (pack && nargs > at && (is_index(args[at]) || nargs > at + 1)) { /* f(2, 3) for f((2, 3)) */
    PyObject *t = PyTuple_New(nargs - at);
    if (!t) return -1;
    made[(*nmade)++] = t;
    for (Py_ssize_t i = at; i < nargs; i++) {
      if (!is_index(args[i])) return 0;
      PyObject *x = PyNumber_Index(args[i]);
      if (!x) return -1;
      PyTuple_SetItem(t, i - at, x);
    }
    if (at) {
      PyObject *o = args[0];
      if (check(&ov->params[0], &o, &m) != 1) return 0;
      bound[0] = o;
    }
    bound[at] = t;
    used = nargs;
  } else {
    if (nargs > ov->npos) return 0;
    for (; used < nargs; used++) {
      PyObject *o = args[used];
      int r = check(&ov->params[used], &o, &m);
      if (m) made[(*nmade)++] = m;
      if (r != 1) return r;
      bound[used] = o;
    }
  }
  if (kwnames) {
    Py_ssize_t nk = PyTuple_Size(kwnames);
    for (Py_ssize_t k = 0; k < nk; k++) {
      PyObject *name = PyTuple_GetItem(kwnames, k), *o = args[nargs + k];
      if (!o) continue; /* out=, taken already */
      int i;
      for (i = 0; i < np; i++)
        if (same_name(ov->params[i].name, name) || (ov->params[i].alias && same_name(ov->params[i].alias, name))) break;
      if (i == np || bound[i]) return 0;
      if (o == Py_None && ov->params[i].dflt == Py_None) {
        bound[i] = o;
        continue;
      }
      int r = check(&ov->params[i], &o, &m);
      if (m) made[(*nmade)++] = m;
      if (r != 1) return r;
      bound[i] = o;
    }
  }
  for (int i = 0; i < np; i++)
    if (!bound[i]) {
      if (!ov->params[i].dflt) return 0;
      bound[i] = ov->params[i].dflt;
    }
  return !(ov->flags & F_INPLACE) || TL_CHECK(bound[0]); /* a number cannot be written to */
}

/* ---- dispatch
 * -------------------------------------------------------------------------------------------------------- */
bool tl_requires_grad(const TlTensor *t) {
  if (t->requires_grad || t->grad_fn) return true;
  if (t->base) {
    const TlTensor *b = (const TlTensor *)t->base;
    return b->requires_grad || b->grad_fn;
  }
  return false;
}

/* other: a tensor is on another device; check: a device or layout argument says something that Python must look at */
typedef struct {
  bool grad, other, function, check;
} Scan;

static void see_tensor(PyObject *o, Scan *s) {
  TlTensor *t = (TlTensor *)o;
  PyTypeObject *tp = Py_TYPE(o);
  if (tp != tl_TensorClass && tp != plain_type) {
    PyObject *f = PyObject_GetAttrString((PyObject *)tp, "__torch_function__");
    if (!f) PyErr_Clear();
    else if (PyObject_HasAttrString(f, "_tl_plain")) plain_type = tp;
    else s->function = true;
    Py_XDECREF(f);
  }
  if (t->device != TL_CPU) s->other = true;
  if (!s->grad && tl_requires_grad(t)) s->grad = true;
}

static void scan_args(Overload *ov, PyObject *const *a, Scan *s) {
  for (int i = 0; i < ov->nparams; i++) {
    PyObject *o = a[i];
    int kind = ov->params[i].kind;
    if (kind == K_TENSOR) {
      if (TL_CHECK(o)) see_tensor(o, s);
    } else if ((kind == K_TENSORS || kind == K_OPT_TENSORS) && o != Py_None) {
      Py_ssize_t n = PyObject_Size(o);
      for (Py_ssize_t j = 0; j < n; j++) {
        PyObject *x = seq_item(o, j);
        if (x != Py_None) see_tensor(x, s);
      }
    } else if (kind == K_DEVICE && o != Py_None) {
      PyObject *d = PyObject_IsInstance(o, tl_reg.device) == 1 ? Py_NewRef(o)
                                                               : PyObject_CallFunctionObjArgs(tl_reg.device, o, NULL);
      if (!d) {
        PyErr_Clear();
        s->check = true;
        continue;
      } /* the other path words the error */
      if (d != tl_reg.devices[TL_CPU]) {
        PyObject *tp = PyObject_GetAttrString(d, "type");
        if (tp && PyUnicode_CompareWithASCIIString(tp, "cpu")) s->check = true;
        Py_XDECREF(tp);
      }
      Py_DECREF(d);
    } else if (kind == K_LAYOUT && o != Py_None) {
      PyObject *name = PyObject_Str(o);
      if (name && PyUnicode_CompareWithASCIIString(name, "torch.strided")) s->check = true;
      Py_XDECREF(name);
    }
  }
}

/* Kernels see plain memory only: b is a with direct copies of tensors that are TL_INDIRECT. Returns the number of
 * copies, which are in own, or -1. */
static int direct_args(Overload *ov, PyObject *const *a, PyObject **b, PyObject **own) {
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

/* An op's body. F_OWN: a result that is a view of work space, which nobody else can reach, has no base. */
static PyObject *run_body(Overload *ov, PyObject *const *a) {
  PyObject *r = PyObject_Vectorcall(ov->body, a, (size_t)ov->nparams, NULL);
  if (!r) return NULL;
  if (ov->flags & F_VIEW) {
    mark_views(r);
  } else if (ov->flags & F_OWN && TL_CHECK(r)) {
    TlTensor *t = (TlTensor *)r;
    bool own = t->base;
    for (int j = 0; own && j < ov->nparams; j++) own = !TL_CHECK(a[j]) || ((TlTensor *)a[j])->storage != t->storage;
    if (own) {
      Py_CLEAR(t->base);
      t->flags &= (uint16_t)~(TL_UNRECORDED | TL_ONE_OF_MANY | TL_OF_INFERENCE);
    }
  }
  return r;
}

/* the kernel, or on another device what the device has for it; views are geometry, the same everywhere */
static PyObject *run_kernel(Overload *ov, PyObject *const *a, bool other) {
  PyObject *r = NULL;
  if (!other || ov->kernel->flags & TL_K_GEOMETRY) return ov->kernel->fn(ov->kernel, a, ov->nparams, NULL);
  if (ov->entries && tl_gpu_op(ov->entries, a, ov->nparams, ov->flags & F_INPLACE, &r)) return r;
  return vcall_with(tl_reg.device_run, ov, a, NULL);
}

/* kernel, else body */
static PyObject *run(Overload *ov, PyObject *const *a, bool other) {
  ov->calls++;
  if (ov->kernel) {
    PyObject *b[MAX_PARAMS], *own[MAX_PARAMS], *r;
    int n = tl_any_indirect && !(ov->kernel->flags & TL_K_GEOMETRY) ? direct_args(ov, a, b, own) : 0;
    if (n < 0) return NULL;
    r = run_kernel(ov, n ? b : a, other);
    while (n) Py_DECREF(own[--n]);
    if (r != Py_NotImplemented) return r;
    Py_DECREF(r);
  }
  if (ov->body && ov->body != Py_None) return run_body(ov, a);
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

/* Does PyTorch's triu_ write there? Where the matrices do not follow each other it copies a result back, which checks.
 */
static bool matrices_follow(const TlTensor *t) {
  int n = t->ndim;
  int64_t next = n < 4 ? 0 : t->shape[n - 1] * t->shape[n - 2];
  bool follow = true;
  for (int d = n - 3; d >= 0 && n >= 4; d--) {
    if (d == 0 && (t->strides[d] == 0 || t->shape[d] == 1)) continue;
    follow = follow && t->strides[d] == next;
    next *= t->shape[d];
  }
  return follow;
}

/* Expanded tensors: writing one element writes others. PyTorch still lets some ops through, those of the second list
 * with a warning. */
static int check_overlap(const Overload *ov, const TlTensor *t) {
  static const char *const allowed[] = {"fill", "zero",       "fill_diagonal", "tril",
                                        "triu", "index_fill", "index_put",     "masked_fill"};
  if (ov->flags & F_VIEW || !tl_repeats(t)) return 0;
  PyObject *b = PyUnicode_AsUTF8String(ov->schema);
  if (!b) return -1;
  const char *s = PyBytes_AsString(b);
  size_t n = strcspn(s, "_.(");
  int rc = -1;
  while (s[n] == '_' && s[n + 1] != '(' && s[n + 1] != '.') n += 1 + strcspn(s + n + 1, "_.(");
  for (size_t i = 0; i < sizeof allowed / sizeof *allowed && rc; i++)
    if (strlen(allowed[i]) == n && !strncmp(s, allowed[i], n))
      rc = i < 5 ? (i < 3 || matrices_follow(t) ? 0 : -1)
                 : PyErr_WarnFormat(
                     PyExc_UserWarning, 1,
                     "Use of %s_ on expanded tensors is deprecated. Please clone() the tensor before performing this "
                     "operation. This also applies to advanced indexing e.g. tensor[%s] = %s",
                     allowed[i], i == 6 ? "indices" : "mask", i == 6 ? "tensor" : "scalar");
  Py_DECREF(b);
  if (rc && !PyErr_Occurred()) tl_repeats_error();
  return rc;
}

static int check_apart(const TlTensor *self, PyObject *const *a, Py_ssize_t n) {
  int rc = 0;
  if (PyTuple_Check(a[0]) || PyList_Check(a[0])) { /* index_put_: one number where a mask is true is filled in */
    Py_ssize_t masks = 0, m = PyObject_Size(a[0]);
    const TlTensor *mask = NULL;
    for (Py_ssize_t i = 0; i < m; i++)
      if (TL_CHECK(seq_item(a[0], i))) {
        mask = (const TlTensor *)seq_item(a[0], i);
        masks += mask->dtype == TL_BOOL || mask->dtype == TL_U8 ? 1 : 2;
      }
    if (masks == 1 && n > 1 && TL_CHECK(a[1]) && ((TlTensor *)a[1])->numel == 1)
      return mask->dtype == TL_BOOL && tl_check_overlap(self, mask) < 0 ? -1 : 0;
  }
  for (Py_ssize_t i = 0; i < n && rc == 0; i++) {
    if (TL_CHECK(a[i])) rc = tl_check_apart(self, (const TlTensor *)a[i]);
    else if (PyTuple_Check(a[i]) || PyList_Check(a[i]))
      for (Py_ssize_t j = 0; j < PyObject_Size(a[i]) && rc == 0; j++)
        if (TL_CHECK(seq_item(a[i], j))) rc = tl_check_apart(self, (const TlTensor *)seq_item(a[i], j));
  }
  return rc;
}

/* below autograd: self <- op(self, ...), by a kernel that writes in place, else by a copy */
static PyObject *run_inplace(Overload *ov, PyObject *const *a, bool other) {
  TlTensor *self = (TlTensor *)a[0];
  if (!tl_is_contiguous(self) && check_overlap(ov, self) < 0) return NULL;
  if (ov->kernel && tl_any_indirect && !(ov->kernel->flags & TL_K_GEOMETRY)) {
    PyObject *b[MAX_PARAMS], *own[MAX_PARAMS], *r = NULL;
    int n = direct_args(ov, a, b, own), ok = 0;
    if (n < 0) return NULL;
    if (n) {
      r = run_inplace(ov, b, other);
      ok = r && (b[0] == a[0] || tl_copy(self, (TlTensor *)b[0]) == 0); /* back from the direct copy */
      if (ok && b[0] != a[0]) tl_bump(self);
      Py_XDECREF(r);
      while (n) Py_DECREF(own[--n]);
      return ok ? Py_NewRef(self) : NULL;
    }
  }
  if (ov->kernel && ov->kernel->flags & TL_K_APART && check_apart(self, a + 1, ov->nparams - 1) < 0) return NULL;
  ov->calls++;
  PyObject *r = NULL;
  if (ov->kernel && !other && (ov->kernel->flags & TL_K_OUT)) {
    r = ov->kernel->fn(ov->kernel, a, ov->nparams, self);
    if (!r) return NULL;
    if (r != Py_NotImplemented) {
      tl_bump(self);
      return r;
    }
    Py_DECREF(r);
  }
  int64_t version = self->version ? self->version->value : 0;
  for (int i = 1; ov->flags & F_ORDERED && i < ov->nparams; i++) /* written element by element in PyTorch */
    if (TL_CHECK(a[i]) && tl_check_overlap(self, (const TlTensor *)a[i]) < 0) return NULL;
  r = run(ov, a, other);
  if (!r) return NULL;
  if (r == (PyObject *)self) {
    tl_bump(self);
    if (self->version && self->version->value != version + 1)
      self->version->value = version + 1; /* however often its body wrote */
    return r;
  }
  if (!TL_CHECK(r)) {
    PyErr_Format(PyExc_SystemError, "%U: in-place body must return a tensor", ov->schema);
    Py_DECREF(r);
    return NULL;
  }
  TlTensor *t = (TlTensor *)r;
  bool same = t->ndim == self->ndim;
  for (int i = 0; same && i < t->ndim; i++) same = t->shape[i] == self->shape[i];
  if (!same) {
    PyErr_Format(PyExc_RuntimeError, "output with shape %s doesn't match the broadcast shape %s",
                 tl_fmt_shape(self->ndim, self->shape), tl_fmt_shape(t->ndim, t->shape));
  } else if (tl_check_cast(t->dtype, self->dtype) == 0 && tl_copy(self, t) == 0) {
    tl_bump(self);
    Py_DECREF(r);
    return Py_NewRef(self);
  }
  Py_DECREF(r);
  return NULL;
}

bool tl_default_elsewhere; /* torch.set_default_device or `with torch.device(...)` names another device than the CPU */

static PyObject *dispatch_on(Overload *ov, PyObject *const *a, Scan s);

static PyObject *dispatch(Overload *ov, PyObject *const *a) {
  Scan s = {false, false, false, false};
  scan_args(ov, a, &s);
  if (tl_default_elsewhere && ov->device_at >= 0 && a[ov->device_at] == Py_None && !s.other) s.check = true;
  if (!s.check) return dispatch_on(ov, a, s);
  /* the arguments with the device filled in, when the result belongs elsewhere; None for the CPU */
  PyObject *r = vcall_with(tl_reg.dispatch_other, ov, a, NULL), *b[MAX_PARAMS];
  if (!r) return NULL;
  if (r != Py_None) {
    for (int i = 0; i < ov->nparams; i++) b[i] = PyTuple_GetItem(r, i);
    s.other = true;
    a = b;
  }
  PyObject *result = dispatch_on(ov, a, s);
  Py_DECREF(r);
  return result;
}

/* Where a real tensor meets a complex number, the tensor is made complex first: the gradient of that is real, while
 * those of arithmetic are of the result's kind. NULL without an error where there is nothing to do. */
static PyObject *made_complex(Overload *ov, PyObject *const *a, int *at) {
  int tensors = 0;
  bool number = false;
  for (int i = 0; i < ov->nparams; i++) {
    if (TL_CHECK(a[i])) {
      tensors++;
      *at = i;
    } else number = number || (i < 2 && PyComplex_Check(a[i])); /* not alpha, which a real tensor refuses */
  }
  if (!number || tensors != 1 || tl_is_complex(((TlTensor *)a[*at])->dtype)) return NULL;
  return PyObject_CallMethod(a[*at], ((TlTensor *)a[*at])->dtype == TL_F64 ? "cdouble" : "cfloat", NULL);
}

static PyObject *dispatch_on(Overload *ov, PyObject *const *a, Scan s) {
  bool grad = s.grad && tl_grad_mode && !tl_inference_mode;
  if ((ov->flags & F_INPLACE) && tl_check_inference((TlTensor *)a[0]) < 0) return NULL;
  if (ov->flags & F_INPLACE) return grad ? vcall_with(tl_reg.record_inplace, ov, a, NULL) : run_inplace(ov, a, s.other);
  if (grad && !(ov->flags & F_NODIFF)) {
    if (ov->flags & F_ARITHMETIC) {
      int at = 0;
      PyObject *b[MAX_PARAMS], *own = made_complex(ov, a, &at);
      if (own) {
        for (int i = 0; i < ov->nparams; i++) b[i] = i == at ? own : a[i];
        PyObject *r = vcall_with(tl_reg.record, ov, b, NULL);
        Py_DECREF(own);
        return r;
      }
      if (PyErr_Occurred()) return NULL;
    }
    if (ov->flags & F_GRAD) return vcall_with(tl_reg.record, ov, a, NULL);
    if (ov->body && ov->body != Py_None) {
      ov->calls++;
      return run_body(ov, a);
    }
    return vcall_with(tl_reg.record, ov, a, NULL); /* a primitive without a gradient: an error node */
  }
  PyObject *r = run(ov, a, s.other);
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

static PyObject *op_call(Op *op, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
  Py_ssize_t nargs = PyVectorcall_NARGS(nargsf), nk = kwnames ? PyTuple_Size(kwnames) : 0;
  PyObject *bound[MAX_PARAMS], *made[MAX_PARAMS * 2], *out = NULL, *result = NULL;
  PyObject *local[MAX_PARAMS * 2];
  int nmade = 0, r = 0;
  if (nk && op->allow_out && nargs + nk <= MAX_PARAMS * 2)
    for (Py_ssize_t k = 0; k < nk; k++)
      if (same_name(PyTuple_GetItem(kwnames, k), s_out)) {
        memcpy(local, args, sizeof(PyObject *) * (size_t)(nargs + nk));
        out = args[nargs + k] == Py_None ? NULL : args[nargs + k];
        local[nargs + k] = NULL;
        args = local;
        break;
      }
  Py_ssize_t n = PyList_Size(op->overloads);
  Overload *ov = NULL;
  for (Py_ssize_t i = 0; i < n; i++) {
    ov = (Overload *)PyList_GetItem(op->overloads, i);
    if (out && ov->flags & F_NO_OUT) continue;
    r = bind(ov, op->method, args, nargs, kwnames, bound, made, &nmade);
    if (r) break;
    while (nmade) Py_DECREF(made[--nmade]);
  }
  if (r == 1) {
    Scan s = {false, false, false, false};
    for (int i = 0; i < ov->nparams && !s.function; i++) {
      PyObject *o = bound[i];
      int kind = ov->params[i].kind;
      if (o == Py_None) continue;
      if (kind == K_TENSOR) {
        if (Py_TYPE(o) != tl_TensorClass && Py_TYPE(o) != plain_type && TL_CHECK(o)) see_tensor(o, &s);
      } else if (kind == K_TENSORS || kind == K_OPT_TENSORS) {
        Py_ssize_t m = PyObject_Size(o);
        for (Py_ssize_t j = 0; j < m; j++) {
          PyObject *x = seq_item(o, j);
          if (x != Py_None && Py_TYPE(x) != tl_TensorClass && Py_TYPE(x) != plain_type) see_tensor(x, &s);
        }
      }
    }
    if (s.function) {
      PyObject *t = PyTuple_New(nargs), *kw = PyDict_New();
      for (Py_ssize_t i = 0; t && i < nargs; i++) PyTuple_SetItem(t, i, Py_NewRef(args[i]));
      for (Py_ssize_t k = 0; kw && k < nk; k++)
        PyDict_SetItem(kw, PyTuple_GetItem(kwnames, k), args[nargs + k] ? args[nargs + k] : out ? out : Py_None);
      if (t && kw) result = PyObject_CallFunctionObjArgs(tl_reg.torch_function, (PyObject *)op, t, kw, NULL);
      Py_XDECREF(t);
      Py_XDECREF(kw);
    } else {
      int64_t mark =
        tl_profiling ? tl_profile_begin(ov->schema, ov->flags & F_INPLACE ? 1 : 0, bound, ov->nparams) : -1;
      result = mark == -2 ? NULL : out ? vcall_with(tl_reg.call_out, ov, bound, out) : dispatch(ov, bound);
      if (mark >= 0) tl_profile_end(mark);
      if (result && ov->named && PyTuple_CheckExact(result)) {
        PyObject *named = PyObject_CallFunctionObjArgs(ov->named, result, NULL);
        Py_DECREF(result);
        result = named;
      }
    }
  } else if (r == 0) {
    PyObject *t = PyTuple_New(nargs), *kw = PyDict_New();
    for (Py_ssize_t i = 0; t && i < nargs; i++) PyTuple_SetItem(t, i, Py_NewRef(args[i]));
    for (Py_ssize_t k = 0; kw && k < nk; k++)
      if (args[nargs + k]) PyDict_SetItem(kw, PyTuple_GetItem(kwnames, k), args[nargs + k]);
    if (t && kw)
      result = PyObject_CallFunctionObjArgs(tl_reg.bind_error, (PyObject *)op, t, kw, out ? out : Py_None, NULL);
    Py_XDECREF(t);
    Py_XDECREF(kw);
  }
  while (nmade) Py_DECREF(made[--nmade]);
  return result;
}

/* ---- Python types
 * ---------------------------------------------------------------------------------------------------- */
static const TlKernel *find_kernel(const char *name, PyObject *overload);

/* Overload(schema, kernel name or None, body or None, spec, flags) */
static PyObject *overload_new(PyTypeObject *tp, PyObject *args, PyObject *kw) {
  (void)kw;
  PyObject *schema, *kernel, *body, *spec;
  int flags;
  if (!PyArg_ParseTuple(args, "UOOOi", &schema, &kernel, &body, &spec, &flags)) return NULL;
  Overload *ov = (Overload *)PyType_GenericAlloc(tp, 0);
  if (!ov) return NULL;
  ov->schema = Py_NewRef(schema);
  ov->body = Py_NewRef(body);
  ov->spec = Py_NewRef(spec);
  ov->flags = flags;
  if (kernel != Py_None) {
    PyObject *b = PyUnicode_AsUTF8String(kernel);
    if (b) ov->kernel = find_kernel(PyBytes_AsString(b), (PyObject *)ov);
    Py_XDECREF(b);
    if (!ov->kernel) {
      if (!PyErr_Occurred())
        PyErr_Format(PyExc_ValueError, "the core has no kernel '%U', which the declaration of %U names", kernel,
                     schema);
      Py_DECREF(ov);
      return NULL;
    }
  }
  return (PyObject *)ov;
}
static int overload_traverse(Overload *ov, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(ov));
  Py_VISIT(ov->body);
  Py_VISIT(ov->spec);
  return 0;
}
static int overload_clear(Overload *ov) {
  Py_CLEAR(ov->body);
  Py_CLEAR(ov->spec);
  return 0;
}
static void overload_dealloc(Overload *ov) {
  PyTypeObject *tp = Py_TYPE(ov);
  PyObject_GC_UnTrack(ov);
  overload_clear(ov);
  Py_XDECREF(ov->schema);
  Py_XDECREF(ov->params_object);
  Py_XDECREF(ov->named);
  PyMem_Free(ov->params);
  tl_gpu_forget(ov->entries);
  PyObject_GC_Del(ov);
  Py_DECREF(tp);
}
static PyObject *ov_params(Overload *ov, void *_) {
  (void)_;
  if (!ov->ready && compile(ov) < 0) return NULL;
  return Py_NewRef(ov->params_object);
}
static PyObject *ov_kernel(Overload *ov, void *_) {
  (void)_;
  return ov->kernel ? PyUnicode_FromString(ov->kernel->name) : Py_NewRef(Py_None);
}
static PyObject *ov_schema(Overload *ov, void *_) {
  (void)_;
  return Py_NewRef(ov->schema);
}
static PyObject *ov_spec(Overload *ov, void *_) {
  (void)_;
  return Py_NewRef(ov->spec);
}
static PyObject *ov_body(Overload *ov, void *_) {
  (void)_;
  return Py_NewRef(ov->body);
}
static int ov_set_body(Overload *ov, PyObject *v, void *_) {
  (void)_;
  Py_XSETREF_(ov->body, Py_NewRef(v));
  return 0;
}
static PyObject *ov_inplace(Overload *o, void *c) {
  (void)c;
  return PyBool_FromLong(o->flags & F_INPLACE);
}
static PyObject *ov_calls(Overload *ov, void *_) {
  (void)_;
  return PyLong_FromLongLong(ov->calls);
}
static PyGetSetDef overload_getset[] = {
  {"params", (getter)ov_params, NULL,
   "(name, alias, default, kind, optional, keyword-only, list size) for each parameter", NULL},
  {"kernel", (getter)ov_kernel, NULL, "Name of the CPU kernel, or None.", NULL},
  {"schema", (getter)ov_schema, NULL, "PyTorch's schema.", NULL},
  {"spec", (getter)ov_spec, NULL, "The declaration.", NULL},
  {"body", (getter)ov_body, (setter)ov_set_body, "The Python body.", NULL},
  {"inplace", (getter)ov_inplace, NULL, "Whether it writes its first argument.", NULL},
  {"calls", (getter)ov_calls, NULL, "How often it ran.", NULL},
  {0}};
static PyType_Slot overload_slots[] = {{Py_tp_new, overload_new},           {Py_tp_dealloc, overload_dealloc},
                                       {Py_tp_traverse, overload_traverse}, {Py_tp_clear, overload_clear},
                                       {Py_tp_getset, overload_getset},     {0, NULL}};
static PyType_Spec overload_spec = {"torchlite._C.Overload", sizeof(Overload), 0,
                                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, overload_slots};

/* Op(name, overloads list, allow_out), OpMethod(...) */
static PyObject *op_new(PyTypeObject *tp, PyObject *args, PyObject *kw) {
  (void)kw;
  PyObject *name, *overloads;
  int allow_out;
  if (!PyArg_ParseTuple(args, "UOi", &name, &overloads, &allow_out)) return NULL;
  Op *op = (Op *)PyType_GenericAlloc(tp, 0);
  if (!op) return NULL;
  op->vectorcall = (vectorcallfunc)op_call;
  op->name = Py_NewRef(name);
  op->overloads = Py_NewRef(overloads);
  op->method = tp == op_method_type;
  op->allow_out = allow_out;
  return (PyObject *)op;
}
static int op_traverse(Op *op, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(op));
  Py_VISIT(op->overloads);
  return 0;
}
static int op_clear(Op *op) {
  Py_CLEAR(op->overloads);
  return 0;
}
static void op_dealloc(Op *op) {
  PyTypeObject *tp = Py_TYPE(op);
  PyObject_GC_UnTrack(op);
  op_clear(op);
  Py_XDECREF(op->name);
  Py_XDECREF(op->doc);
  Py_XDECREF(op->owner);
  PyObject_GC_Del(op);
  Py_DECREF(tp);
}
static PyObject *op_repr(Op *op) {
  return PyUnicode_FromFormat(op->method ? "<method '%U' of 'torch._C.TensorBase' objects>" : "<built-in method %U>",
                              op->name);
}
static PyObject *op_get(PyObject *self, PyObject *obj, PyObject *type) {
  (void)type;
  if (!obj || obj == Py_None) return Py_NewRef(self);
  static PyObject *method_type;
  if (!method_type) {
    PyObject *types = PyImport_ImportModule("types");
    method_type = types ? PyObject_GetAttrString(types, "MethodType") : NULL;
    Py_XDECREF(types);
    if (!method_type) return NULL;
  }
  return PyObject_CallFunctionObjArgs(method_type, self, obj, NULL);
}
static PyObject *op_name(Op *op, void *_) {
  (void)_;
  return Py_NewRef(op->name);
}
static PyObject *op_qualname(Op *op, void *_) {
  (void)_;
  return op->method ? PyUnicode_FromFormat("Tensor.%U", op->name) : Py_NewRef(op->name);
}
static PyObject *op_module(Op *op, void *_) {
  (void)_;
  return op->owner ? Py_NewRef(op->owner) : PyUnicode_FromString("torch");
}
static int op_set_module(Op *op, PyObject *v, void *_) {
  (void)_;
  Py_XSETREF_(op->owner, Py_XNewRef(v));
  return 0;
}
static PyObject *op_overloads(Op *op, void *_) {
  (void)_;
  return Py_NewRef(op->overloads);
}
static PyObject *op_method(Op *op, void *_) {
  (void)_;
  return PyBool_FromLong(op->method);
}
static PyObject *op_takes_out(Op *op, void *_) {
  (void)_;
  return PyBool_FromLong(op->allow_out);
}
static PyObject *op_doc(Op *op, void *_) {
  (void)_;
  return Py_NewRef(op->doc ? op->doc : Py_None);
}
static int op_set_doc(Op *op, PyObject *v, void *_) {
  (void)_;
  Py_XSETREF_(op->doc, Py_NewRef(v));
  return 0;
}
static int op_set_out(Op *op, PyObject *v, void *_) {
  (void)_;
  op->allow_out = v && PyObject_IsTrue(v) == 1;
  return 0;
}
static PyGetSetDef op_getset[] = {
  {"__name__", (getter)op_name, NULL, NULL, NULL},
  {"__qualname__", (getter)op_qualname, NULL, NULL, NULL},
  {"__module__", (getter)op_module, (setter)op_set_module, NULL, NULL},
  {"overloads", (getter)op_overloads, NULL, NULL, NULL},
  {"is_method", (getter)op_method, NULL, NULL, NULL},
  {"takes_out", (getter)op_takes_out, (setter)op_set_out, "Whether it has the argument `out`.", NULL},
  {"__doc__", (getter)op_doc, (setter)op_set_doc, NULL, NULL},
  {0}};
static PyMemberDef op_members[] = {{"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(Op, vectorcall), Py_READONLY, NULL},
                                   {0}};
/* two types: a method binds to its tensor, a function kept as a class attribute does not (as builtins) */
#define OP_SLOTS                                                                                                       \
  {Py_tp_new, op_new}, {Py_tp_dealloc, op_dealloc}, {Py_tp_traverse, op_traverse}, {Py_tp_clear, op_clear},            \
      {Py_tp_call, PyVectorcall_Call}, {Py_tp_repr, op_repr}, {Py_tp_getset, op_getset}, {Py_tp_members, op_members}
#define OP_FLAGS (Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL)
#define TPFLAGS_METHOD_DESCRIPTOR (1UL << 17)      /* part of the stable ABI, missing from the limited headers */
static PyType_Slot op_slots[] = {OP_SLOTS, {0, NULL}};
static PyType_Slot op_method_slots[] = {OP_SLOTS, {Py_tp_descr_get, op_get}, {0, NULL}};
static PyType_Spec op_spec = {"torchlite._C.Op", sizeof(Op), 0, OP_FLAGS, op_slots};
static PyType_Spec op_method_spec = {"torchlite._C.OpMethod", sizeof(Op), 0, OP_FLAGS | TPFLAGS_METHOD_DESCRIPTOR,
                                     op_method_slots};

/* ---- kernels as Python callables
 * --------------------------------------------------------------------------------------- */
static int fit(Overload *ov, PyObject *const *from, Py_ssize_t n, PyObject **a, PyObject **made);
/* overloads: of the ops that name the kernel; what they say of the arguments holds for calls by name too */
typedef struct {
  PyObject_HEAD vectorcallfunc vectorcall;
  const TlKernel *k;
  PyObject *overloads;
} KernelObject;
static PyObject *kernel_call(KernelObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
  Py_ssize_t n = PyVectorcall_NARGS(nargsf), nk = kwnames ? PyTuple_Size(kwnames) : 0;
  const TlKernel *k = self->k;
  PyObject *a[MAX_PARAMS], *b[MAX_PARAMS], *made[MAX_PARAMS], *own[MAX_PARAMS], *r = NULL;
  Overload *ov = NULL;
  TlTensor *out = nk && args[n] != Py_None ? (TlTensor *)args[n] : NULL;
  int nmade = -1;
  if (nk > 1 || (nk && !same_name(PyTuple_GetItem(kwnames, 0), s_out)) ||
      (out && !(k->flags & TL_K_OUT && n && args[0] == (PyObject *)out && TL_CHECK(out))))
    return PyErr_Format(PyExc_TypeError, "%s: out is the only keyword, and is the first argument or None", k->name);
  if (k->flags & TL_K_CHECKS) return k->fn(k, args, n, out);
  for (Py_ssize_t i = 0; nmade < 0 && i < PyList_Size(self->overloads); i++) {
    ov = (Overload *)PyList_GetItem(self->overloads, i);
    PyErr_Clear();
    if (!ov->ready && compile(ov) < 0) return NULL;
    nmade = fit(ov, args, n, a, made);
  }
  if (nmade < 0)
    return PyErr_Occurred() ? NULL
                            : PyErr_Format(PyExc_TypeError, "%s: no op that has this kernel is declared yet", k->name);
  if (out && a[0] != (PyObject *)out)
    PyErr_Format(PyExc_TypeError, "%s: out is where the schema has a number", k->name);
  else if (tl_any_device && !(k->flags & TL_K_GEOMETRY) && tl_args_elsewhere(a, (int)n))
    PyErr_Format(PyExc_RuntimeError, "%s: a tensor is not on the CPU", k->name);
  else if (!tl_any_indirect || k->flags & TL_K_GEOMETRY) r = k->fn(k, a, n, out);
  else {
    int copies = direct_args(ov, a, b, own);
    if (copies >= 0 && out && b[0] != a[0]) PyErr_Format(PyExc_RuntimeError, "%s: out is not plain memory", k->name);
    else if (copies >= 0) r = k->fn(k, b, n, out);
    while (copies > 0) Py_DECREF(own[--copies]);
  }
  while (nmade) Py_DECREF(made[--nmade]);
  return r;
}
static PyObject *kernel_geometry(KernelObject *self, void *_) {
  (void)_;
  return PyBool_FromLong(self->k->flags & TL_K_GEOMETRY);
}
static PyObject *kernel_in_place(KernelObject *self, void *_) {
  (void)_;
  return PyBool_FromLong(self->k->flags & TL_K_OUT);
}
static PyGetSetDef kernel_getset[] = {
  {"geometry", (getter)kernel_geometry, NULL, "Whether it looks at no element.", NULL},
  {"in_place", (getter)kernel_in_place, NULL, "Whether it can write into its first argument.", NULL},
  {0}};
static PyMemberDef kernel_members[] = {
  {"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(KernelObject, vectorcall), Py_READONLY, NULL}, {0}};
static void kernel_dealloc(KernelObject *o) {
  PyTypeObject *tp = Py_TYPE(o);
  Py_XDECREF(o->overloads);
  PyObject_Free(o);
  Py_DECREF(tp);
}
static PyType_Slot kernel_slots[] = {{Py_tp_call, PyVectorcall_Call},
                                     {Py_tp_members, kernel_members},
                                     {Py_tp_getset, kernel_getset},
                                     {Py_tp_dealloc, kernel_dealloc},
                                     {0, NULL}};
static PyType_Spec kernel_spec = {"torchlite._C.Kernel", sizeof(KernelObject), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL, kernel_slots};
static PyObject *kernels; /* name -> Kernel */

static const TlKernel *find_kernel(const char *name, PyObject *overload) {
  KernelObject *o = (KernelObject *)PyDict_GetItemString(kernels, name);
  if (!o || !Py_IS_TYPE(o, kernel_type)) return NULL;
  return PyList_Append(o->overloads, overload) < 0 ? NULL : o->k;
}
int tl_add_kernels(const TlKernel *table) {
  for (const TlKernel *k = table; k->name; k++) {
    KernelObject *o = (KernelObject *)PyType_GenericAlloc(kernel_type, 0);
    if (!o) return -1;
    o->vectorcall = (vectorcallfunc)kernel_call;
    o->k = k;
    if (!(o->overloads = PyList_New(0))) {
      Py_DECREF(o);
      return -1;
    }
    int r = PyDict_SetItemString(kernels, k->name, (PyObject *)o);
    Py_DECREF(o);
    if (r < 0) return -1;
  }
  return 0;
}

void **tl_overload_entries(PyObject *o) { return Py_IS_TYPE(o, overload_type) ? &((Overload *)o)->entries : NULL; }
const TlKernel *tl_overload_kernel(PyObject *o, bool *inplace) {
  *inplace = ((Overload *)o)->flags & F_INPLACE;
  return ((Overload *)o)->kernel;
}

/* ---- functions
 * --------------------------------------------------------------------------------------------------------- */
/* The arguments of a call that did not come through bind(): a[] for ov's kernel and body, new references in made[].
 * Returns how many those are; -1 with TypeError where the arguments are not what the schema says. */
static int fit(Overload *ov, PyObject *const *from, Py_ssize_t n, PyObject **a, PyObject **made) {
  int nmade = 0, r = n == ov->nparams;
  for (int i = 0; r == 1 && i < ov->nparams; i++) {
    PyObject *m = NULL;
    a[i] = from[i];
    if (ov->params[i].kind == K_TENSOR && Py_TYPE(from[i]) == tl_TensorClass) continue;
    r = check(&ov->params[i], &a[i], &m);
    if (m) made[nmade++] = m;
  }
  if (r == 1 && !((ov->flags & F_INPLACE) && !TL_CHECK(a[0]))) return nmade;
  while (nmade) Py_DECREF(made[--nmade]);
  if (!PyErr_Occurred()) PyErr_Format(PyExc_TypeError, "these are not the arguments of %U", ov->schema);
  return -1;
}

/* (overload, tuple of its arguments in the order of the schema); from: the tuple's items, *count of them */
static Overload *entrance(const char *name, PyObject *const *args, Py_ssize_t n, PyObject **from, Py_ssize_t *count) {
  if (n != 2 || !Py_IS_TYPE(args[0], overload_type) || !PyTuple_Check(args[1]) ||
      (*count = PyTuple_Size(args[1])) > MAX_PARAMS) {
    PyErr_Format(PyExc_TypeError, "%s(overload, tuple of its arguments)", name);
    return NULL;
  }
  Overload *ov = (Overload *)args[0];
  if (!ov->ready && compile(ov) < 0) return NULL;
  for (Py_ssize_t i = 0; i < *count; i++) from[i] = PyTuple_GetItem(args[1], i);
  return ov;
}

static PyObject *run_below(Overload *ov, PyObject *const *a, bool inplace) {
  bool old = tl_grad_mode, was_below = tl_below, other = tl_any_device && tl_args_elsewhere(a, ov->nparams);
  tl_grad_mode = false;
  tl_below = true;
  PyObject *r = inplace ? run_inplace(ov, a, other) : run(ov, a, other);
  tl_grad_mode = old;
  tl_below = was_below;
  return r;
}
PyObject *tl_run_below(PyObject *ov, PyObject *const *a) { return run_below((Overload *)ov, a, false); }

enum { CALL_OVERLOAD, CALL_BELOW, CALL_INPLACE_BELOW };
static PyObject *enter(PyObject *const *args, Py_ssize_t n, int how, const char *name) {
  PyObject *from[MAX_PARAMS], *a[MAX_PARAMS], *made[MAX_PARAMS], *r;
  Py_ssize_t count;
  Overload *ov = entrance(name, args, n, from, &count);
  if (!ov) return NULL;
  if (how == CALL_INPLACE_BELOW && !(ov->flags & F_INPLACE))
    return PyErr_Format(PyExc_TypeError, "%s: %U does not write in place", name, ov->schema);
  int nmade = fit(ov, from, count, a, made);
  if (nmade < 0) return NULL;
  r = how == CALL_OVERLOAD ? dispatch(ov, a) : run_below(ov, a, how == CALL_INPLACE_BELOW);
  while (nmade) Py_DECREF(made[--nmade]);
  return r;
}
/* call_below(overload, args): kernel or body without recording; call_inplace_below: the same for in-place */
static PyObject *call_below(PyObject *m, PyObject *const *args, Py_ssize_t n) {
  (void)m;
  return enter(args, n, CALL_BELOW, "call_below");
}
static PyObject *call_inplace_below(PyObject *m, PyObject *const *args, Py_ssize_t n) {
  (void)m;
  return enter(args, n, CALL_INPLACE_BELOW, "call_inplace_below");
}
static PyObject *call_overload(PyObject *m, PyObject *const *args, Py_ssize_t n) {
  (void)m;
  return enter(args, n, CALL_OVERLOAD, "call_overload");
}
static PyObject *set_default_elsewhere(PyObject *m, PyObject *o) {
  (void)m;
  tl_default_elsewhere = PyObject_IsTrue(o) == 1;
  Py_RETURN_NONE;
}
static PyObject *requires_grad(PyObject *m, PyObject *o) {
  (void)m;
  return PyBool_FromLong(TL_CHECK(o) && tl_requires_grad((TlTensor *)o));
}
static PyMethodDef functions[] = {
  {"call_below", (PyCFunction)(void *)call_below, METH_FASTCALL, "call_below(overload, args): run without recording"},
  {"call_inplace_below", (PyCFunction)(void *)call_inplace_below, METH_FASTCALL, "in-place run without recording"},
  {"call_overload", (PyCFunction)(void *)call_overload, METH_FASTCALL, "call_overload(overload, args): full dispatch"},
  {"set_default_elsewhere", set_default_elsewhere, METH_O,
   "Whether tensors are made on another device where none is named."},
  {"requires_grad", requires_grad, METH_O, "requires_grad, views of changed bases included"},
  {0}};

int tl_op_init(PyObject *mod) {
  s_out = PyUnicode_InternFromString("out");
  overload_type = (PyTypeObject *)PyType_FromSpec(&overload_spec);
  op_type = (PyTypeObject *)PyType_FromSpec(&op_spec);
  op_method_type = (PyTypeObject *)PyType_FromSpec(&op_method_spec);
  kernel_type = (PyTypeObject *)PyType_FromSpec(&kernel_spec);
  kernels = PyDict_New();
  if (!s_out || !overload_type || !op_type || !op_method_type || !kernel_type || !kernels) return -1;
  if (PyModule_AddObjectRef(mod, "Overload", (PyObject *)overload_type) < 0 ||
      PyModule_AddObjectRef(mod, "Op", (PyObject *)op_type) < 0 ||
      PyModule_AddObjectRef(mod, "OpMethod", (PyObject *)op_method_type) < 0 ||
      PyModule_AddObjectRef(mod, "kernels", kernels) < 0)
    return -1;
#define X(name, bit) \
  if (PyModule_AddIntConstant(mod, #name, name) < 0) return -1;
  OVERLOAD_FLAGS(X)
#undef X
  return PyModule_AddFunctions(mod, functions);
}
