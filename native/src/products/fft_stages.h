/* fft_stages.h: Stockham's stages, included once for double and once for float. A vector VEC holds LANES complex
 * numbers: of one line in double; in float of two lines or, in the first stage of a single line, two that follow each
 * other. NAME(f) is f's name here; ROOT(p, i) is exp(-2 pi i / n) in each place of a vector. */

static inline VEC NAME(turned)(VEC v, REAL a, REAL b) { return SHUFFLE(v, 1, 0) * BOTH(a, b); }
static inline VEC NAME(cmul)(VEC a, VEC w) {
  return a * SHUFFLE(w, 0, 0) + SHUFFLE(a, 1, 0) * (SHUFFLE(w, 1, 1) * BOTH(-1, 1));
}

/* cosines and sines of -2 pi j k / r, for j and k up to (r - 1) / 2 */
static void NAME(sines)(const Plan *p, int r, VEC *cs) {
  const int64_t turn = p->n / r;
  for (int k = 1; k <= r / 2; k++)
    for (int j = 1; j <= r / 2; j++) {
      const VEC w = ROOT(p, j * k % r * turn);
      *cs++ = SHUFFLE(w, 0, 0);
      *cs++ = SHUFFLE(w, 1, 1);
    }
}

/* One butterfly of an odd prime r, over s vectors: elements j and r - j go together. */
static void NAME(odd_prime)(const Plan *p, const VEC *a, VEC *z, int r, intptr_t s, intptr_t ms, int64_t first_turn,
                            const VEC *cs) {
  const int half = r / 2;
  for (intptr_t q = 0; q < s; q++) {
    VEC plus[MAX_RADIX / 2], minus[MAX_RADIX / 2], sum = a[q];
    const VEC *c = cs;
    for (int j = 0; j < half; j++) {
      const VEC t = a[q + (j + 1) * ms], u = a[q + (r - 1 - j) * ms];
      plus[j] = t + u;
      minus[j] = NAME(turned)(t - u, -1, 1); /* i times it; sines have the sign of -sin */
      sum += plus[j];
    }
    z[q] = sum;
    for (int k = 1; k <= half; k++) {
      VEC even = a[q], odd = {0};
      for (int j = 0; j < half; j++, c += 2) {
        even += plus[j] * c[0];
        odd += minus[j] * c[1];
      }
      z[q + k * s] = NAME(cmul)(even + odd, ROOT(p, k * first_turn));
      z[q + (r - k) * s] = NAME(cmul)(even - odd, ROOT(p, (r - k) * first_turn));
    }
  }
}

static inline VEC NAME(times)(VEC v, double x) { return v * BOTH((REAL)x, (REAL)x); }

/* The same for 3 and for 5, with sines and cosines of 2 pi / r; elements ms vectors apart, results s. w: r - 1 twiddles
 */
static inline void NAME(radix3)(const VEC *a, intptr_t ms, const VEC *w, VEC *z, intptr_t s) {
  const VEC plus = a[ms] + a[2 * ms], even = a[0] - NAME(times)(plus, 0.5),
            odd = NAME(times)(NAME(turned)(a[ms] - a[2 * ms], 1, -1), 0.86602540378443864676);
  z[0] = a[0] + plus;
  z[s] = NAME(cmul)(even + odd, w[0]);
  z[2 * s] = NAME(cmul)(even - odd, w[1]);
}
static inline void NAME(radix5)(const VEC *a, intptr_t ms, const VEC *w, VEC *z, intptr_t s) {
  const double c1 = 0.30901699437494742410, c2 = -0.80901699437494742410, s1 = 0.95105651629515357212,
               s2 = 0.58778525229247312917;
  const VEC p1 = a[ms] + a[4 * ms], p2 = a[2 * ms] + a[3 * ms], m1 = NAME(turned)(a[ms] - a[4 * ms], 1, -1),
            m2 = NAME(turned)(a[2 * ms] - a[3 * ms], 1, -1);
  const VEC even1 = a[0] + (NAME(times)(p1, c1) + NAME(times)(p2, c2)),
            even2 = a[0] + (NAME(times)(p1, c2) + NAME(times)(p2, c1)),
            odd1 = NAME(times)(m1, s1) + NAME(times)(m2, s2), odd2 = NAME(times)(m1, s2) - NAME(times)(m2, s1);
  z[0] = a[0] + (p1 + p2);
  z[s] = NAME(cmul)(even1 + odd1, w[0]);
  z[2 * s] = NAME(cmul)(even2 + odd2, w[1]);
  z[3 * s] = NAME(cmul)(even2 - odd2, w[2]);
  z[4 * s] = NAME(cmul)(even1 - odd1, w[3]);
}

/* elements a, b, c, d of the four quarters; w: three twiddles; results s vectors apart */
static inline __attribute__((always_inline)) void NAME(radix4)(VEC a, VEC b, VEC c, VEC d, const VEC *w, VEC *z,
                                                               intptr_t s) {
  const VEC t0 = a + c, t1 = a - c, t2 = b + d, t3 = NAME(turned)(b - d, 1, -1); /* -i (b - d) */
  z[0] = t0 + t2;
  z[s] = NAME(cmul)(t1 + t3, w[0]);
  z[2 * s] = NAME(cmul)(t0 - t2, w[1]);
  z[3 * s] = NAME(cmul)(t1 - t3, w[2]);
}

/* x and y hold n lines' elements each, B lines interleaved; the result is in the one returned */
static void *NAME(stockham)(const Plan *p, void *from, void *to, int64_t B) {
  VEC *x = from, *y = to, cs[(MAX_RADIX / 2) * (MAX_RADIX / 2) * 2];
  int64_t len = p->n;
  intptr_t s = (intptr_t)(B / LANES);
  int i = 0;
#if LANES == 2
  if (s == 0) {
    first_of_one(p, from, to);
    x = to, y = from;
    len /= 4;
    s = 2;
    i = 1;
  }
#endif
  for (; i < p->nf; i++) {
    if (p->n * B > 1 << 18 && !stopped && tl_check_interrupt()) stopped = true;
    if (stopped) break;
    const int r = p->f[i];
    const int64_t m = len / r, step = p->n / len;
    const intptr_t ms = (intptr_t)m * s;
    if (r > 5) NAME(sines)(p, r, cs);
    TL_LOOP(q0, m) {
      if (s > 512 && tl_work(s) < 0) return x;
      const VEC *a = x + s * q0;
      VEC *z = y + s * r * q0;
      VEC w[4];
      for (int j = 0; j < 4 && j < r - 1; j++) w[j] = ROOT(p, (j + 1) * q0 * step);
      if (r == 4)
        for (intptr_t q = 0; q < s; q++) NAME(radix4)(a[q], a[q + ms], a[q + 2 * ms], a[q + 3 * ms], w, z + q, s);
      else if (r == 2)
        for (intptr_t q = 0; q < s; q++) {
          const VEC t = a[q], u = a[q + ms];
          z[q] = t + u;
          z[q + s] = NAME(cmul)(t - u, w[0]);
        }
      else if (r == 3)
        for (intptr_t q = 0; q < s; q++) NAME(radix3)(a + q, ms, w, z + q, s);
      else if (r == 5)
        for (intptr_t q = 0; q < s; q++) NAME(radix5)(a + q, ms, w, z + q, s);
      else NAME(odd_prime)(p, a, z, r, s, ms, q0 * step, cs);
    }
    VEC *t = x;
    x = y;
    y = t;
    len = m;
    s *= r;
  }
  return x;
}

#undef VEC
#undef REAL
#undef LANES
#undef NAME
#undef SHUFFLE
#undef BOTH
#undef ROOT
