/* engine.c: the loop of the backward pass. Pending nodes run in falling order of creation, so every consumer comes
 * first. Python does what hooks ask for, and what only few nodes need: torchlite/autograd/_engine.py, which begins and
 * ends a pass. */
#include "core/core.h"
#include "core/graph.h"
#include "core/op.h"

/* What Python does, by its place in the tuple that engine_helpers() gets. */
enum { BEFORE, PRE_HOOK, FILL, POST_HOOK, SUM, UNPACK, REDUCED, FREED, NUM_HELPERS };
/* The plan of a recorder whose gradients are a function for each input; see Recorder in _record.py. */
enum { EACH, ONE_RESULT, CONTEXT, KEPT_NAMES, OUTPUT_OF, PLAIN_NAMES, HOLDS, NUM_PARTS };

typedef struct {
  unsigned long long seq;
  PyObject *node; /* `pending` owns it */
} Entry;

typedef struct Pass {
  PyObject *ready;   /* id of a leaf -> (leaf, sum of what came) */
  PyObject *pending; /* node -> list of the gradients of its outputs */
  Entry *heap;       /* the newest node first */
  Py_ssize_t waiting, room;
  PyObject *helper[NUM_HELPERS];
  bool retain;
  PyObject *partial, *settle, *traced;    /* functions, or NULL */
  PyObject *targets, *needed, *collected; /* NULL where all leaves get their gradients */
} Pass;

/* The node whose gradients are computed, owned: passes of stacks that take turns may end in any order. */
static TL_THREAD PyObject *running;
static PyObject *helpers; /* what engine_helpers() got */
static PyObject *s_plan, *s_apply, *s_rec, *s_partial;

static PyObject *given(PyObject *o) { return o == Py_None ? NULL : o; }
static void replace(PyObject **at, PyObject *o) {
  PyObject *old = *at;
  *at = o;
  Py_XDECREF(old);
}
/* a list of n times None */
static PyObject *nothing(Py_ssize_t n) {
  PyObject *list = PyList_New(n);
  for (Py_ssize_t i = 0; list && i < n; i++) PyList_SetItem(list, i, Py_NewRef(Py_None));
  return list;
}
/* Whether there are any hooks of a kind. */
static bool has(const Node *n, int field) {
  return n->field[field] && PyDict_Check(n->field[field]) && PyDict_Size(n->field[field]) > 0;
}

/* ---- what waits ------------------------------------------------------------------------------------------------- */
static int heap_push(Pass *p, PyObject *node) {
  if (p->waiting == p->room) {
    const Py_ssize_t room = p->room ? 2 * p->room : 64;
    Entry *more = PyMem_Realloc(p->heap, (size_t)room * sizeof *more);
    if (!more) return PyErr_NoMemory(), -1;
    p->heap = more;
    p->room = room;
  }
  const Entry e = {((Node *)node)->seq, node};
  Py_ssize_t i = p->waiting++;
  for (; i && p->heap[(i - 1) / 2].seq < e.seq; i = (i - 1) / 2) p->heap[i] = p->heap[(i - 1) / 2];
  p->heap[i] = e;
  return 0;
}
static PyObject *heap_pop(Pass *p) {
  PyObject *top = p->heap[0].node;
  const Entry last = p->heap[--p->waiting];
  Py_ssize_t i = 0;
  for (Py_ssize_t k; (k = 2 * i + 1) < p->waiting; i = k) {
    if (k + 1 < p->waiting && p->heap[k + 1].seq > p->heap[k].seq) k++;
    if (p->heap[k].seq <= last.seq) break;
    p->heap[i] = p->heap[k];
  }
  p->heap[i] = last;
  return top;
}

/* have + g. Python orders the operands where `have` is a wrapper: sparse + dense is an error. */
static PyObject *sum(const Pass *p, PyObject *have, PyObject *g) {
  if (TL_CHECK(have) && !(((TlTensor *)have)->flags & TL_DISPATCHES)) return PyNumber_Add(have, g);
  return PyObject_CallFunctionObjArgs(p->helper[SUM], have, g, NULL);
}

