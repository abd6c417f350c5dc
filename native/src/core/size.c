/* size.c: torch.Size, a tuple of ints whose slices, sums and multiples are again sizes. In C because `x.shape[0]` is
 * everywhere. */
#include "core/core.h"

static PyTypeObject *size_type;
static binaryfunc tuple_subscript;

/* a Size with room for n items, which the caller sets at once */
static PyObject *size_alloc(Py_ssize_t n) { return PyType_GenericAlloc(size_type, n); }

static PyObject *size_from_tuple(PyObject *t) {
  Py_ssize_t n = PyTuple_Size(t);
  PyObject *s = size_alloc(n);
  for (Py_ssize_t i = 0; s && i < n; i++) PyTuple_SetItem(s, i, Py_NewRef(PyTuple_GetItem(t, i)));
  return s;
}

PyObject *tl_size_object(int n, const int64_t *v) {
  PyObject *s = size_alloc(n);
  for (int i = 0; s && i < n; i++) {
    PyObject *x = PyLong_FromLongLong(v[i]);
    if (!x) {
      Py_DECREF(s);
      return NULL;
    }
    PyTuple_SetItem(s, i, x);
  }
  return s;
}

static PyObject *size_new(PyTypeObject *type, PyObject *args, PyObject *kw) {
  PyObject *source = NULL, *items = NULL, *s = NULL;
  (void)type;
  if (kw && PyDict_Size(kw)) return PyErr_Format(PyExc_TypeError, "Size() takes no keyword arguments");
  if (!PyArg_UnpackTuple(args, "Size", 0, 1, &source)) return NULL;
  items = source ? PySequence_Tuple(source) : PyTuple_New(0);
  if (!items) return NULL;
  Py_ssize_t n = PyTuple_Size(items);
  s = size_alloc(n);
  for (Py_ssize_t i = 0; s && i < n; i++) {
    PyObject *item = PyTuple_GetItem(items, i), *x;
    if (PyLong_CheckExact(item)) x = Py_NewRef(item);
    else {
      /* True, NumPy integers and tensors of one integer become ints */
      PyObject *index = PyNumber_Index(item);
      x = index ? PyNumber_Long(index) : NULL;
      Py_XDECREF(index);
    }
    if (!x) {
      if (PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyObject *name = PyType_GetName(Py_TYPE(item));
        PyErr_Format(PyExc_TypeError, "torch.Size() takes an iterable of 'int' (item %zd is '%U')", i, name);
        Py_XDECREF(name);
      }
      Py_CLEAR(s);
      break;
    }
    PyTuple_SetItem(s, i, x);
  }
  Py_DECREF(items);
  return s;
}

static PyObject *size_subscript(PyObject *self, PyObject *key) {
  if (PyLong_CheckExact(key)) {
    Py_ssize_t i = PyLong_AsSsize_t(key), n = PyTuple_Size(self);
    bool huge = i == -1 && PyErr_Occurred();
    if (huge) PyErr_Clear();
    if (i < 0) i += n;
    if (!huge && i >= 0 && i < n) return Py_NewRef(PyTuple_GetItem(self, i));
  }
  PyObject *part = tuple_subscript(self, key);
  if (!part || !PyTuple_CheckExact(part)) return part;
  PyObject *s = size_from_tuple(part);
  Py_DECREF(part);
  return s;
}

/* the plain tuple's: from 3.14 on tuples keep their hash in a field that PyType_GenericAlloc leaves at 0 */
static Py_hash_t size_hash(PyObject *self) {
  PyObject *t = PyTuple_GetSlice(self, 0, PyTuple_Size(self));
  Py_hash_t h = t ? PyObject_Hash(t) : -1;
  Py_XDECREF(t);
  return h;
}

/* (tuple + Size) and (Size + tuple) */
static PyObject *size_add(PyObject *a, PyObject *b) {
  if (!PyTuple_Check(b)) {
    PyObject *name = PyType_GetName(Py_TYPE(b));
    PyErr_Format(PyExc_TypeError, "can only concatenate tuple (not %U) to torch.Size", name);
    Py_XDECREF(name);
    return NULL;
  }
  if (!PyTuple_Check(a)) return Py_NewRef(Py_NotImplemented);
  Py_ssize_t n = PyTuple_Size(a), m = PyTuple_Size(b);
  PyObject *joined = PyTuple_New(n + m);
  for (Py_ssize_t i = 0; joined && i < n + m; i++)
    PyTuple_SetItem(joined, i, Py_NewRef(i < n ? PyTuple_GetItem(a, i) : PyTuple_GetItem(b, i - n)));
  PyObject *s = joined ? PyObject_CallFunctionObjArgs((PyObject *)size_type, joined, NULL) : NULL;
  Py_XDECREF(joined);
  return s;
}

