/* graph.c: the base class of autograd nodes, and the end of deep graphs.
 *
 * A graph is a chain of objects that own each other: tensor -> node -> edges -> node ... Freeing a
 * long chain recursively overflows the stack: CPython's own guard allows more levels than a JavaScript engine's stack
 * holds. Every chain goes through two links, a tensor's grad_fn and a node's edges. tl_drop() releases these: it goes a
 * few levels deep, and leaves the rest to its outermost call. */
#include "core/core.h"
#include "core/graph.h"

static PyObject **pending;
static size_t npending, room;
static int depth;
enum { DEEPEST = 4 };

void tl_drop(PyObject *o) {
  if (!o) return;
  if (depth >= DEEPEST) {
    if (npending == room) {
      size_t want = room ? 2 * room : 256;
      PyObject **p = PyMem_Realloc(pending, want * sizeof *p);
      if (!p) {
        Py_DECREF(o);
        return;
      }
      pending = p;
      room = want;
    }
    pending[npending++] = o;
    return;
  }
  depth++;
  Py_DECREF(o);
  while (depth == 1 && npending) {
    PyObject *next = pending[--npending];
    Py_DECREF(next);
  }
  if (depth == 1 && room > 4096) {
    PyMem_Free(pending);
    pending = NULL;
    room = 0;
  }
  depth--;
}

static unsigned long long last_seq;
static PyObject *on_node; /* called with each new node; NULL: nobody asks */

int tl_graph_enter(Node *n) {
  n->seq = ++last_seq;
  if (!on_node) return 0;
  PyObject *r = PyObject_CallFunctionObjArgs(on_node, (PyObject *)n, NULL);
  Py_XDECREF(r);
  return r ? 0 : -1;
}

/* Node(edges, outs=1) */
static int node_init(Node *n, PyObject *args, PyObject *kwargs) {
  PyObject *edges, *outs = NULL;
  (void)kwargs;
  if (!PyArg_ParseTuple(args, "O|O", &edges, &outs)) return -1;
  Py_XSETREF_(n->next, Py_NewRef(edges));
  Py_XSETREF_(n->field[OUTS], outs ? Py_NewRef(outs) : PyLong_FromLong(1));
  return n->field[OUTS] ? tl_graph_enter(n) : -1;
}

static PyObject *node_get_next(Node *n, void *unused) {
  (void)unused;
  if (!n->next) {
    PyErr_SetString(PyExc_AttributeError, "next");
    return NULL;
  }
  return Py_NewRef(n->next);
}
static int node_set_next(Node *n, PyObject *v, void *unused) {
  (void)unused;
  PyObject *old = n->next;
  n->next = v ? Py_NewRef(v) : NULL;
  tl_drop(old);
  return 0;
}
static int node_traverse(Node *n, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(n));
  Py_VISIT(n->next);
  for (int i = 0; i < NUM_FIELDS; i++) Py_VISIT(n->field[i]);
  return 0;
}
static int node_clear(Node *n) {
  PyObject *old = n->next;
  n->next = NULL;
  for (int i = 0; i < NUM_FIELDS; i++) Py_XSETREF_(n->field[i], NULL);
  tl_drop(old);
  return 0;
}
static int op_node_traverse(OpNode *n, visitproc visit, void *arg) {
  for (int i = 0; i < NUM_OP_FIELDS; i++) Py_VISIT(n->of_op[i]);
  return node_traverse(&n->base, visit, arg);
}
static int op_node_clear(OpNode *n) {
  for (int i = 0; i < NUM_OP_FIELDS; i++) Py_XSETREF_(n->of_op[i], NULL);
  return node_clear(&n->base);
}
static void node_dealloc(Node *n) {
  PyTypeObject *tp = Py_TYPE(n);
  PyObject_GC_UnTrack(n);
  PyObject *old = n->next;
  n->next = NULL;
  for (int i = 0; i < NUM_FIELDS; i++) Py_XDECREF(n->field[i]);
  PyObject_GC_Del(n);
  Py_DECREF(tp);
  tl_drop(old);
}
static void op_node_dealloc(OpNode *n) {
  PyObject_GC_UnTrack(n);
  for (int i = 0; i < NUM_OP_FIELDS; i++) Py_XSETREF_(n->of_op[i], NULL);
  node_dealloc(&n->base);
}

