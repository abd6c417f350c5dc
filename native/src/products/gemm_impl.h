/* gemm_impl.h: the product for one element type; gemm.c includes it once per type with
 *   T element, V its 16-byte vector, V_U the unaligned one, L lanes, MADD(a, b, c), F(name) name mangling, RARE the
 *   attributes of what is not worth many instructions; for
 * x86-64-v3 W, a vector of 2 L, and WIDE(op), its instruction.
 *
 * Blocks: NC columns of b are packed (KC deep) into panels of NR columns, MC rows of a into panels of MR rows; the
 * inner kernel keeps an MR x NR tile in registers (8 accumulators, as WASM engines spill beyond about 13 vectors). */
#define NR (2 * L)

static inline V F(ld)(const T *p) { return *(const V_U *)p; }
static inline void F(st)(T *p, V v) { *(V_U *)p = v; }
static inline V F(dup)(T x) {
#if L == 4
  return (V){x, x, x, x};
#else
  return (V){x, x};
#endif
}
static inline T F(hsum)(V v) {
#if L == 4
  return (v[0] + v[2]) + (v[1] + v[3]);
#else
  return v[0] + v[1];
#endif
}

/* c[4][NR] = init[4][NR] + a panel * b; b rows are ldb apart (NR when packed), a element (i, k) at a[i * ar + k * ac].
 * init is added last, so that this block's sum is not rounded to the size of what was summed before */
#define TILE_PUT(at, lo, hi, from) \
  F(st)(c + at, F(ld)(init + from) + lo); F(st)(c + at + L, F(ld)(init + from + L) + hi)
#define TILE_BODY(LOADA, STEP)                                                                              \
  V c00 = F(dup)(0), c01 = c00, c10 = c00, c11 = c00, c20 = c00, c21 = c00, c30 = c00, c31 = c00;           \
  for (int64_t k = 0; k < kc; k++) {                                                                        \
    V b0 = F(ld)(b), b1 = F(ld)(b + L), x;                                                                  \
    x = F(dup)(LOADA(0)); c00 = MADD(x, b0, c00); c01 = MADD(x, b1, c01);                                   \
    x = F(dup)(LOADA(1)); c10 = MADD(x, b0, c10); c11 = MADD(x, b1, c11);                                   \
    x = F(dup)(LOADA(2)); c20 = MADD(x, b0, c20); c21 = MADD(x, b1, c21);                                   \
    x = F(dup)(LOADA(3)); c30 = MADD(x, b0, c30); c31 = MADD(x, b1, c31);                                   \
    b += ldb; STEP;                                                                                         \
  }                                                                                                         \
  TILE_PUT(0, c00, c01, 0); TILE_PUT(lc, c10, c11, li);                                                     \
  TILE_PUT(2 * lc, c20, c21, 2 * li); TILE_PUT(3 * lc, c30, c31, 3 * li);

#if defined(TL_X86_V3) && defined(W)
/* the same on twice the lanes; terms of even and odd k in two sums, as one would wait for itself */
TL_X86_V3 static void F(tile_v3)(int64_t kc, const T *restrict a, int64_t ar, int64_t ac, const T *restrict b,
                                 int64_t ldb, const T *init, int64_t li, T *c, int64_t lc) {
  W s[4][2];
  for (int r = 0; r < 4; r++) s[r][0] = s[r][1] = WIDE(setzero)();
  for (int64_t k = 0; k < kc; k++, a += ac, b += ldb) {
    const W b0 = WIDE(loadu)(b);
    for (int r = 0; r < 4; r++) s[r][0] = WIDE(fmadd)(WIDE(set1)(a[r * ar]), b0, s[r][0]);
    if (++k == kc) break;
    a += ac;
    b += ldb;
    const W b1 = WIDE(loadu)(b);
    for (int r = 0; r < 4; r++) s[r][1] = WIDE(fmadd)(WIDE(set1)(a[r * ar]), b1, s[r][1]);
  }
  for (int r = 0; r < 4; r++)
    WIDE(storeu)(c + r * lc, WIDE(add)(WIDE(loadu)(init + r * li), WIDE(add)(s[r][0], s[r][1])));
}
#endif

static void F(tile)(int64_t kc, const T *restrict a, const T *restrict b, const T *init, int64_t li, T *c, int64_t lc) {
  enum { ldb = NR };
#if defined(TL_X86_V3) && defined(W)
  if (tl_x86_v3()) {
    F(tile_v3)(kc, a, 1, MR, b, ldb, init, li, c, lc);
    return;
  }
#endif
#define LOADA(i) a[i]
  TILE_BODY(LOADA, a += MR)
#undef LOADA
}

