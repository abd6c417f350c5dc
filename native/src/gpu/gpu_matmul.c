/* gpu_matmul.c: the sizes and words of the kernel "matmul" (js_bridge/src/kernels/products/matmul_kernel.ts).
 *
 * The kernel multiplies a [*, m, k] by b [*, k, n] with at most two batch dims, which it reads through strides. So
 * transposed, sliced and broadcast operands need no copy, and most batches are joined to two dims or none. */
#include "core/check.h"
#include "gpu/gpu.h"
#include "gpu/gpu_graph.h"

static PyObject *family;

#define SMALL_M 32 /* fewer rows than this do not fill a tile */
enum { A, B, ADDED, OPERANDS };

/* A product: sizes, and of each operand buffer, offset and strides along rows, columns and batch dims. */
typedef struct {
  int64_t m, n, k;
  TlBuffer *buffers[OPERANDS];
  int64_t offset[OPERANDS];
  int64_t row[OPERANDS], column[OPERANDS]; /* strides in a matrix */
  int nbatch;
  int64_t sizes[TL_MAX_DIMS], strides[OPERANDS][TL_MAX_DIMS]; /* batch dims, the outermost first */
  int ndim;
  int64_t shape[TL_MAX_DIMS]; /* of the result */
} Product;

static bool set_operand(Product *p, int which, const TlTensor *t) {
  p->buffers[which] = gpu_buffer_of(t);
  p->offset[which] = t->offset;
  return p->buffers[which] != NULL;
}

/* An operand's stride along a batch dim, counted from the innermost one. Its size must fit; `own`: how many of the
 * operand's dims are no batch dims. */
static bool set_batch(const TlTensor *t, int own, int at, int64_t *size, int64_t *stride) {
  int d = t->ndim - own - 1 - at;
  *stride = 0;
  if (d < 0 || t->shape[d] == 1) return true;
  *stride = t->strides[d];
  if (*size != 1) return *size == t->shape[d];
  *size = t->shape[d];
  return true;
}

static bool set_added(Product *p, const TlTensor *t, bool rows, bool columns) {
  int64_t all[TL_MAX_DIMS];
  if (!t) {
    p->buffers[ADDED] = NULL;
    p->offset[ADDED] = p->row[ADDED] = p->column[ADDED] = 0;
    memset(p->strides[ADDED], 0, sizeof *all * (size_t)p->nbatch);
    return true;
  }
  int lead = p->ndim - t->ndim;
  bool fits = lead >= 0 && set_operand(p, ADDED, t);
  for (int d = 0; fits && d < t->ndim; d++) fits = t->shape[d] == 1 || t->shape[d] == p->shape[lead + d];
  if (!fits) return false;
  tl_broadcast_strides(t, p->ndim, all);
  memcpy(p->strides[ADDED], all, sizeof *all * (size_t)p->nbatch);
  p->row[ADDED] = rows ? all[p->nbatch] : 0;
  p->column[ADDED] = columns ? all[p->ndim - 1] : 0;
  return true;
}

/* Sizes and strides of a product; false if the operands' shapes do not fit or one is not on the GPU. bt: b is
 * [*, n, k]; operands of one dim lose it; `added` broadcasts to the result, NULL: nothing is added. */
static bool describe(Product *p, const TlTensor *a, const TlTensor *b, bool bt, const TlTensor *added) {
  if (!a->ndim || !b->ndim || !set_operand(p, A, a) || !set_operand(p, B, b)) return false;
  bool rows = a->ndim > 1, columns = b->ndim > 1;
  int last = b->ndim - 1, along_k = last, along_n = last - 1; /* dims of b */
  if (columns && !bt) {
    along_k = last - 1;
    along_n = last;
  }
  p->k = a->shape[a->ndim - 1];
  p->column[A] = a->strides[a->ndim - 1];
  p->m = rows ? a->shape[a->ndim - 2] : 1;
  p->row[A] = rows ? a->strides[a->ndim - 2] : 0;
  p->n = columns ? b->shape[along_n] : 1;
  p->row[B] = b->strides[along_k];
  p->column[B] = columns ? b->strides[along_n] : 0;
  if (b->shape[along_k] != p->k) return false;
  int lead_a = rows ? a->ndim - 2 : 0, lead_b = columns ? b->ndim - 2 : 0;
  p->nbatch = lead_a > lead_b ? lead_a : lead_b;
  p->ndim = p->nbatch + rows + columns;
  for (int i = 0; i < p->nbatch; i++) {
    int d = p->nbatch - 1 - i;
    int64_t size = 1;
    if (!set_batch(a, 1 + rows, i, &size, &p->strides[A][d]) || !set_batch(b, 1 + columns, i, &size, &p->strides[B][d]))
      return false;
    p->shape[d] = p->sizes[d] = size;
  }
  if (rows) p->shape[p->nbatch] = p->m;
  if (columns) p->shape[p->ndim - 1] = p->n;
  return set_added(p, added, rows, columns);
}

/* Rows that follow one another at one distance, times one matrix, are one tall product. The other batch dims are
 * coalesced. */
