/* depthwise.c: float32 convolutions with one input channel per group. Planes are copied into a padded buffer (small
 * enough for the cache), then output rows are sums of shifted input rows, 32 outputs at a time in registers. */
#include "conv/conv.h"
#include "core/rows.h"
#include "math/simd.h"

static int64_t vol(const int64_t *v) { return v[0] * v[1] * v[2]; }

typedef struct {
  int64_t xp[3], plane, taps, pix;
  int32_t *off;
  float *buf;
} Plan;

static int plan(Plan *q, const TlConv *c) {
  for (int i = 0; i < 3; i++) q->xp[i] = c->x[i] + 2 * c->p[i];
  q->plane = vol(q->xp);
  q->taps = vol(c->k);
  q->pix = vol(c->y);
  const int64_t room = q->plane + 4 * c->s[2] + 16; /* outputs that do not exist are computed with the others */
  q->buf = tl_malloc((uint64_t)room * sizeof(float) + (size_t)(q->taps + 3) * sizeof(int32_t));
  if (!q->buf) return -1;
  memset(q->buf, 0, (size_t)room * sizeof(float));
  q->off = (int32_t *)(q->buf + room);
  int64_t i = 0;
  for (int64_t z = 0; z < c->k[0]; z++)
    for (int64_t y = 0; y < c->k[1]; y++)
      for (int64_t x = 0; x < c->k[2]; x++)
        q->off[i++] = (int32_t)((z * c->d[0] * q->xp[1] + y * c->d[1]) * q->xp[2] + x * c->d[2]);
  for (int k = 0; k < 3; k++) q->off[i + k] = 0; /* weight_taps reads four */
  return 0;
}

/* a plane into the middle of a padded one */
static void load_plane(float *to, const int64_t *padded, const int64_t *lead, const int64_t *size, const float *x) {
  for (int64_t z = 0; z < size[0]; z++)
    for (int64_t y = 0; y < size[1]; y++, x += size[2])
      tl_copy_row((char *)(to + ((z + lead[0]) * padded[1] + y + lead[1]) * padded[2] + lead[2]), (const char *)x,
                  (size_t)size[2] * sizeof(float));
}

/* four inputs at distance s */
static inline v4f load_step(const float *p, int64_t s) {
  if (s == 1) return v4_load(p);
  if (s == 2) return __builtin_shufflevector(v4_load(p), v4_load(p + 3), 0, 2, 5, 7);
  return (v4f){p[0], p[s], p[2 * s], p[3 * s]};
}

/* The first rows of y from x: `rows` times 4 `vecs` elements in registers, of which `left` columns exist. Four sums at
 * least go on side by side where they can, since one waits for the multiplication before it. */
static inline __attribute__((always_inline)) void forward_block(float *y, intptr_t step, intptr_t left, const float *x,
                                                                intptr_t next, intptr_t s, const float *w,
                                                                const int32_t *off, intptr_t taps, float bias,
                                                                const int rows, const int vecs) {
  v4f sum[8];
  TL_UNROLLED for (int i = 0; i < rows * vecs; i++) sum[i] = v4_set1(bias);
  for (intptr_t t = 0; t < taps; t++) {
    const float *p = x + off[t];
    const v4f v = v4_set1(w[t]);
    TL_UNROLLED for (int r = 0; r < rows; r++) TL_UNROLLED for (int k = 0; k < vecs; k++) sum[r * vecs + k] =
      v4_madd(v, load_step(p + r * next + 4 * k * s, s), sum[r * vecs + k]);
  }
  TL_UNROLLED for (int r = 0; r < rows; r++, y += step) {
    if (left >= 4 * vecs) TL_UNROLLED for (int k = 0; k < vecs; k++) v4_store(y + 4 * k, sum[r * vecs + k]);
    else
      for (int k = 0; k < left; k++) y[k] = sum[r][k];
  }
}

