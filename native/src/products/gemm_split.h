/* gemm_split.h: how a product is cut into parts. */
#ifndef TL_GEMM_SPLIT_H
#define TL_GEMM_SPLIT_H
#include "products/gemm.h"

typedef enum { TL_BATCHES, TL_ROWS, TL_COLUMNS, TL_PANELS } TlCut;

typedef struct {
  TlGemmType type;
  TlWay way;
  TlGemm g; /* with a batch, its first product */
  const TlBatch *batch;
  TlCut cut;
  int64_t units, step; /* what is cut: so many pieces of `step` products, rows, columns or panels */
  int parts;
} TlSplit;

/* where a part begins, in units; that of number `parts` is where the last one ends */
static inline int64_t tl_split_at(const TlSplit *s, int part) { return s->units * part / s->parts; }
TlGemm tl_split_piece(const TlSplit *s, int part); /* of one product */
static inline TlWay tl_batch_way(const TlSplit *s) { return s->way == TL_WAY_ROW ? TL_WAY_AXPYS : TL_WAY_NONE; }
int tl_split_run(void *split, int part);
/* all parts, on whatever threads there are. 0, or -1 with an exception set */
int tl_split_all(TlSplit *s);
#endif
