/* gpu_expr.c: lazy element-wise expressions. gpu_run.c runs one as a single kernel when its result is needed.
 *
 * An element-wise op returns a tensor whose buffer has no memory yet. The buffer is pending on a Node, which says how
 * to compute the elements. If the tensor's user is element-wise too, its node includes this node; any other user runs
 * it (gpu_ready). Nodes read buffers, so a write to a buffer first runs the pending expressions that read it
 * (gpu_before_write). */
#include "core/check.h"
#include "gpu/gpu.h"

#define MAX_OPERATIONS 256

PyTypeObject *tl_Node, *tl_Leaf, *tl_Number, *tl_Coord;
static PyObject *op_ids, *op_names, *dtype_names[TL_NUM_DTYPES];
/* What kernels can compute, by the operation's number. Operations with higher numbers have no kernel. */
static struct {
  uint8_t arity;
  bool f, i, l, b, floats, test;
} operations[MAX_OPERATIONS];

/* ---- names ------------------------------------------------------------------------------------------------------ */
int gpu_op_id(PyObject *name) {
  PyObject *known = PyDict_GetItemWithError(op_ids, name);
  if (known) return (int)PyLong_AsLong(known);
  if (PyErr_Occurred()) return -1;
  Py_ssize_t n = PyList_Size(op_names);
  if (!PyUnicode_Check(name) || n >= 0xffff) {
    PyErr_Format(PyExc_TypeError, "not a name of an operation: %R", name);
    return -1;
  }
  PyObject *id = PyLong_FromSsize_t(n);
  int r = id ? PyDict_SetItem(op_ids, name, id) : -1;
  Py_XDECREF(id);
  return r < 0 || PyList_Append(op_names, name) < 0 ? -1 : (int)n;
}
int gpu_op_named(const char *text) {
  PyObject *name = PyUnicode_FromString(text);
  int id = name ? gpu_op_id(name) : -1;
  Py_XDECREF(name);
  return id;
}
bool gpu_computes(int op, int nargs, tl_dtype compute) {
  if (op >= MAX_OPERATIONS || operations[op].arity != nargs || !nargs) return false;
  if (tl_is_float(compute) || operations[op].floats) return operations[op].f;
  if (compute == TL_BOOL && operations[op].b) return true;
  return compute == TL_I64 ? operations[op].l : operations[op].i;
}
bool gpu_is_test(int op) { return op < MAX_OPERATIONS && operations[op].test; }

/* operations({name: text}): the operations that kernels have. The text is the arity, then letters. f, i, l: it exists
 * for floats, int32, int64; b: for bool, in a form of its own; r: integers are computed as floats; t: the result is a
 * bool. Must be called before any operation is named: an operation's number is its place in this table, and in OPS
 * (js_bridge/src/kernels/elementwise/op_table.ts). */
static PyObject *f_operations(PyObject *m, PyObject *table) {
  (void)m;
  PyObject *items = PyMapping_Items(table);
  Py_ssize_t n = items ? PyList_Size(items) : 0;
  if (n > MAX_OPERATIONS) {
    PyErr_SetString(PyExc_ValueError, "operations: too many");
    Py_CLEAR(items);
  }
  for (Py_ssize_t i = 0; items && i < n; i++) {
    PyObject *pair = PyList_GetItem(items, i), *text = PyUnicode_AsUTF8String(PyTuple_GetItem(pair, 1));
    int id = text ? gpu_op_id(PyTuple_GetItem(pair, 0)) : -1;
    if (id != i) {
      if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "operations: others were named before");
      Py_CLEAR(items);
    } else {
      const char *s = PyBytes_AsString(text);
      operations[i].arity = (uint8_t)(*s - '0');
      operations[i].f = strchr(s, 'f');
      operations[i].i = strchr(s, 'i');
      operations[i].l = strchr(s, 'l');
      operations[i].b = strchr(s, 'b');
      operations[i].floats = strchr(s, 'r');
      operations[i].test = strchr(s, 't');
    }
    Py_XDECREF(text);
  }
  if (!items) return NULL;
  Py_DECREF(items);
  Py_RETURN_NONE;
}