/* `count` rows of n elements, `step` apart; rows of x are `next` apart */
static inline __attribute__((always_inline)) void forward_rows(float *y, intptr_t step, intptr_t n, intptr_t count,
                                                               const float *x, intptr_t next, intptr_t s,
                                                               const float *w, const int32_t *off, intptr_t taps,
                                                               float bias) {
  for (; count >= 4; count -= 4, y += 4 * step, x += 4 * next) {
    intptr_t i = 0;
    for (; i + 8 <= n; i += 8) forward_block(y + i, step, 8, x + i * s, next, s, w, off, taps, bias, 4, 2);
    for (; i < n; i += 4) forward_block(y + i, step, n - i, x + i * s, next, s, w, off, taps, bias, 4, 1);
  }
  for (; count > 0; count--, y += step, x += next) {
    intptr_t i = 0;
    for (; i + 16 <= n; i += 16) forward_block(y + i, step, 16, x + i * s, next, s, w, off, taps, bias, 1, 4);
    for (; i < n; i += 4) forward_block(y + i, step, n - i, x + i * s, next, s, w, off, taps, bias, 1, 1);
  }
}
static void rows_of_1(float *y, intptr_t step, intptr_t n, intptr_t count, const float *x, intptr_t next,
                      const float *w, const int32_t *off, intptr_t taps, float bias) {
  forward_rows(y, step, n, count, x, next, 1, w, off, taps, bias);
}

int tl_depthwise_forward(const TlConv *c, const float *x, const float *w, const float *bias, float *y) {
  bool direct = c->yc == 1; /* PyTorch's direct loop, where each window reaches into the image */
  for (int i = 0; i < 3; i++) direct &= c->p[i] <= c->d[i] * (c->k[i] - 1);
  const bool pad = c->p[0] || c->p[1] || c->p[2];
  if (direct && pad && tl_conv_not_finite(TL_F32, w, c->groups * vol(c->k)))
    return tl_conv_exact(c, TL_F32, false, false, (void *)x, w, y, bias);
  Plan q;
  if (plan(&q, c)) return -1;
  int rc = -1;
  for (int64_t n = 0; n < c->n; n++)
    for (int64_t g = 0; g < c->groups; g++) {
      load_plane(q.buf, q.xp, c->p, c->x, x);
      x += vol(c->x);
      for (int64_t o = 0; o < c->yc; o++) {
        int64_t ch = g * c->yc + o;
        const float *wt = w + ch * q.taps;
        const float b = bias ? bias[ch] : 0;
        const intptr_t nx = (intptr_t)c->y[2], ny = (intptr_t)c->y[1], step = (intptr_t)c->s[2],
                       next = (intptr_t)(c->s[1] * q.xp[2]);
        for (int64_t z = 0; z < c->y[0]; z++, y += ny * nx) {
          const float *src = q.buf + z * c->s[0] * q.xp[1] * q.xp[2];
          if (step == 1) rows_of_1(y, nx, nx, ny, src, next, wt, q.off, q.taps, b);
          else if (step == 2) forward_rows(y, nx, nx, ny, src, next, 2, wt, q.off, q.taps, b);
          else
            for (intptr_t r = 0; r < ny; r++)
              for (intptr_t i = 0; i < nx; i += 4)
                forward_block(y + r * nx + i, nx, nx - i, src + r * next + i * step, 0, step, wt, q.off, q.taps, b, 1,
                              1);
        }
      }
      if (tl_check_interrupt()) goto done;
    }
  rc = 0;
done:
  tl_free(q.buf);
  return rc;
}

/* ---- x from y ------------------------------------------------------------------------------------------------------
 * Positions of x in one phase of the stride see a fixed set of taps: each phase is a convolution of the padded y
 * without strides, and phases of a row are put together at the end. */
typedef struct {
  int64_t yp[3], lead[3], f[3], plane, most; /* f: phases of each dim; most: columns of one */
  float *buf, *w, *rows;                     /* padded y; a group's weights, phase by phase; what phases of rows give */
  int32_t *off, *tap;                        /* of w */
} DataPlan;

