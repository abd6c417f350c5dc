/* conv_last.c: convolutions of channels-last memory. Pixels are the rows of a product and channels its columns, so
 * images are read, and results written, in runs of channels. Sums go over the taps and, for each tap, over the
 * channels: the order of a channels-last weight. */
#include "conv/conv.h"

static int64_t vol(const int64_t *v) { return v[0] * v[1] * v[2]; }

/* offsets of (tap, channel) pairs; off: of each tap, in pixels of `row` elements */
static void pairs(int32_t *t, const int32_t *off, int64_t taps, int64_t channels, int64_t row) {
  for (int64_t i = 0; i < taps; i++)
    for (int64_t c = 0; c < channels; c++) *t++ = (int32_t)(off[i] * row + c);
}

/* xt, yt: channels of x and y in all groups; K: terms of a sum; pix: pixels of y; xp: sizes of x with its padding;
 * image: elements of such an x; chunk: images that are computed at a time; unit: a single tap, without stride and
 * padding */
typedef struct {
  int64_t K, taps, xt, yt, pix, image, chunk, xp[3];
  bool pad, unit;
  int32_t *rows, *ko; /* rows: offsets in x of the pixels of y, for a chunk of images; ko: of (tap, channel) pairs */
  char *buf;
} Plan;

static int plan(Plan *q, const TlConv *c, size_t e) {
  q->taps = vol(c->k);
  q->K = c->xc * q->taps;
  q->pix = vol(c->y);
  q->xt = c->groups * c->xc;
  q->yt = c->groups * c->yc;
  q->pad = false;
  q->unit = q->taps == 1;
  for (int i = 0; i < 3; i++) {
    q->xp[i] = c->x[i] + 2 * c->p[i];
    q->pad |= c->p[i] != 0;
    q->unit &= c->s[i] == 1 && !c->p[i];
  }
  q->image = q->xt * vol(q->xp);
  q->chunk = tl_conv_chunk(c->n, q->image, q->pix, e);
  q->buf = NULL;
  if (tl_conv_large(q->chunk * q->image)) return -1;
  int32_t *taps = tl_malloc((uint64_t)(q->chunk * q->pix + q->K + q->taps) * sizeof(int32_t) + 64);
  if (!taps) return -1;
  if (q->pad && !(q->buf = tl_malloc((uint64_t)(q->chunk * q->image) * e))) {
    tl_free(taps);
    return -1;
  }
  q->rows = taps + q->taps;
  q->ko = q->rows + q->chunk * q->pix;
  tl_conv_table(taps, 0, c->k, c->d, q->xp, 1);
  pairs(q->ko, taps, q->taps, c->xc, q->xt);
  for (int64_t i = 0; i < q->chunk; i++) tl_conv_table(q->rows + i * q->pix, i * q->image, c->y, c->s, q->xp, q->xt);
  return 0;
}
static void drop(Plan *q) {
  tl_free(q->rows - q->taps);
  tl_free(q->buf);
}
/* nb images of x from number n0 on, with their padding */
static const char *images(const Plan *q, const TlConv *c, const void *x, int64_t n0, int64_t nb, size_t e) {
  const char *p = (const char *)x + (size_t)(n0 * q->xt * vol(c->x)) * e;
  if (!q->pad) return p;
  tl_conv_pad(q->buf, p, nb, c->x, c->p, q->xp, e * (size_t)q->xt);
  return q->buf;
}

int tl_conv_last_forward(const TlConv *c, tl_dtype dt, const void *x, const void *w, const void *bias, void *y) {
  if (dt == TL_F32 && c->xc == 1 && c->groups > 1) return tl_depthwise_last(c, false, x, w, bias, y);
  const size_t e = tl_itemsize[dt];
  Plan q;
  int rc = -1;
  if (plan(&q, c, e)) return -1;
  for (int64_t n0 = 0; n0 < c->n; n0 += q.chunk) {
    int64_t nb = c->n - n0 < q.chunk ? c->n - n0 : q.chunk;
    const char *p = images(&q, c, x, n0, nb, e);
    for (int64_t g = 0; g < c->groups; g++) {
      TlGemm m = {.m = nb * q.pix, .n = c->yc, .k = q.K, .c_rs = q.yt, .c_cs = 1};
      p += g ? (size_t)c->xc * e : 0;
      m.a =
        q.unit ? (TlMat){.p = p, .is = q.xt, .ks = 1} : (TlMat){.p = p, .ioff = q.rows, .koff = q.ko, .k_runs = true};
      m.b = (TlMat){.p = (const char *)w + (size_t)(g * c->yc * q.K) * e, .is = q.K, .ks = 1, .of = c->of};
      m.c = (char *)y + (size_t)(n0 * q.pix * q.yt + g * c->yc) * e;
      if (bias) m.col_bias = (const char *)bias + (size_t)(g * c->yc) * e;
      if (tl_conv_gemm(dt)(&m)) goto done;
    }
  }
  rc = 0;
done:
  drop(&q);
  return rc;
}