PyObject *gpu_op_name(int id) { return PyList_GetItem(op_names, id); }
int gpu_dtype(PyObject *name) {
  for (int i = 0; i < TL_NUM_DTYPES; i++)
    if (dtype_names[i] == name) return i;
  for (int i = 0; i < TL_NUM_DTYPES && PyUnicode_Check(name); i++)
    if (PyUnicode_CompareWithASCIIString(name, tl_dtype_name[i]) == 0) return i;
  PyErr_Format(PyExc_TypeError, "expected the name of a dtype, not %R", name);
  return -1;
}

/* ---- making them ------------------------------------------------------------------------------------------------ */
TlLeaf *gpu_leaf(TlBuffer *b, int dtype, int ndim, const int64_t *strides, int64_t offset) {
  TlLeaf *l = (TlLeaf *)PyType_GenericAlloc(tl_Leaf, ndim > 0 ? ndim : 0);
  if (!l) return NULL;
  l->dtype = (uint8_t)dtype;
  l->ndim = ndim;
  l->offset = offset;
  l->buffer = (TlBuffer *)Py_NewRef(b);
  b->readers++;
  if (ndim > 0) tl_copy_dims(l->strides, strides, ndim);
  return l;
}
TlNumber *gpu_number(PyObject *value, int dtype) {
  TlNumber *n = (TlNumber *)PyType_GenericAlloc(tl_Number, 0);
  if (!n) return NULL;
  n->dtype = (uint8_t)dtype;
  n->value = Py_NewRef(value);
  return n;
}

bool gpu_same_view(const TlLeaf *a, const TlLeaf *b) {
  return a->buffer == b->buffer && a->offset == b->offset && a->ndim == b->ndim &&
         (a->ndim <= 0 || !memcmp(a->strides, b->strides, sizeof(int64_t) * (size_t)a->ndim));
}
/* Collects the leaves of the arguments, each view of a buffer once. Returns their number; -1 if that is above `most`.
 */
static int leaves_of(PyObject *const *args, int nargs, TlLeaf **out, int most) {
  int n = 0;
  for (int i = 0; i < nargs; i++) {
    bool node = Py_TYPE(args[i]) == tl_Node;
    if (!node && Py_TYPE(args[i]) != tl_Leaf) continue;
    TlLeaf *one = (TlLeaf *)args[i], **from = node ? NODE_LEAVES((TlNode *)args[i]) : &one;
    for (int j = 0, k = node ? ((TlNode *)args[i])->nleaves : 1; j < k; j++) {
      int at = 0;
      while (at < n && !(out[at]->dtype == from[j]->dtype && gpu_same_view(out[at], from[j]))) at++;
      if (at < n) continue;
      if (n == most) return -1;
      out[n++] = from[j];
    }
  }
  return n;
}
static int count_of(PyObject *const *args, int nargs) {
  int n = 1;
  for (int i = 0; i < nargs; i++)
    if (Py_TYPE(args[i]) == tl_Node) n += ((TlNode *)args[i])->count;
  return n;
}

static int products_in(PyObject *const *args, int nargs) {
  int n = 0;
  for (int i = 0; i < nargs; i++)
    if (Py_TYPE(args[i]) == tl_Node) n += ((TlNode *)args[i])->products;
  return n < 255 ? n : 255;
}

static int64_t numel_of(const TlNode *n) {
  int64_t numel = 1;
  for (int i = 0; i < n->ndim; i++) numel = tl_wrap_mul(numel, n->shape[i]);
  return numel;
}

static bool pins_much(const TlNode *n) {
  const int64_t numel = numel_of(n);
  for (int i = 0; i < n->nleaves; i++) {
    int64_t nbytes = NODE_LEAVES(n)[i]->buffer->nbytes;
    if (nbytes >= 1 << 20 && nbytes / 8 > numel * tl_itemsize[n->dtype]) return true;
  }
  return n->products > 0;
}

int tl_gpu_countable(int ndim, const int64_t *shape, int itemsize) {
  int64_t numel = 1;
  for (int i = 0; i < ndim; i++)
    if (!shape[i]) return 0;
  for (int i = 0; i < ndim; i++)
    if (__builtin_mul_overflow(numel, shape[i], &numel)) {
      numel = INT64_MAX;
      break;
    }
  if (numel <= INT32_MAX) return 0;
  if (itemsize && numel >= ((int64_t)1 << 32) / itemsize) { /* larger than any buffer */
    PyObject *torch = PyImport_ImportModule("torchlite"),
             *type = torch ? PyObject_GetAttrString(torch, "OutOfMemoryError") : NULL;
    if (type)
      PyErr_Format(type,
                   "out of WebGPU memory: %lld elements are %lld GiB, and a webgpu kernel counts at most 2147483647 "
                   "elements; split the tensor",
                   (long long)numel, (long long)(numel >> 30) * itemsize);
    Py_XDECREF(type);
    Py_XDECREF(torch);
    return -1;
  }
  PyErr_Format(PyExc_RuntimeError,
               "a webgpu kernel counts at most 2147483647 elements, and this operation has %lld; split the tensor",
               (long long)numel);
  return -1;
}

