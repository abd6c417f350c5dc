/* conv_run.c: convolutions as matrix products whose second operand is never formed: gemm packs its panels straight from
 * the (padded) image through offset tables, one for pixels and one for (channel, tap) pairs. */
#include "conv/conv.h"

tl_gemm_fn tl_conv_gemm(tl_dtype dt) {
  if (dt == TL_I64) return tl_gemm_i64;
  return dt == TL_F32 ? tl_gemm_f32 : tl_gemm_f64;
}
static int64_t vol(const int64_t *v) { return v[0] * v[1] * v[2]; }

void tl_conv_pad(char *dst, const char *src, int64_t planes, const int64_t *in, const int64_t *lead, const int64_t *out,
                 size_t e) {
  const size_t row = (size_t)in[2] * e, orow = (size_t)out[2] * e;
  memset(dst, 0, (size_t)(planes * vol(out)) * e);
  for (int64_t p = 0; p < planes; p++, dst += (size_t)vol(out) * e)
    for (int64_t z = 0; z < in[0]; z++)
      for (int64_t y = 0; y < in[1]; y++, src += row)
        memcpy(dst + (size_t)((z + lead[0]) * out[1] + y + lead[1]) * orow + (size_t)lead[2] * e, src, row);
}

int64_t tl_conv_table(int32_t *t, int64_t base, const int64_t *n, const int64_t *step, const int64_t *dims,
                      int64_t unit) {
  int64_t i = 0;
  for (int64_t z = 0; z < n[0]; z++)
    for (int64_t y = 0; y < n[1]; y++)
      for (int64_t x = 0; x < n[2]; x++)
        t[i++] = (int32_t)(base + ((z * step[0] * dims[1] + y * step[1]) * dims[2] + x * step[2]) * unit);
  return i;
}

int64_t tl_conv_chunk(int64_t n, int64_t image, int64_t columns, size_t e) {
  int64_t c = 2048 / (columns ? columns : 1) + 1, most = (int64_t)((4 << 20) / e) / (image ? image : 1);
  if (c > most) c = most;
  return tl_clamp(c, 1, n);
}

int tl_conv_large(int64_t elements) {
  if (elements < ((int64_t)1 << 31)) return 0;
  PyErr_SetString(PyExc_RuntimeError, "convolution: one image of more than 2**31 elements is not supported");
  return -1;
}

bool tl_conv_reach(const TlConv *c, int64_t *lead, int64_t *yp) {
  bool any = false;
  for (int i = 0; i < 3; i++) {
    int64_t lo = 0, hi = 0;
    for (int64_t ph = 0; ph < c->s[i] && ph < c->x[i]; ph++)
      for (int64_t t = 0; t < c->k[i]; t++) {
        int64_t v = ph + c->p[i] - t * c->d[i];
        if (v % c->s[i]) continue;
        v /= c->s[i];
        int64_t last = v + (c->x[i] - ph - 1) / c->s[i] - (c->y[i] - 1);
        if (-v > lo) lo = -v;
        if (last > hi) hi = last;
      }
    lead[i] = lo;
    yp[i] = c->y[i] + lo + hi;
    any |= lo || hi;
  }
  return any;
}

int64_t tl_conv_taps(const TlConv *c, const int64_t *phase, const int64_t *lead, const int64_t *yp, int32_t *off,
                     int32_t *tap) {
  int64_t used = 0;
  for (int64_t tz = 0; tz < c->k[0]; tz++)
    for (int64_t ty = 0; ty < c->k[1]; ty++)
      for (int64_t tx = 0; tx < c->k[2]; tx++) {
        int64_t t[3] = {tz, ty, tx}, at[3];
        bool hit = true;
        for (int i = 0; i < 3; i++) {
          int64_t v = phase[i] + c->p[i] - t[i] * c->d[i];
          hit &= v % c->s[i] == 0;
          at[i] = v / c->s[i] + lead[i];
        }
        if (!hit) continue;
        off[used] = (int32_t)((at[0] * yp[1] + at[1]) * yp[2] + at[2]);
        tap[used++] = (int32_t)((tz * c->k[1] + ty) * c->k[2] + tx);
      }
  return used;
}

