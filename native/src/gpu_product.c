/* gpu_product.c: matrix products and convolutions that are put off until their result is needed, so that element-wise
 * operations on it run in the same kernel (gpu_run.c). One is a Node whose arguments are the tensors it reads. */
#include "gpu.h"

/* The product alone, into a buffer that has no memory yet or is to be written anew. */
int gpu_emit(TlNode *p, TlBuffer *b) {
  uint32_t handles[MAX_ARGS + 1];
  size_t n = 0;
  for (; n < p->nargs; n++)
    if (!(handles[n] = gpu_ready(((TlLeaf *)NODE_ARGS(p)[n])->buffer))) return -1;
  if (!(handles[n++] = b->handle ? b->handle : gpu_allocate(b))) return -1;
  if (gpu_launch(p->product->plan, handles, n, p->product->words, p->product->nwords) < 0) return -1;
  if (Py_REFCNT((PyObject *)p) > 1 && !(p->product->done = gpu_leaf(b, p->dtype, -1, NULL, 0))) return -1;
  return 0;
}

int gpu_settle(TlNode *p) {
  if (p->product->done) return 0;
  if (p->holder) {                     /* makes it done, for the caller has it too */
    TlBuffer *b = (TlBuffer *)Py_NewRef(p->holder);
    Py_INCREF(p);
    int r = gpu_ready(b) ? 0 : -1;
    if (r == 0 && !p->product->done && !(p->product->done = gpu_leaf(b, p->dtype, -1, NULL, 0))) r = -1;
    Py_DECREF(p);
    Py_DECREF(b);
    return r;
  }
  int64_t numel = 1;
  for (int i = 0; i < p->ndim; i++) numel = tl_wrap_mul(numel, p->shape[i]);
  TlBuffer *b = gpu_buffer(numel * tl_itemsize[p->dtype]);
  if (!b) return -1;
  Py_INCREF(p);
  int r = gpu_emit(p, b);
  Py_DECREF(p);
  Py_DECREF(b);
  return r;
}

/* product(plan, buffers it reads, words, shape, dtype): a dense tensor, later. What it reads is on its way then, so that errors
 * of its operands are raised here. */
static PyObject *f_product(PyObject *m, PyObject *const *a, Py_ssize_t nargs) {
  (void)m;
  static int op = -1;
  int64_t shape[TL_MAX_DIMS];
  int ndim;
  tl_dtype d;
  if (nargs != 5 || !PyLong_Check(a[0]) || !PyTuple_Check(a[1]) || !PyTuple_Check(a[2])) { PyErr_SetString(PyExc_TypeError, "product(plan, buffers, words, shape, dtype)"); return NULL; }
  Py_ssize_t n = PyTuple_Size(a[1]), k = PyTuple_Size(a[2]);
  if (n < 1 || n > MAX_LEAVES || k > MAX_WORDS) { PyErr_SetString(PyExc_TypeError, "product: too many operands or words"); return NULL; }
  if (tl_ints(a[3], shape, &ndim) < 0 || tl_dtype_arg(a[4], TL_F32, &d) < 0 || (op < 0 && (op = gpu_op_named("product")) < 0)) return NULL;
  PyObject *leaves[MAX_LEAVES], *result = NULL;
  TlProduct *p = PyMem_Malloc(sizeof *p + (size_t)k * sizeof *p->words);
  if (!p) return PyErr_NoMemory();
  *p = (TlProduct){NULL, (uint32_t)PyLong_AsUnsignedLongLongMask(a[0]), (uint32_t)k};
  Py_ssize_t i = 0;
  for (; i < n; i++) {
    TlBuffer *b = (TlBuffer *)PyTuple_GetItem(a[1], i);
    if (Py_TYPE(b) != tl_Buffer) { PyErr_SetString(PyExc_TypeError, "product: expected buffers"); break; }
    if (!gpu_ready(b) || !(leaves[i] = (PyObject *)gpu_leaf(b, d, -1, NULL, 0))) break;
  }
  Py_ssize_t w = 0;
  for (; i == n && w < k; w++) {
    PyObject *o = PyTuple_GetItem(a[2], w);
    if (!PyLong_Check(o)) { PyErr_Format(PyExc_TypeError, "a command's words are integers, not %R", o); break; }
    p->words[w] = (uint32_t)PyLong_AsUnsignedLongLongMask(o);
  }
  TlNode *node = i == n && w == k ? gpu_node(op, leaves, (int)n, d, NO_COMPUTE, ndim, shape) : NULL;
  while (i) Py_DECREF(leaves[--i]);
  if (!node) { PyMem_Free(p); return NULL; }
  node->product = p;
  node->products = true;
  result = gpu_result(node, d, NULL);
  Py_DECREF(node);
  if (result) gpu_few_products();
  return result;
}

static PyMethodDef functions[] = {
    {"product", (PyCFunction)(void *)f_product, METH_FASTCALL, "product(plan, buffers, words, shape, dtype): the result of a plan whose last buffer it is, put off."}, {0}};
int gpu_product_init(PyObject *mod) { return PyModule_AddFunctions(mod, functions); }
