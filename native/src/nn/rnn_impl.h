/* rnn_impl.h: the steps of a recurrent layer for one element type; rnn_loops.c includes it once per type with
 *   T element, V its vector, L lanes, SIGMOID, TANH and ABOVE0(x, v) (0 where x <= 0, else v) on vectors, GEMM, PANELS
 *   and F(name) name mangling.
 *
 * Functions on "lanes" take n elements, n at most L; of a row's elements only the last ones can be fewer than L. */
LANE V F(ld)(const T *p, int n) {
  V v = {0};
  memcpy(&v, p, (size_t)n * sizeof(T));
  return v;
}
LANE void F(st)(T *p, V v, int n) { memcpy(p, &v, (size_t)n * sizeof(T)); }
#define LD(p) F(ld)(p, n)
#define ST(p, v) F(st)(p, v, n)
/* call(j, n) for the lanes from j on; the constant L makes whole vectors of the loads in the loop */
#define LANES(call) \
  { \
    int64_t j = 0; \
    for (; j + L <= r->hidden; j += L) call(j, L); \
    if (j < r->hidden) call(j, (int)(r->hidden - j)); \
  }

LANE void F(lstm_lanes)(T *gates, T *c, T *cells, T *h, int64_t H, int n) {
  V i = SIGMOID(LD(gates)), f = SIGMOID(LD(gates + H)), u = TANH(LD(gates + 2 * H)), o = SIGMOID(LD(gates + 3 * H));
  V s = f * LD(c) + i * u;
  ST(gates, i);
  ST(gates + H, f);
  ST(gates + 2 * H, u);
  ST(gates + 3 * H, o);
  ST(c, s);
  if (cells) ST(cells, s);
  ST(h, o * TANH(s));
}

LANE void F(gru_lanes)(T *gates, T *h, T *y, int64_t H, int n) {
  V s = SIGMOID(LD(gates)), z = SIGMOID(LD(gates + H)), u = TANH(LD(gates + 3 * H) + s * LD(gates + 2 * H));
  V next = (LD(h) - u) * z + u;
  ST(gates, s);
  ST(gates + H, z);
  ST(gates + 3 * H, u);
  ST(h, next);
  ST(y, next);
}

LANE void F(plain_lanes)(T *y, T *h, bool squash, int n) {
  V v = LD(y);
  v = squash ? TANH(v) : ABOVE0(v, v);
  ST(y, v);
  ST(h, v);
}

/* b in panels for the products of all steps; NULL in *p where the product reads b itself */
static int F(panels)(TlMat b, int64_t n, int64_t k, const Rnn *r, T **p) {
  *p = NULL;
  if (r->steps < 2 || r->samples < 4) return 0;
  if (!(*p = tl_array(PANELS(NULL, &b, n, k), sizeof(T)))) return -1;
  PANELS(*p, &b, n, k);
  return 0;
}

static void F(rows_of_bias)(T *to, const T *bias, int64_t n) {
  if (bias) memcpy(to, bias, (size_t)n * sizeof(T));
  else memset(to, 0, (size_t)n * sizeof(T));
}

/* W_ih x + b_ih of all steps, with b_hh where that may be added at once */
static int F(project)(const Rnn *r) {
  const int64_t H = r->hidden, W = r->wide, first = r->mode == RNN_GRU ? 2 * H : r->weights;
  const T *b_ih = r->b_ih, *b_hh = r->b_hh;
  T *bias = NULL, *gates = r->gates;
  if (b_ih || b_hh) {
    if (!(bias = tl_array(r->weights, sizeof(T)))) return -1;
    for (int64_t j = 0; j < r->weights; j++) bias[j] = (b_ih ? b_ih[j] : 0) + (b_hh && j < first ? b_hh[j] : 0);
  }
  TlGemm g = {.m = r->rows,
              .n = first,
              .k = r->in,
              .a = {.p = r->x, .is = r->in, .ks = 1},
              .b = {.p = r->w_ih, .is = r->in, .ks = 1},
              .c = gates,
              .c_rs = W,
              .c_cs = 1,
              .col_bias = bias};
  int rc = GEMM(&g);
  if (!rc && r->mode == RNN_GRU) {
    g.n = H;
    g.b.p = (const T *)r->w_ih + first * r->in;
    g.c = gates + 3 * H;
    g.col_bias = bias ? bias + first : NULL;
    rc = GEMM(&g);
    for (int64_t i = 0; i < r->rows; i++) F(rows_of_bias)(gates + i * W + 2 * H, b_hh ? b_hh + 2 * H : NULL, H);
  }
  tl_free(bias);
  return rc;
}