/* Whether running the node would read the buffer. */
bool gpu_node_reads(const TlNode *n, const TlBuffer *b) {
  if (n->product && n->product->done) return n->product->done->buffer == b;
  for (int i = 0; i < n->nleaves; i++)
    if (NODE_LEAVES(n)[i]->buffer == b) return true;
  for (int i = 0; n->product && i < n->product->nreads; i++)
    if (n->product->reads[i]->buffer == b) return true;
  for (int i = 0; n->products && i < n->nargs; i++)
    if (Py_TYPE(NODE_ARGS(n)[i]) == tl_Node && gpu_node_reads((TlNode *)NODE_ARGS(n)[i], b)) return true;
  return false;
}

TlNode *gpu_node(int op, PyObject *const *args, int nargs, int dtype, int compute, int ndim, const int64_t *shape) {
  TlLeaf *leaves[64];
  if (tl_gpu_countable(ndim, shape, tl_itemsize[dtype]) < 0) return NULL;
  int nleaves = leaves_of(args, nargs, leaves, 64);
  if (nleaves < 0) {
    PyErr_SetString(PyExc_RuntimeError, "an expression over too many tensors");
    return NULL;
  }
  size_t extra = ((size_t)(nargs + nleaves) * sizeof(void *) + 7) / 8;
  TlNode *n = (TlNode *)PyType_GenericAlloc(tl_Node, ndim + (Py_ssize_t)extra);
  if (!n) return NULL;
  n->op = (uint16_t)op;
  n->dtype = (uint8_t)dtype;
  n->compute = (uint8_t)compute;
  n->ndim = (uint8_t)ndim;
  n->nargs = (uint8_t)nargs;
  n->nleaves = (uint8_t)nleaves;
  n->count = count_of(args, nargs);
  n->products = (uint8_t)products_in(args, nargs);
  tl_copy_dims(n->shape, shape, ndim);
  for (int i = 0; i < nargs; i++) NODE_ARGS(n)[i] = Py_NewRef(args[i]);
  for (int i = 0; i < nleaves; i++) NODE_LEAVES(n)[i] = leaves[i]; /* the arguments own them */
  n->pins_much = pins_much(n);
  return n;
}

PyObject *gpu_run_now(TlNode *n) {
  TlBuffer *b = n->holder ? (TlBuffer *)Py_NewRef(n->holder) : gpu_buffer(numel_of(n) * tl_itemsize[n->dtype]);
  if (!b) return NULL;
  if (!n->holder) gpu_set_pending(b, (TlNode *)Py_NewRef(n));
  PyObject *leaf = gpu_ready(b) ? (PyObject *)gpu_leaf(b, n->dtype, -1, NULL, 0) : NULL;
  Py_DECREF(b);
  return leaf;
}

/* Makes a node. If it would get too large for a kernel, its operands are run first. */
TlNode *gpu_expression(int op, PyObject *const *args, int nargs, int dtype, int compute, int ndim,
                       const int64_t *shape) {
  /* A kernel computes one product. The others run before it, and each is a leaf then. */
  TlLeaf *leaves[MAX_EPILOGUE_LEAVES];
  int products = products_in(args, nargs), most = products ? MAX_EPILOGUE_LEAVES - products + 1 : MAX_LEAVES;
  if (count_of(args, nargs) <= MAX_NODES && most > 0 && leaves_of(args, nargs, leaves, most) >= 0)
    return gpu_node(op, args, nargs, dtype, compute, ndim, shape);
  PyObject *own[MAX_ARGS];
  int n = 0;
  for (; n < nargs; n++)
    if (!(own[n] = Py_TYPE(args[n]) == tl_Node ? gpu_run_now((TlNode *)args[n]) : Py_NewRef(args[n]))) break;
  TlNode *r = n == nargs ? gpu_node(op, own, nargs, dtype, compute, ndim, shape) : NULL;
  while (n) Py_DECREF(own[--n]);
  return r;
}

