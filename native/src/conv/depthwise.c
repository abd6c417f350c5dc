/* depthwise.c: float32 convolutions with one input channel per group. Planes are copied into a padded buffer (small
 * enough for the cache), then every output row is a sum of shifted input rows, 16 outputs at a time in registers. */
#include "conv/conv.h"
#include "math/simd.h"

enum { SLACK = 24 }; /* floats readable behind a padded plane */
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
  q->buf = tl_malloc((uint64_t)(q->plane + SLACK) * sizeof(float) + (size_t)q->taps * sizeof(int32_t));
  if (!q->buf) return -1;
  memset(q->buf, 0, (size_t)(q->plane + SLACK) * sizeof(float));
  q->off = (int32_t *)(q->buf + q->plane + SLACK);
  int64_t i = 0;
  for (int64_t z = 0; z < c->k[0]; z++)
    for (int64_t y = 0; y < c->k[1]; y++)
      for (int64_t x = 0; x < c->k[2]; x++)
        q->off[i++] = (int32_t)((z * c->d[0] * q->xp[1] + y * c->d[1]) * q->xp[2] + x * c->d[2]);
  return 0;
}

static void load_plane(const Plan *q, const TlConv *c, const float *x) {
  for (int64_t z = 0; z < c->x[0]; z++)
    for (int64_t y = 0; y < c->x[1]; y++, x += c->x[2])
      memcpy(q->buf + ((z + c->p[0]) * q->xp[1] + y + c->p[1]) * q->xp[2] + c->p[2], x,
             (size_t)c->x[2] * sizeof(float));
}

/* four inputs at distance s */
static inline v4f load_step(const float *p, int64_t s) {
  if (s == 1) return v4_load(p);
  if (s == 2) return __builtin_shufflevector(v4_load(p), v4_load(p + 3), 0, 2, 5, 7);
  return (v4f){p[0], p[s], p[2 * s], p[3 * s]};
}

static inline void row_forward(float *y, int64_t n, const float *x, int64_t s, const float *w, const int32_t *off,
                               int64_t taps, float bias) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    v4f a = v4_set1(bias), b = a, c = a, d = a;
    const float *p0 = x + i * s;
    for (int64_t t = 0; t < taps; t++) {
      const float *p = p0 + off[t];
      v4f v = v4_set1(w[t]);
      a = v4_madd(v, load_step(p, s), a);
      b = v4_madd(v, load_step(p + 4 * s, s), b);
      c = v4_madd(v, load_step(p + 8 * s, s), c);
      d = v4_madd(v, load_step(p + 12 * s, s), d);
    }
    v4_store(y + i, a);
    v4_store(y + i + 4, b);
    v4_store(y + i + 8, c);
    v4_store(y + i + 12, d);
  }
  for (; i < n; i += 4) {
    v4f a = v4_set1(bias);
    const float *p0 = x + i * s;
    if (n - i < 4 && s > 2) {
      for (; i < n; i++, p0 += s) {
        float sum = bias;
        for (int64_t t = 0; t < taps; t++) sum += w[t] * p0[off[t]];
        y[i] = sum;
      }
      return;
    }
    for (int64_t t = 0; t < taps; t++) a = v4_madd(v4_set1(w[t]), load_step(p0 + off[t], s), a);
    if (n - i >= 4) v4_store(y + i, a);
    else
      for (int r = 0; r < n - i; r++) y[i + r] = a[r];
  }
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
      load_plane(&q, c, x);
      x += vol(c->x);
      for (int64_t o = 0; o < c->yc; o++) {
        int64_t ch = g * c->yc + o;
        for (int64_t z = 0; z < c->y[0]; z++)
          for (int64_t r = 0; r < c->y[1]; r++, y += c->y[2]) {
            const float *src = q.buf + (z * c->s[0] * q.xp[1] + r * c->s[1]) * q.xp[2], *wt = w + ch * q.taps;
            const float b = bias ? bias[ch] : 0;
            if (c->s[2] == 1) row_forward(y, c->y[2], src, 1, wt, q.off, q.taps, b);
            else if (c->s[2] == 2) row_forward(y, c->y[2], src, 2, wt, q.off, q.taps, b);
            else row_forward(y, c->y[2], src, c->s[2], wt, q.off, q.taps, b);
          }
      }
      if (tl_check_interrupt()) goto done;
    }
  rc = 0;