int tl_conv_forward(const TlConv *c, tl_dtype dt, const void *xv, const void *wv, const void *bias, void *yv) {
  if (dt == TL_F32 && c->xc == 1 && c->groups > 1) return tl_depthwise_forward(c, xv, wv, bias, yv);
  const size_t e = tl_itemsize[dt];
  const int64_t taps = vol(c->k), K = c->xc * taps, pix = vol(c->y), planes = c->groups * c->xc;
  const int64_t yimg = c->groups * c->yc * pix;
  int64_t xp[3];
  bool pad = false, unit = taps == 1;
  for (int i = 0; i < 3; i++) {
    xp[i] = c->x[i] + 2 * c->p[i];
    pad |= c->p[i] != 0;
    unit &= c->s[i] == 1 && c->x[i] == c->y[i];
  }
  unit &= !pad;
  const int64_t plane = vol(xp), image = planes * plane, chunk = tl_conv_chunk(c->n, image, pix, e);
  if (tl_conv_large(image)) return -1;
  tl_gemm_fn gemm = tl_conv_gemm(dt);
  int32_t *po = NULL, *ko = NULL;
  char *buf = NULL;
  int rc = -1;
  if (!unit) {
    po = tl_malloc((uint64_t)(pix + K) * sizeof(int32_t) + 4);
    if (!po) return -1;
    ko = po + pix;
    tl_conv_table(po, 0, c->y, c->s, xp, 1);
    for (int64_t ch = 0, i = 0; ch < c->xc; ch++) i += tl_conv_table(ko + i, ch * plane, c->k, c->d, xp, 1);
    if (pad && !(buf = tl_malloc((uint64_t)(chunk * image) * e))) goto done;
  }
  for (int64_t n0 = 0; n0 < c->n; n0 += chunk) {
    int64_t nb = c->n - n0 < chunk ? c->n - n0 : chunk;
    const char *x = (const char *)xv + (size_t)(n0 * planes * vol(c->x)) * e;
    if (pad) {
      tl_conv_pad(buf, x, nb * planes, c->x, c->p, xp, e);
      x = buf;
    }
    for (int64_t g = 0; g < c->groups; g++) {
      TlGemm m = {
        .m = c->yc, .n = pix, .k = K, .images = nb, .b_image = image, .c_image = yimg, .c_rs = pix, .c_cs = 1};
      m.a = (TlMat){.p = (const char *)wv + (size_t)(g * c->yc * K) * e, .is = K, .ks = 1, .of = c->of};
      m.b = unit ? (TlMat){.p = x + (size_t)(g * c->xc * plane) * e, .is = 1, .ks = plane}
                 : (TlMat){.p = x + (size_t)(g * c->xc * plane) * e, .ioff = po, .koff = ko};
      m.c = (char *)yv + (size_t)(n0 * yimg + g * c->yc * pix) * e;
      if (bias) m.row_bias = (const char *)bias + (size_t)(g * c->yc) * e;
      if (gemm(&m)) goto done;
    }
  }
  rc = 0;
done:
  tl_free(po);
  tl_free(buf);
  return rc;
}

/* x from y: for each phase of the stride the positions of x see a fixed set of taps, so that each phase is a
 * convolution of y with stride 1 */
