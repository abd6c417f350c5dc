/* norm.c: the table of softmax, normalisation layers, losses and recurrent layers. */
#include "nn/norm.h"
#include "core/errors.h"

/* For ops with a kernel on webgpu only: on the CPU their body runs. */
static PyObject *k_gpu_only(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  (void)k;
  (void)args;
  (void)nargs;
  (void)out;
  return TL_FALLBACK();
}

int tl_check_params(const TlTensor *input, PyObject *const *params, int n, bool mixed) {
  const tl_dtype own = (tl_dtype)input->dtype;
  tl_dtype first = own;
  int rc = 0, found = 0;
  for (int i = 0; i < n && !found; i++)
    if (tl_opt(params[i])) {
      first = (tl_dtype)tl_opt(params[i])->dtype;
      found = 1;
    }
  for (int i = 0; i < n && rc == 0; i++) {
    const TlTensor *p = tl_opt(params[i]);
    if (p && first != own && p->dtype != TL_F32) {
      PyErr_SetString(PyExc_RuntimeError, "mixed dtype (CPU): expect parameter to have scalar type of Float");
      rc = -1;
    } else if (p && first == own && p->dtype != own && !mixed) {
      tl_scalar_type_error(own, p->dtype);
      rc = -1;
    }
  }
  if (rc == 0 && first != own && own != TL_F16 && own != TL_BF16) {
    PyErr_SetString(PyExc_RuntimeError, "mixed dtype (CPU): all inputs must share same datatype.");
    rc = -1;
  }
  return rc;
}

const TlKernel tl_kernels_norm[] = {
  {"softmax", tl_k_softmax, 0, 0, NULL}, /* (self, dim, dtype) */
  {"log_softmax", tl_k_softmax, TL_SOFTMAX_LOG, 0, NULL},
  {"_softmax", tl_k_softmax, TL_SOFTMAX_HALF_TO_FLOAT, 0, NULL}, /* (self, dim, half_to_float) */
  {"_log_softmax", tl_k_softmax, TL_SOFTMAX_LOG | TL_SOFTMAX_HALF_TO_FLOAT, 0, NULL},
  {"_softmax_backward_data", tl_k_softmax_backward, 0, 0, NULL},
  {"_log_softmax_backward_data", tl_k_softmax_backward, TL_SOFTMAX_LOG, 0, NULL},
  {"native_layer_norm", tl_k_layer_norm, TL_WITH_STATISTICS, 0, NULL},
  {"layer_norm", tl_k_layer_norm, TL_RESULT_ALONE, 0, NULL},
  {"native_layer_norm_backward", tl_k_layer_norm_backward, 0, 0, NULL},
  {"_fused_rms_norm", tl_k_rms_norm, TL_WITH_STATISTICS, 0, NULL},
  {"rms_norm", tl_k_rms_norm, TL_RESULT_ALONE, 0, NULL},
  {"_fused_rms_norm_backward", tl_k_rms_norm_backward, 0, 0, NULL},
  {"native_group_norm", tl_k_group_norm, 0, 0, NULL},
  {"native_group_norm_backward", tl_k_group_norm_backward, 0, 0, NULL},
  {"native_batch_norm", tl_k_batch_norm, TL_WITH_STATISTICS, 0, NULL},
  {"batch_norm", tl_k_batch_norm, TL_RESULT_ALONE, 0, NULL},
  {"native_batch_norm_backward", tl_k_batch_norm_backward, 0, 0, NULL},
  {"nll_loss_forward", tl_k_nll, TL_WITH_STATISTICS, 0, NULL}, /* (self, target, weight, reduction, ignore_index) */
  {"nll_loss", tl_k_nll, TL_RESULT_ALONE, 0, NULL},
  {"nll_loss_backward", tl_k_nll_backward, 0, 0, NULL},
  {"ctc", tl_k_ctc, 0, 0, NULL}, /* (log_probs, path, input_lengths, target_lengths, zero_infinity[, ...]) */
  {"ctc_backward", tl_k_ctc_backward, 0, 0, NULL},
  {"_cross_entropy", k_gpu_only, 0, 0, NULL},
  {"_cross_entropy_backward", k_gpu_only, 0, 0, NULL},
  {"mse_loss", tl_k_pair_loss, TL_MSE, 0, NULL},
  {"l1_loss", tl_k_pair_loss, TL_L1, 0, NULL},
  {"smooth_l1_loss", tl_k_pair_loss, TL_SMOOTH_L1, 0, NULL},
  {"huber_loss", tl_k_pair_loss, TL_HUBER, 0, NULL},
  {"_rnn_layer", tl_k_rnn_layer, 0, 0, NULL},
  {"_rnn_layer_backward", tl_k_rnn_layer_backward, 0, 0, NULL},
  {0},
};
