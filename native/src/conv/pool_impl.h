/* pool_impl.h: loops of the pooling ops for element type T; F(name) mangles names. Rows run over the outputs of one tap
 * at a time, so that the inner loops are plain vector loops. */

static int64_t F(first)(const TlPool *c, int i, int64_t o,
                        int64_t *end) { /* first input of window o inside the image */
  int64_t b = o * c->s[i] - c->p[i], e = b + (c->k[i] - 1) * c->d[i] + 1;
  if (e > c->in[i]) e = c->in[i];
  while (b < 0) b += c->d[i];
  *end = e;
  return b;
}

/* outputs x0 .. x1 of a row for which tap t reads inside the image */
static inline void F(range)(const TlPool *c, int64_t t, int64_t *x0, int64_t *x1) {
  int64_t off = t * c->d[2] - c->p[2], s = c->s[2];
  *x0 = off < 0 ? (-off + s - 1) / s : 0;
  *x1 = c->in[2] - 1 - off < 0 ? 0 : (c->in[2] - 1 - off) / s + 1;
  if (*x1 > c->out[2]) *x1 = c->out[2];
}

/* the taps that read inside the image for some window of a row; under wide padding most never do */
static inline int64_t F(taps)(const TlPool *c, int64_t *t0) {
  int64_t before = c->p[2] - (c->out[2] - 1) * c->s[2], after = (c->in[2] + c->p[2] - 1) / c->d[2] + 1;
  *t0 = before > 0 ? before / c->d[2] : 0;
  return after < c->k[2] ? after : c->k[2];
}

#ifdef FOUR_MAXIMA
/* The maxima of outputs i to i + 4 n - 1 of a row, for windows that lie inside the row, and where they stand. Without
 * `at` where[] tells NaN instead, so that a maximum is one instruction. z, r: the first and last rows of the windows.
 */
static inline __attribute__((always_inline)) void F(fours)(const TlPool *c, const T *x, T *y, int32_t *at,
                                                           const int64_t *z, const int64_t *r, int64_t i, const int n) {
  const intptr_t s = (intptr_t)c->s[2], d = (intptr_t)c->d[2], taps = (intptr_t)c->k[2], line = (intptr_t)c->in[2];
  const v4i four = {0, (int32_t)s, 2 * (int32_t)s, 3 * (int32_t)s}, next = v4i_set1(4 * (int32_t)s);
  const intptr_t start = (intptr_t)(z[0] * c->in[1] + r[0]) * line + (intptr_t)i * s - (intptr_t)c->p[2];
  v4f best[4];
  v4i where[4];
  TL_UNROLLED for (int j = 0; j < n; j++) {
    best[j] = v4_set1(LOWEST);
    where[j] = at ? v4i_set1((int32_t)start + 4 * j * (int32_t)s) + four : v4i_set1(0);
  }
  for (int64_t a = z[0]; a < z[1]; a += c->d[0])
    for (int64_t b = r[0]; b < r[1]; b += c->d[1]) {
      const intptr_t first = (intptr_t)(a * c->in[1] + b) * line + (intptr_t)i * s - (intptr_t)c->p[2];
      const T *p = x + first;
      v4i row = v4i_set1((int32_t)first) + four;
      for (intptr_t t = 0; t < taps; t++, p += d, row += v4i_set1((int32_t)d)) {
        v4i here = row;
        TL_UNROLLED for (int j = 0; j < n; j++, here += next) {
          const T *q = p + 4 * j * s;
          v4f v;
          if (s == 2) v = __builtin_shufflevector(v4_load(q), v4_load(q + 3), 0, 2, 5, 7);
          else if (s == 1) v = v4_load(q);
          else v = (v4f){q[0], q[s], q[2 * s], q[3 * s]};
          const v4i nan = (v4i)(v != v), more = (v4i)(v > best[j]) | nan;
          if (at) where[j] = (v4i)v4_select(more, (v4f)here, (v4f)where[j]);
          else where[j] |= nan;
          best[j] = at ? v4_select(more, v, best[j]) : v4_at_least(best[j], v);
        }
      }
    }
  TL_UNROLLED for (int j = 0; j < n; j++) {
    v4_store(y + i + 4 * j, at ? best[j] : (v4f)(where[j] | (v4i)best[j])); /* all bits set: NaN */
    if (at) memcpy(at + i + 4 * j, &where[j], sizeof where[j]);
  }
}
/* Of outputs i to end - 1 >= i + 3. The last four may overlap those before. */
static void F(four_maxima)(const TlPool *c, const T *x, T *y, int32_t *at, const int64_t *z, const int64_t *r,
                           int64_t i, int64_t end) {
  for (; i + 16 <= end && !at; i += 16) F(fours)(c, x, y, NULL, z, r, i, 4);
  if (i < end && i + 4 > end) i = end - 4;
  for (; i < end; i = i + 8 <= end || i + 4 == end ? i + 4 : end - 4)
    if (at) F(fours)(c, x, y, at, z, r, i, 1);
    else F(fours)(c, x, y, NULL, z, r, i, 1);
}
#endif