static int send_to_leaf(Pass *p, PyObject *leaf, PyObject *g) {
  PyObject *key = PyLong_FromVoidPtr(leaf);
  PyObject *old = key ? PyDict_GetItemWithError(p->ready, key) : NULL, *entry = NULL;
  if (key && !PyErr_Occurred()) {
    PyObject *all = old && old != Py_None ? sum(p, PyTuple_GetItem(old, 1), g) : Py_NewRef(g);
    entry = all ? Py_BuildValue("(ON)", leaf, all) : NULL;
  }
  const int rc = entry ? PyDict_SetItem(p->ready, key, entry) : -1;
  Py_XDECREF(key);
  Py_XDECREF(entry);
  return rc;
}

static int send_to_node(Pass *p, PyObject *node, Py_ssize_t at, PyObject *g) {
  PyObject *have = PyDict_GetItemWithError(p->pending, node);
  if (!have) {
    if (PyErr_Occurred()) return -1;
    PyObject *outs = ((Node *)node)->field[OUTS];
    PyObject *list = nothing(outs && PyList_Check(outs) ? PyList_Size(outs) : 1);
    const int rc = list ? PyDict_SetItem(p->pending, node, list) : -1;
    have = list; /* `pending` owns it */
    Py_XDECREF(list);
    if (rc < 0 || heap_push(p, node) < 0) return -1;
  }
  PyObject *old = PyList_GetItem(have, at);
  if (!old) return -1;
  PyObject *all = old == Py_None ? Py_NewRef(g) : sum(p, old, g);
  return all ? PyList_SetItem(have, at, all) : -1;
}

/* Whether somebody asked for the gradient of an output. */
static int is_target(const Pass *p, PyObject *node, long at) {
  PyObject *places = PyDict_GetItemWithError(p->targets, node);
  if (!places) return PyErr_Occurred() ? -1 : 0;
  for (Py_ssize_t i = 0, n = PyList_Size(places); i < n; i++)
    if (PyLong_AsLong(PyTuple_GetItem(PyList_GetItem(places, i), 0)) == at) return 1;
  return 0;
}

/* Sends a gradient along an edge. root: it is where the pass begins, whatever it is for. */
static int send(Pass *p, PyObject *edge, PyObject *g, bool root) {
  PyObject *target = PyTuple_GetItem(edge, 0), *number = target ? PyTuple_GetItem(edge, 1) : NULL;
  if (!number) return -1;
  if (TL_CHECK(target)) return send_to_leaf(p, target, g);
  const long at = PyLong_AsLong(number);
  if (at < 0 || !PyObject_TypeCheck(target, tl_node_type)) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "an edge leads to a tensor or to an output of a node");
    return -1;
  }
  if (p->targets && !root) {
    int wanted = PySet_Contains(p->needed, target);
    if (wanted == 0) wanted = is_target(p, target, at);
    if (wanted <= 0) return wanted;
  }
  return send_to_node(p, target, at, g);
}