done:
  tl_free(q.buf);
  return rc;
}

int tl_depthwise_data(const TlConv *c, const float *y, const float *w, const float *bias, float *x) {
  Plan q;
  if (plan(&q, c)) return -1;
  int rc = -1;
  const int64_t s = c->s[2], nx = c->y[2];
  for (int64_t n = 0; n < c->n; n++)
    for (int64_t g = 0; g < c->groups; g++) {
      const float b = bias ? bias[g] : 0;
      for (int64_t i = 0; i < q.plane; i++) q.buf[i] = b;
      for (int64_t o = 0; o < c->yc; o++) {
        const float *wt = w + (g * c->yc + o) * q.taps;
        for (int64_t z = 0; z < c->y[0]; z++)
          for (int64_t r = 0; r < c->y[1]; r++, y += nx)
            for (int64_t t = 0; t < q.taps; t++) {
              float *dst = q.buf + (z * c->s[0] * q.xp[1] + r * c->s[1]) * q.xp[2] + q.off[t], v = wt[t];
              int64_t i = 0;
              if (s == 1)
                for (; i + 4 <= nx; i += 4) v4_store(dst + i, v4_madd(v4_set1(v), v4_load(y + i), v4_load(dst + i)));
              for (; i < nx; i++) dst[i * s] += v * y[i];
            }
      }
      for (int64_t z = 0; z < c->x[0]; z++)
        for (int64_t r = 0; r < c->x[1]; r++, x += c->x[2])
          memcpy(x, q.buf + ((z + c->p[0]) * q.xp[1] + r + c->p[1]) * q.xp[2] + c->p[2],
                 (size_t)c->x[2] * sizeof(float));
      if (tl_check_interrupt()) goto done;
    }
  rc = 0;
done:
  tl_free(q.buf);
  return rc;
}

int tl_depthwise_weight(const TlConv *c, const float *x, const float *y, float *w) {
  Plan q;
  if (plan(&q, c)) return -1;
  int rc = -1;
  const int64_t s = c->s[2], nx = c->y[2];
  memset(w, 0, (size_t)(c->groups * c->yc * q.taps) * sizeof(float));
  for (int64_t n = 0; n < c->n; n++)
    for (int64_t g = 0; g < c->groups; g++) {
      load_plane(&q, c, x);
      x += vol(c->x);
      for (int64_t o = 0; o < c->yc; o++, y += q.pix)
        for (int64_t t = 0; t < q.taps; t++) {
          v4f acc = {0}, a1 = {0}, a2 = {0}, a3 = {0};
          float tail = 0;
          const float *yr = y;
          for (int64_t z = 0; z < c->y[0]; z++)
            for (int64_t r = 0; r < c->y[1]; r++, yr += nx) {
              const float *src = q.buf + (z * c->s[0] * q.xp[1] + r * c->s[1]) * q.xp[2] + q.off[t];
              int64_t i = 0;
              if (s == 1) {
                for (; i + 16 <= nx; i += 16) {
                  acc = v4_madd(v4_load(yr + i), v4_load(src + i), acc);
                  a1 = v4_madd(v4_load(yr + i + 4), v4_load(src + i + 4), a1);
                  a2 = v4_madd(v4_load(yr + i + 8), v4_load(src + i + 8), a2);
                  a3 = v4_madd(v4_load(yr + i + 12), v4_load(src + i + 12), a3);
                }
                for (; i + 4 <= nx; i += 4) acc = v4_madd(v4_load(yr + i), v4_load(src + i), acc);
              } else if (s == 2)
                for (; i + 4 <= nx; i += 4) acc = v4_madd(v4_load(yr + i), load_step(src + 2 * i, 2), acc);
              for (; i < nx; i++) tail += yr[i] * src[i * s];
            }
          w[(g * c->yc + o) * q.taps + t] += v4_hsum((acc + a1) + (a2 + a3)) + tail;
        }
      if (tl_check_interrupt()) goto done;
    }
  rc = 0;
done:
  tl_free(q.buf);
  return rc;
}