static void F(tile_direct)(int64_t kc, const T *restrict a, int64_t ar, int64_t ac, const T *restrict b, int64_t ldb,
                           const T *init, int64_t li, T *c, int64_t lc) {
#if defined(TL_X86_V3) && defined(W)
  if (tl_x86_v3()) {
    F(tile_v3)(kc, a, ar, ac, b, ldb, init, li, c, lc);
    return;
  }
#endif
  const T *a0 = a, *a1 = a + ar, *a2 = a1 + ar, *a3 = a2 + ar;
  int64_t o = 0;
#define LOADA(i) a##i[o]
  TILE_BODY(LOADA, o += ac)
#undef LOADA
}
#undef TILE_BODY
#undef TILE_PUT

/* ---- packing: rows i0 .. i0 + ni of an operand, k0 .. k0 + nk, into panels dst[panel][k][w]; rows beyond the end
 * repeat the last one (their products are never stored) ---- */
#if L == 4
static inline void F(transpose)(T *d, int64_t w, V r0, V r1, V r2, V r3) {
  V t0 = __builtin_shufflevector(r0, r1, 0, 4, 1, 5), t1 = __builtin_shufflevector(r2, r3, 0, 4, 1, 5);
  V t2 = __builtin_shufflevector(r0, r1, 2, 6, 3, 7), t3 = __builtin_shufflevector(r2, r3, 2, 6, 3, 7);
  F(st)(d, __builtin_shufflevector(t0, t1, 0, 1, 4, 5));
  F(st)(d + w, __builtin_shufflevector(t0, t1, 2, 3, 6, 7));
  F(st)(d + 2 * w, __builtin_shufflevector(t2, t3, 0, 1, 4, 5));
  F(st)(d + 3 * w, __builtin_shufflevector(t2, t3, 2, 3, 6, 7));
}
#endif

/* one panel from pointers to its w rows, all with the same k stride */
static void F(pack_rows)(T *dst, const T *const *rows, int64_t ks, int64_t nk, int w) {
  int64_t k = 0;
#if L == 4
  if (ks == 1)
    for (; k + 4 <= nk; k += 4)
      for (int i = 0; i < w; i += 4)
        F(transpose)(dst + k * w + i, w, F(ld)(rows[i] + k), F(ld)(rows[i + 1] + k), F(ld)(rows[i + 2] + k),
                     F(ld)(rows[i + 3] + k));
#endif
  for (; k < nk; k++)
    for (int i = 0; i < w; i++) dst[k * w + i] = rows[i][k * ks];
}

static void F(pack_strided)(T *dst, const TlMat *s, const T *p, int64_t i0, int64_t ni, int64_t k0, int64_t nk, int w) {
  p += i0 * s->is + k0 * s->ks;
  for (int64_t i = 0; i < ni; i += w, dst += nk * w) {
    const T *q = p + i * s->is;
    int64_t ks = s->ks;
    if (s->is == 1 && ni - i >= w) {
      if (w == 2 * L)
        for (int64_t k = 0; k < nk; k++, q += ks) {
          F(st)(dst + k * 2 * L, F(ld)(q));
          F(st)(dst + k * 2 * L + L, F(ld)(q + L));
        }
      else
        for (int64_t k = 0; k < nk; k++, q += ks) memcpy(dst + k * MR, q, MR * sizeof(T));
    } else {
      const T *rows[8];
      for (int r = 0; r < w; r++) rows[r] = q + (r < ni - i ? r : ni - i - 1) * s->is;
      F(pack_rows)(dst, rows, ks, nk, w);
    }
  }
}

