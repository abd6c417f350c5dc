/* index.h: shared by the indexing kernels: row operations per dtype, and the plan of an index operation. */
#ifndef TL_INDEX_H
#define TL_INDEX_H
#include "core/tl.h"

/* reference counts of tensors */
#define TL_INC(t) ((TlTensor *)Py_NewRef((PyObject *)(t)))
#define TL_DEC(t) Py_XDECREF((PyObject *)(t))
#define TL_CLEAR(t) do { Py_XDECREF((PyObject *)(t)); (t) = NULL; } while (0)

/* d[i] = d[i] (op) s[i] for n elements with byte strides */
typedef void (*tl_row_fn)(char *d, intptr_t ds, const char *s, intptr_t ss, int64_t n);
enum { TL_ROW_ASSIGN, TL_ROW_ADD, TL_ROW_MUL, TL_ROW_MAX, TL_ROW_MIN };
tl_row_fn tl_row_op(int mode, tl_dtype dtype); /* NULL with RuntimeError when there is none */

/* For kernels that change a copy of self: begin gives the copy, or self for the in-place form; end puts it into out.
 * preserve: the copy has self's layout, else it is contiguous. */
TlTensor *tl_index_begin(TlTensor *self, TlTensor *out, bool preserve);
PyObject *tl_index_end(TlTensor *dst, TlTensor *out);
TlTensor *tl_dense_clone(TlTensor *t);
/* src in dst's dtype; a copy if it shares dst's memory */
TlTensor *tl_unshared(TlTensor *src, const TlTensor *dst);

/* A plan splits self's dims in (before, indexed, after). The indexed ones collapse into `count` element offsets; the
 * result's shape is before + shape of the broadcast indices + after. */
typedef struct {
  int nbefore, nafter, nshape; /* sizes and strides of the dims before and after: */
  int64_t before[TL_MAX_DIMS], sbefore[TL_MAX_DIMS], after[TL_MAX_DIMS], safter[TL_MAX_DIMS];
  int64_t shape[TL_MAX_DIMS]; /* of the result */
  int64_t count, *off;        /* element offsets from self's start, tl_malloc'ed */
  int64_t nouter, ninner;     /* numel of before, after */
} tl_plan;

/* Advanced indexing: indices is a list of Tensor or None. -1 on error. */
int tl_plan_index(tl_plan *p, TlTensor *self, PyObject *indices);
/* One index tensor along dim; the caller has checked its values (0 <= i < size) with tl_check_index. */
int tl_plan_dim(tl_plan *p, TlTensor *self, int dim, TlTensor *index);
void tl_plan_free(tl_plan *p);
/* result (contiguous, of the plan's shape) = self[...] */
TlTensor *tl_plan_take(tl_plan *p, TlTensor *self);
/* self[...] (op)= values; values has the plan's shape and is contiguous, or has one element. first: NULL, or a flag for
 * every index: where it is set the row is assigned. */
int tl_plan_put(tl_plan *p, TlTensor *self, TlTensor *values, tl_row_fn fn, const uint8_t *first);

TlTensor *tl_nonzero_columns(TlTensor *t); /* (ndim, n) int64 */
/* a contiguous int64 copy of an int32 or int64 tensor; NULL without an error for other dtypes */
TlTensor *tl_index_i64(TlTensor *t);

PyObject *tl_k_gather(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out);
enum { TL_SCATTER, TL_SCATTER_ADD, TL_SCATTER_REDUCE }; /* ids of tl_k_scatter */
PyObject *tl_k_scatter(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out);
PyObject *tl_k_index_select(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out);
PyObject *tl_k_index_add(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out);
PyObject *tl_k_index_copy(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out);
PyObject *tl_k_index_fill(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out);
PyObject *tl_k_index_reduce(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out);
PyObject *tl_k_embedding(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out);
PyObject *tl_k_sum_rows(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out);
PyObject *tl_k_embedding_backward(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out);
PyObject *tl_k_embedding_renorm(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out);
#endif
