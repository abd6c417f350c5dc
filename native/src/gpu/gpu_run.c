/* gpu_run.c: runs an expression as one kernel.
 *
 * The kernel reads equal operands once. It also writes the interior results that somebody still holds. Neighbouring
 * dims are coalesced where every operand allows it. A key holds everything that the kernel's code depends on
 * (gpu_graph.c). */
#include "gpu/gpu_graph.h"

typedef struct {
  GpuGraph graph;
  GpuOut outputs[MAX_BUFFERS];
  const int64_t *in_strides[MAX_INPUTS], *out_strides[MAX_BUFFERS];
  int8_t alias[MAX_INPUTS];
  TlNode *producer; /* the product whose epilogue this expression is */
  uint32_t plan;    /* the product's, if `role` is not NO_PRODUCT */
  int role, nout, nrequested, nsizes, nkeep, keep[TL_MAX_DIMS];
  int64_t sizes[TL_MAX_DIMS], dense[TL_MAX_DIMS];
} Run;

/* Coalesces dims for all strided operands. Writes sizes, outermost first, and for each the dim whose stride to use. */
static int collapse(int ndim, const int64_t *shape, int n, const int64_t *const *strides, int64_t *sizes, int *keep) {
  int64_t inner[TL_MAX_DIMS];
  int dims[TL_MAX_DIMS], k = tl_coalesce(ndim, NULL, shape, n, strides, NULL, inner, dims);
  for (int i = 0; i < k; i++) {
    sizes[i] = inner[k - 1 - i];
    keep[i] = dims[k - 1 - i];
  }
  return k;
}

/* Whether a dense output must be written by elements: if whole 32-bit words would reach beyond its end. */
static bool needs_strides(const GpuOut *o, int64_t numel) {
  int size = tl_itemsize[o->node->dtype];
  return (o->offset & 3) || (size < 4 && numel * size != o->buffer->nbytes && (numel * size & 3));
}

/* The number of the kernel's plan; -1 with an exception. The bytes of its key (gpu_graph.c says how each kind of part
 * is written): the role, and the number of the product's plan if there is a product (4 bytes); number of dims; number
 * of parts, then each part by its kind; number of inputs, then dtype of each and the output whose buffer it shares (-1:
 * none); of each output its part and dtype. A dtype byte with bit 128 set: the tensor has a stride for each dim. */
static int64_t plan_of(const Run *r) {
  const GpuGraph *g = &r->graph;
  GpuKey key;
  key.n = 0;
  gpu_key_byte(&key, r->role);
  for (int i = 0; i < 4 && r->role; i++) gpu_key_byte(&key, (int)(r->plan >> (8 * i)));
  gpu_key_byte(&key, r->nsizes);
  gpu_key_parts(&key, g);
  gpu_key_byte(&key, g->nin);
  for (int i = 0; i < g->nin; i++) {
    gpu_key_byte(&key, g->inputs[i]->dtype | (r->in_strides[i] ? 128 : 0));
    gpu_key_byte(&key, r->alias[i]);
  }
  for (int i = 0; i < r->nout; i++) {
    gpu_key_byte(&key, r->outputs[i].node->place);
    gpu_key_byte(&key, r->outputs[i].node->dtype | (r->out_strides[i] ? 128 : 0));
  }
  return gpu_key_plan(&key);
}

static void place_words(const Run *r, uint32_t **w, int64_t offset, const int64_t *strides) {
  *(*w)++ = (uint32_t)offset;
  for (int i = 0; strides && i < r->nsizes; i++) *(*w)++ = i < r->nkeep ? (uint32_t)strides[r->keep[i]] : 0;
}

/* Words of a kernel are sizes, inputs, outputs, numbers. This writes sizes and inputs. */
static void input_words(const Run *r, uint32_t **w) {
  for (int i = 0; i < r->nsizes; i++) *(*w)++ = (uint32_t)r->sizes[i];
  for (int i = 0; i < r->graph.nin; i++) place_words(r, w, r->graph.inputs[i]->offset, r->in_strides[i]);
}

