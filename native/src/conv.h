/* conv.h: the three products behind every convolution, shared by conv.c (arguments) and conv_run.c (loops).
 *
 * x is the large side, y the small side: y[n, o, q] = sum over c, t of w[o, c, t] x[n, c, q * stride + t * dilation - pad].
 * A plain convolution reads x and writes y; a transposed one reads y and writes x. Always three spatial dims. */
#ifndef TL_CONV_H
#define TL_CONV_H
#include "tl.h"

typedef struct {
  int64_t n, groups, xc, yc;                 /* batch; channels of each side in one group */
  int64_t x[3], y[3], k[3], s[3], p[3], d[3];
} TlConv;

/* Contiguous memory of dtype F32, F64 or I64. 0, or -1 with an exception set. */
int tl_conv_forward(const TlConv *c, tl_dtype dt, const void *x, const void *w, const void *bias, void *y);
int tl_conv_data(const TlConv *c, tl_dtype dt, const void *y, const void *w, const void *bias, void *x);
int tl_conv_weight(const TlConv *c, tl_dtype dt, const void *x, const void *y, void *w);

/* depthwise float32 (xc == 1): direct loops */
int tl_depthwise_forward(const TlConv *c, const float *x, const float *w, const float *bias, float *y);
int tl_depthwise_data(const TlConv *c, const float *y, const float *w, const float *bias, float *x);
int tl_depthwise_weight(const TlConv *c, const float *x, const float *y, float *w);
#endif