static void join_batches(Product *p) {
  for (; p->nbatch; p->nbatch--) {
    int d = p->nbatch - 1;
    if (p->sizes[d] == 1) continue;
    if (p->strides[B][d]) break;
    if (p->m == 1) {
      p->row[A] = p->strides[A][d];
      p->row[ADDED] = p->strides[ADDED][d];
    } else if (p->strides[A][d] != tl_wrap_mul(p->m, p->row[A]) ||
               p->strides[ADDED][d] != tl_wrap_mul(p->m, p->row[ADDED]))
      break;
    p->m = tl_wrap_mul(p->m, p->sizes[d]);
  }
  const int64_t *strides[] = {p->strides[A], p->strides[B], p->strides[ADDED]};
  int64_t sizes[TL_MAX_DIMS];
  int keep[TL_MAX_DIMS], n = tl_coalesce(p->nbatch, NULL, p->sizes, OPERANDS, strides, NULL, sizes, keep);
  for (int i = n - 1, at = 0; i >= 0; i--, at++) { /* keep[i] >= at: no stride is read after it is overwritten */
    p->sizes[at] = sizes[i];
    for (int k = 0; k < OPERANDS; k++) p->strides[k][at] = p->strides[k][keep[i]];
  }
  p->nbatch = n;
}

/* Whether copies of the operands leave fewer batch dims, where the kernel cannot do these, or not well. */
static bool needs_copies(const Product *p, const TlTensor *a) {
  bool shared = true; /* b is one matrix for all batches */
  for (int d = 0; d < p->nbatch; d++) shared = shared && !p->strides[B][d];
  return p->nbatch > 2 || (p->nbatch && p->m < SMALL_M && shared && !tl_is_contiguous(a));
}

/* The words of matmul_kernel.ts: sizes, then of each operand offset, rows, columns and batch strides. */
static int write_words(const Product *p, double alpha, double beta, uint32_t *words) {
  int64_t inner = p->nbatch ? p->sizes[p->nbatch - 1] : 1, outer = p->nbatch > 1 ? p->sizes[0] : 1;
  int64_t steps[OPERANDS][2] = {{0}}, numel = tl_wrap_mul(p->m, p->n);
  for (int k = 0; k < OPERANDS && p->nbatch; k++) {
    steps[k][0] = p->nbatch > 1 ? p->strides[k][0] : 0;
    steps[k][1] = p->strides[k][p->nbatch - 1];
  }
  const int64_t values[] = {p->m,
                            p->n,
                            p->k,
                            tl_wrap_mul(inner, outer),
                            inner,
                            /* a */ p->offset[A],
                            p->row[A],
                            p->column[A],
                            steps[A][0],
                            steps[A][1],
                            /* b */ p->offset[B],
                            p->row[B],
                            p->column[B],
                            steps[B][0],
                            steps[B][1],
                            /* result */ 0,
                            p->n,
                            1,
                            tl_wrap_mul(inner, numel),
                            numel,
                            /* added */ p->offset[ADDED],
                            p->row[ADDED],
                            p->column[ADDED],
                            steps[ADDED][0],
                            steps[ADDED][1]};
  int n = p->buffers[ADDED] ? 25 : 20;
  for (int i = 0; i < n; i++) words[i] = (uint32_t)values[i];
  words[n++] = gpu_float_word(alpha);
  if (p->buffers[ADDED]) words[n++] = gpu_float_word(beta);
  return n;
}

/* A factor as a float; one beyond the range of doubles is infinite. */
static int parse_factor(PyObject *o, double *v) {
  *v = PyFloat_AsDouble(o);
  if (*v != -1 || !PyErr_Occurred()) return 0;
  if (!PyErr_ExceptionMatches(PyExc_OverflowError)) return -1;
  PyErr_Clear();
  PyObject *zero = PyLong_FromLong(0);
  int negative = zero ? PyObject_RichCompareBool(o, zero, Py_LT) : -1;
  Py_XDECREF(zero);
  *v = negative > 0 ? -__builtin_inf() : __builtin_inf();
  return negative < 0 ? -1 : 0;
}

static PyObject *run(const Product *p, uint32_t plan, tl_dtype dtype, const uint32_t *words, int nwords) {
  int reads = p->buffers[ADDED] ? 3 : 2;
  if (tl_is_float(dtype))
    return gpu_product(plan, p->buffers, reads, 2, words, nwords, p->ndim, p->shape, dtype); /* lazy */
  uint32_t handles[OPERANDS + 1];
  for (int i = 0; i < reads; i++)
    if (!(handles[i] = gpu_ready(p->buffers[i]))) return NULL;
  PyObject *r = gpu_fresh(p->ndim, p->shape, dtype, &handles[reads]);
  if (r && gpu_launch(plan, handles, (size_t)reads + 1, words, (size_t)nwords) < 0) Py_CLEAR(r);
  return r;
}

/* The kernel's number for these dtypes; -1 with an exception. */
static int find_plan(tl_dtype d, bool added, uint32_t *plan) {
  PyObject *dtype = tl_dtype_object(d), *values;
  values = PyTuple_Pack(4, dtype, dtype, dtype, added ? dtype : Py_None);
  Py_DECREF(dtype);
  return gpu_family_plan(family, values, plan);
}

