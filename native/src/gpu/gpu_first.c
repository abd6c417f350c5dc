/* gpu_first.c: the first call of an element-wise op with arguments of some types, and all calls whose types say too
 * little (tl_signature). Which dtype and layout the result has is the CPU core's to say: the kernel's row says it
 * (pw_rule), or else the kernel itself, run on stand-ins of few elements, which also raises its errors. What is found
 * is left with the overload for later calls (gpu_op.c). */
#include "core/check.h"
#include "core/geometry.h"
#include "gpu/gpu.h"
#include "pointwise/pointwise.h"

#define MAX_GIVEN 16                                              /* arguments of an op */
enum { NO_ELEMENTS, TWO_BY_TWO, OWN_SHAPE }; /* stand-ins; tensors without dims stay so */

static TlTensor *stand_in(const TlTensor *t, int which, bool transposed) {
  static const int64_t none[] = {0}, two[] = {2, 2}, rows[] = {2, 1}, columns[] = {1, 2}, still[TL_MAX_DIMS];
  int64_t room = 4;
  PyObject *one = PyLong_FromLong(1);
  TlTensor *memory = one ? tl_empty(t->dtype, 1, &room) : NULL, *r = NULL;
  if (memory && tl_fill(memory, one) == 0) {
    TlStorage *s = (TlStorage *)Py_NewRef((PyObject *)memory->storage);
    if (!t->ndim || which == OWN_SHAPE) r = tl_over(s, t->dtype, t->ndim, t->shape, still, 0);
    else if (which == NO_ELEMENTS) r = tl_over(s, t->dtype, 1, none, rows + 1, 0);
    else r = tl_over(s, t->dtype, 2, two, transposed ? columns : rows, 0);
  }
  Py_XDECREF(one);
  Py_XDECREF((PyObject *)memory);
  return r;
}

/* what the op gives on the CPU for stand-ins of its tensors, `transposed` being one of them */
static PyObject *ask(PyObject *ov, PyObject *const *a, int n, int which, const PyObject *transposed) {
  PyObject *few[MAX_GIVEN];
  int i = 0;
  for (; i < n; i++)
    if (!TL_CHECK(a[i])) few[i] = Py_NewRef(a[i]);
    else if (!(few[i] = (PyObject *)stand_in((TlTensor *)a[i], which, a[i] == transposed))) break;
  PyObject *r = i == n ? tl_run_below(ov, few) : NULL;
  while (i) Py_DECREF(few[--i]);
  if (!r || TL_CHECK(r)) return r;
  Py_DECREF(r);
  PyErr_SetString(PyExc_TypeError, "an element-wise op gives one tensor");
  return NULL;
}

static int result_dtype(PyObject *ov, PyObject *const *a, int n, tl_dtype *dtype) {
  TlTensor *r = (TlTensor *)ask(ov, a, n, NO_ELEMENTS, NULL);
  if (r) *dtype = r->dtype;
  Py_XDECREF((PyObject *)r);
  return r ? 0 : -1;
}

/* The number of the operand whose layout the result has where they differ; -1: results lie in the usual order always;
 * -2 with an exception. */
static int deciding(PyObject *ov, PyObject *const *a, int n, PyObject *const *ops, int nops) {
  int lead = 0;
  for (int i = 0; i < nops; i++) {
    if (!TL_CHECK(ops[i]) || !((TlTensor *)ops[i])->ndim) continue;
    TlTensor *r = (TlTensor *)ask(ov, a, n, TWO_BY_TWO, ops[i]);
    if (!r) { /* what the op refuses is said elsewhere */
      if (!PyErr_ExceptionMatches(PyExc_Exception)) return -2;
      PyErr_Clear();
      return 0;
    }
    bool follows = !tl_is_contiguous(r);
    Py_DECREF((PyObject *)r);
    if (follows) return i;
    lead = -1;
  }
  return lead;
}

