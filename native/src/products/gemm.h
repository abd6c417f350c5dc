/* gemm.h: matrix products c = a b for float, double and int64_t.
 *
 * An operand is read through strides or through two offset tables and packed into panels on the way, so transposed
 * matrices, im2col matrices of a convolution and strided views are never copied as a whole. Sums run in the element
 * type.
 */
#ifndef TL_GEMM_H
#define TL_GEMM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* element (i, k): i counts rows of a or columns of b, k is the index summed over */
typedef struct {
  const void *p;
  int64_t is, ks;             /* p[i * is + k * ks] */
  const int32_t *ioff, *koff; /* when given: p[ioff[i] + koff[k]] */
  bool k_runs;                /* tables: neighbours along k are mostly neighbours in memory */
} TlMat;

typedef struct {
  int64_t m, n, k;
  TlMat a, b;
  void *c; /* element (i, j) at c[i * c_rs + j * c_cs], or c[i * c_rs + coff[j]] */
  int64_t c_rs, c_cs;
  const int32_t *coff;
  int64_t images, b_image, c_image; /* n columns for each image; b and c advance by these (0 images counts as 1) */
  const void *row_bias, *col_bias;  /* at most one; added to the product unless accumulate */
  bool accumulate;                  /* c += a b */
  const void *b_panels;             /* when given: b packed by tl_gemm_panels, read in its place where that is faster */
  int64_t block;                    /* when given: sums of at most so many products are added up (packed products) */
} TlGemm;

/* 0, or -1 with an exception set (memory, interrupt) */
int tl_gemm_f32(const TlGemm *g);
int tl_gemm_f64(const TlGemm *g);
int tl_gemm_i64(const TlGemm *g);

/* Packs a b of n columns that many products will read. Returns the elements that this takes; dst may be NULL. */
int64_t tl_gemm_panels_f32(float *dst, const TlMat *b, int64_t n, int64_t k);
int64_t tl_gemm_panels_f64(double *dst, const TlMat *b, int64_t n, int64_t k);

void *tl_malloc(uint64_t nbytes);
void tl_free(void *p);
#endif