static void F(pack_table)(T *dst, const TlMat *s, const T *p, int64_t i0, int64_t ni, int64_t k0, int64_t nk, int w) {
  const int32_t *ko = s->koff + k0;
  for (int64_t i = 0; i < ni; i += w, dst += nk * w) {
    const T *rows[8];
    int32_t o[8];
    for (int r = 0; r < w; r++) {
      o[r] = s->ioff[i0 + (i + r < ni ? i + r : ni - 1)];
      rows[r] = p + o[r];
    }
    int64_t k = 0;
#if L == 4
    if (s->k_runs) {
      while (k + 4 <= nk) {
        if (ko[k + 3] - ko[k] != 3) { /* offsets grow along k, so 3 means four neighbours */
          for (int i2 = 0; i2 < w; i2++) dst[k * w + i2] = rows[i2][ko[k]];
          k++;
          continue;
        }
        for (int g = 0; g < w; g += 4)
          F(transpose)(dst + k * w + g, w, F(ld)(rows[g] + ko[k]), F(ld)(rows[g + 1] + ko[k]),
                       F(ld)(rows[g + 2] + ko[k]), F(ld)(rows[g + 3] + ko[k]));
        k += 4;
      }
    } else {
      /* each group of four columns: 1 neighbours, 2 every second element, 0 anywhere */
      int kind[2] = {0, 0};
      for (int g = 0; g < w; g += 4)
        for (int st = 1; st <= 2; st++)
          if (o[g + 1] - o[g] == st && o[g + 2] - o[g + 1] == st && o[g + 3] - o[g + 2] == st) kind[g / 4] = st;
      if (w == 8 && kind[0] == 1 && kind[1] == 1) {
        const T *q = rows[0];
        int d = o[4] - o[0];
        for (; k < nk; k++) {
          F(st)(dst + k * 8, F(ld)(q + ko[k]));
          F(st)(dst + k * 8 + 4, F(ld)(q + ko[k] + d));
        }
      } else if (kind[0] || kind[1]) {
        for (int g = 0; g < w; g += 4) {
          const T *q0 = rows[g], *q1 = rows[g + 1], *q2 = rows[g + 2], *q3 = rows[g + 3];
          T *d = dst + g;
          if (kind[g / 4] == 1)
            for (k = 0; k < nk; k++, d += w) F(st)(d, F(ld)(q0 + ko[k]));
          else if (kind[g / 4] == 2)
            for (k = 0; k < nk; k++, d += w)
              F(st)(d, __builtin_shufflevector(F(ld)(q0 + ko[k]), F(ld)(q0 + 3 + ko[k]), 0, 2, 5, 7));
          else
            for (k = 0; k < nk; k++, d += w) {
              d[0] = q0[ko[k]];
              d[1] = q1[ko[k]];
              d[2] = q2[ko[k]];
              d[3] = q3[ko[k]];
            }
        }
        k = nk;
      }
    }
#endif
    for (; k < nk; k++)
      for (int r = 0; r < w; r++) dst[k * w + r] = rows[r][ko[k]];
  }
}

static void F(pack)(T *dst, const TlMat *s, const T *p, int64_t i0, int64_t ni, int64_t k0, int64_t nk, int w) {
  if (s->ioff) F(pack_table)(dst, s, p, i0, ni, k0, nk, w);
  else F(pack_strided)(dst, s, p, i0, ni, k0, nk, w);
}

