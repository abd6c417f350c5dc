/* gpu_resolve.c: finds dtype, layout and compute type of an element-wise op's result.
 *
 * This runs for the first call of an op with arguments of some types, and for every call whose types tl_signature()
 * cannot key. The result must be what the CPU gives. So the kernel's row is asked first (pw_rule); if it has no rule,
 * the CPU kernel runs on stand-ins: CPU tensors of a few elements. That also raises the kernel's errors. The overload
 * keeps the answer as an entry, and later calls take it from there (gpu_op.c). */
#include "core/check.h"
#include "core/errors.h"
#include "core/geometry.h"
#include "gpu/gpu.h"
#include "pointwise/pointwise.h"

#define MAX_CALL_ARGS 16 /* arguments of an overload */
/* Shapes of stand-ins. A tensor without dims gets a stand-in without dims. OWN_SHAPE expands one element. */
typedef enum { NO_ELEMENTS, TWO_BY_TWO, OWN_SHAPE } StandIn;

static TlTensor *stand_in(const TlTensor *t, StandIn kind, bool transposed) {
  static const int64_t none[] = {0}, two[] = {2, 2}, rows[] = {2, 1}, columns[] = {1, 2}, still[TL_MAX_DIMS];
  int64_t room = 4;
  PyObject *one = PyLong_FromLong(1);
  TlTensor *memory = one ? tl_empty(t->dtype, 1, &room) : NULL, *r = NULL;
  if (memory && tl_fill(memory, one) == 0) {
    TlStorage *s = (TlStorage *)Py_NewRef((PyObject *)memory->storage);
    if (!t->ndim || kind == OWN_SHAPE) r = tl_over(s, t->dtype, t->ndim, t->shape, still, 0);
    else if (kind == NO_ELEMENTS) r = tl_over(s, t->dtype, 1, none, rows + 1, 0);
    else r = tl_over(s, t->dtype, 2, two, transposed ? columns : rows, 0);
  }
  Py_XDECREF(one);
  Py_XDECREF((PyObject *)memory);
  return r;
}

/* Runs the op on the CPU with stand-ins for its tensors. The stand-in of `transposed`, if given, is transposed. */
static PyObject *run_on_stand_ins(PyObject *ov, PyObject *const *a, int n, StandIn kind, const PyObject *transposed) {
  PyObject *stand_ins[MAX_CALL_ARGS];
  int i = 0;
  for (; i < n; i++)
    if (!TL_CHECK(a[i])) stand_ins[i] = Py_NewRef(a[i]);
    else if (!(stand_ins[i] = (PyObject *)stand_in((TlTensor *)a[i], kind, a[i] == transposed))) break;
  PyObject *r = i == n ? tl_run_below_autograd(ov, stand_ins) : NULL;
  while (i) Py_DECREF(stand_ins[--i]);
  if (!r || TL_CHECK(r)) return r;
  Py_DECREF(r);
  PyErr_SetString(PyExc_TypeError, "an element-wise op gives one tensor");
  return NULL;
}

static int result_dtype(PyObject *ov, PyObject *const *a, int n, tl_dtype *dtype) {
  TlTensor *r = (TlTensor *)run_on_stand_ins(ov, a, n, NO_ELEMENTS, NULL);
  if (r) *dtype = r->dtype;
  Py_XDECREF((PyObject *)r);
  return r ? 0 : -1;
}

/* Finds the operand whose layout the result takes, for TlEntry.layout_from: transposes one stand-in after the other and
 * looks whether the result is transposed too. Returns -1 if no operand counts, -2 with an exception. */
static int layout_by_trial(PyObject *ov, PyObject *const *a, int n, PyObject *const *ops, int nops) {
  int layout_from = 0;
  for (int i = 0; i < nops; i++) {
    if (!TL_CHECK(ops[i]) || !((TlTensor *)ops[i])->ndim) continue;
    TlTensor *r = (TlTensor *)run_on_stand_ins(ov, a, n, TWO_BY_TWO, ops[i]);
    if (!r) { /* result_dtype() and broadcast_shape() raise the op's errors */
      if (!PyErr_ExceptionMatches(PyExc_Exception)) return -2;
      PyErr_Clear();
      return 0;
    }
    bool follows = !tl_is_contiguous(r);
    Py_DECREF((PyObject *)r);
    if (follows) return i;
    layout_from = -1;
  }
  return layout_from;
}

/* The same for a kernel whose row has a rule: the first tensor with dims, or the second tensor if `second` is set. */
static int layout_by_rule(PyObject *const *ops, int nops, bool second) {
  int first = -1;
  for (int i = 0, seen = 0; i < nops; i++) {
    if (!TL_CHECK(ops[i])) continue;
    bool dims = ((TlTensor *)ops[i])->ndim;
    if (dims && second && seen == 1) return i;
    if (dims && first < 0) first = i;
    seen++;
  }
  return first < 0 ? 0 : first;
}

