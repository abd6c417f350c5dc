/* graph.c: the base class of autograd nodes, and the end of deep graphs.
 *
 * A graph is a chain of objects that own each other: tensor -> node -> edges -> node ... Freeing a
 * long chain recursively overflows the stack: CPython's own guard allows more levels than a JavaScript engine's stack
 * holds. Every chain goes through two links, a tensor's grad_fn and a node's edges. tl_drop() releases these: it goes a
 * few levels deep, and leaves the rest to its outermost call. */
#include "core/core.h"

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

typedef struct {
  PyObject_HEAD PyObject *next;
} Node;

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
  return 0;
}
static int node_clear(Node *n) {
  PyObject *old = n->next;
  n->next = NULL;
  tl_drop(old);
  return 0;
}
static void node_dealloc(Node *n) {
  PyTypeObject *tp = Py_TYPE(n);
  PyObject_GC_UnTrack(n);
  PyObject *old = n->next;
  n->next = NULL;
  PyObject_GC_Del(n);
  Py_DECREF(tp);
  tl_drop(old);
}

static PyGetSetDef node_fields[] = {{"next", (getter)node_get_next, (setter)node_set_next,
                                     "The edges to the nodes that come after in the backward pass.", NULL},
                                    {0}};
static PyType_Slot node_slots[] = {{Py_tp_dealloc, node_dealloc},
                                   {Py_tp_traverse, node_traverse},
                                   {Py_tp_clear, node_clear},
                                   {Py_tp_getset, node_fields},
                                   {Py_tp_doc, "Owns the edges of an autograd node."},
                                   {0, NULL}};
static PyType_Spec node_spec = {"torchlite._C.NodeBase", sizeof(Node), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, node_slots};

int tl_graph_init(PyObject *mod) {
  PyObject *type = PyType_FromSpec(&node_spec);
  int r = type ? PyModule_AddObjectRef(mod, "NodeBase", type) : -1;
  Py_XDECREF(type);
  return r;
}
