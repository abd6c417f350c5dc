/* sort.h: ordering of rows by integer keys.
 *
 * Every real dtype maps to an unsigned key in PyTorch's order: NaN above everything, -0 equal to 0; descending order is
 * the complement. Items carry their position: 32-bit keys share one word with it, so that sorting the words is stable
 * whatever the method; 64-bit keys travel beside it.
 */
#ifndef TL_SORT_H
#define TL_SORT_H
#include "reduce/reduce.h"

typedef uint64_t TlItem32; /* key << 32 | position */
typedef struct {
  uint64_t key, at;
} TlItem64;

static inline uint32_t tl_key_i32(int32_t x) { return (uint32_t)x ^ 0x80000000u; }
static inline uint64_t tl_key_i64(int64_t x) { return (uint64_t)x ^ (UINT64_C(1) << 63); }
static inline uint32_t tl_key_f32(float x) {
  uint32_t u;
  if (x != x) return UINT32_MAX;
  x += 0.0f; /* -0 -> 0 */
  memcpy(&u, &x, 4);
  return u & 0x80000000u ? ~u : u | 0x80000000u;
}
static inline uint64_t tl_key_f64(double x) {
  uint64_t u;
  if (x != x) return UINT64_MAX;
  x += 0.0;
  memcpy(&u, &x, 8);
  return u >> 63 ? ~u : u | (UINT64_C(1) << 63);
}

/* n items, tmp of the same size; the result is in a */
int tl_sort32(TlItem32 *a, TlItem32 *tmp, int64_t n);
int tl_sort64(TlItem64 *a, TlItem64 *tmp, int64_t n);
/* the k smallest items come first, in any order */
void tl_select32(TlItem32 *a, int64_t n, int64_t k);
void tl_select64(TlItem64 *a, int64_t n, int64_t k);

/* Equal keys in the order of the C++ library; see ties.h. */
#define TL_TIES(N) \
  void tl_ties_heap##N(TlItem##N *a, int64_t n); \
  void tl_ties_replace_top##N(TlItem##N *a, int64_t n, TlItem##N item); \
  void tl_ties_sort_heap##N(TlItem##N *a, int64_t n); \
  int tl_ties_top##N(TlItem##N *a, int64_t n, int64_t k, bool few, bool sorted); \
  int tl_ties_sort##N(TlItem##N *a, int64_t n);
TL_TIES(32)
TL_TIES(64)

/* Keys of one row: n elements of loop dtype d (I32, I64, F32, F64), `step` apart. Returns what tl_row_at understands.
 */
typedef struct {
  bool wide;
  void *items, *tmp;
  int64_t n;
} TlRow;
int tl_row_alloc(TlRow *r, tl_dtype d, int64_t n); /* n must fit 32 bits for narrow keys */
void tl_row_free(TlRow *r);
void tl_row_load(TlRow *r, tl_dtype d, const void *p, int64_t step, bool descending);
int tl_row_sort(TlRow *r);
static inline int64_t tl_row_at(const TlRow *r, int64_t i) {
  return r->wide ? (int64_t)((const TlItem64 *)r->items)[i].at : (int64_t)(uint32_t)((const TlItem32 *)r->items)[i];
}
static inline uint64_t tl_row_key(const TlRow *r, int64_t i) {
  return r->wide ? ((const TlItem64 *)r->items)[i].key : ((const TlItem32 *)r->items)[i] >> 32;
}

/* the positions of the first m along a dim: topk's indices */
TlTensor *tl_top_positions(TlTensor *t, int dim, int64_t m, bool largest, bool sorted);

PyObject *tl_k_unique(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out);
enum { TL_UNIQUE_DIM, TL_UNIQUE_CONSECUTIVE };
PyObject *tl_k_unique_dim(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out);
enum { TL_SEARCHSORTED, TL_BUCKETIZE };
PyObject *tl_k_searchsorted(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out);
PyObject *tl_k_histc(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out);
PyObject *tl_k_bincount(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out);
#endif