/* ---- the blocked product ---- */
static int F(packed)(const TlGemm *g, T *apack, T *bpack, int64_t kcmax, int64_t ncp) {
  const int64_t images = g->images ? g->images : 1, ppi = (g->n + NR - 1) / NR, panels = ppi * images;
  const bool plain_c = !g->coff && g->c_cs == 1;
  const int64_t end = g->to ? g->to : panels;
  T zeros[NR] = {0}, tmp[MR * NR], rowb[GEMM_MC * NR];
  for (int64_t p0 = g->from; p0 < end; p0 += ncp) {
    int64_t np = end - p0 < ncp ? end - p0 : ncp;
    for (int64_t k0 = 0; k0 < g->k; k0 += kcmax) {
      int64_t kc = g->k - k0 < kcmax ? g->k - k0 : kcmax;
      bool acc = g->accumulate || k0 > 0;
      for (int64_t p = p0; p < p0 + np && !g->b_panels;) {
        int64_t im = p / ppi, first = p % ppi, last = ppi < first + p0 + np - p ? ppi : first + p0 + np - p;
        int64_t j = first * NR, nj = (last * NR < g->n ? last * NR : g->n) - j;
        F(pack)(bpack + (p - p0) * kc * NR, &g->b, (const T *)g->b.p + im * g->b_image, j, nj, k0, kc, NR);
        p += last - first;
      }
      for (int64_t i0 = 0; i0 < g->m; i0 += GEMM_MC) {
        int64_t mc = g->m - i0 < GEMM_MC ? g->m - i0 : GEMM_MC;
        if (tl_part_stopped()) return -1;
        F(pack)(apack, &g->a, g->a.p, i0, mc, k0, kc, MR);
        const T *rb = g->row_bias && !acc ? rowb : NULL, *cb = acc ? NULL : g->col_bias;
        if (rb)
          for (int64_t i = 0; i < (mc + MR - 1) / MR * MR; i++)
            for (int j = 0; j < NR; j++) rowb[i * NR + j] = i < mc ? ((const T *)g->row_bias)[i0 + i] : 0;
        for (int64_t p = p0; p < p0 + np; p++) {
          int64_t im = p / ppi, j = (p % ppi) * NR;
          int nj = g->n - j < NR ? (int)(g->n - j) : NR;
          const T *bp = bpack + (p - p0) * kc * NR;
          if (g->b_panels) bp = (const T *)g->b_panels + (p * g->k + k0) * NR;
          T *cimg = (T *)g->c + im * g->c_image + i0 * g->c_rs, *c = cimg + j * g->c_cs;
          for (int64_t i = 0; i < mc; i += MR) {
            int mi = mc - i < MR ? (int)(mc - i) : MR;
            const T *ap = apack + i * kc;
            if (plain_c && mi == MR && nj == NR) {
              T *ct = c + i * g->c_rs;
              const T *init = zeros;
              int64_t init_rs = 0; /* one row serves all */
              if (acc) init = ct, init_rs = g->c_rs;
              else if (rb) init = rb + i * NR, init_rs = NR;
              else if (cb) init = cb + j;
              F(tile)(kc, ap, bp, init, init_rs, ct, g->c_rs);
              continue;
            }
            for (int r = 0; r < mi; r++)
              for (int s = 0; s < nj; s++) {
                T *ct = g->coff ? cimg + (i + r) * g->c_rs + g->coff[j + s] : c + (i + r) * g->c_rs + s * g->c_cs;
                T init = cb ? cb[j + s] : 0;
                if (acc) init = *ct;
                else if (rb) init = rb[(i + r) * NR];
                tmp[r * NR + s] = init;
              }
            F(tile)(kc, ap, bp, tmp, NR, tmp, NR);
            for (int r = 0; r < mi; r++)
              for (int s = 0; s < nj; s++)
                *(g->coff ? cimg + (i + r) * g->c_rs + g->coff[j + s] : c + (i + r) * g->c_rs + s * g->c_cs) =
                  tmp[r * NR + s];
          }
        }
      }
    }
  }
  return 0;
}

/* ---- small and thin products, operands read in place ---- */
static inline T F(start)(const TlGemm *g, int64_t i, int64_t j) {
  if (g->accumulate) return ((T *)g->c)[i * g->c_rs + j * g->c_cs];
  if (g->row_bias) return ((const T *)g->row_bias)[i];
  return g->col_bias ? ((const T *)g->col_bias)[j] : 0;
}
#define C_AT(i, j) ((T *)g->c)[(i) * g->c_rs + (j) * g->c_cs]

static ACC F(dot)(const T *a, const T *b, int64_t K) {
  ACC total = 0;
  for (int64_t n; K; K -= n) {
    n = K < DOT_BLOCK ? K : DOT_BLOCK;
    const T *end = a + n / L * L, *whole = a + n / (4 * L) * (4 * L);
    V c0 = {0}, c1 = {0}, c2 = {0}, c3 = {0};
    for (; a < whole; a += 4 * L, b += 4 * L) {
      c0 = MADD(F(ld)(a), F(ld)(b), c0);
      c1 = MADD(F(ld)(a + L), F(ld)(b + L), c1);
      c2 = MADD(F(ld)(a + 2 * L), F(ld)(b + 2 * L), c2);
      c3 = MADD(F(ld)(a + 3 * L), F(ld)(b + 3 * L), c3);
    }
    for (; a < end; a += L, b += L) c0 = MADD(F(ld)(a), F(ld)(b), c0);
    T s = F(hsum)((c0 + c1) + (c2 + c3));
    for (int64_t k = 0; k < n % L; k++) s += *a++ * *b++;
    total += s;
  }
  return total;
}

