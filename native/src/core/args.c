/* args.c: reads Python arguments, formats shapes for messages, and keeps the registry of Python objects that the core
 * calls. */
#include "core/core.h"
#include "core/errors.h"
#include <stdio.h>

TlRegistry tl_reg;
TL_THREAD bool tl_grad_mode = true, tl_inference_mode = false, tl_below_autograd = false;
TL_THREAD uint8_t tl_func_level = 0;
TL_THREAD bool tl_forward_ad = false;

int tl_wrap_dim(int64_t dim, int ndim, int *out) {
  int lim = ndim > 0 ? ndim : 1;
  if (dim < -lim || dim >= lim) {
    PyErr_Format(PyExc_IndexError, "Dimension out of range (expected to be in range of [%d, %d], but got %lld)", -lim,
                 lim - 1, (long long)dim);
    return -1;
  }
  *out = (int)(dim < 0 ? dim + lim : dim);
  return 0;
}

int tl_int(PyObject *o, int64_t *out) {
  if (PyFloat_Check(o)) {
    PyErr_SetString(PyExc_TypeError, "'float' object cannot be interpreted as an integer");
    return -1;
  }
  PyObject *i = PyLong_Check(o) ? Py_NewRef(o) : PyNumber_Index(o);
  if (!i) return -1;
  long long v = PyLong_AsLongLong(i);
  Py_DECREF(i);
  if (v == -1 && PyErr_Occurred()) {
    if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
      PyErr_Clear();
      PyErr_SetString(PyExc_ValueError, "Overflow when unpacking long long");
    }
    return -1;
  }
  *out = v;
  return 0;
}

int tl_ints(PyObject *o, int64_t *out, int *n) {
  if (o == Py_None) {
    *n = -1;
    return 0;
  }
  if (PyTuple_Check(o)) {
    Py_ssize_t m = PyTuple_Size(o);
    if (m > TL_DIM_LIMIT) {
      PyErr_Format(PyExc_RuntimeError, "only tensors with up to %d dims are supported, got %zd", TL_DIM_LIMIT, m);
      return -1;
    }
    for (Py_ssize_t i = 0; i < m; i++)
      if (tl_int(PyTuple_GetItem(o, i), &out[i]) < 0) return -1;
    *n = (int)m;
    return 0;
  }
  if (PyLong_Check(o)) {
    *n = 1;
    return tl_int(o, out);
  }
  if (PySequence_Check(o) && !TL_CHECK(o)) {
    PyObject *t = PySequence_Tuple(o);
    if (!t) return -1;
    int r = tl_ints(t, out, n);
    Py_DECREF(t);
    return r;
  }
  *n = 1;
  return tl_int(o, out);
}

int tl_double(PyObject *o, double *out) {
  double v = PyFloat_AsDouble(o);
  if (v == -1.0 && PyErr_Occurred()) return -1;
  *out = v;
  return 0;
}

/* raises for a complex number beside real operands: its imaginary part would be lost */
int tl_check_real(PyObject *o, tl_dtype d) {
  if (!PyComplex_Check(o) || tl_is_complex(d) || PyComplex_ImagAsDouble(o) == 0) return 0;
  const char *type = tl_cpp_type[d];
  if (d == TL_F16 || d == TL_BF16) type = "float";
  else if (d == TL_I64) type = "int64_t";
  else if (d == TL_U8) type = "uint8_t";
  return tl_conversion_error(type);
}

/* A number of a call becomes one of the dtype that is computed in. Of an unsigned dtype, small negative integers wrap
 * around, as in PyTorch. */
