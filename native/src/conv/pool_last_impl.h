/* pool_last_impl.h: the loops of pool_impl.h over channels-last memory [n, spatial, ch]: windows are walked once for
 * all channels of a pixel, and the inner loops run over channels. Included beside pool_impl.h, once for each element
 * type. */

static int F(max_pool_last)(const TlPool *c, int64_t n, int64_t ch, const T *x, T *y, int64_t *idx) {
  const int64_t in = c->in[0] * c->in[1] * c->in[2];
  int32_t *at = tl_malloc((uint64_t)(ch ? ch : 1) * sizeof(int32_t));
  if (!at) return -1;
  for (int64_t b = 0; b < n; b++, x += in * ch)
    for (int64_t oz = 0; oz < c->out[0]; oz++) {
      for (int64_t oy = 0; oy < c->out[1]; oy++) {
        if (tl_work(c->out[2] * ch * c->k[0] * c->k[1] * c->k[2]) < 0) {
          tl_free(at);
          return -1;
        }
        for (int64_t ox = 0; ox < c->out[2]; ox++, y += ch) {
          int64_t ze, ye, xe, z0 = F(first)(c, 0, oz, &ze), y0 = F(first)(c, 1, oy, &ye), x0 = F(first)(c, 2, ox, &xe);
          const int32_t start = (int32_t)((z0 * c->in[1] + y0) * c->in[2] + x0);
          for (int64_t i = 0; i < ch; i++) {
            y[i] = LOWEST;
            at[i] = start;
          }
          for (int64_t z = z0; z < ze; z += c->d[0])
            for (int64_t r = y0; r < ye; r += c->d[1])
              for (int64_t q = x0; q < xe; q += c->d[2]) {
                const int32_t place = (int32_t)((z * c->in[1] + r) * c->in[2] + q);
                const T *src = x + place * ch;
                if (!idx)
                  for (int64_t i = 0; i < ch; i++) {
                    T v = src[i];
                    y[i] = v > y[i] || v != v ? v : y[i];
                  }
                else
                  for (int64_t i = 0; i < ch; i++) {
                    T v = src[i];
                    bool m = v > y[i] || v != v;
                    y[i] = m ? v : y[i];
                    at[i] = m ? place : at[i];
                  }
              }
          if (idx)
            for (int64_t i = 0; i < ch; i++) *idx++ = at[i];
        }
      }
    }
  tl_free(at);
  return 0;
}

static void F(max_backward_last)(int64_t n, int64_t ch, int64_t in, int64_t out, const T *g, const int64_t *idx, T *x) {
  for (int64_t b = 0; b < n; b++, x += in * ch)
    for (int64_t o = 0; o < out && tl_work(ch) == 0; o++, idx += ch, g += ch)
      for (int64_t i = 0; i < ch; i++)
        if (idx[i] >= 0 && idx[i] < in) x[idx[i] * ch + i] = PLUS(x[idx[i] * ch + i], g[i]);
}

static int F(avg_pool_last)(const TlPool *c, int64_t n, int64_t ch, T *x, T *y, bool backward) {
  const int64_t in = c->in[0] * c->in[1] * c->in[2];
  for (int64_t b = 0; b < n; b++, x += in * ch)
    for (int64_t oz = 0; oz < c->out[0]; oz++) {
      for (int64_t oy = 0; oy < c->out[1]; oy++) {
        if (tl_work(c->out[2] * ch * c->k[0] * c->k[1] * c->k[2]) < 0) return -1;
        for (int64_t ox = 0; ox < c->out[2]; ox++, y += ch) {
          int64_t ze, ye, xe, z0 = F(first)(c, 0, oz, &ze), y0 = F(first)(c, 1, oy, &ye), x0 = F(first)(c, 2, ox, &xe);
          const T div = (T)(c->divisor ? c->divisor : F(count)(c, 0, oz) * F(count)(c, 1, oy) * F(count)(c, 2, ox));
          if (!backward)
            for (int64_t i = 0; i < ch; i++) y[i] = 0;
          for (int64_t z = z0; z < ze; z++)
            for (int64_t r = y0; r < ye; r++)
              for (int64_t q = x0; q < xe; q++) {
                T *src = x + ((z * c->in[1] + r) * c->in[2] + q) * ch;
                if (backward)
                  for (int64_t i = 0; i < ch; i++) src[i] = PLUS(src[i], DIVIDE(y[i], div));
                else
                  for (int64_t i = 0; i < ch; i++) y[i] = PLUS(y[i], src[i]);
              }
          if (!backward)
            for (int64_t i = 0; i < ch; i++) y[i] = DIVIDE(y[i], div);
        }
      }
    }
  return 0;
}

/* modes of F(adaptive) */
static int F(adaptive_last)(const TlPool *c, int64_t n, int64_t ch, int mode, T *x, T *y, int64_t *idx) {
  const int64_t in = c->in[0] * c->in[1] * c->in[2];
  ACC *sum = tl_malloc((uint64_t)(ch ? ch : 1) * sizeof(ACC));
  if (!sum) return -1;
  for (int64_t b = 0; b < n; b++, x += in * ch)
    for (int64_t oz = 0; oz < c->out[0]; oz++) {
      for (int64_t oy = 0; oy < c->out[1]; oy++) {
        if (tl_work(in * ch / (c->out[0] * c->out[1])) < 0) {
          tl_free(sum);
          return -1;
        }
        for (int64_t ox = 0; ox < c->out[2]; ox++, y += ch) {
          int64_t z0 = F(lo)(oz, c->in[0], c->out[0]), z1 = F(hi)(oz, c->in[0], c->out[0]),
                  y0 = F(lo)(oy, c->in[1], c->out[1]), y1 = F(hi)(oy, c->in[1], c->out[1]),
                  x0 = F(lo)(ox, c->in[2], c->out[2]), x1 = F(hi)(ox, c->in[2], c->out[2]);
          const T many = (T)((z1 - z0) * (y1 - y0) * (x1 - x0));
          if (mode == 0)
            for (int64_t i = 0; i < ch; i++) sum[i] = 0;
          else if (mode == 2)
            for (int64_t i = 0; i < ch; i++) {
              y[i] = LOWEST;
              idx[i] = (z0 * c->in[1] + y0) * c->in[2] + x0;
            }
          for (int64_t z = z0; z < z1; z++)
            for (int64_t r = y0; r < y1; r++)
              for (int64_t q = x0; q < x1; q++) {
                const int64_t place = (z * c->in[1] + r) * c->in[2] + q;
                T *src = x + place * ch;
                if (mode == 0)
                  for (int64_t i = 0; i < ch; i++) sum[i] += src[i];
                else if (mode == 1)
                  for (int64_t i = 0; i < ch; i++) src[i] += y[i] / many;
                else
                  for (int64_t i = 0; i < ch; i++)
                    if (src[i] > y[i] || src[i] != src[i]) {
                      y[i] = src[i];
                      idx[i] = place;
                    }
              }
          if (mode == 0)
            for (int64_t i = 0; i < ch; i++) y[i] = (T)(sum[i] / (ACC)many);
          if (mode == 2) idx += ch;
        }
      }
    }
  tl_free(sum);
  return 0;
}