/* both operands contiguous along k: dot products, 4 x 2 or 1 x 2 at a time */
RARE static int F(dots)(const TlGemm *g) {
  const T *A = g->a.p, *B = g->b.p;
  const int64_t as = g->a.is, bs = g->b.is, K = g->k, KV = K - K % L, KW = K - K % (4 * L);
  int64_t work = 0, m4 = g->m - g->m % 4;
  for (int64_t j = 0; j + 2 <= g->n && m4; j += 2) {
    const T *b0 = B + j * bs, *b1 = b0 + bs;
    for (int64_t i = 0; i < m4; i += 4) {
      const T *a0 = A + i * as, *a1 = a0 + as, *a2 = a1 + as, *a3 = a2 + as;
      V c00 = {0}, c01 = {0}, c10 = {0}, c11 = {0}, c20 = {0}, c21 = {0}, c30 = {0}, c31 = {0};
      for (int64_t k = 0; k < KV; k += L) {
        V x = F(ld)(b0 + k), y = F(ld)(b1 + k), a;
        a = F(ld)(a0 + k);
        c00 = MADD(a, x, c00);
        c01 = MADD(a, y, c01);
        a = F(ld)(a1 + k);
        c10 = MADD(a, x, c10);
        c11 = MADD(a, y, c11);
        a = F(ld)(a2 + k);
        c20 = MADD(a, x, c20);
        c21 = MADD(a, y, c21);
        a = F(ld)(a3 + k);
        c30 = MADD(a, x, c30);
        c31 = MADD(a, y, c31);
      }
      T s[8] = {F(hsum)(c00), F(hsum)(c01), F(hsum)(c10), F(hsum)(c11),
                F(hsum)(c20), F(hsum)(c21), F(hsum)(c30), F(hsum)(c31)};
      for (int64_t k = KV; k < K; k++) {
        s[0] += a0[k] * b0[k];
        s[1] += a0[k] * b1[k];
        s[2] += a1[k] * b0[k];
        s[3] += a1[k] * b1[k];
        s[4] += a2[k] * b0[k];
        s[5] += a2[k] * b1[k];
        s[6] += a3[k] * b0[k];
        s[7] += a3[k] * b1[k];
      }
      for (int r = 0; r < 4; r++) {
        T v0 = F(start)(g, i + r, j) + s[2 * r], v1 = F(start)(g, i + r, j + 1) + s[2 * r + 1];
        C_AT(i + r, j) = v0;
        C_AT(i + r, j + 1) = v1;
      }
    }
    if ((work += 8 * m4 * K) > (1 << 26)) {
      work = 0;
      if (tl_part_stopped()) return -1;
    }
  }
  /* Columns j and j + half together: memory delivers two long runs faster than one, or several short ones. */
  for (int64_t i = 0; i < g->m; i++) {
    const int64_t first = i < m4 ? g->n - g->n % 2 : 0, half = (g->n - first + 1) / 2;
    for (int64_t j = first; j < first + half; j++) {
      const int64_t other = j + half < g->n ? j + half : j;
      const T *x = A + i * as, *end = x + KW, *b0 = B + j * bs, *b1 = B + other * bs;
      V c0 = {0}, c1 = {0}, c2 = {0}, c3 = {0}, d0 = {0}, d1 = {0}, d2 = {0}, d3 = {0};
      for (; x < end; x += 4 * L, b0 += 4 * L, b1 += 4 * L) {
        const V x0 = F(ld)(x), x1 = F(ld)(x + L), x2 = F(ld)(x + 2 * L), x3 = F(ld)(x + 3 * L);
        c0 = MADD(x0, F(ld)(b0), c0);
        d0 = MADD(x0, F(ld)(b1), d0);
        c1 = MADD(x1, F(ld)(b0 + L), c1);
        d1 = MADD(x1, F(ld)(b1 + L), d1);
        c2 = MADD(x2, F(ld)(b0 + 2 * L), c2);
        d2 = MADD(x2, F(ld)(b1 + 2 * L), d2);
        c3 = MADD(x3, F(ld)(b0 + 3 * L), c3);
        d3 = MADD(x3, F(ld)(b1 + 3 * L), d3);
      }
      for (end += KV - KW; x < end; x += L, b0 += L, b1 += L) {
        c0 = MADD(F(ld)(x), F(ld)(b0), c0);
        d0 = MADD(F(ld)(x), F(ld)(b1), d0);
      }
      T s0 = F(hsum)((c0 + c1) + (c2 + c3)), s1 = F(hsum)((d0 + d1) + (d2 + d3));
      for (int k = 0; k < K - KV; k++) {
        s0 += x[k] * b0[k];
        s1 += x[k] * b1[k];
      }
      s0 += F(start)(g, i, j);
      s1 += F(start)(g, i, other);
      C_AT(i, j) = s0;
      C_AT(i, other) = s1;
    }
    if ((work += 2 * g->n * K) > (1 << 26)) {
      work = 0;
      if (tl_part_stopped()) return -1;
    }
  }
  return 0;
}

/* One row times b with rows contiguous in memory: the sum of x[i] * b[i] over the rows i of b. Rows i, i + k / 4,
 * i + k / 2 and i + 3 k / 4 are added together, so b is read as four long runs. In Chromium 64 MB in four runs took
 * 2.2 ms, in two 2.8, in eight 2.6, in one 4.0; rows that are neighbours 3.7. */
