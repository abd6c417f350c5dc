/* gpu_attention.c: attention in one kernel (js_bridge/src/kernels/products/attention.ts). */
#include "gpu/gpu_graph.h"

static PyObject *family;

/* Writes offset and strides over batch, head and row; those of dims that are not there are 0. */
static uint32_t *place(uint32_t *w, int ndim, const int64_t *strides, int64_t offset) {
  *w++ = (uint32_t)offset;
  for (int i = 0; i < 3; i++) *w++ = i < 4 - ndim ? 0 : (uint32_t)strides[i - (4 - ndim)];
  return w;
}

/* The dims of the result from the outermost in memory: as the queries have them, so that rows of all heads lie together
 * where they do there, which the projection that follows wants. */
static void result_order(const TlTensor *q, int *order) {
  int64_t strides[TL_MAX_DIMS];
  if (tl_is_contiguous(q)) return;
  if (tl_is_channels_last(q)) tl_channels_last_strides(q->ndim, q->shape, strides);
  else tl_preserved_strides(q, strides);
  for (int i = 1; i < q->ndim; i++)
    for (int j = i; j > 0 && strides[order[j - 1]] < strides[order[j]]; j--) {
      const int inner = order[j - 1];
      order[j - 1] = order[j];
      order[j] = inner;
    }
}

/* (q, k, v, mask, causal, scale): the result and the log of each row's sum. 0 if there is a mask, or rows are not
 * dense: attention.py goes on. */
int gpu_plan_attention(PyObject *const *a, PyObject **result) {
  const TlTensor *q = (const TlTensor *)a[0], *k = (const TlTensor *)a[1], *v = (const TlTensor *)a[2];
  const TlTensor *reads[] = {q, k, v};
  const int ndim = q->ndim;
  int64_t shape[4], strides[4];
  int order[4] = {0, 1, 2, 3};
  uint32_t number, handles[5], words[6 + 3 * 4 + 5], *w = words;
  *result = NULL;
  if (a[3] != Py_None || !PyFloat_Check(a[5]) || ndim < 2 || ndim > 4 || !gpu_is_float((tl_dtype)q->dtype)) return 0;
  for (int i = 0; i < 3; i++) {
    const TlTensor *t = reads[i];
    if (!gpu_buffer_of(t) || t->ndim != ndim || (t->strides[ndim - 1] != 1 && t->shape[ndim - 1] != 1)) return 0;
  }
  memcpy(shape, q->shape, sizeof *shape * (size_t)ndim);
  shape[ndim - 1] = v->shape[ndim - 1];
  *w++ = ndim == 4 ? (uint32_t)shape[0] : 1;
  *w++ = ndim >= 3 ? (uint32_t)shape[ndim - 3] : 1;
  *w++ = (uint32_t)shape[ndim - 2];
  *w++ = (uint32_t)k->shape[ndim - 2];
  *w++ = 1;
  *w++ = gpu_float_word(PyFloat_AsDouble(a[5]));
  for (int i = 0; i < 3; i++) {
    if (!(handles[i] = gpu_ready(gpu_buffer_of(reads[i])))) return 1;
    w = place(w, ndim, reads[i]->strides, reads[i]->offset);
  }
  if (ndim == 4 && q->strides[3] == 1 && k->strides[3] == 1 && v->strides[3] == 1) result_order(q, order);
  int64_t step = 1;
  for (int i = ndim - 1; i >= 0; i--) {
    strides[order[i]] = step;
    step = tl_wrap_mul(step, shape[order[i]]);
  }
  PyObject *y = gpu_fresh_laid(ndim, shape, strides, (tl_dtype)q->dtype, &handles[3]),
           *lse = y ? gpu_fresh(ndim - 1, shape, TL_F32, &handles[4]) : NULL;
  if (lse) {
    w = place(w, ndim, strides, 0);
    *w++ = 0;
    PyObject *values = Py_BuildValue("(NiiN)", tl_dtype_object((tl_dtype)q->dtype), (int)q->shape[ndim - 1],
                                     (int)shape[ndim - 1], PyBool_FromLong(a[4] == Py_True));
    if (gpu_family_plan(family, values, &number) == 0 &&
        gpu_launch(number, handles, 5, words, (size_t)(w - words)) == 0)
      *result = PyTuple_Pack(2, y, lse);
  }
  Py_XDECREF(y);
  Py_XDECREF(lse);
  return 1;
}

int gpu_attention_init(PyObject *mod) {
  PyObject *parts = Py_BuildValue("(ssssss)", "attention", "dtype", "dim", "valueDim", "causal", "mask");
  return gpu_family_export(mod, "attention_plan", parts, &family);
}
