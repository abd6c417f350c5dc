/* gpu_matmul.c: the sizes and words of the kernel "matmul" (js_bridge/src/kernels/products/matmul_kernel.ts).
 *
 * The kernel multiplies a [*, m, k] by b [*, k, n] with at most two batch dims, which it reads through strides. So
 * transposed, sliced and broadcast operands need no copy, and most batches are joined to two dims or none. */
#include "core/check.h"
#include "gpu/gpu.h"
#include "gpu/gpu_graph.h"

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
  PyObject *owner = t->storage->owner;
  p->buffers[which] = (TlBuffer *)owner;
  p->offset[which] = t->offset;
  return owner && Py_TYPE(owner) == tl_Buffer;
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
 * [*, n, k]; operands of one dim lose it; `added` broadcasts to the result. */
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
  return !added || set_added(p, added, rows, columns);
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

static PyObject *f_multiply(PyObject *m, PyObject *const *v, Py_ssize_t nargs) {
  Product p = {0};
  uint32_t words[MAX_WORDS], handle;
  double alpha, beta;
  (void)m;
  bool fits = nargs == 7 && PyLong_Check(v[0]) && TL_CHECK(v[1]) && TL_CHECK(v[2]) && PyBool_Check(v[3]) &&
              (v[4] == Py_None || TL_CHECK(v[4]));
  const TlTensor *a = fits ? (const TlTensor *)v[1] : NULL, *b = fits ? (const TlTensor *)v[2] : NULL;
  if (!fits)
    return PyErr_Format(PyExc_TypeError, "multiply(plan, a, b, whether b is transposed, added or None, alpha, beta)");
  if (!describe(&p, a, b, v[3] == Py_True, v[4] == Py_None ? NULL : (const TlTensor *)v[4]))
    return Py_NewRef(Py_NotImplemented);
  if (parse_factor(v[5], &alpha) < 0 || parse_factor(v[6], &beta) < 0) return NULL;
  bool empty = !p.m || !p.n;
  for (int i = 0; i < p.nbatch; i++) empty = empty || !p.sizes[i];
  if (empty) return gpu_fresh(p.ndim, p.shape, a->dtype, &handle);
  join_batches(&p);
  if (needs_copies(&p, a)) Py_RETURN_NONE;
  int nwords = write_words(&p, alpha, beta, words);
  return run(&p, (uint32_t)PyLong_AsUnsignedLongLongMask(v[0]), a->dtype, words, nwords);
}

static PyMethodDef functions[] = {
  {"multiply", (PyCFunction)(void *)f_multiply, METH_FASTCALL,
   "multiply(plan, a, b, bt, added, alpha, beta): alpha * a [*, m, k] times b [*, k, n], + beta * added, which "
   "broadcasts to the result, or None. bt: b is [*, n, k]. Operands of one dim lose it. The caller has checked the "
   "dtypes. NotImplemented: the shapes do not fit, or one is not on webgpu. None: an operand must be copied first, so "
   "that fewer batch dims are left."},
  {0}};
int gpu_matmul_init(PyObject *mod) { return PyModule_AddFunctions(mod, functions); }
