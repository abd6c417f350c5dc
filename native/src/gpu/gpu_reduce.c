/* gpu_reduce.c: reductions over any dims of tensors with any strides. If the tensor is pending, its expression is
 * computed in the reduction's kernel.
 *
 * That happens once. At the second reduction the tensor is computed and stored, so that a tensor which is reduced many
 * times is not computed as often. */
#include "core/check.h"
#include "gpu/gpu_graph.h"

#define MAX_RESULTS 4
enum { AS_IT_IS, ABS, NAN_TO_ZERO, POWER_OF_ABS }; /* what happens to elements before they are reduced */

typedef struct {
  int nresults, before, ndims;
  struct {
    uint8_t reduction, dtype; /* number in the bridge's table; dtype of the result */
    int8_t operand;           /* the dtype that elements are cast to; -1: their own */
    bool gives_indices;
  } results[MAX_RESULTS];
  int states; /* buffers that the kernels for long rows need beside the inputs */
  PyObject *power, *correction;
  int64_t dims[TL_MAX_DIMS];
  bool keepdim;
} Wanted;

typedef struct {
  int64_t plan, length; /* of a row */
  int nwords, nreads;
  uint32_t words[2 + TL_MAX_DIMS + MAX_INPUTS * (TL_MAX_DIMS + 1) + 2 * MAX_ORDER + MAX_RESULTS + 1];
  TlBuffer *reads[MAX_INPUTS];
} Planned;

/* ---- what is asked for ------------------------------------------------------------------------------------------ */
/* (name, name of the dtype that its operand is cast to or None, dtype of the result) */
static int parse_result(Wanted *w, PyObject *o) {
  int buffers, id = PyTuple_Check(o) && PyTuple_Size(o) == 3 ? gpu_reduction(PyTuple_GetItem(o, 0), &buffers) : -1;
  tl_dtype result;
  if (id < 0) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "reduce: a result is (reduction, operand's dtype, dtype)");
    return -1;
  }
  PyObject *name = PyTuple_GetItem(o, 0), *cast = PyTuple_GetItem(o, 1);
  int operand = cast == Py_None ? -1 : gpu_dtype(cast);
  if (PyErr_Occurred() || tl_dtype_arg(PyTuple_GetItem(o, 2), TL_F32, &result) < 0) return -1;
  int i = w->nresults++;
  w->states += buffers;
  w->results[i].reduction = (uint8_t)id;
  w->results[i].dtype = (uint8_t)result;
  w->results[i].operand = (int8_t)operand;
  w->results[i].gives_indices =
    PyUnicode_CompareWithASCIIString(name, "argmax") == 0 || PyUnicode_CompareWithASCIIString(name, "argmin") == 0;
  return 0;
}
/* the results, and in the last place what happens to elements before they are reduced: None, "abs", "nan_to_zero" or an
 * exponent */
static int parse(Wanted *w, PyObject *const *a, Py_ssize_t n) {
  Py_ssize_t k = PyTuple_Check(a[3]) ? PyTuple_Size(a[3]) - 1 : 0;
  if (k < 1 || k > MAX_RESULTS || tl_ints(a[1], w->dims, &w->ndims) < 0) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "reduce: expected results, and a map of the elements");
    return -1;
  }
  for (Py_ssize_t i = 0; i < k; i++)
    if (parse_result(w, PyTuple_GetItem(a[3], i)) < 0) return -1;
  PyObject *before = PyTuple_GetItem(a[3], k);
  w->before = AS_IT_IS;
  if (PyFloat_Check(before)) {
    w->before = POWER_OF_ABS;
    w->power = before;
  } else if (before != Py_None) {
    bool abs = PyUnicode_Check(before) && PyUnicode_CompareWithASCIIString(before, "abs") == 0;
    w->before = abs ? ABS : NAN_TO_ZERO;
  }
  w->correction = n > 4 && a[4] != Py_None ? a[4] : NULL;
  int keep = PyObject_IsTrue(a[2]);
  w->keepdim = keep > 0;
  return keep < 0 ? -1 : 0;
}

static bool is_reduced(const Wanted *w, int d) {
  for (int i = 0; i < w->ndims; i++)
    if (w->dims[i] == d) return true;
  return false;
}

