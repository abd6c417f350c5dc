/* reduce_extreme.c: max, min, amax, amin, aminmax and the forms that also give positions. */
#include "reduce/reduce_loops.h"
#include "core/errors.h"
#include <limits.h>
#include <math.h>

static void fill_identity(void *acc, tl_dtype load, bool max, int64_t n) {
  TL_LOOP(i, n) switch (load) {
    case TL_I32: ((int32_t *)acc)[i] = max ? INT32_MIN : INT32_MAX; break;
    case TL_I64: ((int64_t *)acc)[i] = max ? INT64_MIN : INT64_MAX; break;
    case TL_F32: ((float *)acc)[i] = max ? -INFINITY : INFINITY; break;
    default: ((double *)acc)[i] = max ? -INFINITY : INFINITY;
    }
}

/* extreme values over mask, as a tensor of t's dtype */
static TlTensor *extreme(TlTensor *t, const uint8_t *mask, bool keepdim, bool max) {
  tl_dtype load = tl_compute[t->dtype];
  TlTensor *res = NULL;
  double stack[64];
  void *acc = stack;
  TlRed r;
  tl_red_plan(&r, t, mask, keepdim, load);
  if (!(res = tl_red_result(&r, t->dtype))) return NULL;
  if (tl_meta) return tl_red_done(res);
  if (load == t->dtype) acc = tl_data(res);
  else if (r.nout > 64 && !(acc = tl_array(r.nout, tl_itemsize[load]))) goto fail;
  fill_identity(acc, load, max, r.nout);
  if (tl_red_run(&r, tl_red_loop(max ? TL_RED_MAX : TL_RED_MIN, load), acc) < 0) goto fail;
  if (load != t->dtype) tl_cast_contig(t->dtype, tl_data(res), load, acc, r.nout);
done:
  if (acc != stack && load != t->dtype) tl_free(acc);
  return tl_red_done(res);
fail:
  Py_CLEAR(res);
  goto done;
}

static int need_dim(const char *name, const TlTensor *t, bool hint) {
  if (t->numel) return 0;
  PyErr_Format(hint ? PyExc_RuntimeError : PyExc_IndexError,
               "%s(): Expected reduction dim to be specified for input.numel() == 0.%s", name,
               hint ? " Specify the reduction dim with the 'dim' argument." : "");
  return -1;
}

/* the message names the dim as the caller wrote it when as_given, else wrapped */
static int non_empty_dims(const char *name, const TlTensor *t, const uint8_t *mask, PyObject *as_given) {
  int64_t dims[TL_MAX_DIMS];
  int n = 0;
  if (t->numel) return 0;
  if (as_given && tl_ints(as_given, dims, &n) < 0) return -1;
  if (!as_given)
    for (int d = 0; d < t->ndim; d++)
      if (mask[d]) dims[n++] = d;
  for (int i = 0; i < n; i++)
    if (t->shape[dims[i] < 0 ? dims[i] + t->ndim : dims[i]] == 0) {
      PyErr_Format(PyExc_IndexError, "%s(): Expected reduction dim %lld to have non-zero size.", name,
                   (long long)dims[i]);
      return -1;
    }
  return 0;
}

PyObject *tl_k_minmax_all(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  TlTensor *t = (TlTensor *)args[0];
  uint8_t mask[TL_MAX_DIMS];
  (void)nargs, (void)out;
  if (need_dim(k->name, t, true) < 0) return NULL;
  if (tl_is_complex(t->dtype)) return tl_not_implemented(k->id == TL_MAX ? "max_all" : "min_all", t->dtype);
  memset(mask, 1, t->ndim);
  return (PyObject *)extreme(t, mask, false, k->id == TL_MAX);
}