static int plan_data(DataPlan *q, const TlConv *c) {
  const int64_t all = c->yc * vol(c->k), x1 = (c->x[1] + c->s[1] - 1) / c->s[1];
  for (int i = 0; i < 3; i++) q->f[i] = tl_clamp(c->s[i], 1, c->x[i]);
  q->plane = vol(q->yp);
  q->most = (c->x[2] + c->s[2] - 1) / c->s[2];
  const int64_t planes = c->yc * q->plane + 16, rows = c->s[2] > 1 ? q->f[2] * x1 * q->most : 0;
  q->buf = tl_malloc((uint64_t)(planes + 3 * all + rows) * sizeof(float));
  if (!q->buf) return -1;
  memset(q->buf, 0, (size_t)planes * sizeof(float));
  q->w = q->buf + planes;
  q->off = (int32_t *)(q->w + all);
  q->tap = q->off + all;
  q->rows = (float *)(q->tap + all);
  return 0;
}

/* n phases of `most` elements each become a row whose elements alternate between them */
static void alternate(float *x, intptr_t width, const float *rows, intptr_t apart, intptr_t n) {
  intptr_t i = 0;
  if (n == 2)
    for (; i + 4 <= width / 2; i += 4) {
      const v4f a = v4_load(rows + i), b = v4_load(rows + apart + i);
      v4_store(x + 2 * i, __builtin_shufflevector(a, b, 0, 4, 1, 5));
      v4_store(x + 2 * i + 4, __builtin_shufflevector(a, b, 2, 6, 3, 7));
    }
  for (intptr_t k = i * n; k < width; k++) x[k] = rows[k % n * apart + k / n];
}

/* rows of x in phase (a, b), in plane z of that phase */
static void phase_rows(const DataPlan *q, const TlConv *c, int64_t a, int64_t b, int64_t z, int64_t first,
                       const int64_t *used, float bias, float *x) {
  const intptr_t count = (intptr_t)((c->x[1] - b + c->s[1] - 1) / c->s[1]), width = (intptr_t)c->x[2],
                 s = (intptr_t)c->s[2], most = (intptr_t)q->most;
  const float *src = q->buf + z * q->yp[1] * q->yp[2];
  x += ((a + z * c->s[0]) * c->x[1] + b) * width;
  for (intptr_t i = 0; i < q->f[2]; first += used[i++]) {
    const intptr_t n = (width - i + s - 1) / s;
    rows_of_1(s > 1 ? q->rows + i * count * most : x, s > 1 ? most : (intptr_t)c->s[1] * width, n, count, src,
              (intptr_t)q->yp[2], q->w + first, q->off + first, (intptr_t)used[i], bias);
  }
  for (intptr_t r = 0; r < count && s > 1; r++)
    alternate(x + r * c->s[1] * width, width, q->rows + r * most, count * most, s);
}

int tl_depthwise_data(const TlConv *c, const float *y, const float *w, const float *bias, float *x) {
  const int64_t taps = vol(c->k), all = c->yc * taps;
  DataPlan q = {.buf = NULL};
  if (tl_conv_reach(c, q.lead, q.yp) && tl_conv_not_finite(TL_F32, w, c->groups * all))
    return tl_conv_exact(c, TL_F32, true, false, x, w, (void *)y, bias);
  int64_t *used = NULL;
  int rc = -1;
  if (plan_data(&q, c) || !(used = tl_array(vol(q.f), sizeof *used))) goto done;
  const int64_t phases = vol(q.f), f1 = q.f[1], f2 = q.f[2];
  int64_t total = 0; /* taps that reach a position of x */
  for (int64_t i = 0; i < phases; total += used[i++]) {
    const int64_t phase[3] = {i / (f1 * f2), i / f2 % f1, i % f2};
    int32_t *off = q.off + total, *tap = q.tap + total;
    const int64_t n = used[i] = tl_conv_taps(c, phase, q.lead, q.yp, off, tap);
    for (int64_t k = n; k < c->yc * n; k++) {
      off[k] = off[k - n] + (int32_t)q.plane;
      tap[k] = tap[k - n] + (int32_t)taps;
    }
    used[i] = c->yc * n;
  }
  for (int64_t n = 0; n < c->n; n++)
    for (int64_t g = 0; g < c->groups; g++, x += vol(c->x)) {
      for (int64_t o = 0; o < c->yc; o++, y += vol(c->y)) load_plane(q.buf + o * q.plane, q.yp, q.lead, c->y, y);
      for (int64_t i = 0; i < total; i++) q.w[i] = w[g * all + q.tap[i]];
      int64_t first = 0;
      for (int64_t i = 0; i < phases; i += f2) {
        const int64_t a = i / (f1 * f2), b = i / f2 % f1;
        for (int64_t z = 0; a + z * c->s[0] < c->x[0]; z++)
          phase_rows(&q, c, a, b, z, first, used + i, bias ? bias[g] : 0, x);
        for (int64_t k = 0; k < f2; k++) first += used[i + k];
      }
      if (tl_check_interrupt()) goto done;
    }
  rc = 0;
done:
  tl_free(q.buf);
  tl_free(used);
  return rc;
}

