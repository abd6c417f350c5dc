/* gpu_graph.c: the parts of one kernel's expressions in order, and the description of the kernel, which is its key here
 * and what TypeScript makes it from (js_bridge/src/runtime/described.ts; keep the two alike).
 *
 * A description is bytes: the kernel's role, numbers that depend on the role, how many parts, each part by its kind,
 * how many inputs, each input's dtype and the output whose buffer it shares (NONE: none), and the outputs. */
#include "gpu/gpu_graph.h"
#include "core/check.h"

#define NONE 255

static uint32_t mark;
static PyObject *plans; /* description -> the bridge's number */
static PyObject
  *reductions; /* name of a reduction -> (its place in the bridge's table, buffers that its state needs) */

/* ---- parts ------------------------------------------------------------------------------------------------------ */
int gpu_kind(const void *o) {
  PyTypeObject *tp = Py_TYPE(o);
  if (tp == tl_Leaf) return IS_LEAF;
  if (tp != tl_Node) return tp == tl_Number ? IS_NUMBER : IS_COORD;
  const TlProduct *product = ((const TlNode *)o)->product;
  if (!product) return IS_NODE;
  return product->done ? IS_LEAF : IS_PRODUCT;
}

/* the leaf that a part of kind IS_LEAF stands for */
static TlLeaf *leaf_of(Expr *e) { return Py_TYPE(e) == tl_Node ? ((TlNode *)e)->product->done : (TlLeaf *)e; }

int gpu_too_large(void) {
  PyErr_SetString(PyExc_RuntimeError, "an expression of too many parts for one kernel");
  return -1;
}

void gpu_graph_begin(GpuGraph *g, int ndim) {
  g->n = g->nin = g->numbers = 0;
  g->ndim = ndim;
  g->coords = false;
  if (++mark == 0) mark = 1;
}

bool gpu_graph_has(const void *e) { return ((const Expr *)e)->mark == mark; }

static int visit(GpuGraph *g, Expr *e, int depth) {
  if (e->mark == mark) {
    g->uses[e->place]++;
    return 0;
  }
  int kind = gpu_kind(e);
  if (depth > MAX_ORDER) return gpu_too_large();
  if (kind == IS_NODE)
    for (int i = 0; i < ((TlNode *)e)->nargs; i++)
      if (visit(g, (Expr *)NODE_ARGS((TlNode *)e)[i], depth + 1) < 0) return -1;
  if (g->n == MAX_ORDER) return gpu_too_large();
  if (kind == IS_LEAF) {
    TlLeaf *leaf = leaf_of(e);
    int at = 0;
    while (at < g->nin && !(g->inputs[at]->dtype == leaf->dtype && gpu_same_view(g->inputs[at], leaf))) at++;
    if (at == MAX_INPUTS) return gpu_too_large();
    if (leaf->ndim >= 0 && leaf->ndim != g->ndim) {
      PyErr_SetString(PyExc_RuntimeError, "an operand's strides are not those of the expression");
      return -1;
    }
    if (at == g->nin) g->inputs[g->nin++] = leaf;
    g->input_of[g->n] = (uint8_t)at;
  } else if (kind == IS_COORD) g->coords = g->coords || ((TlCoord *)e)->dim >= 0;
  else if (kind == IS_NUMBER) g->numbers++;
  e->mark = mark;
  e->place = (uint16_t)g->n;
  g->uses[g->n] = 1;
  g->order[g->n++] = e;
  return 0;
}
int gpu_graph_add(GpuGraph *g, void *e) { return visit(g, e, 0); }

/* a number as words of a compute type: one, or two (low, high) for int64 */
static uint32_t scalar(PyObject *value, tl_dtype d, uint32_t *out) {
  if (tl_is_float(d)) {
    double v = PyFloat_AsDouble(value);
    if (v == -1.0 && PyErr_Occurred()) return 0;
    out[0] = gpu_float_word(v);
    return 1;
  }
  PyObject *o = PyLong_Check(value) ? Py_NewRef(value) : PyNumber_Long(value);
  if (!o) return 0;
  uint64_t v = PyLong_AsUnsignedLongLongMask(o);
  Py_DECREF(o);
  out[0] = (uint32_t)v;
  out[1] = (uint32_t)(v >> 32);
  return d == TL_I64 ? 2 : 1;
}
uint32_t gpu_float_word(double v) {
  float f = v > 0 ? __builtin_inff() : -__builtin_inff();
  uint32_t word;
  if (!(v > 3.4028235677973366e38 || v < -3.4028235677973366e38)) f = (float)v;
  memcpy(&word, &f, 4);
  return word;
}
int gpu_graph_numbers(const GpuGraph *g, uint32_t **w) {
  for (int i = 0; i < g->n && g->numbers; i++) {
    if (gpu_kind(g->order[i]) != IS_NUMBER) continue;
    uint32_t k = scalar(((TlNumber *)g->order[i])->value, (tl_dtype)g->order[i]->dtype, *w);
    if (!k) return -1;
    *w += k;
  }
  return 0;
}

