/* gemm_page.h: what Pyodide's thread hands to the workers of a page. Both sides are 32-bit WebAssembly made by one
 * compiler, so structures agree; pointers are of the workers' memory. */
#ifndef TL_GEMM_PAGE_H
#define TL_GEMM_PAGE_H
#include "products/gemm.h"

typedef struct {
  TlGemm g;
  TlWay way;
  bool batched; /* products from .. to of the batch */
  TlBatch batch;
  int64_t from, to;
} TlPagePart;
#endif
