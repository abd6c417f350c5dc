/* gpu_run.c: one kernel for an expression. Equal operands are read once; interior results that somebody still holds are
 * written by the same kernel; dims that all operands run through together are joined. The kernel is named by a key of what
 * its code depends on; for a new key Python describes it to the bridge and gets a number. */
#include "gpu.h"

#define MAX_ORDER 250                /* parts of an expression */
#define MAX_INPUTS 16
#define KEY_ROOM 2600
enum { IS_NODE, IS_LEAF, IS_NUMBER, IS_COORD };

typedef struct {
  Expr *order[MAX_ORDER];            /* operands before what uses them */
  TlLeaf *inputs[MAX_INPUTS];
  GpuOut outputs[MAX_BUFFERS];
  const int64_t *in_strides[MAX_INPUTS], *out_strides[MAX_BUFFERS];
  int8_t alias[MAX_INPUTS];
  uint8_t input_of[MAX_ORDER], key[KEY_ROOM];
  int n, nin, nout, given, ndim, nkey, numbers;
  bool coords;
} Run;

static uint32_t mark;
static PyObject *plans;              /* key -> number */

static int kind_of(const void *o) {
  PyTypeObject *tp = Py_TYPE(o);
  return tp == tl_Node ? IS_NODE : tp == tl_Leaf ? IS_LEAF : tp == tl_Number ? IS_NUMBER : IS_COORD;
}

static int too_large(void) { PyErr_SetString(PyExc_RuntimeError, "an expression of too many parts for one kernel"); return -1; }

static int visit(Run *r, Expr *e, int depth) {
  if (e->mark == mark) return 0;
  int kind = kind_of(e);
  if (depth > MAX_ORDER) return too_large();
  if (kind == IS_NODE)
    for (int i = 0; i < ((TlNode *)e)->nargs; i++)
      if (visit(r, (Expr *)NODE_ARGS((TlNode *)e)[i], depth + 1) < 0) return -1;
  if (r->n == MAX_ORDER) return too_large();
  if (kind == IS_LEAF) {
    int at = 0;
    while (at < r->nin && !(r->inputs[at]->dtype == e->dtype && gpu_same_view(r->inputs[at], (TlLeaf *)e))) at++;
    if (at == MAX_INPUTS) return too_large();
    if (((TlLeaf *)e)->ndim >= 0 && ((TlLeaf *)e)->ndim != r->ndim) { PyErr_SetString(PyExc_RuntimeError, "an operand's strides are not those of the expression"); return -1; }
    if (at == r->nin) r->inputs[r->nin++] = (TlLeaf *)e;
    r->input_of[r->n] = (uint8_t)at;
  } else if (kind == IS_COORD) r->coords = r->coords || ((TlCoord *)e)->dim >= 0;
  else if (kind == IS_NUMBER) r->numbers++;
  e->mark = mark;
  e->place = (uint16_t)r->n;
  r->order[r->n++] = e;
  return 0;
}

/* sizes and, for each, the dim whose stride counts: neighbouring dims that every strided operand runs through as one, and
 * dims of size 1, go */
static int collapse(int ndim, const int64_t *shape, int n, const int64_t *const *strides, int64_t *sizes, int *keep) {
  int k = 0;
  for (int d = ndim - 1; d >= 0; d--) {
    if (shape[d] == 1) continue;
    bool joins = k > 0;
    for (int i = 0; i < n && joins; i++)
      if (strides[i]) joins = strides[i][d] == tl_wrap_mul(strides[i][keep[k - 1]], sizes[k - 1]);
    if (joins) { sizes[k - 1] *= shape[d]; continue; }
    sizes[k] = shape[d];
    keep[k++] = d;
  }
  for (int i = 0; i < k / 2; i++) {
    int64_t s = sizes[i]; sizes[i] = sizes[k - 1 - i]; sizes[k - 1 - i] = s;
    int d = keep[i]; keep[i] = keep[k - 1 - i]; keep[k - 1 - i] = d;
  }
  return k;
}

