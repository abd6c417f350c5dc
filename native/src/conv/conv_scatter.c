/* conv_scatter.c: x from y as one product and a sum, in float32. The product has what each pixel of y gives to each
 * tap; the sum adds these up in x. tl_conv_data reads all taps for each pixel of x instead, and most of them are
 * padding where the kernel is large and y small: 15 of 16 where one pixel becomes 4 x 4. */
#include "conv/conv.h"

static int64_t vol(const int64_t *v) { return v[0] * v[1] * v[2]; }

enum { MOST = 1 << 23 }; /* elements of the product of one image */

bool tl_conv_scatter_pays(const TlConv *c, tl_dtype dt) {
  /* multiplications of each way; adding one number to x takes the time of some 16 of them */
  const double taps = (double)vol(c->k), gather = (double)c->yc * taps * (double)vol(c->x) / (double)vol(c->s),
               scatter = (double)(c->yc + 16) * taps * (double)vol(c->y);
  return dt == TL_F32 && taps > 1 && scatter * 1.3 < gather && (double)c->xc * taps * (double)vol(c->y) < MOST;
}

/* Where the taps of one pixel of y land in a row of x: taps from .. to, the first of them at pixel `at`. */
typedef struct {
  int64_t from, to, at;
} Span;

static void spans(const TlConv *c, Span *span) {
  for (int64_t q = 0; q < c->y[2]; q++) {
    const int64_t base = q * c->s[2] - c->p[2], d = c->d[2];
    const int64_t from = base < 0 ? (-base + d - 1) / d : 0, to = base < c->x[2] ? (c->x[2] - base + d - 1) / d : 0;
    span[q] = (Span){from, to < c->k[2] ? to : c->k[2], base + from * d};
  }
}

/* Elements between the taps of the product, between its pixels, and between pixels of x; channels added at a time. */
typedef struct {
  int64_t tap, pixel, x, unit;
} Step;

/* adds one row of taps of a row of pixels to a row of x */
static void add_row(const TlConv *c, const Span *span, const Step *l, float *x, const float *from) {
  for (int64_t q = 0; q < c->y[2]; q++, span++, from += l->pixel) {
    const float *p = from + span->from * l->tap;
    float *to = x + span->at * l->x;
    const int64_t n = span->to - span->from, step = c->d[2] * l->x;
    if (l->x > 1)
      for (int64_t i = 0; i < n; i++, p += l->tap, to += step)
        for (int64_t u = 0; u < l->unit; u++) to[u] += p[u];
    else if (step == 1)
      for (int64_t i = 0; i < n; i++) to[i] += p[i];
    else
      for (int64_t i = 0; i < n; i++) to[i * step] += p[i];
  }
}

/* adds the product of one image, or of one of its channels, to its x */
static void add(const TlConv *c, const Span *span, const Step *l, float *x, const float *from) {
  const int64_t row = c->x[2] * l->x;
  for (int64_t tz = 0; tz < c->k[0]; tz++)
    for (int64_t qz = 0; qz < c->y[0]; qz++) {
      const int64_t z = qz * c->s[0] + tz * c->d[0] - c->p[0];
      if (z < 0 || z >= c->x[0]) continue;
      for (int64_t ty = 0; ty < c->k[1]; ty++)
        for (int64_t qy = 0; qy < c->y[1]; qy++) {
          const int64_t y = qy * c->s[1] + ty * c->d[1] - c->p[1], tap = (tz * c->k[1] + ty) * c->k[2],
                        pixel = (qz * c->y[1] + qy) * c->y[2];
          if (y < 0 || y >= c->x[1]) continue;
          add_row(c, span, l, x + (z * c->x[1] + y) * row, from + tap * l->tap + pixel * l->pixel);
        }
    }
}

/* n rows: of the bias of their channel, or (last) of all biases; zeros without a bias */
static void fill(float *x, const float *bias, int64_t n, int64_t row, bool last) {
  if (!bias) memset(x, 0, (size_t)(n * row) * sizeof *x);
  for (int64_t i = 0; i < n && bias; i++)
    for (int64_t j = 0; j < row; j++) *x++ = bias[last ? j : i];
}

static void to_last(float *dst, const float *src, int64_t channels, int64_t pixels) {
  for (int64_t i = 0; i < pixels; i++)
    for (int64_t j = 0; j < channels; j++) *dst++ = src[j * pixels + i];
}

/* y is one pixel, and x has exactly one pixel for each tap: no sum is needed. */
static bool is_product(const TlConv *c) {
  bool is = true;
  for (int i = 0; i < 3; i++) is &= c->y[i] == 1 && !c->p[i] && c->x[i] == c->k[i] && (c->d[i] == 1 || c->k[i] == 1);
  return is;
}

int tl_conv_scatter(const TlConv *c, bool last, const float *y, const float *w, const float *bias, float *x) {
  const int64_t taps = vol(c->k), each = c->xc * taps, pix = vol(c->y), xpix = vol(c->x), xt = c->groups * c->xc,
                yt = c->groups * c->yc, chunk = tl_conv_chunk(c->n, each * pix, pix, sizeof(float)),
                parts = last ? 1 : c->xc, plane = last ? 1 : xpix;
  const bool direct = !last && is_product(c), turn = !last && pix > 1;
  const Step l = last ? (Step){c->xc, each, xt, c->xc} : (Step){1, each, 1, 1};
  Span *span = tl_malloc((uint64_t)c->y[2] * sizeof *span + 1);
  float *buf = tl_malloc((uint64_t)(direct ? each : chunk * each * pix) * sizeof(float) + 1),
        *turned = tl_malloc((uint64_t)(turn ? chunk * yt * pix : 0) * sizeof(float) + 1);
  int rc = -1;
  if (!span || !buf || !turned) goto done;
  spans(c, span);
  for (int64_t n0 = 0; n0 < c->n; n0 += chunk) {
    const int64_t nb = c->n - n0 < chunk ? c->n - n0 : chunk;
    const float *yb = y + n0 * yt * pix;
    float *to = x + n0 * xt * xpix;
    for (int64_t i = 0; i < nb; i++) {
      if (!direct) fill(to + i * xt * xpix, bias, last ? xpix : xt, last ? xt : xpix, last);
      if (turn) to_last(turned + i * yt * pix, yb + i * yt * pix, yt, pix);
    }
    if (turn) yb = turned;
    for (int64_t g = 0; g < c->groups; g++) {
      TlGemm m = {.m = nb * pix, .n = each, .k = c->yc, .c = buf, .c_rs = each, .c_cs = 1};
      m.a = (TlMat){.p = yb + g * c->yc, .is = yt, .ks = 1};
      m.b = (TlMat){.p = w + g * c->yc * each, .is = 1, .ks = each};
      if (direct) {
        if (bias) fill(buf, bias + g * c->xc, c->xc, taps, false);
        m.col_bias = bias ? buf : NULL;
        m.c = to + g * each;
        m.c_rs = xt * xpix;
      }
      if (tl_gemm_f32(&m)) goto done;
      for (int64_t i = 0; i < nb && !direct; i++)
        for (int64_t p = 0; p < parts; p++)
          add(c, span, &l, to + i * xt * xpix + (g * c->xc + p) * plane, buf + i * each * pix + p * taps);
    }
  }
  rc = 0;
done:
  tl_free(span);
  tl_free(buf);
  tl_free(turned);
  return rc;
}
