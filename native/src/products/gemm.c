/* gemm.c: the products of gemm.h, one instance of gemm_impl.h per element type. */
#include "products/gemm.h"
#include "core/parallel.h"
#include "math/cpu.h"
#include "math/simd.h"

enum { MR = 4, GEMM_MC = 128, GEMM_KC = 256, GEMM_NC = 1024 };
/* Long sums are taken in blocks, whose sums are added in double: elements in a block of a dot product, and depth
 * from which a product is cut. */
enum { DOT_BLOCK = 1024, DEEP = 8192 };
/* SHARES of a row's product, which as many threads can compute: a multiple of this. Each is at most SHARE deep, and
 * WIDE elements of b are the least. */
enum { SHARES = 4, SHARE = 2048, WIDE_ROW = 1 << 19 };

/* Packing memory is kept between calls, as most programs multiply again at once. A signal handler may call a product
 * while one runs: the inner one then allocates its own. */
typedef struct {
  char *p;
  size_t size;
  bool busy;
} Scratch;
static Scratch of_python; /* of whichever thread holds the GIL */
static TL_OF_THREAD Scratch of_pool;

static Scratch *scratch(void) { return tl_in_pool() ? &of_pool : &of_python; }

static char *scratch_get(size_t n, bool *own) {
  Scratch *s = scratch();
  *own = s->busy;
  if (s->busy) return tl_part_malloc(n);
  if (s->size < n) {
    tl_part_free(s->p);
    s->size = 0;
    s->p = tl_part_malloc(n);
    if (!s->p) return NULL;
    s->size = n;
  }
  s->busy = true;
  return s->p;
}

static void scratch_put(char *p, bool own) {
  if (own) tl_part_free(p);
  else scratch()->busy = false;
}

int64_t tl_gemm_row(const TlGemm *g, TlGemm *first) {
  const int64_t count = (g->k + SHARES * SHARE - 1) / (SHARES * SHARE) * SHARES;
  *first = *g;
  first->k = g->k / count;
  first->row_bias = first->col_bias = NULL;
  first->accumulate = false;
  return count;
}

typedef uint64_t v2ul_u __attribute__((vector_size(16), aligned(8)));

#define T float
#define ACC double
#define V v4f
#define V_U v4f_u
#define L 4
#define MADD v4_madd
#if defined(TL_X86_V3)
#define W __m256
#define WIDE(op) _mm256_##op##_ps
#endif
#define F(name) name##_f32
#define RARE
#include "products/gemm_impl.h"
#undef T
#undef ACC
#undef V
#undef V_U
#undef L
#undef MADD
#undef F
#undef W
#undef WIDE

#if !defined(TL_FLOAT_ONLY) /* a page's workers know float only */
#define T double
#define ACC double
#define V v2d
#define V_U v2d_u
#define L 2
#define MADD v2_madd
#if defined(TL_X86_V3)
#define W __m256d
#define WIDE(op) _mm256_##op##_pd
#endif
#define F(name) name##_f64
#include "products/gemm_impl.h"
#undef T
#undef ACC
#undef V
#undef V_U
#undef L
#undef MADD
#undef F
#undef W
#undef WIDE

/* integers of every width: sums modulo 2^64 cut to the result's width are exact modulo that width */
#define T uint64_t
#define ACC uint64_t
#define V v2ul
#define V_U v2ul_u
#define L 2
#define MADD(a, b, c) ((a) * (b) + (c))
#define F(name) name##_i64
#undef RARE
#define RARE TL_SMALL
#include "products/gemm_impl.h"

#define PANELS(T, S, L) \
  int64_t tl_gemm_panels_##S(T *dst, const TlMat *b, int64_t n, int64_t k) { \
    if (dst) pack_##S(dst, b, b->p, 0, n, 0, k, 2 * L); \
    return (n + 2 * L - 1) / (2 * L) * (2 * L) * k; \
  }
PANELS(float, f32, 4)
PANELS(double, f64, 2)
#endif

const TlGemmKind tl_gemm_kinds[] = {
  {way_f32, run_f32, join_f32, 4, 8},
#if !defined(TL_FLOAT_ONLY)
  {way_f64, run_f64, NULL, 8, 4},
  {way_i64, run_i64, NULL, 8, 4},
#endif
};

void tl_batch_at(const TlBatch *batch, int64_t i, int64_t *a, int64_t *b) {
  *a = *b = 0;
  for (int d = batch->nd - 1; d >= 0; d--) {
    const int64_t at = i % batch->shape[d];
    i /= batch->shape[d];
    *a += at * batch->as[d];
    *b += at * batch->bs[d];
  }
}

int tl_gemm_range(TlGemmType type, const TlGemm *g, TlWay way, const TlBatch *batch, int64_t from, int64_t to) {
  const TlGemmKind *kind = &tl_gemm_kinds[type];
  for (int64_t i = from; i < to; i++) {
    TlGemm one = *g;
    int64_t a, b;
    tl_batch_at(batch, i, &a, &b);
    one.a.p = (const char *)g->a.p + a * kind->size;
    one.b.p = (const char *)g->b.p + b * kind->size;
    one.c = (char *)g->c + i * g->m * g->n * kind->size;
    if (kind->run(&one, way ? way : kind->way(&one))) return -1;
  }
  return 0;
}