/* ---- descriptions ----------------------------------------------------------------------------------------------- */
void gpu_key_byte(GpuKey *k, int v) {
  if (k->n < KEY_ROOM) k->bytes[k->n] = (uint8_t)v;
  k->n++;
}
static void key_operation(GpuKey *k, int op, int dtype, int compute, int nargs) {
  gpu_key_byte(k, IS_NODE);
  gpu_key_byte(k, op & 255);
  gpu_key_byte(k, op >> 8);
  gpu_key_byte(k, dtype);
  gpu_key_byte(k, compute);
  gpu_key_byte(k, nargs);
}
void gpu_key_parts(GpuKey *k, const GpuGraph *g) {
  gpu_key_byte(k, g->n);
  for (int i = 0; i < g->n; i++) {
    Expr *e = g->order[i];
    int kind = gpu_kind(e);
    if (kind == IS_NODE) {
      TlNode *n = (TlNode *)e;
      key_operation(k, n->op, n->dtype, n->compute, n->nargs);
      for (int j = 0; j < n->nargs; j++) gpu_key_byte(k, ((Expr *)NODE_ARGS(n)[j])->place);
      continue;
    }
    gpu_key_byte(k, kind);
    if (kind == IS_LEAF) gpu_key_byte(k, g->input_of[i]);
    else gpu_key_byte(k, kind == IS_COORD ? ((TlCoord *)e)->dim : e->dtype);
  }
}

/* the bridge's number for a description, which goes there as text: one character for each byte */
static PyObject *describe(const GpuKey *k) {
  GPU_HOOK(gpu.describe, NULL);
  PyObject *bytes = PyUnicode_DecodeLatin1((const char *)k->bytes, k->n, NULL);
  PyObject *text = bytes ? PyUnicode_FromFormat("expression:%U", bytes) : NULL;
  PyObject *plan = text ? PyObject_CallFunctionObjArgs(gpu.describe, text, NULL) : NULL;
  Py_XDECREF(bytes);
  Py_XDECREF(text);
  return plan;
}
int64_t gpu_key_plan(const GpuKey *k) {
  if (k->n > KEY_ROOM) return gpu_too_large();
  if (!plans && !(plans = PyDict_New())) return -1;
  PyObject *key = PyBytes_FromStringAndSize((const char *)k->bytes, k->n), *number;
  if (!key) return -1;
  int64_t plan = -1;
  number = Py_XNewRef(PyDict_GetItemWithError(plans, key));
  if (!number && !PyErr_Occurred() && (number = describe(k)) && PyDict_SetItem(plans, key, number) < 0)
    Py_CLEAR(number);
  if (number) plan = PyLong_AsLongLong(number);
  Py_XDECREF(number);
  Py_DECREF(key);
  return plan;
}

/* ---- reductions' names ------------------------------------------------------------------------------------------ */
int gpu_reduction(PyObject *name, int *buffers) {
  PyObject *known = reductions ? PyDict_GetItemWithError(reductions, name) : NULL;
  int id, states;
  if (!known) {
    if (!PyErr_Occurred()) PyErr_Format(PyExc_TypeError, "not a name of a reduction: %R", name);
    return -1;
  }
  if (!PyArg_ParseTuple(known, "ii", &id, &states)) return -1;
  if (buffers) *buffers = states;
  return id;
}

/* reductions({name: buffers}): of a kernel for long rows, beside its inputs. Their numbers are their places here, and
 * in REDUCTIONS (js_bridge/src/kernels/rows/reduce_ops.ts). */
static PyObject *f_reductions(PyObject *m, PyObject *table) {
  (void)m;
  PyObject *names = PyMapping_Items(table), *made = names ? PyDict_New() : NULL;
  for (Py_ssize_t i = 0; made && i < PyList_Size(names); i++) {
    PyObject *pair = PyList_GetItem(names, i);
    PyObject *entry = Py_BuildValue("(nO)", i, PyTuple_GetItem(pair, 1));
    if (!entry || PyDict_SetItem(made, PyTuple_GetItem(pair, 0), entry) < 0) Py_CLEAR(made);
    Py_XDECREF(entry);
  }
  Py_XDECREF(names);
  if (!made) return NULL;
  Py_XSETREF_(reductions, made);
  Py_RETURN_NONE;
}