static PyObject *size_multiply(PyObject *a, PyObject *b) {
  PyObject *size = PyTuple_Check(a) ? a : b, *count = size == a ? b : a;
  if (!PyIndex_Check(count)) return Py_NewRef(Py_NotImplemented);
  Py_ssize_t k = PyNumber_AsSsize_t(count, PyExc_OverflowError), n = PyTuple_Size(size);
  if (k == -1 && PyErr_Occurred()) return NULL;
  if (k < 0) k = 0;
  if (n && k > PY_SSIZE_T_MAX / n / (Py_ssize_t)sizeof(PyObject *)) return PyErr_NoMemory();
  PyObject *s = size_alloc(n * k);
  for (Py_ssize_t i = 0; s && i < n * k; i++) PyTuple_SetItem(s, i, Py_NewRef(PyTuple_GetItem(size, i % n)));
  return s;
}

static PyObject *size_repr(PyObject *self) {
  PyObject *list = PySequence_List(self), *text = list ? PyObject_Repr(list) : NULL;
  PyObject *r = text ? PyUnicode_FromFormat("torch.Size(%U)", text) : NULL;
  Py_XDECREF(list);
  Py_XDECREF(text);
  return r;
}

static PyObject *size_numel(PyObject *self, PyObject *unused) {
  (void)unused;
  PyObject *product = PyLong_FromLong(1);
  Py_ssize_t n = PyTuple_Size(self);
  for (Py_ssize_t i = 0; product && i < n; i++)
    Py_XSETREF_(product, PyNumber_Multiply(product, PyTuple_GetItem(self, i)));
  return product;
}

static PyObject *size_reduce(PyObject *self, PyObject *unused) {
  (void)unused;
  PyObject *plain = PyTuple_GetSlice(self, 0, PyTuple_Size(self));
  return plain ? Py_BuildValue("(O(N))", size_type, plain) : NULL;
}

static PyMethodDef methods[] = {{"numel", size_numel, METH_NOARGS, "The number of elements of a tensor of this shape."},
                                {"__reduce__", size_reduce, METH_NOARGS, NULL},
                                {0}};
static PyType_Slot slots[] = {{Py_tp_new, size_new},
                              {Py_tp_hash, size_hash},
                              {Py_tp_richcompare, NULL},
                              {Py_tp_repr, size_repr},
                              {Py_mp_subscript, size_subscript},
                              {Py_nb_add, size_add},
                              {Py_nb_multiply, size_multiply},
                              {Py_tp_methods, methods},
                              {Py_tp_doc, "A tensor's shape: a tuple of ints whose slices and sums are again shapes."},
                              {0}};
static PyType_Spec spec = {"torch.Size", 0, 0, Py_TPFLAGS_DEFAULT, slots};

int tl_size_init(PyObject *mod) {
  PyObject *bases = PyTuple_Pack(1, (PyObject *)&PyTuple_Type);
  tuple_subscript = (binaryfunc)PyType_GetSlot(&PyTuple_Type, Py_mp_subscript);
  /* a type with a hash of its own does not inherit the comparison */
  for (PyType_Slot *s = slots; s->slot; s++)
    if (s->slot == Py_tp_richcompare) s->pfunc = PyType_GetSlot(&PyTuple_Type, Py_tp_richcompare);
  size_type = bases && tuple_subscript ? (PyTypeObject *)PyType_FromSpecWithBases(&spec, bases) : NULL;
  Py_XDECREF(bases);
  PyObject *package = PyUnicode_FromString("torchlite");
  /* error texts show the name torch.Size, pickle looks the class up where it is */
  if (!size_type || !package || PyObject_SetAttrString((PyObject *)size_type, "__module__", package) < 0) {
    Py_XDECREF(package);
    return -1;
  }
  Py_DECREF(package);
  Py_XSETREF_(tl_reg.Size, Py_NewRef((PyObject *)size_type));
  return PyModule_AddObjectRef(mod, "Size", (PyObject *)size_type);
}