/* ---- the gradients of a node ------------------------------------------------------------------------------------ */
/* The values that gradient functions ask for: what was saved, after the checks of versions, and plain arguments. */
static PyObject *context_of(const Pass *p, OpNode *n, PyObject *plan) {
  /* references of its own: an unpack hook may run a pass that releases this node */
  PyObject *kept = Py_NewRef(n->of_op[KEPT]), *plain = Py_NewRef(n->of_op[PLAIN]);
  PyObject *c = PyObject_CallNoArgs(PyTuple_GetItem(plan, CONTEXT));
  PyObject *names = PyTuple_GetItem(plan, KEPT_NAMES), *output_of = PyTuple_GetItem(plan, OUTPUT_OF);
  for (Py_ssize_t i = 0, count = PyList_Size(kept); c && i < count; i++) {
    PyObject *item = Py_XNewRef(PyList_GetItem(kept, i)), *output = PyTuple_GetItem(output_of, i), *value = NULL;
    PyObject *name = PyTuple_GetItem(names, i);
    if (item && output && name) {
      /* a result gets its history back where the pass is recorded */
      value = output == Py_None || !tl_grad_mode ? tl_graph_kept(NULL, item) : Py_NewRef(Py_None);
      if (value == Py_None && item != Py_None) {
        Py_DECREF(value);
        value = PyObject_CallFunctionObjArgs(p->helper[UNPACK], item, (PyObject *)n, output, NULL);
      }
    }
    if (!value || PyObject_SetAttr(c, name, value) < 0) Py_CLEAR(c);
    Py_XDECREF(value);
    Py_XDECREF(item);
  }
  names = PyTuple_GetItem(plan, PLAIN_NAMES);
  for (Py_ssize_t i = 0, count = PyList_Size(plain); c && i < count; i++) {
    PyObject *name = PyTuple_GetItem(names, i);
    if (!name || PyObject_SetAttr(c, name, PyList_GetItem(plain, i)) < 0) Py_CLEAR(c);
  }
  Py_DECREF(kept);
  Py_DECREF(plain);
  return c;
}

/* v, or what its input needs instead; steals v. meta: the input's shape and dtype, None where v is right anyway. */
static PyObject *fitted(const Pass *p, PyObject *v, PyObject *meta) {
  if (meta == Py_None) return v;
  const int like = meta ? tl_graph_like(v, meta) : -1;
  if (like > 0) return v;
  PyObject *fit = NULL;
  if (like == 0)
    fit = PyObject_CallFunctionObjArgs(p->helper[REDUCED], v, PyTuple_GetItem(meta, 0), PyTuple_GetItem(meta, 1), NULL);
  Py_DECREF(v);
  return fit;
}

/* The gradients of a node of a declared op whose plan has a function for each input. */
static PyObject *apply_each(const Pass *p, OpNode *n, PyObject *plan, PyObject *grads) {
  PyObject *c = context_of(p, n, plan), *each = PyTuple_GetItem(plan, EACH), *metas = Py_XNewRef(n->of_op[INPUT_META]);
  PyObject *g = Py_XNewRef(PyTuple_GetItem(plan, ONE_RESULT) == Py_True ? PyList_GetItem(grads, 0) : grads);
  const Py_ssize_t count = PyTuple_Size(each);
  PyObject *result = c && g ? PyList_New(count) : NULL;
  for (Py_ssize_t i = 0; result && i < count; i++) {
    PyObject *edge = PyList_GetItem(n->base.next, i), *v = NULL, *args[] = {c, g};
    if (edge == Py_None) v = Py_NewRef(Py_None);
    else if (edge) v = PyObject_Vectorcall(PyTuple_GetItem(each, i), args, 2, NULL);
    if (v && v != Py_None && metas && metas != Py_None) v = fitted(p, v, PyList_GetItem(metas, i));
    if (v) PyList_SetItem(result, i, v);
    else Py_CLEAR(result);
  }
  Py_XDECREF(c);
  Py_XDECREF(g);
  Py_XDECREF(metas);
  return result;
}

/* The plan of a node; NULL, without an exception, where Python has to apply the node. */
static PyObject *plan_of(PyObject *node) {
  OpNode *n = (OpNode *)node;
  if (!PyObject_TypeCheck(node, tl_op_node_type) || !n->of_op[REC] || !n->of_op[KEPT] || !n->of_op[PLAIN]) return NULL;
  if (!PyList_Check(n->of_op[KEPT]) || !PyList_Check(n->of_op[PLAIN])) return NULL; /* freed: the error is Python's */
  PyObject *plan = PyObject_GetAttr(n->of_op[REC], s_plan);
  bool whole = plan && PyTuple_Check(plan) && PyTuple_Size(plan) == NUM_PARTS;
  for (int i = 0; i < NUM_PARTS && whole; i++)
    if (i == EACH || i == KEPT_NAMES || i == OUTPUT_OF || i == PLAIN_NAMES)
      whole = PyTuple_Check(PyTuple_GetItem(plan, i));
  if (!plan) PyErr_Clear();
  else if (!whole) Py_CLEAR(plan);
  return plan;
}