RARE static int F(axpys)(const TlGemm *g) {
  const T *A = g->a.p, *B = g->b.p;
  T *C = g->c;
  enum { CHUNK = 1 << 16, RUNS = 4 }; /* CHUNK: long runs of memory matter more than c in the first cache */
  const int64_t ks = g->b.ks, as = g->a.ks, quarter = g->k / RUNS, hs = quarter * ks, ha = quarter * as;
  for (int64_t j0 = 0; j0 < g->n; j0 += CHUNK) {
    int64_t nj = g->n - j0 < CHUNK ? g->n - j0 : CHUNK;
    for (int64_t j = 0; j < nj; j++) C[j0 + j] = F(start)(g, 0, j0 + j);
    T *c = C + j0;
    const int64_t whole = nj - nj % L;
    for (int64_t k = 0; k < quarter; k++) {
      const T *b0 = B + j0 + k * ks, *b1 = b0 + hs, *b2 = b1 + hs, *b3 = b2 + hs, *x = A + k * as;
      const T x0 = x[0], x1 = x[ha], x2 = x[2 * ha], x3 = x[3 * ha];
      const V v0 = F(dup)(x0), v1 = F(dup)(x1), v2 = F(dup)(x2), v3 = F(dup)(x3);
      for (int64_t j = 0; j < whole; j += L) {
        const V s = MADD(v1, F(ld)(b1 + j), MADD(v0, F(ld)(b0 + j), F(ld)(c + j)));
        F(st)(c + j, MADD(v3, F(ld)(b3 + j), MADD(v2, F(ld)(b2 + j), s)));
      }
      for (int64_t j = whole; j < nj; j++) {
        const T s = c[j] + x0 * b0[j] + x1 * b1[j];
        c[j] = s + x2 * b2[j] + x3 * b3[j];
      }
    }
    for (int64_t k = quarter * RUNS; k < g->k; k++) {
      const T *b = B + j0 + k * ks, x = A[k * as];
      const V v = F(dup)(x);
      for (int64_t j = 0; j < whole; j += L) F(st)(c + j, MADD(v, F(ld)(b + j), F(ld)(c + j)));
      for (int64_t j = whole; j < nj; j++) c[j] += x * b[j];
    }
    if (tl_part_stopped()) return -1;
  }
  return 0;
}

#if L == 4
/* ---- one row in shares, which several threads can compute ---- */
RARE static int F(join)(const TlGemm *g, const void *sums, int64_t count) {
  const int64_t n = g->n, rest = g->k % count, done = g->k - rest;
  T *c = g->c;
  const T *s = sums;
  TlGemm last = *g;
  last.k = rest;
  last.a.p = (const T *)g->a.p + done * g->a.ks;
  last.b.p = (const T *)g->b.p + done * g->b.ks;
  const int rc = F(axpys)(&last);
  if (rc) return rc;
  for (int64_t j = 0; j < n; j++) {
    ACC total = c[j];
    for (int64_t i = j; i < count * n; i += SHARES * n) total += (s[i] + s[i + n]) + (s[i + 2 * n] + s[i + 3 * n]);
    c[j] = (T)total;
  }
  return 0;
}
RARE static int F(row)(const TlGemm *g) {
  TlGemm one;
  const int64_t count = tl_gemm_row(g, &one), n = g->n;
  T *sums = tl_part_malloc((uint64_t)(count * n) * sizeof(T));
  int rc = sums ? 0 : -1;
  for (int64_t i = 0; i < count && !rc; i++) {
    one.c = sums + i * n;
    rc = F(axpys)(&one);
    one.a.p = (const T *)one.a.p + one.k * g->a.ks;
    one.b.p = (const T *)one.b.p + one.k * g->b.ks;
  }
  if (!rc) rc = F(join)(g, sums, count);
  tl_part_free(sums);
  return rc;
}
#endif