/* ---- the operand ------------------------------------------------------------------------------------------------ */
/* an operation over parts; takes over their references */
static PyObject *operation(const char *name, PyObject *x, PyObject *y, PyObject *z, int dtype, int compute, int ndim,
                           const int64_t *shape) {
  PyObject *args[] = {x, y, z}, *r = NULL;
  int id = gpu_op_named(name), n = z ? 3 : 1 + (y != NULL);
  bool all = id >= 0 && x && (n < 2 || y);
  if (all) r = (PyObject *)gpu_node(id, args, n, dtype, compute, ndim, shape);
  for (int i = 0; i < 3; i++) Py_XDECREF(args[i]);
  return r;
}
/* x, after what happens to elements before they are reduced */
static PyObject *prepared(const Wanted *w, Expr *x, int ndim, const int64_t *shape) {
  PyObject *own = Py_NewRef((PyObject *)x);
  if (w->before == AS_IT_IS) return own;
  if (w->before == ABS) return operation("abs", own, NULL, NULL, x->dtype, NO_COMPUTE, ndim, shape);
  if (w->before == NAN_TO_ZERO) {
    PyObject *nan = operation("isnan", Py_NewRef(own), NULL, NULL, TL_BOOL, x->dtype, ndim, shape);
    PyObject *value = PyFloat_FromDouble(0), *zero = value ? (PyObject *)gpu_number(value, TL_F32) : NULL;
    Py_XDECREF(value);
    if (zero) return operation("where", nan, zero, own, x->dtype, NO_COMPUTE, ndim, shape);
    Py_XDECREF(nan);
    Py_DECREF(own);
    return NULL;
  }
  if (x->dtype != TL_F32) own = operation("cast", own, NULL, NULL, TL_F32, NO_COMPUTE, ndim, shape);
  own = own ? operation("abs", own, NULL, NULL, TL_F32, NO_COMPUTE, ndim, shape) : NULL;
  PyObject *power = own ? (PyObject *)gpu_number(w->power, TL_F32) : NULL;
  if (power) return operation("pow", own, power, NULL, TL_F32, NO_COMPUTE, ndim, shape);
  Py_XDECREF(own);
  return NULL;
}

/* ---- the plan --------------------------------------------------------------------------------------------------- */
static int64_t distance(int64_t stride) {
  if (!stride) return INT64_MAX - 1; /* expanded: no neighbours */
  return stride < 0 ? -stride : stride;
}
/* Whether elements that are reduced together are closer in memory than those of neighbouring results. If the difference
 * would not pay for another kernel, the answer is yes. */
static bool inner(const int64_t *strides, int nkept, const int64_t *sizes, const int *kept, int nreduced,
                  const int *reduced) {
  if (!strides || !nkept || !nreduced) return nreduced > 0;
  int side = 0;
  int64_t beside = INT64_MAX, together = INT64_MAX;
  for (int i = 0; i < nkept; i++) {
    int64_t s = distance(strides[kept[i]]);
    if (s < beside) {
      beside = s;
      side = i;
    }
  }
  for (int i = 0; i < nreduced; i++) {
    int64_t s = distance(strides[reduced[i]]);
    if (s < together) together = s;
  }
  return sizes[side] < 16 || together <= beside;
}

/* Whether an expression is computed in the reduction's kernel: no part of it is a tensor that somebody holds and
 * another reduction has computed already. */
static bool fuses(const GpuGraph *g) {
  for (int i = 0; i < g->n; i++) {
    const TlNode *n = (const TlNode *)g->order[i];
    if (Py_TYPE(n) == tl_Node && n->holder && n->holder->reduced) return false;
  }
  for (int i = 0; i < g->n; i++) {
    const TlNode *n = (const TlNode *)g->order[i];
    if (Py_TYPE(n) == tl_Node && n->holder) n->holder->reduced = true;
  }
  return true;
}

