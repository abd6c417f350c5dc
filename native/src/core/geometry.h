/* geometry.h: sizes and strides of dims: layouts without gaps, the order of dims in memory, coalesced dims, and
 * tensors that share memory. Orders list dims innermost first. Strides count elements. */
#ifndef TL_GEOMETRY_H
#define TL_GEOMETRY_H
#include "core/tl.h"

/* ---- sizes ------------------------------------------------------------------------------------------------------ */
int tl_sizes_overflow(void); /* -1 with PyTorch's message */
int tl_shape_overflow(int ndim, const int64_t *shape);
int tl_extent_overflow(int ndim, const int64_t *shape, const int64_t *strides);
int64_t tl_count_error(int ndim, const int64_t *shape, int at);
/* number of elements; -1 with an exception where a size is negative or the product overflows */
static inline int64_t tl_count(int ndim, const int64_t *shape) {
  int64_t n = 1;
  for (int i = 0; i < ndim; i++)
    if (shape[i] < 0 || __builtin_mul_overflow(n, shape[i], &n)) return tl_count_error(ndim, shape, i);
  return n;
}

/* ---- layouts without gaps ---------------------------------------------------------------------------------------- */
/* Sizes or strides of n dims. memcpy of a length that is not known here leaves the module on WASM, for some 10 ns: the
 * barrier keeps the compiler from making one of this loop. */
static inline void tl_copy_dims(int64_t *to, const int64_t *from, int n) {
  for (int i = 0; i < n; i++) {
    to[i] = from[i];
    __asm__ volatile("" ::: "memory");
  }
}
static inline bool tl_same_dims(const int64_t *a, const int64_t *b, int n) {
  while (n && a[n - 1] == b[n - 1]) n--;
  return !n;
}
/* The sizes and strides of a contiguous tensor. */
static inline void tl_natural_layout(int ndim, const int64_t *sizes, int64_t *shape, int64_t *strides) {
  int64_t step = 1;
  for (int i = ndim - 1; i >= 0; i--) {
    shape[i] = sizes[i];
    strides[i] = step;
    step = tl_wrap_mul(step, sizes[i] > 1 ? sizes[i] : 1);
  }
}
/* Strides for an order of n dims. A size below `least` counts as that much: 1, or 0 where PyTorch lets the strides
 * beyond an empty dim be 0. */
static inline void tl_ordered_strides(int n, const int *order, const int64_t *shape, int64_t least, int64_t *strides) {
  int64_t step = 1;
  for (int i = 0; i < n; i++) {
    strides[order[i]] = step;
    step = tl_wrap_mul(step, shape[order[i]] > least ? shape[order[i]] : least);
  }
}
/* Strides of a contiguous tensor, with checks. Returns the number of elements, -1 with an exception. */
int64_t tl_dense_strides(int ndim, const int64_t *shape, int64_t *strides);
/* TL_CONTIGUOUS: strides of dims of one element can be anything, those of a tensor without elements too. */
static inline bool tl_strides_contiguous(int ndim, const int64_t *shape, const int64_t *strides) {
  int64_t expect = 1;
  bool dense = true;
  for (int i = ndim - 1; i >= 0; i--) {
    if (shape[i] == 0) return true;
    if (shape[i] != 1) {
      dense = dense && strides[i] == expect;
      expect = tl_wrap_mul(expect, shape[i]);
    }
  }
  return dense;
}
bool tl_strides_natural(const TlTensor *t);                     /* contiguous, and in dims of one element too */
bool tl_is_dense(const TlTensor *t);                            /* no gaps, no shared elements; any order of dims */
void tl_preserved_strides(const TlTensor *t, int64_t *strides); /* of a copy without gaps in the same order of dims */

/* Memory formats. Channels last means the format of 4 or 5 dims. Where sizes of 1 leave it open, a tensor may be
 * contiguous in both formats, and its strides say which one its results shall have: tl_suggests_channels_last is
 * PyTorch's suggest_memory_format, and asks for the order of strides only, not for dense memory. */
bool tl_is_channels_last(const TlTensor *t); /* is_contiguous(memory_format=channels_last[_3d]) */
bool tl_in_last_order(const TlTensor *t);    /* the same for any number of dims */
bool tl_suggests_channels_last(const TlTensor *t);
/* The same by shape and strides. 3 dims count as an image of height 1. */
bool tl_suggests_last(int ndim, const int64_t *shape, const int64_t *strides);
void tl_channels_last_strides(int ndim, const int64_t *shape, int64_t *strides);