/* ---- weights ---------------------------------------------------------------------------------------------------- */
/* What one plane of y gives for four taps, which share the elements of y, is added to `many` elements of w. */
static inline __attribute__((always_inline)) void weight_taps(const Plan *q, const TlConv *c, const float *y,
                                                              const int32_t *off, float *w, int64_t many, intptr_t s) {
  static const int32_t first[8] = {-1, -1, -1, -1};
  const intptr_t n = (intptr_t)c->y[2];
  v4f sum[8];
  TL_UNROLLED for (int t = 0; t < 8; t++) sum[t] = v4_set1(0);
  for (int64_t z = 0; z < c->y[0]; z++)
    for (int64_t r = 0; r < c->y[1]; r++, y += n) {
      const float *src = q->buf + (z * c->s[0] * q->xp[1] + r * c->s[1]) * q->xp[2];
      intptr_t i = 0;
      for (; i + 8 <= n; i += 8) {
        const v4f a = v4_load(y + i), b = v4_load(y + i + 4);
        TL_UNROLLED for (int t = 0; t < 4; t++) {
          const float *p = src + off[t] + i * s;
          sum[t] = v4_madd(a, load_step(p, s), sum[t]);
          sum[4 + t] = v4_madd(b, load_step(p + 4 * s, s), sum[4 + t]);
        }
      }
      for (; i < n; i += 4) { /* elements that do not exist count as 0 on both sides */
        const intptr_t m = n - i < 4 ? n - i : 4;
        v4f a = {0};
        for (int k = 0; k < m; k++) a[k] = y[i + k];
        const v4i mask = (v4i)v4_load((const float *)first + 4 - m);
        TL_UNROLLED for (int t = 0; t < 4; t++) sum[t] =
          v4_madd(a, (v4f)((v4i)load_step(src + off[t] + i * s, s) & mask), sum[t]);
      }
    }
  TL_UNROLLED for (int t = 0; t < 4; t++) if (t < many) w[t] += v4_hsum(sum[t] + sum[4 + t]);
}

int tl_depthwise_weight(const TlConv *c, const float *x, const float *y, float *w) {
  Plan q;
  if (plan(&q, c)) return -1;
  int rc = -1;
  const intptr_t s = (intptr_t)c->s[2];
  memset(w, 0, (size_t)(c->groups * c->yc * q.taps) * sizeof(float));
  for (int64_t n = 0; n < c->n; n++)
    for (int64_t g = 0; g < c->groups; g++, x += vol(c->x)) {
      load_plane(q.buf, q.xp, c->p, c->x, x);
      for (int64_t o = 0; o < c->yc; o++, y += q.pix) {
        float *to = w + (g * c->yc + o) * q.taps;
        for (int64_t t = 0; t < q.taps; t += 4)
          if (s == 1) weight_taps(&q, c, y, q.off + t, to + t, q.taps - t, 1);
          else weight_taps(&q, c, y, q.off + t, to + t, q.taps - t, s);
      }
      if (tl_check_interrupt()) goto done;
    }
  rc = 0;
done:
  tl_free(q.buf);
  return rc;
}
