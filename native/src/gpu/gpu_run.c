/* gpu_run.c: runs an expression as one kernel.
 *
 * The kernel reads equal operands once. It also writes the interior results that somebody still holds. Neighbouring
 * dims are coalesced where every operand allows it. A key holds everything that the kernel's code depends on. The
 * bridge decodes a new key into a kernel and returns the number of its plan; that number is cached by the key. */
#include "gpu/gpu.h"

#define MAX_ORDER 250                /* parts of an expression */
#define MAX_INPUTS 16
#define KEY_ROOM 2600
enum { NO_PRODUCT, EPILOGUE, PROLOGUE_OF_FIRST, PROLOGUE_OF_SECOND }; /* the expression's role in a product's kernel */
enum { IS_NODE, IS_LEAF, IS_NUMBER, IS_COORD, IS_PRODUCT };

typedef struct {
  Expr *order[MAX_ORDER]; /* parts in topological order: operands first */
  TlLeaf *inputs[MAX_INPUTS];
  GpuOut outputs[MAX_BUFFERS];
  const int64_t *in_strides[MAX_INPUTS], *out_strides[MAX_BUFFERS];
  int8_t alias[MAX_INPUTS];
  uint8_t input_of[MAX_ORDER], uses[MAX_ORDER], key[KEY_ROOM];
  TlNode *producer; /* the product whose epilogue this expression is */
  uint32_t plan;    /* the product's, if `role` is not NO_PRODUCT */
  int role, n, nin, nout, nrequested, ndim, nkey, numbers, nsizes, nkeep, keep[TL_MAX_DIMS];
  int64_t sizes[TL_MAX_DIMS], dense[TL_MAX_DIMS];
  bool coords;
} Run;

static uint32_t mark;
static PyObject *plans; /* key -> number of a plan */

static int kind_of(const void *o) {
  PyTypeObject *tp = Py_TYPE(o);
  if (tp == tl_Leaf) return IS_LEAF;
  if (tp != tl_Node) return tp == tl_Number ? IS_NUMBER : IS_COORD;
  const TlProduct *product = ((const TlNode *)o)->product;
  if (!product) return IS_NODE;
  return product->done ? IS_LEAF : IS_PRODUCT;
}

/* the leaf that a part of kind IS_LEAF stands for */
static TlLeaf *leaf_of(Expr *e) { return Py_TYPE(e) == tl_Node ? ((TlNode *)e)->product->done : (TlLeaf *)e; }

static int too_large(void) {
  PyErr_SetString(PyExc_RuntimeError, "an expression of too many parts for one kernel");
  return -1;
}

static int visit(Run *r, Expr *e, int depth) {
  if (e->mark == mark) {
    r->uses[e->place]++;
    return 0;
  }
  int kind = kind_of(e);
  if (depth > MAX_ORDER) return too_large();
  if (kind == IS_NODE)
    for (int i = 0; i < ((TlNode *)e)->nargs; i++)
      if (visit(r, (Expr *)NODE_ARGS((TlNode *)e)[i], depth + 1) < 0) return -1;
  if (r->n == MAX_ORDER) return too_large();
  if (kind == IS_LEAF) {
    TlLeaf *leaf = leaf_of(e);
    int at = 0;
    while (at < r->nin && !(r->inputs[at]->dtype == leaf->dtype && gpu_same_view(r->inputs[at], leaf))) at++;
    if (at == MAX_INPUTS) return too_large();
    if (leaf->ndim >= 0 && leaf->ndim != r->ndim) {
      PyErr_SetString(PyExc_RuntimeError, "an operand's strides are not those of the expression");
      return -1;
    }
    if (at == r->nin) r->inputs[r->nin++] = leaf;
    r->input_of[r->n] = (uint8_t)at;
  } else if (kind == IS_COORD) r->coords = r->coords || ((TlCoord *)e)->dim >= 0;
  else if (kind == IS_NUMBER) r->numbers++;
  e->mark = mark;
  e->place = (uint16_t)r->n;
  r->uses[r->n] = 1;
  r->order[r->n++] = e;
  return 0;
}

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