/* ---- order of dims ----------------------------------------------------------------------------------------------- */
/* Strides of t over the dims of a shape that it is broadcast to: 0 where t is repeated and where it has one element.
 * For PyTorch's order of dims, `strides` stand in for t's own, and dims of one element keep theirs where the shape has
 * one too. */
static inline void tl_broadcast_strides(const TlTensor *t, int ndim, int64_t *out) {
  int lead = ndim - t->ndim;
  for (int d = 0; d < lead; d++) out[d] = 0;
  for (int d = 0; d < t->ndim; d++) out[lead + d] = t->shape[d] == 1 ? 0 : t->strides[d];
}
static inline void tl_ordering_strides(const TlTensor *t, const int64_t *strides, int ndim, const int64_t *shape,
                                       int64_t *out) {
  int lead = ndim - t->ndim;
  for (int d = 0; d < lead; d++) out[d] = 0;
  for (int d = 0; d < t->ndim; d++) out[lead + d] = t->shape[d] == 1 && shape[lead + d] != 1 ? 0 : strides[d];
}
/* PyTorch's order of the dims of a result. Of two dims, the first operand with different strides for them decides;
 * strides of 0 decide nothing. */
void tl_order_dims(int nops, const int64_t (*strides)[TL_MAX_DIMS], int ndim, const int64_t *shape, int *order);
/* The strides of a new result as well. True where its order is that of a contiguous tensor. */
bool tl_result_strides(int nops, const int64_t (*ops)[TL_MAX_DIMS], int ndim, const int64_t *shape, int *order,
                       int64_t *strides);
/* Sorts a list of dims by rising stride; equal ones keep their order. expanded_last: strides of 0 count as the largest.
 */
static inline void tl_sort_dims(int n, int *dims, const int64_t *strides, bool expanded_last) {
  for (int i = 1; i < n; i++) {
    int d = dims[i], j = i;
    int64_t own = expanded_last && !strides[d] ? INT64_MAX : strides[d];
    for (; j > 0; j--) {
      int64_t s = strides[dims[j - 1]];
      if (own >= (expanded_last && !s ? INT64_MAX : s)) break;
      dims[j] = dims[j - 1];
    }
    dims[j] = d;
  }
}

/* Joins neighbouring dims that every operand runs through as one, and leaves out those of size 1. `order` lists n dims
 * (NULL: the last dim is the innermost); dims of different `group` (or NULL) stay apart. Returns how many are left,
 * with their sizes, innermost first; the strides of a joined dim are those of its innermost one, keep[i]. */
static inline int tl_coalesce(int n, const int *order, const int64_t *shape, int nops, const int64_t *const *strides,
                              const uint8_t *group, int64_t *sizes, int *keep) {
  int m = 0;
  for (int i = 0; i < n; i++) {
    int d = order ? order[i] : n - 1 - i;
    if (shape[d] == 1) continue;
    bool joins = m > 0 && (!group || group[d] == group[keep[m - 1]]);
    for (int k = 0; k < nops && joins; k++) joins = strides[k][d] == tl_wrap_mul(strides[k][keep[m - 1]], sizes[m - 1]);
    if (joins) sizes[m - 1] = tl_wrap_mul(sizes[m - 1], shape[d]);
    else {
      sizes[m] = shape[d];
      keep[m++] = d;
    }
  }
  return m;
}

/* Words of a kernel over a coalesced grid, outermost dim first, as a list; a grid of n = 0 dims has one of size 1. */
PyObject *tl_grid_words(int n, const int64_t *sizes); /* new: how many elements, and the sizes */
int tl_append_kept(PyObject *list, int n, const int *keep, const int64_t *strides); /* an operand's strides */
int tl_append_int(PyObject *list, int64_t v);

/* ---- shared memory ----------------------------------------------------------------------------------------------- */
/* PyTorch's checks of a tensor that is to be written. -1 with its message: elements that share memory; memory that is
 * shared with t, both dense. 1: memory may be shared with t. 0: none is, or t has the same elements in the same places.
 */
int tl_check_written(const TlTensor *out);
int tl_check_overlap(const TlTensor *out, const TlTensor *t);
int tl_check_apart(const TlTensor *out,
                   const TlTensor *t);             /* an error for the same elements too; 0: fine, or unknown */
bool tl_repeats(const TlTensor *t);                /* a dim of several elements has stride 0 */
int tl_repeats_error(void), tl_shares_error(void); /* -1 with the messages of these checks */
#endif