bool gpu_geometry(const TlTensor *t, int ndim, const int *order, int64_t *shape, int64_t *strides) {
  int lead = ndim - t->ndim;
  bool dense = true, empty = false;
  int64_t step = 1;
  for (int i = ndim - 1; i >= 0; i--) {
    int d = (order ? order[i] : i) - lead;
    shape[i] = d < 0 ? 1 : t->shape[d];
    strides[i] = d < 0 ? 0 : t->strides[d];
    empty = empty || !shape[i];
    if (shape[i] == 1) continue;
    dense = dense && strides[i] == step;
    step = tl_wrap_mul(step, shape[i]);
  }
  return dense || empty;
}

/* A tensor as an argument of an expression over `shape`: its pending node if that has the same shape, else a leaf. */
PyObject *gpu_operand(TlTensor *t, int ndim, const int64_t *shape, const int *order) {
  TlBuffer *b = (TlBuffer *)t->storage->owner;
  if (t->device != TL_WEBGPU || !b || Py_TYPE(b) != tl_Buffer) {
    GPU_HOOK(gpu.cpu_operand, NULL);
    return PyObject_CallFunctionObjArgs(gpu.cpu_operand, (PyObject *)t, NULL);
  }
  if (t->ndim > ndim) {
    PyErr_SetString(PyExc_RuntimeError, "operand: a tensor of more dims than the expression");
    return NULL;
  }
  int64_t own[TL_MAX_DIMS], strides[TL_MAX_DIMS];
  bool same = gpu_geometry(t, ndim, order, own, strides) && tl_same_dims(own, shape, ndim);
  TlNode *n = b->pending;
  if (n && same && t->offset == 0 && n->dtype == t->dtype && n->ndim == ndim && tl_same_dims(n->shape, shape, ndim))
    return Py_NewRef(n);
  if (n && !gpu_ready(b)) return NULL;
  if (same) return (PyObject *)gpu_leaf(b, t->dtype, -1, NULL, t->offset);
  for (int d = 0; d < ndim; d++)
    if (own[d] == 1 && shape[d] != 1) strides[d] = 0;
  return (PyObject *)gpu_leaf(b, t->dtype, ndim, strides, t->offset);
}

/* A lazy tensor: its buffer is pending on the node. */
PyObject *gpu_result(TlNode *n, tl_dtype dtype, const int *order, const int64_t *strides) {
  int64_t dense[TL_MAX_DIMS], shape[TL_MAX_DIMS], own[TL_MAX_DIMS], nbytes;
  const int64_t numel = tl_dense_strides(n->ndim, n->shape, dense);
  if (numel < 0) return NULL;
  if (__builtin_mul_overflow(numel, (int64_t)tl_itemsize[dtype], &nbytes)) nbytes = INT64_MAX / 2;
  for (int i = 0; i < n->ndim; i++) {
    int d = order ? order[i] : i;
    shape[d] = n->shape[i];
    own[d] = strides ? strides[d] : dense[i];
  }
  TlBuffer *b = gpu_buffer(nbytes);
  if (!b) return NULL;
  if (numel) gpu_set_pending(b, (TlNode *)Py_NewRef(n));
  TlStorage *s = tl_storage_of(TL_WEBGPU, (PyObject *)b, nbytes);
  PyObject *t = s ? (PyObject *)tl_over(s, dtype, n->ndim, shape, own, 0) : NULL;
  if (t && n->pins_much && gpu_limit_pinned() < 0) Py_CLEAR(t);
  return t;
}

