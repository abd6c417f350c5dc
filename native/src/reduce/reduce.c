/* reduce.c: sum, nansum, mean, prod, count_nonzero, any, all, and the table of the reductions. */
#include "math/cmath.h"
#include "reduce/reduce_loops.h"

enum { SUM, NANSUM, MEAN, PROD };

/* sum(self, dtype) or sum(self, dim, keepdim, dtype); mean, nansum and prod alike */
static PyObject *k_sum(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  TlTensor *t = (TlTensor *)args[0], *res = NULL, *truth = NULL;
  bool dims = nargs >= 4, keepdim = dims && PyObject_IsTrue(args[2]);
  uint8_t mask[TL_MAX_DIMS];
  tl_dtype want, load, acc_t;
  int op = k->id;
  double stack[64];
  void *acc = stack;
  TlRed r;
  (void)out;
  if (tl_red_mask(dims ? args[1] : NULL, t->ndim, mask, false) < 0) return NULL;
  bool given = !tl_none(args[nargs - 1]);
  if (tl_dtype_arg(args[nargs - 1], op != MEAN && tl_is_integral(t->dtype) ? TL_I64 : t->dtype, &want) < 0) return NULL;
  if (op == MEAN && tl_is_integral(want)) {
    PyErr_Format(
      PyExc_RuntimeError,
      "mean(): could not infer output dtype. %s dtype must be either a floating point or complex dtype. Got: %s",
      given ? "Optional" : "Input", tl_scalar_type[want]);
    return NULL;
  }
  if (op == NANSUM && tl_is_complex(t->dtype)) {
    PyErr_SetString(PyExc_RuntimeError, "nansum on CPU does not support complex inputs");
    return NULL;
  }
  if (op == PROD && want == TL_BOOL && t->dtype != TL_BOOL) { /* each number counts as true or false, as in PyTorch */
    if (!(truth = tl_cast(t, TL_BOOL))) return NULL;
    t = truth;
  }
  if (tl_is_integral(want)) {
    /* integers wrap, so any width will do until the result is stored; bool means "is any of them non-zero" */
    if (want == TL_BOOL) load = TL_BOOL;
    else if (!tl_is_integral(t->dtype)) load = tl_compute[want];
    else load = op != PROD && (t->dtype == TL_BOOL || t->dtype == TL_U8) ? t->dtype : tl_compute[t->dtype];
    if (load == TL_BOOL && op == PROD) load = TL_I32;
    acc_t = TL_I64;
  } else {
    load = tl_compute[want];
    acc_t = tl_is_complex(want) ? TL_C128 : TL_F64;
  }
  TlRedOp rop = op == PROD ? TL_RED_PROD : TL_RED_SUM;
  if (op == NANSUM && tl_is_float(load)) rop = TL_RED_NANSUM;
  tl_red_plan(&r, t, mask, keepdim, load);
  if (tl_meta) {
    res = tl_red_result(&r, want);
    goto done;
  }
  int64_t width = acc_t == TL_C128 ? 2 : 1;
  if (r.nout > 64 / width && !(acc = tl_array(r.nout, width * 8))) {
    acc = stack;
    goto done;
  }
  if (tl_clear((char *)acc, (uint64_t)(r.nout * width) * 8)) goto done;
  if (op == PROD)
    for (int64_t i = 0; i < r.nout; i++) {
      if (acc_t == TL_I64) ((int64_t *)acc)[i] = 1;
      else ((double *)acc)[i * width] = 1;
    }
  if (tl_red_run(&r, tl_red_loop(rop, load), acc) < 0) goto done;
  if (op == MEAN) {
    double count = (double)r.k;
    for (int64_t i = 0; i < r.nout; i++)
      if (width == 1) ((double *)acc)[i] /= count;
      else ((cz *)acc)[i] = cz_div(((cz *)acc)[i], cz_of(count, 0));
  }
  if ((res = tl_red_result(&r, want))) tl_cast_contig(want, tl_data(res), acc_t, acc, r.nout);
done:
  if (acc != stack) tl_free(acc);
  Py_XDECREF((PyObject *)truth);
  return (PyObject *)tl_red_done(res);
}

enum { ANY, ALL, COUNT };

