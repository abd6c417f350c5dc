/* gpu_op.c: element-wise ops without Python. The first call of an op with arguments of some types goes through Python
 * (torchlite/webgpu/plan/pointwise.py), which decides the operation, its operands and types, and leaves them here;
 * for calls with arguments of the same types this file alone makes a lazy result or writes in place. The rest stays
 * with Python. */
#include "gpu/gpu.h"

#define MAX_OPERANDS 7 /* of an op */

typedef struct Entry {
  struct Entry *next;
  uint64_t key;
  uint16_t op;
  uint8_t n, positions[MAX_OPERANDS], dtype, compute, number;
  int8_t lead;
} Entry;

void tl_gpu_forget(void *entries) {
  for (Entry *e = entries, *next; e; e = next) {
    next = e->next;
    PyMem_Free(e);
  }
}

/* remember(overload, key, op, positions, dtype, compute type, numbers' type, lead): what _C.signature(args) == key
 * stands for; lead: the operand whose layout decides on the result's, -1 where that is the usual one always */
static PyObject *f_remember(PyObject *m, PyObject *args) {
  (void)m;
  PyObject *ov, *op, *at, *dtype, *compute, *number;
  unsigned long long key;
  int lead;
  if (!PyArg_ParseTuple(args, "OKOO!OOOi", &ov, &key, &op, &PyTuple_Type, &at, &dtype, &compute, &number, &lead))
    return NULL;
  void **slot = tl_overload_entries(ov);
  Entry e = {slot ? *slot : NULL, key, 0, 0, {0}, 0, NO_COMPUTE, 0, 0};
  int id = gpu_op_id(op), d = gpu_dtype(dtype), c = gpu_dtype(compute), k = gpu_dtype(number);
  Py_ssize_t n = PyTuple_Size(at);
  if (id < 0 || d < 0 || c < 0 || k < 0) return NULL;
  if (!slot || n < 1 || n > MAX_OPERANDS || lead >= n) {
    PyErr_SetString(PyExc_TypeError, "remember: not an overload, or too many operands");
    return NULL;
  }
  e.op = (uint16_t)id;
  e.dtype = (uint8_t)d;
  e.compute = (uint8_t)c;
  e.number = (uint8_t)k;
  e.n = (uint8_t)n;
  e.lead = (int8_t)lead;
  for (int i = 0; i < n; i++) {
    long v = PyLong_AsLong(PyTuple_GetItem(at, i));
    if (v < 0 || v > 6) {
      if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "remember: positions are 0 to 6");
      return NULL;
    }
    e.positions[i] = (uint8_t)v;
  }
  Entry *kept = PyMem_Malloc(sizeof e);
  if (!kept) return PyErr_NoMemory();
  *kept = e;
  *slot = kept;
  Py_RETURN_NONE;
}

/* t[...] = node, without autograd */
static int assign(TlTensor *t, TlNode *node, const int *order) {
  int64_t shape[TL_MAX_DIMS], strides[TL_MAX_DIMS];
  bool dense = gpu_geometry(t, node->ndim, order, shape, strides);
  TlBuffer *b = (TlBuffer *)t->storage->owner;
  TlNode *cast = NULL;
  if (node->dtype != t->dtype) {
    static int id = -1;
    if (id < 0 && (id = gpu_op_named("cast")) < 0) return -1;
    PyObject *arg = (PyObject *)node;
    if (!(node = cast = gpu_expression(id, &arg, 1, t->dtype, NO_COMPUTE, node->ndim, node->shape))) return -1;
  }
  if (b->pending && !b->handle && !b->readers && dense && t->offset == 0 &&
      t->numel * tl_itemsize[t->dtype] == b->nbytes) {
    /* nothing has been computed yet, and nothing else reads the buffer: the new expression takes the old one's place */
    TlNode *old = gpu_clear_pending(b);
    gpu_set_pending(b, (TlNode *)Py_NewRef(node));
    Py_DECREF(old);
    Py_CLEAR(b->bounds);
    Py_XDECREF(cast);
    return 0;
  }
  GpuOut out = {node, b, dense ? NULL : strides, t->offset};
  Py_INCREF(b);
  int r = gpu_before_write(b) < 0 || !gpu_ready(b) ? -1 : gpu_run(node, &out, 1);
  Py_DECREF(b);
  Py_XDECREF(cast);
  return r;
}