/* Drops what was saved. */
static int release(const Pass *p, PyObject *node, PyObject *plan) {
  if (!plan) {
    PyObject *r = PyObject_CallMethod(node, "release", NULL);
    Py_XDECREF(r);
    return r ? 0 : -1;
  }
  OpNode *n = (OpNode *)node;
  bool any = false;
  for (Py_ssize_t i = 0, count = PyList_Check(n->of_op[KEPT]) ? PyList_Size(n->of_op[KEPT]) : 0; i < count; i++)
    any = any || PyList_GetItem(n->of_op[KEPT], i) != Py_None;
  if (any) replace(&n->of_op[KEPT], Py_NewRef(p->helper[FREED]));
  if (PyTuple_GetItem(plan, HOLDS) == Py_True) replace(&n->of_op[PLAIN], Py_NewRef(p->helper[FREED]));
  return 0;
}

/* Whether all of a list is None, or any of it. */
static bool none_in(PyObject *list, bool all) {
  const Py_ssize_t n = PyList_Check(list) ? PyList_Size(list) : 0;
  Py_ssize_t found = 0;
  for (Py_ssize_t i = 0; i < n; i++) found += PyList_GetItem(list, i) == Py_None;
  return all ? found == n : found > 0;
}

/* Whether only some arguments of the op have a derivative, so that it must know which are wanted. */
static int is_partial(PyObject *node) {
  PyObject *rec = PyObject_GetAttr(node, s_rec), *said = rec ? PyObject_GetAttr(rec, s_partial) : NULL;
  const int partial = said ? PyObject_IsTrue(said) : 0;
  if (!said) PyErr_Clear(); /* it is not a declared op's */
  Py_XDECREF(rec);
  Py_XDECREF(said);
  return partial;
}

static PyObject *apply(const Pass *p, PyObject *node, PyObject *plan, PyObject *g) {
  if (p->targets && !plan) { /* a recorder with a plan is not partial */
    const int partial = is_partial(node);
    if (partial) return partial < 0 ? NULL : PyObject_CallFunctionObjArgs(p->partial, node, g, NULL);
  }
  if (p->traced) return PyObject_CallFunctionObjArgs(p->traced, node, g, NULL);
  if (plan) return apply_each(p, (OpNode *)node, plan, g);
  PyObject *args[] = {node, g};
  return PyObject_VectorcallMethod(s_apply, args, 2, NULL);
}

/* Stores the gradients that the caller asked for. `g` is what the tensors' hooks made of `first`. As in PyTorch the
 * caller gets `first` where the pass goes on from this node. */
static int collect(const Pass *p, PyObject *node, PyObject *first, PyObject *g, int needed) {
  PyObject *places = PyDict_GetItemWithError(p->targets, node);
  if (!places) return PyErr_Occurred() ? -1 : 0;
  for (Py_ssize_t i = 0, n = PyList_Size(places); i < n; i++) {
    PyObject *place = PyList_GetItem(places, i);
    PyObject *value = PySequence_GetItem(needed ? first : g, PyLong_AsSsize_t(PyTuple_GetItem(place, 0)));
    if (!value || PyList_SetItem(p->collected, PyLong_AsSsize_t(PyTuple_GetItem(place, 1)), value) < 0) return -1;
  }
  return 0;
}

/* The gradients along the edges of a node, with all its hooks. Steals `grads`. NULL, without an exception, where nobody
 * asked for a gradient beyond this node. */
