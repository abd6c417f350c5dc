/* number.c: Tensor's operators, conversions and item access as type slots; they call the ops Python registered. */
#include "core/core.h"
#include "core/errors.h"
#include <stdlib.h>

enum {
  O_add,
  O_sub,
  O_rsub,
  O_mul,
  O_truediv,
  O_rtruediv,
  O_floordiv,
  O_rfloordiv,
  O_mod,
  O_rmod,
  O_pow,
  O_rpow,
  O_matmul,
  O_rmatmul,
  O_and,
  O_or,
  O_xor,
  O_lshift,
  O_rlshift,
  O_rshift,
  O_rrshift,
  O_neg,
  O_abs,
  O_invert,
  O_lt,
  O_le,
  O_eq,
  O_ne,
  O_gt,
  O_ge,
  O_iadd,
  O_isub,
  O_imul,
  O_itruediv,
  O_ifloordiv,
  O_imod,
  O_ipow,
  O_iand,
  O_ior,
  O_ixor,
  O_ilshift,
  O_irshift,
  O_eqarray,
  O_COUNT
};
static const char *const names[O_COUNT] = {
  "add",     "sub",    "rsub",    "mul",    "truediv", "rtruediv", "floordiv", "rfloordiv", "mod",
  "rmod",    "pow",    "rpow",    "matmul", "rmatmul", "and",      "or",       "xor",       "lshift",
  "rlshift", "rshift", "rrshift", "neg",    "abs",     "invert",   "lt",       "le",        "eq",
  "ne",      "gt",     "ge",      "iadd",   "isub",    "imul",     "itruediv", "ifloordiv", "imod",
  "ipow",    "iand",   "ior",     "ixor",   "ilshift", "irshift",  "eqarray"};
static PyObject *ops[O_COUNT];

static PyObject *set_operators(PyObject *mod, PyObject *dict) {
  (void)mod;
  for (int i = 0; i < O_COUNT; i++) {
    PyObject *o = PyDict_GetItemString(dict, names[i]);
    if (o) Py_XSETREF_(ops[i], Py_NewRef(o));
  }
  Py_RETURN_NONE;
}

/* numpy's own type of that name, borrowed and kept; NULL while numpy is not imported */
static PyObject *numpy_type(PyObject **slot, const char *name) {
  if (*slot) return *slot;
  PyObject *key = PyUnicode_FromString("numpy"), *module = key ? PyImport_GetModule(key) : NULL;
  Py_XDECREF(key);
  if (module) *slot = PyObject_GetAttrString(module, name);
  Py_XDECREF(module);
  PyErr_Clear();
  return *slot;
}
static PyObject *np_generic, *np_ndarray;
static bool is_numpy(PyObject **slot, const char *name, PyObject *o) {
  PyObject *type = numpy_type(slot, name);
  int r = type ? PyObject_IsInstance(o, type) : 0;
  if (r < 0) PyErr_Clear(); /* an object whose __class__ raises */
  return r == 1;
}
bool tl_is_ndarray(PyObject *o) { return is_numpy(&np_ndarray, "ndarray", o); }
bool tl_is_numpy_scalar(PyObject *o) { return is_numpy(&np_generic, "generic", o); }

/* the letter of numpy's dtype: b bool, i and u integers, f, c; 0 where there is none. *bytes: the size of an element.
 */
char tl_numpy_kind(PyObject *o, int *bytes) {
  PyObject *dtype = PyObject_GetAttrString(o, "dtype"),
           *str = dtype ? PyObject_GetAttrString(dtype, "str") : NULL; /* "<f4" */
  PyObject *b = str && PyUnicode_Check(str) ? PyUnicode_AsUTF8String(str) : NULL;
  const char *s = b ? PyBytes_AsString(b) : NULL;
  char kind = s && s[0] && s[1] ? s[1] : 0;
  *bytes = kind ? atoi(s + 2) : 0;
  Py_XDECREF(b);
  Py_XDECREF(str);
  Py_XDECREF(dtype);
  PyErr_Clear();
  return kind;
}