/* outputs o0 to o1 - 1 of a row, which may reach beyond it; t0, t1 as taps gives them */
static void F(maxima)(const TlPool *c, const T *x, T *y, int32_t *at, const int64_t *z, const int64_t *r, int64_t o0,
                      int64_t o1, int64_t t0, int64_t t1) {
  const int64_t s = c->s[2];
  for (int64_t i = o0; i < o1; i++) {
    int64_t end;
    y[i] = LOWEST;
    at[i] = (int32_t)((z[0] * c->in[1] + r[0]) * c->in[2] + F(first)(c, 2, i, &end));
  }
  for (int64_t l = z[0]; l < z[1]; l += c->d[0])
    for (int64_t m = r[0]; m < r[1]; m += c->d[1])
      for (int64_t t = t0; t < t1; t++) {
        int64_t a, b, base = (l * c->in[1] + m) * c->in[2] + t * c->d[2] - c->p[2];
        F(range)(c, t, &a, &b);
        if (a < o0) a = o0;
        if (b > o1) b = o1;
        const T *src = x + base;
        for (int64_t i = a; i < b; i++) {
          T v = src[i * s];
          bool more = v > y[i] || v != v;
          y[i] = more ? v : y[i];
          at[i] = more ? (int32_t)(base + i * s) : at[i];
        }
      }
}

static int F(max_pool)(const TlPool *c, const T *x, T *y, int64_t *idx) {
  const int64_t w = c->out[2], in = c->in[0] * c->in[1] * c->in[2];
  int64_t t0, t1 = F(taps)(c, &t0), in0 = 0, in1 = 0,
              work = 0; /* outputs that are made by four: their windows lie inside */
#ifdef FOUR_MAXIMA
  for (int64_t t = 0, a, b; t < c->k[2]; t++) {
    F(range)(c, t, &a, &b);
    in0 = a > in0 ? a : in0;
    in1 = !t || b < in1 ? b : in1;
  }
  if (in1 < in0 + 4) in0 = in1 = 0;
#endif
  int32_t *at = tl_malloc((uint64_t)(w ? w : 1) * sizeof(int32_t));
  if (!at) return -1;
  for (int64_t p = 0; p < c->planes; p++, x += in) {
    for (int64_t oz = 0; oz < c->out[0]; oz++)
      for (int64_t oy = 0; oy < c->out[1]; oy++, y += w) {
        if (TL_TICK_INLINE(work, w)) {
          tl_free(at);
          return -1;
        }
        int64_t z[2], r[2];
        z[0] = F(first)(c, 0, oz, &z[1]);
        r[0] = F(first)(c, 1, oy, &r[1]);
#ifdef FOUR_MAXIMA
        if (in0 < in1) F(four_maxima)(c, x, y, idx ? at : NULL, z, r, in0, in1);
#endif
        if (in0) F(maxima)(c, x, y, at, z, r, 0, in0, t0, t1);
        if (in1 < w) F(maxima)(c, x, y, at, z, r, in1, w, t0, t1);
        if (idx)
          for (int64_t i = 0; i < w; i++) *idx++ = at[i];
      }
  }
  tl_free(at);
  return 0;
}

/* divisors of one row of outputs, without the factor of the other dims */
static int64_t F(count)(const TlPool *c, int i, int64_t o) {
  int64_t b = o * c->s[i] - c->p[i], e = b + c->k[i];
  if (e > c->in[i] + c->p[i]) e = c->in[i] + c->p[i];
  if (c->include_pad) return e - b;
  return (e < c->in[i] ? e : c->in[i]) - (b > 0 ? b : 0);
}