static PyObject *results_of(Pass *p, PyObject *node, PyObject *grads) {
  Node *n = (Node *)node;
  PyObject *g = grads, *result = NULL, *plan = NULL;
  const bool hooked = has(n, PRE_HOOKS);
  if (hooked || has(n, RETAIN)) g = PyObject_CallFunctionObjArgs(p->helper[BEFORE], node, grads, NULL);
  else Py_INCREF(g);
  if (g && p->targets) {
    const int needed = PySet_Contains(p->needed, node);
    if (needed < 0 || collect(p, node, grads, g, needed) < 0 || !needed) Py_CLEAR(g);
  }
  Py_DECREF(grads);
  if (g && hooked) replace(&g, PyObject_CallFunctionObjArgs(p->helper[PRE_HOOK], node, g, NULL));
  PyObject *outs = n->field[OUTS];
  if (g && outs && PyList_Check(outs) && none_in(g, false))
    replace(&g, PyObject_CallFunctionObjArgs(p->helper[FILL], g, outs, node, NULL));
  if (!g) return NULL;
  plan = plan_of(node);
  if (hooked && none_in(g, true)) result = nothing(PyList_Size(n->next)); /* a hook took the gradient away */
  else result = apply(p, node, plan, g);
  if (result && has(n, POST_HOOKS))
    replace(&result, PyObject_CallFunctionObjArgs(p->helper[POST_HOOK], node, result, g, NULL));
  if (result && !p->retain && release(p, node, plan) < 0) Py_CLEAR(result);
  Py_XDECREF(plan);
  Py_DECREF(g);
  if (result && !PyList_Check(result) && !PyTuple_Check(result)) replace(&result, PySequence_List(result));
  return result;
}

static int run_node(Pass *p, PyObject *node, PyObject *grads) {
  PyObject *result = results_of(p, node, grads), *next = Py_XNewRef(((Node *)node)->next);
  int rc = 0;
  if (!result) rc = PyErr_Occurred() ? -1 : 1; /* 1: nothing to send */
  for (Py_ssize_t i = 0, n = result ? seq_size(result) : 0; i < n && rc == 0; i++) {
    PyObject *g = seq_item(result, i);
    if (g == Py_None) continue;
    PyObject *edge = next ? Py_XNewRef(PyList_GetItem(next, i)) : NULL;
    if (!edge) rc = -1;
    else if (edge != Py_None) rc = send(p, edge, g, false);
    Py_XDECREF(edge);
  }
  Py_XDECREF(result);
  if (rc == 0 && p->settle) {
    PyObject *done = PyObject_CallFunctionObjArgs(p->settle, next, NULL);
    if (!done) rc = -1;
    Py_XDECREF(done);
  }
  Py_XDECREF(next);
  return rc < 0 ? -1 : 0;
}

static int take_helpers(Pass *p) {
  for (int i = 0; i < NUM_HELPERS; i++)
    if (!helpers || !(p->helper[i] = PyTuple_GetItem(helpers, i))) {
      if (!helpers) PyErr_SetString(PyExc_RuntimeError, "the engine is asked before torchlite.autograd is imported");
      return -1;
    }
  return 0;
}

/* Runs the nodes that wait, the newest first. */
static int run_all(Pass *p) {
  PyObject *outer = running;
  int rc = 0;
  running = NULL;
  while (p->waiting && rc == 0) {
    PyObject *node = Py_NewRef(heap_pop(p)), *grads = Py_XNewRef(PyDict_GetItemWithError(p->pending, node));
    replace(&running, Py_NewRef(node));
    if (!grads || PyDict_DelItem(p->pending, node) < 0) {
      Py_XDECREF(grads);
      rc = -1;
    } else rc = run_node(p, node, grads);
    tl_drop(node);
  }
  replace(&running, outer);
  return rc;
}