static PyGetSetDef node_fields[] = {{"next", (getter)node_get_next, (setter)node_set_next,
                                     "The edges to the nodes that come after in the backward pass.", NULL},
                                    {0}};
#define FIELD(name, at) {name, _Py_T_OBJECT, offsetof(Node, field) + (at) * sizeof(PyObject *), 0, NULL}
static PyMemberDef node_members[] = {FIELD("outs", OUTS),
                                     FIELD("metadata_", METADATA),
                                     FIELD("pre_hooks", PRE_HOOKS),
                                     FIELD("post_hooks", POST_HOOKS),
                                     FIELD("retain", RETAIN),
                                     FIELD("trace", TRACE),
                                     FIELD("faces", FACES),
                                     {"seq", Py_T_ULONGLONG, offsetof(Node, seq), 0, NULL},
                                     {0}};
static PyType_Slot node_slots[] = {{Py_tp_dealloc, node_dealloc},
                                   {Py_tp_init, node_init},
                                   {Py_tp_members, node_members},
                                   {Py_tp_traverse, node_traverse},
                                   {Py_tp_clear, node_clear},
                                   {Py_tp_getset, node_fields},
                                   {Py_tp_doc, "Owns the edges of an autograd node."},
                                   {0, NULL}};
static PyType_Spec node_spec = {"torchlite._C.NodeBase", sizeof(Node), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, node_slots};
#undef FIELD
#define FIELD(name, at) {name, _Py_T_OBJECT, offsetof(OpNode, of_op) + (at) * sizeof(PyObject *), 0, NULL}
static PyMemberDef op_node_members[] = {
  FIELD("rec", REC), FIELD("kept", KEPT), FIELD("plain", PLAIN), FIELD("input_meta", INPUT_META), {0}};
static PyType_Slot op_node_slots[] = {{Py_tp_dealloc, op_node_dealloc},
                                      {Py_tp_members, op_node_members},
                                      {Py_tp_traverse, op_node_traverse},
                                      {Py_tp_clear, op_node_clear},
                                      {Py_tp_doc, "What the node of a declared op has besides."},
                                      {0, NULL}};
static PyType_Spec op_node_spec = {"torchlite._C.OpNodeBase", sizeof(OpNode), 0,
                                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, op_node_slots};
PyTypeObject *tl_node_type, *tl_op_node_type;

PyObject *tl_graph_pair(PyObject *first, PyObject *second) { /* steals both */
  PyObject *r = first && second ? PyTuple_Pack(2, first, second) : NULL;
  Py_XDECREF(first);
  Py_XDECREF(second);
  return r;
}

/* ---- edges: (node or leaf, output number), or None of what takes no gradient ---- */
PyObject *tl_graph_edge(PyObject *m, PyObject *o) {
  TlTensor *t = (TlTensor *)o;
  PyObject *node = NULL;
  (void)m;
  if (!TL_CHECK(o) || !tl_requires_grad(t)) Py_RETURN_NONE;
  if (t->base) {
    if (!(node = PyObject_GetAttrString(o, "grad_fn"))) return NULL; /* by the rule of views */
    if (node == Py_None) Py_CLEAR(node);
  } else if (t->grad_fn) node = Py_NewRef(t->grad_fn);
  if (node) return tl_graph_pair(node, PyLong_FromLong(t->output_nr));
  if (!t->requires_grad) Py_RETURN_NONE; /* views made under no_grad lead nowhere */
  return tl_graph_pair(Py_NewRef(o), PyLong_FromLong(0));
}

PyObject *tl_graph_meta(PyObject *o, PyObject *edge) {
  static PyObject *shape, *dtype;
  if (edge == Py_None || !TL_CHECK(o)) Py_RETURN_NONE;
  if (!dtype && (!(shape = PyUnicode_InternFromString("shape")) || !(dtype = PyUnicode_InternFromString("dtype"))))
    return NULL;
  return tl_graph_pair(PyObject_GetAttr(o, shape), PyObject_GetAttr(o, dtype));
}

