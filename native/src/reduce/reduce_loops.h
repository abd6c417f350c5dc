/* reduce_loops.h: inner loops of the reductions, as tables indexed by the dtype of the loop.
 *
 * Sums of float32 run in float lanes over blocks and join double accumulators after each block, so the error does not
 * grow with the length; float64 uses the same shape. A `cols` loop holds a tile of columns in registers over a band of
 * rows. Complex sums are sums over pairs of reals.
 */
#ifndef TL_REDUCE_LOOPS_H
#define TL_REDUCE_LOOPS_H
#include "reduce/reduce.h"
#include "math/simd.h"

/* context of shifted sums (variance): per output the centre and the two sums */
typedef struct {
  double *center, *s1, *s2;
} TlShift;

typedef enum {
  TL_RED_SUM,
  TL_RED_NANSUM,
  TL_RED_ABSSUM,
  TL_RED_SQSUM,
  TL_RED_PROD,
  TL_RED_COUNT,
  TL_RED_MAX,
  TL_RED_MIN,
  TL_RED_SHIFT,
  TL_RED_NUM
} TlRedOp;

/* loops for a loop dtype: sums, products -> double, int64 or complex128 accumulators; counts -> int64; max and min ->
 * the loop dtype itself. BOOL and U8 loops exist for SUM and COUNT. NULL where there is none. */
TlRedLoop tl_red_loop(TlRedOp op, tl_dtype load);
#endif
