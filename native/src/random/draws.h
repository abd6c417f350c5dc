/* draws.h: loops that draw from a distribution, and functions that fill tensors with them. */
#ifndef TL_DRAWS_H
#define TL_DRAWS_H
#include "random/rng.h"
#include "reduce/reduce.h" /* tl_not_implemented */

enum { TL_CHUNK = 512 };

/* A distribution's numbers. a and b: its parameters, as each function says; fa and fb: the same in float; base, range
 * and whole: of integers. */
typedef struct {
  double a, b;
  float fa, fb;
  int64_t base;
  uint64_t range;
  bool whole; /* integers: all 64 bits, base and range do not count */
} TlDist;
/* n contiguous elements of dtype d at out */
typedef void TlDrawFn(TlGenerator *g, const TlDist *p, tl_dtype d, void *out, int64_t n);

TlDrawFn tl_draw_exponential, tl_draw_geometric, tl_draw_cauchy, tl_draw_log_normal, tl_draw_bernoulli, tl_draw_uniform,
  tl_draw_integer, tl_draw_default;

double tl_draw_d(TlGenerator *g);
float tl_draw_f(TlGenerator *g);
void tl_store_drawn(tl_dtype d, void *out, int64_t at, const double *v, int64_t n);
void tl_memory_order(const TlTensor *t, int *perm);
int tl_fill_drawn(TlTensor *t, TlGenerator *g, const TlDist *p, TlDrawFn *draw);
int tl_fill_normal(TlTensor *t, TlGenerator *g, TlDist *p);
PyObject *tl_k_randperm(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out);
PyObject *tl_k_multinomial(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out);
#endif