/* Plans the reduction of a graph over `shape`. 1: planned; 0: no kernel can do it; -1: an exception. */
static int plan(Planned *p, const Wanted *w, const GpuGraph *g, Expr *const *roots, const int64_t *shape) {
  int64_t dense[TL_MAX_DIMS], sizes[TL_MAX_DIMS], rows = 1, length = 1;
  const int64_t *strides[MAX_INPUTS];
  int order[TL_MAX_DIMS], keep[TL_MAX_DIMS], n = 0, nreduced = 0, ndim = g->ndim;
  uint8_t group[TL_MAX_DIMS] = {0};
  if (g->nin + w->states > MAX_BUFFERS) return 0;
  for (int i = 0; i < g->n; i++) {
    const TlCoord *c = (const TlCoord *)g->order[i];
    if (Py_TYPE(c) == tl_Coord && (c->dim >= 0 || w->ndims != ndim)) return 0;
  }
  if (tl_gpu_countable(ndim, shape, 0) < 0 || tl_dense_strides(ndim, shape, dense) < 0) return -1;
  for (int i = 0; i < g->nin; i++) strides[i] = g->inputs[i]->ndim < 0 ? dense : g->inputs[i]->strides;
  for (int part = 1; part >= 0; part--) /* the reduced dims first, then the others, each from the innermost on */
    for (int d = ndim - 1; d >= 0; d--)
      if (is_reduced(w, d) == part) {
        order[n++] = d;
        group[d] = (uint8_t)part;
      }
  n = tl_coalesce(n, order, shape, g->nin, strides, group, sizes, keep);
  while (nreduced < n && group[keep[nreduced]]) nreduced++;
  for (int i = 0; i < n; i++) *(i < nreduced ? &length : &rows) *= sizes[i];
  GpuKey key; /* complete before gpu_graph_numbers(), which may run Python: places are not valid after that */
  key.n = 0;
  gpu_key_byte(&key, REDUCED);
  gpu_key_byte(&key, n - nreduced);
  gpu_key_byte(&key, nreduced);
  gpu_key_byte(&key,
               inner(g->nin ? strides[0] : NULL, n - nreduced, sizes + nreduced, keep + nreduced, nreduced, keep));
  gpu_key_parts(&key, g);
  gpu_key_byte(&key, g->nin);
  for (int i = 0; i < g->nin; i++) {
    gpu_key_byte(&key, g->inputs[i]->dtype);
    gpu_key_byte(&key, 255);
  }
  for (int i = 0; i < w->nresults; i++) {
    gpu_key_byte(&key, w->results[i].reduction);
    gpu_key_byte(&key, roots[i]->place);
    gpu_key_byte(&key, w->results[i].dtype);
  }
  uint32_t *words = p->words;
  *words++ = (uint32_t)rows;
  *words++ = (uint32_t)length;
  for (int i = n; i-- > 0;) *words++ = (uint32_t)sizes[i];
  for (int k = 0; k < g->nin; k++) {
    *words++ = (uint32_t)g->inputs[k]->offset;
    for (int i = n; i-- > 0;) *words++ = (uint32_t)strides[k][keep[i]];
    p->reads[k] = g->inputs[k]->buffer;
  }
  if (gpu_graph_numbers(g, &words) < 0) return -1;
  for (int i = 0; i < w->nresults; i++) *words++ = 0;
  if (w->correction) {
    double correction = PyFloat_AsDouble(w->correction);
    if (correction == -1.0 && PyErr_Occurred()) return -1;
    *words++ = gpu_float_word(correction);
  }
  p->nwords = (int)(words - p->words);
  p->nreads = g->nin;
  p->length = length;
  p->plan = gpu_key_plan(&key);
  return p->plan < 0 ? -1 : 1;
}

/* The same for an expression x over `shape`; fused: it is a pending tensor's. x keeps alive what the plan reads. */
static int plan_of(Planned *p, const Wanted *w, Expr *x, bool fused, int ndim, const int64_t *shape) {
  Expr *roots[MAX_RESULTS];
  GpuGraph g;
  int k = 0, r = -1;
  PyObject *first = prepared(w, x, ndim, shape);
  gpu_graph_begin(&g, ndim);
  for (; first && k < w->nresults; k++) {
    int operand = w->results[k].operand;
    bool own = operand < 0 || operand == ((Expr *)first)->dtype;
    PyObject *root = Py_NewRef(first);
    if (!own) root = operation("cast", root, NULL, NULL, operand, NO_COMPUTE, ndim, shape);
    roots[k] = (Expr *)root;
    if (!root) break;
    if (gpu_graph_add(&g, root) < 0) {
      k++;
      break;
    }
  }
  if (first && k == w->nresults && !PyErr_Occurred()) r = fused && !fuses(&g) ? 0 : plan(p, w, &g, roots, shape);
  while (k) Py_DECREF((PyObject *)roots[--k]);
  Py_XDECREF(first);
  return r;
}

/* The same for the pending expression n of tensor t. Its shape may be another one if all elements are reduced. */
static int plan_of_pending(Planned *p, const Wanted *w, const TlTensor *t, TlNode *n) {
  bool same = n->ndim == t->ndim && tl_same_dims(n->shape, t->shape, t->ndim);
  int64_t numel = 1;
  if (same) return plan_of(p, w, (Expr *)n, true, n->ndim, n->shape);
  for (int i = 0; i < n->ndim; i++) numel *= n->shape[i];
  if (numel != t->numel || w->ndims != t->ndim) return 0;
  Wanted whole = *w;
  whole.ndims = n->ndim;
  for (int i = 0; i < n->ndim; i++) whole.dims[i] = i;
  return plan_of(p, &whole, (Expr *)n, true, n->ndim, n->shape);
}