PyObject *tl_k_amax(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  TlTensor *t = (TlTensor *)args[0];
  uint8_t mask[TL_MAX_DIMS];
  bool all = nargs < 2 || tl_none(args[1]) || (PyTuple_Check(args[1]) && PyTuple_Size(args[1]) == 0);
  (void)out;
  if (tl_red_mask(nargs > 1 ? args[1] : NULL, t->ndim, mask, false) < 0) return NULL;
  if (all ? need_dim(k->name, t, true) < 0 : non_empty_dims(k->name, t, mask, args[1]) < 0) return NULL;
  if (tl_is_complex(t->dtype))
    return tl_not_implemented(k->id == TL_MAX ? "max_values_cpu" : "min_values_cpu", t->dtype);
  return (PyObject *)extreme(t, mask, nargs > 2 && PyObject_IsTrue(args[2]), k->id == TL_MAX);
}

PyObject *tl_k_aminmax(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  TlTensor *t = (TlTensor *)args[0];
  uint8_t mask[TL_MAX_DIMS];
  bool keep = nargs > 2 && PyObject_IsTrue(args[2]);
  (void)k, (void)out;
  if (tl_red_mask(nargs > 1 ? args[1] : NULL, t->ndim, mask, false) < 0) return NULL;
  if (nargs < 2 || tl_none(args[1])) {
    if (!t->numel) {
      PyErr_SetString(PyExc_RuntimeError,
                      "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity.");
      return NULL;
    }
  } else {
    for (int d = 0; d < t->ndim; d++)
      if (mask[d] && !t->shape[d]) {
        PyErr_Format(PyExc_IndexError, "aminmax: Expected reduction dim %d to have non-zero size.", d);
        return NULL;
      }
  }
  if (tl_is_complex(t->dtype)) return tl_not_implemented("aminmax_cpu", t->dtype);
  TlTensor *lo = extreme(t, mask, keep, false);
  return tl_pack2(lo, lo ? extreme(t, mask, keep, true) : NULL);
}

/* ---- values with positions -------------------------------------------------------------------------------------- */
typedef struct {
  void *best;
  int64_t *index;
} Arg;
#define NANF(x) ((x) != (x))
#define NOT(x) 0
/* first extreme wins; a NaN beats everything before it that is no NaN */
#define ARG_LOOPS(NAME, T, CMP, ISNAN, FIND) \
  static void NAME##_row(void *ctx, int64_t o, int64_t k, const void *pp, int64_t n) { \
    const Arg *a = ctx; \
    const T *p = pp; \
    T *best = (T *)a->best + o, m = p[0]; \
    if (n < 32) { \
      int64_t at = 0; \
      for (int64_t i = 1; i < n; i++) \
        if (p[i] CMP m || (ISNAN(p[i]) && !ISNAN(m))) { m = p[i]; at = i; } \
      if (a->index[o] < 0 || m CMP *best || (ISNAN(m) && !ISNAN(*best))) { *best = m; a->index[o] = k + at; } \
      return; \
    } \
    FIND; \
    if (a->index[o] < 0 || m CMP *best || (ISNAN(m) && !ISNAN(*best))) { \
      int64_t at = 0; \
      if (ISNAN(m)) { \
        while (!ISNAN(p[at])) at++; \
      } else { \
        for (; at + 32 <= n; at += 32) {          /* a block without branches, then the place in it */ \
          int any = 0; \
          for (int l = 0; l < 32; l++) any |= p[at + l] == m; \
          if (any) break; \
        } \
        while (p[at] != m) at++; \
      } \
      *best = m; \
      a->index[o] = k + at; \
    } \
  } \
  static void NAME##_cols(void *ctx, int64_t o, int64_t k, const void *pp, int64_t rs, int64_t rows, int64_t n) { \
    const Arg *a = ctx; \
    T *best = (T *)a->best + o; \
    int64_t *index = a->index + o; \
    for (int64_t t = 0; t < n; t += 256) { \
      int64_t w = n - t < 256 ? n - t : 256, i = 0; \
      const T *p = (const T *)pp + t; \
      if (index[t] < 0) { \
        for (int64_t j = 0; j < w; j++) { best[t + j] = p[j]; index[t + j] = k; } \
        i = 1; \
        p += rs; \
      } \
      for (; i < rows; i++, p += rs) \
        for (int64_t j = 0; j < w; j++) { \
          T x = p[j], b = best[t + j]; \
          int take = (x CMP b) | (ISNAN(x) & !ISNAN(b)); \
          best[t + j] = take ? x : b; \
          index[t + j] = take ? k + i : index[t + j]; \
        } \
    } \
  }
