/* gpu_norm.c: layer_norm over rows that lie one after the other (js_bridge/src/kernels/rows/norm.ts). */
#include "core/check.h"
#include "gpu/gpu_graph.h"

static PyObject *family;

/* A weight or bias as the kernel reads it: NULL for None; *fits is false for another shape, dtype or device. */
static const TlTensor *parameter(PyObject *o, const TlTensor *x, int lead, bool *fits) {
  const TlTensor *t = (const TlTensor *)o;
  if (o == Py_None) return NULL;
  *fits = *fits && TL_CHECK(o) && gpu_buffer_of(t) && t->dtype == x->dtype && t->ndim == x->ndim - lead &&
          tl_is_contiguous(t) && !memcmp(t->shape, x->shape + lead, sizeof *t->shape * (size_t)t->ndim);
  return t;
}

/* (x, shape of a row, weight, bias, eps): the result, or with `stats` also mean and rstd. 0 for what is not contiguous
 * or has other dtypes: norm.py converts it. */
static int plan(PyObject *const *a, bool stats, PyObject **result) {
  const TlTensor *x = (const TlTensor *)a[0];
  int64_t shape[TL_MAX_DIMS], n = 1;
  int tail = 0;
  *result = NULL;
  if (!gpu_buffer_of(x) || !gpu_is_float((tl_dtype)x->dtype) || (stats && x->dtype != TL_F32) || !x->numel ||
      !tl_is_contiguous(x) || !PyFloat_Check(a[4]))
    return 0;
  if (tl_ints(a[1], shape, &tail) < 0) {
    PyErr_Clear();
    return 0;
  }
  const int lead = x->ndim - tail;
  bool fits = tail > 0 && lead >= 0 && !memcmp(shape, x->shape + lead, sizeof *shape * (size_t)tail);
  const TlTensor *weight = parameter(a[2], x, lead, &fits), *bias = parameter(a[3], x, lead, &fits);
  if (!fits) return 0;
  memcpy(shape, x->shape, sizeof *shape * (size_t)x->ndim);
  for (int i = lead; i < x->ndim; i++) {
    n *= shape[i];
    shape[i] = 1;
  }
  uint32_t number, handles[6], words[9];
  int at = 0, w = 0;
  words[w++] = (uint32_t)(x->numel / n);
  words[w++] = (uint32_t)n;
  words[w++] = (uint32_t)x->offset;
  words[w++] = 0;
  words[w++] = gpu_float_word(PyFloat_AsDouble(a[4]));
  const TlTensor *reads[] = {x, weight, bias};
  for (int i = 0; i < 3; i++) {
    if (!reads[i]) continue;
    if (!(handles[at++] = gpu_ready(gpu_buffer_of(reads[i])))) return 1;
    if (i) words[w++] = (uint32_t)reads[i]->offset;
  }
  words[w] = words[w + 1] = 0;
  PyObject *y = gpu_fresh(x->ndim, x->shape, (tl_dtype)x->dtype, &handles[at]),
           *mean = y ? gpu_fresh(x->ndim, shape, TL_F32, &handles[at + 1]) : NULL,
           *rstd = mean ? gpu_fresh(x->ndim, shape, TL_F32, &handles[at + 2]) : NULL;
  if (rstd &&
      gpu_family_plan(family,
                      Py_BuildValue("(NNNN)", tl_dtype_object((tl_dtype)x->dtype), PyBool_FromLong(0),
                                    PyBool_FromLong(weight != NULL), PyBool_FromLong(bias != NULL)),
                      &number) == 0 &&
      gpu_launch(number, handles, (size_t)at + 3, words, (size_t)w + 2) == 0)
    *result = stats ? PyTuple_Pack(3, y, mean, rstd) : Py_NewRef(y);
  Py_XDECREF(y);
  Py_XDECREF(mean);
  Py_XDECREF(rstd);
  return 1;
}
int gpu_plan_layer_norm(PyObject *const *a, PyObject **result) { return plan(a, false, result); }
int gpu_plan_native_layer_norm(PyObject *const *a, PyObject **result) { return plan(a, true, result); }

int gpu_norm_init(PyObject *mod) {
  PyObject *parts = Py_BuildValue("(ssssss)", "layerNorm", "dtype", "rms", "weight", "bias", "backward");
  return gpu_family_export(mod, "norm_plan", parts, &family);
}
