/* grad_mode.c: the state that no_grad, enable_grad and inference_mode change, and whether classes are asked for
 * __torch_function__ and calls looked at for tangents, as a context manager.
 *
 * It is C because Python looks for an interrupt at the start of each function and after each call: a Python __exit__
 * could be interrupted before its first line, and recording would stay off for the rest of the program. */
#include "core/core.h"

typedef struct {
  PyObject_HEAD int8_t grad, inference, function_off, forward_ad; /* wanted: 0, 1 (2), or -1 to leave it as it is */
  int8_t old_grad, old_inference, old_function_off, old_forward_ad;
  bool begun; /* begin() has run and the `with` is still to come */
} GradMode;

#define AT_LEAST 4 /* added to function_off */

/* -1 for None, else o's truth; -2 with an exception if it has none */
static int wanted(PyObject *o) {
  if (o == Py_None) return -1;
  int r = PyObject_IsTrue(o);
  return r < 0 ? -2 : r;
}

static PyObject *mode_new(PyTypeObject *tp, PyObject *args, PyObject *kwargs) {
  PyObject *grad = Py_None, *inference = Py_None, *forward_ad = Py_None;
  int function_off = -1;
  (void)kwargs;
  if (!PyArg_ParseTuple(args, "|OOiO", &grad, &inference, &function_off, &forward_ad)) return NULL;
  int g = wanted(grad), i = g < -1 ? -2 : wanted(inference), f = i < -1 ? -2 : wanted(forward_ad);
  if (g < -1 || i < -1 || f < -1) return NULL;
  GradMode *m = (GradMode *)((allocfunc)PyType_GetSlot(tp, Py_tp_alloc))(tp, 0);
  if (!m) return NULL;
  m->grad = (int8_t)g;
  m->inference = (int8_t)i;
  m->function_off = (int8_t)function_off;
  m->forward_ad = (int8_t)f;
  m->old_grad = tl_grad_mode;
  m->old_inference = tl_inference_mode;
  return (PyObject *)m;
}

static void mode_dealloc(PyObject *o) {
  PyTypeObject *tp = Py_TYPE(o);
  ((freefunc)PyType_GetSlot(tp, Py_tp_free))(o);
  Py_DECREF(tp);
}

static void begin(GradMode *m) {
  m->old_grad = tl_grad_mode;
  m->old_inference = tl_inference_mode;
  m->old_function_off = (int8_t)tl_function_off;
  m->old_forward_ad = tl_forward_ad;
  if (m->grad >= 0) tl_grad_mode = m->grad;
  if (m->inference >= 0) tl_inference_mode = m->inference;
  int off = m->function_off, least = off - AT_LEAST;
  if (off >= AT_LEAST) tl_function_off = tl_function_off > least ? tl_function_off : least;
  else if (off >= 0) tl_function_off = off;
  if (m->forward_ad >= 0) tl_forward_ad = m->forward_ad;
}

static PyObject *mode_begin(PyObject *o, PyObject *_) {
  (void)_;
  begin((GradMode *)o);
  ((GradMode *)o)->begun = true;
  Py_RETURN_NONE;
}

static PyObject *mode_enter(PyObject *o, PyObject *_) {
  GradMode *m = (GradMode *)o;
  (void)_;
  if (m->begun && m->grad >= 0) tl_grad_mode = m->grad;
  if (!m->begun) begin(m);
  m->begun = false;
  Py_RETURN_NONE;
}

static PyObject *mode_exit(PyObject *o, PyObject *args) {
  GradMode *m = (GradMode *)o;
  (void)args;
  if (m->grad >= 0) tl_grad_mode = m->old_grad;
  if (m->inference >= 0) tl_inference_mode = m->old_inference;
  if (m->function_off >= 0) tl_function_off = m->old_function_off;
  if (m->forward_ad >= 0) tl_forward_ad = m->old_forward_ad;
  Py_RETURN_NONE;
}

static PyObject *get_prev(PyObject *o, void *c) {
  (void)c;
  return PyBool_FromLong(((GradMode *)o)->old_grad);
}

static PyMethodDef mode_methods[] = {
  {"__enter__", mode_enter, METH_NOARGS, NULL},
  {"__exit__", mode_exit, METH_VARARGS, NULL},
  {"begin", mode_begin, METH_NOARGS, "Switches at once; a `with` that follows restores what was before this."},
  {0}};
static PyGetSetDef mode_fields[] = {{"prev", get_prev, NULL, "Grad mode before.", NULL}, {0}};
static PyType_Slot mode_slots[] = {
  {Py_tp_new, mode_new},
  {Py_tp_dealloc, mode_dealloc},
  {Py_tp_methods, mode_methods},
  {Py_tp_getset, mode_fields},
  {Py_tp_doc,
   "GradMode(grad=None, inference=None, function_off=-1, forward_ad=None): switches these inside a `with`; None "
   "and -1 leave one as it is. function_off: nobody is asked for __torch_function__ (2), no class (1), or "
   "all are (0); with 4 added, this at least."},
  {0, NULL}};
static PyType_Spec mode_spec = {"torchlite._C.GradMode", sizeof(GradMode), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                                mode_slots};

int tl_grad_mode_init(PyObject *mod) {
  PyObject *type = PyType_FromSpec(&mode_spec);
  int r = type ? PyModule_AddObjectRef(mod, "GradMode", type) : -1;
  Py_XDECREF(type);
  return r;
}