/* whether a dense output must be written element by element: where whole words would reach beyond it */
static bool needs_strides(const GpuOut *o, int64_t numel) {
  int size = tl_itemsize[o->node->dtype];
  return (o->offset & 3) || (size < 4 && numel * size != o->buffer->nbytes && (numel * size & 3));
}

static void key_byte(Run *r, int v) {
  if (r->nkey < KEY_ROOM) r->key[r->nkey] = (uint8_t)v;
  r->nkey++;
}
static int make_key(Run *r, int nsizes) {
  key_byte(r, nsizes);
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
    } else key_byte(r, kind == IS_LEAF ? r->input_of[i] : kind == IS_NUMBER ? e->dtype : ((TlCoord *)e)->dim);
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

static int append(PyObject *list, PyObject *o) {      /* steals o */
  int r = o && list ? PyList_Append(list, o) : -1;
  Py_XDECREF(o);
  return r;
}
/* describe(dims, nodes, inputs, outputs): Python makes the kernel and gives its number. Nodes are (op, dtype, compute, places of
 * the operands), an input's number, a number's dtype or (dim,). */
static PyObject *describe(Run *r, int nsizes) {
  GPU_HOOK(gpu.describe, NULL);
  PyObject *nodes = PyList_New(0), *ins = PyList_New(0), *outs = PyList_New(0), *made = NULL;
  int bad = 0;
  for (int i = 0; i < r->n && !bad; i++) {
    Expr *e = r->order[i];
    int kind = kind_of(e);
    if (kind == IS_NODE) {
      TlNode *n = (TlNode *)e;
      PyObject *places = PyList_New(0);
      for (int j = 0; j < n->nargs && !bad; j++) bad = append(places, PyLong_FromLong(((Expr *)NODE_ARGS(n)[j])->place));
      bad = bad || append(nodes, places ? Py_BuildValue("(OOON)", gpu_op_name(n->op), gpu_dtype_name(n->dtype),
                                                        n->compute == NO_COMPUTE ? Py_None : gpu_dtype_name(n->compute), places) : NULL);
    } else if (kind == IS_LEAF) bad = append(nodes, PyLong_FromLong(r->input_of[i]));
    else if (kind == IS_NUMBER) bad = append(nodes, Py_NewRef(gpu_dtype_name(e->dtype)));
    else bad = append(nodes, Py_BuildValue("(i)", ((TlCoord *)e)->dim));
  }
  for (int i = 0; i < r->nin && !bad; i++)
    bad = append(ins, Py_BuildValue("(OsN)", gpu_dtype_name(r->inputs[i]->dtype), r->in_strides[i] ? "s" : "c",
                                    r->alias[i] < 0 ? Py_NewRef(Py_None) : PyLong_FromLong(r->alias[i])));
  for (int i = 0; i < r->nout && !bad; i++)
    bad = append(outs, Py_BuildValue("(iOs)", (int)r->outputs[i].node->place, gpu_dtype_name(r->outputs[i].node->dtype), r->out_strides[i] ? "s" : "c"));
  if (!bad && nodes && ins && outs) made = PyObject_CallFunction(gpu.describe, "iOOO", nsizes, nodes, ins, outs);
  Py_XDECREF(nodes);
  Py_XDECREF(ins);
  Py_XDECREF(outs);
  return made;
}

/* the kernel's number; -1 with an exception */
static int64_t plan_of(Run *r, int nsizes) {
  if (make_key(r, nsizes) < 0 || (!plans && !(plans = PyDict_New()))) return -1;
  PyObject *key = PyBytes_FromStringAndSize((const char *)r->key, r->nkey), *number;
  if (!key) return -1;
  int64_t plan = -1;
  number = Py_XNewRef(PyDict_GetItemWithError(plans, key));
  if (!number && !PyErr_Occurred() && (number = describe(r, nsizes)) && PyDict_SetItem(plans, key, number) < 0) Py_CLEAR(number);
  if (number) plan = PyLong_AsLongLong(number);
  Py_XDECREF(number);
  Py_DECREF(key);
  return plan;
}

