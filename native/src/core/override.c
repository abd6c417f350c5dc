/* override.c: finds what overrides a function: a class with a __torch_function__ of its own, or a mode of
 * torch.overrides. Ops look for it when they bind their arguments (op.c); Function and Attribute do so for functions
 * written in Python and for the fields of a tensor. torchlite/_core/override.py makes the call. */
#include "core/core.h"

TL_THREAD int tl_function_off, tl_function_modes;
bool tl_function_used;
static PyTypeObject *plain_type; /* last class seen that overrides nothing */
static PyTypeObject *function_type, *attribute_type;

/* Whether the class of an object has a __torch_function__ that is not disabled. */
bool tl_overrides(PyObject *o) {
  PyTypeObject *tp = Py_TYPE(o);
  if (tp == tl_TensorClass || tp == plain_type || tl_function_off) return false;
  if (!(PyType_GetFlags(tp) & Py_TPFLAGS_HEAPTYPE) || (PyObject *)tp == tl_reg.dtype) return false;
  PyObject *f = PyObject_GetAttrString((PyObject *)tp, "__torch_function__");
  bool found = f && !PyObject_HasAttrString(f, "_tl_plain");
  if (!f) PyErr_Clear();
  else if (!found && TL_CHECK(o)) Py_XSETREF_(plain_type, (PyTypeObject *)Py_NewRef((PyObject *)tp));
  Py_XDECREF(f);
  return found;
}

/* The same of an argument, which may be a list or a tuple. */
static bool argument_overrides(PyObject *o) {
  PyTypeObject *tp = Py_TYPE(o);
  if (tp == tl_TensorClass) return false;
  if (!PyTuple_Check(o) && !PyList_Check(o)) return tl_overrides(o);
  bool found = tl_overrides(o);
  for (Py_ssize_t i = 0, n = PyObject_Size(o); i < n && !found; i++)
    found = tl_overrides(PyTuple_Check(o) ? PyTuple_GetItem(o, i) : PyList_GetItem(o, i));
  return found;
}

static bool any_overrides(PyObject *const *args, Py_ssize_t n) {
  bool found = false;
  for (Py_ssize_t i = 0; i < n && !found; i++) found = argument_overrides(args[i]);
  return found;
}

/* A hook's answer for function(*args, **keywords). */
static PyObject *ask(PyObject *hook, PyObject *function, PyObject *const *args, Py_ssize_t n, PyObject *kwnames) {
  PyObject *t = PyTuple_New(n), *kw = PyDict_New(), *r = NULL;
  for (Py_ssize_t i = 0; t && i < n; i++) PyTuple_SetItem(t, i, Py_NewRef(args[i]));
  for (Py_ssize_t k = 0, nk = kwnames ? PyTuple_Size(kwnames) : 0; kw && k < nk; k++)
    if (PyDict_SetItem(kw, PyTuple_GetItem(kwnames, k), args[n + k]) < 0) Py_CLEAR(kw);
  if (t && kw) r = PyObject_CallFunctionObjArgs(hook, function, t, kw, NULL);
  Py_XDECREF(t);
  Py_XDECREF(kw);
  return r;
}

/* ---- Function: a Python function that asks first ---------------------------------------------------------------- */
typedef struct {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject *fn;
  int modes_only; /* PyTorch does not look at its arguments, but modes see it */
  int not_cast;   /* torch.autocast does not look at it */
} Function;

