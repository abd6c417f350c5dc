/* norm.h: shared by softmax, the normalisation layers and nll_loss. Kernels compute in float or double; 16-bit tensors
 * are widened first and narrowed last. */
#ifndef TL_NORM_H
#define TL_NORM_H
#include "reduce/reduce_loops.h"

enum { TL_SOFTMAX_LOG = 1, TL_SOFTMAX_HALF_TO_FLOAT = 2 /* the third argument, not a dtype */ }; /* of tl_k_softmax */
enum { TL_WITH_STATISTICS, TL_RESULT_ALONE };   /* of the norms: results; of nll: with the sum of weights */
enum { TL_MSE, TL_L1, TL_SMOOTH_L1, TL_HUBER }; /* of tl_k_pair_loss */
#define TL_NORM_KERNELS(X) \
  X(softmax) X(softmax_backward) X(layer_norm) X(layer_norm_backward) X(rms_norm) X(rms_norm_backward) X(group_norm) \
  X(group_norm_backward) X(batch_norm) X(batch_norm_backward) X(nll) X(nll_backward) X(pair_loss) X(rnn_layer) \
  X(rnn_layer_backward) X(ctc) X(ctc_backward)
#define X(n) PyObject *tl_k_##n(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out);
TL_NORM_KERNELS(X)
#undef X

/* contiguous copy in the loop dtype of an optional tensor; *p is its data or NULL. -1 on error. */
static inline int tl_param(PyObject *o, tl_dtype loop, TlTensor **hold, const void **p) {
  *hold = NULL;
  *p = NULL;
  if (tl_none(o)) return 0;
  if (!(*hold = tl_contiguous_as((TlTensor *)o, loop))) return -1;
  *p = tl_data(*hold);
  return 0;
}
/* -1 with PyTorch's error for the dtypes of a norm's parameters. They must all have the first one's dtype, which is the
 * input's, or float32 if the input has 16 bits. mixed: check only if the first one's dtype is not the input's. */
int tl_check_params(const TlTensor *input, PyObject *const *params, int n, bool mixed);
/* cast and drop the reference */
static inline TlTensor *tl_narrow(TlTensor *t, tl_dtype d) {
  if (!t || t->dtype == d) return t;
  TlTensor *r = tl_cast(t, d);
  Py_DECREF((PyObject *)t);
  return r;
}
/* entry i of a bool[3] argument */
static inline bool tl_mask_at(PyObject *mask, int i) {
  PyObject *b = PySequence_GetItem(mask, i);
  bool r = b && PyObject_IsTrue(b) == 1;
  Py_XDECREF(b);
  PyErr_Clear();
  return r;
}
#endif