int F(rnn_forward)(const Rnn *r) {
  const int64_t H = r->hidden, P = r->out, W = r->wide;
  T *hn = r->hn, *cn = r->cn, *panels = NULL, *raw = NULL;
  int rc = F(project)(r);
  const TlMat w_hh = {.p = r->w_hh, .is = P, .ks = 1};
  if (!rc) rc = F(panels)(w_hh, r->weights, P, r, &panels);
  if (!rc && r->w_hr && !(raw = tl_array(r->samples * H, sizeof(T)))) rc = -1;
  for (int64_t s = 0; s < r->steps && !rc; s++) {
    const int64_t t = r->reverse ? r->steps - 1 - s : s, n = rnn_size(r, t), at = rnn_start(r, t);
    T *gates = (T *)r->gates + at * W, *y = (T *)r->y + at * P, *cells = r->cells ? (T *)r->cells + at * H : NULL;
    TlGemm g = {.m = n,
                .n = r->weights,
                .k = P,
                .a = {.p = hn, .is = P, .ks = 1},
                .b = w_hh,
                .c = gates,
                .c_rs = W,
                .c_cs = 1,
                .accumulate = true,
                .b_panels = panels};
    rc = GEMM(&g);
    for (int64_t b = 0; b < n && !rc; b++) {
      T *gb = gates + b * W, *hb = hn + b * P, *yb = y + b * P, *cb = cn ? cn + b * H : NULL;
      T *to = raw ? raw + b * H : yb, *cell = cells ? cells + b * H : NULL;
      switch (r->mode) {
#define CALL(j, n) F(lstm_lanes)(gb + (j), cb + (j), cell ? cell + (j) : NULL, to + (j), H, n)
      case RNN_LSTM: LANES(CALL) break;
#undef CALL
#define CALL(j, n) F(gru_lanes)(gb + (j), hb + (j), yb + (j), H, n)
      case RNN_GRU: LANES(CALL) break;
#undef CALL
#define CALL(j, n) F(plain_lanes)(yb + (j), hb + (j), r->mode == RNN_TANH, n)
      default: LANES(CALL)
#undef CALL
      }
    }
    if (raw && !rc) {
      TlGemm project = {.m = n,
                        .n = P,
                        .k = H,
                        .a = {.p = raw, .is = H, .ks = 1},
                        .b = {.p = r->w_hr, .is = H, .ks = 1},
                        .c = y,
                        .c_rs = P,
                        .c_cs = 1};
      rc = GEMM(&project);
    }
    if (r->mode == RNN_LSTM && !rc) memcpy(hn, y, (size_t)(n * P) * sizeof(T));
    if ((s & 255) == 255 && !rc) rc = tl_check_interrupt();
  }
  tl_free(panels);
  tl_free(raw);
  return rc;
}

/* ---- gradients ---- */
/* d: of what the gates were computed from; c and before: cells after and before the step; dc becomes before's; raw:
 * where the output before its projection goes */
LANE void F(lstm_grad_lanes)(const T *gates, const T *c, const T *before, const T *dh, T *dc, T *d, T *raw, int64_t H,
                             int n) {
  const V one = V_ONE;
  V i = LD(gates), f = LD(gates + H), u = LD(gates + 2 * H), o = LD(gates + 3 * H), s = TANH(LD(c)), g = LD(dh);
  V back = LD(dc) + g * o * (one - s * s);
  if (raw) ST(raw, o * s);
  ST(d, back * u * ((one - i) * i));
  ST(d + H, back * LD(before) * ((one - f) * f));
  ST(d + 2 * H, back * i * (one - u * u));
  ST(d + 3 * H, g * s * ((one - o) * o));
  ST(dc, back * f);
}

