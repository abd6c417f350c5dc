/* rng.h: the CPU generator, mt19937 with PyTorch's draws, and its Python object. */
#ifndef TL_RNG_H
#define TL_RNG_H
#include "index/index.h"

typedef struct {
  PyObject_HEAD uint64_t seed;
  int32_t left, seeded;
  uint32_t next, state[624];
  double normal; /* the second half of the last pair of double normals */
  float normal_f;
  uint8_t has_normal, has_normal_f;
} TlGenerator;

/* Generator argument (None: the default one); NULL with TypeError. Borrowed. */
TlGenerator *tl_generator(PyObject *o);
PyTypeObject *tl_generator_type(void);
int tl_set_default_generator(PyObject *o);
void tl_mt_refill(TlGenerator *g);

static inline uint32_t tl_random32(TlGenerator *g) {
  uint32_t y;
  if (--g->left == 0) tl_mt_refill(g);
  y = g->state[g->next++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}
/* the first draw is the high half */
static inline uint64_t tl_random64(TlGenerator *g) {
  uint64_t hi = tl_random32(g);
  return hi << 32 | tl_random32(g);
}
static inline float tl_uniform_f(TlGenerator *g) { return (float)(tl_random32(g) & 0xffffffu) * 0x1p-24f; }
static inline double tl_uniform_d(TlGenerator *g) {
  return (double)(tl_random64(g) & ((UINT64_C(1) << 53) - 1)) * 0x1p-53;
}
double tl_normal_d(TlGenerator *g);
/* sampling.c, for the table in random.c */
enum { TL_POISSON, TL_BINOMIAL, TL_GAMMA }; /* ids of tl_k_sampled */
PyObject *tl_k_sampled(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out);
PyObject *tl_k_dirichlet(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out);
#endif