/* ---- kernels whose parts a planner lists ------------------------------------------------------------------------ */
static int small(PyObject *o) {
  long v = PyLong_Check(o) ? PyLong_AsLong(o) : -1;
  if (v >= 0 && v < NONE) return (int)v;
  if (!PyErr_Occurred()) PyErr_Format(PyExc_TypeError, "describe: expected a small number, not %R", o);
  return -1;
}
static int key_number(GpuKey *k, PyObject *o) {
  int v = small(o);
  if (v >= 0) gpu_key_byte(k, v);
  return v < 0 ? -1 : 0;
}
static int key_dtype(GpuKey *k, PyObject *o) {
  tl_dtype d;
  if (tl_dtype_arg(o, TL_F32, &d) < 0) return -1;
  gpu_key_byte(k, d);
  return 0;
}
/* an input by its number, None for a float32 that each launch gives, or (operation, places of its operands ...) */
static int key_part(GpuKey *k, PyObject *part) {
  if (part == Py_None) {
    gpu_key_byte(k, IS_NUMBER);
    gpu_key_byte(k, TL_F32);
    return 0;
  }
  if (!PyTuple_Check(part)) {
    gpu_key_byte(k, IS_LEAF);
    return key_number(k, part);
  }
  int op = PyTuple_Size(part) ? gpu_op_id(PyTuple_GetItem(part, 0)) : gpu_too_large();
  if (op < 0) return -1;
  key_operation(k, op, TL_F32, NO_COMPUTE, (int)PyTuple_Size(part) - 1);
  for (Py_ssize_t i = 1; i < PyTuple_Size(part); i++)
    if (key_number(k, PyTuple_GetItem(part, i)) < 0) return -1;
  return 0;
}
/* an input: its dtype, or (dtype, the output whose buffer it shares) */
static int key_input(GpuKey *k, PyObject *o) {
  if (PyTuple_Check(o) && PyTuple_Size(o) == 2)
    return key_dtype(k, PyTuple_GetItem(o, 0)) < 0 ? -1 : key_number(k, PyTuple_GetItem(o, 1));
  if (key_dtype(k, o) < 0) return -1;
  gpu_key_byte(k, NONE);
  return 0;
}
/* an output: (part, dtype), before them the name of a reduction where it is one */
static int key_output(GpuKey *k, PyObject *o, bool reduced) {
  if (!PyTuple_Check(o) || PyTuple_Size(o) != 2 + reduced) {
    PyErr_SetString(PyExc_TypeError, "describe: an output is (part, dtype), or (reduction, part, dtype)");
    return -1;
  }
  int op = reduced ? gpu_reduction(PyTuple_GetItem(o, 0), NULL) : 0;
  if (op < 0) return -1;
  if (reduced) gpu_key_byte(k, op);
  return key_number(k, PyTuple_GetItem(o, reduced)) < 0 ? -1 : key_dtype(k, PyTuple_GetItem(o, 1 + reduced));
}
static PyObject *f_describe(PyObject *m, PyObject *const *a, Py_ssize_t nargs) {
  (void)m;
  GpuKey key;
  key.n = 0;
  bool lists = nargs == 4, reduced = false, ok = true;
  for (int i = 0; i < 4 && lists; i++) lists = PyTuple_Check(a[i]) && PyTuple_Size(a[i]) < NONE;
  if (!lists)
    return PyErr_Format(PyExc_TypeError, "describe(kept and reduced dims and inner or (), parts, inputs, outputs)");
  reduced = PyTuple_Size(a[0]) > 0;
  gpu_key_byte(&key, reduced ? REDUCED : NO_PRODUCT);
  if (!reduced) gpu_key_byte(&key, 0);
  for (Py_ssize_t i = 0; ok && i < PyTuple_Size(a[0]); i++) ok = key_number(&key, PyTuple_GetItem(a[0], i)) == 0;
  gpu_key_byte(&key, (int)PyTuple_Size(a[1]));
  for (Py_ssize_t i = 0; ok && i < PyTuple_Size(a[1]); i++) ok = key_part(&key, PyTuple_GetItem(a[1], i)) == 0;
  gpu_key_byte(&key, (int)PyTuple_Size(a[2]));
  for (Py_ssize_t i = 0; ok && i < PyTuple_Size(a[2]); i++) ok = key_input(&key, PyTuple_GetItem(a[2], i)) == 0;
  for (Py_ssize_t i = 0; ok && i < PyTuple_Size(a[3]); i++)
    ok = key_output(&key, PyTuple_GetItem(a[3], i), reduced) == 0;
  int64_t plan = ok ? gpu_key_plan(&key) : -1;
  return plan < 0 ? NULL : PyLong_FromLongLong(plan);
}

static PyMethodDef functions[] = {
  {"reductions", f_reductions, METH_O, "reductions({name: buffers of its state}): what the kernels have."},
  {"describe", (PyCFunction)(void *)f_describe, METH_FASTCALL,
   "describe(dims, parts, inputs, outputs): the number of a kernel whose parts a planner lists; all compute in "
   "float32. "
   "dims: () for an element-wise kernel over elements in order, (kept, reduced, inner) for a reduction. A part is the "
   "number of an input, None for a number that each launch gives, or (operation, earlier parts ...). An input is a "
   "dtype, or (dtype, output that shares its buffer); an output (part, dtype), or (reduction, part, dtype)."},
  {0}};
int gpu_graph_init(PyObject *mod) { return PyModule_AddFunctions(mod, functions); }