/* ---- Python's view ---------------------------------------------------------------------------------------------- */
static bool is_part(PyObject *o) {
  PyTypeObject *tp = Py_TYPE(o);
  return tp == tl_Node || tp == tl_Leaf || tp == tl_Number || tp == tl_Coord;
}
/* a node's arguments from Python: (op, args, dtype, compute, shape) */
typedef struct {
  PyObject *args[MAX_ARGS];
  int op, nargs, dtype, compute, ndim;
  int64_t shape[TL_MAX_DIMS];
} Parsed;
static int parse(Parsed *p, PyObject *const *a) {
  if ((p->op = gpu_op_id(a[0])) < 0 || (p->dtype = gpu_dtype(a[2])) < 0 || tl_ints(a[4], p->shape, &p->ndim) < 0)
    return -1;
  p->compute = a[3] == Py_None ? NO_COMPUTE : gpu_dtype(a[3]);
  if (p->compute < 0) return -1;
  bool tuple = PyTuple_Check(a[1]);
  Py_ssize_t n = tuple || PyList_Check(a[1]) ? PyObject_Size(a[1]) : MAX_ARGS + 1;
  if (p->ndim > 0 && tl_product(p->ndim, p->shape, NULL) < 0) return -1;
  if (n > MAX_ARGS || p->ndim < 0) {
    PyErr_SetString(PyExc_TypeError, "an expression needs a list of at most 16 operands, and a shape");
    return -1;
  }
  p->nargs = (int)n;
  for (int i = 0; i < p->nargs; i++) {
    p->args[i] = tuple ? PyTuple_GetItem(a[1], i) : PyList_GetItem(a[1], i);
    if (!is_part(p->args[i])) {
      PyErr_Format(PyExc_TypeError, "not an operand of an expression: %R", p->args[i]);
      return -1;
    }
  }
  return 0;
}
static PyObject *f_expression(PyObject *m, PyObject *const *a, Py_ssize_t n) {
  (void)m;
  Parsed p;
  if (n != 5) {
    PyErr_SetString(PyExc_TypeError, "expression(op, args, dtype, compute, shape)");
    return NULL;
  }
  if (parse(&p, a) < 0) return NULL;
  return (PyObject *)gpu_expression(p.op, p.args, p.nargs, p.dtype, p.compute, p.ndim, p.shape);
}
static PyObject *node_new(PyTypeObject *tp, PyObject *args, PyObject *kw) {
  (void)tp;
  (void)kw;
  PyObject *a[5];
  Parsed p;
  if (PyTuple_Size(args) < 5) {
    PyErr_SetString(PyExc_TypeError, "Node(op, args, dtype, compute, shape)");
    return NULL;
  }
  for (int i = 0; i < 5; i++) a[i] = PyTuple_GetItem(args, i);
  return parse(&p, a) < 0 ? NULL : (PyObject *)gpu_node(p.op, p.args, p.nargs, p.dtype, p.compute, p.ndim, p.shape);
}
static PyObject *leaf_new(PyTypeObject *tp, PyObject *args, PyObject *kw) {
  (void)tp;
  (void)kw;
  PyObject *b, *dtype, *strides;
  long long offset;
  int64_t st[TL_MAX_DIMS];
  int n = -1, d;
  if (!PyArg_ParseTuple(args, "OOOL", &b, &dtype, &strides, &offset) || (d = gpu_dtype(dtype)) < 0) return NULL;
  if (Py_TYPE(b) != tl_Buffer) {
    PyErr_SetString(PyExc_TypeError, "Leaf(buffer, dtype, strides or None, offset)");
    return NULL;
  }
  if (strides != Py_None && tl_ints(strides, st, &n) < 0) return NULL;
  return (PyObject *)gpu_leaf((TlBuffer *)b, d, n, st, offset);
}
static PyObject *number_new(PyTypeObject *tp, PyObject *args, PyObject *kw) {
  (void)tp;
  (void)kw;
  PyObject *value, *dtype;
  int d;
  if (!PyArg_ParseTuple(args, "OO", &value, &dtype) || (d = gpu_dtype(dtype)) < 0) return NULL;
  return (PyObject *)gpu_number(value, d);
}
static PyObject *coord_new(PyTypeObject *tp, PyObject *args, PyObject *kw) {
  (void)kw;
  int dim;
  if (!PyArg_ParseTuple(args, "i", &dim)) return NULL;
  TlCoord *c = (TlCoord *)PyType_GenericAlloc(tp, 0);
  if (c) {
    c->dim = dim;
    c->dtype = TL_I32;
  }
  return (PyObject *)c;
}
static void node_dealloc(TlNode *n) {
  PyTypeObject *tp = Py_TYPE(n);
  for (int i = 0; i < n->nargs; i++) Py_DECREF(NODE_ARGS(n)[i]);
  if (n->product) {
    Py_XDECREF(n->product->done);
    for (int i = 0; i < 2; i++) Py_XDECREF(n->product->fused[i]);
    PyMem_Free(n->product);
  }
  PyObject_Free(n);
  Py_DECREF(tp);
}
static void leaf_dealloc(TlLeaf *l) {
  PyTypeObject *tp = Py_TYPE(l);
  l->buffer->readers--;
  Py_DECREF(l->buffer);
  PyObject_Free(l);
  Py_DECREF(tp);
}
static void number_dealloc(TlNumber *n) {
  PyTypeObject *tp = Py_TYPE(n);
  Py_DECREF(n->value);
  PyObject_Free(n);
  Py_DECREF(tp);
}
static void coord_dealloc(PyObject *o) {
  PyTypeObject *tp = Py_TYPE(o);
  PyObject_Free(o);
  Py_DECREF(tp);
}