static int begin_run(Run *r, TlNode *root, int role) {
  r->role = role;
  r->nout = 0;
  r->producer = NULL;
  gpu_graph_begin(&r->graph, root->ndim);
  return gpu_graph_add(&r->graph, root);
}

/* Decides each tensor's layout; r->outputs must be set. "c" (strides NULL) runs over the elements in order, four at a
 * time if every tensor is "c"; "s" has a stride for each dim. Returns the number of elements; -1 with an exception. */
static int64_t lay_out(Run *r, const TlNode *root) {
  int ndim = r->graph.ndim, nstrided = 0;
  int64_t *dense = r->dense, numel = tl_dense_strides(ndim, root->shape, dense);
  if (numel < 0) return -1;
  r->nsizes = r->nkeep = 0;
  const int64_t *strided[MAX_INPUTS + MAX_BUFFERS];
  for (int i = 0; i < r->graph.nin; i++)
    if ((r->in_strides[i] = r->graph.inputs[i]->ndim < 0 ? NULL : r->graph.inputs[i]->strides))
      strided[nstrided++] = r->in_strides[i];
  for (int i = 0; i < r->nout; i++) {
    r->out_strides[i] =
      !r->producer && !r->outputs[i].strides && needs_strides(&r->outputs[i], numel) ? dense : r->outputs[i].strides;
    if (r->out_strides[i]) strided[nstrided++] = r->out_strides[i];
  }
  if (!r->graph.coords && !nstrided && !r->producer)
    for (int i = 0; i < r->graph.nin; i++)
      if (r->graph.inputs[i]->offset & 3)
        strided[nstrided++] = r->in_strides[i] = dense; /* groups of four begin at multiples of four */
  if (r->graph.coords) {
    r->nsizes = r->nkeep = ndim;
    for (int d = 0; d < ndim; d++) {
      r->sizes[d] = root->shape[d];
      r->keep[d] = d;
    }
  } else if (nstrided) {
    r->nsizes = r->nkeep = collapse(ndim, root->shape, nstrided, strided, r->sizes, r->keep);
    if (!r->nsizes) r->sizes[r->nsizes++] = 1;
  }
  return numel;
}

/* Writes the kernel's words and launches it; r->outputs must be set. */
static int run_with(Run *r, TlNode *root) {
  int ndim = r->graph.ndim;
  int64_t numel = lay_out(r, root);
  if (numel < 0) return -1;
  uint32_t words[MAX_WORDS + 1 + TL_MAX_DIMS + (MAX_INPUTS + MAX_BUFFERS) * (TL_MAX_DIMS + 1) + 2 * MAX_ORDER],
    *w = words;
  if (r->producer) {
    memcpy(w, r->producer->product->words, r->producer->product->nwords * sizeof *w);
    w += r->producer->product->nwords;
  } else *w++ = (uint32_t)numel;
  input_words(r, &w);
  for (int i = 0; i < r->nout; i++) place_words(r, &w, r->outputs[i].offset, r->out_strides[i]);
  for (int i = 0; i < r->graph.nin; i++) {
    const TlLeaf *x = r->graph.inputs[i];
    int at = -1, users = 0;
    for (int j = 0; j < r->nout; j++)
      if (x->buffer->handle && r->outputs[j].buffer == x->buffer) at = j;
    for (int j = 0; j < r->graph.nin; j++) users += r->graph.inputs[j]->buffer == x->buffer;
    if (at >= 0) {
      const GpuOut *o = &r->outputs[at];
      const int64_t *own = x->ndim < 0 ? NULL : x->strides;
      bool same = users == 1 && o->node->dtype == x->dtype && o->offset == x->offset && !own == !o->strides &&
                  (!own || !memcmp(own, o->strides, sizeof(int64_t) * (size_t)ndim));
      if (!same) at = -1;
    }
    r->alias[i] = (int8_t)at;
  }
  int64_t plan = plan_of(r);
  if (plan < 0 || gpu_graph_numbers(&r->graph, &w) < 0) return -1;
  uint32_t handles[2 * MAX_INPUTS + MAX_BUFFERS];
  size_t n = 0;
  for (int i = 0; r->producer && i < r->producer->product->nreads; i++)
    if (!(handles[n++] = gpu_ready(r->producer->product->reads[i]->buffer))) return -1;
  for (int i = 0; i < r->graph.nin; i++)
    if (r->alias[i] < 0 && !(handles[n++] = gpu_ready(r->graph.inputs[i]->buffer))) return -1;
  for (int i = 0; i < r->nout; i++) {
    TlBuffer *b = r->outputs[i].buffer;
    if (!(handles[n++] = b->handle ? b->handle : gpu_ready(b))) return -1;
  }
  return gpu_launch((uint32_t)plan, handles, n, words, (size_t)(w - words));
}