int tl_graph_like(PyObject *o, PyObject *meta) {
  if (!PyTuple_Check(meta) || PyTuple_Size(meta) != 2 || !PyTuple_Check(PyTuple_GetItem(meta, 0))) {
    PyErr_SetString(PyExc_TypeError, "the shape and dtype of an input are a tuple of two");
    return -1;
  }
  const TlTensor *t = (TlTensor *)o;
  PyObject *shape = PyTuple_GetItem(meta, 0), *dtype;
  if (!TL_CHECK(o) || t->flags & (TL_DISPATCHES | TL_ASKS_SIZES) || PyTuple_Size(shape) != t->ndim) return 0;
  for (int i = 0; i < t->ndim; i++) {
    const long long n = PyLong_AsLongLong(PyTuple_GetItem(shape, i));
    if (n == -1 && PyErr_Occurred()) PyErr_Clear(); /* a symbol */
    if (n != t->shape[i]) return 0;
  }
  if (!(dtype = tl_dtype_object((tl_dtype)t->dtype))) return -1;
  Py_DECREF(dtype);
  return dtype == PyTuple_GetItem(meta, 1);
}
static long long version_of(const TlTensor *t) { return t->version ? t->version->value : 0; }
PyObject *tl_graph_saved(PyObject *o) {
  return tl_graph_pair(Py_NewRef(o), PyLong_FromLongLong(version_of((TlTensor *)o)));
}
/* kept(pair): t of (t, its version), where nothing has to be asked or said; else None */
PyObject *tl_graph_kept(PyObject *m, PyObject *pair) {
  (void)m;
  if (!PyTuple_Check(pair) || PyTuple_Size(pair) != 2) Py_RETURN_NONE;
  PyObject *o = PyTuple_GetItem(pair, 0), *version = PyTuple_GetItem(pair, 1);
  const TlTensor *t = (TlTensor *)o;
  if (!TL_CHECK(o) || t->meta || !PyLong_Check(version)) Py_RETURN_NONE;
  const long long number = PyLong_AsLongLong(version);
  if (number == -1 && PyErr_Occurred()) return NULL;
  return Py_NewRef(number == version_of(t) ? o : Py_None);
}

/* conjugate(x) of a tensor or a number, as gradients need it: a real one is its own */
static PyObject *conjugate(PyObject *m, PyObject *o) {
  (void)m;
  if (TL_CHECK(o)) {
    const TlTensor *t = (TlTensor *)o;
    return tl_is_complex(t->dtype) || t->flags & TL_DISPATCHES ? PyObject_CallMethod(o, "conj", NULL) : Py_NewRef(o);
  }
  return PyFloat_Check(o) || PyLong_Check(o) ? Py_NewRef(o) : PyObject_CallMethod(o, "conjugate", NULL);
}

static PyObject *last_node(PyObject *m, PyObject *unused) {
  (void)m, (void)unused;
  return PyLong_FromUnsignedLongLong(last_seq);
}
static PyObject *set_on_node(PyObject *m, PyObject *fn) {
  (void)m;
  Py_XSETREF_(on_node, fn == Py_None ? NULL : Py_NewRef(fn));
  Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
  {"edge", tl_graph_edge, METH_O, "edge(t): (node or leaf, output number), None where t takes no gradient"},
  {"kept", tl_graph_kept, METH_O, "kept(pair): the tensor of (tensor, version), None where there is more to it"},
  {"conjugate", conjugate, METH_O, "conjugate(x): of a tensor or a number; a real one is its own"},
  {"last_node", last_node, METH_NOARGS, "last_node(): the number of the newest node"},
  {"on_node", set_on_node, METH_O, "on_node(fn): fn is called with each new node; None ends that"},
  {0}};

int tl_graph_init(PyObject *mod) {
  PyObject *type = PyType_FromSpec(&node_spec);
  tl_node_type = (PyTypeObject *)type;
  int r = type ? PyModule_AddObjectRef(mod, "NodeBase", type) : -1;
  if (r == 0) {
    PyObject *bases = PyTuple_Pack(1, type);
    tl_op_node_type = bases ? (PyTypeObject *)PyType_FromSpecWithBases(&op_node_spec, bases) : NULL;
    r = tl_op_node_type ? PyModule_AddObjectRef(mod, "OpNodeBase", (PyObject *)tl_op_node_type) : -1;
    Py_XDECREF(bases);
  }
  return r < 0 ? r : PyModule_AddFunctions(mod, functions);
}