/* ---- the launch ------------------------------------------------------------------------------------------------- */
/* Launches the plan, and returns a tuple of the results. A single result in floats is lazy: an epilogue may be fused.
 */
static PyObject *launch(const Planned *p, const Wanted *w, int ndim, const int64_t *shape) {
  tl_dtype dtype = (tl_dtype)w->results[0].dtype;
  if (w->nresults == 1 && tl_is_float(dtype) && p->nreads && p->nreads <= MAX_LEAVES && p->nwords <= MAX_WORDS) {
    PyObject *r = gpu_product((uint32_t)p->plan, p->reads, p->nreads, 0, p->words, p->nwords, ndim, shape, dtype);
    return r ? Py_BuildValue("(N)", r) : NULL;
  }
  uint32_t handles[MAX_INPUTS + MAX_RESULTS];
  PyObject *results = PyTuple_New(w->nresults);
  int n = 0;
  bool ok = results;
  for (; ok && n < p->nreads; n++) ok = (handles[n] = gpu_ready(p->reads[n]));
  for (int i = 0; ok && i < w->nresults; i++) {
    PyObject *t = gpu_fresh(ndim, shape, (tl_dtype)w->results[i].dtype, &handles[n++]);
    if (!(ok = t)) break;
    PyTuple_SetItem(results, i, t);
    TlBuffer *b = (TlBuffer *)((TlTensor *)t)->storage->owner;
    if (w->results[i].gives_indices) ok = (b->bounds = Py_BuildValue("(iL)", 0, (long long)p->length - 1));
  }
  if (!ok || gpu_launch((uint32_t)p->plan, handles, (size_t)n, p->words, (size_t)p->nwords) < 0) Py_CLEAR(results);
  return results;
}

static PyObject *f_reduce(PyObject *m, PyObject *const *a, Py_ssize_t n) {
  (void)m;
  TlTensor *t = n >= 4 && n <= 5 && TL_CHECK(a[0]) ? (TlTensor *)a[0] : NULL;
  TlBuffer *b = t && t->device == TL_WEBGPU ? (TlBuffer *)t->storage->owner : NULL;
  if (!b || Py_TYPE(b) != tl_Buffer)
    return PyErr_Format(PyExc_TypeError, "reduce(tensor on webgpu, dims, keepdim, results, correction=None)");
  Wanted w = {0};
  Planned p;
  int64_t shape[TL_MAX_DIMS];
  int ndim = 0, found = 0;
  if (parse(&w, a, n) < 0) return NULL;
  for (int d = 0; d < t->ndim; d++) {
    bool gone = is_reduced(&w, d);
    if (!gone || w.keepdim) shape[ndim++] = gone ? 1 : t->shape[d];
  }
  TlNode *node = (TlNode *)Py_XNewRef((PyObject *)b->pending);
  PyObject *result = NULL, *leaf = NULL;
  if (node && tl_is_contiguous(t) && !t->offset && node->dtype == t->dtype && !node->products)
    found = plan_of_pending(&p, &w, t, node);
  if (found == 0 && (!node || gpu_ready(b)) &&
      (leaf = (PyObject *)gpu_leaf(b, t->dtype, t->ndim, t->strides, t->offset))) {
    found = plan_of(&p, &w, (Expr *)leaf, false, t->ndim, t->shape);
    if (found == 0) gpu_too_large();
  }
  if (found > 0) result = launch(&p, &w, ndim, shape);
  Py_XDECREF(leaf);
  Py_XDECREF((PyObject *)node);
  return result;
}

static PyMethodDef functions[] = {
  {"reduce", (PyCFunction)(void *)f_reduce, METH_FASTCALL,
   "reduce(tensor, dims, keepdim, results, correction=None): a tuple of reductions over dims, which are wrapped and in "
   "order. results: ((reduction, name of the dtype that elements are cast to or None, dtype), ..., map). The map is "
   "applied to each element first: None, \"abs\", \"nan_to_zero\" or an exponent."},
  {0}};
int gpu_reduce_init(PyObject *mod) { return PyModule_AddFunctions(mod, functions); }