/* Finds the pending product whose epilogue the expression can be: *last, or NULL. Runs all other pending products. */
static int find_producer(TlNode *n, TlNode **last) {
  if (!n->products || (n->product && n->product->done)) return 0;
  if (n->product) {
    if (n == *last) return 0;
    TlNode *earlier = *last;
    *last = n;
    return earlier ? gpu_compute_product(earlier) : 0;
  }
  for (int i = 0; i < n->nargs; i++)
    if (Py_TYPE(NODE_ARGS(n)[i]) == tl_Node && find_producer((TlNode *)NODE_ARGS(n)[i], last) < 0) return -1;
  return 0;
}

/* Whether the expression can be the product's epilogue. Its outputs must be contiguous, no buffer may be both read and
 * written, and nothing else may use the product, since that would compute it again. */
static bool can_be_epilogue(const Run *r) {
  const TlNode *p = r->producer, *root = (const TlNode *)r->graph.order[r->graph.n - 1];
  if (p->ndim != root->ndim || !tl_same_dims(p->shape, root->shape, p->ndim) ||
      r->graph.nin + r->nout + p->product->nreads > MAX_BUFFERS)
    return false;
  for (int i = 0; i < r->graph.n - 1; i++) {
    const TlNode *n = (const TlNode *)r->graph.order[i];
    if (Py_TYPE(n) == tl_Node && n->products && Py_REFCNT((PyObject *)n) > r->graph.uses[i] + (n->holder ? 1 : 0))
      return false;
  }
  for (int i = 0; i < r->nout; i++) {
    const TlBuffer *b = r->outputs[i].buffer;
    if (r->outputs[i].strides) return false;
    for (int j = 0; j < p->product->nreads; j++)
      if (p->product->reads[j]->buffer == b) return false;
    for (int j = 0; j < r->graph.nin; j++)
      if (r->graph.inputs[j]->buffer == b) return false;
  }
  return true;
}

/* Fuses the i-th operand, the product's reads[at], as a prologue if it is a small pending expression without other
 * users. Returns the number of buffers that the operand reads then. */