/* run_nodes(roots, grads, ready, retain_graph, traced, settle, partial, targets, needed, collected) */
static PyObject *run_nodes(PyObject *m, PyObject *const *args, Py_ssize_t nargs) {
  (void)m;
  if (nargs != 10 || !PyList_Check(args[0]) || !PyList_Check(args[1]) || !PyDict_Check(args[2]) ||
      (args[7] != Py_None && !(PyDict_Check(args[7]) && PyAnySet_Check(args[8]) && PyList_Check(args[9]))))
    return PyErr_Format(PyExc_TypeError, "run_nodes() takes what torchlite.autograd gives it");
  Pass p = {.ready = args[2],
            .retain = PyObject_IsTrue(args[3]) == 1,
            .traced = given(args[4]),
            .settle = given(args[5]),
            .partial = given(args[6]),
            .targets = given(args[7]),
            .needed = given(args[8]),
            .collected = given(args[9])};
  int rc = take_helpers(&p);
  if (rc < 0 || !(p.pending = PyDict_New())) return NULL;
  for (Py_ssize_t i = 0; rc == 0 && i < PyList_Size(args[0]) && i < PyList_Size(args[1]); i++)
    rc = send(&p, PyList_GetItem(args[0], i), PyList_GetItem(args[1], i), true);
  if (rc == 0) rc = run_all(&p);
  Py_DECREF(p.pending);
  PyMem_Free(p.heap);
  return rc < 0 ? NULL : Py_NewRef(Py_None);
}

/* engine_helpers(functions): what the loop leaves to Python */
static PyObject *engine_helpers(PyObject *m, PyObject *functions_of) {
  (void)m;
  if (!PyTuple_Check(functions_of) || PyTuple_Size(functions_of) != NUM_HELPERS)
    return PyErr_Format(PyExc_TypeError, "engine_helpers() takes a tuple of %d", (int)NUM_HELPERS);
  replace(&helpers, Py_NewRef(functions_of));
  Py_RETURN_NONE;
}

static PyObject *running_node(PyObject *m, PyObject *unused) {
  (void)m, (void)unused;
  return Py_NewRef(running ? running : Py_None);
}

/* apply_node(node, grads): of a node whose recorder has a plan */
static PyObject *apply_node(PyObject *m, PyObject *const *args, Py_ssize_t nargs) {
  Pass p = {0};
  PyObject *plan = nargs == 2 ? plan_of(args[0]) : NULL, *grads = NULL, *result = NULL;
  (void)m;
  if (!plan) return PyErr_Format(PyExc_TypeError, "apply_node() takes the node of a declared op, and gradients");
  if (take_helpers(&p) == 0 && (grads = PySequence_List(args[1])))
    result = apply_each(&p, (OpNode *)args[0], plan, grads);
  Py_DECREF(plan);
  Py_XDECREF(grads);
  return result;
}

/* base_is_its_own(tensor): it is no view, or the only tensor that knows its base and its memory */
static PyObject *base_is_its_own(PyObject *m, PyObject *o) {
  (void)m;
  if (!tl_is_tensor(o)) return PyErr_Format(PyExc_TypeError, "base_is_its_own() takes a tensor");
  const TlTensor *t = (TlTensor *)o;
  return PyBool_FromLong(!t->base || (Py_REFCNT(t->base) == 1 && Py_REFCNT((PyObject *)t->storage) == 2));
}

static PyMethodDef functions[] = {
  {"base_is_its_own", base_is_its_own, METH_O, "base_is_its_own(tensor): no other tensor sees its base or its memory"},
  {"apply_node", (PyCFunction)(void (*)(void))apply_node, METH_FASTCALL,
   "apply_node(node, grads): the gradients of its inputs"},
  {"engine_helpers", engine_helpers, METH_O, "engine_helpers(functions): what the loop leaves to Python"},
  {"run_nodes", (PyCFunction)(void (*)(void))run_nodes, METH_FASTCALL,
   "run_nodes(...): runs all nodes that gradients reach; see torchlite/autograd/_engine.py"},
  {"running_node", running_node, METH_NOARGS, "running_node(): the node whose gradients are computed, or None"},
  {0}};

int tl_engine_init(PyObject *module) {
  if (!(s_plan = PyUnicode_InternFromString("plan")) || !(s_apply = PyUnicode_InternFromString("apply")) ||
      !(s_rec = PyUnicode_InternFromString("rec")) || !(s_partial = PyUnicode_InternFromString("partial")))
    return -1;
  return PyModule_AddFunctions(module, functions);
}
