/* depthwise_last.c: float32 convolutions with one input channel per group, in channels-last memory: the taps that reach
 * a pixel are looked up once, then all channels of it are summed, vectors of channels at a time. */
#include "conv/conv.h"
#include "math/simd.h"

static int64_t vol(const int64_t *v) { return v[0] * v[1] * v[2]; }

/* The taps along dim i that reach position `at` of the result, and the positions that they read. data: x is computed
 * from y, else y from x. */
static int64_t dim_hits(const TlConv *c, int i, bool data, int64_t at, int64_t *src, int64_t *tap) {
  int64_t n = 0;
  for (int64_t t = 0; t < c->k[i]; t++) {
    int64_t v = data ? at + c->p[i] - t * c->d[i] : at * c->s[i] + t * c->d[i] - c->p[i];
    if (data && v % c->s[i]) continue;
    if (data) v /= c->s[i];
    if (v < 0 || v >= (data ? c->y[i] : c->x[i])) continue;
    src[n] = v;
    tap[n++] = t;
  }
  return n;
}

/* the taps that reach each pixel, walked pixel by pixel */
typedef struct {
  const TlConv *c;
  bool data;
  int64_t n[3], *src[3], *tap[3]; /* for each dim, at the current position */
  int64_t hits, *off, *which;     /* for the current pixel: offsets of the pixels that are read, and their taps */
} Walk;

static int walk_init(Walk *h, const TlConv *c, bool data) {
  *h = (Walk){.c = c, .data = data};
  int64_t *p = tl_malloc((uint64_t)(2 * (c->k[0] + c->k[1] + c->k[2] + vol(c->k))) * sizeof *p);
  if (!p) return -1;
  h->off = p;
  h->which = p += vol(c->k);
  p += vol(c->k);
  for (int i = 0; i < 3; i++) {
    h->src[i] = p;
    h->tap[i] = p += c->k[i];
    p += c->k[i];
  }
  return 0;
}
static void walk_dim(Walk *h, int i, int64_t at) { h->n[i] = dim_hits(h->c, i, h->data, at, h->src[i], h->tap[i]); }
static void walk_pixel(Walk *h, int64_t at) {
  const TlConv *c = h->c;
  const int64_t *in = h->data ? c->y : c->x;
  walk_dim(h, 2, at);
  h->hits = 0;
  for (int64_t z = 0; z < h->n[0]; z++)
    for (int64_t y = 0; y < h->n[1]; y++)
      for (int64_t x = 0; x < h->n[2]; x++) {
        h->off[h->hits] = (h->src[0][z] * in[1] + h->src[1][y]) * in[2] + h->src[2][x];
        h->which[h->hits++] = (h->tap[0][z] * c->k[1] + h->tap[1][y]) * c->k[2] + h->tap[2][x];
      }
}

/* channels of one pixel; w is [tap][channel] */
static void pixel(float *out, const Walk *h, const float *in, const float *w, const float *bias, int64_t ch) {
  int64_t c = 0;
  for (; c + 16 <= ch; c += 16) {
    v4f a = {0}, b = a, d = a, e = a;
    if (bias) {
      a = v4_load(bias + c);
      b = v4_load(bias + c + 4);
      d = v4_load(bias + c + 8);
      e = v4_load(bias + c + 12);
    }
    for (int64_t i = 0; i < h->hits; i++) {
      const float *x = in + h->off[i] * ch + c, *v = w + h->which[i] * ch + c;
      a = v4_madd(v4_load(v), v4_load(x), a);
      b = v4_madd(v4_load(v + 4), v4_load(x + 4), b);
      d = v4_madd(v4_load(v + 8), v4_load(x + 8), d);
      e = v4_madd(v4_load(v + 12), v4_load(x + 12), e);
    }
    v4_store(out + c, a);
    v4_store(out + c + 4, b);
    v4_store(out + c + 8, d);
    v4_store(out + c + 12, e);
  }
  for (; c < ch; c++) {
    float a = bias ? bias[c] : 0;
    for (int64_t i = 0; i < h->hits; i++) a += w[h->which[i] * ch + c] * in[h->off[i] * ch + c];
    out[c] = a;
  }
}