/* few rows, or a product small as a whole: b rows contiguous and unpacked, any a */
RARE static int F(direct)(const TlGemm *g) {
  const T *A = g->a.p, *B = g->b.p;
  T zeros[NR] = {0}, tmp[MR * NR];
  int64_t work = 0;
  for (int64_t k0 = 0; k0 < g->k; k0 += 256) {
    int64_t kc = g->k - k0 < 256 ? g->k - k0 : 256;
    TlGemm sub = *g;
    sub.accumulate = g->accumulate || k0;
    for (int64_t j = 0; j < g->n; j += NR) {
      int nj = g->n - j < NR ? (int)(g->n - j) : NR;
      T bt[256 * NR]; /* a partial last panel is copied, so that no load passes its end */
      const T *b = B + k0 * g->b.ks + j;
      int64_t ldb = g->b.ks;
      if (nj < NR) {
        for (int64_t k = 0; k < kc; k++)
          for (int s = 0; s < NR; s++) bt[k * NR + s] = s < nj ? b[k * ldb + s] : 0;
        b = bt;
        ldb = NR;
      }
      for (int64_t i = 0; i < g->m; i += MR) {
        int mi = g->m - i < MR ? (int)(g->m - i) : MR;
        const T *a = A + i * g->a.is + k0 * g->a.ks;
        int64_t ar = mi == MR ? g->a.is : 0; /* a partial last block runs one row at a time below */
        if (mi == MR && nj == NR && g->c_cs == 1) {
          T *ct = &C_AT(i, j);
          const T *cb = sub.accumulate ? NULL : g->col_bias;
          if (sub.accumulate || !g->row_bias) {
            const T *init = cb ? cb + j : zeros;
            if (sub.accumulate) init = ct;
            F(tile_direct)(kc, a, ar, g->a.ks, b, ldb, init, sub.accumulate ? g->c_rs : 0, ct, g->c_rs);
            continue;
          }
        }
        for (int r = 0; r < MR; r++)
          for (int s = 0; s < NR; s++) tmp[r * NR + s] = r < mi && s < nj ? F(start)(&sub, i + r, j + s) : 0;
        if (mi == MR) F(tile_direct)(kc, a, ar, g->a.ks, b, ldb, tmp, NR, tmp, NR);
        else
          for (int r = 0; r < mi; r++) {
            V c0 = {0}, c1 = {0}, d0 = {0}, d1 = {0};
            const T *ap = a + r * g->a.is, *bp = b;
            int64_t k = 0;
            for (; k + 2 <= kc; k += 2, bp += 2 * ldb) {
              V x = F(dup)(ap[k * g->a.ks]), y = F(dup)(ap[(k + 1) * g->a.ks]);
              c0 = MADD(x, F(ld)(bp), c0);
              c1 = MADD(x, F(ld)(bp + L), c1);
              d0 = MADD(y, F(ld)(bp + ldb), d0);
              d1 = MADD(y, F(ld)(bp + ldb + L), d1);
            }
            if (k < kc) {
              V x = F(dup)(ap[k * g->a.ks]);
              c0 = MADD(x, F(ld)(bp), c0);
              c1 = MADD(x, F(ld)(bp + L), c1);
            }
            F(st)(tmp + r * NR, F(ld)(tmp + r * NR) + (c0 + d0));
            F(st)(tmp + r * NR + L, F(ld)(tmp + r * NR + L) + (c1 + d1));
          }
        for (int r = 0; r < mi; r++)
          for (int s = 0; s < nj; s++) C_AT(i + r, j + s) = tmp[r * NR + s];
      }
      if ((work += NR * g->m * kc) > (1 << 26)) {
        work = 0;
        if (tl_part_stopped()) return -1;
      }
    }
  }
  return 0;
}

/* a product much deeper than wide: in parts, so that its error does not grow with the depth. Those of one row, whose
 * sums go in order, are shorter. */
RARE static int F(deep)(const TlGemm *g) {
  const int64_t size = g->m * g->n, depth = g->m == 1 ? DEEP / 4 : DEEP / 2;
  ACC *acc = tl_part_malloc((uint64_t)size * (sizeof(ACC) + sizeof(T)));
  T *part = (T *)(acc + size);
  TlGemm sub = *g;
  sub.c = part;
  sub.c_rs = g->n;
  sub.c_cs = 1;
  sub.accumulate = false;
  sub.row_bias = sub.col_bias = NULL;
  int rc = acc ? 0 : -1;
  for (int64_t i = 0; !rc && i < size; i++) acc[i] = F(start)(g, i / g->n, i % g->n);
  for (int64_t k = 0; !rc && k < g->k; k += depth) {
    sub.k = g->k - k < depth ? g->k - k : depth;
    sub.a.p = (const T *)g->a.p + k * g->a.ks;
    sub.b.p = (const T *)g->b.p + k * g->b.ks;
    rc = F(tl_gemm)(&sub);
    for (int64_t i = 0; !rc && i < size; i++) acc[i] += part[i];
  }
  for (int64_t i = 0; !rc && i < size; i++) C_AT(i / g->n, i % g->n) = (T)acc[i];
  tl_part_free(acc);
  return rc;
}
#undef C_AT