/* Returns 1 for a number, 0 for anything else, -1 with an exception. A numpy scalar in *v is replaced by a Python
 * number, a new reference in *made. As in PyTorch, numpy's integers count as ints and all its others as floats, bool_
 * and complex64 included (numpy itself warns of the latter). */
int tl_number(PyObject **v, PyObject **made) {
  PyObject *o = *v;
  int bytes;
  *made = NULL;
  if (PyLong_Check(o) || PyFloat_Check(o) || PyComplex_Check(o)) return 1;
  if (TL_CHECK(o) || !tl_is_numpy_scalar(o)) return 0;
  char kind = tl_numpy_kind(o, &bytes);
  if (kind == 'i' || kind == 'u') *made = PyNumber_Index(o);
  else if (kind == 'b' || kind == 'f' || kind == 'c') *made = PyNumber_Float(o);
  else return 0;
  return (*v = *made) ? 1 : -1;
}

static PyObject *call2(int slot, PyObject *a, PyObject *b) {
  PyObject *v[2] = {a, b};
  if (!ops[slot]) Py_RETURN_NOTIMPLEMENTED;
  return PyObject_Vectorcall(ops[slot], v, 2, NULL);
}

/* Whether a tensor is of a class that overrides functions. */
static bool foreign(PyObject *o) { return Py_TYPE(o) != tl_TensorClass && TL_CHECK(o) && tl_overrides(o); }
static bool modes(void) { return tl_function_used && tl_function_modes && tl_function_off < 2; }

/* An operator with an operand that has a __torch_function__. */
static PyObject *hooked(int slot, int reflected, PyObject *a, PyObject *b) {
  bool turned = !TL_CHECK(a);
  /* 1 & x and x & 1 have one slot, but only the second is asked for as Tensor.__and__ */
  const char *prefix = turned && reflected == slot ? "r" : "";
  PyObject *name = PyUnicode_FromFormat("%s%s", prefix, names[turned ? reflected : slot]), *r = NULL;
  PyObject *op = ops[turned ? reflected : slot];
  if (!op) op = ops[slot];
  if (name && op)
    r = PyObject_CallFunctionObjArgs(tl_reg.torch_operator, name, op, turned ? b : a, turned ? a : b, NULL);
  Py_XDECREF(name);
  return r;
}

/* NotImplemented unless the other operand is a tensor or a number */
static PyObject *binary(int slot, int reflected, PyObject *a, PyObject *b) {
  PyObject *made = NULL, **other = TL_CHECK(a) ? &b : &a, *r;
  if (!TL_CHECK(*other)) {
    int number = tl_number(other, &made);
    if (number < 0) return NULL;
    if (!number && reflected == O_rtruediv && other == &a && tl_is_ndarray(a))
      return call2(reflected, b, a); /* PyTorch's is Python */
    if (!number && tl_overrides(*other)) return hooked(slot, reflected, a, b);
    if (!number) Py_RETURN_NOTIMPLEMENTED;
  }
  if (foreign(a) || foreign(b) || modes()) return hooked(slot, reflected, a, b);
  r = TL_CHECK(a) ? call2(slot, a, b) : call2(reflected, b, a);
  Py_XDECREF(made);
  return r;
}
static PyObject *inplace(int slot, PyObject *a, PyObject *b) {
  PyObject *made = NULL, *r;
  int number = TL_CHECK(b) ? 1 : tl_number(&b, &made);
  if (number < 0) return NULL;
  if (!number && tl_overrides(b)) return hooked(slot, slot, a, b);
  if (!number) Py_RETURN_NOTIMPLEMENTED;
  r = call2(slot, a, b);
  Py_XDECREF(made);
  return r;
}
#define BIN(name, refl) \
  static PyObject *nb_##name(PyObject *a, PyObject *b) { return binary(O_##name, O_##refl, a, b); }