static int F(avg_pool)(const TlPool *c, const T *x, T *y, bool backward) {
  const int64_t w = c->out[2], in = c->in[0] * c->in[1] * c->in[2], s = c->s[2];
  int64_t t0, t1 = F(taps)(c, &t0), work = 0;
  T *row = tl_malloc((uint64_t)(2 * w + 1) * sizeof(T));
  if (!row) return -1;
  T *div = row + w;
  for (int64_t p = 0; p < c->planes; p++, x += in) {
    for (int64_t oz = 0; oz < c->out[0]; oz++)
      for (int64_t oy = 0; oy < c->out[1]; oy++, y += w) {
        if (TL_TICK_INLINE(work, w)) {
          tl_free(row);
          return -1;
        }
        int64_t ze, ye, z0 = F(first)(c, 0, oz, &ze), y0 = F(first)(c, 1, oy, &ye),
                        n = F(count)(c, 0, oz) * F(count)(c, 1, oy);
        for (int64_t i = 0; i < w; i++) {
          div[i] = (T)(c->divisor ? c->divisor : n * F(count)(c, 2, i));
          row[i] = backward ? DIVIDE(y[i], div[i]) : 0;
        }
        for (int64_t z = z0; z < ze; z++)
          for (int64_t r = y0; r < ye; r++)
            for (int64_t t = t0; t < t1; t++) {
              int64_t a, b;
              F(range)(c, t, &a, &b);
              T *src = (T *)x + (z * c->in[1] + r) * c->in[2] + t - c->p[2];
              if (backward)
                for (int64_t i = a; i < b; i++) src[i * s] = PLUS(src[i * s], row[i]);
              else if (s == 1)
                for (int64_t i = a; i < b; i++) row[i] = PLUS(row[i], src[i]);
              else
                for (int64_t i = a; i < b; i++) row[i] = PLUS(row[i], src[i * s]);
            }
        if (!backward)
          for (int64_t i = 0; i < w; i++) y[i] = DIVIDE(row[i], div[i]);
      }
  }
  tl_free(row);
  return 0;
}

/* window o of n outputs over len inputs: start and end */
static inline int64_t F(lo)(int64_t o, int64_t len, int64_t n) { return o * len / n; }
static inline int64_t F(hi)(int64_t o, int64_t len, int64_t n) { return ((o + 1) * len + n - 1) / n; }

static ACC F(sum)(const T *x, int64_t n) {
  ACC s[4] = {0};
  intptr_t i = 0;
  for (; i + 32 <= (intptr_t)n; i += 32) { /* eight to a lane, before they are widened */
    T l[4] = {x[i], x[i + 1], x[i + 2], x[i + 3]};
    for (int j = 4; j < 32; j += 4)
      for (int k = 0; k < 4; k++) l[k] += x[i + j + k];
    for (int k = 0; k < 4; k++) s[k] += l[k];
  }
  ACC sum = (s[0] + s[1]) + (s[2] + s[3]), other = 0;
  for (; i + 2 <= (intptr_t)n; i += 2) {
    sum += x[i];
    other += x[i + 1];
  }
  return i < (intptr_t)n ? sum + other + x[i] : sum + other;
}

#define ROWS_IN_T 64 /* so many terms are added in T: PyTorch adds a whole window so */
/* Means of windows a few rows high. The rows of a window are added first, as vectors over all columns; then each window
 * adds its columns of that one row. */
static int F(adaptive_means)(const TlPool *c, const T *x, T *y) {
  const int64_t w = c->in[2], in = c->in[0] * c->in[1] * w;
  T *row = tl_malloc((uint64_t)w * sizeof(T));
  if (!row) return -1;
  for (int64_t p = 0; p < c->planes; p++, x += in) {
    for (int64_t oz = 0; oz < c->out[0]; oz++)
      for (int64_t oy = 0; oy < c->out[1]; oy++) {
        const int64_t z0 = F(lo)(oz, c->in[0], c->out[0]), z1 = F(hi)(oz, c->in[0], c->out[0]),
                      y0 = F(lo)(oy, c->in[1], c->out[1]), y1 = F(hi)(oy, c->in[1], c->out[1]);
        if (tl_work(w * (z1 - z0) * (y1 - y0)) < 0) {
          tl_free(row);
          return -1;
        }
        memcpy(row, x + (z0 * c->in[1] + y0) * w, (size_t)w * sizeof(T));
        for (int64_t z = z0; z < z1; z++)
          for (int64_t r = z > z0 ? y0 : y0 + 1; r < y1; r++) {
            const T *src = x + (z * c->in[1] + r) * w;
            for (int64_t i = 0; i < w; i++) row[i] += src[i];
          }
        for (int64_t ox = 0; ox < c->out[2]; ox++) {
          const int64_t x0 = F(lo)(ox, w, c->out[2]), x1 = F(hi)(ox, w, c->out[2]);
          *y++ = (T)(F(sum)(row + x0, x1 - x0) / (ACC)((z1 - z0) * (y1 - y0) * (x1 - x0)));
        }
      }
  }
  tl_free(row);
  return 0;
}