/* the same of an op whose row says it: the first tensor, or the second one if that goes first */
static int leading(PyObject *const *ops, int nops, bool second) {
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

/* the shape of all operands; where they do not fit the CPU's kernel words the error */
static int shape_of(PyObject *ov, PyObject *const *a, int n, PyObject *const *ops, int nops, int *ndim,
                    int64_t *shape) {
  if (gpu_broadcast(ops, nops, ndim, shape)) return 0;
  PyObject *r = ask(ov, a, n, OWN_SHAPE, NULL);
  if (r) PyErr_SetString(PyExc_RuntimeError, "the operands' shapes cannot be broadcast");
  Py_XDECREF(r);
  return -1;
}

static bool here(tl_dtype d) { return d != TL_F64 && !tl_is_complex(d); }

/* Types and layout of an operation over `ops`: 1 with the entry; 0 where the kernels do not have it; -1 with an
 * exception. */
static int decide(TlEntry *e, PyObject *ov, PyObject *const *a, int n, PyObject *const *ops) {
  bool inplace, second = false;
  const TlKernel *k = tl_overload_kernel(ov, &inplace);
  tl_dtype dtype, wide;
  bool known = tl_signature(a, n, &e->key) && pw_rule(k, a, n, &dtype, &second);
  if (!known && result_dtype(ov, a, n, &dtype) < 0) return -1;
  wide = dtype;
  if (gpu_is_test(e->op)) {
    if (e->n > 1 ? tl_result_type(e->n, ops, &wide) : 0) return -1;
    if (e->n == 1) wide = ((TlTensor *)ops[0])->dtype;
  }
  bool all = here(dtype) && here(wide);
  for (int i = 0; i < e->n; i++) {
    const TlTensor *t = (TlTensor *)ops[i];
    all = all && (!TL_CHECK(t) || here(t->dtype) || (t->dtype == TL_F64 && !t->ndim));
  }
  if (!all || !gpu_computes(e->op, e->n, wide)) return 0;
  int lead = 0;
  if (!inplace) lead = known ? leading(ops, e->n, second) : deciding(ov, a, n, ops, e->n);
  if (lead < -1) return -1;
  e->lead = (int8_t)lead;
  e->dtype = (uint8_t)dtype;
  e->compute = (uint8_t)wide;
  e->number = wide == TL_I64 ? TL_I64 : TL_I32;
  if (tl_is_float(wide)) e->number = TL_F32;
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

/* an in-place op's self can take the result */
static int check_self(const TlTensor *self, int ndim, const int64_t *shape, tl_dtype dtype) {
  if (self->ndim == ndim && !memcmp(self->shape, shape, sizeof *shape * (size_t)ndim))
    return tl_check_cast(dtype, self->dtype);
  PyErr_Format(PyExc_RuntimeError, "output with shape %s doesn't match the broadcast shape %s",
               tl_fmt_shape(self->ndim, self->shape), tl_fmt_shape(ndim, shape));
  return -1;
}

/* (overload, its arguments, ...) of Python: the arguments, how many; -1 with an exception */
static int given(PyObject *const *v, PyObject **a) {
  Py_ssize_t n = PyTuple_Check(v[1]) ? PyTuple_Size(v[1]) : MAX_GIVEN + 1;
  if (!tl_overload_entries(v[0]) || n > MAX_GIVEN) {
    PyErr_SetString(PyExc_TypeError, "expected an overload and a tuple of its arguments");
    return -1;
  }
  for (Py_ssize_t i = 0; i < n; i++) a[i] = PyTuple_GetItem(v[1], i);
  return (int)n;
}

/* the operands of elementwise() and their places among the arguments; -1 with an exception */
static int operands(TlEntry *e, PyObject *const *a, int n, PyObject *places, PyObject *numbers, PyObject **ops) {
  Py_ssize_t k = places == Py_None ? n : PyTuple_Size(places), more = numbers == Py_None ? 0 : PyTuple_Size(numbers);
  if (k < 0 || more < 0 || k + more < 1 || k + more > MAX_OPERANDS) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "elementwise: too many operands");
    return -1;
  }
  for (int i = 0; i < k; i++) {
    long at = places == Py_None ? i : PyLong_AsLong(PyTuple_GetItem(places, i));
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
  PyObject *a[MAX_GIVEN], *ops[MAX_OPERANDS];
  int64_t shape[TL_MAX_DIMS];
  TlEntry e = {0};
  int n, ndim, op, known;
  bool inplace, all_here = true;
  (void)m;
  if (nv != 5) return PyErr_Format(PyExc_TypeError, "elementwise(overload, arguments, operation, places, numbers)");
  if ((n = given(v, a)) < 0 || (op = gpu_op_id(v[2])) < 0 || operands(&e, a, n, v[3], v[4], ops) < 0) return NULL;
  e.op = (uint16_t)op;
  tl_overload_kernel(v[0], &inplace);
  TlTensor *self = inplace ? (TlTensor *)a[0] : NULL;
  for (int i = 0; self && i < n; i++)
    if (TL_CHECK(a[i]) && tl_check_overlap(self, (const TlTensor *)a[i]) < 0) return NULL;
  if ((known = decide(&e, v[0], a, n, ops)) < 1) return known ? NULL : Py_NewRef(Py_NotImplemented);
  if (shape_of(v[0], a, n, ops, e.n, &ndim, shape) < 0) return NULL;
  for (int i = 0; i < e.n; i++) all_here = all_here && (!TL_CHECK(ops[i]) || ((TlTensor *)ops[i])->device == TL_WEBGPU);
  if (all_here && v[4] == Py_None && e.key && remember(tl_overload_entries(v[0]), &e) < 0) return NULL;
  if (self && check_self(self, ndim, shape, e.dtype) < 0) return NULL;
  if (self && Py_TYPE(self->storage->owner ? self->storage->owner : Py_None) != tl_Buffer)
    return PyErr_Format(PyExc_RuntimeError, "Expected all tensors to be on the same device, but found at least two "
                                            "devices, webgpu:0 and cpu!");
  if (self && !self->numel) return Py_NewRef((PyObject *)self);
  return gpu_apply(&e, ops, self, ndim, shape);
}

/* for kernels of complex numbers (plan/complex.py), which have several results or operands of two parts */
static PyObject *f_result_of(PyObject *m, PyObject *const *v, Py_ssize_t nv) {
  PyObject *a[MAX_GIVEN], *ops[MAX_OPERANDS];
  int64_t shape[TL_MAX_DIMS];
  int n, ndim, lead = 0;
  bool inplace;
  tl_dtype dtype;
  (void)m;
  Py_ssize_t nops = nv == 3 && PyList_Check(v[2]) ? PyList_Size(v[2]) : MAX_OPERANDS + 1;
  if (nops > MAX_OPERANDS) return PyErr_Format(PyExc_TypeError, "result_of(overload, arguments, [operands])");
  if ((n = given(v, a)) < 0) return NULL;
  for (Py_ssize_t i = 0; i < nops; i++) ops[i] = PyList_GetItem(v[2], i);
  tl_overload_kernel(v[0], &inplace);
  if (result_dtype(v[0], a, n, &dtype) < 0 || shape_of(v[0], a, n, ops, (int)nops, &ndim, shape) < 0 ||
      (!inplace && (lead = deciding(v[0], a, n, ops, (int)nops)) < -1))
    return NULL;
  return Py_BuildValue("(NNi)", tl_dtype_object(dtype), tl_ints_tuple(ndim, shape), lead);
}

static PyMethodDef functions[] = {
  {"elementwise", (PyCFunction)(void *)f_elementwise, METH_FASTCALL,
   "elementwise(overload, arguments, operation, places, numbers): an operation over the arguments at `places` (None: "
   "all) and then `numbers`; without these (None) later calls of the same types run by themselves. NotImplemented "
   "where the kernels do not have it."},
  {"result_of", (PyCFunction)(void *)f_result_of, METH_FASTCALL,
   "result_of(overload, arguments, [operands]): dtype and shape of the result, and which operand decides its layout "
   "(-1: none)."},
  {0}};
int gpu_first_init(PyObject *mod) { return PyModule_AddFunctions(mod, functions); }
