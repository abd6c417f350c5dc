/* record.c: runs an op below autograd and hangs a node on its result, by the plan that Recorder.quick in
 * torchlite/autograd/_record.py makes. Where an argument or the result is unusual, attach() there does it. */
#include "core/core.h"
#include "core/graph.h"

/* The parts of the plan. NODE: the node's class, or a function of the arguments that gives it. The next four are bytes.
 * INPUTS and PLAIN_ARGS: positions of arguments. SAVED: pairs of a position and a mask of the inputs (bit i: input i)
 * whose gradients use that argument. RESULT: that mask of the result, or nothing. MORE: pairs of a position and what is
 * kept of that argument, the name of an attribute or a function. */
enum { RECORDER, NODE, INPUTS, SAVED, RESULT, PLAIN_ARGS, MORE, VIEW };
enum { ALL = 255 };
static PyObject *saved_hooks, *attach; /* the list of hooks that are on, and the function */

static const uint8_t *bytes_of(PyObject *plan, int part, Py_ssize_t *n) {
  PyObject *b = PyTuple_GetItem(plan, part);
  *n = PyBytes_Size(b);
  return (const uint8_t *)PyBytes_AsString(b);
}

static bool unusual(PyObject *plan, PyObject *const *a, PyObject *out) {
  const TlTensor *t = (TlTensor *)out;
  Py_ssize_t n, saved;
  const uint8_t *at = bytes_of(plan, INPUTS, &n), *kept = bytes_of(plan, SAVED, &saved);
  const bool view = PyTuple_GetItem(plan, VIEW) == Py_True;
  if (PyList_Size(saved_hooks) || !TL_CHECK(out) || t->flags & TL_DISPATCHES) return true;
  if ((!tl_is_float(t->dtype) && !tl_is_complex(t->dtype)) || (!view && t->base)) return true;
  for (Py_ssize_t i = 0; i < n; i++)
    if (out == a[at[i]]) return true;
  for (Py_ssize_t i = 0; i < saved; i += 2)
    if (a[kept[i]] != Py_None && (!TL_CHECK(a[kept[i]]) || ((TlTensor *)a[kept[i]])->flags & TL_INFERENCE)) return true;
  return n == 1 && TL_CHECK(a[at[0]]) && ((TlTensor *)a[at[0]])->dtype != t->dtype; /* x * 1j of a real x */
}

static bool add(PyObject *list, PyObject *item) { /* steals it */
  const int rc = item ? PyList_Append(list, item) : -1;
  Py_XDECREF(item);
  return rc == 0;
}

/* What the node keeps of the arguments. False: an exception. */
static bool keep(OpNode *n, PyObject *plan, PyObject *const *a, uint32_t wanted) {
  Py_ssize_t count;
  const uint8_t *at = bytes_of(plan, SAVED, &count);
  PyObject *kept = n->of_op[KEPT] = PyList_New(0), *plain = n->of_op[PLAIN] = PyList_New(0);
  bool ok = kept && plain;
  for (Py_ssize_t i = 0; ok && i < count; i += 2)
    ok = add(kept, a[at[i]] != Py_None && wanted & at[i + 1] ? tl_graph_saved(a[at[i]]) : Py_NewRef(Py_None));
  at = bytes_of(plan, PLAIN_ARGS, &count);
  for (Py_ssize_t i = 0; ok && i < count; i++) ok = add(plain, Py_NewRef(a[at[i]]));
  PyObject *more = PyTuple_GetItem(plan, MORE);
  count = PyTuple_Size(more);
  for (Py_ssize_t i = 0; ok && i < count; i++) {
    PyObject *entry = PyTuple_GetItem(more, i), *what = PyTuple_GetItem(entry, 1);
    PyObject *o = a[PyLong_AsLong(PyTuple_GetItem(entry, 0))];
    if (!TL_CHECK(o)) ok = add(plain, Py_NewRef(Py_None));
    else
      ok = add(plain, PyUnicode_Check(what) ? PyObject_GetAttr(o, what) : PyObject_CallFunctionObjArgs(what, o, NULL));
  }
  return ok;
}

static PyObject *tuple_of(PyObject *const *a, int n) {
  PyObject *r = PyTuple_New(n);
  for (int i = 0; r && i < n; i++) PyTuple_SetItem(r, i, Py_NewRef(a[i]));
  return r;
}