static PyObject *part_dtype(Expr *e, void *_) {
  (void)_;
  return Py_NewRef(dtype_names[e->dtype]);
}
static PyObject *node_op(TlNode *n, void *_) {
  (void)_;
  return Py_XNewRef(gpu_op_name(n->op));
}
static PyObject *node_compute(TlNode *n, void *_) {
  (void)_;
  return Py_NewRef(n->compute == NO_COMPUTE ? Py_None : dtype_names[n->compute]);
}
static PyObject *node_shape(TlNode *n, void *_) {
  (void)_;
  return tl_ints_tuple(n->ndim, n->shape);
}
static PyObject *node_count(TlNode *n, void *_) {
  (void)_;
  return PyLong_FromLong(n->count);
}
static PyObject *node_products(TlNode *n, void *_) {
  (void)_;
  return PyBool_FromLong(n->products != 0);
}
static PyObject *node_holder(TlNode *n, void *_) {
  (void)_;
  return Py_NewRef(n->holder ? (PyObject *)n->holder : Py_None);
}
static PyObject *node_args(TlNode *n, void *_) {
  (void)_;
  PyObject *t = PyTuple_New(n->nargs);
  for (int i = 0; t && i < n->nargs; i++) PyTuple_SetItem(t, i, Py_NewRef(NODE_ARGS(n)[i]));
  return t;
}
static PyObject *node_leaves(TlNode *n, void *_) {
  (void)_;
  PyObject *d = PyDict_New();
  for (int i = 0; d && i < n->nleaves; i++) {
    TlLeaf *l = NODE_LEAVES(n)[i];
    PyObject *key = PyLong_FromVoidPtr(l->buffer);
    if (key && (l->ndim >= 0 || l->offset))
      key = Py_BuildValue("(NNL)", key, l->ndim < 0 ? Py_NewRef(Py_None) : tl_ints_tuple(l->ndim, l->strides),
                          (long long)l->offset);
    if (!key || PyDict_SetItem(d, key, (PyObject *)l->buffer) < 0) Py_CLEAR(d);
    Py_XDECREF(key);
  }
  return d;
}
static PyObject *leaf_buffer(TlLeaf *l, void *_) {
  (void)_;
  return Py_NewRef(l->buffer);
}
static PyObject *leaf_offset(TlLeaf *l, void *_) {
  (void)_;
  return PyLong_FromLongLong(l->offset);
}
static PyObject *leaf_strides(TlLeaf *l, void *_) {
  (void)_;
  return l->ndim < 0 ? Py_NewRef(Py_None) : tl_ints_tuple(l->ndim, l->strides);
}
static PyObject *number_value(TlNumber *n, void *_) {
  (void)_;
  return Py_NewRef(n->value);
}
static int set_value(TlNumber *n, PyObject *v, void *_) {
  (void)_;
  if (v) Py_XSETREF_(n->value, Py_NewRef(v));
  return 0;
}
static int set_dtype(Expr *e, PyObject *v, void *_) {
  (void)_;
  int d = v ? gpu_dtype(v) : e->dtype;
  if (d < 0) return -1;
  e->dtype = (uint8_t)d;
  return 0;
}
static PyObject *coord_dim(TlCoord *c, void *_) {
  (void)_;
  return PyLong_FromLong(c->dim);
}
#define FIELD(kind, name) {#name, (getter)kind##_##name, NULL, NULL, NULL}
#define DTYPE(set) {"dtype", (getter)part_dtype, set, NULL, NULL}
/* leaves: {key: buffer it reads}; the key is the buffer's id, or (id, strides, offset) of a view. holder: the buffer
 * that is pending on it. products: whether it is or contains a product. */
static PyGetSetDef node_fields[] = {
  DTYPE(NULL),        FIELD(node, op),     FIELD(node, args),   FIELD(node, compute),  FIELD(node, shape),
  FIELD(node, count), FIELD(node, leaves), FIELD(node, holder), FIELD(node, products), {0}};
