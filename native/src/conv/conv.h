/* conv.h: the three products behind every convolution, shared by conv.c (arguments) and conv_run.c (loops).
 *
 * x is the large side, y the small side: y[n, o, q] = sum over c, t of w[o, c, t] x[n, c, q * stride + t * dilation -
 * pad]. A plain convolution reads x and writes y; a transposed one reads y and writes x. Always three spatial dims. */
#ifndef TL_CONV_H
#define TL_CONV_H
#include "core/tl.h"
#include "products/gemm.h"

typedef struct {
  int64_t n, groups, xc, yc; /* batch; channels of each side in one group */
  int64_t x[3], y[3], k[3], s[3], p[3], d[3];
  const TlStorage *of; /* when given: the storage that w is in (TlMat) */
} TlConv;

/* Memory of dtype F32, F64 or I64: x, w and y contiguous here, channels last in the tl_conv_last forms. 0, or -1 with
 * an exception set. */
int tl_conv_forward(const TlConv *c, tl_dtype dt, const void *x, const void *w, const void *bias, void *y);
int tl_conv_data(const TlConv *c, tl_dtype dt, const void *y, const void *w, const void *bias, void *x);
int tl_conv_weight(const TlConv *c, tl_dtype dt, const void *x, const void *y, void *w);
int tl_conv_last_forward(const TlConv *c, tl_dtype dt, const void *x, const void *w, const void *bias, void *y);
int tl_conv_last_data(const TlConv *c, tl_dtype dt, const void *y, const void *w, const void *bias, void *x);
int tl_conv_last_weight(const TlConv *c, tl_dtype dt, const void *x, const void *y, void *w);

/* conv_run.c, shared by both */
typedef int (*tl_gemm_fn)(const TlGemm *);
tl_gemm_fn tl_conv_gemm(tl_dtype dt);
/* copies planes of size `in`, elements of e bytes, into planes of size `out` at offset `lead`; the rest becomes 0 */
void tl_conv_pad(char *dst, const char *src, int64_t planes, const int64_t *in, const int64_t *lead, const int64_t *out,
                 size_t e);
/* offsets of positions 0..n in steps inside planes of size dims, in pixels of `unit` elements; returns how many */
int64_t tl_conv_table(int32_t *t, int64_t base, const int64_t *n, const int64_t *step, const int64_t *dims,
                      int64_t unit);
/* images that go into one product: enough columns, at most 4 MB of padded copies */
int64_t tl_conv_chunk(int64_t n, int64_t image, int64_t columns, size_t e);
int tl_conv_large(int64_t elements); /* raises, and returns -1, if 32-bit offsets cannot reach so many elements */
/* The padding of y that the gradient of x needs: lead is what comes in front, yp the size of the padded y. False if
 * there is none. */
bool tl_conv_reach(const TlConv *c, int64_t *lead, int64_t *yp);
/* For the positions of x in one phase of the stride: the taps that reach them, and the offsets of those in the padded
 * y. Returns their number. */
int64_t tl_conv_taps(const TlConv *c, const int64_t *phase, const int64_t *lead, const int64_t *yp, int32_t *off,
                     int32_t *tap);

/* conv_exact.c: y from x, or x from y if `data`, for weights (F32 or F64) with infinities or NaN, which must not be
 * multiplied by padding. bias: of the result */
bool tl_conv_not_finite(tl_dtype dt, const void *p, int64_t n); /* true if one of them is infinite or NaN */
int tl_conv_exact(const TlConv *c, tl_dtype dt, bool data, bool last, void *x, const void *w, void *y,
                  const void *bias);

/* conv_scatter.c: x from y by adding up what each pixel of y gives, and whether that is faster than tl_conv_data's way.
 * last: of channels-last memory */
bool tl_conv_scatter_pays(const TlConv *c, tl_dtype dt);
int tl_conv_scatter(const TlConv *c, bool last, const float *y, const float *w, const float *bias, float *x);

/* depthwise float32 (xc == 1): direct loops */
int tl_depthwise_forward(const TlConv *c, const float *x, const float *w, const float *bias, float *y);
int tl_depthwise_data(const TlConv *c, const float *y, const float *w, const float *bias, float *x);
int tl_depthwise_weight(const TlConv *c, const float *x, const float *y, float *w);
int tl_depthwise_last(const TlConv *c, bool data, const float *in, const float *w, const float *bias,
                      float *out); /* forward; data: x from y */
int tl_depthwise_last_weight(const TlConv *c, const float *x, const float *y, float *w);
#endif
