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

struct TlStorage;

/* element (i, k): i counts rows of a or columns of b, k is the index summed over */
typedef struct {
  const void *p;
  int64_t is, ks;             /* p[i * is + k * ks] */
  const int32_t *ioff, *koff; /* when given: p[ioff[i] + koff[k]] */
  bool k_runs;                /* tables: neighbours along k are mostly neighbours in memory */
  const struct TlStorage *of; /* when given: p is in its memory, of which workers may keep a copy (page_kept.h) */
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
  int64_t from, to;                 /* panels of columns, over all images, that a packed product computes (to 0: all) */
} TlGemm;

/* 0, or -1 with an exception set (memory, interrupt). Large products run on several threads (gemm_split.c). */
int tl_gemm_f32(const TlGemm *g);
int tl_gemm_f64(const TlGemm *g);
int tl_gemm_i64(const TlGemm *g);

typedef enum { TL_GEMM_F32, TL_GEMM_F64, TL_GEMM_I64 } TlGemmType;
/* `count` products: a and b of each as far from the first as its indices along nd dims of these sizes and strides say;
 * results follow one another in memory */
typedef struct {
  int64_t count;
  int nd;
  const int64_t *shape, *as, *bs;
} TlBatch;
void tl_batch_at(const TlBatch *batch, int64_t i, int64_t *a, int64_t *b); /* how far a and b of product i are */
int tl_gemm_batch(TlGemmType type, const TlGemm *g, const TlBatch *batch);

/* Packs a b of n columns that many products will read. Returns the elements that this takes; dst may be NULL. */
int64_t tl_gemm_panels_f32(float *dst, const TlMat *b, int64_t n, int64_t k);
int64_t tl_gemm_panels_f64(double *dst, const TlMat *b, int64_t n, int64_t k);

/* ---- for gemm_split.c and the threads of a page ---- */
/* How a product is computed decides in which order its sums run. So it is chosen once, for the whole product. */
typedef enum {
  TL_WAY_NONE,
  TL_WAY_ZERO,
  TL_WAY_DOT, /* of two vectors */
  TL_WAY_DOTS,
  TL_WAY_AXPYS,
  TL_WAY_ROW, /* one row, as the sum of several AXPYS: see tl_gemm_row */
  TL_WAY_DIRECT,
  TL_WAY_DEEP,
  TL_WAY_PACKED
} TlWay;
typedef struct {
  TlWay (*way)(TlGemm *g); /* may turn g into the transposed product */
  int (*run)(const TlGemm *g, TlWay way);
  /* TL_WAY_ROW's last step (float): c from the rows of `sums` and from what tl_gemm_row left over */
  int (*join)(const TlGemm *g, const void *sums, int64_t count);
  int size, panel; /* bytes of an element, columns of a panel */
} TlGemmKind;
extern const TlGemmKind tl_gemm_kinds[];
/* The products of neighbouring rows of b that make up a TL_WAY_ROW: how many, and the first. Its results are rows of
 * memory that the caller provides. The last k % count rows of b are in none. */
int64_t tl_gemm_row(const TlGemm *g, TlGemm *first);
/* the products number from .. to of a batch; TL_WAY_NONE: each in its own way */
int tl_gemm_range(TlGemmType type, const TlGemm *g, TlWay way, const TlBatch *batch, int64_t from, int64_t to);
#endif