/* Whether the kernel takes these dtypes: one of floats, or one of integers with nothing added. */
static bool right_dtypes(const TlTensor *a, const TlTensor *b, const TlTensor *added) {
  tl_dtype d = (tl_dtype)a->dtype;
  bool integers = tl_is_integral(d) && d != TL_BOOL && !added;
  return (gpu_is_float(d) || integers) && b->dtype == d && (!added || added->dtype == d);
}

/* alpha * a [*, m, k] times b [*, k, n] (bt: [*, n, k]), + beta * added, or NULL. UNFIT: the dtypes or shapes do not
 * fit, or one of the tensors is not on webgpu. COPY_FIRST: with a copy of an operand fewer batch dims are left. Else
 * DONE with *result (NULL: an exception). */
enum { UNFIT, DONE, COPY_FIRST };
static int multiply(const TlTensor *a, const TlTensor *b, bool bt, const TlTensor *added, double alpha, double beta,
                    PyObject **result) {
  Product p;
  uint32_t words[MAX_WORDS], handle, plan;
  if (!right_dtypes(a, b, added) || !describe(&p, a, b, bt, added)) return UNFIT;
  tl_dtype dtype = (tl_dtype)a->dtype;
  bool empty = !p.m || !p.n;
  for (int i = 0; i < p.nbatch; i++) empty = empty || !p.sizes[i];
  if (empty) {
    *result = gpu_fresh(p.ndim, p.shape, dtype, &handle);
    return DONE;
  }
  join_batches(&p);
  if (needs_copies(&p, a)) return COPY_FIRST;
  int nwords = write_words(&p, alpha, beta, words);
  *result = find_plan(dtype, added, &plan) < 0 ? NULL : run(&p, plan, dtype, words, nwords);
  return DONE;
}

static int planned(PyObject *a, PyObject *b, bool bt, PyObject *added, PyObject **result) {
  return multiply((TlTensor *)a, (TlTensor *)b, bt, (TlTensor *)added, 1, 1, result) == DONE;
}
int gpu_plan_matmul(PyObject *const *a, PyObject **result) { return planned(a[0], a[1], false, NULL, result); }
int gpu_plan_mm(PyObject *const *a, PyObject **result) {
  bool right = ((TlTensor *)a[0])->ndim == 2 && ((TlTensor *)a[1])->ndim == 2;
  return right && planned(a[0], a[1], false, NULL, result);
}
int gpu_plan_bmm(PyObject *const *a, PyObject **result) {
  const TlTensor *x = (TlTensor *)a[0], *y = (TlTensor *)a[1];
  return x->ndim == 3 && y->ndim == 3 && x->shape[0] == y->shape[0] && planned(a[0], a[1], false, NULL, result);
}
int gpu_plan_linear(PyObject *const *a, PyObject **result) {
  const TlTensor *weight = (TlTensor *)a[1], *bias = a[2] == Py_None ? NULL : (TlTensor *)a[2];
  bool right = weight->ndim == 2 && (!bias || (bias->ndim == 1 && bias->shape[0] == weight->shape[0]));
  return right && planned(a[0], a[1], true, (PyObject *)bias, result);
}

static PyObject *f_multiply(PyObject *m, PyObject *const *v, Py_ssize_t nargs) {
  double alpha, beta;
  PyObject *r;
  (void)m;
  if (nargs != 6 || !TL_CHECK(v[0]) || !TL_CHECK(v[1]) || !PyBool_Check(v[2]) || !(v[3] == Py_None || TL_CHECK(v[3])))
    return PyErr_Format(PyExc_TypeError, "multiply(a, b, whether b is transposed, added or None, alpha, beta)");
  if (parse_factor(v[4], &alpha) < 0 || parse_factor(v[5], &beta) < 0) return NULL;
  switch (multiply((TlTensor *)v[0], (TlTensor *)v[1], v[2] == Py_True, v[3] == Py_None ? NULL : (TlTensor *)v[3],
                   alpha, beta, &r)) {
  case UNFIT: return Py_NewRef(Py_NotImplemented);
  case COPY_FIRST: Py_RETURN_NONE;
  default: return r;
  }
}

static PyMethodDef functions[] = {
  {"multiply", (PyCFunction)(void *)f_multiply, METH_FASTCALL,
   "multiply(a, b, bt, added, alpha, beta): alpha * a [*, m, k] times b [*, k, n], + beta * added, which broadcasts to "
   "the result, or None. bt: b is [*, n, k]. Operands of one dim lose it. NotImplemented: the dtypes or shapes do not "
   "fit, or one is not on webgpu. None: an operand must be copied first, so that fewer batch dims are left."},
  {0}};
int gpu_matmul_init(PyObject *mod) {
  PyObject *parts = Py_BuildValue("(sssss)", "matmul", "a", "b", "out", "bias");
  return gpu_family_export(mod, "matmul_plan", parts, &family) < 0 ? -1 : PyModule_AddFunctions(mod, functions);
}