LANE void F(gru_grad_lanes)(const T *gates, const T *before, T *dh, T *d, int64_t H, int n) {
  const V one = V_ONE;
  V s = LD(gates), z = LD(gates + H), hn = LD(gates + 2 * H), u = LD(gates + 3 * H), g = LD(dh);
  V back = g * (one - z) * (one - u * u);
  ST(d, back * hn * ((one - s) * s));
  ST(d + H, g * (LD(before) - u) * ((one - z) * z));
  ST(d + 2 * H, back * s);
  ST(d + 3 * H, back);
  ST(dh, g * z);
}

LANE void F(plain_grad_lanes)(const T *y, const T *dh, T *d, bool squash, int n) {
  V v = LD(y), g = LD(dh);
  ST(d, squash ? g * (V_ONE - v * v) : ABOVE0(v, g));
}

/* sums of the columns of d; those of up to 64 rows in T, these in double */
static int F(column_sums)(const T *d, int64_t rows, int64_t stride, int64_t n, T *to) {
  double *total = tl_array(n, sizeof(double) + sizeof(T));
  if (!total) return -1;
  T *part = (T *)(total + n);
  memset(total, 0, (size_t)n * sizeof(double));
  for (int64_t i0 = 0; i0 < rows; i0 += 64) {
    memset(part, 0, (size_t)n * sizeof(T));
    for (int64_t i = i0; i < rows && i < i0 + 64; i++)
      for (int64_t j = 0; j < n; j++) part[j] += d[i * stride + j];
    for (int64_t j = 0; j < n; j++) total[j] += part[j];
  }
  for (int64_t j = 0; j < n; j++) to[j] = (T)total[j];
  tl_free(total);
  return 0;
}

/* c = d' b or, with deep, d b: d holds rows of r->wide, of which this product reads the m (n) from `at` on */
static int F(of_gates)(const Rnn *r, const T *d, int64_t at, int64_t width, const T *b, int64_t columns, T *c,
                       bool each_row, bool accumulate) {
  TlGemm g = {.m = width,
              .n = columns,
              .k = r->rows,
              .a = {.p = d + at, .is = 1, .ks = r->wide},
              .b = {.p = b, .is = 1, .ks = columns},
              .c = c,
              .c_rs = columns,
              .c_cs = 1,
              .accumulate = accumulate};
  if (each_row) {
    g.m = r->rows;
    g.k = width;
    g.a.is = r->wide;
    g.a.ks = 1;
  }
  return GEMM(&g);
}

/* what follows from the gradients of all gates, each in one product or sum */
static int F(finish)(const Rnn *r, const RnnGrad *g, const T *d) {
  const int64_t H = r->hidden, P = r->out, gru = r->mode == RNN_GRU, first = gru ? 2 * H : r->weights;
  T *before = NULL;
  int rc = 0;
  if (g->dx) rc = F(of_gates)(r, d, 0, first, r->w_ih, r->in, g->dx, true, false);
  if (g->dx && gru && !rc)
    rc = F(of_gates)(r, d, 3 * H, H, (const T *)r->w_ih + first * r->in, r->in, g->dx, true, true);
  if (!g->dw_ih || rc) return rc;
  rc = F(of_gates)(r, d, 0, first, r->x, r->in, g->dw_ih, false, false);
  if (gru && !rc) rc = F(of_gates)(r, d, 3 * H, H, r->x, r->in, (T *)g->dw_ih + first * r->in, false, false);
  if (!rc && !(before = tl_array(r->rows * P, sizeof(T)))) rc = -1;
  for (int64_t t = 0; t < r->steps && !rc; t++)
    for (int64_t b = 0; b < rnn_size(r, t); b++) {
      int64_t from = rnn_before(r, t, b);
      memcpy(before + (rnn_start(r, t) + b) * P, from < 0 ? (const T *)r->h0 + b * P : (const T *)r->y + from * P,
             (size_t)P * sizeof(T));
    }
  if (!rc) rc = F(of_gates)(r, d, 0, r->weights, before, P, g->dw_hh, false, false);
  tl_free(before);
  if (g->db_hh && !rc) rc = F(column_sums)(d, r->rows, r->wide, r->weights, g->db_hh);
  if (g->db_ih && !rc) {
    if (g->db_hh) memcpy(g->db_ih, g->db_hh, (size_t)first * sizeof(T));
    else rc = F(column_sums)(d, r->rows, r->wide, first, g->db_ih);
    if (gru && !rc) rc = F(column_sums)(d + 3 * H, r->rows, r->wide, H, (T *)g->db_ih + first);
  }
  return rc;
}