static TlGemm F(swapped)(const TlGemm *g) {
  TlGemm s = *g;
  s.m = g->n;
  s.n = g->m;
  s.a = g->b;
  s.b = g->a;
  s.c_rs = g->c_cs;
  s.c_cs = g->c_rs;
  s.row_bias = g->col_bias;
  s.col_bias = g->row_bias;
  return s;
}

static TlWay F(way)(TlGemm *g) {
  if (g->m == 0 || g->n == 0) return TL_WAY_NONE;
  if (g->b_panels && g->m <= 3) g->b_panels = NULL; /* fewer rows than a tile has: better read in place */
  if (!g->b_panels && !g->a.ioff && !g->b.ioff && !g->coff && g->images <= 1) {
    /* a column of results is the same as a row of them; also let a run along memory of c */
    if (g->k && g->m > 1 && (g->n == 1 || (g->c_cs != 1 && g->c_rs == 1))) *g = F(swapped)(g);
    const int64_t size = g->m * g->n * g->k;
    const bool nt = g->a.ks == 1 && g->b.ks == 1 && g->k > 1, nn = g->b.is == 1;
#if L == 4
    if (g->m == 1 && nn && g->c_cs == 1 && g->n >= 16 && g->k >= SHARES * 64 && size >= WIDE_ROW) return TL_WAY_ROW;
#endif
    if (g->k > DEEP && g->m * g->n < (g->m + g->n) * (g->k / 24) && !(nt && size == g->k) && sizeof(T) == 4)
      return TL_WAY_DEEP;
    if (nt && size == g->k && g->k >= 2 * L) return TL_WAY_DOT;
    if (g->k && nt && (g->m <= 3 || (g->m <= 64 && g->m * g->k <= 65536) || size <= 65536) && (g->k >= 2 * L))
      return TL_WAY_DOTS;
    if (g->k && g->m == 1 && nn && g->c_cs == 1 && g->n >= 16) return TL_WAY_AXPYS;
    if (g->k && nn && (g->m <= 8 || size <= 65536)) return TL_WAY_DIRECT;
  }
  return g->k ? TL_WAY_PACKED : TL_WAY_ZERO;
}

static void F(zero)(const TlGemm *g) {
  const int64_t images = g->images ? g->images : 1;
  for (int64_t im = 0; im < images && !g->accumulate; im++)
    for (int64_t i = 0; i < g->m; i++)
      for (int64_t j = 0; j < g->n; j++) {
        T *c = (T *)g->c + im * g->c_image + i * g->c_rs + (g->coff ? g->coff[j] : j * g->c_cs);
        *c = 0;
        if (g->row_bias) *c = ((const T *)g->row_bias)[i];
        else if (g->col_bias) *c = ((const T *)g->col_bias)[j];
      }
}

static int F(run)(const TlGemm *g, TlWay way) {
  switch (way) {
  case TL_WAY_NONE: return 0;
  case TL_WAY_ZERO: return F(zero)(g), 0;
  case TL_WAY_DOT: *(T *)g->c = (T)(F(start)(g, 0, 0) + F(dot)(g->a.p, g->b.p, g->k)); return 0;
  case TL_WAY_DOTS: return F(dots)(g);
  case TL_WAY_AXPYS: return F(axpys)(g);
#if L == 4
  case TL_WAY_ROW: return F(row)(g);
#else
  case TL_WAY_ROW: break;
#endif
  case TL_WAY_DIRECT: return F(direct)(g);
  case TL_WAY_DEEP: return F(deep)(g);
  case TL_WAY_PACKED: break;
  }
  const int64_t images = g->images ? g->images : 1, all = (g->n + NR - 1) / NR * images;
  const int64_t panels = (g->to ? g->to : all) - g->from;
  int64_t kc = g->k <= GEMM_KC + GEMM_KC / 4 ? g->k : GEMM_KC;
  if (g->block && g->block < g->k) kc = g->block;
  int64_t ncp = GEMM_NC * GEMM_KC / NR / kc, mc = g->m < GEMM_MC ? (g->m + MR - 1) / MR * MR : GEMM_MC;
  if (ncp > panels) ncp = panels;
  size_t an = (size_t)(mc * kc) * sizeof(T), bn = g->b_panels ? 0 : (size_t)(ncp * kc) * NR * sizeof(T);
  bool own;
  char *mem = scratch_get(an + bn + 64, &own);
  if (!mem) return -1;
  int rc = F(packed)(g, (T *)mem, (T *)(mem + (an + 63) / 64 * 64), kc, ncp);
  scratch_put(mem, own);
  return rc;
}
#undef NR
