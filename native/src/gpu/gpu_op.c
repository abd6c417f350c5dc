/* gpu_op.c: element-wise ops without Python.
 *
 * The first call of an op with arguments of some types goes through gpu_resolve.c. It decides the operation, its
 * operands and dtypes, and keeps them with the overload as an entry. tl_gpu_op() runs later calls of the same types
 * from that entry: it makes a lazy result, or writes in place. */
#include "gpu/gpu.h"
#include "pointwise/pointwise.h"

void tl_gpu_forget(void *entries) {
  for (TlEntry *e = entries, *next; e; e = next) {
    next = e->next;
    PyMem_Free(e);
  }
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
    /* The buffer has no memory yet and nothing reads it, so the new expression simply replaces the old one. */
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

/* Whether a copy of the bytes fills dst's buffer: of the same shape and dtype, one after the other in both. */
static bool is_copy_of_bytes(const TlTensor *dst, const TlTensor *src) {
  const TlBuffer *to = gpu_buffer_of(dst), *from = gpu_buffer_of(src);
  int64_t size = tl_itemsize[dst->dtype];
  return !to->pending && !from->pending && tl_is_contiguous(dst) && tl_is_contiguous(src) && dst->ndim == src->ndim &&
         tl_same_dims(dst->shape, src->shape, dst->ndim) && !dst->offset && dst->numel * size == to->nbytes &&
         src->offset * size % 4 == 0;
}

/* Python (torchlite/webgpu/tensors.py) would make of these the same command or expression, in five times as long. */
int tl_gpu_copy(TlTensor *dst, TlTensor *src) {
  tl_dtype to = (tl_dtype)dst->dtype, from = (tl_dtype)src->dtype;
  TlBuffer *a = gpu_buffer_of(dst), *b = gpu_buffer_of(src);
  if (!a || !b || a == b || tl_is_limited(to) || tl_is_limited(from) || (dst->flags | src->flags) & TL_LAZY) return 0;
  if (to == from) {
    if (!dst->numel || !is_copy_of_bytes(dst, src)) return 0;
    return gpu_copy_buffer(a, b, src->offset * tl_itemsize[from], a->nbytes) < 0 ? -1 : 1;
  }
  if (tl_is_complex(to) || tl_is_complex(from) || src->ndim > dst->ndim) return 0;
  static int id = -1;
  if (id < 0 && (id = gpu_op_named("cast")) < 0) return -1;
  PyObject *part = gpu_operand(src, dst->ndim, dst->shape, NULL);
  TlNode *node = part ? gpu_expression(id, &part, 1, to, NO_COMPUTE, dst->ndim, dst->shape) : NULL;
  Py_XDECREF(part); /* only the expression holds it: a product that nobody else reads may run within */
  int r = node && assign(dst, node, NULL) == 0 ? 1 : -1;
  Py_XDECREF(node);
  return r;
}

/* Writes the strides of a new result and the order of its dims in memory, outermost first, as the CPU chooses them for
 * these operands. False if the result is contiguous. numbers_count, common: as in pw_layout. */
static bool result_layout(PyObject *const *a, int n, bool numbers_count, const tl_dtype *common, int ndim,
                          const int64_t *shape, int *order, int64_t *strides) {
  const TlTensor *ops[MAX_OPERANDS];
  int inner[TL_MAX_DIMS], nops = 0;
  bool alike = true; /* nearly always: all of them are contiguous and of the result's shape */
  for (int i = 0; i < n; i++) {
    const TlTensor *t = (const TlTensor *)a[i];
    if (!TL_CHECK(t)) continue;
    ops[nops++] = t;
    alike = alike && t->ndim == ndim && tl_same_dims(t->shape, shape, ndim) && tl_is_contiguous(t);
  }
  if (alike && nops) return false;
  bool usual = pw_layout(nops, ops, !numbers_count || nops == n, common, ndim, shape, inner, strides);
  for (int i = 0; i < ndim && !usual; i++) order[i] = inner[ndim - 1 - i];
  return !usual;
}

static PyObject *f_layout(PyObject *m, PyObject *const *a, Py_ssize_t n) {
  PyObject *ops[MAX_OPERANDS], *r = NULL;
  int64_t shape[TL_MAX_DIMS];
  int64_t strides[TL_MAX_DIMS];
  int order[TL_MAX_DIMS], ndim;
  (void)m;
  Py_ssize_t nops = n == 2 && PyList_Check(a[0]) ? PyList_Size(a[0]) : MAX_OPERANDS + 1;
  if (nops > MAX_OPERANDS) {
    PyErr_SetString(PyExc_TypeError, "layout([tensors], shape)");
    return NULL;
  }
  if (tl_ints(a[1], shape, &ndim) < 0) return NULL;
  for (int i = 0; i < nops; i++) ops[i] = PyList_GetItem(a[0], i);
  if (!result_layout(ops, (int)nops, false, NULL, ndim, shape, order, strides)) r = Py_NewRef(Py_None);
  else r = PyTuple_New(ndim);
  for (int i = 0; r && r != Py_None && i < ndim; i++) PyTuple_SetItem(r, i, PyLong_FromLong(order[i]));
  return r;
}

/* Broadcasts the operands' shapes; false if they do not fit together. */
bool gpu_broadcast(PyObject *const *ops, int n, int *out_ndim, int64_t *shape) {
  int ndim = 0;
  for (int i = 0; i < n; i++) {
    const TlTensor *t = (const TlTensor *)ops[i];
    if (!TL_CHECK(t)) continue;
    if (t->ndim > ndim) {
      for (int d = ndim - 1; d >= 0; d--) shape[d + t->ndim - ndim] = shape[d];
      for (int d = 0; d < t->ndim - ndim; d++) shape[d] = 1;
      ndim = t->ndim;
    }
    for (int d = 0, missing = ndim - t->ndim; d < t->ndim; d++) {
      if (shape[d + missing] == 1) shape[d + missing] = t->shape[d];
      else if (t->shape[d] != 1 && t->shape[d] != shape[d + missing]) return false;
    }
  }
  *out_ndim = ndim;
  return true;
}

/* A tensor or number as an argument of an expression. A CPU tensor without dims is a number of its own dtype. */
static PyObject *argument(const TlEntry *e, PyObject *o, int ndim, const int64_t *shape, const int *order) {
  if (!TL_CHECK(o)) return (PyObject *)gpu_number(o, e->number);
  PyObject *r = gpu_operand((TlTensor *)o, ndim, shape, order);
  if (!r || Py_TYPE(r) != tl_Number) return r;
  TlNumber *n = (TlNumber *)r;
  n->dtype = e->number;
  PyObject *value = e->number == TL_F32 ? PyNumber_Float(n->value) : Py_NewRef(n->value);
  if (!value) Py_CLEAR(r);
  else Py_XSETREF_(n->value, value);
  return r;
}

static bool any_elements(int ndim, const int64_t *shape) {
  bool any = true;
  for (int i = 0; i < ndim; i++) any = any && shape[i];
  return any;
}
/* Whether every element of a divisor is known to be 0: it is a number, or its elements came from the CPU. Divisors that
 * only the GPU knows raise nothing. */
static bool is_zero(PyObject *o) {
  if (!TL_CHECK(o)) return PyLong_Check(o) && !PyObject_IsTrue(o);
  const TlTensor *t = (TlTensor *)o;
  const TlBuffer *b = t->device == TL_WEBGPU ? (TlBuffer *)t->storage->owner : NULL;
  long long low, high;
  int size = 8;
  if (!b || Py_TYPE(b) != tl_Buffer || !b->bounds || !t->numel) return false;
  if (!PyArg_ParseTuple(b->bounds, "LL|i", &low, &high, &size)) {
    PyErr_Clear();
    return false;
  }
  return !low && !high && size == tl_itemsize[t->dtype];
}

/* Applies the entry's operation to operands with this broadcast shape. Writes into `self` and returns it, if given;
 * else returns a lazy result. */
PyObject *gpu_apply(const TlEntry *e, PyObject *const *operands, TlTensor *self, int ndim, const int64_t *shape) {
  int result_dims[TL_MAX_DIMS];
  PyObject *ops[MAX_OPERANDS], *args[MAX_OPERANDS], *result = NULL;
  if (e->divides && is_zero(operands[1]) && any_elements(ndim, shape)) {
    PyErr_SetString(PyExc_RuntimeError, "ZeroDivisionError");
    return NULL;
  }
  for (int i = 0; i < e->n; i++) ops[i] = operands[i];
  if (e->layout_from > 0) { /* result_layout() follows the first operand most */
    for (int i = e->layout_from; i; i--) ops[i] = ops[i - 1];
    ops[0] = operands[e->layout_from];
  }
  int64_t ordered[TL_MAX_DIMS], strides[TL_MAX_DIMS];
  const tl_dtype common = (tl_dtype)e->compute;
  bool strided = e->layout_from >= 0 && result_layout(ops, e->n, e->numbers_count, e->cast ? &common : NULL, ndim,
                                                      shape, result_dims, strides);
  const int *order = strided ? result_dims : NULL;
  int k = 0;
  for (int i = 0; i < ndim; i++) ordered[i] = shape[order ? order[i] : i];
  for (; k < e->n; k++)
    if (!(args[k] = argument(e, operands[k], ndim, ordered, order))) break;
  TlNode *node = k == e->n ? gpu_expression(e->op, args, k, e->dtype, e->compute, ndim, ordered) : NULL;
  while (k) Py_DECREF(args[--k]);
  if (!node) return NULL;
  if (!self) result = gpu_result(node, (tl_dtype)e->dtype, order, strided ? strides : NULL);
  else if (assign(self, node, order) == 0) result = Py_NewRef((PyObject *)self);
  Py_DECREF(node);
  return result;
}

int tl_gpu_op(const void *entries, PyObject *const *a, int n, bool inplace, PyObject **result) {
  uint64_t key;
  if (!tl_signature(a, n, &key)) return 0;
  const TlEntry *e = entries;
  while (e && e->key != key) e = e->next;
  if (!e) return 0;
  PyObject *ops[MAX_OPERANDS];
  for (int i = 0; i < e->n; i++) {
    if (e->positions[i] >= n) return 0;
    ops[i] = a[e->positions[i]];
  }
  TlTensor *self = inplace ? (TlTensor *)a[0] : NULL;
  for (int i = 0; self && i < e->n; i++)
    if (TL_CHECK(ops[i]) && tl_check_overlap(self, (const TlTensor *)ops[i]) < 0) {
      *result = NULL;
      return 1;
    }
  for (int i = 0; i < e->n; i++)
    if (TL_CHECK(ops[i]) && ((TlTensor *)ops[i])->device != TL_WEBGPU) return 0;
  int ndim;
  int64_t shape[TL_MAX_DIMS];
  if (!gpu_broadcast(ops, e->n, &ndim, shape) ||
      (self && (self->ndim != ndim || !tl_same_dims(self->shape, shape, ndim) || !self->numel ||
                !tl_can_cast(e->dtype, self->dtype) || Py_TYPE(self->storage->owner) != tl_Buffer)))
    return 0;
  *result = gpu_apply(e, ops, self, ndim, shape);
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
  if (t->ndim != node->ndim || !tl_same_dims(t->shape, node->shape, t->ndim)) {
    PyErr_SetString(PyExc_RuntimeError, "assign: an expression of another shape");
    return NULL;
  }
  if (t->numel && assign(t, (TlNode *)a[1], NULL) < 0) return NULL;
  Py_RETURN_NONE;
}
static PyMethodDef functions[] = {
  {"assign", (PyCFunction)(void *)f_assign, METH_FASTCALL, "assign(tensor, node): t[...] = node, without autograd."},
  {"layout", (PyCFunction)(void *)f_layout, METH_FASTCALL,
   "layout([tensors], shape): the dims of an element-wise result, outermost in memory first; None if it is "
   "contiguous."},
  {"run", (PyCFunction)(void *)gpu_f_run, METH_FASTCALL,
   "run(root, outputs): one kernel; outputs are (node, buffer, strides or None, offset), the first for root itself."},
  {0}};
int gpu_op_init(PyObject *mod) {
  return PyModule_AddIntConstant(mod, "MAX_BUFFERS", MAX_BUFFERS) < 0 ? -1 : PyModule_AddFunctions(mod, functions);
}