int F(rnn_backward)(const Rnn *r, const RnnGrad *g) {
  const int64_t H = r->hidden, P = r->out, W = r->wide;
  const bool projects = r->w_hr;
  T *dh = g->dh, *dc = g->dc, *panels = NULL, *d = tl_array(r->rows * W, sizeof(T));
  T *wide = NULL, *outer = NULL, *raw = NULL; /* of projections: dh before it; dh and what it is of, of all rows */
  const TlMat w_hh = {.p = r->w_hh, .is = 1, .ks = P};
  int rc = d ? F(panels)(w_hh, P, r->weights, r, &panels) : -1;
  if (projects && !rc &&
      (!(wide = tl_array(r->samples * H, sizeof(T))) || !(outer = tl_array(r->rows * (H + P), sizeof(T)))))
    rc = -1;
  if (outer) raw = outer + r->rows * P;
  for (int64_t s = r->steps - 1; s >= 0 && !rc; s--) {
    const int64_t t = r->reverse ? r->steps - 1 - s : s, n = rnn_size(r, t), at = rnn_start(r, t);
    if (g->dy) {
      const T *dy = (const T *)g->dy + at * P;
      for (int64_t i = 0; i < n * P; i++) dh[i] += dy[i];
    }
    if (projects) {
      memcpy(outer + at * P, dh, (size_t)(n * P) * sizeof(T));
      TlGemm back = {.m = n,
                     .n = H,
                     .k = P,
                     .a = {.p = dh, .is = P, .ks = 1},
                     .b = {.p = r->w_hr, .is = 1, .ks = H},
                     .c = wide,
                     .c_rs = H,
                     .c_cs = 1};
      rc = GEMM(&back);
    }
    for (int64_t b = 0; b < n && !rc; b++) {
      const int64_t row = at + b, from = rnn_before(r, t, b);
      const T *gb = (const T *)r->gates + row * W;
      T *db = d + row * W, *hb = projects ? wide + b * H : dh + b * H;
      if (r->mode == RNN_LSTM) {
        const T *c = (const T *)r->cells + row * H;
        const T *before = from < 0 ? (const T *)r->c0 + b * H : (const T *)r->cells + from * H;
        T *cb = dc + b * H, *to = raw ? raw + row * H : NULL;
#define CALL(j, n) \
  F(lstm_grad_lanes)(gb + (j), c + (j), before + (j), hb + (j), cb + (j), db + (j), to ? to + (j) : NULL, H, n)
        LANES(CALL)
#undef CALL
      } else if (r->mode == RNN_GRU) {
        const T *before = from < 0 ? (const T *)r->h0 + b * H : (const T *)r->y + from * H;
#define CALL(j, n) F(gru_grad_lanes)(gb + (j), before + (j), hb + (j), db + (j), H, n)
        LANES(CALL)
#undef CALL
      } else {
#define CALL(j, n) F(plain_grad_lanes)(gb + (j), hb + (j), db + (j), r->mode == RNN_TANH, n)
        LANES(CALL)
#undef CALL
      }
    }
    TlGemm next = {.m = n,
                   .n = P,
                   .k = r->weights,
                   .a = {.p = d + at * W, .is = W, .ks = 1},
                   .b = w_hh,
                   .c = dh,
                   .c_rs = P,
                   .c_cs = 1,
                   .accumulate = r->mode == RNN_GRU,
                   .b_panels = panels};
    if (!rc) rc = GEMM(&next);
    if ((s & 255) == 255 && !rc) rc = tl_check_interrupt();
  }
  if (!rc) rc = F(finish)(r, g, d);
  if (g->dw_hr && !rc) {
    TlGemm w = {.m = P,
                .n = H,
                .k = r->rows,
                .a = {.p = outer, .is = 1, .ks = P},
                .b = {.p = raw, .is = 1, .ks = H},
                .c = g->dw_hr,
                .c_rs = H,
                .c_cs = 1};
    rc = GEMM(&w);
  }
  tl_free(panels);
  tl_free(wide);
  tl_free(outer);
  tl_free(d);
  return rc;
}
#undef LD
#undef ST
#undef LANES
