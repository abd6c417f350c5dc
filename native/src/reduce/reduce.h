/* reduce.h: declarations shared by the reduction, scan, sort and normalisation files.
 *
 * A reduction walks its input in memory order, whatever the logical order of the dims: dims are sorted by stride and
 * coalesced, and one of two loops runs innermost. "row": n neighbours belong to one output. "cols": n neighbours belong
 * to n neighbouring outputs and R such rows follow at a fixed distance. Inputs that are strided or stored in a narrow
 * type pass through a small buffer. Accumulators lie in the order of the walk; so does the result, until it is made
 * contiguous.
 */
#ifndef TL_REDUCE_H
#define TL_REDUCE_H
#include "core/tl.h"

typedef struct {
  int ndim;                                       /* walked dims, outermost first */
  int64_t size[TL_MAX_DIMS], stride[TL_MAX_DIMS]; /* elements */
  int64_t ostep[TL_MAX_DIMS], kstep[TL_MAX_DIMS]; /* step of the output position / of the reduced position */
  uint8_t red[TL_MAX_DIMS];
  int64_t nout, k;      /* outputs; elements reduced into each */
  tl_dtype dtype, load; /* stored dtype; dtype the loops are handed */
  bool abs;             /* hand |z| of complex elements to the loops */
  const char *data;
  int odim; /* the result */
  int64_t oshape[TL_MAX_DIMS], ostride[TL_MAX_DIMS];
  bool natural; /* the order of the walk is that of the dims */
} TlRed;

/* o: first output position; k: position of the first element among the reduced ones */
typedef void (*tl_red_row)(void *ctx, int64_t o, int64_t k, const void *p, int64_t n);
typedef void (*tl_red_cols)(void *ctx, int64_t o, int64_t k, const void *p, int64_t rstride, int64_t rows, int64_t n);
typedef struct {
  tl_red_row row;
  tl_red_cols cols;
} TlRedLoop;

/* dim argument -> mask of reduced dims; None reduces all, and so does () unless empty_is_none */
int tl_red_mask(PyObject *dim, int ndim, uint8_t *mask, bool empty_is_none);
void tl_red_plan(TlRed *r, TlTensor *t, const uint8_t *mask, bool keepdim, tl_dtype load);
int tl_red_run(const TlRed *r, TlRedLoop loop, void *ctx);
TlTensor *tl_red_result(const TlRed *r, tl_dtype dtype); /* elements in the order of the walk */
TlTensor *tl_red_done(TlTensor *result);                 /* contiguous, as PyTorch's are; steals; NULL-safe */

/* A tensor seen as [outer, n, inner] around one dim; the tensor is contiguous. */
typedef struct {
  int64_t outer, n, inner;
} TlAxis;
TlAxis tl_axis(const TlTensor *t, int dim);
PyObject *tl_pack2(TlTensor *a, TlTensor *b); /* steals; NULL-safe */
PyObject *tl_pack3(TlTensor *a, TlTensor *b, TlTensor *c);
static inline bool tl_none(PyObject *o) { return o == NULL || o == Py_None; }
static inline TlTensor *tl_opt(PyObject *o) { return tl_none(o) ? NULL : (TlTensor *)o; }

/* rows of other files in the tables of this family */
enum { TL_MIN, TL_MAX }; /* of the next four */
PyObject *tl_k_minmax_all(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out);
PyObject *tl_k_amax(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out);
PyObject *tl_k_max_dim(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out);
PyObject *tl_k_argmax(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out);
PyObject *tl_k_aminmax(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out);
enum { TL_VAR_ROOT = 1, TL_VAR_AND_MEAN = 2 }; /* bits of tl_k_var */
PyObject *tl_k_var(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out);
PyObject *tl_k_vector_norm(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out);
PyObject *tl_k_logsumexp(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out);
PyObject *tl_k_pdist(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out);
PyObject *tl_k_pdist_backward(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out);
#endif