/* Broadcasts the operands' shapes. If they do not fit, the CPU kernel runs on expanded stand-ins for its error text. */
static int broadcast_shape(PyObject *ov, PyObject *const *a, int n, PyObject *const *ops, int nops, int *ndim,
                           int64_t *shape) {
  if (gpu_broadcast(ops, nops, ndim, shape)) return 0;
  PyObject *r = run_on_stand_ins(ov, a, n, OWN_SHAPE, NULL);
  if (r) PyErr_SetString(PyExc_RuntimeError, "the operands' shapes cannot be broadcast");
  Py_XDECREF(r);
  return -1;
}

static bool has_dtype(tl_dtype d) { return d != TL_F64 && !tl_is_complex(d); }

static bool is_division(int op) {
  static const char *const names[] = {"div_trunc", "floor_divide", "remainder", "fmod"};
  static int ids[4];
  bool found = false;
  for (int i = 0; i < 4; i++) {
    if (!ids[i]) ids[i] = gpu_op_named(names[i]);
    found = found || ids[i] == op;
  }
  return found;
}

/* Fills in the entry's types and layout for an operation over `ops`. Returns 1; 0 if the GPU has no kernel for these
 * types; -1 with an exception. */
static int resolve(TlEntry *e, PyObject *ov, PyObject *const *a, int n, PyObject *const *ops) {
  bool inplace, second = false, numbers_count = false;
  const TlKernel *k = tl_overload_kernel(ov, &inplace);
  tl_dtype dtype, compute;
  bool known = tl_signature(a, n, &e->key) && pw_rule(k, a, n, &dtype, &second, &numbers_count);
  if (!known && result_dtype(ov, a, n, &dtype) < 0) return -1;
  compute = dtype;
  if (gpu_is_test(e->op)) {
    if (e->n > 1 ? tl_result_type(e->n, ops, &compute) : 0) return -1;
    if (e->n == 1) compute = ((TlTensor *)ops[0])->dtype;
  }
  bool all = has_dtype(dtype) && has_dtype(compute);
  for (int i = 0; i < e->n; i++) {
    const TlTensor *t = (TlTensor *)ops[i];
    all = all && (!TL_CHECK(t) || has_dtype(t->dtype) || (t->dtype == TL_F64 && !t->ndim));
  }
  if (!all || !gpu_computes(e->op, e->n, compute)) return 0;
  int layout_from = 0;
  if (!inplace) layout_from = known ? layout_by_rule(ops, e->n, second) : layout_by_trial(ov, a, n, ops, e->n);
  if (layout_from < -1) return -1;
  e->layout_from = (int8_t)layout_from;
  e->numbers_count = numbers_count;
  e->cast = known && e->n > 1;
  e->divides = tl_is_integral(compute) && is_division(e->op);
  e->dtype = (uint8_t)dtype;
  e->compute = (uint8_t)compute;
  e->number = compute == TL_I64 ? TL_I64 : TL_I32;
  if (tl_is_float(compute)) e->number = TL_F32;
  return 1;
}

static int remember(void **entries, const TlEntry *e) {
  for (const TlEntry *known = *entries; known; known = known->next)
    if (known->key == e->key) return 0;
  TlEntry *kept = PyMem_Malloc(sizeof *e);
  if (!kept) return PyErr_NoMemory(), -1;
  *kept = *e;
  kept->next = *entries;
  *entries = kept;
  return 0;
}

/* Raises PyTorch's error unless an in-place op's `self` can take the result. */
static int check_self(const TlTensor *self, int ndim, const int64_t *shape, tl_dtype dtype) {
  if (self->ndim == ndim && tl_same_dims(self->shape, shape, ndim)) return tl_check_cast(dtype, self->dtype);
  return tl_output_shape_error(self, ndim, shape);
}

/* Unpacks (overload, tuple of its arguments, ...) into `a`. Returns the number of arguments; -1 with an exception. */
static int parse_call(PyObject *const *v, PyObject **a) {
  Py_ssize_t n = PyTuple_Check(v[1]) ? PyTuple_Size(v[1]) : MAX_CALL_ARGS + 1;
  if (!tl_overload_entries(v[0]) || n > MAX_CALL_ARGS) {
    PyErr_SetString(PyExc_TypeError, "expected an overload and a tuple of its arguments");
    return -1;
  }
  for (Py_ssize_t i = 0; i < n; i++) a[i] = PyTuple_GetItem(v[1], i);
  return (int)n;
}