/* The dims from the outermost in memory to the innermost of a new result of these operands, as on the CPU; false where
 * that is the usual order. What is no tensor does not count. */
static bool layout(PyObject *const *a, int n, int ndim, const int64_t *shape, int *order) {
  int64_t in[MAX_OPERANDS][TL_MAX_DIMS], strides[TL_MAX_DIMS];
  int inner[TL_MAX_DIMS], nops = 0;
  bool usual = true;
  for (int i = 0; i < n; i++) usual = usual && (!TL_CHECK(a[i]) || tl_is_contiguous((const TlTensor *)a[i]));
  for (int i = 0; i < n && !usual; i++) {
    const TlTensor *t = (const TlTensor *)a[i];
    if (!TL_CHECK(t) || !t->ndim) continue;
    tl_ordering_strides(t, t->strides, ndim, shape, in[nops++]);
  }
  usual = usual || tl_result_strides(nops, (const int64_t (*)[TL_MAX_DIMS])in, ndim, shape, inner, strides);
  for (int i = 0; i < ndim && !usual; i++) order[i] = inner[ndim - 1 - i];
  return !usual;
}

static PyObject *f_layout(PyObject *m, PyObject *const *a, Py_ssize_t n) {
  PyObject *ops[MAX_OPERANDS], *r = NULL;
  int64_t shape[TL_MAX_DIMS];
  int order[TL_MAX_DIMS], ndim;
  (void)m;
  Py_ssize_t nops = n == 2 && PyList_Check(a[0]) ? PyList_Size(a[0]) : MAX_OPERANDS + 1;
  if (nops > MAX_OPERANDS) {
    PyErr_SetString(PyExc_TypeError, "layout([tensors], shape)");
    return NULL;
  }
  if (tl_ints(a[1], shape, &ndim) < 0) return NULL;
  for (int i = 0; i < nops; i++) ops[i] = PyList_GetItem(a[0], i);
  if (!layout(ops, (int)nops, ndim, shape, order)) r = Py_NewRef(Py_None);
  else r = PyTuple_New(ndim);
  for (int i = 0; r && r != Py_None && i < ndim; i++) PyTuple_SetItem(r, i, PyLong_FromLong(order[i]));
  return r;
}