/* the same over columns, four at a time, for types of four bytes: V vector of T */
#define ARG_COLS4(NAME, T, V, LOADV, CMP, ISNAN, BASE) \
  static void NAME(void *ctx, int64_t o, int64_t k, const void *pp, int64_t rs, int64_t rows, int64_t n) { \
    const Arg *a = ctx; \
    int64_t j = 0; \
    if (rows < INT32_MAX) \
      for (; j + 16 <= n; j += 16) { \
        T *best = (T *)a->best + o + j; \
        int64_t *index = a->index + o + j, i = 0; \
        const T *p = (const T *)pp + j; \
        V b[4]; \
        v4i at[4], row = {0}; \
        if (index[0] < 0) { \
          memcpy(best, p, 16 * sizeof(T)); \
          for (int l = 0; l < 16; l++) index[l] = k; \
          i = 1; \
          p += rs; \
        } \
        row += (int32_t)i; \
        for (int u = 0; u < 4; u++) { b[u] = LOADV(best + 4 * u); at[u] = (v4i){-1, -1, -1, -1}; } \
        for (; i < rows; i++, p += rs, row += 1) \
          for (int u = 0; u < 4; u++) { \
            V x = LOADV(p + 4 * u); \
            v4i take = (v4i)(x CMP b[u]) ISNAN(x, b[u]); \
            b[u] = (V)((take & (v4i)x) | (~take & (v4i)b[u])); \
            at[u] = (take & row) | (~take & at[u]); \
          } \
        memcpy(best, b, sizeof b); \
        for (int l = 0; l < 16; l++) \
          if (at[l / 4][l % 4] >= 0) index[l] = k + at[l / 4][l % 4]; \
      } \
    if (j < n) BASE(ctx, o + j, k, (const T *)pp + j, rs, rows, n - j); \
  }
#define NANS4(x, b) | (v4i)((x != x) & (b == b))
#define NONE4(x, b)
static inline v4i v4i_load(const int32_t *p) {
  v4i v;
  memcpy(&v, p, 16);
  return v;
}

#define FIND_INT(CMP) for (int64_t i = 1; i < n; i++) m = p[i] CMP m ? p[i] : m
#define FIND_FLOAT(OP, LOAD) tl_red_loop(OP, LOAD).row(&m, 0, 0, p, n)
ARG_LOOPS(argmax_i, int32_t, >, NOT, FIND_INT(>))
ARG_LOOPS(argmin_i, int32_t, <, NOT, FIND_INT(<))
ARG_LOOPS(argmax_l, int64_t, >, NOT, FIND_INT(>))
ARG_LOOPS(argmin_l, int64_t, <, NOT, FIND_INT(<))
ARG_LOOPS(argmax_f, float, >, NANF, FIND_FLOAT(TL_RED_MAX, TL_F32))
ARG_LOOPS(argmin_f, float, <, NANF, FIND_FLOAT(TL_RED_MIN, TL_F32))
ARG_LOOPS(argmax_d, double, >, NANF, FIND_FLOAT(TL_RED_MAX, TL_F64))
ARG_LOOPS(argmin_d, double, <, NANF, FIND_FLOAT(TL_RED_MIN, TL_F64))

ARG_COLS4(argmax_f_cols4, float, v4f, v4_load, >, NANS4, argmax_f_cols)
ARG_COLS4(argmin_f_cols4, float, v4f, v4_load, <, NANS4, argmin_f_cols)
ARG_COLS4(argmax_i_cols4, int32_t, v4i, v4i_load, >, NONE4, argmax_i_cols)
ARG_COLS4(argmin_i_cols4, int32_t, v4i, v4i_load, <, NONE4, argmin_i_cols)

