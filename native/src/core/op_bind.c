/* op_bind.c: an overload's parameters, and whether the arguments of a call fit them. */
#include "core/op.h"
#include "random/rng.h"

/* ---- schema */
int tl_op_compile(Overload *ov) {
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
  ov->tensors = ov->places = 0;
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
    if (kind == K_TENSOR || kind == K_TENSORS || kind == K_OPT_TENSORS) ov->tensors |= 1u << i;
    if (kind == K_DEVICE || kind == K_LAYOUT) ov->places |= 1u << i;
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
  if (ov->device_at >= 0 && !ov->tensors) ov->flags |= F_FACTORY;
  ov->params_object = list; /* keeps the borrowed pointers above alive */
  ov->nparams = (int)n;
  ov->npos = pos;
  ov->vararg_function = pos == 1 && ov->params[0].kind == K_INTS && !ov->params[0].size;
  ov->vararg_method = pos == 2 && ov->params[1].kind == K_INTS && !ov->params[1].size;
  ov->ready = 1;
  return 0;
}

/* ---- type checks */
static inline bool is_int(PyObject *o) { return PyLong_Check(o) && !PyBool_Check(o); }
static bool is_number(PyObject *o) { return PyLong_Check(o) || PyFloat_Check(o) || PyComplex_Check(o); }
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
/* an element of a list of integers: as in PyTorch, only the first cannot be a bool */
static bool is_element(PyObject *o, Py_ssize_t i) { return is_index(o) || (i && PyBool_Check(o)); }
static PyObject *element(PyObject *o) {
  if (Py_TYPE(o) == &PyLong_Type) return Py_NewRef(o);
  return PyBool_Check(o) ? PyLong_FromLong(o == Py_True) : PyNumber_Index(o);
}
static bool plain_sequence(PyObject *o) { return PyTuple_Check(o) || PyList_Check(o); }
static bool type_named(PyObject *o, const char *name) {
  PyObject *n = PyObject_GetAttrString((PyObject *)Py_TYPE(o), "__name__");
  bool r = n && PyUnicode_Check(n) && PyUnicode_CompareWithASCIIString(n, name) == 0;
  if (!n) PyErr_Clear();
  Py_XDECREF(n);
  return r;
}

/* Whether t is dual (forward mode): read as a number it would lose its tangent. */
bool tl_has_tangent(PyObject *t) {
  PyObject *r = tl_forward_ad ? PyObject_CallFunctionObjArgs(tl_reg.has_tangent, t, NULL) : NULL;
  bool found = r == Py_True;
  Py_XDECREF(r);
  return found;
}

TL_THREAD int tl_wrapped_numbers = 1;