static void key_byte(Run *r, int v) {
  if (r->nkey < KEY_ROOM) r->key[r->nkey] = (uint8_t)v;
  r->nkey++;
}
/* Writes the key: everything that the kernel's code depends on. TypeScript decodes it into a kernel
 * (js_bridge/src/runtime/described.ts; change both together). Its bytes:
 *   the role, and the number of the product's plan if there is a product (4 bytes);
 *   number of dims; number of parts, then each part by its kind;
 *   number of inputs, then dtype of each and the output whose buffer it shares (-1: none);
 *   of each output its part and dtype.
 * A dtype byte with bit 128 set: the tensor has a stride for each dim. */
static int make_key(Run *r) {
  key_byte(r, r->role);
  for (int i = 0; i < 4 && r->role; i++) key_byte(r, (int)(r->plan >> (8 * i)));
  key_byte(r, r->nsizes);
  key_byte(r, r->n);
  for (int i = 0; i < r->n; i++) {
    Expr *e = r->order[i];
    int kind = kind_of(e);
    key_byte(r, kind);
    if (kind == IS_NODE) {
      TlNode *n = (TlNode *)e;
      key_byte(r, n->op & 255);
      key_byte(r, n->op >> 8);
      key_byte(r, n->dtype);
      key_byte(r, n->compute);
      key_byte(r, n->nargs);
      for (int j = 0; j < n->nargs; j++) key_byte(r, ((Expr *)NODE_ARGS(n)[j])->place);
    } else if (kind == IS_LEAF) key_byte(r, r->input_of[i]);
    else key_byte(r, kind == IS_COORD ? ((TlCoord *)e)->dim : e->dtype);
  }
  key_byte(r, r->nin);
  for (int i = 0; i < r->nin; i++) {
    key_byte(r, r->inputs[i]->dtype | (r->in_strides[i] ? 128 : 0));
    key_byte(r, r->alias[i]);
  }
  for (int i = 0; i < r->nout; i++) {
    key_byte(r, r->outputs[i].node->place);
    key_byte(r, r->outputs[i].node->dtype | (r->out_strides[i] ? 128 : 0));
  }
  return r->nkey > KEY_ROOM ? too_large() : 0;
}

/* Asks the bridge for the number of a new kernel's plan. The key goes there as text, one character for each byte. */
static PyObject *describe(const Run *r) {
  GPU_HOOK(gpu.describe, NULL);
  PyObject *bytes = PyUnicode_DecodeLatin1((const char *)r->key, r->nkey, NULL);
  PyObject *text = bytes ? PyUnicode_FromFormat("expression:%U", bytes) : NULL;
  PyObject *plan = text ? PyObject_CallFunctionObjArgs(gpu.describe, text, NULL) : NULL;
  Py_XDECREF(bytes);
  Py_XDECREF(text);
  return plan;
}

/* The number of the kernel's plan; -1 with an exception. */
static int64_t plan_of(Run *r) {
  if (make_key(r) < 0 || (!plans && !(plans = PyDict_New()))) return -1;
  PyObject *key = PyBytes_FromStringAndSize((const char *)r->key, r->nkey), *number;
  if (!key) return -1;
  int64_t plan = -1;
  number = Py_XNewRef(PyDict_GetItemWithError(plans, key));
  if (!number && !PyErr_Occurred() && (number = describe(r)) && PyDict_SetItem(plans, key, number) < 0)
    Py_CLEAR(number);
  if (number) plan = PyLong_AsLongLong(number);
  Py_XDECREF(number);
  Py_DECREF(key);
  return plan;
}