/* mode 0: mean, 1: gradient of the mean (y to x), 2: maximum with idx */
static int F(adaptive)(const TlPool *c, int mode, const T *x, T *y, int64_t *idx) {
  const int64_t in = c->in[0] * c->in[1] * c->in[2];
  const int64_t high = (c->in[0] / (c->out[0] ? c->out[0] : 1) + 2) * (c->in[1] / (c->out[1] ? c->out[1] : 1) + 2);
  if (mode == 0 && in && c->out[2] > 1 && high > 4 && high <= ROWS_IN_T) return F(adaptive_means)(c, x, y);
  int64_t work = 0;
  for (int64_t p = 0; p < c->planes; p++, x += in) {
    for (int64_t oz = 0; oz < c->out[0]; oz++)
      for (int64_t oy = 0; oy < c->out[1]; oy++)
        for (int64_t ox = 0; ox < c->out[2]; ox++, y++) {
          int64_t z0 = F(lo)(oz, c->in[0], c->out[0]), z1 = F(hi)(oz, c->in[0], c->out[0]),
                  y0 = F(lo)(oy, c->in[1], c->out[1]), y1 = F(hi)(oy, c->in[1], c->out[1]),
                  x0 = F(lo)(ox, c->in[2], c->out[2]), x1 = F(hi)(ox, c->in[2], c->out[2]);
          T n = (T)((z1 - z0) * (y1 - y0) * (x1 - x0)), best = LOWEST, g = mode == 1 ? *y / n : 0;
          ACC sum = 0;
          if (TL_TICK(work, (z1 - z0) * (y1 - y0) * (x1 - x0))) return -1;
          int64_t at = (z0 * c->in[1] + y0) * c->in[2] + x0;
          if (x1 - x0 == c->in[2] && mode == 0) { /* whole rows lie side by side */
            x1 = x0 + (y1 - y0) * c->in[2];
            y1 = y0 + 1;
          }
          for (int64_t z = z0; z < z1; z++)
            for (int64_t r = y0; r < y1; r++) {
              T *src = (T *)x + (z * c->in[1] + r) * c->in[2];
              if (mode == 0) sum += F(sum)(src + x0, x1 - x0);
              else if (mode == 1)
                for (int64_t i = x0; i < x1; i++) src[i] += g;
              else
                for (int64_t i = x0; i < x1; i++)
                  if (src[i] > best || src[i] != src[i]) {
                    best = src[i];
                    at = src + i - x;
                  }
            }
          if (mode == 0) *y = (T)(sum / (ACC)n);
          else if (mode == 2) {
            *y = best;
            *idx++ = at;
          }
        }
  }
  return 0;
}

static void F(max_backward)(int64_t planes, int64_t in, int64_t out, const T *g, const int64_t *idx, T *x) {
  int64_t work = 0;
  for (int64_t p = 0; p < planes && !TL_TICK(work, out); p++, x += in, idx += out, g += out)
    TL_LOOP(i, out)
      if (idx[i] >= 0 && idx[i] < in) x[idx[i]] = PLUS(x[idx[i]], g[i]);
}

/* image [planes, h, w] to columns [planes, kh * kw, blocks], or back with sums */
static int F(columns)(const TlPool *c, T *x, T *col, bool back) {
  const int64_t in = c->in[1] * c->in[2], s = c->s[2];
  int64_t work = 0;
  for (int64_t p = 0; p < c->planes; p++, x += in) {
    for (int64_t ky = 0; ky < c->k[1]; ky++)
      for (int64_t kx = 0; kx < c->k[2]; kx++) {
        int64_t a, b;
        F(range)(c, kx, &a, &b);
        if (b < a) b = a;
        for (int64_t oy = 0; oy < c->out[1]; oy++, col += c->out[2]) {
          if (TL_TICK(work, c->out[2])) return -1;
          int64_t y = oy * c->s[1] - c->p[1] + ky * c->d[1];
          bool inside = y >= 0 && y < c->in[1];
          T *src = inside ? x + y * c->in[2] + kx * c->d[2] - c->p[2] : x;
          if (back) {
            if (inside)
              for (int64_t i = a; i < b; i++) src[i * s] = PLUS(src[i * s], col[i]);
            continue;
          }
          for (int64_t i = 0; i < c->out[2]; i++) col[i] = inside && i >= a && i < b ? src[i * s] : 0;
        }
      }
  }
  return 0;
}