/* 1: fits, *v may be replaced by a new reference in *made; 0: does not fit; -1: error */
static int check_ints(const Param *p, PyObject **v, PyObject **made) {
  PyObject *o = *v;
  if (o == Py_None && p->dflt && PyTuple_Check(p->dflt) && !PyTuple_Size(p->dflt)) { /* dim=[] takes None too */
    *v = p->dflt;
    return 1;
  }
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
  Py_ssize_t n = seq_size(o);
  bool clean = PyTuple_Check(o);
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *x = seq_item(o, i);
    if (is_int(x)) continue;
    if (!is_element(x, i)) return 0;
    clean = false;
  }
  if (clean) return 1;
  PyObject *t = PyTuple_New(n);
  if (!t) return -1;
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *x = element(seq_item(o, i));
    if (!x) {
      Py_DECREF(t);
      return -1;
    }
    PyTuple_SetItem(t, i, x);
  }
  *v = *made = t;
  return 1;
}
static int check_tensors(const Param *p, PyObject **v, PyObject **made) {
  PyObject *o = *v;
  if (!plain_sequence(o)) return 0;
  Py_ssize_t n = seq_size(o);
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *x = seq_item(o, i);
    if (!TL_CHECK(x) && !(p->kind == K_OPT_TENSORS && x == Py_None)) return 0;
  }
  if (PyTuple_Check(o)) return 1;
  /* a copy: converting a later argument may run code that changes the list */
  return (*v = *made = PyList_AsTuple(o)) ? 1 : -1;
}
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
      if (t->ndim != 0 || t->requires_grad || t->grad_fn || t->device == TL_META || tl_has_tangent(o)) return 0;
      if (t->flags & TL_DISPATCHES && tl_wrapped_numbers < 1) {
        tl_wrapped_numbers = -1;
        return 0;
      }
      return (*v = *made = tl_m_item(t, NULL)) ? 1 : -1;
    }
    return tl_number(v, made);
  case K_INT:
    if (is_int(o)) return 1;
    if (!is_index(o)) return 0;
    return (*v = *made = PyNumber_Index(o)) ? 1 : -1;
  case K_INTS: return check_ints(p, v, made);
  case K_TENSORS:
  case K_OPT_TENSORS: return check_tensors(p, v, made);
  case K_FLOAT:
    if (PyFloat_Check(o) || PyLong_Check(o)) return 1;
    if (TL_CHECK(o)) {
      TlTensor *t = (TlTensor *)o;
      if (t->ndim != 0 || t->requires_grad || t->device == TL_META || tl_is_complex(t->dtype)) return 0;
      return (*v = *made = tl_m_item(t, NULL)) ? 1 : -1;
    }
    return PyComplex_Check(o) ? 0 : tl_number(v, made);
  case K_BOOL:
    if (PyBool_Check(o)) return 1;
    return 0;
  case K_STR: return PyUnicode_Check(o);
  case K_DTYPE:
    if (Py_TYPE(o) == (PyTypeObject *)tl_reg.dtype) {
      for (int d = TL_C128 + 1; d < TL_NUM_DTYPES && !tl_any_indirect; d++) tl_any_indirect = o == tl_reg.dtypes[d];
      return 1;
    }
    if (o == (PyObject *)&PyFloat_Type || o == (PyObject *)&PyLong_Type || o == (PyObject *)&PyBool_Type ||
        o == (PyObject *)&PyComplex_Type) {
      tl_dtype d;
      tl_dtype_arg(o, TL_F32, &d);
      *v = *made = tl_dtype_object(d);
      return 1;
    }
    return 0;
  case K_DEVICE: return PyUnicode_Check(o) || is_int(o) ? 1 : PyObject_IsInstance(o, tl_reg.device);
  case K_FLOATS:
  case K_SCALARS:
  case K_BOOLS: {
    if (!plain_sequence(o)) return 0;
    Py_ssize_t n = seq_size(o);
    for (Py_ssize_t i = 0; i < n; i++)
      if (p->kind == K_BOOLS ? !PyBool_Check(seq_item(o, i)) : !is_number(seq_item(o, i))) return 0;
    return 1;
  }
  case K_LAYOUT: return type_named(o, "layout");
  case K_MEMFMT: return type_named(o, "memory_format");
  case K_GENERATOR: return PyObject_TypeCheck(o, tl_generator_type());
  default: return 1;
  }
}

/* ---- binding */
/* 1 bound, 0 no fit, -1 error. made[] collects new references. */
int tl_op_bind(Overload *ov, bool method, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames, PyObject **bound,
               PyObject **made, int *nmade) {
  if (!ov->ready && tl_op_compile(ov) < 0) return -1;
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
      if (!is_element(args[i], i - at)) return 0;
      PyObject *x = element(args[i]);
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
      if (ov->params[used].kind == K_TENSOR && Py_TYPE(o) == tl_TensorClass) {
        bound[used] = o;
        continue;
      }
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
/* Fits arguments that did not come through tl_op_bind(): a[] is for ov's kernel and body, made[] has new references.
 * Returns the number of those; -1 with TypeError if the schema does not take the arguments. */
int tl_op_fit(Overload *ov, PyObject *const *from, Py_ssize_t n, PyObject **a, PyObject **made) {
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