static PyObject *function_call(Function *f, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
  Py_ssize_t n = PyVectorcall_NARGS(nargsf), all = n + (kwnames ? PyTuple_Size(kwnames) : 0);
  if (tl_autocast && !f->not_cast) {
    PyObject *r = ask(tl_reg.autocast_function, f->fn, args, n, kwnames);
    if (r != Py_NotImplemented) return r;
    Py_DECREF(r);
    f->not_cast = 1;
  }
  if (!(tl_function_used && tl_function_modes && tl_function_off < 2) && (f->modes_only || !any_overrides(args, all)))
    return PyObject_Vectorcall(f->fn, args, nargsf, kwnames);
  return ask(tl_reg.torch_function, (PyObject *)f, args, n, kwnames);
}
static PyObject *function_new(PyTypeObject *tp, PyObject *args, PyObject *kw) {
  (void)kw;
  PyObject *fn;
  int modes_only = 0;
  if (!PyArg_ParseTuple(args, "O|p", &fn, &modes_only)) return NULL;
  Function *f = (Function *)PyType_GenericAlloc(tp, 0);
  if (!f) return NULL;
  f->vectorcall = (vectorcallfunc)function_call;
  f->fn = Py_NewRef(fn);
  f->modes_only = modes_only;
  return (PyObject *)f;
}
static int function_traverse(Function *f, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(f));
  Py_VISIT(f->fn);
  return 0;
}
static int function_clear(Function *f) {
  Py_CLEAR(f->fn);
  return 0;
}
static void function_dealloc(Function *f) {
  PyTypeObject *tp = Py_TYPE(f);
  PyObject_GC_UnTrack(f);
  function_clear(f);
  PyObject_GC_Del(f);
  Py_DECREF(tp);
}
static PyObject *bound(PyObject *self, PyObject *obj, PyObject *type) {
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
/* Attributes are those of the wrapped function, so inspect and pickle do not see the wrapper. Those that lead to a call
 * are the wrapper's own, since it must ask first. */
static PyObject *function_getattr(Function *f, PyObject *name) {
  if (PyUnicode_CompareWithASCIIString(name, "_tl_fn") == 0) return Py_NewRef(f->fn);
  if (PyUnicode_CompareWithASCIIString(name, "__get__") == 0 || PyUnicode_CompareWithASCIIString(name, "__call__") == 0)
    return PyObject_GenericGetAttr((PyObject *)f, name);
  return PyObject_GetAttr(f->fn, name);
}
static int function_setattr(Function *f, PyObject *name, PyObject *value) {
  return PyObject_SetAttr(f->fn, name, value);
}
static PyObject *function_repr(Function *f) { return PyObject_Repr(f->fn); }
static PyMemberDef function_members[] = {
  {"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(Function, vectorcall), Py_READONLY, NULL}, {0}};
#define TPFLAGS_METHOD_DESCRIPTOR (1UL << 17) /* part of the stable ABI, missing from the limited headers */
static PyType_Slot function_slots[] = {{Py_tp_new, function_new},
                                       {Py_tp_dealloc, function_dealloc},
                                       {Py_tp_traverse, function_traverse},
                                       {Py_tp_clear, function_clear},
                                       {Py_tp_call, PyVectorcall_Call},
                                       {Py_tp_getattro, function_getattr},
                                       {Py_tp_setattro, function_setattr},
                                       {Py_tp_repr, function_repr},
                                       {Py_tp_members, function_members},
                                       {Py_tp_descr_get, bound},
                                       {0, NULL}};
static PyType_Spec function_spec = {
  "torchlite._C.Function", sizeof(Function), 0,
  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | TPFLAGS_METHOD_DESCRIPTOR, function_slots};

/* ---- Attribute: a field of a tensor that asks first -------------------------------------------------------------- */
typedef struct {
  PyObject_HEAD PyObject *descr, *name;
} Attribute;

static PyObject *attribute_new(PyTypeObject *tp, PyObject *args, PyObject *kw) {
  (void)kw;
  PyObject *descr, *name;
  if (!PyArg_ParseTuple(args, "OU", &descr, &name)) return NULL;
  Attribute *a = (Attribute *)PyType_GenericAlloc(tp, 0);
  if (!a) return NULL;
  a->descr = Py_NewRef(descr);
  a->name = Py_NewRef(name);
  return (PyObject *)a;
}
static void attribute_dealloc(Attribute *a) {
  PyTypeObject *tp = Py_TYPE(a);
  Py_XDECREF(a->descr);
  Py_XDECREF(a->name);
  PyObject_Free(a);
  Py_DECREF(tp);
}
static bool asks(PyObject *o) { return (tl_function_modes && tl_function_off < 2) || tl_overrides(o); }

static PyObject *attribute_get(Attribute *a, PyObject *o, PyObject *type) {
  (void)type;
  if (!o || o == Py_None) return Py_NewRef((PyObject *)a);
  if (!TL_CHECK(o) || !asks(o)) {
    descrgetfunc get = (descrgetfunc)PyType_GetSlot(Py_TYPE(a->descr), Py_tp_descr_get);
    return get(a->descr, o, (PyObject *)Py_TYPE(o));
  }
  PyObject *me = PyObject_GetAttrString((PyObject *)a, "__get__"),
           *r = me ? ask(tl_reg.torch_function, me, &o, 1, NULL) : NULL;
  Py_XDECREF(me);
  return r;
}
static int attribute_set(Attribute *a, PyObject *o, PyObject *value) {
  if (!asks(o)) {
    descrsetfunc set = (descrsetfunc)PyType_GetSlot(Py_TYPE(a->descr), Py_tp_descr_set);
    return set(a->descr, o, value);
  }
  PyObject *v[2] = {o, value}, *me = PyObject_GetAttrString((PyObject *)a, value ? "__set__" : "__delete__");
  Py_ssize_t n = value ? 2 : 1;
  PyObject *r = me ? ask(tl_reg.torch_function, me, v, n, NULL) : NULL;
  Py_XDECREF(me);
  Py_XDECREF(r);
  return r ? 0 : -1;
}
static PyObject *attribute_getattr(Attribute *a, PyObject *name) {
  if (PyUnicode_CompareWithASCIIString(name, "__name__") == 0) return Py_NewRef(a->name);
  if (PyUnicode_CompareWithASCIIString(name, "__qualname__") == 0) /* PyTorch has nearly all of them in C++ */
    return PyUnicode_FromFormat("TensorBase.%U", a->name);
  PyObject *r = PyObject_GenericGetAttr((PyObject *)a, name);
  if (r || !PyErr_ExceptionMatches(PyExc_AttributeError)) return r;
  PyErr_Clear();
  return PyObject_GetAttr(a->descr, name);
}
static PyObject *attribute_repr(Attribute *a) { return PyObject_Repr(a->descr); }
static PyType_Slot attribute_slots[] = {{Py_tp_new, attribute_new},
                                        {Py_tp_dealloc, attribute_dealloc},
                                        {Py_tp_descr_get, attribute_get},
                                        {Py_tp_descr_set, attribute_set},
                                        {Py_tp_getattro, attribute_getattr},
                                        {Py_tp_repr, attribute_repr},
                                        {0, NULL}};
static PyType_Spec attribute_spec = {"torchlite._C.Attribute", sizeof(Attribute), 0, Py_TPFLAGS_DEFAULT,
                                     attribute_slots};

/* ---- functions --------------------------------------------------------------------------------------------------- */
static PyObject *function_off(PyObject *m, PyObject *o) {
  (void)m;
  int old = tl_function_off;
  if (tl_c_int(o, &tl_function_off) < 0) return NULL;
  return PyLong_FromLong(old);
}
static PyObject *function_modes(PyObject *m, PyObject *o) {
  (void)m;
  if (tl_c_int(o, &tl_function_modes) < 0) return NULL;
  tl_function_used = true;
  Py_RETURN_NONE;
}
static PyObject *function_state(PyObject *m, PyObject *o) {
  (void)m;
  (void)o;
  return Py_BuildValue("(ii)", tl_function_off, tl_function_modes);
}
static PyObject *overrides(PyObject *m, PyObject *const *args, Py_ssize_t n) {
  (void)m;
  return PyBool_FromLong((tl_function_modes && tl_function_off < 2) || any_overrides(args, n));
}
static PyMethodDef functions[] = {
  {"function_off", function_off, METH_O,
   "Sets whose __torch_function__ is off (0 nobody's, 1 classes', 2 modes' too)."},
  {"function_modes", function_modes, METH_O, "Sets how many modes there are."},
  {"function_state", function_state, METH_NOARGS, "(what is off, how many modes there are)"},
  {"overrides", (PyCFunction)(void *)overrides, METH_FASTCALL,
   "Whether there is a mode, or an argument or an element of one that is a list has a __torch_function__."},
  {0}};

int tl_override_init(PyObject *mod) {
  function_type = (PyTypeObject *)PyType_FromSpec(&function_spec);
  attribute_type = (PyTypeObject *)PyType_FromSpec(&attribute_spec);
  if (!function_type || !attribute_type || PyModule_AddObjectRef(mod, "Function", (PyObject *)function_type) < 0 ||
      PyModule_AddObjectRef(mod, "Attribute", (PyObject *)attribute_type) < 0)
    return -1;
  return PyModule_AddFunctions(mod, functions);
}