/* The node's class, a new reference. */
static PyObject *class_of(PyObject *plan, PyObject *const *a, int nargs) {
  PyObject *type = PyTuple_GetItem(plan, NODE);
  if (PyType_Check(type)) return Py_NewRef(type);
  PyObject *args = tuple_of(a, nargs);
  type = args ? PyObject_CallFunctionObjArgs(type, args, NULL) : NULL;
  Py_XDECREF(args);
  return type;
}

static OpNode *make_node(PyObject *plan, PyObject *const *a, int nargs) {
  Py_ssize_t n;
  const uint8_t *at = bytes_of(plan, INPUTS, &n);
  PyObject *type = class_of(plan, a, nargs), *edges = type ? PyList_New(n) : NULL;
  OpNode *node = edges ? (OpNode *)PyType_GenericAlloc((PyTypeObject *)type, 0) : NULL;
  uint32_t wanted = 0;
  Py_XDECREF(type);
  if (!node) {
    Py_XDECREF(edges);
    return NULL;
  }
  node->base.next = edges;
  node->base.field[OUTS] = PyLong_FromLong(1);
  PyObject *metas = n > 1 ? PyList_New(n) : Py_NewRef(Py_None);
  node->of_op[INPUT_META] = metas;
  node->of_op[REC] = Py_NewRef(PyTuple_GetItem(plan, RECORDER));
  bool ok = node->base.field[OUTS] && metas;
  for (Py_ssize_t i = 0; ok && i < n; i++) {
    PyObject *edge = tl_graph_edge(NULL, a[at[i]]), *meta = NULL;
    ok = edge && PyList_SetItem(edges, i, edge) == 0;
    if (ok && edge != Py_None) wanted |= 1u << i;
    if (ok && n > 1) ok = (meta = tl_graph_meta(a[at[i]], edge)) && PyList_SetItem(metas, i, meta) == 0;
  }
  if (ok && keep(node, plan, a, wanted)) return node;
  Py_DECREF((PyObject *)node);
  return NULL;
}

/* A result that the gradient uses: without its history, so that node and result form no cycle. */
static bool keep_result(OpNode *node, PyObject *plan, TlTensor *out) {
  Py_ssize_t n;
  const uint8_t *users = bytes_of(plan, RESULT, &n);
  bool used = n && *users == ALL;
  for (Py_ssize_t i = 0; n && !used && i < PyList_Size(node->base.next); i++)
    used = *users >> i & 1 && PyList_GetItem(node->base.next, i) != Py_None;
  if (!n) return true;
  PyObject *alias = used ? (PyObject *)tl_alias(out, out->ndim, out->shape, out->strides, out->offset, true) : NULL;
  if (used && !alias) return false;
  const bool ok = add(node->of_op[KEPT], used ? tl_graph_saved(alias) : Py_NewRef(Py_None));
  Py_XDECREF(alias);
  return ok;
}

PyObject *tl_record(PyObject *plan, PyObject *ov, PyObject *const *a, int nargs) {
  PyObject *out = tl_run_below_autograd(ov, a);
  if (!out) return NULL;
  if (unusual(plan, a, out)) {
    PyObject *args = tuple_of(a, nargs), *r = args ? PyObject_CallFunctionObjArgs(attach, ov, args, out, NULL) : NULL;
    Py_XDECREF(args);
    Py_DECREF(out);
    return r;
  }
  OpNode *node = make_node(plan, a, nargs);
  TlTensor *t = (TlTensor *)out, *source = (TlTensor *)a[0];
  if (!node || tl_graph_enter(&node->base) < 0 || !keep_result(node, plan, t)) {
    Py_XDECREF((PyObject *)node);
    Py_DECREF(out);
    return NULL;
  }
  if (PyTuple_GetItem(plan, VIEW) == Py_True)
    Py_XSETREF_(t->base, Py_NewRef(source->base ? source->base : (PyObject *)source));
  Py_XSETREF_(t->grad_fn, (PyObject *)node);
  return out;
}

/* record_helpers(list of hooks, attach) */
static PyObject *record_helpers(PyObject *m, PyObject *args) {
  PyObject *hooks, *fn;
  (void)m;
  if (!PyArg_ParseTuple(args, "OO", &hooks, &fn)) return NULL;
  if (!PyList_Check(hooks)) return PyErr_Format(PyExc_TypeError, "record_helpers() takes a list and a function");
  Py_XSETREF_(saved_hooks, Py_NewRef(hooks));
  Py_XSETREF_(attach, Py_NewRef(fn));
  Py_RETURN_NONE;
}
PyMethodDef tl_record_functions[] = {
  {"record_helpers", record_helpers, METH_VARARGS, "record_helpers(hooks, attach): what record.c leaves to Python"},
  {0}};