static PyGetSetDef leaf_fields[] = {DTYPE(NULL), FIELD(leaf, buffer), FIELD(leaf, offset), FIELD(leaf, strides), {0}};
static PyGetSetDef number_fields[] = {
  DTYPE((setter)set_dtype), {"value", (getter)number_value, (setter)set_value, NULL, NULL}, {0}};
static PyGetSetDef coord_fields[] = {DTYPE(NULL), FIELD(coord, dim), {0}};
#define SPEC(kind, Kind, size, item, doc) \
  static PyType_Slot kind##_slots[] = {{Py_tp_new, kind##_new}, {Py_tp_dealloc, kind##_dealloc}, \
                                       {Py_tp_getset, kind##_fields}, {Py_tp_doc, doc}, {0, NULL}}; \
  static PyType_Spec kind##_spec = {"torchlite._C." #Kind, size, item, Py_TPFLAGS_DEFAULT, kind##_slots};
SPEC(node, Node, (int)offsetof(TlNode, shape), 8,
     "Node(op, args, dtype, compute, shape): an operation over nodes, leaves and numbers.")
SPEC(leaf, Leaf, (int)offsetof(TlLeaf, strides), 8, "Leaf(buffer, dtype, strides or None, offset): a tensor.")
SPEC(number, Number, sizeof(TlNumber), 0, "Number(value, dtype)")
SPEC(coord, Coord, sizeof(TlCoord), 0,
     "Coord(dim): coordinate along a dim of the result; -1: the index in row-major order.")

static PyObject *f_operand(PyObject *m, PyObject *const *a, Py_ssize_t n) {
  (void)m;
  int64_t shape[TL_MAX_DIMS];
  int ndim;
  if (n != 2 || !TL_CHECK(a[0])) {
    PyErr_SetString(PyExc_TypeError, "operand(tensor, shape)");
    return NULL;
  }
  return tl_ints(a[1], shape, &ndim) < 0 ? NULL : gpu_operand((TlTensor *)a[0], ndim, shape, NULL);
}
static PyObject *f_result(PyObject *m, PyObject *const *a, Py_ssize_t n) {
  (void)m;
  tl_dtype d;
  if (n != 2 || Py_TYPE(a[0]) != tl_Node) {
    PyErr_SetString(PyExc_TypeError, "result(node, dtype)");
    return NULL;
  }
  return tl_dtype_arg(a[1], TL_F32, &d) < 0 ? NULL : gpu_result((TlNode *)a[0], d, NULL, NULL);
}
static PyMethodDef functions[] = {
  {"operations", f_operations, METH_O, "operations({name: text}): the operations that kernels have; call it first."},
  {"expression", (PyCFunction)(void *)f_expression, METH_FASTCALL,
   "expression(op, args, dtype, compute, shape): a node; runs its operands first if it would get too large."},
  {"operand", (PyCFunction)(void *)f_operand, METH_FASTCALL,
   "operand(tensor, shape): a tensor as an argument of an expression over this shape."},
  {"result", (PyCFunction)(void *)f_result, METH_FASTCALL,
   "result(node, dtype): a lazy tensor with the node's values."},
  {0}};

int gpu_expr_init(PyObject *mod) {
  op_ids = PyDict_New();
  op_names = PyList_New(0);
  for (int i = 0; i < TL_NUM_DTYPES; i++)
    if (!(dtype_names[i] = PyUnicode_InternFromString(tl_dtype_name[i]))) return -1;
  tl_Node = (PyTypeObject *)PyType_FromSpec(&node_spec);
  tl_Leaf = (PyTypeObject *)PyType_FromSpec(&leaf_spec);
  tl_Number = (PyTypeObject *)PyType_FromSpec(&number_spec);
  tl_Coord = (PyTypeObject *)PyType_FromSpec(&coord_spec);
  if (!op_ids || !op_names || !tl_Node || !tl_Leaf || !tl_Number || !tl_Coord) return -1;
  return PyModule_AddObjectRef(mod, "Node", (PyObject *)tl_Node) < 0 ||
             PyModule_AddObjectRef(mod, "Leaf", (PyObject *)tl_Leaf) < 0 ||
             PyModule_AddObjectRef(mod, "Number", (PyObject *)tl_Number) < 0 ||
             PyModule_AddObjectRef(mod, "Coord", (PyObject *)tl_Coord) < 0
           ? -1
           : PyModule_AddFunctions(mod, functions);
}