/* Runs an op from what is remembered: 1 with *result (NULL: an exception); 0 where Python has to. */
int tl_gpu_op(const void *entries, PyObject *const *a, int n, bool inplace, PyObject **result) {
  uint64_t key;
  if (!tl_signature(a, n, &key)) return 0;
  const Entry *e = entries;
  while (e && e->key != key) e = e->next;
  if (!e) return 0;
  for (int i = 0; i < e->n; i++)
    if (e->positions[i] >= n) return 0;
  for (int i = 0; inplace && i < e->n; i++)
    if (TL_CHECK(a[e->positions[i]]) &&
        tl_check_overlap((const TlTensor *)a[0], (const TlTensor *)a[e->positions[i]]) < 0) {
      *result = NULL;
      return 1;
    }
  /* the shape of all */
  int ndim = 0;
  int64_t shape[TL_MAX_DIMS];
  for (int i = 0; i < e->n; i++) {
    const TlTensor *t = (const TlTensor *)a[e->positions[i]];
    if (!TL_CHECK(t)) continue;
    if (t->device != TL_WEBGPU) return 0;
    if (t->ndim > ndim) {
      for (int d = ndim - 1; d >= 0; d--) shape[d + t->ndim - ndim] = shape[d];
      for (int d = 0; d < t->ndim - ndim; d++) shape[d] = 1;
      ndim = t->ndim;
    }
    for (int d = 0, lead = ndim - t->ndim; d < t->ndim; d++) {
      if (shape[d + lead] == 1) shape[d + lead] = t->shape[d];
      else if (t->shape[d] != 1 && t->shape[d] != shape[d + lead]) return 0;
    }
  }
  int places[TL_MAX_DIMS];
  PyObject *ops[MAX_OPERANDS];
  for (int i = 0; i < e->n; i++) ops[i] = a[e->positions[i]];
  if (e->lead > 0) { /* it goes first */
    PyObject *o = ops[e->lead];
    for (int i = e->lead; i; i--) ops[i] = ops[i - 1];
    ops[0] = o;
  }
  const int *order = e->lead >= 0 && layout(ops, e->n, ndim, shape, places) ? places : NULL;
  TlTensor *self = (TlTensor *)a[0];
  if (inplace && (self->ndim != ndim || memcmp(self->shape, shape, sizeof(int64_t) * (size_t)ndim) || !self->numel ||
                  !tl_can_cast(e->dtype, self->dtype) || Py_TYPE(self->storage->owner) != tl_Buffer))
    return 0;
  PyObject *args[MAX_OPERANDS];
  int64_t ordered[TL_MAX_DIMS];
  int k = 0;
  *result = NULL;
  for (int i = 0; i < ndim; i++) ordered[i] = shape[order ? order[i] : i];
  for (; k < e->n; k++) {
    PyObject *o = a[e->positions[k]];
    args[k] = TL_CHECK(o) ? gpu_operand((TlTensor *)o, ndim, ordered, order) : (PyObject *)gpu_number(o, e->number);
    if (!args[k]) break;
  }
  TlNode *node = k == e->n ? gpu_expression(e->op, args, k, e->dtype, e->compute, ndim, ordered) : NULL;
  while (k) Py_DECREF(args[--k]);
  if (!node) return 1;
  if (!inplace) *result = gpu_result(node, (tl_dtype)e->dtype, order);
  else if (assign(self, node, order) == 0) *result = Py_NewRef(self);
  Py_DECREF(node);
  return 1;
}

static PyObject *f_assign(PyObject *m, PyObject *const *a, Py_ssize_t n) {
  (void)m;
  TlTensor *t = n == 2 && TL_CHECK(a[0]) ? (TlTensor *)a[0] : NULL;
  if (!t || Py_TYPE(a[1]) != tl_Node || t->device != TL_WEBGPU || Py_TYPE(t->storage->owner) != tl_Buffer) {
    PyErr_SetString(PyExc_TypeError, "assign(tensor, node)");
    return NULL;
  }
  const TlNode *node = (TlNode *)a[1];
  if (t->ndim != node->ndim || memcmp(t->shape, node->shape, sizeof *t->shape * (size_t)t->ndim)) {
    PyErr_SetString(PyExc_RuntimeError, "assign: an expression of another shape");
    return NULL;
  }
  if (t->numel && assign(t, (TlNode *)a[1], NULL) < 0) return NULL;
  Py_RETURN_NONE;
}
static PyMethodDef functions[] = {
  {"remember", f_remember, METH_VARARGS,
   "remember(overload, key, op, positions, dtype, compute type, numbers' type, lead): what calls with that signature "
   "stand "
   "for"},
  {"assign", (PyCFunction)(void *)f_assign, METH_FASTCALL, "assign(tensor, node): t[...] = node, without autograd."},
  {"layout", (PyCFunction)(void *)f_layout, METH_FASTCALL,
   "layout([tensors], shape): the dims of an element-wise result from the outermost in memory; None for the usual "
   "order."},
  {"run", (PyCFunction)(void *)gpu_f_run, METH_FASTCALL,
   "run(root, outputs): one kernel; outputs are (node, buffer, strides or None, offset), the first for root itself."},
  {0}};
int gpu_op_init(PyObject *mod) {
  return PyModule_AddIntConstant(mod, "MAX_BUFFERS", MAX_BUFFERS) < 0 ? -1 : PyModule_AddFunctions(mod, functions);
}
