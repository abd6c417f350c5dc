/* gpu_softmax.c: softmax and log_softmax (js_bridge/src/kernels/rows/softmax.ts). */
#include "gpu/gpu.h"

static PyObject *family;

/* Runs the kernel over a contiguous tensor with elements. Returns 1 with *result (NULL: an exception), or 0 if it
 * cannot: there is no such dim, or another tensor or dtype than it takes. */
static int softmax(const TlTensor *x, PyObject *along, bool log, tl_dtype out, PyObject **result) {
  TlBuffer *b = gpu_buffer_of(x);
  int overflow = 0, ndim = x->ndim ? x->ndim : 1;
  long dim = PyLong_Check(along) ? PyLong_AsLongAndOverflow(along, &overflow) : ndim;
  tl_dtype d = (tl_dtype)x->dtype;
  if (!b || !tl_is_contiguous(x) || !x->numel || !gpu_is_float(d) || (out != d && out != TL_F32) || overflow ||
      dim < -ndim || dim >= ndim)
    return 0;
  if (dim < 0) dim += ndim;
  int64_t length = x->ndim ? x->shape[dim] : 1, inner = 1;
  for (int i = (int)dim + 1; i < x->ndim; i++) inner *= x->shape[i];
  uint32_t plan, handles[2];
  const uint32_t words[] = {(uint32_t)(x->numel / length), (uint32_t)length, (uint32_t)inner, (uint32_t)x->offset, 0};
  *result = NULL;
  if (tl_gpu_countable(x->ndim, x->shape, tl_itemsize[out]) < 0 || !(handles[0] = gpu_ready(b)) ||
      gpu_family_plan(family, Py_BuildValue("(NNN)", tl_dtype_object(d), tl_dtype_object(out), PyBool_FromLong(log)),
                      &plan) < 0)
    return 1;
  *result = gpu_fresh(x->ndim, x->shape, out, &handles[1]);
  if (*result && gpu_launch(plan, handles, 2, words, 5) < 0) Py_CLEAR(*result);
  return 1;
}

/* (self, dim, dtype or None) */
static int planned(PyObject *const *a, bool log, PyObject **result) {
  const TlTensor *x = (const TlTensor *)a[0];
  tl_dtype out;
  *result = NULL;
  return tl_dtype_arg(a[2], (tl_dtype)x->dtype, &out) < 0 ? 1 : softmax(x, a[1], log, out, result);
}
int gpu_plan_softmax(PyObject *const *a, PyObject **result) { return planned(a, false, result); }
int gpu_plan_log_softmax(PyObject *const *a, PyObject **result) { return planned(a, true, result); }

static PyObject *f_softmax(PyObject *m, PyObject *const *a, Py_ssize_t n) {
  tl_dtype out;
  PyObject *r;
  (void)m;
  if (n != 4 || !TL_CHECK(a[0])) return PyErr_Format(PyExc_TypeError, "softmax(tensor, dim, log, dtype)");
  if (tl_dtype_arg(a[3], TL_F32, &out) < 0) return NULL;
  return softmax((const TlTensor *)a[0], a[1], a[2] == Py_True, out, &r) ? r : Py_NewRef(Py_NotImplemented);
}
static PyMethodDef functions[] = {
  {"softmax", (PyCFunction)(void *)f_softmax, METH_FASTCALL,
   "softmax(tensor, dim, log, dtype): the result of a contiguous tensor with elements; NotImplemented for others, and "
   "if there is no such dim."},
  {0}};
int gpu_softmax_init(PyObject *mod) {
  PyObject *parts = Py_BuildValue("(sssss)", "softmax", "dtype", "out", "log", "backward");
  return gpu_family_export(mod, "softmax_plan", parts, &family) < 0 ? -1 : PyModule_AddFunctions(mod, functions);
}