static int fuse_operand(TlNode *p, int i, int at) {
  TlProduct *q = p->product;
  TlBuffer *b = q->reads[at]->buffer;
  TlNode *n = b->pending;
  Run r;
  uint32_t words[1 + TL_MAX_DIMS + MAX_INPUTS * (TL_MAX_DIMS + 1) + 2 * MAX_ORDER], *w = words;
  if (!n || n->products || n->dtype != p->dtype || n->count > MAX_PROLOGUE || !gpu_only_operand(b) ||
      Py_REFCNT((PyObject *)n) > 1)
    return 1;
  if (begin_run(&r, n, PROLOGUE_OF_FIRST + i) < 0) return -1;
  if (r.graph.nin + q->nreads - 1 > MAX_READS) return 1;
  r.plan = q->plan;
  int64_t numel = lay_out(&r, n), plan;
  if (numel < 0) return -1;
  memset(r.alias, -1, sizeof r.alias);
  *w++ = (uint32_t)numel;
  input_words(&r, &w);
  if (gpu_graph_numbers(&r.graph, &w) < 0) return -1;
  uint32_t k = (uint32_t)(w - words);
  if (k > q->room - q->nwords) return 1;
  if ((plan = plan_of(&r)) < 0) return -1;
  memcpy(q->words + q->nwords, words, k * sizeof *words);
  q->nwords += k;
  q->plan = (uint32_t)plan;
  memmove(q->reads + at + r.graph.nin, q->reads + at + 1, sizeof *q->reads * (size_t)(q->nreads - at - 1));
  memcpy(q->reads + at, r.graph.inputs, sizeof *q->reads * (size_t)r.graph.nin);
  q->nreads += r.graph.nin - 1;
  q->fused[i] = gpu_clear_pending(b);
  return r.graph.nin;
}
int gpu_fuse_operands(TlNode *p) {
  int fusable = p->product->fusable, at = 0;
  p->product->fusable = 0; /* a second call must not fuse them again */
  for (int i = 0; i < fusable; i++) {
    int k = fuse_operand(p, i, at);
    if (k < 0) return -1;
    at += k;
  }
  return 0;
}

/* Queues the launches of a product's operands. Comes before the product's kernel is described, since launches may run
 * Python code, which may run other expressions. */
static int launch_operands(TlNode *p) {
  if (gpu_fuse_operands(p) < 0) return -1;
  for (int i = 0; i < p->product->nreads; i++)
    if (!gpu_ready(p->product->reads[i]->buffer)) return -1;
  return 0;
}

/* For an expression over more tensors than a kernel can bind: runs its operands first. */
static int run_in_parts(TlNode *root, const GpuOut *out) {
  PyObject *own[MAX_ARGS];
  int n = 0, result = -1;
  bool any = false;
  for (; n < root->nargs; n++) {
    PyObject *arg = NODE_ARGS(root)[n];
    any = any || Py_TYPE(arg) == tl_Node;
    if (!(own[n] = Py_TYPE(arg) == tl_Node ? gpu_run_now((TlNode *)arg) : Py_NewRef(arg))) break;
  }
  TlNode *one = NULL;
  if (n == root->nargs && any) one = gpu_node(root->op, own, n, root->dtype, root->compute, root->ndim, root->shape);
  else if (n == root->nargs) gpu_too_large();
  if (one) {
    GpuOut to = *out;
    to.node = one;
    result = gpu_run(one, &to, 1);
    Py_DECREF(one);
  }
  while (n) Py_DECREF(own[--n]);
  return result;
}