#define L(N) {N##_row, N##_cols}
#define L4(N) {N##_row, N##_cols4}
static const TlRedLoop arg_loops[2][TL_NUM_DTYPES] = {
  {[TL_I32] = L4(argmin_i), [TL_I64] = L(argmin_l), [TL_F32] = L4(argmin_f), [TL_F64] = L(argmin_d)},
  {[TL_I32] = L4(argmax_i), [TL_I64] = L(argmax_l), [TL_F32] = L4(argmax_f), [TL_F64] = L(argmax_d)},
};

/* values may be NULL when only positions are wanted */
static int extreme_at(TlTensor *t, const uint8_t *mask, bool keepdim, bool max, TlTensor **values, TlTensor **index) {
  tl_dtype load = tl_compute[t->dtype];
  Arg arg = {NULL, NULL};
  TlRed r;
  int rc = -1;
  tl_red_plan(&r, t, mask, keepdim, load);
  if (tl_meta) {
    *index = tl_red_done(tl_red_result(&r, TL_I64));
    if (values) *values = tl_red_done(tl_red_result(&r, t->dtype));
    return *index && (!values || *values) ? 0 : -1;
  }
  if (!(*index = tl_red_result(&r, TL_I64))) goto done;
  arg.index = (int64_t *)tl_data(*index);
  TL_LOOP(i, r.nout) arg.index[i] = -1;
  if (tl_work(0) < 0) goto done;
  if (!(arg.best = tl_array(r.nout + 1, 8))) goto done;
  if (tl_red_run(&r, arg_loops[max][load], &arg) < 0) goto done;
  if (values) {
    if (!(*values = tl_red_result(&r, t->dtype))) goto done;
    tl_cast_contig(t->dtype, tl_data(*values), load, arg.best, r.nout);
    if (!(*values = tl_red_done(*values))) goto done;
  }
  rc = (*index = tl_red_done(*index)) ? 0 : -1;
done:
  if (arg.best) tl_free(arg.best);
  if (rc < 0) {
    Py_CLEAR(*index);
    if (values) Py_CLEAR(*values);
  }
  return rc;
}

PyObject *tl_k_max_dim(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  TlTensor *t = (TlTensor *)args[0], *values = NULL, *index = NULL;
  const char *name = k->id == TL_MAX ? "max" : "min";
  uint8_t mask[TL_MAX_DIMS];
  (void)out;
  if (tl_red_mask(args[1], t->ndim, mask, false) < 0 || non_empty_dims(name, t, mask, NULL) < 0) return NULL;
  if (tl_is_complex(t->dtype)) {
    PyErr_Format(PyExc_RuntimeError, "%s(): does not support complex input", name);
    return NULL;
  }
  if (extreme_at(t, mask, nargs > 2 && PyObject_IsTrue(args[2]), k->id == TL_MAX, &values, &index) < 0) return NULL;
  return tl_pack2(values, index);
}

PyObject *tl_k_argmax(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  TlTensor *t = (TlTensor *)args[0], *src = NULL, *index = NULL;
  bool all = tl_none(args[1]);
  uint8_t mask[TL_MAX_DIMS];
  (void)out;
  if (tl_is_complex(t->dtype) || t->dtype == TL_BOOL) {
    PyErr_Format(PyExc_RuntimeError, "%s(): does not support %s input", k->name,
                 t->dtype == TL_BOOL ? "bool" : "complex");
    return NULL;
  }
  if (tl_red_mask(args[1], t->ndim, mask, false) < 0) return NULL;
  if (all ? need_dim(k->name, t, false) < 0 : non_empty_dims(k->name, t, mask, NULL) < 0) return NULL;
  /* the position counts in logical order */
  src = all ? tl_contiguous(t) : (TlTensor *)Py_NewRef((PyObject *)t);
  if (!src) return NULL;
  extreme_at(src, mask, nargs > 2 && PyObject_IsTrue(args[2]), k->id == TL_MAX, NULL, &index);
  Py_DECREF((PyObject *)src);
  return (PyObject *)index;
}