/* the same with m outputs for each input channel */
static void pixel_many(float *out, const Walk *h, const float *in, const float *w, const float *bias, int64_t groups,
                       int64_t m) {
  const int64_t ch = groups * m;
  for (int64_t g = 0; g < groups; g++) {
    float sum = bias && h->data ? bias[g] : 0;
    for (int64_t o = g * m; o < (g + 1) * m; o++) {
      float a = bias && !h->data ? bias[o] : 0;
      for (int64_t i = 0; i < h->hits; i++)
        a += w[h->which[i] * ch + o] * (h->data ? in[h->off[i] * ch + o] : in[h->off[i] * groups + g]);
      if (h->data) sum += a;
      else out[o] = a;
    }
    if (h->data) out[g] = sum;
  }
}

int tl_depthwise_last(const TlConv *c, bool data, const float *in, const float *w, const float *bias, float *out) {
  const int64_t taps = vol(c->k), ch = c->groups * c->yc, step = data ? c->groups : ch,
                in_image = vol(data ? c->y : c->x) * (data ? ch : c->groups);
  const int64_t *to = data ? c->x : c->y;
  Walk h = {0};
  int rc = -1;
  float *wt = tl_malloc((uint64_t)(taps * ch) * sizeof *wt + 1);
  if (!wt) return -1;
  if (walk_init(&h, c, data)) goto done;
  for (int64_t o = 0; o < ch; o++)
    for (int64_t t = 0; t < taps; t++) wt[t * ch + o] = w[o * taps + t];
  for (int64_t n = 0; n < c->n; n++, in += in_image)
    for (int64_t z = 0; z < to[0]; z++) {
      walk_dim(&h, 0, z);
      for (int64_t y = 0; y < to[1]; y++) {
        walk_dim(&h, 1, y);
        for (int64_t x = 0; x < to[2]; x++, out += step) {
          walk_pixel(&h, x);
          if (c->yc == 1) pixel(out, &h, in, wt, bias, ch);
          else pixel_many(out, &h, in, wt, bias, c->groups, c->yc);
        }
      }
      if (tl_check_interrupt()) goto done;
    }
  rc = 0;
done:
  tl_free(h.off);
  tl_free(wt);
  return rc;
}

/* sums within a row of pixels are float, sums of rows double */
int tl_depthwise_last_weight(const TlConv *c, const float *x, const float *y, float *w) {
  const int64_t taps = vol(c->k), m = c->yc, ch = c->groups * m, n = taps * ch, x_image = vol(c->x) * c->groups;
  Walk h = {0};
  int rc = -1;
  double *sum = tl_malloc((uint64_t)n * (sizeof *sum + sizeof(float)) + 1);
  if (!sum) return -1;
  float *acc = (float *)(sum + n);
  if (walk_init(&h, c, false)) goto done;
  memset(sum, 0, (size_t)n * (sizeof *sum + sizeof *acc));
  for (int64_t b = 0; b < c->n; b++, x += x_image)
    for (int64_t z = 0; z < c->y[0]; z++) {
      walk_dim(&h, 0, z);
      for (int64_t r = 0; r < c->y[1]; r++) {
        walk_dim(&h, 1, r);
        for (int64_t p = 0; p < c->y[2]; p++, y += ch) {
          walk_pixel(&h, p);
          for (int64_t i = 0; i < h.hits; i++) {
            const float *v = x + h.off[i] * c->groups;
            float *a = acc + h.which[i] * ch;
            if (m == 1)
              for (int64_t o = 0; o < ch; o++) a[o] += v[o] * y[o];
            else
              for (int64_t o = 0; o < ch; o++) a[o] += v[o / m] * y[o];
          }
        }
        for (int64_t i = 0; i < n; i++) sum[i] += acc[i];
        memset(acc, 0, (size_t)n * sizeof *acc);
      }
      if (tl_check_interrupt()) goto done;
    }
  for (int64_t o = 0; o < ch; o++)
    for (int64_t t = 0; t < taps; t++) w[o * taps + t] = (float)sum[t * ch + o];
  rc = 0;
done:
  tl_free(h.off);
  tl_free(sum);
  return rc;
}