int gpu_run(TlNode *root, const GpuOut *out, int nout) {
  Run r;
  if (nout > MAX_BUFFERS) return gpu_too_large();
  if (root->product) { /* the product's values go into an existing tensor: compute it, then copy */
    static int cast = -1;
    if (gpu_compute_product(root) < 0 || (cast < 0 && (cast = gpu_op_named("cast")) < 0)) return -1;
    PyObject *leaf = (PyObject *)root->product->done;
    TlNode *copy = nout == 1 ? gpu_node(cast, &leaf, 1, root->dtype, NO_COMPUTE, root->ndim, root->shape) : NULL;
    if (!copy) return nout == 1 ? -1 : gpu_too_large();
    GpuOut to = *out;
    to.node = copy;
    int result = gpu_run(copy, &to, 1);
    Py_DECREF(copy);
    return result;
  }
  TlNode *producer = NULL;
  if (find_producer(root, &producer) < 0 || (producer && launch_operands(producer) < 0) ||
      begin_run(&r, root, producer ? EPILOGUE : NO_PRODUCT) < 0)
    return -1;
  r.producer = producer;
  r.plan = producer ? producer->product->plan : 0;
  r.nout = r.nrequested = nout;
  memcpy(r.outputs, out, sizeof *out * (size_t)nout);
  for (int i = 0; i < nout; i++)
    if (!gpu_graph_has(out[i].node)) {
      PyErr_SetString(PyExc_RuntimeError, "run: an output is not part of the expression");
      return -1;
    }
  if (r.producer && !can_be_epilogue(&r)) return gpu_compute_product(r.producer) < 0 ? -1 : gpu_run(root, out, nout);
  if (!r.producer && nout == 1 && r.graph.nin + nout > MAX_BUFFERS) return run_in_parts(root, out);
  int room = MAX_BUFFERS - r.graph.nin - r.nout - (r.producer ? r.producer->product->nreads : 0);
  if (r.producer && r.producer->holder && !room)
    return gpu_compute_product(r.producer) < 0 ? -1 : gpu_run(root, out, nout);
  /* Interior results that somebody holds are written too. The product goes first: it costs most to compute again. */
  for (int k = 0; k < 2; k++)
    for (int i = 0; i < r.graph.n && room > 0; i++) {
      TlNode *n = (TlNode *)r.graph.order[i];
      if (Py_TYPE(n) != tl_Node || n == root || !n->holder || (n == r.producer) == (k == 1)) continue;
      r.outputs[r.nout++] = (GpuOut){n, (TlBuffer *)Py_NewRef(n->holder), NULL, 0};
      gpu_clear_pending(n->holder); /* returns a reference to n, dropped after the launch */
      room--;
    }
  Py_INCREF(root);
  int result = run_with(&r, root);
  for (int i = r.nrequested; i < r.nout; i++) {
    TlBuffer *b = r.outputs[i].buffer;
    TlNode *n = r.outputs[i].node;
    if (result < 0 && !b->pending) gpu_set_pending(b, n);
    else {
      if (result == 0 && n->product && !(n->product->done = gpu_leaf(b, n->dtype, -1, NULL, 0))) result = -1;
      Py_DECREF(n);
    }
    Py_DECREF(b);
  }
  Py_DECREF(root);
  return result;
}

/* run(root, outputs): outputs are (node, buffer, strides or None, offset); the first is root's */
PyObject *gpu_f_run(PyObject *m, PyObject *const *a, Py_ssize_t nargs) {
  (void)m;
  GpuOut out[MAX_BUFFERS];
  int64_t strides[MAX_BUFFERS][TL_MAX_DIMS];
  Py_ssize_t n = nargs == 2 && Py_TYPE(a[0]) == tl_Node && PyList_Check(a[1]) ? PyList_Size(a[1]) : 0;
  if (n < 1 || n > MAX_BUFFERS) {
    PyErr_SetString(PyExc_TypeError, "run(root, list of outputs)");
    return NULL;
  }
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *node, *buffer, *st;
    long long offset;
    int k;
    if (!PyTuple_Check(PyList_GetItem(a[1], i))) {
      PyErr_SetString(PyExc_TypeError, "run: an output is (node, buffer, strides or None, offset)");
      return NULL;
    }
    if (!PyArg_ParseTuple(PyList_GetItem(a[1], i), "OOOL", &node, &buffer, &st, &offset)) return NULL;
    if (Py_TYPE(node) != tl_Node || Py_TYPE(buffer) != tl_Buffer) {
      PyErr_SetString(PyExc_TypeError, "run: expected a node and a buffer");
      return NULL;
    }
    out[i] = (GpuOut){(TlNode *)node, (TlBuffer *)buffer, NULL, offset};
    if (st == Py_None) continue;
    if (tl_ints(st, strides[i], &k) < 0) return NULL;
    if (k != ((TlNode *)a[0])->ndim) {
      PyErr_SetString(PyExc_RuntimeError, "run: strides of another number of dims");
      return NULL;
    }
    out[i].strides = strides[i];
  }
  if (gpu_run((TlNode *)a[0], out, (int)n) < 0) return NULL;
  Py_RETURN_NONE;
}
