/* gpu_family.c: plans of kernel families that a planner names with their parameters ("softmax", "conv").
 *
 * family(name, names of its parameters ...) is a function of their values that gives the plan's number. The key that
 * the bridge gets is written only for values that are new: "softmax:{"log":true,"dtype":"float32"}". A parameter that
 * is None is left out. */
#include "core/check.h"
#include "gpu/gpu_graph.h"

#define TEXT_ROOM 1000
typedef struct {
  int n;
  char text[TEXT_ROOM];
} Text;

static int add(Text *t, const char *what, Py_ssize_t n) {
  if (n > TEXT_ROOM - t->n) return gpu_too_large();
  memcpy(t->text + t->n, what, (size_t)n);
  t->n += (int)n;
  return 0;
}
static int add_text(Text *t, const char *what) { return add(t, what, (Py_ssize_t)strlen(what)); }
/* of a str; parameters have no text that would need an escape */
static int add_name(Text *t, PyObject *name) {
  Py_ssize_t n;
  const char *s = PyUnicode_AsUTF8AndSize(name, &n);
  return !s || add_text(t, "\"") < 0 || add(t, s, n) < 0 ? -1 : add_text(t, "\"");
}
static int add_value(Text *t, PyObject *v) {
  tl_dtype d;
  if (PyBool_Check(v)) return add_text(t, v == Py_True ? "true" : "false");
  if (PyUnicode_Check(v)) return add_name(t, v);
  if (PyTuple_Check(v)) {
    for (Py_ssize_t i = 0; i < PyTuple_Size(v); i++)
      if (add_text(t, i ? "," : "[") < 0 || add_value(t, PyTuple_GetItem(v, i)) < 0) return -1;
    return add_text(t, PyTuple_Size(v) ? "]" : "[]");
  }
  if (PyLong_Check(v)) {
    char digits[24];
    long long number = PyLong_AsLongLong(v);
    if (number == -1 && PyErr_Occurred()) return -1;
    PyOS_snprintf(digits, sizeof digits, "%lld", number);
    return add_text(t, digits);
  }
  if (tl_dtype_arg(v, TL_F32, &d) < 0) return -1;
  return add_text(t, "\"") < 0 || add_text(t, tl_dtype_name[d]) < 0 ? -1 : add_text(t, "\"");
}

/* the bridge's number for values of the parameters */
static PyObject *described(PyObject *name, PyObject *names, PyObject *values) {
  Text t = {0};
  Py_ssize_t n, count = PyTuple_Size(values);
  const char *family = PyUnicode_AsUTF8AndSize(name, &n), *between = ":{";
  GPU_HOOK(gpu.describe, NULL);
  if (count > PyTuple_Size(names)) return PyErr_Format(PyExc_TypeError, "%U has not so many parameters", name);
  if (!family || add(&t, family, n) < 0) return NULL;
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *value = PyTuple_GetItem(values, i);
    if (value == Py_None) continue;
    if (add_text(&t, between) < 0 || add_name(&t, PyTuple_GetItem(names, i)) < 0 || add_text(&t, ":") < 0 ||
        add_value(&t, value) < 0)
      return NULL;
    between = ",";
  }
  if (add_text(&t, *between == ':' ? ":{}" : "}") < 0) return NULL;
  PyObject *text = PyUnicode_FromStringAndSize(t.text, t.n);
  PyObject *number = text ? PyObject_CallFunctionObjArgs(gpu.describe, text, NULL) : NULL;
  Py_XDECREF(text);
  return number;
}

/* self: (name, names of the parameters, {values: number}); values: a tuple */
static PyObject *number_of(PyObject *self, PyObject *values) {
  PyObject *known = PyTuple_GetItem(self, 2), *number = Py_XNewRef(PyDict_GetItemWithError(known, values));
  if (number || PyErr_Occurred()) return number;
  number = described(PyTuple_GetItem(self, 0), PyTuple_GetItem(self, 1), values);
  if (number && PyDict_SetItem(known, values, number) < 0) Py_CLEAR(number);
  return number;
}
static PyMethodDef family = {"family", number_of, METH_VARARGS, "(values of the parameters ...): the plan's number"};

/* parts: (name, names of its parameters ...) */
static PyObject *f_family(PyObject *m, PyObject *parts) {
  (void)m;
  Py_ssize_t n = PyTuple_Size(parts);
  for (Py_ssize_t i = 0; i < n; i++)
    if (!PyUnicode_Check(PyTuple_GetItem(parts, i))) n = 0;
  if (!n) return PyErr_Format(PyExc_TypeError, "family(name, names of its parameters ...)");
  PyObject *names = PyTuple_GetSlice(parts, 1, n), *known = PyDict_New(), *self = NULL, *f = NULL;
  if (names && known) self = PyTuple_Pack(3, PyTuple_GetItem(parts, 0), names, known);
  if (self) f = PyCFunction_New(&family, self);
  Py_XDECREF(names);
  Py_XDECREF(known);
  Py_XDECREF(self);
  return f;
}

/* Writes the number of a family's plan; steals the values. */
int gpu_family_plan(PyObject *f, PyObject *values, uint32_t *plan) {
  PyObject *number = values ? number_of(PyCFunction_GetSelf(f), values) : NULL;
  Py_XDECREF(values);
  if (!number) return -1;
  *plan = (uint32_t)PyLong_AsUnsignedLongLongMask(number);
  Py_DECREF(number);
  return 0;
}

/* Adds a family under its name to the module; steals its parts. */
int gpu_family_export(PyObject *mod, const char *name, PyObject *parts, PyObject **f) {
  *f = parts ? f_family(NULL, parts) : NULL;
  Py_XDECREF(parts);
  return *f ? PyModule_AddObjectRef(mod, name, *f) : -1;
}

static PyMethodDef functions[] = {
  {"family", f_family, METH_VARARGS,
   "family(name, names of its parameters ...): a function of their values in this order (None: left out), which gives "
   "the number of the plan."},
  {0}};
int gpu_family_init(PyObject *mod) { return PyModule_AddFunctions(mod, functions); }