/* any(self), any(self, dim, keepdim); count_nonzero(self, dim) */
static PyObject *k_count(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  TlTensor *t = (TlTensor *)args[0], *res = NULL;
  uint8_t mask[TL_MAX_DIMS];
  int64_t stack[64], *acc = stack;
  tl_dtype load = t->dtype == TL_BOOL || t->dtype == TL_U8 ? t->dtype : tl_compute[t->dtype];
  tl_dtype want = t->dtype == TL_U8 ? TL_U8 : TL_BOOL;
  if (k->id == COUNT) want = TL_I64;
  TlRed r;
  (void)out;
  if (tl_red_mask(nargs > 1 ? args[1] : NULL, t->ndim, mask, k->id != COUNT) < 0) return NULL;
  tl_red_plan(&r, t, mask, nargs > 2 && PyObject_IsTrue(args[2]), load);
  if (tl_meta) return (PyObject *)tl_red_done(tl_red_result(&r, want));
  if (r.nout > 64 && !(acc = tl_array(r.nout, 8))) return NULL;
  if (tl_clear((char *)acc, (uint64_t)r.nout * 8) || tl_red_run(&r, tl_red_loop(TL_RED_COUNT, load), acc) < 0)
    goto done;
  if (!(res = tl_red_result(&r, want))) goto done;
  if (k->id == COUNT) {
    memcpy(tl_data(res), acc, r.nout * 8);
  } else {
    uint8_t *p = (uint8_t *)tl_data(res);
    for (int64_t i = 0; i < r.nout; i++) p[i] = k->id == ANY ? acc[i] != 0 : acc[i] == r.k;
  }
done:
  if (acc != stack) tl_free(acc);
  return (PyObject *)tl_red_done(res);
}

const TlKernel tl_kernels_reduce[] = {
  {"sum", k_sum, SUM, TL_K_META, NULL},
  {"nansum", k_sum, NANSUM, TL_K_META, NULL},
  {"mean", k_sum, MEAN, TL_K_META, NULL},
  {"prod", k_sum, PROD, TL_K_META, NULL},
  {"any", k_count, ANY, TL_K_META, NULL},
  {"all", k_count, ALL, TL_K_META, NULL},
  {"count_nonzero", k_count, COUNT, TL_K_META, NULL},
  {"pdist", tl_k_pdist, 0, 0, NULL},
  {"pdist_backward", tl_k_pdist_backward, 0, 0, NULL},
  {"max", tl_k_minmax_all, TL_MAX, TL_K_META, NULL}, /* (self) */
  {"min", tl_k_minmax_all, TL_MIN, TL_K_META, NULL},
  {"amax", tl_k_amax, TL_MAX, TL_K_META, NULL}, /* (self, dim, keepdim) */
  {"amin", tl_k_amax, TL_MIN, TL_K_META, NULL},
  {"max_dim", tl_k_max_dim, TL_MAX, TL_K_META, NULL}, /* (self, dim, keepdim) -> values, indices */
  {"min_dim", tl_k_max_dim, TL_MIN, TL_K_META, NULL},
  {"argmax", tl_k_argmax, TL_MAX, TL_K_META, NULL}, /* (self, dim, keepdim) */
  {"argmin", tl_k_argmax, TL_MIN, TL_K_META, NULL},
  {"aminmax", tl_k_aminmax, 0, TL_K_META, NULL}, /* (self, dim, keepdim) -> min, max */
  {"var", tl_k_var, 0, TL_K_META, NULL},         /* (self, unbiased) | (self, dim, unbiased, keepdim) */
  {"std", tl_k_var, TL_VAR_ROOT, TL_K_META, NULL},
  {"var_mean", tl_k_var, TL_VAR_AND_MEAN, TL_K_META, NULL},
  {"std_mean", tl_k_var, TL_VAR_ROOT | TL_VAR_AND_MEAN, TL_K_META, NULL},
  {"var_correction", tl_k_var, 0, TL_K_META, NULL}, /* (self, dim, correction, keepdim) */
  {"std_correction", tl_k_var, TL_VAR_ROOT, TL_K_META, NULL},
  {"var_mean_correction", tl_k_var, TL_VAR_AND_MEAN, TL_K_META, NULL},
  {"std_mean_correction", tl_k_var, TL_VAR_ROOT | TL_VAR_AND_MEAN, TL_K_META, NULL},
  {"linalg_vector_norm", tl_k_vector_norm, 0, TL_K_META, NULL}, /* (self, ord, dim, keepdim, dtype) */
  {"logsumexp", tl_k_logsumexp, 0, TL_K_META, NULL},            /* (self, dim, keepdim) */
  {0},
};
