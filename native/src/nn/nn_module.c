/* nn_module.c: the C base of torch.nn.Module. Parameters, children and buffers live in three dicts of the instance;
 * finding them here spares every `self.weight` a failed lookup, an exception and a Python call. Calling a module that
 * has no hooks goes straight to its forward. */
#include "core/core.h"

static PyObject *tables[3]; /* "_parameters", "_modules", "_buffers" */

/* Whether TorchScript gives its modules an attribute of that name. */
static int of_compiled_module(PyObject *name) {
  static const char *const names[] = {"save", "code", "graph"};
  for (int i = 0; i < 3; i++)
    if (PyUnicode_CompareWithASCIIString(name, names[i]) == 0) return 1;
  return 0;
}

/* An instance attribute or anything on the class is found as usual (a registered name is never also a class attribute:
 * the registration refuses it). */
static PyObject *module_getattro(PyObject *self, PyObject *name) {
  static PyObject *getattr_name;
  PyObject *dict = PyObject_GenericGetDict(self, NULL);
  if (!dict) {
    PyErr_Clear();
    return PyObject_GenericGetAttr(self, name);
  }
  PyObject *found = NULL;
  if (!PyDict_GetItemWithError(dict, name) && !PyErr_Occurred())
    for (int i = 0; i < 3 && !found; i++) {
      PyObject *table = PyDict_GetItemWithError(dict, tables[i]);
      if (!table || !PyDict_Check(table)) break;
      found = PyDict_GetItemWithError(table, name);
    }
  Py_XINCREF(found);
  Py_DECREF(dict);
  if (found) return found;
  if (PyErr_Occurred()) return NULL;
  found = PyObject_GenericGetAttr(self, name);
  if (!getattr_name) getattr_name = PyUnicode_InternFromString("__getattr__");
  if (!found && name == getattr_name && PyErr_ExceptionMatches(PyExc_AttributeError)) {
    PyErr_Clear(); /* a method of that name in the class would make each lookup slower */
    found = PyObject_GetAttrString(self, "_own_getattr");
  } else if (!found && of_compiled_module(name) && PyErr_ExceptionMatches(PyExc_AttributeError)) {
    PyErr_Clear();
    found = PyObject_CallMethod(self, "_own_getattr", "O", name); /* which knows what to say */
  }
  return found;
}

static PyObject *hook_names[4], *compiled_name, *forward_name, *slow_name;
static PyObject *global_hooks; /* tuple of the dicts of hooks for all modules */

/* 1: nothing but forward is to be run; 0: the general path */
static int plain_call(PyObject *self) {
  if (!global_hooks) return 0;
  for (Py_ssize_t i = 0, n = PyTuple_Size(global_hooks); i < n; i++)
    if (PyDict_Size(PyTuple_GetItem(global_hooks, i)) != 0) return 0;
  PyObject *dict = PyObject_GenericGetDict(self, NULL);
  if (!dict) {
    PyErr_Clear();
    return 0;
  }
  int plain = PyDict_GetItemWithError(dict, compiled_name) == NULL;
  for (int i = 0; i < 4 && plain; i++) {
    PyObject *hooks = PyDict_GetItemWithError(dict, hook_names[i]);
    plain = hooks && PyDict_Check(hooks) && PyDict_Size(hooks) == 0;
  }
  Py_DECREF(dict);
  return plain && !PyErr_Occurred();
}

static PyObject *module_call(PyObject *self, PyObject *args, PyObject *kwargs) {
  int plain = plain_call(self);
  if (PyErr_Occurred()) return NULL;
  PyObject *f = PyObject_GetAttr(self, plain ? forward_name : slow_name);
  if (!f) return NULL;
  PyObject *r = PyObject_Call(f, args, kwargs);
  Py_DECREF(f);
  return r;
}

/* ModuleBase._set_global_hooks(tuple of dicts) */
static PyObject *set_global_hooks(PyObject *cls, PyObject *dicts) {
  (void)cls;
  if (!PyTuple_Check(dicts)) {
    PyErr_SetString(PyExc_TypeError, "_set_global_hooks takes a tuple of dicts");
    return NULL;
  }
  Py_INCREF(dicts);
  Py_XSETREF_(global_hooks, dicts);
  return Py_NewRef(Py_None);
}

static int intern(PyObject **slot, const char *name) {
  return *slot || (*slot = PyUnicode_InternFromString(name)) ? 0 : -1;
}

int tl_module_type_init(PyObject *mod) {
  static const char *const names[] = {"_parameters", "_modules", "_buffers"};
  static const char *const hooks[] = {"_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks"};
  for (int i = 0; i < 4; i++)
    if ((i < 3 && intern(&tables[i], names[i]) < 0) || intern(&hook_names[i], hooks[i]) < 0) return -1;
  if (intern(&compiled_name, "_compiled_call_impl") < 0 || intern(&forward_name, "forward") < 0 ||
      intern(&slow_name, "_call_impl") < 0)
    return -1;
  static PyMethodDef methods[] = {
    {"_set_global_hooks", set_global_hooks, METH_O | METH_STATIC, "The dicts of hooks that hold for all modules."},
    {NULL, NULL, 0, NULL},
  };
  static PyType_Slot slots[] = {
    {Py_tp_doc, "Base of torch.nn.Module: attribute lookup in its parameters, children and buffers."},
    {Py_tp_getattro, module_getattro},
    {Py_tp_call, module_call},
    {Py_tp_methods, methods},
    {0, NULL},
  };
  static PyType_Spec spec = {"torchlite._C.ModuleBase", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                             slots};
  PyObject *type = PyType_FromSpec(&spec);
  if (!type || PyModule_AddObjectRef(mod, "ModuleBase", type) < 0) {
    Py_XDECREF(type);
    return -1;
  }
  Py_DECREF(type);
  return 0;
}