/* Writes a number as words of a compute type: one, or two (low, high) for int64. */
uint32_t gpu_scalar(PyObject *value, tl_dtype d, uint32_t *out) {
  if (tl_is_float(d)) {
    double v = PyFloat_AsDouble(value);
    if (v == -1.0 && PyErr_Occurred()) return 0;
    float f = v > 0 ? __builtin_inff() : -__builtin_inff();
    if (!(v > 3.4028235677973366e38 || v < -3.4028235677973366e38)) f = (float)v;
    memcpy(out, &f, 4);
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

static void place_words(const Run *r, uint32_t **w, int64_t offset, const int64_t *strides) {
  *(*w)++ = (uint32_t)offset;
  for (int i = 0; strides && i < r->nsizes; i++) *(*w)++ = i < r->nkeep ? (uint32_t)strides[r->keep[i]] : 0;
}

/* Words of a kernel are sizes, inputs, outputs, numbers. This writes sizes and inputs. */
static void input_words(const Run *r, uint32_t **w) {
  for (int i = 0; i < r->nsizes; i++) *(*w)++ = (uint32_t)r->sizes[i];
  for (int i = 0; i < r->nin; i++) place_words(r, w, r->inputs[i]->offset, r->in_strides[i]);
}
static int number_words(const Run *r, uint32_t **w) {
  for (int i = 0; i < r->n && r->numbers; i++) {
    if (kind_of(r->order[i]) != IS_NUMBER) continue;
    uint32_t k = gpu_scalar(((TlNumber *)r->order[i])->value, (tl_dtype)r->order[i]->dtype, *w);
    if (!k) return -1;
    *w += k;
  }
  return 0;
}

static int begin_run(Run *r, TlNode *root, int role) {
  r->role = role;
  r->n = r->nin = r->nout = r->nkey = r->numbers = 0;
  r->ndim = root->ndim;
  r->coords = false;
  r->producer = NULL;
  if (++mark == 0) mark = 1;
  return visit(r, (Expr *)root, 0);
}

/* Decides each tensor's layout; r->outputs must be set. "c" (strides NULL) runs over the elements in order, four at a
 * time if every tensor is "c"; "s" has a stride for each dim. Returns the number of elements; -1 with an exception. */
static int64_t lay_out(Run *r, const TlNode *root) {
  int ndim = r->ndim, nstrided = 0;
  int64_t *dense = r->dense, numel = tl_dense_strides(ndim, root->shape, dense);
  if (numel < 0) return -1;
  r->nsizes = r->nkeep = 0;
  const int64_t *strided[MAX_INPUTS + MAX_BUFFERS];
  for (int i = 0; i < r->nin; i++)
    if ((r->in_strides[i] = r->inputs[i]->ndim < 0 ? NULL : r->inputs[i]->strides))
      strided[nstrided++] = r->in_strides[i];
  for (int i = 0; i < r->nout; i++) {
    r->out_strides[i] =
      !r->producer && !r->outputs[i].strides && needs_strides(&r->outputs[i], numel) ? dense : r->outputs[i].strides;
    if (r->out_strides[i]) strided[nstrided++] = r->out_strides[i];
  }
  if (!r->coords && !nstrided && !r->producer)
    for (int i = 0; i < r->nin; i++)
      if (r->inputs[i]->offset & 3)
        strided[nstrided++] = r->in_strides[i] = dense; /* groups of four begin at multiples of four */
  if (r->coords) {
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
  int ndim = r->ndim;
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
  for (int i = 0; i < r->nin; i++) {
    const TlLeaf *x = r->inputs[i];
    int at = -1, users = 0;
    for (int j = 0; j < r->nout; j++)
      if (x->buffer->handle && r->outputs[j].buffer == x->buffer) at = j;
    for (int j = 0; j < r->nin; j++) users += r->inputs[j]->buffer == x->buffer;
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
  if (plan < 0 || number_words(r, &w) < 0) return -1;
  uint32_t handles[2 * MAX_INPUTS + MAX_BUFFERS];
  size_t n = 0;
  for (int i = 0; r->producer && i < r->producer->product->nreads; i++)
    if (!(handles[n++] = gpu_ready(r->producer->product->reads[i]->buffer))) return -1;
  for (int i = 0; i < r->nin; i++)
    if (r->alias[i] < 0 && !(handles[n++] = gpu_ready(r->inputs[i]->buffer))) return -1;
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
  const TlNode *p = r->producer, *root = (const TlNode *)r->order[r->n - 1];
  if (p->ndim != root->ndim || memcmp(p->shape, root->shape, sizeof *p->shape * (size_t)p->ndim) ||
      r->nin + r->nout + p->product->nreads > MAX_BUFFERS)
    return false;
  for (int i = 0; i < r->n - 1; i++) {
    const TlNode *n = (const TlNode *)r->order[i];
    if (Py_TYPE(n) == tl_Node && n->products && Py_REFCNT((PyObject *)n) > r->uses[i] + (n->holder ? 1 : 0))
      return false;
  }
  for (int i = 0; i < r->nout; i++) {
    const TlBuffer *b = r->outputs[i].buffer;
    if (r->outputs[i].strides) return false;
    for (int j = 0; j < p->product->nreads; j++)
      if (p->product->reads[j]->buffer == b) return false;
    for (int j = 0; j < r->nin; j++)
      if (r->inputs[j]->buffer == b) return false;
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
  if (r.nin + q->nreads - 1 > MAX_READS) return 1;
  r.plan = q->plan;
  int64_t numel = lay_out(&r, n), plan;
  if (numel < 0) return -1;
  memset(r.alias, -1, sizeof r.alias);
  *w++ = (uint32_t)numel;
  input_words(&r, &w);
  if (number_words(&r, &w) < 0) return -1;
  uint32_t k = (uint32_t)(w - words);
  if (k > q->room - q->nwords) return 1;
  if ((plan = plan_of(&r)) < 0) return -1;
  memcpy(q->words + q->nwords, words, k * sizeof *words);
  q->nwords += k;
  q->plan = (uint32_t)plan;
  memmove(q->reads + at + r.nin, q->reads + at + 1, sizeof *q->reads * (size_t)(q->nreads - at - 1));
  memcpy(q->reads + at, r.inputs, sizeof *q->reads * (size_t)r.nin);
  q->nreads += r.nin - 1;
  q->fused[i] = gpu_clear_pending(b);
  return r.nin;
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
  else if (n == root->nargs) too_large();
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
  if (nout > MAX_BUFFERS) return too_large();
  if (root->product) { /* the product's values go into an existing tensor: compute it, then copy */
    static int cast = -1;
    if (gpu_compute_product(root) < 0 || (cast < 0 && (cast = gpu_op_named("cast")) < 0)) return -1;
    PyObject *leaf = (PyObject *)root->product->done;
    TlNode *copy = nout == 1 ? gpu_node(cast, &leaf, 1, root->dtype, NO_COMPUTE, root->ndim, root->shape) : NULL;
    if (!copy) return nout == 1 ? -1 : too_large();
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
    if (((Expr *)out[i].node)->mark != mark) {
      PyErr_SetString(PyExc_RuntimeError, "run: an output is not part of the expression");
      return -1;
    }
  if (r.producer && !can_be_epilogue(&r)) return gpu_compute_product(r.producer) < 0 ? -1 : gpu_run(root, out, nout);
  if (!r.producer && nout == 1 && r.nin + nout > MAX_BUFFERS) return run_in_parts(root, out);
  int room = MAX_BUFFERS - r.nin - r.nout - (r.producer ? r.producer->product->nreads : 0);
  if (r.producer && r.producer->holder && !room)
    return gpu_compute_product(r.producer) < 0 ? -1 : gpu_run(root, out, nout);
  /* Interior results that somebody holds are written too. The product goes first: it costs most to compute again. */
  for (int k = 0; k < 2; k++)
    for (int i = 0; i < r.n && room > 0; i++) {
      TlNode *n = (TlNode *)r.order[i];
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