int tl_check_room(PyObject *o, tl_dtype d) {
  static const char *const int_types[TL_NUM_DTYPES] = {
    [TL_U8] = "uint8_t",  [TL_I8] = "int8_t",    [TL_I16] = "int16_t",  [TL_I32] = "int",
    [TL_I64] = "int64_t", [TL_U16] = "uint16_t", [TL_U32] = "uint32_t", [TL_U64] = "uint64_t"};
  if (d == TL_BOOL || !(PyFloat_Check(o) || PyLong_Check(o) || PyComplex_Check(o))) return 0;
  if (tl_check_real(o, d) < 0) return -1;
  if (!tl_is_integral(d)) return tl_check_finite(d, o);
  const bool any_sign = !(d == TL_U8 || TL_UNSIGNED >> d & 1);
  const int bits = tl_itemsize[d] * 8 - any_sign;
  if (PyLong_Check(o)) {
    int overflow;
    const long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
    return overflow || (bits < 63 && (v < 0 ? -(v + 1) : v) >> bits) ? tl_conversion_error(int_types[d]) : 0;
  }
  const double v = PyComplex_RealAsDouble(o), most = ldexp(1, bits);
  return v >= (any_sign ? -most : 0) && v < most ? 0 : tl_conversion_error(int_types[d]);
}

PyObject *tl_dtype_object(tl_dtype d) { return Py_NewRef(tl_reg.dtypes[d]); }

int tl_dtype_arg(PyObject *o, tl_dtype dflt, tl_dtype *out) {
  if (o == Py_None) {
    *out = dflt;
    return 0;
  }
  for (int i = 0; i < TL_NUM_DTYPES; i++)
    if (tl_reg.dtypes[i] == o) {
      *out = (tl_dtype)i;
      return 0;
    }
  if (o == (PyObject *)&PyFloat_Type) *out = TL_F64;
  else if (o == (PyObject *)&PyLong_Type) *out = TL_I64;
  else if (o == (PyObject *)&PyBool_Type) *out = TL_BOOL;
  else if (o == (PyObject *)&PyComplex_Type) *out = TL_C128;
  else if (Py_TYPE(o) == (PyTypeObject *)tl_reg.dtype) {
    PyErr_Format(
      PyExc_NotImplementedError,
      "%R: torchlite has this dtype's name only, and no tensors of it (quantized, bits, and integers of less "
      "than a byte); keep the numbers in torch.uint8 or torch.int8, and unpack them with integer ops",
      o);
    return -1;
  } else {
    PyErr_Format(PyExc_TypeError, "dtype must be a torch.dtype, not %R", o);
    return -1;
  }
  return 0;
}

int tl_broadcast(int na, const int64_t *a, int nb, const int64_t *b, int *n, int64_t *out) {
  int nd = na > nb ? na : nb;
  for (int i = 0; i < nd; i++) {
    int64_t x = i < na ? a[na - 1 - i] : 1, y = i < nb ? b[nb - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) return tl_size_error(x, y, nd - 1 - i);
    out[nd - 1 - i] = x == 1 ? y : x;
  }
  *n = nd;
  return 0;
}

PyObject *tl_ints_tuple(int n, const int64_t *v) {
  PyObject *t = PyTuple_New(n);
  for (int i = 0; t && i < n; i++) {
    PyObject *x = PyLong_FromLongLong(v[i]);
    if (!x) {
      Py_DECREF(t);
      return NULL;
    }
    PyTuple_SetItem(t, i, x);
  }
  return t;
}

const char *tl_fmt_shape(int n, const int64_t *v) {
  static char bufs[8][512];
  static int next;
  char *b = bufs[next++ & 7];
  int len = 0;
  b[len++] = '[';
  for (int i = 0; i < n && len < 480; i++)
    len += snprintf(b + len, (size_t)(500 - len), i ? ", %lld" : "%lld", (long long)v[i]);
  b[len++] = ']';
  b[len] = 0;
  return b;
}

int tl_expect(PyObject *o, int64_t numel, const char *name) {
  const TlTensor *t = (const TlTensor *)o;
  if (o == Py_None || t->numel == numel) return 0;
  PyErr_Format(PyExc_RuntimeError, "Expected %s to have %lld elements, but got a tensor of shape %s", name,
               (long long)numel, tl_fmt_shape(t->ndim, t->shape));
  return -1;
}