/* a number as words of a compute type: one, or two (low, high) for int64 */
uint32_t gpu_scalar(PyObject *value, tl_dtype d, uint32_t *out) {
  if (tl_is_float(d)) {
    double v = PyFloat_AsDouble(value);
    if (v == -1.0 && PyErr_Occurred()) return 0;
    float f = v > 3.4028235677973366e38 ? __builtin_inff() : v < -3.4028235677973366e38 ? -__builtin_inff() : (float)v;
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

static void place_words(uint32_t **w, int64_t offset, const int64_t *strides, int nsizes, int nkeep, const int *keep) {
  *(*w)++ = (uint32_t)offset;
  for (int i = 0; strides && i < nsizes; i++) *(*w)++ = i < nkeep ? (uint32_t)strides[keep[i]] : 0;
}

/* with r->outputs in place: the kernel's words, and its launch */
static int run_with(Run *r, TlNode *root) {
  int ndim = r->ndim, keep[TL_MAX_DIMS], nsizes = 0, nkeep = 0, nstrided = 0;
  int64_t dense[TL_MAX_DIMS], sizes[TL_MAX_DIMS], numel = tl_dense_strides(ndim, root->shape, dense);
  if (numel < 0) return -1;
  /* layouts: "c" runs over the elements in order, four at a time where all do; "s" has a stride for each dim */
  const int64_t *strided[MAX_INPUTS + MAX_BUFFERS];
  for (int i = 0; i < r->nin; i++)
    if ((r->in_strides[i] = r->inputs[i]->ndim < 0 ? NULL : r->inputs[i]->strides)) strided[nstrided++] = r->in_strides[i];
  for (int i = 0; i < r->nout; i++) {
    r->out_strides[i] = !r->outputs[i].strides && needs_strides(&r->outputs[i], numel) ? dense : r->outputs[i].strides;
    if (r->out_strides[i]) strided[nstrided++] = r->out_strides[i];
  }
  if (!r->coords && !nstrided)
    for (int i = 0; i < r->nin; i++)
      if (r->inputs[i]->offset & 3) strided[nstrided++] = r->in_strides[i] = dense;      /* groups of four begin at multiples of four */
  if (r->coords) {
    nsizes = nkeep = ndim;
    for (int d = 0; d < ndim; d++) { sizes[d] = root->shape[d]; keep[d] = d; }
  } else if (nstrided) {
    nsizes = nkeep = collapse(ndim, root->shape, nstrided, strided, sizes, keep);
    if (!nsizes) sizes[nsizes++] = 1;
  }
  uint32_t words[1 + TL_MAX_DIMS + (MAX_INPUTS + MAX_BUFFERS) * (TL_MAX_DIMS + 1) + 2 * MAX_ORDER], *w = words;
  *w++ = (uint32_t)numel;
  for (int i = 0; i < nsizes; i++) *w++ = (uint32_t)sizes[i];
  for (int i = 0; i < r->nin; i++) place_words(&w, r->inputs[i]->offset, r->in_strides[i], nsizes, nkeep, keep);
  for (int i = 0; i < r->nout; i++) place_words(&w, r->outputs[i].offset, r->out_strides[i], nsizes, nkeep, keep);
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
  int64_t plan = plan_of(r, nsizes);
  if (plan < 0) return -1;
  for (int i = 0; i < r->n && r->numbers; i++) {
    if (kind_of(r->order[i]) != IS_NUMBER) continue;
    uint32_t k = gpu_scalar(((TlNumber *)r->order[i])->value, (tl_dtype)r->order[i]->dtype, w);
    if (!k) return -1;
    w += k;
  }
  uint32_t handles[MAX_INPUTS + MAX_BUFFERS];
  size_t n = 0;
  for (int i = 0; i < r->nin; i++)
    if (r->alias[i] < 0 && !(handles[n++] = gpu_ready(r->inputs[i]->buffer))) return -1;
  for (int i = 0; i < r->nout; i++) {
    TlBuffer *b = r->outputs[i].buffer;
    if (!(handles[n++] = b->handle ? b->handle : gpu_ready(b))) return -1;
  }
  return gpu_launch((uint32_t)plan, handles, n, words, (size_t)(w - words));
}

int gpu_run(TlNode *root, const GpuOut *out, int nout) {
  Run r;
  r.n = r.nin = r.nkey = r.numbers = 0;
  r.nout = r.given = nout;
  r.ndim = root->ndim;
  r.coords = false;
  if (nout > MAX_BUFFERS) return too_large();
  memcpy(r.outputs, out, sizeof *out * (size_t)nout);
  if (++mark == 0) mark = 1;
  if (visit(&r, (Expr *)root, 0) < 0) return -1;
  for (int i = 0; i < nout; i++)
    if (((Expr *)out[i].node)->mark != mark) { PyErr_SetString(PyExc_RuntimeError, "run: an output is not part of the expression"); return -1; }
  int room = MAX_BUFFERS - r.nin - r.nout;
  for (int i = 0; i < r.n && room > 0; i++) {
    TlNode *n = (TlNode *)r.order[i];
    if (kind_of(n) != IS_NODE || n == root || !n->holder) continue;
    r.outputs[r.nout++] = (GpuOut){n, (TlBuffer *)Py_NewRef(n->holder), NULL, 0};
    gpu_unwait(n->holder);           /* this reference to n is kept until the end */
    room--;
  }
  Py_INCREF(root);
  int result = run_with(&r, root);
  for (int i = r.given; i < r.nout; i++) {
    TlBuffer *b = r.outputs[i].buffer;
    if (result < 0 && !b->pending) gpu_wait(b, r.outputs[i].node);
    else Py_DECREF(r.outputs[i].node);
    Py_DECREF(b);
  }
  Py_DECREF(root);
  return result;
}

/* run(root, outputs): outputs are (node, buffer, strides or None, offset), the first for root itself */
PyObject *gpu_f_run(PyObject *m, PyObject *const *a, Py_ssize_t nargs) {
  (void)m;
  GpuOut out[MAX_BUFFERS];
  int64_t strides[MAX_BUFFERS][TL_MAX_DIMS];
  Py_ssize_t n = nargs == 2 && Py_TYPE(a[0]) == tl_Node && PyList_Check(a[1]) ? PyList_Size(a[1]) : 0;
  if (n < 1 || n > MAX_BUFFERS) { PyErr_SetString(PyExc_TypeError, "run(root, list of outputs)"); return NULL; }
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *node, *buffer, *st;
    long long offset;
    int k;
    if (!PyArg_ParseTuple(PyList_GetItem(a[1], i), "OOOL", &node, &buffer, &st, &offset)) return NULL;
    if (Py_TYPE(node) != tl_Node || Py_TYPE(buffer) != tl_Buffer) { PyErr_SetString(PyExc_TypeError, "run: expected a node and a buffer"); return NULL; }
    out[i] = (GpuOut){(TlNode *)node, (TlBuffer *)buffer, NULL, offset};
    if (st == Py_None) continue;
    if (tl_ints(st, strides[i], &k) < 0) return NULL;
    if (k != ((TlNode *)a[0])->ndim) { PyErr_SetString(PyExc_RuntimeError, "run: strides of another number of dims"); return NULL; }
    out[i].strides = strides[i];
  }
  if (gpu_run((TlNode *)a[0], out, (int)n) < 0) return NULL;
  Py_RETURN_NONE;
}