int tl_conv_data(const TlConv *c, tl_dtype dt, const void *yv, const void *wv, const void *bias, void *xv) {
  if (dt == TL_F32 && c->xc == 1 && c->groups > 1) return tl_depthwise_data(c, yv, wv, bias, xv);
  if (tl_conv_scatter_pays(c, dt)) return tl_conv_scatter(c, false, yv, wv, bias, xv);
  const size_t e = tl_itemsize[dt];
  const int64_t taps = vol(c->k), pix = vol(c->x), planes = c->groups * c->yc, ximg = c->groups * c->xc * pix;
  static const int64_t one[3] = {1, 1, 1};
  int64_t lead[3], yp[3], nphase = vol(c->s);
  const bool pad = tl_conv_reach(c, lead, yp);
  if (pad && tl_conv_not_finite(dt, wv, c->groups * c->yc * c->xc * taps))
    return tl_conv_exact(c, dt, true, false, xv, wv, (void *)yv, bias);
  bool unit = taps == 1 && !pad;
  for (int i = 0; i < 3; i++) unit &= c->s[i] == 1 && c->p[i] == 0 && yp[i] == c->x[i];
  const int64_t plane = vol(yp), image = planes * plane, chunk = tl_conv_chunk(c->n, image, pix / nphase + 1, e),
                wrow = c->xc * taps;
  if (tl_conv_large(image) || tl_conv_large(c->yc * wrow)) return -1;
  tl_gemm_fn gemm = tl_conv_gemm(dt);
  char *buf = NULL;
  int rc = -1;
  int32_t *tab = tl_malloc((uint64_t)(2 * pix + 2 * c->yc * taps + c->xc) * sizeof(int32_t) + 64);
  if (!tab) return -1;
  int32_t *po = tab, *co = po + pix, *ko = co + pix, *wo = ko + c->yc * taps, *wi = wo + c->yc * taps;
  for (int64_t i = 0; i < c->xc; i++) wi[i] = (int32_t)(i * taps);
  if (pad && !(buf = tl_malloc((uint64_t)(chunk * image) * e))) goto done;

  for (int64_t n0 = 0; n0 < c->n; n0 += chunk) {
    int64_t nb = c->n - n0 < chunk ? c->n - n0 : chunk;
    const char *y = (const char *)yv + (size_t)(n0 * planes * vol(c->y)) * e;
    if (pad) {
      tl_conv_pad(buf, y, nb * planes, c->y, lead, yp, e);
      y = buf;
    }
    for (int64_t phase = 0; phase < nphase; phase++) {
      int64_t ph[3] = {phase / (c->s[1] * c->s[2]), phase / c->s[2] % c->s[1], phase % c->s[2]}, cnt[3];
      for (int i = 0; i < 3; i++) cnt[i] = ph[i] < c->x[i] ? (c->x[i] - ph[i] + c->s[i] - 1) / c->s[i] : 0;
      if (!vol(cnt)) continue;
      const int64_t used = tl_conv_taps(c, ph, lead, yp, ko, wo);
      for (int64_t o = 1; o < c->yc; o++)
        for (int64_t i = 0; i < used; i++) {
          ko[o * used + i] = (int32_t)(ko[i] + o * plane);
          wo[o * used + i] = (int32_t)(wo[i] + o * wrow);
        }
      tl_conv_table(po, 0, cnt, one, yp, 1);
      bool whole = nphase == 1;
      if (!whole) tl_conv_table(co, (ph[0] * c->x[1] + ph[1]) * c->x[2] + ph[2], cnt, c->s, c->x, 1);
      for (int64_t g = 0; g < c->groups; g++) {
        TlGemm m = {.m = c->xc,
                    .n = vol(cnt),
                    .k = c->yc * used,
                    .images = nb,
                    .b_image = image,
                    .c_image = ximg,
                    .c_rs = pix,
                    .c_cs = 1};
        m.coff = whole ? NULL : co;
        if (whole && c->k[0] > 1) m.block = 32; /* volumes: long sums with cancellation, so short blocks */
        m.a = (TlMat){.p = (const char *)wv + (size_t)(g * c->yc * wrow) * e, .ioff = wi, .koff = wo};
        m.b = unit ? (TlMat){.p = y + (size_t)(g * c->yc * plane) * e, .is = 1, .ks = plane}
                   : (TlMat){.p = y + (size_t)(g * c->yc * plane) * e, .ioff = po, .koff = ko};
        m.c = (char *)xv + (size_t)(n0 * ximg + g * c->xc * pix) * e;
        if (bias) m.row_bias = (const char *)bias + (size_t)(g * c->xc) * e;
        if (gemm(&m)) goto done;
      }
    }
  }
  rc = 0;
done:
  tl_free(tab);
  tl_free(buf);
  return rc;
}