/* objects that Python registers by the name of their field in tl_reg */
static const struct {
  const char *name;
  PyObject **slot;
} registered[] = {
#define R(n) {#n, &tl_reg.n}
  R(Tensor),
  R(Size),
  R(device),
  R(dtype),
  R(record),
  R(record_inplace),
  R(dispatch_other),
  R(call_out),
  R(finish_out),
  R(bind_error),
  R(getitem),
  R(setitem),
  R(compile_schema),
  R(set_grad),
  R(get_grad_fn),
  R(set_requires_grad),
  R(host_copy),
  R(resolve),
  R(device_alloc),
  R(device_resize),
  R(device_copy),
  R(device_fill),
  R(device_run),
  R(torch_function),
  R(torch_operator),
  R(named_result),
  R(limited),
  R(unsupported_array),
  R(forward),
  R(has_tangent),
  R(torch_dispatch),
  R(dispatch_alias),
  R(dispatch_item),
  R(no_meta),
  R(dispatch_geometry),
  R(autocast),
  R(autocast_function),
#undef R
};

/* _C.register(name, object): "dtypes" and "devices" take tuples ordered by code */
static PyObject *reg(PyObject *mod, PyObject *args) {
  (void)mod;
  const char *name;
  PyObject *o;
  if (!PyArg_ParseTuple(args, "sO", &name, &o)) return NULL;
  bool fits = true;
  if (!strcmp(name, "dtypes")) fits = PyTuple_Check(o) && PyTuple_Size(o) >= TL_NUM_DTYPES;
  else if (!strcmp(name, "devices")) fits = PyTuple_Check(o);
  else if (!strcmp(name, "Tensor")) fits = PyType_Check(o) && PyType_IsSubtype((PyTypeObject *)o, tl_TensorBase);
  if (!fits) return PyErr_Format(PyExc_TypeError, "register(%s): an object of another kind", name);
  if (!strcmp(name, "dtypes")) {
    for (int i = 0; i < TL_NUM_DTYPES; i++) Py_XSETREF_(tl_reg.dtypes[i], Py_NewRef(PyTuple_GetItem(o, i)));
    Py_RETURN_NONE;
  }
  if (!strcmp(name, "devices")) {
    for (Py_ssize_t i = 0; i < PyTuple_Size(o) && i < 8; i++)
      Py_XSETREF_(tl_reg.devices[i], Py_NewRef(PyTuple_GetItem(o, i)));
    Py_RETURN_NONE;
  }
  if (!strcmp(name, "OutOfMemoryError")) {
    Py_XSETREF_(tl_OutOfMemoryError, Py_NewRef(o));
    Py_RETURN_NONE;
  }
  if (!strcmp(name, "default_dtype")) {
    tl_dtype d;
    if (tl_dtype_arg(o, TL_F32, &d) < 0) return NULL;
    tl_default_dtype = d;
    Py_RETURN_NONE;
  }
  for (size_t i = 0; i < sizeof registered / sizeof *registered; i++)
    if (!strcmp(registered[i].name, name)) {
      Py_XSETREF_(*registered[i].slot, Py_NewRef(o));
      if (!strcmp(name, "Tensor")) tl_TensorClass = (PyTypeObject *)o;
      Py_RETURN_NONE;
    }
  return PyErr_Format(PyExc_KeyError, "%s", name);
}
static PyObject *grad_mode(PyObject *m, PyObject *a) {
  (void)m;
  (void)a;
  return PyBool_FromLong(tl_grad_mode);
}
int tl_truth(PyObject *o, bool *to) {
  const int truth = PyObject_IsTrue(o);
  if (truth >= 0) *to = truth;
  return truth < 0 ? -1 : 0;
}
int tl_c_int(PyObject *o, int *to) {
  const long v = PyLong_AsLong(o);
  if (v == -1 && PyErr_Occurred()) return -1;
  if (v != (int)v) {
    PyErr_Format(PyExc_OverflowError, "%ld does not fit in an int", v);
    return -1;
  }
  *to = (int)v;
  return 0;
}
static PyObject *set_grad_mode(PyObject *m, PyObject *a) {
  (void)m;
  const bool old = tl_grad_mode;
  if (tl_truth(a, &tl_grad_mode) < 0) return NULL;
  return PyBool_FromLong(old);
}
static PyObject *set_forward_ad(PyObject *m, PyObject *a) {
  (void)m;
  bool old = tl_forward_ad;
  if (a == Py_True && !tl_reg.forward) {
    PyErr_SetString(PyExc_RuntimeError, "forward_ad: nobody is there to look at calls");
    return NULL;
  }
  if (PyBool_Check(a)) tl_forward_ad = a == Py_True;
  return PyBool_FromLong(old);
}
static PyObject *differentiated(PyObject *m, PyObject *const *args, Py_ssize_t n) {
  (void)m;
  bool found = false;
  for (Py_ssize_t i = 0; i < n && !found; i++)
    found = TL_CHECK(args[i]) && ((tl_grad_mode && tl_requires_grad((TlTensor *)args[i])) || tl_has_tangent(args[i]));
  return PyBool_FromLong(found);
}
static PyObject *inference_mode(PyObject *m, PyObject *a) {
  (void)m;
  (void)a;
  return PyBool_FromLong(tl_inference_mode);
}
static PyObject *set_inference_mode(PyObject *m, PyObject *a) {
  (void)m;
  const bool old = tl_inference_mode;
  if (tl_truth(a, &tl_inference_mode) < 0) return NULL;
  return PyBool_FromLong(old);
}
static PyObject *func_level(PyObject *m, PyObject *args) {
  (void)m;
  uint8_t old = tl_func_level, level = old;
  PyObject *tensors = NULL;
  if (!PyArg_ParseTuple(args, "|bO!", &level, &PyList_Type, &tensors)) return NULL;
  for (Py_ssize_t i = 0, n = tensors ? PyList_Size(tensors) : 0; i < n; i++) {
    PyObject *t, *pair = PyList_GetItem(tensors, i);
    unsigned char of_storage;
    if (!PyTuple_Check(pair)) {
      PyErr_SetString(PyExc_TypeError, "func_level takes pairs of a tensor and a level");
      return NULL;
    }
    if (!PyArg_ParseTuple(pair, "O!b", tl_TensorBase, &t, &of_storage)) return NULL;
    ((TlTensor *)t)->storage->level = of_storage;
  }
  tl_func_level = level;
  return PyLong_FromLong(old);
}
static PyObject *storage_level(PyObject *m, PyObject *t) {
  (void)m;
  if (!TL_CHECK(t)) {
    PyErr_SetString(PyExc_TypeError, "storage_level(): argument must be Tensor");
    return NULL;
  }
  return PyLong_FromLong(((TlTensor *)t)->storage->level);
}
static PyObject *default_dtype(PyObject *m, PyObject *a) {
  (void)m;
  (void)a;
  return tl_dtype_object(tl_default_dtype);
}
/* the stack level of the caller's code: frames of the package itself do not count */
static int level_outside(void) {
  PyObject *f = Py_XNewRef((PyObject *)PyEval_GetFrame()), *prefix = PyUnicode_FromString("torchlite.");
  int level = 1;
  while (prefix && f && f != Py_None) {
    PyObject *globals = PyObject_GetAttrString(f, "f_globals");
    PyObject *name = globals ? PyDict_GetItemString(globals, "__name__") : NULL;
    bool ours = name && PyUnicode_Check(name) && PyUnicode_Tailmatch(name, prefix, 0, PY_SSIZE_T_MAX, -1) == 1;
    Py_XDECREF(globals);
    if (!ours) break;
    level++;
    Py_XSETREF_(f, PyObject_GetAttrString(f, "f_back"));
  }
  PyErr_Clear();
  Py_XDECREF(prefix);
  Py_XDECREF(f);
  return level;
}
static PyObject *warned;                          /* the texts already warned of; None: warn every time */
static int warn_once(PyObject *text, int level) { /* level 0: that of the caller's code */
  if (!warned && !(warned = PySet_New(NULL))) return -1;
  if (warned != Py_None) {
    int seen = PySet_Contains(warned, text);
    if (seen) return seen < 0 ? -1 : 0;
    if (PySet_Add(warned, text) < 0) return -1;
  }
  if (!level) level = level_outside();
  PyObject *utf8 = PyUnicode_AsUTF8String(text);
  int r = utf8 ? PyErr_WarnEx(PyExc_UserWarning, PyBytes_AsString(utf8), level) : -1;
  Py_XDECREF(utf8);
  return r;
}
int tl_warn_once(const char *text) {
  PyObject *o = PyUnicode_FromString(text);
  int r = o ? warn_once(o, 0) : -1;
  Py_XDECREF(o);
  return r;
}
static PyObject *py_warn_once(PyObject *m, PyObject *args) {
  (void)m;
  PyObject *text;
  int level = 2;
  if (!PyArg_ParseTuple(args, "U|i", &text, &level) || warn_once(text, level) < 0) return NULL;
  Py_RETURN_NONE;
}
static PyObject *set_warn_always(PyObject *m, PyObject *o) {
  (void)m;
  bool always;
  if (tl_truth(o, &always) < 0) return NULL;
  Py_XSETREF_(warned, always ? Py_NewRef(Py_None) : NULL);
  Py_RETURN_NONE;
}
static PyObject *warn_always(PyObject *m, PyObject *o) {
  (void)m;
  (void)o;
  return PyBool_FromLong(warned == Py_None);
}
static PyObject *wrap_dim(PyObject *m, PyObject *const *args, Py_ssize_t n) {
  int64_t dim, ndim;
  int at;
  (void)m;
  if (n != 2) return PyErr_Format(PyExc_TypeError, "wrap_dim(dim, ndim)");
  if (tl_int(args[0], &dim) < 0 || tl_int(args[1], &ndim) < 0 || tl_wrap_dim(dim, (int)ndim, &at) < 0) return NULL;
  return PyLong_FromLong(at);
}
PyMethodDef tl_args_functions[] = {
  {"warn_once", py_warn_once, METH_VARARGS,
   "warn_once(text, stacklevel=2): a UserWarning that each process shows once"},
  {"set_warn_always", set_warn_always, METH_O, "Whether warn_once warns each time."},
  {"is_warn_always", warn_always, METH_NOARGS, "Whether warn_once warns each time."},
  {"wrap_dim", (PyCFunction)(void *)wrap_dim, METH_FASTCALL,
   "wrap_dim(dim, ndim): the dim counted from the front, or PyTorch's IndexError; no dims count as one."},
  {"register", reg, METH_VARARGS, "Gives the core a Python object it needs."},
  {"is_grad_enabled", grad_mode, METH_NOARGS, "True when operations are recorded."},
  {"set_grad_enabled", set_grad_mode, METH_O, "Sets grad mode, returns the old one."},
  {"is_inference_mode_enabled", inference_mode, METH_NOARGS, "True inside inference_mode()."},
  {"differentiated", (PyCFunction)(void *)differentiated, METH_FASTCALL,
   "differentiated(*tensors): whether a derivative of one of them is recorded or carried along."},
  {"forward_ad", set_forward_ad, METH_O, "forward_ad(on or None): whether calls are looked at for tangents; the old."},
  {"func_level", func_level, METH_VARARGS,
   "func_level([new, [(tensor, level), ...]]): how many function transforms run; sets it, and that of tensors' "
   "memory."},
  {"storage_level", storage_level, METH_O, "storage_level(tensor): in which function transform its memory was made."},
  {"set_inference_mode", set_inference_mode, METH_O, "Sets inference mode, returns the old one."},
  {"get_default_dtype", default_dtype, METH_NOARGS, "The dtype of tensors made from Python floats."},
  {0}};
