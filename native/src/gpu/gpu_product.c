/* gpu_product.c: lazy matrix products, convolutions and float reductions. Each is a Node whose arguments are the
 * tensors that it reads. Element-wise ops on its result become its epilogue and run in the same kernel (gpu_run.c). */
#include "core/check.h"
#include "gpu/gpu.h"

/* Runs the product into a buffer, without an epilogue. Allocates the buffer if it has no memory yet. */
int gpu_launch_product(TlNode *p, TlBuffer *b) {
  uint32_t handles[MAX_BUFFERS + 1];
  size_t n = 0;
  if (gpu_fuse_operands(p) < 0) return -1;
  for (; n < (size_t)p->product->nreads; n++)
    if (!(handles[n] = gpu_ready(p->product->reads[n]->buffer))) return -1;
  if (!(handles[n++] = b->handle ? b->handle : gpu_allocate(b))) return -1;
  if (gpu_launch(p->product->plan, handles, n, p->product->words, p->product->nwords) < 0) return -1;
  if (Py_REFCNT((PyObject *)p) > 1 && !(p->product->done = gpu_leaf(b, p->dtype, -1, NULL, 0))) return -1;
  return 0;
}

/* Makes sure that the product is computed and `done` is set. */
int gpu_compute_product(TlNode *p) {
  if (p->product->done) return 0;
  if (p->holder) { /* gpu_launch_product() sets `done`, since the caller has a reference too */
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
  int r = gpu_launch_product(p, b);
  Py_DECREF(p);
  Py_DECREF(b);
  return r;
}

/* Whether an operand may stay pending, to become a prologue when the product runs. */
static bool can_be_prologue(const TlBuffer *b, tl_dtype d) {
  const TlNode *n = b->pending;
  return n && !n->products && n->dtype == d && n->count <= MAX_PROLOGUE && n->nleaves < MAX_READS;
}

/* A lazy contiguous tensor. Operands that may become prologues stay pending. The others are computed here, so that
 * their errors are raised here. */
PyObject *gpu_product(uint32_t plan, TlBuffer *const *reads, int nreads, int fusable, const uint32_t *words, int nwords,
                      int ndim, const int64_t *shape, tl_dtype d) {
  static int op = -1;
  if (op < 0 && (op = gpu_op_named("product")) < 0) return NULL;
  int room = fusable ? MAX_WORDS : nwords, n = 0;
  TlProduct *p = PyMem_Malloc(sizeof *p + (size_t)room * sizeof *p->words);
  if (!p) return PyErr_NoMemory();
  *p =
    (TlProduct){.plan = plan, .nwords = (uint32_t)nwords, .room = (uint32_t)room, .nreads = nreads, .fusable = fusable};
  memcpy(p->words, words, sizeof *words * (size_t)nwords);
  PyObject *leaves[MAX_LEAVES];
  for (; n < nreads; n++) {
    bool open = n < fusable && can_be_prologue(reads[n], d);
    if ((!open && !gpu_ready(reads[n])) || !(leaves[n] = (PyObject *)gpu_leaf(reads[n], d, -1, NULL, 0))) break;
  }
  TlNode *node = n == nreads ? gpu_node(op, leaves, n, d, NO_COMPUTE, ndim, shape) : NULL;
  while (n) Py_DECREF(leaves[--n]);
  if (!node) {
    PyMem_Free(p);
    return NULL;
  }
  node->product = p;
  node->products = 1;
  node->pins_much = true;
  for (int i = 0; i < nreads; i++) p->reads[i] = (TlLeaf *)NODE_ARGS(node)[i];
  PyObject *result = gpu_result(node, d, NULL, NULL);
  Py_DECREF(node);
  if (result && gpu_limit_pinned() < 0) Py_CLEAR(result);
  return result;
}

static PyObject *f_product(PyObject *m, PyObject *const *a, Py_ssize_t nargs) {
  (void)m;
  int64_t shape[TL_MAX_DIMS];
  uint32_t words[MAX_WORDS];
  TlBuffer *reads[MAX_LEAVES];
  int ndim;
  tl_dtype d;
  if (nargs < 5 || nargs > 6 || !PyLong_Check(a[0]) || !PyTuple_Check(a[1]) || !PyTuple_Check(a[2]))
    return PyErr_Format(PyExc_TypeError, "product(plan, buffers, words, shape, dtype, fusable=0)");
  long fusable = nargs > 5 ? PyLong_AsLong(a[5]) : 0;
  Py_ssize_t n = PyTuple_Size(a[1]), k = PyTuple_Size(a[2]);
  if (n < 1 || n > MAX_LEAVES || k > MAX_WORDS)
    return PyErr_Format(PyExc_TypeError, "product: too many operands or words");
  if (tl_ints(a[3], shape, &ndim) < 0 || tl_product(ndim < 0 ? 0 : ndim, shape, NULL) < 0 ||
      tl_dtype_arg(a[4], TL_F32, &d) < 0)
    return NULL;
  if (ndim < 0 || fusable < 0 || fusable > 2 || fusable > n)
    return PyErr_Format(PyExc_TypeError, "product: fusable is 0 to 2 operands, shape a tuple");
  for (Py_ssize_t i = 0; i < n; i++) {
    reads[i] = (TlBuffer *)PyTuple_GetItem(a[1], i);
    if (Py_TYPE(reads[i]) != tl_Buffer) return PyErr_Format(PyExc_TypeError, "product: expected buffers");
  }
  for (Py_ssize_t w = 0; w < k; w++) {
    PyObject *o = PyTuple_GetItem(a[2], w);
    if (!PyLong_Check(o)) return PyErr_Format(PyExc_TypeError, "a command's words are integers, not %R", o);
    words[w] = (uint32_t)PyLong_AsUnsignedLongLongMask(o);
  }
  return gpu_product((uint32_t)PyLong_AsUnsignedLongLongMask(a[0]), reads, (int)n, (int)fusable, words, (int)k, ndim,
                     shape, d);
}

static PyMethodDef functions[] = {{"product", (PyCFunction)(void *)f_product, METH_FASTCALL,
                                   "product(plan, buffers, words, shape, dtype, fusable=0): the lazy result of a plan "
                                   "whose last buffer it is. fusable: "
                                   "how many leading buffers may be fused as prologues."},
                                  {0}};
int gpu_product_init(PyObject *mod) { return PyModule_AddFunctions(mod, functions); }