int tl_conv_weight(const TlConv *c, tl_dtype dt, const void *xv, const void *yv, void *wv) {
  if (dt == TL_F32 && c->xc == 1 && c->groups > 1) return tl_depthwise_weight(c, xv, yv, wv);
  const size_t e = tl_itemsize[dt];
  const int64_t taps = vol(c->k), K = c->xc * taps, pix = vol(c->y), planes = c->groups * c->xc,
                yimg = c->groups * c->yc * pix;
  int64_t xp[3];
  bool pad = false;
  for (int i = 0; i < 3; i++) {
    xp[i] = c->x[i] + 2 * c->p[i];
    pad |= c->p[i] != 0;
  }
  const int64_t plane = vol(xp), image = planes * plane, chunk = tl_conv_chunk(c->n, image, pix, e);
  if (tl_conv_large(chunk * image) || tl_conv_large(chunk * yimg)) return -1;
  tl_gemm_fn gemm = tl_conv_gemm(dt);
  char *buf = NULL;
  int rc = -1;
  int32_t *tab = tl_malloc((uint64_t)(2 * chunk * pix + K + c->yc) * sizeof(int32_t) + 64);
  if (!tab) return -1;
  int32_t *po = tab, *yo = po + chunk * pix, *ko = yo + chunk * pix, *ro = ko + K;
  for (int64_t i = 0; i < chunk; i++) {
    tl_conv_table(po + i * pix, i * image, c->y, c->s, xp, 1);
    for (int64_t j = 0; j < pix; j++) yo[i * pix + j] = (int32_t)(i * yimg + j);
  }
  for (int64_t ch = 0, i = 0; ch < c->xc; ch++) i += tl_conv_table(ko + i, ch * plane, c->k, c->d, xp, 1);
  for (int64_t o = 0; o < c->yc; o++) ro[o] = (int32_t)(o * pix);
  if (pad && !(buf = tl_malloc((uint64_t)(chunk * image) * e))) goto done;
  /* panels have 8 rows on one side and 4 on the other: choose the sides so that fewer are padding */
  bool swap = (c->yc + 3) / 4 * 4 * ((K + 7) / 8 * 8) > (c->yc + 7) / 8 * 8 * ((K + 3) / 4 * 4);
  if (c->n == 0) memset(wv, 0, (size_t)(c->groups * c->yc * K) * e);
  for (int64_t n0 = 0; n0 < c->n; n0 += chunk) {
    int64_t nb = c->n - n0 < chunk ? c->n - n0 : chunk;
    const char *x = (const char *)xv + (size_t)(n0 * planes * vol(c->x)) * e;
    if (pad) {
      tl_conv_pad(buf, x, nb * planes, c->x, c->p, xp, e);
      x = buf;
    }
    for (int64_t g = 0; g < c->groups; g++) {
      TlMat ym = {
        .p = (const char *)yv + (size_t)(n0 * yimg + g * c->yc * pix) * e, .ioff = ro, .koff = yo, .k_runs = true};
      TlMat xm = {.p = x + (size_t)(g * c->xc * plane) * e, .ioff = ko, .koff = po, .k_runs = true};
      TlGemm m = {.m = c->yc, .n = K, .k = nb * pix, .a = ym, .b = xm, .c_rs = K, .c_cs = 1, .accumulate = n0 > 0};
      if (swap) {
        m.m = K;
        m.n = c->yc;
        m.a = xm;
        m.b = ym;
        m.c_rs = 1;
        m.c_cs = K;
      }
      m.c = (char *)wv + (size_t)(g * c->yc * K) * e;
      if (gemm(&m)) goto done;
    }
  }
  rc = 0;
done:
  tl_free(tab);
  tl_free(buf);
  return rc;
}