/* Fills `ops` with the operands of elementwise(), and the entry with their positions; -1 with an exception. */
static int parse_operands(TlEntry *e, PyObject *const *a, int n, PyObject *positions, PyObject *numbers,
                          PyObject **ops) {
  Py_ssize_t k = positions == Py_None ? n : PyTuple_Size(positions),
             more = numbers == Py_None ? 0 : PyTuple_Size(numbers);
  if (k < 0 || more < 0 || k + more < 1 || k + more > MAX_OPERANDS) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "elementwise: too many operands");
    return -1;
  }
  for (int i = 0; i < k; i++) {
    long at = positions == Py_None ? i : PyLong_AsLong(PyTuple_GetItem(positions, i));
    if (at < 0 || at >= n) {
      if (!PyErr_Occurred()) PyErr_SetString(PyExc_IndexError, "elementwise: there is no such argument");
      return -1;
    }
    e->positions[i] = (uint8_t)at;
    ops[i] = a[at];
  }
  for (int i = 0; i < more; i++) ops[k + i] = PyTuple_GetItem(numbers, i);
  e->n = (uint8_t)(k + more);
  return 0;
}

static PyObject *f_elementwise(PyObject *m, PyObject *const *v, Py_ssize_t nv) {
  PyObject *a[MAX_CALL_ARGS], *ops[MAX_OPERANDS];
  int64_t shape[TL_MAX_DIMS];
  TlEntry e = {0};
  int n, ndim, op, known;
  bool inplace, all_on_gpu = true;
  (void)m;
  if (nv != 5) return PyErr_Format(PyExc_TypeError, "elementwise(overload, arguments, operation, positions, numbers)");
  if ((n = parse_call(v, a)) < 0 || (op = gpu_op_id(v[2])) < 0 || parse_operands(&e, a, n, v[3], v[4], ops) < 0)
    return NULL;
  e.op = (uint16_t)op;
  tl_overload_kernel(v[0], &inplace);
  TlTensor *self = inplace ? (TlTensor *)a[0] : NULL;
  for (int i = 0; self && i < n; i++)
    if (TL_CHECK(a[i]) && tl_check_overlap(self, (const TlTensor *)a[i]) < 0) return NULL;
  if ((known = resolve(&e, v[0], a, n, ops)) < 1) return known ? NULL : Py_NewRef(Py_NotImplemented);
  if (broadcast_shape(v[0], a, n, ops, e.n, &ndim, shape) < 0) return NULL;
  for (int i = 0; i < e.n; i++)
    all_on_gpu = all_on_gpu && (!TL_CHECK(ops[i]) || ((TlTensor *)ops[i])->device == TL_WEBGPU);
  if (all_on_gpu && v[4] == Py_None && e.key && remember(tl_overload_entries(v[0]), &e) < 0) return NULL;
  if (self && check_self(self, ndim, shape, e.dtype) < 0) return NULL;
  if (self && Py_TYPE(self->storage->owner ? self->storage->owner : Py_None) != tl_Buffer)
    return PyErr_Format(PyExc_RuntimeError, "Expected all tensors to be on the same device, but found at least two "
                                            "devices, webgpu:0 and cpu!");
  if (self && !self->numel) return Py_NewRef((PyObject *)self);
  return gpu_apply(&e, ops, self, ndim, shape);
}

/* For kernels of complex numbers (plan/complex.py): they have several results, or operands of two parts. */
static PyObject *f_result_of(PyObject *m, PyObject *const *v, Py_ssize_t nv) {
  PyObject *a[MAX_CALL_ARGS], *ops[MAX_OPERANDS];
  int64_t shape[TL_MAX_DIMS];
  int n, ndim, layout_from = 0;
  bool inplace;
  tl_dtype dtype;
  (void)m;
  Py_ssize_t nops = nv == 3 && PyList_Check(v[2]) ? PyList_Size(v[2]) : MAX_OPERANDS + 1;
  if (nops > MAX_OPERANDS) return PyErr_Format(PyExc_TypeError, "result_of(overload, arguments, [operands])");
  if ((n = parse_call(v, a)) < 0) return NULL;
  for (Py_ssize_t i = 0; i < nops; i++) ops[i] = PyList_GetItem(v[2], i);
  tl_overload_kernel(v[0], &inplace);
  if (result_dtype(v[0], a, n, &dtype) < 0 || broadcast_shape(v[0], a, n, ops, (int)nops, &ndim, shape) < 0 ||
      (!inplace && (layout_from = layout_by_trial(v[0], a, n, ops, (int)nops)) < -1))
    return NULL;
  return Py_BuildValue("(NNi)", tl_dtype_object(dtype), tl_ints_tuple(ndim, shape), layout_from);
}

static PyMethodDef functions[] = {
  {"elementwise", (PyCFunction)(void *)f_elementwise, METH_FASTCALL,
   "elementwise(overload, arguments, operation, positions, numbers): an operation over the arguments at `positions` "
   "(None: all) and then `numbers`. If `numbers` is None, later calls with the same types run without Python. "
   "NotImplemented if the GPU has no kernel for it."},
  {"result_of", (PyCFunction)(void *)f_result_of, METH_FASTCALL,
   "result_of(overload, arguments, [operands]): dtype and shape of the result, and the number of the operand whose "
   "layout "
   "it takes (-1: none)."},
  {0}};
int gpu_resolve_init(PyObject *mod) { return PyModule_AddFunctions(mod, functions); }