int tl_conv_last_weight(const TlConv *c, tl_dtype dt, const void *x, const void *y, void *w) {
  if (dt == TL_F32 && c->xc == 1 && c->groups > 1) return tl_depthwise_last_weight(c, x, y, w);
  const size_t e = tl_itemsize[dt];
  Plan q;
  int rc = -1;
  if (plan(&q, c, e)) return -1;
  if (c->n == 0) memset(w, 0, (size_t)(q.yt * q.K) * e);
  for (int64_t n0 = 0; n0 < c->n; n0 += q.chunk) {
    int64_t nb = c->n - n0 < q.chunk ? c->n - n0 : q.chunk;
    const char *p = images(&q, c, x, n0, nb, e);
    for (int64_t g = 0; g < c->groups; g++) {
      TlGemm m = {.m = c->yc, .n = q.K, .k = nb * q.pix, .c_rs = q.K, .c_cs = 1, .accumulate = n0 > 0};
      p += g ? (size_t)c->xc * e : 0;
      m.a = (TlMat){.p = (const char *)y + (size_t)(n0 * q.pix * q.yt + g * c->yc) * e, .is = 1, .ks = q.yt};
      m.b = q.unit ? (TlMat){.p = p, .is = 1, .ks = q.xt} : (TlMat){.p = p, .ioff = q.ko, .koff = q.rows};
      m.c = (char *)w + (size_t)(g * c->yc * q.K) * e;
      if (tl_conv_gemm(dt)(&m)) goto done;
    }
  }
  rc = 0;
done:
  drop(&q);
  return rc;
}

/* x from y, by the phases of tl_conv_data. With one phase, pixels are rows of the product. With several they are
 * columns, since the pixels of a phase are not adjacent. */
int tl_conv_last_data(const TlConv *c, tl_dtype dt, const void *y, const void *w, const void *bias, void *x) {
  if (dt == TL_F32 && c->xc == 1 && c->groups > 1) return tl_depthwise_last(c, true, y, w, bias, x);
  if (tl_conv_scatter_pays(c, dt)) return tl_conv_scatter(c, true, y, w, bias, x);
  static const int64_t one[3] = {1, 1, 1};
  const size_t e = tl_itemsize[dt];
  const int64_t taps = vol(c->k), pix = vol(c->x), xt = c->groups * c->xc, yt = c->groups * c->yc, nphase = vol(c->s),
                wrow = c->xc * taps;
  const bool whole = nphase == 1;
  int64_t lead[3], yp[3];
  const bool pad = tl_conv_reach(c, lead, yp);
  if (pad && tl_conv_not_finite(dt, w, c->groups * c->yc * wrow))
    return tl_conv_exact(c, dt, true, true, x, w, (void *)y, bias);
  const int64_t image = yt * vol(yp), chunk = tl_conv_chunk(c->n, image, pix / nphase + 1, e),
                nrows = whole ? chunk * pix : pix;
  char *buf = NULL;
  int rc = -1;
  if (tl_conv_large(chunk * image) || tl_conv_large(pix * xt) || tl_conv_large(c->yc * wrow)) return -1;
  int32_t *tab = tl_malloc((uint64_t)(nrows + pix + 2 * taps + 2 * c->yc * taps + c->xc) * sizeof(int32_t) + 64);
  if (!tab) return -1;
  int32_t *po = tab, *co = po + nrows, *off = co + pix, *tap = off + taps, *ko = tap + taps, *wo = ko + c->yc * taps,
          *wi = wo + c->yc * taps;
  for (int64_t i = 0; i < c->xc; i++) wi[i] = (int32_t)i;
  if (pad && !(buf = tl_malloc((uint64_t)(chunk * image) * e))) goto done;
  for (int64_t n0 = 0; n0 < c->n; n0 += chunk) {
    int64_t nb = c->n - n0 < chunk ? c->n - n0 : chunk;
    const char *p = (const char *)y + (size_t)(n0 * yt * vol(c->y)) * e;
    if (pad) {
      tl_conv_pad(buf, p, nb, c->y, lead, yp, e * (size_t)yt);
      p = buf;
    }
    for (int64_t phase = 0; phase < nphase; phase++) {
      int64_t ph[3] = {phase / (c->s[1] * c->s[2]), phase / c->s[2] % c->s[1], phase % c->s[2]}, cnt[3];
      for (int i = 0; i < 3; i++) cnt[i] = ph[i] < c->x[i] ? (c->x[i] - ph[i] + c->s[i] - 1) / c->s[i] : 0;
      const int64_t used = tl_conv_taps(c, ph, lead, yp, off, tap), each = vol(cnt);
      if (!each) continue;
      pairs(ko, off, used, c->yc, yt);
      for (int64_t i = 0; i < used; i++)
        for (int64_t o = 0; o < c->yc; o++) wo[i * c->yc + o] = (int32_t)(o * wrow + tap[i] * c->xc);
      for (int64_t i = 0; i < (whole ? nb : 1); i++) tl_conv_table(po + i * pix, i * image, cnt, one, yp, yt);
      if (!whole) tl_conv_table(co, ((ph[0] * c->x[1] + ph[1]) * c->x[2] + ph[2]) * xt, cnt, c->s, c->x, xt);
      for (int64_t g = 0; g < c->groups; g++) {
        TlMat wm = {.p = (const char *)w + (size_t)(g * c->yc * wrow) * e, .ioff = wi, .koff = wo};
        TlMat ym = {.p = p + (size_t)(g * c->yc) * e, .ioff = po, .koff = ko, .k_runs = true};
        const void *b = bias ? (const char *)bias + (size_t)(g * c->xc) * e : NULL;
        TlGemm m = {
          .m = nb * each, .n = c->xc, .k = c->yc * used, .a = ym, .b = wm, .c_rs = xt, .c_cs = 1, .col_bias = b};
        if (!whole)
          m = (TlGemm){.m = c->xc,
                       .n = each,
                       .k = c->yc * used,
                       .a = wm,
                       .b = ym,
                       .images = nb,
                       .b_image = image,
                       .c_image = pix * xt,
                       .c_rs = 1,
                       .coff = co,
                       .row_bias = b};
        else if (c->k[0] > 1) m.block = 32; /* volumes: long sums with cancellation, so short blocks */
        m.c = (char *)x + (size_t)(n0 * pix * xt + g * c->xc) * e;
        if (tl_conv_gemm(dt)(&m)) goto done;
      }
    }
  }
  rc = 0;
done:
  tl_free(tab);
  tl_free(buf);
  return rc;
}