BIN(add, add)
BIN(sub, rsub)
BIN(mul, mul)
BIN(truediv, rtruediv)
BIN(floordiv, rfloordiv)
BIN(mod, rmod)
BIN(and, and)
BIN(or, or)
BIN(xor, xor)
BIN(lshift, rlshift)
BIN(rshift, rrshift)
static PyObject *nb_matmul(PyObject *a, PyObject *b) {
  if (tl_overrides(a) || tl_overrides(b)) return hooked(O_matmul, O_rmatmul, a, b);
  if (!TL_CHECK(a) || !TL_CHECK(b)) Py_RETURN_NOTIMPLEMENTED;
  return call2(O_matmul, a, b);
}
static PyObject *nb_pow(PyObject *a, PyObject *b, PyObject *mod) {
  if (mod != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return binary(O_pow, O_rpow, a, b);
}
/* Never returns NotImplemented: a class that inherits __iadd__ also has it as sq_inplace_concat, where NotImplemented
 * would become the result. */
static PyObject *nb_iadd(PyObject *a, PyObject *b) {
  PyObject *r = inplace(O_iadd, a, b), *type, *e, *trace;
  if (r != Py_NotImplemented) return r;
  Py_DECREF(r);
  r = PyNumber_Add(a, b);
  if (!r && PyErr_ExceptionMatches(PyExc_TypeError)) {
    PyErr_Fetch(&type, &e, &trace);
    PyObject *s = e ? PyObject_Str(e) : NULL, *sign = s ? PyUnicode_FromString("for +:") : NULL,
             *with = sign ? PyUnicode_FromString("for +=:") : NULL;
    PyObject *text = with ? PyUnicode_Replace(s, sign, with, 1) : NULL;
    if (text) { Py_XSETREF_(e, text); }
    Py_XDECREF(s);
    Py_XDECREF(sign);
    Py_XDECREF(with);
    PyErr_Restore(type, e, trace);
  }
  return r;
}
#define IOP(name) static PyObject *nb_##name(PyObject *a, PyObject *b) { return inplace(O_##name, a, b); }
IOP(isub)
IOP(imul)
IOP(itruediv)
IOP(ifloordiv)
IOP(imod)
IOP(iand)
IOP(ior)
IOP(ixor)
IOP(ilshift)
IOP(irshift)
static PyObject *nb_ipow(PyObject *a, PyObject *b, PyObject *mod) {
  (void)mod;
  return inplace(O_ipow, a, b);
}
#define UN(name) static PyObject *nb_##name(PyObject *a) { return PyObject_Vectorcall(ops[O_##name], &a, 1, NULL); }
UN(neg)
UN(abs)
static PyObject *hooked_unary(const char *text, PyObject *op, PyObject *a) {
  PyObject *name = PyUnicode_FromString(text);
  PyObject *r = name ? PyObject_CallFunctionObjArgs(tl_reg.torch_operator, name, op, a, NULL) : NULL;
  Py_XDECREF(name);
  return r;
}
static PyObject *nb_invert(PyObject *a) {
  if (foreign(a) || modes()) return hooked_unary("invert", ops[O_invert], a);
  return PyObject_Vectorcall(ops[O_invert], &a, 1, NULL);
}
static PyObject *nb_pos(PyObject *a) {
  PyObject *op = foreign(a) || modes() ? PyObject_GetAttrString((PyObject *)tl_TensorClass, "positive") : NULL;
  if (!op) return PyErr_Occurred() ? NULL : Py_NewRef(a);
  PyObject *r = hooked_unary("pos", op, a);
  Py_DECREF(op);
  return r;
}

static PyObject *compare(PyObject *a, PyObject *b, int op) {
  static const int slot[] = {[Py_LT] = O_lt, [Py_LE] = O_le, [Py_EQ] = O_eq,
                             [Py_NE] = O_ne, [Py_GT] = O_gt, [Py_GE] = O_ge};
  if (op == Py_EQ && !TL_CHECK(b) && tl_is_ndarray(b))
    return call2(O_eqarray, a, b); /* the only comparison with arrays that PyTorch has */
  return binary(slot[op], slot[op], a, b);
}

static int nb_bool(TlTensor *t) {
  if (t->numel != 1) {
    PyErr_SetString(PyExc_RuntimeError, t->numel ? "Boolean value of Tensor with more than one value is ambiguous"
                                                 : "Boolean value of Tensor with no values is ambiguous");
    return -1;
  }
  PyObject *o = tl_m_item(t, NULL);
  int r = o ? PyObject_IsTrue(o) : -1;
  Py_XDECREF(o);
  return r;
}
/* PyTorch warns where a float is made of a tensor with a history; int(), item() and bool() say nothing */
int tl_warn_scalar(const TlTensor *t) {
  return tl_grad_mode && tl_requires_grad(t)
           ? tl_warn_once("Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
                          "Consider using tensor.detach() first.")
           : 0;
}
static PyObject *convert(TlTensor *t, PyObject *(*fn)(PyObject *), const char *type) {
  if (t->numel != 1) {
    PyErr_SetString(PyExc_ValueError, "only one element tensors can be converted to Python scalars");
    return NULL;
  }
  if (type[0] == 'd' && tl_warn_scalar(t) < 0) return NULL;
  PyObject *o = tl_m_item(t, NULL), *r = NULL;
  if (o && PyComplex_Check(o)) { /* real numbers only where nothing is lost */
    double re = PyComplex_RealAsDouble(o), im = PyComplex_ImagAsDouble(o);
    Py_DECREF(o);
    o = im == 0 ? PyFloat_FromDouble(re) : NULL;
    if (!o && !PyErr_Occurred()) tl_conversion_error(type);
  }
  if (o) r = fn(o);
  Py_XDECREF(o);
  return r;
}
static PyObject *nb_int(TlTensor *t) { return convert(t, PyNumber_Long, "int64_t"); }
static PyObject *nb_float(TlTensor *t) { return convert(t, PyNumber_Float, "double"); }
static PyObject *nb_index(TlTensor *t) {
  if (t->numel != 1 || !tl_is_integral(t->dtype)) {
    PyErr_SetString(PyExc_TypeError, "only integer tensors of a single element can be converted to an index");
    return NULL;
  }
  return convert(t, PyNumber_Long, "int64_t");
}
static Py_ssize_t length(TlTensor *t) {
  if (t->ndim == 0) {
    PyErr_SetString(PyExc_TypeError, "len() of a 0-d tensor");
    return -1;
  }
  if (t->shape[0] > PY_SSIZE_T_MAX) {
    PyErr_SetString(PyExc_OverflowError, "cannot fit the length of the tensor into an index-sized integer");
    return -1;
  }
  return (Py_ssize_t)t->shape[0];
}
static Py_hash_t hash(PyObject *o) { return (Py_hash_t)(uintptr_t)o; } /* id(o), as in PyTorch */

static PyObject *subscript(TlTensor *t, PyObject *index) {
  bool plain =
    (Py_TYPE(t) == tl_TensorClass && !modes() && !(tl_dispatch_used && tl_dispatch_modes)) || tl_reg.getitem == NULL;
  if (plain && !tl_forward_ad && !(tl_grad_mode && tl_requires_grad(t))) {
    TlTensor *v = tl_basic_index(t, index);
    if (v || PyErr_Occurred()) return (PyObject *)v;
  }
  return PyObject_CallFunctionObjArgs(tl_reg.getitem, (PyObject *)t, index, NULL);
}
static int assign(TlTensor *t, PyObject *index, PyObject *value) {
  if (!value) {
    PyErr_SetString(PyExc_TypeError, "Tensor does not support deleting items");
    return -1;
  }
  PyObject *r = PyObject_CallFunctionObjArgs(tl_reg.setitem, (PyObject *)t, index, value, NULL);
  Py_XDECREF(r);
  return r ? 0 : -1;
}
static PyObject *seq_item(TlTensor *t, Py_ssize_t i) {
  PyObject *x = PyLong_FromSsize_t(i), *r = x ? subscript(t, x) : NULL;
  Py_XDECREF(x);
  return r;
}

PyType_Slot tl_tensor_number_slots[] = {{Py_nb_add, nb_add},
                                        {Py_nb_subtract, nb_sub},
                                        {Py_nb_multiply, nb_mul},
                                        {Py_nb_true_divide, nb_truediv},
                                        {Py_nb_floor_divide, nb_floordiv},
                                        {Py_nb_remainder, nb_mod},
                                        {Py_nb_power, nb_pow},
                                        {Py_nb_matrix_multiply, nb_matmul},
                                        {Py_nb_and, nb_and},
                                        {Py_nb_or, nb_or},
                                        {Py_nb_xor, nb_xor},
                                        {Py_nb_lshift, nb_lshift},
                                        {Py_nb_rshift, nb_rshift},
                                        {Py_nb_negative, nb_neg},
                                        {Py_nb_positive, nb_pos},
                                        {Py_nb_absolute, nb_abs},
                                        {Py_nb_invert, nb_invert},
                                        {Py_nb_inplace_add, nb_iadd},
                                        {Py_nb_inplace_subtract, nb_isub},
                                        {Py_nb_inplace_multiply, nb_imul},
                                        {Py_nb_inplace_true_divide, nb_itruediv},
                                        {Py_nb_inplace_floor_divide, nb_ifloordiv},
                                        {Py_nb_inplace_remainder, nb_imod},
                                        {Py_nb_inplace_power, nb_ipow},
                                        {Py_nb_inplace_and, nb_iand},
                                        {Py_nb_inplace_or, nb_ior},
                                        {Py_nb_inplace_xor, nb_ixor},
                                        {Py_nb_inplace_lshift, nb_ilshift},
                                        {Py_nb_inplace_rshift, nb_irshift},
                                        {Py_nb_bool, nb_bool},
                                        {Py_nb_int, nb_int},
                                        {Py_nb_float, nb_float},
                                        {Py_nb_index, nb_index},
                                        {Py_tp_richcompare, compare},
                                        {Py_tp_hash, hash},
                                        {Py_mp_subscript, subscript},
                                        {Py_mp_ass_subscript, assign},
                                        {Py_mp_length, length},
                                        {Py_sq_length, length},
                                        {Py_sq_item, seq_item},
                                        {0, NULL}};

/* basic_index(tensor, index): the view, or None when the index is not a basic one */
static PyObject *basic_index(PyObject *mod, PyObject *args) {
  (void)mod;
  PyObject *t, *index;
  if (!PyArg_ParseTuple(args, "O!O", tl_TensorBase, &t, &index)) return NULL;
  TlTensor *v = tl_basic_index((TlTensor *)t, index);
  if (v) return (PyObject *)v;
  if (PyErr_Occurred()) return NULL;
  Py_RETURN_NONE;
}
static PyObject *py_is_ndarray(PyObject *mod, PyObject *o) {
  (void)mod;
  return PyBool_FromLong(tl_is_ndarray(o));
}
static PyObject *py_is_number(PyObject *mod, PyObject *o) {
  (void)mod;
  PyObject *made;
  int r = tl_number(&o, &made);
  Py_XDECREF(made);
  return r < 0 ? NULL : PyBool_FromLong(r);
}
PyMethodDef tl_number_functions[] = {
  {"is_number", py_is_number, METH_O, "Whether the object is a Python number or a numpy scalar."},
  {"is_ndarray", py_is_ndarray, METH_O, "Whether the object is a numpy.ndarray; does not import numpy."},
  {"set_operators", set_operators, METH_O, "Names the ops behind Tensor's operators."},
  {"basic_index", basic_index, METH_VARARGS, "A view for ints, slices, None and Ellipsis; None for other indices."},
  {0}};
